"""Tables of distributions: masses of densities for the tails of families without closed ones, and quantiles.

A family that is known by its density defines the class method ``_described(*params)``: the density at location 0 of one set of
parameters, and the options of its `panels.Masses`; a ValueError where they are too extreme.
"""

from __future__ import annotations

import functools
import math
import threading
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.broadcast import lent
from numbastats._core.elementwise import elementwise
from numbastats._core.errors import names_ours
from numbastats._core.inputs import any_lazy, deliver
from numbastats._core.kinds import device_kind, in_kind_of, to_host
from numbastats._core.launch import choose_device
from numbastats._core.options import ArrayOptions, Device, hands_on
from numbastats._core.parallel import check_workers, in_threads, threads_beside, worker_count
from numbastats._core.slabs import cuts
from numbastats.distributions import kernels
from numbastats.distributions.kernels.beyond import BEYOND
from numbastats.quantile import QuantileTable, arguments, ndtri, panels
from numbastats.scalar.tables import SIDE_COLUMNS

__all__ = [
    "FrozenDistribution",
    "completed",
    "kept",
    "looked_up",
    "named_error",
    "of_density",
    "parameter_sets",
    "probabilities",
    "quantiles",
    "times_exp",
]

_MEMORY = 1 << 28  # bytes of tables that are kept: most have 240 to 270 KiB, those of steep distributions more
_EXACT = 2e-14  # largest relative error of tables behind `ppf` and `isf`
_SLAB = 1 << 17  # probabilities for each thread that are looked up and checked while they are in its cache
_BATCH = 64  # tables in memory at a time when a function is called with many sets of parameters

_made: dict[Any, FrozenDistribution | None] = {}  # by class and sets of parameters
_lock = threading.Lock()


def times_exp(body, exponent, lift):
    """Body times e^exponent times 2^lift, which is room for the tails; through the logarithm where e^exponent underflows."""
    product = body * 2.0**lift * np.exp(exponent)  # no underflow before the lift
    deep = exponent < -600
    if deep.any():
        # a body beyond the doubles belongs to an exponent that is far smaller
        product[deep] = np.exp((exponent[deep] + lift * math.log(2)) + np.log(np.minimum(body[deep], 1e308)))
    return product


def named_error(cls, values, error):
    """The error with the parameters named in its message."""
    listed = ", ".join(f"{n}={float(v)!r}" for n, v in zip(cls.names, values, strict=True))
    return ValueError(f"{cls.__name__}({listed}): {error}")


def parameter_sets(params):
    """The distinct sets of parameters, and the index of the set at each element of their broadcast shape."""
    arrays = np.broadcast_arrays(*params)
    if arrays[0].size == 1:
        return [tuple(a.item() for a in arrays)], np.zeros(arrays[0].shape, np.int64)
    sets, index = np.unique(np.stack([a.ravel() for a in arrays], axis=1), axis=0, return_inverse=True)
    return list(map(tuple, sets.tolist())), index.reshape(arrays[0].shape)


def _described(cls, *values):
    """Density and options of one set of parameters."""
    if any(map(math.isnan, values)):
        raise ValueError("a parameter is NaN")
    return cls._described(*map(float, values))


@names_ours
class FrozenDistribution(QuantileTable):
    """A quantile table of a distribution, which keeps the densities and distribution functions of that.

    Made by ``distribution.table()``; the parameters are those of `QuantileTable`.

    Attributes
    ----------
    distribution : Distribution
    """

    def __init__(
        self,
        distribution: Any,
        base: Any = "uniform",
        *,
        accuracy: Literal["double", "full"] = "double",
        degree: Literal[5, 7] = 7,
        tail: float | None = None,
        device: Device = None,
        workers: Any = None,
        quiet: bool = False,
    ):
        if not hasattr(distribution, "params"):
            raise TypeError(f"distribution is a {type(distribution).__name__}; call the method `table` of one")
        order = arguments.check_order(base, accuracy, degree, tail)
        self.distribution, cls = distribution, type(distribution)
        if hasattr(cls, "_described"):
            named = functools.partial(named_error, cls)
            density = arguments.Density(functools.partial(_described, cls), scan=False, named=named)
            parameters, shift = arguments.check_parameters(distribution.params), distribution.loc
            self._build(density, parameters, order, device, workers, shift, quiet)
        else:
            kink = distribution._kink()
            pdf, options, place = arguments.check_frozen(distribution, {} if kink is None else {"anchor": kink})
            given = dict(pdf=pdf, logpdf=None, sf=None, anchor=0.0, singular=None, breaks=(), normalised=None) | options
            self._build(arguments.check_density(**given), arguments.check_parameters(()), order, device, workers, 0.0, quiet)
            self._hold(self._table.moved(place))
        self.norm_const = np.where(self.certificate.ok, 1.0, math.nan)[()]  # the table's own density has a factor

    def __repr__(self):
        return f"{self.distribution!r}.table()"

    @hands_on(ndtri)
    def pdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Density at x; `options` are those of `Distribution.pdf`: out, dtype, device, workers, stream."""
        return self._exact("pdf", x, options)

    @hands_on(ndtri)
    def logpdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Logarithm of the density at x."""
        return self._exact("logpdf", x, options)

    @hands_on(ndtri)
    def cdf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Distribution function at x."""
        return self._exact("cdf", x, options)

    @hands_on(ndtri)
    def sf(self, x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
        """Upper tail probability at x."""
        return self._exact("sf", x, options)

    def mean(self):
        """Mean."""
        return self.distribution.mean()

    def var(self):
        """Variance."""
        return self.distribution.var()

    def std(self):
        """Standard deviation."""
        return self.distribution.std()

    def skewness(self):
        """Skewness."""
        return self.distribution.skewness()

    def kurtosis(self):
        """Excess kurtosis."""
        return self.distribution.kurtosis()

    def median(self):
        """The quantile at 1/2."""
        return self.ppf(0.5)

    def _exact(self, name, x, options):
        kept = {name: getattr(self, name) for name in ("device", "workers") if options.get(name) is None}
        if not any_lazy((x,)):
            kept["dtype"] = arguments.float_type((x,), options.get("dtype"), self._table.param_dtype)
        return getattr(self.distribution, name)(x, **options | kept)


# -- tables that are kept -----------------------------------------------------------------------------------------------


def kept(distribution):
    """The table of one distribution for its quantiles, or None where it cannot have one that is exact to 2e-14."""
    key = type(distribution), distribution.params

    def build():
        try:
            table = FrozenDistribution(distribution, quiet=True)
        except ValueError:
            return None
        return table if table.certificate.max_rel_err <= _EXACT else None

    return _remembered(key, build)


def _remembered(key, build):
    if key not in _made:
        table = build()
        with _lock:
            _made[key] = table
            held = sum(t.nbytes for t in _made.values() if t is not None)
            while held > _MEMORY and len(_made) > 1:
                dropped = _made.pop(next(iter(_made)))
                held -= 0 if dropped is None else dropped.nbytes
        return table
    return _made[key]


def _batch(cls, sets):
    """One batch of tables."""
    made = FrozenDistribution(cls(*map(np.array, zip(*sets, strict=True))), quiet=True)
    for values, ok in zip(sets, made.certificate.ok, strict=True):
        if not ok and not any(map(math.isnan, values)):
            FrozenDistribution(cls(*values))  # raises with the reason
    return made


def looked_up(table, name):
    """A function of probabilities and their quantiles that looks these up, in double precision; it writes NaN beyond."""
    kernel, args = table._lookup(name == "isf")
    return lambda u, out: kernel.serial(u, *args, out)


def completed(look_up, u, least, rest, workers=None):
    """Quantiles of one distribution from a table, and of ``rest(u, workers)`` those which it does not give.

    Parameters
    ----------
    look_up : callable
        ``look_up(u, out)`` writes quantiles, on one thread.
    u : array of double
    least : float
        The table serves probabilities above it and below 1, where it gives no NaN.
    rest : callable
    workers : int, optional
    """
    workers = worker_count(threads_beside(workers))
    flat = np.ascontiguousarray(u).reshape(-1)
    flat = flat if flat.flags.writeable else lent(flat)
    value, left = np.empty(flat.size), {}

    def look(lo, hi):
        part, out = flat[lo:hi], value[lo:hi]
        look_up(part, out)
        if BEYOND(part, out, least):
            left[lo] = np.flatnonzero(~((part > least) & (part < 1.0) & (out == out)))

    in_threads(look, cuts(flat.size, _SLAB), workers)
    for lo in sorted(left):
        value[lo + left[lo]] = rest(flat[lo + left[lo]], workers)
    return value.reshape(u.shape)


def _of_sets(cls, sets):
    return _remembered((cls, tuple(sets)), lambda: _batch(cls, sets))


def of_density(distribution):
    """The table of one distribution of a family that is known by its density."""
    sets, index = parameter_sets(distribution.params)
    return _of_sets(type(distribution), sets)._select(index)


def quantiles(distribution, name, u, out=None, dtype=None, device=None, workers=None, stream=None):
    """Quantiles (name "ppf" or "isf") by tables that are kept; NaN for probabilities other than 0 below 2^-66 of a side."""
    cls, (sets, index) = type(distribution), parameter_sets(distribution.params)
    dtype = arguments.float_type((u,), dtype)
    options = dict(dtype=dtype, device=device, workers=workers)
    if 0 < len(sets) <= _BATCH:
        return getattr(_of_sets(cls, sets)._select(index), name)(u, out=out, stream=stream, **options)
    check_workers(workers)
    chosen = choose_device(device, on_device=bool(device_kind(u)))
    if device_kind(u):
        options["device"] = chosen
    host = np.asarray(to_host(u, "u"))
    shape = np.broadcast_shapes(host.shape, index.shape)
    points, index, result = np.broadcast_to(host, shape), np.broadcast_to(index, shape), np.empty(shape, dtype)
    for first in range(0, len(sets), _BATCH):
        use = (index >= first) & (index < first + _BATCH)
        tables = _batch(cls, sets[first : first + _BATCH])
        result[use] = getattr(tables._select(index[use] - first), name)(points[use], **options)
    return deliver(in_kind_of(result, u), out, dtype)


# -- tails by masses ------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def panels_of(cls, values):
    """Panels of one set of parameters for `tail_probability`, and its numbers: location, anchor, rows on the left and right."""
    if any(map(math.isnan, values)):
        return np.full((1, SIDE_COLUMNS), math.nan), (math.nan, 0.0, 1, 1, 0, 0)
    try:
        density, options = cls._described(*values)
        masses = panels.Masses(density, depth=cls._depth, **options)
    except ValueError as error:
        raise named_error(cls, values, error) from None
    pairs = list(zip(masses.sides, masses.p[::-1], strict=True))[1 if masses.symmetric else 0 :]
    sides = [_NO_SIDE if side is None else panels.side_rows(side, masses.norm, p) for side, p in pairs]
    counts = len(sides[0]), len(sides[-1])
    place = (cls(*values).loc, masses.anchor)
    return np.concatenate(sides), (*place, *counts, 0, counts[0] if len(sides) > 1 else 0)


@np.errstate(under="ignore")  # tails underflow
def probabilities(distribution, x, upper, device=None, workers=None, stream=None, **options):
    """Distribution function, or upper tail, at values in double precision, from masses of the density that are kept."""
    sets, index = parameter_sets(distribution.params)
    parts = [panels_of(type(distribution), values) for values in sets]
    first = np.cumsum([0, *(len(rows) for rows, _ in parts)])[:-1]
    header = np.array([numbers for _, numbers in parts]).reshape(-1, 6) + first[:, None] * [0, 0, 0, 0, 1, 1]
    header = header[index]
    rows = [rows for rows, _ in parts] or [np.zeros((0, SIDE_COLUMNS))]
    table = rows[0] if len(rows) == 1 else np.concatenate(rows)  # of one distribution it stays on a GPU
    return elementwise(
        kernels.DISTRIBUTION,
        ("x", *["the parameters"] * 6),
        (x, *(header[..., i][()] for i in range(6))),
        extras=(np.int64(upper), table),
        device=device,
        workers=workers,
        stream=stream,
        cost=60.0,
        **options,
    )


_NO_SIDE = np.zeros((1, SIDE_COLUMNS))  # it has next to no mass
_NO_SIDE[0, [1, -1]] = 1.0
