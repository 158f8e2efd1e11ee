"""Draws from mixtures."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.random import Purpose, normalise_rng
from numbastats.mixture.tails import poisson_tail, quantile
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
    return first + np.searchsorted(poisson_tail(counts, m, False), u)


def draws(family, par, size, rng):
    """Components by their weights, then a value of each: of its distribution, or for counts at a uniform probability."""
    from numbastats.distributions import InverseGaussian

    seeds = np.random.SeedSequence([int(normalise_rng(rng)), int(Purpose.MIXTURE_SAMPLE)]).spawn(3)
    u = np.asarray(random.uniform(size=size, rng=seeds[0]))
    edges = np.cumsum(par[0])
    which = np.minimum(np.searchsorted(edges, u * edges[-1]), par.shape[1] - 1)
    if family.code == lat.SKEW_NORMAL:  # Azzalini's sum; the distribution's draws invert its distribution function
        m, v, s = par[1:, which]
        z = s * np.abs(random.normal(size=u.shape, rng=seeds[2])) + random.normal(size=u.shape, rng=seeds[1])
        y = m + np.sqrt(v / (1.0 + s * s)) * z
    elif family.name == "reciprocal_inverse_gaussian":
        y = 1.0 / InverseGaussian(par[1, which], 1.0 / par[2, which]).rvs(which.shape, rng=seeds[1])
    elif not family.discrete:
        y = family.components(par[:, which]).rvs(which.shape, rng=seeds[1])
    elif family.base == fam.GEOMETRIC:
        y = np.floor(random.exponential(size=u.shape, rng=seeds[1]) / np.log1p(1.0 / par[1][which]))
    else:
        p, y = np.asarray(random.uniform(size=u.shape, rng=seeds[1])), np.empty(u.shape)
        for k in range(par.shape[1]):
            one, at = np.concatenate([[[1.0]], par[1:, [k]]]), which == k
            y[at] = quantile(p[at], family, one, np.float64) if family.latent else poisson_quantile(p[at], par[1, k])
    return np.asarray(y)[()]
