"""Two classes by their log odds."""

from __future__ import annotations

import scipy.special
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import LOGIT
from tests.bayes.cases import Case

CASE = Case(
    record=LOGIT,
    log_density=lambda y, m, own: -mp.log(1 + mp.exp(-y * m)),
    peer=lambda m, own: scipy.stats.bernoulli(scipy.special.expit(m)),
    outcomes=(-1.0, 1.0),
    predictors=(-40.0, -3.0, -0.1, 0.0, 0.8, 20.0),
    rtol=2e-15,
)
