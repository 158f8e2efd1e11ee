"""One point: its closed form, one of two series, a ray, the Fourier rule, Zolotarev's integral; the first that is accurate.

On the host CLOSED takes a distribution that has a closed form; of others SERIES takes what the series and the Fourier rule give,
and INTEGRAL what is left. On a GPU a thread takes a point, and for the integrals that are left the threads of a block join, one
point after another.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import HostLoop, Kernel, array_function, bind
from numbastats.scalar import stable as dist
from numbastats.scalar import stable_nodes
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp, log, sincos
from numbastats.stable.kernels.integral import (
    GAUSS,
    KRONROD,
    PANELS,
    ROOM,
    SAMPLES,
    add_outside,
    cross,
    crossings,
    integrate,
    sample,
    sample_place,
)

# Only jitted code calls these functions of arrays; those that sum may do so in any order.
_shared = array_function(host=False)
_making = array_function(host=False, allocates=True)
_summing = array_function(host=False, fastmath=("contract", "reassoc"))

TASK = 64  # points that stay together where a call is divided
LANES = 32  # threads of a CUDA block, which share an integral


class Point(NamedTuple):
    """A point and its parameters; `s1` says in which form."""

    x: float
    alpha: float
    beta: float
    loc: float
    scale: float
    s1: bool


@_shared
def point_of(i, x, a, b, loc, scale, s1):
    """Point number i, in double precision."""
    return Point(
        np.float64(x[i]), np.float64(at(a, i)), np.float64(at(b, i)), np.float64(at(loc, i)), np.float64(at(scale, i)), s1
    )


# --- what points of one distribution share -----------------------------------------------------------------------------

TERMS = 91  # of a series, the first of which counts those at hand
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


_OF_ALPHA = np.dtype([("alpha", "f8"), ("tangent", "f8"), ("tangent_low", "f8"), ("nodes", "f8")])  # nodes: the alpha of those
_OF_SIDE = np.dtype([(name, "f8") for name in ("alpha", "beta", "h0", "k1", "L", "eta", "reach")])


class Memory(NamedTuple):
    """What depends on alpha and beta alone, kept for the next point."""

    terms: np.ndarray  # of the series at infinity and at zeta, of two sides
    nodes: np.ndarray  # of the Fourier rule
    sides: np.ndarray
    alphas: np.ndarray


@_making
def memory_of_points():
    """A `Memory` of nothing."""
    sides, alphas = np.empty(2, _OF_SIDE), np.empty(1, _OF_ALPHA)
    sides[0].alpha, sides[1].alpha = np.nan, np.nan
    alphas[0].alpha, alphas[0].nodes = np.nan, np.nan
    return Memory(np.empty((4, 2, TERMS)), np.empty((4, MOST_NODES)), sides, alphas)


@_shared
def begun(point, memory):
    """`dist.start` of a point, with the tangent kept."""
    of_alpha, a = memory.alphas[0], point.alpha
    if not (of_alpha.alpha == a):
        of_alpha.alpha = a
        of_alpha.tangent, of_alpha.tangent_low = dist.tangent(a)
    z = dist.standardise(point.x, a, point.beta, point.loc, point.scale, point.s1)
    return dist.start(z, a, point.beta, point.s1, of_alpha.tangent, of_alpha.tangent_low)


@_shared
def geometry_of(a, flip, side, memory):
    """The geometry of a point, kept with the terms for one distribution on each side, and the reach of the Fourier rule."""
    b, x0, x1, m = side
    k = 1 if flip else 0
    own = memory.sides[k]
    if not (own.alpha == a and own.beta == b):
        own.alpha, own.beta, own.reach = a, b, dist.fourier_reach(a, m)
        own.h0, own.k1, own.L, own.eta = dist.angles(a, b, m)
        memory.terms[2 * k, 0, 0], memory.terms[2 * k + 1, 0, 0] = 0.0, 0.0
    return dist.Geometry(b, x0, x1, m, own.h0, own.k1, own.L, own.eta), own.reach


# --- series ------------------------------------------------------------------------------------------------------------


@_shared
def more_terms(a, angle, at_zeta, terms):
    """The next 16 terms of a series, into terms (2, TERMS)."""
    first = int(terms[0, 0]) + 1
    size, value = terms[0, first : first + 16], terms[1, first : first + 16]
    logs = _LOG_FACTORIAL[first - (1 if at_zeta else 0) :]
    for i in range(size.size):
        size[i], value[i] = dist.series_term(float(first + i), logs[i], a, angle, at_zeta)
    terms[0, 0] += size.size


@_shared
def twisted(h0, k1, L, at_zeta):
    """Whether a series has the angle of the other end, so that every second term changes its sign."""
    return L < h0 if at_zeta else k1 > 0.5 * math.pi


@_shared
def add_terms(a, h0, k1, L, at_zeta, power, step, terms):
    """(number of terms, sum, sum of the terms over a k or, at zeta, k) of a series, from its power of x1 and the next.

    The number is 0 where it is not accurate: beyond the doubles, past its smallest term, too slow, or where a term was so much
    larger than the sums that its digits are lost. Without memory, with None for `terms`, each term is computed anew.
    """
    twist = twisted(h0, k1, L, at_zeta)
    angle = min(h0, L) if at_zeta else (a * L if twist else k1)  # h0 = pi - L at zeta
    asymptotic = a < 1.0 if at_zeta else a > 1.0
    over, most = 1.0 if at_zeta else a, 12.0 if at_zeta else 40.0
    p, s, top, before = 0.0, 0.0, 0.0, np.inf
    for k in range(1, TERMS):
        if terms is None:
            size, value = dist.series_term(float(k), _LOG_FACTORIAL[k - (1 if at_zeta else 0)], a, angle, at_zeta)
        else:
            if k > terms[0, 0]:
                more_terms(a, angle, at_zeta, terms)
            size, value = terms[0, k], terms[1, k]
        bound = size * power
        if not (size < 1e200 and power < 1e100) or (asymptotic and bound > before) or (k == 5 and bound > SLOW * before):
            break
        t = value * power
        t = -t if twist and k % 2 == 0 else t
        p += t
        s += t / (over * k)
        top = max(top, bound * min(1.0, k * angle))
        least = p if at_zeta else min(p, s * a)
        if bound * (1.0 if at_zeta else k) < 2e-17 * least:
            return k if top < most * least else 0, p, s
        before = bound
        power *= step
    return 0, p, s


@_shared
def by_series(a, geometry, at_zeta, terms):
    """(whether they are accurate, six numbers) for x1 > 0 by the expansion in x1^-a or, at zeta, in x1."""
    x1, h0, L = geometry.x1, geometry.h0, geometry.L
    y, g, factor = 0.0, 0.0, 0.0
    if at_zeta:
        step, factor, fine = dist.power_at_zeta(x1, a, geometry.m)
        power = 1.0
        fine = fine and factor < 1e100
    else:
        y, g, fine = dist.power_at_infinity(x1, a, geometry.m)
        power, step = exp(y + g), exp(y)
    if not fine:
        return False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    count, p, s = add_terms(a, h0, geometry.k1, L, at_zeta, power, step, terms)
    if at_zeta:
        d = s * (factor * x1)
        return count > 0 and d < 0.3 * L / math.pi, (p * factor, h0 / math.pi + d, L / math.pi - d, 0.0, 0.0, 0.0)
    p, s = p / math.pi, s / math.pi
    if g > 0.0:
        return count > 0, (p, 1.0 - s * exp(-g), s, g + log(x1), 0.0, g)
    return count > 0, (p / x1, 1.0 - s, s, 0.0, 0.0, 0.0)


# --- rays and the Fourier rule -----------------------------------------------------------------------------------------


@_summing
def ray(x, a, b):
    """Six numbers next to the Cauchy distribution or far out next to alpha = 1, where `dist.by_the_ray` says so."""
    if abs(x) > 1e100:
        return dist.far_cauchy(x, b)
    if abs(x) > dist.FAR:
        constants = dist.far_constants(abs(x), a, b if x > 0.0 else -b)
        density, tail = 0.0, 0.0
        for j in range(_RAY_V.size):
            d, s = dist.far_node(_RAY_V[j], _RAY_S[j], _RAY_STEP[j], constants)
            density += d
            tail += s
        density, tail = density / (math.pi * abs(x)), tail / math.pi
        return density, 1.0 - tail if x > 0.0 else tail, tail if x > 0.0 else 1.0 - tail, 0.0, 0.0, 0.0
    constants = dist.ray_constants(x, a, b)
    fr, fi, si = 0.0, 0.0, 0.0
    for j in range(_RAY_V.size):
        r, i, s = dist.ray_node(_RAY_V[j], _RAY_S[j], _RAY_STEP[j], constants)
        fr += r
        fi += i
        si += s
    return dist.from_ray(x, fr, fi, si)


@_shared
def fourier_holds(a, geometry, reach):
    """Whether the rule is good for the point."""
    return dist.fourier_band(a) >= 0 and abs(geometry.x0 if a > 0.9 and a < 1.1 else geometry.x1) <= reach


@_summing
def fourier_sums(a, geometry, memory):
    """The two sums of the rule, by the nodes of alpha, which the next point may need."""
    of_alpha, nodes = memory.alphas[0], memory.nodes
    band = dist.fourier_band(a)
    first, n = _FIRST[band], _FIRST[band + 1] - _FIRST[band]
    t, bent, f, g = nodes[0, :n], nodes[1, :n], nodes[2, :n], nodes[3, :n]
    if not (of_alpha.nodes == a):
        of_alpha.nodes = a
        u, log_u, w = _U[first : first + n], _LOG_U[first : first + n], _W[first : first + n]
        for j in range(n):
            t[j], bent[j], f[j], g[j] = dist.fourier_node(u[j], log_u[j], w[j], a)
    x, skew = dist.fourier_phase(a, geometry)
    density, half = 0.0, 0.0
    for j in range(n):
        sine, cosine = sincos(dist.mul_add(skew, bent[j], x * t[j]))
        density += f[j] * cosine
        half += g[j] * sine
    return density, half


@_shared
def fourier_alone(a, geometry):
    """The same without memory."""
    band = dist.fourier_band(a)
    x, skew = dist.fourier_phase(a, geometry)
    density, half = 0.0, 0.0
    for j in range(_FIRST[band], _FIRST[band + 1]):
        t, bent, f, g = dist.fourier_node(_U[j], _LOG_U[j], _W[j], a)
        sine, cosine = sincos(dist.mul_add(skew, bent, x * t))
        density += f * cosine
        half += g * sine
    return density, half


# --- one point ---------------------------------------------------------------------------------------------------------

LEFT, EXACT, FOURIER = 0, 1, 2  # how a point was found, if it was


@_shared
def without_integral(point, memory):
    """(LEFT, EXACT or FOURIER, six numbers, flip, geometry): a point by one of the series or the Fourier rule."""
    a = point.alpha
    at_end, v, flip, side = begun(point, memory)
    if at_end or dist.has_closed_form(a, point.beta):
        return EXACT if at_end else LEFT, v, flip, dist.Geometry(side[0], side[1], side[2], side[3], 0.0, 0.0, 0.0, 0.0)
    geometry, reach = geometry_of(a, flip, side, memory)
    if a != 1.0:
        for k in range(2):
            ok, found = by_series(a, geometry, k == 1, memory.terms[2 * (1 if flip else 0) + k])
            if ok:
                return EXACT, dist.reflect(flip, found), flip, geometry
    if not dist.by_the_ray(geometry.x0, a - 1.0, geometry.b) and fourier_holds(a, geometry, reach):
        density, half = fourier_sums(a, geometry, memory)
        if dist.fourier_accurate(a, density, half):
            return FOURIER, dist.reflect(flip, dist.from_fourier(density, half)), flip, geometry
    return LEFT, v, flip, geometry


class Panels(NamedTuple):
    """Memory of Zolotarev's integral."""

    work: np.ndarray
    ends: np.ndarray
    sums: np.ndarray


@_making
def memory_of_panels(most):
    """For rules of at most so many nodes."""
    return Panels(np.empty((4, PANELS * most)), np.empty(PANELS), np.empty(6))


@_shared
def with_integral(point, flip, geometry, rule, panels):
    """The six numbers and the errors of a point by its closed form, a ray or Zolotarev's integral."""
    a = point.alpha
    closed = dist.has_closed_form(a, point.beta)
    if closed or dist.by_the_ray(geometry.x0, a - 1.0, geometry.b):
        v = dist.closed_form(a, geometry.x0, geometry.x1) if closed else ray(geometry.x0, a, geometry.b)
        v = dist.reflect(flip, v)
        return v, dist.rounding_errors(v, False)
    q = dist.zolotarev(a, geometry)
    n = crossings(q, panels.work, panels.ends)
    integrate(n, q, panels.ends, rule, panels.work, panels.sums)
    s = panels.sums
    return dist.from_sums((s[0], s[1], s[2], s[3], s[4], s[5]), q, flip)


@_shared
def point_value(point, rule, memory, panels):
    """Six numbers of one point and three error estimates."""
    how, v, flip, geometry = without_integral(point, memory)
    if how == LEFT:
        return with_integral(point, flip, geometry, rule, panels)
    return v, dist.rounding_errors(v, how == FOURIER)


# --- points by the threads of a CUDA block -----------------------------------------------------------------------------


@_shared
def ended(point):
    """(whether a point is at an end or has a closed form, six numbers, flip, (b, x0, x1, b T)), without a `Memory`."""
    a, b = point.alpha, point.beta
    th, tl = dist.tangent(a)
    z = dist.standardise(point.x, a, b, point.loc, point.scale, point.s1)
    at_end, v, flip, side = dist.start(z, a, b, point.s1, th, tl)
    if not at_end and dist.has_closed_form(a, b):
        return True, dist.reflect(flip, dist.closed_form(a, side[1], side[2])), flip, side
    return at_end, v, flip, side


@_shared
def alone(point):
    """(LEFT, EXACT or FOURIER, six numbers): what one thread can do, all but the integral."""
    a = point.alpha
    done, v, flip, side = ended(point)
    if done:
        return EXACT, v
    geometry = dist.geometry(a, side)
    for k in range(2 if a != 1.0 else 0):
        ok, found = by_series(a, geometry, k == 1, None)
        if ok:
            return EXACT, dist.reflect(flip, found)
    if dist.by_the_ray(geometry.x0, a - 1.0, geometry.b):
        return EXACT, dist.reflect(flip, ray(geometry.x0, a, geometry.b))
    if fourier_holds(a, geometry, dist.fourier_reach(a, geometry.m)):
        density, half = fourier_alone(a, geometry)
        if dist.fourier_accurate(a, density, half):
            return FOURIER, dist.reflect(flip, dist.from_fourier(density, half))
    return LEFT, v


@_shared
def dealt_log_g(w, n, q, d0, jac, lg):
    """`fill_log_g`, the places dealt to the threads."""
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, n, min(cuda.blockDim.x, LANES)):
        d0[i], jac[i], lg[i] = dist.log_g_any(w[i], q)
    cuda.syncthreads()


@_shared
def dealt_look(left, right, first, q, work):
    """`look`, the places dealt to the threads."""
    cuda.syncthreads()
    w, d0, jac, lg = work[0], work[1], work[2], work[3]
    for i in range(cuda.threadIdx.x, SAMPLES, min(cuda.blockDim.x, LANES)):
        w[i] = sample_place(i, left, right, first, q)
        d0[i], jac[i], lg[i] = dist.log_g_any(w[i], q)
    cuda.syncthreads()


# Whatever is not dealt all threads compute, and write the same: none is ahead of another by more than the barriers above.
dealt_crossings = bind(crossings, sample=bind(sample, look=dealt_look), cross=bind(cross, fill_log_g=dealt_log_g))


@_shared
def share(lane, lanes, n, q, ends, rule, acc):
    """One lane's share of the three integrals, and of the differences of the two rules: nodes, for the differences panels."""
    nodes, weights, lower = rule
    sign = 1.0 if q.a <= 1.0 else -1.0
    low = exp(q.lowest)
    for j in range(6):
        acc[j] = 0.0
    whole = lower.size > 0
    per = nodes.size if whole else 1
    for i in range(lane, (n - 1) * (nodes.size // per), lanes):
        k, first = i * per // nodes.size, i * per % nodes.size
        half, mid = 0.5 * (ends[k + 1] - ends[k]), 0.5 * (ends[k + 1] + ends[k])
        pd, cd, sd = 0.0, 0.0, 0.0
        for j in range(first, first + per):
            d0, jac, lg = dist.log_g_any(sign * (mid + half * nodes[j]), q)
            p, c, s = dist.integrands(lg, half * jac, low)
            acc[0] += weights[j] * p
            acc[1] += weights[j] * c
            acc[2] += weights[j] * s
            if whole:
                u = weights[j] - lower[j]
                pd, cd, sd = pd + u * p, cd + u * c, sd + u * s
        acc[3] += abs(pd)
        acc[4] += abs(cd)
        acc[5] += abs(sd)


@_shared
def block_values(point, live, rule):
    """`point_value` of each thread's own point, if it is `live`. All threads of the block call, as often as each other."""
    work = cuda.shared.array((4, ROOM), np.float64)
    ends = cuda.shared.array(PANELS, np.float64)
    acc = cuda.shared.array((LANES, 6), np.float64)
    points = cuda.shared.array((LANES, 6), np.float64)
    left = cuda.shared.array(LANES, np.int64)
    t, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, LANES)
    how, v = EXACT, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if live:
        how, v = alone(point)
    e = dist.rounding_errors(v, how == FOURIER)
    if t < lanes:
        left[t] = 1 if how == LEFT else 0
        points[t, 0], points[t, 1], points[t, 2] = point.x, point.alpha, point.beta
        points[t, 3], points[t, 4], points[t, 5] = point.loc, point.scale, 1.0 if point.s1 else 0.0
    cuda.syncthreads()
    for k in range(lanes):
        if left[k] > 0:
            theirs = Point(points[k, 0], points[k, 1], points[k, 2], points[k, 3], points[k, 4], points[k, 5] > 0.0)
            done, v_end, flip, side = ended(theirs)
            q = dist.zolotarev(theirs.alpha, dist.geometry(theirs.alpha, side))
            n = dealt_crossings(q, work, ends)
            cuda.syncthreads()
            if t < lanes:
                share(t, lanes, n, q, ends, rule, acc[t])
            cuda.syncthreads()
            if t == k:
                sums = acc[0]
                for lane in range(1, lanes):
                    for j in range(6):
                        sums[j] += acc[lane, j]
                add_outside(n, q, ends, sums)
                v, e = dist.from_sums((sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]), q, flip)
            cuda.syncthreads()
    cuda.syncthreads()
    return v, e


# --- loops -------------------------------------------------------------------------------------------------------------
# `want`: the number of a value, see `dist.pick`, or THREE or THREE_LOGS for the values or the logarithms of pdf, cdf and sf;
# S1 more where the parameters are in that form. One value goes to p, and the other arrays are empty.

THREE, THREE_LOGS, S1 = 6, 7, 8


@_shared
def store(i, want, v, scale, p, c, s):
    """What is wanted of a point."""
    code = int(want) % S1
    for r in range(3 if code >= THREE else 1):
        value = dist.pick(code - THREE + 2 * r if code >= THREE else code, v, scale)
        if r == 0:
            p[i] = value
        elif r == 1:
            c[i] = value
        else:
            s[i] = value


@_shared
def store_errors(i, e, scale, pe, ce, se):
    """The error estimates, where there is room for them."""
    if pe.size > 0:
        pe[i], ce[i], se[i] = e[0] / scale, e[1], e[2]


def points_cpu(x, a, b, loc, scale, want, c, s, pe, ce, se, p):
    rule = GAUSS if pe.size == 0 else KRONROD
    memory, panels = memory_of_points(), memory_of_panels(rule.nodes.size)
    for i in range(p.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        v, e = point_value(point, rule, memory, panels)
        store(i, want, v, point.scale, p, c, s)
        store_errors(i, e, point.scale, pe, ce, se)


def points_cuda(x, a, b, loc, scale, want, c, s, pe, ce, se, p):
    # One point per thread, of which a block uses LANES at most.
    rule = GAUSS if pe.size == 0 else KRONROD
    t, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, LANES)
    for first in range(cuda.blockIdx.x * lanes, p.size, cuda.gridDim.x * lanes):
        live = t < lanes and first + t < p.size
        i = first + t if live else first
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        v, e = block_values(point, live, rule)
        if live:
            store(i, want, v, point.scale, p, c, s)
            store_errors(i, e, point.scale, pe, ce, se)


def series(x, a, b, loc, scale, want, c, s, pe, ce, se, p):
    """One value of the points that need no integral; NaN for the others."""
    memory = memory_of_points()
    for i in range(p.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        how, v, flip, geometry = without_integral(point, memory)
        p[i] = dist.pick(int(want) % S1, v, point.scale)


def integral(x, a, b, loc, scale, want, c, s, pe, ce, se, p):
    """One value of the points that `series` leaves."""
    rule = GAUSS if pe.size == 0 else KRONROD
    memory, panels = memory_of_points(), memory_of_panels(rule.nodes.size)
    for i in range(p.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        at_end, v, flip, side = begun(point, memory)
        if not at_end:
            geometry, reach = geometry_of(point.alpha, flip, side, memory)
            v, e = with_integral(point, flip, geometry, rule, panels)
        p[i] = dist.pick(int(want) % S1, v, point.scale)


def closed(x, a, b, loc, scale, want, c, s, pe, ce, se, p):
    """One value of the points of a distribution that has a closed form."""
    memory = memory_of_points()
    for i in range(p.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        at_end, v, flip, side = begun(point, memory)
        if not at_end:
            v = dist.reflect(flip, dist.closed_form(point.alpha, side[1], side[2]))
        p[i] = dist.pick(int(want) % S1, v, point.scale)


def split_points(args, parts):
    """Whole tasks of points: slices of the arrays that hold a number per point."""
    n = args[-1].size
    size = TASK * max(1, -(-n // (TASK * parts)))
    return [tuple(v[i : i + size] if isinstance(v, np.ndarray) and v.size == n else v for v in args) for i in range(0, n, size)]


DOUBLE = "points are evaluated in double precision and rounded once"


def _signatures(T):
    return [(T[::1], T, T, T, T, T, *[T[::1]] * 6), (T[::1], T[::1], T[::1], T[::1], T[::1], T, *[T[::1]] * 6)]


_BOTH = _signatures(types.float64) + _signatures(types.float32)
POINTS = Kernel("stable.points", points_cpu, points_cuda, _signatures, f64_ok=DOUBLE, split=split_points)
SERIES = HostLoop("stable.series", series, _BOTH, split=split_points)
INTEGRAL = HostLoop("stable.integral", integral, _BOTH, split=split_points)
CLOSED = HostLoop("stable.closed_form", closed, _BOTH, split=split_points)
