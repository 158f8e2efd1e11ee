"""Kernels of the mixture fits: loops over data sets, starts and climbs around the shared bodies of this room.

``prepare``: scaled statistics (t1, t2) and compressed cells of every data set. ``starts``: start values and a few EM passes on
the cells, one problem per (data set, start). ``climb``: from given parameters to an optimum on all observations, one problem
per (data set, candidate). ``sums``: one pass over one large data set in fixed chunks. ``scores``: log densities and
responsibilities.
"""

from __future__ import annotations

import math
import types

import numba
import numpy as np
from numba import cuda, prange

from numbastats._core.compile import SIMULATED, HostLoop, Kernel, array_function
from numbastats.mixture.climbing import (
    ANCHOR,
    AT_NEWTON,
    CENTRE,
    COUNT,
    CURRENT,
    DEGENERATE,
    DISTINCT,
    DONE,
    FINAL,
    FLOOR,
    LOGS,
    MASS,
    PHASE,
    PRIOR_D,
    SCALE,
    SHAPE,
    SHIFT,
    SPREAD,
    STATE,
    SUM1,
    SUM2,
    TRIAL,
    UNIT,
    VECTOR_ROWS,
    WARM,
    advance,
    begin,
    copy,
    finish,
    log_prior,
    m_step,
    set_coefficients,
)  # fmt: skip
from numbastats.mixture.passes import (
    BLOCK,
    FAST,
    LANES,
    LN2,
    LOG2E,
    ROW,
    column,
    cpu_sums,
    gather,
    lane_sums,
    scatter,
    shifted,
)  # fmt: skip
from numbastats.mixture.starting import draw_start, least_mass
from numbastats.scalar import families as fam
from numbastats.scalar.elementary import exp_neg, log

__all__ = [
    "CLIMB", "CLIMB_SINGLE", "PREPARE", "SCORES", "STARTS", "STARTS_QUEUE", "STARTS_SINGLE", "SUMS", "combine", "on_host",
]  # fmt: skip

CHUNK = 65_536  # observations per task of a pass over a large data set
MAX_CUDA_K = 15  # local and shared arrays have this size
WARPS, QUEUE_CELLS = 8, 512  # warps of a block that takes starts from a queue; cells that it keeps in shared memory
CUTS, PAIRS, EM_SUMS = MAX_CUDA_K + 1, MAX_CUDA_K * (MAX_CUDA_K + 1) // 2, 3 * MAX_CUDA_K + 1
NSUM = EM_SUMS + 6 * PAIRS  # sums of a pass with its Hessian
WIDTH = 32  # sums that a block reduces at a time

_summing = array_function(fastmath=FAST, host=False)


# --- prepare: scaling, statistics, cells ----------------------------------------------------------------------------------------


@_summing
def _prepare(y, w, power, m, family, shape, t1, t2, u1, u2, uw, q0, q1, q2, info):
    """One data set: y ascending, all in the support, w > 0. `power` is a power of two that brings the largest |y| near 1."""
    n = y.size
    if n == 0:
        info[SCALE] = 1.0
        return
    mass, total, distinct = 0.0, 0.0, 1
    for i in range(n):
        mass += w[i]
        total += w[i] * (y[i] * power)
    above = y[1:]
    for i in range(n - 1):
        distinct += 1 if above[i] != y[i] else 0
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
    seen, low, high = 0.0, t1[0], t1[0]
    for i in range(n):
        if not seen < 0.75 * mass:
            break
        high = t1[i]
        low = high if seen < 0.25 * mass else low
        seen += w[i]
    logs = 0.0
    if family != fam.GAUSSIAN and family < fam.POISSON:
        for i in range(n):
            logs += w[i] * log(t1[i])
    s1, s2, spread = 0.0, 0.0, 0.0
    for i in range(n):
        t2[i] = fam.deviance(family, t1[i], c)
        e = t1[i] - c
        t1[i] = e
        s1 += w[i] * e
        s2 += w[i] * t2[i]
        spread += w[i] * e * e
    info[CENTRE], info[MASS], info[SUM1], info[SUM2] = c, mass, s1, s2
    info[SCALE], info[SHIFT], info[LOGS] = scale, shift, logs
    spread = math.sqrt(spread / mass)
    if high > low:  # a heavy tail must not decide what is narrow
        spread = min(spread, (high - low) / 1.349)
    info[SPREAD], info[DISTINCT], info[COUNT], info[PRIOR_D] = spread, distinct, n, 0.0
    _mean, whole = fam.maximise(family, mass, s1, s2, c, 0.0, 0.0)
    info[FLOOR] = 1e-6 * whole if family <= fam.GAMMA else 0.0
    c0, c1, c2 = 0.0, 0.0, 0.0
    for j in range(u1.size):
        if m == 1:  # the cells may be the observations themselves
            b, b1, b2 = w[j], w[j] * t1[j], w[j] * t2[j]
            uw[j], u1[j], u2[j] = w[j], t1[j], t2[j]
        else:
            b, b1, b2 = 0.0, 0.0, 0.0
            wj, x, z = w[j * m : j * m + m], t1[j * m : j * m + m], t2[j * m : j * m + m]
            for i in range(x.size):
                b += wj[i]
                b1 += wj[i] * x[i]
                b2 += wj[i] * z[i]
            uw[j], u1[j], u2[j] = b, b1 / b, b2 / b
        c0 += b
        c1 += b1
        c2 += b2
        q0[j], q1[j], q2[j] = c0, c1, c2


def prepare_cpu(y, w, off, cell, power, m, family, shape, t1, t2, u1, u2, uw, q, info):
    for d in range(off.size - 1):
        a, b, p, e = off[d], off[d + 1], cell[d], cell[d + 1]
        _prepare(
            y[a:b], w[a:b], power[d], m[d], family, shape, t1[a:b], t2[a:b], u1[p:e], u2[p:e],
            uw[p:e], q[0, p:e], q[1, p:e], q[2, p:e], info[d],
        )  # fmt: skip


def prepare_cuda(y, w, off, cell, power, m, family, shape, t1, t2, u1, u2, uw, q, info):
    for d in range(cuda.grid(1), off.size - 1, cuda.gridsize(1)):
        a, b, p, e = off[d], off[d + 1], cell[d], cell[d + 1]
        _prepare(
            y[a:b], w[a:b], power[d], m[d], family, shape, t1[a:b], t2[a:b], u1[p:e], u2[p:e],
            uw[p:e], q[0, p:e], q[1, p:e], q[2, p:e], info[d],
        )  # fmt: skip


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
        q0, q1, q2 = q[0, a:b], q[1, a:b], q[2, a:b]
        good = draw_start(x, y, q0, q1, q2, p, cuts, centres, kinds[r], family, row, ids[d], first + np.uint32(r), stream, k0, k1)
        bad = 0 if good else DEGENERATE
        value = -math.inf
        rounds = passes if row[COUNT] >= 512.0 else passes + passes // 2  # too few observations for cells
        least = least_mass(row)
        for t in range(rounds):
            if bad == 0:
                set_coefficients(P, p, family, shape, row[CENTRE])
                level = 2 if t == rounds - 1 else 0
                value = cpu_sums(x, y, w, P, C, S, H, buf, level, passes < 0)
                value += log_prior(p, family, prior_n, row[PRIOR_D], prior_a)
                if not m_step(S, p, family, row[CENTRE], row[FLOOR], least, prior_n, row[PRIOR_D], prior_a, 0.0):
                    bad = DEGENERATE
        ll[d, r] = value if bad == 0 else -math.inf
        flag[d, r] = bad


def starts_cuda(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    shared = cuda.shared.array((LANES, EM_SUMS), np.float64)
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
        a, b = cell[d], cell[d + 1]
        row, p = info[d], par[d, r]
        if lane == 0:
            q0, q1, q2 = q[0, a:b], q[1, a:b], q[2, a:b]
            good = draw_start(
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
        for _t in range(passes if row[COUNT] >= 512.0 else passes + passes // 2):
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
                    ll[d, r] = scatter(tot, S[:, :K], S[:, :K], False) + log_prior(p, family, prior_n, row[PRIOR_D], prior_a)
                    least = least_mass(row)
                    if not m_step(S[:, :K], p, family, row[CENTRE], row[FLOOR], least, prior_n, row[PRIOR_D], prior_a, 0.0):
                        bad[0] = DEGENERATE
                        ll[d, r] = -math.inf
            cuda.syncthreads()
        if lane == 0:
            flag[d, r] = bad[0]
        cuda.syncthreads()


def starts_queue_cuda(
    u1, u2, uw, cell, q, info, ids, kinds, family, shape, prior_n, prior_a, passes, k0, k1, stream, first, par, ll, flag
):
    """The same numbers from a layout for speed: a block per data set with its cells on chip, a warp per start from a queue.

    The simulator has no operations within a warp: there a block is one warp, which adds as the other layout does.
    """
    near_x = cuda.shared.array(QUEUE_CELLS, np.float64)
    near_y = cuda.shared.array(QUEUE_CELLS, np.float64)
    near_w = cuda.shared.array(QUEUE_CELLS, np.float64)
    P = cuda.shared.array((WARPS, 3, MAX_CUDA_K), np.float64)
    S = cuda.shared.array((WARPS, 3, MAX_CUDA_K), np.float64)
    cuts = cuda.shared.array((WARPS, CUTS), np.float64)
    centres = cuda.shared.array((WARPS, MAX_CUDA_K), np.float64)
    tot = cuda.shared.array((WARPS, EM_SUMS), np.float64)
    state = cuda.shared.array((WARPS, 2), np.int64)  # the start that a warp works at, whether it is lost
    queue = cuda.shared.array(1, np.int64)
    acc = cuda.local.array(EM_SUMS, np.float64)
    e = cuda.local.array(MAX_CUDA_K, np.float64)
    thread = cuda.threadIdx.x
    warp, lane = thread // LANES, thread % LANES
    R, K = ll.shape[1], par.shape[3]
    sums = 3 * K + 1
    for d in range(cuda.blockIdx.x, ll.shape[0], cuda.gridDim.x):
        a, b = cell[d], cell[d + 1]
        m, row = b - a, info[d]
        rounds = passes if row[COUNT] >= 512.0 else passes + passes // 2
        x, y, w = u1[a:b], u2[a:b], uw[a:b]
        if m <= QUEUE_CELLS:
            for i in range(thread, m, cuda.blockDim.x):
                near_x[i], near_y[i], near_w[i] = x[i], y[i], w[i]
            x, y, w = near_x[:m], near_y[:m], near_w[:m]
        if thread == 0:
            queue[0] = 0
        cuda.syncthreads()
        working = warp < WARPS
        while working:
            if lane == 0:
                r = cuda.atomic.add(queue, 0, 1)
                state[warp, 0] = r
                if r < R:
                    good = draw_start(
                        x,
                        y,
                        q[0, a:b],
                        q[1, a:b],
                        q[2, a:b],
                        par[d, r],
                        cuts[warp],
                        centres[warp],
                        kinds[r],
                        family,
                        row,
                        ids[d],
                        first + np.uint32(r),
                        stream,
                        k0,
                        k1,
                    )
                    state[warp, 1] = 0 if good else DEGENERATE
                    ll[d, r] = -math.inf
            if SIMULATED:
                cuda.syncthreads()
            else:
                cuda.syncwarp()
            r = state[warp, 0]
            working = r < R
            for _t in range(rounds if working else 0):
                if lane == 0 and state[warp, 1] == 0:
                    set_coefficients(P[warp, :, :K], par[d, r], family, shape, row[CENTRE])
                if SIMULATED:
                    cuda.syncthreads()
                else:
                    cuda.syncwarp()
                if state[warp, 1] == 0:
                    lane_sums(x, y, w, lane, P[warp, :, :K], e, acc[:sums], False)
                    if SIMULATED:
                        shared = cuda.shared.array((LANES, EM_SUMS), np.float64)
                        for j in range(sums):
                            shared[lane, j] = acc[j]
                        cuda.syncthreads()
                        for j in range(lane, sums, LANES):
                            tot[warp, j] = column(shared, j)
                        cuda.syncthreads()
                    else:
                        for j in range(sums):
                            v = acc[j]
                            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 16)
                            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 8)
                            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 4)
                            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 2)
                            v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
                            if lane == 0:
                                tot[warp, j] = v
                    if lane == 0:
                        p, prior_d = par[d, r], row[PRIOR_D]
                        ll[d, r] = scatter(tot[warp], S[warp, :, :K], S[warp, :, :K], False) + log_prior(
                            p, family, prior_n, prior_d, prior_a
                        )
                        least = least_mass(row)
                        if not m_step(S[warp, :, :K], p, family, row[CENTRE], row[FLOOR], least, prior_n, prior_d, prior_a, 0.0):
                            state[warp, 1] = DEGENERATE
                            ll[d, r] = -math.inf
                if SIMULATED:
                    cuda.syncthreads()
                else:
                    cuda.syncwarp()
            if lane == 0 and working:
                flag[d, r] = state[warp, 1]
            if SIMULATED:
                cuda.syncthreads()
            else:
                cuda.syncwarp()
        cuda.syncthreads()


# --- climb -------------------------------------------------------------------------------------------------------------------


def climb_cpu(t1, t2, w, off, info, owner, opt, family, pars, vec, mat, total, par, result, hess):
    K = par.shape[2]
    n = hess.shape[1]
    P, S, H = np.empty((3, K)), np.empty((3, K)), np.empty((K * (K + 1) // 2, 6))
    C, buf = np.empty((6, K), t1.dtype), np.empty((K + 3, ROW), t1.dtype)[1:]
    ps, vs, ms, state = np.empty((4, 3, K)), np.empty((VECTOR_ROWS, n)), np.empty((3, n, n)), np.empty(STATE)
    level = 1 if opt[UNIT] > 0.0 else 2
    for item in range(owner.size):
        d = owner[item]
        a, b = off[d], off[d + 1]
        row, x, y, wt = info[d], t1[a:b], t2[a:b], w[a:b]
        for row_of in (TRIAL, CURRENT, ANCHOR):
            copy(par[item], ps[row_of])
        begin(state, opt)
        while state[PHASE] > DONE:
            set_coefficients(P, ps[TRIAL], family, opt[SHAPE], row[CENTRE])
            hessian = state[PHASE] == AT_NEWTON or state[PHASE] == FINAL
            ll = cpu_sums(x, y, wt, P, C, S, H, buf, 0 if state[PHASE] == WARM else level, hessian)
            advance(state, ps, vs, ms, S, H, ll, family, row, opt)
        finish(state, ps, ms, par[item], result[item], hess[item])


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
            for row_of in (TRIAL, CURRENT, ANCHOR):
                copy(par[item], ps[row_of])
            begin(state, opt)
        cuda.syncthreads()
        while state[PHASE] > DONE:
            hessian = state[PHASE] == AT_NEWTON or state[PHASE] == FINAL
            sums = 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)
            if lane == 0:
                set_coefficients(P[:, :K], ps[TRIAL], family, opt[SHAPE], row[CENTRE])
            cuda.syncthreads()
            if lane < LANES:
                lane_sums(t1[a:b], t2[a:b], w[a:b], lane, P[:, :K], e, acc[:sums], hessian)
            for j0 in range(0, sums, WIDTH):
                m = min(WIDTH, sums - j0)
                if lane < LANES:
                    for j in range(m):
                        shared[lane, j] = acc[j0 + j]
                cuda.syncthreads()
                if lane < m:
                    tot[j0 + lane] = column(shared, lane)
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
    S, C, H, buf = np.empty((3, K)), np.empty((6, K)), np.empty((K * (K + 1) // 2, 6)), np.empty((K + 3, ROW))[1:]
    for chunk in range(out.shape[0]):
        a = chunk * CHUNK
        x, y, wt = t1[a : a + CHUNK], t2[a : a + CHUNK], w[a : a + CHUNK]
        ll = cpu_sums(x, y, wt, P, C, S, H, buf, level, hessian != 0)
        gather(out[chunk], S, H, ll, hessian)


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
            lane_sums(t1[a:b], t2[a:b], w[a:b], lane, P, e, acc[:sums], hessian)
        for j0 in range(0, sums, WIDTH):
            m = min(WIDTH, sums - j0)
            if lane < LANES:
                for j in range(m):
                    shared[lane, j] = acc[j0 + j]
            cuda.syncthreads()
            if lane < m:
                out[chunk, j0 + lane] = column(shared, lane)
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
    K, C = P.shape[1], P * LOG2E
    for task in prange((y.size + CHUNK - 1) // CHUNK):
        buf, t1, t2 = np.empty((K + 2, ROW)), np.empty(BLOCK), np.empty(BLOCK)
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, y.size), BLOCK):
            yb, o = y[q : q + BLOCK], out[q : q + BLOCK]
            for i in range(yb.size):
                t1[i], t2[i] = yb[i] - c, fam.deviance(family, yb[i], c)
            if stats.shape[0] > 0:
                stats[0, q : q + yb.size] = t1[: yb.size]
                stats[1, q : q + yb.size] = t2[: yb.size]
            shifted(t1[: yb.size], t2[: yb.size], C, buf)
            s, top = buf[K], buf[K + 1]
            for i in range(yb.size):
                o[i] = LN2 * top[i] + log(s[i])
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


_d, _d1, _d2, _d3 = numba.types.float64, *(numba.types.Array(numba.types.float64, d, "C") for d in (1, 2, 3))
on_host = types.SimpleNamespace(
    **{
        f.__name__: HostLoop(f"mixture.{f.__name__}", f.py_func, [signature], parallel=False)
        for f, signature in (
            (advance, (_d1, _d3, _d2, _d3, _d2, _d2, _d, numba.types.int64, _d1, _d1)),
            (begin, (_d1, _d1)),
            (finish, (_d1, _d3, _d3, _d2, _d1, _d2)),
            (scatter, (_d1, _d2, _d2, numba.types.boolean)),
            (set_coefficients, (_d2, _d2, numba.types.int64, _d, _d)),
        )
    }
)
"""What the host calls to drive the passes over a large data set."""
HostLoop("mixture.log_base", fam.log_base, [(numba.types.int64, _d)], parallel=False)


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
        (_f[::1], _f[::1], _i[::1], _i[::1], _f[::1], _i[::1], _i, _f, _f[::1], _f[::1], _f[::1], _f[::1], _f[::1], _f[:, ::1],
         _f[:, ::1])
    ],
    dtypes=("float64",), split=_split_prepare,
)  # fmt: skip


def _start_types(T):
    cells, arrays = (T[::1], T[::1], T[::1]), (_i[::1], _f[:, ::1], _f[:, ::1], _u[::1], _i[::1])
    return [(*cells, *arrays, _i, _f, _f, _f, _i, _u, _u, _u, _u, _f[:, :, :, ::1], _f[:, ::1], _i[:, ::1])]


def _climb_types(T):
    data, work = (T[::1], T[::1], T[::1], _i[::1], _f[:, ::1], _i[::1]), (_f[:, :, :, ::1], _f[:, :, ::1], _f[:, :, :, ::1])
    return [(*data, _f[::1], _i, *work, _f[:, ::1], _f[:, :, ::1], _f[:, ::1], _f[:, :, ::1])]


_start = dict(split=_split_starts)
_climb = dict(split=_split_climb)
_double, _single = dict(dtypes=("float64",)), dict(dtypes=("float32",), f64_ok=_DOUBLE)
STARTS = Kernel("mixture.starts", starts_cpu, starts_cuda, _start_types, **_double, **_start)
STARTS_SINGLE = Kernel("mixture.starts_single", starts_cpu, starts_cuda, _start_types, **_single, **_start)
STARTS_QUEUE = Kernel("mixture.starts_queue", starts_cpu, starts_queue_cuda, _start_types, **_double, **_start)
CLIMB = Kernel("mixture.climb", climb_cpu, climb_cuda, _climb_types, **_double, **_climb)
CLIMB_SINGLE = Kernel("mixture.climb_single", climb_cpu, climb_cuda, _climb_types, **_single, **_climb)
SUMS = Kernel(
    "mixture.sums", sums_cpu, sums_cuda,
    lambda T: [(_f[::1], _f[::1], _f[::1], _f[:, ::1], _i, _i, _f[:, ::1])],
    dtypes=("float64",), fastmath=FAST, split=_split_sums,
)  # fmt: skip
SCORES = Kernel(
    "mixture.scores",
    scores_cpu,
    scores_cuda,
    lambda T: [(_f[::1], _f, _i, _f[:, ::1], _f[::1], _f[:, ::1], _f[:, ::1])],
    dtypes=("float64",),
)
