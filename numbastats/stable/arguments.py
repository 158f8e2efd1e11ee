"""What users pass: every check of it, and the data of a fit as the estimators take them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from numbastats._core.checks import choice, is_integer
from numbastats._core.data import NanPolicy, check_policy, check_weights, doubles, is_frame, refuse_missing, series
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.launch import choose_device
from numbastats._core.options import ArrayOptions, Device, NumberOptions
from numbastats.stable.parameterisations import LOWEST, NEAR_1, Form, converted, form_of

ARGUMENTS = ("x", "alpha", "beta", "loc", "scale")
NAMES = ARGUMENTS[1:]
Plain: TypeAlias = float | NDArray[Any]  # no array of another library
Param = Literal["S0", "S1"]
Method = Literal["auto", "table", "quadrature", "fourier", "gauss-kronrod"]
FitMethod = Literal["ml", "quantile", "ecf", "small", "grid"]
Information = Literal["expected", "observed"]
METHODS, FIT_METHODS, INFORMATION = map(get_args, (Method, FitMethod, Information))

# --- points ------------------------------------------------------------------------------------------------------------


class ScoreOptions(TypedDict, total=False):
    """Options of `score` and `loglik` of a distribution."""

    device: Device
    workers: Any


class QuantileOptions(ArrayOptions, total=False):
    """Options of `ppf` and `isf` of a distribution."""

    error: bool


class LogOptions(ArrayOptions, total=False):
    """Options of `logpdf`, `logcdf` and `logsf` of a distribution."""

    method: Method


class PointOptions(LogOptions, total=False):
    """Options of `pdf`, `cdf` and `sf` of a distribution."""

    error: bool


class PassOptions(NumberOptions, total=False):
    """Options of `pdf_cdf` of a distribution."""

    method: Method
    error: bool
    dtype: DTypeLike | None


class NumberPoints(NumberOptions, total=False):
    """Options of the functions of x with which the result for numbers is a float."""

    param: Param
    method: Method


class ArrayPoints(LogOptions, total=False):
    """Options of the functions of x with which the result is one array."""

    param: Param


class AnyPoints(PointOptions, total=False):
    """Options of `pdf`, `cdf` and `sf`."""

    param: Param


class NumberQuantiles(NumberOptions, total=False):
    """Options of `ppf` and `isf` with which the result for numbers is a float."""

    param: Param


class ArrayQuantiles(ArrayOptions, total=False):
    """Options of `ppf` and `isf` with which the result is one array."""

    param: Param


class AnyQuantiles(QuantileOptions, total=False):
    """Options of `ppf` and `isf`."""

    param: Param


def refuse_table(alpha, beta):
    """ValueError: no table holds the points."""
    raise ValueError(
        f"method='table' needs one alpha in [0.1, 2) and one beta in [-1, 1] for all points (inside (-1, 1) for logarithms "
        f"of arrays on the device); got alpha={alpha!r}, beta={beta!r}. Use method='auto'"
    )


def refuse_estimate(method):
    """ValueError: the method has no estimate of its error."""
    raise ValueError(f"error=True has no estimate for method={method!r}; use 'auto', 'quadrature' or 'gauss-kronrod'")


def refuse_out(out):
    """ValueError where an array for the result stands beside error=True."""
    if out is not None:
        raise ValueError("error=True returns several arrays; leave out=None")


def check_regular(alpha, beta, scale):
    """ValueError where the information is not regular."""
    if not (LOWEST <= alpha < 2.0 and -1.0 < beta < 1.0 and 0.0 < scale < math.inf):
        raise ValueError(
            f"alpha={alpha!r}, beta={beta!r}, scale={scale!r}: use alpha in [{LOWEST}, 2), beta in (-1, 1) and a positive scale"
        )


# --- inference ---------------------------------------------------------------------------------------------------------


class CommonOptions(TypedDict, total=False):
    """Options of all that fits."""

    fixed: Mapping[str, float] | None
    nan_policy: NanPolicy


class SimpleOptions(CommonOptions, total=False):
    """Options of `fit` that fits by one of the simple methods have."""

    weights: ArrayLike | None
    param: Param


class GoodnessOptions(CommonOptions, total=False):
    """Options of `fit` that `goodness` has."""

    bounds: Mapping[str, Sequence[float]] | None
    param: Param
    device: Device


class ProfileOptions(GoodnessOptions, total=False):
    """Options of `fit` that `profile` has."""

    weights: ArrayLike | None
    workers: Any


class ManyOptions(CommonOptions, total=False):
    """Options of `fit` that `fit_many` has."""

    start: ArrayLike | None
    bounds: Mapping[str, Sequence[float]] | None
    weights: ArrayLike | None
    se: Information
    profile: bool
    callback: Callable[[int, NDArray[np.float64], float], Any] | None
    device: Device


def profile_options(name, options):
    """Index of a parameter, what else is fixed, and the other options of `fit`."""
    choice("name", name, NAMES)
    fixed = dict(options.get("fixed") or {})
    if name in fixed:
        raise ValueError(f"{name} is fixed; leave it out of fixed= to get an interval")
    return NAMES.index(name), fixed, {key: value for key, value in options.items() if key != "fixed"}


def range_of(name, bounds):
    """The range in which a fit may find a parameter."""
    if name in ("alpha", "beta"):
        return tuple(map(float, shape_bounds(bounds, {})[NAMES.index(name)]))
    return (-math.inf if name == "loc" else 0.0), math.inf


def check_likeliest(found):
    """The fit, if it is one of maximum likelihood."""
    if found.method != "ml":
        raise ValueError(f"found is a fit by method={found.method!r}; pass one by maximum likelihood, or found=None")
    return found


def check_draws(draws):
    """ValueError for too few simulations to tell anything."""
    if not is_integer(draws) or draws < 19:
        raise ValueError(f"draws={draws!r} must be an integer, at least 19: p-values are multiples of 1/(draws + 1)")


# --- fits --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Data and options of a fit, the data in order and standardised: y = (x - centre)/unit.

    Attributes
    ----------
    x, y : arrays
    w : array or None
        Weights over `share`, their mean: tolerances are those of weights of mean 1.
    form : Form
        Of the search: S1 where a location is known there, else S0.
    known, held : dict
        Fixed parameters by name, as given, and for y.
    start : array or None
        For y, in `form`.
    limits : pair of pairs
        Of alpha and beta.
    free : list of int
        The parameters to estimate.
    missing : int
        Number of values that were missing.
    wanted : Wanted
        All that does not depend on the data.
    """

    method: str
    param: str
    se: str
    x: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    share: float
    centre: float
    unit: float
    form: Form
    known: dict
    held: dict
    start: np.ndarray | None
    limits: tuple
    free: list
    missing: int
    wanted: Wanted


class Wanted(NamedTuple):
    """What a fit is to find, whatever the data: fixed parameters, limits of alpha and beta, form, start there, what is free."""

    known: dict
    limits: tuple
    form: Form
    start: np.ndarray | None
    free: list
    param: str

    @classmethod
    def of(cls, method, start=None, fixed=None, bounds=None, param="S0"):
        """From options of `fit`."""
        known = fixed_values(fixed)
        limits = shape_bounds(bounds, known)
        known = {name: low for name, (low, high) in zip(NAMES, limits, strict=False) if low == high} | known
        form = Form.S1 if param == "S1" and "loc" in known and known.get("beta") != 0.0 else Form.S0
        (low, high), _ = limits
        if form is Form.S1 and (method == "grid" or low == high == 1.0 or 1.0 - NEAR_1 < low < high < 1.0 + NEAR_1):
            raise ValueError("a fixed loc in S1 needs another method than 'grid', and alpha other than 1; or fix loc in S0")
        start = _start(start, Form.S0 if param == "S1" and form is Form.S0 else None)
        return cls(known, limits, form, start, [i for i, name in enumerate(NAMES) if name not in known], param)

    @property
    def regular(self):
        """Whether the kernels of fits.py take it."""
        return bool(self.free) and self.form is Form.S0 and not (self.param == "S1" and self.known.get("alpha") == 1.0)


def problem_of(
    x, method, start=None, fixed=None, bounds=None, weights=None, param="S0", se="expected", nan_policy="omit", callback=None
):
    """The `Problem` of a call of `fit`."""
    choice("method", method, FIT_METHODS)
    form_of(param)
    choice("se", se, INFORMATION)
    if callback is not None and method not in ("ml", "grid"):
        raise ValueError(f"method={method!r} has no iterations for a callback; use 'ml' or 'grid', or callback=None")
    wanted = Wanted.of(method, start, fixed, bounds, param)
    known, limits, form, start, free, _ = wanted
    x, w, centre, unit, missing = observations(x, weights, nan_policy)
    with np.errstate(over="ignore"):
        y = (x - centre) / unit
    if lost := int(np.isinf(y).sum()):
        raise ValueError(
            f"{lost} of the values are more than 1e308 times as far from the median as half of the values are; drop them"
        )
    share = 1.0
    if w is not None:
        share = float(w.max() * (w / w.max()).mean())
        w = w / share
    held = dict(known)
    if "loc" in held:
        held["loc"] = (held["loc"] - centre) / unit
    if "scale" in held:
        held["scale"] = held["scale"] / unit
    if start is not None:
        start = np.array([start[0], start[1], (start[2] - centre) / unit, start[3] / unit])
        start = np.array([held.get(name, value) for name, value in zip(NAMES, start, strict=True)])
    return Problem(method, param, se, x, y, w, share, centre, unit, form, known, held, start, limits, free, missing, wanted)


def _start(start, to):
    """A given start, converted if `to` says so; None where none is given."""
    if start is None:
        return None
    start = np.array(start, np.float64)
    if start.shape != (4,) or not (0 < start[0] <= 2 and abs(start[1]) <= 1 and start[3] > 0 and np.isfinite(start).all()):
        raise ValueError(
            f"start={start!r} is not a stable distribution; use alpha in (0, 2], beta in [-1, 1], a finite loc, a positive scale"
        )
    return start if to is None else converted(start, to)


def finite(x):
    """Raise for infinite values, which are not missing."""
    infinite = np.isinf(x)
    if infinite.any():
        count = int(infinite.sum())
        what = "1 value that is" if count == 1 else f"{count} values that are"
        raise ValueError(f"x holds {what} infinite, the first at index {int(infinite.argmax())}; drop or replace such values")


def observations(x, weights, nan_policy):
    """Values in order, their weights (None: all 1), centre, unit, and how many were missing; ValueError without an estimate."""
    rows_alike(x, weights, ("x", "weights"))
    many = "fit_many(x) fits each row, fit_many(x.T) each column; pass x.ravel() for one series of all values"
    x = series(x, "x", many, "stable")
    x = x.astype(np.float64, copy=False)
    w = None if weights is None else doubles(weights, "weights").reshape(-1)
    if w is not None and w.shape != x.shape:
        raise ValueError(f"weights has {w.size} values, x has {x.size}; they must be as many")
    refuse_missing(x, nan_policy)
    finite(x)
    missing = np.isnan(x)
    if w is not None:
        check_weights(w, missing)
        keep = ~missing & (w > 0.0)
        x, w = x[keep], w[keep]
        w = w[np.lexsort((w, x))]
    else:
        x = x[~missing] if missing.any() else x
    x = np.sort(x)  # the result does not depend on the order of the data, and tables are read in order
    if x.size < 5:
        raise ValueError(f"x holds {x.size} value{'s' * (x.size != 1)}; at least 5 are needed for four parameters")
    low, middle, high = weighted_quantiles(x, w, (0.25, 0.5, 0.75))
    if not high > low:
        raise ValueError("no spread: half of the values are equal, and the likelihood is unbounded")
    return x, w, middle, 0.5 * (high - low), int(missing.sum())


def weighted_quantiles(x, w, p):
    """Quantiles of values in order, with weights."""
    if w is None:
        return np.interp(p, (np.arange(x.size) + 0.5) / x.size, x)
    w = w / w.max()  # the sum may not be a number
    return np.interp(p, (np.cumsum(w) - 0.5 * w) / w.sum(), x)


def fixed_values(fixed):
    """The fixed parameters as floats by name."""
    known = dict(fixed or {})
    for name, value in known.items():
        if name not in NAMES:
            raise ValueError(f"fixed holds {name!r}; it may hold {', '.join(NAMES)}")
        if np.ndim(value) or np.asarray(value).dtype.kind not in "fiu":
            raise TypeError(f"fixed {name}={value!r} is not a number; pass one, or leave {name} out to estimate it")
        allowed = {"alpha": 0.0 < value <= 2.0, "beta": -1.0 <= value <= 1.0, "scale": 0.0 < value < math.inf}
        if not allowed.get(name, math.isfinite(value)):
            ranges = {"alpha": "(0, 2]", "beta": "[-1, 1]", "loc": "finite numbers", "scale": "positive numbers"}
            raise ValueError(f"fixed {name}={value!r} is out of range; use {ranges[name]}")
    return {n: float(v) for n, v in known.items()}


def shape_bounds(bounds, known):
    """(low, high) of alpha and of beta; both the known value where there is one."""
    both = {"alpha": (LOWEST, 2.0), "beta": (-1.0, 1.0)} | dict(bounds or {})
    for name, pair in both.items():
        if name not in ("alpha", "beta"):
            raise ValueError(f"bounds holds {name!r}; it may hold alpha and beta")
        if np.shape(pair) != (2,) or np.asarray(pair).dtype.kind not in "fiu":
            raise ValueError(f"bounds of {name} are {pair!r}; use a pair (low, high)")
        low, high = pair
        least, most = (0.0, 2.0) if name == "alpha" else (-1.0, 1.0)
        if not (least <= low <= high <= most) or (name == "alpha" and low <= 0.0):
            raise ValueError(f"bounds of {name} are {(low, high)!r}; use low <= high within {(least, most)}")
    a = (known["alpha"],) * 2 if "alpha" in known else both["alpha"]
    b = (known["beta"],) * 2 if "beta" in known else both["beta"]
    return a, b


def check_many(method, param, options):
    """The checks of `fit` that do not depend on the data."""
    choice("method", method, FIT_METHODS)
    form_of(param)
    choice("se", options.get("se", "expected"), INFORMATION)
    check_policy(options.get("nan_policy", "omit"))
    shape_bounds(options.get("bounds"), fixed_values(options.get("fixed")))
    choose_device(options.get("device"))


def data_sets(data, nan_policy="omit"):
    """A list of series, from a sequence of them, the rows of an array, or (values, offsets)."""
    if isinstance(data, tuple) and len(data) == 2 and not any(map(is_frame, data)):
        offsets = np.asarray(to_host(data[1], "data"))
        if offsets.ndim == 1 and offsets.dtype.kind in "iu":
            values = series(data[0], "data")
            if offsets.size < 1 or offsets[0] != 0 or offsets[-1] != values.size or (np.diff(offsets) < 0).any():
                raise ValueError(
                    f"offsets must rise from 0 to {values.size}, the number of values; a tuple of values and integers is read as "
                    "(values, offsets): for two data sets pass a list"
                )
            data = [values[lo:hi] for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]
    if getattr(data, "ndim", None) == 2:
        data = doubles(data, "data")
        if nan_policy == "omit":
            return list(data)
    sets = [doubles(x, f"data[{i}]", "stable") for i, x in enumerate(data)]
    if sets and all(x.ndim == 0 for x in sets):
        raise ValueError(f"data are {len(sets)} numbers; pass a sequence of arrays, or [data] or fit(data) for one data set")
    for i, x in enumerate(sets):
        sets[i] = series(x, f"data[{i}]")
        refuse_missing(sets[i], nan_policy, f"data[{i}]")
    return sets
