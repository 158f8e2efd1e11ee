"""Derivatives of the log density with respect to the four parameters, by differences of sixth order."""

from __future__ import annotations

import numpy as np

from numbastats.stable.engine import log_density
from numbastats.stable.parameterisations import CUSP, Form, cusp_scale, in_domain

_CENTRAL = ((-3, -1 / 60), (-2, 3 / 20), (-1, -3 / 4), (1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
_FORWARD = ((0, -147 / 60), (1, 6.0), (2, -7.5), (3, 20 / 3), (4, -3.75), (5, 1.2), (6, -1 / 6))


def scores(x, a, b, m, s, form, one, options, dtype):
    """Derivatives by alpha, beta, loc and scale on a last axis, for arrays of one shape; `one`: all share alpha and beta."""
    result = np.empty((*x.shape, 4), dtype)
    if not x.size:
        return result
    inside = in_domain(a, b, s) & np.isfinite(x) & np.isfinite(m) & np.isfinite(s)
    cusp = a < CUSP
    result[~inside] = np.nan
    with np.errstate(all="ignore"):
        for some, by in ((inside & cusp, score_at_cusp), (inside & ~cusp, score_in_s0)):
            if some.any():
                result[some] = by(*(v[some] for v in (x, a, b, m, s)), form, one, options)
    result[np.isnan(result[..., 2])] = np.nan  # outside the support
    return result


def score_in_s0(x, a, b, m, s, form, one, options):
    """By differences in S0, in which the distribution is continuous; then by the chain rule."""
    z = (x - m) / s
    t = -1.0 / np.tan(0.5 * np.pi * (a - 1.0))  # tan(pi a/2), to rounding also next to alpha = 1
    bent = a == 1.0
    turn = (2.0 / np.pi) * np.log(s)  # what t is to S1 at alpha = 1
    z0 = z - b * np.where(bent, turn, t) if form is Form.S1 else z

    def at(aa, bb, zz):
        return log_density(zz, *((aa[0], bb[0]) if one else (aa, bb)), **options)

    by_alpha, by_beta, slope = _differences(at, a, b, z0, 4e-3 * local_length(a, b, z0, None))
    if form is Form.S1:  # z0 moves with alpha and beta; at alpha = 1 and beta other than 0 it jumps
        by_alpha = np.where(b == 0.0, by_alpha, by_alpha - slope * b * np.where(bent, np.nan, 0.5 * np.pi * (1.0 + t * t)))
        by_beta = by_beta - slope * np.where(bent, turn, t)
        z = z + np.where(bent, b * (2.0 / np.pi), 0.0)
    return np.stack([by_alpha, by_beta, -slope / s, -(slope * z + 1.0) / s], axis=-1)


def score_at_cusp(x, a, b, m, s, form, one, options):
    """By differences in S1, where the cusp stays, with steps that go with the distance to it; then by the chain rule."""
    t = np.tan(0.5 * np.pi * a)
    z = (x - m) / s
    x1 = z + b * t if form is Form.S0 else z

    def at(aa, bb, xx):
        return log_density(xx, *((aa[0], bb[0]) if one else (aa, bb)), form=Form.S1, **options)

    by_a, by_b = -b * (0.5 * np.pi) * (1.0 + t * t), -t  # derivatives of zeta, which moves beneath the point
    lengths = 4e-3 * local_length(a, b, z, x1), 4e-3 / (1.0 + np.abs(by_a)), 8e-3 / (1.0 + np.abs(by_b))
    by_alpha, by_beta, slope = _differences(at, a, b, x1, *lengths)
    if form is Form.S0:
        by_alpha, by_beta = by_alpha - slope * by_a, by_beta - slope * by_b
    return np.stack([by_alpha, by_beta, -slope / s, -(slope * z + 1.0) / s], axis=-1)


def local_length(a, b, z, x1):
    """Length over which the density changes around the standardised z; x1 = z - zeta. All alpha are on one side of `CUSP`."""
    if not np.all(a < CUSP):
        return np.minimum(1.0, a) + 0.2 * np.abs(z)
    peak = np.where(np.abs(b) == 1.0, 0.0, np.minimum(cusp_scale(a, b), a))
    return peak + 0.2 * np.minimum(np.abs(x1), np.abs(z))


def _differences(at, a, b, x, step, along_alpha=4e-3, along_beta=8e-3):
    """Derivatives of at(alpha, beta, x) by alpha, beta and x, with steps of at most the given lengths."""
    far = np.log1p(np.abs(x))  # heavy tails fall with |x|^-alpha
    width = _width(along_alpha * np.minimum(a, 1.0), 2.0 - a)
    by_alpha = _difference(lambda h: at(a + h, b, x) + h * far, width, a, 0.0, 2.0) - far
    by_beta = _difference(lambda h: at(a, b + h, x), _width(along_beta, 1.0 - np.abs(b)), b, -1.0, 1.0)
    return by_alpha, by_beta, _difference(lambda h: at(a, b, x + h), step, x, -np.inf, np.inf)


def _width(length, room):
    """Steps that go with the distance to the end of the domain, as tails do there; next to the end some that lead inward."""
    return np.where(room > 0.1 * length, np.minimum(length, 0.012 * room), 0.25 * length)


def _difference(f, h, value, low, high):
    """Derivative at 0 of f, of sixth order, with steps h that keep value + step within [low, high].

    One-sided ones are of e^f, over e^f: at the end of the domain a light tail and a heavy one add, which is far from linear in f.
    """
    central = (value - 3 * h >= low) & (value + 3 * h <= high)
    result = np.full(np.shape(value), np.nan)
    with np.errstate(all="ignore"):
        if central.any():
            result = np.where(central, sum(w * f(np.where(central, k * h, 0.0)) for k, w in _CENTRAL) / h, result)
        if not central.all():
            inward = np.where(value + 3 * h > high, -h, h)
            logs = np.array([f(np.where(central, 0.0, k * inward)) for k, _ in _FORWARD])
            most = logs.max(axis=0)
            slope = sum(w * np.exp(v - most) for (_, w), v in zip(_FORWARD, logs, strict=True)) / inward
            result = np.where(central, result, slope * np.exp(most - logs[0]))
    return result
