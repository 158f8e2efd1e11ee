"""Normal errors."""

from __future__ import annotations

import math

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import GAUSSIAN
from tests.bayes.cases import Case


def log_density(y, m, own):
    sigma = mp.exp(own["log_sigma"])
    return -(((y - m) / sigma) ** 2) / 2 - mp.log(sigma * mp.sqrt(2 * mp.pi))


CASE = Case(
    record=GAUSSIAN,
    log_density=log_density,
    peer=lambda m, own: scipy.stats.norm(m, math.exp(own["log_sigma"])),
    outcomes=(-30.0, -0.5, 0.0, 2.0, 1e3),
    predictors=(-2.0, 0.0, 1.5, 40.0),
    own={"log_sigma": -0.7},
    log_priors={"log_sigma": lambda v: mp.mpf(0)},  # of sigma 1/sigma
    rtol=2e-15,
)
