"""From what the user passes (list, 2-D array with NaN, CSR) to sorted values in one flat array, with a status per data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from numbastats._core.broadcast import result_dtype, unmasked
from numbastats._core.dispatch import to_host
from numbastats._core.parallel import in_threads

__all__ = ["Data", "Values", "arrange", "flatten", "keyed"]

OUT_OF_SUPPORT, EMPTY, NONFINITE = 6, 7, 8


@dataclasses.dataclass
class Values:
    """Values x and weights w (None: all 1) of data sets in a row, as they were passed; set d is off[d] to off[d + 1]."""

    x: np.ndarray
    w: np.ndarray | None
    off: np.ndarray
    unit: bool  # whether all weights above 0 are 1, in the whole call
    dtype: np.dtype  # of the results

    @property
    def count(self):
        """Number of data sets."""
        return self.off.size - 1

    def cut(self, lo, hi):
        """Data sets lo to hi; shares memory."""
        a, b = self.off[lo], self.off[hi]
        w = None if self.w is None else self.w[a:b]
        return dataclasses.replace(self, x=self.x[a:b], w=w, off=self.off[lo : hi + 1] - a)


@dataclasses.dataclass
class Data:
    """Data sets ready for the kernels.

    Attributes
    ----------
    y, w : numpy.ndarray
        Transformed values and weights of all data sets in a row, ascending within each; NaN and zero weights are gone.
    off : numpy.ndarray of int64, shape (D + 1,)
    unit : bool
        Whether every weight is 1.
    dropped : numpy.ndarray of int64, shape (D,)
    status : numpy.ndarray of int8, shape (D,)
        0, or why the data set cannot be fitted.
    notes : dict
        Data set -> message.
    power : numpy.ndarray, shape (D,)
        Powers of two that bring the largest |y| near 1.
    factor : numpy.ndarray, shape (D,)
        What turns true values of g(x) into ``power * y``.
    """

    y: np.ndarray
    w: np.ndarray
    off: np.ndarray
    unit: bool
    dropped: np.ndarray
    status: np.ndarray
    notes: dict
    power: np.ndarray
    factor: np.ndarray

    @property
    def count(self):
        """Number of data sets."""
        return self.off.size - 1


def _is_pair(part):
    """Whether an item of a list is a key with its data set; no data set is a number, or a text, beside an array."""
    if not (isinstance(part, tuple) and len(part) == 2 and np.ndim(part[1]) > 0):
        return False
    return np.ndim(part[0]) == 0 or hasattr(part[1], "columns")


def _split_keys(data, name):
    """A list of data sets and their keys where `data` has keys, else `data` and None."""
    if hasattr(data, "columns") and not hasattr(data, "ngroups"):
        raise ValueError(
            f"{name} is a {type(data).__name__}: pass [frame[c] for c in frame.columns] if its columns are the data sets, "
            "frame.to_numpy() if its rows are, or frame.groupby('key')['x'] for groups of one column"
        )
    if isinstance(data, Iterable) and not hasattr(data, "__getitem__"):  # iterators, views of a dict, groups of polars
        data = list(data)
    if isinstance(data, Mapping):
        pairs = list(data.items())
    elif hasattr(data, "ngroups") or (isinstance(data, (list, tuple)) and len(data) and all(map(_is_pair, data))):
        pairs = list(data)  # a groupby of pandas gives pairs, too
    else:
        return data, None
    return [part for _key, part in pairs], tuple(key for key, _part in pairs)


def keyed(data, weights):
    """Lists of data sets and of weights, in the same order, and the keys; data without keys remain what they are."""
    data, keys = _split_keys(data, "data")
    if weights is None:
        return data, None, keys
    weights, others = _split_keys(weights, "weights")
    if others is not None and others != keys:
        if keys is None or len(others) != len(keys) or set(others) != set(keys):
            raise ValueError(
                "weights have keys that differ from those of the data; pass both with the same keys, or both without"
            )
        by_key = dict(zip(others, weights, strict=True))
        weights = [by_key[key] for key in keys]
    return data, weights, keys


def _flatten(data, offsets, name):
    """Flat float64 values, which may be the caller's, offsets and dtype; a mask makes data NaN, weights 0."""

    def read(part):
        part = to_host(part, name)
        return unmasked(part) if name == "data" else np.asarray(np.ma.filled(part, 0))

    if offsets is not None:
        x = read(data)
        off = np.asarray(to_host(offsets, "offsets"))
        if x.ndim != 1:
            raise ValueError(f"{name} has shape {x.shape}; with offsets it must be 1-D")
        if off.ndim != 1 or off.size < 1 or off.dtype.kind not in "iu":
            raise ValueError(f"offsets has shape {off.shape} and dtype {off.dtype}; it must be a 1-D array of D + 1 integers")
        off = off.astype(np.int64)
        if off[0] != 0 or off[-1] != x.size or (np.diff(off) < 0).any():
            raise ValueError(
                f"offsets must start at 0, not fall, and end at the number of values, {x.size}; got {off[0]} ... {off[-1]}"
            )
    elif isinstance(data, (list, tuple)) and not (len(data) and all(np.ndim(p) == 0 for p in data)):
        parts = [read(p) for p in data]
        for i, p in enumerate(parts):
            if p.ndim != 1:
                raise ValueError(
                    f"{name}[{i}] has shape {p.shape}; every data set must be 1-D (of groups of a data frame select one column: "
                    "frame.groupby('key')['x'])"
                )
        off = np.concatenate([[0], np.cumsum([p.size for p in parts], dtype=np.int64)]).astype(np.int64)
        dtype = result_dtype([f"{name}[{i}]" for i in range(len(parts))], [p.dtype for p in parts])
        flat = np.concatenate([p.astype(np.float64) for p in parts]) if parts else np.empty(0)
        return flat, off, dtype
    else:
        x = read(data)
        if x.ndim != 2:
            raise ValueError(
                f"{name} has shape {x.shape}; pass a list of 1-D arrays, a 2-D array whose rows are data sets (NaN = missing), "
                "or a 1-D array with offsets. For one data set use fit()"
            )
        off = np.arange(x.shape[0] + 1, dtype=np.int64) * x.shape[1]
        x = x.reshape(-1)
    dtype = result_dtype([name], [x.dtype])
    return x.astype(np.float64, copy=False), off, dtype


def _per_set(mask, off):
    """How many are True in each data set."""
    return np.diff(np.concatenate([[0], np.cumsum(mask)])[off])


def flatten(data, offsets, weights) -> Values:
    """The data sets in a row, float64."""
    x, off, dtype = _flatten(data, offsets, "data")
    if weights is None:
        return Values(x, None, off, True, dtype)
    w, woff, _ = _flatten(weights, offsets, "weights")
    if woff.size != off.size or (woff != off).any():
        raise ValueError("weights must have the layout of data: the same number of data sets, each of the same length")
    return Values(x, w, off, bool(((w == 1.0) | ~(w > 0.0)).all()), dtype)


def arrange(values, family, threads=1) -> Data:
    """Check, drop, transform and sort copies."""
    x, w, off = values.x.copy(), None if values.w is None else values.w.copy(), values.off
    D = values.count
    status, notes = np.zeros(D, np.int8), {}
    bad_weight = None
    if w is not None:
        wrong = ~(w >= 0) | np.isinf(w)
        bad_weight = wrong & ~np.isnan(x)
        w[wrong] = 0.0
        x[w == 0.0] = np.nan  # takes no part, whatever it is

    def flag(mask, code, text):
        if not mask.any():
            return
        counts = _per_set(mask, off)
        for d in np.nonzero(counts)[0]:
            if status[d] == 0:
                status[d] = code
                first = int(np.nonzero(mask[off[d] : off[d + 1]])[0][0])
                notes[int(d)] = text.format(count=int(counts[d]), first=first)

    if bad_weight is not None:
        flag(
            bad_weight,
            NONFINITE,
            "{count} weights are negative, NaN or infinite, the first at index {first}; weights must be >= 0",
        )
    clean = not family.discrete and _all_within(x, family.minimum, threads)
    drop = None
    if not clean:
        drop, infinite = np.isnan(x), np.isinf(x)
        outside = family.outside(np.where(drop | infinite, max(1.0, family.minimum), x))
        flag(infinite, NONFINITE, "{count} values are infinite, the first at index {first}; remove or replace them")
        sign = ">=" if family.closed else ">"
        rule = "whole numbers >= 0" if family.discrete else f"values {sign} {family.minimum:g}"
        flag(
            outside & ~drop & ~infinite,
            OUT_OF_SUPPORT,
            f"{{count}} values are outside the support of {family.name}, the first at index {{first}}; it takes {rule}",
        )
    dropped = np.zeros(D, np.int64)
    if drop is not None and drop.any():
        dropped = _per_set(drop, off)
        keep = ~drop
        x = x[keep]
        w = w[keep] if w is not None else None
        off = np.concatenate([[0], np.cumsum(np.diff(off) - dropped)]).astype(np.int64)
    for d in np.nonzero(np.diff(off) == 0)[0]:
        if status[d] == 0:
            status[d] = EMPTY
            notes[int(d)] = f"no observation is left after dropping {int(dropped[d])} missing or zero-weight values"
    if status.any():  # only usable data sets go on
        lengths = np.where(status == 0, np.diff(off), 0)
        keep = np.repeat(status == 0, np.diff(off))
        x = x[keep]
        w = w[keep] if w is not None else None
        off = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lengths = np.diff(off)
    if values.unit:
        w = None
    if family.transform in ("half_square", "square", "power"):  # powers of extreme values would overflow
        degree = family.constant if family.transform == "power" else 2.0
        before = _powers(x, off, limit=int(1022 / max(1.0, degree)))
        y = family.forward(x * np.repeat(before, lengths))
        power, factor = np.ones(D), before**degree
        _sort(y, w, off, threads)
    else:
        y = family.forward(x)
        _sort(y, w, off, threads)
        power = factor = np.ones(D) if family.discrete else _powers(y, off, ascending=True)
    return Data(y, np.ones(y.size) if w is None else w, off, w is None, dropped, status, notes, power, factor)


def _powers(y, off, *, ascending=False, limit=1022):
    """2^-e with 2^e above the largest |y| of each data set, |e| <= limit."""
    D = off.size - 1
    top = np.ones(D)
    full = np.diff(off) > 0
    if ascending:
        top[full] = np.maximum(np.abs(y[off[:-1][full]]), np.abs(y[off[1:][full] - 1]))
    elif full.any():
        top[full] = np.maximum.reduceat(np.abs(y), off[:-1][full])
    _, e = np.frexp(top)
    return np.ldexp(1.0, np.clip(-e, -limit, limit))


def _sort(y, w, off, threads):
    """Ascending within each data set; weights follow."""
    lengths = np.diff(off)
    even = w is None and y.size > 0 and bool((lengths == lengths[0]).all())

    def part(lo, hi):
        if even:
            y[off[lo] : off[hi]].reshape(hi - lo, -1).sort(axis=1)
            return
        for a, b in zip(off[lo:hi].tolist(), off[lo + 1 : hi + 1].tolist(), strict=True):
            if w is None:
                y[a:b].sort()
            else:
                order = np.argsort(y[a:b], kind="stable")
                y[a:b], w[a:b] = y[a:b][order], w[a:b][order]

    in_threads(part, _parts(lengths.size, y.size, threads), threads)  # NumPy sorts without holding the interpreter


def _parts(n, cost, threads):
    """Ranges (lo, hi) of n items for threads to share, one where the values, `cost`, are few."""
    cuts = np.unique(np.linspace(0, n, (1 if threads == 1 or cost < 1 << 18 else 8 * threads) + 1).astype(int)).tolist()
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def _all_within(x, minimum, threads):
    """Whether every value is finite and above `minimum`."""
    found = []

    def part(lo, hi):
        v = x[lo:hi]
        found.append(v.size == 0 or bool(v.min() > minimum and v.max() < np.inf))  # False where there is a NaN

    in_threads(part, _parts(x.size, x.size, threads), threads)
    return all(found)
