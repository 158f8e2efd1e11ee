"""The Lomax distribution."""

from __future__ import annotations

import numpy as np

import numbastats.distributions.families.gpd as gpd
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.exponential import Exponential
from numbastats.distributions.kernels.likelihood import Likelihood, settled_at_least
from numbastats.distributions.kernels.points import FUNCTIONS, Points, half_line
from numbastats.distributions.kernels.transformed import log_constants, transformed
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import expm1, log1p

__all__ = ["Lomax", "constants", "logpdf", "support"]

constants, support = log_constants, half_line


@device_function
def image(z, c):
    return c[1] * log1p(z)


@device_function
def preimage(y, c):
    return expm1(y / c[1])


cdf, sf, logcdf, logsf, ppf, isf = transformed(Exponential, image, preimage)


@device_function
def logpdf(z, c):
    return c[2] - (c[1] + 1.0) * log1p(z)


@device_function
def score(z, c):
    return -(c[1] + 1.0) / (1.0 + z), 1.0 / c[1] - log1p(z)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    shape, loc, scale = gpd.guess(attempt, mean, sd, low, middle, high)
    return 1.0 / max(shape, 0.05), loc, scale / max(shape, 0.05)


settled = settled_at_least


class Lomax(OneShape, Distribution):
    """Lomax distribution, a Pareto distribution from 0 on: P(X > x) = (1 + z)^-shape, z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Index of the tail, > 0.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, each written for its tail: relative errors of 1e-15, and |log p| 1e-16 for density and tails. It is
    ``GPD(1/shape, loc, scale/shape)``, whose fit also takes tails that are exponential or end.

    Examples
    --------
    >>> from numbastats.distributions import GPD, Lomax
    >>> float(Lomax(2.5).sf(9.0).round(8)), float(GPD(0.4, scale=0.4).sf(9.0).round(8))
    (0.00316228, 0.00316228)
    """

    family = "lomax"
    _contains = (Contains("exponential", lambda t, loc, scale: dict(shape=t, loc=loc, scale=t * scale)),)

    _kernels = Points("lomax", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 12.0))
    _likelihood = Likelihood("lomax", _kernels, ("shape", "scale"), shapes=1, starts=3, closed=True, cost=200.0)

    def _mean_var(self):
        a = np.asarray(self.shape)
        mean, var = gpd.GPD(1.0 / a)._mean_var()
        return mean / a, var / np.square(a)

    def _shape(self):
        return gpd.GPD(1.0 / np.asarray(self.shape))._shape()

    def _entropy(self):
        a = np.asarray(self.shape)
        return 1.0 + 1.0 / a - np.log(a)
