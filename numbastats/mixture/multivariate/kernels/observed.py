"""Rows with missing values: the likelihood of what is observed, by patterns.

Rows lie in order of their patterns, those with the same columns observed together, so that the factors of a pattern are made
once. EM has the sums of the complete data in expectation: of a row the missing part is m + B (x - m), B = S_mo S_oo^-1, and its
covariance S_mm - B S_om is added (Z. Ghahramani, M. Jordan, NIPS 6, 1994). These sums have the gradient of the observed
likelihood, by Fisher's identity; its information is the differences of that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.climb import copy
from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, solve
from numbastats.mixture.multivariate.kernels.climb import advance_em, advance_newton
from numbastats.mixture.multivariate.kernels.memory import features_of, new_memory, newton_of, spare_point, sums_of
from numbastats.mixture.multivariate.kernels.newton import counts, in_units, moved, places, slopes
from numbastats.mixture.multivariate.kernels.passes import Point, no_moments, point_of
from numbastats.mixture.multivariate.kernels.prepare import sort
from numbastats.mixture.multivariate.kernels.records import (
    DONE,
    EM,
    STATE_TYPE,
    batch_type,
    facts_of,
    model_type,
    point_type,
    ranges,
    settings_type,
)
from numbastats.mixture.multivariate.kernels.scores import one_point
from numbastats.mixture.multivariate.kernels.steps import condition, copy_point, factor

DONORS = 256  # rows from which missing values are filled in, for the search alone
STEP = 1e-4  # of differences of gradients, in standard deviations
_function = array_function(fastmath=("contract",), host=False)
_making = array_function(fastmath=("contract",), host=False, allocates=True)

COUNTED = np.dtype((np.record, np.dtype([(n, np.int64) for n in "count missing empty unweighted distinct".split()], align=True)))
"""Of a data set: rows that count, those with a missing value, without any, of weight 0; distinct rows with values."""


class Observed(NamedTuple):
    """A data set."""

    x: object  # (n, d), NaN where a value is missing
    w: object  # (n,)
    shift: object  # (2, d): what is subtracted from the columns, and what they are multiplied by
    facts: object
    pivots: object


class Pattern(NamedTuple):
    """What rows of one pattern share, and buffers."""

    columns: object  # (d + 1,): those observed, then the others; last how many are observed
    roots: object  # (K, d, d): of the observed part of the covariances
    slopes: object  # (K, d, d): B, a row for each missing column
    rest: object  # (K, d, d): S_mm - B S_om
    heights: object  # (K,)
    mass: object  # (K,): sums of responsibilities in this pattern
    r: object  # (K,)
    y: object  # (K, d): expected distances from the means
    z: object  # (2, d)
    square: object  # (d, d)


@_making
def new_pattern(K, d):
    """Buffers."""
    return Pattern(
        np.zeros(d + 1, np.int64),
        np.zeros((K, d, d)),
        np.zeros((K, d, d)),
        np.zeros((K, d, d)),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros((K, d)),
        np.zeros((2, d)),
        np.zeros((d, d)),
    )


@_function
def _belongs(x, j, p):
    """Whether row j has the pattern."""
    d, seen = x.shape[1], p.columns[x.shape[1]]
    for a in range(d):
        v = x[j, p.columns[a]]
        if (v == v) != (a < seen):
            return False
    return True


@_function
def _begin(x, j, point, p):
    """The pattern of row j, with its factors."""
    d, seen = x.shape[1], 0
    for i in range(d):
        if x[j, i] == x[j, i]:
            p.columns[seen] = i
            seen += 1
    at = seen
    for i in range(d):
        if x[j, i] != x[j, i]:
            p.columns[at] = i
            at += 1
    p.columns[d] = seen
    at = p.columns
    for k in range(p.mass.size):
        cov, root, B, rest = point.covariances[k], p.roots[k], p.slopes[k], p.rest[k]
        p.mass[k] = 0.0
        for a in range(seen):
            for b in range(a + 1):
                p.square[a, b] = cov[at[a], at[b]]
        cholesky(p.square, seen, 0.0, root)
        height = point.log_weights[k]
        for a in range(seen):
            height -= math.log(root[a, a])
        p.heights[k] = height
        for m in range(d - seen):
            for a in range(seen):
                p.z[0, a] = cov[at[seen + m], at[a]]
            solve(root, seen, p.z[0], B[m])
            for q in range(m + 1):
                s = cov[at[seen + m], at[seen + q]]
                for a in range(seen):
                    s -= B[m, a] * cov[at[seen + q], at[a]]
                rest[m, q] = s


@_function
def _end(sums, p):
    """Add the covariances of what is missing of a pattern's rows."""
    d, seen, at = p.columns.size - 1, p.columns[p.columns.size - 1], p.columns
    for k in range(p.mass.size):
        for m in range(d - seen):
            for q in range(m + 1):  # columns rise, so that this is the lower triangle
                sums.second[k, at[seen + m], at[seen + q]] += p.mass[k] * p.rest[k, m, q]
        p.mass[k] = 0.0


@_function
def _row(x, j, shift, point, p):
    """Log density of the observed values of row j, without powers of 2 pi; responsibilities and expected distances in `p`."""
    d, at = x.shape[1], p.columns
    seen, top = at[d], -math.inf
    for k in range(p.r.size):
        y, root, z = p.y[k], p.roots[k], p.z[0]
        s = 0.0
        for a in range(seen):
            i = at[a]
            v = (x[j, i] - shift[0, i]) * shift[1, i] - point.means[k, i]
            y[i] = v
            for b in range(a):
                v -= root[a, b] * z[b]
            z[a] = v / root[a, a]
            s += z[a] * z[a]
        for m in range(d - seen):
            v = 0.0
            for a in range(seen):
                v += p.slopes[k, m, a] * y[at[a]]
            y[at[seen + m]] = v
        p.r[k] = p.heights[k] - 0.5 * s
        top = max(top, p.r[k])
    total = 0.0
    for k in range(p.r.size):
        p.r[k] = math.exp(p.r[k] - top)
        total += p.r[k]
    for k in range(p.r.size):
        p.r[k] /= total
    return top + math.log(total)


@_function
def observed_sums(data, point, p, sums):
    """Expected sums of the complete data, and the log-likelihood of the observed, without powers of 2 pi."""
    no_moments(sums)
    x, w, shift = data.x, data.w, data.shift
    loglik, d = 0.0, x.shape[1]
    for j in range(x.shape[0]):
        if j == 0 or not _belongs(x, j, p):
            if j > 0:
                _end(sums, p)
            _begin(x, j, point, p)
        loglik += w[j] * _row(x, j, shift, point, p)
        for k in range(p.r.size):
            r, y, first, second = w[j] * p.r[k], p.y[k], sums.first[k], sums.second[k]
            p.mass[k] += r
            sums.total[k] += r
            for i in range(d):
                v = r * y[i]
                first[i] += v
                for m in range(i + 1):
                    second[i, m] += v * y[m]
    if x.shape[0] > 0:
        _end(sums, p)
    return loglik


@_function
def _slope_at(data, point, model, p, sums, features, slope, work):
    """Log-likelihood and gradient at a point, in its local coordinates."""
    loglik = observed_sums(data, point, p, sums)
    slopes(point, model, data.facts, sums, features, slope, work)
    if model.free_weights > 0:
        for k in range(p.r.size):
            slope[features.place[k, 0]] -= data.facts.mass * math.exp(point.log_weights[k])
    return loglik


@_function
def observed_information(data, point, model, p, features, newton, sums, other, work, there):
    """Gradient and information of the observed likelihood, into the first place of `newton`; returns the log-likelihood.

    By central differences of gradients. Along all logarithms of weights together, which changes nothing, it is 1.
    """
    P, facts, pivots = newton.step.size, data.facts, data.pivots
    slope, matrix, scale, up, down = newton.slope[0], newton.matrix[0], newton.scale[0], other[0], other[1]
    for a in range(P):
        slope[a], scale[a], newton.step[a] = 0.0, 0.0, 0.0
        for b in range(P):
            matrix[a, b] = 0.0
    loglik = observed_sums(data, point, p, sums)
    slopes(point, model, facts, sums, features, slope, work)
    in_units(point, model, facts, sums, features, newton)
    for a in range(P):
        size = STEP * scale[a]
        newton.step[a] = size
        good, _ = moved(point, newton.step, scale, model, facts, features, pivots, work, there)
        _slope_at(data, there, model, p, sums, features, up, work)
        newton.step[a] = -size
        other_good, _ = moved(point, newton.step, scale, model, facts, features, pivots, work, there)
        _slope_at(data, there, model, p, sums, features, down, work)
        newton.step[a] = 0.0
        if not (good and other_good):
            return math.nan
        for b in range(P):
            other[2 + a, b] = (down[b] - up[b]) / (2.0 * size * scale[b])
    for a in range(P):
        for b in range(a + 1):
            matrix[a, b] = 0.5 * (other[2 + a, b] + other[2 + b, a])
    if model.free_weights > 0:
        for k in range(p.r.size):
            for m in range(k + 1):
                a, b = features.place[k, 0], features.place[m, 0]
                matrix[a, b] += scale[a] * scale[b] / facts.mass
    return loglik


def observed_climb_cpu(x, w, off, shifts, rows, owner, model, settings, points, state):
    """As `climb_cpu`, of rows x (N, d) with missing values, and their weights; of `rows` facts and pivots are taken."""
    K, filled, d = points.means.shape[1], points.means.shape[2], x.shape[1]
    _own, q, P = counts(K, model, d)
    size = P if settings.newton > 0 else 0
    memory = new_memory(1, K, filled, q, P, 0)
    sums, features, newton, work = sums_of(memory, 0), features_of(memory, 0), newton_of(memory, 0, P), memory.work[0]
    trial, best, p = spare_point(memory, 0, 0), spare_point(memory, 0, 1), new_pattern(K, d)
    there, other = point_of(new_points_of(K, filled), 0), np.zeros((2 + size, size))
    places(K, model, d, features.place)
    for item in range(owner.size):
        now, s = state[item], owner[item]
        facts, pivots = facts_of(rows, s), rows.pivots[s]
        data = Observed(x[off[s] : off[s + 1]], w[off[s] : off[s + 1]], shifts[s], facts, pivots)
        here = point_of(points, item)
        copy_point(here, trial)
        if now.phase != DONE and not factor(trial, model, facts, pivots, work):
            now.status, now.phase = COLLAPSED, DONE
        while now.phase != DONE:
            if now.phase == EM:
                loglik = observed_sums(data, trial, p, sums)
                advance_em(now, loglik, sums, trial, model, facts, pivots, work)
                if now.phase == DONE and now.status == OK:
                    now.condition, now.excess = condition(trial, facts, work)
            else:
                loglik = observed_information(data, trial, model, p, features, newton, sums, other, work, there)
                advance_newton(now, loglik, trial, best, model, facts, pivots, features, newton, work, settings)
        copy_point(best if settings.newton > 0 and now.loglik > -math.inf else trial, here)


@_making
def new_points_of(K, filled):
    """Room for a point."""
    square = 1, K, filled, filled
    return Point(np.zeros((1, K)), np.zeros((1, K, filled)), np.zeros(square), np.zeros(square), np.zeros((1, K)))


def observed_errors_cpu(x, w, off, shifts, rows, owner, model, points, matrix, scale):
    """As `information_cpu`."""
    K, filled, d = points.means.shape[1], points.means.shape[2], x.shape[1]
    _own, q, P = counts(K, model, d)
    memory = new_memory(1, K, filled, q, P, 0)
    sums, features, newton, work = sums_of(memory, 0), features_of(memory, 0), newton_of(memory, 0, P), memory.work[0]
    p, there, other = new_pattern(K, d), point_of(new_points_of(K, filled), 0), np.zeros((2 + P, P))
    places(K, model, d, features.place)
    for item in range(owner.size):
        s = owner[item]
        data = Observed(x[off[s] : off[s + 1]], w[off[s] : off[s + 1]], shifts[s], facts_of(rows, s), rows.pivots[s])
        here = point_of(points, item)
        observed_information(data, here, model, p, features, newton, sums, other, work, there)
        for a in range(P):
            scale[item, a] = newton.scale[0, a]
            for b in range(a + 1):
                matrix[item, a, b] = newton.matrix[0, a, b]


def observed_scores_cpu(x, point, shift, density, resp):
    """Log densities and responsibilities of rows with missing values: of their observed part."""
    p, d = new_pattern(point.log_weights.size, x.shape[1]), x.shape[1]
    for j in range(x.shape[0]):
        if j == 0 or not _belongs(x, j, p):
            _begin(x, j, point, p)
        value = _row(x, j, shift, point, p)
        for a in range(p.columns[d]):
            value += math.log(abs(shift[1, p.columns[a]])) - 0.5 * math.log(2.0 * math.pi)
        density[j] = value
        copy(p.r, resp[j])


# --- before the fit --------------------------------------------------------------------------------------------------------


def patterns_cpu(x, weights, off, at_rows, mass, seen, info):
    """Of each data set the places of its distinct rows with a value, in order of patterns and values, and their weights.

    `seen` (D, d, d): whether columns are observed together.
    """
    d = x.shape[1]
    for s in range(info.size):
        a, b, now = off[s], off[s + 1], info[s]
        key, at, other, n = np.zeros((b - a, 2 * d)), np.zeros(b - a, np.int64), np.zeros(b - a, np.int64), 0
        for j in range(a, b):
            missing = 0
            for i in range(d):
                there = x[j, i] == x[j, i]
                missing += 0 if there else 1
                key[j - a, i] = 0.0 if there else 1.0
                key[j - a, d + i] = x[j, i] if there else 0.0
            now.missing += 1 if missing > 0 else 0
            if missing == d:
                now.empty += 1
            elif weights.size > 0 and not weights[j] > 0.0:
                now.unweighted += 1
            else:
                at[n] = j - a
                n += 1
                for i in range(d):
                    for m in range(d):
                        if x[j, i] == x[j, i] and x[j, m] == x[j, m]:
                            seen[s, i, m] = 1
        now.count = n
        sort(key, at[:n], other[:n])
        kept = 0
        for q in range(n):
            weight = weights[a + at[q]] if weights.size > 0 else 1.0
            same = kept > 0
            for i in range(2 * d):
                same = same and key[at[q], i] == key[at_rows[a + kept - 1] - a, i]
            if same:
                mass[a + kept - 1] += weight
            else:
                at_rows[a + kept], mass[a + kept] = a + at[q], weight
                kept += 1
        now.distinct = kept


def filled_cpu(x, off, out):
    """Rows whose missing values are those of the nearest of some rows in which they are not missing."""
    d = x.shape[1]
    low, high = np.zeros(d), np.zeros(d)
    for s in range(off.size - 1):
        a, b = off[s], off[s + 1]
        n, middle = b - a, np.zeros(d)
        for i in range(d):
            low[i], high[i], count = math.inf, -math.inf, 0
            for j in range(a, b):
                v = x[j, i]
                if v == v:
                    low[i], high[i] = min(low[i], v), max(high[i], v)
                    count += 1
                    middle[i] += (v - middle[i]) / count
        donors = min(n, DONORS)
        for j in range(a, b):
            for i in range(d):
                out[j, i] = x[j, i]
                if x[j, i] == x[j, i]:
                    continue
                nearest, least = middle[i], math.inf
                for g in range(donors):
                    row = a + g * n // donors
                    if x[row, i] != x[row, i]:
                        continue
                    distance, common = 0.0, 0
                    for m in range(d):
                        v = x[j, m] - x[row, m]
                        if v == v:
                            v = v / (high[m] - low[m]) if high[m] > low[m] else 0.0
                            distance += v * v
                            common += 1
                    distance = distance / common if common > 0 else 1e300
                    if distance < least:
                        nearest, least = x[row, i], distance
                out[j, i] = nearest


def _split_climb(args, parts):
    x, w, off, shifts, rows, owner, model, settings, points, state = args
    return [
        (x, w, off, shifts, rows, owner[a:b], model, settings, type(points)(*(v[a:b] for v in points)), state[a:b])
        for a, b in ranges(owner.size, parts)
    ]


def _split_errors(args, parts):
    x, w, off, shifts, rows, owner, model, points, matrix, scale = args
    return [
        (x, w, off, shifts, rows, owner[a:b], model, type(points)(*(v[a:b] for v in points)), matrix[a:b], scale[a:b])
        for a, b in ranges(owner.size, parts)
    ]


def _split_scores(args, parts):
    x, point, shift, density, resp = args
    return [(x[a:b], point, shift, density[a:b], resp[a:b]) for a, b in ranges(len(x), parts)]


def _split_patterns(args, parts):
    x, weights, off, at, mass, seen, info = args
    return [(x, weights, off[a : b + 1], at, mass, seen[a:b], info[a:b]) for a, b in ranges(info.size, parts)]


def _split_filled(args, parts):
    x, off, out = args
    return [(x, off[a : b + 1], out) for a, b in ranges(off.size - 1, parts)]


_f, _i = numba.types.float64, numba.types.int64
_data = _f[:, ::1], _f[::1], _i[::1], _f[:, :, ::1], batch_type(_f), _i[::1], model_type
OBSERVED_CLIMB = HostLoop(
    "mixture.multivariate.observed_climb",
    observed_climb_cpu,
    [(*_data, settings_type, point_type, STATE_TYPE[::1])],
    split=_split_climb,
)
OBSERVED_ERRORS = HostLoop(
    "mixture.multivariate.observed_errors",
    observed_errors_cpu,
    [(*_data, point_type, _f[:, :, ::1], _f[:, ::1])],
    split=_split_errors,
)
OBSERVED_SCORES = HostLoop(
    "mixture.multivariate.observed_scores",
    observed_scores_cpu,
    [(_f[:, ::1], one_point, _f[:, ::1], _f[::1], _f[:, ::1])],
    split=_split_scores,
)
PATTERNS = HostLoop(
    "mixture.multivariate.patterns",
    patterns_cpu,
    [(_f[:, ::1], _f[::1], _i[::1], _i[::1], _f[::1], _i[:, :, ::1], numba.from_dtype(COUNTED)[::1])],
    split=_split_patterns,
)
FILLED = HostLoop("mixture.multivariate.filled", filled_cpu, [(_f[:, ::1], _i[::1], _f[:, ::1])], split=_split_filled)
