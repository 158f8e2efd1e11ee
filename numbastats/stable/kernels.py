"""Kernels of the stable laws."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange, types

from numbastats._core.compile import Kernel, array_function
from numbastats.scalar import stable as law
from numbastats.scalar import stable_nodes
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp, expm1, log, sincos
from numbastats.scalar.philox import philox4x32
from numbastats.stable.rules import kronrod

# Only jitted code calls these functions of arrays; those that sum may do so in any order.
_shared = array_function(host=False)
_summing = array_function(host=False, fastmath=("contract", "reassoc"))

# --- one point by Zolotarev's integral --------------------------------------------------------------------------------
# int g e^-g, int e^-g and int (1 - e^-g) over theta, in w = log(d0/d1), by Gauss-Legendre on panels whose ends are fixed
# points in w and level sets of log g.

WIDEST = 115.0
_GRID = np.array([-110.0, -75.0, -55.0, -40.0, -24.0, -14.0, -7.0, -3.0, 0.0, 3.0, 7.0, 14.0, 24.0, 40.0, 55.0, 75.0, 110.0])
_BEND_GRID = np.array([-9.0, -4.0, -1.5, 1.5, 4.0, 9.0])
_LEVELS = np.array(
    [-38.0, -24.0, -15.0, -9.0, -5.5, -3.0, -1.5, -0.5, 0.3, 1.0, 1.6, 2.2, 2.8, 3.3, 3.75]
    + [4.1, 4.4, 4.7, 5.0, 5.4, 5.8, 6.2, 6.6, 7.0]
)
_SHIFTS = np.array([0.003, 0.02, 0.08, 0.2, 0.5, 1.0, 2.0, 3.5, 5.5, 8.0, 11.0, 15.0, 20.0, 27.0, 40.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_NONE = np.empty(0)
KRONROD, KRONROD_WEIGHTS, KRONROD_LOWER = kronrod(7)
SAMPLES = 32  # places at which log g is looked at to find its level sets
PANELS = 60  # at most
TASK = 64  # points per task
COEFFICIENTS = 14  # of a table's polynomials
CHUNK, BLOCK = 4096, 64  # table look-ups per task and per pass
LANES = 64  # threads of a CUDA block that share a point


@_shared
def fill_log_g(w, n, L, q, d0, jac, lg):
    """log g, d0 and d theta/d w at n places w."""
    if q[11] == 2.0:
        for i in range(n):
            u, v, j = law.lengths(w[i], L)
            d0[i], jac[i], lg[i] = u, j, law.log_g_one(u, v, w[i], q)
    elif q[11] == 1.0:
        for i in range(n):
            u, v, j = law.lengths(w[i], L)
            d0[i], jac[i], lg[i] = u, j, law.log_g_near_one(u, v, w[i], q)
    else:
        for i in range(n):
            u, v, j = law.lengths(w[i], L)
            d0[i], jac[i], lg[i] = u, j, law.log_g(u, v, w[i], q)


@_shared
def almost_light(q):
    """Whether log g has a level stretch, which it leaves where the distance to one end is as small as k1 or h0."""
    small = q[3] if q[0] > 1.0 else q[2]
    return small > 0.0 and small < 0.2 and q[0] != 1.0


@_shared
def grid_with_bend(q, L, grid):
    """The fixed grid, denser where log g of an almost light law leaves its level stretch; returns the number of places."""
    level = almost_light(q)
    bend = log((q[3] if q[0] > 1.0 else q[2]) / L) if level else 0.0
    n, extra = 0, 0
    for k in range(_GRID.size):
        while level and extra < _BEND_GRID.size and bend + _BEND_GRID[extra] < _GRID[k]:
            grid[n] = bend + _BEND_GRID[extra]
            n, extra = n + 1, extra + 1
        grid[n] = _GRID[k]
        n += 1
    return n


@_shared
def crossings(L, lowest, q, w, d0, jac, lg, ends):
    """Ends of the panels, in v = +-w such that log g rises with v; returns their number."""
    if lowest > 27.0:  # e^-g is beyond all doubles, and a factor does not count in its logarithm
        return 0
    sign = 1.0 if q[0] <= 1.0 else -1.0
    low = exp(lowest)
    shifted = low >= 0.05
    # For small alpha the integrands are e^(v - g) with g = e^(r v), r = a/(1 - a): the peak is at g = 1/r.
    levels = _SHIFTS.size
    if q[0] < 0.5 and not shifted:
        r = q[0] / (1.0 - q[0])
        peak = -log(r) / r - 1.0 / r
        while levels < _LEVELS.size and _LEVELS[levels - 1] / r - exp(_LEVELS[levels - 1]) > peak - 42.0:
            levels += 1
    # The levels from number `split` on go by what is left above the minimum, or above the level stretch of an almost light law.
    stretch = q[6] * log(q[5] / q[0]) + log(abs(q[1])) - q[4] if almost_light(q) else -np.inf
    split = levels
    if shifted:
        split, levels = 0, _SHIFTS.size
    elif stretch > -3.0 and stretch < 6.0:
        low = exp(stretch)
        while split > 0 and _LEVELS[split - 1] >= stretch:
            split -= 1
        levels = split + _SHIFTS.size
    top = log(low + _SHIFTS[-1]) if split < levels else _LEVELS[levels - 1]
    bottom = log(low + _SHIFTS[0]) if shifted else max(_LEVELS[0], lowest + 0.02)
    left, right = -WIDEST, WIDEST
    for turn in range(8):
        for i in range(SAMPLES):
            t = 2.0 * i / (SAMPLES - 1.0) - 1.0
            v = WIDEST * t * abs(t) if turn == 0 else 0.5 * ((right + left) + (right - left) * t)
            w[i] = sign * v
        fill_log_g(w, SAMPLES, L, q, d0, jac, lg)
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
    # the samples bracket the levels: merge interpolated crossings with the fixed grid
    grid, places = jac, grid_with_bend(q, L, jac)  # no longer needed for the samples
    n, g, i = 0, 0, 0
    while i + 1 < SAMPLES and lg[i + 1] < bottom:
        i += 1
    while g + 1 < places and grid[g + 1] < min(sign * w[i], 0.0) - 40.0:  # d theta/d w is below e^-40 there
        g += 1
    i = 0
    for k in range(levels):
        height = log(low + _SHIFTS[k - split]) if k >= split else _LEVELS[k]
        while i + 1 < SAMPLES and lg[i + 1] < height:
            i += 1
        if i + 1 == SAMPLES or not (lg[i] < height):
            continue
        t = (height - lg[i]) / (lg[i + 1] - lg[i])
        t = t if t >= 0.0 and t <= 1.0 else 0.5
        v = sign * (w[i] + t * (w[i + 1] - w[i]))
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
def integrate(n, L, lowest, q, ends, nodes, weights, lower, w, d0, jac, lg, out):
    """The three integrals into out[:3], and into out[3:] the sums over the panels of |rule - lower rule|."""
    sign = 1.0 if q[0] <= 1.0 else -1.0
    low = exp(lowest)
    per = nodes.size
    m = per * (n - 1)
    for k in range(n - 1):
        half, mid = 0.5 * (ends[k + 1] - ends[k]), 0.5 * (ends[k + 1] + ends[k])
        part = w[k * per : (k + 1) * per]
        for j in range(per):
            part[j] = sign * (mid + half * nodes[j])
    fill_log_g(w, m, L, q, d0, jac, lg)
    for i in range(m):
        lg[i], jac[i], d0[i] = law.integrands(lg[i], jac[i], low)
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
    if n > 0:  # beyond the last end e^-g is 0
        near, far, unused = law.lengths(sign * ends[n - 1], L)
        out[2] += far if sign > 0.0 else near
    else:
        out[0], out[1], out[2] = 1.0, 1.0, L


# --- one point -----------------------------------------------------------------------------------------------------------
# Closed forms, series, a ray next to the Cauchy law, the Fourier rule, Zolotarev's integral: the first that is accurate.
# What depends on alpha and beta alone is kept for the next point: the terms of both series, and the nodes of the rule.

TERMS = 91  # of a series; number 0 counts those at hand
SLOW = 0.85  # ratio of the fifth term to the fourth that would take too many
_LOG_FACTORIAL = np.array([math.lgamma(k + 1.0) for k in range(TERMS)])
_BANDS = [np.array(band).reshape(-1, 2) for band in (stable_nodes.LOW, stable_nodes.MIDDLE, stable_nodes.HIGH)]
_FIRST = np.cumsum([0] + [len(band) for band in _BANDS])
_U, _W = np.ascontiguousarray(np.concatenate(_BANDS).T)
_LOG_U = np.log(_U)
MOST_NODES = max(map(len, _BANDS))


@_shared
def more_terms(a, angle, at_zeta, terms):
    """The next 16 terms of a series, into terms (2, TERMS)."""
    first = int(terms[0, 0]) + 1
    size, value, logs = terms[0, first : first + 16], terms[1, first : first + 16], _LOG_FACTORIAL[first - at_zeta :]
    for i in range(size.size):
        size[i], value[i] = law.series_term(float(first + i), logs[i], a, angle, at_zeta > 0)
    terms[0, 0] += size.size


@_shared
def series_at_infinity(a, geometry, terms):
    """(whether they are accurate, six numbers) for x1 > 0 by the expansion in x1^-a."""
    b, x0, x1, m, h0, k1, L, eta = geometry
    y, g, fine = law.power_at_infinity(x1, a, m)
    small = k1 > 0.5 * math.pi
    angle = a * L if small else k1
    p, s, top, before, ok = 0.0, 0.0, 0.0, np.inf, False
    power, step = exp(y + g), exp(y)
    for k in range(1, TERMS if fine else 1):
        if k > terms[0, 0]:
            more_terms(a, angle, 0, terms)
        if not (terms[0, k] < 1e200 and power < 1e100):
            break
        bound = terms[0, k] * power
        if (a > 1.0 and bound > before) or (k == 5 and bound > SLOW * before):
            break  # diverges, or would take too many terms
        t = terms[1, k] * power
        t = -t if small and k % 2 == 0 else t
        p += t
        s += t / (a * k)
        top = max(top, bound * min(1.0, k * angle))
        if bound * k < 2e-17 * min(p, s * a):
            ok = top < 40.0 * min(p, s * a)
            break
        before = bound
        power *= step
    p, s = p / math.pi, s / math.pi
    if g > 0.0:
        return ok, (p, 1.0 - s * exp(-g), s, g + log(x1), 0.0, g)
    return ok, (p / x1, 1.0 - s, s, 0.0, 0.0, 0.0)


@_shared
def series_at_zeta(a, geometry, terms):
    """The same by the expansion in x1."""
    b, x0, x1, m, h0, k1, L, eta = geometry
    step, factor, fine = law.power_at_zeta(x1, a, m)
    p, d, top, before, power, ok = 0.0, 0.0, 0.0, np.inf, 1.0, False
    for k in range(1, TERMS if fine else 1):
        if k > terms[0, 0]:
            more_terms(a, h0, 1, terms)
        if not (terms[0, k] < 1e200 and power < 1e100):
            break
        bound = terms[0, k] * power
        if (a < 1.0 and bound > before) or (k == 5 and bound > SLOW * before):
            break
        t = terms[1, k] * power
        p += t
        d += t / k
        top = max(top, bound * min(1.0, k * h0))
        if bound < 2e-17 * p:
            ok = top < 12.0 * p
            break
        before = bound
        power *= step
    d *= factor * x1
    return ok and d < 0.3 * L / math.pi, (p * factor, h0 / math.pi + d, L / math.pi - d, 0.0, 0.0, 0.0)


@_summing
def ray(x, a, b):
    """Six numbers next to the Cauchy law, where `law.by_the_ray` says so."""
    if abs(x) > 1e100:
        return law.far_cauchy(x, b)
    constants = law.ray_constants(x, a, b)
    fr, fi, si = 0.0, 0.0, 0.0
    for j in range(-164, 16):
        r, i, s = law.ray_node(float(j), constants)
        fr += r
        fi += i
        si += s
    return law.from_ray(x, fr, fi, si)


@_shared
def without_integral(a, geometry, terms):
    """(number for `law.exactly`, 0 if none holds; six numbers) by a series or the ray; terms (2, 2, TERMS)."""
    b, x0 = geometry[0], geometry[1]
    if a != 1.0:
        ok, v = series_at_infinity(a, geometry, terms[0])
        if not ok:
            ok, v = series_at_zeta(a, geometry, terms[1])
        if ok:
            return 1, v
    if law.by_the_ray(x0, a - 1.0, b):
        return 2, ray(x0, a, b)
    return 0, (np.nan, np.nan, np.nan, 0.0, 0.0, 0.0)


@_shared
def fourier_holds(a, geometry, reach):
    """Whether the rule is good for the point."""
    return law.fourier_band(a) >= 0 and abs(geometry[1] if a > 0.9 and a < 1.1 else geometry[2]) <= reach


@_summing
def fourier_sums(a, geometry, nodes, fresh):
    """The two sums of the rule; nodes (4, MOST_NODES) are those of alpha already unless fresh."""
    band = law.fourier_band(a)
    first, n = _FIRST[band], _FIRST[band + 1] - _FIRST[band]
    t, bent, f, g = nodes[0, :n], nodes[1, :n], nodes[2, :n], nodes[3, :n]
    if fresh:
        u, log_u, w = _U[first : first + n], _LOG_U[first : first + n], _W[first : first + n]
        for j in range(n):
            t[j], bent[j], f[j], g[j] = law.fourier_node(u[j], log_u[j], w[j], a)
    x, skew = law.fourier_phase(a, geometry)
    density, half = 0.0, 0.0
    for j in range(n):
        sine, cosine = sincos(law.mul_add(skew, bent[j], x * t[j]))
        density += f[j] * cosine
        half += g[j] * sine
    return density, half


@_shared
def scratch():
    """Memory of a task: terms of the series on both sides, nodes of the rule, and what `tangent` and `geometry_of` keep.

    In the third, kept[2, 3] is the alpha of the nodes.
    """
    return np.empty((2, 2, 2, TERMS)), np.empty((4, MOST_NODES)), np.full((3, 8), np.nan)


@_shared
def tangent(a, kept):
    """`law.tangent`, kept in kept[2, :3]."""
    if not (kept[2, 0] == a):
        kept[2, 1], kept[2, 2] = law.tangent(a)
        kept[2, 0] = a
    return kept[2, 1], kept[2, 2]


@_shared
def geometry_of(a, flip, side, series, kept):
    """The geometry of a point, kept with the terms for one law on each side, and the reach of the Fourier rule."""
    b, x0, x1, m = side
    own = kept[1 if flip else 0]
    if not (own[0] == a and own[1] == b):
        own[2], own[3], own[4], own[5] = law.angles(a, b, m)
        own[0], own[1], own[6] = a, b, law.fourier_reach(a, m)
        terms = series[1 if flip else 0]
        terms[0, 0, 0], terms[1, 0, 0] = 0.0, 0.0
    return (b, x0, x1, m, own[2], own[3], own[4], own[5]), own[6]


@_shared
def point(x, a, b, loc, scale, s1, rule, weights, lower, work, ends, sums, series, nodes, kept):
    """Six numbers of one point and three error estimates; work is a 4 x (PANELS nodes) scratch array."""
    th, tl = tangent(a, kept)
    done, v, flip, side = law.start(law.standardise(x, a, b, loc, scale, s1), a, b, s1, th, tl)
    if done > 0:
        return law.exactly(v, done)
    geometry, reach = geometry_of(a, flip, side, series, kept)
    done, v = without_integral(a, geometry, series[1 if flip else 0])
    if done == 0 and fourier_holds(a, geometry, reach):
        density, half = fourier_sums(a, geometry, nodes, not (kept[2, 3] == a))
        kept[2, 3] = a
        if law.fourier_accurate(a, density, half):
            done, v = 3, law.from_fourier(density, half)
    if done > 0:
        v = law.reflect(flip, v)
        return law.exactly(v, done) if lower.size > 0 else (v, (0.0, 0.0, 0.0))
    L, lowest, q = law.zolotarev(a, geometry)
    n = crossings(L, lowest, q, work[0], work[1], work[2], work[3], ends)
    integrate(n, L, lowest, q, ends, rule, weights, lower, work[0], work[1], work[2], work[3], sums)
    return law.from_sums(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], lowest, q, L, flip)


@_shared
def deal_terms(lane, lanes, a, geometry, terms, acc):
    """One lane's share of the terms of both series and of the sums of the Fourier rule."""
    b, x0, x1, m, h0, k1, L, eta = geometry
    for k in range(1 + lane, TERMS, lanes):
        angle = a * L if k1 > 0.5 * math.pi else k1
        terms[0, 0, k], terms[0, 1, k] = law.series_term(float(k), _LOG_FACTORIAL[k], a, angle, False)
        terms[1, 0, k], terms[1, 1, k] = law.series_term(float(k), _LOG_FACTORIAL[k - 1], a, h0, True)
    if lane == 0:
        terms[0, 0, 0], terms[1, 0, 0] = TERMS - 1.0, TERMS - 1.0
    holds = fourier_holds(a, geometry, law.fourier_reach(a, m))
    acc[0], acc[1] = fourier_share(lane, lanes, a, geometry) if holds else (0.0, 0.5)


@_shared
def fourier_share(lane, lanes, a, geometry):
    """One lane's share of the two sums of the rule."""
    band = law.fourier_band(a)
    x, skew = law.fourier_phase(a, geometry)
    density, half = 0.0, 0.0
    for j in range(_FIRST[band] + lane, _FIRST[band + 1], lanes):
        t, bent, f, g = law.fourier_node(_U[j], _LOG_U[j], _W[j], a)
        sine, cosine = sincos(law.mul_add(skew, bent, x * t))
        density += f * cosine
        half += g * sine
    return density, half


@_shared
def settle(lanes, a, geometry, terms, acc, samples, ends):
    """Number of the ends of Zolotarev's panels; or minus the number for `law.exactly`, with the point in acc[0]."""
    done, v = without_integral(a, geometry, terms)
    if done == 0:
        for lane in range(1, lanes):
            acc[0, 0] += acc[lane, 0]
            acc[0, 1] += acc[lane, 1]
        if law.fourier_accurate(a, acc[0, 0], acc[0, 1]):
            done, v = 3, law.from_fourier(acc[0, 0], acc[0, 1])
    if done == 0:
        L, lowest, q = law.zolotarev(a, geometry)
        return crossings(L, lowest, q, samples[0], samples[1], samples[2], samples[3], ends)
    acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3], acc[0, 4], acc[0, 5] = v
    return -done


@_shared
def deal(lane, lanes, n, L, lowest, q, ends, nodes, weights, lower, acc):
    """One lane's share of the three integrals, panel by panel, and of the differences of the two rules."""
    if n < 0:
        return
    sign = 1.0 if q[0] <= 1.0 else -1.0
    low = exp(lowest)
    per = nodes.size
    for j in range(6):
        acc[j] = 0.0
    for k in range(lane, n - 1, lanes):
        half, mid = 0.5 * (ends[k + 1] - ends[k]), 0.5 * (ends[k + 1] + ends[k])
        pd, cd, sd = 0.0, 0.0, 0.0
        for j in range(per):
            d0, jac, lg = law.log_g_any(sign * (mid + half * nodes[j]), L, q)
            p, c, s = law.integrands(lg, half * jac, low)
            acc[0] += weights[j] * p
            acc[1] += weights[j] * c
            acc[2] += weights[j] * s
            if lower.size > 0:
                u = weights[j] - lower[j]
                pd, cd, sd = pd + u * p, cd + u * c, sd + u * s
        acc[3] += abs(pd)
        acc[4] += abs(cd)
        acc[5] += abs(sd)


@_shared
def gather(lanes, acc, n, L, lowest, q, flip, ends):
    """A point from the shares of all lanes, or from what `settle` left."""
    if n < 0:
        return law.exactly(law.reflect(flip, (acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3], acc[0, 4], acc[0, 5])), -n)
    for lane in range(1, lanes):
        for j in range(6):
            acc[0, j] += acc[lane, j]
    sums = acc[0]
    rest = sums[2]
    if n == 0:
        sums[0], sums[1] = 1.0, 1.0
    if n > 0:  # beyond the last end e^-g is 0
        near, far, unused = law.lengths(ends[n - 1] if q[0] <= 1.0 else -ends[n - 1], L)
        rest += far if q[0] <= 1.0 else near
    else:
        rest = L
    return law.from_sums(sums[0], sums[1], rest, sums[3], sums[4], sums[5], lowest, q, L, flip)


def points_cpu(x, a, b, loc, scale, code, s1, c, s, pe, ce, se, p):
    # Value number `code`, see `law.pick`; or with code -2 and -1 the values and the logarithms of pdf, cdf and sf.
    for k in prange((p.size + TASK - 1) // TASK):
        work, ends, sums = np.empty((4, PANELS * KRONROD.size)), np.empty(PANELS), np.empty(6)
        series, nodes, kept = scratch()
        rough = pe.size == 0
        for i in range(k * TASK, min(k * TASK + TASK, p.size)):
            sc = np.float64(at(scale, i))
            v, e = point(
                np.float64(x[i]), np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(loc, i)), sc, s1 > 0,
                _NODES if rough else KRONROD, _WEIGHTS if rough else KRONROD_WEIGHTS, _NONE if rough else KRONROD_LOWER,
                work, ends, sums, series, nodes, kept,
            )  # fmt: skip
            first = int(code) if code >= 0 else int(code) + 2
            for r in range(1 if code >= 0 else 3):
                value = law.pick(first + 2 * r, v, sc)
                if r == 0:
                    p[i] = value
                elif r == 1:
                    c[i] = value
                else:
                    s[i] = value
            if not rough:
                pe[i], ce[i], se[i] = e[0] / sc, e[1], e[2]


def points_cuda(x, a, b, loc, scale, code, s1, c, s, pe, ce, se, p):
    # One block per point: the terms of the series and the nodes of the rules are dealt to its threads.
    samples = cuda.shared.array((4, SAMPLES), np.float64)
    terms = cuda.shared.array((2, 2, TERMS), np.float64)
    ends = cuda.shared.array(PANELS, np.float64)
    count = cuda.shared.array(1, np.int64)
    acc = cuda.shared.array((LANES, 6), np.float64)
    t = cuda.threadIdx.x
    lanes = min(cuda.blockDim.x, LANES)
    rough = pe.size == 0
    rule, weights, lower = _NODES if rough else KRONROD, _WEIGHTS if rough else KRONROD_WEIGHTS, _NONE if rough else KRONROD_LOWER
    for i in range(cuda.blockIdx.x, p.size, cuda.gridDim.x):
        al, be, sc = np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(scale, i))
        z = law.standardise(np.float64(x[i]), al, be, np.float64(at(loc, i)), sc, s1 > 0)
        th, tl = law.tangent(al)
        done, v, flip, side = law.start(z, al, be, s1 > 0, th, tl)
        v, e = law.exactly(v, done)
        if done == 0:
            geometry = law.geometry(al, side)
            if t < lanes:
                deal_terms(t, lanes, al, geometry, terms, acc[t])
            cuda.syncthreads()
            if t == 0:
                count[0] = settle(lanes, al, geometry, terms, acc, samples, ends)
            cuda.syncthreads()
            L, lowest, q = law.zolotarev(al, geometry)
            if t < lanes:
                deal(t, lanes, count[0], L, lowest, q, ends, rule, weights, lower, acc[t])
            cuda.syncthreads()
            if t == 0:
                v, e = gather(lanes, acc, count[0], L, lowest, q, flip, ends)
            cuda.syncthreads()
        if t == 0:
            first = int(code) if code >= 0 else int(code) + 2
            for r in range(1 if code >= 0 else 3):
                value = law.pick(first + 2 * r, v, sc)
                if r == 0:
                    p[i] = value
                elif r == 1:
                    c[i] = value
                else:
                    s[i] = value
            if not rough:
                pe[i], ce[i], se[i] = e[0] / sc, e[1], e[2]


_DOUBLE = "points are evaluated in double precision and rounded once"
POINTS = Kernel(
    "stable.points", points_cpu, points_cuda,
    lambda T: [
        (T[::1], T, T, T, T, T, T, *[T[::1]] * 6),
        (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, *[T[::1]] * 6),
    ], f64_ok=_DOUBLE,
)  # fmt: skip


# --- the Fourier rule by itself ----------------------------------------------------------------------------------------


def fourier_cpu(x, a, b, loc, scale, code, s1, out):
    for k in prange((out.size + TASK - 1) // TASK):
        series, nodes, kept = scratch()
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            al, be, sc = np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(scale, i))
            z = law.standardise(np.float64(x[i]), al, be, np.float64(at(loc, i)), sc, s1 > 0)
            th, tl = tangent(al, kept)
            done, v, flip, side = law.start(z, al, be, s1 > 0, th, tl)
            if done == 0:
                geometry, reach = geometry_of(al, flip, side, series, kept)
                if fourier_holds(al, geometry, reach):
                    density, half = fourier_sums(al, geometry, nodes, not (kept[2, 3] == al))
                    kept[2, 3] = al
                    v = law.reflect(flip, law.from_fourier(density, half))
                else:
                    ok = law.fourier_band(al) == 0 or law.fourier_band(al) == 2
                    if ok:
                        ok, v = series_at_infinity(al, geometry, series[1 if flip else 0, 0])
                    v = law.reflect(flip, v if ok else law.beyond_fourier(al, geometry))
            out[i] = law.pick(int(code), v, sc)


def fourier_cuda(x, a, b, loc, scale, code, s1, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        al, be, sc = np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(scale, i))
        z = law.standardise(np.float64(x[i]), al, be, np.float64(at(loc, i)), sc, s1 > 0)
        th, tl = law.tangent(al)
        done, v, flip, side = law.start(z, al, be, s1 > 0, th, tl)
        if done == 0:
            geometry = law.geometry(al, side)
            if fourier_holds(al, geometry, law.fourier_reach(al, side[3])):
                density, half = fourier_share(0, 1, al, geometry)
                v = law.reflect(flip, law.from_fourier(density, half))
            else:
                v = law.reflect(flip, law.beyond_fourier(al, geometry))
        out[i] = law.pick(int(code), v, sc)


FOURIER = Kernel(
    "stable.fourier", fourier_cpu, fourier_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])], f64_ok=_DOUBLE,
)  # fmt: skip


# --- tables -----------------------------------------------------------------------------------------------------------
# See tables.py. `centre` (two doubles) and `turn` (times log scale) lead from the standardised x to the variable of the table.

BEND = 8.0  # cells are uniform in v/(v + BEND), v = u - first u: panels grow outwards


@_shared
def polynomial(cells, rows, cell, u):
    """The table's polynomial at u: that of the cell's panel or of one that follows."""
    k = cells[cell, 0]
    y = (u - rows[k, 0]) * rows[k, 1]
    while y > 1.0 and k + 1 < rows.shape[0] and rows[k + 1, 0] > rows[k, 0]:
        k += 1
        y = (u - rows[k, 0]) * rows[k, 1]
    row = rows[k]
    z = y * y
    even, odd = row[COEFFICIENTS + 1], row[COEFFICIENTS + 2]
    for j in range(COEFFICIENTS - 1, 2, -2):
        even, odd = law.mul_add(even, z, row[j]), law.mul_add(odd, z, row[j + 1])
    return law.mul_add(y, odd, even)


@_shared
def beyond(code, cell, side):
    """The logarithm where the table has no panel: the density and one tail are 0."""
    if cell == -3:
        return np.nan
    right = (side > 0.0) == (cell == -1)  # towards +inf
    zero = code < 2 or (code < 4) != right
    return -np.inf if zero else 0.0


def table_cpu(x, loc, scale, code, centre, centre_lo, turn, info, cells, rows, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        u, d, where = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        first = np.int64(k) * CHUNK
        what = int(code)
        for lo in range(first, min(first + CHUNK, out.size), BLOCK):
            xb = x[lo : lo + BLOCK]
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                d[i] = law.from_centre(
                    np.float64(xb[i]), np.float64(at(loc, lo + i)), np.float64(at(scale, lo + i)), centre, centre_lo, turn
                )
            for i in range(o.size):
                u[i] = log(abs(d[i]) * info[0, 0] + info[0, 1])
            for i in range(o.size):
                where[i] = law.cell(
                    d[i],
                    u[i],
                    info[1, 0],
                    info[1, 1],
                    info[1, 2],
                    info[1, 3],
                    info[1, 4],
                    info[2, 0],
                    info[2, 1],
                    info[2, 2],
                    info[2, 3],
                    info[2, 4],
                )
            for i in range(o.size):
                c = int(where[i])
                u[i] = polynomial(cells, rows, c, u[i]) if c >= 0 else beyond(what, c, d[i])
            if what == 0:
                for i in range(o.size):
                    o[i] = exp(u[i]) / np.float64(at(scale, lo + i))
            else:
                for i in range(o.size):
                    o[i] = law.from_log(what, u[i], np.float64(at(scale, lo + i)))


def table_cuda(x, loc, scale, code, centre, centre_lo, turn, info, cells, rows, out):
    what = int(code)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        sc = np.float64(at(scale, i))
        d = law.from_centre(np.float64(x[i]), np.float64(at(loc, i)), sc, centre, centre_lo, turn)
        u = log(abs(d) * info[0, 0] + info[0, 1])
        c = int(
            law.cell(
                d,
                u,
                info[1, 0],
                info[1, 1],
                info[1, 2],
                info[1, 3],
                info[1, 4],
                info[2, 0],
                info[2, 1],
                info[2, 2],
                info[2, 3],
                info[2, 4],
            )
        )
        out[i] = law.from_log(what, polynomial(cells, rows, c, u) if c >= 0 else beyond(what, c, d), sc)


@_shared
def quantile(p, upper, info, lower_tail, upper_tail):
    """(side, u): where the tail probability is p, as a place in the table. u is NaN or +-inf at the ends."""
    if not (p >= 0.0 and p <= 1.0):
        return 1, np.nan
    if p == 0.0 or p == 1.0:
        right = (p == 1.0) != upper  # the right end of the support
        if right:
            return (1, np.inf) if info[1, 6] > 0.0 else (2, -np.inf)
        return (2, np.inf) if info[2, 6] > 0.0 else (1, -np.inf)
    from_left = (p <= 0.5) != upper
    rows = lower_tail if from_left else upper_tail
    target = log(p) if p <= 0.5 else log(1.0 - p)
    side = 1
    if info[1, 6] == 0.0:
        side = 2
    elif info[2, 6] > 0.0 and (rows[int(info[1, 5]), 2] > target) == from_left:
        side = 2
    sign = 1.0 if from_left == (side == 1) else -1.0  # the logarithm rises with u
    target *= sign
    first, count = int(info[side, 5]), int(info[side, 6])
    lo, hi = 0, count  # the last panel whose start does not lie beyond
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if sign * rows[first + middle, 2] <= target:
            lo = middle
        else:
            hi = middle
    row = rows[first + lo]
    left, right = -1.0, 1.0 if lo + 1 < count else 1e3
    low = sign * row[2]
    y = 0.0
    if lo + 1 < count:
        high = sign * rows[first + lo + 1, 2]
        y = min(max(2.0 * (target - low) / (high - low) - 1.0, -1.0), 1.0) if high > low else 0.0
    for _ in range(40):
        f, d = row[row.size - 1], 0.0
        for j in range(row.size - 2, 2, -1):
            d = d * y + f
            f = f * y + row[j]
        f, d = sign * f - target, sign * d
        if f > 0.0:
            right = y
        else:
            left = y
        step = f / d if d > 0.0 else 2.0 * (right - left)
        done = abs(step) <= 3e-16 * (1.0 + abs(y)) or right - left <= 3e-16
        y -= step
        if done:
            break
        if not (y > left and y < right):
            y = 0.5 * (left + right)
    return side, row[0] + y / row[1]


def quantile_cpu(p, loc, scale, upper, centre, centre_lo, turn, info, lower_tail, upper_tail, out):
    for k in prange((out.size + TASK - 1) // TASK):
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            side, u = quantile(np.float64(p[i]), upper > 0, info, lower_tail, upper_tail)
            out[i] = law.place(
                u, side, info[0, 0], info[0, 1], centre, centre_lo, turn, np.float64(at(loc, i)), np.float64(at(scale, i))
            )


def quantile_cuda(p, loc, scale, upper, centre, centre_lo, turn, info, lower_tail, upper_tail, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        side, u = quantile(np.float64(p[i]), upper > 0, info, lower_tail, upper_tail)
        out[i] = law.place(
            u, side, info[0, 0], info[0, 1], centre, centre_lo, turn, np.float64(at(loc, i)), np.float64(at(scale, i))
        )


_F8, _TABLE = types.float64, types.float64[:, ::1]


def _with_table(*tables):
    return lambda T: [
        (T[::1], T, T, T, _F8, _F8, _F8, *tables, T[::1]),
        (T[::1], T[::1], T[::1], T, _F8, _F8, _F8, *tables, T[::1]),
    ]


TABLE = Kernel("stable.table", table_cpu, table_cuda, _with_table(_TABLE, types.int64[:, ::1], _TABLE), f64_ok=_DOUBLE)
QUANTILE = Kernel("stable.quantile", quantile_cpu, quantile_cuda, _with_table(_TABLE, _TABLE, _TABLE), f64_ok=_DOUBLE)


# --- the reference's method: fixed subintervals of theta -----------------------------------------------------------------
# A Gauss-Kronrod rule on each of 16 equal subintervals; while few of them hold most of the integral of g e^-g, those are
# divided anew and the others' shares are kept. On CUDA one block has a point: a thread per node, and a
# tree of additions per subinterval in shared memory (Julian-Moreno et al. 2016, sections 3.1-3.3).

SUBINTERVALS, RULE = 16, 32
_GK = np.append(kronrod(15)[0], 0.0)  # 31 nodes; the 32nd, of weight 0, makes the tree complete
_GK_WEIGHTS = np.append(kronrod(15)[1], 0.0)
_ROUNDS = 40


@_shared
def contributing(parts, range_, a, length, sums):
    """Add up the subintervals' integrals parts (3, 16), or narrow the range; returns whether it is done.

    range_: start, end, and whether they are distances from the upper end of theta.
    """
    largest = 0.0
    for i in range(SUBINTERVALS):
        largest = max(largest, parts[0, i])
    first, last = 0, SUBINTERVALS - 1
    if largest > 0.0:
        while parts[0, first] < 1e-2 * largest:
            first += 1
        while parts[0, last] < 1e-2 * largest:
            last -= 1
    else:  # between nodes: where e^-g falls from 1 to 0, and next to it
        # where all e^-g are 0: the end where g is small
        where, most = SUBINTERVALS - 1 if (a > 1.0) != (range_[2] > 0.0) else -1, 0.0
        for i in range(SUBINTERVALS - 1):
            jump = abs(parts[1, i + 1] - parts[1, i])
            if jump > most:
                where, most = i, jump
        first, last = where, where + 1
    first, last = max(first - 1, 0), min(last + 1, SUBINTERVALS - 1)
    done = last - first > SUBINTERVALS // 2
    for i in range(SUBINTERVALS):
        if done or i < first or i > last:
            for j in range(3):
                sums[j] += parts[j, i]
    width = (range_[1] - range_[0]) / SUBINTERVALS
    if range_[2] == 0.0 and last == SUBINTERVALS - 1 and range_[1] == length:  # count from the upper end from now on
        range_[0], range_[1], range_[2] = 0.0, (last + 1 - first) * width, 1.0
    else:
        range_[0], range_[1] = range_[0] + first * width, range_[0] + (last + 1) * width
    return done


def kronrod_cpu(x, a, b, loc, scale, code, s1, out):
    for k in prange((out.size + TASK - 1) // TASK):
        parts, span, sums = np.empty((3, SUBINTERVALS)), np.empty(3), np.empty(3)
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            al, be, sc = np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(scale, i))
            z = law.standardise(np.float64(x[i]), al, be, np.float64(at(loc, i)), sc, s1 > 0)
            th, tl = law.tangent(al)
            done, v, flip, side = law.start(z, al, be, s1 > 0, th, tl)
            if done == 0:
                geometry = law.geometry(al, side)
                L, lowest, q = law.zolotarev(al, geometry)
                low = exp(lowest)
                span[0], span[1], span[2] = 0.0, L, 0.0
                sums[:] = 0.0
                for turn in range(_ROUNDS):
                    half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                    for m in range(SUBINTERVALS):
                        p, c, s = 0.0, 0.0, 0.0
                        for j in range(RULE - 1):
                            u, w, y = law.kronrod_node(span[0] + half * (2 * m + 1 + _GK[j]), L, q, low, span[2])
                            p, c, s = p + _GK_WEIGHTS[j] * u, c + _GK_WEIGHTS[j] * w, s + _GK_WEIGHTS[j] * y
                        parts[0, m], parts[1, m], parts[2, m] = half * p, half * c, half * s
                    if contributing(parts, span, al, L, sums) or turn == _ROUNDS - 1:
                        break
                v, e = law.from_sums(sums[0], sums[1], sums[2], 0.0, 0.0, 0.0, lowest, q, L, flip)
            out[i] = law.pick(int(code), v, sc)


def kronrod_cuda(x, a, b, loc, scale, code, s1, out):
    nodes = cuda.shared.array((3, SUBINTERVALS, RULE), np.float64)
    parts = cuda.shared.array((3, SUBINTERVALS), np.float64)
    span = cuda.shared.array(3, np.float64)
    sums = cuda.shared.array(3, np.float64)
    over = cuda.shared.array(1, np.int64)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        al, be, sc = np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(scale, i))
        z = law.standardise(np.float64(x[i]), al, be, np.float64(at(loc, i)), sc, s1 > 0)
        th, tl = law.tangent(al)
        done, v, flip, side = law.start(z, al, be, s1 > 0, th, tl)
        if done == 0:
            geometry = law.geometry(al, side)
            L, lowest, q = law.zolotarev(al, geometry)
            low = exp(lowest)
            if t == 0:
                span[0], span[1], span[2], over[0] = 0.0, L, 0.0, 0
                sums[0], sums[1], sums[2] = 0.0, 0.0, 0.0
            cuda.syncthreads()
            for turn in range(_ROUNDS):
                if over[0] > 0:
                    break
                half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                for n in range(t, SUBINTERVALS * RULE, threads):
                    m, j = n // RULE, n % RULE
                    u, w, y = law.kronrod_node(span[0] + half * (2 * m + 1 + _GK[j]), L, q, low, span[2])
                    weight = half * _GK_WEIGHTS[j]
                    nodes[0, m, j], nodes[1, m, j], nodes[2, m, j] = weight * u, weight * w, weight * y
                cuda.syncthreads()
                width = RULE // 2
                while width > 0:
                    for n in range(t, SUBINTERVALS * width, threads):
                        m, j = n // width, n % width
                        for r in range(3):
                            nodes[r, m, j] += nodes[r, m, j + width]
                    cuda.syncthreads()
                    width //= 2
                if t == 0:
                    for m in range(SUBINTERVALS):
                        for r in range(3):
                            parts[r, m] = nodes[r, m, 0]
                    over[0] = 1 if contributing(parts, span, al, L, sums) or turn == _ROUNDS - 1 else 0
                cuda.syncthreads()
            if t == 0:
                v, e = law.from_sums(sums[0], sums[1], sums[2], 0.0, 0.0, 0.0, lowest, q, L, flip)
            cuda.syncthreads()
        if t == 0:
            out[i] = law.pick(int(code), v, sc)


GAUSS_KRONROD = Kernel(
    "stable.gauss_kronrod", kronrod_cpu, kronrod_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])], f64_ok=_DOUBLE,
)  # fmt: skip


# --- random variates ---------------------------------------------------------------------------------------------------
# Item i takes the four words of counter i: two for the uniform, two for the exponential number.

_S1 = _ARRAYS = False  # bound by build


def rvs_cpu(k0, k1, stream, first, a, b, loc, scale, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        u, w = np.empty(BLOCK), np.empty(BLOCK)
        start = np.int64(k) * CHUNK
        e, recip, power, bte = law.variate_constants(np.float64(at(a, start)), np.float64(at(b, start)))
        for lo in range(start, min(start + CHUNK, out.size), BLOCK):
            item = np.int64(first) + lo
            low, high = np.uint32(item), np.uint32(item >> 32)  # a block never crosses a multiple of 2^32
            for i in range(BLOCK):
                r0, r1, r2, r3 = philox4x32(np.uint32(low + np.uint32(i)), high, np.uint32(0), stream, k0, k1)
                u[i], w[i] = law.uniform_and_exponential(r0, r1, r2, r3)
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                j = lo + i
                if _ARRAYS:
                    e, recip, power, bte = law.variate_constants(np.float64(at(a, j)), np.float64(at(b, j)))
                z = law.variate(u[i], w[i], e, recip, power, bte, _S1)
                o[i] = law.scaled(z, e, bte, np.float64(at(loc, j)), np.float64(at(scale, j)), _S1)


def rvs_cuda(k0, k1, stream, first, a, b, loc, scale, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        item = first + i
        r0, r1, r2, r3 = philox4x32(np.uint32(item), np.uint32(item >> 32), np.uint32(0), stream, k0, k1)
        e, recip, power, bte = law.variate_constants(np.float64(at(a, i)), np.float64(at(b, i)))
        u, w = law.uniform_and_exponential(r0, r1, r2, r3)
        z = law.variate(u, w, e, recip, power, bte, _S1)
        out[i] = law.scaled(z, e, bte, np.float64(at(loc, i)), np.float64(at(scale, i)), _S1)


_KEY = (types.uint32, types.uint32, types.uint32, types.int64)
RVS = {
    (param, arrays): Kernel(
        f"stable.rvs_{param}{'_arrays' if arrays else ''}", rvs_cpu, rvs_cuda,
        (lambda T: [(*_KEY, T[::1], T[::1], T[::1], T[::1], T[::1])]) if arrays else (lambda T: [(*_KEY, T, T, T, T, T[::1])]),
        f64_ok=_DOUBLE, cpu_only={"_ARRAYS": arrays}, _S1=param == "S1",
    )
    for param in ("S0", "S1") for arrays in (False, True)
}  # fmt: skip


# --- quantiles of laws that differ from point to point --------------------------------------------------------------------
# Newton's method on the logarithm of the smaller tail, in v with x - centre = sign expm1(|v|), inside a bracket.


@_shared
def newton_step(state, code, target, p_log, v_log):
    """One step of the bracketed iteration; returns whether it is over. state: v, left, right, unused, number of steps."""
    v, left, right = state[0], state[1], state[2]
    rising = code == 3
    f = (v_log - target) if rising else (target - v_log)
    if f > 0.0:
        right = v
    else:
        left = v
    slope = exp(p_log + abs(v) - v_log) if p_log > -np.inf else 0.0
    step = f / slope if slope > 0.0 else 2.0 * (right - left)
    over = abs(f) <= 4e-16 * (1.0 + abs(target)) or abs(step) <= 2e-16 * abs(v) or right - left <= 3e-16 * abs(right)
    new = v if over else v - step
    state[4] += 1.0
    slow = state[4] % 3.0 == 0.0 and abs(f) > 0.01 * (1.0 + abs(target))
    if not over and (slow or not (new > left and new < right)):
        new = 0.5 * (left + right)
    state[0], state[1], state[2] = new, left, right
    return over


@_shared
def newton_start(p, upper, state):
    """(code of the tail, log of its probability, whether there is nothing to iterate)."""
    state[0], state[1], state[2], state[4] = 0.0, -709.9, 709.9, 0.0
    if not (p > 0.0 and p < 1.0):
        state[0] = (np.inf if (p == 1.0) != upper else -np.inf) if p == 0.0 or p == 1.0 else np.nan
        return 3, 0.0, True
    code = 3 if (p <= 0.5) != upper else 5
    return code, log(p) if p <= 0.5 else log(1.0 - p), False


def newton_cpu(p, a, b, loc, scale, upper, s1, out):
    for k in prange((out.size + TASK - 1) // TASK):
        work, ends, sums, state = np.empty((4, PANELS * _NODES.size)), np.empty(PANELS), np.empty(6), np.empty(5)
        series, nodes, kept = scratch()
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            al, be = np.float64(at(a, i)), np.float64(at(b, i))
            code, target, over = newton_start(np.float64(p[i]), upper > 0, state)
            centred = al < 0.9
            for _ in range(200):
                if over:
                    break
                x = math.copysign(expm1(abs(state[0])), state[0])
                v, e = point(
                    x, al, be, 0.0, 1.0, centred, _NODES, _WEIGHTS, _NONE, work, ends, sums, series, nodes, kept
                )  # fmt: skip
                over = newton_step(state, code, target, law.pick(1, v, 1.0), law.pick(code, v, 1.0))
            out[i] = law.newton_place(state[0], al, be, np.float64(at(loc, i)), np.float64(at(scale, i)), s1 > 0)


def newton_cuda(p, a, b, loc, scale, upper, s1, out):
    # One block per point, as in `points_cuda`; thread 0 keeps the iteration.
    terms = cuda.shared.array((2, 2, TERMS), np.float64)
    samples = cuda.shared.array((4, SAMPLES), np.float64)
    ends = cuda.shared.array(PANELS, np.float64)
    count = cuda.shared.array(1, np.int64)
    acc = cuda.shared.array((LANES, 6), np.float64)
    state = cuda.shared.array(5, np.float64)  # state[3]: whether it is over
    t = cuda.threadIdx.x
    lanes = min(cuda.blockDim.x, LANES)
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        al, be = np.float64(at(a, i)), np.float64(at(b, i))
        code, target = 3, 0.0
        if t == 0:
            code, target, over = newton_start(np.float64(p[i]), upper > 0, state)
            state[3] = 1.0 if over else 0.0
        cuda.syncthreads()
        for _ in range(200):
            if state[3] > 0.0:
                break
            x = math.copysign(expm1(abs(state[0])), state[0])
            centred = al < 0.9
            th, tl = law.tangent(al)
            done, v, flip, side = law.start(law.standardise(x, al, be, 0.0, 1.0, centred), al, be, centred, th, tl)
            if done == 0:
                geometry = law.geometry(al, side)
                if t < lanes:
                    deal_terms(t, lanes, al, geometry, terms, acc[t])
                cuda.syncthreads()
                if t == 0:
                    count[0] = settle(lanes, al, geometry, terms, acc, samples, ends)
                cuda.syncthreads()
                L, lowest, q = law.zolotarev(al, geometry)
                if t < lanes:
                    deal(t, lanes, count[0], L, lowest, q, ends, _NODES, _WEIGHTS, _NONE, acc[t])
                cuda.syncthreads()
                if t == 0:
                    v, e = gather(lanes, acc, count[0], L, lowest, q, flip, ends)
            cuda.syncthreads()
            if t == 0:
                over = newton_step(state, code, target, law.pick(1, v, 1.0), law.pick(code, v, 1.0))
                state[3] = 1.0 if over else 0.0
            cuda.syncthreads()
        if t == 0:
            out[i] = law.newton_place(state[0], al, be, np.float64(at(loc, i)), np.float64(at(scale, i)), s1 > 0)
        cuda.syncthreads()


NEWTON = Kernel(
    "stable.newton", newton_cpu, newton_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])], f64_ok=_DOUBLE,
)  # fmt: skip
