"""Data sets drawn again and fitted again: errors of estimates, and the test of K components against K + 1."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import checked_level
from numbastats._core.data import check_weights
from numbastats._core.errors import names_ours
from numbastats._core.kinds import rows_alike
from numbastats._core.options import Device
from numbastats._core.random import normalise_rng
from numbastats._core.results import Intervals, Table
from numbastats._core.status import Status
from numbastats.mixture.arguments import Seed, draw_count, weights_of
from numbastats.mixture.constraints import names_of
from numbastats.mixture.multivariate.arguments import Rows, counted, one_table, points_of
from numbastats.mixture.multivariate.fitting import fit_rows, own_options, standard_errors_of
from numbastats.mixture.multivariate.results import MultivariateFit, moments_by_name

__all__ = ["USABLE", "Bootstrap", "bootstrap", "number_of_draws", "with_one_more_of_rows"]

USABLE = Status.OK, Status.NOT_CERTIFIED  # of fits that count: certified, or with a redundant component
VALUES = 1 << 22  # numbers of data sets that are drawn at a time


def number_of_draws(n_boot: Any) -> int:
    """The number of data sets that are drawn."""
    if n_boot != int(n_boot) or n_boot < 1:
        raise ValueError(f"n_boot={n_boot!r} is not a number of draws; use an integer >= 1, such as 199")
    return int(n_boot)


def _slabs(count, values):
    """How many data sets of so many numbers are drawn at a time."""
    step = max(1, VALUES // max(values, 1))
    return [min(step, count - lo) for lo in range(0, count, step)]


def _sets(x, columns, marginal=False) -> Rows:
    """Data sets (B, n, d), as the engine takes them."""
    B, n, d = x.shape
    return Rows(x.reshape(B * n, d), np.empty(0), np.arange(B + 1) * n, columns, marginal=marginal)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Intervals):
    """Fits to data sets that were drawn again, by `bootstrap`; components are in the order of the fit.

    Attributes
    ----------
    fit : MultivariateFit
        The fit that they are about.
    method : str
        "parametric" or "rows".
    weights, means, covariances : numpy.ndarray, shapes (n_boot, K), (n_boot, K, d) and (n_boot, K, d, d)
        NaN where a data set has no fit.
    loglik : numpy.ndarray, shape (n_boot,)
    status : numpy.ndarray of int, shape (n_boot,)
        A `numbastats.Status` of each. Fits of status 0, or 11 for a redundant component, count; others do not, and are in
        `n_failed`.
    se : dict
        Standard deviations of "weights", "means" and "covariances" over the fits that count, of the shapes of the estimates.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-3, 1, (200, 2)), rng.normal(5, 1, (300, 2))])
    >>> fit = ns.mixture.fit(x, 2, covariance="full", rng=0)
    >>> found = ns.mixture.bootstrap(fit, x, n_boot=99, rng=0)
    >>> found.n_failed, found.se["weights"].round(2).tolist()
    (0, [0.02, 0.02])
    """

    fit: MultivariateFit
    method: str
    weights: NDArray
    means: NDArray
    covariances: NDArray
    loglik: NDArray
    status: NDArray

    @property
    def columns(self) -> tuple:
        """Names of the columns."""
        return self.fit.columns

    @property
    def family(self) -> str:
        """The family of the components."""
        return self.fit.family

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Which fits count."""
        return np.isin(self.status, USABLE)

    @property
    def n_failed(self) -> int:
        """Data sets without a fit that counts."""
        return int(np.sum(~self.counts))

    @functools.cached_property
    def covariance_of_estimates(self) -> NDArray:
        """Covariance of (weights, means, lower triangles of covariances) over the fits that count."""
        low, good = np.tril_indices(len(self.columns)), self.counts
        parts = self.weights[good], self.means[good], self.covariances[good][:, :, low[0], low[1]]
        return np.cov(np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1).T)

    @functools.cached_property
    def se(self) -> dict:
        """Standard errors, of the shapes of the estimates."""
        K, d = self.fit.means.shape
        return {name: v[0] for name, v in standard_errors_of({0: self.covariance_of_estimates}, [K], K, d).items()}

    def _headline(self) -> str:
        failed = f", {counted(self.n_failed, 'of them has', 'of them have')} no fit that counts" if self.n_failed else ""
        return f"method {self.method!r}, {counted(len(self.status), 'data set')}{failed}"

    def summary(self, level: float = 0.95) -> Table:
        """The components as a table, with standard errors and intervals.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1. The ends are quantiles of the fits that count.

        Returns
        -------
        Table
            Columns of `MultivariateFit.summary`: of each parameter also ``"se_"``, ``"lower_"`` and ``"upper_"``.

        Raises
        ------
        ValueError
            For a level out of range.
        """
        level, drawn = checked_level(level), moments_by_name(self, self.counts)
        columns = moments_by_name(self.fit, slice(None))
        columns |= {f"se_{name}": values.std(axis=0, ddof=1) for name, values in drawn.items()}
        ends: dict[str, NDArray] = {}
        for name, values in drawn.items():
            low, high = np.quantile(values, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
            ends |= {f"lower_{name}": low, f"upper_{name}": high}
        return Table(columns | ends, level=level, ends=list(ends))


@names_ours
def bootstrap(
    fit: MultivariateFit,
    x: ArrayLike | None = None,
    *,
    n_boot: int = 199,
    weights: ArrayLike | None = None,
    rng: Seed = None,
    device: Device = None,
    workers: Any = None,
) -> Bootstrap:
    """Errors of a mixture of several columns from data sets that are drawn again, all fitted in one batch.

    Parameters
    ----------
    fit : MultivariateFit
    x : array_like, shape (n, d), optional
        The data of the fit: rows are then drawn with replacement, with what is missing in them. Without x data sets of the size
        of these are drawn from the fitted mixture.
    n_boot : int
        Data sets that are drawn.
    weights : array_like, shape (n,), optional
        Those of the fit, counts of the rows of x. Rows are drawn with probabilities in their proportion, as many as they add up
        to.
    rng : None, int, SeedSequence or Generator
    device, workers
        As in `fit_many`.

    Returns
    -------
    Bootstrap

    Raises
    ------
    TypeError, ValueError
        For what is no fit of several columns; data that are not those of the fit; without x, of a fit to rows with missing
        values; where fewer than half of the data sets, or fewer than two, have a fit that counts.

    Notes
    -----
    Each data set is fitted by the model and under the constraints of the fit, from its parameters alone: the climb ends at the
    maximum that belongs to that of the fit, and component k goes on being component k. What other maxima the data sets have is
    not looked for. Errors from rows hold whatever the data are distributed like, as those of ``se="sandwich"`` do; errors from
    the mixture presume that it is right, as those of ``se=True``.

    References
    ----------
    A. O'Hagan, T. B. Murphy, L. Scrucca, I. C. Gormley, "Investigation of parameter uncertainty in clustering using a Gaussian
    mixture model via jackknife, bootstrap and weighted likelihood bootstrap", Computational Statistics 34 (2019).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-3, 1, (200, 2)), rng.normal(5, 1, (300, 2))])
    >>> fit = ns.mixture.fit(x, 2, covariance="full", se=True, rng=0)
    >>> ns.mixture.bootstrap(fit, n_boot=99, rng=0).se["means"].round(2).tolist()
    [[0.06, 0.07], [0.06, 0.07]]
    >>> fit.se["means"].round(2).tolist()
    [[0.06, 0.06], [0.06, 0.06]]
    """
    if not isinstance(fit, MultivariateFit):
        raise TypeError(f"fit is a {type(fit).__name__}; bootstrap takes the fit of rows of several columns, a MultivariateFit")
    fit._there()
    if fit._heavy:
        raise ValueError(
            "bootstrap is of normal components without noise: use se=True, whose errors are those of the information"
        )
    count, generator = number_of_draws(n_boot), np.random.default_rng(int(normalise_rng(rng)))
    size = draw_count(round(fit.n_obs))
    if x is None:
        if weights is not None:
            raise TypeError("weights go with the rows of the data: pass x=, too")
        if fit.nan_policy == "marginal" and fit.n_missing:
            raise ValueError("draws from the mixture are complete rows, and the fit rests on others: pass its data as x=")
        drawn = (fit.rvs((some, size), rng=generator) for some in _slabs(count, size * len(fit.columns)))
        marginal = False
    else:
        data, chances, marginal = _data_of(fit, x, weights)
        drawn = (data[generator.choice(len(data), (some, size), p=chances)] for some in _slabs(count, size * len(fit.columns)))
    batches = [_again(fit, _sets(some, fit.columns, marginal), device, workers) for some in drawn]
    names = "weights", "means", "covariances", "loglik", "status"
    arrays = {name: np.concatenate([getattr(batch, name) for batch in batches]) for name in names}
    found = Bootstrap(fit, "parametric" if x is None else "rows", **arrays)
    if found.n_failed > 0.5 * count or count - found.n_failed < 2:
        first = int(np.argmin(found.counts))
        raise ValueError(
            f"of {counted(count, 'data set')} only {count - found.n_failed} have fits of statuses 0 or 11, too few for errors. "
            f"The first without has status {found.status[first]}: {batches[0].message(first) if first < len(batches[0]) else ''}"
        )
    return found


def _data_of(fit, x, weights):
    """Rows of the data of a fit, the probabilities with which they are drawn or None, and whether values may be missing."""
    rows_alike(x, weights, ("x", "weights"))
    rows, order, _ = points_of(x, fit.columns)
    data, marginal = np.asarray(rows if order is None else rows[:, order], np.float64), fit.nan_policy == "marginal"
    used, w = ~(np.isnan(data).all(axis=1) if marginal else np.isnan(data).any(axis=1)), np.ones(len(data))
    if weights is not None:
        w = weights_of(weights, "weights")
        if w.shape != used.shape:
            raise ValueError(f"weights has shape {w.shape} for {counted(len(data), 'row')}; pass one number for each")
        check_weights(w, ~used, "weights")
    total = float(w[used].sum())
    if abs(total - fit.n_obs) > 1e-9 * max(total, 1.0):
        raise ValueError(
            f"x has {total:g} observations, and the fit rests on {fit.n_obs:g}: pass the data of the fit, with their weights"
        )
    return data[used], None if weights is None else w[used] / total, marginal


def _again(fit, rows, device, workers):
    """Fits to data sets from the parameters of a fit."""
    start = fit.weights, fit.means, fit.covariances
    options = dict(covariance=fit.covariance, start=start, drawn=False, device=device, workers=workers)
    return fit_rows(rows, fit.n_components, **fit.settings, **options)


# --- the likelihood-ratio test -------------------------------------------------------------------------------------------------


def with_one_more_of_rows(x: ArrayLike, K: int, given: dict) -> tuple[Any, Any]:
    """Fits of rows with K components and with K + 1, searched for together, and a function for data sets drawn from the first.

    It gives statuses and log-likelihoods of both fits of each, which are searched for as those of the rows are.
    """
    policy = given.pop("nan_policy", None)
    options = own_options(given.pop("family"), given, f"x has shape {np.shape(x)}" if hasattr(x, "shape") else "x")
    if policy == "marginal":
        raise ValueError(
            "likelihood_ratio draws complete rows: use nan_policy='omit', which leaves those with missing values out"
        )
    if not isinstance(options["covariance"], str) or options["covariance"] == "all":
        raise ValueError(f"covariance={options['covariance']!r} are several models; the test is about one, such as 'full'")
    if "weights" in names_of(options.get("equal")):
        raise ValueError(
            "equal='weights': K equal weights are no case of K + 1 equal ones, which the test presumes; leave it out"
        )
    rows = one_table(x, None, policy)
    if rows.refused:
        raise ValueError(f"the data cannot be fitted: {rows.refused[0].said}")
    n = len(rows.x)
    twice = dataclasses.replace(rows, x=np.concatenate([rows.x, rows.x]), off=np.array([0, n, 2 * n]))
    both = fit_rows(twice, np.array([K, K + 1]), **options)

    def again(null, count, seed):
        generator, parts, first = np.random.default_rng(seed), [], 1
        for some in _slabs(count, null.n_used * len(null.columns)):
            sets = _sets(null.rvs((some, null.n_used), rng=generator), null.columns)
            parts.append(fit_rows(sets, (K, K + 1), **options, dataset_index=first).tried)
            first += some
        found = {name: np.concatenate([part[name] for part in parts]) for name in ("status", "loglik")}
        return [types.SimpleNamespace(**{name: values[:, j] for name, values in found.items()}) for j in (0, 1)]

    return (both[0], both[1]), again
