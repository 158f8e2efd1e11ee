"""The tricube kernel."""

from __future__ import annotations

import math

import mpmath

from tests.kde.cases import Case


def below(t):
    """Integral of 70/81 (1 - |u|^3)^3, u = 2 t - 1."""
    u = 2 * t - 1
    half = mpmath.mpf(70) / 81 * (abs(u) - 3 * abs(u) ** 4 / 4 + 3 * abs(u) ** 7 / 7 - abs(u) ** 10 / 10)
    return mpmath.mpf(1) / 2 + mpmath.sign(u) * half


CASE = Case(
    profile=lambda q: (1 - q**1.5) ** 3,
    constant={1: 70 / 81, 2: 220 / (81 * math.pi), 3: 3 / math.pi, 4: 1.138299717463301}.get,
    below=below,
)
