"""Distributions made of others: truncated, transformed, order statistics, mixtures of any families, and those with more zeros.

Each function of a composed distribution is one of its parts' functions with elementwise maps before and after it
(`kernels/maps.py`), so that it runs wherever the parts run. Names are those of `scipy.stats`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

import numbastats.random as random
from numbastats._core.broadcast import as_host, real64
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, refuse_mask
from numbastats._core.device import Device as Streams
from numbastats._core.errors import names_ours
from numbastats._core.inputs import as_double, deliver, in_float32, total_of
from numbastats._core.kinds import NUMPY, aligned, device_kind, has_labels, kind_of, numpy_dtype, to_host
from numbastats._core.random import normalise_rng
from numbastats.distributions.counts import Counts
from numbastats.distributions.kernels import maps
from numbastats.distributions.protocol import Distribution, in_units, scipy_methods

__all__ = ["ByItem", "Mixture", "Tail", "abs", "exp", "log", "log_probability", "order_statistic", "truncate", "with_zeros"]

_OTHER_TAIL = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf", "ppf": "isf", "isf": "ppf"}
_QUANTILES = ("ppf", "isf")
_TAIL = {"ppf": "cdf", "isf": "sf"}  # whose inverse it is
_UNDERFLOW = -600.0  # logarithm of a mass below which its difference of tails is computed from logarithms alone
_STEPS = 200  # of Newton's method and of halved brackets


class _Composed(Distribution):
    """What composed distributions have in common; a subclass says by `_value` what its functions are."""

    _solves = False  # whether its quantiles are searched for
    _integral: Any = None  # of a function and a multiple of the density between two ends, from integrals over the parts

    def _compose(self, parts, named, **values):
        """Store distributions, which are what `named` calls the parameter that holds them, and numbers."""
        for part in parts:
            if not isinstance(part, Distribution):
                raise TypeError(f"got {part!r}, which is no distribution; pass one, such as numbastats.distributions.Gamma(2)")
            if part.is_discrete and not self.is_discrete:
                raise TypeError(f"{type(part).__name__} is a distribution of counts: these functions are of continuous ones")
            if isinstance(part, _WithZeros):
                raise TypeError(f"{part!r} has a probability at 0, which these functions do not know; pass the one without it")
        given = [(part._labels, "the distribution") for part in parts if part._labels is not None]
        given += [(value, name) for name, value in values.items()]
        found, labels = aligned(*([*column] for column in zip(*given, strict=True))) if given else ([], None)
        labelled, numbers = given[: len(given) - len(values)], found[len(given) - len(values) :]
        for (before, _), after in zip(labelled, found, strict=False):
            if np.shape(after) != np.shape(before):
                raise ValueError(
                    f"the parts have labels of shapes {np.shape(before)} and {np.shape(after)}; give all of them the same "
                    "dimensions, or pass arrays without labels by .to_numpy()"
                )
        parts = tuple(part if part._labels is None else part._bare() for part in parts)
        numbers = {name: _stored(to_host(value, name)) for name, value in zip(values, numbers, strict=True)}
        shape = np.broadcast_shapes(*(part.batch_shape for part in parts), *map(np.shape, numbers.values()))
        self._store({named: parts[0] if named == "distribution" else parts} | numbers, shape)
        if labels is not None and has_labels(labels) and shape:
            if labels.shape != shape:
                raise ValueError(f"the parts have labels of shape {labels.shape} and together the shape {shape}")
            object.__setattr__(self, "_labels", labels)

    def _evaluate(self, name, x, options):
        if has_labels(x):
            return self._by_labels(name, x, **options)
        refuse_mask(x)
        where = {key: options[key] for key in ("device", "workers", "stream")}
        out, dtype, method = options["out"], options["dtype"], options.get("method", "auto")
        if name in _QUANTILES and self._solves:
            if self._takes_table(x, method, where["device"], self._cost()):
                return self._on_host(name, x, out, dtype, **where)
        elif name in _QUANTILES:
            where["method"] = method
        return self._by_points(name, x, out, dtype, **where)

    def _by_points(self, name, x, out=None, dtype=None, **where):
        def evaluate(x, out, dtype):
            found = self._value(name, x, _Where(where))
            if out is not None and where.get("stream") is not None:
                Streams((), where["stream"]).wait()
            return deliver(found, out, FLOAT64)

        return _in_double(x, out, dtype, where.get("stream"), evaluate)

    def _value(self, name, x, at):
        """One function in double precision; `at` evaluates parts and maps where the caller wants it."""
        raise NotImplementedError

    def _log_of(self, name, x, at):
        """The logarithm of the density, or of a tail where it is the smaller one."""
        return self._value(name, x, at)

    def _cost(self):
        """Nanoseconds of a quantile that is searched for."""
        return 3000.0

    def _by_tails(self, name, x, tails, mass, at):
        """A probability from F and S at both ends of an interval; where they nearly cancel, the exponential of its logarithm."""
        value = at(maps.SHARE, *tails, mass)
        short = (value * mass < maps.NEAR * np.minimum(tails[0], tails[3])) | _underflows(value * mass, mass)
        if not np.any(short):
            return value
        short = np.asarray(short)
        part = self._selected(short)._value(f"log{name}", np.broadcast_to(x, short.shape)[short], at)
        return _put(value, short, np.exp(part))[()]

    def _solved(self, u, name, low, high, start, positive, at):
        """Quantiles within a bracket, by Newton's method on the logarithm of the smaller tail."""
        target, upper = at(maps.LOG_SMALLER, u), at(maps.IS_ABOVE, u, float(name == "isf"))
        found = [start, low, high, target, upper]
        if any(device_kind(value) for value in found):
            return self._climbed(*found, positive, at, lambda moving: total_of(moving) == 0.0)[0]
        z, *rest = np.broadcast_arrays(*found)
        z, active = np.array(z), np.full(z.shape, True)
        for _ in range(_STEPS):  # a step for those that still move
            found = (z[active], *(value[active] for value in rest))
            z[active], low, high, moving = self._selected(active)._climbed(*found, positive, at, lambda moving: True)
            rest = [*(_put(value, active, new) for value, new in zip(rest, (low, high), strict=False)), *rest[2:]]
            active[active] = moving > 0.0
            if not active.any():
                break
        low, high = rest[:2]
        with np.errstate(invalid="ignore"):
            wide = high - low > 1e-9 * np.maximum(np.abs(low), np.abs(high))
        return np.where(active & wide, math.nan, z)[()]  # NaN where it is not found

    def _climbed(self, z, low, high, target, upper, positive, at, ended):
        """Points, their brackets, and which of them still move, after steps until a function of these says that it is enough."""
        for _ in range(_STEPS):
            logs = (self._log_of(f, z, at) for f in ("logpdf", "logcdf", "logsf"))
            z, low, high, moving = at(maps.NEWTON, z, low, high, target, upper, float(positive), *logs)
            if ended(moving):
                break
        return z, low, high, moving

    # -- what follows -------------------------------------------------------------------------------------------

    def _rebuilt(self, of_array, of_distribution):
        """The same composition with every array and every part exchanged."""

        def each(value):
            if isinstance(value, tuple):
                return tuple(map(each, value))
            if isinstance(value, Distribution):
                return of_distribution(value)
            return of_array(value) if isinstance(value, np.ndarray) else value

        return type(self)(*map(each, self._arguments()))

    def _with_axis(self):
        if not self.batch_shape:
            return self
        return self._rebuilt(lambda a: a[..., None], lambda d: d._with_axis())

    def _selected(self, use):
        if not self.batch_shape:
            return self
        return self._rebuilt(lambda a: np.broadcast_to(a, use.shape)[use], lambda d: d._selected(use))

    def _at_standard(self):
        return self if self._labels is None else self._bare()

    def _expectation(self, func, low, high, conditional):
        """`expect`, by integrals over the parts where these are the simpler ones."""
        if self._integral is None:
            return self._between_kinks(func, low, high, conditional)
        whole = (low, high) if conditional else (-math.inf, math.inf)
        return self._integral(func, low, high) / self._integral(np.ones_like, *whole)

    def _between_kinks(self, func, low, high, conditional):
        """`_expectation` by quantiles of its own: the rule for integrals of `protocol` takes a function that is smooth."""
        kinks = self._kinks()
        if not kinks:
            return super()._expectation(func, low, high, conditional)
        edges = np.sort(np.stack(np.broadcast_arrays(low, high, *(np.clip(kink, low, high) for kink in kinks))), axis=0)
        total = super()._expectation(func, edges[:-1], edges[1:], False).sum(axis=0)
        return total / super()._expectation(np.ones_like, low, high, False) if conditional else total

    def _shortfall(self, p, upper):
        tail = self.sf if upper else self.cdf
        levels = [np.minimum(p, tail(kink)) for kink in self._kinks()]
        levels = np.sort(np.stack(np.broadcast_arrays(np.zeros(p.shape), p, *levels)), axis=0)
        return self._share("isf" if upper else "ppf", levels[:-1], np.diff(levels, axis=0), lambda x: x).sum(axis=0) / p

    def _places(self):
        """Where its parts may make the density not smooth, in units of x."""
        return _places_of(self.params.distribution)

    def _kinks(self):
        """Where the density is not smooth inside of the support, each a number or an array of the batch."""
        low, high = self.support()
        found = {np.asarray(k).tobytes(): k for k in self._places() if np.any(np.less(low, k) & np.less(k, high))}
        return list(found.values())  # each once

    def _kink(self):
        return next((kink for kink in self._kinks() if np.isinf(self.pdf(kink)).any()), None)  # a table is anchored at a pole

    def mean(self) -> Any:
        """Mean, by integration where the parts do not give it."""
        return self.expect()

    def var(self) -> Any:
        """Variance, by integration where the parts do not give it."""
        return self._batch(self._central(2))

    def entropy(self) -> Any:
        """Differential entropy, by integration."""
        return self._batch(self._entropy())

    def score(self, x: ArrayLike, **options: Any) -> tuple[Any, ...]:
        """Composed distributions have none: TypeError."""
        raise TypeError(f"{self!r} has no score; ask the distributions that it is made of")

    @classmethod
    def fit(cls, x: Any, **options: Any) -> Any:
        """Composed distributions are not fitted: TypeError."""
        raise TypeError("composed distributions are not fitted; fit(..., truncated=, censored=) and numbastats.mixture.fit are")

    def to_scipy(self) -> Any:
        """Hand the distribution to SciPy, as a frozen one of `scipy.stats` without shapes that calls our functions.

        Returns
        -------
        scipy.stats.rv_frozen

        Raises
        ------
        TypeError
            For a batch of distributions.

        Examples
        --------
        >>> from numbastats.distributions import Gamma, Mixture, Normal
        >>> d = Mixture([Normal(), Gamma(2.0, scale=3.0)], weights=[0.25, 0.75])
        >>> float(d.to_scipy().cdf(1.0).round(6))
        0.243805
        """
        if self.batch_shape:
            raise TypeError(f"a batch of shape {self.batch_shape} has no counterpart in SciPy; hand them over singly")
        return _scipy_class(self)()()


def _scipy_class(d):
    """A class of `rv_continuous` of one distribution."""
    from scipy import stats

    def made(self, **options):
        low, high = map(float, d.support())
        stats.rv_continuous.__init__(self, a=low, b=high, name=d.family or "composed")

    methods = scipy_methods(lambda shapes: d) | {"__init__": made}
    methods |= {"__reduce__": lambda self: (_scipy_instance, (d,)), "__doc__": f"{d!r} for scipy.stats."}
    return type(f"numbastats_{d.family}", (stats.rv_continuous,), methods)


def _scipy_instance(d):
    return _scipy_class(d)()


def _places_of(part):
    """Where the density of a part is not smooth inside of its support."""
    if isinstance(part, _Composed):
        return part._kinks()
    kink = part._kink()
    return [] if kink is None else [kink]


class _Where(dict):
    """Options of a call; called with a map and values it evaluates that."""

    def __call__(self, function, *values):
        return function(*values, **{key: value for key, value in self.items() if key != "method"})

    def of(self, distribution, name, x):
        """A function of a part."""
        options = self if name in _QUANTILES else {key: value for key, value in self.items() if key != "method"}
        return getattr(distribution, name)(x, dtype=FLOAT64, **options)


def _in_double(x, out, dtype, stream, evaluate):
    """A function of x in double precision; float32 values are converted before, and the result after it."""
    if kind_of(x) is NUMPY:
        x = as_host(x)
    given = numpy_dtype(x) if dtype is None else check_dtype(dtype)
    if given != FLOAT32:
        return evaluate(x, out=out, dtype=FLOAT64)
    return in_float32(evaluate(as_double(x, stream), out=None, dtype=FLOAT64), out, stream)


def _put(values, use, new):
    """The values, other ones at a mask."""
    values = np.array(values)
    values[use] = new
    return values


def _underflows(value, mass):
    """Whether a value of X is no double, or without digits, though it may be one of X within a small mass."""
    return np.less(value, 1e-305) & np.less(mass, 0.99)


def _inside(u):
    return np.greater(u, 0.0) & np.less(u, 1.0)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def _log_mass(base, low, high, low_logs, high_logs, at):
    """Logarithm of F(high) - F(low), from the logarithms of F and S at both: by the smaller tails, or by the density."""
    (cdf_low, sf_low), (cdf_high, sf_high) = low_logs, high_logs
    found = at(maps.LOG_SHARE, cdf_high, sf_high, cdf_low, sf_low, 0.0)
    if device_kind(found):
        return _integrated(base, low, high, found, cdf_high, sf_low, at)
    short = (found < np.minimum(cdf_high, sf_low) + math.log(maps.NEAR)) & np.less(low, high)
    if not np.any(short):
        return found
    values = (np.broadcast_to(value, short.shape)[short] for value in (low, high, found, cdf_high, sf_low))
    return _put(found, short, _integrated(base._selected(np.asarray(short)), *values, at))[()]


def _integrated(base, low, high, difference, log_cdf, low_log_sf, at):
    """The mass of short intervals, by Gauss and Legendre, where the difference does not contradict."""
    total = -math.inf
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        value = at.of(base, "logpdf", at(maps.BETWEEN, low, high, 0.5 + 0.5 * float(node)))
        total = at(maps.LOG_SUM, value, math.log(0.5 * float(weight)), total)
    width = at(maps.LOG, at(maps.LOCATED, low, high, -1.0))
    return at(maps.CERTAIN, difference, at(maps.LOCATED, width, total, 1.0), log_cdf, low_log_sf)


def _stored(value):
    """A number, or a read-only array."""
    value = np.array(real64(value))
    value.flags.writeable = False
    return value if value.ndim else float(value)


def _drawn(options, evaluate, *values):
    """A map of draws: of their kind and float type."""
    return evaluate(*values, dtype=None, **{name: options[name] for name in ("device", "workers", "stream")})


# -- transforms ---------------------------------------------------------------------------------------------------


class _OfOne(_Composed):
    """A function of one distribution without numbers."""

    names: ClassVar[tuple[str, ...]] = ("distribution",)

    def __init__(self, distribution: Distribution):
        self._compose([distribution], "distribution")

    def __repr__(self) -> str:
        return f"{type(self).family}({self.params.distribution!r})"


class _Transformed(_OfOne):
    """The distribution of a monotone function of X, `_forward`: `_back` is its inverse."""

    _map: Any = None  # of `maps`, with its inverse
    _inverse: Any = None
    _falls = False

    def _forward(self, z, at):
        return at(self._map, z)

    def _back(self, x, at):
        return at(self._inverse, x)

    def _value(self, name, x, at):
        base, other = self.params.distribution, _OTHER_TAIL.get(name, name) if self._falls else name
        if name in _QUANTILES:
            return self._forward(at.of(base, other, x), at)
        z = self._back(x, at)
        value = at.of(base, other, z)
        if name == "pdf":
            return at(maps.DIVIDED, value, self._unit(x, at))
        return at(maps.REDUCED, value, self._log_unit(x, z, at)) if name == "logpdf" else value

    def _places(self):
        return [self._forward(place, _Where()) for place in super()._places()]

    def _draws(self, shape, options):
        return _drawn(
            options, lambda z, **where: self._forward(z, _Where(where)), self.params.distribution._draws(shape, options)
        )


class _Exp(_Transformed):
    """The distribution of e^X."""

    family, _map, _inverse = "exp", maps.EXP, maps.LOG

    def _unit(self, x, at):
        return x

    def _log_unit(self, x, z, at):
        return z


class _Log(_Transformed):
    """The distribution of log X."""

    family, _map, _inverse = "log", maps.LOG, maps.EXP

    def __init__(self, distribution: Distribution):
        super().__init__(distribution)
        low = np.asarray(self.params.distribution.support()[0])
        if (low < 0.0).any():
            raise ValueError(
                f"{distribution!r} has values below 0 (its support begins at {float(low[low < 0.0].flat[0])!r}), which have no "
                "logarithm; truncate it at lb=0 before"
            )

    def _unit(self, x, at):
        return at(maps.EXP, at(maps.STANDARDISED, x, 0.0, -1.0))

    def _log_unit(self, x, z, at):
        return at(maps.STANDARDISED, x, 0.0, -1.0)


class _Linear(_Transformed):
    """The distribution of shift + factor X."""

    names = ("distribution", "shift", "factor")

    def __init__(self, distribution: Distribution, shift: ArrayLike, factor: ArrayLike):
        self._compose([distribution], "distribution", shift=shift, factor=factor)

    def __repr__(self) -> str:
        base, shift, factor = self._arguments()
        shown = f"{factor!r} * {base!r}"
        return shown if np.ndim(shift) == 0 and shift == 0.0 else f"{shown} + {shift!r}"

    @property
    def _falls(self):
        return bool(np.any(np.less(self.params.factor, 0.0)))

    def _forward(self, z, at):
        return at(maps.LOCATED, z, self.params.shift, self.params.factor)

    def _back(self, x, at):
        return at(maps.STANDARDISED, x, self.params.shift, self.params.factor)

    def _unit(self, x, at):
        return np.abs(self.params.factor)

    def _log_unit(self, x, z, at):
        return np.log(np.abs(self.params.factor))

    def mean(self) -> Any:
        """Mean."""
        return self._batch(self.params.shift + self.params.factor * self.params.distribution.mean())

    def var(self) -> Any:
        """Variance."""
        return self._batch(in_units(self.params.distribution.var(), self.params.factor))

    def _shape(self):
        base = self.params.distribution
        return np.sign(self.params.factor) * base.skewness(), base.kurtosis()

    def entropy(self) -> Any:
        """Differential entropy."""
        return self._batch(self.params.distribution.entropy() + np.log(np.abs(self.params.factor)))


def _linear(distribution, shift, factor):
    """The distribution of shift + factor X: of the same class where that has a location and a scale."""
    made = _Linear(distribution, shift, factor)
    base, shift, factor = made._arguments()
    if not np.isfinite(shift).all() or not (np.isfinite(factor) & (factor != 0.0)).all():
        raise ValueError(f"shift={shift!r} must be finite, and factor={factor!r} finite and not 0")
    if made._falls and np.any(np.greater(factor, 0.0)):
        raise ValueError(f"factor={factor!r} has both signs; pass those above 0 and those below it apart")
    if isinstance(base, _Linear):
        inner, first, slope = base._arguments()
        same = _linear(inner, shift + factor * np.asarray(first), factor * np.asarray(slope))
    else:
        same = base._relocated(shift, factor)
    if same is not None and made._labels is not None:
        object.__setattr__(same, "_labels", made._labels)
    return made if same is None else same


Distribution._linear = staticmethod(_linear)


class _Abs(_OfOne):
    """The distribution of abs(X)."""

    family, _solves = "abs", True

    def _value(self, name, x, at):
        base = self.params.distribution
        if name in _QUANTILES:
            return self._quantile(name, x, at)
        if name in ("pdf", "logpdf"):
            value, mirrored = at.of(base, name, x), at.of(base, name, at(maps.STANDARDISED, x, 0.0, -1.0))
            if name == "pdf":
                return at(maps.FOLDED, x, value, mirrored)
            return at(maps.LOG_DENSITY_WITHIN, at(maps.LOG_SUM, value, 0.0, mirrored), x, 0.0, math.inf, 0.0)
        if name in ("cdf", "sf") and device_kind(x):
            return at(maps.EXP, self._value(f"log{name}", x, at))
        x = at(maps.CLIPPED, x, 0.0, math.inf)
        back = at(maps.STANDARDISED, x, 0.0, -1.0)
        if name == "sf":
            return at(maps.LOCATED, at.of(base, "sf", x), at.of(base, "cdf", back), 1.0)
        if name == "cdf":
            return self._by_tails(name, x, [at.of(base, f, end) for end in (x, back) for f in ("cdf", "sf")], 1.0, at)
        ends = [[at.of(base, f, end) for f in ("logcdf", "logsf")] for end in (back, x)]
        outside = at(maps.LOG_SUM, ends[0][0], 0.0, ends[1][1])
        inside = _log_mass(base, back, x, *ends, at)
        return at(maps.LOG_TAIL, *((inside, outside) if name == "logcdf" else (outside, inside)))

    def _places(self):
        base = self.params.distribution
        return [np.abs(place) for place in (*_places_of(base), *base.support())]  # at an end the mirrored density begins

    def _integral(self, func, lb, ub):
        base, low = self.params.distribution, np.maximum(lb, 0.0)
        right = base.expect(func, lb=low, ub=ub)
        return right + base.expect(lambda x: func(-x), lb=-np.maximum(ub, 0.0), ub=-low)

    def _quantile(self, name, u, at):
        """Of P(|X| > x) = q: S(x) or F(-x) is q at the lower end of the bracket, both are q/2 at most at the upper one."""
        base = self.params.distribution
        q = at(maps.LEVEL, u, 1.0, -1.0) if name == "ppf" else at(maps.LEVEL, u, 0.0, 1.0)

        def end(q):
            return at(maps.LARGER, at.of(base, "isf", q), at(maps.STANDARDISED, at.of(base, "ppf", q), 0.0, -1.0), 0.0)

        low, high = end(at(maps.CLIPPED, at(maps.LOCATED, q, 0.0, 1.001), 0.0, 1.0)), end(at(maps.LOCATED, q, 0.0, 0.499))
        start = high
        if name == "ppf":  # next to 0 by the density there
            slope = 2.0 * np.asarray(base.pdf(0.0))
            start = at(maps.SMALLER, at(maps.DIVIDED, u, np.where(slope < math.inf, slope, 0.0)[()]), high)
        return at(maps.AT_ENDS, u, self._solved(u, name, low, high, start, True, at), *self._known(name, at))

    def _known(self, name, at):
        """The quantiles at 0 and 1."""
        low, high = self.params.distribution.support()
        ends = (
            np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high))),
            np.maximum(np.abs(low), np.abs(high)),
        )
        return ends if name == "ppf" else ends[::-1]

    def _draws(self, shape, options):
        def absolute(z, **where):
            return maps.LARGER(z, maps.STANDARDISED(z, 0.0, -1.0, **where), 0.0, **where)

        return _drawn(options, absolute, self.params.distribution._draws(shape, options))


# -- truncation ---------------------------------------------------------------------------------------------------


class _Truncated(_Composed):
    """The distribution of X under lb <= X <= ub."""

    names, family = ("distribution", "lb", "ub"), "truncate"

    def __init__(self, distribution: Distribution, lb: ArrayLike = -math.inf, ub: ArrayLike = math.inf):
        self._compose([distribution], "distribution", lb=lb, ub=ub)
        empty = ~(np.asarray(self._log_mass) > -math.inf) & ~np.isnan(self._log_mass)
        if empty.any():
            low, high = (float(np.broadcast_to(end, empty.shape)[empty][0]) for end in (self.params.lb, self.params.ub))
            raise ValueError(f"{distribution!r} has no mass between lb={low!r} and ub={high!r}; pass lb < ub within its support")

    def __repr__(self) -> str:
        base, lb, ub = self._arguments()
        return f"truncate({base!r}, lb={_shown(lb)}, ub={_shown(ub)})"

    @functools.cached_property
    def _ends(self):
        """Logarithms of F and S, at lb and at ub."""
        base, *ends = self._arguments()
        return [[getattr(base, name)(end) for name in ("logcdf", "logsf")] for end in ends]

    @functools.cached_property
    def _tails(self):
        """F and S, at lb and at ub."""
        base, *ends = self._arguments()
        return [[getattr(base, name)(end) for name in ("cdf", "sf")] for end in ends]

    @functools.cached_property
    def _mass(self):
        """The mass, where it does not underflow; a short interval has it from the logarithm."""
        (cdf_low, sf_low), (cdf_high, sf_high) = self._tails
        found = maps.SHARE(cdf_high, sf_high, cdf_low, sf_low, 1.0)
        return np.where(found < maps.NEAR * np.minimum(cdf_high, sf_low), np.exp(self._log_mass), found)[()]

    @functools.cached_property
    def _log_mass(self):
        base, lb, ub = self._arguments()
        return np.where(np.less(lb, ub), _log_mass(base, lb, ub, *self._ends, _Where()), -math.inf)[()]

    def support(self) -> tuple[Any, Any]:
        """Ends of the support."""
        low, high = self.params.distribution.support()
        return self._batch(np.maximum(low, self.params.lb)), self._batch(np.minimum(high, self.params.ub))

    def _value(self, name, x, at):
        base, lb, ub = self._arguments()
        log_mass, deep = self._log_mass, np.any(np.less(self._log_mass, _UNDERFLOW))
        if name in _QUANTILES:
            return self._quantile(name, x, deep, at)
        if name in ("pdf", "cdf", "sf") and (deep or device_kind(x)):
            return at(maps.EXP, self._value(f"log{name}", x, at))
        if name == "pdf":
            value = at(maps.DENSITY_WITHIN, at.of(base, name, x), x, lb, ub, self._mass)
            tiny = np.asarray(_underflows(value * self._mass, self._mass))
            if not np.any(tiny):
                return value
            part = self._selected(tiny)._value("logpdf", np.broadcast_to(x, tiny.shape)[tiny], at)
            return _put(value, tiny, np.exp(part))[()]
        if name == "logpdf":
            return at(maps.LOG_DENSITY_WITHIN, at.of(base, name, x), x, lb, ub, log_mass)
        x = at(maps.CLIPPED, x, lb, ub)
        if name in ("cdf", "sf"):
            here = at.of(base, "cdf", x), at.of(base, "sf", x)
            tails = (*here, *self._tails[0]) if name == "cdf" else (*self._tails[1], *here)
            return self._by_tails(name, x, tails, self._mass, at)
        logs = at.of(base, "logcdf", x), at.of(base, "logsf", x)
        lower = at(maps.REDUCED, _log_mass(base, lb, x, self._ends[0], logs, at), log_mass)
        upper = at(maps.REDUCED, _log_mass(base, x, ub, logs, self._ends[1], at), log_mass)
        return at(maps.LOG_TAIL, *((lower, upper) if name == "logcdf" else (upper, lower)))

    def _quantile(self, name, u, deep, at):
        base, (low, high) = self.params.distribution, (self if self._labels is None else self._bare()).support()
        first, last = (low, high) if name == "ppf" else (high, low)
        if deep:
            start = np.where(np.isfinite(low), low, high)
            u = at(maps.LEVEL, u, 0.0, 1.0)
            z = at(maps.LOCATED, u, start, 0.0)
            return at(maps.AT_ENDS, u, self._solved(u, name, low, high, z, False, at), first, last)
        mass, below, above = self._mass, self._tails[0][0], self._tails[1][1]
        rest = at(maps.LOCATED, u, 1.0, -1.0)
        shares = (u, rest) if name == "ppf" else (rest, u)
        lower, upper = at(maps.LEVEL, shares[0], below, mass), at(maps.LEVEL, shares[1], above, mass)
        value = at(maps.CHOSEN, lower, upper, at.of(base, "ppf", lower), at.of(base, "isf", upper))
        value = at(maps.AT_ENDS, u, value, first, last)
        tiny = False if device_kind(value) else np.asarray(_inside(u) & _underflows(np.minimum(lower, upper), mass))
        if np.any(tiny):
            one, where = self._selected(tiny), np.broadcast_to(u, tiny.shape)[tiny]
            ends = one.support()
            start = np.where(np.isfinite(ends[0]), *ends) + np.zeros(where.shape)
            value = _put(np.broadcast_to(value, tiny.shape), tiny, one._solved(where, name, *ends, start, False, at))[()]
        for share, end, sign, cut in ((shares[0], low, 1.0, below), (shares[1], high, -1.0, above)):
            if not device_kind(value):
                value = self._next_to(
                    end, sign, (share > 0.0) & (share < maps.NEAR) & np.greater(cut, 0.0), u, name, share, value, at
                )
        return value

    def _next_to(self, end, sign, use, u, name, share, value, at):
        """Quantiles, those next to a cut with all digits of their distance to it, which `value` is too coarse for."""
        if not np.any(use):
            return value
        use, end = np.broadcast_to(use, value.shape), np.broadcast_to(end, value.shape)
        with np.errstate(all="ignore"):
            start = np.clip(end + sign * share * np.exp(-self.logpdf(end)), *self.support())
        value = _put(value, use & (start == end), end[use & (start == end)])  # closer to it than the next double
        use = use & (start != end)
        if not use.any():
            return value[()]
        one = self._selected(use)
        low, high = one.support()
        return _put(value, use, one._solved(np.broadcast_to(u, use.shape)[use], name, low, high, start[use], False, at))[()]

    def _expectation(self, func, low, high, conditional):
        if np.any(np.less(self._log_mass, _UNDERFLOW)):  # by quantiles of its own
            return self._between_kinks(func, low, high, conditional)
        return super()._expectation(func, low, high, conditional)

    def _integral(self, func, lb, ub):
        base, low, high = self._arguments()
        return base.expect(func, lb=np.maximum(lb, low), ub=np.minimum(ub, high))


# -- order statistics -----------------------------------------------------------------------------------------------


class _OrderStatistic(_Composed):
    """The distribution of the r-th smallest of n independent values."""

    names, family = ("distribution", "r", "n"), "order_statistic"

    def __init__(self, distribution: Distribution, r: ArrayLike, n: ArrayLike):
        self._compose([distribution], "distribution", r=r, n=n)
        ranks, size = np.broadcast_arrays(self.params.r, self.params.n)
        wrong = ~((ranks >= 1.0) & (ranks <= size) & (ranks == np.floor(ranks)) & (size == np.floor(size)) & np.isfinite(size))
        if wrong.any():
            raise ValueError(
                f"r={float(ranks[wrong][0])!r} and n={float(size[wrong][0])!r} must be whole numbers with 1 <= r <= n, "
                "the rank from below and the size of the sample"
            )

    def __repr__(self) -> str:
        base, r, n = self._arguments()
        return f"order_statistic({base!r}, r={_shown(r)}, n={_shown(n)})"

    def _value(self, name, x, at):
        base, r, n = self._arguments()
        shapes = r, n - r + 1.0
        if name in _QUANTILES:
            u, rest = at(maps.LEVEL, x, 0.0, 1.0), at(maps.LEVEL, x, 1.0, -1.0)
            tails = (u, rest) if name == "ppf" else (rest, u)
            lower, upper = at(maps.ORDER_LEVELS, *tails, *shapes)
            return at(maps.CHOSEN, lower, upper, at.of(base, "ppf", lower), at.of(base, "isf", upper))
        if name in ("cdf", "sf"):
            return at(maps.ORDER_TAILS, at.of(base, "cdf", x), at.of(base, "sf", x), *shapes)[name == "sf"]
        logs = at.of(base, "logcdf", x), at.of(base, "logsf", x)
        if name in ("logcdf", "logsf"):
            return at(maps.ORDER_LOG_TAILS, *logs, *shapes)[name == "logsf"]
        value = at(maps.LOCATED, at(maps.ORDER_LOG_DENSITY, *logs, *shapes), at.of(base, "logpdf", x), 1.0)
        return at(maps.EXP, value) if name == "pdf" else value

    def _draws(self, shape, options):
        base, r, n = self._arguments()
        u = random.beta(r, n - r + 1.0, shape, **options)
        return base.ppf(u, workers=options["workers"], stream=options["stream"])


# -- batches of several families ------------------------------------------------------------------------------------


class ByItem(_Composed):
    """A batch whose items are of several families: each of one of the distributions, which has NaN elsewhere.

    Parameters
    ----------
    distributions : sequence of Distribution
        Batches of one shape.
    index : array_like
        For each item, which of them has it.
    """

    names, family = ("distributions", "index"), "by_item"

    def __init__(self, distributions: Sequence[Distribution], index: ArrayLike):
        self._compose(tuple(distributions), "distributions", index=index)

    def __repr__(self) -> str:
        return f"ByItem([{', '.join(map(repr, self.params.distributions))}], index={_shown(self.params.index)})"

    def _value(self, name, x, at):
        first, *others = self.params.distributions
        value = at.of(first, name, x)
        for i, part in enumerate(others, 1):  # parts come in the order of their places
            value = at(maps.PICKED, self.params.index, i - 0.5, at.of(part, name, x), value)
        return value

    def _of_items(self, function, shape=None):
        """A value of each item, or of items broadcast to a shape, by its own distribution."""
        index = np.broadcast_to(self.params.index, self.batch_shape if shape is None else shape)
        found = np.full(index.shape, math.nan)
        for i, part in enumerate(self.params.distributions):
            mine = index == i
            if mine.any():
                found[mine] = function(part._selected(mine), mine)
        return found

    def mean(self) -> Any:
        """Mean."""
        return self._batch(self._of_items(lambda d, _: d.mean()))

    def var(self) -> Any:
        """Variance."""
        return self._batch(self._of_items(lambda d, _: d.var()))

    def _shape(self):
        return self._of_items(lambda d, _: d.skewness()), self._of_items(lambda d, _: d.kurtosis())

    def entropy(self) -> Any:
        """Differential entropy."""
        return self._batch(self._of_items(lambda d, _: d.entropy()))

    def support(self) -> tuple[Any, Any]:
        """Ends of the supports."""
        low, high = (self._of_items(lambda d, _, i=i: d.support()[i]) for i in (0, 1))
        return self._batch(low), self._batch(high)

    def _places(self):
        return [place for part in self.params.distributions for place in _places_of(part)]

    def _shortfall(self, p, upper):
        return self._of_items(lambda d, mine: d.expected_shortfall(p[mine], upper=upper), p.shape)

    def _integral(self, func, lb, ub):
        ends = [np.broadcast_to(end, self.batch_shape) for end in (lb, ub)]
        return self._of_items(lambda d, mine: d.expect(func, lb=ends[0][mine], ub=ends[1][mine]))

    def _draws(self, shape, options):
        key, index = int(normalise_rng(options["rng"])), self.params.index
        value = None
        for i, part in enumerate(self.params.distributions):
            drawn = part._draws(shape, options | {"rng": np.random.SeedSequence([key, i])})
            value = drawn if value is None else _drawn(options, maps.PICKED, index, i - 0.5, drawn, value)
        return value


# -- above a threshold -----------------------------------------------------------------------------------------------


class Tail(_Composed):
    """The distribution of values of which those above a threshold are modelled: a share of all, with a distribution of their own.

    Below the threshold nothing is known: functions of x are NaN there, and so are quantiles that lie there.

    Parameters
    ----------
    distribution : Distribution
        Of the values above; its support begins at the threshold.
    share : array_like
        Of all values, the share of these.
    """

    names, family = ("distribution", "share"), "tail"

    def __init__(self, distribution: Distribution, share: ArrayLike):
        self._compose([distribution], "distribution", share=share)

    def __repr__(self) -> str:
        return f"Tail({self.params.distribution!r}, share={_shown(self.params.share)})"

    def _value(self, name, x, at):
        above, share = self._arguments()
        if name in _QUANTILES:
            p = x if name == "isf" else at(maps.LOCATED, x, 1.0, -1.0)
            within = at(maps.LEVEL, p, 0.0, 1.0 / np.asarray(share))
            return at.of(above, "isf", at(maps.PICKED, within, np.nextafter(1.0, 2.0), math.nan, within))
        log = name.startswith("log")
        value = at.of(above, {"cdf": "sf", "logcdf": "logsf"}.get(name, name), x)
        value = at(maps.LOCATED, value, *((np.log(share), 1.0) if log else (0.0, share)))
        if name == "cdf":
            value = at(maps.LOCATED, value, 1.0, -1.0)
        elif name == "logcdf":
            value = at(maps.LOG_TAIL, at(maps.LOG, at(maps.LOCATED, at(maps.EXP, value), 1.0, -1.0)), value)
        return at(maps.PICKED, x, above.support()[0], value, math.nan)

    def support(self) -> tuple[Any, Any]:
        """The threshold, and the upper end of the support."""
        return tuple(self._batch(end) for end in self.params.distribution.support())  # type: ignore[return-value]

    def expected_shortfall(self, p: ArrayLike, *, upper: bool = False) -> Any:
        """Mean of the highest share p, ``upper=True``; NaN for p above the share of the values above the threshold."""
        if not upper:
            raise TypeError("below the threshold nothing is known of values: pass upper=True, or turn the sign")
        if self._labels is not None or has_labels(p):
            return self._by_labels("expected_shortfall", p, upper=upper)
        above, share = self._arguments()
        within = real64(p) / share
        return above.expected_shortfall(np.where(within <= 1.0, within, math.nan), upper=True)

    def _unknown(self, name):
        raise TypeError(
            f"{name}() needs all values, but those below the threshold are not modelled; of the values above it alone it is "
            f"d.distribution.{name}()"
        )

    def mean(self) -> Any:
        """Not known: TypeError."""
        self._unknown("mean")

    def var(self) -> Any:
        """Not known: TypeError."""
        self._unknown("var")

    def entropy(self) -> Any:
        """Not known: TypeError."""
        self._unknown("entropy")

    def _expectation(self, func, low, high, conditional):
        self._unknown("expect")

    def _draws(self, shape, options):
        self._unknown("rvs")


# -- mixtures -------------------------------------------------------------------------------------------------------


class Mixture(_Composed):
    """Mixture of distributions of any families: with probability w_k a value is one of component k.

    Parameters
    ----------
    components : sequence of Distribution
        They may be batches, whose shapes broadcast.
    weights : (K,) array_like, optional
        Probabilities of the components, >= 0 with sum 1; equal by default.

    Raises
    ------
    TypeError, ValueError
        For components that are no distributions, and for weights that are negative or whose sum is not 1.

    Notes
    -----
    Densities and tails are sums of positive terms and as exact as those of the components. Quantiles lie between those of the
    components and are found by Newton's method on the logarithm of the smaller tail, to 1e-13 or so relative to the accuracy of
    the components; many of one mixture come from a table. `numbastats.mixture` fits mixtures.

    Examples
    --------
    >>> from numbastats.distributions import Gamma, Mixture, Normal
    >>> d = Mixture([Normal(), Gamma(2.0, scale=3.0)], weights=[0.25, 0.75])
    >>> float(d.cdf(1.0).round(6)), float(d.ppf(0.5).round(6)), float(d.mean())
    (0.243805, 3.567001, 4.5)
    """

    names, family, _solves = ("components", "weights"), "mixture", True

    def __init__(self, components: Sequence[Distribution], weights: ArrayLike | None = None):
        components = tuple(components)
        if not components:
            raise ValueError("components is empty; pass at least one distribution")
        share = np.full(len(components), 1.0 / len(components)) if weights is None else real64(weights)
        if share.shape != (len(components),):
            raise ValueError(f"weights has shape {share.shape}; pass one number for each of the {len(components)} components")
        if not (share >= 0.0).all() or not np.abs(share.sum() - 1.0) <= 1e-9:
            raise ValueError(
                f"weights={share.tolist()} must be >= 0 and have the sum 1, not {float(share.sum())!r}; divide them by their sum"
            )
        self._compose(components, "components")
        self._store({"components": self.params.components, "weights": tuple((share / share.sum()).tolist())}, self.batch_shape)

    def __repr__(self) -> str:
        return f"Mixture([{', '.join(map(repr, self.params.components))}], weights={list(self.params.weights)})"

    def _parts(self):
        """Components of positive weight, and their weights."""
        return [(part, weight) for part, weight in zip(*self._arguments(), strict=True) if weight > 0.0]

    def _cost(self):
        return 1000.0 * (1 + len(self.params.components))

    def _value(self, name, x, at):
        parts = self._parts()
        if name in _QUANTILES:
            return self._quantile(name, x, at)
        if name in ("pdf", "cdf", "sf"):
            total = 0.0
            for part, weight in parts:
                total = at(maps.LOCATED, at.of(part, name, x), total, weight)
            return total
        if name == "logpdf":
            return self._log_of(name, x, at)
        return at(maps.LOG_TAIL, self._log_of(name, x, at), self._log_of(_OTHER_TAIL[name], x, at))

    def _log_of(self, name, x, at):
        total = -math.inf
        for part, weight in self._parts():
            total = at(maps.LOG_SUM, at.of(part, name, x), math.log(weight), total)
        return total

    def _quantile(self, name, u, at):
        found = [at.of(part, name, u) for part, _ in self._parts()]
        low = high = found[0]
        start = 0.0
        for value, (_, weight) in zip(found, self._parts(), strict=True):
            low, high = at(maps.SMALLER, value, low), at(maps.LARGER, value, high, -math.inf)
            start = at(maps.LOCATED, value, start, weight)
        start = at(maps.CLIPPED, start, low, high)
        ends = (low, high) if name == "ppf" else (high, low)
        positive = all(np.all(part.support()[0] >= 0.0) for part, _ in self._parts())  # quantiles may be near 0 or far away
        return at(maps.AT_ENDS, u, self._solved(u, name, low, high, start, positive, at), *ends)

    def mean(self) -> Any:
        """Mean."""
        return self._batch(sum(weight * part.mean() for part, weight in self._parts()))

    def _central(self, power):
        """A central moment, from those of the components."""
        mean = sum(weight * part.mean() for part, weight in self._parts())
        total = 0.0
        for part, weight in self._parts():
            d, var = part.mean() - mean, part.var()
            moments = [1.0, 0.0, var]
            if power > 2:
                moments += [part.skewness() * var**1.5, (part.kurtosis() + 3.0) * var**2]
            total = total + weight * sum(math.comb(power, k) * moments[k] * d ** (power - k) for k in range(power + 1))
        return total

    def _places(self):
        return [place for part, _ in self._parts() for place in (*_places_of(part), *part.support())]

    def _integral(self, func, lb, ub):
        return sum(weight * part.expect(func, lb=lb, ub=ub) for part, weight in self._parts())

    def _draws(self, shape, options):
        key = int(normalise_rng(options["rng"]))
        u = random.uniform(0.0, 1.0, shape, **options | {"rng": key})
        value, first = None, 0.0
        for k, (part, weight) in enumerate(self._parts()):
            drawn = part._draws(shape, options | {"rng": np.random.SeedSequence([key, k])})
            value = drawn if value is None else _drawn(options, maps.PICKED, u, first, drawn, value)
            first += weight
        return value


def _shown(value):
    """Python code of a number or an array of numbers."""
    return (
        np.array2string(value, separator=", ")
        if np.ndim(value)
        else f"float({str(value)!r})"
        if not np.isfinite(value)
        else repr(value)
    )


# -- a probability at 0 ---------------------------------------------------------------------------------------------


class _WithZeros(_Composed):
    """The distribution of a value that is 0 with the probability `zeros`, else one of a distribution."""

    names, family = ("distribution", "zeros"), "with_zeros"

    def __init__(self, distribution: Distribution, zeros: ArrayLike):
        self._compose([distribution], "distribution", zeros=zeros)
        share = np.asarray(self.params.zeros)
        if (wrong := ~(((share >= 0.0) & (share < 1.0)) | np.isnan(share))).any():
            raise ValueError(f"zeros={float(share[wrong][0])!r} must be a probability below 1, that of a zero beside those of X")

    def __repr__(self) -> str:
        return f"with_zeros({self.params.distribution!r}, zeros={_shown(self.params.zeros)})"

    @functools.cached_property
    def _logs(self):
        """Logarithms of the probabilities of a zero, and of the others."""
        with np.errstate(divide="ignore"):
            return np.log(self.params.zeros), np.log1p(-np.asarray(self.params.zeros))[()]

    @functools.cached_property
    def _sides(self):
        """Probabilities of X < 0 and X > 0."""
        base = self.params.distribution
        below = 0.0 if base.is_discrete else base.cdf(0.0)
        return below, base.sf(0.0)

    def support(self) -> tuple[Any, Any]:
        """Ends of the support."""
        low, high = self.params.distribution.support()
        some = np.greater(self.params.zeros, 0.0)
        return self._batch(np.where(some, np.minimum(low, 0.0), low)), self._batch(np.where(some, np.maximum(high, 0.0), high))

    def _value(self, name, x, at):
        base, zeros = self._arguments()
        if name in _QUANTILES:
            return self._quantile(name, x, at)
        if name in ("logcdf", "logsf"):
            return at(maps.LOG_TAIL, self._log_of(name, x, at), self._log_of(_OTHER_TAIL[name], x, at))
        if name.startswith("log"):
            return self._log_of(name, x, at)
        if name == "pdf":  # which has no bound at the zeros
            zeros = np.where(np.greater(zeros, 0.0), math.inf, 0.0)[()]
        return at(maps.LOCATED, at.of(base, name, x), self._at_0(name, x, zeros, 0.0, at), 1.0 - self.params.zeros)

    def _log_of(self, name, x, at):
        log_zeros, log_rest = self._logs
        if name == "logpdf":
            log_zeros = np.where(np.greater(self.params.zeros, 0.0), math.inf, -math.inf)[()]
        return at(maps.LOG_SUM, at.of(self.params.distribution, name, x), log_rest, self._at_0(name, x, log_zeros, -math.inf, at))

    def _at_0(self, name, x, value, none, at):
        """What the zeros have part in a function: a value where they count, else another one."""
        if name.endswith("sf"):
            return at(maps.PICKED, x, 0.0, none, value)
        counted = at(maps.PICKED, x, 0.0, value, none)
        return counted if name.endswith("cdf") else at(maps.PICKED, at(maps.STANDARDISED, x, 0.0, -1.0), 0.0, counted, none)

    def _quantile(self, name, u, at):
        base, zeros = self._arguments()
        rest, (below, above) = 1.0 - zeros, self._sides
        first, last = (self if self._labels is None else self._bare()).support()[:: 1 if name == "ppf" else -1]
        near, far = (below, above) if name == "ppf" else (above, below)  # of 0, on the side where u = 0 is and on the other
        mine, other = at(maps.LEVEL, u, 0.0, 1.0 / rest), at(maps.LEVEL, u, 1.0 / rest, -1.0 / rest)
        capped = at(maps.CLIPPED, mine, 0.0, 1.0), at(maps.CLIPPED, other, 0.0, 1.0)
        values = at.of(base, name, capped[0]), at.of(base, _OTHER_TAIL[name], capped[1])
        value = at(maps.PICKED, at(maps.STANDARDISED, other, 0.0, -1.0), -far, values[1], 0.0)
        value = at(maps.PICKED, at(maps.STANDARDISED, mine, 0.0, -1.0), -near, values[0], value)
        value = at(maps.LOCATED, at(maps.LEVEL, u, 0.0, 0.0), value, 1.0)  # NaN where u is no probability
        return at(maps.AT_ENDS, u, value, first, last)

    def mean(self) -> Any:
        """Mean."""
        return self._batch((1.0 - self.params.zeros) * self.params.distribution.mean())

    def var(self) -> Any:
        """Variance."""
        base, zeros = self._arguments()
        return self._batch((1.0 - zeros) * (base.var() + zeros * np.square(base.mean())))

    def _central(self, power):
        """A central moment, from those of the values beside the zeros."""
        base, zeros = self._arguments()
        mean, var = base.mean(), base.var()
        away, moments = zeros * mean, [1.0, 0.0, var]
        if power > 2:
            moments += [base.skewness() * var**1.5, (base.kurtosis() + 3.0) * var**2]
        others = sum(math.comb(power, k) * moments[k] * away ** (power - k) for k in range(power + 1))
        return zeros * (away - mean) ** power + (1.0 - zeros) * others

    def _integral(self, func, lb, ub):
        base, zeros = self._arguments()
        inside = np.less_equal(lb, 0.0) & np.greater_equal(ub, 0.0)
        at_0 = np.asarray(func(np.zeros((*self.batch_shape, 1))))[..., 0]
        return np.where(inside, zeros * at_0, 0.0) + (1.0 - zeros) * base.expect(func, lb=lb, ub=ub)

    def _shortfall(self, p, upper):
        base, zeros = self._arguments()
        rest, before = 1.0 - zeros, self._sides[1 if upper else 0]  # the share before the zeros are reached
        share = np.where(p <= rest * before, p / rest, np.where(p <= rest * before + zeros, before, (p - zeros) / rest))
        some = share > 0.0
        return np.where(some, rest * share * base.expected_shortfall(np.where(some, share, 0.5), upper=upper) / p, 0.0)

    def entropy(self) -> Any:
        """A density with a probability at 0 has no entropy: TypeError."""
        raise TypeError(f"{self!r} has a density and a probability at 0, and no entropy; ask the distribution without the zeros")

    def table(self, base: Any = "uniform", **options: Any) -> Any:
        """Quantiles that jump have no table: TypeError."""
        raise TypeError(
            f"{self!r} has a probability at 0, where its quantiles stand; ask the distribution without it for a table"
        )

    def to_scipy(self) -> Any:
        """SciPy has no such distributions: TypeError."""
        raise TypeError(f"{self!r} has a probability at 0, which distributions of SciPy have not; hand over the one without it")

    def _places(self):
        return [*_places_of(self.params.distribution), 0.0]

    def _draws(self, shape, options):
        key = int(normalise_rng(options["rng"]))
        others = self.params.distribution._draws(shape, options | {"rng": np.random.SeedSequence([key, 0])})
        return others * (random.uniform(0.0, 1.0, shape, **options | {"rng": key, "dtype": None}) >= self.params.zeros)


class _CountsWithZeros(_WithZeros, Counts):
    """The same of counts, whose own zeros are beside these."""

    table = Counts.table  # type: ignore[assignment]

    def _quantile(self, name, u, at):
        """The least count, whatever rounding errors levels have."""
        k, tail = super()._quantile(name, u, at), _TAIL[name]
        before = at(maps.LOCATED, k, -1.0, 1.0)
        here, there = self._value(tail, k, at), self._value(tail, before, at)
        pair = (here, u), (there, u)
        if tail == "sf":
            pair = (u, here), (u, there)
        value = at(maps.PICKED, *pair[0], k, at(maps.LOCATED, k, 1.0, 1.0))
        value = at(maps.PICKED, *pair[1], before, value)
        return at(
            maps.AT_ENDS, u, value, *(self if self._labels is None else self._bare()).support()[:: 1 if tail == "cdf" else -1]
        )

    def entropy(self) -> Any:
        """Entropy, minus the mean of the logarithm of the probability, in nats, by a sum."""
        return self._batch(self.expect(lambda k: -self._with_axis().logpmf(k)))


@names_ours
def with_zeros(distribution: Distribution, zeros: ArrayLike) -> Distribution:
    """Distribution of a value that is 0 with a probability of its own, else one of X: zero-inflated counts, days without rain.

    Parameters
    ----------
    distribution : Distribution
        Of X, continuous or of counts, whose zeros are then beside the others; also a batch.
    zeros : array_like
        Probability of these zeros, from 0 on and below 1; broadcast against the parameters.

    Returns
    -------
    Distribution
        With the name `zeros` beside that of the distribution in `params`. ``found.whole`` of a fit with ``zeros=`` is one.

    Raises
    ------
    TypeError
        For what is no distribution.
    ValueError
        For zeros that are no probability, or 1.

    Notes
    -----
    Of continuous X the distribution function jumps at 0, where the density is infinite, and quantiles stand there. Tails,
    quantiles and moments are as exact as those of X.

    Examples
    --------
    >>> from numbastats.distributions import Gamma, Poisson, with_zeros
    >>> d = with_zeros(Poisson(2.0), zeros=0.3)
    >>> d.pmf([0, 1]).round(6), float(d.mean()), float(d.var().round(6))
    (array([0.394735, 0.189469]), 1.4, 2.24)
    >>> rain = with_zeros(Gamma(0.8, scale=5.0), zeros=0.6)
    >>> rain.cdf([0.0, 5.0]).round(6), rain.ppf([0.5, 0.9]).round(6)
    (array([0.6     , 0.887428]), array([0.      , 5.529403]))
    """
    counts = isinstance(distribution, Distribution) and distribution.is_discrete
    return (_CountsWithZeros if counts else _WithZeros)(distribution, zeros)


def log_probability(d, low, high):
    """Logarithm of the probability that values of distributions lie between two ends, of counts that they are one of these."""
    if not d.is_discrete:
        return _log_mass(d, low, high, *([d.logcdf(end), d.logsf(end)] for end in (low, high)), _Where())
    before = np.ceil(low) - 1.0
    return maps.LOG_SHARE(d.logcdf(high), d.logsf(high), d.logcdf(before), d.logsf(before), 0.0)


# -- functions ------------------------------------------------------------------------------------------------------


@names_ours
def truncate(distribution: Distribution, lb: ArrayLike = -math.inf, ub: ArrayLike = math.inf) -> Distribution:
    """Distribution of X given that it lies between two ends, of any distribution.

    Parameters
    ----------
    distribution : Distribution
        Of X; also a batch.
    lb, ub : array_like, optional
        Ends in units of x, lb < ub; broadcast against the parameters.

    Returns
    -------
    Distribution
        With the names `lb` and `ub` beside that of the distribution in `params`.

    Raises
    ------
    TypeError
        For what is no distribution.
    ValueError
        Where there is no mass between the ends.

    Notes
    -----
    Masses of intervals are differences of whichever tail is the smaller, and below a hundredth of that the integral of the
    density by Gauss and Legendre, if it agrees with the difference within rounding errors. So both tails and quantiles keep
    their relative accuracy next to infinite and finite ends, and far out, where the mass underflows: errors of 1e-13, and of the
    distribution's own logarithms. On a GPU quantiles next to a finite end are exact relative to the scale.

    Examples
    --------
    >>> from numbastats.distributions import StudentT, truncate
    >>> d = truncate(StudentT(4.0), lb=0.0)
    >>> float(d.mean().round(6)), float(d.cdf(1e-12).round(18)), d.support()[0].item()
    (1.0, 7.5e-13, 0.0)
    """
    return _Truncated(distribution, lb, ub)


def exp(distribution: Distribution) -> Distribution:
    """Distribution of e^X, for a distribution of X on any support.

    Parameters
    ----------
    distribution : Distribution

    Returns
    -------
    Distribution
        With tails and quantiles as exact as those of X; mean, variance and entropy by integration.

    Raises
    ------
    TypeError
        For what is no distribution.

    Examples
    --------
    >>> from numbastats.distributions import Lognormal, Normal, exp
    >>> d = exp(Normal(0.0, 0.5))
    >>> float((d.sf(3.0) / Lognormal(0.5).sf(3.0)).round(12))
    1.0
    """
    return _Exp(distribution)


def log(distribution: Distribution) -> Distribution:
    """Distribution of the natural logarithm of X.

    Parameters
    ----------
    distribution : Distribution
        Of X, with no support below 0.

    Returns
    -------
    Distribution
        With tails and quantiles as exact as those of X; mean, variance and entropy by integration.

    Raises
    ------
    TypeError
        For what is no distribution.
    ValueError
        For X with values below 0.

    Examples
    --------
    >>> from numbastats.distributions import Exponential, log
    >>> float(log(Exponential()).mean().round(10))  # minus Euler's constant
    -0.5772156649
    """
    return _Log(distribution)


def abs(distribution: Distribution) -> Distribution:
    """Distribution of the absolute value of X.

    Parameters
    ----------
    distribution : Distribution

    Returns
    -------
    Distribution

    Raises
    ------
    TypeError
        For what is no distribution.

    Notes
    -----
    The upper tail is a sum of two, the lower one the mass of an interval as in `truncate`, so that both keep their relative
    accuracy. Quantiles by Newton's method, from a bracket of quantiles of X; many of one distribution come from a table.

    Examples
    --------
    >>> import numbastats as ns
    >>> d = ns.distributions.abs(ns.distributions.Normal())
    >>> float(d.ppf(0.95).round(6)), f"{d.sf(10.0):.6e}"
    (1.959964, '1.523971e-23')
    """
    return _Abs(distribution)


@names_ours
def order_statistic(distribution: Distribution, *, r: ArrayLike, n: ArrayLike) -> Distribution:
    """Distribution of the r-th smallest of n independent values of X.

    Parameters
    ----------
    distribution : Distribution
    r, n : array_like
        Rank from below and size of the sample, whole numbers with 1 <= r <= n; broadcast against the parameters.

    Returns
    -------
    Distribution
        With the names `r` and `n` beside that of the distribution in `params`.

    Raises
    ------
    TypeError
        For what is no distribution.
    ValueError
        For other r and n.

    Notes
    -----
    The regularised incomplete beta function with parameters r and n - r + 1 of both tails of X, and of their logarithms: relative
    errors of 1e-13 more than those of X, for n up to 1e6.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., Wiley (2003), eq. 2.1.5.

    Examples
    --------
    >>> from numbastats.distributions import Uniform, order_statistic
    >>> d = order_statistic(Uniform(), r=2, n=5)
    >>> float(d.mean().round(12)), float(d.cdf(0.5).round(6))
    (0.333333333333, 0.8125)
    """
    return _OrderStatistic(distribution, r, n)
