"""Distances of empirical distribution functions from a distribution."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST", "distance", "distance_of_counts"]

LARGEST = 1e6  # count up to which sums go over all


def distance(statistic, x, cdf, logcdf, logsf):
    """Distance "ad", "cvm" or "ks" of the empirical distribution functions of ascending rows of values.

    Of Anderson and Darling from the logarithms of both tails, so that values far out are no 0 or 1; of Cramer and von Mises; of
    Kolmogorov and Smirnov. M. A. Stephens, "EDF statistics for goodness of fit and some comparisons", JASA 69 (1974), section 2.
    """
    n = x.shape[-1]
    i = np.arange(1, n + 1)
    with np.errstate(all="ignore"):
        if statistic == "ad":
            return -n - ((2 * i - 1) * (logcdf(x) + logsf(x)[..., ::-1])).sum(axis=-1) / n
        u = cdf(x)
        if statistic == "cvm":
            return 1.0 / (12 * n) + ((u - (i - 0.5) / n) ** 2).sum(axis=-1)
        return np.maximum(i / n - u, u - (i - 1) / n).max(axis=-1)


def distance_of_counts(statistic, x, pmf, cdf, sf):
    """The same for counts, with sums over all counts k in the place of integrals by F.

    With d = F_n(k) - F(k): the largest abs(d), or n times the sum of d^2 P(X = k), over F (1 - F) for "ad". V. Choulakian, R. A.
    Lockhart, M. A. Stephens, "Cramer-von Mises statistics for discrete distributions", Canadian Journal of Statistics 22 (1994).
    Where counts are above `LARGEST` these sums are NaN, and abs(d) is looked at where F_n jumps, where it is largest.
    """
    n, rows = x.shape[-1], x.reshape(-1, x.shape[-1])
    most = float(np.nanmax(x, initial=0.0))
    if most > LARGEST:
        if statistic != "ks":
            return np.full(x.shape[:-1], np.nan)
        jumps = np.sort(x, axis=-1)
        at, before = (np.stack([np.searchsorted(r, r, side) for r in jumps.reshape(rows.shape)]) for side in ("right", "left"))
        with np.errstate(all="ignore"):
            above, below = at.reshape(x.shape) / n - cdf(jumps), before.reshape(x.shape) / n - cdf(jumps - 1.0)
        return np.maximum(np.abs(above), np.abs(below)).max(axis=-1)
    k = np.arange(most + 1.0)
    seen = np.stack([np.searchsorted(row, k, "right") for row in rows]).reshape(*x.shape[:-1], k.size) / n
    with np.errstate(all="ignore"):
        lower, upper, mass = cdf(k), sf(k), pmf(k)
        away = np.where(seen < 0.5, seen - lower, upper - (1.0 - seen))
        if statistic == "ks":
            return np.abs(away).max(axis=-1)
        weight = mass / (lower * upper) if statistic == "ad" else mass
        return n * np.where(mass > 0.0, away * away * weight, 0.0).sum(axis=-1)
