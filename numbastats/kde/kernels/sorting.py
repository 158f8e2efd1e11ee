"""Loops over the samples that run before the densities, always on the host: moments, counts by cell, sorting by cell.

Scratch comes from one kind of `np.empty` each for floats and integers: Numba compiles every other kind anew for each loop.
"""

from __future__ import annotations

import math

import numpy as np
from numba import from_dtype, prange, types

from numbastats._core.kernel import HostLoop, array_function, device_function, host_loop
from numbastats.kde.kernels.points import BALL_TYPE
from numbastats.scalar.kde import fused, larger, smaller

__all__ = [
    "AXIS",
    "BLOCK",
    "CHUNKS",
    "coarse_cell",
    "count_keys_loop",
    "count_loop",
    "first_places",
    "kept_in",
    "line_loop",
    "moments_loop",
    "moments_of_cells_loop",
    "near_loop",
    "order_loop",
    "place_loop",
    "whiten_loop",
]

CHUNKS = 8  # fixed, so that results do not depend on the number of threads
BLOCK = 256

AXIS = np.dtype(
    [(name, "f8") for name in ("origin", "step", "low", "high", "first", "inverse", "coarse_inverse")]
    + [(name, "i8") for name in ("axis", "cells", "coarse_cells")],
    align=True,
)
"""How samples are sorted along one axis: column of the samples; origin and step of the index coordinates; the open interval
of these that counts; origin, 1/width and number of the cells; 1/width and number of the coarse cells, which begin at `low`."""

_f1, _f2, _f3, _f4 = (types.Array(types.float64, d, "C") for d in (1, 2, 3, 4))
_i1, _i2, _keys, _axes = types.int64[::1], types.int64[:, ::1], types.int32[::1], types.Array(from_dtype(AXIS), 1, "C")


@device_function
def kept_in(cell, cells):
    """The number of a cell, clipped to the list."""
    cell = cell if cell > 0 else 0
    return cell if cell < cells else cells - 1


@device_function
def coarse_cell(u, low, inverse, cells):
    """The number of the coarse cell of an index coordinate that is not below `low`."""
    return smaller(np.int64((u - low) * inverse), cells - 1)


@host_loop("kde.moments", (_f2, _f1, _f1, _f2, _f3, _f2, _f2, _f3))
def moments_loop(x, w, shift, sums, products, low, high, totals):
    """Sums, products, least and largest of the samples of a chunk, sums of its weights."""
    for index in prange(sums.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // sums.shape[0], (c + 1) * n // sums.shape[0]
        column, lanes, crossed = np.empty((d, BLOCK)), np.empty((d, BLOCK)), np.empty((d * d, BLOCK))
        least, most, weights = np.empty((d, BLOCK)), np.empty((d, BLOCK)), np.empty((4, BLOCK))
        column[:], lanes[:], crossed[:], least[:], most[:], weights[:] = 0.0, 0.0, 0.0, math.inf, -math.inf, 0.0
        v, weight, lost, square = weights[0], weights[1], weights[2], weights[3]
        v[:] = 1.0
        for first in range(a, b, BLOCK):
            m = smaller(BLOCK, b - first)
            if w.size > 1:
                wb = w[first : first + m]
                for k in range(m):
                    v[k] = wb[k]
                    s = weight[k] + wb[k]  # the rounding error is added too: the sum must not depend on the order
                    back = s - weight[k]
                    lost[k] += (weight[k] - (s - back)) + (wb[k] - back)
                    weight[k] = s
                    square[k] += wb[k] * wb[k]
            xb = x[first : first + m]
            for i in range(d):
                z, t, lo, hi, si = column[i], lanes[i], least[i], most[i], shift[i]
                for k in range(m):
                    z[k] = xb[k, i]
                for k in range(m):
                    lo[k] = smaller(z[k], lo[k])
                    hi[k] = larger(z[k], hi[k])
                    z[k] -= si
                    t[k] += v[k] * z[k]
                for j in range(i + 1):
                    other, cross = column[j], crossed[i * d + j]
                    for k in range(m):
                        cross[k] += v[k] * z[k] * other[k]
        for i in range(d):
            lowest, highest, total = math.inf, -math.inf, 0.0
            for k in range(BLOCK):
                lowest, highest = smaller(lowest, least[i, k]), larger(highest, most[i, k])
                total += lanes[i, k]
            low[c, i], high[c, i], sums[c, i] = lowest, highest, total
            for j in range(i + 1):
                total = 0.0
                for k in range(BLOCK):
                    total += crossed[i * d + j, k]
                products[c, i, j] = total
        for k in range(BLOCK):
            totals[c, 0, k], totals[c, 1, k], totals[c, 2, k] = weight[k], lost[k], square[k]


@host_loop("kde.sort_line", (_f1, _f1, _axes, _f1, _i1, _f4))
def line_loop(x, w, axes, u, inside, coarse):
    """Index coordinates on a line, and the weight in coarse cells."""
    for index in prange(coarse.shape[0]):
        c = np.int64(index)
        n, axis = x.size, axes[0]
        origin, step, low, high, inverse = axis.origin, axis.step, axis.low, axis.high, axis.coarse_inverse
        a, b = c * n // coarse.shape[0], (c + 1) * n // coarse.shape[0]
        work, weight, count = np.empty((1, BLOCK), np.int64), coarse[c], np.int64(0)
        cell, cells = work[0], coarse.shape[2]
        for first in range(a, b, BLOCK):
            m = smaller(BLOCK, b - first)
            xb, ub = x[first : first + m], u[first : first + m]
            for k in range(m):
                v = (xb[k] - origin) / step
                v = larger(low - 2.0, smaller(v, high + 2.0))  # samples out of the grid's reach are moved next to its ends
                ub[k] = v
                cell[k] = kept_in(np.int64((v - low) * inverse), cells)
            for k in range(m):
                if ub[k] > low and ub[k] < high:
                    count += 1
                    weight[k & 3, cell[k], 1] += 1.0  # four histograms: neighbours rarely wait for each other
                    if w.size > 1:
                        weight[k & 3, cell[k], 0] += w[first + k]
        inside[c] = count


@host_loop("kde.count", (_f2, _f1, _axes, _keys, _i2, _f3))
def count_loop(x, w, axes, key, counts, coarse):
    """Cell of every sample, samples per cell; number and weight per coarse cell, if there are any."""
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, weight, column, work = counts[c], coarse[c], np.empty((1, BLOCK)), np.empty((3, BLOCK), np.int64)
        u, cell, block, inside = column[0], work[0], work[1], work[2]
        for first in range(a, b, BLOCK):
            m = smaller(BLOCK, b - first)
            xb = x[first : first + m]
            for k in range(m):
                cell[k] = 0
                block[k] = 0
                inside[k] = 1
            for j in range(d):
                r = axes[j]
                axis, g, s, lo, hi, ci, bc = r.axis, r.origin, r.step, r.low, r.high, r.coarse_inverse, r.coarse_cells
                o, inv, size = r.first, r.inverse, r.cells
                for k in range(m):
                    u[k] = (xb[k, axis] - g) / s
                for k in range(m):
                    inside[k] = inside[k] if (u[k] > lo and u[k] < hi) else 0
                    u[k] = smaller(larger(u[k], lo), hi)
                if bc > 1:
                    for k in range(m):
                        block[k] = block[k] * bc + coarse_cell(u[k], lo, ci, bc)
                if size > 1:
                    for k in range(m):
                        cell[k] = cell[k] * size + kept_in(np.int64((u[k] - o) * inv), size)
            for k in range(m):
                if inside[k]:
                    key[first + k] = cell[k]
                    mine[cell[k] + 1] += 1
                    if weight.size > 0:
                        weight[block[k], 1] += 1.0
                        if w.size > 1:
                            weight[block[k], 0] += w[first + k]
                else:
                    key[first + k] = -1


def _first_places(counts, starts):
    """First places of all cells; counts of parts, in columns from 1 on, become the first places of the parts' samples."""
    place = np.int64(0)
    for cell in range(starts.size - 1):
        starts[cell] = place
        for c in range(counts.shape[0]):
            count = counts[c, cell + 1]
            counts[c, cell] = place
            place += count
    starts[starts.size - 1] = place


first_places = HostLoop("kde.first_places", _first_places, [(_i2, _i1)], parallel=False)


@host_loop("kde.count_keys", (_i1, _i2))
def count_keys_loop(key, counts):
    """Keys per cell, as `count_loop` counts samples."""
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        for k in range(c * key.size // counts.shape[0], (c + 1) * key.size // counts.shape[0]):
            counts[c, key[k] + 1] += 1


@host_loop("kde.order", (_i1, _i2, _i1))
def order_loop(key, places, order):
    """Indices of keys in the order of their cells."""
    for index in prange(places.shape[0]):
        c = np.int64(index)
        for k in range(c * key.size // places.shape[0], (c + 1) * key.size // places.shape[0]):
            at = places[c, key[k]]
            places[c, key[k]] = at + 1
            order[at] = k


@array_function(host=False)
def _positions(key, at):
    """Replace cells by positions in the sorted order; -1 stays."""
    for k in range(key.size):
        cell = key[k]
        if cell >= 0:
            p = at[cell]
            at[cell] = p + 1
            key[k] = p


@array_function(host=False)
def _move(values, key, out):
    """Copy values to their positions."""
    for k in range(key.size):
        if key[k] >= 0:
            out[key[k]] = values[k]


@host_loop("kde.place", (_f2, _f1, _f1, _axes, _keys, _i2, _f2, _f1, _f1))
def place_loop(x, w, lam, axes, key, offsets, u, w_out, lam_out):
    """Index coordinates, weights and scales in the order of the cells."""
    for index in prange(offsets.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // offsets.shape[0], (c + 1) * n // offsets.shape[0]
        to = key[a:b]
        _positions(to, offsets[c])
        for j in range(d):  # an axis at a time: fewer streams to write
            axis, g, s, out, xb = axes[j].axis, axes[j].origin, axes[j].step, u[j], x[a:b]
            for k in range(b - a):
                if to[k] >= 0:
                    out[to[k]] = (xb[k, axis] - g) / s
        if w.size > 1:
            _move(w[a:b], to, w_out)
        if lam.size > 1:
            _move(lam[a:b], to, lam_out)


@host_loop("kde.whiten", (_f2, _f1, _f2, _f2, _f2, _f2))
def whiten_loop(x, mean, factor, y, low, high):
    """``factor (x - mean)`` for a lower triangular factor; least and largest values of a chunk, infinite if one is no number."""
    for index in prange(low.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        low[c], high[c] = math.inf, -math.inf
        for k in range(c * n // low.shape[0], (c + 1) * n // low.shape[0]):
            for j in range(d):
                v = factor[j, 0] * (x[k, 0] - mean[0])
                for i in range(1, j + 1):
                    v += factor[j, i] * (x[k, i] - mean[i])
                y[k, j] = v
                known = v == v
                low[c, j] = smaller(low[c, j], v if known else -math.inf)
                high[c, j] = larger(high[c, j], v if known else math.inf)


@host_loop("kde.near_points", (_f2, _f1, _f2, _f2, BALL_TYPE, _f2, _i1))
def near_loop(points, mean, factor, near, ball, y, key):
    """Points in the coordinates of the sorted samples, none farther than `near`, where the density is 0, and their cells."""
    for index in prange(CHUNKS):
        c = np.int64(index)
        n, d = points.shape
        g = ball[0]
        for k in range(c * n // CHUNKS, (c + 1) * n // CHUNKS):
            finite, known, cell = True, True, np.int64(0)
            for j in range(d):
                v = (points[k, 0] - mean[0]) * factor[j, 0]
                for i in range(1, d):
                    v = fused(points[k, i] - mean[i], factor[j, i], v)
                y[k, j] = v
                finite, known = finite and v - v == 0.0, known and points[k, j] == points[k, j]
            for j in range(d):
                lo, hi = near[0, j], near[1, j]
                v = y[k, j] if finite or not known else hi
                v = lo if v < lo else hi if v > hi else v
                y[k, j] = v
                if j >= d - 3:
                    back = d - 1 - j
                    origin = g.origin2 if back == 0 else g.origin1 if back == 1 else g.origin0
                    cells = g.cells2 if back == 0 else g.cells1 if back == 1 else g.cells0
                    at = (v - origin) / g.width if v == v else 0.0
                    cell = cell * cells + np.int64(smaller(larger(at, 0.0), cells - 1.0))
            key[k] = cell


@host_loop("kde.moments_of_cells", (_f2, _f1, _i1, BALL_TYPE, _f2))
def moments_of_cells_loop(y, w, starts, ball, table):
    """Weight, first and second moments of the samples of every cell about its centre."""
    for index in prange(ball[0].cells0 * ball[0].cells1):
        c, g, d = np.int64(index), ball[0], y.shape[0]
        m0 = g.origin0 + (c // g.cells1 + 0.5) * g.width
        m1 = g.origin1 + (c % g.cells1 + 0.5) * g.width
        for c2 in range(g.cells2):
            cell = c * g.cells2 + c2
            s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
            m2 = g.origin2 + (c2 + 0.5) * g.width
            for k in range(starts[cell], starts[cell + 1]):
                v = w[k] if w.size > 1 else w[0]
                e0 = y[d - 3, k] - m0 if d > 2 else 0.0
                e1 = y[d - 2, k] - m1 if d > 1 else 0.0
                e2 = y[d - 1, k] - m2
                s0 += v
                s1 += v * e0
                s2 += v * e1
                s3 += v * e2
                s4 += v * (e0 * e0 + e1 * e1 + e2 * e2)
            table[cell, 0], table[cell, 1], table[cell, 2], table[cell, 3], table[cell, 4] = s0, s1, s2, s3, s4
