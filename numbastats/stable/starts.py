"""Where climbs of the likelihood begin, and places of the mode to compare for small alpha."""

from __future__ import annotations

import math

import numpy as np

from numbastats.scalar.stable import tan_half_pi
from numbastats.stable.functions import ppf
from numbastats.stable.likelihood import inward
from numbastats.stable.simple_estimators import half_sample_mode, simple_estimate

_OUTSIDE = 10.0  # half interquartile ranges from the median; the mode of a density with one mode is within 4
NEIGHBOURS = np.arange(-24, 25)  # places of the mode to compare around a likely one


def starting_points(x, w, known, given, form):
    """Points to climb from: a start by the user, else simple estimators, each when its turn comes."""
    if given is not None:
        yield np.array(given, np.float64)
        return
    for name in ("ecf", "small"):
        p = simple_estimate(name, x, w, known, form)
        if name == "small" and "alpha" not in known and p[0] > 0.8:
            continue
        p[:2] = min(p[0], 1.9), min(max(p[1], -0.9), 0.9)  # on the boundary a score may vanish
        yield p


def within_reach(likelihood, p, free, bounds):
    """The start, or one with another scale and loc where a Cauchy distribution makes the data far likelier."""
    x, p = likelihood.x, p.copy()
    total = likelihood(p)
    if total >= likelihood.total(-math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, x))) - 3.0 * x.size:
        return p
    if 1 in free and not math.isfinite(total):
        p[1] = inward((p[0], min(max(p[1], -0.9), 0.9), *p[2:]), bounds)[1]
    if 2 not in free and 3 not in free:
        return p
    ends = np.array([x.min(), 0.0, x.max()])
    at = ppf([0.5 / x.size, 0.5, 1.0 - 0.5 / x.size], p[0], p[1], workers=1)
    scales = [p[3], *np.geomspace(0.1, 100.0 * min(1.0 + abs(x).max(), 1e300), 40)] if 3 in free else [p[3]]
    with np.errstate(over="ignore", invalid="ignore"):
        dists = [np.array([*p[:2], m, s]) for s in scales for m in ([p[2], *(ends - s * at)] if 2 in free else [p[2]])]
        totals = [likelihood(q) if np.isfinite(q).all() else -math.inf for q in dists]
    return dists[int(np.argmax(np.nan_to_num(totals, nan=-math.inf)))]


def near_the_bulk(p, free, limits):
    """A start with a known location in S1 whose location in S0, the former + beta t scale, is near the median, which is 0."""
    a, b, loc, scale = p
    wanted, above = -loc / scale, a > 1.0
    if abs(wanted) < 3.0:
        return p
    t = 2.0 * wanted if 1 in free else wanted / b if b and (wanted * b < 0.0) == above else 0.0
    if 0 in free and t:
        size = 2.0 / math.pi * math.atan(abs(t))
        a = 2.0 - size if above else size
    a = inward((a, *p[1:]), limits)[0]
    t = tan_half_pi(a)[0]
    return inward((a, wanted / t if 1 in free and t else b, loc, scale), limits)


def near_the_mode(x, w):
    """Different values, their counts, and indices of some in the tightest clusters, around the half-sample mode, at both ends."""
    mass = np.cumsum(np.ones(x.size) if w is None else w)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        clusters = np.argsort((x[3:] - x[:-3]) / (mass[3:] - mass[:-3]))[:16]
    ends, middle = np.array([0, 1, 2, 3, 4, 5, 6, 8]), np.searchsorted(x, half_sample_mode(x, w))
    k = [*ends, *(x.size - 1 - ends), *(clusters + 1), *(clusters + 2), *(middle + NEIGHBOURS)]
    values, counts = np.unique(x, return_counts=True)
    return values, counts, np.searchsorted(values, x[np.clip(k, 0, x.size - 1)])


def places_of_the_mode(values, counts, k, between):
    """Values, or middles between values; middles beside ties, where the likelihood has no bound as alpha tends to 0."""
    single = (counts[k] == 1) & (not between)
    gaps = np.unique(np.clip([k[~single] - 1, k[~single]], 0, values.size - 2))
    return np.concatenate([values[k[single]], 0.5 * values[gaps] + 0.5 * values[gaps + 1]])


def apart(places, width, done):
    """Those of some places, in order, that are no closer to each other or to those done, nor out where no mode can be."""
    kept, done, width = [], np.array([*done, math.inf]), max(width, 1e-300)  # none twice
    for place in np.unique(places).tolist():
        if abs(place) < _OUTSIDE and (not kept or place - kept[-1] >= width) and abs(done - place).min() >= width:
            kept.append(place)
    return kept
