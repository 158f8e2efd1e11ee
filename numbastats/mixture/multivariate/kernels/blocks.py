"""What the work on an item is written in: a thread of the host does it alone, the threads of a block together on a GPU.

Rounds of a loop over `each` do not depend on each other, and no thread reads what they write before all threads `meet`. All else
every thread does alike: sums of the threads become one by `total`, answers by `every`, places by `first_least`. `in_blocks` binds
the block's versions to a function and to all that it calls.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import array_function, bind
from numbastats.mixture.multivariate.kernels.algebra import cholesky, solve

__all__ = ["BLOCK", "each", "every", "factorised", "first_least", "in_blocks", "meet", "solved", "total"]

_shared = array_function(fastmath=(), host=False)

each, factorised, solved = range, cholesky, solve


@_shared
def meet():
    """Let all threads of the block come to this point."""


@_shared
def total(value, share):
    """The sum of the threads' values, the same for all; `share` (2, threads) is of the block."""
    return value


@_shared
def every(good):
    """Whether something holds for all threads."""
    return good


@_shared
def first_least(value, at, share):
    """The place of the least of the threads' values, of equal ones the first; -1 where no thread has one."""
    return at


@_shared
def block_each(*ends):
    """As `range`, the rounds of one thread."""
    if len(ends) == 1:
        return range(cuda.threadIdx.x, ends[0], cuda.blockDim.x)
    return range(ends[0] + cuda.threadIdx.x, ends[1], cuda.blockDim.x)


@_shared
def block_meet():
    """As `meet`."""
    cuda.syncthreads()


@_shared
def block_total(value, share):
    """As `total`: the second half of the threads is added to the first, and so on."""
    lane, size = cuda.threadIdx.x, cuda.blockDim.x
    share[0, lane] = value
    while size > 1:
        half = (size + 1) // 2
        cuda.syncthreads()
        if lane < size - half:
            share[0, lane] += share[0, lane + half]
        size = half
    cuda.syncthreads()
    found = share[0, 0]
    cuda.syncthreads()
    return found


@_shared
def block_every(good):
    """As `every`."""
    return cuda.syncthreads_and(np.int32(1 if good else 0)) != 0


@_shared
def block_first_least(value, at, share):
    """As `first_least`."""
    lane, size = cuda.threadIdx.x, cuda.blockDim.x
    share[0, lane], share[1, lane] = value, at
    while size > 1:
        half = (size + 1) // 2
        cuda.syncthreads()
        if lane < size - half:
            least, place, other, there = share[0, lane], share[1, lane], share[0, lane + half], share[1, lane + half]
            if there >= 0.0 and (place < 0.0 or other < least or (other == least and there < place)):
                share[0, lane], share[1, lane] = other, there
        size = half
    cuda.syncthreads()
    found = share[1, 0]
    cuda.syncthreads()
    return np.int64(found)


@_shared
def block_factorised(A, n, ridge, L):
    """As `cholesky`, column after column."""
    cuda.syncthreads()
    for j in range(n):
        pivot = A[j, j] + ridge
        for m in range(j):
            pivot -= L[j, m] * L[j, m]
        if not (pivot > 0.0 and pivot < math.inf):
            return j
        root = math.sqrt(pivot)
        for i in range(j + cuda.threadIdx.x, n, cuda.blockDim.x):
            s = A[i, j]
            for m in range(j if i > j else 0):
                s -= L[i, m] * L[j, m]
            L[i, j] = s / root if i > j else root
        cuda.syncthreads()
    return n


@_shared
def block_solved(L, n, g, out):
    """As `solve`, column after column."""
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    cuda.syncthreads()
    for i in range(lane, n, lanes):
        out[i] = g[i]
    cuda.syncthreads()
    for step in range(2 * n):
        i = step if step < n else 2 * n - 1 - step
        found = out[i] / L[i, i]
        cuda.syncthreads()
        if lane == 0:
            out[i] = found
        if step < n:
            for m in range(i + 1 + lane, n, lanes):
                out[m] -= L[m, i] * found
        else:
            for m in range(lane, i, lanes):
                out[m] -= L[i, m] * found
        cuda.syncthreads()


BLOCK = {
    "each": block_each,
    "meet": block_meet,
    "total": block_total,
    "every": block_every,
    "first_least": block_first_least,
    "factorised": block_factorised,
    "solved": block_solved,
}
"""By the names of the host's; other files add functions whose work a block divides otherwise."""


@functools.cache
def in_blocks(function):
    """An array function with the block's versions in the place of the host's, in it and in what it calls."""
    plain = function.py_func
    names = {name: BLOCK[name] for name in plain.__code__.co_names if name in BLOCK}
    for name in plain.__code__.co_names:
        called = plain.__globals__.get(name)
        if name not in names and hasattr(called, "py_func"):
            theirs = in_blocks(called)
            if theirs is not called:
                names[name] = theirs
    return bind(function, **names) if names else function
