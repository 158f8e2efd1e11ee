"""Draws from mixtures."""

from __future__ import annotations

import numpy as np

import numbastats.random as random
from numbastats._core.random import Purpose, normalise_rng
from numbastats.scalar import latent as lat

__all__ = ["draws"]


def draws(family, par, size, rng):
    """Components by their weights, then a value of each: of its distribution."""
    from numbastats.distributions import InverseGaussian

    seeds = np.random.SeedSequence([int(normalise_rng(rng)), int(Purpose.MIXTURE_SAMPLE)]).spawn(3)
    u, edges = np.asarray(random.uniform(size=size, rng=seeds[0])), np.cumsum(par[0])
    which = np.zeros(u.shape, np.int64)
    for edge in edges[:-1]:
        which += u * edges[-1] >= edge
    if family.code == lat.SKEW_NORMAL:  # Azzalini's sum; the distribution's draws invert its distribution function
        m, v, s = par[1:, which]
        z = s * np.abs(random.normal(size=u.shape, rng=seeds[2])) + random.normal(size=u.shape, rng=seeds[1])
        return np.asarray(m + np.sqrt(v / (1.0 + s * s)) * z)[()]
    y, reciprocal = np.empty(u.shape), family.name == "reciprocal_inverse_gaussian"
    for p, k, seed in zip(par.T, range(par.shape[1]), seeds[1].spawn(par.shape[1]), strict=True):
        at = which == k
        part = InverseGaussian(p[1], 1.0 / p[2]) if reciprocal else family.components(p)
        y[at] = part.rvs(int(at.sum()), rng=seed)
    return (1.0 / y if reciprocal else y)[()]
