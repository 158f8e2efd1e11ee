"""The likelihood of any family, from the formulas in its file, and the climb to its maximum.

A value is exact or known to lie in an interval, all may be truncated to one, and weights are repetitions:

    log L = sum w log f(x) + sum w log(F(hi) - F(lo)) - sum w log(F(b) - F(a))

Beside the formulas of `points` a family gives ``score(z, c)``, the derivatives of ``logpdf`` by z and by its shapes, and
``guess(attempt, mean, sd, low, middle, high)``, where a climb begins: shapes, location and scale from the moments and quartiles
of values about the location, if that is fixed. A family whose location or scale is at a value of the sample gives
``settled(loc, least, median, most)``, both of them, NaN for what is climbed; loc is NaN unless it is fixed.

A series is measured in its own unit about its own centre, so that a fit depends on neither. Gradients are sums of scores; those
of logarithms of masses by shapes are central differences of fourth order. Second derivatives are differences of the gradient,
one-sided ones for the steps, central ones for the information.
"""

from __future__ import annotations

import functools
import math
import sys
from typing import NamedTuple

from numbastats._core.climb import HIGH, LOW, PAR, climber, rows
from numbastats._core.kernel import array_function, bind, device_function
from numbastats.distributions.kernels.fits import (
    CONSTANT,
    DEGENERATE,
    LOGLIK,
    MASS,
    MAX_ITER,
    MOST,
    NORMAL_LIMIT,
    OK,
    OUTSIDE,
    PASSES,
    ZEROS,
    begin,
    judged,
    kernel,
    mean_square,
    pack,
    quartiles,
    weighted_mean,
)
from numbastats.distributions.kernels.points import half_line, unit_interval
from numbastats.scalar.elementary import exp, log, log1p

__all__ = ["EXACT", "INTERVALS", "Likelihood"]

EXACT, INTERVALS = 0, 1  # what a series is: values; or lower ends, upper ends and as much room, one after another
_STEP, _CENTRAL, _BY_SHAPE = 1e-6, 3e-5, 1e-3  # of differences, in units of the coordinates
_NARROW = 1e-6  # intervals in units of the spread that are a density times their length, to its square
_LEAST, _GREATEST = 1e-10, 1e10  # scales in units of the spread, beyond which there is no maximum
_CERTAIN = 1e-6  # a value's share of the log-likelihood of intervals that is its supremum 0 but for rounding
_NORMAL = 1e12  # degrees of freedom that stand for infinity
_INNER = 1e-6  # distance of a free end of the support from the least value, in units of the spread
_MORE_ROWS = 3

_function = array_function(fastmath=("contract", "reassoc"), host=False)

# bound to the formulas of a family
_logpdf = _score = _support = _logcdf = _logsf = _guess = _settled = _first = _second = _constants = _log_mass = None
_climb = None
_SHAPES, _STARTS, _EVERY, _SHIFTS, _EXTRA = 0, 1, False, False, 0
_BELOW = _ABOVE = (0.0,)
_LOGS: tuple[bool, ...] = ()
_KINK = math.nan
_LIMIT = DEGENERATE
_BEGINS, _ENDS, _CLOSED = -math.inf, math.inf, False


# --- scalar parts ------------------------------------------------------------------------------------------------


@device_function(inline=False)
def log_mass(lo, hi, c):
    """log(F(hi) - F(lo)) from the smaller tails; of an interval whose ends have nearly the same tails by Simpson's rule."""
    low, high = _support(c)
    lo, hi = max(lo, low), min(hi, high)
    if not lo < hi:
        return -math.inf
    if hi == high:
        return _logsf(lo, c) if lo > low else 0.0
    more = _logcdf(hi, c)
    if lo == low:
        return more
    less = _logcdf(lo, c)
    if less > -0.7:
        more, less = _logsf(lo, c), _logsf(hi, c)
    if less - more > -1e-3:
        middle = lo + 0.5 * (hi - lo)
        top = _logpdf(middle, c)
        ends = exp(_logpdf(lo, c) - top) + exp(_logpdf(hi, c) - top)
        return top + log((hi - lo) * ((4.0 + ends) / 6.0))
    return more + log1p(-exp(less - more))


@device_function
def nothing_settled(loc, least, median, most):
    return math.nan, math.nan


# --- sums over a series ------------------------------------------------------------------------------------------
# `data` of a climb: exact values and their weights; ends of intervals and their weights; the truncation; sum of all weights,
# least and largest exact value; fixed parameters, in the series' unit; rows of the work space


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
def _gradient(data, p, g):
    """The log-likelihood at the parameters (shapes, location, scale), the size of its rounding errors, and its gradient."""
    x, w, lo, hi, v, cut, mass, least, most, _held, _first_row, _second_row = data
    c, loc, scale = _constants(p), p[_SHAPES], p[_SHAPES + 1]
    low, high = _support(c)
    if x.size > 0 and not (low <= (least - loc) / scale and (most - loc) / scale <= high):
        return -math.inf, 0.0
    total, by_z, z_by_z, by_a, by_b = _exact(x, w, loc, scale, c)
    exact = mass
    if _SHAPES > 0:
        g[0] = by_a
    if _SHAPES > 1:
        g[1] = by_b
    if lo.size > 0 or cut[0] > -math.inf or cut[1] < math.inf:
        total += _masses(lo, hi, v, cut, mass, p, c)
        for j in range(lo.size):
            shift, stretch = _by_ends((lo[j] - loc) / scale, (hi[j] - loc) / scale, c)
            by_z += v[j] * shift
            z_by_z += v[j] * stretch
            exact -= v[j]
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
    g[_SHAPES], g[_SHAPES + 1] = -by_z / scale, -(exact + z_by_z) / scale
    value = total - exact * math.log(scale)
    return (value if value < math.inf else -math.inf), 1e-14 * (abs(total) + mass)


@_function
def _unit(p, i):
    return p[i] if _LOGS[i] else p[_SHAPES + 1]


@_function
def _derivatives(data, p, g, H):
    """Log-likelihood, its rounding, gradient and Hessian: one-sided differences, towards the inside of the domain."""
    held, moved = data[9], data[10]
    value, noise = _gradient(data, p, g)
    if value == -math.inf:
        return value, noise
    for j in range(_SHAPES + 2):
        for i in range(_SHAPES + 2):
            H[i, j] = 0.0
    for j in range(_SHAPES + 2):
        if held[j] != held[j]:
            here, h = p[j], _STEP * _unit(p, j)
            p[j] = here + h
            if _gradient(data, p, moved)[0] == -math.inf:
                h = -h
                p[j] = here + h
                _gradient(data, p, moved)
            p[j] = here
            for i in range(_SHAPES + 2):
                other = 0.5 if held[i] != held[i] and i != j else 1.0
                change = other * (moved[i] - g[i]) / h
                if i >= j:
                    H[i, j] += change
                else:
                    H[j, i] += change
    return value, noise


@_function
def _limit(data, p):
    """The status where the scale has left the size of the data; else 0."""
    return DEGENERATE if not (_LEAST < p[_SHAPES + 1] < _GREATEST) else 0


@_function
def _information(data, p, info):
    """Minus the second derivatives by central differences of the gradient; 0 by fixed parameters."""
    held, up, down = data[9], data[10], data[11]
    for i in range(info.size):
        info[i] = 0.0
    for j in range(_SHAPES + 2):
        if held[j] != held[j]:
            here, h = p[j], _CENTRAL * _unit(p, j)
            p[j] = here + h
            above = _gradient(data, p, up)[0]
            p[j] = here - h
            below = _gradient(data, p, down)[0]
            p[j] = here
            for i in range(_SHAPES + 2):
                if held[i] != held[i]:
                    change = math.nan if min(above, below) == -math.inf else (down[i] - up[i]) / (2.0 * h)
                    big, small = max(i, j), min(i, j)
                    info[big * (big + 1) // 2 + small] += change if i == j else 0.5 * change


# --- the fit of one series ---------------------------------------------------------------------------------------


@_function
def _inside(fixed):
    """Between which a series must lie: in the truncation, and in the support, where that does not depend on free parameters."""
    begins, ends, loc, scale = fixed[_SHAPES + 2], fixed[_SHAPES + 3], fixed[_SHAPES], fixed[_SHAPES + 1]
    if loc == loc:
        begins = max(begins, loc if _BEGINS == 0.0 else -math.inf)
        ends = min(ends, loc + scale if _ENDS == 1.0 and scale == scale else math.inf)
    return begins, ends


@_function
def _is_outside(least, most, begins, ends):
    """Whether values are not inside; the ends of a support belong to it where the density there is finite whatever the shapes."""
    if _CLOSED:
        return least < begins or most > ends
    return least <= begins or most >= ends


@_function
def _pack_intervals(x, w, weighted, share, within, numbers):
    """As `pack`, and whether a value cannot lie inside; intervals that hold all that is inside are missing values."""
    length, (begins, ends) = x.size // 3, within
    lo, hi = x[:length], x[length : 2 * length]
    n, mass, zeros, least, most, finite, outside = 0, 0.0, 0.0, math.inf, -math.inf, True, False
    for j in range(length):
        a, b, m = lo[j], hi[j], w[j]
        if not (a != a or b != b) and m > 0.0 and not (a <= begins and b >= ends):
            if share and a == 0.0 and b == 0.0:
                zeros += m
            else:
                finite = finite and (a < b or abs(a) < math.inf)
                outside = outside or (_is_outside(a, b, begins, ends) if a == b else a >= ends or b <= begins)
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
    for j in range(x.size):
        s += w[j] * (abs(x[j] - centre) / top)
        mass += w[j]
    return s / mass * top


@_function
def _exact_first(lo, hi, v):
    """Puts exact values before intervals, and takes the middle of very short ones: number of them, log mass that these add."""
    n, added = 0, 0.0
    for j in range(lo.size):
        width = hi[j] - lo[j]
        if width <= _NARROW:
            if width > 0.0:
                added += v[j] * math.log(width)
                lo[j] += 0.5 * width
            value, weight = lo[j], v[j]
            lo[j], hi[j], v[j] = lo[n], hi[n], v[n]
            lo[n], hi[n], v[n] = value, value, weight
            n += 1
    return n, added


@_function
def _prepared(code, x, w, fixed, n, numbers, least, most):
    """Puts a series into its unit: centre, unit, mean, standard deviation and quartiles in it, number of exact values, log mass.

    The centre is the location, if that is fixed, and the unit the scale.
    """
    length = x.size // 3
    lo, hi = x[:n], x[:n]
    y, even = x[:n], numbers[MASS]
    weighted = code == EXACT
    if code == INTERVALS:
        lo, hi, y = x[:n], x[length : length + n], x[2 * length : 2 * length + n]
        _stand_ins(lo, hi, y)
        least, most, even = math.inf, -math.inf, float(n)
        for j in range(n):
            least, most = min(least, y[j]), max(most, y[j])
    low, middle, high = quartiles(y, w, weighted, even)
    loc, scale = fixed[_SHAPES], fixed[_SHAPES + 1]
    free = loc != loc
    centre = middle if free else loc
    unit = 0.5 * high - 0.5 * low if free else 0.0
    if not unit > 0.0:
        unit = _spread(y, w[:n], centre, least, most)
    if scale == scale:
        unit = scale
    if code == INTERVALS:
        _stand_ins(lo, hi, y)
        _moved_to(y, centre, unit)
        _moved_to(hi, centre, unit)
    _moved_to(lo, centre, unit)
    middle_of_mass = weighted_mean(y, w[:n])
    sd = max(math.sqrt(mean_square(y, w[:n], middle_of_mass)), 1e-3)
    low, middle, high = (low - centre) / unit, (middle - centre) / unit, (high - centre) / unit
    exact, added = n, 0.0
    if code == INTERVALS:
        exact, added = _exact_first(lo, hi, w[:n])
    return (centre, unit), (middle_of_mass, sd, low, middle, high), exact, added


@_function
def _bounds(least, held, work):
    """Between which parameters stay: shapes as the family says, a free end of the support below the least value."""
    low, high = work[LOW], work[HIGH]
    for k in range(_SHAPES):
        low[k], high[k] = _BELOW[k], _ABOVE[k]
    if _SHIFTS and held[_SHAPES] != held[_SHAPES]:
        high[_SHAPES] = least - _INNER


@_function
def _ended(work, held, done):
    """The status of a climb that may have ended at a bound."""
    p, low, high = work[PAR], work[LOW], work[HIGH]
    for k in range(_SHAPES + 1):
        if held[k] != held[k] and (p[k] <= low[k] or p[k] >= high[k]):
            return _LIMIT if k == 0 and p[k] >= high[k] else DEGENERATE
    return done


@_function
def _best_climb(data, about, params, numbers, work):
    """The best of the climbs from the family's starts: status and log-likelihood; an end at a bound is the last choice."""
    first, sd, low, middle, high = about
    mass, least, held, p = data[6], data[7], data[9], work[PAR]
    best, status, attempt = -math.inf, MAX_ITER, 0
    while attempt < _STARTS:
        shift = 0.0
        if _SHIFTS and held[_SHAPES] != held[_SHAPES]:  # the end of the support, from near the least value on down
            shift = least - (0.02 if attempt % 2 == 0 else 1.0) * (first - least)
        start = _guess(attempt, first - shift, sd, low - shift, middle - shift, high - shift)
        for i in range(_SHAPES + 2):
            p[i] = start[i]
        for k in range(_SHAPES):
            p[k] = min(max(p[k], _BELOW[k]), _ABOVE[k])
        p[_SHAPES] += shift
        begin(held, work)
        _bounds(least, held, work)
        done, reached, passes = _climb(data, _SHAPES + 2, mass, 1e-6, MOST, work)
        numbers[PASSES] += passes
        done = _ended(work, held, done)
        if best == -math.inf or (done == OK and status != OK) or ((done == OK) == (status == OK) and reached > best):
            best, status = reached, done
            for i in range(_SHAPES + 2):
                params[i] = p[i]
        attempt = attempt + 1 if status != OK or (_EVERY and held[_SHAPES + 1] == held[_SHAPES + 1]) else _STARTS
    return status, best


@_function
def _fit_series(code, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """Fits one series, which it overwrites; `fixed` has the ends of the truncation after the parameters. Returns the status."""
    begins, ends = _inside(fixed)
    if code == INTERVALS:
        n, least, most, finite, outside = _pack_intervals(x, w, weighted, share, (begins, ends), numbers)
    else:
        n, least, most, finite = pack(x, w, weighted, share, numbers)
        outside = n > 0 and _is_outside(least, most, begins, ends)
    status = judged(n, least, most, finite, outside, w, weighted, least_count, params, info, numbers)
    if status != OK:
        return status
    mass = numbers[MASS]
    (centre, unit), about, exact, added = _prepared(code, x, w, fixed, n, numbers, least, most)
    if not (unit > 0.0 and unit < math.inf):
        return CONSTANT
    length, in_place = x.size // 3, _settled(fixed[_SHAPES], least, centre, most)
    cut = ((fixed[_SHAPES + 2] - centre) / unit, (fixed[_SHAPES + 3] - centre) / unit)
    held = work[_EXTRA]
    for i in range(_SHAPES):
        held[i] = fixed[i]
    least, most = math.inf, -math.inf
    for j in range(exact):
        least, most = min(least, x[j]), max(most, x[j])
    loc = 0.0 if fixed[_SHAPES] == fixed[_SHAPES] else math.nan
    at_loc, at_scale = _settled(loc, least, about[3], most)
    held[_SHAPES] = loc if loc == loc else at_loc
    held[_SHAPES + 1] = 1.0 if fixed[_SHAPES + 1] == fixed[_SHAPES + 1] else at_scale
    lo, hi, v = x[exact:n], x[length + exact : length + n], w[exact:n]
    data = x[:exact], w[:exact], lo, hi, v, cut, mass, least, most, held, work[_EXTRA + 1], work[_EXTRA + 2]
    status, best = _best_climb(data, about, params, numbers, work)
    if status == MAX_ITER and best == -math.inf:
        return OUTSIDE
    if exact == 0 and best > -_CERTAIN * mass:
        status = DEGENERATE
    if status == NORMAL_LIMIT:
        params[0] = held[0] = _NORMAL
        best, _noise = _gradient(data, params, work[PAR])
    _information(data, params, info)
    exact_mass = 0.0
    for j in range(exact):
        exact_mass += w[j]
    numbers[LOGLIK] = best + added - exact_mass * math.log(unit)
    # back to the units of the data
    a = _SHAPES
    first = a * (a + 1) // 2
    second = (a + 1) * (a + 2) // 2
    if fixed[a] != fixed[a] and at_loc == at_loc:
        info[first + a] = _KINK * mass / params[a + 1] / params[a + 1]
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
    if status == NORMAL_LIMIT:
        params[0], info[0] = math.inf, math.nan
    return status


_BODIES = (_exact, _masses, _by_ends, _gradient, _unit, _derivatives, _information, _inside, _is_outside, _pack_intervals)
_LATER = (_bounds, _ended, _best_climb, _fit_series)


class _Search(NamedTuple):
    """Where and how maxima are searched for."""

    real: tuple[bool, ...] = ()  # for each shape whether it may be negative; else none
    below: tuple[float, ...] = ()  # between which shapes are
    above: tuple[float, ...] = ()
    starts: int = 1  # of which the first that leads to a maximum is taken
    every: bool = False  # or all, where the scale is fixed
    limit: int = DEGENERATE  # the status where the first shape has grown to its bound


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
    closed : bool
        Whether the density at the ends of the support is finite for all shapes.
    kink : float
        Information of one value on a settled location, in units of the scale: NaN if the location is an end of the support.
    cost : float
        Nanoseconds for a value.
    **search
        Fields of `_Search`.
    """

    def __init__(self, name, points, free, *, shapes=0, closed=False, kink=math.nan, cost=300.0, **search):
        self.free, self.cost, self._points = free, cost, points
        found = _Search(**search)
        real = found.real or (False,) * shapes
        self._numbers = {
            **dict(_SHAPES=shapes, _EXTRA=rows(shapes + 2), _LOGS=(*(not r for r in real), False, True)),
            **dict(_BELOW=found.below or (1e-8,) * max(shapes, 1), _ABOVE=found.above or (1e8,) * max(shapes, 1)),
            **dict(_STARTS=found.starts, _EVERY=found.every, _LIMIT=found.limit, _CLOSED=closed, _KINK=kink),
        }
        self.kernel = kernel(f"{name}_fit", None, shapes + 2, _MORE_ROWS, late=self._bound)
        self.kernel.gated, self.kernel._module = False, points.module

    def settled(self, located):
        """Which of loc and scale, NaN where they are free, are at values of the sample."""
        rule = getattr(sys.modules[self._points.module], "settled", nothing_settled)
        found = rule(located[0], 0.0, 0.5, 1.0)
        return tuple(n for n, v, w in zip(("loc", "scale"), located, found, strict=True) if v != v and w == w)

    @property
    def settles(self):
        """Whether a parameter may be at a value of the sample at which the likelihood jumps."""
        return hasattr(sys.modules[self._points.module], "settled") and math.isnan(self._numbers["_KINK"])

    @property
    def shifts(self):
        """Whether the support begins at loc."""
        return self._support()[0] == 0.0

    @property
    def bounded(self):
        """Whether loc and loc + scale are the ends of the support."""
        return self._support() == (0.0, 1.0)

    def _support(self):
        """The support of the standard form, as far as it depends on no shape."""
        family = sys.modules[self._points.module]
        if self._numbers["_CLOSED"]:
            return 0.0, math.inf
        return {half_line: (0.0, math.inf), unit_interval: (0.0, 1.0)}.get(family.support, (-math.inf, math.inf))

    def _bound(self):
        """The fit of a series, bound to the family's formulas."""
        family, count = sys.modules[self._points.module], self._numbers["_SHAPES"]
        begins, ends = self._support()
        names = self._numbers | {f"_{f}": self._points._formula(family, f) for f in ("logpdf", "logcdf", "logsf")}
        names |= dict(_support=family.support, _BEGINS=begins, _ENDS=ends, _SHIFTS=begins == 0.0)
        names |= dict(_guess=family.guess, _settled=getattr(family, "settled", nothing_settled)) | self._points.with_shapes()
        names["_log_mass"] = bind(log_mass, **{f: names[f] for f in ("_support", "_logpdf", "_logcdf", "_logsf")})
        for body in _BODIES:
            names[body.__name__] = bind(body, **names)
        names["_climb"] = climber(names["_derivatives"], self._numbers["_LOGS"], _of_shapes(_limit, count))
        names["_prepared"] = _of_shapes(_prepared, count)
        for body in _LATER:
            names[body.__name__] = bind(body, **names)
        return {"_series": names["_fit_series"]}


@functools.cache
def _of_shapes(body, count):
    """A function that depends on a family by the number of its shapes alone, compiled once for all that have as many."""
    return bind(body, _SHAPES=count)
