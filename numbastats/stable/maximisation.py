"""Searches for the largest likelihood: from several starts, on both sides of alpha = 1, at the places of a narrow peak."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from numbastats.stable.kernels.fits import CLOSE, MOST_VALUES
from numbastats.stable.likelihood import climb, inward
from numbastats.stable.parameterisations import CUSP, CUSP_TELLS, HIGHEST, LOWEST, NEAR_1, STUCK, Form, converted, cusp_scale
from numbastats.stable.simple_estimators import by_moments_about, weighted_mean
from numbastats.stable.starts import (
    NEIGHBOURS,
    apart,
    near_the_bulk,
    near_the_mode,
    places_of_the_mode,
    starting_points,
    within_reach,
)

_MANY = 15  # values within the width of a peak
_DEGENERATE = 30.0  # more than what few points gain as alpha falls to its limit


class Found(NamedTuple):
    """Where a search ended."""

    p: np.ndarray  # alpha, beta, loc, scale
    total: float  # the log-likelihood
    iterations: int
    gain: float  # what a step without damping would still gain
    begin: np.ndarray  # the start


def maximise(likelihood, y, w, inner, start, free, limits, callback):
    """The best of the climbs from all starts, kept below alpha = 2, where the score ends."""
    best, spiky, ((low, high), skew) = None, [], limits
    limits = (low, max(low, min(high, HIGHEST))) if 0 in free else (low, high), skew
    starts = starting_points(y, w, inner, start, likelihood.form)
    if likelihood.form is Form.S1:
        return _beside_1(likelihood, list(starts), free, limits, callback)
    skewed = []
    for begin in itertools.chain(starts, skewed):
        begin = inward(begin, limits)
        if best is not None and likelihood(begin) < best[1] - 0.02 * y.size and abs(begin[0] - best[0][0]) < 0.2:
            continue  # another start of the same kind, and a worse one
        begin = within_reach(likelihood, begin, free, limits)
        if begin[0] < STUCK and 2 in free:
            spiky.append(begin)
            continue
        found = *climb(likelihood, begin, free, limits, callback), begin
        if found[3] >= 1e-3 and found[0][0] < 0.9 and 2 in free:  # stuck at a cusp
            spiky.append(found[0])
        if best is None or found[1] > best[1] + 1e-9:
            best = found
        if best[0][0] >= HIGHEST and start is None and not skewed:  # perhaps beside a maximum with one heavy tail
            skewed += [np.array([1.9, sign * 0.9, *best[0][2:]]) for sign in (-1.0, 1.0)]
        elif CUSP < best[0][0] < HIGHEST and best[3] < 1e-6:
            return best  # regular: one maximum
    if spiky:
        found = best_of_spikes(likelihood, spiky, free, limits, callback)
        if found[0][0] > 0.9:  # perhaps held at 0.999, where the form PEAK ends
            p, total, steps, gain = climb(likelihood, found[0], free, limits, callback)
            found = p, total, found[2] + steps, gain, found[4]
        if best is None or found[1] > best[1] + 1e-9:
            best = found
        else:
            likelihood.between = False
    near = 1.0 - abs(best[0][1]) < 2.0 / math.sqrt(y.size)  # by what beta errs
    if near and CUSP_TELLS < best[0][0] < CUSP and 1 in free and start is None and not likelihood.between:
        return _beside_the_edge(likelihood, best, free, limits, callback)
    return best


def _beside_the_edge(likelihood, best, free, limits, callback):
    """The better of what was found and the end of a climb from the other side: maxima may be at an end of beta and next to it."""
    p, total, iterations, gain, begin = best
    likelihood.form, q = Form.PEAK, converted(p, Form.PEAK)
    q[1] = math.copysign(0.95 if abs(q[1]) > 0.999 else 0.999, q[1])
    other, higher, steps, left = climb(likelihood, inward(q, limits), free, limits, callback)
    likelihood.form = Form.S0
    if higher > total + 1e-9:
        p, total, gain = converted(other, Form.S0, Form.PEAK), higher, left
    return p, total, iterations + steps, gain, begin


def by_the_likelihood(likelihood, found, problem):
    """What a search by shared tables found, with its likelihood; after a climb or a search by it where they are not close."""
    likelihood.exact = True
    total = likelihood(found.p)
    if likelihood.x.size <= MOST_VALUES and abs(total - found.total) < CLOSE:
        return found._replace(total=total)
    p, total, steps, gain = climb(likelihood, found.p, problem.free, problem.limits, None)
    return Found(p, total, found.iterations + steps, min(gain, found.gain), found.begin)


def _beside_1(likelihood, starts, free, limits, callback):
    """The best of the climbs from all starts with a known location in S1, which is infinite at alpha = 1."""
    best, iterations, ((low, high), skew) = None, 0, limits
    for side in ((low, min(high, 1.0 - NEAR_1)), (max(low, 1.0 + NEAR_1), high)):
        if 0 in free and side[0] > side[1]:
            continue
        within = (side if 0 in free else limits[0]), skew
        for begin in starts:
            begin = inward(begin, within)
            both = begin, near_the_bulk(begin, free, within)  # next to 1 the former's density may be 0, where a climb stands
            begin = max(both, key=lambda q: np.nan_to_num(likelihood(q), nan=-math.inf))
            begin = within_reach(likelihood, begin, free, within)
            p, total, steps, gain = climb(likelihood, begin, free, within, callback)
            iterations += steps
            if best is None or not total <= best[1]:
                best = p, total, gain, begin
        if 0 not in free:
            break
    p, total, gain, begin = best
    return p, total, iterations, gain, begin


def best_of_spikes(likelihood, starts, free, limits, callback):
    """The best of climbs for alpha < 1, where the likelihood has a local maximum in loc with the mode next to every observation.

    For few points and small alpha it has no maximum there: it rises until alpha is at its lower limit. Then the best with the
    mode held between observations is taken, unless it is much less likely.
    """
    limits = (limits[0][0], min(limits[0][1], 0.999)), limits[1]
    near, scale = near_the_mode(likelihood.x, likelihood.w), None if 3 in free else starts[0][3]
    found = _best_place(likelihood, starts, near, Form.PEAK, scale, free, limits, callback)
    lowest = min(limits[0][0], LOWEST)
    inside = lambda p: 0 not in free or p[0] > lowest + 1e-6  # noqa: E731
    if found[3] < 1e-3 and inside(found[0]):
        return found
    other = _best_place(likelihood, starts, near, Form.S1, scale, free, limits, callback)
    likelihood.between = other[3] < 1e-3 and inside(other[0]) and other[1] > found[1] - _DEGENERATE
    return other if likelihood.between else found


def _crowded(x, p):
    """Whether the peak of a distribution holds so many values that the likelihood is smooth in its place."""
    return np.count_nonzero(abs(x - p[2]) < p[3] * cusp_scale(p[0], p[1])) >= _MANY


def _crowds(x, width):
    """Whether so many values lie together somewhere, within this distance of one place."""
    return x.size >= _MANY and (x[_MANY - 1 :] - x[: x.size - _MANY + 1]).min() < 2.0 * width


def _compared(likelihood, dists, near, scale, limits):
    """Distributions, with those that have the moments about some places, their log-likelihoods, and the indices of the places.

    For narrow peaks the neighbours of the likeliest place are compared too.
    """
    totals = likelihood.totals(dists)
    values, counts, k = near
    done, every, likeliest = [], k, dists
    for _ in range(4):
        places = places_of_the_mode(values, counts, k, likelihood.form is Form.S1)
        width = min(s * cusp_scale(a, 0.0) for a, _, _, s in likeliest)
        places = apart(places, 0.5 * width if _crowds(likelihood.x, width) else 0.0, done)
        if not places:
            break
        done += places
        dists = np.vstack([dists, by_moments_about(places, likelihood.x, likelihood.w, limits, scale)])
        totals += likelihood.totals(dists[len(totals) :])
        best = dists[int(np.argmax(totals))]
        if best[0] > CUSP_TELLS or _crowded(likelihood.x, best):
            break
        k, likeliest = np.clip(np.searchsorted(values, best[2]) + NEIGHBOURS, 0, values.size - 1), [best]
        every = np.union1d(every, k)
    return dists, totals, every


def _best_place(likelihood, starts, near, form, scale, free, limits, callback):
    """The best climb with loc, in a parameterisation that keeps it next to the mode, at one of some places.

    The three likeliest compared climb with loc held, which is smooth, the best of them with all parameters; with all at once
    where the likelihood is smooth in loc, too. Where the moments are not free, the places are compared again under the
    distribution found.
    """
    likelihood.form = form
    dists, totals, k = _compared(likelihood, [converted(inward(p, limits), form) for p in starts], near, scale, limits)
    first, iterations, held = int(np.argmax(totals)), 0, [i for i in free if i != 2]
    smooth = form is Form.PEAK and len(free) == 4 and _crowded(likelihood.x, dists[first])
    best = (dists[first], totals[first], dists[first], math.inf) if smooth else None
    for count in () if smooth else (3, 1, 1, 1, 1):
        before = best
        for j in np.argsort([-total for total in totals], kind="stable")[:count]:
            p, total, steps, gain = climb(likelihood, dists[j], held, limits, callback)
            iterations += steps
            if best is None or total > best[1]:
                best = p, total, dists[j], gain
        a, b, _, s = best[0]
        if best is before or len(free) == 4 and limits[0][0] + 1e-6 < a < limits[0][1] - 1e-6:
            break
        dists = [np.array([a, b, place, s]) for place in places_of_the_mode(*near[:2], k, form is Form.S1)]
        totals = likelihood.totals(dists)
    p, total, begin, gain = best
    if form is Form.PEAK:
        p, total, steps, last = climb(likelihood, p, free, limits, callback)
        iterations, gain = iterations + steps, min(gain, last)  # steps in loc may be too short to be seen
    likelihood.form = Form.S0
    return converted(p, Form.S0, form), total, iterations, gain, converted(begin, Form.S0, form)


def gaussian_end(likelihood, p, best, y, w, inner):
    """Whether the Gaussian is as likely as what was found."""
    mean = inner.get("loc", float(weighted_mean(y, w)))
    scale = inner.get("scale", math.sqrt(0.5 * float(weighted_mean((y - mean) ** 2, w))))
    q = np.array([2.0, inner.get("beta", 0.0), mean, scale])
    total = likelihood(q)
    return (q, total) if total >= best - 1e-7 else (p, best)
