"""Draws from mixtures."""

from __future__ import annotations

import numpy as np

import numbastats.random as random
from numbastats._core.broadcast import size_to_shape
from numbastats._core.launch import choose_device, launch_all
from numbastats._core.random import Purpose, key_words, normalise_rng, stream_word
from numbastats.mixture import kernels
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam


def draws(family, par, size, rng):
    """Components by their weights, then a value of each: of normal ones in one pass, of others by their distributions."""
    from numbastats.distributions import InverseGaussian

    key, edges = int(normalise_rng(rng)), np.cumsum(par[0]) / par[0].sum()
    if family.code == fam.GAUSSIAN:
        with np.errstate(over="ignore"):
            return family.backward(_normal(np.stack([edges, par[1], np.sqrt(par[2])]), key, size))[()]
    seeds = np.random.SeedSequence([key, int(Purpose.MIXTURE_SAMPLE)]).spawn(3)
    u = np.asarray(random.uniform(size=size, rng=seeds[0]))
    which = np.zeros(u.shape, np.int64)
    for edge in edges[:-1]:
        which += u >= edge
    if family.code == lat.SKEW_NORMAL:  # Azzalini's sum; the distribution's draws invert its distribution function
        m, v, s = (row.take(which) for row in par[1:])
        z = s * np.abs(random.normal(size=u.shape, rng=seeds[2])) + random.normal(size=u.shape, rng=seeds[1])
        return np.asarray(m + np.sqrt(v / (1.0 + s * s)) * z)[()]
    y, reciprocal = np.empty(u.shape), family.name == "reciprocal_inverse_gaussian"
    for p, k, seed in zip(par.T, range(par.shape[1]), seeds[1].spawn(par.shape[1]), strict=True):
        at = which == k
        part = InverseGaussian(p[1], 1.0 / p[2]) if reciprocal else family.components(p)
        y[at] = part.rvs(int(at.sum()), rng=seed)
    return (1.0 / y if reciprocal else y)[()]


def _normal(table, key, size):
    """Draws from normal components, of a table of the sums of the weights, means and deviations."""
    out = np.empty(size_to_shape(size, (), None))
    streams = (stream_word(Purpose.MIXTURE_SAMPLE, i) for i in range(2))
    words, flat = (*key_words(key), *streams), out.reshape(-1)
    if flat.size:
        where, cost = choose_device(None), 6.0 + 0.5 * table.shape[1]
        launch_all(
            kernels.DRAWS, lambda lo, hi: (*words, np.int64(lo), table), (flat,), flat.size, device=where, workers=None, cost=cost
        )
    return out
