"""Positive numbers by their logarithms."""

from __future__ import annotations

import math

import numpy as np
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import GAMMA
from tests.bayes.cases import Case


def log_density(y, m, own):
    k = mp.exp(own["log_shape"])
    return k * (mp.log(k) + y - m - mp.exp(y - m)) - mp.loggamma(k)


CASE = Case(
    record=GAMMA,
    log_density=log_density,
    peer=lambda m, own: scipy.stats.loggamma(np.exp(own["log_shape"]), m - own["log_shape"]),
    outcomes=(-3.0, 0.1, 0.7, 4.0),
    predictors=(-1.5, 0.0, 0.6, 3.0),
    own={"log_shape": 0.6},
    others=({"log_shape": -3.0}, {"log_shape": 3.6}, {"log_shape": 9.0}),
    log_priors={"log_shape": lambda v: -mp.exp(-v) / 2 - v / 2},
    refused=(0.0, -1.0),
    rtol=1e-12,
    mean=lambda m, own: math.exp(m),
)
