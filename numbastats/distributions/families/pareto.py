"""The Pareto distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.exponential import Exponential
from numbastats.distributions.families.gpd import GPD
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points
from numbastats.distributions.kernels.transformed import log_constants, log_image, log_preimage, transformed
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import log

__all__ = ["Pareto", "constants", "logpdf", "support"]

constants = log_constants


@device_function
def support(c):
    return 1.0, math.inf


cdf, sf, logcdf, logsf, ppf, isf = transformed(Exponential, log_image, log_preimage)


@device_function
def logpdf(z, c):
    return c[2] - (c[1] + 1.0) * log(z)


@device_function
def score(z, c):
    return -(c[1] + 1.0) / z, 1.0 / c[1] - log(z)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return (1.1 / log(high / low) if high > low else 10.0), 0.0, low


@device_function
def settled(loc, least, median, most):
    return math.nan, abs(least - loc)


class Pareto(OneShape, Distribution):
    """Pareto distribution: P(X > x) = z^-shape for z > 1, z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Index of the tail, > 0.
    loc, scale : array_like, optional
        Location, and the scale (> 0): X begins at loc + scale.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, each written for its tail: relative errors of 1e-15, and |log p| 1e-16 for density and tails. The likeliest
    scale is the least value less loc; `Lomax` has the same tail from 0 on.

    Examples
    --------
    >>> from numbastats.distributions import Pareto
    >>> d = Pareto(2.5, scale=10_000.0)  # incomes above 10 000
    >>> float(d.mean().round(2)), float(d.isf(0.01).round(2))
    (16666.67, 63095.73)
    """

    family = "pareto"
    _contains = (Contains("exponential", lambda t, loc, scale: dict(shape=t, loc=loc - t * scale, scale=t * scale)),)

    _kernels = Points("pareto", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 12.0))
    _likelihood = Likelihood("pareto", _kernels, ("shape", "scale"), shapes=1, cost=60.0)

    def _mean_var(self):
        a = np.asarray(self.shape)
        mean, var = GPD(1.0 / a)._mean_var()
        return 1.0 + mean / a, var / np.square(a)

    def _shape(self):
        return GPD(1.0 / np.asarray(self.shape))._shape()

    def _entropy(self):
        a = np.asarray(self.shape)
        return 1.0 + 1.0 / a - np.log(a)
