"""From rows to fits: starts, short runs, the best few climbed to a certified optimum, exchanges of components."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np

from numbastats._core.random import Purpose, stream_word
from numbastats._core.status import Status
from numbastats.mixture.engine import run, staged_there
from numbastats.mixture.kernels.starts import Key
from numbastats.mixture.multivariate.covariances import Covariance
from numbastats.mixture.multivariate.information import certain, coordinates, exact
from numbastats.mixture.multivariate.kernels import records as c
from numbastats.mixture.multivariate.kernels.climb import EM_CLIMB, NEWTON_CLIMB, PRODUCTS_CLIMB
from numbastats.mixture.multivariate.kernels.forms import FORM_CLIMB
from numbastats.mixture.multivariate.kernels.insertion import INSERTION, KEPT
from numbastats.mixture.multivariate.kernels.passes import FULL, SPHERICAL, Point
from numbastats.mixture.multivariate.kernels.prepare import INFORMATION, ORDER, PREPARE
from numbastats.mixture.multivariate.kernels.starts import (
    BEGIN,
    KMEANS_OWN,
    KMEANS_SPHERED,
    PARTITIONS,
    RANDOM_OWN,
    RANDOM_SPHERED,
    SUBSET,
    WARD_OWN,
    WARD_SPHERED,
)
from numbastats.mixture.multivariate.launching import Space, launched, on_the_host, space_there

SHORT, FURTHER, LONG = (
    (6, 15),
    60,
    15,
)  # steps of EM of a start, of two components and of more; of the best; before Newton's method
FEW, MANY = 3, 10  # starts that are climbed from, and those that go on after the short run
UNSURE = 0.05  # part of what climbs have to gain yet by which others are taken for the same
AHEAD = 100.0  # times its last gain a climb by EM may gain yet
ALIKE = 1e-6  # log-likelihoods of points on their way that differ by less, relatively, are taken for one
ENOUGH = 1e-3  # gain of a step of EM after which no other follows
SAME = 1e-3  # log-likelihoods that differ by less are of one optimum
EXCHANGES, REFINED = 20, 20  # rounds of exchanges at most, steps of EM of each
FAILING = 2  # rounds of exchanges that fail, times the effort, before small data sets are left
SEARCHED = 1800, 5000  # observations of all searches of a data set, with other fits of it or alone
AGREEING = 1, 2  # searches that have to agree with the best
FEW_ROWS = 300  # observations up to which two components are searched for again
OVERLAP = 0.3  # least eigenvalue below which so are two that overlap of more, whose covariances have few parameters
PROMISING = 16  # exchanges of each round, out of all components and candidates
PATIENCE = 3e8  # nanoseconds of a climb, by estimate, until Ctrl-C is answered
MAX_CONDITION = 1e4  # of components of 10 d rows
NUMBERS = ("loglik", "decrement", "min_eig", "condition", "runner_up", "gap")
COUNTS = ("n_iter", "hits", "n_climbed", "n_starts", "n_singular")
KINDS = {
    "portfolio": (
        WARD_SPHERED,
        WARD_OWN,
        *(KMEANS_SPHERED, KMEANS_OWN, KMEANS_SPHERED, KMEANS_OWN, RANDOM_SPHERED, RANDOM_OWN) * 2,
    ),
    "hierarchical": (WARD_SPHERED,),
    "kmeans++": (KMEANS_SPHERED, KMEANS_OWN) * 4,
    "random": (RANDOM_SPHERED, RANDOM_OWN) * 4,
}


@dataclasses.dataclass(frozen=True)
class Options:
    """What a fit is asked for."""

    starts: str
    n_init: int | None
    tol: float
    min_count: float | None
    max_condition: float | None
    free_weights: bool = True
    weights: np.ndarray | None = None  # (K,): those that are fixed; where none is free without them, all are equal
    means: np.ndarray | None = None  # (K, d): those that are fixed
    ends: bool = True  # whether climbs go on to a certificate
    alone: bool = False  # whether no other number of components or model is asked for
    key: tuple = (0, 0)
    device: str = "cpu"
    workers: object = 1
    halt: list = dataclasses.field(default_factory=list, compare=False)
    heavy: Any = None  # `student.Heavy`, what is asked of tails: then the source of the data is a `student.Student`

    def model(self, record):
        """What kernels know of a model under the constraints."""
        return record.model(self.free_weights, self.means is None)

    def free(self, record, K, d):
        """Free parameters under the constraints."""
        more = 0 if self.heavy is None else self.heavy.free(K)
        return record.free(K, d, self.free_weights, self.means is None) + more

    def starts_of(self, K, sizes, free):
        """Kinds of the starts, and how many of these data sets of such sizes (D,) have: few observations make short passes."""
        kinds = KINDS[self.starts if K > 1 else "hierarchical"]
        if K == 1 or self.starts == "hierarchical":
            counts = np.full(sizes.size, len(kinds))
        elif self.n_init is not None:
            counts = np.full(sizes.size, self.n_init)
        else:
            counts = (len(kinds) + ((4 if self.ends else 2) * K if K > 2 else 0)) * effort(K, sizes, free)
        most = int(counts.max(initial=1))
        if self.starts == "portfolio":  # the hierarchies once
            kinds = (*kinds, *kinds[2:] * most)
        return np.resize(np.array(kinds, np.int64), most), counts

    def climbed(self, K, sizes, free):
        """How many starts of each data set go on after the short run, and how many of these are climbed to the end."""
        if self.n_init is not None:
            return np.full(sizes.size, max(MANY, self.n_init)), np.full(sizes.size, max(FEW, self.n_init // 4))
        return MANY * effort(K, sizes, free), FEW * effort(K, sizes, free)

    def count(self, model, d):
        """Observations that an admissible component has."""
        return model.least(d) if self.min_count is None else self.min_count


def effort(K, sizes, free):
    """How many times as much is done for data sets of few observations, or few for so many free parameters, as for large ones."""
    return np.clip((max(300, 10 * free) if K == 2 else 1000) // np.maximum(sizes, 1.0), 1, 4).astype(np.int64)


@dataclasses.dataclass
class Prepared:
    """Data sets in tiles, with what is known of them."""

    rows: c.Batch
    centre: np.ndarray
    info: np.ndarray
    ids: np.ndarray
    places: np.ndarray  # (N,): which rows of the data the batch has, each data set's at its offset
    masses: np.ndarray  # (N,): their weights
    source: Any = None  # what has passes of its own: `distributed.Blocks`, `missing.Observed`, `student.Student`

    kept: dict = dataclasses.field(default_factory=dict, compare=False)  # on a GPU: the rows, work space

    @property
    def size(self):
        """Number of data sets."""
        return self.info.size

    def there(self):
        """The rows on a GPU."""
        if "rows" not in self.kept:
            self.kept["rows"] = staged_there(self.rows)
        return self.kept["rows"]._replace(least=staged_there(self.rows.least))

    def space(self, space, n):
        """Work space on a GPU; that of Newton's method and that of all else are kept for the next kernel."""
        held, memory = self.kept.pop(space.p > 0, (space, None))  # it is free before there is other
        memory = space_there(space, n, before=memory if held == space else None)
        self.kept[space.p > 0] = space, memory
        return memory

    @property
    def constant(self):
        """What is added to log-likelihoods of kernels (D,)."""
        cells = self.rows.mass * self.rows.columns if self.source is None else self.source.cells(self)
        return cells * (np.log(self.info["scale"]) - 0.5 * math.log(2.0 * math.pi))


@dataclasses.dataclass
class Result:
    """Outcome for one number of components and one model, one row per data set, in the units of the kernels."""

    points: Any
    status: np.ndarray
    loglik: np.ndarray
    decrement: np.ndarray
    min_eig: np.ndarray
    condition: np.ndarray
    runner_up: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    hits: np.ndarray
    n_climbed: np.ndarray
    n_starts: np.ndarray
    n_singular: np.ndarray


def prepare(x, weights, off, first, options) -> Prepared:
    """Data sets x[off[s]:off[s + 1]] in tiles: distinct rows with their weights, in an order that they have by themselves."""
    D, columns = off.size - 1, x.shape[1]
    filled = -(-columns // 4) * 4
    places, masses, info = np.zeros(len(x), np.int64), np.zeros(len(x)), np.zeros(D, INFORMATION)
    each = max(1.0, x.shape[0] / max(D, 1))
    run(ORDER, [x, weights, off, places, masses, info], D, on_the_host(options), (), cost=200.0 * each)
    padded = np.concatenate([[0], np.cumsum(-(-info["distinct"] // 8) * 8)])
    rows = c.Batch(
        np.empty(padded[-1] * filled, x.dtype),
        np.empty(padded[-1]),
        padded,
        np.zeros(D),
        np.zeros(D),
        np.ones((D, filled)),
        columns,
    )
    centre = np.zeros((D, columns))
    run(PREPARE, [x, off, places, masses, rows, centre, info], D, on_the_host(options), (), cost=10.0 * columns * columns * each)
    return Prepared(rows, centre, info, np.arange(first, first + D), places, masses)


def sampled(p, x, off, most, options):
    """At most so many rows of each data set, evenly spaced in their order, as data sets of their own."""
    sizes = p.info["distinct"]
    picks = [a + (np.arange(most) * n // most if n > most else np.arange(n)) for a, n in zip(off, sizes, strict=False)]
    at = np.concatenate(picks)
    own = np.concatenate([[0], np.cumsum(np.minimum(sizes, most))]).astype(np.int64)
    return prepare(x[p.places[at]].astype(np.float64), p.masses[at], own, int(p.ids[0]), options)


def new_points(M, K, d) -> Any:
    """Points without values."""
    filled = -(-d // 4) * 4
    square = M, K, filled, filled
    return Point(np.zeros((M, K)), np.zeros((M, K, filled)), np.zeros(square), np.zeros(square), np.zeros((M, K)))


def taken(points, at) -> Any:
    """Some of the points."""
    return Point(*(np.ascontiguousarray(v[at]) for v in points))


def joined(points, others, D) -> Any:
    """Points of data sets, so many of each, with others of each after them."""
    parts = zip(points, others, strict=True)
    each = [np.concatenate([a.reshape(D, -1, *a.shape[1:]), b.reshape(D, -1, *a.shape[1:])], axis=1) for a, b in parts]
    return Point(*(v.reshape(-1, *v.shape[2:]) for v in each))


def climbs(p, owner, model, points, options, left, newton, enough):
    """Climb from the points, which are written; returns the states."""
    state = np.zeros(owner.size, c.STATE)
    for name, value in (("loglik", -math.inf), ("decrement", math.inf), ("condition", math.nan), ("min_eig", math.nan)):
        state[name] = value
    state["excess"] = math.nan
    state["enough"], state["phase"], state["left"] = enough, c.EM, left
    state["status"] = Status.NO_CONVERGENCE
    state["phase"][~np.isfinite(points.log_weights).all(axis=1)] = c.DONE
    K, d = points.means.shape[1], p.rows.columns
    matrices = p.source is not None or model.form > 0 or exact(coordinates(K, d, model) - model.free_weights)
    wanted, newton = newton, newton and (1 if matrices else c.BY_PRODUCTS) * certain(K, d, model)
    state["newton"] = newton
    each = K * (20.0 + 0.3 * d * d) * p.rows.w.size / max(p.size, 1)
    cost = each * (left + (20.0 if newton else 0.0)) + 1000.0
    settings = c.Settings(newton, options.tol, 1e-14)
    if options.device == "cpu":
        settings = settings._replace(most=max(4, int(PATIENCE / max(each, 1.0))))
    args, work = [owner, model, settings, points, state], dict(cost=cost, most=20.0 * cost)
    if p.source is not None:
        p.source.climb(p, *args, options)
        return state
    if model.form:
        while (state["phase"] != c.DONE).any():
            run(FORM_CLIMB, [p.rows, *args], owner.size, on_the_host(options), (), **work)
        if wanted and not newton:  # more parameters than a certificate is made of
            state["status"][state["status"] == Status.OK] = Status.NO_CONVERGENCE
        return state
    while (state["phase"] == c.EM).any():  # on the host large data sets in pieces, between which Ctrl-C is answered
        launched(p, EM_CLIMB, args, owner.size, options, Space.of(p, K), (3, 4), **work)
    while (state["phase"] == c.NEWTON).any():
        if newton == c.BY_PRODUCTS:
            run(PRODUCTS_CLIMB, [p.rows, *args], owner.size, on_the_host(options), (), **work)
        else:
            launched(p, NEWTON_CLIMB, args, owner.size, options, Space.of(p, K, model), (3, 4), **work)
    return state


def constrained(p, points, options):
    """Fixed weights and means in the place of those of the points, which are written; weights go to parts of their rank."""
    each = len(points.means) // max(p.size, 1)
    if options.weights is not None:
        known = np.where(np.isnan(points.log_weights), -math.inf, points.log_weights)
        ranks = np.argsort(np.argsort(-options.weights, kind="stable"))
        order = np.argsort(-known, axis=1, kind="stable")[:, ranks]
        for values in (points.means, points.covariances):
            values[:] = values[np.arange(len(order))[:, None], order]
        points.log_weights[:] = np.where(np.isnan(points.log_weights), math.nan, np.log(options.weights))
    if options.means is not None:
        own = (options.means - p.centre[:, None]) * p.info["scale"][:, None, None]
        points.means[:, :, : p.rows.columns] = np.repeat(own, each, axis=0)


def best_few(loglik, most, unsure=0.0):
    """Places (D, max(most)) of the `most` best starts, -1 for none; none is as likely as one before, to six digits.

    Nor to a part of what it is `unsure` (D, R) of.
    """
    D, R = loglik.shape
    most = np.broadcast_to(most, D)
    order = np.argsort(-loglik, axis=1, kind="stable")
    ranked = np.take_along_axis(loglik, order, axis=1)
    alike = np.zeros((D, R), bool)
    with np.errstate(invalid="ignore"):
        near = np.take_along_axis(np.broadcast_to(unsure, loglik.shape), order, axis=1)[:, 1:]
        alike[:, 1:] = ranked[:, :-1] - ranked[:, 1:] <= ALIKE * np.abs(ranked[:, 1:]) + UNSURE * near
    place = np.cumsum(~alike, axis=1) - 1
    out = np.full((D, int(most.max(initial=1))), R)
    rows, columns = np.nonzero(np.isfinite(ranked) & (place < most[:, None]))
    np.minimum.at(
        out, (rows, place[rows, columns]), order[rows, columns]
    )  # of those alike the first, not the luckier in rounding
    return np.where(out < R, out, -1)


def bound_for(state):
    """What climbs by EM have to gain yet, by Aitken's formula from their last two gains."""
    gain = np.maximum(np.nan_to_num(state["decrement"], posinf=0.0), 0.0)
    return gain / (1.0 - np.clip(state["share"], 0.0, 0.99))


def bounded(state, options):
    """Whether covariances are as wide beside each other as those of admissible fits."""
    return state["excess"] <= MAX_CONDITION if options.max_condition is None else state["condition"] <= options.max_condition


def reached(state, goal):
    """Log-likelihoods of climbs by EM, -inf of those that collapsed or that fall short of a goal by more than steps gain."""
    ahead = state["loglik"] + AHEAD * np.maximum(state["decrement"], 0.0)
    return np.where((state["status"] == Status.OK) & (ahead >= goal), state["loglik"], -math.inf)


def admitted(state, loglik, owner, options):
    """Log-likelihoods of climbs by EM, -inf of those that left the admissible set where their data set `owner` has others."""
    fine = bounded(state, options) & np.isfinite(loglik)
    return np.where(fine | ~np.isin(owner, owner[fine]), loglik, -math.inf) if options.ends else loglik


def enough_data(p, K, model: Covariance, options):
    """Statuses (D,) of data that cannot be fitted by the model with K components, 0 of others."""
    d = p.rows.columns
    status = p.info["status"].astype(np.int64)
    if model.shape != SPHERICAL:
        without = p.info["dependent" if model.shape == FULL else "column"]
        status = np.where((status == 0) & (without >= 0), int(Status.CONSTANT), status)
    few = (p.info["distinct"] < max(K, 2)) | (p.rows.mass < K * options.count(model, d))
    return np.where((status == 0) & few, int(Status.TOO_FEW), status)


def drawn_starts(p, K, model: Covariance, options, kinds, counts):
    """Points of so many kinds for each data set, of which it has `counts` (D,)."""
    D = p.size
    points = new_points(D * kinds.size, K, p.rows.columns)
    if kinds.size:
        places, labels = np.zeros((D, SUBSET), np.int64), np.zeros((D, kinds.size, SUBSET), np.int64)
        key = Key(stream_word(Purpose.MIXTURE_START, (1 << 17) + min(K, 255)), *options.key)
        space = Space.of(p, K)
        launched(p, PARTITIONS, [p.ids, K, model.shape, kinds, key, places, labels], D, options, space, (5, 6), cost=1e6)
        begin = model.model(options.free_weights or options.weights is not None)
        launched(p, BEGIN, [begin, places, labels, points], D, options, space, (3,), cost=2e5)
        constrained(p, points, options)
        points.log_weights[(np.arange(kinds.size) >= counts[:, None]).ravel()] = math.nan
    return points


def search(p, K, model: Covariance, options, given=None, drawn=True, only=None) -> Result:
    """The best optimum of each data set, or of some `only`, from drawn starts and given ones (a multiple of D points)."""
    D, d = p.size, p.rows.columns
    p.rows.least[:] = options.count(model, d) if K > 1 else 0.0
    refused = enough_data(p, K, model, options)
    kernel = options.model(model)
    kinds, counts = (
        options.starts_of(K, p.rows.mass, model.free(K, d)) if drawn else (np.zeros(0, np.int64), np.zeros(D, np.int64))
    )
    many, few = options.climbed(K, p.rows.mass, model.free(K, d))
    points = drawn_starts(p, K, model, options, kinds, counts)
    if kinds.size and options.heavy is not None:
        points = functools.reduce(lambda a, b: joined(a, b, D), p.source.begun(points))
    if given is not None:
        points = joined(points, given, D)
    R = points.means.shape[0] // max(D, 1)
    points.log_weights[np.repeat((refused != 0) | (False if only is None else ~only), R)] = math.nan
    owner = np.repeat(np.arange(D), R)
    if K == 1:
        state, at = None, np.tile(np.arange(1 if options.heavy is None else R), (D, 1))  # normal components have one optimum
        at[refused != 0] = -1
    else:
        state = climbs(p, owner, kernel, points, options, SHORT[K > 2], 0, enough=ENOUGH)
        loglik = admitted(state, reached(state, -math.inf), owner, options).reshape(D, R)
        on = K > 2 or options.n_init is not None
        ahead, went_on, short = np.zeros((D, R)), 0, False
        wide = np.where(on | (few > FEW), many, 0)  # the best go on, so that Newton's method is left with few
        if (wide > 0).any():
            went_on, short = _go_on(p, kernel, points, loglik, ahead, wide, options)
        at = best_few(np.where(short, -math.inf, loglik + ahead), few, ahead)
    result = finished(p, K, model, options, points, at)
    while state is not None:  # the next best of data sets whose climbs all collapsed or are inadmissible
        rows, columns = np.nonzero(at >= 0)
        loglik[rows, at[rows, columns]] = -math.inf
        loglik[_grade(result) >= 2] = -math.inf
        if not np.isfinite(loglik).any():
            break
        at = best_few(loglik, MANY)
        merged(result, finished(p, K, model, options, points, at))
    if state is not None:  # those that fell short went as far as was worth it, and are no hits
        result.n_climbed[:] = np.maximum(result.n_climbed, went_on)
    result.n_starts[:] = np.isfinite(points.log_weights).all(axis=1).reshape(D, R).sum(axis=1)
    if state is not None:
        result.n_singular += (state["status"] == Status.COLLAPSED).reshape(D, R).sum(axis=1)
    result.status[refused != 0] = refused[refused != 0]
    return result


def _go_on(p, kernel, points, loglik, ahead, many, options):
    """More steps of EM for the best of the points (D R), which are written, as are their log-likelihoods, now and ahead (D, R).

    Returns how many went on (D,), and which of those data sets did not, or fall short of the best (D, R).
    """
    owner, place = np.nonzero((at := best_few(loglik, many)) >= 0)
    which = at[owner, place]
    rows = owner * loglik.shape[1] + which
    ends = taken(points, rows)
    state = climbs(p, owner, kernel, ends, options, FURTHER, 0, enough=ENOUGH)
    for a, b in zip(points, ends, strict=True):
        a[rows] = b
    loglik[owner, which] = now = admitted(state, reached(state, -math.inf), owner, options)
    went_on = np.bincount(owner, minlength=p.size)
    best, short = np.full(p.size, -math.inf), np.repeat((went_on > 0)[:, None], loglik.shape[1], axis=1)
    np.maximum.at(best, owner, now)
    short[owner, which] = ~np.isfinite(reached(state, best[owner]))
    ahead[owner, which] = bound_for(state)
    return went_on, short


def finished(p, K, model, options, points, at) -> Result:
    """Climb from the points at places (D, most), and choose."""
    D, d = p.size, p.rows.columns
    owner, which = np.nonzero(at >= 0)
    R = points.means.shape[0] // max(D, 1)
    ends = taken(points, owner * R + at[owner, which])
    free = options.free(model, K, d)  # what a step of Newton's method costs, in those of EM
    left = np.clip(free**2 // (2 * K * d * (d + 4)), LONG, 300) if exact(free) else FURTHER
    state = climbs(p, owner, options.model(model), ends, options, int(left), int(options.ends), enough=ENOUGH)
    return choose(p, K, d, options, owner, ends, state)


def choose(p, K, d, options, owner, ends, state) -> Result:
    """The best admissible certified optimum of each data set, or the best of what there is."""
    D = p.size
    status = state["status"].copy()
    keeps = bounded(state, options) if options.ends else np.isfinite(state["loglik"])
    if K > 1:  # Newton's method may have left a component with too few observations
        keeps &= np.exp(ends.log_weights.min(axis=1)) * p.rows.mass[owner] > p.rows.least[owner] * (1.0 - 1e-12)
    status[(status == Status.OK) & ~keeps] = Status.INADMISSIBLE
    grade = np.select([status == Status.OK, status == Status.INADMISSIBLE, status == Status.COLLAPSED], [3, 1, 0], 2)
    grade[~keeps & (grade == 2)] = 1
    grade[~np.isfinite(state["loglik"])] = 0
    best, top, most = np.full(D, owner.size), np.full(D, -math.inf), np.full(D, -1)
    np.maximum.at(most, owner, grade)
    leads = grade == most[owner]
    np.maximum.at(top, owner[leads], state["loglik"][leads])
    leads &= ~(state["loglik"] < top[owner] - 1e-3 * SAME)
    np.minimum.at(best, owner[leads], np.flatnonzero(leads))  # of those as good the first
    best[best == owner.size] = -1
    numbers = {name: np.full(D, np.nan) for name in NUMBERS}
    counts = {name: np.zeros(D, np.int64) for name in COUNTS}
    r = Result(points=new_points(D, K, d), status=np.full(D, Status.COLLAPSED, np.int64), **numbers, **counts)
    np.add.at(r.n_climbed, owner, 1)
    np.add.at(r.n_singular, owner, grade == 0)
    has = np.nonzero((best >= 0) & (np.append(grade, 0)[best] > 0))[0]
    i = best[has]
    for mine, theirs in zip(r.points, ends, strict=True):
        mine[has] = theirs[i]
    for name in ("loglik", "decrement", "min_eig", "condition"):
        getattr(r, name)[has] = state[name][i]
    r.status[has], r.n_iter[has] = status[i], state["passes"][i]
    if owner.size:
        top = np.where(np.isfinite(r.loglik), r.loglik, math.inf)[owner]
        fine = (grade == 3) & np.isfinite(top)
        close = fine & (np.abs(state["loglik"] - top) <= SAME)
        np.add.at(r.hits, owner, close)
        second = np.full(D, -math.inf)
        other = fine & (state["loglik"] < top - SAME)
        np.maximum.at(second, owner[other], state["loglik"][other])
        r.runner_up[:] = np.where(np.isfinite(second), second, np.nan)
    r.points.log_weights[~np.isfinite(r.loglik)] = np.nan
    return r


def _grade(r):
    """How good statuses are: certified and admissible, certified or not, no fit."""
    return np.select([r.status == Status.OK, r.status == Status.INADMISSIBLE, ~np.isfinite(r.loglik)], [3, 1, 0], 2)


def merged(r, again, counted=True):
    """Change fits to those of another search where these are better; returns where. Climbs are `counted` or not."""
    mine, theirs = _grade(r), _grade(again)
    with np.errstate(invalid="ignore"):
        higher = again.loglik > r.loglik + SAME
        level = np.abs(again.loglik - r.loglik) <= SAME
    better = (theirs > mine) | ((theirs == mine) & (theirs > 0) & higher)
    beaten = np.where(better, np.where(mine == 3, r.loglik, np.nan), np.where(level | (theirs < 3), np.nan, again.loglik))
    r.runner_up[:] = np.fmax(np.fmax(r.runner_up, again.runner_up), beaten)
    if counted:
        r.hits[level & ~better] += again.hits[level & ~better]
    else:
        r.n_climbed[better] += 1
    for name in ("n_climbed", "n_singular", "n_starts") if counted else ("n_singular", "n_starts"):
        getattr(r, name)[:] += getattr(again, name)
    for name in ("loglik", "decrement", "min_eig", "condition", "status", "n_iter", "hits"):
        getattr(r, name)[better] = getattr(again, name)[better]
    for a, b in zip(r.points, again.points, strict=True):
        a[better] = b[better]
    with np.errstate(invalid="ignore"):
        r.runner_up[r.runner_up >= r.loglik - SAME] = np.nan
    return better


def above(p, r, K, model, options, inner):
    """Climb from fits `inner` of a model within, where they are likelier than `r`, which is changed.

    Where that climb leaves what is admissible, `r` is its end: no certified fit is less likely than one of a model within.
    """
    with np.errstate(invalid="ignore"):
        below = (inner.status == Status.OK) & ~(r.loglik >= inner.loglik - 1e-9 * np.abs(inner.loglik))
    if below.any():
        again, status = finished(p, K, model, options, inner.points, np.where(below, 0, -1)[:, None]), r.status.copy()
        r.status[below & (again.loglik >= inner.loglik)] = Status.INADMISSIBLE
        left = ~merged(r, again, counted=False)
        r.status[left] = status[left]


def insertions(p, wanted, slots, points, model, options, turn=0):
    """Of data sets `wanted` the component in each of the slots replaced where that gains most.

    Points (wanted.size * slots * KEPT, K, ...), and their log-likelihoods (wanted.size, slots * KEPT).
    """
    K, d = points.means.shape[1], p.rows.columns
    owner, slot = np.repeat(wanted, slots.size), np.tile(slots, wanted.size)
    given = taken(points, np.repeat(np.arange(wanted.size), slots.size))
    found, gains = new_points(owner.size * KEPT, K, d), np.full(owner.size * KEPT, -math.inf)
    key = Key(stream_word(Purpose.MIXTURE_START, (1 << 18) + min(K, 255) + 256 * turn), *options.key)
    args = [p.ids, owner, slot, options.model(model), given, key, found, gains]
    launched(p, INSERTION, args, owner.size, options, Space.of(p, K), (6, 7), cost=2e3 * p.rows.w.size / max(p.size, 1))
    if options.weights is not None:
        found.log_weights[:] = np.log(options.weights)
    found.log_weights[~np.isfinite(gains)] = np.nan
    return found, gains.reshape(wanted.size, slots.size * KEPT)


def exchange(p, r, wanted, model: Covariance, options, turn=0):
    """Take each component out of the fits of data sets `wanted`, put one in where it gains most, and climb from the best.

    `r` is changed where that finds a better fit; returns for which of the wanted ones.
    """
    K, d = r.points.means.shape[1], p.rows.columns
    found, promised = insertions(p, wanted, np.arange(K), taken(r.points, wanted), model, options, turn)
    if K > 2:  # from many places rather than many from one
        each = np.sort(promised.reshape(wanted.size, K, KEPT), axis=2)[:, :, [KEPT // 2]]
        promised[promised < np.repeat(each, KEPT, axis=2).reshape(promised.shape)] = -math.inf
    few = best_few(
        promised, np.where((K > 2) | (effort(K, p.rows.mass[wanted], model.free(K, d)) > 1), PROMISING, PROMISING // 2)
    )
    found = taken(found, (np.arange(wanted.size)[:, None] * K * KEPT + np.maximum(few, 0)).ravel())
    found.log_weights[few.ravel() < 0] = np.nan
    each = few.shape[1]
    p.rows.least[:] = options.count(model, d)
    state = climbs(p, np.repeat(wanted, each), options.model(model), found, options, REFINED, 0, enough=ENOUGH)
    goal = np.where(_grade(r) == 3, r.loglik + SAME, -math.inf)[wanted]
    owner = np.repeat(wanted, each)
    loglik = admitted(state, reached(state, np.repeat(goal, each)), owner, options).reshape(wanted.size, each)
    at = np.full((p.size, FEW), -1)
    at[wanted] = best_few(loglik, FEW)
    if not (at >= 0).any():
        r.n_starts[wanted] += each
        return np.zeros(wanted.size, bool)
    every = new_points(p.size * each, K, d)
    rows = (wanted[:, None] * each + np.arange(each)).ravel()
    for a, b in zip(every, found, strict=True):
        a[rows] = b
    again = finished(p, K, model, options, every, at)
    again.n_starts[wanted] += each
    again.hits[:] = np.minimum(again.hits, 1)  # these began at the best fit: that they end there again says nothing
    return merged(r, again, counted=False)[wanted]


def fit_k(p, K, model: Covariance, options, given=None, exchanges=EXCHANGES, drawn=True) -> Result:
    """The best fit with K components by a model that all searches find.

    Data sets of few observations, whose likelihoods have many optima, are searched again, by other draws, until a search or two
    end at the best optimum of those before.
    """
    r = _searched(p, K, model, options, given, exchanges, drawn)
    if K < 2 or options.starts != "portfolio" or not drawn or options.n_init is not None:
        return r
    most, size = 6 if model.free(K, p.rows.columns) <= 100 else 3, np.maximum(p.rows.mass, 1.0)
    times = np.clip(SEARCHED[options.alone] // size, 1, most).astype(np.int64)
    times[(size > FEW_ROWS) & (K == 2) & ~((r.min_eig < OVERLAP) & (model.shape != FULL))] = 1
    again, left = np.isfinite(r.loglik), np.full(p.size, AGREEING[options.alone])
    for turn in range(1, int(times.max(initial=1))):
        again = again & (turn < times)
        if not again.any():
            break
        low, high = options.key
        other = dataclasses.replace(options, key=(np.uint32((int(low) + 0x9E3779B9 * turn) % (1 << 32)), high))
        found = _searched(p, K, model, other, None, exchanges, drawn, again)
        with np.errstate(invalid="ignore"):
            left[again & (np.abs(found.loglik - r.loglik) <= SAME)] -= 1
        again &= left > 0
        merged(r, found)
    return r


def _searched(p, K, model, options, given, exchanges, drawn, only=None):
    """A search, and exchanges of components until these fail."""
    r = search(p, K, model, options, given, drawn, only)
    if K > 1 and options.starts == "portfolio" and options.means is None and options.heavy is None:
        small = effort(K, p.rows.mass, model.free(K, p.rows.columns))
        wanted = np.flatnonzero(np.isfinite(r.loglik) & ((K > 2) | (r.hits < r.n_climbed) | (small > 1)))
        left = 1 + (np.where(small > 1, FAILING * small, K > 2) if options.ends else 0 * small)
        for turn in range(exchanges):
            wanted = wanted[left[wanted] > 0]
            if not wanted.size:
                break
            left[wanted[~exchange(p, r, wanted, model, options, turn)]] -= 1
    if drawn and options.weights is not None and options.means is None and np.ptp(options.weights) > 0.0:
        while swapped(p, r, model, options).any():
            pass
    return r


def swapped(p, r, model, options):
    """Climb from the fits with two of the fixed weights exchanged; `r` is changed where that is better; returns where."""
    K = options.weights.size
    pairs = [(i, j) for i, j in itertools.combinations(range(K), 2) if options.weights[i] != options.weights[j]]
    order = np.repeat(np.arange(K)[None], len(pairs), axis=0)
    for one, (i, j) in zip(order, pairs, strict=True):
        one[[i, j]] = j, i
    every = taken(r.points, np.repeat(np.arange(p.size), len(pairs)))
    at = np.arange(len(every.means))[:, None], np.tile(order, (p.size, 1))
    for values in (every.means, every.covariances):
        values[:] = values[at]
    each = np.where(np.isfinite(r.loglik)[:, None], np.arange(len(pairs)), -1)
    again = finished(p, K, model, options, every, each)
    again.hits[:] = np.minimum(again.hits, 1)
    return merged(r, again, counted=False)
