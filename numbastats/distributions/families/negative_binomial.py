"""The negative binomial distribution, by its mean."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

import numbastats.distributions.families.poisson as poisson
import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.counts import Counts
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.masses import Masses
from numbastats.distributions.kernels.points import half_line
from numbastats.scalar.elementary import log
from numbastats.scalar.incomplete import beta_constants, beta_log_tails, beta_tails, excess_by, poisson_log_mass
from numbastats.scalar.mixture import gamma_terms

__all__ = ["NegativeBinomial", "constants", "guess", "logcdf", "logpmf", "logsf", "moments", "score", "support", "tails"]

support = half_line


_POISSON = 1e18  # size from which on doubles do not tell the distribution from Poisson's


@device_function
def constants(mean, size):
    return mean, size, size / (size + mean), mean / (size + mean), gamma_terms(size)[0]


@device_function
def logpmf(k, c):
    size, total = c[1], c[1] + k
    masses = poisson_log_mass(size, total * c[2]) + poisson_log_mass(k, total * c[3]) - poisson_log_mass(total, total)
    return masses + log(size / total)


@device_function
def tails(k, c):
    return poisson.tails(k, c[0]) if c[1] >= _POISSON else beta_tails(c[2], c[3], beta_constants(c[1], k + 1.0))[:2]


@device_function
def logcdf(k, c):
    if c[1] >= _POISSON:
        return poisson.logcdf(k, c[0])
    return beta_log_tails(c[2], c[3], beta_constants(c[1], k + 1.0))[0] if c[0] > 0.0 else 0.0


@device_function
def logsf(k, c):
    if c[1] >= _POISSON:
        return poisson.logsf(k, c[0])
    return beta_log_tails(c[2], c[3], beta_constants(c[1], k + 1.0))[1] if c[0] > 0.0 else -math.inf


@device_function
def moments(c):
    return c[0], math.sqrt(c[0] / c[2]), (1.0 + 2.0 * c[0] / c[1]) / 6.0


@device_function
def score(k, c):
    away, total = k - c[0], c[1] + c[0]
    fall = c[4] - gamma_terms(c[1] + k)[0]
    return 0.0, away / c[0] * c[2], fall - excess_by(1.0, (c[1] + k) / total, away / total)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    more = sd * sd - mean
    return mean, (mean * (mean / more) if more > 0.0 else 10.0 + mean), 0.0, 1.0


class NegativeBinomial(Counts):
    """Negative binomial distribution by its mean: counts whose variance is mean + mean^2/size, more than a Poisson variable's.

    P(X = k) = Gamma(k + size)/(Gamma(size) k!) p^size (1 - p)^k with p = size/(size + mean): a Poisson variable whose mean has a
    gamma distribution of shape `size`, and for whole `size` the failures before so many successes of chance p.

    Parameters
    ----------
    mean : array_like
        Mean, >= 0.
    size : array_like
        Size, > 0, the inverse of what is also called dispersion. ``inf`` is a Poisson distribution, and is stored as 1e18, from
        which on doubles do not tell the two apart.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Probabilities are written in deviances, tails are those of the beta distribution. A fit has a maximum where the variance of
    the data, their mean square about the mean, is more than the mean; else the likelihood rises towards the Poisson distribution,
    and the fit ends at that limit, size = inf, with status 2.

    References
    ----------
    C. Loader, "Fast and accurate computation of binomial probabilities" (2000). B. Levin, J. Reeds, "Compound multinomial
    likelihood functions are unimodal: proof of a conjecture of I. J. Good", Annals of Statistics 5 (1977).

    Examples
    --------
    >>> from numbastats.distributions import NegativeBinomial
    >>> d = NegativeBinomial(mean=3.0, size=2.0)
    >>> float(d.var()), float(d.pmf(0).round(6)), float(d.ppf(0.95))
    (7.5, 0.16, 8.0)
    """

    names, family, aliases = ("mean", "size"), "negative_binomial", ("nbinom",)
    _contains = (
        Contains("poisson", lambda t, mean: dict(mean=mean, size=t)),
        Contains("geometric", lambda t, mean: dict(mean=mean, size=1.0)),
    )
    _positive = names
    _most: ClassVar[dict[str, float]] = {"size": _POISSON}
    _kernels = Masses(
        "negative_binomial", __name__, shapes=2, cost=dict(pmf=80.0, logpmf=70.0, cdf=200.0, sf=200.0, ppf=900.0, isf=900.0)
    )
    _likelihood = Likelihood("negative_binomial", _kernels, names, shapes=2, closed=True, above=(1e300, 1e7))

    def __init__(self, mean: ArrayLike, size: ArrayLike):
        self._set(mean=mean, size=size)

    def _mean_var(self):
        return self.params.mean, self.params.mean * (1.0 + np.divide(self.params.mean, self.size))

    def _shape(self):
        mean, size = self.params.mean, self.size
        ratio = np.divide(mean, size)
        var = np.multiply(mean, 1.0 + ratio)
        return (1.0 + 2.0 * ratio) / np.sqrt(var), np.divide(6.0, size) + 1.0 / var

    def _draws(self, shape, options):
        size, mean = np.asarray(self.size), np.asarray(self.params.mean)
        size = np.where(
            size >= _POISSON, np.maximum(1e8 * mean, 1.0), size
        )  # a Poisson distribution but for 1e-8 of its variance
        return random.negative_binomial(size, np.divide(size, np.add(size, mean)), shape, **options)
