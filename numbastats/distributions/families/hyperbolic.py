"""The generalised hyperbolic distributions: hyperbolic, normal inverse Gaussian and variance gamma among them.

Their density is a kernel; their distribution functions are masses of it, their quantiles tables: see `tables`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.elementwise import elementwise
from numbastats.distributions import kernels, moments
from numbastats.distributions.by_density import ByDensity
from numbastats.distributions.contains import Contains
from numbastats.distributions.kernels.fits import OwnEquations
from numbastats.distributions.kernels.hyperbolic import FIT_GENERAL, FIT_HYPERBOLIC, FIT_NIG
from numbastats.distributions.tables import named_error, parameter_sets, times_exp
from numbastats.scalar.hyperbolic import gh_log_norm

__all__ = ["GeneralizedHyperbolic", "Hyperbolic", "NIG", "VarianceGamma"]

_GENERAL = ("lam", "alpha", "beta", "delta", "mu")  # what the kernels of fits take
_DIFFERENCES = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # of eighth order, of a first derivative


# What the families contain, in the parameters of the general one at the size t. X = mu + beta W + sqrt(W) Z with Z normal, W with
# a density like w^(lam - 1) exp(-(delta^2/w + gamma^2 w)/2): as alpha and beta go to infinity together, X - mu becomes beta W.


def _one_sided(side, lam, beta, rate, chi, loc):
    """For a density like y^(lam - 1) exp(-(chi/y + 2 rate y)/2) of y = X - loc, with side = -1 of the mirrored values."""
    alpha = beta + 2.0 * rate / (1.0 + np.sqrt(1.0 + 2.0 * rate / beta))  # gamma^2 is 2 rate beta
    return dict(lam=lam, alpha=alpha, beta=side * beta, delta=np.sqrt(chi / beta), mu=side * loc)


def _inverse_gaussian(side, t, mean, shape, loc):
    return _one_sided(side, -0.5, t / mean, 0.5 * shape / (mean * mean), shape, loc)


def _gamma(side, t, shape, loc, scale):
    return _one_sided(side, shape, t / scale, 1.0 / scale, scale / (t * t), loc)


def _exponential(side, t, loc, scale):
    return _gamma(side, t, 1.0, loc, scale)


def _normal(t, loc, scale):
    return dict(lam=1.0, alpha=t / scale, beta=0.0, delta=t * scale, mu=loc)


def _normal_of_gamma(t, loc, scale):
    return dict(lam=t, alpha=np.sqrt(2.0 * t) / scale, beta=0.0, mu=loc)


def _student_t(t, df, loc, scale):
    return dict(lam=-0.5 * df, alpha=1.0 / (t * scale), beta=0.0, delta=np.sqrt(df) * scale, mu=loc)


def _cauchy(t, loc, scale):
    return _student_t(t, 1.0, loc, scale)


def _asymmetric_laplace(t, kappa, loc, scale):
    alpha, beta = 0.5 * (1.0 / kappa + kappa) / scale, 0.5 * (1.0 / kappa - kappa) / scale
    return dict(lam=1.0, alpha=alpha, beta=beta, delta=1.0 / (t * alpha), mu=loc)


def _laplace(t, loc, scale):
    return _asymmetric_laplace(t, 1.0, loc, scale)


def _nig(t, alpha, beta, delta, mu):
    return dict(lam=-0.5, alpha=alpha, beta=beta, delta=delta, mu=mu)


def _hyperbolic(t, alpha, beta, delta, mu):
    return dict(lam=1.0, alpha=alpha, beta=beta, delta=delta, mu=mu)


def _variance_gamma(t, lam, alpha, beta, mu):
    return dict(lam=lam, alpha=alpha, beta=beta, delta=1.0 / (t * alpha), mu=mu)


def _within(names, *maps, sides=()):
    """What a family with these parameters contains; `sides`: one-sided distributions, whose location is free."""

    def of(own, *side):
        def own_names(t, **params):
            general = own(*side, t, **params)
            return {name: general[name] for name in names}

        return own_names

    both = [(own, mirrored) for own in sides for mirrored in (False, True)]
    return (
        *(Contains(own.__name__[1:].removesuffix("_of_gamma"), of(own)) for own in maps),
        *(Contains(own.__name__[1:], of(own, -1.0 if far else 1.0), mirrored=far, fixed={"loc": None}) for own, far in both),
    )


_OF_GENERAL = _within(
    _GENERAL,
    *(_nig, _hyperbolic, _variance_gamma, _student_t, _normal, _asymmetric_laplace, _laplace),
    sides=(_inverse_gaussian, _gamma, _exponential),
)
_OF_HYPERBOLIC = _within(_GENERAL[1:], _normal, _asymmetric_laplace, _laplace, sides=(_exponential,))
_OF_NIG = _within(_GENERAL[1:], _normal, _cauchy, sides=(_inverse_gaussian,))
_OF_GAMMA = _within(("lam", "alpha", "beta", "mu"), _normal_of_gamma, _asymmetric_laplace, _laplace, sides=(_gamma, _exponential))


class GeneralizedHyperbolic(ByDensity):
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
    With g^2 = delta^2 + (x - mu)^2 and v = lam - 1/2 the density is like g^v K_v(alpha g) exp(beta (x - mu)). `loc` and `scale`
    are mu and delta.

    Relative errors of 1e-13 of the density, 3e-13 of tails down to 1e-290 (then their logarithms only), and 2e-14 of quantiles
    from tables (5 ms each, kept), which on a GPU end at 2^-66 of a side. Parameters too extreme for tables raise ValueError.

    Examples
    --------
    >>> from numbastats.distributions import GeneralizedHyperbolic
    >>> d = GeneralizedHyperbolic(1.5, 2.0, 0.5, 1.0)
    >>> float(d.ppf(0.99).round(6)), float(d.logsf(1000.0).round(4))
    (3.768718, -1496.0688)
    """

    names: ClassVar[tuple[str, ...]] = _GENERAL
    family = "generalized_hyperbolic"
    aliases: ClassVar[tuple[str, ...]] = ("genhyperbolic",)
    _positive: ClassVar[tuple[str, ...]] = ("alpha", "delta")
    _scipy_shapes: ClassVar[tuple[str, ...]] = ("p", "a", "b")
    _contains: ClassVar[tuple[Contains, ...]] = _OF_GENERAL
    _equations = OwnEquations(_GENERAL, FIT_GENERAL, 5e4, held={}, layout=_GENERAL)

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

    @classmethod
    def _general(cls, lam, alpha, beta, delta, mu):
        """The parameters of the generalised hyperbolic distribution."""
        return lam, alpha, beta, delta, mu

    @classmethod
    def _described(cls, *params):
        return _described_at_0(*cls._general(*params)[:4])

    def _standard(self):
        return self.lam, np.multiply(self.alpha, self.delta), np.multiply(self.beta, self.delta)

    @classmethod
    def _of_standard(cls, *shapes):
        return (*shapes, 1.0, 0.0)

    @functools.cached_property
    def _density_parameters(self):
        """What the kernels of the density take, with the logarithm of its norm."""
        general = self._general(*self.params)
        if not self.batch_shape:
            return *general, gh_log_norm(*general[:4])
        shape = [np.array(p, ndmin=1) for p in np.broadcast_arrays(*general[:4])]
        names, options = ("lam", "alpha", "beta", "delta"), dict(dtype=np.float64, device="cpu", workers=1)
        return *general, elementwise(kernels.GH_NORM, names, shape, **options).reshape(shape[0].shape)

    def _density(self, name, x, **options):
        kernel = kernels.GH[name]
        if not self.batch_shape:
            options["constants"] = lambda d: self._density_parameters
            return elementwise(kernel, ("x",), (x,), cost=600.0, **options)
        names = ("x", "lam", "alpha", "beta", "delta", "mu", "norm")
        return elementwise(kernel, names, (x, *self._density_parameters), cost=600.0, **options)

    def _kink(self):
        return self.mu

    def mean(self) -> Any:
        """Mean."""
        return self._batch(self._of_sets(moments.of_normal_mixture)[0])

    def var(self) -> Any:
        """Variance."""
        return self._batch(self._of_sets(moments.of_normal_mixture)[1])

    def _shape(self):
        return self._of_sets(moments.shape_of_normal_mixture)

    def _of_sets(self, moments_of):
        """A pair of moments of every set of parameters."""
        sets, index = parameter_sets(self.params)
        found = np.full((len(sets), 2), math.nan)
        for i, values in enumerate(sets):
            try:
                if not any(map(math.isnan, values)):
                    found[i] = moments_of(*self._general(*values))
            except ValueError as error:
                raise named_error(type(self), values, error) from None
        return found[index, 0], found[index, 1]

    def _entropy(self):
        standard = self._at_standard()
        wide = standard._with_axis()
        return -standard.expect(lambda x: wide.logpdf(np.where(x == 0.0, 1e-300, x)))  # there may be a pole at mu = 0

    def _scores(self, x):
        """By the parameters of the general form."""
        lam, alpha, beta, delta, mu = (np.broadcast_to(p, x.shape) for p in self._general(*self.params))
        y = x - mu
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
    aliases: ClassVar[tuple[str, ...]] = ()
    _scipy_shapes = ("a", "b")
    _order = 1.0
    _contains = _OF_HYPERBOLIC
    _equations = OwnEquations(names, FIT_HYPERBOLIC, 200.0, held={"lam": 1.0}, layout=_GENERAL)

    def __init__(self, alpha: ArrayLike, beta: ArrayLike, delta: ArrayLike, mu: ArrayLike = 0.0):
        self._set(alpha=alpha, beta=beta, delta=delta, mu=mu)

    @classmethod
    def _general(cls, alpha, beta, delta, mu):
        return cls._order, alpha, beta, delta, mu

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

    family, aliases = "nig", ("norminvgauss",)
    _order = -0.5
    _contains = _OF_NIG
    _equations = OwnEquations(Hyperbolic.names, FIT_NIG, 500.0, held={"lam": -0.5}, layout=_GENERAL)


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
    With v = lam - 1/2 the density is like |x - mu|^v K_v(alpha |x - mu|) exp(beta (x - mu)). `loc` is mu, `scale` is 1/alpha.

    At most lam = 1/2 the density is infinite at mu, and next to mu an error of the mass (the Bessel function is good to 3e-14)
    becomes one of x - mu that is 1/(2 lam) times as large. A table needs lam > 0.005. Densities of a large lam lose digits to
    cancellation between their factors: errors of 6e-12 were seen near 750, 9e-9 at 1e6.

    Examples
    --------
    >>> from numbastats.distributions import VarianceGamma
    >>> float(VarianceGamma(1.0, 1.5, 0.3).ppf(0.99).round(6))
    3.411954
    """

    names, family, aliases = ("lam", "alpha", "beta", "mu"), "variance_gamma", ()
    _positive, _scipy_shapes = ("lam", "alpha"), ("lam", "b")
    _contains = _OF_GAMMA
    _equations = OwnEquations(names, FIT_GENERAL, 2e4, held={"delta": 0.0}, layout=_GENERAL)

    def __init__(self, lam: ArrayLike, alpha: ArrayLike, beta: ArrayLike, mu: ArrayLike = 0.0):
        self._set(lam=lam, alpha=alpha, beta=beta, mu=mu)

    @property
    def scale(self) -> Any:
        """1/alpha."""
        return np.divide(1.0, self.alpha)[()]

    @classmethod
    def _general(cls, lam, alpha, beta, mu):
        return lam, alpha, beta, 0.0, mu

    def _standard(self):
        return self.lam, np.divide(self.beta, self.alpha)

    @classmethod
    def _of_standard(cls, *shapes):
        return shapes[0], 1.0, shapes[1], 0.0

    def _of_norm(self, lam, gamma, delta):
        """The limits for delta = 0, with K_lam(z) like Gamma(lam) (2/z)^lam/2."""
        from scipy.special import psi

        return -lam / (gamma * gamma), 2.0 * np.log(gamma) - psi(lam) - math.log(2.0)


class _Density:
    """Unnormalised density of the generalised hyperbolic family at mu = 0, in lengths of a power of two near 1/alpha.

    The exponent is taken from its largest value on: with gamma^2 = alpha^2 - beta^2, g0 = alpha delta/gamma and
    x0 = beta delta/gamma, alpha g - beta x = delta gamma + (x - x0) (alpha x - beta g)/(g + g0), and on the side of x0
    alpha x - beta g = gamma delta (x - x0) (x + x0)/(x g0 + x0 g), which has no cancellation.
    """

    def __init__(self, lam, alpha, beta, delta, scale):
        self.unit = 2.0 ** -math.frexp(alpha)[1]
        self.order, self.alpha, self.beta, self.delta = lam - 0.5, alpha * self.unit, beta * self.unit, delta / self.unit
        self.gamma = math.sqrt((self.alpha - self.beta) * (self.alpha + self.beta))
        self.x0, self.g0 = self.beta * self.delta / self.gamma, self.alpha * self.delta / self.gamma
        self.length = 2.0 ** math.frexp(scale / self.unit)[1]  # g is taken relative to it
        self.lift = 300 if delta > 0 or self.order > -0.4 else 0  # the density of such a distribution overflows next to its pole
        if self.order > 0:  # log g^v K_v(alpha g) as g -> 0, and where it is reached
            v = self.order
            self.limit = math.lgamma(v) + (v - 1) * math.log(2) - v * math.log(self.alpha * self.length)
            self.centre = (1e-18 * min(1.0, v)) ** (1 / min(2 * v, 2))
        self.top, self.direct = 0.0, abs(self.order) <= 20
        if delta == 0 and self.order <= 0:
            return
        s = scale / self.unit * 2.0 ** np.arange(-30.0, 31.0)
        nearest = 0.0 if delta > 0 else self.centre / self.alpha  # where the limit takes over
        x = np.concatenate([-s, s, [nearest], self.x0 - s, self.x0 + s])
        g = np.hypot(self.delta, x)
        with np.errstate(all="ignore"):
            logs = self._log_body(g)
            self.direct = self.direct and np.abs(logs).max() < 500 and np.abs(self.order * np.log(g / self.length)).max() < 500
            top = (logs - self._fall(x, g)).max()
        if not self.direct or abs(top) > 100:
            self.top = float(top)

    def _fall(self, x, g):
        """The largest value of the exponent minus its value at x."""
        if not self.delta:
            return np.where(x > 0, self.alpha - self.beta, self.alpha + self.beta) * g
        y = x - self.x0
        with np.errstate(all="ignore"):
            near = self.gamma * self.delta * y * ((x + self.x0) / (x * self.g0 + self.x0 * g))
        return y / (g + self.g0) * np.where(x * self.beta > 0, near, self.alpha * x - self.beta * g)

    def _log_body(self, g):
        """log(g^v K_v(alpha g) e^(alpha g)) through the library's own Bessel function."""
        v, g = self.order, np.maximum(g, 1e-200)
        lk = elementwise(kernels.LOG_KVE, ("order", "z"), (np.full_like(g, v), self.alpha * g), device="cpu")
        logs = v * np.log(g / self.length) + lk
        return np.where(self.alpha * g < self.centre, self.limit, logs) if v > 0 else logs

    def _body(self, g):
        """g^v K_v(alpha g) e^(alpha g) through SciPy."""
        from scipy.special import k0e, k1e

        v, z = self.order, self.alpha * g
        order = abs(v)
        if order == 0.5:
            return (g / self.length) ** (v - 0.5)
        k = k0e(z) if order == 0 else k1e(z) if order == 1 else _kve(order, z)
        m = 4 * v * v
        far = np.sqrt(0.5 * math.pi / z) * (1 + (m - 1) / (8 * z) * (1 + (m - 9) / (16 * z)))
        body = (g / self.length) ** v * np.where(z > 1e8, far, k)  # kve ends at 1e9
        return np.where(z < self.centre, math.exp(self.limit), body) if v > 0 else body

    def __call__(self, x):
        x = x / self.unit
        g = np.hypot(self.delta, x) if self.delta else np.abs(x)
        with np.errstate(all="ignore"):
            exponent = -self._fall(x, g) - self.top
            if self.direct:
                return times_exp(self._body(g), exponent, self.lift + 1 - math.frexp(self.unit)[1])
            return np.exp(self._log_body(g) + exponent + self.lift * math.log(2)) / self.unit


def _kve(order, z):
    """e^z K_order(z): SciPy's, but around z = 2, where that of a fractional order is off by up to 2e-13.

    There the trapezoidal rule for the integral of exp(-z (cosh t - 1)) cosh(order t) over t > 0, with errors of 5e-16.
    """
    from scipy.special import kve

    z = np.asarray(z)
    value = np.asarray(kve(order, z))
    near = (z > 0.3) & (z < 2.5)
    if order <= 5.0 and near.any():
        t, w = 0.14 * np.arange(46), np.full(46, 0.14)
        w[0] *= 0.5
        value[near] = np.exp(-2.0 * z[near][:, None] * np.sinh(0.5 * t) ** 2) @ (w * np.cosh(order * t))
    return value


def _scale(lam, alpha, beta, delta):
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    if lam < -1:
        return delta / math.sqrt(math.hypot(lam, delta * gamma) - lam)
    return math.sqrt(max(delta * gamma, 0.0) + 2 * max(lam, 0.0) + 1e-3) / gamma


def _mixing_mode(lam, gamma, delta):
    """Mode of the distribution of log w, w the variance with density like w^(lam - 1) exp(-(delta^2/w + gamma^2 w)/2)."""
    both = math.hypot(lam, delta * gamma) + abs(lam)
    return both / gamma / gamma if lam > 0 else delta * (delta / both)


def _log_share_below(lam, alpha, beta, gamma, delta):
    """Logarithm of E exp(-beta^2 w/2), which bounds the mass on the lighter side of mu."""
    if not delta:
        return 2 * lam * math.log(gamma / alpha)
    z = delta * np.array([alpha, gamma])
    above, below = elementwise(kernels.LOG_KVE, ("order", "z"), (np.full(2, lam), z), device="cpu")
    return lam * math.log(gamma / alpha) + above - below - delta * beta * (beta / (alpha + gamma))


def _described_at_0(lam, alpha, beta, delta):
    """Density and options of the masses, at mu = 0.

    The anchor is mu, where x crosses 0, and the end of the distribution where less than 1e-290 of the mass is
    beyond. A narrow distribution well away from mu has its anchor in the bulk, where x is about beta w, w the variance of the
    normal mixture.
    """
    if not 1e-140 <= alpha <= 1e140 or delta and not 1e-30 <= alpha * delta <= 1e30:
        raise ValueError("distribution functions and tables need 1e-140 <= alpha <= 1e140 and 1e-30 <= alpha delta <= 1e30")
    singular = 2 * lam - 1 if delta == 0 and lam < 0.5 else None
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    anchor, support, scale = 0.0, (-math.inf, math.inf), _scale(lam, alpha, beta, delta)
    spread = math.hypot(lam, delta * gamma)  # of log w, by its inverse square
    if _log_share_below(lam, alpha, beta, gamma, delta) < (-668 if spread < 60 else -60):
        place = beta * _mixing_mode(lam, gamma, delta)
        if spread < 60:
            support, scale = (0.0, math.inf) if beta > 0 else (-math.inf, 0.0), abs(place)
        else:
            anchor, scale = place, max(scale, abs(place) / math.sqrt(1 + spread))
    density = _Density(lam, alpha, beta, delta, scale)
    return density, dict(
        anchor=anchor, support=support, symmetric=beta == 0, scale=scale, singular=singular, ends=(-math.inf, math.inf)
    )


def _log_kve(order, z):
    """log(e^z K_order(z)) of arrays of one shape."""
    order, z = np.broadcast_arrays(np.asarray(order, np.float64), z)
    values = elementwise(
        kernels.LOG_KVE,
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
