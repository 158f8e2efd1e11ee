"""Single methods by themselves: the Fourier rule, and the reference's quadrature."""

from __future__ import annotations

import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as dist
from numbastats.scalar.elementary import exp
from numbastats.stable.kernels.kronrod import kronrod
from numbastats.stable.kernels.points import (
    DOUBLE,
    S1,
    by_series,
    ended,
    fourier_alone,
    fourier_holds,
    fourier_sums,
    geometry_of,
    memory_of_points,
    point_of,
    split_points,
)

_shared = array_function(host=False)
_uncontracted = array_function(host=False, fastmath=())


def _signatures(T):
    return [(T[::1], T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T[::1])]


# --- the Fourier rule by itself ----------------------------------------------------------------------------------------


def fourier_cpu(x, a, b, loc, scale, want, out):
    memory = memory_of_points()
    for i in range(out.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        done, v, flip, side = ended(point)
        if not done:
            geometry, reach = geometry_of(point.alpha, flip, side, memory)
            if fourier_holds(point.alpha, geometry, reach):
                density, half = fourier_sums(point.alpha, geometry, memory)
                v = dist.from_fourier(density, half)
            else:
                ok = dist.fourier_band(point.alpha) == 0 or dist.fourier_band(point.alpha) == 2
                if ok:
                    ok, v = by_series(point.alpha, geometry, False, memory.terms[2 if flip else 0])
                v = v if ok else dist.beyond_fourier(point.alpha, geometry)
            v = dist.reflect(flip, v)
        out[i] = dist.pick(int(want) % S1, v, point.scale)


def fourier_cuda(x, a, b, loc, scale, want, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        done, v, flip, side = ended(point)
        if not done:
            geometry = dist.geometry(point.alpha, side)
            if fourier_holds(point.alpha, geometry, dist.fourier_reach(point.alpha, geometry.m)):
                density, half = fourier_alone(point.alpha, geometry)
                v = dist.from_fourier(density, half)
            else:
                v = dist.beyond_fourier(point.alpha, geometry)
            v = dist.reflect(flip, v)
        out[i] = dist.pick(int(want) % S1, v, point.scale)


FOURIER = Kernel("stable.fourier", fourier_cpu, fourier_cuda, _signatures, f64_ok=DOUBLE, split=split_points)


# --- the reference's method: fixed subintervals of theta -----------------------------------------------------------------
# A Gauss-Kronrod rule on each of 16 equal subintervals. The reference evaluates again where few subintervals hold the integral
# and, for alpha < 0.3, at the beginning; here it is wherever the two rules differ, which is there and at other singular ends.
# On CUDA one block has a point: a thread per node, and a tree of additions per subinterval in shared memory (Julian-Moreno et
# al. 2016, sections 3.1-3.3).

SUBINTERVALS, RULE = 16, 32
LOWER = 2 * S1  # this much more in `want` for the value by the Gauss rule, whose distance is the reference's estimate
_GK, _GK_WEIGHTS, _GAUSS_WEIGHTS = (np.append(v, 0.0) for v in kronrod(15))  # 31 nodes; of weight 0 the 32nd, for the tree
_SPANS, _ROUNDS = 24, 60
_TOLERANCE = 1e-14  # of the differences of the rules, to the whole


@_shared
def begin(q, spans, sums):
    """The whole range, and nothing added up; returns the number of spans."""
    spans[:] = 0.0
    spans[0, 1] = q.L
    sums[:] = 0.0
    return 1


@_shared
def to_divide(parts, spans, n, q, sums):
    """Bits of the subintervals where the rules differ, and of those next to them."""
    found, noise = 0, max(min(exp(q.lowest), 1e4), 1.0)  # roundings of e^(low - g)
    for r in range(3):
        total = sums[r]
        for i in range(n):
            total += spans[i, 3 + r]
        for m in range(SUBINTERVALS):
            total += parts[r, m]
        if r == 0 and total == 0.0:  # all between nodes: where e^-g falls from 1 to 0
            # where all e^-g are 0: the end where g is small; where all are 1, the other
            upper = (q.a > 1.0) != (spans[n, 2] > 0.0)
            where, most = SUBINTERVALS - 1 if upper != (parts[1, 0] > 0.0) else -1, 0.0
            for m in range(SUBINTERVALS - 1):
                jump = abs(parts[1, m + 1] - parts[1, m])
                if jump > most:
                    where, most = m, jump
            found = (6 << where) >> 1 if where >= 0 else 1
            if most == 0.0 and n > 0:  # not here, but in a span that is still to come
                found = 0
            break
        for m in range(SUBINTERVALS):
            found |= int(abs(parts[3 + r, m]) > _TOLERANCE * noise * total) << m
    return found | (found << 1) | (found >> 1)


@_shared
def divided(parts, spans, n, turn, q, sums):
    """Add up the subintervals' integrals, or put runs of them among the spans; returns the number of spans.

    parts (6, 16): of the last span, by the Kronrod rule, and what the Gauss rule lacks to it. spans: start, end, whether they are
    distances from the upper end of theta, and the three integrals for the time being.
    """
    n -= 1
    start, end, turned = spans[n, 0], spans[n, 1], spans[n, 2]
    again = to_divide(parts, spans, n, q, sums) if turn < _ROUNDS and n + SUBINTERVALS // 2 < _SPANS else 0
    width = (end - start) / SUBINTERVALS
    at_end = turned == 0.0 and end == q.L  # what is there is counted from the upper end from now on
    first = -1
    for m in range(SUBINTERVALS + 1):
        more = m < SUBINTERVALS and (again >> m) & 1 == 1
        if first >= 0 and (not more or (at_end and m == SUBINTERVALS // 2)):
            turn_it = at_end and m == SUBINTERVALS
            spans[n, 0] = 0.0 if turn_it else start + first * width
            spans[n, 1] = (m - first) * width if turn_it else start + m * width
            spans[n, 2] = 1.0 if turn_it else turned
            for r in range(3):
                spans[n, 3 + r] = 0.0
                for i in range(first, m):
                    spans[n, 3 + r] += parts[r, i]
            n, first = n + 1, -1
        if more and first < 0:
            first = m
        if not more and m < SUBINTERVALS:
            for r in range(6):
                sums[r] += parts[r, m]
    return n


@_uncontracted
def node(m, j, half, q, span):
    """Weights of a node of subinterval m, of the Kronrod rule and what the Gauss rule lacks; the three integrands there."""
    u, w, y = dist.kronrod_node(span[0] + half * (2 * m + 1 + _GK[j]), q, exp(q.lowest), span[2])
    return half * _GK_WEIGHTS[j], half * (_GK_WEIGHTS[j] - _GAUSS_WEIGHTS[j]), u, w, y


@_shared
def by_rule(sums, q, flip, want):
    """The six numbers of a point by the Kronrod rule or, if `want` says so, the Gauss rule."""
    less = 1.0 if want >= LOWER else 0.0
    p, c, s = sums[0] - less * sums[3], sums[1] - less * sums[4], sums[2] - less * sums[5]
    return dist.from_sums((p, c, s, 0.0, 0.0, 0.0), q, flip)[0]


@_shared
def kronrod_point(i, x, a, b, loc, scale, want):
    """`point_of`, of a `want` with LOWER in it."""
    return point_of(i, x, a, b, loc, scale, want % LOWER >= S1)


def kronrod_cpu(x, a, b, loc, scale, want, out):
    parts, spans, sums = np.empty((6, SUBINTERVALS)), np.empty((_SPANS, 6)), np.empty(6)
    for i in range(out.size):
        point = kronrod_point(i, x, a, b, loc, scale, want)
        done, v, flip, side = ended(point)
        if not done:
            q = dist.zolotarev(point.alpha, dist.geometry(point.alpha, side))
            n, turn = begin(q, spans, sums), 0
            while n > 0:
                span = spans[n - 1]
                half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                for m in range(SUBINTERVALS):
                    p, c, s, lp, lc, ls = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                    for j in range(RULE - 1):
                        weight, lower, u, w, y = node(m, j, half, q, span)
                        p, c, s = p + weight * u, c + weight * w, s + weight * y
                        lp, lc, ls = lp + lower * u, lc + lower * w, ls + lower * y
                    parts[0, m], parts[1, m], parts[2, m], parts[3, m], parts[4, m], parts[5, m] = p, c, s, lp, lc, ls
                n = divided(parts, spans, n, turn, q, sums)
                turn += 1
            v = by_rule(sums, q, flip, want)
        out[i] = dist.pick(int(want) % S1, v, point.scale)


def kronrod_cuda(x, a, b, loc, scale, want, out):
    nodes = cuda.shared.array((6, SUBINTERVALS, RULE), np.float64)
    parts = cuda.shared.array((6, SUBINTERVALS), np.float64)
    spans = cuda.shared.array((_SPANS, 6), np.float64)
    sums = cuda.shared.array(6, np.float64)
    left = cuda.shared.array(1, np.int64)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        point = kronrod_point(i, x, a, b, loc, scale, want)
        done, v, flip, side = ended(point)
        if not done:
            q = dist.zolotarev(point.alpha, dist.geometry(point.alpha, side))
            if t == 0:
                left[0] = begin(q, spans, sums)
            cuda.syncthreads()
            turn = 0
            while left[0] > 0:
                span = spans[left[0] - 1]
                half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                for n in range(t, SUBINTERVALS * RULE, threads):
                    m, j = n // RULE, n % RULE
                    weight, lower, u, w, y = node(m, j, half, q, span)
                    nodes[0, m, j], nodes[1, m, j], nodes[2, m, j] = weight * u, weight * w, weight * y
                    nodes[3, m, j], nodes[4, m, j], nodes[5, m, j] = lower * u, lower * w, lower * y
                cuda.syncthreads()
                width = RULE // 2
                while width > 0:
                    for n in range(t, SUBINTERVALS * width, threads):
                        m, j = n // width, n % width
                        for r in range(6):
                            nodes[r, m, j] += nodes[r, m, j + width]
                    cuda.syncthreads()
                    width //= 2
                if t == 0:
                    for m in range(SUBINTERVALS):
                        for r in range(6):
                            parts[r, m] = nodes[r, m, 0]
                    left[0] = divided(parts, spans, left[0], turn, q, sums)
                turn += 1
                cuda.syncthreads()
            if t == 0:
                v = by_rule(sums, q, flip, want)
            cuda.syncthreads()
        if t == 0:
            out[i] = dist.pick(int(want) % S1, v, point.scale)


GAUSS_KRONROD = Kernel("stable.gauss_kronrod", kronrod_cpu, kronrod_cuda, _signatures, f64_ok=DOUBLE, split=split_points)
