"""``climb``: from given parameters to a certified optimum, one problem for each data set and start.

`advance` turns what a pass has summed into the next point, and is the whole control flow: EM, then Newton's method damped by
Levenberg and Marquardt. It is called after every pass by the loop over problems, and by the host where the passes over a large
data set are made of chunks.
"""

from __future__ import annotations

import math

import numba

from numbastats._core.cuda_backend import cuda
from numbastats._core.endings import COLLAPSED, NO_CONVERGENCE, NOT_CERTIFIED, OK
from numbastats._core.kernel import HostLoop, Kernel, array_function
from numbastats.mixture.multivariate.kernels.blocks import factorised, in_blocks, solved
from numbastats.mixture.multivariate.kernels.memory import (
    features_of,
    lanes_of,
    memory_type,
    new_memory,
    newton_of,
    spare_point,
    sums_of,
)
from numbastats.mixture.multivariate.kernels.newton import counts, information_sums, keep, least_eigenvalue, moved, places
from numbastats.mixture.multivariate.kernels.passes import FAST, em_sums, point_of, rows_of
from numbastats.mixture.multivariate.kernels.products import Case, climb_by_products, new_places, new_tools
from numbastats.mixture.multivariate.kernels.records import (
    DONE,
    EM,
    FLAT,
    MOST_STEPS,
    MOST_TRIES,
    NEWTON,
    STATE,
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
_item = array_function(fastmath=("contract",), host=False, allocates=True)
_climb = None  # bound to the loops


@_function
def advance_em(state, loglik, sums, trial, model, facts, pivots, work):
    """After a pass for EM: the next point; where it is the last, Newton's method begins there, or the run ends."""
    state.passes += 1
    gain = loglik - state.loglik
    if gain < math.inf:  # two gains, and so where the climb is bound for, by Aitken's formula
        state.share = gain / state.damping if state.damping > 0.0 else 1.0
        state.damping = gain
    state.loglik = loglik
    state.left -= 1
    if not m_step(sums, trial, model, facts, pivots, work):
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
        definite = factorised(newton.matrix[1], p, 0.0, newton.root) == p
        if definite:
            solved(newton.root, p, newton.slope[1], newton.step)
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
        if factorised(newton.matrix[1], p, state.damping, newton.root) == p:
            solved(newton.root, p, newton.slope[1], newton.step)
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
    if factorised(newton.matrix[1], p, -FLAT, newton.root) < p:
        state.min_eig = 0.0
        state.status = NOT_CERTIFIED if state.decrement < math.inf and state.decrement <= settings.tol else NO_CONVERGENCE
        if state.decrement == math.inf:
            state.status = NOT_CERTIFIED
        if narrow(best, model, facts, pivots):
            state.status = COLLAPSED
        return
    factorised(newton.matrix[1], p, 0.0, newton.root)
    state.min_eig = least_eigenvalue(newton.root, p, newton.step, newton.slope[0])
    state.status = OK if state.decrement <= settings.tol else NO_CONVERGENCE
    if state.status != OK and narrow(best, model, facts, pivots):
        state.status = COLLAPSED


# --- loops over problems -------------------------------------------------------------------------------------------------
# Of a run without Newton's method (settings.newton == 0) `loglik` is that before the last step.


@_function
def copy_state(source, target):
    """Copy what a climb knows of itself."""
    target.loglik, target.decrement, target.min_eig = source.loglik, source.decrement, source.min_eig
    target.condition, target.excess, target.damping = source.condition, source.excess, source.damping
    target.share, target.enough = source.share, source.enough
    target.phase, target.status, target.passes, target.left = source.phase, source.status, source.passes, source.left
    target.tries, target.closing, target.steps, target.newton = source.tries, source.closing, source.steps, source.newton


@_item
def em_one(item, rows, owner, model, settings, points, now, memory, team):
    """Steps of EM of one problem, whose state `now` every thread has."""
    x, w = rows_of(rows, owner[item])
    facts, pivots, here = facts_of(rows, owner[item]), rows.pivots[owner[item]], point_of(points, item)
    lanes, sums, work, trial = lanes_of(memory, team), sums_of(memory, team), memory.work[team], spare_point(memory, team, 0)
    copy_point(here, trial)
    if now.phase == EM and not factor(trial, model, facts, pivots, work):
        now.status, now.phase = COLLAPSED, DONE
    last = now.passes + settings.most
    while now.phase == EM and now.passes < last:
        loglik = em_sums(x, w, 0, w.size, trial, model.shape, lanes, sums)
        advance_em(now, loglik, sums, trial, model, facts, pivots, work)
    if now.phase == DONE and now.status == OK and now.newton == 0:
        now.condition, now.excess = condition(trial, facts, work)
    copy_point(trial, here)


@_item
def newton_one(item, rows, owner, model, settings, points, now, memory, team):
    """Newton's method for one problem, where EM has come to it."""
    x, w = rows_of(rows, owner[item])
    facts, pivots, here = facts_of(rows, owner[item]), rows.pivots[owner[item]], point_of(points, item)
    lanes, sums, features = lanes_of(memory, team), sums_of(memory, team), features_of(memory, team)
    K = points.means.shape[1]
    newton, work = newton_of(memory, team, counts(K, model, rows.columns)[2]), memory.work[team]
    trial, best = spare_point(memory, team, 0), spare_point(memory, team, 1)
    if now.phase == NEWTON:
        copy_point(here, trial)
        places(K, model, rows.columns, features.place)
    last = now.passes + settings.most
    while now.phase == NEWTON:
        loglik = information_sums(x, w, trial, model, facts, lanes, features, newton, sums, work)
        advance_newton(now, loglik, trial, best, model, facts, pivots, features, newton, work, settings)
        waits = now.phase == NEWTON and now.passes >= last
        if (waits or now.phase == DONE) and now.loglik > -math.inf:
            copy_point(best, here)
        if waits:  # the derivatives are made again
            now.loglik = -math.inf
            break


def products_cpu(rows, owner, model, settings, points, state):
    """Newton's method by products, where EM has come to it; on the host on every device."""
    K, d = points.means.shape[1], points.means.shape[2]
    memory = new_memory(1, K, d, 0, 0, 0)
    trial, best, features = spare_point(memory, 0, 0), spare_point(memory, 0, 1), new_places(K, model, rows.columns)
    tools = new_tools(memory, counts(K, model, rows.columns)[2], K, d)
    for item in range(owner.size):
        if state[item].phase == NEWTON:
            s, here = owner[item], point_of(points, item)
            x, w = rows_of(rows, s)
            copy_point(here, trial)
            case = Case(x, w, model, facts_of(rows, s), rows.pivots[s], features)
            climb_by_products(case, tools, trial, best, settings, state[item])
            if state[item].loglik > -math.inf:
                copy_point(best, here)


def em_cpu(rows, owner, model, settings, points, state, memory):
    """EM from points (M, ...), which are written, on data sets `owner` (M,)."""
    memory = new_memory(1, points.means.shape[1], points.means.shape[2], 0, 0, 0)
    for item in range(owner.size):
        _climb(item, rows, owner, model, settings, points, state[item], memory, 0)


def newton_cpu(rows, owner, model, settings, points, state, memory):
    """Newton's method where that has come to it."""
    _own, q, p = counts(points.means.shape[1], model, rows.columns)
    memory = new_memory(1, points.means.shape[1], points.means.shape[2], q, p, 0)
    for item in range(owner.size):
        _climb(item, rows, owner, model, settings, points, state[item], memory, 0)


def climb_cuda(rows, owner, model, settings, points, state, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    if team < teams:
        now = cuda.local.array(1, STATE)
        for item in range(team, owner.size, teams):
            copy_state(state[item], now[0])
            _climb(item, rows, owner, model, settings, points, now[0], memory, team)
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                copy_state(now[0], state[item])


def split_climb(args, parts):
    """The arguments for about `parts` shares of the problems."""
    rows, owner, model, settings, points, state, *memory = args
    return [
        (rows, owner[a:b], model, settings, type(points)(*(v[a:b] for v in points)), state[a:b], *memory)
        for a, b in ranges(owner.size, parts)
    ]


_i = numba.types.int64


_given = batch_type(numba.types.float64), _i[::1], model_type, settings_type, point_type, STATE_TYPE[::1]
PRODUCTS_CLIMB = HostLoop("mixture.multivariate.products", products_cpu, [_given], fastmath=FAST, split=split_climb)


def _climbing(name, cpu, function):
    return Kernel(
        f"mixture.multivariate.{name}",
        cpu,
        climb_cuda,
        lambda T: [(*_given, memory_type)],
        dtypes=("float64",),
        fastmath=FAST,
        split=split_climb,
        cpu_only={"_climb": function},
        cuda_only={"_climb": in_blocks(function)},
    )


EM_CLIMB, NEWTON_CLIMB = _climbing("em", em_cpu, em_one), _climbing("newton", newton_cpu, newton_one)
