"""One point: closed forms, series, rays next to the Cauchy law and far out, the Fourier rule, Zolotarev's integral."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange

from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as law
from numbastats.scalar import stable_nodes
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp, log, sincos
from numbastats.stable.kernels.integral import (
    KRONROD,
    KRONROD_LOWER,
    KRONROD_WEIGHTS,
    NODES,
    NONE,
    PANELS,
    ROOM,
    WEIGHTS,
    crossings,
    integrate,
    outside,
)

# Only jitted code calls these functions of arrays; those that sum may do so in any order.
_shared = array_function(host=False)
_summing = array_function(host=False, fastmath=("contract", "reassoc"))

TASK = 64  # points per task
LANES = 64  # threads of a CUDA block that share a point


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

# Nodes of both rays: equal steps in the logarithm of s, ever wider ones where all falls with s.
_RAY = 0.205
_RAY_BEND = np.exp(-(_RAY * np.arange(-36, 20) + 4.0))
_RAY_V, _RAY_STEP = _RAY * np.arange(-36, 20) - _RAY_BEND, _RAY * (1.0 + _RAY_BEND)
_RAY_S = np.exp(_RAY_V)


@_shared
def more_terms(a, angle, at_zeta, terms):
    """The next 16 terms of a series, into terms (2, TERMS)."""
    first = int(terms[0, 0]) + 1
    size, value, logs = terms[0, first : first + 16], terms[1, first : first + 16], _LOG_FACTORIAL[first - at_zeta :]
    for i in range(size.size):
        size[i], value[i] = law.series_term(float(first + i), logs[i], a, angle, at_zeta > 0)
    terms[0, 0] += size.size


@_shared
def gives_up(k, size, factor, bound, before, asymptotic):
    """Whether a series ends at term k without a result: beyond the doubles, past its smallest term, or too slow."""
    return not (size < 1e200 and factor < 1e100) or (asymptotic and bound > before) or (k == 5 and bound > SLOW * before)


@_shared
def settled(k, bound, least, at_zeta):
    """Whether the terms after k no longer count; `least` is the smallest of the sums."""
    return bound * (1.0 if at_zeta else k) < 2e-17 * least


@_shared
def accurate(top, least, at_zeta):
    """Whether no term was so much larger than the sums that its digits are lost."""
    return top < (12.0 if at_zeta else 40.0) * least


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
        bound = terms[0, k] * power
        if gives_up(k, terms[0, k], power, bound, before, a > 1.0):
            break
        t = terms[1, k] * power
        t = -t if small and k % 2 == 0 else t
        p += t
        s += t / (a * k)
        top = max(top, bound * min(1.0, k * angle))
        if settled(k, bound, min(p, s * a), False):
            ok = accurate(top, min(p, s * a), False)
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
    small, angle = L < h0, min(h0, L)  # h0 = pi - L
    p, d, top, before, power, ok = 0.0, 0.0, 0.0, np.inf, 1.0, False
    for k in range(1, TERMS if fine else 1):
        if k > terms[0, 0]:
            more_terms(a, angle, 1, terms)
        bound = terms[0, k] * power
        if gives_up(k, terms[0, k], power, bound, before, a < 1.0):
            break
        t = terms[1, k] * power
        t = -t if small and k % 2 == 0 else t
        p += t
        d += t / k
        top = max(top, bound * min(1.0, k * angle))
        if settled(k, bound, p, True):
            ok = accurate(top, p, True)
            break
        before = bound
        power *= step
    d *= factor * x1
    return ok and d < 0.3 * L / math.pi, (p * factor, h0 / math.pi + d, L / math.pi - d, 0.0, 0.0, 0.0)


@_summing
def ray(x, a, b):
    """Six numbers next to the Cauchy law or far out next to alpha = 1, where `law.by_the_ray` says so."""
    if abs(x) > 1e100:
        return law.far_cauchy(x, b)
    if abs(x) > law.FAR:
        constants = law.far_constants(abs(x), a, b if x > 0.0 else -b)
        density, tail = 0.0, 0.0
        for j in range(_RAY_V.size):
            d, s = law.far_node(_RAY_V[j], _RAY_S[j], _RAY_STEP[j], constants)
            density += d
            tail += s
        density, tail = density / (math.pi * abs(x)), tail / math.pi
        return density, 1.0 - tail if x > 0.0 else tail, tail if x > 0.0 else 1.0 - tail, 0.0, 0.0, 0.0
    constants = law.ray_constants(x, a, b)
    fr, fi, si = 0.0, 0.0, 0.0
    for j in range(_RAY_V.size):
        r, i, s = law.ray_node(_RAY_V[j], _RAY_S[j], _RAY_STEP[j], constants)
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
        return 1, ray(x0, a, b)
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


@array_function(host=False, allocates=True)
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
            done, v = 2, law.from_fourier(density, half)
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
        terms[1, 0, k], terms[1, 1, k] = law.series_term(float(k), _LOG_FACTORIAL[k - 1], a, min(h0, L), True)
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
            done, v = 2, law.from_fourier(acc[0, 0], acc[0, 1])
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
    if n > 0:
        before, after = outside(n, L, q, ends)
        sums[1] += before
        sums[2] += after
    else:
        sums[0], sums[1], sums[2] = 1.0, 1.0, L
    return law.from_sums(sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], lowest, q, L, flip)


@_shared
def block_value(x, a, b, loc, scale, s1, rule, weights, lower):
    """`point` by all threads of a block: the terms of the series and the nodes of the rules are dealt to them.

    All of them call; thread 0 has the result.
    """
    samples = cuda.shared.array((4, ROOM), np.float64)
    terms = cuda.shared.array((2, 2, TERMS), np.float64)
    ends = cuda.shared.array(PANELS, np.float64)
    count = cuda.shared.array(1, np.int64)
    acc = cuda.shared.array((LANES, 6), np.float64)
    t = cuda.threadIdx.x
    lanes = min(cuda.blockDim.x, LANES)
    th, tl = law.tangent(a)
    done, v, flip, side = law.start(law.standardise(x, a, b, loc, scale, s1), a, b, s1, th, tl)
    v, e = law.exactly(v, done)
    if done == 0:
        geometry = law.geometry(a, side)
        if t < lanes:
            deal_terms(t, lanes, a, geometry, terms, acc[t])
        cuda.syncthreads()
        if t == 0:
            count[0] = settle(lanes, a, geometry, terms, acc, samples, ends)
        cuda.syncthreads()
        L, lowest, q = law.zolotarev(a, geometry)
        if t < lanes:
            deal(t, lanes, count[0], L, lowest, q, ends, rule, weights, lower, acc[t])
        cuda.syncthreads()
        if t == 0:
            v, e = gather(lanes, acc, count[0], L, lowest, q, flip, ends)
    cuda.syncthreads()
    return v, e


@_shared
def store(i, code, scale, v, e, p, c, s, pe, ce, se):
    """Value number `code` of a point, see `law.pick`; or with code -2 and -1 the values and the logarithms of pdf, cdf and sf."""
    first = int(code) if code >= 0 else int(code) + 2
    for r in range(1 if code >= 0 else 3):
        value = law.pick(first + 2 * r, v, scale)
        if r == 0:
            p[i] = value
        elif r == 1:
            c[i] = value
        else:
            s[i] = value
    if pe.size > 0:
        pe[i], ce[i], se[i] = e[0] / scale, e[1], e[2]


def points_cpu(x, a, b, loc, scale, code, s1, c, s, pe, ce, se, p):
    for k in prange((p.size + TASK - 1) // TASK):
        work, ends, sums = np.empty((4, PANELS * KRONROD.size)), np.empty(PANELS), np.empty(6)
        series, nodes, kept = scratch()
        rough = pe.size == 0
        for i in range(k * TASK, min(k * TASK + TASK, p.size)):
            sc = np.float64(at(scale, i))
            v, e = point(
                np.float64(x[i]),
                np.float64(at(a, i)),
                np.float64(at(b, i)),
                np.float64(at(loc, i)),
                sc,
                s1 > 0,
                NODES if rough else KRONROD,
                WEIGHTS if rough else KRONROD_WEIGHTS,
                NONE if rough else KRONROD_LOWER,
                work,
                ends,
                sums,
                series,
                nodes,
                kept,
            )
            store(i, code, sc, v, e, p, c, s, pe, ce, se)


def points_cuda(x, a, b, loc, scale, code, s1, c, s, pe, ce, se, p):
    # One block per point.
    rough = pe.size == 0
    rule, weights, lower = NODES if rough else KRONROD, WEIGHTS if rough else KRONROD_WEIGHTS, NONE if rough else KRONROD_LOWER
    for i in range(cuda.blockIdx.x, p.size, cuda.gridDim.x):
        sc = np.float64(at(scale, i))
        v, e = block_value(
            np.float64(x[i]), np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(loc, i)), sc, s1 > 0, rule, weights, lower
        )
        if cuda.threadIdx.x == 0:
            store(i, code, sc, v, e, p, c, s, pe, ce, se)


def split_points(args, parts):
    """Whole tasks of points: slices of the arrays that hold a number per point."""
    n = args[-1].size
    size = TASK * max(1, -(-n // (TASK * parts)))
    return [tuple(v[i : i + size] if isinstance(v, np.ndarray) and v.size == n else v for v in args) for i in range(0, n, size)]


DOUBLE = "points are evaluated in double precision and rounded once"
POINTS = Kernel(
    "stable.points",
    points_cpu,
    points_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, *[T[::1]] * 6), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, *[T[::1]] * 6)],
    f64_ok=DOUBLE,
    split=split_points,
)
