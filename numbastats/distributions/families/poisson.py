"""The Poisson distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.counts import Counts
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.masses import Masses
from numbastats.distributions.kernels.points import half_line
from numbastats.scalar.incomplete import gamma_constants, gamma_log_tails, gamma_tails, poisson_log_mass

__all__ = ["Poisson", "constants", "guess", "logcdf", "logpmf", "logsf", "moments", "score", "support", "tails"]

support = half_line


@device_function
def constants(mean):
    return mean


@device_function
def logpmf(k, c):
    return poisson_log_mass(k, c)


@device_function
def tails(k, c):
    above, below = gamma_tails(c, gamma_constants(k + 1.0))[:2]
    return below, above


@device_function
def logcdf(k, c):
    return gamma_log_tails(c, gamma_constants(k + 1.0))[1] if c > 0.0 else 0.0


@device_function
def logsf(k, c):
    return gamma_log_tails(c, gamma_constants(k + 1.0))[0] if c > 0.0 else -math.inf


@device_function
def moments(c):
    return c, math.sqrt(c), 1.0 / 6.0


@device_function
def score(k, c):
    return 0.0, k / c - 1.0


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return mean, 0.0, 1.0


class Poisson(Counts):
    """Poisson distribution: P(X = k) = mean^k e^-mean/k!.

    Parameters
    ----------
    mean : array_like
        Mean, >= 0.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Probabilities are written in the deviance, so that large means lose no digits; tails are those of the gamma distribution.
    Relative errors observed for means from 1e-3 to 1e3 against 60 digits, from 8 standard deviations below the mean to 12 above:
    9e-15 (probabilities), 8e-15 (tails).

    References
    ----------
    C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

    Examples
    --------
    >>> from numbastats.distributions import Poisson
    >>> d = Poisson([2.0, 50.0])
    >>> d.sf(60).round(6), d.ppf(0.99), Poisson(2.0).params.mean
    (array([0.     , 0.07216]), array([ 6., 67.]), 2.0)
    """

    names, family = ("mean",), "poisson"
    _positive = names
    _kernels = Masses("poisson", __name__, shapes=1, cost=dict(pmf=30.0, logpmf=25.0, ppf=600.0, isf=600.0))
    _likelihood = Likelihood("poisson", _kernels, names, shapes=1, closed=True)

    def __init__(self, mean: ArrayLike):
        self._set(mean=mean)

    def _mean_var(self):
        return self.params.mean, self.params.mean

    def _shape(self):
        return 1.0 / np.sqrt(self.params.mean), np.divide(1.0, self.params.mean)

    def _draws(self, shape, options):
        return random.poisson(self.params.mean, shape, **options)
