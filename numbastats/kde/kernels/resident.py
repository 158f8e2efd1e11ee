"""Samples that stay on a GPU: their moments in the order of `sorting.moments_loop`, their cells, and what plans ask of these.

The order of the cells is that of `_core.ordering`. The CPU twins stand for the kernels in tests alone: samples on the host have
the loops of `sorting`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import from_dtype, prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.items import items_cpu, items_cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.kde.kernels.sorting import AXIS, BLOCK, CHUNKS, coarse_cell, kept_in
from numbastats.scalar.kde import larger, product, smaller

__all__ = ["COUNT", "FACTS", "GATHER", "LANES", "LARGEST", "MIDDLE", "PARTS", "REDUCED"]

PARTS = 1024  # items that look for the largest of a table
_function = array_function(fastmath=(), host=False)


# --- moments: `record` has sums, least and largest values and products of each chunk, and the middle values behind the last ----


@_function
def _middle(x, record, item):
    """The values in the middle of a column of about a thousand samples, found by their ranks; NaN if one of them is."""
    n, d = x.shape
    step, last = larger(np.int64(1), n // 1000), record.shape[0] - 1
    count, i, axis = (n + step - 1) // step, item // d, item % d
    v, rank = x[i * step, axis], np.int64(0)
    known = v == v
    for j in range(count):
        u = x[j * step, axis]
        known = known and u == u
        if u < v or (u == v and j < i):
            rank += 1
    if rank == (count - 1) // 2 or not known:
        record[last, 0, axis] = v if known else math.nan
    if rank == count // 2 or not known:
        record[last, 1, axis] = v if known else math.nan


@_function
def _shift(record, axis):
    """What is subtracted from a column: the median, if it is finite."""
    last = record.shape[0] - 1
    middle = 0.5 * record[last, 0, axis] + 0.5 * record[last, 1, axis]
    return middle if middle - middle == 0.0 else 0.0


@_function
def _pair(p):
    """The columns i >= j of the p-th pair."""
    i = np.int64(0)
    while (i + 1) * (i + 2) // 2 <= p:
        i += 1
    return i, p - i * (i + 1) // 2


@_function
def _lane(given, lanes, item):
    """Sums of one lane of a chunk for one pair of columns."""
    x, record = given
    n, size = x.shape[0], lanes.shape[2]
    lane = item % size
    (i, j), c = _pair(item // size), lane // BLOCK
    si, sj, total, crossed, lo, hi = _shift(record, i), _shift(record, j), 0.0, 0.0, math.inf, -math.inf
    for k in range(c * n // CHUNKS + lane % BLOCK, (c + 1) * n // CHUNKS, BLOCK):
        v = x[k, i]
        total += v - si
        crossed += product(v - si, x[k, j] - sj)
        lo, hi = smaller(v, lo), larger(v, hi)
    at = lanes[item // size]
    at[0, lane], at[1, lane], at[2, lane], at[3, lane] = total, lo, hi, crossed


@_function
def _reduced(lanes, record, item):
    """The lanes of a chunk added up in their order."""
    pairs = lanes.shape[0]
    at, c = lanes[item % pairs], item // pairs
    i, j = _pair(item % pairs)
    total, crossed, lo, hi = 0.0, 0.0, math.inf, -math.inf
    for k in range(c * BLOCK, (c + 1) * BLOCK):
        total += at[0, k]
        crossed += at[3, k]
        lo, hi = smaller(lo, at[1, k]), larger(hi, at[2, k])
    record[c, 3 + i, j] = crossed
    if i == j:
        record[c, 0, i], record[c, 1, i], record[c, 2, i] = total, lo, hi


# --- cells ---------------------------------------------------------------------------------------------------------------


@_function
def _cells(x, i, axes):
    """Cell and coarse cell of a sample, as `sorting.count_loop` finds them; cell -1 outside."""
    cell, block, inside = np.int64(0), np.int64(0), True
    for j in range(axes.size):
        r = axes[j]
        u = (x[i, r.axis] - r.origin) / r.step
        inside = inside and u > r.low and u < r.high
        u = smaller(larger(u, r.low), r.high)
        if r.coarse_cells > 1:
            block = block * r.coarse_cells + coarse_cell(u, r.low, r.coarse_inverse, r.coarse_cells)
        if r.cells > 1:
            cell = cell * r.cells + kept_in(np.int64((u - r.first) * r.inverse), r.cells)
    return cell if inside else np.int64(-1), block


def count_cpu(x, axes, key, coarse):
    for _ in prange(1):  # the counts are one table
        for i in range(x.shape[0]):
            key[i], block = _cells(x, i, axes)
            if key[i] >= 0:
                coarse[block] += 1


def count_cuda(x, axes, key, coarse):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        cell, block = _cells(x, i, axes)
        key[i] = cell
        if cell >= 0:
            cuda.atomic.add(coarse, block, 1)


@_function
def _together(coarse, sizes, first):
    """Samples in a coarse cell and its next neighbours along all axes that have some; 0 at an upper end."""
    d, total, inside = sizes.size, np.int64(0), True
    for corner in range(1 << d):
        at, rest, stride, known = first, first, np.int64(1), True
        for j in range(d):
            a = d - 1 - j
            size = sizes[a]
            inside = inside and (size == 1 or rest % size < size - 1)
            if corner >> a & 1:
                known = known and size > 1
                at += stride
            rest //= size
            stride *= size
        if inside and known:
            total += coarse[at]
    return total


@_function
def _largest(given, parts, item):
    """Bound on the samples that one grid point can see, and the most in one cell, over a part of the cells."""
    coarse, sizes, starts = given
    seen, crowd = np.int64(0), np.int64(0)
    for cell in range(item, coarse.size, PARTS):
        seen = larger(seen, _together(coarse, sizes, cell))
    for cell in range(item, starts.size - 1, PARTS):
        crowd = larger(crowd, starts[cell + 1] - starts[cell])
    parts[item, 0], parts[item, 1] = seen, crowd


@_function
def _facts(given, facts, item):
    """The largest of all parts, and the number of samples inside."""
    parts, starts = given
    best = starts[starts.size - 1]
    if item < 2:
        best = np.int64(0)
        for part in range(PARTS):
            best = larger(best, parts[part, item])
    facts[item] = best


@_function
def _gathered(given, u, item):
    """Index coordinates of a sample in the order of the cells: column, origin and step of every axis are lines of `units`."""
    x, units, order = given
    for j in range(u.shape[0]):
        u[j, item] = (x[order[item], np.int64(units[0, j])] - units[1, j]) / units[2, j]


_f2, _f3, _axes = types.float64[:, ::1], types.float64[:, :, ::1], types.Array(from_dtype(AXIS), 1, "C")
_i1, _i2 = types.int64[::1], types.int64[:, ::1]


def _kernel(name, body, given, out):
    given = types.Tuple(given) if isinstance(given, tuple) else given
    options = dict(dtypes=("float64",), on_host=False, _body=body)
    return Kernel(f"kde.{name}", items_cpu, items_cuda, lambda T: [(types.int64, given, out)], **options)


MIDDLE = _kernel("middle_of_samples", _middle, _f2, _f3)
LANES = _kernel("moments_in_lanes", _lane, (_f2, _f3), _f3)
REDUCED = _kernel("moments_of_lanes", _reduced, _f3, _f3)
LARGEST = _kernel("largest_cells", _largest, (_i1, _i1, _i1), _i2)
FACTS = _kernel("facts_of_cells", _facts, (_i2, _i1), _i1)
GATHER = _kernel("samples_by_cells", _gathered, (_f2, _f2, _i1), _f2)
COUNT = Kernel(
    "kde.cells_of_samples", count_cpu, count_cuda, lambda T: [(_f2, _axes, _i1, _i1)], dtypes=("float64",), on_host=False
)
