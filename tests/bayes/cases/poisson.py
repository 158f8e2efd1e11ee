"""Counts."""

from __future__ import annotations

import numpy as np
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import POISSON
from tests.bayes.cases import Case

CASE = Case(
    record=POISSON,
    log_density=lambda y, m, own: y * m - mp.exp(m) - mp.loggamma(y + 1),
    peer=lambda m, own: scipy.stats.poisson(np.exp(m)),
    outcomes=(0.0, 1.0, 3.0, 50.0),
    predictors=(-20.0, -1.0, 0.0, 1.2, 5.0),
    refused=(-1.0, 0.5),
    rtol=2e-15,
)
