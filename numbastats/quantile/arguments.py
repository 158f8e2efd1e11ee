"""Checks of the input to tables: base distributions, densities, parameters, options, float types."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from numbastats._core.broadcast import as_host, result_dtype
from numbastats._core.checks import check_dtype, choice, refuse_mask
from numbastats._core.kinds import device_kind, is_torch, numpy_dtype
from numbastats._core.options import ArrayOptions, NumberOptions
from numbastats.quantile.construction import FromLog
from numbastats.quantile.panels import Slope
from numbastats.quantile.quantile_table import TableSet

__all__ = [
    "ArrayQuantiles",
    "Density",
    "Edges",
    "Method",
    "NumberQuantiles",
    "Order",
    "Parameters",
    "Tail",
    "check_base",
    "check_density",
    "check_frozen",
    "check_order",
    "check_parameters",
    "float_type",
    "given_dtype",
]

Method = Literal["fast", "accurate", "correct", "exp56", "exp1313", "exp1313_printed", "t2"]
Tail = Literal["lower", "upper"]
Edges = Literal["inf", "open"]

_OCTAVES = 66  # at least, of the shares of mass next to an anchor inside the support
_TAIL = 2.0**-_OCTAVES
_FULL = 1e-300
_FAR_END = 500.0  # interquartile ranges from the median, beyond which an end of the support is no anchor
_BASES = ("uniform", "normal", "exponential", "two-sided exponential")


class NumberQuantiles(NumberOptions, total=False):
    """Options of `ndtri` with which the result for numbers is a float."""

    method: Method
    tail: Tail
    log: bool
    edges: Edges


class ArrayQuantiles(NumberQuantiles, ArrayOptions, total=False):
    """Options of `ndtri`."""


def check_base(base):
    """A base distribution in its canonical form; ValueError for an unknown one."""
    if isinstance(getattr(base, "_table", None), TableSet):
        if base.shape != ():
            raise ValueError(f"base has parameters of shape {base.shape}; use a distribution with one set of parameters")
        return base
    if callable(getattr(base, "logpdf", None)):
        raise ValueError(f"base is a {type(base).__name__}; use QuantileTable(logpdf=base.logpdf), which makes a table of it")
    name, rates = base if isinstance(base, tuple) and len(base) == 2 else (base, None)
    name = "normal" if isinstance(name, str) and name == "gaussian" else name
    choice("base", name, _BASES)
    if name != "two-sided exponential":
        return name if rates is None else choice("base", base, _BASES)
    if not (np.shape(rates) == (2,) and all(0 < rate < math.inf for rate in rates)):
        raise ValueError(f"base={base!r} needs two positive rates: ('two-sided exponential', (right, left))")
    return name, (float(rates[0]), float(rates[1]))


class Order(NamedTuple):
    """Options of a table."""

    base: object
    degree: int
    octaves: int
    held: int  # octaves of the tails


def check_order(base, accuracy, degree, tail):
    """Check the options of a table."""
    choice("accuracy", accuracy, ("double", "full"))
    choice("degree", degree, (5, 7))
    base = check_base(base)
    tail = (_FULL if accuracy == "full" else _TAIL) if tail is None else float(tail)
    if not 1e-300 <= tail <= 0.125:
        raise ValueError(f"tail={tail!r} must be between 1e-300 and 1/8")
    held = math.ceil(-math.log2(tail))
    return Order(base, degree, max(held, _OCTAVES), held)


class Parameters(NamedTuple):
    """Broadcast parameters, their sets, and their dtype for the promotion of results (None: Python numbers)."""

    arrays: tuple
    shape: tuple
    sets: list
    dtype: np.dtype | None


def check_parameters(params):
    """Check the parameters of one table, or of a batch."""
    for p in params:
        refuse_mask(p)
    given = [d for d in map(given_dtype, params) if d is not None]
    dtype = result_dtype(["a parameter"] * len(given), given) if given else None
    try:
        arrays = np.broadcast_arrays(*[np.asarray(p, dtype=np.float64) for p in params]) if params else []
    except ValueError:
        shapes = ", ".join(str(np.shape(p)) for p in params)
        raise ValueError(f"the parameters do not broadcast: shapes {shapes}") from None
    shape = arrays[0].shape if arrays else ()
    if 0 in shape:
        raise ValueError(f"the parameters have shape {shape}, which holds no distribution; pass at least one set")
    sets = list(zip(*(a.ravel() for a in arrays), strict=True)) if arrays else [()]
    return Parameters(tuple(arrays), shape, sets, dtype)


class Density(NamedTuple):
    """A density to build tables from.

    `describe` gives the density and the options of its masses for one set of parameters. `scan` compares the density with its
    panels at more points; `named` turns a ValueError about one set of parameters into one that names them.
    """

    describe: Callable
    cdf: Callable | None = None
    scan: bool = True
    normalised: bool | None = False
    named: Callable | None = None


def check_density(pdf, logpdf, cdf, sf, anchor, support, scale, singular, breaks, normalised):
    """Check the functions of a user; returns their `Density`."""
    if sum(given is not None for given in (pdf, logpdf, sf)) != 1 or (sf is not None and cdf is None):
        raise ValueError("give either pdf= or logpdf= (and cdf= as a check), or both cdf= and sf=")
    for name, function in (("pdf", pdf), ("logpdf", logpdf), ("cdf", cdf), ("sf", sf)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} is a {type(function).__name__}; it must be a function of an array")
    lower, upper = (float(e) for e in support)
    if not (lower < upper and lower <= anchor <= upper and math.isfinite(anchor) and 0 < scale < math.inf):
        raise ValueError(
            f"anchor={anchor!r} must be finite and within support={support!r}, whose ends must ascend, and scale={scale!r} "
            "must be positive"
        )
    breaks = np.asarray(breaks, np.float64)
    if breaks.ndim != 1 or not np.isfinite(breaks).all():
        raise ValueError(f"breaks={breaks!r} must be a sequence of finite places, such as (0.0, 2.5)")
    if normalised is None:
        normalised = False if cdf is not None else None
    elif normalised not in (True, False):
        raise ValueError(f"normalised={normalised!r} must be True, False or None")
    options = dict(anchor=float(anchor), support=(lower, upper), scale=float(scale), singular=singular)
    if breaks.size:
        options["breaks"] = breaks
    describe = functools.partial(_describe, pdf, logpdf, cdf, sf, options)
    return Density(describe, cdf, scan=cdf is None, normalised=normalised)


class _At:
    """A function of x with its parameters fixed, which pickles where the function does."""

    def __init__(self, function, values):
        self.function, self.values = function, values

    def __call__(self, x):
        return self.function(x, *self.values)


def _describe(pdf, logpdf, cdf, sf, options, *values):
    """Density and options of one set of parameters."""
    where = options["anchor"], options["support"], options["scale"]
    if pdf is not None:
        return pdf if isinstance(pdf, _Distances) else _At(pdf, values), options
    if sf is not None:
        return Slope(_At(cdf, values), _At(sf, values), *where), options
    return FromLog(_At(logpdf, values), *where), options


class _Distances:
    """Density of a distribution of SciPy in distances from its anchor."""

    def __init__(self, distribution, anchor, unit):
        self.distribution, self.anchor, self.unit = distribution, anchor, unit
        self.offset = abs(anchor) * unit

    def __call__(self, y):
        return self.distribution.pdf(self.anchor + y / self.unit) / self.unit

    def cdf(self, y):
        """Distribution function."""
        return self.distribution.cdf(self.anchor + y / self.unit)


def check_frozen(frozen, options):
    """Density and options for a frozen distribution of SciPy, and the place of its anchor."""
    for method in ("pdf", "cdf", "ppf", "support"):
        if not callable(getattr(frozen, method, None)):
            raise TypeError(
                f"{frozen!r} has no method {method}; pass a frozen continuous distribution, such as scipy.stats.gamma(2.5)"
            )
    if np.shape(frozen.ppf(0.5)):
        raise ValueError(
            f"the distribution has parameters of shape {np.shape(frozen.ppf(0.5))}; make one table per set, or a batch with "
            "QuantileTable(pdf, params=...)"
        )
    if not all(math.isfinite(q) for q in frozen.ppf([0.25, 0.75])):
        raise ValueError(f"the quartiles of {frozen!r} are {frozen.ppf([0.25, 0.75])}; its parameters are out of their domain")
    standard, loc, unit = _standardised(frozen)
    lower, upper = (float(e) for e in standard.support())
    quarter, median, three = (float(q) for q in standard.ppf([0.25, 0.5, 0.75]))
    spread = three - quarter
    ends = [e for e in (lower, upper) if abs(e - median) < _FAR_END * spread]
    if "anchor" in options:
        place = options.pop("anchor")
        anchor = (place - loc) / unit
    else:
        anchor = ends[0] if ends else 0.0 if abs(median) < 1e-12 * spread else median
        place = loc + unit * anchor
    # in distances from the anchor: a distribution far from 0 in units of its scale has no digits to spare
    inside = [unit * (e - anchor) for e in (lower, upper)]
    options.setdefault("scale", unit * spread)
    if "breaks" in options:
        options["breaks"] = np.asarray(options["breaks"], np.float64) - place
    density = _Distances(standard, anchor, unit)
    return density, options | dict(cdf=density.cdf, support=inside), place


def _standardised(frozen):
    """The distribution of location 0 and scale 1 that a frozen one of SciPy is made from, its location and its scale."""
    parse = getattr(getattr(frozen, "dist", None), "_parse_args", None)
    if parse is None:
        return frozen, 0.0, 1.0
    shapes, loc, scale = parse(*frozen.args, **frozen.kwds)
    return frozen.dist(*shapes), float(loc), float(scale)


def given_dtype(value):
    """The dtype of an argument for the promotion of results; None for Python numbers, which take no part."""
    return numpy_dtype(value if device_kind(value) or is_torch(value) else as_host(value))


def float_type(values, dtype, params=None):
    """The float type of a call: the requested one, else NumPy's result type of the data and of parameters with dtype `params`.

    Headers, which are float64, must not widen float32 data.
    """
    if dtype is not None:
        return check_dtype(dtype)
    return result_dtype(["an argument"] * (len(values) + 1), [*map(given_dtype, values), params])
