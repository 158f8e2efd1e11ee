"""Lifetimes whose hazards are proportional, e^m times a baseline that is left open: Cox's partial likelihood.

Outcomes are times, upper ends (infinite for times that are not over), and numbers of strata, which have a baseline each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbastats.bayes.kernels.partial import PARTIAL
from numbastats.bayes.responses.record import Joint, Steps


class Sorted(NamedTuple):
    """Rows by stratum and falling time, in groups, as `kernels.partial` has them.

    Of each group the time of its events and its stratum; of each stratum the last time.
    """

    order: np.ndarray
    start: np.ndarray
    fresh: np.ndarray
    event: np.ndarray
    weight: np.ndarray
    time: np.ndarray
    stratum: np.ndarray
    last: np.ndarray

    def of_groups(self, x):
        """Sums over the rows of each group."""
        return np.add.reduceat(x, self.start[:-1])


def in_order(y, weights):
    """The rows of a fit in the order of their times."""
    time, upper, stratum = y
    order = np.lexsort((-time, stratum))
    time, stratum, event = time[order], stratum[order], (time == upper)[order]
    apart = np.diff(stratum) != 0.0
    another = np.concatenate([[True], apart | (np.diff(time) != 0.0)])
    block = np.cumsum(another) - 1
    last = np.append(another[1:], True) & (np.bincount(block, event) > 0.0)[block]
    start = np.concatenate([[0], np.flatnonzero(last | np.append(apart, True)) + 1]).astype(np.int64)
    ends = start[1:] - 1
    fresh = np.append(True, np.diff(stratum[ends]) != 0.0)
    weights, last = weights[order].astype(np.float64), time[start[:-1]][fresh]
    return Sorted(order.astype(np.int64), start, fresh, event, weights, time[ends], stratum[ends], last)


def _passed(M, rows):
    """What the kernel gives of predictors, shape (k, n)."""
    M = np.ascontiguousarray(M, np.float64)
    k, n = M.shape
    out = np.empty(k), np.empty((k, n)), np.empty((k, n)), np.empty((k, rows.start.size - 1, 3))
    PARTIAL.serial(np.int64(0), np.int64(k), (M, *rows[:5]), out)
    return out


def value(T, rows, weights):
    """The log of the partial likelihood, and its derivatives."""
    total, slope, _, _ = _passed(T.T, rows)
    return total[0], slope.T


def curvature(T, rows, weights):
    """Expected events: the negative second derivatives are these on the diagonal less a matrix without negative eigenvalues."""
    return _passed(T.T, rows)[2].T


def information(X, T, rows, weights):
    """The negative second derivative in the coefficients: X'PX for expected events P, less products of means at risk."""
    _, _, expected, sums = _passed(T.T, rows)
    first, stratum = np.flatnonzero(rows.fresh), np.cumsum(rows.fresh) - 1
    top = np.maximum.reduceat(sums[0, :, 0], first)[stratum]  # of a stratum: a metric needs no more range
    w = rows.weight * np.exp(T[rows.order, 0] - np.repeat(top, np.diff(rows.start)))
    x = np.column_stack([np.ones(len(X)), X[rows.order]])
    at_risk = rows.of_groups(w[:, None] * x)
    for lo, hi in zip(first, [*first[1:], len(at_risk)], strict=True):  # differences of sums over all strata lose small risks
        np.cumsum(at_risk[lo:hi], axis=0, out=at_risk[lo:hi])
    events = rows.of_groups(np.where(rows.event, w, 0.0)[:, None] * x)
    counts, weights = rows.of_groups(rows.event.astype(np.int64)), rows.of_groups(np.where(rows.event, rows.weight, 0.0))
    H = (X * expected[0][:, None]).T @ X
    for k in range(counts.max()):
        g = counts > k
        means = at_risk[g] - (k / counts[g])[:, None] * events[g]
        means = means[:, 1:] * (np.sqrt(weights[g] / counts[g]) / np.maximum(means[:, 0], 1e-300))[:, None]
        H -= means.T @ means
    return H


def steps(M, rows):
    """Steps of Breslow's baselines, with Efron's correction of ties."""
    sums, events = _passed(M, rows)[3], rows.of_groups(np.where(rows.event, rows.weight, 0.0))
    some = np.lexsort((rows.time, rows.stratum))
    some = some[events[some] > 0.0]
    logs = np.log(sums[:, some, 1]) - sums[:, some, 0]
    return Steps(logs, events[some], rows.time[some], rows.stratum[some].astype(np.int64), rows.last)


def _of_rows(*args):
    raise ValueError(
        "response='cox' has a partial likelihood, which says how hazards compare, and gives rows no distribution of their own: "
        "use predict for risk scores and predict_survival for probabilities, or response='weibull', which has medians, outcomes "
        "and criteria of rows"
    )


COX = Joint(
    word="cox",
    aliases=("coxph", "proportional_hazards"),
    noun="times",
    samplers=("hamiltonian", "surrogate", "predictor"),
    holds=lambda y: y >= 0.0,
    fix="0 or above; of one that is not over at the end of the study pass its time so far, with event=False",
    censors=True,
    intercept=False,
    proportional=True,
    separable=True,
    predictors=lambda y: 1,
    prepare=in_order,
    value=value,
    curvature=curvature,
    information=information,
    baseline=steps,
    log_density=_of_rows,
    tail=_of_rows,
    quantile=_of_rows,
)
