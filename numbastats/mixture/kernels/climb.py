"""``climb``: from given parameters to an optimum on all observations, one problem per (data set, start).

`advance` turns the sums of a pass into the next parameters and is the whole control flow of EM and Newton's method; `accelerate`
adds SQUAREM. They are called after every pass by the CPU loop, by a thread of the GPU (see `rounds`), and by the host when a
large data set is passed in chunks, so the three cannot differ. Few fits need `accelerate`, which has a loop of its own; it takes
over climbs that `climb` leaves in a phase it does not know.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.climb import copy_matrix
from numbastats._core.endings import COLLAPSED, NO_CONVERGENCE, NOT_CERTIFIED, OK
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.newton import derivatives, newton_step, smallest_eigenvalue
from numbastats.mixture.kernels.parameters import (
    above_floor,
    coordinates,
    least_mass,
    log_prior,
    m_step,
    pack,
    rounding,
    set_coefficients,
    stepped,
    unpack,
)
from numbastats.mixture.kernels.passes import ROW, cpu_sums
from numbastats.mixture.kernels.records import STATE_TYPE, STATISTICS_TYPE, ranges, series_type, settings_type
from numbastats.scalar import mixture as fam

MOST_STEPS = 60  # of Newton's method

_function = array_function(fastmath=(), host=False)


@_function
def advance(state, pars, vec, mat, D, S, H, ll, info, settings):
    """Use the sums of a pass at the trial point: sets the next trial point and phase.

    Every helper is called from one place: it is compiled again with each caller and each place it is inlined to.
    """
    objective = ll + log_prior(pars[c.TRIAL], info, settings)
    state.passes += 1
    if state.phase == c.AT_NEWTON or state.phase == c.FINAL:
        newton(state, pars, vec, mat, D, S, H, ll, objective, info, settings)
    else:
        _short_run(state, pars, S, objective, info, settings)


@_function
def accelerate(state, pars, vec, mat, D, S, H, ll, info, settings):
    """`advance` in any phase."""
    if state.phase < c.SQ_A:
        advance(state, pars, vec, mat, D, S, H, ll, info, settings)
        return
    objective = ll + log_prior(pars[c.TRIAL], info, settings)
    state.passes += 1
    if _converged(state, objective, settings):
        state.phase = c.FINAL
    else:
        _em(state, pars, vec, S, objective, info, settings)


@_function
def _short_run(state, pars, S, objective, info, settings):
    """A step of EM: one of those that rank the starts, or before Newton's method."""
    trial, ranking = pars[c.TRIAL], state.phase == c.START
    least = 1e-8 * info.mass
    if ranking:
        least = least_mass(info)
        state.objective = objective
    state.left -= 1
    if not m_step(S, trial, info, settings, least):
        state.status, state.phase = COLLAPSED, c.DONE
    elif state.left <= 0:
        if ranking:
            state.status, state.phase = OK, c.DONE
        else:
            _begin_newton(state, pars)


@_function
def _begin_newton(state, pars):
    """Newton's method from the trial point."""
    copy_matrix(pars[c.TRIAL], pars[c.ANCHOR])
    state.phase = c.AT_NEWTON
    state.objective = -math.inf
    state.closing, state.tries, state.steps = 0, 0, 0


@_function
def newton(state, pars, vec, mat, D, S, H, ll, objective, info, settings):
    """Newton's method with a certificate at the end; where it fails, SQUAREM from the last EM point.

    Families with a latent variable bind their own derivatives, step, test of a point and way back.
    """
    current, trial, g, step, family = pars[c.CURRENT], pars[c.TRIAL], vec[c.GRADIENT], vec[c.STEP], settings.family
    final, last = state.phase == c.FINAL, state.passes >= settings.max_passes
    n = coordinates(trial, family)
    settle, failed, radius, limit = False, False, 0.0, settings.tol
    slack = 0.0
    if state.objective > -math.inf:
        slack = settings.noise * abs(state.objective) + rounding(trial, info, family)
    better = objective >= state.objective - slack and objective < math.inf and above_floor(trial, info.floor, info.centre, family)
    if final or better:
        copy_matrix(trial, current)
        state.objective, state.loglik = objective, ll
        derivatives(S, H, current, g, vec[c.COMPLETE], D, info, settings)
        state.decrement = newton_step(D, g, step, mat[0], mat[1], vec[c.EIG], n)
        state.tries = 0
        state.steps += 1
        closing = state.closing if state.decrement < settings.tol else 0
        if final:
            settle, limit = True, settings.decrement_tol
            state.passes -= 1  # the certificate is not an iteration
        elif closing > 1 or (closing > 0 and state.decrement < 1e-24):  # a step or two beyond the test, to rounding
            settle = True
        else:
            state.closing = closing + 1 if state.decrement < settings.tol else 0
            failed = state.steps > MOST_STEPS or not state.decrement < math.inf
            radius = 1.0
    elif state.closing > 0:  # rounding of the last step: the point before it stands, with its derivatives
        settle = True
    else:
        state.tries += 1
        failed = state.tries > 8 or not state.objective > -math.inf
        radius = 0.25 * state.radius
    if settle:
        _certify(state, current, vec, mat, D, info.mass, limit, n)
        failed = not final and state.min_eig < -c.FLAT  # a saddle
    elif not failed:
        state.radius = stepped(current, trial, step, info, family, radius)
        if last:
            state.phase = c.DONE
    if failed:
        fall_back(state, pars, info, family, last)


@_function
def _certify(state, current, vec, mat, D, mass, limit, n):
    """Certificate of the current point: the decrement and the smallest eigenvalue."""
    g, complete = vec[c.GRADIENT], vec[c.COMPLETE]
    least = smallest_eigenvalue(D, complete, mat[0], mat[1], vec[c.EIG], n)
    for k in range(current.shape[1]):
        if current[0, k] * mass < 0.01:  # on its way to 0: a redundant component
            least = min(least, 0.0)
    state.min_eig = least
    definite = least > c.FLAT
    for i in range(n):  # what is left to climb, by EM, may yet change the eigenvalue by so much
        definite = definite and abs(g[i]) < (least - c.FLAT) * complete[i]
    state.status = NOT_CERTIFIED if not definite else (OK if state.decrement <= limit else NO_CONVERGENCE)
    state.phase = c.DONE


@_function
def fall_back(state, pars, info, family, last):
    """SQUAREM from the last EM point, for at most three rounds."""
    current = pars[c.CURRENT]
    state.rounds += 1
    if state.rounds > 3 or last:
        state.phase = c.DONE
        for k in range(current.shape[1]):  # it would climb on, without end, but for the floor
            if not current[2, k] > 2.0 * fam.least_dispersion(family, current[1, k], info.centre, info.floor):
                state.status = COLLAPSED
    else:
        copy_matrix(pars[c.ANCHOR], pars[c.TRIAL])
        state.left = 30 * state.rounds * state.rounds
        state.step_max = 4.0
        state.old = -math.inf
        state.phase = c.SQ_A


@_function
def _converged(state, objective, settings):
    """Whether EM, or a cycle of SQUAREM, has gained too little to go on; notes the objective."""
    state.left -= 1
    if state.phase == c.AT_EM:
        change = objective - state.old
        if (abs(change) if settings.method == c.BULKEM else change) < settings.tol:
            return True
        state.old = objective
    elif state.phase == c.SQ_A:
        if settings.method == c.SQUAREM and objective - state.objective < settings.tol:
            return True
        state.objective = objective
    return False


@_function
def _em(state, pars, vec, S, objective, info, settings):
    """A step of EM, or of SQUAREM (Varadhan and Roland 2008, scheme SqS3), one pass of its cycle at a time."""
    phase, trial, family = state.phase, pars[c.TRIAL], settings.family
    last = state.passes >= settings.max_passes
    if phase == c.SQ_A:
        pack(trial, vec[c.TH0], family)
    if phase == c.AT_EM:
        copy_matrix(trial, pars[c.SECOND])
    moved = m_step(S, trial, info, settings, 1e-8 * info.mass)
    if phase == c.SQ_C:
        if objective >= state.old and moved:
            if state.at_limit > 0:
                state.step_max *= 4.0
        else:
            copy_matrix(pars[c.SECOND], trial)
            state.step_max = max(0.25 * state.step_max, 4.0)
        state.phase = c.FINAL if last else c.SQ_A
        if settings.method == c.NEWTON and not last and state.left <= 0:
            _begin_newton(state, pars)
    elif not moved:
        state.status, state.phase = COLLAPSED, c.DONE
    elif phase == c.AT_EM:
        if settings.method == c.BULKEM:
            for k in range(trial.shape[1]):
                trial[2, k] = fam.with_old_mean(family, trial[1, k], trial[2, k], pars[c.SECOND, 1, k])
        if last:
            state.phase = c.FINAL
    elif phase == c.SQ_A:
        pack(trial, vec[c.TH1], family)
        state.phase = c.SQ_B
    else:
        state.old = objective
        copy_matrix(trial, pars[c.SECOND])
        _extrapolate(state, pars, vec, info, family)
        state.phase = c.SQ_C


@_function
def _extrapolate(state, pars, vec, info, family):
    """SQUAREM's step from the points before and after two steps of EM, of which the trial point is the last."""
    trial, th0, th1, th2 = pars[c.TRIAL], vec[c.TH0], vec[c.TH1], vec[c.TH2]
    n = coordinates(trial, family)
    pack(trial, th2, family)
    rr, qq = 0.0, 0.0
    for i in range(n):
        r = th1[i] - th0[i]
        q = th2[i] - th1[i] - r
        rr += r * r
        qq += q * q
    a = math.sqrt(rr / qq) if qq > 0.0 else 1.0
    state.at_limit = 1 if a > state.step_max else 0
    a = -min(max(a, 1.0), state.step_max)
    for i in range(n):
        r = th1[i] - th0[i]
        th0[i] += -2.0 * a * r + a * a * (th2[i] - th1[i] - r)
    unpack(th0, trial, family)
    if not above_floor(trial, info.floor, info.centre, family):
        copy_matrix(pars[c.SECOND], trial)


@_function
def level(state, info):
    """What `cpu_sums` is to do about the log-likelihood."""
    if state.phase == c.WARM or (state.phase == c.START and state.left > 1):
        return 0
    return 1 if info.unit > 0 and state.phase != c.START else 2


# --- climbs of the host ------------------------------------------------------------------------------------------------------
# They take every climb to its end, or to a phase beyond LAST. `rounds` is what a GPU has instead.

LAST = c.FINAL  # phase that `advance` knows; `ACCELERATE` binds both names anew


def climb_cpu(sets, info, owner, settings, state, pars, hess):
    K, n = pars.shape[3], hess.shape[1]
    P, S, H = np.empty((3, K)), np.empty((3, K)), np.empty((K * (K + 1) // 2, 6))
    C, buf = np.empty((6, K), sets.t1.dtype), np.empty((K + 3, ROW), sets.t1.dtype)[1:]
    vs, ms = np.empty((c.VECTOR_ROWS, n)), np.empty((2, n, n))
    for item in range(owner.size):
        d = owner[item]
        a, b = sets.off[d], sets.off[d + 1]
        row, x, y, w, now, ps = info[d], sets.t1[a:b], sets.t2[a:b], sets.w[a:b], state[item], pars[item]
        while c.DONE < now.phase <= LAST:
            set_coefficients(P, ps[c.TRIAL], settings.family, settings.shape, row.centre)
            hessian = now.phase == c.AT_NEWTON or now.phase == c.FINAL
            ll = cpu_sums(x, y, w, P, C, S, H, buf, level(now, row), hessian)
            advance(now, ps, vs, ms, hess[item], S, H, ll, row, settings)


def split_climb(args, parts):
    """The arguments for about `parts` shares of the climbs."""
    sets, info, owner, settings, state, pars, hess = args
    return [(sets, info, owner[a:b], settings, state[a:b], pars[a:b], hess[a:b]) for a, b in ranges(owner.size, parts)]


_f, _i = numba.types.float64, numba.types.int64


def climb_types(floats):
    """Signatures for statistics of these float types."""
    results = STATE_TYPE[::1], _f[:, :, :, ::1], _f[:, :, ::1]
    return [(series_type(T), STATISTICS_TYPE[::1], _i[::1], settings_type, *results) for T in floats]


CLIMB = HostLoop("mixture.climb", climb_cpu, climb_types((_f, numba.types.float32)), split=split_climb)
ACCELERATE = HostLoop("mixture.accelerate", climb_cpu, climb_types((_f,)), split=split_climb, advance=accelerate, LAST=c.AT_EM)
