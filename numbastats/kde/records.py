"""Smoothing kernels, a record each: all that the package knows of a kernel stands here.

A new kernel is a formula in `scalar/kde.py` and a subclass of `Smoothing` in `RECORDS`. A kernel K is a function of the distance
u in units of H^(1/2), not normalised, and 0 from u = `reach` on; q is (u / reach)^2.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, TypeAlias

import numpy as np

import numbastats.random as random
from numbastats._core.checks import choice
from numbastats.scalar import kde as forms

__all__ = ["OTHERS", "RECORDS", "ROWS", "TAIL", "KernelName", "Smoothing", "kernel_of", "names_of", "polynomial", "unit_ball"]

TAIL = 1e-10  # what cross-validation cuts from a kernel without an end that is not the normal one


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
        return kernel_of, (self.name,)

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
        return ValueError(f"kernel={self.name!r} has no {what}; use one of {', '.join(record.name for record in RECORDS)}")


class _Power(Smoothing):
    """(1 - q)^p."""

    def __init__(self, power, name=None):
        self.name, self.power, self.number, self.rows = name or f"polynomial {power}", power, power, power < 4

    def __reduce__(self):
        return polynomial, (self.power,)

    def profile(self, q, decay):
        return forms.any_power(self.power, q, decay)

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


class _Triangular(Smoothing):
    """1 - u."""

    name, number, profile = "triangular", -1, staticmethod(forms.triangular)

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


class _Cosine(Smoothing):
    """cos(pi u / 2)."""

    name, number, profile, on_line = "cosine", -2, staticmethod(forms.cosine), True

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


class _Gaussian(Smoothing):
    """exp(-u^2 / 2)."""

    name, number, profile, tailed, normal = "gaussian", -3, staticmethod(forms.gaussian), True, True
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


class _Tricube(Smoothing):
    """(1 - u^3)^3."""

    name, number, profile = "tricube", -4, staticmethod(forms.tricube)

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


class _Logistic(Smoothing):
    """1 / (e^u + 2 + e^-u)."""

    name, number, profile, tailed, on_line = "logistic", -5, staticmethod(forms.logistic), True, True

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


@functools.cache
def polynomial(p):
    """The record of (1 - q)^p."""
    named = {0: "uniform", 1: "epanechnikov", 2: "biweight", 3: "triweight"}
    return _Power(p, named.get(p))


RECORDS: tuple[Smoothing, ...] = (
    polynomial(1),
    polynomial(0),
    polynomial(2),
    polynomial(3),
    _Triangular(),
    _Cosine(),
    _Gaussian(),
    _Tricube(),
    _Logistic(),
)
OTHERS = tuple(record for record in RECORDS if record.power is None)
ROWS = tuple(record for record in RECORDS if record.rows)
MOST_POWER = 12

KernelName: TypeAlias = (
    Literal[
        "epanechnikov", "uniform", "biweight", "triweight", "triangular", "cosine", "gaussian", "tricube", "logistic", "normal"
    ]
    | tuple[Literal["polynomial"], int]
    | Smoothing
)


def names_of(records=RECORDS):
    """Names of kernels, for error messages."""
    return ", ".join(record.name for record in records)


def kernel_of(kernel, allowed=None):
    """The record of a kernel that a caller names or made by `define`; raises unless it is in `allowed`."""
    found = None
    if isinstance(kernel, Smoothing):
        found = kernel
    elif isinstance(kernel, str):
        kernel = "gaussian" if kernel == "normal" else kernel
        found = next((record for record in RECORDS if record.name == kernel), None)
    elif isinstance(kernel, tuple) and len(kernel) == 2 and kernel[0] == "polynomial":
        p = kernel[1]
        if not hasattr(p, "__index__") or isinstance(p, bool) or not 0 <= p <= MOST_POWER:
            raise ValueError(f"kernel={kernel!r}: the exponent of (1 - u^2)^p must be an integer from 0 to {MOST_POWER}")
        found = polynomial(int(p))
    if isinstance(kernel, str) or found is None or (allowed is not None and found not in allowed):
        choice("kernel", found.name if found else kernel, [record.name for record in allowed or RECORDS])
    return found
