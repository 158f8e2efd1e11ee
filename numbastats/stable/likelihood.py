"""The likelihood of standardised data, and its climb by quasi-Newton steps.

Data are standardised by median and half interquartile range. Parameters are in S0, in which distributions are continuous in all
four, unless the likelihood's `form` says otherwise.
"""

from __future__ import annotations

import contextvars
import math

import numpy as np

from numbastats._core.errors import warn
from numbastats.stable.derivatives import local_length
from numbastats.stable.functions import logpdf
from numbastats.stable.information import expected_information
from numbastats.stable.parameterisations import LEAST_SCALE, Form, converted, peak_place

BATCH = contextvars.ContextVar("numbastats_stable_batch", default=None)  # set in `fit_many`: the event that ends its fits


def warned(message, category=UserWarning):
    """Warn the caller of `fit`; not in `fit_many`, where the filters of `warnings` are shared by its threads."""
    if BATCH.get() is None:
        warn(f"stable.fit: {message}", category)


class Likelihood:
    """Log-likelihood of standardised data, over the mean weight, and its score, with a count; parameters in `form`."""

    exact = True  # not by tables that distributions share, see shared_tables.py

    def __init__(self, x, w, share, options):
        self.x, self.w, self.share, self.options, self.count, self.form = x, w, share, options, 0, Form.S0
        self.stopped = self.between = False  # by the callback; whether the mode of the result is held between observations
        self.known = False  # whether loc is, in S1: next to alpha = 1 a small change of beta moves the distribution far

    def standardised(self, p):
        """Arguments of the standard density, in S0 for that form, else in S1."""
        with np.errstate(over="ignore"):
            z = (self.x - p[2]) / p[3]
        return z + peak_place(p[0], p[1]) if self.form is Form.PEAK else z

    def heed(self):
        """End with the batch."""
        batch = BATCH.get()
        if batch is not None and batch.is_set():
            raise KeyboardInterrupt  # another thread was interrupted

    def values(self, p, shift=0.0):
        """Log density of every observation; `shift` moves the standardised values."""
        self.count += 1
        self.heed()
        param = "S0" if self.form is Form.S0 else "S1"
        return logpdf(self.standardised(p) + shift, p[0], p[1], param=param, **self.options) - math.log(p[3])

    def total(self, values):
        """The weighted sum."""
        return float(values.sum() if self.w is None else values @ self.w)

    def exactly(self, p):
        """The log-likelihood."""
        return self.total(self.values(p))

    def __call__(self, p):
        """The log-likelihood."""
        return self.exactly(p)

    def totals(self, dists):
        """The log-likelihoods of distributions, -inf where they are no numbers."""
        return [finite_total(self.exactly, p) for p in dists]

    def scores(self, p, base, free):
        """Derivatives of the log densities by the free parameters, shape (len(free), n), by central differences."""
        a, b, _, s = p
        rows = {}
        if 0 in free:
            h = min(1e-4 * a, 0.25 * max(2.0 - a, 1e-7), math.inf if self.form is Form.S0 else 1e-2 * (1.0 - a) ** 2)
            rows[0] = (self.values((a + h, *p[1:])) - self.values((a - h, *p[1:]))) / (2.0 * h)
        if 1 in free:
            h = min(2e-4, 2e-3 * abs(1.0 - a)) if self.known else 2e-4
            up, down = min(b + h, 1.0), max(b - h, -1.0)
            rows[1] = (self.values((a, up, *p[2:])) - self.values((a, down, *p[2:]))) / (up - down)
        if 2 in free or 3 in free:
            z, at = (self.x - p[2]) / s, self.standardised(p)
            h = 1e-5 * local_length(a, b, at, at + b * math.tan(0.5 * math.pi * a) if self.form is Form.S0 else at)
            slope = (self.values(p, h) - self.values(p, -h)) / (2.0 * h)
            rows[2], rows[3] = -slope / s, -(slope * z + 1.0) / s
        return np.array([rows[i] for i in free])

    def information(self, a, b, scale):
        """Expected information of one observation."""
        return expected_information(a, b, scale, self.form)

    def ascent(self, p, free, bounds):
        """Where steps by another way than `climb`'s lead from p, and what `climb` returns if they reach an end; here none do."""
        return p, None

    def of_rows(self, p, locations, scales):
        """The totals with the alpha and beta of p and each of so many locations and scales, columns; in S0."""
        with np.errstate(over="ignore"):
            z = (self.x - locations) / scales
        values = logpdf(z, p[0], p[1], **self.options) - np.log(scales)
        self.count += len(locations)
        return values.sum(axis=1) if self.w is None else values @ self.w


def inward(p, bounds):
    """Parameters moved inside the bounds."""
    (a0, a1), (b0, b1) = bounds
    return np.array([min(max(p[0], a0), a1), min(max(p[1], b0), b1), p[2], p[3]])


def finite_total(likelihood, p):
    """The log-likelihood, -inf where it is no number."""
    total = likelihood(p) if np.isfinite(p).all() else math.nan
    return -math.inf if math.isnan(total) else total


def climb(likelihood, start, free, bounds, callback):
    """Quasi-Newton steps from the outer product of the scores, damped, within the bounds.

    A parameter at its bound whose score points outside rests. Ends where the expected gain of a step is below 1e-9, or where
    no step gains. The last result is what a step without damping would still gain.
    """
    p = inward(np.array(start, np.float64), bounds)
    if callback is None:
        p, ended = likelihood.ascent(p, free, bounds)
        if ended is not None:
            return ended
    values = likelihood.values(p)
    best, damping, iterations, left = likelihood.total(values), 1e-3, 0, math.inf if free else 0.0
    J = before = None
    while free and iterations < 100 and math.isfinite(best) and not likelihood.stopped:
        iterations += 1
        with np.errstate(invalid="ignore", over="ignore"):  # -inf beyond the end of a support, steep light tails
            D = likelihood.scores(p, values, free)
            D = np.where(np.isfinite(D), D, 0.0)
            g = D.sum(axis=1) if likelihood.w is None else D @ likelihood.w
            outer = D @ D.T if likelihood.w is None else (D * likelihood.w) @ D.T
            J = outer if J is None else _updated(J, *before, p[free], g, outer)
        lost = any(J[j, j] < 1e-290 for j, i in enumerate(free) if i > 1)  # the square of 1/scale is no number
        if lost or not (np.isfinite(g).all() and np.isfinite(J).all() and np.isfinite(outer).all()):
            left = math.inf
            break
        ends = [bounds[i] if i < 2 else (-math.inf, math.inf) for i in free]
        moving = [
            j for j, i in enumerate(free) if not ((p[i] <= ends[j][0] and g[j] < 0.0) or (p[i] >= ends[j][1] and g[j] > 0.0))
        ]
        if not moving:
            left = 0.0
            break
        for information in (J, outer):  # an update along a flat direction may see a curvature that is not there
            J = information
            scale = np.sqrt(np.maximum(np.diag(J), 1e-300))[moving]
            scaled = J[np.ix_(moving, moving)] / scale[:, None] / scale
            left = 0.5 * float(g[moving] @ _step(scaled, g[moving], scale, 1e-9))
            if left >= 1e-9:
                break
        trial, fresh, total = p, values, -math.inf
        while damping < 1e8:
            step = _step(scaled, g[moving], scale, damping)
            gain = 0.5 * float(g[moving] @ step)
            trial = inward(moved(p, np.array(free)[moving], step), bounds)
            fresh = likelihood.values(trial)
            total = likelihood.total(fresh)
            if total >= best - 1e-12 * abs(best) or gain < 1e-9:
                break
            damping = max(4.0 * damping, 1e-2)
        if not total >= best - 1e-12 * abs(best):
            break
        improved = total - best
        before = p[free], g
        p, values, best = trial, fresh, max(total, best)
        damping = max(0.2 * damping, 1e-9)
        if callback is not None:
            known = p.copy() if likelihood.form is Form.S0 else converted(p, Form.S0, likelihood.form)
            if callback(iterations, known, best * likelihood.share):
                likelihood.stopped = True
                break
        if gain < 1e-9 or (gain < 1e-6 and improved < 1e-9):
            break
    return p, best, iterations, left


def _step(scaled, g, scale, damping):
    return np.linalg.lstsq(scaled + damping * np.eye(g.size), g / scale, rcond=None)[0] / scale


def _updated(J, p0, g0, p1, g1, outer):
    """The BFGS update of the information; the outer product of the scores where the curvature has the wrong sign."""
    s, y = p1 - p0, g0 - g1
    curvature, length = float(s @ y), float(s @ J @ s)
    if not (curvature > 1e-12 * length > 0.0):
        return outer
    v = J @ s
    return J - np.outer(v, v) / length + np.outer(y, y) / curvature


def moved(p, indices, step):
    """Parameters after a step that keeps alpha and scale within reason."""
    p = p.copy()
    for i, change in zip(indices, step, strict=True):
        if i == 3:
            change = p[3] * math.expm1(min(max(change / p[3], -1.0), 1.0))
        elif i == 0:
            change = min(max(change, -0.3 * p[0]), 0.3 * p[0])
        p[i] = max(p[i] + change, LEAST_SCALE) if i == 3 else p[i] + change
    return p
