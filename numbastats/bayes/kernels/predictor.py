"""Linear predictors of chains, by Cholesky factors: e = L z, z ~ N(0, I), and the metric GG' = I + L'WL of z for curvatures W.

In u = G'z a posterior of these curvatures has a covariance of I. What is of the response comes from the host, for all chains.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from numbastats._core.kernel import device_function
from numbastats.bayes.kernels.lanes import chain_kernel, shared, sides
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.philox import philox4x32, uniform52
from numbastats.scalar.shrinkage import bounded, item_of

__all__ = ["COLUMNS", "FACTORS", "INWARDS", "NORMAL", "OUTWARDS", "PULL"]

_lane = _lanes = _wait = _factor = _solve = _multiply = _products = _times = _dot = None  # bound by `sides`
_WIDTH, _MOST = 14.0, 60  # of the slice of a local scale's logarithm, which may have two modes; evaluations


@shared
def factors(given, out, q):
    """L of the covariance K + F, unless it is kept, and G; only of chains of which they are needed."""
    K, F, W, anew, needed = given
    L, G, room, failed = out
    n, lane, lanes = F.shape[0], _lane(), _lanes()
    if not needed[q]:
        return
    if anew:
        for j in range(lane, n, lanes):
            for i in range(n):
                L[q, j, i] = K[q, j, i] + F[j, i] if i >= j else 0.0
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


@shared
def normal(given, out, q):
    """Of r ~ N(0, C), C = K + F + S: the log density of r, and C^-1 (r - h); only of chains of which they are needed."""
    K, F, S, R, H, needed = given
    L, W, value = out
    w, n, lane, lanes = W[q], F.shape[0], _lane(), _lanes()
    if not needed[q]:
        return
    for j in range(lane, n, lanes):
        for i in range(n):
            L[q, j, i] = K[q, j, i] + F[j, i] if i >= j else 0.0
        L[q, j, j] += S[q, j]
        w[j] = R[q, j]
    _wait()
    total = -np.inf
    if _factor(L[q]):
        _solve(L[q], w, False)
        total = -0.5 * _dot(w, w)
        for j in range(n):
            total -= log(L[q, j, j])
        _wait()
        for j in range(lane, n, lanes):
            w[j] = R[q, j] - H[q, j]
        _wait()
        _solve(L[q], w, False)
        _solve(L[q], w, True)
    if lane == 0:
        value[q] = total


# --- local scales with the coefficients integrated out -----------------------------------------------------------------------


@device_function
def column_density(t, base, extra, factor, a, c):
    """Log density of t = log lambda of a column x, given c = x'M r and a = x'M x for r ~ N(0, 1/M) without the column."""
    d = exp(-2.0 * (t + base))
    v = 1.0 / (d + extra)
    value = t - ((2.0 * t if t > 0.0 else 0.0) + log1p(exp(-2.0 * abs(t))))
    value += 0.5 * (v * c * c / (1.0 + v * a) - log1p(v * a))
    value -= 0.5 * log1p(extra / d) if factor else 0.0
    return value if 1e-12 < d < 1e300 else -np.inf


@device_function
def column_draw(d, base, extra, factor, a, c, k0, k1, item, stream):
    """A precision after a slice of log lambda: an interval around it at random, which shrinks and is never extended."""
    t = -0.5 * log(d) - base
    w0, w1, w2, w3 = philox4x32(np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(0), stream, k0, k1)
    level = column_density(t, base, extra, factor, a, c) + log(uniform52(w0, w1))
    lo = t - _WIDTH * uniform52(w2, w3)
    hi = lo + _WIDTH
    for count in range(1, _MOST):
        w0, w1, w2, w3 = philox4x32(
            np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(count), stream, k0, k1
        )
        at = lo + (hi - lo) * uniform52(w0, w1)
        if column_density(at, base, extra, factor, a, c) > level:
            return bounded(exp(-2.0 * (at + base)))
        if at < t:
            lo = at
        else:
            hi = at
    return d


@shared
def columns(given, out, q):
    """Precisions of some columns in turn, and w = M (r - h) thereafter; M is 1/(K + F + S), g = M r.

    h is a draw of r, in which a column has the part sqrt(v) z.
    """
    A, R, Z, order, base, extra, factor, k0, k1, streams, step = given
    M, G, D, H, W, room = out
    n, lane, lanes = R.shape[1], _lane(), _lanes()
    w, rest = W[q], room[q]
    for k in range(order.shape[1]):
        j = order[q, k]
        _times(M[q], A[j], w)
        a, c, before = _dot(A[j], w), _dot(A[j], G[q]), D[q, j]
        v = 1.0 / (before + extra[q])
        alone = 1.0 - v * a
        _wait()
        if alone > 1e-9:
            now = column_draw(before, base[q, j], extra[q], factor, a / alone, c / alone, k0, k1, item_of(j, step), streams[1, q])
            u = 1.0 / (now + extra[q])
            ratio, moved = (u - v) / (1.0 + (u - v) * a), (math.sqrt(u) - math.sqrt(v)) * Z[q, j]
            for i in range(lane, n, lanes):
                share = ratio * w[i]
                G[q, i] -= share * c
                H[q, i] += moved * A[j, i]
                for m in range(n):
                    M[q, i, m] -= share * w[m]
            if lane == 0:
                D[q, j] = now
        _wait()
    for i in range(lane, n, lanes):
        rest[i] = R[q, i] - H[q, i]
    _wait()
    _times(M[q], rest, w)


# --- registration -----------------------------------------------------------------------------------------------------------

_f, _i, _u, _b = types.float64, types.int64, types.uint32, types.boolean
_1, _2, _3, _n = _f[::1], _f[:, ::1], _f[:, :, ::1], _i[::1]


def _kernel(name, given, out, function):
    return chain_kernel(f"bayes.{name}", (types.Tuple(given), types.Tuple(out)), sides(function))


FACTORS = _kernel("factors", (_3, _2, _2, _b, _b[::1]), (_3, _3, _3, _n), factors)
PULL = _kernel("pull", (_3, _3, _2, _2), (_2,), pull)
OUTWARDS = _kernel("outwards", (_3, _3, _2), (_2, _2), outwards)
INWARDS = _kernel("inwards", (_3, _3, _2), (_2, _2), inwards)
NORMAL = _kernel("normal", (_3, _2, _2, _2, _2, _b[::1]), (_3, _2, _1), normal)
_columns_types = _2, _2, _2, _i[:, ::1], _2, _1, _b, _u, _u, _u[:, ::1], _u
COLUMNS = _kernel("columns", _columns_types, (_3, _2, _2, _2, _2, _2), columns)
