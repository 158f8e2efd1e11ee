"""Builds quantile tables and evaluates them: sets of parameters on several threads, values on the CPU or on CUDA."""

from __future__ import annotations

import dataclasses
import functools
import math
import pickle

import numpy as np

from numbastats._core.broadcast import real64
from numbastats._core.elementwise import elementwise
from numbastats._core.inputs import as_double, deliver, in_float32
from numbastats._core.kinds import device_kind, in_kind_of, to_host
from numbastats._core.parallel import is_executor, mapped, worker_count
from numbastats.quantile import construction, kernels
from numbastats.quantile.arguments import Density, Order, Parameters, float_type
from numbastats.quantile.construction import ROUGH, TARGET, FromLog, One
from numbastats.quantile.quantile_table import MOST_BITS, Rows, TableSet

__all__ = ["Columns", "build", "density_at", "evaluate", "lookup", "map_base", "quality", "rebased", "through_probabilities"]


# -- building -------------------------------------------------------------------------------------------------------


@np.errstate(under="ignore")  # tails underflow, also where the caller lets NumPy raise errors
def build(density: Density, parameters: Parameters, order: Order, workers, shift) -> TableSet:
    """The table of a density, with as many rows per octave as its quantile needs."""
    count = len(parameters.sets)
    alone = parameters.shape == ()
    bits, split = 6 if order.degree == 5 else 4, False  # logarithm of the rows per octave
    make = functools.partial(_make_all, density, parameters.sets, order, workers, alone)
    made = make(bits, split)
    while bits < MOST_BITS and (coarse := _coarsest(made)) > TARGET:
        finer = make(bits + 1, split)  # steep quantiles, like that of t with half a degree of freedom
        if not _coarsest(finer) <= max(0.2 * coarse, TARGET):  # a kink: more rows do not help much
            break
        made, bits = finer, bits + 1
    if (coarse := _coarsest(made)) > ROUGH:  # rows that are cut into parts, where that helps
        fewest = 6 if order.degree == 5 else 4
        parted = make(fewest, True)
        if _coarsest(parted) <= 0.1 * coarse:
            made, bits, split = parted, fewest, True
    made = [(one, *rows) if _accepted(one, alone) else (One(), None, None) for one, *rows in made]
    table = TableSet(
        order.base,
        order.degree,
        order.octaves,
        order.held,
        bits,
        split,
        sets=tuple(m[0] for m in made),
        shift=np.broadcast_to(np.asarray(shift, np.float64), parameters.shape).ravel(),
        index=np.arange(count).reshape(parameters.shape),
        param_dtype=parameters.dtype,
    )
    table = dataclasses.replace(table, uniform=Rows(table.joined("uniform", [m[1] for m in made])))
    return _mapped_from_base(table, [m[2] for m in made]) if construction.follows_base(order.base) else table


def _coarsest(made):
    return max(m[0].coarse for m in made)


def _accepted(one, alone):
    """Whether a set has a table; outside a batch, ValueError says why not."""
    message = construction.refusal(one)
    if message and alone:
        raise ValueError(message)
    return not message


def _make_all(density, sets, order, workers, alone, bits, split):
    work = functools.partial(_make, density, order, alone, bits, split)
    if len(sets) > 1 and is_executor(workers):
        from concurrent.futures import ProcessPoolExecutor  # not at the top: it cannot be imported while Python exits

        if isinstance(workers, ProcessPoolExecutor):
            try:
                pickle.dumps(work)
            except Exception as error:
                raise TypeError(
                    f"the density cannot be sent to another process ({error}); use a ThreadPoolExecutor or a number"
                ) from error
        return list(mapped(workers, work, sets))
    if len(sets) > 1 and worker_count(workers) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(worker_count(workers)) as pool:
            return list(pool.map(work, sets))
    return [work(s) for s in sets]


def _make(density, order, alone, bits, split, values):
    """Masses and rows of one set of parameters; in a batch an empty `One` where it has no table."""
    try:
        return construction.make(density, values, order, bits, split)
    except ValueError as error:
        if alone:
            if density.named is not None:
                raise density.named(values, error) from None
            raise
        return One(), None, None


def _mapped_from_base(table, signed):
    """The table with rows by values of its base; through probabilities if one of the sets has none."""
    indirect = any(one.masses is not None and rows is None for one, rows in zip(table.sets, signed, strict=True))
    rows = None if indirect else Rows(table.joined("signed", signed))
    return dataclasses.replace(table, signed=rows, indirect=indirect)


@np.errstate(under="ignore")
def rebased(table: TableSet, base) -> TableSet:
    """The same distribution as a map from another base; rows are built once."""
    if not construction.follows_base(base):
        return dataclasses.replace(table, base=base, indirect=False)
    if any(isinstance(one.masses, construction.Loaded) for one in table.sets):
        raise ValueError(f"a table loaded from a file knows its own base only ({table.base!r}); build it anew")
    alone, sets, signed = table.shape == (), [], []
    for one in table.sets:
        one, rows = dataclasses.replace(one, base=None), None
        if one.masses is not None:
            one, rows = construction.from_base(one, base, 7, np.random.default_rng(5))
            one, rows = (one, rows) if _accepted(one, alone) else (One(), None)
        sets.append(one)
        signed.append(rows)
    return _mapped_from_base(dataclasses.replace(table, base=base, sets=tuple(sets)), signed)


@np.errstate(under="ignore")
def quality(table: TableSet):
    """Fields of a certificate, and the largest error of the sets with a table."""

    def extrapolated(one):
        return max(side.outer / side.total for side in one.masses.sides if side is not None) if one.masses else math.nan

    found = dict(
        ok=table.column(lambda one: one.masses is not None),
        max_rel_err=table.column(lambda one: one.error),
        tail_mass=table.column(extrapolated),
        calls=table.column(lambda one: one.calls),
        lower=table.column(lambda one: one.range[0]),
        upper=table.column(lambda one: one.range[1]),
        direct=not table.indirect,
    )
    return found, max((one.error for one in table.sets if one.masses is not None), default=0.0)


# -- evaluation -----------------------------------------------------------------------------------------------------


def evaluate(table: TableSet, kind, names, values, header, options, cost):
    """Look values up. A header of numbers goes to the kernel as it is, one of arrays is broadcast against the values.

    The header is a function of the dtype.
    """
    dtype = options["dtype"]
    if dtype == np.float32 and table.is_rough("signed" if kind == "signed" else "uniform"):
        double, stream = options | {"out": None, "dtype": np.dtype(np.float64)}, options["stream"]
        values = [as_double(v, stream) for v in values]
        return in_float32(evaluate(table, kind, names, values, header, double, cost), options["out"], stream)
    header = header(dtype)
    if table.shape:
        names, values, header = (*names, *["the parameters"] * len(header)), (*values, *header), ()
    pick = functools.partial(_kernel, table, kind)
    return elementwise(pick, names, values, extras=lambda d: _arguments(table, kind, header, d), cost=cost, **options)


def lookup(table: TableSet, kind, header, dtype):
    """The kernel of look-ups in a table of one distribution, and its arguments between the values and the output."""
    return _kernel(table, kind, dtype), _arguments(table, kind, header, dtype)


def _degree(table, kind, dtype):
    return 3 if dtype == np.float32 else 7 if kind == "signed" else table.degree


def _arguments(table, kind, header, dtype):
    signed, degree = kind == "signed", _degree(table, kind, dtype)
    integers = (table.signed_integers if signed else table.integers)(degree)
    return (*header, *integers, table.rows("signed" if signed else "uniform", degree))


def _kernel(table, kind, dtype):
    return kernels.TABLE[kind, "split" if table.split and kind != "signed" else _degree(table, kind, dtype)]


def map_base(table: TableSet, b, options):
    """Map values of the base, by rows of their own or by their probabilities."""
    base = table.base
    if base in ("uniform", "exponential"):
        return evaluate(table, base, ("b",), (b,), lambda d: table.header(d, False), options, 1.6 if base == "uniform" else 2.2)
    if isinstance(base, tuple):

        def header(dtype):
            return (*(dtype.type(rate) for rate in base[1]), *table.shares(dtype))

        return evaluate(table, "sided", ("b",), (b,), header, options, 1.8)
    return evaluate(table, "signed", ("b",), (b,), table.signed_header, options, 2.0)


def through_probabilities(table: TableSet, b, options):
    """Map values of the base through their smaller tail probability, in double precision."""
    dtype, out = options["dtype"], options["out"]
    where = options | {"dtype": np.dtype(np.float64), "out": None, "stream": None}
    if device_kind(b):
        where["device"] = "cpu"
    lower, upper = _tails(table.base, real64(to_host(b, "b")))
    left, right = (
        evaluate(table, "uniform", (name,), (p,), lambda d, up=up: table.header(d, up), where, 1.6)
        for name, p, up in (("u", lower, False), ("p", upper, True))
    )
    result = np.where(np.reshape(lower <= upper, np.shape(lower)), left, right).astype(dtype)
    return deliver(in_kind_of(result[()], b), out, dtype)


def _tails(base, b):
    """Lower and upper tail probabilities of a base distribution at b; NaN where it has no values."""
    if isinstance(base, str):
        from scipy.special import ndtr

        return ndtr(b), ndtr(-b)
    if hasattr(base, "cdf"):
        return np.asarray(base.cdf(b)), np.asarray(base.sf(b))
    masses, shift = construction.masses_of(base), construction.location_of(base)
    x = np.atleast_1d(b - shift)
    tails = np.full((2, *x.shape), math.nan)
    for right in (False, True):
        p, other = (masses.p[i] for i in ((1, 0) if right else (0, 1)))
        use = (x > masses.anchor) if right else (x <= masses.anchor)
        use &= (x >= masses.support[0]) & (x <= masses.support[1])
        if not use.any():
            continue
        inside = np.clip(x[use], -1e305, 1e305)
        if p > 0.0:
            inner, outer = (p * masses.share(right, kind, inside)[0] for kind in (True, False))
        else:  # the end, where the anchor is
            inner = outer = np.zeros(inside.shape)
        outer = np.where(np.isinf(x[use]), 0.0, outer)
        tails[int(right), use], tails[int(not right), use] = outer, other + inner
    lower, upper = tails.reshape(2, *np.shape(b))
    return lower, upper


class Columns:
    """Maps to several distributions along the last axis whose tables cannot be stacked."""

    def __init__(self, tables):
        self.tables = tables

    def transform(self, b, *, out=None, dtype=None, **options):
        """Column by column, on the host if the samples are not on a device."""
        dtype = float_type((b,), dtype)
        host = np.asarray(to_host(b, "samples"))
        if device_kind(b):
            options["device"] = "cpu"
        columns = [table.transform(host[..., i], dtype=dtype, **options) for i, table in enumerate(self.tables)]
        return deliver(in_kind_of(np.stack(columns, axis=-1), b), out, dtype)


def density_at(table: TableSet, x):
    """Normalised density of the distribution at x, on the host."""
    dtype, given = float_type((x,), None, table.param_dtype), x
    x, index = np.broadcast_arrays(real64(to_host(x, "x")), table.index)
    out = np.full(x.shape, math.nan)
    for i, one in enumerate(table.sets):
        use = index == i
        if one.masses is not None and use.any():
            place = x[use] - table.shift[i]
            inside = (place >= one.masses.support[0]) & (place <= one.masses.support[1])
            density = next(s for s in one.masses.sides if s is not None).density.density
            with np.errstate(all="ignore"):
                if isinstance(density, FromLog):
                    values = density.over(place, one.masses.norm)
                else:
                    values = np.asarray(density(place)) / one.masses.norm
            out[use] = np.where(inside, values, np.where(np.isnan(x[use]), math.nan, 0.0))
    return in_kind_of(out.astype(dtype, copy=False)[()], given)
