"""A model on a grid in index units: geometry, samples sorted for its rows, the quantum of the integers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats.kde.cell_list import cell_list
from numbastats.kde.footprint import Footprint
from numbastats.kde.kernels import geometry as G
from numbastats.kde.kernels.sorting import AXIS
from numbastats.kde.kernels.variants import STRIDE
from numbastats.kde.resident import sorted_there

__all__ = ["Grid", "collect", "make_grid", "quantise"]


@dataclasses.dataclass(eq=False)
class Grid:
    """A model on a grid in index units: order of the axes, arrays for the kernels, quantisation."""

    origin: np.ndarray
    step: np.ndarray
    length: np.ndarray
    order: list  # axes, the row axis last
    half: np.ndarray  # half boxes in cells, ordered, adaptive scales included
    matrix: np.ndarray  # of the support in cells, ordered
    geometry: np.ndarray  # the record that kernels take, `kernels.geometry.GEOMETRY`
    chord: float  # half of the longest interval of a row, in cells; the half box where the axes are not correlated
    method: str = ""
    mode: int = 1
    q: float = 0.0  # quantum
    log_block: int = 0
    bound: float = 0.0  # absolute error of the density
    typical: float = 0.0  # typical error that another method would avoid, for independent roundings of the samples
    footprint: Footprint | None = None  # method "cells"

    @property
    def integers(self):
        """Whether the method sums integers."""
        return self.method in ("rows-b", "rows-c", "cells")

    @property
    def share(self):
        """Approximate share of the samples that touch a row, for estimates of the cost."""
        outer = self.half[:-1]
        lengths = self.length[self.order[:-1]]
        return float(np.prod(np.minimum(1.0, 2 * outer / np.maximum(lengths, 1)))) if len(outer) else 1.0

    @property
    def lines(self):
        """Number of rows."""
        return int(np.prod(self.length[self.order[:-1]])) if len(self.order) > 1 else 1

    @property
    def row_length(self):
        """Cells in a row."""
        return int(self.length[self.order[-1]])

    def state_size(self, power):
        """Number of integers per row of a state: third differences for "rows-c", else coefficients."""
        return (self.row_length + G.PAD) * STRIDE["c" if self.method == "rows-c" else power]

    def loads(self, lists):
        """Bound on the number of samples that touch each row: those of the cells that its box meets. A line has one row."""
        outer, g = self.order[:-1], self.geometry[0]
        loads = np.diff(lists.starts).reshape(lists.cells[:-1]) if outer else np.full(1, lists.kept)
        for j, axis in enumerate(outer):
            k = j + 3 - len(outer)
            rows, cells, inverse = np.arange(self.length[axis]) - g[f"origin{k}"], g[f"bins{k}"], g[f"inv_width{k}"]
            first = np.clip(np.floor((rows - g[f"half{k}"]) * inverse), 0, cells - 1).astype(np.int64)
            end = np.clip(np.floor((rows + g[f"half{k}"]) * inverse), 0, cells - 1).astype(np.int64) + 1
            sums = np.cumsum(loads, axis=j)
            sums = np.concatenate([np.zeros_like(sums.take([0], j)), sums], j)
            loads = sums.take(end, j) - sums.take(first, j)
        return loads.reshape(-1)


def make_grid(model, axes, *, row_axis=None, keep_first=False, flips=()):
    """Geometry of a model on a grid.

    Parameters
    ----------
    model : Model
    axes : tuple of arrays
        Origin, step and length.
    row_axis : int, optional
        The row axis is otherwise the longest box, with some preference for the last axis.
    keep_first : bool
        Axis 0 must not be the row axis (slabs).
    flips : sequence of int
        Axes whose off-diagonal entries of H change sign (mirror images).
    """
    origin, step, length = axes
    d = model.d
    support = model.support.copy()
    for axis in flips:
        support[axis, :] *= -1
        support[:, axis] *= -1
    largest = 1.0 if model.scale is None else float(model.scale.max())
    step = np.where(length > 1, step, np.sqrt(np.diag(support)))  # an axis of one position may have any step
    half = np.sqrt(np.diag(support)) / step * largest
    if not half.max() < 2.0**62:
        raise ValueError(
            f"axis {int(np.argmax(half))}: half a support is {half.max():.3g} grid steps long, which no 64-bit integer counts; "
            "use kde.points, or an axis with a longer step"
        )
    if row_axis is None:
        candidates = range(1, d) if keep_first and d > 1 else range(d)
        row_axis = max([(half[a] * (1.5 if a == d - 1 else 1.0), a) for a in candidates])[1]
    order = [a for a in range(d) if a != row_axis] + [row_axis]
    m = (np.linalg.inv(support) * np.outer(step, step))[np.ix_(order, order)]
    m = 0.5 * (m + m.T)
    half = half[order]
    a = m[-1, -1]
    s, outer = np.zeros((3, 3)), slice(3 - (d - 1), 3)  # the outer axes are padded to three
    beta, reach, lines = np.zeros(3), np.full(3, 1e300), np.ones(3, np.int64)
    beta[outer], reach[outer], lines[outer] = m[-1, :-1] / a, half[:-1] * (1 + 1e-9) + 1e-6, length[order[:-1]]
    s[outer, outer] = m[:-1, :-1] - np.outer(m[:-1, -1], m[-1, :-1]) / a
    record = dict(lambda2=largest**2, a=a, inv_a=1.0 / a, half_row=half[-1], decay=model.decay)
    record |= dict(dim=d, length=length[row_axis], kind=model.number, separable=model.product)
    record |= dict(zip(("s00", "s01", "s02", "s11", "s12", "s22"), s[np.triu_indices(3)], strict=True))
    for k in range(3):
        record |= {f"b{k}": beta[k], f"half{k}": reach[k], f"lines{k}": lines[k], f"bins{k}": 1, f"inv_width{k}": 1.0}
    if d > 2:
        rest = s[:2, :2] - np.outer(s[:2, 2], s[:2, 2]) / s[2, 2]
        inverse = np.linalg.inv(m[np.ix_([d - 1, d - 2], [d - 1, d - 2])])
        cross = np.zeros((2, 2))
        cross[:, 2 - (d - 2) :] = -inverse @ m[np.ix_([d - 1, d - 2], range(d - 2))]
        record |= dict(c0=-s[0, 2] / s[2, 2], c1=-s[1, 2] / s[2, 2], r00=rest[0, 0], r01=rest[0, 1], r11=rest[1, 1])
        record |= dict(crop_x=inverse[0, 0], crop_y=inverse[1, 1])
        record |= dict(x0=cross[0, 0], x1=cross[0, 1], y0=cross[1, 0], y1=cross[1, 1])
    geometry = np.zeros(1, G.GEOMETRY)
    for name, value in record.items():
        geometry[name] = value
    return Grid(origin, step, length, order, half, m, geometry, math.sqrt(largest**2 / a))


def collect(model, grid, lam2, weights, workers=None, *, unit=False):
    """Sort the samples by cells of the outer axes; fills the grid's cell entries. With `unit` by cells of one grid position."""
    d, order, lines = model.d, grid.order, grid.length[grid.order]
    reach = grid.half * (1 + 1e-9) + 1e-6
    low, high = -reach, lines - 1.0 + reach
    data_low = (model.low[order] - grid.origin[order]) / grid.step[order]
    data_high = (model.high[order] - grid.origin[order]) / grid.step[order]
    inside = model.n
    coarse = np.maximum(2 * grid.half * (1 + 1e-6) + 1e-6, (high - low) / (2.0 ** (20 // d)))
    cell0, width, cells = np.zeros(d), np.ones(d), np.ones(d, np.int64)
    for j in range(d if unit else d - 1):
        a, b = max(low[j], data_low[j]), min(high[j], data_high[j])
        a, b = (a, b) if b > a else (a, a)
        if unit:
            cell0[j] = math.floor(a + 0.5) - 0.5
            cells[j] = math.floor(b + 0.5 - cell0[j]) + 1
            continue
        if j == d - 2:
            outer = int(np.prod(cells[:j])) if j else 1
            most = max(64, min(1 << 20, 4 * inside // outer))
            count = min(most, int(b - a) + 1)
        else:
            wanted = inside**0.5 / 3.5 if d == 3 else inside ** (1 / 3) / 2
            count = int(max(1, min(max(wanted, 4), lines[j], b - a + 1)))
        cell0[j], cells[j] = a, count
        width[j] = max((b - a) / count * (1 + 1e-12), 1e-300) if b > a else 1.0
    axes = np.zeros(d, AXIS)
    axes["axis"], axes["origin"], axes["step"], axes["low"], axes["high"] = order, grid.origin[order], grid.step[order], low, high
    axes["first"], axes["inverse"], axes["cells"] = cell0, 1.0 / width, cells
    axes["coarse_inverse"], axes["coarse_cells"] = 1.0 / coarse, np.floor((high - low) / coarse).astype(np.int64) + 1
    there = model.place is not None
    lists = sorted_there(model.place, model.samples, axes) if there else cell_list(model.x, weights, lam2, axes, workers)
    lists.cells, lists.first, lists.span = cells, np.ceil(cell0), (low[-1], high[-1])
    for j in range(d - 1):
        k, values = j + 4 - d, (cell0[j], 1.0 / width[j], cells[j])
        grid.geometry[f"origin{k}"], grid.geometry[f"inv_width{k}"], grid.geometry[f"bins{k}"] = values
    return lists


def quantise(model, grid, mode, weight, count, weighted):
    """Choose quantum and block so that nothing overflows; set the final factor and the a-priori error bound.

    A sample's error in quanta is divided by its peak in quanta, which is Q/A, or (A B^2)^p for "rows-b".
    """
    half, a = grid.chord, float(grid.geometry["a"][0])
    p = mode if mode < 4 else mode - 3
    weight, count = weight * (1 + 1e-9) if weight > 0 else 1.0, max(count, 1.0)
    largest = np.max(np.abs([model.low, model.high, grid.origin, grid.origin + grid.step * grid.length]), axis=0)
    coordinate = float((largest / np.sqrt(np.diag(model.support))).max())
    tilt = float(grid.half[-1]) / half  # factor by which correlated axes enlarge the rounding of a coordinate
    # of coordinates, t and coefficients of a sample, over the sample's peak
    rounding = 2.0**-53 * (8 + 8 * coordinate) * max(p, 1) * tilt
    if grid.method == "rows-c":
        grid.q = 2.0 ** min(1000, math.floor(61 - math.log2(weight * (half + 2) ** 2)))
        error = (0.5 + half) / (grid.q * half**2)
        factor, horner = a / grid.q, 0.0
    elif grid.method == "cells":
        grid.q = grid.footprint.q
        error = grid.footprint.error / (grid.q * half**2)
        factor, horner = a / grid.q, 0.0
    else:
        grid.log_block = max(0, round(math.log2(half))) if half > 1 else 0
        block = 2.0**grid.log_block
        rho = half / block
        c = np.polynomial.Polynomial([rho**2 + (rho + 0.5) ** 2, 2 * (rho + 0.5), 1]) ** p
        if mode > 3:
            c = c.deriv()
        top = float(max(c.coef.max(), 1.0))
        grid.q = 2.0 ** min(1000, math.floor(62 - math.log2(weight * top)))
        unit = rho ** (2 * p)
        error = 0.5 * sum((rho + 0.5) ** k for k in range(2 * p + 1)) / (grid.q * unit)
        error += 0.5 / grid.q if weighted else 0.0
        horner = (2 * p + 2) * 2.0**-53 * weight * top / unit
        factor = (a * block * block) ** p / grid.q
        if mode > 3:
            factor /= block
    grid.mode = mode
    peak = model.constant * float(grid.geometry["lambda2"][0]) ** p
    grid.geometry["scale"], grid.geometry["inv_block"] = factor * model.constant, 2.0**-grid.log_block
    grid.geometry["log_block"], grid.geometry["mode"] = grid.log_block, mode
    grid.bound = peak * (count * error + horner + weight * rounding)
    grid.typical = peak * (math.sqrt(count) * error + horner) / (block if mode > 3 else 1.0)
