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
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.mixture.kernels.latent import FORMULAS, MAX_LATENT_CUDA_K, NUMBERS, component_numbers, numbers_of
from numbastats.mixture.kernels.parameters import set_coefficients
from numbastats.mixture.kernels.passes import FAST, LANES
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.mixture.kernels.starts import begun
from numbastats.scalar import latent as lat
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
    """The base family's code and fixed shape, the admissible least width and number of observations; the family's own code.

    Of families with a latent variable the logarithms of the density are given.
    """

    family: int
    shape: float
    narrowest: float
    fewest: float
    code: int


class Room(NamedTuple):
    """Work space, of one mixture or of each: coefficients, log densities at the cells, scores of the grid, its peaks searched.

    A peak is (gain, weight, m, v).
    """

    P: Any
    logs: Any
    scores: Any
    searched: Any


_function, _summing = array_function(fastmath=(), host=False), array_function(fastmath=FAST, host=False)
_component_numbers = _density = _code = None  # bound to a family with a latent variable


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
def _best(order, searched, par, grid, starts):
    """The mixture with each of the components of the largest gains, in falling order; NaN where there are no more.

    Of families with a latent variable the best three, with each value of what comes with it. Returns the largest gain, or 0.
    """
    rows, K = par.shape
    gain, latent = 0.0, grid.code != grid.family
    for s in range(starts.shape[0]):
        one, before, best = starts[s], starts[s % 3], -1
        given = latent and s >= 3
        for t in range(0 if given else order.size):
            if order[t] >= 0 and (best < 0 or searched[t, 0] > searched[best, 0]):
                best = t
        if best >= 0:
            order[best] = -1
            gain = searched[best, 0] if searched[best, 0] > gain else gain
        for i in range(rows):
            own = searched[best, min(i, 2) + 1] if best >= 0 else math.nan
            one[i, K] = before[i, K] if given else own
            for k in range(K):
                one[i, k] = par[i, k] * (1.0 - one[0, K]) if i == 0 else par[i, k]
    for s in range(starts.shape[0] if latent else 0):
        begun(starts[s][:, K:], grid.code, s // 3)
    return gain


@_function
def _is_finite(par):
    for i in range(par.shape[0]):
        for k in range(par.shape[1]):
            if not abs(par[i, k]) < math.inf:
                return False
    return True


@_function
def _none(starts):
    """No starts."""
    for s in range(starts.shape[0]):
        for i in range(starts.shape[1]):
            for k in range(starts.shape[2]):
                starts[s, i, k] = math.nan


def insertion_cpu(cells, q, info, owner, grid, par, room, starts, gains):
    order = np.empty(PEAKS, np.int64)
    for item in range(owner.size):
        d, at = owner[item], item % room.scores.shape[0]
        if not _is_finite(par[item]):
            _none(starts[item])
            gains[item] = math.nan
            continue
        lo, hi = cells.off[d], cells.off[d + 1]
        x, y, w, row = cells.t1[lo:hi], cells.t2[lo:hi], cells.w[lo:hi], info[d]
        P, logs, scores = room.P[at], room.logs[item % room.logs.shape[0]], room.scores[at]
        own, ends = (x, y, w, q[0, lo:hi]), _ends(x, w, grid, row)
        if grid.code == grid.family:
            set_coefficients(P, par[item], grid.family, grid.shape, row.centre)
            for j in range(x.size):
                logs[j] = _log_sum(P, x[j], y[j])
        for i in range(scores.size):
            scores[i] = _score(i, own, logs, grid, row, ends)
        _peaks(scores, grid.family, order)
        for t in range(PEAKS):
            if order[t] >= 0:
                _search(order[t], own, logs, grid, row, ends, room.searched[at, t])
        gains[item] = _best(order, room.searched[at], par[item], grid, starts[item])


def insertion_cuda(cells, q, info, owner, grid, par, room, starts, gains):
    order, lane = cuda.shared.array(PEAKS, np.int64), cuda.threadIdx.x
    adding = lane < LANES
    for item in range(cuda.blockIdx.x, owner.size, cuda.gridDim.x):
        d = owner[item]
        lo, hi = cells.off[d], cells.off[d + 1]
        if not _is_finite(par[item]):
            if lane == 0:
                _none(starts[item])
                gains[item] = math.nan
            continue
        x, y, w, row = cells.t1[lo:hi], cells.t2[lo:hi], cells.w[lo:hi], info[d]
        P, logs, scores = room.P[item], room.logs[item], room.scores[item]
        own, ends, own_logs = (x, y, w, q[0, lo:hi]), _ends(x, w, grid, row), grid.code == grid.family
        if lane == 0 and own_logs:
            set_coefficients(P, par[item], grid.family, grid.shape, row.centre)
        cuda.syncthreads()
        for j in range(lane, x.size if own_logs and adding else 0, LANES):
            logs[j] = _log_sum(P, x[j], y[j])
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
            gains[item] = _best(order, room.searched[item], par[item], grid, starts[item])
        cuda.syncthreads()


def shapes_of_room(M, K, cells):
    """Shapes of the work space for M mixtures of K components."""
    return (M, 3, K), (M, max(cells, 1)), (M, GRID), (M, PEAKS, 4)


def _split_insertion(args, parts):
    """Shares of the mixtures, each with work space of its own for one mixture."""
    cells, q, info, owner, grid, par, room, starts, gains = args
    out = []
    for a, b in ranges(owner.size, parts):
        own = Room(*map(np.empty, shapes_of_room(1, par.shape[2], room.logs.shape[1])))
        own = own if grid.code == grid.family else own._replace(logs=room.logs[a:b])
        out.append((cells, q, info, owner[a:b], grid, par[a:b], own, starts[a:b], gains[a:b]))
    return out


_f, _i = numba.types.float64, numba.types.int64
_f2, _f3 = _f[:, ::1], _f[:, :, ::1]
_grid = numba.types.NamedTuple([_i, _f, _f, _f, _i], Grid)
_room = numba.types.NamedTuple([_f3, _f2, _f2, _f3], Room)
INSERTION = Kernel(
    "mixture.insertion",
    insertion_cpu,
    insertion_cuda,
    lambda T: [(series_type(_f), _f2, STATISTICS_TYPE[::1], _i[::1], _grid, _f3, _room, _f[:, :, :, ::1], _f[::1])],
    dtypes=("float64",),
    split=_split_insertion,
)


# --- log densities of mixtures of families with a latent variable at the cells, relative to what the base family leaves out -----


@_function
def _logs(item, cells, info, owner, K, P, logs, lane, lanes):
    lo, hi = cells.off[owner[item]], cells.off[owner[item] + 1]
    centre, x = info[owner[item]].centre, cells.t1[lo:hi]
    for j in range(lane, x.size, lanes):
        top, s, more = -math.inf, 0.0, 0.0
        for k in range(K):
            top = max(top, P[7, k] + _density(x[j], numbers_of(P, k)))
        for k in range(K):
            s += exp_neg(P[7, k] + _density(x[j], numbers_of(P, k)) - top)
        if _code == lat.NEGATIVE_BINOMIAL:  # by which the log probability of a count for its own mean differs from that for c
            y = x[j] + centre
            more = y * fam.deviance(fam.GAMMA, centre, y) if y > 0.0 else centre
        logs[item, j] = top + log(s) + more


def latent_logs_cpu(cells, info, owner, par, logs):
    P = np.empty((NUMBERS, par.shape[2]))
    for item in range(owner.size):
        for k in range(par.shape[2]):
            _component_numbers(k, par[item], info[owner[item]].centre, P)
        _logs(item, cells, info, owner, par.shape[2], P, logs, 0, 1)


def latent_logs_cuda(cells, info, owner, par, logs):
    P, lane = cuda.shared.array((NUMBERS, MAX_LATENT_CUDA_K), np.float64), cuda.threadIdx.x
    for item in range(cuda.blockIdx.x, owner.size, cuda.gridDim.x):
        cuda.syncthreads()
        if lane < par.shape[2]:
            _component_numbers(lane, par[item], info[owner[item]].centre, P)
        cuda.syncthreads()
        _logs(item, cells, info, owner, par.shape[2], P, logs, lane, cuda.blockDim.x)


def _split_latent_logs(args, parts):
    cells, info, owner, par, logs = args
    return [(cells, info, owner[a:b], par[a:b], logs[a:b]) for a, b in ranges(owner.size, parts)]


LATENT_LOGS = {
    code: Kernel(
        f"mixture.logs_{name}",
        latent_logs_cpu,
        latent_logs_cuda,
        lambda T: [(series_type(_f), STATISTICS_TYPE[::1], _i[::1], _f3, _f2)],
        dtypes=("float64",),
        split=_split_latent_logs,
        _component_numbers=bind(component_numbers, _coefficients=formulas["coefficients"]),
        _logs=bind(_logs, _density=formulas["density"], _code=code),
    )
    for code, (name, _rows, formulas) in FORMULAS.items()
}
"""By the codes of `numbastats.scalar.latent`."""
