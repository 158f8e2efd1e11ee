"""Fits of data sets of several columns: numbers of components and models in turn, each also from those it contains."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from numbastats._core.checks import choice, is_lazy, warn_of_shares
from numbastats._core.errors import ConvergenceWarning, warn
from numbastats._core.launch import choose_device
from numbastats._core.parallel import mapped
from numbastats._core.progress import bar
from numbastats._core.random import key_words, normalise_rng
from numbastats._core.results import mostly, warn_of_batch
from numbastats._core.status import REFUSED, Status
from numbastats.mixture.arguments import ADMISSIBLE, numbers_of_components, threads_or_pool
from numbastats.mixture.families import of_several_columns
from numbastats.mixture.multivariate import engine
from numbastats.mixture.multivariate.arguments import (
    Rows,
    constraints_of,
    counted,
    fit_options,
    given_means,
    one_table,
    tables_of,
)
from numbastats.mixture.multivariate.arguments import column_called as _column
from numbastats.mixture.multivariate.covariances import MODELS, models_of
from numbastats.mixture.multivariate.distributed import lazy_table
from numbastats.mixture.multivariate.information import covariance_of, information_of, spread_of
from numbastats.mixture.multivariate.kernels.information import ENTROPY
from numbastats.mixture.multivariate.launching import Space, launched
from numbastats.mixture.multivariate.missing import observed_rows
from numbastats.mixture.multivariate.results import MultivariateBatch, converged
from numbastats.mixture.multivariate.student import (
    FEWEST,
    PILOT,
    core_of,
    heavy_of,
    refuse_with_tails,
    tails_noted,
    volumes,
    with_tails,
)

__all__ = ["fit_rows", "fit_table", "fit_tables", "own_options", "standard_errors_of", "warn_of_fits"]

SAMPLE = 3000  # at least so many rows of a large data set are searched
SHARES = 64  # parts of a batch, about, that an executor is given
MEMORY = 1 << 23  # numbers of the points of all starts of a part of the data sets


def _entropy(p, points, model, options):
    out = np.zeros(p.size)
    if p.source is None:
        space = Space.of(p, points.means.shape[1])
        launched(p, ENTROPY, [np.arange(p.size), model, points, out], p.size, options, space, (3,), cost=1e5)
    else:
        p.source.entropy(p, model, points, out)
    return out


def _most(candidates, models, d):
    """How many rows of a large data set are searched."""
    return max(SAMPLE, 6 * max(model.free(K, d) for K in candidates for model in models))


def _carried(points, p, q):
    """Points of data sets in the units of another copy of them."""
    each = len(points.means) // p.size
    share, shift = q.info["scale"] / p.info["scale"], (p.centre - q.centre) * q.info["scale"][:, None]
    share, shift = np.repeat(share, each), np.repeat(shift, each, axis=0)
    made = engine.Point(*(v.copy() for v in points))
    d = p.rows.columns
    made.means[:, :, :d] = points.means[:, :, :d] * share[:, None, None] + shift[:, None]
    made.covariances[:] = points.covariances * (share * share)[:, None, None, None]
    return made


def _grown(points):
    """Points with a place for one more component."""
    D, K, filled = points.means.shape
    made = engine.new_points(D, K + 1, filled)
    for a, b in zip(made, points, strict=True):
        a[:, :K] = b
    made.log_weights[:, K] = -math.inf
    return made


def _with_more(p, r, model, options):
    """Starts with one component more, and the gains that they promise."""
    D, K = p.size, r.points.means.shape[1]
    wanted = np.flatnonzero(np.isfinite(r.loglik))
    each = engine.new_points(D * engine.KEPT, K + 1, p.rows.columns)
    each.log_weights[:] = math.nan
    gains = np.full(D, math.nan)
    if wanted.size:
        grown = _grown(engine.taken(r.points, wanted))
        found, gain = engine.insertions(p, wanted, np.array([K]), grown, model, options)
        at = (wanted[:, None] * engine.KEPT + np.arange(engine.KEPT)).ravel()
        for a, b in zip(each, found, strict=True):
            a[at] = b
        if model.form:  # candidates have covariances without parts in common, until a step of EM
            ends = engine.taken(found, np.arange(len(found.means)))
            state = engine.climbs(p, np.repeat(wanted, engine.KEPT), options.model(model), ends, options, 2, 0, enough=0.0)
            gain = engine.reached(state, -math.inf).reshape(gain.shape)
        best = gain.max(axis=1) - r.loglik[wanted]
        gains[wanted] = np.where(np.isfinite(best), np.maximum(best, 0.0), math.nan)
    return each, gains


def _started(p, start):
    """The point of given weights, means and covariances."""
    weights, means, covariances = start
    K, d = means.shape
    point = engine.new_points(p.size, K, d)
    scale = p.info["scale"][:, None, None]
    point.log_weights[:] = np.log(weights)
    point.means[:, :, :d] = (means - p.centre[:, None]) * scale
    point.covariances[:, :, :d, :d] = covariances * np.square(scale)[..., None]
    return point


def _all_fits(p, sample, candidates, models, options, asked):
    """The fit of each number of components by each model: a dict by (number, name)."""
    found: dict = {}
    more: dict = {}
    for K in candidates:
        for model in models:
            given = [more[model.name]] if model.name in more and found.get((K - 1, model.name)) is not None else []
            tried = [other.name for other in models if (K, other.name) in found]
            given += [found[K, name].points for name in model.widest_within(tried)]
            given += [] if asked.start is None else [_started(p, asked.start)]
            if options.heavy is not None:
                found[K, model.name] = _heavy_fit(p, sample, K, model, options, given, asked.drawn)
                continue
            if sample is None:
                r = _fitted(p, K, model, options, given, drawn=asked.drawn)
            else:
                small = _fitted(sample, K, model, dataclasses.replace(options, ends=False), [])
                starts = [_carried(small.points, sample, p), *given]
                r = _fitted(p, K, model, options, starts, drawn=False)
                for name in ("n_climbed", "n_starts", "n_singular", "hits"):
                    getattr(r, name)[:] += getattr(small, name)
            for name in model.within().intersection(tried):
                engine.above(p, r, K, model, options, found[K, name])
            found[K, model.name] = r
            if options.weights is not None or options.means is not None or not asked.drawn:
                continue  # what one component more would gain nobody asked
            if sample is None:
                more[model.name], r.gap[:] = _with_more(p, r, model, options)
            else:
                each, gap = _with_more(sample, small, model, options)
                more[model.name], r.gap[:] = _carried(each, sample, p), gap * (p.rows.mass / sample.rows.mass)
    return found


def _heavy_fit(p, sample, K, model, options, given, drawn):
    """The fit of t components, or beside noise; this begins with the rows less likely by t components without it."""
    searched, given = p if sample is None else sample, list(given)
    begun, near = [], None
    if (core := searched.source.core) is not None and drawn:  # without what is far out, as which starts take a component
        kinds, counts = options.starts_of(K, core.rows.mass, options.free(model, K, core.rows.columns))
        near = _carried(engine.drawn_starts(core, K, model, options, kinds, counts), core, searched)
    if options.heavy.noise is not False:
        pilot = with_tails(searched, PILOT, p.source.volume)
        alone = dataclasses.replace(options, heavy=PILOT, ends=False)
        others = [] if near is None else list(pilot.source.begun(engine.Point(*(v.copy() for v in near))))
        points = _fitted(pilot, K, model, alone, others, drawn).points
        share = pilot.source.shares(pilot, options.model(model), points, searched.source.noise)
        for weight in (FEWEST / np.maximum(searched.rows.mass, 1.0), share):  # hardly any, too, as where there is none
            p.source.share = searched.source.share = weight
            begun += searched.source.begun(engine.Point(*(v.copy() for v in points)))
    begun += [] if near is None else searched.source.begun(near)
    if sample is None:
        r = _fitted(p, K, model, options, [*begun, *given], drawn)
    else:
        small = _fitted(sample, K, model, dataclasses.replace(options, ends=False), begun)
        r = _fitted(p, K, model, options, [_carried(small.points, sample, p), *given], drawn=False)
        for name in ("n_climbed", "n_starts", "n_singular", "hits"):
            getattr(r, name)[:] += getattr(small, name)
    r.gap[:] = math.nan
    return r


def _fitted(p, K, model, options, given, drawn=True):
    joined = None
    for points in given:
        joined = points if joined is None else engine.joined(joined, points, p.size)
    return engine.fit_k(p, K, model, options, joined, engine.EXCHANGES if drawn else 0, drawn)


def fit_rows(  # noqa: PLR0913
    rows: Rows,
    n_components,
    *,
    covariance="full",
    starts="portfolio",
    n_init=None,
    tol=1e-9,
    min_count=None,
    max_condition=None,
    criterion="bic",
    se=False,
    cov=False,
    equal=None,
    fixed_weights=None,
    means=None,
    df=math.inf,
    noise=False,
    rng=None,
    device=None,
    workers=None,
    callback=None,
    progress=False,
    dataset_index=0,
    start=None,
    drawn=True,
) -> MultivariateBatch:
    """Fit every data set; from a `start`, too, of weights, means and covariances, or from it alone where none are drawn."""
    choice("criterion", criterion, ("bic", "aic", "icl"))
    candidates, per_set = numbers_of_components(n_components, rows.count)
    known = ("df",) if df != math.inf else ()
    free, weights, means, names = constraints_of(equal, fixed_weights, means, candidates, rows.columns, known)
    heavy, tied = heavy_of(df, "df" in names, noise, candidates), "covariance" in names
    models = _models(rows, covariance, tied, choose_device(device, workers=workers), heavy)
    if heavy is not None:
        refuse_with_tails(rows, heavy, free, models, se, device)
        device = "cpu"
    pool, threads = threads_or_pool(workers)
    options = fit_options(starts, n_init, tol, min_count, max_condition, key_words(normalise_rng(rng)), threads)
    alone = len(candidates) * len(models) == 1
    options = dataclasses.replace(options, free_weights=free, weights=weights, means=means, alone=alone, heavy=heavy)
    options = dataclasses.replace(options, device=choose_device(device, workers=workers))
    D, d = rows.count, rows.x.shape[1]
    step = max(1, MEMORY // (20 * max(candidates) * 2 * d * d * 4))
    step = step if pool is None else min(step, max(1, -(-D // SHARES)))
    cuts = [(lo, min(D, lo + step)) for lo in range(0, max(D, 1), step)]
    errors = se if isinstance(se, str) else bool(se or cov)
    if isinstance(se, str) and choice("se", se, (True, False, "sandwich")) and (rows.marginal or rows.source is not None):
        raise ValueError("se='sandwich' takes complete rows in memory: use se=True, or nan_policy='omit'")
    job = functools.partial(_parts, _Wanted(candidates, models, criterion, errors, start, drawn), options)
    whole = _Cut(rows, per_set, dataset_index)
    given = (whole.part(lo, hi) for lo, hi in cuts)
    results: Any = map(job, given) if pool is None else mapped(pool, job, given)
    parts, done = [], 0
    with bar(progress, D, "mixture.fit_many") as shown:
        try:
            for (lo, done), fits in zip(cuts, results, strict=False):
                parts += fits
                shown.update(done - lo)
                state = types.SimpleNamespace(done=done, total=D, status=_joined_status(fits))
                if callback is not None and callback(state) is True:
                    break
        except BaseException:  # Ctrl-C among them: threads end after the piece that they are at
            options.halt.append(True)
            raise
        if pool is not None:
            results.close()  # parts that no worker has begun are not fitted
    settings = dict(tol=tol, min_count=min_count, max_condition=max_condition, equal=equal, fixed_weights=weights, means=means)
    return dataclasses.replace(_batch(rows, parts, done, candidates, models, se, cov, heavy), settings=settings)


def _models(rows, covariance, tied, device, heavy):
    """The models that are fitted; those with parts in common only where kernels have them."""
    why = "on a GPU" if device != "cpu" else "to rows beyond memory" if rows.source is not None else None
    why = "to rows with missing values" if why is None and rows.holed().any() else why
    models = models_of(covariance, tied, linked=why is None and heavy is None)
    if why and (absent := [record.name for record in models if record.form]):
        others = ", ".join(repr(record.name) for record in models_of("all", linked=False))
        cure = ", or device='cpu'" if device != "cpu" else ", or nan_policy='omit'" if rows.source is None else ""
        raise ValueError(f"covariance={absent[0]!r} is not fitted {why}; use one or several of {others}{cure}")
    return models


class _Wanted(NamedTuple):
    """Numbers of components, models, and what is asked of their fits."""

    candidates: tuple
    models: tuple
    criterion: str
    errors: Any  # whether standard errors are asked for; "sandwich"
    start: tuple | None
    drawn: bool


class _Cut(NamedTuple):
    """Some of the data sets, how many components each is to have, where that is given, and the index of the first."""

    rows: Rows
    per_set: np.ndarray | None
    first: int

    def part(self, lo, hi):
        """The data sets from lo to hi."""
        return _Cut(self.rows.cut(lo, hi), None if self.per_set is None else self.per_set[lo:hi], self.first + lo)


def _joined_status(fits):
    """Statuses of the data sets of some parts."""
    return np.concatenate([part["numbers"]["status"] for part in fits])


@np.errstate(all="ignore")
def _parts(asked, options, cut):
    """Fits of data sets, in parts of which each has large data sets alone, that are searched by some of their rows, or none."""
    rows, holed = cut.rows, cut.rows.holed()
    if holed.any() and holed.all():
        rows = observed_rows(rows, options)
    p = engine.prepare(rows.x, rows.w, rows.off, cut.first, options)
    most = _most(asked.candidates, asked.models, rows.x.shape[1])
    large = (p.info["distinct"] > 3 * most) & asked.drawn
    edges = np.flatnonzero(np.diff(large + 2 * holed)) + 1
    if edges.size:
        pairs = zip([0, *edges.tolist()], [*edges.tolist(), large.size], strict=True)
        return [part for lo, hi in pairs for part in _parts(asked, options, cut.part(lo, hi))]
    whole = p if rows.source is None else rows.source.prepared(p)
    sample = engine.sampled(p, rows.x, rows.off, most, options) if large.any() else None if whole is p else p
    if options.heavy is not None:
        volume = volumes(rows, options.heavy)
        core = core_of(whole if sample is None else sample, whole, rows, most, options)
        whole = with_tails(whole, options.heavy, volume, core)
        sample = None if sample is None else with_tails(sample, options.heavy, volume, core)
    return [_part(cut._replace(rows=rows), whole, sample, asked, options)]


def _part(cut, p, sample, asked, options):
    """Fits of data sets in the units of the data; a sample of their rows is searched, all of them without one."""
    rows, per_set, _ = cut
    candidates, models, criterion = asked[:3]
    d, D = rows.x.shape[1], rows.count
    for i, why in rows.refused.items():
        p.info["status"][i], p.info["missing"][i] = why.status, why.missing
    # of fewer rows than any fit takes the columns are dependent always
    p.info["dependent"][p.rows.mass < candidates[0] * min(options.count(model, d) for model in models)] = -1
    alone = (p.info["count"] < 2) & (p.info["status"] == Status.CONSTANT)
    p.info["status"][alone] = Status.TOO_FEW
    found = _all_fits(p, sample, candidates, models, options, asked)
    every = list(found)
    mass = np.maximum(p.rows.mass, 1.0)
    table = {name: np.full((D, len(every)), np.nan) for name in ("loglik", "bic", "aic", "icl")}
    table |= {name: np.zeros((D, len(every)), np.int64) for name in ("status", "hits", "n_free")}
    for j, (K, name) in enumerate(every):
        r, record = found[K, name], engine_record(models, name)
        free = options.free(record, K, d)
        table["loglik"][:, j] = r.loglik + p.constant
        table["bic"][:, j] = free * np.log(mass) - 2.0 * table["loglik"][:, j]
        table["aic"][:, j] = 2.0 * free - 2.0 * table["loglik"][:, j]
        table["icl"][:, j] = table["bic"][:, j] + 2.0 * _entropy(p, r.points, options.model(record), options)
        table["status"][:, j], table["hits"][:, j], table["n_free"][:, j] = r.status, r.hits, free
    usable = np.isin(table["status"], ADMISSIBLE) & np.isfinite(table[criterion])
    values = np.where(usable, table[criterion], math.inf)
    if per_set is not None:
        values[np.array([K for K, _ in every])[None] != per_set[:, None]] = math.nan
        values = np.where(np.isnan(values), math.inf, values)
    order = np.where(np.isfinite(table["loglik"]), 0.0, 1.0) + 0.0 * values
    fallback = np.argmin(order, axis=1)
    if per_set is not None:
        allowed = np.array([K for K, _ in every])[None] == per_set[:, None]
        fallback = np.argmin(np.where(allowed, order, 9.0), axis=1)
    pick = np.where(np.isfinite(values).any(axis=1), np.argmin(values, axis=1), fallback)
    out = _chosen(p, found, every, pick, table, models, options, asked, usable)
    _refusals(out["notes"], rows, p, out["numbers"], options, models)
    return out


def engine_record(models, name):
    """The record of a model by its name."""
    return next(record for record in models if record.name == name)


def _chosen(p, found, every, pick, table, models, options, asked, usable):
    """The fits that were picked, in the units of the data, components in order."""
    D, d, width = p.size, p.rows.columns, max(asked.candidates)
    out = {
        "weights": np.full((D, width), np.nan),
        "means": np.full((D, width, d), np.nan),
        "covariances": np.full((D, width, d, d), np.nan),
        "df": np.full((D, width), np.nan),
        "models": np.array([every[j][1] for j in pick], np.str_),
        "table": table,
        "notes": {},
        "cov": {},
    }
    numbers = {name: np.zeros(D) for name in (*engine.NUMBERS, "bic", "aic", "icl")}
    numbers |= {name: np.zeros(D, np.int64) for name in (*engine.COUNTS, "status", "n_free", "n_components")}
    numbers |= {"noise_weight": np.zeros(D), "noise_volume": np.full(D, np.nan)}
    scale = p.info["scale"]
    for j, (K, name) in enumerate(every):
        rows = np.flatnonzero(pick == j)
        if not rows.size:
            continue
        r, record = found[K, name], engine_record(models, name)
        weights = np.exp(r.points.log_weights[rows])
        means = r.points.means[rows][:, :, :d] / scale[rows, None, None] + p.centre[rows, None]
        covs = r.points.covariances[rows][:, :, :d, :d] / np.square(scale[rows])[:, None, None, None]
        order = np.lexsort(np.moveaxis(means, 2, 0)[::-1])
        if options.means is not None:
            means[:] = options.means
        own_df = options.heavy is not None and isinstance(options.heavy.df, tuple)
        if options.weights is not None or options.means is not None or own_df or not asked.drawn:  # those that were named
            order = np.repeat(np.arange(K)[None], rows.size, axis=0)
        at = np.arange(rows.size)[:, None]
        blank = ~np.isfinite(r.loglik[rows]) | np.isin(r.status[rows], (*REFUSED, Status.COLLAPSED))
        df = np.full(weights.shape, np.inf) if options.heavy is None else p.source.df(r.points, rows)
        weights, means, covs, df = weights[at, order], means[at, order], covs[at, order], df[at, order]
        for values in (weights, means, covs, df):
            values[blank] = np.nan
        out["df"][rows, :K] = df
        if options.heavy is not None and options.heavy.noise is not False:
            numbers["noise_weight"][rows] = np.maximum(1.0 - weights.sum(axis=1), 0.0)
            numbers["noise_volume"][rows] = np.exp(p.source.volume[rows])
        out["weights"][rows, :K], out["means"][rows, :K], out["covariances"][rows, :K] = weights, means, covs
        for one in ("decrement", "min_eig", "condition", "gap", *engine.COUNTS, "status"):
            numbers[one][rows] = getattr(r, one)[rows]
        numbers["runner_up"][rows] = r.runner_up[rows] + p.constant[rows]
        for one in ("loglik", "bic", "aic", "icl", "n_free"):
            numbers[one][rows] = table[one][rows, j]
        numbers["n_components"][rows] = K
        if asked.errors:
            sure = rows[(r.status[rows] == Status.OK)]
            if sure.size:
                known = options.model(record), options, order[r.status[rows] == Status.OK]
                _errors(out["cov"], p, sure, r, *known, asked.errors == "sandwich")
    info = p.info
    refused = info["status"] != 0
    numbers["n_used"] = np.where(refused, 0, info["count"])
    numbers["n_obs"] = np.where(refused, 0.0, p.rows.mass)
    numbers["n_missing"] = info["missing"].astype(np.int64)
    numbers["n_dropped"] = (info["missing"] + info["unweighted"]).astype(np.int64)
    numbers["converged"] = converged(numbers["status"])
    _noted(out["notes"], p, numbers, table, usable, pick, every, asked.criterion)
    if options.heavy is not None:
        tails_noted(out["notes"], options.heavy, out["df"], numbers)
    out["numbers"] = numbers
    return out


def _errors(into, p, sure, r, model, options, order, robust):
    """Covariances of the estimates in the units of the data, components in order."""
    K, d, points = r.points.means.shape[1], p.rows.columns, engine.taken(r.points, sure)
    made = information_of(p, sure, points, model, options)
    spreads = spread_of(p, sure, points, model, options) if robust else [None] * sure.size
    size = d * (d + 1) // 2
    for s, B, c, moves, spread, places in zip(sure.tolist(), *made, spreads, order, strict=True):
        covs = r.points.covariances[s][:, :d, :d]
        weights, unit, more = np.exp(r.points.log_weights[s]), 1.0 / p.info["scale"][s], []
        if options.heavy is None:
            full = covariance_of(B, c, weights, covs, model, moves, spread)
        else:
            full = p.source.covariance(B, c, weights, covs, r.points.heights[s], model)
            more = [K + K * d + K * size + places, [len(full) - 1]]
        units = np.concatenate([np.ones(K), np.full(K * d, unit), np.full(K * size, unit * unit)])
        units = np.concatenate([units, np.ones(len(full) - units.size)])
        at = np.concatenate(
            [
                places,
                (K + places[:, None] * d + np.arange(d)).ravel(),
                (K + K * d + places[:, None] * size + np.arange(size)).ravel(),
                *more,
            ]
        )
        into[s] = (full * units * units[:, None])[np.ix_(at, at)]


def _refusals(notes, rows, p, numbers, options, models):
    """Why data sets have no fit, in words."""
    d, status = p.rows.columns, numbers["status"]
    for s in np.flatnonzero(np.isin(status, REFUSED)).tolist():
        x = rows.x[rows.off[s] : rows.off[s + 1]]
        if s in rows.refused:
            notes[s] = rows.refused[s].said
        elif status[s] == Status.TOO_FEW:
            K, n, distinct = int(numbers["n_components"][s]), int(p.info["count"][s]), int(p.info["distinct"][s])
            least = min(options.count(model, d) for model in models)
            notes[s] = f"too few values: {counted(n, 'row')}, {distinct} of them distinct, for {counted(K, 'component')}"
            if distinct >= max(K, 2):
                notes[s] = (
                    f"too few values: {counted(n, 'row')} that count {p.rows.mass[s]:.6g}, and {counted(K, 'component')} of "
                    f"min_count={least:g} each need {K * least:g}"
                )
                if p.rows.mass[s] < 0.999 * n:
                    notes[s] += f"; weights count observations: for shares pass weights * {n} / sum(weights)"
        elif status[s] == Status.CONSTANT:
            known = None if rows.source is None else rows.source.notes.get(s)
            notes[s] = known or _singular(x, rows.columns, int(p.info["column"][s]), int(p.info["dependent"][s]))
        elif status[s] == Status.NOT_FINITE:
            notes[s] = _not_finite(x, rows.columns)


def _singular(x, columns, constant, dependent):
    """Why the rows have no covariance matrix that has an inverse."""
    x = x[~np.isnan(x).any(axis=1)]
    if (x == x[0]).all():
        return "all rows are equal"
    if constant >= 0:
        return f"{_column(columns, constant)} is constant: drop it"
    middle = np.median(x, axis=0)
    away = np.abs(x - middle)
    near = np.median(away, axis=0)
    apart = (away > 1e4 * near).any(axis=1)
    if 0 < 5 * apart.sum() < len(x) and (near > 0.0).all():
        i = int(np.argmax((away / near).max(axis=1)))
        return (
            f"{counted(int(apart.sum()), 'row is', 'rows are')} so far out that the others are one point beside them, the "
            f"farthest of index {i}: look at them, or leave them out"
        )
    j = int(np.argmax(near))
    if near[dependent] < 1e-100 * near[j]:
        return f"{_column(columns, dependent)} is lost in rounding beside {_column(columns, j)}: divide each by a unit of its own"
    return f"{_column(columns, dependent)} is a linear combination of those before it: drop it, or use covariance='diag'"


def _not_finite(x, columns):
    """Which value is infinite, or too large or small to be squared."""
    infinite = np.argwhere(np.isinf(x))
    if infinite.size:
        i, j = infinite[0].tolist()
        more = "" if len(infinite) == 1 else f", the first of {len(infinite)}"
        return (
            f"the value of {_column(columns, j)} in the row of index {i} is infinite{more}: drop the row, or mark it as missing"
        )
    return "values have squares that are no doubles (beyond 1e150, or all within 1e-150): divide the columns by a unit"


def _noted(notes, p, numbers, table, usable, pick, every, criterion):
    """What a status does not say."""
    if len(every) > 1:
        best = table[criterion][np.arange(pick.size), pick]
        over = ~usable & np.isfinite(table[criterion]) & (table[criterion] < best[:, None])
        for s in np.flatnonzero(over.any(axis=1)).tolist():
            said = ", ".join(
                f"{every[j][0]} {every[j][1]} (status {table['status'][s, j]}, {criterion} lower by "
                f"{best[s] - table[criterion][s, j]:.4g})"
                for j in np.flatnonzero(over[s]).tolist()
            )
            notes[s] = "; ".join(filter(None, (notes.get(s), f"passed over: {said}")))


def _batch(rows, parts, done, candidates, models, se, cov, heavy=None):  # noqa: PLR0913
    """One batch from the parts; data sets that were not reached have the status of those that were stopped."""
    D, d, width = rows.count, rows.x.shape[1], max(candidates)
    left = D - done

    def whole(arrays, shape, blank):
        return np.concatenate([*arrays, np.full((left, *shape), blank)])

    every = [(K, record) for K in candidates for record in models]
    numbers = {}
    names = parts[0]["numbers"] if parts else {}
    for name in names:
        values = [part["numbers"][name] for part in parts]
        blank = Status.STOPPED if name == "status" else np.array(candidates[0] if name == "n_components" else 0, values[0].dtype)
        numbers[name] = whole(values, (), blank).astype(values[0].dtype)
    table = {
        name: whole([part["table"][name] for part in parts], (len(every),), 0) for name in (parts[0]["table"] if parts else ())
    }
    tried = {
        "n_components": np.array([K for K, _ in every]),
        "covariance": np.array([r.name for _, r in every], np.str_),
        **table,
    }
    notes, covs, lo = {}, {}, 0
    for part in parts:
        notes |= {lo + i: note for i, note in part["notes"].items()}
        covs |= {lo + i: one for i, one in part["cov"].items()}
        lo += len(part["weights"])
    return MultivariateBatch(
        weights=whole([part["weights"] for part in parts], (width,), np.nan),
        means=whole([part["means"] for part in parts], (width, d), np.nan),
        covariances=whole([part["covariances"] for part in parts], (width, d, d), np.nan),
        columns=rows.columns,
        models=np.concatenate([part["models"] for part in parts] + [np.full(left, models[0].name)]),
        numbers=numbers,
        tried=tried,
        notes=notes,
        se=standard_errors_of(covs, numbers["n_components"], width, d, heavy) if se else {},
        covariance_of_estimates=covs if cov else {},
        keys=rows.keys,
        nan_policy="marginal" if rows.marginal else "omit",
        df=whole([part["df"] for part in parts], (width,), np.nan),
        family="normal" if heavy is None or heavy.df == math.inf else "student_t",
    )


def standard_errors_of(covs, components, K, d, heavy=None):
    """Standard errors of weights, means and covariances, a row for each data set; NaN where there are none."""
    D = len(components)
    out = {"weights": np.full((D, K), np.nan), "means": np.full((D, K, d), np.nan), "covariances": np.full((D, K, d, d), np.nan)}
    out |= {} if heavy is None or heavy.df == math.inf else {"df": np.full((D, K), np.nan)}
    out |= {} if heavy is None or heavy.noise is False else {"noise_weight": np.full(D, np.nan)}
    low = np.tril_indices(d)
    for i, cov in covs.items():
        k = int(components[i])
        with np.errstate(invalid="ignore"):
            flat = np.sqrt(np.diagonal(cov))
        square = np.zeros((k, d, d))
        size = k * low[0].size
        square[:, low[0], low[1]] = flat[k + k * d :][:size].reshape(k, -1)
        for name, values in (("df", flat[k + k * d + size :][:k]), ("noise_weight", flat[-1])):
            if name in out:
                out[name][(i, slice(k)) if name == "df" else i] = values
        out["weights"][i, :k], out["means"][i, :k] = flat[:k], flat[k : k + k * d].reshape(k, d)
        out["covariances"][i, :k] = square + np.swapaxes(np.tril(square, -1), 1, 2)
    return out


def warn_of_fits(batch, rows, chosen):
    """Warn of shares as weights, of batches that mostly failed, and of choices that passed over a better criterion."""
    if rows.w.size:
        total = np.diff(np.concatenate([[0.0], np.cumsum(rows.w)])[rows.off]) if rows.source is None else rows.source.total[3:4]
        i = int(np.argmin(total / np.maximum(batch.n_used, 1)))
        warn_of_shares(total[i], batch.n_used[i], f" of data set {i}" if len(batch) > 1 else "")
    failed = np.isin(batch.status, (*REFUSED, Status.COLLAPSED))
    if mostly(failed):
        warn_of_batch(failed, batch.message, None)
    doubtful = [i for i, note in batch.notes.items() if "passed over" in note]
    if chosen:
        doubtful += np.flatnonzero(np.isin(batch.status, (Status.NO_CONVERGENCE, Status.NOT_CERTIFIED))).tolist()
    if doubtful:
        first = min(doubtful)
        which = f"for {len(set(doubtful))} of {len(batch)} data sets, the first of index {first}" if len(batch) > 1 else "of X"
        how = f"{counted(int(batch.n_components[first]), 'component')}, covariance {str(batch.models[first])!r}"
        warn(f"the choice of a mixture {which}: {how}, {batch.message(first)}", ConvergenceWarning)


def _chooses(batch, n_components):
    """Whether there was a choice among numbers of components or models."""
    numbers = 1 if isinstance(n_components, np.ndarray) else np.unique(batch.tried["n_components"]).size
    return numbers * np.unique(batch.tried["covariance"]).size > 1


_ONE_DIMENSION = {  # options of one dimension alone, with their defaults
    "method": "newton",
    "init_params": None,
    "max_iter": 5000,
    "prior": None,
    "min_sd_ratio": None,
    "precision": "double",
    "keep_starts": False,
    "dim": None,
}


def own_options(family, options, name):
    """The options of fits in several dimensions; every refusal of others."""
    family, fixed = given_means(family)
    word = of_several_columns(family)
    if word is None:
        raise ValueError(
            f"{name}: rows of several columns are fitted by family='normal' or 'student_t', not by {family!r}. For many "
            "data sets of one column use fit_many; pass "
            f"{name.partition('[')[0].partition(' ')[0]}.ravel() for one data set, or a column"
        )
    options = dict(options) | ({"df": None} if word == "student_t" else {}) | fixed
    for name, default in _ONE_DIMENSION.items():
        value = options.pop(name, default)
        if value is not default and (np.ndim(value) > 0 or value != default):
            raise ValueError(f"{name} is an option of one dimension, and data of several columns have none: leave it out")
    covariance = options.get("covariance")
    if covariance is None:
        options["covariance"] = "full"
    elif not isinstance(covariance, Iterable):
        choice("covariance", covariance, tuple(MODELS))
    return options


def fit_tables(data, n_components, *, family, by, offsets, weights, nan_policy, **options):
    """`fit_many` of data sets of several columns."""
    first = data if offsets is not None or hasattr(data, "shape") or not isinstance(data, list | tuple) else data[0]
    name = "data" if first is data else "data[0]"
    options = own_options(family, options, f"{name} has shape {np.shape(first)}" if hasattr(first, "shape") else name)
    rows = tables_of(data, by, offsets, weights, nan_policy)
    batch = fit_rows(rows, n_components, **options)
    warn_of_fits(batch, rows, _chooses(batch, n_components))
    return batch


def fit_table(x, n_components, *, family, weights, errors, nan_policy=None, **options):
    """`fit` of rows of several columns."""
    options = own_options(family, options, f"x has shape {np.shape(x)}" if hasattr(x, "shape") else "x")
    if is_lazy(x):
        most = _most(numbers_of_components(n_components, 1)[0], models_of(options["covariance"], linked=False), x.shape[1])
        rows = lazy_table(x, weights, nan_policy, most)
    else:
        rows = one_table(x, weights, nan_policy)
    batch = fit_rows(rows, n_components, **options)
    if errors == "raise" and batch.status[0] in REFUSED:
        raise ValueError(f"the data cannot be fitted: {batch.message(0)}")
    warn_of_fits(batch, rows, _chooses(batch, n_components))
    return batch[0]
