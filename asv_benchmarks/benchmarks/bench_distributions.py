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
