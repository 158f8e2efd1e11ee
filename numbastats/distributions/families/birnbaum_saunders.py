"""The Birnbaum-Saunders distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.normal import LOG_SQRT_2PI, NORMAL_ENTROPY, Normal
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.kernels.transformed import transformed
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import log, log1p

__all__ = ["BirnbaumSaunders", "constants", "logpdf", "support"]

support = half_line


@device_function
def constants(shape):
    return 0.0, shape, log(2.0 * shape) + LOG_SQRT_2PI


@device_function
def image(z, c):
    return (z - 1.0) / (c[1] * math.sqrt(z))


@device_function
def preimage(y, c):
    half = 0.5 * c[1] * abs(y)
    root = half + math.sqrt(half * half + 1.0)
    return root * root if y > 0.0 else 1.0 / (root * root)


cdf, sf, logcdf, logsf, ppf, isf = transformed(Normal, image, preimage)


@device_function
def logpdf(z, c):
    y = image(z, c)
    value = log1p(z) - 1.5 * log(z) - 0.5 * y * y - c[2]
    return value if z > 0.0 else -math.inf


@device_function
def score(z, c):
    y = image(z, c)
    slope = (z + 1.0) / (2.0 * c[1] * z * math.sqrt(z))
    return 1.0 / (1.0 + z) - 1.5 / z - y * slope, (y * y - 1.0) / c[1]


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return (log(high / low) / 1.349 if attempt == 0 and high > low else sd / mean), 0.0, middle


class BirnbaumSaunders(OneShape, Distribution):
    """Birnbaum-Saunders (fatigue life) distribution: (sqrt(z) - 1/sqrt(z))/shape is normal, z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape, > 0.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0): the median of X - loc.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Accuracy as `Normal` there.

    References
    ----------
    Z. W. Birnbaum, S. C. Saunders, Journal of Applied Probability 6 (1969), 319.

    Examples
    --------
    >>> from numbastats.distributions import BirnbaumSaunders
    >>> d = BirnbaumSaunders(0.5, scale=1e5)  # cycles until a crack
    >>> d.mean(), float(d.ppf(0.01).round())
    (np.float64(112500.0), 33090.0)
    """

    family, aliases = "birnbaum_saunders", ("fatiguelife",)
    _contains = (Contains("normal", lambda t, loc, scale: dict(shape=1.0 / t, loc=loc - t * scale, scale=t * scale)),)

    _kernels = Points("birnbaum_saunders", __name__, shapes=1, cost=Normal._kernels.cost | {"pdf": 12.0, "logpdf": 10.0})
    _likelihood = Likelihood("birnbaum_saunders", _kernels, ("shape", "scale"), shapes=1, starts=2, pole=-1, cost=250.0)

    def _mean_var(self):
        square = np.square(self.shape)
        return 1.0 + 0.5 * square, square * (1.0 + 1.25 * square)

    def _shape(self):
        square = np.square(self.shape)
        part = 5.0 * square + 4.0
        return 4.0 * self.shape * (11.0 * square + 6.0) / part**1.5, 6.0 * square * (93.0 * square + 40.0) / np.square(part)

    def _entropy(self):
        half = Normal(0.0, 0.5 * np.asarray(self.shape))
        return NORMAL_ENTROPY + np.log(self.shape) - 0.5 * half.expect(lambda w: np.log1p(w * w))
