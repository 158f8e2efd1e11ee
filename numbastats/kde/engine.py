"""Runs a density: passes over mirror images and copies, choice of method, launches, slabs, the associative form."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
from numba import cuda

from numbastats._core.dispatch import launch
from numbastats._core.errors import choice, warn
from numbastats._core.parallel import is_executor, worker_count
from numbastats.kde import bandwidth as rules
from numbastats.kde import kernels as K
from numbastats.kde.footprint import make_footprint
from numbastats.kde.kernels import geometry as G
from numbastats.kde.masses import marginal_cdf
from numbastats.kde.points import PointList
from numbastats.kde.problem import collect, make_grid, quantise
from numbastats.kde.slabs import in_slabs

__all__ = ["Estimate", "GRID_METHODS", "POINT_METHODS", "adaptive_scales", "parse_boundary", "reach_of"]

GRID_METHODS = ("auto", "rows", "rows-a", "rows-b", "rows-c", "cells", "skde", "skde-atomic", "skde-crop", "skde-row", "ep")
POINT_METHODS = ("auto", "cells", "ep")
CUDA_DESIGN = "rows"  # or "atomics": scatter with global atomic adds, then finish; for the rows methods on a GPU
DENSE, WIDE = 4.5, 8.0  # samples per position of a plane grid and half boxes in cells from which on "auto" takes "cells"
NEEDLE = 5.0  # half box over half chord up to which "auto" takes "cells", which loses its square in accuracy
LONGEST = 1000  # half box in cells for which method "cells" is offered: its ring is a table
LONG_ROW = 200.0  # half interval in cells up to which blocks of one cell, variant c, are exact enough
SHARES = 8  # into which the samples of a line are split between threads
LOSS = 1e-11  # of the peak, estimated (observed is at most 0.04 of that, from 1e-12 on): integers give way to direct sums
LOSS_ASKED = 1e-9  # the same where a method of integers was asked for by its name
COPIES = 1000  # most copies of the samples along a periodic axis, or between two reflecting walls
BLOCKS = 1024  # row buffers on a GPU


# --- boundaries -------------------------------------------------------------------------------------------------------------


def parse_boundary(boundary, model):
    """Check {axis: (kind, lo, hi)}; open sides become infinite."""
    checked = {}
    if boundary and not hasattr(boundary, "items"):
        raise ValueError(f"boundary={boundary!r}; it must be a dict {{axis: (kind, lo, hi)}}")
    for axis, rule in (boundary or {}).items():
        if not hasattr(axis, "__index__") or not 0 <= axis < model.d:
            raise ValueError(f"boundary axis {axis!r} does not exist; the samples have axes 0 to {model.d - 1}")
        try:
            kind, lo, hi = rule
        except (TypeError, ValueError):
            raise ValueError(f"boundary[{axis}]={rule!r}; it must be (kind, lo, hi)") from None
        choice("boundary kind", kind, ("reflect", "periodic", "renorm"))
        lo, hi = -math.inf if lo is None else float(lo), math.inf if hi is None else float(hi)
        if not lo < hi:
            raise ValueError(f"boundary[{axis}]={rule!r}: lo must be below hi")
        if kind == "periodic":
            if not (math.isfinite(lo) and math.isfinite(hi)):
                raise ValueError(f"boundary[{axis}]={rule!r}: a periodic axis needs two finite ends")
            reach = reach_of(model)[axis]
            if 2 * reach >= hi - lo:
                raise ValueError(
                    f"axis {axis}: the support is {2 * reach:.3g} wide, the period {hi - lo:.3g}; take a smaller bandwidth"
                )
        elif model.low[axis] < lo or model.high[axis] > hi:
            raise ValueError(
                f"axis {axis}: samples lie outside the boundary [{lo}, {hi}] (they span {model.low[axis]} to "
                f"{model.high[axis]}); remove them or move the boundary"
            )
        checked[int(axis)] = (kind, lo, hi)
    renorm = [a for a, r in checked.items() if r[0] == "renorm"]
    if len(renorm) > 1 and not model.product:
        raise ValueError(
            "more than one axis with 'renorm': the mass of a radial kernel inside a corner has no closed form; use 'reflect'"
        )
    if renorm and model.scale is not None and model.scale.min() < model.scale.max():
        raise ValueError(
            "'renorm' and adaptive scales that differ do not go together: every sample would lose another mass; use 'reflect'"
        )
    if renorm and model.d > 1 and model.power is None and not model.product:
        raise ValueError(f"'renorm' with kernel={model.kernel!r} is for d = 1; use 'reflect' or one of {', '.join(rules.POWERS)}")
    return checked


def reach_of(model):
    """Half box of the support in the data's units, the largest adaptive scale included."""
    return np.sqrt(np.diag(model.support)) * (1.0 if model.scale is None else float(model.scale.max()))


def wrap(x, lo, hi):
    """Finite positions outside [lo, hi] moved into it by whole periods."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(x) & ((x < lo) | (x > hi)), lo + np.mod(x - lo, hi - lo), x)


def fold(x, lo, hi):
    """Positions outside [lo, hi], of which one side may be open, reflected at the walls until they are inside."""
    if math.isinf(hi - lo):
        return np.where(x < lo, 2 * lo - x, np.where(x > hi, 2 * hi - x, x))
    back = np.mod(x - lo, 2 * (hi - lo))
    return np.where((x < lo) | (x > hi), lo + np.minimum(back, 2 * (hi - lo) - back), x)


def _copies(parts, axis, period, low, high):
    """Samples shifted along an axis by all multiples of the period that bring them between low and high."""
    x = np.concatenate([v[:, axis] for v, _ in parts])
    shifts = [0.0]
    if math.isfinite(period) and len(x):
        first, last = math.ceil((low - x.max()) / period), math.floor((high - x.min()) / period)
        if last - first >= COPIES:
            raise ValueError(
                f"axis {axis}: the density would be the sum of {last - first + 1} copies of the samples, {COPIES} are allowed; "
                "take a smaller bandwidth, or for a long periodic axis kde.points"
            )
        shifts = [k * period for k in range(first, last + 1)]
    copies = []
    for shift, (v, index) in itertools.product(shifts, parts):
        near = (v[:, axis] + shift > low) & (v[:, axis] + shift < high)
        copy = v[near]
        copy[:, axis] += shift
        copies.append((copy, index[near]))
    return copies or [(v[:0], index[:0]) for v, index in parts]


def passes(model, boundary, span=None):
    """Models whose densities add up, each with the axes of H to flip: periodic copies, then mirror images.

    `span` maps periodic axes to the first and last position that is wanted, by default the ends of the period.
    """
    if not boundary:
        return [(model, ())]
    reach = reach_of(model)
    parts = [(model.x, np.arange(len(model.x)))]
    for axis, (kind, lo, hi) in boundary.items():
        if kind == "periodic":
            first, last = (span or {}).get(axis, (lo, hi))
            low, high = min(lo, first) - reach[axis], max(hi, last) + reach[axis]
            parts = _copies([(_moved(v, axis, wrap(v[:, axis], lo, hi)), i) for v, i in parts], axis, hi - lo, low, high)
    mirrors, result = [a for a, r in boundary.items() if r[0] == "reflect"], []
    for odd in itertools.chain.from_iterable(itertools.combinations(mirrors, size) for size in range(len(mirrors) + 1)):
        images = parts
        for axis in mirrors:
            _, lo, hi = boundary[axis]
            if axis in odd:
                images = [(_moved(v, axis, 2 * (lo if math.isfinite(lo) else hi) - v[:, axis]), i) for v, i in images]
            images = _copies(images, axis, 2 * (hi - lo), lo - reach[axis], hi + reach[axis])
        x, index = np.concatenate([v for v, _ in images]), np.concatenate([i for _, i in images])
        w, s = model.weights, model.scale
        part = model.subset(x, None if w is None else w[index], None if s is None else s[index])
        result.append((dataclasses.replace(part, low=x.min(0), high=x.max(0)) if len(x) else part, odd))
    return result


def by_scale(parts):
    """The same passes, split by half octaves of the adaptive scale.

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


def _moved(x, axis, values):
    """A copy of the samples with other values along an axis."""
    x = x.copy()
    x[:, axis] = values
    return x


def inside_mass(model, boundary, positions):
    """Per bounded axis the factor by which a density at those positions is multiplied: 0 outside, 1/mass for 'renorm'."""
    factors = {}
    for axis, (kind, lo, hi) in boundary.items():
        x = positions[axis]
        if kind == "periodic":
            factors[axis] = np.ones_like(x)
            continue
        inside = (x >= lo) & (x <= hi)
        mass = np.ones_like(x)
        if kind == "renorm":
            b = reach_of(model)[axis]
            with np.errstate(invalid="ignore"):
                mass = marginal_cdf(model, (hi - x) / b) - marginal_cdf(model, (lo - x) / b)
        factors[axis] = np.where(inside | np.isnan(x), 1.0 / np.where(inside, mass, 1.0), 0.0)
    return factors


# --- adaptive scales --------------------------------------------------------------------------------------------------------


def adaptive_scales(model, adaptive, boundary=None, workers=None):
    """Scales lambda per sample: an array, or Abramson's rule from a pilot with the fixed bandwidth."""
    if isinstance(adaptive, str):
        adaptive = (adaptive, 0.5)
    if isinstance(adaptive, tuple) and len(adaptive) == 2 and isinstance(adaptive[0], str):
        choice("adaptive", adaptive[0], ("abramson",))
        alpha = float(adaptive[1])
        if not 0 <= alpha <= 1:
            raise ValueError(f"adaptive={adaptive!r}: the exponent must lie in [0, 1]; Abramson's is 0.5")
        pilot = Estimate(model, boundary=boundary, workers=workers).points(model.x)
        w = np.ones(len(pilot)) if model.weights is None else model.weights
        pilot = np.maximum(pilot, np.finfo(float).tiny)  # a sample of weight 0 may be alone
        centre = math.exp(np.sum(w * np.log(pilot)) / w.sum())
        return np.clip((pilot / centre) ** -alpha, 0.1, 10.0)
    scale = np.array(adaptive, np.float64, order="C")
    if model.keep is not None and scale.shape == model.keep.shape:
        scale = scale[model.keep]
    if scale.shape != (len(model.x),):
        raise ValueError(f"adaptive has shape {scale.shape}; pass ('abramson', alpha) or one scale per sample, ({len(model.x)},)")
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("adaptive scales must be finite and > 0")
    return scale


# --- the estimate ------------------------------------------------------------------------------------------------------------


class Estimate:
    """A model with its boundary, ready for grids and points."""

    def __init__(self, model, *, boundary=None, adaptive=None, workers=None):
        if is_executor(workers):
            raise ValueError(
                "workers is an executor, but a density is one reduction; pass a number of threads, or distribute kde.partial "
                "over the executor and kde.combine the results"
            )
        worker_count(workers)
        self.model, self.workers = model, workers
        if adaptive is not None:
            model.scale = adaptive_scales(model, adaptive, boundary, workers)
        self.boundary = parse_boundary(boundary, model)
        self.passes = passes(model, self.boundary)
        self._lists = {}
        self.method_used, self.error_bound, self.outside = None, None, 0

    # --- grids

    def _method(self, method, derivative):
        choice("method", method, GRID_METHODS)
        m = self.model
        polynomial = m.power is not None
        if m.product:
            allowed = ("auto", "rows", "rows-b", "skde-row", "skde", "skde-atomic", "ep")
            if method not in allowed or derivative is not None:
                raise ValueError(f"form='product' goes with method {', '.join(map(repr, allowed))} and without derivative=")
        if method in ("auto", "rows"):
            if not polynomial:
                if method == "rows":
                    raise ValueError(
                        f"method='rows' needs a polynomial kernel ({', '.join(rules.POWERS)}), not {m.kernel!r}; use 'auto'"
                    )
                method = "skde-row"
        elif method.startswith("rows-") and not polynomial:
            raise ValueError(
                f"method={method!r} needs a polynomial kernel ({', '.join(rules.POWERS)}), not {m.kernel!r}; use 'auto'"
            )
        if method == "rows-c" and (m.power != 1 or m.weights is not None or m.scale is not None):
            raise ValueError(
                "method='rows-c' is for the Epanechnikov kernel without weights or adaptive scales; use 'rows-b' or 'auto'"
            )
        if method == "cells" and (m.d != 2 or m.power != 1 or m.weights is not None or m.scale is not None):
            raise ValueError(
                "method='cells' is for d = 2 and the Epanechnikov kernel without weights or adaptive scales; use 'auto'"
            )
        if method == "rows-a" and m.power != 1:
            raise ValueError("method='rows-a' is for the Epanechnikov kernel; use 'rows-b' or 'auto'")
        if method == "skde-crop" and m.d < 3:
            raise ValueError(f"method='skde-crop' chops slices of d >= 3 (got d = {m.d}); use 'skde'")
        if m.kernel == "gaussian" and m.tail == 0 and method != "ep":
            raise ValueError("the Gaussian with tail=0 has no bounded support; use method='ep', or a tail such as 1e-10")
        if derivative is not None:
            if method not in ("auto", "rows", "rows-b", "skde-row") or m.power in (None, 0):
                raise ValueError(
                    "derivative= needs kernel 'epanechnikov', 'biweight' or 'triweight' and method 'auto', 'rows-b' or "
                    f"'skde-row' (got {m.kernel!r}, {method!r})"
                )
            if not hasattr(derivative, "__index__") or isinstance(derivative, bool) or not 0 <= derivative < m.d:
                raise ValueError(f"derivative={derivative!r} is not an axis; use 0 to {m.d - 1}")
            if self.boundary and any(r[0] == "renorm" for r in self.boundary.values()):
                raise ValueError("derivative= and boundary 'renorm' do not go together; use 'reflect'")
        return method

    def plan(self, model, axes, flips, method, derivative, keep_first=False):
        """Grid, sorted samples and what the kernel takes for q and lambda^2, for one pass."""
        row_axis = derivative
        if keep_first and derivative == 0 and model.d > 1:
            raise ValueError("slabs run along axis 0, and so would the rows of a derivative along axis 0; use kde.grid")
        grid = make_grid(model, axes, row_axis=row_axis, keep_first=keep_first, flips=flips)
        if method == "auto" and grid.chord < 0.5:  # a support smaller than a cell: (1 - q)^p in units of cells loses bits
            method = "skde-row"
        plain = model.power == 1 and model.weights is None and model.scale is None and derivative is None and not model.product
        if method == "auto" and plain and model.d == 2 and WIDE <= grid.half.min() and grid.half.max() <= LONG_ROW:
            if grid.half[-1] < NEEDLE * grid.chord and len(model.x) >= DENSE * math.prod(int(m) for m in axes[2]):
                method = "cells"
        direct = not (method in ("auto", "rows", "cells") or method.startswith("rows-"))
        power = 0 if direct else 2 * model.power
        weights = np.ones(1) if model.weights is None else model.weights
        lam2 = np.ones(1)
        if model.scale is not None:
            lam2 = model.scale**2
            weights = weights * model.scale ** -float(model.d + power)
        if method == "cells" and grid.half.max() > LONGEST:
            raise ValueError(
                f"method='cells' is for half boxes of at most {LONGEST} positions, here {grid.half.max():.0f}; use 'auto'"
            )
        lists = collect(model, grid, lam2, weights, self.workers, unit=method == "cells")
        if method == "cells":
            most = int(np.diff(lists["starts"]).max())
            grid.footprint = make_footprint(grid.matrix, grid.half, lists["cells"], lists["first"], lists["weight"], most)
            quantise(model, grid, "cells", 1, lists["weight"], lists["count"], False)
        elif direct:
            grid.variant = method
            grid.geo[G.SCALE] = model.constant
            grid.ints[G.MODE] = 0 if derivative is None else model.power + 3
            grid.ints[G.BOUNDS] = 1 if model.product else {"skde-row": 0, "skde": 1, "skde-atomic": 1, "skde-crop": 2}[method]
            grid.bound = model.constant * lists["count"] ** 0.5 * 1e-14 * max(1.0, lists["weight"])
        else:
            weighted = weights.size > 1
            variant = method[-1] if method.startswith("rows-") else None
            if variant is None:
                variant = "c" if plain and grid.chord <= LONG_ROW else "b"
            mode = model.power if derivative is None else model.power + 3
            grid.ints[G.BOUNDS] = 1 if model.product else 0  # whose rows are those of the box
            quantise(model, grid, variant, mode, lists["weight"], lists["count"], weighted or model.product)
            if variant != "a":
                lists["w"] = lists["w"] * grid.q
                small = (lists["w"] > 0) & (lists["w"] < 0.5)
                if weighted and small.any():
                    low, high = lists["span"]
                    lists["lost"] = 0.5 / grid.q if np.any(small & (lists["u"][-1] > low) & (lists["u"][-1] < high)) else 0.0
                np.rint(lists["w"], out=lists["w"])
        return grid, lists

    def rows(self, grid, lists, first, out, device):
        """Run the kernels for the rows from `first` on; out (rows, cells)."""
        ints, geo, variant = grid.ints.copy(), grid.geo, grid.variant
        ints[G.FIRST_ROW] = first
        samples = (lists["u"], lists["w"], lists["lam2"])
        lines, length = out.shape
        kept, load = max(lists["kept"], 1), _load(grid, lists)
        cost = length + 3.0 * kept * _share(grid)
        options = dict(device=device, workers=self.workers, cost=cost)

        def by_rows(kernel, most, scratch=None, items=lines, cost=cost):
            """Launch a kernel on slabs of rows; a row takes `most` nanoseconds at most."""

            def slab(a, b):
                own, buffers = ints.copy(), () if scratch is None else (scratch[: b - a] if device == "cpu" else scratch,)
                own[G.FIRST_ROW] += a
                args = (*samples, lists["starts"], geo, own, *buffers, out[a:b])
                launch(kernel, args, items, device=device, workers=self.workers, cost=cost, threads=64)

            in_slabs(slab, lines, most if device == "cpu" else 0, self.workers)

        if variant == "cells":
            if "state" not in lists:  # all of it, also for slabs: there are more samples than positions
                lists["band"], lists["state"] = self.cells(grid.footprint, lists, device)
            ints = grid.footprint.ints(lists["band"], first)
            launch(K.cells.FINISH, (ints, geo[G.SCALE], lists["state"], out), lines, threads=64, **options)
        elif variant == "a":
            by_rows(K.ROWS_A, 3.0 * length + 6.0 * load, np.zeros((min(G.TASKS, lines), (length + G.PAD) * 4)))
        elif variant in ("b", "c"):
            on_gpu, power = device == "cuda", self.model.power
            if (on_gpu and CUDA_DESIGN == "atomics") or (
                not on_gpu and grid.ints[G.DIM] == 1 and kept > max(50_000, 4 * length) and worker_count(self.workers) > 1
            ):
                state = self.accumulate(grid, lists, ints, lines, device)
                launch(K.FINISH["c" if variant == "c" else power], (geo, ints, state, out), lines, threads=64, **options)
                return
            tasks = BLOCKS if on_gpu else G.TASKS if worker_count(self.workers) > 1 else 1
            scratch = _aligned((min(tasks, lines), (length + G.PAD) * K.STRIDE[power]))
            by_rows(K.ROWS[power], (3.0 * length + 4.0 * load) * (power + 1), scratch, items=lines * (64 if on_gpu else 1))
        elif variant == "skde-atomic" or (device == "cuda" and variant in ("skde", "skde-crop")):
            out[...] = 0.0
            target = cuda.to_device(out) if device == "cuda" else out

            def slab(a, b):
                some = [v if b - a == kept or v.size == 1 else np.ascontiguousarray(v[..., a:b]) for v in samples]
                launch(K.DIRECT_ATOMIC, (*some, lists["starts"], geo, ints, target), kept, device=device, workers=self.workers,
                       cost=100.0, outputs=(), threads=64)  # fmt: skip

            boxes = np.minimum(2 * grid.half + 1, grid.length[grid.order])
            in_slabs(slab, lists["u"].shape[1], 10.0 * boxes.prod() if device == "cpu" else 0, self.workers)
            if device == "cuda":
                target.copy_to_host(out)
        else:
            out[...] = 0.0
            most = 30.0 + 3.0 * min(2 * grid.half[-1], length)  # nanoseconds of a sample on a row
            if grid.ints[G.DIM] > 1 or device == "cuda":
                by_rows(K.DIRECT, load * most + length, items=out.size if device == "cuda" else lines, cost=cost * 20)
                return

            def share(a, b):  # one row: the same sums in the same order
                launch(K.DIRECT, (*samples, np.array([a, b]), geo, ints, out), 1, device="cpu", workers=1)

            in_slabs(share, kept, most, 1)

    def cells(self, footprint, lists, device):
        """Rows of cells per band, and the state of the bands: values in the ring, third differences inside it."""
        threads, rows, pad = worker_count(self.workers), int(footprint.cells[0]), int(footprint.pad[0])
        bands = 1 if device == "cuda" or threads == 1 else min(4 * threads, rows // (2 * pad) + 1)
        band = -(-rows // bands)
        state = np.zeros((bands, 2, (band + 2 * pad) * footprint.pitch + 2), np.int64)
        args = (lists["u"], lists["starts"], footprint.ring, footprint.offsets, footprint.inner, footprint.geo)
        if device == "cuda":
            on_device = cuda.to_device(state)
            args += (footprint.ints(band), on_device)
            launch(K.cells.SCATTER, args, lists["kept"] * 64, device=device, outputs=(), threads=64)
            return band, on_device.copy_to_host()
        width = int(footprint.cells[1])
        cost = (20.0 * lists["kept"] + 100.0 * rows * width) / rows
        most = (0.4 * footprint.ring.shape[1] + 20) * np.diff(lists["starts"][::width]).max() + 3.0 * footprint.inner.size * width

        def slab(a, b):  # rows of every band
            launch(K.cells.SCATTER, (*args, footprint.ints(band, 0, (a, b)), state), bands, device=device, workers=self.workers,
                   cost=cost * band)  # fmt: skip

        in_slabs(slab, band, most * bands, self.workers)
        return band, state

    def accumulate(self, grid, lists, ints, lines, device):
        """Scatter the samples into a state of integers, (lines, cells of a row's buffer)."""
        size, kernel = grid.state_size(self.model.power), K.ACCUMULATE["c" if grid.variant == "c" else self.model.power]
        arrays = (lists["u"], lists["w"], lists["lam2"])
        if device == "cuda":
            state = cuda.to_device(np.zeros((lines, size), np.int64))
            if ints[G.FIRST_ROW]:
                raise ValueError("the atomic design has no slabs; use CUDA_DESIGN = 'rows'")
            args = (*arrays, lists["starts"], grid.geo, ints, state)
            launch(kernel, args, lists["u"].shape[1], device=device, outputs=(), threads=64)
            return state.copy_to_host()
        shares = SHARES if grid.ints[G.DIM] == 1 else 1
        ints = ints.copy()
        starts = lists["starts"]
        if grid.ints[G.DIM] == 1:
            ints[G.LINES + 2] = shares
            starts = np.linspace(0, lists["kept"], shares + 1).astype(np.int64)
        state = np.zeros((lines * shares, size), np.int64)
        cost = 3.0 * max(lists["kept"], 1) * _share(grid)

        def slab(a, b):
            own = ints.copy()
            own[G.FIRST_ROW] = a
            args = (*arrays, starts, grid.geo, own, state[a:b])
            launch(kernel, args, lines * shares, device=device, workers=self.workers, cost=cost)

        in_slabs(slab, lines * shares, 4.0 * (self.model.power + 1) * _load(grid, lists) + 1, self.workers)
        return state.sum(0, keepdims=True) if shares > 1 else state

    def grid(self, axes, method, *, derivative=None, device="cpu", out):
        """Fill `out` (float64 or float32, natural order) with the density, or its derivative along an axis."""
        method = self._method(method, derivative)
        for _, _, block in self.slabs(axes, method, derivative=derivative, device=device, out=out):
            if block is not out:
                out[...] = block
        return out

    def _peak(self, axes, derivative):
        """About the largest density on the grid, or slope per cell, at most: from the positions next to some of the samples."""
        m, (origin, step, length) = self.passes[0][0], axes
        with np.errstate(over="ignore"):
            near = np.clip(np.rint((m.x - origin) / step), 0, length - 1)
        far = (np.abs(m.x - origin - step * near) / reach_of(m)).max(1)
        index = [np.linspace(0, len(m.x) - 1, 64).astype(np.int64), np.argsort(far)[:64]]
        if m.scale is not None:
            index.append(np.argsort(m.scale)[:64])
        at = origin + step * near[np.concatenate(index)]
        if derivative is None:
            return float(self.points(at).max())
        delta = np.zeros(m.d)
        delta[derivative] = 1e-3 * reach_of(m)[derivative] * (1.0 if m.scale is None else m.scale.min() / m.scale.max())
        slope = np.abs(self.points(at + delta) - self.points(at - delta)).max() / (2 * delta[derivative])
        return float(slope * step[derivative])

    def _least_peak(self, axes, grid, lists):
        """Part of the largest density on the grid, from some of the samples that touch it; for derivatives, slope per cell."""
        m, u = self.model, lists["u"]
        near = np.flatnonzero((u[-1] > lists["span"][0]) & (u[-1] < lists["span"][1])) if m.d == 1 else np.arange(u.shape[1])
        near = near[:: len(near) // 1000 + 1]
        if not len(near):
            return 0.0
        x = np.empty((len(near), m.d))
        x[:, grid.order] = u[:, near].T
        few = Estimate(m.subset(grid.origin + grid.step * x, None if m.weights is None else lists["w"][near] / grid.q, None))
        few.boundary = {a: r for a, r in self.boundary.items() if r[0] != "periodic"}
        slope = max(1.0, 2 * grid.chord) if grid.mode > 3 else 1.0
        return few._peak((axes[0], grid.step, axes[2]), None) / slope

    def slabs(self, axes, method, *, rows=None, derivative=None, device="cpu", out=None, settled=False):
        """Yield (first, last, block) along axis 0; the same bits whatever the number of rows.

        `settled` says that the integers of rows are exact enough, which is otherwise found out here.
        """
        method = self._method(method, derivative)
        length = axes[2]
        shape = tuple(int(v) for v in length)
        if method == "ep":
            yield from self._exhaustive(axes, shape, rows, device)
            return
        span = {a: (axes[0][a], axes[0][a] + axes[1][a] * (shape[a] - 1)) for a, r in self.boundary.items() if r[0] == "periodic"}
        beyond = any(first < self.boundary[a][1] or last > self.boundary[a][2] for a, (first, last) in span.items())
        parts = [(m, f) for m, f in (passes(self.model, self.boundary, span) if beyond else self.passes) if len(m.x)]

        def planned(method):
            return [self.plan(m, axes, flips, method, derivative, keep_first=rows is not None) for m, flips in parts]

        plans = planned(method)
        if any(p[0].variant in ("a", "b", "c", "cells") and (self.model.scale is not None or p[0].chord < 0.5) for p in plans):
            peak = self._peak((axes[0], plans[0][0].step, axes[2]), derivative)
            if self.model.scale is not None and sum(p[0].typical for p in plans) > 0.1 * LOSS * peak:
                parts = by_scale(parts)
                plans = planned(method)
            loss = sum(p[0].typical for p in plans)
            if loss > LOSS * peak and method == "auto":
                plans = planned("skde-row")
            elif loss > LOSS_ASKED * peak > 0:
                raise ValueError(
                    f"method={method!r} rounds to integers, which here may cost {loss / peak:.1e} of its "
                    "peak; use 'auto' or 'skde-row'"
                )
        elif self.model.scale is not None and method in ("auto", "skde-row"):
            if _boxes(plans) > 10 * length.prod():  # worth several passes over the grid
                parts = by_scale(parts)
                plans = planned(method)
        unit = 1.0 if derivative is None or not plans else float(plans[0][0].step[derivative])  # losses are per cell
        doubtful = rows is not None and method == "auto" and not settled and self.model.scale is None and len(plans)
        if doubtful and plans[0][0].variant in ("b", "c") and self._coarse(plans, self._least_peak(axes, *plans[0]), length):
            blocks = self.slabs(axes, method, rows=rows, derivative=derivative, device=device, settled=True)
            near = (axes[0], plans[0][0].step, axes[2])
            coarse = derivative is not None or self._coarse(plans, self._peak(near, None), length)
            if coarse and self._coarse(plans, unit * max(_height(block, derivative) for _, _, block in blocks), length):
                yield from self.slabs(axes, "skde-row", rows=rows, derivative=derivative, device=device)
                return
        lost = max((p[1]["lost"] for p in plans if "lost" in p[1]), default=0.0)
        if lost:
            warn(
                f"some weights are below the quantum {lost:.2g} and vanish; they span too many orders of magnitude",
                RuntimeWarning,
            )
        outside = sum(
            p[1].get("outside", len(m.x) - p[1]["kept"]) for (m, flips), p in zip(parts, plans, strict=True) if not flips
        )
        self.outside = outside
        variant = max(plans, key=lambda p: p[1]["kept"])[0].variant
        self.method_used = variant if variant not in ("a", "b", "c") else f"rows-{variant}"
        bound = sum(p[0].bound for p in plans)
        d, peak = len(shape), 0.0
        step = shape[0] if rows is None or d == 1 else rows
        for first in range(0, shape[0], step):
            last = min(first + step, shape[0])
            block_shape = (last - first, *shape[1:])
            total = None
            for grid, lists in plans:
                straight = grid.order == list(range(d))
                target = (
                    out if rows is None and straight and total is None and out is not None and out.dtype == np.float64 else None
                )
                natural = [block_shape[a] for a in grid.order]
                block = target if target is not None else allocate(natural, np.float64)
                per = math.prod(natural[1:-1]) if d > 1 and grid.order[0] == 0 else 0
                self.rows(grid, lists, first * per, block.reshape(-1, natural[-1]), device)
                if derivative is not None:
                    block *= 1.0 / grid.step[derivative]
                block = block if straight else np.moveaxis(block, -1, grid.order[-1])
                total = block if total is None else total.__iadd__(block)
            if self.boundary:
                total = np.ascontiguousarray(total)
                positions = self._positions(axes)
                positions[0] = positions[0][first:last]
                for axis, factor in inside_mass(self.model, self.boundary, positions).items():
                    total *= factor.reshape([-1 if a == axis else 1 for a in range(d)])
            peak = max(peak, _height(total, derivative))
            if rows is None and method == "auto" and self._coarse(plans, unit * peak, length):
                yield from self.slabs(axes, "skde-row", derivative=derivative, device=device, out=out)
                return
            self.error_bound = bound / peak if peak > 0 and derivative is None else None
            if rows is not None and d == 1:
                for a in range(0, shape[0], rows):
                    yield a, min(a + rows, shape[0]), total[a : a + rows]
            else:
                yield first, last, total

    def _coarse(self, plans, peak, length):
        """Whether the integers of rows are too coarse for what a grid sees of the density, such as the edges of supports only.

        Their error is estimated from the kernels' peaks. Direct sums have to be worth their time: cheap, or much better.
        """
        loss = sum(p[0].typical for p in plans if p[0].variant in ("b", "c") and p[1]["kept"] > p[1].get("outside", 0))
        return loss > (10 * LOSS if _boxes(plans) < 30 * length.prod() else LOSS_ASKED) * peak

    def _positions(self, axes):
        """Grid positions along every axis; one that is a wall but for rounding is the wall."""
        positions = [origin + step * np.arange(m) for origin, step, m in zip(*axes, strict=True)]
        near = 1e-9 * np.minimum(axes[1], reach_of(self.model))  # an axis of one position has the step 1 in any unit
        for a, (_, *walls) in self.boundary.items():
            for wall in walls:
                positions[a] = np.where(np.abs(positions[a] - wall) <= near[a], wall, positions[a])
        return positions

    def _exhaustive(self, axes, shape, rows, device):
        """Brute force over all samples, a slab at a time."""
        self.method_used, self.error_bound = "ep", None
        positions = self._positions(axes)
        step = shape[0] if rows is None else rows
        for first in range(0, shape[0], step):
            last = min(first + step, shape[0])
            block = np.empty((last - first, *shape[1:]))
            for i in range(first, last):
                mesh = np.meshgrid(positions[0][i : i + 1], *positions[1:], indexing="ij")
                points = np.stack([m.reshape(-1) for m in mesh], -1)
                block[i - first] = self.points(points, method="ep", device=device).reshape(shape[1:])
            yield first, last, block

    # --- points

    def points(self, points, *, method="cells", device="cpu"):
        """Density at (p, d) points, float64."""
        for axis, (kind, lo, hi) in self.boundary.items():
            if kind == "periodic":
                points = _moved(points, axis, wrap(points[:, axis], lo, hi))
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

    def far_logs(self, points, without=None):
        """Logarithms of a Gaussian estimate's density at (p, d) points, where the density itself may underflow.

        `without` numbers for every point a sample that is left out of the sum.
        """
        from scipy.spatial.distance import cdist
        from scipy.special import logsumexp

        m = self.model
        whiten = np.linalg.inv(np.linalg.cholesky(m.H)).T
        samples, where = (m.x - m.centre) @ whiten, (points - m.centre) @ whiten
        scale = np.ones(len(m.x)) if m.scale is None else m.scale
        with np.errstate(divide="ignore"):
            heights = np.log((1.0 if m.weights is None else m.weights) * scale ** -float(m.d))
        logs, block = np.empty(len(where)), max(1, 4_000_000 // len(samples))
        for i in range(0, len(where), block):
            q = cdist(where[i : i + block], samples, "sqeuclidean") / scale**2
            if without is not None:
                q[np.arange(len(q)), without[i : i + block]] = np.inf
            logs[i : i + block] = logsumexp(heights - 0.5 * q, axis=1)
        return logs + math.log(m.constant)


def _height(block, derivative):
    """Largest density, or slope up or down."""
    return float(max(block.max(), 0.0 if derivative is None else -block.min())) if block.size else 0.0


def _boxes(plans):
    """Cells in the boxes of all samples: what direct sums would cost."""
    return sum(lists["kept"] * np.minimum(2 * grid.half, grid.length[grid.order]).prod() for grid, lists in plans)


def _load(grid, lists):
    """Samples that one row sees, at most."""
    blocks = lists["u"].shape[1] if grid.ints[G.DIM] == 1 else grid.row_length / (4 * max(grid.half[-1], 0.25)) + 1
    return min(float(lists["u"].shape[1]), lists["count"] * blocks)


def _share(grid):
    """Samples that touch a row, as a share of all: a rough figure for the cost."""
    outer = grid.half[:-1]
    lengths = grid.length[grid.order[:-1]]
    return float(np.prod(np.minimum(1.0, 2 * outer / np.maximum(lengths, 1)))) if len(outer) else 1.0


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
