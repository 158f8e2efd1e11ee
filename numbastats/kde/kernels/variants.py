"""Difference rows in integers: what a sample adds to a row, and what the running sums of it are.

Variant c keeps the third difference of every row as one int64 per cell, variant b the coefficients of the polynomial in the
block coordinate, 2p + 1 int64 per cell. Both are exact sums of integers, so no order of samples, threads or devices matters.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.compile import array_function, device_function
from numbastats.kde.kernels.geometry import (
    BETA,
    DIM,
    INV_A,
    INV_BLOCK,
    KIND,
    LENGTH,
    LOG_BLOCK,
    MODE,
    PRODUCT,
    SCALE,
    S,
    position,
    position1,
    position2,
    position3,
    position4,
    positions,
    product_weight,
)
from numbastats.scalar import kernels1d as forms
from numbastats.scalar.bits import fma
from numbastats.scalar.kernels1d import (
    fused,
    product,
    rint_i64,
    row_interval,
    row_interval_strict,
    shift2,
    shift4,
    shift6,
    third_difference,
)

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
