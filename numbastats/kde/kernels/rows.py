"""Difference rows: whole rows, the associative form, and variant a in doubles."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange, types

from numbastats._core.compile import Kernel, array_function
from numbastats.kde.kernels.geometry import (
    CHUNK,
    DIM,
    FIRST_ROW,
    LENGTH,
    LINES,
    PAD,
    SCALE,
    TASKS,
    THREADS,
    bins_of,
    position,
    row_range,
    run_of,
    sorted_samples,
)
from numbastats.kde.kernels.variants import (
    advance_b,
    advance_c,
    emit_b,
    emit_c,
    jump_b,
    jump_c,
    pick,
    sample_on_row,
    scatter_b,
    scatter_c,
    update_b,
    update_c,
)
from numbastats.scalar.kernels1d import row_interval

__all__ = ["ACCUMULATE", "FINISH", "ROWS", "ROWS_A"]

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


# --- registration ------------------------------------------------------------------------------------------------------

_I = types.int64[::1]
_I2 = types.int64[:, ::1]
_DOUBLE = ("float64",)  # densities are summed in int64 or float64 and rounded to float32 once, on the host
_C = dict(_scatter=scatter_c, _emit=emit_c)
_B = dict(_scatter=scatter_b, _emit=emit_b)
_GEOMETRY = dict(bins_of=bins_of)  # a bound function's file is part of the key of the disk cache


def _rows(name, cpu, advance, jump, update):
    return Kernel(
        f"kde.rows_{name}", rows_cpu, rows_cuda, lambda T: [(*sorted_samples(T), _I2, T[:, ::1])], dtypes=_DOUBLE,
        cpu_only={"_scatter": cpu["_scatter"]}, cuda_only={"_advance": advance, "_jump": jump, "_update": update},
        _emit=cpu["_emit"], **_GEOMETRY,
    )  # fmt: skip


def _accumulate(name, cpu, update):
    return Kernel(
        f"kde.accumulate_{name}", accumulate_cpu, accumulate_cuda, lambda T: [(*sorted_samples(T), _I2)], dtypes=_DOUBLE,
        cpu_only={"_scatter": cpu["_scatter"]}, cuda_only={"_update": update}, **_GEOMETRY,
    )  # fmt: skip


def _finish(name, cpu):
    return Kernel(
        f"kde.finish_{name}", finish_cpu, finish_cuda, lambda T: [(T[::1], _I, _I2, T[:, ::1])], dtypes=_DOUBLE,
        _emit=cpu["_emit"], **_GEOMETRY,
    )  # fmt: skip


ROWS = {"c": _rows("c", _C, advance_c, jump_c, update_c), "b": _rows("b", _B, advance_b, jump_b, update_b)}
ACCUMULATE = {"c": _accumulate("c", _C, update_c), "b": _accumulate("b", _B, update_b)}
FINISH = {"c": _finish("c", _C), "b": _finish("b", _B)}
ROWS_A = Kernel("kde.rows_a", rows_a_cpu, rows_a_cuda, lambda T: [(*sorted_samples(T), T[:, ::1], T[:, ::1])], dtypes=_DOUBLE,
                **_GEOMETRY)  # fmt: skip
