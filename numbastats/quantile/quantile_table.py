"""A quantile table as a value: rows in two float types, and the numbers by which kernels find them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from numbastats.quantile import construction
from numbastats.quantile.construction import One
from numbastats.quantile.panels import scaling
from numbastats.quantile.zones import Split, Zones, halved
from numbastats.scalar.tables import NEAR_BITS, OCTAVE, OCTAVE32, SPLIT_COLUMNS

__all__ = ["EXACT32", "MOST_BITS", "TableSet", "Rows"]

EXACT32 = 1 << 24  # rows that a float32 header can number
MOST_BITS = 9
_ROUGH = 2.0 * 2.0**-24  # relative error of a float32 table beyond which float32 goes through the float64 one


@dataclasses.dataclass(eq=False)
class Rows:
    """Rows for one way to address a table. Those of float32, of degree 3, are made on first use.

    Tables that differ in their parameters' shape or in their base share them.
    """

    double: np.ndarray
    single: np.ndarray | None = None
    error: float | None = None  # of the float32 rows; None as long as it is not known


@dataclasses.dataclass(frozen=True, eq=False)
class TableSet:
    """Quantile tables of one distribution, or of a batch; `index` has the number of the set for each element of the parameters.

    Changes make another table (`dataclasses.replace`), which shares the rows. Headers are cached with the table.
    """

    base: object
    degree: int
    octaves: int  # of the shares of mass next to an anchor
    held: int | None  # octaves of the tails that are filled; None for a table from a file
    bits: int  # logarithm of the rows per octave
    split: bool  # whether rows by probability have parts
    sets: tuple[One, ...]
    shift: np.ndarray  # location of each set
    index: np.ndarray
    param_dtype: np.dtype | None
    uniform: Any = None  # Rows by probability
    signed: Rows | None = None  # by values of the base; None where there are none
    indirect: bool = False  # whether values of the base go through their probabilities
    _headers: dict = dataclasses.field(default_factory=dict, init=False, repr=False)

    @property
    def shape(self):
        """Shape of the parameters."""
        return self.index.shape

    @property
    def nbytes(self):
        """Bytes of the float64 rows."""
        return sum(rows.double.nbytes for rows in (self.uniform, self.signed) if rows is not None)

    def column(self, function):
        """One number per set, in the shape of the parameters."""
        return np.array([function(one) for one in self.sets])[self.index][()]

    def select(self, index):
        """The same table with parameters of another shape: set `index[...]` of them."""
        return dataclasses.replace(self, index=index)

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def octaves32(self):
        """Octaves in float32, which has no smaller normal numbers."""
        return min(self.octaves, 125)

    def row_bits(self, degree):
        """Logarithm of the rows per octave."""
        return max(5, self.bits) if degree == 3 else self.bits

    def length(self, degree):
        """Rows of a zone."""
        return (self.octaves32 if degree == 3 else self.octaves) << self.row_bits(degree)

    def rows(self, kind, degree):
        """Rows of float64 or, of degree 3, float32."""
        rows = self.signed if kind == "signed" else self.uniform
        if degree == 3 and rows.single is None:
            self.make_single(kind)
        return rows.single if degree == 3 else rows.double

    def joined(self, kind, tables, dtype=np.float64):
        """Rows of all sets as one array, shifted to their location; NaN for a set without a table."""
        degree = 3 if dtype == np.float32 else 7 if kind == "signed" else self.degree
        if kind == "uniform" and self.split:
            return self._joined_parts(tables)
        octaves, _, far, _ = construction.base_shape(self.base)
        rows = 4 * (self.length(degree) + 2) if kind == "uniform" else 2 * ((octaves << NEAR_BITS) + far + 4)
        size = rows, degree + 1
        full = [np.full(size, math.nan) if t is None else t for t in tables]
        for t, shift in zip(full, self.shift, strict=True):
            t[:, 0] += shift
        with np.errstate(over="ignore"):
            table = (full[0] if len(full) == 1 else np.concatenate(full)).astype(dtype, copy=False)
        if dtype == np.float32:
            table[np.isinf(table[:, 0]), 1:] = 0.0  # quantiles beyond its range are infinite there
        return table

    def _joined_parts(self, tables):
        """Rows with parts of all sets."""
        rows = np.full((4 * (self.length(self.degree) + 2), self.degree + 1 + SPLIT_COLUMNS), math.nan)
        rows[:, -SPLIT_COLUMNS:] = 0.0
        full = [Split(rows.copy(), rows[:0].copy()) if t is None else t for t in tables]
        for t, shift in zip(full, self.shift, strict=True):
            for part in t:
                part[:, 0] += shift
        return Split.joined(full).array()

    @np.errstate(under="ignore")
    def make_single(self, kind):
        """Make the float32 rows, of degree 3, from the same masses, and find their error."""
        parts, worst = [], 0.0
        for one in self.sets:
            if one.masses is None:
                parts.append(None)
                continue
            rng = np.random.default_rng(5)
            if kind == "uniform":
                zones = Zones(one.masses, 3, rng, self.row_bits(3))
                parts.append(zones.both(lambda right, zones=zones: zones.side(right, self.octaves32, self.held)))
                error = zones.error
            else:
                one, rows = construction.from_base(dataclasses.replace(one, error=0.0), self.base, 3, rng)
                parts.append(rows)
                error = one.error
            worst = max(worst, error)
        rows = self.signed if kind == "signed" else self.uniform
        rows.single = self.joined(kind, parts, np.float32)
        rows.error = worst

    def is_rough(self, kind):
        """Whether the float32 rows are not good enough."""
        if kind == "uniform" and self.split:
            return True
        rows = self.signed if kind == "signed" else self.uniform
        if (4 * len(self.sets) * (self.length(3) + 2) if kind == "uniform" else len(rows.double)) > EXACT32:
            return True
        if rows.error is None:
            self.make_single(kind)
        return rows.error > _ROUGH

    # -- the numbers by which kernels find rows ------------------------------------------------------------------

    def _selected(self, columns, dtype):
        """Columns of header numbers in the shape of the parameters."""
        columns = [c[self.index] for c in columns]
        return [dtype.type(c) for c in columns] if self.shape == () else columns

    def header(self, dtype, upper):
        """The parameters of `uniform` kernels, as numbers or arrays of the parameters' shape."""
        key = ("header", dtype, upper)
        if key not in self._headers:
            degree = 3 if dtype == np.float32 else self.degree
            zone = self.length(degree) + 2
            columns = np.empty((6, len(self.sets)))
            most = 2.0 ** (np.finfo(dtype).maxexp - 2)
            for i, one in enumerate(self.sets):
                left, right = one.p[::-1] if upper else one.p
                high, rest = _two_parts(left, dtype)
                first = 4 * i * zone
                begins = (first + 2 * zone, first) if upper else (first, first + 2 * zone)
                columns[:, i] = high, rest, min(scaling(left)[0], most), min(scaling(right)[0], most), *begins
            self._headers[key] = self._selected(columns, dtype)
        return self._headers[key]

    def shares(self, dtype):
        """What goes with shares of mass: the scaled masses of the sides, their first rows."""
        key = ("shares", dtype)
        if key not in self._headers:
            self._headers[key] = self._selected(np.array([[scaling(q)[1] for q in one.p] for one in self.sets]).T, dtype)
        return (*self._headers[key], *self.header(dtype, False)[4:])

    def signed_header(self, dtype):
        """The parameters of `signed` kernels."""
        key = ("signed", dtype)
        if key not in self._headers:
            octaves, limit, far, per = construction.base_shape(self.base)
            side = (octaves << NEAR_BITS) + far + 4
            columns = np.empty((6, len(self.sets)))
            for i, one in enumerate(self.sets):
                anchor = one.base.anchor if one.base is not None else 0.0
                high, rest = _two_parts(anchor, dtype, construction.location_of(self.base))
                columns[:, i] = high, rest, limit, per, 2 * i * side, (2 * i + 1) * side
            self._headers[key] = self._selected(columns, dtype)
        return self._headers[key]

    def integers(self, degree):
        """What goes with the header of a `uniform` table: exponent bits of the first octave, rows of a zone, and of an octave."""
        return OCTAVE32 if degree == 3 else OCTAVE, np.int64(self.length(degree)), np.int64(self.row_bits(degree))

    def signed_integers(self, degree):
        """The same of a `signed` table: exponent bits of the first octave, rows of the octaves, rows beyond."""
        octaves, limit, far, _ = construction.base_shape(self.base)
        bias = 127 if degree == 3 else 1023
        return np.int64(bias + int(math.log2(limit)) - 1), np.int64(octaves << NEAR_BITS), np.int64(far)

    # -- other tables -------------------------------------------------------------------------------------------

    def moved(self, shift):
        """The table with a number added to all its values."""

        def raised(rows):
            if rows is None:
                return None
            double, single = (part if part is None else part.copy() for part in (rows.double, rows.single))
            for part in (double, single):
                if part is not None:
                    part[:, 0] += shift
            return Rows(double, single, rows.error)

        return dataclasses.replace(
            self, uniform=raised(self.uniform), signed=raised(self.signed), shift=np.full(len(self.sets), shift, np.float64)
        )

    @staticmethod
    def stacked(tables):
        """Several distributions with tables of one degree and base as one batch along the last axis."""
        first = tables[0]
        if any(t.shape != () or t.degree != first.degree or t.octaves != first.octaves for t in tables):
            raise ValueError("distributions for columns must have scalar parameters and tables of one degree and tail")
        bits = max(t.bits for t in tables)
        held = {t.held for t in tables}
        # no float32 rows for tables from files, nor for tails that differ
        error = math.inf if None in held or len(held) > 1 else None
        if construction.follows_base(first.base):
            rows = dict(uniform=None, signed=Rows(np.concatenate([t.signed.double for t in tables]), error=error))
        else:
            halves = [halved(t.uniform.double, bits - t.bits) for t in tables]
            rows = dict(uniform=Rows(np.concatenate(halves), error=error), signed=None)
        return dataclasses.replace(
            first,
            sets=tuple(t.one for t in tables),
            index=np.arange(len(tables)),
            shift=np.array([float(t.shift[t.index]) for t in tables]),
            bits=bits,
            param_dtype=max((t.param_dtype for t in tables if t.param_dtype is not None), default=None),
            **rows,
        )

    @property
    def one(self):
        """The only set of parameters."""
        return self.sets[int(self.index)]


def _two_parts(value, dtype, more=0.0):
    """Value + more as a sum of two numbers, the first of a float type."""
    total = value + more
    high = float(dtype.type(total))
    return high, (total - high) + ((value - (total - more)) + (more - (total - (total - more))))
