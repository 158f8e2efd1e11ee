"""Student's t, hyperbolic, generalised hyperbolic, normal inverse Gaussian and variance gamma laws.

Every law is an object: ``law.pdf(x, *params)`` and the like broadcast over their parameters and give NaN out of the domain;
``law(*params)`` is the law with its parameters fixed, a `Recycler` with `pdf`, `cdf` and the rest, and raises ValueError.
"""

from __future__ import annotations

import functools
import math
import threading

import numpy as np

import numbastats.random as random
from numbastats._core.broadcast import refuse_mask, size_to_shape
from numbastats._core.dispatch import (
    _device_kind,
    as_double,
    choose_device,
    deliver,
    elementwise,
    first_array,
    in_float32,
    in_kind_of,
    to_host,
)
from numbastats._core.parallel import check_workers
from numbastats.distributions import moments
from numbastats.quantile import kernels
from numbastats.quantile.estimator import EXACT32, Recycler, float_type
from numbastats.quantile.panels import Masses, side_rows
from numbastats.scalar.tables import SIDE_COLUMNS

__all__ = [
    "FrozenLaw", "Law", "generalized_hyperbolic", "hyperbolic", "nig", "student_t", "variance_gamma",
]  # fmt: skip

_SCALE = 830  # densities carry 2^830 where tails go down to 1e-320 of the peak
_FEWEST = 1e-60  # degrees of freedom; below, all but 1e-57 of the mass is outside the doubles
_NORMAL = 1e100  # degrees of freedom; from there on doubles do not tell the law from the normal one
_MEMORY = 1 << 26  # bytes of tables that a law keeps: 240 of 270 KiB, fewer of steep laws
_BATCH = 64  # tables in memory at a time when a function is called with many sets of parameters


class _Student:
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
            body = _times_exp(near, -0.5 * (n + 1) * np.log1p(near**2), _SCALE)
        far = q > 1e8
        if far.any():
            body[far] = (2.0**200 * (s[far] * 2.0**-self.shift / self.root) ** -n) * (
                2.0 ** (_SCALE - 200) * 2.0 ** -(n * self.shift)
            )
        return self.root * body


class _Hyperbolic:
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
        self.lift = 300 if delta > 0 or self.order > -0.4 else 0  # the density of such a law overflows next to its pole
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
        """By how much the exponent is below its largest value."""
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
        from scipy.special import k0e, k1e, kve

        v, z = self.order, self.alpha * g
        order = abs(v)
        if order == 0.5:
            return (g / self.length) ** (v - 0.5)
        k = k0e(z) if order == 0 else k1e(z) if order == 1 else kve(order, z)
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
                return _times_exp(self._body(g), exponent, self.lift + 1 - math.frexp(self.unit)[1])
            return np.exp(self._log_body(g) + exponent + self.lift * math.log(2)) / self.unit


def _times_exp(body, exponent, lift):
    """Body times e^exponent times 2^lift, which is room for the tails; through the logarithm where e^exponent underflows."""
    product = body * 2.0**lift * np.exp(exponent)  # no underflow before the lift
    deep = exponent < -600
    if deep.any():
        # a body beyond the doubles belongs to an exponent that is far smaller
        product[deep] = np.exp((exponent[deep] + lift * math.log(2)) + np.log(np.minimum(body[deep], 1e308)))
    return product


def _gh_scale(lam, alpha, beta, delta):
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    if lam < -1:
        return delta / math.sqrt(math.hypot(lam, delta * gamma) - lam)
    return math.sqrt(max(delta * gamma, 0.0) + 2 * max(lam, 0.0) + 1e-3) / gamma


def _mixing_mode(lam, gamma, delta):
    """Where the law of log w has its mode, w the variance with density like w^(lam - 1) exp(-(delta^2/w + gamma^2 w)/2)."""
    both = math.hypot(lam, delta * gamma) + abs(lam)
    return both / gamma / gamma if lam > 0 else delta * (delta / both)


def _log_share_below(lam, alpha, beta, gamma, delta):
    """Logarithm of E exp(-beta^2 w/2), which bounds the mass on the lighter side of mu."""
    if not delta:
        return 2 * lam * math.log(gamma / alpha)
    z = delta * np.array([alpha, gamma])
    above, below = elementwise(lambda d: kernels.LOG_KVE, ("order", "z"), (np.full(2, lam), z), device="cpu")
    return lam * math.log(gamma / alpha) + above - below - delta * beta * (beta / (alpha + gamma))


def _bad_gh(lam, alpha, beta, delta, mu):
    if not all(map(math.isfinite, (lam, alpha, beta, delta, mu))):
        return "all parameters must be finite"
    if not alpha > 0 or not abs(beta) < alpha:
        return f"alpha={alpha!r} and beta={beta!r} must satisfy |beta| < alpha"
    if not delta > 0:
        return f"delta={delta!r} must be > 0"
    return None


def _bad_vg(lam, alpha, beta, delta, mu):
    if not lam > 0:
        return f"lam={lam!r} must be > 0"
    return _bad_gh(lam, alpha, beta, 1.0, mu)


def _bad_student(nu):
    return None if nu > 0 and math.isfinite(nu) else f"nu={nu!r} must be finite and > 0"


def _describe_student(nu):
    if nu < _FEWEST:
        raise ValueError(f"distribution functions and tables need nu >= {_FEWEST!r}")
    return _Student(min(nu, _NORMAL)), dict(symmetric=True, scale=1.0)


def _describe_gh(lam, alpha, beta, delta, mu):
    """Density and options of the masses, at mu = 0.

    The anchor is mu, where x crosses 0, and the end of the law where less than 1e-290 of the mass is beyond. A narrow law well
    away from mu has its anchor in the bulk, where x is about beta w, w the variance of the normal mixture.
    """
    if not 1e-140 <= alpha <= 1e140 or delta and not 1e-30 <= alpha * delta <= 1e30:
        raise ValueError("distribution functions and tables need 1e-140 <= alpha <= 1e140 and 1e-30 <= alpha delta <= 1e30")
    singular = 2 * lam - 1 if delta == 0 and lam < 0.5 else None
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    anchor, support, scale = 0.0, (-math.inf, math.inf), _gh_scale(lam, alpha, beta, delta)
    spread = math.hypot(lam, delta * gamma)  # of log w, by its inverse square
    if _log_share_below(lam, alpha, beta, gamma, delta) < (-668 if spread < 60 else -60):
        place = beta * _mixing_mode(lam, gamma, delta)
        if spread < 60:
            support, scale = (0.0, math.inf) if beta > 0 else (-math.inf, 0.0), abs(place)
        else:
            anchor, scale = place, max(scale, abs(place) / math.sqrt(1 + spread))
    density = _Hyperbolic(lam, alpha, beta, delta, scale)
    return density, dict(
        anchor=anchor, support=support, symmetric=beta == 0, scale=scale, singular=singular, ends=(-math.inf, math.inf)
    )  # fmt: skip


class Law:
    """A family of laws: functions of data and parameters, and ``law(*params)`` for fixed ones.

    Parameters
    ----------
    name : str
    names : tuple of str
        Parameter names; those with defaults last.
    defaults : tuple of float
    full : callable
        Maps the parameters to those of the family's general form.
    bad, describe, moments : callable
        Of the general form: None or what is wrong; density and options of the masses; mean and variance.
    doc : str
    """

    def __init__(self, name, names, defaults, full, bad, describe, moments, doc):
        self.__name__, self.names, self.defaults, self._full = name, names, defaults, full
        self._bad, self._describe, self._moments = bad, describe, moments
        self.__doc__ = doc
        self._made, self._lock = {}, threading.Lock()  # tables by sets of parameters

    def __repr__(self):
        return f"<law {self.__name__}({', '.join(self.names)})>"

    def __reduce__(self):
        return self.__name__

    def __call__(self, *params, base=None, accuracy="double", degree=7, tail=None, device=None, workers=None, **named):
        """Fix the parameters.

        Parameters
        ----------
        *params, **named : array_like
            See the law.
        base : optional
            As for `Recycler`; by default "normal" for `student_t`, "uniform" for the others.
        accuracy, degree, tail, device, workers
            As for `Recycler`.

        Returns
        -------
        FrozenLaw

        Raises
        ------
        ValueError
            For parameters out of the domain; in a batch such a set is NaN and ``certificate.ok`` is False there.
        """
        if base is None:
            base = "normal" if self is student_t else "uniform"
        return FrozenLaw(self, self._bind(params, named), base, accuracy, degree, tail, device, workers)

    def _bind(self, params, named):
        """All parameters by position, defaults filled in."""
        values = dict(zip(self.names, params, strict=False))
        if len(params) > len(self.names) or set(named) - set(self.names) or set(named) & set(values):
            raise TypeError(
                f"{self.__name__} takes {', '.join(self.names)}; got {len(params)} values by position and {sorted(named)} by name"
            )
        values |= named
        required = len(self.names) - len(self.defaults)
        values |= {n: d for n, d in zip(self.names[required:], self.defaults, strict=True) if n not in values}
        missing = [n for n in self.names if n not in values]
        if missing:
            raise TypeError(f"{self.__name__} misses {', '.join(missing)}; it takes {', '.join(self.names)}")
        for value in values.values():
            refuse_mask(value)
        return tuple(values[n] for n in self.names)

    def _named(self, values, error):
        """The same error with the parameters it is about."""
        listed = ", ".join(f"{n}={float(v)!r}" for n, v in zip(self.names, values, strict=True))
        return ValueError(f"{self.__name__}({listed}): {error}")

    def _one(self, *params):
        """Density and options of one set of parameters; ValueError out of the domain."""
        general = self._full(*(float(p) for p in params))
        problem = self._bad(*general)
        if problem:
            raise ValueError(problem)
        return self._describe(*general)

    # -- density ------------------------------------------------------------------------------------------------

    def _density(self, kind, x, params, out, dtype, device, workers, stream):
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        if self is student_t:
            return elementwise(lambda d: kernels.STUDENT[kind], ("x", "nu"), (x, *params), cost=3.0, **options)
        lam, alpha, beta, delta, mu = self._full(*(_as_float(p) for p in params))
        # a law out of its domain has a NaN norm
        shape = np.broadcast_shapes(*(np.shape(p) for p in (lam, alpha, beta, delta)))
        general = [np.broadcast_to(np.asarray(to_host(p, "a parameter"), np.float64), shape) for p in (lam, alpha, beta, delta)]
        if self is not variance_gamma:
            general[3] = np.where(general[3] > 0, general[3], math.nan)
        norm = elementwise(
            lambda d: kernels.GH_NORM, ("lam", "alpha", "beta", "delta"), [np.atleast_1d(g) for g in general],
            dtype=np.float64, device="cpu", workers=1,
        ).reshape(shape)  # fmt: skip
        names, values = ("x", "lam", "alpha", "beta", "delta", "mu", "norm"), (x, lam, alpha, beta, delta, mu, norm[()])
        options["dtype"] = float_type((x, *params), dtype)
        return elementwise(lambda d: kernels.GH[kind], names, values, cost=600.0, **options)

    def pdf(self, x, *params, out=None, dtype=None, device=None, workers=None, stream=None, **named):
        """Density at x.

        Parameters
        ----------
        x : array_like
        *params, **named : array_like
            See the law; broadcast against `x`.
        out, dtype, device, workers, stream
            As in `numbastats.quantile.ndtri`.

        Returns
        -------
        array or scalar
            NaN out of the domain. In float32 the tails have errors to 200 ulp; ``dtype="float64"`` has not.
        """
        return self._density("pdf", x, self._bind(params, named), out, dtype, device, workers, stream)

    def logpdf(self, x, *params, out=None, dtype=None, device=None, workers=None, stream=None, **named):
        """Logarithm of the density at x; does not underflow.

        Parameters
        ----------
        x : array_like
        *params, **named, out, dtype, device, workers, stream
            As in `pdf`.

        Returns
        -------
        array or scalar
        """
        return self._density("logpdf", x, self._bind(params, named), out, dtype, device, workers, stream)

    # -- distribution function -----------------------------------------------------------------------------------

    @np.errstate(under="ignore", over="ignore")  # tails underflow; in float32 the last panel may begin beyond the range
    def _distribution(self, x, params, upper, out, dtype, device, workers, stream):
        dtype = float_type((x, *params), dtype)
        x, like = _in_one_kind(x, params, dtype)
        sets, index = _sets(params)
        if self is student_t and len(sets) > _BATCH:
            choose_device(device, on_device=bool(_device_kind(like)))
            check_workers(workers)
            result = _student_probability(to_host(x, "x"), np.array(sets)[index, 0], upper).astype(dtype)
            return deliver(in_kind_of(result, like), out, dtype)
        parts = [_panels(self, values) for values in sets]
        first = np.cumsum([0, *(len(rows) for rows, _ in parts)])[:-1]
        header = np.array([numbers for _, numbers in parts]).reshape(-1, 6) + first[:, None] * [0, 0, 0, 0, 1, 1]
        header = header[index]
        table = np.concatenate([rows for rows, _ in parts]) if parts else np.zeros((0, SIDE_COLUMNS))
        wide = dtype == np.float32 and not _fits_float32(table)
        result = elementwise(
            lambda d: kernels.DISTRIBUTION, ("x", *["the parameters"] * 6),
            (as_double(x, stream) if wide else x, *(header[..., i][()] for i in range(6))),
            extras=lambda where, d: (np.int64(upper), table.astype(d)),
            out=None if wide else out, dtype=np.dtype(np.float64) if wide else dtype, device=device, workers=workers,
            stream=stream, cost=60.0,
        )  # fmt: skip
        return in_float32(result, out, stream) if wide else result

    def cdf(self, x, *params, out=None, dtype=None, device=None, workers=None, stream=None, **named):
        """Distribution function at x, with relative accuracy in the lower tail, from masses of the density that are kept.

        Parameters
        ----------
        x : array_like
        *params, **named : array_like
            See the law; broadcast against `x`.
        out, dtype, device, workers, stream
            As in `numbastats.quantile.ndtri`.

        Returns
        -------
        array or scalar
            NaN out of the domain. Tails below about 1e-290 are 0 (Student's t: below 1e-305). In float32 the tails have errors
            to 200 ulp; ``dtype="float64"`` has not. More than 64 different nu of Student's t at once go through SciPy.

        Raises
        ------
        ValueError
            Where the parameters are too extreme for the masses of the density; the message has them.
        """
        return self._distribution(x, self._bind(params, named), False, out, dtype, device, workers, stream)

    def sf(self, x, *params, out=None, dtype=None, device=None, workers=None, stream=None, **named):
        """Upper tail probability at x, with relative accuracy in the upper tail.

        Parameters
        ----------
        x : array_like
        *params, **named, out, dtype, device, workers, stream
            As in `cdf`.

        Returns
        -------
        array or scalar
        """
        return self._distribution(x, self._bind(params, named), True, out, dtype, device, workers, stream)

    # -- quantile -----------------------------------------------------------------------------------------------

    def _build(self, sets):
        """One batch of tables."""
        made = FrozenLaw(self, tuple(np.array(c) for c in zip(*sets, strict=True)), quiet=True)
        for values, ok in zip(sets, made.certificate.ok, strict=True):
            if not ok and not self._bad(*self._full(*values)):
                FrozenLaw(self, values)  # raises, and says why there is no table
        return made

    def _tables(self, sets):
        """The tables of some sets of parameters, which are kept up to `_MEMORY`."""
        made = self._made.get(sets)
        if made is None:
            made = self._build(sets)
            with self._lock:
                self._made[sets] = made
                held = sum(table.nbytes for table in self._made.values())
                while held > _MEMORY and len(self._made) > 1:
                    held -= self._made.pop(next(iter(self._made))).nbytes
        return made

    def _quantile(self, method, u, params, out, dtype, device, workers):
        dtype = float_type((u, *params), dtype)
        u, like = _in_one_kind(u, params, dtype)
        sets, index = _sets(params)
        options = dict(dtype=dtype, device=device, workers=workers)
        if 0 < len(sets) <= _BATCH:
            return getattr(self._tables(tuple(sets))._select(index), method)(u, out=out, **options)
        check_workers(workers)
        chosen = choose_device(device, on_device=bool(_device_kind(like)))
        if _device_kind(like):
            options["device"] = chosen
        u = np.asarray(to_host(u, "u"))
        shape = np.broadcast_shapes(u.shape, index.shape)
        u, index, result = np.broadcast_to(u, shape), np.broadcast_to(index, shape), np.empty(shape, dtype)
        if self is student_t and sets:
            result[...] = _student_quantile(u, np.array(sets)[index, 0], method == "isf")
            return deliver(in_kind_of(result, like), out, dtype)
        for first in range(0, len(sets), _BATCH):
            use = (index >= first) & (index < first + _BATCH)
            table = self._build(tuple(sets[first : first + _BATCH]))
            result[use] = getattr(table._select(index[use] - first), method)(u[use], **options)
        return deliver(in_kind_of(result, like), out, dtype)

    def ppf(self, u, *params, out=None, dtype=None, device=None, workers=None, **named):
        """Quantile at lower tail probability u, from tables that are built as needed (5 ms each) and kept.

        Parameters
        ----------
        u : array_like
        *params, **named : array_like
            See the law; broadcast against `u`.
        out, dtype, device, workers
            As in `numbastats.quantile.ndtri`.

        Returns
        -------
        array or scalar
            NaN out of the domain, and for tail probabilities other than 0 below 2^-66 of a side. More than 64 different nu of
            Student's t at once go through SciPy, which gives smaller tail probabilities too.

        Raises
        ------
        ValueError
            Where the parameters are too extreme for a table; the message has them.
        """
        return self._quantile("ppf", u, self._bind(params, named), out, dtype, device, workers)

    def isf(self, p, *params, out=None, dtype=None, device=None, workers=None, **named):
        """Quantile at upper tail probability p.

        Parameters
        ----------
        p : array_like
        *params, **named, out, dtype, device, workers
            As in `ppf`.

        Returns
        -------
        array or scalar
        """
        return self._quantile("isf", p, self._bind(params, named), out, dtype, device, workers)

    def rvs(self, *params, size=None, rng=None, dtype=None, device=None, workers=None, **named):
        """Random variates by inversion.

        Parameters
        ----------
        *params, **named : array_like
            See the law.
        size : int or tuple of int, optional
            By default the shape of the parameters; a keyword, as the last parameters of a law may be left out.
        rng, dtype, device, workers
            As in `numbastats.random.uniform`.

        Returns
        -------
        array or scalar
        """
        params = self._bind(params, named)
        shape = size_to_shape(size, [np.shape(p) for p in params])
        u = random.uniform(0.0, 1.0, shape, rng=rng, dtype=dtype, device=device, workers=workers)
        x = self._quantile("ppf", u, params, None, dtype, device, workers)
        return x[()]

    # -- moments ------------------------------------------------------------------------------------------------

    def _moment(self, which, params, named):
        sets, index = _sets(self._bind(params, named))
        found = np.empty(len(sets))
        for i, values in enumerate(sets):
            general = self._full(*values)
            try:
                found[i] = math.nan if self._bad(*general) else self._moments(*general)[which]
            except ValueError as error:
                raise self._named(values, error) from None
        return found[index][()]

    def mean(self, *params, **named):
        """Mean, with a relative error of 1e-14 where mu is 0.

        Parameters
        ----------
        *params, **named : array_like
            See the law.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain and where there is no mean: Student's t with nu <= 1.

        Raises
        ------
        ValueError
            Where sqrt(alpha^2 - beta^2) delta is below 1e-70, or alpha^2 overflows, for laws with a delta.
        """
        return self._moment(0, params, named)

    def var(self, *params, **named):
        """Variance, with a relative error of 1e-14.

        Parameters
        ----------
        *params, **named : array_like
            See the law.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain and where there is no mean; inf for Student's t with 1 < nu <= 2.

        Raises
        ------
        ValueError
            As `mean`.
        """
        return self._moment(1, params, named)

    def std(self, *params, **named):
        """Standard deviation: the root of `var`.

        Parameters
        ----------
        *params, **named : array_like
            See the law.

        Returns
        -------
        float64 array or scalar
        """
        return np.sqrt(self.var(*params, **named))

    def median(self, *params, **named):
        """The quantile at 1/2.

        Parameters
        ----------
        *params, **named : array_like
            See the law.

        Returns
        -------
        array or scalar
        """
        return self.ppf(0.5, *params, **named)


class FrozenLaw(Recycler):
    """A law with its parameters fixed: `Recycler` with exact densities and distribution functions.

    Made by calling a law, for example ``student_t(4.0)``.
    """

    _scans = False  # these densities have no features that the panels miss

    def __init__(
        self, law, params, base="uniform", accuracy="double", degree=7, tail=None, device=None, workers=None, quiet=False
    ):
        if not isinstance(law, Law):
            raise TypeError(f"law is a {type(law).__name__}; call a law with its parameters, such as student_t(4.0)")
        self.law = law
        self._quiet = quiet
        self._cdf = None
        shift = params[law.names.index("mu")] if "mu" in law.names else None
        if shift is not None:
            shift = np.broadcast_to(shift, np.broadcast_shapes(*(np.shape(p) for p in params)))
        self._build(law._one, params, base, tail, accuracy, degree, device, workers, shift)
        self.norm_const = np.where(self.certificate.ok, 1.0, math.nan)[()]  # the table's own density has a factor

    def _make(self, describe, values):
        try:
            return super()._make(describe, values)
        except ValueError as error:
            raise self.law._named(values, error) from None

    def __repr__(self):
        values = ", ".join(f"{n}={p}" for n, p in zip(self.law.names, self.params, strict=True))
        return f"{self.law.__name__}({values})"

    def pdf(self, x, **options):
        """Density at x; see `Law.pdf`.

        Parameters
        ----------
        x : array_like
        **options
            out, dtype, device, workers, stream.

        Returns
        -------
        array or scalar
        """
        return self._of_law(self.law.pdf, x, options)

    def logpdf(self, x, **options):
        """Logarithm of the density at x; see `Law.logpdf`.

        Parameters
        ----------
        x : array_like
        **options
            out, dtype, device, workers, stream.

        Returns
        -------
        array or scalar
        """
        return self._of_law(self.law.logpdf, x, options)

    def cdf(self, x, **options):
        """Distribution function at x; see `Law.cdf`.

        Parameters
        ----------
        x : array_like
        **options
            out, dtype, device, workers, stream.

        Returns
        -------
        array or scalar
        """
        return self._of_law(self.law.cdf, x, options)

    def sf(self, x, **options):
        """Upper tail probability at x; see `Law.sf`.

        Parameters
        ----------
        x : array_like
        **options
            out, dtype, device, workers, stream.

        Returns
        -------
        array or scalar
        """
        return self._of_law(self.law.sf, x, options)

    def mean(self):
        """Mean; see `Law.mean`."""
        return self.law.mean(*self.params)

    def var(self):
        """Variance; see `Law.var`."""
        return self.law.var(*self.params)

    def std(self):
        """Standard deviation."""
        return self.law.std(*self.params)

    def median(self):
        """The quantile at 1/2."""
        return self.ppf(0.5)

    def _of_law(self, function, x, options):
        values = tuple(float(p) if p.ndim == 0 else p for p in self.params)
        kept = {name: getattr(self, name) for name in ("device", "workers") if options.get(name) is None}
        return function(x, *values, **options | kept | {"dtype": float_type((x,), options.get("dtype"), self._param_dtype)})


def _in_one_kind(x, params, dtype):
    """Data as the kind of array that results will be, which the parameters may decide; and an array of that kind or None."""
    like = first_array((x, *params))
    if like is None or type(x) is type(like) and _device_kind(x) == _device_kind(like):
        return x, like
    return in_kind_of(np.array(to_host(x, "an argument"), dtype), like), like


def _sets(params):
    """The different sets of parameters, and which of them belongs to each element of their broadcast shape."""
    arrays = [np.asarray(to_host(p, "a parameter"), np.float64) for p in params]
    if all(a.size == 1 for a in arrays):
        return [tuple(a.item() for a in arrays)], np.zeros(np.broadcast_shapes(*(a.shape for a in arrays)), np.int64)
    arrays = np.broadcast_arrays(*arrays)
    sets, index = np.unique(np.stack([a.ravel() for a in arrays], axis=1), axis=0, return_inverse=True)
    return list(map(tuple, sets.tolist())), index.reshape(arrays[0].shape)


def _as_float(p):
    return p if hasattr(p, "dtype") else np.asarray(p, dtype=np.float64)[()]


def _far_factor(nu):
    """C of the tail C (|t|/sqrt(nu))^-nu of Student's law, to 1e-18 from |t| = 1e9 sqrt(nu) on."""
    from scipy.special import gammaln

    return np.exp(gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu + 1.0)) / (2.0 * math.sqrt(math.pi))


def _student_tail(t, nu):
    """Lower tail probability at t <= 0 through SciPy, far out by its power, as the square of t may leave the doubles."""
    from scipy.special import stdtr

    q = -t / np.sqrt(nu)
    with np.errstate(under="ignore"):
        return np.where(q > 1e9, _far_factor(nu) * np.maximum(q, 1.0) ** -nu, stdtr(nu, t))


def _student_probability(x, nu, upper):
    """Distribution function or upper tail where there are so many nu that masses of each would take long."""
    x, nu = np.asarray(x, np.float64), _degrees(nu)
    tail = _student_tail(-np.abs(x), nu)
    return np.where((x > 0.0) != upper, 1.0 - tail, tail)


def _student_quantile(u, nu, upper):
    """Quantiles where there are so many nu that tables would take long: SciPy's, after a Newton step.

    The step goes by the mass between 0 and the quantile below sqrt(nu): next to 0 tails have none of its digits.
    """
    from scipy.special import betainc, stdtrit

    u, nu = np.asarray(u, np.float64), _degrees(nu)
    p = np.where(u > 0.5, 1.0 - u, u)
    p = np.where(p >= 0.0, p, math.nan)
    with np.errstate(all="ignore"):
        x = np.minimum(stdtrit(nu, p), 0.0)  # some versions end beyond 0 next to the median
        inner = 0.5 * betainc(0.5, 0.5 * nu, x * x / (nu + x * x))
        excess = np.where((p > 0.25) & (x * x < nu), (0.5 - p) - inner, _student_tail(x, nu) - p)
        near = x - excess / student_t.pdf(x, nu, device="cpu", workers=1)
        far = (_far_factor(nu) / p) ** (1.0 / nu)
        x = np.where(far > 1e9, -np.sqrt(nu) * far, near)
    x = np.where((p == 0.0) | ~(x < -1e305), x, math.nan)
    return np.where((u > 0.5) != upper, 0.0 - x, x)


def _degrees(nu):
    """Degrees of freedom as tables take them: at most `_NORMAL`, NaN out of the domain; ValueError for too few."""
    least = np.min(nu, where=nu > 0.0, initial=math.inf)
    try:
        _describe_student(least)
    except ValueError as error:
        raise student_t._named((least,), error) from None
    return np.where((nu > 0.0) & (nu < math.inf), np.minimum(nu, _NORMAL), math.nan)


@functools.lru_cache(maxsize=256)
def _panels(law, values):
    """Panels of one set of parameters for `tail_probability`, and its numbers: mu, anchor, rows on the left and on the right."""
    if law._bad(*law._full(*values)):
        return np.full((1, SIDE_COLUMNS), math.nan), (math.nan, 0.0, 1, 1, 0, 0)
    mu = values[law.names.index("mu")] if "mu" in law.names else 0.0
    try:
        density, options = law._one(*values)
        masses = Masses(density, depth="tail", **options)
    except ValueError as error:
        raise law._named(values, error) from None
    pairs = list(zip(masses.sides, masses.p[::-1], strict=True))[1 if masses.symmetric else 0 :]
    sides = [_NO_SIDE if side is None else side_rows(side, masses.norm, p) for side, p in pairs]
    counts = len(sides[0]), len(sides[-1])
    return np.concatenate(sides), (mu, masses.anchor, *counts, 0, counts[0] if len(sides) > 1 else 0)


def _fits_float32(table):
    """Whether panels keep their places in float32: heavy tails go beyond it, poles and small scales below."""
    with np.errstate(over="ignore"):
        centre = table[:, 1].astype(np.float32)
    return len(table) <= EXACT32 and not ((centre == 0) | np.isinf(centre)).any()


_NO_SIDE = np.zeros((1, SIDE_COLUMNS))  # next to nothing lies there
_NO_SIDE[0, [1, -1]] = 1.0


_COMMON = """
    Call it with its parameters for a `FrozenLaw`; its methods `pdf logpdf cdf sf ppf isf` take data first, then the
    parameters, which broadcast; `rvs mean var std median` the parameters; out of the domain they give NaN.

    Raises
    ------
    ValueError
        When called with parameters out of the domain.
"""

student_t = Law(
    "student_t", ("nu",), (), lambda nu: (nu,), _bad_student, _describe_student, moments.of_student,
    f"""Student's t law.

    Parameters
    ----------
    nu : array_like
        Degrees of freedom, > 0; at least 1e-60 for distribution functions and tables. Quantiles beyond 1e305 are NaN.
    {_COMMON}
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
    """,
)  # fmt: skip

generalized_hyperbolic = Law(
    "generalized_hyperbolic", ("lam", "alpha", "beta", "delta", "mu"), (0.0,), lambda *p: p, _bad_gh, _describe_gh,
    moments.of_normal_mixture,
    f"""Generalised hyperbolic law: density like g^v K_v(alpha g) exp(beta (x - mu)), g^2 = delta^2 + (x - mu)^2, v = lam - 1/2.

    Parameters
    ----------
    lam : array_like
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    delta : array_like
        Scale, > 0.
    mu : array_like, optional
        Location.
    {_COMMON}
    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.generalized_hyperbolic(1.5, 2.0, 0.5, 1.0).ppf(0.99).round(6))
    3.768718
    """,
)  # fmt: skip

hyperbolic = Law(
    "hyperbolic", ("alpha", "beta", "delta", "mu"), (0.0,), lambda a, b, d, m: (1.0, a, b, d, m), _bad_gh, _describe_gh,
    moments.of_normal_mixture,
    f"""Hyperbolic law: density like exp(-alpha sqrt(delta^2 + (x - mu)^2) + beta (x - mu)).

    Parameters
    ----------
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    delta : array_like
        Scale, > 0.
    mu : array_like, optional
        Location.
    {_COMMON}
    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.hyperbolic(1.5, 0.3, 1.0).ppf(0.99).round(6))
    3.992358
    """,
)  # fmt: skip

nig = Law(
    "nig", ("alpha", "beta", "delta", "mu"), (0.0,), lambda a, b, d, m: (-0.5, a, b, d, m), _bad_gh, _describe_gh,
    moments.of_normal_mixture,
    f"""Normal inverse Gaussian law.

    Parameters
    ----------
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    delta : array_like
        Scale, > 0.
    mu : array_like, optional
        Location.
    {_COMMON}
    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.nig(1.5, 0.3, 1.0).ppf(0.99).round(6))
    2.630917
    """,
)  # fmt: skip

variance_gamma = Law(
    "variance_gamma", ("lam", "alpha", "beta", "mu"), (0.0,), lambda k, a, b, m: (k, a, b, 0.0, m), _bad_vg, _describe_gh,
    moments.of_normal_mixture,
    f"""Variance gamma law: density like |x - mu|^v K_v(alpha |x - mu|) exp(beta (x - mu)), v = lam - 1/2.

    Parameters
    ----------
    lam : array_like
        Shape, > 0; at most 1/2 the density is infinite at mu, and next to mu an error of the mass (the Bessel function is good to
        3e-14) becomes one of x - mu that is 1/(2 lam) times as large. A table needs lam > 0.005. Densities of a large lam lose
        digits to cancellation between their factors: errors of 6e-12 were seen near 750, 9e-9 at 1e6.
    alpha, beta : array_like
        Tail parameters, |beta| < alpha.
    mu : array_like, optional
        Location.
    {_COMMON}
    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.quantile.variance_gamma(1.0, 1.5, 0.3).ppf(0.99).round(6))
    3.411954
    """,
)  # fmt: skip
