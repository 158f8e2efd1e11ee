"""Lognormal lifetimes."""

from __future__ import annotations

import math

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import LOGNORMAL
from tests.bayes.cases import lifetimes

CASE = lifetimes(
    LOGNORMAL,
    log_density=lambda z: -z * z / 2 - mp.log(2 * mp.pi) / 2,
    sf=lambda z: mp.erfc(z / mp.sqrt(2)) / 2,
    peer=scipy.stats.norm,
    mean=lambda sigma: math.exp(0.5 * sigma**2),
)
