"""The protocol of distributions of counts: probabilities in the place of densities, sums in that of integrals."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.checks import choice
from numbastats._core.options import ArrayOptions, hands_on
from numbastats.distributions import tables
from numbastats.distributions.kernels.beyond import COUNTS
from numbastats.distributions.kernels.masses import largest_ppf, least_isf
from numbastats.distributions.protocol import Distribution, scipy_family

__all__ = ["Counts"]

_NEGLIGIBLE = 1e-30  # tails beyond which sums end
_MOST = 1e7  # terms of a sum


class _Absent:
    """A method of continuous distributions that counts do not have; the error comes from `Counts.__getattr__`."""

    def __get__(self, instance, owner=None):
        raise AttributeError


class Counts(Distribution):
    """A distribution of counts 0, 1, 2, ..., or a batch of them; it has no location and no scale.

    Methods and options are those of `Distribution`, with `pmf` and `logpmf` in the place of `pdf` and `logpdf`. Functions of x
    take any numbers: `pmf` is 0 where x is no count, `cdf` is P(X <= x). ``ppf(u)`` is the least count k with P(X <= k) >= u,
    ``isf(p)`` the least with P(X > k) <= p, so that ``d.ppf(d.cdf(k)) == k``; ends of the support at 0 and 1. `rvs` draws int64.

    Many values of one distribution have few different ones, and each is computed once: 3 to 10 ns a value. Quantiles of many
    probabilities are looked up among the counts up to the tail 1e-18, 25 to 100 ns a value, with the same results.
    """

    is_discrete: ClassVar[bool] = True
    loc: ClassVar[float] = 0.0
    scale: ClassVar[float] = 1.0
    _from_zero: ClassVar[tuple[str, ...]] = ("mean",)  # parameters that may be 0
    pdf: Any = _Absent()
    logpdf: Any = _Absent()

    def __getattr__(self, name: str) -> Any:
        if name in ("pdf", "logpdf"):
            mass = name.replace("pdf", "pmf")
            raise AttributeError(f"{type(self).__name__} is a distribution of counts and has no density: call {mass}", name=name)
        return super().__getattr__(name)

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls._scipy_shapes, cls._layout = cls.names, (*cls.names, "loc", "scale")

    @classmethod
    def _refusals(cls, values):
        for name, value in values.items():
            zero = name in cls._from_zero
            holds = np.asarray(((value >= 0.0) if zero else (value > 0.0)) & ((value < math.inf) | (name in cls._most)))
            yield name, holds, f"{'>= 0' if zero else '> 0'} and finite"

    def _standard(self):
        return tuple(self.params)

    @classmethod
    def _of_standard(cls, *shapes):
        return shapes

    # -- functions of x -----------------------------------------------------------------------------------------

    @hands_on(Distribution.pdf)
    def pmf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Probability of x.

        Parameters
        ----------
        x : array_like
            Points, as integers or floats; broadcast against the parameters.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`; the computation is in double precision.

        Returns
        -------
        array or scalar
            0 where x is no count.

        Raises
        ------
        TypeError
            For points that are not real numbers.

        Examples
        --------
        >>> from numbastats.distributions import Poisson
        >>> Poisson(2.0).pmf([0, 1, 1.5, -1]).round(6)
        array([0.135335, 0.270671, 0.      , 0.      ])
        """
        return self._evaluated("pmf", x, options)

    @hands_on(Distribution.pdf)
    def logpmf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Logarithm of the probability of x, -inf where x is no count; the arguments of all functions of x are those of `pmf`."""
        return self._evaluated("logpmf", x, options)

    def _takes_table(self, x, method, device, cost):
        if choice("method", method, ("auto", "table", "points")) == "table":
            if self.batch_shape or self._last > _MOST:
                raise ValueError(f"{self!r} has no table of its quantiles; leave out method='table'")
            return True
        many = method == "auto" and not isinstance(x, float) and not self.batch_shape and np.size(x) > 100
        return many and not (device == "cuda" or self._on_gpu(x)) and np.size(x) > self._last

    @functools.cached_property
    def _last(self):
        """The last count of a table; NaN without one."""
        return math.nan if any(map(math.isnan, self.params)) else float(self.isf(1e-18, method="points"))

    @functools.cached_property
    def _steps(self):
        """Of the counts up to `_last` the largest lower and the least upper tails whose quantiles they are, and their ends."""
        k = np.arange(self._last + 1.0)
        tails = self.cdf(k), self.sf(k)
        return largest_ppf.py_func(*tails), -least_isf.py_func(*tails)

    def _at(self, name, x, workers=None):
        """Quantiles by a table, and by kernels beyond it; the other functions by kernels."""
        if name not in ("ppf", "isf"):
            return super()._at(name, x)
        sign, steps = (1.0, self._steps[0]) if name == "ppf" else (-1.0, self._steps[1])
        rest = functools.partial(self._points_on_host, name)
        return tables.completed(lambda u, out: COUNTS(u, sign, steps, out), x, 0.0, rest, workers)

    def _scores_by_kernel(self, x, device, workers, stream):
        return super()._scores_by_kernel(x, device, workers, stream)[: len(self.names)]

    # -- moments, sums ------------------------------------------------------------------------------------------

    def entropy(self) -> Any:
        """Entropy, minus the mean of the logarithm of the probability, in nats.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`.

        Notes
        -----
        A sum as in `expect`; where that has too many terms and the skewness s is below 1e-3 that of a normal distribution,
        1/2 log(2 pi e var), from which it differs by s^2/12. Else ValueError.

        Examples
        --------
        >>> from numbastats.distributions import Poisson
        >>> float(Poisson(1.0).entropy().round(8))
        1.30484224
        """
        return self._batch(self._each(lambda d: d._entropy_of_one()))

    def _entropy_of_one(self):
        if self.std() * 25.0 > _MOST and abs(self.skewness()) < 1e-3:
            return 0.5 * math.log(2.0 * math.pi * math.e * self.var())
        return self.expect(lambda k: -self.logpmf(k))

    def _each(self, value, *others):
        """A number of each distribution, and of other numbers that broadcast against the parameters."""
        count, columns = len(self.params), np.broadcast_arrays(*map(np.asarray, (*self.params, *others)))
        rows = (tuple(map(float, row)) for row in zip(*(column.flat for column in columns), strict=True))
        return np.array([value(type(self)(*row[:count]), *row[count:]) for row in rows]).reshape(columns[0].shape)

    def _expectation(self, func, low, high, conditional):
        return self._each(lambda d, low, high: d._sum(func, low, high, conditional), low, high)

    def _sum(self, func, low, high, conditional):
        """`expect` of one distribution, whose ends belong to the sum."""
        if any(map(math.isnan, (*self.params, low, high))):
            return math.nan
        first = max(math.ceil(low) if math.isfinite(low) else 0, int(self.ppf(_NEGLIGIBLE)))
        last = min(math.floor(high) if math.isfinite(high) else math.inf, int(self.isf(_NEGLIGIBLE)))
        if last - first > _MOST:
            raise ValueError(f"the sum has {last - first} terms, more than {_MOST:.0f}; narrow it by lb= and ub=")
        k = np.arange(first, last + 1, dtype=np.float64) if last >= first else np.zeros(0)
        mass = self.pmf(k)
        value = float(np.sum(mass * np.asarray(func(k))))
        return value / np.float64(mass.sum()) if conditional else value

    def _shortfall(self, p, upper):
        """`expected_shortfall` for p inside (0, 1): the count at the end of the share counts with what the share has of it."""
        return self._each(lambda d, p: d._shortfall_of_one(p, upper), p)

    def _shortfall_of_one(self, p, upper):
        if any(map(math.isnan, self.params)):
            return math.nan
        at = float(self.isf(p) if upper else self.ppf(p))
        first, last = (at, float(self.isf(p * _NEGLIGIBLE))) if upper else (float(self.ppf(p * _NEGLIGIBLE)), at - 1.0)
        if last - first > _MOST:
            raise ValueError(f"the sum of the share has {last - first:.0f} terms, more than {_MOST:.0f}")
        k = np.arange(first, last + 1.0)
        return at + self.sf(k).sum() / p if upper else at - self.cdf(k).sum() / p

    # -- what counts do not have --------------------------------------------------------------------------------

    def table(self, base: Any = "uniform", **options: Any) -> Any:
        """Counts have no table of quantiles: raises TypeError."""
        raise TypeError(f"{type(self).__name__} is a distribution of counts: tables of quantiles are of continuous distributions")

    def _refuse_scale(self, *others):
        raise TypeError(
            f"{type(self).__name__} is a distribution of counts: shifts and multiples are of continuous distributions"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _refuse_scale  # type: ignore[assignment]

    # -- SciPy ----------------------------------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Hand the distribution to SciPy, as a frozen one of `scipy.stats` that calls our functions.

        Returns
        -------
        scipy.stats.rv_frozen
            Its `dist` is an instance of `scipy.stats.rv_discrete` with our parameters, where `size` is called ``size_``, and a
            location.

        Examples
        --------
        >>> from numbastats.distributions import Poisson
        >>> float(Poisson(2.0).to_scipy().pmf(1).round(6))
        0.270671
        """
        return scipy_family(type(self))(*self.params)  # type: ignore[arg-type]  # a class is hashable
