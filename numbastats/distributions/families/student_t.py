"""Student's t distribution."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.kernel import device_function
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels import fits
from numbastats.distributions.kernels.likelihood import MAXIMUM, Likelihood
from numbastats.distributions.kernels.points import Points, whole_line
from numbastats.distributions.moments import stirling, stirling_fall
from numbastats.distributions.protocol import Distribution
from numbastats.distributions.tables import times_exp
from numbastats.scalar.bits import muladd
from numbastats.scalar.elementary import exp, expm1, log, log1p, pow
from numbastats.scalar.hyperbolic import student_logpdf, student_pdf
from numbastats.scalar.incomplete import beta_constants, beta_log_tails, beta_quantile, beta_tails, excess_by
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.quadrature import legendre
from numbastats.scalar.special import digamma

__all__ = ["StudentT", "constants", "logcdf", "logpdf", "support"]

_NORMAL_DF = 1e100
_SCALE = 830  # densities for tables carry 2^830, as tails go down to 1e-320 of the peak
_FEWEST = 1e-60  # degrees of freedom of tables; below, all but 1e-57 of the mass is outside the doubles
_LARGE = 1e12  # half the degrees of freedom from which on tails are integrals of the density

support = whole_line


@device_function
def constants(df):
    return beta_constants(0.5 * df, 0.5)


@device_function
def logpdf(z, c):
    return student_logpdf(z, 2.0 * c[0])


@device_function
def pdf(z, c):
    return student_pdf(z, 2.0 * c[0])


@device_function
def _ratio(s, data):
    """The density at t + s over that at t."""
    t, power, unit = data
    return exp(-power * log1p(s * (2.0 * t + s) / unit))


_panel = legendre(_ratio, 32)


@device_function
def _over_density(t, df):
    """The upper tail at t >= 0 over the density there: its integral to where the density has fallen by exp(-40)."""
    if t > 1e60:
        return t / df
    power, unit = 0.5 * (df + 1.0), df + t * t
    reach = unit * expm1(40.0 / power)
    return _panel(reach / (t + math.sqrt(muladd(t, t, reach))), (t, power, unit))


@device_function
def _centre(t, df):
    """The mass between 0 and t."""
    width = t if t < 9.0 else 9.0  # beyond it lies less than 1e-18
    return student_pdf(0.0, df) * _panel(width, (0.0, 0.5 * (df + 1.0), df))


@device_function
def _log_power(t, c):
    """Logarithm of the power that the upper tail is far out."""
    df = 2.0 * c[0]
    return c[2] - log(df) - df * (log(t) - 0.5 * log(df))


@device_function(inline=False)
def _masses(t, c):
    """The upper tail at t >= 0, and the mass between 0 and t."""
    df = 2.0 * c[0]
    if c[0] >= _LARGE:
        return student_pdf(t, df) * _over_density(t, df), _centre(t, df)
    q = t / math.sqrt(df)
    if q > 1e9:
        far = pow(q, -df) if q < math.inf else pow(2.0**-100 * t / math.sqrt(df), -df) * pow(2.0**100, -df)
        tail = far * (student_pdf(0.0, df) / math.sqrt(df))
        return tail, 0.5 - tail
    h = q * q
    tail, centre, height = beta_tails(1.0 / (1.0 + h), h / (1.0 + h), c)
    return 0.5 * tail, 0.5 * centre


@device_function(inline=False)
def _log_tail(t, c):
    """The logarithm of the upper tail at t >= 0."""
    tail = _masses(t, c)[0]
    if tail > 1e-290:
        return log(tail)
    df = 2.0 * c[0]
    if c[0] >= _LARGE:
        return student_logpdf(t, df) + log(_over_density(t, df))
    q = t / math.sqrt(df)
    if q > 1e9:
        return _log_power(t, c)
    h = q * q
    return beta_log_tails(1.0 / (1.0 + h), h / (1.0 + h), c)[0] - 0.6931471805599453


@device_function
def cdf(z, c):
    tail = _masses(abs(z), c)[0]
    return 1.0 - tail if z > 0.0 else tail


@device_function
def logcdf(z, c):
    tail = _log_tail(abs(z), c)
    return log1p(-exp(tail)) if z > 0.0 else tail


@device_function
def _near_quantile(p, df):
    """The point with the upper tail p <= 1/2, to 2 % for df = 1.5 and 5e-5 from 2.5 on.

    G. W. Hill, "Algorithm 396: Student's t-quantiles", Communications of the ACM 13 (1970).
    """
    a = 1.0 / (df - 0.5)
    b = 48.0 / (a * a)
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * math.sqrt(1.5707963267948966 * a) * df
    y = pow(2.0 * d * p, 2.0 / df)
    if y > 0.05 + a:  # an expansion at the normal quantile, else in powers of p
        z = ndtri1(p)
        q = z * z
        c += b + (((0.05 * d * z - 5.0) * z - 7.0) * z - 2.0) * z + (0.3 * (df - 4.5) * (z + 0.6) if df < 5.0 else 0.0)
        z *= ((((0.4 * q + 6.3) * q + 36.0) * q + 94.5) / c - q - 3.0) / b + 1.0
        return math.sqrt(df * expm1(a * z * z))
    far = 1.0 / (((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0) + 0.5 / (df + 4.0)
    return math.sqrt(df * ((far * y - 1.0) * (df + 1.0) / (df + 2.0) + 1.0 / y))


@device_function(inline=False)
def _upper_quantile(p, c):
    """The point t >= 0 with the upper tail p <= 1/2."""
    df = 2.0 * c[0]
    if c[0] < 0.75 or (c[0] < 20.0 and p < 1e-100):
        x, y = beta_quantile(2.0 * p, 1.0 - 2.0 * p, p > 0.25, c) if p < 0.5 else (1.0, 0.0)
        if x > 1e-290:
            return math.sqrt(df * (y / x))
        return math.sqrt(df) * exp((c[2] - log(df) - log(p)) / df)
    t = _near_quantile(p, df)
    for _ in range(20):
        tail, centre = _masses(t, c)
        # by the mass between 0 and the quantile, which has digits next to the median, or the tail
        step = ((0.5 - p) - centre if p > 0.25 else tail - p) / student_pdf(t, df)
        if p < 1e-290:
            step = expm1(_log_tail(t, c) - log(p)) * exp(log(p) - student_logpdf(t, df))
        inner = df + t * t
        bend, more = (df + 1.0) * t / inner, (df + 1.0) * (df - t * t) / (inner * inner)  # -f'/f, and its derivative
        t += step * (1.0 + step * (0.5 * bend + step * (2.0 * bend * bend + more) / 6.0))
        if not abs(step) * (1.0 + bend * t) > 1e-4 * t:
            break
    return t


@device_function
def ppf(p, c):
    return _upper_quantile(1.0 - p, c) if p > 0.5 else 0.0 - _upper_quantile(p, c)


@device_function
def score(z, c):
    df, square = 2.0 * c[0], z * z
    i = 1.0 / (df * df)
    norm = i * (0.5 - i * (0.25 - 0.5 * i)) if df > 200.0 else digamma(c[0] + 0.5) - digamma(c[0]) - 1.0 / df
    r = -square / (df + square)  # excess_by(1, 1 + r, r) is r - log(1 + r)
    return -(df + 1.0) * z / (df + square), 0.5 * (norm - excess_by(1.0, 1.0 + r, r) - r / df)


@device_function
def guess(attempt, mean, sd, low, middle, high):
    """Few or many degrees of freedom; as of clean values with others on one side of them; or very few."""
    unit = 0.7 * (high - low) if high > low else 0.1 * sd
    if attempt == 2:
        below = middle - low < high - middle and middle > low or not high > middle
        side = low if below else high
        return 1.0, 0.5 * (middle + side), max(0.5 * abs(middle - side), 0.05 * unit)
    return (
        (3.0, middle, unit) if attempt == 0 else ((20.0, middle, min(sd, 10.0 * unit)) if attempt == 1 else (0.3, middle, unit))
    )


class StudentT(Distribution):
    """Student's t distribution.

    Parameters
    ----------
    df : array_like
        Degrees of freedom, > 0; at least 1e-60 for distribution functions and quantiles. ``inf`` is the normal distribution, and
        is stored as 1e100, from which on doubles do not tell the two apart.
    loc, scale : array_like, optional
        Location, and the scale (> 0), which is not the standard deviation.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    Tails are incomplete beta functions, or for df >= 2e12 integrals of the density; quantiles come by Newton's method. Relative
    errors of 2e-14 of tails and quantiles down to probabilities of 1e-19, and of 2e-13 below.

    Examples
    --------
    >>> from numbastats.distributions import StudentT
    >>> d = StudentT(4.0, scale=2.0)
    >>> float(d.ppf(0.975).round(8)), float(d.expected_shortfall(0.01).round(8))
    (5.55289021, -10.44116839)
    """

    names, family, aliases = ("df", "loc", "scale"), "student_t", ("t",)
    _contains = (
        Contains("normal", lambda t, loc, scale: dict(df=t, loc=loc, scale=scale)),
        Contains("cauchy", lambda t, loc, scale: dict(df=1.0, loc=loc, scale=scale)),
    )
    _generator = ("standard_t", "df")
    _building_time = 1.5e7
    _most: ClassVar[dict[str, float]] = {"df": _NORMAL_DF}

    _kernels = Points(
        "student_t", __name__, shapes=1, cost=dict(pdf=5.0, logpdf=4.0, cdf=250.0, sf=250.0, ppf=1000.0, isf=1000.0)
    )
    _equations = fits.OwnEquations(names, fits.FIT_STUDENT_T, 100.0)
    _likelihood = Likelihood(*("student_t", _kernels, names), shapes=1, below=(0.05,), above=(1e6,), starts=4, every=MAXIMUM)

    def __init__(self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(df=df, loc=loc, scale=scale)

    @classmethod
    def _described(cls, df, loc, scale):
        if df < _FEWEST:
            raise ValueError(f"tables need df >= {_FEWEST!r}")
        return _Density(min(df, _NORMAL_DF), scale), dict(symmetric=True, scale=scale)

    def _mean_var(self):
        df = np.asarray(self.df)
        return np.where(df > 1.0, 0.0, math.nan), np.where(df > 2.0, df / (df - 2.0), np.where(df > 1.0, math.inf, math.nan))

    def _shape(self):
        df = np.asarray(self.df)
        light = np.where(df < _NORMAL_DF, 6.0 / (df - 4.0), 0.0)
        kurtosis = np.where(df > 4.0, light, np.where(df > 2.0, math.inf, math.nan))
        return np.where(df > 3.0, 0.0, math.nan), kurtosis

    def _entropy(self):
        from scipy.special import betaln, psi

        df = np.asarray(self.df)
        h = 0.5 * df
        small = (h + 0.5) * (psi(h + 0.5) - psi(h)) + 0.5 * np.log(df) + betaln(h, 0.5)
        large = 0.5 * (math.log(2.0 * math.pi) + 1.0) + 0.5 * np.log1p(0.5 / h) + 0.25 / h + stirling(h) - stirling(h + 0.5)
        large = large + (h + 0.5) * (stirling_fall(h) - stirling_fall(h + 0.5))
        return np.where(h < 10.0, small, large)

    def _shortfall(self, p, upper):
        df = self._like(p, "df")
        z = self._of_z("ppf", p)
        size = (df + z * z) / (df - 1.0) * np.exp(self._of_z("logpdf", z) - np.log(p))
        far = np.abs(z) > 1e150  # where z^2 leaves the doubles: the tail is a power
        size = np.where(df > 1.0, np.where(far, -z * df / (df - 1.0), size), math.inf)
        return self.loc + self.scale * (size if upper else -size)


class _Density:
    """Student's density times 2^830; beyond 1e8 by its power, so that nothing overflows or underflows."""

    def __init__(self, nu, unit):
        self.nu = self.fall = nu
        self.unit = unit
        self.root = math.sqrt(nu)
        self.shift = 2 ** math.floor(math.log2(_SCALE / max(nu, 2.0)))  # a power of two: its product with nu is exact

    def __call__(self, x):
        s = np.maximum(np.abs(x), 1e-30 * self.unit)
        return self.weighted(0.0, 1.0, s) / s

    def weighted(self, origin, sign, s):
        """s times the density at the distance s."""
        s = s / self.unit
        q, n = s / self.root, self.nu
        near = np.minimum(q, 1e8)
        if n < 6:  # one rounding less where the tail is heavy
            body = 2.0**_SCALE * near * (1 + near**2) ** (-0.5 * (n + 1))
        else:
            body = times_exp(near, -0.5 * (n + 1) * np.log1p(near**2), _SCALE)
        far = q > 1e8
        if far.any():
            body[far] = (2.0**200 * (s[far] * 2.0**-self.shift / self.root) ** -n) * (
                2.0 ** (_SCALE - 200) * 2.0 ** -(n * self.shift)
            )
        return self.root * body
