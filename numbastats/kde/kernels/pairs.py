"""Loops over pairs of near samples; they run on the host whatever the device."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.kernel import array_function, host_loop
from numbastats.kde.kernels.points import BALL_TYPE
from numbastats.scalar.elementary import exp
from numbastats.scalar.kde import add_powers, fused, taylor5

__all__ = ["PIECES", "TASKS", "line_loop", "pairs_loop"]

LANES = 256  # pairs per pass of the inner loops
TASKS = 64
PIECES = 32  # of a unit of the distance, for functions in tables
NEWTON = 6  # coefficients per pass of a polynomial's evaluation

_shared = array_function(host=False)
_making = array_function(host=False, allocates=True, fastmath=())

_f1, _f2, _f3, _i1 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1], types.int64[::1]


# --- one dimension: sum over i < j with x_j - x_i < reach of v_j w_i p((x_j - x_i) / reach) ---------------------------------


@_shared
def _line_sum(x, v, w, reach, p):
    """The sum for sorted x and a polynomial of degree 5 that vanishes at 1.

    Cells are as wide as the reach: a sample's pairs are with the samples before it in its own cell, and with the last ones of the
    cell before. Both sums come from running moments about the cell's centre, which only grow, so nothing cancels.
    """
    n = x.size
    inverse, origin = 1.0 / reach, x[0]
    total = 0.0
    before, before_cell = 0, np.int64(-2)
    a = 0
    while a < n:
        cell = np.int64((x[a] - origin) * inverse)
        centre = origin + (np.float64(cell) + 0.5) * reach
        m0, m1, m2, m3, m4, m5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        part = 0.0
        b = a
        while b < n and np.int64((x[b] - origin) * inverse) == cell:
            f = (x[b] - centre) * inverse
            t0, t1, t2, t3, t4, t5 = taylor5(p[0], p[1], p[2], p[3], p[4], p[5], f)
            part += v[b] * (t0 * m0 + t1 * m1 + t2 * m2 + t3 * m3 + t4 * m4 + t5 * m5)
            m0, m1, m2, m3, m4, m5 = add_powers(m0, m1, m2, m3, m4, m5, w[b], -f)
            b += 1
        if before_cell == cell - 1:
            m0, m1, m2, m3, m4, m5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            lo = a
            for k in range(b - a):
                j = b - 1 - k
                while lo > before and x[j] - x[lo - 1] < reach:
                    lo -= 1
                    f = (x[lo] - centre) * inverse + 1.0
                    m0, m1, m2, m3, m4, m5 = add_powers(m0, m1, m2, m3, m4, m5, w[lo], -f)
                f = (x[j] - centre) * inverse + 1.0
                t0, t1, t2, t3, t4, t5 = taylor5(p[0], p[1], p[2], p[3], p[4], p[5], f)
                part += v[j] * (t0 * m0 + t1 * m1 + t2 * m2 + t3 * m3 + t4 * m4 + t5 * m5)
        total += part
        before, before_cell, a = a, cell, b
    return total


@host_loop("kde.pairs_on_line", (_f1, _f1, _f1, _f1, _f1, _f1, _f2))
def line_loop(x, w, v, hs, smooth, cross, sums):
    """Sums for every bandwidth."""
    for index in prange(hs.size):
        k = np.int64(index)
        sums[k, 0] = _line_sum(x, w, w, 2.0 * hs[k], smooth)
        if v.size > 1:
            sums[k, 1] = _line_sum(x, v, w, hs[k], cross) + _line_sum(x, w, v, hs[k], cross)
        else:
            sums[k, 1] = 2.0 * v[0] * _line_sum(x, w, w, hs[k], cross)


# --- more dimensions ---------------------------------------------------------------------------------------------------------


@_shared
def _polynomial(table, x, out, m):
    """Values of a polynomial, highest coefficient first, their number a multiple of NEWTON."""
    out[:m] = 0.0
    for k in range(0, table.size, NEWTON):
        c0, c1, c2, c3, c4, c5 = table[k], table[k + 1], table[k + 2], table[k + 3], table[k + 4], table[k + 5]
        for j in range(m):
            t = x[j]
            out[j] = (((((out[j] * t + c0) * t + c1) * t + c2) * t + c3) * t + c4) * t + c5


@_shared
def _overlap(r2, wb, vb, m, inverse, table, dim, power, x, s, b, acc):
    """Add w (2 - r)^((d+1)/2+2p) P(r - 1) to one lane and v (1 - r^2)^p, where r < 1, to another; p = 1, 2, 3."""
    square = inverse * inverse
    for j in range(m):
        t = np.sqrt(r2[j] * square)
        x[j] = t - 1.0
        t = 2.0 - t
        s[j] = t if t > 0.0 else 0.0
    _polynomial(table, x, b, m)
    for j in range(m):
        b[j] *= s[j] * s[j] * s[j]
    if dim % 2 == 0:
        for j in range(m):
            b[j] *= np.sqrt(s[j])
    for _ in range((dim - 1) // 2 + 2 * power - 2):
        for j in range(m):
            b[j] *= s[j]
    a0, a1 = acc[0], acc[1]
    for j in range(m):
        a0[j] += wb[j] * b[j]
        t = 1.0 - r2[j] * square
        x[j] = t if t > 0.0 else 0.0
        b[j] = vb[j]
    for _ in range(power):
        for j in range(m):
            b[j] *= x[j]
    for j in range(m):
        a1[j] += b[j]


@_shared
def _gaussian(r2, wb, vb, m, inverse, table, x, b, acc):
    """Add w exp(-z/2) P(z), z the squared distance, to one lane and v exp(-z/2) P(z) to another."""
    square = inverse * inverse
    for j in range(m):
        x[j] = r2[j] * square
    _polynomial(table, x, b, m)
    a0, a1 = acc[0], acc[1]
    for j in range(m):
        t = b[j] * exp(-0.5 * x[j])
        a0[j] += wb[j] * t
        a1[j] += vb[j] * t


@_shared
def _piece(table, first, z):
    """A function at z pieces from 0, whose polynomials begin at number `first` in a table."""
    k = np.int64(z)
    t, c = z - np.float64(k), NEWTON * (first + k)
    value = table[c]
    for i in range(1, NEWTON):
        value = value * t + table[c + i]
    return value


@_shared
def _tabulated(r2, wb, vb, m, inverse, table, acc):
    """Add w F(r) to one lane, F in pieces on [0, 2], and v G(r) to another, G in pieces on [0, 1]."""
    a0, a1, last = acc[0], acc[1], 2 * PIECES
    for j in range(m):
        z = np.sqrt(r2[j]) * inverse * PIECES
        if z < last:
            a0[j] += wb[j] * _piece(table, 0, z)
        if z < PIECES:
            a1[j] += vb[j] * _piece(table, last, z)


@_shared
def _add_pairs(r2, wb, vb, m, inverse, table, kernel, x, s, b, acc):
    """The sums over pairs at hand, for what `kernel` says of the functions."""
    dim, power = kernel
    if power == 0:
        _gaussian(r2, wb, vb, m, inverse, table, x, b, acc)
    elif power < 0:
        _tabulated(r2, wb, vb, m, inverse, table, acc)
    else:
        _overlap(r2, wb, vb, m, inverse, table, dim, power, x, s, b, acc)


@_shared
def _squares(y, i, w, v, first, m, r2, wb, vb):
    """Squared distances of sample i from m others, and the weights of these pairs."""
    yb, p = y[0][first : first + m], y[0, i]
    for j in range(m):
        r2[j] = (yb[j] - p) * (yb[j] - p)
    for a in range(1, y.shape[0]):
        yb, p = y[a][first : first + m], y[a, i]
        for j in range(m):
            r2[j] += (yb[j] - p) * (yb[j] - p)
    wj, vj, wi, vi = w[first : first + m], v[first : first + m], w[i], v[i]
    for j in range(m):
        wb[j] = wi * wj[j]
        vb[j] = fused(wi, vj[j], vi * wj[j])


@_making
def _pairs(y, w, v, starts, ball, hs, reaches, table, kernel, task, step, sums):
    """Sums for every bandwidth over every step-th sample from number `task` on."""
    g = ball[0]
    d, n = y.shape
    work = np.empty((6, LANES))
    r2, wb, vb, x, s, b = work[0], work[1], work[2], work[3], work[4], work[5]
    acc = np.zeros((hs.size, 2, LANES))
    inv_width, width = 1.0 / g.width, g.width
    for i in range(task, n, step):
        x0 = y[d - 3, i] if d > 2 else 0.0
        x1, x2 = y[d - 2, i], y[d - 1, i]
        own0 = min(max(np.int64((x0 - g.origin0) * inv_width), 0), g.cells0 - 1) if d > 2 else 0
        own1 = min(max(np.int64((x1 - g.origin1) * inv_width), 0), g.cells1 - 1)
        for k in range(hs.size):
            inverse, reach, held = 1.0 / hs[k], reaches[k], 0
            for c0 in range(own0, min(g.cells0, np.int64((x0 + reach - g.origin0) * inv_width) + 1) if d > 2 else 1):
                lo = max(g.origin0 + c0 * width - x0, 0.0) if d > 2 else 0.0
                first1 = own1 if c0 == own0 else max(np.int64(0), np.int64((x1 - reach - g.origin1) * inv_width))
                for c1 in range(first1, min(g.cells1, np.int64((x1 + reach - g.origin1) * inv_width) + 1)):
                    lo1 = g.origin1 + c1 * width - x1
                    lo1 = max(max(lo1, -lo1 - width), 0.0)
                    t = reach * reach - lo * lo - lo1 * lo1
                    if t < -1e-9 * reach * reach:
                        continue
                    half = np.sqrt(max(t, 0.0)) + 1e-6 * reach
                    row = (c0 * g.cells1 + c1) * g.cells2
                    begin = min(max(np.int64((x2 - half - g.origin2) * inv_width), 0), g.cells2 - 1)
                    end = min(max(np.int64((x2 + half - g.origin2) * inv_width), 0), g.cells2 - 1)
                    j, last = max(starts[row + begin], i + 1), starts[row + end + 1]
                    while j < last:
                        m = min(LANES - held, last - j)
                        _squares(y, i, w, v, j, m, r2[held:], wb[held:], vb[held:])
                        j += m
                        held += m
                        if held == LANES:
                            _add_pairs(r2, wb, vb, held, inverse, table, kernel, x, s, b, acc[k])
                            held = 0
            _add_pairs(r2, wb, vb, held, inverse, table, kernel, x, s, b, acc[k])
    for k in range(hs.size):
        sums[k, 0] = acc[k, 0].sum()
        sums[k, 1] = acc[k, 1].sum()


@host_loop("kde.pairs", (_f2, _f1, _f1, _i1, BALL_TYPE, _f1, _f1, _f1, types.UniTuple(types.int64, 2), _i1, _f3))
def pairs_loop(y, w, v, starts, ball, hs, reaches, table, kernel, tasks, sums):
    """Sums for every bandwidth over the samples of some tasks: `tasks` is the first task and the number of all tasks.

    `kernel` is the dimension and the power, 0 for the Gaussian, -1 for functions in tables.
    """
    for k in prange(sums.shape[0]):
        _pairs(y, w, v, starts, ball, hs, reaches, table, kernel, np.int64(k) + tasks[0], tasks[1], sums[k])
