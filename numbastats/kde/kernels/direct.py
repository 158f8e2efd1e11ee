"""Direct sums over the cells of a grid: exact row intervals, boxes, crops."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange

from numbastats._core.kernel import Kernel, array_function, device_function
from numbastats.kde.kernels.geometry import (
    BOUNDS,
    CROP,
    DECAY,
    DIM,
    FIRST_ROW,
    HALF,
    HALF_ROW,
    KIND,
    LENGTH,
    MODE,
    PRODUCT,
    REST,
    SCALE,
    TASKS,
    A,
    any_factor,
    bins_near,
    place_of,
    position,
    row_rest,
    run_near,
    sorted_samples,
)
from numbastats.scalar import kde as forms
from numbastats.scalar.kde import ceiling, floor, kernel_value, row_interval_strict

__all__ = ["DIRECT", "direct_bounds"]

# --- direct sums over cells: exact row interval, bounding box, or the cropped rectangle of a slice ---------------------


@array_function
def direct_bounds(u, i, l2, k0, k1, k2, geo, ints):
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
    dim, length = ints[DIM], ints[LENGTH]
    t, centre = position(u, i, l2, k0, k1, k2, dim, geo)
    rest = 0.0 if ints[KIND] >= PRODUCT else row_rest(u, i, k0, k1, k2, dim, geo)
    if ints[BOUNDS] == 0:
        lo, hi = row_interval_strict(t, centre, length)
        return lo, hi, centre, rest
    x, half = u[dim - 1, i], geo[HALF_ROW]
    inside = dim == 1 or abs(k2 - u[dim - 2, i]) <= geo[HALF + 2]
    if dim > 2:
        inside = inside and abs(k1 - u[dim - 3, i]) <= geo[HALF + 1]
    if dim > 3:
        inside = inside and abs(k0 - u[dim - 4, i]) <= geo[HALF]
    if ints[BOUNDS] == 2 and dim > 2:
        d0 = k0 - u[0, i] if dim > 3 else 0.0
        d1 = k1 - u[dim - 3, i]
        size = l2 - ((geo[REST] * d0 + 2.0 * geo[REST + 1] * d1) * d0 + geo[REST + 2] * d1 * d1)
        inside = inside and size > 0.0
        size = max(size, 0.0)
        x += geo[CROP + 2] * d0 + geo[CROP + 3] * d1
        y = u[dim - 2, i] + geo[CROP + 4] * d0 + geo[CROP + 5] * d1
        inside = inside and abs(k2 - y) <= math.sqrt(size * geo[CROP + 1])
        half = math.sqrt(size * geo[CROP])
    lo = max(ceiling(x - half), 0.0)
    last = np.float64(length)
    hi = min(floor(x + half) + 1.0, last)
    lo = min(lo, last)
    return np.int64(lo), np.int64(hi if inside and hi > lo else lo), centre, rest


@array_function
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
    elif kind < 4:
        for i in range(r.size):
            x = x0 + np.float64(i)
            v = (1.0 - rest) - a * x * x
            p = 1.0 if kind == 0 else v * v if kind == 2 else v * v * v
            r[i] += w * (p if v > 0.0 else 0.0)
    elif kind == forms.TRIANGULAR:
        for i in range(r.size):
            x = x0 + np.float64(i)
            r[i] += w * kernel_value(forms.TRIANGULAR, max(a * x * x + rest, 0.0), decay)
    elif kind == forms.COSINE:
        for i in range(r.size):
            x = x0 + np.float64(i)
            r[i] += w * kernel_value(forms.COSINE, max(a * x * x + rest, 0.0), decay)
    else:
        for i in range(r.size):
            x = x0 + np.float64(i)
            r[i] += w * kernel_value(forms.GAUSSIAN, max(a * x * x + rest, 0.0), decay)


@device_function
def power_slope(p, q, ax):
    """d/dx (1 - q)^p inside the support, where dq/dx = 2 ax."""
    v = 1.0 - q
    f = 1.0 if p == 1 else v if p == 2 else v * v
    return -2.0 * np.float64(p) * ax * f if q < 1.0 else 0.0


@array_function
def add_slope(row, lo, hi, centre, a, rest, inv_l2, w, p):
    """Add w dK/dx on the cells [lo, hi), in units of cells."""
    r = row[lo:hi]
    x0 = np.float64(lo) - centre
    a, rest = a * inv_l2, rest * inv_l2
    for i in range(r.size):
        x = x0 + np.float64(i)
        r[i] += w * power_slope(p, a * x * x + rest, a * x)


def direct_cpu(u, q, lam2, starts, geo, ints, out):
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task = np.int64(index)
        share = (task * 37) % tasks if tasks % 37 else task
        separable, kind = ints[KIND] >= PRODUCT, ints[KIND] % PRODUCT
        for row in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            k0, k1, k2 = place_of(row + ints[FIRST_ROW], ints)
            near, r = bins_near(geo, ints, k0, k1), out[row]
            for b in range(near[3]):
                first, last = run_near(starts, geo, ints, k0, k1, k2, near, b)
                for i in range(first, last):
                    l2 = lam2[i] if lam2.size > 1 else lam2[0]
                    lo, hi, centre, rest = direct_bounds(u, i, l2, k0, k1, k2, geo, ints)
                    w = (q[i] if q.size > 1 else q[0]) * geo[SCALE]
                    if separable:
                        w *= any_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                    if ints[MODE] > 3:
                        add_slope(r, lo, hi, centre, geo[A], rest, 1.0 / l2, w, ints[MODE] - 3)
                    else:
                        add_direct(r, lo, hi, centre, geo[A], rest, 1.0 / l2, w, kind, geo[DECAY])


def direct_cuda(u, q, lam2, starts, geo, ints, out):
    """Gather, thread per grid point: any kernel and form, no atomics."""
    length, dim = ints[LENGTH], ints[DIM]
    separable, kind = ints[KIND] >= PRODUCT, ints[KIND] % PRODUCT
    for point in range(cuda.grid(1), out.shape[0] * length, cuda.gridsize(1)):
        row, cell = point // length, point % length
        k0, k1, k2 = place_of(row + ints[FIRST_ROW], ints)
        near, total = bins_near(geo, ints, k0, k1), 0.0
        for b in range(near[3]):
            first, last = run_near(starts, geo, ints, k0, k1, k2, near, b)
            for i in range(first, last):
                l2 = lam2[i] if lam2.size > 1 else lam2[0]
                t, centre = position(u, i, l2, k0, k1, k2, dim, geo)
                x = float(cell) - (u[dim - 1, i] if separable else centre)
                rest = 0.0 if separable else row_rest(u, i, k0, k1, k2, dim, geo)
                q1 = max(geo[A] * x * x + rest, 0.0) / l2
                if ints[MODE] > 3:
                    v = power_slope(ints[MODE] - 3, q1, geo[A] * x / l2)
                else:
                    v = kernel_value(kind, q1, geo[DECAY]) * any_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                total += (q[i] if q.size > 1 else q[0]) * v
        out[row, cell] = total * geo[SCALE]


DIRECT = Kernel("kde.direct", direct_cpu, direct_cuda, lambda T: [(*sorted_samples(T), T[:, ::1])], dtypes=("float64",))
