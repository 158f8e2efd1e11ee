"""The table of one distribution, made in one compiled call.

Panels follow each other in u, each as wide as the Chebyshev coefficients of the one before let expect; one whose last are not
negligible is tried again, narrower. The values at the nodes of a panel come from the first of these that is accurate: the series
at infinity and at zeta, for all places of a panel at once, and equal steps along Zolotarev's integral with nodes that all points
of a side share. Where none holds the caller fills in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numpy.polynomial import chebyshev

from numbastats._core.kernel import HostLoop, array_function
from numbastats.scalar import stable as dist
from numbastats.scalar.elementary import exp, exp_neg, expm1, log, log1p, pow
from numbastats.scalar.search import lower_bound
from numbastats.stable.kernels.points import TERMS, add_terms, ray, twisted
from numbastats.stable.kernels.tables import BEND, COEFFICIENTS, COLUMNS, START

__all__ = [
    "COEFFICIENTS",
    "COLUMNS",
    "DEGREE",
    "MARCH",
    "MARCHES",
    "MOST",
    "MOST_CELLS",
    "PLACES",
    "PROGRESS",
    "by_nodes",
    "heavy_nodes",
    "make_table",
    "maker",
]

_shared = array_function(host=False)
_making = array_function(host=False, allocates=True)
_uncontracted = array_function(host=False, fastmath=())
_summing = array_function(host=False, fastmath=("contract", "reassoc"))

DEGREE = COEFFICIENTS - 1
PLACES = 4 * math.ceil((COEFFICIENTS + 2) / 4)  # of a panel: the nodes and two check points or more; see `combine`
MOST = 512  # panels
MARCHES = 2  # one per side, whose panels are made at once
MOST_CELLS = 512  # of a side
_FINEST = 1 / 16384
_LOWEST = -1e3  # instead of the logarithm of 0
_LIGHT_END = 850.0  # where a light distribution's density e^-g has underflowed
_FIRST_WIDTH = 0.4
_CROWDED = 256  # panels from which on even bad ones are kept
_FAR = 3.0  # log x1 from which the power of x1 stays outside the sums, so that no digits of the logarithm are lost
_LOG_LARGEST = math.log(1e308)


def _matrices():
    """Places on [-1, 1], the last for `misfit`; from values to Chebyshev coefficients; from those to a table's row."""
    nodes = np.cos(np.pi * (np.arange(COEFFICIENTS) + 0.5) / COEFFICIENTS)[::-1]
    checks = np.array([-0.97, 0.06, 0.97, -0.5, 0.5])[: PLACES - COEFFICIENTS]
    to_chebyshev = np.linalg.inv(chebyshev.chebvander(nodes, DEGREE))
    fit = np.zeros((PLACES, PLACES))
    fit[:COEFFICIENTS, :COEFFICIENTS] = to_chebyshev.T
    row = np.zeros((PLACES, PLACES))  # the value at the start, the polynomial, and zeros
    row[:COEFFICIENTS, 0] = (-1.0) ** np.arange(COEFFICIENTS)
    for k in range(COEFFICIENTS):
        row[k, 1 : k + 2] = chebyshev.cheb2poly(np.eye(COEFFICIENTS)[k])[: k + 1]
    return np.concatenate([nodes, checks]), fit, row


_PLACES, _FIT, _TO_ROW = _matrices()
assert COEFFICIENTS % 2 == 0, "`tables.polynomial` takes coefficients by twos"
assert _PLACES.size == PLACES and PLACES > COEFFICIENTS + 1, "a row is the value at the start and the coefficients; checks follow"


class Half(NamedTuple):
    """The side x1 > 0 of a distribution: b T, angles, -log(1 + m^2)/2, where the series end, memory for their terms."""

    b: float
    m: float
    h0: float
    k1: float
    L: float
    eta: float
    log_c: float
    infinity_end: float  # log x1 from which on the series at infinity is accurate
    zeta_end: float  # up to which that at zeta is
    terms: np.ndarray


class Nodes(NamedTuple):
    """Nodes of Zolotarev's integral for the points of a side, where scale = (x1/at)^(a/(a - 1)) is between low and high.

    `top`: the largest g that counts; for the light tail of a distribution with beta = +-1 the least g, where scale is 1.
    """

    light: bool
    low: float
    high: float
    top: float
    at: float  # 0 next to alpha = 1, where scale goes with x0
    g: np.ndarray
    weights: np.ndarray
    moments: np.ndarray


# --- series at all places of a panel ----------------------------------------------------------------------------------

_ROWS = 11  # of the scratch array, of PLACES numbers each; one array, so that no alias check stands in the loops' way.
_POWER, _STEP, _P, _Q, _R, _LIVE, _LX, _X1, _X0, _WANTED, _U = (PLACES * k for k in range(_ROWS))


@_shared
def terms_needed(a, half, at_zeta, log_x1, terms):
    """Number of terms after which a series is accurate at x1, 0 if it is not."""
    log_c = half.log_c
    step = exp(log_x1 + log_c / a if at_zeta else -log_c - a * log_x1)
    power = 1.0 if at_zeta else (exp(-log_c) if log_x1 > _FAR else step)
    rest = step / (0.3 * a * half.L) if at_zeta else step / (power * (0.7 * math.pi))
    count, p, s = add_terms(a, half.h0, half.k1, half.L, at_zeta, power, step, terms)
    return count if s * rest < 1.0 else 0


@_shared
def series_end(a, half, at_zeta):
    """log x1 from which on the series at infinity is accurate, or up to which that at zeta."""
    bound, middle = dist.series_ends(a, half.log_c)[1 if at_zeta else 0], math.log(max(abs(half.m), 1.0))
    reach = (-4.0 if at_zeta else 4.0) / min(a, 1.0)
    near, far = middle + reach, middle - reach
    far = min(far, bound) if at_zeta else max(far, bound)
    terms = half.terms[1 if at_zeta else 0]
    if terms_needed(a, half, at_zeta, near, terms) == 0:
        return -np.inf if at_zeta else np.inf
    for _ in range(5):
        middle = 0.5 * (near + far)
        if terms_needed(a, half, at_zeta, middle, terms) > 0:
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
        value, over = -terms[1, k] if twist and k % 2 == 0 else terms[1, k], 1.0 / k
        for i in range(n):
            t = value * w[_POWER + i]
            w[_P + i] += t
            w[_Q + i] += t * over
            w[_POWER + i] *= w[_STEP + i]
    for i in range(n):
        w[_POWER + i] *= terms[0, count]


@_shared
def by_series(a, half, at_zeta, sign, w, f):
    """Logarithms of pdf, cdf, sf by one series into f (3, PLACES) at the wanted places; those leave row _WANTED."""
    h0, L, log_c = half.h0, half.L, half.log_c
    end, terms = half.zeta_end if at_zeta else half.infinity_end, half.terms[1 if at_zeta else 0]
    scale = math.exp(log_c / a)
    up, down = (1, 2) if sign > 0.0 else (2, 1)
    worst = -1
    for i in range(PLACES):
        live = w[_WANTED + i] > 0.0 and (w[_LX + i] < end if at_zeta else w[_LX + i] > end)
        w[_LIVE + i] = 1.0 if live else 0.0
        if live and (worst < 0 or (w[_LX + i] > w[_LX + worst]) == at_zeta):
            worst = i
    count = terms_needed(a, half, at_zeta, w[_LX + worst], terms) if worst >= 0 else 0
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
    sum_series(count, twisted(h0, half.k1, L, at_zeta), terms, w)
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
# With one (alpha, beta) g(w; x1) = g(w; 1) x1^(a/(a - 1)): see `dist.sweep_node`, for light tails `dist.light_node`, and next to
# alpha = 1, where that is exp(`dist.log_scale`) times g at x0 = 0, `dist.near_one_node`. The factor is called scale here.

MOMENTS = 8  # t e^-t is as good as its Taylor polynomial of that many terms for t < EARLY
EARLY = 0.06
_SERIES = -1.0 / np.arange(1, MOMENTS + 1)
_MOST_NODES, _BLOCK = 1024, 32  # next to alpha = 1, where 736 is the most seen


@_making
def no_nodes():
    """Where a side has none."""
    return Nodes(False, 0.0, 0.0, 0.0, 0.0, np.empty(0), np.empty((1, 0)), np.empty((1, 1, 1)))


@_making
def sweep_nodes(a, half):
    """The nodes for all x1 > 0: g at x1 = at, three rows of weights, their moments."""
    h0, k1, L, log_c = half.h0, half.k1, half.L, half.log_c
    p = a - 1.0
    steep, flat = max(a, 1.0) / abs(p), min(a, 1.0) / abs(p)  # slopes of log g at the two ends
    step = 0.25 / steep
    ratio = a / p
    at = max(abs(half.m), 1.0)  # next to alpha = 1 g at x1 = 1 is beyond all doubles
    constant = (log_c + a * math.log(at)) / p
    level = max(-math.log(h0 if a < 1.0 else k1), 0.0)  # where log g is nearly level in between: almost light tails
    top = math.log(50.0 + level)
    if a < 0.5:  # the integrands are e^(v - g) with g = e^(flat v): their peak is at g = 1/flat
        while top / flat - math.exp(top) > -math.log(flat) / flat - 1.0 / flat - 42.0 - level:
            top += 0.1
    # equal steps in t; wider ones in w where log g has the smaller slope and d theta/d w is all but e^w
    reach, wide = min(600.0, 130.0 / flat + 8.0), (steep if a >= 0.5 else min(0.8 * steep, 5.0 * flat)) / flat
    most = math.ceil((8.0 + (reach + level) / wide) / step)
    # log g is about steep t right of the middle and flat wide t left of it; the series are as fast outside these log x1/at
    lowest, highest = (-10.0 / a, 5.0 / a) if a < 0.5 else (-10.0, 4.0)
    if a >= 0.5:  # and next to alpha = 1 the powers of g, those in the moments too, are doubles inside these
        lowest, highest = (
            max(lowest, (75.0 if a > 1.0 else 110.0) / -abs(ratio)),
            min(highest, (110.0 if a > 1.0 else 75.0) / abs(ratio)),
        )
    lowest = max(lowest, half.zeta_end - math.log(at) - 0.1)
    highest = min(highest, half.infinity_end - math.log(at) + 0.1)
    if highest <= lowest:
        return no_nodes()
    largest, least = -min(ratio * lowest, ratio * highest), -max(ratio * lowest, ratio * highest)  # log g where g scale = 1
    # on a level stretch, which ends where d theta/d w is flat e^-level, nothing else changes; observed: with a length of 2 more
    # tables agree with points as before, with 3 more they are off by 3e-12; twice as sharp costs 1.5e-13
    coarse = max(wide, 0.4 / step)
    length = level - math.log(max(flat, 1.0))
    sharp = max(0.5 * steep, 1.0)
    first = math.log(steep) - 2.5 if a >= 0.5 and length > 3.0 else -8.0
    second = first - max((length + first) / coarse, 0.0)
    middle = math.log(dist.sweep_node(0.0, step, sharp, first, coarse, second, wide, a, h0, k1, L, constant)[0])
    slope = min(steep, flat * wide)
    beyond = max(middle + 42.0 - least, 42.0 * max(a, 1.0 / a))
    right = int(min(most, math.ceil((max(top + largest - middle, 0.0) / slope + 4.0) / step)))
    left = int(min(most, math.ceil((beyond / slope + 4.0 + level - (coarse - 1.0) * (first - second)) / step)))
    n = left + right + 1
    g, weights = np.empty(n), np.empty((3, n))
    near, early, late = weights[0], weights[1], weights[2]
    for i in range(n):
        g[i], near[i], early[i], late[i] = dist.sweep_node(
            step * (i - left), step, sharp, first, coarse, second, wide, a, h0, k1, L, constant
        )
    # log x1/at for which the window lies inside the nodes
    u, v = (top - math.log(g[n - 1]) + 1.0) / ratio, (-42.0 - math.log(g[0])) / ratio
    u, v = ratio * max(min(u, v), lowest), ratio * min(max(u, v), highest)
    low, high = math.exp(min(u, v)), math.exp(max(u, v))
    return Nodes(False, low, high, math.exp(top), at, g, weights, moments_of(g, weights))


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
def near_one_block(q, lowest, places, g, weights):
    """Nodes at places[0], where d w/d t is places[1]: g, or g/low - 1 where log low is given, and the three weights."""
    for i in range(g.size):
        lg, jac, near, far = dist.near_one_node(places[0, i], q)
        g[i] = exp(lg) if lowest == -np.inf else expm1(max(lg - lowest, 0.0))
        weights[0, i], weights[1, i], weights[2, i] = places[1, i] * jac, places[1, i] * near, places[1, i] * far


@_making
def near_one_nodes(a, half):
    """As `sweep_nodes` or, for light tails, `light_nodes`, next to alpha = 1: for all x0 where no ray holds, and those near.

    Equal steps in what `dist.near_one_place` inverts, whose slope is about that of log g, and where that is level 2.
    """
    b, m = half.b, half.m
    skew = abs(b)
    reach = dist.rays_from(b)
    if reach <= 0.0 or (a != 1.0 and reach >= m):
        return no_nodes()
    x1 = 1.0 if a == 1.0 else m
    q = dist.zolotarev(a, dist.Geometry(b, 0.0, x1, m, half.h0, half.k1, half.L, half.eta))
    light = skew == 1.0
    right, left, step = 0.5 * (1.0 + skew) / skew, 0.5 * (1.0 - skew) / skew, 0.25
    span = 0.1 + max(abs(dist.log_scale(reach, a, b, m)), abs(dist.log_scale(-reach, a, b, m)))
    least = math.exp(-42.0 - span)
    top = math.log(50.0 - (0.0 if light else min(math.log(left), 0.0)))
    w = 0.0
    while dist.near_one_node(w, q)[0] < top + span:
        w += 0.125
    g, weights, places = np.empty(_MOST_NODES), np.empty((3, _MOST_NODES)), np.empty((2, _BLOCK))
    t, first = dist.near_one_place(w, right, left, a - 1.0)[0], _MOST_NODES
    while first > 0 and (w > -42.0 if light else first == _MOST_NODES or g[first] > least):
        for i in range(_BLOCK - 1, -1, -1):
            w, slope = dist.near_one_step(t, w, right, left, a - 1.0)
            places[0, i], places[1, i] = w, step * slope
            w -= step * slope
            t -= step
        first -= _BLOCK
        near_one_block(q, q.lowest if light else -np.inf, places, g[first : first + _BLOCK], weights[:, first : first + _BLOCK])
    low, high = math.exp(-span), np.inf if light else math.exp(span)
    if not light:
        g, weights = g[first:].copy(), weights[:, first:].copy()
        return Nodes(False, low, high, math.exp(top), 0.0, g, weights, moments_of(g, weights))
    g, weights = g[first:].copy(), weights[:1, first:].copy()
    rest = q.L
    for i in range(g.size):
        rest -= weights[0, i]
    return Nodes(True, low, high, math.exp(q.lowest), 0.0, g, weights, sums_from(weights[0], rest))


@_shared
def fill_scales(a, half, at, w):
    """The scales of all places into row _STEP."""
    n = w.size // _ROWS  # see sum_series
    if at == 0.0:
        for i in range(n):
            w[_STEP + i] = exp(dist.log_scale(w[_X0 + i], a, half.b, half.m))
    else:
        ratio = a / (a - 1.0)
        for i in range(n):
            w[_STEP + i] = pow(w[_X1 + i] / at, ratio)


@_shared
def density_factor(a, b):
    """What, over x1, the integral of g e^-g is multiplied with; at a = 1, where there is no x1, the whole factor."""
    return 0.5 / b if a == 1.0 else a / (math.pi * abs(a - 1.0))


@_summing
def by_sweep(a, half, sign, nodes, w, f):
    """Logarithms of pdf, cdf, sf into f (3, PLACES) at the wanted places in reach; those leave row _WANTED.

    They are sums over the nodes of t e^-t times each row of weights, t = g scale.
    """
    g, weights, moments, low, high, top = nodes.g, nodes.weights, nodes.moments, nodes.low, nodes.high, nodes.top
    factor, share = density_factor(a, half.b), half.h0 / math.pi
    end, n = -1, w.size // _ROWS  # see sum_series
    fill_scales(a, half, nodes.at, w)
    for i in range(PLACES):
        scale = w[_STEP + i]
        mine = w[_WANTED + i] > 0.0 and scale > low and scale < high
        w[_LIVE + i] = 1.0 if mine else 0.0
        w[_P + i], w[_Q + i], w[_R + i] = 1.0, 1.0, 1.0
        if not mine:
            continue
        if end < 0:
            end = lower_bound(g, 0, g.size, top / scale)
            start = lower_bound(g, 0, end, EARLY / scale)
        else:  # the places follow each other
            while end < g.size and g[end] * scale < top:
                end += 1
            while end > 0 and not g[end - 1] * scale < top:
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
        log_p, log_c, log_s = dist.from_sweep(w[_P + i], w[_Q + i], w[_R + i], factor / w[_X1 + i], share)
        if w[_LIVE + i] > 0.0:
            f[0, i], f[up, i], f[down, i] = log_p, log_c, log_s
            w[_WANTED + i] = 0.0


# Light tails: g falls to a minimum at one end of theta, `top` of the nodes, and low = that times scale. The nodes rise with g:
# they hold excess = g/low - 1, whatever x1, the weights, and in `moments` the sums of all weights from a node on.


@_making
def light_nodes(a, half):
    """The nodes for all x1 > 0 in a light tail: the excess, one row of weights, their sums."""
    h0, k1, L, log_c = half.h0, half.k1, half.L, half.log_c
    p = a - 1.0
    step = 0.25 / max(max(a, 1.0) / abs(p), 2.0)
    first, last = math.floor(-8.0 / step), math.ceil(45.0 / step)
    n = int(last - first)
    g, weights = np.empty(n), np.empty((1, n))
    w = weights[0]
    lowest = a / p * (log_c - math.log(a)) + math.log(abs(p)) - log_c
    for i in range(n):
        g[i], w[i] = dist.light_node(step * (first + i), step, a, h0, k1, L, log_c, lowest)
    low = math.exp(a / p * ((3.0 if a >= 0.5 else 5.0 / a) if a < 1.0 else -20.0))  # the series are as fast outside
    return Nodes(True, low, np.inf, math.exp(lowest), 1.0, g, weights, sums_from(w, 0.0))


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
def by_light(a, half, sign, nodes, w, f):
    """As `by_sweep` for a light tail: sums of the weights times (g/low - 1) e^(low - g), e^(low - g) and 1 - e^(low - g)."""
    excess, weights, moments = nodes.g, nodes.weights, nodes.moments
    factor, share = density_factor(a, half.b), half.h0 / math.pi
    up, down = (1, 2) if sign > 0.0 else (2, 1)
    fill_scales(a, half, nodes.at, w)
    for i in range(PLACES):
        if not (w[_WANTED + i] > 0.0 and w[_STEP + i] > nodes.low):
            continue
        low = min(nodes.top * w[_STEP + i], 1e9)  # beyond, all is below the smallest double
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
        f[0, i], f[up, i], f[down, i] = dist.from_light_sweep(
            density, tail, rest, low, moments[0, 0, 0], moments[end, 0, 0], factor / w[_X1 + i], share, a <= 1.0
        )
        w[_WANTED + i] = 0.0


@_shared
def by_ray(a, b, places, w, f):
    """Logarithms of pdf, cdf, sf into f (3, PLACES) at the wanted places where a ray holds; those leave row _WANTED."""
    for i in range(PLACES):
        if w[_WANTED + i] > 0.0 and dist.by_the_ray(places[i], a - 1.0, b):
            v = ray(places[i], a, b)
            for r in range(3):
                f[r, i] = dist.pick(2 * r + 1, v, 1.0)
            w[_WANTED + i] = 0.0


# --- panels ------------------------------------------------------------------------------------------------------------------


@_making
def half_of(a, b, m, wanted):
    """The side x1 > 0, with the ends of its series if they are wanted; m = b T."""
    h0, k1, L, eta = dist.angles(a, b, m)
    log_c, terms = -0.5 * math.log1p(m * m), np.empty((2, 2, TERMS))
    terms[0, 0, 0], terms[1, 0, 0] = 0.0, 0.0
    half = Half(b, m, h0, k1, L, eta, log_c, np.inf, -np.inf, terms)
    if not wanted or a == 1.0 or (b == -1.0 and a < 1.0):  # the last is outside the support
        return half
    ends = np.empty(2)
    for k in range(2):
        ends[k] = series_end(a, half, k == 1)
    return Half(b, m, h0, k1, L, eta, log_c, ends[0], ends[1], terms)


@_making
def heavy_nodes(a, half, wanted):
    """Nodes of a side where |beta| < 1, alpha not next to 1."""
    return sweep_nodes(a, half) if wanted else no_nodes()


@_making
def one_sided_nodes(a, half, wanted):
    """The same where beta = +-1."""
    if not wanted or (half.b == -1.0 and a < 1.0):
        return no_nodes()
    return light_nodes(a, half) if (half.b < 0.0) == (a > 1.0) else sweep_nodes(a, half)


@_making
def nodes_next_to_one(a, half, wanted):
    """The same with alpha next to 1."""
    return near_one_nodes(a, half) if half.m > 0.0 or (a == 1.0 and half.b > 0.0) else no_nodes()


@_shared
def by_nodes(frame, half, sign, nodes, places, w, f):
    """Logarithms of pdf, cdf and sf at the wanted places by the nodes of a side where |beta| < 1."""
    if nodes.g.size > 0:
        by_sweep(frame.a, half, sign, nodes, w, f)


@_shared
def by_one_sided_nodes(frame, half, sign, nodes, places, w, f):
    """The same where beta = +-1."""
    if nodes.light:
        by_light(frame.a, half, sign, nodes, w, f)
    elif nodes.g.size > 0:
        by_sweep(frame.a, half, sign, nodes, w, f)


@_shared
def by_nodes_next_to_one(frame, half, sign, nodes, places, w, f):
    """The same with alpha next to 1."""
    by_one_sided_nodes(frame, half, sign, nodes, places, w, f)
    by_ray(frame.a, frame.b, places, w, f)


@_shared
def light_end(a, m):
    """Where a light distribution's density has underflowed: (|x0| of the light tail, log x1)."""
    if a == 1.0:
        return (2.0 / math.pi) * (math.log(_LIGHT_END * 0.5 * math.pi) + 1.0), 0.0
    p = a - 1.0
    log_c = -0.5 * math.log1p(m * m)
    r = p / a * (math.log(_LIGHT_END / abs(p)) + log_c)  # log x1 c/a
    half = math.sin(0.25 * math.pi * abs(p))
    return abs(a * math.expm1(r) + p + 2.0 * half * half) / math.sin(0.5 * math.pi * abs(p)), r + math.log(a) - log_c


MARCH = np.dtype([(name, "f8") for name in ("side", "reached", "end", "width", "right_width")])
"""The panels of a side, made one after the other: the place reached, the last, the width of the next panel, what would have been
the right width of the one before."""
PROGRESS = np.dtype([(name, "f8") for name in ("marches", "kept", "full", "certificate", "panels", "cells")])
"""Number of marches, panels kept, whether all values are there, and at the end the certificate and the size of the table."""


class Frame(NamedTuple):
    """A distribution and the variable of its table, u = log(|x - centre|/delta + shift)."""

    a: float
    b: float
    m: float  # b T
    centred: bool
    light: bool  # one tail is
    zeta: float
    delta: float
    log_delta: float
    shift: float
    tolerance: float


@_uncontracted
def frame_of(a, b):
    """Of a table."""
    centred, light, m = a < 0.9, abs(b) == 1.0, b * dist.tangent(a)[0]
    delta = cusp_width(a, b, m)
    zeta = 0.0 if centred else -m
    if a == 1.0:  # no side but one
        zeta = -np.inf if b > 0.0 else np.inf
    tolerance = 4e-14 if light or dist.next_to_one(a, b) else 1e-14  # light tails and integrals next to 1 have more noise
    return Frame(a, b, m, centred, light, zeta, delta, log(delta), 0.0 if centred and light else 1.0, tolerance)


@_uncontracted
def open_marches(frame, marches):
    """Begin the marches of a table; returns their number."""
    count = 0
    for s in range(2):
        side = 1.0 - 2.0 * s
        if (side < 0.0 and frame.b == 0.0) or (frame.centred and side * frame.b == -1.0):  # the mirror image, or nothing there
            continue
        march = marches[count]
        march.side, march.reached, march.end = side, 0.0, _LOG_LARGEST - frame.log_delta
        march.width, march.right_width = _FIRST_WIDTH, 0.0
        if frame.light:
            far, near = light_end(frame.a, frame.m)
            if frame.centred:
                march.reached = near
            elif side * frame.b == -1.0:
                march.end = math.log1p(far)
        count += 1
    return count


@_shared
def next_end(march):
    """End of a march's next panel, so that no narrow one is left over."""
    rest = march.end - march.reached
    if march.width >= rest:
        return march.end
    return march.reached + (0.5 * rest if 2.0 * march.width > rest else march.width)


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
def misfit(row, values, c):
    """How far a table's rows (3, PLACES) are from the values at the check points, of all three, as `largest`."""
    size = 0.0
    for r in range(3):
        for i in range(COEFFICIENTS, PLACES):
            v = row[r, COEFFICIENTS]
            for k in range(COEFFICIENTS - 1, 0, -1):
                v = v * _PLACES[i] + row[r, k]
            size = max(size, abs(v - values[r, i]) / (1.0 + 0.01 * abs(c[r, 0])))
    return size


@_shared
def right_width(width, fine, last, middle, tolerance):
    """The best width of a panel, by its last coefficients, or by those before where the last are rounding."""
    size = last if not fine or (last > 0.5 * tolerance and middle > 3e-9) else middle * middle
    return width * min(max((0.3 * tolerance / max(size, 1e-30)) ** (1.0 / DEGREE), 0.1), 4.0)


@_uncontracted
def set_places(frame, march, places, w):
    """Where the values of a march's next panel are taken: u into row _U, and x."""
    end = next_end(march)
    mid, half = 0.5 * (march.reached + end), 0.5 * (end - march.reached)
    for i in range(PLACES):
        u = mid + half * _PLACES[i]
        w[_U + i], small = u, min(u, 40.0)
        t = frame.delta * (expm1(small) if frame.shift > 0.0 else exp(small))
        places[i] = march.side * (t if u < 40.0 else exp(u + frame.log_delta))


@_shared
def want(frame, sign, places, w):
    """Set the rows for the places right (sign 1) or left of zeta."""
    n = w.size // _ROWS  # see sum_series
    for i in range(n):
        x1 = sign * (places[i] - frame.zeta)
        w[_WANTED + i] = 1.0 if x1 > 0.0 else 0.0
        w[_X1 + i] = x1 if x1 > 0.0 and x1 < np.inf else 1.0
        w[_X0 + i] = sign * places[i]
    if w[_U] < 4.0 or sign * places[0] < 0.0:
        for i in range(n):
            w[_LX + i] = log(w[_X1 + i])
    else:  # without the rounding of x
        rest = -(sign * frame.zeta / frame.delta) - frame.shift
        for i in range(n):
            w[_LX + i] = w[_U + i] + frame.log_delta + log1p(max(rest * exp(-w[_U + i]), -0.9))


@_shared
def missing(w, f):
    """Whether a wanted value is missing: it is NaN in f."""
    found = False
    for i in range(PLACES):
        if w[_WANTED + i] > 0.0:
            f[0, i], found = np.nan, True
    return found


@_uncontracted
def bound_below(values):
    """Put a large negative number in the place of the logarithms of 0; whether there were none."""
    finite = True
    for r in range(3):
        for i in range(PLACES):
            finite = finite and values[r, i] > -np.inf
            values[r, i] = values[r, i] if values[r, i] > -np.inf else _LOWEST
    return finite


@_uncontracted
def advance(march, values, c, tolerance, spans, rows, progress):
    """Keep a march's next panel or narrow it, by its Chebyshev coefficients; they go to c."""
    end, finite = next_end(march), bound_below(values)
    width = end - march.reached
    combine(values, _FIT, c)
    last, middle = largest(c, DEGREE - 1, 0.03), largest(c, DEGREE // 2, 0.03)
    fine = finite and (last < tolerance or middle < 5.0 * tolerance)  # the latter where there is noise
    kept = int(progress.kept)
    if fine or width <= _FINEST or kept >= _CROWDED:
        combine(c, _TO_ROW, rows[kept])
        spans[kept, 0], spans[kept, 1], spans[kept, 2] = march.side, march.reached, end
        progress.kept, march.reached = kept + 1.0, end
        if finite:
            progress.certificate = max(progress.certificate, misfit(rows[kept], values, c))
    right = 0.5 * width
    if kept >= _CROWDED:
        right *= 4.0
    elif finite:
        right = right_width(width, fine, last, middle, tolerance)
    # where widths shrink, the next one will have to shrink as much again
    trend = min(max(right / march.right_width, 0.7), 1.0) if fine and march.right_width > 0.0 else 1.0
    march.width, march.right_width = max(right * trend, _FINEST), right if fine else march.right_width


_nodes = _by_nodes = None  # bound by HostLoop


def make_table(a, b, x, f, marches, spans, rows, progress, info, cells, panels):
    """Write the info, cells and panels of `table_cache.Table`, the last two from the start of arrays that are long enough.

    A value that is missing is NaN in f (MARCHES, 3, PLACES), and its place stands in x: then the number of panels stays 0, and
    the caller fills in and calls again. The rest is memory that calls share; spans: side, begin and end of every panel, rows: its
    coefficients; marches and progress, of zeros at first: see MARCH and PROGRESS. Nothing is returned: Numba makes an array that
    it returns by running Python, where a pending KeyboardInterrupt would end as a SystemError.
    """
    frame, state = frame_of(a, b), progress[0]
    if state.marches == 0.0:
        state.marches = open_marches(frame, marches)
    both, always = b != 0.0, a > 0.0  # if b = 0 the mirror image will do
    halves = half_of(a, b, frame.m, always), half_of(a, -b, -frame.m, both)
    nodes = _nodes(a, halves[0], always), _nodes(a, halves[1], both)
    w, c = np.empty(_ROWS * PLACES), np.empty((3, PLACES))
    count = int(state.marches)
    while True:
        if state.full == 0.0:
            lacking = False
            for k in range(count):
                values, places = f[k], x[k]
                if marches[k].reached == next_end(marches[k]):  # it has arrived
                    values[0, :] = 0.0
                    continue
                set_places(frame, marches[k], places, w)
                for s in range(2):
                    sign = 1.0 - 2.0 * s
                    if max(sign * places[0], sign * places[COEFFICIENTS - 1]) > sign * frame.zeta:
                        want(frame, sign, places, w)
                        for series in range(2):
                            by_series(a, halves[s], series == 1, sign, w, values)
                        _by_nodes(frame, halves[s], sign, nodes[s], places, w, values)
                        lacking |= missing(w, values)
            if lacking:
                state.full = 1.0
                return
        state.full = 0.0
        under_way = False
        for k in range(count):
            if marches[k].reached != next_end(marches[k]):
                advance(marches[k], f[k], c, frame.tolerance, spans, rows, state)
                under_way |= marches[k].reached < marches[k].end
        if not under_way:
            state.panels, state.cells = finish(b, not frame.centred, spans[: int(state.kept)], rows, info, cells, panels)
            info[0, 0], info[0, 1], info[0, 2] = 1.0 / frame.delta, frame.shift, 1.0 if b == 0.0 else 0.0
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
        begin, end = spans[k, 1], spans[k, 2]
        for r in range(3):
            for j in range(COLUMNS):
                if j < 2:
                    v = 2.0 / (end - begin) if j > 0 else 0.5 * (begin + end)
                else:
                    v = rows[k, r, j - 1] if j < START else (rows[k, r, 0] if j == START else 0.0)
                panels[r, i, j] = v
                if mirrored:
                    panels[(3 - r) % 3, kept + i, j] = v
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


_F2, _F3, _I2 = types.float64[:, ::1], types.float64[:, :, ::1], types.int64[:, ::1]
_MARCHES, _PROGRESS = (types.Array(numba.from_dtype(dtype), 1, "C") for dtype in (MARCH, PROGRESS))
_ARGUMENTS = [(types.float64, types.float64, _F2, _F3, _MARCHES, _F2, _F3, _PROGRESS, _F2, _I2, _F3)]


def _maker(name, nodes, by):
    return HostLoop(f"stable.{name}", make_table, _ARGUMENTS, parallel=False, _nodes=nodes, _by_nodes=by)


# what few distributions need is compiled with their first table
_HEAVY = _maker("table_of_heavy_tails", heavy_nodes, by_nodes)
_ONE_SIDED = _maker("table_of_a_light_tail", one_sided_nodes, by_one_sided_nodes)
_NEXT_TO_ONE = _maker("table_next_to_one", nodes_next_to_one, by_nodes_next_to_one)


def maker(a, b):
    """The loop that makes the table of a distribution."""
    if abs(a - 1.0) < (dist.LIGHT_NEAR_ONE if abs(b) == 1.0 else dist.NEAR_ONE):
        return _NEXT_TO_ONE
    return _ONE_SIDED if abs(b) == 1.0 else _HEAVY


HostLoop("stable.zeta", dist.zeta, [(types.float64, types.float64)], parallel=False)
HostLoop("stable.tan_half_pi", dist.tan_half_pi, [(types.float64,)], parallel=False)
