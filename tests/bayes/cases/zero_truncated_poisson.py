"""Counts above 0."""

from __future__ import annotations

from numbastats.bayes.responses import ZERO_TRUNCATED_POISSON
from tests.bayes.cases import zero_truncated
from tests.bayes.cases.poisson import CASE as POISSON

CASE = zero_truncated(POISSON, ZERO_TRUNCATED_POISSON)
