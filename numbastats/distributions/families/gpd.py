"""The generalised Pareto distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import MAXIMUM, Likelihood, settled_at_least
from numbastats.distributions.kernels.points import FUNCTIONS, Points
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.bits import muladd
from numbastats.scalar.elementary import exp, expm1, log, log1p, log1p_product

__all__ = ["GPD", "constants", "expanded", "guess", "logpdf", "reduced", "reduced_by_shape", "support"]

_LOG_2 = math.log(2.0)


@device_function
def constants(shape):
    return (shape,)


@device_function
def support(c):
    return 0.0, (-1.0 / c[0] if c[0] < 0.0 else math.inf)


@device_function
def reduced(z, shape):
    """log(1 + shape z)/shape, with its limit z at shape 0, also where the product is no double."""
    over = shape * z == math.inf
    y = log1p_product(shape, z * 2.0**-512 if over else z) + (512.0 * _LOG_2 if over else 0.0)
    return z if abs(shape) < 1e-200 else y / shape


@device_function
def expanded(y, shape):
    """The inverse of `reduced`."""
    return y if abs(shape) < 1e-200 else expm1(shape * y) / shape


@device_function
def reduced_by_shape(z, shape):
    """The derivative of `reduced` by the shape, -z^2 (log(1 + w) - w/(1 + w))/w^2 with w = shape z; near 0 by its series."""
    w = shape * z
    t = -w
    near = t * (5.0 / 6.0 + t * (6.0 / 7.0 + t * (7.0 / 8.0 + t * (8.0 / 9.0 + t * (9.0 / 10.0 + t * 10.0 / 11.0)))))
    near = 0.5 + t * (2.0 / 3.0 + t * (0.75 + t * (0.8 + near)))
    safe = 1.0 if shape == 0.0 else shape
    far = (z / (1.0 + w) - log1p(w) / safe) / safe
    return -z * z * near if abs(w) < 0.03 else far


@device_function
def logpdf(z, c):
    return 0.0 if c[0] == -1.0 else -(1.0 + c[0]) * reduced(z, c[0])


@device_function
def cdf(z, c):
    return -expm1(-reduced(z, c[0]))


@device_function
def sf(z, c):
    return exp(-reduced(z, c[0]))


@device_function
def logcdf(z, c):
    y = reduced(z, c[0])
    return log(-expm1(-y)) if y < 0.7 else log1p(-exp(-y))


@device_function
def logsf(z, c):
    return -reduced(z, c[0])


@device_function
def ppf(p, c):
    return expanded(-log1p(-p), c[0])


@device_function
def isf(p, c):
    return expanded(-log(p), c[0])


@device_function
def score(z, c):
    k = c[0]
    rest = muladd(k, z, 1.0)
    return -(1.0 + k) / rest, -reduced(z, k) - (1.0 + k) * reduced_by_shape(z, k)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """By moments, as an exponential distribution, or with a heavy tail by the lower quartile."""
    shape = 0.5 * (1.0 - mean * mean / (sd * sd)) if attempt == 0 else (0.0 if attempt == 1 else 0.7)
    return shape, 0.0, mean * (1.0 - shape) if attempt < 2 else 3.1 * low


settled = settled_at_least


class GPD(OneShape, Distribution):
    """Generalised Pareto distribution: P(X > x) = (1 + shape z)^(-1/shape), z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape: positive for a heavy tail (a power), 0 for an exponential one, negative for an end at loc - scale/shape. SciPy's
        `genpareto` has the same sign.
    loc, scale : array_like, optional
        The threshold, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms through log(1 + shape z)/shape, which goes through its limit at shape 0 without loss: relative errors of 1e-15,
    and |log p| 1e-16 for density and tails. Next to a finite end
    the digits of z limit those of the tail.

    References
    ----------
    S. Coles, "An Introduction to Statistical Modeling of Extreme Values" (2001), chapter 4.

    Examples
    --------
    >>> from numbastats.distributions import GPD
    >>> d = GPD(0.2, loc=30.0, scale=7.0)  # excesses of 30 mm
    >>> float(d.isf(0.01).round(4)), float(d.mean())
    (82.916, 38.75)
    """

    family, aliases = "gpd", ("genpareto",)
    _contains = (Contains("exponential", lambda t, loc, scale: dict(shape=0.0, loc=loc, scale=scale)),)
    _support_in_words = "0 to ∞, or to -1/shape"
    _positive = ("scale",)

    _kernels = Points("gpd", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 12.0))
    _likelihood = Likelihood(
        "gpd",
        _kernels,
        ("shape", "scale"),
        shapes=1,
        real=(True,),
        below=(-0.5,),
        above=(100.0,),
        starts=3,
        every=MAXIMUM,
        closed=True,
        cost=250.0,
    )

    _by_lmoments = staticmethod(lambda first, second, _ratio: (2.0 - first / second, 0.0, first * (first / second - 1.0)))

    def _mean_var(self):
        a = np.asarray(self.shape)
        mean = np.where(a < 1.0, 1.0 / (1.0 - a), math.inf)
        return mean, np.where(a < 0.5, np.square(mean) / (1.0 - 2.0 * a), np.where(a < 1.0, math.inf, math.nan))

    def _shape(self):
        a = np.asarray(self.shape)
        skewness = np.where(a < 1.0 / 3.0, 2.0 * (1.0 + a) * np.sqrt(np.maximum(1.0 - 2.0 * a, 0.0)) / (1.0 - 3.0 * a), math.nan)
        finite = 3.0 * (1.0 - 2.0 * a) * (2.0 * a * a + a + 3.0) / ((1.0 - 3.0 * a) * (1.0 - 4.0 * a)) - 3.0
        return skewness, np.where(a < 0.25, finite, np.where(a < 0.5, math.inf, math.nan))

    def _entropy(self):
        return 1.0 + np.asarray(self.shape)
