"""The protocol of distribution objects: what follows from a density, its tails and its quantiles, written once."""

from __future__ import annotations

import collections
import functools
import html
import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import numbastats.random as random
from numbastats._core.broadcast import as_host, dtype_of, real64, result_dtype, size_to_shape
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, choice, doubt_per_cent, refuse_mask
from numbastats._core.device import Device as Streams
from numbastats._core.elementwise import elementwise
from numbastats._core.errors import METHODS, names_ours
from numbastats._core.inputs import PLAIN, any_lazy, apply, as_double, deliver, in_float32
from numbastats._core.kinds import (
    LABELLED,
    NUMPY,
    aligned,
    device_kind,
    first_array,
    has_labels,
    in_kind_of,
    kind_of,
    numpy_dtype,
    to_host,
)
from numbastats._core.launch import choose_device
from numbastats._core.options import DEFAULTS, ArrayOptions, Device, hands_on
from numbastats._core.parallel import check_workers, in_threads, threads_beside, worker_count
from numbastats._core.refusals import Admitted
from numbastats._core.results import Table
from numbastats._core.slabs import SLAB, cuts
from numbastats.distributions import tables
from numbastats.distributions.arguments import FitOptions, QuantileOptions, TableOptions
from numbastats.distributions.contains import Contains
from numbastats.distributions.integrals import over_probabilities
from numbastats.distributions.kernels.hazards import FAR, HAZARD
from numbastats.distributions.kernels.maps import LOCATED
from numbastats.distributions.kernels.points import Points

__all__ = ["Device", "Distribution", "LocationScale", "OneShape", "in_units", "scipy_family", "scipy_methods"]

_QUANTILES = ("ppf", "isf")
_HAZARDS = ("hazard", "cumulative_hazard")
_FEW = 100  # draws


@names_ours
class Distribution:
    """A distribution with its parameters, or a batch of them with parameters of any broadcast shape; immutable.

    Attributes
    ----------
    params : named tuple
        The parameters in the order of the constructor: numbers, or read-only float64 arrays.
    loc, scale : float or numpy.ndarray
    batch_shape : tuple of int
        The broadcast shape of the parameters, () for one distribution.

    Notes
    -----
    The functions of x broadcast x against `batch_shape`. They compute in double precision; the result has the float type of x
    (``dtype=`` changes it), whatever the parameters' type. A parameter outside its domain raises ValueError; NaN is allowed in
    a batch, and gives NaN.

    Parameters with labels keep them. Arrays of xarray broadcast by the names of their dimensions, against each other and against
    x, and have equal coordinates; series and frames of pandas have an equal index (and columns), where a series goes with the
    columns of a frame; anything else is refused. Results of `batch_shape` and functions of x have the labels.

    Two distributions are equal when they are of one class and have the same parameters in the same shapes; equal ones have
    equal hashes.
    """

    is_discrete: ClassVar[bool] = False
    names: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str] = ""  # the word for it in functions that take a family
    aliases: ClassVar[tuple[str, ...]] = ()  # what SciPy and others call it
    _support_in_words: ClassVar[str] = ""  # of the standard form, where it depends on parameters
    _positive: ClassVar[tuple[str, ...]] = ("scale",)
    _scipy_shapes: ClassVar[tuple[str, ...]] = ()  # shape parameters of the standard form
    _kernels: ClassVar[Points | None] = None  # of the formulas of its family
    _generator: ClassVar[tuple[Any, ...]] = ()  # in `random`, and its parameters, of draws of the standard form
    _kinked: ClassVar[bool] = False  # whether the density is not smooth at loc
    _building_time: ClassVar[float] = 4e7  # nanoseconds that a table takes
    _known: ClassVar[tuple[str, ...]] = ()  # parameters that no fit estimates
    _takes_blocks: ClassVar[bool] = False  # whether `_evaluate` understands dask's arrays
    _most: ClassVar[dict[str, float]] = {}  # larger values of a parameter are stored as this one
    _likelihood: ClassVar[Any] = None  # how it is fitted
    _equations: ClassVar[Any] = None  # of its own for the likelihood of exact values
    _layout: ClassVar[tuple[str, ...]] = ()  # parameters of the likelihood's climb, where they are others than `names`
    _of_climb: ClassVar[Callable[..., Any] | None] = None  # from these and their information to those of `names`
    _contains: ClassVar[tuple[Contains, ...]] = ()  # special cases and limits
    _by_lmoments: ClassVar[Callable[..., Any] | None] = None  # parameters from the first two L-moments and the third's ratio
    _by_moments: ClassVar[Callable[..., Any] | None] = None  # parameters from mean and standard deviation
    params: Any
    _labels: Any = None  # an array of pandas or xarray of `batch_shape`, if the parameters came with labels

    # -- what a class defines -----------------------------------------------------------------------------------
    # Its functions of x are those of `_kernels`, or of `_at` and `_evaluate`

    def __init_subclass__(cls) -> None:
        """Of a class whose parameters end with loc and scale the others are shapes, all positive, where it says nothing else."""
        super().__init_subclass__()
        own = vars(cls)
        if own.get("names", ())[-2:] == ("loc", "scale"):
            shapes = cls.names[:-2]
            cls._scipy_shapes, cls._positive = own.get("_scipy_shapes", shapes), own.get("_positive", (*shapes, "scale"))
        names_ours(cls)

    _mean_var: Callable[..., Any]  # of the standard form
    _fitted: ClassVar[Callable[..., Any]]  # of a class and data; set by `fitting`, which needs the classes
    _weighted_fits: ClassVar[Callable[..., Any]]  # of a class and fixed parameters; set by `fitting`
    _linear: ClassVar[Callable[..., Any]]  # the distribution of shift + factor X; set by `composition`

    @classmethod
    def _refusals(cls, values):
        """For every condition the parameter's name, where it holds, and its words."""
        for name, value in values.items():
            positive = name in cls._positive
            inside = np.isfinite(value) | ((value == math.inf) & (name in cls._most))
            yield name, (value > 0.0) & inside if positive else inside, "> 0" if positive else "finite"

    @classmethod
    def in_domain(cls, values):
        """Whether parameters by name are those of a distribution, elementwise; NaN are not."""
        return functools.reduce(np.logical_and, [holds for _, holds, _ in cls._refusals(values)])

    def _standard(self):
        """Values of the shape parameters of the standard form."""
        return tuple(getattr(self, name) for name in self._scipy_shapes)

    @classmethod
    def _of_standard(cls, *shapes):
        """Parameters of the distribution of standard form with loc = 0 and scale = 1."""
        return (*shapes, 0.0, 1.0)

    @classmethod
    def _truncation(cls, given, cut):
        """The fixed parameters that are ends of a truncation, and its ends: those that `truncated=` says."""
        return (), cut

    @classmethod
    def _admitted(cls, fixed, truncated=(-math.inf, math.inf)):
        """The values that fits take, as far as no free parameter decides it; of `fixed`, numbers by name, those are NaN."""
        begins, ends = -math.inf, math.inf
        if cls._kernels is not None:  # NaN for shapes: their ends of the support are not known
            known = cls._kernels.formulas.support.py_func((math.nan,) * 4)
            begins, ends = (outer if math.isnan(end) else end for end, outer in zip(known, (begins, ends), strict=True))
        ends = fixed.get("n", ends) if cls.is_discrete else ends
        loc, scale = fixed.get("loc", 0.0), fixed.get("scale", 1.0)
        if math.isnan(loc):
            begins, ends = -math.inf, math.inf
        elif math.isnan(scale):
            begins, ends = loc if begins >= 0.0 else -math.inf, loc if ends <= 0.0 else math.inf
        else:
            begins, ends = loc + scale * begins, loc + scale * ends
        rules = None if cls._likelihood is None else cls._likelihood._rules
        closed = rules is not None and (rules.closed or (rules.begins == -math.inf and scale == scale))
        named: dict[str, Any] = {"of_zeros": "" if cls.is_discrete else 'zeros="share" sets zeros apart'}
        if "lower" in cls._known:
            named["ends"] = tuple(f"the {end} end of {cls.family}" for end in ("lower", "upper"))
        return Admitted(cls.family, begins, ends, closed, cls.is_discrete, truncated, moved=loc != 0.0 and begins == loc, **named)

    # -- estimation ---------------------------------------------------------------------------------------------

    @classmethod
    def fit(cls, x: Any, **options: Unpack[FitOptions]) -> Self:
        """The likeliest distribution of this class, or a batch of them, one for every series.

        Parameters
        ----------
        x : array_like, or list or dict of series
            Data. `axis` runs along the values of a series; the other axes are the batch.
        **options
            Of `numbastats.distributions.fit_many`, which also has standard errors and statuses. `axis` is the last one by
            default; an array of xarray of several dimensions needs it, or ``dim=``.

        Returns
        -------
        Distribution
            NaN where a series cannot be fitted; of fits at a limit that of the limit.

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood, and classes without a fit, which the message lists.

        Warns
        -----
        ConvergenceWarning
            When fits end in no maximum, with their number and the first reason.

        Examples
        --------
        >>> import numbastats as ns
        >>> ns.distributions.Gamma.fit([1.0, 2.0, 4.0, 3.0, 7.0]).mean().round(6).item()
        3.4
        """
        return cls._fitted(cls, x, **options)

    # -- parameters ---------------------------------------------------------------------------------------------

    def _set(self, **values: Any) -> None:
        """Check and store the parameters."""
        found, labels = aligned(tuple(values.values()), tuple(values))
        given = {name: real64(to_host(value, name)) for name, value in zip(values, found, strict=True)}
        try:
            shape = np.broadcast_shapes(*(value.shape for value in given.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in given.items())
            raise ValueError(f"the parameters of {type(self).__name__} do not broadcast against each other: {shapes}") from None
        unknown = functools.reduce(np.logical_or, map(np.isnan, given.values()))
        for name, holds, words in self._refusals(given):
            value = given[name]
            bad = ~(holds | unknown)
            if bad.any():
                worst = float(np.broadcast_to(value, bad.shape)[bad][0])
                raise ValueError(f"{name}={worst!r} must be {words}")
        stored = {name: _fixed(np.minimum(value, self._most.get(name, math.inf))) for name, value in given.items()}
        if labels is not None and has_labels(labels) and shape:
            if labels.shape != shape:
                raise ValueError(
                    f"the parameters of {type(self).__name__} have labels of shape {tuple(labels.shape)} and together the shape "
                    f"{shape}; pass all arrays among them with labels, or all by .to_numpy()"
                )
            object.__setattr__(self, "_labels", labels)
        self._store(stored, shape)

    def _store(self, stored, shape):
        object.__setattr__(self, "params", _params_type(type(self).__name__.lstrip("_"), tuple(stored))(**stored))
        object.__setattr__(self, "batch_shape", shape)

    def __getattr__(self, name: str) -> Any:
        if name in type(self).names:
            return getattr(self.params, name)
        missing, parameters = f"{type(self).__name__} has no attribute {name!r}", f"ts parameters are {', '.join(self.names)}"
        if name in METHODS:  # with a name, the error gets no guess of Python's own, such as var for cvar
            raise AttributeError(f"{missing}: did you mean {METHODS[name]}? I{parameters}", name=name)
        raise AttributeError(f"{missing}; i{parameters}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make another one with the {name} wanted")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _arguments(self) -> tuple[Any, ...]:
        """What the constructor takes, in its order."""
        return tuple(self.params)

    def __reduce__(self):
        made = type(self), self._arguments()
        return made if self._labels is None else (_with_labels, (*made, self._labels))

    def _bare(self):
        """The same distributions without labels."""
        return type(self)(*self._arguments())

    def _by_labels(self, name, x, *args, **options):
        """A method of x by the labels of x and of the parameters."""
        order = self._labels if hasattr(self._labels, "dims") else None
        if self._labels is not None:  # `mean()` has them, for the advice
            aligned((self._labels, x), ("mean()", next(iter(inspect.signature(getattr(self, name)).parameters))))
        found = apply(
            lambda points, *_, **options: getattr(self._bare(), name)(points, *args, **options),
            ("x",) if self._labels is None else ("x", "parameters"),
            (x,) if self._labels is None else (x, self._labels),
            options,
            order=order,
        )
        if order is None or not hasattr(x, "dims"):
            return found
        turned = [
            f.transpose(*x.dims, ...) if hasattr(f, "dims") else f for f in (found if isinstance(found, tuple) else [found])
        ]
        return tuple(turned) if isinstance(found, tuple) else turned[0]

    def _labelled(self, value):
        """A value of each distribution with the labels of the parameters."""
        return value if self._labels is None else in_kind_of(value, self._labels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={_code(v)}' for n, v in self.params._asdict().items())})"

    def _repr_html_(self) -> str:
        """What notebooks show: the parameters of one distribution with its mean and standard deviation, of a batch its code."""
        if self.batch_shape or not all(isinstance(v, float) for v in self.params):
            return f"<code>{html.escape(repr(self))}</code>"
        rows = {**self.params._asdict(), "mean of X": self.mean(), "standard deviation": self.std()}
        table = Table({"": np.array(list(rows)), "value": np.array(list(rows.values()), np.float64)})
        return f"<p>{type(self).__name__}</p>{table._repr_html_()}"

    def _key(self) -> tuple[Any, ...]:
        return (
            type(self),
            *((v.shape, (v + 0.0).tobytes()) if isinstance(v, np.ndarray) else _bits(v) for v in self._arguments()),
        )

    def __eq__(self, other: object) -> Any:
        return self._key() == other._key() if isinstance(other, Distribution) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _selected(self, use):
        """The distributions at the elements of a mask of some shape that `batch_shape` broadcasts to, in one axis."""
        if not self.batch_shape:
            return self
        taken = [np.broadcast_to(v, use.shape)[use] if isinstance(v, np.ndarray) else v for v in self._arguments()]
        return type(self)(*taken)

    def _like(self, z, *names):
        """Shape parameters as arrays of the shape of z."""
        found = tuple(np.broadcast_to(getattr(self, name), np.shape(z)) for name in names)
        return found if len(found) > 1 else found[0]

    # -- functions of x -----------------------------------------------------------------------------------------

    def _evaluated(self, name, x, options):
        """One function at x, with the options of every function, of dask's arrays block by block."""
        options = {**DEFAULTS, **options}
        if options.get("method") == "auto":
            del options["method"]
        lazy = not isinstance(x, PLAIN) and any_lazy((x,))
        if self._labels is not None and not lazy:
            return self._by_labels(name, x, **options)
        if name in _HAZARDS and not lazy:
            return self._hazards(name, x, options)
        if (self._takes_blocks and name not in _HAZARDS) or not lazy:
            return self._evaluate(name, x, options)
        self._refuse_batch_of_blocks()
        return apply(getattr(self, name), ("x",), (x,), options)

    def _refuse_batch_of_blocks(self):
        if self.batch_shape:
            raise TypeError(
                f"x is a dask array, and {type(self).__name__} has parameters of shape {self.batch_shape}; pass x.compute() or a "
                "distribution of one set of parameters"
            )

    def _evaluate(self, name, x, options):
        """One function at x: by the kernels of the family, or on the host."""
        if self._kernels is None:
            return self._on_host(name, x, **options)
        if name in _QUANTILES:
            if self._takes_table(x, options.pop("method", "auto"), options["device"], self._kernels.cost[name]):
                return self._on_host(name, x, **options)
        return self._by_points(name, x, **options)

    def _takes_table(self, x, method, device, cost):
        """Whether a table serves the quantiles of a call, which take `cost` nanoseconds each without."""
        if choice("method", method, ("auto", "table", "points")) == "auto":
            many = not isinstance(x, float) and np.size(x) * cost > self._building_time
            return many and not (self.batch_shape or device == "cuda" or self._on_gpu(x)) and tables.kept(self) is not None
        if method == "table" and tables.kept(self) is None:
            raise ValueError(f"{self!r} has no table that is exact to 2e-14; leave out method='table'")
        return method == "table"

    def _by_points(self, name, x, **options):
        """One function at x, each point by itself."""
        return self._by_kernels(name, x, self._parameters, **options)

    def _on_host(self, name, x, out=None, dtype=None, device=None, workers=None, stream=None):
        """One function at x on the host: types, broadcasting and `out`."""
        refuse_mask(x)
        if device_kind(x) or device == "cuda":
            raise TypeError(
                f"{type(self).__name__}.{name} runs on the host: pass a numpy array, for example cupy.asnumpy(x) or x.cpu(), and "
                "leave device='cpu'"
            )
        choice("device", device, (None, "auto", "cpu"))
        check_workers(workers)
        like = first_array((x,))
        host = as_host(to_host(x, "x"))
        dtype = check_dtype(dtype) if dtype is not None else result_dtype(("x",), (dtype_of(host),))
        with np.errstate(all="ignore"):
            points = np.asarray(host, np.float64)
            if self.batch_shape:
                points = np.broadcast_to(points, np.broadcast_shapes(points.shape, self.batch_shape))
            result = np.asarray(self._at(name, points, workers), dtype)
        result = result[()] if like is None else in_kind_of(result, like)
        return deliver(result, out, dtype)

    @staticmethod
    def _on_gpu(x):
        """Whether x lives on a GPU."""
        return device_kind(x) is not None

    @functools.cached_property
    def _parameters(self):
        """What the kernels take: location, scale and the shapes of the standard form."""
        found = self.loc, self.scale, *self._standard()
        return found if self.batch_shape else tuple(map(float, found))

    def _by_kernels(self, name, x, parameters, out=None, dtype=None, device=None, workers=None, stream=None):
        """One function at x of any kind, in double precision; the result has the float type of x, or `dtype`."""
        kernels, shapes = self._kernels, self._scipy_shapes
        options = dict(double=True, cost=kernels.cost[name], out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        if self.batch_shape:
            kernel, names = kernels.many[name], ("x", "loc", "scale", *shapes)
            return elementwise(kernel, names, (x, *parameters), **options)
        return elementwise(kernels.one[name], ("x",), (x,), extras=(parameters,), **options)

    def _at(self, name, x, workers=None):
        """One function at float64 points of the result's shape, a new array: quantiles by a table, and by kernels beyond it."""
        if name not in _QUANTILES:
            return self._by_points(name, x)
        rest = functools.partial(self._points_on_host, name)
        return tables.completed(tables.looked_up(tables.kept(self), name), x, 2.0**-60, rest, workers)

    def _points_on_host(self, name, x, workers):
        return self._by_points(name, x, device="cpu", workers=workers)

    def _of_z(self, name, z):
        """One function of the standard form, by kernels."""
        return self._by_kernels(name, z, (0.0, 1.0, *self._parameters[2:]))

    def pdf(
        self,
        x: ArrayLike,
        *,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
    ) -> Any:
        """Density at x.

        Parameters
        ----------
        x : array_like
            Points; broadcast against the parameters.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`; the computation is in double precision.

        Returns
        -------
        array or scalar
            0 outside the support.

        Raises
        ------
        TypeError
            For points that are not real numbers of single or double precision, and for arrays on a device without a kernel.
        """
        return self._evaluated("pdf", x, dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream))

    @hands_on(pdf)
    def logpdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Logarithm of the density at x, -inf outside the support; the arguments of all functions of x are those of `pdf`."""
        return self._evaluated("logpdf", x, options)

    @hands_on(pdf)
    def cdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Distribution function P(X <= x), with relative accuracy in the lower tail."""
        return self._evaluated("cdf", x, options)

    @hands_on(pdf)
    def logcdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Logarithm of the distribution function, also where that underflows or is next to 1."""
        return self._evaluated("logcdf", x, options)

    @hands_on(pdf)
    def sf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Survival function P(X > x), with relative accuracy in the upper tail."""
        return self._evaluated("sf", x, options)

    @hands_on(pdf)
    def logsf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Logarithm of the survival function, also where that underflows or is next to 1."""
        return self._evaluated("logsf", x, options)

    @hands_on(pdf)
    def hazard(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Hazard at x: the density over the survival function; of counts the probability of x among those not below it.

        Parameters
        ----------
        x : array_like
            Points; broadcast against the parameters.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`; the computation is in double precision.

        Returns
        -------
        array or scalar
            0 below the support, NaN above it. Of counts between 0 and 1, and 0 where x is no count.

        Raises
        ------
        TypeError
            As of `pdf`.

        Notes
        -----
        The density over the survival function where that is above 1e-300, with the errors of both; further out the exponential
        of ``logpdf(x) - logsf(x)``, with relative errors of 1e-16 times ``abs(logsf(x))``.

        Examples
        --------
        >>> from numbastats.distributions import Exponential, Geometric, Weibull
        >>> Weibull(2.0, scale=10.0).hazard([1.0, 10.0, 1000.0]).round(6).tolist()
        [0.02, 0.2, 20.0]
        >>> h = Exponential(scale=4.0).hazard(1e6), Geometric(3.0).hazard(5)
        >>> [round(float(v), 9) for v in h]
        [0.25, 0.25]
        """
        return self._evaluated("hazard", x, options)

    @hands_on(pdf)
    def cumulative_hazard(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Cumulative hazard, minus the logarithm of the survival function, also of counts.

        Parameters
        ----------
        x : array_like
            Points; broadcast against the parameters.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`; the computation is in double precision.

        Returns
        -------
        array or scalar
            0 below the support, inf where the survival function is 0.

        Raises
        ------
        TypeError
            As of `pdf`.

        Examples
        --------
        >>> from numbastats.distributions import Weibull
        >>> Weibull(2.0, scale=10.0).cumulative_hazard([1.0, 10.0, 1000.0])
        array([1.e-02, 1.e+00, 1.e+04])
        """
        return self._evaluated("cumulative_hazard", x, options)

    def _hazards(self, name, x, options):
        """A hazard from functions in double precision, of the float type of x unless `dtype` says another."""
        where = {key: options[key] for key in ("device", "workers", "stream")}
        to = dict(out=options["out"], **where)
        to["dtype"] = options["dtype"]
        if to["dtype"] is None:
            to["dtype"] = FLOAT32 if numpy_dtype(as_host(x) if kind_of(x) is NUMPY else x) == FLOAT32 else FLOAT64
        density = "pmf" if self.is_discrete else "pdf"

        def of(name):
            return self._evaluate(name, x, DEFAULTS | where | {"dtype": FLOAT64})

        if name == "cumulative_hazard":
            return LOCATED(of("logsf"), 0.0, -1.0, **to)
        tail, logs = of("sf"), (0.0, 0.0)
        if device_kind(tail) is not None or not np.all(to_host(tail, "sf") >= FAR):
            logs = of(f"log{density}"), of("logsf")
        return HAZARD(of(density), tail, *logs, float(self.is_discrete), **to)

    def restricted_mean(self, t: ArrayLike) -> Any:
        """Mean of min(X, t): of lives, the mean life within the time t.

        Parameters
        ----------
        t : array_like
            One number, or an array that broadcasts to `batch_shape`; for inf it is the mean.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`.

        Warns
        -----
        ConvergenceWarning
            As of `expect`, by which it is computed.

        Examples
        --------
        >>> from numbastats.distributions import Exponential
        >>> round(float(Exponential(scale=4.0).restricted_mean(8.0)), 9)  # 4 (1 - exp(-2))
        3.458658867
        """
        if self._labels is not None:
            return self._labelled(self._bare().restricted_mean(t))
        t = real64(t)
        always = t == math.inf  # then it is the mean
        t = np.where(always, 0.0, t)
        found = self.expect(ub=t) + t * self.sf(t)
        return np.where(always, self.mean(), found)[()] if always.any() else found

    def ppf(
        self,
        u: ArrayLike,
        *,
        method: Literal["auto", "table", "points"] = "auto",
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
    ) -> Any:
        """Quantile at lower tail probability u: the ends of the support at 0 and 1, NaN outside [0, 1].

        One number above 1 and up to 100 is warned of, as it may be meant in per cent.

        Parameters
        ----------
        u : array_like
            Probabilities; broadcast against the parameters.
        method : {"auto", "table", "points"}
            "table" takes the quantiles of one distribution from its `table`, which is built at the first call (20 to 80 ms) and
            kept, at 2 to 4 ns a value; "points" computes each by itself. Both have the accuracy of the class, and differ by
            rounding errors. "auto" takes a table where a call has so many values that building it pays; arrays on a GPU are
            computed by points.
        out, dtype, device, workers, stream : optional
            As in `pdf`.

        Returns
        -------
        array or scalar
        """
        options = dict(method=method, out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return _not_in_per_cent(u, self._evaluated("ppf", u, options))

    @hands_on(ppf)
    def isf(self, p: ArrayLike, **options: Unpack[QuantileOptions]) -> Any:
        """Quantile at upper tail probability p, accurate for the smallest p; the arguments are those of `ppf`."""
        return _not_in_per_cent(p, self._evaluated("isf", p, options))

    def interval(self, confidence: ArrayLike) -> tuple[Any, Any]:
        """Ends of the interval with equal tails that holds `confidence` of the probability."""
        doubt_per_cent(confidence)
        share: Any = confidence if has_labels(confidence) else real64(confidence)
        tail = 0.5 * (1.0 - share)
        return self.ppf(tail), self.isf(tail)

    def score(
        self,
        x: ArrayLike,
        *,
        out: tuple[Any, ...] | None = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
    ) -> tuple[Any, ...]:
        """Derivatives of the log density with respect to the parameters, in the order of `params`.

        Parameters
        ----------
        x : array_like
            Points; broadcast against the parameters.
        out : tuple of arrays, optional
            One array for each parameter.
        dtype, device, workers, stream : optional
            As in `pdf`.

        Returns
        -------
        tuple of arrays or scalars
            Of the kind and float type of x; NaN where the density is 0. Analytic, but for differences of eighth order by `lam`
            (errors of 1e-12) and those of `numbastats.stable.score`.

        Raises
        ------
        TypeError, ValueError
            As `pdf`, and for an `out` that is not a tuple of as many arrays as there are parameters.

        Notes
        -----
        The generalised hyperbolic, stable, inverse Gaussian and truncated normal ones are computed on the host, where arrays on a
        GPU are copied to and from.

        Examples
        --------
        >>> from numbastats.distributions import Normal
        >>> by_loc, by_scale = Normal(1.0, 2.0).score([1.0, 5.0])
        >>> by_loc, by_scale
        (array([0., 1.]), array([-0.5,  1.5]))
        """
        refuse_mask(x)
        if any_lazy((x,)):
            return self._score_of_blocks(x, dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream))
        if out is not None and not (isinstance(out, tuple) and len(out) == len(self.names)):
            raise TypeError(f"out must be a tuple of {len(self.names)} arrays, for the derivatives by {', '.join(self.names)}")
        if self._labels is not None or has_labels(x):
            return self._by_labels("score", x, out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        given = as_host(x) if kind_of(x) is NUMPY else x
        single = (numpy_dtype(given) if dtype is None else check_dtype(dtype)) == FLOAT32
        by_kernel = hasattr(self._kernels, "score")
        with np.errstate(all="ignore"):
            found = (self._scores_by_kernel if by_kernel else self._scores_on_host)(given, device, workers, stream)
        if stream is not None and out is not None:
            Streams((), stream).wait()  # what follows is not in that stream
        into = (None,) * len(found) if out is None else out
        return tuple(in_float32(f, o, stream) if single else deliver(f, o, FLOAT64) for f, o in zip(found, into, strict=True))

    def _score_of_blocks(self, x, options):
        """The score at an array of dask: arrays that share the work when they are computed together."""
        self._refuse_batch_of_blocks()
        found = apply(self.score, ("x",), (x,), options, last=len(self.names))
        return tuple(LABELLED.relabelled(found[..., i], x) for i in range(len(self.names)))

    def _scores_by_kernel(self, x, device, workers, stream):
        """Derivatives by the shape parameters, loc and scale, in double precision."""
        shapes = self._standard()
        values = (as_double(x, stream), self.loc, self.scale, *shapes, 0.0, 0.0)[:5]
        where = dict(device=device, workers=workers, stream=stream)
        names = ("x", "loc", "scale", "the first shape", "the second shape")
        kernel = self._kernels.score if math.prod(self.batch_shape) == 1 else self._kernels.scores
        found = elementwise(kernel, names, values, outputs=4, cost=60.0, dtype=FLOAT64, **where)
        return *found[: len(shapes)], found[2], found[3]

    def _scores_on_host(self, x, device, workers, stream):
        """The same from `_scores`, with one copy of x from a GPU, and one of each result to it."""
        if choose_device(device, on_device=bool(device_kind(x))) == "cuda" and not device_kind(x) and device == "cuda":
            raise TypeError(f"{type(self).__name__}.score runs on the host; leave device='cpu'")
        check_workers(workers)
        points = real64(to_host(x, "x"))
        points = np.broadcast_to(points, np.broadcast_shapes(points.shape, self.batch_shape))
        known = (self._at("pdf", points) > 0.0) | (self._at("logpdf", points) > -math.inf)
        found = (np.where(known, s, math.nan)[()] for s in self._scores(points))
        like = first_array((x,))
        return tuple(f if like is None else in_kind_of(f, like) for f in found)

    # -- draws, moments, integrals --------------------------------------------------------------------------------

    @names_ours
    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        rng: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        like: Any = None,
    ) -> Any:
        """Random variates.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result, which the parameters broadcast to; by default theirs.
        rng, dtype, device, workers, stream
            As in `numbastats.random.uniform`.
        like : array, optional
            An array, of whose kind the draws are and on whose device, as in `numbastats.random`; with one on a GPU they never are
            on the host, and one of dask lends its chunks.

        Returns
        -------
        array or scalar
            NaN where a parameter is NaN.

        Raises
        ------
        TypeError, ValueError
            For a bad `size`, `rng`, `dtype` or `device`.
        """
        shape = size_to_shape(size, [self.batch_shape])
        options = dict(rng=rng, dtype=dtype, device=device, workers=workers, stream=stream, like=like)
        draws = (self if self._labels is None else self._bare())._draws(shape, options)
        draws = draws[()] if isinstance(draws, np.ndarray) else draws
        return self._labelled(draws) if shape == self.batch_shape and like is None else draws

    def _draws(self, shape, options):
        """Draws by the generator of the family, else by inversion."""
        if self._generator:
            name, *values = self._generator
            values = (getattr(self, value) if isinstance(value, str) else value for value in values)
            return self._located(getattr(random, name)(*values, shape, **options), options)
        u = random.uniform(0.0, 1.0, shape, **options)
        by_kernel = self._kernels is not None and self._kernels.with_tails and not self.batch_shape
        if by_kernel and type(u) is np.ndarray and u.dtype == np.float64 and 0 < u.size <= _FEW:  # less than a call's checks
            value = np.empty(u.size)
            self._kernels.one["ppf"].serial(u.ravel(), self._parameters, value)
            return value.reshape(u.shape)
        return self.ppf(u, **_only(options, "workers", "stream"))

    def _mapped(self, function, z, options, *others):
        """An elementwise function of draws, of the same kind and float type."""
        return function(z, *others, dtype=None, **_only(options, "device", "workers", "stream"))

    def _located(self, z, options):
        """Draws of standard form with the location and scale."""
        if isinstance(z, float | np.ndarray | np.floating):  # a map takes longer than the draws, where these are few
            if not self.batch_shape and self.loc == 0.0 and self.scale == 1.0:
                return z
            if np.size(z) <= SLAB or self.batch_shape:
                with np.errstate(all="ignore"):
                    return np.asarray(self.loc + self.scale * np.asarray(z, np.float64), np.asarray(z).dtype)
            flat, threads = z.reshape(-1), worker_count(threads_beside(options["workers"]))
            in_threads(self._place, [(flat[lo:hi],) for lo, hi in cuts(flat.size, SLAB)], threads)
            return z
        return self._mapped(LOCATED, z, options, self.loc, self.scale)

    def _place(self, z):
        """Put the location and scale to some of the draws, in their place."""
        with np.errstate(all="ignore"):
            z[...] = self.loc + self.scale * np.asarray(z, np.float64)

    def mean(self) -> Any:
        """Mean; NaN where there is none."""
        with np.errstate(all="ignore"):
            return self._batch(self.loc + self.scale * np.asarray(self._mean_var()[0]))

    def var(self) -> Any:
        """Variance; NaN where there is no mean."""
        with np.errstate(all="ignore"):
            return self._batch(in_units(np.asarray(self._mean_var()[1]), self.scale))

    def std(self) -> Any:
        """Standard deviation."""
        with np.errstate(all="ignore"):
            var = np.asarray(self.var())
            if type(self).var is Distribution.var:  # also where the variance is no double
                far = self.scale * np.sqrt(np.asarray(self._mean_var()[1]))
                return self._batch(np.where((var > 1e-300) & (var < math.inf), np.sqrt(var), far))
            return self._batch(np.sqrt(var))

    def skewness(self) -> Any:
        """Skewness: the third central moment over the third power of the standard deviation.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`. NaN where there is no third moment.

        Notes
        -----
        Closed forms, with errors of 1e-12 of the larger of the value and 0.01. The generalised hyperbolic distributions have sums
        and series of positive terms, with relative errors of 1e-12; `TruncatedNormal` has a closed form where both ends are more
        than two standard deviations away, else quadrature with absolute errors of 1e-12.

        Examples
        --------
        >>> from numbastats.distributions import Gamma
        >>> Gamma([1.0, 4.0]).skewness()
        array([2., 1.])
        """
        with np.errstate(all="ignore"):
            return self._batch(self._shape()[0])

    def kurtosis(self) -> Any:
        """Excess kurtosis, as in SciPy: the fourth central moment over the squared variance, less 3; 0 for `Normal`.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`. Infinite where there is a variance but no fourth moment, NaN where there is no variance or an
            infinite one.

        Notes
        -----
        Methods and errors are those of `skewness`.

        Examples
        --------
        >>> from numbastats.distributions import StudentT
        >>> StudentT([2.0, 3.0, 10.0]).kurtosis()
        array([nan, inf,  1.])
        """
        with np.errstate(all="ignore"):
            return self._batch(self._shape()[1])

    def entropy(self) -> Any:
        """Differential entropy, minus the mean of the log density, in nats.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`.

        Warns
        -----
        ConvergenceWarning
            As `expect`, for the generalised hyperbolic distributions.

        Notes
        -----
        Closed forms, with errors of 1e-13 of the larger of 1 and the entropy at scale 1. By `expect` for the generalised
        hyperbolic distributions, 1e-11; `TruncatedNormal` and `Stable` by quadratures of their own, 1e-12 (for a stable
        distribution with alpha = 0.1 3e-11).

        References
        ----------
        A. V. Lazo, P. Rathie, "On the entropy of continuous probability distributions", IEEE Trans. Inf. Theory 24 (1978).

        Examples
        --------
        >>> from numbastats.distributions import Normal
        >>> float(Normal(scale=2.0).entropy().round(8))
        2.11208571
        """
        with np.errstate(all="ignore"):
            return self._batch(self._entropy() + np.log(self.scale))

    def _with_axis(self):
        """The same distributions, their parameters with a last axis for nodes."""
        if not self.batch_shape:
            return self
        return type(self)(*(v[..., None] if isinstance(v, np.ndarray) else v for v in self._arguments()))

    def median(self) -> Any:
        """The quantile at 1/2."""
        return self.ppf(0.5)

    def support(self) -> tuple[Any, Any]:
        """Ends of the smallest interval that holds all probability."""
        return self.ppf(0.0), self.ppf(1.0)

    def _batch(self, value):
        """A value of each distribution."""
        return self._labelled(np.array(np.broadcast_to(value, self.batch_shape))[()])

    def expect(
        self,
        func: Callable[[NDArray[np.float64]], Any] | None = None,
        *,
        lb: ArrayLike | None = None,
        ub: ArrayLike | None = None,
        conditional: bool = False,
    ) -> Any:
        """Expectation of a function.

        Parameters
        ----------
        func : callable, optional
            Maps an array of points to values of the same shape; x itself by default. The array has `batch_shape` and a last axis
            of nodes; of counts it is called once for each distribution of a batch, with an array of them.
        lb, ub : array_like, optional
            Ends of the integral, or of the sum, to which they belong; all numbers by default. Put the kinks and jumps of `func`
            there.
        conditional : bool
            Divide by the probability between the ends.

        Returns
        -------
        float64 array or scalar
            Of `batch_shape`. Infinite where the integral of one tail diverges, NaN where those of both do with different signs,
            where a parameter is, and where doubles do not reach far enough into a tail to tell.

        Raises
        ------
        ValueError
            For sums of more than ten million terms, of counts.

        Warns
        -----
        ConvergenceWarning
            Where the estimated error is above 1e-6 of the integral of ``abs(func(x))``, for one for a jump of `func`, and for NaN
            of a tail that cannot be followed.

        Notes
        -----
        The integrals of ``func(ppf(u))`` over u and of ``func(isf(p))`` over p, each from 0 to at most 1/2, by the tanh-sinh
        rule, which takes the singularities at the ends; relative errors of 1e-12 for smooth functions. Where terms count down to
        tail probabilities of 1e-275, the tail's own index decides: the logarithm of ``abs(func(x)) * pdf(x) * x`` as a line in
        log x, with powers of log x, from which the part beyond all doubles comes, with errors of 1e-13 over the distance of the
        slope from that of a divergent integral (`StudentT` with 2.001 degrees of freedom has a variance to 1e-12).

        For counts, the sum over all but those with tails below 1e-30, the probability of which times `func` has to be negligible.
        For kernel densities, by Gauss and Legendre with eight nodes on 2000 parts of the support, and for up to 1000 samples on
        the parts between the ends and the centres of their kernels, where the density has kinks.

        References
        ----------
        H. Takahasi, M. Mori, "Double exponential formulas for numerical integration", Publ. RIMS 9 (1974).

        Examples
        --------
        >>> import numpy as np
        >>> from numbastats.distributions import Normal, Poisson
        >>> float(Normal(1.0, 2.0).expect(np.square).round(10))
        5.0
        >>> float(Poisson(3.0).expect(np.square).round(10))
        12.0
        """
        if self._labels is not None:
            return self._labelled(self._bare().expect(func, lb=lb, ub=ub, conditional=conditional))
        low, high = -math.inf if lb is None else real64(lb), math.inf if ub is None else real64(ub)
        with np.errstate(all="ignore"):
            return np.asarray(self._expectation(func or (lambda x: x), low, high, conditional))[()]

    def _expectation(self, func, low, high, conditional):
        """`expect`, from integrals of the quantiles."""
        value = np.zeros(self.batch_shape)
        mass = np.zeros(self.batch_shape)
        middle = self._kink()
        below, above = (0.5, 0.5) if middle is None else (self.cdf(middle), self.sf(middle))
        for name, first, last in (
            ("ppf", self.cdf(low), np.minimum(self.cdf(high), below)),
            ("isf", self.sf(high), np.minimum(self.sf(low), above)),
        ):
            width = np.maximum(last - first, 0.0)
            value = value + self._share(name, first, width, func)
            mass = mass + width
        return value / mass if conditional else value

    def _at_standard(self):
        """The distributions of standard form, without labels."""
        return type(self)(*self._of_standard(*self._standard()))

    def _central(self, power):
        """A central moment of the standard form, by integration."""
        plain = self._at_standard()
        mean = np.asarray(plain.expect())[..., None]
        return plain.expect(lambda x: (x - mean) ** power)

    def _shape(self):
        """Skewness and excess kurtosis, by integration where a class has no formula."""
        second = self._central(2)
        return self._central(3) / second**1.5, self._central(4) / second**2 - 3.0

    def _entropy(self):
        """Entropy of the standard form, by integration where a class has no formula."""
        plain = self._at_standard()
        wide = plain._with_axis()

        def surprise(x):
            found = wide.logpdf(x)
            return np.where(found > -math.inf, -found, 0.0)  # nodes may round to an end

        return plain.expect(surprise)

    def _kink(self):
        """Where the density is not smooth, in units of x; None where it is."""
        return self.loc if self._kinked else None

    def _share(self, name, first, width, func):
        """Integral of a function of the quantiles over probabilities from `first` to first + width."""
        return over_probabilities(self, name, first, width, func)

    def expected_shortfall(self, p: ArrayLike, *, upper: bool = False) -> Any:
        """Mean of the lowest share p: E(X | X <= ppf(p)).

        Parameters
        ----------
        p : array_like
            Share, 0 <= p <= 1; broadcast against the parameters. Of returns, 0.025 gives the mean of the worst 2.5 %.
        upper : bool
            The mean of the highest share: E(X | X >= isf(p)), for x that are losses.

        Returns
        -------
        float64 array or scalar
            In units of x and with its sign: a loss of returns is a negative number. Infinite where the tail has no mean; the
            end of the support at p = 0, the mean at p = 1, NaN outside.

        Raises
        ------
        TypeError
            For p that are not real numbers.

        Notes
        -----
        A closed form for `Normal` and `StudentT`. For the others the integral of the quantiles over (0, p), divided by p, by the
        tanh-sinh rule as in `expect`: relative errors of 1e-12 where the result is not next to 0.

        References
        ----------
        C. Acerbi, D. Tasche, "On the coherence of expected shortfall", Journal of Banking and Finance 26 (2002).

        Examples
        --------
        >>> from numbastats.distributions import Normal
        >>> float(Normal().expected_shortfall(0.025).round(6))
        -2.337803
        """
        doubt_per_cent(p)
        if self._labels is not None or has_labels(p):
            return self._by_labels("expected_shortfall", p, upper=upper)
        p = real64(p)
        shape = np.broadcast_shapes(p.shape, self.batch_shape)
        p = np.broadcast_to(p, shape)
        inside = (p > 0.0) & (p < 1.0)
        with np.errstate(all="ignore"):
            value = self._shortfall(np.where(inside, p, 0.5), upper)
            known = np.where(p == 0.0, self.support()[1 if upper else 0], np.where(p == 1.0, self.mean(), math.nan))
        return np.where(inside, value, known)[()]

    def _shortfall(self, p, upper):
        """`expected_shortfall` for p inside (0, 1)."""
        name, kink = "isf" if upper else "ppf", self._kink()
        near = p if kink is None else np.minimum(p, self.sf(kink) if upper else self.cdf(kink))
        total = self._share(name, np.zeros(p.shape), near, lambda x: x)
        return (total + (0.0 if kink is None else self._share(name, near, p - near, lambda x: x))) / p

    # -- tables ---------------------------------------------------------------------------------------------------

    @hands_on(tables.FrozenDistribution)
    def table(self, base: Any = "uniform", **options: Unpack[TableOptions]) -> tables.FrozenDistribution:
        """Quantile table: quantiles of millions of values, and maps from variates of another distribution.

        Parameters
        ----------
        base : str, tuple or QuantileTable
            Distribution of the values that the table's `transform` maps: "uniform", "normal", "exponential" or another table.
        **options
            Of `numbastats.quantile.QuantileTable`; ``quiet=True`` leaves the warning out.

        Returns
        -------
        FrozenDistribution
            A `numbastats.quantile.QuantileTable` that has the densities and distribution functions of this distribution, too. Its
            `certificate` says how exact it is.

        Raises
        ------
        ValueError
            For a batch, whose distributions have a table each (those of Student's t and the generalised hyperbolic ones have
            tables of batches), for parameters that are NaN, and where they are too extreme for a table.

        Warns
        -----
        ConvergenceWarning
            When the certificate exceeds 2e-14, as of some maps from a base distribution.

        Notes
        -----
        It takes 20 to 80 ms to build, and 2 to 4 ns a value, where `ppf` of a gamma or beta distribution takes some 500.

        Examples
        --------
        >>> from numbastats.distributions import Gamma
        >>> table = Gamma(2.5).table(base="normal")
        >>> float(table.ppf(0.9).round(10)), float(table.transform(1.28155156554460).round(10))
        (4.6181784499, 4.6181784499)
        """
        return tables.FrozenDistribution(self, base, **options)

    # -- location and scale ---------------------------------------------------------------------------------------

    __array_ufunc__ = None  # numbers and arrays of NumPy on the left leave the operators to this class

    def __add__(self, other: Any) -> Distribution:
        return NotImplemented if isinstance(other, Distribution) else self._linear(self, other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Distribution:
        return NotImplemented if isinstance(other, Distribution) else self._linear(self, -_number(other), 1.0)

    def __rsub__(self, other: Any) -> Distribution:
        return self._linear(self, other, -1.0)

    def __mul__(self, other: Any) -> Distribution:
        return NotImplemented if isinstance(other, Distribution) else self._linear(self, 0.0, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Distribution:
        if isinstance(other, Distribution):
            return NotImplemented
        with np.errstate(divide="ignore"):
            return self._linear(self, 0.0, 1.0 / _number(other))

    def __neg__(self) -> Distribution:
        return self._linear(self, 0.0, -1.0)

    def _relocated(self, shift, factor):
        """The distribution of shift + factor X as one of this class, or None."""
        if type(self).names != (*self._scipy_shapes, "loc", "scale"):
            return None
        if np.any(np.less(factor, 0.0)) and not self._kernels.is_even:
            return None
        return type(self)(*self._standard(), shift + factor * self.loc, np.abs(factor) * self.scale)

    # -- SciPy ----------------------------------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Hand the distribution to SciPy, as a frozen one of `scipy.stats` that calls our functions.

        Returns
        -------
        scipy.stats.rv_frozen
            Its `dist` is an instance of `scipy.stats.rv_continuous` with the shape parameters of the standard form, loc and
            scale, for `scipy.stats.fit` and `goodness_of_fit`. Their names are those here, but ``p = lam``, ``a = alpha delta``,
            ``b = beta delta`` with scale = delta for the generalised hyperbolic ones, ``lam`` and ``b = beta/alpha`` with
            scale = 1/alpha for the variance gamma one, ``mu = mean/shape`` with scale = shape for the inverse Gaussian one,
            ``a, b`` = (lower - loc)/scale, (upper - loc)/scale for the truncated normal one, and those of S0 for the stable one.

        Examples
        --------
        >>> import numpy as np, scipy.stats
        >>> from numbastats.distributions import Gamma
        >>> d = Gamma(2.0, scale=3.0)
        >>> bool(scipy.stats.kstest(d.rvs(1000, rng=1), d.to_scipy().cdf).pvalue > 0.01)
        True
        """
        return scipy_family(type(self))(  # type: ignore[arg-type]  # a class is hashable
            *self._standard(), loc=self.loc, scale=self.scale
        )


@names_ours
class LocationScale:
    """What families without shapes have beside the protocol."""

    names: ClassVar[tuple[str, ...]] = ("loc", "scale")
    _moments: ClassVar[tuple[float, ...]]  # mean, variance, skewness and excess kurtosis of the standard form
    _nats: ClassVar[float]  # its entropy
    _set: Callable[..., None]

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(loc=loc, scale=scale)

    def _mean_var(self):
        return self._moments[:2]

    def _shape(self):
        return self._moments[2:]

    def _entropy(self):
        return self._nats


@names_ours
class OneShape:
    """What families with one shape of that name have beside the protocol."""

    names: ClassVar[tuple[str, ...]] = ("shape", "loc", "scale")
    _positive: ClassVar[tuple[str, ...]] = ("shape", "scale")
    _scipy_shapes: ClassVar[tuple[str, ...]] = ("shape",)
    _set: Callable[..., None]

    def __init__(self, shape: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0):
        self._set(shape=shape, loc=loc, scale=scale)


def _number(value):
    """What can be subtracted or divided by: an array, with its labels."""
    return value if has_labels(value) else real64(value)


def in_units(var, scale):
    """A variance in other units, also where the square of the scale is no double."""
    square = np.square(scale)
    return np.where((square > 1e-300) & (square < math.inf), square * var, scale * (scale * var))


def _fixed(value):
    """A number, or an array of its own that nobody can write to."""
    if value.ndim == 0:
        return float(value)
    value = np.array(value)
    value.flags.writeable = False
    return value


def _code(value):
    """Python code of a parameter; arrays of more than 20 numbers are abbreviated."""
    if isinstance(value, np.ndarray):
        if value.size > 20:
            return np.array2string(value, threshold=6, separator=", ")
        return f"[{', '.join(map(_code, value))}]" if value.ndim else _code(float(value))
    return repr(float(value)) if np.isfinite(value) else f"float({str(float(value))!r})"


def _with_labels(cls, arguments, labels):
    """A distribution, and the labels of its parameters."""
    made = cls(*arguments)
    object.__setattr__(made, "_labels", labels)
    return made


def _not_in_per_cent(p, found):
    """The quantile of p, which is warned of where it is NaN of one number that may be meant in per cent."""
    if type(found) is np.float64 and found != found:
        doubt_per_cent(p)
    return found


def _bits(value):
    """A number by its bits, so that NaN equals itself."""
    return np.float64(value + 0.0).tobytes() if isinstance(value, float) else value


@functools.cache
def _params_type(name, names):
    """A named tuple of parameters."""
    return collections.namedtuple(f"{name}Params", names)


def scipy_methods(standard, density="pdf"):
    """What SciPy's classes call, by a function of the shapes that makes the distribution."""

    def on_z(name):
        return lambda self, z, *shapes: getattr(standard(shapes), name)(z)

    def stats_of(self, *shapes, moments="mvsk"):
        d = standard(shapes)
        skewness, kurtosis = ((d.skewness() if "s" in moments else None), (d.kurtosis() if "k" in moments else None))
        return d.mean(), d.var(), skewness, kurtosis

    def rvs_of(self, *shapes, size=None, random_state=None):
        return standard(shapes).rvs(size, rng=int.from_bytes(random_state.bytes(8), "little"), device="cpu")

    names = (density, f"log{density}", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    methods: dict[str, Any] = {f"_{name}": on_z(name) for name in names}
    return methods | {"_rvs": rvs_of, "_stats": stats_of, "_entropy": lambda self, *shapes: standard(shapes).entropy()}


@functools.cache
def scipy_family(cls):
    """An instance of `rv_continuous` of a class, of counts one of `rv_discrete`."""
    from scipy import stats

    def allowed(self, *shapes):
        values = dict(zip(cls.names, map(np.asarray, cls._of_standard(*shapes)), strict=True))
        return cls.in_domain(values)

    def standard(shapes):
        """The distribution of standard form; NaN for shapes outside the domain, as SciPy expects."""
        return cls(*cls._of_standard(*(np.where(allowed(None, *shapes), shape, math.nan) for shape in shapes)))

    def shape_info(self):  # what scipy.stats.fit asks for
        from scipy.stats._distn_infrastructure import _ShapeInfo

        lowest = {name: 0.0 if name in cls._positive else -math.inf for name in cls._scipy_shapes}
        return [_ShapeInfo(name, False, (low, math.inf), (False, False)) for name, low in lowest.items()]

    base, density = (stats.rv_discrete, "pmf") if cls.is_discrete else (stats.rv_continuous, "pdf")
    methods = scipy_methods(standard, density)
    methods |= {
        "_argcheck": allowed,
        "_shape_info": shape_info,
        "_get_support": lambda self, *shapes: standard(shapes).support(),
        "__reduce__": lambda self: (scipy_family, (cls,)),
        "__doc__": f"numbastats.distributions.{cls.__name__} for scipy.stats.",
    }
    shapes = ("size_" if name == "size" else name for name in cls._scipy_shapes)  # rvs has an argument of that name
    return type(f"numbastats_{cls.__name__}", (base,), methods)(name=cls.family, shapes=", ".join(shapes) or None)


def _only(options, *names):
    """Those of the options."""
    return {name: options[name] for name in names}
