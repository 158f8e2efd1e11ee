"""Mixtures in several dimensions: a batch, models and numbers of components, one large data set; scikit-learn beside them."""

from __future__ import annotations

import numpy as np

import numbastats as ns


def blobs(seed, n, d, K, apart):
    """Rows of K normal clusters."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(K, d))
    return centres[rng.integers(K, size=n)] + rng.normal(size=(n, d))


class Large:
    """Default fits of 100,000 rows beside scikit-learn's, all cores."""

    params = [2, 5]
    param_names = ["columns"]
    timeout = 300

    def setup(self, d):
        self.x = blobs(4, 100_000, d, 4, 2.0)
        self.labels = ns.mixture.fit(self.x, 4, covariance="full", rng=0)

    def time_fit(self, d):
        ns.mixture.fit(self.x, 4, covariance="full", rng=0)

    def time_fit_of_scikit_learn(self, d):
        from sklearn.mixture import GaussianMixture

        GaussianMixture(4, random_state=0).fit(self.x)

    def time_probabilities(self, d):
        self.labels.predict_proba(self.x)


class Blocks:
    """A step of EM by the sums of pieces, in double and in single precision."""

    params = ["float64", "float32"]
    param_names = ["dtype"]
    timeout = 300

    def setup(self, dtype):
        x = blobs(4, 200_000, 10, 4, 2.0)
        self.pieces = np.split(x.astype(dtype), 4)
        found = ns.mixture.fit(x[:5000], 4, rng=0)
        self.point = found.weights, found.means, found.covariances
        self.time_step(dtype)

    def time_step(self, dtype):
        sums = [ns.mixture.partial_stats(x, *self.point, workers=1) for x in self.pieces]
        ns.mixture.em_update(ns.mixture.combine(sums), *self.point)


class Missing:
    """Fits of rows of which a fifth of the values is missing."""

    timeout = 300

    def setup(self):
        x = np.stack([blobs(i, 500, 4, 2, 1.2) for i in range(20)])
        self.batch = np.where(np.random.default_rng(1).random(x.shape) < 0.2, np.nan, x)
        self.time_20_data_sets()

    def time_20_data_sets(self):
        ns.mixture.fit_many(self.batch, 2, nan_policy="marginal", rng=0, workers=1)


class Fits:
    """Certified fits on one thread."""

    timeout = 300

    def setup(self):
        self.batch = np.stack([blobs(i, 500, 4, 2, 1.2) for i in range(200)])
        self.one = blobs(3, 1000, 4, 4, 1.5)
        self.wide = blobs(1, 3000, 20, 3, 0.8)
        ns.mixture.fit(self.one, 2, covariance="all", rng=0, workers=1)

    def time_200_data_sets(self):
        ns.mixture.fit_many(self.batch, 2, rng=0, workers=1)

    def time_4_models_and_1_to_9_components(self):
        ns.mixture.fit(self.one, range(1, 10), covariance="all", rng=0, workers=1)

    def time_fit_of_692_parameters(self):
        ns.mixture.fit(self.wide, 3, covariance="full", rng=0, workers=1)

    def time_fit_with_equal_covariances(self):
        ns.mixture.fit(self.one, 4, covariance="diag", equal=("weights", "covariance"), rng=0, workers=1)

    def time_of_scikit_learn(self):
        from sklearn.mixture import GaussianMixture

        for K in range(1, 10):
            for model in ("full", "tied", "diag", "spherical"):
                GaussianMixture(K, covariance_type=model, random_state=0).fit(self.one)
