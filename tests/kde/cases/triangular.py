"""The triangular kernel."""

from __future__ import annotations

import numpy as np

from tests.kde.cases import VOLUME, Case

CASE = Case(profile=lambda q: 1 - np.sqrt(q), constant=lambda d: (d + 1) / VOLUME[d])
