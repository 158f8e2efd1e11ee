"""The likelihood of any family, from the formulas in its file, and the climb to its maximum.

A value is exact or known to lie in an interval, all may be truncated to one, and weights are repetitions:

    log L = sum w log f(x) + sum w log(F(hi) - F(lo)) - sum w log(F(b) - F(a))

A truncation of a value's own, as of lives that are seen from a later time on, is an interval of the negative weight -w.

Beside the formulas of `points` a family gives ``score(z, c)``, the derivatives of ``logpdf`` by z and by its shapes, and
``guess(attempt, mean, sd, low, middle, high)``, where a climb begins: shapes, location and scale from the moments and quartiles
of values about the location, if that is fixed. A family whose location or scale is at a value of the sample gives
``settled(loc, least, median, most)``, both of them, NaN for what is climbed; loc is NaN unless it is fixed.

A series is measured in its own unit about its own centre, so that a fit depends on neither. Gradients are sums of scores; those
of logarithms of masses by shapes are central differences of fourth order. Second derivatives are differences of the gradient:
one-sided ones for the steps, central ones for the information, and for the last steps on a ridge, whose curvature one-sided ones
do not resolve.

Where a climb begins decides where it ends. The likelihood is computed at all starts of a family, and the climbs begin from the
best of these on. Starts know nothing of fixed parameters, and a ridge leaves little room beside these: another climb begins at
the maximum with all of them free, from which the fixed ones move to their values step by step.

On the CPU three functions are compiled for each family: the gradient, the start of a climb and `settled`. The fit itself, most of
the code, is compiled once and calls them by their addresses. A GPU cannot do that: there the fit is bound to its family.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from numbastats._core import numba_internals
from numbastats._core.climb import HIGH, LOW, PAR, climber, copy, rows
from numbastats._core.endings import BOUND, CONSTANT, NO_CONVERGENCE, OK, OUTSIDE, POLE
from numbastats._core.kernel import WithFunctions, array_function, bind, build, device_function
from numbastats.distributions.kernels.fits import (
    INTERVALS,
    LOGLIK,
    MASS,
    PASSES,
    ZEROS,
    begin,
    fit_cpu,
    fitted,
    judged,
    kernel,
    mean_square,
    pack,
    quartiles,
    sizes,
    weighted_mean,
)
from numbastats.distributions.kernels.points import half_line, unit_interval
from numbastats.scalar.elementary import exp

__all__ = ["ALWAYS", "MAXIMUM", "WHERE_FIXED", "Likelihood", "settled_at_least"]

_STEP, _CENTRAL, _BY_SHAPE = 1e-7, 3e-5, 1e-3  # of differences, in units of the coordinates
_CURVED, _PRECISELY = 1e-6, 1e-8  # least curvature of a maximum for each value, by one-sided and central differences
_NARROW = 3e-5  # intervals in units of the spread that are a density times their length, to its square; tails lose digits there
_LEAST, _POSITIVE = 1e-10, 1e-100  # scales in units of the spread, below which, and over which above, there is no maximum
_CERTAIN = 1e-6  # a value's share of the log-likelihood of intervals that is its supremum 0 but for rounding
_INNER = 1e-6  # distance of a free end of the support from the least value, in units of the spread
_MORE_ROWS = 6
_MOST_PASSES, _MORE_PASSES = 70, 120  # evaluations of one climb, and of the last; on a curved ridge more of them gain little
_MOST_CLIMBS = 3  # unless all starts are climbed from
_STRIDE, _MOST_STEPS = 0.5, 32  # of fixed parameters on their way, in units of the coordinates, and their number
_FREELY, _ON_PATH, _FROM_STARTS, _TO_THE_END, _ENDED = range(5)  # the climbs of a fit
# whether the best of all starts is taken: never, where the scale is fixed, always if it is a maximum or a limit, or always
FIRST, WHERE_FIXED, MAXIMUM, ALWAYS = 0, 1, 2, 3
_MOST_SHAPES = 2
_FLAGS = ("contract", "reassoc")

_function = array_function(fastmath=_FLAGS, host=False)

# bound to the formulas of a family
_logpdf = _score = _support = _logcdf = _logsf = _guess = _settled = _first = _second = _constants = _log_mass = None
_LOGS: tuple[bool, ...] = ()
_SHAPES = 0
_gradient = _start = None
_call_gradient = _call_start = _call_settled = None
_rules: Any = None
# bound to how these are called, and to the size of the work space
_climb = _gradient_of = _start_of = _settled_of = None
_EXTRA = 0


class Rules(NamedTuple):
    """What the fit knows of a family beside its functions."""

    shapes: int
    below: tuple[float, ...]  # between which shapes are
    above: tuple[float, ...]
    logs: tuple[bool, ...]  # of shapes, location and scale, whether they are positive
    begins: float  # the support of the standard form, as far as it depends on no shape
    ends: float
    closed: bool  # whether the density at the ends of the support is finite for all shapes
    kink: float = math.nan  # information of one value on a settled location, in units of the scale; NaN if it is an end
    starts: int = 1  # of which the first that leads to a maximum is taken
    every: int = FIRST  # or all
    pole: int = -1  # the parameter, of shapes and location, beyond whose bounds the likelihood grows without one


# --- scalar parts ------------------------------------------------------------------------------------------------


@device_function
def nothing_settled(loc, least, median, most):
    return math.nan, math.nan


@device_function
def settled_at_least(loc, least, median, most):
    """`settled` of families whose support begins at loc, with a finite density there."""
    return (loc if loc == loc else least), math.nan


# --- of a family: sums over a sample -----------------------------------------------------------------------------
# a sample: exact values and their weights; ends of intervals and their weights; the truncation; sum of all weights, negative ones
# too, least and largest exact value


@_function
def _exact(x, w, loc, scale, c):
    """Sums of w times the log density, its derivative by z, z times that, and the derivatives by the shapes."""
    total, by_z, z_by_z, by_a, by_b, over = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0 / scale
    for j in range(x.size):
        z = (x[j] - loc) * over
        s = _score(z, c)
        total += w[j] * _logpdf(z, c)
        by_z += w[j] * s[0]
        z_by_z += w[j] * (z * s[0])
        by_a += w[j] * _first(s)
        by_b += w[j] * _second(s)
    return total, by_z, z_by_z, by_a, by_b


@_function
def _masses(lo, hi, v, cut, mass, p, c):
    """Sum of the logarithms of masses: of the intervals, less that of the truncation for every value."""
    loc, scale = p[_SHAPES], p[_SHAPES + 1]
    total = 0.0
    for j in range(lo.size):
        total += v[j] * _log_mass((lo[j] - loc) / scale, (hi[j] - loc) / scale, c)
    if cut[0] > -math.inf or cut[1] < math.inf:
        total -= mass * _log_mass((cut[0] - loc) / scale, (cut[1] - loc) / scale, c)
    return total


@_function
def _by_ends(lo, hi, c):
    """Derivatives of the log mass of an interval by a shift of both ends, and by the logarithm of both."""
    low, high = _support(c)
    logs = _log_mass(lo, hi, c)
    at_lo = exp(_logpdf(lo, c) - logs) if lo > low else 0.0
    at_hi = exp(_logpdf(hi, c) - logs) if hi < high else 0.0
    return at_hi - at_lo, (hi * at_hi if hi < high else 0.0) - (lo * at_lo if lo > low else 0.0)


@_function
def _and_masses(sample, p, g, c, exact):
    """Adds what intervals and a truncation give to the sums of exact values and to the gradient by the shapes.

    Returns the sums, and the weight of the exact values.
    """
    _x, _w, lo, hi, v, cut, mass, _least, _most = sample
    total, by_z, z_by_z = exact
    loc, scale, of_exact = p[_SHAPES], p[_SHAPES + 1], mass
    if lo.size > 0 or cut[0] > -math.inf or cut[1] < math.inf:
        total += _masses(lo, hi, v, cut, mass, p, c)
        for j in range(lo.size):
            shift, stretch = _by_ends((lo[j] - loc) / scale, (hi[j] - loc) / scale, c)
            by_z += v[j] * shift
            z_by_z += v[j] * stretch
            of_exact -= v[j]
        if cut[0] > -math.inf or cut[1] < math.inf:
            shift, stretch = _by_ends((cut[0] - loc) / scale, (cut[1] - loc) / scale, c)
            by_z -= mass * shift
            z_by_z -= mass * stretch
        for k in range(_SHAPES):
            here, part = p[k], 0.0
            h = _BY_SHAPE * (here if _LOGS[k] else 1.0)
            for i in range(-2, 3):
                if i != 0:
                    p[k] = here + i * h
                    part += (
                        (8.0 if abs(i) == 1 else -1.0)
                        * (1.0 if i > 0 else -1.0)
                        * _masses(lo, hi, v, cut, mass, p, _constants(p))
                    )
            p[k] = here
            g[k] += part / (12.0 * h)
    return total, by_z, z_by_z, of_exact


@_function
def _no_masses(sample, p, g, c, exact):
    """`_and_masses` of exact values alone, which need no tails: half of the code of a family, or less."""
    return *exact, sample[6]


@_function
def gradient(sample, p, g):
    """The log-likelihood at the parameters (shapes, location, scale), the size of its rounding errors, and its gradient."""
    x, w, _lo, _hi, _v, _cut, mass, least, most = sample
    c, loc, scale = _constants(p), p[_SHAPES], p[_SHAPES + 1]
    low, high = _support(c)
    if x.size > 0 and not (low <= (least - loc) / scale and (most - loc) / scale <= high):
        return -math.inf, 0.0
    total, by_z, z_by_z, by_a, by_b = _exact(x, w, loc, scale, c)
    if _SHAPES > 0:
        g[0] = by_a
    if _SHAPES > 1:
        g[1] = by_b
    total, by_z, z_by_z, exact = _and_masses(sample, p, g, c, (total, by_z, z_by_z))
    g[_SHAPES], g[_SHAPES + 1] = -by_z / scale, -(exact + z_by_z) / scale
    value = total - exact * math.log(scale)
    return (value if value < math.inf else -math.inf), 1e-14 * (abs(total) + mass)


@_function
def start(attempt, mean, sd, low, middle, high, p):
    """Writes where a climb begins."""
    found = _guess(attempt, mean, sd, low, middle, high)
    for i in range(_SHAPES + 2):
        p[i] = found[i]
    return 0.0


@_function
def settled(loc, least, median, most):
    """The family's own: location and scale at values of the sample."""
    return _settled(loc, least, median, most)


# --- calls of these: by addresses, which `family` has, or bound by name ------------------------------------------
# `family`: what the sample is, the rules, and where a fit serves all families the addresses of the three functions
# `data` of a climb: the sample; fixed parameters, in the series' unit; two rows of the work space; the family; a row whose first
# number is 1 where second derivatives are central differences


@_function
def _gradient_there(family, sample, p, g):
    return _call_gradient(family[2], (sample, p, g))


@_function
def _start_there(family, attempt, mean, sd, low, middle, high, p):
    return _call_start(family[3], (attempt, mean, sd, low, middle, high, p))


@_function
def _settled_there(family, loc, least, median, most):
    return _call_settled(family[4], (loc, least, median, most))


@_function
def _gradient_here(family, sample, p, g):
    return _gradient(sample, p, g)


@_function
def _start_here(family, attempt, mean, sd, low, middle, high, p):
    return _start(attempt, mean, sd, low, middle, high, p)


@_function
def _settled_here(family, loc, least, median, most):
    return _settled(loc, least, median, most)


@_function
def _logs(data):
    return data[4][1].logs


@_function
def _unit(rules, p, i):
    return p[i] if rules.logs[i] else (p[rules.shapes + 1] if i == rules.shapes else 1.0)


@_function
def _derivatives(data, p, g, H):
    """Log-likelihood, its rounding, gradient and Hessian: by differences towards the inside of the domain, or by central ones."""
    sample, held, up, down, family, precise = data
    rules = family[1]
    value, noise = _gradient_of(family, sample, p, g)
    if value == -math.inf:
        return value, noise
    noise = max(noise, 1e-14 * (sample[0].size + sample[2].size))  # negative weights leave little of their sum
    for j in range(rules.shapes + 2):
        for i in range(rules.shapes + 2):
            H[i, j] = 0.0
    for j in range(rules.shapes + 2):
        if held[j] != held[j]:
            here, h = p[j], (_CENTRAL if precise[0] == 1.0 else _STEP) * _unit(rules, p, j)
            p[j] = here + h
            rises = _gradient_of(family, sample, p, up)[0] > -math.inf
            falls = precise[0] == 1.0 or not rises
            if falls:
                p[j] = here - h
                falls = _gradient_of(family, sample, p, down)[0] > -math.inf
            p[j] = here
            above, below = up if rises else g, down if falls else g
            h = 2.0 * h if rises and falls else h
            for i in range(rules.shapes + 2):
                other = 0.5 if held[i] != held[i] and i != j else 1.0
                change = other * (above[i] - below[i]) / h
                if i >= j:
                    H[i, j] += change
                else:
                    H[j, i] += change
    return value, noise


@_function
def _least(data, mass):
    """The least curvature of a maximum."""
    return mass * (_PRECISELY if data[5][0] == 1.0 else _CURVED)


@_function
def _limit(data, p):
    """The status where the scale has left the size of the data, which values on a half line need not have; else 0."""
    rules, scale = data[4][1], p[data[4][1].shapes + 1]
    far = rules.begins == 0.0 and not _shifts(rules, data[1])
    least = _POSITIVE if far else _LEAST
    return 0 if least < scale < 1.0 / least else BOUND if far or scale > 1.0 else POLE


@_function
def _information(data, p, info):
    """Minus the second derivatives by central differences of the gradient; 0 by fixed parameters."""
    sample, held, up, down, family, _precise = data
    rules = family[1]
    for i in range(info.size):
        info[i] = 0.0
    for j in range(rules.shapes + 2):
        if held[j] != held[j]:
            here, h = p[j], _CENTRAL * _unit(rules, p, j)
            p[j] = here + h
            above = _gradient_of(family, sample, p, up)[0]
            p[j] = here - h
            below = _gradient_of(family, sample, p, down)[0]
            p[j] = here
            for i in range(rules.shapes + 2):
                if held[i] != held[i]:
                    change = math.nan if min(above, below) == -math.inf else (down[i] - up[i]) / (2.0 * h)
                    big, small = max(i, j), min(i, j)
                    info[big * (big + 1) // 2 + small] += change if i == j else 0.5 * change


# --- the fit of one series ---------------------------------------------------------------------------------------


@_function
def _known_support(rules, fixed):
    """The ends of the support that depend on no free parameter."""
    loc, scale = fixed[rules.shapes], fixed[rules.shapes + 1]
    return (
        loc if loc == loc and rules.begins == 0.0 else -math.inf,
        loc + scale if loc == loc and rules.ends == 1.0 and scale == scale else math.inf,
    )


@_function
def _inside(rules, fixed):
    """Between which a series must lie: in the truncation, and in the support, where that does not depend on free parameters."""
    low, high = _known_support(rules, fixed)
    return max(fixed[rules.shapes + 2], low), min(fixed[rules.shapes + 3], high)


@_function
def _is_outside(rules, fixed, least, most):
    """Whether values are not inside.

    The ends of a truncation belong to it, those of a support where the density there is finite whatever the shapes.
    """
    low, high = _known_support(rules, fixed)
    if rules.closed:
        open_end = least < low or most > high
    else:
        open_end = least <= low or most >= high
    return open_end or least < fixed[rules.shapes + 2] or most > fixed[rules.shapes + 3]


@_function
def _pack_intervals(rules, x, w, weighted, share, fixed, numbers):
    """As `pack`, and whether a value cannot lie inside; intervals that hold all that is inside are missing values."""
    length, (begins, ends) = x.size // 3, _inside(rules, fixed)
    lo, hi = x[:length], x[length : 2 * length]
    n, mass, zeros, least, most, finite, outside = 0, 0.0, 0.0, math.inf, -math.inf, True, False
    for j in range(length):
        a, b, m = lo[j], hi[j], w[j]
        if not (a != a or b != b) and m > 0.0 and not (a <= begins and b >= ends):
            if share and a == 0.0 and b == 0.0:
                zeros += m
            else:
                finite = finite and (a < b or abs(a) < math.inf)
                outside = outside or (_is_outside(rules, fixed, a, b) if a == b else a >= ends or b <= begins)
                lo[n], hi[n] = max(a, begins), min(b, ends)
                least, most = min(least, lo[n]), max(most, hi[n])
                mass += m
                if weighted:
                    w[n] = m
                n += 1
    numbers[MASS] = mass
    numbers[ZEROS] = zeros / (zeros + mass) if zeros + mass > 0.0 else math.nan
    return n, least, most, finite, outside


@_function
def _pack_entries(x, w, n, within, centre, unit, times):
    """Puts the rows of negative weight behind the n that were packed, in the series' unit: their number and sum of weights.

    Those that hold all that is inside change nothing.
    """
    length, (begins, ends) = x.size // 3, within
    lo, hi, count, total = x[:length], x[length : 2 * length], 0, 0.0
    for j in range(n, length):
        if w[j] < 0.0 and not (lo[j] <= begins and hi[j] >= ends):
            i, low, high = n + count, max(lo[j], begins), min(hi[j], ends)
            lo[i], hi[i], w[i] = (low - centre) / unit, (high - centre) / unit, times * w[j]
            total += w[i]
            count += 1
    return count, total


@_function
def _moved_to(x, centre, unit):
    for j in range(x.size):
        x[j] = (x[j] - centre) / unit


@_function
def _stand_ins(lo, hi, out):
    """A value for each interval: its middle, or its finite end."""
    for j in range(lo.size):
        if lo[j] > -math.inf and hi[j] < math.inf:
            out[j] = lo[j] + 0.5 * (hi[j] - lo[j])
        else:
            out[j] = hi[j] if hi[j] < math.inf else lo[j]


@_function
def _spread(x, w, centre, least, most):
    """Mean distance from a place, which does not overflow."""
    top, s, mass = max(abs(least - centre), abs(most - centre)), 0.0, 0.0
    if top == 0.0:
        return 0.0
    for j in range(x.size):
        s += w[j] * (abs(x[j] - centre) / top)
        mass += w[j]
    return s / mass * top


@_function
def _exact_first(lo, hi, v, unit):
    """Puts exact values before intervals, and takes the middle of very short ones: number of them, log mass that these add.

    Lengths are those of the data, before they are moved: the log mass is in their unit, and has the digits that they have.
    """
    n, added = 0, 0.0
    for j in range(lo.size):
        width = hi[j] - lo[j]
        if width <= _NARROW * unit:
            if width > 0.0:
                added += v[j] * math.log(width)
                lo[j] += 0.5 * width
            value, weight = lo[j], v[j]
            lo[j], hi[j], v[j] = lo[n], hi[n], v[n]
            lo[n], hi[n], v[n] = value, value, weight
            n += 1
    return n, added


@_function
def _prepared(code, x, w, loc, scale, begins, n, numbers, least, most):
    """Puts a series into its unit: centre, unit, mean, standard deviation and quartiles in it, number of exact values, log mass.

    The centre is the location, if that is fixed, and the unit the scale, or a power of 2 on a support without an end.
    """
    length = x.size // 3
    lo, hi = x[:n], x[:n]
    y, even = x[:n], numbers[MASS]
    weighted = code != INTERVALS
    if code == INTERVALS:
        lo, hi, y = x[:n], x[length : length + n], x[2 * length : 2 * length + n]
        _stand_ins(lo, hi, y)
        least, most, even = math.inf, -math.inf, float(n)
        for j in range(n):
            least, most = min(least, y[j]), max(most, y[j])
    low, middle, high = quartiles(y, w, weighted, even)
    free = loc != loc
    centre = middle if free else loc
    unit = 0.5 * high - 0.5 * low if free else abs(middle - centre)  # not the mean, which one value of a heavy tail decides
    if not unit > 0.0:
        unit = _spread(y, w[:n], centre, least, most)
    if scale == scale:  # whole numbers and ends of a support must stay where they are
        unit = scale if begins == 0.0 or not unit > 0.0 else math.ldexp(1.0, math.frexp(unit)[1])
    exact, added = n, 0.0
    if code == INTERVALS:
        exact, added = _exact_first(lo, hi, w[:n], unit)
        _stand_ins(lo, hi, y)
        _moved_to(y, centre, unit)
        _moved_to(hi, centre, unit)
    _moved_to(lo, centre, unit)
    middle_of_mass = weighted_mean(y, w[:n])
    sd = max(math.sqrt(mean_square(y, w[:n], middle_of_mass)), 1e-3)
    low, middle, high = (low - centre) / unit, (middle - centre) / unit, (high - centre) / unit
    return (centre, unit), (middle_of_mass, sd, low, middle, high), exact, added


@_function
def _shifts(rules, held):
    """Whether the support begins at a location that is climbed."""
    return rules.begins == 0.0 and held[rules.shapes] != held[rules.shapes]


@_function
def _bounds(rules, least, held, work):
    """Between which parameters stay: shapes as the family says, a free end of the support below the least value."""
    low, high = work[LOW], work[HIGH]
    for k in range(rules.shapes):
        low[k], high[k] = rules.below[k], rules.above[k]
    if _shifts(rules, held):
        high[rules.shapes] = least - _INNER


@_function
def _ended(rules, work, held, done):
    """The status of a climb that may have ended at a bound."""
    p, low, high = work[PAR], work[LOW], work[HIGH]
    for k in range(rules.shapes + 1):
        if held[k] != held[k] and (p[k] <= low[k] or p[k] >= high[k]):
            return POLE if rules.pole == k else BOUND
    return done


@_function
def _begun(data, about, attempt, work):
    """Writes a start of the family, between its bounds and with what is fixed; returns the log-likelihood there."""
    first, sd, low, middle, high = about
    sample, held, up, _down, family, _precise = data
    rules, least, p, a = family[1], sample[7], work[PAR], family[1].shapes
    shift = held[a] if rules.begins == 0.0 and held[a] == held[a] else 0.0
    if _shifts(rules, held):  # the end of the support, from near the least value on down
        shift = least - (0.02 if attempt % 2 == 0 else 1.0) * (first - least)
    _start_of(family, attempt, first - shift, sd, low - shift, middle - shift, high - shift, p)
    for k in range(a):
        p[k] = min(max(p[k], rules.below[k]), rules.above[k])
    p[a] += shift
    begin(held, work)
    _bounds(rules, least, held, work)
    return _gradient_of(family, sample, p, up)[0]


@_function
def _best_start(data, about, last, work):
    """Writes the best start whose log-likelihood is below `last`, and returns that."""
    chosen, top, starts = 0, -math.inf, data[4][1].starts
    for attempt in range(starts + 1):  # the chosen one in the end
        value = _begun(data, about, attempt if attempt < starts else chosen, work)
        if value > top and value < last:
            chosen, top = attempt, value
    return top


@_function
def _released(rules, held, aim):
    """Keeps what is fixed as an aim, and frees it; whether that leaves a path: one of three parameters at least that is fixed.

    The ends of a support stay where they are.
    """
    copy(held, aim)
    fixed, free = 0, 0
    for i in range(rules.shapes + 2):
        if not (i == rules.shapes and rules.begins == 0.0) and not (i == rules.shapes + 1 and rules.ends == 1.0):
            fixed, free = fixed + (held[i] == held[i]), free + (held[i] != held[i])
            held[i] = math.nan
    found = fixed > 0 and free > 0 and fixed + free > 2 and rules.starts > 1
    if not found:
        copy(aim, held)
    return found


@_function
def _steps(rules, aim, held, p):
    """In how many steps fixed parameters move from where they are."""
    far = 0.0
    for i in range(rules.shapes + 2):
        if aim[i] == aim[i] and held[i] != held[i]:
            far = max(far, abs(math.log(aim[i] / p[i]) if rules.logs[i] else (aim[i] - p[i]) / _unit(rules, p, i)))
    return int(min(far / _STRIDE, _MOST_STEPS - 1.0)) + 1


@_function
def _moved_on(rules, aim, held, before, p, left):
    """Moves fixed parameters a step towards their aim, and the others as they went before."""
    for i in range(rules.shapes + 2):
        here = p[i]
        if aim[i] == aim[i]:
            part = here * (aim[i] / here) ** (1.0 / left) if rules.logs[i] else here + (aim[i] - here) / left
            held[i] = aim[i] if left == 1 else part
        elif before[i] == before[i]:
            p[i] = here * (here / before[i]) if rules.logs[i] else 2.0 * here - before[i]
        before[i] = here


@_function
def _best_climb(data, about, params, numbers, work):
    """The best of the climbs from the family's starts, and from the free maximum if parameters are fixed: status, log-likelihood.

    Where `params` are not NaN, the climb from there alone.

    The climbs begin from the best start on. An end that is no maximum is the last choice, unless the family has stationary points
    that are no maxima and so takes ALWAYS the best. What ends on a ridge climbs on with precise derivatives.
    """
    held, family, precise, aim, before, p = data[1], data[4], data[5], work[_EXTRA + 4], work[_EXTRA + 5], work[PAR]
    rules, mass, least, n = family[1], numbers[MASS], data[0][7], family[1].shapes + 2
    best, status, climbs, last, left = -math.inf, NO_CONVERGENCE, 0, math.inf, np.int64(0)  # not 0: see `quartiles`
    more = rules.every >= MAXIMUM or (rules.every == WHERE_FIXED and held[n - 1] == held[n - 1])
    precise[0] = 0.0
    if params[n - 1] == params[n - 1]:
        phase = _TO_THE_END
    else:
        phase = _FREELY if _released(rules, held, aim) else _FROM_STARTS
    while phase != _ENDED:
        if phase == _FREELY or phase == _FROM_STARTS:
            last = _best_start(data, about, last, work)
        else:
            if phase == _ON_PATH:
                _moved_on(rules, aim, held, before, p, left)
                left -= 1
            else:
                precise[0] = 1.0
                for i in range(n):
                    p[i] = params[i] if i > n - 3 else min(max(params[i], rules.below[i]), rules.above[i])
            begin(held, work)
            _bounds(rules, least, held, work)
        done, reached, passes = _climb(data, n, mass, 1e-6, _MORE_PASSES if phase == _TO_THE_END else _MOST_PASSES, work)
        numbers[PASSES] += passes
        if left == 0 and phase != _FREELY:
            done = _ended(rules, work, held, done)
            ended = 0 if rules.every == ALWAYS else (done == OK) - (status == OK)  # a maximum goes before what is no maximum
            if best == -math.inf or ended > 0 or (ended == 0 and reached > best) or phase == _TO_THE_END:
                best, status = reached, done
                for i in range(n):
                    params[i] = p[i]
        if phase == _FREELY and reached > -math.inf:
            left, phase = _steps(rules, aim, held, p), _ON_PATH
            for i in range(n):
                before[i] = math.nan
        elif phase <= _ON_PATH:
            if left == 0 or reached == -math.inf:
                copy(aim, held)
                left, last, phase = 0, math.inf, _FROM_STARTS
        elif phase == _FROM_STARTS:
            climbs += 1
            all_done = climbs == (rules.starts if more else min(rules.starts, _MOST_CLIMBS)) or last == -math.inf
            if all_done or (status == OK and not more):
                phase = _TO_THE_END if status == NO_CONVERGENCE and best > -math.inf else _ENDED
        else:
            phase = _ENDED
    return status, best


@_function
def _fit_series(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """Fits one series, which it overwrites; `fixed` has the ends of the truncation after the parameters. Returns the status.

    `params` has where the climb begins, or NaN.
    """
    code, rules = family[0], family[1]
    a = rules.shapes
    given = work[_EXTRA + 5]
    for i in range(a + 2):
        given[i] = params[i]
    if code == INTERVALS:
        n, least, most, finite, outside = _pack_intervals(rules, x, w, weighted, share, fixed, numbers)
    else:
        n, least, most, finite = pack(x, w, weighted, share, numbers)
        outside = n > 0 and _is_outside(rules, fixed, least, most)
    unit_weight = w[0] if n > 0 else 1.0
    status = judged(n, least, most, finite, outside, w, weighted, least_count, params, info, numbers)
    if status == CONSTANT and fixed[a] == fixed[a] and fixed[a + 1] == fixed[a + 1]:
        status = OK  # equal values say something of shapes alone
    if status != OK:
        return status
    mass, times = numbers[MASS], w[0] / unit_weight
    (centre, unit), about, exact, added = _prepared(code, x, w, fixed[a], fixed[a + 1], rules.begins, n, numbers, least, most)
    if not (unit > 0.0 and unit < math.inf):
        return CONSTANT
    length, in_place = x.size // 3, _settled_of(family, fixed[a], least, centre, most)
    entries, net = 0, 0.0
    if code == INTERVALS:
        entries, net = _pack_entries(x, w, n, _inside(rules, fixed), centre, unit, times)
    cut = ((fixed[a + 2] - centre) / unit, (fixed[a + 3] - centre) / unit)
    for i in range(a):
        params[i] = given[i]
    params[a], params[a + 1] = (given[a] - centre) / unit, given[a + 1] / unit
    held = work[_EXTRA]
    for i in range(a):
        held[i] = fixed[i]
    least, most = math.inf, -math.inf
    for j in range(exact):
        least, most = min(least, x[j]), max(most, x[j])
    for j in range(exact, n):  # a support begins below the upper ends of all intervals
        least = min(least, x[length + j])
    loc = 0.0 if fixed[a] == fixed[a] else math.nan
    at_loc, at_scale = _settled_of(family, loc, least, about[3], most)
    held[a] = loc if loc == loc else at_loc
    held[a + 1] = fixed[a + 1] / unit if fixed[a + 1] == fixed[a + 1] else at_scale
    lo, hi, v = x[exact : n + entries], x[length + exact : length + n + entries], w[exact : n + entries]
    sample = x[:exact], w[:exact], lo, hi, v, cut, mass + net, least, most
    data = sample, held, work[_EXTRA + 1], work[_EXTRA + 2], family, work[_EXTRA + 3]
    status, best = _best_climb(data, about, params, numbers, work)
    if best == -math.inf:
        for i in range(a + 2):
            params[i] = math.nan
        return OUTSIDE
    if exact == 0 and best > -_CERTAIN * mass:
        status = BOUND
    _information(data, params, info)
    exact_mass = 0.0
    for j in range(exact):
        exact_mass += w[j]
    numbers[LOGLIK] = best + added - exact_mass * math.log(unit)
    # back to the units of the data
    first = a * (a + 1) // 2
    second = (a + 1) * (a + 2) // 2
    if fixed[a] != fixed[a] and at_loc == at_loc:
        info[first + a] = rules.kink * mass / params[a + 1] / params[a + 1]
    if fixed[a + 1] != fixed[a + 1] and at_scale == at_scale:
        info[second + a + 1] = math.nan
    for i in range(a + 1):
        info[first + i] /= unit
    for i in range(a + 2):
        info[second + i] /= unit
    info[first + a] /= unit
    info[second + a] /= unit
    info[second + a + 1] /= unit
    params[a] = in_place[0] if in_place[0] == in_place[0] else centre + unit * params[a]
    params[a + 1] = in_place[1] if in_place[1] == in_place[1] else unit * params[a + 1]
    for i in range(a + 2):
        params[i] = fixed[i] if fixed[i] == fixed[i] else params[i]
    return status


# --- twins -------------------------------------------------------------------------------------------------------


@_function
def _with_rules(code, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """The fit of a series by the kernel of one family."""
    return _fit_series((code, _rules), x, w, weighted, share, least_count, fixed, params, info, numbers, work)


@_function
def _with_facts(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """The fit of a series by the kernel of all families: the rules come as a tuple of numbers, which Numba takes faster."""
    code, f, at_gradient, at_start, at_settled = family
    logs = (f[5] > 0.0, f[6] > 0.0, f[7] > 0.0, f[8] > 0.0)
    starts, every, pole = int(f[13]), int(f[14]), int(f[15])
    rules = Rules(int(f[0]), (f[1], f[2]), (f[3], f[4]), logs, f[9], f[10], f[11] > 0.0, f[12], starts, every, pole)
    family = code, rules, at_gradient, at_start, at_settled
    return _fit_series(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work)


def _fit_by(size, **calls):
    """The fit of a series of at most so many parameters, with ways to call a family's functions."""
    calls["_climb"] = climber(bind(_derivatives, **calls), _logs, _limit, _least, 1.0)
    calls["_information"] = bind(_information, **calls)
    calls["_begun"] = bind(_begun, **calls)
    calls["_best_start"] = bind(_best_start, **calls)
    calls["_best_climb"] = bind(_best_climb, _EXTRA=rows(size), **calls)
    return bind(_fit_series, _EXTRA=rows(size), **calls)


@functools.cache
def _shared():
    """The fit of all families on the CPU."""
    size, (gradients, starts, settles) = _MOST_SHAPES + 2, map(numba_internals.caller, _SIGNATURES.values())
    calls = dict(
        _gradient_of=bind(_gradient_there, _call_gradient=gradients),
        _start_of=bind(_start_there, _call_start=starts),
        _settled_of=bind(_settled_there, _call_settled=settles),
    )
    series = bind(_with_facts, _fit_series=_fit_by(size, **calls))
    return build(fit_cpu, "serial", _fitted=fitted(series), **sizes(size, _MORE_ROWS))


_F, _ROW, _PAIR = types.float64, types.float64[::1], types.UniTuple(types.float64, 2)
_SAMPLE = types.Tuple((*[_ROW] * 5, _PAIR, *[_F] * 3))
_SIGNATURES = {gradient: _PAIR(_SAMPLE, _ROW, _ROW), start: _F(types.int64, *[_F] * 5, _ROW), settled: _PAIR(*[_F] * 4)}
_FACTS = 5 + 4 + 7  # numbers in the rules


class Likelihood:
    """How a family is fitted; it has the kernel, which is built when first used.

    Parameters
    ----------
    name : str
        The family's word.
    points : Points
        Its kernels of functions of x.
    free : tuple of str
        Parameters that are estimated where `fixed` says nothing; the others are loc = 0 and scale = 1.
    shapes : int
        Number of shape parameters.
    real : tuple of bool
        For each shape whether it may be negative; none is by default.
    below, above : tuple of float
        Between which each shape is searched.
    closed : bool
        Whether the density at the ends of the support is finite for all shapes.
    cost : float
        Nanoseconds for a value.
    **rules
        The last fields of `Rules`.
    """

    def __init__(self, name, points, free, *, shapes=0, real=(), below=(), above=(), closed=False, cost=300.0, **rules):
        self.free, self.cost, self._points = free, cost, points
        logs, unused = (*(not r for r in real or (False,) * shapes), False, True), _MOST_SHAPES - shapes
        whole = {half_line: (0.0, math.inf), unit_interval: (0.0, 1.0)}
        ends = (0.0, math.inf) if closed else whole.get(points.formulas.support, (-math.inf, math.inf))
        below, above = below or (1e-8,) * shapes, above or (1e8,) * shapes
        rules.setdefault("pole", shapes if ends[0] == 0.0 else -1)  # next to the least value small shapes have a pole
        padded = below + (0.0,) * unused, above + (0.0,) * unused, logs + (False,) * unused
        self._rules = Rules(shapes, *padded, *ends, closed, **rules)
        self.kernel = kernel(f"{name}_fit", None, shapes + 2, _MORE_ROWS, late=self._on_gpu, registered=points.registered)
        self.kernel.shared = self._on_cpu
        points.own(self.kernel)

    @property
    def rule(self):
        """The family's `settled`, as a plain function of a number and of numbers or arrays."""
        return getattr(self._points.formulas, "settled", nothing_settled).py_func

    def settled(self, located):
        """Which of loc and scale, NaN where they are free, are at values of the sample."""
        found = self.rule(located[0], 0.0, 0.5, 1.0)
        return tuple(n for n, v, w in zip(("loc", "scale"), located, found, strict=True) if v != v and w == w)

    @property
    def with_tails(self):
        """Whether masses of intervals are known."""
        return self._points.with_tails

    @property
    def tied(self):
        """Whether the scale is at a value of the sample by the distance from a given location."""
        return math.isnan(self.rule(math.nan, 0.0, 0.5, 1.0)[1]) and not math.isnan(self.rule(0.0, 0.0, 0.5, 1.0)[1])

    @property
    def settles(self):
        """Whether a parameter may be at a value of the sample at which the likelihood jumps."""
        return hasattr(self._points.formulas, "settled") and math.isnan(self._rules.kink)

    @property
    def shifts(self):
        """Whether the support begins at loc."""
        return self._rules.begins == 0.0

    @property
    def bounded(self):
        """Whether loc and loc + scale are the ends of the support."""
        return (self._rules.begins, self._rules.ends) == (0.0, 1.0)

    @functools.cached_property
    def _functions(self):
        """The family's formulas, and sums of them, by the names by which the three functions know them."""
        points, family = self._points, self._points.formulas
        names = {f"_{f}": points._formula(f) for f in ("logcdf", "logsf")} | {"_logpdf": points.of_value()} | points.with_shapes()
        names |= dict(_support=family.support, _guess=family.guess, _settled=getattr(family, "settled", nothing_settled))
        names["_log_mass"] = bind(points.log_mass, **{f: names[f] for f in ("_support", "_logpdf", "_logcdf", "_logsf")})
        names |= dict(_SHAPES=self._rules.shapes, _LOGS=self._rules.logs)
        for body in (_exact, _masses, _by_ends, _and_masses):
            names[body.__name__] = bind(body, **names)
        return names

    def _on_cpu(self):
        """The fit of all families, with this one's functions."""
        shapes, below, above, logs, *rest = self._rules
        facts = tuple(map(float, (shapes, *below, *above, *logs, *rest)))
        names, own = self._functions, functools.partial(self.kernel.with_cache, target="serial", fastmath=_FLAGS)
        made = [own(f.py_func, **names) for f in _SIGNATURES]
        alone = {made[0]: own(gradient.py_func, **names | {"_and_masses": _no_masses})}
        first = types.Tuple((types.int64, types.UniTuple(_F, _FACTS), *[types.int64] * len(made)))
        signature = first, *self.kernel.numba_signatures()[0][1][1:]
        given = {f: s.args for f, s in zip(made, _SIGNATURES.values(), strict=True)}
        return WithFunctions(_shared(), signature, facts, given, alone)

    def _on_gpu(self):
        """The fit bound to this family."""
        own = [bind(f, **self._functions) for f in _SIGNATURES]
        calls = dict(
            _gradient_of=bind(_gradient_here, _gradient=own[0]),
            _start_of=bind(_start_here, _start=own[1]),
            _settled_of=bind(_settled_here, _settled=own[2]),
        )
        return {"_fitted": fitted(bind(_with_rules, _rules=self._rules, _fit_series=_fit_by(self._rules.shapes + 2, **calls)))}
