"""Small kernels on the templates that no topic uses yet, for the tests and the PTX gate."""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core import templates
from numbastats._core.compile import Kernel, array_function, device_function

i64 = numba.types.int64


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
    "demo.sum_of_squares", templates.reduce_cpu, templates.reduce_cuda, lambda T: [(T[::1], numba.float64[::1])], f64_ok=DOUBLE,
    _f=square,
)  # fmt: skip
TABLE = Kernel(
    "demo.table", templates.table_cpu, templates.table_cuda, lambda T: [(T[::1], T[:, ::1], T[::1])],
    _head=locate, _body=line,
)  # fmt: skip
BATCH = Kernel(
    "demo.moments", templates.batch_cpu, templates.batch_cuda, lambda T: [(T[::1], i64[::1], numba.float64[:, ::1])],
    f64_ok=DOUBLE, _body=sums, _tail=mean_and_variance, _WIDTH=2,
)  # fmt: skip
SCATTER = Kernel(
    "demo.scatter", templates.scatter_cpu, templates.scatter_cuda, lambda T: [(T[::1], i64[::1], numba.float64[:, ::1])],
    f64_ok=DOUBLE, _body=deposit,
)  # fmt: skip
