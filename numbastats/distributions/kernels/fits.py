"""``fit``: maximum likelihood for many series, one series per item of the loop.

The caller's values are read where they are: a series is copied into room for one, of counts each once with its weight (`_taken`).
There it is packed: missing values and those of weight 0 are dropped, zeros with a share of their own are counted apart.
Everything after that runs over contiguous values without gaps, with weights of mean 1. `_fitted` multiplies log-likelihood and
information by their mean, and writes what is returned in its layout; `FINISH` makes covariances of it.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numba import prange, types

from numbastats._core import numba_internals
from numbastats._core.climb import HELD, HESSIAN, HIGH, LOW, PAR, climber, rows
from numbastats._core.cuda_backend import cuda
from numbastats._core.endings import BOUND, CONSTANT, LIMIT, NO_CONVERGENCE, NONE_LEFT, NOT_FINITE, OK, OUTSIDE, POLE, TOO_FEW
from numbastats._core.information import invert
from numbastats._core.kernel import Kernel, WithFunctions, array_function, bind, build
from numbastats.scalar import elementary as el
from numbastats.scalar import mixture as fam
from numbastats.scalar import special
from numbastats.scalar.counts import floor

__all__ = [
    "CUT",
    "EXACT",
    "FINISH",
    "FIT_ASYMMETRIC_LAPLACE",
    "FIT_BETA",
    "FIT_GAMMA",
    "FIT_INVERSE_GAUSSIAN",
    "FIT_LOGNORMAL",
    "FIT_NORMAL",
    "FIT_STUDENT_T",
    "FIT_WEIBULL",
    "INTERVALS",
    "LOGLIK",
    "MASS",
    "MISSING",
    "MOST",
    "NUMBERS",
    "OwnEquations",
    "PASSES",
    "TOTAL",
    "VALUES",
    "ZEROS",
    "admitted",
    "begin",
    "by_equations",
    "fit_cpu",
    "fitted",
    "how_of",
    "is_started",
    "judged",
    "kernel",
    "mean_square",
    "pack",
    "quartiles",
    "results",
    "room_of",
    "sizes",
    "sort",
    "weighted_mean",
]

# columns of `numbers`; MASS is the sum of weights of mean 1 and TOTAL that of the weights; in what is returned it is that of the
# weights, and TOTAL their mean
LOGLIK, MASS, ZEROS, PASSES, TOTAL, VALUES, MISSING = range(7)
NUMBERS = 7
# what a series is: values; lower ends, upper ends and as much room, one after another, rows of negative weight last; or values
# within a truncation
EXACT, INTERVALS, CUT = 0, 1, 2
# the numbers of `how`, before the places of the returned parameters: whether values have weights, zeros a share of their own, and
# values are intervals, counts or have the other sign, and whether `params` have where climbs begin; the number of values that a
# series must have, and of numbers that there is room for with each; the number of the kernel's parameters
_WEIGHTED, _SHARE, _INTERVALS, _COUNTS, _MIRRORED, _STARTED, _LEAST_COUNT, _ROOM, _WIDTH, _COLUMNS = range(10)
_SAID = "weighted", "share", "intervals", "counts", "mirrored", "started", "least_count"  # the first of them by name
MOST = 300  # evaluations of a climb


class OwnEquations(NamedTuple):
    """A kernel for exact values of one family, whose location is 0 where it has none."""

    names: tuple[str, ...]  # its parameters
    kernel: Any
    cost: float  # nanoseconds for each value
    held: dict[str, float] | None = None  # parameters of the kernel that the family does not have
    layout: tuple[str, ...] = ()  # parameters of the kernel in its order, where they are others
    fixable: tuple[str, ...] | None = None  # those that may be fixed; all by default
    certain: bool = False  # whether a maximum that is found is the only one
    searches: bool = False  # whether they look for all maxima, so that no climb from elsewhere finds a better one


_LOG_2PI = 1.8378770664093453
_LEAST_DF, _MOST_DF = 0.05, 1e6  # of Student's t; below, the likelihood has poles at every value
_NARROW = 1e-9  # scales in units of the quartile distance; below, the likelihood climbs to a pole
_ABOVE = 1.0 + 1e-12  # weights that add up to a quantile's share but for rounding count as that
_CURVED = 1e-8  # least curvature of a maximum for each value
_CLEAR = 1.25  # degrees of freedom from which on ties make no pole, over those below which they do
_LARGEST = 5  # number of parameters of a family
_ROWS = 2 * _LARGEST + 3  # in which their information is inverted
_FEW = 30  # values whose likelihood may well have several maxima
_LARGE, _SMALL = 1e150, 1e-150  # data of normal families: beyond, their squares leave the doubles

# sums may be reordered, so that loops over values use vectors
_FLAGS = ("contract", "reassoc")
_function = array_function(fastmath=_FLAGS, host=False)
_series = ROWS = SIZE = OWN = None  # bound by build: the fit of a series, and the size of its work space
# bound by build: where values of a family begin, and its equations or how to call them
_lower = _equations = _call = _own = None
_least = 0.0


@_function
def pack(x, w, weighted, share, numbers):
    """Number of values kept, at the front of x; least and largest; whether all are finite."""
    n, mass, zeros = 0, 0.0, 0.0
    least, most, finite = math.inf, -math.inf, True
    for j in range(x.size):
        v, m = x[j], w[j]
        if not (v != v) and m > 0.0:
            if share and v == 0.0:
                zeros += m
            else:
                finite = finite and abs(v) < math.inf
                least, most = min(least, v), max(most, v)
                mass += m
                x[n] = v
                if weighted:
                    w[n] = m
                n += 1
    numbers[MASS] = mass
    numbers[ZEROS] = zeros / (zeros + mass) if zeros + mass > 0.0 else math.nan
    return n, least, most, finite


@_function
def _of_mean_one(w):
    """Divides weights by their mean; their sum then."""
    top, s = 0.0, 0.0
    for j in range(w.size):
        top = max(top, w[j])
    for j in range(w.size):
        s += w[j] / top
    mean = s / w.size
    s = 0.0
    for j in range(w.size):
        w[j] = w[j] / top / mean
        s += w[j]
    return s


@_function
def weighted_mean(x, w):
    """Mean, in two passes."""
    s, mass = 0.0, 0.0
    for j in range(x.size):
        s += w[j] * x[j]
        mass += w[j]
    m, rest = s / mass, 0.0
    for j in range(x.size):
        rest += w[j] * (x[j] - m)
    return m + rest / mass


@_function
def mean_square(x, w, m):
    """Mean of (x - m)^2."""
    s, mass = 0.0, 0.0
    for j in range(x.size):
        s += w[j] * ((x[j] - m) * (x[j] - m))
        mass += w[j]
    return s / mass


@_function
def _to_logs(x, w):
    """Replaces x by its logarithm; returns the weighted sum of the logarithms."""
    s = 0.0
    for j in range(x.size):
        x[j] = el.log(x[j])
        s += w[j] * x[j]
    return s


@_function
def _has_squares(least, most):
    """Whether the squares of values and of their differences are doubles."""
    return max(most, -least) < _LARGE and most - least > _SMALL


@_function
def _normal(x, w, fixed_loc, fixed_scale, numbers):
    """(loc, scale) and the log-likelihood."""
    loc = fixed_loc if fixed_loc == fixed_loc else weighted_mean(x, w)
    v = mean_square(x, w, loc)
    scale = fixed_scale if fixed_scale == fixed_scale else math.sqrt(v)
    numbers[LOGLIK] = -numbers[MASS] * (0.5 * _LOG_2PI + math.log(scale) + 0.5 * (v / scale) / scale)
    return loc, scale


# --- equations of families ---------------------------------------------------------------------------------------
# of a series that has been packed, with its least and largest value; they return the status


@_function
def _fit_normal(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """Mean and standard deviation."""
    if not _has_squares(least, most):
        return NOT_FINITE
    loc, scale = _normal(x, w, fixed[0], fixed[1], numbers)
    params[0], params[1] = loc, scale
    mass = numbers[MASS]
    info[0], info[1], info[2] = mass / scale / scale, 0.0, 2.0 * mass / scale / scale
    return OK if scale > 0.0 else BOUND


@_function
def _fit_lognormal(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """Those of the logarithms, which take the place of x."""
    logs = _to_logs(x, w)
    loc, scale = _normal(x, w, math.log(fixed[1]), fixed[0], numbers)
    numbers[LOGLIK] -= logs
    over, mass = math.exp(loc), numbers[MASS]
    params[0], params[1] = scale, over
    info[0], info[1], info[2] = 2.0 * mass / scale / scale, 0.0, mass / scale / scale / over / over
    return OK if scale > 0.0 else BOUND


@_function
def _fit_inverse_gaussian(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """f = sqrt(shape/(2 pi x^3)) exp(-shape (x - mean)^2/(2 mean^2 x)); both estimates are closed."""
    mass = numbers[MASS]
    m = fixed[0] if fixed[0] == fixed[0] else weighted_mean(x, w)
    s, logs = 0.0, 0.0
    for j in range(x.size):
        r = (x[j] - m) / m
        s += w[j] * (r * (r / x[j]))
        logs += w[j] * el.log(x[j])
    shape = fixed[1] if fixed[1] == fixed[1] else mass / s
    numbers[LOGLIK] = 0.5 * mass * (math.log(shape) - _LOG_2PI) - 1.5 * logs - 0.5 * shape * s
    params[0], params[1] = m, shape
    info[0], info[1], info[2] = mass * (shape / m) / (m * m), 0.0, 0.5 * mass / shape / shape
    return OK


@_function
def _fit_gamma(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """Shape a from log a - psi(a) = log(mean x) - mean log x, scale = mean/a."""
    mass = numbers[MASS]
    m = weighted_mean(x, w)
    d = 0.0
    for j in range(x.size):
        r = x[j] / m
        d += w[j] * ((r - 1.0) - el.log(r))
    d /= mass
    if d < 1e-3:  # of few digits
        d = 0.0
        for j in range(x.size):
            d += w[j] * fam.deviance(fam.GAMMA, x[j], m)
        d /= mass
    logs = math.log(m) - d
    if fixed[0] == fixed[0]:
        a = fixed[0]
        scale = fixed[1] if fixed[1] == fixed[1] else m / a
    elif fixed[1] == fixed[1]:  # psi(a) = mean log(x/scale): Newton from Minka's start
        scale = fixed[1]
        c = logs - math.log(scale)
        a = math.exp(c) + 0.5 if c >= -2.22 else -1.0 / (c + 0.5772156649015329)
        steps = 0
        while steps < 40:
            f, e, _g = fam.gamma_terms(a)
            step = (c - (math.log(a) - f)) / (1.0 / a - e)
            a = a + step if step > -0.9 * a else 0.1 * a
            steps = steps + 1 if abs(step) > 1e-12 * a else 40
    else:
        a = 1.0 / fam.gamma_dispersion(d)
        scale = m / a
    _f, e, g = fam.gamma_terms(a)
    own = m / (a * scale)  # 1 unless both are fixed or the scale is
    numbers[LOGLIK] = mass * (g + a - a * own - a * math.log(a * scale) + (a - 1.0) * logs)
    params[0], params[1] = a, scale
    info[0], info[1], info[2] = mass * (1.0 / a - e), mass / scale, mass * a / scale / scale * (2.0 * own - 1.0)
    return OK if a < 1e15 else BOUND


@_function
def _power_sums(y, w, k, top):
    """Sums of w e^(k (y - top)) (1, y - top, (y - top)^2)."""
    s0, s1, s2 = 0.0, 0.0, 0.0
    for j in range(y.size):
        t = y[j] - top
        e = w[j] * el.exp(k * t)
        s0 += e
        s1 += e * t
        s2 += e * (t * t)
    return s0, s1, s2


@_function
def _fit_weibull(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """f = k/x (x/scale)^k exp(-(x/scale)^k), through y = log x, which takes the place of x."""
    mass, free = numbers[MASS], not fixed[1] == fixed[1]
    logs = _to_logs(x, w)
    mean = logs / mass
    origin = math.log(most) if free else math.log(fixed[1])
    k, status, passes = fixed[0], OK, 1
    if not k == k:
        k = 1.2825498301618641 / math.sqrt(mean_square(x, w, mean))  # pi/sqrt(6), by the spread of logs
        status = NO_CONVERGENCE
        while status == NO_CONVERGENCE and passes < 100:
            s0, s1, s2 = _power_sums(x, w, k, origin)
            if free:
                g = 1.0 / k + (mean - origin) - s1 / s0
                slope = 1.0 / (k * k) + max(s2 / s0 - (s1 / s0) * (s1 / s0), 0.0)
            else:
                g = 1.0 / k + (mean - origin) - s1 / mass
                slope = 1.0 / (k * k) + s2 / mass
            step = g / slope if slope < math.inf else -k
            new = k + step
            if not new < 2.5 * k:
                new = 2.5 * k
            if not new > 0.4 * k:
                new = 0.4 * k
            if abs(new - k) < 1e-10 * k:
                status = OK
            k = new
            passes += 1
    s0, s1, s2 = _power_sums(x, w, k, origin)
    shift = math.log(s0 / mass) / k if free else 0.0  # log of scale/e^origin
    scale = math.exp(origin + shift) if free else fixed[1]
    fall = mass / s0 if free else 1.0
    u0, u1 = s0 * fall, (s1 - shift * s0) * fall
    u2 = (s2 - 2.0 * shift * s1 + shift * shift * s0) * fall
    numbers[LOGLIK] = mass * (math.log(k) - k * (origin + shift)) + (k - 1.0) * logs - u0
    params[0], params[1] = k, scale
    info[0] = mass / k / k + u2
    info[1] = -(k * u1 + u0 - mass) / scale
    info[2] = k * ((k + 1.0) * u0 - mass) / scale / scale
    numbers[PASSES] = passes
    return status


@_function
def _selected(x, w, weighted, lo, hi, before):
    """Puts a quantile of x[lo:hi + 1] in its place by Hoare's selection: index, and `before` less the weight of those before it.

    It is the least value that has, with those not larger, more than the weight `before`; those before it are not larger.
    """
    while lo < hi:
        pivot, i, j = x[(lo + hi) // 2], lo, hi
        while i <= j:
            while x[i] < pivot:
                i += 1
            while pivot < x[j]:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                if weighted:
                    w[i], w[j] = w[j], w[i]
                i += 1
                j -= 1
        left, equal = float(j + 1 - lo), float(i - j - 1)
        if weighted:
            left, equal = 0.0, w[j + 1] if i - j == 2 else 0.0
            for m in range(lo, j + 1):
                left += w[m]
        if before < left:
            hi = j
        elif before < left + equal:
            return j + 1, before - left
        else:
            lo, before = min(i, hi), before - left - equal
    return lo, before


@_function
def quartiles(x, w, weighted, mass):
    """The quartiles; values change places."""
    first, last = np.int64(0), x.size - 1  # a plain 0 has a type of its own: what is called with it is compiled twice
    at, rest = _selected(x, w, weighted, first, last, 0.5 * mass * _ABOVE)
    middle = x[at]
    low, _rest = _selected(x, w, weighted, first, at, 0.25 * mass * _ABOVE)
    high, _rest = _selected(x, w, weighted, at, last, 0.25 * mass * _ABOVE + rest)
    return x[low], middle, x[high]


@_function
def _student_constant(df):
    """Log of the density's constant, and its first two derivatives by df."""
    a = df + 1.0
    d1, e1, _g1 = fam.gamma_terms(0.5 * a)
    d0, e0, _g0 = fam.gamma_terms(0.5 * df)
    c = -math.log(math.sqrt(df) * 1.7724538509055161 * special.gamma_half_ratio(0.5 * df))
    first = 0.5 * (math.log1p(1.0 / df) - d1 + d0) - 0.5 / df
    second = 0.25 * ((2.0 / a - e1) - (2.0 / df - e0)) + 0.5 / (df * df)
    return c, first, second


@_function
def _student_sums(x, w, df, loc, scale):
    """Sums of log(1 + u/df), and with d = 1/(df + u), r = (x - loc)/scale, u = r^2 of d, d u d, r d, r d^2, u d, u d^2."""
    sl, s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    over, back = 1.0 / scale, 1.0 / df
    for j in range(x.size):
        r = (x[j] - loc) * over
        u = r * r
        d = 1.0 / (df + u)
        wd, ud = w[j] * d, u * d
        sl += w[j] * el.log1p(u * back)
        s0 += wd
        s1 += wd * ud
        s2 += wd * r
        s3 += wd * (r * d)
        s4 += wd * u
        s5 += w[j] * (ud * ud)
    return sl, s0, s1, s2, s3, s4, s5


# what the functions of a climb get as `data`: values, weights and their sum; the scale of a pole; df of the normal distribution


@_function
def _student_derivatives(data, p, g, H):
    """Log-likelihood, its rounding, gradient and Hessian by (df, loc, scale).

    With a = df + 1, r = (x - loc)/scale, u = r^2 and d = 1/(df + u): l_loc = (a/scale) sum r d, l_scale = sum (a u d - 1)/scale,
    and so on by d' = -d^2.
    """
    x, w, mass, _narrow, _most = data
    df, scale = p[0], p[2]
    a, over = df + 1.0, 1.0 / scale
    sl, s0, s1, s2, s3, s4, s5 = _student_sums(x, w, df, p[1], scale)
    c, c1, c2 = _student_constant(df)
    g[0] = mass * c1 - 0.5 * sl + 0.5 * a * s4 / df
    g[1] = a * s2 * over
    g[2] = (a * s4 - mass) * over
    H[0, 0] = mass * c2 + s4 / df - 0.5 * a * (2.0 * df * s1 + s5) / (df * df)
    H[1, 0] = (s2 - a * s3) * over
    H[2, 0] = (s4 - a * s1) * over
    H[1, 1] = -a * (s0 - 2.0 * s1) * over * over
    H[2, 1] = -2.0 * a * df * s3 * over * over
    H[2, 2] = -2.0 * a * df * s1 * over * over - g[2] * over
    value = mass * (c - math.log(scale)) - 0.5 * a * sl
    return value, 1e-14 * abs(value)


@_function
def _student_limit(data, p):
    """The status next to a pole, or to the normal distribution; else 0."""
    _x, _w, _mass, narrow, most = data
    if p[2] < narrow:
        return POLE
    return LIMIT if p[0] >= most else 0


@_function
def _student_least(data, mass):
    """With df known the least curvature of a maximum: where ties are just not enough for a pole, a ridge leads to scale 0."""
    return _CURVED * mass if data[4] == math.inf else -math.inf


_student_climb = climber(_student_derivatives, (True, False, True), _student_limit, _student_least)


@_function
def begin(fixed, work):
    """Set what a climb holds, at row PAR of its work space too; a series fixes NaN where it fixes nothing."""
    for i in range(work.shape[1]):
        work[HELD, i], work[LOW, i], work[HIGH, i] = fixed[i], -math.inf, math.inf
        if fixed[i] == fixed[i]:
            work[PAR, i] = fixed[i]


@_function
def results(work, n, params, info):
    """Parameters and information of a climb, from its work space."""
    for i in range(n):
        params[i] = work[PAR, i]
        for j in range(i + 1):
            info[i * (i + 1) // 2 + j] = -work[HESSIAN + i, j]


@_function
def _shortest_half(x, w, weighted, mass):
    """Middle and half length of the shortest of the intervals between octiles that hold half of the values."""
    last, k, at, passed = x.size - 1, 0, 0, 0.0
    v0, v1, v2, v3 = 0.0, 0.0, 0.0, 0.0
    middle, half = 0.0, math.inf
    while k <= 8:
        share = min(0.125 * k * mass * _ABOVE, mass * (1.0 - 1e-9))
        at, rest = _selected(x, w, weighted, at, last, share - passed)
        passed = share - rest
        if k >= 4 and 0.5 * (x[at] - v0) < half:
            middle, half = 0.5 * (x[at] + v0), 0.5 * (x[at] - v0)
        v0, v1, v2, v3 = v1, v2, v3, x[at]
        k += 1
    return middle, half


@_function
def _tied(x, w, loc, width):
    """Weight of the values around a place."""
    s = 0.0
    for j in range(x.size):
        s += w[j] if abs(x[j] - loc) <= width else 0.0
    return s


@_function
def _fit_student(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """The best of climbs from few and many degrees of freedom, and the normal limit.

    Of few values, and where the quartiles are askew, as of clean values with others on one side of them, two more climbs begin
    with still fewer, in the shortest half and at the median.
    Ties of the share s make poles below df = s/(1 - s): a climb that ends in one is repeated above.
    """
    if not _has_squares(least, most):
        return NOT_FINITE
    mass = numbers[MASS]
    free = not fixed[0] == fixed[0]
    low, middle, high = quartiles(x, w, weighted, mass)
    spread = math.sqrt(mean_square(x, w, middle))
    unit = 0.7 * (high - low) if high > low else 0.1 * spread
    centre, half = middle, 0.0
    if x.size < _FEW or abs((high - middle) - (middle - low)) > 0.5 * (high - low):
        centre, half = _shortest_half(x, w, weighted, mass)
    p, low = work[PAR], work[LOW]
    best, status, floor = -math.inf, NO_CONVERGENCE, _LEAST_DF
    # a loop over two would be unrolled, at twice the compile time; with df fixed the last start is the first
    attempt, starts = 0, (4 if free else 3) if half > 0.0 else (2 if free else 1)
    while attempt < starts:
        attempt += 1
        if attempt == 1:
            p[0], p[1], p[2] = 3.0, middle, unit
        elif attempt == 2:
            p[0], p[1], p[2] = 20.0, middle, min(spread, 10.0 * unit)
        elif attempt == 3:
            p[0], p[1], p[2] = 1.0, centre, half
        else:
            p[0], p[1], p[2] = 0.3, middle, unit
        p[0] = max(p[0], floor)
        begin(fixed, work)
        low[0] = floor
        sample = x, w, mass, _NARROW * unit, _MOST_DF if free else math.inf
        done, reached, passes = _student_climb(sample, np.int64(3), mass, 1e-3, MOST, work)  # not 3: see `quartiles`
        numbers[PASSES] += passes
        if free and p[0] <= floor and done != POLE:
            done = BOUND
        if (done == BOUND or done == POLE) and free:
            ties = _tied(x, w, p[1], 1e3 * _NARROW * unit)
            if _CLEAR * ties > floor * (mass - ties) * (1.0 + 1e-9):
                floor, attempt = _CLEAR * ties / (mass - ties), attempt - 1
                continue
        pole, at_pole = done == BOUND or done == POLE, status == BOUND or status == POLE
        if best == -math.inf or (at_pole and not pole) or (at_pole == pole and reached > best):
            best, status = reached, done
            results(work, 3, params, info)
    if status != BOUND and status != POLE and free:
        loc, scale = _normal(x, w, fixed[1], fixed[2], numbers)
        if status == LIMIT or numbers[LOGLIK] >= best - 1e-12 * abs(best):
            status, best = LIMIT, numbers[LOGLIK]
            params[0], params[1], params[2] = math.inf, loc, scale
            info[0], info[1], info[2] = math.nan, 0.0, mass / scale / scale
            info[3], info[4], info[5] = 0.0, 0.0, 2.0 * mass / scale / scale
    numbers[LOGLIK] = best
    return status


@_function
def judged(n, least, most, finite, outside, w, weighted, least_count, params, info, numbers):
    """The status of a series that has been packed, OK to be fitted; sets what is not known to NaN, and the weights' mean to 1."""
    for i in range(params.size):
        params[i] = math.nan
    for i in range(info.size):
        info[i] = math.nan
    numbers[LOGLIK], numbers[PASSES], numbers[TOTAL] = math.nan, 0.0, numbers[MASS]
    count = max(float(n), numbers[MASS])  # weights are repetitions
    if weighted and n > 0:
        numbers[MASS] = _of_mean_one(w[:n])
    status = OK
    if n == 0 and not numbers[ZEROS] > 0.0:
        status = NONE_LEFT
    elif not finite:
        status = NOT_FINITE
    elif outside:
        status = OUTSIDE
    elif count < least_count:
        status = TOO_FEW
    elif least == most:
        status = CONSTANT
    return status


@_function
def admitted(x, w, weighted, share, least_count, ends, params, info, numbers):
    """Packs a series: number of values, least and largest, and a status, OK to be fitted.

    ends: between which all values must be.
    """
    n, least, most, finite = pack(x, w, weighted, share, numbers)
    outside = n > 0 and not (least > ends[0] and most < ends[1])
    return n, least, most, judged(n, least, most, finite, outside, w, weighted, least_count, params, info, numbers)


@_function
def _fit_series(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """Fits one series, which it overwrites; returns the status."""
    ends = _lower(family), math.inf
    n, least, most, status = admitted(x, w, weighted, share, least_count, ends, params, info, numbers)
    if status != OK:
        return status
    return _equations(family, x[:n], w[:n], weighted, least, most, fixed, params, info, numbers, work)


@_function
def _lower_there(family):
    return family[1]


@_function
def _equations_there(family, x, w, weighted, least, most, fixed, params, info, numbers, work):
    return _call(family[2], (x, w, weighted, least, most, fixed, params, info, numbers, work))


@_function
def _lower_here(family):
    return _least


@_function
def _equations_here(family, x, w, weighted, least, most, fixed, params, info, numbers, work):
    return _own(x, w, weighted, least, most, fixed, params, info, numbers, work)


@_function
def _beta_derivatives(data, p, g, H):
    """Log-likelihood, its rounding, gradient and Hessian by (a, b), from means of log x and log(1 - x) and the sum of weights."""
    c0, c1, mass = data
    a, b = p[0], p[1]
    fa, ea, ga = fam.gamma_terms(a)
    fb, eb, gb = fam.gamma_terms(b)
    fc, ec, gc = fam.gamma_terms(a + b)
    d0, d1, shared = c0 + math.log1p(b / a), c1 + math.log1p(a / b), 1.0 / (a + b) - ec
    g[0], g[1] = mass * (d0 + fa - fc), mass * (d1 + fb - fc)
    H[0, 0], H[1, 0], H[1, 1] = mass * (shared - (1.0 / a - ea)), mass * shared, mass * (shared - (1.0 / b - eb))
    return mass * (a * d0 + b * d1 - c0 - c1 + (ga + gb - gc)), 1e-15 * mass * (a * abs(c0) + b * abs(c1))


_beta_climb = climber(_beta_derivatives, (True, True))


@_function
def _fit_beta(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """f = x^(a - 1) (1 - x)^(b - 1)/B(a, b), whose likelihood is concave in (a, b)."""
    n, _least, _most, status = admitted(x, w, weighted, share, least_count, (0.0, 1.0), params, info, numbers)
    if status != OK:
        return status
    x, w = x[:n], w[:n]
    mass, m = numbers[MASS], weighted_mean(x, w)
    v = mean_square(x, w, m)
    c0, c1 = 0.0, 0.0
    for j in range(n):
        c0 += w[j] * el.log(x[j])
        c1 += w[j] * el.log1p(-x[j])
    size = max(m * (1.0 - m) / v - 1.0, 0.1)
    work[PAR, 0], work[PAR, 1] = m * size, (1.0 - m) * size
    begin(fixed, work)
    status, numbers[LOGLIK], numbers[PASSES] = _beta_climb((c0 / mass, c1 / mass, mass), 2, mass, 0.0, MOST, work)
    results(work, 2, params, info)
    return status if max(params[0], params[1]) < 1e15 else BOUND


@_function
def sort(x, w, weighted):
    """Ascending order by a heap, in place; weights go along."""
    first, last = x.size // 2, x.size
    while last > 1:
        if first > 0:
            first -= 1
        else:
            last -= 1
            x[0], x[last] = x[last], x[0]
            if weighted:
                w[0], w[last] = w[last], w[0]
        root, child = first, 2 * first + 1
        while child < last:
            if child + 1 < last and x[child] < x[child + 1]:
                child += 1
            if not x[root] < x[child]:
                break
            x[root], x[child] = x[child], x[root]
            if weighted:
                w[root], w[child] = w[child], w[root]
            root, child = child, 2 * child + 1


@_function
def _sides(x, w, at, mass):
    """Mean distances of values above and below a place."""
    above, below = 0.0, 0.0
    for j in range(x.size):
        away = x[j] - at
        above += w[j] * max(away, 0.0)
        below -= w[j] * min(away, 0.0)
    return above / mass, below / mass


@_function
def _fit_asymmetric_laplace(family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """f = kappa/(1 + kappa^2)/s exp(-kappa z) above loc, exp(z/kappa) below.

    With A and B the mean distances above and below loc, the likelihood given loc has its maximum at kappa^4 = B/A and
    s = kappa A + B/kappa, where it falls with sqrt(A) + sqrt(B), a concave function between values: loc is the best of these.
    Given kappa it falls with kappa A + B/kappa, and loc is a quantile. Information is the expected one.
    At the least or the largest value kappa and s go to 0, or to inf and 0: the limit is an exponential distribution, whose
    log-likelihood is that of the same formula.
    """
    n, _least, _most, status = admitted(x, w, weighted, share, least_count, (-math.inf, math.inf), params, info, numbers)
    if status != OK:
        return status
    x, w, mass, k = x[:n], w[:n], numbers[MASS], fixed[0]
    sort(x, w, weighted)
    above, _none = _sides(x, w, x[0], mass)
    below, left, best, at = 0.0, 0.0, math.inf, x[0]
    for j in range(n):
        if j > 0:
            step = x[j] - x[j - 1]
            left += w[j - 1] / mass
            above, below = max(above - (1.0 - left) * step, 0.0), below + left * step
        value = k * above + below / k if k == k else math.sqrt(above) + math.sqrt(below)
        if value < best:
            best, at = value, x[j]
    above, below = _sides(x, w, at, mass)
    k = k if k == k else math.sqrt(math.sqrt(below / above)) if above > 0.0 else math.inf
    s = k * above + below / k if k > 0.0 and k < math.inf else 0.0
    params[0], params[1], params[2] = k, at, s
    if not s > 0.0:
        numbers[LOGLIK] = -mass * (1.0 + 2.0 * math.log(best))
        return BOUND
    square = 1.0 + k * k
    numbers[LOGLIK] = mass * (math.log(k / square) - math.log(s) - 1.0)
    info[0], info[1], info[2] = mass * (1.0 / (k * k) + 4.0 / (square * square)), -2.0 * mass / square / s, mass / s / s
    info[3], info[4], info[5] = mass * (k * k - 1.0) / (k * square) / s, 0.0, mass / s / s
    return OK


# --- the loop over series ---------------------------------------------------------------------------------------
# `spans` are the places at which each series begins and ends among the values; or one pair for all, -1 and their length


@_function
def _ends(spans, i):
    """Where series i begins and ends."""
    if spans[0, 0] < 0:
        return i * spans[0, 1], (i + 1) * spans[0, 1]
    return spans[i, 0], spans[i, 1]


@_function
def _once_each(x, w, buckets, least, most):
    """Puts every value of a series once to the front, in order, with the sum of its weights: how many there are."""
    n, found = x.size, 0
    whole = n > 0 and most - least < float(n)
    for j in range(n):
        whole = whole and x[j] == floor(x[j])
    if whole:
        count = int(most - least) + 1
        for j in range(count):
            buckets[j] = 0.0
        for j in range(n):
            buckets[int(x[j] - least)] += w[j]
        for j in range(count):
            if buckets[j] > 0.0:
                x[found], w[found] = least + j, buckets[j]
                found += 1
        return found
    sort(x, w, True)
    for j in range(n):
        if found > 0 and x[j] == x[found - 1]:
            w[found - 1] += w[j]
        else:
            x[found], w[found] = x[j], w[j]
            found += 1
    return found


@_function
def _within(lo, hi, first, last):
    """An interval from its first to its last count, within the truncation; without one, a value that is no count."""
    if lo != lo or hi != hi:
        return lo, hi
    first = max(first, 0.0)
    first, last = lo if lo > first else first, floor(hi if hi < last else last)
    whole = floor(first)
    first = whole if whole == first else whole + 1.0
    return (first, last) if first <= last else (first - 0.5, first - 0.5)


@_function
def _taken(x, hi, w, how, fixed, room, numbers):
    """Copies a series into its room: number of items there; counts the values that have a part, and those that are missing."""
    intervals, weighted, counted, share = how[_INTERVALS] != 0, how[_WEIGHTED] != 0, how[_COUNTS] != 0, how[_SHARE] != 0
    length, sign, k = x.size, -1.0 if how[_MIRRORED] != 0 else 1.0, fixed.size
    values, missing, n, least, most = 0, 0, 0, math.inf, -math.inf
    for j in range(length):
        v, m = x[j], w[j]
        gone = v != v
        if intervals:
            u = hi[j]
            gone = gone or u != u or (abs(v) == math.inf and abs(u) == math.inf)
            low, high = (v, u) if sign > 0.0 else (-u, -v)
            if counted:
                low, high = _within(low, high, fixed[k - 2], fixed[k - 1])
            room[j], room[length + j] = low, high
            if weighted:
                room[3 * length + j] = m
        elif counted:
            if not gone:
                room[n], room[length + n] = sign * v, m
                least, most = min(least, sign * v), max(most, sign * v)
                n += 1
        else:
            room[j] = sign * v
            if weighted:
                room[length + j] = m
        if gone:
            missing += 1
        elif m > 0.0 and not (share and v == 0.0):
            values += 1
    numbers[VALUES], numbers[MISSING] = values, missing
    if counted and not intervals:
        return _once_each(room[:n], room[length : length + n], room[2 * length : 3 * length], least, most)
    return length


@_function
def _fitted(family, x, hi, w, how, fixed, room, params, info, numbers, work, own):
    """Fits one series: status, its parameters, information and numbers as they are returned. `room` is for its copy."""
    intervals, weighted, started = how[_INTERVALS] != 0, how[_WEIGHTED] != 0, how[_STARTED] != 0
    width, length, tallied = how[_WIDTH], x.size, how[_COUNTS] != 0 and not intervals
    given, triangle = own[:width], own[width : width + width * (width + 1) // 2]
    for i in range(width):
        given[i] = fixed[i] if started else math.nan
    for j in range(params.size):
        if started:
            given[how[_COLUMNS + j]] = params[j]
    n = _taken(x, hi, w, how, fixed, room, numbers)
    if tallied:
        w = room[length : length + n]
    elif weighted:
        w = room[3 * length : 4 * length] if intervals else room[length : 2 * length]
    y = room[: 3 * length] if intervals else room[:n]
    share, least = how[_SHARE] != 0, how[_LEAST_COUNT]
    status = _series(family, y, w, weighted or tallied, share, least, fixed, given, triangle, numbers, work)
    mass, total = numbers[MASS], numbers[TOTAL]
    unit = 1.0 if mass == total else total / mass
    numbers[LOGLIK], numbers[MASS], numbers[TOTAL] = unit * numbers[LOGLIK], total, unit
    if not weighted:
        numbers[VALUES] = total
    for i in range(params.size):
        a = how[_COLUMNS + i]
        params[i] = given[a]
        for j in range(params.size):
            big, small = max(a, how[_COLUMNS + j]), min(a, how[_COLUMNS + j])
            info[i, j] = unit * triangle[big * (big + 1) // 2 + small]
    return status


# --- twins -------------------------------------------------------------------------------------------------------


def fit_cpu(family, x, hi, w, how, fixed, spans, room, params, info, numbers, status):
    """Fits series after series, in the room of one; `w` are ones where nothing is weighted, `hi` anything without intervals."""
    work, own = np.empty((ROWS, SIZE)), np.empty(OWN)
    for i in range(status.size):
        a, b = _ends(spans, i)
        ends = hi[a:b] if how[_INTERVALS] != 0 else hi[:0]
        v = w[a:b] if how[_WEIGHTED] != 0 else w[: b - a]
        status[i] = _fitted(family, x[a:b], ends, v, how, fixed, room, params[i], info[i], numbers[i], work, own)


def fit_cuda(family, x, hi, w, how, fixed, spans, room, params, info, numbers, status):
    work, own = cuda.local.array((ROWS, SIZE), np.float64), cuda.local.array(OWN, np.float64)
    for i in range(cuda.grid(1), status.size, cuda.gridsize(1)):
        a, b = _ends(spans, i)
        ends = hi[a:b] if how[_INTERVALS] != 0 else hi[:0]
        v = w[a:b] if how[_WEIGHTED] != 0 else w[: b - a]
        mine = room[how[_ROOM] * a : how[_ROOM] * b]
        status[i] = _fitted(family, x[a:b], ends, v, how, fixed, mine, params[i], info[i], numbers[i], work, own)


def _parts(args, count):
    """The arguments for about `count` shares of the series, each with room of its own."""
    family, x, hi, w, how, fixed, spans, room, params, info, numbers, status = args
    n, alike, parts = status.size, spans[0, 0] < 0, []
    edges = np.linspace(0, n, min(count, n) + 1).astype(np.int64)
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        at = slice(a * spans[0, 1], b * spans[0, 1]) if alike else slice(None)
        values = x[at], hi[at] if how[_INTERVALS] else hi, w[at] if how[_WEIGHTED] else w
        own = (spans if alike else spans[a:b]), np.empty(room.size)
        parts.append((family, *values, how, fixed, *own, params[a:b], info[a:b], numbers[a:b], status[a:b]))
    return parts


def how_of(columns, width, **said):
    """What `how` of the kernels says: numbers by name, and the places of the returned parameters among `width` of the kernel."""
    how = np.zeros(_COLUMNS + len(columns), np.int64)
    for name, value in said.items():
        how[_SAID.index(name)] = value
    how[_ROOM] = 3 + how[_WEIGHTED] if how[_INTERVALS] else 3 if how[_COUNTS] else 1 + how[_WEIGHTED]
    how[_WIDTH], how[_COLUMNS:] = width, columns
    return how


def room_of(how, count):
    """Size of the room for copies of so many values."""
    return int(how[_ROOM]) * count


def is_started(how):
    """Whether the parameters have where climbs begin."""
    return bool(how[_STARTED])


def sizes(size, more_rows=0):
    """Of the work space of fits of at most so many parameters; more rows are the family's."""
    widest = max(size, 3)  # of numbers that say what is fixed there are three at least
    return {"SIZE": size, "ROWS": rows(size) + more_rows, "OWN": widest * (widest + 3) // 2}


def _types_of(T):
    """Types of a fit's arguments."""
    i, row, many = types.int64, T[::1], T[:, ::1]
    return [(i, row, row, row, i[::1], row, i[:, ::1], row, many, T[:, :, ::1], many, i[::1])]


def fitted(series):
    """`_fitted` by a fit of packed series."""
    return bind(_fitted, _series=series)


def kernel(name, series, size, more_rows=0, late=None, **options):
    """The kernel that fits series of a family of at most `size` parameters; more rows of the work space are the family's.

    `late` gives the fit of a series when it is first used; further options are those of `Kernel`.
    """
    bound = sizes(size, more_rows) | ({} if late else {"_fitted": fitted(series)})
    options |= dict(dtypes=("float64",), split=_parts, late=late)
    return Kernel(f"distributions.{name}", fit_cpu, fit_cuda, _types_of, **options, **bound)


@_function
def _finished(info, free, numbers, status, cov, se, counts, work):
    """Covariance, standard errors and counts of a fit; NaN where it ended in no maximum inside."""
    p, inside = free.size, status == OK or status == NO_CONVERGENCE
    if inside:
        invert(info, free, cov, work)
    for i in range(p):
        for j in range(p):
            cov[i, j] = cov[i, j] if inside else math.nan
        se[i] = math.sqrt(cov[i, i]) if cov[i, i] >= 0.0 else math.nan
    counts[0], counts[1], counts[2] = int(numbers[PASSES]), int(numbers[VALUES]), int(numbers[MISSING])


def finish_cpu(info, free, numbers, status, cov, se, counts):
    p, n = free.size, status.size
    for part in prange((n + 255) // 256):
        first, work = np.int64(part) * 256, np.empty((2 * p + 3, p))
        for i in range(first, min(first + 256, n)):
            _finished(info[i], free, numbers[i], status[i], cov[i], se[i], counts[i], work)


def finish_cuda(info, free, numbers, status, cov, se, counts):
    work = cuda.local.array((_ROWS, _LARGEST), np.float64)
    for i in range(cuda.grid(1), status.size, cuda.gridsize(1)):
        _finished(info[i], free, numbers[i], status[i], cov[i], se[i], counts[i], work)


_F2, _F3 = types.float64[:, ::1], types.float64[:, :, ::1]
FINISH = Kernel(
    "distributions.finish",
    finish_cpu,
    finish_cuda,
    lambda T: [(_F3, types.boolean[::1], _F2, types.int64[::1], _F3, _F2, types.int64[:, ::1])],
    dtypes=("float64",),
)


_F, _ROW = types.float64, types.float64[::1]
_EQUATIONS = types.int64(_ROW, _ROW, types.boolean, _F, _F, *[_ROW] * 4, types.float64[:, ::1])


@functools.cache
def _shared():
    """The fit of all families that have such equations, on the CPU."""
    calls = dict(_lower=_lower_there, _equations=bind(_equations_there, _call=numba_internals.caller(_EQUATIONS)))
    return build(fit_cpu, "serial", _fitted=fitted(bind(_fit_series, **calls)), **sizes(3))


def by_equations(name, equations, least=0.0):
    """The kernel of a family whose values are above `least`: on the CPU the shared fit and an address."""

    def on_gpu():
        calls = dict(_lower=bind(_lower_here, _least=least), _equations=bind(_equations_here, _own=equations))
        return {"_fitted": fitted(bind(_fit_series, **calls))}

    def on_cpu():
        made = own.with_cache(equations.py_func, "serial", fastmath=_FLAGS)
        first = types.Tuple((types.int64, _F, types.int64))
        signature = first, *own.numba_signatures()[0][1][1:]
        return WithFunctions(_shared(), signature, least, {made: _EQUATIONS.args})

    own = kernel(name, None, 3, late=on_gpu)
    own.shared = on_cpu
    return own


FIT_NORMAL = by_equations("fit_normal", _fit_normal, -math.inf)
FIT_LOGNORMAL = by_equations("fit_lognormal", _fit_lognormal)
FIT_INVERSE_GAUSSIAN = by_equations("fit_inverse_gaussian", _fit_inverse_gaussian)
FIT_GAMMA = by_equations("fit_gamma", _fit_gamma)
FIT_WEIBULL = by_equations("fit_weibull", _fit_weibull)
FIT_STUDENT_T = by_equations("fit_student_t", _fit_student, -math.inf)
FIT_BETA = kernel("fit_beta", _fit_beta, 2)
FIT_ASYMMETRIC_LAPLACE = kernel("fit_asymmetric_laplace", _fit_asymmetric_laplace, 3)
