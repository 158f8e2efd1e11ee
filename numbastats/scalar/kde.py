"""Smoothing kernels and the integer row arithmetic of exact kernel densities.

A bounded kernel is a function of q = (x - x_i)' H^-1 (x - x_i), non-zero for q < 1. On a row of a grid the power kernels
(1 - q)^p are polynomials between two integers, so a density is the running sum of what happens at the ends of such intervals.
Everything that feeds a rounding to an integer is written with `fma`, so that all devices find the same integers.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import fma

__all__ = [
    "add_powers",
    "any_power",
    "ceiling",
    "cell_sample",
    "cell_value",
    "distance",
    "floor",
    "fused",
    "larger",
    "power_biweight",
    "power_epanechnikov",
    "power_triweight",
    "power_uniform",
    "power_value",
    "product",
    "rint_i64",
    "row_interval",
    "row_interval_strict",
    "shift6",
    "smaller",
    "taylor5",
    "third_difference",
]

_MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it leaves no bits behind the point, |x| < 2^51


# --- selections: a small function each, where Python's min and max are several for every kernel ---------------------------


@device_function
def smaller(a, b):
    """The smaller of two numbers."""
    return a if a < b else b


@device_function
def larger(a, b):
    """The larger of two numbers."""
    return a if a > b else b


# --- rounding ------------------------------------------------------------------------------------------------------


@device_function
def product(a, b):
    """a*b rounded once: no compiler can fuse it with a sum that follows."""
    return fma(a, b, 0.0)


@device_function
def fused(a, b, c):
    """a*b + c rounded once; `fma` for loops that the simulator runs as plain Python."""
    return fma(a, b, c)


@device_function
def rint_i64(x):
    """The nearest integer, ties to even, |x| < 2^63."""
    return np.int64(round(x))


@device_function
def floor(x):
    """Largest integer not above x, as a float; |x| < 2^51."""
    r = (x + _MAGIC) - _MAGIC
    return r - 1.0 if r > x else r


@device_function
def ceiling(x):
    """Smallest integer not below x, as a float; |x| < 2^51."""
    r = (x + _MAGIC) - _MAGIC
    return r + 1.0 if r < x else r


# --- intervals on a row ----------------------------------------------------------------------------------------------


@device_function
def row_interval(t, centre, length):
    """First cell and end of |x - centre| < sqrt(t), clipped to [0, length]; the centre is never clipped. Empty for t <= 0."""
    r = math.sqrt(t if t > 0.0 else 0.0)
    lo = np.int64(math.ceil(centre - r))
    hi = np.int64(math.ceil(centre + r))
    lo = 0 if lo < 0 else lo
    lo = length if lo > length else lo
    hi = 0 if hi < 0 else hi
    hi = length if hi > length else hi
    return lo, hi


@device_function
def row_interval_strict(t, centre, length):
    """`row_interval` with a second test of both ends, for a kernel that is not 0 at the edge of its support."""
    r = math.sqrt(t if t > 0.0 else 0.0)
    lo = np.int64(math.ceil(centre - r))
    hi = np.int64(math.floor(centre + r)) + 1
    lo = lo + 1 if centre - np.float64(lo) >= r else lo
    hi = hi - 1 if np.float64(hi - 1) - centre >= r else hi
    lo = 0 if lo < 0 else lo
    lo = length if lo > length else lo
    hi = length if hi > length else hi
    hi = lo if (hi < lo or t <= 0.0) else hi
    return lo, hi


# --- polynomials: the seven coefficients of (t - (x - w)^2)^p in x, lowest first, zeros beyond the degree ----------------


@device_function
def power_uniform(w, t):
    """Power 0."""
    return 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@device_function
def power_epanechnikov(w, t):
    """Power 1."""
    return fma(-w, w, t), 2.0 * w, -1.0, 0.0, 0.0, 0.0, 0.0


@device_function
def power_biweight(w, t):
    """Power 2."""
    a, e = fma(-w, w, t), 2.0 * w
    return product(a, a), product(2.0 * a, e), fma(e, e, -2.0 * a), -2.0 * e, 1.0, 0.0, 0.0


@device_function
def power_triweight(w, t):
    """Power 3."""
    a, e = fma(-w, w, t), 2.0 * w
    aa, ee = product(a, a), product(e, e)
    c0, c1, c2, c3 = product(aa, a), product(3.0 * aa, e), product(3.0 * a, ee - a), product(e, fma(-6.0, a, ee))
    return c0, c1, c2, c3, 3.0 * (a - ee), 3.0 * e, -1.0


# --- one sample seen from the cell it lies in --------------------------------------------------------------------------


@device_function
def cell_sample(e, f, beta, s, q):
    """Rounded gradient and value of the quadratic form at (e, f), the last axis scaled to one, in quanta 1/q."""
    y, x = fma(s, e, product(beta, f)), fma(beta, e, f)
    gy, gx, value = rint_i64(product(y, q)), rint_i64(product(x, q)), rint_i64(product(fma(e, y, product(f, x)), q))
    return np.float64(gy), np.float64(gx), np.float64(value)


@device_function
def cell_value(e, f, beta, s, q, c, ty, tx):
    """Value at a position with constant c and doubled distances (ty, tx) from the cell's centre, 0 outside the support."""
    gy, gx, value = cell_sample(e, f, beta, s, q)
    v = fma(ty, gy, fma(tx, gx, c))
    return v - value if v > value else 0.0


@device_function
def third_difference(value, slope, q, n):
    """The three numbers whose triple running sum is value + slope j - q j^2 from j = n on."""
    slope -= q * n
    value += n * slope
    slope -= q * n
    return value, slope - 2 * value - q, value - slope - q


# --- integer Taylor shifts: coefficients of c(x + n); sums wrap modulo 2^64, which the final sum undoes ----------------


@device_function
def shift6(c0, c1, c2, c3, c4, c5, c6, n):
    """Shift a polynomial of degree 6, or of a lower one: the compiler leaves out what is multiplied by constant zeros."""
    c5 += n * c6
    c4 += n * c5
    c3 += n * c4
    c2 += n * c3
    c1 += n * c2
    c0 += n * c1
    c5 += n * c6
    c4 += n * c5
    c3 += n * c4
    c2 += n * c3
    c1 += n * c2
    c5 += n * c6
    c4 += n * c5
    c3 += n * c4
    c2 += n * c3
    c5 += n * c6
    c4 += n * c5
    c3 += n * c4
    c5 += n * c6
    c4 += n * c5
    c5 += n * c6
    return c0, c1, c2, c3, c4, c5, c6


# --- Taylor shift of doubles ------------------------------------------------------------------------------------------


@device_function
def add_powers(m0, m1, m2, m3, m4, m5, w, f):
    """Add w f^k to the k-th of six moments."""
    m0 += w
    w *= f
    m1 += w
    w *= f
    m2 += w
    w *= f
    m3 += w
    w *= f
    m4 += w
    return m0, m1, m2, m3, m4, m5 + w * f


@device_function
def taylor5(c0, c1, c2, c3, c4, c5, x):
    """Coefficients of c(x + t) in t, degree 5."""
    c4 += x * c5
    c3 += x * c4
    c2 += x * c3
    c1 += x * c2
    c0 += x * c1
    c4 += x * c5
    c3 += x * c4
    c2 += x * c3
    c1 += x * c2
    c4 += x * c5
    c3 += x * c4
    c2 += x * c3
    c4 += x * c5
    c3 += x * c4
    c4 += x * c5
    return c0, c1, c2, c3, c4, c5


# --- profiles: values of kernels, not normalised ----------------------------------------------------------------------


@device_function
def power_value(kind, q, decay):
    """(1 - q)^kind for exponents from 0 to 3, 0 for q >= 1; `decay` is what other profiles take."""
    t = 1.0 - q
    v = 1.0 if kind == 0 else t if kind == 1 else t * t if kind == 2 else t * t * t
    return v if t > 0.0 else 0.0


@device_function
def any_power(kind, q, decay):
    """`power_value` for any exponent."""
    t = 1.0 - q
    v = power_value(kind, q, decay)
    for _ in range(3, kind):
        v *= t
    return v


@device_function
def distance(q, decay):
    """Distance in units of H^(1/2) from q in those of the support; decay is half its squared radius."""
    return math.sqrt(2.0 * decay * q)
