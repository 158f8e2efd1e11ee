"""What happens to the samples before the kernels: one pass of moments, one that counts cells, one that sorts by cell.

Chunks are fixed, so nothing depends on the number of threads. These passes run on the host on every device.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import prange

from numbastats._core.compile import build
from numbastats._core.parallel import parallel_region, worker_count

__all__ = ["ball_cells", "cell_list", "moments"]

_CHUNKS = 8
_PARALLEL_FROM = 50_000


@functools.cache
def _built(template, target):
    return build(template, target)


def _call(template, n, workers, *args):
    count = worker_count(workers)
    if count == 1 or n < _PARALLEL_FROM:
        _built(template, "serial")(*args)
    else:
        with parallel_region(count) as allowed:
            _built(template, "parallel" if allowed else "serial")(*args)


def moments_loop(x, w, shift, sums, products, low, high, totals):
    for index in prange(sums.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // sums.shape[0], (c + 1) * n // sums.shape[0]
        for i in range(d):
            low[c, i] = np.inf
            high[c, i] = -np.inf
        for k in range(a, b):
            v = w[k] if w.size > 1 else 1.0
            s = totals[c, 0] + v  # with its rounding error: the sum must not depend on the order
            back = s - totals[c, 0]
            totals[c, 4] += (totals[c, 0] - (s - back)) + (v - back)
            totals[c, 0] = s
            totals[c, 1] += v * v
            if not (v >= 0.0 and v < np.inf):
                totals[c, 3] += 1.0
            for i in range(d):
                xi = x[k, i] - shift[i]
                if not (abs(xi) < np.inf):
                    totals[c, 2] += 1.0
                low[c, i] = min(low[c, i], x[k, i])
                high[c, i] = max(high[c, i], x[k, i])
                sums[c, i] += v * xi
                for j in range(i + 1):
                    products[c, i, j] += v * xi * (x[k, j] - shift[j])


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
    shift = np.median(x[:: max(1, n // 1000)], axis=0)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    sums, products, totals = np.zeros((_CHUNKS, d)), np.zeros((_CHUNKS, d, d)), np.zeros((_CHUNKS, 5))
    low, high = np.empty((_CHUNKS, d)), np.empty((_CHUNKS, d))
    weights = np.ones(1) if w is None else w if w.size > 1 else np.repeat(w, 2)
    with np.errstate(all="ignore"):
        _call(moments_loop, n, workers, x, weights, shift, sums, products, low, high, totals)
        square, bad, bad_weights = totals[:, 1:4].sum(0)
        total = math.fsum(totals[:, [0, 4]].ravel()) if not bad_weights else np.nan
        mean = sums.sum(0) / total
        scatter = np.tril(products.sum(0)) - np.tril(np.outer(mean, mean)) * total
    scatter = scatter + np.tril(scatter, -1).T
    return dict(W=total, W2=square, mean=mean + shift, M2=scatter, low=low.min(0), high=high.max(0), bad=int(bad),
                bad_weights=int(bad_weights))  # fmt: skip


def count_loop(x, w, origin, step, axes, low, high, cell0, inverse, cells, coarse_inverse, coarse_cells, key, counts, coarse):
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine, weight = counts[c], coarse[c]
        for k in range(a, b):
            cell, block, inside = np.int64(0), np.int64(0), True
            for j in range(d):
                axis = axes[j]
                u = (x[k, axis] - origin[axis]) / step[axis]
                inside = inside and u > low[j] and u < high[j]
                u = min(max(u, low[j]), high[j])
                if j < d - 1:
                    i = np.int64(np.floor((u - cell0[j]) * inverse[j]))
                    cell = cell * cells[j] + min(max(i, 0), cells[j] - 1)
                block = block * coarse_cells[j] + np.int64((u - low[j]) * coarse_inverse[j])
            if inside:
                key[k] = cell
                mine[cell + 1] += 1
                weight[block, 0] += w[k] if w.size > 1 else 1.0
                weight[block, 1] += 1.0
            else:
                key[k] = -1


def place_loop(x, w, lam, origin, step, axes, key, offsets, u, w_out, lam_out):
    for index in prange(offsets.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // offsets.shape[0], (c + 1) * n // offsets.shape[0]
        at = offsets[c]
        for k in range(a, b):
            cell = key[k]
            if cell >= 0:
                p = at[cell]
                at[cell] = p + 1
                for j in range(d):
                    axis = axes[j]
                    u[j, p] = (x[k, axis] - origin[axis]) / step[axis]
                if w.size > 1:
                    w_out[p] = w[k]
                if lam.size > 1:
                    lam_out[p] = lam[k]


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
        Order of the axes in the result; the last is the row axis and does not take part in the cells.
    low, high : (d,)
        Open interval of index coordinates per ordered axis that can reach the grid; other samples are dropped.
    cell0, width, cells : (d - 1,)
        Origin, width and number of cells.
    coarse : (d,)
        Edge of the cells in which the weight is bounded: at least a full box.
    workers : int, optional

    Returns
    -------
    dict
        u (d, kept), w, lam2, starts, weight and count (bounds at one grid point), kept.
    """
    n, d = x.shape
    total = int(np.prod(cells)) if d > 1 else 1
    chunks = _CHUNKS if n >= _PARALLEL_FROM and total < n else 1
    coarse_cells = np.floor((high - low) / coarse).astype(np.int64) + 1
    key = np.empty(n, np.int32)
    counts = np.zeros((chunks, total + 1), np.int64)
    weight = np.zeros((chunks, int(np.prod(coarse_cells)), 2))
    axes = np.asarray(axes)
    inverse = 1.0 / np.asarray(width) if d > 1 else np.ones(0)
    _call(count_loop, n, workers, x, w, origin, step, axes, low, high, cell0, inverse, cells, 1.0 / coarse, coarse_cells, key,
          counts, weight)  # fmt: skip
    bound = weight.sum(0).reshape(*coarse_cells, 2)
    for axis in range(d):
        if bound.shape[axis] > 1:
            bound = np.take(bound, range(bound.shape[axis] - 1), axis) + np.take(bound, range(1, bound.shape[axis]), axis)
    starts = np.cumsum(counts.sum(0))
    offsets = np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1]
    kept = int(starts[-1])
    u = np.empty((d, kept))
    w_out = np.empty(kept) if w.size > 1 else w
    lam_out = np.empty(kept) if lam.size > 1 else lam
    _call(place_loop, n, workers, x, w, lam, origin, step, axes, key, np.ascontiguousarray(offsets), u, w_out, lam_out)
    return dict(u=u, w=w_out, lam2=lam_out, starts=starts, weight=float(bound[..., 0].max()), count=float(bound[..., 1].max()),
                kept=kept)  # fmt: skip


# --- listed points --------------------------------------------------------------------------------------------------------


def whiten_loop(x, mean, factor, grid, cells, key, counts):
    for index in prange(counts.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // counts.shape[0], (c + 1) * n // counts.shape[0]
        mine = counts[c]
        for k in range(a, b):
            cell = np.int64(0)
            for j in range(max(d - 3, 0), d):
                y = 0.0
                for i in range(j + 1):
                    y += factor[j, i] * (x[k, i] - mean[i])
                axis = j - d + 3
                at = np.int64(np.floor((y - grid[axis]) / grid[3]))
                cell = cell * cells[axis] + min(max(at, 0), cells[axis] - 1)
            key[k] = cell
            mine[cell + 1] += 1


def settle_loop(x, w, lam, mean, factor, key, offsets, y, w_out, lam_out):
    for index in prange(offsets.shape[0]):
        c = np.int64(index)
        n, d = x.shape
        a, b = c * n // offsets.shape[0], (c + 1) * n // offsets.shape[0]
        at = offsets[c]
        for k in range(a, b):
            p = at[key[k]]
            at[key[k]] = p + 1
            for j in range(d):
                v = 0.0
                for i in range(j + 1):
                    v += factor[j, i] * (x[k, i] - mean[i])
                y[j, p] = v
            if w.size > 1:
                w_out[p] = w[k]
            if lam.size > 1:
                lam_out[p] = lam[k]


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
    chunks = _CHUNKS if n >= _PARALLEL_FROM and total < n else 1
    key, counts = np.empty(n, np.int32), np.zeros((chunks, total + 1), np.int64)
    _call(whiten_loop, n, workers, x, mean, factor, grid, cells, key, counts)
    starts = np.cumsum(counts.sum(0))
    offsets = np.ascontiguousarray(np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1])
    y = np.empty((d, n))
    w_out = np.empty(n) if w.size > 1 else w
    lam_out = np.empty(n) if lam.size > 1 else lam
    _call(settle_loop, n, workers, x, w, lam, mean, factor, key, offsets, y, w_out, lam_out)
    table = np.zeros((total if with_moments else 1, 5))
    if with_moments:
        _call(moments_of_cells_loop, n, workers, y, w_out, starts, grid, cells, table)
    return y, w_out, lam_out, starts, table
