"""The Maxwell distribution."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.families.gamma import Gamma
from numbastats.distributions.families.gamma import constants as gamma_constants
from numbastats.distributions.families.generalized_gamma import log_lower_gamma
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.maps import POWER
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.kernels.transformed import half_square, root_of_double, transformed
from numbastats.distributions.protocol import Distribution, LocationScale
from numbastats.scalar.elementary import log

__all__ = ["Maxwell", "constants", "logpdf", "support"]

_REST = 3.0 * math.pi - 8.0

_LOG_2 = math.log(2.0)
_LOG_FACTOR = 0.5 * math.log(2.0 / math.pi)

support = half_line
cdf, sf, _, logsf, ppf, isf = transformed(Gamma, half_square, root_of_double)


@device_function
def constants():
    return (gamma_constants(1.5),)


@device_function
def logpdf(z, c):
    return _LOG_FACTOR + 2.0 * log(z) - 0.5 * z * z


@device_function
def logcdf(z, c):
    return log_lower_gamma(0.5 * z * z, 2.0 * log(z) - _LOG_2, c[0])


@device_function
def score(z, c):
    return (2.0 / z - z,)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 0.0, 0.63 * mean


class Maxwell(LocationScale, Distribution):
    """Maxwell distribution: density like z^2 exp(-z^2/2), z = (x - loc)/scale.

    Parameters
    ----------
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `Gamma` of shape 3/2 at z^2/2, of the same accuracy. It is the distribution of the length of a vector of three normal
    components of standard deviation `scale`, such as the speed of a molecule.

    Examples
    --------
    >>> from numbastats.distributions import Maxwell
    >>> float(Maxwell(scale=300.0).mean().round(3))
    478.731
    """

    family = "maxwell"
    _moments = (2.0 * math.sqrt(2.0 / math.pi), 3.0 - 8.0 / math.pi, 2.0 * math.sqrt(2.0) * (16.0 - 5.0 * math.pi) / _REST**1.5)
    _moments += ((160.0 * math.pi - 12.0 * math.pi**2 - 384.0) / _REST**2,)
    _nats = np.euler_gamma + 0.5 * math.log(2.0 * math.pi) - 0.5

    _kernels = Points("maxwell", __name__, shapes=0, cost={**Gamma._kernels.cost, "pdf": 10.0, "logpdf": 8.0})
    _likelihood = Likelihood("maxwell", _kernels, ("scale",), cost=100.0)

    def _draws(self, shape, options):
        y = random.gamma(1.5, 2.0, shape, **options)
        return self._located(self._mapped(POWER, y, options, 0.5), options)
