"""Densities at listed points: cells of samples with stored moments, and brute force.

In coordinates in which the support is the unit ball: `y` (d, n) samples sorted by cell, `starts` their cells over the last up
to three axes (padded to three), `moments` per cell: weight, 3 first and 1 second moment about the cell's centre.
"""

from __future__ import annotations

import math

import numpy as np
from numba import from_dtype, prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind, device_function
from numbastats.kde.kernels.profiles import VALUE
from numbastats.kde.records import OTHERS
from numbastats.scalar.kde import any_power, ceiling, floor, larger, power_value, smaller

__all__ = ["BALL", "BALL_TYPE", "EXHAUSTIVE", "POINTS", "cells_cpu", "exhaustive_cpu", "other_values_of", "points_of"]

LANES = 64
BALL = np.dtype(
    [(name, "f8") for name in ("origin0", "origin1", "origin2", "width", "constant", "decay")]
    + [(name, "i8") for name in ("cells0", "cells1", "cells2", "kind", "separable", "use_moments")],
    align=True,
)
"""What a kernel knows of the cells (origin of the list, edge and number of its cells) and of the statistical kernel."""

BALL_TYPE = types.Array(from_dtype(BALL), 1, "C")


@array_function(host=False)
def squares(y, first, p, b):
    """Squared distances of samples from a point."""
    m = b.size
    if y.shape[0] == 2:
        y0, y1 = y[0][first : first + m], y[1][first : first + m]
        p0, p1 = p[0], p[1]
        for j in range(m):
            b[j] = (p0 - y0[j]) * (p0 - y0[j]) + (p1 - y1[j]) * (p1 - y1[j])
    else:
        b[:] = 0.0
        for a in range(y.shape[0]):
            ya = y[a][first : first + m]
            pa = p[a]
            for j in range(m):
                b[j] += (pa - ya[j]) * (pa - ya[j])


@array_function(host=False)
def power_values(y, inv_l2, first, p, g, b):
    """Power kernels of samples at a point."""
    squares(y, first, p, b)
    m, kind = b.size, g.kind
    if inv_l2.size > 1:
        scale = inv_l2[first : first + m]
        for j in range(m):
            b[j] *= scale[j]
    if kind == 1:
        for j in range(m):
            b[j] = 1.0 - b[j] if b[j] < 1.0 else 0.0
    elif kind == 2:
        for j in range(m):
            b[j] = power_value(kind, b[j], 0.0)
    elif kind == 3:
        for j in range(m):
            b[j] = power_value(kind, b[j], 0.0)
    elif kind == 0:
        for j in range(m):
            b[j] = power_value(kind, b[j], 0.0)
    else:
        for j in range(m):
            b[j] = any_power(kind, b[j], 0.0)


@array_function(host=False)
def _no_values(b, kind, decay):
    """For a kernel that no record has."""
    b[:] = np.nan


@array_function(host=False)
def _values_one_of(b, kind, decay):
    """Values of one kernel in place of q, for a number that is not its own those of the others: a loop each, as vectors."""
    if kind == _number:
        for j in range(b.size):
            q = b[j]
            b[j] = _profile(q, decay) if q < 1.0 else 0.0
    else:
        _others(b, kind, decay)


_number = _profile = _others = _radial = _value = None


@array_function(host=False)
def other_values(y, inv_l2, first, p, g, b):
    """Other kernels, and products of kernels along the axes."""
    m, kind, decay = b.size, g.kind, g.decay
    if g.separable:
        b[:] = 1.0
        for a in range(y.shape[0]):
            for j in range(m):
                z = (p[a] - y[a, first + j]) * (p[a] - y[a, first + j])
                z *= inv_l2[first + j] if inv_l2.size > 1 else inv_l2[0]
                b[j] *= _value(kind, z, decay)
        return
    squares(y, first, p, b)
    if inv_l2.size > 1:
        scale = inv_l2[first : first + m]
        for j in range(m):
            b[j] *= scale[j]
    _radial(b, kind, decay)


@device_function
def gap(lo, width):
    """Distance of [lo, lo + width] from 0."""
    return 0.0 if lo <= 0.0 and lo + width >= 0.0 else smaller(abs(lo), abs(lo + width))


@device_function
def whole(x):
    """The largest integer not above x."""
    return np.int64(floor(x))


@array_function(host=False)
def any_nan(p):
    """Whether a point has a NaN."""
    bad = False
    for a in range(p.size):
        bad = bad or p[a] != p[a]
    return bad


def scan_of(values):
    """A function that adds w K(q) of samples to lanes, K by `values`."""

    def scan(y, q, inv_l2, first, last, p, g, buffer, acc):
        while first < last:
            m = smaller(LANES, last - first)
            b = buffer[:m]
            values(y, inv_l2, first, p, g, b)
            if q.size > 1:
                w = q[first : first + m]
                for j in range(m):
                    acc[j] += w[j] * b[j]
            else:
                w0 = q[0]
                for j in range(m):
                    acc[j] += w0 * b[j]
            first += m

    scan.__name__ = scan.__qualname__ = f"scan_{values.__name__}"  # the disk cache knows functions by their names
    return array_function(scan, host=False)


def cells_density_of(scan):
    """A function for the density at a point, from the cells near it."""

    def cells_density(p, y, q, inv_l2, starts, moments, g, buffer, acc):
        dim, width, inv_width = y.shape[0], g.width, 1.0 / g.width
        corner = 0.5 * width * math.sqrt(np.float64(smaller(dim, 3)))
        total = 0.0
        acc[:] = 0.0
        x0 = p[dim - 3] if dim > 2 else 0.0
        x1 = p[dim - 2] if dim > 1 else 0.0
        x2 = p[dim - 1]
        zero = np.int64(0)
        a0, e0 = larger(zero, whole((x0 - 1.0 - g.origin0) * inv_width)), whole((x0 + 1.0 - g.origin0) * inv_width)
        a1, e1 = larger(zero, whole((x1 - 1.0 - g.origin1) * inv_width)), whole((x1 + 1.0 - g.origin1) * inv_width)
        for c0 in range(a0, smaller(g.cells0 - 1, e0) + 1):
            lo = g.origin0 + c0 * width - x0
            n0, m0 = gap(lo, width), lo + 0.5 * width if dim > 2 else 0.0
            for c1 in range(a1, smaller(g.cells1 - 1, e1) + 1):
                lo = g.origin1 + c1 * width - x1
                n1, m1 = gap(lo, width), lo + 0.5 * width if dim > 1 else 0.0
                t = 1.0 if g.separable else 1.0 - n0 * n0 - n1 * n1
                if t < -1e-12:
                    continue
                r = math.sqrt(larger(t, 0.0)) + 1e-12
                first = larger(zero, whole((x2 - r - g.origin2) * inv_width))
                last = smaller(g.cells2 - 1, whole((x2 + r - g.origin2) * inv_width))
                if last < first:
                    continue
                row = (c0 * g.cells1 + c1) * g.cells2
                inner, outer = last + 1, last + 1  # cells [inner, outer) lie wholly inside
                t = (1.0 - corner) * (1.0 - corner) - m0 * m0 - m1 * m1
                if g.use_moments and corner < 1.0 and t > 0.0:
                    r = math.sqrt(t) * (1.0 - 1e-14)
                    i = larger(first, np.int64(ceiling((x2 - r - g.origin2) * inv_width - 0.5)))
                    o = smaller(last, whole((x2 + r - g.origin2) * inv_width - 0.5)) + 1
                    if o > i:
                        inner, outer = i, o
                    for c in range(i, o):
                        mom = moments[row + c]
                        d2 = x2 - (g.origin2 + (np.float64(c) + 0.5) * width)
                        if g.kind == 0:
                            total += mom[0]
                        else:
                            s = m0 * m0 + m1 * m1 + d2 * d2
                            total += mom[0] * (1.0 - s) + 2.0 * (d2 * mom[3] - m1 * mom[2] - m0 * mom[1]) - mom[4]
                scan(y, q, inv_l2, starts[row + first], starts[row + inner], p, g, buffer, acc)
                if outer <= last:
                    scan(y, q, inv_l2, starts[row + outer], starts[row + last + 1], p, g, buffer, acc)
        half = acc.size // 2
        while half > 0:
            for j in range(half):
                acc[j] += acc[j + half]
            half //= 2
        return np.nan if any_nan(p) else g.constant * (total + acc[0])

    cells_density.__name__ = cells_density.__qualname__ = f"cells_{scan.__name__}"
    return array_function(cells_density, host=False)


def full_density_of(scan):
    """A function for the density at a point, from all samples."""

    def full_density(p, y, q, inv_l2, g, buffer, acc):
        acc[:] = 0.0
        scan(y, q, inv_l2, np.int64(0), y.shape[1], p, g, buffer, acc)
        total = 0.0
        for j in range(LANES):
            total += acc[j]
        return np.nan if any_nan(p) else g.constant * total

    full_density.__name__ = full_density.__qualname__ = f"full_{scan.__name__}"
    return array_function(full_density, host=False)


_density = None


def cells_cpu(points, y, q, inv_l2, starts, moments, ball, out):
    """Task for a block of points."""
    block = min(64, (out.size + 63) // 64)
    tasks = (out.size + block - 1) // block
    for index in prange(tasks):
        task, work = np.int64(index), np.empty((2, LANES))
        for i in range(task * block, min(out.size, (task + 1) * block)):
            out[i] = _density(points[i], y, q, inv_l2, starts, moments, ball[0], work[0], work[1])


def cells_cuda(points, y, q, inv_l2, starts, moments, ball, out):
    """Thread per point; the lanes of all threads are too many for cuda.shared memory."""
    buffer, acc = cuda.local.array(LANES, np.float64), cuda.local.array(LANES, np.float64)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _density(points[i], y, q, inv_l2, starts, moments, ball[0], buffer, acc)


def exhaustive_cpu(points, y, q, inv_l2, ball, out):
    """Task for a block of points."""
    block = min(64, (out.size + 63) // 64)
    tasks = (out.size + block - 1) // block
    for index in prange(tasks):
        task, work = np.int64(index), np.empty((2, LANES))
        for i in range(task * block, min(out.size, (task + 1) * block)):
            out[i] = _density(points[i], y, q, inv_l2, ball[0], work[0], work[1])


def exhaustive_cuda(points, y, q, inv_l2, ball, out):
    """Thread per point; the lanes of all threads are too many for cuda.shared memory."""
    buffer, acc = cuda.local.array(LANES, np.float64), cuda.local.array(LANES, np.float64)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _density(points[i], y, q, inv_l2, ball[0], buffer, acc)


def points_of(name, values, cells=cells_cpu, exhaustive=exhaustive_cpu):
    """The loops over the cells near a point, and over all samples, for kernels with these values."""
    scan = scan_of(values)
    near = Kernel(
        f"kde.points_{name}",
        cells,
        cells_cuda,
        lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], types.int64[::1], T[:, ::1], BALL_TYPE, T[::1])],
        dtypes=("float64",),
        _density=cells_density_of(scan),
    )
    every = Kernel(
        f"kde.exhaustive_{name}",
        exhaustive,
        exhaustive_cuda,
        lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], BALL_TYPE, T[::1])],
        dtypes=("float64",),
        _density=full_density_of(scan),
    )
    return near, every


def other_values_of(records, value):
    """The values of kernels of some records; `value` is theirs for one number."""
    radial = _no_values
    for record in reversed(records):
        radial = bind(_values_one_of, _number=record.number, _profile=record.profile, _others=radial)
    return bind(other_values, _radial=radial, _value=value)


# radial power kernels apart from all others, so that they compile no exponential
_MADE = {"power": points_of("power", power_values), "other": points_of("other", other_values_of(OTHERS, VALUE))}
POINTS = {name: near for name, (near, _) in _MADE.items()}
EXHAUSTIVE = {name: every for name, (_, every) in _MADE.items()}
