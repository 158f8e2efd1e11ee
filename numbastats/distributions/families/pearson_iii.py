"""The Pearson distribution of type III."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.distributions.families.gamma as gamma
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.bits import clip, muladd
from numbastats.scalar.elementary import exp, log, log1p, log1p_product
from numbastats.scalar.incomplete import excess_by, gamma_log_tails_by, gamma_quantile
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.special import digamma

__all__ = ["PearsonIII", "constants", "logpdf", "support"]

_LEAST = 1e-100  # skewness that doubles do not tell from 0


@device_function
def constants(skew):
    size = clip(abs(skew), _LEAST, math.inf)
    root = 2.0 / size
    return gamma.constants(root * root), root, log(root), (1.0 if skew >= 0.0 else -1.0), 0.5 * size


@device_function
def support(c):
    end = -c[1] if c[1] < 1e99 else -math.inf
    return (end, math.inf) if c[3] > 0.0 else (-math.inf, -end)


@device_function
def _variable(t, c):
    """The gamma variable a (1 + |skew| t/2) without rounding the product: t is the distance from the mean to the long tail."""
    return c[0][0] * clip(muladd(c[4], t, 1.0), 0.0, math.inf)


@device_function
def log_density(t, c):
    a, y = c[0][0], _variable(t, c)
    if gamma.is_plain(c[0]):
        value = gamma.logpdf(y, c[0]) + c[2]
    else:
        value = c[0][3] + c[2] - excess_by(a, y, c[1] * t) - log1p_product(c[4], t)
        value = -math.inf if y <= 0.0 else value
    return -math.inf if y == math.inf else value


@device_function
def logpdf(z, c):
    return log_density(c[3] * z, c)


@device_function
def log_tails(t, c):
    return gamma_log_tails_by(c[1] * t, _variable(t, c), c[0])


@device_function
def logcdf(z, c):
    lower, upper = log_tails(c[3] * z, c)
    return lower if c[3] > 0.0 else upper


@device_function
def logsf(z, c):
    lower, upper = log_tails(c[3] * z, c)
    return upper if c[3] > 0.0 else lower


@device_function(inline=False)
def quantile(p, q, upper, c):
    """Of a positive skewness, at the lower tail p, or the upper tail q: that of the gamma distribution less its mean.

    For a large shape, where that cancels, the start of Newton's method; Cornish and Fisher's for the largest.
    """
    a, root = c[0][0], c[1]
    z = (gamma_quantile(p, q, upper, c[0]) - a) / root if a < 1e10 else 0.0
    if a < 50.0:
        return z
    if a >= 1e10:
        n = -ndtri1(q) if upper else ndtri1(p)
        z = n + (n * n - 1.0) / (3.0 * root)
    for _ in range(3):
        lower, above = log_tails(z, c)
        gap = above - log(q) if upper else log(p) - lower
        z += gap * exp((above if upper else lower) - log_density(z, c))
    return z


@device_function
def ppf(p, c):
    upper = (p > 0.5) == (c[3] > 0.0)
    return c[3] * (quantile(p, 1.0 - p, upper, c) if c[3] > 0.0 else quantile(1.0 - p, p, upper, c))


@device_function
def isf(p, c):
    return -ppf(p, (c[0], c[1], c[2], -c[3], c[4]))


@device_function
def _cubic(u):
    """((u + u^2/2)/(1 + u) - log(1 + u))/u^3, by its series in v = u/(2 + u) near 0."""
    v = u / (2.0 + u)
    w = v * v
    series = 0.0
    for k in range(16, 0, -1):
        series = series * w + k / (2.0 * k + 1.0)
    near = 4.0 * series / ((2.0 + u) * (2.0 + u) * (2.0 + u))
    return near if w < 0.09 else (u * (1.0 + 0.5 * u) / (1.0 + u) - log1p(u)) / (u * u * u)


@device_function
def score(z, c):
    t, half = c[3] * z, 1.0 / c[1]  # half the absolute skewness
    u, q = half * t, half * half  # 1/q is the gamma distribution's shape
    rest = q * (1.0 / 12.0 - q * q * (1.0 / 120.0 - q * q / 252.0))
    rest = rest if q < 0.03 else (-log(q) - digamma(1.0 / q)) / q - 0.5
    by_skew = t * t * t * _cubic(u) - 0.5 * t / (1.0 + u) - rest / half
    return -c[3] * (t + half) / (1.0 + u), c[3] * by_skew


@device_function
def guess(attempt, mean, sd, low, middle, high):
    skew = 0.0 if attempt == 0 else (0.7 if attempt == 1 else -0.7)
    return skew, mean, sd


class PearsonIII(Distribution):
    """Pearson distribution of type III: a gamma distribution by its mean, standard deviation and skewness, of either sign.

    Parameters
    ----------
    skew : array_like
        Skewness, any number: the support begins at loc - 2 scale/skew, or for a negative one ends there; 0 is normal.
    loc, scale : array_like, optional
        Mean, and the standard deviation (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The incomplete gamma function of shape 4/skew^2, by differences from the mean, so that nothing is lost through skew = 0.
    Next to the finite end the digits of z limit those of the tail. Fits find maxima with a skewness between -2 and 2, beyond
    which the likelihood has no bound. Of logarithms of data it is the log-Pearson III distribution of hydrology.

    References
    ----------
    J. R. M. Hosking, J. R. Wallis, "Regional Frequency Analysis" (1997), appendix A.9.

    Examples
    --------
    >>> from numbastats.distributions import PearsonIII
    >>> PearsonIII([-0.5, 0.0, 0.5]).isf(0.01).round(5)  # frequency factors
    array([1.95472, 2.32635, 2.68572])
    """

    names, family, aliases = ("skew", "loc", "scale"), "pearson_iii", ("pearson3",)
    _contains = (
        Contains("normal", lambda t, loc, scale: dict(skew=0.0, loc=loc, scale=scale)),
        Contains("exponential", lambda t, loc, scale: dict(skew=2.0, loc=loc + scale, scale=scale), fixed={"loc": None}),
        Contains("exponential", lambda t, loc, scale: dict(skew=-2.0, loc=-loc - scale, scale=scale), True, {"loc": None}),
    )
    _positive = ("scale",)

    _kernels = Points(
        "pearson_iii", __name__, shapes=1, cost=dict(pdf=20.0, logpdf=15.0, cdf=120.0, sf=120.0, ppf=1500.0, isf=1500.0)
    )
    _likelihood = Likelihood(
        "pearson_iii", _kernels, names, shapes=1, real=(True,), below=(-2.0,), above=(2.0,), starts=3, pole=0, cost=400.0
    )

    @staticmethod
    def _by_lmoments(first, second, ratio):
        """The ratio is 6 I_{1/3}(a, 2a) - 3 of the gamma shape a: Hosking and Wallis's start (1997), secant steps in log a."""
        from scipy.special import betainc, gammaln

        t = np.where(np.abs(ratio) < 1.0, np.abs(ratio), math.nan)
        z, rest = 3.0 * math.pi * np.square(np.maximum(t, 1e-150)), 1.0 - t
        small = (1.0 + 0.2906 * z) / (z * (1.0 + z * (0.1882 + 0.0442 * z)))
        large = rest * (0.36067 - rest * (0.59567 - 0.25361 * rest))
        large = large / (1.0 - rest * (2.78861 - rest * (2.56096 - 0.77045 * rest)))
        before = np.where(t < 1.0 / 3.0, small, large)
        gap = lambda a: 6.0 * betainc(a, 2.0 * a, 1.0 / 3.0) - 3.0 - t  # noqa: E731
        a, off = np.where(before < 1e8, 1.0001, 1.0) * before, gap(before)
        for _ in range(5):
            here = gap(a)
            step = here * np.log(a / before) / (here - off)
            step = np.where(np.isfinite(step) & (a < 1e8), step, 0.0)
            before, off, a = a, here, a * np.exp(-step)
        scale = second * np.sqrt(math.pi * a) * np.exp(gammaln(a) - gammaln(a + 0.5))
        scale = np.where(a < 1e8, scale, second * math.sqrt(math.pi))
        return np.sign(ratio) * 2.0 / np.sqrt(a), first, scale

    def __init__(self, skew: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(skew=skew, loc=loc, scale=scale)

    def _mean_var(self):
        return 0.0, 1.0

    def _shape(self):
        return self.skew, 1.5 * np.square(self.skew)

    def _entropy(self):
        half = np.maximum(0.5 * np.abs(self.skew), 1e-9)  # below, 1 - skew^2 is 1
        return gamma.Gamma(1.0 / np.square(half))._entropy() + np.log(half)
