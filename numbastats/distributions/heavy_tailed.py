"""Generalised hyperbolic and stable distributions as objects, on the functions of their families."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

import numbastats.stable as stable
from numbastats._core.broadcast import as_host, dtype_of, result_dtype
from numbastats._core.checks import FLOAT32, choice
from numbastats._core.elementwise import any_lazy, elementwise
from numbastats._core.kinds import device_kind, numpy_dtype, to_host
from numbastats.distributions import kernels
from numbastats.distributions.hyperbolic import generalized_hyperbolic, hyperbolic, nig, variance_gamma
from numbastats.distributions.protocol import Distribution
from numbastats.scalar.hyperbolic import gh_log_norm

__all__ = ["GeneralizedHyperbolic", "Hyperbolic", "NIG", "Stable", "VarianceGamma"]

_UNDERFLOW = 1e-290  # smaller tail probabilities have no digits; their logarithms are integrated
_DIFFERENCES = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # of eighth order, of a first derivative


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

    @functools.cached_property
    def _density_parameters(self):
        """What the kernels of the density take, with the logarithm of its norm."""
        lam, delta = self._general()
        return lam, self.alpha, self.beta, delta, self.mu, gh_log_norm(lam, self.alpha, self.beta, delta)

    def _evaluate(self, name, x, out, dtype, device, workers):
        host = not device_kind(x) and device != "cuda"
        if name in kernels.GH and host and not self.batch_shape and FLOAT32 not in (dtype, numpy_dtype(as_host(to_host(x, "x")))):
            options = dict(constants=lambda d: self._density_parameters, cost=600.0)
            return elementwise(
                lambda d: kernels.GH[name], ("x",), (x,), out=out, dtype=dtype, device=device, workers=workers, **options
            )
        if host or name in ("logcdf", "logsf"):
            return super()._evaluate(name, x, out, dtype, None if device == "cpu" else device, workers)
        return getattr(self._family, name)(x, *self.params, out=out, dtype=dtype or _own_dtype(x), device=device, workers=workers)

    def _at(self, name, x):
        """The functions of the family, which need no standard form; the logarithms of tails and deep quantiles from them."""
        if name in ("logcdf", "logsf"):
            surely = (x > 0.0) == (name == "logcdf")  # at infinity
            return np.where(np.isinf(x), np.where(surely, 0.0, -math.inf), self._log_tail(x, name == "logsf"))
        return self._quantile(x, name == "isf") if name in ("ppf", "isf") else self._values(name, x)

    def _values(self, name, x):
        return getattr(self._family, name)(np.asarray(x, order="C"), *self.params, device="cpu")

    def _quantile(self, p, upper):
        """Quantiles by tables, and by Newton's method on the logarithm of the tail below their range."""
        name = "isf" if upper else "ppf"
        value = np.array(self._values(name, np.where((p > 0.0) & (p < 1.0), p, 0.5)))
        ends = (math.inf, -math.inf) if upper else (-math.inf, math.inf)
        known = np.where(p == 0.0, ends[0], np.where(p == 1.0, ends[1], math.nan))
        value = np.where((p > 0.0) & (p < 1.0) | np.isnan(value), value, known)
        deep = (p > 0.0) & (p < 0.1) & np.isnan(value)
        for parameter in self.params:
            deep &= ~np.isnan(parameter)
        if deep.any():
            part, some = self._selected(deep), p[deep]
            start = part._values(name, np.full(some.shape, 1e-15))
            start = np.where(np.isfinite(start), start, np.broadcast_to(part.mean(), some.shape))
            value[deep] = part._inverse(np.log(some), start, upper)
        return value

    def _inverse(self, target, x, upper):
        """Points at which the logarithm of a tail is `target`: Newton's method within a bracket, from x.

        It ends with a step below 1e-9 of x, or after 80.
        """
        low, high = np.full(x.shape, -math.inf), np.full(x.shape, math.inf)
        for _ in range(80):
            logs = self._log_tail(x, upper)
            excess = (target - logs) if upper else (logs - target)  # increases with x
            low, high = np.where(excess < 0.0, x, low), np.where(excess < 0.0, high, x)
            step = -excess * np.exp(logs - self._values("logpdf", x))
            reach = np.maximum(np.abs(x), 1.0)
            new = x + np.clip(step, -4.0 * reach, 4.0 * reach)
            middle = 0.5 * (np.maximum(low, -8.0 * reach) + np.minimum(high, 8.0 * reach))
            new = np.where((new > low) & (new < high), new, np.where((excess == 0.0) | (new == x), x, middle))
            done = ~(np.abs(new - x) > 1e-9 * np.abs(x))  # the step after it would be below rounding
            x = np.where(np.isnan(excess), math.nan, new)
            if done.all():
                break
        return x

    def _log_tail(self, x, upper):
        """Logarithm of a tail probability from both tails, by integration where it underflows."""
        tail, rest = self._values("sf" if upper else "cdf", x), self._values("cdf" if upper else "sf", x)
        value = np.where(tail <= 0.5, np.log(tail), np.log1p(-rest))
        deep = (tail < _UNDERFLOW) & np.isfinite(x) & (self._values("logpdf", x) > -math.inf)
        if deep.any():
            value[deep] = self._selected(deep)._far_log_tail(x[deep])
        return value

    def _far_log_tail(self, x):
        """Logarithm of a tail far out: its integral over the logarithm of the distance s to the median, by Gauss and Laguerre.

        With L(log s) = log density + log s, which falls at the rate h, the tail is e^L/h times the integral of
        e^-u (e^(L(log s + u/h) - L(log s)) e^u), the second factor near 1.
        """
        centre = self._values("ppf", np.full(x.shape, 0.5))
        s, way = np.abs(x - centre), np.where(x > centre, 1.0, -1.0)

        def level(log_ratio):
            return self._values("logpdf", centre + way * s * np.exp(log_ratio)) + log_ratio

        step = 1e-5
        fall = np.maximum(np.abs(level(step) - level(-step)) / (2 * step), 1e-300)
        here = level(np.zeros_like(s))
        nodes, weights = np.polynomial.laguerre.laggauss(40)
        total = sum(w * np.exp(level(u / fall) - here + u) for u, w in zip(nodes, weights, strict=True))
        return here + np.log(s) - np.log(fall) + np.log(total)

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
