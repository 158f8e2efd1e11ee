"""The support of a kernel seen from a cell of a plane grid: positions that all samples of the cell reach, and those that some do.

Cells are centred on grid positions, so one footprint serves them all.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats.kde.kernels.cells import PLANE

__all__ = ["Footprint", "make_footprint"]

MARGIN = 1e-9  # in q: positions so near to the edge of the support around a corner of the cell count as reached


@dataclasses.dataclass(eq=False)
class Footprint:
    """Arguments of the kernels in `kernels.cells`, for a quantum Q and in units of 1/(A Q).

    ``(1 - q)/A`` at distance d from a cell's centre, of a sample e away from it, is ``c(d) + 2 d'g(e) - s(e)``; c, g and s are
    rounded to integers, after which everything is exact.
    """

    cells: np.ndarray  # number of cells per axis
    first: np.ndarray  # grid position of the first cell
    pad: np.ndarray  # rows and columns around the cells
    pitch: int  # columns of the padded array
    ring: np.ndarray  # (3, points): c, 2 dy, 2 dx; a multiple of 8 columns
    offsets: np.ndarray  # of the ring in the flat padded array
    inner: np.ndarray  # (rows, 7): row, constant and slope of c, first column, end, dx of the first, dy
    beta: float  # slope of the centre
    schur: float  # Schur complement
    q: float  # Q
    largest: float  # largest c in the ring
    error: float  # bound on the error of one sample at one position

    def record(self, band, row=0, part=None):
        """The kernels' record: `band` rows of cells per band, of which rows `part` are added; `row`, the first output row."""
        numbers = (self.beta, self.schur, self.q, self.largest, *self.cells, *self.first, *self.pad, self.pitch, band, row)
        return np.array([(*numbers, *(part or (0, band)))], PLANE)


def layout(matrix, half):
    """Distances along both axes, and masks of the positions that all samples, and that some samples of a cell reach."""
    reach = np.ceil(half + 0.5).astype(np.int64) + 1
    y, x = (np.arange(-r, r + 1.0) for r in reach)
    dy, dx = np.meshgrid(y, x, indexing="ij")
    (a, b), (_, c) = matrix

    def least(fixed, free, r_fixed, r_free):  # on an edge of the cell
        z = np.clip(-b * fixed / r_free, free - 0.5, free + 0.5)
        return (r_fixed * fixed + 2 * b * z) * fixed + r_free * z * z

    far = np.max([a * v * v + 2 * b * v * h + c * h * h for v in (dy - 0.5, dy + 0.5) for h in (dx - 0.5, dx + 0.5)], axis=0)
    near = np.min([least(dy + s, dx, a, c) for s in (-0.5, 0.5)] + [least(dx + s, dy, c, a) for s in (-0.5, 0.5)], axis=0)
    near[(dy == 0) & (dx == 0)] = 0.0
    inner = far <= 1 - MARGIN
    return y, x, inner, (near < 1 + MARGIN) & ~inner


def make_footprint(matrix, half, cells, first, weight, most):
    """Footprint for samples sorted by cells.

    Parameters
    ----------
    matrix : (2, 2)
        q in index coordinates, the row axis last.
    half : (2,)
        Half boxes.
    cells, first : (2,)
        Number of cells per axis, grid position of the first.
    weight : float
        Bound on the number of samples that one position sees.
    most : int
        Largest number of samples in a cell.
    """
    y, x, inner, ring = layout(matrix, half)
    a = matrix[1, 1]
    s, beta = matrix[0, 0] / a, matrix[0, 1] / a
    reach = np.array([y[-1], x[-1]])
    step = np.array([s + abs(beta), abs(beta) + 1]) / 2  # largest |g|
    at_y, at_x = np.nonzero(ring)
    depth = float(np.max(np.abs((1 - MARGIN) / a - s * y[at_y] ** 2 - 2 * beta * y[at_y] * x[at_x] - x[at_x] ** 2), initial=1.0))
    depth += 2 * float(reach @ step) + 1.0
    exact = math.log2(max(weight, 1.0) * (half[1] + 2) ** 2), math.log2((most + 4) * depth) + 9.0
    q = 2.0 ** math.floor(61 - max(exact))
    constant = np.rint(q * (1 / a - s * y * y)).astype(np.int64)
    slope = np.rint(q * 2 * beta * y).astype(np.int64)
    quantum, column = np.int64(q), x.astype(np.int64)
    c = constant[at_y] - (slope[at_y] + quantum * column[at_x]) * column[at_x]
    size = len(c)
    points = np.zeros((3, -(-size // 8) * 8))
    points[:, :size] = c, 2 * y[at_y], 2 * x[at_x]
    rows = np.flatnonzero(inner.any(1))
    begin, end = inner.argmax(1)[rows], inner.shape[1] - inner[:, ::-1].argmax(1)[rows]
    table = np.stack([rows, constant[rows], slope[rows], begin, end, column[begin], y[rows].astype(np.int64)], -1)
    largest = float(np.max(c, initial=0))
    pitch = int(cells[1] + 2 * reach[1] + 2)
    return Footprint(
        cells,
        first,
        reach.astype(np.int64),
        pitch,
        points,
        at_y * pitch + at_x,
        np.ascontiguousarray(table, np.int64),
        beta,
        s,
        q,
        largest,
        float(1 + 1.5 * reach[1] + reach[0]),
    )
