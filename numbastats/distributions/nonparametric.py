"""The distribution of values known in part, without a family: Kaplan and Meier's estimate, and Turnbull's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import checked_level, choice
from numbastats._core.data import NanPolicy
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.groups import keys_of
from numbastats._core.launch import run_loop
from numbastats._core.parallel import check_workers
from numbastats._core.results import Batch, Intervals, Library, Table, half_width
from numbastats._core.status import Status
from numbastats.distributions.fitting import known_of_many, known_of_one
from numbastats.distributions.kernels.nonparametric import npmle, product_limit

__all__ = ["Steps", "Survival", "Survivals", "steps_of", "survival", "survival_many"]

Band = Literal["log-log", "plain"]
_EQUAL = 1e-12  # of probabilities
_NO_MASS = 1e-9  # below it a mass is one that the maximum has not
_NO_UNIT = 1e-4  # of a unit is none
_NAMES = "Kaplan-Meier", "Turnbull"
_EARLY = "the estimate is 0 from {:g} on, where all at risk had their event; those who entered later do not count"
_UNENDED = "no convergence: the log-likelihood still rises by {:.1g} for each unit of weight and of mass that moves"


class Steps(NamedTuple):
    """Estimates of many data sets: places where they fall, one set after another, and numbers of each set."""

    off: NDArray[np.int64]  # (count + 1,), where the places of a set begin
    since: NDArray[np.float64]  # below `time` where it is only known that mass lies above it, up to `time`
    time: NDArray[np.float64]
    at_risk: NDArray[np.float64]
    events: NDArray[np.float64]
    censored: NDArray[np.float64]
    survival: NDArray[np.float64]  # from `time` on
    variance: NDArray[np.float64]  # over the square of `survival`, by Greenwood: inf where that is 0; NaN of Turnbull's estimate
    status: NDArray[np.int64]  # (count,)
    gradient: NDArray[np.float64]  # the largest derivative by a mass, for each unit of weight; NaN of product limits
    last: NDArray[np.float64]  # beyond it nothing is known
    n_obs: NDArray[np.float64]  # sum of the weights
    n_values: NDArray[np.int64]
    alive: NDArray[np.float64]  # up to there a value is known to have come
    start: NDArray[np.float64]  # the least entry, of values below which nothing is known; -inf without entries

    @property
    def which(self):
        """The set of each place."""
        return np.repeat(np.arange(self.off.size - 1), np.diff(self.off))

    def part(self, i):
        """One data set."""
        a, b = self.off[i], self.off[i + 1]
        return Steps(np.array([0, b - a]), *(v[a:b] for v in self[1:8]), *(v[i : i + 1] for v in self[8:]))

    @property
    def se(self):
        """Greenwood's standard errors; NaN where there is none."""
        known = np.isfinite(self.variance)
        return np.where(known, self.survival * np.sqrt(np.where(known, self.variance, 0.0)), math.nan)

    def band(self, level, band):
        """Ends of pointwise intervals; NaN where there is no standard error."""
        width = half_width(checked_level(level)) * np.sqrt(self.variance)
        with np.errstate(all="ignore"):
            if choice("band", band, ("log-log", "plain")) == "plain":
                ends = self.survival * (1.0 - width), self.survival * (1.0 + width)
            else:
                power = np.exp(-width / np.log(self.survival))
                ends = self.survival**power, self.survival ** (1.0 / power)
            known, certain = np.isfinite(self.variance), self.variance == 0.0  # without an event before it
            return [np.where(certain, 1.0, np.where(known, np.clip(end, 0.0, 1.0), math.nan)) for end in ends]

    def columns(self, level, band):
        """The columns of tables."""
        columns = {"since": self.since} if self.estimator == _NAMES[1] else {}
        columns |= {name: getattr(self, name) for name in ("time", "at_risk", "events", "censored", "survival", "se")}
        return columns | dict(zip(("lower", "upper"), self.band(level, band), strict=True))

    @property
    def estimator(self):
        """Whose estimates these are."""
        return _NAMES[int(not np.isnan(self.gradient).all())]

    def message(self, i):
        """How the estimate of one set ended, in words."""
        one, status = self.part(i), Status(int(self.status[i]))
        if status == Status.NO_CONVERGENCE:
            return _UNENDED.format(self.gradient[i])
        if status != Status.OK:
            return status.meaning
        if not one.events.any():
            return "no event was seen: the estimate is 1 as far as it goes"
        falls = one.time[one.survival == 0.0]
        return _EARLY.format(falls[0]) if falls.size and falls[0] < one.alive[0] else status.meaning


def steps_of(known: Any, workers: Any = None) -> Steps:
    """The estimates of series and what is known of their values; missing ones and those of weight 0 are left out."""
    s = known.series
    lo, hi = s.x, s.x if s.hi is None else s.hi
    which = np.repeat(np.arange(s.off.size - 1), np.diff(s.off))
    w = np.ones(lo.size) if s.w is None else s.w
    late = np.full(lo.size, -math.inf) if known.entry is None else known.entry
    use = ~np.isnan(lo) & (w > 0.0)
    if (wrong := use & np.isinf(lo) & (lo == hi)).any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"{int(wrong.sum())} of the values are infinite, the first at position {i}; of a life that had not ended pass the "
            "time up to which it was seen, with event False"
        )
    estimated = _regions if ((lo < hi) & (hi < math.inf) & use).any() else _limits
    which, lo, hi, late, w = (np.ascontiguousarray(a[use]) for a in (which, lo, hi, late, w))
    count = s.off.size - 1
    last, alive = np.where(hi < math.inf, hi, lo), np.where(lo < hi, np.nextafter(lo, hi), lo)
    last, alive, start = (
        _each(extreme, which, values, count) for extreme, values in ((np.maximum, last), (np.maximum, alive), (np.minimum, late))
    )
    places = estimated(count, which, lo, hi, late, w, workers)
    weights, values = np.bincount(which, w, count), np.bincount(which, minlength=count)
    return Steps._make((*places, last, weights, values, alive, start))


def _off(which, count):
    """Where data sets begin whose numbers are those, in ascending order."""
    return np.searchsorted(which, np.arange(count + 1)).astype(np.int64)


def _each(extreme, which, values, count):
    """The largest, or least, value of each data set, NaN where there is none."""
    off, found = _off(which, count), np.full(count, math.nan)
    some = off[:-1] < off[1:]
    found[some] = extreme.reduceat(values, off[:-1][some]) if some.any() else []
    return found


def _limits(count, which, lo, hi, late, w, workers):
    """Product limits of exact times and of times that are open above: the first columns of `Steps`."""
    order = np.lexsort((lo, which)) if count > 1 else np.argsort(lo)
    of, at, weight, exact = which[order], lo[order], w[order], (lo == hi)[order]
    new = np.ones(lo.size, bool)
    new[1:] = (at[1:] != at[:-1]) | (of[1:] != of[:-1])
    row, of_row, time = np.cumsum(new) - 1, of[new], at[new]
    left, events, censored = (np.bincount(row, weight * those, time.size) for those in (1.0, exact, ~exact))
    entered = np.flatnonzero(late > -math.inf)
    if entered.size:  # into the last row up to it; below the first time of its set an entry is at risk everywhere
        place = np.r_[np.zeros(time.size), np.ones(entered.size)], np.r_[time, late[entered]], np.r_[of_row, which[entered]]
        order = np.lexsort(place)
        comes = order >= time.size
        into, unit = np.cumsum(~comes)[comes] - 1, entered[order[comes] - time.size]
        within = (into >= 0) & (of_row[into] == which[unit])
        left -= np.bincount(into[within], w[unit[within]], time.size)
    off, survival, variance = _off(of_row, count), np.empty(time.size), np.empty(time.size)
    run_loop(product_limit, lo.size if count > 1 else 1, workers, off, left, events, survival, variance)
    status = np.where(np.diff(off) > 0, Status.OK, Status.NONE_LEFT).astype(np.int64)
    return off, time, time, left, events, censored, survival, variance, status, np.full(count, math.nan)


def _regions(count, which, lo, hi, late, w, workers):
    """Turnbull's estimate of intervals (lo, hi], which are exact where both ends are equal.

    Mass lies in regions that begin at a lower end and end at the next upper end or entry. B. W. Turnbull, "The empirical
    distribution function with arbitrarily grouped, censored and truncated data", JRSS B 38 (1976); of entries H. Frydman, "A note
    on nonparametric estimation of the distribution function from interval-censored and truncated observations", JRSS B 56 (1994).
    """
    n, entered = lo.size, np.flatnonzero(late > -math.inf)
    of, at = np.r_[which, which, which[entered]], np.r_[lo, hi, late[entered]]
    # at equal places: exact values begin, upper ends, entries, open lower ends
    kind = np.r_[np.where(lo == hi, 0, 3), np.ones(n, int), np.full(entered.size, 2)]
    order = np.lexsort((kind, at, of))
    begins = order < n
    starts = begins & np.r_[~begins[1:], False]  # of the same set: the last end of each is an upper one
    row = np.empty(order.size, np.int64)
    row[order] = np.cumsum(starts) - np.where(begins, starts, 0)  # number of regions before it
    first = np.flatnonzero(starts)
    regions = _off(of[order[first]], count)
    since, time = at[order[first]], at[order[first + 1]]
    seen = regions[which].copy()
    seen[entered] = row[2 * n :]
    units = np.stack([row[:n], row[n : 2 * n], seen, (hi == math.inf) + regions[which]], axis=1) - regions[which][:, None]
    mass, survival, events, censored, at_risk = (np.empty(time.size) for _ in range(5))
    numbers, off = np.empty((count, 4)), _off(which, count)
    work = np.empty((9, time.size + count))
    out = mass, survival, events, censored, at_risk, numbers
    run_loop(npmle, 100 * n if count > 1 else 1, workers, np.ascontiguousarray(units), w, off, regions, work, *out)
    keep = (time < math.inf) & (mass > _NO_MASS)
    off, row, sets = np.r_[0, np.cumsum(keep)][regions], np.cumsum(keep) - 1, np.repeat(np.arange(count), np.diff(regions))
    after = row >= off[sets]  # a row of the same set is before it
    censored = np.bincount(row[after], censored[after], int(keep.sum()))
    since, time, at_risk, events, survival = (a[keep] for a in (since, time, at_risk, events, survival))
    survival[survival * np.bincount(which, minlength=count)[sets[keep]] < _NO_UNIT] = 0.0  # the rest of a climb to 0
    blank = np.full(time.size, math.nan)
    return off, since, time, at_risk, events, censored, survival, blank, numbers[:, 0].astype(np.int64), numbers[:, 2]


# --- results -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Survival(Intervals):
    """The distribution of values known in part, without a family; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    time : array of shape (m,)
        Where something was seen: events, and ends of times that are censored. Of intervals the upper ends of the regions in which
        mass lies, as far as they are finite.
    since : array of shape (m,)
        Lower ends of these regions, above which the mass lies; equal to `time` where its place is known.
    at_risk : array of shape (m,)
        Number of units, sum of their weights, that had entered before `time` and lived up to it; of intervals the expected one.
    events, censored : array of shape (m,)
        Numbers of events at `time`, and of times that are censored there, or before the next one; of intervals expected ones.
    survival : array of shape (m,)
        Probability of values above `time`.
    se : array of shape (m,)
        Greenwood's standard errors; NaN where the estimate is 0, and of intervals.
    start, last : float
        The least entry, of values below which the data tell nothing, -inf without `entry`; and the largest finite time, beyond
        which nothing is known.
    n_obs : float
        Sum of the weights.
    n_values, n_missing : int
        Number of the values that were taken, not missing and of weight > 0, and of the missing ones.
    estimator : str
        "Kaplan-Meier", or "Turnbull" of intervals.
    gradient : float
        Of intervals the largest derivative of the log-likelihood by a mass, for each unit of weight: 0 at the maximum, where no
        mass that moves makes the data likelier. NaN of times that are exact or open above, whose maximum is a closed form.
    status : int
        A `numbastats.Status`.
    converged : bool
    message : str
        The status in words, or what is to be known of the estimate.
    """

    time: NDArray[np.float64]
    since: NDArray[np.float64]
    at_risk: NDArray[np.float64]
    events: NDArray[np.float64]
    censored: NDArray[np.float64]
    survival: NDArray[np.float64]
    se: NDArray[np.float64]
    start: float
    last: float
    n_obs: float
    n_values: int
    n_missing: int
    estimator: str
    gradient: float
    status: int
    converged: bool
    message: str
    _steps: Steps
    _estimate: ClassVar[Callable[..., Any]]  # set by `inference`, whose tests need these estimates

    @classmethod
    def _of(cls, steps, i, n_missing):
        """That of one of several data sets."""
        one, status = steps.part(i), int(steps.status[i])
        columns = one.time, one.since, one.at_risk, one.events, one.censored, one.survival, one.se
        start, last, n_obs, gradient = (float(v[0]) for v in (one.start, one.last, one.n_obs, one.gradient))
        counts, ending = (int(one.n_values[0]), int(n_missing)), (status, status == Status.OK, steps.message(i))
        return cls(*columns, start, last, n_obs, *counts, steps.estimator, gradient, *ending, one)

    def _headline(self) -> str:
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        weight = "" if self.n_values == self.n_obs else f" of total weight {self.n_obs:g}"
        return f"{self.estimator}, {self.n_values} values{weight}{missing}, {self.events.sum():.6g} events, {self.message}"

    @names_ours
    def summary(self, level: float = 0.95, *, band: Band = "log-log") -> Table:
        """A row for each place where something was seen, with pointwise intervals.

        Parameters
        ----------
        level : float
            Confidence of the intervals, between 0 and 1.
        band : {"log-log", "plain"}
            Symmetric for log(-log(survival)), which stays between 0 and 1 and has the better coverage, or for the survival, cut
            at 0 and 1.

        Returns
        -------
        Table
            A dict of the columns "time", "at_risk", "events", "censored", "survival", "se", "lower", "upper" and "level"; of
            intervals "since" is the first.

        Raises
        ------
        ValueError
            For a level out of range, and an unknown band.
        """
        return Table(self._steps.columns(level, band), level=level)

    @names_ours
    def to_frame(self, library: Library | None = None, *, level: float = 0.95, band: Band = "log-log") -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`, `level` and `band` as in `summary`."""
        return self.summary(level, band=band).to_frame(library)

    @names_ours
    def sf(self, t: ArrayLike) -> Any:
        """Probability of values above t.

        Parameters
        ----------
        t : array_like
            Times.

        Returns
        -------
        float or array
            NaN beyond `last`, unless the estimate is 0 there; of intervals also within a region of mass, between `since` and
            `time`.
        """
        return self._at(t, self.survival, 1.0)

    @names_ours
    def cdf(self, t: ArrayLike) -> Any:
        """Probability of values up to t, 1 - ``sf(t)``."""
        return 1.0 - self.sf(t)

    @names_ours
    def cumulative_hazard(self, t: ArrayLike) -> Any:
        """The Nelson-Aalen estimate: the sum of events over units at risk, up to t; NaN as in `sf`."""
        with np.errstate(invalid="ignore"):
            return self._at(t, np.cumsum(self.events / self.at_risk), 0.0)

    def _at(self, t, values, before):
        """A step function that has values from the times on; NaN where it is not known."""
        t = np.asarray(t, np.float64)
        place = np.searchsorted(self.time, t, "right")
        found = np.r_[before, values][place]
        inside = t > np.r_[self.since, math.inf][place]
        known = (t <= self.last) | (np.r_[1.0, self.survival][place] == 0.0)
        return np.where(known & ~inside, found, math.nan)[()]

    @names_ours
    def quantile(self, p: ArrayLike) -> Any:
        """The least time up to which a share p of the values lies.

        Parameters
        ----------
        p : array_like
            Probabilities between 0 and 1.

        Returns
        -------
        float or array
            NaN where the estimate does not come so far; of intervals the upper end of the region where it does.
        """
        return self._crossed(self.survival, p)

    @property
    def median(self) -> float:
        """The quantile of 1/2."""
        return float(self.quantile(0.5))

    @names_ours
    def quantile_interval(self, p: ArrayLike, *, level: float = 0.95, band: Band = "log-log") -> tuple[Any, Any]:
        """Confidence intervals of quantiles: the times at which the band of the estimate has the probability 1 - p in it.

        Parameters
        ----------
        p : array_like
            Probabilities between 0 and 1.
        level : float
            Of confidence, between 0 and 1.
        band : {"log-log", "plain"}
            As in `summary`.

        Returns
        -------
        lower, upper : float or array
            NaN where the band does not come so far, and of intervals, which have no band.

        References
        ----------
        R. Brookmeyer, J. Crowley, "A confidence interval for the median survival time", Biometrics 38 (1982) 29-41.
        """
        lower, upper = self._steps.band(level, band)
        return self._crossed(lower, p), self._crossed(upper, p)

    def _crossed(self, survival, p):
        """The first time at which a survival, NaN where it is not known, is at most 1 - p."""
        p = np.asarray(p, np.float64)
        if not ((p >= 0.0) & (p <= 1.0)).all():
            raise ValueError(f"p={p} must be probabilities between 0 and 1")
        falling = np.fmin.accumulate(np.r_[1.0, survival])[1:]  # passes over NaN
        place = np.searchsorted(-falling, -(1.0 - p) - _EQUAL)
        return np.r_[self.time, math.nan][place][()]

    @names_ours
    def restricted_mean(self, t: float | None = None, *, level: float = 0.95) -> Any:
        """The mean of min(value, t): of lives, the mean life within the time t.

        Parameters
        ----------
        t : float, optional
            Up to `last`, which is the default; pass the same for groups that are compared.
        level : float
            Of confidence, between 0 and 1.

        Returns
        -------
        Estimate
            ``value``, ``se``, ``lower``, ``upper``: the area below the estimate, and Greenwood's variance of it. Of intervals the
            value where masses lie in the middle of their regions, without an error; ``message`` has the least and the largest.

        Raises
        ------
        ValueError
            For t beyond `last`, where the estimate is not 0 there; for an estimate without values.
        """
        t = self.last if t is None else float(t)
        level = checked_level(level)
        if not (t <= self.last or (self.survival[-1:] == 0.0).any()):
            raise ValueError(f"t={t} is beyond {self.last}, the last time that was seen; pass one up to there")
        after = self._areas(self.time, t)
        if self.estimator == _NAMES[1]:
            low, high = self._areas(self.since, t)[0], after[0]
            value = 0.5 * (low + high)
            said = f"between {low:.6g} and {high:.6g}, by where in their regions masses lie; intervals give no standard error"
            return self._estimate(value, math.nan, math.nan, math.nan, level, "Turnbull", None, said)
        with np.errstate(all="ignore"):
            terms = self.events / (self.at_risk * (self.at_risk - self.events))
        used = (self.time <= t) & (after[1:] != 0.0)
        se = math.sqrt(float(np.sum(np.square(after[1:])[used] * terms[used])))
        value, width = float(after[0]), half_width(level) * se
        return self._estimate(value, se, value - width, value + width, level, "Greenwood", None, "ok")

    def _areas(self, times, t):
        """The restricted mean, and the areas below the estimate from each time on."""
        ends = np.minimum(np.r_[times, t], t)
        pieces = np.r_[self.survival * np.diff(ends), 0.0]
        after = np.cumsum(pieces[::-1])[::-1]
        return np.r_[ends[0] + after[0], after[:-1]]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Survivals(Batch):
    """The distributions of several groups of values known in part; it prints as a table.

    ``found[key]``, ``found.one(which)`` and ``found.at(i)`` are the `Survival` of one group, as iteration gives all and
    ``found.items()`` pairs (key, estimate).

    Attributes
    ----------
    keys : tuple or None
        Of the groups.
    status : array of int
        How the estimates ended, numbers of `numbastats.Status`.
    n_obs, n_values, n_missing : array
        As of a `Survival`.
    """

    _steps: Steps
    n_missing: NDArray[np.int64]
    keys: Any
    _shaped: tuple[int, ...]
    _entered: bool

    def __len__(self) -> int:
        return self._steps.status.size

    @property
    def _shape(self):
        return self._shaped

    @property
    def status(self) -> NDArray[np.int64]:
        """How the estimates ended."""
        return self._steps.status.reshape(self._shaped)

    @property
    def n_obs(self) -> NDArray[np.float64]:
        """Sums of the weights."""
        return self._steps.n_obs.reshape(self._shaped)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Numbers of the values that were taken."""
        return self._steps.n_values.reshape(self._shaped)

    def _item(self, i):
        return Survival._of(self._steps, i, self.n_missing.flat[i])

    def _headline(self) -> str:
        count = f"{len(self)} groups, {int(self.n_values.sum())} values"
        failed = np.flatnonzero(self._steps.status != Status.OK)
        first = (
            f", {failed.size} without an estimate, the first {failed[0]}: {self._steps.message(failed[0])}" if failed.size else ""
        )
        return f"{self._steps.estimator}, {count}{first}"

    @names_ours
    def summary(self, level: float = 0.95, *, band: Band = "log-log") -> Table:
        """A row for each group and place where something was seen, with pointwise intervals.

        Parameters
        ----------
        level : float
            Confidence of the intervals, between 0 and 1.
        band : {"log-log", "plain"}
            As in `Survival.summary`.

        Returns
        -------
        Table
            A dict of the columns of `Survival.summary`, before them "key" or the columns of the groups.

        Raises
        ------
        ValueError
            For a level out of range, and an unknown band.
        """
        columns = self._steps.columns(level, band)
        rows = self._steps.which
        if self.keys is None:
            columns = {"group": rows} | columns
        return self._table(columns, lambda made: Table(made, level=level), rows=rows)

    @names_ours
    def to_frame(self, library: Library | None = None, *, level: float = 0.95, band: Band = "log-log") -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`, `level` and `band` as in `summary`."""
        return self.summary(level, band=band).to_frame(library)

    def logrank(self) -> Any:
        """Log-rank test that two groups have the same distribution, by `scipy.stats.logrank`.

        Returns
        -------
        scipy.stats._survival.LogRankResult
            ``statistic``, whose square is chi-squared of one degree of freedom, and the two-sided ``pvalue``.

        Raises
        ------
        ValueError
            For other than two groups; for intervals, entries and weights that are not whole, which the test does not take; where
            a group has no values, or no event was seen while both had units at risk.
        """
        from scipy.stats import CensoredData, logrank

        s = self._steps
        if len(self) != 2:
            raise ValueError(f"logrank compares two groups, and there are {len(self)}; pass two of them to survival_many")
        if s.estimator == _NAMES[1] or self._entered or (s.events % 1.0).any() or (s.censored % 1.0).any():
            raise ValueError(
                "logrank takes times that are exact or open above, without entries, and weights that are whole numbers"
            )
        if (s.n_values == 0.0).any() or not s.events.any():
            why = "a group has no values" if (s.n_values == 0.0).any() else "no event was seen"
            raise ValueError(f"logrank compares the events of two groups, but {why}: there is no test")
        parts = (s.part(i) for i in range(2))
        times = (
            {"uncensored": np.repeat(p.time, p.events.astype(int)), "right": np.repeat(p.time, p.censored.astype(int))}
            for p in parts
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            made = logrank(*(CensoredData(**one) for one in times))
        if np.isnan(made.statistic):
            raise ValueError(
                "logrank compares two groups that live at the same time, but at no event could it have been either's"
            )
        return made


# --- functions ---------------------------------------------------------------------------------------------------------


def _missing(known):
    """Numbers of missing values of each series."""
    which = np.repeat(np.arange(known.series.off.size - 1), np.diff(known.series.off))
    return np.bincount(which, np.isnan(known.series.x), known.series.off.size - 1).astype(np.int64)


def _tell(steps):
    """Warn of data sets without an estimate."""
    failed = np.flatnonzero(steps.status != Status.OK)
    if failed.size:
        of = "" if steps.status.size == 1 else f"{failed.size} of {steps.status.size} estimates, the first at index {failed[0]}: "
        warn(f"{of}{steps.message(failed[0])}", ConvergenceWarning)


@names_ours
def survival(
    x: Any,
    *,
    weights: ArrayLike | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    nan_policy: NanPolicy = "omit",
) -> Survival:
    """The distribution of values known in part, without a family: Kaplan and Meier's estimate, or Turnbull's.

    Parameters
    ----------
    x, weights, censored, event, entry, nan_policy
        As in `fit`.

    Returns
    -------
    Survival
        A table of times, units at risk, events, survival and standard errors.

    Raises
    ------
    TypeError, ValueError
        As of `fit`; for infinite values.

    Warns
    -----
    ConvergenceWarning
        Where all values are missing; where the maximum of the likelihood was not reached.

    Notes
    -----
    Both are the nonparametric maximum of the likelihood. Where all times are exact or open above (censored on the right), it is
    the product of 1 - events / at risk, and Greenwood's formula gives the variance; an event comes before a time that is censored
    at the same place. With `entry` a unit is at risk after its entry, and the estimate is that of values above the least entry.

    Otherwise a value lies above lo and up to hi. Masses lie in the regions that begin at a lower end and end at the next upper
    end or entry; where in a region is not determined. EM steps and Newton steps take turns until no derivative by a mass is above
    1e-8 for each unit of weight, which is the condition of the maximum. There are no standard errors: the estimate converges like
    the third root of the number of values.

    References
    ----------
    E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958) 457-481. B. W. Turnbull, "The
    empirical distribution function with arbitrarily grouped, censored and truncated data", JRSS B 38 (1976) 290-295. J. A.
    Wellner, Y. Zhan, "A hybrid algorithm for computation of the nonparametric maximum likelihood estimator from censored data",
    JASA 92 (1997) 945-959.

    Examples
    --------
    >>> import numbastats as ns
    >>> found = ns.distributions.survival(
    ...     [6, 6, 7, 10, 13], event=[True, False, True, False, True]
    ... )
    >>> found
    Survival: Kaplan-Meier, 5 values, 3 events, converged
    time  at_risk  events  censored  survival        se  lower 95 %  upper 95 %
       6        5       1         1       0.8  0.178885    0.203809     0.96918
       7        3       1         0  0.533333  0.248253   0.0683321    0.863071
      10        2       0         1  0.533333  0.248253   0.0683321    0.863071
      13        1       1         0         0
    >>> found.median, round(float(found.sf(8.0)), 4)
    (13.0, 0.5333)
    """
    known = known_of_one(x, (weights, censored, event, entry, None), nan_policy, "survival_many(x, axis=...)")
    steps = steps_of(known)
    _tell(steps)
    return Survival._of(steps, 0, _missing(known)[0])


@names_ours
def survival_many(
    data: Any,
    *,
    axis: int | None = None,
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    weights: ArrayLike | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    nan_policy: NanPolicy = "omit",
    workers: Any = None,
) -> Survivals:
    """The distribution of each of several groups of values known in part, without a family.

    Parameters
    ----------
    data, axis, by, dim, weights, censored, event, entry, nan_policy
        As in `fit_many`: a frame with the column `by` of groups, a dict of arrays, series along an axis.
    workers : int, optional
        Threads.

    Returns
    -------
    Survivals
        ``found[key]`` is the `Survival` of a group, ``found.logrank()`` a test that two groups have one distribution.

    Raises
    ------
    TypeError, ValueError
        As of `fit_many`; for infinite values.

    Warns
    -----
    ConvergenceWarning
        Where all values of a group are missing; where the maximum of a likelihood was not reached.

    Notes
    -----
    As of `survival`; Turnbull's estimate is that of all groups where a time of one is an interval.

    Examples
    --------
    >>> import numbastats as ns
    >>> weeks = {"drug": [6.0, 7.0, 10.0, 32.0], "placebo": [1.0, 2.0, 5.0, 8.0]}
    >>> seen = {"drug": [True, True, False, False], "placebo": [True, True, True, True]}
    >>> found = ns.distributions.survival_many(weeks, event=seen)
    >>> float(found["drug"].sf(8.0)), round(float(found.logrank().pvalue), 3)
    (0.5, 0.085)
    """
    check_workers(workers)
    known = known_of_many(data, (weights, censored, event, entry, None), nan_policy, axis, by, dim)
    steps, s = steps_of(known, workers), known.series
    _tell(steps)
    keys = s.keys if s.labels is None else keys_of(s.labels)
    return Survivals(steps, _missing(known).reshape(s.shape), keys, s.shape, known.entry is not None)
