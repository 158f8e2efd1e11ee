"""The Weibull distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.exponential import logcdf_by_log
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, half_line
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import exp, expm1, log, log1p, pow

__all__ = ["Weibull", "constants", "logpdf", "support"]

support = half_line


@device_function
def constants(shape):
    return shape, log(shape), 1.0 / shape


@device_function
def logpdf(z, c):
    power = 0.0 if c[0] == 1.0 else (c[0] - 1.0) * log(z)
    return c[1] + power - pow(z, c[0])


@device_function
def cdf(z, c):
    return -expm1(-pow(z, c[0]))


@device_function
def sf(z, c):
    return exp(-pow(z, c[0]))


@device_function
def logcdf(z, c):
    return logcdf_by_log(pow(z, c[0]), c[0] * log(z))


@device_function
def logsf(z, c):
    return -pow(z, c[0])


@device_function
def ppf(p, c):
    return pow(-log1p(-p), c[2])


@device_function
def isf(p, c):
    return pow(-log(p), c[2])


@device_function
def score(z, c):
    power, log_z = pow(z, c[0]), log(z)
    return (c[0] - 1.0 - c[0] * power) / z, c[2] + log_z * (1.0 - power)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return pow(mean / sd, 1.086), 0.0, 1.1 * mean


class Weibull(OneShape, Distribution):
    """Weibull distribution: P(X > x) = exp(-z^shape), z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape, > 0.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, each written for its tail: relative errors of a few 1e-16 times z^shape.

    Examples
    --------
    >>> from numbastats.distributions import Weibull
    >>> float(Weibull(2.0).logsf(100.0))
    -10000.0
    """

    family, aliases = "weibull", ("weibull_min",)
    _contains = (
        Contains("exponential", lambda t, loc, scale: dict(shape=1.0, loc=loc, scale=scale)),
        Contains("rayleigh", lambda t, loc, scale: dict(shape=2.0, loc=loc, scale=math.sqrt(2.0) * scale)),
        Contains("gumbel_min", lambda t, loc, scale: dict(shape=t, loc=loc - t * scale, scale=t * scale)),
    )
    _generator = ("weibull", "shape")

    _kernels = Points("weibull", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 25.0))
    _equations = fits.OwnEquations(("shape", "scale"), fits.FIT_WEIBULL, 20.0, certain=True)
    _likelihood = Likelihood(*("weibull", _kernels, ("shape", "scale")), shapes=1, starts=2)

    def _mean_var(self):
        from scipy.special import gammaln

        i = np.divide(1.0, self.shape)
        first = np.exp(gammaln(1.0 + i))
        # next to shape = inf both terms are 1: their logarithms differ by pi^2/(6 shape^2) - ...
        return first, first**2 * np.expm1(_gamma_ratio(i))

    def _shape(self):
        return _weibull_shape(np.maximum(np.divide(1.0, self.shape), 1e-60))

    def _entropy(self):
        i = np.divide(1.0, self.shape)
        return np.euler_gamma * (1.0 - i) + np.log(i) + 1.0


def _gamma_ratio(i):
    """log Gamma(1 + 2 i) - 2 log Gamma(1 + i), by its series where that cancels: sum zeta(n) (-i)^n (2^n - 2)/n."""
    from scipy.special import gammaln, zeta

    small = sum(zeta(n) * (-i) ** n * (2.0**n - 2.0) / n for n in range(2, 26))
    return np.where(i < 0.1, small, gammaln(1.0 + 2.0 * i) - 2.0 * gammaln(1.0 + i))


def _weibull_shape(i):
    """Skewness and excess kurtosis from A, C, D, which are functions of L(n) = log Gamma(1 + n i).

    A = L(2) - 2 L(1), C = L(3) - 3 L(2) + 3 L(1) and D = L(4) - 4 L(3) + 6 L(2) - 4 L(1): log E z^3/(E z)^3 is 3 A + C and
    log E z^4/(E z)^4 is 6 A + 4 C + D. Moments are polynomials in e^A - 1, e^C - 1, e^D - 1, less the low powers, which cancel,
    or for A > 1/2 sums of exponentials. For small i the differences go by log Gamma(1 + t) = -log(1 + t) + (1 - gamma) t +
    sum (zeta(n) - 1) (-t)^n/n, which converges to t = 2.
    """
    from scipy.special import gammaln, zetac

    i = np.asarray(i)
    t = np.minimum(i, 0.3)
    third = -np.log1p(t**3 * (2.0 + 3.0 * t) / (1.0 + 2.0 * t) ** 3)
    fourth = -np.log1p(-(t**4) * (6.0 + t * (48.0 + t * (140.0 + t * (176.0 + t * 81.0)))) / ((1.0 + t) * (1.0 + 3.0 * t)) ** 4)
    for n in range(3, 90):
        term = zetac(n) / n * (-t) ** n
        third = third + term * (3.0**n - 3.0 * 2.0**n + 3.0)
        fourth = fourth + term * (4.0**n - 4.0 * 3.0**n + 6.0 * 2.0**n - 4.0)
    one, two, three, four = (gammaln(1.0 + n * i) for n in (1, 2, 3, 4))
    a = _gamma_ratio(i)
    c = np.where(i < 0.3, third, three - 3.0 * (two - one))
    d = np.where(i < 0.3, fourth, four - 4.0 * (three + one) + 6.0 * two)
    far = a > 0.5
    x, y, z = (np.expm1(np.where(far, 0.5, v)) for v in (a, c, d))
    cube = (1.0 + x) ** 3
    skewness = (x * x * (3.0 + x) + y * cube) / x**1.5
    rest = z + (1.0 + z) * y * y * (6.0 + y * (4.0 + y)) + 4.0 * y * z
    inner = cube * (cube * rest + 4.0 * y * x * (3.0 + x * (3.0 + x)))
    kurtosis = x * (16.0 + x * (15.0 + x * (6.0 + x))) + inner / (x * x)
    b, e, spread = 3.0 * a + c, 6.0 * a + 4.0 * c + d, -np.expm1(-a)
    far_skewness = np.exp(b - 1.5 * a) * (1.0 - 3.0 * np.exp(a - b) + 2.0 * np.exp(-b)) / spread**1.5
    far_kurtosis = np.exp(e - 2.0 * a) * (1.0 - 4.0 * np.exp(b - e) + 6.0 * np.exp(a - e) - 3.0 * np.exp(-e)) / spread**2 - 3.0
    return np.where(far, far_skewness, skewness), np.where(far, far_kurtosis, kurtosis)
