"""Fits of Student's t components, and of uniform noise beside components: what the engine asks of them, and their refusals."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any, NamedTuple

import numpy as np

from numbastats._core.information import carried, inverse
from numbastats._core.status import Status
from numbastats.mixture.engine import run
from numbastats.mixture.multivariate import engine
from numbastats.mixture.multivariate.covariances import MODELS
from numbastats.mixture.multivariate.information import coordinates, slopes_of
from numbastats.mixture.multivariate.kernels.passes import Point
from numbastats.mixture.multivariate.kernels.student import (
    FIRST_DF,
    LARGE_DF,
    MOST_DF,
    STUDENT_CLIMB,
    STUDENT_INFORMATION,
    STUDENT_SCORES,
    STUDENT_SUMMARY,
    Tails,
)
from numbastats.mixture.multivariate.launching import on_the_host
from numbastats.scalar.special import gammaln

__all__ = [
    "FEWEST",
    "PILOT",
    "Heavy",
    "Student",
    "core_of",
    "heavy_of",
    "hypervolumes",
    "refuse_with_tails",
    "scores",
    "tails_noted",
    "volumes",
    "with_tails",
]

FAR = 10.0  # times the median distance
FARTHEST = 1e140  # standard deviations, beyond which squared distances may overflow
NONE = 1e-9  # the weight below which noise has vanished
FEWEST, MOST = 0.5, 0.5  # rows, and share of all, that noise begins with at least and at most


class Heavy(NamedTuple):
    """What is asked of the tails.

    `df` is None where degrees of freedom are free, inf for normal components, a number or one for each component (None for a free
    one) where they are fixed; `equal` makes the free ones one number; `noise` is True or a volume.
    """

    df: object = math.inf
    equal: bool = False
    noise: object = False

    def fixed(self, K):
        """Degrees of freedom (K,) that are fixed, NaN for free ones."""
        each = self.df if isinstance(self.df, tuple) else (self.df,) * K
        return np.array([math.nan if v is None else v for v in each])

    def free(self, K):
        """Free parameters besides those of normal components."""
        free = int(np.isnan(self.fixed(K)).sum())
        return (min(free, 1) if self.equal else free) + (self.noise is not False)


PILOT = Heavy(df=FIRST_DF)
"""Components that outliers move little: the rows that these make less likely than the noise are what it begins with."""


def degrees_of(df, candidates):
    """Degrees of freedom that are fixed, a number or a tuple of K of them, None for free ones; every refusal."""
    if df is None or np.ndim(df) == 0:
        each, out = (df,), df if df is None else float(df)
    else:
        each = out = tuple(None if v is None else float(v) for v in df)
        if len(candidates) > 1 or len(out) != candidates[0]:
            raise ValueError(f"df={df!r} has {len(out)} numbers, and n_components is {candidates}; pass one for each component")
    if bad := [v for v in each if v is not None and not float(v) > 0.0]:
        raise ValueError(f"df={bad[0]!r} must be a number above 0, or None for a free one")
    return out


def heavy_of(df, equal, noise, candidates):
    """What is asked of the tails; None of normal components without noise."""
    if not isinstance(noise, bool | np.bool_) and not (isinstance(noise, numbers.Real) and 0.0 < noise < math.inf):
        raise ValueError(
            f"noise={noise!r} must be True, for the volume of the data, a volume above 0 in the units of the columns, or False"
        )
    noise = bool(noise) if isinstance(noise, bool | np.bool_) else float(noise)
    df = math.inf if df == math.inf else degrees_of(df, candidates)
    return None if df == math.inf and noise is False else Heavy(df, equal, noise)


def hypervolumes(x, w, off):
    """Volumes (D,) of boxes that hold the rows (N, d): the lesser of that along the columns and that along principal axes.

    Of columns divided by their standard deviations, so that units change a volume as they do that of the data. Data sets without
    rows, or with a singular scatter, have the logarithm of the first; returned are logarithms.
    """
    counted = np.ones(len(x)) if w.size == 0 else w
    kept = (counted > 0.0) & np.isfinite(x).all(axis=1)
    owner = np.repeat(np.arange(off.size - 1), np.diff(off))[kept]
    x, counted = x[kept], counted[kept]
    D, d = off.size - 1, x.shape[1]
    out = np.zeros(D)
    if not len(x):
        return out
    first = np.flatnonzero(np.diff(np.concatenate([[-1], owner])))
    has = owner[first]

    def ranges(rows):
        return np.log(np.maximum.reduceat(rows, first) - np.minimum.reduceat(rows, first)).sum(axis=1)

    box = ranges(x)
    mass = np.add.reduceat(counted, first)
    place = np.searchsorted(has, owner)
    middle = np.add.reduceat(counted[:, None] * x, first) / mass[:, None]
    away = x - middle[place]
    sd = np.sqrt(np.add.reduceat(counted[:, None] * np.square(away), first) / mass[:, None])
    z = away / sd[place]
    scatter = np.empty((has.size, d, d))
    for i in range(d):
        scatter[:, i] = np.add.reduceat((counted * z[:, i])[:, None] * z, first) / mass[:, None]
    fine = np.isfinite(scatter).all(axis=(1, 2))
    axes = np.linalg.eigh(np.where(fine[:, None, None], scatter, np.eye(d)))[1]
    turned = ranges(np.einsum("ni,nij->nj", z, axes[place])) + np.log(sd).sum(axis=1)
    box = np.fmin(box, np.where(np.isfinite(turned), turned, np.inf))
    out[has] = np.where(np.isfinite(box), box, 0.0)
    return out


@dataclasses.dataclass
class Student:
    """What has passes of its own in the place of those of normal components; `noise` (D,) has log densities in the rows' units.

    `share` (D,) is the weight with which noise begins, `volume` (D,) the logarithm of its volume in the units of the data.
    """

    heavy: Heavy
    noise: np.ndarray
    volume: np.ndarray
    share: np.ndarray
    core: Any = None  # the data sets without rows that are far out, as they are prepared; None where there are none

    @classmethod
    def of(cls, p, heavy, volume, core=None):
        """For data sets as they are prepared."""
        scale = np.log(p.info["scale"]) - 0.5 * math.log(2.0 * math.pi)
        noise = np.full(p.size, -math.inf)
        if heavy.noise is not False:
            noise = -volume - p.rows.columns * np.where(np.isfinite(scale), scale, 0.0)
        return cls(heavy, noise, volume, np.zeros(p.size), core)

    def tails(self, K):
        """What kernels know."""
        return Tails(self.heavy.fixed(K), int(self.heavy.equal), self.noise)

    def cells(self, p):
        """Sums of the weights of all values."""
        return p.rows.mass * p.rows.columns

    def begun(self, points):
        """Starts for these: of free degrees of freedom few and many, with the noise that these begin with; points are written."""
        D, K = self.noise.size, points.means.shape[1]
        R = points.means.shape[0] // max(D, 1)
        with np.errstate(divide="ignore"):
            points.log_weights[:] += np.log1p(-np.repeat(self.share, R))[:, None]
        fixed = self.heavy.fixed(K)
        points.heights[:] = np.where(np.isnan(fixed), FIRST_DF, fixed)
        if not np.isnan(fixed).any():
            return (points,)
        others = Point(*(v.copy() for v in points))
        others.heights[:] = np.where(np.isnan(fixed), LARGE_DF, fixed)
        return points, others

    def climb(self, p, owner, model, settings, points, state, options):
        """What `engine.climbs` does."""
        K, d = points.means.shape[1], p.rows.columns
        each = K * (40.0 + d * d) * p.rows.w.size / max(p.size, 1)
        args = [p.rows, owner, model, self.tails(K), settings._replace(newton=min(settings.newton, 1)), points, state]
        run(STUDENT_CLIMB, args, owner.size, on_the_host(options), (), cost=60.0 * each)

    def parameters(self, K, p, model):
        """Coordinates of Newton's method."""
        return coordinates(K, p.rows.columns, model) + self.heavy.free(K)

    def information(self, p, wanted, model, points, matrix, scale, options):
        """What `information_of` asks."""
        args = [p.rows, wanted, model, self.tails(points.means.shape[1]), points, matrix, scale]
        run(STUDENT_INFORMATION, args, wanted.size, on_the_host(options), (), cost=1e6)

    def summary(self, p, model, points, level):
        """Entropies of responsibilities, and weights of rows that are less likely than exp(level) (D,)."""
        out = np.zeros((p.size, 2))
        args = [p.rows, np.arange(p.size), model, self.tails(points.means.shape[1]), level, points, out]
        STUDENT_SUMMARY.serial(*args)
        return out.T

    def entropy(self, p, model, points, out):
        """Entropies of the responsibilities."""
        out[:] = self.summary(p, model, points, self.noise)[0]

    def shares(self, p, model, points, level):
        """The weights (D,) with which noise of these log densities begins beside components that are found without it."""
        below, mass = self.summary(p, model, points, level)[1], np.maximum(p.rows.mass, 1.0)
        return np.clip(np.nan_to_num(below), FEWEST, MOST * mass) / mass

    def df(self, points, rows):
        """Degrees of freedom (M, K) of points."""
        return points.heights[rows]

    def covariance(self, information, scale, weights, covariances, df, model):
        """As `information.covariance_of`, with df (K), NaN where infinite, and the weight of the noise after the covariances."""
        K, noisy = len(weights), self.heavy.noise is not False
        base = slopes_of(weights, covariances, model, coordinates(K, covariances.shape[1], model))
        rows, p = base.shape
        slopes = np.zeros((rows + K + 1, scale.size))
        slopes[:rows, :p] = base
        if noisy:
            rest = 1.0 - weights.sum()
            slopes[:K, p] = -weights * rest
            slopes[-1, :K], slopes[-1, p] = -rest * weights, rest * (1.0 - rest)
        at, settled = p + noisy, np.zeros(rows + K + 1, bool)
        for k, fixed in enumerate(self.heavy.fixed(K)):
            if np.isnan(fixed):
                slopes[rows + k, at] = df[k] if np.isfinite(df[k]) else 0.0
                settled[rows + k] = not np.isfinite(df[k])
                at += not self.heavy.equal
        full = carried(inverse(information), slopes / scale)
        full[settled], full[:, settled] = math.nan, math.nan
        return full


def scores(rows, point, df, noise, shift, outs):
    """Log densities, probabilities and labels of rows, written to three arrays."""
    point.heights[:] = df
    tails = Tails(np.full(df.size, math.nan), 0, np.array([noise]))
    STUDENT_SCORES(rows, point, tails, shift, *outs)
    if noise == -math.inf:
        _scores_of_the_farthest(rows, point, df, shift, *outs)


def _scores_of_the_farthest(rows, point, df, shift, density, shares, labels):
    """Those of rows whose squared distances overflow, by logarithms; centres are nothing beside such distances."""
    d, K = rows.shape[1], df.size
    with np.errstate(over="ignore", invalid="ignore"):
        z = (rows - shift[0]) * shift[1]
    size = np.abs(z).max(axis=1, initial=0.0)
    far = (size > FARTHEST) & (size < math.inf)
    if not far.any():
        return
    factors, s = point.factors[:, :d, :d], np.where(df < math.inf, df, 1.0)
    y = np.einsum("kij,nj->nki", factors, z[far] / size[far, None])
    with np.errstate(divide="ignore"):
        square = np.log(np.square(y).sum(axis=2)) + 2.0 * np.log(size[far, None])
    logs = point.log_weights + np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1) + np.log(np.abs(shift[1])).sum()
    logs = logs + [gammaln(0.5 * (v + d)) - gammaln(0.5 * v) for v in s.tolist()]
    logs = logs - 0.5 * d * np.log(math.pi * s) - 0.5 * (s + d) * (square - np.log(s))
    logs[:, np.isinf(df)] = -math.inf
    density[far], labels[far] = np.logaddexp.reduce(logs, axis=1), logs.argmax(axis=1)
    shares[far, :K] = np.exp(logs - density[far, None])


def with_tails(p, heavy, volume, core=None):
    """Data sets as they are prepared, fitted with these tails beside noise of a volume whose logarithm is given (D,)."""
    if core is not None:  # a component has collapsed beside the other rows, not beside what is far out
        unit = np.square(p.info["scale"] / core.info["scale"])[:, None]
        p = dataclasses.replace(p, rows=p.rows._replace(pivots=np.minimum(core.rows.pivots * unit, p.rows.pivots)))
    return dataclasses.replace(p, source=Student.of(p, heavy, volume, core))


def core_of(searched, p, rows, most, options):
    """The data sets without rows that are far out, at most so many rows of each; None where no row is.

    These are more than `FAR` times the median distance from the centre of a Cauchy distribution, which they move little, in the
    metric of its scale matrix.
    """
    D, d = p.size, p.rows.columns
    plain = searched.rows._replace(pivots=np.zeros_like(searched.rows.pivots), least=np.zeros(D))
    wide = with_tails(dataclasses.replace(searched, rows=plain, source=None), Heavy(df=1.0), np.zeros(D))
    points, own = engine.new_points(D, 1, d), np.arange(d)
    points.covariances[:, 0, own, own] = searched.rows.pivots[:, :d]
    alone = dataclasses.replace(options, heavy=wide.source.heavy, ends=False)
    state = engine.climbs(wide, np.arange(D), MODELS["full"].model(), points, alone, 100, 0, enough=1e-2)
    good = (state["status"] == Status.OK) & (searched.info["status"] == 0)
    inside = np.arange(len(rows.x)) - np.repeat(rows.off[:-1], np.diff(rows.off)) < np.repeat(
        p.info["distinct"], np.diff(rows.off)
    )
    owner = np.repeat(np.arange(D), np.diff(rows.off))[inside]
    x, w = rows.x[p.places[inside]], p.masses[inside]
    scale = searched.info["scale"]
    covariances = np.where(good[:, None, None], points.covariances[:, 0, :d, :d], np.eye(d))
    roots = np.linalg.inv(np.linalg.cholesky(covariances))
    away = (x - searched.centre[owner]) * scale[owner, None] - points.means[owner, 0, :d]
    square = np.square(np.einsum("nij,nj->ni", roots[owner], away)).sum(axis=1)
    order = np.lexsort((square, owner))
    share = np.cumsum(w[order]) - np.concatenate([[0.0], np.cumsum(np.bincount(owner, w, D))])[owner[order]]
    half = np.flatnonzero(share >= 0.5 * np.bincount(owner, w, D)[owner[order]])
    middle = np.full(D, math.inf)
    np.minimum.at(middle, owner[order][half], square[order][half])
    kept = ~good[owner] | (square <= FAR * FAR * middle[owner])
    if kept.all():
        return None
    off = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=D))])
    core = engine.prepare(x[kept], w[kept], off, int(p.ids[0]), options)
    return engine.sampled(core, x[kept], off, most, options) if searched is not p else core


def volumes(rows, heavy):
    """Logarithms (D,) of the volumes of the noise, in the units of the data."""
    if heavy.noise is True:
        return hypervolumes(rows.x, rows.w, rows.off)
    return np.full(rows.count, math.log(heavy.noise) if heavy.noise else 0.0)


def refuse_with_tails(rows, heavy, free_weights, models, se, device):
    """Refuse what t components and noise do not take."""
    what = "noise=" if heavy.df == math.inf else "family='student_t'"
    plain = f"the fit without {what}" if heavy.df == math.inf else "family='normal'"
    if heavy.noise is not False and not free_weights:
        raise ValueError(
            "the weight of noise is estimated, and equal='weights' or fixed_weights= leave none: leave these out, or noise="
        )
    if linked := [model.name for model in models if model.form]:
        raise ValueError(
            f"covariance={linked[0]!r} has parts in common that {what} does not take: use "
            f"{', '.join(repr(name) for name, record in MODELS.items() if not record.form)}, or {plain}"
        )
    if isinstance(se, str):
        raise ValueError(f"se={se!r} is not known with {what}: use se=True, or {plain}")
    if rows.source is not None:
        raise ValueError(f"{what} reads all rows at once, and no arrays of dask: pass some rows, computed, or use {plain}")
    if rows.x.dtype != np.float64:
        raise ValueError(f"{what} takes rows in double precision: pass x.astype('float64'), or use {plain}")
    if rows.marginal:
        raise ValueError(
            f"{what} has no likelihood of what is observed of a row: pass nan_policy='omit', or use {plain} with 'marginal'"
        )
    if device == "cuda":
        raise ValueError(f"{what} of several columns is fitted on the CPU alone: leave device= out, or use {plain}")


def tails_noted(notes, heavy, df, numbers):
    """Say which components are normal, and where no row is noise."""
    K = df.shape[1]
    limit = np.isnan(heavy.fixed(K)) & np.isinf(df)
    for s in np.flatnonzero(limit.any(axis=1)).tolist():
        which = ", ".join(map(str, np.flatnonzero(limit[s]).tolist()))
        _add(notes, s, f"normal components, whose likelihood rises with df beyond {MOST_DF:g}: {which}")
    if heavy.noise is not False:
        for s in np.flatnonzero(numbers["noise_weight"] < NONE).tolist():
            if not np.isnan(df[s, 0]):
                _add(notes, s, "no row is noise")


def _add(notes, s, said):
    """One more remark on a data set."""
    notes[s] = f"{notes[s]}; {said}" if notes.get(s) else said
