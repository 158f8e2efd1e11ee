"""Predictions from draws of the coefficients: probabilities, intervals, summaries, criteria of predictive accuracy."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import issparse

from numbastats._core.elementwise import elementwise
from numbastats._core.results import Table
from numbastats.bayes import kernels
from numbastats.bayes.diagnostics import ess_bulk, ess_tail, mcse, psis, rhat, unit_of
from numbastats.bayes.likelihood import part_rows
from numbastats.bayes.responses import expit, log_expit, mean_of, outcome_of
from numbastats.random import uniform

__all__ = [
    "log_likelihoods",
    "log_probabilities",
    "loo",
    "means",
    "normal_log_probabilities",
    "normal_probabilities",
    "normal_scores",
    "outcome_intervals",
    "outcomes",
    "predictors",
    "probabilities",
    "side_by_side",
    "summary",
    "waic",
]

_BLOCK = 2**22  # linear predictors held at once when draws meet rows


def _apply(name, x, workers=None):
    """An elementwise function of `bayes` on a host array."""
    return elementwise(lambda dtype: kernels.ELEMENTWISE[name], ("x",), (x,), device="cpu", workers=workers, cost=3.0)


def _probability(response, workers):
    """The function that maps linear predictors to probabilities."""
    return expit if response == "logit" else lambda m: _apply("ndtr", m, workers)


def _log_probability(response, workers):
    return log_expit if response == "logit" else lambda m: _apply("log_ndtr", m, workers)


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


def probabilities(draws, X, interval=None, number=None, workers=None, *, response="probit", offset=None):
    """Posterior means of P(y = 0) and P(y = 1), shape (n, 2), and the ends, shape (2, n), of a central interval of the latter."""
    p, ends = np.empty((X.shape[0], 2)), np.empty((2, X.shape[0]))
    probability = _probability(response, workers)
    for part, m in predictors(draws, X, number, offset):
        p[part, 1] = probability(m).mean(axis=1)
        p[part, 0] = probability(-m).mean(axis=1)
        if interval is not None:
            ends[:, part] = probability(np.quantile(m, _ends(interval), axis=1))
    return p, ends


def _ends(interval):
    """Probabilities at the ends of a central interval."""
    return [0.5 - 0.5 * interval, 0.5 + 0.5 * interval]


def means(draws, X, response, interval=None, offset=None):
    """Posterior mean of the mean response, shape (n,), and the ends, shape (2, n), of a central interval of it."""
    mean, ends = np.empty(X.shape[0]), np.empty((2, X.shape[0]))
    for part, m in predictors(draws, X, offset=offset):
        mean[part] = mean_of(response, m).mean(axis=1)
        if interval is not None:
            ends[:, part] = mean_of(response, np.quantile(m, _ends(interval), axis=1))
    return mean, ends


def outcome_intervals(draws, X, response, interval, offset=None):
    """Ends, shape (2, n), of the central interval of a new outcome of every row.

    They are quantiles of one outcome for each draw of the parameters, by inversion of equidistant probabilities. Those come in
    one random order for all calls and rows, so that a row's interval depends on nothing else.
    """
    ends, sigma = np.empty((2, X.shape[0])), _sigma(draws)
    for part, m in predictors(draws, X, offset=offset):
        u = (np.random.default_rng(0).permutation(m.shape[1]) + 0.5) / m.shape[1]
        ends[:, part] = np.quantile(outcome_of(response, m, u, sigma), _ends(interval), axis=1)
    return ends


def outcomes(draws, X, response, key, offset=None):
    """One outcome of every row for every draw, shape (draws, n); of two classes -1 and 1."""
    out, sigma = np.empty((draws["log_tau"].size, X.shape[0])), _sigma(draws)
    for part, m in predictors(draws, X, offset=offset):
        u = uniform(size=m.shape, rng=key, offset=part.start * m.shape[1], device="cpu")
        out[:, part] = outcome_of(response, m, u, sigma).T
    return out


def _sigma(draws):
    """sigma of every draw; None where there is none."""
    return np.exp(draws["log_sigma"].reshape(-1)) if "log_sigma" in draws else None


def log_probabilities(draws, X, workers=None, *, response="probit", offset=None):
    """Logarithms of `probabilities`, also of a probability too small for a float."""
    out = np.empty((X.shape[0], 2))
    log_probability = _log_probability(response, workers)
    for part, m in predictors(draws, X, offset=offset):
        for j, side in enumerate((-m, m)):
            out[part, j] = np.logaddexp.reduce(log_probability(side), axis=1) - math.log(m.shape[1])
    other = probabilities(draws, X, workers=workers, response=response, offset=offset)[0][:, ::-1]
    return np.where(other < 0.5, np.log1p(-np.minimum(other, 0.5)), out)


def normal_scores(moments, X, intercept):
    """Scores whose normal probability is P(y = 1), by a normal approximation of the posterior."""
    if issparse(X):
        parts = (X[lo : lo + part_rows(X.shape[1])] for lo in range(0, X.shape[0], part_rows(X.shape[1])))
        return np.concatenate([np.empty(0), *(normal_scores(moments, x.toarray(), intercept) for x in parts)])
    X = X.astype(np.float64)
    if intercept:
        X = np.column_stack([np.ones(X.shape[0]), X])
    variance = np.einsum("ij,jk,ik->i", X, moments["covariance"], X)
    return X @ moments["mean"] / np.sqrt(1.0 + np.maximum(variance, 0.0))  # rounding may make the variance negative


def normal_probabilities(scores):
    """P(y = 0) and P(y = 1) of normal scores."""
    return np.column_stack([_apply("ndtr", -scores), _apply("ndtr", scores)])


def normal_log_probabilities(scores):
    """Logarithms of `normal_probabilities`."""
    return np.column_stack([_apply("log_ndtr", -scores), _apply("log_ndtr", scores)])


# --- summaries ----------------------------------------------------------------------------------------------------------


def side_by_side(draws, names, *, intercept, tau):
    """All quantities in one array (chains, draws, k), and their names: intercept, coefficients, then the others."""
    parts = [draws["intercept"][:, :, None]] if intercept else []
    labels = ["intercept"] if intercept else []
    parts += [draws["beta"]]
    labels += [str(n) for n in names]
    if tau:
        parts.append(draws["log_tau"][:, :, None])
        labels.append("log_tau")
    for name in ("log_sigma", "log_slab"):
        if name in draws:
            parts.append(draws[name][:, :, None])
            labels.append(name)
    return np.concatenate(parts, axis=2), labels


def summary(x, names, prob):
    """Columns of a table of draws x, shape (chains, draws, k), by name."""
    flat = x.reshape(-1, x.shape[2])
    unit = unit_of(flat)
    lower, upper = np.quantile(flat, [0.5 - 0.5 * prob, 0.5 + 0.5 * prob], axis=0)
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
    return Table(columns)


# --- criteria -----------------------------------------------------------------------------------------------------------


def log_likelihoods(draws, X, outcomes, workers=None, *, response="probit", offset=None):
    """Log-likelihoods of the rows under every draw, shape (rows, draws), some rows at a time; classes are signs."""
    from scipy.special import gammaln

    for part, m in predictors(draws, X, offset=offset):
        y = outcomes[part, None]
        if response == "gaussian":
            log_sigma = draws["log_sigma"].reshape(-1)
            yield -0.5 * ((y - m) * np.exp(-log_sigma)) ** 2 - log_sigma - 0.5 * math.log(2.0 * math.pi)
        elif response == "poisson":
            yield y * m - np.exp(m) - gammaln(y + 1.0)
        else:
            yield _log_probability(response, workers)(m * y)


def waic(likelihoods):
    """Widely applicable information criterion from blocks of log-likelihoods."""
    parts = []
    for l in likelihoods:  # noqa: E741
        penalty = l.var(axis=1, ddof=1)
        parts.append(np.column_stack([np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - penalty, penalty]))
    return _criterion(np.concatenate(parts))


def loo(likelihoods):
    """Leave-one-out predictive density from blocks of log-likelihoods, by Pareto-smoothed importance sampling."""
    parts, shapes = [], []
    for l in likelihoods:  # noqa: E741
        w, shape = psis(-l)
        elpd = np.logaddexp.reduce(w + l, axis=1)
        parts.append(np.column_stack([elpd, np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - elpd]))
        shapes.append(shape)
    result = _criterion(np.concatenate(parts))
    result["pareto_k"] = np.concatenate(shapes)
    result["bad"] = int((result["pareto_k"] > 0.7).sum())
    return result


def _criterion(pointwise):
    elpd, penalty = pointwise.T
    return {
        "elpd": float(elpd.sum()),
        "se": float(math.sqrt(elpd.size * elpd.var(ddof=1))) if elpd.size > 1 else math.nan,
        "p": float(penalty.sum()),
        "pointwise": elpd,
    }
