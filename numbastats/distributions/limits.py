"""Fits beside those of the families within: a floor, starts of climbs, and limits that a likelihood rises towards.

A kernel finds a maximum inside of the parameters, or ends without one. What a family contains (`contains.py`) is fitted to the
same data here. Where that is likelier, the family's fit climbs again from there. What is then not above a distribution at the end
of the parameters is at this limit.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbastats._core.information import standard_errors
from numbastats._core.launch import launch
from numbastats._core.status import FITTED, Status, among
from numbastats.distributions.catalogue import CLASSES, distribution_of
from numbastats.distributions.composition import truncate
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels import fits as k

__all__ = ["Found", "Limits", "completed", "ended", "finish", "gathered", "limit_distribution", "subset", "width_of"]

_FITTED = among(*FITTED, Status.POLE)
_RISING, _OPEN = among(Status.NO_CONVERGENCE, Status.BOUND, Status.LIMIT), among(Status.NO_CONVERGENCE, Status.BOUND)
_ABOVE = 1e-9  # of a log-likelihood, more than rounding
_CLEAR = 1e-8  # by which a maximum is above a limit
_SHORT = 1e-6  # by which a climb that ended on its way to a limit may be below or above it
_TO_POLE = -2  # less the place of what is within, on the slope of a pole
_SIZES = (10.0, 300.0)  # on the way to a limit, from which climbs begin
_FINISHING = 200.0  # nanoseconds for the covariance of a fit


class Limits(NamedTuple):
    """The limits of a batch of fits; arrays with an item for each series."""

    which: NDArray[np.int64]  # place in `_contains` of the family, -1 where the fit is at none
    params: NDArray[np.float64]  # of the limit's family, NaN where there are none
    covariance: NDArray[np.float64]
    free: NDArray[np.int64]  # parameters that were estimated

    @classmethod
    def none(cls, shape: Any, width: int) -> Limits:
        """Of a batch without limits."""
        blank = np.full((*shape, width), math.nan), np.full((*shape, width, width), math.nan)
        return cls(np.full(shape, -1), *blank, np.zeros(shape, np.int64))

    def reshaped(self, shape: Any) -> Limits:
        """The same in the shape of a batch."""
        return Limits(*(a.reshape((*shape, *a.shape[self.which.ndim :])) for a in self))

    @property
    def se(self) -> NDArray[np.float64]:
        """Standard errors of the limit's parameters."""
        return standard_errors(self.covariance)


def width_of(cls: type) -> int:
    """The largest number of parameters of what a family contains."""
    return max((len(CLASSES[special.family].names) for special in cls._contains), default=0)  # type: ignore[attr-defined]


class Found(NamedTuple):
    """What fits of many series return: arrays with an item for each, as results have them."""

    params: NDArray[np.float64]  # (n, p)
    se: NDArray[np.float64]
    covariance: NDArray[np.float64]  # (n, p, p)
    numbers: NDArray[np.float64]  # (n, k.NUMBERS)
    counts: NDArray[np.int64]  # (n, 3): evaluations, values, missing values
    status: NDArray[np.int64]
    limits: Limits | None = None  # where fits ended at limits

    @classmethod
    def empty(cls, n: int, p: int, made: Any = np.empty) -> Found:
        """Of n fits of p parameters, by a function of shapes and dtypes."""
        f, i = np.dtype(np.float64), np.dtype(np.int64)
        arrays: list[Any] = [made(shape, f) for shape in ((n, p), (n, p), (n, p, p), (n, k.NUMBERS))]
        arrays += [made((n, 3), i), made((n,), i)]
        return cls(*arrays)

    def rows(self, lo: int, hi: int) -> Found:
        """Views of some of the fits."""
        arrays: list[Any] = [*self[:-1]]
        return Found(*(a[lo:hi] for a in arrays))


class _Inner(NamedTuple):
    """A contained family with the plan of its fit."""

    place: int
    cls: type
    special: Contains
    plan: Any
    limit: bool


def subset(s, use, mirrored=False):
    """Some of the series, whose values stay where they are; `mirrored`, of their values with the other sign."""
    if len(use) == s.count and not mirrored:
        return s
    part = use if s.part is None else s.part[use]
    return s._replace(part=part, mirrored=s.mirrored != mirrored, shape=(len(use),), keys=None, labels=None)


def gathered(s):
    """The values of a `subset` one after another."""
    if s.part is None:
        return s
    sizes = np.diff(s.off)[s.part]
    off = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.arange(off[-1]) + np.repeat(s.off[:-1][s.part] - off[:-1], sizes)
    x, w, hi = (None if a is None else a[at] for a in (s.x, s.w, s.hi))
    if s.mirrored:
        x, hi = (-x, None) if hi is None else (-hi, -x)
    return s._replace(x=x, w=w, off=off, hi=hi, part=None, mirrored=False)


def _known(plan):
    """Parameters of a class that a fit does not estimate, by name."""
    of_layout = dict(zip(plan.layout, plan.values.tolist(), strict=False))
    known = {name: of_layout[name] for name in plan.cls.names if name in of_layout}
    known |= {n: v for n, v in zip(plan.names, plan.known.tolist(), strict=True) if n not in known}
    for name in plan.cls.names:  # of equations of its own, which know no location
        known.setdefault(name, 1.0 if name == "scale" else 0.0)
    if plan.by_likelihood:  # ends of a truncation
        known |= zip((name for name in plan.cls._known if name not in plan.layout), plan.values[-2:].tolist(), strict=False)
    return {name: value for name, value in known.items() if not math.isnan(value)}


def _inner_fixed(special, inner, known, settled):
    """What the fit of a contained family fixes or frees, given what that of the family fixes; None where it is not within."""
    carried, constant = special.carried(inner.names), special.constant(inner.names)
    given = dict(special.fixed(known) if callable(special.fixed) else special.fixed)
    likelihood = inner._likelihood
    free = likelihood.free if likelihood is not None else inner._equations.names
    for name, (other, sign) in carried.items():
        if name in known:
            given[other] = sign * known[name]
        elif other not in free and other not in given:
            given[other] = None
    for name, value in known.items():
        if name not in carried and name not in settled:
            if name not in constant or not math.isclose(value, constant[name], rel_tol=1e-12):
                return None
    return given


@functools.lru_cache(maxsize=1024)
def _within(cls, known, intervals, cut, plan_of, by_likelihood):
    """The contained families of a fit; `by_likelihood`: whether the family's own is one by the likelihood."""
    found = []
    for place, special in enumerate(cls._contains):
        inner = CLASSES[special.family]
        given = _inner_fixed(special, inner, dict(known), cls._known)
        if given is not None:
            ends = tuple(dict(known)[name] for name in special.ends) or cut
            ends = (-ends[1], -ends[0]) if special.mirrored and ends else ends
            if ends and not np.isfinite(ends).any():
                ends = None
            try:
                plan = plan_of(inner, given, intervals, ends)
                if plan.by_likelihood and not by_likelihood:
                    plan = _as_own(cls, special, inner, known, plan_of) or plan
                found.append(_Inner(place, inner, special, plan, special.is_limit(inner.names)))
            except ValueError:  # these data determine no fit of it
                continue
    return tuple(found)


def _as_own(cls, special, inner, known, plan_of):
    """The plan of a special case by the equations of the containing family, which are compiled already; None where it has none.

    All parameters of the special case are parameters of the family by the same names, and the others are fixed.
    """
    alike = special.carried(inner.names) == {name: (name, 1.0) for name in inner.names}
    if not alike or special.mirrored or special.is_limit(inner.names) or inner._contains:
        return None
    plan = plan_of(cls, dict(known) | special.constant(inner.names))
    return None if plan.by_likelihood or not set(inner.names) <= set(plan.layout) else plan._replace(names=inner.names)


def _inner_params(inner, params):
    """Parameters of a contained family by name, all of its class."""
    known = {name: value for name, value in _known(inner.plan).items() if name in inner.cls.names}
    return known | dict(zip(inner.plan.names, params.T, strict=True))


def finish(info, plan, numbers, status, into, workers=None, device="cpu", stream=None):
    """Writes covariances, standard errors and counts of fits that ended, NaN where there is no maximum inside."""
    args = info, np.isnan(plan.known), numbers, status, *into
    launch(
        k.FINISH,
        args,
        len(status),
        device=device,
        workers=workers,
        cost=_FINISHING,
        outputs=(-3, -2, -1),
        threads=64,
        stream=stream,
    )


def _covariances(info, plan, numbers, status, workers):
    """Covariances of some fits, and none of the rest that `finish` makes."""
    n, p = info.shape[:2]
    cov = np.empty(info.shape)
    finish(info, plan, numbers, status, (cov, np.empty((n, p)), np.empty((n, 3), np.int64)), workers)
    return cov


def _known_or_least(loglik):
    """Log-likelihoods, -inf where a fit has none."""
    return np.where(np.isnan(loglik), -math.inf, loglik)


def completed(plan, s, share, device, workers, run, plan_of, into=None):
    """`Found` of series: the fits of the kernel beside those of what is within.

    `run` fits series by a plan: parameters, information, numbers and status, from parameters by name if these are given, into
    arrays if these are given; `plan_of` makes a plan; `into` are arrays of the result.
    """
    options = share, device, workers
    found = Found.empty(s.count, len(plan.names)) if into is None else into
    fits = run(plan, *options, s, into=found)
    for mine, other in zip((found.params, found.numbers, found.status), (fits[0], *fits[2:]), strict=True):
        if other is not mine:
            mine[...] = other
    return ended(plan, s, options, run, plan_of, fits[1], found)


def ended(plan, s, options, run, plan_of, info, found):
    """`Found` of series from the fits of the kernel, their information and what `found` has of them."""
    status, beside = found.status, {}
    certain, fine = not plan.by_likelihood and plan.cls._equations.certain, not status.any()  # OK is 0
    if plan.cls._contains and not (certain and fine):
        beside, limits = _beside(plan, s, options, run, plan_of, (found.params, info, found.numbers, status), certain)
    if not fine or beside:
        lost = status == Status.POLE
        status[(status == Status.LIMIT) & (limits.which < 0 if beside else True)] = Status.BOUND
        found.params[lost], found.numbers[lost, k.LOGLIK] = math.nan, math.nan
    finish(info, plan, found.numbers, status, (found.covariance, found.se, found.counts), options[-1])
    for inner, mine, rows, (p, i, num, st) in beside.values():
        cov = _covariances(i[rows], inner.plan, num[rows], st[rows], options[-1])
        _tell_limit(plan, inner, mine, (p[rows], cov, num[rows]), found, limits)
    return found._replace(limits=limits) if beside else found


def _beside(plan, s, options, run, plan_of, fits, certain):
    """Leads fits to what is likelier within: of each limit that some end at its `_Inner`, these, and their fits; the `Limits`."""
    params, info, numbers, status = fits
    cls, n = plan.cls, status.size
    own_ends = set(cls._known) - set(plan.layout)  # between which the distribution is truncated
    cut = tuple(plan.values[-2:]) if plan.is_cut and not own_ends else None
    known = tuple(_known(plan).items())
    inners = _within(cls, known, plan.intervals, cut, plan_of, plan.by_likelihood)
    limits, best = Limits.none((n,), width_of(cls)), np.full(n, -math.inf)
    loglik, unit = numbers[:, k.LOGLIK], numbers[:, k.TOTAL]  # of the weights
    of_limit: dict[int, Any] = {}
    fitted = _FITTED[status] & ((status != Status.OK) | (not certain))
    again = None if not inners or (not plan.by_likelihood and cls._equations.searches) else _from_start(plan, plan_of)
    held = {} if again is None or again.by_likelihood else again.cls._equations.held or {}

    def climb(use, start, least):
        """Climbs from given parameters, for series whose maximum is then above `least`; which of them ended at a pole."""
        start = held | start
        if again is None or not len(use) or not set(again.layout) <= set(start):
            return np.zeros(len(use), bool)
        new = run(again, *options, subset(s, use), {name: start[name] for name in again.layout})
        ll, old = _known_or_least(new[2][:, k.LOGLIK]), _known_or_least(loglik[use])
        open_ = (status[use] != Status.OK) & (status[use] != Status.POLE) & (again is plan) & (new[3] != Status.POLE)
        better = ((new[3] == Status.OK) | open_) & (ll > np.maximum(old, least) + _ABOVE * unit[use])
        for mine, other in zip((params, info, numbers, status), new, strict=True):
            mine[use[better]] = other[better]
        return new[3] == Status.POLE

    on_slope: dict[str, Any] = {}  # of a pole, by the family within
    for inner in inners:
        use = np.flatnonzero(fitted)
        if not use.size:
            break
        part = subset(s, use, inner.special.mirrored)
        p, i, num, st = run(inner.plan, *options, part)
        rest = np.flatnonzero(_RISING[st])
        if rest.size and inner.cls._contains:  # its own floors lead it to a maximum
            new = completed(inner.plan, subset(part, rest), *options, run, plan_of)
            new_st = new.status
            for special in inner.cls._contains:
                if not special.is_limit(CLASSES[special.family].names):
                    on_slope.setdefault(special.family, np.zeros(n, bool))[use[rest[new_st == Status.POLE]]] = True
            there = new_st == Status.OK
            rest = rest[there]
            theirs = new.params, _inverses(new.covariance, inner.plan), new.numbers, new_st
            for mine, other in zip((p, i, num, st), theirs, strict=True):
                mine[rest] = other[there]
        ll = np.where(st == Status.OK, _known_or_least(num[:, k.LOGLIK]), -math.inf)
        above = ~(loglik[use] >= ll - _ABOVE * unit[use]) & (ll > -math.inf)
        if inner.limit:
            above |= _OPEN[status[use]] & (ll > -math.inf)
        if above.any():
            by_name, mine = _inner_params(inner, p[above]), on_slope.setdefault(inner.special.family, np.zeros(n, bool))
            for t in _SIZES if inner.limit else (1.0,):
                start = {name: np.broadcast_to(v, int(above.sum())) for name, v in inner.special.at(t, by_name).items()}
                to_pole = climb(use[above], start, ll[above] - 2.0 * _ABOVE * unit[use[above]])
                mine[use[above]] |= to_pole & (not inner.limit)
        # a special case that remains above is an end, too, if the climb cannot leave it to higher ground: on the slope of a pole
        # it can
        counts = ll > best[use] + _ABOVE * unit[use]
        if not inner.limit:
            counts &= ~(loglik[use] >= ll - _CLEAR * unit[use]) & (status[use] != Status.POLE)
        place = use[counts]
        to_pole = on_slope.get(inner.special.family, np.zeros(n, bool))[place]
        best[place], limits.which[place] = ll[counts], np.where(to_pole, _TO_POLE - inner.place, inner.place)
        of_limit[inner.place] = inner, use, (p, i, num, st)
    slack = unit * np.where(status == Status.OK, _CLEAR, _SHORT)
    with np.errstate(invalid="ignore"):  # a pole without a value is one
        at_limit = (limits.which != -1) & ~(loglik > best + slack) & ~((status == Status.POLE) & np.isnan(loglik))
    to_pole = at_limit & (limits.which < -1)
    limits.which[to_pole] = _TO_POLE - limits.which[to_pole]  # of a maximum that is lower this is the limit
    to_pole &= status != Status.OK
    status[to_pole] = Status.POLE
    at_limit &= ~to_pole
    limits.which[~at_limit] = -1
    ends = {}
    for place in np.unique(limits.which[at_limit]).tolist():
        inner, use, theirs = of_limit[place]
        mine = np.flatnonzero(limits.which == place)
        ends[place] = inner, mine, np.searchsorted(use, mine), theirs
        status[mine] = Status.LIMIT
    return ends, limits


def _inverses(cov, plan):
    """Information from covariances, 0 by fixed parameters."""
    free = np.flatnonzero(np.isnan(plan.known))
    info, block = np.zeros(cov.shape), cov[:, free[:, None], free]
    known = np.isfinite(block).all(axis=(-2, -1)) & (np.linalg.slogdet(np.where(np.isfinite(block), block, 0.0))[0] != 0.0)
    info[:, free[:, None], free] = math.nan
    info[np.flatnonzero(known)[:, None, None], free[:, None], free] = np.linalg.inv(block[known])
    return info


def _tell_limit(plan, inner, mine, found, into, limits):
    """Writes the limit's fit into the arrays of a batch: parameters and covariance of both families."""
    (p, c, num), params, cov, numbers = found, into.params, into.covariance, into.numbers
    outer, of_inner = plan.names, inner.plan.names
    by_name = _inner_params(inner, p)
    at = inner.special.at(math.inf, by_name)
    for j, name in enumerate(outer):
        params[mine, j] = at.get(name, params[mine, j])
    carried = inner.special.carried(inner.cls.names)
    pairs = [
        (outer.index(name), of_inner.index(other), sign)
        for name, (other, sign) in carried.items()
        if name in outer and other in of_inner
    ]
    for a, first, sign in pairs:
        for b, second, other in pairs:
            cov[mine, a, b] = sign * other * c[:, first, second]
    into.se[mine] = standard_errors(cov[mine])
    numbers[mine, k.LOGLIK], numbers[mine, k.ZEROS] = num[:, k.LOGLIK], num[:, k.ZEROS]
    width = len(inner.cls.names)
    for j, name in enumerate(inner.cls.names):
        limits.params[mine, j] = by_name[name]
    limits.covariance[mine[:, None, None], np.arange(width)[:, None], np.arange(width)] = 0.0
    places = [inner.cls.names.index(name) for name in of_inner]
    limits.covariance[mine[:, None, None], np.array(places)[:, None], places] = c
    limits.free[mine] = inner.plan.free


def _from_start(plan, plan_of):
    """The plan of a climb from given parameters, by the likelihood where there is one."""
    if plan.by_likelihood or plan.cls._likelihood is None:
        return plan
    fixed = {name: value for name, value in _known(plan).items() if name in plan.names}
    return plan_of(plan.cls, fixed, own=False)._replace(names=plan.names)


def limit_distribution(cls, place, params, own):
    """The distribution at a limit of a class.

    From the parameters of the limit's family, an array of shape (..., p), and those of the class by name.
    """
    special = cls._contains[place]
    inner = CLASSES[special.family]
    made = distribution_of(inner, {name: params[..., j][()] for j, name in enumerate(inner.names)})
    made = -made if special.mirrored else made
    return truncate(made, *(own[name] for name in special.ends)) if special.ends else made
