"""The skew-normal distribution."""

from __future__ import annotations

import math

import numpy as np

import numbastats.distributions.families.normal as normal
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.likelihood import ALWAYS, Likelihood
from numbastats.distributions.kernels.points import Points, whole_line
from numbastats.distributions.protocol import Distribution, OneShape
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.quadrature import legendre
from numbastats.scalar.special import erf, log_ndtr, log_ndtr_ratio, ndtr

__all__ = ["SkewNormal", "constants", "logpdf", "support"]

_LOG_2 = math.log(2.0)
_SQRT_HALF = math.sqrt(0.5)

support = whole_line


@device_function
def constants(shape):
    return (shape,)


@device_function
def logpdf(z, c):
    return normal.logpdf(z, c) + log_ndtr(c[0] * z) + _LOG_2


# --- tails: for z < 0 and shape > 0 the lower one is the integral of exp(-z^2 (1 + x^2)/2)/(pi (1 + x^2)) over x > shape,
# --- which is Phi(z) - 2 T(z, shape) with Owen's function T


@device_function
def _beyond(s, data):
    """The integrand at x = a + s over exp(-z^2 (1 + a^2)/2)."""
    square, a = data
    x = a + s
    return exp(-square * s * (a + 0.5 * s)) / (1.0 + x * x)


_panel = legendre(_beyond, 32)


@device_function
def _log_wedge(h, a):
    """Logarithm of the integral, for h, a >= 0: of its own, or where the tail is not small from that over x < a or x < 1/a."""
    square, far = h * h, a * h
    if not square + far * far < math.inf:
        return -math.inf if h == h and a == a else math.nan
    if max(far, h) > 2.0:
        reach = 80.0 / (h * (far + math.sqrt(far * far + 80.0)))
        return -0.5 * (square + far * far) + log(_panel(reach, (square, a)) / math.pi)
    if a < 1.0:
        return log(ndtr(-h) - exp(-0.5 * square) * _panel(a, (square, 0.0)) / math.pi)
    part = exp(-0.5 * far * far) * _panel(1.0 / a, (far * far, 0.0)) / math.pi
    return log(part - ndtr(-far) * erf(_SQRT_HALF * h))


@device_function(inline=False)
def _log_tail(h, a):
    """Logarithm of the lower tail at -h <= 0 for any shape a: with -a and a together it is twice the normal one."""
    if a >= 0.0:
        return _log_wedge(h, a)
    both = log_ndtr(-h) + _LOG_2
    if both == -math.inf:
        return both
    return both + log1p(-exp(_log_wedge(h, -a) - both))


@device_function
def log_lower(z, a):
    if z < 0.0:
        return _log_tail(-z, a)
    if a > 0.0 and z < 1.0:  # from 0 to z a mass of its own, for large shapes all that there is
        return log(erf(_SQRT_HALF * z) + exp(_log_wedge(z, a)))
    return log1p(-exp(_log_tail(z, -a)))


@device_function
def logcdf(z, c):
    return log_lower(z, c[0])


@device_function
def logsf(z, c):
    return log_lower(-z, -c[0])


@device_function
def start(c):
    return 0.8 * c[0] / (1.0 + abs(c[0]))


@device_function
def score(z, c):
    rise = log_ndtr_ratio(c[0] * z)[1]
    return c[0] * rise - z, z * rise


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """Skew as the mean is beside the median, or less, or to the other side."""
    shape = (2.0 if attempt != 1 else 0.7) * (1.0 if (mean > middle) == (attempt < 2) else -1.0)
    shift = 0.7979 * shape / math.sqrt(1.0 + shape * shape)
    scale = sd / math.sqrt(1.0 - shift * shift)
    return shape, mean - scale * shift, scale


class SkewNormal(OneShape, Distribution):
    """Skew-normal distribution: density 2 phi(z) Phi(shape z), z = (x - loc)/scale.

    Parameters
    ----------
    shape : array_like
        Skewness, any number: 0 for a normal distribution, large for nearly half of one.
    loc, scale : array_like, optional
        Location, and the scale (> 0); neither mean nor standard deviation.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Tails are integrals by Gauss's rule, each in the form in which nothing cancels; quantiles come by Newton's method. At
    shape = 0 the likelihood has a stationary point whatever the data, with singular information: a fit that ends next to it, with
    a large standard error of the shape, says nothing about skewness. Fits are the best of three climbs, from both sides.

    References
    ----------
    A. Azzalini, "A class of distributions which includes the normal ones", Scandinavian Journal of Statistics 12 (1985).
    D. B. Owen, Annals of Mathematical Statistics 27 (1956), 1075.

    Examples
    --------
    >>> from numbastats.distributions import SkewNormal
    >>> d = SkewNormal(4.0)
    >>> f"{d.cdf(-3.0):.6e}", float(d.skewness().round(6))
    ('3.048404e-37', 0.784427)
    """

    family, aliases = "skew_normal", ("skewnorm",)
    _contains = (
        Contains("normal", lambda t, loc, scale: dict(shape=0.0, loc=loc, scale=scale)),
        Contains("half_normal", lambda t, loc, scale: dict(shape=t, loc=loc, scale=scale)),
        Contains("half_normal", lambda t, loc, scale: dict(shape=-t, loc=-loc, scale=scale), mirrored=True),
    )
    _positive = ("scale",)
    _kinked = True  # nearly, for a large shape

    _kernels = Points(
        "skew_normal", __name__, shapes=1, cost=dict(pdf=15.0, logpdf=12.0, cdf=300.0, sf=300.0, ppf=2500.0, isf=2500.0)
    )
    _likelihood = Likelihood(
        "skew_normal",
        _kernels,
        ("shape", "loc", "scale"),
        shapes=1,
        real=(True,),
        below=(-1e4,),
        above=(1e4,),
        starts=3,
        every=ALWAYS,
        cost=400.0,
    )

    def _mean_var(self):
        mean = math.sqrt(2.0 / math.pi) * self.shape / np.hypot(1.0, self.shape)
        return mean, 1.0 - mean * mean

    def _shape(self):
        mean, var = self._mean_var()
        return 0.5 * (4.0 - math.pi) * mean**3 / var**1.5, 2.0 * (math.pi - 3.0) * mean**4 / var**2

    def _entropy(self):
        """The mean of log Phi(shape z) by equal steps in z, or in shape z where that varies faster."""
        from scipy.special import log_ndtr as log_phi

        shape = np.abs(np.asarray(self.shape))[..., None]
        unit, t = np.maximum(shape, 1.0), np.linspace(-10.0, 10.0, 401)
        value = log_phi(shape / unit * t)
        mean = 0.1 * np.sum(np.exp(-0.5 * (t / unit) ** 2 - normal.LOG_SQRT_2PI + value) * value / unit, axis=-1)
        return normal.NORMAL_ENTROPY - _LOG_2 - mean
