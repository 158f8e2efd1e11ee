"""Weibull lifetimes."""

from __future__ import annotations

import math

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import WEIBULL
from tests.bayes.cases import lifetimes

CASE = lifetimes(
    WEIBULL,
    log_density=lambda z: z - mp.exp(z),
    sf=lambda z: mp.exp(-mp.exp(z)),
    peer=scipy.stats.gumbel_l,
    mean=lambda sigma: math.gamma(1.0 + sigma),
)
