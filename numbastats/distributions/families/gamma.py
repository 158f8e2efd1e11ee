"""The gamma distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.normal import NORMAL_ENTROPY
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import Points, half_line
from numbastats.distributions.moments import stirling, stirling_fall
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import exp, log
from numbastats.scalar.incomplete import (
    gamma_constants,
    gamma_density,
    gamma_log_mass,
    gamma_log_tails,
    gamma_quantile,
    gamma_tails,
)
from numbastats.scalar.special import digamma

__all__ = [
    *(
        "Gamma",
        "cdf",
        "constants",
        "is_plain",
        "isf",
        "logcdf",
        "logpdf",
        "logsf",
        "pdf",
        "plain_logpdf",
        "ppf",
        "score",
        "sf",
        "support",
    )
]

constants, support = gamma_constants, half_line


@device_function
def is_plain(c):
    return c[0] < 8.0


@device_function
def plain_logpdf(z, c):
    return (0.0 if c[0] == 1.0 else (c[0] - 1.0) * log(z)) - z + (c[2] + log(c[0]))


@device_function
def plain_pdf(z, c):
    return exp(plain_logpdf(z, c))


@device_function
def logpdf(z, c):
    if is_plain(c):
        return plain_logpdf(z, c)
    ratio = c[0] / z
    log_ratio = log(ratio) if ratio < math.inf else log(c[0]) - log(z)
    return gamma_log_mass(z, c) + log_ratio if z != 0.0 else -math.inf


@device_function
def pdf(z, c):
    if is_plain(c):
        return plain_pdf(z, c)
    return gamma_density(z, c) if z != 0.0 else 0.0


@device_function
def cdf(z, c):
    return gamma_tails(z, c)[0]


@device_function
def sf(z, c):
    return gamma_tails(z, c)[1]


@device_function
def logcdf(z, c):
    return gamma_log_tails(z, c)[0]


@device_function
def logsf(z, c):
    return gamma_log_tails(z, c)[1]


@device_function
def ppf(p, c):
    return gamma_quantile(p, 1.0 - p, p > 0.5, c)


@device_function
def isf(p, c):
    return gamma_quantile(1.0 - p, p, p <= 0.5, c)


@device_function
def score(z, c):
    return (c[0] - 1.0) / z - 1.0, log(z) - digamma(c[0])


@device_function
def guess(attempt, mean, sd, low, middle, high):
    return mean * mean / (sd * sd), 0.0, sd * sd / mean


class Gamma(OneShape, Distribution):
    """Gamma distribution: density like z^(shape - 1) e^-z, z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape, > 0.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The density is written in the deviance from shape 8 on, so that large shapes lose no digits. Distribution function and
    quantiles are those of `numbastats.scalar.incomplete.gammainc`. Relative errors observed for shapes from 0.01 to 2e4: 3e-14
    (density within ten standard deviations, 1e-12 beyond), 3e-13 (tails down to 1e-290), 1e-13 (logarithms of tails).

    References
    ----------
    C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

    Examples
    --------
    >>> from numbastats.distributions import Gamma
    >>> d = Gamma([0.5, 2.0], scale=3.0)
    >>> d.mean(), float(Gamma(1.0).sf(3.0).round(6))
    (array([1.5, 6. ]), 0.049787)
    """

    family = "gamma"
    _contains = (
        Contains("exponential", lambda t, loc, scale: dict(shape=1.0, loc=loc, scale=scale)),
        Contains("chi_squared", lambda t, df, loc, scale: dict(shape=0.5 * df, loc=loc, scale=2.0 * scale)),
        Contains("normal", lambda t, loc, scale: dict(shape=t * t, loc=loc - t * scale, scale=scale / t)),
    )
    _generator = ("gamma", "shape", 1.0)

    _kernels = Points(
        "gamma",
        __name__,
        shapes=1,
        cost=dict(pdf=20.0, logpdf=15.0, cdf=120.0, sf=120.0, logcdf=150.0, logsf=150.0, ppf=600.0, isf=600.0),
    )
    _equations = fits.OwnEquations(("shape", "scale"), fits.FIT_GAMMA, 15.0, certain=True)
    _likelihood = Likelihood(*("gamma", _kernels, ("shape", "scale")), shapes=1, starts=2)

    _by_moments = staticmethod(lambda mean, sd: ((mean / sd) ** 2, 0.0, sd * (sd / mean)))

    @staticmethod
    def _by_lmoments(first, second, _ratio):
        """The L-CV is Gamma(a + 1/2)/(sqrt(pi) Gamma(a + 1)): J. R. M. Hosking's start (1996), and Newton steps in log a."""
        from scipy.special import gammaln, psi

        cv = np.where((second > 0.0) & (second < first), second / first, math.nan)
        z, rest = math.pi * np.square(cv), 1.0 - cv
        small = (1.0 - 0.3080 * z) / (z * (1.0 - z * (0.05812 - 0.01765 * z)))
        large = rest * (0.7213 - 0.5947 * rest) / (1.0 - rest * (2.1817 - 1.2113 * rest))
        a = np.where(cv < 0.5, small, large)
        for _ in range(4):
            gap = gammaln(a + 0.5) - gammaln(a + 1.0) - 0.5 * math.log(math.pi) - np.log(cv)
            a = np.where(a < 1e6, a * np.exp(-gap / (a * (psi(a + 0.5) - psi(a + 1.0)))), a)
        return a, 0.0, first / a

    def _mean_var(self):
        return self.shape, self.shape

    def _shape(self):
        return 2.0 / np.sqrt(self.shape), np.divide(6.0, self.shape)

    def _entropy(self):
        from scipy.special import gammaln, psi

        a = np.asarray(self.shape)
        large = NORMAL_ENTROPY + 0.5 * (np.log(a) - 1.0 / a) + stirling(a) + (a - 1.0) * stirling_fall(a)
        return np.where(a < 10.0, a + gammaln(a) + (1.0 - a) * psi(a), large)
