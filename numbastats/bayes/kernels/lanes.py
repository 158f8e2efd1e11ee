"""What the work on a chain is written in: a task does it alone on the host, the threads of a block together on a GPU.

A matrix is in Fortran's order: row j of an array is column j of the matrix, of a lower triangle that of L.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core import blas
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind

__all__ = ["LANES", "chain_kernel", "shared", "sides"]

LANES = 64  # threads of a block, whose sums are combined
shared = array_function(fastmath=(), host=False)


@shared
def host_lane():
    """The number of the thread within its block."""
    return np.int64(0)


@shared
def host_lanes():
    """How many threads share the work."""
    return np.int64(1)


@shared
def host_wait():
    """Let all threads of the block come to this point."""


@shared
def host_total(x):
    """The sum of an array."""
    total = 0.0
    for j in range(x.size):
        total += x[j]
    return total


@shared
def block_lane():
    """As `host_lane`."""
    return cuda.threadIdx.x


@shared
def block_lanes():
    """As `host_lanes`."""
    return cuda.blockDim.x


@shared
def block_wait():
    """As `host_wait`."""
    cuda.syncthreads()


@shared
def block_total(x):
    """As `host_total`, of the sums of some threads."""
    share = cuda.shared.array(LANES, np.float64)
    lane, lanes, total = cuda.threadIdx.x, min(cuda.blockDim.x, LANES), 0.0
    if lane < lanes:
        for j in range(lane, x.size, lanes):
            total += x[j]
        share[lane] = total
    cuda.syncthreads()
    total = 0.0
    for i in range(min(lanes, x.size)):
        total += share[i]
    cuda.syncthreads()
    return total


@shared
def block_factor(A):
    """As `blas.factor`: column after column, with the rest of the triangle brought up to date by warps."""
    p, lane, lanes = A.shape[0], cuda.threadIdx.x, cuda.blockDim.x
    for j in range(p):
        pivot = A[j, j]
        cuda.syncthreads()
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        for i in range(j + lane, p, lanes):
            A[j, i] = A[j, i] / root if i > j else root
        cuda.syncthreads()
        for m in range(j + 1 + lane // 32, p, max(lanes // 32, 1)):
            for i in range(m + lane % 32, p, 32):
                A[m, i] -= A[j, m] * A[j, i]
        cuda.syncthreads()
    return True


@shared
def block_solve(A, x, transposed):
    """As `blas.solve`."""
    p, lane, lanes = x.size, cuda.threadIdx.x, cuda.blockDim.x
    for step in range(p):
        j = p - 1 - step if transposed else step
        found = x[j] / A[j, j]
        cuda.syncthreads()
        if lane == 0:
            x[j] = found
        if transposed:
            for i in range(lane, j, lanes):
                x[i] -= A[i, j] * found
        else:
            for i in range(j + 1 + lane, p, lanes):
                x[i] -= A[j, i] * found
        cuda.syncthreads()


@shared
def block_multiply(A, x, transposed):
    """As `blas.multiply`: entry after entry, in an order in which each has what is left of the others."""
    p, lane, lanes = x.size, cuda.threadIdx.x, cuda.blockDim.x
    for step in range(p):
        j = step if transposed else p - 1 - step
        value = x[j]
        cuda.syncthreads()
        if transposed:
            for i in range(lane, j, lanes):
                x[i] += A[i, j] * value
        else:
            for i in range(j + 1 + lane, p, lanes):
                x[i] += A[j, i] * value
        if lane == 0:
            x[j] = A[j, j] * value
        cuda.syncthreads()


@shared
def block_products(A, out):
    """As `blas.products`."""
    p = A.shape[0]
    for j in range(p):
        for i in range(j + cuda.threadIdx.x, p, cuda.blockDim.x):
            total = 0.0
            for m in range(p):
                total += A[j, m] * A[i, m]
            out[j, i] = total
    cuda.syncthreads()


@shared
def block_times(A, x, out):
    """As `blas.times`."""
    for j in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
        total = 0.0
        for i in range(x.size):
            total += A[j, i] * x[i]
        out[j] = total
    cuda.syncthreads()


@shared
def block_dot(x, y):
    """As `blas.dot`, by every thread."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


_HOST = {"_lane": host_lane, "_lanes": host_lanes, "_wait": host_wait, "_total": host_total}
_HOST |= {"_multiply": blas.multiply, "_products": blas.products}
_HOST |= {"_factor": blas.factor, "_solve": blas.solve, "_times": blas.times, "_dot": blas.dot}
_BLOCK = {"_lane": block_lane, "_lanes": block_lanes, "_wait": block_wait, "_total": block_total}
_BLOCK |= {"_multiply": block_multiply, "_products": block_products}
_BLOCK |= {"_factor": block_factor, "_solve": block_solve, "_times": block_times, "_dot": block_dot}

_body = None  # bound by `chain_kernel`


def chains_cpu(first, end, given, out):
    for q in range(first, end):
        _body(given, out, q)


def chains_cuda(first, end, given, out):
    for q in range(first + cuda.blockIdx.x, end, cuda.gridDim.x):
        _body(given, out, q)
        cuda.syncthreads()


def sides(function, *parts, **names):
    """A function of the work on a chain for the host and for a GPU, as options of `Kernel` that bind it to `_body`.

    Parameters
    ----------
    function : array function
    *parts : array functions
        Those that it calls and that share the work among the threads, too.
    **names
        What other global names of the function stand for; a pair of functions is one for each side.
    """
    found = {}
    for number, (side, lanes) in enumerate((("cpu_only", _HOST), ("cuda_only", _BLOCK))):
        here = {name: one[number] if isinstance(one, tuple) else one for name, one in names.items()}
        here |= {part.py_func.__name__: bind(part, **lanes) for part in parts}
        found[side] = {"_body": bind(function, **lanes | here)}
    return found


def _parts(args, parts):
    """Arguments of about as many calls, each for some of the chains."""
    first, end, *others = args
    step = -(-(end - first) // parts)
    return [(lo, min(lo + step, end), *others) for lo in range(first, end, step)]


def chain_kernel(name, signature, sides, registered=True):
    """The kernel of `sides` of a function ``(given, out, chain)``: two tuples of arrays and numbers, and the chain's number.

    Parameters
    ----------
    name : str
    signature : tuple
        Numba's types of the tuples.
    sides : dict
        Of `sides`.
    registered : bool
        As of `Kernel`.
    """
    types, options = (numba.types.int64, numba.types.int64, *signature), {"split": _parts, "registered": registered}
    return Kernel(name, chains_cpu, chains_cuda, lambda T: [types], dtypes=("float64",), **options, **sides)
