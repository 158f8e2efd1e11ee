"""The epanechnikov kernel."""

from __future__ import annotations

from tests.kde.cases import VOLUME, Case

CASE = Case(profile=lambda q: 1 - q, constant=lambda d: (d + 2) / (2 * VOLUME[d]), power=1, below=lambda t: t**2 * (3 - 2 * t))
