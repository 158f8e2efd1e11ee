"""Twins of the kernel density: rows of a grid by differences (a, b, c), direct sums, and listed points.

Samples come in index units of a grid, one array per axis, the row axis last; `starts` is their cell list over the other axes,
which are padded to three. What a row needs to know stands in two short arrays, `geo` (floats) and `ints`; the positions below
name their entries.

Variant c keeps the third difference of every row as one int64 per cell, variant b the coefficients of the polynomial in the
block coordinate, 2p + 1 int64 per cell. Both are exact sums of integers, so no order of samples, threads or devices matters.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange, types

from numbastats._core.compile import Kernel, array_function, device_function
from numbastats.scalar import kernels1d as forms
from numbastats.scalar.bits import atomic_add, fma
from numbastats.scalar.kernels1d import (
    ceiling,
    floor,
    fused,
    kernel_value,
    product,
    rint_i64,
    row_interval,
    row_interval_strict,
    shift2,
    shift4,
    shift6,
    third_difference,
)

__all__ = ["ACCUMULATE", "CELLS", "DIRECT", "DIRECT_ATOMIC", "EXHAUSTIVE", "FINISH", "ROWS", "ROWS_A"]

CHUNK = 1024  # samples per pass: one computes intervals and integers, vectorised, the next scatters them; a call costs 0.2 us
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


@array_function
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
        r0 - u[0, i], r1 - u[1, i], r2 - u[2, i], u[3, i], l2,
        geo[INV_A], geo[BETA], geo[BETA + 1], geo[BETA + 2], geo[S], geo[S + 1], geo[S + 2], geo[S + 3], geo[S + 4], geo[S + 5],
    )  # fmt: skip


@array_function
def positions(u, first, m, l2, r0, r1, r2, dim, geo, t, centre):
    """`position` of m samples from `first` on: a loop per dimension, so that each vectorises."""
    inv_a, b0, b1, b2 = geo[INV_A], geo[BETA], geo[BETA + 1], geo[BETA + 2]
    s00, s01, s02, s11, s12, s22 = geo[S], geo[S + 1], geo[S + 2], geo[S + 3], geo[S + 4], geo[S + 5]
    x = u[u.shape[0] - 1][first : first + m]
    if dim == 1:
        for j in range(m):
            t[j], centre[j] = position1(x[j], l2[j], inv_a)
    elif dim == 2:
        y = u[0][first : first + m]
        for j in range(m):
            t[j], centre[j] = position2(r2 - y[j], x[j], l2[j], inv_a, b2, s22)
    elif dim == 3:
        y = u[1][first : first + m]
        z = u[0][first : first + m]
        for j in range(m):
            t[j], centre[j] = position3(r1 - z[j], r2 - y[j], x[j], l2[j], inv_a, b1, b2, s11, s12, s22)
    else:
        y = u[2][first : first + m]
        z = u[1][first : first + m]
        w = u[0][first : first + m]
        for j in range(m):
            t[j], centre[j] = position4(
                r0 - w[j], r1 - z[j], r2 - y[j], x[j], l2[j], inv_a, b0, b1, b2, s00, s01, s02, s11, s12, s22
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


@array_function
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


@array_function
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


# --- the product form: what a sample weighs on a row ------------------------------------------------------------------


@device_function
def _along(kind, z, s, inv_l2, decay):
    """Kernel number `kind` along one axis, z cells from the sample; the same bits on every device."""
    return kernel_value(kind, product(product(s, product(z, z)), inv_l2), decay)


@array_function
def outer_factor(u, i, inv_l2, k0, k1, k2, geo, ints):
    """Product of the kernels along the outer axes: 1 for a radial kernel."""
    kind, dim, factor = ints[KIND] - PRODUCT, ints[DIM], 1.0
    if kind >= 0:
        if dim > 1:
            factor *= _along(kind, k2 - u[dim - 2, i], geo[S + 5], inv_l2, geo[DECAY])
        if dim > 2:
            factor *= _along(kind, k1 - u[dim - 3, i], geo[S + 3], inv_l2, geo[DECAY])
        if dim > 3:
            factor *= _along(kind, k0 - u[0, i], geo[S], inv_l2, geo[DECAY])
    return factor


@array_function
def product_weight(w, u, i, l2, k0, k1, k2, geo, ints):
    """Weight in quanta of sample i on a row, the kernels along the outer axes included; a whole number."""
    return np.float64(rint_i64(w * outer_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)))


# --- variant c: third differences ------------------------------------------------------------------------------------


@device_function
def quantise_c(t, centre, q, length):
    """Interval, value F at its start and slope G: F + G j - q j^2 at start + j."""
    lo, hi = row_interval(t, centre, length)
    w = centre - np.float64(lo)
    return lo, hi, rint_i64(product(fma(-w, w, t), q)), rint_i64(product(2.0 * w, q))


@array_function
def _intervals_c(u, first, m, r0, r1, r2, geo, ints, q, lo, hi, f, g):
    """`quantise_c` of m samples from `first` on: a loop per dimension, so that each vectorises."""
    inv_a, b0, b1, b2 = geo[INV_A], geo[BETA], geo[BETA + 1], geo[BETA + 2]
    s00, s01, s02, s11, s12, s22 = geo[S], geo[S + 1], geo[S + 2], geo[S + 3], geo[S + 4], geo[S + 5]
    dim, length = ints[DIM], ints[LENGTH]
    x = u[dim - 1][first : first + m]
    if dim == 1:
        for j in range(m):
            lo[j], hi[j], f[j], g[j] = quantise_c(inv_a, x[j], q, length)
    elif dim == 2:
        y = u[0][first : first + m]
        for j in range(m):
            t, centre = position2(r2 - y[j], x[j], 1.0, inv_a, b2, s22)
            lo[j], hi[j], f[j], g[j] = quantise_c(t, centre, q, length)
    elif dim == 3:
        y = u[1][first : first + m]
        z = u[0][first : first + m]
        for j in range(m):
            t, centre = position3(r1 - z[j], r2 - y[j], x[j], 1.0, inv_a, b1, b2, s11, s12, s22)
            lo[j], hi[j], f[j], g[j] = quantise_c(t, centre, q, length)
    else:
        y = u[2][first : first + m]
        z = u[1][first : first + m]
        w = u[0][first : first + m]
        for j in range(m):
            t, centre = position4(r0 - w[j], r1 - z[j], r2 - y[j], x[j], 1.0, inv_a, b0, b1, b2, s00, s01, s02, s11, s12, s22)
            lo[j], hi[j], f[j], g[j] = quantise_c(t, centre, q, length)


@array_function
def _add_c(lo, hi, f, g, m, q, acc):
    one, two = np.uint64(1), np.uint64(2)
    for j in range(m):
        i, e = np.uint64(lo[j]), np.uint64(hi[j])
        a, b, c = third_difference(f[j], g[j], q, np.int64(0))
        acc[i] += a
        acc[i + one] += b
        acc[i + two] += c
        a, b, c = third_difference(f[j], g[j], q, hi[j] - lo[j])
        acc[e] -= a
        acc[e + one] -= b
        acc[e + two] -= c


@array_function
def scatter_c(u, q, lam2, first, m, r0, r1, r2, geo, ints, fb, ib, acc):
    """Add the third differences of m samples on one row."""
    _intervals_c(u, first, m, r0, r1, r2, geo, ints, q[0], ib[0], ib[1], ib[2], ib[3])
    _add_c(ib[0], ib[1], ib[2], ib[3], m, np.int64(q[0]), acc)


@array_function
def advance_c(acc, lo, hi, ints, s):
    """Running sums over the cells [lo, hi), from those in s, which is updated."""
    s1, s2, s3 = s[0], s[1], s[2]
    for k in range(lo, hi):
        s1 += acc[k]
        s2 += s1
        s3 += s2
    s[0], s[1], s[2] = s1, s2, s3


@array_function
def jump_c(start, lo, hi, ints, s):
    """Add to the sums in s, which began at zero at cell lo, what those in `start` become at cell hi."""
    m = np.int64(hi - lo)
    s[2] += start[2] + m * start[1] + (m * (m + 1) // 2) * start[0]
    s[1] += start[1] + m * start[0]
    s[0] += start[0]


@array_function
def emit_c(acc, lo, hi, ints, geo, s, row):
    """Write the values of the cells [lo, hi), and clear the buffer."""
    s1, s2, s3 = s[0], s[1], s[2]
    scale = geo[SCALE]
    for k in range(lo, hi):
        s1 += acc[k]
        s2 += s1
        s3 += s2
        acc[k] = 0
        row[k] = scale * (s3 if s3 > 0 else 0)


# --- variant b: coefficients in the block coordinate -----------------------------------------------------------------


@device_function
def _block(t, centre, inv_block):
    """Block of the centre, distance from its middle and t, both in blocks."""
    x = product(centre, inv_block)
    block = np.int64(math.floor(x))
    return block, (x - np.float64(block)) - 0.5, product(product(t, inv_block), inv_block)


@device_function
def quantise0(t, centre, length):
    """Interval of the uniform kernel."""
    return row_interval_strict(t, centre, length)


@device_function
def quantise1(t, centre, q, length, inv_block, log_block, derivative):
    """Interval and the first two coefficients of degree 2 about the middle of the block of `lo`; the last is -q, or 0."""
    lo, hi = row_interval(t, centre, length)
    w = (product(centre, inv_block) - np.float64(lo >> log_block)) - 0.5
    tb = product(product(t, inv_block), inv_block)
    c0, c1 = forms.power_epanechnikov(w, tb)
    d0, d1 = forms.derivative_epanechnikov(w, tb)
    return (
        lo, hi,
        rint_i64(product(d0 if derivative else c0, q)), rint_i64(product(d1 if derivative else c1, q)),
    )  # fmt: skip


@device_function
def quantise2(t, centre, q, length, inv_block, derivative):
    """The same of degree 4: four coefficients, and q or 0."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1, c2, c3 = forms.derivative_biweight(w, tb) if derivative else forms.power_biweight(w, tb)
    return (
        lo, hi, block,
        rint_i64(product(c0, q)), rint_i64(product(c1, q)), rint_i64(product(c2, q)), rint_i64(product(c3, q)),
    )  # fmt: skip


@device_function
def quantise3(t, centre, q, length, inv_block, derivative):
    """The same of degree 6: six coefficients, and -q or 0."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1, c2, c3, c4, c5 = forms.derivative_triweight(w, tb) if derivative else forms.power_triweight(w, tb)
    return (
        lo, hi, block,
        rint_i64(product(c0, q)), rint_i64(product(c1, q)), rint_i64(product(c2, q)),
        rint_i64(product(c3, q)), rint_i64(product(c4, q)), rint_i64(product(c5, q)),
    )  # fmt: skip


@array_function
def _add0(t, centre, q, m, length, lo, hi, acc):
    for j in range(m):
        lo[j], hi[j] = quantise0(t[j], centre[j], length)
    for j in range(m):
        acc[np.uint64(lo[j])] += np.int64(q[j])
        acc[np.uint64(hi[j])] -= np.int64(q[j])


@array_function
def _intervals1(u, first, m, l2, q, r0, r1, r2, geo, ints, derivative, lo, hi, c0, c1):
    """`quantise1` of m samples from `first` on."""
    inv_a, b0, b1, b2 = geo[INV_A], geo[BETA], geo[BETA + 1], geo[BETA + 2]
    s00, s01, s02, s11, s12, s22 = geo[S], geo[S + 1], geo[S + 2], geo[S + 3], geo[S + 4], geo[S + 5]
    dim, length, inv_block = 1 if ints[KIND] >= PRODUCT else ints[DIM], ints[LENGTH], geo[INV_BLOCK]
    x = u[u.shape[0] - 1][first : first + m]
    if dim == 1:
        for j in range(m):
            lo[j], hi[j], c0[j], c1[j] = quantise1(l2[j] * inv_a, x[j], q[j], length, inv_block, ints[LOG_BLOCK], derivative)
    elif dim == 2:
        y = u[0][first : first + m]
        for j in range(m):
            t, centre = position2(r2 - y[j], x[j], l2[j], inv_a, b2, s22)
            lo[j], hi[j], c0[j], c1[j] = quantise1(t, centre, q[j], length, inv_block, ints[LOG_BLOCK], derivative)
    elif dim == 3:
        y = u[1][first : first + m]
        z = u[0][first : first + m]
        for j in range(m):
            t, centre = position3(r1 - z[j], r2 - y[j], x[j], l2[j], inv_a, b1, b2, s11, s12, s22)
            lo[j], hi[j], c0[j], c1[j] = quantise1(t, centre, q[j], length, inv_block, ints[LOG_BLOCK], derivative)
    else:
        y = u[2][first : first + m]
        z = u[1][first : first + m]
        w = u[0][first : first + m]
        for j in range(m):
            t, centre = position4(r0 - w[j], r1 - z[j], r2 - y[j], x[j], l2[j], inv_a, b0, b1, b2, s00, s01, s02, s11, s12, s22)
            lo[j], hi[j], c0[j], c1[j] = quantise1(t, centre, q[j], length, inv_block, ints[LOG_BLOCK], derivative)


@array_function
def _ends1(lo, hi, c0, c1, q, m, top, log_block, c2, e0, e1):
    """Last coefficient, and the first two about the block of `hi`."""
    for j in range(m):
        c2[j] = top * np.int64(q[j])
        e0[j], e1[j], _ = shift2(c0[j], c1[j], c2[j], (hi[j] >> log_block) - (lo[j] >> log_block))


@array_function
def _scatter1(lo, hi, c0, c1, c2, e0, e1, m, acc):
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for j in range(m):
        i, e = three * np.uint64(lo[j]), three * np.uint64(hi[j])
        acc[i] += c0[j]
        acc[i + one] += c1[j]
        acc[i + two] += c2[j]
        acc[e] -= e0[j]
        acc[e + one] -= e1[j]
        acc[e + two] -= c2[j]


@array_function
def _add2(t, centre, q, m, length, inv_block, derivative, top, log_block, ib, acc):
    lo, hi, block, c0, c1, c2, c3 = ib[0], ib[1], ib[2], ib[3], ib[4], ib[5], ib[6]
    for j in range(m):
        lo[j], hi[j], block[j], c0[j], c1[j], c2[j], c3[j] = quantise2(t[j], centre[j], q[j], length, inv_block, derivative)
    for j in range(m):
        b0 = lo[j] >> log_block
        a0, a1, a2, a3, a4 = shift4(c0[j], c1[j], c2[j], c3[j], top * np.int64(q[j]), b0 - block[j])
        i = np.uint64(5 * lo[j])
        acc[i] += a0
        acc[i + np.uint64(1)] += a1
        acc[i + np.uint64(2)] += a2
        acc[i + np.uint64(3)] += a3
        acc[i + np.uint64(4)] += a4
        a0, a1, a2, a3, a4 = shift4(a0, a1, a2, a3, a4, (hi[j] >> log_block) - b0)
        i = np.uint64(5 * hi[j])
        acc[i] -= a0
        acc[i + np.uint64(1)] -= a1
        acc[i + np.uint64(2)] -= a2
        acc[i + np.uint64(3)] -= a3
        acc[i + np.uint64(4)] -= a4


@array_function
def _add3(t, centre, q, m, length, inv_block, derivative, top, log_block, ib, acc):
    lo, hi, block, c0, c1, c2, c3, c4, c5 = ib[0], ib[1], ib[2], ib[3], ib[4], ib[5], ib[6], ib[7], ib[8]
    for j in range(m):
        lo[j], hi[j], block[j], c0[j], c1[j], c2[j], c3[j], c4[j], c5[j] = quantise3(
            t[j], centre[j], q[j], length, inv_block, derivative
        )
    for j in range(m):
        b0 = lo[j] >> log_block
        a0, a1, a2, a3, a4, a5, a6 = shift6(c0[j], c1[j], c2[j], c3[j], c4[j], c5[j], top * np.int64(q[j]), b0 - block[j])
        i = np.uint64(7 * lo[j])
        acc[i] += a0
        acc[i + np.uint64(1)] += a1
        acc[i + np.uint64(2)] += a2
        acc[i + np.uint64(3)] += a3
        acc[i + np.uint64(4)] += a4
        acc[i + np.uint64(5)] += a5
        acc[i + np.uint64(6)] += a6
        a0, a1, a2, a3, a4, a5, a6 = shift6(a0, a1, a2, a3, a4, a5, a6, (hi[j] >> log_block) - b0)
        i = np.uint64(7 * hi[j])
        acc[i] -= a0
        acc[i + np.uint64(1)] -= a1
        acc[i + np.uint64(2)] -= a2
        acc[i + np.uint64(3)] -= a3
        acc[i + np.uint64(4)] -= a4
        acc[i + np.uint64(5)] -= a5
        acc[i + np.uint64(6)] -= a6


@array_function
def scatter_b(u, q, lam2, first, m, r0, r1, r2, geo, ints, fb, ib, acc):
    """Add the polynomials of m samples on one row; mode p = 0..3 is the density, 4..6 the derivative of p = 1..3."""
    l2 = lam2[first : first + m] if lam2.size > 1 else fb[2][:m]
    qs = q[first : first + m] if q.size > 1 else fb[3][:m]
    t, centre, dim = fb[0], fb[1], ints[DIM]
    if ints[KIND] >= PRODUCT:
        qs, dim = fb[4], 1
        for j in range(m):
            w = q[first + j] if q.size > 1 else q[0]
            qs[j] = product_weight(w, u, first + j, l2[j], r0, r1, r2, geo, ints)
    mode, length, log_block, inv_block = ints[MODE], ints[LENGTH], ints[LOG_BLOCK], geo[INV_BLOCK]
    if mode == 1 or mode == 4:
        _intervals1(u, first, m, l2, qs, r0, r1, r2, geo, ints, mode == 4, ib[0], ib[1], ib[2], ib[3])
        top = np.int64(-1 if mode == 1 else 0)
        _ends1(ib[0], ib[1], ib[2], ib[3], qs, m, top, log_block, ib[4], ib[5], ib[6])
        _scatter1(ib[0], ib[1], ib[2], ib[3], ib[4], ib[5], ib[6], m, acc)
        return
    positions(u, first, m, l2, r0, r1, r2, dim, geo, t, centre)
    if mode == 0:
        _add0(t, centre, qs, m, length, ib[0], ib[1], acc)
    elif mode == 2 or mode == 5:
        _add2(t, centre, qs, m, length, inv_block, mode == 5, np.int64(1 if mode == 2 else 0), log_block, ib, acc)
    else:
        _add3(t, centre, qs, m, length, inv_block, mode == 6, np.int64(-1 if mode == 3 else 0), log_block, ib, acc)


@array_function
def channels(ints):
    """Coefficients per cell of variant b."""
    mode = ints[MODE]
    return 2 * (mode if mode < 4 else mode - 3) + 1


@array_function
def _shift(s, n, ints):
    mode = ints[MODE]
    if mode == 1 or mode == 4:
        s[0], s[1], s[2] = shift2(s[0], s[1], s[2], n)
    elif mode == 2 or mode == 5:
        s[0], s[1], s[2], s[3], s[4] = shift4(s[0], s[1], s[2], s[3], s[4], n)
    elif mode == 3 or mode == 6:
        s[0], s[1], s[2], s[3], s[4], s[5], s[6] = shift6(s[0], s[1], s[2], s[3], s[4], s[5], s[6], n)


@array_function
def advance_b(acc, lo, hi, ints, s):
    """Running coefficients over the cells [lo, hi), from those in s, which is updated."""
    width, log_block = channels(ints), ints[LOG_BLOCK]
    k = lo
    while k < hi:
        end = min(hi, ((k >> log_block) + 1) << log_block)
        for i in range(k, end):
            for c in range(width):
                s[c] += acc[i * width + c]
        if end == ((k >> log_block) + 1) << log_block:
            _shift(s, np.int64(1), ints)
        k = end


@array_function
def jump_b(start, lo, hi, ints, s):
    """Add to the coefficients in s, which began at zero at cell lo, what those in `start` become at cell hi."""
    _shift(start, np.int64((hi >> ints[LOG_BLOCK]) - (lo >> ints[LOG_BLOCK])), ints)
    for c in range(channels(ints)):
        s[c] += start[c]


@array_function
def _emit3(acc, lo, hi, x0, inv_block, scale, clamp, s, row):
    s0, s1, s2 = s[0], s[1], s[2]
    r = row[lo:hi]
    a = acc[3 * lo : 3 * hi]
    for i in range(r.size):
        s0 += a[3 * i]
        s1 += a[3 * i + 1]
        s2 += a[3 * i + 2]
        a[3 * i] = 0
        a[3 * i + 1] = 0
        a[3 * i + 2] = 0
        x = np.float64(i) * inv_block + x0  # exact
        v = fused(fused(np.float64(s2), x, np.float64(s1)), x, np.float64(s0))
        r[i] = scale * (0.0 if clamp and v < 0.0 else v)
    s[0], s[1], s[2] = s0, s1, s2


@array_function
def emit_b(acc, lo, hi, ints, geo, s, row):
    """Write the values of the cells [lo, hi), and clear the buffer."""
    width, log_block, inv_block, scale = channels(ints), ints[LOG_BLOCK], geo[INV_BLOCK], geo[SCALE]
    clamp = ints[MODE] < 4
    k = lo
    while k < hi:
        start = (k >> log_block) << log_block
        end = min(hi, start + (1 << log_block))
        if width == 3:
            _emit3(acc, k, end, np.float64(k - start) * inv_block - 0.5, inv_block, scale, clamp, s, row)
        else:
            for i in range(k, end):
                x = np.float64(i - start) * inv_block - 0.5  # exact
                v = 0.0
                for c in range(width - 1, -1, -1):
                    s[c] += acc[i * width + c]
                    acc[i * width + c] = 0
                    v = fused(v, x, np.float64(s[c]))
                row[i] = scale * (0.0 if clamp and v < 0.0 else v)
        if end == start + (1 << log_block):
            _shift(s, np.int64(1), ints)
        k = end


# --- one sample on one row, for the GPU ---------------------------------------------------------------------------


@device_function
def pick(numbers, j):
    """The j-th of seven numbers."""
    a, b, c, d, e, f, g = numbers
    return a if j == 0 else b if j == 1 else c if j == 2 else d if j == 3 else e if j == 4 else f if j == 5 else g


@device_function
def shift_any(a, b, c, d, e, f, g, n, width):
    """Taylor shift of `width` coefficients."""
    if width == 3:
        a, b, c = shift2(a, b, c, n)
    elif width == 5:
        a, b, c, d, e = shift4(a, b, c, d, e, n)
    elif width == 7:
        a, b, c, d, e, f, g = shift6(a, b, c, d, e, f, g, n)
    return a, b, c, d, e, f, g


@array_function
def coefficients(t, centre, q, ints, geo):
    """Interval, block of the centre and up to seven coefficients, any mode."""
    mode, length, inv_block, zero, top = ints[MODE], ints[LENGTH], geo[INV_BLOCK], np.int64(0), np.int64(q)
    if mode == 0:
        lo, hi = quantise0(t, centre, length)
        return lo, hi, zero, top, zero, zero, zero, zero, zero, zero
    if mode == 1 or mode == 4:
        lo, hi, a, b = quantise1(t, centre, q, length, inv_block, ints[LOG_BLOCK], mode == 4)
        return lo, hi, lo >> ints[LOG_BLOCK], a, b, -top if mode == 1 else zero, zero, zero, zero, zero
    if mode == 2 or mode == 5:
        lo, hi, block, a, b, c, d = quantise2(t, centre, q, length, inv_block, mode == 5)
        return lo, hi, block, a, b, c, d, top if mode == 2 else zero, zero, zero
    lo, hi, block, a, b, c, d, e, f = quantise3(t, centre, q, length, inv_block, mode == 6)
    return lo, hi, block, a, b, c, d, e, f, -top if mode == 3 else zero


@array_function
def sample_on_row(u, i, q, lam2, k0, k1, k2, geo, ints):
    """(t, centre), weight in quanta of sample i on a row."""
    l2 = lam2[i] if lam2.size > 1 else lam2[0]
    w = q[i] if q.size > 1 else q[0]
    if ints[KIND] < PRODUCT:
        t, centre = position(u, i, l2, k0, k1, k2, ints[DIM], geo)
        return t, centre, w
    t, centre = position1(u[u.shape[0] - 1, i], l2, geo[INV_A])
    return t, centre, product_weight(w, u, i, l2, k0, k1, k2, geo, ints)


@array_function
def update_c(t, centre, w, geo, ints):
    """What variant c adds for a sample on a row: where, how many numbers, how far apart cells are, the numbers at both ends."""
    lo, hi, f, g = quantise_c(t, centre, w, ints[LENGTH])
    z, zero = np.int64(w), np.int64(0)
    a, b, c = third_difference(f, g, z, zero)
    d, e, f = third_difference(f, g, z, np.int64(hi - lo))
    return lo, hi, 3, 1, (a, b, c, zero, zero, zero, zero), (d, e, f, zero, zero, zero, zero)


@array_function
def update_b(t, centre, w, geo, ints):
    """The same for variant b."""
    lo, hi, block, a, b, c, d, e, f, g = coefficients(t, centre, w, ints, geo)
    n, log_block = channels(ints), ints[LOG_BLOCK]
    a, b, c, d, e, f, g = shift_any(a, b, c, d, e, f, g, (lo >> log_block) - block, n)
    return lo, hi, n, n, (a, b, c, d, e, f, g), shift_any(a, b, c, d, e, f, g, (hi >> log_block) - (lo >> log_block), n)


# --- rows: a task owns rows, walks over the samples that touch them, and writes each row once -------------------------
# `_scatter`, `_emit` ... are bound to one of the variants. `scratch` holds one buffer per task (CPU) or block (CUDA), zeros.

_scatter = _emit = _advance = _jump = _update = None


def rows_cpu(u, q, lam2, starts, geo, ints, scratch, out):
    tasks = scratch.shape[0]
    for index in prange(tasks):
        task = np.int64(index)
        share = (task * 37) % tasks if tasks % 37 else task  # neighbours in time are apart in space: equal loads
        fb = np.empty((5, CHUNK))
        fb[2, :] = lam2[0]
        fb[3, :] = q[0]
        ib = np.empty((9, CHUNK), np.int64)
        s = np.zeros(8, np.int64)
        acc = scratch[share]
        n1, n2 = ints[LINES + 1], ints[LINES + 2]
        for row in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            line = row + ints[FIRST_ROW]
            k0, k1, k2 = np.float64(line // n2 // n1), np.float64(line // n2 % n1), np.float64(line % n2)
            touched = False
            a0, e0 = bins_of(geo, ints, 0, k0)
            a1, e1 = bins_of(geo, ints, 1, k1)
            for c0 in range(a0, e0):
                for c1 in range(a1, e1):
                    first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
                    while first < last:
                        m = min(CHUNK, last - first)
                        _scatter(u, q, lam2, first, m, k0, k1, k2, geo, ints, fb, ib, acc)
                        first += m
                        touched = True
            if touched:
                s[:] = 0
                _emit(acc, 0, out.shape[1], ints, geo, s, out[row])
                acc[acc.size // (out.shape[1] + PAD) * out.shape[1] :] = 0
            else:
                out[row, :] = 0.0


def rows_cuda(u, q, lam2, starts, geo, ints, scratch, out):
    """Block per row; the row's buffer stays in the second-level cache, where 64-bit integer adds are native."""
    state = cuda.shared.array((THREADS, 8), np.int64)
    thread, threads = cuda.threadIdx.x, min(cuda.blockDim.x, THREADS)
    blocks = min(cuda.gridDim.x, scratch.shape[0])
    acc = scratch[min(cuda.blockIdx.x, blocks - 1)]
    length = out.shape[1]
    n1, n2 = ints[LINES + 1], ints[LINES + 2]
    for row in range(cuda.blockIdx.x if cuda.blockIdx.x < blocks else out.shape[0], out.shape[0], blocks):
        line = row + ints[FIRST_ROW]
        k0, k1, k2 = float(line // n2 // n1), float(line // n2 % n1), float(line % n2)
        a0, e0 = bins_of(geo, ints, 0, k0)
        a1, e1 = bins_of(geo, ints, 1, k1)
        for c0 in range(a0, e0):
            for c1 in range(a1, e1):
                first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
                for i in range(first + thread, last, cuda.blockDim.x):
                    t, centre, w = sample_on_row(u, i, q, lam2, k0, k1, k2, geo, ints)
                    lo, hi, n, apart, at_lo, at_hi = _update(t, centre, w, geo, ints)
                    for j in range(n if hi > lo else 0):
                        cuda.atomic.add(acc, lo * apart + j, pick(at_lo, j))
                        cuda.atomic.add(acc, hi * apart + j, -pick(at_hi, j))
        cuda.syncthreads()
        share = (length + threads - 1) // threads
        lo, hi = min(length, thread * share), min(length, (thread + 1) * share)
        if thread < threads:
            for j in range(8):
                state[thread, j] = 0
            _advance(acc, lo, hi, ints, state[thread])
        cuda.syncthreads()
        if thread == 0:
            start = cuda.local.array(8, np.int64)
            new = cuda.local.array(8, np.int64)
            for j in range(8):
                start[j] = 0
            for other in range(threads):
                for j in range(8):
                    new[j] = state[other, j]
                    state[other, j] = start[j]
                _jump(start, min(length, other * share), min(length, (other + 1) * share), ints, new)
                for j in range(8):
                    start[j] = new[j]
        cuda.syncthreads()
        if thread < threads:
            _emit(acc, lo, hi, ints, geo, state[thread], out[row])
        for i in range(scratch.shape[1] // (length + PAD) * length + thread, scratch.shape[1], cuda.blockDim.x):
            acc[i] = 0
        cuda.syncthreads()


# --- the associative form: scatter into a state, then finish it ------------------------------------------------------


def accumulate_cpu(u, q, lam2, starts, geo, ints, state):
    tasks = min(TASKS, state.shape[0])
    for index in prange(tasks):
        task = np.int64(index)
        share = (task * 37) % tasks if tasks % 37 else task
        fb = np.empty((5, CHUNK))
        fb[2, :] = lam2[0]
        fb[3, :] = q[0]
        ib = np.empty((9, CHUNK), np.int64)
        n1, n2 = ints[LINES + 1], ints[LINES + 2]
        for row in range(share * state.shape[0] // tasks, (share + 1) * state.shape[0] // tasks):
            k0, k1, k2 = np.float64(row // n2 // n1), np.float64(row // n2 % n1), np.float64(row % n2)
            acc = state[row]
            a0, e0 = bins_of(geo, ints, 0, k0)
            a1, e1 = bins_of(geo, ints, 1, k1)
            for c0 in range(a0, e0):
                for c1 in range(a1, e1):
                    first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
                    while first < last:
                        m = min(CHUNK, last - first)
                        _scatter(u, q, lam2, first, m, k0, k1, k2, geo, ints, fb, ib, acc)
                        first += m


def accumulate_cuda(u, q, lam2, starts, geo, ints, state):
    """Thread per sample; the samples need not be sorted. A line has one row here."""
    n0, n1, n2, dim = ints[LINES], ints[LINES + 1], ints[LINES + 2], ints[DIM]
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        a0, e0 = row_range(u, i, 0, dim, n0, geo)
        a1, e1 = row_range(u, i, 1, dim, n1, geo)
        a2, e2 = row_range(u, i, 2, dim, n2, geo)
        for r0 in range(a0, e0):
            for r1 in range(a1, e1):
                for r2 in range(a2, e2):
                    acc = state[(r0 * n1 + r1) * n2 + r2]
                    t, centre, w = sample_on_row(u, i, q, lam2, float(r0), float(r1), float(r2), geo, ints)
                    lo, hi, n, apart, at_lo, at_hi = _update(t, centre, w, geo, ints)
                    for j in range(n if hi > lo else 0):
                        cuda.atomic.add(acc, lo * apart + j, pick(at_lo, j))
                        cuda.atomic.add(acc, hi * apart + j, -pick(at_hi, j))


@array_function
def row_range(u, i, axis, dim, lines, geo):
    """First row and end of one outer axis that the box of sample i touches."""
    if dim < 4 - axis:
        return 0, 1
    x = u[dim - 4 + axis, i]
    lo, hi = ceiling(x - geo[HALF + axis]), floor(x + geo[HALF + axis]) + 1.0
    return np.int64(max(lo, 0.0)), np.int64(min(hi, np.float64(lines)))


def finish_cpu(geo, ints, state, out):
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task = np.int64(index)
        s = np.zeros(8, np.int64)
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            acc = state[row].copy()
            s[:] = 0
            _emit(acc, 0, out.shape[1], ints, geo, s, out[row])


def finish_cuda(geo, ints, state, out):
    """Thread per row; the state is used up."""
    s = cuda.local.array(8, np.int64)
    for row in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        for j in range(8):
            s[j] = 0
        _emit(state[row], 0, out.shape[1], ints, geo, s, out[row])


# --- variant a: doubles, origin moved every 64 cells; Epanechnikov ----------------------------------------------------


@array_function
def add_a(acc, lo, hi, centre, t, q):
    """Add count, weight, first and second coefficient at lo, take them off at hi."""
    w = centre - np.float64(lo & ~63)
    acc[4 * lo] += 1.0
    acc[4 * lo + 1] += q
    acc[4 * lo + 2] += q * w
    acc[4 * lo + 3] += q * (t - w * w)
    w = centre - np.float64(hi & ~63)
    acc[4 * hi] -= 1.0
    acc[4 * hi + 1] -= q
    acc[4 * hi + 2] -= q * w
    acc[4 * hi + 3] -= q * (t - w * w)


@array_function
def emit_a(acc, length, scale, row):
    """Write one row and clear the buffer; where no interval is open, the sums are set to exact zeros."""
    n, s0, s1, s2 = 0.0, 0.0, 0.0, 0.0
    for k in range(length):
        x = np.float64(k & 63)
        if k & 63 == 0 and k > 0:
            s2 += 64.0 * (2.0 * s1 - 64.0 * s0)
            s1 -= 64.0 * s0
        n += acc[4 * k]
        s0 += acc[4 * k + 1]
        s1 += acc[4 * k + 2]
        s2 += acc[4 * k + 3]
        if n == 0.0:
            s0, s1, s2 = 0.0, 0.0, 0.0
        v = s2 + x * (2.0 * s1 - x * s0)
        row[k] = scale * (v if v > 0.0 else 0.0)
    acc[:] = 0.0


@array_function
def row_a(u, q, lam2, starts, geo, ints, row, acc, out_row):
    """One row by variant a."""
    n1, n2 = ints[LINES + 1], ints[LINES + 2]
    line = row + ints[FIRST_ROW]
    k0, k1, k2 = np.float64(line // n2 // n1), np.float64(line // n2 % n1), np.float64(line % n2)
    a0, e0 = bins_of(geo, ints, 0, k0)
    a1, e1 = bins_of(geo, ints, 1, k1)
    for c0 in range(a0, e0):
        for c1 in range(a1, e1):
            first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
            for i in range(first, last):
                l2 = lam2[i] if lam2.size > 1 else lam2[0]
                t, centre = position(u, i, l2, k0, k1, k2, ints[DIM], geo)
                lo, hi = row_interval(t, centre, ints[LENGTH])
                if hi > lo:
                    add_a(acc, lo, hi, centre, t, q[i] if q.size > 1 else q[0])
    emit_a(acc, out_row.size, geo[SCALE], out_row)


def rows_a_cpu(u, q, lam2, starts, geo, ints, scratch, out):
    tasks = scratch.shape[0]
    for index in prange(tasks):
        task = np.int64(index)
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            row_a(u, q, lam2, starts, geo, ints, row, scratch[task], out[row])


def rows_a_cuda(u, q, lam2, starts, geo, ints, scratch, out):
    """Thread per buffer, each with its share of the rows: the order of the doubles is that of the CPU."""
    tasks = scratch.shape[0]
    for task in range(cuda.grid(1), tasks, cuda.gridsize(1)):
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            row_a(u, q, lam2, starts, geo, ints, row, scratch[task], out[row])


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
    rest = 0.0 if ints[KIND] >= PRODUCT else l2 - geo[A] * t
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


def direct_cpu(u, q, lam2, starts, geo, ints, out):
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task = np.int64(index)
        share = (task * 37) % tasks if tasks % 37 else task
        n1, n2 = ints[LINES + 1], ints[LINES + 2]
        separable, kind = ints[KIND] >= PRODUCT, ints[KIND] % PRODUCT
        for row in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            line = row + ints[FIRST_ROW]
            k0, k1, k2 = np.float64(line // n2 // n1), np.float64(line // n2 % n1), np.float64(line % n2)
            r = out[row]
            r[:] = 0.0
            a0, e0 = bins_of(geo, ints, 0, k0)
            a1, e1 = bins_of(geo, ints, 1, k1)
            for c0 in range(a0, e0):
                for c1 in range(a1, e1):
                    first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
                    for i in range(first, last):
                        l2 = lam2[i] if lam2.size > 1 else lam2[0]
                        lo, hi, centre, rest = direct_bounds(u, i, l2, k0, k1, k2, geo, ints)
                        w = (q[i] if q.size > 1 else q[0]) * geo[SCALE]
                        if separable:
                            w *= outer_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                        add_direct(r, lo, hi, centre, geo[A], rest, 1.0 / l2, w, kind, geo[DECAY])


def direct_cuda(u, q, lam2, starts, geo, ints, out):
    """Gather, thread per grid point: any kernel and form, no atomics."""
    n1, n2, length, dim = ints[LINES + 1], ints[LINES + 2], ints[LENGTH], ints[DIM]
    separable, kind = ints[KIND] >= PRODUCT, ints[KIND] % PRODUCT
    for point in range(cuda.grid(1), out.shape[0] * length, cuda.gridsize(1)):
        row, cell = point // length, point % length
        line = row + ints[FIRST_ROW]
        k0, k1, k2 = float(line // n2 // n1), float(line // n2 % n1), float(line % n2)
        total = 0.0
        a0, e0 = bins_of(geo, ints, 0, k0)
        a1, e1 = bins_of(geo, ints, 1, k1)
        for c0 in range(a0, e0):
            for c1 in range(a1, e1):
                first, last = run_of(starts, geo, ints, k0, k1, k2, c0, c1)
                for i in range(first, last):
                    l2 = lam2[i] if lam2.size > 1 else lam2[0]
                    t, centre = position(u, i, l2, k0, k1, k2, dim, geo)
                    x = float(cell) - (u[dim - 1, i] if separable else centre)
                    rest = 0.0 if separable else l2 - geo[A] * t
                    v = kernel_value(kind, max(geo[A] * x * x + rest, 0.0) / l2, geo[DECAY])
                    v *= outer_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                    total += (q[i] if q.size > 1 else q[0]) * v
        out[row, cell] = total * geo[SCALE]


def direct_atomic_cpu(u, q, lam2, starts, geo, ints, out):
    n0, n1, n2, dim = ints[LINES], ints[LINES + 1], ints[LINES + 2], ints[DIM]
    for index in prange(TASKS):
        task = np.int64(index)
        for i in range(task * u.shape[1] // TASKS, (task + 1) * u.shape[1] // TASKS):
            l2 = lam2[i] if lam2.size > 1 else lam2[0]
            w = (q[i] if q.size > 1 else q[0]) * geo[SCALE]
            a0, e0 = row_range(u, i, 0, dim, n0, geo)
            a1, e1 = row_range(u, i, 1, dim, n1, geo)
            a2, e2 = row_range(u, i, 2, dim, n2, geo)
            for r0 in range(a0, e0):
                for r1 in range(a1, e1):
                    for r2 in range(a2, e2):
                        row = (r0 * n1 + r1) * n2 + r2 - ints[FIRST_ROW]
                        if row >= 0 and row < out.shape[0]:
                            k0, k1, k2 = np.float64(r0), np.float64(r1), np.float64(r2)
                            lo, hi, centre, rest = direct_bounds(u, i, l2, k0, k1, k2, geo, ints)
                            v = w * outer_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                            for cell in range(lo, hi):
                                x = np.float64(cell) - centre
                                q1 = max(geo[A] * x * x + rest, 0.0) / l2
                                atomic_add(out[row], cell, v * kernel_value(ints[KIND] % PRODUCT, q1, geo[DECAY]))


def direct_atomic_cuda(u, q, lam2, starts, geo, ints, out):
    """The reference's way: thread per sample, which adds its box, or the crop of it, to zeros."""
    n0, n1, n2, dim = ints[LINES], ints[LINES + 1], ints[LINES + 2], ints[DIM]
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        l2 = lam2[i] if lam2.size > 1 else lam2[0]
        w = (q[i] if q.size > 1 else q[0]) * geo[SCALE]
        a0, e0 = row_range(u, i, 0, dim, n0, geo)
        a1, e1 = row_range(u, i, 1, dim, n1, geo)
        a2, e2 = row_range(u, i, 2, dim, n2, geo)
        for r0 in range(a0, e0):
            for r1 in range(a1, e1):
                for r2 in range(a2, e2):
                    row = (r0 * n1 + r1) * n2 + r2 - ints[FIRST_ROW]
                    if row >= 0 and row < out.shape[0]:
                        k0, k1, k2 = float(r0), float(r1), float(r2)
                        lo, hi, centre, rest = direct_bounds(u, i, l2, k0, k1, k2, geo, ints)
                        v = w * outer_factor(u, i, 1.0 / l2, k0, k1, k2, geo, ints)
                        for cell in range(lo, hi):
                            x = float(cell) - centre
                            q1 = max(geo[A] * x * x + rest, 0.0) / l2
                            cuda.atomic.add(out, (row, cell), v * kernel_value(ints[KIND] % PRODUCT, q1, geo[DECAY]))


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
    tasks = (out.size + 63) // 64
    for index in prange(tasks):
        task = np.int64(index)
        buffer, acc = np.empty(LANES), np.empty(LANES)
        for i in range(task * 64, min(out.size, task * 64 + 64)):
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
    tasks = (out.size + 63) // 64
    for index in prange(tasks):
        task = np.int64(index)
        buffer, acc = np.empty(LANES), np.empty(LANES)
        for i in range(task * 64, min(out.size, task * 64 + 64)):
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


# --- registration ------------------------------------------------------------------------------------------------------

_I = types.int64[::1]
_I2 = types.int64[:, ::1]


def _sorted(T):
    return (T[:, ::1], T[::1], T[::1], _I, T[::1], _I)  # u, q, lam2, starts, geo, ints


_DOUBLE = ("float64",)  # densities are summed in int64 or float64 and rounded to float32 once, on the host
_C = dict(_scatter=scatter_c, _emit=emit_c)
_B = dict(_scatter=scatter_b, _emit=emit_b)


def _rows(name, cpu, advance, jump, update):
    return Kernel(
        f"kde.rows_{name}", rows_cpu, rows_cuda, lambda T: [(*_sorted(T), _I2, T[:, ::1])], dtypes=_DOUBLE,
        cpu_only={"_scatter": cpu["_scatter"]}, cuda_only={"_advance": advance, "_jump": jump, "_update": update},
        _emit=cpu["_emit"],
    )  # fmt: skip


def _accumulate(name, cpu, update):
    return Kernel(
        f"kde.accumulate_{name}", accumulate_cpu, accumulate_cuda, lambda T: [(*_sorted(T), _I2)], dtypes=_DOUBLE,
        cpu_only={"_scatter": cpu["_scatter"]}, cuda_only={"_update": update},
    )  # fmt: skip


def _finish(name, cpu):
    return Kernel(
        f"kde.finish_{name}", finish_cpu, finish_cuda, lambda T: [(T[::1], _I, _I2, T[:, ::1])], dtypes=_DOUBLE,
        _emit=cpu["_emit"],
    )  # fmt: skip


ROWS = {"c": _rows("c", _C, advance_c, jump_c, update_c), "b": _rows("b", _B, advance_b, jump_b, update_b)}
ACCUMULATE = {"c": _accumulate("c", _C, update_c), "b": _accumulate("b", _B, update_b)}
FINISH = {"c": _finish("c", _C), "b": _finish("b", _B)}
ROWS_A = Kernel("kde.rows_a", rows_a_cpu, rows_a_cuda, lambda T: [(*_sorted(T), T[:, ::1], T[:, ::1])], dtypes=_DOUBLE)
DIRECT = Kernel("kde.direct", direct_cpu, direct_cuda, lambda T: [(*_sorted(T), T[:, ::1])], dtypes=_DOUBLE)
DIRECT_ATOMIC = Kernel(
    "kde.direct_atomic", direct_atomic_cpu, direct_atomic_cuda, lambda T: [(*_sorted(T), T[:, ::1])], dtypes=_DOUBLE
)
CELLS = Kernel(
    "kde.cells", cells_cpu, cells_cuda,
    lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], _I, T[:, ::1], T[::1], _I, _I, T, T, T[::1])], dtypes=_DOUBLE,
)  # fmt: skip
EXHAUSTIVE = Kernel(
    "kde.exhaustive", exhaustive_cpu, exhaustive_cuda,
    lambda T: [(T[:, ::1], T[:, ::1], T[::1], T[::1], _I, T, T, T[::1])], dtypes=_DOUBLE,
)  # fmt: skip
