"""Linear predictors of chains, by Cholesky factors: e = L z, z ~ N(0, I), and the metric GG' = I + L'WL of z for curvatures W.

In u = G'z a posterior of these curvatures has a covariance of I. What is of the response comes from the host, for all chains.
"""

from __future__ import annotations

import math

from numba import types

from numbastats.bayes.kernels.lanes import chain_kernel, shared, sides

__all__ = ["FACTORS", "INWARDS", "OUTWARDS", "PULL"]

_lane = _lanes = _wait = _factor = _solve = _multiply = _products = None  # bound by `sides`


@shared
def factors(given, out, q):
    """L of the covariance scale K + F, unless it is kept, and G; only of chains of which they are needed."""
    K, F, scale, W, anew, needed = given
    L, G, room, failed = out
    n, lane, lanes = F.shape[0], _lane(), _lanes()
    if not needed[q]:
        return
    if anew:
        for j in range(lane, n, lanes):
            for i in range(n):
                L[q, j, i] = scale[q] * K[q, j, i] + F[j, i] if i >= j else 0.0
        _wait()
        if not _factor(L[q]):
            failed[q] = 1
            return
    for j in range(lane, n, lanes):
        for i in range(n):
            room[q, j, i] = math.sqrt(W[q, i]) * L[q, j, i]
    _wait()
    _products(room[q], G[q])
    for j in range(lane, n, lanes):
        G[q, j, j] += 1.0
    _wait()
    if not _factor(G[q]):
        failed[q] = 1


@shared
def pull(given, out, q):
    """G^-1 (L's - z) for slopes s of the log-likelihood."""
    (L, G, S, Z), w = given, out[0][q]
    for j in range(_lane(), w.size, _lanes()):
        w[j] = S[q, j]
    _wait()
    _multiply(L[q], w, True)
    for j in range(_lane(), w.size, _lanes()):
        w[j] -= Z[q, j]
    _wait()
    _solve(G[q], w, False)


@shared
def outwards(given, out, q):
    """z = G'^-1 u and e = L z."""
    L, G, U = given
    z, e = out[0][q], out[1][q]
    for j in range(_lane(), z.size, _lanes()):
        z[j] = U[q, j]
    _wait()
    _solve(G[q], z, True)
    for j in range(_lane(), z.size, _lanes()):
        e[j] = z[j]
    _wait()
    _multiply(L[q], e, False)


@shared
def inwards(given, out, q):
    """z = L^-1 e and u = G'z."""
    L, G, E = given
    z, u = out[0][q], out[1][q]
    for j in range(_lane(), z.size, _lanes()):
        z[j] = E[q, j]
    _wait()
    _solve(L[q], z, False)
    for j in range(_lane(), z.size, _lanes()):
        u[j] = z[j]
    _wait()
    _multiply(G[q], u, True)


# --- registration -----------------------------------------------------------------------------------------------------------

_f, _i, _b = types.float64, types.int64, types.boolean
_1, _2, _3, _n = _f[::1], _f[:, ::1], _f[:, :, ::1], _i[::1]


def _kernel(name, given, out, function):
    return chain_kernel(f"bayes.{name}", (types.Tuple(given), types.Tuple(out)), sides(function))


FACTORS = _kernel("factors", (_3, _2, _1, _2, _b, _b[::1]), (_3, _3, _3, _n), factors)
PULL = _kernel("pull", (_3, _3, _2, _2), (_2,), pull)
OUTWARDS = _kernel("outwards", (_3, _3, _2), (_2, _2), outwards)
INWARDS = _kernel("inwards", (_3, _3, _2), (_2, _2), inwards)
