"""Information criteria: BIC, AIC, ICL."""

from __future__ import annotations

import math

import numpy as np

from numbastats.mixture import kernels
from numbastats.mixture.density import latent_numbers


def free_parameters(family, K):
    """Number of free parameters of K components."""
    return (1 + len(family.parameters)) * K - 1


def criteria(criterion, p, results):
    """The criterion of each data set (rows) for the results of each number of components (columns)."""
    mass = np.maximum(p.info["mass"], 1.0)
    out = np.full((mass.size, len(results)), np.nan)
    for j, r in enumerate(results):
        free = free_parameters(p.family, r.par.shape[2])
        out[:, j] = 2.0 * free - 2.0 * r.loglik if criterion == "aic" else free * np.log(mass) - 2.0 * r.loglik
        if criterion == "icl":
            out[:, j] += 2.0 * _entropy(p, r)
    return out


def _entropy(p, r):
    """Sum over the observations of the entropy of the responsibilities."""
    D, K = r.par.shape[0], r.par.shape[2]
    total = np.full(D, np.nan)
    host = [a if isinstance(a, np.ndarray) else a.copy_to_host() for a in (p.sets.t1, p.sets.w)]
    for d in range(D):
        if np.isfinite(r.loglik[d]):
            c = p.info["centre"][d]
            x, w = (a[p.off[d] : p.off[d + 1]] for a in host)
            out, resp = np.empty(x.size), np.empty((K, x.size))
            if p.family.latent:
                P = latent_numbers(p.family, r.par[d], c)
                kernels.LATENT_SCORES[p.family.code].serial(x, P, out, resp, np.empty((0, 5, x.size)))
            else:
                P = np.empty((3, K))
                kernels.on_host.set_coefficients(P, np.ascontiguousarray(r.par[d]), p.family.base, float(p.family.shape), c)
                numbers = -math.inf, 1.0, c, 0.0, 0.0, 0.0, 0.0
                values = x + c, *[np.empty(0)] * 2, kernels.Support(1, 0), p.family.base, numbers
                kernels.SCORES.serial(*values, P, out, resp, np.empty((0, x.size)))
            total[d] = -np.dot(np.sum(resp * np.log(np.maximum(resp, 1e-300)), axis=0), w)
    return total
