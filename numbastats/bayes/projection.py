"""Projection of a fit onto few columns: which of them predict nearly as well, with the coefficients that they then need.

Every draw of the fit is a distribution of the outcomes; its projection onto some columns is the nearest one with these alone, by
the Kullback-Leibler divergence (C. Goutis, C. Robert, Biometrika 85, 1998). The outcomes have no part in it, so that a sub-model
inherits the shrinkage of the fit. Where the log density is linear in the outcome that is a likelihood of mean outcomes; elsewhere
linear predictors are projected by least squares (A. Catalina, P. Buerkner, A. Vehtari 2021), which is exact for normal errors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from numbastats._core.errors import warn
from numbastats._core.results import Table
from numbastats.bayes import arguments, predictions
from numbastats.bayes.checks import UNRELIABLE, thinned
from numbastats.bayes.diagnostics import psis
from numbastats.bayes.responses.record import Response

_MOST_NUMBERS = 2e7  # linear predictors that are held at once; of more rows fewer draws are projected
_LEAST_DRAWS = 20
_SIZES, _FOLDS = 20, 5
_NEWTON, _HALVINGS, _SMALL = 30, 20, 1e-10
_TRIED, _TRIED_DRAWS, _TRIED_STEPS = 8, 20, 4  # columns that are fitted where gains are approximate, by how many draws and steps
_COLLINEAR = 1e-9  # share of a column's squares that others leave of it, below which it adds nothing


class Problem(NamedTuple):
    """What is projected.

    Parameters
    ----------
    record : Record
    X : numpy.ndarray, shape (n, p)
    m : numpy.ndarray, shape (n, draws)
        Linear predictors of the draws, less the offset.
    offset, weights : numpy.ndarray, shape (n, 1)
    own : dict
        Own parameters of the draws, transformed.
    first : numpy.ndarray, shape (n, 0 or 1)
        Of ones, where there is an intercept.
    target : numpy.ndarray or None
        Mean outcomes of the draws, probabilities of the event; None where predictors are projected.
    """

    record: Any
    X: np.ndarray
    m: np.ndarray
    offset: np.ndarray
    weights: np.ndarray
    own: dict[str, np.ndarray]
    first: np.ndarray
    target: np.ndarray | None

    def some(self, number):
        """With so many of the draws."""
        step = -(-self.m.shape[1] // number)
        target = None if self.target is None else self.target[:, ::step]
        return self._replace(m=self.m[:, ::step], own={name: v[::step] for name, v in self.own.items()}, target=target)

    def columns(self, chosen):
        """Columns of a sub-model."""
        return np.concatenate([self.first, self.X[:, chosen]], axis=1)

    def value(self, e):
        """Expected log density of the draws under predictors e, without the offset, a number for each draw."""
        t = e + self.offset
        if self.target is None:
            return -0.5 * (self.weights * (self.m - e) ** 2).sum(axis=0)
        if self.record.signed:
            log_p = self.record.log_probability
            up, down = predictions.applied(log_p, t), predictions.applied(log_p, -t)
            return (self.weights * (self.target * up + (1.0 - self.target) * down)).sum(axis=0)
        density = lambda t, y, own: (self.record.log_density(y, t, own),)  # noqa: E731
        return (self.weights * self._of_means(density, t)[0]).sum(axis=0)

    def _of_means(self, function, t):
        """Arrays (rows, draws) of a function of predictors, outcomes and own parameters, of which the mean serves all draws.

        A shape does not matter to where the maximum is, a size little, and at predictors of the fit not at all.
        """
        own = {name: v.mean() for name, v in self.own.items()}
        return tuple(v.reshape(t.shape) for v in function(t.ravel(), self.target.ravel(), own))

    def slopes(self, e):
        """The derivative of `value` by each of them, and the negative second one."""
        t = e + self.offset
        if self.target is None:
            return self.weights * (self.m - e), np.broadcast_to(self.weights, e.shape)
        if self.record.signed:  # of the other class by symmetry
            (up, bend), (down, other) = (self.record.derivatives(v, 1.0, self.own) for v in (t, -t))
            slope, curvature = self.target * up - (1.0 - self.target) * down, self.target * bend + (1.0 - self.target) * other
        else:
            slope, curvature = self._of_means(self.record.derivatives, t)
        return self.weights * slope, self.weights * np.maximum(curvature, 0.0)


def _problem(model, X, offset, weights, draws):
    """Draws of a fitted model on the rows of X, and which of all draws they are."""
    record, n = model._record, X.shape[0]
    if not isinstance(record, Response) or record.several:
        raise ValueError(
            f"projection takes rows with a log density and one linear predictor each, not response={record.word!r}; summary() "
            "has the coefficients of all columns"
        )
    some = thinned(model, max(_LEAST_DRAWS, min(draws, int(_MOST_NUMBERS // max(n, 1)))))
    X = np.asarray(X.toarray() if issparse(X) else X, np.float64)
    m, own = np.concatenate([part for _, part in predictions.predictors(some.draws_, X)]), record.own_of(some.draws_)
    offset = np.zeros((n, 1)) if offset is None else offset[:, None]
    target = None
    with np.errstate(over="ignore"):
        if record.signed:
            target = predictions.applied(record.probability, m + offset)
        elif record.link == "log":
            target = record.mean_of(m + offset, own)
            target = np.log(target) if record.log else target
    first = np.ones((n, int(model._options.fit_intercept)))
    return Problem(record, X, m, offset, np.ones((n, 1)) if weights is None else weights[:, None], own, first, target)


def _fitted(problem, A, start, steps=_NEWTON):
    """Coefficients of the columns A, shape (k, draws), that project the draws, by Newton's method from a start."""
    if problem.target is None:
        root = np.sqrt(problem.weights)
        return np.linalg.lstsq(A * root, problem.m * root, rcond=None)[0]
    B, base = start, problem.value(A @ start)
    for _ in range(steps if A.shape[1] else 0):
        slope, curvature = problem.slopes(A @ B)
        gradient = A.T @ slope
        H = np.matmul(A.T[None], curvature.T[:, :, None] * A[None])
        H += 1e-12 * np.trace(H, axis1=1, axis2=2)[:, None, None] * np.eye(A.shape[1])
        step = np.linalg.solve(H, gradient.T[:, :, None])[:, :, 0].T
        gain, share = (gradient * step).sum(axis=0), np.ones(B.shape[1])
        near = (gain <= _SMALL * (1.0 + abs(base))).all()
        for _ in range(_HALVINGS):
            found = problem.value(A @ (B + share * step))
            worse = ~(found >= base)
            if not worse.any():
                break
            share[worse] *= 0.5
        B, base = B + np.where(worse, 0.0, share) * step, np.where(worse, base, found)
        if near:
            break
    return B


class _Candidates:
    """How much better every column not yet chosen would project the draws, to second order: exact for least squares.

    With the curvatures W of the sub-model so far, its columns are an orthonormal Q, and a column x outside gains
    ``(x'g)^2 / (x'Wx - |Q'x|^2)``, g the slopes. For least squares both are carried along, in O(n p) for a column that is chosen.
    """

    def __init__(self, problem):
        self.problem, self.chosen = problem, list[int]()
        self.B = np.zeros((problem.first.shape[1], problem.m.shape[1]))
        self.B = _fitted(problem, problem.first, self.B)
        self.basis = None
        if problem.target is None:  # of the columns that are free of weights
            self.root = np.sqrt(problem.weights)
            Q = np.linalg.qr(problem.first * self.root)[0]
            rest = problem.m * self.root
            self.basis, self.rest = Q, rest - Q @ (Q.T @ rest)
            scaled = problem.X * self.root
            self.whole = (scaled**2).sum(axis=0)
            self.left = self.whole - ((Q.T @ scaled) ** 2).sum(axis=0)
            self.products = scaled.T @ self.rest

    def gains(self):
        """Of all columns; none of those that are chosen or depend on them."""
        problem = self.problem
        if self.basis is not None:
            whole, left, products = self.whole, self.left, self.products
        else:
            A = problem.columns(self.chosen)
            slope, curvature = problem.slopes(A @ self.B)
            root = np.sqrt(curvature.mean(axis=1, keepdims=True))
            scaled, Q = problem.X * root, np.linalg.qr(A * root)[0]
            whole = (scaled**2).sum(axis=0)
            left, products = whole - ((Q.T @ scaled) ** 2).sum(axis=0), problem.X.T @ slope
        found = np.full(left.size, -np.inf)
        use = left > _COLLINEAR * whole
        use[self.chosen] = False
        found[use] = (products[use] ** 2).sum(axis=1) / left[use]
        return found

    def best(self):
        """The column that gains most, or None; where gains are approximate the best few are fitted."""
        gains = self.gains()
        order = np.argsort(-gains, kind="stable")[: _TRIED if self.basis is None else 1]
        order = order[np.isfinite(gains[order])]
        if order.size < 2:
            return int(order[0]) if order.size else None
        few, values = self.problem.some(_TRIED_DRAWS), []
        step = -(-self.B.shape[1] // _TRIED_DRAWS)
        start = np.concatenate([self.B[:, ::step], np.zeros((1, few.m.shape[1]))])
        for j in order:
            A = few.columns([*self.chosen, j])
            values.append(few.value(A @ _fitted(few, A, start, _TRIED_STEPS)).sum())
        return int(order[np.argmax(values)])

    def add(self, j):
        """Choose a column, and project onto it, too."""
        problem = self.problem
        if self.basis is not None:
            q = problem.X[:, [j]] * self.root
            for _ in range(2):  # once loses digits of columns that are nearly dependent
                q = q - self.basis @ (self.basis.T @ q)
            q /= np.linalg.norm(q)
            along, share = (problem.X * self.root).T @ q, q.T @ self.rest
            self.rest = self.rest - q @ share
            self.products = self.products - along @ share
            self.left = self.left - along[:, 0] ** 2
            self.basis = np.concatenate([self.basis, q], axis=1)
        self.chosen.append(int(j))
        self.B = _fitted(problem, problem.columns(self.chosen), np.concatenate([self.B, np.zeros((1, self.B.shape[1]))]))


def search(problem, k, always=()):
    """Columns in the order in which they are chosen, and the projections before the first and after each of them.

    Parameters
    ----------
    problem : Problem
    k : int
        How many.
    always : sequence of int
        Columns of all sub-models.
    """
    found = _Candidates(problem)
    for j in always:
        found.add(j)
    path, coefficients = [], [found.B]
    while len(path) < k and (j := found.best()) is not None:
        path.append(j)
        found.add(j)
        coefficients.append(found.B)
    return path, coefficients


def _own(problem, e):
    """Own parameters of a sub-model with predictors e: the variance that it does not explain adds to that of an outcome."""
    record, missed = problem.record, np.average((problem.m - e) ** 2, axis=0, weights=problem.weights[:, 0])
    found = dict(problem.own)
    for one in record.own:
        v = found[one.name]
        if one.scale:
            information = 1.0
            if record.derivatives is not None:
                u = ((np.arange(64) + 0.5) / 64)[:, None]
                y = record.quantile(u, np.zeros((64, v.size)), found)
                information = (record.derivatives(np.zeros((64, v.size)), y, found)[1] * np.exp(2.0 * v)).mean(axis=0)
            found[one.name] = v + 0.5 * np.log1p(information * missed * np.exp(-2.0 * v))
        elif record.link == "log":  # the squared coefficient of variation is the inverse of the parameter
            found[one.name] = -np.log(np.exp(-v) + missed)
    return found


def _explained(problem, e):
    """Share of the variance of the predictors that a sub-model has, averaged over the draws."""
    w = problem.weights[:, 0]
    spread = np.average((problem.m - np.average(problem.m, axis=0, weights=w)) ** 2, axis=0, weights=w).mean()
    return 1.0 - float(np.average((problem.m - e) ** 2, axis=0, weights=w).mean() / spread) if spread > 0.0 else math.nan


def _elpd(log_density, log_weights):
    """Log predictive densities of the rows, for weights of the draws."""
    return np.logaddexp.reduce(log_weights + log_density, axis=1) - np.logaddexp.reduce(log_weights, axis=1)


def _losses(problem, path, coefficients, always, rows, outcomes, log_weights):
    """By how much the full model predicts each row better than the sub-models, shape (rows, models)."""
    whole, offset, weights = rows
    y = outcomes[..., None]
    density = lambda e, own: weights * predictions.log_density(problem.record, y, e + offset, own)  # noqa: E731
    full = _elpd(density(whole.m, problem.own), log_weights)
    found = []
    for size, B in enumerate(coefficients):
        chosen = [*always, *path[:size]]
        own = _own(problem, problem.columns(chosen) @ B)
        found.append(full - _elpd(density(whole.columns(chosen) @ B, own), log_weights))
    return np.array(found).T


def projection(model, X, y, k, *, validate, draws, offset, rows):
    """The table of `Projects.projection`."""
    model._need_draws("projection")
    X = model._matrix(X, y=y, offset=offset, **rows)
    n, p = X.shape
    exposure, weights = rows.get("exposure"), arguments.weights_of_rows(rows.get("sample_weight"), n)
    given = {name: v for name, v in rows.items() if name not in ("exposure", "sample_weight")}
    outcomes, _ = model._likelihood_outcomes(y, n, **given)
    shift = model._offset(offset, exposure, n)
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(p)])]
    always = arguments.columns_of("unpenalized", model._options.unpenalized, names, p)
    most = min(p, n - 1 - int(model._options.fit_intercept)) - len(always)
    if k is not None:
        arguments.count("k", k)
    if (k or 1) > most:
        raise ValueError(f"k={k} is more than the {max(most, 0)} columns that {n} rows of {p} columns may choose; use fewer")
    problem = _problem(model, X, shift, weights, arguments.count("draws", draws))
    path, coefficients = search(problem, min(k or _SIZES, most), always)
    if validate:
        folds = _FOLDS if validate is True else arguments.count("validate", validate, 2)
        given = {"y": y, "offset": offset} | dict(rows)
        losses = _by_folds(model, X, given, len(path), folds, draws, np.atleast_2d(outcomes)[0])
    else:
        size, S = model.draws_["log_tau"].size, problem.m.shape[1]
        take = np.linspace(0, size - 1, S).round().astype(int)
        blocks = model._log_likelihoods(X, y, offset, **rows)
        left_out, shapes = zip(*(psis(-predictions.possible(v)[0]) for v in blocks), strict=True)
        left_out, bad = np.concatenate(left_out)[:, take], int((np.concatenate(shapes) > UNRELIABLE).sum())
        if bad:
            warn(f"{bad} of {n} rows have a Pareto k above {UNRELIABLE}: losses are unreliable; pass validate=True")
        at = problem, problem.offset, problem.weights
        losses = _losses(problem, path, coefficients, always, at, outcomes, left_out)
    size = np.arange(losses.shape[1])
    r2 = [_explained(problem, problem.columns([*always, *path[:i]]) @ coefficients[i]) for i in size]
    columns = {
        "size": size + len(always),
        "column": np.array(["", *(names[j] for j in path)][: size.size]),
        "loss": losses.sum(axis=0),
        "se": np.sqrt(n * losses.var(axis=0, ddof=1)) if n > 1 else np.full(size.size, math.nan),
        "r2": np.array(r2),
    }
    return Table(columns)


def _by_folds(model, X, given, k, folds, draws, outcomes):
    """Losses of rows whose fold had no part in fit and search; folds have outcomes alike."""
    n = X.shape[0]
    fold = np.empty(n, int)
    fold[np.lexsort((np.random.default_rng(0).permutation(n), outcomes))] = np.arange(n) % folds
    options = model._options
    names = getattr(model, "feature_names_in_", None)
    always = arguments.columns_of("unpenalized", options.unpenalized, names, X.shape[1])
    groups = options.groups
    if groups is not None:
        groups = [arguments.columns_of("groups", group, names, X.shape[1]) for group in groups]
    losses, sizes = np.zeros((n, k + 1)), k + 1
    for i in range(folds):
        some, rest = fold != i, fold == i
        parts = ({name: _rows(v, which, n) for name, v in given.items() if v is not None} for which in (some, rest))
        train, test = parts
        part = type(model)(**model.get_params()).set_params(callback=None, progress=False)
        params = part.get_params()
        part.set_params(**{name: v for name, v in (("unpenalized", always or None), ("groups", groups)) if name in params})
        part.fit(X[some], **train)
        weights = arguments.weights_of_rows(train.get("sample_weight"), int(some.sum()))
        shift = part._offset(train.get("offset"), train.get("exposure"), int(some.sum()))
        problem = _problem(part, X[some], shift, weights, draws)
        path, coefficients = search(problem, k, always)
        weights = arguments.weights_of_rows(test.get("sample_weight"), int(rest.sum()))
        shift = part._offset(test.get("offset"), test.get("exposure"), int(rest.sum()))
        there = _problem(part, X[rest], shift, weights, draws)
        ends = {name: v for name, v in test.items() if name in ("y", "event", "censored")}
        seen, _ = part._likelihood_outcomes(ends.pop("y", None), int(rest.sum()), **ends)
        rows = there, there.offset, there.weights
        level = np.zeros((1, problem.m.shape[1]))
        found = _losses(problem, path, coefficients, always, rows, seen, level)
        sizes = min(sizes, found.shape[1])
        losses[rest, : found.shape[1]] = found
    return losses[:, :sizes]


def _rows(v, which, n):
    """Some rows of what goes with X."""
    if isinstance(v, tuple):
        return tuple(arguments.outcomes_of_rows(one, n)[which] for one in v)
    return arguments.outcomes_of_rows(v, n)[which]


class Projects:
    """Method of the estimators that finds sub-models."""

    draws_: dict[str, NDArray[np.float64]]

    def projection(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        k: int | None = None,
        *,
        validate: bool | int = False,
        draws: int = 200,
        offset: ArrayLike | None = None,
        **rows: Any,
    ) -> Table:
        """A forward search for a few columns that predict nearly as well as all: the fit is projected onto them.

        Parameters
        ----------
        X : array_like, shape (n, p)
            The rows of the fit.
        y : array_like, shape (n,)
            Their outcomes; None with `censored`. Only "loss" depends on them.
        k : int, optional
            Columns of the largest sub-model, apart from those of `unpenalized`, which all contain; by default 20, or all if there
            are fewer.
        validate : bool or int
            Whether fit and search are repeated without the rows whose predictions are compared: True for five folds, else the
            number of folds, each of which costs as much as the fit.
        draws : int
            The number of posterior draws, equally spaced, that are projected; fewer for more than 1e5 rows.
        offset, exposure, sample_weight, event, censored : optional
            As in `fit`.

        Returns
        -------
        Table
            A row for each sub-model, which adds one column to the one before: "size", the number of its columns; "column",
            the new one; "loss", the expected log predictive density of the fit minus that of the sub-model, summed over the
            rows, with its standard error "se"; "r2", the share of the variance of the linear predictors that it explains,
            averaged over the draws.

        Raises
        ------
        ValueError
            Without draws, for more columns than rows tell apart, for rows with several linear predictors, and as `loo`.

        Warns
        -----
        UserWarning
            Without `validate`, where rows have a Pareto k above 0.7.

        Notes
        -----
        The smallest sub-model with a loss below its standard error will usually do. Without `validate` the search has seen all
        rows: rows are left out by the weights of `loo` when losses are computed, and not when columns are chosen, which makes
        losses too small, the more so the more columns there are to choose from.

        Scales, sizes and shapes of a sub-model have the variance beside them that it does not explain; df stays. Columns of
        `groups` are chosen one by one.

        References
        ----------
        C. Goutis, C. Robert, "Model choice in generalised linear models: a Bayesian approach via Kullback-Leibler projections",
        Biometrika 85 (1998).
        A. Catalina, P. Buerkner, A. Vehtari, "Latent space projection predictive inference", arXiv:2109.04702 (2021).
        J. Piironen, M. Paasiniemi, A. Vehtari, "Projective inference in high-dimensional problems: prediction and feature
        selection", Electronic Journal of Statistics 14 (2020).
        """
        return projection(self, X, y, k, validate=validate, draws=draws, offset=offset, rows=rows)
