"""Counts with more variance than Poisson's."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import NEGATIVE_BINOMIAL
from tests.bayes.cases import Case


def log_density(y, m, own):
    r, mean = mp.exp(own["log_size"]), mp.exp(m)
    counts = mp.loggamma(y + r) - mp.loggamma(r) - mp.loggamma(y + 1)
    return counts + r * mp.log(r / (r + mean)) + y * mp.log(mean / (r + mean))


CASE = Case(
    record=NEGATIVE_BINOMIAL,
    log_density=log_density,
    peer=lambda m, own: scipy.stats.nbinom(np.exp(own["log_size"]), 1.0 / (1.0 + np.exp(m - own["log_size"]))),
    outcomes=(0.0, 1.0, 3.0, 50.0),
    predictors=(-20.0, -1.0, 0.0, 1.2, 5.0),
    own={"log_size": 0.3},
    others=({"log_size": -4.0}, {"log_size": 3.5}, {"log_size": 12.0}),
    log_priors={"log_size": lambda v: -(mp.exp(-v / 2) ** 2) / 2 - v / 2},  # of x = 1/sqrt(size) e^(-x^2/2), times |dx/dv|
    refused=(-1.0, 0.5),
    rtol=1e-12,
    mean=lambda m, own: math.exp(m),  # SciPy's loses digits
)
