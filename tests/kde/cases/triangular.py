"""The triangular kernel."""

from __future__ import annotations

import numpy as np

from tests.kde.cases import VOLUME, Case

CASE = Case(
    profile=lambda q: 1 - np.sqrt(q),
    constant=lambda d: (d + 1) / VOLUME[d],
    below=lambda t: 2 * t**2 if t < 0.5 else 1 - 2 * (1 - t) ** 2,
)
