"""``pick`` and ``choose``: the starts of a data set that are climbed from, and the climb that is its fit; a problem for each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.climb import copy_matrix
from numbastats._core.cuda_backend import cuda
from numbastats._core.endings import COLLAPSED, INADMISSIBLE, NO_CONVERGENCE, NOT_CERTIFIED, OK, TOO_FEW
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.latent import FORMULAS, NUMBERS, component_numbers, numbers_of
from numbastats.mixture.kernels.parameters import set_coefficients
from numbastats.mixture.kernels.passes import MAX_CUDA_K
from numbastats.mixture.kernels.records import CHOICE_TYPE, STATE_TYPE, STATISTICS_TYPE, ranges, settings_type, slots_type
from numbastats.mixture.kernels.starts import skew_shift, sort
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam
from numbastats.scalar.components import beyond_chance, deviation, logit_size
from numbastats.scalar.elementary import exp

FEW = 512  # distinct values up to which more starts are climbed from
_MISSING = -1e300  # the rank of starts without a log-likelihood

_function = array_function(fastmath=(), host=False)
_share = _component_numbers = _density = None  # bound to the loops below


class Rules(NamedTuple):
    """What is asked of the fits with one number of components."""

    family: int  # code
    base: int
    shape: float
    distinct: int  # values that they need
    drawn: int  # starts that are drawn; those after them are given
    ranked: int  # whether the best few are climbed from, else all
    few: int  # of them, at most, where values are few
    most: int  # and where they are many
    narrowest: float  # admissible share of the data's spread
    chance: int  # whether a narrower component is admissible beyond chance
    fewest: float  # observations of a component
    strict: int  # whether climbs below the floor are none


# --- pick -------------------------------------------------------------------------------------------------------------------


@_function
def begin(state, settings):
    """The state of a climb at its start."""
    state.objective, state.loglik, state.min_eig = -math.inf, -math.inf, -math.inf
    state.old = settings.tol + 1.0 if settings.method == c.BULKEM else -math.inf
    state.radius, state.step_max, state.decrement = 0.0, 4.0, math.inf
    state.status, state.passes, state.left = NO_CONVERGENCE, 0, settings.warm_passes
    state.tries, state.closing, state.rounds, state.steps, state.at_limit = 0, 0, 0, 0, 0
    state.phase = c.SQ_A if settings.method == c.SQUAREM else c.AT_EM
    if settings.method == c.NEWTON:
        state.phase = c.WARM if settings.warm_passes > 0 else c.AT_NEWTON


@_function
def _rank(state):
    return state.objective if abs(state.objective) < math.inf else _MISSING


@_function
def _is_start(par):
    """Whether a given start has no NaN."""
    for k in range(par.shape[1]):
        if not abs(par[0, k]) < math.inf:
            return False
    return True


@_function
def _alike(one, other):
    """Whether the means of two starts, in order, are nearly the same."""
    for k in range(one.size):
        if not abs(one[k] - other[k]) <= 0.05 * (abs(other[k]) + 1e-3):
            return False
    return True


@_function
def _taken(t, rules, usable, state, means, cover):
    """The start of slot t, which is then no longer usable, nor those that it covers; -1 where there is none."""
    if rules.ranked == 0:
        if usable[t] == 0:
            return -1
        usable[t], cover[t] = 0, 1
        return t
    best, highest = -1, -math.inf
    for r in range(usable.size):
        if usable[r] > 0 and _rank(state[r]) > highest:
            best, highest = r, _rank(state[r])
    if best >= 0:
        for r in range(usable.size):
            near = usable[r] > 0 and _rank(state[r]) >= highest - 1e-3
            if r == best or (near and _alike(means[r], means[best])):
                usable[r] = 0
                cover[t] += 1
    return best


@_function
def _pick(d, info, rules, settings, again, par, state, usable, means, slots, choice):
    """Data set d."""
    start, cover, pars, climbs = slots.start, slots.cover, slots.pars, slots.climbs
    S, T = usable.shape[1], start.shape[1]
    row, now, lo = info[d], choice[d], d * S
    enough = row.distinct >= rules.distinct
    if again == 0:
        now.n_starts, now.lost, now.left = 0, 0, 1
        for r in range(S):
            good = state[lo + r].status == OK
            there = r < rules.drawn or _is_start(par[d, r])
            usable[d, r] = 1 if good and enough else 0
            now.n_starts += 1 if there else 0
            now.lost += 1 if there and enough and not good else 0
            for k in range(means.shape[2]):
                means[d, r, k] = par[d, r, 1, k]
            sort(means[d, r])
    top = rules.few if row.distinct < FEW else rules.most
    for t in range(T):
        start[d, t], cover[d, t] = -1, 0
        if t < top and now.left > 0:
            start[d, t] = _taken(t, rules, usable[d], state[lo : lo + S], means[d], cover[d])
        climb = climbs[d * T + t]
        begin(climb, settings)
        if start[d, t] < 0:
            climb.phase = c.DONE
        else:
            for i in range(4):
                copy_matrix(par[d, start[d, t]], pars[d * T + t, i])


def pick_cpu(info, rules, settings, again, par, state, usable, means, slots, choice):
    for d in range(choice.size):
        _pick(d, info, rules, settings, again, par, state, usable, means, slots, choice)


def pick_cuda(info, rules, settings, again, par, state, usable, means, slots, choice):
    for d in range(cuda.grid(1), choice.size, cuda.gridsize(1)):
        _pick(d, info, rules, settings, again, par, state, usable, means, slots, choice)


def _split_pick(args, parts):
    info, rules, settings, again, par, state, usable, means, slots, choice = args
    S = usable.shape[1]
    return [
        (
            info[a:b],
            rules,
            settings,
            again,
            par[a:b],
            state[a * S : b * S],
            usable[a:b],
            means[a:b],
            slots.part(a, b),
            choice[a:b],
        )
        for a, b in ranges(choice.size, parts)
    ]


# --- choose -----------------------------------------------------------------------------------------------------------------


@_function
def _blur(rules, par, info):
    """Error of the log-likelihood by rounding, roughly: by the terms about the centre whose difference is a component's logit."""
    most = 0.0
    for k in range(par.shape[1]):
        size = logit_size(rules.family, rules.base, rules.shape, par[1, k], par[2, k], info.centre)
        most = size if not size <= most else most  # NaN stays
    return 2.220446049250313e-16 * info.mass * most


@_function
def plain_share(j, par, rules, P):
    """The probability of component j at its centre: there a logit is its constant term alone, but for counts."""
    m = par[1, j]
    set_coefficients(P, par, rules.base, rules.shape, m)
    e, total = (math.floor(m + 0.5) - m if rules.base >= fam.POISSON else 0.0), 0.0
    for k in range(par.shape[1]):
        total += exp((P[0, k] - P[0, j]) + (P[1, k] - P[1, j]) * e)
    return 1.0 / total


@_function
def latent_share(j, par, rules, P):
    """The same of a family with a latent variable, at the mean of the component; 0 where there is none."""
    x, centre, own = par[1, j], 0.0, par[par.shape[0] - 1, j]
    if rules.family == lat.NEGATIVE_BINOMIAL:
        x = math.floor(x + 0.5)
    else:
        centre, x = x, 0.0
        if rules.family == lat.SKEW_NORMAL:
            x = math.sqrt(par[2, j]) * skew_shift(own)
        elif not own > 1.0:
            return 0.0
    for k in range(par.shape[1]):
        _component_numbers(k, par, centre, P)
    here, total = P[7, j] + _density(x, numbers_of(P, j)), 0.0
    for k in range(par.shape[1]):
        total += exp(P[7, k] + _density(x, numbers_of(P, k)) - here)
    return 1.0 / total


@_function
def _admissible(par, info, rules, P):
    """Whether no component is too narrow or too small."""
    K = par.shape[1]
    for k in range(K if K > 1 else 0):  # one component has all observations
        if not par[0, k] * info.mass >= rules.fewest:
            return False
    for k in range(K):
        sd = deviation(rules.family, rules.base, rules.shape, par[1, k], par[2, k])
        if not sd >= rules.narrowest * info.spread:
            if rules.chance == 0 or not beyond_chance(_share(k, par, rules, P), par[0, k] * info.mass, sd, info.spread):
                return False
    return True


@_function
def _grade(state, par, info, rules, constant, floor, P):
    """(grade, status, objective) of a climb, and whether it needs no other.

    Grades: 3 certified and admissible, 2 certified, 1 out of budget or not certified, 0 degenerate.
    """
    finite, status = abs(state.objective) < math.inf, state.status
    objective = state.objective if finite else -math.inf
    keeps = _admissible(par, info, rules, P)
    low = state.objective + constant < floor
    good = finite and keeps and status != COLLAPSED and not low
    if not finite or (low and rules.strict > 0):
        status = COLLAPSED
    if status == OK and not _blur(rules, par, info) <= 1e-6 * max(1.0, abs(objective + constant)):
        status = NOT_CERTIFIED
    grade = 1 if status != COLLAPSED else 0
    if status == OK:
        grade = 3 if keeps else 2
    return grade, status, objective, good, keeps


@_function
def _in_order(par, sign, order):
    """Components by their means in the units of the user, then by their dispersions."""
    m, v = par[1], par[2]
    for k in range(order.size):
        j = k
        while j > 0 and (m[order[j - 1]] * sign > m[k] * sign or (m[order[j - 1]] == m[k] and v[order[j - 1]] > v[k])):
            order[j] = order[j - 1]
            j -= 1
        order[j] = k


@_function
def _choose(d, info, rules, terms, usable, slots, seen, choice, fit, D, order, P):
    """Data set d; terms: constant of the log-likelihood, of the objective, sign of the units, least log-likelihood."""
    start, cover, pars, climbs, hess = slots
    T = start.shape[1]
    row, now, lo = info[d], choice[d], d * T
    constant, lift, sign, floor = terms[d, 0], terms[d, 1], terms[d, 2], terms[d, 3]
    best, grade, top, keeps, satisfied, going = -1, -1, -math.inf, False, False, 0
    now.status, now.n_iter, now.n_passes, now.hits, now.n_climbed, now.n_singular = COLLAPSED, 0, 0, 0, 0, now.lost
    for t in range(T):
        seen[d, t, 1] = -1.0
        if start[d, t] >= 0:
            state = climbs[lo + t]
            going += 1 if state.phase != c.DONE else 0
            g, status, objective, good, admissible = _grade(state, pars[lo + t, c.CURRENT], row, rules, constant, floor, P)
            seen[d, t, 0], seen[d, t, 1] = objective, status
            satisfied = satisfied or good
            now.n_passes += state.passes
            now.n_climbed += cover[d, t]
            now.n_singular += cover[d, t] if status == COLLAPSED else 0
            if g > grade or (g == grade and objective > top):
                best, grade, top, keeps = t, g, objective, admissible
                now.status = INADMISSIBLE if g == 2 else status
    slack, second = 1e-6 * max(1.0, 1e-6 * abs(top)), -math.inf
    for t in range(T):
        objective, status = seen[d, t, 0], seen[d, t, 1]
        if start[d, t] >= 0:
            now.hits += cover[d, t] if objective >= top - slack else 0
            if status == OK and objective < top - slack:
                second = max(second, objective)
    now.runner_up = second + lift if second > -math.inf else math.nan
    now.objective, now.loglik, now.decrement, now.min_eig, now.keeps = math.nan, math.nan, math.nan, math.nan, 0
    for i in range(fit.shape[1]):
        for k in range(fit.shape[2]):
            fit[d, i, k] = math.nan
    for k in range(order.shape[1]):
        order[d, k] = k
    if grade > 0:
        state, par = climbs[lo + best], pars[lo + best, c.CURRENT]
        now.objective, now.loglik = state.objective + lift, state.loglik + constant
        now.decrement, now.min_eig = state.decrement, state.min_eig
        now.n_iter, now.keeps = state.passes, 1 if keeps else 0
        _in_order(par, sign, order[d])
        if row.distinct >= rules.distinct:
            for i in range(fit.shape[1]):
                for k in range(fit.shape[2]):
                    fit[d, i, k] = par[i, order[d, k]]
        if D.shape[1] > 0:
            copy_matrix(hess[lo + best], D[d])
    else:
        now.status = COLLAPSED
    if row.distinct < rules.distinct:
        now.status = TOO_FEW
    now.going, now.left = going, 0
    for r in range(usable.shape[1]):
        now.left += usable[d, r] if not satisfied else 0


def choose_cpu(info, rules, terms, usable, slots, seen, choice, fit, D, order):
    P = np.empty((NUMBERS, fit.shape[2]))
    for d in range(choice.size):
        _choose(d, info, rules, terms, usable, slots, seen, choice, fit, D, order, P)


def choose_cuda(info, rules, terms, usable, slots, seen, choice, fit, D, order):
    P = cuda.local.array((NUMBERS, MAX_CUDA_K), np.float64)
    for d in range(cuda.grid(1), choice.size, cuda.gridsize(1)):
        _choose(d, info, rules, terms, usable, slots, seen, choice, fit, D, order, P)


def _split_choose(args, parts):
    info, rules, terms, usable, slots, *results = args
    return [
        (info[a:b], rules, terms[a:b], usable[a:b], slots.part(a, b), *(one[a:b] for one in results))
        for a, b in ranges(results[1].size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_i2, _f2, _f3, _f4 = _i[:, ::1], _f[:, ::1], _f[:, :, ::1], _f[:, :, :, ::1]
_rules = numba.types.NamedTuple([_i, _i, _f, *[_i] * 5, _f, _i, _f, _i], Rules)
PICK = Kernel(
    "mixture.pick",
    pick_cpu,
    pick_cuda,
    lambda T: [(STATISTICS_TYPE[::1], _rules, settings_type, _i, _f4, STATE_TYPE[::1], _i2, _f3, slots_type, CHOICE_TYPE[::1])],
    dtypes=("float64",),
    split=_split_pick,
)


def _choosing(name, share):
    grade = bind(_grade, _admissible=bind(_admissible, _share=share))
    return Kernel(
        f"mixture.choose{name}",
        choose_cpu,
        choose_cuda,
        lambda T: [(STATISTICS_TYPE[::1], _rules, _f2, _i2, slots_type, _f3, CHOICE_TYPE[::1], _f3, _f3, _i2)],
        dtypes=("float64",),
        split=_split_choose,
        _choose=bind(_choose, _grade=grade),
    )


def _of_latent(name, formulas):
    numbers = bind(component_numbers, _coefficients=formulas["coefficients"])
    return _choosing(f"_{name}", bind(latent_share, _component_numbers=numbers, _density=formulas["density"]))


CHOOSE = {0: _choosing("", plain_share)}
CHOOSE |= {code: _of_latent(name, formulas) for code, (name, _rows, formulas) in FORMULAS.items()}
"""By the codes of families with a latent variable; 0 is for the others."""
