"""Shared by all kernels on a grid: the record of a grid, one sample on one row, the samples that can touch a row.

Samples come in index units of a grid, one array per axis, the row axis last; `starts` is their cell list over the other axes,
which are padded to three. A row is the tuple of its three coordinates on these.
"""

from __future__ import annotations

import math

import numpy as np
from numba import from_dtype, types

from numbastats._core.kernel import array_function, device_function
from numbastats.scalar.bits import fma
from numbastats.scalar.kde import ceiling, floor, fused, larger, power_value, product, rint_i64, smaller

CHUNK = 128  # samples per pass: one computes intervals and integers, vectorised, the next scatters them; both stay in the cache
TASKS = 64  # tasks that share the rows
PAD = 3  # cells of a row's buffer behind its end
THREADS = 64  # most threads of a block that share one row

_FLOATS = (
    "lambda2 a inv_a "  # largest squared scale; q grows by A x^2 along a row
    "b0 b1 b2 s00 s01 s02 s11 s12 s22 "  # slopes of the row's centre; Schur complement
    "c0 c1 r00 r01 r11 "  # the next axis: slopes of the sorted axis, Schur complement of the bin axes
    "origin0 origin1 origin2 inv_width0 inv_width1 inv_width2 "  # of the cell list
    "half0 half1 half2 half_row "  # half boxes
    "crop_x crop_y x0 x1 y0 y1 "  # crop in the plane of the row axis and the next: (P^-1)xx, (P^-1)yy, slopes of the centre
    "inv_block scale decay"
)
_INTEGERS = (
    "dim lines0 lines1 lines2 bins0 bins1 bins2 "  # of the outer axes: positions, cells of the list
    "length kind separable "  # positions of a row; number of the kernel, and whether it is a product along the axes
    "log_block mode bounds first_row"  # mode: power, or power + 3 for its derivative
)
GEOMETRY = np.dtype([(name, "f8") for name in _FLOATS.split()] + [(name, "i8") for name in _INTEGERS.split()], align=True)
"""What a kernel knows of a grid, in an array of one record."""

GRID = types.Array(from_dtype(GEOMETRY), 1, "C")


def sorted_samples(T):
    """Numba types of u, q, lam2, starts, grid."""
    return (T[:, ::1], T[::1], T[::1], types.int64[::1], GRID)


# --- one sample on one row -------------------------------------------------------------------------------------------


@device_function
def position1(x, l2, inv_a):
    """(t, centre): the interval is |cell - centre| <= sqrt(t)."""
    return l2 * inv_a, x


@device_function
def position2(dy, x, l2, inv_a, slopes, schur):
    """`position1` in 2-D; dy is the row's distance from the sample."""
    return fma(-product(schur[5], dy), dy, l2) * inv_a, fma(-slopes[2], dy, x)


@device_function
def position3(dz, dy, x, l2, inv_a, slopes, schur):
    """`position1` in 3-D."""
    rest = fma(-product(schur[3], dz), dz, l2)
    s = fma(schur[5], dy, product(2.0 * schur[4], dz))
    return fma(-s, dy, rest) * inv_a, fma(-slopes[2], dy, fma(-slopes[1], dz, x))


@device_function
def position4(dw, dz, dy, x, l2, inv_a, slopes, schur):
    """`position1` in 4-D."""
    s00, s01, s02, s11, s12, s22 = schur
    rest = fma(-product(s00, dw), dw, l2)
    rest = fma(-fma(s11, dz, product(2.0 * s01, dw)), dz, rest)
    s = fma(s22, dy, fma(2.0 * s12, dz, product(2.0 * s02, dw)))
    return fma(-s, dy, rest) * inv_a, fma(-slopes[2], dy, fma(-slopes[1], dz, fma(-slopes[0], dw, x)))


@array_function(host=False)
def position(u, i, l2, row, g):
    """(t, centre) of sample i on a row, any dimension."""
    slopes, schur = (g.b0, g.b1, g.b2), (g.s00, g.s01, g.s02, g.s11, g.s12, g.s22)
    dim = g.dim
    if dim == 1 or g.separable:
        return position1(u[dim - 1, i], l2, g.inv_a)
    if dim == 2:
        return position2(row[2] - u[0, i], u[1, i], l2, g.inv_a, slopes, schur)
    if dim == 3:
        return position3(row[1] - u[0, i], row[2] - u[1, i], u[2, i], l2, g.inv_a, slopes, schur)
    return position4(row[0] - u[0, i], row[1] - u[1, i], row[2] - u[2, i], u[3, i], l2, g.inv_a, slopes, schur)


@array_function(host=False)
def row_rest(u, i, row, g):
    """Least q (times lambda^2) of sample i on a row: l2 - A t, exactly 0 where the row goes through the sample."""
    dim = g.dim
    if dim == 1 or g.separable:
        return 0.0
    dy = row[2] - u[dim - 2, i]
    dz = row[1] - u[dim - 3, i] if dim > 2 else 0.0
    dw = row[0] - u[dim - 4, i] if dim > 3 else 0.0
    a = fused(g.s22, dy, product(2.0 * g.s12, dz))
    b = fused(g.s11, dz, product(2.0 * g.s01, dw))
    c = fused(g.s00, dw, product(2.0 * g.s02, dy))
    return fused(a, dy, fused(b, dz, product(c, dw)))


@device_function
def positions(u, first, m, l2, at, row, g, t, centre):
    """`position` of m samples from `first` on, stored from index `at` on, as l2 is: one loop per dimension vectorises."""
    inv_a, slopes, schur = g.inv_a, (g.b0, g.b1, g.b2), (g.s00, g.s01, g.s02, g.s11, g.s12, g.s22)
    dim = np.int64(1) if g.separable else g.dim
    i, k, x, one = np.uint64(first), np.uint64(at), np.uint64(u.shape[0] - 1), np.uint64(1)
    y, z = x - one, x - one - one
    r0, r1, r2 = row
    if dim == 1:
        for j in range(np.uint64(m)):
            t[k + j], centre[k + j] = position1(u[x, i + j], l2[k + j], inv_a)
    elif dim == 2:
        for j in range(np.uint64(m)):
            t[k + j], centre[k + j] = position2(r2 - u[y, i + j], u[x, i + j], l2[k + j], inv_a, slopes, schur)
    elif dim == 3:
        for j in range(np.uint64(m)):
            dz, dy = r1 - u[z, i + j], r2 - u[y, i + j]
            t[k + j], centre[k + j] = position3(dz, dy, u[x, i + j], l2[k + j], inv_a, slopes, schur)
    else:
        for j in range(np.uint64(m)):
            dw, dz, dy = r0 - u[z - one, i + j], r1 - u[z, i + j], r2 - u[y, i + j]
            t[k + j], centre[k + j] = position4(dw, dz, dy, u[x, i + j], l2[k + j], inv_a, slopes, schur)


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
    return smaller(
        smaller(_least(lo0, lo1, hi1, r00, r01, r11), _least(hi0, lo1, hi1, r00, r01, r11)),
        smaller(_least(lo1, lo0, hi0, r11, r01, r00), _least(hi1, lo0, hi0, r11, r01, r00)),
    )


@device_function
def cells_between(lo, hi, origin, inv_width, cells):
    """First cell and end of the cells that meet [lo, hi]; (0, 0) if none does."""
    if lo > origin + cells / inv_width or hi < origin:
        return np.int64(0), np.int64(0)
    last = cells - 1.0
    first, end = floor((lo - origin) * inv_width), floor((hi - origin) * inv_width)
    first, end = larger(first, 0.0), larger(end, 0.0)
    return np.int64(smaller(first, last)), np.int64(smaller(end, last)) + 1


@array_function(host=False)
def bins_near(row, g):
    """Bins that a row can touch: the first on both axes, their number on the second axis, and on both."""
    a0, e0 = cells_between(row[0] - g.half0, row[0] + g.half0, g.origin0, g.inv_width0, g.bins0)
    a1, e1 = cells_between(row[1] - g.half1, row[1] + g.half1, g.origin1, g.inv_width1, g.bins1)
    return a0, a1, e1 - a1, (e0 - a0) * (e1 - a1)


@array_function(host=False)
def run_near(starts, row, near, b, g):
    """Samples [first, end) of the b-th of `bins_near` that can touch a row."""
    if g.dim == 1:
        share = np.int64(row[2])  # in one dimension the rows are shares of the samples
        return starts[share], starts[share + 1]
    c0, c1 = near[0] + b // near[2], near[1] + b % near[2]
    lo0, hi0, lo1, hi1 = 0.0, 0.0, 0.0, 0.0
    if g.dim > 3:
        hi0 = row[0] - (g.origin0 + c0 / g.inv_width0)
        lo0 = row[0] - (g.origin0 + (c0 + 1) / g.inv_width0)
    if g.dim > 2:
        hi1 = row[1] - (g.origin1 + c1 / g.inv_width1)
        lo1 = row[1] - (g.origin1 + (c1 + 1) / g.inv_width1)
    if g.bounds:  # the whole box
        lo, hi = row[2] - g.half2, row[2] + g.half2
    else:
        near2 = g.lambda2 - least_on_box(lo0, hi0, lo1, hi1, g.r00, g.r01, g.r11)
        if near2 <= -1e-9:
            return np.int64(0), np.int64(0)
        half = math.sqrt(larger(near2, 0.0) / g.s22) * (1.0 + 1e-9) + 1e-6
        p0, q0, p1, q1 = g.c0 * lo0, g.c0 * hi0, g.c1 * lo1, g.c1 * hi1
        lo = row[2] - (larger(p0, q0) + larger(p1, q1) + half)
        hi = row[2] - (smaller(p0, q0) + smaller(p1, q1) - half)
    first, end = cells_between(lo, hi, g.origin2, g.inv_width2, g.bins2)
    bin_start = (c0 * g.bins1 + c1) * g.bins2
    return starts[bin_start + first], starts[bin_start + end]


@array_function(host=False)
def row_of(line, g):
    """Coordinates of a row on the outer axes, from its number."""
    n1, n2 = g.lines1, g.lines2
    return np.float64(line // n2 // n1), np.float64(line // n2 % n1), np.float64(line % n2)


# --- the product form: what a sample weighs on a row ------------------------------------------------------------------


@device_function
def _squared(z, s, inv_l2):
    """q along one axis, z cells from the sample; the same bits on every device."""
    return product(product(s, product(z, z)), inv_l2)


def outer_factor(value):
    """A function for the product of the kernels `value` along the outer axes; 1 for a radial kernel."""

    def factor(u, i, inv_l2, row, g):
        kind, dim, f = g.kind, g.dim, 1.0
        if g.separable:
            if dim > 1:
                f *= value(kind, _squared(row[2] - u[dim - 2, i], g.s22, inv_l2), g.decay)
            if dim > 2:
                f *= value(kind, _squared(row[1] - u[dim - 3, i], g.s11, inv_l2), g.decay)
            if dim > 3:
                f *= value(kind, _squared(row[0] - u[0, i], g.s00, inv_l2), g.decay)
        return f

    factor.__name__ = factor.__qualname__ = f"factor_{value.__name__}"  # the disk cache distinguishes functions by their names
    return array_function(factor, host=False)


power_factor = outer_factor(power_value)


@array_function(host=False)
def product_weight(w, u, i, l2, row, g):
    """Weight in quanta of sample i on a row, the power kernels along the outer axes included; a whole number."""
    return np.float64(rint_i64(w * power_factor(u, i, 1.0 / l2, row, g)))


# --- which rows a sample can touch ------------------------------------------------------------------------------------


@device_function
def rows_between(x, half, lines):
    """First row of an outer axis that the box of a sample at x touches, and the number of such rows."""
    first, end = larger(ceiling(x - half), 0.0), smaller(floor(x + half) + 1.0, np.float64(lines))
    return np.int64(first), np.int64(larger(end - first, 0.0))


@array_function(host=False)
def rows_near(u, i, g):
    """Rows that the box of sample i touches: the first on every outer axis, their number on the last two axes, and on all."""
    dim = g.dim
    a0, n0 = rows_between(u[0, i], g.half0, g.lines0) if dim > 3 else (np.int64(0), np.int64(1))
    a1, n1 = rows_between(u[dim - 3, i], g.half1, g.lines1) if dim > 2 else (np.int64(0), np.int64(1))
    a2, n2 = rows_between(u[dim - 2, i], g.half2, g.lines2) if dim > 1 else (np.int64(0), np.int64(1))
    return a0, a1, a2, n1, n2, n0 * n1 * n2


@array_function(host=False)
def row_near(near, r, g):
    """Number of the r-th of `rows_near`."""
    r0, r1, r2 = near[0] + r // (near[3] * near[4]), near[1] + r // near[4] % near[3], near[2] + r % near[4]
    return (r0 * g.lines1 + r1) * g.lines2 + r2
