"""The truncated normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.families.normal import LOG_SQRT_2PI, Normal
from numbastats.distributions.kernels.points import Points
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.normal import ndtri_accurate1, ndtri_log1
from numbastats.scalar.quadrature import legendre
from numbastats.scalar.special import erf, erfcx, log_ndtr, ndtr_pair

__all__ = ["TruncatedNormal", "constants", "logpdf", "support"]


_ROOT_HALF, _ROOT_HALF_PI = math.sqrt(0.5), math.sqrt(0.5 * math.pi)
_LEGENDRE = np.polynomial.legendre.leggauss(20)


@device_function
def _fall(s, data):
    """The density at a distance from an end over that there."""
    return exp(-s * (data[0] + 0.5 * s))


_panel = legendre(_fall, 20)


@device_function(inline=False)
def mass_at(low, high):
    """The place of [low, high] where the normal density is largest, and the logarithm of the mass over the density there."""
    if low < 0.0 and high > 0.0:
        return 0.0, log(0.5 * (erf(_ROOT_HALF * high) - erf(_ROOT_HALF * low))) + LOG_SQRT_2PI
    near, far = (low, high) if low >= 0.0 else (-high, -low)
    width = far - near
    if width * (near + 1.0) < 2.0:
        inner = _panel(width, (near,))
    else:
        fall = width * (near + 0.5 * width)
        rest = 0.0 if fall >= 745.0 or near == math.inf else exp(-fall) * erfcx(_ROOT_HALF * far)  # NaN stays
        inner = _ROOT_HALF_PI * (erfcx(_ROOT_HALF * near) - rest)
    return near, log(inner)


@device_function
def constants(a, b):
    near, mass = mass_at(a, b)
    least, most = (-b, -a) if a + b < 0.0 else (a, b)
    return a, b, near, mass, log_ndtr(-least), log_ndtr(-most), ndtr_pair(least), ndtr_pair(most)


@device_function
def support(c):
    return c[0], c[1]


@device_function
def logpdf(z, c):
    return -0.5 * (abs(z) - c[2]) * (abs(z) + c[2]) - c[3]


@device_function
def _log_share(low, high, c):
    """The logarithm of the probability of [low, high]; far from 0 the squares of its end and of the support's nearly cancel."""
    near, mass = mass_at(low, high)
    return mass - c[3] - 0.5 * (near - c[2]) * (near + c[2])


@device_function
def logcdf(z, c):
    share = _log_share(c[0], z, c)
    return share if share < -0.69 else log1p(-exp(_log_share(z, c[1], c)))


@device_function
def logsf(z, c):
    share = _log_share(z, c[1], c)
    return share if share < -0.69 else log1p(-exp(_log_share(c[0], z, c)))


@device_function
def ppf(p, c):
    return _solved(p, 1.0 - p, c)


@device_function
def isf(p, c):
    return _solved(1.0 - p, p, c)


@device_function
def _log_sum(a, b):
    """log(exp(a) + exp(b))."""
    large, small = (a, b) if a > b else (b, a)
    return large + log1p(exp(small - large))


@device_function(inline=False)
def _solved(below, above, c):
    """The quantile at the share `below`, from the normal tail there, which is that of an end and a part of the mass.

    That loses digits in short intervals and where an end is next to 0. There it is the start of Newton's method on the logarithm
    of the smaller share, from the end nearer to 0; where it rounds to an end, the start is that of a density that is constant up
    to there.
    """
    a, b, near, mass, log_least, log_most, least, most = c
    mirrored = a + b < 0.0
    if mirrored:
        a, b, below, above = -b, -a, above, below
    left, right = least[0] * above + most[0] * below, least[1] * above + most[1] * below
    small = min(left, right)
    log_below, log_above = log(below), log(above)
    if small > 1e-290:
        z = math.copysign(ndtri_accurate1(small), left - right)
        if abs(a) > 0.5 and b - a > 0.5:
            z = a if z < a else (b if z > b else z)
            return (-z if mirrored else z) + 0.0
    elif left < right:
        z = ndtri_log1(_log_sum(log_ndtr(a) + log_above, log_ndtr(b) + log_below))
    else:
        z = -ndtri_log1(_log_sum(log_least + log_above, log_most + log_below))
    if not z > a:
        z = a + exp(log_below - logpdf(a, c))
    elif not z < b:
        z = b - exp(log_above - logpdf(b, c))
    for _ in range(4):
        z = a if z < a else (b if z > b else z)
        if below <= above:
            share = _log_share(a, z, c)
            step = (log_below - share) * exp(share - logpdf(z, c))
        else:
            share = _log_share(z, b, c)
            step = (share - log_above) * exp(share - logpdf(z, c))
        if not abs(step) < math.inf:
            break
        z = z + step
        if abs(step) < 1e-8 * abs(z):
            break
    z = a if z < a else (b if z > b else z)
    return (-z if mirrored else z) + 0.0


def _between(known):
    return dict(loc=known["lower"], scale=known["upper"] - known["lower"])


def _from_below(known):
    return dict(loc=known["lower"])


def _from_above(known):
    return dict(loc=-known["upper"])


class TruncatedNormal(Distribution):
    """Normal distribution restricted to an interval.

    Parameters
    ----------
    lower, upper : array_like
        Ends of the interval in units of x, lower < upper; infinite ones are allowed.
    loc, scale : array_like, optional
        Mean and standard deviation (> 0) before the restriction.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Masses of intervals are sums of positive terms, or integrated by Gauss and Legendre where they are short, so that nothing
    cancels: relative errors of 1e-14 for logarithms of tails on either side and for intervals anywhere, and of z^2 1e-16 more for
    tails. Mean and variance by quadrature, 1e-13.

    Examples
    --------
    >>> from numbastats.distributions import TruncatedNormal
    >>> d = TruncatedNormal(30.0, float("inf"))
    >>> float(d.mean().round(10)), float(d.sf(31.0).round(20))
    (30.0332596674, 5.492984e-14)
    """

    names, family, aliases = ("lower", "upper", "loc", "scale"), "truncated_normal", ("truncnorm",)
    _contains = (
        Contains("uniform", lambda t, loc, scale: dict(loc=loc + 0.5 * scale, scale=t * scale), fixed=_between),
        Contains(
            "exponential",
            lambda t, loc, scale: dict(loc=loc - t * t * scale, scale=t * scale),
            fixed=_from_below,
            ends=("lower", "upper"),
        ),
        Contains(
            "exponential",
            lambda t, loc, scale: dict(loc=t * t * scale - loc, scale=t * scale),
            True,
            _from_above,
            ("lower", "upper"),
        ),
    )
    _support_in_words = "lower to upper"
    _positive, _scipy_shapes = ("scale",), ("a", "b")

    _kernels = Points(
        "truncated_normal",
        __name__,
        shapes=2,
        scored=False,
        cost=dict(pdf=8.0, logpdf=4.0, cdf=80.0, sf=80.0, logcdf=80.0, logsf=80.0, ppf=100.0, isf=100.0),
    )

    _known = ("lower", "upper")
    _likelihood, _layout = Normal._likelihood, ("loc", "scale")

    @classmethod
    def _truncation(cls, given, cut):
        low, high = given.get("lower", math.nan), given.get("upper", math.nan)
        if cut is not None or not low < high:
            raise ValueError(
                "a truncated normal distribution is fitted between known ends: pass them as fixed={'lower': ..., 'upper': ...}, "
                "the first below the second, and leave out truncated="
            )
        return ("lower", "upper"), (low, high)

    @staticmethod
    def _of_climb(params, info, fixed):
        ends = np.broadcast_to(fixed[-2:], (len(params), 2))
        ends = np.where(np.isnan(params[:, :1]), math.nan, ends)
        full = np.zeros((len(params), 4, 4))
        full[:, 2:, 2:] = info
        return np.concatenate([ends, params], axis=1), full

    def __init__(self, lower: ArrayLike, upper: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(lower=lower, upper=upper, loc=loc, scale=scale)

    @classmethod
    def _refusals(cls, values):
        yield "lower", np.asarray(values["lower"] < values["upper"]), "below upper"
        yield from ((n, h, w) for n, h, w in super()._refusals(values) if n in ("loc", "scale"))

    def _standard(self):
        return tuple(np.divide(np.subtract(end, self.loc), self.scale) for end in (self.lower, self.upper))

    def support(self) -> tuple[Any, Any]:
        """Ends of the support: lower and upper."""
        return self._batch(self.lower), self._batch(self.upper)

    def _evaluate(self, name, x, *options):
        """Quantiles that rounding has put beyond an end are that end."""
        value = super()._evaluate(name, x, *options)
        if name in ("ppf", "isf") and isinstance(value, np.ndarray | np.floating):
            value = np.clip(value, self.lower, self.upper, out=value if np.ndim(value) else None)
        return value

    def _mean_var(self):
        a, b = self._standard()
        return _truncated_moments(a, b)

    def _shape(self):
        a, b = self._standard()
        _, mirrored, whole, moment = _truncated_integrals(a, b)
        mean = moment(lambda s: s) / whole
        var, third, fourth = (moment(lambda s, n=n: (s - mean) ** n) / whole for n in (2, 3, 4))
        skewness, kurtosis = third / var**1.5, fourth / var**2 - 3.0
        skewness = np.where(mirrored, -skewness, skewness)
        # cumulants by the densities at the ends, which are small where both are far from 0
        wide = np.minimum(-np.asarray(a), b) > 2.0
        at_a, at_b = (np.exp(-0.5 * np.square(end)) / whole for end in (a, b))
        e1, e2, e3, e4 = (_edge(b, n) * at_b - _edge(a, n) * at_a for n in range(4))
        v = 1.0 - e2 - e1 * e1
        third = e1 - e3 - 3.0 * e1 * e2 - 2.0 * e1**3
        fourth = 3.0 * e2 * (1.0 - e2) - e4 + 4.0 * e1 * (e1 - e3) - 6.0 * e1 * e1 * (2.0 * e2 + e1 * e1)
        skewness, kurtosis = np.where(wide, third / v**1.5, skewness), np.where(wide, fourth / (v * v), kurtosis)
        return np.where(np.add(a, b) == 0.0, 0.0, skewness), kurtosis

    def _entropy(self):
        a, b = self._standard()
        base, _, whole, moment = _truncated_integrals(a, b)
        return np.log(whole) + moment(lambda s: s * (base + 0.5 * s)) / whole

    def _scores(self, x):
        a, b = self._standard()
        s, z, whole = self.scale, (x - self.loc) / self.scale, _log_masses(a, b)
        at_a, at_b = (np.exp(-0.5 * (np.square(end) + 2.0 * LOG_SQRT_2PI) - whole) for end in (a, b))
        moved = np.where(np.isinf(b), 0.0, b * at_b) - np.where(np.isinf(a), 0.0, a * at_a)
        return at_a / s, -at_b / s, (z + at_b - at_a) / s, (z * z - 1.0 + moved) / s

    def _shortfall(self, p, upper):
        a, b = (np.broadcast_to(end, p.shape) for end in self._standard())
        z = self._of_z("isf" if upper else "ppf", p)
        mean = _truncated_moments(z, b)[0] if upper else _truncated_moments(a, z)[0]
        return self.loc + self.scale * np.where(np.isnan(mean), z, mean)

    def _draws(self, shape, options):
        return random.truncnorm(self.loc, self.scale, self.lower, self.upper, shape, **options)


def _log_masses(low, high):
    """log(Phi(high) - Phi(low)) of arrays, with relative accuracy of the mass."""
    low, high = np.broadcast_arrays(low, high)
    found = np.array([mass_at(a, b) for a, b in zip(low.flat, high.flat, strict=True)]).reshape((*low.shape, 2))
    return found[..., 1] - 0.5 * np.square(found[..., 0]) - LOG_SQRT_2PI


def _integral(f, low, high):
    """Integral of a smooth function by Gauss and Legendre."""
    centre, half = 0.5 * (high + low), 0.5 * (high - low)
    return half * sum(w * f(centre + half * t) for t, w in zip(*_LEGENDRE, strict=True))


def _edge(end, n):
    """A power of an end; 0 for an infinite one, where the density vanishes."""
    return np.where(np.isinf(end), 0.0, end) ** n if n else np.ones(np.shape(end))


def _truncated_integrals(a, b):
    """Integrals of functions of the distance s to the place of the largest density, times exp(-s (base + s/2)).

    Returns that place, whether the interval was mirrored to lie above 0 (or more of it), the integral of 1 and the integrator.
    """
    a, b = np.broadcast_arrays(a, b)
    mirrored = a + b < 0.0
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    base = np.clip(0.0, a, b)
    first = np.maximum(a - base, -9.5)
    last = np.minimum(b - base, np.minimum(9.5, 45.0 / np.maximum(base, 1e-3)))

    panel = (last - first) / 8

    def moment(f):
        return sum(
            _integral(lambda s: f(s) * np.exp(-s * (base + 0.5 * s)), first + k * panel, first + (k + 1) * panel)
            for k in range(8)
        )

    return base, mirrored, moment(lambda s: 1.0), moment


def _truncated_moments(a, b):
    """Mean and variance of a standard normal variable between a and b, from its distance to the end nearer to 0."""
    base, mirrored, whole, moment = _truncated_integrals(a, b)
    mean = moment(lambda s: s) / whole
    var = moment(lambda s: np.square(s - mean)) / whole
    mean = np.where(np.add(a, b) == 0.0, 0.0, base + mean)
    return np.where(mirrored, -mean, mean), var
