"""Samples sorted by cells: of a grid's outer axes, or of the space in which the support is the unit ball."""

from __future__ import annotations

import numpy as np

from numbastats._core.launch import launch
from numbastats.kde import kernels as K
from numbastats.kde.kernels import sorting as loops
from numbastats.kde.kernels.sorting import CHUNKS
from numbastats.kde.slabs import PARALLEL_FROM, in_slabs, run_loop

__all__ = ["PointList", "ball_cells", "cell_list"]


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
    chunks = max(1, min(CHUNKS, n // (4 * total))) if n >= PARALLEL_FROM else 1  # keeps the counts below n / 4 numbers
    coarse_cells = np.floor((high - low) / coarse).astype(np.int64) + 1
    key = np.empty(n, np.int32 if n < 2**31 else np.int64)
    counts = np.zeros((chunks, total + 1), np.int64)
    weight = np.zeros((chunks, int(np.prod(coarse_cells)), 2))
    axes = np.asarray(axes)
    run_loop(
        loops.count_loop,
        n,
        workers,
        x,
        w,
        origin,
        step,
        axes,
        low,
        high,
        cell0,
        1.0 / np.asarray(width),
        cells,
        1.0 / coarse,
        coarse_cells,
        key,
        counts,
        weight,
    )
    most, count = _largest(weight.sum(0).reshape(*coarse_cells, 2), w)
    starts = np.cumsum(counts.sum(0))
    offsets = np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1]
    kept = int(starts[-1])
    u = np.empty((d, kept))
    w_out = np.empty(kept) if w.size > 1 else w
    lam_out = np.empty(kept) if lam.size > 1 else lam
    run_loop(loops.place_loop, n, workers, x, w, lam, origin, step, axes, key, np.ascontiguousarray(offsets), u, w_out, lam_out)
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
    chunks = CHUNKS if n >= PARALLEL_FROM else 1
    u, inside = np.empty(n), np.zeros(chunks, np.int64)
    table = np.zeros((chunks, 4, int((high[0] - low[0]) / coarse[0]) + 1, 2))
    run_loop(
        loops.line_loop, n, workers, x.reshape(-1), w, origin[0], step[0], low[0], high[0], 1.0 / coarse[0], u, inside, table
    )
    most, count = _largest(table.sum((0, 1)), w)
    return dict(
        u=u[None], w=w, lam2=lam, starts=np.array([0, n]), weight=most, count=count, kept=n, outside=n - int(inside.sum())
    )


def extent(x, mean, factor, workers=None):
    """Bounds of the whitened samples: two arrays (d,)."""
    low, high = np.empty((CHUNKS, x.shape[1])), np.empty((CHUNKS, x.shape[1]))
    run_loop(loops.extent_loop, len(x), workers, x, mean, factor, low, high)
    return low.min(0), high.max(0)


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
    chunks = max(1, min(CHUNKS, n // (4 * total))) if n >= PARALLEL_FROM else 1  # keeps the counts below n / 4 numbers
    key, counts = np.empty(n, np.int32 if n < 2**31 else np.int64), np.zeros((chunks, total + 1), np.int64)
    run_loop(loops.whiten_loop, n, workers, x, mean, factor, grid, cells, key, counts)
    starts = np.cumsum(counts.sum(0))
    offsets = np.ascontiguousarray(np.cumsum(counts[:, 1:], axis=0) - counts[:, 1:] + starts[:-1])
    y = np.empty((d, n))
    w_out = np.empty(n) if w.size > 1 else w
    lam_out = np.empty(n) if lam.size > 1 else lam
    run_loop(loops.settle_loop, n, workers, x, w, lam, mean, factor, key, offsets, y, w_out, lam_out)
    table = np.zeros((total if with_moments else 1, 5))
    if with_moments:
        run_loop(loops.moments_of_cells_loop, n, workers, y, w_out, starts, grid, cells, table)
    return y, w_out, lam_out, starts, table


class PointList:
    """Samples in coordinates in which the support is the unit ball, sorted by cells.

    Parameters
    ----------
    model : Model
    flips : sequence of int
        Axes whose off-diagonal entries of H change sign.
    workers : int, optional
    """

    def __init__(self, model, flips=(), workers=None):
        support = model.support.copy()
        for axis in flips:
            support[axis, :] *= -1
            support[:, axis] *= -1
        x, d, n = model.x, model.d, len(model.x)
        largest = 1.0 if model.scale is None else float(model.scale.max())
        self.mean = model.centre
        self.factor = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(support))) / largest
        self.number, self.decay, self.constant = model.number, model.decay, model.constant
        weights = np.ones(1) if model.weights is None else model.weights
        inverse = np.ones(1)
        if model.scale is not None:
            inverse = (largest / model.scale) ** 2
            weights = weights * model.scale ** -float(d)
        self.use_moments = bool(model.scale is None and model.number in (0, 1) and d <= 3)
        self.plain = (x, weights, inverse)
        axes = min(d, 3)
        low, high = extent(x, self.mean, self.factor, workers)
        if n and not np.isfinite(high - low).all():
            raise ValueError(
                "the samples lie more supports apart than double precision counts; take a larger bandwidth, or drop the outliers"
            )
        margin = 3 + 1e-12 * np.maximum(np.abs(low), np.abs(high))
        self.near = low - margin, high + margin  # density 0 on and beyond these
        span = np.maximum((high - low)[-axes:], 1e-9)
        per_box = (n / 35 / np.prod(np.maximum(span, 1.0))) ** (1 / axes) if n else 1.0
        per_box = min(max(per_box, 1.0), 16.0 if axes < 3 else 6.0)
        most = max(1000.0, min(4.0 * n, 4e6))
        while np.prod(np.floor(span * per_box) + 1) > most:
            per_box /= 1.3
        self.cells = np.ones(3, np.int64)
        self.grid = np.zeros(4)
        self.grid[3] = 1.0 / per_box
        self.cells[3 - axes :] = np.floor(span * per_box).astype(np.int64) + 1
        self.grid[3 - axes : 3] = low[-axes:]
        self.y, self.w, self.inverse, self.starts, self.moments = ball_cells(
            x, weights, inverse, self.mean, self.factor, self.grid, self.cells, self.use_moments, workers
        )
        self.fullest = int(np.diff(self.starts).max(initial=0))  # most samples of a cell

    def evaluate(self, points, *, method="cells", device="cpu", workers=None):
        """Density at points (p, d), float64."""
        out = np.empty(len(points))
        if not len(points):
            return out
        if not len(self.plain[0]):
            out[:] = np.where(np.isnan(points).any(1), np.nan, 0.0)
            return out
        with np.errstate(all="ignore"):
            y = (points - self.mean) @ self.factor.T
        finite = np.isfinite(y).all(1)
        lost = ~finite & ~np.isnan(points).any(1)
        y[lost] = self.near[1]  # infinite points have density 0
        y = np.clip(y, *self.near)
        order = None
        if method == "cells" and len(points) > 256:
            key = np.zeros(len(points), np.int64)
            for axis in range(max(0, y.shape[1] - 3), y.shape[1]):
                at = np.nan_to_num((y[:, axis] - self.grid[axis - y.shape[1] + 3]) / self.grid[3])
                cells = self.cells[axis - y.shape[1] + 3]
                key = key * cells + np.clip(at, 0, cells - 1).astype(np.int64)
            order = np.argsort(key, kind="stable")
            y = y[order]
        y = np.ascontiguousarray(y)
        options = np.array([self.number, self.use_moments], np.int64)
        d, n = self.y.shape
        if method == "cells":
            kernel, cost = K.POINTS, 40.0 + 0.5 * n * min(1.0, float(self.grid[3]))
            lists = (self.y, self.w, self.inverse, self.starts, self.moments, self.grid, self.cells)
            box = float(np.minimum(self.cells, 2 / self.grid[3] + 2).prod())  # cells that a point sees
            most = 100 + 5 * box + (2 + 0.5 * d) * min(n, box * self.fullest)
        else:
            kernel, cost, lists = K.EXHAUSTIVE, float(n), (self.y, self.w, self.inverse)
            most = 100 + (2 + 0.5 * d) * n

        def slab(a, b):
            args = (y[a:b], *lists, options, self.constant, self.decay, out[a:b])
            launch(kernel, args, len(y), device=device, workers=workers, cost=cost, threads=64)

        in_slabs(slab, len(y), most if device == "cpu" else 0, workers)
        if order is not None:
            unsorted = np.empty_like(out)
            unsorted[order] = out
            out = unsorted
        return out
