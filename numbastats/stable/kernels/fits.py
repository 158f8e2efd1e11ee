"""Fits of many data sets whose likelihood is regular, each by one thread of the host or one block of a GPU.

`SEARCH` puts a data set in order, standardises it, climbs from the characteristic function's estimate by shared tables, and finds
the standard errors; `LIKELIHOOD` adds the log-likelihood itself. What they leave, with alpha below `CUSP` or at an end
where a second start may lead elsewhere, with too few values, or beyond the tables, is for maximisation.py one level up.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from numbastats._core.climb import copy
from numbastats._core.cuda_backend import cuda
from numbastats._core.information import invert
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.scalar import stable as dist
from numbastats.scalar.elementary import log
from numbastats.stable.kernels import table_building as building
from numbastats.stable.kernels.climbing import (
    DONE,
    LANES,
    MISSING,
    PANELS,
    RULE_STEPS,
    RULE_U,
    S0,
    SUMS,
    TERMS,
    Memory,
    Team,
    alone,
    climb_from,
    climb_in_a_block,
    gather,
    gather_in_a_block,
    meet,
    meet_in_a_block,
    memory_of_a_climb,
)
from numbastats.stable.kernels.integral import GAUSS
from numbastats.stable.kernels.points import LANES as LANES_OF_POINTS
from numbastats.stable.kernels.points import Point, block_values, memory_of_panels, memory_of_points, point_value
from numbastats.stable.kernels.simple import from_characteristic_function, start_in_a_block
from numbastats.stable.kernels.tables import as_it_is, beyond, half_of
from numbastats.stable.parameterisations import CUSP, HIGHEST, LEAST_SCALE, STUCK

_shared = array_function(host=False)
_making = array_function(host=False, allocates=True)

LEFT = 3.0  # beside DONE, MISSING and OUTSIDE: how the search of a data set ended
MOST_VALUES = 4000  # up to here a maximum by shared tables is that of the likelihood within 1e-6
CLOSE = 1e-2  # the most that their log-likelihoods may differ, in which the scores differ little
FEW = 20  # values, of which the message tells
REGULAR = 0.99  # of |beta|: beyond, the information about it tends to infinity
LIKELY = 0.87, 1.97, 0.9  # alpha between, and |beta| below, at the start of a climb that will probably be regular
ENOUGH = 400  # values that pay for a table of their own
_IDLE = 2**40  # the place of a thread beyond the team, for which every loop is over
_LANES_AND_1, _COLUMNS = LANES + 1, 2 * PANELS * TERMS
_RULE_X = np.expm1(RULE_U) * np.repeat([1.0, -1.0], RULE_U.size // 2)
_RULE_STEPS = np.exp(RULE_U) * RULE_STEPS

# A row of what is found begins with the `state` of the climb; then number of values, log-likelihood, notes, centre and unit of
# the data, standardised parameters, and in the units of the data parameters, standard errors, start and covariance.
COUNT, LOGLIK, NOTES, CENTRE, UNIT, P, PARAMS, SE, BEGIN, COV, WIDTH = 8, 9, 10, 11, 12, 13, 17, 21, 25, 29, 45
WORK = WIDTH + 8  # with the state of a second climb
NOTE_FEW, NOTE_ALPHA, NOTE_BETA, NOTE_INFORMATION = 1, 2, 8, 32  # the low end of alpha or beta; the high one twice as much
START, KNOWN = 0, 1  # rows of what is wanted; NaN where there is no start, and where a parameter is free


@_shared
def in_order(team, y):
    """Sort ascending, NaN last: Batcher's merge of halves, the second turned round; pairs that reach beyond the end rest."""
    size = 2
    while size < 2 * y.size:
        reach = size // 2
        while reach > 0:
            turned = 2 * reach == size
            for k in range(team.lane, (y.size + 1) // (2 * reach) * reach + reach, team.lanes):
                i = k // reach * 2 * reach + k % reach
                j = i + 2 * (reach - k % reach) - 1 if turned else i + reach
                if j < y.size:
                    low, high = y[i], y[j]
                    if high < low or (low != low and high == high):
                        y[i], y[j] = high, low
            meet()
            reach //= 2
        size *= 2


@_shared
def quantile(x, p):
    """A quantile of values in order, by straight lines between their plotting positions."""
    at = p * x.size - 0.5
    k = min(max(int(at), 0), x.size - 2)
    return x[k] + min(max(at - k, 0.0), 1.0) * (x[k + 1] - x[k])


@_shared
def standardised(team, y, found):
    """Put values in order and standardise them; the number of those that are not missing, 0 where they have no regular fit."""
    if y.size > MOST_VALUES:
        return 0
    in_order(team, y)
    n = y.size
    while n > 0 and y[n - 1] != y[n - 1]:
        n -= 1
    found[COUNT] = n
    if n < 5 or not (abs(y[0]) < np.inf and abs(y[n - 1]) < np.inf):
        return 0
    x = y[:n]
    found[CENTRE], found[UNIT] = quantile(x, 0.5), 0.5 * (quantile(x, 0.75) - quantile(x, 0.25))
    centre, unit = found[CENTRE], found[UNIT]
    meet()
    for i in range(team.lane, n, team.lanes):
        y[i] = (y[i] - centre) / unit
    meet()
    return n if unit > 0.0 and abs(y[0]) < np.inf and abs(y[n - 1]) < np.inf else 0


@_shared
def begun(team, y, wanted, ends, found, p, work):
    """Write the start, standardised: the one that is given, or the estimate by the characteristic function.

    Returns whether that is no sign of a likelihood that is not regular, which would be climbed here in vain.
    """
    centre, unit, given = found[CENTRE], found[UNIT], wanted[START, 0] == wanted[START, 0]
    if given:
        copy(wanted[START], p)
        p[2], p[3] = (p[2] - centre) / unit, p[3] / unit
    else:
        p[0], p[1] = wanted[KNOWN, 0], wanted[KNOWN, 1]
        from_characteristic_function(team, y, y[:0], p, work)
        p[3] = max(p[3], LEAST_SCALE)
    likely = given or (p[0] > LIKELY[0] and p[0] < LIKELY[1] and abs(p[1]) < LIKELY[2])
    for i in range(4):
        known = wanted[KNOWN, i]
        if known == known:
            p[i] = (known - centre if i == 2 else known) / (unit if i > 1 else 1.0)
    if not given:  # on the boundary a score may vanish
        p[0], p[1] = min(p[0], 1.9), min(max(p[1], -0.9), 0.9)
    for i in range(2):
        p[i] = min(max(p[i], ends[i, 0]), ends[i, 1])
    return likely


@_shared
def as_cauchy(team, y, sums):
    """The log-likelihood of the standard Cauchy distribution."""
    sums[0] = 0.0
    for i in range(team.lane, y.size, team.lanes):
        sums[0] -= log(1.0 + y[i] * y[i])
    gather(team, sums)
    return sums[0] - y.size * math.log(math.pi)


@_shared
def as_gaussian(team, y, wanted, found, sums):
    """The log-likelihood of the likeliest Gaussian distribution."""
    centre, unit = found[CENTRE], found[UNIT]
    mean, scale = (wanted[KNOWN, 2] - centre) / unit, wanted[KNOWN, 3] / unit
    if mean != mean:
        sums[0] = 0.0
        for i in range(team.lane, y.size, team.lanes):
            sums[0] += y[i]
        gather(team, sums)
        mean = sums[0] / y.size
    sums[0] = 0.0
    for i in range(team.lane, y.size, team.lanes):
        sums[0] += (y[i] - mean) * (y[i] - mean)
    gather(team, sums)
    scale = math.sqrt(0.5 * sums[0] / y.size) if scale != scale else scale
    return -0.25 * sums[0] / scale**2 - y.size * math.log(2.0 * math.sqrt(math.pi) * scale)


@_shared
def on_limits(p, ends, inside):
    """Put estimates that are at a limit on it and take them from those inside; returns their notes."""
    notes = 0
    for i in range(2):
        low, high = ends[i, 0], ends[i, 1]
        if inside[i] and not (p[i] > low + 1e-9 and p[i] < high - 1e-9):
            lower = p[i] < 0.5 * (low + high)
            p[i], inside[i] = low if lower else high, False
            notes += (NOTE_ALPHA if i == 0 else NOTE_BETA) * (1 if lower else 2)
    return notes


@_shared
def in_units_of_data(p, s1, wanted, found, params):
    """Write parameters in the units of the data, in S1 if so; the derivatives of the location there by alpha, beta and scale."""
    by_a, by_b, by_s = 0.0, 0.0, 0.0
    copy(p, params)
    params[2], params[3] = p[2] * found[UNIT] + found[CENTRE], p[3] * found[UNIT]
    if s1:  # alpha is not 1, where an estimate never is and fits with a known one do not come here
        t, scale = dist.tangent(p[0])[0], params[3]
        by_a, by_b, by_s = -p[1] * scale * 0.5 * math.pi * (1.0 + t * t), -t * scale, -p[1] * t
        params[2] += by_b * p[1]
    for i in range(4):
        if wanted[KNOWN, i] == wanted[KNOWN, i]:
            params[i] = wanted[KNOWN, i]
    return by_a, by_b, by_s


@_shared
def covariance_of(inside, scale, slopes, found, memory):
    """Write the covariance and the standard errors from the information of one value of scale 1; whether it is definite."""
    J, A = memory.matrices[1], memory.matrices[2]
    some = False
    for i in range(4):
        some = some or inside[i]
        for j in range(4):
            J[i, j] *= found[COUNT] / ((scale if i > 1 else 1.0) * (scale if j > 1 else 1.0))
    invert(J, inside, A, memory.spare)
    if inside[2] and (slopes[0] != 0.0 or slopes[1] != 0.0 or slopes[2] != 0.0):
        unit = found[UNIT]
        by = memory.vectors[0]
        by[0], by[1], by[2], by[3] = slopes[0] / unit, slopes[1] / unit, 1.0, slopes[2]
        own = 0.0
        across = memory.vectors[1]
        for j in range(4):
            across[j] = 0.0
            for k in range(4):
                across[j] += by[k] * A[k, j] if inside[k] and inside[j] else 0.0
        for j in range(4):
            own += by[j] * across[j]
        for j in range(4):
            A[2, j] = A[j, 2] = across[j]
        A[2, 2] = own
    definite = True
    for i in range(4):
        for j in range(4):
            unit = (found[UNIT] if i > 1 else 1.0) * (found[UNIT] if j > 1 else 1.0)
            found[COV + 4 * i + j] = A[i, j] * unit if inside[i] and inside[j] else np.nan
        known = inside[i] and A[i, i] >= 0.0
        found[SE + i] = math.sqrt(A[i, i]) * (found[UNIT] if i > 1 else 1.0) if known else np.nan
        definite = definite and (not inside[i] or found[SE + i] == found[SE + i])
    return definite or not some


@_shared
def search(team, y, wanted, ends, free, s1, pool, found, inside, memory):
    """Fit the values y, which are put in order and standardised, all but the log-likelihood itself."""
    found[0] = LEFT
    n = standardised(team, y, found)
    if n == 0:
        return
    y, p, begin, state = y[:n], found[P : P + 4], found[BEGIN : BEGIN + 4], found[:8]
    if not begun(team, y, wanted, ends, found, p, memory.sums):
        return
    for i in range(4):
        inside[i] = False
    for k in range(free.size):
        inside[free[k]] = True
    copy(p, begin)
    for i in range(1, 8):
        state[i] = 0.0
    if begin[0] < STUCK and inside[2]:
        return
    climb_from(team, y, y[:0], S0, 100, free, ends, p, pool, state, memory)
    if state[0] == MISSING:
        return
    sums = memory.sums[0, :1]
    fine = state[0] == DONE and state[6] < 1e-6 and p[0] > CUSP and p[0] < HIGHEST
    if fine:  # as `within_reach` and `gaussian_end` have it
        fine = state[7] >= as_cauchy(team, y, sums) - 3.0 * n
    if fine and inside[0] and ends[0, 1] >= HIGHEST and p[0] > 1.95:
        fine = as_gaussian(team, y, wanted, found, sums) < state[1] - CLOSE
    notes = (NOTE_FEW if n <= FEW else 0) + on_limits(p, ends, inside)
    if not (fine and abs(p[1]) < REGULAR):
        state[0] = LEFT
        return
    at, again = memory.vectors[4], found[WIDTH:WORK]
    at[0], at[1], at[2], at[3] = p[0], p[1], 0.0, 1.0
    climb_from(team, _RULE_X, _RULE_STEPS, S0, 0, free, ends, at, pool, again, memory)
    if again[0] != DONE:
        state[0] = LEFT
        return
    in_units_of_data(begin, s1, wanted, found, begin)
    slopes = in_units_of_data(p, s1, wanted, found, found[PARAMS : PARAMS + 4])
    definite = covariance_of(inside, p[3], slopes, found, memory)
    found[NOTES] = notes + (0 if definite else NOTE_INFORMATION)


def search_cpu(values, offsets, todo, wanted, ends, free, s1, pool, y, found):
    team, memory, own, inside = alone(), memory_of_a_climb(), np.empty(WORK), np.zeros(4, np.bool_)
    for k in range(todo.size):
        d = todo[k]
        x, mine = values[offsets[d] : offsets[d + 1]], y[offsets[d] : offsets[d + 1]]
        copy(x, mine)
        own[:] = np.nan
        search(team, mine, wanted, ends, free, s1 > 0.0, pool, own, inside, memory)
        copy(own[:WIDTH], found[d])


def search_cuda(values, offsets, todo, wanted, ends, free, s1, pool, y, found):
    shared = cuda.shared.array((_LANES_AND_1, SUMS), np.float64)
    rows = cuda.shared.array((3, _COLUMNS), np.float64)
    lane, lanes = np.int64(cuda.threadIdx.x), min(cuda.blockDim.x, LANES)
    lane = lane if lane < lanes else np.int64(_IDLE)
    team = Team(lane, lanes, 1, 1, shared)
    work, sums = cuda.local.array((3, 1), np.float64), cuda.local.array((2, SUMS), np.float64)
    vectors, matrices = cuda.local.array((5, 4), np.float64), cuda.local.array((3, 4, 4), np.float64)
    spare, moving = cuda.local.array((11, 4), np.float64), cuda.local.array(4, np.int64)
    own, inside = cuda.local.array(WORK, np.float64), cuda.local.array(4, np.bool_)
    memory = Memory(rows, work, sums, vectors, matrices, spare, moving)
    for k in range(cuda.blockIdx.x, todo.size, cuda.gridDim.x):
        d = todo[k]
        x, mine = values[offsets[d] : offsets[d + 1]], y[offsets[d] : offsets[d + 1]]
        for i in range(lane, x.size, lanes):
            mine[i] = x[i]
        cuda.syncthreads()
        for i in range(WORK):
            own[i] = math.nan
        search_in_a_block(team, mine, wanted, ends, free, s1 > 0.0, pool, own, inside, memory)
        if lane == 0:
            copy(own[:WIDTH], found[d])
        cuda.syncthreads()


_meet, _gather = {"meet": meet_in_a_block}, {"gather": gather_in_a_block}
search_in_a_block = bind(
    search,
    climb_from=climb_in_a_block,
    standardised=bind(standardised, in_order=bind(in_order, **_meet), **_meet),
    begun=bind(begun, from_characteristic_function=start_in_a_block),
    as_cauchy=bind(as_cauchy, **_gather),
    as_gaussian=bind(as_gaussian, **_gather),
)

# --- the log-likelihood itself -----------------------------------------------------------------------------------------

make_table = bind(_making(building.make_table), _nodes=building.heavy_nodes, _by_nodes=building.by_nodes)


@_shared
def close(total, found):
    """Write the log-likelihood of the values, the total of the standardised ones, if that of the shared tables is close."""
    found[LOGLIK] = total - found[COUNT] * math.log(found[UNIT])
    if not abs(total - found[1]) < CLOSE:
        found[0] = LEFT


@_shared
def by_a_table(y, p, info, cells, rows):
    """The log-likelihood by the table of p's distribution."""
    right, left, total = half_of(info, 1), half_of(info, 2), 0.0
    for i in range(y.size):
        d = (y[i] - p[2]) / p[3]
        u = log(abs(d) * info[0, 0] + info[0, 1])
        c = int(dist.cell(d, u, right, left))
        total += as_it_is(c, u, cells, rows, rows) if c >= 0 else beyond(1, c, d, info, cells, rows)
    return total - y.size * math.log(p[3])


def likelihood_cpu(y, offsets, todo, found):
    memory, panels = memory_of_points(), memory_of_panels(GAUSS.nodes.size)
    x, f = np.empty((building.MARCHES, building.PLACES)), np.empty((building.MARCHES, 3, building.PLACES))
    spans, rows = np.empty((building.MOST, 3)), np.empty((building.MOST, 3, building.PLACES))
    info, cells = np.empty((3, 7)), np.empty((2 * building.MOST_CELLS, 1), np.int64)
    polynomials = np.empty((3, 2 * building.MOST, building.COLUMNS))
    for k in range(todo.size):
        own = found[todo[k]]
        first = offsets[todo[k]]
        some, p = y[first : first + int(own[COUNT])], own[P : P + 4]
        if some.size >= ENOUGH:
            if dist.next_to_one(p[0], p[1]):
                continue
            marches, progress = np.zeros(building.MARCHES, building.MARCH), np.zeros(1, building.PROGRESS)
            make_table(p[0], p[1], x, f, marches, spans, rows, progress, info, cells, polynomials)
            size = int(progress[0].panels)
            if size > 0:
                close(by_a_table(some, p, info, cells, polynomials[0, :size]), own)
            continue
        total = 0.0
        for i in range(some.size):
            v, e = point_value(Point(some[i], p[0], p[1], p[2], p[3], False), GAUSS, memory, panels)
            total += dist.pick(1, v, p[3])
        close(total, own)


def likelihood_cuda(y, offsets, todo, found):
    lane, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, LANES_OF_POINTS)
    shared = cuda.shared.array(LANES_OF_POINTS, np.float64)
    for k in range(cuda.blockIdx.x, todo.size, cuda.gridDim.x):
        own = found[todo[k]]
        n, p, total = int(own[COUNT]), own[P : P + 4], 0.0
        for first in range(0, n, lanes):
            live = lane < lanes and first + lane < n
            z = y[offsets[todo[k]] + first + lane] if live else 0.0
            v, e = block_values(Point(z, p[0], p[1], p[2], p[3], False), live, GAUSS)
            total += dist.pick(1, v, p[3]) if live else 0.0
        if lane < lanes:
            shared[lane] = total
        cuda.syncthreads()
        if lane == 0 and n > 0:
            for other in range(1, lanes):
                total += shared[other]
            close(total, own)
        cuda.syncthreads()


def split_sets(args, parts):
    """Some of the data sets each, which are the third argument."""
    todo = args[2]
    size = max(1, -(-todo.size // parts))
    return [(*args[:2], todo[i : i + size], *args[3:]) for i in range(0, todo.size, size)]


_F1, _F2, _I1 = types.float64[::1], types.float64[:, ::1], types.int64[::1]
SEARCH = Kernel(
    "stable.search",
    search_cpu,
    search_cuda,
    lambda T: [(_F1, _I1, _I1, _F2, _F2, _I1, types.float64, types.float64[:, :, ::1], _F1, _F2)],
    dtypes=("float64",),
    split=split_sets,
)
LIKELIHOOD = Kernel(
    "stable.likelihood", likelihood_cpu, likelihood_cuda, lambda T: [(_F1, _I1, _I1, _F2)], dtypes=("float64",), split=split_sets
)
