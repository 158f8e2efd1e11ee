"""Single methods by themselves: the Fourier rule, and the reference's quadrature."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange

from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as law
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp
from numbastats.stable.kernels.kronrod import kronrod
from numbastats.stable.kernels.points import (
    DOUBLE,
    TASK,
    fourier_holds,
    fourier_share,
    fourier_sums,
    geometry_of,
    scratch,
    series_at_infinity,
    split_points,
    tangent,
)

_shared = array_function(host=False)


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
    "stable.fourier",
    fourier_cpu,
    fourier_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])],
    f64_ok=DOUBLE,
    split=split_points,
)


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
    "stable.gauss_kronrod",
    kronrod_cpu,
    kronrod_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])],
    f64_ok=DOUBLE,
    split=split_points,
)
