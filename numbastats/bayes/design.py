"""The rows of X on their way to the passes: read in blocks from where they are, surveyed, and written in their storage type."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from numbastats._core.broadcast import refuse_mask, unmasked
from numbastats._core.dispatch import to_host

__all__ = ["Reader", "Source", "Survey", "column", "finite", "integers", "matrix", "part_rows", "survey"]

PART = 2**20  # entries of X that are held as floats at once: the third-level cache takes them


def part_rows(columns):
    """Rows of a part."""
    return max(1, PART // max(columns, 1))


def column(y):
    """Outcomes; a single column as an array of one axis."""
    refuse_mask(y)
    y = np.asarray(to_host(y, "y"))
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def matrix(X):
    """X as an array of two axes, a memory map as one of its own memory; its faults named."""
    if hasattr(X, "toarray"):
        raise TypeError("sparse matrices are not supported yet; pass X.toarray()")
    frame, X = X, unmasked(to_host(X, "X"))
    if X.dtype.kind == "O" and X.ndim == 2 and all(getattr(d, "kind", "O") in "fiub" for d in getattr(frame, "dtypes", "O")):
        X = frame.to_numpy(float, na_value=np.nan)  # of a data frame with nullable columns
    if X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8):
        raise TypeError(f"X has dtype {X.dtype}; convert it first, X.astype('float64')")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {X.dtype}; it must be real numbers, X.astype('float64')")
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}; it must have two axes, rows and columns. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        )
    return X


def finite(x, first):
    """Raise where a block of rows has a NaN or infinity; `first` is the number of its first row."""
    bad = ~np.isfinite(x)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        found = "NaN" if np.isnan(x[i, j]) else f"infinite ({x[i, j]})"
        raise ValueError(f"X[{first + i}, {j}] is {found}; drop or fill such rows first")


class Reader:
    """Rows of X in pieces of a size that suits.

    Parameters
    ----------
    X : array_like, shape (n, p), or callable
        A callable returns an iterator of pairs (rows, outcomes), which it is asked for at every reading.
    """

    def __init__(self, X):
        self.open = X if callable(X) else None
        self.X = None if callable(X) else matrix(X)
        self.streamed = callable(X) or isinstance(X, np.memmap)

    def _pairs(self):
        if self.open is None:
            yield self.X, None
            return
        pairs, columns = self.open(), None
        if not hasattr(pairs, "__iter__"):
            raise TypeError(f"X() gave a {type(pairs).__name__}; it must give an iterator of pairs (rows, outcomes)")
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"X() must give pairs (rows, outcomes), got a {type(pair).__name__}")
            x, y = matrix(pair[0]), column(pair[1])
            if y.shape != x.shape[:1]:
                raise ValueError(f"X() gave rows of shape {x.shape} with outcomes of shape {y.shape}; give one outcome per row")
            columns = x.shape[1] if columns is None else columns
            if x.shape[1] != columns:
                raise ValueError(f"X() gave rows of {columns} and of {x.shape[1]} columns; give the same ones in every block")
            yield x, y

    def pieces(self, rows=None):
        """Number of the first row, rows, their outcomes (None if X is an array); none reaches across a multiple of `rows`."""
        lo = 0
        for x, y in self._pairs():
            rows = rows or part_rows(x.shape[1])
            for begin in _borders(lo, len(x), rows):
                part = slice(begin, min(len(x), begin + rows - (lo + begin) % rows))
                yield lo + begin, x[part], None if y is None else y[part]
            lo += len(x)


def _borders(lo, n, rows):
    """Where the pieces of n rows begin of which the first has the number lo."""
    return [*([0] if n else []), *range(rows - lo % rows, n, rows)]


def _assembled(pieces, rows, room, write):
    """Parts of `rows` rows in the memory `room`, which ``write(first row, place, rows, outcomes, memory)`` fills by pieces."""
    lo = end = 0
    for lo, x, y in pieces:
        place = lo % rows
        end = place + len(x)
        write(lo, place, x, y, room[place:end])
        if end == rows:
            yield lo - place, room
            end = 0
    if end:
        yield lo // rows * rows, room[:end]


@dataclasses.dataclass(frozen=True)
class Survey:
    """What one reading of X tells: sizes, ranges, means and standard deviations of the columns, which hold integers, outcomes."""

    n: int
    p: int
    single: bool  # all float32
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    whole: np.ndarray
    y: np.ndarray | None


def survey(reader, whole=False):
    """Read X once, in parts that depend on its number of columns alone.

    Parameters
    ----------
    reader : Reader
    whole : bool
        Find the columns of integers.

    Returns
    -------
    Survey

    Raises
    ------
    ValueError
        For no rows, too many, or a number that is not finite.
    """
    outcomes, single, n = [], [], 0
    mean, squares, low, high, flags = 0.0, 0.0, np.inf, -np.inf, whole
    power = 0  # the mean is in units of 2^power, a number per column not far above the largest; `squares` in their squares

    def write(lo, place, x, y, out):
        finite(x, lo)
        outcomes.append(None if y is None else y.copy())  # the next block may come in the same memory
        single.append(x.dtype == np.float32)
        out[...] = x

    pieces = reader.pieces()
    first = next(pieces, (0, np.empty((0, 0)), None))
    rows, p = part_rows(first[1].shape[1]), first[1].shape[1]
    room = np.empty((rows if reader.open else min(rows, reader.X.shape[0]), p))
    for lo, x in _assembled(itertools.chain([first], pieces), rows, room, write):
        n = lo + len(x)
        low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
        if whole:
            flags = flags & (x == np.rint(x)).all(axis=0)
        before, power = power, np.maximum(np.frexp(np.maximum(-low, high))[1], -1000)
        mean, squares = np.ldexp(mean, before - power), np.ldexp(squares, 2 * (before - power))
        x *= np.ldexp(1.0, -power)
        centre = x.mean(axis=0)
        step = centre - mean
        mean = mean + step * (len(x) / n)
        x -= centre
        squares = squares + np.einsum("ij,ij->j", x, x) + step * step * (lo * (len(x) / n))
    if n == 0:
        raise ValueError("X() gave no rows" if reader.open else f"X has shape {reader.X.shape}; at least one row is needed")
    if n >= 2**32:
        raise ValueError(f"X has {n} rows; at most 2**32 - 1 can be counted")
    mean, sd = np.ldexp(mean, power), np.where(low == high, 0.0, np.ldexp(np.sqrt(squares / n), power))
    y = np.concatenate(outcomes) if reader.open else None
    return Survey(n, p, all(single), low, high, mean, sd, np.broadcast_to(flags, p), y)


def integers(facts, rounded):
    """Origin and step of every column: its numbers are origin + step k, k from -127 to 127.

    Parameters
    ----------
    facts : Survey
    rounded : bool
        Round columns that are not integers of a range up to 254.

    Raises
    ------
    ValueError
        For such a column unless `rounded`.
    """
    low, high = facts.low, facts.high
    exact = facts.whole & (high - low <= 254.0)
    if not rounded and not exact.all():
        j = int(np.argmin(exact))
        held = f"integers from {low[j]:.0f} to {high[j]:.0f}" if facts.whole[j] else "numbers that are not integers"
        raise ValueError(
            f"column {j} of X holds {held}; dtype='int8' stores integers that are at most 254 apart: pass quantize=True to round "
            "each column to 255 equidistant numbers"
        )
    middle = 0.5 * low + 0.5 * high
    origin = np.where(exact, np.where((low >= -127.0) & (high <= 127.0), 0.0, np.floor(middle)), middle)
    return origin, np.where(exact | (low == high), 1.0, np.maximum(high / 254.0 - low / 254.0, np.finfo(float).tiny))


class Source:
    """The rows of X in their storage type, each multiplied by the sign of its outcome, made anew at every reading.

    Parameters
    ----------
    reader : Reader
    facts : Survey
    signs : numpy.ndarray of int8, shape (n,)
    event : object
        The outcome of sign 1.
    storage : {"float64", "float32", "bfloat16", "int8"}
    intercept : bool
        Put the signs in front, the column of the intercept.
    shift, scale : numpy.ndarray, shape (p,)
        The rows are (x - shift)/scale.
    rounded : bool
        Round to 8 bits.

    Attributes
    ----------
    code : tuple
        Scale and shift by which stored integers become the rows, the shift times the stored signs; None for floats.
    """

    def __init__(self, reader, facts, signs, event, *, storage, intercept, shift, scale, rounded=False):
        self.reader, self.signs, self.event, self.storage = reader, signs, event, storage
        self.shift, self.scale, self.columns = shift, scale, facts.p
        self.moved = bool((shift != 0).any() or (scale != 1).any())
        self.lead, self.code, self._seen = int(intercept), (None, None), {}
        self.dtype = np.dtype({"bfloat16": np.uint16}.get(storage, storage))
        if storage == "int8":
            self.origin, self.step = integers(facts, rounded)
            ones = np.ones(self.lead)
            offsets = np.concatenate([0.0 * ones, (self.origin - shift) / scale])
            self.code = np.concatenate([ones, self.step / scale]), offsets if offsets.any() else None
            self.lead = int(intercept or offsets.any())
        self.shape = facts.n, facts.p + self.lead

    def _write(self, x, signs, out):
        s = signs.astype(np.float64)[:, None]
        if self.storage == "int8":
            out[:, : self.lead] = s
            out[:, self.lead :] = np.clip(np.rint((x - self.origin) / self.step), -127.0, 127.0) * s
            return
        rows = np.empty(out.shape, np.float32) if self.storage == "bfloat16" else out
        rows[:, : self.lead] = s
        np.multiply((x - self.shift) / self.scale if self.moved else x, s, out=rows[:, self.lead :], casting="same_kind")
        if rows is not out:  # to nearest, ties to even
            bits = rows.view(np.uint32)
            out[...] = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)

    def _check(self, lo, place, x, y):
        """Raise unless a callable gives what it gave before: outcomes, number of columns, the first row of every part."""
        again = "X() must give the same rows in the same order at every call"
        if lo + len(x) > self.shape[0]:
            raise ValueError(f"X() gave more than the {self.shape[0]} rows of its first reading; {again}")
        if x.shape[1] != self.columns:
            raise ValueError(f"X() gave {x.shape[1]} columns, {self.columns} in its first reading; {again}")
        other = (y == self.event) != (self.signs[lo : lo + len(x)] > 0)
        if other.any():
            raise ValueError(f"X() gave another outcome for row {lo + int(np.argmax(other))} than in its first reading; {again}")
        if place == 0 and not np.array_equal(self._seen.setdefault(lo, x[0].copy()), x[0]):
            raise ValueError(f"X() gave other numbers in row {lo} than before; {again}")

    def parts(self, rows):
        """Number of the first row and the stored rows, `rows` at a time, in memory that is used again."""
        n = 0

        def write(lo, place, x, y, out):
            nonlocal n
            if y is not None:
                self._check(lo, place, x, y)
            n = lo + len(x)
            self._write(x, self.signs[lo:n], out)

        room = np.empty((min(rows, self.shape[0]), self.shape[1]), self.dtype)
        yield from _assembled(self.reader.pieces(rows), rows, room, write)
        if n != self.shape[0]:
            raise ValueError(
                f"X() gave {n} rows, {self.shape[0]} in its first reading; it must return a new iterator over the same rows at "
                "every call"
            )

    def load(self):
        """All stored rows as one array."""
        X = np.empty(self.shape, self.dtype)
        for lo, x in self.parts(part_rows(self.shape[1])):
            X[lo : lo + len(x)] = x
        return X
