"""One point by Zolotarev's integral."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats._core.kernel import array_function
from numbastats.scalar import stable as dist
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.stable.kernels.kronrod import kronrod

_shared = array_function(host=False)


# int g e^-g, int e^-g and int (1 - e^-g) over theta, in w = log(d0/d1), by Gauss-Legendre on panels whose ends are fixed
# points in w and level sets of log g.

WIDEST = 115.0
_GRID = np.array([-110.0, -75.0, -55.0, -40.0, -24.0, -14.0, -7.0, -3.0, 0.0, 3.0, 7.0, 14.0, 24.0, 40.0, 55.0, 75.0, 110.0])
_BEND_GRID = np.array([-9.0, -4.0, -1.5, 0.0, 1.5, 4.0, 9.0])
_LEVELS = np.array(
    [-38.0, -24.0, -15.0, -9.0, -5.5, -3.0, -1.5, -0.5, 0.3, 1.0, 1.6, 2.2, 2.8, 3.3, 3.75]
    + [4.1, 4.4, 4.7, 5.0, 5.4, 5.8, 6.2, 6.6, 7.0]
)
_SHIFTS = np.array([0.003, 0.02, 0.08, 0.2, 0.5, 1.0, 2.0, 3.5, 5.5, 8.0, 11.0, 15.0, 20.0, 27.0, 40.0])
_LOG_SHIFTS = np.log(_SHIFTS)


class Rule(NamedTuple):
    """A rule for the panels: nodes and weights on [-1, 1], and the weights of a lower rule on the same nodes, if there is one."""

    nodes: np.ndarray
    weights: np.ndarray
    lower: np.ndarray


GAUSS, KRONROD = Rule(*np.polynomial.legendre.leggauss(12), np.empty(0)), Rule(*kronrod(7))
SAMPLES = 32  # places at which log g is looked at to find its level sets
ROOM = SAMPLES + _LEVELS.size + _SHIFTS.size  # and one more for each level
PANELS = 60  # at most


@_shared
def fill_log_g(w, n, q, d0, jac, lg):
    """log g, d0 and d theta/d w at n places w."""
    if q.mode == 2.0:
        for i in range(n):
            in_step()
            u, v, j = dist.lengths(w[i], q.L)
            d0[i], jac[i], lg[i] = u, j, dist.log_g_one(u, v, w[i], q)
    elif q.mode == 1.0:
        for i in range(n):
            in_step()
            u, v, j = dist.lengths(w[i], q.L)
            d0[i], jac[i], lg[i] = u, j, dist.log_g_near_one(u, v, w[i], q)
    else:
        for i in range(n):
            in_step()
            u, v, j = dist.lengths(w[i], q.L)
            d0[i], jac[i], lg[i] = u, j, dist.log_g(u, v, w[i], q)


@_shared
def bend(q):
    """Distance to one end at which the log g of an almost light tail leaves a level stretch; 0 where it has none."""
    small = q.end if q.a == 1.0 else (q.k1 if q.a > 1.0 else q.h0) * max(abs(q.ratio), 1.0)
    return small if small < 0.7 else 0.0


@_shared
def level_stretch(q):
    """Height of that stretch."""
    if q.a == 1.0:
        return log(q.b / (0.5 * math.pi)) - (1.0 + 0.5 * math.pi * q.x0 / q.b)
    r = log1p((q.excess - q.p) / q.a) if q.mode > 0.0 else log(q.x1c / q.a)
    return q.ratio * r + log(abs(q.p)) - q.log_c


@_shared
def grid_with_bend(q, grid):
    """The fixed grid, denser where log g of an almost light tail leaves its level stretch; returns the number of places."""
    small = bend(q)
    where = log(small / q.L) if small > 0.0 else np.inf
    n, extra = 0, 0
    for k in range(_GRID.size):
        while extra < _BEND_GRID.size and where + _BEND_GRID[extra] < _GRID[k]:
            grid[n] = where + _BEND_GRID[extra]
            n, extra = n + 1, extra + 1
        grid[n] = _GRID[k]
        n += 1
    return n


@_shared
def level(k, split, low):
    """Height of level set number k."""
    return log(low + _SHIFTS[k - split]) if k >= split else _LEVELS[k]


@_shared
def log_above(lg, low):
    """log(g - low), or what is far below all of its levels."""
    return log(max(exp(min(lg, 700.0)) - low, 1e-30))


@_shared
def level_sets(q):
    """(number of levels, first one that goes by log(g - low), low, whether that is the minimum).

    Else low is the height of the level stretch of an almost light distribution.
    """
    low = exp(q.lowest)
    if low >= 0.05:
        return _SHIFTS.size, 0, low, True
    # For small alpha the integrands are e^(v - g) with g = e^(r v), r = a/(1 - a): the peak is at g = 1/r.
    levels = _SHIFTS.size
    if q.a < 0.5:
        r = q.a / (1.0 - q.a)
        peak = -log(r) / r - 1.0 / r
        while levels < _LEVELS.size and _LEVELS[levels - 1] / r - exp(_LEVELS[levels - 1]) > peak - 42.0:
            levels += 1
    stretch = level_stretch(q) if bend(q) > 0.0 else -np.inf
    if not (stretch > -3.0 and stretch < 6.0):
        return levels, levels, low, False
    split = levels
    while split > 0 and _LEVELS[split - 1] >= stretch:
        split -= 1
    return split + _SHIFTS.size, split, exp(stretch), False


@_shared
def sample_place(i, left, right, first, q):
    """Place number i of SAMPLES between two ends; the first time denser in the middle."""
    t = 2.0 * i / (SAMPLES - 1.0) - 1.0
    v = WIDEST * t * abs(t) if first else 0.5 * ((right + left) + (right - left) * t)
    return v if q.a <= 1.0 else -v


@_shared
def look(left, right, first, q, work):
    """Log g at SAMPLES places."""
    for i in range(SAMPLES):
        work[0, i] = sample_place(i, left, right, first, q)
    fill_log_g(work[0], SAMPLES, q, work[1], work[2], work[3])


@_shared
def sample(bottom, top, q, work):
    """Log g at SAMPLES places that bracket all levels, by bisection."""
    w, lg = work[0], work[3]
    sign = 1.0 if q.a <= 1.0 else -1.0
    left, right = -WIDEST, WIDEST
    for turn in range(8):
        look(left, right, turn == 0, q, work)
        i, j = 0, SAMPLES - 1
        while i + 1 < SAMPLES and lg[i + 1] < bottom:
            i += 1
        while j > 0 and not (lg[j - 1] < top):
            j -= 1
        j = max(j, i + 1)
        i, j = min(i, SAMPLES - 2), min(j, SAMPLES - 1)
        if turn > 0 and j - i > SAMPLES // 3:
            break
        left, right = sign * w[i], sign * w[j]
        if right - left <= 1e-15 * max(abs(left), abs(right)):
            break


@_shared
def cross(levels, split, low, q, work):
    """Where straight lines between the samples cross the levels, and log g or log(g - low) there, behind the samples.

    Where log g bends between two samples lines are levels off, and what lies beyond the last one would be lost: a look at where
    they cross makes them parabolas. Above a minimum or a level stretch log(g - low) is nearly straight where log g bends.
    """
    w, above, jac, lg = work[0], work[1], work[2], work[3]
    i, crossed, there = 0, w[SAMPLES:], lg[SAMPLES:]
    for j in range(SAMPLES if split < levels else 0):
        above[j] = log_above(lg[j], low)
    for k in range(levels):
        height = level(k, split, low)
        while i + 2 < SAMPLES and lg[i + 1] < height:
            i += 1
        if k < split:
            crossed[k] = dist.crossing(height, w[i], lg[i], w[i], lg[i], w[i + 1], lg[i + 1])
        else:
            crossed[k] = dist.crossing(_LOG_SHIFTS[k - split], w[i], above[i], w[i], above[i], w[i + 1], above[i + 1])
    fill_log_g(crossed, levels, q, above[SAMPLES:], jac[SAMPLES:], there)
    for k in range(split, levels):
        above[SAMPLES + k] = log_above(there[k], low)


@_shared
def crossings(q, work, ends):
    """Ends of the panels, in v = +-w such that log g rises with v; returns their number."""
    w, above, grid, lg = work[0], work[1], work[2], work[3]
    if q.lowest > 27.0:  # e^-g is beyond all doubles, and a factor does not count in its logarithm
        return 0
    sign = 1.0 if q.a <= 1.0 else -1.0
    levels, split, low, shifted = level_sets(q)
    top = level(levels - 1, split, low)
    bottom = level(0, split, low) if shifted else max(_LEVELS[0], q.lowest + 0.02)
    sample(bottom, top, q, work)
    cross(levels, split, low, q, work)
    crossed, there = w[SAMPLES:], lg[SAMPLES:]
    # merge the crossings with the fixed grid
    places = grid_with_bend(q, grid)  # in memory that the samples no longer need
    n, g, i = 0, 0, 0
    while i + 1 < SAMPLES and lg[i + 1] < bottom:
        i += 1
    while g + 1 < places and grid[g + 1] < min(sign * w[i], 0.0) - 40.0:  # d theta/d w is below e^-40 there
        g += 1
    i = 0
    for k in range(levels):
        height = level(k, split, low)
        while i + 1 < SAMPLES and lg[i + 1] < height:
            i += 1
        if i + 1 == SAMPLES or not (lg[i] < height):
            continue
        if k < split:
            v = sign * dist.crossing(height, w[i], lg[i], crossed[k], there[k], w[i + 1], lg[i + 1])
        else:
            v = sign * dist.crossing(
                _LOG_SHIFTS[k - split], w[i], above[i], crossed[k], above[SAMPLES + k], w[i + 1], above[i + 1]
            )
        v = max(v, ends[n - 1]) if n > 0 else v
        if n == 0 and k == 0 and v < -4.0 and not shifted and abs(q.p) < 0.1:  # log g falls so fast that g is 0 before
            while g < places and grid[g] < v:
                g += 1
        while g < places and grid[g] < v:
            ends[n] = grid[g]
            n += 1
            g += 1
        ends[n] = v
        n += 1
    if lg[SAMPLES - 1] < top:
        while g < places:
            ends[n] = grid[g]
            n += 1
            g += 1
    return n


@_shared
def integrate(n, q, ends, rule, work, out):
    """The three integrals into out[:3], and into out[3:] the sums over the panels of |rule - lower rule|."""
    w, d0, jac, lg = work[0], work[1], work[2], work[3]
    nodes, weights, lower = rule
    sign = 1.0 if q.a <= 1.0 else -1.0
    low = exp(q.lowest)
    per = nodes.size
    m = per * (n - 1)
    for k in range(n - 1):
        half, mid = 0.5 * (ends[k + 1] - ends[k]), 0.5 * (ends[k + 1] + ends[k])
        part = w[k * per : (k + 1) * per]
        for j in range(per):
            part[j] = sign * (mid + half * nodes[j])
    fill_log_g(w, m, q, d0, jac, lg)
    for i in range(m):
        in_step()
        lg[i], jac[i], d0[i] = dist.integrands(lg[i], jac[i], low)
    for j in range(6):
        out[j] = 0.0
    for k in range(n - 1):
        half = 0.5 * (ends[k + 1] - ends[k])
        p, c, s, pl, cl, sl = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(per):
            i = k * per + j
            p, c, s = p + weights[j] * lg[i], c + weights[j] * jac[i], s + weights[j] * d0[i]
            if lower.size > 0:
                pl, cl, sl = pl + lower[j] * lg[i], cl + lower[j] * jac[i], sl + lower[j] * d0[i]
        out[0] += half * p
        out[1] += half * c
        out[2] += half * s
        if lower.size > 0:
            out[3] += half * abs(p - pl)
            out[4] += half * abs(c - cl)
            out[5] += half * abs(s - sl)
    add_outside(n, q, ends, out)


@_shared
def add_outside(n, q, ends, out):
    """Add the lengths of theta before the first panel, where e^-g is 1, and after the last, where it is 0."""
    if n == 0:
        out[0], out[1], out[2] = 1.0, 1.0, q.L
        return
    sign = 1.0 if q.a <= 1.0 else -1.0
    first, last = dist.lengths(sign * ends[0], q.L), dist.lengths(sign * ends[n - 1], q.L)
    before, after = (first[0], last[1]) if sign > 0.0 else (first[1], last[0])
    out[1] += before
    out[2] += after
