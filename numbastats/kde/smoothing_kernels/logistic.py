"""The logistic density as a kernel, for one dimension."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.kde.smoothing import Smoothing
from numbastats.scalar.elementary import exp
from numbastats.scalar.kde import distance

__all__ = ["RECORD"]


@device_function
def logistic(q, decay):
    """1 / (e^u + 2 + e^-u), u in units of H^(1/2)."""
    e = exp(-distance(q, decay))
    return e / ((1.0 + e) * (1.0 + e))


class Logistic(Smoothing):
    """1 / (e^u + 2 + e^-u)."""

    name, number, profile, tailed, on_line = "logistic", -5, staticmethod(logistic), True, True

    def norm(self, d):
        return 1.0

    def roughness(self, d):
        return 1 / 6, math.pi**2 / 3

    def squared_reach(self, d, tail):
        return math.log((2 - tail) / tail) ** 2

    def lower(self, u, reach, tail):
        from scipy.special import expit

        return np.maximum(expit(-u * reach) - 0.5 * tail, 0.0) / (1 - tail)

    def on_coordinate(self, u, d, reach, tail):
        return reach / (4 * np.cosh(0.5 * reach * u) ** 2) / (1 - tail)

    def second(self, reach, tail):
        from scipy.integrate import quad

        return 2 * quad(lambda u: u * u * self.on_coordinate(u, 1, reach, tail), 0, 1, epsabs=0, epsrel=1e-13)[0]

    def steps(self, count, d, v, tail, options):
        v = 0.5 * tail + v * (1 - tail)
        return np.log(v / (1 - v))


RECORD = Logistic()
