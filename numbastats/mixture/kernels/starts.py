"""``starts``: start values from the cells, one problem per (data set, start).

The values are drawn from a counter of (data set, start, draw): the same on every device.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.parameters import above_floor, least_mass
from numbastats.mixture.kernels.passes import MAX_CUDA_K
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.scalar import mixture as fam
from numbastats.scalar.philox import philox4x32
from numbastats.scalar.search import lower_bound

SUBSET, QUANTILE_CUTS, KMEANS_CUTS, GIVEN = range(4)  # kinds of start
_CUTS = MAX_CUDA_K + 1


class Key(NamedTuple):
    """What the random numbers of a call depend on, besides the data set and the start."""

    stream: Any
    k0: Any
    k1: Any


_function = array_function(fastmath=(), host=False)


@_function
def _words(start, dataset, draw, key):  # not inlined, for the sake of compile time
    return philox4x32(start, dataset, draw, key.stream, key.k0, key.k1)


@_function
def _index(q0, n, word):
    """The cell that holds the share (word + 1/2) 2^-32 of the mass."""
    target = (np.float64(word) + 0.5) * 2.3283064365386963e-10 * q0[n - 1]
    return lower_bound(q0, 0, n - 1, target)


@_function
def _segment(par, k, s0, s1, s2, share, family, info):
    """Maximum likelihood of a segment's sums as component k; False when it is too short or has no spread."""
    m, v = fam.maximise(family, s0, s1, s2, info.centre, 0.0, 0.0)
    least = fam.least_dispersion(family, m, info.centre, info.floor)
    if not (s0 > 0.0 and v > least and v < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
        return False
    par[0, k], par[1, k], par[2, k] = share, m, v
    return True


@_function
def _below(q, j):
    """Sum over the first j cells."""
    return q[j - 1] if j > 0 else 0.0


@_function
def _sort(x):
    for i in range(1, x.size):
        v = x[i]
        j = i
        while j > 0 and x[j - 1] > v:
            x[j] = x[j - 1]
            j -= 1
        x[j] = v


@_function
def _draw(cells, par, scratch, kind, family, info, start, dataset, key):
    """Start values by one of three ways, redrawn while they are degenerate, at most 64 times; then equal segments.

    Returns whether they, or the given ones, are usable.
    """
    u1, u2, q0, q1, q2 = cells
    cuts, centres = scratch[0], scratch[1]
    K, n = par.shape[1], u1.size
    if n == 0:
        return False
    if kind == GIVEN:
        return above_floor(par, 0.0, info.centre, family)
    draw = np.uint32(0)
    members = 3 if family <= fam.GAMMA else 2
    for attempt in range(65):
        subset, equal = kind == SUBSET and attempt < 64, attempt == 64
        if equal:
            for k in range(K + 1):
                cuts[k] = float(k * n // K)
        elif not subset:
            cuts[0], cuts[K] = 0.0, float(n)
            if kind == QUANTILE_CUTS:
                for k in range(1, K):
                    w0, w1, w2, w3 = _words(start, dataset, draw, key)
                    draw = np.uint32(draw + np.uint32(1))
                    cuts[k] = float(_index(q0, n, w0))
            else:  # k-means++: each next centre among 32 proposals, by squared distance
                w0, w1, w2, w3 = _words(start, dataset, draw, key)
                draw = np.uint32(draw + np.uint32(1))
                centres[0] = u1[_index(q0, n, w0)]
                for k in range(1, K):
                    total, pick = 0.0, float(centres[0])
                    for t in range(32):
                        if t % 2 == 0:
                            w0, w1, w2, w3 = _words(start, dataset, draw, key)
                            draw = np.uint32(draw + np.uint32(1))
                        else:
                            w0, w1 = w2, w3
                        y = float(u1[_index(q0, n, w0)])
                        near = math.inf
                        for j in range(k):
                            near = min(near, (y - centres[j]) * (y - centres[j]))
                        total += near
                        if (np.float64(w1) + 0.5) * 2.3283064365386963e-10 * total < near:
                            pick = y
                    centres[k] = pick
                _sort(centres[:K])
                for k in range(1, K):
                    middle = 0.5 * (centres[k] + centres[k - 1])
                    cuts[k] = float(lower_bound(u1, 0, n, middle))
            _sort(cuts[1:K])
        good = True
        for k in range(K):
            if subset:  # the maximum likelihood of p + 1 observations each, drawn without replacement
                w0, w1, w2, w3 = _words(start, dataset, draw, key)
                draw = np.uint32(draw + np.uint32(1))
                a, b, c = _index(q0, n, w0), _index(q0, n, w1), _index(q0, n, w2)
                s0, s1, s2, share = float(members), float(u1[a] + u1[b]), float(u2[a] + u2[b]), 1.0 / K
                if members == 3:
                    s1 += u1[c]
                    s2 += u2[c]
                enough = a != b and (members == 2 or (c != a and c != b))
            else:  # of the segments between cuts
                a, b = int(cuts[k]), int(cuts[k + 1])
                s0, s1, s2 = _below(q0, b) - _below(q0, a), _below(q1, b) - _below(q1, a), _below(q2, b) - _below(q2, a)
                share = s0 / info.mass
                enough = b > a and (K == 1 or s0 >= least_mass(info))
            if not (enough and _segment(par, k, s0, s1, s2, share, family, info)):
                good = False
                break
        if good:
            return True
    return False


@_function
def _start(item, cells, q, info, ids, kinds, family, key, par, flag, scratch):
    """Problem number `item`."""
    R = flag.shape[1]
    d, r = item // R, item % R
    a, b = cells.off[d], cells.off[d + 1]
    own = cells.t1[a:b], cells.t2[a:b], q[0, a:b], q[1, a:b], q[2, a:b]
    good = _draw(own, par[d, r], scratch, kinds[r], family, info[d], np.uint32(r), ids[d], key)
    flag[d, r] = OK if good else COLLAPSED


def starts_cpu(cells, q, info, ids, kinds, family, key, par, flag):
    scratch = np.empty((2, par.shape[3] + 1))
    for item in range(flag.size):
        _start(item, cells, q, info, ids, kinds, family, key, par, flag, scratch)


def starts_cuda(cells, q, info, ids, kinds, family, key, par, flag):
    scratch = cuda.local.array((2, _CUTS), np.float64)
    for item in range(cuda.grid(1), flag.size, cuda.gridsize(1)):
        _start(item, cells, q, info, ids, kinds, family, key, par, flag, scratch)


def _split_starts(args, parts):
    cells, q, info, ids, kinds, family, key, par, flag = args
    return [
        (cells._replace(off=cells.off[a:]), q, info[a:b], ids[a:b], kinds, family, key, par[a:b], flag[a:b])
        for a, b in ranges(len(ids), parts)
    ]


_f, _i, _u = numba.types.float64, numba.types.int64, numba.types.uint32
_key = numba.types.NamedUniTuple(_u, 3, Key)
STARTS = Kernel(
    "mixture.starts",
    starts_cpu,
    starts_cuda,
    lambda T: [(series_type(_f), _f[:, ::1], STATISTICS_TYPE[::1], _u[::1], _i[::1], _i, _key, _f[:, :, :, ::1], _i[:, ::1])],
    dtypes=("float64",),
    split=_split_starts,
)
