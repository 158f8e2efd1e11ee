"""Look-ups in a distribution's table, see table_cache.py one level up: values, and quantiles by inversion.

`centre` (two doubles) and `turn` (times log scale) lead from the standardised x to the variable of the table.
"""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as dist
from numbastats.scalar.bits import at, in_step, pair_at
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.stable.kernels.points import DOUBLE, TASK

_shared = array_function(host=False)

COEFFICIENTS = 14  # of the polynomials
START = 2 + COEFFICIENTS  # column of the value at the start, after the middle, the reciprocal half width and the coefficients
COLUMNS = START + 2  # the last is empty: rows and pairs of columns lie at multiples of 16 bytes
CHUNK, BLOCK = 4096, 64  # look-ups per task and per pass

BEND = 8.0  # cells are uniform in v/(v + BEND), v = u - first u: panels grow outwards

_found = None  # `as_it_is` or `of_a_tail`, bound by build


@_shared
def half_of(info, side):
    """What the table says of its right side, 1, or its left side, 2."""
    h = info[side]
    return dist.Half(h[0], h[1], h[2], h[3], h[4], h[5], h[6])


@_shared
def polynomial(cells, rows, cell, u):
    """The table's polynomial at u: that of the cell's panel or of one that follows."""
    k = cells[cell, 0]
    middle, inverse = pair_at(rows, k, 0)
    y = (u - middle) * inverse
    while y > 1.0 and k + 1 < rows.shape[0] and rows[k + 1, 0] > middle:
        k += 1
        middle, inverse = pair_at(rows, k, 0)
        y = (u - middle) * inverse
    z = y * y
    even, odd = pair_at(rows, k, COEFFICIENTS)
    for j in range(COEFFICIENTS - 2, 0, -2):
        first, second = pair_at(rows, k, j)
        even, odd = dist.mul_add(even, z, first), dist.mul_add(odd, z, second)
    return dist.mul_add(y, odd, even)


@_shared
def as_it_is(cell, u, cells, rows, others):
    """The logarithm at u."""
    return polynomial(cells, rows, cell, u)


@_shared
def of_a_tail(cell, u, cells, rows, others):
    """The logarithm at u of a tail; next to 0 by the other tail, of which `others` are the rows."""
    v = polynomial(cells, rows, cell, u)
    return log1p(-exp(polynomial(cells, others, cell, u))) if v > -0.05 else v


@_shared
def beyond(code, cell, d, info, cells, rows):
    """The logarithm where `dist.cell` finds no panel: density and one tail are 0 unless |d|/delta overflows."""
    if cell == -3:
        return np.nan
    half = half_of(info, 1 if d >= 0.0 else 2)
    u = log(abs(d)) + log(info[0, 0])
    if cell == -1 and u > 709.0 and u < half.end:
        return polynomial(cells, rows, int(half.first_cell + half.cells) - 1, u)
    right = (d >= 0.0) == (cell == -1)  # towards +inf; 0 is on side 1, as in `dist.cell`
    zero = code < 2 or (code < 4) != right
    return -np.inf if zero else 0.0


def table_cpu(x, loc, scale, code, centre, centre_lo, turn, info, cells, rows, others, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        u, d, where = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        first = np.int64(k) * CHUNK
        what = int(code)
        right, left = half_of(info, 1), half_of(info, 2)
        for lo in range(first, min(first + CHUNK, out.size), BLOCK):
            xb = x[lo : lo + BLOCK]
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                d[i] = dist.from_centre(
                    np.float64(xb[i]), np.float64(at(loc, lo + i)), np.float64(at(scale, lo + i)), centre, centre_lo, turn
                )
            for i in range(o.size):
                in_step()
                u[i] = log(abs(d[i]) * info[0, 0] + info[0, 1])
            for i in range(o.size):
                where[i] = dist.cell(d[i], u[i], right, left)
            for i in range(o.size):
                c = int(where[i])
                u[i] = _found(c, u[i], cells, rows, others) if c >= 0 else beyond(what, c, d[i], info, cells, rows)
            if what == 0:
                for i in range(o.size):
                    in_step()
                    o[i] = exp(u[i]) / np.float64(at(scale, lo + i))
            else:
                for i in range(o.size):
                    in_step()
                    o[i] = dist.from_log(what, u[i], np.float64(at(scale, lo + i)))


def table_cuda(x, loc, scale, code, centre, centre_lo, turn, info, cells, rows, others, out):
    what = int(code)
    right, left = half_of(info, 1), half_of(info, 2)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        sc = np.float64(at(scale, i))
        d = dist.from_centre(np.float64(x[i]), np.float64(at(loc, i)), sc, centre, centre_lo, turn)
        u = log(abs(d) * info[0, 0] + info[0, 1])
        c = int(dist.cell(d, u, right, left))
        v = _found(c, u, cells, rows, others) if c >= 0 else beyond(what, c, d, info, cells, rows)
        out[i] = dist.from_log(what, v, sc)


@_shared
def quantile(p, upper, info, lower_tail, upper_tail):
    """(side, u): where the tail probability is p, as a place in the table. u is NaN or +-inf at the ends."""
    right, left = half_of(info, 1), half_of(info, 2)
    if not (p >= 0.0 and p <= 1.0):
        return 1, np.nan
    if p == 0.0 or p == 1.0:
        if (p == 1.0) != upper:  # the right end of the support
            return (1, np.inf) if right.panels > 0.0 else (2, -np.inf)
        return (2, np.inf) if left.panels > 0.0 else (1, -np.inf)
    if p == 0.5 and info[0, 2] > 0.0:  # the centre of a symmetric distribution
        return 1, -np.inf
    from_left = (p <= 0.5) != upper
    rows = lower_tail if from_left else upper_tail
    target = log(p) if p <= 0.5 else log(1.0 - p)
    side = 1
    if right.panels == 0.0:
        side = 2
    elif left.panels > 0.0 and (rows[int(right.first_panel), START] > target) == from_left:
        side = 2
    half = right if side == 1 else left
    sign = 1.0 if from_left == (side == 1) else -1.0  # the logarithm rises with u
    target *= sign
    first, count = int(half.first_panel), int(half.panels)
    lo, hi = 0, count  # the last panel whose start does not lie beyond
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if sign * rows[first + middle, START] <= target:
            lo = middle
        else:
            hi = middle
    row = rows[first + lo]
    least, most = -1.0, 1.0 if lo + 1 < count else 1e3
    low = sign * row[START]
    y = 0.0
    if lo + 1 < count:
        high = sign * rows[first + lo + 1, START]
        y = min(max(2.0 * (target - low) / (high - low) - 1.0, -1.0), 1.0) if high > low else 0.0
    for _ in range(40):
        f, d = row[START - 1], 0.0
        for j in range(START - 2, 1, -1):
            d = d * y + f
            f = f * y + row[j]
        f, d = sign * f - target, sign * d
        if f > 0.0:
            most = y
        else:
            least = y
        step = f / d if d > 0.0 else 2.0 * (most - least)
        done = abs(step) <= 3e-16 * (1.0 + abs(y)) or most - least <= 3e-16
        y -= step
        if done:
            break
        if not (y > least and y < most):
            y = 0.5 * (least + most)
    return side, row[0] + y / row[1]


def quantile_cpu(p, loc, scale, upper, centre, centre_lo, turn, info, lower_tail, upper_tail, out):
    for k in prange((out.size + TASK - 1) // TASK):
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            side, u = quantile(np.float64(p[i]), upper > 0, info, lower_tail, upper_tail)
            out[i] = dist.place(
                u, side, info[0, 0], info[0, 1], centre, centre_lo, turn, np.float64(at(loc, i)), np.float64(at(scale, i))
            )


def quantile_cuda(p, loc, scale, upper, centre, centre_lo, turn, info, lower_tail, upper_tail, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        side, u = quantile(np.float64(p[i]), upper > 0, info, lower_tail, upper_tail)
        out[i] = dist.place(
            u, side, info[0, 0], info[0, 1], centre, centre_lo, turn, np.float64(at(loc, i)), np.float64(at(scale, i))
        )


_F8, _TABLE = types.float64, types.float64[:, ::1]


def _with_table(*tables):
    return lambda T: [
        (T[::1], T, T, T, _F8, _F8, _F8, *tables, T[::1]),
        (T[::1], T[::1], T[::1], T, _F8, _F8, _F8, *tables, T[::1]),
    ]


def _table(name, found):
    signatures = _with_table(_TABLE, types.int64[:, ::1], _TABLE, _TABLE)
    return Kernel(name, table_cpu, table_cuda, signatures, f64_ok=DOUBLE, _found=found)


TABLE, TABLE_OF_LOGS = _table("stable.table", as_it_is), _table("stable.table_of_logs", of_a_tail)
QUANTILE = Kernel("stable.quantile", quantile_cpu, quantile_cuda, _with_table(_TABLE, _TABLE, _TABLE), f64_ok=DOUBLE)
