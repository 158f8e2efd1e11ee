"""The asymmetric Laplace distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, whole_line
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, expm1, log, log1p

__all__ = ["AsymmetricLaplace", "constants", "logpdf", "support"]

support = whole_line


@device_function
def constants(kappa):
    return kappa, log(kappa / (1.0 + kappa * kappa))


@device_function
def logpdf(z, c):
    return c[1] - (z * c[0] if z > 0.0 else -z / c[0])


# --- the lower tail; the upper one is that of -z with 1/kappa -----------------------------------------------------


@device_function
def shares(kappa):
    """The probabilities below and above loc."""
    square = kappa * kappa
    return square / (1.0 + square), 1.0 / (1.0 + square)


@device_function
def lower(z, kappa):
    below, above = shares(kappa)
    return below * exp(z / kappa) if z < 0.0 else below - above * expm1(-kappa * z)


@device_function
def log_lower(z, kappa):
    below, above = shares(kappa)
    if z < 0.0:
        return log(below) + z / kappa
    tail = above * exp(-kappa * z)
    return log1p(-tail) if tail < 0.5 else log(lower(z, kappa))


@device_function
def lower_quantile(p, kappa):
    below, above = shares(kappa)
    share = (p - below) / above
    far = -log1p(-share) if share < 0.5 else -log((1.0 - p) / above)
    return kappa * log(p / below) if p < below else far / kappa


@device_function
def cdf(z, c):
    return lower(z, c[0])


@device_function
def sf(z, c):
    return lower(-z, 1.0 / c[0])


@device_function
def logcdf(z, c):
    return log_lower(z, c[0])


@device_function
def logsf(z, c):
    return log_lower(-z, 1.0 / c[0])


@device_function
def ppf(p, c):
    return lower_quantile(p, c[0])


@device_function
def isf(p, c):
    return -lower_quantile(p, 1.0 / c[0])


@device_function
def score(z, c):
    square = c[0] * c[0]
    falls = z if z > 0.0 else -z / square
    by_z = -c[0] if z > 0.0 else (1.0 / c[0] if z < 0.0 else 0.0)
    return by_z, (1.0 - square) / (c[0] * (1.0 + square)) - (falls if z > 0.0 else -falls)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return 1.0, middle, 0.7 * sd


class AsymmetricLaplace(Distribution):
    """Asymmetric Laplace distribution: density like e^(-kappa z) above loc and e^(z/kappa) below, z = (x - loc)/scale.

    Parameters
    ----------
    kappa : array_like
        Asymmetry, > 0: 1 for a Laplace distribution, less for a longer upper tail.
    loc, scale : array_like, optional
        Mode, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Closed forms, each written for its tail: relative errors of 1e-15, and |log p| 1e-16 for density and tails. Its loc is the
    quantile at kappa^2/(1 + kappa^2), which makes it the distribution of quantile regression. A fit tries every value as loc,
    where the likelihood has its kinks: the maximum is the global one, or at the least or largest value the limit of an
    exponential distribution. Its standard errors are from the expected information.

    References
    ----------
    S. Kotz, T. J. Kozubowski, K. Podgorski, "The Laplace Distribution and Generalizations" (2001), chapter 3.

    Examples
    --------
    >>> from numbastats.distributions import AsymmetricLaplace
    >>> d = AsymmetricLaplace(0.5)
    >>> float(d.cdf(0.0)), d.mean()
    (0.2, np.float64(1.5))
    """

    names, family, aliases = ("kappa", "loc", "scale"), "asymmetric_laplace", ("laplace_asymmetric",)
    _contains = (
        Contains("laplace", lambda t, loc, scale: dict(kappa=1.0, loc=loc, scale=scale)),
        Contains("exponential", lambda t, loc, scale: dict(kappa=1.0 / t, loc=loc, scale=scale / t)),
        Contains("exponential", lambda t, loc, scale: dict(kappa=t, loc=-loc, scale=scale / t), mirrored=True),
    )
    _kinked = True

    _kernels = Points("asymmetric_laplace", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 10.0))
    _equations = fits.OwnEquations(
        ("kappa", "loc", "scale"), fits.FIT_ASYMMETRIC_LAPLACE, 60.0, fixable=("kappa",), searches=True
    )
    _likelihood = Likelihood("asymmetric_laplace", _kernels, ("kappa", "loc", "scale"), shapes=1, cost=100.0)

    def __init__(self, kappa: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(kappa=kappa, loc=loc, scale=scale)

    def _mean_var(self):
        kappa = np.asarray(self.kappa)
        return 1.0 / kappa - kappa, 1.0 / np.square(kappa) + np.square(kappa)

    def _shape(self):
        up, down = 1.0 / np.asarray(self.kappa), np.asarray(self.kappa)
        var = up**2 + down**2
        return 2.0 * (up**3 - down**3) / var**1.5, 6.0 * (up**4 + down**4) / np.square(var)

    def _entropy(self):
        kappa = np.asarray(self.kappa)
        return 1.0 + np.log(kappa + 1.0 / kappa)
