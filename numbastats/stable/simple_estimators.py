"""Estimates in S0 without a search, from standardised data: quantiles, characteristic function, moments of logarithms."""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats.stable import mcculloch
from numbastats.stable.arguments import NAMES, weighted_quantiles
from numbastats.stable.kernels import simple
from numbastats.stable.parameterisations import LEAST_SCALE, LOWEST, Form, converted

_ALPHAS, _BETAS = np.array([*mcculloch.ALPHAS, 2.0]), np.array(mcculloch.BETAS)
_FINER = np.linspace(-1.0, 1.0, 15)


def weighted_mean(values, w):
    """The mean over the last axis; all weights are 1 where w is None."""
    return values.mean(axis=-1) if w is None else values @ w / w.sum()


@functools.cache
def _quantile_tables():
    """McCulloch's ratios on a grid of (alpha, beta) as splines."""
    from scipy.interpolate import RectBivariateSpline
    from scipy.special import ndtri

    p = np.array(mcculloch.PROBABILITIES)
    q = np.full((_ALPHAS.size, _BETAS.size, p.size), math.sqrt(2.0) * ndtri(p))  # of alpha = 2
    q[:-1] = np.reshape(mcculloch.QUANTILES, q[:-1].shape)
    q05, q25, q50, q75, q95 = np.moveaxis(q, 2, 0)
    spread = q95 - q05
    ratios = (spread / (q75 - q25), (q95 + q05 - 2.0 * q50) / spread, q75 - q25, q50)
    return [RectBivariateSpline(_ALPHAS, _BETAS, r, kx=3, ky=3) for r in ratios]


def by_quantiles(x, w=None, alpha=None, beta=None):
    """McCulloch (1986), with alpha or beta given if they are."""
    q05, q25, q50, q75, q95 = weighted_quantiles(x, w, (0.05, 0.25, 0.5, 0.75, 0.95))
    width, skew, quartiles, median = _quantile_tables()
    v, u = (q95 - q05) / (q75 - q25), (q95 + q05 - 2.0 * q50) / (q95 - q05)
    sign = math.copysign(1.0, u if beta is None else beta)
    if alpha is None or beta is None:
        A = _ALPHAS if alpha is None else np.array([np.clip(alpha, 0.5, 2.0)])
        B = _BETAS if beta is None else np.array([abs(beta)])
        da, db = 0.5, 0.8  # the first of them wider than a cell
        for _ in range(9):  # a grid around the best point, ever finer
            miss = (np.log(width(A, B)) - math.log(v)) ** 2 + (skew(A, B) - abs(u)) ** 2
            i, j = np.unravel_index(np.argmin(miss), miss.shape)
            a, b, da, db = A[i], B[j], 0.2 * da, 0.2 * db
            A = np.clip(a + da * _FINER, 0.5, 2.0) if alpha is None else A
            B = np.clip(b + db * _FINER, 0.0, 1.0) if beta is None else B
    else:
        a, b = np.clip(alpha, 0.5, 2.0), abs(beta)
    scale = (q75 - q25) / float(quartiles(a, b)[0, 0])
    return float(a), float(sign * b), float(q50 - sign * scale * median(a, b)[0, 0]), scale


def by_characteristic_function(x, w=None, alpha=None, beta=None):
    """Koutrouvelis (1980), Kogon and Williams (1998)."""
    p = np.array([alpha, beta, 0.0, 1.0], np.float64)  # NaN for None
    simple.by_characteristic_function(x, _weights(x, w), p)
    return tuple(p)


def half_sample_mode(x, w):
    """Robertson and Cryer (1974): the densest half of values in order, again and again."""
    found = np.empty(1)
    simple.half_sample_mode(x, _weights(x, w), found)
    return float(found[0])


def by_logarithms(x, w=None, alpha=None, beta=None):
    """Moments of log|x - mode|, for alpha below about 0.5; its location is the one of S1."""
    alphas = (LOWEST, 0.99) if alpha is None else (alpha, alpha)
    betas = (-1.0, 1.0) if beta is None else (beta, beta)
    return tuple(converted(by_moments_about([half_sample_mode(x, w)], x, w, (alphas, betas))[0], Form.S0))


def by_moments_about(modes, x, w, limits, scale=None):
    """Parameters in S1, within limits, by the moments of log|x - mode|: the first two, or with a known scale the first; rows."""
    modes, found = np.array(modes, np.float64), np.empty((len(modes), 4))
    simple.by_moments_about(x, _weights(x, w), modes, np.array(limits, np.float64), np.array([scale], np.float64), found)
    return found


def _weights(x, w):
    """Weights that are 1 where there are none."""
    return np.ones_like(x) if w is None else np.asarray(w, np.float64)


SIMPLE = {"quantile": by_quantiles, "ecf": by_characteristic_function, "small": by_logarithms}
REACH = {"quantile": (0.5, 3.0), "ecf": (0.2, 3.0), "small": (0.0, 0.99)}  # where alpha is held; that 2 is no end of theirs


def simple_estimate(name, x, w, known, form):
    """One of these estimates, with what is known; a location known in S1 is that of the mode for small alpha."""
    if name == "small" and form is Form.S1:
        limits = [(known.get(n, low), known.get(n, high)) for n, low, high in (("alpha", LOWEST, 0.99), ("beta", -1.0, 1.0))]
        p = by_moments_about([known["loc"]], x, w, limits)[0]
    else:
        p = np.array(SIMPLE[name](x, w, known.get("alpha"), known.get("beta")))
    p[3] = max(p[3], LEAST_SCALE)
    return np.array([known.get(n, v) for n, v in zip(NAMES, p, strict=True)])
