"""Generalised hyperbolic distributions: hyperbolic, normal inverse Gaussian and variance gamma among them."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats._core.kinds import to_host
from numbastats.distributions import kernels, moments
from numbastats.distributions.base import Family, as_float, times_exp
from numbastats.quantile import arguments

__all__ = ["generalized_hyperbolic", "hyperbolic", "nig", "variance_gamma"]


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
        lk = elementwise(lambda d: kernels.LOG_KVE, ("order", "z"), (np.full_like(g, v), self.alpha * g), device="cpu")
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
    above, below = elementwise(lambda d: kernels.LOG_KVE, ("order", "z"), (np.full(2, lam), z), device="cpu")
    return lam * math.log(gamma / alpha) + above - below - delta * beta * (beta / (alpha + gamma))


def _described(lam, alpha, beta, delta):
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


class GeneralizedHyperbolic(Family):
    """Generalised hyperbolic distribution: density like g^v K_v(alpha g) exp(beta (x - mu)).

    Here g^2 = delta^2 + (x - mu)^2 and v = lam - 1/2.

    Parameters
    ----------
    lam : array_like
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    delta : array_like
        Scale, > 0.
    mu : array_like, optional
        Location.

    Raises
    ------
    ValueError
        When called with parameters out of the domain. The methods, which give NaN there, are those of `Family`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.generalized_hyperbolic(1.5, 2.0, 0.5, 1.0).ppf(0.99).round(6))
    3.768718
    """

    name, defaults = "generalized_hyperbolic", (0.0,)
    names: tuple[str, ...] = ("lam", "alpha", "beta", "delta", "mu")

    def _problem(self, lam, alpha, beta, delta, mu):
        """What is wrong with the parameters."""
        if not all(map(math.isfinite, (lam, alpha, beta, delta, mu))):
            return "all parameters must be finite"
        if not alpha > 0 or not abs(beta) < alpha:
            return f"alpha={alpha!r} and beta={beta!r} must satisfy |beta| < alpha"
        if not delta > 0:
            return f"delta={delta!r} must be > 0"
        return None

    def _described(self, lam, alpha, beta, delta, mu):
        """Density and options of the masses, at mu = 0."""
        return _described(lam, alpha, beta, delta)

    def _moments(self, *general):
        """Mean and variance."""
        return moments.of_normal_mixture(*general)

    def _shape(self, lam, alpha, beta, delta, mu):
        """Skewness and excess kurtosis."""
        return moments.shape_of_normal_mixture(lam, alpha, beta, delta)

    def _in_domain(self, delta):
        """`delta` of arrays, NaN out of its domain."""
        return np.where(delta > 0, delta, math.nan)

    def _density_values(self, kind, x, params, options):
        """Density or its logarithm at x; a norm that is NaN carries parameters out of their domain."""
        *shape, mu = self._general(*(as_float(p) for p in params))
        lam, alpha, beta, delta = shape
        broadcast = np.broadcast_shapes(*map(np.shape, shape))
        general = [np.broadcast_to(np.asarray(to_host(p, "a parameter"), np.float64), broadcast) for p in shape]
        general[3] = self._in_domain(general[3])
        norm = elementwise(
            lambda d: kernels.GH_NORM,
            ("lam", "alpha", "beta", "delta"),
            [np.atleast_1d(g) for g in general],
            dtype=np.float64,
            device="cpu",
            workers=1,
        ).reshape(broadcast)
        names, values = ("x", "lam", "alpha", "beta", "delta", "mu", "norm"), (x, lam, alpha, beta, delta, mu, norm[()])
        options["dtype"] = arguments.float_type((x, *params), options["dtype"])
        return elementwise(lambda d: kernels.GH[kind], names, values, cost=600.0, **options)


class Hyperbolic(GeneralizedHyperbolic):
    """Hyperbolic distribution: density like exp(-alpha sqrt(delta^2 + (x - mu)^2) + beta (x - mu)).

    Parameters
    ----------
    alpha, beta, delta, mu : array_like
        As for `generalized_hyperbolic`.

    Raises
    ------
    ValueError
        When called with parameters out of the domain. The methods, which give NaN there, are those of `Family`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.hyperbolic(1.5, 0.3, 1.0).ppf(0.99).round(6))
    3.992358
    """

    name, names = "hyperbolic", ("alpha", "beta", "delta", "mu")

    def _general(self, alpha, beta, delta, mu):
        """The generalised hyperbolic distribution with lam = 1."""
        return 1.0, alpha, beta, delta, mu


class NormalInverseGaussian(GeneralizedHyperbolic):
    """Normal inverse Gaussian distribution.

    Parameters
    ----------
    alpha, beta, delta, mu : array_like
        As for `generalized_hyperbolic`.

    Raises
    ------
    ValueError
        When called with parameters out of the domain. The methods, which give NaN there, are those of `Family`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.nig(1.5, 0.3, 1.0).ppf(0.99).round(6))
    2.630917
    """

    name, names = "nig", ("alpha", "beta", "delta", "mu")

    def _general(self, alpha, beta, delta, mu):
        """The generalised hyperbolic distribution with lam = -1/2."""
        return -0.5, alpha, beta, delta, mu


class VarianceGamma(GeneralizedHyperbolic):
    """Variance gamma distribution: density like |x - mu|^v K_v(alpha |x - mu|) exp(beta (x - mu)), v = lam - 1/2.

    Parameters
    ----------
    lam : array_like
        Shape, > 0; at most 1/2 the density is infinite at mu, and next to mu an error of the mass (the Bessel function is good to
        3e-14) becomes one of x - mu that is 1/(2 lam) times as large. A table needs lam > 0.005. Densities of a large lam lose
        digits to cancellation between their factors: errors of 6e-12 were seen near 750, 9e-9 at 1e6.
    alpha, beta, mu : array_like
        As for `generalized_hyperbolic`.

    Raises
    ------
    ValueError
        When called with parameters out of the domain. The methods, which give NaN there, are those of `Family`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.variance_gamma(1.0, 1.5, 0.3).ppf(0.99).round(6))
    3.411954
    """

    name, names = "variance_gamma", ("lam", "alpha", "beta", "mu")

    def _general(self, lam, alpha, beta, mu):
        """The generalised hyperbolic distribution with delta = 0."""
        return lam, alpha, beta, 0.0, mu

    def _problem(self, lam, alpha, beta, delta, mu):
        """What is wrong with the parameters."""
        return super()._problem(lam, alpha, beta, 1.0, mu) if lam > 0 else f"lam={lam!r} must be > 0"

    def _in_domain(self, delta):
        """`delta`, which is 0."""
        return delta


generalized_hyperbolic, hyperbolic = GeneralizedHyperbolic(), Hyperbolic()
nig, variance_gamma = NormalInverseGaussian(), VarianceGamma()
