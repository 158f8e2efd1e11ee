"""The geometric distribution, by its mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.counts import Counts
from numbastats.distributions.families.exponential import logcdf_by_log
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.masses import Masses
from numbastats.distributions.kernels.points import half_line
from numbastats.scalar.elementary import exp, expm1, log, log1p

__all__ = ["Geometric", "constants", "guess", "logcdf", "logpmf", "logsf", "moments", "score", "support", "tails"]

support = half_line


@device_function
def constants(mean):
    return mean, log1p(1.0 / mean) if mean > 0.0 else math.inf, log1p(mean)


@device_function
def logpmf(k, c):
    return (-k * c[1] if k > 0.0 else 0.0) - c[2]


@device_function
def tails(k, c):
    fall = (k + 1.0) * c[1]
    return -expm1(-fall), exp(-fall)


@device_function
def logcdf(k, c):
    fall = (k + 1.0) * c[1]
    return logcdf_by_log(fall, log(fall))


@device_function
def logsf(k, c):
    return -(k + 1.0) * c[1]


@device_function
def moments(c):
    return c[0], math.sqrt(c[0] * (1.0 + c[0])), (1.0 + 2.0 * c[0]) / 6.0


@device_function
def score(k, c):
    return 0.0, (k - c[0]) / (c[0] * (1.0 + c[0]))


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return mean, 0.0, 1.0


class Geometric(Counts):
    """Geometric distribution of failures before the first success, from 0, by its mean: P(X > k) = (mean/(1 + mean))^(k + 1).

    Parameters
    ----------
    mean : array_like
        Mean, >= 0; the chance of a success is 1/(1 + mean). SciPy's `geom` counts the success, too, and is one more.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms with relative errors of some 1e-16 times the logarithm. It is the negative binomial distribution of size 1.

    Examples
    --------
    >>> from numbastats.distributions import Geometric
    >>> d = Geometric(mean=3.0)  # successes have the chance 1/4
    >>> d.pmf([0, 1]), float(d.sf(9).round(6))
    (array([0.25  , 0.1875]), 0.056314)
    """

    names, family = ("mean",), "geometric"
    _positive = names
    _kernels = Masses("geometric", __name__, shapes=1, cost=dict(pmf=8.0, logpmf=3.0, cdf=8.0, sf=8.0, ppf=60.0, isf=60.0))
    _likelihood = Likelihood("geometric", _kernels, names, shapes=1, closed=True, above=(1e300,))

    def __init__(self, mean: ArrayLike):
        self._set(mean=mean)

    def _mean_var(self):
        return self.params.mean, self.params.mean * np.add(1.0, self.params.mean)

    def _shape(self):
        mean = np.asarray(self.params.mean)
        var = mean * (1.0 + mean)
        return (1.0 + 2.0 * mean) / np.sqrt(var), 6.0 + 1.0 / var

    def _entropy_of_one(self):
        mean = self.params.mean
        return math.log1p(mean) + mean * math.log1p(1.0 / mean) if mean > 0.0 else 0.0 * mean

    def _draws(self, shape, options):
        return random.geometric(np.divide(1.0, np.add(1.0, self.params.mean)), shape, **options) - 1
