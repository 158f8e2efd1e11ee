"""The Frechet distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.gumbel import Gumbel
from numbastats.distributions.kernels.likelihood import Likelihood
from numbastats.distributions.kernels.points import FUNCTIONS, Points, half_line
from numbastats.distributions.kernels.transformed import log_constants, log_image, log_preimage, transformed
from numbastats.distributions.moments import ByRawMoments
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import exp, log

__all__ = ["Frechet", "constants", "logpdf", "support"]

constants, support = log_constants, half_line
cdf, sf, logcdf, logsf, ppf, isf = transformed(Gumbel, log_image, log_preimage)


@device_function
def logpdf(z, c):
    log_z = log(z)
    t = c[1] * log_z
    return -math.inf if t <= -710.0 else c[2] - t - log_z - exp(-t)


@device_function
def score(z, c):
    log_z = log(z)
    power = exp(-c[1] * log_z)
    return (c[1] * power - c[1] - 1.0) / z, 1.0 / c[1] + log_z * (power - 1.0)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    shape = 1.5725 / log(high / low) if attempt == 0 and high > low else 2.0 + 1.2 * mean / sd
    return shape, 0.0, middle * exp(-0.3665 / shape)


class Frechet(ByRawMoments, OneShape, Distribution):
    """Frechet distribution of maxima: distribution function exp(-z^-shape), z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Shape, > 0: the index of the tail.
    loc, scale : array_like, optional
        The end of the support, and the scale (> 0).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `Gumbel` at shape log z: closed forms, with relative errors of 1e-15, and |log p| 1e-15 for density and tails. It is
    ``GEV(1/shape, loc + scale, scale/shape)``. Moments are closed forms, or where these cancel by quadrature, with errors of
    1e-15 times mean over standard deviation.

    Examples
    --------
    >>> from numbastats.distributions import GEV, Frechet
    >>> (
    ...     float(Frechet(4.0, scale=40.0).isf(0.01).round(4)),
    ...     float(GEV(0.25, 40.0, 10.0).isf(0.01).round(4)),
    ... )
    (126.3324, 126.3324)
    """

    family, aliases = "frechet", ("invweibull",)
    _contains = (Contains("gumbel", lambda t, loc, scale: dict(shape=t, loc=loc - t * scale, scale=t * scale)),)

    _kernels = Points("frechet", __name__, shapes=1, cost=dict.fromkeys(FUNCTIONS, 18.0))
    _likelihood = Likelihood("frechet", _kernels, ("shape", "scale"), shapes=1, starts=2, cost=250.0)

    def _raw(self, n):
        from scipy.special import gamma

        a = np.asarray(self.shape)
        return np.where(a > n, gamma(1.0 - n / a), np.where(a > 0.0, math.inf, math.nan))

    def _entropy(self):
        return 1.0 + np.euler_gamma * (1.0 + 1.0 / np.asarray(self.shape)) - np.log(self.shape)
