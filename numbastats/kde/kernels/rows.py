"""Difference rows: whole rows, and the associative form."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange, types

from numbastats._core.kernel import Kernel, array_function
from numbastats.kde.kernels.geometry import (
    BINS,
    CHUNK,
    FIRST_ROW,
    LENGTH,
    PAD,
    TASKS,
    THREADS,
    bins_near,
    place_of,
    row_near,
    rows_near,
    run_near,
    sorted_samples,
)
from numbastats.kde.kernels.variants import PARTS, advance, pick, sample_on_row

__all__ = ["ACCUMULATE", "FINISH", "ROWS"]

# --- rows: a task owns rows, walks over the samples that touch them, and writes each row once -------------------------
# `_scatter`, `_emit`, `_update` are bound to those of one power. `scratch` holds a buffer per task (CPU) or block (CUDA), zeros.

_scatter = _emit = _update = None


@array_function(host=False, allocates=True)
def buffers(q, lam2, ints):
    """Scratch of a task: t, centre, weights and squared scales of a chunk; integers; pairs of them; runs of samples."""
    n = CHUNK + 24  # neighbours must not lie a page apart
    f, i = np.zeros(4 * n + 8), np.zeros(10 * n + 8, np.int64)
    f, i = f[-(f.ctypes.data >> 3) & 7 :], i[-(i.ctypes.data >> 3) & 7 :]  # vectors must not lie across cache lines
    f[2 * n : 3 * n] = q[0]
    f[3 * n : 4 * n] = lam2[0]
    runs = np.empty((2, ints[BINS] * ints[BINS + 1]), np.int64)
    return f[:n], f[n : 2 * n], f[2 * n : 3 * n], f[3 * n :], i[:n], i[n : 2 * n], i[2 * n : 3 * n], i[3 * n :], runs


@array_function(host=False)
def share_of(task, tasks):
    """Which share of the rows a task takes: neighbours in time are apart in space, for equal loads."""
    return (task * 37) % tasks if tasks % 37 else task


def rows_cpu(u, q, lam2, starts, geo, ints, scratch, out):
    tasks = scratch.shape[0]
    for index in prange(tasks):
        share = np.int64(index)
        work = buffers(q, lam2, ints)
        s, acc = np.zeros(8, np.int64), scratch[share]
        stride = acc.size // (out.shape[1] + PAD)
        for row in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            line = row + ints[FIRST_ROW]
            if _scatter(u, q, lam2, starts, geo, ints, line, stride, work, acc):
                s[:] = 0
                _emit(acc, 0, out.shape[1], stride, ints, geo, s, out[row])
                acc[:] = 0
            else:
                out[row, :] = 0.0


def rows_cuda(u, q, lam2, starts, geo, ints, scratch, out):
    """Block per row; the row's buffer stays in the second-level cache, where 64-bit integer adds are native."""
    state = cuda.shared.array((THREADS, 8), np.int64)
    thread, threads = cuda.threadIdx.x, min(cuda.blockDim.x, THREADS)
    blocks = min(cuda.gridDim.x, scratch.shape[0])
    acc = scratch[min(cuda.blockIdx.x, blocks - 1)]
    length = out.shape[1]
    stride = scratch.shape[1] // (length + PAD)
    for row in range(cuda.blockIdx.x if cuda.blockIdx.x < blocks else out.shape[0], out.shape[0], blocks):
        k0, k1, k2 = place_of(row + ints[FIRST_ROW], ints)
        near = bins_near(geo, ints, k0, k1)
        for b in range(near[3]):
            first, last = run_near(starts, geo, ints, k0, k1, k2, near, b)
            for i in range(first + thread, last, cuda.blockDim.x):
                t, centre, w = sample_on_row(u, i, q, lam2, k0, k1, k2, geo, ints)
                lo, hi, n, at_lo, at_hi = _update(t, centre, w, geo, ints)
                for j in range(n if hi > lo else 0):
                    cuda.atomic.add(acc, lo * stride + j, pick(at_lo, j))
                    cuda.atomic.add(acc, hi * stride + j, -pick(at_hi, j))
        cuda.syncthreads()
        share = (length + threads - 1) // threads
        lo, hi = min(length, thread * share), min(length, (thread + 1) * share)
        if thread < threads:
            for j in range(8):
                state[thread, j] = 0
            advance(acc, lo, hi, stride, min(stride, 7), state[thread])
        cuda.syncthreads()
        if thread == 0:
            for j in range(7):
                total = state[0, j] * 0
                for other in range(threads):
                    own = state[other, j]
                    state[other, j] = total
                    total += own
        cuda.syncthreads()
        if thread < threads:
            _emit(acc, lo, hi, stride, ints, geo, state[thread], out[row])
        cuda.syncthreads()
        for i in range(thread, scratch.shape[1], cuda.blockDim.x):
            acc[i] = 0
        cuda.syncthreads()


# --- the associative form: scatter into a state, then finish it ------------------------------------------------------


def accumulate_cpu(u, q, lam2, starts, geo, ints, state):
    tasks = min(TASKS, state.shape[0])
    for index in prange(tasks):
        share = share_of(np.int64(index), tasks)
        work = buffers(q, lam2, ints)
        stride = state.shape[1] // (ints[LENGTH] + PAD)
        for row in range(share * state.shape[0] // tasks, (share + 1) * state.shape[0] // tasks):
            acc, line = state[row], row + ints[FIRST_ROW]
            _scatter(u, q, lam2, starts, geo, ints, line, stride, work, acc)


def accumulate_cuda(u, q, lam2, starts, geo, ints, state):
    """Thread per sample; the samples need not be sorted. A line has one row here."""
    stride = state.shape[1] // (ints[LENGTH] + PAD)
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        near = rows_near(u, i, geo, ints)
        for r in range(near[5]):
            row = row_near(near, r, ints)
            k0, k1, k2 = place_of(row, ints)
            t, centre, w = sample_on_row(u, i, q, lam2, k0, k1, k2, geo, ints)
            lo, hi, n, at_lo, at_hi = _update(t, centre, w, geo, ints)
            for j in range(n if hi > lo else 0):
                cuda.atomic.add(state[row], lo * stride + j, pick(at_lo, j))
                cuda.atomic.add(state[row], hi * stride + j, -pick(at_hi, j))


def finish_cpu(geo, ints, state, out):
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task = np.int64(index)
        s, stride = np.zeros(8, np.int64), state.shape[1] // (out.shape[1] + PAD)
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            s[:] = 0
            _emit(state[row], 0, out.shape[1], stride, ints, geo, s, out[row])


def finish_cuda(geo, ints, state, out):
    """Thread per row."""
    s = cuda.local.array(8, np.int64)
    stride = state.shape[1] // (out.shape[1] + PAD)
    for row in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        for j in range(8):
            s[j] = 0
        _emit(state[row], 0, out.shape[1], stride, ints, geo, s, out[row])


# --- registration ------------------------------------------------------------------------------------------------------

_I = types.int64[::1]
_I2 = types.int64[:, ::1]
_DOUBLE = ("float64",)  # densities are summed in int64 or float64 and rounded to float32 once, on the host


def split_rows(args, parts):
    """Parts of the rows, each with a buffer of its own."""
    *arrays, ints, scratch, out = args
    parts = min(parts, scratch.shape[0])
    ends = [k * out.shape[0] // parts for k in range(parts + 1)]
    several = [ints.copy() for _ in range(parts)]
    for own, lo in zip(several, ends, strict=False):
        own[FIRST_ROW] += lo
    return [(*arrays, several[k], scratch[k : k + 1], out[ends[k] : ends[k + 1]]) for k in range(parts)]


def _rows(power):
    scatter, emit, update = PARTS[power]
    return Kernel(
        f"kde.rows_{power}",
        rows_cpu,
        rows_cuda,
        lambda T: [(*sorted_samples(T), _I2, T[:, ::1])],
        dtypes=_DOUBLE,
        cpu_only={"_scatter": scatter},
        cuda_only={"_update": update},
        split=split_rows,
        _emit=emit,
    )


def _accumulate(name):
    scatter, _, update = PARTS[name]
    return Kernel(
        f"kde.accumulate_{name}",
        accumulate_cpu,
        accumulate_cuda,
        lambda T: [(*sorted_samples(T), _I2)],
        dtypes=_DOUBLE,
        cpu_only={"_scatter": scatter},
        cuda_only={"_update": update},
    )


def _finish(name):
    return Kernel(
        f"kde.finish_{name}",
        finish_cpu,
        finish_cuda,
        lambda T: [(T[::1], _I, _I2, T[:, ::1])],
        dtypes=_DOUBLE,
        _emit=PARTS[name][1],
    )


ROWS = {power: _rows(power) for power in (0, 1, 2, 3)}
ACCUMULATE, FINISH = {name: _accumulate(name) for name in PARTS}, {name: _finish(name) for name in PARTS}
