"""``insertion``: where a mixture gains most by one more component, the others as they are.

Candidates are neighbourhoods of drawn rows in sphered columns, of three sizes down to d + 2 observations: mean and covariance of
the rows within, of common covariances the mean alone. In exchanges a component is taken out first, and the new one takes its
place.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.climb import copy, copy_matrix
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, inverse_lower
from numbastats.mixture.multivariate.kernels.blocks import each, every, first_least, in_blocks, meet, total
from numbastats.mixture.multivariate.kernels.memory import lanes_of, memory_type, new_memory, spare_point
from numbastats.mixture.multivariate.kernels.passes import (
    FAST,
    FULL,
    LANES,
    SPHERICAL,
    centred,
    cleared,
    distances,
    log_terms,
    moments,
    point_of,
    responsible,
    rows_of,
)
from numbastats.mixture.multivariate.kernels.records import batch_type, model_type, point_type, ranges
from numbastats.mixture.multivariate.kernels.starts import key_type, scatter, value_at
from numbastats.mixture.multivariate.kernels.steps import copy_point
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp, log
from numbastats.scalar.philox import philox4x32

CANDIDATES, SIZES, KEPT = 20, 3, 8

_function = array_function(fastmath=("contract",), host=False)
_passing = array_function(fastmath=FAST, host=False)
_item = array_function(fastmath=("contract",), host=False, allocates=True)
_insertion = None  # bound to the loop on a GPU


@_passing
def _within(distance, w, n, limit, share):
    """The weight of the rows within a distance."""
    s = 0.0
    for j in each(n):
        s += w[j] if distance[j] <= limit else 0.0
    return total(s, share)


@_passing
def _radius(distance, w, n, wanted, share):
    """About the squared distance within which there is so much weight."""
    farthest, low, high = -1, 0.0, 0.0
    for j in each(n):
        if w[j] > 0.0 and distance[j] > high:
            farthest, high = j, distance[j]
    farthest = first_least(-high, farthest, share)
    high = distance[farthest] if farthest >= 0 else 0.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        if _within(distance, w, n, middle, share) >= wanted:
            high = middle
        else:
            low = middle
    return high


@_passing
def _all_distances(x, n, at, U, shape, lanes, out):
    """Squared distances |U (x - at)|^2 of all rows."""
    d = lanes.y.shape[0]
    for a in range(0, n, LANES):
        c = min(LANES, n - a)
        part, into = x[a * d : (a + c) * d], out[a : a + c]
        centred(c, part, at, lanes.y)
        distances(c, lanes.y, U, shape, lanes.four, into)
    meet()


@_passing
def _gain(logf, quad, w, n, height, share, lanes):
    """The gain of the log-likelihood by a component with a share of the weight."""
    gain, rest, log_share = 0.0, 1.0 - share, math.log(share)
    for j in each(n):
        in_step()
        u = log_share + height - 0.5 * quad[j] - logf[j]
        u = u if u < 600.0 else 600.0
        gain += w[j] * log(rest + exp(u))
    return total(gain, lanes.share)


@_passing
def _neighbours(x, w, n, columns, at, mean, limit, distance, lanes, first, cov):
    """Weight, mean (into `first`) and scatter about the mean of the rows within a distance; `mean` is near."""
    d = lanes.y.shape[0]
    meet()
    for i in each(d):
        first[i] = 0.0
    cleared(cov)
    mass = 0.0
    for a in range(0, n, LANES):
        c = min(LANES, n - a)
        part, r, none = x[a * d : (a + c) * d], lanes.top, True
        for j in each(c):
            r[j] = w[a + j] if distance[a + j] <= limit else 0.0
            mass += r[j]
            none = none and not r[j] > 0.0
        if not every(none):
            centred(c, part, mean, lanes.y)
            moments(c, r, lanes.y, FULL, lanes.four, first, cov)
    mass = total(mass, lanes.share)
    for i in each(columns):
        for j in range(i + 1):
            cov[i, j] = cov[i, j] / mass - first[i] * first[j] / mass / mass
    meet()
    for i in each(columns):
        first[i] = mean[i] + first[i] / mass
    meet()
    return mass


@_function
def _height(cov, model, columns, U, L):
    """Restrict a covariance to the model and write its factor U; returns log det U, NaN where it is singular."""
    definite = True
    meet()
    for _ in each(1):
        if model.shape == SPHERICAL:
            v = 0.0
            for i in range(columns):
                v += cov[i, i] / columns
            for i in range(columns):
                cov[i, i] = v
        for i in range(columns):
            for j in range(i):
                cov[i, j] = cov[i, j] if model.shape == FULL else 0.0
                cov[j, i] = cov[i, j]
        definite = cholesky(cov, columns, 0.0, L) == columns
        if definite:
            inverse_lower(L, columns, U)
    if not every(definite):
        return math.nan
    s = 0.0
    for i in range(columns):
        s += math.log(U[i, i])
    return s


@_item
def _without(given, item, out, rest):
    """A mixture without one of its components, whose height is -inf."""
    K = rest.means.shape[0]
    copy_point(point_of(given, item), rest)
    left = 0.0
    for k in range(K):
        left += math.exp(rest.log_weights[k]) if k != out else 0.0
    meet()
    for k in each(K):
        rest.log_weights[k] -= math.log(left)
        rest.heights[k] = rest.heights[k] - math.log(left) if k != out else -math.inf
    meet()


@_function
def _log_densities(x, w, rest, shape, lanes, logf):
    """Write the rows' log densities; returns the log-likelihood."""
    n, d, base = w.size, rest.means.shape[1], 0.0
    for q in range(0, n, LANES):
        c = min(LANES, n - q)
        log_terms(c, x[q * d : (q + c) * d], rest, shape, lanes)
        responsible(c, w[q : q + c], lanes)
        for j in each(c):
            logf[q + j] = lanes.top[j] - log(lanes.sum[j])
            base += w[q + j] * logf[q + j]
    return total(base, lanes.share)


@_item
def insertion_one(item, rows, ids, owner, slot, model, given, key, points, gains, memory, team):
    """Candidates of one mixture."""
    K, d, columns = given.means.shape[1], given.means.shape[2], rows.columns
    s, out = owner[item], slot[item]
    x, w = rows_of(rows, s)
    n, mass = w.size, rows.mass[s]
    logf, distance, quad = memory.rows[team, 0, :n], memory.rows[team, 1, :n], memory.rows[team, 2, :n]
    lanes, rest, work, vectors = lanes_of(memory, team), spare_point(memory, team, 0), memory.work[team, 0], memory.vectors[team]
    whole, L, U, own, cov = work[0], work[1], work[2], work[3], work[4]
    mean, first, at = vectors[0, :d], vectors[1, :d], vectors[2, :d]
    m = n
    while m > 1 and not w[m - 1] > 0.0:
        m -= 1
    for q in each(KEPT):
        gains[item * KEPT + q] = -math.inf
    scatter(x, w, d, columns, mean, whole)
    for _ in each(1):
        if cholesky(whole, columns, 0.0, L) < columns:  # of spherical and diagonal covariances: distances of single columns
            for i in range(columns):
                for j in range(i):
                    L[i, j] = 0.0
                L[i, i] = math.sqrt(whole[i, i]) if whole[i, i] > 0.0 else math.inf
        inverse_lower(L, columns, U)
    meet()
    _without(given, item, out, rest)
    base, other = _log_densities(x, w, rest, model.shape, lanes, logf), 1 if out == 0 else 0
    for draw in range(CANDIDATES):
        word = philox4x32(np.uint32(draw), np.uint32(ids[s]), np.uint32(out), key.stream, key.k0, key.k1)[0]
        u = 1.0 - (draw + np.float64(word) * 2.3283064365386963e-10) / CANDIDATES
        row = min(int((1.0 - (u if draw % 2 == 0 else u * u * u)) * m), m - 1)  # at all distances, half of them far out
        meet()
        for i in each(columns):
            at[i] = value_at(x, n, d, row, i)
        meet()
        _all_distances(x, n, at, U, FULL, lanes, distance)
        for size in range(SIZES):
            wanted = max(mass / (2.0 * K), columns + 2.0)
            wanted = wanted * ((columns + 2.0) / wanted) ** (size / (SIZES - 1.0))
            limit = _radius(distance, w, n, wanted, lanes.share)
            weight = _neighbours(x, w, n, columns, at, at, limit, distance, lanes, first, cov)
            if not (weight < mass):
                continue
            for i in each(columns):
                for j in range(i + 1):
                    cov[i, j] = rest.covariances[other, i, j] if model.pooled > 0 else cov[i, j] + 1e-3 * whole[i, j]
            height = _height(cov, model, columns, own, L)
            _all_distances(x, n, first, own, model.shape, lanes, quad)
            share = weight / mass
            gain = base + _gain(logf, quad, w, n, height, share, lanes)
            _noted(item * KEPT, gain, share, first, cov, rest, out, model, points, gains)


@_function
def _noted(lo, gain, share, mean, cov, rest, out, model, points, gains):
    """Keep a candidate where it is among the best."""
    worst = lo
    for q in range(lo, lo + KEPT):
        worst = q if gains[q] < gains[worst] else worst
    better = gain > gains[worst]
    meet()
    if not better:
        return
    K = rest.means.shape[0]
    for _ in each(1):
        gains[worst] = gain
    for k in each(K):
        log_weight = math.log(share) if k == out else rest.log_weights[k] + math.log(1.0 - share)
        points.log_weights[worst, k] = log_weight if model.free_weights > 0 else -math.log(K)
        copy(mean if k == out else rest.means[k], points.means[worst, k])
        copy_matrix(cov if k == out else rest.covariances[k], points.covariances[worst, k])
    meet()


def insertion_cpu(rows, ids, owner, slot, model, given, key, points, gains, memory):
    """Replace the component slot[m] of each given mixture; it has KEPT points with the log-likelihoods `gains`."""
    most = 0
    for s in range(rows.off.size - 1):
        most = max(most, rows.off[s + 1] - rows.off[s])
    memory = new_memory(1, given.means.shape[1], given.means.shape[2], 0, 0, most)
    for item in range(owner.size):
        insertion_one(item, rows, ids, owner, slot, model, given, key, points, gains, memory, 0)


def insertion_cuda(rows, ids, owner, slot, model, given, key, points, gains, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for item in range(team if team < teams else owner.size, owner.size, teams):
        _insertion(item, rows, ids, owner, slot, model, given, key, points, gains, memory, team)
        cuda.syncthreads()


def _split_insertion(args, parts):
    rows, ids, owner, slot, model, given, key, points, gains, memory = args
    return [
        (
            rows,
            ids,
            owner[a:b],
            slot[a:b],
            model,
            type(given)(*(v[a:b] for v in given)),
            key,
            type(points)(*(v[a * KEPT : b * KEPT] for v in points)),
            gains[a * KEPT : b * KEPT],
            memory,
        )
        for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
INSERTION = Kernel(
    "mixture.multivariate.insertion",
    insertion_cpu,
    insertion_cuda,
    lambda T: [(batch_type(_f), _i[::1], _i[::1], _i[::1], model_type, point_type, key_type, point_type, _f[::1], memory_type)],
    dtypes=("float64",),
    split=_split_insertion,
    cuda_only={"_insertion": in_blocks(insertion_one)},
)
