"""Samples sorted by cells: of a grid's outer axes, or of the space in which the support is the unit ball."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from numbastats._core.device import constant
from numbastats._core.launch import LOOP_FROM, launch, run_loop
from numbastats._core.slabs import in_slabs
from numbastats.kde import kernels as K
from numbastats.kde.kernels import sorting as loops
from numbastats.kde.kernels.points import BALL
from numbastats.kde.kernels.sorting import AXIS, CHUNKS

__all__ = ["PointList", "Sorted", "ball_cells", "ball_of", "cell_list", "order_by_cell"]


@dataclasses.dataclass(eq=False)
class Sorted:
    """Samples of one pass in the order of their cells."""

    u: np.ndarray  # (d, kept) index coordinates, the row axis last
    w: np.ndarray  # weights, (kept,) or (1,)
    lam2: np.ndarray  # squared scales, (kept,) or (1,)
    starts: np.ndarray  # index of the first sample of every cell
    weight: float  # bound on the weight that one grid point can see
    count: float  # bound on the number of samples that one grid point can see
    inside: int  # samples that some grid position may see; less than `kept` only in one dimension
    crowd: int = 0  # most samples in a cell; of a line all
    lost: float = 0.0  # the quantum, where weights are smaller than it
    cells: Any = None  # number of cells per axis
    first: Any = None  # grid position of the first cell, for method "cells"
    span: tuple = ()  # the open interval of the row axis that touches the grid
    bands: Any = None  # method "cells": rows of cells per band, and the state of the bands

    @property
    def kept(self):
        """Number of samples."""
        return self.u.shape[1]


def cell_list(x, w, lam, axes, workers=None):
    """Sort samples by cell and bound the weight that one grid point can see.

    Parameters
    ----------
    x : (n, d) float64
    w, lam : (n,) float64 or (1,)
        Weights and squared scales, sorted along.
    axes : (d,) of AXIS
        In the order of the result, the row axis last, with one cell along it unless the method wants more. Samples outside an
        open interval are dropped. Coarse cells, in which the weight is bounded, are at least a full box long.
    workers : int, optional
    """
    return (_line if x.shape[1] == 1 else _sorted)(x, w, lam, axes, workers)


def _sorted(x, w, lam, axes, workers):
    n, d = x.shape
    total = int(np.prod(axes["cells"]))
    counts, starts = _counters(n, total)
    key = np.empty(n, np.int32 if n < 2**31 else np.int64)
    weight, most, count = np.zeros((len(counts), int(np.prod(axes["coarse_cells"])), 2)), 0.0, 0.0
    run_loop(loops.count_loop, n, workers, x, w, axes, key, counts, weight)
    if weight.size:
        most, count = _largest(weight.sum(0).reshape(*axes["coarse_cells"], 2), w)
    loops.first_places(counts, starts)
    kept = int(starts[-1])
    u = np.empty((d, kept))
    w_out = np.empty(kept) if w.size > 1 else w
    lam_out = np.empty(kept) if lam.size > 1 else lam
    run_loop(loops.place_loop, n, workers, x, w, lam, axes, key, counts, u, w_out, lam_out)
    return Sorted(u, w_out, lam_out, starts, most, count, kept, crowd=int(np.diff(starts).max()))


def _counters(n, cells):
    """Counts of n samples by part and cell, and the first places of the cells; the parts do not depend on threads."""
    parts = max(1, min(CHUNKS, n // (4 * cells))) if n >= LOOP_FROM else 1  # keeps the counts below n / 4 numbers
    return np.zeros((parts, cells + 1), np.int64), np.empty(cells + 1, np.int64)


def order_by_cell(key, cells, workers=None):
    """Stable order of keys by counting.

    Parameters
    ----------
    key : (n,) int64
        From 0 to `cells`, which is not among them.
    cells : int
    workers : int, optional

    Returns
    -------
    order : (n,) int64
        Indices by which the keys ascend.
    starts : (cells + 1,) int64
        First place of each key in the order, and n.
    """
    (counts, starts), order = _counters(len(key), cells), np.empty(len(key), np.int64)
    run_loop(loops.count_keys_loop, len(key), workers, key, counts)
    loops.first_places(counts, starts)
    run_loop(loops.order_loop, len(key), workers, key, counts, order)
    return order, starts


def _largest(bound, w):
    """Largest weight and count in 2^d neighbouring cells of a table (..., 2)."""
    for axis in range(bound.ndim - 1):
        if bound.shape[axis] > 1:
            bound = np.take(bound, range(bound.shape[axis] - 1), axis) + np.take(bound, range(1, bound.shape[axis]), axis)
    count = float(bound[..., 1].max())
    return (float(bound[..., 0].max()) if w.size > 1 else count * float(w[0])), count


def _line(x, w, lam, axes, workers):
    """`cell_list` in one dimension, without sorting; samples out of the grid's reach are moved next to its ends."""
    n = len(x)
    chunks = CHUNKS if n >= LOOP_FROM else 1
    u, inside = np.empty(n), np.zeros(chunks, np.int64)
    table = np.zeros((chunks, 4, int(axes["coarse_cells"][0]), 2))
    run_loop(loops.line_loop, n, workers, x.reshape(-1), w, axes, u, inside, table)
    most, count = _largest(table.sum((0, 1)), w)
    return Sorted(u[None], w, lam, np.array([0, n]), most, count, int(inside.sum()), crowd=n)


def ball_cells(y, w, lam, low, width, cells, workers=None):
    """Whitened samples sorted by cells of the last up to three axes.

    Parameters
    ----------
    y : (n, d) float64
    w, lam : (n,) or (1,) float64
    low : (d,)
        Corner of the first cell.
    width : float
        Edge of a cell.
    cells : (3,) int64
    workers : int, optional
    """
    d = y.shape[1]
    axes = np.zeros(d, AXIS)
    axes["axis"], axes["step"], axes["low"], axes["high"] = range(d), 1.0, -1e300, 1e300
    axes["inverse"], axes["cells"] = 1.0 / width, 1
    axes["first"][-3:], axes["cells"][-3:] = low[-3:], cells[-d:]
    return _sorted(y, w, lam, axes, workers)


def _crowd(y, most=5000):
    """Approximate number of samples in a box of edge 1 around a typical sample."""
    some = np.floor(y[:: -(-len(y) // most)])
    # one number for each box, as 1, 2^.5, 3^.5 are linearly independent
    box = sum(math.sqrt(i + 1.0) * some[:, i] for i in range(some.shape[1]))
    _, counts = np.unique(box, return_counts=True)
    return len(y) * float(np.sum(counts * (counts - 1.0))) / (len(some) * max(len(some) - 1.0, 1.0))


def ball_of(low, width, cells):
    """The record BALL of cells from the corner `low` on, and the numbers of cells on three axes."""
    ball, three = np.zeros(1, BALL), np.ones(3, np.int64)
    three[3 - len(cells) :] = cells
    ball["width"] = width
    for k in range(3):
        ball[f"cells{k}"] = three[k]
    for k in range(3 - len(cells), 3):
        ball[f"origin{k}"] = low[k - 3]
    return ball, three


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
        weights, inverse = np.ones(1) if model.weights is None else model.weights, np.ones(1)
        if model.scale is not None:
            inverse = (largest / model.scale) ** 2
            weights = weights * model.scale ** -float(d)
        axes = min(d, 3)
        y, low, high = np.empty((n, d)), np.empty((CHUNKS, d)), np.empty((CHUNKS, d))
        run_loop(loops.whiten_loop, n, workers, x, self.mean, self.factor, y, low, high)
        low, high = low.min(0), high.max(0)
        if n and not np.isfinite(high - low).all():
            raise ValueError(
                "the samples lie more supports apart than double precision counts; take a larger bandwidth, or drop the outliers"
            )
        margin = 3 + 1e-12 * np.maximum(np.abs(low), np.abs(high))
        self.near = np.stack([low - margin, high + margin])  # the density is 0 on and beyond these bounds
        span = np.maximum((high - low)[-axes:], 1e-9)
        per_box = (_crowd(y[:, -axes:]) / 35) ** (1 / axes) if n > 1 else 1.0
        per_box = min(max(per_box, 1.0), 16.0 if axes < 3 else 6.0)
        most = max(1000.0, min(4.0 * n, 4e6))
        while np.prod(np.floor(span * per_box) + 1) > most:
            per_box /= 1.3
        width = 1.0 / per_box
        self.ball, self.cells = ball, cells = ball_of(low, width, np.floor(span * per_box).astype(np.int64) + 1)
        ball["kind"], ball["separable"] = model.number, model.product
        ball["decay"], ball["constant"] = model.decay, model.constant
        radial_power = model.power is not None and not model.product
        ball["use_moments"] = radial_power and model.scale is None and model.power < 2 and d <= 3
        self.loops = K.loops_of(model.kernel, model.product)
        self.sorted = s = ball_cells(y, weights, inverse, low, width, cells, workers)
        self.moments = np.zeros((int(cells.prod()) if ball["use_moments"][0] else 1, 5))
        if ball["use_moments"][0]:
            run_loop(loops.moments_of_cells_loop, n, workers, s.u, s.w, s.starts, ball, self.moments)

    def evaluate(self, points, *, method="cells", device="cpu", workers=None):
        """Density at points (p, d), float64."""
        out = np.empty(len(points))
        if not len(points):
            return out
        if not self.sorted.kept:
            out[:] = np.where(np.isnan(points).any(1), np.nan, 0.0)
            return out
        y, key = np.empty(points.shape), np.empty(len(points), np.int64)
        run_loop(
            loops.near_loop, len(y), workers, np.ascontiguousarray(points), self.mean, self.factor, self.near, self.ball, y, key
        )
        order, width, (d, n) = None, float(self.ball["width"][0]), self.sorted.u.shape
        if method == "cells" and len(points) > 256:
            coarser = max(0, (16 * int(self.cells.prod()) // len(y)).bit_length())  # for neighbours it need not be exact
            order, _ = order_by_cell(key >> coarser, (int(self.cells.prod()) >> coarser) + 1, workers)
            y = y[order]
        lists = self.sorted.u, self.sorted.w, self.sorted.lam2
        if method == "cells":
            kernel, cost = self.loops.points, 40.0 + 0.5 * n * min(1.0, width)
            lists += (self.sorted.starts, self.moments)
            box = float(np.minimum(self.cells, 2 / width + 2).prod())  # cells that a point sees
            edge = {1: 4.0, 2: 8 / width + 16, 3: 24 * (1 / width + 2) ** 2}  # cells that meet the edge of the support, at most
            scanned = min(box, edge[d]) if self.ball["use_moments"][0] else box
            most = 100 + 5 * box + (2 + 0.5 * d) * min(n, scanned * self.sorted.crowd)
        else:
            kernel, cost = self.loops.exhaustive, float(n)
            most = 100 + (2 + 0.5 * d) * n

        if device == "cuda":  # copied to the GPU by the first call and kept for later calls
            lists = tuple(map(constant, lists))

        def slab(a, b):
            launch(kernel, (y[a:b], *lists, self.ball, out[a:b]), len(y), device=device, workers=workers, cost=cost, threads=64)

        in_slabs(slab, len(y), most if device == "cpu" else 0, workers)
        if order is not None:
            unsorted = np.empty_like(out)
            unsorted[order] = out
            out = unsorted
        return out
