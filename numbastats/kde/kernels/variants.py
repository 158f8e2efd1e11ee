"""Difference rows in integers: the terms that a sample adds to a row, and their running sums.

On a row a sample is one polynomial between two cells. Its coefficients about cell 0 are added where it starts and taken off
where it ends; running sums of them, shifted to the place of a cell, give the density. They are rounded about the block of cells
where the sample's centre lies, and shifted from block to block as integers modulo 2^64, which loses nothing: exact sums of
integers, so no order of samples, threads or devices matters. Blocks of one cell are variant c, whose states may instead keep the
third difference of every row, 8 bytes a cell; longer blocks are variant b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numbastats._core.kernel import array_function, bind, device_function
from numbastats.kde.kernels.geometry import CHUNK, bins_near, position, positions, product_weight, row_of, run_near
from numbastats.scalar import kde as forms
from numbastats.scalar.kde import fused, product, rint_i64, row_interval, row_interval_strict, shift6, smaller, third_difference

STRIDE = {"c": 1, 0: 1, 1: 3, 2: 5, 3: 7}  # int64 per cell of a row's buffer, by the kernel's power

# What follows is written for polynomials of degree 6 and bound to those of every power, for which the branches over `_degree`
# and the sums and products with constant zeros vanish.
_coefficients = _interval = _quantise = _quantise_slope = _fill = _fill_slopes = _add = _degree = _last = _stride = None

# --- one sample on one row: interval, and coefficients about cell 0 ------------------------------------------------------


@device_function
def _block(t, centre, inv_block):
    """Block border nearest to the centre, distance from it and t, both in blocks."""
    x = product(centre, inv_block)
    block = rint_i64(x)
    return block, x - np.float64(block), product(t, product(inv_block, inv_block))


@device_function
def slope(w, t):
    """Coefficients of the derivative of a polynomial."""
    _, c1, c2, c3, c4, c5, c6 = _coefficients(w, t)
    return c1, 2.0 * c2, 3.0 * c3, 4.0 * c4, 5.0 * c5, 6.0 * c6, 0.0


@device_function
def quantise(t, centre, q, length, inv_block):
    """First cell and end of a sample on a row, and the coefficients of its polynomial in quanta."""
    lo, hi = _interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1, c2, c3, c4, c5, _ = _coefficients(w, tb)
    top, zero = np.int64(_last * q), np.int64(0)
    n0 = rint_i64(product(c0, q)) if _degree > 0 else top
    n1 = rint_i64(product(c1, q)) if _degree > 1 else zero
    n2 = rint_i64(product(c2, q)) if _degree > 2 else top if _degree == 2 else zero
    n3 = rint_i64(product(c3, q)) if _degree > 3 else zero
    n4 = rint_i64(product(c4, q)) if _degree > 4 else top if _degree == 4 else zero
    n5 = rint_i64(product(c5, q)) if _degree > 5 else zero
    n6 = top if _degree == 6 else zero
    return lo, hi, shift6(n0, n1, n2, n3, n4, n5, n6, -block)


# --- many samples on one row, CPU: a vectorised pass computes, a second adds ------------------------------------------------
# The first m of CHUNK samples count; `_stride` numbers of `acc` belong to a cell. All arrays are whole: a slice in these loops
# would cost more than their work.


class Work(NamedTuple):
    """Scratch of a task: arrays for a chunk of samples, seven numbers for each in `pairs`; first and end of every run."""

    t: Any
    centre: Any
    weights: Any
    scales: Any
    lo: Any
    hi: Any
    top: Any
    pairs: Any
    runs: Any


@array_function(host=False, allocates=True)
def work_for(q, lam2, g):
    """`Work` for the samples and the cells of a grid, and 8 integers for running sums."""
    n = CHUNK + 24  # consecutive arrays must not lie a page apart
    f, i = np.empty(4 * n + 8), np.empty(10 * n + 16, np.int64)
    f, i = f[-(f.ctypes.data >> 3) & 7 :], i[-(i.ctypes.data >> 3) & 7 :]  # vectors must not lie across cache lines
    f[:], i[:] = 0.0, 0
    f[2 * n : 3 * n] = q[0]
    f[3 * n :] = lam2[0]
    runs = np.empty((2, g.bins0 * g.bins1), np.int64)
    t, centre, weights, scales, lo, hi, top = (
        f[:n],
        f[n : 2 * n],
        f[2 * n : 3 * n],
        f[3 * n :],
        i[:n],
        i[n : 2 * n],
        i[2 * n : 3 * n],
    )
    return Work(t, centre, weights, scales, lo, hi, top, i[3 * n : 10 * n], runs), i[10 * n : 10 * n + 8]


@device_function
def fill(work, g):
    """`quantise` of a chunk: the k-th coefficients stand from k CHUNK on."""
    t, centre, weights, lo, hi, pairs = work.t, work.centre, work.weights, work.lo, work.hi, work.pairs
    length, inv_block = g.length, g.inv_block
    for j in range(CHUNK):
        a, b, numbers = _quantise(t[j], centre[j], weights[j], length, inv_block)
        lo[j], hi[j], pairs[j] = _stride * a, _stride * b, numbers[0]
        if _degree > 1:
            pairs[CHUNK + j], pairs[2 * CHUNK + j] = numbers[1], numbers[2]
        if _degree > 3:
            pairs[3 * CHUNK + j], pairs[4 * CHUNK + j] = numbers[3], numbers[4]
        if _degree > 5:
            pairs[5 * CHUNK + j], pairs[6 * CHUNK + j] = numbers[5], numbers[6]


@device_function
def add(work, m, g, acc):
    """All coefficients."""
    if g.mode > 3:
        _fill_slopes(work, g)
    else:
        _fill(work, g)
    lo, hi, pairs = work.lo, work.hi, work.pairs
    for j in range(m):
        i, e = np.uint64(lo[j]), np.uint64(hi[j])
        for c in range(_degree + 1):
            acc[i + np.uint64(c)] += pairs[c * CHUNK + j]
        for c in range(_degree + 1):
            acc[e + np.uint64(c)] -= pairs[c * CHUNK + j]


@device_function
def add_third(work, m, g, acc):
    """Third differences, for power 1 and blocks of one cell."""
    _fill(work, g)
    weights, lo, hi, pairs = work.weights, work.lo, work.hi, work.pairs
    one, two = np.uint64(1), np.uint64(2)
    for j in range(m):
        q = np.int64(weights[j])
        i, e = np.uint64(lo[j]), np.uint64(hi[j])
        a, b, c = third_difference(pairs[j], pairs[CHUNK + j], q, lo[j])
        acc[i] += a
        acc[i + one] += b
        acc[i + two] += c
        a, b, c = third_difference(pairs[j], pairs[CHUNK + j], q, hi[j])
        acc[e] -= a
        acc[e + one] -= b
        acc[e + two] -= c


@array_function(host=False)
def runs_of(starts, row, g, runs):
    """Runs of samples that can touch a row, first and end; their number."""
    count = 0
    near = bins_near(row, g)
    for b in range(near[3]):
        first, last = run_near(starts, row, near, b, g)
        if first < last:
            runs[0, count], runs[1, count] = first, last
            count += 1
    return count


@device_function
def _copy(source, first, target, at, m):
    i, k = np.uint64(first), np.uint64(at)
    for j in range(np.uint64(m)):
        target[k + j] = source[i + j]


@array_function(host=False)
def _weigh(u, q, first, m, at, row, g, work):
    """Weights of the product form on a row."""
    l2, weights = work.scales, work.weights
    for j in range(m):
        w = q[first + j] if q.size > 1 else q[0]
        weights[at + j] = product_weight(w, u, first + j, l2[at + j], row, g)


@array_function(host=False)
def scatter(u, q, lam2, starts, g, line, work, acc):
    """Add all samples that touch a row to its buffer, and say whether there were any."""
    row, runs = row_of(line, g), work.runs
    count, run = runs_of(starts, row, g, runs), 0
    while run < count:
        m = np.int64(0)  # not a literal, for which the functions that take m would be compiled once more
        while m < CHUNK and run < count:  # short runs share a chunk
            first, end = runs[0, run], runs[1, run]
            take = smaller(CHUNK - m, end - first)
            if lam2.size > 1:
                _copy(lam2, first, work.scales, m, take)
            if g.separable:
                _weigh(u, q, first, take, m, row, g, work)
            elif q.size > 1:
                _copy(q, first, work.weights, m, take)
            positions(u, first, take, work.scales, m, row, g, work.t, work.centre)
            m += take
            runs[0, run] = first + take
            run += 1 if first + take == end else 0
        _add(work, m, g, acc)
    return count > 0


# --- running sums ------------------------------------------------------------------------------------------------------------
# s: sums over the cells before `lo`, updated. Values of [lo, hi) go to `row`.


@array_function(host=False)
def advance(acc, lo, hi, stride, channels, s):
    """Running sums over the cells [lo, hi)."""
    for k in range(lo, hi):
        for c in range(channels):
            s[c] += acc[k * stride + c]


@device_function
def _place(k, log_block, inv_block):
    """Block border nearest to cell k, and the distance from it in blocks, exact."""
    block = (k + ((1 << log_block) >> 1)) >> log_block
    return block, np.float64(k - (block << log_block)) * inv_block


@array_function(host=False)
def emit(acc, lo, hi, g, s, row):
    """From coefficients."""
    zeros = np.int64(0), np.int64(0)
    s0 = s[0]
    s1, s2 = (s[1], s[2]) if _degree > 1 else zeros
    s3, s4 = (s[3], s[4]) if _degree > 3 else zeros
    s5, s6 = (s[5], s[6]) if _degree > 5 else zeros
    log_block, inv_block, scale, clamp = g.log_block, g.inv_block, g.scale, g.mode < 4
    r, a = row[lo:hi], acc[_stride * lo : _stride * hi]
    for i in range(r.size):
        k = _stride * i
        s0 += a[k]
        if _degree > 1:
            s1, s2 = s1 + a[k + 1], s2 + a[k + 2]
        if _degree > 3:
            s3, s4 = s3 + a[k + 3], s4 + a[k + 4]
        if _degree > 5:
            s5, s6 = s5 + a[k + 5], s6 + a[k + 6]
        block, x = _place(lo + i, log_block, inv_block)
        c0, c1, c2, c3, c4, c5, c6 = shift6(s0, s1, s2, s3, s4, s5, s6, block)
        v = fused(fused(np.float64(c6), x, np.float64(c5)), x, np.float64(c4)) if _degree > 5 else np.float64(c4)
        v = fused(fused(v, x, np.float64(c3)), x, np.float64(c2)) if _degree > 3 else np.float64(c2)
        v = fused(fused(v, x, np.float64(c1)), x, np.float64(c0)) if _degree > 1 else np.float64(c0)
        r[i] = scale * (0.0 if clamp and v < 0.0 else v)
    s[0], s[1], s[2], s[3], s[4], s[5], s[6] = s0, s1, s2, s3, s4, s5, s6


@array_function(host=False)
def emit_third(acc, lo, hi, g, s, row):
    """From third differences."""
    s1, s2, s3 = s[0], s[1], s[2]
    scale, r, a = g.scale, row[lo:hi], acc[lo:hi]
    for i in range(r.size):
        s1 += a[i]
        s2 += s1
        s3 += s2
        r[i] = scale * (s3 if s3 > 0 else 0)
    s[0], s[1], s[2] = s1, s2, s3


# --- one sample on one row, for the GPU: interval, number of channels, what to add at the start and to take off at the end ---


@device_function
def pick(numbers, j):
    """The j-th of seven numbers."""
    a, b, c, d, e, f, h = numbers
    return a if j == 0 else b if j == 1 else c if j == 2 else d if j == 3 else e if j == 4 else f if j == 5 else h


@array_function(host=False)
def sample_on_row(u, i, q, lam2, row, g):
    """(t, centre), weight in quanta of sample i on a row."""
    l2 = lam2[i] if lam2.size > 1 else lam2[0]
    w = q[i] if q.size > 1 else q[0]
    t, centre = position(u, i, l2, row, g)
    return t, centre, product_weight(w, u, i, l2, row, g) if g.separable else w


@array_function(host=False)
def update(t, centre, w, g):
    """Coefficients."""
    if g.mode > 3:
        lo, hi, numbers = _quantise_slope(t, centre, w, g.length, g.inv_block)
    else:
        lo, hi, numbers = _quantise(t, centre, w, g.length, g.inv_block)
    return lo, hi, _degree + 1, numbers, numbers


@array_function(host=False)
def update_third(t, centre, w, g):
    """Third differences."""
    lo, hi, numbers = _quantise(t, centre, w, g.length, g.inv_block)
    q, zero = np.int64(w), np.int64(0)
    a, b, c = third_difference(numbers[0], numbers[1], q, lo)
    d, e, f = third_difference(numbers[0], numbers[1], q, hi)
    return lo, hi, 3, (a, b, c, zero, zero, zero, zero), (d, e, f, zero, zero, zero, zero)


POLYNOMIALS = (forms.power_uniform, forms.power_epanechnikov, forms.power_biweight, forms.power_triweight)


def _parts(power, stride, add=add, emit=emit, update=update):
    """The functions of a power, for the kernels of rows.py: of the samples that touch a row, of its values, and of a sample."""
    f, degree, interval = POLYNOMIALS[power], 2 * power, row_interval if power else row_interval_strict
    one = bind(quantise, _coefficients=f, _interval=interval, _degree=degree, _last=(-1.0) ** power)
    one_slope = bind(quantise, _coefficients=bind(slope, _coefficients=f), _interval=interval, _degree=degree, _last=0.0)
    chunk, chunk_slopes = (bind(fill, _quantise=f, _degree=degree, _stride=stride) for f in (one, one_slope))
    return (
        bind(scatter, _add=bind(add, _fill=chunk, _fill_slopes=chunk_slopes, _degree=degree)),
        bind(emit, _degree=degree, _stride=stride),
        bind(update, _quantise=one, _quantise_slope=one_slope, _degree=degree),
    )


PARTS = {power: _parts(power, STRIDE[power]) for power in range(4)} | {"c": _parts(1, 1, add_third, emit_third, update_third)}
