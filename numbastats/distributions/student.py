"""Student's t distribution."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats.distributions import kernels, moments
from numbastats.distributions.base import Family, named_error, times_exp

__all__ = ["student_t"]

_SCALE = 830  # densities carry 2^830 where tails go down to 1e-320 of the peak
_FEWEST = 1e-60  # degrees of freedom; below, all but 1e-57 of the mass is outside the doubles
_NORMAL = 1e100  # degrees of freedom; from there on doubles do not tell the distribution from the normal one


class _Density:
    """Student's density times 2^830; beyond 1e8 by its power, so that nothing overflows or underflows."""

    def __init__(self, nu):
        self.nu = self.fall = nu
        self.root = math.sqrt(nu)
        self.shift = 2 ** math.floor(math.log2(_SCALE / max(nu, 2.0)))  # a power of two: its product with nu is exact

    def __call__(self, x):
        s = np.maximum(np.abs(x), 1e-30)
        return self.weighted(0.0, 1.0, s) / s

    def weighted(self, origin, sign, s):
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


class StudentT(Family):
    """Student's t distribution.

    Parameters
    ----------
    nu : array_like
        Degrees of freedom, > 0; at least 1e-60 for distribution functions and tables. Quantiles beyond 1e305 are NaN.

    Raises
    ------
    ValueError
        When called with parameters out of the domain. The methods, which give NaN there, are those of `Family`.

    Notes
    -----
    Relative error of a table at most 2e-14 (seen down to nu = 0.04). From normals (``base="normal"``) for |z| <= 8, and 2e-13 to
    |z| = 37, from nu = 0.3 on (2e-11 at 0.08).

    Examples
    --------
    >>> import numbastats as ns
    >>> t = ns.quantile.student_t(4.0)  # maps normals
    >>> float(t.transform(3.0).round(10)), float(ns.quantile.student_t.ppf(0.975, 4.0).round(10))
    (6.6202059668, 2.7764451052)
    """

    name, names, base = "student_t", ("nu",), "normal"

    def _problem(self, nu):
        """What is wrong with nu."""
        return None if nu > 0 and math.isfinite(nu) else f"nu={nu!r} must be finite and > 0"

    def _described(self, nu):
        """Density and options of the masses."""
        if nu < _FEWEST:
            raise ValueError(f"distribution functions and tables need nu >= {_FEWEST!r}")
        return _Density(min(nu, _NORMAL)), dict(symmetric=True, scale=1.0)

    def _moments(self, nu):
        """Mean and variance; NaN where they do not exist."""
        return moments.of_student(nu)

    def _shape(self, nu):
        """Skewness and excess kurtosis."""
        return moments.shape_of_student(nu)

    def _density_values(self, kind, x, params, options):
        """Density or its logarithm at x."""
        return elementwise(lambda d: kernels.STUDENT[kind], ("x", "nu"), (x, *params), cost=3.0, **options)

    def _many_probabilities(self, x, sets, upper):
        """Distribution function or upper tail through SciPy: masses of so many nu would take long."""
        x, nu = np.asarray(x, np.float64), _degrees(sets[..., 0])
        tail = _tail(-np.abs(x), nu)
        return np.where((x > 0.0) != upper, 1.0 - tail, tail)

    def _many_quantiles(self, u, sets, upper):
        """Quantiles of SciPy after a Newton step: tables of so many nu would take long.

        The step goes by the mass between 0 and the quantile below sqrt(nu): next to 0 tails have none of its digits.
        """
        from scipy.special import betainc, stdtrit

        u, nu = np.asarray(u, np.float64), _degrees(sets[..., 0])
        p = np.where(u > 0.5, 1.0 - u, u)
        p = np.where(p >= 0.0, p, math.nan)
        with np.errstate(all="ignore"):
            x = np.minimum(stdtrit(nu, p), 0.0)  # some versions end beyond 0 next to the median
            inner = 0.5 * betainc(0.5, 0.5 * nu, x * x / (nu + x * x))
            excess = np.where((p > 0.25) & (x * x < nu), (0.5 - p) - inner, _tail(x, nu) - p)
            near = x - excess / student_t.pdf(x, nu, device="cpu", workers=1)
            far = (_far_factor(nu) / p) ** (1.0 / nu)
            x = np.where(far > 1e9, -np.sqrt(nu) * far, near)
        x = np.where((p == 0.0) | ~(x < -1e305), x, math.nan)
        return np.where((u > 0.5) != upper, 0.0 - x, x)


def _far_factor(nu):
    """C of the tail C (|t|/sqrt(nu))^-nu of Student's distribution, to 1e-18 from |t| = 1e9 sqrt(nu) on."""
    from scipy.special import gammaln

    return np.exp(gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu + 1.0)) / (2.0 * math.sqrt(math.pi))


def _tail(t, nu):
    """Lower tail probability at t <= 0 through SciPy, far out by its power, as the square of t may leave the doubles."""
    from scipy.special import stdtr

    q = -t / np.sqrt(nu)
    with np.errstate(under="ignore"):
        return np.where(q > 1e9, _far_factor(nu) * np.maximum(q, 1.0) ** -nu, stdtr(nu, t))


def _degrees(nu):
    """Degrees of freedom as tables take them: at most `_NORMAL`, NaN out of the domain; ValueError for too few."""
    least = np.min(nu, where=nu > 0.0, initial=math.inf)
    try:
        student_t._described(least)
    except ValueError as error:
        raise named_error(student_t, (least,), error) from None
    return np.where((nu > 0.0) & (nu < math.inf), np.minimum(nu, _NORMAL), math.nan)


student_t = StudentT()
