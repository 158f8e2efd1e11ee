"""The pass over the rows of X for classes: several linear predictors a row, or cut points, X read once for all of them.

A chain has `count` rows of B, one for each predictor, and a row of P, its cut points. The outcome of a row of X is its class y.
"""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, device_function
from numbastats.bayes.kernels.lanes import shared, sides
from numbastats.bayes.kernels.likelihood import GROUP, OFFSET, OUTCOME, WEIGHT, dots, load_floats, no_room, transposed
from numbastats.scalar.bits import at2, buffer, in_step
from numbastats.scalar.elementary import exp, expm1, log, log1p
from numbastats.scalar.shrinkage import of_float

__all__ = ["MOST", "ORDERED", "UNORDERED"]

MOST = 15  # predictors of a row on a GPU

_lane = _lanes = _rows = _column = _room = _load = _number = None  # bound below


# --- rows: predictors M become the derivatives in them, V[0] log probabilities, V[1] and V[2] derivatives in the cut points ---


@device_function
def between(a, b, gap):
    """log(F(b) - F(a)) of the logistic distribution, b = a + gap, and its derivatives by a shift of both, a, and b."""
    near, far = exp(-abs(a)), exp(-abs(b))
    below = (near if a < 0.0 else 1.0) / (1.0 + near)  # F(a)
    above = (far if b > 0.0 else 1.0) / (1.0 + far)  # 1 - F(b)
    inner = -expm1(-gap)
    value = log(inner) - (log1p(near) + (a if a > 0.0 else 0.0)) - (log1p(far) - (b if b < 0.0 else 0.0))
    ratio = exp(-gap) / inner
    return value, above - below, -below - ratio, above + ratio


@shared
def ordered_rows(E, row, M, V, P, q, n):
    """Classes between cut points; each has derivatives in the one below and the one above."""
    weights, offsets, y = E[WEIGHT, row : row + n], E[OFFSET, row : row + n], E[OUTCOME, row : row + n]
    m, value, lower, upper, last = M[0], V[0], V[1], V[2], P.shape[1]
    for i in range(_lane(), n, _lanes()):
        k = np.int64(y[i])
        lower[i] = P[q, k - 1] if k > 0 else -np.inf
        upper[i] = P[q, k] if k < last else np.inf
    for i in range(_lane(), n, _lanes()):
        in_step()
        t, w = m[i] + offsets[i], weights[i]
        v, shift, by_lower, by_upper = between(lower[i] - t, upper[i] - t, upper[i] - lower[i])
        m[i], value[i], lower[i], upper[i] = -w * shift, w * v, w * by_lower, w * by_upper


@shared
def ordered_column(E, row, V, n, t):
    """What the rows add to a sum: log probabilities, then derivatives in the cut points."""
    y = E[OUTCOME, row : row + n]
    total = 0.0
    for i in range(n):
        if t == 0:
            total += V[0, i]
        elif y[i] == t:
            total += V[1, i]
        elif y[i] == t - 1:
            total += V[2, i]
    return total


@shared
def unordered_rows(E, row, M, V, P, q, n):
    """Classes by their logarithms of odds against class 0, as many as P has columns; V[1] and V[2] become a maximum and a sum."""
    weights, offsets, y = E[WEIGHT, row : row + n], E[OFFSET, row : row + n], E[OUTCOME, row : row + n]
    value, top, total = V[0], V[1], V[2]
    for i in range(_lane(), n, _lanes()):
        value[i] = top[i] = 0.0
    for k in range(P.shape[1]):
        m = M[k]
        for i in range(_lane(), n, _lanes()):
            t = m[i] + offsets[i]
            m[i] = t
            top[i] = t if t > top[i] else top[i]
            value[i] = t if y[i] == k + 1.0 else value[i]
    for i in range(_lane(), n, _lanes()):
        in_step()
        total[i] = exp(-top[i])
    for k in range(P.shape[1]):
        m = M[k]
        for i in range(_lane(), n, _lanes()):
            in_step()
            m[i] = exp(m[i] - top[i])
            total[i] += m[i]
    for i in range(_lane(), n, _lanes()):
        in_step()
        value[i] = weights[i] * (value[i] - top[i] - log(total[i]))
    for k in range(P.shape[1]):
        m = M[k]
        for i in range(_lane(), n, _lanes()):
            hit = 1.0 if y[i] == k + 1.0 else 0.0
            m[i] = weights[i] * (hit - m[i] / total[i])


@shared
def unordered_column(E, row, V, n, t):
    """What the rows add to the only sum."""
    total = 0.0
    for i in range(n):
        total += V[0, i]
    return total


# --- the pass ---------------------------------------------------------------------------------------------------------------


def pass_cpu(X, B, k0, k1, streams, step, first, chunk, tile, facts, G, S):
    E, P = facts
    chains = P.shape[0]
    count, width = B.shape[0] // chains, S.shape[1] // chains
    for c in prange(S.shape[0]):
        dot, M, V = buffer(GROUP, B.dtype), np.empty((count, GROUP)), np.empty((3, GROUP))
        wide = _room(X, tile, B)
        begin = np.int64(c) * chunk
        rows = X[begin : begin + chunk]
        G[c, :, :] = B.dtype.type(0.0)
        S[c, :] = 0.0
        for lo in range(0, rows.shape[0], tile):
            x = _load(rows[lo : lo + tile], wide)
            n, row = x.shape[0], first + begin + lo
            dd = dot[:n]
            for q in range(chains):
                for k in range(count):
                    dots(x, B[q * count + k], dd)
                    m = M[k]
                    for i in range(n):
                        m[i] = dd[i]
                _rows(E, row, M, V, P, q, n)
                for k in range(count):
                    transposed(x, M[k, :n], G[c, q * count + k])
                for j in range(width):
                    S[c, q * width + j] += _column(E, row, V, n, j)


def pass_cuda(X, B, k0, k1, streams, step, first, chunk, tile, facts, G, S):
    # A block takes a chunk and a chain, a thread a row of a group, then columns; X is read from memory once, then from a cache.
    E, P = facts
    M = cuda.shared.array((MOST, GROUP), np.float64)
    V = cuda.shared.array((3, GROUP), np.float64)
    t, columns, chains = cuda.threadIdx.x, B.shape[1], P.shape[0]
    count, width = B.shape[0] // chains, S.shape[1] // chains
    for task in range(cuda.blockIdx.x, S.shape[0] * chains, cuda.gridDim.x):
        c, q = task // chains, task % chains
        begin = c * chunk
        end = min(begin + chunk, X.shape[0])
        for k in range(count):
            for j in range(t, columns, cuda.blockDim.x):
                G[c, q * count + k, j] = B[q * count + k, j] * 0.0
        for j in range(t, width, cuda.blockDim.x):
            S[c, q * width + j] = 0.0
        for group in range(begin, end, GROUP):
            n = min(GROUP, end - group)
            for i in range(t, n, cuda.blockDim.x):
                for k in range(count):
                    dot, j = at2(B, q * count + k, 0) * _number(at2(X, group + i, 0)), 1
                    while j < columns:
                        dot += at2(B, q * count + k, j) * _number(at2(X, group + i, j))
                        j += 1
                    M[k, i] = np.float64(dot)
            _rows(E, first + group, M, V, P, q, n)
            cuda.syncthreads()
            for k in range(count):
                for j in range(t, columns, cuda.blockDim.x):
                    s, i = G[c, q * count + k, j], 0
                    while i < n:
                        s += _number(at2(X, group + i, j)) * type(s)(M[k, i])
                        i += 1
                    G[c, q * count + k, j] = s
            for j in range(t, width, cuda.blockDim.x):
                S[c, q * width + j] += _column(E, first + group, V, n, j)
            cuda.syncthreads()


# --- registration -----------------------------------------------------------------------------------------------------------

_f, _i, _u = types.float64, types.int64, types.uint32


def _pass(name, rows, column):
    host, block = (side["_body"] for side in sides(rows).values())
    both = types.UniTuple(_f[:, ::1], 2)  # facts of the rows; cut points of the chains, or a number for each predictor
    return Kernel(
        f"bayes.{name}",
        pass_cpu,
        pass_cuda,
        lambda T: [(T[:, ::1], T[:, ::1], _u, _u, _u[::1], _u, _i, _i, _i, both, T[:, :, ::1], _f[:, ::1])],
        f64_ok="row functions and sums are double: what they add up decides whether a proposal is accepted",
        cuda_only={"_rows": block, "_number": of_float},
        cpu_only={"_rows": host, "_room": no_room, "_load": load_floats},
        _column=column,
    )


ORDERED = _pass("rows_ordered", ordered_rows, ordered_column)
UNORDERED = _pass("rows_unordered", unordered_rows, unordered_column)
