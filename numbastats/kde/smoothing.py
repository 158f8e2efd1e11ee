"""What a smoothing kernel is: all that the package knows of one stands in its record.

A kernel K is a function of the distance u in units of H^(1/2), not normalised, and 0 from u = `reach` on; q is (u / reach)^2.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import numbastats.random as random
from numbastats.scalar.kde import any_power

__all__ = ["Smoothing", "polynomial", "unit_ball"]


def unit_ball(d):
    """Volume of the unit ball in d dimensions."""
    return math.pi ** (d / 2) / math.gamma(d / 2 + 1)


class Smoothing:
    """A kernel whose constants are integrals of its profile; a subclass knows them in closed form.

    Attributes
    ----------
    name : str
    number : int
        What loops call it: the exponent of (1 - q)^p, a negative number for the others.
    power : int or None
        The exponent p.
    rows : bool
        Whether grids sum it by difference rows of integers.
    on_line : bool
        Whether it is for one dimension, or a product form, alone.
    tailed : bool
        Whether it has no end, so that a mass `tail` is cut off.
    normal : bool
        Whether it is the normal density: `tail` may be 0, H is its covariance, and it has formulas of its own.
    profile : dispatcher
        K as a scalar function of q and of decay = reach^2 / 2.
    """

    name: str
    number: int
    power: int | None = None
    rows = False
    on_line = False
    tailed = False
    normal = False
    most_dimensions = 250  # beyond, the constants are no doubles
    profile: Any
    reach = 1.0

    def __repr__(self):
        return repr(self.name)

    def __reduce__(self) -> Any:
        return "RECORD"  # of its file

    def __deepcopy__(self, memo):
        return self

    def integral(self, k, m):
        """Integral of u^k K(u)^m from 0 to the reach."""
        from scipy.integrate import quad

        def f(u):
            return u**k * self.profile((u / self.reach) ** 2, 0.5 * self.reach**2) ** m

        return quad(f, 0.0, self.reach, epsabs=0.0, epsrel=1e-13, limit=1000)[0]

    def norm(self, d):
        """Factor that makes the kernel integrate to 1 over R^d, before a tail is cut."""
        return 1 / (d * unit_ball(d) * self.integral(d - 1, 1))

    def roughness(self, d):
        """Integral of the squared kernel over R^d, and its variance along one coordinate."""
        first = self.integral(d - 1, 1)
        return self.integral(d - 1, 2) / (d * unit_ball(d) * first**2), self.integral(d + 1, 1) / (d * first)

    def squared_reach(self, d, tail):
        """Squared radius of the support in units of H, beyond which a tailed kernel in d dimensions has the mass `tail`."""
        return self.reach**2

    def height(self, d, tail):
        """Density of the kernel per unit of its profile."""
        return self.norm(d) / (1 - tail) if self.tailed else self.norm(d)

    def lower(self, u, reach, tail):
        """Mass below -u on the line, u from 0 to 1 in units of the reach, to relative accuracy."""
        raise self._unknown("distribution function")

    def below(self, u, reach, tail):
        """Mass below u on the line, u from -1 to 1 in units of the reach, to relative accuracy."""
        lower = self.lower(np.abs(u), reach, tail)
        return np.where(u < 0, lower, 1 - lower)

    def second(self, reach, tail):
        """Variance on the line in units of the squared reach."""
        return self.roughness(1)[1] / self.reach**2

    def on_coordinate(self, u, d, reach, tail):
        """Density of one of d coordinates, u in units of the reach; d > 1 for power kernels alone."""
        raise self._unknown("moments between walls")

    def variation(self, d, tail):
        """Integral of the absolute second derivative along a coordinate, or a bound; NaN where it is not known."""
        return math.nan

    def steps(self, count, d, v, tail, options):
        """Draws (count, d) from the kernel, given uniform numbers v (count, 1); `options` are those of `numbastats.random`."""
        raise self._unknown("draws")

    def _direction(self, count, d, width, options):
        z = random.normal(size=(count, width), **options)
        return z[:, :d] / np.linalg.norm(z, axis=1)[:, None]

    def _unknown(self, what):
        return ValueError(f"kernel={self.name!r} has no {what}")


class _Power(Smoothing):
    """(1 - q)^p."""

    def __init__(self, power, name=None):
        self.name, self.power, self.number, self.rows = name or f"polynomial {power}", power, power, power < 4

    def __reduce__(self):
        return polynomial, (self.power,)

    def profile(self, q, decay):
        return any_power(self.power, q, decay)

    def norm(self, d):
        p = self.power
        return math.gamma(d / 2 + p + 1) / (math.pi ** (d / 2) * math.gamma(p + 1))

    def roughness(self, d):
        p = self.power
        k2p = math.gamma(d / 2 + 2 * p + 1) / (math.pi ** (d / 2) * math.gamma(2 * p + 1))
        return self.norm(d) ** 2 / k2p, 1 / (d + 2 * p + 2)

    def lower(self, u, reach, tail):
        t, p = 0.5 * (1 - u), self.power
        lower = np.zeros_like(t)
        for k in range(p, -1, -1):  # I_t(p + 1, p + 1) = t^(p+1) sum_k binom(p + k, k) (1 - t)^k (NIST DLMF 8.17.5)
            lower = lower * (1 - t) + math.comb(p + k, k)
        lower *= t ** (p + 1)
        return lower

    def on_coordinate(self, u, d, reach, tail):
        a = self.power + (d - 1) / 2 if d > 1 else self.power
        return math.gamma(a + 1.5) / (math.sqrt(math.pi) * math.gamma(a + 1)) * np.maximum(1 - u * u, 0.0) ** a

    def variation(self, d, tail):
        return 2 * d + 4 * self.power

    def steps(self, count, d, v, tail, options):
        return self._direction(count, d, d + 2 * self.power + 2, options)  # the first coordinates of a point on a sphere


@functools.cache
def polynomial(p):
    """The record of (1 - q)^p."""
    named = {0: "uniform", 1: "epanechnikov", 2: "biweight", 3: "triweight"}
    return _Power(p, named.get(p))
