"""Loops over the samples before those of the densities: moments, counts by cell, sorting by cell. On the host on every device."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.kernel import array_function, host_loop

__all__ = [
    "BLOCK",
    "CHUNKS",
    "count_loop",
    "extent_loop",
    "line_loop",
    "moments_loop",
    "moments_of_cells_loop",
    "place_loop",
    "settle_loop",
    "whiten_loop",
]

CHUNKS = 8  # fixed, so that nothing depends on the number of threads
BLOCK = 256


_f, _f1, _f2, _f3, _f4 = types.float64, *(types.Array(types.float64, d, "C") for d in (1, 2, 3, 4))
_i1, _i2, _keys = types.int64[::1], types.int64[:, ::1], types.int32[::1]


@host_loop("kde.moments", (_f2, _f1, _f1, _f2, _f3, _f2, _f2, _f3))
def moments_loop(x, w, shift, sums, products, low, high, totals):
    """Sums, products, least and largest of the samples of a chunk, sums of its weights."""
    for index in prange(sums.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // sums.shape[0], (c + 1) * n // sums.shape[0]
        column, lanes = np.zeros((d, BLOCK)), np.zeros((d, BLOCK))
        least, most = np.full((d, BLOCK), np.inf), np.full((d, BLOCK), -np.inf)
        crossed = np.zeros((d, d, BLOCK))
        v, weight, lost, square = np.ones(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK)
        for first in range(a, b, BLOCK):
            m = min(BLOCK, b - first)
            if w.size > 1:
                wb = w[first : first + m]
                for k in range(m):
                    v[k] = wb[k]
                    s = weight[k] + wb[k]  # with its rounding error: the sum must not depend on the order
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
                    lo[k] = min(z[k], lo[k])
                    hi[k] = max(z[k], hi[k])
                    z[k] -= si
                    t[k] += v[k] * z[k]
                for j in range(i + 1):
                    other, cross = column[j], crossed[i, j]
                    for k in range(m):
                        cross[k] += v[k] * z[k] * other[k]
        for i in range(d):
            low[c, i] = least[i].min()
            high[c, i] = most[i].max()
            sums[c, i] = lanes[i].sum()
            for j in range(i + 1):
                products[c, i, j] = crossed[i, j].sum()
        for k in range(BLOCK):
            totals[c, 0, k] = weight[k]
            totals[c, 1, k] = lost[k]
            totals[c, 2, k] = square[k]


@host_loop("kde.sort_line", (_f1, _f1, _f, _f, _f, _f, _f, _f1, _i1, _f4))
def line_loop(x, w, origin, step, low, high, inverse, u, inside, coarse):
    """Index coordinates on a line, and the weight in coarse cells."""
    for index in prange(coarse.shape[0]):
        c = np.int64(index)
        n = x.size
        a, b = c * n // coarse.shape[0], (c + 1) * n // coarse.shape[0]
        cell = np.empty(BLOCK, np.int64)
        last = coarse.shape[2] - 1
        for first in range(a, b, BLOCK):
            m = min(BLOCK, b - first)
            xb, ub = x[first : first + m], u[first : first + m]
            for k in range(m):
                v = (xb[k] - origin) / step
                v = max(low - 2.0, min(v, high + 2.0))  # what cannot touch the grid stays just outside
                ub[k] = v
                cell[k] = min(max(np.int64((v - low) * inverse), 0), last)
            for k in range(m):
                if ub[k] > low and ub[k] < high:
                    inside[c] += 1
                    coarse[c, k & 3, cell[k], 1] += 1.0  # four histograms: neighbours rarely wait for each other
                    if w.size > 1:
                        coarse[c, k & 3, cell[k], 0] += w[first + k]


@host_loop("kde.count", (_f2, _f1, _f1, _f1, _i1, _f1, _f1, _f1, _f1, _i1, _f1, _i1, _keys, _i2, _f3))
def count_loop(x, w, origin, step, axes, low, high, cell0, inverse, cells, coarse_inverse, coarse_cells, key, counts, coarse):
    """Cell of every sample, samples per cell, weight per coarse cell."""
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, weight = counts[c], coarse[c]
        cell, block, inside = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
        for first in range(a, b, BLOCK):
            m = min(BLOCK, b - first)
            xb = x[first : first + m]
            for k in range(m):
                cell[k] = 0
                block[k] = 0
                inside[k] = 1
            for j in range(d):
                axis = axes[j]
                g, s, lo, hi, ci, bc = origin[axis], step[axis], low[j], high[j], coarse_inverse[j], coarse_cells[j]
                o, inv, size = cell0[j], inverse[j], cells[j]
                for k in range(m):
                    u = (xb[k, axis] - g) / s
                    inside[k] = inside[k] if (u > lo and u < hi) else 0
                    u = min(max(u, lo), hi)
                    block[k] = block[k] * bc + min(np.int64((u - lo) * ci), bc - 1)
                    cell[k] = cell[k] * size + min(max(np.int64((u - o) * inv), 0), size - 1)
            for k in range(m):
                if inside[k]:
                    key[first + k] = cell[k]
                    mine[cell[k] + 1] += 1
                    weight[block[k], 1] += 1.0
                    if w.size > 1:
                        weight[block[k], 0] += w[first + k]
                else:
                    key[first + k] = -1


@array_function
def _positions(key, at):
    """Turn cells into positions in the sorted order; -1 stays."""
    for k in range(key.size):
        cell = key[k]
        if cell >= 0:
            p = at[cell]
            at[cell] = p + 1
            key[k] = p


@array_function
def _move(values, key, out):
    """Copy values to their positions."""
    for k in range(key.size):
        if key[k] >= 0:
            out[key[k]] = values[k]


@host_loop("kde.place", (_f2, _f1, _f1, _f1, _f1, _i1, _keys, _i2, _f2, _f1, _f1))
def place_loop(x, w, lam, origin, step, axes, key, offsets, u, w_out, lam_out):
    """Index coordinates, weights and scales in the order of the cells."""
    for index in prange(offsets.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // offsets.shape[0], (c + 1) * n // offsets.shape[0]
        to = key[a:b]
        _positions(to, offsets[c])
        for j in range(d):  # an axis at a time: fewer streams to write
            axis = axes[j]
            g, s, out, xb = origin[axis], step[axis], u[j], x[a:b]
            for k in range(b - a):
                if to[k] >= 0:
                    out[to[k]] = (xb[k, axis] - g) / s
        if w.size > 1:
            _move(w[a:b], to, w_out)
        if lam.size > 1:
            _move(lam[a:b], to, lam_out)


# --- listed points --------------------------------------------------------------------------------------------------------


@host_loop("kde.extent", (_f2, _f1, _f2, _f2, _f2))
def extent_loop(x, mean, factor, low, high):
    """Least and largest whitened coordinates of a chunk."""
    for index in prange(low.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // low.shape[0], (c + 1) * n // low.shape[0]
        least, most = np.full((d, BLOCK), np.inf), np.full((d, BLOCK), -np.inf)
        y = np.empty(BLOCK)
        for first in range(a, b, BLOCK):
            m = min(BLOCK, b - first)
            xb = x[first : first + m]
            for j in range(d):
                y[:] = 0.0
                for i in range(j + 1):
                    f, z = factor[j, i], mean[i]
                    for k in range(m):
                        y[k] += f * (xb[k, i] - z)
                lo, hi = least[j], most[j]
                for k in range(m):
                    lo[k] = min(lo[k], y[k])
                    hi[k] = max(hi[k], y[k])
        for j in range(d):
            low[c, j] = least[j].min()
            high[c, j] = most[j].max()


@host_loop("kde.whiten", (_f2, _f1, _f2, _f1, _i1, _keys, _i2))
def whiten_loop(x, mean, factor, grid, cells, key, counts):
    """Cell of every whitened sample, samples per cell."""
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, inverse = counts[c], 1.0 / grid[3]
        y, cell = np.empty(BLOCK), np.empty(BLOCK, np.int64)
        for first in range(a, b, BLOCK):
            m = min(BLOCK, b - first)
            xb = x[first : first + m]
            cell[:] = 0
            for j in range(max(d - 3, 0), d):
                y[:] = 0.0
                for i in range(j + 1):
                    f, z = factor[j, i], mean[i]
                    for k in range(m):
                        y[k] += f * (xb[k, i] - z)
                o, size = grid[j - d + 3], cells[j - d + 3]
                for k in range(m):
                    cell[k] = cell[k] * size + min(max(np.int64((y[k] - o) * inverse), 0), size - 1)
            for k in range(m):
                key[first + k] = cell[k]
                mine[cell[k] + 1] += 1


@host_loop("kde.settle", (_f2, _f1, _f1, _f1, _f2, _keys, _i2, _f2, _f1, _f1))
def settle_loop(x, w, lam, mean, factor, key, offsets, y, w_out, lam_out):
    """Whitened coordinates, weights and scales in the order of the cells."""
    for index in prange(offsets.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // offsets.shape[0], (c + 1) * n // offsets.shape[0]
        to, xb = key[a:b], x[a:b]
        _positions(to, offsets[c])
        for j in range(d):
            out = y[j]
            for k in range(b - a):
                v = 0.0
                for i in range(j + 1):
                    v += factor[j, i] * (xb[k, i] - mean[i])
                out[to[k]] = v
        if w.size > 1:
            _move(w[a:b], to, w_out)
        if lam.size > 1:
            _move(lam[a:b], to, lam_out)


@host_loop("kde.moments_of_cells", (_f2, _f1, _i1, _f1, _i1, _f2))
def moments_of_cells_loop(y, w, starts, grid, cells, table):
    """Weight, first and second moments of the samples of every cell about its centre."""
    for index in prange(cells[0] * cells[1]):
        c0 = np.int64(index)
        d = y.shape[0]
        for c2 in range(cells[2]):
            cell = c0 * cells[2] + c2
            s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
            m0 = grid[0] + (c0 // cells[1] + 0.5) * grid[3]
            m1 = grid[1] + (c0 % cells[1] + 0.5) * grid[3]
            m2 = grid[2] + (c2 + 0.5) * grid[3]
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
            table[cell, 0] = s0
            table[cell, 1] = s1
            table[cell, 2] = s2
            table[cell, 3] = s3
            table[cell, 4] = s4
