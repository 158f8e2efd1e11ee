"""Log-logistic lifetimes."""

from __future__ import annotations

import math

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import LOGLOGISTIC
from tests.bayes.cases import lifetimes

CASE = lifetimes(
    LOGLOGISTIC,
    log_density=lambda z: -z - 2 * mp.log(1 + mp.exp(-z)),
    sf=lambda z: 1 / (1 + mp.exp(z)),
    peer=scipy.stats.logistic,
    mean=lambda sigma: math.pi * sigma / math.sin(math.pi * sigma),
)
