"""The cosine kernel."""

from __future__ import annotations

import math

import numpy as np

from tests.kde.cases import Case

CASE = Case(profile=lambda q: np.cos(0.5 * math.pi * np.sqrt(q)), constant=lambda d: math.pi / 4)
