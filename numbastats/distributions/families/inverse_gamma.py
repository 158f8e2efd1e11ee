"""The inverse gamma distribution."""

from __future__ import annotations

import math

import numpy as np

import numbastats.distributions.families.gamma as gamma
import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.maps import POWER
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.kernels.transformed import transformed
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import log

__all__ = ["InverseGamma", "constants", "logpdf", "support"]

support = half_line


@device_function
def constants(shape):
    return (gamma.constants(shape),)


@device_function
def reciprocal(z, c):
    return 1.0 / z


cdf, sf, logcdf, logsf, ppf, isf = transformed(gamma.Gamma, reciprocal, reciprocal, falling=True)


@device_function
def logpdf(z, c):
    value = gamma.logpdf(1.0 / z, c[0]) - 2.0 * log(z)
    return -math.inf if z <= 6e-309 else value  # the reciprocal overflows below


@device_function
def score(z, c):
    y = 1.0 / z
    by_y, by_shape = gamma.score(y, c[0])
    return -(by_y * y + 2.0) * y, by_shape


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """By moments if there are two, or by the quartiles of the reciprocals."""
    shape = 2.0 + mean * mean / (sd * sd)
    if attempt == 0 and high > low:
        shape = 1.8 / (log(high / low) * log(high / low)) + 0.3
    return shape, 0.0, middle * shape


class InverseGamma(OneShape, Distribution):
    """Inverse gamma distribution: density like z^(-shape - 1) e^(-1/z), z = (x - loc)/scale; 1/z is gamma distributed.

    Parameters
    ----------
    shape : array_like
        Shape, > 0: the index of the tail.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `Gamma` at 1/z with its tails exchanged, of the same accuracy. As the conjugate distribution of a normal variance, scale is
    half the sum of squares of 2 shape observations.

    Examples
    --------
    >>> from numbastats.distributions import InverseGamma
    >>> d = InverseGamma(3.0, scale=2.0)
    >>> float(d.mean()), float(d.sf(10.0).round(8))
    (1.0, 0.00114848)
    """

    family, aliases = "inverse_gamma", ("invgamma",)
    _contains = (Contains("normal", lambda t, loc, scale: dict(shape=t * t, loc=loc - t * scale, scale=t**3 * scale)),)

    _kernels = Points("inverse_gamma", __name__, shapes=1, cost=gamma.Gamma._kernels.cost)
    _likelihood = Likelihood("inverse_gamma", _kernels, ("shape", "scale"), shapes=1, starts=2)

    def _mean_var(self):
        a = np.asarray(self.shape)
        mean = np.where(a > 1.0, 1.0 / (a - 1.0), math.inf)
        return mean, np.where(a > 2.0, np.square(mean) / (a - 2.0), np.where(a > 1.0, math.inf, math.nan))

    def _shape(self):
        a = np.asarray(self.shape)
        kurtosis = np.where(a > 4.0, 6.0 * (5.0 * a - 11.0) / ((a - 3.0) * (a - 4.0)), np.where(a > 2.0, math.inf, math.nan))
        return np.where(a > 3.0, 4.0 * np.sqrt(a - 2.0) / (a - 3.0), math.nan), kurtosis

    def _entropy(self):
        from scipy.special import psi

        return gamma.Gamma(self.shape)._entropy() - 2.0 * psi(self.shape)

    def _draws(self, shape, options):
        y = random.gamma(self.shape, 1.0, shape, **options)
        return self._located(self._mapped(POWER, y, options, -1.0), options)
