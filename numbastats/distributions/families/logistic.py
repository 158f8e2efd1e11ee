"""The logistic distribution."""

from __future__ import annotations

import math

from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, no_constants, whole_line
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import exp, log, log1p, tanh

__all__ = ["Logistic", "cdf", "constants", "logcdf", "logpdf", "support"]

constants, support = no_constants, whole_line


@device_function
def logpdf(z, c):
    t = abs(z)
    return -t - 2.0 * log1p(exp(-t))


@device_function
def cdf(z, c):
    e = exp(-abs(z))
    return (e if z < 0.0 else 1.0) / (1.0 + e)


@device_function
def logcdf(z, c):
    return (z if z < 0.0 else 0.0) - log1p(exp(-abs(z)))


@device_function
def ppf(p, c):
    rest = 1.0 - p
    return log1p((p - rest) / rest) if abs(p - 0.5) < 0.25 else log(p / rest)


@device_function
def score(z, c):
    return (-tanh(0.5 * z),)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return middle, 0.55 * sd if attempt == 1 or high <= low else 0.4551 * (high - low)


class Logistic(LocationScale, Distribution):
    """Logistic distribution: distribution function 1/(1 + exp(-z)), z = (x - loc)/scale.

    Parameters
    ----------
    loc, scale : array_like, optional
        Location, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms: relative errors of 1e-15, and |z| 1e-16 for density and tails.

    Examples
    --------
    >>> from numbastats.distributions import Logistic
    >>> f"{Logistic().sf(100.0):.10e}"
    '3.7200759760e-44'
    """

    family = "logistic"
    _moments, _nats = (0.0, math.pi**2 / 3.0, 0.0, 1.2), 2.0
    _generator = ("logistic", 0.0, 1.0)

    _kernels = Points("logistic", __name__, shapes=0, cost=dict.fromkeys(FUNCTIONS, 10.0))
    _likelihood = Likelihood("logistic", _kernels, ("loc", "scale"), starts=2, cost=150.0)

    _by_lmoments = staticmethod(lambda first, second, _ratio: (first, second))
