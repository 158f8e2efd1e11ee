"""The half-normal distribution."""

from __future__ import annotations

import math

import numbastats.distributions.families.normal as normal
from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import Likelihood, settled_at_least
from numbastats.distributions.kernels.points import Points, half_line, no_constants
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import log, log1p
from numbastats.scalar.normal import erfinv
from numbastats.scalar.special import erf

__all__ = ["HalfNormal", "constants", "logpdf", "support"]

_LOG_2 = math.log(2.0)
_SQRT_2 = math.sqrt(2.0)
_SQRT_HALF = math.sqrt(0.5)
_REST = math.pi - 2.0

constants, support = no_constants, half_line


@device_function
def logpdf(z, c):
    return normal.logpdf(z, c) + _LOG_2


@device_function
def cdf(z, c):
    return erf(_SQRT_HALF * z)


@device_function
def sf(z, c):
    return 2.0 * normal.cdf(-z, c)


@device_function
def logcdf(z, c):
    return log(cdf(z, c)) if z < 0.6 else log1p(-sf(z, c))


@device_function
def logsf(z, c):
    return normal.logcdf(-z, c) + _LOG_2 if z > 0.6 else log1p(-cdf(z, c))


@device_function
def ppf(p, c):
    return _SQRT_2 * erfinv(p)


@device_function
def isf(p, c):
    return -normal.ppf(0.5 * p, c) if p < 0.5 else _SQRT_2 * erfinv(1.0 - p)


@device_function
def score(z, c):
    return (-z,)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 0.0, math.sqrt(mean * mean + sd * sd)


settled = settled_at_least


class HalfNormal(LocationScale, Distribution):
    """Half-normal distribution: that of |Z| for a normal Z; density like exp(-z^2/2) for z = (x - loc)/scale > 0.

    Parameters
    ----------
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0): the standard deviation of Z.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Relative errors: 1e-15 for logarithms and quantiles, z^2 1e-16 for density and tails.

    Examples
    --------
    >>> from numbastats.distributions import HalfNormal
    >>> float(HalfNormal(scale=2.0).isf(0.05).round(6))
    3.919928
    """

    family, aliases = "half_normal", ("halfnorm",)
    _moments = (math.sqrt(2.0 / math.pi), 1.0 - 2.0 / math.pi)
    _moments += (math.sqrt(2.0) * (4.0 - math.pi) / _REST**1.5, 8.0 * (math.pi - 3.0) / _REST**2)
    _nats = normal.NORMAL_ENTROPY - _LOG_2

    _kernels = Points("half_normal", __name__, shapes=0, cost=normal.Normal._kernels.cost)
    _likelihood = Likelihood("half_normal", _kernels, ("scale",), closed=True, cost=60.0)
