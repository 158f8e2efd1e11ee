"""Data sets drawn again and fitted again: from a fit, with the censoring of its data, or rows of the data."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from numbastats._core.errors import ConvergenceWarning
from numbastats._core.random import normalise_rng
from numbastats.distributions.composition import log_probability, truncate, with_zeros
from numbastats.distributions.extremes import Threshold
from numbastats.distributions.fitting import fit_known, fit_many
from numbastats.distributions.nonparametric import steps_of

__all__ = ["Drawn", "Resampled", "expanded", "padded_steps", "seen", "steps_of_known", "without_zeros"]

_VALUES = 1 << 22  # simulated at a time
_MOST = 1 << 24  # weights of intervals, for all ranges between ends
_LEAST = 1e-9  # probability of an interval


class _Counted:
    """Counts of a distribution, or of many, that are seen between two ends alone."""

    is_discrete = True

    def __init__(self, base, low, high):
        self._base, self._low, self._high = base, math.ceil(low) if math.isfinite(low) else low, high
        self._first, self._last = base.sf(self._low - 1.0), base.sf(high)
        with np.errstate(all="ignore"):
            self._mass = np.exp(log_probability(base, low, high))

    def pmf(self, k):
        inside = (k >= self._low) & (k <= self._high)
        return np.where(inside, self._base.pmf(k) / self._mass, 0.0)

    def cdf(self, k):
        return np.clip((self._first - self._base.sf(k)) / self._mass, 0.0, 1.0)

    def sf(self, k):
        return np.clip((self._base.sf(k) - self._last) / self._mass, 0.0, 1.0)

    def rvs(self, shape, rng):
        return _inverted(self._base, rng.random(shape), self._low - 1.0, self._high)


def _inverted(d, u, low, high):
    """Values of a distribution above one end up to another, by upper tail probabilities."""
    first, last = d.sf(low), d.sf(high)
    return d.isf(last + u * (first - last))


def seen(d: Any, cut: tuple[float, float] | None) -> Any:
    """The distribution of the values that are seen."""
    if cut is None or not np.isfinite(cut).any():
        return d
    return _Counted(d, *cut) if d.is_discrete else truncate(d, *cut)


def without_zeros(known: Any) -> Any:
    """Series in which zeros are missing."""
    s = known.series
    zero = (s.x == 0.0) if s.hi is None else (s.x == 0.0) & (s.hi == 0.0)
    gone = {"x": np.where(zero, math.nan, s.x)} | ({} if s.hi is None else {"hi": np.where(zero, math.nan, s.hi)})
    return known._replace(series=s._replace(w=None if s.w is None else np.where(zero, 0.0, s.w), **gone))


def expanded(known: Any) -> Any:
    """A series without missing values, each as often as its weight, a whole number, says."""
    s = known.series
    use = ~np.isnan(s.x) & (np.ones(s.x.size, bool) if s.w is None else s.w > 0.0)
    times = np.ones(s.x.size, int)
    if s.w is not None:
        if (s.w[use] != np.round(s.w[use])).any():
            raise ValueError(
                "weights must be whole numbers, of which each says how often its value was seen, for data sets to be drawn"
            )
        times = np.round(np.where(use, s.w, 0.0)).astype(int)
    rows = np.repeat(np.flatnonzero(use), times[use])
    x, hi = (None if a is None else a[rows] for a in (s.x, s.hi))
    late = None if known.entry is None else known.entry[rows]
    return known._replace(series=s._replace(x=x, hi=hi, w=None, off=np.array([0, rows.size]), length=rows.size), entry=late)


def steps_of_known(known: Any, counts: bool, workers: Any = None) -> Any:
    """The nonparametric estimates of series; an open lower end of counts is the count below it."""
    s = known.series
    if counts and s.hi is not None:
        part = s.x < s.hi
        s = s._replace(x=np.where(part, np.ceil(s.x) - 1.0, s.x), hi=np.where(part, np.floor(s.hi), s.hi))
    late = np.floor(known.entry) if counts and known.entry is not None else known.entry
    return steps_of(known._replace(series=s, entry=late), workers)


def padded_steps(steps: Any) -> tuple[Any, Any, Any]:
    """Ends of regions and what is above them, a row for each data set; the last region is that beyond the last time."""
    sizes = np.diff(steps.off)
    within = np.arange(sizes.max(initial=0) + 1) < sizes[:, None]
    since, time, above = np.full(within.shape, math.inf), np.full(within.shape, math.inf), np.zeros(within.shape)
    since[within], time[within], above[within] = steps.since, steps.time, steps.survival
    since[np.arange(sizes.size), sizes] = steps.last
    return since, time, above


class _ByTimes:
    """Censoring of times that are exact or open above: those that are not known are drawn after the events.

    A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their Application" (1997), algorithm 3.3: censored units keep their time
    of censoring; for others it is drawn from the product limit of these times, given that it is after the event.
    """

    def __init__(self, known, counts):
        s, self._counts = known.series, counts
        self._exact = s.x == s.hi if s.hi is not None else np.ones(s.x.size, bool)
        self._ends = np.where(self._exact, math.inf, s.x)
        alive = s.x if counts else np.nextafter(s.x, -math.inf)  # an event comes before a censoring at the same time
        swapped = s._replace(x=np.where(self._exact, alive, s.x), hi=np.where(self._exact, math.inf, s.x))
        steps = steps_of(known._replace(series=swapped))
        self._time, self._above = steps.time, steps.survival
        at = np.searchsorted(self._time, s.x, "right") - 1
        self._left = np.where(at >= 0, self._above[at] if self._above.size else 1.0, 1.0)

    def __call__(self, y, rng):
        """Ends of values, of shape (B, n)."""
        ends = np.broadcast_to(self._ends, y.shape)
        if self._time.size:
            later = np.searchsorted(-self._above, -rng.random(y.shape) * self._left, "left")
            drawn = np.append(self._time, math.inf)[np.where(self._left > 0.0, later, self._time.size)]
            ends = np.where(self._exact, drawn, ends)
        censored = y >= ends if self._counts else y > ends
        return np.where(censored, ends, y), np.where(censored, math.inf, y)


class _ByRegions:
    """Censoring of other intervals: a value gets one of those that hold it.

    Where the ends tell nothing of the value between them, interval i is met by a value that it holds with the chance
    1/(n P(interval i)), P of Turnbull's estimate; these chances have the sum 1 where no value is exact. R. Oller, G. Gomez, M. L.
    Calle, "Interval censoring: model characterizations for the validity of the simplified likelihood", Canadian Journal of
    Statistics 32 (2004).
    """

    def __init__(self, known, counts):
        s, self._counts = known.series, counts
        part = s.x < s.hi
        self._exact = not part.all()
        lo, hi = (np.ceil(s.x) - 1.0, np.floor(s.hi)) if counts else (s.x, s.hi)
        pairs, times = np.unique(np.stack([lo, hi], axis=1)[part], axis=0, return_counts=True)
        steps = steps_of_known(known, counts)
        above = np.append(1.0, steps.survival)
        first, last = (np.where(end < math.inf, above[np.searchsorted(steps.time, end, "right")], 0.0) for end in pairs.T)
        chance = times / s.x.size / np.maximum(first - last, _LEAST)
        self._ends = np.unique(pairs[np.isfinite(pairs)])
        if (self._ends.size + 1) * len(pairs) > _MOST:
            raise ValueError(f"the data have {len(pairs)} different intervals, too many to draw data sets with such")
        edges = np.concatenate([[-math.inf], self._ends, [math.inf]])
        holds = (pairs[:, 0] <= edges[:-1, None]) & (edges[1:, None] <= pairs[:, 1])
        sums = np.cumsum(np.where(holds, chance, 0.0), axis=1)
        total = sums[:, -1:]  # the rest are exact values, where there are any
        chances = sums / (np.maximum(total, 1.0) if self._exact else np.where(total > 0.0, total, 1.0))
        self._size, self._chances = len(pairs), (chances + 2.0 * np.arange(len(sums))[:, None]).ravel()
        self._pairs = pairs + [1.0, 0.0] if counts else pairs
        self._edges = edges

    def __call__(self, y, rng):
        cell = np.searchsorted(self._ends, y, "left")
        found = np.searchsorted(self._chances, rng.random(y.shape) + 2.0 * cell, "right") - cell * self._size
        inside = found < self._size
        lo, hi = (self._pairs[np.minimum(found, self._size - 1), j] for j in (0, 1))
        open_ = (self._edges[cell] + self._counts, self._edges[cell + 1])  # between ends, where no interval is known to be
        others = (y, y) if self._exact else open_
        return np.where(inside, lo, others[0]), np.where(inside, hi, others[1])


class Resampled(NamedTuple):
    """Data sets drawn again, and the fits to them."""

    values: Any  # (B, n), where they are exact, None where they are not
    known: Any  # their series where they are not exact
    fits: Any

    def rows(self, zeros):
        """Their distributions, with an axis for values; with all zeros, if these are inflated."""
        found = self.fits._rows(0, len(self.fits))
        return with_zeros(found, self.fits.zeros[:, None]) if zeros == "inflated" else found


class Drawn:
    """How data sets are drawn again for a fit, and fitted with the same parameters fixed.

    Parameters
    ----------
    found : DistributionFit
    zeros : {None, "share", "inflated"}
        How the fit takes zeros.
    whole : bool
        Whether the data sets have the share of zeros, too.
    """

    def __init__(self, found, zeros, workers, whole=False):
        self.found, self.zeros, self._workers = found, zeros, workers
        self._fixed = {name: found.params[name] for name, se in found.se.items() if se == 0.0}
        self._by_moments = found.method != "ml"  # which know the parameters that are not estimated
        self.size = round(found.n_obs / (1.0 - found.zeros) if whole and zeros == "share" else found.n_obs)
        self._whole = whole or zeros == "inflated"
        if self.size < 2:
            raise ValueError(
                f"the weights of the fit add up to {found.n_obs:g} observations, too few to draw samples of that size"
            )

    def _again(self, y, **known):
        """Fits to data sets of exact values, by the method of the fit."""
        options = (dict(method=self.found.method) if self._by_moments else dict(fixed=self._fixed)) | known
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the results count them
            again = fit_many(y, self.found.cls, workers=self._workers, **options)
        return again if self._by_moments else self._checked(again)

    def _checked(self, again):
        free = len(self.found.params) - len(self._fixed) + (self.zeros == "inflated")
        if again.free != free:
            raise ValueError(
                f"the fit has {free} free parameters and fits to its samples {again.free}: a parameter was freed by "
                f"fixed={{name: None}}, which the bootstrap does not know of; use method='profile'"
            )
        return again

    def _slabs(self, count):
        step = max(1, _VALUES // self.size)
        return [min(step, count - lo) for lo in range(0, count, step)]

    def exact(self, count: int, rng: Any) -> Any:
        """Data sets of exact values from the distribution, within its truncation."""
        found, generator = self.found, np.random.default_rng(normalise_rng(rng))
        if found.tail is not None:
            yield from self._above(count, generator)
            return
        d = seen(found.whole if self._whole else found.distribution, found._cut)
        zeros = self.zeros if self._whole else None
        for some in self._slabs(count):
            y = d.rvs((some, self.size), rng=generator)
            yield Resampled(y, None, self._again(y, zeros=zeros, truncated=found._cut))

    def _above(self, count, generator):
        """Values above the threshold, of which there is a binomial number of all."""
        found, tail, every = self.found, self.found.tail, round(self.found._n_all)
        numbers = generator.binomial(every, tail.share, count)
        self.size, lo = max(2, int(numbers.max())), 0
        for some in self._slabs(count):
            above = numbers[lo : lo + some]
            y = found.distribution.rvs((some, self.size), rng=generator)
            y[np.arange(self.size) >= above[:, None]] = math.nan
            again = self._again(y, threshold=tail.threshold) if self._by_moments else self._again(y)
            shares = Threshold(np.full(some, tail.threshold), above / every)
            yield Resampled(y, None, dataclasses.replace(again, tail=shares, n_below=every - above))
            lo += some

    def _fitted(self, known, zeros):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again = fit_known(
                "ml", known, self.found.cls, (known.series.w, self._fixed, self.found._cut, zeros), "cpu", self._workers
            )
        return Resampled(None, known, self._checked(again))

    def rows(self, known: Any, count: int, rng: Any) -> Any:
        """Rows of the data with all that is known of them, drawn with replacement: numbers of each are their weights."""
        s, generator = known.series, np.random.default_rng(normalise_rng(rng))
        w = np.ones(s.x.size) if s.w is None else s.w
        w = np.where(np.isnan(s.x), 0.0, w)
        for some in self._slabs(count):
            times = generator.multinomial(round(w.sum()), w / w.sum(), some).astype(np.float64)
            yield self._fitted(_many(known, [s.x, s.hi], some, times), self.zeros)

    def censored(self, known: Any, count: int, rng: Any) -> Any:
        """Data sets from the distribution that are known in part, as those of the fit are; `known` is expanded."""
        found, s, generator = self.found, known.series, np.random.default_rng(normalise_rng(rng))
        counts, others = found.cls.is_discrete, s.hi is not None and ((s.x < s.hi) & (s.hi < math.inf)).any()
        if others and known.entry is not None:
            raise ValueError(
                "no test of intervals with entry=: how units that were not seen would have entered and been inspected is not "
                "known; entries go with times that are exact or open above. Do not leave them out, which biases the fit: fit and "
                "estimate take both, and plot.survival shows the fit beside the estimate without a family"
            )
        scheme = (_ByRegions if others else _ByTimes)(known, counts)
        low, high = found._cut or (-math.inf, math.inf)
        low = math.ceil(low) - 1.0 if counts and math.isfinite(low) else low
        first = low if known.entry is None else np.maximum(low, np.floor(known.entry) if counts else known.entry)
        d = found.whole if self.zeros == "inflated" else found.distribution
        for some in self._slabs(count):
            y = _inverted(d, generator.random((some, s.x.size)), first, high)
            yield self._fitted(_many(known, scheme(y, generator), some), self.zeros if self.zeros == "inflated" else None)


def _many(known, ends, count, weights=None):
    """Series of the size of one, a number of them, of ends (B, n) or (n,)."""
    s, n = known.series, known.series.x.size
    x, hi = (None if end is None else np.broadcast_to(end, (count, n)).reshape(-1) for end in ends)
    late = None if known.entry is None else np.tile(known.entry, count)
    off = np.arange(count + 1, dtype=np.int64) * n
    w = None if weights is None else weights.reshape(-1)
    return known._replace(
        series=s._replace(x=x, hi=hi, w=w, off=off, shape=(count,), length=n, keys=None, labels=None), entry=late
    )
