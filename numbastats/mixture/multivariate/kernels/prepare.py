"""``order``: distinct rows of each data set and their weights; ``prepare``: these in tiles, and what is known of them."""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.endings import CONSTANT, NONE_LEFT, NOT_FINITE, OK
from numbastats._core.kernel import HostLoop, array_function
from numbastats.mixture.multivariate.kernels.passes import LANES
from numbastats.mixture.multivariate.kernels.records import Batch, ranges

SINGULAR = 1e-12  # of a column's variance: what columns before it leave of it
LARGEST = 1e150  # squares of values beyond are no doubles
_function = array_function(fastmath=(), host=False)

INFORMATION = np.dtype(
    (
        np.record,
        np.dtype(
            [("scale", np.float64)]
            + [(name, np.int64) for name in "count missing unweighted distinct status column dependent".split()],
            align=True,
        ),
    )
)
"""Of a data set: the factor of its rows, rows that count, that are missing, that have weight 0; distinct rows.

`column`: the first without a spread, `dependent`: the first that those before it determine; -1 for none.
"""


@_function
def _before(x, a, b):
    """Whether row a comes before row b: by the first column, then by the next."""
    for i in range(x.shape[1]):
        if x[a, i] != x[b, i]:
            return x[a, i] < x[b, i]
    return False


@_function
def sort(x, at, other):
    """Sort places `at` of rows of x, those of equal rows as they come; `other` is work space as large."""
    n, width = at.size, 1
    while width < n:
        for lo in range(0, n, 2 * width):
            middle, high = min(lo + width, n), min(lo + 2 * width, n)
            i, j = lo, middle
            for k in range(lo, high):
                if i < middle and (j >= high or not _before(x, at[j], at[i])):
                    other[k] = at[i]
                    i += 1
                else:
                    other[k] = at[j]
                    j += 1
        for k in range(n):
            at[k] = other[k]
        width *= 2


def order_cpu(x, weights, off, places, mass, info):
    """Of each data set the places (N,) in x of its distinct rows, sorted, and the sums of their weights (N,)."""
    for s in range(info.size):
        a, b, now = off[s], off[s + 1], info[s]
        other, count = np.zeros(b - a, np.int64), 0
        for j in range(a, b):
            missing = False
            for i in range(x.shape[1]):
                missing = missing or x[j, i] != x[j, i]
            if missing:
                now.missing += 1
            elif weights.size == 0 or weights[j] > 0.0:
                places[a + count] = j
                count += 1
            else:
                now.unweighted += 1
        now.count = count
        sort(x, places[a : a + count], other[:count])
        kept = 0
        for j in range(a, a + count):
            at = places[j]
            weight = weights[at] if weights.size > 0 else 1.0
            if kept > 0 and not _before(x, places[a + kept - 1], at):
                mass[a + kept - 1] += weight
            else:
                places[a + kept], mass[a + kept] = at, weight
                kept += 1
        now.distinct = kept


def prepare_cpu(x, off, places, mass, out, centre, info):
    """Rows of x at places[off[s]:], of so much `mass`, into the batch `out`, by their distances from the mean.

    That order, in the metric of their scatter, no linear map changes, and neither the order nor the copies of the rows that came.
    """
    columns, d = x.shape[1], out.pivots.shape[1]
    mean, cov, L, z = np.zeros(d), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    low, high = np.zeros(d), np.zeros(d)
    for s in range(info.size):
        now, w = info[s], out.w[out.off[s] : out.off[s + 1]]
        rows, n = w.size, now.distinct
        tiles, at, own = out.x[out.off[s] * d : out.off[s + 1] * d], places[off[s] : off[s] + n], mass[off[s] : off[s] + n]
        now.status, now.column, now.dependent, now.scale = OK, -1, -1, 1.0
        total, largest = 0.0, 0.0
        w[:] = 0.0
        tiles[:] = 0.0
        for j in range(n):
            total += own[j]
            for i in range(columns):
                largest = max(largest, abs(x[at[j], i]))
        out.mass[s] = total
        for i in range(d):
            out.pivots[s, i] = 1.0
        if n == 0:
            now.status = NONE_LEFT
            continue
        if not (largest < LARGEST and total < math.inf):
            now.status = NOT_FINITE  # squares that are no doubles: no kernel is to see them
            continue
        spread = 0.0
        for i in range(columns):
            mean[i], low[i], high[i] = 0.0, x[at[0], i], x[at[0], i]
        for j in range(n):
            row = at[j]
            for i in range(columns):
                v = x[row, i]
                low[i], high[i] = min(low[i], v), max(high[i], v)
                mean[i] += own[j] * (v / total)
        for i in range(columns):
            spread = max(spread, high[i] - low[i])
            if not high[i] > low[i]:
                mean[i] = low[i]  # without the rounding of a mean
                now.column = i if now.column < 0 else now.column
        if not spread > 0.0:
            now.status = CONSTANT
        if spread > 0.0 and spread < 1.0 / LARGEST:
            now.status = NOT_FINITE
            continue
        scale = 2.0 ** -math.floor(math.log2(spread) - 2.0) if spread > 0.0 else 1.0
        now.scale = scale
        for i in range(columns):
            centre[s, i] = mean[i]
        cov[:] = 0.0
        for j in range(n):
            row = at[j]
            for i in range(columns):
                z[i] = (x[row, i] - mean[i]) * scale
                v = own[j] / total * z[i]
                for m in range(i + 1):
                    cov[i, m] += v * z[m]
        for i in range(columns):  # a dependent column leaves nothing for its pivot: the matrix is bordered without it
            for j in range(i):
                v = cov[i, j]
                for q in range(j):
                    v -= L[i, q] * L[j, q]
                L[i, j] = v / L[j, j] if L[j, j] > 0.0 else 0.0
            pivot = cov[i, i]
            for q in range(i):
                pivot -= L[i, q] * L[i, q]
            ok = pivot > SINGULAR * cov[i, i]
            L[i, i] = math.sqrt(pivot) if ok else 0.0
            out.pivots[s, i] = pivot if ok else cov[i, i]
            if not ok and now.dependent < 0:
                now.dependent = i
        distance, sorted_, other = np.zeros((n, 1)), np.arange(n), np.zeros(n, np.int64)
        for j in range(n):
            for i in range(columns):
                v = (x[at[j], i] - mean[i]) * scale
                for q in range(i):
                    v -= L[i, q] * z[q]
                z[i] = v / L[i, i] if L[i, i] > 0.0 else 0.0
                distance[j, 0] += z[i] * z[i]
        sort(distance, sorted_, other)
        for j in range(n):
            row = at[sorted_[j]]
            lo = j // LANES * LANES
            c = min(LANES, rows - lo)
            w[j] = own[sorted_[j]]
            for i in range(columns):
                tiles[lo * d + i * c + j - lo] = (x[row, i] - mean[i]) * scale
        for j in range(n):  # the places in the order of the batch
            other[j] = at[sorted_[j]]
        for j in range(n):
            at[j] = other[j]
            own[j] = w[j]


def _split_order(args, parts):
    x, weights, off, places, mass, info = args
    return [(x, weights, off[a : b + 1], places, mass, info[a:b]) for a, b in ranges(info.size, parts)]


def _split(args, parts):
    x, off, places, mass, out, centre, info = args
    return [
        (
            x,
            off[a : b + 1],
            places,
            mass,
            out._replace(off=out.off[a : b + 1], mass=out.mass[a:b], least=out.least[a:b], pivots=out.pivots[a:b]),
            centre[a:b],
            info[a:b],
        )
        for a, b in ranges(info.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_out = numba.types.NamedTuple([_f[::1], _f[::1], _i[::1], _f[::1], _f[::1], _f[:, ::1], _i], Batch)
_information = numba.from_dtype(INFORMATION)[::1]
ORDER = HostLoop(
    "mixture.multivariate.order", order_cpu, [(_f[:, ::1], _f[::1], _i[::1], _i[::1], _f[::1], _information)], split=_split_order
)
PREPARE = HostLoop(
    "mixture.multivariate.prepare",
    prepare_cpu,
    [(_f[:, ::1], _i[::1], _i[::1], _f[::1], _out, _f[:, ::1], _information)],
    split=_split,
)
