"""The cosine kernel."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from tests.kde.cases import Case

CASE = Case(
    profile=lambda q: np.cos(0.5 * math.pi * np.sqrt(q)),
    constant=lambda d: math.pi / 4,
    below=lambda t: mpmath.sin(mpmath.pi * t / 2) ** 2,
)
