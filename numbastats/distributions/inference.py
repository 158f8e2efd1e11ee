"""What follows from a fit, with its error; which family fits best, and whether one fits at all."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import checked_level, choice, is_integer, is_lazy
from numbastats._core.data import NanPolicy, doubles, is_missing, labels_of
from numbastats._core.edf import LARGEST, distance, distance_of_count_steps, distance_of_counts, distance_of_steps
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.groups import Keys, labelled_sets
from numbastats._core.information import unit_moves
from numbastats._core.options import hands_on
from numbastats._core.random import normalise_rng
from numbastats._core.results import Around, Batch, BatchOfFits, Result, Table, half_width
from numbastats._core.status import Status
from numbastats.distributions.arguments import CompareOptions, Zeros
from numbastats.distributions.censoring import is_censored_data
from numbastats.distributions.composition import Tail, log_probability, with_zeros
from numbastats.distributions.extremes import share_error
from numbastats.distributions.fitting import (
    CLASSES,
    DistributionFit,
    DistributionFits,
    class_of,
    fit,
    fit_many,
    is_ragged,
    known_of_many,
    known_of_one,
    one_series,
    refuse_trials,
    series_of,
    takes,
)
from numbastats.distributions.names import Name
from numbastats.distributions.nonparametric import Survival
from numbastats.distributions.protocol import Distribution
from numbastats.distributions.resampling import Drawn, expanded, padded_steps, seen, steps_of_known, without_zeros

__all__ = [
    "Comparison",
    "Comparisons",
    "Estimate",
    "Estimates",
    "GoodnessOfFit",
    "GoodnessOfFits",
    "compare",
    "compare_many",
    "goodness",
    "goodness_many",
    "survival_band",
]

Statistic = Literal["ad", "ks", "cvm"]
Kinds = Literal["continuous", "counts", "all"]
_FITS = 1 << 16  # whose derivatives are computed at a time
_STEP = 0.05  # of derivatives, in standard errors
_FARTHEST = 100.0  # standard errors within which a profile is followed
_NONE = 1e-9  # probability that is 0 but for the tolerance of a climb
_HALVINGS = 8  # of the way to the start of a climb
_SHARE = "share"  # of zeros, or of the values above a threshold: a coordinate that estimates of the others are independent of

# --- estimates ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """A number that follows from a fit, with its standard error and a confidence interval; it prints as a table.

    Attributes
    ----------
    value : float
        The function of the fitted distribution.
    se : float
        Standard error; NaN for ``method="profile"``, which needs none.
    lower, upper : float
        Ends of the confidence interval; NaN where a profile has none, as the likelihood is too flat.
    level : float
        Of confidence.
    method : str
        "delta", "bootstrap" or "profile".
    samples : array or None
        Of the bootstrap: the value of each sample, NaN where its fit did not converge.
    message : str
        "ok", or what the numbers lack.
    """

    value: float
    se: float
    lower: float
    upper: float
    level: float
    method: str
    samples: NDArray[np.float64] | None
    message: str

    def _headline(self) -> str:
        return f"method {self.method!r}, level {self.level:g}, {self.message}"

    def summary(self) -> Table:
        """One row: "value", "se", "lower", "upper", "level"."""
        return Table({name: np.array([getattr(self, name)]) for name in ("value", "se", "lower", "upper")}, level=self.level)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Estimates(Batch):
    """A number that follows from each of many fits, with its standard error and a confidence interval; it prints as a table.

    Attributes
    ----------
    value, se, lower, upper : array of the shape of the batch
        NaN where a fit did not converge, and but for `value` where it has no standard errors or the function no derivatives.
    level : float
        Of confidence.
    method : str
        "delta" or "bootstrap".
    status : array of int
        How the fits ended, numbers of `numbastats.Status`.
    messages : array of str
        "ok", or what the numbers lack.
    keys : tuple or None
        Of the data sets.

    Notes
    -----
    ``found["se"]`` is an array, ``found[key]``, ``found.one(which)`` and ``found.at(i)`` are an `Estimate`, as iteration gives
    all and ``found.items()`` pairs (key, estimate).
    """

    value: NDArray[np.float64]
    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    level: float
    method: str
    status: NDArray[np.int64]
    messages: NDArray[np.str_]
    keys: Any = None

    def __len__(self) -> int:
        return self.value.size

    @property
    def _shape(self):
        return self.value.shape

    @property
    def _names(self):
        return "value", "se", "lower", "upper"

    def _named(self, name):
        return getattr(self, name)

    def _item(self, i):
        numbers = (float(getattr(self, name).flat[i]) for name in self._names)
        return Estimate(*numbers, self.level, self.method, None, str(self.messages.flat[i]))

    def _headline(self) -> str:
        there, what = (self.lower, "an interval") if self.method == "profile" else (self.se, "a standard error")
        found = f"{int(np.isfinite(there).sum())} of {len(self)} with {what}"
        return f"method {self.method!r}, level {self.level:g}, {found}"

    def summary(self) -> Table:
        """A row for each data set, in the order of the flattened batch.

        Returns
        -------
        Table
            A dict of the columns "key" (where the data sets have keys; of grouped data their columns or dimensions), "value",
            "se", "lower", "upper", "status" and "message".
        """
        columns = {name: self._named(name).ravel() for name in self._names}
        return self._table(
            columns | {"status": self.status.ravel(), "message": self.messages.ravel()},
            functools.partial(Table, level=self.level),
        )


class _Chart(NamedTuple):
    """Coordinates around n fits: their parameters, positive ones by their logarithms, in which covariances are unit matrices."""

    make: Callable[..., Distribution]  # of arrays of parameters by name, n or a multiple
    allowed: Callable[..., Any]  # which parameters by name are in the domain
    together: bool  # whether `make` takes arrays
    params: dict[str, NDArray[np.float64]]  # (n,)
    free: list[int]  # places of the parameters that were estimated
    logs: NDArray[np.bool_]  # which of these are positive
    centre: NDArray[np.float64]  # (n, q)
    root: NDArray[np.float64]  # (n, q, q), NaN of fits without standard errors

    def at(self, u):
        """Parameters by name, one set of n after another, at coordinates of shape (B, q); NaN outside of the domain."""
        moved = self.centre + (self.root @ u[:, None, :, None])[..., 0]
        with np.errstate(over="ignore"):
            moved = np.where(self.logs, np.exp(moved), moved)
        params = {name: np.broadcast_to(v, moved.shape[:2]) for name, v in self.params.items()}
        params |= {name: moved[..., i] for i, name in enumerate(np.array([*params])[self.free].tolist())}
        inside = self.allowed(params) & np.isfinite(moved).all(axis=-1)
        return {name: np.where(inside, v, math.nan).ravel() for name, v in params.items()}

    def of(self, function, careful=False):
        """A function of distributions, or a parameter, at coordinates of shape (B, q): values (B,), of n fits (B n,)."""
        if isinstance(function, str):
            return lambda u: self.at(u)[function]
        return lambda u: self.values(function, self.at(u), careful)

    def values(self, function, params, careful=False):
        """A function of the distributions of parameters by name."""
        batch = self.make(params) if self.together else len(next(iter(params.values())))
        return _values(function, batch, lambda i: self.one(params, i), careful)

    def one(self, params, i):
        """One of the distributions."""
        return self.make({name: float(v[i]) for name, v in params.items()})


def _charted(part):
    """Coordinates around fits with the same free parameters, an `Around`."""
    names = list(part.params)
    free = [j for j, name in enumerate(names) if not (part.se[name] == 0.0).all()]  # 0: the parameter was fixed
    covariance = part.covariance[:, free][:, :, free]
    values = np.stack([part.params[names[j]] for j in free], axis=-1) if free else np.empty((len(covariance), 0))
    logs = np.array([names[j] in part.positive for j in free], bool)
    slope = np.where(logs, values, 1.0)
    with np.errstate(all="ignore"):
        scaled = covariance / (slope[:, :, None] * slope[:, None, :])
        centre = np.where(logs, np.log(np.where(logs, values, 1.0)), values)
    known = np.isfinite(scaled).all(axis=(1, 2)) & np.isfinite(values).all(axis=1)
    root = np.full(scaled.shape, math.nan)
    try:
        root[known] = unit_moves(scaled[known])
    except np.linalg.LinAlgError:  # of one of them
        for i in np.flatnonzero(known):
            with contextlib.suppress(np.linalg.LinAlgError):
                root[i] = unit_moves(scaled[i])
    return _Chart(part.make, part.allowed, part.together, part.params, free, logs, centre, root)


def _beside(d, share):
    """Probabilities of zeros beside those of distributions of counts, from shares of all zeros; < 0 where these are too small."""
    at_0 = np.asarray(d.pmf(0.0))
    return (share - at_0) / (1.0 - at_0)


def _zero_inflated(counts, d, share):
    """Distributions with zeros, from the share of all zeros; NaN where it is too small."""
    share = _beside(d, share) if counts else share
    return with_zeros(d, np.where((share >= 0.0) & (share < 1.0), share, math.nan))


def _whole_made(make, combine, params):
    """Distributions of all values from parameters by name, the share among them."""
    others = {name: value for name, value in params.items() if name != _SHARE}
    return combine(make(others), np.asarray(params[_SHARE]))


def _whole_allowed(allowed, params):
    """Whether parameters of such distributions are in the domain."""
    return allowed({name: v for name, v in params.items() if name != _SHARE}) & (params[_SHARE] > 0.0) & (params[_SHARE] <= 1.0)


def _with_share(part, batch):
    """`Around` fits with zeros, or with thresholds, and the share of zeros or of the values above."""
    of = lambda values: np.ravel(values)[part.places]  # noqa: E731
    if batch.tail is not None:
        share, total, combine = of(batch.tail.share), of(batch._n_all), Tail
    else:
        share, counts = of(batch.zeros), batch.cls.is_discrete
        total, combine = of(batch.n_obs) / (1.0 - share), functools.partial(_zero_inflated, counts)
        if counts:
            at_0 = np.asarray(part.make(part.params).pmf(0.0))
            share, total = share + (1.0 - share) * at_0, of(batch.n_obs)
    se, (n, p) = share_error(share, total), part.covariance.shape[:2]
    covariance = np.zeros((n, p + 1, p + 1))
    covariance[:, :p, :p], covariance[:, p, p] = part.covariance, np.square(se)
    make = functools.partial(_whole_made, part.make, combine)
    allowed = functools.partial(_whole_allowed, part.allowed)
    more = dict(make=make, allowed=allowed, covariance=covariance)
    return part._replace(params=part.params | {_SHARE: share}, se=part.se | {_SHARE: se}, **more)


def _chart(found, method, whole=False):
    """Coordinates around a fit; ValueError where it has no standard errors."""
    place, full = found._limit or (None, found.covariance)
    params, se = (found.params, found.se) if place is None else (found.limit_params, found.limit_se)  # at a limit, its own
    params, se = ({name: np.array([v]) for name, v in of.items()} for of in (params, se))
    cls = found.cls if place is None else class_of(found.limit)
    around = Around(np.zeros(1, int), found._made, cls.in_domain, cls._positive, params, se, np.asarray(full)[None])
    if whole:
        around = _with_share(around, found)
    chart = _charted(around)
    if not chart.free:
        raise ValueError("every parameter of the fit was fixed: nothing has an error")
    if np.isnan(chart.root).any():
        raise ValueError(f"method={method!r} needs standard errors, which the fit has not: {found.message}; use 'bootstrap'")
    return chart


def _gradient(function, u):
    """Derivatives at coordinates u by central differences of fourth order; `function` is of arrays of shape (B, q).

    Of shape (q,), for a function with n values for each row of coordinates (q, n). Where the function ends within a step, as a
    moment where it no longer exists, the steps are smaller ones.
    """
    slopes = np.full((u.size, 1), math.nan)
    for step in (_STEP, _STEP / 16.0, _STEP / 256.0):
        steps = np.eye(u.size) * step
        moves = np.concatenate([u + k * steps for k in (1.0, -1.0, 2.0, -2.0)])
        with np.errstate(invalid="ignore"):
            near, below, far, farther = function(moves).reshape(4, u.size, -1)
            found = (8.0 * (near - below) - (far - farther)) / (12.0 * step)
        slopes = np.where(np.isfinite(slopes).all(axis=0), slopes, found)
        if np.isfinite(slopes).all():
            break
    return slopes[:, 0] if slopes.shape[1] == 1 else slopes


def _number(function, distribution):
    """The function of one distribution, which must be one number."""
    value = np.asarray(function(distribution))
    if value.ndim or value.dtype.kind not in "fiu":
        raise TypeError(
            f"function gave {value!r} for {distribution!r}; it must give one number, as lambda d: d.ppf(0.01). Call estimate "
            "once for each of several numbers"
        )
    return float(value)


def _at_estimate(found, function, whole=False):
    """The function of the fitted distribution, or the parameter of that name."""
    if isinstance(function, str):
        return (found.limit_params or found.params)[function]
    return _number(function, found.whole if whole else found.distribution)


def _values(function, batch, one_of, careful=False):
    """The function of each of B distributions: in one call where it takes a batch, else in B calls of `one_of(i)`.

    The batch may be B alone. `careful`: NaN for distributions that the function raises a ValueError for.
    """
    count = batch if isinstance(batch, int) else batch.batch_shape[0]

    def one(i):
        try:
            return _number(function, one_of(i))
        except (ValueError, ArithmeticError):
            if careful:
                return math.nan
            raise

    first = one(0)
    try:
        values = np.empty(0) if batch is count else np.asarray(function(batch))
    except (TypeError, ValueError):  # of a function for single distributions, such as float(d.mean())
        values = np.empty(0)
    if values.shape == (count,) and np.isclose(values[0], first, rtol=1e-9, atol=0.0, equal_nan=True):
        return values.astype(np.float64)
    return np.array([first, *map(one, range(1, count))])


def _check_count(count):
    if not is_integer(count) or count < 19:
        raise ValueError(f"count={count!r} must be an integer, at least 19")


def _delta(found, function, level, whole):
    chart = _chart(found, "delta", whole)
    value = _at_estimate(found, function, whole)
    slope = _gradient(chart.of(function), np.zeros(len(chart.free)))
    se = float(np.linalg.norm(slope))
    if found.cls.is_discrete and se == 0.0:
        raise ValueError(
            f"the function, {value:.6g} at the estimate, is constant around it, as quantiles of counts; use 'bootstrap'"
        )
    if not math.isfinite(se):
        raise ValueError(
            f"the function, {value:.6g} at the estimate, has no finite derivatives there: {slope}; use method='bootstrap'"
        )
    width = half_width(level) * se
    return Estimate(value, se, value - width, value + width, level, "delta", None, "ok")


def survival_band(found, x, level, start=-math.inf):
    """Ends of pointwise intervals of the survival of a fit at x, of values above `start`, symmetric for log(-log(survival))."""
    chart, begin = _chart(found, "delta"), np.asarray(start)

    def at(u):
        batch = chart.make(chart.at(u))._with_axis()
        with np.errstate(all="ignore"):
            return np.log(batch.cumulative_hazard(x) - batch.cumulative_hazard(begin))

    centre = np.zeros(len(chart.free))
    value, width = at(centre[None])[0], half_width(level) * np.linalg.norm(_gradient(at, centre), axis=0)
    with np.errstate(all="ignore"):
        ends = (np.exp(-np.exp(value + sign * width)) for sign in (1.0, -1.0))
        return [np.where(np.isneginf(value), 1.0, end) for end in ends]


def _zeros_of(found):
    """How a fit took zeros, as far as it found some; of inflated counts also where their probability is estimated as 0."""
    if not found.cls.is_discrete:
        return "share" if found.zeros > 0.0 else None
    errors = found.limit_se if found._limit else found.se
    return "inflated" if found.zeros > 0.0 or found.n_free > sum(se != 0.0 for se in errors.values()) else None


def _bootstrap(found, functions, level, known, whole, count, rng, workers):
    """Estimates of several functions, from the same samples."""
    _check_count(count)
    parts, of, drawn = [], "whole" if whole else "distribution", Drawn(found, _zeros_of(found), workers, whole)
    if by_rows := found._censored:
        if known is None:
            raise ValueError(
                "the bootstrap of a fit to censored values, or with entries, draws rows of the data: pass x= (with event= or "
                "entry=) or censored=(lo, hi), as fit had them"
            )
        _refuse_others(found, _likelihood(found, known))
    for sets in drawn.rows(known, count, rng) if by_rows else drawn.exact(count, rng):
        parts.append([_of_samples(sets.fits, function, of) for function in functions])
    samples = (np.concatenate(part) for part in zip(*parts, strict=True))
    return [
        _of_quantiles(_at_estimate(found, function, whole), values, level, count, by_rows)
        for function, values in zip(functions, samples, strict=True)
    ]


def _of_samples(again, function, of):
    """A function of the distributions of fits to samples, NaN where these did not converge; by moments of all that are there."""
    if isinstance(function, str):
        values = again[function]
    else:
        values = _values(function, getattr(again, of), lambda i: getattr(again.one(i), of))
    return np.where(again.converged | (again.method != "ml"), values, math.nan)


def _of_quantiles(value, samples, level, count, by_rows):
    """The estimate with quantiles of its values in samples as its ends."""
    used = samples[~np.isnan(samples)]
    message = "ok"
    if used.size < count:
        message = f"{count - used.size} of {count} samples are left out: their fits did not converge, or the function is NaN"
        warn(f"estimate: {message}", ConvergenceWarning)
    if used.size < 2:
        raise ValueError(f"the bootstrap has no interval: {message}")
    with np.errstate(invalid="ignore"):  # of infinite values, which have no standard deviation
        places = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
        places = _corrected(places, used, value) if by_rows else places
        between = np.quantile(used, places)
        lower, upper = np.where(np.isnan(between), np.quantile(used, places, method="higher"), between)  # of two infinite ones
        se = float(used.std(ddof=1))
    if count - used.size > (0.5 - 0.5 * level) * count:  # those left out may be the ones beyond an end
        lower = upper = math.nan
        message += ", more than lie beyond an end of an interval; a fit by maximum likelihood has one by method='profile'"
    if infinite := int(np.isinf(used).sum()):
        message = f"{message}; the function is infinite in {infinite} of {count} samples, which leaves no standard error"
    return Estimate(value, se, float(lower), float(upper), level, "bootstrap", samples, message.removeprefix("ok; "))


def _corrected(places, used, value):
    """Places of quantiles that are corrected for the bias of the median, as shares of one value more than there are."""
    from scipy.special import ndtr, ndtri

    below = (np.sum(used < value) + 0.5 * np.sum(used == value)) / used.size
    middle = ndtri(np.clip(below, 0.5 / used.size, 1.0 - 0.5 / used.size))
    return np.clip((ndtr(ndtri(places) + 2.0 * middle) * (used.size + 1.0) - 1.0) / (used.size - 1.0), 0.0, 1.0)


def _likelihood(found, known):
    """The log-likelihood of the data by distributions (B, 1), those without zeros, and the weights of zeros and other values.

    With a threshold it is that of the values above, and the weights are those of the values above and below.
    """
    s, zeros, cut = known.series, _zeros_of(found), found._cut or (-math.inf, math.inf)
    lo, hi = s.x, s.x if s.hi is None else s.hi
    w = np.ones(lo.size) if s.w is None else s.w
    late = np.full(lo.size, -math.inf) if known.entry is None else known.entry
    use = ~np.isnan(lo) & (w > 0.0)
    none = use & (lo == 0.0) & (hi == 0.0) & (zeros is not None)
    use &= ~none
    masses = float(w[none].sum()), float(w[use].sum())
    if found.tail is not None:
        below, use = use & (lo <= found.tail.threshold), use & (lo > found.tail.threshold)
        masses = float(w[use].sum()), float(w[below].sum())
    lo, hi, late, w = (a[use] for a in (lo, hi, late, w))
    exact = lo == hi
    low, high = cut
    if found.cls.is_discrete:
        late = np.floor(late) + 1.0
        low = max(low, 1.0) if zeros else low  # zeros and counts above 0 are independent
    first = np.maximum(low, late)
    part = np.isfinite(first) if math.isinf(high) else np.ones(first.size, bool)

    def of(d):
        total = ((d.logpmf if d.is_discrete else d.logpdf)(lo[exact]) * w[exact]).sum(axis=-1)
        if not exact.all():
            total = total + (log_probability(d, lo[~exact], hi[~exact]) * w[~exact]).sum(axis=-1)
        if part.any() and (first[part] == first[part][0]).all():  # the same for all
            total = total - (log_probability(d, first[part][:1], np.full(1, high)) * w[part].sum()).sum(axis=-1)
        elif part.any():
            total = total - (log_probability(d, first[part], np.full(int(part.sum()), high)) * w[part]).sum(axis=-1)
        return total

    return of, masses


def _of_share(share, masses):
    """The log-likelihood of a share, of zeros or of the values above a threshold."""
    from scipy.special import xlog1py, xlogy

    return xlogy(masses[0], share) + xlog1py(masses[1], -share)


def _refuse_others(found, likelihood):
    """Raise for data that are not those of the fit."""
    of, masses = likelihood
    with np.errstate(all="ignore"):
        best = float(np.ravel(of(found.distribution))[0])
        if _zeros_of(found) == "inflated":
            best += float(_of_share(found.zeros + (1.0 - found.zeros) * float(found.distribution.pmf(0.0)), masses))
    if not (math.isfinite(best) and abs(best - found.loglik) <= 1e-6 * (abs(best) + found.n_obs)):
        raise ValueError(
            f"x are not the data of this fit: their log-likelihood is {best:.9g}, that of the fit {found.loglik:.9g}; pass "
            "weights=, censored=, event= and entry= as fit had them"
        )
    if found.tail is not None and abs(masses[0] - found.tail.share * sum(masses)) > 1e-6 * masses[0]:
        raise ValueError(
            f"x are not the data of this fit: a share of {masses[0] / sum(masses):.6g} is above the threshold, not "
            f"{found.tail.share:.6g}; pass all values, also those below"
        )


class _Room(NamedTuple):
    """What a profile goes through: coordinates around a fit, and the log-likelihood there."""

    chart: _Chart
    loglik: Callable[..., Any]  # at coordinates of shape (B, q)
    made: Callable[..., Distribution]  # without zeros, from parameters by name
    counts: Callable[..., Any] | None  # parameters of inflated counts at coordinates, and probabilities of zeros beside theirs

    def of(self, function, whole):
        """A function of distributions, or a parameter, at coordinates of shape (B, q).

        Beyond the end where no zeros are beside those of counts it is odd around its value there, with the same derivatives.
        """
        if self.counts is None or isinstance(function, str):
            return self.chart.of(function)

        def at(u):
            params, zeros = self.counts(u)
            inside = self._values(function, params, np.abs(zeros) if whole else None)
            if not (whole and (zeros < 0.0).any()):
                return inside
            return np.where(zeros < 0.0, 2.0 * self._values(function, params, 0.0 * zeros) - inside, inside)

        return at

    def _values(self, function, params, zeros):
        def make(params, zeros):
            d = self.made(params)
            return d if zeros is None else with_zeros(d, np.where(zeros < 1.0, zeros, math.nan)[()])

        def one(i):
            return make({name: float(v[i]) for name, v in params.items()}, None if zeros is None else zeros[i])

        return _values(function, make(params, zeros), one)


def _room(found, known, whole):
    """The coordinates, and the log-likelihood of the data of a fit."""
    if known is None:
        raise ValueError(
            'method="profile" needs the data of the fit: pass x=, and event=, censored=, entry= and weights= as fit had them'
        )
    inflated = _zeros_of(found) == "inflated"
    chart = _chart(found, "profile", whole or inflated)
    likelihood = _likelihood(found, known)
    _refuse_others(found, likelihood)
    of_data, masses = likelihood

    def loglik(u):
        columns = {name: v[:, None] for name, v in chart.at(u).items()}
        share = columns.pop(_SHARE, None)
        total = of_data(found._made(columns))
        return total if share is None else total + _of_share(share[:, 0], masses)

    def counts(u):
        params = chart.at(u)
        share = params.pop(_SHARE)
        zeros = _beside(found._made(params), share)
        return params, np.where(np.abs(zeros) < _NONE, 0.0, zeros)

    return _Room(chart, loglik, found._made, counts if inflated else None)


def _profile(found, function, level, room, whole):
    """Ends of the range of the function over the parameters whose log-likelihood is within half the quantile of chi-square."""
    from scipy.optimize import minimize

    chart, loglik, _, counts = room
    origin = np.zeros((1, len(chart.free)))
    with np.errstate(all="ignore"):
        best = float(loglik(origin)[0])
        value, limit = _at_estimate(found, function, whole), half_width(level)
        of = room.of(function, whole)
        slope = _gradient(of, origin[0])
        size = float(np.linalg.norm(slope))
        if not 0.0 < size < math.inf:
            raise ValueError(f"the function, {value:.6g} at the estimate, has no profile: its derivatives there are {slope}")
        ends, said = [], []
        within = {
            "type": "ineq",
            "fun": lambda u: 0.5 * limit**2 - best + loglik(u[None])[0],
            "jac": lambda u: _gradient(loglik, u),
        }
        beside = counts and (lambda u: counts(u)[1])  # which are at least 0, an end that belongs to the range
        some = counts and {"type": "ineq", "fun": lambda u: beside(u[None])[0], "jac": lambda u: _gradient(beside, u)}
        for sign, side in ((-1.0, "lower"), (1.0, "upper")):
            u, reach, crossed = 0.8 * sign * limit * slope / size, 1.25 * limit, False
            if math.isinf(there := float(of(u[None])[0])) and within["fun"](u) > 0.0:  # as a mean that likely parameters have not
                ends.append(there)
                continue
            for _ in range(_HALVINGS):  # next to the end of a support the likelihood of a start that is too far is 0
                if math.isfinite(within["fun"](u) + float(of(u[None])[0])):
                    break
                u = 0.5 * u
            while not crossed and reach < _FARTHEST:  # within a box, as the likelihood may be flat far out
                answer = minimize(
                    lambda u, sign=sign: -sign * (of(u[None])[0] - value) / size,
                    u,
                    jac=lambda u, sign=sign: -sign * _gradient(of, u) / size,
                    constraints=[within, some] if counts else [within],
                    bounds=[(-reach, reach)] * slope.size,
                    method="SLSQP",
                    options={"ftol": 1e-9, "maxiter": 200},
                )
                left = within["fun"](answer.x)
                more = some["fun"](answer.x) if counts else math.inf
                ended = abs(left) < 1e-3 * limit**2 or (answer.success and left > 0.0 and more <= _NONE)
                crossed = ended and more > -1e-6 and np.abs(answer.x).max() < 0.999 * reach
                u, reach = answer.x if left > 0.0 else 0.5 * u, 1.5 * reach  # or another start
            ends.append(float(of(answer.x[None])[0]) if crossed else math.nan)
            absent = math.isnan(float(of((sign * limit * slope / size)[None])[0]))  # as a level below the threshold
            why = "the function does not exist at" if absent else "the likelihood is too flat for"
            said += [] if crossed else [f"{why} the {side} end"]
    message = "; ".join(said) or "ok"
    if said:
        warn(f"estimate: {message}", ConvergenceWarning)
    return Estimate(value, math.nan, ends[0], ends[1], level, "profile", None, message)


def _row(found, name, level, method):
    """The estimate that the table of the fit has of a parameter, and its name without that of a limit."""
    table = found.summary(level)
    names = table["parameter"].tolist()
    if name not in names:
        raise TypeError(
            f"function={name!r} is no parameter of the fit: pass one of {', '.join(map(repr, names))}, or pass a function of a "
            "distribution, as lambda d: d.ppf(0.01)"
        )
    ends = (float(table[column][names.index(name)]) for column in ("estimate", "se", "lower", "upper"))
    row = Estimate(*ends, level, "delta", None, "ok")
    if row.se == 0.0:
        raise ValueError(f"{name} was fixed: it has no interval")
    own = name.removeprefix(f"{found.limit} ")
    if method == "delta" and not math.isfinite(row.se):
        raise ValueError(f"{name} has no standard error: {found.message}; use 'bootstrap'")
    there = own in found.params and not found.limit or method == "profile" and own != name
    if method != "delta" and not there:
        raise ValueError(f"method={method!r} does not know {name!r} of this fit by its name: pass a function of its distribution")
    return row, own


def _check_estimate(function, level):
    """The level."""
    if not (isinstance(function, str) or callable(function)):
        raise TypeError(
            f"function is {function!r}; pass a function of a distribution, as lambda d: d.ppf(0.01), or a parameter's name"
        )
    return checked_level(level)


def _check_method(found, method):
    """Raise where there is no such method, or no fit."""
    choice("method", method, ("delta", "bootstrap", "profile"))
    if not found.converged:
        raise ValueError(f"nothing follows from a fit that did not converge: {found.message}")


def estimated(
    found: DistributionFit,
    function: Callable[[Any], Any] | str,
    method: str,
    *,
    level: float,
    known: Any,
    whole: bool,
    count: int,
    rng: Any,
    workers: Any,
) -> Estimate:
    """`DistributionFit.estimate`; `known` are the data, or None."""
    level = _check_estimate(function, level)
    _check_method(found, method)
    if whole and isinstance(function, str):
        raise TypeError(f"whole=True takes a function of the distribution, as lambda d: d.mean(), not the name {function!r}")
    zeros = found.zeros > 0.0 or (method != "delta" and _zeros_of(found) == "inflated")
    if function == ("zeros" if found.tail is None else "share") and method != "delta" and (zeros or found.tail):
        function, whole = operator.attrgetter(function), True  # a parameter of the distribution of all values
    whole = found.tail is not None or (whole and zeros)
    row, function = _row(found, function, level, method) if isinstance(function, str) else (None, function)
    if method == "delta":
        made = row or _delta(found, function, level, whole)
    elif method == "profile":
        made = _profile(found, function, level, _room(found, known, whole), whole)
    else:
        made = _bootstrap(found, [function], level, known, whole, count, rng, workers)[0]
    if found.zeros > 0.0 and function != "zeros" and not whole:
        made = dataclasses.replace(made, message=f"{made.message}, of the distribution without the share of zeros")
    return made


DistributionFit._estimated = staticmethod(estimated)
Survival._estimate = Estimate


def _parts_of(batch, whole):
    """`Around` the fits of a batch; of the whole those with zeros apart."""
    above = getattr(batch, "tail", None) is not None
    for part in batch._parts():
        if not (whole or above):
            yield part
            continue
        with_share = np.full(part.places.size, True) if above else np.ravel(batch.zeros)[part.places] > 0.0
        for some in (with_share, ~with_share):
            alike = part.some(np.flatnonzero(some))
            if alike.places.size:
                yield _with_share(alike, batch) if some is with_share else alike


def _deltas(batch, function, whole):
    """Values and standard errors of all fits, and why there are none."""
    value, se = np.full(len(batch), math.nan), np.full(len(batch), math.nan)
    said = np.array(np.ravel(batch.messages), dtype=object)
    for part in _parts_of(batch, whole):
        errors = np.stack([*part.se.values()], axis=-1)
        for pattern in np.unique(errors == 0.0, axis=0):  # fixed parameters
            alike = np.flatnonzero(((errors == 0.0) == pattern).all(axis=1))
            for lo in range(0, alike.size, _FITS):
                _delta_of_part(function, part.some(alike[lo : lo + _FITS]), value, se, said, batch._no_errors)
    return value, se, said


def _delta_of_part(function, part, value, se, said, no_errors):
    """Write values, standard errors and what is said of them of fits with the same free parameters."""
    chart, at = _charted(part), part.places
    found, free = chart.values(function, part.params, careful=True), len(chart.free)
    error = np.full(found.size, math.nan)
    if free:
        slopes = _gradient(chart.of(function, careful=True), np.zeros(free)).reshape(free, -1)
        error = np.sqrt(np.square(slopes).sum(axis=0))
    flat = (error == 0.0) & getattr(chart.one(part.params, 0), "is_discrete", False)
    reasons = {
        "the function is NaN, or refuses the distribution": np.isnan(found),
        "every parameter was fixed: nothing has an error": np.full(found.size, not free),
        no_errors: np.isnan(chart.root).any(axis=(1, 2)),
        "the function is constant around the estimate, as quantiles of counts": flat,
        "the function has no finite derivatives": ~np.isfinite(error),
    }
    words = np.select([*reasons.values()], np.array([*reasons], dtype=object), "ok")
    said[at] = words
    value[at], se[at] = found, np.where(words == "ok", error, math.nan)


def _bootstraps(batch, function, level, whole, count, rng, workers):
    """The same and the ends of intervals by a bootstrap of each fit."""
    if not isinstance(batch, DistributionFits):
        raise ValueError('method="bootstrap" is of fits of distributions; use "delta"')
    _check_count(count)
    key, numbers = normalise_rng(rng), np.full((4, len(batch)), math.nan)
    said = np.array(np.ravel(batch.messages), dtype=object)
    for i in np.flatnonzero(np.ravel(batch.converged)).tolist():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the messages say it
                own = np.random.default_rng([int(key), i])
                one = batch.at(i).estimate(function, "bootstrap", level=level, whole=whole, count=count, rng=own, workers=workers)
            numbers[:, i], said[i] = (one.value, one.se, one.lower, one.upper), one.message
        except (ValueError, ArithmeticError) as error:
            said[i] = str(error)
    return (*numbers, said)


def _of_parameter(batch, name):
    """Values and standard errors of a parameter, as the table of the fits has them, and why there are none."""
    table = batch.summary()
    names = [known for known in table if f"se_{known}" in table]
    if name not in names:
        raise TypeError(
            f"function={name!r} is no parameter that the fits have errors of: pass {' or '.join([*map(repr, names), ''])}a "
            "function of a distribution, as lambda d: d.ppf(0.01)"
        )
    converged, se = np.ravel(batch.converged), table[f"se_{name}"]
    none = np.where(se == 0.0, "the parameter was fixed", batch._no_errors)
    said = np.where(converged, np.where(se > 0.0, "ok", none), np.ravel(batch.messages))
    return np.where(converged, table[name], math.nan), np.where(said == "ok", se, math.nan), said


def estimates(
    batch: Any,
    function: Callable[[Any], Any] | str,
    method: str,
    *,
    level: float,
    whole: bool,
    count: int,
    rng: Any,
    workers: Any,
) -> Estimates:
    """`BatchOfFits.estimate`."""
    if method == "profile":
        raise ValueError('method="profile" is of one fit and its data: fits.one(key).estimate(function, "profile", x=data)')
    choice("method", method, ("delta", "bootstrap"))
    batch = getattr(batch, "_host", batch)  # where data are on a GPU
    level, converged = _check_estimate(function, level), np.ravel(batch.converged)
    if whole and (isinstance(function, str) or not isinstance(batch, DistributionFits)):
        raise TypeError("whole=True takes a function of the distributions of fits with zeros=, as lambda d: d.mean()")
    if method == "delta":
        value, se, said = _of_parameter(batch, function) if isinstance(function, str) else _deltas(batch, function, whole)
        width = half_width(level) * se
        lower, upper = value - width, value + width
        zeros = (np.ravel(getattr(batch, "zeros", 0.0)) > 0.0) & (not whole)
        said = np.where(zeros & (said == "ok"), "ok, of the distribution without the share of zeros", said)
    else:
        value, se, lower, upper, said = _bootstraps(batch, function, level, whole, count, rng, workers)
    status = np.ravel(getattr(batch, "status", np.where(converged, Status.OK, Status.NO_CONVERGENCE)))
    shape = batch._shape
    value, se, lower, upper = (a.reshape(shape) for a in (value, se, lower, upper))
    said = said.astype(np.str_).reshape(shape)
    return Estimates(value, se, lower, upper, level, method, status.reshape(shape), said, batch.keys)


BatchOfFits._estimates = staticmethod(estimates)

# --- return levels -------------------------------------------------------------------------------------------------------


def _periods(period, per):
    """Return periods, and the probabilities that a value exceeds their levels."""
    if not isinstance(per, int | float | np.integer | np.floating) or not 0.0 < per < math.inf:
        raise ValueError(f"per={per!r} must be a number > 0, the number of values in a unit of time")
    periods = doubles(period, "period")
    if periods.ndim > 1:
        raise ValueError(f"period has shape {periods.shape}; pass one number, or several in one dimension")
    short = ~((periods * per > 1.0) & (periods < math.inf))
    if short.any():
        wrong = np.atleast_1d(periods)[np.argmax(short)]
        raise ValueError(
            f"period={wrong:g} must be finite and longer than the time between two values, 1/per={1.0 / per:g}"
            + (", as more than a year of annual maxima; per= is the number of values in a year" if per == 1.0 else "")
        )
    return periods, 1.0 / (periods * per)


def _absent(found, p, per):
    """Why a fit has no level that is exceeded with probability p, "" where it has one."""
    if found.tail is not None and p >= found.tail.share:
        shortest = 1.0 / (found.tail.share * per)
        return (
            f"the level is below the threshold {found.tail.threshold:.6g}, which is exceeded every {shortest:.4g} units of time: "
            "ask for longer periods, or fit with a lower threshold"
        )
    return "" if math.isfinite(float(found.whole.isf(p))) else "the level is infinite, or no double"


def return_levels(
    found: DistributionFit | DistributionFits, period: ArrayLike, per: float, method: str, **options: Any
) -> Estimate | Estimates:
    """`return_level` of a fit, and of many."""
    periods, p = _periods(period, per)
    if isinstance(found, DistributionFits) and found._censored and method != "delta":
        raise ValueError(
            f"method={method!r} needs all that is known of the values, which fits.one(key).return_level(period, per, {method!r}, "
            "x=, event=...) takes"
        )
    functions = [functools.partial(_level, p=float(one)) for one in np.ravel(p)]
    if isinstance(found, DistributionFits):
        return _levels_of_many(found._host, periods, per, functions, method, options)
    _check_method(found, method)
    said = [_absent(found, float(one), per) for one in np.ravel(p)]
    if periods.ndim:
        return _levels_of_one(found, periods, functions, said, method, options)
    if said[0]:
        raise ValueError(said[0])
    return estimated(found, functions[0], method, **options)


def _levels_of_one(found, periods, functions, said, method, options):
    """Levels of several periods; NaN, and the reason, where one has none or no interval."""
    level, there = checked_level(options["level"]), [i for i, words in enumerate(said) if not words]
    made = [Estimate(*[math.nan] * 4, level, method, None, words) for words in said]
    some = [functions[i] for i in there]
    whole = found.tail is not None or found.zeros > 0.0
    if method == "bootstrap":
        samples = tuple(options[name] for name in ("count", "rng", "workers"))
        estimates = _bootstrap(found, some, level, options.get("known"), whole, *samples) if some else []
    else:
        if method == "profile":
            room = _room(found, options["known"], whole)
            estimate = functools.partial(_profile, level=level, room=room, whole=whole)
        else:
            _chart(found, method, whole)  # says where there are no standard errors
            estimate = functools.partial(_delta, level=level, whole=whole)
        estimates = [_attempted(found, function, method, level, estimate) for function in some]
    for i, one in zip(there, estimates, strict=True):
        made[i] = one
    arrays = [np.array([getattr(one, name) for one in made]) for name in ("value", "se", "lower", "upper")]
    words = np.array([one.message for one in made], dtype=np.str_)
    status = np.full(len(made), found.status)
    return Estimates(*arrays, level, method, status, words, Keys.of(periods.tolist(), ("period",)))


def _attempted(found, function, method, level, estimate):
    """The estimate of a function; of one that has none its value and the reason."""
    try:
        return estimate(found, function)
    except ValueError as error:
        return Estimate(_at_estimate(found, function, True), *[math.nan] * 3, level, method, None, str(error))


def _levels_of_many(found, periods, per, functions, method, options):
    """Levels of many fits, with an axis for several periods."""
    if method == "profile":
        raise ValueError('method="profile" is of one fit and its data: fits.one(key).return_level(..., "profile", x=data)')
    choice("method", method, ("delta", "bootstrap"))
    n, several, status = len(found), np.atleast_1d(periods), np.ravel(found.status)
    if method == "bootstrap":
        numbers, said = _bootstrapped_levels(found, several, per, functions, options)
    else:
        parts = [estimates(found, function, method, **options) for function in functions]
        names = ("value", "se", "lower", "upper")
        numbers = np.array([[np.ravel(getattr(part, name)) for part in parts] for name in names]).reshape(4, -1, n).swapaxes(1, 2)
        said = np.array([np.ravel(part.messages) for part in parts], dtype=object).reshape(-1, n).T
        if found.tail is not None:
            below = (np.ravel(found.tail.share)[:, None] <= 1.0 / (several * per)) & np.ravel(found.converged)[:, None]
            said = np.where(below, "the level is below the threshold", said)
    shape = (*found._shape, *periods.shape)
    numbers, said = numbers.reshape(4, *shape), said.astype(np.str_).reshape(shape)
    status = np.broadcast_to(status[:, None], (n, several.size)).reshape(shape)
    keys = _with_periods(found, several) if periods.ndim else found.keys
    return Estimates(*numbers, checked_level(options["level"]), method, status, said, keys)


def _bootstrapped_levels(found, periods, per, functions, options):
    """Numbers and messages of the levels of many fits, by a bootstrap of each."""
    _check_count(options["count"])
    key, numbers = normalise_rng(options["rng"]), np.full((4, len(found), periods.size), math.nan)
    said = np.repeat(np.array(np.ravel(found.messages), dtype=object)[:, None], periods.size, axis=1)
    for i in np.flatnonzero(np.ravel(found.converged)).tolist():
        one, own = found.at(i), options | {"rng": np.random.default_rng([int(key), i])}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the messages say it
                absent = [_absent(one, 1.0 / (period * per), per) for period in periods.tolist()]
                levels = _levels_of_one(one, periods, functions, absent, "bootstrap", own)
            numbers[:, i], said[i] = (levels.value, levels.se, levels.lower, levels.upper), levels.messages
        except (ValueError, ArithmeticError) as error:
            said[i] = str(error)
    return numbers, said


def _with_periods(found, periods):
    """Keys of series and periods; without keys of the series by their indices."""
    keys, shape = found.keys, found._shape
    if keys is None:
        names = ["series"] if len(shape) == 1 else [f"series_{i}" for i in range(len(shape))]
        keys = Keys.of(np.ndindex(shape), names)
    else:
        names = keys.names or ("key",)
        keys = Keys.of((key if len(names) > 1 else (key,) for key in keys), names, keys.library)
    return Keys.of(((*key, period) for key in keys for period in periods.tolist()), (*keys.names, "period"), keys.library)


def _level(d, p):
    """The level that values exceed with probability p."""
    return d.isf(p)


DistributionFit._levels = staticmethod(return_levels)
DistributionFits._levels = staticmethod(return_levels)

# --- distances ---------------------------------------------------------------------------------------------------------


def _distance(statistic, distribution, x):
    """Distance of ascending rows of values from distributions, one for each row."""
    if distribution.is_discrete:
        return distance_of_counts(statistic, x, distribution.pmf, distribution.cdf, distribution.sf)
    return distance(statistic, x, distribution.cdf, distribution.logcdf, distribution.logsf)


def _distance_of_steps(statistic, distribution, n, steps):
    """Distances of padded estimates of n values, one for each row, from distributions."""
    d = distribution
    if d.is_discrete:
        return distance_of_count_steps(statistic, n, *steps, d.pmf, d.cdf, d.sf)
    return distance_of_steps(statistic, n, *steps, d.cdf, d.sf, d.logcdf, d.logsf)


class _Observed:
    """Data of one series whose distance from fits is measured: values, or the nonparametric estimate where they are not exact."""

    def __init__(self, known, cls, zeros, cut):
        self.known, self.zeros = without_zeros(known) if zeros == "share" else known, zeros
        s, (low, high) = self.known.series, cut or (-math.inf, math.inf)
        self.exact = s.hi is None and s.w is None and known.entry is None
        if known.entry is not None:  # the estimate is that of values above the least entry
            least = float(np.min(known.entry, initial=math.inf, where=~np.isnan(s.x)))
            low = max(low, math.floor(least) + 1.0 if cls.is_discrete and math.isfinite(least) else least)
        self.cut, self._counts = (low, high), cls.is_discrete
        self.values = np.sort(s.x[~np.isnan(s.x)]) if self.exact else None

    @functools.cached_property
    def _steps(self):
        found = steps_of_known(self.known, self._counts)
        return found.n_obs, padded_steps(found)

    def of(self, found):
        """The distribution that a fit says the data have."""
        return seen(found.whole if self.zeros == "inflated" else found.distribution, self.cut)

    def distance(self, statistic, found):
        """The distance from a fit; NaN where it has no parameters."""
        if math.isnan(next(iter(found.params.values()))):
            return math.nan
        if self.exact:
            return float(_distance(statistic, self.of(found), self.values))
        return float(_distance_of_steps(statistic, self.of(found), *self._steps)[0])

    def distances(self, statistic, sets):
        """The distances of data sets that were drawn again from the fits to them."""
        d = seen(sets.rows(self.zeros), self.cut)
        if sets.values is not None:
            return _distance(statistic, d, np.sort(sets.values, axis=1))
        found = steps_of_known(sets.known, self._counts)
        return _distance_of_steps(statistic, d, found.n_obs, padded_steps(found))


# --- comparison --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Fits of several families to the same values, best first; it prints as a table.

    Attributes
    ----------
    fits : dict of DistributionFit
        By family, in the order of the criterion; those without a maximum last.
    criterion : str
    ks, ad : dict of float
        Distances of Kolmogorov and Smirnov and of Anderson and Darling between the values and each fit; NaN of a series of
        `compare_many`, whose values are not kept. They are no tests: `goodness` has p-values.
    left_out : tuple of str
        Families whose support does not hold the values, where none are named.
    note : str
        Which kind of families was chosen by the values, where none are named, and the word for the others; "" where that is
        clear.
    """

    fits: dict[str, DistributionFit]
    criterion: str
    ks: dict[str, float]
    ad: dict[str, float]
    left_out: tuple[str, ...]
    note: str = ""

    @property
    def n_missing(self) -> int:
        """Number of missing values, which were left out."""
        return next(iter(self.fits.values())).n_missing

    @property
    def best(self) -> DistributionFit:
        """The fit of the least criterion; of a family at a limit that is compared, too, the limit's."""
        first = next(iter(self.fits.values()))
        if not first.converged:
            raise ValueError(f"no fit ended in a maximum; that of {first.family}: {first.message}")
        return first

    def _headline(self) -> str:
        failed = [f"{f.family}: {f.message}" for f in self.fits.values() if not f.converged]
        out = [f"left out, as their support does not hold the values: {', '.join(self.left_out)}"] if self.left_out else []
        title = f"{len(self.fits)} families by {self.criterion}{_left_out(self.n_missing)}"
        return "\n  ".join([title, *filter(None, [self.note]), *out, *failed])

    def summary(self) -> Table:
        """A row for each family, best first.

        Returns
        -------
        Table
            A dict of the columns "family", "parameters", "loglik", "aic", "bic", "ks", "ad", "status" and "limit": "is normal"
            for a family that is at that limit, where the normal distribution is compared, too.
        """
        found = self.fits.values()
        columns: dict[str, Any] = {"family": np.array([f.family for f in found])}
        columns["parameters"] = np.array([", ".join(f"{n}={v:.4g}" for n, v in f.params.items()) for f in found])
        columns |= {name: np.array([getattr(f, name) for f in found]) for name in ("loglik", "aic", "bic")}
        columns |= {"ks": np.array(list(self.ks.values())), "ad": np.array(list(self.ad.values()))}
        columns["status"] = np.array([f.status for f in found])
        words = [f"is {f.limit}" if _is_another(f, self.fits) else f.limit for f in found]
        return Table(columns | {"limit": np.array(words)})


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Batch):
    """Fits of several families to each of many series; it prints as a table.

    Attributes
    ----------
    fits : dict of DistributionFits
        By family.
    criterion : str
    left_out : tuple of str
        Families whose support holds none of the series, where none are named.
    note : str
        As of a `Comparison`.

    Notes
    -----
    ``found[key]``, ``found.one(which)`` and ``found.at(i)`` are the `Comparison` of one series, as iteration gives all and
    ``found.items()`` pairs (key, comparison).
    """

    fits: dict[str, DistributionFits]
    criterion: str
    left_out: tuple[str, ...]
    note: str = ""

    @functools.cached_property
    def _criteria(self):
        """The criterion of each family and series; inf where the family is at a limit that is compared, too."""
        return np.stack([np.where(_is_another(f, self.fits), math.inf, getattr(f, self.criterion)) for f in self.fits.values()])

    @property
    def best(self) -> Any:
        """The family of the least criterion of each series, "" where no fit ended in a maximum.

        Of a family at a limit that is compared, too, the limit's.

        An array of str of the shape of the batch, with the labels of the data where these came from xarray.
        """
        criteria = self._criteria
        first = next(iter(self.fits.values()))
        names = np.where(np.isfinite(criteria).any(axis=0), np.array([*self.fits])[np.argmin(criteria, axis=0)], "")
        return names if first.labels is None else first.labels.copy(data=names).rename("best")

    @property
    def keys(self) -> Any:  # type: ignore[override]
        """Keys of the series, None where they have none."""
        return self._first.keys

    @property
    def n_missing(self) -> NDArray[np.int64]:
        """Numbers of missing values of each series, which were left out."""
        return self._first.n_missing

    @property
    def _first(self):
        return next(iter(self.fits.values()))

    def __len__(self) -> int:
        return len(self._first)

    @property
    def _shape(self):
        return self._first._shape

    def _item(self, i):
        fits = {f.family: f for f in _best_first([f.at(i) for f in self.fits.values()], self.criterion)}
        none = dict.fromkeys(fits, math.nan)
        return Comparison(fits, self.criterion, none, dict(none), (), self.note)

    def by_series(self) -> Table:
        """A row for each series, in the order of the flattened batch: its best family, and by how much.

        Returns
        -------
        Table
            A dict of the columns "key" (where the series have keys; of grouped data their columns or dimensions), "best", the
            family, "aic" and "bic" of its fit, "next", the family that follows by the criterion, and the "difference" of its
            criterion to the best, "status" of the best fit, "n_values" and "converged", the number of families whose fits did.
            "" and NaN where no fit ended in a maximum, or no second one. `to_frame` of the table makes a data frame.

        Examples
        --------
        >>> from numbastats import distributions as D
        >>> x = {"a": D.Gamma(3.0).rvs(500, rng=1), "b": D.Normal(0.0).rvs(500, rng=3)}
        >>> D.compare_many(x, ["normal", "gamma"]).by_series()["best"].tolist()
        ['gamma', 'normal']
        """
        fits = [*self.fits.values()]
        rows = np.arange(len(fits[0]))
        criteria = self._criteria.reshape(len(fits), -1)
        order = np.argsort(criteria, axis=0, kind="stable")
        first, second = order[0], order[min(1, len(fits) - 1)]
        there, follows = np.isfinite(criteria[first, rows]), np.isfinite(criteria[second, rows]) & (len(fits) > 1)
        of = lambda name: np.stack([np.ravel(getattr(f, name)) for f in fits])  # noqa: E731
        names = np.array([*self.fits])
        columns: dict[str, Any] = {"best": np.where(there, names[first], "")}
        columns |= {name: np.where(there, of(name)[first, rows], math.nan) for name in ("aic", "bic")}
        columns["next"] = np.where(follows, names[second], "")
        with np.errstate(invalid="ignore"):
            away = criteria[second, rows] - criteria[first, rows]
        columns["difference"] = np.where(follows, away, math.nan)
        columns |= {name: of(name)[first, rows] for name in ("status", "n_values")}
        return fits[0]._table(columns | {"converged": of("converged").sum(axis=0)})

    def _headline(self) -> str:
        out = [f"left out, as their support holds none of the series: {', '.join(self.left_out)}"] if self.left_out else []
        shape, none = self._first.loglik.shape, int((np.asarray(self.best) == "").sum())
        failed = [f"{none} series: no fit ended in a maximum"] if none else []
        missing = _left_out(int(np.sum(self.n_missing)))
        title = f"{len(self.fits)} families by {self.criterion}, {len(self)} series of shape {shape}{missing}"
        return "\n  ".join([title, *filter(None, [self.note]), *out, *failed])

    def summary(self) -> Table:
        """A row for each family.

        Returns
        -------
        Table
            A dict of the columns "family", "best" (the number of series that it fits best), "converged" and, over the series in
            which all families that are best somewhere converged, "mean_difference" of the criterion to the least.
        """
        best, criteria = np.asarray(self.best), np.stack([getattr(f, self.criterion) for f in self.fits.values()])
        wins = np.array([int((best == name).sum()) for name in self.fits])
        whole = np.isfinite(criteria[wins > 0]).all(axis=0)
        above = criteria[:, whole] - criteria[:, whole].min(axis=0)
        means = above.mean(axis=1) if whole.any() else np.full(wins.shape, math.nan)
        columns: dict[str, Any] = {"family": np.array([*self.fits]), "best": wins}
        columns["converged"] = np.array([int(f.converged.sum()) for f in self.fits.values()])
        rows = np.argsort(-wins, kind="stable")
        made = Table({name: column[rows] for name, column in (columns | {"mean_difference": means}).items()})
        made.library = None if self.keys is None else self.keys.library
        return made


def _left_out(missing):
    """The number of missing values, as a headline ends."""
    return f", {missing} missing" if missing else ""


def _best_first(found, criterion):
    """Fits of families to the same values in the order of a criterion; those at a limit that is compared, too, after it."""
    by_name = {f.family: f for f in found}
    at_limit = {f.family: bool(_is_another(f, by_name)) for f in found}
    first = {f.family: getattr(by_name[f.limit] if at_limit[f.family] else f, criterion) for f in found}
    return sorted(found, key=lambda f: (first[f.family], at_limit[f.family]))


def _is_another(found, fits):
    """Whether fits are at a limit whose family is one of `fits`, with the same likelihood."""
    same = [
        (np.asarray(found.limit) == family)
        & (np.abs(np.asarray(other.loglik) - found.loglik) <= 1e-9 * (1.0 + np.abs(found.loglik)))
        for family, other in fits.items()
    ]
    return np.logical_or.reduce(same)


def _are_integers(data, by=None, dim=None):
    """Whether values are of an integer type."""
    dtype = getattr(data, "dtype", None)
    if hasattr(dtype, "is_integer"):  # of polars
        return dtype.is_integer()
    if getattr(dtype, "kind", "") in ("i", "u"):  # with masks of pandas, too
        return True
    if dtype is None and by is None and hasattr(data, "columns") and not hasattr(data, "ngroups"):
        return all(_are_integers(data[column]) for column in data.columns)
    if dtype is None:
        sets, keys = labelled_sets(data, by, dim)
        if keys is not None or is_ragged(sets):
            return all(map(_are_integers, sets))
        data = sets
    a = labels_of(data, "data")
    return a.dtype.kind in "iu" or (a.dtype.kind == "O" and all(map(is_integer, a[~is_missing(a)].tolist())))


def _by_values(families, call, values, are_integers):
    """Families to compare where none are named, and a note on them: of integers from 0 on those of counts."""
    if families is not None:
        return families, ""
    values = values[~np.isnan(values)]
    if not (values.size and ((values >= 0.0) & (values == np.floor(values)) & (values < math.inf)).all()):
        return "continuous", ""
    if are_integers():
        others = f'{call}(..., "continuous") compares the others'
        return "counts", f"families of counts, as the values are integers from 0 on; {others}"
    return (
        "continuous",
        f'continuous families, though all values are whole numbers; {call}(..., "counts") compares those of counts',
    )


def _families(families, partly, truncated):
    """Names of families to compare, and words on those that are not, as they take exact values alone."""
    if isinstance(families, str):
        if families not in ("all", "continuous", "counts"):
            raise TypeError(f'families={families!r} is one name; pass "continuous", "counts" or a list, [{families!r}]')
        names = [n for n, c in CLASSES.items() if not c._known and c.is_discrete == (families == "counts")]
        others = [n for n in names if not takes(CLASSES[n], partly, truncated)]
        words = f"without {', '.join(others)}, which are not fitted to such data" if others else ""
        return tuple(n for n in names if n not in others), words
    if not families:
        raise ValueError('families is empty; pass "continuous", "counts" or a list of names')
    words = [class_of(family).family for family in families]
    if len(set(words)) < len(words):
        raise ValueError(f"families has {max(words, key=words.count)!r} more than once")
    kinds = [class_of(family).is_discrete for family in families]
    if any(kinds) and not all(kinds):
        raise ValueError("families has distributions of counts and continuous ones: a density is no probability to compare with")
    return tuple(families), ""


@hands_on(fit_many)
def compare_many(
    data: Any,
    families: Kinds | Sequence[Name | type[Distribution]] | None = None,
    *,
    criterion: Literal["bic", "aic"] = "bic",
    **options: Unpack[CompareOptions],
) -> Comparisons:
    """Fit several families to each of many series, and find the best for each.

    Parameters
    ----------
    data : array_like, list, dict, groups
        As in `fit_many`.
    families, criterion
        As in `compare`; families are left out whose support holds none of the series.
    **options
        Of `fit_many`: axis, by, dim, weights, zeros, censored, event, entry, truncated, nan_policy, device, workers, progress.

    Returns
    -------
    Comparisons
        ``best``, the array of names, ``by_series()``, a table with a row for each series, and ``fits``, a `DistributionFits`
        for each family.

    Raises
    ------
    TypeError, ValueError
        As `compare` and `fit_many`.

    Examples
    --------
    >>> import numpy as np
    >>> from numbastats import distributions as D
    >>> x = np.stack(
    ...     [
    ...         D.Gamma(3.0).rvs(500, rng=1),
    ...         D.Lognormal(1.0).rvs(500, rng=2),
    ...         D.Normal(0.0).rvs(500, rng=3),
    ...     ]
    ... )
    >>> D.compare_many(x, ["normal", "gamma", "lognormal"]).best.tolist()
    ['gamma', 'lognormal', 'normal']
    """
    choice("criterion", criterion, ("bic", "aic"))
    axis, by, dim = (options.get(name) for name in ("axis", "by", "dim"))
    partly = any(options.get(name) is not None for name in ("censored", "event", "entry"))
    families = "continuous" if partly and families is None else families
    values = np.empty(0) if families is not None or is_lazy(data) else series_of(data, axis, None, 1, by, dim).x
    families, note = _by_values(families, "compare_many", values, lambda: _are_integers(data, by, dim))
    names, others = _families(families, partly, options.get("truncated"))
    note = "; ".join(filter(None, [note, others]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it
        found = {name: fit_many(data, name, **options)._host for name in names}
    left_out = (
        tuple(n for n, f in found.items() if f.status.size and (f.status == Status.OUTSIDE).all())
        if isinstance(families, str)
        else ()
    )
    return Comparisons({f.family: f for name, f in found.items() if name not in left_out}, criterion, left_out, note)


@names_ours
def compare(
    x: ArrayLike,
    families: Kinds | Sequence[Name | type[Distribution]] | None = None,
    *,
    criterion: Literal["bic", "aic"] = "bic",
    weights: ArrayLike | None = None,
    zeros: Zeros | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    truncated: tuple[float | None, float | None] | None = None,
    nan_policy: NanPolicy = "omit",
) -> Comparison:
    """Fit several families to the same values, and order them by a criterion.

    Parameters
    ----------
    x : array_like of shape (n,), scipy.stats.CensoredData or None
        In any of the forms of :doc:`/data`; None where `censored` has the values.
    families : "continuous", "counts" or sequence of str, optional
        Of :doc:`/families`. "continuous" (or "all") are the continuous ones whose support holds the values; the others are listed
        in ``left_out``. The truncated normal distribution, whose ends have to be known, is not among them. "counts" are
        "poisson", "negative_binomial" and "geometric"; a list has families of one of the two kinds. By default "counts" for
        values of an integer type from 0 on, "continuous" for others; ``note`` says which, where one may have meant the others.
    criterion : {"bic", "aic"}
        What is least in the best fit: Schwarz's criterion, which adds log(n) for each parameter, finds in long series the family
        that the values come from, if it is among them; Akaike's, which adds 2, aims at the best prediction.
    weights, zeros, censored, event, entry, truncated
        As in `fit`, of which all families get the same. With `censored`, `event` or `entry` the families are "continuous" by
        default. The distances `ks` and `ad` are then from the nonparametric estimate.
    nan_policy : {"omit", "raise"}
        As in `fit`.

    Returns
    -------
    Comparison
        ``best``, a `DistributionFit`, and all ``fits`` by family; those that failed come last, with their reason.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood, and where the support of no family holds the values.

    References
    ----------
    K. P. Burnham, D. R. Anderson, Model Selection and Multimodel Inference (2002), chapters 2 and 6.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.distributions.Gamma(3.0, scale=2.0).rvs(400, rng=1)
    >>> found = ns.distributions.compare(x, ["normal", "gamma", "lognormal", "weibull"])
    >>> list(found.fits), found.best.family
    (['gamma', 'weibull', 'lognormal', 'normal'], 'gamma')
    """
    choice("criterion", criterion, ("bic", "aic"))
    given: dict[str, Any] = dict(weights=weights, censored=censored, event=event, entry=entry)
    partly = any(v is not None for v in (censored, event, entry)) or is_censored_data(x)
    values = np.empty(0) if partly else one_series(x, "compare_many(x, axis=...) is for many series")
    families, note = _by_values(
        "continuous" if partly and families is None else families, "compare", values, lambda: _are_integers(x)
    )
    names, others = _families(families, partly, truncated)
    note = "; ".join(filter(None, [note, others]))
    first = None if isinstance(families, str) else class_of(names[0])
    known = known_of_one(x, (*given.values(), None), nan_policy, "compare_many(x, axis=...)", first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it
        found = [fit(x, name, zeros=zeros, truncated=truncated, nan_policy=nan_policy, **given) for name in names]
    left_out = tuple(f.family for f in found if f.status == Status.OUTSIDE) if isinstance(families, str) else ()
    kept = [f for f in found if f.family not in left_out]
    if not kept:
        raise ValueError(f"the support of no family holds the values: {found[0].message}")
    kept = _best_first(kept, criterion)
    data = _Observed(known, kept[0].cls, zeros, kept[0]._cut)
    ks, ad = ({f.family: data.distance(s, f) for f in kept} for s in ("ks", "ad"))
    return Comparison({f.family: f for f in kept}, criterion, ks, ad, left_out, note)


# --- goodness of fit ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GoodnessOfFit(Result):
    """A test of goodness of fit by the parametric bootstrap; it prints as a table.

    Attributes
    ----------
    name : str
        The statistic.
    statistic, pvalue : float
        pvalue is (1 + number of simulated statistics that are at least as large)/(1 + number of simulations).
    fit : DistributionFit
        The fit to the data.
    simulated : array of shape (count,)
        Statistics of the simulated data sets.
    failed : int
        Simulated data sets whose fit did not converge. Their statistics count as they are; NaN, of a fit without parameters, as
        larger than that of the data.
    """

    name: str
    statistic: float
    pvalue: float
    fit: DistributionFit
    simulated: NDArray[np.float64]
    failed: int

    @property
    def n_missing(self) -> int:
        """Number of missing values, which were left out."""
        return self.fit.n_missing

    def _headline(self) -> str:
        failed = f", of which {self.failed} fits did not converge" if self.failed else ""
        title = f'family "{self.fit.family}", statistic {self.name!r}{_left_out(self.n_missing)}'
        return f"{title}, {self.simulated.size} simulated data sets{failed}"

    def summary(self) -> Table:
        """One row: "statistic", "pvalue", and the fitted parameters."""
        values = {"statistic": self.statistic, "pvalue": self.pvalue} | self.fit.params
        return Table({name: np.array([value]) for name, value in values.items()})


@names_ours
def goodness(  # noqa: PLR0913
    x: ArrayLike,
    family: Name | type[Distribution],
    statistic: Statistic = "ad",
    *,
    fixed: dict[str, float] | None = None,
    weights: ArrayLike | None = None,
    zeros: Zeros | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    truncated: tuple[float | None, float | None] | None = None,
    nan_policy: NanPolicy = "omit",
    count: int = 999,
    rng: Any = None,
    workers: Any = None,
) -> GoodnessOfFit:
    """Test whether a family fits, with its parameters estimated from the same values.

    Data sets of the same size are drawn from the fitted distribution and fitted again, so that the p-value allows for parameters
    that the data have chosen; tables of these statistics for a known distribution do not, and hardly ever reject.

    Parameters
    ----------
    x : array_like of shape (n,), scipy.stats.CensoredData or None
        In any of the forms of :doc:`/data`; None where `censored` has the values.
    family : str or class
        As of `fit`: one of :doc:`/families`.
    statistic : {"ad", "ks", "cvm"}
        Of Anderson and Darling, A^2, which weighs the tails most; of Kolmogorov and Smirnov, D; of Cramer and von Mises, W^2.
    fixed : dict, optional
        Values of parameters that are not estimated, by name.
    zeros, censored, event, entry, truncated
        As in `fit`.
    weights : array_like, optional
        Whole numbers, how often each value was seen, as of binned data.
    nan_policy : {"omit", "raise"}
        As in `fit`.
    count : int
        Number of simulated data sets, at least 19; the least p-value is 1/(count + 1).
    rng
        As in `numbastats.random.uniform`.
    workers : int or executor, optional
        As in `fit_many`.

    Returns
    -------
    GoodnessOfFit

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood, and a fit to the data that did not converge.

    Notes
    -----
    Of censored values, and those with entries, distances are those between the fitted distribution and the nonparametric
    estimate: the product limit of Kaplan and Meier where times are exact or open above, else Turnbull's. Where that tells
    only that mass lies between two ends, or beyond the last time, it is taken to lie there as the fitted distribution has it.
    The simulated data sets have the entries and the truncation of the data. Times of censoring are known of units that were
    censored; for others they are drawn from the product limit of these times, after the event. Between other ends, as of
    inspections, a simulated value gets one of the intervals of the data that hold it, with chances 1/(n P), P its probability
    by Turnbull's estimate; that censoring tells nothing of the values is presumed. With ``zeros="share"`` the test is that of
    the other values, as the share of zeros is fitted as it is; with "inflated" that of all counts.

    The hyperbolic families take 0.1 s for each data set, as their distribution functions are tables.

    References
    ----------
    M. A. Stephens, "EDF statistics for goodness of fit and some comparisons", JASA 69 (1974) 730-737. W. Stute, W. Gonzales
    Manteiga, M. Presedo Quindimil, "Bootstrap based goodness-of-fit-tests", Metrika 40 (1993) 243-256. J. A. Koziol, S. B. Green,
    "A Cramer-von Mises statistic for randomly censored data", Biometrika 63 (1976) 465-474.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.distributions.Gamma(2.0, scale=3.0).rvs(200, rng=1)
    >>> test = ns.distributions.goodness(x, "normal", rng=2)
    >>> test.pvalue, bool((test.simulated < test.statistic).all())
    (0.001, True)
    >>> ns.distributions.goodness(x, "gamma", rng=2).pvalue > 0.05
    True
    """
    choice("statistic", statistic, ("ad", "ks", "cvm"))
    _check_count(count)
    if isinstance(x, DistributionFits):
        raise TypeError("x are fits, which do not keep the values: pass the data, goodness_many(data, family) for many series")
    refuse_trials(class_of(family), fixed, "goodness")
    given: dict[str, Any] = dict(weights=weights, censored=censored, event=event, entry=entry)
    known = known_of_one(x, (*given.values(), None), nan_policy, "goodness takes one series, goodness_many", class_of(family))
    known = known if weights is None else expanded(known)
    found = fit(x, family, fixed=fixed, zeros=zeros, truncated=truncated, nan_policy=nan_policy, **given)
    if not found.converged:
        raise ValueError(f"no test of a fit that did not converge: {found.message}")
    return _tested(found, known, zeros, statistic, count, rng, workers)


def _tested(found, known, zeros, statistic, count, rng, workers):
    """The test of a fit to values, none of which is weighted."""
    data, drawn = _Observed(known, found.cls, zeros, found._cut), Drawn(found, zeros, workers)
    largest = known.series.x if known.series.hi is None else np.where(np.isinf(known.series.hi), known.series.x, known.series.hi)
    if found.cls.is_discrete and statistic != "ks" and np.nanmax(largest) > LARGEST:
        raise ValueError(f"counts above {LARGEST:.0e} have the statistic 'ks' alone: pass statistic='ks', or a continuous family")
    observed, parts, failed = data.distance(statistic, found), [], 0
    for sets in drawn.exact(count, rng) if data.exact else drawn.censored(expanded(data.known), count, rng):
        parts.append(data.distances(statistic, sets))
        failed += int((~sets.fits.converged).sum())
    simulated = np.concatenate(parts)
    at_least = int(np.sum(~(simulated < observed)))
    return GoodnessOfFit(statistic, observed, (1 + at_least) / (1 + count), found, simulated, failed)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GoodnessOfFits(Batch):
    """Tests of goodness of fit of many series; it prints as a table.

    Attributes
    ----------
    name : str
        The statistic.
    statistic, pvalue : array of the shape of the batch
        As in `GoodnessOfFit`; NaN where there is no test.
    failed : array of int
        Simulated data sets whose fit did not converge.
    messages : array of str
        "ok", or why there is no test.
    fits : DistributionFits
        To the data.
    simulated : array of shape (..., count)
        Statistics of the simulated data sets.

    Notes
    -----
    ``tests["pvalue"]`` is an array, ``tests[key]``, ``tests.one(which)`` and ``tests.at(i)`` are a `GoodnessOfFit`, as iteration
    gives all and ``tests.items()`` pairs (key, test). Where the family is true for all series, one in twenty has p < 0.05.
    """

    name: str
    statistic: NDArray[np.float64]
    pvalue: NDArray[np.float64]
    failed: NDArray[np.int64]
    messages: NDArray[np.str_]
    fits: DistributionFits
    simulated: NDArray[np.float64]

    @property
    def keys(self) -> Any:  # type: ignore[override]
        """Keys of the series, None where they have none."""
        return self.fits.keys

    @property
    def n_missing(self) -> NDArray[np.int64]:
        """Numbers of missing values of each series, which were left out."""
        return self.fits.n_missing

    def __len__(self) -> int:
        return len(self.fits)

    @property
    def _shape(self):
        return self.fits._shape

    @property
    def _names(self):
        return "statistic", "pvalue"

    def _named(self, name):
        return getattr(self, name)

    def _item(self, i):
        numbers = float(self.statistic.flat[i]), float(self.pvalue.flat[i])
        simulated = self.simulated.reshape(len(self), -1)[i]
        return GoodnessOfFit(self.name, *numbers, self.fits.at(i), simulated, int(self.failed.flat[i]))

    def _headline(self) -> str:
        none = int(np.isnan(self.pvalue).sum())
        without = f", {none} without a test" if none else ""
        return (
            f'family "{self.fits.family}", statistic {self.name!r}, {len(self)} series, '
            f"{self.simulated.shape[-1]} simulated data sets for each, {int((self.pvalue < 0.05).sum())} with p < 0.05{without}"
            f"{_left_out(int(np.sum(self.n_missing)))}"
        )

    def summary(self) -> Table:
        """A row for each series, in the order of the flattened batch.

        Returns
        -------
        Table
            A dict of the columns "key" (where the series have keys; of grouped data their columns or dimensions), "statistic",
            "pvalue", "failed", "n_values", "status" of the fit and "message".
        """
        columns = {name: getattr(self, name).ravel() for name in ("statistic", "pvalue", "failed")}
        columns |= {name: getattr(self.fits, name).ravel() for name in ("n_values", "status")}
        return self._table(columns | {"message": self.messages.ravel()})


@names_ours
def goodness_many(  # noqa: PLR0913
    data: Any,
    family: Name | type[Distribution],
    statistic: Statistic = "ad",
    *,
    axis: int | None = None,
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    fixed: dict[str, float] | None = None,
    zeros: Zeros | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    truncated: tuple[float | None, float | None] | None = None,
    count: int = 999,
    rng: Any = None,
    workers: Any = None,
    nan_policy: NanPolicy = "omit",
) -> GoodnessOfFits:
    """Test for each of many series whether a family fits, with its parameters estimated from the same values.

    Parameters
    ----------
    data, axis, by, dim, censored, event, entry
        As in `fit_many`, in memory.
    family, statistic, fixed, zeros, truncated, count
        As in `goodness`.
    rng
        As in `goodness`. The draws for a series depend on it and on the place of the series alone.
    workers : int or executor, optional
        As in `fit_many`.
    nan_policy : {"omit", "raise"}
        As in `fit_many`.

    Returns
    -------
    GoodnessOfFits
        Arrays ``statistic`` and ``pvalue`` of the shape of `data` without `axis`. A series whose fit did not converge has NaN,
        and its reason in ``messages``.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood.

    Warns
    -----
    ConvergenceWarning
        When fits to the data end in no maximum.

    Notes
    -----
    A series takes as long as `goodness`, which fits `count` simulated series together.

    Examples
    --------
    >>> from numbastats import distributions as D
    >>> x = {"a": D.Gamma(2.0).rvs(200, rng=1), "b": D.Normal(9.0).rvs(200, rng=2)}
    >>> tests = D.goodness_many(x, "normal", count=199, rng=3)
    >>> tests["a"].pvalue, tests["b"].pvalue > 0.05
    (0.005, True)
    """
    choice("statistic", statistic, ("ad", "ks", "cvm"))
    _check_count(count)
    if is_lazy(data):
        raise TypeError("goodness_many takes arrays in memory: pass data.compute()")
    if isinstance(data, Iterable) and not hasattr(data, "__getitem__"):  # an iterator, which is read twice
        data = list(data)
    refuse_trials(class_of(family), fixed, "goodness_many")
    given: dict[str, Any] = dict(censored=censored, event=event, entry=entry)
    options: dict[str, Any] = dict(fixed=fixed, zeros=zeros, truncated=truncated, workers=workers, nan_policy=nan_policy)
    fits = fit_many(data, family, axis=axis, by=by, dim=dim, **given, **options)._host
    known = known_of_many(data, (None, *given.values(), None), "omit", axis, by, dim)
    series = known.series
    n, key = len(fits), normalise_rng(rng)
    numbers, failed, simulated = np.full((2, n), math.nan), np.zeros(n, np.int64), np.full((n, count), math.nan)
    said = np.array(np.ravel(fits.messages), dtype=object)
    for i in np.flatnonzero(np.ravel(fits.converged)).tolist():
        a, b = series.off[i], series.off[i + 1]
        x, hi, late = (None if v is None else v[a:b] for v in (series.x, series.hi, known.entry))
        own = known._replace(
            series=series._replace(x=x, hi=hi, off=np.array([0, b - a]), shape=(1,), length=int(b - a)), entry=late
        )
        try:
            one = _tested(fits.at(i), own, zeros, statistic, count, np.random.default_rng([int(key), i]), workers)
        except (ValueError, ArithmeticError) as error:
            said[i] = str(error)
            continue
        numbers[:, i], failed[i], simulated[i], said[i] = (one.statistic, one.pvalue), one.failed, one.simulated, "ok"
    shape = fits._shape
    distances, pvalues = (a.reshape(shape) for a in numbers)
    said, simulated = said.astype(np.str_).reshape(shape), simulated.reshape(*shape, count)
    return GoodnessOfFits(statistic, distances, pvalues, failed.reshape(shape), said, fits, simulated)
