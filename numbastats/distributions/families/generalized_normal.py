"""The generalised normal distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.distributions.families.generalized_gamma as generalized_gamma
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.gamma import Gamma
from numbastats.distributions.kernels.cusps import FIT_GENERALIZED_NORMAL
from numbastats.distributions.kernels.fits import OwnEquations
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, whole_line
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import log, log1p, pow
from numbastats.scalar.special import digamma

__all__ = ["GeneralizedNormal", "constants", "logpdf", "support"]

_LOG_2 = math.log(2.0)

support = whole_line


@device_function
def constants(beta):
    return generalized_gamma.constants(1.0 / beta, beta)


@device_function
def logpdf(z, c):
    return generalized_gamma.log_power(0.0, c[0]) - _LOG_2 - pow(abs(z), c[1])


@device_function
def cdf(z, c):
    half = 0.5 * generalized_gamma.sf(abs(z), c)
    return half if z < 0.0 else 1.0 - half


@device_function
def logcdf(z, c):
    log_half = generalized_gamma.logsf(abs(z), c) - _LOG_2
    return log_half if z < 0.0 else log1p(-0.5 * generalized_gamma.sf(z, c))


@device_function
def ppf(p, c):
    return -generalized_gamma.isf(2.0 * p, c) if p < 0.5 else generalized_gamma.ppf(2.0 * p - 1.0, c)


@device_function
def score(z, c):
    t = abs(z)
    log_t, power = (log(t), pow(t, c[1])) if t > 0.0 else (0.0, 0.0)
    by_z = -c[1] * power / z if t > 0.0 else 0.0
    return by_z, digamma(1.0 + 1.0 / c[1]) / (c[1] * c[1]) - power * log_t


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """Between Laplace and normal, nearly a Laplace, heavier and much heavier tails, or nearly a uniform distribution."""
    if attempt < 2:
        return (1.5, mean, 1.2 * sd) if attempt == 0 else (1.1, middle, 0.8 * sd)
    if attempt == 4:
        return 6.0, mean, 1.7 * sd
    half = 0.5 * (high - low) if high > low else sd
    return (0.7, middle, 0.7 * half) if attempt == 2 else (0.4, middle, 0.1 * half)


class GeneralizedNormal(Distribution):
    """Generalised normal distribution: density like exp(-|z|^beta), z = (x - loc)/scale.

    Parameters
    ----------
    beta : array_like
        Shape, > 0: 1 for a Laplace distribution, 2 for a normal one with standard deviation scale/sqrt(2), large for nearly a
        uniform one.
    loc, scale : array_like, optional
        Location, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    |z|^beta is gamma distributed with shape 1/beta; accuracy as `Gamma`.

    A fit is the best local maximum with beta between 1/16 and 1e6. Below beta = 1 the likelihood has a cusp at every value, and
    loc is a value of the sample: all of them are searched, as far as bounds do not exclude them, and of more than 1000 values
    about 1000, then the neighbours of the best. At beta = 1/16 the standard deviation is 4e23 times the scale. As beta falls to
    0 the likelihood grows without bound at any value, the sooner the more others are equal to it: the fit has status 10 where
    it only rises towards that, and status 3 where it rises beyond either bound. The upper one stands for a uniform distribution,
    whose likelihood is the larger one for many samples of few values.

    Standard errors are from the observed information. The second derivative by loc has no mean up to beta = 1 and no variance up
    to 1.5: there loc's information is the expected one, n beta^2 Gamma(2 - 1/beta)/(Gamma(1/beta) scale^2), which is that of
    `Laplace` at beta = 1, and its correlations are 0. For beta <= 1/2 there is none, and the standard error of loc is NaN.
    Censored and truncated data have climbs from five starts until one ends in a maximum, and numerical second derivatives.

    References
    ----------
    S. Nadarajah, "A generalized normal distribution", Journal of Applied Statistics 32 (2005).

    Examples
    --------
    >>> from numbastats.distributions import GeneralizedNormal, Laplace
    >>> float(GeneralizedNormal(1.0).sf(5.0).round(8)), float(Laplace().sf(5.0).round(8))
    (0.00336897, 0.00336897)
    """

    names, family, aliases = ("beta", "loc", "scale"), "generalized_normal", ("gennorm",)
    _contains = (
        Contains("laplace", lambda t, loc, scale: dict(beta=1.0, loc=loc, scale=scale)),
        Contains("normal", lambda t, loc, scale: dict(beta=2.0, loc=loc, scale=math.sqrt(2.0) * scale)),
        Contains("uniform", lambda t, loc, scale: dict(beta=t, loc=loc + 0.5 * scale, scale=0.5 * scale)),
    )
    _kinked = True

    _kernels = Points("generalized_normal", __name__, shapes=1, cost={**Gamma._kernels.cost, "pdf": 20.0, "logpdf": 15.0})
    _equations = OwnEquations(names, FIT_GENERALIZED_NORMAL, 600.0, searches=True)
    _likelihood = Likelihood(
        *("generalized_normal", _kernels, names), shapes=1, below=(0.0625,), above=(200.0,), starts=5, cost=400.0
    )

    def __init__(self, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(beta=beta, loc=loc, scale=scale)

    def _even(self, n):
        """E |z|^n over E |z|^0."""
        from scipy.special import poch

        i = 1.0 / np.asarray(self.beta)
        return poch(1.0 + i, n * i) / (1.0 + n)

    def _mean_var(self):
        return 0.0, self._even(2)

    def _shape(self):
        return 0.0, self._even(4) / np.square(self._even(2)) - 3.0

    def _entropy(self):
        from scipy.special import gammaln

        i = 1.0 / np.asarray(self.beta)
        return i + _LOG_2 + gammaln(1.0 + i)
