"""The reference's way to a grid: every sample adds its box, or the crop of it, with atomic additions."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange

from numbastats._core.kernel import Kernel, array_function
from numbastats.kde.kernels.direct import direct_bounds
from numbastats.kde.kernels.geometry import (
    DECAY,
    FIRST_ROW,
    KIND,
    PRODUCT,
    SCALE,
    TASKS,
    A,
    any_factor,
    place_of,
    row_near,
    rows_near,
    sorted_samples,
)
from numbastats.scalar.bits import atomic_add
from numbastats.scalar.kde import kernel_value

__all__ = ["DIRECT_ATOMIC"]


@array_function(host=False, fastmath=())
def box_on_row(u, i, q, lam2, row, geo, ints):
    """Cells [lo, hi) of a row that sample i adds to, the centre and rest of q, squared scale, weight on the row."""
    l2 = lam2[i] if lam2.size > 1 else lam2[0]
    k0, k1, k2 = place_of(row, ints)
    lo, hi, centre, rest = direct_bounds(u, i, l2, k0, k1, k2, geo, ints)
    w = (q[i] if q.size > 1 else q[0]) * geo[SCALE]
    return lo, hi, centre, rest, l2, w * any_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)


@array_function(host=False, fastmath=())
def box_value(cell, centre, rest, l2, w, geo, ints):
    """What the sample of `box_on_row` adds to a cell."""
    x = np.float64(cell) - centre
    return w * kernel_value(ints[KIND] % PRODUCT, max(geo[A] * x * x + rest, 0.0) / l2, geo[DECAY])


def direct_atomic_cpu(u, q, lam2, starts, geo, ints, out):
    for index in prange(TASKS):
        task = np.int64(index)
        for i in range(task * u.shape[1] // TASKS, (task + 1) * u.shape[1] // TASKS):
            near = rows_near(u, i, geo, ints)
            for r in range(near[5]):
                line = row_near(near, r, ints)
                row = line - ints[FIRST_ROW]
                if row >= 0 and row < out.shape[0]:
                    lo, hi, centre, rest, l2, w = box_on_row(u, i, q, lam2, line, geo, ints)
                    for cell in range(lo, hi):
                        atomic_add(out[row], cell, box_value(cell, centre, rest, l2, w, geo, ints))


def direct_atomic_cuda(u, q, lam2, starts, geo, ints, out):
    """Thread per sample; `out` holds zeros."""
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        near = rows_near(u, i, geo, ints)
        for r in range(near[5]):
            line = row_near(near, r, ints)
            row = line - ints[FIRST_ROW]
            if row >= 0 and row < out.shape[0]:
                lo, hi, centre, rest, l2, w = box_on_row(u, i, q, lam2, line, geo, ints)
                for cell in range(lo, hi):
                    cuda.atomic.add(out, (row, cell), box_value(cell, centre, rest, l2, w, geo, ints))


DIRECT_ATOMIC = Kernel(
    "kde.direct_atomic", direct_atomic_cpu, direct_atomic_cuda, lambda T: [(*sorted_samples(T), T[:, ::1])], dtypes=("float64",)
)
