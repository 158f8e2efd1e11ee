"""Baseline hazards after a fit of proportional hazards, probabilities of survival by them, and hazard ratios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbastats._core.results import Table
from numbastats.bayes import kernels as k
from numbastats.bayes import predictions

_DRAWS, _NUMBERS, _BLOCK = 1000, 2**24, 2**22  # draws with a baseline, numbers of all of these, predictors held at once


class Baseline(NamedTuple):
    """Logarithms of cumulative hazards at event times, for the row `centre` and some of the draws.

    Parameters
    ----------
    logs : numpy.ndarray, shape (draws, steps)
    time, stratum : numpy.ndarray, shape (steps,)
    last, labels : numpy.ndarray, shape (strata,)
    centre : numpy.ndarray, shape (p,)
    stratified : numpy.ndarray of bool, shape ()
        Whether the fit had strata.
    """

    logs: np.ndarray
    time: np.ndarray
    stratum: np.ndarray
    last: np.ndarray
    labels: np.ndarray
    centre: np.ndarray
    stratified: np.ndarray

    def table(self, level):
        """Posterior means and intervals of the cumulative hazards."""
        hazard = np.exp(self.logs)
        lower, upper = np.quantile(hazard, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
        columns = {"stratum": self.labels[self.stratum]} if self.stratified else {}
        columns |= {"time": self.time, "hazard": hazard.mean(axis=0), "lower": lower, "upper": upper}
        return Table(columns, level=level)

    def numbers(self, strata, n):
        """Numbers of the strata of n rows; raises for labels that the fit has not seen."""
        if strata is None or not self.stratified:
            if strata is None and not self.stratified:
                return np.zeros(n, np.int64)
            raise ValueError("the fit had strata=; pass those of these rows" if strata is None else "the fit had no strata=")
        strata = np.full(n, strata) if np.ndim(strata) == 0 else np.asarray(strata)
        if strata.shape != (n,):
            raise ValueError(f"strata has shape {strata.shape}, but X has {n} rows; pass one label per row")
        known = {label: number for number, label in enumerate(self.labels.tolist())}
        for i, label in enumerate(strata.tolist()):
            if label not in known:
                raise ValueError(f"strata[{i}] is {label!r}, of which the fit has no rows; it had {', '.join(map(repr, known))}")
        return np.array([known[label] for label in strata.tolist()], np.int64)

    def at(self, stratum, times):
        """Logarithms of a stratum's cumulative hazard at some times, shape (draws, times); raises beyond its last row."""
        if (times > self.last[stratum]).any():
            i = int(np.argmax(times > self.last[stratum]))
            where, last = " in this stratum" * bool(self.stratified), float(self.last[stratum])
            raise ValueError(
                f"times[{i}] is {float(times[i])!r}, but the rows of the fit{where} were seen up to {last!r} only, beyond which "
                "their hazard is unknown; pass times up to that, or use a response that is a distribution of lifetimes"
            )
        own = np.flatnonzero(self.stratum == stratum)
        logs = np.concatenate([np.full((len(self.logs), 1), -np.inf), self.logs[:, own]], axis=1)
        return logs[:, np.searchsorted(self.time[own], times, side="right")]


def baseline(rows, B, centre, labels, stratified):
    """The `Baseline` of a fit.

    Given the coefficients a step of d events is gamma distributed with the shape d and the mean of Breslow's estimate: the
    posterior under a gamma process prior of the baseline whose weight goes to 0 (Kalbfleisch 1978), in which rows have the
    partial likelihood.

    Parameters
    ----------
    rows : Rows
    B : numpy.ndarray, shape (chains, draws, p)
        Coefficients of the columns of `rows`.
    centre : numpy.ndarray, shape (p,)
        The row of X whose predictor is 0 there.
    labels : numpy.ndarray
        Of the strata.
    stratified : bool
    """
    B, X, offsets = B.reshape(-1, B.shape[2]), rows.columns(), rows.facts[k.OFFSET]
    parts: list[np.ndarray] = []
    take = _taken(len(B), min(_DRAWS, max(_NUMBERS // offsets.size, 10)))
    for part in np.array_split(take, min(take.size, -(-take.size * offsets.size // _BLOCK))):
        found = rows.response.baseline(np.array([X @ b + offsets for b in B[part]]), rows.outcomes)
        parts.append(found.logs)
    logs = np.concatenate(parts)
    with np.errstate(divide="ignore"):  # of shapes near 0
        logs += np.log(np.random.default_rng(0).standard_gamma(found.events, logs.shape) / found.events)
    ends = np.flatnonzero(np.diff(found.stratum)) + 1
    for lo, hi in zip([0, *ends], [*ends, logs.shape[1]], strict=True):
        logs[:, lo:hi] = np.logaddexp.accumulate(logs[:, lo:hi], axis=1)
    return Baseline(logs, found.time, found.stratum, found.last, labels, centre, np.array(stratified))


def _taken(draws, number):
    """Equally spaced ones, as `predictions.predictors` takes them."""
    return np.linspace(0, draws - 1, min(number, draws)).round().astype(int)


@np.errstate(over="ignore")
def survival(draws, X, base, stratum, times, interval=None, offset=None):
    """As `predictions.survival`, by baselines: `stratum` has the number of each row's stratum."""
    shape, number, p = (X.shape[0], times.size), len(base.logs), X.shape[1]
    mean, ends = np.empty(shape), np.empty((2, *shape))
    beta = draws["beta"].reshape(-1, p)
    middle = beta[_taken(len(beta), number)] @ base.centre
    found = {s: base.at(s, times) for s in np.unique(stratum).tolist()}
    for part, m in predictions.predictors(draws, X, number, offset):
        for s in np.unique(stratum[part]).tolist():
            rows = np.flatnonzero(stratum[part] == s)
            for j in range(times.size):
                alive = np.exp(-np.exp(found[s][:, j] + m[rows] - middle))
                mean[part.start + rows, j] = alive.mean(axis=1)
                if interval is not None:
                    ends[:, part.start + rows, j] = np.quantile(alive, [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=1)
    return mean, ends


def with_ratios(table, draws, level):
    """A summary with hazard ratios: e to the median of a coefficient and to the ends of its interval; NaN for scales."""
    p = draws["beta"].shape[2]
    ratios = np.full((3, len(table["name"])), np.nan)
    with np.errstate(over="ignore"):
        ratios[:, :p] = np.exp([np.median(draws["beta"], axis=(0, 1)), table["lower"][:p], table["upper"][:p]])
    columns = {name: v for name, v in table.items() if name != "level"}
    return Table(columns | dict(zip(("hazard_ratio", "ratio_lower", "ratio_upper"), ratios, strict=True)), level=level)
