"""Twins for many samples per cell of a plane grid: moments where the support holds whole cells, single samples in its ring.

A position that all samples of a cell reach takes the cell's moments, which along a row is one parabola: its third difference,
in integers. A position in the ring takes every sample, with neither a root nor an interval: max(0, 1 - q) is linear in what a
sample brings. All numbers are integers, so no order of samples, threads or devices matters.
"""

from __future__ import annotations

import numpy as np
from numba import from_dtype, prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, device_function
from numbastats.scalar.kde import cell_sample, cell_value, fused, third_difference

__all__ = ["CELLS_FINISH", "CELLS_SCATTER", "PLANE"]

BLOCK = 256  # samples per pass
GROUP = 4  # samples that share the loads of the ring

PLANE = np.dtype(
    [(name, "f8") for name in ("beta", "schur", "q", "largest")]
    + [(name, "i8") for name in "rows columns first_y first_x pad_y pad_x pitch band row part end".split()],
    align=True,
)
"""What the kernels know of `footprint.Footprint`: slope of the centre, Schur complement, quantum's inverse, largest c in the
ring; cells and grid position of the first per axis, padding, pitch of the padded array; rows of cells per band, first row of the
output, and the rows of every band [part, end) that a call adds."""

VALUES, DIFFERENCES = 0, 1  # places in the state of a band


@array_function(host=False)
def _samples(y, x, y0, x0, g, gy, gx, s):
    """Fill arrays with the integers of a cell's samples, padded to whole groups by samples that add 0; their number and sums."""
    beta, schur, q = g.beta, g.schur, g.q
    m = y.size
    for i in range(m):
        gy[i], gx[i], s[i] = cell_sample(y[i] - y0, x[i] - x0, beta, schur, q)
    total_y, total_x, total = 0.0, 0.0, 0.0
    for i in range(m):
        total_y += gy[i]
        total_x += gx[i]
        total += s[i]
    full = (m + GROUP - 1) // GROUP * GROUP
    for i in range(m, full):
        gy[i], gx[i], s[i] = 0.0, 0.0, g.largest
    return full, total_y, total_x, total


@array_function(host=False)
def _ring(ring, gy, gx, s, full, acc):
    """Add max(c + 2 d'g, s), which is too large by s, to every position of the ring."""
    c, ty, tx = ring[0], ring[1], ring[2]
    for i in range(0, full, GROUP):
        y0, y1, y2, y3 = gy[i], gy[i + 1], gy[i + 2], gy[i + 3]
        x0, x1, x2, x3 = gx[i], gx[i + 1], gx[i + 2], gx[i + 3]
        s0, s1, s2, s3 = s[i], s[i + 1], s[i + 2], s[i + 3]
        for p in range(acc.size):
            v0 = fused(ty[p], y0, fused(tx[p], x0, c[p]))
            v1 = fused(ty[p], y1, fused(tx[p], x1, c[p]))
            v2 = fused(ty[p], y2, fused(tx[p], x2, c[p]))
            v3 = fused(ty[p], y3, fused(tx[p], x3, c[p]))
            v0, v1 = v0 if v0 > s0 else s0, v1 if v1 > s1 else s1
            v2, v3 = v2 if v2 > s2 else s2, v3 if v3 > s3 else s3
            acc[p] += (v0 + v1) + (v2 + v3)


@device_function
def parabola(n, gy, gx, s, constant, slope, q, dx, dy):
    """Value at distance (dy, dx) of a cell's parabola and its slope: value + slope j - n q j^2 at j columns further."""
    return n * (constant - (slope + q * dx) * dx) + 2 * (dy * gy + dx * gx) - s, 2 * gx - n * (slope + 2 * q * dx)


@array_function(host=False)
def _differences(moments, inner, q, further, sign, f, g, h):
    """Third differences where a row of the footprint starts, or `further` columns behind, for all cells of a row."""
    constant, slope, dx, dy = inner[1], inner[2], inner[5], inner[6]
    n, gy, gx, s = moments[0], moments[1], moments[2], moments[3]
    for k in range(n.size):
        value, rise = parabola(n[k], gy[k], gx[k], s[k], constant, slope, q, dx, dy)
        a, b, c = third_difference(value, rise, n[k] * q, further)
        f[k], g[k], h[k] = sign * a, sign * b, sign * c


@array_function(host=False)
def _add_line(f, g, h, line):
    """Add the third differences of all cells of a row; f, g, h have two zeros at both ends."""
    f, g = f[2:], g[1:]
    for k in range(line.size):
        line[k] += f[k] + g[k] + h[k]


def scatter_cpu(u, starts, ring, offsets, inner, plane, state):
    bands = state.shape[0]
    for index in prange(bands):
        band, p = np.int64(index), plane[0]
        width, pitch = p.columns, p.pitch
        acc, moments = np.empty(ring.shape[1]), np.empty((4, width), np.int64)
        gy, gx, s = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        f, g, h = np.zeros(width + 4, np.int64), np.zeros(width + 4, np.int64), np.zeros(width + 4, np.int64)
        values, differences, q = state[band, VALUES], state[band, DIFFERENCES], np.int64(p.q)
        for j in range(band * p.band + p.part, min(p.rows, band * p.band + p.end)):
            corner = (j - band * p.band) * pitch
            y0 = np.float64(p.first_y + j)
            for k in range(width):
                a, b = starts[j * width + k], starts[j * width + k + 1]
                x0 = np.float64(p.first_x + k)
                total_y, total_x, total, extra = 0.0, 0.0, 0.0, 0.0
                if b > a:
                    acc[:] = 0.0
                    for first in range(a, b, BLOCK):
                        last = min(first + BLOCK, b)
                        full, t0, t1, t2 = _samples(u[0, first:last], u[1, first:last], y0, x0, p, gy, gx, s)
                        _ring(ring, gy, gx, s, full, acc)
                        total_y += t0
                        total_x += t1
                        total += t2
                        extra += np.float64(full - (last - first)) * p.largest
                    block = values[corner + k :]
                    extra += total
                    for i in range(offsets.size):
                        block[offsets[i]] += np.int64(acc[i] - extra)
                moments[0, k], moments[1, k] = b - a, np.int64(total_y)
                moments[2, k], moments[3, k] = np.int64(total_x), np.int64(total)
            if starts[(j + 1) * width] > starts[j * width]:
                inside = slice(2, width + 2)
                for t in range(inner.shape[0]):
                    row = corner + inner[t, 0] * pitch
                    for end in range(2):
                        first = row + inner[t, 3 + end]
                        further, sign = end * (inner[t, 4] - inner[t, 3]), np.int64(1 - 2 * end)
                        _differences(moments, inner[t], q, further, sign, f[inside], g[inside], h[inside])
                        _add_line(f, g, h, differences[first : first + width + 2])


def scatter_cuda(u, starts, ring, offsets, inner, plane, state):
    """A thread per cell and position of the ring, then per cell and row of the footprint; for one band."""
    p = plane[0]
    width, pitch, cells = p.columns, p.pitch, p.rows * p.columns
    points, q = offsets.size, np.int64(p.q)
    values, differences = state[0, VALUES], state[0, DIFFERENCES]
    for item in range(cuda.grid(1), cells * points, cuda.gridsize(1)):
        cell, at = item // points, item % points
        j, k = cell // width, cell % width
        y0, x0 = float(p.first_y + j), float(p.first_x + k)
        total = 0.0
        for i in range(starts[cell], starts[cell + 1]):
            total += cell_value(u[0, i] - y0, u[1, i] - x0, p.beta, p.schur, p.q, ring[0, at], ring[1, at], ring[2, at])
        if total > 0.0:
            cuda.atomic.add(values, j * pitch + k + offsets[at], np.int64(total))
    for item in range(cuda.grid(1), cells * inner.shape[0], cuda.gridsize(1)):
        cell, t = item // inner.shape[0], item % inner.shape[0]
        a, b = starts[cell], starts[cell + 1]
        if b > a:
            j, k = cell // width, cell % width
            y0, x0 = float(p.first_y + j), float(p.first_x + k)
            total_y, total_x, total = 0.0, 0.0, 0.0
            for i in range(a, b):
                gy, gx, s = cell_sample(u[0, i] - y0, u[1, i] - x0, p.beta, p.schur, p.q)
                total_y += gy
                total_x += gx
                total += s
            n, first = np.int64(b - a), j * pitch + k + inner[t, 0] * pitch
            value, rise = parabola(
                n, np.int64(total_y), np.int64(total_x), np.int64(total), inner[t, 1], inner[t, 2], q, inner[t, 5], inner[t, 6]
            )
            f, g, h = third_difference(value, rise, n * q, np.int64(0))
            cuda.atomic.add(differences, first + inner[t, 3], f)
            cuda.atomic.add(differences, first + inner[t, 3] + 1, g)
            cuda.atomic.add(differences, first + inner[t, 3] + 2, h)
            f, g, h = third_difference(value, rise, n * q, inner[t, 4] - inner[t, 3])
            cuda.atomic.add(differences, first + inner[t, 4], -f)
            cuda.atomic.add(differences, first + inner[t, 4] + 1, -g)
            cuda.atomic.add(differences, first + inner[t, 4] + 2, -h)


@array_function(host=False)
def write_row(values, differences, before, scale, out):
    """A row of the density; `before`: column of the padded array at the grid's first."""
    s1, s2, s3 = np.int64(0), np.int64(0), np.int64(0)
    for k in range(min(before, values.size)):
        s1 += differences[k]
        s2 += s1
        s3 += s2
    first, last = max(np.int64(0), -before), max(np.int64(0), min(np.int64(out.size), values.size - before))
    out[:first] = 0.0
    out[last:] = 0.0
    for k in range(first, last):
        s1 += differences[k + before]
        s2 += s1
        s3 += s2
        v = s3 + values[k + before]
        out[k] = scale * (v if v > 0 else 0)


def finish_cpu(plane, scale, state, out):
    tasks = min(64, out.shape[0])
    for index in prange(tasks):
        task, p = np.int64(index), plane[0]
        pitch = p.pitch
        deep = state.shape[2] // pitch
        lines = np.empty((2, pitch), np.int64)
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            line = row + p.row - p.first_y + p.pad_y
            lines[:] = 0
            for band in range(state.shape[0]):
                inside = line - band * p.band
                if inside >= 0 and inside < deep:
                    for part in range(2):
                        add = state[band, part, inside * pitch : (inside + 1) * pitch]
                        total = lines[part]
                        for k in range(pitch):
                            total[k] += add[k]
            write_row(lines[VALUES], lines[DIFFERENCES], p.pad_x - p.first_x, scale, out[row])


def finish_cuda(plane, scale, state, out):
    """A thread per row; for one band."""
    p = plane[0]
    pitch, before = p.pitch, p.pad_x - p.first_x
    for row in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        line = row + p.row - p.first_y + p.pad_y
        if line >= 0 and line < state.shape[2] // pitch:
            begin, end = line * pitch, (line + 1) * pitch
            write_row(state[0, VALUES, begin:end], state[0, DIFFERENCES, begin:end], before, scale, out[row])
        else:
            for k in range(out.shape[1]):
                out[row, k] = 0.0


_I = types.int64[::1]
_STATE, _PLANE = types.int64[:, :, ::1], types.Array(from_dtype(PLANE), 1, "C")
_DOUBLE = ("float64",)
CELLS_SCATTER = Kernel(
    "kde.cells_scatter",
    scatter_cpu,
    scatter_cuda,
    lambda T: [(T[:, ::1], _I, T[:, ::1], _I, types.int64[:, ::1], _PLANE, _STATE)],
    dtypes=_DOUBLE,
)
CELLS_FINISH = Kernel("kde.cells_finish", finish_cpu, finish_cuda, lambda T: [(_PLANE, T, _STATE, T[:, ::1])], dtypes=_DOUBLE)
