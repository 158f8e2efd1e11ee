"""The generalised extreme value distribution."""

from __future__ import annotations

import math

import numpy as np

import numbastats.distributions.families.gumbel as gumbel
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.gpd import expanded, reduced, reduced_by_shape
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.bits import muladd
from numbastats.scalar.elementary import exp, log, log1p

__all__ = ["GEV", "constants", "logpdf", "support"]


@device_function
def constants(shape):
    return (shape,)


@device_function
def support(c):
    end = -1.0 / c[0] if c[0] != 0.0 else math.inf
    return (end if c[0] > 0.0 else -math.inf), (end if c[0] < 0.0 else math.inf)


@device_function
def logpdf(z, c):
    y = reduced(z, c[0])
    value = (0.0 if c[0] == -1.0 else -(1.0 + c[0]) * y) - exp(-y)
    return -math.inf if y <= -710.0 else value


@device_function
def cdf(z, c):
    return gumbel.cdf(reduced(z, c[0]), c)


@device_function
def logcdf(z, c):
    return gumbel.logcdf(reduced(z, c[0]), c)


@device_function
def sf(z, c):
    return gumbel.sf(reduced(z, c[0]), c)


@device_function
def logsf(z, c):
    return gumbel.logsf(reduced(z, c[0]), c)


@device_function
def ppf(p, c):
    return expanded(-log(-log(p)), c[0])


@device_function
def isf(p, c):
    return expanded(-log(-log1p(-p)), c[0])


@device_function
def score(z, c):
    k = c[0]
    y = reduced(z, k)
    fall = exp(-y) - (1.0 + k)
    return fall / muladd(k, z, 1.0), fall * reduced_by_shape(z, k) - y


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """By the quartiles, or one of several shapes by mean and standard deviation."""
    if attempt == 0 and high > middle and middle > low:
        shape = max(min(log((high - middle) / (middle - low) / 1.2688) / 0.786, 0.5), -0.3)
        return shape, middle - 0.2331 * (high - low), 0.6359 * (high - low)
    shape = 0.0 if attempt < 2 else (-0.2 if attempt == 2 else 0.3)
    return shape, mean - 0.45 * sd, 0.78 * sd


class GEV(OneShape, Distribution):
    """Generalised extreme value distribution: distribution function exp(-(1 + shape z)^(-1/shape)), z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape: positive for a heavy upper tail (Frechet), 0 for a Gumbel distribution, negative for an upper end at
        loc - scale/shape (reversed Weibull). SciPy's `genextreme` has the opposite sign.
    loc, scale : array_like, optional
        Location, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms through log(1 + shape z)/shape, which goes through its limit at shape 0 without loss: relative errors of 1e-15,
    and |log p| 1e-15 for density and tails. Next to a finite end the digits of z limit those of the tail. Moments are
    closed forms.

    References
    ----------
    S. Coles, "An Introduction to Statistical Modeling of Extreme Values" (2001), chapter 3.

    Examples
    --------
    >>> from numbastats.distributions import GEV
    >>> d = GEV(0.1, loc=40.0, scale=8.0)  # the largest rain of a year
    >>> float(d.isf(0.01).round(4))  # the return level of 100 years
    86.7278
    """

    family, aliases = "gev", ("genextreme",)
    _contains = (Contains("gumbel", lambda t, loc, scale: dict(shape=0.0, loc=loc, scale=scale)),)
    _support_in_words = "from -1/shape, or to it; all numbers at 0"
    _positive = ("scale",)

    _kernels = Points("gev", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 20.0))
    _likelihood = Likelihood(
        "gev", _kernels, OneShape.names, shapes=1, real=(True,), below=(-0.5,), above=(100.0,), starts=4, cost=400.0
    )

    @staticmethod
    def _by_lmoments(first, second, ratio):
        """J. R. M. Hosking, J. R. Wallis, E. F. Wood, Technometrics 27 (1985), 251: its start, and Newton steps from there."""
        from scipy.special import gamma

        z = 2.0 / (3.0 + ratio) - math.log(2.0) / math.log(3.0)
        k = 7.859 * z + 2.9554 * z * z
        for _ in range(20):
            k = np.where(np.abs(k) > 1e-7, k, 1e-7)
            three, two = -np.expm1(-k * math.log(3.0)), -np.expm1(-k * math.log(2.0))
            slope = 2.0 * ((1.0 - three) * math.log(3.0) - (1.0 - two) * math.log(2.0) * three / two) / two
            k = k - (2.0 * three / two - 3.0 - ratio) / slope
        k = np.where(np.abs(k) > 1e-7, k, 1e-7)
        factor = gamma(1.0 + k)
        scale = second * k / (-np.expm1(-k * math.log(2.0)) * factor)
        return -k, first - scale * (1.0 - factor) / k, scale

    def _mean_var(self):
        a = np.asarray(self.shape)
        b = np.where(np.abs(a) < 1e-60, 1e-60, np.where(a < 1.0, a, 0.5))
        first = _log_gamma(b)
        mean = np.where(a < 1.0, np.expm1(first) / b, math.inf)
        b = np.where(b < 0.5, b, 0.25)
        first = _log_gamma(b)
        var = np.exp(2.0 * first) * np.expm1(_log_gamma(2.0 * b, first)) / np.square(b)
        return mean, np.where(a < 0.5, var, np.where(a < 1.0, math.inf, math.nan))

    def _shape(self):
        """From the moments of 1 + shape z, the values of the gamma function at 1 - n shape; near 0 without cancellation."""
        a = np.asarray(self.shape)
        near = (a > -0.4) & (a < 0.2)
        found = _shape_near_0(np.where(near, a, 0.1)), _shape_far(np.where(near, -1.0, a))
        skewness, kurtosis = (np.where(near, *both) for both in zip(*found, strict=True))
        kurtosis = np.where(a < 0.25, kurtosis, np.where(a < 0.5, math.inf, math.nan))
        return np.where(a < 1.0 / 3.0, skewness, math.nan), kurtosis

    def _entropy(self):
        return 1.0 + np.euler_gamma * (1.0 + np.asarray(self.shape))


def _log_gamma(a, half=None):
    """log Gamma(1 - a), or that less twice the value `half` at a/2, without cancellation at 0."""
    from scipy.special import gammaln, zeta

    t = np.where(np.abs(a) < 0.2, a, 0.0)
    if half is None:
        return np.where(np.abs(a) < 0.2, np.euler_gamma * t + sum(zeta(n) * t**n / n for n in range(2, 28)), gammaln(1.0 - a))
    return np.where(
        np.abs(a) < 0.2, sum(zeta(n) * t**n * (1.0 - 2.0 ** (1 - n)) / n for n in range(2, 28)), gammaln(1.0 - a) - 2.0 * half
    )


def _shape_near_0(a):
    """Skewness and excess kurtosis by differences of log Gamma(1 - n a), which begin with a^2, a^3 and a^4; by series near 0."""
    from scipy.special import gammaln, zeta

    n, parts = np.arange(2.0, 190.0), []
    for k, weights in ((2, (-2.0, 1.0)), (3, (3.0, -3.0, 1.0)), (4, (-4.0, 6.0, -4.0, 1.0))):
        series = zeta(n[k - 2 :]) / n[k - 2 :] * sum(w * i ** n[k - 2 :] for i, w in enumerate(weights, 1))
        value = np.sum(series * np.where(np.abs(a) <= 0.2, a, 0.1)[..., None] ** (n[k - 2 :] - k), axis=-1)
        plain = sum(w * gammaln(1.0 - i * a) for i, w in enumerate(weights, 1)) / np.where(a == 0.0, 1.0, a) ** k
        value = np.where(np.abs(a) <= 0.2, value, plain)
        power = value * a**k
        parts.append(value * np.where(power == 0.0, 1.0, np.expm1(power) / np.where(power == 0.0, 1.0, power)))
    p, q, r = parts  # E Y^2 = 1 + A, E Y^3 = (1 + A)^3 (1 + C), E Y^4 = (1 + A)^6 (1 + C)^4 (1 + D), of E Y = 1
    b, c = 1.0 + a * a * p, 1.0 + a**3 * q
    skewness = (a * p * p * (3.0 + a * a * p) + b**3 * q) / p**1.5
    fourth = a * a * p**3 * (16.0 + a * a * p * (15.0 + a * a * p * (6.0 + a * a * p)))
    fourth = fourth + 4.0 * a * p * q * b**3 * (1.0 + b + b * b)
    return skewness, (fourth + b**6 * (a * a * q * q * (6.0 + 4.0 * a**3 * q + a**6 * q * q) + r * c**4)) / (p * p)


def _shape_far(a):
    """Skewness and excess kurtosis by logarithms of Gamma(1 - n a), in units of the root of the second moment."""
    from scipy.special import gammaln

    one, two, three, four = (gammaln(1.0 - a), gammaln(1.0 - 2.0 * a), gammaln((1.0 - 2.0 * a) - a), gammaln(1.0 - 4.0 * a))
    mean, third, fourth = np.exp(one - 0.5 * two), np.exp(three - 1.5 * two), np.exp(four - 2.0 * two)
    var = -np.expm1(2.0 * one - two)
    skewness = np.sign(a) * (third - mean * (3.0 - 2.0 * mean * mean)) / var**1.5
    kurtosis = (fourth - mean * (4.0 * third - mean * (6.0 - 3.0 * mean * mean))) / (var * var) - 3.0
    return skewness, np.where(fourth < math.inf, kurtosis, math.inf)
