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

from numbastats._core.climb import copy
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.kernels.starts import Key
from numbastats.mixture.multivariate.kernels.algebra import cholesky, inverse_lower, rotated
from numbastats.mixture.multivariate.kernels.passes import FAST, FULL, LANES, SPHERICAL
from numbastats.mixture.multivariate.kernels.records import batch_type, model_type, point_type, ranges
from numbastats.scalar.philox import philox4x32

SUBSET = 256
WARD_SPHERED, WARD_OWN, KMEANS_SPHERED, KMEANS_OWN, RANDOM_SPHERED, RANDOM_OWN = range(6)  # kinds of start
LLOYD = 5

_function = array_function(fastmath=("contract",), host=False)
_summing = array_function(fastmath=FAST, host=False)


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
    most, seen, taken = min(count, at.size), 0, 0
    for j in range(rows):
        if w[j] > 0.0:
            if seen * most // count >= taken and taken < most:
                at[taken] = j
                taken += 1
            seen += 1
    return taken


@_function
def scatter(x, w, d, columns, mean, cov):
    """Weighted mean and covariance of all rows."""
    n, mass = w.size, 0.0
    for j in range(n):
        mass += w[j]
    for i in range(columns):
        s = 0.0
        for j in range(n):
            s += w[j] * value_at(x, n, d, j, i)
        mean[i] = s / mass
    for i in range(columns):
        for m in range(i + 1):
            s = 0.0
            for j in range(n):
                s += w[j] * (value_at(x, n, d, j, i) - mean[i]) * (value_at(x, n, d, j, m) - mean[m])
            cov[i, m] = s / mass
            cov[m, i] = cov[i, m]


@_summing
def _distances(P, count, q, weight, mass, out):
    """Squared distances of the columns of P from q, times what Ward's method makes of the masses."""
    for j in range(count):
        out[j] = 0.0
    for i in range(P.shape[0]):
        row, v = P[i], q[i]
        for j in range(count):
            out[j] += (row[j] - v) * (row[j] - v)
    if weight > 0.0:
        for j in range(count):
            out[j] *= weight * mass[j] / (weight + mass[j])


@_function
def _nearest(out, count, but, before):
    """The least of the distances, that of `before` where it is as small."""
    best = before if before >= 0 else (1 if but == 0 else 0)
    least = out[best]
    for j in range(count):
        if j != but and out[j] < least:
            best, least = j, out[j]
    return best


@_function
def ward(P, mass, m, K, q, out, chain, first, second, height, name, label):
    """Ward's hierarchy by chains of nearest neighbours, cut into at most K parts; P (d, m) and `mass` are destroyed.

    F. Murtagh, The Computer Journal 26 (1983).
    """
    d, count, length, merges = P.shape[0], m, 0, 0
    for j in range(m):
        name[j] = j
    while count > 1:
        if length == 0:
            chain[0] = 0
            length = 1
        tip = chain[length - 1]
        for i in range(d):
            q[i] = P[i, tip]
        _distances(P, count, q, mass[tip], mass, out)
        before = chain[length - 2] if length > 1 else -1
        near = _nearest(out, count, tip, before)
        if near != before or length < 2:
            chain[length] = near
            length += 1
            continue
        length -= 2
        a, b = min(tip, near), max(tip, near)
        first[merges], second[merges], height[merges] = name[a], name[b], out[near]
        merges += 1
        total = mass[a] + mass[b]
        for i in range(d):
            P[i, a] = (mass[a] * P[i, a] + mass[b] * P[i, b]) / total
            P[i, b] = P[i, count - 1]
        mass[a] = total
        mass[b] = mass[count - 1]
        name[b] = name[count - 1]
        for t in range(length):
            if chain[t] == count - 1:
                chain[t] = b
        count -= 1
    for _cut in range(K - 1):  # the highest merges are undone
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
    for j in range(m):
        nearest[j] = math.inf
        label[j] = 0
    for k in range(K):
        total = 0.0
        for j in range(m):
            total += mass[j] * (nearest[j] if k > 0 and lloyd > 0 else 1.0)
        target, at, s = _uniform(item, start, k, key) * total, -1, 0.0
        for j in range(m):
            s += mass[j] * (nearest[j] if k > 0 and lloyd > 0 else 1.0)
            if at < 0 and s > target:
                at = j
        at = m - 1 if at < 0 else at
        for i in range(d):
            centres[k, i] = P[i, at]
        _distances(P, m, centres[k], 0.0, mass, out)
        for j in range(m):
            if out[j] < nearest[j]:
                nearest[j], label[j] = out[j], k
    for _round in range(lloyd):
        for k in range(K):
            total = 0.0
            for j in range(m):
                total += mass[j] if label[j] == k else 0.0
            if total > 0.0:
                for i in range(d):
                    s = 0.0
                    for j in range(m):
                        s += mass[j] * P[i, j] if label[j] == k else 0.0
                    centres[k, i] = s / total
        for j in range(m):
            nearest[j] = math.inf
        for k in range(K):
            _distances(P, m, centres[k], 0.0, mass, out)
            for j in range(m):
                if out[j] < nearest[j]:
                    nearest[j], label[j] = out[j], k


@_function
def drawn_out(Z, mass, m, moments, vectors, height):
    """Draw sphered columns Z (d, m) out where their fourth moments are not those of a normal distribution."""
    d, total = Z.shape[0], 0.0
    for j in range(m):
        total += mass[j]
        height[j] = 0.0
        for i in range(d):
            height[j] += Z[i, j] * Z[i, j]
    for i in range(d):
        for t in range(i + 1):
            s = 0.0
            for j in range(m):
                s += mass[j] * height[j] * Z[i, j] * Z[t, j]
            moments[i, t] = s / total
            moments[t, i] = moments[i, t]
            vectors[i, t] = 1.0 if i == t else 0.0
            vectors[t, i] = vectors[i, t]
    rotated(moments, d, vectors)
    top = 0.0
    for i in range(d):
        top = max(top, abs(math.log(moments[i, i] / (d + 2.0))) if moments[i, i] > 0.0 else 0.0)
    for j in range(m):
        for i in range(d):
            s = 0.0
            for t in range(d):
                s += vectors[t, i] * Z[t, j]
            far = abs(math.log(moments[i, i] / (d + 2.0))) if moments[i, i] > 0.0 else 0.0
            height[i] = s * ((far / top if top > 0.0 else 1.0) + 0.1)
        for i in range(d):
            Z[i, j] = height[i]


def partitions_cpu(rows, ids, K, shape, kinds, key, places, labels):
    """places (D, SUBSET): rows that are divided, -1 beyond them; labels (D, R, SUBSET)."""
    d, columns = rows.pivots.shape[1], rows.columns
    mean, cov, L, U = np.zeros(d), np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    P, Z, mass, own = np.zeros((columns, SUBSET)), np.zeros((columns, SUBSET)), np.zeros(SUBSET), np.zeros(SUBSET)
    q, out, height = np.zeros(columns), np.zeros(SUBSET), np.zeros(SUBSET)
    chain, first, second = np.zeros(SUBSET + 2, np.int64), np.zeros(SUBSET, np.int64), np.zeros(SUBSET, np.int64)
    name, centres = np.zeros(SUBSET, np.int64), np.zeros((K, columns))
    fourth, vectors = np.zeros((columns, columns)), np.zeros((columns, columns))
    for s in range(ids.size):
        a, b = rows.off[s], rows.off[s + 1]
        x, w, at = rows.x[a * d : b * d], rows.w[a:b], places[s]
        m = chosen(w.size, w, at)
        for j in range(m, SUBSET):
            at[j] = -1
        if m == 0:
            continue
        scatter(x, w, d, columns, mean, cov)
        sphered = cholesky(cov, columns, 0.0, L) == columns
        if sphered:
            inverse_lower(L, columns, U)
        for r in range(kinds.size):
            kind = kinds[r]
            for j in range(m):
                mass[j] = w[at[j]]
            for i in range(columns):
                for j in range(m):
                    P[i, j] = value_at(x, w.size, d, at[j], i) - mean[i]
            if sphered and (kind % 2 == 0 or shape == FULL):
                for i in range(columns - 1, -1, -1):
                    for j in range(m):
                        v = 0.0
                        for t in range(i + 1):
                            v += U[i, t] * P[t, j]
                        Z[i, j] = v
                if kind % 2 == 1:
                    drawn_out(Z, mass, m, fourth, vectors, height)
            else:
                for i in range(columns):
                    scale = 1.0 / math.sqrt(cov[i, i]) if cov[i, i] > 0.0 else 0.0
                    scale = 1.0 if shape == SPHERICAL else scale
                    for j in range(m):
                        Z[i, j] = P[i, j] * scale
            label = labels[s, r]
            if kind <= WARD_OWN:
                copy(mass, own)
                ward(Z, own, m, K, q, out, chain, first, second, height, name, label)
            else:
                kmeans(Z, mass, m, K, ids[s], r, key, LLOYD if kind <= KMEANS_OWN else 0, centres, out, own, label)


def begin_cpu(rows, model, places, labels, points):
    """Mixtures from the partitions: item is data set times R plus start."""
    K, d, columns = points.means.shape[1], rows.pivots.shape[1], rows.columns
    R = labels.shape[1]
    pooled, whole, mean, count = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d), np.zeros(K)
    for item in range(points.means.shape[0]):
        s = item // R
        a, b = rows.off[s], rows.off[s + 1]
        x, w, at, label = rows.x[a * d : b * d], rows.w[a:b], places[s], labels[s, item % R]
        means, covs = points.means[item], points.covariances[item]
        if item % R == 0:
            scatter(x, w, d, columns, mean, whole)
        means[:] = 0.0
        covs[:] = 0.0
        count[:] = 0.0
        m, total = 0, 0.0
        while m < SUBSET and at[m] >= 0:
            k, weight = label[m], w[at[m]]
            count[k] += weight
            total += weight
            for i in range(columns):
                means[k, i] += weight * value_at(x, w.size, d, at[m], i)
            m += 1
        for k in range(K):
            for i in range(columns):
                means[k, i] = means[k, i] / count[k] if count[k] > 0.0 else mean[i]
        pooled[:] = 0.0
        for q in range(m):
            k, weight = label[q], w[at[q]]
            for i in range(columns):
                u = weight * (value_at(x, w.size, d, at[q], i) - means[k, i])
                for j in range(i + 1):
                    v = u * (value_at(x, w.size, d, at[q], j) - means[k, j])
                    covs[k, i, j] += v
                    pooled[i, j] += v
        share = K ** (-2.0 / columns)
        for k in range(K):
            points.log_weights[item, k] = math.log((count[k] + 1.0) / (total + K)) if model.free_weights > 0 else -math.log(K)
            few = (columns + 2.0) / (count[k] + columns + 2.0)
            for i in range(columns):
                for j in range(i + 1):
                    if model.pooled > 0:
                        v = pooled[i, j] / total + 1e-6 * whole[i, j]
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


def _split_partitions(args, parts):
    rows, ids, K, shape, kinds, key, places, labels = args
    return [
        (rows._replace(off=rows.off[a : b + 1]), ids[a:b], K, shape, kinds, key, places[a:b], labels[a:b])
        for a, b in ranges(ids.size, parts)
    ]


def _split_begin(args, parts):
    rows, model, places, labels, points = args
    R = labels.shape[1]
    return [
        (
            rows._replace(off=rows.off[a : b + 1]),
            model,
            places[a:b],
            labels[a:b],
            type(points)(*(v[a * R : b * R] for v in points)),
        )
        for a, b in ranges(places.shape[0], parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_word = numba.types.uint32
key_type = numba.types.NamedTuple([_word, _word, _word], Key)
PARTITIONS = HostLoop(
    "mixture.multivariate.partitions",
    partitions_cpu,
    [(batch_type(_f), _i[::1], _i, _i, _i[::1], key_type, _i[:, ::1], _i[:, :, ::1])],
    split=_split_partitions,
)
BEGIN = HostLoop(
    "mixture.multivariate.begin",
    begin_cpu,
    [(batch_type(_f), model_type, _i[:, ::1], _i[:, :, ::1], point_type)],
    split=_split_begin,
)
