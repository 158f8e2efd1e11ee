"""Counts above 0 with more variance than Poisson's."""

from __future__ import annotations

from numbastats.bayes.responses import ZERO_TRUNCATED_NEGATIVE_BINOMIAL
from tests.bayes.cases import zero_truncated
from tests.bayes.cases.negative_binomial import CASE as NEGATIVE_BINOMIAL

CASE = zero_truncated(NEGATIVE_BINOMIAL, ZERO_TRUNCATED_NEGATIVE_BINOMIAL)
