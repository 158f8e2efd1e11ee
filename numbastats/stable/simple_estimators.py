"""Estimates in S0 without a search, from standardised data: quantiles, characteristic function, moments of logarithms."""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats.stable import mcculloch
from numbastats.stable.arguments import NAMES, weighted_quantiles
from numbastats.stable.kernels.climbing import log_moments
from numbastats.stable.parameterisations import LEAST_SCALE, LOWEST, converted

_EULER = 0.5772156649015329
_ALPHAS, _BETAS = np.array([*mcculloch.ALPHAS, 2.0]), np.array(mcculloch.BETAS)
_FINER = np.linspace(-1.0, 1.0, 15)
_FREQUENCIES = 0.1 * np.arange(1, 11)
_OFF_MEAN = np.log(_FREQUENCIES) - np.log(_FREQUENCIES).mean()


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
    """Koutrouvelis (1980), Kogon and Williams (1998): regressions on the logarithm of the empirical characteristic function."""
    a, b, m, s = 1.5, 0.0, 0.0, 1.0
    t = _FREQUENCIES
    for _ in range(3):  # standardised anew each time
        y = t[0] * ((x - m) / s)
        turn = np.cos(y) + 1j * np.sin(y)
        power, phi = np.ones_like(turn), np.empty(t.size, np.complex128)
        for k in range(t.size):  # multiples of the first frequency
            power *= turn
            phi[k] = weighted_mean(power, w)
        size = np.clip(abs(phi), 1e-12, 1.0 - 1e-12)
        response = np.log(-2.0 * np.log(size))
        a = min(max(float(_OFF_MEAN @ response / (_OFF_MEAN @ _OFF_MEAN)), 0.2), 2.0) if alpha is None else alpha
        c = float(np.mean(response - a * np.log(t)))
        s1 = math.exp((c - math.log(2.0)) / a)
        if a == 1.0:
            shape = -(2.0 / math.pi) * s1 * t * np.log(s1 * t)
        else:
            shape = math.tan(0.5 * math.pi * a) * ((s1 * t) ** a - s1 * t)
        angle = np.unwrap(np.angle(phi))
        across = shape - t * (t @ shape / (t @ t))  # of the regression on t
        if beta is None and abs(shape).max() > 1e-9 and (length := float(across @ across)) > 0.0:
            b = min(max(float(across @ angle) / length, -1.0), 1.0)
        else:
            b = 0.0 if beta is None else beta
        m1 = float(t @ (angle - b * shape) / (t @ t))
        m, s = m + s * m1, s * s1
    return a, b, m, s


def half_sample_mode(x, w):
    """Robertson and Cryer (1974): the densest half of values in order, again and again."""
    w = np.ones(x.size) if w is None else w
    while x.size > 3 and x[0] < x[-1]:
        mass = np.cumsum(w)
        ends = np.searchsorted(mass, (mass - w) + (0.5 - 1e-12) * mass[-1])
        first = np.flatnonzero(ends < x.size)
        i = first[np.argmin(x[ends[first]] - x[first])]
        x, w = x[i : ends[i] + 1], w[i : ends[i] + 1]
    if x.size == 3:
        x = x[:2] if x[1] - x[0] < x[2] - x[1] else x[1:]
    return float(x[0] if x[0] == x[-1] else x.mean())


def by_logarithms(x, w=None, alpha=None, beta=None):
    """Moments of log|x - mode|, for alpha below about 0.5; its location is the one of S1."""
    alphas = (LOWEST, 0.99) if alpha is None else (alpha, alpha)
    betas = (-1.0, 1.0) if beta is None else (beta, beta)
    return tuple(converted(by_moments_about(half_sample_mode(x, w), x, w, alphas, betas), "S0"))


def by_moments_about(mode, x, w, alphas, betas, scale=None):
    """Parameters in S1, within limits, by the moments of log|x - mode|: the first two, or with a known scale the first."""
    return next(by_moments_about_each(np.array([mode]), x, w, alphas, betas, scale))


def by_moments_about_each(modes, x, w, alphas, betas, scale=None):
    """The same for every mode in turn."""
    found = np.empty((modes.size, 3))
    log_moments(x, np.ones_like(x) if w is None else np.asarray(w, np.float64), modes, found)
    for mode, moments in zip(modes.tolist(), found.tolist(), strict=True):
        yield _of_moments(mode, *moments, alphas, betas, scale)


def _of_moments(mode, centre, variance, share, alphas, betas, scale):
    """Parameters in S1 by mean and variance of log|x - mode| and the share of x > mode."""
    theta = math.pi * (share - 0.5)
    if scale is None:
        a = math.sqrt(math.pi**2 / 6.0 / max(variance - math.pi**2 / 12.0 + theta**2, 1e-3))
    else:
        a = _EULER / (_EULER + max(centre - math.log(scale), 0.0))
    a = min(max(a, alphas[0]), alphas[1])
    angle = min(max(a * theta, -0.5 * math.pi * min(a, 0.999)), 0.5 * math.pi * min(a, 0.999))
    b = math.tan(angle) / math.tan(0.5 * math.pi * a) if a < 1.0 else 0.0
    b = min(max(b, betas[0]), betas[1])
    if scale is None:
        scale = math.exp(centre - _EULER * (1.0 / a - 1.0) + math.log(max(math.cos(a * theta), 1e-9)) / a)
        scale = max(scale, LEAST_SCALE)
    return np.array([a, b, mode, scale])


SIMPLE = {"quantile": by_quantiles, "ecf": by_characteristic_function, "small": by_logarithms}
REACH = {"quantile": (0.5, 3.0), "ecf": (0.2, 3.0), "small": (0.0, 0.99)}  # where alpha is held; that 2 is no end of theirs


def simple_estimate(name, x, w, known, form):
    """One of these estimates, with what is known; a location known in S1 is that of the mode for small alpha."""
    if name == "small" and form == "S1":
        limits = [(known.get(n, low), known.get(n, high)) for n, low, high in (("alpha", LOWEST, 0.99), ("beta", -1.0, 1.0))]
        p = by_moments_about(known["loc"], x, w, *limits)
    else:
        p = np.array(SIMPLE[name](x, w, known.get("alpha"), known.get("beta")))
    p[3] = max(p[3], LEAST_SCALE)
    return np.array([known.get(n, v) for n, v in zip(NAMES, p, strict=True)])
