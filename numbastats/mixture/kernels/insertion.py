"""``insertion``: where a mixture lacks a component: maxima of the gradient function over a grid of components.

With F the density of a mixture, sum w (f(y)/F(y) - 1) is the derivative of its log-likelihood as a component f is given
weight (B. Lindsay, Annals of Statistics 11, 1983). At local maxima over places and widths, by the gain of one step of
Newton's method in the weight, the weight is searched for along the line from the mixture to f, and the best are handed out
(N. Vlassis, A. Likas, Neural Processing Letters 15, 2002). All on the compressed cells; on CUDA a block takes a mixture.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.passes import FAST, LANES
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import exp_neg, log
from numbastats.scalar.search import lower_bound

PLACES, WIDTHS = 40, 10  # of the grid: weighted quantiles of the data, standard deviations in equal ratios
ALONE = 64  # places of families of one parameter, which have no width
GRID = PLACES * WIDTHS
PEAKS = 24  # local maxima along whose lines the weight is searched for
MOST = 12  # of them that are handed out
STEPS = 8  # of Newton's method in the weight


class Grid(NamedTuple):
    """The family's code and fixed shape, the admissible least width and number of observations, whether `logs` are given."""

    family: int
    shape: float
    narrowest: float
    fewest: float
    filled: int


class Room(NamedTuple):
    """By mixture: log densities at the cells, scores of the grid, and (gain, weight, m, v) of its peaks."""

    logs: Any
    scores: Any
    searched: Any


_function, _summing = array_function(fastmath=(), host=False), array_function(fastmath=FAST, host=False)


@_function
def _log_sum(P, x, y):
    """Logarithm of the mixture's density at one cell."""
    top, s = -math.inf, 0.0
    for k in range(P.shape[1]):
        top = max(top, P[0, k] + P[1, k] * x + P[2, k] * y)
    for k in range(P.shape[1]):
        s += exp_neg(P[0, k] + P[1, k] * x + P[2, k] * y - top)
    return top + log(s)


@_function
def _ends(x, w, grid, info):
    """Least and largest standard deviation of the grid."""
    total = 0.0
    for j in range(x.size):
        total += w[j] * x[j] * x[j]
    return 2.0 * grid.narrowest * info.spread, 1.5 * math.sqrt(total / info.mass)


@_function
def _component(i, x, q0, family, info, ends):
    """(m, v) of point i of the grid."""
    widths = WIDTHS if family <= fam.GAMMA else 1
    place, width, places = i // widths, i % widths, PLACES if widths > 1 else ALONE
    n = x.size
    m = info.centre + x[lower_bound(q0, 0, n - 1, (place + 0.5) / places * q0[n - 1])]
    low, high = ends
    s = low * (high / low) ** (width / (WIDTHS - 1.0))
    return m, fam.dispersion(family, m, s * s)


@_summing
def _sums(a, b, c, x, y, w, logs):
    """Sums of w (r - 1) and w (r - 1)^2 with the ratio r of the component's density to the mixture's."""
    s1, s2 = 0.0, 0.0
    for j in range(x.size):
        r = exp_neg(min(a + b * x[j] + c * y[j] - logs[j], 200.0)) - 1.0
        s1 += w[j] * r
        s2 += w[j] * r * r
    return s1, s2


@_function
def _score(i, cells, logs, grid, info, ends):
    """Gain of one step of Newton's method in the weight of point i of the grid; 0 where it would not be positive."""
    x, y, w, q0 = cells
    family = grid.family
    m, v = _component(i, x, q0, family, info, ends)
    if not (m > 0.0 or family == fam.GAUSSIAN) or not v > fam.least_dispersion(family, m, info.centre, info.floor):
        return 0.0
    a, b, c = fam.coefficients(family, grid.shape, m, v, info.centre)
    s1, s2 = _sums(a, b, c, x, y, w, logs)
    return s1 * (s1 / s2) if s1 > 0.0 and s2 > 0.0 else 0.0


@_function
def _is_peak(scores, i, widths, places):
    """Whether no neighbour of a point of the grid has a higher score, and none before it the same."""
    own, place, width = scores[i], i // widths, i % widths
    if not own > 0.0:
        return False
    for p in range(max(0, place - 1), min(places, place + 2)):
        for q in range(max(0, width - 1), min(widths, width + 2)):
            j = p * widths + q
            if scores[j] > own or (scores[j] == own and j < i):
                return False
    return True


@_function
def _peaks(scores, family, order):
    """Numbers of the highest local maxima in falling order, -1 where there are no more."""
    widths = WIDTHS if family <= fam.GAMMA else 1
    places = PLACES if widths > 1 else ALONE
    for t in range(order.size):
        order[t] = -1
    for i in range(widths * places):
        if _is_peak(scores, i, widths, places):
            t = order.size
            while t > 0 and (order[t - 1] < 0 or scores[order[t - 1]] < scores[i]):
                t -= 1
            for u in range(order.size - 1, t, -1):
                order[u] = order[u - 1]
            if t < order.size:
                order[t] = i


@_summing
def _line(share, a, b, c, x, y, w, logs):
    """Derivative of the log-likelihood in the share of the component, and minus the second."""
    first, second = 0.0, 0.0
    for j in range(x.size):
        r = exp_neg(min(a + b * x[j] + c * y[j] - logs[j], 200.0)) - 1.0
        e = r / (1.0 + share * r)
        first += w[j] * e
        second += w[j] * e * e
    return first, second


@_summing
def _gain(share, a, b, c, x, y, w, logs):
    """Gain of the log-likelihood by that share of the component."""
    total = 0.0
    for j in range(x.size):
        r = exp_neg(min(a + b * x[j] + c * y[j] - logs[j], 200.0)) - 1.0
        total += w[j] * log(1.0 + share * r)
    return total


@_function
def _search(i, cells, logs, grid, info, ends, one):
    """Component i of the grid with the best weight: (gain, weight, m, v) into `one`."""
    x, y, w, q0 = cells
    m, v = _component(i, x, q0, grid.family, info, ends)
    a, b, c = fam.coefficients(grid.family, grid.shape, m, v, info.centre)
    share, least = 0.1, min(0.5, grid.fewest / info.mass)
    for _ in range(STEPS):
        first, second = _line(share, a, b, c, x, y, w, logs)
        before, share = share, min(max(share + first / second, least), 0.95)
        if abs(share - before) < 1e-3 * share:  # the error is squared in each step
            break
    one[0] = _gain(share, a, b, c, x, y, w, logs)
    one[1], one[2], one[3] = share, m, v


@_function
def _best(order, searched, out):
    """The components of the largest gains, in falling order; NaN where there are no more."""
    for s in range(out.shape[0]):
        best = -1
        for t in range(order.size):
            if order[t] >= 0 and (best < 0 or searched[t, 0] > searched[best, 0]):
                best = t
        for u in range(4):
            out[s, u] = searched[best, u] if best >= 0 else math.nan
        if best >= 0:
            order[best] = -1


def insertion_cpu(cells, q, info, owner, grid, P, room, out):
    order = np.empty(PEAKS, np.int64)
    for item in range(owner.size):
        d = owner[item]
        lo, hi = cells.off[d], cells.off[d + 1]
        x, y, w, logs, scores, row = cells.t1[lo:hi], cells.t2[lo:hi], cells.w[lo:hi], room.logs[item], room.scores[item], info[d]
        own, ends = (x, y, w, q[0, lo:hi]), _ends(x, w, grid, row)
        for j in range(x.size if grid.filled == 0 else 0):
            logs[j] = _log_sum(P[item], x[j], y[j])
        for i in range(scores.size):
            scores[i] = _score(i, own, logs, grid, row, ends)
        _peaks(scores, grid.family, order)
        for t in range(PEAKS):
            if order[t] >= 0:
                _search(order[t], own, logs, grid, row, ends, room.searched[item, t])
        _best(order, room.searched[item], out[item])


def insertion_cuda(cells, q, info, owner, grid, P, room, out):
    order, lane = cuda.shared.array(PEAKS, np.int64), cuda.threadIdx.x
    adding = lane < LANES
    for item in range(cuda.blockIdx.x, owner.size, cuda.gridDim.x):
        d = owner[item]
        lo, hi = cells.off[d], cells.off[d + 1]
        x, y, w, logs, scores, row = cells.t1[lo:hi], cells.t2[lo:hi], cells.w[lo:hi], room.logs[item], room.scores[item], info[d]
        own, ends = (x, y, w, q[0, lo:hi]), _ends(x, w, grid, row)
        for j in range(lane, x.size if grid.filled == 0 and adding else 0, LANES):
            logs[j] = _log_sum(P[item], x[j], y[j])
        cuda.syncthreads()
        for i in range(lane, scores.size if adding else 0, LANES):
            scores[i] = _score(i, own, logs, grid, row, ends)
        cuda.syncthreads()
        if lane == 0:
            _peaks(scores, grid.family, order)
        cuda.syncthreads()
        for t in range(lane, PEAKS if adding else 0, LANES):
            if order[t] >= 0:
                _search(order[t], own, logs, grid, row, ends, room.searched[item, t])
        cuda.syncthreads()
        if lane == 0:
            _best(order, room.searched[item], out[item])
        cuda.syncthreads()


def _split_insertion(args, parts):
    """Shares of the mixtures."""
    cells, q, info, owner, grid, P, room, out = args
    return [
        (cells, q, info, owner[a:b], grid, P[a:b], Room(*(part[a:b] for part in room)), out[a:b])
        for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_f2, _f3 = _f[:, ::1], _f[:, :, ::1]
_grid = numba.types.NamedTuple([_i, _f, _f, _f, _i], Grid)
_room = numba.types.NamedTuple([_f2, _f2, _f3], Room)
INSERTION = Kernel(
    "mixture.insertion",
    insertion_cpu,
    insertion_cuda,
    lambda T: [(series_type(_f), _f2, STATISTICS_TYPE[::1], _i[::1], _grid, _f3, _room, _f3)],
    dtypes=("float64",),
    split=_split_insertion,
)
