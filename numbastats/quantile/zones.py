"""Rows of quantile tables: cut from interpolants of a distribution's quantile and checked against its masses."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from numbastats.quantile.panels import chebyshev_matrix, chebyshev_points, scaling
from numbastats.scalar.tables import NEAR_BITS, SPLIT_COLUMNS

__all__ = ["Split", "Zones", "halved"]

_FIT = 24  # values per interpolation that the rows are cut from
_FIT_TOLERANCE = 4e-15
_LEAST = 1e-300  # smaller quantiles underflow
_ALONE = 2.0**-18  # a mass that shares of 2^-66 of the other side change by more than the target
_DEEPEST = 50  # halvings of a row; beyond, its parts hold one or two doubles
_SPLIT_ERROR = 1e-14  # of rows that are not split any more
_PARTS = 200_000  # of the rows of a zone
_PLACES = 4  # of a row that are compared; the last two are its ends: an error like a Chebyshev polynomial is largest there


@functools.cache
def _cut(count, degree):
    """Matrix from values at `_FIT` Chebyshev points of an interval to those at the nodes of its `count` equal parts."""
    nodes = chebyshev_points(degree + 1)
    points = (-1 + (2 * np.arange(count)[:, None] + 1 + nodes) / count).ravel()
    return (np.cos(np.outer(np.arccos(np.clip(points, -1, 1)), np.arange(_FIT))) @ chebyshev_matrix(_FIT)).T.copy()


@functools.cache
def _monomials(degree):
    """Matrix from values at the nodes of a row to its coefficients."""
    return np.linalg.inv(np.vander(chebyshev_points(degree + 1), degree + 1, increasing=True)).T.copy()


def _product(a, b):
    """Product of matrices in blocks so small that BLAS uses one thread: waking others takes longer."""
    rows = max(1, 250_000 // b.size)
    return np.concatenate([a[i : i + rows] @ b for i in range(0, len(a), rows)])


def _rows(function, lo, width, count, degree, centred=True, quarters=4):
    """Coefficients of `count` equal rows in each interval [lo, lo + width]: an array (intervals, count, degree + 1).

    Only that many `quarters` of the first interval are made; the other rows are NaN. Differences from a value in the middle go
    through the matrices, so that roundings are relative to them, not to x.
    """
    out = np.full((lo.size, count, degree + 1), math.nan)
    tolerance = _FIT_TOLERANCE if centred else 0.3 * _FIT_TOLERANCE
    points, coefficients = 0.5 * (chebyshev_points(_FIT) + 1), chebyshev_matrix(_FIT)[-2:].T
    block, first, size = np.arange(lo.size), np.zeros(lo.size, np.int64), count
    if quarters < 4:
        block, first = block[1:], first[1:]
    while block.size or (quarters < 4 and size >= count // 4):
        if quarters < 4 and size == count // 4:
            block, first = np.append(block, np.zeros(quarters, np.int64)), np.append(first, size * np.arange(quarters))
        if not block.size:
            size //= 2
            continue
        part = width[block] / count
        nodes = (lo[block] + part * first)[:, None] + (part * size)[:, None] * points
        values = function(nodes.ravel()).reshape(nodes.shape)
        magnitude = np.abs(values)
        low = np.where(np.sign(values[:, 0]) == np.sign(values[:, -1]), magnitude.min(1), magnitude.max(1))
        with np.errstate(invalid="ignore"):
            good = (np.abs(values @ coefficients).max(1) <= tolerance * low) & (magnitude.max(1) <= 64 * low)
        if size == 1:
            good[:] = True
        if good.any():
            centre = values[good, _FIT // 2, None]
            at_nodes = (_product(values[good] - centre, _cut(size, degree)) + centre).reshape(-1, degree + 1)
            middle = at_nodes[:, degree // 2].copy()
            pieces = _product(at_nodes - middle[:, None], _monomials(degree))
            pieces[:, 0] += middle
            out[block[good][:, None], first[good][:, None] + np.arange(size)] = pieces.reshape(-1, size, degree + 1)
        bad, size = ~good, max(size // 2, 1)
        block, first = np.repeat(block[bad], 2), (first[bad][:, None] + np.array([0, size])).ravel()
    return out


def halved(table, times):
    """The four zones of a table with every row cut into two, `times` times: the same polynomials."""
    degree = table.shape[1] - 1
    upper, lower = (
        np.array([[math.comb(k, j) * sign ** (k - j) / 2**k for j in range(degree + 1)] for k in range(degree + 1)])
        for sign in (1.0, -1.0)
    )
    for _ in range(times):
        zones = table.reshape(4, -1, degree + 1)
        rows = np.stack([zones[:, :-2] @ upper, zones[:, :-2] @ lower], axis=2).reshape(4, -1, degree + 1)
        table = np.concatenate([rows, zones[:, -2:]], axis=1).reshape(-1, degree + 1)
    return table


def _cut_rows(rows, start, step, cuts):
    """Numbers of the parts' rows, and the local variables of both ends: between the cuts in a row, or its halves."""
    parent, low, high = [], [], []
    for row in rows:
        inside = 2 * ((cuts - start[row]) / step[row]) - 1
        inside = np.unique(inside[np.abs(inside) < 1 - 1e-12])
        edges = np.concatenate([[-1.0], inside if inside.size else [0.0], [1.0]])
        parent.append(np.full(edges.size - 1, row))
        low.append(edges[:-1])
        high.append(edges[1:])
    return tuple(np.concatenate([np.zeros(0, kind), *found]) for found, kind in ((parent, np.int64), (low, float), (high, float)))


def _polynomial(rows, x):
    """Rows (n, degree + 1) at x (n)."""
    value = rows[:, -1].copy()
    for k in range(rows.shape[1] - 2, -1, -1):
        value *= x
        value += rows[:, k]
    return value


class Split(NamedTuple):
    """Rows of a table for `scalar.tables.row_split`, and the parts of those that have any."""

    rows: np.ndarray
    parts: np.ndarray

    @staticmethod
    def joined(tables):
        """Several tables as one; a plain array is one without parts."""
        rows = [t.rows for t in tables]
        first = np.cumsum([0, *(len(t.parts) for t in tables)])
        for table, offset in zip(tables, first, strict=False):
            table.rows[table.rows[:, -1] > 0, -SPLIT_COLUMNS] += offset
        return Split(np.concatenate(rows), np.concatenate([t.parts for t in tables]))

    def array(self):
        """Rows and, after them, their parts."""
        rows = self.rows.copy()
        rows[rows[:, -1] > 0, -SPLIT_COLUMNS] += len(rows)
        return np.concatenate([rows, self.parts])


class Zones:
    """Rows of one distribution, zone by zone, and their largest error so far.

    With `split`, rows that miss the target are cut into parts, and tables are `Split`.
    """

    def __init__(self, masses, degree, rng, bits=NEAR_BITS, split=False):
        self.masses, self.degree, self.rng = masses, degree, rng
        self.segments, self.split = 1 << bits, split
        self.error = 0.0
        self.least = {}  # smallest share of a side that a zone holds, by (right, inner)

    def _checked(self, function, residual, lo, width, count, quarters=4):
        """Rows of intervals, after a comparison at two random places of every row and at its ends, where errors are largest."""
        rows = _rows(function, lo, width, count, self.degree, self.masses.anchor == 0.0, quarters)
        flat = np.repeat(rows.reshape(-1, self.degree + 1), _PLACES, axis=0)
        x = self.rng.uniform(-1, 1, (flat.shape[0] // _PLACES, _PLACES))
        x[:, -2:] = -1.0, 1.0 - 2.0**-20
        x = x.ravel()
        part = np.repeat(width / count, _PLACES * count)
        left = (lo[:, None] + (width / count)[:, None] * np.arange(count)).ravel().repeat(_PLACES)
        made = np.ones(x.size, bool)
        made[_PLACES * quarters * count // 4 : _PLACES * count] = False
        error = residual((left + part * (0.5 * (x + 1)))[made], _polynomial(flat[made], x[made]))
        self.error = max(self.error, float(np.max(error, initial=0.0)) if not np.isnan(error).any() else math.inf)
        return rows

    def _parted(self, function, residual, lo, width, count, quarters=4, cuts=()):
        """Rows of intervals with four more columns, and the parts of those that one polynomial does not follow.

        `cuts` are arguments where parts should end; elsewhere rows are halved repeatedly.
        """
        rows = _rows(function, lo, width, count, self.degree, self.masses.anchor == 0.0, quarters)
        start = (lo[:, None] + (width / count)[:, None] * np.arange(count)).ravel()
        step = np.repeat(width / count, count)
        made = np.ones(start.size, bool)
        made[quarters * count // 4 : count] = False
        made = np.flatnonzero(made)

        def errors(parent, centre, half, polynomials, local):
            x = centre[:, None] + half[:, None] * local
            w = start[parent, None] + step[parent, None] * (0.5 * (x + 1))
            # a part may be a few doubles wide: take the points where they are after rounding
            exact = np.clip((2 * ((w - start[parent, None]) / step[parent, None]) - 1 - centre[:, None]) / half[:, None], -1, 1)
            values = _polynomial(np.repeat(polynomials, local.shape[1], axis=0), exact.ravel())
            error = residual(w.ravel(), values).reshape(w.shape).max(1)
            return np.where(np.isnan(error), math.inf, error)

        def probes(size, inside):
            ends = np.broadcast_to([-0.999, 0.999], (size, 2))
            return np.concatenate([self.rng.uniform(-1, 1, (size, inside)), ends], axis=1)

        flat = rows.reshape(-1, self.degree + 1)
        none, ones = np.zeros(made.size), np.ones(made.size)
        bad = errors(made, none, ones, flat[made], probes(made.size, 6)) > _SPLIT_ERROR
        whole, parts, total = made[~bad], [], 0
        parent, low, high = _cut_rows(made[bad], start, step, np.asarray(cuts))
        points = chebyshev_points(self.degree + 1)
        for level in range(_DEEPEST):
            if not parent.size:
                break
            centre, half = 0.5 * (low + high), 0.5 * (high - low)
            x = centre[:, None] + half[:, None] * points
            values = function((start[parent, None] + step[parent, None] * (0.5 * (x + 1))).ravel()).reshape(x.shape)
            last = level == _DEEPEST - 1 or total + 2 * parent.size > _PARTS
            if level == _DEEPEST - 1:
                values[:] = values[:, [self.degree // 2]]
            inner = values[:, self.degree // 2].copy()
            polynomials = (values - inner[:, None]) @ _monomials(self.degree)
            polynomials[:, 0] += inner
            good = last | (errors(parent, centre, half, polynomials, probes(parent.size, 10)) <= _SPLIT_ERROR)
            parts.append([a[good] for a in (parent, low, centre, half, polynomials)])
            total += int(good.sum())
            parent, low, high, middle = parent[~good], low[~good], high[~good], centre[~good]
            parent, low, high = np.tile(parent, 2), np.append(low, middle), np.append(middle, high)
        none, ones = np.zeros(whole.size), np.ones(whole.size)
        self.error = max(self.error, errors(whole, none, ones, flat[whole], probes(whole.size, 2)).max(initial=0))
        table = np.zeros((flat.shape[0], self.degree + 1 + SPLIT_COLUMNS))
        table[:, : self.degree + 1] = flat
        if not parts:
            return table.reshape(*rows.shape[:2], -1), np.zeros((0, table.shape[1]))
        parent, low, centre, half, polynomials = (np.concatenate(p) for p in zip(*parts, strict=True))
        self.error = max(self.error, errors(parent, centre, half, polynomials, probes(parent.size, 2)).max())
        order = np.lexsort((low, parent))
        split, first, counts = np.unique(parent[order], return_index=True, return_counts=True)
        table[split, -SPLIT_COLUMNS], table[split, -1] = first, counts
        columns = polynomials, low[:, None], centre[:, None], 1.0 / half[:, None], np.zeros((half.size, 1))
        return table.reshape(*rows.shape[:2], -1), np.concatenate(columns, axis=1)[order]

    def _error(self, right, y, t, condition, x):
        """Error of x as in `Certificate` where a side's inner share should be y or its outer share t; the other one is NaN.

        `condition` is the relative change of the share with the argument, None for a probability.
        """
        m, error = self.masses, np.zeros(x.size)
        side_mass = m.p[1 if right else 0]
        for inner in (True, False):
            share = y if inner else t
            use = ~np.isnan(share)
            if use.any():
                got, moves = m.share(right, inner, x[use])
                beyond = got if not inner else 1.0 - got
                with np.errstate(all="ignore"):
                    factor = np.minimum(beyond, 0.5 / side_mass) / got if condition is None else 0.25 * condition[use]
                    unit = np.maximum(np.maximum(np.abs(x[use]), _LEAST) / moves, 0.2 * factor)  # in a gap x moves at will
                    error[use] = np.where(moves > 0, np.abs(np.log(got / share[use])) / unit, 0.0 * x[use])
        return error

    def _descending(self, rows, specials):
        """Rows of octaves (ascending within an octave) in descending order, and the two special rows."""
        flat = rows[:, ::-1].reshape(-1, rows.shape[-1])
        extra = np.zeros((2, rows.shape[-1]))
        extra[:, 0] = specials
        return np.concatenate([flat, extra])

    def both(self, make, mirrored=True):
        """Rows of the left and the right side, made by `make(right)`; of a distribution symmetric about 0 the right ones only."""
        right = make(True)
        if isinstance(right, Split):
            return Split.joined([make(False), right])
        alike = mirrored and self.masses.symmetric and self.masses.anchor == 0.0
        return np.concatenate([0.0 - right if alike else make(False), right])

    def side(self, right, octaves, held):
        """Tail zone and centre zone of one side, by octaves of scaled masses; towards an end of the support `held` of them."""
        m = self.masses
        whole = scaling(m.p[1 if right else 0])[1]
        # where the other side has next to nothing, shares next to the anchor are small probabilities as well
        end, other = m.ends[1 if right else 0], m.p[0 if right else 1]
        columns = self.degree + 1 + (SPLIT_COLUMNS if self.split else 0)
        empty = np.full((octaves, self.segments, columns), math.nan)
        if self.split:
            empty[..., -SPLIT_COLUMNS:] = 0.0
        if m.p[1 if right else 0] == 0.0:
            only = m.anchor if m.ends == m.support else end  # of probability 0
            table = np.tile(self._descending(empty, (only,) * 2), (2, 1))
            return Split(table, np.zeros((0, columns))) if self.split else table
        lo = 2.0 ** -(np.arange(octaves) + 2.0)
        zones = []
        for inner in (False, True):

            def residual(w, x, inner=inner):
                nan = np.full(w.size, math.nan)
                return self._error(right, w / whole if inner else nan, nan if inner else w / whole, None, x)

            def function(w, inner=inner):
                return m.invert(right, inner, w / whole)

            # where the density can still be trusted, and the masses are numbers
            least = 1e-305 / min(m.side(right)[0].total, 1.0) if inner else m.reach(right)
            known = min(octaves if inner and other > 0.0 else held, int((lo >= least).sum()))
            rows, parts = empty.copy(), None
            # of the first octave, as many quarters as reach half of the side: the other zone has the rest
            quarters = min(int(4 * (2 * whole - 1)) + 1, 4)
            if not known and not inner:
                raise ValueError(
                    f"more than {min(least, 1.0):.2g} of the mass on one side of the anchor {m.anchor!r} lies where doubles end, "
                    "or where the density underflows; there would be no quantiles of it"
                )
            intervals = function, residual, lo[:known], lo[:known], self.segments, quarters
            if self.split:
                breaks = np.array([b for b in m.breaks if (b > m.anchor) == right and m.support[0] < b < m.support[1]])
                cuts = m.share(right, inner, breaks)[0] * whole if breaks.size else ()
                rows[:known], parts = self._parted(*intervals, cuts)
            else:
                rows[:known] = self._checked(*intervals)
            self.least[right, inner] = lo[known - 1] / whole if known else 1.0
            specials = (m.anchor, m.anchor if other >= _ALONE else math.nan) if inner else (end, math.nan)
            zones.append(self._descending(rows, specials))
            if self.split:
                zones[-1] = Split(zones[-1], parts)
        return Split.joined(zones) if self.split else np.concatenate(zones)

    def range(self):
        """The smallest lower and upper tail probabilities, other than 0, that have a quantile here."""
        m, found = self.masses, []
        for right in (False, True):
            here, there = (m.p[i] for i in ((1, 0) if right else (0, 1)))
            least = [self.least.get((True, inner) if m.symmetric else (right, inner), 1.0) for inner in (False, True)]
            if here >= _ALONE:
                found.append(here * least[0])
            else:  # from the other side's first share next to the anchor on
                found.append(here + there * self.least.get((not right, True), 1.0))
        return tuple(found)

    def signed(self, right, base, octaves, limit, far, per):
        """Near zone (octaves of the distance to the base's anchor) and far zone of one side."""
        m = self.masses
        end = m.ends[1 if right else 0]
        if m.p[1 if right else 0] == 0.0:
            rows = np.full((octaves * self.segments + far + 4, self.degree + 1), math.nan)
            rows[octaves * self.segments :][:2] = m.anchor, *[0.0] * self.degree
            return rows

        def shares(a, moves=False):
            x = base.anchor + (a if right else -a)
            y, inner = base.share(right, True, x, a)
            t, outer = base.share(right, False, x, a)
            pair = np.where(y < 0.5, y, math.nan), np.where(y < 0.5, math.nan, t)
            return (*pair, np.abs(x) / np.where(y < 0.5, inner, outer)) if moves else pair

        def function(a):
            y, t = shares(a)
            x, inner = np.empty_like(a), ~np.isnan(y)
            x[inner] = m.invert(right, True, y[inner])
            x[~inner] = m.invert(right, False, t[~inner])
            return x

        def residual(a, x):
            return self._error(right, *shares(a, moves=True), x)

        # as far as the masses of both can be trusted
        last = abs(base.invert(right, False, np.array([max(base.reach(right), m.reach(right))]))[0] - base.anchor)
        lo = np.ldexp(limit, -(np.arange(octaves) + 1))
        near = np.full((octaves, self.segments, self.degree + 1), math.nan)
        known = 2 * lo <= last
        near[known] = self._checked(function, residual, lo[known], lo[known], self.segments)
        edge = 2 * lo[known].max(initial=0.0)

        def beyond():
            return 0.0 if far else base.share(right, False, np.array([base.anchor + edge * (1 if right else -1)]))[0][0]

        if 0.0 < edge < limit and not beyond() < 1e-12:  # as much of the octave beyond as is needed
            enough = abs(base.invert(right, False, np.array([2e-13]))[0] - base.anchor)
            width = edge / self.segments
            count = min(int((last - edge) / width), math.ceil((enough - edge) / width))
            part = edge + width * np.arange(count)
            near[np.argmax(known) - 1, :count] = self._checked(function, residual, part, np.full(count, width), 1)[:, 0]
            edge += width * count
        lost = beyond()
        if not lost < 1e-12:
            raise ValueError(
                f"the map from the base distribution is too steep next to its end {base.support[1 if right else 0]!r}: "
                f"{lost:.1g} of the mass on that side of {base.anchor!r} would be lost. "
                "Go through probabilities: target.ppf of the base's cdf"
            )
        rows = [self._descending(near, (m.anchor, m.anchor))]
        extra = np.zeros((2, self.degree + 1))
        extra[:, 0] = math.nan, end
        if far:
            blocks, each = far // 16, 16
            known = max(0, min(blocks, int((last - limit) * per / each)))
            lo = limit + np.arange(known) * (each / per)
            rows.append(self._checked(function, residual, lo, np.full(known, each / per), each).reshape(-1, self.degree + 1))
            rows.append(np.full(((blocks - known) * each, self.degree + 1), math.nan))
        return np.concatenate([*rows, extra])
