"""The exponentially modified Gaussian distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.distributions.families.normal as normal
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, whole_line
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, expm1, log, log1p
from numbastats.scalar.quadrature import legendre
from numbastats.scalar.special import hazard, log_ndtr, mills, mills_right

__all__ = ["ExGaussian", "constants", "logpdf", "support"]

support = whole_line


@device_function
def constants(K):
    return K, 1.0 / K, log(K)


@device_function
def logpdf(z, c):
    t = c[1] - z
    near = normal.logpdf(z, c) + log(c[1] * mills(max(t, 0.0)))  # through the limit K = 0, where it is normal
    far = c[1] * (0.5 * c[1] - z) + log_ndtr(-t) - c[2]
    return near if t > 0.0 else far


@device_function
def _below(s, data):
    """The normal density at z - v over that at z, times the chance that the exponential part is below v = origin + s."""
    z, rate, origin = data
    v = origin + s
    return -exp(v * (z - 0.5 * v)) * expm1(-rate * v)


_panel = legendre(_below, 32)


@device_function(inline=False)
def _log_by_quadrature(z, rate):
    """Logarithm of the lower tail for z < 8, as an integral of positive terms."""
    half = 0.5 * (z + 9.0 if z > 0.0 else 80.0 / (math.sqrt(z * z + 80.0) - z))
    return normal.logpdf(z, 0.0) + log(_panel(half, (z, rate, 0.0)) + _panel(half, (z, rate, half)))


@device_function
def _masses(z, c):
    """Phi(-|z|); what 1/K beyond 0 adds to it or takes from it; and g, exp(g) a chance of the exponential part alone."""
    t = c[1] - z
    density, left, right = normal.pdf(z, 0.0), mills_right(abs(z)), mills_right(abs(t))
    between = (z >= 0.0) & (t >= 0.0)
    return density * left, density * (left + right if between else left - right), c[1] * (0.5 * c[1] - z) if t < 0.0 else 0.0


@device_function
def sf(z, c):
    """By sums of positive terms, but for differences next to 1; without branches."""
    tail, rest, g = _masses(z, c)
    beyond = exp(g) + rest
    return 1.0 - rest if z < 0.0 else (beyond if z > c[1] else rest)


@device_function
def cdf(z, c):
    tail, rest, g = _masses(z, c)
    value = rest if z < 0.0 else (-expm1(g) - rest if z > c[1] else 1.0 - rest)
    if c[1] < 2.0 and z < 8.0 and value < 0.02 * (tail if z < 0.0 else 1.0 - tail):  # of a small difference
        return exp(_log_by_quadrature(z, c[1]))
    return value


@device_function
def logsf(z, c):
    """Of the sum of a normal tail and the density times K."""
    first, second = log_ndtr(-z), c[2] + logpdf(z, c)
    upper = max(first, second) + log1p(exp(-abs(first - second)))
    return upper if upper < -0.5 else log1p(-exp(logcdf(z, c)))


@device_function
def logcdf(z, c):
    """Of the difference of a normal tail and the density times K."""
    whole, part = log_ndtr(z), c[2] + logpdf(z, c)
    share = mills(c[1] - z) / mills(-z) if z < 0.0 else exp(part - whole)
    if c[1] < 2.0 and z < 8.0 and share > 0.9:
        return _log_by_quadrature(z, c[1])
    return whole + log1p(-share) if z < 8.0 else log1p(-exp(log_ndtr(-z)) - exp(part))


@device_function
def start(c):
    return c[0]


@device_function
def _over_hazard(t):
    """e and w: the hazard rate of the normal distribution is t + e, and e = 1/(t + w); far out Laplace's fraction."""
    fraction = 0.0
    for k in range(20, 2, -1):
        fraction = k / (t + fraction)
    w = 2.0 / (t + fraction)
    near = hazard(t) - t
    return (1.0 / (t + w), w) if t > 6.0 else (near, 1.0 / near - t)


@device_function
def score(z, c):
    e, w = _over_hazard(c[1] - z)
    return e - z, c[1] * (z - w) * e


@device_function
def guess(attempt, mean, sd, low, middle, high):
    K = 1.0 if attempt == 0 else (0.3 if attempt == 1 else 3.0)
    scale = sd / math.sqrt(1.0 + K * K)
    return K, mean - K * scale, scale


class ExGaussian(Distribution):
    """Exponentially modified Gaussian distribution: that of a standard normal value plus an exponential one of mean K.

    Parameters
    ----------
    K : array_like
        Mean of the exponential part in units of scale, > 0.
    loc, scale : array_like, optional
        Mean and standard deviation (> 0) of the normal part.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The density is a normal one times a Mills ratio, which goes through the limit K = 0 without loss. Lower tails that are small
    differences are integrals by Gauss's rule, and quantiles come by Newton's method. In psychology the mean of the exponential
    part is tau = K scale.

    References
    ----------
    E. Grushka, Analytical Chemistry 44 (1972), 1733.

    Examples
    --------
    >>> from numbastats.distributions import ExGaussian
    >>> d = ExGaussian(2.0, loc=0.4, scale=0.05)  # response times in seconds
    >>> float(d.mean()), float(d.isf(0.05).round(4))
    (0.5, 0.7121)
    """

    names, family, aliases = ("K", "loc", "scale"), "ex_gaussian", ("exponnorm",)
    _contains = (
        Contains("normal", lambda t, loc, scale: dict(K=1.0 / t, loc=loc, scale=scale)),
        Contains("exponential", lambda t, loc, scale: dict(K=t, loc=loc, scale=scale / t)),
    )
    _kinked = True  # nearly, for a large K

    _kernels = Points("ex_gaussian", __name__, shapes=1, cost=dict(pdf=25.0, logpdf=20.0, ppf=600.0, isf=600.0))
    _likelihood = Likelihood("ex_gaussian", _kernels, ("K", "loc", "scale"), shapes=1, above=(3e3,), starts=3, cost=500.0)

    def __init__(self, K: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(K=K, loc=loc, scale=scale)

    def _mean_var(self):
        return self.K, 1.0 + np.square(self.K)

    def _shape(self):
        share = np.square(self.K) / (1.0 + np.square(self.K))
        return 2.0 * share**1.5, 6.0 * share**2
