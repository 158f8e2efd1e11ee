"""Runs a density: the choice of a method, launches slab by slab, sums over mirror images and groups of adaptive scales."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import NamedTuple

import numpy as np

from numbastats._core import device as gpu
from numbastats._core.checks import check_dtype
from numbastats._core.errors import warn
from numbastats._core.launch import launch
from numbastats._core.parallel import Threads, is_executor, mapped, worker_count
from numbastats._core.slabs import cuts, in_slabs
from numbastats.kde import kernels as K
from numbastats.kde import paper
from numbastats.kde.arguments import check_adaptive, check_method, make_model, parse_boundary
from numbastats.kde.boundaries import LINEAR, inside_mass, linear_factors, linear_terms, moved, passes, wrap
from numbastats.kde.cell_list import PointList, Sorted
from numbastats.kde.footprint import make_footprint
from numbastats.kde.gridding import Grid, collect, make_grid, quantise
from numbastats.kde.kernels import geometry as G
from numbastats.kde.likelihood import left_out
from numbastats.kde.model import Model

__all__ = ["CUDA_DESIGN", "LONG_ROW", "METHODS", "Estimate", "accumulate", "allocate", "estimate", "plan_pass", "scatter_cells"]

CUDA_DESIGN = "rows"  # or "atomics": scatter with global atomic adds, then finish; for the rows methods on a GPU
DENSE, WIDE = 4.5, 8.0  # samples per position of a plane grid and half boxes in cells from which on "auto" takes "cells"
NEEDLE = 5.0  # "auto" takes "cells" up to this ratio of half box to half chord, whose square multiplies the error
LONGEST = 1000  # largest half box in cells for method "cells", which has a table of the ring
LONG_ROW = 200.0  # half interval in cells up to which blocks of one cell, variant c, are exact enough
SHARES = 8  # parts of the samples of a line, for threads
LOSS = 1e-11  # estimated error over the peak above which direct sums replace integers (observed: at most 0.04 of the estimate)
LOSS_ASKED = 1e-9  # LOSS where the caller has named a method of integers
BLOCKS = 1024  # row buffers on a GPU
POINTS = 1 << 16  # points in a task of an executor


class Pass(NamedTuple):
    """One of the models whose densities add up, on its grid: the flipped axes of H, and the samples sorted for the kernels."""

    model: Model
    flips: tuple
    grid: Grid
    lists: Sorted


class Request(NamedTuple):
    """The request for a density on a grid: `rows` positions of axis 0 at a time, or all at once."""

    axes: tuple
    shape: tuple  # positions per axis
    derivative: int | None
    rows: int | None
    device: str
    workers: Threads


# --- the methods: how a pass is planned and run -----------------------------------------------------------------------------


def choose(method, model, grid, length, derivative):
    """The method of a pass, where the caller left a choice."""
    chord = grid.chord
    if method == "auto" and chord < 0.5:  # a support smaller than a cell: (1 - q)^p in units of cells loses bits
        return "skde-row"
    plain = model.power == 1 and model.weights is None and model.scale is None and derivative is None and not model.product
    if method == "auto" and plain and model.d == 2 and WIDE <= grid.half.min() and grid.half.max() <= LONG_ROW:
        if grid.half[-1] < NEEDLE * chord and model.n >= DENSE * math.prod(length.tolist()):
            return "cells"
    if method in ("auto", "rows"):
        return "rows-c" if plain and chord <= LONG_ROW else "rows-b"
    return method


def plan_rows(model, grid, lists, derivative):
    """Quantum of difference rows, and the weights in quanta."""
    grid.geometry["bounds"] = model.product  # a product kernel covers its whole box
    weighted = model.weights is not None and model.weights.size > 1
    weighted = weighted or (model.scale is not None and model.scale.size > 1)
    mode = model.power if derivative is None else model.power + 3
    quantise(model, grid, mode, lists.weight, lists.count, weighted or model.product)
    lists.w = lists.w * grid.q
    small = (lists.w > 0) & (lists.w < 0.5)
    if weighted and small.any():
        low, high = lists.span
        lists.lost = 0.5 / grid.q if np.any(small & (lists.u[-1] > low) & (lists.u[-1] < high)) else 0.0
    np.rint(lists.w, out=lists.w)


def run_rows(task, power):
    """Difference rows: summed row by row, or through a state where there are fewer rows than threads need."""
    grid, lists, on_gpu = task.grid, task.lists, task.device == "cuda"
    lines, length = task.out.shape
    shared = not on_gpu and len(grid.order) == 1 and task.kept > max(50_000, 4 * length) and task.workers > 1
    if shared or (on_gpu and CUDA_DESIGN == "atomics"):
        state = accumulate(grid, lists, power, task.geometry(), lines, task.device, task.workers)
        finish = K.FINISH["c" if grid.method == "rows-c" else power]
        launch(finish, (task.geometry(), state, task.out), lines, threads=64, **task.options())
        return
    tasks = BLOCKS if on_gpu else G.TASKS if task.workers > 1 else 1
    size = min(tasks, lines), (length + G.PAD) * K.STRIDE[power]
    scratch = gpu.zeros(size, np.int64) if on_gpu else _aligned(size)
    most = 3.0 * length * (power + 1), 4.0 * (power + 1)
    task.by_rows(K.ROWS[power], most, (scratch,), items=lines * (64 if on_gpu else 1))


def accumulate(grid, lists, power, geometry, lines, device, workers):
    """Scatter the samples into a state of integers, (lines, cells of a row's buffer)."""
    size, kernel = grid.state_size(power), K.ACCUMULATE["c" if grid.method == "rows-c" else power]
    arrays, line = (lists.u, lists.w, lists.lam2), len(grid.order) == 1
    if device == "cuda":
        state = gpu.zeros((lines, size), np.int64)
        if geometry["first_row"]:
            raise ValueError("the atomic design has no slabs; use CUDA_DESIGN = 'rows'")
        args = (*arrays, lists.starts, geometry, state)
        launch(kernel, args, lists.u.shape[1], device=device, outputs=(), threads=64)
        return state.copy_to_host()
    shares, starts, geometry = 1, lists.starts, geometry.copy()
    if line:
        geometry["lines2"] = shares = SHARES
        starts = np.linspace(0, lists.kept, shares + 1).astype(np.int64)
    state = np.zeros((lines * shares, size), np.int64)
    cost = 3.0 * max(lists.kept, 1) * grid.share

    def slab(a, b):
        own = geometry.copy()
        own["first_row"] = a
        args = (*arrays, starts, own, state[a:b])
        launch(kernel, args, lines * shares, device=device, workers=workers, cost=cost)

    in_slabs(slab, lines * shares, np.repeat(4.0 * (power + 1) / shares * grid.loads(lists) + 1, shares), workers)
    return state.sum(0, keepdims=True) if shares > 1 else state


def plan_cells(model, grid, lists, derivative):
    """Footprint and quantum of the moments of cells."""
    grid.footprint = make_footprint(grid.matrix, grid.half, lists.cells, lists.first, lists.weight, lists.crowd)
    quantise(model, grid, 1, lists.weight, lists.count, False)


def run_cells(task, power):
    """Moments of cells where the support holds them, single samples in its ring."""
    footprint, lists = task.grid.footprint, task.lists
    if lists.bands is None:  # for the whole grid, also in slabs: there are more samples than positions
        lists.bands = scatter_cells(footprint, lists, task.device, task.workers)
    band, state = lists.bands
    args = (footprint.record(band, task.first), float(task.grid.geometry["scale"][0]), state, task.out)
    launch(K.CELLS_FINISH, args, len(task.out), threads=64, **task.options())


def scatter_cells(footprint, lists, device, workers):
    """Rows of cells per band, and the state of the bands, on the device: values in the ring, third differences inside it."""
    threads, rows, pad = worker_count(workers), int(footprint.cells[0]), int(footprint.pad[0])
    bands = 1 if device == "cuda" or threads == 1 else min(4 * threads, rows // (2 * pad) + 1)
    band = -(-rows // bands)
    size = bands, 2, (band + 2 * pad) * footprint.pitch + 2
    args = (lists.u, lists.starts, footprint.ring, footprint.offsets, footprint.inner)
    if device == "cuda":
        state = gpu.zeros(size, np.int64)
        args += (footprint.record(band), state)
        launch(K.CELLS_SCATTER, args, lists.kept * 64, device=device, outputs=(), threads=64)
        return band, state
    state = np.zeros(size, np.int64)
    width = int(footprint.cells[1])
    cost = (20.0 * lists.kept + 100.0 * rows * width) / rows
    samples = np.zeros(bands * band)
    samples[:rows] = np.diff(lists.starts[::width])
    most = (0.4 * footprint.ring.shape[1] + 20) * samples.reshape(bands, band).sum(0) + 3.0 * footprint.inner.size * width * bands

    def slab(a, b):  # rows a to b of every band
        own = footprint.record(band, 0, (a, b))
        launch(K.CELLS_SCATTER, (*args, own, state), bands, device=device, workers=workers, cost=cost * band)

    in_slabs(slab, band, most, workers)
    return band, state


METHODS = {  # functions that plan and run a pass, by method; `arguments.NEEDS` has a method's conditions on the model
    "rows-b": (plan_rows, run_rows),
    "rows-c": (plan_rows, run_rows),
    "cells": (plan_cells, run_cells),
    "skde-row": (paper.plan_direct, paper.run_direct),
    "skde": (paper.plan_direct, paper.run_boxes),
    "skde-crop": (paper.plan_direct, paper.run_boxes),
    "skde-atomic": (paper.plan_direct, paper.run_atomic),
}


def plan_pass(model, flips, method, ask):
    """The `Pass` of a model: grid, sorted samples, and the kernel's arguments for q and lambda^2."""
    grid = make_grid(model, ask.axes, row_axis=ask.derivative, keep_first=ask.rows is not None, flips=flips)
    grid.method = method = choose(method, model, grid, ask.axes[2], ask.derivative)
    if method == "cells" and grid.half.max() > LONGEST:
        raise ValueError(
            f"method='cells' is for half boxes of at most {LONGEST} positions, here {grid.half.max():.0f}; use 'auto'"
        )
    weights, lam2 = np.ones(1) if model.weights is None else model.weights, np.ones(1)
    if model.scale is not None:
        power = 2 * model.power if grid.integers else 0
        lam2 = model.scale**2
        weights = weights * model.scale ** -float(model.d + power)
    lists = collect(model, grid, lam2, weights, ask.workers, unit=method == "cells")
    METHODS[method][0](model, grid, lists, ask.derivative)
    return Pass(model, flips, grid, lists)


# --- adaptive scales --------------------------------------------------------------------------------------------------------


def adaptive_scales(model, adaptive, boundary=None, workers=None):
    """Scales lambda per sample: an array, or Abramson's rule from a pilot with the fixed bandwidth."""
    alpha, scale = check_adaptive(adaptive, model)
    if scale is not None:
        return scale
    pilot = Estimate(model, boundary=boundary, workers=workers).points(model.x)
    w = np.ones(len(pilot)) if model.weights is None else model.weights
    pilot = np.maximum(pilot, np.finfo(float).tiny)  # a sample of weight 0 may be alone
    centre = math.exp(np.sum(w * np.log(pilot)) / w.sum())
    return np.clip((pilot / centre) ** -alpha, 0.1, 10.0)


def by_scale(parts):
    """Passes split by half octaves of the adaptive scale.

    The weights lambda^-(d + 2p) of such a part suit integers of one quantum, and its windows are no wider than its own largest
    scale asks for.
    """
    split = []
    for model, flips in parts:
        group = np.floor(2 * np.log2(model.scale))
        for v in np.unique(group):
            chosen = group == v
            x, w = model.x[chosen], None if model.weights is None else model.weights[chosen]
            part = model.subset(x, w, model.scale[chosen])
            split.append((dataclasses.replace(part, low=x.min(0), high=x.max(0)), flips))
    return split


# --- the estimate ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Rows of a grid from `first` on, to be filled with the sums over the samples of one pass."""

    grid: Grid
    lists: Sorted
    first: int
    out: np.ndarray  # (rows, positions)
    device: str
    workers: Threads
    loops: K.Loops  # of the smoothing kernel

    @property
    def samples(self):
        """Coordinates, weights, squared scales, first samples of lines or cells; copied once to a GPU, if they are not there."""
        lists = self.lists.u, self.lists.w, self.lists.lam2, self.lists.starts
        return lists if self.device == "cpu" else tuple([gpu.constant(v) if type(v) is np.ndarray else v for v in lists])

    @property
    def kept(self):
        """Number of samples, at least 1."""
        return max(self.lists.kept, 1)

    @property
    def cost(self):
        """Approximate nanoseconds per row."""
        return self.out.shape[1] + 3.0 * self.kept * self.grid.share

    def options(self):
        """Keywords of `launch`."""
        return dict(device=self.device, workers=self.workers, cost=self.cost)

    def geometry(self, further=0):
        """The grid for a kernel whose first row is `further` rows behind that of the task."""
        geometry = self.grid.geometry.copy()
        geometry["first_row"] = self.first + further
        return geometry

    def by_rows(self, kernel, most, scratch=(), items=None, cost=None):
        """Launch a kernel on slabs of rows; `most` nanoseconds at most are those of any row, and of each sample on it."""
        lines, host = len(self.out), self.device == "cpu"
        options = dict(device=self.device, workers=self.workers, cost=self.cost if cost is None else cost, threads=64)
        samples = self.samples

        def slab(a, b):
            own = [v[: b - a] if host else v for v in scratch]
            args = (*samples, self.geometry(a), *own, self.out[a:b])
            launch(kernel, args, lines if items is None else items, **options)

        a_row, a_sample = most
        costs = a_row + a_sample * self.grid.loads(self.lists)[self.first : self.first + lines] if host else 0
        in_slabs(slab, lines, costs, self.workers)


class Estimate:
    """A model with its boundary, ready for grids and points."""

    def __init__(self, model, *, boundary=None, adaptive=None, workers=None):
        self.executor = workers if is_executor(workers) else None  # for points, and the sums of `distributed.grid_by`
        self.model, self.workers = model, None if self.executor is not None else workers
        if adaptive is not None:
            model.scale = adaptive_scales(model, adaptive, boundary, self.workers)
        self.boundary = parse_boundary(boundary, model)
        self.passes = passes(model, self.boundary)
        self.linear = {axis: rule for axis, rule in self.boundary.items() if rule[0] in LINEAR}
        others = {axis: rule for axis, rule in self.boundary.items() if axis not in self.linear}
        terms = linear_terms(model, self.linear) if self.linear else ()
        self.terms = [(sides, Estimate(part, boundary=others, workers=self.workers)) for sides, part in terms]
        self._lists = {}
        self.method_used, self.error_bound, self.outside = None, None, 0

    def __getstate__(self):
        """The state that is pickled: without the executor."""
        return self.__dict__ | {"executor": None}

    @property
    def corrected(self):
        """The kind of boundary that has no formula for masses, or None."""
        return next((kind for kind, *_ in self.boundary.values() if kind == "renorm" or kind in LINEAR), None)

    # --- grids

    def grid(self, axes, method, *, derivative=None, device="cpu", out):
        """Fill `out` (float64 or float32, natural order) by a checked method: with the density, or its slope along an axis."""
        for _, _, block in self.slabs(axes, method, derivative=derivative, device=device, out=out):
            if block is not out:
                out[...] = block
        return out

    def slabs(self, axes, method, *, rows=None, derivative=None, device="cpu", out=None):
        """Yield (first, last, block) along axis 0; the bits do not depend on the number of rows per block."""
        if self.terms:
            yield from self._linear_slabs(axes, method, rows, device)
            return
        ask = Request(axes, tuple(axes[2].tolist()), derivative, rows, device, worker_count(self.workers))
        if method == "ep":
            self.method_used, self.error_bound = "ep", None
            yield from paper.exhaustive(self, ask)
            return
        plans = self._plans(ask, method)
        if rows is not None and method == "auto" and self._edges_only(ask, plans):
            plans = self._plans(ask, "skde-row")
        self._note(plans)
        peak = 0.0
        for first, last, block in self._blocks(ask, plans, out):
            peak = max(peak, _height(block, derivative))
            if rows is None and method == "auto" and _coarse(plans, _unit(ask, plans) * peak, axes[2]):
                plans = self._plans(ask, "skde-row")
                self._note(plans)
                ((first, last, block),) = self._blocks(ask, plans, out)
                peak = _height(block, derivative)
            bound = sum([p.grid.bound for p in plans])
            self.error_bound = bound / peak if peak > 0 and derivative is None else None
            step = rows if rows is not None and len(axes[2]) == 1 else last - first
            for a in range(first, last, step):
                b = min(a + step, last)
                yield a, b, block if step == last - first else block[a - first : b - first]

    def _linear_slabs(self, axes, method, rows, device):
        """`slabs` for local-linear kernels, combined from the slabs of their terms."""
        factors = linear_factors(self.model, self.linear, self.positions(axes))
        weighted = "rows" if method in ("rows-c", "cells") else method
        streams = []
        for i, (_, e) in enumerate(self.terms):
            own = check_method(e.model, weighted if i else method, None, e.boundary)
            streams.append(e.slabs(axes, own, rows=rows, device=device))
        for blocks in zip(*streams, strict=True):
            first, last, _ = blocks[0]
            own = {a: f[:, first:last] if a == 0 else f for a, f in factors.items()}
            shaped = {a: f.reshape(4, *(-1 if b == a else 1 for b in range(self.model.d))) for a, f in own.items()}
            base = self.terms[0][1]
            self.method_used, self.outside = base.method_used, base.outside
            yield first, last, self._combined([block for _, _, block in blocks], shaped)

    def _combined(self, values, factors):
        """The local-linear estimate from the densities of its terms and the factors by axis."""
        total = 0.0
        for (sides, _), f in zip(self.terms, values, strict=True):
            total = total + f * math.prod(factors[axis][side] for axis, side in sides.items())
        if all(kind != "jones-foster" for kind, *_ in self.linear.values()):
            return total
        plain = values[0] * math.prod(factor[3] for factor in factors.values())
        return plain * np.exp(total / np.where(plain > 0, plain, 1.0) - 1)  # Jones and Foster (1996)

    def _plans(self, ask, method):
        """A plan for every pass and, where integers would cost too much of the peak, for every group of adaptive scales."""
        axes, length, adaptive = ask.axes, ask.axes[2], self.model.scale is not None
        parts = self._parts(ask)

        def planned(parts, method):
            return [plan_pass(m, flips, method, ask) for m, flips in parts]

        plans = planned(parts, method)
        if any([p.grid.integers and (adaptive or p.grid.chord < 0.5) for p in plans]):
            peak = self._peak((axes[0], plans[0].grid.step, length), ask.derivative)
            if adaptive and sum([p.grid.typical for p in plans]) > 0.1 * LOSS * peak:
                parts = by_scale(parts)
                plans = planned(parts, method)
            loss = sum([p.grid.typical for p in plans])
            if loss > LOSS * peak and method == "auto":
                plans = planned(parts, "skde-row")
            elif loss > LOSS_ASKED * peak > 0:
                raise ValueError(
                    f"method={method!r} rounds to integers, which here may cost {loss / peak:.1e} of its "
                    "peak; use 'auto' or 'skde-row'"
                )
        elif adaptive and method in ("auto", "skde-row"):
            if _boxes(plans) > 10 * length.prod():  # the boxes cost more than several passes over the grid
                plans = planned(by_scale(parts), method)
        return plans

    def _parts(self, ask):
        """Models with samples and their flips; the copies of a periodic axis reach as far as the grid does."""
        if not self.boundary:
            return self.passes
        origin, step, _ = ask.axes
        span = {a: (origin[a], origin[a] + step[a] * (ask.shape[a] - 1)) for a, r in self.boundary.items() if r[0] == "periodic"}
        beyond = any(first < self.boundary[a][1] or last > self.boundary[a][2] for a, (first, last) in span.items())
        return [(m, f) for m, f in (passes(self.model, self.boundary, span) if beyond else self.passes) if len(m.x)]

    def _note(self, plans):
        """Record the method of the pass with most samples, and the number of samples that no grid position sees."""
        lost = max([p.lists.lost for p in plans], default=0.0)
        if lost:
            warn(
                f"some weights are below the quantum {lost:.2g} and vanish; they span too many orders of magnitude",
                RuntimeWarning,
            )
        self.outside = sum([p.model.n - p.lists.inside for p in plans if not p.flips])
        kept = [p.lists.kept for p in plans]
        self.method_used = plans[kept.index(max(kept))].grid.method

    def _blocks(self, ask, plans, out=None):
        """Yield (first, last, block) along axis 0, the sum over all passes inside the walls; a line is one block."""
        count = ask.shape[0]
        step = count if ask.rows is None or len(ask.shape) == 1 else ask.rows
        for first, last in cuts(count, step):
            total = None
            for p in plans:
                block = self._block(ask, p, first, last, out if ask.rows is None and total is None else None)
                total = block if total is None else total.__iadd__(block)
            if self.boundary:
                total = np.ascontiguousarray(total)
                positions = self.positions(ask.axes)
                positions[0] = positions[0][first:last]
                for axis, factor in inside_mass(self.model, self.boundary, positions).items():
                    total *= factor.reshape([-1 if a == axis else 1 for a in range(len(ask.shape))])
            yield first, last, total

    def _block(self, ask, plan, first, last, out):
        """The sums of one pass for positions [first, last) of axis 0, in `out` if its layout suits."""
        grid, d = plan.grid, len(ask.shape)
        shape = (last - first, *ask.shape[1:])
        straight = grid.order == list(range(d))
        natural = [shape[a] for a in grid.order]
        fits = straight and out is not None and out.dtype == np.float64
        block = out if fits else allocate(natural, np.float64)
        per = math.prod(natural[1:-1]) if d > 1 and grid.order[0] == 0 else 0
        loops = K.loops_of(self.model.kernel, self.model.product)
        task = Task(grid, plan.lists, first * per, block.reshape(-1, natural[-1]), ask.device, ask.workers, loops)
        METHODS[grid.method][1](task, plan.model.power)
        if ask.derivative is not None:
            block *= 1.0 / grid.step[ask.derivative]
        return block if straight else np.moveaxis(block, -1, grid.order[-1])

    def positions(self, axes):
        """Grid positions along every axis; a position within rounding of a wall becomes the wall."""
        positions = [origin + step * np.arange(m) for origin, step, m in zip(*axes, strict=True)]
        near = 1e-9 * np.minimum(axes[1], self.model.reach)  # an axis of one position has the step 1 in any unit
        for a, (_, *walls) in self.boundary.items():
            for wall in walls:
                positions[a] = np.where(np.abs(positions[a] - wall) <= near[a], wall, positions[a])
        return positions

    # --- grids that see the edges of supports only

    def _edges_only(self, ask, plans):
        """Whether the density on the slabs is so small that the integers of rows are too coarse, which only summing shows."""
        if self.model.scale is not None or not plans or plans[0].grid.method not in ("rows-b", "rows-c"):
            return False
        axes, length, grid = ask.axes, ask.axes[2], plans[0].grid
        if not _coarse(plans, self._least_peak(axes, plans[0]), length):
            return False
        if ask.derivative is None and not _coarse(plans, self._peak((axes[0], grid.step, length), None), length):
            return False
        highest = max(_height(block, ask.derivative) for _, _, block in self._blocks(ask, plans))
        return _coarse(plans, _unit(ask, plans) * highest, length)

    def _peak(self, axes, derivative):
        """Approximate largest density, or slope per cell, on the grid: from positions next to some of the samples."""
        m, (origin, step, length) = self.passes[0][0], axes
        with np.errstate(over="ignore"):
            near = np.clip(np.rint((m.x - origin) / step), 0, length - 1)
        far = (np.abs(m.x - origin - step * near) / m.reach).max(1)
        index = [np.linspace(0, len(m.x) - 1, 64).astype(np.int64), np.argsort(far)[:64]]
        if m.scale is not None:
            index.append(np.argsort(m.scale)[:64])
        at = origin + step * near[np.concatenate(index)]
        if derivative is None:
            return float(self.points(at).max())
        delta = np.zeros(m.d)
        delta[derivative] = 1e-3 * m.reach[derivative] * (1.0 if m.scale is None else m.scale.min() / m.scale.max())
        slope = np.abs(self.points(at + delta) - self.points(at - delta)).max() / (2 * delta[derivative])
        return float(slope * step[derivative])

    def _least_peak(self, axes, plan):
        """Lower bound on the largest density, or slope per cell, on the grid, from some of the samples that touch it."""
        m, grid, lists = self.model, plan.grid, plan.lists
        u = lists.u
        near = np.flatnonzero((u[-1] > lists.span[0]) & (u[-1] < lists.span[1])) if m.d == 1 else np.arange(u.shape[1])
        near = near[:: len(near) // 1000 + 1]
        if not len(near):
            return 0.0
        x = np.empty((len(near), m.d))
        x[:, grid.order] = u[:, near].T
        few = Estimate(m.subset(grid.origin + grid.step * x, None if m.weights is None else lists.w[near] / grid.q, None))
        few.boundary = {a: r for a, r in self.boundary.items() if r[0] != "periodic"}
        slope = max(1.0, 2 * grid.chord) if grid.mode > 3 else 1.0
        return few._peak((axes[0], grid.step, axes[2]), None) / slope

    # --- points

    def points(self, points, *, method="cells", device="cpu"):
        """Density at (p, d) points, float64."""
        if self.executor is not None and device == "cpu" and len(points):
            alone = copy.copy(self)
            alone.executor, alone.workers, alone._lists = None, 1, {}
            parts = [(alone, points[lo : lo + POINTS], method) for lo in range(0, len(points), POINTS)]
            return np.concatenate(list(mapped(self.executor, _points, parts)))
        if self.terms:
            values = [e.points(points, method=method, device=device) for _, e in self.terms]
            return self._combined(values, linear_factors(self.model, self.linear, points.T))
        for axis, (kind, lo, hi) in self.boundary.items():
            if kind == "periodic":
                points = moved(points, axis, wrap(points[:, axis], lo, hi))
        total = np.zeros(len(points))
        for i, (model, flips) in enumerate(self.passes):
            if len(model.x):
                if i not in self._lists:
                    self._lists[i] = PointList(model, flips, self.workers)
                total += self._lists[i].evaluate(points, method=method, device=device, workers=self.workers)
        if self.boundary:
            for factor in inside_mass(self.model, self.boundary, points.T).values():
                total *= factor
        return total

    def left_out(self, device="cpu"):
        """Leave-one-out densities at the samples."""
        if self.boundary:
            raise ValueError("leave-one-out densities have no boundary correction; fit without boundary=")
        m = self.model
        return left_out(m, self.points(m.x, method="ep" if m.whole else "cells", device=device))


def _points(part):
    """Density at a share of the points; a function of the module, so that it can be pickled."""
    e, points, method = part
    return e.points(points, method=method)


def _height(block, derivative):
    """Largest density, or largest absolute slope."""
    return float(max(block.max(), 0.0 if derivative is None else -block.min())) if block.size else 0.0


def _boxes(plans):
    """Number of cells in the boxes of all samples, to which the cost of direct sums is proportional."""
    return sum([p.lists.kept * np.minimum(2 * p.grid.half, p.grid.length[p.grid.order]).prod() for p in plans])


def _unit(ask, plans):
    """Step along the axis of a derivative, whose errors are per cell; 1 for a density."""
    return 1.0 if ask.derivative is None or not plans else float(plans[0].grid.step[ask.derivative])


def _coarse(plans, peak, length):
    """Whether the integers of rows are too coarse for what a grid sees of the density, such as the edges of supports only.

    Their error is estimated from the kernels' peaks. Direct sums have to be worth their time: cheap, or much better.
    """
    loss = sum([p.grid.typical for p in plans if p.grid.method in ("rows-b", "rows-c") and p.lists.inside])
    return loss > (10 * LOSS if _boxes(plans) < 30 * length.prod() else LOSS_ASKED) * peak


def _aligned(shape):
    """Integer zeros from the start of a cache line on: the vector of a cell must not lie across two, 20 % of the time."""
    size = math.prod(shape)
    zeros = np.zeros(size + 7, np.int64)
    first = -(zeros.ctypes.data // 8) % 8
    return zeros[first : first + size].reshape(shape)


def allocate(shape, dtype):
    """`numpy.empty`, with an error that says how much was wanted and what helps."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        size = math.prod(int(s) for s in shape) * np.dtype(dtype).itemsize
        raise MemoryError(
            f"a grid of shape {tuple(int(s) for s in shape)} takes {size / 2**30:.3g} GiB, which cannot be allocated; use "
            "kde.grid_slabs, or out=numpy.memmap(...)"
        ) from error


def estimate(samples, weights, options, stay=False):
    """Model and boundary from the keywords that all functions share; samples on a GPU may `stay` there for a grid."""
    extra = {k: options.pop(k, None) for k in ("boundary", "adaptive")}
    if options.get("dtype") is not None:
        options["dtype"] = check_dtype(options["dtype"])
    workers = options.get("workers")
    stay = stay and not extra["boundary"] and extra["adaptive"] is None
    return Estimate(make_model(samples, weights, stay=stay, **options), **extra, workers=workers)
