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


class Tails:
    """Fits of t components, and of normal ones beside noise."""

    params = ["student_t", "noise"]
    param_names = ["what"]
    timeout = 300

    def setup(self, what):
        rng = np.random.default_rng(2)
        self.batch = np.stack([blobs(i, 500, 4, 2, 1.2) for i in range(20)])
        self.batch[:, :25] = 6.0 * rng.normal(size=(20, 25, 4))
        self.options = {"family": "student_t"} if what == "student_t" else {"noise": True}
        self.time_20_data_sets(what)

    def time_20_data_sets(self, what):
        ns.mixture.fit_many(self.batch, 2, rng=0, workers=1, **self.options)


class Errors:
    """Standard errors of a batch, and what is drawn again and fitted again, on one thread."""

    timeout = 300

    def setup(self):
        self.batch = np.stack([blobs(i, 500, 4, 2, 3.0) for i in range(200)])
        self.x, y = blobs(3, 1000, 4, 3, 3.0), np.arange(1000) % 2
        self.fit = ns.mixture.fit(self.x, 3, rng=0, workers=1)
        self.y, self.classes = y, np.where(y[:, None], self.x, self.x + 1.0)
        for name in dir(self):
            if name.startswith("time_"):
                getattr(self, name)()

    def time_200_exact(self):
        ns.mixture.fit_many(self.batch, 2, starts="hierarchical", se=True, rng=0, workers=1)

    def time_200_sandwiches(self):
        ns.mixture.fit_many(self.batch, 2, starts="hierarchical", se="sandwich", rng=0, workers=1)

    def time_bootstrap_of_199(self):
        ns.mixture.bootstrap(self.fit, self.x, n_boot=199, rng=0, workers=1)

    def time_likelihood_ratio_of_19(self):
        ns.mixture.likelihood_ratio(self.x, 2, n_boot=19, rng=0, workers=1)

    def time_regression_and_quantiles(self):
        self.fit.regression(self.x[:, :2], [2, 3], workers=1).ppf([0.05, 0.95], workers=1)

    def time_classifier(self):
        ns.mixture.MixtureDiscriminantAnalysis(rng=0, workers=1).fit(self.classes, self.y).predict(self.classes)


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
        models = ["full", "tied", "diag", "spherical"]
        ns.mixture.fit(self.one, range(1, 10), covariance=models, rng=0, workers=1)

    def time_14_models_and_1_to_9_components(self):
        ns.mixture.fit(self.one, range(1, 10), covariance="all", rng=0, workers=1)

    def time_fit_with_axes_in_common(self):
        ns.mixture.fit(self.one, 4, covariance="VVE", rng=0, workers=1)

    def time_fit_of_692_parameters(self):
        ns.mixture.fit(self.wide, 3, covariance="full", rng=0, workers=1)

    def time_fit_with_equal_covariances(self):
        ns.mixture.fit(self.one, 4, covariance="diag", equal=("weights", "covariance"), rng=0, workers=1)

    def time_of_scikit_learn(self):
        from sklearn.mixture import GaussianMixture

        for K in range(1, 10):
            for model in ("full", "tied", "diag", "spherical"):
                GaussianMixture(K, covariance_type=model, random_state=0).fit(self.one)


# --- inputs of kernels for the check on a GPU ---------------------------------------------------------------------------------


def _gpu_case(n, newton=False):
    """Data sets, points in the middle of a climb, and work space; Newton's method begins near its end."""
    from numbastats.mixture.multivariate import engine
    from numbastats.mixture.multivariate.kernels import steps
    from numbastats.mixture.multivariate.kernels.memory import NONE
    from numbastats.mixture.multivariate.launching import Space

    sets, K, size = (2, 2, 40) if n < 1000 else (200, 2, 500)
    x = np.concatenate([blobs(i, size, 2, K, 4.0) for i in range(sets)])
    options = engine.Options("hierarchical", None, 1e-9, None, None)
    p = engine.prepare(x, np.empty(0), np.arange(sets + 1) * size, 0, options)
    p.rows.least[:] = 4.0
    kinds, model = np.zeros(1, np.int64), steps.Model(0, 0, 1)
    places, labels = (np.zeros((sets, *shape), np.int64) for shape in ((engine.SUBSET,), (1, engine.SUBSET)))
    points, key = engine.new_points(sets, K, 2), engine.Key(*np.array([1, 2, 3], np.uint32))
    start = [p.rows, p.ids, K, model.shape, kinds, key]
    engine.PARTITIONS.serial(*start, places, labels, NONE)
    engine.BEGIN.serial(p.rows, model, places, labels, points, NONE)
    engine.climbs(p, p.ids, model, points, options, 30 if newton else 2, 0, enough=-1.0)
    space = Space.of(p, K, model if newton else None)
    return p, start, model, points, [places, labels], _memory(space, sets)


def _memory(space, teams):
    import dataclasses

    from numbastats.mixture.multivariate.kernels.memory import new_memory

    return new_memory.py_func(teams, *dataclasses.astuple(space))


def gpu_climb(rng, dtype, n, edges, newton=False):
    from numbastats.mixture.multivariate.kernels import records as c

    p, _, model, points, _, memory = _gpu_case(n, newton)
    state = np.zeros(p.size, c.STATE)
    state["loglik"], state["decrement"], state["enough"], state["status"] = -np.inf, np.inf, -1.0, 1
    state["phase"], state["left"], state["newton"] = c.NEWTON if newton else c.EM, 3, int(newton)
    return [p.rows, p.ids, model, c.Settings(int(newton), 1e-9, 1e-14)], [points, state, memory]


def gpu_partitions(rng, dtype, n, edges):
    _, start, _, _, parts, memory = _gpu_case(n)
    return start, [*parts, memory]


def gpu_begin(rng, dtype, n, edges):
    p, _, model, points, parts, memory = _gpu_case(n)
    return [p.rows, model, *parts], [type(points)(*map(np.zeros_like, points)), memory]


def gpu_insertion(rng, dtype, n, edges):
    from numbastats.mixture.multivariate import engine

    p, start, model, points, _, memory = _gpu_case(n)
    found = engine.new_points(p.size * engine.KEPT, 2, 2), np.zeros(p.size * engine.KEPT)
    return [p.rows, p.ids, p.ids, np.zeros_like(p.ids), model, points, start[-1]], [*found, memory]


def gpu_information(rng, dtype, n, edges, entropy=False):
    p, _, model, points, _, memory = _gpu_case(n, not entropy)
    size = memory.vectors.shape[2] if entropy else 12
    outputs = [np.zeros(p.size)] if entropy else [np.zeros((p.size, size, size)), np.zeros((p.size, size))]
    return [p.rows, p.ids, model, points], [*outputs, memory]


def gpu_spread(rng, dtype, n, edges):
    args, (squares, _, memory) = gpu_information(rng, dtype, n, edges)
    return args, [squares, memory]


def gpu_scores(rng, dtype, n, edges):
    _, _, model, points, _, memory = _gpu_case(n)
    one, shift = type(points)(*(v[0] for v in points)), np.stack([np.zeros(2), np.ones(2)])
    x = rng.normal(size=(min(n, 1000), 2))
    return [x, one, model.shape, shift, 1], [np.zeros(len(x)), np.zeros((len(x), 2)), np.zeros(len(x), np.int64), memory]


GPU_MAKERS = {
    "mixture.multivariate.em": gpu_climb,
    "mixture.multivariate.newton": lambda *args: gpu_climb(*args, newton=True),
    "mixture.multivariate.partitions": gpu_partitions,
    "mixture.multivariate.begin": gpu_begin,
    "mixture.multivariate.insertion": gpu_insertion,
    "mixture.multivariate.information": gpu_information,
    "mixture.multivariate.spread": gpu_spread,
    "mixture.multivariate.entropy": lambda *args: gpu_information(*args, entropy=True),
    "mixture.multivariate.scores": gpu_scores,
}
_WORK = (1.0,) * 18  # the arrays of a block's work space are no results
_SUMS = dict(ulp=5e6, floor=1.0, scaled=True, why="another order of summation, of some steps; 5e6 ulp are 1e-9")
_CONTROL = tuple("decrement excess damping share enough passes left tries closing steps newton".split())
GPU_BOUNDS = {
    "mixture.multivariate.em": dict(_SUMS, control=_CONTROL, flips=(0.0,) * 10 + _WORK),
    "mixture.multivariate.newton": dict(_SUMS, control=_CONTROL, flips=(0.0,) * 10 + _WORK),
    "mixture.multivariate.partitions": dict(_SUMS, flips=(0.0, 0.0, *_WORK)),
    "mixture.multivariate.begin": dict(_SUMS, flips=(0.0,) * 5 + _WORK),
    "mixture.multivariate.insertion": dict(_SUMS, flips=(1e-2,) * 6 + _WORK),
    "mixture.multivariate.spread": dict(_SUMS, flips=(0.0, *_WORK)),
    "mixture.multivariate.information": dict(_SUMS, flips=(0.0, 0.0, *_WORK)),
    "mixture.multivariate.entropy": dict(_SUMS, flips=(0.0, *_WORK)),
    "mixture.multivariate.scores": dict(_SUMS, flips=(0.0, 0.0, 0.0, *_WORK)),
}
