"""Kernels of the mixture fits.

``prepare``: scaled statistics (t1, t2) and compressed cells of every data set. ``starts``: start values and a few EM passes on
the cells, one problem per (data set, start). ``climb``: from given parameters to an optimum on all observations, one problem
per (data set, candidate). ``sums``: one pass over one large data set in fixed chunks. ``scores``: log densities and
responsibilities.

A pass over the observations gives sums; `advance` turns sums into the next parameters and is the whole control flow of EM,
SQUAREM and Newton. It is called after every pass by the CPU loop, by one lane of a CUDA block, and by the host when a large
data set is passed in chunks, so the three cannot differ.

Parameters are arrays (3, K): weights, means m and dispersions v of `numbastats.scalar.families`.
"""

from __future__ import annotations

import math
import types

import numba
import numpy as np
from numba import cuda, prange

from numbastats._core.compile import Kernel, array_function, build
from numbastats.scalar import families as fam
from numbastats.scalar.elementary import exp_neg, log
from numbastats.scalar.philox import philox4x32

__all__ = ["CLIMB", "PREPARE", "SCORES", "STARTS", "SUMS", "combine", "on_host"]

BLOCK = 512  # observations per block of a pass: its buffers stay in the first-level cache
PRODUCT = 128  # normalisers in [1, K] multiplied before one logarithm is taken: no overflow up to K = 255
CHUNK = 65_536  # observations per task of a pass over a large data set
LANES = 32  # threads of a CUDA block that add (more only wait, fewer will not do); they fix the order of summation
MAX_CUDA_K = 8
CUTS, PAIRS, EM_SUMS = MAX_CUDA_K + 1, MAX_CUDA_K * (MAX_CUDA_K + 1) // 2, 3 * MAX_CUDA_K + 1
NSUM = EM_SUMS + 6 * PAIRS  # sums of a pass with its Hessian
WIDTH = 32  # sums that a block reduces at a time

_FAST = ("contract", "reassoc", "nsz", "arcp")  # sums over observations may be reordered; their scalars keep their own flags

# Columns of `info`, one row per data set.
CENTRE, MASS, SUM1, SUM2, FLOOR, SCALE, SHIFT, LOGS, SPREAD, DISTINCT, COUNT, PRIOR_D = range(12)
INFO = 12
# Options of a climb.
METHOD, TOL, MAX_PASSES, PRIOR_N, PRIOR_A, WARM_PASSES, SHAPE, UNIT, DECREMENT_TOL = range(9)
OPTIONS = 9
NEWTON, SQUAREM, EM, BULKEM = range(4)  # methods
# State of a climb.
(
    PHASE, PASSES, LEFT, OBJECTIVE, LOGLIK, RADIUS, TRIES, CLOSING, STEP_MAX, DECREMENT, MIN_EIG, OLD, STATUS, ROUNDS, STEPS,
    HITMAX,
) = range(16)  # fmt: skip
STATE = 16
DONE, WARM, AT_NEWTON, SQ_A, SQ_B, SQ_C, AT_EM, FINAL = range(8)  # phases
OK, MAX_ITER, NOT_CERTIFIED, DEGENERATE = 0, 1, 2, 3  # statuses (the others are given by the host)
ANCHOR, CURRENT, TRIAL, SECOND = range(4)  # rows of the parameter store
GRADIENT, STEP, EIG, COMPLETE, TH0, TH1, TH2 = range(7)  # rows of the vector store
VECTOR_ROWS = 7
HESSIAN, WORK, VECTORS = range(3)  # rows of the matrix store

SUBSET, QUANTILE_CUTS, KMEANS_CUTS, GIVEN = range(4)  # kinds of start

FLAT = 1e-8  # the smallest eigenvalue of the scaled -H that counts as positive: one minus the rate of EM


_function = array_function(fastmath=(), host=False)
_summing = array_function(fastmath=_FAST, host=False)  # a pass may reorder its sums


# --- passes over the observations: sums of w r (1, t1, t2), the log-likelihood, and moments of the Hessian ---------------
# Level 0: no log-likelihood. 1: all weights are 1, products of normalisers. 2: one logarithm per observation.


def _product_log(s):
    """Sum of log s[i], s[i] in [1, 255], by products."""
    total = 0.0
    for q in range(0, s.size, PRODUCT):
        part = s[q : q + PRODUCT]
        p = 1.0
        for i in range(part.size):
            p *= np.float64(part[i])
        total += log(p)
    return total


def _weighted_log(s, w):
    total = 0.0
    for i in range(s.size):
        total += np.float64(w[i] * log(s[i]))
    return total


def _responsibilities(xb, yb, P, buf):
    """Numerators e_k <= 1 in the first K rows of `buf`, then the maximum logit and the normaliser.

    Two components at a time: a fifth less traffic with the cache.
    """
    K = P.shape[1]
    top, s = buf[K], buf[K + 1]
    a, b, c = P[0, K - 1], P[1, K - 1], P[2, K - 1]
    for i in range(xb.size):
        top[i] = a + b * xb[i] + c * yb[i]
    for k in range(0, K - 1, 2):
        a, b, c = P[0, k], P[1, k], P[2, k]
        d, f, g = P[0, k + 1], P[1, k + 1], P[2, k + 1]
        for i in range(xb.size):
            top[i] = max(top[i], max(a + b * xb[i] + c * yb[i], d + f * xb[i] + g * yb[i]))
    for i in range(xb.size):
        s[i] = P.dtype.type(0.0)
    for k in range(0, K - 1, 2):
        a, b, c = P[0, k], P[1, k], P[2, k]
        d, f, g = P[0, k + 1], P[1, k + 1], P[2, k + 1]
        ek, el = buf[k], buf[k + 1]
        for i in range(xb.size):
            u = exp_neg(a + b * xb[i] + c * yb[i] - top[i])
            v = exp_neg(d + f * xb[i] + g * yb[i] - top[i])
            ek[i] = u
            el[i] = v
            s[i] += u + v
    if K % 2 == 1:
        a, b, c = P[0, K - 1], P[1, K - 1], P[2, K - 1]
        ek = buf[K - 1]
        for i in range(xb.size):
            u = exp_neg(a + b * xb[i] + c * yb[i] - top[i])
            ek[i] = u
            s[i] += u


def _block_loglik(top, s, wb, level):
    total = 0.0
    if level > 0:
        for i in range(wb.size):
            total += np.float64(wb[i] * top[i])
    if level == 1:
        total += _product_log(s[: wb.size])
    elif level == 2:
        total += _weighted_log(s[: wb.size], wb)
    return total


_product_log, _weighted_log = _summing(_product_log), _summing(_weighted_log)
_responsibilities, _block_loglik = _summing(_responsibilities), _summing(_block_loglik)


@_summing
def _complete(P, S, j, mass, sum1, sum2):
    """The other component of a pair from totals; returns the sum of its logits."""
    b = 1 - j
    S[0, b], S[1, b], S[2, b] = mass - S[0, j], sum1 - S[1, j], sum2 - S[2, j]
    return P[0, b] * mass + P[1, b] * sum1 + P[2, b] * sum2


@_summing
def _sums(t1, t2, w, P, C, S, buf, level, mass, sum1, sum2):
    """Sums of one pass and the log-likelihood, from float64 coefficients P; C is P in the type of the data.

    One function, because each nested one would be compiled again with whatever calls it.
    """
    K, T = P.shape[1], C.dtype.type
    one, zero = T(1.0), T(0.0)
    for i in range(3):
        for k in range(K):
            C[i, k] = P[i, k]
    if K == 2:  # by one exponential, r_j = sigmoid(l_j - l_b), and the totals
        j = 0 if P[2, 1] >= P[2, 0] else 1  # the wider component is the base: its logits are small
        da, db, dc = C[0, j] - C[0, 1 - j], C[1, j] - C[1, 1 - j], C[2, j] - C[2, 1 - j]
        s0, s1, s2, top, logs = zero, zero, zero, zero, 0.0
        for q in range(0, t1.size, BLOCK):
            xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
            sb = buf[0, : xb.size]
            for i in range(xb.size):
                x, y = xb[i], yb[i]
                d = da + db * x + dc * y
                e = exp_neg(-abs(d))
                s = one + e
                sb[i] = s
                g = wb[i] / s
                r = g if d >= zero else e * g
                s0 += r
                s1 += r * x
                s2 += r * y
                top += wb[i] * max(d, zero)
            if level == 1:
                logs += _product_log(sb)
            elif level == 2:
                logs += _weighted_log(sb, wb)
        S[0, j], S[1, j], S[2, j] = s0, s1, s2
        if S[0, j] <= (1.0 - 1e-6) * mass:  # else the other component's sums would cancel
            return np.float64(top) + logs + _complete(P, S, j, mass, sum1, sum2)
    elif K == 3:  # in one loop: a quarter faster than the general way
        a0, b0, c0 = C[0, 0], C[1, 0], C[2, 0]
        a1, b1, c1 = C[0, 1], C[1, 1], C[2, 1]
        a2, b2, c2 = C[0, 2], C[1, 2], C[2, 2]
        p0, p1, p2, q0, q1, q2, r0, r1, r2, top, logs = zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, 0.0
        for q in range(0, t1.size, BLOCK):
            xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
            sb = buf[0, : xb.size]
            for i in range(xb.size):
                x, y = xb[i], yb[i]
                u, v, z = a0 + b0 * x + c0 * y, a1 + b1 * x + c1 * y, a2 + b2 * x + c2 * y
                m = max(u, max(v, z))
                u, v, z = exp_neg(u - m), exp_neg(v - m), exp_neg(z - m)
                s = u + v + z
                sb[i] = s
                top += wb[i] * m
                g = wb[i] * (one / s)
                u, v, z = u * g, v * g, z * g
                p0 += u
                p1 += u * x
                p2 += u * y
                q0 += v
                q1 += v * x
                q2 += v * y
                r0 += z
                r1 += z * x
                r2 += z * y
            if level == 1:
                logs += _product_log(sb)
            elif level == 2:
                logs += _weighted_log(sb, wb)
        S[0, 0], S[1, 0], S[2, 0] = p0, p1, p2
        S[0, 1], S[1, 1], S[2, 1] = q0, q1, q2
        S[0, 2], S[1, 2], S[2, 2] = r0, r1, r2
        return np.float64(top) + logs
    S[:] = 0.0
    total = 0.0
    top, s = buf[K], buf[K + 1]
    for q in range(0, t1.size, BLOCK):
        xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
        _responsibilities(xb, yb, C, buf)
        total += _block_loglik(top, s, wb, level)
        for i in range(xb.size):
            s[i] = wb[i] / s[i]
        for k in range(0, K, 2):
            other = min(k + 1, K - 1)  # the last of an odd number is done twice, which costs less than a loop of its own
            ek, el = buf[k], buf[other]
            s0, s1, s2, r0, r1, r2 = zero, zero, zero, zero, zero, zero
            for i in range(xb.size):
                x, y = xb[i], yb[i]
                u, v = ek[i] * s[i], el[i] * s[i]
                s0 += u
                s1 += u * x
                s2 += u * y
                r0 += v
                r1 += v * x
                r2 += v * y
            S[0, k] += s0
            S[1, k] += s1
            S[2, k] += s2
            if other > k:
                S[0, other] += r0
                S[1, other] += r1
                S[2, other] += r2
    return total


@_summing
def _hessian_sums(t1, t2, w, P, S, H, buf, level, mass, sum1, sum2):
    """`_sums` with moments of r_k (1 - r_k) and -r_k r_l times (1, t1, t2, t1^2, t1 t2, t2^2), row k(k+1)/2 + l."""
    K = P.shape[1]
    if K == 2:  # the six moments of r0 r1 are the whole Hessian up to sign
        j = 0 if P[2, 1] >= P[2, 0] else 1
        da, db, dc = P[0, j] - P[0, 1 - j], P[1, j] - P[1, 1 - j], P[2, j] - P[2, 1 - j]
        s0, s1, s2, top, logs = 0.0, 0.0, 0.0, 0.0, 0.0
        h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for q in range(0, t1.size, BLOCK):
            xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
            sb = buf[0, : xb.size]
            for i in range(xb.size):
                x, y = xb[i], yb[i]
                d = da + db * x + dc * y
                e = exp_neg(-abs(d))
                s = 1.0 + e
                sb[i] = s
                inverse = 1.0 / s
                g = wb[i] * inverse
                r = g if d >= 0.0 else e * g
                s0 += r
                s1 += r * x
                s2 += r * y
                top += wb[i] * max(d, 0.0)
                u = e * inverse * g
                ux, uy = u * x, u * y
                h0 += u
                h1 += ux
                h2 += uy
                h3 += ux * x
                h4 += ux * y
                h5 += uy * y
            if level == 1:
                logs += _product_log(sb)
            elif level == 2:
                logs += _weighted_log(sb, wb)
        S[0, j], S[1, j], S[2, j] = s0, s1, s2
        for p in range(3):
            sign = -1.0 if p == 1 else 1.0
            H[p, 0], H[p, 1], H[p, 2] = sign * h0, sign * h1, sign * h2
            H[p, 3], H[p, 4], H[p, 5] = sign * h3, sign * h4, sign * h5
        if S[0, j] <= (1.0 - 1e-6) * mass:
            return top + logs + _complete(P, S, j, mass, sum1, sum2)
    S[:] = 0.0
    H[:] = 0.0
    total = 0.0
    top, s = buf[K], buf[K + 1]
    for q in range(0, t1.size, BLOCK):
        xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
        _responsibilities(xb, yb, P, buf)
        total += _block_loglik(top, s, wb, level)
        for i in range(xb.size):
            s[i] = 1.0 / s[i]
        for k in range(K):
            ek = buf[k]
            s0, s1, s2 = 0.0, 0.0, 0.0
            h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(xb.size):
                r = ek[i] * s[i]
                ek[i] = r
                x, y = xb[i], yb[i]
                v = wb[i] * r
                s0 += v
                s1 += v * x
                s2 += v * y
                u = v * (1.0 - r)
                ux, uy = u * x, u * y
                h0 += u
                h1 += ux
                h2 += uy
                h3 += ux * x
                h4 += ux * y
                h5 += uy * y
            S[0, k] += s0
            S[1, k] += s1
            S[2, k] += s2
            p = k * (k + 1) // 2 + k
            H[p, 0] += h0
            H[p, 1] += h1
            H[p, 2] += h2
            H[p, 3] += h3
            H[p, 4] += h4
            H[p, 5] += h5
            for j in range(k):
                ej = buf[j]
                h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(xb.size):
                    x, y = xb[i], yb[i]
                    u = wb[i] * ek[i] * ej[i]
                    ux, uy = u * x, u * y
                    h0 += u
                    h1 += ux
                    h2 += uy
                    h3 += ux * x
                    h4 += ux * y
                    h5 += uy * y
                p = k * (k + 1) // 2 + j
                H[p, 0] -= h0
                H[p, 1] -= h1
                H[p, 2] -= h2
                H[p, 3] -= h3
                H[p, 4] -= h4
                H[p, 5] -= h5
    return total


# --- parameters: coefficients, M-step, gradient, Hessian, Newton and SQUAREM steps -----------------------------------------


@_function
def _first(family, shape, m, v, c):  # not inlined, for the sake of compile time
    return fam.first_derivatives(family, shape, m, v, c)


@_function
def set_coefficients(P, par, family, shape, c):
    """P[:, k] = (A + log weight, B, C) of every component."""
    for k in range(par.shape[1]):
        a, b, q = fam.coefficients(family, shape, par[1, k], par[2, k], c)
        P[0, k], P[1, k], P[2, k] = math.log(par[0, k]) + a, b, q


@_function
def _m_step(S, par, family, c, floor, least, prior_n, prior_d, prior_a, old_mean):
    """Replace `par` by the M-step; False when a component is empty or its dispersion is at the floor."""
    K = par.shape[1]
    total = 0.0
    for k in range(K):
        if not S[0, k] > least:
            return False
        total += S[0, k] + (prior_a - 1.0)
    for k in range(K):
        m, v = fam.maximise(family, S[0, k], S[1, k], S[2, k], c, prior_n, prior_d)
        if not (v > floor and m < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
            return False
        if old_mean > 0.0:
            v = fam.with_old_mean(family, m, v, par[1, k])
        share = (S[0, k] + (prior_a - 1.0)) / total
        if not share > 0.0:
            return False
        par[0, k], par[1, k], par[2, k] = share, m, v
    return True


@_function
def _log_prior(par, family, prior_n, prior_d, prior_a):
    total = 0.0
    if prior_n > 0.0 or prior_a != 1.0:
        for k in range(par.shape[1]):
            p, _first, _second = fam.penalty(family, par[2, k], prior_n, prior_d)
            total += p + (prior_a - 1.0) * math.log(par[0, k])
    return total


@_function
def _derivatives(S, H, par, g, full, D, family, shape, c, prior_n, prior_d, prior_a):
    """Gradient and Hessian in theta = (log al_k/al_K for k < K; log m (Gaussian: m); log v) from the sums of a pass.

    The responsibilities of an observation sum to 1, so the moments of a row sum to 0 over the components and the softmax of
    the weights leaves them as they are: only -n (diag(al) - al al') is added to the block of the weights. `full` becomes the
    information that the complete data would have about each coordinate alone.
    """
    K = par.shape[1]
    q = 2 if family <= fam.GAMMA else 1
    mass = 0.0
    for k in range(K):
        mass += S[0, k]
    for k in range(K):
        am, av, bm, bv, cv = _first(family, shape, par[1, k], par[2, k], c)
        _p, pv, _pvv = fam.penalty(family, par[2, k], prior_n, prior_d)
        m, v = K - 1 + k, 2 * K - 1 + k
        if k < K - 1:
            g[k] = S[0, k] - mass * par[0, k] + (prior_a - 1.0) * (1.0 - K * par[0, k])
            full[k] = (mass + (prior_a - 1.0) * K) * par[0, k] * (1.0 - par[0, k])
        g[m] = S[0, k] * am + S[1, k] * bm
        if q == 2:
            g[v] = S[0, k] * av + S[1, k] * bv + S[2, k] * cv + pv
        for j in range(K):
            hi, lo = max(j, k), min(j, k)
            h = H[hi * (hi + 1) // 2 + lo]
            jm, jv = K - 1 + j, 2 * K - 1 + j
            dam, dav, dbm, dbv, dcv = _first(family, shape, par[1, j], par[2, j], c)
            if k < K - 1:
                if j < K - 1:
                    spread = (par[0, k] if j == k else 0.0) - par[0, k] * par[0, j]
                    D[k, j] = h[0] - (mass + (prior_a - 1.0) * K) * spread
                D[k, jm] = h[0] * dam + h[1] * dbm
                D[jm, k] = D[k, jm]
                if q == 2:
                    D[k, jv] = h[0] * dav + h[1] * dbv + h[2] * dcv
                    D[jv, k] = D[k, jv]
            x0, x1, x2 = h[0] * dam + h[1] * dbm, h[1] * dam + h[3] * dbm, h[2] * dam + h[4] * dbm
            D[m, jm] = am * x0 + bm * x1
            if q == 2:
                D[v, jm] = av * x0 + bv * x1 + cv * x2
                D[jm, v] = D[v, jm]
                y0 = h[0] * dav + h[1] * dbv + h[2] * dcv
                y1 = h[1] * dav + h[3] * dbv + h[4] * dcv
                y2 = h[2] * dav + h[4] * dbv + h[5] * dcv
                D[v, jv] = av * y0 + bv * y1 + cv * y2
    for k in range(K):  # after the products, which pairs of different components write in both orders
        amm, amv, avv, bmm, bmv, bvv, cvv = fam.second_derivatives(family, shape, par[1, k], par[2, k], c)
        _p, pv, pvv = fam.penalty(family, par[2, k], prior_n, prior_d)
        m, v = K - 1 + k, 2 * K - 1 + k
        full[m] = -(S[0, k] * amm + S[1, k] * bmm)
        D[m, m] -= full[m]
        if q == 2:
            D[m, v] += S[0, k] * amv + S[1, k] * bmv
            D[v, m] = D[m, v]
            full[v] = -(S[0, k] * avv + S[1, k] * bvv + S[2, k] * cvv + pvv)
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
def _newton_step(D, g, step, A, V, w, n):
    """Ascent step for the Hessian D, and the decrement g' step. Cholesky where -D is definite, else |eigenvalues|."""
    definite = True
    for i in range(n):
        for j in range(i + 1):
            x = -D[i, j]
            for k in range(j):
                x -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = x / A[j, j]
            elif x > 1e-10 * abs(D[i, i]):
                A[i, i] = math.sqrt(x)
            else:
                definite = False
                A[i, i] = 1.0
    if definite:
        for i in range(n):
            x = g[i]
            for k in range(i):
                x -= A[i, k] * step[k]
            step[i] = x / A[i, i]
        for i in range(n - 1, -1, -1):
            x = step[i]
            for k in range(i + 1, n):
                x -= A[k, i] * step[k]
            step[i] = x / A[i, i]
    else:
        for i in range(n):
            for j in range(n):
                A[i, j] = -D[i, j]
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
def _smallest_eigenvalue(D, full, A, V, w, n):
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


@_function
def _stepped(par, out, step, family, radius):
    """`par` after a step of at most `radius` in every coordinate; returns the largest coordinate that was taken."""
    K = par.shape[1]
    q = 2 if family <= fam.GAMMA else 1
    longest = 0.0
    for i in range((1 + q) * K - 1):
        longest = max(longest, abs(step[i]))
    f = radius / longest if longest > radius else 1.0
    total = 0.0
    for k in range(K):
        a = par[0, k] * (math.exp(f * step[k]) if k < K - 1 else 1.0)
        out[0, k] = a
        total += a
        out[1, k] = fam.moved(family, par[1, k], f * step[K - 1 + k])
        out[2, k] = par[2, k] * math.exp(f * step[2 * K - 1 + k]) if q == 2 else 1.0
    for k in range(K):
        out[0, k] /= total
    return longest * f


@_function
def _pack(par, th, family):
    K = par.shape[1]
    for k in range(K):
        if k < K - 1:
            th[k] = math.log(par[0, k] / par[0, K - 1])
        th[K - 1 + k] = par[1, k] if family == fam.GAUSSIAN else math.log(par[1, k])
        if family <= fam.GAMMA:
            th[2 * K - 1 + k] = math.log(par[2, k])


@_function
def _unpack(th, par, family):
    K = par.shape[1]
    top, total = 0.0, 0.0
    for k in range(K - 1):
        top = max(top, th[k])
    for k in range(K):
        par[0, k] = math.exp((th[k] if k < K - 1 else 0.0) - top)
        total += par[0, k]
        par[1, k] = th[K - 1 + k] if family == fam.GAUSSIAN else math.exp(th[K - 1 + k])
        par[2, k] = math.exp(th[2 * K - 1 + k]) if family <= fam.GAMMA else 1.0
    for k in range(K):
        par[0, k] /= total


@_function
def _copy(source, target):
    for j in range(3):
        for k in range(source.shape[1]):
            target[j, k] = source[j, k]


@_function
def _above_floor(par, floor, family):
    """Whether a trial point is a proper mixture: its logarithms are finite and no dispersion is at the floor."""
    for k in range(par.shape[1]):
        m, v = par[1, k], par[2, k]
        if not (par[0, k] > 0.0 and v > floor and v < math.inf and m < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
            return False
    return True


# --- the control flow ------------------------------------------------------------------------------------------------------


@_function
def begin(state, opt):
    """Reset the state of a climb; the start parameters are in the trial row."""
    for i in range(state.size):
        state[i] = 0.0
    method = int(opt[METHOD])
    state[OBJECTIVE] = -math.inf
    state[LOGLIK] = -math.inf
    state[OLD] = -math.inf if method != BULKEM else opt[TOL] + 1.0
    state[LEFT] = opt[WARM_PASSES]
    state[STEP_MAX] = 4.0
    state[DECREMENT] = math.inf
    state[MIN_EIG] = -math.inf
    state[STATUS] = MAX_ITER
    if method == NEWTON:
        state[PHASE] = WARM if opt[WARM_PASSES] > 0.0 else AT_NEWTON
    else:
        state[PHASE] = SQ_A if method == SQUAREM else AT_EM


@_function
def advance(state, pars, vec, mat, S, H, ll, family, info, opt):
    """Use the sums of a pass at the trial point: sets the next trial point and phase.

    Newton's method with a certificate at the end; EM; SQUAREM (Varadhan and Roland 2008, scheme SqS3), one pass of its cycle
    at a time. Every helper is called from one place: it is compiled again with each caller and each place it is inlined to.
    """
    phase, method, current, trial = int(state[PHASE]), int(opt[METHOD]), pars[CURRENT], pars[TRIAL]
    g, step, floor = vec[GRADIENT], vec[STEP], info[FLOOR]
    prior_n, prior_d, prior_a = opt[PRIOR_N], info[PRIOR_D], opt[PRIOR_A]
    n = (3 if family <= fam.GAMMA else 2) * trial.shape[1] - 1
    objective = ll + _log_prior(trial, family, prior_n, prior_d, prior_a)
    state[PASSES] += 1.0
    last = state[PASSES] >= opt[MAX_PASSES]
    newton, settle = False, False  # whether to begin Newton's method from the trial point; to certify the current point
    if phase == AT_NEWTON or phase == FINAL:
        failed, radius, limit = False, 0.0, opt[TOL]
        slack = 1e-12 * abs(state[OBJECTIVE]) if state[OBJECTIVE] > -math.inf else 0.0
        better = objective >= state[OBJECTIVE] - slack and objective < math.inf and _above_floor(trial, floor, family)
        if phase == FINAL or better:
            _copy(trial, current)
            state[OBJECTIVE], state[LOGLIK] = objective, ll
            D = mat[HESSIAN]
            _derivatives(S, H, current, g, vec[COMPLETE], D, family, opt[SHAPE], info[CENTRE], prior_n, prior_d, prior_a)
            state[DECREMENT] = _newton_step(D, g, step, mat[WORK], mat[VECTORS], vec[EIG], n)
            state[TRIES] = 0.0
            state[STEPS] += 1.0
            closing = state[CLOSING] if state[DECREMENT] < opt[TOL] else 0.0
            if phase == FINAL:
                settle, limit = True, opt[DECREMENT_TOL]
                state[PASSES] -= 1.0  # the certificate is not an iteration
            elif closing > 1.0 or (closing > 0.0 and state[DECREMENT] < 1e-24):  # a step or two beyond the test, to rounding
                settle = True
            else:
                state[CLOSING] = closing + 1.0 if state[DECREMENT] < opt[TOL] else 0.0
                failed = state[STEPS] > 60.0 or not state[DECREMENT] < math.inf
                radius = 1.0
        elif state[CLOSING] > 0.0:  # rounding of the last step: the point before it stands, with its derivatives
            settle = True
        else:
            state[TRIES] += 1.0
            failed = state[TRIES] > 8.0 or not state[OBJECTIVE] > -math.inf
            radius = 0.25 * state[RADIUS]
        if settle:  # certificate: the decrement and the smallest eigenvalue
            least = _smallest_eigenvalue(mat[HESSIAN], vec[COMPLETE], mat[WORK], mat[VECTORS], vec[EIG], n)
            for k in range(trial.shape[1]):
                if current[0, k] * info[MASS] < 0.01:  # on its way to 0: a redundant component
                    least = min(least, 0.0)
            state[MIN_EIG] = least
            state[STATUS] = NOT_CERTIFIED if not least > FLAT else (OK if state[DECREMENT] <= limit else MAX_ITER)
            state[PHASE] = DONE
            failed = phase == AT_NEWTON and least < -FLAT  # a saddle
        elif not failed:
            state[RADIUS] = _stepped(current, trial, step, family, radius)
            if last:
                state[PHASE] = DONE
        if failed:  # SQUAREM from the last EM point, for at most three rounds
            state[ROUNDS] += 1.0
            if state[ROUNDS] > 3.0 or last:
                state[PHASE] = DONE
            else:
                _copy(pars[ANCHOR], trial)
                state[LEFT] = 30.0 * state[ROUNDS] * state[ROUNDS]
                state[STEP_MAX] = 4.0
                state[OLD] = -math.inf
                state[PHASE] = SQ_A
        return
    state[LEFT] -= 1.0
    th0, th1, th2 = vec[TH0], vec[TH1], vec[TH2]
    if phase == AT_EM:
        change = objective - state[OLD]
        if (abs(change) if method == BULKEM else change) < opt[TOL]:
            state[PHASE] = FINAL
            return
        state[OLD] = objective
    elif phase == SQ_A:
        if method == SQUAREM and objective - state[OBJECTIVE] < opt[TOL]:
            state[PHASE] = FINAL
            return
        state[OBJECTIVE] = objective
        _pack(trial, th0, family)
    old_mean = 1.0 if method == BULKEM else 0.0
    moved = _m_step(S, trial, family, info[CENTRE], floor, 1e-8 * info[MASS], prior_n, prior_d, prior_a, old_mean)
    if phase == SQ_C:
        if objective >= state[OLD] and moved:
            if state[HITMAX] > 0.0:
                state[STEP_MAX] *= 4.0
        else:
            _copy(pars[SECOND], trial)
            state[STEP_MAX] = max(0.25 * state[STEP_MAX], 4.0)
        state[PHASE] = FINAL if last else SQ_A
        newton = method == NEWTON and not last and state[LEFT] <= 0.0
    elif not moved:
        state[STATUS], state[PHASE] = DEGENERATE, DONE
    elif phase == WARM:
        newton = state[LEFT] <= 0.0
    elif phase == AT_EM:
        if last:
            state[PHASE] = FINAL
    elif phase == SQ_A:
        _pack(trial, th1, family)
        state[PHASE] = SQ_B
    else:
        state[OLD] = objective
        _copy(trial, pars[SECOND])
        _pack(trial, th2, family)
        rr, qq = 0.0, 0.0
        for i in range(n):
            r = th1[i] - th0[i]
            q = th2[i] - th1[i] - r
            rr += r * r
            qq += q * q
        a = math.sqrt(rr / qq) if qq > 0.0 else 1.0
        state[HITMAX] = 1.0 if a > state[STEP_MAX] else 0.0
        a = -min(max(a, 1.0), state[STEP_MAX])
        for i in range(n):
            r = th1[i] - th0[i]
            th0[i] += -2.0 * a * r + a * a * (th2[i] - th1[i] - r)
        _unpack(th0, trial, family)
        if not _above_floor(trial, floor, family):
            _copy(pars[SECOND], trial)
        state[PHASE] = SQ_C
    if newton:
        _copy(trial, pars[ANCHOR])
        state[PHASE] = AT_NEWTON
        state[OBJECTIVE] = -math.inf
        state[CLOSING], state[TRIES], state[STEPS] = 0.0, 0.0, 0.0


# --- prepare: scaling, statistics, cells ----------------------------------------------------------------------------------------


@_function
def _prepare(y, w, power, m, family, shape, t1, t2, wt, u1, u2, uw, q0, q1, q2, info):
    """One data set: y ascending, all in the support, w > 0. `power` is a power of two that brings the largest |y| near 1."""
    n = y.size
    if n == 0:
        info[SCALE] = 1.0
        q0[0], q1[0], q2[0] = 0.0, 0.0, 0.0
        return
    mass, total, distinct = 0.0, 0.0, 1
    for i in range(n):
        wt[i] = w[i]
        mass += w[i]
        total += w[i] * (y[i] * power)
        if i > 0 and y[i] != y[i - 1]:
            distinct += 1
    mean = total / mass
    shift, scale = 0.0, 1.0
    if family == fam.GAUSSIAN:
        shift = mean
        total = 0.0
        for i in range(n):
            e = y[i] * power - mean
            total += w[i] * (e * e)
        scale = math.sqrt(total / mass)
        if not scale > 0.0:
            scale = 1.0
    elif family <= fam.FIXED_GAMMA:
        scale = mean
    inverse, total = 1.0 / scale, 0.0
    for i in range(n):
        v = (y[i] * power - shift) * inverse
        t1[i] = v
        total += w[i] * v
    c = total / mass
    s1, s2, spread, logs, seen, low, high = 0.0, 0.0, 0.0, 0.0, 0.0, t1[0], t1[0]
    for i in range(n):
        v = t1[i]
        low = v if seen < 0.25 * mass else low
        high = v if seen < 0.75 * mass else high
        seen += w[i]
        t1[i] = v - c
        t2[i] = fam.deviance(family, v, c)
        s1 += w[i] * t1[i]
        s2 += w[i] * t2[i]
        spread += w[i] * t1[i] * t1[i]
    if family != fam.GAUSSIAN and family < fam.POISSON:
        for i in range(n):
            logs += w[i] * log(t1[i] + c)
    info[CENTRE], info[MASS], info[SUM1], info[SUM2] = c, mass, s1, s2
    info[SCALE], info[SHIFT], info[LOGS] = scale, shift, logs
    spread = math.sqrt(spread / mass)
    if high > low:  # a heavy tail must not decide what is narrow
        spread = min(spread, (high - low) / 1.349)
    info[SPREAD], info[DISTINCT], info[COUNT], info[PRIOR_D] = spread, distinct, n, 0.0
    _mean, whole = fam.maximise(family, mass, s1, s2, c, 0.0, 0.0)
    info[FLOOR] = 1e-6 * whole if family <= fam.GAMMA else 0.0
    q0[0], q1[0], q2[0] = 0.0, 0.0, 0.0
    for j in range(u1.size):
        b, b1, b2 = 0.0, 0.0, 0.0
        for i in range(j * m, min(j * m + m, n)):
            b += w[i]
            b1 += w[i] * t1[i]
            b2 += w[i] * t2[i]
        uw[j], u1[j], u2[j] = b, b1 / b, b2 / b
        q0[j + 1], q1[j + 1], q2[j + 1] = q0[j] + b, q1[j] + b1, q2[j] + b2


def prepare_cpu(y, w, off, cell, power, m, family, shape, t1, t2, wt, u1, u2, uw, q, info):
    for d in range(off.size - 1):
        a, b, p, e = off[d], off[d + 1], cell[d], cell[d + 1]
        _prepare(
            y[a:b], w[a:b], power[d], m[d], family, shape, t1[a:b], t2[a:b], wt[a:b], u1[p : e - 1], u2[p : e - 1],
            uw[p : e - 1], q[0, p:e], q[1, p:e], q[2, p:e], info[d],
        )  # fmt: skip


def prepare_cuda(y, w, off, cell, power, m, family, shape, t1, t2, wt, u1, u2, uw, q, info):
    for d in range(cuda.grid(1), off.size - 1, cuda.gridsize(1)):
        a, b, p, e = off[d], off[d + 1], cell[d], cell[d + 1]
        _prepare(
            y[a:b], w[a:b], power[d], m[d], family, shape, t1[a:b], t2[a:b], wt[a:b], u1[p : e - 1], u2[p : e - 1],
            uw[p : e - 1], q[0, p:e], q[1, p:e], q[2, p:e], info[d],
        )  # fmt: skip


# --- starts ------------------------------------------------------------------------------------------------------------------


@_function
def _index(q0, n, word):
    """The cell that holds the share (word + 1/2) 2^-32 of the mass."""
    target = (np.float64(word) + 0.5) * 2.3283064365386963e-10 * q0[n]
    lo, hi = 0, n - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if q0[mid + 1] > target:
            hi = mid
        else:
            lo = mid + 1
    return lo


@_function
def _segment(par, k, s0, s1, s2, share, family, info):
    """Maximum likelihood of a segment's sums as component k; False when it is too short or has no spread."""
    m, v = fam.maximise(family, s0, s1, s2, info[CENTRE], 0.0, 0.0)
    if not (s0 > 0.0 and v > 1e-3 * info[FLOOR] and v < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
        return False
    par[0, k], par[1, k], par[2, k] = share, m, v
    return True


@_function
def _cut_start(par, cuts, q0, q1, q2, family, info):
    """Maximum likelihood of the segments between sorted cuts."""
    K = par.shape[1]
    for k in range(K):
        a, b = int(cuts[k]), int(cuts[k + 1])
        s0 = q0[b] - q0[a]
        if b == a or not s0 * info[COUNT] >= 2.0 * info[MASS]:
            return False
        if not _segment(par, k, s0, q1[b] - q1[a], q2[b] - q2[a], s0 / info[MASS], family, info):
            return False
    return True


@_function
def _sort(x):
    for i in range(1, x.size):
        v = x[i]
        j = i
        while j > 0 and x[j - 1] > v:
            x[j] = x[j - 1]
            j -= 1
        x[j] = v


@_function
def _start(u1, u2, q0, q1, q2, par, cuts, centres, kind, family, info, dataset, start, stream, k0, k1):
    """Start values by one of three ways, redrawn while they are degenerate, at most 64 times; then equal segments.

    Whether they, or the given ones, are usable.
    """
    K, n = par.shape[1], u1.size
    if n == 0:
        return False
    if kind == GIVEN:
        return _above_floor(par, 0.0, family)
    draw = np.uint32(0)
    members = 3 if family <= fam.GAMMA else 2
    for _attempt in range(64):
        good = True
        if kind == SUBSET:  # the maximum likelihood of p + 1 observations each, drawn without replacement
            for k in range(K):
                w0, w1, w2, w3 = philox4x32(start, dataset, draw, stream, k0, k1)
                draw = np.uint32(draw + np.uint32(1))
                a, b, c = _index(q0, n, w0), _index(q0, n, w1), _index(q0, n, w2)
                s1, s2 = u1[a] + u1[b], u2[a] + u2[b]
                if members == 3:
                    s1 += u1[c]
                    s2 += u2[c]
                distinct = a != b and (members == 2 or (c != a and c != b))
                if not (distinct and _segment(par, k, float(members), s1, s2, 1.0 / K, family, info)):
                    good = False
                    break
        else:
            cuts[0], cuts[K] = 0.0, float(n)
            if kind == QUANTILE_CUTS:
                for k in range(1, K):
                    w0, w1, w2, w3 = philox4x32(start, dataset, draw, stream, k0, k1)
                    draw = np.uint32(draw + np.uint32(1))
                    cuts[k] = float(_index(q0, n, w0))
            else:  # k-means++: each next centre among 32 proposals, by squared distance
                w0, w1, w2, w3 = philox4x32(start, dataset, draw, stream, k0, k1)
                draw = np.uint32(draw + np.uint32(1))
                centres[0] = u1[_index(q0, n, w0)]
                for k in range(1, K):
                    total, pick = 0.0, float(centres[0])
                    for t in range(32):
                        if t % 2 == 0:
                            w0, w1, w2, w3 = philox4x32(start, dataset, draw, stream, k0, k1)
                            draw = np.uint32(draw + np.uint32(1))
                        else:
                            w0, w1 = w2, w3
                        y = float(u1[_index(q0, n, w0)])
                        near = math.inf
                        for j in range(k):
                            near = min(near, (y - centres[j]) * (y - centres[j]))
                        total += near
                        if (np.float64(w1) + 0.5) * 2.3283064365386963e-10 * total < near:
                            pick = y
                    centres[k] = pick
                _sort(centres[:K])
                for k in range(1, K):
                    middle = 0.5 * (centres[k] + centres[k - 1])
                    lo, hi = 0, n
                    while lo < hi:
                        mid = (lo + hi) // 2
                        if u1[mid] < middle:
                            lo = mid + 1
                        else:
                            hi = mid
                    cuts[k] = float(lo)
            _sort(cuts[1:K])
            good = _cut_start(par, cuts, q0, q1, q2, family, info)
        if good:
            return True
    for k in range(K + 1):
        cuts[k] = float(k * n // K)
    return _cut_start(par, cuts, q0, q1, q2, family, info)


def starts_cpu(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    D, R = ll.shape
    K = par.shape[3]
    P, S = np.empty((3, K)), np.empty((3, K))
    C, buf = np.empty((3, K), u1.dtype), np.empty((K + 2, BLOCK), u1.dtype)
    cuts, centres = np.empty(K + 1), np.empty(K)
    for item in range(D * R):
        d, r = item // R, item % R
        a, b = cell[d], cell[d + 1] - 1
        row, p = info[d], par[d, r]
        x, y, w = u1[a:b], u2[a:b], uw[a:b]
        q0, q1, q2 = q[0, a : b + 1], q[1, a : b + 1], q[2, a : b + 1]
        good = _start(x, y, q0, q1, q2, p, cuts, centres, kinds[r], family, row, ids[d], first + np.uint32(r), stream, k0, k1)
        bad = 0 if good else DEGENERATE
        value = -math.inf
        least = 2.0 * row[MASS] / row[COUNT]
        for t in range(passes):
            if bad == 0:
                set_coefficients(P, p, family, shape, row[CENTRE])
                level = 2 if t == passes - 1 else 0
                value = _sums(x, y, w, P, C, S, buf, level, q0[b - a], q1[b - a], q2[b - a])
                value += _log_prior(p, family, prior_n, row[PRIOR_D], prior_a)
                if not _m_step(S, p, family, row[CENTRE], row[FLOOR], least, prior_n, row[PRIOR_D], prior_a, 0.0):
                    bad = DEGENERATE
        ll[d, r] = value if bad == 0 else -math.inf
        flag[d, r] = bad


@_function
def _lane_sums(t1, t2, w, lane, P, e, acc, hessian):
    """The lane's share of the sums of a pass: s0, s1, s2 per component, the log-likelihood, then the moments."""
    K = P.shape[1]
    T = type(t1[0])
    for j in range(acc.size):
        acc[j] = 0.0
    for i in range(lane, t1.size, LANES):
        x, y = t1[i], t2[i]
        top = T(-math.inf)
        for k in range(K):
            v = T(P[0, k]) + T(P[1, k]) * x + T(P[2, k]) * y
            e[k] = v
            top = max(top, v)
        s = T(0.0)
        for k in range(K):
            v = exp_neg(T(e[k]) - top)
            e[k] = v
            s += v
        weight = np.float64(w[i])
        acc[3 * K] += weight * np.float64(top + log(s))
        inverse = T(1.0) / s
        for k in range(K):
            r = np.float64(T(e[k]) * inverse)
            e[k] = r
            acc[3 * k] += weight * r
            acc[3 * k + 1] += weight * r * x
            acc[3 * k + 2] += weight * r * y
        if hessian:
            j = 3 * K + 1
            for k in range(K):
                for p in range(k + 1):
                    u = weight * e[k] * ((1.0 - e[k]) if p == k else -e[p])
                    acc[j] += u
                    acc[j + 1] += u * x
                    acc[j + 2] += u * y
                    acc[j + 3] += u * x * x
                    acc[j + 4] += u * x * y
                    acc[j + 5] += u * y * y
                    j += 6


@_function
def scatter(total, S, H, hessian):
    """Sums of a block from their linear order; returns the log-likelihood."""
    K = S.shape[1]
    for k in range(K):
        for j in range(3):
            S[j, k] = total[3 * k + j]
    if hessian:
        for p in range(K * (K + 1) // 2):
            for j in range(6):
                H[p, j] = total[3 * K + 1 + 6 * p + j]
    return total[3 * K]


@_function
def _column(shared, j):
    """Sum of a column of the lanes' shares: every lane adds one column, in lane order."""
    total = 0.0
    for i in range(LANES):
        total += shared[i, j]
    return total


def starts_cuda(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    P = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    S = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    cuts = cuda.shared.array(CUTS, np.float64)
    centres = cuda.shared.array(MAX_CUDA_K, np.float64)
    bad = cuda.shared.array(1, np.int64)
    tot = cuda.shared.array(EM_SUMS, np.float64)
    acc = cuda.local.array(EM_SUMS, np.float64)
    e = cuda.local.array(MAX_CUDA_K, np.float64)
    lane = cuda.threadIdx.x
    R, K = ll.shape[1], par.shape[3]
    sums = 3 * K + 1
    for item in range(cuda.blockIdx.x, ll.shape[0] * R, cuda.gridDim.x):
        d, r = item // R, item % R
        a, b = cell[d], cell[d + 1] - 1
        row, p = info[d], par[d, r]
        if lane == 0:
            q0, q1, q2 = q[0, a : b + 1], q[1, a : b + 1], q[2, a : b + 1]
            good = _start(
                u1[a:b],
                u2[a:b],
                q0,
                q1,
                q2,
                p,
                cuts,
                centres,
                kinds[r],
                family,
                row,
                ids[d],
                first + np.uint32(r),
                stream,
                k0,
                k1,
            )
            bad[0] = 0 if good else DEGENERATE
            ll[d, r] = -math.inf
        cuda.syncthreads()
        for _t in range(passes):
            if bad[0] == 0:
                if lane == 0:
                    set_coefficients(P[:, :K], p, family, shape, row[CENTRE])
                cuda.syncthreads()
                if lane < LANES:
                    _lane_sums(u1[a:b], u2[a:b], uw[a:b], lane, P[:, :K], e, acc[:sums], False)
                    for j in range(sums):
                        shared[lane, j] = acc[j]
                cuda.syncthreads()
                if lane < sums:
                    tot[lane] = _column(shared, lane)
                cuda.syncthreads()
                if lane == 0:
                    ll[d, r] = scatter(tot, S[:, :K], S[:, :K], False) + _log_prior(p, family, prior_n, row[PRIOR_D], prior_a)
                    least = 2.0 * row[MASS] / row[COUNT]
                    if not _m_step(S[:, :K], p, family, row[CENTRE], row[FLOOR], least, prior_n, row[PRIOR_D], prior_a, 0.0):
                        bad[0] = DEGENERATE
                        ll[d, r] = -math.inf
            cuda.syncthreads()
        if lane == 0:
            flag[d, r] = bad[0]
        cuda.syncthreads()


# --- climb -------------------------------------------------------------------------------------------------------------------


def climb_cpu(t1, t2, w, off, info, owner, opt, family, pars, vec, mat, total, par, result, hess):
    K = par.shape[2]
    n = hess.shape[1]
    P, S, C, H = np.empty((3, K)), np.empty((3, K)), np.empty((3, K)), np.empty((K * (K + 1) // 2, 6))
    buf = np.empty((K + 2, BLOCK))
    ps, vs, ms, state = np.empty((4, 3, K)), np.empty((VECTOR_ROWS, n)), np.empty((3, n, n)), np.empty(STATE)
    level = 1 if opt[UNIT] > 0.0 else 2
    for item in range(owner.size):
        d = owner[item]
        a, b = off[d], off[d + 1]
        row, x, y, wt = info[d], t1[a:b], t2[a:b], w[a:b]
        _copy(par[item], ps[TRIAL])
        _copy(par[item], ps[CURRENT])
        begin(state, opt)
        while state[PHASE] > DONE:
            set_coefficients(P, ps[TRIAL], family, opt[SHAPE], row[CENTRE])
            if state[PHASE] == AT_NEWTON or state[PHASE] == FINAL:
                ll = _hessian_sums(x, y, wt, P, S, H, buf, level, row[MASS], row[SUM1], row[SUM2])
            else:
                ll = _sums(x, y, wt, P, C, S, buf, 0 if state[PHASE] == WARM else level, row[MASS], row[SUM1], row[SUM2])
            advance(state, ps, vs, ms, S, H, ll, family, row, opt)
        finish(state, ps, ms, par[item], result[item], hess[item])


@_function
def finish(state, pars, mat, par, result, hess):
    """Write a climb's point, outcome and Hessian."""
    _copy(pars[CURRENT], par)
    n = hess.shape[0]
    for i in range(n):
        for j in range(n):
            hess[i, j] = mat[HESSIAN, i, j]
    result[0], result[1], result[2] = state[OBJECTIVE], state[LOGLIK], state[DECREMENT]
    result[3], result[4], result[5] = state[MIN_EIG], state[STATUS], state[PASSES]


def climb_cuda(t1, t2, w, off, info, owner, opt, family, pars, vec, mat, total, par, result, hess):
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    P = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    S = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    H = cuda.shared.array((PAIRS, 6), np.float64)
    state = cuda.shared.array(STATE, np.float64)
    acc = cuda.local.array(NSUM, np.float64)
    e = cuda.local.array(MAX_CUDA_K, np.float64)
    lane, block = cuda.threadIdx.x, cuda.blockIdx.x
    K = par.shape[2]
    blocks = min(cuda.gridDim.x, pars.shape[0])  # each needs its own work space
    if block >= blocks:
        return
    ps, vs, ms, tot = pars[block], vec[block], mat[block], total[block]
    for item in range(block, owner.size, blocks):
        d = owner[item]
        a, b = off[d], off[d + 1]
        row = info[d]
        if lane == 0:
            _copy(par[item], ps[TRIAL])
            _copy(par[item], ps[CURRENT])
            begin(state, opt)
        cuda.syncthreads()
        while state[PHASE] > DONE:
            hessian = state[PHASE] == AT_NEWTON or state[PHASE] == FINAL
            sums = 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)
            if lane == 0:
                set_coefficients(P[:, :K], ps[TRIAL], family, opt[SHAPE], row[CENTRE])
            cuda.syncthreads()
            if lane < LANES:
                _lane_sums(t1[a:b], t2[a:b], w[a:b], lane, P[:, :K], e, acc[:sums], hessian)
            for j0 in range(0, sums, WIDTH):
                m = min(WIDTH, sums - j0)
                if lane < LANES:
                    for j in range(m):
                        shared[lane, j] = acc[j0 + j]
                cuda.syncthreads()
                if lane < m:
                    tot[j0 + lane] = _column(shared, lane)
                cuda.syncthreads()
            if lane == 0:
                ll = scatter(tot, S[:, :K], H, hessian)
                advance(state, ps, vs, ms, S[:, :K], H, ll, family, row, opt)
            cuda.syncthreads()
        if lane == 0:
            finish(state, ps, ms, par[item], result[item], hess[item])
        cuda.syncthreads()


# --- sums: one pass over one large data set ----------------------------------------------------------------------------------
# out[chunk]: s0, s1, s2 per component, the log-likelihood, then the six moments per pair if asked for.


def sums_cpu(t1, t2, w, P, level, hessian, out):
    K = P.shape[1]
    S, C, H, buf = np.empty((3, K)), np.empty((3, K)), np.empty((K * (K + 1) // 2, 6)), np.empty((K + 2, BLOCK))
    for chunk in range(out.shape[0]):
        a = chunk * CHUNK
        x, y, wt = t1[a : a + CHUNK], t2[a : a + CHUNK], w[a : a + CHUNK]
        mass, sum1, sum2 = 0.0, 0.0, 0.0
        for i in range(x.size if K == 2 else 0):
            mass += wt[i]
            sum1 += wt[i] * x[i]
            sum2 += wt[i] * y[i]
        if hessian:
            ll = _hessian_sums(x, y, wt, P, S, H, buf, level, mass, sum1, sum2)
        else:
            ll = _sums(x, y, wt, P, C, S, buf, level, mass, sum1, sum2)
        _gather(out[chunk], S, H, ll, hessian)


@_function
def _gather(out, S, H, ll, hessian):
    K = S.shape[1]
    for k in range(K):
        for j in range(3):
            out[3 * k + j] = S[j, k]
    out[3 * K] = ll
    if hessian:
        for p in range(K * (K + 1) // 2):
            for j in range(6):
                out[3 * K + 1 + 6 * p + j] = H[p, j]


def sums_cuda(t1, t2, w, P, level, hessian, out):
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    acc = cuda.local.array(NSUM, np.float64)
    e = cuda.local.array(MAX_CUDA_K, np.float64)
    lane = cuda.threadIdx.x
    K = P.shape[1]
    sums = 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)
    for chunk in range(cuda.blockIdx.x, out.shape[0], cuda.gridDim.x):
        a = chunk * CHUNK
        b = min(a + CHUNK, t1.size)
        if lane < LANES:
            _lane_sums(t1[a:b], t2[a:b], w[a:b], lane, P, e, acc[:sums], hessian)
        for j0 in range(0, sums, WIDTH):
            m = min(WIDTH, sums - j0)
            if lane < LANES:
                for j in range(m):
                    shared[lane, j] = acc[j0 + j]
            cuda.syncthreads()
            if lane < m:
                out[chunk, j0 + lane] = _column(shared, lane)
            cuda.syncthreads()


def combine(parts):
    """Sum rows pairwise, in an order that depends on their number alone (host)."""
    parts = np.array(parts, np.float64, ndmin=2)
    while len(parts) > 1:
        half = (len(parts) + 1) // 2
        head = parts[:half].copy()
        head[: len(parts) - half] += parts[half:]
        parts = head
    return parts[0]


# --- scores: log sum_k exp(l_k) and responsibilities of given values -------------------------------------------------------


def scores_cpu(y, c, family, P, out, resp, stats):
    K = P.shape[1]
    for task in prange((y.size + CHUNK - 1) // CHUNK):
        buf, t1, t2 = np.empty((K + 2, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, y.size), BLOCK):
            yb, o = y[q : q + BLOCK], out[q : q + BLOCK]
            for i in range(yb.size):
                t1[i], t2[i] = yb[i] - c, fam.deviance(family, yb[i], c)
            if stats.shape[0] > 0:
                stats[0, q : q + yb.size] = t1[: yb.size]
                stats[1, q : q + yb.size] = t2[: yb.size]
            _responsibilities(t1[: yb.size], t2[: yb.size], P, buf)
            top, s = buf[K], buf[K + 1]
            for i in range(yb.size):
                o[i] = top[i] + log(s[i])
            for k in range(resp.shape[0]):
                ek, rk = buf[k], resp[k, q : q + BLOCK]
                for i in range(yb.size):
                    rk[i] = ek[i] / s[i]


def scores_cuda(y, c, family, P, out, resp, stats):
    K = P.shape[1]
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        t1, t2 = y[i] - c, fam.deviance(family, y[i], c)
        if stats.shape[0] > 0:
            stats[0, i], stats[1, i] = t1, t2
        top = -math.inf
        for k in range(K):
            top = max(top, P[0, k] + P[1, k] * t1 + P[2, k] * t2)
        s = 0.0
        for k in range(K):
            s += exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top)
        out[i] = top + log(s)
        for k in range(resp.shape[0]):
            resp[k, i] = exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top) / s


on_host = types.SimpleNamespace(
    **{f.__name__: build(f.py_func, "serial") for f in (advance, begin, finish, scatter, set_coefficients)}
)
"""What the host calls to drive the passes over a large data set."""


# --- parts of the problems, for threads ------------------------------------------------------------------------------------


def _ranges(n, parts):
    step = max(1, -(-n // parts))
    return [(lo, min(lo + step, n)) for lo in range(0, n, step)]


def _split_prepare(args, parts):
    y, w, off, cell, power, m, *middle, info = args
    return [
        (y, w, off[a : b + 1], cell[a : b + 1], power[a:b], m[a:b], *middle, info[a:b]) for a, b in _ranges(off.size - 1, parts)
    ]


def _split_starts(args, parts):
    """By data sets, or few data sets by starts: what a part writes is contiguous."""
    u1, u2, uw, cell, q, info, ids, kinds, *middle, first, par, ll, flag = args
    D, R = ll.shape
    sets = _ranges(D, parts) if D >= parts else [(d, d + 1) for d in range(D)]
    starts = [(0, R)] if D >= parts else _ranges(R, parts)
    return [
        (u1, u2, uw, cell[a : b + 1], q, info[a:b], ids[a:b], kinds[s:t], *middle, np.uint32(first + s),
         par[a:b, s:t], ll[a:b, s:t], flag[a:b, s:t])
        for a, b in sets for s, t in starts
    ]  # fmt: skip


def _split_climb(args, parts):
    t1, t2, w, off, info, owner, *middle, par, result, hess = args
    return [(t1, t2, w, off, info, owner[a:b], *middle, par[a:b], result[a:b], hess[a:b]) for a, b in _ranges(owner.size, parts)]


def _split_sums(args, parts):
    t1, t2, w, P, level, hessian, out = args
    cut = [slice(a * CHUNK, b * CHUNK) for a, b in _ranges(len(out), parts)]
    pieces = [out[a:b] for a, b in _ranges(len(out), parts)]
    return [(t1[c], t2[c], w[c], P, level, hessian, piece) for c, piece in zip(cut, pieces, strict=True)]


# --- registration -------------------------------------------------------------------------------------------------------------

_f, _i, _u = numba.types.float64, numba.types.int64, numba.types.uint32
_DOUBLE = "parameters, and sums over the observations of a lane, are double"

PREPARE = Kernel(
    "mixture.prepare", prepare_cpu, prepare_cuda,
    lambda T: [
        (_f[::1], _f[::1], _i[::1], _i[::1], _f[::1], _i[::1], _i, _f, _f[::1], _f[::1], _f[::1], _f[::1], _f[::1], _f[::1],
         _f[:, ::1], _f[:, ::1])
    ],
    dtypes=("float64",), split=_split_prepare,
)  # fmt: skip
STARTS = Kernel(
    "mixture.starts", starts_cpu, starts_cuda,
    lambda T: [
        (T[::1], T[::1], T[::1], _i[::1], _f[:, ::1], _f[:, ::1], _u[::1], _i[::1], _i, _f, _f, _f, _i, _u, _u, _u, _u,
         _f[:, :, :, ::1],
         _f[:, ::1], _i[:, ::1])
    ],
    f64_ok=_DOUBLE, split=_split_starts,
)  # fmt: skip
CLIMB = Kernel(
    "mixture.climb", climb_cpu, climb_cuda,
    lambda T: [
        (_f[::1], _f[::1], _f[::1], _i[::1], _f[:, ::1], _i[::1], _f[::1], _i, _f[:, :, :, ::1], _f[:, :, ::1], _f[:, :, :, ::1],
         _f[:, ::1], _f[:, :, ::1], _f[:, ::1], _f[:, :, ::1])
    ],
    dtypes=("float64",), split=_split_climb,
)  # fmt: skip
SUMS = Kernel(
    "mixture.sums", sums_cpu, sums_cuda,
    lambda T: [(_f[::1], _f[::1], _f[::1], _f[:, ::1], _i, _i, _f[:, ::1])],
    dtypes=("float64",), fastmath=_FAST, split=_split_sums,
)  # fmt: skip
SCORES = Kernel(
    "mixture.scores",
    scores_cpu,
    scores_cuda,
    lambda T: [(_f[::1], _f, _i, _f[:, ::1], _f[::1], _f[:, ::1], _f[:, ::1])],
    dtypes=("float64",),
)
