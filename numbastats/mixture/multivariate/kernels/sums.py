"""``sums``: the moments of a large data set by chunks; ``scores``: log densities, responsibilities and labels of rows."""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.kernel import HostLoop
from numbastats.mixture.multivariate.kernels.passes import (
    FAST,
    LANES,
    Point,
    em_sums,
    log_terms,
    new_lanes,
    new_moments,
    responsible,
)
from numbastats.mixture.multivariate.kernels.records import ranges
from numbastats.scalar.elementary import log

CHUNK = 32 * LANES  # rows of a chunk; chunks do not depend on the number of threads


def sums_cpu(x, w, point, shape, out):
    """out[chunk]: the log-likelihood without powers of 2 pi, then the moments."""
    K, d = point.means.shape
    lanes, sums = new_lanes(K, d), new_moments(K, d)
    for chunk in range(out.shape[0]):
        rows = w[chunk * CHUNK : (chunk + 1) * CHUNK]
        part = x[chunk * CHUNK * d : chunk * CHUNK * d + rows.size * d]
        row = out[chunk]
        row[0] = em_sums(part, rows, 0, rows.size, point, shape, lanes, sums)
        row[1 : 1 + K] = sums.total
        row[1 + K : 1 + K + K * d] = sums.first.reshape(K * d)
        row[1 + K + K * d :] = sums.second.reshape(K * d * d)


def _split_sums(args, parts):
    x, w, point, shape, out = args
    d = point.means.shape[1]
    return [
        (x[a * CHUNK * d : b * CHUNK * d], w[a * CHUNK : b * CHUNK], point, shape, out[a:b]) for a, b in ranges(len(out), parts)
    ]


def scores_cpu(x, point, shape, shift, density, resp, labels):
    """Of n rows in their own layout (n, d): log densities, where `resp` has rows responsibilities, and most probable components.

    `shift` (2, d): what is subtracted from the columns, and what they are multiplied by.
    """
    K, d, columns = point.means.shape[0], point.means.shape[1], x.shape[1]
    lanes, part = new_lanes(K, d), np.zeros(d * LANES)
    half = 0.5 * columns * math.log(2.0 * math.pi)
    for i in range(columns):
        half -= math.log(abs(shift[1, i]))
    ones = np.ones(LANES)
    for lo in range(0, x.shape[0], LANES):
        c = min(LANES, x.shape[0] - lo)
        for i in range(columns):
            for j in range(c):
                part[i * c + j] = (x[lo + j, i] - shift[0, i]) * shift[1, i]
        for i in range(columns, d):
            part[i * c : (i + 1) * c] = 0.0
        log_terms(c, part, point, shape, lanes)
        for j in range(labels[lo : lo + c].size):
            best, top = -1, -math.inf
            for k in range(K):
                if lanes.logs[k, j] > top:
                    best, top = k, lanes.logs[k, j]
            labels[lo + j] = best
        if density.size > 0 or resp.size > 0:
            responsible(c, ones, lanes)
        for j in range(density[lo : lo + c].size):
            density[lo + j] = lanes.top[j] - log(lanes.sum[j]) - half
        for j in range(resp[lo : lo + c].shape[0]):
            for k in range(K):
                resp[lo + j, k] = lanes.logs[k, j]


def _split_scores(args, parts):
    x, point, shape, shift, density, resp, labels = args
    return [(x[a:b], point, shape, shift, density[a:b], resp[a:b], labels[a:b]) for a, b in ranges(len(x), parts)]


_f, _i = numba.types.float64, numba.types.int64
one_point = numba.types.NamedTuple([_f[::1], _f[:, ::1], _f[:, :, ::1], _f[:, :, ::1], _f[::1]], Point)
SUMS = HostLoop(
    "mixture.multivariate.sums", sums_cpu, [(_f[::1], _f[::1], one_point, _i, _f[:, ::1])], fastmath=FAST, split=_split_sums
)
SCORES = HostLoop(
    "mixture.multivariate.scores",
    scores_cpu,
    [(_f[:, ::1], one_point, _i, _f[:, ::1], _f[::1], _f[:, ::1], _i[::1])],
    fastmath=FAST,
    split=_split_scores,
)
