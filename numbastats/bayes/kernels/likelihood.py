"""Kernels of the probit samplers: the one pass over the rows of X, the scales given the coefficients, and normal draws."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange, types

from numbastats._core import templates
from numbastats._core.compile import Kernel, array_function, device_function
from numbastats.scalar import shrinkage, special
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp
from numbastats.scalar.philox import philox4x32, uniform52, unit, word_bits
from numbastats.scalar.samplers import gamma1, normal_from_words
from numbastats.scalar.shrinkage import (
    DONE,
    auxiliary,
    bounded,
    global_precision,
    item_of,
    local_precision,
    log_prior_tau,
    of_bfloat16,
    of_float,
    of_int8,
    slice_step,
    truncnorm_right,
    truncnorm_right_far,
    uniform_pair,
)  # fmt: skip
from numbastats.scalar.special import log_ndtr_ratio

__all__ = [
    "CONDITIONALS", "DRAWS", "ELEMENTWISE", "GROUP", "LATENT", "LATENT_STAGE", "LOGLIK", "SCALES", "STAGES", "tile_rows",
]  # fmt: skip

GROUP = 64  # rows that share 32 counters; chunks and tiles consist of whole groups or divide one
_SUMS = ("contract", "reassoc", "nsz")  # dot products and their transposes may be reordered; row functions may not
_FAR = -6.0  # below, the central form of the truncated normal gives way to the tail form

_function = array_function(fastmath=(), host=False)
_summing = array_function(fastmath=_SUMS, host=False)
_loading = array_function(fastmath=(), host=False, allocates=True)


def tile_rows(columns, itemsize, room=524288):
    """Rows of a tile: what fits the second-level cache, so that a pass reads X from memory once."""
    rows = 8
    while rows < GROUP and 2 * rows * columns * itemsize <= room:
        rows *= 2
    return rows


# --- the pass over the rows: g = X' r(X b) and a sum, X read once ------------------------------------------------------


@_summing
def dots(X, b, m):
    """m = X b for eight rows at a time; the rest one by one."""
    zero = b.dtype.type(0.0)
    whole = m.size - m.size % 8
    for k in range(0, whole, 8):
        x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
        x4, x5, x6, x7 = X[k + 4], X[k + 5], X[k + 6], X[k + 7]
        s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
        for j in range(b.size):
            v = b[j]
            s0 += x0[j] * v
            s1 += x1[j] * v
            s2 += x2[j] * v
            s3 += x3[j] * v
            s4 += x4[j] * v
            s5 += x5[j] * v
            s6 += x6[j] * v
            s7 += x7[j] * v
        m[k], m[k + 1], m[k + 2], m[k + 3] = s0, s1, s2, s3
        m[k + 4], m[k + 5], m[k + 6], m[k + 7] = s4, s5, s6, s7
    for k in range(whole, m.size):
        x = X[k]
        s = zero
        for j in range(b.size):
            s += x[j] * b[j]
        m[k] = s


@_summing
def transposed(X, r, g):
    """g += X' r for eight rows at a time; the rest one by one."""
    T = g.dtype.type
    whole = r.size - r.size % 8
    for k in range(0, whole, 8):
        x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
        x4, x5, x6, x7 = X[k + 4], X[k + 5], X[k + 6], X[k + 7]
        r0, r1, r2, r3, r4, r5, r6, r7 = (
            T(r[k]), T(r[k + 1]), T(r[k + 2]), T(r[k + 3]), T(r[k + 4]), T(r[k + 5]), T(r[k + 6]), T(r[k + 7]),
        )  # fmt: skip
        for j in range(g.size):
            g[j] += ((x0[j] * r0 + x1[j] * r1) + (x2[j] * r2 + x3[j] * r3)) + (
                (x4[j] * r4 + x5[j] * r5) + (x6[j] * r6 + x7[j] * r7)
            )
    for k in range(whole, r.size):
        x, s = X[k], T(r[k])
        for j in range(g.size):
            g[j] += x[j] * s


# A storage type of X has a function of one stored number, for CUDA, and of a tile, for the CPU: from there on sums are in the
# type of b, by the functions that serve rows stored in that type.


@_loading
def load_floats(X, wide):
    """The rows of a tile as they are."""
    return X


def _widened_by(number):
    """The load of a tile through the function of one stored number."""

    @_loading
    def load(X, wide):
        """The rows of a tile as floats, in the buffer `wide`."""
        for i in range(X.shape[0]):
            x, w = X[i], wide[i]
            for j in range(x.size):
                w[j] = number(x[j])
        return wide[: X.shape[0]]

    return load


@_function
def no_words(k0, k1, stream, step, group, u):
    """The log-likelihood needs no random numbers."""


@_function
def row_words(k0, k1, stream, step, group, u):
    """64 uniform numbers of a group of rows: row i < 32 has words 0 and 1 of counter i, row i + 32 words 2 and 3."""
    half = GROUP // 2
    for i in range(half):
        c = np.uint32(group * half + i)
        w0, w1, w2, w3 = philox4x32(c, step, np.uint32(0), stream, k0, k1)
        u[i] = unit(word_bits(w0, w1, 1.0))
        u[i + half] = unit(word_bits(w2, w3, 1.0))


@_function
def latent_rows(k0, k1, stream, step, row, m, u, r, total):
    """r = z - m, z ~ N(m, 1) on (0, inf); returns `total` and the r^2 added to it one by one. `row` is the first row's number."""
    for i in range(m.size):
        in_step()
        r[i] = truncnorm_right(m[i], u[i]) - m[i]
    far = 0
    for i in range(m.size):
        far += m[i] < _FAR
    if far > 0:
        for i in range(m.size):
            if m[i] < _FAR:
                c, second = divmod(row + i, GROUP)
                c = c * (GROUP // 2) + second % (GROUP // 2)
                w0, w1, w2, w3 = philox4x32(np.uint32(c), step, np.uint32(0), stream, k0, k1)
                if second < GROUP // 2:
                    r[i] = truncnorm_right_far(m[i], w0, w1) - m[i]
                else:
                    r[i] = truncnorm_right_far(m[i], w2, w3) - m[i]
    for i in range(m.size):
        total += r[i] * r[i]
    return total


@_function
def loglik_rows(k0, k1, stream, step, row, m, u, r, total):
    """r = phi(m)/Phi(m); returns `total` and the log Phi(m) added to it one by one."""
    for i in range(m.size):
        in_step()
        m[i], r[i] = log_ndtr_ratio(m[i])
    for i in range(m.size):
        total += m[i]
    return total


_words = _rows = _row = _density = _local = _load = _number = None  # bound by build
_COPIES = 0  # of a tile: none where it is used as it is stored


def pass_cpu(X, B, k0, k1, streams, step, first, chunk, tile, G, S):
    for c in prange(S.shape[0]):
        u = np.empty((B.shape[0], GROUP))
        wide = np.empty((_COPIES * tile, X.shape[1]), B.dtype)
        m, r, dot = np.empty(GROUP), np.empty(GROUP), np.empty(GROUP, B.dtype)
        begin = np.int64(c) * chunk
        end = min(begin + chunk, X.shape[0])
        for q in range(B.shape[0]):
            G[c, q, :] = B.dtype.type(0.0)
            S[c, q] = 0.0
        for group in range(begin, end, GROUP):
            last = min(group + GROUP, end)
            for lo in range(group, last, tile):
                n = min(tile, last - lo)
                x, mm, rr, dd = _load(X[lo : lo + n], wide), m[:n], r[:n], dot[:n]
                for q in range(B.shape[0]):
                    if lo == group:
                        _words(k0, k1, streams[q], step, (first + group) // GROUP, u[q])
                    dots(x, B[q], dd)
                    for i in range(n):
                        mm[i] = dd[i]
                    uu = u[q, lo - group : lo - group + n]
                    S[c, q] = _rows(k0, k1, streams[q], step, first + lo, mm, uu, rr, S[c, q])
                    transposed(x, rr, G[c, q])


def pass_cuda(X, B, k0, k1, streams, step, first, chunk, tile, G, S):
    # A block takes a chunk and a chain, a thread a row of a group; the second reading of the group's rows comes from a cache.
    r = cuda.shared.array(GROUP, np.float64)
    v = cuda.shared.array(GROUP, np.float64)
    t = cuda.threadIdx.x
    for task in range(cuda.blockIdx.x, S.shape[0] * B.shape[0], cuda.gridDim.x):
        c, q = task // B.shape[0], task % B.shape[0]
        begin = c * chunk
        end = min(begin + chunk, X.shape[0])
        for j in range(t, B.shape[1], cuda.blockDim.x):
            G[c, q, j] = B[q, j] * 0.0
        total = 0.0
        for group in range(begin, end, GROUP):
            n = min(GROUP, end - group)
            for i in range(t, n, cuda.blockDim.x):
                dot = B[q, 0] * _number(X[group + i, 0])
                for j in range(1, B.shape[1]):
                    dot += B[q, j] * _number(X[group + i, j])
                r[i], v[i] = _row(k0, k1, streams[q], step, first + group + i, np.float64(dot))
            cuda.syncthreads()
            for j in range(t, B.shape[1], cuda.blockDim.x):
                s = G[c, q, j]
                for i in range(n):
                    s += _number(X[group + i, j]) * type(s)(r[i])
                G[c, q, j] = s
            if t == 0:
                for i in range(n):
                    total += v[i]
            cuda.syncthreads()
        if t == 0:
            S[c, q] = total


@device_function
def latent_row(k0, k1, stream, step, row, m):
    """e = z - m and e^2 of one row, from the same words as in `row_words`."""
    half = GROUP // 2
    group, place = row // GROUP, row % GROUP
    w0, w1, w2, w3 = philox4x32(np.uint32(group * half + place % half), step, np.uint32(0), stream, k0, k1)
    high, low = (w0, w1) if place < half else (w2, w3)
    e = (truncnorm_right_far(m, high, low) if m < _FAR else truncnorm_right(m, uniform52(high, low))) - m
    return e, e * e


@device_function
def loglik_row(k0, k1, stream, step, row, m):
    """phi(m)/Phi(m) and log Phi(m) of one row."""
    value, ratio = log_ndtr_ratio(m)
    return ratio, value


# --- tau and the local scales given the coefficients, one chain per task ------------------------------------------------
# The first `skip` columns are the intercept. D = eta/tau^2, in a range that a Cholesky factorisation can take.


def scales_cpu(B, skip, scale, fixed, k0, k1, streams, step, T, D):
    for q in prange(B.shape[0]):
        b = B[q, skip:]
        work = np.empty(b.size)
        t = T[q]
        phase, count, level, lo, hi, at = (DONE if fixed else 0), 0, 0.0, t, t, t
        while phase != DONE:
            for j in range(b.size):
                work[j] = _density(b[j], at)
            value = 0.0
            for j in range(b.size):
                value += work[j]
            value += log_prior_tau(at, np.float64(b.size), scale)
            phase, count, level, lo, hi, at = slice_step(
                phase, count, value, level, t, lo, hi, at, k0, k1, item_of(0, step), streams[0, q]
            )
        T[q] = at
        for j in range(b.size):
            D[q, skip + j] = bounded(_local(b[j], at, k0, k1, item_of(j, step), streams[1, q]) * exp(-2.0 * at))


def scales_cuda(B, skip, scale, fixed, k0, k1, streams, step, T, D):
    share = cuda.shared.array(GROUP, np.float64)
    lane, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, GROUP)
    p = B.shape[1] - skip
    for q in range(cuda.blockIdx.x, B.shape[0], cuda.gridDim.x):
        t = T[q]
        phase, count, level, lo, hi, at = (DONE if fixed else 0), 0, 0.0, t, t, t
        while phase != DONE:  # the same decisions in every thread
            value = 0.0
            if lane < lanes:
                for j in range(lane, p, lanes):
                    value += _density(B[q, skip + j], at)
                share[lane] = value
            cuda.syncthreads()
            value = 0.0
            for i in range(lanes):
                value += share[i]
            cuda.syncthreads()
            value += log_prior_tau(at, np.float64(p), scale)
            phase, count, level, lo, hi, at = slice_step(
                phase, count, value, level, t, lo, hi, at, k0, k1, item_of(0, step), streams[0, q]
            )
        cuda.syncthreads()
        if lane == 0:
            T[q] = at
        for j in range(lane, p, cuda.blockDim.x):
            D[q, skip + j] = bounded(_local(B[q, skip + j], at, k0, k1, item_of(j, step), streams[1, q]) * exp(-2.0 * at))


# --- the paper's conditionals of the horseshoe, with its auxiliary variables nu and xi ----------------------------------
# V rows: eta = lambda^-2, nu^-1. W columns: tau^-2, xi^-1.


def conditionals_cpu(B, skip, scale, fixed, k0, k1, streams, step, V, W, T, D):
    for q in prange(B.shape[0]):
        p = B.shape[1] - skip
        total = 0.0
        for j in range(p):
            V[q, 0, j] = local_precision(B[q, skip + j], W[q, 0], V[q, 1, j], k0, k1, item_of(j, step), streams[1, q])
            total += 0.5 * B[q, skip + j] * B[q, skip + j] * V[q, 0, j]
        if not fixed:
            W[q, 0] = global_precision(total, np.float64(p), W[q, 1], k0, k1, item_of(0, step), streams[0, q])
            W[q, 1] = auxiliary(1.0 / (scale * scale) + W[q, 0], k0, k1, item_of(p, step), streams[2, q])
        T[q] = -0.5 * math.log(W[q, 0])
        for j in range(p):
            V[q, 1, j] = auxiliary(1.0 + V[q, 0, j], k0, k1, item_of(j, step), streams[2, q])
            D[q, skip + j] = bounded(V[q, 0, j] * W[q, 0])


def conditionals_cuda(B, skip, scale, fixed, k0, k1, streams, step, V, W, T, D):
    share = cuda.shared.array(GROUP, np.float64)
    lane, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, GROUP)
    p = B.shape[1] - skip
    for q in range(cuda.blockIdx.x, B.shape[0], cuda.gridDim.x):
        total = 0.0
        if lane < lanes:
            for j in range(lane, p, lanes):
                V[q, 0, j] = local_precision(B[q, skip + j], W[q, 0], V[q, 1, j], k0, k1, item_of(j, step), streams[1, q])
                total += 0.5 * B[q, skip + j] * B[q, skip + j] * V[q, 0, j]
            share[lane] = total
        cuda.syncthreads()
        if lane == 0:
            for i in range(1, lanes):
                total += share[i]
            if not fixed:
                W[q, 0] = global_precision(total, np.float64(p), W[q, 1], k0, k1, item_of(0, step), streams[0, q])
                W[q, 1] = auxiliary(1.0 / (scale * scale) + W[q, 0], k0, k1, item_of(p, step), streams[2, q])
            T[q] = -0.5 * math.log(W[q, 0])
        cuda.syncthreads()
        if lane < lanes:
            for j in range(lane, p, lanes):
                V[q, 1, j] = auxiliary(1.0 + V[q, 0, j], k0, k1, item_of(j, step), streams[2, q])
                D[q, skip + j] = bounded(V[q, 0, j] * W[q, 0])
        cuda.syncthreads()


# --- the other random numbers of an iteration: normals, and two uniforms and a gamma draw per chain --------------------


def draws_cpu(k0, k1, streams, step, shape, Z, U):
    for q in prange(Z.shape[0]):
        z = Z[q]
        for j in range(z.size):
            w0, w1, w2, w3 = philox4x32(np.uint32(j), step, np.uint32(0), streams[3, q], k0, k1)
            z[j] = normal_from_words(w0, w1, 0.0, 1.0)
        U[q, 0], U[q, 1] = uniform_pair(k0, k1, item_of(0, step), streams[4, q])
        U[q, 2] = gamma1(k0, k1, item_of(0, step), streams[5, q], shape, 1.0)


def draws_cuda(k0, k1, streams, step, shape, Z, U):
    for i in range(cuda.grid(1), Z.size, cuda.gridsize(1)):
        q, j = i // Z.shape[1], i % Z.shape[1]
        w0, w1, w2, w3 = philox4x32(np.uint32(j), step, np.uint32(0), streams[3, q], k0, k1)
        Z[q, j] = normal_from_words(w0, w1, 0.0, 1.0)
        if j == 0:
            U[q, 0], U[q, 1] = uniform_pair(k0, k1, item_of(0, step), streams[4, q])
            U[q, 2] = gamma1(k0, k1, item_of(0, step), streams[5, q], shape, 1.0)


# --- registration ----------------------------------------------------------------------------------------------------

_f, _i, _u, _b = types.float64, types.int64, types.uint32, types.boolean
_DOUBLE = "row functions and sums are double: what they add up decides whether a proposal is accepted"


def _pass(name, storage, words, rows, row):
    """A pass over rows of one storage type; floats of both types share a kernel."""
    stored, dtypes, load, number = storage
    return Kernel(
        f"bayes.{name}", pass_cpu, pass_cuda,
        lambda T: [((stored or T)[:, ::1], T[:, ::1], _u, _u, _u[::1], _u, _i, _i, _i, T[:, :, ::1], _f[:, ::1])],
        dtypes=dtypes, f64_ok=_DOUBLE, cuda_only={"_row": row, "_number": number},
        cpu_only={"_words": words, "_rows": rows, "_load": load, "_COPIES": 0 if stored is None else 1},
    )  # fmt: skip


def _scales(name, density, local):
    return Kernel(
        f"bayes.scales_{name}", scales_cpu, scales_cuda,
        lambda T: [(_f[:, ::1], _i, _f, _b, _u, _u, _u[:, ::1], _u, _f[::1], _f[:, ::1])],
        dtypes=("float64",), _density=density, _local=local,
    )  # fmt: skip


_STORAGE = {  # of X: stored type, None for that of the sums; types of the sums; loads
    "": (None, ("float64", "float32"), load_floats, of_float),
    "_int8": (types.int8, ("float64",), _widened_by(of_int8), of_int8),
    "_bfloat16": (types.uint16, ("float32",), _widened_by(of_bfloat16), of_bfloat16),
}
LATENT = {name: _pass(f"latent{name}", s, row_words, latent_rows, latent_row) for name, s in _STORAGE.items()}
LOGLIK = {name: _pass(f"loglik{name}", s, no_words, loglik_rows, loglik_row) for name, s in _STORAGE.items()}
SCALES = {
    "horseshoe": _scales("horseshoe", shrinkage.horseshoe_density, shrinkage.horseshoe_local1),
    "lasso": _scales("lasso", shrinkage.lasso_density, shrinkage.lasso_local1),
    "ridge": _scales("ridge", shrinkage.ridge_density, shrinkage.ridge_local1),
}
CONDITIONALS = Kernel(
    "bayes.conditionals", conditionals_cpu, conditionals_cuda,
    lambda T: [(_f[:, ::1], _i, _f, _b, _u, _u, _u[:, ::1], _u, _f[:, :, ::1], _f[:, ::1], _f[::1], _f[:, ::1])],
    dtypes=("float64",),
)  # fmt: skip
DRAWS = Kernel(
    "bayes.draws", draws_cpu, draws_cuda, lambda T: [(_u, _u, _u[:, ::1], _u, _f, _f[:, ::1], _f[:, ::1])], dtypes=("float64",)
)
STAGES = 7  # streams of a chain: slice, local scales, auxiliary variables, normals, uniforms, gamma draws, latent variables
LATENT_STAGE = 6


def _map(name, f):
    return Kernel(f"bayes.{name}", templates.map1_cpu, templates.map1_cuda, lambda T: [(T[::1], T[::1])], _f=f)


ELEMENTWISE = {
    "log_ndtr": _map("log_ndtr", special.log_ndtr),
    "inv_mills": _map("inv_mills", shrinkage.inv_mills),
    "log_exe1": _map("log_exe1", shrinkage.log_exe1),
    "ndtr": _map("ndtr", special.ndtr),
}
