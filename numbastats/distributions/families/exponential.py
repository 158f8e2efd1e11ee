"""The exponential distribution."""

from __future__ import annotations

from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import Likelihood, settled_at_least
from numbastats.distributions.kernels.points import FUNCTIONS, Points, half_line, no_constants
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import exp, expm1, log, log1p

__all__ = ["Exponential", "constants", "logcdf", "logcdf_by_log", "logpdf", "support"]

constants, support = no_constants, half_line


@device_function
def logpdf(z, c):
    return -z


@device_function
def cdf(z, c):
    return -expm1(-z)


@device_function
def sf(z, c):
    return exp(-z)


@device_function
def logcdf(z, c):
    return log(-expm1(-z)) if z < 0.7 else log1p(-exp(-z))


@device_function
def logcdf_by_log(z, log_z):
    """`logcdf` also where z = exp(log_z) is so small that it has lost digits or underflowed."""
    near = log_z - 0.5 * z * (1.0 - z / 12.0)  # log((1 - e^-z)/z) = -z/2 + z^2/24 - ...
    return near if z < 1e-5 else logcdf(z, 0.0)


@device_function
def logsf(z, c):
    return -z


@device_function
def ppf(p, c):
    return -log1p(-p)


@device_function
def isf(p, c):
    return -log(p)


@device_function
def score(z, c):
    return (-1.0,)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 0.0, mean


settled = settled_at_least


class Exponential(LocationScale, Distribution):
    """Exponential distribution: P(X > x) = exp(-z), z = (x - loc)/scale.

    Parameters
    ----------
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0): the mean of X - loc.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, each written for its tail: relative errors of 1e-15, and z 1e-16 for density and tail.

    Examples
    --------
    >>> from numbastats.distributions import Exponential
    >>> float(Exponential(scale=2.0).isf(0.01).round(6))
    9.21034
    """

    family, aliases = "exponential", ("expon",)
    _moments, _nats = (1.0, 1.0, 2.0, 6.0), 1.0
    _generator = ("exponential", 1.0)

    _kernels = Points("exponential", __name__, shapes=0, cost=dict.fromkeys(FUNCTIONS, 8.0))
    _likelihood = Likelihood("exponential", _kernels, ("scale",), closed=True, cost=50.0)

    _by_lmoments = staticmethod(lambda first, _second, _ratio: (0.0, first))

    _by_moments = staticmethod(lambda mean, _sd: (0.0, mean))
