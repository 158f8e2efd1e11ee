"""The grid as in the reference: every sample adds its box, or the crop of the box, with atomic additions."""

from __future__ import annotations

import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.kde.kernels.direct import direct_bounds, on_row
from numbastats.kde.kernels.geometry import TASKS, row_near, row_of, rows_near, sorted_samples
from numbastats.kde.kernels.profiles import FACTOR, VALUE
from numbastats.scalar.bits import atomic_add
from numbastats.scalar.kde import larger

__all__ = ["DIRECT_ATOMIC", "atomic_of", "direct_atomic_cpu"]

_value = _on_row = _box_on_row = _box_value = None


@array_function(host=False)
def box_on_row(u, i, q, lam2, near, r, lines, g):
    """Row, cells [lo, hi) and sample on the r-th row of a box; no cells where the row is outside the `lines` rows."""
    number = row_near(near, r, g)
    row, line = row_of(number, g), number - g.first_row
    l2, w = _on_row(u, i, q, lam2, row, g)
    lo, hi, centre, rest = direct_bounds(u, i, l2, row, g)
    return line, lo, hi if line >= 0 and line < lines else lo, (centre, rest, l2, w)


@array_function(host=False, fastmath=())
def box_value(cell, sample, g):
    """The term that the sample of `box_on_row` adds to a cell."""
    centre, rest, l2, w = sample
    x = np.float64(cell) - centre
    return w * _value(g.kind, larger(g.a * x * x + rest, 0.0) / l2, g.decay)


def direct_atomic_cpu(u, q, lam2, starts, grid, out):
    """Task for samples; `out` holds zeros."""
    for index in prange(TASKS):
        task, g = np.int64(index), grid[0]
        for i in range(task * u.shape[1] // TASKS, (task + 1) * u.shape[1] // TASKS):
            near = rows_near(u, i, g)
            for r in range(near[5]):
                line, lo, hi, sample = _box_on_row(u, i, q, lam2, near, r, out.shape[0], g)
                for cell in range(lo, hi):
                    atomic_add(out[line], cell, _box_value(cell, sample, g))


def direct_atomic_cuda(u, q, lam2, starts, grid, out):
    """Thread per sample; `out` holds zeros."""
    g = grid[0]
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        near = rows_near(u, i, g)
        for r in range(near[5]):
            line, lo, hi, sample = _box_on_row(u, i, q, lam2, near, r, out.shape[0], g)
            for cell in range(lo, hi):
                cuda.atomic.add(out, (line, cell), _box_value(cell, sample, g))


def atomic_of(value, factor, name="kde.direct_atomic", cpu=direct_atomic_cpu):
    """The loop for kernels with these values."""
    return Kernel(
        name,
        cpu,
        direct_atomic_cuda,
        lambda T: [(*sorted_samples(T), T[:, ::1])],
        dtypes=("float64",),
        _box_on_row=bind(box_on_row, _on_row=bind(on_row, _factor=factor)),
        _box_value=bind(box_value, _value=value),
    )


DIRECT_ATOMIC = atomic_of(VALUE, FACTOR)
