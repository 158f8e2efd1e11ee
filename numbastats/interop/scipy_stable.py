"""`levy_stable`: the call signatures of `scipy.stats.levy_stable` on top of `numbastats.stable`. Needs no SciPy."""

from __future__ import annotations

import math

import numpy as np

import numbastats.stable as stable
from numbastats._core.checks import choice

__all__ = ["expectation", "levy_stable"]


class _LevyStable:
    """Stands in for `scipy.stats.levy_stable`: same names, argument order and default parameterisation ("S1").

    Set ``parameterization`` to "S0" as in SciPy. ``levy_stable(alpha, beta, loc, scale)`` freezes them. Of SciPy's methods
    `fit_loc_scale` is missing.

    Examples
    --------
    >>> from numbastats.interop import levy_stable
    >>> float(levy_stable.pdf(1.0, 1.0, 0.0).round(6))
    0.159155
    """

    name, shapes, numargs = "levy_stable", "alpha, beta", 2

    def __init__(self, parameterization="S1", fixed=None):
        self.parameterization = parameterization
        self._fixed = fixed

    def __repr__(self) -> str:
        if self._fixed is None:
            return f"levy_stable, parameterization {self.parameterization!r} (numbastats.interop)"
        return (
            f"levy_stable({', '.join(map(repr, self._fixed))}), parameterization {self.parameterization!r} (numbastats.interop)"
        )

    @property
    def args(self) -> tuple:
        """Parameters of a frozen distribution: alpha, beta, loc, scale; without these there are none."""
        return () if self._fixed is None else tuple(self._fixed)

    @property
    def parameterization(self):
        """Either "S0" or "S1"."""
        return self._parameterization

    @parameterization.setter
    def parameterization(self, value):
        self._parameterization = choice("parameterization", value, ("S0", "S1"))

    def __call__(self, alpha, beta, loc=0, scale=1):
        return _LevyStable(self.parameterization, (alpha, beta, loc, scale))

    freeze = __call__

    def _parameters(self, args, kwds):
        if self._fixed is not None:
            if args or kwds:
                raise TypeError(
                    "the parameters of a frozen distribution are fixed; call the methods of levy_stable to give others"
                )
            return self._fixed
        names = ("alpha", "beta", "loc", "scale")
        if len(args) > 4 or set(kwds) - set(names[len(args) :]):
            raise TypeError(f"got {args} and {sorted(kwds)}; the parameters are alpha, beta, loc=0, scale=1")
        given = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwds}
        if "alpha" not in given or "beta" not in given:
            raise TypeError("alpha and beta are missing; call for example levy_stable.pdf(x, alpha, beta, loc=0, scale=1)")
        return tuple(given[name] for name in names)

    def _at(self, function, x, args, kwds):
        return function(x, *self._parameters(args, kwds), param=self.parameterization)

    def pdf(self, x, *args, **kwds):
        """Density."""
        return self._at(stable.pdf, x, args, kwds)

    def logpdf(self, x, *args, **kwds):
        """Logarithm of the density."""
        return self._at(stable.logpdf, x, args, kwds)

    def cdf(self, x, *args, **kwds):
        """Distribution function."""
        return self._at(stable.cdf, x, args, kwds)

    def logcdf(self, x, *args, **kwds):
        """Logarithm of the distribution function."""
        return self._at(stable.logcdf, x, args, kwds)

    def sf(self, x, *args, **kwds):
        """Survival function."""
        return self._at(stable.sf, x, args, kwds)

    def logsf(self, x, *args, **kwds):
        """Logarithm of the survival function."""
        return self._at(stable.logsf, x, args, kwds)

    def ppf(self, q, *args, **kwds):
        """Quantile."""
        return self._at(stable.ppf, q, args, kwds)

    def isf(self, q, *args, **kwds):
        """Inverse of the survival function."""
        return self._at(stable.isf, q, args, kwds)

    def rvs(self, *args, size=None, random_state=None, **kwds):
        """Draws; `random_state` is what `rng` is to `numbastats.stable.rvs`. Without `size` they have the parameters' shape.

        Of a `numpy.random.RandomState` one integer is drawn, which is then the seed.
        """
        known = 0 if self._fixed is not None else 4
        if len(args) > known:  # as in SciPy, size may follow the parameters, and random_state the size of a frozen distribution
            args, size, *rest = args[:known], *args[known:]  # type: ignore[misc]
            random_state = rest[0] if rest else random_state
        if hasattr(random_state, "randint"):
            random_state = int(random_state.randint(2**31 - 1))
        return stable.rvs(*self._parameters(args, kwds), size, rng=random_state, param=self.parameterization)

    def fit(self, data, *start, **kwds):
        """(alpha, beta, loc, scale) by maximum likelihood, with the keywords of SciPy's continuous distributions.

        ``falpha f0 fix_alpha``, ``fbeta f1 fix_beta``, `floc` and `fscale` hold values that are known. Start values (alpha and
        beta by position, loc, scale) are not needed, and not used.
        """
        known = {}
        for names in (
            ("alpha", "falpha", "f0", "fix_alpha"),
            ("beta", "fbeta", "f1", "fix_beta"),
            ("loc", "floc"),
            ("scale", "fscale"),
        ):
            given = [kwds.pop(name) for name in names[1:] if kwds.get(name) is not None]
            if len(given) > 1:
                raise TypeError(f"fit got several values for {names[0]}; give one of {', '.join(names[1:])}")
            known |= dict(zip(names, given, strict=False))
        choice("method", kwds.pop("method", "MLE"), ("MLE", "mle"))
        unknown = {name for name, value in kwds.items() if value is not None} - {"loc", "scale", "optimizer"}
        if len(start) > 2 or unknown:
            raise TypeError(
                f"fit got {len(start)} start values and {sorted(unknown)}; it takes alpha and beta by position, and the keywords "
                "loc, scale, method, falpha (f0, fix_alpha), fbeta (f1, fix_beta), floc, fscale"
            )
        return tuple(stable.fit(data, fixed=known, param=self.parameterization).params)

    def _dist(self, args, kwds):
        return stable.Stable(*self._parameters(args, kwds), param=self.parameterization)

    def _of_frozen(self, function, args, kwds):
        """A number for every distribution of the parameters' shape; NaN out of the domain."""

        def one(*parameters):
            try:
                return function(stable.Stable(*parameters, param=self.parameterization))
            except ValueError:
                return math.nan

        parameters = self._parameters(args, kwds)
        return np.asarray(np.frompyfunc(one, len(parameters), 1)(*parameters), np.float64)[()]

    def support(self, *args, **kwds):
        """Ends of the support."""
        return self._dist(args, kwds).support()

    def median(self, *args, **kwds):
        """Quantile at 1/2."""
        return self.ppf(0.5, *args, **kwds)

    def mean(self, *args, **kwds):
        """Mean; as `var`, `std` and `entropy` for parameters of any shape, NaN out of the domain."""
        return self._of_frozen(stable.Stable.mean, args, kwds)

    def var(self, *args, **kwds):
        """Variance."""
        return self._of_frozen(stable.Stable.var, args, kwds)

    def std(self, *args, **kwds):
        """Standard deviation."""
        return self._of_frozen(stable.Stable.std, args, kwds)

    def moment(self, order, *args, **kwds):
        """Moment about 0 of a whole order; infinite or NaN from 2 on, but for alpha = 2."""
        if order != int(order) or order < 0:
            raise ValueError(f"order={order!r} must be a whole number >= 0")
        return self._of_frozen(lambda dist: _moment(dist, int(order)), args, kwds)

    def entropy(self, *args, **kwds):
        """Differential entropy, to 1e-12, 3e-11 at alpha = 0.1."""
        return self._of_frozen(stable.Stable.entropy, args, kwds)

    def expect(self, func=None, *args, **kwds):
        """Integral of ``func(x) pdf(x)`` from `lb` to `ub` by `scipy.integrate.quad`, which takes the other keywords.

        Without `func` that of x. It is followed by ``args=(alpha, beta), loc=0, scale=1``, which a frozen one does without, and
        ``lb=None, ub=None, conditional=False``. ``conditional=True`` divides by the probability of the interval.
        """
        return (self._expect if self._fixed is None else self._expect_fixed)(func, *args, **kwds)

    def _expect(self, func, args=(), loc=0, scale=1, lb=None, ub=None, conditional=False, **kwds):
        return expectation(self._dist((*args, loc, scale), {}), func, lb, ub, conditional, kwds)

    def _expect_fixed(self, func, lb=None, ub=None, conditional=False, **kwds):
        return expectation(self._dist((), {}), func, lb, ub, conditional, kwds)

    def stats(self, *args, moments="mv", **kwds):
        """Mean, variance, skewness and excess kurtosis, as asked for; the last two are 0 for alpha = 2, else NaN."""
        if self._fixed is not None and args:  # of a frozen distribution `moments` comes first, as in SciPy
            moments, *args = args
        found = {"m": stable.Stable.mean, "v": stable.Stable.var, "s": stable.Stable.skewness, "k": stable.Stable.kurtosis}
        result = tuple(self._of_frozen(found[choice("moments", m, tuple(found))], args, kwds) for m in moments)
        return result if len(result) > 1 else result[0]

    def interval(self, confidence, *args, **kwds):
        """Interval with equal tails that holds `confidence` of the probability."""
        tail = 0.5 * (1.0 - np.asarray(confidence, dtype=float))
        return self.ppf(tail, *args, **kwds), self.isf(tail, *args, **kwds)

    def nnlf(self, theta, x):
        """Negative log-likelihood at theta = (alpha, beta, loc, scale); inf where these are out of their domain."""
        alpha, beta, _, scale = theta
        if not (0 < alpha <= 2 and abs(beta) <= 1 and scale > 0):
            return math.inf
        return -stable.loglik(x, *theta, param=self.parameterization)


def _moment(dist, order):
    if order == 1:
        return dist.mean()
    if order == 0 or dist.alpha == 2.0:  # a sum over the even powers of the normal variable
        return sum(
            math.comb(order, k) * dist.loc ** (order - k) * dist.scale**k * 2 ** (k // 2) * math.prod(range(1, k, 2))
            for k in range(0, order + 1, 2)
        )
    if order % 2 == 0:
        return math.inf
    return math.copysign(math.inf, dist.beta) if abs(dist.beta) == 1.0 else math.nan


def expectation(dist, func, lb, ub, conditional, options):
    """Integral of a function times a density, piece by piece between quantiles, by `ppf`, `isf`, `pdf` and `support`.

    x is middle + unit sinh s, so that `quad` sees the power laws of tails and functions.
    """
    from scipy.integrate import quad

    low, high = dist.support()
    low, high = float(low if lb is None else max(low, lb)), float(high if ub is None else min(high, ub))
    if not low < high:
        return math.nan if conditional else 0.0
    tails = np.array([1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.25])
    quantiles = [*dist.ppf(tails), dist.ppf(0.5), *dist.isf(tails)[::-1]]
    middle, unit = float(quantiles[tails.size]), float(quantiles[tails.size + 1] - quantiles[tails.size - 1])  # the quartiles'

    def integrand(s):
        x = np.float64(middle + unit * math.sinh(s))
        density = float(dist.pdf(x))
        return (x if func is None else func(x)) * density * (unit * math.cosh(s)) if density > 0.0 else 0.0

    inside = [(float(x) - middle) / unit for x in (low, *(q for q in quantiles if low < q < high), high)]
    edges = [math.asinh(min(max(t, -1e150), 1e150)) for t in inside]
    value = sum(quad(integrand, *piece, **options)[0] for piece in zip(edges, edges[1:], strict=False))
    if not conditional:
        return value
    return value / float(dist.sf(low) - dist.sf(high) if low > middle else dist.cdf(high) - dist.cdf(low))


levy_stable = _LevyStable()
