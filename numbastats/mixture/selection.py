"""The choice among starts and among optima: the best few starts, the best admissible optimum, its hits and runner-up."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats._core.status import CONVERGED, FITTED, Status
from numbastats.mixture.density import scores
from numbastats.mixture.information import reordered
from numbastats.mixture.kernels import on_host
from numbastats.mixture.units import prior_units
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam

_NO_FIT = {Status.COLLAPSED: "every start collapsed", Status.TOO_FEW: "too few distinct values"}
NARROW = 0.015  # by default, of the spread of the data
NUMBERS = ("loglik", "objective", "decrement", "min_eig", "runner_up", "gap")  # of a fit, doubles
COUNTS = ("n_iter", "n_passes", "hits", "n_singular", "n_climbed", "n_starts")


@dataclasses.dataclass
class Result:
    """Outcome for one number of components, one row per data set, in scaled units."""

    par: np.ndarray  # (D, rows, K)
    loglik: np.ndarray
    objective: np.ndarray
    decrement: np.ndarray
    min_eig: np.ndarray
    status: np.ndarray
    n_iter: np.ndarray
    n_passes: np.ndarray
    hits: np.ndarray
    runner_up: np.ndarray
    n_singular: np.ndarray
    n_climbed: np.ndarray
    n_starts: np.ndarray
    keeps: np.ndarray  # whether it is admissible
    hess: np.ndarray
    gap: np.ndarray
    short: np.ndarray  # whether one component less is likelier than all that is certified and admissible
    starts: tuple | None = None


def _none(D, K, n, rows):
    """Results of data sets without an optimum."""
    numbers = {name: np.full(D, np.nan) for name in NUMBERS}
    counts = {name: np.zeros(D, np.int64) for name in COUNTS}
    par, hess = np.full((D, rows, K), np.nan), np.full((D, n, n), np.nan)
    keeps, short = np.zeros((2, D), bool)
    return Result(par=par, status=np.full(D, Status.COLLAPSED, np.int8), keeps=keeps, hess=hess, short=short, **numbers, **counts)


def best_few(ll, par, usable, top):
    """The best starts that differ in log-likelihood by more than 1e-3 or in their means, and how many each covers.

    As (data set, start, number); these are then no longer `usable`. At most top[d] of data set d.
    """
    D, R = ll.shape
    value = np.where(np.isfinite(ll), ll, -1e300)  # without passes there is no log-likelihood to rank by
    value[~usable] = -math.inf
    means = np.sort(par[:, :, 1, :], axis=2).transpose(2, 0, 1).copy()  # short axes go first
    most = min(int(top.max(initial=0)), R)
    picks, cover = np.full((D, most), -1, np.int64), np.zeros((D, most), np.int64)
    rows = np.arange(D)
    for t in range(most):
        best = np.argmax(value, axis=1)
        highest = value[rows, best]
        alive = np.nonzero((highest > -math.inf) & (t < top))[0]
        if not alive.size:
            break
        b = best[alive]
        near = value[alive] >= highest[alive, None] - 1e-3
        for m in means:
            chosen = m[alive, b][:, None]
            near &= np.abs(m[alive] - chosen) <= 0.05 * (np.abs(chosen) + 1e-3)
        near[np.arange(alive.size), b] = True
        picks[alive, t], cover[alive, t] = b, near.sum(axis=1)
        value[alive] = np.where(near, -math.inf, value[alive])
    usable &= value > -math.inf
    owner, t = np.nonzero(picks >= 0)
    return owner, picks[owner, t], cover[owner, t]


def choose(p, K, q, owner, points, outcome, hess, covered, keeps, options, enough):
    """The best admissible certified maximum of each data set, or the best of what there is, with its status."""
    D, n = p.info.shape[0], (1 + q) * K - 1
    finite = np.isfinite(outcome["objective"])
    objective = np.where(finite, outcome["objective"], -math.inf)
    status = np.where(finite, outcome["status"], Status.COLLAPSED)
    info = p.info[owner]
    blurred = ~(blur(points, p, info) <= 1e-6 * np.maximum(1.0, np.abs(objective + p.constant[owner])))
    status[(status == Status.OK) & blurred] = Status.NOT_CERTIFIED
    # order of preference: certified and admissible, certified, out of budget or not certified, degenerate
    grade = np.select([(status == Status.OK) & keeps, status == Status.OK, status == Status.COLLAPSED], [3, 2, 0], 1)
    order = np.lexsort((-objective, -grade, owner))
    first = np.ones(owner.size, bool)
    first[1:] = owner[order][1:] != owner[order][:-1]
    best = np.full(D, -1)
    best[owner[order][first]] = order[first]
    r = _none(D, K, n, points.shape[1])
    np.add.at(r.n_passes, owner, outcome["passes"])
    np.add.at(r.n_climbed, owner, covered)
    np.add.at(r.n_singular, owner, covered * (status == Status.COLLAPSED))
    has = np.nonzero((best >= 0) & (grade[best] > 0) if owner.size else np.zeros(D, bool))[0]
    i = best[has]
    r.par[has], r.hess[has], r.n_iter[has], r.keeps[has] = points[i], hess[i], outcome["passes"][i], keeps[i]
    lift = p.constant + prior_units(p, options) * K
    r.objective[has], r.loglik[has] = outcome["objective"][i] + lift[has], outcome["loglik"][i] + p.constant[has]
    r.decrement[has], r.min_eig[has] = outcome["decrement"][i], outcome["min_eig"][i]
    r.status[has] = np.where(grade[i] == 2, Status.INADMISSIBLE, status[i])
    if owner.size:
        top = objective[best[owner]]
        close = objective >= top - 1e-6 * np.maximum(1.0, 1e-6 * np.abs(top))
        np.add.at(r.hits, owner, covered * close)
        other = (status == Status.OK) & (objective < top - 1e-6 * np.maximum(1.0, 1e-6 * np.abs(top)))
        second = np.full(D, -math.inf)
        np.maximum.at(second, owner[other], objective[other])
        r.runner_up = np.where(np.isfinite(second), second + lift, np.nan)
    r.status[~enough] = Status.TOO_FEW
    r.par[~enough] = np.nan
    ascending = np.lexsort((r.par[:, 2, :], r.par[:, 1, :] * np.sign(p.factor)[:, None]))  # in the units of the user
    if K > 1:
        r.hess = reordered(r.hess, ascending)
        r.par = np.take_along_axis(r.par, ascending[:, None, :], axis=2)
    return r


def merged(r, again):
    """Change fits to those of another search where these are better; returns where."""
    certified = lambda f: np.isin(f.status, CONVERGED)  # noqa: E731
    rank = lambda f: np.select([(f.status == Status.OK) & f.keeps, certified(f)], [2, 1], 0)  # noqa: E731
    before, after, nothing = rank(r), rank(again), np.isnan(r.objective)
    with np.errstate(invalid="ignore"):
        slack = 1e-6 * np.maximum(1.0, 1e-6 * np.abs(r.objective))
        better = (after > before) | ((after == before) & ((again.objective > r.objective + slack) | nothing))
        level = np.abs(again.objective - r.objective) <= slack
        beaten = np.where(better, r.objective, again.objective)
        beaten[level | ~np.where(better, certified(r), certified(again))] = np.nan
        r.runner_up = np.fmax(
            np.fmax(np.where(level | ~better, r.runner_up, np.nan), np.where(level | better, again.runner_up, np.nan)), beaten
        )
    for name in ("n_passes", "n_singular", "n_climbed", "n_starts"):
        getattr(r, name)[:] += getattr(again, name)
    r.hits[level & ~better] += again.hits[level & ~better]
    for name in ("par", "loglik", "objective", "decrement", "min_eig", "status", "n_iter", "hits", "keeps", "hess"):
        getattr(r, name)[better] = getattr(again, name)[better]
    return better & np.isfinite(again.objective)


def passed_over(fits, pick, criterion):
    """What a choice among numbers of components has passed over, in words, and whether that makes it doubtful.

    `fits` are (number, status, value of the criterion, whether fewer components are likelier). It is doubtful where a fit of a
    better criterion is not admissible, or there is none; not where the values are too few for more components.
    """
    _, own, best, _ = fits[pick]
    passed, doubtful = [], False
    for K, status, value, short in fits:
        if value < best:
            why, doubtful = f"{criterion} lower by {best - value:.4g}", True
        elif short:
            why = "less likely than fewer components where certified"
        elif status in _NO_FIT and own != status:
            why, doubtful = _NO_FIT[status], doubtful or status == Status.COLLAPSED
        else:
            continue
        passed.append(f"{K} (status {status}, {why})")
    if passed:
        return f"numbers of components passed over: {', '.join(passed)}", doubtful
    if own in FITTED and own != Status.OK:
        return "no number of components has an admissible certified fit of as good a criterion", True
    return "", False


def admissible(p, owner, points, options):
    """Which of the points (M, rows, K) have no component that is too narrow or too small."""
    info, K = p.info[owner], points.shape[2]
    keeps = np.ones(owner.size, bool)
    if K > 1:  # one component has all observations
        keeps &= (points[:, 0, :] * info["mass"][:, None] >= options.min_count).all(axis=1)
    least = NARROW if options.min_sd_ratio is None else options.min_sd_ratio
    narrow = ~(sd_of(points, p.family) >= least * info["spread"][:, None])
    for i in np.flatnonzero(narrow.any(axis=1) & keeps):
        keeps[i] = options.min_sd_ratio is None and bool(_beyond_chance(points[i], info[i], p.family)[narrow[i]].all())
    return keeps


def _beyond_chance(par, info, family):
    """Which components hold more observations than chance brings together at one of the places where they might be.

    With r the responsibility at its centre, a component of n observations is where the others have n (1 - r)/r. By Chernoff's
    bound for a Poisson number and the number of intervals of its width in the data, chance has a probability below exp(-10).
    """
    if family.latent or family.discrete:
        here = family if family.latent else dataclasses.replace(family, transform="identity", constant=1.0)
        centre = here.component_means(par[1], family.params_of(list(par[2:]))) if family.third else par[1]
        centre = np.rint(centre) if family.discrete else centre
        r = np.diagonal(scores(centre, here, par, True, "cpu", 1)[1])
    else:  # about its own centre a logit is its constant term alone
        P, r = np.empty((3, par.shape[1])), np.empty(par.shape[1])
        for j, centre in enumerate(par[1]):
            on_host.set_coefficients(P, np.ascontiguousarray(par), family.base, float(family.shape), centre)
            r[j] = 1.0 / np.exp(P[0] - P[0, j]).sum()
    return beyond_chance(r, par[0] * info["mass"], sd_of(par, family), info["spread"])


def beyond_chance(r, count, sd, spread):
    """Whether components have more observations than chance brings together, by the responsibilities r at their centres."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        others = (1.0 - r) / r
        evidence = count * (others - 1.0 - np.log(others))
        return (r > 0.5) & (evidence > np.log(spread / sd) + 10.0)


def sd_of(par, family):
    """Standard deviation of each component on the scaled y."""
    m, v = par[..., 1, :], par[..., 2, :]
    with np.errstate(invalid="ignore", over="ignore"):
        if family.code == lat.NEGATIVE_BINOMIAL:
            return np.sqrt(m + m * m / v)
        if family.base == fam.INVERSE_GAUSSIAN:
            return np.sqrt(m**3 * v)
        if family.base == fam.GAUSSIAN:
            return np.sqrt(v)
        if family.base == fam.GAMMA:
            return m * np.sqrt(v)
        if family.base == fam.FIXED_GAMMA:
            return m / math.sqrt(family.shape)
        return np.sqrt(m) if family.base == fam.POISSON else np.sqrt(m * (1.0 + m))


def blur(par, p, info):
    """Error of the log-likelihood by rounding, roughly."""
    return 2.0**-52 * info["mass"] * p.family.logit_size(par[:, 1], par[:, 2], info["centre"][:, None]).max(axis=1)
