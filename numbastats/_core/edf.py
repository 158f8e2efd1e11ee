"""Distances of empirical distribution functions from a distribution."""

from __future__ import annotations

import numpy as np

__all__ = ["distance"]


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
