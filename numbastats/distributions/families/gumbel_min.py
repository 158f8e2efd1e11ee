"""The Gumbel distribution of minima."""

from __future__ import annotations

import numbastats.distributions.families.gumbel as gumbel
from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, whole_line
from numbastats.distributions.kernels.transformed import no_base, transformed
from numbastats.distributions.protocol import Distribution, LocationScale

__all__ = ["GumbelMin", "constants", "logpdf", "support"]

constants, support = no_base, whole_line


@device_function
def opposite(z, c):
    return -z


cdf, sf, logcdf, logsf, ppf, isf = transformed(gumbel.Gumbel, opposite, opposite, falling=True)


@device_function
def logpdf(z, c):
    return gumbel.logpdf(-z, c)


@device_function
def score(z, c):
    return (-gumbel.score(-z, c)[0],)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    loc, scale = gumbel.guess(attempt, -mean, sd, -high, -middle, -low)
    return -loc, scale


class GumbelMin(LocationScale, Distribution):
    """Gumbel distribution of minima: P(X > x) = exp(-exp(z)), z = (x - loc)/scale; that of log X for X of a Weibull distribution.

    Parameters
    ----------
    loc, scale : array_like, optional
        Mode, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `Gumbel` of -X, of the same accuracy.

    Examples
    --------
    >>> from numbastats.distributions import GumbelMin
    >>> float(GumbelMin(30.0, 5.0).ppf(0.01).round(4))
    6.9993
    """

    family, aliases = "gumbel_min", ("gumbel_l",)
    _moments = tuple(m if i % 2 else -m for i, m in enumerate(gumbel.Gumbel._moments))  # mean and skewness turn their signs
    _nats = gumbel.Gumbel._nats

    _kernels = Points("gumbel_min", __name__, shapes=0, cost=dict.fromkeys(FUNCTIONS, 12.0))
    _likelihood = Likelihood("gumbel_min", _kernels, ("loc", "scale"), starts=2, cost=150.0)

    @staticmethod
    def _by_lmoments(first, second, ratio):
        loc, scale = gumbel.Gumbel._by_lmoments(-first, second, -ratio)
        return -loc, scale
