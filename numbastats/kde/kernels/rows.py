"""Difference rows: whole rows, and the associative form."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.kde.kernels.geometry import GRID, TASKS, THREADS, bins_near, row_near, row_of, rows_near, run_near, sorted_samples
from numbastats.kde.kernels.variants import PARTS, STRIDE, advance, pick, sample_on_row, work_for

__all__ = ["ACCUMULATE", "FINISH", "ROWS"]

# --- rows: a task owns rows, walks over the samples that touch them, and writes each row once -------------------------
# `_scatter`, `_emit`, `_update`, `_stride` are bound to the functions of one power. `scratch` holds a buffer of zeros for each
# task (CPU) or block (CUDA).

_scatter = _emit = _update = _stride = None


@array_function(host=False)
def share_of(task, tasks):
    """The share of the rows that a task takes: consecutive tasks take distant rows, for equal loads."""
    return (task * 37) % tasks if tasks % 37 else task


def rows_cpu(u, q, lam2, starts, grid, scratch, out):
    tasks = scratch.shape[0]
    for index in prange(tasks):
        share, g = np.int64(index), grid[0]
        (work, s), acc = work_for(q, lam2, g), scratch[share]
        for row in range(share * out.shape[0] // tasks, (share + 1) * out.shape[0] // tasks):
            if _scatter(u, q, lam2, starts, g, row + g.first_row, work, acc):
                s[:] = 0
                _emit(acc, 0, out.shape[1], g, s, out[row])
                acc[:] = 0
            else:
                out[row, :] = 0.0


def rows_cuda(u, q, lam2, starts, grid, scratch, out):
    """Block per row; the row's buffer stays in the second-level cache, where 64-bit integer adds are native."""
    g, state = grid[0], cuda.shared.array((THREADS, 8), np.int64)
    thread, threads = cuda.threadIdx.x, min(cuda.blockDim.x, THREADS)
    blocks = min(cuda.gridDim.x, scratch.shape[0])
    acc = scratch[min(cuda.blockIdx.x, blocks - 1)]
    length = out.shape[1]
    for row in range(cuda.blockIdx.x if cuda.blockIdx.x < blocks else out.shape[0], out.shape[0], blocks):
        place = row_of(row + g.first_row, g)
        near = bins_near(place, g)
        for b in range(near[3]):
            first, last = run_near(starts, place, near, b, g)
            for i in range(first + thread, last, cuda.blockDim.x):
                t, centre, w = sample_on_row(u, i, q, lam2, place, g)
                lo, hi, n, at_lo, at_hi = _update(t, centre, w, g)
                for j in range(n if hi > lo else 0):
                    cuda.atomic.add(acc, lo * _stride + j, pick(at_lo, j))
                    cuda.atomic.add(acc, hi * _stride + j, -pick(at_hi, j))
        cuda.syncthreads()
        share = (length + threads - 1) // threads
        lo, hi = min(length, thread * share), min(length, (thread + 1) * share)
        if thread < threads:
            for j in range(8):
                state[thread, j] = 0
            advance(acc, lo, hi, _stride, min(_stride, 7), state[thread])
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
            _emit(acc, lo, hi, g, state[thread], out[row])
        cuda.syncthreads()
        for i in range(thread, scratch.shape[1], cuda.blockDim.x):
            acc[i] = 0
        cuda.syncthreads()


# --- the associative form: scatter into a state, then finish it ------------------------------------------------------


def accumulate_cpu(u, q, lam2, starts, grid, state):
    tasks = min(TASKS, state.shape[0])
    for index in prange(tasks):
        share, g = share_of(np.int64(index), tasks), grid[0]
        work, _ = work_for(q, lam2, g)
        for row in range(share * state.shape[0] // tasks, (share + 1) * state.shape[0] // tasks):
            _scatter(u, q, lam2, starts, g, row + g.first_row, work, state[row])


def accumulate_cuda(u, q, lam2, starts, grid, state):
    """Thread per sample; the samples need not be sorted. A line has one row here."""
    g = grid[0]
    for i in range(cuda.grid(1), u.shape[1], cuda.gridsize(1)):
        near = rows_near(u, i, g)
        for r in range(near[5]):
            row = row_near(near, r, g)
            t, centre, w = sample_on_row(u, i, q, lam2, row_of(row, g), g)
            lo, hi, n, at_lo, at_hi = _update(t, centre, w, g)
            for j in range(n if hi > lo else 0):
                cuda.atomic.add(state[row], lo * _stride + j, pick(at_lo, j))
                cuda.atomic.add(state[row], hi * _stride + j, -pick(at_hi, j))


def finish_cpu(grid, state, out):
    tasks = min(TASKS, out.shape[0])
    for index in prange(tasks):
        task, g, s = np.int64(index), grid[0], np.zeros(8, np.int64)
        for row in range(task * out.shape[0] // tasks, (task + 1) * out.shape[0] // tasks):
            s[:] = 0
            _emit(state[row], 0, out.shape[1], g, s, out[row])


def finish_cuda(grid, state, out):
    """Thread per row."""
    g, s = grid[0], cuda.local.array(8, np.int64)
    for row in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        for j in range(8):
            s[j] = 0
        _emit(state[row], 0, out.shape[1], g, s, out[row])


# --- registration ------------------------------------------------------------------------------------------------------

_I2 = types.int64[:, ::1]
_DOUBLE = ("float64",)  # densities are summed in int64 or float64 and rounded to float32 once, on the host


def split_rows(args, parts):
    """Parts of the rows, each with a buffer of its own."""
    *arrays, grid, scratch, out = args
    parts, several = min(parts, scratch.shape[0]), []
    ends = [k * out.shape[0] // parts for k in range(parts + 1)]
    for k in range(parts):
        own = grid.copy()
        own["first_row"] += ends[k]
        several.append((*arrays, own, scratch[k : k + 1], out[ends[k] : ends[k + 1]]))
    return several


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
        _stride=STRIDE[power],
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
        _stride=STRIDE[name],
    )


def _finish(name):
    return Kernel(
        f"kde.finish_{name}",
        finish_cpu,
        finish_cuda,
        lambda T: [(GRID, _I2, T[:, ::1])],
        dtypes=_DOUBLE,
        _emit=PARTS[name][1],
        _stride=STRIDE[name],
    )


ROWS = {power: _rows(power) for power in (0, 1, 2, 3)}
ACCUMULATE, FINISH = {name: _accumulate(name) for name in PARTS}, {name: _finish(name) for name in PARTS}
