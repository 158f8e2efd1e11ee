"""The tricube kernel."""

from __future__ import annotations

import math

from tests.kde.cases import Case

CASE = Case(
    profile=lambda q: (1 - q**1.5) ** 3, constant={1: 70 / 81, 2: 220 / (81 * math.pi), 3: 3 / math.pi, 4: 1.138299717463301}.get
)
