"""Densities at listed points: cells of samples with stored moments, and brute force."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange, types

from numbastats._core.kernel import Kernel, array_function
from numbastats.kde.kernels.geometry import PRODUCT
from numbastats.scalar import kde as forms
from numbastats.scalar.kde import ceiling, floor, kernel_value

__all__ = ["EXHAUSTIVE", "POINTS"]

# --- listed points, in coordinates in which the support is the unit ball -----------------------------------------------
# `y` (d, n) samples sorted by cell, `starts` their cells over the last up to three axes (padded to three), `moments` per cell:
# weight, 3 first and 1 second moment about the cell's centre. `grid`: origin (3), width. lam2 as above.

LANES = 64


@array_function
def scan(y, q, inv_l2, first, last, p, kind, decay, buffer, acc):
    """Add w K(q) of the samples [first, last) to the lanes of acc."""
    dim = y.shape[0]
    while first < last:
        m = min(LANES, last - first)
        b = buffer[:m]
        if kind >= PRODUCT:
            b[:] = 1.0
            for a in range(dim):
                for j in range(m):
                    z = (p[a] - y[a, first + j]) * (p[a] - y[a, first + j])
                    z *= inv_l2[first + j] if inv_l2.size > 1 else inv_l2[0]
                    b[j] *= kernel_value(kind - PRODUCT, z, decay)
        elif dim == 2:
            y0, y1 = y[0][first : first + m], y[1][first : first + m]
            p0, p1 = p[0], p[1]
            for j in range(m):
                b[j] = (p0 - y0[j]) * (p0 - y0[j]) + (p1 - y1[j]) * (p1 - y1[j])
        else:
            b[:] = 0.0
            for a in range(dim):
                ya = y[a][first : first + m]
                pa = p[a]
                for j in range(m):
                    b[j] += (pa - ya[j]) * (pa - ya[j])
        if inv_l2.size > 1 and kind < PRODUCT:
            scale = inv_l2[first : first + m]
            for j in range(m):
                b[j] *= scale[j]
        if kind >= PRODUCT:
            pass
        elif kind == 1:
            for j in range(m):
                b[j] = 1.0 - b[j] if b[j] < 1.0 else 0.0
        elif kind == 2:
            for j in range(m):
                b[j] = kernel_value(2, b[j], decay)
        elif kind == 3:
            for j in range(m):
                b[j] = kernel_value(3, b[j], decay)
        elif kind == 0:
            for j in range(m):
                b[j] = kernel_value(0, b[j], decay)
        elif kind == forms.TRIANGULAR:
            for j in range(m):
                b[j] = kernel_value(forms.TRIANGULAR, b[j], decay)
        elif kind == forms.COSINE:
            for j in range(m):
                b[j] = kernel_value(forms.COSINE, b[j], decay)
        else:
            for j in range(m):
                b[j] = kernel_value(forms.GAUSSIAN, b[j], decay)
        if q.size > 1:
            w = q[first : first + m]
            for j in range(m):
                acc[j] += w[j] * b[j]
        else:
            w0 = q[0]
            for j in range(m):
                acc[j] += w0 * b[j]
        first += m


@array_function
def cell_density(p, y, q, inv_l2, starts, moments, grid, cells, kind, decay, use_moments, buffer, acc):
    """Sum of w K over the samples near p."""
    dim = y.shape[0]
    axes = min(dim, 3)
    width = grid[3]
    inv_width = 1.0 / width
    corner = 0.5 * width * math.sqrt(np.float64(axes))
    total = 0.0
    acc[:] = 0.0
    x0 = p[dim - 3] if dim > 2 else 0.0
    x1 = p[dim - 2] if dim > 1 else 0.0
    x2 = p[dim - 1]
    a0 = max(np.int64(0), np.int64(floor((x0 - 1.0 - grid[0]) * inv_width))) if dim > 2 else np.int64(0)
    e0 = min(cells[0] - 1, np.int64(floor((x0 + 1.0 - grid[0]) * inv_width))) if dim > 2 else np.int64(0)
    a1 = max(np.int64(0), np.int64(floor((x1 - 1.0 - grid[1]) * inv_width))) if dim > 1 else np.int64(0)
    e1 = min(cells[1] - 1, np.int64(floor((x1 + 1.0 - grid[1]) * inv_width))) if dim > 1 else np.int64(0)
    for c0 in range(a0, e0 + 1):
        lo = grid[0] + c0 * width - x0
        n0 = (0.0 if lo <= 0.0 and lo + width >= 0.0 else min(abs(lo), abs(lo + width))) if dim > 2 else 0.0
        m0 = lo + 0.5 * width if dim > 2 else 0.0
        for c1 in range(a1, e1 + 1):
            lo = grid[1] + c1 * width - x1
            n1 = (0.0 if lo <= 0.0 and lo + width >= 0.0 else min(abs(lo), abs(lo + width))) if dim > 1 else 0.0
            m1 = lo + 0.5 * width if dim > 1 else 0.0
            t = 1.0 - n0 * n0 - n1 * n1 if kind < PRODUCT else 1.0
            if t < -1e-12:
                continue
            r = math.sqrt(max(t, 0.0)) + 1e-12
            first = max(np.int64(0), np.int64(floor((x2 - r - grid[2]) * inv_width)))
            last = min(cells[2] - 1, np.int64(floor((x2 + r - grid[2]) * inv_width)))
            if last < first:
                continue
            row = (c0 * cells[1] + c1) * cells[2]
            inner, outer = last + 1, last + 1  # cells [inner, outer) lie wholly inside
            if use_moments and corner < 1.0:
                t = (1.0 - corner) * (1.0 - corner) - m0 * m0 - m1 * m1
                if t > 0.0:
                    r = math.sqrt(t) * (1.0 - 1e-14)
                    i = max(first, np.int64(ceiling((x2 - r - grid[2]) * inv_width - 0.5)))
                    o = min(last, np.int64(floor((x2 + r - grid[2]) * inv_width - 0.5))) + 1
                    if o > i:
                        inner, outer = i, o
                    for c in range(i, o):
                        mom = moments[row + c]
                        d2 = x2 - (grid[2] + (np.float64(c) + 0.5) * width)
                        if kind == 0:
                            total += mom[0]
                        else:
                            s = m0 * m0 + m1 * m1 + d2 * d2
                            total += mom[0] * (1.0 - s) + 2.0 * (d2 * mom[3] - m1 * mom[2] - m0 * mom[1]) - mom[4]
            scan(y, q, inv_l2, starts[row + first], starts[row + inner], p, kind, decay, buffer, acc)
            if outer <= last:
                scan(y, q, inv_l2, starts[row + outer], starts[row + last + 1], p, kind, decay, buffer, acc)
    width_ = acc.size // 2
    while width_ > 0:
        for j in range(width_):
            acc[j] += acc[j + width_]
        width_ //= 2
    return total + acc[0]


@array_function
def any_nan(p):
    """Whether a point has a NaN."""
    bad = False
    for a in range(p.size):
        bad = bad or p[a] != p[a]
    return bad


def cells_cpu(points, y, q, inv_l2, starts, moments, grid, cells, options, scale, decay, out):
    block = min(64, (out.size + 63) // 64)
    tasks = (out.size + block - 1) // block
    for index in prange(tasks):
        task = np.int64(index)
        buffer, acc = np.empty(LANES), np.empty(LANES)
        for i in range(task * block, min(out.size, (task + 1) * block)):
            if any_nan(points[i]):
                out[i] = np.nan
            else:
                out[i] = scale * cell_density(
                    points[i], y, q, inv_l2, starts, moments, grid, cells, options[0], decay, options[1], buffer, acc
                )


def cells_cuda(points, y, q, inv_l2, starts, moments, grid, cells, options, scale, decay, out):
    """Thread per point; the lanes of all threads are too many for cuda.shared memory."""
    buffer = cuda.local.array(LANES, np.float64)
    acc = cuda.local.array(LANES, np.float64)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        if any_nan(points[i]):
            out[i] = np.nan
        else:
            out[i] = scale * cell_density(
                points[i], y, q, inv_l2, starts, moments, grid, cells, options[0], decay, options[1], buffer, acc
            )


def exhaustive_cpu(points, y, q, inv_l2, options, scale, decay, out):
    block = min(64, (out.size + 63) // 64)
    tasks = (out.size + block - 1) // block
    for index in prange(tasks):
        task = np.int64(index)
        buffer, acc = np.empty(LANES), np.empty(LANES)
        for i in range(task * block, min(out.size, (task + 1) * block)):
            acc[:] = 0.0
            scan(y, q, inv_l2, 0, y.shape[1], points[i], options[0], decay, buffer, acc)
            total = 0.0
            for j in range(LANES):
                total += acc[j]
            out[i] = np.nan if any_nan(points[i]) else scale * total


def exhaustive_cuda(points, y, q, inv_l2, options, scale, decay, out):
    """Thread per point; the lanes of all threads are too many for cuda.shared memory."""
    buffer = cuda.local.array(LANES, np.float64)
    acc = cuda.local.array(LANES, np.float64)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        for j in range(LANES):
            acc[j] = 0.0
        scan(y, q, inv_l2, 0, y.shape[1], points[i], options[0], decay, buffer, acc)
        total = 0.0
        for j in range(LANES):
            total += acc[j]
        out[i] = np.nan if any_nan(points[i]) else scale * total


_I = types.int64[::1]
_DOUBLE = ("float64",)
POINTS = Kernel(
    "kde.points",
    cells_cpu,
    cells_cuda,
    lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], _I, T[:, ::1], T[::1], _I, _I, T, T, T[::1])],
    dtypes=_DOUBLE,
)
EXHAUSTIVE = Kernel(
    "kde.exhaustive",
    exhaustive_cpu,
    exhaustive_cuda,
    lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], _I, T, T, T[::1])],
    dtypes=_DOUBLE,
)
