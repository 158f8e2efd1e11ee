"""The Cauchy distribution."""

from __future__ import annotations

import math

from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import WHERE_FIXED, Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, no_constants, whole_line
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import atan, log, log1p, sincospi

__all__ = ["Cauchy", "constants", "logpdf", "support"]

_LOG_PI, _1_PI = math.log(math.pi), 1.0 / math.pi

constants, support = no_constants, whole_line


@device_function
def logpdf(z, c):
    t = abs(z)
    return (-2.0 * log(t) if t > 1e9 else -log1p(t * t)) - _LOG_PI


@device_function
def pdf(z, c):
    t = abs(z)
    q = 1.0 / (t if t > 1e9 else 1.0)
    return (q * q if t > 1e9 else 1.0 / (1.0 + t * t)) * _1_PI


@device_function
def cdf(z, c):
    tail = atan(1.0 / (abs(z) if abs(z) > 1.0 else 1.0)) * _1_PI
    tail = tail if abs(z) > 1.0 else 0.5 - atan(abs(z)) * _1_PI
    return tail if z < 0.0 else 1.0 - tail


@device_function
def logcdf(z, c):
    return log(cdf(z, c)) if z < 0.0 else log1p(-cdf(-z, c))


@device_function
def ppf(p, c):
    sine, cosine = sincospi(p)
    return -cosine / sine


@device_function
def score(z, c):
    return (-2.0 * z / (1.0 + z * z),)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """Median, quartiles, mean: with the scale fixed there may be several maxima (J. B. Copas, Biometrika 62 (1975), 701)."""
    loc = low if attempt == 1 else (high if attempt == 2 else (mean if attempt == 3 else middle))
    return loc, max(0.5 * (high - low), 0.01 * sd)


class Cauchy(LocationScale, Distribution):
    """Cauchy distribution: density 1/(pi (1 + z^2)), z = (x - loc)/scale.

    Parameters
    ----------
    loc, scale : array_like, optional
        Median, and the scale (> 0): half of the distance between the quartiles.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, relative errors of 1e-15 in both tails. There is no mean: moments are NaN.

    Examples
    --------
    >>> from numbastats.distributions import Cauchy
    >>> float(Cauchy().isf(1e-12).round())
    318309886184.0
    """

    family = "cauchy"
    _moments, _nats = (math.nan, math.nan, math.nan, math.nan), math.log(4.0 * math.pi)

    _kernels = Points("cauchy", __name__, shapes=0, cost=dict.fromkeys(FUNCTIONS, 12.0))
    _likelihood = Likelihood("cauchy", _kernels, ("loc", "scale"), starts=4, every=WHERE_FIXED, cost=150.0)
