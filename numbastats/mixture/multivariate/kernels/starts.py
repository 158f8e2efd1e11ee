"""``partitions``: rows in K parts, by hierarchies and k-means++; ``begin``: mixtures from such parts.

Partitions are of at most `SUBSET` rows, evenly spaced in the order of their distances from the mean. Distances are those of
sphered columns, which no linear map of the data changes, or what the maps that the model allows leave as it is: of spherical
covariances those of the columns as they are, of diagonal ones those of columns divided by their standard deviations, of others
those of sphered columns drawn out in directions whose fourth moments are not those of a normal distribution (D. Tyler and others,
J. R. Statist. Soc. B 71, 2009). Draws depend on a counter of (data set, start, draw).
"""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.starts import Key
from numbastats.mixture.multivariate.kernels.algebra import cholesky, inverse_lower, rotated
from numbastats.mixture.multivariate.kernels.blocks import each, every, first_least, in_blocks, meet
from numbastats.mixture.multivariate.kernels.memory import memory_type, new_memory
from numbastats.mixture.multivariate.kernels.passes import FAST, FULL, LANES, SPHERICAL, point_of, rows_of
from numbastats.mixture.multivariate.kernels.records import batch_type, model_type, point_type, ranges
from numbastats.scalar.philox import philox4x32

SUBSET = LANES
WARD_SPHERED, WARD_OWN, KMEANS_SPHERED, KMEANS_OWN, RANDOM_SPHERED, RANDOM_OWN = range(6)  # kinds of start
LLOYD = 5

_function = array_function(fastmath=("contract",), host=False)
_summing = array_function(fastmath=FAST, host=False)
_item = array_function(fastmath=("contract",), host=False, allocates=True)
_partitions = _begin = None  # bound to the loops on a GPU


@_function
def value_at(x, n, d, j, i):
    """Column i of row j of tiles of n rows and d columns."""
    lo = j // LANES * LANES
    return x[lo * d + i * min(LANES, n - lo) + j - lo]


@_function
def _uniform(item, start, draw, key):
    """A number between 0 and 1."""
    word = philox4x32(np.uint32(start), np.uint32(item), np.uint32(draw), key.stream, key.k0, key.k1)[0]
    return (np.float64(word) + 0.5) * 2.3283064365386963e-10


@_function
def chosen(rows, w, at):
    """Places of at most `SUBSET` rows with weight, evenly spaced; returns how many."""
    count = 0
    for j in range(rows):
        count += 1 if w[j] > 0.0 else 0
    most = min(count, at.size)
    for _ in each(1):
        seen, taken = 0, 0
        for j in range(rows):
            if w[j] > 0.0:
                if seen * most // count >= taken and taken < most:
                    at[taken] = j
                    taken += 1
                seen += 1
    meet()
    return most


@_function
def scatter(x, w, d, columns, mean, cov):
    """Weighted mean and covariance of all rows."""
    n, mass = w.size, 0.0
    meet()
    for j in range(n):
        mass += w[j]
    for i in each(columns):
        s = 0.0
        for j in range(n):
            s += w[j] * value_at(x, n, d, j, i)
        mean[i] = s / mass
    meet()
    for q in each(columns * columns):
        i, m = q // columns, q % columns
        if m <= i:
            s = 0.0
            for j in range(n):
                s += w[j] * (value_at(x, n, d, j, i) - mean[i]) * (value_at(x, n, d, j, m) - mean[m])
            cov[i, m] = s / mass
            cov[m, i] = cov[i, m]
    meet()


@_summing
def _distances(P, count, q, weight, mass, out):
    """Squared distances of the columns of P from q, times what Ward's method makes of the masses."""
    for j in each(count):
        out[j] = 0.0
    for i in range(P.shape[0]):
        row, v = P[i], q[i]
        for j in each(count):
            out[j] += (row[j] - v) * (row[j] - v)
    if weight > 0.0:
        for j in each(count):
            out[j] *= weight * mass[j] / (weight + mass[j])
    meet()


@_function
def _nearest(out, count, but, before, share):
    """The least of the distances, that of `before` where it is as small."""
    best, least = -1, math.inf
    for j in each(count):
        if j != but and out[j] < least:
            best, least = j, out[j]
    best = first_least(least, best, share)
    if before >= 0 and (best < 0 or not out[best] < out[before]):
        return before
    return best if best >= 0 else (1 if but == 0 else 0)


@_function
def ward(P, mass, m, K, q, out, ints, height, label, share):
    """Ward's hierarchy by chains of nearest neighbours, cut into at most K parts; P (d, m) and `mass` are destroyed.

    F. Murtagh, The Computer Journal 26 (1983).
    """
    d, count, length, merges = P.shape[0], m, 0, 0
    chain, first, second, name = ints[0], ints[1], ints[2], ints[3]
    meet()
    for j in each(m):
        name[j] = j
    while count > 1:
        if length == 0:
            chain[0] = 0
            length = 1
        tip, before = chain[length - 1], chain[length - 2] if length > 1 else -1
        meet()
        for i in each(d):
            q[i] = P[i, tip]
        meet()
        _distances(P, count, q, mass[tip], mass, out)
        near = _nearest(out, count, tip, before, share)
        if near != before or length < 2:
            chain[length] = near
            length += 1
            continue
        length -= 2
        a, b = min(tip, near), max(tip, near)
        total_mass = mass[a] + mass[b]
        for i in each(d):
            P[i, a] = (mass[a] * P[i, a] + mass[b] * P[i, b]) / total_mass
            P[i, b] = P[i, count - 1]
        meet()
        for _ in each(1):
            first[merges], second[merges], height[merges] = name[a], name[b], out[near]
            mass[a] = total_mass
            mass[b] = mass[count - 1]
            name[b] = name[count - 1]
            for t in range(length):
                if chain[t] == count - 1:
                    chain[t] = b
        meet()
        merges += 1
        count -= 1
    for _ in each(1):
        _cut(m, K, merges, first, second, height, name, label)
    meet()


@_function
def _cut(m, K, merges, first, second, height, name, label):
    """Undo the K - 1 highest merges, and number the parts."""
    for _highest in range(K - 1):
        top = 0
        for t in range(1, merges):
            if height[t] > height[top]:
                top = t
        if merges > 0:
            height[top] = -1.0
    for j in range(m):
        name[j] = j  # the first of the rows that a row belongs to
    for t in range(merges):
        if height[t] >= 0.0:
            a, b = first[t], second[t]
            while name[a] != a:
                name[a] = name[name[a]]
                a = name[a]
            while name[b] != b:
                name[b] = name[name[b]]
                b = name[b]
            name[max(a, b)] = min(a, b)
    parts = 0
    for j in range(m):
        a = j
        while name[a] != a:
            a = name[a]
        if a == j:
            label[j] = parts
            parts += 1
        else:
            label[j] = label[a]


@_function
def kmeans(P, mass, m, K, item, start, key, lloyd, centres, out, nearest, label):
    """k-means++, and a few rounds of Lloyd's method, or without any the rows next to drawn ones; centres are (K, d)."""
    d = P.shape[0]
    for j in each(m):
        nearest[j] = math.inf
        label[j] = 0
    for k in range(K):
        meet()
        whole = 0.0
        for j in range(m):
            whole += mass[j] * (nearest[j] if k > 0 and lloyd > 0 else 1.0)
        target, at, s = _uniform(item, start, k, key) * whole, -1, 0.0
        for j in range(m):
            s += mass[j] * (nearest[j] if k > 0 and lloyd > 0 else 1.0)
            if at < 0 and s > target:
                at = j
        at = m - 1 if at < 0 else at
        for i in each(d):
            centres[k, i] = P[i, at]
        meet()
        _distances(P, m, centres[k], 0.0, mass, out)
        for j in each(m):
            if out[j] < nearest[j]:
                nearest[j], label[j] = out[j], k
    for _round in range(lloyd):
        meet()
        for q in each(K * d):
            k, i, whole, s = q // d, q % d, 0.0, 0.0
            for j in range(m):
                whole += mass[j] if label[j] == k else 0.0
                s += mass[j] * P[i, j] if label[j] == k else 0.0
            if whole > 0.0:
                centres[k, i] = s / whole
        meet()
        for j in each(m):
            nearest[j] = math.inf
        for k in range(K):
            _distances(P, m, centres[k], 0.0, mass, out)
            for j in each(m):
                if out[j] < nearest[j]:
                    nearest[j], label[j] = out[j], k
    meet()


@_function
def drawn_out(Z, mass, m, moments, vectors, height, spare):
    """Draw sphered columns Z (d, m) out where their fourth moments are not those of a normal distribution; `spare` is as Z."""
    d, whole = Z.shape[0], 0.0
    for j in each(m):
        height[j] = 0.0
        for i in range(d):
            height[j] += Z[i, j] * Z[i, j]
    meet()
    for j in range(m):
        whole += mass[j]
    for q in each(d * d):
        i, t = q // d, q % d
        if t <= i:
            s = 0.0
            for j in range(m):
                s += mass[j] * height[j] * Z[i, j] * Z[t, j]
            moments[i, t] = s / whole
            moments[t, i] = moments[i, t]
            vectors[i, t] = 1.0 if i == t else 0.0
            vectors[t, i] = vectors[i, t]
    meet()
    for _ in each(1):
        rotated(moments, d, vectors)
    meet()
    top = 0.0
    for i in range(d):
        top = max(top, abs(math.log(moments[i, i] / (d + 2.0))) if moments[i, i] > 0.0 else 0.0)
    for j in each(m):
        for i in range(d):
            s = 0.0
            for t in range(d):
                s += vectors[t, i] * Z[t, j]
            far = abs(math.log(moments[i, i] / (d + 2.0))) if moments[i, i] > 0.0 else 0.0
            spare[i, j] = s * ((far / top if top > 0.0 else 1.0) + 0.1)
        for i in range(d):
            Z[i, j] = spare[i, j]
    meet()


@_item
def partitions_one(s, rows, ids, K, shape, kinds, key, places, labels, memory, team):
    """The parts of one data set."""
    d, columns = rows.pivots.shape[1], rows.columns
    tile, ints, vectors, work = memory.tile[team], memory.at[team], memory.vectors[team], memory.work[team, 0]
    P, Z, mass, own = tile[:columns], tile[d : d + columns], tile[2 * d], tile[2 * d + 1]
    out, height = tile[2 * d + 2], tile[2 * d + 3]
    mean, q, centres = vectors[0, :d], vectors[1, :columns], memory.first[team]
    cov, L, U, fourth, axes = work[0], work[1], work[2], work[3], work[4]
    x, w = rows_of(rows, s)
    at = places[s]
    m = chosen(w.size, w, at)
    for j in each(m, SUBSET):
        at[j] = -1
    if m == 0:
        return
    scatter(x, w, d, columns, mean, cov)
    sphered = True
    for _ in each(1):
        sphered = cholesky(cov, columns, 0.0, L) == columns
        if sphered:
            inverse_lower(L, columns, U)
    sphered = every(sphered)
    for r in range(kinds.size):
        kind, label = kinds[r], labels[s, r]
        for j in each(m):
            mass[j] = w[at[j]]
            own[j] = mass[j]
        for i in range(columns):
            for j in each(m):
                P[i, j] = value_at(x, w.size, d, at[j], i) - mean[i]
        if sphered and (kind % 2 == 0 or shape == FULL):
            for i in range(columns - 1, -1, -1):
                for j in each(m):
                    v = 0.0
                    for t in range(i + 1):
                        v += U[i, t] * P[t, j]
                    Z[i, j] = v
            if kind % 2 == 1:
                drawn_out(Z, mass, m, fourth, axes, height, P)
        else:
            for i in range(columns):
                scale = 1.0 / math.sqrt(cov[i, i]) if cov[i, i] > 0.0 else 0.0
                scale = 1.0 if shape == SPHERICAL else scale
                for j in each(m):
                    Z[i, j] = P[i, j] * scale
        meet()
        if kind <= WARD_OWN:
            ward(Z, own, m, K, q, out, ints, height, label, memory.share[team])
        else:
            kmeans(Z, mass, m, K, ids[s], r, key, LLOYD if kind <= KMEANS_OWN else 0, centres, out, own, label)


def partitions_cpu(rows, ids, K, shape, kinds, key, places, labels, memory):
    """places (D, SUBSET): rows that are divided, -1 beyond them; labels (D, R, SUBSET)."""
    memory = new_memory(1, K, rows.pivots.shape[1], 0, 0, 0)
    for s in range(ids.size):
        partitions_one(s, rows, ids, K, shape, kinds, key, places, labels, memory, 0)


def partitions_cuda(rows, ids, K, shape, kinds, key, places, labels, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for s in range(team if team < teams else ids.size, ids.size, teams):
        _partitions(s, rows, ids, K, shape, kinds, key, places, labels, memory, team)
        cuda.syncthreads()


@_function
def _start(x, w, at, m, label, model, columns, mean, count, whole, pooled, log_weights, means, covs):  # noqa: PLR0913
    """The mixture of one partition."""
    K, n, d = count.size, w.size, means.shape[1]
    meet()
    for k in each(K):
        count[k] = 0.0
        for q in range(m):
            count[k] += w[at[q]] if label[q] == k else 0.0
    for q in each(K * d):
        k, i = q // d, q % d
        means[k, i] = 0.0
        covs[k, i, :] = 0.0
    meet()
    for e in each(K * columns):
        k, i, s = e // columns, e % columns, 0.0
        for q in range(m):
            s += w[at[q]] * value_at(x, n, d, at[q], i) if label[q] == k else 0.0
        means[k, i] = s / count[k] if count[k] > 0.0 else mean[i]
    meet()
    for e in each(K * columns):
        k, i = e // columns, e % columns
        for q in range(m):
            if label[q] == k:
                u = w[at[q]] * (value_at(x, n, d, at[q], i) - means[k, i])
                for j in range(i + 1):
                    covs[k, i, j] += u * (value_at(x, n, d, at[q], j) - means[k, j])
    for i in each(columns if model.pooled > 0 else 0):
        pooled[i, :] = 0.0
        for q in range(m):
            k = label[q]
            u = w[at[q]] * (value_at(x, n, d, at[q], i) - means[k, i])
            for j in range(i + 1):
                pooled[i, j] += u * (value_at(x, n, d, at[q], j) - means[k, j])
    meet()
    whole_count = 0.0
    for q in range(m):
        whole_count += w[at[q]]
    share = K ** (-2.0 / columns)
    for k in each(K):
        log_weights[k] = math.log((count[k] + 1.0) / (whole_count + K)) if model.free_weights > 0 else -math.log(K)
        few = (columns + 2.0) / (count[k] + columns + 2.0)
        for i in range(columns):
            for j in range(i + 1):
                if model.pooled > 0:
                    v = pooled[i, j] / whole_count + 1e-6 * whole[i, j]
                else:
                    own = covs[k, i, j] / count[k] if count[k] > 0.0 else 0.0
                    v = (1.0 - few) * own + few * share * whole[i, j]
                covs[k, i, j] = v if i == j or model.shape == FULL else 0.0
                covs[k, j, i] = covs[k, i, j]
        if model.shape == SPHERICAL:
            v = 0.0
            for i in range(columns):
                v += covs[k, i, i] / columns
            for i in range(columns):
                covs[k, i, i] = v


@_item
def begin_one(s, rows, model, places, labels, points, memory, team):
    """The mixtures of one data set."""
    d, columns, R, at, m = rows.pivots.shape[1], rows.columns, labels.shape[1], places[s], 0
    x, w = rows_of(rows, s)
    mean, count, whole, pooled = memory.vectors[team, 0, :d], memory.total[team], memory.work[team, 0, 0], memory.work[team, 0, 1]
    while m < SUBSET and at[m] >= 0:
        m += 1
    if m == 0:
        return
    scatter(x, w, d, columns, mean, whole)
    for r in range(R):
        point = point_of(points, s * R + r)
        into = point.log_weights, point.means, point.covariances
        _start(x, w, at, m, labels[s, r], model, columns, mean, count, whole, pooled, *into)


def begin_cpu(rows, model, places, labels, points, memory):
    """Mixtures from the partitions: item is data set times R plus start."""
    memory = new_memory(1, points.means.shape[1], rows.pivots.shape[1], 0, 0, 0)
    for s in range(places.shape[0]):
        begin_one(s, rows, model, places, labels, points, memory, 0)


def begin_cuda(rows, model, places, labels, points, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for s in range(team if team < teams else places.shape[0], places.shape[0], teams):
        _begin(s, rows, model, places, labels, points, memory, team)
        cuda.syncthreads()


def _split_partitions(args, parts):
    rows, ids, K, shape, kinds, key, places, labels, memory = args
    return [
        (rows._replace(off=rows.off[a : b + 1]), ids[a:b], K, shape, kinds, key, places[a:b], labels[a:b], memory)
        for a, b in ranges(ids.size, parts)
    ]


def _split_begin(args, parts):
    rows, model, places, labels, points, memory = args
    R = labels.shape[1]
    return [
        (
            rows._replace(off=rows.off[a : b + 1]),
            model,
            places[a:b],
            labels[a:b],
            type(points)(*(v[a * R : b * R] for v in points)),
            memory,
        )
        for a, b in ranges(places.shape[0], parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_word = numba.types.uint32
key_type = numba.types.NamedTuple([_word, _word, _word], Key)
PARTITIONS = Kernel(
    "mixture.multivariate.partitions",
    partitions_cpu,
    partitions_cuda,
    lambda T: [(batch_type(_f), _i[::1], _i, _i, _i[::1], key_type, _i[:, ::1], _i[:, :, ::1], memory_type)],
    dtypes=("float64",),
    split=_split_partitions,
    cuda_only={"_partitions": in_blocks(partitions_one)},
)
BEGIN = Kernel(
    "mixture.multivariate.begin",
    begin_cpu,
    begin_cuda,
    lambda T: [(batch_type(_f), model_type, _i[:, ::1], _i[:, :, ::1], point_type, memory_type)],
    dtypes=("float64",),
    split=_split_begin,
    cuda_only={"_begin": in_blocks(begin_one)},
)
