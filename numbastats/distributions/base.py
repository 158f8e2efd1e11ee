"""Base of all families: functions of data and parameters, and tables for fixed parameters."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import numbastats.random as random
from numbastats._core.broadcast import size_to_shape
from numbastats._core.checks import refuse_mask
from numbastats._core.elementwise import any_lazy, as_double, by_labels, deliver, elementwise, in_blocks, in_float32
from numbastats._core.kinds import device_kind, first_array, has_labels, in_kind_of, to_host
from numbastats._core.launch import choose_device
from numbastats._core.parallel import check_workers
from numbastats.distributions import kernels
from numbastats.quantile import Recycler, arguments, panels, quantile_table
from numbastats.scalar.tables import SIDE_COLUMNS

__all__ = ["Family", "FrozenDistribution", "as_float", "named_error", "panels_of", "times_exp"]

Device = arguments.Device
_MEMORY = 1 << 26  # bytes of tables that a family keeps: 240 of 270 KiB, fewer of steep distributions
_BATCH = 64  # tables in memory at a time when a function is called with many sets of parameters


def times_exp(body, exponent, lift):
    """Body times e^exponent times 2^lift, which is room for the tails; through the logarithm where e^exponent underflows."""
    product = body * 2.0**lift * np.exp(exponent)  # no underflow before the lift
    deep = exponent < -600
    if deep.any():
        # a body beyond the doubles belongs to an exponent that is far smaller
        product[deep] = np.exp((exponent[deep] + lift * math.log(2)) + np.log(np.minimum(body[deep], 1e308)))
    return product


class Family:
    """A family of distributions: functions of data and parameters, and ``distribution(*params)`` for fixed ones.

    A subclass states `name`, `names` and `defaults` of its parameters, and defines five methods. The first takes parameters that
    broadcast, the others one set in the general form that `_general` gives.

    ``_density_values(kind, x, params, options)``
        Values of the density (kind "pdf") or its logarithm ("logpdf"), in an array of the kind of `x`.
    ``_problem(*general)``
        What is wrong with the parameters; None where they are in the domain.
    ``_described(*general)``
        Density of `panels.Masses` and its options for parameters in the domain; ValueError where there is none.
    ``_moments(*general)``
        Mean and variance for parameters in the domain.
    ``_shape(*general)``
        Skewness and excess kurtosis.

    Called with its parameters a family gives a `FrozenDistribution`, or a ValueError where they are out of the domain. Its
    methods `pdf logpdf cdf sf ppf isf` take data first, then the parameters, which broadcast; `rvs mean var std skewness kurtosis
    median` the parameters; out of the domain they give NaN.
    """

    name = ""
    names: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()  # of the last parameters
    base = "uniform"  # default of the tables with fixed parameters

    _density_values: Callable[..., Any]
    _moments: Callable[..., Any]
    _shape: Callable[..., Any]

    def __init__(self):
        self.__name__ = self.name
        self._made, self._lock = {}, threading.Lock()  # tables by sets of parameters

    def __repr__(self):
        return f"<distribution {self.name}({', '.join(self.names)})>"

    def __reduce__(self):
        return self.name

    # -- hooks of a family --------------------------------------------------------------------------------------

    def _general(self, *params):
        """Maps parameters to those of the family's general form."""
        return params

    # functions of values, the parameters of each (along the last axis) and whether tails are upper ones, for more than `_BATCH`
    # sets of parameters; a family without them uses panels and tables
    _many_probabilities = None
    _many_quantiles = None

    # -- parameters ---------------------------------------------------------------------------------------------

    def __call__(
        self,
        *params: ArrayLike,
        base: Any = None,
        accuracy: Literal["double", "full"] = "double",
        degree: Literal[5, 7] = 7,
        tail: float | None = None,
        device: Device = None,
        workers: Any = None,
        **named: ArrayLike,
    ):
        """Fix the parameters.

        Parameters
        ----------
        *params, **named : array_like
            See the family.
        base : optional
            As for `Recycler`; by default "normal" for `student_t`, "uniform" for the others.
        accuracy, degree, tail, device, workers
            As for `Recycler`.

        Returns
        -------
        FrozenDistribution

        Raises
        ------
        ValueError
            For parameters out of the domain; in a batch such a set is NaN and ``certificate.ok`` is False there.
        """
        base = self.base if base is None else base
        return FrozenDistribution(self, self._bind(params, named), base, accuracy, degree, tail, device, workers)

    def _bind(self, params, named):
        """All parameters by position, defaults filled in."""
        values = dict(zip(self.names, params, strict=False))
        if len(params) > len(self.names) or set(named) - set(self.names) or set(named) & set(values):
            raise TypeError(
                f"{self.name} takes {', '.join(self.names)}; got {len(params)} values by position and {sorted(named)} by name"
            )
        values |= named
        required = len(self.names) - len(self.defaults)
        values |= {n: d for n, d in zip(self.names[required:], self.defaults, strict=True) if n not in values}
        missing = [n for n in self.names if n not in values]
        if missing:
            raise TypeError(f"{self.name} misses {', '.join(missing)}; it takes {', '.join(self.names)}")
        for value in values.values():
            refuse_mask(value)
        return tuple(values[n] for n in self.names)

    def _describe(self, *params):
        """Density and options of one set of parameters; ValueError out of the domain."""
        general = self._general(*(float(p) for p in params))
        problem = self._problem(*general)
        if problem:
            raise ValueError(problem)
        return self._described(*general)

    # -- density ------------------------------------------------------------------------------------------------

    def pdf(
        self,
        x: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        **named: ArrayLike,
    ):
        """Density at x.

        Parameters
        ----------
        x : array_like
        *params, **named : array_like
            See the family; broadcast against `x`.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar
            NaN out of the domain. In float32 the tails have errors to 200 ulp; ``dtype="float64"`` has not.
        """
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return self._density("pdf", x, self._bind(params, named), options)

    def logpdf(
        self,
        x: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        **named: ArrayLike,
    ):
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
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return self._density("logpdf", x, self._bind(params, named), options)

    def _density(self, method, x, params, options):
        if any_lazy((x, *params)):
            return self._blocks(method, (x, *params), options)
        return self._density_values(method, x, params, options)

    def _blocks(self, method, values, options):
        """One of the functions of x, of dask's arrays."""
        work = functools.partial(_block, self, method, options["device"])
        return in_blocks(work, ("x", *self.names), values, options)

    # -- distribution function -----------------------------------------------------------------------------------

    @np.errstate(under="ignore", over="ignore")  # tails underflow; in float32 the last panel may begin beyond the range
    def _distribution(self, x, params, upper, out, dtype, device, workers, stream):
        if any_lazy((x, *params)):
            options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
            return self._blocks("sf" if upper else "cdf", (x, *params), options)
        if any(map(has_labels, (x, *params))):
            values, rest = (x, *params), (upper, out, dtype, device, workers, stream)
            return by_labels(lambda x, *params: self._distribution(x, params, *rest), ("x", *self.names), values, out)
        dtype = arguments.float_type((x, *params), dtype)
        x, like = _in_one_kind(x, params, dtype)
        sets, index = _sets(params)
        if len(sets) > _BATCH and self._many_probabilities is not None:
            choose_device(device, on_device=bool(device_kind(like)))
            check_workers(workers)
            result = self._many_probabilities(to_host(x, "x"), np.array(sets)[index], upper).astype(dtype)
            return deliver(in_kind_of(result, like), out, dtype)
        parts = [panels_of(self, values) for values in sets]
        first = np.cumsum([0, *(len(rows) for rows, _ in parts)])[:-1]
        header = np.array([numbers for _, numbers in parts]).reshape(-1, 6) + first[:, None] * [0, 0, 0, 0, 1, 1]
        header = header[index]
        tables = [rows for rows, _ in parts] or [np.zeros((0, SIDE_COLUMNS))]
        table = tables[0] if len(tables) == 1 else np.concatenate(tables)  # of one distribution it stays on a GPU
        wide = dtype == np.float32 and not _fits_float32(table)
        result = elementwise(
            lambda d: kernels.DISTRIBUTION,
            ("x", *["the parameters"] * 6),
            (as_double(x, stream) if wide else x, *(header[..., i][()] for i in range(6))),
            extras=lambda d: (np.int64(upper), table.astype(d, copy=False)),
            out=None if wide else out,
            dtype=np.dtype(np.float64) if wide else dtype,
            device=device,
            workers=workers,
            stream=stream,
            cost=60.0,
        )
        return in_float32(result, out, stream) if wide else result

    def cdf(
        self,
        x: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        **named: ArrayLike,
    ):
        """Distribution function at x, with relative accuracy in the lower tail, from masses of the density that are kept.

        Parameters
        ----------
        x : array_like
        *params, **named, out, dtype, device, workers, stream
            As in `pdf`.

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

    def sf(
        self,
        x: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        **named: ArrayLike,
    ):
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
        made = FrozenDistribution(self, tuple(np.array(c) for c in zip(*sets, strict=True)), quiet=True)
        for values, ok in zip(sets, made.certificate.ok, strict=True):
            if not ok and not self._problem(*self._general(*values)):
                FrozenDistribution(self, values)  # raises with the reason
        return made

    def _tables(self, sets):
        """Tables of these sets of parameters, cached up to `_MEMORY` bytes."""
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
        if any_lazy((u, *params)):
            return self._blocks(method, (u, *params), dict(out=out, dtype=dtype, device=device, workers=workers))
        if any(map(has_labels, (u, *params))):
            values, rest = (u, *params), (out, dtype, device, workers)
            return by_labels(lambda u, *params: self._quantile(method, u, params, *rest), ("u", *self.names), values, out)
        dtype = arguments.float_type((u, *params), dtype)
        u, like = _in_one_kind(u, params, dtype)
        sets, index = _sets(params)
        options = dict(dtype=dtype, device=device, workers=workers)
        if 0 < len(sets) <= _BATCH:
            return getattr(self._tables(tuple(sets))._select(index), method)(u, out=out, **options)
        check_workers(workers)
        chosen = choose_device(device, on_device=bool(device_kind(like)))
        if device_kind(like):
            options["device"] = chosen
        u = np.asarray(to_host(u, "u"))
        shape = np.broadcast_shapes(u.shape, index.shape)
        u, index, result = np.broadcast_to(u, shape), np.broadcast_to(index, shape), np.empty(shape, dtype)
        if sets and self._many_quantiles is not None:
            result[...] = self._many_quantiles(u, np.array(sets)[index], method == "isf")
            return deliver(in_kind_of(result, like), out, dtype)
        for first in range(0, len(sets), _BATCH):
            use = (index >= first) & (index < first + _BATCH)
            table = self._build(tuple(sets[first : first + _BATCH]))
            result[use] = getattr(table._select(index[use] - first), method)(u[use], **options)
        return deliver(in_kind_of(result, like), out, dtype)

    def ppf(
        self,
        u: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        **named: ArrayLike,
    ):
        """Quantile at lower tail probability u, from tables that are built as needed (5 ms each) and kept.

        Parameters
        ----------
        u : array_like
        *params, **named : array_like
            See the family; broadcast against `u`.
        out, dtype, device, workers : optional
            The options of every function: :doc:`/options`.

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

    def isf(
        self,
        p: ArrayLike,
        *params: ArrayLike,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        **named: ArrayLike,
    ):
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

    def rvs(
        self,
        *params: ArrayLike,
        size: int | tuple[int, ...] | None = None,
        rng: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        **named: ArrayLike,
    ):
        """Random variates by inversion.

        Parameters
        ----------
        *params, **named : array_like
            See the family.
        size : int or tuple of int, optional
            By default the shape of the parameters; a keyword, as the last parameters of a distribution may be left out.
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

    def _moment(self, hook, which, params, named):
        """One of the pair that `_moments` or `_shape` gives, for all sets of parameters."""
        values = self._bind(params, named)
        if any(map(has_labels, values)):
            return by_labels(lambda *plain: self._moment(hook, which, plain, {}), self.names, values)
        sets, index = _sets(values)
        found = np.empty(len(sets))
        for i, values in enumerate(sets):
            general = self._general(*values)
            try:
                found[i] = math.nan if self._problem(*general) else hook(*general)[which]
            except ValueError as error:
                raise named_error(self, values, error) from None
        return found[index][()]

    def mean(self, *params: ArrayLike, **named: ArrayLike):
        """Mean, with a relative error of 1e-14 where mu is 0.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain and where there is no mean: Student's t with nu <= 1.

        Raises
        ------
        ValueError
            Where sqrt(alpha^2 - beta^2) delta is below 1e-70, or alpha^2 overflows, for distributions with a delta.
        """
        return self._moment(self._moments, 0, params, named)

    def var(self, *params: ArrayLike, **named: ArrayLike):
        """Variance, with a relative error of 1e-14.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain and where there is no mean; inf for Student's t with 1 < nu <= 2.

        Raises
        ------
        ValueError
            As `mean`.
        """
        return self._moment(self._moments, 1, params, named)

    def std(self, *params: ArrayLike, **named: ArrayLike):
        """Standard deviation: the root of `var`.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        float64 array or scalar
        """
        return np.sqrt(self.var(*params, **named))

    def skewness(self, *params: ArrayLike, **named: ArrayLike):
        """Skewness: the third central moment over the third power of the standard deviation; relative error 1e-12.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain, and for Student's t with nu <= 3.

        Raises
        ------
        ValueError
            As `mean`.
        """
        return self._moment(self._shape, 0, params, named)

    def kurtosis(self, *params: ArrayLike, **named: ArrayLike):
        """Excess kurtosis, 0 for the normal distribution, as in SciPy; relative error 1e-12.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain; for Student's t infinite where 2 < nu <= 4 and NaN where nu <= 2.

        Raises
        ------
        ValueError
            As `mean`.
        """
        return self._moment(self._shape, 1, params, named)

    def median(self, *params: ArrayLike, **named: Any):
        """The quantile at 1/2.

        Parameters
        ----------
        *params, **named : array_like
            See the family.

        Returns
        -------
        array or scalar
        """
        return self.ppf(0.5, *params, **named)


class FrozenDistribution(Recycler):
    """A distribution with its parameters fixed: `Recycler` with exact densities and distribution functions.

    Made by calling a family with its parameters, for example ``student_t(4.0)``.
    """

    def __init__(
        self, family, params, base="uniform", accuracy="double", degree=7, tail=None, device=None, workers=None, quiet=False
    ):
        if not isinstance(family, Family):
            raise TypeError(f"family is a {type(family).__name__}; call a family with its parameters, such as student_t(4.0)")
        self.family = family
        shift = params[family.names.index("mu")] if "mu" in family.names else 0.0
        order = arguments.check_order(base, accuracy, degree, tail)
        parameters = arguments.check_parameters(params)
        density = arguments.Density(family._describe, scan=False, named=functools.partial(named_error, family))
        self._build(density, parameters, order, device, workers, shift, quiet)
        self.norm_const = np.where(self.certificate.ok, 1.0, math.nan)[()]  # the table's own density has a factor

    def __repr__(self):
        values = ", ".join(f"{n}={p}" for n, p in zip(self.family.names, self.params, strict=True))
        return f"{self.family.__name__}({values})"

    def pdf(self, x: ArrayLike, **options: Any):
        """Density at x; `options` are those of `Family.pdf`: out, dtype, device, workers, stream."""
        return self._of_family(self.family.pdf, x, options)

    def logpdf(self, x: ArrayLike, **options):
        """Logarithm of the density at x; see `Family.logpdf`."""
        return self._of_family(self.family.logpdf, x, options)

    def cdf(self, x: ArrayLike, **options):
        """Distribution function at x; see `Family.cdf`."""
        return self._of_family(self.family.cdf, x, options)

    def sf(self, x: ArrayLike, **options):
        """Upper tail probability at x; see `Family.sf`."""
        return self._of_family(self.family.sf, x, options)

    def mean(self):
        """Mean; see `Family.mean`."""
        return self.family.mean(*self.params)

    def var(self):
        """Variance; see `Family.var`."""
        return self.family.var(*self.params)

    def std(self):
        """Standard deviation."""
        return self.family.std(*self.params)

    def skewness(self):
        """Skewness; see `Family.skewness`."""
        return self.family.skewness(*self.params)

    def kurtosis(self):
        """Excess kurtosis; see `Family.kurtosis`."""
        return self.family.kurtosis(*self.params)

    def median(self):
        """The quantile at 1/2."""
        return self.ppf(0.5)

    def _of_family(self, function, x, options):
        values = tuple(float(p) if p.ndim == 0 else p for p in self.params)
        kept = {name: getattr(self, name) for name in ("device", "workers") if options.get(name) is None}
        if not any_lazy((x,)):
            kept["dtype"] = arguments.float_type((x,), options.get("dtype"), self._table.param_dtype)
        return function(x, *values, **options | kept)


def _block(family, method, device, *values, dtype, workers):
    """A function of one block; a module's function, so that processes can be sent it."""
    return getattr(family, method)(*values, dtype=dtype, device=device, workers=workers)


def _in_one_kind(x, params, dtype):
    """Data as the kind of array that the result will be, and an array of that kind (None: NumPy)."""
    like = first_array((x, *params))
    if like is None or type(x) is type(like) and device_kind(x) == device_kind(like):
        return x, like
    return in_kind_of(np.array(to_host(x, "an argument"), dtype), like), like


def _sets(params):
    """The distinct sets of parameters, and the index of the set at each element of their broadcast shape."""
    arrays = [np.asarray(to_host(p, "a parameter"), np.float64) for p in params]
    if all(a.size == 1 for a in arrays):
        return [tuple(a.item() for a in arrays)], np.zeros(np.broadcast_shapes(*(a.shape for a in arrays)), np.int64)
    arrays = np.broadcast_arrays(*arrays)
    sets, index = np.unique(np.stack([a.ravel() for a in arrays], axis=1), axis=0, return_inverse=True)
    return list(map(tuple, sets.tolist())), index.reshape(arrays[0].shape)


def as_float(p):
    """A parameter as a floating-point array or number; integers become float64."""
    return p if hasattr(p, "dtype") else np.asarray(p, dtype=np.float64)[()]


def named_error(family, values, error):
    """The error with the parameters named in its message."""
    listed = ", ".join(f"{n}={float(v)!r}" for n, v in zip(family.names, values, strict=True))
    return ValueError(f"{family.name}({listed}): {error}")


@functools.lru_cache(maxsize=256)
def panels_of(family, values):
    """Panels of one set of parameters for `tail_probability`, and its numbers: mu, anchor, rows on the left and on the right."""
    if family._problem(*family._general(*values)):
        return np.full((1, SIDE_COLUMNS), math.nan), (math.nan, 0.0, 1, 1, 0, 0)
    mu = values[family.names.index("mu")] if "mu" in family.names else 0.0
    try:
        density, options = family._describe(*values)
        masses = panels.Masses(density, depth="tail", **options)
    except ValueError as error:
        raise named_error(family, values, error) from None
    pairs = list(zip(masses.sides, masses.p[::-1], strict=True))[1 if masses.symmetric else 0 :]
    sides = [_NO_SIDE if side is None else panels.side_rows(side, masses.norm, p) for side, p in pairs]
    counts = len(sides[0]), len(sides[-1])
    return np.concatenate(sides), (mu, masses.anchor, *counts, 0, counts[0] if len(sides) > 1 else 0)


def _fits_float32(table):
    """Whether panels keep their places in float32: heavy tails go beyond it, poles and small scales below."""
    with np.errstate(over="ignore"):
        centre = table[:, 1].astype(np.float32)
    return len(table) <= quantile_table.EXACT32 and not ((centre == 0) | np.isinf(centre)).any()


_NO_SIDE = np.zeros((1, SIDE_COLUMNS))  # it has next to no mass
_NO_SIDE[0, [1, -1]] = 1.0
