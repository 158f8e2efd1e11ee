"""The tricube kernel."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.kde.smoothing import Smoothing, unit_ball

__all__ = ["RECORD"]


@device_function
def tricube(q, decay):
    """(1 - u^3)^3."""
    t = 1.0 - q * math.sqrt(q)
    return t * t * t


class Tricube(Smoothing):
    """(1 - u^3)^3."""

    name, number, profile = "tricube", -4, staticmethod(tricube)

    def integral(self, k, m):
        return math.gamma((k + 1) / 3) * math.gamma(3 * m + 1) / (3 * math.gamma((k + 1) / 3 + 3 * m + 1))

    def lower(self, u, reach, tail):
        side = 1 - u
        near = 0.5 - 70 / 81 * u * (1 - u**3 * (3 / 4 - u**3 * (3 / 7 - u**3 / 10)))
        # integral of (3 s - 3 s^2 + s^3)^3
        terms = (27 / 4, -81 / 5, 18.0, -81 / 7, 36 / 8, -1.0, 1 / 10)
        return np.where(u < 0.4, near, 70 / 81 * side**4 * np.polynomial.polynomial.polyval(side, terms))

    def on_coordinate(self, u, d, reach, tail):
        return 70 / 81 * np.maximum(1 - np.abs(u) ** 3, 0.0) ** 3

    def variation(self, d, tail):
        from scipy.integrate import quad

        # |K''| in the direction of the coordinate, |K'| / u across, averaged over directions
        along = quad(lambda u: u ** (d - 1) * abs(18 * u * (1 - u**3) * (4 * u**3 - 1)), 0, 1, points=[0.25 ** (1 / 3)])[0]
        across = 9 * (self._beta(d + 1, 2) if d > 1 else 0.0)
        return self.norm(d) * unit_ball(d) * (along + (d - 1) * across)

    @staticmethod
    def _beta(k, m):
        """Integral of u^(k - 1) (1 - u^3)^m."""
        return math.gamma(k / 3) * math.gamma(m + 1) / (3 * math.gamma(k / 3 + m + 1))

    def steps(self, count, d, v, tail, options):
        g = random.gamma(np.array([d / 3, 4.0]), size=(count, 2), **options)
        return self._direction(count, d, d, options) * np.cbrt(g[:, :1] / g.sum(1, keepdims=True))


RECORD = Tricube()
