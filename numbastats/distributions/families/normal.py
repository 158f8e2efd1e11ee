"""The normal distribution."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, no_constants, whole_line
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import exp
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.special import log_ndtr, ndtr

__all__ = ["LOG_SQRT_2PI", "NORMAL_ENTROPY", "Normal", "cdf", "constants", "logcdf", "logpdf", "pdf", "ppf", "support"]

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
NORMAL_ENTROPY = LOG_SQRT_2PI + 0.5
_1_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)

constants, support = no_constants, whole_line


@device_function
def logpdf(z, c):
    return -0.5 * z * z - LOG_SQRT_2PI


@device_function
def pdf(z, c):
    return _1_SQRT_2PI * exp(-0.5 * z * z)


@device_function
def cdf(z, c):
    return ndtr(z)


@device_function
def logcdf(z, c):
    return log_ndtr(z)


@device_function
def ppf(p, c):
    return ndtri1(p)


@device_function
def score(z, c):
    return (-z,)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return mean, sd


class Normal(LocationScale, Distribution):
    """Normal distribution.

    Parameters
    ----------
    loc, scale : array_like, optional
        Mean and standard deviation (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Relative errors: 1e-15 for logarithms and quantiles, z^2 1e-16 for density and tails at z standard deviations.

    Examples
    --------
    >>> from numbastats.distributions import Normal
    >>> d = Normal(10.0, 2.0)
    >>> d, float(d.cdf(10.0)), float(d.logsf(110.0).round(6))
    (Normal(loc=10.0, scale=2.0), 0.5, -1254.831361)
    """

    family, aliases = "normal", ("norm", "gaussian")
    _moments, _nats = (0.0, 1.0, 0.0, 0.0), NORMAL_ENTROPY

    _kernels = Points(
        "normal", __name__, shapes=0, cost=dict(pdf=4.0, logpdf=2.0, cdf=18.0, sf=18.0, logcdf=20.0, logsf=20.0, ppf=6.0, isf=6.0)
    )
    _equations = fits.OwnEquations(LocationScale.names, fits.FIT_NORMAL, 4.0)
    _likelihood = Likelihood("normal", _kernels, LocationScale.names, cost=100.0)

    _by_lmoments = staticmethod(lambda first, second, _ratio: (first, math.sqrt(math.pi) * second))

    def _shortfall(self, p, upper):
        z = self._of_z("ppf", p)
        mean = np.exp(self._of_z("logpdf", z) - np.log(p))
        return self.loc + self.scale * (mean if upper else -mean)

    def _draws(self, shape, options):
        return random.normal(self.loc, self.scale, shape, **options)
