"""Data sets with missing values, fitted by the likelihood of what is observed."""

from __future__ import annotations

import dataclasses

import numpy as np

from numbastats._core.status import Status
from numbastats.mixture.engine import run
from numbastats.mixture.multivariate.arguments import Refused, Rows, column_called
from numbastats.mixture.multivariate.information import entropies
from numbastats.mixture.multivariate.kernels.observed import (
    COUNTED,
    FILLED,
    OBSERVED_CLIMB,
    OBSERVED_ERRORS,
    OBSERVED_SCORES,
    PATTERNS,
)
from numbastats.mixture.multivariate.kernels.passes import Point
from numbastats.mixture.multivariate.launching import on_the_host

__all__ = ["Observed", "observed_rows"]

FLAT = 1e-6  # the least eigenvalue that differences tell from 0


@dataclasses.dataclass
class Observed:
    """Rows (N, d) with missing values, those of a data set in order of patterns; weights, offsets, and what was counted.

    `apart` (D,): a column that is never observed together with one before it, -1 for none; `notes` say it.
    """

    x: np.ndarray
    w: np.ndarray
    off: np.ndarray
    info: np.ndarray
    apart: np.ndarray
    notes: dict
    shifts: np.ndarray | None = None

    def prepared(self, sample):
        """The data sets in the units of their completed copies, as the engine knows data; these are searched, and not climbed."""
        info = sample.info.copy()
        for name in ("count", "distinct"):
            info[name] = self.info[name]
        info["missing"] = self.info["missing"]
        info["unweighted"] = self.info["unweighted"] + self.info["empty"] - self.info["missing"]  # left out, beside the missing
        info["dependent"] = np.where(self.apart >= 0, self.apart, info["dependent"])
        self.shifts = np.stack([sample.centre, np.repeat(info["scale"][:, None], sample.rows.columns, axis=1)], axis=1)
        rows = sample.rows._replace(least=sample.rows.least.copy())
        return dataclasses.replace(sample, rows=rows, info=info, source=self)

    def cells(self, p):
        """Sums of the weights of all values that are observed."""
        each = self.w * (~np.isnan(self.x)).sum(axis=1)
        return np.diff(np.concatenate([[0.0], np.cumsum(each)])[self.off])

    def climb(self, p, owner, model, settings, points, state, options):
        """What `engine.climbs` does."""
        each = self.x.size * points.means.shape[1] * 40.0 / max(p.size, 1)
        args = [self.x, self.w, self.off, self.shifts, p.rows, owner, model, settings, points, state]
        run(OBSERVED_CLIMB, args, owner.size, on_the_host(options), (), cost=30.0 * each)
        with np.errstate(invalid="ignore"):
            state["status"][(state["status"] == Status.OK) & (state["min_eig"] < FLAT)] = Status.NOT_CERTIFIED

    def information(self, p, wanted, model, points, matrix, scale, options):
        """What `information_of` asks."""
        args = [self.x, self.w, self.off, self.shifts, p.rows, wanted, model, points, matrix, scale]
        run(OBSERVED_ERRORS, args, wanted.size, on_the_host(options), (), cost=1e6)

    def entropy(self, p, model, points, out):
        """Entropies of the responsibilities."""
        for s in range(out.size):
            point, a, b = Point(*(v[s] for v in points)), self.off[s], self.off[s + 1]
            r = np.empty((b - a, len(point.log_weights)))
            OBSERVED_SCORES.serial(self.x[a:b], point, self.shifts[s], np.empty(b - a), r)
            out[s] = self.w[a:b] @ entropies(r)


def observed_rows(rows: Rows, options) -> Rows:
    """Data sets with missing values: completed ones for the search, with what is observed as their source."""
    D, (N, d) = rows.count, rows.x.shape
    places, mass = np.zeros(N, np.int64), np.zeros(N)
    seen, info = np.zeros((D, d, d), np.int64), np.zeros(D, COUNTED)
    run(PATTERNS, [rows.x, rows.w, rows.off, places, mass, seen, info], D, on_the_host(options), (), cost=1e3 * N / max(D, 1))
    kept = np.arange(N) - np.repeat(rows.off[:-1], np.diff(rows.off)) < np.repeat(info["distinct"], np.diff(rows.off))
    off = np.concatenate([[0], np.cumsum(info["distinct"])]).astype(np.int64)
    x, w = np.ascontiguousarray(rows.x[places[kept]]), mass[kept]
    apart, notes, refused = np.full(D, -1), {}, dict(rows.refused)
    for s in np.flatnonzero((seen == 0).any(axis=(1, 2)) & (info["distinct"] > 0)).tolist():
        empty = np.flatnonzero(seen[s].diagonal() == 0).tolist()
        i, j = (empty[0], empty[0]) if empty else np.argwhere(np.tril(seen[s] == 0))[0].tolist()[::-1]
        apart[s], first, second = j, column_called(rows.columns, i), column_called(rows.columns, j)
        notes[s] = (
            f"{first} and {second} are never observed together, so that nothing is known of their covariance: use "
            "covariance='diag' or 'spherical', or drop one"
        )
        if empty:
            refused.setdefault(s, Refused(Status.CONSTANT, f"{first} has no value: drop it", int(info["missing"][s])))
    filled = np.empty_like(x)
    run(FILLED, [x, off, filled], D, on_the_host(options), (), cost=1e4 * N / max(D, 1))
    return dataclasses.replace(rows, x=filled, w=w, off=off, refused=refused, source=Observed(x, w, off, info, apart, notes))
