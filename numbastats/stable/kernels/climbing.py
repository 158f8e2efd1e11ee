"""The climb of the likelihood of many data sets, by tables that neighbouring parameters share.

A cell of the plane of (alpha, beta >= 0) holds the density, over one of its middle, as polynomials in alpha and beta at fixed
places of u = log(1 + |x - centre|/delta), panel by panel on either side of the centre; see shared_tables.py one level up. At one
(alpha, beta) they collapse to polynomials in u for log f and its derivatives by alpha and beta; beta < 0 is the mirror image.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from numbastats._core.climb import cholesky_step, copy, copy_matrix
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import array_function, bind, host_loop
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp, log

_shared = array_function(host=False)
_making = array_function(host=False, allocates=True)

SPLIT = 0.77  # of alpha: below, the centre is zeta, and delta the width of the cusp there
EDGES_A = np.array(
    [0.3, 0.33, 0.36, 0.4, 0.455, 0.51, 0.57, 0.62, 0.66, 0.69, 0.715, 0.733, 0.746, 0.758, SPLIT]
    + [0.782, 0.795, 0.82, 0.86, 0.91, 1.0, 1.12, 1.28, 1.48, 1.65, 1.85, 2.0]
)
EDGES_B = np.arange(7) / 6.0
ORDER = 6  # nodes of a cell in alpha, and in beta
TERMS = 8  # of the polynomials in u
ENDS = np.concatenate(  # of the panels, as `panel` has them
    [
        np.arange(0.0, 3.0, 0.125),
        np.arange(3.0, 7.0, 0.25),
        np.arange(7.0, 11.0, 0.5),
        np.arange(11.0, 23.0, 2.0),
        np.arange(23.0, 60.0, 4.0),
    ]
)
PANELS, END = ENDS.size - 1, ENDS[-1]
NODES = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)[::-1].copy()
PLACES = np.tile((0.5 * (ENDS[1:] + ENDS[:-1])[:, None] + 0.5 * np.diff(ENDS)[:, None] * NODES).ravel(), 2)  # u, both sides
_TO_POWERS = np.linalg.inv(np.vander(NODES, increasing=True))  # from the values of a panel to its coefficients
_AT, _WEIGHTS = np.polynomial.legendre.leggauss(8)
RULE_U = np.tile((ENDS[:-1, None] + 0.5 * np.diff(ENDS)[:, None] * (1.0 + _AT)).ravel(), 2)  # for integrals over both sides
RULE_STEPS = np.tile((0.5 * np.diff(ENDS)[:, None] * _WEIGHTS).ravel(), 2)
NONE = 1e-7  # of the density of the middle: what is below cannot be told from 0, as in the light tail of beta = 1
S0, S1, PEAK = 0, 1, 2  # forms of the parameters
DONE, MISSING, OUTSIDE = 0.0, 1.0, 2.0
_BLOCK = 64


class Team(NamedTuple):
    """Who works on a data set: this thread alone, or as one of the `lanes` of a CUDA block, which decide all alike."""

    lane: int
    lanes: int
    panels: int  # that a lane collapses at a time
    values: int  # that it locates at a time
    shared: np.ndarray  # (lanes + 1, SUMS), of the block


SUMS, LANES = 21, 128  # the most sums at a time; threads of a block


class Memory(NamedTuple):
    """Of a climb: polynomials, which a block shares, and what every thread has."""

    rows: np.ndarray  # (3, 2 PANELS TERMS)
    work: np.ndarray  # (3, values of the team at a time)
    sums: np.ndarray  # (2, SUMS)
    vectors: np.ndarray  # (5, 4)
    matrices: np.ndarray  # (3, 4, 4): the information, the products of scores, one more
    spare: np.ndarray  # (11, 4)
    moving: np.ndarray  # (4,)


@_making
def alone():
    """The team of one thread."""
    return Team(0, 1, PANELS, _BLOCK, np.empty((0, 0)))


@_making
def memory_of_a_climb():
    """For one thread."""
    rows, work, sums = np.empty((3, 2 * PANELS * TERMS)), np.empty((3, _BLOCK)), np.empty((2, SUMS))
    return Memory(rows, work, sums, np.zeros((5, 4)), np.empty((3, 4, 4)), np.empty((11, 4)), np.zeros(4, np.int64))


@_shared
def meet():
    """Wait for the other threads of the team: here there are none."""


@_shared
def meet_in_a_block():
    """`meet` of a CUDA block."""
    cuda.syncthreads()


@_shared
def gather(team, sums):
    """Replace each thread's sums by those of the team, added in the order of the lanes."""
    if team.lanes == 1:
        return
    if team.lane < team.lanes:
        for k in range(sums.size):
            team.shared[team.lane, k] = sums[k]
    meet()
    for k in range(team.lane, sums.size, team.lanes):
        total = 0.0
        for lane in range(team.lanes):
            total += team.shared[lane, k]
        team.shared[team.lanes, k] = total
    meet()
    copy(team.shared[team.lanes, : sums.size], sums)
    meet()


@_shared
def panel(u):
    """(index, middle, half width) of the panel that holds u < END."""
    if u < 3.0:
        first, begin, width = 0.0, 0.0, 0.125
    elif u < 7.0:
        first, begin, width = 24.0, 3.0, 0.25
    elif u < 11.0:
        first, begin, width = 40.0, 7.0, 0.5
    elif u < 23.0:
        first, begin, width = 48.0, 11.0, 2.0
    else:
        first, begin, width = 54.0, 23.0, 4.0
    k = math.floor((u - begin) / width)
    return int(first + k), begin + (k + 0.5) * width, 0.5 * width


@_shared
def log_cusp(a):
    """`parameterisations.cusp_scale` of beta = 0, its logarithm."""
    return 0.25 * (math.log(24.0) + math.lgamma(1.0 / a) - math.lgamma(5.0 / a))


@_shared
def unit_of(a):
    """delta, the unit of the distance to the centre, and the derivative of its logarithm."""
    if a > SPLIT:
        return 1.0, 0.0
    h = 1e-5
    return math.exp(log_cusp(a)), (log_cusp(a + h) - log_cusp(a - h)) / (2.0 * h)


@_shared
def length(x, y):
    """`math.hypot`, which in CUDA takes an approximate root."""
    most = max(abs(x), abs(y))
    return most * math.sqrt((x / most) * (x / most) + (y / most) * (y / most)) if most > 0.0 else 0.0


@_shared
def peak(a, b):
    """`parameterisations.peak_place`."""
    m = b * math.tan(0.5 * math.pi * a)
    tail = a / ((1.0 + a) * math.gamma(1.0 - a) * math.cos(0.5 * math.pi * a))
    return b * length(tail ** (1.0 / a), math.exp(log_cusp(a) + 0.5 / a * math.log1p(m * m)))


@_shared
def origin(form, a, b):
    """What leads from the standardised x to x - centre, and its derivatives by alpha and beta."""
    sign = (1.0 if a <= SPLIT else 0.0) - (0.0 if form == S0 else 1.0)
    shift, by_a, by_b = 0.0, 0.0, 0.0
    if sign != 0.0:
        t = math.tan(0.5 * math.pi * a)
        shift, by_a, by_b = sign * b * t, sign * b * (0.5 * math.pi) * (1.0 + t * t), sign * t
    if form == PEAK:
        h = 1e-5
        shift += peak(a, b)
        by_a += (peak(a + h, b) - peak(a - h, b)) / (2.0 * h)
        by_b += (peak(a, b + h) - peak(a, b - h)) / (2.0 * h)
    return shift, by_a, by_b


@_shared
def place(edges, v):
    """The cell that holds v, -1 where none does."""
    if not (v >= edges[0] and v <= edges[edges.size - 1]):
        return -1
    i = 0
    while i + 2 < edges.size and v > edges[i + 1]:
        i += 1
    return i


@_shared
def panels_of(x, p, shift, delta):
    """How many panels hold the values on either side, the first or the last of which is the farthest out."""
    far = max(abs((x[0] - p[2]) / p[3] + shift), abs((x[x.size - 1] - p[2]) / p[3] + shift))
    u = log(1.0 + far / delta)
    return min(panel(u)[0] + 2, PANELS) if u < END else PANELS


@_shared
def collapse(team, a, b, panels, pool, rows, state):
    """Write so many polynomials of (alpha, |beta|) to rows, of log f or also of its derivatives; DONE, MISSING or OUTSIDE."""
    i, j = place(EDGES_A, a), place(EDGES_B, abs(b))
    if i < 0 or j < 0 or a == 2.0:  # there beta has no score
        return OUTSIDE
    state[4], state[5] = i, j
    cell = pool[i * (EDGES_B.size - 1) + j]
    if math.isnan(cell[0, 0]):
        return MISSING
    half = 0.5 * (EDGES_A[i + 1] - EDGES_A[i]), 0.5 * (EDGES_B[j + 1] - EDGES_B[j])
    at = (a - EDGES_A[i]) / half[0] - 1.0, (abs(b) - EDGES_B[j]) / half[1] - 1.0
    for side in range(0, PANELS * TERMS + 1, PANELS * TERMS):
        for k in range(team.lane * team.panels, panels, team.lanes * team.panels):
            collapse_side(a, cell, side + k * TERMS, side + min(k + team.panels, panels) * TERMS, at, half, rows)
    meet()
    return DONE


@_shared
def collapse_side(a, cell, first, end, at, half, rows):
    """The columns first to end of rows, by a cell at a place in [-1, 1] x [-1, 1] and its half widths."""
    value, by_a, by_b = rows[0, first:end], rows[len(rows) // 2, first:end], rows[len(rows) - 1, first:end]
    for q in range(value.size):
        value[q], by_a[q], by_b[q] = 0.0, 0.0, 0.0
    power_a, slope_a = 1.0, 0.0
    for k in range(ORDER):
        power_b, slope_b = 1.0, 0.0
        for n in range(ORDER):
            c = cell[1 + k * ORDER + n, first:end]
            w, wa, wb = power_a * power_b, slope_a * power_b, power_a * slope_b
            for q in range(value.size):
                value[q] += w * c[q]
            if len(rows) > 1:
                for q in range(value.size):
                    by_a[q] += wa * c[q]
                    by_b[q] += wb * c[q]
            power_b, slope_b = power_b * at[1], (n + 1) * power_b / half[1]
        power_a, slope_a = power_a * at[0], (k + 1) * power_a / half[0]
    middle, u, unit = cell[0, first:end], PLACES[first:end], unit_of(a)
    level = math.log(unit[0])
    change = level + (1.0 + a) * unit[1]
    for q in range(value.size):
        value[q] = value[q] if value[q] > NONE else np.nan
    if len(rows) > 1:
        for q in range(value.size):
            by_a[q] = by_a[q] / value[q] - u[q] - change
            by_b[q] /= value[q]
    for q in range(value.size):
        in_step()
        value[q] = log(value[q]) + middle[q] - a * u[q] - (1.0 + a) * level
    for row in rows:
        for q in range(first, end, TERMS):
            to_powers(row[q : q + TERMS])


@_shared
def to_powers(values):
    """Values at the nodes become coefficients."""
    v0, v1, v2, v3 = values[0], values[1], values[2], values[3]
    v4, v5, v6, v7 = values[4], values[5], values[6], values[7]
    for n in range(TERMS):
        m = _TO_POWERS[n]
        values[n] = m[0] * v0 + m[1] * v1 + m[2] * v2 + m[3] * v3 + m[4] * v4 + m[5] * v5 + m[6] * v6 + m[7] * v7


@_shared
def at_point(u, left, rows):
    """log f, and its derivatives by u, alpha and beta."""
    k, middle, half = panel(u)
    y = (u - middle) / half
    base = (k + (PANELS if left else 0)) * TERMS
    value, by_a, by_b = rows[0], rows[1], rows[2]
    v, s, da, db = value[base + TERMS - 1], 0.0, by_a[base + TERMS - 1], by_b[base + TERMS - 1]
    for n in range(TERMS - 2, -1, -1):
        s = s * y + v
        v = v * y + value[base + n]
        da = da * y + by_a[base + n]
        db = db * y + by_b[base + n]
    return v, s / half, da, db


@_shared
def add_scores(weight, v, g, sums):
    """Add a point's log density and scores, and products of these, to the sums."""
    sums[0] += weight * v
    k = 5
    for i in range(4):
        sums[1 + i] += weight * g[i]
        for j in range(i + 1):
            sums[k] += weight * g[i] * g[j]
            k += 1


@_shared
def scores_at(z, d, u, p, unit, moves, rows):
    """log density at the standardised z, and its scores; d = x - centre, mirrored where beta < 0."""
    sign = -1.0 if p[1] < 0.0 else 1.0
    v, slope, by_a, by_b = at_point(u, d < 0.0, rows)
    slope /= unit[0] + abs(d)
    by_a -= slope * abs(d) * unit[1]
    slope *= -sign if d < 0.0 else sign
    s = p[3]
    return v - log(s), (by_a + slope * moves[1], sign * by_b + slope * moves[2], -slope / s, -(slope * z + 1.0) / s)


@_shared
def at_value(u, left, value):
    """log f."""
    k, middle, half = panel(u)
    y = (u - middle) / half
    base = (k + (PANELS if left else 0)) * TERMS
    v = value[base + TERMS - 1]
    for n in range(TERMS - 2, -1, -1):
        v = v * y + value[base + n]
    return v


@_shared
def locate(some, p, shift, delta, work):
    """Write the standardised values, their distances to the centre, mirrored where beta < 0, and u."""
    z, d, u = work[0], work[1], work[2]
    loc, scale, sign = p[2], p[3], -1.0 if p[1] < 0.0 else 1.0
    for i in range(some.size):
        z[i] = (some[i] - loc) / scale
        d[i] = sign * (z[i] + shift)
    for i in range(some.size):
        in_step()
        u[i] = log(1.0 + abs(d[i]) / delta)


@_shared
def sum_up(team, x, steps, form, p, pool, memory, sums, state):
    """The log-likelihood at p, the sums of scores and of their products; returns DONE, MISSING, OUTSIDE."""
    moves, unit, rows, work = origin(form, p[0], p[1]), unit_of(p[0]), memory.rows, memory.work
    code = collapse(team, p[0], p[1], panels_of(x, p, moves[0], unit[0]), pool, rows, state)
    if code != DONE:
        return code
    state[2] += 1.0
    for k in range(sums.size):
        sums[k] = 0.0
    z, d, u = work[0], work[1], work[2]
    for first in range(team.lane * team.values, x.size, team.lanes * team.values):
        some = x[first : first + team.values]
        locate(some, p, moves[0], unit[0], work)
        for i in range(some.size):
            if not u[i] < END:
                sums[0] = np.nan
                break
            v, g = scores_at(z[i], d[i], u[i], p, unit, moves, rows)
            if steps.size > 0 and math.isnan(v):  # a density that cannot be told from 0 adds nothing to an integral
                continue
            add_scores(exp(v) * p[3] * steps[first + i] if steps.size > 0 else 1.0, v, g, sums)
    gather(team, sums)
    return DONE if math.isfinite(sums[0]) else OUTSIDE


@_shared
def total_at(x, form, p, row, work):
    """The log-likelihood at p, of the polynomials of its alpha and beta; NaN outside the tables."""
    shift, delta, total = origin(form, p[0], p[1])[0], unit_of(p[0])[0], 0.0
    for first in range(0, x.size, _BLOCK):
        some = x[first : first + _BLOCK]
        locate(some, p, shift, delta, work)
        for i in range(some.size):
            total += at_value(work[2, i], work[1, i] < 0.0, row) if work[2, i] < END else np.nan
    return total - x.size * log(p[3])


@_shared
def solved(J, g, moving, count, damping, step, memory):
    """Write the step of the moving parameters, with J scaled to a diagonal of 1 and damped; returns whether there is one."""
    A, L, b = memory.spare[:4], memory.spare[4:8], memory.spare[8]
    for i in range(count):
        k = moving[i]
        b[i] = g[k] / math.sqrt(J[k, k])
        for j in range(i + 1):
            A[i, j] = J[k, moving[j]] / math.sqrt(J[k, k] * J[moving[j], moving[j]])
    if not cholesky_step(A, b, count, damping, 1e-13, step, L):
        return False
    for i in range(count):
        step[i] /= math.sqrt(J[moving[i], moving[i]])
    return True


@_shared
def spread(sums, outer):
    """The matrix of the products of scores."""
    k = 5
    for i in range(4):
        for j in range(i + 1):
            outer[i, j] = outer[j, i] = sums[k]
            k += 1


@_shared
def update(J, outer, free, moved, change, v):
    """The BFGS update of the information by a step and the score's change; `outer` where the curvature has the wrong sign."""
    curvature, length = 0.0, 0.0
    for i in free:
        v[i] = 0.0
        for j in free:
            v[i] += J[i, j] * moved[j]
    for i in free:
        curvature += moved[i] * change[i]
        length += moved[i] * v[i]
    if not (curvature > 1e-12 * length and length > 0.0):
        copy_matrix(outer, J)
        return
    for i in free:
        for j in free:
            J[i, j] += change[i] * change[j] / curvature - v[i] * v[j] / length


@_shared
def gain_of(g, moving, count, step):
    """What a step would gain were the log-likelihood a parabola."""
    gain = 0.0
    for i in range(count):
        gain += 0.5 * g[moving[i]] * step[i]
    return gain


@_shared
def trial_of(p, ends, moving, count, step, trial):
    """The parameters after a step that keeps alpha and scale within reason, inside the bounds."""
    for i in range(4):
        trial[i] = p[i]
    for k in range(count):
        i, change = moving[k], step[k]
        if i == 3:
            change = p[3] * math.expm1(min(max(change / p[3], -1.0), 1.0))
        elif i == 0:
            change = min(max(change, -0.3 * p[0]), 0.3 * p[0])
        trial[i] = p[i] + change
        if i < 2:
            trial[i] = min(max(trial[i], ends[i, 0]), ends[i, 1])


@_shared
def climb_from(team, x, steps, form, most, free, ends, p, pool, state, memory):
    """`climb` of a team; the sum of products of scores is the second of the memory's matrices."""
    sums, fresh, moving = memory.sums[0, :15], memory.sums[1, :15], memory.moving
    trial, step, g = memory.vectors[0], memory.vectors[1], memory.vectors[2]
    moved, change = memory.vectors[3], memory.vectors[4]
    J, outer = memory.matrices[0], memory.matrices[1]
    count, damping, gain, iteration, outside = 0, 1e-3, 0.0, 0, 0
    copy(p, trial)
    blocked = False  # whether a step of this iteration led outside the tables
    while True:
        state[0] = sum_up(team, x, steps, form, trial, pool, memory, fresh, state)
        if state[0] == MISSING or (iteration == 0 and state[0] != DONE):
            return
        if iteration > 0:
            best = sums[0]
            if not (state[0] == DONE and fresh[0] >= best - 1e-12 * abs(best)):
                damping = max(4.0 * damping, 1e-2)
                if state[0] == OUTSIDE:
                    blocked, outside = True, outside + 1
                if gain < 1e-9 or damping >= 1e8 or outside > 12:
                    state[0] = OUTSIDE if blocked and state[6] >= 1e-6 else DONE
                    return
                solved(J, g, moving, count, damping, step, memory)
                gain = gain_of(g, moving, count, step)
                trial_of(p, ends, moving, count, step, trial)
                continue
            for i in range(4):
                moved[i], change[i] = trial[i] - p[i], g[i] - fresh[1 + i]
                p[i] = trial[i]
        else:
            state[7] = fresh[0]
        improved = fresh[0] - sums[0] if iteration > 0 else np.inf
        copy(fresh, sums)
        state[1], state[3] = sums[0], iteration
        spread(sums, outer)
        if iteration == most or (iteration > 0 and (gain < 1e-9 or (gain < 1e-6 and improved < 1e-9))):
            state[0] = OUTSIDE if blocked and state[6] >= 1e-6 else DONE
            return
        if iteration == 0:
            copy_matrix(outer, J)
        else:
            update(J, outer, free, moved, change, memory.spare[9])
            damping = max(0.2 * damping, 1e-9)
        iteration, count, blocked = iteration + 1, 0, False
        copy(sums[1:5], g)
        for i in free:
            if i > 1 or not ((p[i] <= ends[i, 0] and g[i] < 0.0) or (p[i] >= ends[i, 1] and g[i] > 0.0)):
                moving[count] = i
                count += 1
        state[6] = 0.0
        for again in range(2):  # an update along a flat direction may see a curvature that is not there
            if again > 0:
                copy_matrix(outer, J)
            if solved(J, g, moving, count, 1e-9, step, memory):
                state[6] = gain_of(g, moving, count, step)
            if state[6] >= 1e-9:
                break
        if not solved(J, g, moving, count, damping, step, memory):
            state[0] = OUTSIDE
            return
        gain = gain_of(g, moving, count, step)
        trial_of(p, ends, moving, count, step, trial)


gather_in_a_block = bind(gather, meet=meet_in_a_block)
_sum_in_a_block = bind(sum_up, collapse=bind(collapse, meet=meet_in_a_block), gather=gather_in_a_block)
climb_in_a_block = bind(climb_from, sum_up=_sum_in_a_block)

_F1, _F2, _F3, _I1 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1], types.int64[::1]


@host_loop("stable.shared_totals", (_F1, _I1, _F2, _F3, _F1, _F1))
def totals(x, choices, dists, pool, state, found):
    """The log-likelihoods of distributions, NaN outside the tables, from the first that found has not; the form in choices.

    state: as of `climb`, DONE or MISSING.
    """
    row, work, k, team = np.empty((1, PLACES.size)), np.empty((3, _BLOCK)), int(state[3]), alone()
    state[0] = DONE
    while k < len(dists):
        p = dists[k]
        if k == 0 or p[0] != dists[k - 1, 0] or p[1] != dists[k - 1, 1] or k == int(state[3]):
            state[0] = collapse(team, p[0], p[1], PANELS, pool, row, state)
        if state[0] == MISSING:
            break
        found[k] = total_at(x, choices[0], p, row[0], work) if state[0] == DONE else np.nan
        k += 1
    state[3] = k


@host_loop("stable.shared_climb", (_F1, _F1, _I1, _F2, _F1, _F3, _F1, _F2))
def climb(x, steps, choices, ends, p, pool, state, outer):
    """`likelihood.climb` by shared tables, from p and to p.

    choices: the form; the most iterations, 0 for the likelihood at p; the free parameters.
    state: DONE, MISSING (the cell in state[4:6]) or OUTSIDE, where the climb goes on outside the tables; the log-likelihood;
    numbers of evaluations and iterations; the cell; what a step without damping would still gain; the log-likelihood of the
    start. outer: sum of products of scores. Where there are steps, values have as weights the density times these: then it is
    the integral.
    """
    memory = memory_of_a_climb()
    climb_from(alone(), x, steps, choices[0], choices[1], choices[2:], ends, p, pool, state, memory)
    copy_matrix(memory.matrices[1], outer)
