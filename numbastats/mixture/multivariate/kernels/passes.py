"""Passes over the rows of a mixture: log densities of the components, responsibilities, and weighted moments.

Rows lie in tiles of at most `LANES`, a column of a tile after another, so that all loops run over lanes and the compiler makes
vectors of them. Columns are filled up with zeros to a multiple of four; four columns by four are in registers at a time. A
component whose responsibility is above `TINY` in few lanes of a tile has these gathered first: the others change no sum.

Moments are about the old means: sums of r (x - m) and r (x - m)(x - m)', in which nothing cancels far from zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.blocks import BLOCK, each, meet, total
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp_neg, log

LANES = 256
TINY = 1e-18  # responsibilities below it are lost in rounding beside 1 / LANES of any sum
FAST = ("contract", "reassoc", "nsz")
FULL, DIAGONAL, SPHERICAL = range(3)  # shapes of covariances

_passing = array_function(fastmath=FAST, host=False)
_making = array_function(fastmath=FAST, host=False, allocates=True)


class Point(NamedTuple):
    """Parameters of a mixture in the units of the rows, d filled up to a multiple of four."""

    log_weights: object  # (K,)
    means: object  # (K, d)
    covariances: object  # (K, d, d)
    factors: object  # (K, d, d), lower triangular: z = factor (x - mean) has unit covariance
    heights: object  # (K,): the logarithm of weight times density at the mean, without powers of 2 pi


class Moments(NamedTuple):
    """Sums over rows: of r, r (x - m), and the lower triangle of r (x - m)(x - m)'."""

    total: object  # (K,)
    first: object  # (K, d)
    second: object  # (K, d, d)


class Lanes(NamedTuple):
    """Buffers for a tile."""

    y: object  # (d, LANES): differences from a mean
    four: object  # (4, LANES)
    logs: object  # (K, LANES): log terms, then responsibilities
    top: object  # (LANES,)
    sum: object  # (LANES,)
    at: object  # (LANES,): the lanes that count
    share: object  # (2, LANES): of the threads of a block


@_making
def point_of(points, m):
    """One of many points."""
    return Point(points.log_weights[m], points.means[m], points.covariances[m], points.factors[m], points.heights[m])


@_making
def rows_of(rows, s):
    """Tiles and weights of a data set."""
    a, b, d = rows.off[s], rows.off[s + 1], rows.pivots.shape[1]
    return rows.x[a * d : b * d], rows.w[a:b]


@_passing
def cleared(A):
    """Zeros into a matrix."""
    for i in each(A.shape[0]):
        A[i, :] = 0.0


# --- four columns by four ------------------------------------------------------------------------------------------------


@_passing
def _column_products(c, y, m, U, i, four):
    """Add columns m to m + 3 times the factor's rows i to i + 3 to the four sums."""
    y0, y1, y2, y3 = y[m], y[m + 1], y[m + 2], y[m + 3]
    u0, u1, u2, u3 = U[i], U[i + 1], U[i + 2], U[i + 3]
    a0, a1, a2, a3 = four[0], four[1], four[2], four[3]
    u00, u01, u02, u03 = u0[m], u0[m + 1], u0[m + 2], u0[m + 3]
    u10, u11, u12, u13 = u1[m], u1[m + 1], u1[m + 2], u1[m + 3]
    u20, u21, u22, u23 = u2[m], u2[m + 1], u2[m + 2], u2[m + 3]
    u30, u31, u32, u33 = u3[m], u3[m + 1], u3[m + 2], u3[m + 3]
    if m == 0:
        for j in each(c):
            p, q, r, s = y0[j], y1[j], y2[j], y3[j]
            a0[j] = p * u00 + q * u01 + r * u02 + s * u03
            a1[j] = p * u10 + q * u11 + r * u12 + s * u13
            a2[j] = p * u20 + q * u21 + r * u22 + s * u23
            a3[j] = p * u30 + q * u31 + r * u32 + s * u33
    else:
        for j in each(c):
            p, q, r, s = y0[j], y1[j], y2[j], y3[j]
            a0[j] += p * u00 + q * u01 + r * u02 + s * u03
            a1[j] += p * u10 + q * u11 + r * u12 + s * u13
            a2[j] += p * u20 + q * u21 + r * u22 + s * u23
            a3[j] += p * u30 + q * u31 + r * u32 + s * u33


@_passing
def _diagonal_products(c, y, U, i, four, distance):
    """The diagonal block of the factor; the squares of the four sums are added to the squared distances."""
    y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
    u0, u1, u2, u3 = U[i], U[i + 1], U[i + 2], U[i + 3]
    a0, a1, a2, a3 = four[0], four[1], four[2], four[3]
    u00, u10, u11 = u0[i], u1[i], u1[i + 1]
    u20, u21, u22 = u2[i], u2[i + 1], u2[i + 2]
    u30, u31, u32, u33 = u3[i], u3[i + 1], u3[i + 2], u3[i + 3]
    if i == 0:
        for j in each(c):
            p, q, r, s = y0[j], y1[j], y2[j], y3[j]
            b0, b1, b2 = p * u00, p * u10 + q * u11, p * u20 + q * u21 + r * u22
            b3 = p * u30 + q * u31 + r * u32 + s * u33
            distance[j] = b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3
    else:
        for j in each(c):
            p, q, r, s = y0[j], y1[j], y2[j], y3[j]
            b0, b1, b2 = a0[j] + p * u00, a1[j] + p * u10 + q * u11, a2[j] + p * u20 + q * u21 + r * u22
            b3 = a3[j] + p * u30 + q * u31 + r * u32 + s * u33
            distance[j] += b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3


@_passing
def _weighted(c, r, y0, y1, z0, z1):
    """Two columns times the weights of the lanes, and their sums."""
    s, t = 0.0, 0.0
    for j in each(c):
        a, b = r[j] * y0[j], r[j] * y1[j]
        z0[j], z1[j] = a, b
        s += a
        t += b
    return s, t


@_passing
def _products(c, four, y, S, i, m):
    """Add the sums over lanes of four weighted columns times columns m to m + 3 to S."""
    z0, z1, z2, z3 = four[0], four[1], four[2], four[3]
    y0, y1, y2, y3 = y[m], y[m + 1], y[m + 2], y[m + 3]
    a0, a1, a2, a3, b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    c0, c1, c2, c3, d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in each(c):
        p, q, r, s = z0[j], z1[j], z2[j], z3[j]
        t, u, v, w = y0[j], y1[j], y2[j], y3[j]
        a0 += p * t
        a1 += p * u
        a2 += p * v
        a3 += p * w
        b0 += q * t
        b1 += q * u
        b2 += q * v
        b3 += q * w
        c0 += r * t
        c1 += r * u
        c2 += r * v
        c3 += r * w
        d0 += s * t
        d1 += s * u
        d2 += s * v
        d3 += s * w
    s0, s1, s2, s3 = S[i], S[i + 1], S[i + 2], S[i + 3]
    s0[m] += a0
    s0[m + 1] += a1
    s0[m + 2] += a2
    s0[m + 3] += a3
    s1[m] += b0
    s1[m + 1] += b1
    s1[m + 2] += b2
    s1[m + 3] += b3
    s2[m] += c0
    s2[m + 1] += c1
    s2[m + 2] += c2
    s2[m + 3] += c3
    s3[m] += d0
    s3[m + 1] += d1
    s3[m + 2] += d2
    s3[m + 3] += d3


# --- a tile --------------------------------------------------------------------------------------------------------------


@_passing
def centred(c, x, mean, y):
    """Differences of a tile's rows from a mean."""
    for i in range(y.shape[0]):
        a, b, m = x[i * c : (i + 1) * c], y[i], mean[i]
        for j in each(c):
            b[j] = a[j] - m


@_passing
def distances(c, y, U, shape, four, out):
    """Squared distances |U y|^2."""
    d = y.shape[0]
    if shape == FULL:
        for i in range(0, d, 4):
            for m in range(0, i, 4):
                _column_products(c, y, m, U, i, four)
            _diagonal_products(c, y, U, i, four, out)
    else:
        for i in range(d):
            u, a = U[i, i], y[i]
            if i == 0:
                for j in each(c):
                    out[j] = (u * a[j]) * (u * a[j])
            else:
                for j in each(c):
                    out[j] += (u * a[j]) * (u * a[j])


@_passing
def moments(c, r, y, shape, four, first, second):
    """Add the sums of r y, and of r y y' or its diagonal."""
    d = y.shape[0]
    for i in range(0, d, 4):
        for h in range(0, 4, 2):
            s, t = _weighted(c, r, y[i + h], y[i + h + 1], four[h], four[h + 1])
            first[i + h] += s
            first[i + h + 1] += t
        if shape == FULL:
            for m in range(0, i + 1, 4):
                _products(c, four, y, second, i, m)
        else:
            for h in range(4):
                a, b, s = four[h], y[i + h], 0.0
                for j in each(c):
                    s += a[j] * b[j]
                second[i + h, i + h] += s


@_passing
def log_terms(c, x, point, shape, lanes):
    """Logarithms of weight times density of the components, without powers of 2 pi, and the largest of each lane."""
    logs, top = lanes.logs, lanes.top
    for k in range(logs.shape[0]):
        row, height = logs[k], point.heights[k]
        centred(c, x, point.means[k], lanes.y)
        distances(c, lanes.y, point.factors[k], shape, lanes.four, row)
        if k == 0:
            for j in each(c):
                row[j] = height - 0.5 * row[j]
                top[j] = row[j]
        else:
            for j in each(c):
                v = height - 0.5 * row[j]
                row[j] = v
                top[j] = v if v > top[j] else top[j]


@_passing
def responsible(c, w, lanes):
    """Responsibilities in the place of the log terms; returns the weighted log-likelihood of the tile's rows."""
    logs, top, total = lanes.logs, lanes.top, lanes.sum
    for k in range(logs.shape[0]):
        row = logs[k]
        if k == 0:
            for j in each(c):
                in_step()
                e = exp_neg(row[j] - top[j])
                row[j] = e
                total[j] = e
        else:
            for j in each(c):
                in_step()
                e = exp_neg(row[j] - top[j])
                row[j] = e
                total[j] += e
    loglik = 0.0
    for j in each(c):
        in_step()
        loglik += w[j] * (top[j] + log(total[j]))
    for j in each(c):
        total[j] = 1.0 / total[j]
    for k in range(logs.shape[0]):
        row = logs[k]
        for j in each(c):
            row[j] *= total[j]
    return loglik


@_passing
def _few(c, r, at):
    """Writes the lanes whose weight is above `TINY`, and returns how many there are."""
    count = 0
    for j in each(c):
        at[count] = j
        count += 1 if r[j] > TINY else 0
    return count


@_passing
def add_moments(c, x, w, point, shape, lanes, sums):
    """Add the moments of a tile whose responsibilities are known."""
    y, four, at, weight = lanes.y, lanes.four, lanes.at, lanes.top
    d = y.shape[0]
    for k in range(lanes.logs.shape[0]):
        r, mean, s = lanes.logs[k], point.means[k], 0.0
        for j in each(c):
            v = r[j] * w[j]
            r[j] = v
            s += v
        sums.total[k] += s
        count = _few(c, r, at) if d > 4 else c
        if 2 * count < c:
            several = (count + 7) // 8 * 8
            for j in range(count, several):
                at[j] = 0
            for i in range(d):
                a, b, m = x[i * c : (i + 1) * c], y[i], mean[i]
                for j in each(several):
                    b[j] = a[at[j]] - m
            for j in each(several):
                weight[j] = r[at[j]] if j < count else 0.0
            moments(several, weight, y, shape, four, sums.first[k], sums.second[k])
        else:
            centred(c, x, mean, y)
            moments(c, r, y, shape, four, sums.first[k], sums.second[k])


@_passing
def no_moments(sums):
    """Zeros into all sums."""
    K, d = sums.first.shape
    meet()
    for k in each(K):
        sums.total[k] = 0.0
    cleared(sums.first)
    for q in each(K * d):
        sums.second[q // d, q % d, :] = 0.0
    meet()


@_passing
def em_sums(x, w, lo, hi, point, shape, lanes, sums):
    """Moments of the rows from `lo` to `hi` (of all `w.size`), and their log-likelihood without powers of 2 pi."""
    d = point.means.shape[1]
    no_moments(sums)
    loglik = 0.0
    for a in range(lo, hi, LANES):
        c = min(LANES, w.size - a)
        part, weights = x[a * d : (a + c) * d], w[a : a + c]
        log_terms(c, part, point, shape, lanes)
        loglik += responsible(c, weights, lanes)
        add_moments(c, part, weights, point, shape, lanes, sums)
    return total(loglik, lanes.share)


# --- by a block: a thread has a row of a tile, then some of the sums ---------------------------------------------------------


@_passing
def _pair(q):
    """Row and column of an element of a lower triangle, counted row by row."""
    i = int((math.sqrt(8.0 * q + 1.0) - 1.0) * 0.5)
    return i, q - i * (i + 1) // 2


@_passing
def _shares(entries, c):
    """By how many threads each of the sums is made, of rows that are so far apart."""
    return max(1, min(cuda.blockDim.x // entries, c))


@_passing
def block_distances(c, y, U, shape, four, out):
    """As `distances`, a row after another."""
    for j in range(cuda.threadIdx.x, c, cuda.blockDim.x):
        square = 0.0
        for i in range(y.shape[0]):
            s = U[i, i] * y[i, j]
            for m in range(i if shape == FULL else 0):
                s += U[i, m] * y[m, j]
            square += s * s
        out[j] = square


@_passing
def block_moments(c, r, y, shape, four, first, second):
    """As `moments`; the rows of a tile are shared by several threads where sums are few."""
    d = y.shape[0]
    entries = d + (d * (d + 1) // 2 if shape == FULL else d)
    shares = _shares(entries, c)
    cuda.syncthreads()
    for e in range(cuda.threadIdx.x, entries * shares, cuda.blockDim.x):
        q, s = e // shares, 0.0
        if q < d:
            a = y[q]
            for j in range(e % shares, c, shares):
                s += r[j] * a[j]
        else:
            i, m = _pair(q - d) if shape == FULL else (q - d, q - d)
            a, b = y[i], y[m]
            for j in range(e % shares, c, shares):
                s += r[j] * a[j] * b[j]
        if shares > 1:
            four[0, e] = s
        elif q < d:
            first[q] += s
        else:
            second[i, m] += s
    cuda.syncthreads()
    if shares > 1:
        for q in range(cuda.threadIdx.x, entries, cuda.blockDim.x):
            s = 0.0
            for e in range(q * shares, (q + 1) * shares):
                s += four[0, e]
            if q < d:
                first[q] += s
            else:
                i, m = _pair(q - d) if shape == FULL else (q - d, q - d)
                second[i, m] += s
        cuda.syncthreads()


@_passing
def _add_to(sums, k, q, shape, s):
    """Add to one of the sums of a component."""
    d = sums.first.shape[1]
    if q == 0:
        sums.total[k] += s
    elif q <= d:
        sums.first[k, q - 1] += s
    else:
        i, m = _pair(q - 1 - d) if shape == FULL else (q - 1 - d, q - 1 - d)
        sums.second[k, i, m] += s


@_passing
def block_add_moments(c, x, w, point, shape, lanes, sums):
    """As `add_moments`, the sums of all components at once."""
    K, d = sums.first.shape
    entries = 1 + d + (d * (d + 1) // 2 if shape == FULL else d)
    shares, four = _shares(K * entries, c), lanes.four
    for k in range(K):
        r = lanes.logs[k]
        for j in range(cuda.threadIdx.x, c, cuda.blockDim.x):
            r[j] *= w[j]
    cuda.syncthreads()
    for e in range(cuda.threadIdx.x, K * entries * shares, cuda.blockDim.x):
        k, q = e // shares // entries, e // shares % entries
        r, s = lanes.logs[k], 0.0
        if q == 0:
            for j in range(e % shares, c, shares):
                s += r[j]
        elif q <= d:
            mean = point.means[k, q - 1]
            for j in range(e % shares, c, shares):
                s += r[j] * (x[(q - 1) * c + j] - mean)
        else:
            i, m = _pair(q - 1 - d) if shape == FULL else (q - 1 - d, q - 1 - d)
            a, b = point.means[k, i], point.means[k, m]
            for j in range(e % shares, c, shares):
                s += r[j] * (x[i * c + j] - a) * (x[m * c + j] - b)
        if shares > 1:
            four[0, e] = s
        else:
            _add_to(sums, k, q, shape, s)
    cuda.syncthreads()
    if shares > 1:
        for e in range(cuda.threadIdx.x, K * entries, cuda.blockDim.x):
            s = 0.0
            for part in range(e * shares, (e + 1) * shares):
                s += four[0, part]
            _add_to(sums, e // entries, e % entries, shape, s)
        cuda.syncthreads()


BLOCK |= {"distances": block_distances, "moments": block_moments, "add_moments": block_add_moments}
