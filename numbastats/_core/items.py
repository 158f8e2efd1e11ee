"""The loop over items that do not depend on each other: a thread for each on a GPU, `prange` here, around one shared body."""

from __future__ import annotations

import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda

__all__ = ["items_cpu", "items_cuda"]

_body = None  # bound by build: an array function of what an item reads, what it writes (arrays, or tuples of them), its number


def items_cpu(n, given, out):
    for item in prange(n):
        _body(given, out, np.int64(item))


def items_cuda(n, given, out):
    for item in range(cuda.grid(1), n, cuda.gridsize(1)):
        _body(given, out, item)
