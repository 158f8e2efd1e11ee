"""Newton's method for a mixture: derivatives from the sums of a pass, the step, the smallest eigenvalue of the certificate."""

from __future__ import annotations

import math

from numbastats._core.climb import cholesky_step
from numbastats._core.kernel import array_function
from numbastats.mixture.kernels.records import FLAT
from numbastats.scalar import mixture as fam

_function = array_function(fastmath=(), host=False)


@_function
def _first(family, shape, m, v, c):  # not inlined, for the sake of compile time
    return fam.first_derivatives(family, shape, m, v, c)


@_function
def derivatives(S, H, par, g, full, D, info, settings):
    """Gradient and Hessian in theta = (log al_k/al_K for k < K; log m (Gaussian: m); log v) from the sums of a pass.

    The responsibilities of an observation sum to 1, so the moments of a row sum to 0 over the components and the softmax of
    the weights leaves them as they are: only -n (diag(al) - al al') is added to the block of the weights. `full` becomes the
    information that the complete data would have about each coordinate alone.
    """
    family, shape, c = settings.family, settings.shape, info.centre
    prior_n, prior_d, more = settings.prior_n, info.prior_d, settings.prior_a - 1.0
    s0, s1, s2, al, mean, dispersion = S[0], S[1], S[2], par[0], par[1], par[2]
    K = al.size
    q = 2 if family <= fam.GAMMA else 1
    mass = 0.0
    for k in range(K):
        mass += s0[k]
    for k in range(K):
        am, av, bm, bv, cv = _first(family, shape, mean[k], dispersion[k], c)
        _p, pv, _pvv = fam.penalty(family, dispersion[k], prior_n, prior_d)
        m, v = K - 1 + k, 2 * K - 1 + k
        row_m = D[m]
        row_v = D[v] if q == 2 else row_m
        if k < K - 1:
            g[k] = s0[k] - mass * al[k] + more * (1.0 - K * al[k])
            full[k] = (mass + more * K) * al[k] * (1.0 - al[k])
        g[m] = s0[k] * am + s1[k] * bm
        if q == 2:
            g[v] = s0[k] * av + s1[k] * bv + s2[k] * cv + pv
        for j in range(K):
            hi, lo = max(j, k), min(j, k)
            h = H[hi * (hi + 1) // 2 + lo]
            jm, jv = K - 1 + j, 2 * K - 1 + j
            dam, dav, dbm, dbv, dcv = _first(family, shape, mean[j], dispersion[j], c)
            if k < K - 1:
                if j < K - 1:
                    spread = (al[k] if j == k else 0.0) - al[k] * al[j]
                    D[k, j] = h[0] - (mass + more * K) * spread
                D[k, jm] = h[0] * dam + h[1] * dbm
                D[jm, k] = D[k, jm]
                if q == 2:
                    D[k, jv] = h[0] * dav + h[1] * dbv + h[2] * dcv
                    D[jv, k] = D[k, jv]
            x0, x1, x2 = h[0] * dam + h[1] * dbm, h[1] * dam + h[3] * dbm, h[2] * dam + h[4] * dbm
            row_m[jm] = am * x0 + bm * x1
            if q == 2:
                row_v[jm] = av * x0 + bv * x1 + cv * x2
                D[jm, v] = row_v[jm]
                y0 = h[0] * dav + h[1] * dbv + h[2] * dcv
                y1 = h[1] * dav + h[3] * dbv + h[4] * dcv
                y2 = h[2] * dav + h[4] * dbv + h[5] * dcv
                row_v[jv] = av * y0 + bv * y1 + cv * y2
    for k in range(K):  # after the products, which pairs of different components write in both orders
        amm, amv, avv, bmm, bmv, bvv, cvv = fam.second_derivatives(family, shape, mean[k], dispersion[k], c)
        _p, pv, pvv = fam.penalty(family, dispersion[k], prior_n, prior_d)
        m, v = K - 1 + k, 2 * K - 1 + k
        full[m] = -(s0[k] * amm + s1[k] * bmm)
        D[m, m] -= full[m]
        if q == 2:
            D[m, v] += s0[k] * amv + s1[k] * bmv
            D[v, m] = D[m, v]
            full[v] = -(s0[k] * avv + s1[k] * bvv + s2[k] * cvv + pvv)
            D[v, v] -= full[v]


@_function
def _jacobi(A, V, w, n):
    """Eigenvalues w and vectors V (columns) of the symmetric A, which is destroyed: cyclic Jacobi."""
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off, diagonal = 0.0, 0.0
        for i in range(n):
            diagonal += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-32 * diagonal:
            break
        for i in range(1, n):
            for j in range(i):
                if A[i, j] != 0.0:
                    tau = 0.5 * (A[i, i] - A[j, j]) / A[i, j]
                    t = math.copysign(1.0, tau) / (abs(tau) + math.sqrt(1.0 + tau * tau))
                    cos = 1.0 / math.sqrt(1.0 + t * t)
                    sin = t * cos
                    for k in range(n):
                        p, q = A[k, j], A[k, i]
                        A[k, j], A[k, i] = cos * p - sin * q, sin * p + cos * q
                    for k in range(n):
                        p, q = A[j, k], A[i, k]
                        A[j, k], A[i, k] = cos * p - sin * q, sin * p + cos * q
                    for k in range(n):
                        p, q = V[k, j], V[k, i]
                        V[k, j], V[k, i] = cos * p - sin * q, sin * p + cos * q
    for i in range(n):
        w[i] = A[i, i]


@_function
def newton_step(D, g, step, A, V, w, n):
    """Ascent step for the Hessian D, and the decrement g' step. Cholesky where -D is definite, else |eigenvalues|."""
    for i in range(n):
        for j in range(n):
            A[i, j] = -D[i, j]
    if not cholesky_step(A, g, n, 0.0, 1e-10, step, V):
        _jacobi(A, V, w, n)
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(w[i]))
            step[i] = 0.0
        for j in range(n):
            x = 0.0
            for i in range(n):
                x += V[i, j] * g[i]
            x /= max(abs(w[j]), 1e-9 * largest)
            for i in range(n):
                step[i] += V[i, j] * x
    decrement = 0.0
    for i in range(n):
        decrement += g[i] * step[i]
    return decrement


@_function
def smallest_eigenvalue(D, full, A, V, w, n):
    """Of -D in units of the complete data's information: about 1 - the rate of EM; -1 where D is no maximum."""
    for i in range(n):
        if not (full[i] > 0.0 and D[i, i] < 0.0):
            return -1.0 if full[i] <= 0.0 or D[i, i] > FLAT * full[i] else 0.0
    for i in range(n):
        for j in range(n):
            A[i, j] = -D[i, j] / math.sqrt(full[i] * full[j])
    _jacobi(A, V, w, n)
    least = w[0]
    for i in range(1, n):
        least = min(least, w[i])
    return least
