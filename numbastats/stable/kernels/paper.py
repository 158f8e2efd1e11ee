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


@_shared
def begin(q, span, sums):
    """The whole range, and nothing added up."""
    span[0], span[1], span[2] = 0.0, q.L, 0.0
    sums[0], sums[1], sums[2] = 0.0, 0.0, 0.0


@_uncontracted
def node(m, j, half, q, span):
    """Weight of a node of subinterval m, and the three integrands there."""
    u, w, y = dist.kronrod_node(span[0] + half * (2 * m + 1 + _GK[j]), q, exp(q.lowest), span[2])
    return _GK_WEIGHTS[j], u, w, y


def kronrod_cpu(x, a, b, loc, scale, want, out):
    parts, span, sums = np.empty((3, SUBINTERVALS)), np.empty(3), np.empty(3)
    for i in range(out.size):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        done, v, flip, side = ended(point)
        if not done:
            q = dist.zolotarev(point.alpha, dist.geometry(point.alpha, side))
            begin(q, span, sums)
            for turn in range(_ROUNDS):
                half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                for m in range(SUBINTERVALS):
                    p, c, s = 0.0, 0.0, 0.0
                    for j in range(RULE - 1):
                        weight, u, w, y = node(m, j, half, q, span)
                        p, c, s = p + weight * u, c + weight * w, s + weight * y
                    parts[0, m], parts[1, m], parts[2, m] = half * p, half * c, half * s
                if contributing(parts, span, point.alpha, q.L, sums) or turn == _ROUNDS - 1:
                    break
            v, e = dist.from_sums((sums[0], sums[1], sums[2], 0.0, 0.0, 0.0), q, flip)
        out[i] = dist.pick(int(want) % S1, v, point.scale)


def kronrod_cuda(x, a, b, loc, scale, want, out):
    nodes = cuda.shared.array((3, SUBINTERVALS, RULE), np.float64)
    parts = cuda.shared.array((3, SUBINTERVALS), np.float64)
    span = cuda.shared.array(3, np.float64)
    sums = cuda.shared.array(3, np.float64)
    over = cuda.shared.array(1, np.int64)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        point = point_of(i, x, a, b, loc, scale, want >= S1)
        done, v, flip, side = ended(point)
        if not done:
            q = dist.zolotarev(point.alpha, dist.geometry(point.alpha, side))
            if t == 0:
                begin(q, span, sums)
                over[0] = 0
            cuda.syncthreads()
            for turn in range(_ROUNDS):
                if over[0] > 0:
                    break
                half = 0.5 * (span[1] - span[0]) / SUBINTERVALS
                for n in range(t, SUBINTERVALS * RULE, threads):
                    m, j = n // RULE, n % RULE
                    weight, u, w, y = node(m, j, half, q, span)
                    weight *= half
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
                    over[0] = 1 if contributing(parts, span, point.alpha, q.L, sums) or turn == _ROUNDS - 1 else 0
                cuda.syncthreads()
            if t == 0:
                v, e = dist.from_sums((sums[0], sums[1], sums[2], 0.0, 0.0, 0.0), q, flip)
            cuda.syncthreads()
        if t == 0:
            out[i] = dist.pick(int(want) % S1, v, point.scale)


GAUSS_KRONROD = Kernel("stable.gauss_kronrod", kronrod_cpu, kronrod_cuda, _signatures, f64_ok=DOUBLE, split=split_points)
