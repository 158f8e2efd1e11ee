"""Maximum likelihood for one series and for many."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import numbastats.stable as stable
from numbastats._core import device as gpu
from numbastats._core.broadcast import lent
from numbastats._core.checks import FLOAT64, choice, is_lazy, warn_of_shares
from numbastats._core.data import NanPolicy, check_policy, check_weights, doubles, is_frame, names_in, refuse_missing, series
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.groups import Keys, keys_of, labelled_sets, same_order
from numbastats._core.information import standard_errors
from numbastats._core.kinds import LAZY, check_current, in_kind_of, kind_of, rows_alike, to_host
from numbastats._core.launch import choose_device, launch
from numbastats._core.options import Device, hands_on
from numbastats._core.parallel import check_workers, is_executor, mapped, worker_count
from numbastats._core.progress import bar
from numbastats._core.refusals import Refusals, refusals
from numbastats._core.results import Around, BatchOfFits, Intervals, Table, estimates, mostly, with_intervals
from numbastats._core.slabs import SLAB_WORK
from numbastats._core.status import CONVERGED, FITTED, REFUSED, Status, among
from numbastats.distributions.arguments import FitMethod, Zeros
from numbastats.distributions.catalogue import CLASSES, class_of, distribution_of
from numbastats.distributions.censoring import (
    are_exact,
    bounded,
    bounds_of_scipy,
    entered,
    is_censored_data,
    of_events,
    pair_of,
    seen,
)
from numbastats.distributions.composition import ByItem, Tail, with_zeros
from numbastats.distributions.extremes import FewAbove, Threshold, above, check_family, share_error
from numbastats.distributions.families.stable import Stable
from numbastats.distributions.intervals import at_places
from numbastats.distributions.kernels import fits as k
from numbastats.distributions.kernels.hyperbolic import CUSPS
from numbastats.distributions.limits import Found, Limits, completed, ended, finish, gathered, limit_distribution, width_of
from numbastats.distributions.moments import l_moments
from numbastats.distributions.names import Name
from numbastats.distributions.protocol import Distribution

__all__ = [
    "CLASSES",
    "DistributionFit",
    "DistributionFits",
    "axis_of",
    "class_of",
    "distribution_of",
    "fit",
    "fit_known",
    "fit_many",
    "is_ragged",
    "known_of_many",
    "known_of_one",
    "one_series",
    "padded",
    "refuse_executor",
    "refuse_frame",
    "refuse_trials",
    "series_of",
    "takes",
]


_SLAB = 1 << 22  # values fitted at a time
_SECONDS = 0.25  # of work on them
_NEAR_LIMIT = 1e4  # size of parameters near a limit, where a distribution of the class is wanted

_CONVERGED = among(*CONVERGED)
_FITTED, _REFUSED = among(*FITTED), among(*REFUSED)  # have parameters; have none, for their data
_NOT_ADMITTED = among(Status.OUTSIDE, Status.NONE_LEFT, Status.NOT_FINITE)
_MEANINGS = np.array([status.meaning for status in Status])  # by number
_TOLD = among(Status.OK, Status.NO_CONVERGENCE), among(Status.OK)  # endings with remarks, by moments and by the likelihood
_REMARKS = {  # on converged fits
    "": "",
    "no derivative": "no standard errors: they rest on second derivatives, and where lam <= 1.5 the density has none at mu; with "
    "mu in fixed= the other parameters have theirs, given mu",
    "not definite": "no standard errors: the observed information is not positive definite",
    "at a value": "no standard errors of parameters that values or ends of intervals determine: the likelihood jumps or has "
    "corners there",
    "local": "a local maximum with loc below the least value, on which the standard errors rest; next to that value the "
    "likelihood may have no bound",
    "by moments": "by moments: no maximum of the likelihood, so no standard errors, aic and bic",
    "outside": "the support of this fit by moments leaves out data. Its `distribution` is there, as for isf(p); an interval "
    "lies between quantiles of isf(p) of the fits, by the same method, of fit_many to samples distribution.rvs((999, n))",
}


def _in_words(status, remark, limit=""):
    """How a fit ended, and the remark on it."""
    if remark == "outside":
        return f"no convergence: {_REMARKS[remark]}"
    said = f"converged to a limit of the family, the {limit.replace('_', '-')} distribution" if limit else Status(status).meaning
    return "; ".join(filter(None, (said, _REMARKS[remark])))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DistributionFit(Intervals):
    """A distribution fitted to one series; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    cls : type
        Class of the distribution.
    params, se : dict
        Estimates, and standard errors from the observed information: 0 for fixed parameters, NaN where there are none; `message`
        says why.
    covariance : array of shape (p, p)
    loglik, aic, bic : float
        Weighted log-likelihood of the values that were fitted; the number of observations of `bic` is the sum of the weights.
        `aic` and `bic` are inf for a fit that did not converge, so that ``min(bic, key=bic.get)`` never takes one.
    n_obs : float
        Sum of the weights of the values that were fitted; without weights their number.
    n_values : int
        Number of the values that were fitted: not missing, of weight > 0, and not a zero that was set apart.
    n_missing : int
        Number of the values that are missing.
    zeros : float
        Share of zeros that was set apart; with zeros="inflated" the probability of a zero beside those of the distribution.
    n_iter : int
    status : int
        How the fit ended, a `numbastats.Status`.
    converged : bool
        Whether the fit ended in a maximum: inside of the parameters (status 0), or at a limit of the family (status 2).
    message : str
        The status and the remark in words.
    partial : bool
        Whether values were censored, or some could not be seen.
    remark : str
        What is to be known of a fit that converged: "no derivative" of the density at mu, information that is "not definite" and
        an estimate "at a value" of the data are why it has no standard errors; "local": a maximum beside which the likelihood may
        have no bound; "by moments". "" where there is nothing. Of a fit by moments that did not converge: "outside", its support
        leaves out data.
    limit : str
        The family at the end of the parameters that the likelihood rises to (status 2): "normal" of Student's t without heavy
        tails. "" where there is none. `params` are then those of the limit, 0 or inf among them; `se` is NaN for these.
    limit_params, limit_se : dict
        The parameters of the limit in its own family, and their standard errors; empty where there is none.
    n_free : int
        Number of parameters that were estimated; at a limit, of those of the limit.
    tail : (float, float) or None
        ``threshold`` and ``share`` of a fit with a threshold: the share of the values, by weight, above it. The parameters,
        `loglik` and the criteria are those of the values above.
    n_below : int
        Number of the values that are not above the threshold.
    method : str
        "ml", "lmoments" or "moments".
    """

    cls: type[Distribution]
    params: dict[str, float]
    se: dict[str, float]
    covariance: NDArray[np.float64]
    loglik: float
    aic: float
    bic: float
    n_obs: float
    n_values: int
    zeros: float
    n_iter: int
    status: int
    converged: bool
    message: str
    partial: bool = False
    remark: str = ""
    limit: str = ""
    limit_params: dict[str, float] = dataclasses.field(default_factory=dict)
    limit_se: dict[str, float] = dataclasses.field(default_factory=dict)
    n_free: int = 0
    n_missing: int = 0
    _limit: tuple[int, NDArray[np.float64]] | None = None  # place in `_contains` of the class, covariance of `limit_params`
    _cut: tuple[float, float] | None = None  # the truncation
    _censored: bool = False  # whether values were not exact, or seen from an entry on
    tail: Threshold | None = None
    n_below: int = 0
    method: str = "ml"
    _estimated: ClassVar[Callable[..., Any]]  # set by `inference`, which needs the fits
    _levels: ClassVar[Callable[..., Any]]  # set by `inference`, too

    @property
    def family(self) -> str:
        """The word for the class."""
        return self.cls.family

    @property
    def distribution(self) -> Distribution:
        """The distribution with these parameters; at a limit that of the limit, with a threshold of the values above."""
        return self._made(self.limit_params) if self._limit else distribution_of(self.cls, self.params)

    @property
    def whole(self) -> Distribution:
        """The distribution of all values: of the fit and the zeros that were set apart, or are beside its own.

        Of a fit with a threshold ``sf(x) = share * distribution.sf(x)`` above it, and NaN below.
        """
        if self.tail is not None:
            return Tail(self.distribution, self.tail.share)
        zeros = math.nan if any(map(math.isnan, self.params.values())) and not self._limit else self.zeros
        return with_zeros(self.distribution, zeros) if self.zeros > 0.0 else self.distribution

    def _of_class(self):
        """The distribution as one of its class, and whether it is that of the fit: at a limit without parameters one near it."""
        made = distribution_of(self.cls, self.params)
        if self._limit is None or not np.isnan(made.params[0]):
            return made, True
        near = self.cls._contains[self._limit[0]].at(_NEAR_LIMIT, self.limit_params)
        return distribution_of(self.cls, self.params | {name: float(value) for name, value in near.items()}), False

    def _made(self, params):
        """The distribution of other parameters by name, of arrays too: of the limit's family at a limit."""
        if self._limit is None:
            return distribution_of(self.cls, params)
        columns = np.stack(np.broadcast_arrays(*params.values()), axis=-1)
        return limit_distribution(self.cls, self._limit[0], columns, self.params)

    def _headline(self) -> str:
        weight = "" if self.n_values == self.n_obs else f" of total weight {self.n_obs:g}"
        beside = ""
        if self.zeros > 0.0:
            beside = ", a share of zeros " + ("beside those of the distribution" if self.cls.is_discrete else "set apart")
        of = f', its limit "{self.limit}"' if self.limit else ""
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        above = "" if self.tail is None else f" above the threshold {self.tail.threshold:.10g}, {self.n_below} below"
        values = f"{self.n_values} values{above}{weight}{missing}, log-likelihood {self.loglik:.8g}"
        return f'family "{self.family}"{of}{beside}, {values}, {self.message}'

    @property
    def _n_all(self):
        """Sum of the weights of all values, also of those below the threshold."""
        return self.n_obs if self.tail is None else self.n_obs / (self.tail.share or math.nan)

    @property
    def zeros_se(self) -> float:
        """Standard error of `zeros`; NaN where there are none, or where those of the parameters are NaN."""
        if not self.zeros > 0.0:
            return math.nan
        if not self.cls.is_discrete:  # of n_obs / (1 - zeros) values
            if not self.n_obs > 0.0:
                return math.nan
            return math.sqrt(self.zeros * (1.0 - self.zeros) * (1.0 - self.zeros) / self.n_obs)
        params, errors, covariance = self.params, self.se, self.covariance
        if self._limit is not None:
            params, errors, covariance = self.limit_params, self.limit_se, self._limit[1]
        at_0, slopes = float(self.distribution.pmf(0.0)), np.zeros(len(params))
        for i, (name, se) in enumerate(errors.items()):  # of a share of zeros and counts above 0, which are independent
            ends = (self._made(params | {name: params[name] + by * se}) for by in (-1e-4, 1e-4))
            low, high = (float(d.pmf(0.0)) for d in ends)
            slopes[i] = (high - low) / (2e-4 * se) if se > 0.0 else 0.0 * se
        share = self.zeros + (1.0 - self.zeros) * at_0
        slopes *= (1.0 - share) / (1.0 - at_0) ** 2
        of_share = share * (1.0 - share) / self.n_obs / (1.0 - at_0) ** 2
        return math.sqrt(of_share + slopes @ np.nan_to_num(covariance) @ slopes)

    @names_ours
    def summary(self, level: float = 0.95) -> Table:
        """Estimates, standard errors and confidence intervals (at 95 % 1.96 standard errors on either side).

        Parameters
        ----------
        level : float
            Confidence of the intervals, between 0 and 1. `estimate` has intervals that need not be symmetric.

        Returns
        -------
        Table
            A dict of the columns "parameter", "estimate", "se", "lower", "upper", "level" that prints as a table, with the level
            in the headings; at a limit those of `limit_params` follow. Where there are `zeros`, or the share of the values above
            a threshold, they are its last row.

        Raises
        ------
        ValueError
            For a level out of range.
        """
        own = {f"{self.limit} {name}": value for name, value in self.limit_params.items()}
        names, values = [*self.params, *own], [*self.params.values(), *own.values()]
        errors = [*self.se.values(), *self.limit_se.values()]
        if self.zeros > 0.0:
            names, values, errors = [*names, "zeros"], [*values, self.zeros], [*errors, self.zeros_se]
        if self.tail is not None:
            share = self.tail.share
            names, values, errors = [*names, "share"], [*values, share], [*errors, float(share_error(share, self._n_all))]
        return estimates(names, values, errors, level)

    @names_ours
    def estimate(  # noqa: PLR0913
        self,
        function: Callable[[Distribution], Any] | str,
        method: Literal["delta", "bootstrap", "profile"] = "delta",
        *,
        level: float = 0.95,
        x: Any = None,
        weights: ArrayLike | None = None,
        censored: tuple[ArrayLike, ArrayLike] | None = None,
        event: ArrayLike | None = None,
        entry: ArrayLike | None = None,
        whole: bool = False,
        count: int = 999,
        rng: Any = None,
        workers: Any = None,
    ) -> Any:
        """A number that follows from the fit, with its error: value at risk, return level, expected shortfall, a probability.

        Parameters
        ----------
        function : callable or str
            Of a `Distribution`, as ``lambda d: d.ppf(0.01)``; it returns one number. It is called with batches of distributions
            where it understands them, else with one at a time. Where zeros were set apart, the distribution is that of the other
            values, but for `whole`; of a fit with a threshold it is that of all values, and errors have that of the share of the
            values above. Or the name of a parameter in the table of the fit.
        method : {"delta", "bootstrap", "profile"}
            "delta": derivatives by the parameters and their covariance; the interval is symmetric. "bootstrap": the parametric
            one, which draws `count` data sets of `n_obs` values from the fitted distribution, within its truncation, and fits
            them again by the same method; the interval has the quantiles of their values as its ends, and none where more samples
            have no fit than lie beyond an end. Of censored data, and those with entries, rows are drawn with replacement, each
            with what is known of it, and the interval is corrected for bias. "profile": the range of the function over all
            parameters whose log-likelihood is within half of the chi-square quantile of the maximum; it is not symmetric, and
            does not depend on the parameterisation.
        level : float
            Of confidence, between 0 and 1.
        x, weights, censored, event, entry
            The data of the fit as `fit` had them, for "profile", and for "bootstrap" of censored data.
        whole : bool
            Whether the function is one of the distribution of all values, the zeros of ``zeros=`` among them: ``found.whole``.
        count : int
            Data sets of the bootstrap, at least 19.
        rng
            Of the bootstrap, as in `numbastats.random.uniform`.
        workers : int or executor, optional
            Of the bootstrap, as in `fit_many`.

        Returns
        -------
        Estimate
            ``value``, ``se``, ``lower``, ``upper``, ``method``, ``message``.

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood; a fit that did not converge; for "delta" and "profile" one without standard
            errors; data that are not those of the fit, and for "bootstrap" of a fit to censored values none.

        Warns
        -----
        ConvergenceWarning
            When fits of the bootstrap did not converge, and are left out; when a profile does not end.

        Notes
        -----
        All three presume that the data come from this family, and that values are independent. Their coverage is in
        :doc:`/accuracy`. The bootstrap of rows has as its ends the quantiles at Phi(2 b + z), b the normal quantile of the share
        of samples below the estimate and z those of the level: B. Efron, "Nonparametric standard errors and confidence
        intervals", Canadian Journal of Statistics 9 (1981).

        References
        ----------
        A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application (1997), chapter 5. S. Coles, An Introduction to
        Statistical Modeling of Extreme Values (2001), section 2.6.

        Examples
        --------
        >>> import numbastats as ns
        >>> returns = ns.distributions.StudentT(5.0, scale=0.01).rvs(1000, rng=1)
        >>> found = ns.distributions.fit(returns, "student_t")
        >>> # value at risk: the loss that 1 % of days exceed
        >>> found.estimate(lambda d: -d.ppf(0.01))
        Estimate: method 'delta', level 0.95, ok
            value          se  lower 95 %  upper 95 %
        0.0320782  0.00153404   0.0290716   0.0350849
        >>> found.estimate(lambda d: -d.expected_shortfall(0.01), "bootstrap", rng=1)
        Estimate: method 'bootstrap', level 0.95, ok
            value        se  lower 95 %  upper 95 %
        0.0414547  0.002988   0.0362063   0.0479053
        """
        known = self._data(x, weights, censored, event, entry)
        return self._estimated(
            self, function, method, level=level, known=known, whole=whole, count=count, rng=rng, workers=workers
        )

    def _data(self, x, *given):
        """The data of the fit, as far as they are passed: x, weights, censored, event and entry."""
        if x is not None or given[1] is not None:
            many = "one(i) of many fits has those of one; fit_many(x, axis=...)"
            return known_of_one(x, (*given, None), "omit", many, self.cls)
        if any(v is not None for v in given):
            raise TypeError("weights, event and entry go with the data of the fit: pass x=, or censored=(lo, hi)")
        return None

    @names_ours
    def return_level(  # noqa: PLR0913
        self,
        period: ArrayLike,
        per: float = 1.0,
        method: Literal["delta", "bootstrap", "profile"] = "delta",
        *,
        level: float = 0.95,
        x: Any = None,
        weights: ArrayLike | None = None,
        censored: tuple[ArrayLike, ArrayLike] | None = None,
        event: ArrayLike | None = None,
        entry: ArrayLike | None = None,
        count: int = 999,
        rng: Any = None,
        workers: Any = None,
    ) -> Any:
        """The level that is exceeded once in a period on the average, with its error.

        Parameters
        ----------
        period : float or array_like of shape (k,)
            Return periods, in years or another unit of time.
        per : float
            Number of values of x in a unit of time: 1 for annual maxima and periods in years, 365.25 for daily values of which
            those above a threshold were fitted.
        method, level, x, weights, censored, event, entry, count, rng, workers
            As in `estimate`. The bootstrap draws its samples once for all periods.

        Returns
        -------
        Estimate or Estimates
            Of one period an `Estimate`; of several `Estimates` with the periods as their keys, whose table has a column "period".
            There a level that does not exist is NaN, and its message says why.

        Raises
        ------
        TypeError, ValueError
            As `estimate`; for periods that are not longer than the time between two values, 1/per; for one period whose level
            does not exist: it is infinite, or below the threshold, which is exceeded more often than that.

        Warns
        -----
        ConvergenceWarning
            As `estimate`.

        Notes
        -----
        The level is the quantile ``isf(1/(period * per))`` of all values, of `whole`. Of block maxima a period is the mean time
        between blocks whose maximum exceeds the level.

        References
        ----------
        S. Coles, An Introduction to Statistical Modeling of Extreme Values (2001), sections 3.3.3 and 4.3.3.

        Examples
        --------
        >>> import numbastats as ns
        >>> rain = ns.distributions.Gamma(0.5, scale=8.0).rvs(7305, rng=1)  # of twenty years
        >>> found = ns.distributions.fit(rain, "gpd", threshold=20.0)
        >>> found.return_level([1.0, 10.0, 100.0], per=365.25)
        Estimates: method 'delta', level 0.95, 3 of 3 with a standard error
        period    value       se  lower 95 %  upper 95 %  status  message
             1  33.8598  1.19494     31.5178     36.2018       0  ok
            10  49.5368  4.61439     40.4928     58.5808       0  ok
           100  66.2722  12.5595      41.656     90.8885       0  ok
        """
        known = self._data(x, weights, censored, event, entry)
        options = dict(level=level, whole=True, count=count, rng=rng, workers=workers)
        return self._levels(self, period, per, method, known=known, **options)


_ARRAYS = "params", "se", "covariance", "loglik", "n_obs", "n_values", "zeros", "n_iter", "status", "n_missing"  # of a batch


def _on_host(method):
    """Let a method of `DistributionFits` see its arrays as NumPy's."""

    @functools.wraps(method)
    def of_copy(self, *args, **options):
        return method(self._host, *args, **options)

    return of_copy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DistributionFits(BatchOfFits):
    """A family fitted to many series: ``fits["scale"]`` is an array of one parameter, ``fits.one(which)`` a `DistributionFit`.

    ``fits.one`` takes a key or, where none is equal, an index. ``fits[key]`` is that fit, too, where the key is neither a number
    nor the name of a parameter, and ``fits[i]`` the one at an index. ``fits.at(i)``, `len`, iteration over the fits and
    ``fits.items()``, pairs (key, fit), go through the flattened batch.

    Of data on a GPU the arrays from `params` to `status` and `n_missing` are of the kind of the data, and stay there. All that is
    made of them, tables, texts, single fits, `converged`, the criteria and pickles, is on the host: they are copied once.

    Attributes
    ----------
    cls : type
        Class of the distributions.
    names : tuple of str
        Of the parameters.
    params, se : array of shape (..., p)
    covariance : array of shape (..., p, p)
    loglik, n_obs, zeros : array of shape (...)
        `n_obs` are the sums of the weights, without weights `n_values`.
    n_values, n_missing, n_iter, status : array of int of shape (...)
        The last has numbers of `numbastats.Status`.
    keys : tuple or None
        Of the series, where they came in a dict, in groups, or in an array of xarray, whose coordinates they are.
    free : int
        Number of parameters that were estimated.
    labels : xarray.DataArray or None
        One of the shape of the batch, where the data came in one.
    method : str
        "ml", "lmoments" or "moments".
    partial : bool
        Whether values were censored, or some could not be seen.
    limit : array of str of shape (...)
        The family of the limit at which a fit ended, "" where there is none; see `DistributionFit.limit`.
    limit_params, limit_se : dict of arrays of shape (...)
        Parameters of the limits in their own families, by name, and their standard errors; NaN where a fit ended at none.
    n_free : array of int of shape (...)
        Number of parameters that were estimated; at a limit, of those of the limit.
    tail : (array, array) or None
        ``threshold`` and ``share`` of fits with thresholds; see `DistributionFit.tail`.
    n_below : array of int of shape (...)
        Numbers of the values that are not above the thresholds.
    """

    cls: type[Distribution]
    names: tuple[str, ...]
    params: NDArray[np.float64]
    se: NDArray[np.float64]
    covariance: NDArray[np.float64]
    loglik: NDArray[np.float64]
    n_obs: NDArray[np.float64]
    n_values: NDArray[np.int64]
    zeros: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    status: NDArray[np.int64]
    _keys: Keys | None
    free: int
    labels: Any = None
    method: str = "ml"
    partial: bool = False
    n_missing: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros((), np.int64))
    _limits: Limits | None = None  # where fits ended at limits
    _refused: Refusals | FewAbove | None = None  # of series whose values are not admitted
    _cut: tuple[float, float] | None = None  # the truncation
    _censored: bool = False  # whether values were not exact, or seen from an entry on
    tail: Threshold | None = None
    n_below: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros((), np.int64))
    _levels: ClassVar[Callable[..., Any]]  # set by `inference`, which needs the fits

    @functools.cached_property
    def keys(self) -> Keys | None:  # type: ignore[override]
        """Keys of the series, None where they have none."""
        return self._keys if self.labels is None else keys_of(self.labels)

    def __len__(self) -> int:
        return math.prod(self._shape)

    @property
    def _shape(self):
        return tuple(self.status.shape)

    @property
    def _host(self):
        """The same fits in arrays of NumPy."""
        return self if isinstance(self.status, np.ndarray) else self._copied

    @functools.cached_property
    def _copied(self):
        return dataclasses.replace(self, **{name: to_host(getattr(self, name), name) for name in _ARRAYS})

    def _in_kind(self, like):
        """The same fits in arrays of the kind of `like`, which is on a GPU."""
        if not isinstance(self.status, np.ndarray):
            return self
        return dataclasses.replace(
            self, **{name: in_kind_of(np.ascontiguousarray(getattr(self, name)), like) for name in _ARRAYS}
        )

    def __getstate__(self):
        return dict(vars(self._host))

    @property
    def _names(self):
        return self.names

    def _named(self, name):
        """One parameter of every series: an array, with the labels of the data where these came from xarray."""
        values = self.params[..., self.names.index(name)]
        return values if self.labels is None else self.labels.copy(data=values).rename(name)

    @property
    def family(self) -> str:
        """The word for the class."""
        return self.cls.family

    @functools.cached_property
    @_on_host
    def converged(self) -> NDArray[np.bool_]:
        """Whether each fit ended in a maximum inside of the parameters, or at a limit of the family."""
        return _CONVERGED[self.status]

    @functools.cached_property
    def limit(self) -> NDArray[np.str_]:
        """The family of the limit at which each fit ended, "" where there is none."""
        words = np.array([*(special.family for special in self.cls._contains), ""])
        return np.full(self._shape, "") if self._limits is None else words[self._limits.which]

    def _of_limits(self, values):
        """Values of the limits' parameters, by name."""
        if self._limits is None:
            return {}
        which, found = self._limits.which, {}
        for place in np.unique(which[which >= 0]).tolist():
            for j, name in enumerate(CLASSES[self.cls._contains[place].family].names):
                column = found.setdefault(name, np.full(which.shape, math.nan))
                column[which == place] = values[which == place, j]
        return found

    @property
    def limit_params(self) -> dict[str, NDArray[np.float64]]:
        """Parameters of the limits in their own families, by name; NaN where a fit ended at none."""
        return self._of_limits(None if self._limits is None else self._limits.params)

    @property
    def limit_se(self) -> dict[str, NDArray[np.float64]]:
        """Standard errors of `limit_params`."""
        return self._of_limits(None if self._limits is None else self._limits.se)

    @functools.cached_property
    def n_free(self) -> NDArray[np.int64]:
        """Number of parameters that were estimated; at a limit, of those of the limit."""
        if self._limits is None:
            return np.full(self._shape, self.free)
        return np.where(self._limits.which < 0, self.free, self._limits.free)

    @property
    @_on_host
    def messages(self) -> NDArray[np.str_]:
        """How each fit ended, in words."""
        said, remarks, limits = _MEANINGS[self.status], self.remarks, self.limit
        for limit in np.unique(limits).tolist():
            for remark in np.unique(remarks[limits == limit]).tolist():
                if limit or remark:
                    text = _in_words(Status.LIMIT if limit else Status.OK, remark, limit)
                    said = np.where((limits == limit) & (remarks == remark), text, said)
        if self._refused is not None:
            words = said.ravel().tolist()
            for i in self._refused.which.tolist():
                words[i] = self._refused.words(i) or words[i]
            said = np.array(words).reshape(said.shape)
        return said

    def message(self, index: Any) -> str:
        """How the fit of one series ended, in words, by its index (or key)."""
        return self._words(self._place(index))

    @_on_host
    def _words(self, place):
        """How a fit ended, by its position."""
        i = self._at(place)
        if self._refused is not None and _REFUSED[self.status[i]]:
            words = self._refused.words(place)
            if words:
                return words
        return _in_words(self.status[i], self.remarks[i], self.limit[i])

    @functools.cached_property
    @_on_host
    def remarks(self) -> NDArray[np.str_]:
        """What is to be known of fits that converged, "" where there is nothing; see `DistributionFit.remark`."""
        se, likelihood, places = self.se, self.cls._likelihood, (math.nan, math.nan)
        settles = likelihood is not None and (likelihood.settles or (self.partial and bool(likelihood.settled(places))))
        found: Any = np.where(np.isnan(se).any(axis=-1), "at a value" if settles else "not definite", "")
        if self.family == "variance_gamma":  # fixed parameters have the error 0
            lam, mu = self.names.index("lam"), self.names.index("mu")
            found = np.where((self.params[..., lam] <= CUSPS) & np.isnan(se[..., mu]), "no derivative", found)
        if likelihood is not None and likelihood.shifts and "loc" in self.names:
            found = np.where(se[..., self.names.index("loc")] > 0.0, "local", found)
        if self.method != "ml":
            found = np.where(self.status == Status.OK, "by moments", "outside")
        told = np.where(_TOLD[self.method == "ml"][self.status], found, "")
        if self._limits is None:
            return told
        counts = np.array([*(len(CLASSES[special.family].names) for special in self.cls._contains), 0])[self._limits.which]
        own = self._limits.se
        return np.where((np.isnan(own) & (np.arange(own.shape[-1]) < counts[..., None])).any(axis=-1), "at a value", told)

    @property
    def _likeliest(self):
        return self.converged & (self.method == "ml")

    @functools.cached_property
    @_on_host
    def aic(self) -> NDArray[np.float64]:
        """Akaike's criterion; inf for fits that did not converge, so that the least of several is one that did."""
        return np.where(self._likeliest, 2.0 * self.n_free - 2.0 * self.loglik, math.inf)[()]

    @functools.cached_property
    @_on_host
    def bic(self) -> NDArray[np.float64]:
        """Bayesian criterion of Schwarz; inf for fits that did not converge."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._likeliest, self.n_free * np.log(self.n_obs) - 2.0 * self.loglik, math.inf)[()]

    @property
    @_on_host
    def distribution(self) -> Distribution:
        """The distributions of all series: one object, of the shape and with the labels of the batch."""
        return self._assembled(self.params, self._limits, self._named)

    @property
    @_on_host
    def whole(self) -> Distribution:
        """The distributions of all values, as `DistributionFit.whole` has it."""
        labelled = lambda values: values if self.labels is None else self.labels.copy(data=values)  # noqa: E731
        if self.tail is not None:
            return Tail(self.distribution, labelled(self.tail.share))
        zeros = np.where(np.isnan(self.params).any(axis=-1), math.nan, self.zeros)
        return with_zeros(self.distribution, labelled(zeros))

    @property
    def _n_all(self):
        """Sums of the weights of all values, also of those below the thresholds."""
        if self.tail is None:
            return self.n_obs
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.n_obs / self.tail.share

    @_on_host
    def _rows(self, lo, hi):
        """The distributions of some of the series in the order of the flattened batch, with an axis for values."""
        n, p = self.status.size, self.params.shape[-1]
        limits = None if self._limits is None else Limits(*(a[lo:hi] for a in self._limits.reshaped((n,))))
        params = self.params.reshape(n, p)[lo:hi]
        return self._assembled(params, limits, lambda name: params[:, self.names.index(name)])._with_axis()

    def _assembled(self, params, limits, column):
        """Distributions from parameters, and limits; those of a limit that is none of the class are of its own."""
        own = {name: column(name) for name in self.names}
        made = distribution_of(self.cls, own)
        if limits is None:
            return made
        which = limits.which
        outside = (which >= 0) & np.broadcast_to(np.isnan(made.params[0]), which.shape)
        places = np.unique(which[outside]).tolist()
        if not places:
            return made
        known = dict(zip(self.names, np.moveaxis(params, -1, 0), strict=True))
        at_place = ((limits.which == place)[..., None] for place in places)
        others = [
            limit_distribution(self.cls, place, np.where(use, limits.params, math.nan), known)
            for place, use in zip(places, at_place, strict=True)
        ]
        if len(others) == 1 and outside.all():
            return others[0]
        index = np.zeros(which.shape)
        for i, place in enumerate(places, 1):
            index[which == place] = i
        return ByItem([made, *others], index)

    @_on_host
    def _parts(self):
        """Those at no limit, then those at each limit in the parameters of the limit."""
        n, p = self.status.size, len(self.names)
        good, limits = np.ravel(self.converged), None if self._limits is None else self._limits.reshaped((n,))
        which = np.full(n, -1) if limits is None else limits.which
        for place in np.unique(which[good]).tolist():
            use = np.flatnonzero(good & (which == place))
            params, covariance = self.params.reshape(n, p)[use], self.covariance.reshape(n, p, p)[use]
            cls, names, make = self.cls, self.names, functools.partial(distribution_of, self.cls)
            if place >= 0:
                known = dict(zip(self.names, params[0].tolist(), strict=True))  # ends of the support, which all share
                cls = CLASSES[self.cls._contains[place].family]
                names, width = cls.names, len(cls.names)
                params, covariance = limits.params[use, :width], limits.covariance[use, :width, :width]
                make = functools.partial(_of_limit, self.cls, place, known)
            named = (dict(zip(names, a.T, strict=True)) for a in (params, standard_errors(covariance)))
            yield Around(use, make, cls.in_domain, cls._positive, *named, covariance)

    @_on_host
    def _headline(self) -> str:
        remarks, shape = self.remarks, self.loglik.shape
        missing = f", {self.n_missing.sum()} missing" if self.n_missing.any() else ""
        lines = [f'family "{self.family}", {self.loglik.size} series of shape {shape}, {self.converged.sum()} converged{missing}']
        if self.tail is not None:
            lines[0] += f", {self.n_values.sum()} values above the thresholds, {self.n_below.sum()} below"
        told = (self.status != Status.OK) | (remarks != "")
        counts = Counter(zip(self.status[told].tolist(), remarks[told].tolist(), self.limit[told].tolist(), strict=True))
        lines += [f"{count} series: {_in_words(*ending)}" for ending, count in sorted(counts.items())]
        return "\n  ".join(lines)

    @names_ours
    @_on_host
    def summary(self, level: float | None = None) -> Table:
        """A row for each series, in the order of the flattened batch.

        Parameters
        ----------
        level : float, optional
            Confidence of intervals, between 0 and 1.

        Returns
        -------
        Table
            A dict of the columns "key" (where the series have keys; of grouped data their columns or dimensions), the parameters,
            ``"se_"`` with their names, "loglik", "n_values", "n_obs", "zeros", "converged", "status", "remark", whose words
            `message` has, and "limit"; where there are limits ``"limit_"`` and ``"limit_se_"`` with the names of their
            parameters, where values are missing "n_missing"; for a level also ``"lower_"`` and ``"upper_"`` with the names of the
            columns of parameters, and "level".

        Raises
        ------
        ValueError
            For a level out of range.
        """
        columns = {name: values.ravel() for name, values in self._columns().items()}
        columns |= {"n_missing": self.n_missing.ravel()} if self.n_missing.any() else {}
        known = {name: (columns[name], columns[f"se_{name}"]) for name in self.names}
        known |= {f"limit_{name}": (columns[f"limit_{name}"], columns[f"limit_se_{name}"]) for name in self.limit_params}
        return self._table(columns, functools.partial(with_intervals, known=known, level=level))

    def _columns(self, *more):
        """What tables have of each series, by name; `more` are named after the log-likelihood."""
        columns = {
            f"{prefix}{name}": values[..., j]
            for prefix, values in (("", self.params), ("se_", self.se))
            for j, name in enumerate(self.names)
        }
        columns |= {name: getattr(self, name) for name in ("loglik", *more, "n_values", "n_obs", "zeros")}
        columns |= {name: getattr(self, name) for name in ("converged", "status")}
        if self.tail is not None:
            share = self.tail.share
            columns |= {"threshold": self.tail.threshold, "share": share, "se_share": share_error(share, self._n_all)}
            columns |= {"n_below": self.n_below}
        columns |= {"remark": self.remarks, "limit": self.limit}
        columns |= {f"limit_{name}": values for name, values in self.limit_params.items()}
        return columns | {f"limit_se_{name}": values for name, values in self.limit_se.items()}

    @_on_host
    def to_xarray(self) -> Any:
        """The fits as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            The parameters, ``"se_"`` with their names, "loglik", "aic", "bic", "n_values", "n_obs", "zeros", "converged",
            "status", "remark" and "limit" (with ``"limit_"`` and ``"limit_se_"`` columns, where there are limits) as variables,
            with the labels of the data where these came in an array of xarray; else the dimensions are "series", with the keys
            of the series, or "series_0", "series_1", ... The attribute "family" has the family.
        """
        import xarray

        dims = ["series"] if self.loglik.ndim == 1 else [f"series_{i}" for i in range(self.loglik.ndim)]
        keys = None if self.keys is None else {"series": [key if np.ndim(key) == 0 else str(key) for key in self.keys]}
        like = self.labels if self.labels is not None else xarray.DataArray(self.loglik, dims=dims, coords=keys)
        columns = self._columns("aic", "bic")
        made = {name: like.copy(data=np.asarray(values)).drop_attrs().rename(name) for name, values in columns.items()}
        return xarray.Dataset(made, attrs={"family": self.family})

    def _at(self, place):
        """The index of a series from its position."""
        return np.unravel_index(place, self._shape) if len(self._shape) != 1 else place

    @names_ours
    def return_level(
        self,
        period: ArrayLike,
        per: float = 1.0,
        method: Literal["delta", "bootstrap"] = "delta",
        *,
        level: float = 0.95,
        count: int = 999,
        rng: Any = None,
        workers: Any = None,
    ) -> Any:
        """The level of each series that is exceeded once in a period on the average, with its error.

        Parameters
        ----------
        period, per
            As in `DistributionFit.return_level`.
        method, level, count, rng, workers
            As in `estimate`.

        Returns
        -------
        Estimates
            Of the shape of the batch, with the keys of its series. Of several periods with an axis for these at the end, and
            keys of series and period, two columns of the table. A level that does not exist is NaN, and its message says why.

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood, and periods that are not longer than the time between two values, 1/per.

        Examples
        --------
        >>> import numbastats as ns
        >>> maxima = ns.distributions.GEV(0.1, loc=40.0, scale=8.0).rvs((60, 3), rng=1)
        >>> fits = ns.distributions.fit_many(maxima, "gev", axis=0)
        >>> fits.return_level([10.0, 100.0]).value.shape
        (3, 2)
        """
        options = dict(level=level, whole=True, count=count, rng=rng, workers=workers)
        return self._levels(self, period, per, method, **options)

    @_on_host
    def _item(self, i: int) -> DistributionFit:
        words = self._words(i)
        i = self._at(i)
        params, se = (dict(zip(self.names, map(float, a[i]), strict=True)) for a in (self.params, self.se))
        loglik, aic, bic, n_obs, zeros = (float(a[i]) for a in (self.loglik, self.aic, self.bic, self.n_obs, self.zeros))
        n_values, n_iter, status = (int(a[i]) for a in (self.n_values, self.n_iter, self.status))
        remark, limit = str(self.remarks[i]), str(self.limit[i])
        own: dict[str, Any] = {}
        if self._limits is not None and limit:
            names = CLASSES[limit].names
            covariance = self._limits.covariance[i][: len(names), : len(names)]
            params_there, se_there = (
                dict(zip(names, map(float, a), strict=False)) for a in (self._limits.params[i], standard_errors(covariance))
            )
            within = int(self._limits.which[i]), covariance
            own = dict(limit=limit, limit_params=params_there, limit_se=se_there, _limit=within)
        if self.tail is not None:
            own |= dict(tail=Threshold(*(float(a[i]) for a in self.tail)), n_below=int(self.n_below[i]))
        return DistributionFit(
            *(self.cls, params, se, self.covariance[i], loglik, aic, bic, n_obs, n_values, zeros, n_iter, status),
            converged=bool(self.converged[i]),
            message=words,
            partial=self.partial,
            remark=remark,
            n_free=int(self.n_free[i]),
            n_missing=int(np.broadcast_to(self.n_missing, self.loglik.shape)[i]),
            _cut=self._cut,
            _censored=self._censored,
            method=self.method,
            **own,
        )


def _of_limit(cls, place, known, params):
    """Distributions at a limit of a class from parameters of the limit's family by name."""
    return limit_distribution(cls, place, np.stack([*params.values()], axis=-1), known)


class _Series(NamedTuple):
    """Many series; of a `subset` the values are those of all of them."""

    x: NDArray[np.float64]  # one after another
    w: NDArray[np.float64] | None
    off: NDArray[np.int64]
    shape: tuple[int, ...]
    keys: Keys | None
    labels: Any = None  # an array of xarray of that shape
    hi: NDArray[np.float64] | None = None  # upper ends, where x are the lower ends of intervals
    length: int | None = None  # of each, where all are alike
    part: NDArray[np.int64] | None = None  # places of those that are fitted, where these are not all
    mirrored: bool = False  # whether the values are fitted with the other sign
    like: Any = None  # the array on a GPU that they came in, whose kind the results have

    @property
    def count(self):
        """How many are fitted."""
        return self.off.size - 1 if self.part is None else len(self.part)

    @property
    def spans(self):
        """Where they begin and end, as kernels take it."""
        if self.part is not None:
            return np.stack([self.off[self.part], self.off[self.part + 1]], axis=1)
        return np.stack([self.off[:-1], self.off[1:]], axis=1) if self.length is None else np.array([[-1, self.length]])

    @property
    def longest(self):
        """Number of values of the longest."""
        return int(np.diff(self.off).max(initial=0)) if self.length is None else self.length


def is_ragged(data):
    """Whether data are series of several lengths."""
    return isinstance(data, list | tuple) and len({np.shape(a) for a in data}) > 1


def _is_keyed(data):
    """Whether data are series with keys, or of several lengths."""
    if isinstance(data, list | tuple):
        return labelled_sets(data)[1] is not None or is_ragged(data)
    return isinstance(data, Mapping) or hasattr(data, "ngroups")


def _is_labelled(data):
    """Whether data are of xarray."""
    return hasattr(data, "dims") and hasattr(data, "coords")


def axis_of(data, axis, dim, name="data"):
    """Number of the axis along which the values of a series run: the last one by default, but of xarray `dim` must say which."""
    if axis is not None and dim is not None:
        raise ValueError(f"axis={axis!r} and dim={dim!r} both say along what the values of a series run; leave one out")
    if hasattr(data, "data_vars"):
        raise TypeError(f"{name} is a Dataset; pass one of its variables, {', '.join(map(repr, data.data_vars))}")
    if axis is not None and not isinstance(axis, int | np.integer):
        raise TypeError(f"axis={axis!r} is not a number; the name of a dimension of xarray is dim={axis!r}")
    if dim is None and (axis is not None or not _is_labelled(data) or data.ndim == 1):
        return -1 if axis is None else axis
    if dim is None or dim not in getattr(data, "dims", ()):
        labelled_sets(data, None, dim, name)  # says what to pass
    return data.dims.index(dim)


def refuse_frame(data, axis, name):
    """The axis of series; raises for a frame whose series may be its columns or its rows. One column is one series."""
    if axis is None and is_frame(data):
        if len(names_in(data, name)) == 1:
            return 0
        keyed = "; or by='key', where one of its two columns has the keys of the series" if name == "data" else ""
        raise TypeError(
            f"{name} is a frame of shape {data.shape}, whose series may be its columns or its rows; pass axis=0 "
            f"({data.shape[1]} series of {data.shape[0]} values, one a column) or axis=1{keyed}"
        )
    return axis


def series_of(data, axis, weights, least, by=None, dim=None, name="data", family=None, stays=False):
    """Data as series one after another; every message about shapes. `family` is the word of a continuous one.

    Data that are an array on a GPU stay there if `stays` is true.
    """
    if by is None:
        axis = refuse_frame(data, axis, name)
    rows_alike(data, weights, (name, "weights"))
    labels, keys = None, None
    if by is None:
        axis = axis_of(data, axis, dim, name)
    if by is None and _is_labelled(data):
        if not -data.ndim <= axis < data.ndim:
            raise ValueError(f"axis={axis} is not an axis of {name} of shape {data.shape}")
        if weights is not None:
            raise ValueError(f"weights= goes with an array that is not of xarray; pass {name}.to_numpy() and axis=")
        dim = data.dims[axis]
        rows, _ = labelled_sets(data, dim=dim, name=name)
        labels = data.isel({dim: 0}, drop=True)
        data, axis = rows.reshape(*labels.shape, -1), -1
    elif not (hasattr(data, "columns") and axis is not None and not hasattr(data, "ngroups")):
        data, keys = labelled_sets(data, by, dim, name)
    if keys is not None or is_ragged(data):
        parts = [series(a, f"series {i}", family=family).astype(np.float64, copy=False) for i, a in enumerate(data)]
        if weights is not None:
            raise ValueError("weights= needs an array of series of one length; call fit for each series of a list or dict")
        off = np.concatenate([[0], np.cumsum([a.size for a in parts])]).astype(np.int64)
        return _Series(np.concatenate([*parts, np.zeros(0)]), None, off, (len(parts),), keys)
    x = data if stays else doubles(data, name, family)
    if x.ndim == 0:
        raise ValueError(f"{name} is a number; pass an array whose `axis` runs along the values of a series")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is not an axis of {name} of shape {x.shape}")
    length = tuple(x.shape)[axis]
    if 0 < length < least and max(x.shape) >= least:
        better = int(np.argmax(x.shape))
        raise ValueError(
            f"along axis={axis} the series of {name}, of shape {x.shape}, have {length} values, fewer than the {least} that are "
            f"needed; if they run along axis {better}, pass axis={better}"
        )
    if stays:
        for i in range(axis % x.ndim, x.ndim - 1):
            x = x.swapaxes(i, i + 1)
        shape, flat, w = tuple(x.shape)[:-1], kind_of(x).flat_input(x, name, tuple(x.shape), FLOAT64), None
    else:
        moved = np.moveaxis(x, axis, -1)
        shape, flat, w = moved.shape[:-1], moved.reshape(-1), None if weights is None else _weights(weights, x, axis)
    off = np.arange(math.prod(shape) + 1, dtype=np.int64) * length
    return _Series(flat, w, off, shape, None, labels, length=length, like=data if stays else None)


def _stays(data, axis):
    """Whether data are an array on a GPU that can be fitted there: of numbers, and its library turns axes if that is wanted."""
    kind = kind_of(data)
    if not (kind.on_device and kind.dtype(data).kind in "fiu" and kind.takes(data, tuple(data.shape), FLOAT64)):
        return False
    check_current(data, kind, "data")
    return axis in (None, -1, data.ndim - 1) or hasattr(data, "swapaxes")


class _Given(NamedTuple):
    """What goes beside values: an array for each, alike to the data, or the name of a column of a frame."""

    weights: Any = None
    censored: Any = None
    event: Any = None
    entry: Any = None
    trials: Any = None

    @property
    def something(self):
        """Whether there is any of it but weights."""
        return any(v is not None for v in self[1:])

    def named(self):
        """Pairs of a name and an array, as far as there are any."""
        ends = self.censored if isinstance(self.censored, tuple | list) else ()
        given = ("weights", self.weights), ("event", self.event), ("entry", self.entry), ("n", self.trials)
        return [(called, v) for called, v in (*given, *(("censored", end) for end in ends)) if v is not None]

    @property
    def columns(self):
        """Names of columns among them."""
        return [v for _, v in self.named() if isinstance(v, str)]


class _Known(NamedTuple):
    """Series with what is known of their values: upper ends, where these are intervals."""

    series: _Series
    entry: NDArray[np.float64] | None = None  # from where on each value is seen
    trials: NDArray[np.float64] | None = None  # of which each value counts successes


class _Beside(NamedTuple):
    """How what goes beside values becomes one array in their order."""

    flat: Callable[..., Any]  # of what is given, its name, and the function that makes numbers of an array
    place: Callable[[int], str]  # words for an index of that array

    def __call__(self, values, name, numbers=doubles):
        return self.flat(values, name, numbers)


def _of_rows(data, by, used, least):
    """Series of the numbers of a frame's rows, what goes beside them, and the name of the column of values, None without one."""
    if not is_frame(data):
        labelled_sets(data, by)  # says what to pass
    columns = names_in(data, "data")
    for column in used:
        choice("a column", column, columns)
    keys, number = [by] if isinstance(by, str) else list(by), "row"
    while number in columns:
        number += "_"
    polars = hasattr(data, "with_row_index")
    numbered = data.with_row_index(number) if polars else data.assign(**{number: np.arange(len(data))})
    series = series_of(numbered[[*(key for key in keys if key in columns), number]], None, None, least, by)
    at = series.x.astype(np.int64)

    def flat(values, name, numbers):
        if not isinstance(values, str):
            rows_alike(data, values, ("data", name))
        column = numbers(data[values] if isinstance(values, str) else values, name)
        if column.shape not in ((), (len(data),)):
            raise ValueError(
                f"{name} has shape {column.shape}; it must be a column of data, or have a value for each of its rows"
            )
        return np.broadcast_to(column, len(data))[at]

    rest = [column for column in columns if column not in (*keys, *used)]
    if len(rest) > 1:
        raise ValueError(f"data has the columns {rest} beside those that are named; pass it with one of them alone")
    return series, _Beside(flat, lambda i: f"row {at[i]}"), rest[0] if rest else None


def _of_sets(data, series, name):
    """What goes beside the series of a list, a dict or groups."""
    sizes, keys = np.diff(series.off), series.keys
    sets = labelled_sets(data, name=name)[0]

    def flat(values, called, numbers):
        parts, others = labelled_sets(values, name=called)
        if not isinstance(parts, list | tuple) and np.ndim(parts) == 0:
            return np.full(series.x.size, numbers(parts, called))
        parts = same_order(parts, keys, others, called)
        if len(parts) != len(sizes):
            raise ValueError(f"{called} has {len(parts)} series and {name} {len(sizes)}; they must agree")
        for part, of in zip(parts, sets, strict=True):
            rows_alike(of, part, (name, called))
        found = [numbers(part, called) for part in parts]
        wrong = [i for i, (a, size) in enumerate(zip(found, sizes, strict=True)) if a.shape != (size,)]
        if wrong:
            i = wrong[0] if keys is None else keys[wrong[0]]
            raise ValueError(f"{called} has shape {found[wrong[0]].shape} in series {i!r}, of {sizes[wrong[0]]} values")
        return np.concatenate([*found, np.zeros(0)])

    def place(i):
        j = int(np.searchsorted(series.off, i, "right")) - 1
        return f"{i - series.off[j]} of series {j if keys is None else keys[j]!r}"

    return _Beside(flat, place)


def _of_array(data, axis, name):
    """What goes beside an array of series."""
    shape = np.shape(data)
    order = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), axis, -1).reshape(-1) if len(shape) > 1 else None

    def flat(values, called, numbers):
        rows_alike(data, values, (name, called))
        made = numbers(values, called)
        if len(shape) == 1 and made.ndim == 2 and made.shape[1] == 1:  # a frame of one column
            made = made[:, 0]
        try:
            full = np.broadcast_to(made, shape)
        except ValueError:
            raise ValueError(f"{called} has shape {made.shape}; it must broadcast to the shape of {name}, {shape}") from None
        return np.moveaxis(full, axis, -1).reshape(-1)

    def place(i):
        at = tuple(int(j) for j in np.unravel_index(i if order is None else order[i], shape))
        return str(at if len(at) > 1 else at[0])

    return _Beside(flat, place)


def _known_series(data, given, axis, by, dim, least, name):
    """`_Known` of data, and what goes beside them."""
    pair = None if given.censored is None else pair_of(given.censored)
    given = given._replace(censored=pair)
    if pair is not None and given.event is not None:
        raise ValueError(
            "censored= and event= both say what is known of a value; pass event= where times are exact or open above, and "
            "censored=(lo, hi) for all else"
        )
    if by is None and (named := given.columns):
        raise ValueError(f"{named[0]!r} is the name of a column, which goes with a frame and by= of fit_many; pass the column")
    if data is None and pair is None:
        raise TypeError(f"{name} is None; pass values, or censored=(lo, hi)")
    base, column = data if data is not None else pair[0], None
    if by is not None:
        series, beside, column = _of_rows(base, by, given.columns, least)
        if column is None and pair is None:
            raise ValueError(f"{name} has no column of values beside {by!r} and those that are named")
        x = None if column is None else beside(column, name)
    else:
        base = list(base) if hasattr(base, "__next__") else base
        called, keyed = name if data is not None else "censored lo", _is_keyed(base)
        series = series_of(base, axis, given.weights if _is_labelled(base) else None, least, None, dim, called)
        shapes = [np.shape(end) for end in pair or () if not keyed and np.ndim(end)]
        if len(set(shapes)) > 1:
            raise ValueError(f"censored has lo of shape {shapes[0]} and hi of shape {shapes[1]}; they must agree")
        if keyed:
            beside = _of_sets(base, series, called)
        else:
            beside = _of_array(base, axis_of(base, refuse_frame(base, axis, called), dim, name), called)
        x = None if data is None else series.x
    if given.weights is not None and series.w is None:
        series = series._replace(w=beside(given.weights, "weights"))
    if given.trials is not None:
        if pair is not None or given.event is not None or given.entry is not None:
            raise ValueError("an array of trials n goes with weights alone; leave out censored=, event= and entry=")
        n = _trials(beside(given.trials, "n"), beside.place)
        return _Known(_weighed(series._replace(x=x), np.isnan(x) | np.isnan(n)), trials=n)
    lo, hi = x, x
    if given.event is not None:
        lo, hi = of_events(x, beside(given.event, "event", seen))
    elif pair is not None:
        rows_alike(*pair, ("censored lo", "censored hi"))
        lo, hi = bounded(
            x, *(beside(v, f"censored {end}") for v, end in zip(pair, ("lo", "hi"), strict=True)), beside.place, name, column
        )
    entry = None
    if given.entry is not None:
        lo, entry = entered(lo, hi, beside(given.entry, "entry"), beside.place)
        entry = entry if (entry > -math.inf).any() else None
    exact = entry is None and are_exact(lo, hi)
    series = series._replace(x=lo, hi=None if exact else hi)
    return _Known(_weighed(series, _missing(series)), entry)


def _weighed(s, missing):
    """Series whose weights were looked at."""
    if s.w is None:
        return s
    w = _of_missing(s.w, missing)
    check_weights(w)
    return s._replace(w=w)


def _trials(n, place):
    """Numbers of trials, NaN where they are missing."""
    wrong = ~np.isnan(n) & ~((n >= 0.0) & (n == np.floor(n)) & (n < math.inf))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"fixed n={n[i]} at {place(i)} must be a whole number >= 0")
    return n


def _with_entries(s, entry, discrete):
    """Series with a row more of negative weight for every value that is seen from its entry on: log S(entry) is taken off."""
    late = np.flatnonzero(entry > -math.inf)
    number = np.repeat(np.arange(s.off.size - 1), np.diff(s.off))
    place = np.r_[number, number[late]].argsort(kind="stable")  # behind the values of each series
    low = np.floor(entry[late]) + 1.0 if discrete else entry[late]
    w = np.ones(s.x.size) if s.w is None else s.w
    x, hi, w = (np.r_[a, b][place] for a, b in ((s.x, low), (s.hi, np.full(late.size, math.inf)), (w, -w[late])))
    off = np.searchsorted(np.r_[number, number[late]][place], np.arange(s.off.size))
    return s._replace(x=x, hi=hi, w=w, off=off, length=None)


def refuse_executor(workers, name):
    """Raise for an executor beside an array of dask."""
    if is_executor(workers):
        raise TypeError(f"a dask array takes no executor, as its blocks go to dask's own: pass workers=None, or {name}.compute()")


def _series_of_dask(data, axis, dim, least, workers, others):
    """An array of dask as series, which stay where they are; `others` go with arrays in memory alone."""
    refuse_executor(workers, "data")
    if any(v is not None for v in others):
        raise TypeError("an array of dask is fitted without weights, censored, event, entry and by: pass data.compute()")
    x, axis = LAZY.blocks(data, "data"), axis_of(data, axis, dim)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is not an axis of data of shape {x.shape}")
    if x.shape[axis] < least:
        raise ValueError(f"along axis={axis} the series of data, of shape {x.shape}, have fewer values than parameters to fit")
    labels = data.isel({data.dims[axis]: 0}, drop=True) if _is_labelled(data) else None
    order = [*(i for i in range(x.ndim) if i != axis % x.ndim), axis % x.ndim]
    x = x.transpose(order).rechunk({-1: -1})
    return _Series(x, None, np.empty(0, np.int64), x.shape[:-1], None, labels)


def _weights(weights, x, axis):
    """Weights of an array of series, one after another."""
    w = doubles(weights, "weights")
    w = w[:, 0] if w.ndim == 2 and w.shape[1] == x.ndim == 1 else w
    try:
        full = np.broadcast_to(w, x.shape)
    except ValueError:
        raise ValueError(f"weights has shape {w.shape}; it must broadcast to the data's shape {x.shape}") from None
    if not np.isnan(w).any():
        check_weights(w)  # whose index is that of what was given
    return np.moveaxis(_of_missing(full, np.isnan(x)), axis, -1).reshape(-1)


def _of_missing(w, missing):
    """Weights, 0 where they are missing together with their values."""
    if np.isnan(w).any():
        check_weights(w, missing)
        return np.where(missing, 0.0, w)
    return w


class _Plan(NamedTuple):
    """What a fit does: by which kernel, with which parameters fixed."""

    cls: type[Distribution]
    names: tuple[str, ...]  # of the parameters that are returned
    layout: tuple[str, ...]  # parameters of the kernel, in its order
    values: NDArray[
        np.float64
    ]  # of those that are fixed, NaN for free ones; of the likelihood's kernel with the truncation after them
    by_likelihood: bool
    intervals: bool = False
    least: int = 0  # number of values that a series must have, if not one more than parameters

    @property
    def free(self):
        """Number of free parameters."""
        return sum(v != v for v in self.values.tolist()[: len(self.layout)])

    @property
    def settled(self):
        """Which of location and scale of the likelihood's kernel are at values of exact data."""
        return self.cls._likelihood.settled(self.values[-4:-2]) if self.by_likelihood else ()

    @property
    def model(self):
        """What has the kernel and its cost."""
        return self.cls._likelihood if self.by_likelihood else self.cls._equations

    @property
    def is_cut(self):
        """Whether the values are those within a truncation."""
        return self.by_likelihood and bool(np.isfinite(self.values[-2:]).any())

    @property
    def admitted(self):
        """The values that it takes."""
        fixed = dict(zip(self.layout, self.values.tolist(), strict=False))
        return self.cls._admitted(fixed, *([tuple(self.values[-2:])] if self.by_likelihood else []))

    @property
    def known(self):
        """Values of the returned parameters that are fixed."""
        if self.by_likelihood and self.cls._of_climb is not None:
            free = {name for name, v in zip(self.layout, self.values, strict=False) if math.isnan(v)}
            return np.array([math.nan if name in free | {"mean"} else 0.0 for name in self.names])
        return self.values[[self.layout.index(name) for name in self.names]]


def _one_number(value, name):
    """A number that all values and series share."""
    if np.ndim(value):
        raise TypeError(f"{name} is {value!r}; it takes one number, the same for all values and series")
    return float(value)


def _numbers(fixed, cls):
    """Fixed parameters as numbers, NaN for None; every message about them."""
    values = {}
    for name, value in (fixed or {}).items():
        if name not in cls.names:
            raise ValueError(f"fixed names {name!r}; the parameters of {cls.family} are {', '.join(cls.names)}")
        v = math.nan if value is None else _one_number(value, f"fixed={{{name!r}: ...}}")
        positive = name in cls._positive
        if value is not None and (not math.isfinite(v) or (positive and v <= 0.0)) and name not in ("lower", "upper"):
            raise ValueError(f"fixed {name}={value!r} must be {'finite and > 0' if positive else 'finite'}")
        if cls.is_discrete and value is not None:
            one = cls._refusals({n: np.asarray(v if n == name else math.nan) for n in cls.names})
            holds, words = next((h, w) for n, h, w in one if n == name)
            if not holds:
                raise ValueError(f"fixed {name}={value!r} must be {words}")
        values[name] = v
    return values


def _plan(cls, fixed=None, intervals=False, cut=None, own=True):
    """How a family is fitted: exact values by its own equations, if there are any and `own` is true, else by the likelihood."""
    return _planned(cls, fixed, intervals, cut, own) if fixed else _plain_plan(cls, intervals, cut, own)


@functools.lru_cache(maxsize=256)
def _plain_plan(cls, intervals, cut, own):
    """The plan where no parameter is fixed."""
    return _planned(cls, None, intervals, cut, own)


def _planned(cls, fixed, intervals, cut, own):
    family, own, given = cls.family, cls._equations if own else None, _numbers(fixed, cls)
    if own is not None and own.fixable is not None:  # all are free
        given = {name: value for name, value in given.items() if not math.isnan(value)}
    plain = own is not None and set(given) <= set(own.names if own.fixable is None else own.fixable)
    if plain and not intervals and cut is None:
        layout = own.layout or own.names
        values = np.full(max(3, len(layout)), math.nan)
        for name, value in ((own.held or {}) | given).items():
            values[layout.index(name)] = value
        known = dict(zip(layout, values.tolist(), strict=False))
        if "alpha" in known and abs(known["beta"]) >= known["alpha"]:
            raise ValueError(f"fixed beta={known['beta']} and alpha={known['alpha']}: |beta| must be below alpha")
        return _Plan(cls, own.names, layout, values, False)
    if cls._likelihood is None:
        raise ValueError(
            f"{family} is fitted to exact values without truncation; leave out censored=, event=, entry= and truncated="
        )
    if (intervals or cut is not None) and not cls._likelihood.with_tails:
        raise ValueError(f"{family} is fitted to exact values without truncation, as its tails have no formulas: cdf= and sf=")
    likelihood, layout = cls._likelihood, cls._layout or cls.names
    missing = [name for name in cls._known if name in layout and math.isnan(given.get(name, math.nan))]
    if missing:
        raise ValueError(f"{missing[0]} of {family} is known, not estimated: pass fixed={{{missing[0]!r}: ...}}")
    ends, cut = cls._truncation(given, cut)
    given = {name: value for name, value in given.items() if name not in ends}
    values = np.full(len(layout) + 2, math.nan)
    for i, name in enumerate(layout):
        if name not in likelihood.free:
            values[i] = 1.0 if name == "scale" else 0.0
    for name, value in given.items():
        if name not in layout:
            raise ValueError(f"fixed {name!r}: fits of {family} to such data take {', '.join(layout[1:])}")
        values[layout.index(name)] = value
    values[-2:] = cut or (-math.inf, math.inf)
    plan = _Plan(cls, own.names if plain else cls.names, layout, values, True, intervals)
    settled = plan.settled
    power = settled == ("scale",) and dict(zip(layout, values.tolist(), strict=False)).get("b") == 1.0
    if likelihood.bounded and np.isnan(values[-4:-2]).any() and not power:
        ends = "give them numbers, as fixed={'loc': 0, 'scale': 1}"
        raise ValueError(f"loc and scale of {family} are the ends of its support: {ends}")
    if settled and cut is not None:
        raise ValueError(
            f"{' and '.join(settled)} of {family} are at values of the sample; to truncated data fit it with "
            f"fixed={{{settled[0]!r}: ...}}"
            if settled == ("loc",)
            else f"{family} is fitted without truncation"
        )
    if own is not None and own.fixable is not None and math.isnan(values[-4]):
        raise ValueError(
            f"{family} with a free loc is fitted to exact values without truncation, with {' and '.join(own.fixable)} alone in "
            "fixed=: give loc a number there"
        )
    if likelihood.tied and math.isnan(values[-4]):
        raise ValueError(f"the likelihood of {family} has no maximum by loc and scale together: give loc a number in fixed=")
    return plan


def _slabs(s, limit, first=None):
    """The series in parts of about `limit` values, one series at least.

    With a `first` number of values the parts are paced by the time from one to the next, for Ctrl-C is answered in between: what
    a fit costs depends on the data.
    """
    lo, n, step, slowness = 0, s.off.size - 1, limit if first is None else min(first, limit), 0.0
    while lo < n:
        hi, began = max(lo + 1, int(np.searchsorted(s.off, s.off[lo] + step, "right")) - 1), time.perf_counter()
        a, b = s.off[lo], s.off[hi]
        w, ends = (None if v is None else v[a:b] for v in (s.w, s.hi))
        yield _Series(s.x[a:b], w, s.off[lo : hi + 1] - a, (hi - lo,), None, None, ends, s.length)
        if first is not None:
            slowness = max((time.perf_counter() - began) / (1 + b - a), 0.5 * slowness)  # seconds a value
            step = int(min(limit, 2.0 * step, 1.0 + _SECONDS / slowness))
        lo = hi


def _of_block(plan, share, device, workers, x):
    """`_completed` of a block of an array of dask, with the shape of its series."""
    *found, limits = _completed(plan, share, device, workers, series_of(np.asarray(x), -1, None, 0))
    limits = Limits.none((len(found[0]),), width_of(plan.cls)) if limits is None else limits
    return [a.reshape(*x.shape[:-1], *a.shape[1:]) for a in (*found, *limits)]


def _of_blocks(s, work):
    """`_estimates` of an array of dask: its scheduler computes the blocks, whose series are not kept."""
    from dask import compute, delayed

    parts = compute(*map(delayed(work), s.x.to_delayed().ravel()))
    whole = [np.empty((*s.shape, *a.shape[len(s.shape) :]), a.dtype) for a in parts[0]]
    edges = [np.concatenate([[0], np.cumsum(sizes)]) for sizes in s.x.chunks[:-1]]
    for place, part in zip(np.ndindex(s.x.numblocks[:-1]), parts, strict=True):
        where = tuple(slice(e[i], e[i + 1]) for e, i in zip(edges, place, strict=True))
        for a, out in zip(part, whole, strict=True):
            out[where] = a
    return [a.reshape(-1, *a.shape[len(s.shape) :]) for a in whole]


def _completed(plan, share, device, workers, s, run=None, into=None):
    """`limits.completed` of a part of the series."""
    return completed(plan, s, share, device, workers, run or _in_kernel, _plan, into)


def _estimates(s, plan, share, device, workers, shown=None, run=None):
    """`Found` of all series; `run` fits a part of them, the kernel by default."""
    if is_lazy(s.x):
        parts = _of_blocks(s, functools.partial(_of_block, plan, share, device, workers or 1))
        return Found(*parts[:6], Limits(*parts[6:]))
    n, limits, lo = s.off.size - 1, [], 0
    if n and not isinstance(s.x, np.ndarray):
        return _on_the_gpu(s, plan, share)
    found = Found.empty(n, len(plan.names))
    work = functools.partial(_completed, plan, share, device, workers, run=run)
    if is_executor(workers):
        limit = min(_SLAB, max(s.x.size // 64, int(5e6 / plan.model.cost)))  # some milliseconds of work at least
        parts = mapped(workers, functools.partial(_completed, plan, share, device, 1, run=run), _slabs(s, limit))
    elif device == "cpu":
        first = max(1, int(0.01 * SLAB_WORK * worker_count(workers) / plan.model.cost))  # climbs may take a hundredfold
        parts = _into(found, _slabs(s, _SLAB, first), work)
    else:
        parts = _into(found, _slabs(s, s.x.size), work)
    for part in parts:
        hi = lo + len(part.status)
        for mine, other in zip(found[:-1], part[:-1], strict=True):
            if not np.may_share_memory(mine, other):
                mine[lo:hi] = other
        if part.limits is not None:
            limits.append((lo, hi, part.limits))
        if shown is not None:
            shown.update(hi - lo)
        lo = hi
    if not limits:
        return found
    every = Limits.none((n,), width_of(plan.cls))
    for lo, hi, part in limits:
        for mine, other in zip(every, part, strict=True):
            mine[lo:hi] = other
    return found._replace(limits=every)


def _into(found, slabs, work):
    """Fits of slab after slab, each in its rows."""
    lo = 0
    for part in slabs:
        yield work(part, into=found.rows(lo, lo + part.count))
        lo += part.count


def _on_the_gpu(s, plan, share):
    """`Found` of values that are on a GPU, which stay there.

    Where some fits did not end inside, or may have to climb again from what the family contains, the host decides: the numbers of
    the fits travel, not the values.
    """
    kind, n, p = kind_of(s.like), s.count, len(plan.names)
    place, options = gpu.Device([kind]), (share, "cuda", None)
    place.begin()
    certain = not plan.cls._contains or not (plan.by_likelihood or not plan.cls._equations.certain)
    if not certain or (plan.by_likelihood and plan.cls._of_climb is not None):
        found = _completed(plan, *options, s)
    else:
        found = Found.empty(n, p, functools.partial(kind.empty, s.like))
        here = Found(*(kind.flat_output(a).reshape(tuple(a.shape)) for a in found[:-1]))
        info = gpu.empty((n, p, p), FLOAT64, place.stream)
        _launch(plan, s, _how(plan, s, share, _columns(plan)), (here.params, info, here.numbers, here.status), "cuda", None)
        if gpu.total(here.status, place.stream) == 0.0:  # all are OK
            finish(info, plan, here.numbers, here.status, (here.covariance, here.se, here.counts), None, "cuda", place.stream)
        else:
            place.wait()
            found = Found(*(a.copy_to_host() for a in here[:-1]))
            found = ended(plan, s, options, _in_kernel, _plan, info.copy_to_host(), found)
    place.end()
    return found


def _columns(plan):
    """Places of the returned parameters among those of the kernel; of all, where others are made of these."""
    if plan.by_likelihood and plan.cls._of_climb is not None:
        return range(len(plan.layout))
    return [plan.layout.index(name) for name in plan.names]


def _how(plan, s, share, columns, started=False):
    """What a kernel gets to know about series."""
    return k.how_of(
        columns,
        len(plan.layout) if plan.by_likelihood else plan.values.size,
        weighted=s.w is not None,
        share=share,
        intervals=plan.intervals,
        counts=plan.cls.is_discrete,
        mirrored=s.mirrored,
        started=started,
        least_count=plan.least or max(2, plan.free + 1),
    )


def _launch(plan, s, how, outs, device, workers):
    """Starts the kernel of a plan, which reads values where they are and writes parameters, information, numbers and status."""
    n, longest, model, stream = s.count, s.longest, plan.model, None
    if not isinstance(s.x, np.ndarray):
        stream = gpu.Device([kind_of(s.like)]).stream
    room = k.room_of(how, longest if device == "cpu" else s.x.size)
    room = np.empty(room) if device == "cpu" else gpu.empty(room, FLOAT64, stream or 0)
    code = k.INTERVALS if plan.intervals else k.CUT if plan.is_cut else k.EXACT
    w, hi = np.ones(longest) if s.w is None else _contiguous(s.w), plan.values if s.hi is None else _contiguous(s.hi)
    args = code, _contiguous(s.x), hi, w, how, plan.values, s.spans, room, *outs
    launch(
        model.kernel,
        args,
        n,
        device=device,
        workers=workers,
        cost=200.0 + model.cost * s.x.size / n,
        outputs=(-4, -3, -2, -1),
        updated=(-4,) if k.is_started(how) else (),
        threads=64,
        stream=stream,
    )


def _contiguous(a):
    """An array as kernels take it."""
    if not isinstance(a, np.ndarray) or (a.flags.c_contiguous and a.flags.writeable):
        return a
    a = np.ascontiguousarray(a)
    return a if a.flags.writeable else lent(a)


def _in_kernel(plan, share, device, workers, s, start=None, into=None):
    """Parameters, information, numbers and status of series by one launch, in arrays of `into` where there are any.

    `start` has parameters of the kernel by name, from which its climbs begin.
    """
    if plan.intervals and plan.settled:
        s = gathered(s)
        found = at_places(plan, s, share, lambda inner, part: _in_kernel(inner, False, device, workers, part))
        found[2][:, k.VALUES] = found[2][:, k.MASS] if s.w is None else _per_series(_counted(s, share), s)
        found[2][:, k.MISSING] = _per_series(_missing(s), s)
        return found
    n, columns, of_climb = s.count, _columns(plan), plan.cls._of_climb if plan.by_likelihood else None
    params, numbers, status = np.empty((n, len(columns))), np.empty((n, k.NUMBERS)), np.empty(n, np.int64)
    if into is not None and of_climb is None:
        params, numbers, status = into.params, into.numbers, into.status
    info = np.empty((n, len(columns), len(columns)))
    for j, column in enumerate(columns if start else ()):
        params[:, j] = start[plan.layout[column]]
    _launch(plan, s, _how(plan, s, share, columns, bool(start)), (params, info, numbers, status), device, workers)
    if of_climb is not None:
        params, info = of_climb(params, info, plan.values)
        columns = [plan.cls.names.index(name) for name in plan.names]
        params, info = params[:, columns], info[:, columns][:, :, columns]
    return params, info, numbers, status


def _counted(s, share):
    """Which values have a part in a fit."""
    return ~_missing(s) & (s.w > 0.0) & ~(share & (s.x == 0.0))


def _missing(s):
    """Which values are missing."""
    if s.hi is None:
        return np.isnan(s.x)
    return np.isnan(s.x) | np.isnan(s.hi) | (np.isinf(s.x) & np.isinf(s.hi))


def _per_series(which, s):
    """How many are true in each series."""
    if not which.any():
        return np.zeros(s.off.size - 1, np.int64)
    return np.diff(np.concatenate([[0], np.cumsum(which)])[s.off])


def _refused(s, plan, share, status, upper=None):
    """Which condition values do not meet, of the series that are refused for it; `upper` are ends of their own."""
    which = np.flatnonzero(_NOT_ADMITTED[status])
    if not which.size or is_lazy(s.x):
        return None
    if not isinstance(s.x, np.ndarray):
        s = s._replace(x=s.x.copy_to_host())
    # weights of entries are negative
    left_out = lambda at: (share & (s.x[at] == 0.0)) | (s.w is not None and s.w[at] <= 0.0)  # noqa: E731
    admitted = plan.admitted if upper is None else plan.admitted._replace(upper=math.inf)
    return refusals(admitted, which, s.x, s.off, s.hi, left_out, upper)


def _fitted(s, plan, share, device, workers, shown=None, run=None, refused=_refused):
    """`DistributionFits` of series by a plan."""
    found, shape = _estimates(s, plan, share, device, workers, shown, run), s.shape
    numbers, counts = (a.reshape(*shape, a.shape[1]) for a in (found.numbers, found.counts))
    failed = isinstance(found.status, np.ndarray) and found.status.any()  # those that stay on a GPU are OK, which is 0
    if s.w is not None and found.status.size:
        mass, values = found.numbers[:, k.MASS], found.counts[:, 1]
        i = int(np.argmin(mass / np.maximum(values, 1)))
        warn_of_shares(float(mass[i]), int(values[i]), f" of series {i}" if mass.size > 1 else "")
    limits = found.limits
    fits = DistributionFits(
        plan.cls,
        plan.names,
        *(a.reshape(*shape, *a.shape[1:]) for a in found[:3]),
        *(numbers[..., k.LOGLIK], numbers[..., k.MASS], counts[..., 1], numbers[..., k.ZEROS], counts[..., 0]),
        found.status.reshape(shape),
        s.keys,
        plan.free,
        s.labels,
        _limits=limits.reshaped(shape) if limits is not None and (limits.which >= 0).any() else None,
        partial=plan.intervals or plan.is_cut,
        n_missing=counts[..., 2],
        _refused=refused(s, plan, share, found.status) if failed else None,
    )
    if failed:
        _tell(fits)
    return fits


def _by_method(method, series, plan, given, device, workers, shown=None, refused=_refused):
    """Fits by maximum likelihood, or by moments; `given` are the arguments that these do not take, with `zeros` the last."""
    choice("method", method, ("ml", "lmoments", "moments"))
    if method != "ml" and is_lazy(series.x):
        raise TypeError(f"method={method!r} takes arrays in memory: pass data.compute()")
    if method == "ml" and given[-1] == "inflated":
        return _inflated(series, plan, device, workers)
    if method == "ml":
        return _fitted(series, plan, given[-1] == "share", device, workers, shown, refused=refused)
    if any(value is not None for value in given) or series.hi is not None:
        raise ValueError(
            f"method={method!r} takes exact values and a family alone; leave out weights, fixed, censored, event, entry, "
            "truncated and zeros"
        )
    return _of_moments(method, series, plan, refused)


def _inflated(s, plan, device, workers):
    """Fits of counts with zeros beside those of the distribution."""
    if is_lazy(s.x):
        raise ValueError('zeros="inflated" takes arrays in memory: pass data.compute()')
    if np.isfinite(plan.values[-2:]).any():
        raise ValueError('zeros="inflated" fits counts that are all seen, zeros among them; leave out truncated=, or zeros=')
    if plan.intervals and ((s.x <= 0.0) & (s.hi >= 1.0)).any():
        i = int(np.argmax((s.x <= 0.0) & (s.hi >= 1.0)))
        raise ValueError(
            f'zeros="inflated" must know whether a value is a zero, but one is known to lie between {s.x[i]} and {s.hi[i]}: its '
            "ends must both be 0, or both above 0"
        )
    found = _fitted(s, plan, False, device, workers, run=_with_more_zeros)
    limits = None if found._limits is None else found._limits._replace(free=found._limits.free + 1)
    return dataclasses.replace(found, free=plan.free + 1, _limits=limits)


def _of_trials(s, n, plan, device, workers):
    """Fits of successes in numbers of trials of their own: those of one failure and one success, with their sums as weights."""
    w, number = np.ones(s.x.size) if s.w is None else s.w, np.repeat(np.arange(s.off.size - 1), np.diff(s.off))
    told = ~np.isnan(s.x) & ~np.isnan(n)
    kept = told & (w > 0.0)
    k, n, w = (np.where(kept, v, 0.0) for v in (s.x, n, w))
    inside = (k >= 0.0) & (k <= n) & (k == np.floor(k))

    def sums(values):
        return np.bincount(number, values, s.off.size - 1)

    successes, trials = sums(w * np.where(inside, k, 0.0)), sums(w * n)
    x = np.where(sums(~inside)[:, None] > 0.0, -1.0, [0.0, 1.0])  # series with what is no count of these trials have none
    pairs = np.stack([trials - successes, successes], axis=1)
    off = 2 * np.arange(s.off.size, dtype=np.int64)
    own = s._replace(w=w)

    def refused(_s, plan, share, status):
        return _refused(own, plan, share, status, n)

    pairs = s._replace(x=x.reshape(-1), w=pairs.reshape(-1), off=off, length=2)
    found = _fitted(pairs, plan, False, device, workers, refused=refused)
    each = {name: found.params.reshape(-1, len(found.names))[number, j] for j, name in enumerate(found.names)} | {"n": n}
    loglik = sums(w * distribution_of(plan.cls, each).logpmf(k))
    counts = sums(kept).astype(np.int64).reshape(s.shape)
    missing = sums(~told).astype(np.int64).reshape(s.shape)
    return dataclasses.replace(found, loglik=loglik.reshape(s.shape), n_values=counts, n_missing=missing)


def _with_more_zeros(plan, _share, device, workers, s, start=None, into=None):
    """`_in_kernel` of counts with zeros beside those of the distribution.

    Where there are any, the likelihood is that of the share of zeros times that of the other values without zeros; else the
    probability of these zeros is 0.
    """
    params, info, numbers, status = _in_kernel(plan, False, device, workers, s, start)
    above = plan._replace(values=np.r_[plan.values[:-2], 1.0, math.inf], least=1)
    zero = (s.x == 0.0) if s.hi is None else (s.x <= 0.0) & (s.hi >= 0.0) & (s.hi < 1.0)
    others = s._replace(x=np.where(zero, math.nan, s.x))
    rest = _in_kernel(above, False, device, workers, others, start)
    n, rest_n = numbers[:, k.MASS], rest[2][:, k.MASS]
    with np.errstate(all="ignore"):
        share = 1.0 - np.where(np.isnan(rest_n), 0.0, rest_n) / n
        at_0 = np.asarray(distribution_of(plan.cls, dict(zip(plan.names, rest[0].T, strict=True))).pmf(0.0))
        more = (share - at_0) / (1.0 - at_0)
        loglik = rest[2][:, k.LOGLIK] + n * (share * np.log(share) + (1.0 - share) * np.log1p(-share))
        taken = _FITTED[rest[3]] & (more > 0.0) & ~((status == Status.OK) & (numbers[:, k.LOGLIK] > loglik))
    numbers[~_REFUSED[status], k.ZEROS] = 0.0
    for mine, new in zip((params, info, status), (rest[0], rest[1], rest[3]), strict=True):
        mine[taken] = new[taken]
    for column, new in ((k.LOGLIK, loglik), (k.PASSES, rest[2][:, k.PASSES]), (k.ZEROS, more)):
        numbers[taken, column] = new[taken]
    return params, info, numbers, status


def padded(s):
    """Series as rows of one length, shorter ones with missing values at their ends."""
    lengths = np.diff(s.off)
    rows = np.full((lengths.size, int(lengths.max(initial=0))), np.nan)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = s.x
    return rows


def _moments_rule(method, cls):
    """The parameters of a class from sample moments; of a family without shapes those that match mean and standard deviation."""
    rule = cls._by_lmoments if method == "lmoments" else cls._by_moments
    if rule is None and method == "moments" and cls.names == ("loc", "scale"):
        mean0, var0 = cls()._mean_var()

        def by_both(mean, sd):
            scale = sd / math.sqrt(var0)
            return mean - scale * mean0, scale

        return by_both if math.isfinite(var0) else None
    return rule


def _of_moments(method, s, plan, refused):
    """Fits by moments."""
    cls = plan.cls
    rule = _moments_rule(method, cls)
    if rule is None:
        names = ", ".join(name for name, c in CLASSES.items() if _moments_rule(method, c) is not None)
        raise ValueError(f"{cls.family} has no estimates by method={method!r}; these have: {names}")
    rows, p = padded(s), len(cls.names)
    known = ~np.isnan(rows)
    counts = known.sum(axis=1)
    least, most = (f(np.where(known, rows, v), axis=1, initial=v) for f, v in ((np.min, math.inf), (np.max, -math.inf)))
    with np.errstate(all="ignore"):
        if method == "lmoments":
            first, second, third = l_moments(rows, 3)[0]
            found = rule(first, second, third / second)
        else:
            mean = np.where(known, rows, 0.0).sum(axis=1) / counts
            away = np.where(known, rows - mean[:, None], 0.0)
            found = rule(mean, np.sqrt(np.square(away).sum(axis=1) / counts))
        params = np.stack(np.broadcast_arrays(*found, counts), axis=1)[:, :p].astype(np.float64)
        outside = ~cls.in_domain(dict(zip(cls.names, params.T, strict=True)))
        infinite = np.isinf(least) | np.isinf(most)
        conditions = (counts == 0, counts <= p, infinite, least == most, outside)
        codes = (Status.NONE_LEFT, Status.TOO_FEW, Status.NOT_FINITE, Status.CONSTANT, Status.OUTSIDE)
        status = np.select(conditions, codes, Status.OK)
        params[status != Status.OK] = math.nan
        fitted = distribution_of(cls, dict(zip(cls.names, params.T[:, :, None], strict=True)))
        loglik = np.where(status == Status.OK, np.where(known, fitted.logpdf(rows), 0.0).sum(axis=1), math.nan)
        low, high = (np.reshape(end, least.shape) for end in fitted.support())
        status = np.where((status == Status.OK) & ((least < low) | (most > high)), Status.NO_CONVERGENCE, status)
    shape = s.shape
    blank, square = np.full((*shape, p), math.nan), np.full((*shape, p, p), math.nan)
    sums = loglik.reshape(shape), counts.astype(float).reshape(shape), counts.reshape(shape), np.zeros(shape)
    ended = np.zeros(shape, np.int64), status.reshape(shape)
    table = params.reshape(*shape, p), blank, square, *sums
    more = dict(labels=s.labels, method=method, n_missing=(np.diff(s.off) - counts).reshape(shape))
    more["_refused"] = refused(s, plan, False, status)
    found = DistributionFits(cls, cls.names, *table, *ended, s.keys, len(cls._likelihood.free), **more)
    if status.any():
        _tell(found)
    return found


def _checked(family, zeros, device, workers, on_device=False):
    """The family's class, and the device; data on a GPU are fitted there unless `device` or an executor says otherwise."""
    cls = class_of(family)
    choice("zeros", zeros, (None, "inflated" if cls.is_discrete else "share"))
    check_workers(workers)
    device = "cpu" if is_executor(workers) else device
    return cls, choose_device(device, on_device=on_device and device != "cpu")


def _cut(truncated):
    """Ends of a truncation, None for none."""
    if truncated is None:
        return None
    if not isinstance(truncated, tuple | list) or len(truncated) != 2:
        raise TypeError(f"truncated={truncated!r} must be a pair of numbers, the ends between which values are seen")
    if any(np.ndim(v) for v in truncated):
        raise TypeError(
            f"truncated={truncated!r} has several numbers for an end; each takes one number, the same for all values. For units "
            "that are seen from times of their own on pass these as entry="
        )
    a, b = (end if v is None else float(v) for v, end in zip(truncated, (-math.inf, math.inf), strict=True))
    if not a < b:
        raise ValueError(f"truncated=({a}, {b}): the first end must be below the second")
    return a, b


def one_series(x, many, cls=None):
    """The values of one series in doubles; `many` says what is for many series."""
    family = None if cls is None or cls.is_discrete else cls.family
    values = series(x, "x", f"{many}; pass x.ravel() for one of all values", family)
    return values.astype(np.float64, copy=False)


def known_of_one(x, given, nan_policy, many, cls=None):
    """`_Known` of one series, and what goes beside it; `many` is the call for many series."""
    given = _Given(*given)
    if is_censored_data(x):
        if any(v is not None for v in given[1:4]):
            raise ValueError("x is a CensoredData and has its ends; leave out censored=, event= and entry=")
        x, given = None, given._replace(censored=bounds_of_scipy(x))
    first = pair_of(given.censored)[0] if x is None and given.censored is not None else x
    if first is None:
        raise TypeError("x is None; pass values, or censored=(lo, hi)")
    a = one_series(first, f"{many} is for many series", cls)
    for called, values in given.named():
        rows_alike(first, values, ("x", called))
    if given.something:
        known = _known_series(None if x is None else a, given, 0, None, None, 0, "x")
        known = known._replace(series=known.series._replace(shape=(1,)))
    else:
        w = None if given.weights is None else _weights(given.weights, a, 0)
        known = _Known(_Series(a, w, np.array([0, a.size]), (1,), None, length=a.size))
    refuse_missing(known.series.x, nan_policy, "x")
    return known


def known_of_many(data, given, nan_policy, axis, by, dim):
    """`_Known` of many series, and what goes beside them."""
    known = _known_series(data, _Given(*given), axis, by, dim, 0, "data")
    refuse_missing(known.series.x, nan_policy, "data", known.series.off)
    return known


@names_ours
def fit(
    x: Any,
    family: Name | type[Distribution],
    *,
    weights: ArrayLike | None = None,
    fixed: Mapping[str, ArrayLike | None] | None = None,
    zeros: Zeros | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    truncated: tuple[float | None, float | None] | None = None,
    threshold: float | None = None,
    method: FitMethod = "ml",
    nan_policy: NanPolicy = "omit",
) -> DistributionFit:
    """Fit a family to one series by maximum likelihood, or by moments.

    Parameters
    ----------
    x : array_like of shape (n,), scipy.stats.CensoredData or None
        Data, in any of the forms of :doc:`/data`; NaN, None, NA and masked values are missing. None where `censored` has them.
    family : str or class
        A class of `numbastats.distributions`, its word, or SciPy's name for it: "normal", "student_t", "gamma", "weibull",
        "lognormal", "gev", "negative_binomial" and the others of :doc:`/families`, which has the parameters of each and those
        that a fit estimates. :doc:`/choosing` says which are for which data.
    weights : array_like, optional
        Weights >= 0 of the values, which count as so many observations.
    fixed : dict, optional
        Values of parameters that are not estimated, by name; None frees one that is known otherwise, such as the loc of a gamma
        distribution. `params` has all parameters of the class, but without loc here those of "gamma", "weibull", "lognormal",
        "inverse_gaussian" and "beta" are the ones estimated. The distribution is ``found.distribution``. The n of "binomial" may
        be an array, their trials: p is then all successes over all trials, `params` are those of one trial, n = 1, and trials
        are the observations of `n_obs`.
    zeros : {None, "share", "inflated"}
        "share" sets zeros apart and fits the other values. "inflated", for counts, fits a probability of zeros, `zeros` of the
        result, beside those of the distribution, which has the other parameters: the likelihood of a zero is zeros +
        (1 - zeros) P(X = 0), and zeros >= 0. Of censored values it must be known whether they are zeros: with "share" those whose
        ends are both 0, and an interval from 0 on is of the other values; "inflated" refuses such intervals.
    censored : (array_like, array_like), optional
        Ends (lo, hi), of the shape of x: value i lies between lo[i] and hi[i], which is exact where they are equal. NaN, or -inf
        and inf, for an end that is not known: the value is below hi[i], or above lo[i]; without both it is missing. Binned data
        are ``fit(None, family, censored=(edges[:-1], edges[1:]), weights=counts)``. Not for the four hyperbolic families.
    event : array_like, optional
        Whether the event was seen at x, of the shape of x: True or 1 for a life of length x, False or 0 for one that had not
        ended then (censored at x); NaN is missing. In the place of `censored`.
    entry : array_like, optional
        From where on each value is seen (left truncation), as of units that came under observation at the age entry[i], and are
        in the data only because they lived longer: the likelihood is divided by P(X > entry[i]). One number, or an array of the
        shape of x; -inf, or 0 for lives, for a unit that was seen from its start on. Below x, and the upper end of an interval.
    truncated : (float, float), optional
        Ends between which values are seen at all, of all of them alike: the density is divided by the probability between them.
        None or an infinite number for no end. Values at the ends are inside.
    threshold : float, optional
        The values above it are fitted by the distribution located there, in the place of all values; for "gpd", "exponential"
        and other families that begin at loc. ``found.tail`` has the threshold and the share of the values above, and
        ``found.whole`` the distribution of all values as far as it is known, of which `estimate` and `return_level` take numbers.
    method : {"ml", "lmoments", "moments"}
        Maximum likelihood, or that the first L-moments or moments are those of the data (exact values, without weights).
    nan_policy : {"omit", "raise"}
        Whether missing values are left out, and counted in `n_missing`, or refused.

    Returns
    -------
    DistributionFit
        A series that cannot be fitted has NaN and a `message`; one without standard errors a `message` that says why.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood; x that is not one-dimensional; negative or missing weights; weights, bounds, events
        and entries with other labels than x; an entry at or above its value; what looks like events in `censored`.

    Warns
    -----
    ConvergenceWarning
        When the fit ends in no maximum, with the reason.
    UserWarning
        When weights add up to less than the number of values: they count observations. When the values are True and False, and
        the family is continuous. When `censored` may be meant as `event`.

    Notes
    -----
    The log-likelihood is at its maximum to about 1e-10. Estimates of normal, lognormal and inverse Gaussian distributions are
    closed formulas; the shape of a gamma distribution solves log a - psi(a) = log(mean x) - mean log x, that of a Weibull
    distribution its profile equation, and those of a beta distribution psi(a) - psi(a + b) = mean log x and psi(b) - psi(a + b) =
    mean log(1 - x). The others are climbed by damped Newton steps with exact second derivatives from two or three starts.

    All other families, censored and truncated data and freed locations are climbed on one likelihood, log L = sum w log f(x) +
    sum w log(F(hi) - F(lo)) - sum w log(F(b) - F(max(a, entry))), whose gradient is exact but by shapes in masses, and whose
    second derivatives are differences of it; standard errors have six digits. Shapes of "gev" and "gpd" are searched for above
    -1/2, where the maximum is regular. A freed location of a family that begins there is a local maximum below the least value.

    Families contain others, as special cases (gamma ones exponential distributions) or as limits of their parameters (Student's t
    the normal one). These are fitted to the same data: where one is likelier than the maximum that was found, the fit climbs
    again from there, so that a fit of status 0 is never below what its family contains. Where a limit is the best there is, the
    fit ends there, with status 2, ``converged`` True: ``limit`` names its family, ``limit_params`` has its own parameters with
    their errors, `params` those of the family, 0 and inf among them, and ``n_free``, ``aic`` and ``bic`` count its parameters.
    Status 3 is the end of the search at a boundary that is no limit. Status 10 is a pole: the likelihood grows without bound next
    to a value, and no local maximum was found inside; there are no parameters. A local maximum inside has status 0 also where the
    likelihood has no bound elsewhere.

    The likelihood of Student's t has poles where df < s/(1 - s), with s the share of the values that are equal (1/n without
    ties); the fit stays at df >= 0.05, and where it ends in a pole it is repeated at df >= 1.25 s/(1 - s), with status 3 if it
    ends there. Without heavy tails the maximum is at df = infinity.

    That of a variance gamma distribution has none: with mu at one of the values, the density of that value
    grows like 1/(2 lam - 1) as lam falls to 1/2, and is infinite below. The fit stays at lam >= 0.51. Status 0 is a local
    maximum inside, status 10 the end at 0.51; there may be likelier points next to 0.51 with another mu, by some units of
    log-likelihood, most of which the one value at mu contributes. Where lam <= 1.5 the density has a cusp (or no second
    derivative) at mu, and the likelihood one at every value: the best mu of the values nearby is searched, of 60 values or fewer
    that of all. There are no standard errors then, as they rest on second derivatives; with mu in `fixed` the other parameters
    have theirs, given mu. A generalised hyperbolic distribution often fits best at a boundary (delta = 0: variance gamma, a
    limit; alpha = abs(beta): a skew t distribution, status 3: the maximum where the difference is 1e-6 in units of the spread),
    or has a pole (a value as mu, delta towards 0). Some hundreds of values hardly determine its five parameters, as the standard
    errors say.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> found = ns.distributions.fit([1.0, 2.0, 4.0, 3.0, 7.0], "gamma")
    >>> round(found.params["shape"], 4), round(found.loglik, 4), found.converged
    (2.6677, -10.0752, True)
    """
    cls, device = _checked(family, zeros, "cpu", 1)
    fixed, trials = _of_fixed(cls, fixed)
    known = known_of_one(x, (weights, censored, event, entry, trials), nan_policy, "fit_many(x, family, axis=...)", cls)
    if threshold is not None and np.ndim(threshold):
        raise TypeError(f"threshold has shape {np.shape(threshold)}; it is one number here, fit_many takes one for each series")
    given = weights, fixed, _cut(truncated), zeros
    return fit_known(method, known, cls, given, device, 1, threshold=threshold)._item(0)


def takes(cls, partly, truncated):
    """Whether a family is fitted to values that are known in part, or truncated."""
    try:
        _plan(cls, None, partly, _cut(truncated))
    except ValueError:
        return False
    return True


def _of_fixed(cls, fixed):
    """Fixed parameters, and trials where each value has its own, of which one is then fixed."""
    n = (fixed or {}).get("n") if "n" in cls._known else None
    if isinstance(n, str | list | tuple | Mapping) or hasattr(n, "ngroups") or (n is not None and np.ndim(n)):
        return dict(fixed) | {"n": 1.0}, n
    return fixed, None


def refuse_trials(cls, fixed, called):
    """Raise for an array of trials in a test of one distribution."""
    if _of_fixed(cls, fixed)[1] is not None:
        raise ValueError(f"{called} tests one distribution of all values: give one number of trials, as fixed={{'n': 10}}")


def _above(method, known, cls, given, device, workers, shown, threshold):
    """Fits of a class to the values above thresholds: of their excesses, which are then moved."""
    series, (weights, fixed, cut, zeros) = known.series, given
    if series.hi is not None or known.entry is not None or cut is not None or zeros is not None or is_lazy(series.x):
        raise ValueError("threshold= takes exact values in memory; leave out censored=, event=, entry=, truncated= and zeros=")
    check_family(cls)
    if "loc" in (fixed or {}):
        raise ValueError("threshold= is the loc of the distribution; leave loc out of fixed=")
    excess, u, sums = above(series, threshold)
    own = fixed if method != "ml" else {**(fixed or {}), "loc": 0.0}
    plan, w = _plan(cls, own), 1.0 if series.w is None else series.w
    inside = ~np.isnan(series.x) & (w > 0.0)
    over = inside & ~np.isnan(excess.x)
    counts, totals = sums(over), sums(inside)

    def refused(s, plan, share, status):
        largest = np.full(u.size, -math.inf)
        np.maximum.at(largest, np.repeat(np.arange(u.size), np.diff(series.off))[inside], series.x[inside])
        status[(status == Status.NONE_LEFT) & (totals > 0)] = Status.TOO_FEW  # there are values, but none above
        few = np.flatnonzero(_REFUSED[status])
        least = plan.least or max(2, plan.free + 1)
        return FewAbove(few, status, u, counts, totals, largest, least, _refused(s, plan, share, status))

    found = _by_method(method, excess, plan, (weights, own, None, None), device, workers, shown, refused)
    shape = series.shape
    u, below = u.reshape(shape), (totals - counts).astype(np.int64).reshape(shape)
    params = np.array(found.params)
    params[..., found.names.index("loc")] += u
    limits = found._limits
    for place, special in enumerate(cls._contains if limits is not None else ()):
        there, own_names = limits.which == place, CLASSES[special.family].names
        limits.params[there, own_names.index("loc")] += u[there]
    with np.errstate(invalid="ignore"):
        masses = (counts, totals) if series.w is None else (sums(np.where(kept, w, 0.0)) for kept in (over, inside))
        share = np.divide(*masses).reshape(shape)
    missing = sums(np.isnan(series.x)).astype(np.int64).reshape(shape)
    return dataclasses.replace(found, params=params, n_missing=missing, tail=Threshold(u, share), n_below=below)


def fit_known(method, known, cls, given, device, workers, shown=None, threshold=None):
    """Fits of a class to series and what is known of them; `given` are weights, fixed, the truncation and zeros."""
    if threshold is not None:
        return _above(method, known, cls, given, device, workers, shown, threshold)
    series, (_, fixed, cut, zeros) = known.series, given
    plan = _plan(cls, fixed, series.hi is not None, cut)
    if known.trials is not None:
        if method != "ml" or zeros is not None or cut is not None:
            raise ValueError("an array of trials n goes with weights alone; leave out method=, zeros= and truncated=")
        return _of_trials(series, known.trials, plan, device, workers)
    if known.entry is not None:
        if zeros is not None:
            raise ValueError("entry= takes lives above the entry, of which none is a zero to be set apart; leave out zeros=")
        if plan.settled:
            raise ValueError(
                f"{' and '.join(plan.settled)} of {cls.family} are at values of the sample, which entry= does not go with; give "
                f"numbers in fixed={{{plan.settled[0]!r}: ...}}"
            )
        series = _with_entries(series, known.entry, cls.is_discrete)
    found = _by_method(method, series, plan, given, device, workers, shown)
    return found if cut is None and not plan.intervals else dataclasses.replace(found, _cut=cut, _censored=plan.intervals)


@names_ours
def fit_many(  # noqa: PLR0913
    data: Any,
    family: Name | type[Distribution],
    *,
    axis: int | None = None,
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    weights: ArrayLike | None = None,
    fixed: Mapping[str, ArrayLike | None] | None = None,
    zeros: Zeros | None = None,
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    truncated: tuple[float | None, float | None] | None = None,
    threshold: ArrayLike | None = None,
    method: FitMethod = "ml",
    nan_policy: NanPolicy = "omit",
    device: Device = None,
    workers: Any = None,
    progress: bool = False,
) -> DistributionFits:
    """Fit a family to each of many series by maximum likelihood.

    Parameters
    ----------
    data : array_like of shape (..., n, ...), list or dict of one-dimensional arrays
        Series along `axis`, or one in each entry, in any of the forms of :doc:`/data`. An array of dask, or of xarray with one,
        is fitted by blocks by dask's scheduler, so that it need not fit into memory. Keys of a dict, of a pandas groupby of one
        column (``frame.groupby("g")["x"]``) or of an iterable of pairs (key, array) are kept as `keys`.
    family, fixed, zeros, truncated, method, nan_policy
        As in `fit`.
    censored, event, entry : array_like, optional
        As in `fit`; they go with `data` as `weights` do. `data` may be None where `censored` has all.
    threshold : array_like, optional
        As in `fit`: one number, or one for each series, an array of the shape of the result; of series with keys also a dict, or
        a series of pandas with the keys as its index; of an array of xarray another one with its labels.
    axis : int, optional
        Along which the values of a series run; the last one by default.
    by : str or sequence of str, optional
        Columns of a pandas or polars frame that say to which series a row belongs; one other column has the values. Weights,
        ends, events, entries and trials are then names of further columns, or arrays with a value for each row.
    dim : str, optional
        Instead of `axis` the name of a dimension of an xarray.DataArray, whose labels ``fits["scale"]`` has. An array of several
        dimensions needs one of the two.
    weights : array_like, optional
        As in `fit`; broadcast against an array of `data`. Of a list, a dict or groups another one with arrays of the same
        lengths.
    device : {None, "auto", "cpu", "cuda"}
        Where the kernel runs, one series in a thread.
    workers : int or executor, optional
        Threads, -1 for all cores, or an executor, `joblib.Parallel` or dask client that fits parts of the series. Results do not
        depend on it.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed.

    Returns
    -------
    DistributionFits
        Of the shape of `data` without `axis`. A series that cannot be fitted has NaN parameters and a `status`: 4 too few values,
        5 constant, 6 outside of the support, 7 all missing, 8 infinite values, 10 a pole; 0 is a maximum, 1 no convergence, 2 a
        limit of the family, which ``fits.limit`` names, 3 the boundary. ``fits.message(i)`` says it in words.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood; frames without `axis` or `by`, arrays of xarray without `dim`, and series that are
        shorter than the number of parameters while another axis is long.

    Warns
    -----
    ConvergenceWarning
        When fits end in no maximum, with their number and the first reason; series in which all values are missing do not count.
    UserWarning
        When weights add up to less than the number of values; when `censored` may be meant as `event`.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> rain = np.random.default_rng(1).gamma(2.0, 3.0, (40, 5, 6))
    >>> fits = ns.distributions.fit_many(rain, "gamma", axis=0)
    >>> fits["shape"].shape, bool(fits.converged.all())
    ((5, 6), True)
    """
    like = data if kind_of(data).on_device else None
    cls, where = _checked(family, zeros, device, workers, like is not None)
    fixed, trials = _of_fixed(cls, fixed)
    given, cut = _Given(weights, censored, event, entry, trials), _cut(truncated)
    least = max(2, _plan(cls, fixed, cut=cut).free + 1)
    if is_lazy(data):
        if check_policy(nan_policy) == "raise":
            raise TypeError("an array of dask is not read before it is fitted: leave nan_policy out, or pass data.compute()")
        known = _Known(_series_of_dask(data, axis, dim, least, workers, (*given, by)))
    else:
        if given.something or (weights is not None and (by is not None or _is_keyed(data))):
            known = _known_series(data, given, axis, by, dim, least, "data")
        else:
            word = None if cls.is_discrete else cls.family
            plain = where == "cuda" and weights is threshold is None and (method, nan_policy) == ("ml", "omit")
            plain = plain and zeros != "inflated"
            stays = plain and like is not None and by is dim is None and _stays(data, axis)
            known = _Known(series_of(data, axis, weights, least, by, dim, family=word, stays=stays))
        if isinstance(known.series.x, np.ndarray):
            refuse_missing(known.series.x, nan_policy, "data", known.series.off)
    with bar(progress, math.prod(known.series.shape), "distributions.fit_many") as shown:
        found = fit_known(method, known, cls, (weights, fixed, cut, zeros), where, workers, shown, threshold)
    return found if like is None else found._in_kind(like)


class _WeightedFits:
    """Fits of a family to one series with many sets of weights, the M-steps of mixtures: they warn of nothing.

    Attributes
    ----------
    cls : type
    fixed : dict
        Numbers by name.
    free : tuple of str
        Names of the parameters that are estimated.
    positive : tuple of bool
        Which of them are positive.
    settled : tuple of str
        Those of them that are an end of the support, where the likelihood jumps.
    lower, upper : float
        Ends of the support, as far as no free parameter moves them.
    admitted : Admitted
        The values that the fits take.
    """

    def __init__(self, family, fixed):
        self.cls = class_of(family)
        self.fixed = _numbers(fixed, self.cls)
        if not all(map(math.isfinite, (v for name, v in self.fixed.items() if name not in ("lower", "upper")))):
            raise ValueError(f"fixed={fixed!r} must hold numbers")
        likelihood = self.cls._likelihood
        loc, scale = self.fixed.get("loc", 0.0), self.fixed.get("scale", 1.0)
        self.lower = loc if likelihood is not None and likelihood.shifts else -math.inf
        self.upper = loc + scale if likelihood is not None and likelihood.bounded else math.inf
        self._plan, self.free, self.positive, self.settled = None, (), (), ()
        if not set(self.cls.names) <= set(self.fixed):
            self._plan = _plan(self.cls, self.fixed)
            self.free = tuple(n for n, v in zip(self._plan.names, self._plan.known, strict=True) if math.isnan(v))
            self.fixed = {n: v for n, v in zip(self._plan.names, self._plan.known, strict=True) if v == v} | self.fixed
            self.positive = tuple(name in self.cls._positive for name in self.free)
            if self._plan.by_likelihood and likelihood.settles:
                self.settled = likelihood.settled(self._plan.values[-4:-2])
        self.admitted = self.cls._admitted(self.fixed) if self._plan is None else self._plan.admitted

    def __call__(self, x, weights, workers):
        """Parameters by name for every row of `weights` (S, n), and whether they are there."""
        S, n = weights.shape
        known = {name: np.full(S, v) for name, v in self.fixed.items()}
        if not self.free:
            return known, np.ones(S, bool)
        series = _Series(np.tile(x, S), weights.reshape(-1), np.arange(S + 1, dtype=np.int64) * n, (S,), None, length=n)
        parts = [_in_kernel(self._plan, False, "cpu", workers, part) for part in _slabs(series, _SLAB)]
        params, status = (np.concatenate([part[i] for part in parts]) for i in (0, 3))
        return dict(zip(self._plan.names, params.T, strict=True)) | known, _FITTED[status]

    def distribution(self, params):
        """The distributions of parameters by name."""
        return distribution_of(self.cls, params)


def fitted(cls, x, **options):
    """The distribution of a class with the parameters of a fit, or of many."""
    return fit_many(x, cls, **options).distribution


Distribution._fitted = staticmethod(fitted)
Distribution.fit = classmethod(hands_on(fit_many)(Distribution.fit.__func__))  # type: ignore[assignment, attr-defined, method-assign]
Distribution._weighted_fits = _WeightedFits


def _tell(found):
    """Warn of fits without a maximum; in a batch, series without a value are no failures."""
    failed = ~found.converged
    if not (failed & (found.status == Status.NONE_LEFT)).all():
        failed &= found.status != Status.NONE_LEFT
    _warn_of(failed, found.message)


def _warn_of(failed, message):
    """Warn of fits that failed, with the reason of the first, which `message` says by its index."""
    if failed.any():
        count = "the fit ended" if failed.size == 1 else f"{failed.sum()} of {failed.size} fits ended"
        first = ", the first" if failed.size > 1 else ""
        index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(failed)))
        warn(f"{count} without a maximum{first}: {message(index if failed.ndim else ())}", ConvergenceWarning)


def _stable(cls, x, *, axis=None, dim=None, **options):
    """The same by the fits of stable distributions."""
    axis = axis_of(x, refuse_frame(x, axis, "x"), dim, "x")
    data = np.moveaxis(doubles(x, "x", "stable"), axis, -1)
    param = options.get("param", "S0")
    if data.ndim == 1:  # warns itself
        return cls(*stable.fit(data, **options).params, param=param)
    found = stable.fit_many(data.reshape(-1, data.shape[-1]), **options)
    failed = ~np.asarray(found.converged)
    if not mostly(failed):  # else `fit_many` warns itself
        _warn_of(failed, np.asarray(found.message).__getitem__)
    return cls(*found.params.T.reshape(4, *data.shape[:-1]), param=param)


Stable._fitted = staticmethod(_stable)
