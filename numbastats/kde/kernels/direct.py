"""Direct sums over the cells of a grid: exact row intervals, boxes, crops."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind, device_function
from numbastats.kde.kernels.geometry import TASKS, bins_near, position, row_of, row_rest, run_near, sorted_samples
from numbastats.kde.kernels.profiles import FACTOR, VALUE
from numbastats.kde.records import OTHERS
from numbastats.scalar.kde import any_power, ceiling, floor, larger, row_interval_strict, smaller

__all__ = ["DIRECT", "direct_bounds", "direct_cpu", "direct_of", "on_row"]

# --- direct sums over cells: exact row interval, bounding box, or the cropped rectangle of a slice ---------------------


@array_function(host=False)
def direct_bounds(u, i, l2, row, g):
    """First cell and end that the sample visits on the row; q is A (x - centre)^2 + rest.

    The box of the reference, equations (6)-(8), has half widths sqrt(H_aa) (row norms, not column norms; lower bounds rounded
    up, upper bounds down). Chop and crop cuts the ellipsoid at distance z along the outer axes and takes the box of the slice:
    with P the block of H^-1 of the slice's plane and r its column to z, centre -P^-1 r z, t = 1 - z' (Schur complement) z,
    half widths sqrt(t (P^-1)_xx) and sqrt(t (P^-1)_yy). The appendix's way, equations (11)-(19) corrected: A..F = M11, 2 M12,
    M22, 2 M13 z, 2 M23 z, M33 z^2 - 1; theta = atan2(B, A - C)/2; rotated A' C' D' E' as in (14); N = -4 F' A' C' + C' D'^2 +
    A' E'^2; a = sqrt(N/(4 A'^2 C')), b = sqrt(N/(4 A' C'^2)); centre (-D'/2A', -E'/2C') turned back by (x cos - y sin,
    x sin + y cos); bounds hypot(a cos, b sin) and hypot(a sin, b cos) about that centre. Both ways agree; the printed (15) has a
    and b interchanged, (18) the wrong sign, and (19) lacks the centre.
    """
    t, centre = position(u, i, l2, row, g)
    rest, dim, length = row_rest(u, i, row, g), g.dim, g.length
    if g.bounds == 0:
        lo, hi = row_interval_strict(t, centre, length)
        return lo, hi, centre, rest
    x, half = u[dim - 1, i], g.half_row
    inside = dim == 1 or abs(row[2] - u[dim - 2, i]) <= g.half2
    if dim > 2:
        inside = inside and abs(row[1] - u[dim - 3, i]) <= g.half1
    if dim > 3:
        inside = inside and abs(row[0] - u[dim - 4, i]) <= g.half0
    if g.bounds == 2 and dim > 2:
        d0 = row[0] - u[0, i] if dim > 3 else 0.0
        d1 = row[1] - u[dim - 3, i]
        size = l2 - ((g.r00 * d0 + 2.0 * g.r01 * d1) * d0 + g.r11 * d1 * d1)
        inside = inside and size > 0.0
        size = larger(size, 0.0)
        x += g.x0 * d0 + g.x1 * d1
        y = u[dim - 2, i] + g.y0 * d0 + g.y1 * d1
        inside = inside and abs(row[2] - y) <= math.sqrt(size * g.crop_y)
        half = math.sqrt(size * g.crop_x)
    last = np.float64(length)
    lo, hi = larger(ceiling(x - half), 0.0), smaller(floor(x + half) + 1.0, last)
    lo = smaller(lo, last)
    return np.int64(lo), np.int64(hi if inside and hi > lo else lo), centre, rest


@array_function(host=False)
def on_row(u, i, q, lam2, row, g):
    """Squared scale of sample i, and what its kernel is multiplied by on a row."""
    l2 = lam2[i] if lam2.size > 1 else lam2[0]
    return l2, (q[i] if q.size > 1 else q[0]) * g.scale * _factor(u, i, 1.0 / l2, row, g)


@array_function(host=False)
def _add_none(r, x0, a, rest, w, kind, decay):
    """For a kernel that no record has."""
    r[:] = np.nan


@array_function(host=False)
def _add_one_of(r, x0, a, rest, w, kind, decay):
    """Add one kernel's values, for a number that is not its own those of the others: a loop each, as vectors."""
    if kind == _number:
        for i in range(r.size):
            x = x0 + np.float64(i)
            q = larger(a * x * x + rest, 0.0)
            r[i] += w * (_profile(q, decay) if q < 1.0 else 0.0)
    else:
        _others(r, x0, a, rest, w, kind, decay)


_number = _profile = _others = _add_others = _add = _on_row = _value = _factor = None


@array_function(host=False)
def add_direct(row, lo, hi, centre, a, rest, inv_l2, w, kind, decay):
    """Add w K(q) on the cells [lo, hi)."""
    r = row[lo:hi]
    x0 = np.float64(lo) - centre
    a, rest = a * inv_l2, rest * inv_l2
    if kind == 1:
        for i in range(r.size):
            x = x0 + np.float64(i)
            v = (1.0 - rest) - a * x * x
            r[i] += w * (v if v > 0.0 else 0.0)
    elif kind >= 0 and kind < 4:
        for i in range(r.size):
            x = x0 + np.float64(i)
            v = (1.0 - rest) - a * x * x
            p = 1.0 if kind == 0 else v * v if kind == 2 else v * v * v
            r[i] += w * (p if v > 0.0 else 0.0)
    elif kind >= 0:
        for i in range(r.size):
            x = x0 + np.float64(i)
            r[i] += w * any_power(kind, larger(a * x * x + rest, 0.0), decay)
    else:
        _add_others(r, x0, a, rest, w, kind, decay)


@device_function
def power_slope(p, q, ax):
    """d/dx (1 - q)^p inside the support, where dq/dx = 2 ax."""
    v = 1.0 - q
    f = 1.0 if p == 1 else v if p == 2 else v * v
    return -2.0 * np.float64(p) * ax * f if q < 1.0 else 0.0


@array_function(host=False)
def add_slope(row, lo, hi, centre, a, rest, inv_l2, w, p):
    """Add w dK/dx on the cells [lo, hi), in units of cells."""
    r = row[lo:hi]
    x0 = np.float64(lo) - centre
    a, rest = a * inv_l2, rest * inv_l2
    for i in range(r.size):
        x = x0 + np.float64(i)
        r[i] += w * power_slope(p, a * x * x + rest, a * x)


def direct_cpu(u, q, lam2, starts, grid, out):
    """Task for rows: gather their samples."""
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task, g = np.int64(index), grid[0]
        share = (task * 37) % tasks if tasks % 37 else task
        for line in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            row = row_of(line + g.first_row, g)
            near = bins_near(row, g)
            for b in range(near[3]):
                first, last = run_near(starts, row, near, b, g)
                for i in range(first, last):
                    l2, w = _on_row(u, i, q, lam2, row, g)
                    lo, hi, centre, rest = direct_bounds(u, i, l2, row, g)
                    if g.mode > 3:
                        add_slope(out[line], lo, hi, centre, g.a, rest, 1.0 / l2, w, g.mode - 3)
                    else:
                        _add(out[line], lo, hi, centre, g.a, rest, 1.0 / l2, w, g.kind, g.decay)


def direct_cuda(u, q, lam2, starts, grid, out):
    """Gather, thread per grid point: any kernel and form, no atomics."""
    g = grid[0]
    for point in range(cuda.grid(1), out.shape[0] * g.length, cuda.gridsize(1)):
        line, cell = point // g.length, point % g.length
        row = row_of(line + g.first_row, g)
        near, total = bins_near(row, g), 0.0
        for b in range(near[3]):
            first, last = run_near(starts, row, near, b, g)
            for i in range(first, last):
                l2, w = _on_row(u, i, q, lam2, row, g)
                t, centre = position(u, i, l2, row, g)
                x = float(cell) - centre
                q1 = larger(g.a * x * x + row_rest(u, i, row, g), 0.0) / l2
                total += w * (power_slope(g.mode - 3, q1, g.a * x / l2) if g.mode > 3 else _value(g.kind, q1, g.decay))
        out[line, cell] = total


def direct_of(records, value, factor, name="kde.direct", cpu=direct_cpu):
    """The loop for kernels of some records; `value` and `factor` are theirs."""
    add = _add_none
    for record in reversed(records):
        add = bind(_add_one_of, _number=record.number, _profile=record.profile, _others=add)
    return Kernel(
        name,
        cpu,
        direct_cuda,
        lambda T: [(*sorted_samples(T), T[:, ::1])],
        dtypes=("float64",),
        cpu_only={"_add": bind(add_direct, _add_others=add)},
        cuda_only={"_value": value},
        _on_row=bind(on_row, _factor=factor),
    )


DIRECT = direct_of(OTHERS, VALUE, FACTOR)
