"""``climb``: from given parameters to an optimum on all observations, one problem per (data set, candidate).

`advance` turns the sums of a pass into the next parameters and is the whole control flow of EM, SQUAREM and Newton. It is
called after every pass by the CPU loop, by one lane of a CUDA block, and by the host when a large data set is passed in
chunks, so the three cannot differ.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import cuda

from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels import columns as c
from numbastats.mixture.kernels.columns import STATE
from numbastats.mixture.kernels.newton import derivatives, newton_step, smallest_eigenvalue
from numbastats.mixture.kernels.parameters import above_floor, copy, log_prior, m_step, pack, set_coefficients, stepped, unpack
from numbastats.mixture.kernels.parts import ranges
from numbastats.mixture.kernels.passes import LANES, MAX_CUDA_K, NSUM, PAIRS, ROW, WIDTH, column, cpu_sums, lane_sums, scatter
from numbastats.scalar import mixture as fam

__all__ = ["CLIMB", "CLIMB_SINGLE", "advance", "begin", "finish"]

_function = array_function(fastmath=(), host=False)


@_function
def begin(state, opt):
    """Reset the state of a climb; the start parameters are in the trial row."""
    for i in range(state.size):
        state[i] = 0.0
    method = int(opt[c.METHOD])
    state[c.OBJECTIVE] = -math.inf
    state[c.LOGLIK] = -math.inf
    state[c.OLD] = -math.inf if method != c.BULKEM else opt[c.TOL] + 1.0
    state[c.LEFT] = opt[c.WARM_PASSES]
    state[c.STEP_MAX] = 4.0
    state[c.DECREMENT] = math.inf
    state[c.MIN_EIG] = -math.inf
    state[c.STATUS] = c.MAX_ITER
    if method == c.NEWTON:
        state[c.PHASE] = c.WARM if opt[c.WARM_PASSES] > 0.0 else c.AT_NEWTON
    else:
        state[c.PHASE] = c.SQ_A if method == c.SQUAREM else c.AT_EM


@_function
def advance(state, pars, vec, mat, S, H, ll, family, info, opt):
    """Use the sums of a pass at the trial point: sets the next trial point and phase.

    Every helper is called from one place: it is compiled again with each caller and each place it is inlined to.
    """
    objective = ll + log_prior(pars[c.TRIAL], family, opt[c.PRIOR_N], info[c.PRIOR_D], opt[c.PRIOR_A])
    state[c.PASSES] += 1.0
    if state[c.PHASE] == c.AT_NEWTON or state[c.PHASE] == c.FINAL:
        _newton(state, pars, vec, mat, S, H, ll, objective, family, info, opt)
    elif _converged(state, objective, opt):
        state[c.PHASE] = c.FINAL
    else:
        _em(state, pars, vec, S, objective, family, info, opt)


@_function
def _newton(state, pars, vec, mat, S, H, ll, objective, family, info, opt):
    """Newton's method with a certificate at the end; where it fails, c.SQUAREM from the last EM point."""
    current, trial, g, step, D = pars[c.CURRENT], pars[c.TRIAL], vec[c.GRADIENT], vec[c.STEP], mat[c.HESSIAN]
    final, last = state[c.PHASE] == c.FINAL, state[c.PASSES] >= opt[c.MAX_PASSES]
    n = (3 if family <= fam.GAMMA else 2) * trial.shape[1] - 1
    settle, failed, radius, limit = False, False, 0.0, opt[c.TOL]
    slack = opt[c.NOISE] * abs(state[c.OBJECTIVE]) if state[c.OBJECTIVE] > -math.inf else 0.0
    better = objective >= state[c.OBJECTIVE] - slack and objective < math.inf and above_floor(trial, info[c.FLOOR], family)
    if final or better:
        copy(trial, current)
        state[c.OBJECTIVE], state[c.LOGLIK] = objective, ll
        prior_n, prior_d, prior_a = opt[c.PRIOR_N], info[c.PRIOR_D], opt[c.PRIOR_A]
        derivatives(S, H, current, g, vec[c.COMPLETE], D, family, opt[c.SHAPE], info[c.CENTRE], prior_n, prior_d, prior_a)
        state[c.DECREMENT] = newton_step(D, g, step, mat[c.WORK], mat[c.VECTORS], vec[c.EIG], n)
        state[c.TRIES] = 0.0
        state[c.STEPS] += 1.0
        closing = state[c.CLOSING] if state[c.DECREMENT] < opt[c.TOL] else 0.0
        if final:
            settle, limit = True, opt[c.DECREMENT_TOL]
            state[c.PASSES] -= 1.0  # the certificate is not an iteration
        elif closing > 1.0 or (closing > 0.0 and state[c.DECREMENT] < 1e-24):  # a step or two beyond the test, to rounding
            settle = True
        else:
            state[c.CLOSING] = closing + 1.0 if state[c.DECREMENT] < opt[c.TOL] else 0.0
            failed = state[c.STEPS] > 60.0 or not state[c.DECREMENT] < math.inf
            radius = 1.0
    elif state[c.CLOSING] > 0.0:  # rounding of the last step: the point before it stands, with its derivatives
        settle = True
    else:
        state[c.TRIES] += 1.0
        failed = state[c.TRIES] > 8.0 or not state[c.OBJECTIVE] > -math.inf
        radius = 0.25 * state[c.RADIUS]
    if settle:
        _certify(state, current, vec, mat, info[c.MASS], limit, n)
        failed = not final and state[c.MIN_EIG] < -c.FLAT  # a saddle
    elif not failed:
        state[c.RADIUS] = stepped(current, trial, step, family, radius)
        if last:
            state[c.PHASE] = c.DONE
    if failed:
        _fall_back(state, pars, info[c.FLOOR], last)


@_function
def _certify(state, current, vec, mat, mass, limit, n):
    """Certificate of the current point: the decrement and the smallest eigenvalue."""
    complete = vec[c.COMPLETE]
    least = smallest_eigenvalue(mat[c.HESSIAN], complete, mat[c.WORK], mat[c.VECTORS], vec[c.EIG], n)
    for k in range(current.shape[1]):
        if current[0, k] * mass < 0.01:  # on its way to 0: a redundant component
            least = min(least, 0.0)
    state[c.MIN_EIG] = least
    definite = least > c.FLAT
    for i in range(n):  # what is left to climb, by EM, may yet change the eigenvalue by so much
        definite = definite and abs(vec[c.GRADIENT, i]) < (least - c.FLAT) * complete[i]
    state[c.STATUS] = c.NOT_CERTIFIED if not definite else (c.OK if state[c.DECREMENT] <= limit else c.MAX_ITER)
    state[c.PHASE] = c.DONE


@_function
def _fall_back(state, pars, floor, last):
    """SQUAREM from the last EM point, for at most three rounds."""
    current = pars[c.CURRENT]
    state[c.ROUNDS] += 1.0
    if state[c.ROUNDS] > 3.0 or last:
        state[c.PHASE] = c.DONE
        for k in range(current.shape[1]):
            if not current[2, k] > 2.0 * floor:  # it would climb on, without end, but for the floor
                state[c.STATUS] = c.DEGENERATE
    else:
        copy(pars[c.ANCHOR], pars[c.TRIAL])
        state[c.LEFT] = 30.0 * state[c.ROUNDS] * state[c.ROUNDS]
        state[c.STEP_MAX] = 4.0
        state[c.OLD] = -math.inf
        state[c.PHASE] = c.SQ_A


@_function
def _converged(state, objective, opt):
    """Whether EM, or a cycle of c.SQUAREM, has gained too little to go on; notes the objective."""
    state[c.LEFT] -= 1.0
    if state[c.PHASE] == c.AT_EM:
        change = objective - state[c.OLD]
        if (abs(change) if opt[c.METHOD] == c.BULKEM else change) < opt[c.TOL]:
            return True
        state[c.OLD] = objective
    elif state[c.PHASE] == c.SQ_A:
        if opt[c.METHOD] == c.SQUAREM and objective - state[c.OBJECTIVE] < opt[c.TOL]:
            return True
        state[c.OBJECTIVE] = objective
    return False


@_function
def _em(state, pars, vec, S, objective, family, info, opt):
    """A step of EM, or of c.SQUAREM (Varadhan and Roland 2008, scheme SqS3), one pass of its cycle at a time."""
    phase, method, trial = int(state[c.PHASE]), int(opt[c.METHOD]), pars[c.TRIAL]
    last, newton = state[c.PASSES] >= opt[c.MAX_PASSES], False  # whether to begin Newton's method from the trial point
    if phase == c.SQ_A:
        pack(trial, vec[c.TH0], family)
    old_mean, least = 1.0 if method == c.BULKEM else 0.0, 1e-8 * info[c.MASS]
    moved = m_step(
        S, trial, family, info[c.CENTRE], info[c.FLOOR], least, opt[c.PRIOR_N], info[c.PRIOR_D], opt[c.PRIOR_A], old_mean
    )
    if phase == c.SQ_C:
        if objective >= state[c.OLD] and moved:
            if state[c.HITMAX] > 0.0:
                state[c.STEP_MAX] *= 4.0
        else:
            copy(pars[c.SECOND], trial)
            state[c.STEP_MAX] = max(0.25 * state[c.STEP_MAX], 4.0)
        state[c.PHASE] = c.FINAL if last else c.SQ_A
        newton = method == c.NEWTON and not last and state[c.LEFT] <= 0.0
    elif not moved:
        state[c.STATUS], state[c.PHASE] = c.DEGENERATE, c.DONE
    elif phase == c.WARM:
        newton = state[c.LEFT] <= 0.0
    elif phase == c.AT_EM:
        if last:
            state[c.PHASE] = c.FINAL
    elif phase == c.SQ_A:
        pack(trial, vec[c.TH1], family)
        state[c.PHASE] = c.SQ_B
    else:
        state[c.OLD] = objective
        copy(trial, pars[c.SECOND])
        _extrapolate(state, pars, vec, info[c.FLOOR], family)
        state[c.PHASE] = c.SQ_C
    if newton:
        copy(trial, pars[c.ANCHOR])
        state[c.PHASE] = c.AT_NEWTON
        state[c.OBJECTIVE] = -math.inf
        state[c.CLOSING], state[c.TRIES], state[c.STEPS] = 0.0, 0.0, 0.0


@_function
def _extrapolate(state, pars, vec, floor, family):
    """SQUAREM's step from the points before and after two steps of EM, of which the trial point is the last."""
    trial, th0, th1, th2 = pars[c.TRIAL], vec[c.TH0], vec[c.TH1], vec[c.TH2]
    n = (3 if family <= fam.GAMMA else 2) * trial.shape[1] - 1
    pack(trial, th2, family)
    rr, qq = 0.0, 0.0
    for i in range(n):
        r = th1[i] - th0[i]
        q = th2[i] - th1[i] - r
        rr += r * r
        qq += q * q
    a = math.sqrt(rr / qq) if qq > 0.0 else 1.0
    state[c.HITMAX] = 1.0 if a > state[c.STEP_MAX] else 0.0
    a = -min(max(a, 1.0), state[c.STEP_MAX])
    for i in range(n):
        r = th1[i] - th0[i]
        th0[i] += -2.0 * a * r + a * a * (th2[i] - th1[i] - r)
    unpack(th0, trial, family)
    if not above_floor(trial, floor, family):
        copy(pars[c.SECOND], trial)


@_function
def finish(state, pars, mat, par, result, hess):
    """Write a climb's point, outcome and Hessian."""
    copy(pars[c.CURRENT], par)
    n = hess.shape[0]
    for i in range(n):
        for j in range(n):
            hess[i, j] = mat[c.HESSIAN, i, j]
    result[0], result[1], result[2] = state[c.OBJECTIVE], state[c.LOGLIK], state[c.DECREMENT]
    result[3], result[4], result[5] = state[c.MIN_EIG], state[c.STATUS], state[c.PASSES]


# --- twins -----------------------------------------------------------------------------------------------------------------


def climb_cpu(t1, t2, w, off, info, owner, opt, family, pars, vec, mat, total, par, result, hess):
    K = par.shape[2]
    n = hess.shape[1]
    P, S, H = np.empty((3, K)), np.empty((3, K)), np.empty((K * (K + 1) // 2, 6))
    C, buf = np.empty((6, K), t1.dtype), np.empty((K + 3, ROW), t1.dtype)[1:]
    ps, vs, ms, state = np.empty((4, 3, K)), np.empty((c.VECTOR_ROWS, n)), np.empty((3, n, n)), np.empty(c.STATE)
    level = 1 if opt[c.UNIT] > 0.0 else 2
    for item in range(owner.size):
        d = owner[item]
        a, b = off[d], off[d + 1]
        row, x, y, wt = info[d], t1[a:b], t2[a:b], w[a:b]
        for row_of in (c.TRIAL, c.CURRENT, c.ANCHOR):
            copy(par[item], ps[row_of])
        begin(state, opt)
        while state[c.PHASE] > c.DONE:
            set_coefficients(P, ps[c.TRIAL], family, opt[c.SHAPE], row[c.CENTRE])
            hessian = state[c.PHASE] == c.AT_NEWTON or state[c.PHASE] == c.FINAL
            ll = cpu_sums(x, y, wt, P, C, S, H, buf, 0 if state[c.PHASE] == c.WARM else level, hessian)
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
            for row_of in (c.TRIAL, c.CURRENT, c.ANCHOR):
                copy(par[item], ps[row_of])
            begin(state, opt)
        cuda.syncthreads()
        while state[c.PHASE] > c.DONE:
            hessian = state[c.PHASE] == c.AT_NEWTON or state[c.PHASE] == c.FINAL
            sums = 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)
            if lane == 0:
                set_coefficients(P[:, :K], ps[c.TRIAL], family, opt[c.SHAPE], row[c.CENTRE])
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


def _split_climb(args, parts):
    t1, t2, w, off, info, owner, *middle, par, result, hess = args
    return [(t1, t2, w, off, info, owner[a:b], *middle, par[a:b], result[a:b], hess[a:b]) for a, b in ranges(owner.size, parts)]


_f, _i = numba.types.float64, numba.types.int64


def _climb_types(T):
    data, work = (T[::1], T[::1], T[::1], _i[::1], _f[:, ::1], _i[::1]), (_f[:, :, :, ::1], _f[:, :, ::1], _f[:, :, :, ::1])
    return [(*data, _f[::1], _i, *work, _f[:, ::1], _f[:, :, ::1], _f[:, ::1], _f[:, :, ::1])]


_DOUBLE = "parameters, and sums over the observations of a lane, are double"
_double = dict(dtypes=("float64",), split=_split_climb)
_single = dict(dtypes=("float32",), split=_split_climb, f64_ok=_DOUBLE)
CLIMB = Kernel("mixture.climb", climb_cpu, climb_cuda, _climb_types, **_double)
CLIMB_SINGLE = Kernel("mixture.climb_single", climb_cpu, climb_cuda, _climb_types, **_single)
