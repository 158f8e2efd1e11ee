"""Likelihood cross-validation: log densities at samples from the others."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats.kde.cell_list import PointList
from numbastats.kde.records import Smoothing

__all__ = ["best_bandwidth"]

RANGE = np.geomspace(0.1, 3.0, 18)  # bandwidths that are compared, in units of the rule for normal samples
BEYOND, STEPS = 1.25, 40  # further ones, while the likelihood rises
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
ALONE = 1e-6  # share of a density that comes from the others, below which these are summed anew


@dataclasses.dataclass(eq=False)
class _Whitened:
    """What `PointList` wants to know of samples in units of the kernel matrix."""

    x: np.ndarray
    weights: np.ndarray
    kernel: Smoothing
    h: float
    product: bool
    tail: float
    scale = None

    @property
    def d(self):
        return self.x.shape[1]

    @property
    def _lines(self):
        return 1 if self.product else self.d

    @property
    def power(self):
        return self.kernel.power

    @property
    def number(self):
        return self.kernel.number

    @property
    def decay(self):
        return 0.5 * self.kernel.squared_reach(self._lines, self.tail)

    @property
    def support(self):
        return np.eye(self.d) * (2 * self.decay * self.h**2)

    @property
    def centre(self):
        return np.zeros(self.d)

    @property
    def constant(self):
        c = self.kernel.height(self._lines, self.tail)
        return (c**self.d if self.product else c) / self.h**self.d

    def of_pairs(self, z):
        """The kernel for differences (k, n, d)."""
        reach = math.sqrt(2 * self.decay) * self.h
        q = (z / reach) ** 2

        def profile(q):
            values = (self.kernel.profile(v, self.decay) if v < 1.0 else 0.0 for v in q.flat)
            return np.fromiter(values, float, q.size).reshape(q.shape)

        return self.constant * (profile(q).prod(-1) if self.product else profile(q.sum(-1)))


def log_likelihood(model, workers=None):
    """Weighted mean of the logarithms of the densities at samples from the others; -inf where a sample has none near."""
    w, gaussian = model.weights, model.kernel.name == "gaussian"
    method = "ep" if gaussian else "cells"
    total = PointList(model, (), workers).evaluate(model.x, method=method, workers=workers)
    lines = model.d if model.product else 1
    own = w * model.constant * float(model.kernel.profile(0.0, model.decay)) ** lines
    others = total - own
    alone = np.flatnonzero(others < ALONE * total)  # the difference has lost its digits
    step = max(1, 1_000_000 // len(w))
    for first in range(0, len(alone), step):
        some = alone[first : first + step]
        z = model.x[some, None] - model.x
        if gaussian:  # which reaches everywhere
            logs = -0.5 * (z * z).sum(-1) / model.h**2
            logs[np.arange(len(some)), some] = -math.inf
            top = logs.max(1)
            others[some] = np.exp(top) * (np.exp(logs - top[:, None]) @ w) * model.constant
            continue
        values = model.of_pairs(z)
        values[np.arange(len(some)), some] = 0.0
        others[some] = values @ w
    with np.errstate(divide="ignore"):
        return float(np.average(np.log(others / (w.sum() - w)), weights=w))


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
    weights = np.ones(len(y)) if w is None else w
    tail = 0.0 if kernel.name == "gaussian" else 1e-10

    def loss(log_h):
        return -log_likelihood(_Whitened(y, weights, kernel, math.exp(log_h), product, tail), workers)

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
