"""What users pass as observations: numbers in doubles, NaN where a value is missing; every message about other data.

Missing are NaN, None, the NA, NaT and null of data frames, and masked elements; infinite values are not. Everything that Python
takes for a real number is one: integers, booleans, fractions, decimals, floats of any size. Text, dates, durations and complex
numbers are refused. Kernels do not import this file.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal, get_args

import numpy as np

from numbastats._core.checks import FLOAT32, FLOAT64, choice, is_masked, refuse_complex
from numbastats._core.errors import warn
from numbastats._core.kinds import to_host

__all__ = [
    "NanPolicy",
    "check_policy",
    "check_weights",
    "doubles",
    "floats",
    "is_frame",
    "is_missing",
    "labels_of",
    "names_in",
    "refuse_missing",
    "series",
]

NanPolicy = Literal["raise", "omit"]
_MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # types of one value each, by name: pandas may not be there
_SAID = "missing (NaN, NA, None or masked)"


class UnequalLengths(ValueError):
    """Sequences of unequal lengths, which make no array."""


# --- numbers -------------------------------------------------------------------------------------------------------------


def floats(x, name="x", family=None, flags=True):
    """An array on the host in float64, or float32 where x is, of any shape, NaN where a value is missing.

    A UserWarning says of True and False that they are taken as 1 and 0 where `family` names a continuous distribution. Columns of
    them among others of a frame are refused unless `flags`.
    """
    if type(x) is np.ndarray and (x.dtype is FLOAT64 or x.dtype is FLOAT32):
        return x
    a, kind = _frame(x, name, flags) if is_frame(x) else _read(x, name)
    if kind == "b" and family is not None:
        warn(
            f"{name} holds True and False, taken as 1 and 0, but {family!r} is a distribution of continuous values; pass "
            f"numbers, as 1.0 * numpy.asarray({name}), if it is meant"
        )
    return a


def doubles(x, name="x", family=None):
    """`floats` in float64."""
    return floats(x, name, family).astype(np.float64, copy=False)


def _read(x, name):
    """The floats of x, and the kind of its dtype."""
    if x is None:
        raise TypeError(f"{name} is None; pass an array of numbers")
    if hasattr(x, "tocsr") or hasattr(x, "todense"):
        raise TypeError(f"{name}: sparse data ({type(x).__name__}) are not understood: pass {name}.toarray()")
    given, x = x, to_host(x, name)
    if is_masked(x):
        mask, kind = np.ma.getmaskarray(x), x.dtype.kind
        if kind in "fiub":
            a = _native(x.data).copy() if kind == "f" else x.data.astype(np.float64)
            a[mask] = np.nan
            return a, kind
        x = x.data.astype(object)
        x[mask] = None
    dtype = getattr(x, "dtype", None)
    if getattr(dtype, "kind", "O") in "fiub" and not isinstance(dtype, np.dtype) and hasattr(x, "to_numpy"):
        return x.to_numpy(np.float64, na_value=np.nan), dtype.kind  # columns with masks, of pandas
    if isinstance(x, list | tuple) and _holds_arrays(x):  # NumPy would drop masks, and units of time
        return _stacked(x, name)
    a = _array(x, name)
    if a.dtype.kind in "fiub":
        return _native(a), a.dtype.kind
    if a.dtype.kind in "SU" and isinstance(x, list | tuple):  # NumPy makes text of numbers beside text
        a = np.asarray(x, object)
    return _numbers(a, name, given)


def _holds_arrays(x):
    """Whether a list holds arrays, series or frames, and no numbers or plain lists alone."""
    if len(x) and isinstance(x[0], list | tuple):
        return (len(x[0]) > 0 and _is_array(x[0][0])) or not all(isinstance(part, list | tuple) for part in x)
    return len(x) > 0 and _is_array(x[0])


def _is_array(part):
    return (hasattr(part, "__array__") and getattr(part, "ndim", 1) != 0) or is_frame(part)


def _stacked(parts, name):
    """The floats of arrays of one shape, the first axis theirs, and their kind; of frames of one column that column."""
    read, kind = [], "f"
    for i, part in enumerate(parts):
        if type(part) is np.ndarray and part.dtype is FLOAT64:  # thousands of them
            read.append(part)
            continue
        a, own = _frame(part, f"{name}[{i}]", True) if is_frame(part) else _read(part, f"{name}[{i}]")
        read.append(a[:, 0] if is_frame(part) and a.shape[1] == 1 else a)
        kind = own if own == "b" else kind
    return _array(read, name), kind


def _array(x, name):
    """`numpy.asarray`."""
    try:
        return np.asarray(x)
    except ValueError:
        raise UnequalLengths(f"{name} holds sequences of unequal lengths, no array; pass one sequence of numbers") from None


def _native(a):
    """An array of real numbers in double precision, or in single where it is."""
    if a.dtype.kind == "f" and a.dtype.itemsize == 4:
        return a.astype(np.float32, copy=False)
    with np.errstate(over="ignore"):
        return a.astype(np.float64, copy=False)


def _numbers(a, name, given):
    """The floats of an array that is not one of numbers, and its kind; every message about what it holds."""
    if a.dtype.kind != "O":
        _refuse(a.dtype, a, name, given)
    flat = a.reshape(-1)
    types = set(map(type, flat.tolist()))
    missing = {t for t in types if t.__name__ in _MISSING}
    for t in sorted(types - missing, key=_grade):
        if _grade(t) < len(_REFUSED):
            _refuse(t, a, name, given)
    if missing - {type(None)}:
        flat = np.array([None if type(v) in missing else v for v in flat.tolist()], object)
    try:
        found = flat.astype(np.float64)
    except OverflowError:
        raise ValueError(f"{name} holds an integer beyond the largest double, 1.8e308; divide it first") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TypeError(f"{name} holds what is no real number ({error}); pass real numbers") from None
    return found.reshape(a.shape), "b" if types - missing and types - missing <= {bool, np.bool_} else "O"


_REFUSED = (  # types of elements, in the order in which they are named
    (str, bytes),
    (date, np.datetime64),
    (timedelta, np.timedelta64),
    (complex, np.complexfloating),
    (list, tuple, set, np.ndarray),
)


def _grade(t):
    """The place of a type of elements among `_REFUSED`; beyond them for numbers."""
    for i, refused in enumerate(_REFUSED):
        if issubclass(t, refused):
            return i
    known = issubclass(t, (numbers.Number, np.generic)) or hasattr(t, "__float__")
    return len(_REFUSED) - (not known)


def _refuse(what, a, name, given):
    """Raise for an array of a dtype, or with elements of a type, that are no real numbers."""
    kind = what.kind if isinstance(what, np.dtype) else {0: "U", 1: "M", 2: "m", 3: "c"}.get(_grade(what), "V")
    flat = a.reshape(-1)
    values = flat.tolist() if a.dtype.kind == "O" else flat[:1].tolist()
    at = next((i for i, v in enumerate(values) if isinstance(what, np.dtype) or type(v) is what), 0)
    first = repr(values[at]) if values else "none"
    first = first if len(first) <= 40 else f"{first[:37]}..."
    if a.ndim == 0 and hasattr(given, "__iter__") and not isinstance(given, str | bytes):
        raise TypeError(f"{name} is a {type(given).__name__}, which is no array; pass list({name})")
    if kind in "SUT":
        raise TypeError(f"{name} is a column of text, {first} at index {at}{_cure_of_text(given)}; pass real numbers")
    whole = isinstance(given, np.ndarray) or hasattr(given, "iloc") or hasattr(given, "dims")  # have arithmetic of dates
    if kind == "M":
        raise TypeError(
            f"{name} holds dates: {first} at index {at}. Dates are not numbers; pass the time since one of them in a unit, as "
            f"(numpy.asarray({name}, 'datetime64[us]') - numpy.datetime64('2000-01-01')) / numpy.timedelta64(1, 'D')"
        )
    if kind == "m":
        lengths = name if whole else f"numpy.asarray({name}, 'timedelta64[us]')"
        raise TypeError(f"{name} holds durations, which have no unit of their own: pass {lengths} / numpy.timedelta64(1, 'D')")
    if kind == "c":
        refuse_complex(np.dtype(complex) if a.dtype.kind == "O" else a.dtype, name)
    if a.dtype.names:
        raise TypeError(
            f"{name} is a structured array with the fields {_listed(a.dtype.names)}: pick a field, as x[{a.dtype.names[0]!r}]"
        )
    if a.dtype.kind == "O" and issubclass(what, _REFUSED[-1]):
        raise ValueError(f"{name} holds a {what.__name__} at index {at}: sequences in a sequence, which are no array of numbers")
    called = what if isinstance(what, np.dtype) else what.__name__
    raise TypeError(f"{name} holds {first} of type {called} at index {at}, but an argument must be no string, but a real number")


def _cure_of_text(given):
    """How text becomes numbers, where all of it does."""
    try:
        np.asarray(given).astype(np.float64)
    except (TypeError, ValueError):
        return ""
    return " (its numbers are numpy.asarray(x).astype('float64'))"


# --- frames --------------------------------------------------------------------------------------------------------------


def is_frame(x):
    """Whether x is a table of columns with names: of pandas, polars or pyarrow, or a dataset of xarray."""
    return hasattr(type(x), "data_vars") or (hasattr(type(x), "columns") and not hasattr(x, "ngroups"))


def names_in(x, name="x"):
    """Names of the columns of a frame, whose values are in memory."""
    if hasattr(x, "data_vars"):
        raise TypeError(f"{name} is a Dataset; pass one of its variables, {_listed(x.data_vars)}")
    if hasattr(x, "collect"):
        raise TypeError(f"{name} is a {type(x).__name__}, which has no values yet; pass {name}.collect()")
    to_host(x, name)  # which refuses frames of dask
    return list(getattr(x, "column_names", x.columns))


def _listed(names):
    names = [repr(name) for name in names]
    return ", ".join(names[:6]) + ", ..." * (len(names) > 6)


def _frame(x, name, flags):
    """The columns of a frame side by side, as floats, and the kind of their dtypes."""
    names = names_in(x, name)
    if all(getattr(d, "kind", "O") in "fiu" and isinstance(d, np.dtype) for d in getattr(x, "dtypes", "O")):
        return _native(np.asarray(x)), "f"
    parts, wrong, kind = [], [], "f"
    for i, called in enumerate(names):
        part = x.iloc[:, i] if hasattr(x, "iloc") else x[called]
        try:
            found, kind = _read(part, f"{name}[{called!r}]")
        except TypeError as error:
            wrong.append((called, error))
            continue
        parts.append(found)
        if kind == "b" and len(names) > 1 and not flags:
            wrong.append((called, None))
    if len(wrong) == len(names) == 1 and wrong[0][1] is not None:
        raise wrong[0][1]
    if wrong:
        raise TypeError(
            f"{name}: columns that are not numbers, {[called for called, _error in wrong]}; drop them, or pass the others by name"
        )
    return np.stack(parts, -1) if parts else np.empty((len(x), 0)), kind


# --- one series ----------------------------------------------------------------------------------------------------------


def series(x, name="x", elsewhere="pass .ravel() of it", family=None):
    """The values of one series, shape (n,), as `floats`: from (n,), (n, 1) or a frame of one column.

    `elsewhere` says what to do with many series, and with arrays of more axes.
    """
    if type(x) is not np.ndarray or x.ndim != 1:
        if hasattr(x, "ngroups") or (isinstance(x, Mapping) and not is_frame(x)):
            raise ValueError(f"{name} is a {type(x).__name__}, of many series: {elsewhere.partition('; ')[0]}")
        if is_frame(x) and len(names := names_in(x, name)) != 1:
            raise TypeError(
                f"{name} is a frame with the columns {_listed(names)}: pick a column, as frame[{_pick(x, names)!r}]"
                if names
                else f"{name} is a frame without columns"
            )
    try:
        a = floats(x, name, family)
    except UnequalLengths as error:
        raise UnequalLengths(f"{error}. Of many series: {elsewhere}") from None
    if a.ndim == 2 and a.shape[1] == 1:
        return a[:, 0]
    if a.ndim == 0:
        raise ValueError(f"{name} is one number; pass an array of them")
    if a.ndim != 1:
        raise ValueError(f"{name} has shape {a.shape}, and one series is one-dimensional: {elsewhere}")
    return a


def _pick(x, names):
    """The first column of numbers of a frame, as an example."""
    dtypes = getattr(x, "dtypes", ())
    numeric = (d.is_numeric() if hasattr(d, "is_numeric") else getattr(d, "kind", "O") in "fiu" for d in dtypes)
    return next((n for n, fits in zip(names, numeric, strict=False) if fits), names[0])


# --- missing values ------------------------------------------------------------------------------------------------------


def check_policy(nan_policy):
    """Return what is to be done with missing values, if it is known."""
    return choice("nan_policy", nan_policy, get_args(NanPolicy))


def refuse_missing(x, nan_policy, name="x", off=(0,)):
    """Raise for NaN among floats unless they may be left out; series one after another begin at `off`."""
    if check_policy(nan_policy) == "omit":
        return
    missing = np.isnan(x)
    if missing.any():
        at, of = int(np.argmax(missing)), ""
        if len(off) > 2:
            i = int(np.searchsorted(off, at, "right")) - 1
            at, of = at - int(off[i]), f" of series {i}"
        count = int(missing.sum())
        values = "1 value that is" if count == 1 else f"{count} values that are"
        raise ValueError(f"{name} holds {values} {_SAID}, the first at index {at}{of}; drop them, or pass nan_policy='omit'")


def labels_of(y, name="y"):
    """An array on the host of values of any kind, classes or keys; None where masked."""
    y = to_host(y, name)
    if is_masked(y) and np.ma.is_masked(y):
        mask, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[mask] = None
    return _array(y, name)


def is_missing(y):
    """Which elements of an array of anything are missing."""
    if y.dtype.kind in "fc":
        return np.isnan(y)
    if y.dtype.kind in "mM":
        return np.isnat(y)
    if y.dtype.kind != "O":
        return np.zeros(y.shape, bool)
    found = [type(v).__name__ in _MISSING or (isinstance(v, float | np.floating) and v != v) for v in y.reshape(-1).tolist()]
    return np.reshape(np.array(found, bool), y.shape)


def check_weights(w, missing=None, name="weights"):
    """Raise for weights that are negative, infinite or missing, but not where the values are missing."""
    bad = ~(w >= 0.0) | np.isinf(w)
    if missing is not None:
        bad &= ~missing
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        what = _SAID if np.isnan(w[at]) else f"{w[at]:g}"
        raise ValueError(f"{name} must be finite and >= 0: the one at index {at[0] if len(at) == 1 else at} is {what}")
