"""Stable."""

from __future__ import annotations

from numbastats.distributions import Stable
from tests.distributions.cases import Case

CASE = Case(
    cls=Stable,
    objects=(Stable(1.7, 0.4, 0.5, 2.0), Stable(0.8, -0.5, 0.5, 2.0, param="S1")),
    often=True,
    elsewhere="tests/stable/test_functions.py",
    orders=0,
)
