"""``information``: what standard errors of fits are made of; ``entropy``: of the responsibilities, for the criterion ICL."""

from __future__ import annotations

import numba
import numpy as np

from numbastats._core.climb import copy
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.multivariate.kernels.newton import information_sums, new_features, new_newton
from numbastats.mixture.multivariate.kernels.passes import FAST, LANES, Point, log_terms, new_lanes, new_moments, responsible
from numbastats.mixture.multivariate.kernels.records import batch_type, facts_of, model_type, point_type, ranges
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import log

_passing = array_function(fastmath=FAST, host=False)


def information_cpu(rows, owner, model, points, matrix, scale):
    """Information (M, P, P), its lower triangle in units of the complete data's, whose roots are `scale` (M, P)."""
    K, filled = points.means.shape[1], points.means.shape[2]
    lanes, sums = new_lanes(K, filled), new_moments(K, filled)
    features, newton = new_features(K, model, rows.columns, True), new_newton(scale.shape[1], True)
    work = np.zeros((2, filled, filled))
    for item in range(owner.size):
        s = owner[item]
        a, b = rows.off[s], rows.off[s + 1]
        here = Point(
            points.log_weights[item], points.means[item], points.covariances[item], points.factors[item], points.heights[item]
        )
        x, w = rows.x[a * filled : b * filled], rows.w[a:b]
        information_sums(x, w, here, model, facts_of(rows, s), lanes, features, newton, sums, work)
        copy(newton.scale[0], scale[item])
        for i in range(scale.shape[1]):
            copy(newton.matrix[0, i], matrix[item, i])


@_passing
def _uncertainty(c, w, r):
    """Sum of w r log(1/r)."""
    s = 0.0
    for j in range(c):
        in_step()
        v = r[j] if r[j] > 1e-300 else 1e-300
        s -= w[j] * v * log(v)
    return s


def entropy_cpu(rows, owner, model, points, out):
    """Sum over the rows of the entropy of their responsibilities."""
    K, filled = points.means.shape[1], points.means.shape[2]
    lanes = new_lanes(K, filled)
    for item in range(owner.size):
        s = owner[item]
        a, b = rows.off[s], rows.off[s + 1]
        here = Point(
            points.log_weights[item], points.means[item], points.covariances[item], points.factors[item], points.heights[item]
        )
        x, w = rows.x[a * filled : b * filled], rows.w[a:b]
        total = 0.0
        for q in range(0, w.size, LANES):
            c = min(LANES, w.size - q)
            weights = w[q : q + c]
            log_terms(c, x[q * filled : (q + c) * filled], here, model.shape, lanes)
            responsible(c, weights, lanes)
            for k in range(K):
                total += _uncertainty(c, weights, lanes.logs[k])
        out[item] = total


def _split(args, parts):
    rows, owner, model, points, *outs = args
    return [
        (rows, owner[a:b], model, type(points)(*(v[a:b] for v in points)), *(out[a:b] for out in outs))
        for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_given = batch_type(_f), _i[::1], model_type, point_type
INFORMATION = HostLoop(
    "mixture.multivariate.information", information_cpu, [(*_given, _f[:, :, ::1], _f[:, ::1])], fastmath=FAST, split=_split
)
ENTROPY = HostLoop("mixture.multivariate.entropy", entropy_cpu, [(*_given, _f[::1])], fastmath=FAST, split=_split)
