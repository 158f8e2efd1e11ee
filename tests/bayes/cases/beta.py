"""Shares by their logits."""

from __future__ import annotations

import numpy as np
import scipy.special
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import BETA
from tests.bayes.cases import Case


class LogitBeta:
    """The logit of a variable of `scipy.stats.beta`."""

    dist = None

    def __init__(self, m, own):
        precision = np.exp(own["log_precision"])
        self.below = scipy.stats.beta(precision * scipy.special.expit(m), precision * scipy.special.expit(-m))
        self.above = scipy.stats.beta(precision * scipy.special.expit(-m), precision * scipy.special.expit(m))

    def logpdf(self, y):
        return self.below.logpdf(scipy.special.expit(y)) - np.logaddexp(0.0, y) - np.logaddexp(0.0, -y)

    def pdf(self, y):
        return np.exp(self.logpdf(y))

    def sf(self, y):
        return self.above.cdf(scipy.special.expit(-np.asarray(y)))

    def logsf(self, y):
        return self.above.logcdf(scipy.special.expit(-np.asarray(y)))

    def ppf(self, u):
        return np.log(self.below.ppf(u)) - np.log(self.above.isf(u))

    def median(self):
        return self.ppf(0.5)


def log_density(y, m, own):
    precision, mean, x = mp.exp(own["log_precision"]), 1 / (1 + mp.exp(-m)), 1 / (1 + mp.exp(-y))
    a, b = precision * mean, precision * (1 - mean)
    return a * mp.log(x) + b * mp.log(1 - x) - mp.log(mp.beta(a, b))


CASE = Case(
    record=BETA,
    log_density=log_density,
    peer=LogitBeta,
    mean=lambda m, own: scipy.special.expit(m),
    outcomes=(-9.0, -0.3, 0.4, 1.1, 6.0),
    predictors=(-3.0, -0.5, 0.0, 2.0, 5.0),
    own={"log_precision": 1.5},
    others=({"log_precision": -2.0}, {"log_precision": 4.0}, {"log_precision": 9.0}),
    log_priors={"log_precision": lambda v: -mp.exp(-v) / 2 - v / 2},
    refused=(0.0, 1.0, -0.5, 1.5),
    rtol=1e-11,
)
