"""Results of fits: the components, and the distribution that they make, of one data set or of many."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.errors import names_ours
from numbastats._core.groups import Keys
from numbastats._core.information import standard_errors
from numbastats._core.kinds import in_kind_of, to_host
from numbastats._core.options import Device
from numbastats._core.results import Around, BatchOfFits, OptionalIntervals, Result, Table, dataset, with_intervals
from numbastats._core.status import FITTED, Status
from numbastats.mixture import functions
from numbastats.mixture.arguments import Seed, in_words
from numbastats.mixture.criteria import free_parameters
from numbastats.mixture.density import largest
from numbastats.mixture.families import family_of
from numbastats.scalar import latent as lat

if TYPE_CHECKING:
    from numbastats.distributions import Distribution


class _Components:
    """What fits and batches of fits report of their components besides their fields."""

    family: Any
    centres: NDArray
    params: NDArray

    @property
    def parameters(self) -> dict[str, NDArray]:
        """Parameters of the components by the names that the family has for them, as {"mean": ..., "variance": ...}."""
        family = family_of(self.family)
        seconds = [self.params[..., i, :] for i in range(2)] if family.third else [self.params]
        return dict(zip(family.parameters, (self.centres, *seconds), strict=False))

    def component_means(self) -> NDArray:
        """Means of x in each component, whatever the family's parameters are.

        Returns
        -------
        numpy.ndarray
            Of the shape of `weights`; inf where a mean does not exist (Pareto and inverse gamma distributions with heavy tails).

        Examples
        --------
        >>> import numpy as np, numbastats as ns
        >>> x = np.random.default_rng(1).lognormal(1.0, 0.5, 1000)
        >>> fit = ns.mixture.fit(x, 1, family="lognormal")
        >>> fit.component_means().round(1), fit.parameters["mean_log"].round(1)
        (array([3.]), array([1.]))
        """
        return family_of(self.family).component_means(self.centres, self.params)

    @property
    def means(self) -> NDArray:
        """The centres, of families where these are the means of x."""
        family = family_of(self.family)
        if not family.of_x:
            raise AttributeError(
                f"the parameter {family.parameters[0]!r} of the family {self.family!r} is not the mean of x; component_means() "
                f"has the means of x, centres or parameters[{family.parameters[0]!r}] the parameter"
            )
        return self.centres


def selection_of(n_components, criterion, status, chosen) -> Table:
    """The numbers of components that were tried, and how the fits ended."""
    words = np.array([in_words(s) for s in np.ravel(status).tolist()], np.str_)
    numbers = np.asarray(n_components, np.int64), np.asarray(criterion, np.float64), np.asarray(status, np.int8)
    columns = dict(zip(("n_components", "criterion", "status"), numbers, strict=True))
    return Table(columns | {"meaning": words, "chosen": np.asarray(chosen, bool)})


_LIMITS = {lat.NEGATIVE_BINOMIAL: "poisson", lat.STUDENT_T: "normal", lat.SKEW_NORMAL: "half_normal"}


def limits_of(family, params):
    """By component the limit of a family with passes of its own, "" where the component is at none."""
    if not family.latent:
        return ("",) * params.shape[-1]
    last = np.abs(params[-1] if family.third else params)
    return tuple(_LIMITS[family.code] if v >= 0.999 * lat.limit(family.code, 0.0) else "" for v in last)


def limits_in_words(limits):
    """The limits of components for a message."""
    said = ", ".join(f"component {k} ({word.replace('_', '-')})" for k, word in enumerate(limits) if word)
    return f"; at a limit of its family: {said}" if said else ""


def _errors_of(columns, errors):
    """Columns of standard errors, and estimates with their errors by name, as `with_intervals` takes them."""
    errors = {"weight" if name == "weights" else name: error for name, error in errors.items()}
    known = {name: (columns[name], error) for name, error in errors.items()}
    return {f"se_{name}": error for name, error in errors.items()}, known


def _with_errors(columns, errors, level):
    """A table of components with the standard errors by name, and for a level with the ends of intervals."""
    found, known = _errors_of(columns, errors)
    return with_intervals(columns | found, known, level)


class _Sets(BatchOfFits):
    """What batches of fits of both kinds have."""

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Numbers (D,) of observations that the fits rest on: `n_used`, by the name that all fits have."""
        batch: Any = self
        return np.asarray(batch.n_used, np.int64)

    @property
    def messages(self) -> NDArray[np.str_]:
        """What the statuses mean, as `message` says it of one."""
        batch: Any = self
        return np.array([batch.message(i) for i in range(len(self))], np.str_)

    def _named(self, name):
        batch: Any = self
        return batch.parameters[name]

    def _headline(self) -> str:
        batch: Any = self
        missing = f", {batch.n_missing.sum()} missing" if batch.n_missing.any() else ""
        certified = f"{np.sum(batch.status == 0)} with a certified local maximum"
        return f"family {batch.family!r}, {len(batch)} data sets, {certified}{missing}"

    @names_ours
    def summary(self, level: float | None = None) -> Table:
        """A row for each component of each data set.

        Parameters
        ----------
        level : float, optional
            Confidence of intervals, between 0 and 1; the fits must have standard errors.

        Returns
        -------
        Table
            A dict of columns that prints as a table: "data_set" (number or key; of grouped data the columns or dimensions of the
            keys), "component", "weight", the names of `parameters`, "loglik" and "status". A data set without components has one
            row of NaN. For a level also ``"se_"``, ``"lower_"`` and ``"upper_"`` with "weight" and the names of parameters, and
            "level".

        Raises
        ------
        ValueError
            For a level out of range, or of fits without standard errors.
        """
        batch: Any = self
        there = np.arange(batch.weights.shape[1]) < np.maximum(batch.n_components, 1)[:, None]
        sets, component = np.nonzero(there)
        columns = {"component": component, "weight": batch.weights[there]}
        columns |= {name: values[there] for name, values in batch.parameters.items()}
        columns |= {"loglik": batch.loglik[sets], "status": batch.status[sets]}
        errors, known = _errors_of(columns, {} if level is None else {name: error[there] for name, error in batch.se.items()})
        return self._by_set(sets, columns | errors, functools.partial(with_intervals, known=known, level=level))

    def _by_set(self, sets, columns, make=Table):
        """A table whose rows are of these data sets: their keys or numbers come first."""
        return self._table(({"data_set": sets} if self.keys is None else {}) | columns, make, "data_set", sets)

    @property
    def selection(self) -> Table:
        """A row for each number of components that was tried with each data set: "data_set", then as `MixtureFit.selection`."""
        batch: Any = self
        sets, columns = batch._tried()
        return self._by_set(sets, columns)

    def to_xarray(self) -> Any:
        """The fits as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            "weight" and the parameters along "data_set" and "component", NaN for components that a data set does not have;
            "loglik", "bic", "aic", "n_components", "n_used", "converged" and "status" along "data_set", which is the column or
            dimension of the keys where these have one. Keys of several columns are an index: ``.unstack()`` gives each a
            dimension. The attribute "family" has the family in words.
        """
        batch: Any = self
        values = {"weight": batch.weights, **batch.parameters}
        names = ("loglik", "bic", "aic", "n_components", "n_used", "converged", "status")
        values |= {name: getattr(batch, name) for name in names}
        component = {"component": np.arange(batch.weights.shape[1])}
        return dataset(values, len(batch), batch.keys, component, family=str(batch.family))


_BEFORE = np.array([0, 1, 11, 12, 13, 4, 6, 7, 8, 9])  # the numbers of `Status`, by those that mixtures had before it


def _renumbered(name, value):
    """An entry of a state that was pickled with the numbers of before."""
    if name in ("status", "status_"):
        return _BEFORE.astype(value.dtype)[value] if isinstance(value, np.ndarray) else int(_BEFORE[value])
    if name in ("message", "message_"):
        return re.sub(r"(?<=\(status )\d", lambda found: str(_BEFORE[int(found[0])]), value)
    if name == "notes":
        return {i: _renumbered("message", note) for i, note in value.items()}
    if name == "starts":
        return {K: kept | {"status": _renumbered("status", kept["status"])} for K, kept in value.items()}
    return value


class _Pickled:
    """Results whose pickles say that their statuses are numbers of `Status`; others are read with the numbers of before."""

    def __getstate__(self):
        return {**super().__getstate__(), "_statuses": "Status"}  # type: ignore[dict-item]

    def __setstate__(self, state):
        old = "_statuses" not in state
        vars(self).update({n: _renumbered(n, v) if old else v for n, v in state.items() if n != "_statuses"})


@names_ours
class MixtureDistribution(_Pickled):
    """The fitted mixture as a distribution."""

    def _of(self, name: str, *args: Any, **options: Any) -> Any:
        """A function of the mixture, by its name in `mixture`."""
        raise NotImplementedError

    def _place(self, device, workers):
        """Where and by how many threads a density is computed."""
        return dict(device=device, workers=workers)

    def pdf(self, x: ArrayLike, *, device: Device = None, workers: int | None = None) -> NDArray:
        """Density of the fitted mixture, as `mixture.pdf`; for counts the probability.

        Parameters
        ----------
        x : array_like
        device, workers : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar

        Raises
        ------
        ValueError
            Where the fit has no parameters.

        Examples
        --------
        >>> import numbastats as ns
        >>> fit = ns.mixture.fit([1.0, 2.0, 6.0], 1, family="exponential")
        >>> (
        ...     round(float(fit.pdf(3.0)), 6),
        ...     round(float(fit.cdf(3.0)), 6),
        ...     round(float(fit.ppf(0.5)), 6),
        ... )
        (0.122626, 0.632121, 2.079442)
        """
        return self._of("pdf", x, **self._place(device, workers))

    def logpdf(self, x: ArrayLike, *, device: Device = None, workers: int | None = None) -> NDArray:
        """Logarithm of the density, as `mixture.logpdf`.

        Parameters
        ----------
        x : array_like
        device, workers : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar
        """
        return self._of("logpdf", x, **self._place(device, workers))

    def cdf(self, x: ArrayLike) -> NDArray:
        """Distribution function of the fitted mixture, as `mixture.cdf`.

        Parameters
        ----------
        x : array_like

        Returns
        -------
        array or scalar
        """
        return self._of("cdf", x)

    def sf(self, x: ArrayLike) -> NDArray:
        """Upper tail probability of the fitted mixture, as `mixture.sf`.

        Parameters
        ----------
        x : array_like

        Returns
        -------
        array or scalar
        """
        return self._of("sf", x)

    def ppf(self, q: ArrayLike) -> NDArray:
        """Quantile function of the fitted mixture, as `mixture.ppf`.

        Parameters
        ----------
        q : array_like
            Probabilities.

        Returns
        -------
        array or scalar
        """
        return self._of("ppf", q)

    def isf(self, q: ArrayLike) -> NDArray:
        """Quantile from an upper tail probability, as `mixture.isf`: accurate for small q.

        Parameters
        ----------
        q : array_like
            Probabilities.

        Returns
        -------
        array or scalar
        """
        return self._of("isf", q)

    def rvs(self, size: int | tuple[int, ...] | None = None, *, rng: Seed = None) -> NDArray:
        """Draws from the fitted mixture, as `mixture.rvs`.

        Parameters
        ----------
        size : int or tuple of int, optional
        rng : None, int, SeedSequence or Generator

        Returns
        -------
        array or scalar
        """
        return self._of("rvs", size=size, rng=rng)

    def mean(self) -> float:
        """Mean of x under the fitted mixture, the weighted mean of `MixtureFit.component_means`.

        Returns
        -------
        float
            inf where a component has none (Pareto and inverse gamma distributions with heavy tails).

        Raises
        ------
        ValueError
            Where the fit has no parameters.

        Examples
        --------
        >>> import numbastats as ns
        >>> fit = ns.mixture.fit([1.0, 2.0, 6.0], 1, family="exponential")
        >>> (
        ...     round(fit.mean(), 6),
        ...     round(fit.std(), 6),
        ...     round(fit.median(), 6),
        ...     fit.interval(0.5)[1].round(6).item(),
        ... )
        (3.0, 3.0, 2.079442, 4.158883)
        """
        return self._moments()[0]

    def var(self) -> float:
        """Variance of x under the fitted mixture: that within the components and that between their means.

        Returns
        -------
        float
            inf where a component has none. Relative error of a component's part up to 1e-13 (Weibull distributions; the others
            1e-15).

        Raises
        ------
        ValueError
            Where the fit has no parameters.

        References
        ----------
        G. McLachlan, D. Peel, "Finite Mixture Models" (2000), section 1.4.
        """
        return self._moments()[1]

    def std(self) -> float:
        """Standard deviation of x under the fitted mixture, the square root of `var`.

        Returns
        -------
        float
        """
        return math.sqrt(self.var())

    def median(self) -> float:
        """The quantile at 1/2.

        Returns
        -------
        float
        """
        return float(self.ppf(0.5))

    def interval(self, confidence: ArrayLike) -> tuple[NDArray, NDArray]:
        """The interval with the probability `confidence` and equal tails.

        Parameters
        ----------
        confidence : array_like
            Probabilities of the interval, between 0 and 1.

        Returns
        -------
        tuple of two arrays or scalars
            `ppf` and `isf` at (1 - confidence)/2.

        Raises
        ------
        ValueError
            For values outside of [0, 1].
        """
        outside = 0.5 * (1.0 - np.asarray(confidence, np.float64))
        if not ((outside >= 0.0) & (outside <= 0.5)).all():
            raise ValueError(f"confidence={confidence!r} is no probability; use numbers from 0 to 1, such as 0.95")
        return self.ppf(outside), self.isf(outside)

    def _moments(self) -> tuple[float, float]:
        """Mean and variance of x."""
        raise NotImplementedError


@names_ours
class _Classified:
    """What a fit says of the components that values come from."""

    _of: Any

    def predict_proba(self, x: ArrayLike, *, device: Device = None, workers: int | None = None) -> NDArray:
        """Posterior probabilities of the components, as `mixture.responsibilities`.

        Parameters
        ----------
        x : array_like
        device, workers : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array, shape ``(*x.shape, K)``
            NaN for NaN and outside the support.
        """
        return self._of("responsibilities", x, device=device, workers=workers)

    def predict(self, x: ArrayLike, *, device: Device = None, workers: int | None = None) -> NDArray:
        """Most probable component of every value.

        Parameters
        ----------
        x : array_like
        device, workers : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array of int
            Of the shape and kind of x; -1 for NaN and outside the support.

        Examples
        --------
        >>> import numpy as np, numbastats as ns
        >>> rng = np.random.default_rng(1)
        >>> x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
        >>> ns.mixture.fit(x, 2, family="normal", rng=0).predict([-2.0, 3.0, np.nan]).tolist()
        [0, 1, -1]
        """
        return self._of("labels", x, device=device, workers=workers)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Fit(OptionalIntervals):
    """What fits of both kinds have."""

    @property
    def n_values(self) -> int:
        """Number of observations that the fit rests on: `n_used`, by the name that all fits have."""
        return self.n_used

    family: Any
    weights: NDArray
    loglik: float
    n_iter: int
    converged: bool
    status: int
    message: str
    bic: float
    aic: float
    n_used: int
    n_dropped: int
    n_missing: int
    n_components: int
    hits: int
    runner_up: float
    gap: float
    n_singular: int
    n_climbed: int
    n_starts: int
    se: dict
    decrement: float
    min_eig: float

    def _counts(self) -> str:
        return f"{self.n_used} values" + (f", {self.n_missing} missing" if self.n_missing else "")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MixtureFit(_Fit, MixtureDistribution, _Classified, _Components):
    """Mixture fitted to one data set; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    family : str or tuple
        The family as `fit_many` spells it.
    weights, centres, params : numpy.ndarray, shape (K,)
        In order of increasing centre. The centre is the component's mean where the family has one that is called so, else the
        mean of log x, 1/x, x^2 ...; `params` is lambda, the variance or the shape, NaN for families of one parameter, of shape
        (2, K) for families of three ("student_t": scale and df; "skew_normal": scale and shape). The table of families in
        `fit_many` has the names, under which `parameters` holds them. Functions take them in this order:
        ``mixture.pdf(x, fit.weights, fit.centres, fit.params, family=fit.family)`` is ``fit.pdf(x)``.
    loglik, objective : float
        Log-likelihood, and with the log prior added.
    n_iter, n_passes : int
        Passes of the best climb, and of all climbs.
    converged : bool
        Whether `status` is 0 or 13.
    status : int
        A `numbastats.Status`.
    message : str
    bic, aic : float
    n_used, n_dropped, n_missing, n_components : int
        Observations that the fit rests on; those left out, being missing or of weight 0; those that are missing; components.
    hits : int
        Starts known to have ended within 1e-6 of the best; "newton" climbs from 3 starts (5 from K = 3 on; 8 and 10 of fewer than
        512 distinct values; more where all collapse) and counts those that agreed with one of them after the short run, the other
        methods climb from all.
    runner_up : float
        The next certified log-likelihood (with a prior: objective), NaN if none was seen.
    gap : float
        The largest gain of the log-likelihood that was found by giving weight to one more admissible component, on a grid of
        places and widths, the others as they are. It says what the search may have left, and certifies nothing: with a free
        dispersion the likelihood has no upper bound. NaN of methods other than "newton".
    n_starts, n_climbed, n_singular : int
        Starts, drawn and by the gradient function; those that were climbed from, or taken for one that was; those that collapsed,
        before a climb or in it.
    se : dict
        Standard errors of "weights" and of the entries of `parameters`, by their names; empty unless asked for.
    cov : numpy.ndarray, shape (3 K, 3 K)
        Covariance of (weights, centres, params), whose diagonal is the square of `se`; (2 K, 2 K) for families of one parameter,
        (4 K, 4 K) for those of three, (0, 0) unless asked for.
    decrement, min_eig : float
        g'(-H)^-1 g at the optimum, and the smallest eigenvalue of -H in units of the complete data's information: one minus
        the rate at which EM would converge. Status 0 needs more than 1e-8 and what the gradient, in these units, adds to that.
    n_free : int
    limits : tuple of str
        By component the limit of its family at which it stands, "" where it is at none: "poisson" of a negative binomial one,
        "normal" of a Student t and "half_normal" of a skew-normal one.
    selection : Table
        A row for each number of components that was tried: "n_components", the "criterion", the "status" of that fit and its
        "meaning", and whether it was "chosen".
    """

    family: str | tuple[str, float]
    centres: NDArray
    params: NDArray
    objective: float
    n_passes: int
    cov: NDArray
    selection: Table = dataclasses.field(default_factory=Table, repr=False)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return free_parameters(family_of(self.family), self.n_components)

    @property
    def limits(self) -> tuple[str, ...]:
        """By component the limit of its family at which it stands, "" where it is at none."""
        return limits_of(family_of(self.family), self.params)

    def _distribution(self):
        """The arguments of the functions of `mixture`."""
        if np.isnan(self.weights).any():
            raise ValueError(f"this fit has no parameters (status {self.status}: {self.message})")
        two = family_of(self.family).two
        return dict(weights=self.weights, centres=self.centres, params=self.params if two else None, family=self.family)

    def _of(self, name, *args, **options):
        return getattr(functions, name)(*args, **self._distribution(), **options)

    def _moments(self):
        """Mean and variance of x."""
        model = self._distribution()
        family, w = family_of(model["family"]), model["weights"] / model["weights"].sum()
        used = w > 0.0
        w, m = w[used], model["centres"][used]
        p = model["params"][..., used] if family.two else np.full(m.size, np.nan)
        means, variances = family.moments(m, p)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(w @ means)
            if not np.isfinite(means).all() or np.isinf(variances).any():
                return mean, math.inf
            return mean, float(w @ (variances + (means - mean) ** 2))

    @property
    def distribution(self) -> Distribution:
        """The fitted mixture as a distribution of `numbastats.distributions`, to be composed further.

        Returns
        -------
        numbastats.distributions.Mixture
            Whose ``params.components`` are distributions of the family; all have `to_scipy`.

        Raises
        ------
        TypeError
            For counts, which do not compose, and reciprocal inverse Gaussian components, which have no class there.
        ValueError
            Where the fit has no parameters.

        Examples
        --------
        >>> import numbastats as ns
        >>> fit = ns.mixture.fit([1.0, 2.0, 6.0], 1, family="exponential")
        >>> fit.distribution, round(float(fit.distribution.skewness()), 6)
        (Mixture([Exponential(loc=0.0, scale=3.0)], weights=[1.0]), 2.0)
        """
        from numbastats.distributions import Mixture

        return Mixture(self.components, self.weights / self.weights.sum())

    @property
    def components(self) -> tuple[Distribution, ...]:
        """The components as distributions of `numbastats.distributions`; TypeError where the family has no class there."""
        model = self._distribution()
        family, params = family_of(self.family), self.params.T.tolist()
        return tuple(family.component(m, p) for m, p in zip(model["centres"].tolist(), params, strict=True))

    def _headline(self) -> str:
        return (
            f"family {self.family!r}, {self.n_components} components, {self._counts()}, log-likelihood {self.loglik:.8g}, "
            f"BIC {self.bic:.8g}, {self.message}"
        )

    @names_ours
    def summary(self, level: float | None = None) -> Table:
        """The components as a table: weight, parameters, means of x, and errors where the fit has them.

        Parameters
        ----------
        level : float, optional
            Confidence of the intervals, between 0 and 1; by default 0.95 where the fit has standard errors (``se=True``).

        Returns
        -------
        Table
            A dict of columns that prints as a table, with a row for each component, in the order of the fit: "weight", the names
            of `parameters`, "mean_of_x" and "sd_of_x", then ``"se_weight"`` and ``"se_"`` before the names of the parameters,
            then so with ``"lower_"`` and ``"upper_"``, and "level", which prints in the headings of these.
            `to_frame` gives it as a data frame.

        Raises
        ------
        ValueError
            For a level out of range, or of a fit without standard errors.

        Examples
        --------
        >>> import numpy as np, numbastats as ns
        >>> x = np.random.default_rng(1).lognormal(1.0, 0.5, 1000)
        >>> list(ns.mixture.fit(x, 1, family="lognormal").summary())
        ['weight', 'mean_log', 'variance_log', 'mean_of_x', 'sd_of_x']
        """
        family = family_of(self.family)
        columns = {"weight": self.weights} | self.parameters
        columns["mean_of_x"], variances = family.moments(self.centres, self.params)
        columns["sd_of_x"] = np.sqrt(variances)
        return _with_errors(columns, self.se, 0.95 if level is None and self.se else level)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ComponentsFit(_Fit, MixtureDistribution, _Classified):
    """Mixture of distributions of `numbastats.distributions`, fitted to one data set by `fit`; it prints as a table.

    Attributes
    ----------
    family : str, type, tuple or list
        As it was passed to `fit`.
    weights : numpy.ndarray, shape (K,)
    components : tuple of Distribution
        In ascending order of their medians, those of a list of families in its order.
    loglik : float
    n_iter : int
        EM passes of the best climb, after the short runs.
    converged : bool
        Whether `status` is 0 or 13.
    status : int
        A `numbastats.Status`.
    message : str
    bic, aic, icl : float
    n_used, n_dropped, n_missing, n_components : int
        Observations that the fit rests on; those left out, being missing or of weight 0; those that are missing; components.
    n_free : int
        Free parameters, of which the criteria know: ends of uniform noise that are those of the data do not count.
    hits, n_climbed, n_starts, n_singular : int
        Climbs that ended within 1e-6 of the best, of those from the best ends of the short runs; random starts; those that
        collapsed.
    runner_up : float
        The next certified log-likelihood, NaN if none was seen.
    gap : float
        The largest gain of the log-likelihood that was found by giving weight to one more admissible component of the same
        distributions, fitted to runs of the values, the others as they are; NaN with fixed weights. It certifies nothing.
    se : dict
        Standard errors of "weights" and of the entries of `parameters`, by their names, from the observed information: 0 for
        fixed parameters, NaN for those that a component does not have or the likelihood does not depend on. Empty unless asked
        for.
    decrement, min_eig : float
        g'(-H)^-1 g at the optimum, and the smallest eigenvalue of -H in units of the complete data's information on each
        parameter, by squares of scores.
    limits : tuple of str
        By component the limit of its family at which it stands, "" where it is at none, as "exponential" of a Lomax one whose
        shape and scale grow without end: its parameters are then next to the limit, with the same likelihood to 1e-9.
    selection : Table
        As of `MixtureFit`.
    """

    components: tuple[Distribution, ...]
    icl: float
    n_free: int
    limits: tuple[str, ...] = ()
    selection: Table = dataclasses.field(default_factory=Table, repr=False)

    @property
    def parameters(self) -> dict[str, NDArray]:
        """Parameters of the components by their names, NaN for those that a component does not have."""
        names = dict.fromkeys(name for d in self.components for name in d.names)
        return {name: np.array([getattr(d.params, name, math.nan) for d in self.components], np.float64) for name in names}

    @property
    def distribution(self) -> Distribution:
        """The fitted mixture as a distribution of `numbastats.distributions`, to be composed further.

        Returns
        -------
        numbastats.distributions.Mixture

        Raises
        ------
        ValueError
            Where the fit has no parameters.
        """
        from numbastats.distributions import Mixture

        if not self.components:
            raise ValueError(f"this fit has no parameters (status {self.status}: {self.message})")
        return Mixture(self.components, self.weights)

    def component_means(self) -> NDArray:
        """Means of x in each component.

        Returns
        -------
        numpy.ndarray, shape (K,)
        """
        return np.array([d.mean() for d in self.components], np.float64)

    def _of(self, name, *args, **options):
        own = {"responsibilities": self._responsibilities, "labels": self._labels}.get(name)
        return getattr(self.distribution, name)(*args, **options) if own is None else own(*args, **options)

    def _joint(self, x, options):
        """Logarithms of the weighted densities of each component, on the host."""
        host, parts = np.asarray(to_host(x, "x")), zip(self.distribution.params.components, self.weights, strict=True)
        with np.errstate(divide="ignore"):
            return [np.log(w) + np.asarray(d.logpdf(host, **options), np.float64) for d, w in parts]

    def _responsibilities(self, x, **options):
        joint = self._joint(x, options)
        with np.errstate(invalid="ignore"):
            total = np.logaddexp.reduce(joint)
            return in_kind_of(np.stack([np.exp(one - total) for one in joint], axis=-1), x)

    def _labels(self, x, **options):
        return in_kind_of(largest(self._joint(x, options))[()], x)

    def _moments(self):
        d = self.distribution
        return float(d.mean()), float(d.var())

    def _headline(self) -> str:
        names = ", ".join(d.family for d in self.components)
        return f"components {names}; {self._counts()}, log-likelihood {self.loglik:.8g}, BIC {self.bic:.8g}, {self.message}"

    @names_ours
    def summary(self, level: float | None = None) -> Table:
        """The components as a table: weight, family, parameters, means of x, and errors where the fit has them.

        Parameters
        ----------
        level : float, optional
            Confidence of the intervals, between 0 and 1; by default 0.95 where the fit has standard errors (``se=True``).

        Returns
        -------
        Table
            A dict of columns that prints as a table, with a row for each component: "weight", "family", the names of
            `parameters`, "mean_of_x" and "sd_of_x", then ``"se_weight"`` and ``"se_"`` before the names of the parameters,
            then so with ``"lower_"`` and ``"upper_"``, and "level", which prints in the headings of these.

        Raises
        ------
        ValueError
            For a level out of range, or of a fit without standard errors.
        """
        columns = {
            "weight": self.weights[: len(self.components)],
            "family": np.array([d.family for d in self.components], np.str_),
        }
        columns |= self.parameters
        columns["mean_of_x"] = self.component_means()
        columns["sd_of_x"] = np.array([d.std() for d in self.components], np.float64)
        return _with_errors(columns, self.se, 0.95 if level is None and self.se else level)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ComponentsBatch(_Sets):
    """Mixtures of distributions fitted to D data sets by `fit_many`.

    Attributes
    ----------
    family : str, type, tuple or list
    fits : tuple of ComponentsFit
        ``batch[i]`` is ``batch.fits[i]``.
    keys : tuple or None
        Keys of the data sets, in their order, where the data had any (a dict, a groupby, pairs).

    Notes
    -----
    The numbers of `ComponentsFit`, such as `loglik` and `status`, are arrays (D,) here, `weights` and the entries of `parameters`
    arrays (D, K), NaN where a data set has fewer components than others.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate(
    ...     [rng.logistic(-2, 0.6, (3, 300)), rng.logistic(3, 0.4, (3, 200))], axis=1
    ... )
    >>> fits = ns.mixture.fit_many(x, 2, family="logistic", rng=0)
    >>> (
    ...     fits.status.tolist(),
    ...     fits.weights[:, 0].round(1).tolist(),
    ...     fits.parameters["loc"].round().tolist(),
    ... )
    ([0, 0, 0], [0.6, 0.6, 0.6], [[-2.0, 3.0], [-2.0, 3.0], [-2.0, 3.0]])
    """

    family: Any
    fits: tuple[ComponentsFit, ...]
    keys: Keys | None = dataclasses.field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.fits)

    @functools.cached_property
    def _names(self):
        return tuple(self.parameters)

    _no_errors = "no standard error: fits of such components keep no covariance"

    def _parts(self):
        for i in np.flatnonzero(self.converged):  # fits keep standard errors and no covariance
            one, none = self.fits[i], {"weight": np.full(1, math.nan)}
            blank = np.full((1, 1, 1), math.nan)
            yield Around(np.array([i]), lambda _, d=one.distribution: d, lambda _: True, (), none, none, blank, False)

    def _item(self, i: int) -> ComponentsFit:
        return self.fits[i]

    def __getattr__(self, name: str) -> NDArray:
        if name not in _NUMBERS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return np.array(
            [getattr(fit, name) for fit in self.fits], {"bool": bool, "int": np.int64, "float": np.float64}[_NUMBERS[name]]
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_NUMBERS})

    def _wide(self, rows: list[NDArray]) -> NDArray:
        """Arrays of the data sets as rows (D, K), filled up with NaN."""
        out = np.full((len(rows), max((len(row) for row in rows), default=0)), math.nan)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return out

    @property
    def weights(self) -> NDArray:
        """Weights (D, K)."""
        return self._wide([fit.weights for fit in self.fits])

    @property
    def parameters(self) -> dict[str, NDArray]:
        """Parameters (D, K) of the components by their names, NaN for those that a component does not have."""
        return self._named("parameters")

    @property
    def se(self) -> dict[str, NDArray]:
        """Standard errors (D, K) of "weights" and parameters by name, NaN where a fit has none; empty where none has any."""
        return self._named("se")

    def _named(self, attribute: str) -> dict[str, NDArray]:
        found = [getattr(fit, attribute) for fit in self.fits]
        names = dict.fromkeys(name for one in found for name in one)
        return {
            name: self._wide(
                [one.get(name, np.full(fit.n_components, math.nan)) for one, fit in zip(found, self.fits, strict=True)]
            )
            for name in names
        }

    def message(self, i: Any) -> str:
        """What the status of a data set means, by its index or key."""
        return self[i].message

    def _tried(self):
        """By number of components that was tried: its data set, and the columns of `selection`."""
        each = [fit.selection for fit in self.fits]
        sets = np.repeat(np.arange(len(each)), [len(one["status"]) for one in each])
        names = ("n_components", "criterion", "status", "chosen")
        joined = {name: np.concatenate([one[name] for one in each] or [np.empty(0)]) for name in names}
        return sets, selection_of(*joined.values())


_NUMBERS = {f.name: f.type for f in dataclasses.fields(ComponentsFit) if f.type in ("bool", "int", "float")}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MixtureBatch(_Pickled, _Sets, _Components):
    """Mixtures fitted to D data sets; arrays (D,) or (D, K), the attributes of `MixtureFit`.

    Attributes
    ----------
    family : str or tuple
    weights, centres, params : numpy.ndarray, shape (D, K)
        NaN where a data set has fewer components than the widest; `params` is (D, 2, K) for families of three parameters.
        `parameters`, `component_means()` and `means` as in
        `MixtureFit`.
    status : numpy.ndarray of int8, shape (D,)
        0 certified; 1 out of budget; 11 not certified; 12 collapsed; 13 inadmissible; 4 too few values; 6 out of support;
        7 none left; 8 not finite; 9 stopped: `numbastats.Status`. `message(i)` says it in words.
    cov : numpy.ndarray, shape (D, 3 * width, 3 * width)
        Component k of quantity q (weights, centres, params) is row ``q * width + k``, width the largest number of components.
    criteria_ : numpy.ndarray, shape (D, number of candidates)
        The criterion for every number of components that was tried.
    statuses_ : numpy.ndarray of int8, shape (D, number of candidates)
        The statuses of these fits; `selection` is a table of both, with what they mean.
    candidates : tuple of int
        The numbers of components that were tried.
    starts : dict
        With ``keep_starts``, by number of components K: the start parameters "weights", "centres", "params" (D, R, K), and the
        "loglik", "status" and "n_iter" (D, R) that each climb ended with.

    keys : tuple or None
        Keys of the data sets, in their order, where the data had any (a dict, a groupby, pairs).

    Notes
    -----
    ``batch[i]`` is the `MixtureFit` of data set i, whose arrays have as many entries as it has components. A number i counts from
    0 on (negative from the end), whatever the keys are; the fits of other keys are ``batch[key]``, and ``batch.one(which)``
    takes keys first. ``batch["mean"]`` is an array of `parameters`. All fits are ``batch.items()``, pairs (key, fit).
    """

    family: str | tuple[str, float]
    weights: NDArray
    centres: NDArray
    params: NDArray
    loglik: NDArray
    objective: NDArray
    n_iter: NDArray
    n_passes: NDArray
    converged: NDArray
    status: NDArray
    bic: NDArray
    aic: NDArray
    n_used: NDArray
    n_dropped: NDArray
    n_missing: NDArray
    n_components: NDArray
    hits: NDArray
    runner_up: NDArray
    gap: NDArray
    n_singular: NDArray
    n_climbed: NDArray
    n_starts: NDArray
    se: dict
    cov: NDArray
    decrement: NDArray
    min_eig: NDArray
    criteria_: NDArray
    candidates: tuple
    statuses_: NDArray
    notes: dict = dataclasses.field(repr=False)
    starts: dict = dataclasses.field(repr=False)
    keys: Keys | None = dataclasses.field(default=None, repr=False)

    def __len__(self) -> int:
        return self.status.size

    @property
    def n_free(self) -> NDArray:
        """Numbers (D,) of free parameters."""
        return free_parameters(family_of(self.family), self.n_components)

    def _tried(self):
        """By number of components that was tried: its data set, and the columns of `selection`."""
        D, C = self.criteria_.shape
        number = np.tile(self.candidates, D)
        columns = selection_of(number, self.criteria_.ravel(), self.statuses_.ravel(), number == np.repeat(self.n_components, C))
        return np.repeat(np.arange(D), C), columns

    def message(self, i: Any) -> str:
        """What the status of a data set means, by its index or key."""
        return self._message(self._place(i, by_key=not hasattr(i, "__index__")))

    def _message(self, i):
        status = int(self.status[i])
        if status not in (*FITTED, Status.COLLAPSED):
            return self.notes.get(i, in_words(status))
        found = ""
        if status == Status.OK and self.n_starts[i] > 1:
            reached = f"reached by {self.hits[i]} of the {self.n_climbed[i]} that were climbed from"
            found = f"; the best of {self.n_starts[i]} starts, {reached}"
        limits = limits_of(family_of(self.family), self.params[i][..., : int(self.n_components[i])])
        return in_words(status) + found + limits_in_words(limits) + (f"; {self.notes[i]}" if i in self.notes else "")

    @property
    def _names(self):
        return family_of(self.family).parameters

    _no_errors = "no standard error: it needs the covariance, which fit_many(..., cov=True) keeps"

    def _parts(self):
        family, width = family_of(self.family), self.weights.shape[1]
        kinds = 1 + len(family.parameters)
        for K in np.unique(self.n_components[self.converged]).tolist():
            use = np.flatnonzero(self.converged & (self.n_components == K))
            columns = [self.weights, *self.parameters.values()]
            params = np.concatenate([column[use, :K] for column in columns], axis=1)
            rows = np.concatenate([q * width + np.arange(K) for q in range(kinds)])
            cov = self.cov[use][:, rows][:, :, rows] if self.cov.size else np.full((len(use), kinds * K, kinds * K), math.nan)
            keep = np.arange(kinds * K) != K - 1  # the last weight follows from the others
            names = [f"{name}_{k}" for name in ("weight", *family.parameters) for k in range(K)]
            named = ({n: v for n, v, use in zip(names, a.T, keep, strict=True) if use} for a in (params, standard_errors(cov)))
            make = functools.partial(_mixture, self._item(use[0]))
            yield Around(use, make, _weighted, (), *named, cov[:, keep][:, :, keep], False)

    def _item(self, i: int) -> MixtureFit:
        values: dict[str, Any] = {}
        K = int(self.n_components[i])
        for field in dataclasses.fields(MixtureFit):
            if field.name == "family":
                values["family"] = self.family
            elif field.name == "message":
                values["message"] = self._message(i)
            elif field.name == "se":
                values["se"] = {name: s[i, :K] for name, s in self.se.items()}
            elif field.name == "selection":
                numbers = np.array(self.candidates)
                values["selection"] = selection_of(numbers, self.criteria_[i], self.statuses_[i], numbers == K)
            elif field.name == "cov":
                width = self.weights.shape[1]
                rows = np.concatenate([q * width + np.arange(K) for q in range(self.cov.shape[1] // width)] or [np.arange(0)])
                values["cov"] = self.cov[i][np.ix_(rows, rows)]
            else:
                v = getattr(self, field.name)[i]
                values[field.name] = v[..., :K] if np.ndim(v) else v.item()
        return MixtureFit(**values)


def _weighted(params):
    """Whether weights by name, without the last, are those of a mixture."""
    weights = [v for name, v in params.items() if name.startswith("weight_")]
    return np.all([v >= 0.0 for v in weights], axis=0) & (np.sum(weights, axis=0) <= 1.0)


def _mixture(like, params):
    """The distribution of numbers by name, the last weight left out, in the place of those of a fit; of counts that fit."""
    K, values = like.n_components, np.array([*params.values()])
    weights, rest = np.append(values[: K - 1], 1.0 - values[: K - 1].sum()), values[K - 1 :].reshape(-1, K)
    seconds = rest[1:].reshape(like.params.shape) if len(rest) > 1 else like.params
    made = dataclasses.replace(like, weights=weights, centres=rest[0], params=seconds)
    try:
        return made.distribution
    except TypeError:
        return made


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatio(Result):
    """Bootstrap test of K components against K + 1, by `likelihood_ratio`.

    Attributes
    ----------
    statistic : float
        Twice the gain of the log-likelihood by one component more.
    pvalue : float
        (1 + number of simulated statistics that are not less) / (1 + number of simulated statistics).
    simulated : numpy.ndarray
        Statistics of data drawn from `null`, of which both fits have status 0, or 11 for a redundant component.
    n_failed : int
        Draws without such fits, such as inadmissible ones; they do not count.
    null, alternative : MixtureFit, ComponentsFit or MultivariateFit
        With K components and K + 1.
    statuses : numpy.ndarray of int, shape (n_boot, 2)
        A `numbastats.Status` of the fits with K components and with K + 1 to each draw.
    """

    statistic: float
    pvalue: float
    simulated: NDArray
    n_failed: int
    null: Any
    alternative: Any
    statuses: NDArray = dataclasses.field(default_factory=lambda: np.zeros((0, 2), np.int64))

    @property
    def pvalue_error(self) -> float:
        """Standard deviation of `pvalue` over other draws as many: sqrt(p (1 - p) / (number of simulated statistics + 1))."""
        return math.sqrt(self.pvalue * (1.0 - self.pvalue) / (self.simulated.size + 1.0))

    def _headline(self) -> str:
        failed = f", {self.n_failed} draws without admissible fits left out" if self.n_failed else ""
        return (
            f"{self.null.n_components} components against {self.alternative.n_components} of family {self.null.family!r}: "
            f"statistic {self.statistic:.5g}, p = {self.pvalue:.3g} (simulation error {self.pvalue_error:.1g}) by "
            f"{self.simulated.size} draws{failed}"
        )

    def summary(self) -> Table:
        """Quantiles of the simulated statistics beside the one of the data.

        Returns
        -------
        Table
            A dict of columns: "statistic", "pvalue", "pvalue_error", "simulated_median", "simulated_95", "n_failed".
        """
        median, high = np.quantile(self.simulated, [0.5, 0.95])
        row = {"statistic": self.statistic, "pvalue": self.pvalue, "pvalue_error": self.pvalue_error}
        row |= {"simulated_median": median, "simulated_95": high, "n_failed": self.n_failed}
        return Table({name: np.array([value]) for name, value in row.items()})
