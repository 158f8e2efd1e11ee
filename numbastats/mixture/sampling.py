"""Draws from mixtures."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.random import Purpose, normalise_rng
from numbastats.mixture.tails import gamma_tail, quantile
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam

__all__ = ["draws", "poisson_quantile"]


def poisson_quantile(u, m):
    """The smallest counts whose distribution function at mean m reaches u, for 2^-54 < u < 1.

    From a table of the distribution function; for means from 1e6 on by Cornish and Fisher's expansion, whose error is below 1e-5
    of a count.
    """
    from scipy.special import ndtri

    root = math.sqrt(m)
    if m >= 1e6:
        z = ndtri(u)
        return np.rint(m + root * z + (z * z - 1.0) / 6.0 + z * (1.0 - z * z) / (72.0 * root))
    first = max(0.0, math.floor(m - 10.0 * root))
    counts = np.arange(first, m + 10.0 * root + 60.0)  # the rest has less mass than 2^-60
    return first + np.searchsorted(gamma_tail(counts + 1.0, m, True), u)


def _latent_draws(family, par, which, seeds):
    """A value of each of the components `which`, by its latent variable."""
    m, v, shape = par[1][which], par[2][which], which.shape
    if family.code == lat.STUDENT_T:
        half = 0.5 * par[3][which]
        return m + np.sqrt(v / random.gamma(half, 1.0 / half, shape, rng=seeds[2])) * random.normal(size=shape, rng=seeds[1])
    if family.code == lat.SKEW_NORMAL:
        s = par[3][which]
        z = s * np.abs(random.normal(size=shape, rng=seeds[2])) + random.normal(size=shape, rng=seeds[1])
        return m + np.sqrt(v / (1.0 + s * s)) * z
    u, y = np.asarray(random.uniform(size=shape, rng=seeds[1])), np.empty(shape)
    for k in range(par.shape[1]):
        one = np.concatenate([[[1.0]], par[1:, [k]]])
        y[which == k] = quantile(u[which == k], family, one, np.float64)
    return y


def draws(family, par, size, rng):
    """Components by their weights, then a value of each."""
    seeds = np.random.SeedSequence([int(normalise_rng(rng)), int(Purpose.MIXTURE_SAMPLE)]).spawn(3)
    u = np.asarray(random.uniform(size=size, rng=seeds[0]))
    edges = np.cumsum(par[0])
    which = np.minimum(np.searchsorted(edges, u * edges[-1]), par.shape[1] - 1)
    m, v = par[1][which], par[2][which]
    if family.latent:
        y = _latent_draws(family, par, which, seeds)
    elif family.base == fam.INVERSE_GAUSSIAN:  # Michael, Schucany and Haas (1976)
        z = random.normal(size=u.shape, rng=seeds[1])
        h = 0.5 * m * v * z * z
        root = 1.0 / (1.0 + h + np.sqrt(h) * np.sqrt(2.0 + h))  # the smaller root over m, without cancellation
        y = np.where(random.uniform(size=u.shape, rng=seeds[2]) * (1.0 + root) <= 1.0, m * root, m / root)
    elif family.base == fam.GAUSSIAN:
        y = random.normal(m, np.sqrt(v), u.shape, rng=seeds[1])
    elif family.base in (fam.GAMMA, fam.FIXED_GAMMA):
        a = 1.0 / v if family.base == fam.GAMMA else np.full(u.shape, family.shape)
        y = random.gamma(a, m / a, u.shape, rng=seeds[1])
    elif family.base == fam.POISSON:
        p, y = np.asarray(random.uniform(size=u.shape, rng=seeds[1])), np.empty(u.shape)
        for k, mean in enumerate(par[1]):
            y[which == k] = poisson_quantile(p[which == k], mean)
    else:
        y = np.floor(random.exponential(size=u.shape, rng=seeds[1]) / np.log1p(1.0 / m))
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(family.backward(y))[()]
