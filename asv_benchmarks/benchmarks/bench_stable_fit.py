"""Speed and error of the estimators of stable laws."""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.stats

import numbastats as ns

from .common import SMOKE, Case, few


class Fit:
    """One data set."""

    params = [["ml", "quantile", "ecf", "small"], few([200, 1000, 5000])]
    param_names = ["method", "values"]
    number = 1

    def setup(self, method, n):
        self.x = ns.stable.rvs(0.4 if method == "small" else 1.5, 0.3, size=n, rng=1)
        self.time_fit(method, n)

    def time_fit(self, method, n):
        ns.stable.fit(self.x, method, workers=1)


class Grid:
    """The reference's contracting grid, with location and scale from the quartiles."""

    number = 1

    def setup(self):
        self.x = ns.stable.rvs(1.5, 0.3, size=100 if SMOKE else 1000, rng=1)
        self.time_profile()

    def time_profile(self):
        ns.stable.fit(self.x, "grid", profile=True, workers=1)


class Recovery:
    """Root mean squared error of alpha in units of its asymptotic standard error: 1 where all information is used."""

    params = [few([1.3, 1.7, 0.7])]
    param_names = ["alpha"]

    def setup(self, alpha):
        self.x = ns.stable.rvs(alpha, 0.3, size=(4 if SMOKE else 50, 1000), rng=1)

    def track_error_of_alpha(self, alpha):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = ns.stable.fit_many(self.x)
        expected = np.sqrt(np.linalg.inv(1000 * ns.stable.fisher_information(alpha, 0.3))[0, 0])
        return float(np.sqrt(np.mean((fits.params[:, 0] - alpha) ** 2)) / expected)

    track_error_of_alpha.unit = "standard errors"


class Many:
    """Many data sets of 1000 values, in one call and one by one; parameters drawn from rectangles of (alpha, beta)."""

    params = [few([(1.1, 1.9), (0.9, 1.1), (0.5, 2.0)])]
    param_names = ["alphas"]
    number = 1

    def setup(self, alphas):
        sets, rng = 4 if SMOKE else 100, np.random.default_rng(1)
        self.x = ns.stable.rvs(rng.uniform(*alphas, (sets, 1)), rng.uniform(-1.0, 1.0, (sets, 1)), size=(sets, 1000), rng=1)
        self.time_fit_many(alphas)  # the cells that they share are made

    def time_fit_many(self, alphas):
        ns.stable.fit_many(self.x, workers=1)

    def track_fits_per_second(self, alphas):
        start = time.process_time()
        self.time_fit_many(alphas)
        return len(self.x) / (time.process_time() - start)

    track_fits_per_second.unit = "fits"

    def track_times_the_speed_of_fit(self, alphas):
        one = many = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for x in self.x:
                start = time.process_time()
                ns.stable.fit_many([x], workers=1)
                between = time.process_time()
                ns.stable.fit(x, workers=1)
                many, one = many + between - start, one + time.process_time() - between
        return one / many

    track_times_the_speed_of_fit.unit = "ratio"


class SmallAlpha:
    """Likelihoods with a local maximum at every observation; how many of 20 fits are less likely than the truth."""

    params = [few([0.15, 0.3, 0.6]), few([100, 10_000])]
    param_names = ["alpha", "values"]
    number = 1

    def setup(self, alpha, n):
        self.x = ns.stable.rvs(alpha, 0.9, size=(2 if SMOKE else 20, n), rng=1)
        self.time_fit(alpha, n)

    def time_fit(self, alpha, n):
        ns.stable.fit(self.x[0], workers=1)

    def track_less_likely_than_the_truth(self, alpha, n):
        return sum(ns.stable.fit(x, workers=1).loglik < ns.stable.loglik(x, alpha, 0.9) for x in self.x)

    track_less_likely_than_the_truth.unit = "fits"


def _one_likelihood():
    x = ns.stable.rvs(1.5, 0.3, size=100 if SMOKE else 1000, rng=1)
    peer = scipy.stats.levy_stable
    return {
        "ours": lambda: ns.stable.fit(x, workers=1),
        "one SciPy log-likelihood": lambda: np.log(peer.pdf(x[: 20 if SMOKE else 1000], 1.5, 0.3)).sum(),
    }


def _quantiles():
    x = ns.stable.rvs(1.5, 0.3, size=1000, rng=1)
    return {"ours": lambda: ns.stable.fit_quantile(x), "SciPy's starting values": lambda: scipy.stats.levy_stable._fitstart(x)}


PEER_CASES = {
    "stable.fit, 1000 values, maximum likelihood": Case(1, _one_likelihood, {"one SciPy log-likelihood": None}),
    "stable.fit_quantile, 1000 values": Case(1, _quantiles, {"SciPy's starting values": None}),
}


class Inference:
    """What follows a fit: an interval by the profile of the likelihood, a parametric bootstrap."""

    params = [few([200, 1000, 5000])]
    param_names = ["values"]
    number = 1

    def setup(self, n):
        self.x = ns.stable.rvs(1.5, 0.3, size=n, rng=1)
        self.found = ns.stable.fit(self.x)
        self.time_profile(n)
        self.time_goodness(n)

    def time_profile(self, n):
        ns.stable.profile(self.x, "alpha", found=self.found, workers=1)

    def time_goodness(self, n):
        ns.stable.goodness(self.x, draws=19, rng=1)

    def track_fits_of_a_profile(self, n):
        return ns.stable.profile(self.x, "alpha", found=self.found, workers=1).values.size - 1

    track_fits_of_a_profile.unit = "fits"
