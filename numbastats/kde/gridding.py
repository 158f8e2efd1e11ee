"""A model on a grid in index units: geometry, samples sorted for its rows, the quantum of the integers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats.kde.cell_list import cell_list
from numbastats.kde.footprint import Footprint
from numbastats.kde.kernels import geometry as G

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
    geo: np.ndarray
    ints: np.ndarray
    method: str = ""
    mode: int = 1
    q: float = 0.0  # quantum
    log_block: int = 0
    bound: float = 0.0  # absolute error of the density
    typical: float = 0.0  # its part that another method would avoid, where the roundings of the samples do not all agree
    footprint: Footprint | None = None  # method "cells"

    @property
    def integers(self):
        """Whether the method sums integers."""
        return self.method in ("rows-b", "rows-c", "cells")

    @property
    def share(self):
        """Samples that touch a row, as a share of all: a rough figure for the cost."""
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

    @property
    def chord(self):
        """Half of the longest interval of a row, in cells; the half box where the axes are not correlated."""
        return math.sqrt(float(self.geo[G.LAMBDA2] / self.geo[G.A]))

    def state_size(self, power):
        """Numbers that the associative form keeps of a row: third differences for "rows-c", else coefficients."""
        return (self.row_length + G.PAD) * (1 if self.method == "rows-c" else 2 * power + 1)

    def load(self, lists):
        """Samples that one row sees, at most."""
        blocks = lists["u"].shape[1] if self.ints[G.DIM] == 1 else self.row_length / (4 * max(self.half[-1], 0.25)) + 1
        return min(float(lists["u"].shape[1]), lists["count"] * blocks)


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
    step = np.where(length > 1, step, np.sqrt(np.diag(support)))  # one position: any step does
    half = np.sqrt(np.diag(support)) / step * largest
    if not half.max() < 2.0**62:
        raise ValueError(
            f"axis {int(np.argmax(half))}: half a support is {half.max():.3g} grid steps long, which no 64-bit integer counts; "
            "use kde.points, or an axis with a longer step"
        )
    if row_axis is None:
        candidates = range(1, d) if keep_first and d > 1 else range(d)
        row_axis = max(candidates, key=lambda a: (half[a] * (1.5 if a == d - 1 else 1.0), a))
    order = [a for a in range(d) if a != row_axis] + [row_axis]
    m = (np.linalg.inv(support) * np.outer(step, step))[np.ix_(order, order)]
    m = 0.5 * (m + m.T)
    half = half[order]
    geo, ints = np.zeros(G.GEO), np.zeros(G.INTS, np.int64)
    a = m[-1, -1]
    beta, s = m[-1, :-1] / a, m[:-1, :-1] - np.outer(m[:-1, -1], m[-1, :-1]) / a
    full = np.zeros((3, 3))
    full[3 - (d - 1) :, 3 - (d - 1) :] = s
    geo[G.INV_A], geo[G.A], geo[G.LAMBDA2] = 1.0 / a, a, largest**2
    geo[G.BETA + 3 - (d - 1) : G.BETA + 3] = beta
    geo[G.S : G.S + 6] = full[np.triu_indices(3)]
    if d > 2:
        geo[G.SLOPE : G.SLOPE + 2] = -full[:2, 2] / full[2, 2]
        rest = full[:2, :2] - np.outer(full[:2, 2], full[:2, 2]) / full[2, 2]
        geo[G.REST : G.REST + 3] = rest[np.triu_indices(2)]
        inverse = np.linalg.inv(m[np.ix_([d - 1, d - 2], [d - 1, d - 2])])
        cross = np.zeros((2, 2))
        cross[:, 2 - (d - 2) :] = -inverse @ m[np.ix_([d - 1, d - 2], range(d - 2))]
        geo[G.CROP : G.CROP + 2] = np.diag(inverse)
        geo[G.CROP + 2 : G.CROP + 4], geo[G.CROP + 4 : G.CROP + 6] = cross
    geo[G.HALF : G.HALF + 3] = 1e300
    geo[G.HALF + 3 - (d - 1) : G.HALF + 3] = half[:-1] * (1 + 1e-9) + 1e-6
    geo[G.HALF_ROW] = half[-1]
    geo[G.DECAY] = model.decay
    ints[G.DIM] = d
    ints[G.LINES : G.LINES + 3] = 1
    ints[G.LINES + 3 - (d - 1) : G.LINES + 3] = length[order[:-1]]
    ints[G.BINS : G.BINS + 3] = 1
    geo[G.WIDTH : G.WIDTH + 3] = 1.0
    ints[G.LENGTH], ints[G.KIND] = length[row_axis], model.number
    return Grid(origin, step, length, order, half, m, geo, ints)


def collect(model, grid, lam2, weights, workers=None, *, unit=False):
    """Sort the samples by cells of the outer axes; fills the grid's cell entries. With `unit` by cells of one grid position."""
    d, order, lines = model.d, grid.order, grid.length[grid.order]
    reach = grid.half * (1 + 1e-9) + 1e-6
    low, high = -reach, lines - 1.0 + reach
    data_low = (model.low[order] - grid.origin[order]) / grid.step[order]
    data_high = (model.high[order] - grid.origin[order]) / grid.step[order]
    inside = int(len(model.x))
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
    lists = cell_list(model.x, weights, lam2, grid.origin, grid.step, order, low, high, cell0, width, cells, coarse, workers)
    lists["cells"], lists["first"], lists["span"] = cells, np.ceil(cell0), (low[-1], high[-1])
    first = 3 - (d - 1)
    grid.geo[G.ORIGIN + first : G.ORIGIN + 3], grid.geo[G.WIDTH + first : G.WIDTH + 3] = cell0[:-1], 1.0 / width[:-1]
    grid.ints[G.BINS + first : G.BINS + 3] = cells[:-1]
    return lists


def quantise(model, grid, mode, weight, count, weighted):
    """Choose quantum and block so that nothing overflows; set the final factor and the a-priori error bound.

    A sample's error in quanta is divided by its peak in quanta, which is Q/A, or (A B^2)^p for "rows-b".
    """
    half, a = grid.chord, float(grid.geo[G.A])
    p = mode if mode < 4 else mode - 3
    weight, count = weight * (1 + 1e-9) if weight > 0 else 1.0, max(count, 1.0)
    largest = np.max(np.abs([model.low, model.high, grid.origin, grid.origin + grid.step * grid.length]), axis=0)
    coordinate = float((largest / np.sqrt(np.diag(model.support))).max())
    tilt = float(grid.half[-1]) / half  # what correlated axes make of a rounded coordinate
    rounding = 2.0**-53 * (8 + 8 * coordinate) * max(p, 1) * tilt  # of coordinates, t and the coefficients, per sample and peak
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
    peak = model.constant * (float(grid.geo[G.LAMBDA2]) ** p)
    grid.geo[G.SCALE] = factor * model.constant
    grid.geo[G.INV_BLOCK] = 2.0**-grid.log_block
    grid.ints[G.LOG_BLOCK], grid.ints[G.MODE] = grid.log_block, mode
    grid.bound = peak * (count * error + horner + weight * rounding)
    grid.typical = peak * (math.sqrt(count) * error + horner) / (block if mode > 3 else 1.0)
