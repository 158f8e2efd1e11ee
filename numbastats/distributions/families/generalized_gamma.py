"""The generalised gamma distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.distributions.families.gamma as gamma
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.moments import ByRawMoments
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, expm1, log, log1p, pow
from numbastats.scalar.special import digamma

__all__ = [
    "GeneralizedGamma",
    "cdf",
    "constants",
    "isf",
    "log_lower_gamma",
    "log_power",
    "logpdf",
    "logsf",
    "ppf",
    "sf",
    "support",
]

_LEAST = -650.0  # logarithm of y below which the gamma distribution function of y is its leading term, a power

support = half_line


@device_function
def constants(a, c):
    return gamma.constants(a), c, log(c)


@device_function
def log_power(log_y, c):
    """Logarithm of the leading term y^a/Gamma(a + 1) of the gamma distribution function, by the constants of that."""
    a = c[0]
    return a * log_y + (c[2] if a < 8.0 else c[3] + a - a * log(a))


@device_function
def log_lower_gamma(y, log_y, c):
    """Log P(a, y), by the constants of the gamma distribution, also where y underflows."""
    return log_power(log_y, c) if log_y < _LEAST else gamma.logcdf(y, c)


@device_function
def logpdf(z, c):
    a, log_z = c[0][0], log(z)
    log_y, y = c[1] * log_z, pow(z, c[1])
    power = 0.0 if a * c[1] == 1.0 else a * log_y - log_z
    near = c[2] + power - y + log_power(0.0, c[0]) + log(a)
    far = gamma.logpdf(y, c[0]) + c[2] + log_y - log_z
    value = near if gamma.is_plain(c[0]) or log_y < _LEAST else far
    return -math.inf if y == math.inf else value


@device_function
def cdf(z, c):
    log_y = c[1] * log(z)
    return exp(log_power(log_y, c[0])) if log_y < _LEAST else gamma.cdf(pow(z, c[1]), c[0])


@device_function
def sf(z, c):
    log_y = c[1] * log(z)
    return -expm1(log_power(log_y, c[0])) if log_y < _LEAST else gamma.sf(pow(z, c[1]), c[0])


@device_function
def logcdf(z, c):
    return log_lower_gamma(pow(z, c[1]), c[1] * log(z), c[0])


@device_function
def logsf(z, c):
    log_y = c[1] * log(z)
    return log1p(-exp(log_power(log_y, c[0]))) if log_y < _LEAST else gamma.logsf(pow(z, c[1]), c[0])


@device_function
def from_gamma(y, log_p, c):
    """The quantile from that of the gamma distribution, or if that underflows from the logarithm of the lower tail."""
    log_y = log(y) if y > 1e-280 else (log_p - log_power(0.0, c[0])) / c[0][0]
    return exp(log_y / c[1])


@device_function
def ppf(p, c):
    return from_gamma(gamma.ppf(p, c[0]), log(p), c)


@device_function
def isf(p, c):
    return from_gamma(gamma.isf(p, c[0]), log1p(-p), c)


@device_function
def score(z, c):
    a, log_z, y = c[0][0], log(z), pow(z, c[1])
    return (a * c[1] - 1.0 - c[1] * y) / z, c[1] * log_z - digamma(a), 1.0 / c[1] + log_z * (a - y)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """As a gamma or a Weibull distribution, and by the quartiles, nearly lognormal twice, or nearly a power function."""
    weibull, spread = pow(mean / sd, 1.086), log(high / low) if high > low else sd / mean
    if attempt == 0:
        return mean * mean / (sd * sd), 1.0, 0.0, sd * sd / mean
    if attempt == 1:
        return 1.0, weibull, 0.0, 1.1 * mean
    if attempt == 4:
        power = 1.0986 / spread
        return 0.05, 20.0 * power, 0.0, high * exp(0.2877 / power)
    a = 6.0 if attempt == 2 else 100.0
    c = 1.349 / (spread * math.sqrt(a))
    return a, c, 0.0, middle * exp(-log(a - 0.3333) / c)


def _near_lognormal(t, sigma, loc, scale):
    """X/scale is the power 1/c of a gamma variable of shape a, whose logarithm is nearly normal for a large shape."""
    return dict(a=t, c=1.0 / (sigma * np.sqrt(t)), loc=loc, scale=scale * np.exp(-sigma * np.sqrt(t) * np.log(t)))


class GeneralizedGamma(ByRawMoments, Distribution):
    """Generalised gamma distribution: density like z^(a c - 1) e^(-z^c), z = (x - loc)/scale; z^c is gamma distributed.

    Parameters
    ----------
    a, c : array_like
        Shapes, > 0: that of the gamma distribution of z^c, and the power. ``c = 1`` is `Gamma`, ``a = 1`` `Weibull`, ``c = 2``
        `HalfNormal`, `Rayleigh` and `Maxwell` for ``a = 1/2, 1, 3/2``; large a approach `Lognormal`.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `Gamma` at z^c, of the same accuracy, and a power where z^c underflows. Moments are closed forms, or where these cancel by
    quadrature, with errors of 1e-15 times mean over standard deviation.

    References
    ----------
    E. W. Stacy, Annals of Mathematical Statistics 33 (1962), 1187.

    Examples
    --------
    >>> from numbastats.distributions import GeneralizedGamma, Weibull
    >>> (
    ...     float(GeneralizedGamma(1.0, 1.7).sf(2.0).round(8)),
    ...     float(Weibull(1.7).sf(2.0).round(8)),
    ... )
    (0.03881263, 0.03881263)
    """

    names, family, aliases = ("a", "c", "loc", "scale"), "generalized_gamma", ("gengamma",)
    _contains = (
        Contains("gamma", lambda t, shape, loc, scale: dict(a=shape, c=1.0, loc=loc, scale=scale)),
        Contains("weibull", lambda t, shape, loc, scale: dict(a=1.0, c=shape, loc=loc, scale=scale)),
        Contains("half_normal", lambda t, loc, scale: dict(a=0.5, c=2.0, loc=loc, scale=math.sqrt(2.0) * scale)),
        Contains("lognormal", _near_lognormal),
        Contains(
            "beta", lambda t, a, b, loc, scale: dict(a=a / t, c=t, loc=loc, scale=scale), fixed={"b": 1.0}
        ),  # a power function
    )

    _kernels = Points("generalized_gamma", __name__, shapes=2, cost={k: v + 20.0 for k, v in gamma.Gamma._kernels.cost.items()})
    _likelihood = Likelihood("generalized_gamma", _kernels, ("a", "c", "scale"), shapes=2, starts=5)

    def __init__(self, a: ArrayLike, c: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(a=a, c=c, loc=loc, scale=scale)

    def _raw(self, n):
        from scipy.special import poch

        return poch(self.a, n / np.asarray(self.c))

    def _entropy(self):
        from scipy.special import psi

        return gamma.Gamma(self.a)._entropy() - np.log(self.c) + (1.0 / np.asarray(self.c) - 1.0) * psi(self.a)
