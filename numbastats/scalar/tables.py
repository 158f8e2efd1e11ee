"""Quantile tables: rows of polynomial coefficients, found from the bits of a float, evaluated without any transcendental.

A zone holds the rows of one side's centre or tail, up to half of its mass. For a scaled mass w in (0, 1/2) the octave is the
exponent of w and the segment the top bits of its mantissa; rows stand in descending order of w, so that ``row = constant -
(bits >> shift)``. The low mantissa bits, put under the exponent of 2, give the local variable in [-1, 1) exactly. The two rows
after the last octave hold what belongs to w = 0 and to a positive w below the last octave.
"""

from __future__ import annotations

import numpy as np

from numbastats._core.kernel import array_function, device_function
from numbastats.scalar.bits import from_bits, pairs, to_bits
from numbastats.scalar.elementary import exp, exp_neg, expm1, log

__all__ = [
    "HEADS",
    "HEADS32",
    "NEAR_BITS",
    "OCTAVE",
    "OCTAVE32",
    "SIDE_COLUMNS",
    "SPLIT_COLUMNS",
    "row3",
    "row5",
    "row7",
    "row_split",
    "table_eval1",
    "tail_probability",
]

NEAR_BITS = 4  # logarithm of the rows per octave of a base variable
OCTAVE, OCTAVE32 = np.int64(1021), np.int64(125)  # exponent bits of [1/4, 1/2)
_BELOW_HALF, _BELOW_HALF32 = 0.49999999999999994, np.float32(0.49999997)


@device_function
def _by_bits64(w, top, bits, length):
    """From w, the exponent of the first octave, the logarithm of the rows per octave, the number of rows: row, local variable."""
    b = to_bits(w)
    shift = 52 - bits
    row = ((top + 1) << bits) - 1 - (b >> shift)
    row = row if row < length else (length if w == 0.0 else length + 1)
    return row, from_bits(((b & ((1 << shift) - 1)) << bits) | 0x4000000000000000) - 3.0


@device_function
def _by_bits32(w, top, bits, length):
    b = to_bits(w)
    few = np.int32(bits)
    shift = np.int32(np.int32(23) - few)
    row = ((top + 1) << bits) - 1 - np.int64(np.int32(b >> shift))
    row = row if row < length else (length if w == np.float32(0.0) else length + 1)
    low = np.int32(np.int32(np.int32(1) << shift) - np.int32(1))
    x = np.int32(np.int32(np.int32(b & low) << few) | np.int32(0x40000000))
    return row, from_bits(x) - np.float32(3.0)


def _in_zone(by_bits, half):
    """Make the function (y, t, first row of the side, `by_bits`' integers) -> (row, local variable); the tail stands first."""

    @device_function
    def in_zone(y, t, first, top, bits, length):
        inner = y < t
        T = type(y)
        w = y if inner else t
        below = w < T(0.5)
        row, x = by_bits(w if below else half, top, bits, length)
        return first + row + ((length + 2) if inner else 0), x if below else T(1.0)

    return in_zone


def _pair_head(in_zone, split):
    """Make the function of (lower - p, lower and upper probability, table) -> (row, local variable).

    p + rest (only if `split`: float64 needs no rest) is the mass of the left side; left and right are powers of two that bring
    the masses of the sides into (1/2, 1].
    """

    @device_function
    def locate(d, lower, upper, rest, left, right, first_left, first_right, top, length, bits):
        T = type(lower)
        if split:
            d = d - rest
        side = d > T(0.0) or upper == T(0.0)  # the end of a side too small to show
        scale = right if side else left
        t = (upper if side else lower) * scale
        row, x = in_zone(abs(d) * scale, t, np.int64(first_right if side else first_left), top, bits, length)
        return row, x if t >= T(0.0) else T(np.nan)  # out of [0, 1] is beyond the end of a side

    return locate


def _uniform_head(locate):
    """Make the head for a probability."""

    @device_function
    def head(u, p, rest, left, right, first_left, first_right, top, length, bits):
        return locate(u - p, u, type(u)(1.0) - u, rest, left, right, first_left, first_right, top, length, bits)

    return head


@device_function
def _survival(v):
    """e^-v of v >= 0; positive for finite v, so that what lies beyond a table is not taken for the end of the support."""
    T = type(v)
    most = T(700.0) if T(1e-300) > T(0.0) else T(80.0)
    return T(0.0) if v == T(np.inf) else exp_neg(-(v if v < most else most))


def _exponential_head(locate):
    """From a standard exponential variate v >= 0: lower probability 1 - e^-v, upper e^-v."""

    @device_function
    def head(v, p, rest, left, right, first_left, first_right, top, length, bits):
        T = type(v)
        lower, upper = -expm1(-v), _survival(v) if v >= T(0.0) else T(np.nan)
        d = lower - p if lower < T(0.5) else (T(1.0) - p) - upper  # the smaller probability has all its digits
        return locate(d, lower, upper, rest, left, right, first_left, first_right, top, length, bits)

    return head


def _share_head(in_zone):
    """From a side (> 0 right), the share y of its mass between the anchor and the result, and the share t beyond.

    left and right are the scaled masses of the sides.
    """

    @device_function
    def head(side, y, t, left, right, first_left, first_right, top, length, bits):
        T = type(y)
        above = side > T(0.0)
        whole = right if above else left
        row, x = in_zone(y * whole, t * whole, np.int64(first_right if above else first_left), top, bits, length)
        good = y >= T(0.0) and t >= T(0.0) and y <= T(1.0) and t <= T(1.0) and (side > T(0.0) or side <= T(0.0))
        return row, x if good else T(np.nan)

    return head


def _sided_head(in_zone):
    """From a variate of two exponentials, rates `above` and `below` 0: a side and the shares of its mass."""

    @device_function
    def head(v, above, below, left, right, first_left, first_right, top, length, bits):
        T = type(v)
        side = v > T(0.0)
        a = abs(v) * (above if side else below)
        whole = right if side else left
        first = np.int64(first_right if side else first_left)
        row, x = in_zone(abs(expm1(-a)) * whole, _survival(a) * whole, first, top, bits, length)
        return row, x if a >= T(0.0) else T(np.nan)

    return head


def _signed_head(by_bits):
    """From a base variable b with its own anchor: rows by octaves of a = |b - anchor| up to `limit`, then by steps.

    `near` rows by bits, two more for a = 0 and a below them, `far` rows of width 1/`per`, two more for a beyond them and inf.
    """

    @device_function
    def head(b, anchor, rest, limit, per, first_left, first_right, top, near, far):
        T = type(b)
        d = (b - anchor) - rest
        first = np.int64(first_right if d > T(0.0) else first_left)
        a = abs(d)
        close = a < limit
        row, x = by_bits(a if close else limit * T(0.75), top, np.int64(NEAR_BITS), near)
        steps = (a - limit) * per
        most = T(far)
        steps = steps if steps < most else most
        steps = steps if steps >= T(0.0) else T(0.0)
        k = np.int64(steps)
        beyond = k >= far
        last = far + (1 if a == T(np.inf) else 0)
        row = row if close else near + 2 + (last if beyond else k)
        x = x if close else (T(0.0) if beyond else T(2.0) * (steps - T(k)) - T(1.0))
        return first + row, x if a >= T(0.0) else T(np.nan)

    return head


def _heads(by_bits, half, split=False):
    in_zone = _in_zone(by_bits, half)
    locate = _pair_head(in_zone, split)
    # the kernels rely on this order
    return _uniform_head(locate), _exponential_head(locate), _share_head(in_zone), _sided_head(in_zone), _signed_head(by_bits)


HEADS, HEADS32 = _heads(_by_bits64, _BELOW_HALF), _heads(_by_bits32, _BELOW_HALF32, split=True)


@device_function
def _cubic(x, c0, c1, c2, c3):
    return pairs(x, (c0, c1, c2, c3))


@device_function
def _quintic(x, c0, c1, c2, c3, c4, c5):
    return pairs(x, (c0, c1, c2, c3, c4, c5))


@device_function
def _septic(x, c0, c1, c2, c3, c4, c5, c6, c7):
    return pairs(x, (c0, c1, c2, c3, c4, c5, c6, c7))


_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))  # unsigned: no check for negative indices


@array_function
def row3(table, row, x):
    """Cubic of row `row` at x."""
    r = np.uint64(row)
    return _cubic(x, table[r, _0], table[r, _1], table[r, _2], table[r, _3])


@array_function
def row5(table, row, x):
    """Polynomial of degree 5 of row `row` at x."""
    r = np.uint64(row)
    return _quintic(x, table[r, _0], table[r, _1], table[r, _2], table[r, _3], table[r, _4], table[r, _5])


@array_function
def row7(table, row, x):
    """Polynomial of degree 7 of row `row` at x."""
    r = np.uint64(row)
    return _septic(
        x, table[r, _0], table[r, _1], table[r, _2], table[r, _3], table[r, _4], table[r, _5], table[r, _6], table[r, _7]
    )


# Rows of a table whose quantile has kinks, jumps or many bends have four more columns. A row that one polynomial does not follow
# has a number of parts in the last one, and in the first of the four where they stand. A part has its lower edge, its centre and
# the reciprocal of its half width in the others, all of the row's local variable.
SPLIT_COLUMNS = 4


@array_function
def row_split(table, row, x):
    """Polynomial of row `row` at x, or of that part of the row where x is."""
    columns = np.uint64(table.shape[1])
    where, centre, inverse, parts = columns - _4, columns - _3, columns - _2, columns - _1
    r = np.uint64(row)
    count = np.int64(table[r, parts])
    if count > 0:
        low = np.int64(table[r, where])
        while count > 1:  # a step of every search is one comparison, and no branch
            half = count >> 1
            low = low + half if table[np.uint64(low + half), where] <= x else low
            count -= half
        r = np.uint64(low)
        x = (x - table[r, centre]) * table[r, inverse]
    if columns == _8 + _4:
        return row7(table, r, x)
    return row5(table, r, x)


_uniform = HEADS[0]


@array_function
def table_eval1(u, table, header):
    """Quantile at probability u, from `QuantileTable.table` and `QuantileTable.header` (its row `[i]` for one set of a batch)."""
    h, length, bits = header, np.int64(header[6]), np.int64(header[7])
    row, x = _uniform(u, h[0], h[1], h[2], h[3], h[4], h[5], OCTAVE, length, bits)
    columns = table.shape[1]
    return row7(table, row, x) if columns == 8 else row5(table, row, x) if columns == 6 else row_split(table, row, x)


# beginning, centre and reciprocal half width of a panel in the logarithm, 17 Chebyshev coefficients of the mass beyond x, and
# what replaces the first of them for the mass on this side of x: neither is 1 minus the other
SIDE_COLUMNS = 22


@array_function
def tail_probability(x, mu, anchor, left, right, first_left, first_right, upper, table):
    """Lower (`upper` = 0) or upper tail probability at x from panels of its logarithmic distance to an origin.

    The `left` or `right` rows of a side ascend in the distance s to the anchor, which is their origin, or that of the inner half
    where the support has an end. The first holds a power law next to the anchor, the last one beyond the panels, to the end: what
    lies beyond x is c0 + c1 (distance/centre)^c2.
    """
    T = type(mu)
    d = (x - mu) - anchor
    above = d > T(0.0)
    s = abs(d)
    lo = np.int64(first_right if above else first_left)
    count = np.int64(right if above else left)
    begin, last = lo, lo + count - 1
    hi = last
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if table[middle, 0] <= s:
            lo = middle
        else:
            hi = middle - 1
    r = log(abs((x - mu) - table[lo, SIDE_COLUMNS - 2]) / table[lo, 1])
    if lo == begin or lo == last:
        none = table[lo, 4] == T(0.0) or (lo == last and s >= table[lo, 6])
        mass = T(0.0) if none else table[lo, 4] * exp(table[lo, 5] * r)
    else:
        t = r * table[lo, 2]
        twice, b1, b2 = t + t, T(0.0), T(0.0)
        for k in range(SIDE_COLUMNS - 3, 3, -1):
            b1, b2 = table[lo, k] + (twice * b1 - b2), b1
        mass = t * b1 - b2
    mass = mass if s >= T(0.0) else T(np.nan)
    p = table[lo, 3] + mass if above == (upper != 0) else table[lo, SIDE_COLUMNS - 1] - mass
    return T(1.0) if p > T(1.0) else p  # rounding may lead above 1
