"""The uniform kernel."""

from __future__ import annotations

import numpy as np

from tests.kde.cases import VOLUME, Case

CASE = Case(profile=np.ones_like, constant=lambda d: 1 / VOLUME[d], power=0, below=lambda t: t)
