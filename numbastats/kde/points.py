"""Density at listed points: a cell list with stored moments, kept for repeated calls."""

from __future__ import annotations

import numpy as np

from numbastats._core.dispatch import launch
from numbastats.kde import kernels as K
from numbastats.kde import sorting
from numbastats.kde.slabs import in_slabs

__all__ = ["PointList"]


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
        low, high = sorting.extent(x, self.mean, self.factor, workers)
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
        self.y, self.w, self.inverse, self.starts, self.moments = sorting.ball_cells(
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
            kernel, cost = K.CELLS, 40.0 + 0.5 * n * min(1.0, float(self.grid[3]))
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
