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

from numbastats._core.kernel import array_function, device_function
from numbastats.kde.kernels.geometry import CHUNK, bins_near, position, positions, product_weight, row_of, run_near
from numbastats.scalar import kde as forms
from numbastats.scalar.bits import add_ends
from numbastats.scalar.kde import (
    fused,
    product,
    rint_i64,
    row_interval,
    row_interval_strict,
    shift2,
    shift4,
    shift6,
    smaller,
    third_difference,
)

STRIDE = (1, 4, 5, 7)  # int64 per cell of a row's buffer, by the kernel's power: 2p + 1 coefficients, one vector for p = 1
STATE = {"c": 1, 0: 1, 1: 3, 2: 5, 3: 7}  # int64 per cell of a state, where "c" keeps third differences

# --- one sample on one row: interval, and coefficients about cell 0 ------------------------------------------------------


@device_function
def _block(t, centre, inv_block):
    """Block border nearest to the centre, distance from it and t, both in blocks."""
    x = product(centre, inv_block)
    block = rint_i64(x)
    return block, x - np.float64(block), product(t, product(inv_block, inv_block))


@device_function
def density1(t, centre, q, length, inv_block):
    """Degree 2; the last coefficient is -q."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1 = forms.power_epanechnikov(w, tb)
    a, b, _ = shift2(rint_i64(product(c0, q)), rint_i64(product(c1, q)), -np.int64(q), -block)
    return lo, hi, a, b


@device_function
def slope1(t, centre, q, length, inv_block):
    """Derivative of the polynomial of degree 2; the last coefficient is 0."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1 = forms.derivative_epanechnikov(w, tb)
    a, b, _ = shift2(rint_i64(product(c0, q)), rint_i64(product(c1, q)), np.int64(0), -block)
    return lo, hi, a, b


@device_function
def quantise2(t, centre, q, length, inv_block, derivative):
    """Degree 4, or the derivative of this polynomial."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1, c2, c3 = forms.derivative_biweight(w, tb) if derivative else forms.power_biweight(w, tb)
    a, b, c, d, e = shift4(
        rint_i64(product(c0, q)),
        rint_i64(product(c1, q)),
        rint_i64(product(c2, q)),
        rint_i64(product(c3, q)),
        np.int64(0) if derivative else np.int64(q),
        -block,
    )
    return lo, hi, a, b, c, d, e


@device_function
def quantise3(t, centre, q, length, inv_block, derivative):
    """Degree 6, or the derivative of this polynomial."""
    lo, hi = row_interval(t, centre, length)
    block, w, tb = _block(t, centre, inv_block)
    c0, c1, c2, c3, c4, c5 = forms.derivative_triweight(w, tb) if derivative else forms.power_triweight(w, tb)
    a, b, c, d, e, f, g = shift6(
        rint_i64(product(c0, q)),
        rint_i64(product(c1, q)),
        rint_i64(product(c2, q)),
        rint_i64(product(c3, q)),
        rint_i64(product(c4, q)),
        rint_i64(product(c5, q)),
        np.int64(0) if derivative else -np.int64(q),
        -block,
    )
    return lo, hi, a, b, c, d, e, f, g


# --- many samples on one row, CPU: a vectorised pass computes, a second adds ------------------------------------------------
# The first m of CHUNK samples count; `stride` numbers of `acc` belong to a cell. All arrays are whole: a slice in these loops
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
def add0(work, m, stride, g, acc):
    """Power 0: counts."""
    t, centre, weights, lo, hi, length = work.t, work.centre, work.weights, work.lo, work.hi, g.length
    for j in range(CHUNK):
        lo[j], hi[j] = row_interval_strict(t[j], centre[j], length)
    for j in range(m):
        acc[np.uint64(lo[j])] += np.int64(weights[j])
        acc[np.uint64(hi[j])] -= np.int64(weights[j])


@device_function
def _pairs1(work, stride, g):
    t, centre, weights, lo, hi, top, pairs = work.t, work.centre, work.weights, work.lo, work.hi, work.top, work.pairs
    length, inv_block = g.length, g.inv_block
    if g.mode == 1:
        for j in range(CHUNK):
            a, b, pairs[2 * j], pairs[2 * j + 1] = density1(t[j], centre[j], weights[j], length, inv_block)
            lo[j], hi[j], top[j] = stride * a, stride * b, -np.int64(weights[j])
    else:
        for j in range(CHUNK):
            a, b, pairs[2 * j], pairs[2 * j + 1] = slope1(t[j], centre[j], weights[j], length, inv_block)
            lo[j], hi[j], top[j] = stride * a, stride * b, 0


@device_function
def add1(work, m, stride, g, acc):
    """Power 1, and the derivative."""
    _pairs1(work, stride, g)
    lo, hi, pairs, top = work.lo, work.hi, work.pairs, work.top
    for j in range(m):
        add_ends(acc, lo[j], hi[j], pairs, 2 * j, top[j])


@device_function
def add_third(work, m, stride, g, acc):
    """`add1` for blocks of one cell and a buffer of third differences."""
    _pairs1(work, stride, g)
    weights, lo, hi, pairs = work.weights, work.lo, work.hi, work.pairs
    one, two = np.uint64(1), np.uint64(2)
    for j in range(m):
        q = np.int64(weights[j])
        i, e = np.uint64(lo[j]), np.uint64(hi[j])
        a, b, c = third_difference(pairs[2 * j], pairs[2 * j + 1], q, lo[j])
        acc[i] += a
        acc[i + one] += b
        acc[i + two] += c
        a, b, c = third_difference(pairs[2 * j], pairs[2 * j + 1], q, hi[j])
        acc[e] -= a
        acc[e + one] -= b
        acc[e + two] -= c


@device_function
def _add_channels(work, channels, m, acc):
    lo, hi, pairs = work.lo, work.hi, work.pairs
    for j in range(m):
        i, e = np.uint64(lo[j]), np.uint64(hi[j])
        for c in range(channels):
            acc[i + np.uint64(c)] += pairs[c * CHUNK + j]
        for c in range(channels):
            acc[e + np.uint64(c)] -= pairs[c * CHUNK + j]


@device_function
def add2(work, m, stride, g, acc):
    """Power 2, and the derivative."""
    t, centre, weights, lo, hi, pairs = work.t, work.centre, work.weights, work.lo, work.hi, work.pairs
    length, inv_block, derivative = g.length, g.inv_block, g.mode > 3
    for j in range(CHUNK):
        a, b, pairs[j], pairs[CHUNK + j], pairs[2 * CHUNK + j], pairs[3 * CHUNK + j], pairs[4 * CHUNK + j] = quantise2(
            t[j], centre[j], weights[j], length, inv_block, derivative
        )
        lo[j], hi[j] = stride * a, stride * b
    _add_channels(work, 5, m, acc)


@device_function
def add3(work, m, stride, g, acc):
    """Power 3, and the derivative."""
    t, centre, weights, lo, hi, pairs = work.t, work.centre, work.weights, work.lo, work.hi, work.pairs
    length, inv_block, derivative = g.length, g.inv_block, g.mode > 3
    for j in range(CHUNK):
        (
            a,
            b,
            pairs[j],
            pairs[CHUNK + j],
            pairs[2 * CHUNK + j],
            pairs[3 * CHUNK + j],
            pairs[4 * CHUNK + j],
            pairs[5 * CHUNK + j],
            pairs[6 * CHUNK + j],
        ) = quantise3(t[j], centre[j], weights[j], length, inv_block, derivative)
        lo[j], hi[j] = stride * a, stride * b
    _add_channels(work, 7, m, acc)


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


def row_scatter(add):
    """A function that adds, by `add`, all samples that touch a row to its buffer, and says whether there were any."""

    def scatter(u, q, lam2, starts, g, line, stride, work, acc):
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
            add(work, m, stride, g, acc)
        return count > 0

    scatter.__name__ = scatter.__qualname__ = f"scatter_{add.__name__}"  # the disk cache distinguishes functions by their names
    return array_function(scatter, host=False)


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
def emit0(acc, lo, hi, stride, g, s, row):
    """Counts."""
    total, r, a = s[0], row[lo:hi], acc[lo:hi]
    for i in range(r.size):
        total += a[i]
        r[i] = g.scale * np.float64(total)
    s[0] = total


@array_function(host=False)
def emit1(acc, lo, hi, stride, g, s, row):
    """Degree 2."""
    s0, s1, s2 = s[0], s[1], s[2]
    log_block, inv_block, scale, clamp = g.log_block, g.inv_block, g.scale, g.mode < 4
    r, a = row[lo:hi], acc[stride * lo : stride * hi]
    for i in range(r.size):
        s0 += a[stride * i]
        s1 += a[stride * i + 1]
        s2 += a[stride * i + 2]
        block, x = _place(lo + i, log_block, inv_block)
        c0, c1, c2 = shift2(s0, s1, s2, block)
        v = fused(fused(np.float64(c2), x, np.float64(c1)), x, np.float64(c0))
        r[i] = scale * (0.0 if clamp and v < 0.0 else v)
    s[0], s[1], s[2] = s0, s1, s2


@array_function(host=False)
def emit_third(acc, lo, hi, stride, g, s, row):
    """Degree 2, from third differences."""
    s1, s2, s3 = s[0], s[1], s[2]
    scale, r, a = g.scale, row[lo:hi], acc[lo:hi]
    for i in range(r.size):
        s1 += a[i]
        s2 += s1
        s3 += s2
        r[i] = scale * (s3 if s3 > 0 else 0)
    s[0], s[1], s[2] = s1, s2, s3


@array_function(host=False)
def emit2(acc, lo, hi, stride, g, s, row):
    """Degree 4."""
    log_block, inv_block, scale, clamp = g.log_block, g.inv_block, g.scale, g.mode < 4
    for k in range(lo, hi):
        for c in range(5):
            s[c] += acc[k * stride + c]
        block, x = _place(k, log_block, inv_block)
        c0, c1, c2, c3, c4 = shift4(s[0], s[1], s[2], s[3], s[4], block)
        v = fused(fused(np.float64(c4), x, np.float64(c3)), x, np.float64(c2))
        v = fused(fused(v, x, np.float64(c1)), x, np.float64(c0))
        row[k] = scale * (0.0 if clamp and v < 0.0 else v)


@array_function(host=False)
def emit3(acc, lo, hi, stride, g, s, row):
    """Degree 6."""
    log_block, inv_block, scale, clamp = g.log_block, g.inv_block, g.scale, g.mode < 4
    for k in range(lo, hi):
        for c in range(7):
            s[c] += acc[k * stride + c]
        block, x = _place(k, log_block, inv_block)
        c0, c1, c2, c3, c4, c5, c6 = shift6(s[0], s[1], s[2], s[3], s[4], s[5], s[6], block)
        v = fused(fused(np.float64(c6), x, np.float64(c5)), x, np.float64(c4))
        v = fused(fused(v, x, np.float64(c3)), x, np.float64(c2))
        v = fused(fused(v, x, np.float64(c1)), x, np.float64(c0))
        row[k] = scale * (0.0 if clamp and v < 0.0 else v)


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
def update0(t, centre, w, g):
    """Power 0."""
    zero = np.int64(0)
    lo, hi = row_interval_strict(t, centre, g.length)
    numbers = np.int64(w), zero, zero, zero, zero, zero, zero
    return lo, hi, 1, numbers, numbers


@array_function(host=False)
def update1(t, centre, w, g):
    """Power 1, and the derivative."""
    zero = np.int64(0)
    if g.mode == 1:
        lo, hi, a, b = density1(t, centre, w, g.length, g.inv_block)
        c = -np.int64(w)
    else:
        lo, hi, a, b = slope1(t, centre, w, g.length, g.inv_block)
        c = zero
    numbers = a, b, c, zero, zero, zero, zero
    return lo, hi, 3, numbers, numbers


@array_function(host=False)
def update_third(t, centre, w, g):
    """Power 1, third differences."""
    lo, hi, value, rise = density1(t, centre, w, g.length, g.inv_block)
    q, zero = np.int64(w), np.int64(0)
    a, b, c = third_difference(value, rise, q, lo)
    d, e, f = third_difference(value, rise, q, hi)
    return lo, hi, 3, (a, b, c, zero, zero, zero, zero), (d, e, f, zero, zero, zero, zero)


@array_function(host=False)
def update2(t, centre, w, g):
    """Power 2, and the derivative."""
    zero = np.int64(0)
    lo, hi, a, b, c, d, e = quantise2(t, centre, w, g.length, g.inv_block, g.mode > 3)
    numbers = a, b, c, d, e, zero, zero
    return lo, hi, 5, numbers, numbers


@array_function(host=False)
def update3(t, centre, w, g):
    """Power 3, and the derivative."""
    lo, hi, a, b, c, d, e, f, g = quantise3(t, centre, w, g.length, g.inv_block, g.mode > 3)
    numbers = a, b, c, d, e, f, g
    return lo, hi, 7, numbers, numbers


# functions bound to the kernels of rows.py, by the kernel's power; "c" keeps third differences
PARTS = {
    "c": (row_scatter(add_third), emit_third, update_third),
    0: (row_scatter(add0), emit0, update0),
    1: (row_scatter(add1), emit1, update1),
    2: (row_scatter(add2), emit2, update2),
    3: (row_scatter(add3), emit3, update3),
}
