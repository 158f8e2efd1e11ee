"""The one pass over the rows of X: the log-likelihood with its gradient, and the latent variables drawn anew."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind, device_function
from numbastats.scalar.bits import at, at2, buffer, in_step
from numbastats.scalar.philox import philox4x32, uniform52, unit, word_bits
from numbastats.scalar.shrinkage import of_bfloat16, of_float, of_int8, truncnorm_right, truncnorm_right_far

__all__ = [
    "GROUP",
    "LATENT",
    "OFFSET",
    "OUTCOME",
    "OWN",
    "SINGLE",
    "TOTALS",
    "UPPER",
    "WEIGHT",
    "dots",
    "latent_row",
    "load_floats",
    "no_room",
    "passes",
    "tile_rows",
    "transposed",
    "values",
]

GROUP = 64  # rows that share 32 counters; chunks and tiles consist of whole groups or divide one
_SUMS = ("contract", "reassoc", "nsz")  # dot products and their transposes may be reordered; row functions may not
WEIGHT, OFFSET, OUTCOME, UPPER = 0, 1, 2, 3  # rows of E, the facts of a row of X beside its columns
OWN = 2  # parameters that a response may have beside the coefficients
_FAR = -6.0  # below it the truncated normal is drawn by its tail form instead of the central form

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
    """m = X b for eight rows at a time, then for single rows."""
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
    """g += X' r for eight rows at a time, then for single rows."""
    T = g.dtype.type
    whole = r.size - r.size % 8
    for k in range(0, whole, 8):
        x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
        x4, x5, x6, x7 = X[k + 4], X[k + 5], X[k + 6], X[k + 7]
        r0, r1, r2, r3 = T(r[k]), T(r[k + 1]), T(r[k + 2]), T(r[k + 3])
        r4, r5, r6, r7 = T(r[k + 4]), T(r[k + 5]), T(r[k + 6]), T(r[k + 7])
        for j in range(g.size):
            g[j] += ((x0[j] * r0 + x1[j] * r1) + (x2[j] * r2 + x3[j] * r3)) + (
                (x4[j] * r4 + x5[j] * r5) + (x6[j] * r6 + x7[j] * r7)
            )
    for k in range(whole, r.size):
        x, s = X[k], T(r[k])
        for j in range(g.size):
            g[j] += x[j] * s


# A storage type of X has a function of one stored number, for CUDA, and two of a tile, for the CPU, which make room for its
# floats and load it: from there on sums are in the type of b, by the functions that serve rows stored in that type.


@_loading
def no_room(X, tile, b):
    """Floats need no room: rows are used as they are stored."""
    return X


@_loading
def room_for_floats(X, tile, b):
    """Memory for a tile as floats of the type of b."""
    return np.empty((tile, X.shape[1]), b.dtype)


@_loading
def load_floats(X, wide):
    """The rows of a tile, which are stored as floats."""
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
def latent_rows(k0, k1, stream, step, row, m, u, r, E, c, sums):
    """r = z - m, z ~ N(m, 1) on (0, inf); the r^2 are added to the sum one by one. `row` is the first row's number."""
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
    total = sums[0]
    for i in range(m.size):
        total += r[i] * r[i]
    sums[0] = total


_of_row = None  # of a response: (y, t) -> log-likelihood but for a term of y alone, and its derivative in t; bound by `passes`
_of_own = None  # of a response: its own parameters -> what `_of_row` takes of them


@_function
def plain_rows(k0, k1, stream, step, row, m, u, r, E, c, sums):
    """r = the derivatives of the log-likelihoods in m; the log-likelihoods are added to the sum one by one."""
    for i in range(m.size):
        in_step()
        m[i], r[i] = _of_row(1.0, m[i])
    total = sums[0]
    for i in range(m.size):
        total += m[i]
    sums[0] = total


@_function
def weighted_rows(k0, k1, stream, step, row, m, u, r, E, c, sums):
    """The same with t = m + offset, times weights."""
    end = row + m.size
    weights, offsets, outcomes = E[WEIGHT, row:end], E[OFFSET, row:end], E[OUTCOME, row:end]
    for i in range(m.size):
        in_step()
        value, ratio = _of_row(outcomes[i], m[i] + offsets[i])
        m[i], r[i] = weights[i] * value, weights[i] * ratio
    total = sums[0]
    for i in range(m.size):
        total += m[i]
    sums[0] = total


@_loading
def general_rows(k0, k1, stream, step, row, m, u, r, E, c, sums):
    """The same of a response that has own parameters, or outcomes known to lie between two ends.

    The derivatives in the own parameters have sums, too.
    """
    end = row + m.size
    weights, offsets, lower, upper = E[WEIGHT, row:end], E[OFFSET, row:end], E[OUTCOME, row:end], E[UPPER, row:end]
    first, second = buffer(GROUP, m.dtype), buffer(GROUP, m.dtype)
    for i in range(m.size):
        in_step()
        value, slope, _, by_first, by_second = _of_row(lower[i], upper[i], m[i] + offsets[i], c)
        m[i], r[i], first[i], second[i] = weights[i] * value, weights[i] * slope, weights[i] * by_first, weights[i] * by_second
    a, b, d = sums[0], sums[1], sums[2]
    for i in range(m.size):
        a += m[i]
        b += first[i]
        d += second[i]
    sums[0], sums[1], sums[2] = a, b, d


@_function
def no_constants(P, q):
    """A response without own parameters."""
    return 0.0


@_function
def constants(P, q):
    """What rows take of the own parameters of a chain."""
    return _of_own(P[q, 0], P[q, 1])


_words = _rows = _row = _room = _load = _number = _given = _width = _shared = None  # bound by build


def pass_cpu(X, B, k0, k1, streams, step, first, chunk, tile, facts, G, S):
    E, P = facts
    for c in prange(S.shape[0]):
        u, m, r, dot = buffer(GROUP, S.dtype), buffer(GROUP, S.dtype), buffer(GROUP, S.dtype), buffer(GROUP, B.dtype)
        wide = _room(X, tile, B)
        begin = np.int64(c) * chunk
        rows = X[begin : begin + chunk]
        for q in range(B.shape[0]):
            G[c, q, :] = B.dtype.type(0.0)
            S[c, q * _width : (q + 1) * _width] = 0.0
        for lo in range(0, rows.shape[0], tile):
            x = _load(rows[lo : lo + tile], wide)
            n, row = x.shape[0], first + begin + lo
            mm, rr, dd, uu = m[:n], r[:n], dot[:n], u[row % GROUP : row % GROUP + n]
            for q in range(B.shape[0]):
                _words(k0, k1, streams[q], step, row // GROUP, u)
                dots(x, B[q], dd)
                for i in range(n):
                    mm[i] = dd[i]
                _rows(k0, k1, streams[q], step, row, mm, uu, rr, E, _given(P, q), S[c, q * _width : (q + 1) * _width])
                transposed(x, rr, G[c, q])


def pass_cuda(X, B, k0, k1, streams, step, first, chunk, tile, facts, G, S):
    # A block takes a chunk and a chain, a thread a row of a group; the second reading of the group's rows comes from a cache.
    E, P = facts
    r = cuda.shared.array(GROUP, np.float64)
    v = cuda.shared.array(_shared, np.float64)
    t, width = cuda.threadIdx.x, B.shape[1]
    for task in range(cuda.blockIdx.x, S.shape[0] * B.shape[0], cuda.gridDim.x):
        c, q = task // B.shape[0], task % B.shape[0]
        given = _given(P, q)
        begin = c * chunk
        end = min(begin + chunk, X.shape[0])
        for j in range(t, B.shape[1], cuda.blockDim.x):
            G[c, q, j] = B[q, j] * 0.0
        total = 0.0
        for group in range(begin, end, GROUP):
            n = min(GROUP, end - group)
            for i in range(t, n, cuda.blockDim.x):
                dot, j = at2(B, q, 0) * _number(at2(X, group + i, 0)), 1
                while j < width:  # a loop over `range` has eight more instructions in NVVM
                    dot += at2(B, q, j) * _number(at2(X, group + i, j))
                    j += 1
                r[i] = _row(k0, k1, streams[q], step, first + group + i, np.float64(dot), E, given, v, i)
            cuda.syncthreads()
            for j in range(t, B.shape[1], cuda.blockDim.x):
                s, i = G[c, q, j], 0
                while i < n:
                    s += _number(at2(X, group + i, j)) * type(s)(at(r, i))
                    i += 1
                G[c, q, j] = s
            if t < _width:  # blocks have at least as many threads
                for i in range(n):
                    total += v[t * GROUP + i]
            cuda.syncthreads()
        if t < _width:
            S[c, q * _width + t] = total


@_function
def pairwise(S, q):
    """The sum of a chain's column of S, pairwise in its place."""
    n = S.shape[0]
    while n > 1:
        for i in range(n // 2):
            S[i, q] = S[2 * i, q] + S[2 * i + 1, q]
        if n % 2:
            S[n // 2, q] = S[n - 1, q]
        n -= n // 2
    return S[0, q]


def totals_cpu(G, S, out, sums):
    for q in prange(out.shape[0]):
        width = S.shape[1] // out.shape[0]
        for j in range(q * width, (q + 1) * width):
            sums[j] = pairwise(S, j)
        for j in range(out.shape[1]):
            out[q, j] = 0.0
        for c in range(G.shape[0]):
            for j in range(out.shape[1]):
                out[q, j] += np.float64(G[c, q, j])


def totals_cuda(G, S, out, sums):
    for item in range(cuda.grid(1), sums.size + out.size, cuda.gridsize(1)):
        i = item - sums.size
        if i < 0:
            sums[item] = pairwise(S, item)
            continue
        q, j = i // out.shape[1], i % out.shape[1]
        total = 0.0
        for c in range(G.shape[0]):
            total += np.float64(G[c, q, j])
        out[q, j] = total


def single_cpu(x, out):
    for q in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[q, j] = x[q, j]


def single_cuda(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        q, j = i // out.shape[1], i % out.shape[1]
        out[q, j] = x[q, j]


@device_function
def latent_row(k0, k1, stream, step, row, m):
    """e = z - m and e^2 of one row, from the same words as in `row_words`."""
    half = GROUP // 2
    group, place = row // GROUP, row % GROUP
    w0, w1, w2, w3 = philox4x32(np.uint32(group * half + place % half), step, np.uint32(0), stream, k0, k1)
    high, low = (w0, w1) if place < half else (w2, w3)
    e = (truncnorm_right_far(m, high, low) if m < _FAR else truncnorm_right(m, uniform52(high, low))) - m
    return e, e * e


@_function
def latent_of_row(k0, k1, stream, step, row, m, E, c, v, i):
    """`latent_row`; the probit model has no use for E."""
    e, v[i] = latent_row(k0, k1, stream, step, row, m)
    return e


@_function
def plain_row(k0, k1, stream, step, row, m, E, c, v, i):
    """r of one row, as in `plain_rows`; v[i] is the log-likelihood."""
    v[i], ratio = _of_row(1.0, m)
    return ratio


@_function
def weighted_row(k0, k1, stream, step, row, m, E, c, v, i):
    """The same as in `weighted_rows`."""
    value, ratio = _of_row(E[OUTCOME, row], m + E[OFFSET, row])
    v[i] = E[WEIGHT, row] * value
    return E[WEIGHT, row] * ratio


@_function
def general_row(k0, k1, stream, step, row, m, E, c, v, i):
    """The same as in `general_rows`."""
    value, slope, _, by_first, by_second = _of_row(E[OUTCOME, row], E[UPPER, row], m + E[OFFSET, row], c)
    w = E[WEIGHT, row]
    v[i], v[GROUP + i], v[2 * GROUP + i] = w * value, w * by_first, w * by_second
    return w * slope


def values_cpu(Y, M, P, out):
    for q in prange(M.shape[1]):
        c = _given(P, q)
        for i in range(M.shape[0]):
            value, slope, curvature, _, _ = _of_row(Y[0, i], Y[1, i], M[i, q], c)
            out[0, i, q] = value
            if out.shape[0] > 1:
                out[1, i, q], out[2, i, q] = slope, curvature


def values_cuda(Y, M, P, out):
    for item in range(cuda.grid(1), M.size, cuda.gridsize(1)):
        i, q = item // M.shape[1], item % M.shape[1]
        value, slope, curvature, _, _ = _of_row(Y[0, i], Y[1, i], M[i, q], _given(P, q))
        out[0, i, q] = value
        if out.shape[0] > 1:
            out[1, i, q], out[2, i, q] = slope, curvature


# --- registration ----------------------------------------------------------------------------------------------------

_f, _i, _u = types.float64, types.int64, types.uint32
_both = types.UniTuple(_f[:, ::1], 2)  # facts of the rows, own parameters of the chains
_DOUBLE = "row functions and sums are double: what they add up decides whether a proposal is accepted"


def _pass(name, storage, words, rows, row, given=no_constants, width=1):
    """A pass over rows of one storage type, with `width` sums; floats of both types share a kernel."""
    stored, dtypes, room, load, number = storage
    return Kernel(
        f"bayes.{name}",
        pass_cpu,
        pass_cuda,
        lambda T: [((stored or T)[:, ::1], T[:, ::1], _u, _u, _u[::1], _u, _i, _i, _i, _both, T[:, :, ::1], _f[:, ::1])],
        dtypes=dtypes,
        f64_ok=_DOUBLE,
        cuda_only={"_row": row, "_number": number, "_shared": width * GROUP},
        cpu_only={"_words": words, "_rows": rows, "_room": room, "_load": load},
        _given=given,
        _width=width,
    )


_STORAGE = {  # of X: stored type, None for that of the sums; types of the sums; room and load of a tile; load of a number
    "": (None, ("float64", "float32"), no_room, load_floats, of_float),
    "_int8": (types.int8, ("float64",), room_for_floats, _widened_by(of_int8), of_int8),
    "_bfloat16": (types.uint16, ("float32",), room_for_floats, _widened_by(of_bfloat16), of_bfloat16),
}
LATENT = {name: _pass(f"latent{name}", s, row_words, latent_rows, latent_of_row) for name, s in _STORAGE.items()}
TOTALS = Kernel(
    "bayes.totals",
    totals_cpu,
    totals_cuda,
    lambda T: [(T[:, :, ::1], _f[:, ::1], _f[:, ::1], _f[::1])],
    f64_ok="sums of all chunks are double",
)
SINGLE = Kernel(
    "bayes.single",
    single_cpu,
    single_cuda,
    lambda T: [(_f[:, ::1], T[:, ::1])],
    dtypes=("float32",),
    f64_ok="it reads doubles",
    on_host=False,
)


def passes(name, of_row, weighted, stored, of_own=None):
    """The passes of a response over floats and other types in which X is stored: its log-likelihood of a row, in the loops.

    Parameters
    ----------
    name : str
    of_row : device function
    weighted : bool
        Whether rows have weights, offsets and outcomes.
    stored : iterable of str
    of_own : device function, optional
        What `of_row` takes of the own parameters, if it does.
    """
    loops = (general_rows, general_row) if of_own else (weighted_rows, weighted_row) if weighted else (plain_rows, plain_row)
    rows, row = (bind(f, _of_row=of_row) for f in loops)
    given, name = ((bind(constants, _of_own=of_own), 1 + OWN), f"rows_{name}") if of_own else ((), name)
    return {s: _pass(f"{name}{s}", _STORAGE[s], no_words, rows, row, *given) for s in ("", *(f"_{kind}" for kind in stored))}


def values(name, of_row, of_own):
    """The kernel of log-likelihoods of rows, and of their derivatives where the result has room for these.

    Its arrays are the ends of outcomes, shape (2, n), linear predictors, shape (n, k), own parameters of each of the k, results.
    """
    signature = (_f[:, ::1], _f[:, ::1], _f[:, ::1], _f[:, :, ::1])
    given = bind(constants, _of_own=of_own)
    return Kernel(
        f"bayes.values_{name}", values_cpu, values_cuda, lambda T: [signature], dtypes=("float64",), _of_row=of_row, _given=given
    )
