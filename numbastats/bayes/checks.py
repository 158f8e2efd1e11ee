"""Model checks: replicated outcomes beside those of the data, and whether predicted probabilities are right.

Outcomes that are known in part are completed: for every draw of the parameters they come from their distribution given what is
known of them, so that a statistic of whole outcomes compares with that of replicated ones (A. Gelman and others, Biometrics 61,
2005). A completed row says nothing against the model, as one without data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from numbastats._core.checks import checked_level, choice
from numbastats._core.errors import warn
from numbastats._core.random import Key, normalise_rng
from numbastats._core.results import Table
from numbastats.bayes import arguments, predictions
from numbastats.bayes.chains import samplers_of
from numbastats.bayes.diagnostics import mcse, psis
from numbastats.bayes.responses.record import Response
from numbastats.random import RNG, uniform

Statistic: TypeAlias = str | Callable[[NDArray[Any]], Any] | Sequence[Any] | Mapping[str, Callable[[NDArray[Any]], Any]]

_MOST = 2**23  # outcomes that are held at once
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
UNRELIABLE = 0.7  # Pareto k above which leaving out a row by weights is not


def _quantiles(y):
    return {f"{q:.0%} quantile": v for q, v in zip(_QUANTILES, np.quantile(y, _QUANTILES, axis=1), strict=True)}


_STATISTICS = {  # of outcomes (draws, rows)
    "mean": lambda y: {"mean": y.mean(axis=1)},
    "sd": lambda y: {"sd": y.std(axis=1, ddof=1)},
    "zeros": lambda y: {"zeros": (y == 0.0).mean(axis=1)},
    "max": lambda y: {"max": y.max(axis=1)},
    "quantiles": _quantiles,
}


def _statistics(statistic, classes):
    """Functions of outcomes (draws, rows), which give numbers for each of the draws by name."""
    if isinstance(statistic, Mapping):
        return [_each(name, one) for name, one in statistic.items()]
    many = [statistic] if isinstance(statistic, str) or callable(statistic) or statistic is None else list(statistic)
    found = []
    for one in many:
        if callable(one):
            found.append(_each(getattr(one, "__name__", "statistic"), one))
        elif classes is not None and one in (None, "shares"):
            found.append(lambda y: {f"share of {c}": (y == c).mean(axis=1) for c in classes.tolist()})
        elif classes is not None:
            raise ValueError(f"statistic={one!r} is of numbers; of classes use 'shares' or a function of the labels of all rows")
        else:
            found.append(_STATISTICS[choice("statistic", "mean" if one is None else one, tuple(_STATISTICS))])
    return found


def _each(name, function):
    """A user's function of the outcomes of all rows, for every draw."""

    def of_draws(y):
        found = np.array([function(row) for row in y])
        if found.ndim != 1 or found.dtype.kind not in "fiub":
            raise TypeError(f"the statistic {name!r} gave an array of shape {found.shape[1:]}; it has to give one number")
        return {name: found.astype(np.float64)}

    return of_draws


def thinned(model, number):
    """The fitted model with so many of its draws, equally spaced."""
    size = model.draws_["log_tau"].size
    take = np.linspace(0, size - 1, min(number, size)).round().astype(int)
    found = object.__new__(type(model))
    vars(found).update(vars(model))
    found.draws_ = {name: v.reshape(size, *v.shape[2:])[take][None] for name, v in model.draws_.items()}
    return found


def _parts(model, n):
    """The model with some of its draws after the other, such that their outcomes of n rows are held at once."""
    draws = model.draws_
    step = max(1, _MOST // max(n, 1))
    for lo in range(0, draws["log_tau"].size, step):
        found = object.__new__(type(model))
        vars(found).update(vars(model))
        found.draws_ = {name: v[:, lo : lo + step] for name, v in draws.items()}
        yield found


def _completed(model, X, ends, offset, key):
    """Outcomes of every draw, shape (draws, n), that are drawn between the ends where these differ."""
    record, (lower, upper) = model._record, ends
    draws, open_ = model.draws_["log_tau"].size, np.flatnonzero(lower != upper)
    out = np.broadcast_to(record.outcome_of(lower), (draws, lower.size)).copy()
    own, done = record.own_of(model.draws_), 0
    offset = None if offset is None else offset[open_]
    for part, m in predictions.predictors(model.draws_, X[open_], offset=offset):
        rows = open_[part]
        a, b = lower[rows, None], upper[rows, None]
        above, beyond = record.tail(a, m, own), record.tail(b, m, own)
        u = uniform(size=m.shape, rng=key, offset=done, device="cpu")
        done += m.size
        share = np.clip(1.0 - (above - u * (above - beyond)), 0.0, np.nextafter(1.0, 0.0))
        out[:, rows] = record.outcome_of(np.clip(record.quantile(share, m, own), a, b)).T
    return out


def replicated(model, X, y, statistic, *, offset=None, exposure=None, draws=1000, rng=0, **ends):
    """Statistics of the data and of replicated outcomes for so many draws, by name: pairs of arrays of shape (draws,)."""
    model._need_draws("check")
    arguments.count("draws", draws)
    X = model._matrix(X, y=y, offset=offset, exposure=exposure, **ends)
    n = X.shape[0]
    if not n:
        raise ValueError(f"X has shape {X.shape}; at least one row is needed")
    classes = getattr(model, "classes_", None)
    functions = _statistics(statistic, classes)
    known, _ = model._likelihood_outcomes(y, n, **ends)
    shift = model._offset(offset, exposure, n)
    censored = classes is None and known.ndim == 2 and bool((known[0] != known[1]).any())
    y = arguments.column(y) if classes is not None else model._record.outcome_of(np.atleast_2d(known)[0])
    seen = [f(y[None]) for f in functions]  # the caller's mistakes come before the work
    generator = np.random.default_rng(int(normalise_rng(rng)))
    found: dict[str, list[Any]] = {}
    for part in _parts(thinned(model, draws), n):
        drawn = part.sample_outcomes(X, offset=offset, exposure=exposure, rng=generator)
        if censored:
            whole = _completed(part, X, known, shift, Key(normalise_rng(generator)))
            seen = [f(whole) for f in functions]
        for here, function in zip(seen, functions, strict=True):
            for name, new in function(drawn).items():
                found.setdefault(name, []).append((np.broadcast_to(here[name], len(drawn)), new))
    return {name: tuple(np.concatenate(v) for v in zip(*parts, strict=True)) for name, parts in found.items()}


def loo_by_mixture(model, X, y, offset, rows):
    """Leave-one-out densities from draws of the mixture of the posteriors that leave out a row each.

    With h the sum of the inverse likelihoods of the rows, by which the likelihood of the fit is multiplied, the density of a row
    is the mean of 1/h over that of its inverse likelihood by h.
    """
    model._need_draws("leave-one-out prediction")
    word, record = "predictor", model._record
    if word not in samplers_of(record) or not isinstance(record, Response):
        raise ValueError(f"method='mixture' is for responses with the sampler {word!r}, not for {record.word!r}; use 'psis'")
    here = np.concatenate(list(model._log_likelihoods(X, y, offset, **rows)))
    mixed = type(model)(**model.get_params()).set_params(sampler=word, callback=None)
    mixed._mixed = True
    given = {name: v for name, v in {"y": y, "offset": offset, **rows}.items() if v is not None}
    mixed.fit(X, **given)
    l = np.concatenate(list(mixed._log_likelihoods(X, y, offset, **rows)))  # noqa: E741
    given = {name: v for name, v in rows.items() if name in ("event", "censored")}
    ends, shift = mixed._likelihood_outcomes(y, len(l), **given)
    lower, upper = np.broadcast_to(ends, (2, len(l)))
    weights = arguments.weights_of_rows(rows.get("sample_weight"), len(l))
    unit = np.where(lower == upper, math.log(mixed._run.scaling.size) - (0.0 if shift is None else shift), 0.0)
    unit = unit if weights is None else weights * unit  # log-likelihoods are those of the sampler with it
    h = np.logaddexp.reduce(-l - unit[:, None], axis=0)
    elpd = np.logaddexp.reduce(-h) - np.logaddexp.reduce(-l - h, axis=1)
    found = predictions.criterion(np.column_stack([elpd, np.logaddexp.reduce(here, axis=1) - math.log(here.shape[1]) - elpd]))
    a, b = np.exp(h.min() - h), np.exp(-l - h)
    share = (a / a.mean())[None] - b / b.mean(axis=1, keepdims=True)  # to first order the errors of the densities
    g = share.sum(axis=0).reshape(*mixed.draws_["log_tau"].shape, 1)
    return found | {"error": float(mcse(g)[0])}


def table_of(found, level):
    """The table of `check` from pairs of observed and replicated statistics by name."""
    new = np.array([b for _, b in found.values()])
    seen = np.array([a for a, _ in found.values()])
    lower, upper = np.quantile(new, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=1)
    columns = {
        "statistic": np.array(list(found)),
        "observed": seen[:, 0] + (seen - seen[:, :1]).mean(axis=1),  # exact where all are equal
        "mean": new.mean(axis=1),
        "lower": lower,
        "upper": upper,
        "p": ((new > seen) + 0.5 * (new == seen)).mean(axis=1),
    }
    return Table(columns, level=level)


class Checks:
    """Methods of the estimators that compare outcomes with what the model predicts."""

    draws_: dict[str, NDArray[np.float64]]
    _need_draws: Any
    _matrix: Any
    _offset: Any
    _record: Any
    _log_likelihoods: Any
    _likelihood_outcomes: Any

    def check(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        statistic: Statistic | None = None,
        *,
        level: float = 0.9,
        draws: int = 1000,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        rng: RNG = 0,
        **ends: Any,
    ) -> Table:
        """Posterior predictive check: a statistic of the outcomes, compared with those of data sets drawn from the model.

        Parameters
        ----------
        X : array_like, shape (n, p)
            The rows of the fit, or others.
        y : array_like, shape (n,)
            Their outcomes; None with `censored`.
        statistic : str, callable, sequence or dict of these, optional
            "mean", "sd", "zeros" (their share), "max" or "quantiles" (5, 25, 50, 75 and 95 %), for classes "shares"; or a
            function of the outcomes of all rows that returns one number; or several of these. By default "mean" or "shares".
            Choose one that the fit does not adapt to: with an intercept, any model gets the mean right.
        level : float
            Probability of the intervals, between 0 and 1.
        draws : int
            The number of posterior draws, equally spaced, for each of which a data set is drawn.
        offset, exposure : optional
            As in `predict`.
        rng : None, int, SeedSequence or Generator
            Seed of the outcomes; 0 by default, so that two calls agree.
        event, censored : optional
            As in `fit`. For each draw, censored outcomes are completed by draws from their conditional distribution, and
            "observed" is the mean of the statistics. The more rows are censored, the less power the check has.

        Returns
        -------
        Table
            "statistic"; "observed"; "mean", "lower", "upper" of the replicated statistics; "p", the share of replicated
            statistics above the observed one, with ties counted as halves.

        Raises
        ------
        ValueError
            Without draws or rows, for outcomes that `fit` does not take and for unknown statistics.
        TypeError
            For a function that does not give one number.

        Notes
        -----
        A p near 0 or 1 indicates misfit. It is not an exact p-value: the outcomes are used twice, for the fit and for the
        check, so it stays closer to 0.5 than a p-value would.

        References
        ----------
        A. Gelman, X.-L. Meng, H. Stern, "Posterior predictive assessment of model fitness via realized discrepancies", Statistica
        Sinica 6 (1996).
        A. Gelman, I. Van Mechelen, G. Verbeke, D. Heitjan, M. Meulders, "Multiple imputation for model checking: completed-data
        plots with missing and latent data", Biometrics 61 (2005).
        """
        level = checked_level(level)
        found = replicated(self, X, y, statistic, offset=offset, exposure=exposure, draws=draws, rng=rng, **ends)
        return table_of(found, level)

    def calibration(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        bins: int = 10,
        *,
        new: bool = False,
        level: float = 0.95,
        offset: ArrayLike | None = None,
        **rows: Any,
    ) -> Table:
        """Whether probabilities are right: for two classes, observed shares of the event against predicted ones.

        For numbers, counts, lifetimes and ordered classes it is the distribution of ``P(new outcome <= y)``, the probability
        integral transform, which is uniform if the model is right: many values near 0 and 1 mean that predictions vary too
        little, a slope that they are too high or too low.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        bins : int
            For classes, bins with equal numbers of rows; for other outcomes, of equal width.
        new : bool
            Whether the rows were not in the fit. Otherwise each row is predicted from the others, by the weights of `loo`,
            since a fit with many columns predicts its own rows too well.
        level : float
            Probability of the intervals, between 0 and 1.
        offset, exposure, sample_weight, event, censored : optional
            As in `waic`. A row of weight w counts as w rows.

        Returns
        -------
        Table
            A row for each bin: "from" and "to", its ends; "rows"; "predicted", the mean probability of the rows (of others than
            classes, the width of the bin); "observed", the share of the event (of the rows); "lower" and "upper", ends of the
            exact binomial interval of that share.

        Raises
        ------
        ValueError
            As `loo`, for less than one bin, and for more than two classes without an order.

        Warns
        -----
        UserWarning
            Where rows have a Pareto k above 0.7, so that predictions without them are unreliable.

        Notes
        -----
        A count has a stretch from P(< y) to P(<= y), and a censored outcome one between those of its ends, which are spread
        evenly over the bins (C. Czado, T. Gneiting, L. Held, Biometrics 65, 2009). Intervals are then wider than they have to be.

        References
        ----------
        C. Clopper, E. Pearson, Biometrika 26 (1934), for the intervals.
        """
        self._need_draws("calibration")
        arguments.count("bins", bins)
        level, X = checked_level(level), self._matrix(X, y=y, offset=offset, **rows)
        n, record = X.shape[0], self._record
        if record.axes:
            raise ValueError(
                "calibration is of two classes, or of ordered ones; of others compare predict_proba(X)[:, k], of rows that were "
                "not in the fit, with y == classes_[k]"
            )
        weights = arguments.weights_of_rows(rows.get("sample_weight"), n)
        weights = np.ones(n) if weights is None else weights
        shift = self._offset(offset, rows.get("exposure"), n)
        given = {name: v for name, v in rows.items() if name not in ("exposure", "sample_weight")}
        known, _ = self._likelihood_outcomes(y, n, **given)
        lower, upper = np.broadcast_to(known, (2, n))
        low, high, bad, own = np.empty(n), np.empty(n), 0, record.own_of(self.draws_)
        likelihoods = self._log_likelihoods(X, y, offset, **rows)
        for (part, m), value in zip(predictions.predictors(self.draws_, X, offset=shift), likelihoods, strict=True):
            share = np.full(m.shape, 1.0 / m.shape[1])
            if not new:
                value, lost = predictions.possible(value)
                found, k = psis(-value)
                share, bad = np.exp(found), bad + int((lost | (k > UNRELIABLE)).sum())
            if record.signed:
                low[part] = high[part] = (share * predictions.applied(record.probability, m)).sum(axis=1)
                continue
            a, b = lower[part, None], upper[part, None]
            a = a - 1.0 if record.discrete else a
            with np.errstate(all="ignore"):  # of the outcomes 0 and inf
                below = 1.0 - np.where((a < 0.0) & record.discrete, 1.0, record.tail(a, m, own))
                up = 1.0 - record.tail(b, m, own)
            low[part], high[part] = (share * below).sum(axis=1), (share * up).sum(axis=1)
        if bad:
            warn(
                f"{bad} of {n} rows have a Pareto k above {UNRELIABLE}: predictions without them are unreliable; pass rows that "
                "were not in the fit, with new=True"
            )
        if record.signed:
            return _of_event(low, known > 0.0, weights, bins, level)
        return _of_places(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), weights, bins, level)


def _shares(count, rows, level):
    """Shares of rows with exact binomial intervals, also of counts that are not whole."""
    tail = 0.5 * (1.0 - level)
    lower = np.where(count > 0.0, betaincinv(np.maximum(count, 1e-300), rows - count + 1.0, tail), 0.0)
    upper = np.where(count < rows, betaincinv(count + 1.0, np.maximum(rows - count, 1e-300), 1.0 - tail), 1.0)
    return {"observed": count / rows, "lower": lower, "upper": upper}


def _of_event(p, event, weights, bins, level):
    """Rows in order of their probabilities, in bins of equally many; equal probabilities stay together."""
    order = np.argsort(p, kind="stable")
    at = np.searchsorted(p[order], p[order[(np.arange(1, bins) * p.size) // bins]])  # the first row of each bin
    begin = np.unique(np.concatenate([[0], at]))
    sums = lambda v: np.add.reduceat((weights * v)[order], begin)  # noqa: E731
    rows, ends = sums(np.ones(p.size)), np.append(begin[1:], p.size) - 1
    columns = {"from": p[order][begin], "to": p[order][ends], "rows": rows, "predicted": sums(p) / rows}
    return Table(columns | _shares(sums(event.astype(float)), rows, level), level=level)


def _of_places(low, high, weights, bins, level):
    """Stretches from `low` to `high` of the probability, each spread evenly over the bins that it meets."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    wide = high > low
    with np.errstate(all="ignore"):
        below = np.where(wide, (edges[:, None] - low) / (high - low), edges[:, None] > low)
    below = np.clip(below, 0.0, 1.0)
    below[0], below[-1] = 0.0, 1.0
    rows, count = weights.sum(), np.diff(below @ weights)
    columns = {"from": edges[:-1], "to": edges[1:], "rows": count, "predicted": np.full(bins, 1.0 / bins)}
    return Table(columns | _shares(np.minimum(count, rows), rows, level), level=level)
