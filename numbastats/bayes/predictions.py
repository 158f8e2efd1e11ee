"""Predictions from draws of the coefficients: probabilities, intervals, summaries, criteria of predictive accuracy."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import issparse

from numbastats._core.elementwise import elementwise
from numbastats._core.results import Table
from numbastats.bayes.diagnostics import ess_bulk, ess_tail, mcse, psis, rhat, unit_of
from numbastats.bayes.likelihood import part_rows
from numbastats.random import uniform

_BLOCK = 2**22  # linear predictors held at once when draws meet rows


def applied(function, x, workers=None):
    """A function of a record on a host array."""
    if callable(function):  # else it is a kernel
        return function(x)
    return elementwise(function, ("x",), (x,), device="cpu", workers=workers, cost=3.0)


def predictors(draws, X, number=None, offset=None):
    """Linear predictors of the rows of an array, some rows at a time.

    Parameters
    ----------
    draws : dict
        "beta", shape (chains, draws, p), and "intercept", shape (chains, draws).
    X : numpy.ndarray, shape (n, p)
    number : int, optional
        Use this many of the draws, equally spaced.
    offset : numpy.ndarray, shape (n,), optional

    Yields
    ------
    tuple
        A slice of the rows, and their linear predictors, shape (rows, draws).
    """
    a = draws["intercept"].reshape(-1)
    p = draws["beta"].shape[2]
    beta = draws["beta"].reshape(a.size, p)
    if number is not None:
        take = np.linspace(0, a.size - 1, min(number, a.size)).round().astype(int)
        beta, a = beta[take], a[take]
    rows = min(max(1, _BLOCK // a.size), part_rows(p))
    for lo in range(0, X.shape[0], rows):
        part = slice(lo, min(lo + rows, X.shape[0]))
        m = X[part].astype(np.float64) @ beta.T + a
        yield part, m if offset is None else m + offset[part, None]


# --- probabilities ------------------------------------------------------------------------------------------------------


def probabilities(draws, X, interval=None, number=None, workers=None, *, record, offset=None):
    """Posterior means of P(y = 0) and P(y = 1), shape (n, 2), and the ends, shape (2, n), of a central interval of the latter."""
    p, ends = np.empty((X.shape[0], 2)), np.empty((2, X.shape[0]))
    for part, m in predictors(draws, X, number, offset):
        p[part, 1] = applied(record.probability, m, workers).mean(axis=1)
        p[part, 0] = applied(record.probability, -m, workers).mean(axis=1)
        if interval is not None:
            ends[:, part] = applied(record.probability, np.quantile(m, _ends(interval), axis=1), workers)
    return p, ends


def _ends(interval):
    """Probabilities at the ends of a central interval."""
    return [0.5 - 0.5 * interval, 0.5 + 0.5 * interval]


@np.errstate(over="ignore")  # rows far from those of the fit have infinite outcomes
def means(draws, X, record, interval=None, offset=None):
    """Posterior mean of the mean response, shape (n,), and the ends, shape (2, n), of a central interval of it."""
    mean, ends, own = np.empty(X.shape[0]), np.empty((2, X.shape[0])), record.own_of(draws)
    for part, m in predictors(draws, X, offset=offset):
        found = record.mean_of(m, own)
        mean[part] = found.mean(axis=1)
        if record.general and not np.isfinite(mean[part]).all():
            share = float((~np.isfinite(found)).mean(axis=1).max())
            raise ValueError(
                f"the mean of {record.noun} is infinite under {share:.1%} of the draws for some row; use kind='median', and "
                "quantiles of sample_outcomes for intervals of a new one"
            )
        if interval is not None and record.general:
            ends[:, part] = np.quantile(found, _ends(interval), axis=1)
        elif interval is not None:
            ends[:, part] = record.mean_of(np.quantile(m, _ends(interval), axis=1))
    return mean, ends


@np.errstate(over="ignore")
def medians(draws, X, record, interval=None, offset=None):
    """Posterior median of the median outcome, shape (n,), and the ends, shape (2, n), of a central interval of it."""
    middle, ends, own = np.empty(X.shape[0]), np.empty((2, X.shape[0])), record.own_of(draws)
    for part, m in predictors(draws, X, offset=offset):
        found = record.outcome_of(record.quantile(np.full(m.shape[1], 0.5), m, own))
        middle[part] = np.median(found, axis=1)
        if interval is not None:
            ends[:, part] = np.quantile(found, _ends(interval), axis=1)
    return middle, ends


@np.errstate(over="ignore")
def survival(draws, X, record, times, interval=None, offset=None):
    """Posterior mean of P(Y > time), shape (n, times), and the ends, shape (2, n, times), of a central interval of it."""
    shape, own = (X.shape[0], times.size), record.own_of(draws)
    mean, ends, at = np.empty(shape), np.empty((2, *shape)), np.log(times) if record.log else times
    for part, m in predictors(draws, X, offset=offset):
        for j, y in enumerate(at):
            found = record.tail(y, m, own)
            mean[part, j] = found.mean(axis=1)
            if interval is not None:
                ends[:, part, j] = np.quantile(found, _ends(interval), axis=1)
    return mean, ends


@np.errstate(over="ignore")
def outcome_intervals(draws, X, record, interval, offset=None):
    """Ends, shape (2, n), of the central interval of a new outcome of every row.

    They are quantiles of one outcome for each draw of the parameters, by inversion of equidistant probabilities. Those come in
    one random order for all calls and rows, so that a row's interval depends on nothing else.
    """
    ends, own = np.empty((2, X.shape[0])), record.own_of(draws)
    for part, m in predictors(draws, X, offset=offset):
        u = (np.random.default_rng(0).permutation(m.shape[1]) + 0.5) / m.shape[1]
        ends[:, part] = np.quantile(record.outcome_of(record.quantile(u, m, own)), _ends(interval), axis=1)
    return ends


@np.errstate(over="ignore")
def outcomes(draws, X, record, key, offset=None):
    """One outcome of every row for every draw, shape (draws, n); of two classes -1 and 1."""
    out, own = np.empty((draws["log_tau"].size, X.shape[0])), record.own_of(draws)
    for part, m in predictors(draws, X, offset=offset):
        u = uniform(size=m.shape, rng=key, offset=part.start * m.shape[1], device="cpu")
        out[:, part] = record.outcome_of(record.quantile(u, m, own)).T
    return out


def log_probabilities(draws, X, workers=None, *, record, offset=None):
    """Logarithms of `probabilities`, also of a probability too small for a float."""
    out = np.empty((X.shape[0], 2))
    for part, m in predictors(draws, X, offset=offset):
        for j, side in enumerate((-m, m)):
            out[part, j] = np.logaddexp.reduce(applied(record.log_probability, side, workers), axis=1) - math.log(m.shape[1])
    other = probabilities(draws, X, workers=workers, record=record, offset=offset)[0][:, ::-1]
    return np.where(other < 0.5, np.log1p(-np.minimum(other, 0.5)), out)


def normal_scores(moments, X, intercept, averaged):
    """Linear predictors whose probability is P(y = 1), by a normal approximation of the posterior."""
    if issparse(X):
        parts = (X[lo : lo + part_rows(X.shape[1])] for lo in range(0, X.shape[0], part_rows(X.shape[1])))
        return np.concatenate([np.empty(0), *(normal_scores(moments, x.toarray(), intercept, averaged) for x in parts)])
    X = X.astype(np.float64)
    if intercept:
        X = np.column_stack([np.ones(X.shape[0]), X])
    variance = np.einsum("ij,jk,ik->i", X, moments["covariance"], X)
    return averaged(X @ moments["mean"], np.maximum(variance, 0.0))  # rounding may make the variance negative


def of_both(function, scores):
    """A function of a record for both classes, given linear predictors."""
    return np.column_stack([applied(function, -scores), applied(function, scores)])


# --- summaries ----------------------------------------------------------------------------------------------------------


def side_by_side(draws, names, options):
    """All quantities in one array (chains, draws, k), and their names: intercept, coefficients, then the others."""
    parts = [draws["intercept"][:, :, None]] if options.fit_intercept else []
    labels = ["intercept"] if options.fit_intercept else []
    parts += [draws["beta"]]
    labels += [str(n) for n in names]
    scales = ["log_tau"] if options.tau is None else []
    for name in (*scales, *(own.name for own in options.record().own), "log_slab"):
        if name in draws:
            parts.append(draws[name][:, :, None])
            labels.append(name)
    return np.concatenate(parts, axis=2), labels


def summary(x, names, level):
    """Columns of a table of draws x, shape (chains, draws, k), by name."""
    flat = x.reshape(-1, x.shape[2])
    unit = unit_of(flat)
    lower, upper = np.quantile(flat, _ends(level), axis=0)
    columns = {
        "name": np.array(names),
        "mean": flat.mean(axis=0),
        "sd": unit * (flat / unit).std(axis=0, ddof=1),
        "lower": lower,
        "upper": upper,
        "positive": (flat > 0).mean(axis=0),
        "rhat": rhat(x),
        "ess_bulk": ess_bulk(x),
        "ess_tail": ess_tail(x),
        "mcse": mcse(x),
    }
    return Table(columns, level=level)


# --- criteria -----------------------------------------------------------------------------------------------------------


def log_likelihoods(draws, X, outcomes, workers=None, *, record, offset=None):
    """Log-likelihoods of the rows under every draw, shape (rows, draws), some rows at a time; classes are signs."""
    own = record.own_of(draws)
    for part, m in predictors(draws, X, offset=offset):
        yield log_density(record, outcomes[..., part, None], m, own, workers)


def log_density(record, y, m, own, workers=None):
    """Log densities of outcomes, both ends of which may be in front; classes are signs."""
    return applied(record.log_probability, m * y, workers) if record.classes else record.log_density(y, m, own)


def possible(l):  # noqa: E741
    """Log-likelihoods, 0 in rows that have probability 0 under some draw, which alone decides about them; and which these are."""
    lost = np.isneginf(l).any(axis=1)
    return np.where(lost[:, None], 0.0, l), lost


def waic(likelihoods):
    """Widely applicable information criterion from blocks of log-likelihoods."""
    parts = []
    for l, lost in map(possible, likelihoods):  # noqa: E741
        penalty = l.var(axis=1, ddof=1)
        penalty[lost] = np.inf
        parts.append(np.column_stack([np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - penalty, penalty]))
    return criterion(np.concatenate(parts))


def loo(likelihoods):
    """Leave-one-out predictive density from blocks of log-likelihoods, by Pareto-smoothed importance sampling."""
    parts, shapes = [], []
    for l, lost in map(possible, likelihoods):  # noqa: E741
        w, shape = psis(-l)
        shape[lost] = np.inf
        elpd = np.where(lost, -np.inf, np.logaddexp.reduce(w + l, axis=1))
        parts.append(np.column_stack([elpd, np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - elpd]))
        shapes.append(shape)
    result = criterion(np.concatenate(parts))
    result["pareto_k"] = np.concatenate(shapes)
    result["bad"] = int((result["pareto_k"] > 0.7).sum())
    return result


def criterion(pointwise):
    """Sums of log predictive densities and of penalties, shape (rows, 2), with the standard error of the former."""
    elpd, penalty = pointwise.T
    return {
        "elpd": float(elpd.sum()),
        "se": float(math.sqrt(elpd.size * elpd.var(ddof=1))) if elpd.size > 1 and np.isfinite(elpd).all() else math.nan,
        "p": float(penalty.sum()),
        "pointwise": elpd,
    }
