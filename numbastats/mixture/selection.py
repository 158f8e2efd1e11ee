"""The choice among starts and among optima: the best few starts, the best admissible optimum, its hits and runner-up."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from numbastats._core.status import CONVERGED, FITTED, Status
from numbastats.mixture.information import reordered

_NO_FIT = {Status.COLLAPSED: "every start collapsed", Status.TOO_FEW: "too few distinct values"}
NARROW = 0.015  # by default, of the spread of the data
NUMBERS = ("loglik", "objective", "decrement", "min_eig", "runner_up", "gap")  # of a fit, doubles
COUNTS = ("n_iter", "n_passes", "hits", "n_singular", "n_climbed", "n_starts")


@dataclasses.dataclass
class Result:
    """Outcome for one number of components, one row per data set, in scaled units."""

    par: np.ndarray  # (D, rows, K)
    loglik: np.ndarray
    objective: np.ndarray
    decrement: np.ndarray
    min_eig: np.ndarray
    status: np.ndarray
    n_iter: np.ndarray
    n_passes: np.ndarray
    hits: np.ndarray
    runner_up: np.ndarray
    n_singular: np.ndarray
    n_climbed: np.ndarray
    n_starts: np.ndarray
    keeps: np.ndarray  # whether it is admissible
    hess: np.ndarray  # without elements where none is wanted
    gap: np.ndarray
    short: np.ndarray  # whether one component less is likelier than all that is certified and admissible
    starts: tuple | None = None


def result_of(choice, par, order, hess) -> Result:
    """From what `choose` has found of each data set; `order` is that of the components among the second derivatives."""
    numbers: dict[str, Any] = {name: np.array(choice[name]) for name in (*NUMBERS, *COUNTS) if name != "gap"}
    hess = reordered(hess, order) if hess.size and par.shape[2] > 1 else hess
    status, keeps = choice["status"].astype(np.int8), choice["keeps"] > 0
    gap, short = np.full(choice.size, np.nan), np.zeros(choice.size, bool)
    return Result(par=par, status=status, keeps=keeps, hess=hess, gap=gap, short=short, **numbers)


def merged(r, again):
    """Change fits to those of another search where these are better; returns where."""
    certified = lambda f: np.isin(f.status, CONVERGED)  # noqa: E731
    rank = lambda f: np.select([(f.status == Status.OK) & f.keeps, certified(f)], [2, 1], 0)  # noqa: E731
    before, after, nothing = rank(r), rank(again), np.isnan(r.objective)
    with np.errstate(invalid="ignore"):
        slack = 1e-6 * np.maximum(1.0, 1e-6 * np.abs(r.objective))
        better = (after > before) | ((after == before) & ((again.objective > r.objective + slack) | nothing))
        level = np.abs(again.objective - r.objective) <= slack
        beaten = np.where(better, r.objective, again.objective)
        beaten[level | ~np.where(better, certified(r), certified(again))] = np.nan
        r.runner_up = np.fmax(
            np.fmax(np.where(level | ~better, r.runner_up, np.nan), np.where(level | better, again.runner_up, np.nan)), beaten
        )
    for name in ("n_passes", "n_singular", "n_climbed", "n_starts"):
        getattr(r, name)[:] += getattr(again, name)
    r.hits[level & ~better] += again.hits[level & ~better]
    for name in ("par", "loglik", "objective", "decrement", "min_eig", "status", "n_iter", "hits", "keeps", "hess"):
        getattr(r, name)[better] = getattr(again, name)[better]
    return better & np.isfinite(again.objective)


def passed_over(fits, pick, criterion):
    """What a choice among numbers of components has passed over, in words, and whether that makes it doubtful.

    `fits` are (number, status, value of the criterion, whether fewer components are likelier). It is doubtful where a fit of a
    better criterion is not admissible, or there is none; not where the values are too few for more components.
    """
    _, own, best, _ = fits[pick]
    passed, doubtful = [], False
    for K, status, value, short in fits:
        if value < best:
            why, doubtful = f"{criterion} lower by {best - value:.4g}", True
        elif short:
            why = "less likely than fewer components where certified"
        elif status in _NO_FIT and own != status:
            why, doubtful = _NO_FIT[status], doubtful or status == Status.COLLAPSED
        else:
            continue
        passed.append(f"{K} (status {status}, {why})")
    if passed:
        return f"numbers of components passed over: {', '.join(passed)}", doubtful
    if own in FITTED and own != Status.OK:
        return "no number of components has an admissible certified fit of as good a criterion", True
    return "", False
