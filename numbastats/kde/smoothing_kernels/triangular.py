"""The triangular kernel."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.kde.smoothing import Smoothing, unit_ball

__all__ = ["RECORD"]


@device_function
def triangular(q, decay):
    """1 - u, u the root of q."""
    return 1.0 - math.sqrt(q)


class Triangular(Smoothing):
    """1 - u."""

    name, number, profile = "triangular", -1, staticmethod(triangular)

    def norm(self, d):
        return (d + 1) / unit_ball(d)

    def roughness(self, d):
        return self.norm(d) ** 2 * unit_ball(d) * 2 / ((d + 1) * (d + 2)), (d + 1) / ((d + 2) * (d + 3))

    def lower(self, u, reach, tail):
        return 0.5 * (1 - u) ** 2

    def on_coordinate(self, u, d, reach, tail):
        return np.maximum(1 - np.abs(u), 0.0)

    def variation(self, d, tail):
        return 2 * (d + 1)

    def steps(self, count, d, v, tail, options):
        direction = self._direction(count, d, d, options)
        g = random.gamma(np.array([d, 2.0]), size=(count, 2), **options)
        direction *= g[:, :1] / g.sum(1, keepdims=True)
        return direction


RECORD = Triangular()
