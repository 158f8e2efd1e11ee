"""Two classes by the normal distribution function."""

from __future__ import annotations

import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import PROBIT
from tests.bayes.cases import Case

CASE = Case(
    record=PROBIT,
    log_density=lambda y, m, own: mp.log(mp.erfc(-y * m / mp.sqrt(2)) / 2),
    peer=lambda m, own: scipy.stats.bernoulli(scipy.stats.norm.cdf(m)),
    outcomes=(-1.0, 1.0),
    predictors=(-30.0, -3.0, -0.1, 0.0, 0.8, 6.0),
    rtol=2e-14,
)
