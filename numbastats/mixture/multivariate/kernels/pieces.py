"""Sums over a block of rows in their own layout, which add up to those of the whole; and what follows from these.

``moments``: of a step of EM, by chunks. ``curvature``: gradient and information. ``advance``: the next point from such sums.
"""

from __future__ import annotations

import numba
import numpy as np

from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.multivariate.kernels.climb import advance_em, advance_newton
from numbastats.mixture.multivariate.kernels.memory import features_of, lanes_of, new_memory, newton_of, sums_of
from numbastats.mixture.multivariate.kernels.newton import Newton, counts, information_sums, places
from numbastats.mixture.multivariate.kernels.passes import FAST, LANES, em_sums
from numbastats.mixture.multivariate.kernels.records import DONE, EM, STATE_TYPE, model_type, ranges, settings_type
from numbastats.mixture.multivariate.kernels.scores import one_point
from numbastats.mixture.multivariate.kernels.steps import Facts, condition, factor

CHUNK = 32 * LANES  # rows of a chunk; chunks do not depend on the number of threads

_function = array_function(fastmath=("contract",), host=False)


@_function
def _tiled(x, w, lo, shift, tiles, mass):
    """The rows of a chunk in tiles, those with a missing value of weight 0; returns the sum of the weights."""
    columns, d, total = x.shape[1], tiles.size // CHUNK, 0.0
    for q in range(lo, min(lo + CHUNK, x.shape[0]), LANES):
        c = min(LANES, x.shape[0] - q)
        at = q - lo
        for j in range(c):
            mass[at + j] = w[q + j] if w.size > 0 else 1.0
        for i in range(columns):
            centre, unit = shift[0, i], shift[1, i]
            for j in range(c):
                v = float(x[q + j, i])
                mass[at + j] = mass[at + j] if v == v else 0.0
                tiles[at * d + i * c + j] = (v - centre) * unit if v == v else 0.0
        for j in range(columns * c, d * c):
            tiles[at * d + j] = 0.0
        for j in range(c):
            total += mass[at + j]
    return total


def moments_cpu(x, w, point, shape, shift, out):
    """out[chunk]: log-likelihood without powers of 2 pi, sums of r, r y and the lower triangle of r y y', y = x - mean.

    Rows (n, columns) are shifted and scaled by `shift` (2, columns), as the point is.
    """
    K, d = point.means.shape
    columns, memory = x.shape[1], new_memory(1, K, d, 0, 0, 0)
    lanes, sums = lanes_of(memory, 0), sums_of(memory, 0)
    tiles, mass = np.zeros(CHUNK * d), np.zeros(CHUNK)
    for chunk in range(out.shape[0]):
        n = min(CHUNK, x.shape[0] - chunk * CHUNK)
        _tiled(x, w, chunk * CHUNK, shift, tiles, mass)
        row = out[chunk]
        row[0] = em_sums(tiles[: n * d], mass[:n], 0, n, point, shape, lanes, sums)
        at = 1
        for k in range(K):
            row[at] = sums.total[k]
            at += 1
        for k in range(K):
            for i in range(columns):
                row[at] = sums.first[k, i]
                at += 1
        for k in range(K):
            for i in range(columns):
                for j in range(i + 1):
                    row[at] = sums.second[k, i, j]
                    at += 1


def curvature_cpu(x, w, point, model, shift, out):
    """Log-likelihood without powers of 2 pi, then gradient, the complete data's information, and the lower triangle of Louis'.

    All but the complete data's share, which is added to the whole's sums.
    """
    K, d = point.means.shape
    columns = x.shape[1]
    _own, q, p = counts(K, model, columns)
    memory = new_memory(1, K, d, q, p, 0)
    lanes, sums, features, newton = lanes_of(memory, 0), sums_of(memory, 0), features_of(memory, 0), newton_of(memory, 0, p)
    places(K, model, columns, features.place)
    tiles, mass, work = np.zeros(CHUNK * d), np.zeros(CHUNK), memory.work[0]
    slope, matrix, scale = newton.slope[0], newton.matrix[0], newton.scale[0]
    out[:] = 0.0
    for lo in range(0, x.shape[0], CHUNK):
        n = min(CHUNK, x.shape[0] - lo)
        facts = Facts(columns, _tiled(x, w, lo, shift, tiles, mass), 0.0)
        out[0] += information_sums(tiles[: n * d], mass[:n], point, model, facts, lanes, features, newton, sums, work)
        at = 1
        for a in range(p):
            out[at] += slope[a] * scale[a] if scale[a] > 0.0 else 0.0
            at += 1
        for a in range(p):
            out[at] += scale[a] * scale[a]
            at += 1
        for a in range(p):
            for b in range(a + 1):
                v = matrix[a, b] - (1.0 if a == b else 0.0)
                out[at] += v * scale[a] * scale[b] if scale[a] > 0.0 and scale[b] > 0.0 else 0.0
                at += 1


@_function
def _unpacked(sums, moments, columns):
    """Moments from a row of `moments_cpu`."""
    K, at = moments.total.size, 1
    for k in range(K):
        moments.total[k] = sums[at]
        at += 1
    for k in range(K):
        for i in range(columns):
            moments.first[k, i] = sums[at]
            at += 1
    for k in range(K):
        for i in range(columns):
            for j in range(i + 1):
                moments.second[k, i, j] = sums[at]
                at += 1


def advance_cpu(sums, trial, best, newton, model, facts, pivots, settings, state):
    """The next trial point of a climb from the sums of the whole at this one; without sums it begins.

    In Newton's phase of the sums the log-likelihood alone is read, and the rest is in the first place of `newton`.
    """
    now, (K, d) = state[0], trial.means.shape
    _own, q, p = counts(K, model, facts.columns)
    memory = new_memory(1, K, d, q, p, 0) if now.newton > 0 else new_memory(1, K, d, 0, 0, 0)
    work = memory.work[0]
    if sums.size == 0:
        if not factor(trial, model, facts, pivots, work):
            now.status, now.phase = COLLAPSED, DONE
    elif now.phase == EM:
        moments = sums_of(memory, 0)
        _unpacked(sums, moments, facts.columns)
        advance_em(now, sums[0], moments, trial, model, facts, pivots, work)
        if now.phase == DONE and now.status == OK:
            now.condition, now.excess = condition(trial, facts, work)
    else:
        features = features_of(memory, 0)
        places(K, model, facts.columns, features.place)
        advance_newton(now, sums[0], trial, best, model, facts, pivots, features, newton, work, settings)


def _split_moments(args, parts):
    x, w, point, shape, shift, out = args
    return [
        (x[a * CHUNK : b * CHUNK], w[a * CHUNK : b * CHUNK] if w.size else w, point, shape, shift, out[a:b])
        for a, b in ranges(len(out), parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_rows = numba.types.float32[:, ::1], _f[:, ::1]
_facts = numba.types.NamedTuple([_i, _f, _f], Facts)
_newton = numba.types.NamedTuple([_f[:, ::1], _f[:, :, ::1], _f[:, ::1], _f[:, ::1], _f[::1]], Newton)
MOMENTS = HostLoop(
    "mixture.multivariate.moments",
    moments_cpu,
    [(x, _f[::1], one_point, _i, _f[:, ::1], _f[:, ::1]) for x in _rows],
    fastmath=FAST,
    split=_split_moments,
)
CURVATURE = HostLoop(
    "mixture.multivariate.curvature",
    curvature_cpu,
    [(x, _f[::1], one_point, model_type, _f[:, ::1], _f[::1]) for x in _rows],
    fastmath=FAST,
    parallel=False,
)
ADVANCE = HostLoop(
    "mixture.multivariate.advance",
    advance_cpu,
    [(_f[::1], one_point, one_point, _newton, model_type, _facts, _f[::1], settings_type, STATE_TYPE[::1])],
    parallel=False,
)
