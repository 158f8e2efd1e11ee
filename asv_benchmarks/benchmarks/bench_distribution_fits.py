"""Speed and accuracy of fits of distributions to many series, beside SciPy's fit and Thom's formula."""

from __future__ import annotations

import numpy as np
import scipy.special
import scipy.stats

from numbastats import distributions
from numbastats.distributions.fitting import CLASSES, _plan
from numbastats.distributions.kernels import fits

from .bench_distributions import made
from .common import SMOKE, few

PEERS = {
    "normal": scipy.stats.norm,
    "lognormal": scipy.stats.lognorm,
    "gamma": scipy.stats.gamma,
    "weibull": scipy.stats.weibull_min,
    "inverse_gaussian": scipy.stats.invgauss,
    "student_t": scipy.stats.t,
    "beta": scipy.stats.beta,
    "nig": scipy.stats.norminvgauss,
    "gumbel": scipy.stats.gumbel_r,
    "gev": scipy.stats.genextreme,
    "gpd": scipy.stats.genpareto,
    "logistic": scipy.stats.logistic,
    "cauchy": scipy.stats.cauchy,
    "laplace": scipy.stats.laplace,
}
HYPERBOLIC = ("nig", "hyperbolic", "variance_gamma", "generalized_hyperbolic")
FREE = (
    "normal",
    "student_t",
    "nig",
    "gumbel",
    "gev",
    "logistic",
    "cauchy",
    "laplace",
)  # of location; SciPy fixes it at 0 for the others


def data(family, series, values):
    """Draws of the family."""
    rng = np.random.default_rng(1)
    shape = (series, values)
    if family == "beta":
        return rng.beta(0.8, 2.5, shape)
    if family in HYPERBOLIC:
        return scipy.stats.norminvgauss.rvs(1.2, 0.3, size=shape, random_state=rng)
    draws = {
        "normal": rng.normal,
        "student_t": lambda size: rng.standard_t(4.0, size),
        "gumbel": rng.gumbel,
        "gev": rng.gumbel,
        "gpd": lambda size: rng.pareto(4.0, size),
        "logistic": rng.logistic,
        "cauchy": rng.standard_cauchy,
        "laplace": rng.laplace,
    }
    return draws.get(family, lambda size: rng.gamma(2.0, 3.0, size))(size=shape)


def thom(x):
    """Shape and scale of gamma distributions by the formula of Thom (1958)."""
    mean = x.mean(axis=-1)
    a = np.log(mean) - np.log(x).mean(axis=-1)
    shape = (1.0 + np.sqrt(1.0 + 4.0 * a / 3.0)) / (4.0 * a)
    return shape, mean / shape


class Many:
    """20000 series of 40 values; "student_t" and the hyperbolic families: 500 of 1000."""

    params = few(["gamma", "normal", "lognormal", "weibull", "inverse_gaussian", "beta", "student_t", *HYPERBOLIC])
    param_names = ["family"]

    def setup(self, family):
        series, values = (500, 1000) if family in ("student_t", *HYPERBOLIC) else (20_000, 40)
        self.x = data(family, 100 if SMOKE else series, values)
        distributions.fit_many(self.x[:2], family)

    def time_fit_many(self, family):
        distributions.fit_many(self.x, family, workers=1)


class Extremes:
    """2000 series of 40 values and 50 of 1000 by the likelihood of all families: exact, or the largest third censored."""

    NEW = ("gev", "gpd", "gumbel", "logistic", "cauchy", "laplace", "exponential", "uniform", "chi_squared")
    params = (few(list(NEW)), few([40, 1000]))
    param_names = ("family", "values")

    def setup(self, family, values):
        series = 20 if SMOKE else {40: 2000, 1000: 50}[values]
        self.x = np.random.default_rng(1).exponential(2.0, (series, values))
        top = np.quantile(self.x, 0.67)
        self.ends = np.minimum(self.x, top), np.where(self.x > top, np.inf, self.x)
        distributions.fit_many(self.x[:2], family)

    def time_exact(self, family, values):
        distributions.fit_many(self.x, family, workers=1)

    def time_censored(self, family, values):
        if family not in ("laplace", "uniform"):  # exact values alone
            distributions.fit_many(None, family, censored=self.ends, workers=1)


class Levels:
    """Values above thresholds of 100 series of 10,000 days, and return levels of these and of one series of 60 maxima."""

    PERIODS = (2.0, 10.0, 50.0, 100.0)

    def setup(self):
        rng = np.random.default_rng(1)
        self.days = rng.gamma(0.5, 8.0, (2 if SMOKE else 100, 1000 if SMOKE else 10_000))
        self.thresholds = np.quantile(self.days, 0.98, axis=1)
        self.fits = distributions.fit_many(self.days, "gpd", threshold=self.thresholds)
        self.maxima = scipy.stats.genextreme.rvs(-0.1, 40.0, 8.0, 60, random_state=rng)
        self.found = distributions.fit(self.maxima, "gev")
        self.time_profile()

    def time_fit_above(self):
        distributions.fit_many(self.days, "gpd", threshold=self.thresholds, workers=1)

    def time_delta_of_many(self):
        self.fits.return_level(self.PERIODS, 365.25)

    def time_profile(self):
        self.found.return_level(self.PERIODS, method="profile", x=self.maxima)

    def time_bootstrap(self):
        self.found.return_level(self.PERIODS, method="bootstrap", count=199, rng=1, workers=1)


class KnownInPart:
    """What follows from a fit to 200 lives of which some are censored: comparison, profile, bootstrap of rows, test."""

    def setup(self):
        life = scipy.stats.weibull_min.rvs(1.5, scale=10.0, size=200, random_state=np.random.default_rng(1))
        self.data = dict(x=np.minimum(life, 12.0), event=life < 12.0)
        self.fit, self.count = distributions.fit(self.data["x"], "weibull", event=self.data["event"]), 19 if SMOKE else 199
        self.time_compare()
        self.time_bootstrap()
        self.time_goodness()

    def time_compare(self):
        distributions.compare(families=["weibull", "gamma", "lognormal"], **self.data)

    def time_profile(self):
        self.fit.estimate("scale", "profile", **self.data)

    def time_bootstrap(self):
        self.fit.estimate("scale", "bootstrap", count=self.count, rng=1, workers=1, **self.data)

    def time_goodness(self):
        distributions.goodness(family="weibull", count=self.count, rng=1, workers=1, **self.data)


class Rainfall:
    """Standardised precipitation index of 20000 series of 40 values; the fit by Thom's formula alone."""

    def setup(self):
        self.x = data("gamma", 100 if SMOKE else 20_000, 40)
        self.time_standardise()

    def time_standardise(self):
        distributions.standardise(self.x, workers=1)

    def time_thom(self):
        thom(self.x)

    def track_loglik_above_thom(self):
        """Mean gain of the log-likelihood of a series over Thom's formula."""
        found = distributions.fit_many(self.x, "gamma")
        shape, scale = thom(self.x)
        peer = scipy.stats.gamma.logpdf(self.x, shape[:, None], scale=scale[:, None]).sum(axis=-1)
        return float((found.loglik - peer).mean())

    track_loglik_above_thom.unit = "nats"


class One:
    """One series of 1000 values, beside SciPy's fit."""

    params = few(list(PEERS))
    param_names = ["family"]

    def setup(self, family):
        self.x = data(family, 1, 1000)[0]
        self.options = {} if family in FREE else {"floc": 0.0} | ({"fscale": 1.0} if family == "beta" else {})
        distributions.fit(self.x, family)

    def time_fit(self, family):
        distributions.fit(self.x, family)

    def time_scipy(self, family):
        PEERS[family].fit(self.x, **self.options)

    def track_loglik_above_scipy(self, family):
        peer = PEERS[family]
        return distributions.fit(self.x, family).loglik - float(peer.logpdf(self.x, *peer.fit(self.x, **self.options)).sum())

    track_loglik_above_scipy.unit = "nats"


# --- CUDA ----------------------------------------------------------------------------------------------------------------------


def _maker(family, held):
    """Arguments of a kernel's fit to some series of 40 values; `held` are its fixed parameters."""

    def make(rng, dtype, n, edges):
        series = 3 if n < 1000 else 64
        return _arguments(data(family, series, 40).ravel(), series, np.array(held), len(held))

    return make


def _arguments(x, series, fixed, width, counts=False):
    """Inputs and outputs of a kernel for series of one length; `fixed` are the fixed of `width` parameters."""
    length = x.size // series
    how = fits.how_of(range(width), width, least_count=3, counts=counts)
    spans, room = np.array([[-1, length]]), np.zeros(fits.room_of(how, x.size))
    inputs = [np.array([fits.EXACT]), x, fixed, np.ones(length), how, fixed, spans, room]
    outputs = [np.zeros((series, width)), np.zeros((series, width, width)), np.zeros((series, fits.NUMBERS))]
    return inputs, [*outputs, np.zeros(series, np.int64)]


def _finish_maker(rng, dtype, n, edges):
    """Arguments of the kernel that makes covariances: information that is positive definite, and of some fits is not."""
    roots, shape = rng.normal(size=(n, 3, 5)), (n, 3)
    info, numbers = roots @ np.swapaxes(roots, 1, 2), rng.integers(0, 9, (n, fits.NUMBERS)).astype(float)
    info[::7] *= -1.0
    inputs = [info, np.array([True, False, True]), numbers, np.arange(n) % 3]
    return inputs, [np.zeros((*shape, 3)), np.zeros(shape), np.zeros(shape, np.int64)]


def _likelihood_maker(family):
    """Arguments of the likelihood's kernel for draws of the family: where these are of another, many climbs end on ridges."""

    def make(rng, dtype, n, edges):
        cls, own = CLASSES[family], CLASSES[family]._equations is not None
        fixed = _plan(cls, {"asymmetric_laplace": {"loc": 0.0}, "binomial": {"n": 120.0}}.get(family), own).values
        (series, values), width, d = (3, 40) if n < 1000 else (64, 400), fixed.size - 2, made(cls.__name__)
        return _arguments(d.rvs(series * values, rng=11) - d._parameters[0], series, fixed, width, cls.is_discrete)

    return make


_FREE = np.nan
_BY_LIKELIHOOD = [f for f, c in CLASSES.items() if c._likelihood is not None and (c.is_discrete or not c._known)]
GPU_MAKERS = {f"distributions.{f}_fit": _likelihood_maker(f) for f in _BY_LIKELIHOOD} | {
    **{f"distributions.fit_{f}": _maker(f, [_FREE] * 3) for f in ("normal", "lognormal", "gamma", "inverse_gaussian", "weibull")},
    "distributions.fit_student_t": _maker("student_t", [_FREE] * 3),
    "distributions.fit_beta": _maker("beta", [_FREE] * 3),
    "distributions.fit_asymmetric_laplace": _maker("nig", [_FREE] * 3),
    "distributions.fit_generalized_normal": _maker("nig", [_FREE] * 3),
    "distributions.fit_nig": _maker("nig", [-0.5, *[_FREE] * 4]),
    "distributions.fit_hyperbolic": _maker("nig", [1.0, *[_FREE] * 4]),
    "distributions.fit_generalized_hyperbolic": _maker("nig", [-0.5, *[_FREE] * 4]),
}
GPU_BOUNDS = {
    name: dict(fits=True, why="a climb ends where a step promises a gain below 1e-11, or rounding") for name in GPU_MAKERS
}
GPU_MAKERS["distributions.finish"] = _finish_maker
GPU_BOUNDS["distributions.finish"] = dict(ulp=4096.0, floor=1e-6, why="differences in Cholesky's method")


def _check_families(report, simulated):
    """All families of the kernel, on both devices."""
    for family in ("normal", "lognormal", "gamma", "weibull", "inverse_gaussian", "beta", "student_t"):
        x = data(family, 2 if simulated else 1000, 30)
        gpu, cpu = (distributions.fit_many(x, family, device=device) for device in ("cuda", "cpu"))
        if not (np.allclose(gpu.params, cpu.params, rtol=1e-6) and (gpu.status == cpu.status).all()):
            report.fail(f"distributions.fit_many: {family} differs by {np.nanmax(np.abs(gpu.params - cpu.params)):.1e}")


GPU_CHECKS = (_check_families,)
