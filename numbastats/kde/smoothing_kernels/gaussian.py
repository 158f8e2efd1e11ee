"""The normal density as a kernel."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.kde.smoothing import Smoothing
from numbastats.scalar.elementary import exp

__all__ = ["RECORD"]


@device_function
def gaussian(q, decay):
    """exp(-decay q)."""
    return exp(-decay * q)


class Gaussian(Smoothing):
    """exp(-u^2 / 2)."""

    name, number, profile, tailed, normal = "gaussian", -3, staticmethod(gaussian), True, True
    most_dimensions = 500  # (2 sqrt(pi))^d is a double

    def norm(self, d):
        return (2 * math.pi) ** (-d / 2)

    def roughness(self, d):
        return (2 * math.sqrt(math.pi)) ** -d, 1.0

    def squared_reach(self, d, tail):
        if tail == 0:
            return 1490.0  # exp(-745) is the smallest float
        from scipy.special import gammainccinv

        return 2.0 * float(gammainccinv(d / 2, tail))

    def lower(self, u, reach, tail):
        return self.below(-u, reach, tail)

    def below(self, u, reach, tail):
        from scipy.special import ndtr

        mass = ndtr(u * reach)
        return mass if tail == 0 else np.maximum(mass - 0.5 * tail, 0.0) / (1 - tail)

    def on_coordinate(self, u, d, reach, tail):
        return math.sqrt(reach * reach / (2 * math.pi)) / (1 - tail) * np.exp(-0.5 * reach * reach * u * u)

    def second(self, reach, tail):
        cut = 2 * reach * math.exp(-0.5 * (reach * reach)) / math.sqrt(2 * math.pi) / (1 - tail)
        return (1 - cut) / (reach * reach)

    def variation(self, d, tail):
        return 4 * math.exp(-0.5) / math.sqrt(2 * math.pi) / (1 - tail)

    def steps(self, count, d, v, tail, options):
        from scipy.special import gammaincinv

        z = random.normal(size=(count, d), **options)
        square = np.einsum("ij,ij->i", z, z)
        out = np.flatnonzero(square > self.squared_reach(d, tail))  # these few are drawn anew, at once within the reach
        z[out] *= np.sqrt(2 * gammaincinv(d / 2, v[out] * (1 - tail)) / square[out, None])
        return z


RECORD = Gaussian()
