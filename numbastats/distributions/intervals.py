"""Fits to intervals of families whose location or scale is at a value of exact data: an end of the support, or a corner.

Which value that is the intervals do not tell. The likelihood has corners where the place meets their ends, and is searched over
places, beside the climb of what else is free. For log-concave densities, and that of Pareto, whose logarithms have one, the most
at a given place rises up to the best and falls from there, as masses of intervals are log-concave in their ends and the place
(A. Prekopa, "On logarithmic concave measures and functions", Acta Scientiarum Mathematicarum 34 (1973) 335-343). Where no place
between the ends is better, it is the least lower end, or the largest upper end. No simplex search of an own likelihood in
`tests/distributions/test_intervals.py` ends more than 1e-8 above.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.status import Status
from numbastats.distributions.kernels import fits as k
from numbastats.distributions.limits import gathered

__all__ = ["at_places"]

_TRIED, _NARROWINGS = 7, 21  # places at a time, and how often: each time the range is a quarter as long
_MOST_ROUNDS, _GAIN = 12, 1e-12  # of searches for two places, and what one has to add for each value
_BEYOND = 8.0  # how far the search goes beyond all known ends, in ranges of these


def _ranges(s, of, used, count):
    """Of the least, a middle and the largest value: from where to where each is, which ends are open, and where it is first."""

    def most(values, where):
        found = np.full(count, -math.inf)
        np.maximum.at(found, of[where], values[where])
        return found

    lo, hi = used & np.isfinite(s.x), used & np.isfinite(s.hi)
    first, last = np.minimum(-most(-s.x, lo), -most(-s.hi, hi)), np.maximum(most(s.hi, hi), most(s.x, lo))
    below, above = (np.bincount(of, used & np.isinf(end), count) > 0.0 for end in (s.x, s.hi))
    low, high = first - _BEYOND * (last - first) * below, last + _BEYOND * (last - first) * above
    between = (low, low, most(s.x, used)), (-most(-s.hi, used), high, high), ((below, None), (below, above), (None, above))
    return between, [first, 0.5 * first + 0.5 * last, last]


def at_places(plan, s, share, fitted):
    """Parameters, information, numbers and status of series of intervals.

    ``fitted(plan, s)`` fits series by a plan in which location and scale of the standard form are known.
    """
    s = gathered(s)._replace(length=None)
    known, rule, count = plan.values[-4:-2], plan.cls._likelihood.rule, s.off.size - 1
    moves, stretches = ("loc" in plan.settled), ("scale" in plan.settled)
    values = plan.values.copy()
    values[-4:-2] = 0.0, 1.0 if stretches else known[1]
    inner = plan._replace(values=values, least=plan.least or max(2, plan.free + 1))
    of, sizes = np.repeat(np.arange(count), np.diff(s.off)), np.diff(s.off)
    w = np.ones(s.x.size) if s.w is None else s.w
    zero = share & (s.x == 0.0) & (s.hi == 0.0)
    s = s._replace(x=np.where(zero, math.nan, s.x))
    used = ~np.isnan(s.x) & ~np.isnan(s.hi) & (w > 0.0) & ~((s.x == -math.inf) & (s.hi == math.inf))
    mass, zeros, exact = (np.bincount(of, np.where(part, w, 0.0), count) for part in (used, zero, used & (s.x == s.hi)))

    def placed(places):
        """Fits with these places, arrays of shape (n, series): parameters, information, numbers and status, location and unit."""
        places = np.broadcast_arrays(*places)
        loc, unit = (np.broadcast_to(v, places[0].shape) for v in rule(known[0], *places))
        loc, unit = loc if moves else np.full(loc.shape, known[0]), unit if stretches else np.ones(unit.shape)
        unit = np.where(unit > 0.0, unit, math.nan)
        x, hi = (((v - loc[:, of]) / unit[:, of]).reshape(-1) for v in (s.x, s.hi))
        off = np.concatenate([[0], np.cumsum(np.tile(sizes, len(loc)))])
        found = fitted(
            inner, s._replace(x=x, hi=hi, w=None if s.w is None else np.tile(s.w, len(loc)), off=off, shape=(off.size - 1,))
        )
        found[2][:, k.LOGLIK] -= (exact * np.log(unit)).reshape(-1)
        return found, loc[0], unit[0]

    def heights(places):
        found = placed(places)[0][2][:, k.LOGLIK].reshape(-1, count)
        return np.where(np.isnan(found), -math.inf, found)

    with np.errstate(all="ignore"):
        (low, high, beyond), places = _ranges(s, of, used, count)
        plain = np.nan_to_num(rule(known[0], 0.0, 0.0, 0.0))
        matter = [j for j in range(3) if (np.nan_to_num(rule(known[0], *np.eye(3)[j])) != plain).any()]
        best, before, rounds = heights([v[None] for v in places])[0], np.full(count, -math.inf), 0
        while rounds < _MOST_ROUNDS and (rounds == 0 or (best > before + _GAIN * mass).any()):
            before, rounds = best, rounds + 1 if len(matter) > 1 else _MOST_ROUNDS
            for j in matter:
                a, b = low[j], high[j]
                for _ in range(_NARROWINGS):
                    step = (b - a) / (_TRIED + 1.0)
                    tried = a + step * np.arange(1.0, _TRIED + 1.0)[:, None]
                    value = heights([*places[:j], tried, *places[j + 1 :]])
                    at = np.take_along_axis(tried, value.argmax(axis=0)[None], 0)[0]
                    better = value.max(axis=0) > best + _GAIN * mass
                    best, places[j] = np.where(better, value.max(axis=0), best), np.where(better, at, places[j])
                    a, b = np.maximum(at - step, low[j]), np.minimum(at + step, high[j])
        (params, info, numbers, status), loc, unit = placed([v[None] for v in places])
        for j in matter:  # the search has ended beyond all known ends
            for is_open, end in zip(beyond[j], (low[j], high[j]), strict=True):
                if is_open is not None:
                    near = np.abs(places[j] - end) < 1e-6 * (high[j] - low[j])
                    status[(status == Status.OK) & is_open & near] = Status.BOUND
    status[(status == Status.NONE_LEFT) & (mass > 0.0)] = Status.OUTSIDE  # as no unit is
    numbers[:, k.MASS], numbers[:, k.ZEROS] = mass, zeros / (zeros + mass)
    for name, value in (("loc", loc), ("scale", unit * (1.0 if stretches else math.nan))):
        j = plan.names.index(name)
        params[:, j] = np.where(np.isnan(value) | np.isnan(params[:, j]), params[:, j], value)
        if name in plan.settled:
            info[:, j, j] = math.nan
    return params, info, numbers, status
