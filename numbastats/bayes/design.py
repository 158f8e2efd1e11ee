"""The design matrix: read in blocks, summarised, scaled, and written in its storage type."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from numbastats._core.errors import warn
from numbastats.bayes.arguments import block, finite, matrix
from numbastats.bayes.likelihood import part_rows
from numbastats.bayes.samplers.algebra import Sparse

_MOST_DENSE = 2**27  # entries of a sparse X up to which samplers that pass over the rows have it written out in memory
_SINGLE_FROM = 1_000_000  # X of at least so many entries is kept in float32 by default
_LARGEST = 1e100  # bound on entries of X, for which X'X and prior precisions are in the range of a Cholesky factorisation


class Reader:
    """Reads the rows of X in pieces.

    Parameters
    ----------
    X : array_like or sparse, shape (n, p), or callable
        A callable returns a new iterator of pairs (rows, outcomes) at every reading.
    counted : numpy.ndarray of bool, shape (n,), optional
        Rows that are read; others are left out.
    """

    def __init__(self, X, counted=None):
        self.open = X if callable(X) else None
        self.X = None if callable(X) else matrix(X)
        self.counted = counted
        if counted is not None and self.open is None and not isinstance(self.X, np.memmap):
            self.X, self.counted = self.X[counted], None
        self.sparse = issparse(self.X)
        self.streamed = callable(X) or isinstance(X, np.memmap) or (self.sparse and math.prod(self.X.shape) > _MOST_DENSE)

    def _pairs(self):
        lo = 0
        for x, y in self._blocks():
            if self.counted is None:
                yield x, y
                continue
            kept = self.counted[lo : lo + x.shape[0]]
            lo += x.shape[0]
            if lo <= self.counted.size:
                yield x[kept], None if y is None else y[kept]
        if self.counted is not None and lo != self.counted.size:
            raise ValueError(f"sample_weight has {self.counted.size} numbers, but X() gave {lo} rows; pass one number per row")

    def _blocks(self):
        if self.open is None:
            n, rows = self.X.shape[0], part_rows(self.X.shape[1])
            yield from [(self.X, None)] if self.counted is None else ((self.X[lo : lo + rows], None) for lo in range(0, n, rows))
            return
        pairs, columns = self.open(), None
        if not hasattr(pairs, "__iter__"):
            raise TypeError(f"X() gave a {type(pairs).__name__}; it must give an iterator of pairs (rows, outcomes)")
        for pair in pairs:
            x, y = block(pair, columns)
            columns = x.shape[1]
            yield x, y

    def pieces(self, rows=None):
        """Yield first row number, rows, and outcomes (None if X is an array); no piece crosses a multiple of `rows`."""
        lo = 0
        for x, y in self._pairs():
            rows, n = rows or part_rows(x.shape[1]), x.shape[0]
            for begin in _borders(lo, n, rows):
                part = slice(begin, min(n, begin + rows - (lo + begin) % rows))
                found = x[part].toarray() if issparse(x) else x[part]
                yield lo + begin, found, None if y is None else y[part]
            lo += n


def _borders(lo, n, rows):
    """Indices at which pieces begin within n rows, the first of which has number lo."""
    return [*([0] if n else []), *range(rows - lo % rows, n, rows)]


def _assembled(pieces, rows, room, write):
    """Yield parts of `rows` rows in the memory `room`, filled by ``write(first row, place, rows, outcomes, memory)``."""
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
    """Summary of one reading of X: sizes; ranges, means, standard deviations and integer columns; outcomes."""

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
    power = 0  # the mean is in units of 2^power, per column a little above the largest entry; `squares` in squares of them

    def write(lo, place, x, y, out):
        finite(x, lo)
        outcomes.append(None if y is None else y.copy())  # the next block may reuse the memory
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


class Scaling(NamedTuple):
    """The sampler's columns are (x - shift)/scale; `unit`, a power of two, is the part of the scale that all of them share."""

    shift: np.ndarray
    scale: np.ndarray
    unit: float
    trivial: bool  # shift 0 and scale 1
    order: np.ndarray  # numbers of X's columns as the sampler has them: first those that are not shrunk
    intercept: int  # 1 where an intercept is in front of them, else 0
    level: float = 0.0  # the sampler's outcomes are (y - level)/size
    size: float = 1.0
    width: int = 1  # linear predictors of a row, each with a coefficient of every column

    def placed(self, B):
        """Numbers of the sampler's columns in the order of X's, an intercept's in front; of several predictors, of each apart."""
        if self.width > 1:
            B = np.ascontiguousarray(np.swapaxes(B.reshape(*B.shape[:-1], -1, self.width), -1, -2))
        out = np.empty_like(B)
        out[..., : self.intercept], out[..., self.intercept + self.order] = B[..., : self.intercept], B[..., self.intercept :]
        return out

    def original(self, B):
        """Coefficients on the scale of X and y from coefficients of the sampler's columns."""
        B = self.placed(B)
        if not self.trivial:
            B /= np.concatenate([np.ones(self.intercept), self.scale])
            if self.intercept:
                B[..., 0] -= B[..., 1:] @ self.shift
        if self.level != 0.0 or self.size != 1.0:
            B *= self.size
            B[..., : self.intercept] += self.level
        return B


def _unit(sizes):
    """Unit of the coefficients: a power of two that brings the smallest columns near 1 if they are far below.

    Prior precisions of coefficients are kept above 1e-12, for the Cholesky factorisation, and start values are near 1.
    """
    sizes = sizes[sizes > 0]
    if not sizes.size or sizes.min() > 1e-3:
        return 1.0
    return 2.0 ** round(max(0.0, math.log2(min(1 / max(sizes.min(), 1e-270), 1e12 / sizes.max()))))


def storage_by_size(facts):
    """Default storage type of X."""
    return "float32" if facts.single or facts.n * facts.p > _SINGLE_FROM else "float64"


def scaling(facts, storage, *, intercept, standardize, unpenalized=(), centred=False):
    """Shift and scale of the columns; warns of columns that the prior does not suit, raises for those out of range.

    Parameters
    ----------
    facts : Survey
    storage : {"float64", "float32", "bfloat16", "int8"}
    intercept, standardize : bool
    unpenalized : sequence of int
        Columns that are not shrunk.
    centred : bool
        Whether columns are centred without an intercept, too, and whether they are standardised or not.

    Returns
    -------
    Scaling
    """
    sd = facts.sd
    shift, scale = np.zeros(facts.p), np.ones(facts.p)
    if (intercept or centred) and (sd == 0).any():
        j = int(np.argmin(sd))
        cure = "no difference of rows depends on it; drop it"
        warn(
            f"column {j} of X is constant, {facts.low[j]:.6g} in every row: "
            f"{cure if centred else 'it competes with the intercept; drop it, or pass fit_intercept=False'}"
        )
    if centred or (standardize and intercept):
        shift = facts.mean
    if standardize:
        scale = np.where(sd > 0, sd, 1.0)
    elif (sd > 0).any() and sd.max() > 1e3 * sd[sd > 0].min():
        warn(
            f"the columns' standard deviations go from {sd[sd > 0].min():.3g} to {sd.max():.3g}, but all coefficients "
            "share one prior; pass standardize=True"
        )
    limit = {"float32": np.finfo(np.float32).max, "bfloat16": 2.0**128 - 2.0**120}.get(storage, np.finfo(float).max)
    with np.errstate(over="ignore"):
        unit = _unit(np.hypot(facts.mean - shift, sd) / scale)
        scale = scale / unit
        size = np.abs((np.stack([facts.low, facts.high]) - shift) / scale).max(axis=0)
    beyond = (scale < 1e-300) | (~(size <= limit) & (storage != "int8")) | ~(size <= _LARGEST)
    if beyond.any():
        j = int(np.argmax(beyond))
        raise ValueError(
            f"column {j} of X has numbers that are too large or too small for {storage}: they go from {facts.low[j]:.3g} to "
            f"{facts.high[j]:.3g}; bring it to a scale near 1, or pass standardize=True"
        )
    order = np.array([*unpenalized, *sorted(set(range(facts.p)) - set(unpenalized))])
    return Scaling(shift, scale, unit, not standardize and unit == 1.0, order, int(intercept))


def free_precisions(facts, units, columns, scale):
    """Prior precisions of unshrunk coefficients of the sampler's columns, those of a column's standard deviation being scale^-2.

    A constant column counts by its size.
    """
    facts_of = lambda v: v[list(columns)]  # noqa: E731
    sizes = np.where(facts_of(facts.sd) > 0.0, facts_of(facts.sd), abs(facts_of(facts.mean)))
    return tuple((np.where(sizes > 0.0, sizes, 1.0) / facts_of(units.scale) / scale) ** 2)


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
    units : Scaling
        The rows are (x - shift)/scale, in the order of `units`; an intercept's column, the signs, is in front.
    rounded : bool
        Round to 8 bits.
    outcomes : numpy.ndarray, shape (n,), optional
        What a callable has to repeat where outcomes are numbers and not classes.

    Attributes
    ----------
    code : tuple
        Scale and shift by which stored integers become the rows, the shift times the stored signs; None for floats.
    """

    def __init__(self, reader, facts, signs, event, *, storage, units, rounded=False, outcomes=None):
        self.reader, self.signs, self.event, self.storage = reader, signs, event, storage
        self.outcomes = outcomes
        order = units.order
        shift, scale = units.shift[order], units.scale[order]
        self.shift, self.scale, self.columns = shift, scale, facts.p
        self.order = None if (np.diff(order) > 0).all() else order
        self.moved = bool((shift != 0).any() or (scale != 1).any())
        self.lead, self.code, self._seen = units.intercept, (None, None), {}
        self.dtype = np.dtype({"bfloat16": np.uint16}.get(storage, storage))
        if storage == "int8":
            self.origin, self.step = (v[order] for v in integers(facts, rounded))
            ones = np.ones(self.lead)
            offsets = np.concatenate([0.0 * ones, (self.origin - shift) / scale])
            self.code = np.concatenate([ones, self.step / scale]), offsets if offsets.any() else None
            self.lead = int(units.intercept or offsets.any())
        self.shape = facts.n, facts.p + self.lead

    def _write(self, x, signs, out):
        s = signs.astype(np.float64)[:, None]
        x = x if self.order is None else x[:, self.order]
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
        """Raise unless a callable repeats its first reading: outcomes, number of columns, the first row of every part."""
        again = "X() must give the same rows in the same order at every call"
        if lo + len(x) > self.shape[0]:
            raise ValueError(f"X() gave more than the {self.shape[0]} rows of its first reading; {again}")
        if x.shape[1] != self.columns:
            raise ValueError(f"X() gave {x.shape[1]} columns, {self.columns} in its first reading; {again}")
        rows = slice(lo, lo + len(x))
        other = (y == self.event) != (self.signs[rows] > 0) if self.outcomes is None else y != self.outcomes[rows]
        if other.any():
            raise ValueError(f"X() gave another outcome for row {lo + int(np.argmax(other))} than in its first reading; {again}")
        if place == 0 and not np.array_equal(self._seen.setdefault(lo, x[0].copy()), x[0]):
            raise ValueError(f"X() gave other numbers in row {lo} than before; {again}")

    def parts(self, rows):
        """Yield first row number and stored rows, `rows` at a time; the memory is reused."""
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

    def sparse(self):
        """The rows in double precision without writing them out, if X is sparse; else None."""
        if not self.reader.sparse:
            return None
        S = self.reader.X.astype(np.float64) if self.order is None else self.reader.X[:, self.order].astype(np.float64)
        S.data /= self.scale[S.indices]
        S = csr_array(hstack([np.ones((self.shape[0], 1)), S], format="csr")) if self.lead else S
        return Sparse(S, np.concatenate([np.zeros(self.lead), self.shift / self.scale]), self.signs.astype(np.float64))

    def load(self):
        """All stored rows as one array."""
        X = np.empty(self.shape, self.dtype)
        for lo, x in self.parts(part_rows(self.shape[1])):
            X[lo : lo + len(x)] = x
        return X
