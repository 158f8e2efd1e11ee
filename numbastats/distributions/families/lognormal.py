"""The lognormal distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.normal import LOG_SQRT_2PI, NORMAL_ENTROPY
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.maps import EXP
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.special import log_ndtr, ndtr

__all__ = ["Lognormal", "constants", "logpdf", "support"]

support = half_line


@device_function
def constants(sigma):
    return sigma, log(sigma)


@device_function
def logpdf(z, c):
    y = log(z) / c[0]
    value = -0.5 * y * y - LOG_SQRT_2PI - log(z) - c[1]
    return -math.inf if z == 0.0 else value


@device_function
def cdf(z, c):
    return ndtr(log(z) / c[0])


@device_function
def sf(z, c):
    return ndtr(-log(z) / c[0])


@device_function
def logcdf(z, c):
    return log_ndtr(log(z) / c[0])


@device_function
def logsf(z, c):
    return log_ndtr(-log(z) / c[0])


@device_function
def ppf(p, c):
    return exp(c[0] * ndtri1(p))


@device_function
def isf(p, c):
    return exp(-c[0] * ndtri1(p))


@device_function
def score(z, c):
    y = log(z) / c[0]
    return -(1.0 + y / c[0]) / z, (y * y - 1.0) / c[0]


@device_function
def guess(attempt, mean, sd, low, middle, high):
    square = log1p(sd * sd / (mean * mean))
    return math.sqrt(square), 0.0, mean * exp(-0.5 * square)


class Lognormal(Distribution):
    """Lognormal distribution: log((X - loc)/scale) is normal with mean 0.

    Parameters
    ----------
    sigma : array_like
        Standard deviation of the logarithm, > 0.
    loc, scale : array_like, optional
        The end of the support and, > 0, e to the mean of the logarithm.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Accuracy as `Normal` at log z/sigma.

    Examples
    --------
    >>> from numbastats.distributions import Lognormal
    >>> float(Lognormal(0.5, scale=2.0).median())
    2.0
    """

    names, family, aliases = ("sigma", "loc", "scale"), "lognormal", ("lognorm",)
    _contains = (Contains("normal", lambda t, loc, scale: dict(sigma=1.0 / t, loc=loc - t * scale, scale=t * scale)),)

    _kernels = Points("lognormal", __name__, shapes=1, cost=dict(pdf=10.0, logpdf=8.0, ppf=10.0, isf=10.0))
    _equations = fits.OwnEquations(("sigma", "scale"), fits.FIT_LOGNORMAL, 6.0)
    _likelihood = Likelihood(*("lognormal", _kernels, ("sigma", "scale")), shapes=1, starts=2)

    def __init__(self, sigma: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(sigma=sigma, loc=loc, scale=scale)

    @staticmethod
    def _by_lmoments(first, second, _ratio):
        """The L-CV is erf(sigma/2)."""
        from scipy.special import erfinv

        sigma = 2.0 * erfinv(second / first)
        return sigma, 0.0, first * np.exp(-0.5 * np.square(sigma))

    @staticmethod
    def _by_moments(mean, sd):
        square = np.log1p((sd / mean) ** 2)
        return np.sqrt(square), 0.0, mean * np.exp(-0.5 * square)

    def _mean_var(self):
        q = np.square(self.sigma)
        return np.exp(0.5 * q), np.exp(q) * np.expm1(q)

    def _shape(self):
        t = np.expm1(np.square(self.sigma))
        return np.sqrt(t) * (3.0 + t), t * (16.0 + t * (15.0 + t * (6.0 + t)))

    def _entropy(self):
        return NORMAL_ENTROPY + np.log(self.sigma)

    def _draws(self, shape, options):
        logs = random.normal(0.0, self.sigma, shape, **options)
        return self._located(self._mapped(EXP, logs, options), options)
