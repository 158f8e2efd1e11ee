"""Proportional hazards: rows have no density; tests/bayes/test_cox.py has the partial likelihood."""

from __future__ import annotations

from numbastats.bayes.responses import COX
from tests.bayes.cases import Case

CASE = Case(record=COX, log_density=COX.log_density, peer=COX.log_density, outcomes=(), predictors=(), refused=(-1.0,), rtol=0.0)
