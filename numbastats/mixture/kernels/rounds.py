"""Climbs on a GPU, round by round: a pass over the observations by a block for each climb, then `advance` by a thread for each.

The host starts rounds until all climbs are done. Passes for few components know their number when they are compiled, so that
their sums are in registers. The CPU has `climb` instead, where a climb goes on in one core's cache; the CPU twins here stand for
the CUDA twins in tests.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.mixture.kernels import climb
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.latent import (
    FORMULAS,
    MAX_LATENT_CUDA_K,
    NUMBERS,
    OWN,
    advance_latent,
    component_numbers,
    m_step,
    numbers_of,
    with_hessian,
)
from numbastats.mixture.kernels.parameters import set_coefficients
from numbastats.mixture.kernels.passes import KNOWN, LANES, ROW, WIDTH, add_lanes, column, cpu_sums, lane_sums, sizes
from numbastats.mixture.kernels.records import STATE_TYPE, STATISTICS_TYPE, series_type, settings_type, work_type
from numbastats.scalar.elementary import exp_neg, log

_LATENT_KNOWN = 2  # components up to which passes of families with a latent variable know their number

_function = array_function(fastmath=(), host=False)
_advance = _K = _MOST = _SUMS = _ALL = _ROWS = _lane_sums = _component_numbers = _m_step = None  # bound to the loops below
_density = _expected = _derivatives = None  # and of a family with a latent variable


@_function
def _runs(state, last):
    """Whether a climb goes on here."""
    return state.phase > c.DONE and state.phase <= last


# --- families whose statistics are the same for all parameters ---------------------------------------------------------------
# Between the two kernels, for each climb: S (3, K) and H (pairs, 6) as `cpu_sums` has them, and the log-likelihood.


def pass_cpu(sets, info, owner, settings, last, state, pars, S, H, ll):
    K = pars.shape[3]
    P, C, buf = np.empty((3, K)), np.empty((6, K), sets.t1.dtype), np.empty((K + 3, ROW), sets.t1.dtype)[1:]
    for item in range(owner.size):
        if _runs(state[item], last):
            d = owner[item]
            a, b = sets.off[d], sets.off[d + 1]
            set_coefficients(P, pars[item, c.TRIAL], settings.family, settings.shape, info[d].centre)
            hessian = with_hessian(state[item])
            ll[item] = cpu_sums(sets.t1[a:b], sets.t2[a:b], sets.w[a:b], P, C, S[item], H[item], buf, 2, hessian)


def pass_cuda(sets, info, owner, settings, last, state, pars, S, H, ll):
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    P = cuda.shared.array((3, _MOST), np.float64)
    acc = cuda.local.array(_SUMS, np.float64)
    e = cuda.local.array(_MOST, np.float64)
    lane = cuda.threadIdx.x
    K = _K if _K > 0 else pars.shape[3]
    for item in range(cuda.blockIdx.x, owner.size, cuda.gridDim.x):
        if _runs(state[item], last):
            d = owner[item]
            a, b = sets.off[d], sets.off[d + 1]
            hessian = with_hessian(state[item])
            sums = _SUMS if _K > 0 else 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)
            if lane == 0:
                set_coefficients(P[:, :K], pars[item, c.TRIAL], settings.family, settings.shape, info[d].centre)
            cuda.syncthreads()
            if lane < LANES:
                lane_sums(sets.t1[a:b], sets.t2[a:b], sets.w[a:b], lane, P[:, :K], e, acc[:sums], hessian)
            for j0 in range(0, sums, WIDTH):
                m = min(WIDTH, sums - j0)
                if lane < LANES:
                    for j in range(m):
                        shared[lane, j] = acc[j0 + j]
                cuda.syncthreads()
                if lane < m:
                    value, j = column(shared, lane), j0 + lane
                    if j < 3 * K:
                        S[item, j % 3, j // 3] = value
                    elif j == 3 * K:
                        ll[item] = value
                    elif hessian:
                        j -= 3 * K + 1
                        H[item, j // 6, j % 6] = value
                cuda.syncthreads()


def advance_cpu(info, owner, settings, last, S, H, ll, work, state, pars, hess, going):
    for item in range(owner.size):
        if _runs(state[item], last):
            row = info[owner[item]]
            _advance(state[item], pars[item], work.vec[0], work.mat[0], hess[item], S[item], H[item], ll[item], row, settings)
            if _runs(state[item], last):
                going[0] += 1


def advance_cuda(info, owner, settings, last, S, H, ll, work, state, pars, hess, going):
    thread, threads = cuda.grid(1), min(cuda.gridsize(1), work.vec.shape[0])  # each needs its own work space
    if thread < threads:
        for item in range(thread, owner.size, threads):
            if _runs(state[item], last):
                row = info[owner[item]]
                now, vec, mat, D = state[item], work.vec[thread], work.mat[thread], hess[item]
                _advance(now, pars[item], vec, mat, D, S[item], H[item], ll[item], row, settings)
                if _runs(state[item], last):
                    cuda.atomic.add(going, 0, 1)


_f, _i = numba.types.float64, numba.types.int64
_RESULTS = (STATE_TYPE[::1], _f[:, :, :, ::1])
_DOUBLE = "parameters, and sums over the observations of a lane, are double"


def _passes(K):
    return Kernel(
        f"mixture.pass_{K or 'any'}",
        pass_cpu,
        pass_cuda,
        lambda T: [
            (series_type(T), STATISTICS_TYPE[::1], _i[::1], settings_type, _i, *_RESULTS, _f[:, :, ::1], _f[:, :, ::1], _f[::1])
        ],
        f64_ok=_DOUBLE,
        on_host=False,
        cuda_only=sizes(K),
    )


def _advancing(name, advance):
    return Kernel(
        f"mixture.{name}",
        advance_cpu,
        advance_cuda,
        lambda T: [
            (STATISTICS_TYPE[::1], _i[::1], settings_type, _i, *[_f[:, :, ::1]] * 2, _f[::1])
            + (work_type, *_RESULTS, _f[:, :, ::1], _i[::1])
        ],
        dtypes=("float64",),
        on_host=False,
        _advance=advance,
    )


PASSES = {K: _passes(K) for K in range(KNOWN + 1)}
"""By the number of components; 0 is for any."""
ADVANCE, ADVANCE_ANY = _advancing("advance", climb.advance), _advancing("advance_any", climb.accelerate)


# --- families with a latent variable -------------------------------------------------------------------------------------------
# Between the two kernels, for each climb: the sums, in the order of `latent`, and what the M-step makes of them.


def latent_sums(rows, K):
    """Number of sums with derivatives."""
    n = rows * K
    return 1 + OWN * K + n + n * (n + 1) // 2


@_function
def latent_lane_sums(x, w, lane, lanes, P, z, v, acc, hessian):
    """The lane's share of the sums of a pass."""
    K = P.shape[1]
    n = _ROWS * K
    for j in range(acc.size):
        acc[j] = 0.0
    for i in range(lane, x.size, lanes):
        top, s, weight = -math.inf, 0.0, w[i]
        for k in range(K):
            z[k] = P[7, k] + _density(x[i], numbers_of(P, k))
            top = max(top, z[k])
        for k in range(K):
            z[k] = exp_neg(z[k] - top)
            s += z[k]
        acc[0] += weight * (top + log(s))
        for k in range(K):
            r = z[k] / s
            z[k] = r
            if hessian:
                s1, s2, s3, h11, h12, h13, h22, h23, h33 = _derivatives(x[i], numbers_of(P, k))
                z[n - K + k] = r * s3  # of two parameters the second overwrites it
                z[K + k], z[2 * K + k] = r * s1, r * s2
                v[0], v[1], v[2] = s1 * s1 + h11, s1 * s2 + h12, s1 * s3 + h13
                v[3], v[4], v[5] = s2 * s2 + h22, s2 * s3 + h23, s3 * s3 + h33
                v[6], v[7], v[8] = s1 * s1, s2 * s2, s3 * s3
            else:
                v[0], v[6], v[7], v[8] = 1.0, 0.0, 0.0, 0.0
                v[1], v[2], v[3], v[4], v[5] = _expected(x[i], numbers_of(P, k))
            for j in range(OWN):
                acc[1 + OWN * k + j] += weight * r * v[j]
        if hessian:
            at = 1 + OWN * K + n
            for j in range(n):
                u = weight * z[j]
                acc[1 + OWN * K + j] += u
                for q in range(j + 1):
                    acc[at] += u * z[q]
                    at += 1


def latent_pass_cpu(sets, info, owner, settings, last, state, pars, sums, following):
    K = pars.shape[3]
    P, z, v = np.empty((NUMBERS, K)), np.empty(_ROWS * K), np.empty(OWN)
    for item in range(owner.size):
        if _runs(state[item], last):
            d = owner[item]
            x, w, centre = sets.t1[sets.off[d] : sets.off[d + 1]], sets.w[sets.off[d] : sets.off[d + 1]], info[d].centre
            trial, hessian = pars[item, c.TRIAL], with_hessian(state[item])
            for k in range(K):
                _component_numbers(k, trial, centre, P)
            _lane_sums(x, w, 0, 1, P, z, v, sums[item], hessian)
            for k in range(0 if hessian else K):
                _m_step(k, trial, centre, settings.family, sums[item], following[item])


def latent_pass_cuda(sets, info, owner, settings, last, state, pars, sums, following):
    shared = cuda.shared.array((LANES, WIDTH), np.float64)
    P = cuda.shared.array((NUMBERS, _MOST), np.float64)
    acc = cuda.local.array(_SUMS, np.float64)
    z = cuda.local.array(_ALL, np.float64)
    v = cuda.local.array(OWN, np.float64)
    lane = cuda.threadIdx.x
    K = _K if _K > 0 else pars.shape[3]
    for item in range(cuda.blockIdx.x, owner.size, cuda.gridDim.x):
        if _runs(state[item], last):
            d = owner[item]
            x, w, centre = sets.t1[sets.off[d] : sets.off[d + 1]], sets.w[sets.off[d] : sets.off[d + 1]], info[d].centre
            trial, hessian = pars[item, c.TRIAL], with_hessian(state[item])
            wanted = _SUMS if _K > 0 else sums.shape[1]
            if lane < K:
                _component_numbers(lane, trial, centre, P)
            cuda.syncthreads()
            if lane < LANES:
                _lane_sums(x, w, lane, LANES, P[:, :K], z, v, acc[:wanted], hessian)
            add_lanes(shared, acc[:wanted], sums[item])
            if lane < K and not hessian:
                _m_step(lane, trial, centre, settings.family, sums[item], following[item])


def latent_advance_cpu(info, owner, settings, last, sums, following, work, state, pars, hess, going):
    for item in range(owner.size):
        if _runs(state[item], last):
            row = info[owner[item]]
            advance_latent(
                state[item], pars[item], following[item], work.vec[0], work.mat[0], hess[item], sums[item], row, settings
            )
            if _runs(state[item], last):
                going[0] += 1


def latent_advance_cuda(info, owner, settings, last, sums, following, work, state, pars, hess, going):
    thread, threads = cuda.grid(1), min(cuda.gridsize(1), work.vec.shape[0])
    if thread < threads:
        for item in range(thread, owner.size, threads):
            if _runs(state[item], last):
                row, D = info[owner[item]], hess[item]
                advance_latent(
                    state[item], pars[item], following[item], work.vec[thread], work.mat[thread], D, sums[item], row, settings
                )
                if _runs(state[item], last):
                    cuda.atomic.add(going, 0, 1)


def _latent(code):
    """The passes of a family by the number of components, and its `advance`."""
    name, rows, formulas = FORMULAS[code]
    own = {f"_{job}": f for job, f in formulas.items()}
    bodies = {
        "_lane_sums": bind(latent_lane_sums, _ROWS=rows, **{n: own[n] for n in ("_density", "_expected", "_derivatives")}),
        "_component_numbers": bind(component_numbers, _coefficients=own["_coefficients"]),
        "_m_step": bind(m_step, _maximise=own["_maximise"]),
    }
    passes = {}
    for K in range(_LATENT_KNOWN + 1):
        most = K or MAX_LATENT_CUDA_K
        passes[K] = Kernel(
            f"mixture.pass_{name}_{K or 'any'}",
            latent_pass_cpu,
            latent_pass_cuda,
            lambda T: [(series_type(T), STATISTICS_TYPE[::1], _i[::1], settings_type, _i, *_RESULTS, _f[:, ::1], _f[:, :, ::1])],
            dtypes=("float64",),
            on_host=False,
            cuda_only={"_K": K, "_MOST": most, "_SUMS": latent_sums(rows, most), "_ALL": rows * most},
            _ROWS=rows,
            **bodies,
        )
    return passes


LATENT_PASSES = {code: _latent(code) for code in FORMULAS}
LATENT_ADVANCE = Kernel(
    "mixture.advance_latent",
    latent_advance_cpu,
    latent_advance_cuda,
    lambda T: [
        (STATISTICS_TYPE[::1], _i[::1], settings_type, _i, _f[:, ::1], _f[:, :, ::1])
        + (work_type, *_RESULTS, _f[:, :, ::1], _i[::1])
    ],
    dtypes=("float64",),
    on_host=False,
)
