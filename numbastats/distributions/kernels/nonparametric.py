"""Nonparametric maximum likelihood of many data sets: product limits, and Turnbull's estimate of interval-censored values.

Cumulative hazards H at the ends of regions are the parameters, in which the log-likelihood of intervals and entries,

    sum w (log(S(lo) - S(hi)) - log S(entry)) = sum w (H(entry) - H(lo) + log(1 - exp(H(lo) - H(hi)))),

is concave. A Newton step with the diagonal of the second derivatives alone, made monotone by an isotonic regression (the
iterative convex minorant), alternates with an EM step: J. A. Wellner, Y. Zhan, "A hybrid algorithm for computation of the
nonparametric maximum likelihood estimator from censored data", JASA 92 (1997).
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange, types

from numbastats._core.endings import NO_CONVERGENCE, NONE_LEFT, OK
from numbastats._core.kernel import array_function, host_loop

__all__ = ["npmle", "product_limit"]

_F, _F2, _I, _I2 = types.float64[::1], types.float64[:, ::1], types.int64[::1], types.int64[:, ::1]
TOLERANCE = 1e-8  # of the largest derivative by a mass, in units of all weights
ROUNDS = 2000
HALVINGS = 30
FARTHEST = 300.0  # of cumulative hazards: what lives longer has no part in sums
LEAST = 1e-9  # of second derivatives, in units of all weights


@host_loop("distributions.product_limit", (_I, _F, _F, _F, _F))
def product_limit(off, at_risk, events, survival, variance):
    """Kaplan and Meier's estimate of each set of ascending times, and Greenwood's sum, the relative variance of it.

    `at_risk` comes as the weight that leaves at each time, less that which enters from there to the next.
    """
    for s in prange(off.size - 1):
        n = 0.0
        for k in range(off[s + 1] - off[s]):
            j = off[s + 1] - 1 - k
            n += at_risk[j]
            n = n if n > events[j] else events[j]  # but for rounding of weights
            at_risk[j] = n
        share, total = 1.0, 0.0
        for j in range(off[s], off[s + 1]):
            n, d = at_risk[j], events[j]
            if d > 0.0:
                share *= (n - d) / n
                total += d / (n * (n - d)) if n > d else np.inf
            survival[j] = share
            variance[j] = total


@array_function
def _likelihood(hazard, units, w, lo, hi):
    """Log-likelihood, minus infinity where a unit has no mass."""
    last, total = hazard.size - 1, 0.0
    for i in range(lo, hi):
        left, right, enters = units[i, 0], units[i, 1], units[i, 2]
        inside = 0.0
        if right < last:
            if not hazard[right] > hazard[left]:
                return -np.inf
            inside = math.log(-math.expm1(hazard[left] - hazard[right]))
        total += w[i] * (hazard[enters] - hazard[left] + inside)
    return total


@array_function
def _gradient(hazard, units, w, lo, hi, slope, inside):
    """Derivatives by the masses into `slope`, and sums of w / P over the units that hold them into `inside`."""
    last = hazard.size - 1
    for j in range(last + 1):
        slope[j] = 0.0
        inside[j] = 0.0
    for i in range(lo, hi):
        left, right, enters = units[i, 0], units[i, 1], units[i, 2]
        share = 1.0 if right == last else -math.expm1(hazard[left] - hazard[right])
        by_mass, by_entry = w[i] * math.exp(hazard[left]) / share, w[i] * math.exp(hazard[enters])
        inside[left] += by_mass
        inside[right] -= by_mass
        slope[enters] -= by_entry
    for j in range(1, last + 1):
        inside[j] += inside[j - 1]
        slope[j] += slope[j - 1]
    for j in range(last):
        slope[j] += inside[j]


@array_function
def _self_consistent(hazard, inside, entering, out):
    """An EM step: hazards are the expected numbers of events over those of units at risk."""
    last, at_risk = hazard.size - 1, 0.0
    for k in range(last):
        j = last - 1 - k
        count = _mass(hazard, j) * inside[j]
        at_risk += count - entering[j + 1]
        out[j + 1] = -math.log1p(-count / at_risk) if count < at_risk else FARTHEST
    for j in range(1, last):
        out[j] = min(out[j - 1] + out[j], FARTHEST)


@array_function
def _mass(hazard, j):
    """The mass of a region."""
    return math.exp(-hazard[j]) * (1.0 if j + 2 == hazard.size else -math.expm1(hazard[j] - hazard[j + 1]))


@array_function
def _newton(hazard, units, w, lo, hi, floor, target, weight, block, start):
    """Where Newton's method by the diagonal alone leads, made monotone, into `target`."""
    last = hazard.size - 1
    for j in range(last + 1):
        target[j] = 0.0
        weight[j] = 0.0
    for i in range(lo, hi):
        left, right, enters = units[i, 0], units[i, 1], units[i, 2]
        odds = 0.0 if right == last else 1.0 / math.expm1(hazard[right] - hazard[left])
        target[left] -= w[i] * (1.0 + odds)
        target[right] += w[i] * odds
        target[enters] += w[i]
        weight[left] += w[i] * odds * (1.0 + odds)
        weight[right] += w[i] * odds * (1.0 + odds)
    count = 0
    for j in range(1, last):  # pool adjacent violators: means of blocks, their weights, where they start
        h = weight[j] if weight[j] > floor else floor
        mean, size, first = hazard[j] + target[j] / h, h, j
        while count > 0 and block[count - 1] >= mean:
            count -= 1
            total = size + weight[count]  # the weights before j are read, so their places are free for blocks
            mean += (block[count] - mean) * weight[count] / total
            size, first = total, int(start[count])
        block[count], weight[count], start[count] = mean, size, first
        count += 1
    for b in range(count):
        end = int(start[b + 1]) if b + 1 < count else last
        value = min(max(block[b], 0.0), FARTHEST)
        for j in range(int(start[b]), end):
            target[j] = value
    target[0], target[last] = 0.0, hazard[last]


@host_loop("distributions.npmle", (_I2, _F, _I, _I, _F2, _F, _F, _F, _F, _F, _F2))
def npmle(units, w, off, regions, work, mass, survival, events, censored, at_risk, numbers):
    """Masses of the regions of each data set, survival after them, expected numbers of events, of values censored there, at risk.

    A unit of a row of `units` is in the regions from the first number to before the second, and seen from the third on; the
    fourth says whether it is open above. The numbers of a set: status, rounds, the largest derivative of the log-likelihood by a
    mass, the log-likelihood.
    """
    for s in prange(off.size - 1):
        lo, hi, first, m = off[s], off[s + 1], regions[s], regions[s + 1] - regions[s]
        if m == 0:
            numbers[s, 0], numbers[s, 1], numbers[s, 2], numbers[s, 3] = float(NONE_LEFT), 0.0, np.nan, np.nan
            continue
        a, b = first + s, first + s + m + 1  # a place more than regions for each set
        hazard, slope, inside, target, tried = work[0, a:b], work[1, a:b], work[2, a:b], work[3, a:b], work[4, a:b]
        weight, block, start, entering = work[5, a:b], work[6, a:b], work[7, a:b], work[8, a:b]
        total, status, rounds, largest = 0.0, float(NO_CONVERGENCE), 0, np.nan
        for j in range(m + 1):
            hazard[j] = -math.log1p(-j / m) if j < m else np.inf
            entering[j], tried[j] = 0.0, 0.0
        for i in range(lo, hi):
            total += w[i]
            entering[units[i, 2]] += w[i]
        while True:
            _gradient(hazard, units, w, lo, hi, slope, inside)
            largest = slope[0]
            for j in range(1, m):
                largest = slope[j] if slope[j] > largest else largest
            if largest <= TOLERANCE * total:
                status = float(OK)
                break
            if rounds == ROUNDS:
                break
            rounds += 1
            _self_consistent(hazard, inside, entering, tried)
            for j in range(1, m):
                hazard[j] = tried[j]
            best = _likelihood(hazard, units, w, lo, hi)
            _newton(hazard, units, w, lo, hi, LEAST * total, target, weight, block, start)
            step = 1.0
            for _ in range(HALVINGS):
                for j in range(m):
                    tried[j] = hazard[j] + step * (target[j] - hazard[j])
                tried[m] = np.inf
                found = _likelihood(tried, units, w, lo, hi)
                if found > best:
                    for j in range(1, m):
                        hazard[j] = tried[j]
                    break
                step *= 0.5
        numbers[s, 0], numbers[s, 1] = status, float(rounds)
        numbers[s, 2], numbers[s, 3] = largest / total, _likelihood(hazard, units, w, lo, hi)
        for j in range(m + 1):  # of values that are open above only that they were at risk
            inside[j], tried[j] = 0.0, 0.0
        for i in range(lo, hi):
            left, right = units[i, 0], units[i, 1]
            if units[i, 3]:
                tried[left] += w[i]
            else:
                share = 1.0 if right == m else -math.expm1(hazard[left] - hazard[right])
                by_mass = w[i] * math.exp(hazard[left]) / share
                inside[left] += by_mass
                inside[right] -= by_mass
        total = 0.0
        for j in range(m):
            total += inside[j]
            mass[first + j] = _mass(hazard, j)
            survival[first + j] = math.exp(-hazard[j + 1])
            events[first + j] = mass[first + j] * max(total, 0.0)
            censored[first + j] = tried[j + 1]
        total = 0.0
        for k in range(m):
            j = m - 1 - k
            total += events[first + j] + censored[first + j] - entering[j + 1]
            at_risk[first + j] = total
