"""The uniform distribution."""

from __future__ import annotations

import numpy as np

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, no_constants, unit_interval
from numbastats.distributions.protocol import Distribution, LocationScale

__all__ = ["Uniform", "constants", "logpdf", "support"]

constants, support = no_constants, unit_interval


@device_function
def logpdf(z, c):
    return 0.0 * z


@device_function
def pdf(z, c):
    return 1.0 + 0.0 * z


@device_function
def cdf(z, c):
    return z


@device_function
def sf(z, c):
    return 1.0 - z


@device_function
def ppf(p, c):
    return p


@device_function
def isf(p, c):
    return 1.0 - p


@device_function
def score(z, c):
    return (0.0,)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 0.0, 1.0


@device_function
def settled(loc, least, median, most):
    loc = loc if loc == loc else least
    return loc, most - loc


class Uniform(LocationScale, Distribution):
    """Uniform distribution between loc and loc + scale.

    Parameters
    ----------
    loc, scale : array_like, optional
        Lower end, and the length (> 0) of the support.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Next to the upper end the digits of x limit those of the tail.

    Examples
    --------
    >>> from numbastats.distributions import Uniform
    >>> float(Uniform(2.0, 4.0).cdf(3.0))
    0.25
    """

    family = "uniform"
    _moments, _nats = (0.5, 1.0 / 12.0, 0.0, -1.2), 0.0

    _kernels = Points("uniform", __name__, shapes=0, cost=dict.fromkeys(FUNCTIONS, 2.0))
    _likelihood = Likelihood("uniform", _kernels, ("loc", "scale"), closed=True, cost=20.0)

    def _draws(self, shape, options):
        return random.uniform(self.loc, np.add(self.loc, self.scale), shape, **options)
