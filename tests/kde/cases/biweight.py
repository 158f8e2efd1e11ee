"""The biweight kernel."""

from __future__ import annotations

from tests.kde.cases import VOLUME, Case

CASE = Case(
    profile=lambda q: (1 - q) ** 2,
    constant=lambda d: (d + 2) * (d + 4) / (8 * VOLUME[d]),
    power=2,
    below=lambda t: t**3 * (10 - 15 * t + 6 * t**2),
)
