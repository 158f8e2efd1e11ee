"""Distribution objects: functions of 100 000 points beside SciPy's, quantiles, expected shortfall, the cost of one call."""

from __future__ import annotations

import re

import numpy as np

import numbastats.distributions as distributions
from numbastats._core.kernel import REGISTRY
from numbastats.distributions.kernels import hazards, maps
from numbastats.distributions.kernels.points import FUNCTIONS

from .common import few

# ours, SciPy's name and its arguments
PARAMETERS = {
    "Normal": ((0.3, 2.0), "norm", (0.3, 2.0)),
    "Lognormal": ((0.5, 0.0, 2.0), "lognorm", (0.5, 0.0, 2.0)),
    "Gamma": ((2.5, 0.0, 2.0), "gamma", (2.5, 0.0, 2.0)),
    "ChiSquared": ((3.0,), "chi2", (3.0,)),
    "Weibull": ((1.7, 0.0, 2.0), "weibull_min", (1.7, 0.0, 2.0)),
    "Beta": ((2.0, 3.5), "beta", (2.0, 3.5)),
    "InverseGaussian": ((1.0, 2.0), "invgauss", (0.5, 0.0, 2.0)),
    "TruncatedNormal": ((-1.0, 2.0), "truncnorm", (-1.0, 2.0)),
    "StudentT": ((4.5, 0.3, 2.0), "t", (4.5, 0.3, 2.0)),
    "Exponential": ((0.3, 2.0), "expon", (0.3, 2.0)),
    "Laplace": ((0.3, 2.0), "laplace", (0.3, 2.0)),
    "Logistic": ((0.3, 2.0), "logistic", (0.3, 2.0)),
    "Cauchy": ((0.3, 2.0), "cauchy", (0.3, 2.0)),
    "Uniform": ((0.3, 2.0), "uniform", (0.3, 2.0)),
    "Gumbel": ((0.3, 2.0), "gumbel_r", (0.3, 2.0)),
    "GEV": ((0.2, 0.3, 2.0), "genextreme", (-0.2, 0.3, 2.0)),
    "GPD": ((0.2, 0.3, 2.0), "genpareto", (0.2, 0.3, 2.0)),
    "Pareto": ((2.5, 0.3, 2.0), "pareto", (2.5, 0.3, 2.0)),
    "Lomax": ((2.5, 0.3, 2.0), "lomax", (2.5, 0.3, 2.0)),
    "LogLogistic": ((3.0, 0.3, 2.0), "fisk", (3.0, 0.3, 2.0)),
    "InverseGamma": ((3.0, 0.3, 2.0), "invgamma", (3.0, 0.3, 2.0)),
    "Frechet": ((3.0, 0.3, 2.0), "invweibull", (3.0, 0.3, 2.0)),
    "GumbelMin": ((0.3, 2.0), "gumbel_l", (0.3, 2.0)),
    "Rayleigh": ((0.3, 2.0), "rayleigh", (0.3, 2.0)),
    "Maxwell": ((0.3, 2.0), "maxwell", (0.3, 2.0)),
    "HalfNormal": ((0.3, 2.0), "halfnorm", (0.3, 2.0)),
    "BirnbaumSaunders": ((0.7, 0.3, 2.0), "fatiguelife", (0.7, 0.3, 2.0)),
    "GeneralizedNormal": ((1.5, 0.3, 2.0), "gennorm", (1.5, 0.3, 2.0)),
    "AsymmetricLaplace": ((0.6, 0.3, 2.0), "laplace_asymmetric", (0.6, 0.3, 2.0)),
    "GeneralizedGamma": ((2.5, 0.8, 0.3, 2.0), "gengamma", (2.5, 0.8, 0.3, 2.0)),
    "BurrXII": ((3.0, 2.5, 0.3, 2.0), "burr12", (3.0, 2.5, 0.3, 2.0)),
    "PearsonIII": ((0.7, 0.3, 2.0), "pearson3", (0.7, 0.3, 2.0)),
    "SkewNormal": ((2.5, 0.3, 2.0), "skewnorm", (2.5, 0.3, 2.0)),
    "ExGaussian": ((1.5, 0.3, 2.0), "exponnorm", (1.5, 0.3, 2.0)),
    "JohnsonSU": ((-0.5, 1.8, 0.3, 2.0), "johnsonsu", (-0.5, 1.8, 0.3, 2.0)),
    "NIG": ((2.0, 0.5, 1.0), "norminvgauss", (2.0, 0.5)),
    "Hyperbolic": ((2.0, 0.5, 1.0), "genhyperbolic", (1.0, 2.0, 0.5)),
    "GeneralizedHyperbolic": ((1.5, 2.0, 0.5, 1.0), "genhyperbolic", (1.5, 2.0, 0.5)),
    "Stable": ((1.7, 0.2), "levy_stable", (1.7, 0.2)),
}
COUNTS = {
    "Poisson": ((3.5,), "poisson", (3.5,)),
    "NegativeBinomial": ((30.0, 2.5), "nbinom", (2.5, 2.5 / 32.5)),
    "Geometric": ((2.0,), "geom", (1.0 / 3.0, -1.0)),
    "Binomial": ((120, 0.3), "binom", (120, 0.3)),
}
ALONE = {"Kumaraswamy": ((2.0, 3.0),), "SkewT": ((2.0, 4.5, 0.3, 2.0),)}  # which SciPy has not
ALONE |= {  # families that no table has, for the GPU check; those whose domain lacks these shapes are entered above
    cls.__name__: (tuple({"loc": 0.3, "scale": 2.0}.get(name, 2.5) for name in cls.names),)
    for cls in map(vars(distributions).get, distributions.__all__)
    if getattr(cls, "_kernels", None) and cls.__name__ not in PARAMETERS | COUNTS | ALONE
}
MOST = {
    "NIG": 100,
    "Hyperbolic": 100,
    "GeneralizedHyperbolic": 100,
    "Stable": 1,
}  # values for which SciPy's quadrature takes seconds
HERE = [name for name in PARAMETERS if name not in MOST or name == "NIG"]


def made(name):
    import numbastats as ns

    return getattr(ns.distributions, name)(*(PARAMETERS | ALONE | COUNTS)[name][0])


def peer_of(name):
    import scipy.stats

    _, peer, arguments = (PARAMETERS | COUNTS)[name]
    return getattr(scipy.stats, peer)(*arguments)


class Functions:
    params = [few(HERE), ["logpdf", "cdf", "logsf", "ppf"], ["numbastats", "scipy"]]
    param_names = ["distribution", "function", "library"]
    skip_params = [("NIG", function, "scipy") for function in ("cdf", "logsf", "ppf")]  # quadrature of every point: minutes

    def setup(self, name, function, library):
        d = made(name)
        u = np.random.default_rng(1).uniform(size=100_000)
        self.at = u if function == "ppf" else d.ppf(u)
        self.function = getattr(d if library == "numbastats" else peer_of(name), function)
        self.function(self.at)

    def time_100000_points(self, name, function, library):
        self.function(self.at)


class Counts:
    params = [few([*COUNTS]), ["logpmf", "cdf", "logsf", "ppf"], ["numbastats", "scipy"]]
    param_names = ["distribution", "function", "library"]

    def setup(self, name, function, library):
        d = made(name)
        self.at = np.random.default_rng(1).uniform(size=100_000) if function == "ppf" else d.rvs(100_000, rng=1)
        self.function = getattr(d if library == "numbastats" else peer_of(name), function)
        self.function(self.at)

    def time_100000_counts(self, name, function, library):
        self.function(self.at)

    def track_error_of_the_mean_by_a_sum(self, name, function, library):
        d = made(name)
        return float(abs(d.expect() - d.mean()) / d.std())

    track_error_of_the_mean_by_a_sum.unit = "standard deviations"


class Objects:
    params = [few(HERE)]
    param_names = ["distribution"]

    def setup(self, name):
        self.d = made(name)
        self.d.expected_shortfall(0.025)
        self.time_expect(name)
        self.time_score_1000_points(name)

    def time_expected_shortfall(self, name):
        self.d.expected_shortfall(0.025)

    def time_expect(self, name):
        self.d.expect(np.tanh)

    def time_one_number(self, name):
        self.d.logpdf(0.5)

    def time_score_1000_points(self, name):
        self.d.score(np.linspace(0.1, 0.9, 1000))

    def track_error_of_the_mean_by_quantiles(self, name):
        return float(abs(self.d.expect() - self.d.mean()) / self.d.std())

    track_error_of_the_mean_by_quantiles.unit = "standard deviations"


_SPECIAL = np.array([0.0, 1.0, np.nan, 0.5, -1.0, 2.0, -np.inf, np.inf, 1e300])


def _arguments(name, function, of_arrays):
    """Inputs of a kernel of a family: points or probabilities, and its parameters as a tuple or as arrays."""

    def make(rng, T, n, edges):
        d = made(name)
        x = rng.random(n) if function in ("ppf", "isf") else d.rvs(n, rng=11).astype(float)  # of counts they are integers
        parameters = [np.full(n, p) for p in d._parameters]
        if edges:
            x[: _SPECIAL.size] = _SPECIAL
            for j, p in enumerate(parameters):  # a missing parameter each
                p[_SPECIAL.size + j] = np.nan
        return [x, *parameters] if of_arrays else [x, d._parameters], None

    return make


def _score_arguments(name):
    """Inputs of the score's kernel: points, location, scale and two shapes."""

    def make(rng, T, n, edges):
        d = made(name)
        values = (*d._parameters, 0.0, 0.0)[:4]
        return [d.rvs(n, rng=11), *(np.full(n, p) for p in values)], None

    return make


def _map_arguments(one):
    """Inputs of a map between functions of distributions: probabilities, or their logarithms."""

    def make(rng, T, n, edges):
        u = rng.uniform(1e-3, 1.0, n)
        if one is maps.NEWTON:
            side = np.where(u > 0.5, 1.0, 0.0)
            return [u, 0.5 * u, 2.0 * u, np.log(u) - 0.1, side, side, -u, np.log(u), np.log1p(-u)], None
        if "order_log" in one.kernel.name:
            return [np.log(u), np.log1p(-u), np.full(n, 3.0), np.full(n, 4.0)], None
        if "order" in one.kernel.name:
            return [u, 1.0 - u, np.full(n, 3.0), np.full(n, 4.0)], None
        values = [rng.uniform(1e-3, 1.0, n) for _ in one.names]
        if "within" in one.kernel.name:  # as numbers, which are the first of each: x is inside, so that the loop reads its array
            for value, first in zip(values[1:4], (0.5, 0.1, 0.9), strict=True):
                value[0] = first
        if one is hazards.HAZARD:
            values[2:] = np.log(values[2]), np.log(values[3]), np.round(values[4])
        return [np.log(v) for v in values] if "log" in one.kernel.name else values, None

    return make


KERNELS = {
    name: f"distributions.{re.sub('(?<=[a-z])(?=[A-Z])', '_', name).lower()}"
    for name in PARAMETERS | ALONE | COUNTS
    if name not in MOST
}
GPU_MAKERS = {
    f"{kernel}_{function}{end}": _arguments(name, function, bool(end))
    for name, kernel in KERNELS.items()
    for function in (*FUNCTIONS, "pmf", "logpmf")
    for end in ("", "_of_arrays")
    if f"{kernel}_{function}{end}" in REGISTRY
} | {f"{kernel}_score{end}": _score_arguments(name) for name, kernel in KERNELS.items() for end in ("", "_of_arrays")}
GPU_MAKERS |= {
    one.kernel.name: _map_arguments(one) for one in (*vars(maps).values(), hazards.HAZARD) if isinstance(one, maps.Map)
}
GPU_BOUNDS = {
    name: dict(ulp=4096.0, floor=1e-3, why="series, fractions and iterations whose ends rounding moves") for name in GPU_MAKERS
}
