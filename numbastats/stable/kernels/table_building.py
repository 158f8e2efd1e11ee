"""The table of one law, made in one compiled call.

Panels follow each other in u, each as wide as the Chebyshev coefficients of the one before let expect; one whose last are not
negligible is tried again, narrower. The values at the nodes of a panel come from the first of these that is accurate: the series
at infinity and at zeta, for all places of a panel at once, and equal steps along Zolotarev's integral with nodes that all points
of a side share. Where none holds the caller fills in.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.polynomial import chebyshev

from numbastats._core.kernel import HostLoop, array_function
from numbastats.scalar import stable as law
from numbastats.scalar.elementary import exp, exp_neg, expm1, log, log1p, pow
from numbastats.scalar.search import lower_bound
from numbastats.stable.kernels.points import TERMS, accurate, gives_up, more_terms, ray, settled
from numbastats.stable.kernels.tables import BEND, COEFFICIENTS

__all__ = ["COEFFICIENTS", "DEGREE", "MAKE_TABLE", "MARCHES", "MOST", "MOST_CELLS", "PLACES"]

_shared = array_function(host=False)
_making = array_function(host=False, allocates=True)
_summing = array_function(host=False, fastmath=("contract", "reassoc"))

DEGREE = COEFFICIENTS - 1
PLACES = 16  # of a panel: the nodes and two check points
MOST = 512  # panels
MARCHES = 2  # one per side, whose panels are made at once
MOST_CELLS = 512  # of a side
_FINEST = 1 / 16384
_LOWEST = -1e3  # instead of the logarithm of 0
_LIGHT_END = 850.0  # where a light law's density e^-g has underflowed
_FIRST_WIDTH = 0.4
_CROWDED = 256  # panels from which on even bad ones are kept
_FAR = 3.0  # log x1 from which the power of x1 stays outside the sums, so that no digits of the logarithm are lost
_LOG_LARGEST = math.log(1e308)


def _matrices():
    """Places on [-1, 1]; from values to Chebyshev coefficients and misfits at the check points; from those to a table's row."""
    nodes = np.cos(np.pi * (np.arange(COEFFICIENTS) + 0.5) / COEFFICIENTS)[::-1]
    checks = np.array([-0.97, 0.06])
    to_chebyshev = np.linalg.inv(chebyshev.chebvander(nodes, DEGREE))
    fit = np.zeros((PLACES, PLACES))
    fit[:COEFFICIENTS, :COEFFICIENTS] = to_chebyshev.T
    fit[:COEFFICIENTS, COEFFICIENTS:] = (chebyshev.chebvander(checks, DEGREE) @ to_chebyshev).T
    fit[COEFFICIENTS:, COEFFICIENTS:] = -np.eye(checks.size)
    row = np.zeros((PLACES, PLACES))  # the value at the start, the polynomial, and zeros; nothing of the misfits
    row[:COEFFICIENTS, 0] = (-1.0) ** np.arange(COEFFICIENTS)
    for k in range(COEFFICIENTS):
        row[k, 1 : k + 2] = chebyshev.cheb2poly(np.eye(COEFFICIENTS)[k])[: k + 1]
    return np.concatenate([nodes, checks]), fit, row


_PLACES, _FIT, _TO_ROW = _matrices()
_OVER = 1.0 / np.maximum(np.arange(TERMS), 1)

# --- series at all places of a panel ----------------------------------------------------------------------------------

_ROWS = 11  # of the scratch array, of PLACES numbers each; one array, so that no alias check stands in the loops' way.
_POWER, _STEP, _P, _Q, _R, _LIVE, _LX, _X1, _X0, _WANTED, _U = (PLACES * k for k in range(_ROWS))


@_shared
def twisted(own, at_zeta):
    """Whether a series has the angle of the other end, so that every second term changes its sign."""
    return own[4] < own[2] if at_zeta else own[3] > 0.5 * math.pi


@_shared
def terms_needed(a, own, at_zeta, log_x1, terms):
    """Number of terms after which a series is accurate at x1, 0 if it is not."""
    h0, k1, L, log_c = own[2], own[3], own[4], own[5]
    twist = twisted(own, at_zeta)
    angle = min(h0, L) if at_zeta else (a * L if twist else k1)
    asymptotic = a < 1.0 if at_zeta else a > 1.0
    step = exp(log_x1 + log_c / a if at_zeta else -log_c - a * log_x1)
    power = 1.0 if at_zeta else (exp(-log_c) if log_x1 > _FAR else step)
    rest = step / (0.3 * a * L) if at_zeta else step / (power * (0.7 * a * math.pi))
    p, q, top, before = 0.0, 0.0, 0.0, np.inf
    for k in range(1, TERMS):
        if k > terms[0, 0]:
            more_terms(a, angle, 1 if at_zeta else 0, terms)
        bound = terms[0, k] * power
        if gives_up(k, terms[0, k], bound, bound, before, asymptotic):
            return 0
        t = terms[1, k] * power
        t = -t if twist and k % 2 == 0 else t
        p += t
        q += t * _OVER[k]
        top = max(top, bound * min(1.0, k * angle))
        least = p if at_zeta else min(p, q)
        if settled(k, bound, least, at_zeta):
            return k if accurate(top, least, at_zeta) and q * rest < 1.0 else 0
        before = bound
        power *= step
    return 0


@_shared
def series_end(a, own, at_zeta, terms):
    """log x1 from which on the series at infinity is accurate, or up to which that at zeta."""
    bound, middle = law.series_ends(a, own[5])[1 if at_zeta else 0], math.log(max(abs(own[1]), 1.0))
    reach = (-4.0 if at_zeta else 4.0) / min(a, 1.0)
    near, far = middle + reach, middle - reach
    far = min(far, bound) if at_zeta else max(far, bound)
    if terms_needed(a, own, at_zeta, near, terms) == 0:
        return -np.inf if at_zeta else np.inf
    for _ in range(5):
        middle = 0.5 * (near + far)
        if terms_needed(a, own, at_zeta, middle, terms) > 0:
            near = middle
        else:
            far = middle
    return near


@_shared
def sum_series(count, twist, terms, w):
    """Sums of a series' first terms into rows _P and, each over its number, _Q, and the last terms into _POWER."""
    n = w.size // _ROWS  # PLACES, but a constant would let the loops be unrolled instead of vectorised
    for i in range(n):
        w[_P + i], w[_Q + i] = 0.0, 0.0
    for k in range(1, count + 1):
        value, over = -terms[1, k] if twist and k % 2 == 0 else terms[1, k], _OVER[k]
        for i in range(n):
            t = value * w[_POWER + i]
            w[_P + i] += t
            w[_Q + i] += t * over
            w[_POWER + i] *= w[_STEP + i]
    for i in range(n):
        w[_POWER + i] *= terms[0, count]


@_shared
def by_series(a, own, at_zeta, sign, terms, w, f):
    """Logarithms of pdf, cdf, sf by one series into f (3, PLACES) at the wanted places; those leave row _WANTED."""
    h0, L, log_c, end = own[2], own[4], own[5], own[_ZETA_END if at_zeta else _INFINITY_END]
    scale = math.exp(log_c / a)
    up, down = (1, 2) if sign > 0.0 else (2, 1)
    worst = -1
    for i in range(PLACES):
        live = w[_WANTED + i] > 0.0 and (w[_LX + i] < end if at_zeta else w[_LX + i] > end)
        w[_LIVE + i] = 1.0 if live else 0.0
        if live and (worst < 0 or (w[_LX + i] > w[_LX + worst]) == at_zeta):
            worst = i
    count = terms_needed(a, own, at_zeta, w[_LX + worst], terms) if worst >= 0 else 0
    if count == 0:
        return
    if at_zeta:
        for i in range(PLACES):
            w[_POWER + i], w[_STEP + i] = w[_LIVE + i], w[_X1 + i] * scale
    else:
        for i in range(PLACES):
            y = -log_c - a * w[_LX + i]
            w[_STEP + i] = exp(y)
            w[_POWER + i] = w[_LIVE + i] * exp(-log_c if w[_LX + i] > _FAR else y)
    sum_series(count, twisted(own, at_zeta), terms, w)
    if at_zeta:
        for i in range(PLACES):
            d = w[_Q + i] * (scale / (a * math.pi)) * w[_X1 + i]
            w[_R + i] = L / math.pi - d
            w[_Q + i] = log(h0 / math.pi + d)
            w[_LIVE + i] *= 1.0 if w[_POWER + i] < 1e-16 * w[_P + i] and d < 0.3 * L / math.pi else 0.0
            w[_P + i] = log(w[_P + i] * (scale / (a * math.pi)))
            w[_R + i] = log(w[_R + i])
    else:
        for i in range(PLACES):
            g = a * w[_LX + i] if w[_LX + i] > _FAR else 0.0
            s = w[_Q + i] / (a * math.pi)
            c = -s * exp(-g)
            fine = w[_POWER + i] < 1e-16 * min(w[_P + i], w[_Q + i]) and c > -0.7
            w[_LIVE + i] *= 1.0 if fine else 0.0
            w[_P + i] = log(w[_P + i] / math.pi) - (w[_LX + i] + g)
            w[_R + i] = log(s) - g
            w[_Q + i] = log1p(c)
    for i in range(PLACES):
        if w[_LIVE + i] > 0.0:
            f[0, i], f[up, i], f[down, i] = w[_P + i], w[_Q + i], w[_R + i]
            w[_WANTED + i] = 0.0


# --- equal steps in w, nodes shared ----------------------------------------------------------------------------------------
# With one (alpha, beta) g(w; x1) = g(w; 1) x1^(a/(a - 1)): see `law.sweep_node`, for light laws `law.light_node`, and next to
# alpha = 1, where that is exp(`law.log_scale`) times g at x0 = 0, `law.near_one_node`. The factor is called scale here.

MOMENTS = 8  # t e^-t is as good as its Taylor polynomial of that many terms for t < EARLY
EARLY = 0.06
_SERIES = -1.0 / np.arange(1, MOMENTS + 1)
_OWN = 14  # numbers of a side: b, m, h0, k1, L, log_c, and
_ETA, _KIND, _LOW, _HIGH, _TOP_G, _AT, _INFINITY_END, _ZETA_END = range(6, _OWN)
_MOST_NODES, _BLOCK = 1024, 32  # next to alpha = 1, where 736 is the most seen


@_making
def sweep_nodes(a, own):
    """(g at x1 = own[_AT], three rows of weights, their moments) of the nodes for all x1 > 0; into own what `by_sweep` needs."""
    h0, k1, L, log_c = own[2], own[3], own[4], own[5]
    p = a - 1.0
    steep, flat = max(a, 1.0) / abs(p), min(a, 1.0) / abs(p)  # slopes of log g at the two ends
    step = 0.25 / steep
    ratio = a / p
    own[_AT] = max(abs(own[1]), 1.0)  # next to alpha = 1 g at x1 = 1 is beyond all doubles
    constant = (log_c + a * math.log(own[_AT])) / p
    level = max(-math.log(h0 if a < 1.0 else k1), 0.0)  # where log g is nearly level in between: almost light tails
    top = math.log(50.0 + level)
    if a < 0.5:  # the integrands are e^(v - g) with g = e^(flat v): their peak is at g = 1/flat
        while top / flat - math.exp(top) > -math.log(flat) / flat - 1.0 / flat - 42.0 - level:
            top += 0.1
    # equal steps in t; wider ones in w where log g has the smaller slope and d theta/d w is all but e^w
    half, wide = min(600.0, 130.0 / flat + 8.0), (steep if a >= 0.5 else min(0.8 * steep, 5.0 * flat)) / flat
    most = math.ceil((8.0 + (half + level) / wide) / step)
    # log g is about steep t right of the middle and flat wide t left of it; the series are as fast outside these log x1/own[_AT]
    lowest, highest = (-10.0 / a, 5.0 / a) if a < 0.5 else (-10.0, 4.0)
    if a >= 0.5:  # and next to alpha = 1 the powers of g, those in the moments too, are doubles inside these
        lowest, highest = (
            max(lowest, (75.0 if a > 1.0 else 110.0) / -abs(ratio)),
            min(highest, (110.0 if a > 1.0 else 75.0) / abs(ratio)),
        )
    lowest = max(lowest, own[_ZETA_END] - math.log(own[_AT]) - 0.1)
    highest = min(highest, own[_INFINITY_END] - math.log(own[_AT]) + 0.1)
    if highest <= lowest:
        return np.empty(0), np.empty((1, 0)), np.empty((1, 1, 1))
    largest, least = -min(ratio * lowest, ratio * highest), -max(ratio * lowest, ratio * highest)  # log g where g scale = 1
    # on a level stretch, which ends where d theta/d w is flat e^-level, nothing else changes; observed: with a length of 2 more
    # tables agree with points as before, with 3 more they are off by 3e-12; twice as sharp costs 1.5e-13
    coarse = max(wide, 0.4 / step)
    length = level - math.log(max(flat, 1.0))
    sharp = max(0.5 * steep, 1.0)
    first = math.log(steep) - 2.5 if a >= 0.5 and length > 3.0 else -8.0
    second = first - max((length + first) / coarse, 0.0)
    middle = math.log(law.sweep_node(0.0, step, sharp, first, coarse, second, wide, a, h0, k1, L, constant)[0])
    slope = min(steep, flat * wide)
    beyond = max(middle + 42.0 - least, 42.0 * max(a, 1.0 / a))
    right = int(min(most, math.ceil((max(top + largest - middle, 0.0) / slope + 4.0) / step)))
    left = int(min(most, math.ceil((beyond / slope + 4.0 + level - (coarse - 1.0) * (first - second)) / step)))
    n = left + right + 1
    g, weights = np.empty(n), np.empty((3, n))
    near, early, late = weights[0], weights[1], weights[2]
    for i in range(n):
        g[i], near[i], early[i], late[i] = law.sweep_node(
            step * (i - left), step, sharp, first, coarse, second, wide, a, h0, k1, L, constant
        )
    # log x1/own[_AT] for which the window lies inside the nodes
    u, v = (top - math.log(g[n - 1]) + 1.0) / ratio, (-42.0 - math.log(g[0])) / ratio
    own[_KIND], own[_TOP_G] = 1.0, math.exp(top)
    u, v = ratio * max(min(u, v), lowest), ratio * min(max(u, v), highest)
    own[_LOW], own[_HIGH] = math.exp(min(u, v)), math.exp(max(u, v))
    return g, weights, moments_of(g, weights)


@_making
def moments_of(g, weights):
    """Sums of weights times g (-g)^m / m! over the nodes before each."""
    n = g.size
    moments = np.empty((n + 1, 3, MOMENTS))
    for r in range(3):
        for k in range(MOMENTS):
            moments[0, r, k] = 0.0
    for i in range(n):
        t = min(g[i], math.exp(80.0))  # larger ones lie right of all windows
        for r in range(3):
            v = weights[r, i] * t
            for k in range(MOMENTS):
                moments[i + 1, r, k] = moments[i, r, k] + v
                v *= t * _SERIES[k]
    return moments


@_shared
def near_one_block(L, q, lowest, places, g, weights):
    """Nodes at places[0], where d w/d t is places[1]: g, or g/low - 1 where log low is given, and the three weights."""
    for i in range(g.size):
        lg, jac, near, far = law.near_one_node(places[0, i], L, q)
        g[i] = exp(lg) if lowest == -np.inf else expm1(max(lg - lowest, 0.0))
        weights[0, i], weights[1, i], weights[2, i] = places[1, i] * jac, places[1, i] * near, places[1, i] * far


@_making
def near_one_nodes(a, own):
    """As `sweep_nodes` or, for light laws, `light_nodes`, next to alpha = 1: for all x0 where no ray holds, and those near.

    Equal steps in what `law.near_one_place` inverts, whose slope is about that of log g, and where that is level 2.
    """
    b, m, eta = own[0], own[1], own[_ETA]
    skew = abs(b)
    reach = law.rays_from(b)
    if reach <= 0.0 or (a != 1.0 and reach >= m):
        return np.empty(0), np.empty((1, 0)), np.empty((1, 1, 1))
    L, lowest, q = law.zolotarev(a, (b, 0.0, 1.0 if a == 1.0 else m, m, own[2], own[3], own[4], eta))
    light = skew == 1.0
    right, left, step = 0.5 * (1.0 + skew) / skew, 0.5 * (1.0 - skew) / skew, 0.25
    span = 0.1 + max(abs(law.log_scale(reach, a, b, m)), abs(law.log_scale(-reach, a, b, m)))
    least = math.exp(-42.0 - span)
    top = math.log(50.0 - (0.0 if light else min(math.log(left), 0.0)))
    w = 0.0
    while law.near_one_node(w, L, q)[0] < top + span:
        w += 0.125
    g, weights, places = np.empty(_MOST_NODES), np.empty((3, _MOST_NODES)), np.empty((2, _BLOCK))
    t, first = law.near_one_place(w, right, left, a - 1.0)[0], _MOST_NODES
    while first > 0 and (w > -42.0 if light else first == _MOST_NODES or g[first] > least):
        for i in range(_BLOCK - 1, -1, -1):
            w, slope = law.near_one_step(t, w, right, left, a - 1.0)
            places[0, i], places[1, i] = w, step * slope
            w -= step * slope
            t -= step
        first -= _BLOCK
        near_one_block(L, q, lowest if light else -np.inf, places, g[first : first + _BLOCK], weights[:, first : first + _BLOCK])
    own[_LOW], own[_HIGH] = math.exp(-span), np.inf if light else math.exp(span)
    if not light:
        own[_KIND], own[_TOP_G] = 1.0, math.exp(top)
        g, weights = g[first:].copy(), weights[:, first:].copy()
        return g, weights, moments_of(g, weights)
    own[_KIND], own[_TOP_G] = 2.0, math.exp(lowest)
    g, weights = g[first:].copy(), weights[:1, first:].copy()
    rest = L
    for i in range(g.size):
        rest -= weights[0, i]
    return g, weights, sums_from(weights[0], rest)


@_shared
def fill_scales(a, own, w):
    """The scales of all places into row _STEP."""
    n = w.size // _ROWS  # see sum_series
    if own[_AT] == 0.0:
        for i in range(n):
            w[_STEP + i] = exp(law.log_scale(w[_X0 + i], a, own[0], own[1]))
    else:
        ratio = a / (a - 1.0)
        for i in range(n):
            w[_STEP + i] = pow(w[_X1 + i] / own[_AT], ratio)


@_shared
def density_factor(a, own):
    """What, over x1, the integral of g e^-g is multiplied with; at a = 1, where there is no x1, the whole factor."""
    return 0.5 / own[0] if a == 1.0 else a / (math.pi * abs(a - 1.0))


@_summing
def by_sweep(a, own, sign, g, weights, moments, w, f):
    """Logarithms of pdf, cdf, sf into f (3, PLACES) at the wanted places in reach; those leave row _WANTED.

    They are sums over the nodes of t e^-t times each row of weights, t = g scale.
    """
    factor, share = density_factor(a, own), own[2] / math.pi
    end, n = -1, w.size // _ROWS  # see sum_series
    fill_scales(a, own, w)
    for i in range(PLACES):
        scale = w[_STEP + i]
        mine = w[_WANTED + i] > 0.0 and scale > own[_LOW] and scale < own[_HIGH]
        w[_LIVE + i] = 1.0 if mine else 0.0
        w[_P + i], w[_Q + i], w[_R + i] = 1.0, 1.0, 1.0
        if not mine:
            continue
        if end < 0:
            end = lower_bound(g, 0, g.size, own[_TOP_G] / scale)
            start = lower_bound(g, 0, end, EARLY / scale)
        else:  # the places follow each other
            while end < g.size and g[end] * scale < own[_TOP_G]:
                end += 1
            while end > 0 and not g[end - 1] * scale < own[_TOP_G]:
                end -= 1
            while start < end and g[start] * scale < EARLY:
                start += 1
            while start > 0 and not g[start - 1] * scale < EARLY:
                start -= 1
        first = np.uint64(max(end - (end - start + 7) // 8 * 8, 0))  # whole vectors
        p, c, s = 0.0, 0.0, 0.0
        for m in range(MOMENTS - 1, -1, -1):  # of the nodes before it
            p, c, s = moments[first, 0, m] + p * scale, moments[first, 1, m] + c * scale, moments[first, 2, m] + s * scale
        p, c, s = p * scale, c * scale, s * scale
        for j in range(np.uint64(end) - first):
            t = g[first + j] * scale
            v = t * exp_neg(-t)
            p += v * weights[0, first + j]
            c += v * weights[1, first + j]
            s += v * weights[2, first + j]
        w[_P + i], w[_Q + i], w[_R + i] = p, c, s
    if end < 0:
        return
    up, down = (1, 2) if sign > 0.0 else (2, 1)
    for i in range(n):
        log_p, log_c, log_s = law.from_sweep(w[_P + i], w[_Q + i], w[_R + i], factor / w[_X1 + i], share)
        if w[_LIVE + i] > 0.0:
            f[0, i], f[up, i], f[down, i] = log_p, log_c, log_s
            w[_WANTED + i] = 0.0


# Light laws: g falls to a minimum at one end of theta, own[_TOP_G] and low = that times scale. The nodes rise with g: they hold
# excess = g/low - 1, whatever x1, the weights, and in `moments` the sums of all weights from a node on.


@_making
def light_nodes(a, own):
    """(excess, one row of weights, their sums) for all x1 > 0; into own what `by_light` needs."""
    h0, k1, L, log_c = own[2], own[3], own[4], own[5]
    p = a - 1.0
    step = 0.25 / max(max(a, 1.0) / abs(p), 2.0)
    first, last = math.floor(-8.0 / step), math.ceil(45.0 / step)
    n = int(last - first)
    g, weights = np.empty(n), np.empty((1, n))
    w = weights[0]
    lowest = a / p * (log_c - math.log(a)) + math.log(abs(p)) - log_c
    for i in range(n):
        g[i], w[i] = law.light_node(step * (first + i), step, a, h0, k1, L, log_c, lowest)
    own[_KIND], own[_TOP_G], own[_AT] = 2.0, math.exp(lowest), 1.0
    # the series are as fast outside
    own[_LOW] = math.exp(a / p * ((3.0 if a >= 0.5 else 5.0 / a) if a < 1.0 else -20.0))
    return g, weights, sums_from(w, 0.0)


@_making
def sums_from(w, last):
    """Sums of the weights from each node on, and `last` for what no node holds."""
    n = w.size
    sums = np.empty((n + 1, 1, 1))
    sums[n, 0, 0] = last
    for i in range(n - 1, -1, -1):
        sums[i, 0, 0] = sums[i + 1, 0, 0] + w[i]
    return sums


@_summing
def by_light(a, own, sign, excess, weights, moments, w, f):
    """As `by_sweep` for a light law: sums of the weights times (g/low - 1) e^(low - g), e^(low - g) and 1 - e^(low - g)."""
    factor, share = density_factor(a, own), own[2] / math.pi
    up, down = (1, 2) if sign > 0.0 else (2, 1)
    fill_scales(a, own, w)
    for i in range(PLACES):
        if not (w[_WANTED + i] > 0.0 and w[_STEP + i] > own[_LOW]):
            continue
        low = min(own[_TOP_G] * w[_STEP + i], 1e9)  # beyond, all is below the smallest double
        end = lower_bound(excess, 0, excess.size, 42.0 / low)
        density, tail, rest = 0.0, 0.0, 0.0
        if low < 1.0:  # and the last is needed
            for j in range(end):
                e = expm1(-low * excess[j])
                t = weights[0, j] * (1.0 + e)
                tail += t
                density += t * excess[j]
                rest -= weights[0, j] * e
        else:
            for j in range(end):
                t = weights[0, j] * exp_neg(-low * excess[j])
                tail += t
                density += t * excess[j]
        f[0, i], f[up, i], f[down, i] = law.from_light_sweep(
            density, tail, rest, low, moments[0, 0, 0], moments[end, 0, 0], factor / w[_X1 + i], share, a <= 1.0
        )
        w[_WANTED + i] = 0.0


@_shared
def by_ray(a, b, places, w, f):
    """Logarithms of pdf, cdf, sf into f (3, PLACES) at the wanted places where a ray holds; those leave row _WANTED."""
    for i in range(PLACES):
        if w[_WANTED + i] > 0.0 and law.by_the_ray(places[i], a - 1.0, b):
            v = ray(places[i], a, b)
            f[0, i], f[1, i], f[2, i] = law.pick(1, v, 1.0), law.pick(3, v, 1.0), law.pick(5, v, 1.0)
            w[_WANTED + i] = 0.0


# --- panels ------------------------------------------------------------------------------------------------------------------


@_making
def side_of(a, b, m, wanted, own, infinity, at_zeta):
    """The side x1 > 0 of a law: its angles and the ends of its series into own, and the nodes of its sweep if wanted. m = b T.

    `infinity` and `at_zeta` are for the terms of the two series.
    """
    h0, k1, L, eta = law.angles(a, b, m)
    own[0], own[1], own[2], own[3], own[4], own[5] = b, m, h0, k1, L, -0.5 * math.log1p(m * m)
    own[_ETA], own[_KIND], own[_AT] = eta, 0.0, 0.0
    own[_INFINITY_END], own[_ZETA_END] = np.inf, -np.inf
    infinity[0, 0], at_zeta[0, 0] = 0.0, 0.0
    if wanted and a != 1.0 and not (b == -1.0 and a < 1.0):  # the last is outside the support
        own[_INFINITY_END] = series_end(a, own, False, infinity)
        own[_ZETA_END] = series_end(a, own, True, at_zeta)
    if law.next_to_one(a, b) and (m > 0.0 or (a == 1.0 and b > 0.0)):
        return near_one_nodes(a, own)
    if not wanted or law.next_to_one(a, b) or (b == -1.0 and a < 1.0):
        return np.empty(0), np.empty((1, 0)), np.empty((1, 1, 1))
    if abs(b) == 1.0 and (b < 0.0) == (a > 1.0):
        return light_nodes(a, own)
    return sweep_nodes(a, own)


@_shared
def light_end(a, m):
    """Where a light law's density has underflowed: (|x0| of the light tail, log x1)."""
    if a == 1.0:
        return (2.0 / math.pi) * (math.log(_LIGHT_END * 0.5 * math.pi) + 1.0), 0.0
    p = a - 1.0
    log_c = -0.5 * math.log1p(m * m)
    r = p / a * (math.log(_LIGHT_END / abs(p)) + log_c)  # log x1 c/a
    half = math.sin(0.25 * math.pi * abs(p))
    return abs(a * math.expm1(r) + p + 2.0 * half * half) / math.sin(0.5 * math.pi * abs(p)), r + math.log(a) - log_c


@_shared
def next_end(march):
    """End of a march's next panel, so that no narrow one is left over."""
    rest = march[2] - march[1]
    return march[2] if march[3] >= rest else march[1] + (0.5 * rest if 2.0 * march[3] > rest else march[3])


@_shared
def cusp_width(a, b, m):
    """Width of the cusp at zeta; for small alpha, where it has none, what is flat in doubles. m = b T."""
    if a >= 0.9 or abs(b) == 1.0:
        return 1.0
    log_width = math.lgamma(1.0 / a) - math.lgamma(2.0 / a) + 0.5 / a * math.log1p(m * m)
    return math.exp(log_width) * (1.0 if a >= 0.5 else 1e-13)


@_shared
def combine(c, matrix, out):
    """The three rows of c times a matrix, into the first columns of out; by fours, so that sums wait less often for memory."""
    n = out.shape[1]  # see sum_series
    for j in range(n):
        out[0, j], out[1, j], out[2, j] = 0.0, 0.0, 0.0
    for i in range(0, PLACES, 4):
        for j in range(n):
            m0, m1, m2, m3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            out[0, j] += (c[0, i] * m0 + c[0, i + 1] * m1) + (c[0, i + 2] * m2 + c[0, i + 3] * m3)
            out[1, j] += (c[1, i] * m0 + c[1, i + 1] * m1) + (c[1, i + 2] * m2 + c[1, i + 3] * m3)
            out[2, j] += (c[2, i] * m0 + c[2, i + 1] * m1) + (c[2, i + 2] * m2 + c[2, i + 3] * m3)


@_shared
def largest(c, k, share):
    """The larger of the coefficients k and k + 1 of all three; what is more is rounding where the logarithm is large."""
    size = 0.0
    for r in range(3):
        size = max(size, max(abs(c[r, k]), abs(c[r, k + 1])) / (1.0 + share * abs(c[r, 0])))
    return size


@_shared
def right_width(width, fine, last, middle, tolerance):
    """How wide a panel had better been, by its last coefficients, or by those before where the last are rounding."""
    size = last if not fine or (last > 0.5 * tolerance and middle > 3e-9) else middle * middle
    return width * min(max((0.3 * tolerance / max(size, 1e-30)) ** (1.0 / DEGREE), 0.1), 4.0)


@_shared
def fill_side(a, b, sign, zeta, delta, shift, own, infinity, at_zeta, g, weights, moments, places, w, f):
    """Logarithms of pdf, cdf, sf into f (3, PLACES) at the places right (sign 1) or left of zeta; whether one is missing, NaN."""
    n = w.size // _ROWS  # see sum_series
    for i in range(n):
        x1 = sign * (places[i] - zeta)
        w[_WANTED + i] = 1.0 if x1 > 0.0 else 0.0
        w[_X1 + i] = x1 if x1 > 0.0 and x1 < np.inf else 1.0
        w[_X0 + i] = sign * places[i]
    if w[_U] < 4.0 or sign * places[0] < 0.0:
        for i in range(n):
            w[_LX + i] = log(w[_X1 + i])
    else:  # without the rounding of x
        log_delta, rest = log(delta), -(sign * zeta / delta) - shift
        for i in range(n):
            w[_LX + i] = w[_U + i] + log_delta + log1p(max(rest * exp(-w[_U + i]), -0.9))
    by_series(a, own, False, sign, infinity, w, f)
    by_series(a, own, True, sign, at_zeta, w, f)
    if own[_KIND] == 1.0:
        by_sweep(a, own, sign, g, weights, moments, w, f)
    elif own[_KIND] == 2.0:
        by_light(a, own, sign, g, weights, moments, w, f)
    if law.next_to_one(a, b):
        by_ray(a, b, places, w, f)
    missing = False
    for i in range(PLACES):
        if w[_WANTED + i] > 0.0:
            f[0, i], missing = np.nan, True
    return missing


def make_table(a, b, x, f, marches, spans, rows, state, info, cells, panels):
    """Write the info, cells and panels of `table_cache.Table`, the last two from the start of arrays that are long enough.

    A value that is missing is NaN in f (MARCHES, 3, PLACES), and its place stands in x: then state[4] stays 0, and the caller
    fills in and calls again. The rest is memory that calls share; spans: side, begin and end of every panel, rows: its
    coefficients; state, of zeros at first: number of marches, panels kept, whether f is full, certificate, then the number of
    panels and of cells written. Nothing is returned: Numba makes an array that it returns by running Python, where a pending
    KeyboardInterrupt would end as a SystemError.
    """
    centred = a < 0.9
    light = abs(b) == 1.0
    m = b * law.tangent(a)[0]
    delta = cusp_width(a, b, m)
    log_delta = log(delta)
    from_zero = not (centred and light)
    shift = 1.0 if from_zero else 0.0
    top = _LOG_LARGEST - log_delta
    if state[0] == 0.0:
        # a march: side, place reached, end, width of its next panel, what would have been the right width of the one before
        count = 0
        for s in range(2):
            side = 1.0 - 2.0 * s
            if (side < 0.0 and b == 0.0) or (centred and side * b == -1.0):  # the mirror image, or outside the support
                continue
            begin, end = 0.0, top
            if light:
                far, near = light_end(a, m)
                if centred:
                    begin = near
                elif side * b == -1.0:
                    end = math.log1p(far)
            marches[count, 0], marches[count, 1], marches[count, 2] = side, begin, end
            marches[count, 3], marches[count, 4] = _FIRST_WIDTH, 0.0
            count += 1
        state[0] = count
    own0, infinity0, at_zeta0 = np.empty(_OWN), np.empty((2, TERMS)), np.empty((2, TERMS))
    own1, infinity1, at_zeta1 = np.empty(_OWN), np.empty((2, TERMS)), np.empty((2, TERMS))
    g0, weights0, moments0 = side_of(a, b, m, True, own0, infinity0, at_zeta0)
    g1, weights1, moments1 = side_of(a, -b, -m, b != 0.0, own1, infinity1, at_zeta1)  # if b = 0 its mirror image will do
    w, c = np.empty(_ROWS * PLACES), np.empty((3, PLACES))
    zeta = 0.0 if centred else -m
    if a == 1.0:  # no side but one
        zeta = -np.inf if b > 0.0 else np.inf
    tolerance = 4e-14 if light or law.next_to_one(a, b) else 1e-14  # light tails and integrals next to 1 have more noise
    count = int(state[0])
    while True:
        if state[2] == 0.0:
            missing = False
            for k in range(count):
                side, begin, end, values, places = marches[k, 0], marches[k, 1], next_end(marches[k]), f[k], x[k]
                if begin == end:  # it has arrived
                    values[0, :] = 0.0
                    continue
                mid, half = 0.5 * (begin + end), 0.5 * (end - begin)
                for i in range(PLACES):
                    u = mid + half * _PLACES[i]
                    w[_U + i], small = u, min(u, 40.0)
                    t = delta * (expm1(small) if from_zero else exp(small))
                    places[i] = side * (t if u < 40.0 else exp(u + log_delta))
                if max(places[0], places[COEFFICIENTS - 1]) > zeta:
                    missing |= fill_side(
                        a, b, 1.0, zeta, delta, shift, own0, infinity0, at_zeta0, g0, weights0, moments0, places, w, values
                    )
                if min(places[0], places[COEFFICIENTS - 1]) < zeta:
                    missing |= fill_side(
                        a, b, -1.0, zeta, delta, shift, own1, infinity1, at_zeta1, g1, weights1, moments1, places, w, values
                    )
            if missing:
                state[2] = 1.0
                return
        state[2] = 0.0
        under_way = False
        for k in range(count):
            begin, end, values = marches[k, 1], next_end(marches[k]), f[k]
            if begin == end:
                continue
            finite = True
            for r in range(3):
                for i in range(PLACES):
                    finite = finite and values[r, i] > -np.inf
                    values[r, i] = values[r, i] if values[r, i] > -np.inf else _LOWEST
            combine(values, _FIT, c)
            last, middle = largest(c, DEGREE - 1, 0.03), largest(c, DEGREE // 2, 0.03)
            fine = finite and (last < tolerance or middle < 5.0 * tolerance)  # the latter where there is noise
            kept = int(state[1])
            if fine or end - begin <= _FINEST or kept >= _CROWDED:
                row = rows[kept]
                row[:, 0], row[:, 1] = 0.5 * (begin + end), 2.0 / (end - begin)
                combine(c, _TO_ROW, row[:, 2:])
                spans[kept, 0], spans[kept, 1], spans[kept, 2] = marches[k, 0], begin, end
                state[1], marches[k, 1] = kept + 1.0, end
                if finite:
                    state[3] = max(state[3], largest(c, COEFFICIENTS, 0.01))
            width = 0.5 * (end - begin)
            if kept >= _CROWDED:
                width *= 4.0
            elif finite:
                width = right_width(end - begin, fine, last, middle, tolerance)
            # where widths shrink, the next one will have to shrink as much again
            trend = min(max(width / marches[k, 4], 0.7), 1.0) if fine and marches[k, 4] > 0.0 else 1.0
            marches[k, 3], marches[k, 4] = max(width * trend, _FINEST), width if fine else marches[k, 4]
            under_way |= marches[k, 1] < marches[k, 2]
        if not under_way:
            state[4], state[5] = finish(b, not centred, spans[: int(state[1])], rows, info, cells, panels)
            info[0, 0], info[0, 1], info[0, 2] = 1.0 / delta, shift, 1.0 if b == 0.0 else 0.0
            return


@_making
def finish(b, heavy, spans, rows, info, cells, panels):
    """Write the info, cells and panels of `table_cache.Table` from the kept panels; the number of panels and of cells written."""
    kept = 0
    order = np.empty(spans.shape[0], np.int64)
    for k in range(spans.shape[0]):  # sorted: the right side first, then by u
        i = kept
        while i > 0 and (
            spans[order[i - 1], 0] < spans[k, 0]
            or (spans[order[i - 1], 0] == spans[k, 0] and spans[order[i - 1], 1] > spans[k, 1])
        ):
            order[i] = order[i - 1]
            i -= 1
        order[i] = k
        kept += 1
    mirrored = b == 0.0
    count = 2 * kept if mirrored else kept
    for i in range(kept):
        k = order[i]
        for r in range(3):
            for j in range(panels.shape[2]):
                panels[r, i, j] = rows[k, r, j]
                if mirrored:
                    panels[(3 - r) % 3, kept + i, j] = rows[k, r, j]
    info[:] = 0.0
    info[1, 1], info[2, 1] = -np.inf, -np.inf
    size = 0
    starts, ends = np.empty(2, np.int64), np.empty(2, np.int64)
    split = 0
    while split < kept and spans[order[split], 0] > 0.0:
        split += 1
    for s in range(2):
        lo, hi = (0, split) if s == 0 or mirrored else (split, kept)
        starts[s], ends[s] = lo, hi
        if hi == lo:
            continue
        begin, end = spans[order[lo], 1], spans[order[hi - 1], 2]
        narrowest = np.inf
        for i in range(lo, hi):
            v, u = spans[order[i], 1] - begin, spans[order[i], 2] - begin
            narrowest = min(narrowest, u / (u + BEND) - v / (v + BEND))
        length = end - begin
        whole = length / (length + BEND)
        most = min(math.ceil(whole / narrowest), MOST_CELLS)
        tail = heavy and (1.0 - 2.0 * s) * b == -1.0
        info[1 + s, 0], info[1 + s, 1], info[1 + s, 2] = begin, end if tail else np.inf, most / whole
        info[1 + s, 3], info[1 + s, 4] = size, most
        info[1 + s, 5], info[1 + s, 6] = (kept if mirrored and s == 1 else lo), hi - lo
        size += int(most)
    for s in range(2):
        begin, i = info[1 + s, 0], starts[s]
        for k in range(int(info[1 + s, 4])):
            bent = k / info[1 + s, 2]
            where = begin + BEND * bent / (1.0 - min(bent, 0.9999))
            while i + 1 < ends[s] and spans[order[i + 1], 1] <= where:
                i += 1
            cells[int(info[1 + s, 3]) + k, 0] = i + int(info[1 + s, 5]) - starts[s]
    return count, size


_F1, _F2, _F3, _I2 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1], types.int64[:, ::1]
MAKE_TABLE = HostLoop(
    "stable.make_table", make_table, [(types.float64, types.float64, _F2, _F3, _F2, _F2, _F3, _F1, _F2, _I2, _F3)], parallel=False
)
HostLoop("stable.zeta", law.zeta, [(types.float64, types.float64)], parallel=False)
HostLoop("stable.tan_half_pi", law.tan_half_pi, [(types.float64,)], parallel=False)
