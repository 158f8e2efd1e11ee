"""Densities at samples from the others, and the bandwidth of the largest likelihood."""

from __future__ import annotations

import math

import numpy as np

from numbastats.kde.cell_list import PointList
from numbastats.kde.model import Model
from numbastats.kde.records import TAIL

__all__ = ["best_bandwidth", "far_logs", "left_out"]

RANGE = np.geomspace(0.1, 3.0, 18)  # bandwidths that are compared, in units of the rule for normal samples
BEYOND, STEPS = 1.25, 40  # further ones, while the likelihood rises
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
ALONE = 1e-5  # share of a density that comes from the others, below which these are summed anew
PAIRS = 1_000_000  # at a time


def left_out(m, f):
    """Leave-one-out densities of a model at its samples, where the density is f."""
    w, scale = (np.ones(len(m.x)) if v is None else v for v in (m.weights, m.scale))
    others = f - w * m.constant * m.peak * scale ** -float(m.d)
    alone = np.flatnonzero(others < ALONE * f)  # the difference has lost its digits
    others[alone] = np.exp(far_logs(m, m.x[alone], alone)) if m.whole else _sums_of_others(m, w, scale, alone)
    rest = m.total - w
    top = int(np.argmin(rest))
    rest[top] = np.delete(w, top).sum()  # one sample may have nearly all the weight
    with np.errstate(invalid="ignore", divide="ignore"):
        return (others * m.total / rest).astype(m.dtype, copy=False)


def far_logs(m, points, without=None):
    """Logarithms of a Gaussian estimate's density at (p, d) points, where the density itself may underflow.

    `without` has for every point the number of a sample that is left out of the sum.
    """
    from scipy.spatial.distance import cdist
    from scipy.special import logsumexp

    whiten = np.linalg.inv(np.linalg.cholesky(m.H)).T
    samples, where = (m.x - m.centre) @ whiten, (points - m.centre) @ whiten
    scale = np.ones(len(m.x)) if m.scale is None else m.scale
    with np.errstate(divide="ignore"):
        heights = np.log((1.0 if m.weights is None else m.weights) * scale ** -float(m.d))
    logs, block = np.empty(len(where)), max(1, 4_000_000 // len(samples))
    for i in range(0, len(where), block):
        q = cdist(where[i : i + block], samples, "sqeuclidean") / scale**2
        if without is not None:
            q[np.arange(len(q)), without[i : i + block]] = np.inf
        logs[i : i + block] = logsumexp(heights - 0.5 * q, axis=1)
    return logs + math.log(m.constant)


def _sums_of_others(m, w, scale, some):
    """Densities at some samples, without their own part, pair by pair."""
    y, found = (m.x - m.centre) @ np.linalg.inv(np.linalg.cholesky(m.support)).T, np.empty(len(some))
    heights, step = m.constant * w * scale ** -float(m.d), max(1, PAIRS // len(y))
    for first in range(0, len(some), step):
        index = some[first : first + step]
        squares = ((y[index, None] - y) / scale[:, None]) ** 2
        squares[np.arange(len(index)), index] = 1.0  # beyond the end of the kernel
        q = squares if m.product else squares.sum(-1)
        near, values = q < 1.0, np.zeros(q.shape)
        values[near] = [m.kernel.profile(v, m.decay) for v in q[near].tolist()]
        found[first : first + step] = (values.prod(-1) if m.product else values) @ heights
    return found


def best_bandwidth(y, kernel, w, start, product, workers=None):
    """The bandwidth of the largest likelihood for samples in units of the kernel matrix; None where none is the largest inside.

    Parameters
    ----------
    y : (n, d) float64
    kernel : Smoothing
    w : (n,) float64 or None
    start : float
        Its order of magnitude.
    product : bool
    workers : int, optional
    """
    d, total = y.shape[1], float(len(y) if w is None else w.sum())
    tail, ends = 0.0 if kernel.normal else TAIL, (y.min(0), y.max(0))

    def loss(log_h):
        """Weighted mean of the logarithms, infinite where a sample has none near."""
        h = math.exp(log_h)
        model = Model(y, w, kernel, h * h * np.eye(d), h, None, tail, total, total, *ends, y.dtype, None, product=product)
        f = PointList(model, (), workers).evaluate(y, method="ep" if model.whole else "cells", workers=workers)
        with np.errstate(divide="ignore"):
            return -float(np.average(np.log(left_out(model, f)), weights=w))

    at = list(np.log(start * RANGE))
    losses = [loss(v) for v in at]
    while int(np.argmin(losses)) == len(at) - 1 and len(at) < len(RANGE) + STEPS:
        at.append(at[-1] + math.log(BEYOND))
        losses.append(loss(at[-1]))
    best = int(np.argmin(losses))
    if best in (0, len(at) - 1) or not math.isfinite(losses[best]):
        return None
    low, high = at[best - 1], at[best + 1]
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_a, of_b = loss(a), loss(b)
    while high - low > 1e-6:  # golden sections, for which an infinite loss is no trouble
        if of_a < of_b:
            high, b, of_b = b, a, of_a
            a = high - GOLDEN * (high - low)
            of_a = loss(a)
        else:
            low, a, of_a = a, b, of_b
            b = low + GOLDEN * (high - low)
            of_b = loss(b)
    return math.exp(0.5 * (low + high))
