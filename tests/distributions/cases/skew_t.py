"""SkewT."""

from __future__ import annotations

from numbastats.distributions import SkewT
from tests.distributions.cases import Case

CASE = Case(cls=SkewT, objects=(SkewT(2.0, 5.5, 0.5, 2.0),), elsewhere="tests/distributions/test_skew_t.py")
