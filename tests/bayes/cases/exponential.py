"""Exponential lifetimes."""

from __future__ import annotations

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import EXPONENTIAL
from tests.bayes.cases import lifetimes

CASE = lifetimes(
    EXPONENTIAL,
    log_density=lambda z: z - mp.exp(z),
    sf=lambda z: mp.exp(-mp.exp(z)),
    peer=scipy.stats.gumbel_l,
    mean=lambda sigma: 1.0,
    sigma=False,
)
