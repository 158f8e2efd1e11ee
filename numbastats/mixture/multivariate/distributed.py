"""Rows that lie in blocks, of dask or elsewhere: sums of each block where it is, and fits from these alone."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from numbastats._core.checks import choice
from numbastats._core.data import check_weights, doubles, floats, is_frame
from numbastats._core.kinds import LAZY
from numbastats._core.launch import launch
from numbastats._core.parallel import worker_count
from numbastats._core.status import Status
from numbastats.mixture.engine import pairwise_sum
from numbastats.mixture.multivariate import engine
from numbastats.mixture.multivariate.arguments import POLICIES, Refused, Rows, check_width, columns_of, counted
from numbastats.mixture.multivariate.covariances import models_of
from numbastats.mixture.multivariate.information import coordinates, entropies
from numbastats.mixture.multivariate.kernels import records as c
from numbastats.mixture.multivariate.kernels.memory import NONE
from numbastats.mixture.multivariate.kernels.newton import Newton
from numbastats.mixture.multivariate.kernels.passes import FULL, SPHERICAL, Point
from numbastats.mixture.multivariate.kernels.pieces import ADVANCE, CHUNK, CURVATURE, MOMENTS
from numbastats.mixture.multivariate.kernels.scores import SCORES
from numbastats.mixture.multivariate.kernels.steps import Facts
from numbastats.mixture.multivariate.results import point_of

__all__ = ["Blocks", "lazy_table", "partial_sums", "updated"]


# --- a block -------------------------------------------------------------------------------------------------------------


def _floats(x, w):
    """Rows and weights of a block, as kernels take them."""
    x = np.require(floats(x, "x"), requirements="CW")
    w = np.empty(0) if w is None else np.ascontiguousarray(doubles(w, "sample_weight"))
    return x, w


def _width(K, d):
    """How many numbers `MOMENTS` gives: the log-likelihood, and of each component the sums of r, r y and r y y'."""
    return 1 + K * (1 + d + d * (d + 1) // 2)


def _moments(x, w, point, shape, shift):
    """Sums for a step of EM, a row for each chunk of a block."""
    K, d = len(point.log_weights), x.shape[1]
    out = np.zeros((-(-len(x) // CHUNK), _width(K, d)))
    MOMENTS.serial(x, w, point, shape, shift, out)
    return out


def _curvature(x, w, point, model, shift):
    """Gradient and information of a block, a row."""
    p = coordinates(len(point.log_weights), x.shape[1], model)
    out = np.zeros(1 + 2 * p + p * (p + 1) // 2)
    CURVATURE.serial(x, w, point, model, shift, out)
    return out[None]


def _entropy(x, w, point, shape, shift):
    """Sum of the entropies of the responsibilities of a block, a number for each chunk."""
    none, total = np.empty(0), []
    for lo in range(0, len(x), CHUNK):
        rows = x[lo : lo + CHUNK].astype(np.float64)
        there = ~np.isnan(rows).any(axis=1)
        r = np.empty((len(rows), len(point.log_weights)))
        SCORES.serial(rows, point, shape, shift, 1, none, r, np.empty(0, np.int64), NONE)
        each = entropies(r)[there]
        total.append([each @ w[lo : lo + CHUNK][there] if w.size else each.sum()])
    return np.array(total).reshape(-1, 1)


def _counts(x, w):
    """Rows of a block, those that are missing or of weight 0, the sum of the weights, and infinite values."""
    missing = np.isnan(x).any(axis=1)
    if w.size:
        check_weights(w, missing, "weights")
    unweighted = w[~missing] == 0.0 if w.size else np.zeros(0)
    mass = w[~missing].sum() if w.size else len(x) - missing.sum()
    return len(x), missing.sum(), unweighted.sum(), mass, np.isinf(x).sum()


def _taken(x, w, places):
    return x[places].astype(np.float64), w[places] if w.size else w


def _of_block(functions, block, weights, columns):
    """What functions make of a block, one after the other."""
    if columns is not None and is_frame(block):
        block = block[list(columns)]
    x, w = _floats(block, weights)
    return [function(x, w) for function in functions]


# --- all blocks ------------------------------------------------------------------------------------------------------------


class Blocks:
    """Rows in blocks of dask.

    Attributes
    ----------
    parts : list of pairs
        Delayed rows of a block, and their weights or None.
    columns : tuple or None
        Names that a frame has.
    total : array
        Of all blocks what `_counts` gives.
    shift : array (2, d)
        By what rows are shifted and scaled.
    """

    notes: dict = {}  # noqa: RUF012

    def __init__(self, parts, columns):
        self.parts, self.columns, self.shift, self.total = parts, columns, None, None

    def each(self, *functions):
        """Lists of what functions make of every block."""
        import dask

        work = dask.delayed(_of_block, pure=False)
        functions = dask.delayed(list(functions), traverse=False)
        return list(zip(*dask.compute(*[work(functions, x, w, self.columns) for x, w in self.parts]), strict=True))

    def taken(self, places, starts):
        """The rows at sorted places, and their weights; blocks begin at `starts`."""
        import dask

        work, edges = dask.delayed(_of_block), np.searchsorted(places, starts)
        tasks = [
            work([functools.partial(_taken, places=places[a:b] - start)], x, w, self.columns)
            for (x, w), a, b, start in zip(self.parts, edges[:-1], edges[1:], starts, strict=False)
            if b > a
        ]
        found = [part[0] for part in dask.compute(*tasks)]
        return np.concatenate([x for x, _ in found]), np.concatenate([w for _, w in found])

    def prepared(self, sample):
        """The whole, in the units of a sample of its rows, as the engine knows data; it has no rows in memory."""
        n, missing, unweighted, mass, _ = self.total
        info = sample.info.copy()
        info["count"], info["missing"], info["unweighted"] = n - missing - unweighted, missing, unweighted
        info["distinct"] = info["count"]
        rows = sample.rows._replace(mass=np.array([float(mass)]), least=np.zeros(1))
        whole = engine.Prepared(rows, sample.centre, info, sample.ids, sample.places[:0], sample.masses[:0], self)
        self.shift = np.stack([sample.centre[0], np.full(sample.rows.columns, info["scale"][0])])
        return whole

    def sums(self, functions):
        """Sums over all blocks of what functions make of each."""
        return [pairwise_sum(np.concatenate(rows)) for rows in self.each(*functions)]

    def climb(self, p, owner, model, settings, points, state, options):
        """What `engine.climbs` does, all climbs side by side: each pass reads the blocks once."""
        d, size = p.rows.columns, coordinates(points.means.shape[1], p.rows.columns, model) if settings.newton else 0
        facts, pivots = Facts(d, float(p.rows.mass[0]), float(p.rows.least[0])), p.rows.pivots[0]
        trials = [_point_at(points, i) for i in range(state.size)]
        bests = [Point(*(v.copy() for v in one)) for one in trials]
        newtons = [_new_newton(size) for _ in trials]
        live = np.flatnonzero(state["phase"] != c.DONE).tolist()
        sums = [np.empty(0)] * len(live)  # without which a climb begins
        while live:
            for i, given in zip(live, sums, strict=True):
                if given.size and state["phase"][i] == c.NEWTON:
                    _fill(newtons[i], given)
                ADVANCE.serial(given, trials[i], bests[i], newtons[i], model, facts, pivots, settings, state[i : i + 1])
            live = [i for i in live if state["phase"][i] != c.DONE]
            sums = self.sums([self._pass(trials[i], model, state["phase"][i]) for i in live]) if live else []
        for mine, best, now in zip(trials, bests, state, strict=True):
            for a, b in zip(mine, best if settings.newton and now["loglik"] > -math.inf else mine, strict=True):
                a[...] = b

    def _pass(self, point, model, phase):
        if phase == c.EM:
            return functools.partial(_moments, point=point, shape=model.shape, shift=self.shift)
        return functools.partial(_curvature, point=point, model=model, shift=self.shift)

    def entropy(self, p, model, points, out):
        """Entropy of the responsibilities of all rows, for the criterion ICL."""
        point = _point_at(points, 0)
        if np.isfinite(point.log_weights).all():
            out[:] = self.sums([functools.partial(_entropy, point=point, shape=model.shape, shift=self.shift)])[0]
        else:
            out[:] = math.nan

    def cells(self, p):
        """Sum of the weights of all values."""
        return p.rows.mass * p.rows.columns

    def information(self, p, wanted, model, points, matrix, scale, options):
        """What `information_of` asks of all rows."""
        newton = _new_newton(scale.shape[1])
        _fill(newton, self.sums([self._pass(_point_at(points, 0), model, c.NEWTON)])[0])
        matrix[0], scale[0] = newton.matrix[0], newton.scale[0]


def _point_at(points, i) -> Any:
    """A point, whose arrays are those of all."""
    return Point(*(v[i] for v in points))


def _new_newton(p) -> Any:
    return Newton(np.zeros((2, p)), np.zeros((2, p, p)), np.zeros((2, p)), np.zeros((p, p)), np.zeros(p))


def _fill(newton, sums):
    """Gradient and information of the whole, in units of the complete data's, from its sums by `curvature`."""
    p, low = newton.step.size, np.tril_indices(newton.step.size)
    scale = np.sqrt(sums[1 + p : 1 + 2 * p])
    newton.scale[0], newton.slope[0] = scale, sums[1 : 1 + p] / scale
    newton.matrix[0][low] = sums[1 + 2 * p :] / scale[low[0]] / scale[low[1]]
    newton.matrix[0][np.diag_indices(p)] += 1.0


def _delayed(x, weights):
    """Delayed blocks of rows, and of their weights or None."""
    if hasattr(x, "chunks"):
        return LAZY.shares(x, weights)
    blocks = x.to_delayed()
    others = [None] * len(blocks) if weights is None else weights.to_delayed() if hasattr(weights, "npartitions") else []
    if len(others) != len(blocks):
        raise ValueError("the weights of a frame of dask must be a series of dask with the same partitions, as a column of it is")
    return list(zip(blocks, others, strict=True))


def lazy_table(x, weights, nan_policy, most, name="x") -> Rows:
    """The data set of `fit` from blocks of dask: so many of its rows, drawn at random, and the blocks; of few all rows."""
    columns = columns_of(x, name)
    d = x.shape[1]
    check_width(d, name)
    blocks = Blocks(_delayed(x, weights), columns)
    counts = np.array(blocks.each(_counts)[0], np.float64).reshape(-1, 5)
    total, starts = counts.sum(axis=0), np.concatenate([[0], np.cumsum(counts[:, 0])]).astype(np.int64)
    n, missing, infinite = int(total[0]), int(total[1]), int(total[4])
    names = tuple(range(d)) if columns is None else columns
    said = None
    if infinite:
        said = f"{name} has {counted(infinite, 'infinite value')}: drop these rows, or mark them as missing"
    elif missing and nan_policy == "marginal":
        raise ValueError(f"nan_policy='marginal': {name} has missing values, and these need the rows in memory; pass x.compute()")
    elif missing and (nan_policy is None or choice("nan_policy", nan_policy, POLICIES) == "raise"):
        said = f"{name} has {counted(missing, 'row')} with missing values; drop them, or pass nan_policy='omit'"
        if nan_policy == "raise":
            raise ValueError(said)
    if said is not None:
        refused = {0: Refused(Status.NOT_FINITE, said, missing)}
        return Rows(np.empty((0, d)), np.empty(0), np.zeros(2, np.int64), names, refused=refused)
    few = n <= 3 * most
    at = np.arange(n) if few else np.sort(np.random.default_rng(n).choice(n, most, replace=False, shuffle=False))
    rows, w = blocks.taken(at, starts) if n else (np.empty((0, d)), np.empty(0))
    blocks.total = total
    return Rows(rows, w, np.array([0, len(rows)]), names, source=None if few else blocks)


# --- one step --------------------------------------------------------------------------------------------------------------


def _mixture(weights, means, covariances):
    """Parameters of a mixture, checked."""
    w, m, v = (doubles(a, name) for a, name in ((weights, "weights"), (means, "centres"), (covariances, "params")))
    K, d = m.shape
    if w.shape != (K,) or v.shape != (K, d, d):
        raise ValueError(
            f"weights, centres, params have shapes {w.shape}, {m.shape}, {v.shape}; they must be (K,), (K, d) and (K, d, d)"
        )
    check_width(d, "centres")
    if not ((w >= 0.0).all() and 0.0 < w.sum() < math.inf and np.isfinite(m).all() and np.isfinite(v).all()):
        raise ValueError("weights must be >= 0 with a positive sum, and means and covariances finite")
    v = 0.5 * (v + np.swapaxes(v, 1, 2))
    sd = np.sqrt(np.maximum(np.diagonal(v, axis1=1, axis2=2), 0.0))
    if not ((sd > 0.0).all() and (np.linalg.eigvalsh(v / sd[:, None] / sd[:, :, None]) > 0.0).all()):
        raise ValueError("params must be covariances, symmetric positive-definite matrices (d, d)")
    return w / w.sum(), m, v


def partial_sums(x, weights, means, covariances, sample_weight, workers):
    """Sums of a piece, a row for each chunk of it."""
    w, m, v = _mixture(weights, means, covariances)
    rows, mass = _floats(x, sample_weight)
    if rows.ndim != 2 or rows.shape[1] != m.shape[1]:
        raise ValueError(f"x has shape {rows.shape}; pass rows (n, {m.shape[1]}), of as many columns as the means have")
    if sample_weight is not None:
        if mass.shape != rows.shape[:1]:
            raise ValueError(f"sample_weight has shape {mass.shape} for {counted(len(rows), 'row')}; pass one number for each")
        check_weights(mass, np.isnan(rows).any(axis=1), "sample_weight")
    (point, shift), (K, d) = point_of(w, m, v), m.shape
    out = np.zeros((-(-len(rows) // CHUNK), _width(K, d)))
    cost = CHUNK * K * (10.0 + 0.4 * d * d)
    launch(MOMENTS, (rows, mass, point, FULL, shift, out), len(out), device="cpu", workers=worker_count(workers), cost=cost)
    if not np.isfinite(out).all():
        raise ValueError("x has infinite values, or such that their squares are no doubles: remove these rows")
    total = out[:, 1 : 1 + K].sum(axis=1)
    out[:, 0] += (np.log(shift[1]).sum() - 0.5 * d * math.log(2.0 * math.pi)) * total
    return np.concatenate([total[:, None], out], axis=1)


def updated(total, weights, means, covariances, covariance):
    """Weights, means and covariances after a step of EM, and the log-likelihood before it."""
    w, m, v = _mixture(weights, means, covariances)
    (record,), (K, d) = models_of(covariance), m.shape
    if record.form:
        others = ", ".join(repr(other.name) for other in models_of("all", linked=False))
        raise ValueError(f"covariance={record.name!r} has no step from sums of pieces; use one of {others}")
    (_, (_, units)), (point, (centre, scale)) = point_of(w, m, v), point_of(w, m, v, record.shape == SPHERICAL)
    total = np.array(total, np.float64)
    if total.shape != (1 + _width(K, d),):
        raise ValueError(
            f"total has shape {total.shape}; combine the results of partial_stats of {counted(K, 'component')} in {d} columns"
        )
    state, by = np.zeros(1, c.STATE), scale / units
    state["loglik"], state["phase"], state["left"] = -math.inf, c.EM, 1
    mass, total = float(total[0]), total[1:]
    total[1 + K : 1 + K * (1 + d)] *= np.tile(by, K)
    total[1 + K * (1 + d) :] *= np.tile(np.outer(by, by)[np.tril_indices(d)], K)
    facts, none = Facts(d, mass, 0.0), Point(*(v.copy() for v in point))
    settings = c.Settings(0, 0.0, 0.0)
    ADVANCE.serial(total, point, none, _new_newton(0), record.model(), facts, np.zeros(point.means.shape[1]), settings, state)
    if state["status"][0] != Status.OK:
        raise ValueError(
            f"a component has no rows or no spread left: sums of responsibilities {total[1 : 1 + K]}; start elsewhere"
        )
    covs = point.covariances[:, :d, :d] / scale / scale[:, None]
    return np.exp(point.log_weights), point.means[:, :d] / scale + centre, covs, float(total[0])
