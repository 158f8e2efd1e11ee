"""Small kernels of the usual access patterns, for tests of the machinery and the PTX gate."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import cuda, prange

from numbastats._core.compile import Kernel, array_function, device_function
from numbastats._core.templates import BLOCK, CHUNK

i64 = numba.types.int64

_f = _head = _tail = _body = None  # bound by build


# --- table map: out[i] = eval(table, *locate(x[i])) ------------------------------------------------------------
# First pass: row and local coordinate, vectorised. Second: one row of coefficients per value.


def table_cpu(x, table, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        row = np.empty(BLOCK, np.int64)
        local = np.empty(BLOCK, out.dtype)
        first = np.int64(k) * CHUNK
        for lo in range(first, min(first + CHUNK, out.size), BLOCK):
            xb = x[lo : lo + BLOCK]
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                row[i], local[i] = _head(xb[i])
            for i in range(o.size):
                o[i] = _body(table, row[i], local[i])


def table_cuda(x, table, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, local = _head(x[i])
        out[i] = _body(table, row, local)


# --- chunked reduce: partial[c] = sum of f(x[i]) over chunk c --------------------------------------------------
# 64 accumulators, then a fixed tree: the same additions in the same order on every device and for any number of
# workers. `templates.combine` adds the partials pairwise, also in fixed order. Partials are float64.


def reduce_cpu(x, partial):
    for k in prange(partial.size):
        first = np.int64(k) * CHUNK
        xb = x[first : first + CHUNK]
        acc = np.zeros(BLOCK)
        for lo in range(0, xb.size, BLOCK):
            block = xb[lo : lo + BLOCK]
            for i in range(block.size):
                acc[i] += np.float64(_f(block[i]))
        width = BLOCK // 2
        while width > 0:
            for i in range(width):
                acc[i] += acc[i + width]
            width //= 2
        partial[k] = acc[0]


def reduce_cuda(x, partial):
    acc = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    for k in range(cuda.blockIdx.x, partial.size, cuda.gridDim.x):
        first = k * CHUNK
        last = min(first + CHUNK, x.size)
        for lane in range(t, BLOCK, cuda.blockDim.x):
            total = np.float64(0.0)
            for i in range(first + lane, last, BLOCK):
                total += np.float64(_f(x[i]))
            acc[lane] = total
        cuda.syncthreads()
        width = BLOCK // 2
        while width > 0:
            for i in range(t, width, cuda.blockDim.x):
                acc[i] += acc[i + width]
            cuda.syncthreads()
            width //= 2
        if t == 0:
            partial[k] = acc[0]
        cuda.syncthreads()


# --- batch: one problem per CPU task, one block of threads per problem on CUDA ---------------------------------
# Problems are slices of `values` between `offsets`. `_body(slice, lane, lanes, acc)` adds one lane's share to `acc`, a row
# of `_WIDTH` sums; `_tail(acc, n, out_row)` turns the sums into the result. Both are array functions.

BATCH_THREADS = 64  # most lanes a problem can use
_WIDTH = 1


def batch_cpu(values, offsets, out):
    for p in prange(offsets.size - 1):
        x = values[offsets[p] : offsets[p + 1]]
        acc = np.zeros(_WIDTH)
        _body(x, 0, 1, acc)
        _tail(acc, x.size, out[p])


def batch_cuda(values, offsets, out):
    acc = cuda.shared.array((BATCH_THREADS, _WIDTH), np.float64)
    t = cuda.threadIdx.x
    lanes = min(cuda.blockDim.x, BATCH_THREADS)
    for p in range(cuda.blockIdx.x, offsets.size - 1, cuda.gridDim.x):
        x = values[offsets[p] : offsets[p + 1]]
        if t < lanes:
            for j in range(_WIDTH):
                acc[t, j] = 0.0
            _body(x, t, lanes, acc[t])
        cuda.syncthreads()
        if t == 0:
            for lane in range(1, lanes):
                for j in range(_WIDTH):
                    acc[0, j] += acc[lane, j]
            _tail(acc[0], x.size, out[p])
        cuda.syncthreads()


# --- row scatter: a task owns rows of the output, so no atomics are needed and the order is fixed --------------
# Items are sorted by row; those of row r lie between starts[r] and starts[r + 1]. `_body(item, row)` scatters one item.


def scatter_cpu(items, starts, out):
    for r in prange(starts.size - 1):
        row = out[r]
        for i in range(starts[r], starts[r + 1]):
            _body(items[i], row)


def scatter_cuda(items, starts, out):
    for r in range(cuda.grid(1), starts.size - 1, cuda.gridsize(1)):
        row = out[r]
        for i in range(starts[r], starts[r + 1]):
            _body(items[i], row)


# --- the kernels ------------------------------------------------------------------------------------------------


@device_function
def square(x):
    return x * x


@device_function
def locate(x):
    """Row and local coordinate of x in a table of unit intervals from 0."""
    T = type(x)
    row = np.int64(math.floor(x))
    return row, x - T(row)


@array_function
def line(table, row, local):
    return table[row, 0] + table[row, 1] * local


@array_function
def share(x, start, step):
    """Sum of every step-th element: an array function called by another one."""
    total = 0.0
    for i in range(start, x.size, step):
        total += np.float64(x[i])
    return total


@array_function
def sums(x, lane, lanes, acc):
    acc[0] += share(x, lane, lanes)
    for i in range(lane, x.size, lanes):
        acc[1] += np.float64(x[i]) * np.float64(x[i])


@array_function
def mean_and_variance(acc, n, row):
    row[0] = acc[0] / n
    row[1] = acc[1] / n - row[0] * row[0]


@array_function
def deposit(item, row):
    """A linear hat of unit width around the item, on unit cells."""
    cell = np.int64(math.floor(item))
    part = np.float64(item) - cell
    row[cell] += 1.0 - part
    row[cell + 1] += part


DOUBLE = "float64 accumulators under float32 data"

SUM = Kernel(
    "demo.sum_of_squares", reduce_cpu, reduce_cuda, lambda T: [(T[::1], numba.float64[::1])], f64_ok=DOUBLE,
    _f=square,
)  # fmt: skip
TABLE = Kernel(
    "demo.table", table_cpu, table_cuda, lambda T: [(T[::1], T[:, ::1], T[::1])],
    _head=locate, _body=line,
)  # fmt: skip
BATCH = Kernel(
    "demo.moments", batch_cpu, batch_cuda, lambda T: [(T[::1], i64[::1], numba.float64[:, ::1])],
    f64_ok=DOUBLE, _body=sums, _tail=mean_and_variance, _WIDTH=2,
)  # fmt: skip
SCATTER = Kernel(
    "demo.scatter", scatter_cpu, scatter_cuda, lambda T: [(T[::1], i64[::1], numba.float64[:, ::1])],
    f64_ok=DOUBLE, _body=deposit,
)  # fmt: skip
