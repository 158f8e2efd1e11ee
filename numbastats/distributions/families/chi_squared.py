"""The chi-squared distribution: the gamma distribution of shape df/2 and scale 2."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families import gamma
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, log
from numbastats.scalar.special import digamma

__all__ = ["ChiSquared", "constants", "logpdf", "support"]


_LOG_2 = math.log(2.0)
is_plain, support = gamma.is_plain, gamma.support


@device_function
def constants(df):
    return gamma.constants(0.5 * df)


@device_function
def plain_logpdf(z, c):
    return _next_to_0(z, c) if _is_tiny(z) else gamma.plain_logpdf(0.5 * z, c) - _LOG_2


@device_function
def plain_pdf(z, c):
    return exp(plain_logpdf(z, c))


@device_function
def logpdf(z, c):
    if is_plain(c) or _is_tiny(z):
        return plain_logpdf(z, c)
    return gamma.logpdf(0.5 * z, c) - _LOG_2


@device_function
def pdf(z, c):
    if is_plain(c) or _is_tiny(z):
        return plain_pdf(z, c)
    return 0.5 * gamma.pdf(0.5 * z, c)


@device_function
def _is_tiny(z):
    """Whether half of z is without digits."""
    return (z > 0.0) & (z < 1e-300)


@device_function
def _next_to_0(z, c):
    """`logpdf` by the power of z alone."""
    a = c[0]
    return (a - 1.0) * (log(z) - _LOG_2) + (c[3] + a - a * log(a) + log(a)) - _LOG_2


@device_function
def cdf(z, c):
    return gamma.cdf(0.5 * z, c)


@device_function
def sf(z, c):
    return gamma.sf(0.5 * z, c)


@device_function
def logcdf(z, c):
    return gamma.logcdf(0.5 * z, c)


@device_function
def logsf(z, c):
    return gamma.logsf(0.5 * z, c)


@device_function
def ppf(p, c):
    return 2.0 * gamma.ppf(p, c)


@device_function
def isf(p, c):
    return 2.0 * gamma.isf(p, c)


@device_function
def score(z, c):
    return (c[0] - 1.0) / z - 0.5, 0.5 * (log(0.5 * z) - digamma(c[0]))


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return max(2.0 * mean * mean / (sd * sd), 0.1), 0.0, 0.5 * sd * sd / mean


class ChiSquared(Distribution):
    """Chi-squared distribution.

    Parameters
    ----------
    df : array_like
        Degrees of freedom, > 0.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The gamma distribution of shape df/2 and scale 2; see `Gamma`.

    Examples
    --------
    >>> from numbastats.distributions import ChiSquared
    >>> float(ChiSquared(2.0).isf(0.05).round(6))
    5.991465
    """

    names, family, aliases = ("df", "loc", "scale"), "chi_squared", ("chi2",)
    _contains = (Contains("exponential", lambda t, loc, scale: dict(df=2.0, loc=loc, scale=0.5 * scale)),)
    _generator = ("chisquare", "df")

    _kernels = Points("chi_squared", __name__, shapes=1, cost=gamma.Gamma._kernels.cost)
    _likelihood = Likelihood("chi_squared", _kernels, ("df",), shapes=1, cost=200.0)

    def __init__(self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(df=df, loc=loc, scale=scale)

    def _mean_var(self):
        return self.df, np.multiply(2.0, self.df)

    def _shape(self):
        return gamma.Gamma(np.multiply(0.5, self.df))._shape()

    def _entropy(self):
        return gamma.Gamma(np.multiply(0.5, self.df))._entropy() + _LOG_2
