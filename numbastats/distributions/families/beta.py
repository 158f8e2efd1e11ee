"""The beta distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.normal import NORMAL_ENTROPY
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, unit_interval
from numbastats.distributions.moments import stirling, stirling_fall
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.incomplete import beta_closed, beta_constants, beta_log_density, beta_log_tails, beta_quantile, beta_tails
from numbastats.scalar.special import digamma

__all__ = ["Beta", "constants", "logpdf", "support"]

constants, support = beta_constants, unit_interval


@device_function
def is_plain(c):
    return (c[0] < 10.0) | (c[1] < 10.0)


@device_function
def plain_logpdf(z, c):
    a, b, norm = c[:3]
    return (0.0 if a == 1.0 else (a - 1.0) * log(z)) + (0.0 if b == 1.0 else (b - 1.0) * log1p(-z)) + norm


@device_function
def plain_pdf(z, c):
    return exp(plain_logpdf(z, c))


@device_function
def logpdf(z, c):
    if is_plain(c):
        return plain_logpdf(z, c)
    return beta_log_density(z, 1.0 - z, c) - log(z) - log1p(-z) if (z != 0.0) & (z != 1.0) else -math.inf


@device_function
def cdf(z, c):
    return _tails(z, c)[0]


@device_function
def sf(z, c):
    return _tails(z, c)[1]


@device_function
def _tails(z, c):
    lower, upper = beta_closed(c[0], c[1], z, 1.0 - z)
    if lower == -1.0:
        lower, upper, height = beta_tails(z, 1.0 - z, c)
    return lower, upper


@device_function
def logcdf(z, c):
    return beta_log_tails(z, 1.0 - z, c)[0]


@device_function
def logsf(z, c):
    return beta_log_tails(z, 1.0 - z, c)[1]


@device_function
def ppf(p, c):
    return beta_quantile(p, 1.0 - p, p > 0.5, c)[0]


@device_function
def isf(p, c):
    return beta_quantile(1.0 - p, p, p <= 0.5, c)[0]


@device_function
def score(z, c):
    whole = digamma(c[0] + c[1])
    a, b = whole - digamma(c[0]), whole - digamma(c[1])
    return (c[0] - 1.0) / z - (c[1] - 1.0) / (1.0 - z), log(z) + a, log1p(-z) + b


@device_function
def guess(attempt, mean, sd, low, middle, high):
    size = max(mean * (1.0 - mean) / (sd * sd) - 1.0, 0.1)
    return mean * size, (1.0 - mean) * size, 0.0, 1.0


@device_function
def settled(loc, least, median, most):
    """With b = 1, a power function, the scale that is free reaches to the largest value."""
    return math.nan, most - loc


class Beta(Distribution):
    """Beta distribution: density like z^(a - 1) (1 - z)^(b - 1), z = (x - loc)/scale.

    Parameters
    ----------
    a, b : array_like
        Shapes, > 0.
    loc, scale : array_like, optional
        Lower end and length (> 0) of the support.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The density is written in deviances where a and b are at least 10, so that large shapes lose no digits. Distribution function
    and quantiles are those of `numbastats.scalar.incomplete.betainc`. Next to the upper end the digits of x limit those of the
    tail. Relative errors observed for a and b from 0.1 to 1e5: 5e-14 (density), 5e-13 (tails down to 1e-290).

    References
    ----------
    C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

    Examples
    --------
    >>> from numbastats.distributions import Beta
    >>> d = Beta(2.0, 3.0)
    >>> float(d.mean()), float(d.cdf(0.5).round(12))
    (0.4, 0.6875)
    """

    names, family = ("a", "b", "loc", "scale"), "beta"
    _contains = (Contains("uniform", lambda t, loc, scale: dict(a=1.0, b=1.0, loc=loc, scale=scale)),)
    _generator = ("beta", "a", "b")

    _kernels = Points(
        "beta",
        __name__,
        shapes=2,
        cost=dict(pdf=40.0, logpdf=40.0, cdf=200.0, sf=200.0, logcdf=250.0, logsf=250.0, ppf=1000.0, isf=1000.0),
    )
    _equations = fits.OwnEquations(("a", "b"), fits.FIT_BETA, 15.0, certain=True)
    _likelihood = Likelihood("beta", _kernels, ("a", "b"), shapes=2)

    def __init__(self, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(a=a, b=b, loc=loc, scale=scale)

    @staticmethod
    def _by_moments(mean, sd):
        size = mean * (1.0 - mean) / (sd * sd) - 1.0
        return mean * size, (1.0 - mean) * size, 0.0, 1.0

    def _mean_var(self):
        n = np.add(self.a, self.b)
        mean = self.a / n
        return mean, mean * (self.b / n) / (n + 1.0)

    def _shape(self):
        n = np.add(self.a, self.b)
        p, q, slant = self.a / n, self.b / n, np.subtract(self.b, self.a) / n
        kurtosis = 6.0 * (slant * slant * ((n + 1.0) / (n + 2.0)) - p * q) / (p * q) / (n + 3.0)
        return 2.0 * slant / np.sqrt(p) / np.sqrt(q) * (np.sqrt(n + 1.0) / (n + 2.0)), kurtosis

    def _entropy(self):
        from scipy.special import betaln, gammaln, psi

        a, b = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        n = a + b
        small = betaln(a, b) - (a - 1.0) * psi(a) - (b - 1.0) * psi(b) + (n - 2.0) * psi(n)
        # from b = 10 on by Stirling's series, and from a = 10 on both; what cancels is taken out
        grown, fall_b, fall_n = np.log1p(a / b), stirling_fall(b), stirling_fall(n)
        lost = gammaln(a) - a * np.log(n) - (b - 0.5) * grown + a + stirling(b) - stirling(n)
        slopes = (a - 1.0) * (np.log(n) - 0.5 / n - fall_n - psi(a))
        mixed = lost + slopes + (b - 1.0) * (grown + 0.5 * (a / b) / n + fall_b - fall_n)
        large = NORMAL_ENTROPY + 0.5 * (np.log(a / n) + np.log(b / n) - np.log(n)) - 0.5 / a - 0.5 / b + 1.0 / n
        large = large + stirling(a) + stirling(b) - stirling(n)
        large = large + (a - 1.0) * stirling_fall(a) + (b - 1.0) * fall_b - (n - 2.0) * fall_n
        return np.where(b < 10.0, small, np.where(a < 10.0, mixed, large))
