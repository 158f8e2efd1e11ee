"""Distribution functions in pieces, and their inverses; they run on the host whatever the device."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.kernel import array_function, host_loop

__all__ = ["masses_loop", "points_loop"]

BLOCK = 1024  # values of a task
STEPS = 60  # most steps within a piece; usually 2 or 3
SMALL = 3e-6  # a step of so much of a piece is the last: the next one would be of its cube
_shared = array_function(host=False)
_f1, _f2, _i1 = types.float64[::1], types.float64[:, ::1], types.int64[::1]


@_shared
def _piece(keys, guide, scale, v):
    """The last piece that begins at a key <= v; the guide has the first pieces of equal bins."""
    place = min(max(np.int64((v - keys[0]) * scale), 0), guide.size - 2)
    lo, hi = max(guide[place] - 1, 0), min(guide[place + 1] + 1, keys.size - 2)  # rounding may move a key by a bin
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if keys[middle] <= v:
            lo = middle
        else:
            hi = middle - 1
    return lo


@_shared
def _value(c, z):
    """A polynomial, lowest coefficient first, its derivative, and half its second one."""
    value, slope, bend = 0.0, 0.0, 0.0
    for k in range(c.size - 1, -1, -1):
        bend = bend * z + slope
        slope = slope * z + value
        value = value * z + c[k]
    return value, slope, bend


@host_loop("kde.line_masses", (_f1, _f1, _i1, types.UniTuple(types.float64, 3), _f2, _f1))
def masses_loop(x, breaks, guide, units, pieces, out):
    """Masses below x; NaN outside the pieces.

    `units` are bins per unit, the distance of the pieces' origins from their breaks, and 1 / unit of z.
    """
    for index in prange((x.size + BLOCK - 1) // BLOCK):
        first = np.int64(index) * BLOCK
        for i in range(first, min(first + BLOCK, x.size)):
            v = x[i]
            out[i] = np.nan
            if v >= breaks[0] and v < breaks[breaks.size - 1]:
                j = _piece(breaks, guide, units[0], v)
                out[i] = _value(pieces[j], (v - breaks[j] - units[1]) * units[2])[0]


@host_loop("kde.line_points", (_f1, _f1, _f1, _i1, types.UniTuple(types.float64, 3), _f2, _f1))
def points_loop(p, breaks, masses, guide, units, pieces, out):
    """Points below which the masses are p; NaN outside the pieces. Halley's method inside a bracket."""
    for index in prange((p.size + BLOCK - 1) // BLOCK):
        first = np.int64(index) * BLOCK
        for i in range(first, min(first + BLOCK, p.size)):
            v = p[i]
            out[i] = np.nan
            if v > masses[0] and v < masses[masses.size - 1]:
                j = _piece(masses, guide, units[0], v)
                lo, hi = -units[1] * units[2], (breaks[j + 1] - breaks[j] - units[1]) * units[2]
                z = lo + (hi - lo) * (v - masses[j]) / (masses[j + 1] - masses[j])
                small = SMALL * (hi - lo)
                for _ in range(STEPS):
                    f, slope, bend = _value(pieces[j], z)
                    lo, hi = (z, hi) if f < v else (lo, z)
                    new = z + (v - f) * slope / (slope * slope + (v - f) * bend)
                    new = new if new >= lo and new <= hi else 0.5 * (lo + hi)
                    step = abs(new - z)
                    z = new
                    if not step > small:
                        break
                out[i] = breaks[j] + units[1] + z / units[2]
