"""Densities, tails and moments in mpmath, by the textbooks' formulas: what the cases of distributions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mp

__all__ = [
    "ORDERS",
    "Exact",
    "bessels",
    "entropy_by_quadrature",
    "even_tails",
    "gamma_tails",
    "normal_mass",
    "normal_moment",
    "normal_tails",
    "tails_by_quadrature",
]

ORDERS = range(1, 5)  # of moments


def _shapes(p):
    return tuple(value for name, value in p.items() if name not in ("loc", "scale"))


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Formulas of the standard form, of z = (x - loc)/scale and the shapes; call with enough digits for what cancels."""

    density: Callable  # its logarithm
    tails: Callable | None = None  # lower and upper
    moments: Callable | None = None  # the first four about 0, or as far from it as all the same: a list
    entropy: Callable | None = None
    shapes: Callable = _shapes  # from the parameters by their names

    def log_density(self, d, x, /, **changed):
        """Logarithm of the density at x, an mpf; `changed` parameters replace those of d."""
        z, scale, shapes = self._standard(d, x, changed)
        return self.density(z, *shapes) - mp.log(scale)

    def cdf(self, d, x):
        """Distribution function."""
        z, _, shapes = self._standard(d, x)
        return self.tails(z, *shapes)[0]

    def sf(self, d, x):
        """Survival function."""
        z, _, shapes = self._standard(d, x)
        return self.tails(z, *shapes)[1]

    def skewness_kurtosis(self, d):
        """Skewness and excess kurtosis; central moments from raw ones."""
        m1, m2, m3, m4 = self.moments(*self._standard(d)[2])
        var = m2 - m1**2
        skewness = (m3 - 3 * m1 * m2 + 2 * m1**3) / var ** mpmath.mpf(1.5)
        return skewness, (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / var**2 - 3

    def differential_entropy(self, d):
        """Entropy of d, not of its standard form."""
        _, scale, shapes = self._standard(d)
        return self.entropy(*shapes) + mp.log(scale)

    def _standard(self, d, x=0, changed=None):
        p = {name: mpmath.mpf(float(value)) for name, value in d.params._asdict().items()} | (changed or {})
        scale = p.get("scale", mpmath.mpf(1))
        return (mpmath.mpf(x) - p.get("loc", mpmath.mpf(0))) / scale, scale, self.shapes(p)


def gamma_tails(a, y):
    return mp.gammainc(a, 0, y, regularized=True), mp.gammainc(a, y, mp.inf, regularized=True)


def even_tails(z, tail):
    return (tail, 1 - tail) if z < 0 else (1 - tail, tail)


def normal_tails(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2, mp.erfc(z / mp.sqrt(2)) / 2


def normal_mass(low, high):
    """Between two ends, by the tail that is smaller."""
    if low > 0:
        return (mp.erfc(low / mp.sqrt(2)) - mp.erfc(high / mp.sqrt(2))) / 2
    return (mp.erfc(-high / mp.sqrt(2)) - mp.erfc(-low / mp.sqrt(2))) / 2


def normal_moment(k):
    return 0 if k % 2 else mp.fac2(k - 1)


def entropy_by_quadrature(log_density, *shapes):
    """Minus the integral of f log f by equal steps in asinh(z)."""
    with mp.workdps(50):
        total, step = mpmath.mpf(0), mpmath.mpf("0.02")
        for k in range(-1500, 1501):
            log = log_density(mp.sinh(k * step), *shapes)
            total -= mp.cosh(k * step) * step * mp.exp(log) * log
        return total


def tails_by_quadrature(log_density, z, *shapes):
    """The tail that the density falls towards, an integral to where it has fallen by exp(-120), and what is left of 1."""
    width, top = 4 / (1 + abs(z)), log_density(z, *shapes)
    sign = -1 if log_density(z + width / 100, *shapes) > top else 1
    ends = [mpmath.mpf(0)]
    while log_density(z + sign * ends[-1], *shapes) > top - 120:
        ends.append(ends[-1] + width)
    tail = mp.exp(top) * mp.quad(lambda s: mp.exp(log_density(z + sign * s, *shapes) - top), ends)
    return (tail, 1 - tail) if sign < 0 else (1 - tail, tail)


def bessels(v, z, count):
    """e^z K_(v+n)(z), n < count: equal steps of the integral of exp(-z (cosh t - 1)) cosh((v + n) t) over t > 0."""
    step = min(mpmath.mpf("0.03"), mpmath.mpf("0.2") / mp.sqrt(mp.hypot(v, z) + 1))
    terms = total = [mpmath.mpf(0.5)] * count
    k = 0
    while not all(term < value * mpmath.mpf(10) ** -mp.dps for term, value in zip(terms, total, strict=True)):
        k += 1
        grow, power = mp.exp(k * step), mp.exp(v * k * step)
        base = mp.exp(-z * (grow + 1 / grow - 2) / 2)
        terms = [base * (power * grow**n + 1 / (power * grow**n)) / 2 for n in range(count)]
        total = [a + b for a, b in zip(total, terms, strict=True)]
    return [value * step for value in total]
