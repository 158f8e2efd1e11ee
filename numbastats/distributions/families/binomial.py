"""The binomial distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.counts import Counts
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.masses import Masses
from numbastats.scalar.incomplete import beta_constants, beta_log_tails, beta_tails, poisson_log_mass

__all__ = ["Binomial", "constants", "guess", "logcdf", "logpmf", "logsf", "moments", "score", "support", "tails"]


@device_function
def constants(n, p):
    return n, p, 1.0 - p, poisson_log_mass(n, n)


@device_function
def support(c):
    return 0.0, c[0]


@device_function
def logpmf(k, c):
    return poisson_log_mass(k, c[0] * c[1]) + poisson_log_mass(c[0] - k, c[0] * c[2]) - c[3]


@device_function
def tails(k, c):
    return beta_tails(c[2], c[1], beta_constants(c[0] - k if k < c[0] else 1.0, k + 1.0))[:2]


@device_function
def _log_tails(k, c):
    return beta_log_tails(c[2], c[1], beta_constants(c[0] - k if k < c[0] else 1.0, k + 1.0))


@device_function
def logcdf(k, c):
    inside = (c[1] > 0.0) & (c[2] > 0.0)
    return _log_tails(k, c)[0] if inside else (0.0 if c[1] == 0.0 else -math.inf)


@device_function
def logsf(k, c):
    inside = (c[1] > 0.0) & (c[2] > 0.0)
    return _log_tails(k, c)[1] if inside else (0.0 if c[2] == 0.0 else -math.inf)


@device_function
def moments(c):
    return c[0] * c[1], math.sqrt(c[0] * (c[1] * c[2])), (c[2] - c[1]) / 6.0


@device_function
def score(k, c):
    return 0.0, math.nan, (k - c[0] * c[1]) / (c[1] * c[2])


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 0.0, 0.5, 0.0, 1.0


class Binomial(Counts):
    """Binomial distribution: successes in n trials of chance p.

    Parameters
    ----------
    n : array_like
        Number of trials, a whole number >= 0.
    p : array_like
        Chance, 0 <= p <= 1.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Probabilities are written in deviances, tails are those of the beta distribution. Fits estimate p, with the number of trials
    in ``fixed={"n": ...}``; the derivative by n of `score` is NaN.

    References
    ----------
    C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

    Examples
    --------
    >>> import numbastats as ns
    >>> d = ns.distributions.Binomial(10, 0.3)
    >>> float(d.cdf(2).round(6)), d.pmf([0, 3]).round(6), float(d.ppf(0.9))
    (0.382783, array([0.028248, 0.266828]), 5.0)
    >>> round(
    ...     ns.distributions.fit([3, 1, 4, 2], "binomial", fixed={"n": 10}).params["p"], 6
    ... )
    0.25
    """

    names, family, aliases = ("n", "p"), "binomial", ("binom",)
    _support_in_words = "0, 1, ..., n"
    _kernels = Masses("binomial", __name__, shapes=2, cost=dict(pmf=50.0, logpmf=40.0, cdf=200.0, sf=200.0, ppf=900.0, isf=900.0))
    _known = ("n",)
    _likelihood = Likelihood(
        *("binomial", _kernels, ("p",)), shapes=2, closed=True, real=(True, True), below=(0.0, 1e-12), above=(1e15, 1.0 - 1e-12)
    )

    def __init__(self, n: ArrayLike, p: ArrayLike):
        self._set(n=n, p=p)

    @classmethod
    def _refusals(cls, values):
        n, p = values["n"], values["p"]
        yield "n", np.asarray((n >= 0.0) & (n < math.inf) & (np.floor(n) == n)), "a whole number >= 0"
        yield "p", np.asarray((p >= 0.0) & (p <= 1.0)), "between 0 and 1"

    def _mean_var(self):
        mean = np.multiply(self.n, self.p)
        return mean, mean * np.subtract(1.0, self.p)

    def _shape(self):
        p = np.asarray(self.p)
        var = self.n * p * (1.0 - p)
        return (1.0 - 2.0 * p) / np.sqrt(var), (1.0 - 6.0 * p * (1.0 - p)) / var

    def _draws(self, shape, options):
        return random.binomial(self.n, self.p, shape, **options)
