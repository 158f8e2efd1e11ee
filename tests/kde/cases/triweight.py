"""The triweight kernel."""

from __future__ import annotations

from tests.kde.cases import VOLUME, Case

CASE = Case(
    profile=lambda q: (1 - q) ** 3,
    constant=lambda d: (d + 2) * (d + 4) * (d + 6) / (48 * VOLUME[d]),
    power=3,
    below=lambda t: t**4 * (35 - 84 * t + 70 * t**2 - 20 * t**3),
)
