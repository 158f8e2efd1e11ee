"""Information criteria: BIC, AIC, ICL."""

from __future__ import annotations

import numpy as np


def free_parameters(family, K):
    """Number of free parameters of K components."""
    return (1 + len(family.parameters)) * K - 1


def criteria(criterion, p, results, entropies=None):
    """The criterion of each data set (rows) for the results of each number of components (columns).

    `entropies` are those of the responsibilities, for ICL.
    """
    mass = np.maximum(p.info["mass"], 1.0)
    out = np.full((mass.size, len(results)), np.nan)
    for j, r in enumerate(results):
        free = free_parameters(p.family, r.par.shape[2])
        out[:, j] = 2.0 * free - 2.0 * r.loglik if criterion == "aic" else free * np.log(mass) - 2.0 * r.loglik
        if criterion == "icl":
            out[:, j] += 2.0 * entropies[j]
    return out
