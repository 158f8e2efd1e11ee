"""From sums to parameters: M-step, Newton's method, SQUAREM, certificate.

`advance` turns the sums of a pass into the next parameters and is the whole control flow of EM, SQUAREM and Newton. It is
called after every pass by the CPU loop, by one lane of a CUDA block, and by the host when a large data set is passed in
chunks, so the three cannot differ.

Parameters are arrays (3, K): weights, means m and dispersions v of `numbastats.scalar.families`.
"""

from __future__ import annotations

import math

from numbastats._core.compile import array_function
from numbastats.scalar import families as fam

__all__ = ["above_floor", "advance", "begin", "copy", "finish", "log_prior", "m_step", "set_coefficients"]

# Columns of `info`, one row per data set.
CENTRE, MASS, SUM1, SUM2, FLOOR, SCALE, SHIFT, LOGS, SPREAD, DISTINCT, COUNT, PRIOR_D = range(12)
INFO = 12
# Options of a climb.
METHOD, TOL, MAX_PASSES, PRIOR_N, PRIOR_A, WARM_PASSES, SHAPE, UNIT, DECREMENT_TOL, NOISE = range(10)
OPTIONS = 10
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

FLAT = 1e-8  # the smallest eigenvalue of the scaled -H that counts as positive: one minus the rate of EM

_function = array_function(fastmath=(), host=False)


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
def m_step(S, par, family, c, floor, least, prior_n, prior_d, prior_a, old_mean):
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
def log_prior(par, family, prior_n, prior_d, prior_a):
    """What the prior adds to the log-likelihood."""
    total = 0.0
    if prior_n > 0.0 or prior_a != 1.0:
        for k in range(par.shape[1]):
            p = fam.penalty(family, par[2, k], prior_n, prior_d)[0]
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
def copy(source, target):
    """Copy parameters (3, K)."""
    for j in range(3):
        for k in range(source.shape[1]):
            target[j, k] = source[j, k]


@_function
def above_floor(par, floor, family):
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
    objective = ll + log_prior(trial, family, prior_n, prior_d, prior_a)
    state[PASSES] += 1.0
    last = state[PASSES] >= opt[MAX_PASSES]
    newton, settle = False, False  # whether to begin Newton's method from the trial point; to certify the current point
    if phase == AT_NEWTON or phase == FINAL:
        failed, radius, limit = False, 0.0, opt[TOL]
        slack = opt[NOISE] * abs(state[OBJECTIVE]) if state[OBJECTIVE] > -math.inf else 0.0
        better = objective >= state[OBJECTIVE] - slack and objective < math.inf and above_floor(trial, floor, family)
        if phase == FINAL or better:
            copy(trial, current)
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
            definite = least > FLAT
            for i in range(n):  # what is left to climb, by EM, may yet change the eigenvalue by so much
                definite = definite and abs(g[i]) < (least - FLAT) * vec[COMPLETE, i]
            state[STATUS] = NOT_CERTIFIED if not definite else (OK if state[DECREMENT] <= limit else MAX_ITER)
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
                for k in range(trial.shape[1]):
                    if not current[2, k] > 2.0 * floor:  # it would climb on, without end, but for the floor
                        state[STATUS] = DEGENERATE
            else:
                copy(pars[ANCHOR], trial)
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
    moved = m_step(S, trial, family, info[CENTRE], floor, 1e-8 * info[MASS], prior_n, prior_d, prior_a, old_mean)
    if phase == SQ_C:
        if objective >= state[OLD] and moved:
            if state[HITMAX] > 0.0:
                state[STEP_MAX] *= 4.0
        else:
            copy(pars[SECOND], trial)
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
        copy(trial, pars[SECOND])
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
        if not above_floor(trial, floor, family):
            copy(pars[SECOND], trial)
        state[PHASE] = SQ_C
    if newton:
        copy(trial, pars[ANCHOR])
        state[PHASE] = AT_NEWTON
        state[OBJECTIVE] = -math.inf
        state[CLOSING], state[TRIES], state[STEPS] = 0.0, 0.0, 0.0


@_function
def finish(state, pars, mat, par, result, hess):
    """Write a climb's point, outcome and Hessian."""
    copy(pars[CURRENT], par)
    n = hess.shape[0]
    for i in range(n):
        for j in range(n):
            hess[i, j] = mat[HESSIAN, i, j]
    result[0], result[1], result[2] = state[OBJECTIVE], state[LOGLIK], state[DECREMENT]
    result[3], result[4], result[5] = state[MIN_EIG], state[STATUS], state[PASSES]
