"""Start values of a mixture, drawn from a counter of (data set, start, draw): the same on every device."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.compile import array_function
from numbastats.mixture.climbing import CENTRE, COUNT, FLOOR, MASS, above_floor
from numbastats.scalar import families as fam
from numbastats.scalar.philox import philox4x32
from numbastats.scalar.search import lower_bound

__all__ = ["GIVEN", "KMEANS_CUTS", "QUANTILE_CUTS", "SUBSET", "draw_start", "least_mass"]

SUBSET, QUANTILE_CUTS, KMEANS_CUTS, GIVEN = range(4)  # kinds of start

_function = array_function(fastmath=(), host=False)


@_function
def least_mass(info):
    """What a start's component must hold: two observations, weights being counts, or two mean weights if these are below 1."""
    return 2.0 * min(1.0, info[MASS] / info[COUNT])


@_function
def _words(start, dataset, draw, stream, k0, k1):  # not inlined, for the sake of compile time
    return philox4x32(start, dataset, draw, stream, k0, k1)


@_function
def _index(q0, n, word):
    """The cell that holds the share (word + 1/2) 2^-32 of the mass."""
    target = (np.float64(word) + 0.5) * 2.3283064365386963e-10 * q0[n - 1]
    return lower_bound(q0, 0, n - 1, target)


@_function
def _segment(par, k, s0, s1, s2, share, family, info):
    """Maximum likelihood of a segment's sums as component k; False when it is too short or has no spread."""
    m, v = fam.maximise(family, s0, s1, s2, info[CENTRE], 0.0, 0.0)
    if not (s0 > 0.0 and v > 1e-3 * info[FLOOR] and v < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
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
def draw_start(u1, u2, q0, q1, q2, par, cuts, centres, kind, family, info, dataset, start, stream, k0, k1):
    """Start values by one of three ways, redrawn while they are degenerate, at most 64 times; then equal segments.

    Whether they, or the given ones, are usable.
    """
    K, n = par.shape[1], u1.size
    if n == 0:
        return False
    if kind == GIVEN:
        return above_floor(par, 0.0, family)
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
                    w0, w1, w2, w3 = _words(start, dataset, draw, stream, k0, k1)
                    draw = np.uint32(draw + np.uint32(1))
                    cuts[k] = float(_index(q0, n, w0))
            else:  # k-means++: each next centre among 32 proposals, by squared distance
                w0, w1, w2, w3 = _words(start, dataset, draw, stream, k0, k1)
                draw = np.uint32(draw + np.uint32(1))
                centres[0] = u1[_index(q0, n, w0)]
                for k in range(1, K):
                    total, pick = 0.0, float(centres[0])
                    for t in range(32):
                        if t % 2 == 0:
                            w0, w1, w2, w3 = _words(start, dataset, draw, stream, k0, k1)
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
                w0, w1, w2, w3 = _words(start, dataset, draw, stream, k0, k1)
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
                share = s0 / info[MASS]
                enough = b > a and (K == 1 or s0 >= least_mass(info))
            if not (enough and _segment(par, k, s0, s1, s2, share, family, info)):
                good = False
                break
        if good:
            return True
    return False
