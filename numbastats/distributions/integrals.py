"""Integrals of functions of quantiles over probabilities, also where they converge as slowly as they can."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.errors import ConvergenceWarning, warn

__all__ = ["over_probabilities"]

_DEPTHS = np.exp2(np.arange(1, 7))  # of panels: -log of the probability, as a share of the width
_PANELS = 8  # of the tail, each twice as long as the one before
_FINE, _COARSE = 32, 20  # nodes of Gauss and Legendre on a panel, whose sums have to agree
_TERMS = 8  # of a logarithm as a function of y: 1, y, log y, 1/y, 1/y^2 ...
_ROUNDING = 3e-16


def over_probabilities(distribution, name, first, width, func):
    """Integral of a function of the quantiles over probabilities from `first` to first + width."""
    first, width = np.broadcast_arrays(first, width)
    at = _Stretched(distribution, name, first, width)
    shape = np.broadcast_shapes(first.shape, distribution.batch_shape)
    value, slow = _tanh_sinh(lambda v: func(at(v)), shape)
    slow = slow & (width > 0.0)
    if slow.any():
        value = np.where(slow, _slowly(at, func, slow), value)
    return np.where(width == 0.0, 0.0, width * value)


class _Stretched:
    """Quantiles at first + width v for a vector v, in a last axis, for every element of `first` and `width`."""

    def __init__(self, distribution, name, first, width):
        self.first, self.width = np.asarray(first)[..., None], np.asarray(width)[..., None]
        self.distribution = distribution._with_axis()
        self.quantile = getattr(self.distribution, name)

    def __call__(self, v):
        u = self.first + self.width * v
        return self.quantile(np.maximum(u, np.minimum(1e-305, self.first + self.width)))  # no underflow to 0


def _tanh_sinh(f, shape):
    """Integral over (0, 1) of a function of a vector of nodes, and where it is not known: where terms next to 0 still count.

    Singularities are resolved at 0 down to 1e-275. The step is halved until two sums agree to 1e-12 of that of absolute values.
    """
    last_step, first, last = 2.0**-6, -6.0, 3.25
    total, absolute, edge, error = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.full(shape, math.inf)
    step = 0.25
    t = np.arange(first, last, step)
    while True:
        v = 1.0 / (1.0 + np.exp(-math.pi * np.sinh(t)))
        slope = math.pi * np.cosh(t) / (2.0 + 2.0 * np.cosh(math.pi * np.sinh(t)))
        with np.errstate(all="ignore"):
            terms = np.asarray(f(v)) * slope
            terms = np.where(slope == 0.0, 0.0, terms)
            before, total = total * step * 2.0, total + terms.sum(axis=-1)
            absolute = absolute + np.abs(terms).sum(axis=-1)
            if step == 0.25:
                edge = np.abs(terms[..., 0])
            else:
                error = np.abs(total * step - before)
            slow = ~(edge <= 1e-12 * absolute * step) & ~np.isnan(edge) | (edge == math.inf)
            good = slow | np.isnan(total) | (error <= 1e-12 * absolute * step)
        if good.all() or step == last_step:
            break
        step *= 0.5
        t = np.arange(first + step, last, 2.0 * step)
    _tell(~good & ~(error <= 1e-6 * absolute * step))
    return total * step, slow


def _tell(wrong):
    if np.any(wrong):
        warn("an integral has an estimated relative error above 1e-6; end it (lb, ub) at kinks and jumps", ConvergenceWarning)


def _slowly(at, func, slow):
    """Integral over (0, 1) of func(at(v)), where its part next to 0 goes on beyond all doubles.

    Down to v = e^-64, or as far as the doubles go, by sums. From there on over the logarithm y of the distance to the end of the
    support, or where that is infinite to a point inside: the integrand's logarithm is there a straight line, but for powers of y,
    which is known where it has been followed for far enough. Its slope says whether there is an integral.
    """
    rest = 1.0 - math.exp(-_DEPTHS[0])
    value = rest * _tanh_sinh(lambda v: func(at(1.0 - rest + rest * v)), slow.shape)[0]
    depth, weights = _panels(_DEPTHS)
    terms = np.asarray(func(at(np.exp(-depth)))) * np.exp(-depth)
    terms = np.broadcast_to(terms, (*slow.shape, depth.size)).reshape((*slow.shape, -1, _FINE + _COARSE))
    tail = _Tail(at, func)
    starts = tail.distance(at(np.exp(-_DEPTHS)))
    known = np.isfinite(terms).all(axis=-1) & (starts[..., 1:] <= 0.5 * tail.most)
    known = np.logical_and.accumulate(known, axis=-1)
    start = np.take_along_axis(starts, known.sum(axis=-1, keepdims=True), axis=-1)
    terms = np.where(known[..., None], terms, 0.0)
    fine, coarse = (np.sum(w * terms, axis=(-2, -1)) for w in weights.reshape(2, -1, _FINE + _COARSE))
    reach = tail.reach(start)
    y, weights = _panels(np.exp2(np.arange(_PANELS + 1)) - 1.0)
    whole = 2.0**_PANELS - 1.0
    y = start + (reach - start) * (y / whole)
    sign, logs, noise = tail.logarithms(y)
    width = np.broadcast_to(at.width[..., 0], slow.shape)
    with np.errstate(all="ignore"):
        far = (sign * np.exp(logs))[..., None, :] * weights * ((reach - start) / (whole * width[..., None]))[..., None]
    fine, coarse = fine + far[..., 0, :].sum(axis=-1), coarse + far[..., 1, :].sum(axis=-1)
    beyond, lost = np.zeros(slow.shape), np.zeros(slow.shape, bool)
    for i in map(tuple, np.argwhere(slow)):
        beyond[i], error = _beyond(y[i], sign[i], logs[i], noise[i], float(reach[i][0])) / width[i]
        lost[i] = ~(error <= 1e-6 * (np.abs(beyond[i]) + np.abs(value[i] + fine[i])))
    infinite = np.isinf(value)
    lost &= ~infinite
    value = np.where(np.isinf(beyond) & ~infinite, beyond, value + np.where(infinite, 0.0, fine + beyond))
    _tell(slow & ~lost & np.isfinite(value) & ~(np.abs(fine - coarse) <= 1e-6 * np.abs(value)))
    if lost.any():
        warn("an integral, or whether there is one, depends on values beyond all doubles: it is NaN", ConvergenceWarning)
    return np.where(lost, math.nan, value)


def _panels(edges):
    """Nodes of Gauss and Legendre on panels, of two orders one after the other, and the weights of each order."""
    nodes, weights = zip(*map(np.polynomial.legendre.leggauss, (_FINE, _COARSE)), strict=True)
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    both = half * np.concatenate([weights[0], np.zeros(_COARSE)]), half * np.concatenate([np.zeros(_FINE), weights[1]])
    return (middle + half * np.concatenate(nodes)).reshape(-1), np.stack(both).reshape(2, -1)


class _Tail:
    """The integrand next to an end of the support as a function of y, which grows towards the end, infinite or not."""

    def __init__(self, at, func):
        self.density, self.func = at.distribution.logpdf, func
        inner, near = (at(np.array([math.exp(-depth)])) for depth in (1.0, _DEPTHS[0]))
        end = np.broadcast_to(at.quantile(at.first), near.shape)
        finite = np.isfinite(end)
        self.origin, self.outward = np.where(finite, end, inner), np.where(finite, -1.0, 1.0)
        least = np.where(end == 0.0, 1e-300, 1e-10 * np.abs(end))
        with np.errstate(all="ignore"):
            self.side, self.log_unit = np.sign(near - self.origin), np.log(np.abs(near - self.origin))
            self.most = self.outward * (np.log(np.where(finite, least, 1e308)) - self.log_unit)

    def distance(self, x):
        """y at x."""
        with np.errstate(all="ignore"):
            return self.outward * (np.log(np.abs(x - self.origin)) - self.log_unit)

    def reach(self, start):
        """The last y from `start` on as far as which logarithms are finite."""
        low, high = start, self.most
        for _ in range(3):
            y = low + (high - low) * (np.arange(33) / 32)
            count = np.logical_and.accumulate(np.isfinite(self.logarithms(y)[1]), axis=-1).sum(axis=-1, keepdims=True)
            low = np.take_along_axis(y, np.maximum(count - 1, 0), axis=-1)
            high = np.take_along_axis(y, np.minimum(count, 32), axis=-1)
        return low

    def logarithms(self, y):
        """The sign of the function, the logarithm of its absolute value times density and distance, errors of that and of y."""
        with np.errstate(all="ignore"):
            x = self.origin + self.side * np.exp(self.outward * y + self.log_unit)
            value = np.broadcast_to(np.asarray(self.func(x), np.float64), x.shape)
            parts = np.log(np.abs(value)), self.density(x), np.log(np.abs(x - self.origin))
            moved = np.where(self.outward < 0.0, 1e-16 * np.abs(self.origin / (x - self.origin)), 0.0)
        return np.sign(value), sum(parts), np.stack([_ROUNDING * sum(map(np.abs, parts)), moved], axis=-2)


def _beyond(y, sign, logs, noise, reach):
    """Integral of the exponential of `logs` from y = reach on, and its error, from values before: by the most certain of fits."""
    found = [(math.nan, math.inf)]
    for first in (0.25, 0.5, 0.75):
        use = (y >= first * reach) & np.isfinite(logs)
        if use.sum() < _FINE // 2 or (sign[use] != sign[use][0]).any():
            return np.array([math.nan, math.inf])
        r, values, slope = y[use] / reach, logs[use], np.ptp(logs[use]) / np.ptp(y[use])
        tolerance = (noise[0] + slope * noise[1])[use].max()
        columns = np.stack([np.ones_like(r), r - 1.0, np.log(r), *(r**-k - 1.0 for k in range(1, _TERMS - 2))], axis=1)
        value, away, relative = _fitted(columns[:, :2], values, tolerance, reach)
        for terms in range(3, _TERMS + 1):
            other = _fitted(columns[:, :terms], values, tolerance, reach)
            if away <= 3.0 * tolerance:
                if len(found) == 1 and value == math.inf:
                    return np.array([sign[use][0] * math.inf, 0.0])
                if value + other[0] < math.inf:
                    found.append((sign[use][0] * value, np.abs(value - other[0]) + relative * value))
                if found[-1][1] <= 1e-11 * value:
                    return np.array(found[-1])
            value, away, relative = other
    if len(found) == 1 and np.all(np.diff(values[np.argsort(r)]) >= -tolerance):
        return np.array([sign[use][0] * math.inf, 0.0])
    return np.array(min(found, key=lambda pair: pair[1]))


def _fitted(basis, logs, tolerance, reach):
    """The integral of the exponential of a sum of terms fitted to `logs`, how far these are from it, and the slope's error."""
    coefficients = np.linalg.lstsq(basis, logs, rcond=None)[0]
    away = np.abs(basis @ coefficients - logs).max()
    spread = max(tolerance, away) * np.abs(np.linalg.pinv(basis)[1]).sum()
    relative = spread / max(np.abs(coefficients[1]), 1e-300)
    if relative >= 1.0 and spread <= 1e-6:  # no exponential decay: a power of y, or none
        coefficients = np.insert(np.linalg.lstsq(np.delete(basis, 1, axis=1), logs, rcond=None)[0], 1, 0.0)
        away, relative = np.abs(basis @ coefficients - logs).max(), 0.0
    return _of_fitted(coefficients, reach), away, relative


def _of_fitted(coefficients, reach):
    """Integral over y from `reach` on of the exponential of the fitted sum; inf where that is not finite."""
    slope, power = coefficients[1], coefficients[2] if coefficients.size > 2 else 0.0
    if slope > 0.0 or (slope == 0.0 and power >= -1.0):
        return math.inf
    most = math.log1p(750.0 / -slope) if slope < 0.0 else 45.0 / (-1.0 - power)
    u, weights = _panels(np.linspace(0.0, most, 41))
    r = np.exp(u)
    total = coefficients[0] + slope * (r - 1.0) + (power + 1.0) * u
    total = total + sum(c * (r**-k - 1.0) for k, c in enumerate(coefficients[3:], 1))
    with np.errstate(over="ignore"):
        return float(weights[0] @ np.exp(total)) * reach
