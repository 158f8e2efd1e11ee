"""The fit of the generalised normal distribution, whose likelihood by loc has a cusp at every value where beta < 1.

    l = sum w (log beta - log(2 s) - log Gamma(1/beta)) - sum w |x - loc|^beta / s^beta

Given beta and loc the scale is closed, s^beta = beta m with m the mean of |x - loc|^beta, and what is left is a function of
beta and m alone, which falls with m. Above beta = 1 m is convex in loc: Newton's method within a bracket finds its least value,
and the maximum by beta is bracketed between powers of two, from slopes there. At and below 1 m is concave between values, so
that each value of the sample is a local maximum by loc, and has a likelihood by beta of its own, which is searched between
`_NODES`.

All values are searched but for intervals that can hold no better one: between two values a and b the sum over the values outside
is concave in loc, and so at least its lesser value at a and b. With n values that takes some 20 passes over them where beta is
clearly above 1, and below 1 about the square root of n, up to 40 times that; n passes at worst. Of more than `_MOST` values an
interval holds at least n/`_MOST`, and the neighbours of the best value are searched in the end: some 2 `_MOST` passes at worst.

Towards beta = 0 the likelihood at any value of the sample grows without bound, as 1/beta times the share of values equal to it.
With one value of n that outweighs all else below about 2/n. Maxima are searched from 1/16 on: the standard deviation is there
4e23 times the scale, and below 1/130 that leaves the doubles. A climb that goes below ends at a pole if the likelihood rises
all the way from there, else at a bound. Towards beta = inf the likelihood goes to that of the uniform distribution between the
least and the largest value: where that is above all maxima, the fit ends at the bound 1e6.
"""

from __future__ import annotations

import math

from numbastats._core.endings import BOUND, NOT_FINITE, OK, POLE
from numbastats._core.kernel import array_function, device_function
from numbastats.distributions.kernels.fits import LOGLIK, MASS, PASSES, by_equations, sort
from numbastats.scalar import elementary as el
from numbastats.scalar import mixture as fam

__all__ = ["FIT_GENERALIZED_NORMAL"]

_NODES = (0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1.0)  # powers of which need square roots alone
_LEAST, _GREATEST = _NODES[0], 1e6  # of beta, between which maxima are searched
_LOG_GAMMAS = (  # of log Gamma(1 + 1/beta)
    *(30.671860106080672, 10.60460290274525, 5.366074597789676, 3.1780538303479458),
    *(1.389340043817076, 0.6931471805599453, 0.17449043071143813, 0.0),
)
_BY_GAMMAS = (  # of psi(1 + 1/beta)/beta
    *(44.85621325323937, 17.12513182364488, 9.412303356372549, 6.024470673727202),
    *(3.084708224569097, 1.8455686701969343, 0.823954959972258, 0.42278433509846713),
)
_EIGHT = (0.0,) * 8
_LOG_2 = 0.6931471805599453
_FEW = 200  # distinct values, of which the profile may have several maxima between 1 and 2
_CUBE_ROOT = 1.259921049894873  # of 2
_SHORT = 1e-280  # of a distance, whose logarithm is finite
_MOST = 1000  # values of which each is searched
_SMALL = 1e-150  # scale below which its square leaves the doubles, and there are no standard errors
_SMOOTH = 1.5  # beta up to which second derivatives by loc have no variance
_BETWEEN, _BETWEEN_FIXED = 0.03, 0.3  # what a maximum by beta between two nodes may add for each value, or at a given scale
_NEXT = 1.0 + 1.0 / 128.0  # of beta, where loc is between two medians as just above 1: the slope is not that at either

_function = array_function(fastmath=("contract", "reassoc"), host=False)


@_function
def _sums(x, w, loc, beta, unit):
    """Sums of w times r^beta, r^beta log r and r^beta log(r)^2; of w s r^(beta - 1), that times log r, and w r^(beta - 2).

    r = |x - loc|/unit, and s the sign of x - loc. Values at loc add nothing.
    """
    s0, s1, s2, d0, d1, curve, over = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0 / unit
    for j in range(x.size):
        away = (x[j] - loc) * over
        r = max(abs(away), _SHORT)
        t, back = el.log(r), 1.0 / r
        e = w[j] * el.exp(beta * t) if away != 0.0 else 0.0
        u, g = e * t, e * back
        s0 += e
        s1 += u
        s2 += u * t
        d0 += math.copysign(g, away)
        d1 += math.copysign(g, away) * t
        curve += g * back
    return s0, s1, s2, d0, d1, curve


@_function
def _value(beta, logs, slope, bend, log_unit, log_scale):
    """The log-likelihood of a value, and its first two derivatives by log beta.

    From the logarithm of the mean of r^beta, and its derivatives by beta; log_scale is NaN where the scale is free.
    """
    a = 1.0 / beta
    first, second, rest = fam.gamma_terms(1.0 + a)
    log_a1 = math.log1p(a)
    psi, psi1 = log_a1 - first, 1.0 / (1.0 + a) - second
    log_gamma = (1.0 + a) * log_a1 - 1.0 - a - rest
    by_gamma, more = a * psi, -a * psi - a * a * psi1
    if log_scale == log_scale:
        shift = log_unit - log_scale
        e, move = math.exp(min(logs + beta * shift, 700.0)), beta * (slope + shift)
        f = -_LOG_2 - log_gamma - log_scale - e
        return f, by_gamma - e * move, more - e * (move + beta * beta * bend + move * move)
    f = -_LOG_2 - log_gamma - a * (1.0 - math.log(a) + logs) - log_unit
    rise = a * (logs - math.log(a))
    return f, by_gamma + rise - slope, more - rise + slope + a - beta * bend


@_function
def _at(x, w, mass, loc, beta, log_scale):
    """The log-likelihood of a value and its derivatives by log beta; the unit, and sums in it."""
    unit = max(x[x.size - 1] - loc, loc - x[0])
    s0, s1, s2, d0, d1, curve = _sums(x, w, loc, beta, unit)
    slope = s1 / s0
    f = _value(beta, math.log(s0 / mass), slope, s2 / s0 - slope * slope, math.log(unit), log_scale)
    return f, unit, (s0, s1, s2, d0, d1, curve)


# --- beta > 1: the convex problem --------------------------------------------------------------------------------


@_function
def _signed_power(u, p):
    return math.copysign(el.pow(abs(u), p), u)


@_function
def _last_at_most(x, value):
    """Index of the last value that is not larger; -1 if there is none."""
    low, high = -1, x.size
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@_function
def _step(x, w, beta, loc, unit, slope, curve, low, high):
    """A step of Newton's method for the zero of the slope; the powers of the two values next to loc are taken as they are."""
    p = beta - 1.0
    if beta >= 2.0:
        return loc + unit * (slope / (p * curve))
    i = _last_at_most(x, loc)
    j, below, above, k = i + 1, 0.0, 0.0, i
    left = (loc - x[i]) / unit if i >= 0 else 0.0
    right = (x[j] - loc) / unit if j < x.size else 0.0
    while k >= 0 and x[k] == x[i]:
        below += w[k]
        k -= 1
    k = j
    while k < x.size and x[k] == x[j]:
        above += w[k]
        k += 1
    here, fall = slope + below * el.pow(left, p) - above * el.pow(right, p), p * curve
    fall -= below * p * el.pow(left, p - 1.0) if left > 0.0 else 0.0
    fall = max(fall - (above * p * el.pow(right, p - 1.0) if right > 0.0 else 0.0), 0.0)
    a, b, count = (low - loc) / unit, (high - loc) / unit, 0
    while count < 60:
        y = 0.5 * (a + b)
        if here - fall * y - below * _signed_power(y + left, p) + above * _signed_power(right - y, p) > 0.0:
            a = y
        else:
            b = y
        count = count + 1 if b - a > 1e-3 * min(abs(y), abs(y + left), abs(right - y)) else 60
    return loc + unit * (0.5 * (a + b))


@_function
def _centred(x, w, mass, beta, loc, log_scale, tolerance):
    """The loc with the least sum of |x - loc|^beta, beta > 1, to a gain below the tolerance: it, passes, and `_at` there."""
    low, high, passes = x[0], x[x.size - 1], 0
    moved, new = high - low, loc
    f, unit, s = _at(x, w, mass, loc, beta, log_scale)
    while passes < 200:
        passes += 1
        low, high = (loc, high) if s[3] > 0.0 else (low, loc)
        if mass * abs(s[3]) * ((high - low) / unit) <= tolerance * s[0]:
            break
        new = _step(x, w, beta, loc, unit, s[3], s[5], low, high)
        if not (new >= low and new <= high and abs(new - loc) <= 0.5 * moved):
            new = 0.5 * low + 0.5 * high
        if new == loc:
            break
        moved, loc = abs(new - loc), new
        f, unit, s = _at(x, w, mass, loc, beta, log_scale)
    return loc, passes, f, unit, s


@_function
def _peak(x, w, mass, low, high, beta, loc, moves, log_scale):
    """The maximum by beta between two at which the slopes have opposite signs: its value, beta, loc, and the number of passes.

    loc moves with beta, if `moves`: the derivative of the profile is that at fixed loc.
    """
    a, b, v, steps, passes, best = math.log(low), math.log(high), math.log(beta), 0, 0, -math.inf
    while steps < 60:
        beta = math.exp(v)
        if moves:
            loc, more, f, unit, s = _centred(x, w, mass, beta, loc, log_scale, 1e-10 if steps > 1 else 1e-6)
            passes += more
        else:
            f, unit, s = _at(x, w, mass, loc, beta, log_scale)
            passes += 1
        best, slope, bend = f
        if moves and log_scale != log_scale and s[5] < math.inf:  # by what loc moves
            bend += beta * beta * s[4] * s[4] / ((beta - 1.0) * s[5] * s[0])
        a, b = (v, b) if slope > 0.0 else (a, v)
        step = -slope / bend if bend < 0.0 else math.inf
        if mass * abs(slope) * min(abs(step), b - a) <= 1e-16 and (steps > 1 or not moves):
            break
        new = v + step
        v, steps = new if new > a and new < b else 0.5 * (a + b), steps + 1
    return best, beta, loc, passes


# --- beta <= 1: a search over values -----------------------------------------------------------------------------


@device_function
def _eight(r):
    """Its powers of the nodes."""
    half = math.sqrt(r)
    fourth = math.sqrt(half)
    eighth = math.sqrt(fourth)
    least = math.sqrt(eighth)
    return least, eighth, eighth * least, fourth, fourth * eighth, half, half * fourth, r


@_function
def _plus(a, v, p):
    """Eight sums with v times eight numbers added."""
    return (
        a[0] + v * p[0],
        a[1] + v * p[1],
        a[2] + v * p[2],
        a[3] + v * p[3],
        a[4] + v * p[4],
        a[5] + v * p[5],
        a[6] + v * p[6],
        a[7] + v * p[7],
    )


@_function
def _powers(x, w, loc, over, beta):
    """Sums of w r^b for all nodes b, or for a given beta in the place of each, and of these times log r; r = |x - loc| over."""
    sums, moments, s = _EIGHT, _EIGHT, 0.0
    if beta == beta:
        for j in range(x.size):
            r = abs(x[j] - loc) * over
            s += w[j] * el.exp(beta * el.log(max(r, _SHORT))) if r > 0.0 else 0.0
        return (s, s, s, s, s, s, s, s), _EIGHT
    for j in range(x.size):
        r, v = abs(x[j] - loc) * over, w[j]
        p = _eight(r)
        sums, moments = _plus(sums, v, p), _plus(moments, v * el.log(max(r, _SHORT)), p)
    return sums, moments


@_function
def _pairs(x, w, over):
    """Least possible sums of `_powers` about any loc: |u - loc|^b + |v - loc|^b is at least |u - v|^b for b <= 1."""
    sums = _EIGHT
    for j in range(x.size // 2):
        k = x.size - 1 - j
        sums = _plus(sums, min(w[j], w[k]), _eight((x[k] - x[j]) * over))
    return sums


@_function
def _at_node(k, beta, total, moment, mass, log_unit, log_scale):
    """The log-likelihood of a value at a node, and its derivative by log beta, from sums; for a given beta what rises with it."""
    logs = math.log(total / mass)
    if beta == beta:
        return -logs, math.nan
    b, slope, log_gamma, by_gamma = _NODES[k], moment / total, _LOG_GAMMAS[k], _BY_GAMMAS[k]
    a = 1.0 / b
    if log_scale == log_scale:
        shift = log_unit - log_scale
        e = math.exp(min(logs + b * shift, 700.0))
        return -_LOG_2 - log_gamma - log_scale - e, by_gamma - e * b * (slope + shift)
    log_a = math.log(a)
    return -_LOG_2 - log_gamma - a * (1.0 - log_a + logs) - log_unit, by_gamma + a * (logs - log_a) - slope


@_function
def _exceeds(x, w, low, high, before, after, best, beta, mass, over, log_scale):
    """Whether a value of x, all between two others, may be above the best: by sums at either for the rest, and `_pairs`."""
    inside, _none = _powers(x, w, low, over, beta)
    within, _none = _powers(x, w, high, over, beta)
    pairs, exceeds = _pairs(x, w, over) if not beta == beta else _EIGHT, False
    for k in range(len(_NODES)):
        least = min(before[k] - inside[k], after[k] - within[k]) + pairs[k]
        value = _at_node(k, beta, least, 0.0, mass, -math.log(over), log_scale)[0] if least > 0.0 else math.inf
        exceeds = exceeds or value > best
    return exceeds


@_function
def _by_nodes(x, w, mass, loc, over, beta, log_scale, best):
    """The best local maximum by beta < 1 at a given loc, above `best`: it, beta; sums at the nodes; the value at the least one.

    Also whether there is a maximum at all, and the number of passes. For a given beta the value is what `_at_node` says.
    """
    sums, moments = _powers(x, w, loc, over, beta)
    log_unit, found, turns, passes = -math.log(over), math.nan, False, 1
    edge, slope = _at_node(0, beta, sums[0], moments[0], mass, log_unit, log_scale)
    f = edge
    for k in range(1, len(_NODES)):
        more, rise = _at_node(k, beta, sums[k], moments[k], mass, log_unit, log_scale)
        low, high, width = _NODES[k - 1], _NODES[k], math.log(_NODES[k] / _NODES[k - 1])
        if mass * (max(f, more) + 0.25 * width * (abs(slope) + abs(rise))) > best:
            peaked = slope > 0.0 and not rise > 0.0
            bend = slope + rise - 2.0 * (more - f) / width
            turn = (slope - (more - f) / width + bend) / (3.0 * bend)
            if (
                not peaked and turn > 0.0 and turn < 1.0
            ):  # between slopes of one sign that of a cubic polynomial may have the other
                sign = math.copysign(1.0, slope)
                if sign * (slope - turn * (slope - (more - f) / width + bend)) < 0.5 * min(abs(slope), abs(rise)):
                    middle = low * math.exp(turn * width)
                    there = _at(x, w, mass, loc, middle, log_scale)[0][1]
                    peaked, passes = sign * there < 0.0, passes + 1
                    low, high = (low, middle) if sign > 0.0 else (middle, high)
            if peaked:
                peak, b, _loc, count = _peak(x, w, mass, low, high, math.sqrt(low * high), loc, False, log_scale)
                passes += count
                if mass * peak > best:
                    best, found = mass * peak, b
            turns = turns or peaked
        f, slope = more, rise
    return best, found, sums, edge, turns, passes


@_function
def _searched(x, w, mass, beta, log_scale, best):
    """The best local maximum with loc at a value and beta < 1, above `best`: it, beta, loc.

    Also the best at the least beta, its loc, and the number of passes; for a given beta that is the best. First comes the middle
    value, then from the least to the largest all that `_exceeds` does not exclude.
    """
    n, over, found, at, edge, edge_at, passes = x.size, 1.0 / (x[x.size - 1] - x[0]), math.nan, 0, -math.inf, 0, 0
    between = _BETWEEN if log_scale != log_scale else _BETWEEN_FIXED
    smallest, before, turned, last, i, step, end = 1 + (n - 1) // _MOST, _EIGHT, False, -1, n // 2, n // 16, -1
    while i < n:
        best, b, sums, value, turns, count = _by_nodes(x, w, mass, x[i], over, beta, log_scale, best)
        passes += count
        if b == b:
            found, at = b, i
        if value > edge:
            edge, edge_at = value, i
        if end >= 0:  # next to the best of few
            i = i + 1 if i < end else n
            continue
        if last < 0 and i > 0:
            i = 0
            continue
        first, stop = i, i
        while first > last + 1 and x[first - 1] == x[i]:
            first -= 1
        while stop + 1 < n and x[stop + 1] == x[i]:
            stop += 1
        taken = first - last <= smallest
        if not taken:
            inner = slice(last + 1, first)
            bound = edge if beta == beta else best / mass - (between if turns or turned else 0.0)
            taken = not _exceeds(x[inner], w[inner], x[last], x[i], before, sums, bound, beta, mass, over, log_scale)
        if taken:
            before, turned, last, step = sums, turns, stop, (3 * step + 1) // 2
        else:
            step = 2 * (first - last) // 3
        step = max(step, smallest)
        i = min(last + step, n - 1) if last < n - 1 else n
        if i == n and smallest > 1 and (found == found or beta == beta):
            at, stop = (edge_at, 0) if beta == beta else (at, 0)
            i, end = max(at - smallest, 0), min(at + smallest, n - 1)
    return best, found, x[at], edge, x[edge_at], passes


# --- the fit -----------------------------------------------------------------------------------------------------


@_function
def _median(x, w, mass, share):
    """The least value with at least so much weight up to it."""
    i, s = 0, w[0]
    while i < x.size - 1 and s < share * mass * (1.0 - 1e-12):
        i += 1
        s += w[i]
    return x[i]


@_function
def _above_one(x, w, mass, loc, log_scale, moves, uniform):
    """The best local maximum with beta > 1: it, beta, loc; the most at any beta tried; passes."""
    n, best, found, at, passes, distinct = x.size, -math.inf, math.nan, loc, 0, 1
    for j in range(1, n):
        distinct += 1 if x[j] > x[j - 1] else 0
    f, unit, s = _at(x, w, mass, loc, 1.0, log_scale)
    most, rise, beta = f[0], f[1], 1.0
    if moves:  # from both ends of the medians
        more = _at(x, w, mass, _median(x, w, mass, 0.5 + 1e-12), 1.0, log_scale)[0]
        most, rise = max(most, more[0]), max(rise, more[1])
    enough = 2.0 * mass / min(w[0], w[n - 1]) if log_scale != log_scale and moves else _GREATEST
    while beta < enough and 2.0 * beta < _GREATEST:
        before, low, beta = loc, beta, beta * 2.0
        if distinct <= _FEW and low < 1.9:
            beta = _NEXT if low == 1.0 else low * _CUBE_ROOT
        if moves:
            loc, more, f, unit, s = _centred(x, w, mass, beta, loc, log_scale, 1e-6)
            passes += more
        else:
            f, unit, s = _at(x, w, mass, loc, beta, log_scale)
            passes += 1
        most = max(most, f[0])
        if rise > 0.0 and not f[1] > 0.0:
            peak, b, place, count = _peak(x, w, mass, low, beta, math.sqrt(low * beta), before, moves, log_scale)
            passes += count
            if peak > best:
                best, found, at = peak, b, place
        rise = f[1]
        # means of powers rise with beta, so that nothing further on is above this
        if log_scale != log_scale and -_LOG_2 - math.log(s[0] / mass) / beta - math.log(unit) <= max(best, uniform):
            break
    return best, found, at, max(most, best), passes


@_function
def _rises_to_pole(x, w, mass, loc, log_scale):
    """Whether the likelihood rises all the way as beta falls from its least value."""
    beta, value, rises = _LEAST, -math.inf, True
    while rises and beta > 1e-4:
        f = _at(x, w, mass, loc, beta, log_scale)[0][0]
        rises, value, beta = f > value, f, 0.5 * beta
    return rises


@_function
def _information(x, w, mass, params, info):
    """Minus the second derivatives; up to `_SMOOTH` the expected one by loc, which there is above 1/2."""
    beta, loc, scale = params[0], params[1], params[2]
    s0, s1, s2, d0, d1, curve = _sums(x, w, loc, beta, max(x[x.size - 1] - loc, loc - x[0]))
    a, k = 1.0 / beta, max(x[x.size - 1] - loc, loc - x[0]) / scale
    logs, c = math.log(k), math.exp(beta * math.log(k))
    s2, s1, s0 = c * (s2 + logs * (2.0 * s1 + logs * s0)), c * (s1 + logs * s0), c * s0
    d1, d0, curve = c / k * (d1 + logs * d0), c / k * d0, c / k / k * curve
    first, second, _rest = fam.gamma_terms(1.0 + a)
    psi, psi1 = math.log1p(a) - first, 1.0 / (1.0 + a) - second
    info[0] = mass * a * a * a * (2.0 * psi + a * psi1) + s2
    info[3], info[5] = -(s0 + beta * s1) / scale, (beta * (beta + 1.0) * s0 - mass) / scale / scale
    if beta > _SMOOTH:
        info[1], info[4] = -(d0 + beta * d1) / scale, beta * beta * d0 / scale / scale
        info[2] = beta * (beta - 1.0) * curve / scale / scale
    else:
        info[1], info[4], info[2] = 0.0, 0.0, math.nan
        if beta > 0.5:
            info[2] = mass * beta * beta * math.exp(math.lgamma(2.0 - a) - math.lgamma(a)) / scale / scale


@_function
def _fit_generalized_normal(x, w, weighted, least, most, fixed, params, info, numbers, work):
    """The best local maximum; where there is none, or the likelihood beyond it is larger, the bound to which it rises."""
    mass, beta, loc, log_scale = numbers[MASS], fixed[0], fixed[1], math.log(fixed[2])
    moves, given, status = not loc == loc, beta == beta, OK
    if not (1.0 / (most - least) < math.inf and most - least < math.inf):
        return NOT_FINITE
    sort(x, w, weighted)
    centre = 0.5 * least + 0.5 * most if moves else loc
    loc = _median(x, w, mass, 0.5) if moves else loc
    best, found, at, edge, edge_at, passes = -math.inf, beta, loc, -math.inf, loc, 0
    top, uniform = -math.inf, -math.inf
    if not given:
        uniform = -_LOG_2 - math.log(max(most - centre, centre - least))
        if log_scale == log_scale:
            uniform = _at(x, w, mass, centre, _GREATEST, log_scale)[0][0]
        best, found, at, top, passes = _above_one(x, w, mass, loc, log_scale, moves, uniform)
        best, top, uniform = best * mass, top * mass - 1e-9 * mass, uniform * mass
    if moves and not (given and beta >= 1.0):
        best, b, place, edge, edge_at, count = _searched(x, w, mass, beta, log_scale, best)
    elif not given:
        over = 1.0 / (most - least)
        best, b, _sums_there, edge, _turns, count = _by_nodes(x, w, mass, loc, over, beta, log_scale, best)
        place = loc
    else:
        place, count, b = loc, 0, math.nan
    numbers[PASSES] = passes + count
    found, at = (b, place) if b == b else (found, at)
    if given:
        at = edge_at if moves and beta < 1.0 else loc
        if moves and beta > 1.0:
            at, numbers[PASSES], _f, _unit, _s = _centred(x, w, mass, beta, loc, log_scale, 1e-11)
    elif max(best, uniform) < max(top, mass * edge):
        pole = _rises_to_pole(x, w, mass, edge_at, log_scale)
        if not pole:
            found, at, status = _LEAST, edge_at, BOUND
        elif max(best, uniform) < top:
            return POLE
        elif uniform > best:
            found, at, status = _GREATEST, centre, BOUND
    elif uniform > best:
        found, at, status = _GREATEST, centre, BOUND
    f, unit, s = _at(x, w, mass, at, found, log_scale)
    params[0], params[1], params[2] = found, at, fixed[2]
    if log_scale != log_scale:
        params[2] = unit * math.exp((math.log(found) + math.log(s[0] / mass)) / found)
    numbers[LOGLIK] = mass * f[0]
    if params[2] > _SMALL and params[2] < 1.0 / _SMALL:
        _information(x, w, mass, params, info)
    return status if params[2] > 0.0 else BOUND


FIT_GENERALIZED_NORMAL = by_equations("fit_generalized_normal", _fit_generalized_normal, -math.inf)
