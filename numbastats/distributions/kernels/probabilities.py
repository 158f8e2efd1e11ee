"""Kernel of distribution functions: panels in the logarithm of the distance to an anchor."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel
from numbastats.scalar import loops, tables
from numbastats.scalar.bits import at

__all__ = ["DISTRIBUTION"]

_body = None  # bound by build


def panels_cpu(x, a, b, c, d, first_left, first_right, upper, table, out):
    for k in prange((out.size + loops.CHUNK - 1) // loops.CHUNK):
        first = np.int64(k) * loops.CHUNK
        for j in range(first, first + out[first : first + loops.CHUNK].size):
            out[j] = _body(x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), upper, table)


def panels_cuda(x, a, b, c, d, first_left, first_right, upper, table, out):
    for j in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[j] = _body(x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), upper, table)


DISTRIBUTION = Kernel(
    "distributions.distribution",
    panels_cpu,
    panels_cuda,
    lambda T: [(T[::1], *[kind] * 6, types.int64, T[:, ::1], T[::1]) for kind in (T, T[::1])],
    dtypes=("float64",),
    _body=tables.tail_probability,
)
