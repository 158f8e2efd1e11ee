"""Passes over the observations of a mixture: sums of responsibilities, the log-likelihood and moments of its Hessian.

On the CPU a component's responsibility is taken relative to the widest component: one power of two for each of the other
K - 1, no maximum to subtract, and the log-likelihood from products of the normalisers' mantissas. Where another component is
more than 900 bits likelier than the widest, a block of observations is done again with the maximum.

On CUDA every lane of a block adds its own observations; `LANES` of them fix the order of summation.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.records import ranges
from numbastats.scalar import mixture as fam
from numbastats.scalar.bits import from_bits, to_bits
from numbastats.scalar.elementary import exp_neg, log

BLOCK = 512  # observations per block: its buffers stay in the first-level cache, and the product of 512 mantissas is finite
ROW = BLOCK + 24  # length of a buffer: rows 4096 bytes apart would hinder each other
CHUNK, CUDA_CHUNK = 65_536, 4096  # observations per task of a pass over a large data set
MAX_CUDA_K = 15  # local and shared arrays have this size
KNOWN = 4  # components up to which CUDA kernels know their number when they are compiled, so that sums are in registers
WIDTH = 32  # sums that a block reduces at a time
LANES = 32  # threads of a CUDA block that add (more only wait, fewer will not do)
FAST = ("contract", "reassoc", "nsz", "arcp")  # sums over observations may be reordered; their scalars keep their own flags
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
_MANTISSA, _ONE, _HALF_RANGE = (1 << 52) - 1, 1023 << 52, 1023

_function = array_function(fastmath=(), host=False)
_K = _MOST = _SUMS = None  # bound by `sizes`
_summing = array_function(fastmath=FAST, host=False)


@_summing
def _log_product(s):
    """Sum of log s[i] for at most BLOCK values >= 1: exponents added, mantissas multiplied."""
    product, exponents = 1.0, 0
    for i in range(s.size):
        bits = to_bits(np.float64(s[i]))
        exponents += bits >> 52
        product *= from_bits((bits & _MANTISSA) | _ONE)
    return (exponents - _HALF_RANGE * s.size) * LN2 + log(product)


@_summing
def shifted(xb, yb, C, buf):
    """2^(l_k - top) in the first K rows of `buf`, their sum in the next, top = max_k l_k in the last; l_k in bits."""
    K = C.shape[1]
    s, top = buf[K], buf[K + 1]
    a, b, c = C[0, 0], C[1, 0], C[2, 0]
    for i in range(xb.size):
        top[i] = a + b * xb[i] + c * yb[i]
        s[i] = C.dtype.type(0.0)
    for k in range(1, K):
        a, b, c = C[0, k], C[1, k], C[2, k]
        for i in range(xb.size):
            top[i] = max(top[i], a + b * xb[i] + c * yb[i])
    for k in range(K):
        a, b, c, ek = C[0, k], C[1, k], C[2, k], buf[k]
        for i in range(xb.size):
            ek[i] = fam.power_of_two(a + b * xb[i] + c * yb[i] - top[i])
            s[i] += ek[i]


@_summing
def _add_moments(xb, yb, buf, K, H):
    """Subtract the sums of w r_k r_l (1, t1, t2, t1^2, t1 t2, t2^2) of a block, k > l, from H.

    `buf` has the components' terms in its first K rows, their sum and w over it in the next two.
    """
    s, g = buf[K], buf[K + 1]
    for i in range(xb.size):
        g[i] /= s[i]
    for k in range(1, K):
        for j in range(k):
            ek, ej = buf[k], buf[j]
            h0, h1, h2, h3, h4, h5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(xb.size):
                x, y = xb[i], yb[i]
                u = g[i] * ek[i] * ej[i]
                ux, uy = u * x, u * y
                h0 += u
                h1 += ux
                h2 += uy
                h3 += ux * x
                h4 += ux * y
                h5 += uy * y
            h = H[k * (k + 1) // 2 + j]
            h[0] -= h0
            h[1] -= h1
            h[2] -= h2
            h[3] -= h3
            h[4] -= h4
            h[5] -= h5


@_function
def _diagonal(H, K):
    """Complete H: responsibilities add up to 1, so a diagonal block is minus the others of its row."""
    for k in range(1, K):
        for j in range(k):
            h, hk, hj = H[k * (k + 1) // 2 + j], H[k * (k + 1) // 2 + k], H[j * (j + 1) // 2 + j]
            for i in range(6):
                hk[i] -= h[i]
                hj[i] -= h[i]


@_summing
def _relative(P, C):
    """Logits in bits, relative to those of the widest component in C[:3] and plain in C[3:]; returns that component.

    Among families of one parameter it is the component of the largest mean.
    """
    b, c, ref = P[1], P[2], 0
    for k in range(1, P.shape[1]):
        if c[k] > c[ref] or (c[k] == c[ref] and b[k] > b[ref]):
            ref = k
    for i in range(3):
        row, relative, plain = P[i], C[i], C[3 + i]
        for k in range(P.shape[1]):
            relative[k] = (row[k] - row[ref]) * LOG2E
            plain[k] = row[k] * LOG2E
    return ref


@_summing
def cpu_sums(t1, t2, w, P, C, S, H, buf, level, hessian):  # noqa: PLR0915  one loop over the data in registers
    """Sums of w r_k (1, t1, t2) into S; returns the log-likelihood.

    With `hessian` the sums of +-w r_k r_l (1, t1, t2, t1^2, t1 t2, t2^2) go into row k(k+1)/2 + l of H. Level 0: no
    log-likelihood is wanted. 1: all weights are 1. 2: they are not, which costs one logarithm per observation.
    C (6, K) and buf (K + 2, ROW) are work space of the data's type, buf a row behind what lies before it in memory (see
    `engine.spaced`); P and the sums are float64.
    """
    K, T = P.shape[1], C.dtype.type
    one, zero = T(1.0), T(0.0)
    ref = _relative(P, C)
    S[:] = 0.0
    last = K - 1 if ref < K - 1 else max(K - 2, 0)  # the component in whose loop the normaliser is complete
    if K == 1:
        C[0, 0] = -1e9
    if hessian:
        H[:] = 0.0
    total, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0  # the log-likelihood, and the sums whose logits are relative to `ref`
    bound = to_bits(fam.highest_power(one))  # floats above 0 are in the order of their bits, and those below 0 are less
    s, g = buf[K], buf[K + 1]
    for q in range(0, t1.size, BLOCK):
        xb, yb, wb = t1[q : q + BLOCK], t2[q : q + BLOCK], w[q : q + BLOCK]
        m = xb.size
        highest = to_bits(zero)
        for i in range(m):
            s[i] = one
        for k in range(K):
            if k != ref and k != last:
                a, b, c, ek = C[0, k], C[1, k], C[2, k], buf[k]
                for i in range(m):
                    u = a + b * xb[i] + c * yb[i]
                    highest = max(highest, to_bits(u))
                    u = fam.power_of_two(u)
                    ek[i] = u
                    s[i] += u
        a, b, c, ek = C[0, last], C[1, last], C[2, last], buf[last]
        s0, s1, s2, r0, r1, r2 = zero, zero, zero, zero, zero, zero
        for i in range(m):
            x, y = xb[i], yb[i]
            u = a + b * x + c * y
            highest = max(highest, to_bits(u))
            u = fam.power_of_two(u)
            v = s[i] + u
            r = wb[i] / v
            ek[i], s[i], g[i] = u, v, r
            s0 += r
            s1 += r * x
            s2 += r * y
            r *= u
            r0 += r
            r1 += r * x
            r2 += r * y
        again = highest > bound
        if again:
            shifted(xb, yb, C[3:], buf)
            top = zero
            for i in range(m):
                top += wb[i] * g[i]
                g[i] = wb[i] / s[i]
            total += LN2 * np.float64(top)
        else:
            S[0, ref] += s0
            S[1, ref] += s1
            S[2, ref] += s2
            S[0, last] += r0
            S[1, last] += r1
            S[2, last] += r2
            m0 += s0 + r0
            m1 += s1 + r1
            m2 += s2 + r2
        if level == 1:
            total += _log_product(s[:m])
        elif level == 2:
            for i in range(m):
                total += np.float64(wb[i] * log(s[i]))
        for k in range(K):
            if again or (k != ref and k != last):
                ek = buf[k]
                s0, s1, s2 = zero, zero, zero
                for i in range(m):
                    r = ek[i] * g[i]
                    s0 += r
                    s1 += r * xb[i]
                    s2 += r * yb[i]
                S[0, k] += s0
                S[1, k] += s1
                S[2, k] += s2
                if not again:
                    m0 += s0
                    m1 += s1
                    m2 += s2
        if hessian:
            if not again:
                for i in range(m):
                    buf[ref, i] = one
            _add_moments(xb, yb, buf, K, H)
    if hessian:
        _diagonal(H, K)
    return total + (P[0, ref] * m0 + P[1, ref] * m1 + P[2, ref] * m2)


@_function
def gather(out, S, H, ll, hessian):
    """Sums of a pass in a row: s0, s1, s2 per component, the log-likelihood, then the moments if asked for."""
    K = S.shape[1]
    for k in range(K):
        for j in range(3):
            out[3 * k + j] = S[j, k]
    out[3 * K] = ll
    if hessian:
        for p in range(K * (K + 1) // 2):
            for j in range(6):
                out[3 * K + 1 + 6 * p + j] = H[p, j]


@_function
def scatter(row, S, H, hessian):
    """The inverse of `gather`; returns the log-likelihood."""
    K = S.shape[1]
    for k in range(K):
        for j in range(3):
            S[j, k] = row[3 * k + j]
    if hessian:
        for p in range(K * (K + 1) // 2):
            for j in range(6):
                H[p, j] = row[3 * K + 1 + 6 * p + j]
    return row[3 * K]


@_function
def lane_sums(t1, t2, w, lane, P, e, acc, hessian):
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
def column(shared, j):
    """Sum of a column of the lanes' shares, pairwise as a warp does it by exchange; every lane adds one column."""
    half = LANES // 2
    while half > 0:
        for i in range(half):
            shared[i, j] += shared[i + half, j]
        half //= 2
    return shared[0, j]


@_function
def add_lanes(shared, acc, out):
    """The sums of what the lanes have, into an array that may be shorter; all threads of a block call."""
    lane = cuda.threadIdx.x
    for j0 in range(0, acc.size, WIDTH):
        m = min(WIDTH, acc.size - j0)
        if lane < LANES:
            for j in range(m):
                shared[lane, j] = acc[j0 + j]
        cuda.syncthreads()
        if lane < m and j0 + lane < out.size:
            out[j0 + lane] = column(shared, lane)
        cuda.syncthreads()


def sizes(K):
    """What a CUDA kernel for K components is bound to; 0 is for any number."""
    most = K or MAX_CUDA_K
    return {"_K": K, "_MOST": most, "_SUMS": 3 * most + 1 + 3 * most * (most + 1)}


def known(kernels, K):
    """The kernel for K components."""
    return kernels.get(K, kernels[0])


# --- sums: one pass over one large data set ----------------------------------------------------------------------------------
# out[chunk]: s0, s1, s2 per component, the log-likelihood, then the six moments per pair if asked for.


def sums_cpu(t1, t2, w, P, size, level, hessian, out):
    """The sums of every chunk of `size` observations."""
    K = P.shape[1]
    S, C, H, buf = np.empty((3, K)), np.empty((6, K)), np.empty((K * (K + 1) // 2, 6)), np.empty((K + 3, ROW))[1:]
    for chunk in range(out.shape[0]):
        a = chunk * size
        x, y, wt = t1[a : a + size], t2[a : a + size], w[a : a + size]
        ll = cpu_sums(x, y, wt, P, C, S, H, buf, level, hessian != 0)
        gather(out[chunk], S, H, ll, hessian)


def sums_cuda(t1, t2, w, P, size, level, hessian, out):
    """The same sums, with a block per chunk."""
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    acc = cuda.local.array(_SUMS, np.float64)
    e = cuda.local.array(_MOST, np.float64)
    own = cuda.shared.array((3, _MOST), np.float64)
    lane = cuda.threadIdx.x
    K = _K if _K > 0 else P.shape[1]
    sums = _SUMS if _K > 0 else out.shape[1]
    for j in range(lane, 3 * K, cuda.blockDim.x):
        own[j % 3, j // 3] = P[j % 3, j // 3]
    cuda.syncthreads()
    for chunk in range(cuda.blockIdx.x, out.shape[0], cuda.gridDim.x):
        a = chunk * size
        b = min(a + size, t1.size)
        if lane < LANES:
            lane_sums(t1[a:b], t2[a:b], w[a:b], lane, own[:, :K], e, acc[:sums], hessian)
        add_lanes(shared, acc[:sums], out[chunk])


def _split_sums(args, parts):
    t1, t2, w, P, size, level, hessian, out = args
    cut = [slice(a * size, b * size) for a, b in ranges(len(out), parts)]
    pieces = [out[a:b] for a, b in ranges(len(out), parts)]
    return [(t1[c], t2[c], w[c], P, size, level, hessian, piece) for c, piece in zip(cut, pieces, strict=True)]


_f, _i = numba.types.float64, numba.types.int64
SUMS = {
    K: Kernel(
        f"mixture.sums_{K or 'any'}",
        sums_cpu,
        sums_cuda,
        lambda T: [(_f[::1], _f[::1], _f[::1], _f[:, ::1], _i, _i, _i, _f[:, ::1])],
        dtypes=("float64",),
        fastmath=FAST,
        split=_split_sums,
        on_host=K == 0,
        cuda_only=sizes(K),
    )
    for K in range(KNOWN + 1)
}
"""By the number of components, of which the host knows 0, for any, alone."""
