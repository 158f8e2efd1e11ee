"""What all kernels on a grid know: one sample on one row, which samples can touch a row, the entries of `geo` and `ints`.

Samples come in index units of a grid, one array per axis, the row axis last; `starts` is their cell list over the other axes,
which are padded to three. What a row needs to know stands in two short arrays, `geo` (floats) and `ints`; the positions below
name their entries.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from numbastats._core.kernel import array_function, device_function
from numbastats.scalar.bits import fma
from numbastats.scalar.kde import ceiling, floor, fused, kernel_value, power_value, product, rint_i64

CHUNK = 128  # samples per pass: one computes intervals and integers, vectorised, the next scatters them; both stay in the cache
TASKS = 64  # tasks that share the rows
PAD = 3  # cells of a row's buffer behind its end
THREADS = 64  # most threads of a block that share one row

# entries of geo
INV_A, BETA, S = 0, 1, 4  # 1/A; 3 slopes of the row's centre; Schur complement 00 01 02 11 12 22
SLOPE, REST = 10, 12  # the same one axis further: slope of the sorted axis, 2; Schur complement of the bin axes 00 01 11
LAMBDA2, ORIGIN, WIDTH, HALF = 15, 16, 19, 22  # largest squared scale; cell list: origin, 1/width; half boxes of the 3 axes
INV_BLOCK, SCALE = 25, 26
A, HALF_ROW, CROP, DECAY = 27, 28, 29, 36  # crop: (P^-1)xx, (P^-1)yy, slopes of x, slopes of y
GEO = 40
# entries of ints
DIM, LINES, BINS, LOG_BLOCK, MODE, LENGTH, KIND, BOUNDS, FIRST_ROW = 0, 1, 4, 7, 8, 9, 10, 11, 12
INTS = 13
PRODUCT = 8  # added to a kernel's number: the product of one-dimensional kernels along the axes


_I = types.int64[::1]


def sorted_samples(T):
    """Numba types of u, q, lam2, starts, geo, ints."""
    return (T[:, ::1], T[::1], T[::1], _I, T[::1], _I)


# --- one sample on one row -------------------------------------------------------------------------------------------


@device_function
def position1(x, l2, inv_a):
    """(t, centre): the interval is |cell - centre| <= sqrt(t)."""
    return l2 * inv_a, x


@device_function
def position2(dy, x, l2, inv_a, b2, s22):
    """The same in 2-D; dy is the row's distance from the sample."""
    return fma(-product(s22, dy), dy, l2) * inv_a, fma(-b2, dy, x)


@device_function
def position3(dz, dy, x, l2, inv_a, b1, b2, s11, s12, s22):
    """The same in 3-D."""
    rest = fma(-product(s11, dz), dz, l2)
    s = fma(s22, dy, product(2.0 * s12, dz))
    return fma(-s, dy, rest) * inv_a, fma(-b2, dy, fma(-b1, dz, x))


@device_function
def position4(dw, dz, dy, x, l2, inv_a, b0, b1, b2, s00, s01, s02, s11, s12, s22):
    """The same in 4-D."""
    rest = fma(-product(s00, dw), dw, l2)
    rest = fma(-fma(s11, dz, product(2.0 * s01, dw)), dz, rest)
    s = fma(s22, dy, fma(2.0 * s12, dz, product(2.0 * s02, dw)))
    return fma(-s, dy, rest) * inv_a, fma(-b2, dy, fma(-b1, dz, fma(-b0, dw, x)))


@array_function(host=False)
def position(u, i, l2, r0, r1, r2, dim, geo):
    """(t, centre) of sample i on row (r0, r1, r2), any dimension."""
    if dim == 1:
        return position1(u[u.shape[0] - 1, i], l2, geo[INV_A])
    if dim == 2:
        return position2(r2 - u[0, i], u[1, i], l2, geo[INV_A], geo[BETA + 2], geo[S + 5])
    if dim == 3:
        return position3(
            r1 - u[0, i], r2 - u[1, i], u[2, i], l2, geo[INV_A], geo[BETA + 1], geo[BETA + 2], geo[S + 3], geo[S + 4], geo[S + 5]
        )
    return position4(
        r0 - u[0, i],
        r1 - u[1, i],
        r2 - u[2, i],
        u[3, i],
        l2,
        geo[INV_A],
        geo[BETA],
        geo[BETA + 1],
        geo[BETA + 2],
        geo[S],
        geo[S + 1],
        geo[S + 2],
        geo[S + 3],
        geo[S + 4],
        geo[S + 5],
    )


@array_function(host=False)
def row_rest(u, i, r0, r1, r2, dim, geo):
    """Least q (times lambda^2) of sample i on row (r0, r1, r2): l2 - A t, exactly 0 where the row goes through the sample."""
    if dim == 1:
        return 0.0
    dy = r2 - u[dim - 2, i]
    dz = r1 - u[dim - 3, i] if dim > 2 else 0.0
    dw = r0 - u[dim - 4, i] if dim > 3 else 0.0
    a = fused(geo[S + 5], dy, product(2.0 * geo[S + 4], dz))
    b = fused(geo[S + 3], dz, product(2.0 * geo[S + 1], dw))
    c = fused(geo[S], dw, product(2.0 * geo[S + 2], dy))
    return fused(a, dy, fused(b, dz, product(c, dw)))


@device_function
def positions(u, first, m, l2, at, r0, r1, r2, dim, geo, t, centre):
    """`position` of m samples from `first` on, put from place `at` on, where l2 stands: a loop per dimension vectorises."""
    inv_a, b0, b1, b2 = geo[INV_A], geo[BETA], geo[BETA + 1], geo[BETA + 2]
    s00, s01, s02, s11, s12, s22 = geo[S], geo[S + 1], geo[S + 2], geo[S + 3], geo[S + 4], geo[S + 5]
    i, k, x, one = np.uint64(first), np.uint64(at), np.uint64(u.shape[0] - 1), np.uint64(1)
    y, z = x - one, x - one - one
    if dim == 1:
        for j in range(np.uint64(m)):
            t[k + j], centre[k + j] = position1(u[x, i + j], l2[k + j], inv_a)
    elif dim == 2:
        for j in range(np.uint64(m)):
            t[k + j], centre[k + j] = position2(r2 - u[y, i + j], u[x, i + j], l2[k + j], inv_a, b2, s22)
    elif dim == 3:
        for j in range(np.uint64(m)):
            dz, dy = r1 - u[z, i + j], r2 - u[y, i + j]
            t[k + j], centre[k + j] = position3(dz, dy, u[x, i + j], l2[k + j], inv_a, b1, b2, s11, s12, s22)
    else:
        for j in range(np.uint64(m)):
            dw, dz, dy = r0 - u[z - one, i + j], r1 - u[z, i + j], r2 - u[y, i + j]
            t[k + j], centre[k + j] = position4(
                dw, dz, dy, u[x, i + j], l2[k + j], inv_a, b0, b1, b2, s00, s01, s02, s11, s12, s22
            )


# --- which samples can touch a row -----------------------------------------------------------------------------------


@device_function
def _least(fixed, lo, hi, r_fixed, r_cross, r_free):
    """Least value of the quadratic form on an edge: one coordinate fixed, the other between lo and hi."""
    x = -r_cross * fixed / r_free if r_free > 0.0 else 0.0
    x = lo if x < lo else hi if x > hi else x
    return (r_fixed * fixed + 2.0 * r_cross * x) * fixed + r_free * x * x


@device_function
def least_on_box(lo0, hi0, lo1, hi1, r00, r01, r11):
    """Least value of a positive quadratic form on a rectangle."""
    if lo0 <= 0.0 and hi0 >= 0.0 and lo1 <= 0.0 and hi1 >= 0.0:
        return 0.0
    return min(
        min(_least(lo0, lo1, hi1, r00, r01, r11), _least(hi0, lo1, hi1, r00, r01, r11)),
        min(_least(lo1, lo0, hi0, r11, r01, r00), _least(hi1, lo0, hi0, r11, r01, r00)),
    )


@device_function
def cell_of(x, origin, inv_width, cells):
    """Cell of a coordinate, clipped to the list."""
    c = floor((x - origin) * inv_width)
    c = 0.0 if c < 0.0 else c
    last = cells - 1.0
    return np.int64(last if c > last else c)


@array_function(host=False)
def run_of(starts, geo, ints, r0, r1, r2, c0, c1):
    """Samples [a, b) of bin (c0, c1) that can touch row (r0, r1, r2)."""
    bin_start = (c0 * ints[BINS + 1] + c1) * ints[BINS + 2]
    if ints[DIM] == 1:
        row = np.int64(r2)  # rows of a line are shares of its samples
        return starts[row], starts[row + 1]
    lo0, hi0, lo1, hi1 = 0.0, 0.0, 0.0, 0.0
    if ints[DIM] > 3:
        hi0 = r0 - (geo[ORIGIN] + c0 / geo[WIDTH])
        lo0 = r0 - (geo[ORIGIN] + (c0 + 1) / geo[WIDTH])
    if ints[DIM] > 2:
        hi1 = r1 - (geo[ORIGIN + 1] + c1 / geo[WIDTH + 1])
        lo1 = r1 - (geo[ORIGIN + 1] + (c1 + 1) / geo[WIDTH + 1])
    if ints[BOUNDS]:  # the whole box
        lo, hi = r2 - geo[HALF + 2], r2 + geo[HALF + 2]
    else:
        near = geo[LAMBDA2] - least_on_box(lo0, hi0, lo1, hi1, geo[REST], geo[REST + 1], geo[REST + 2])
        if near <= -1e-9:
            return np.int64(0), np.int64(0)
        half = math.sqrt(max(near, 0.0) / geo[S + 5]) * (1.0 + 1e-9) + 1e-6
        p0, q0, p1, q1 = geo[SLOPE] * lo0, geo[SLOPE] * hi0, geo[SLOPE + 1] * lo1, geo[SLOPE + 1] * hi1
        lo = r2 - (max(p0, q0) + max(p1, q1) + half)
        hi = r2 - (min(p0, q0) + min(p1, q1) - half)
    cells = ints[BINS + 2]
    end = geo[ORIGIN + 2] + cells / geo[WIDTH + 2]
    if lo > end or hi < geo[ORIGIN + 2]:
        return np.int64(0), np.int64(0)
    first = cell_of(lo, geo[ORIGIN + 2], geo[WIDTH + 2], cells)
    last = cell_of(hi, geo[ORIGIN + 2], geo[WIDTH + 2], cells)
    return starts[bin_start + first], starts[bin_start + last + 1]


@array_function(host=False)
def bins_of(geo, ints, axis, r):
    """First bin and end of a bin axis that row coordinate r can touch."""
    cells = ints[BINS + axis]
    if ints[DIM] < 4 - axis:
        return 0, 1
    lo, hi = r - geo[HALF + axis], r + geo[HALF + axis]
    if lo > geo[ORIGIN + axis] + cells / geo[WIDTH + axis] or hi < geo[ORIGIN + axis]:
        return 0, 0
    return (
        cell_of(lo, geo[ORIGIN + axis], geo[WIDTH + axis], cells),
        cell_of(hi, geo[ORIGIN + axis], geo[WIDTH + axis], cells) + 1,
    )


@array_function(host=False)
def place_of(line, ints):
    """Coordinates of a row on the outer axes, from its number."""
    n1, n2 = ints[LINES + 1], ints[LINES + 2]
    return np.float64(line // n2 // n1), np.float64(line // n2 % n1), np.float64(line % n2)


@array_function(host=False)
def bins_near(geo, ints, k0, k1):
    """Bins that a row can touch: the first on both axes, their number on the second axis, and on both."""
    a0, e0 = bins_of(geo, ints, 0, k0)
    a1, e1 = bins_of(geo, ints, 1, k1)
    return a0, a1, e1 - a1, (e0 - a0) * (e1 - a1)


@array_function(host=False)
def run_near(starts, geo, ints, k0, k1, k2, near, b):
    """Samples [first, last) of the b-th of `bins_near` that can touch a row."""
    return run_of(starts, geo, ints, k0, k1, k2, near[0] + b // near[2], near[1] + b % near[2])


# --- the product form: what a sample weighs on a row ------------------------------------------------------------------


@device_function
def _squared(z, s, inv_l2):
    """q along one axis, z cells from the sample; the same bits on every device."""
    return product(product(s, product(z, z)), inv_l2)


def outer_factor(value):
    """A function for the product of the kernels `value` along the outer axes; 1 for a radial kernel."""

    def factor(u, i, inv_l2, k0, k1, k2, geo, ints):
        kind, dim, f = ints[KIND] - PRODUCT, ints[DIM], 1.0
        if kind >= 0:
            if dim > 1:
                f *= value(kind, _squared(k2 - u[dim - 2, i], geo[S + 5], inv_l2), geo[DECAY])
            if dim > 2:
                f *= value(kind, _squared(k1 - u[dim - 3, i], geo[S + 3], inv_l2), geo[DECAY])
            if dim > 3:
                f *= value(kind, _squared(k0 - u[0, i], geo[S], inv_l2), geo[DECAY])
        return f

    factor.__name__ = factor.__qualname__ = f"factor_{value.__name__}"  # the disk cache knows functions by their names
    return array_function(factor, host=False)


power_factor, any_factor = outer_factor(power_value), outer_factor(kernel_value)


@array_function(host=False)
def product_weight(w, u, i, l2, k0, k1, k2, geo, ints):
    """Weight in quanta of sample i on a row, the power kernels along the outer axes included; a whole number."""
    return np.float64(rint_i64(w * power_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)))


@array_function(host=False)
def row_range(u, i, axis, dim, lines, geo):
    """First row and end of one outer axis that the box of sample i touches."""
    if dim < 4 - axis:
        return 0, 1
    x = u[dim - 4 + axis, i]
    lo, hi = ceiling(x - geo[HALF + axis]), floor(x + geo[HALF + axis]) + 1.0
    return np.int64(max(lo, 0.0)), np.int64(min(hi, np.float64(lines)))


@array_function(host=False)
def rows_near(u, i, geo, ints):
    """Rows that the box of sample i touches: the first on every outer axis, their number on the last two axes, and on all."""
    dim = ints[DIM]
    a0, e0 = row_range(u, i, 0, dim, ints[LINES], geo)
    a1, e1 = row_range(u, i, 1, dim, ints[LINES + 1], geo)
    a2, e2 = row_range(u, i, 2, dim, ints[LINES + 2], geo)
    n1, n2 = max(e1 - a1, 0), max(e2 - a2, 0)
    return a0, a1, a2, n1, n2, max(e0 - a0, 0) * n1 * n2


@array_function(host=False)
def row_near(near, r, ints):
    """Number of the r-th of `rows_near`."""
    r0, r1, r2 = near[0] + r // (near[3] * near[4]), near[1] + r // near[4] % near[3], near[2] + r % near[4]
    return (r0 * ints[LINES + 1] + r1) * ints[LINES + 2] + r2
