"""``climb``: from given parameters to a certified optimum, one problem for each data set and start.

`advance` turns what a pass has summed into the next point, and is the whole control flow: EM, then Newton's method damped by
Levenberg and Marquardt. It is called after every pass by the loop over problems, and by the host where the passes over a large
data set are made of chunks.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.endings import COLLAPSED, NO_CONVERGENCE, NOT_CERTIFIED, OK
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, least_eigenvalue, solve
from numbastats.mixture.multivariate.kernels.newton import information_sums, keep, moved, new_features, new_newton, parameters
from numbastats.mixture.multivariate.kernels.passes import FAST, Point, em_sums, new_lanes, new_moments, new_point
from numbastats.mixture.multivariate.kernels.products import Case, Tools, climb_by_products, new_vectors
from numbastats.mixture.multivariate.kernels.records import (
    BY_PRODUCTS,
    DONE,
    EM,
    FLAT,
    MOST_STEPS,
    MOST_TRIES,
    NEWTON,
    STATE_TYPE,
    batch_type,
    facts_of,
    model_type,
    point_type,
    ranges,
    settings_type,
)
from numbastats.mixture.multivariate.kernels.steps import condition, copy_point, factor, m_step, narrow

_function = array_function(fastmath=("contract",), host=False)


@_function
def advance_em(state, loglik, sums, trial, best, model, facts, pivots, L):
    """After a pass for EM: the next point; where it is the last, Newton's method begins there, or the run ends."""
    state.passes += 1
    gain = loglik - state.loglik
    if gain < math.inf:  # two gains, and so where the climb is bound for, by Aitken's formula
        state.share = gain / state.damping if state.damping > 0.0 else 1.0
        state.damping = gain
    state.loglik = loglik
    state.left -= 1
    if not m_step(sums, trial, model, facts, pivots, L):
        state.status, state.phase = COLLAPSED, DONE
    elif state.left <= 0 or (gain >= 0.0 and gain < state.enough):
        if state.newton > 0:
            state.phase, state.loglik, state.damping = NEWTON, -math.inf, 0.0
        else:
            state.status, state.phase, state.decrement = OK, DONE, gain


@_function
def advance_newton(state, loglik, trial, best, model, facts, pivots, features, newton, work, settings):
    """After a pass for Newton's method: the next trial point, or the certificate."""
    state.passes += 1
    p = newton.step.size
    slack = settings.noise * (abs(loglik) + facts.mass) if state.loglik > -math.inf else 0.0
    if loglik >= state.loglik - slack and loglik < math.inf:
        closing = state.closing
        copy_point(trial, best)
        keep(newton)
        state.loglik = loglik
        state.steps += 1
        state.damping = 0.0 if state.damping < 1e-3 else 0.1 * state.damping
        definite = cholesky(newton.matrix[1], p, 0.0, newton.root) == p
        if definite:
            solve(newton.root, p, newton.slope[1], newton.step)
            state.decrement = 0.0
            for a in range(p):
                state.decrement += newton.step[a] * newton.slope[1, a]
        else:
            state.decrement = math.inf
            state.damping = max(state.damping, 1e-2)
        state.closing = closing + 1 if state.decrement < settings.tol else 0
        if state.closing > 2 or (state.closing > 1 and state.decrement < 1e-20 * facts.mass) or state.steps > MOST_STEPS:
            _certify(state, best, model, facts, pivots, newton, work, settings)
            return
        state.tries = 0
    elif state.closing > 0:  # rounding of the last step: the point before it stands, with its derivatives
        _certify(state, best, model, facts, pivots, newton, work, settings)
        return
    else:
        state.tries += 1
        state.damping = max(4.0 * state.damping, 1e-2)
        if state.tries > MOST_TRIES:
            _certify(state, best, model, facts, pivots, newton, work, settings)
            return
    while True:
        if cholesky(newton.matrix[1], p, state.damping, newton.root) == p:
            solve(newton.root, p, newton.slope[1], newton.step)
            there, share = moved(best, newton.step, newton.scale[1], model, facts, features, pivots, work, trial)
            if there:
                state.share = share
                return
        state.damping = max(4.0 * state.damping, 1e-2)
        if state.damping > 1e8:
            state.status, state.phase = COLLAPSED, DONE
            return


@_function
def _certify(state, best, model, facts, pivots, newton, work, settings):
    """The certificate of the best point: the decrement, and the least eigenvalue of the information."""
    p = newton.step.size
    state.phase = DONE
    state.condition, state.excess = condition(best, facts, work)
    if cholesky(newton.matrix[1], p, -FLAT, newton.root) < p:
        state.min_eig = 0.0
        state.status = NOT_CERTIFIED if state.decrement < math.inf and state.decrement <= settings.tol else NO_CONVERGENCE
        if state.decrement == math.inf:
            state.status = NOT_CERTIFIED
        if narrow(best, model, facts, pivots):
            state.status = COLLAPSED
        return
    cholesky(newton.matrix[1], p, 0.0, newton.root)
    state.min_eig = least_eigenvalue(newton.root, p, newton.step, newton.slope[0])
    state.status = OK if state.decrement <= settings.tol else NO_CONVERGENCE
    if state.status != OK and narrow(best, model, facts, pivots):
        state.status = COLLAPSED


# --- loops over problems -------------------------------------------------------------------------------------------------
# Of a run without Newton's method (settings.newton == 0) `loglik` is that before the last step.


def climb_cpu(rows, owner, model, settings, points, state):
    """Climb from points (M, ...), which are written, on data sets `owner` (M,)."""
    K, filled = points.means.shape[1], points.means.shape[2]
    d = rows.columns
    lanes, sums = new_lanes(max(K, 1), filled), new_moments(K, filled)
    size = parameters(K, model, d) if settings.newton > 0 else 0
    exact = settings.newton < BY_PRODUCTS
    features, newton = new_features(K, model, d, exact), new_newton(size, exact)
    trial, best, work = new_point(K, filled), new_point(K, filled), np.zeros((5, filled, filled))
    tools = Tools(lanes, newton, sums, new_vectors(0 if exact else size, K, filled), work)
    for item in range(owner.size):
        now, set_ = state[item], owner[item]
        a, b = rows.off[set_], rows.off[set_ + 1]
        x, w = rows.x[a * filled : b * filled], rows.w[a:b]
        facts, pivots = facts_of(rows, set_), rows.pivots[set_]
        here = Point(
            points.log_weights[item], points.means[item], points.covariances[item], points.factors[item], points.heights[item]
        )
        copy_point(here, trial)
        if now.phase != DONE and not factor(trial, model, facts, pivots, work[0]):
            now.status, now.phase = COLLAPSED, DONE
        while now.phase != DONE:
            if now.phase == EM:
                loglik = em_sums(x, w, 0, w.size, trial, model.shape, lanes, sums)
                advance_em(now, loglik, sums, trial, best, model, facts, pivots, work[0])
            elif not exact:
                climb_by_products(Case(x, w, model, facts, pivots, features), tools, trial, best, settings, now)
            else:
                loglik = information_sums(x, w, trial, model, facts, lanes, features, newton, sums, work)
                advance_newton(now, loglik, trial, best, model, facts, pivots, features, newton, work, settings)
        copy_point(best if settings.newton > 0 and now.loglik > -math.inf else trial, here)


def split_climb(args, parts):
    """The arguments for about `parts` shares of the problems."""
    rows, owner, model, settings, points, state = args
    return [
        (rows, owner[a:b], model, settings, type(points)(*(v[a:b] for v in points)), state[a:b])
        for a, b in ranges(owner.size, parts)
    ]


_i = numba.types.int64
CLIMB = HostLoop(
    "mixture.multivariate.climb",
    climb_cpu,
    [(batch_type(T), _i[::1], model_type, settings_type, point_type, STATE_TYPE[::1]) for T in (numba.types.float64,)],
    fastmath=FAST,
    split=split_climb,
)
