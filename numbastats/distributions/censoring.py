"""What is known of values: themselves, their bounds, events, and from where on they are seen; every message about these."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numbastats._core.data import is_missing, labels_of
from numbastats._core.errors import warn

__all__ = ["are_exact", "bounded", "bounds_of_scipy", "entered", "is_censored_data", "of_events", "pair_of", "seen"]

_SHOWN = 5  # values in a message
_CODES = 4  # values of `event` up to which they look like codes, beyond it like times
_MANY = 3  # different ends beside ones, from which on these look like events


def is_censored_data(x: Any) -> bool:
    """Whether x is `scipy.stats.CensoredData`."""
    return type(x).__name__ == "CensoredData" and type(x).__module__.startswith("scipy.stats")


def bounds_of_scipy(x: Any) -> tuple[Any, Any]:
    """Lower and upper ends of `scipy.stats.CensoredData`."""
    exact, left, right, between = x._uncensored, x._left, x._right, x._interval.reshape(-1, 2)
    lo = np.concatenate([exact, np.full(len(left), -math.inf), right, between[:, 0]])
    return lo, np.concatenate([exact, left, np.full(len(right), math.inf), between[:, 1]])


def pair_of(censored: Any) -> tuple[Any, Any]:
    """The lower and the upper ends of ``censored=``."""
    if isinstance(censored, tuple | list) and len(censored) == 2:
        for end, which in zip(censored, ("lo", "hi"), strict=True):
            if _kind(end) == "b":
                raise TypeError(
                    f"censored {which} is an array of booleans, not of ends; where it says whether an event was seen at a time, "
                    "call fit(time, family, event=event)"
                )
        return censored[0], censored[1]
    if _kind(censored) == "b" or (_numbers(censored).size and _are_codes(_numbers(censored))):
        raise TypeError(
            "censored must be a pair (lo, hi) of ends, not an array of zeros and ones; call fit(time, family, event=event), with "
            "event True where the event was seen and False where the time is censored"
        )
    raise TypeError(
        "censored must be a pair (lo, hi) of arrays: value i lies between lo[i] and hi[i]; of an array with two columns pass "
        "(a[:, 0], a[:, 1])"
    )


def _kind(values):
    """The kind of the dtype, "b" for booleans; "" where there is none."""
    return getattr(getattr(values, "dtype", None), "kind", "")


def _numbers(values):
    """Numbers of an array, none where it has others."""
    a = np.asarray(values)
    return a if a.dtype.kind in "fiub" else np.empty(0)


def seen(values: Any, name: str) -> Any:
    """Whether events were seen, as ones and zeros; NaN where that is missing."""
    a = labels_of(values, name)
    gone = is_missing(a)
    if a.dtype.kind in "biuf" and _are_codes(a[~gone]):
        return np.where(gone, math.nan, a)
    found = list(dict.fromkeys(a[~gone][::-1].tolist()))  # of unlike ones the first is the last
    if any(v not in (0, 1) for v in found):
        found = sorted(found) if all(isinstance(v, int | float) for v in found) else found
        shown = ", ".join(map(repr, found[:_SHOWN])) + ", ..." * (len(found) > _SHOWN)
        codes = 1 < len(found) <= _CODES and all(v == math.floor(v) for v in found if isinstance(v, int | float))
        cure = f"pass {name} == value, with the value that says that it was seen"
        if codes:
            cure = f"pass {' or '.join(f'{name} == {v!r}' for v in found[::-1])}, whichever says that it was seen"
        elif len(found) > 1:
            cure += "; if these are times, x and event have changed places"
        raise ValueError(
            f"{name} has the values {shown}; it takes True (or 1) where the event was seen and False (or 0) where the time is "
            f"censored: {cure}"
        )
    made = np.full(a.shape, math.nan)
    made[~gone] = a[~gone].astype(np.float64)
    return made


def of_events(x: Any, event: Any) -> tuple[Any, Any]:
    """Ends of values with their events: exact where these were seen, open above where not, missing where either is."""
    lo = np.where(np.isnan(event), math.nan, x)
    return lo, np.where((event == 1.0) | np.isnan(lo), lo, math.inf)


def bounded(x: Any, lo: Any, hi: Any, place: Callable[[int], str], name: str, unnamed: Any = None) -> tuple[Any, Any]:
    """The ends of values of which ends are known: NaN for an end that is open, for both where nothing is known.

    Parameters
    ----------
    x : array or None
        The values, which must lie between their ends.
    lo, hi : array
        The ends.
    place : callable
        Words for an index.
    name : str
        Of x.
    unnamed : optional
        The column of a frame that was taken for x, as no argument names it.
    """
    name = name if unnamed is None else f"{name}[{unnamed!r}]"
    cure = f"; it is taken for the values, as no argument names it: if it has others, drop the column {unnamed!r}"
    gone = np.isnan(lo) & np.isnan(hi)
    low, high = np.where(np.isnan(lo), -math.inf, lo), np.where(np.isnan(hi), math.inf, hi)
    _refuse_events(lo[~gone], hi[~gone])
    if (low > high).any():
        i = int(np.argmax(low > high))
        raise ValueError(f"censored has lo={lo[i]} above hi={hi[i]} at {place(i)}")
    open_ = np.isinf(low) & np.isinf(high) & (low < high)
    if x is not None:
        wrong = (x < low) | (x > high)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"{name}={x[i]} at {place(i)} is not between its ends {low[i]} and {high[i]}{cure if unnamed is not None else ''}"
            )
        half = np.isnan(x) & ~gone & ~open_
        if half.any():
            i = int(np.argmax(half))
            raise ValueError(
                f"{name} is missing at {place(i)}, where censored has the ends {low[i]} and {high[i]}"
                + (
                    cure
                    if unnamed is not None
                    else f"; pass None as {name} if these say what is known, and NaN for both if nothing is"
                )
            )
    gone |= open_
    return np.where(gone, math.nan, low), np.where(gone, math.nan, high)


def _are_codes(values):
    """Whether numbers are 0 and 1 alone."""
    return bool(((values == 0.0) | (values == 1.0)).all())


def _refuse_events(lo, hi):
    """Raise or warn where ends look like times and events."""
    known, call = hi[np.isfinite(hi)], "fit(time, family, event=event)"
    if known.size and _are_codes(known) and (lo > hi).any():
        raise ValueError(
            f"censored has ends hi that are all 0 or 1, and lo above them: they look like times and events. Call {call}, or pass "
            "the ends between which a value lies, as censored=(time, numpy.where(event, time, numpy.inf))"
        )
    if (hi == 1.0).all() and (lo != lo[:1]).any():
        warn(f"censored has hi=1 for all values: if that says that the events were seen, call {call}")
    if _are_codes(lo) and 0 < lo.sum() < lo.size and (lo < hi).all() and np.unique(hi[lo == 1.0]).size >= _MANY:
        warn(f"censored has ends lo that are all 0 or 1, with many ends hi: if these are events and times, call {call}")


def are_exact(lo: Any, hi: Any) -> bool:
    """Whether all that is not missing is known exactly."""
    return bool(((lo == hi) | np.isnan(lo)).all())


def entered(lo: Any, hi: Any, entry: Any, place: Callable[[int], str]) -> tuple[Any, Any]:
    """Lower ends of values that are seen only above their entries, and the entries; -inf for missing values."""
    gone = np.isnan(lo)
    unknown = np.isnan(entry) & ~gone
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(f"entry is missing at {place(i)}; pass -inf, or 0 for lives, for a unit that was seen from its start on")
    last = np.where(hi < math.inf, hi, lo)
    late = ~gone & (entry >= last) & (entry > -math.inf)
    if late.any():
        i = int(np.argmax(late))
        raise ValueError(
            f"entry={entry[i]} is not below the time {last[i]} at {place(i)}: a unit is seen from its entry on, and its time, of "
            "the same origin, is after that"
        )
    return np.where(lo == hi, lo, np.maximum(lo, entry)), np.where(gone, -math.inf, entry)
