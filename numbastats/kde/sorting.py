"""What happens to the samples before the kernels: one pass of moments, one that counts cells, one that sorts by cell.

Chunks are fixed, so nothing depends on the number of threads. These passes run on the host on every device.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numba import prange, types

from numbastats._core.broadcast import lent
from numbastats._core.compile import array_function, host_loop
from numbastats._core.parallel import parallel_region, worker_count

__all__ = ["ball_cells", "cell_list", "extent", "moments", "run_loop"]

_CHUNKS = 8
_BLOCK = 256
_PARALLEL_FROM = 50_000
_MATRIX_FROM = 33  # columns from which on BLAS is faster than lanes of all their products


_f, _f1, _f2, _f3, _f4 = types.float64, *(types.Array(types.float64, d, "C") for d in (1, 2, 3, 4))
_i1, _i2, _keys = types.int64[::1], types.int64[:, ::1], types.int32[::1]


def run_loop(loop, n, workers, *args):
    """Call a `host_loop` over chunks of n items, on several threads where that pays."""
    count = worker_count(workers)
    args = [lent(a) if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in args]
    if count == 1 or n < _PARALLEL_FROM:
        loop.serial(*args)
    else:
        with parallel_region(count) as allowed:
            (loop.parallel if allowed else loop.serial)(*args)


@host_loop("kde.moments", (_f2, _f1, _f1, _f2, _f3, _f2, _f2, _f3))
def moments_loop(x, w, shift, sums, products, low, high, totals):
    for index in prange(sums.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // sums.shape[0], (c + 1) * n // sums.shape[0]
        column, lanes = np.zeros((d, _BLOCK)), np.zeros((d, _BLOCK))
        least, most = np.full((d, _BLOCK), np.inf), np.full((d, _BLOCK), -np.inf)
        crossed = np.zeros((d, d, _BLOCK))
        v, weight, lost, square = np.ones(_BLOCK), np.zeros(_BLOCK), np.zeros(_BLOCK), np.zeros(_BLOCK)
        for first in range(a, b, _BLOCK):
            m = min(_BLOCK, b - first)
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
        for k in range(_BLOCK):
            totals[c, 0, k] = weight[k]
            totals[c, 1, k] = lost[k]
            totals[c, 2, k] = square[k]


def _wide_moments(x, w, shift, sums, products, low, high, totals):
    """`moments_loop` for many columns."""
    ends = [c * len(x) // len(sums) for c in range(len(sums) + 1)]
    for c, (a, b) in enumerate(itertools.pairwise(ends)):
        z, v = x[a:b] - shift, w[a:b] if w.size > 1 else w
        low[c], high[c] = x[a:b].min(0, initial=math.inf), x[a:b].max(0, initial=-math.inf)
        weighted = z * v[:, None]
        sums[c], products[c] = weighted.sum(0), weighted.T @ z
        totals[c, 0, 0], totals[c, 2, 0] = math.fsum(v), v @ v


def moments(x, w, workers=None):
    """Weighted moments of samples in one pass.

    Parameters
    ----------
    x : (n, d) float64
    w : (n,) float64 or None
    workers : int, optional

    Returns
    -------
    dict
        W, W2 (sums of weights and of their squares), mean, M2 (weighted scatter matrix), low, high, bad (numbers that are not
        finite), bad_weights.
    """
    n, d = x.shape
    bad_weights = 0 if w is None else int(np.count_nonzero(~((w >= 0) & (w < np.inf))))
    shift = np.median(x[:: max(1, n // 1000)], axis=0)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    sums, products, totals = np.zeros((_CHUNKS, d)), np.zeros((_CHUNKS, d, d)), np.zeros((_CHUNKS, 3, _BLOCK))
    low, high = np.empty((_CHUNKS, d)), np.empty((_CHUNKS, d))
    weights = np.ones(1) if w is None else w if w.size > 1 else np.repeat(w, 2)
    with np.errstate(all="ignore"):
        if d < _MATRIX_FROM:
            run_loop(moments_loop, n, workers, x, weights, shift, sums, products, low, high, totals)
        else:
            _wide_moments(x, weights, shift, sums, products, low, high, totals)
        total, square = float(n), float(n)
        if w is not None:
            total = math.fsum(totals[:, :2].ravel()) if not bad_weights else np.nan
            square = totals[:, 2].sum()
        bad = 0 if np.isfinite(sums).all() else int(np.count_nonzero(~np.isfinite(x)))
        mean = sums.sum(0) / total
        scatter = np.tril(products.sum(0)) - np.tril(np.outer(mean, mean)) * total
    scatter = scatter + np.tril(scatter, -1).T
    return dict(W=total, W2=square, mean=mean + shift, M2=scatter, low=low.min(0), high=high.max(0), bad=bad,
                bad_weights=bad_weights)  # fmt: skip


@host_loop("kde.sort_line", (_f1, _f1, _f, _f, _f, _f, _f, _f1, _i1, _f4))
def line_loop(x, w, origin, step, low, high, inverse, u, inside, coarse):
    for index in prange(coarse.shape[0]):
        c = np.int64(index)
        n = x.size
        a, b = c * n // coarse.shape[0], (c + 1) * n // coarse.shape[0]
        cell = np.empty(_BLOCK, np.int64)
        last = coarse.shape[2] - 1
        for first in range(a, b, _BLOCK):
            m = min(_BLOCK, b - first)
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
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, weight = counts[c], coarse[c]
        cell, block, inside = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
        for first in range(a, b, _BLOCK):
            m = min(_BLOCK, b - first)
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


def cell_list(x, w, lam, origin, step, axes, low, high, cell0, width, cells, coarse, workers=None):
    """Sort samples by cell and bound the weight that one grid point can see.

    Parameters
    ----------
    x : (n, d) float64
    w, lam : (n,) float64 or (1,)
        Weights and squared scales, sorted along.
    origin, step : (d,)
        Of the grid, in the order of the columns of x.
    axes : (d,)
        Order of the axes in the result, the row axis last.
    low, high : (d,)
        Open interval of index coordinates per ordered axis that can reach the grid; other samples are dropped.
    cell0, width, cells : (d,)
        Origin, width and number of cells; one cell along the row axis unless the method wants more.
    coarse : (d,)
        Edge of the cells in which the weight is bounded: at least a full box.
    workers : int, optional

    Returns
    -------
    dict
        u (d, kept), w, lam2, starts, weight and count (bounds at one grid point), kept.
    """
    n, d = x.shape
    if d == 1:
        return _line(x, w, lam, origin, step, low, high, coarse, workers)
    total = int(np.prod(cells))
    chunks = max(1, min(_CHUNKS, n // (4 * total))) if n >= _PARALLEL_FROM else 1  # keeps the counts below n / 4 numbers
    coarse_cells = np.floor((high - low) / coarse).astype(np.int64) + 1
    key = np.empty(n, np.int32 if n < 2**31 else np.int64)
    counts = np.zeros((chunks, total + 1), np.int64)
    weight = np.zeros((chunks, int(np.prod(coarse_cells)), 2))
    axes = np.asarray(axes)
    run_loop(
        count_loop, n, workers, x, w, origin, step, axes, low, high, cell0, 1.0 / np.asarray(width), cells, 1.0 / coarse,
        coarse_cells, key, counts, weight,
    )  # fmt: skip
    most, count = _largest(weight.sum(0).reshape(*coarse_cells, 2), w)
    starts = np.cumsum(counts.sum(0))
    offsets = np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1]
    kept = int(starts[-1])
    u = np.empty((d, kept))
    w_out = np.empty(kept) if w.size > 1 else w
    lam_out = np.empty(kept) if lam.size > 1 else lam
    run_loop(place_loop, n, workers, x, w, lam, origin, step, axes, key, np.ascontiguousarray(offsets), u, w_out, lam_out)
    return dict(u=u, w=w_out, lam2=lam_out, starts=starts, weight=most, count=count, kept=kept)


def _largest(bound, w):
    """Largest weight and count in 2^d neighbouring cells of a table (..., 2)."""
    for axis in range(bound.ndim - 1):
        if bound.shape[axis] > 1:
            bound = np.take(bound, range(bound.shape[axis] - 1), axis) + np.take(bound, range(1, bound.shape[axis]), axis)
    count = float(bound[..., 1].max())
    return (float(bound[..., 0].max()) if w.size > 1 else count * float(w[0])), count


def _line(x, w, lam, origin, step, low, high, coarse, workers):
    """`cell_list` in one dimension: nothing to sort, and samples that miss the grid stay, just outside."""
    n = len(x)
    chunks = _CHUNKS if n >= _PARALLEL_FROM else 1
    u, inside = np.empty(n), np.zeros(chunks, np.int64)
    table = np.zeros((chunks, 4, int((high[0] - low[0]) / coarse[0]) + 1, 2))
    run_loop(line_loop, n, workers, x.reshape(-1), w, origin[0], step[0], low[0], high[0], 1.0 / coarse[0], u, inside, table)
    most, count = _largest(table.sum((0, 1)), w)
    return dict(
        u=u[None], w=w, lam2=lam, starts=np.array([0, n]), weight=most, count=count, kept=n, outside=n - int(inside.sum())
    )


# --- listed points --------------------------------------------------------------------------------------------------------


@host_loop("kde.extent", (_f2, _f1, _f2, _f2, _f2))
def extent_loop(x, mean, factor, low, high):
    for index in prange(low.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // low.shape[0], (c + 1) * n // low.shape[0]
        least, most = np.full((d, _BLOCK), np.inf), np.full((d, _BLOCK), -np.inf)
        y = np.empty(_BLOCK)
        for first in range(a, b, _BLOCK):
            m = min(_BLOCK, b - first)
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


def extent(x, mean, factor, workers=None):
    """Bounds of the whitened samples: two arrays (d,)."""
    low, high = np.empty((_CHUNKS, x.shape[1])), np.empty((_CHUNKS, x.shape[1]))
    run_loop(extent_loop, len(x), workers, x, mean, factor, low, high)
    return low.min(0), high.max(0)


@host_loop("kde.whiten", (_f2, _f1, _f2, _f1, _i1, _keys, _i2))
def whiten_loop(x, mean, factor, grid, cells, key, counts):
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, inverse = counts[c], 1.0 / grid[3]
        y, cell = np.empty(_BLOCK), np.empty(_BLOCK, np.int64)
        for first in range(a, b, _BLOCK):
            m = min(_BLOCK, b - first)
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


def ball_cells(x, w, lam, mean, factor, grid, cells, with_moments, workers=None):
    """Whiten and sort samples by cells of up to three axes; optionally the moments of every cell.

    Parameters
    ----------
    x : (n, d) float64
    w, lam : (n,) or (1,) float64
    mean : (d,)
    factor : (d, d)
        Lower triangular: ``y = factor (x - mean)``.
    grid : (4,)
        Origin on three axes, edge of a cell.
    cells : (3,) int64
    with_moments : bool
    workers : int, optional

    Returns
    -------
    tuple
        y (d, n), weights, lam, starts, moments.
    """
    n, d = x.shape
    total = int(np.prod(cells))
    chunks = max(1, min(_CHUNKS, n // (4 * total))) if n >= _PARALLEL_FROM else 1  # keeps the counts below n / 4 numbers
    key, counts = np.empty(n, np.int32 if n < 2**31 else np.int64), np.zeros((chunks, total + 1), np.int64)
    run_loop(whiten_loop, n, workers, x, mean, factor, grid, cells, key, counts)
    starts = np.cumsum(counts.sum(0))
    offsets = np.ascontiguousarray(np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1])
    y = np.empty((d, n))
    w_out = np.empty(n) if w.size > 1 else w
    lam_out = np.empty(n) if lam.size > 1 else lam
    run_loop(settle_loop, n, workers, x, w, lam, mean, factor, key, offsets, y, w_out, lam_out)
    table = np.zeros((total if with_moments else 1, 5))
    if with_moments:
        run_loop(moments_of_cells_loop, n, workers, y, w_out, starts, grid, cells, table)
    return y, w_out, lam_out, starts, table
