"""Cholesky factors, triangular solves and X'WX on a place: of many matrices at once, each with a status and no exception.

On the host LAPACK and BLAS take large matrices, and kernels of our own small ones; on a GPU a block of threads takes a matrix.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange, types
from scipy.linalg import blas, lapack

from numbastats._core.cuda_backend import cuda
from numbastats._core.items import items_cpu, items_cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats._core.parallel import in_threads, worker_count

__all__ = ["cholesky", "normal_matrix", "solve"]

LANES = 64  # threads of a block, which share a matrix
SMALL = 16  # order of a matrix up to which calling LAPACK takes longer than the factorisation
ROWS = 1024  # of X that an item of X'WX adds up
PART = 2**20  # entries of X taken at a time by BLAS: they fit the third-level cache

_function = array_function(host=False)


@_function
def _column(L, j, lane, lanes):
    """Column j of a factor before the division by its root; rows of a lane."""
    for i in range(j + lane, L.shape[0], lanes):
        total = L[i, j]
        for k in range(j):
            total -= L[i, k] * L[j, k]
        L[i, j] = total


@_function
def _scaled(L, j, pivot, lane, lanes):
    """Column j of a factor."""
    root = math.sqrt(pivot)
    for i in range(j + lane, L.shape[0], lanes):
        L[i, j] = L[i, j] / root if i > j else root


def cholesky_cpu(A, status):
    for index in prange(A.shape[0]):
        L, found = A[np.int64(index)], np.int64(0)
        for j in range(L.shape[0]):
            if found == 0:
                _column(L, j, 0, 1)
                if L[j, j] > 0.0:
                    _scaled(L, j, L[j, j], 0, 1)
                else:
                    found = j + 1
        status[index] = found


def cholesky_cuda(A, status):
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    for item in range(cuda.blockIdx.x, A.shape[0], cuda.gridDim.x):
        L, found = A[item], 0
        for j in range(L.shape[0]):
            if found == 0:  # for all threads of the block alike
                _column(L, j, lane, lanes)
                cuda.syncthreads()
                pivot = L[j, j]
                cuda.syncthreads()
                if pivot > 0.0:
                    _scaled(L, j, pivot, lane, lanes)
                else:
                    found = j + 1
                cuda.syncthreads()
        if lane == 0:
            status[item] = found


@_function
def _eliminated(L, b, k, x, transposed, lane, lanes):
    """What is left of a right-hand side after its k-th unknown; rows of a lane."""
    if transposed:
        for i in range(lane, k, lanes):
            b[i] -= L[k, i] * x
    else:
        for i in range(k + 1 + lane, b.size, lanes):
            b[i] -= L[i, k] * x
    if lane == 0:
        b[k] = x


def solve_cpu(L, transposed, b):
    for index in prange(b.shape[0]):
        A, v = L[np.int64(index)], b[np.int64(index)]
        for j in range(v.size):
            k = v.size - 1 - j if transposed else j
            _eliminated(A, v, k, v[k] / A[k, k], transposed, 0, 1)


def solve_cuda(L, transposed, b):
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    for item in range(cuda.blockIdx.x, b.shape[0], cuda.gridDim.x):
        A, v = L[item], b[item]
        for j in range(v.size):
            k = v.size - 1 - j if transposed else j
            x = v[k] / A[k, k]
            cuda.syncthreads()
            _eliminated(A, v, k, x, transposed, lane, lanes)
            cuda.syncthreads()


@_function
def _product(given, parts, item):
    """One entry of X'WX over some rows."""
    X, w = given
    p = X.shape[1]
    part, i, j = item // (p * p), item // p % p, item % p
    if j <= i:
        total = 0.0
        for r in range(part * ROWS, min((part + 1) * ROWS, X.shape[0])):
            weight = w[r] if w.size > 1 else w[0]
            total += weight * np.float64(X[r, i]) * np.float64(X[r, j])
        parts[part, i, j] = total


@_function
def _total(parts, out, item):
    """One entry of X'WX."""
    p = out.shape[0]
    i, j = max(item // p, item % p), min(item // p, item % p)
    total = 0.0
    for part in range(parts.shape[0]):
        total += parts[part, i, j]
    out[item // p, item % p] = total


_f, _i = types.float64, types.int64
_F1, _F2, _F3 = (types.Array(_f, d, "C") for d in (1, 2, 3))
_DOUBLE = dict(dtypes=("float64",))
CHOLESKY = Kernel("_core.cholesky", cholesky_cpu, cholesky_cuda, lambda T: [(_F3, types.int64[::1])], **_DOUBLE)
SOLVE = Kernel("_core.solve", solve_cpu, solve_cuda, lambda T: [(_F3, _i, _F2)], **_DOUBLE)
PRODUCT = Kernel(
    "_core.weighted_products",
    items_cpu,
    items_cuda,
    lambda T: [(_i, types.Tuple((T[:, ::1], _F1)), _F3)],
    f64_ok="sums are double",
    on_host=False,
    _body=_product,
)
TOTAL = Kernel("_core.total_products", items_cpu, items_cuda, lambda T: [(_i, _F3, _F2)], on_host=False, _body=_total, **_DOUBLE)
ONE = np.ones(1)


def cholesky(place, A):
    """Lower Cholesky factors of matrices (m, p, p), in their place; entries above the diagonal are left as they are.

    Returns
    -------
    status : (m,) int64
        0, or one more than the column at which a matrix is not positive definite; its factor is then not to be used.
    """
    m, p = A.shape[:2]
    status = place.empty(m, np.int64)
    if place.on_gpu or p <= SMALL:
        place.run(CHOLESKY, m * LANES, A, status, cost=p**3 / 3 / LANES, threads=LANES)
        return status

    def one(k):
        _, status[k] = lapack.dpotrf(A[k].T, lower=0, clean=0, overwrite_a=1)  # in Fortran's order the triangle is the upper one
        if not status[k] and not (fine := A[k].diagonal() > 0.0).all():  # OpenBLAS does not see NaN
            status[k] = fine.argmin() + 1

    in_threads(one, [(k,) for k in range(m)], worker_count(place.workers) if m * p**3 > 1e7 else 1)
    return status


def solve(place, L, b, transposed=False):
    """Solve L x = b, or L'x = b, for lower triangles (m, p, p) and a right-hand side of each, (m, p), in its place."""
    m, p = b.shape
    if place.on_gpu or p <= SMALL:
        place.run(SOLVE, m * LANES, L, np.int64(transposed), b, cost=p**2 / LANES, threads=LANES)
        return
    for k in range(m):
        b[k] = blas.dtrsv(L[k].T, b[k], lower=0, trans=int(not transposed))


def normal_matrix(place, X, w=None):
    """X'WX in double precision of rows (n, p) and the diagonal of W, (n,), by default ones."""
    n, p = X.shape
    if place.on_gpu:
        parts, out = place.empty((-(-n // ROWS), p, p)), place.empty((p, p))
        w = place.constant(ONE) if w is None else w
        place.run(PRODUCT, parts.size, parts.size, (X, w), parts)
        place.run(TOTAL, out.size, out.size, parts, out)
        return out
    out, rows = np.zeros((p, p)), max(p, PART // max(p, 1))
    for lo in range(0, n, rows):
        x = X[lo : lo + rows].astype(np.float64, copy=False)
        x = x if w is None else x * np.sqrt(w[lo : lo + rows])[:, None]
        out += x.T @ x  # of a matrix and its own transpose BLAS makes one half
    return out
