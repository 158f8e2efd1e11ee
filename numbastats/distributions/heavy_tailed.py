"""Student's t, generalised hyperbolic and stable distributions as objects, on the functions of their families."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
import numbastats.stable as stable
from numbastats._core.broadcast import as_host, dtype_of, result_dtype
from numbastats._core.checks import choice
from numbastats._core.elementwise import any_lazy, elementwise
from numbastats._core.kinds import device_kind
from numbastats.distributions import kernels
from numbastats.distributions.elementary import stirling, stirling_fall
from numbastats.distributions.hyperbolic import generalized_hyperbolic, hyperbolic, nig, variance_gamma
from numbastats.distributions.protocol import Distribution, inverse
from numbastats.distributions.student import student_t

__all__ = ["GeneralizedHyperbolic", "Hyperbolic", "NIG", "Stable", "StudentT", "VarianceGamma"]

_NORMAL_DF = 1e100
_DIFFERENCES = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # of eighth order, of a first derivative


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
    The functions of `student_t`, of the same accuracy at (x - loc)/scale: relative errors of 2e-14 of tails and quantiles down to
    probabilities of 1e-19, and of 2e-13 below.

    Examples
    --------
    >>> from numbastats.distributions import StudentT
    >>> d = StudentT(4.0, scale=2.0)
    >>> float(d.ppf(0.975).round(8)), float(d.expected_shortfall(0.01).round(8))
    (5.55289021, -10.44116839)
    """

    names, family = ("df", "loc", "scale"), "student_t"
    _positive, _scipy_shapes = ("df", "scale"), ("df",)
    _most: ClassVar[dict[str, float]] = {"df": _NORMAL_DF}

    def __init__(self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(df=df, loc=loc, scale=scale)

    @classmethod
    def _refusals(cls, values):
        for name, holds, words in super()._refusals(values):
            yield name, holds | (values[name] == math.inf) if name == "df" else holds, words

    def _evaluate(self, name, x, out, dtype, device, workers):
        """Through the family where a device is asked for; on the host, in double precision, else."""
        if not (device_kind(x) or device == "cuda") or name in ("logcdf", "logsf"):
            return super()._evaluate(name, x, out, dtype, device, workers)
        options = dict(dtype=dtype or _own_dtype(x), device=device, workers=workers)
        if self.params[1:] == (0.0, 1.0):
            return getattr(student_t, name)(x, self.df, out=out, **options)
        if device_kind(x) == "numba" or device_kind(x) and self.batch_shape or out is not None:
            raise TypeError(
                "on a device, loc and scale need one distribution, a CuPy array or a tensor, and no out=: else standardise x and "
                "use StudentT(df)"
            )
        x = x if device_kind(x) else as_host(x)
        at = x if name in ("ppf", "isf") else (x - self.loc) / self.scale
        return self._in_units(name, getattr(student_t, name)(at, self.df, **options))

    def _of_student(self, name, z):
        return getattr(student_t, name)(np.asarray(z, order="C"), self.df, device="cpu")

    def _pdf(self, z):
        return self._of_student("pdf", z)

    def _logpdf(self, z):
        return self._of_student("logpdf", z)

    def _cdf(self, z):
        return self._of_student("cdf", z)

    def _sf(self, z):
        return self._of_student("sf", z)

    def _ppf(self, u):
        from scipy.special import gammaln, ndtri_exp

        value = np.asarray(self._of_student("ppf", u))
        deep = (u < 2.0**-60) & ~np.isnan(self._like(u, "df"))
        if deep.any():  # below the range of tables
            part, target = self._selected(deep), np.log(u[deep])
            df = part._like(target, "df")
            log_factor = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df + 1.0) - math.log(2.0 * math.sqrt(math.pi))
            start = 0.5 * np.log(df) + (log_factor - target) / df  # log of the quantile of the tail's power
            z = ndtri_exp(target)
            light = np.sqrt(df * np.expm1(np.minimum(z * z / df, 700.0)))  # Wallace's approximation
            near = np.where(df > 100.0, light, np.exp(np.clip(start, 0.0, 700.0)))
            start = np.where(df > 100.0, 0.0, start)
            found = inverse(lambda s: part._logcdf(-s), lambda s: part._logpdf(-s), target, near, True, True)
            value[deep] = -np.where(start > 700.0, math.inf, found)
        return value

    def _isf(self, p):
        return 0.0 - self._ppf(p)

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

    def _score(self, z):
        from scipy.special import psi

        df = self._like(z, "df")
        square = z * z
        r = -square / (df + square)
        i = 1.0 / (df * df)
        far = i * (0.5 - i * (0.25 - 0.5 * i))
        norm = np.where(df > 200.0, far, psi(0.5 * (df + 1.0)) - psi(0.5 * df) - 1.0 / df)
        series = -sum((-r) ** n / n for n in range(2, 16))  # log(1 + r) - r, with r = -q/(1 + q) and q = z^2/df
        fall = np.where(np.abs(r) < 0.05, series, np.log1p(r) - r)
        return -(df + 1.0) * z / (df + square), 0.5 * (norm + fall - r / df)

    def _shortfall(self, p, upper):
        df = self._like(p, "df")
        z = self._quantile("ppf", p)
        size = (df + z * z) / (df - 1.0) * np.exp(self._logpdf(z) - np.log(p))
        far = np.abs(z) > 1e150  # where z^2 leaves the doubles: the tail is a power
        size = np.where(df > 1.0, np.where(far, -z * df / (df - 1.0), size), math.inf)
        return self.loc + self.scale * (size if upper else -size)

    def _draws(self, shape, options):
        return self._located(random.standard_t(self.df, shape, **options))


class GeneralizedHyperbolic(Distribution):
    """Generalised hyperbolic distribution.

    Parameters
    ----------
    lam : array_like
        Order.
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    delta : array_like
        Scale, > 0.
    mu : array_like, optional
        Location.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `loc` and `scale` are mu and delta. The functions of `generalized_hyperbolic`, of the same accuracy; logarithms of tails and
    quantiles also where tails are below the range of its tables.

    Examples
    --------
    >>> from numbastats.distributions import GeneralizedHyperbolic
    >>> d = GeneralizedHyperbolic(1.5, 2.0, 0.5, 1.0)
    >>> float(d.ppf(0.99).round(6)), float(d.logsf(1000.0).round(4))
    (3.768718, -1496.0688)
    """

    names: ClassVar[tuple[str, ...]] = ("lam", "alpha", "beta", "delta", "mu")
    family = "generalized_hyperbolic"
    _positive: ClassVar[tuple[str, ...]] = ("alpha", "delta")
    _scipy_shapes: ClassVar[tuple[str, ...]] = ("p", "a", "b")
    _family: ClassVar[Any] = generalized_hyperbolic

    def __init__(self, lam: ArrayLike, alpha: ArrayLike, beta: ArrayLike, delta: ArrayLike, mu: ArrayLike = 0.0):
        self._set(lam=lam, alpha=alpha, beta=beta, delta=delta, mu=mu)

    @property
    def loc(self) -> Any:
        """The parameter `mu`."""
        return self.mu

    @property
    def scale(self) -> Any:
        """The parameter `delta`."""
        return self.delta

    @classmethod
    def _refusals(cls, values):
        yield from super()._refusals(values)
        yield "beta", np.abs(values["beta"]) < values["alpha"], "between -alpha and alpha"

    def _general(self):
        """The order, and delta."""
        return self.lam, self.delta

    def _standard(self):
        return self.lam, np.multiply(self.alpha, self.delta), np.multiply(self.beta, self.delta)

    @classmethod
    def _of_standard(cls, *shapes):
        return (*shapes, 1.0, 0.0)

    def _evaluate(self, name, x, out, dtype, device, workers):
        if not device_kind(x) and device != "cuda" or name in ("logcdf", "logsf"):
            return super()._evaluate(name, x, out, dtype, None if device == "cpu" else device, workers)
        return getattr(self._family, name)(x, *self.params, out=out, dtype=dtype or _own_dtype(x), device=device, workers=workers)

    def _at(self, name, x):
        """The functions of the family need no standard form."""
        if name in ("logcdf", "logsf"):
            value = self._log_tail(x, name == "logsf")
            return np.where(x == math.inf, 0.0 if name == "logcdf" else -math.inf, value) if np.isinf(x).any() else value
        if name in ("ppf", "isf"):
            return self._quantile(name, x)
        return getattr(self, f"_{name}")(x)

    def _values(self, name, x):
        return getattr(self._family, name)(np.asarray(x, order="C"), *self.params, device="cpu")

    def _pdf(self, x):
        return self._values("pdf", x)

    def _logpdf(self, x):
        return self._values("logpdf", x)

    def _cdf(self, x):
        return self._values("cdf", x)

    def _sf(self, x):
        return self._values("sf", x)

    def _ppf(self, u):
        return self._with_depth(u, False)

    def _isf(self, p):
        return self._with_depth(p, True)

    def _with_depth(self, p, upper):
        """Quantiles by tables, and by Newton's method on the logarithm of the tail below their range."""
        value = np.array(self._values("isf" if upper else "ppf", p))
        deep = (p < 0.1) & np.isnan(value)
        for p_ in self.params:
            deep &= ~np.isnan(p_)
        if deep.any():
            part, some = self._selected(deep), p[deep]
            start = part._values("isf" if upper else "ppf", np.full(some.shape, 1e-15))
            known = np.isfinite(start)
            start = np.where(known, start, np.broadcast_to(part.mean(), some.shape))
            tail = part._logsf if upper else part._logcdf
            value[deep] = inverse(tail, part._logpdf, np.log(some), start, upper, False)
        return value

    def _kink(self):
        return self.mu

    def mean(self) -> Any:
        """Mean."""
        return self._batch(self._family.mean(*self.params))

    def var(self) -> Any:
        """Variance."""
        return self._batch(self._family.var(*self.params))

    def _shape(self):
        return self._family.skewness(*self.params), self._family.kurtosis(*self.params)

    def _entropy(self):
        standard = type(self)(*self._of_standard(*self._standard()))
        wide = standard._with_axis()
        return -standard.expect(lambda x: wide.logpdf(np.where(x == 0.0, 1e-300, x)))  # there may be a pole at mu = 0

    def _draws(self, shape, options):
        return self._family.rvs(*self.params, size=shape, **options)

    def _scores(self, x):
        """By the parameters of the general form."""
        lam, delta = (np.broadcast_to(p, x.shape) for p in self._general())
        alpha, beta, y = self._like(x, "alpha"), self._like(x, "beta"), x - self.mu
        gamma_2 = (alpha - beta) * (alpha + beta)
        gamma, g, v = np.sqrt(gamma_2), np.hypot(delta, y), lam - 0.5
        outer = _bessel_slope(v, alpha * g)
        along = outer * alpha + v / g  # derivative of the density's Bessel part by g
        inner, by_lam = self._of_norm(lam, gamma, delta)
        by_lam = by_lam - np.log(alpha)
        found = {
            "lam": lambda: by_lam + np.log(g) + _bessel_by_order(v, alpha * g),
            "alpha": lambda: lam * alpha / gamma_2 - inner * alpha + outer * g - v / alpha,
            "beta": lambda: -lam * beta / gamma_2 + inner * beta + y,
            "delta": lambda: -lam / delta - inner * gamma_2 / delta + along * delta / g,
            "mu": lambda: -along * y / g - beta,
        }
        return tuple(found[name]() for name in self.names)

    def _of_norm(self, lam, gamma, delta):
        """(log K_lam(delta gamma))' delta/gamma, and the derivative of lam log(gamma/delta) - log K_lam(delta gamma) by lam."""
        inner = _bessel_slope(lam, delta * gamma) * delta / gamma
        return inner, np.log(gamma / delta) - _bessel_by_order(lam, delta * gamma)


class Hyperbolic(GeneralizedHyperbolic):
    """Hyperbolic distribution: the generalised hyperbolic one with lam = 1.

    Parameters
    ----------
    alpha, beta, delta, mu : array_like
        As for `GeneralizedHyperbolic`.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Examples
    --------
    >>> from numbastats.distributions import Hyperbolic
    >>> float(Hyperbolic(1.5, 0.3, 1.0).ppf(0.99).round(6))
    3.992358
    """

    names, family = ("alpha", "beta", "delta", "mu"), "hyperbolic"
    _scipy_shapes = ("a", "b")
    _family: ClassVar[Any] = hyperbolic
    _order = 1.0

    def __init__(self, alpha: ArrayLike, beta: ArrayLike, delta: ArrayLike, mu: ArrayLike = 0.0):
        self._set(alpha=alpha, beta=beta, delta=delta, mu=mu)

    def _general(self):
        return self._order, self.delta

    def _standard(self):
        return np.multiply(self.alpha, self.delta), np.multiply(self.beta, self.delta)


class NIG(Hyperbolic):
    """Normal inverse Gaussian distribution: the generalised hyperbolic one with lam = -1/2.

    Parameters
    ----------
    alpha, beta, delta, mu : array_like
        As for `GeneralizedHyperbolic`.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Examples
    --------
    >>> from numbastats.distributions import NIG
    >>> d = NIG(1.5, 0.3, 1.0)
    >>> float(d.ppf(0.99).round(6)), float(d.expected_shortfall(0.01).round(6))
    (2.630917, -2.22311)
    """

    family = "nig"
    _family = nig
    _order = -0.5


class VarianceGamma(GeneralizedHyperbolic):
    """Variance gamma distribution: the generalised hyperbolic one with delta = 0.

    Parameters
    ----------
    lam : array_like
        Shape, > 0.
    alpha, beta, mu : array_like
        As for `GeneralizedHyperbolic`.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `loc` is mu, `scale` is 1/alpha. The functions of `variance_gamma`, of the same accuracy.

    Examples
    --------
    >>> from numbastats.distributions import VarianceGamma
    >>> float(VarianceGamma(1.0, 1.5, 0.3).ppf(0.99).round(6))
    3.411954
    """

    names, family = ("lam", "alpha", "beta", "mu"), "variance_gamma"
    _positive, _scipy_shapes = ("lam", "alpha"), ("lam", "b")
    _family = variance_gamma

    def __init__(self, lam: ArrayLike, alpha: ArrayLike, beta: ArrayLike, mu: ArrayLike = 0.0):
        self._set(lam=lam, alpha=alpha, beta=beta, mu=mu)

    @property
    def scale(self) -> Any:
        """1/alpha."""
        return np.divide(1.0, self.alpha)[()]

    def _general(self):
        return self.lam, 0.0

    def _standard(self):
        return self.lam, np.divide(self.beta, self.alpha)

    @classmethod
    def _of_standard(cls, *shapes):
        return shapes[0], 1.0, shapes[1], 0.0

    def _of_norm(self, lam, gamma, delta):
        """The limits for delta = 0, with K_lam(z) like Gamma(lam) (2/z)^lam/2."""
        from scipy.special import psi

        return -lam / (gamma * gamma), 2.0 * np.log(gamma) - psi(lam) - math.log(2.0)


def _own_dtype(x):
    """The float type of the points alone: parameters do not widen it."""
    return result_dtype(("x",), (dtype_of(x if device_kind(x) else as_host(x)),))


def _log_kve(order, z):
    """log(e^z K_order(z)) of arrays of one shape."""
    order, z = np.broadcast_arrays(np.asarray(order, np.float64), z)
    values = elementwise(
        lambda d: kernels.LOG_KVE,
        ("order", "z"),
        (np.array(order, ndmin=1), np.array(z, ndmin=1)),
        dtype=np.dtype(np.float64),
        device="cpu",
        workers=1,
    )
    return values.reshape(order.shape)


def _bessel_slope(v, z):
    """K_v'(z)/K_v(z) = -K_(v-1)/K_v - v/z for v <= 0 and -K_(v+1)/K_v + v/z for v > 0, of which -K_(|v|-1)/K_v - |v|/z adds."""
    v = np.abs(v)
    return -np.exp(_log_kve(v - 1.0, z) - _log_kve(v, z)) - v / z


def _bessel_by_order(v, z):
    """Derivative of log K_v(z) by v: differences of eighth order, with errors of 1e-12."""
    step = 0.01 * np.maximum(np.abs(v), 1.0)
    return sum(w * (_log_kve(v + k * step, z) - _log_kve(v - k * step, z)) for k, w in _DIFFERENCES) / step


class Stable(Distribution):
    """Stable distribution, also a batch of them.

    Parameters
    ----------
    alpha : array_like
        Index of stability, 0 < alpha <= 2.
    beta : array_like
        Skewness, -1 <= beta <= 1.
    loc, scale : array_like, optional
        Location and scale (> 0).
    param : {"S0", "S1"}
        Parameterisation of `loc`; see `numbastats.stable.pdf`.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The functions of `numbastats.stable`, of the same accuracy. `numbastats.stable.Stable` is the object of one distribution with
    its characteristic function, tail coefficients and tables.

    Examples
    --------
    >>> from numbastats.distributions import Stable
    >>> d = Stable(1.5, [0.0, 1.0])
    >>> d.cdf(0.0).round(6), d.var()
    (array([0.5     , 0.423239]), array([inf, inf]))
    """

    names, family = ("alpha", "beta", "loc", "scale"), "stable"
    _scipy_shapes = ("alpha", "beta")
    param: Literal["S0", "S1"]

    def __init__(
        self, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, param: Literal["S0", "S1"] = "S0"
    ):
        self._set(alpha=alpha, beta=beta, loc=loc, scale=scale)
        object.__setattr__(self, "param", choice("param", param, ("S0", "S1")))

    @classmethod
    def _refusals(cls, values):
        yield "alpha", (values["alpha"] > 0.0) & (values["alpha"] <= 2.0), "in (0, 2]"
        yield "beta", np.abs(values["beta"]) <= 1.0, "in [-1, 1]"
        yield from ((n, h, w) for n, h, w in super()._refusals(values) if n in ("loc", "scale"))

    def __repr__(self) -> str:
        return super().__repr__() if self.param == "S0" else f"{super().__repr__()[:-1]}, param={self.param!r})"

    def _arguments(self):
        return (*self.params, self.param)

    def _evaluate(self, name, x, out, dtype, device, workers):
        if dtype is None and not any_lazy((x,)):
            dtype = _own_dtype(x)
        options = dict(param=self.param, out=out, dtype=dtype, device=device, workers=workers)
        values = self.params
        if self._labels is not None:  # of dask's x
            values = [self._labelled(np.broadcast_to(p, self.batch_shape)) if isinstance(p, np.ndarray) else p for p in values]
        return getattr(stable, name)(x, *values, **options)

    _takes_blocks = True

    def _at(self, name, x):
        return np.asarray(getattr(stable, name)(np.asarray(x, order="C"), *self.params, param=self.param, device="cpu"))

    def _in(self, to):
        """Locations in the parameterisation S0 or S1."""
        return np.asarray(self.loc if self.param == to else stable.convert(*self.params, to=to)[2])

    def to_scipy(self) -> Any:
        """As for all distributions; the family behind it is of the S0 form."""
        return Distribution.to_scipy(self if self.param == "S0" else Stable(self.alpha, self.beta, self._in("S0"), self.scale))

    def support(self) -> tuple[Any, Any]:
        """Ends of the support: a half line for alpha < 1 and beta = +-1, else all numbers."""
        half, end = np.asarray(self.alpha) < 1.0, self._in("S1")
        lower = np.where(half & (np.asarray(self.beta) == 1.0), end, -math.inf)
        return self._batch(lower), self._batch(np.where(half & (np.asarray(self.beta) == -1.0), end, math.inf))

    def _kink(self):
        return self._in("S1") if np.all(np.asarray(self.alpha) < 1.0) else None

    def mean(self) -> Any:
        """The location of the S1 form for alpha > 1; for alpha <= 1 infinite for beta = +-1, else NaN."""
        alpha, beta = np.asarray(self.alpha), np.asarray(self.beta)
        none = np.where(np.abs(beta) == 1.0, np.copysign(math.inf, beta), math.nan)
        return self._batch(np.where(alpha > 1.0, self._in("S1"), np.where(np.isnan(alpha), math.nan, none)))

    def var(self) -> Any:
        """2 scale^2 for alpha = 2; infinite below where the mean is finite, else NaN."""
        alpha = np.asarray(self.alpha)
        normal = 2.0 * np.square(self.scale)
        return self._batch(np.where(alpha == 2.0, normal, np.where(alpha > 1.0, math.inf, math.nan)))

    def _shape(self):
        none = np.where(np.asarray(self.alpha) == 2.0, 0.0, math.nan)
        return none, none

    def _entropy(self):
        def one(alpha, beta):
            return math.nan if math.isnan(alpha + beta) else stable.Stable(alpha, beta).entropy()

        return np.asarray(np.frompyfunc(one, 2, 1)(self.alpha, self.beta), np.float64)

    def _scores(self, x):
        found = stable.score(x, *self.params, param=self.param, device="cpu")
        return tuple(found[..., i] for i in range(4))

    def _draws(self, shape, options):
        return stable.rvs(*self.params, shape, param=self.param, **options)
