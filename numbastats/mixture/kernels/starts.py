"""``starts``: start values and a few EM passes on the cells, one problem per (data set, start).

The values are drawn from a counter of (data set, start, draw): the same on every device.
"""

from __future__ import annotations

import math
import typing

import numba
import numpy as np
from numba import cuda

from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.cells import Cells
from numbastats.mixture.kernels.columns import CENTRE, COUNT, DEGENERATE, FLOOR, MASS, PRIOR_D
from numbastats.mixture.kernels.parameters import above_floor, log_prior, m_step, set_coefficients
from numbastats.mixture.kernels.parts import ranges
from numbastats.mixture.kernels.passes import EM_SUMS, LANES, MAX_CUDA_K, ROW, column, cpu_sums, lane_sums, scatter
from numbastats.scalar import mixture as fam
from numbastats.scalar.philox import philox4x32
from numbastats.scalar.search import lower_bound

__all__ = ["GIVEN", "KMEANS_CUTS", "QUANTILE_CUTS", "STARTS", "STARTS_SINGLE", "SUBSET"]

SUBSET, QUANTILE_CUTS, KMEANS_CUTS, GIVEN = range(4)  # kinds of start
_CUTS = MAX_CUDA_K + 1


class Seed(typing.NamedTuple):
    """What the random numbers of a start depend on."""

    start: typing.Any
    dataset: typing.Any
    stream: typing.Any
    k0: typing.Any
    k1: typing.Any


_function = array_function(fastmath=(), host=False)


@_function
def least_mass(info):
    """What a start's component must hold: two observations, weights being counts, or two mean weights if these are below 1."""
    return 2.0 * min(1.0, info[MASS] / info[COUNT])


@_function
def _words(seed, draw):  # not inlined, for the sake of compile time
    return philox4x32(seed.start, seed.dataset, draw, seed.stream, seed.k0, seed.k1)


@_function
def _index(q0, n, word):
    """The cell that holds the share (word + 1/2) 2^-32 of the mass."""
    target = (np.float64(word) + 0.5) * 2.3283064365386963e-10 * q0[n - 1]
    return lower_bound(q0, 0, n - 1, target)


@_function
def _segment(par, k, s0, s1, s2, share, family, info):
    """Maximum likelihood of a segment's sums as component k; False when it is too short or has no spread."""
    m, v = fam.maximise(family, s0, s1, s2, info[CENTRE], 0.0, 0.0)
    if not (s0 > 0.0 and v > 1e-3 * info[FLOOR] and v < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
        return False
    par[0, k], par[1, k], par[2, k] = share, m, v
    return True


@_function
def _below(q, j):
    """Sum over the first j cells."""
    return q[j - 1] if j > 0 else 0.0


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
def draw_start(cells, par, cuts, centres, kind, family, info, seed):
    """Start values by one of three ways, redrawn while they are degenerate, at most 64 times; then equal segments.

    Whether they, or the given ones, are usable.
    """
    u1, u2, _w, q0, q1, q2 = cells
    K, n = par.shape[1], u1.size
    if n == 0:
        return False
    if kind == GIVEN:
        return above_floor(par, 0.0, family)
    draw = np.uint32(0)
    members = 3 if family <= fam.GAMMA else 2
    for attempt in range(65):
        subset, equal = kind == SUBSET and attempt < 64, attempt == 64
        if equal:
            for k in range(K + 1):
                cuts[k] = float(k * n // K)
        elif not subset:
            cuts[0], cuts[K] = 0.0, float(n)
            if kind == QUANTILE_CUTS:
                for k in range(1, K):
                    w0, w1, w2, w3 = _words(seed, draw)
                    draw = np.uint32(draw + np.uint32(1))
                    cuts[k] = float(_index(q0, n, w0))
            else:  # k-means++: each next centre among 32 proposals, by squared distance
                w0, w1, w2, w3 = _words(seed, draw)
                draw = np.uint32(draw + np.uint32(1))
                centres[0] = u1[_index(q0, n, w0)]
                for k in range(1, K):
                    total, pick = 0.0, float(centres[0])
                    for t in range(32):
                        if t % 2 == 0:
                            w0, w1, w2, w3 = _words(seed, draw)
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
                    cuts[k] = float(lower_bound(u1, 0, n, middle))
            _sort(cuts[1:K])
        good = True
        for k in range(K):
            if subset:  # the maximum likelihood of p + 1 observations each, drawn without replacement
                w0, w1, w2, w3 = _words(seed, draw)
                draw = np.uint32(draw + np.uint32(1))
                a, b, c = _index(q0, n, w0), _index(q0, n, w1), _index(q0, n, w2)
                s0, s1, s2, share = float(members), float(u1[a] + u1[b]), float(u2[a] + u2[b]), 1.0 / K
                if members == 3:
                    s1 += u1[c]
                    s2 += u2[c]
                enough = a != b and (members == 2 or (c != a and c != b))
            else:  # of the segments between cuts
                a, b = int(cuts[k]), int(cuts[k + 1])
                s0, s1, s2 = _below(q0, b) - _below(q0, a), _below(q1, b) - _below(q1, a), _below(q2, b) - _below(q2, a)
                share = s0 / info[MASS]
                enough = b > a and (K == 1 or s0 >= least_mass(info))
            if not (enough and _segment(par, k, s0, s1, s2, share, family, info)):
                good = False
                break
        if good:
            return True
    return False


@_function
def _rounds(info, passes):
    """EM passes of a start: half as many again where there are too few observations for cells."""
    return passes if info[COUNT] >= 512.0 else passes + passes // 2


@_function
def _em_step(S, par, ll, family, info, prior_n, prior_a):
    """Replace `par` by the M-step: the objective before it, and 0, or DEGENERATE where there is no M-step."""
    prior_d = info[PRIOR_D]
    value = ll + log_prior(par, family, prior_n, prior_d, prior_a)
    good = m_step(S, par, family, info[CENTRE], info[FLOOR], least_mass(info), prior_n, prior_d, prior_a, 0.0)
    return value, 0 if good else DEGENERATE


def starts_cpu(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    D, R = ll.shape
    K = par.shape[3]
    P, S, H = np.empty((3, K)), np.empty((3, K)), np.empty((1, 6))
    C, buf = np.empty((6, K), u1.dtype), np.empty((K + 3, ROW), u1.dtype)[1:]
    cuts, centres = np.empty(K + 1), np.empty(K)
    for item in range(D * R):
        d, r = item // R, item % R
        a, b = cell[d], cell[d + 1]
        row, p = info[d], par[d, r]
        x, y, w = u1[a:b], u2[a:b], uw[a:b]
        cells = Cells(x, y, w, q[0, a:b], q[1, a:b], q[2, a:b])
        seed = Seed(first + np.uint32(r), ids[d], stream, k0, k1)
        good = draw_start(cells, p, cuts, centres, kinds[r], family, row, seed)
        bad = 0 if good else DEGENERATE
        value = -math.inf
        rounds = _rounds(row, passes)
        for t in range(rounds):
            if bad == 0:
                set_coefficients(P, p, family, shape, row[CENTRE])
                level = 2 if t == rounds - 1 else 0
                value = cpu_sums(x, y, w, P, C, S, H, buf, level, passes < 0)
                value, bad = _em_step(S, p, value, family, row, prior_n, prior_a)
        ll[d, r] = value if bad == 0 else -math.inf
        flag[d, r] = bad


def starts_cuda(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    shared = cuda.shared.array((LANES, EM_SUMS), np.float64)
    P = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    S = cuda.shared.array((3, MAX_CUDA_K), np.float64)
    cuts = cuda.shared.array(_CUTS, np.float64)
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
        a, b = cell[d], cell[d + 1]
        row, p = info[d], par[d, r]
        if lane == 0:
            cells = Cells(u1[a:b], u2[a:b], uw[a:b], q[0, a:b], q[1, a:b], q[2, a:b])
            seed = Seed(first + np.uint32(r), ids[d], stream, k0, k1)
            good = draw_start(cells, p, cuts, centres, kinds[r], family, row, seed)
            bad[0] = 0 if good else DEGENERATE
            ll[d, r] = -math.inf
        cuda.syncthreads()
        for _t in range(_rounds(row, passes)):
            if bad[0] == 0:
                if lane == 0:
                    set_coefficients(P[:, :K], p, family, shape, row[CENTRE])
                cuda.syncthreads()
                if lane < LANES:
                    lane_sums(u1[a:b], u2[a:b], uw[a:b], lane, P[:, :K], e, acc[:sums], False)
                    for j in range(sums):
                        shared[lane, j] = acc[j]
                cuda.syncthreads()
                for j in range(lane, sums if lane < LANES else 0, LANES):
                    tot[j] = column(shared, j)
                cuda.syncthreads()
                if lane == 0:
                    value = scatter(tot, S[:, :K], S[:, :K], False)
                    value, bad[0] = _em_step(S[:, :K], p, value, family, row, prior_n, prior_a)
                    ll[d, r] = value if bad[0] == 0 else -math.inf
            cuda.syncthreads()
        if lane == 0:
            flag[d, r] = bad[0]
        cuda.syncthreads()


def _split_starts(args, parts):
    """By data sets, or few data sets by starts: what a part writes is contiguous."""
    u1, u2, uw, cell, q, info, ids, kinds, *middle, first, par, ll, flag = args
    D, R = ll.shape
    sets = ranges(D, parts) if D >= parts else [(d, d + 1) for d in range(D)]
    starts = [(0, R)] if D >= parts else ranges(R, parts)
    return [
        (
            u1,
            u2,
            uw,
            cell[a : b + 1],
            q,
            info[a:b],
            ids[a:b],
            kinds[s:t],
            *middle,
            np.uint32(first + s),
            par[a:b, s:t],
            ll[a:b, s:t],
            flag[a:b, s:t],
        )
        for a, b in sets
        for s, t in starts
    ]


_f, _i, _u = numba.types.float64, numba.types.int64, numba.types.uint32


def _start_types(T):
    cells, arrays = (T[::1], T[::1], T[::1]), (_i[::1], _f[:, ::1], _f[:, ::1], _u[::1], _i[::1])
    return [(*cells, *arrays, _i, _f, _f, _f, _i, _u, _u, _u, _u, _f[:, :, :, ::1], _f[:, ::1], _i[:, ::1])]


_double = dict(dtypes=("float64",), split=_split_starts)
_single = dict(
    dtypes=("float32",), split=_split_starts, f64_ok="parameters, and sums over the observations of a lane, are double"
)
STARTS = Kernel("mixture.starts", starts_cpu, starts_cuda, _start_types, **_double)
STARTS_SINGLE = Kernel("mixture.starts_single", starts_cpu, starts_cuda, _start_types, **_single)
