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
from numbastats._core.kernel import Kernel, array_function, device_function
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.parameters import above_floor, least_mass
from numbastats.mixture.kernels.passes import MAX_CUDA_K
from numbastats.mixture.kernels.records import STATE_TYPE, STATISTICS_TYPE, ranges, series_type
from numbastats.scalar import latent as lat
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


class Wanted(NamedTuple):
    """The codes of a family and of its base family, and the passes that rank starts."""

    family: int
    base: int
    ranking: int


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
def sort(x):
    """Ascending."""
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
                sort(centres[:K])
                for k in range(1, K):
                    middle = 0.5 * (centres[k] + centres[k - 1])
                    cuts[k] = float(lower_bound(u1, 0, n, middle))
            sort(cuts[1:K])
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


@device_function
def skew_shift(s):
    """Mean of the standard skew-normal distribution of shape s: delta sqrt(2/pi)."""
    return math.sqrt(2.0 / math.pi) * (s / math.sqrt(1.0 + s * s))


@_function
def begun(par, family, turn):
    """Make of a start of the base family one of a family with a latent variable: what it lacks varies with the start."""
    K, last = par.shape[1], par.shape[0] - 1
    for k in range(K):
        v = par[2, k]
        if family == lat.STUDENT_T:
            normal = turn // 3 % (K + 1) == k + 1  # a maximum there has a basin that small df may not reach
            s = 1e3 if normal else (4.0 if turn % 3 == 0 else (12.0 if turn % 3 == 1 else 40.0))
            par[2, k], par[last, k] = v * (1.0 - 2.0 / s), s
        elif family == lat.SKEW_NORMAL:
            s = (1.5 if turn % 2 == 0 else 3.0) * (-1.0 if (turn >> (k % 8)) & 1 else 1.0)
            v = v * ((1.0 + s * s) / (1.0 + (1.0 - 2.0 / math.pi) * (s * s)))
            par[1, k], par[2, k], par[last, k] = par[1, k] - math.sqrt(v) * skew_shift(s), v, s
        else:
            par[2, k] = (1.0 if turn % 3 == 0 else (4.0 if turn % 3 == 1 else 16.0)) * (0.5 + par[1, k])


@_function
def _start(item, cells, q, info, ids, kinds, wanted, key, given, par, state, scratch):
    """Problem number `item`: a start, and the state of the passes that rank it: half as many again of few values."""
    family, base, ranking = wanted
    S, drawn = par.shape[1], par.shape[1] - given.shape[1]
    d, r = item // S, item % S
    a, b = cells.off[d], cells.off[d + 1]
    own = cells.t1[a:b], cells.t2[a:b], q[0, a:b], q[1, a:b], q[2, a:b]
    one, now = par[d, r], state[item]
    for i in range(one.shape[0]):
        for k in range(one.shape[1]):
            one[i, k] = given[d, r - drawn, i, k] if r >= drawn else 1.0
    good = _draw(own, one, scratch, kinds[r], base, info[d], np.uint32(r), ids[d], key)
    if good and r < drawn and family != base:
        begun(one, family, r // 3)
    now.objective = -math.inf
    now.loglik, now.old, now.radius, now.step_max, now.decrement, now.min_eig = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    now.passes, now.tries, now.closing, now.rounds, now.steps, now.at_limit = 0, 0, 0, 0, 0, 0
    now.status, now.phase = OK if good else COLLAPSED, c.START if good and ranking > 0 else c.DONE
    now.left = ranking + ranking // 2 if info[d].distinct < 512 else ranking


def starts_cpu(cells, q, info, ids, kinds, wanted, key, given, par, state):
    scratch = np.empty((2, par.shape[3] + 1))
    for item in range(state.size):
        _start(item, cells, q, info, ids, kinds, wanted, key, given, par, state, scratch)


def starts_cuda(cells, q, info, ids, kinds, wanted, key, given, par, state):
    scratch = cuda.local.array((2, _CUTS), np.float64)
    for item in range(cuda.grid(1), state.size, cuda.gridsize(1)):
        _start(item, cells, q, info, ids, kinds, wanted, key, given, par, state, scratch)


def _split_starts(args, parts):
    cells, q, info, ids, kinds, wanted, key, given, par, state = args
    S = par.shape[1]
    return [
        (cells._replace(off=cells.off[a:]), q, info[a:b], ids[a:b], kinds, wanted, key, given[a:b])
        + (par[a:b], state[a * S : b * S])
        for a, b in ranges(len(ids), parts)
    ]


_f, _i, _u = numba.types.float64, numba.types.int64, numba.types.uint32
_key, _f4 = numba.types.NamedUniTuple(_u, 3, Key), _f[:, :, :, ::1]
_fixed = STATISTICS_TYPE[::1], _u[::1], _i[::1], numba.types.NamedUniTuple(_i, 3, Wanted), _key
STARTS = Kernel(
    "mixture.starts",
    starts_cpu,
    starts_cuda,
    lambda T: [(series_type(_f), _f[:, ::1], *_fixed, _f4, _f4, STATE_TYPE[::1])],
    dtypes=("float64",),
    split=_split_starts,
)
