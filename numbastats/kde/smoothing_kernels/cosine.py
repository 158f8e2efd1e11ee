"""The cosine kernel, for one dimension."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.kde.smoothing import Smoothing
from numbastats.scalar.elementary import cos_abs

__all__ = ["RECORD"]


@device_function
def cosine(q, decay):
    """cos(pi u / 2)."""
    return cos_abs(1.5707963267948966 * math.sqrt(q))


class Cosine(Smoothing):
    """cos(pi u / 2)."""

    name, number, profile, on_line = "cosine", -2, staticmethod(cosine), True

    def norm(self, d):
        return math.pi / 4

    def roughness(self, d):
        return math.pi**2 / 16, 1 - 8 / math.pi**2

    def lower(self, u, reach, tail):
        return np.sin(0.25 * math.pi * (1 - u)) ** 2

    def on_coordinate(self, u, d, reach, tail):
        return 0.25 * math.pi * np.cos(0.5 * math.pi * u)

    def steps(self, count, d, v, tail, options):
        return 2 / math.pi * np.arcsin(2 * v - 1)


RECORD = Cosine()
