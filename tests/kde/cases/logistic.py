"""The logistic kernel."""

from __future__ import annotations

import numpy as np

from tests.kde.cases import Case

CASE = Case(profile=lambda q: 1 / (2 + 2 * np.cosh(np.sqrt(q))), constant=lambda d: 1.0, tailed=True)
