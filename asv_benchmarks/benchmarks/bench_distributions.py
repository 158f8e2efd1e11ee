"""Distribution objects: functions of 100 000 points beside SciPy's, quantiles, expected shortfall, the cost of one call."""

from __future__ import annotations

import numpy as np

from .common import few

PARAMETERS = {
    "Normal": ((0.0, 1.0), "norm", ()),
    "StudentT": ((4.0,), "t", (4.0,)),
    "NIG": ((1.5, 0.3, 1.0), "norminvgauss", (1.5, 0.3)),
    "Gamma": ((2.5,), "gamma", (2.5,)),
    "InverseGaussian": ((1.0, 2.0), "invgauss", (0.5, 0.0, 2.0)),
    "TruncatedNormal": ((-1.0, 2.0), "truncnorm", (-1.0, 2.0)),
    "Weibull": ((1.7,), "weibull_min", (1.7,)),
    "Beta": ((2.0, 3.5), "beta", (2.0, 3.5)),
    "Lognormal": ((0.5,), "lognorm", (0.5,)),
    "ChiSquared": ((3.0,), "chi2", (3.0,)),
    "Exponential": ((0.0, 2.0), "expon", (0.0, 2.0)),
    "Laplace": ((0.0, 2.0), "laplace", (0.0, 2.0)),
    "Logistic": ((0.0, 2.0), "logistic", (0.0, 2.0)),
    "Cauchy": ((0.0, 2.0), "cauchy", (0.0, 2.0)),
    "Uniform": ((0.0, 2.0), "uniform", (0.0, 2.0)),
    "Gumbel": ((0.0, 2.0), "gumbel_r", (0.0, 2.0)),
    "GEV": ((0.2,), "genextreme", (-0.2,)),
    "GPD": ((0.2,), "genpareto", (0.2,)),
}


def made(name):
    import numbastats as ns

    return getattr(ns.distributions, name)(*PARAMETERS[name][0])


class Functions:
    params = [few(list(PARAMETERS)), ["logpdf", "cdf", "logsf", "ppf"], ["numbastats", "scipy"]]
    param_names = ["distribution", "function", "library"]
    skip_params = [("NIG", function, "scipy") for function in ("cdf", "logsf", "ppf")]  # quadrature of every point: minutes

    def setup(self, name, function, library):
        d = made(name)
        if library == "scipy":
            import scipy.stats

            peer = getattr(scipy.stats, PARAMETERS[name][1])(*PARAMETERS[name][2])
        u = np.random.default_rng(1).uniform(size=100_000)
        self.at = u if function == "ppf" else d.ppf(u)
        self.function = getattr(d if library == "numbastats" else peer, function)
        self.function(self.at)

    def time_100000_points(self, name, function, library):
        self.function(self.at)


class Objects:
    params = [few(list(PARAMETERS))]
    param_names = ["distribution"]

    def setup(self, name):
        self.d = made(name)
        self.d.expected_shortfall(0.025)

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


def _family_maker(family, shapes, function, of_arrays):
    def make(rng, T, n, edges):
        probabilities = function in ("ppf", "isf")
        x = rng.random(n) if probabilities else (4.0 * rng.random(n) if shapes else rng.normal(size=n))
        if edges:
            x[:4] = [0.0, 1.0, np.nan, 0.5]
        parameters = (0.0, 1.3, *FAMILY_SHAPES[family])
        return [x, *(np.full(n, p) for p in parameters)] if of_arrays else [x, parameters], None

    return make


FAMILY_SHAPES = {
    "normal": (),
    "student_t": (4.0,),
    "lognormal": (0.5,),
    "gamma": (2.5,),
    "chi_squared": (3.0,),
    "weibull": (1.7,),
    "beta": (2.0, 3.5),
    "inverse_gaussian": (0.5,),
    "truncated_normal": (-1.0, 2.0),
    "exponential": (),
    "laplace": (),
    "logistic": (),
    "cauchy": (),
    "uniform": (),
    "gumbel": (),
    "gev": (0.2,),
    "gpd": (0.2,),
}
GPU_MAKERS = {
    f"distributions.{family}_{function}{end}": _family_maker(family, shapes, function, bool(end))
    for family, shapes in FAMILY_SHAPES.items()
    for function in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    for end in ("", "_of_arrays")
}
GPU_BOUNDS = {
    name: dict(ulp=4096.0, floor=1e-3, why="series, fractions and iterations whose ends rounding moves") for name in GPU_MAKERS
}
