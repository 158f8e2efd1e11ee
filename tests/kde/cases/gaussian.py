"""The gaussian kernel."""

from __future__ import annotations

import math

import numpy as np

from tests.kde.cases import Case

CASE = Case(profile=lambda q: np.exp(-0.5 * q), constant=lambda d: (2 * math.pi) ** (-d / 2), tailed=True)
