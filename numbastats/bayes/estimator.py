"""Bayesian regression with shrinkage priors; scikit-learn-compatible, without needing scikit-learn."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypedDict, Unpack, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import issparse

from numbastats._core.archive import read_archive, write_archive
from numbastats._core.checks import checked_level, choice
from numbastats._core.data import doubles
from numbastats._core.errors import ConvergenceWarning, names_ours, renamed, warn
from numbastats._core.estimator import Estimator, not_fitted
from numbastats._core.launch import choose_device, or_on_the_host
from numbastats._core.parallel import check_workers, is_executor
from numbastats._core.random import Key, key_words, normalise_rng
from numbastats._core.results import Table
from numbastats.bayes import arguments, categories, predictions, responses, survival
from numbastats.bayes.arguments import Horseshoe, Options, Prior, RegressionSampler, Sampler, Single, fixed, parametrised
from numbastats.bayes.categories import rules_of
from numbastats.bayes.chains import Chains, one_blas_thread, sampler_of
from numbastats.bayes.checks import Checks, loo_by_mixture
from numbastats.bayes.design import Reader, Source, free_precisions, scaling, storage_by_size, survey
from numbastats.bayes.engine import Run, Spread, goals
from numbastats.bayes.kernels.classes import MOST
from numbastats.bayes.likelihood import Rows, work_of
from numbastats.bayes.projection import Projects
from numbastats.bayes.responses import PROBIT, RESPONSES, Classification, Regression
from numbastats.bayes.responses.record import Joint, facts_of_rows, record_of, word_of
from numbastats.bayes.samplers import scales
from numbastats.random import RNG

__all__ = ["BayesProbit", "HorseshoeClassifier", "HorseshoeProbit", "HorseshoeRegression"]

_FITTED = ("_options", "_run", "_shifted", "_strata", "_baseline")
_WIDE = 10.0  # prior standard deviation of unpenalised coefficients, where a flat prior may make the posterior improper

Kind: TypeAlias = Literal["mean", "outcome", "median"]
Blocks: TypeAlias = Callable[[], Iterable[tuple[ArrayLike, ArrayLike]]]


def _typical(y):
    """A finite number for each outcome or pair of ends: one of them, or the middle."""
    if y.ndim == 1:
        return y
    lower, upper = y
    with np.errstate(invalid="ignore"):  # of the ends 0 and inf, which say nothing
        return np.where(np.isinf(upper), lower, np.where(np.isinf(lower), upper, 0.5 * (lower + upper)))


def _labels(classes):
    """The names of classes."""
    return tuple(map(str, classes.tolist()))


class Outcomes(NamedTuple):
    """Outcomes of a fit: signs by which the rows are multiplied, the class of sign 1; facts of the rows for the kernels.

    `outcomes` are those of a regression, or of more than two classes, as they came; numbers the sampler sees as (y - level)/size.
    `record` is that of the response, for the classes that there are.
    """

    signs: NDArray[np.int8]
    event: Any = None
    facts: NDArray[np.float64] | None = None
    classes: NDArray[Any] | None = None
    outcomes: NDArray[np.float64] | None = None
    level: float = 0.0
    size: float = 1.0
    strata: NDArray[Any] | None = None
    record: Any = None


class _Rows(TypedDict, total=False):
    """What goes with the rows of a criterion beside outcomes and offsets."""

    exposure: ArrayLike
    sample_weight: ArrayLike
    event: ArrayLike
    censored: tuple[ArrayLike, ArrayLike]


class _Regression(Checks, Projects, Estimator, Options):
    """Base class of the estimators: the run of a fit, draws, reports and files."""

    _responses: tuple[str, ...] = (PROBIT.word,)
    _priors: tuple[str, ...] = get_args(Horseshoe)

    coef_: NDArray[np.float64]
    intercept_: Any
    n_features_in_: int
    n_missing_: int
    n_iter_: int
    feature_names_in_: NDArray[Any]
    converged_: bool
    draws_: dict[str, NDArray[np.float64]]
    sample_stats_: dict[str, NDArray[np.float64]]
    moments_: dict[str, NDArray[np.float64]]
    stats_: dict[str, Any]
    sampler_: str

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- sampling ---

    def _fit(self, X, y, sample_weight=None, offset=None, exposure=None, event=None, censored=None, strata=None):
        """Sample the posterior; the docstrings of `fit` list parameters and exceptions."""
        params = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        options = arguments.checked_options(params, self._responses, self._priors)
        arguments.check_ends_given(y, event, censored, record_of(options.response), type(self).__name__)
        y, upper = (y, None) if censored is None else censored
        given = {
            "y": y,
            "sample_weight": sample_weight,
            "offset": offset,
            "exposure": exposure,
            "event": event,
            "censored": upper,
            "strata": strata,
        }
        arguments.check_labels(X, given)
        if is_executor(self.workers):
            options = dataclasses.replace(options, workers=None)  # the options are kept and pickled, an executor is not
        names, missing = arguments.names_of(X), 0
        order = {"order": arguments.order_of(y)} if record_of(options.response).ordered else {}
        if options.nan_policy == "omit":
            X, kept, missing = arguments.complete(X, given.values())
            given = dict(zip(given, kept, strict=True))
        arguments.check_outcomes_given(given["y"], callable(X), type(self).__name__)
        reader, counted = Reader(X), arguments.counted_rows(given["sample_weight"], X)
        if counted is not None:  # all is checked once with the rows of weight 0, then left out is what is no data
            if reader.open is None:
                n = survey(reader).n
                self._outcomes(n=n, options=options, **given, **order)
            reader, given = Reader(X, counted), {name: arguments.rows_of(v, counted) for name, v in given.items()}
        y = given.pop("y")
        storage = arguments.storage_type(self.dtype, self.quantize, self.response)
        facts = survey(reader, whole=storage == "int8")
        if facts.p == 0:
            raise ValueError(f"X has 0 feature(s) (shape=({facts.n}, 0)) while a minimum of 1 is required; pass columns")
        found = self._outcomes(facts.y if y is None else y, facts.n, options, **given, **order)
        record = options.record(found.size) if found.record is None else found.record
        record = record.mixture() if getattr(self, "_mixed", False) else record
        arguments.check_shape(facts.n, facts.p, record, options)
        options = dataclasses.replace(options, response=record if record.several else options.response)
        if not reader.streamed:
            arguments.check_spread(reader.X, found, options)
        arguments.check_memory(self.draws, facts.p * record.width, self.keep, self.chains)
        storage = ("float64" if isinstance(record, Joint) else storage_by_size(facts)) if storage is None else storage
        free = arguments.columns_of("unpenalized", self.unpenalized, names, facts.p)
        arguments.check_free(free, found.facts, facts.n, facts.p, options)
        shared = arguments.scales_of(self.groups, names, facts.p, free)
        standard = dict(intercept=options.fit_intercept, standardize=self.standardize, centred=not record.intercept)
        units = scaling(facts, storage, unpenalized=free, **standard)
        units = units._replace(level=found.level, size=found.size, width=record.width)
        rows = self._rows(reader, facts, found, storage, units, record)
        labels = [f"x{j}" for j in range(facts.p)] if names is None else [str(n) for n in names]
        make = self._chains(facts, units, free, shared, record)
        if is_executor(self.workers):
            run: Run = Spread(self.workers, rows, functools.partial(make, chains=1), options, units, labels)
        else:
            with one_blas_thread(*rows.shape):
                run = Run(make(rows, None, chains=self.chains), options, units, labels)
        self._forget()
        self._options, self._run, self._shifted = options, run, offset is not None or exposure is not None
        self._strata = found.strata
        self.n_features_in_, self.n_missing_ = facts.p, missing
        if found.classes is not None:
            self.classes_ = found.classes
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        try:
            self._sample(goals(options, *rows.shape))
        except BaseException:
            self._forget()
            raise
        return self

    def _outcomes(self, y, n, options, sample_weight, offset, exposure, event, censored, strata):
        """The outcomes in the sampler's form."""
        raise NotImplementedError

    def _rows(self, reader, facts, found, storage, units, record):
        """The rows that the sampler passes over: in memory, or read again at every pass."""
        source = Source(
            reader, facts, found.signs, found.event, storage=storage, units=units, rounded=self.quantize, outcomes=found.outcomes
        )
        n, p, joint = facts.n, facts.p + units.intercept, isinstance(record, Joint)
        sampler = sampler_of(record, self.sampler, n, p, self.slab)
        again = reader.streamed and not sampler.by_rows(n, p) and not joint
        again |= reader.sparse and not sampler.passes  # sums over sparse rows are made as they are
        again &= storage in ("float64", "float32")
        X = source if again else source.load()
        joint |= record.width > MOST
        if is_executor(self.workers) or not sampler.passes or joint:  # executors and functions of arrays take host arrays
            device = "cpu"
        else:  # rows that are read again at every pass would be sent at every pass
            work = None if again else functools.partial(work_of, *source.shape, self.chains)
            device = choose_device(self.device, work=work, workers=self.workers)
        workers = 1 if is_executor(self.workers) else self.workers  # the executor's workers take whole chains
        rows = lambda where: Rows(X, where, workers, *source.code, response=record, facts=found.facts)  # noqa: E731
        return or_on_the_host(rows, device, self.device)

    def _chains(self, facts, units, free, shared, record):
        """A function that makes `Chains` at their start from rows; scales of the prior are divided by the unit."""
        unit, scale = units.unit, self.intercept_scale
        others, width = scale if math.isfinite(scale) or record.flat else _WIDE, record.width
        known = (*[float(scale) ** -2.0] * units.intercept, *free_precisions(facts, units, free, others))
        groups = None if shared is None else np.unique(shared[units.order[len(free) :]], return_inverse=True)[1]
        if width > 1 and (self.shared or groups is not None):  # of every class apart, unless they share the scales of columns
            groups = np.arange(facts.p - len(free)) if groups is None else groups
            groups = np.repeat(groups, width) if self.shared else (groups[:, None] * width + np.arange(width)).ravel()
        prior = scales.Prior(
            self.prior,
            units.intercept * width,
            tuple(precision for precision in known for _ in range(width)),
            float(self.tau_scale / unit),
            None if self.tau is None else self.tau / unit,
            None if self.slab is None else max(float(self.slab / unit), 1e-150),
            self.slab_df,
            groups,
        )
        options = dict(kind=self.sampler, warmup=self.warmup, key=key_words(normalise_rng(self.rng)), sweeps=self.inner_sweeps)
        return functools.partial(Chains, prior=prior, **options)

    def _forget(self):
        """Delete the attributes of a fit; those of scikit-learn, which begin with an underscore, stay."""
        for name in list(vars(self)):
            if name in _FITTED or (name[0] != "_" and name[-1] == "_"):
                delattr(self, name)

    def continue_(self, draws: int) -> Self:
        """Sample more draws: the result is that of a longer `fit`.

        Parameters
        ----------
        draws : int
            Number of further draws per chain.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        AttributeError
            Before `fit`, and for a loaded or unpickled model, which has no data.
        """
        self._fitted()
        run = getattr(self, "_run", None)
        if run is None or not run.attached:
            raise AttributeError("a loaded model has no data to continue on; fit it again, or continue before saving")
        arguments.count("draws", draws)
        options = self._options
        arguments.check_memory(run.moments.n + draws, self.n_features_in_, options.keep, options.chains)
        self._sample([run.chains.iteration + draws * options.thin])
        return self

    def _sample(self, goals):
        """Sample up to a goal, and set the attributes of the fit."""
        with one_blas_thread(self._run.chains.n, self._run.chains.p):
            found = self._run.until(goals, self.callback, self.callback_every)
        self.draws_, self.moments_, self.stats_ = found.draws, found.moments, found.stats
        self.sample_stats_ = found.sample_stats
        self.sampler_, self.n_iter_, self.converged_ = found.stats["sampler"], found.n_iter, found.converged
        self._point_estimates()
        if self._record.proportional and self.draws_:
            run, strata = self._run, self._strata
            rows, labels = run.rows if isinstance(run, Spread) else run.chains.rows, np.zeros(1) if strata is None else strata
            self._baseline = survival.baseline(rows, run._kept["b"], run.scaling.shift, labels, strata is not None)
        if not (self._run.stopped or self.converged_):
            warn(self._run.complaint(), ConvergenceWarning)

    def _point_estimates(self):
        skip, mean = int(self._options.fit_intercept), self.moments_["mean"]
        if self._record.several:
            self._class_estimates(mean.reshape(self._record.width, -1), skip)
            return
        coef, intercept = mean[skip:], mean[:1] if skip else np.zeros(1)
        self.coef_, self.intercept_ = (coef[None], intercept) if self._record.classes else (coef, float(intercept[0]))

    def _fitted(self):
        if not hasattr(self, "moments_"):
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")

    @property
    def _beside(self):
        """Names in `summary` of what stands beside coefficients: intercepts and cut points."""
        return categories.beside(self._record) if self._record.several else ["intercept"]

    @property
    def _record(self):
        return self._options.record()

    def _need_draws(self, what):
        self._fitted()
        if not self.draws_:
            raise ValueError(f"{what} needs the draws, but keep={self._options.keep!r} stored none; fit with keep='draws'")

    # --- prediction ---

    def _matrix(self, X, **beside):
        """X of a prediction: an array with the columns of the fit; raises where what is beside it has labels of other rows."""
        if callable(X):
            raise TypeError("X is a function; predictions take an array: call them for each of its blocks")
        check_workers(self.workers)
        arguments.check_labels(X, beside)
        names = arguments.names_of(X)
        X = arguments.matrix(X)
        arguments.check_features(X, names, self)
        for lo, x, _ in [(0, X, None)] if issparse(X) else Reader(X).pieces():
            arguments.finite(x, lo)
        return X

    def _offset(self, offset, exposure, n):
        """Offsets of the rows of a prediction, or None; raises where the fit had some and these rows have none."""
        if offset is None and exposure is None and getattr(self, "_shifted", False):
            raise ValueError(
                f"this {type(self).__name__} was fitted with offset= or exposure=, and predictions depend on it; pass that of "
                "these rows, or offset=0.0 for none"
            )
        return arguments.offsets_of_rows(offset, exposure, n, self._record, everywhere=True)

    def decision_draws(self, X: ArrayLike) -> NDArray[np.float64]:
        """Linear predictors of every draw, without an offset.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        numpy.ndarray, shape (chains * draws, n)
            Of C classes, more than two without an order, (chains * draws, n, C - 1).
        """
        self._need_draws("decision_draws")
        X = self._matrix(X)
        out = np.empty((self.draws_["log_tau"].size, X.shape[0], *self._record.axes))
        for part, m in rules_of(self._record).predictors(self.draws_, X):
            out[:, part] = np.swapaxes(m, 0, 1)
        return out

    def sample_outcomes(
        self, X: ArrayLike, *, offset: ArrayLike | None = None, exposure: ArrayLike | None = None, rng: RNG = None
    ) -> NDArray[Any]:
        """Draws of new outcomes: the posterior predictive distribution of every row.

        They vary by the uncertainty of the parameters and by that of an outcome given them: of numbers by sigma, of counts as
        Poisson variables. Lifetimes are whole ones, also of rows that were censored. Functions of several outcomes (sums, the
        largest, exceedances) have the distribution of the rows here, since those are drawn under the same parameters.

        Parameters
        ----------
        X : array_like, shape (n, p)
        offset : float or array_like, shape (n,), optional
            Added to the linear predictors; needed if `fit` got an offset or exposure, 0.0 for none.
        exposure : float or array_like, shape (n,), optional
            Multiplies the means of counts and positive numbers: its logarithm is added to the offset.
        rng : None, int, SeedSequence or Generator
            Seed of the outcomes; that of the estimator has no part in them.

        Returns
        -------
        numpy.ndarray, shape (chains * draws, n)
            Numbers in the unit of y, counts as floats, or classes.

        Raises
        ------
        ValueError
            Without draws, for a wrong number of columns or offsets, and for counts of a mean above 1e15.
        """
        self._need_draws("sample_outcomes")
        X = self._matrix(X, offset=offset, exposure=exposure)
        offset, key = self._offset(offset, exposure, X.shape[0]), Key(normalise_rng(rng))
        return self._as_outcomes(rules_of(self._record).outcomes(self.draws_, X, self._record, key, offset))

    def _as_outcomes(self, y):
        """Outcomes as `fit` took them."""
        return y

    # --- reports ---

    @renamed(prob="level")
    @names_ours
    def summary(self, level: float = 0.95) -> Table:
        """Posterior mean, standard deviation, interval and convergence of every coefficient.

        Parameters
        ----------
        level : float
            Probability of the central interval, between 0 and 1.

        Returns
        -------
        Table
            A dict of arrays by name, which prints as a table, with the level in the headings, and has `to_frame`: "name", "mean",
            "sd", "lower", "upper", "positive", "rhat", "ess_bulk", "ess_tail", "mcse", "level"; for response="cox" also
            "hazard_ratio", e to the median of the coefficient, "ratio_lower" and "ratio_upper".

        Raises
        ------
        ValueError
            Without draws, or for a level out of range.
        """
        self._need_draws("summary")
        level = checked_level(level)
        x, names = self._side_by_side()
        table = predictions.summary(x, names, level)
        return survival.with_ratios(table, self.draws_, level) if self._record.proportional else table

    def _side_by_side(self):
        """All draws side by side (chains, draws, k), and their names."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        options = self._options
        return rules_of(self._record).side_by_side(self.draws_, names, options)

    def _log_likelihoods(self, X, y, offset=None, **more):
        """Log-likelihoods of the rows under every draw, some rows at a time, times the weights of the rows."""
        self._need_draws("leave-one-out prediction")
        X = self._matrix(X, y=y, offset=offset, **more)
        n = X.shape[0]
        if not n:
            raise ValueError(f"X has shape {X.shape}; at least one row is needed")
        exposure, weights = more.pop("exposure", None), arguments.weights_of_rows(more.pop("sample_weight", None), n)
        y, shift = self._likelihood_outcomes(y, n, **more)
        offset, lo = self._offset(offset, exposure, n), 0
        likelihoods = rules_of(self._record).log_likelihoods
        for found in likelihoods(self.draws_, X, y, self.workers, record=self._record, offset=offset):
            rows = slice(lo, lo := lo + len(found))
            found = found if shift is None else found + shift[rows, None]
            if weights is not None:  # rows of weight 0 count 0, also where they are impossible
                w = weights[rows, None]
                found = np.multiply(w, found, where=w > 0.0, out=np.zeros_like(found))
            yield found

    def waic(
        self, X: ArrayLike, y: ArrayLike | None = None, offset: ArrayLike | None = None, **rows: Unpack[_Rows]
    ) -> dict[str, Any]:
        """Widely applicable information criterion of the rows.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        offset : array_like, shape (n,), optional
            What `fit` got, if it got one.
        exposure, sample_weight, event, censored : optional
            As in `fit`. Weights multiply the log-likelihoods of the rows. A censored row counts by the logarithm of the
            probability of what is known of it.

        Returns
        -------
        dict
            "elpd": expected log predictive density, "se", "p": effective number of parameters, "pointwise".

        Raises
        ------
        ValueError
            Without draws or rows, with one draw, or for outcomes that `fit` has not seen.
        """
        self._need_draws("waic")
        if self.draws_["log_tau"].size < 2:
            raise ValueError("waic needs the variance over draws, but there is one draw only; use continue_(draws)")
        return predictions.waic(self._log_likelihoods(X, y, offset, **rows))

    def loo(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        method: Literal["psis", "mixture"] = "psis",
        **rows: Unpack[_Rows],
    ) -> dict[str, Any]:
        """Leave-one-out predictive density.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        offset, exposure, sample_weight, event, censored : optional
            As in `waic`.
        method : {"psis", "mixture"}
            By Pareto-smoothed importance sampling from the draws of the fit; or from those of another fit, to the mixture of the
            posteriors that leave out a row each, where weights are bounded: for more columns than rows, where single rows have
            much influence. It takes as long as a fit by the sampler "predictor", X and y have to be those of the fit, and the
            response one that takes this sampler.

        Returns
        -------
        dict
            As `waic`, and for "psis" with "pareto_k" per row and "bad", the number of rows with a shape above 0.7, whose values
            are unreliable; for "mixture" with "error", the Monte Carlo standard error of "elpd".

        Raises
        ------
        ValueError
            As `waic`, and for a response or rows that "mixture" does not take.

        References
        ----------
        A. Vehtari, A. Gelman, J. Gabry, "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC",
        Statistics and Computing 27 (2017).
        L. A. Silva, G. Zanella, "Robust leave-one-out cross-validation for high-dimensional Bayesian models", JASA 119 (2024).
        """
        if choice("method", method, ("psis", "mixture")) == "mixture":
            return loo_by_mixture(self, X, y, offset, rows)
        return predictions.loo(self._log_likelihoods(X, y, offset, **rows))

    # --- files ---

    def save(self, path: Any) -> None:
        """Write the fitted model to one file of NumPy's .npz format.

        Parameters
        ----------
        path : str or path-like
            File name; no suffix is added. An existing file is replaced once the new one is complete.

        Raises
        ------
        OSError
            If the file cannot be written, for example because the disk is full; an existing file is then left unchanged.
        """
        self._fitted()
        params = {f.name: getattr(self._options, f.name) for f in dataclasses.fields(self._options)}
        params = {n: v for n, v in params.items() if n not in ("rng", "callback", "progress", "workers", "device")}
        arrays: dict[str, Any] = {f"draws_{n}": v for n, v in self.draws_.items()} | {
            f"moments_{n}": v for n, v in self.moments_.items()
        }
        arrays |= {f"stats_{n}": v for n, v in self.sample_stats_.items()}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        facts = dict(n_features=self.n_features_in_, n_iter=self.n_iter_, converged=self.converged_, stats=self.stats_)
        facts["shifted"] = self._shifted
        params["response"] = self._record.word
        plain = lambda v: v.tolist() if isinstance(v, (np.generic, np.ndarray)) else np.dtype(v).name  # noqa: E731
        if hasattr(self, "classes_"):
            arrays["classes"] = np.array(self.classes_.tolist())
        if hasattr(self, "_baseline"):
            arrays |= {f"baseline_{n}": v for n, v in self._baseline._asdict().items()}
            arrays["baseline_labels"] = np.array(self._baseline.labels.tolist())
        arrays["header"] = json.dumps([params, facts], default=plain)
        write_archive(path, arrays)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that `save` wrote. All methods but `continue_` work.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        object
            Of the class whose `load` was called.

        Raises
        ------
        ValueError
            For a file that holds no model, or one of another class.
        OSError
            For a file that cannot be read.
        """
        file = read_archive(path, "header", f"{path} is no model, or damaged; pass a file that {cls.__name__}.save wrote")
        params, facts = json.loads(str(file["header"]))
        model = cls()
        if params["prior"] != model.prior and "prior" not in model.get_params():
            raise ValueError(f"{path} has a model with prior={params['prior']!r}; use BayesProbit.load")
        response = word_of(params.get("response", PROBIT.word))  # files of the first versions have no other
        if response not in cls._responses:
            raise ValueError(f"{path} has a model with response={response!r}, not one of {cls.__name__}")
        vars(model).update({n: v for n, v in params.items() if n in model.get_params()})
        model._options = Options(**{**model.get_params(), "prior": model.prior, "response": response})
        if "classes" in file:
            model.classes_ = file["classes"]
            record = record_of(response).of_classes(_labels(model.classes_))
            model._options.response = record if record.several else response
        model.draws_ = {n[6:]: v for n, v in file.items() if n.startswith("draws_")}
        model.sample_stats_ = {n[6:]: v for n, v in file.items() if n.startswith("stats_")}
        model.moments_ = {n[8:]: v for n, v in file.items() if n.startswith("moments_")}
        if "baseline_logs" in file:
            model._baseline = survival.Baseline(*(file[f"baseline_{n}"] for n in survival.Baseline._fields))
        if "feature_names" in file:
            model.feature_names_in_ = file["feature_names"].astype(object)
        model.n_features_in_, model.n_iter_, model.converged_ = facts["n_features"], facts["n_iter"], facts["converged"]
        model.stats_, model.sampler_ = facts["stats"], facts["stats"]["sampler"]
        model._shifted = facts.get("shifted", False)  # files of the first versions do not say
        model._point_estimates()
        return model

    def to_inference_data(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        rng: RNG = None,
        **rows: Unpack[_Rows],
    ) -> Any:
        """The draws as an ArviZ object; needs the package arviz.

        Parameters
        ----------
        X : array_like, shape (n, p), optional
            The rows of the fit, for the groups "log_likelihood", "posterior_predictive" and "observed_data".
        y : array_like, shape (n,), optional
            Their outcomes; None with `censored`.
        offset : array_like, shape (n,), optional
            What `fit` got, if it got one.
        rng : None, int, SeedSequence or Generator
            Seed of the outcomes in "posterior_predictive", as for `sample_outcomes`.
        exposure, sample_weight, event, censored : optional
            As in `waic`, for "log_likelihood". "observed_data" then has "event" or "upper", too; drawn outcomes are whole ones.

        Returns
        -------
        arviz.InferenceData
            With the groups "posterior", whose dimension "feature" has the names of the columns, and "sample_stats"; with X and y
            also log-likelihoods, drawn and given outcomes named "y". "log_likelihood" of `sample_stats_` is
            "total_log_likelihood" there.

        Raises
        ------
        ImportError
            Without the package.
        ValueError
            Without draws, for X without y, and as `loo`.
        """
        self._need_draws("to_inference_data")
        if (X is None) != (y is None and rows.get("censored") is None):
            raise ValueError("X and y come together: pass both, or neither")
        try:
            import arviz
        except ImportError as error:
            raise ImportError("to_inference_data needs the package arviz: pip install arviz") from error
        stats = {{"log_likelihood": "total_log_likelihood"}.get(n, n): v for n, v in self.sample_stats_.items()}
        # renamed, because "log_likelihood" is ArviZ's name for a group with the values of every row
        groups: dict[str, Any] = {"posterior": dict(self.draws_), "sample_stats": stats}
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        coords: dict[str, list[Any]]
        of = ["class"] if self._record.axes else []
        coords, dims = {"feature": [str(n) for n in names]}, {"beta": [*of, "feature"], "log_lambda": [*of, "feature"]}
        if of:
            coords["class"], dims["intercept"] = list(self._record.labels[1:]), of
        if X is not None:
            shape = self.draws_["log_tau"].shape
            parts = [part.T.reshape(*shape, -1) for part in self._log_likelihoods(X, y, offset, **rows)]
            drawn: Any = self.sample_outcomes(X, offset=offset, exposure=rows.get("exposure"), rng=rng)
            seen = {"y": y, "event": rows.get("event")}
            if (ends := rows.get("censored")) is not None:
                seen = dict(zip(("y", "upper"), ends, strict=True))
            seen = {name: arguments.column(v) for name, v in seen.items() if v is not None}
            groups |= {
                "log_likelihood": {"y": np.concatenate(parts, axis=2)},
                "posterior_predictive": {"y": drawn.reshape(*shape, -1)},
                "observed_data": seen,
            }
            dims |= {name: ["row"] for name in seen}
            coords["row"] = np.arange(drawn.shape[1]).tolist()
        if "posterior" in inspect.signature(arviz.from_dict).parameters:  # before ArviZ 1.0
            return arviz.from_dict(**groups, coords=coords, dims=dims)
        return arviz.from_dict(groups, coords=coords, dims=dims)


class _Classifier(_Regression):
    """Base class for classes: their probabilities."""

    _estimator_type = "classifier"

    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]
    cutpoints_: NDArray[np.float64]

    def _outcomes(self, y, n, options, sample_weight, offset, order=None, **others):
        record = record_of(options.response)
        weights, offset = arguments.weights_of_rows(sample_weight, n), arguments.numbers("offset", offset, n)
        if record.more is not None:
            classes, codes = arguments.several_classes(y, n, record, order)
            record = record.of_classes(_labels(classes))
            if record.several:
                facts = facts_of_rows(weights, offset, codes)
                return Outcomes(np.ones(n, np.int8), None, facts, classes, arguments.column(y), record=record)
        classes, signs = arguments.classes_and_signs(y, n)
        if not record.weighted:
            if weights is not None or offset is not None:
                others = " or ".join(repr(r.word) for r in RESPONSES.values() if r.signed and r.weighted)
                raise ValueError(f"sample_weight and offset are not for response={record.word!r}; use response={others}")
            return Outcomes(signs, classes[1], classes=classes)
        facts = facts_of_rows(weights, None if offset is None else offset * signs, np.ones(n))
        return Outcomes(signs, classes[1], facts, classes)

    def _likelihood_outcomes(self, y, n):
        y = arguments.column(y)
        if y.shape != (n,) or not np.isin(y, self.classes_).all():
            raise ValueError(f"y must hold one of {self.classes_.tolist()} for each of the {n} rows of X")
        if self._record.several:
            return (y[:, None] == self.classes_).argmax(axis=1).astype(np.float64), None
        return np.where(y == self.classes_[1], 1.0, -1.0), None

    def _as_outcomes(self, y):
        return self.classes_[y.astype(int) if self._record.several else (y > 0.0).astype(int)]

    def _class_estimates(self, mean, skip):
        """Point estimates of classes that are no signs, of means by predictors."""
        coef, intercept = mean[:, skip:], mean[:, 0] if skip else np.zeros(len(mean))
        if self._record.axes and self._options.contrast == "symmetric":
            coef, intercept = (np.concatenate([0.0 * v[:1], v]) for v in (coef, intercept))
            coef, intercept = coef - coef.mean(axis=0), intercept - intercept.mean()
        self.coef_, self.intercept_ = coef, intercept
        if "cutpoints" in self.draws_:
            self.cutpoints_ = self.draws_["cutpoints"].mean(axis=(0, 1))

    # --- prediction ---

    def _normal_scores(self, what, X):
        """Normal scores of P(y = 1) where the covariance of the coefficients was kept instead of draws."""
        averaged = self._record.averaged
        if "covariance" not in self.moments_ or averaged is None:
            self._need_draws(what)
        warn("no draws were kept: probabilities come from a normal approximation of the posterior")
        if not ((self.moments_["variance"] >= np.finfo(float).tiny) & np.isfinite(self.moments_["variance"])).all():
            raise ValueError("variances are 0, as of a single draw, or beyond the range of float64; fit with keep='draws'")
        return predictions.normal_scores(self.moments_, self._matrix(X), self._options.fit_intercept, averaged)

    @overload
    def predict_proba(
        self, X: ArrayLike, interval: None = None, draws: int | None = None, *, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]: ...

    @overload
    def predict_proba(
        self, X: ArrayLike, interval: float, draws: int | None = None, *, offset: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

    def predict_proba(
        self, X: ArrayLike, interval: float | None = None, draws: int | None = None, *, offset: ArrayLike | None = None
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean of the probabilities of the classes.

        Parameters
        ----------
        X : array_like, shape (n, p)
        interval : float, optional
            Also return the central interval with this probability: of two classes for P(y = 1), shape (n,), of others for the
            probability of each, shape (n, C).
        draws : int, optional
            Use this many of the draws, equally spaced; needs stored draws.
        offset : float or array_like, shape (n,), optional
            Added to the linear predictors; needed if `fit` got one, 0.0 for none.

        Returns
        -------
        numpy.ndarray, shape (n, C), or tuple
            A column for each of the C classes, in the order of `classes_`. With `interval`: (probabilities, lower, upper).

        Raises
        ------
        ValueError
            For a wrong number of columns, or keep="moments". For keep="cov" a normal approximation of a probit posterior is used,
            with a warning.
        """
        self._fitted()
        if interval is not None:
            interval = checked_level(interval, "interval")
        if not self.draws_:
            if interval is not None or draws is not None or offset is not None or self._shifted:
                self._need_draws("an interval" if interval is not None else "draws" if draws is not None else "an offset")
            scores = self._normal_scores("predict_proba", X)
            return predictions.of_both(self._record.probability, scores)
        X = self._matrix(X, offset=offset)
        if draws is not None:
            arguments.count("draws", draws)
        offset = self._offset(offset, None, X.shape[0])
        rules = rules_of(self._record)
        p, ends = rules.probabilities(self.draws_, X, interval, draws, self.workers, record=self._record, offset=offset)
        return p if interval is None else (p, *ends)

    def predict_log_proba(self, X: ArrayLike, *, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`, also where a probability is too small for a float.

        Parameters
        ----------
        X : array_like, shape (n, p)
        offset : array_like, shape (n,), optional
            As in `predict_proba`.

        Returns
        -------
        numpy.ndarray, shape (n, C)

        Raises
        ------
        ValueError
            As `predict_proba`.
        """
        self._fitted()
        if not self.draws_:
            if offset is not None or self._shifted:
                self._need_draws("an offset")
            scores = self._normal_scores("predict_log_proba", X)
            return predictions.of_both(self._record.log_probability, scores)
        X = self._matrix(X, offset=offset)
        offset = self._offset(offset, None, X.shape[0])
        rules = rules_of(self._record)
        return rules.log_probabilities(self.draws_, X, self.workers, record=self._record, offset=offset)

    def predict(self, X: ArrayLike, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class of every row.

        Parameters
        ----------
        X : array_like, shape (n, p)
        offset : array_like, shape (n,), optional
            As in `predict_proba`.

        Returns
        -------
        numpy.ndarray, shape (n,)
        """
        self._fitted()
        p = self.predict_proba(X, offset=offset)
        return self.classes_[p.argmax(axis=1) if self._record.several else (p[:, 1] > 0.5).astype(int)]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> float:
        """Share of rows whose class is predicted correctly.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        sample_weight : array_like, shape (n,), optional
        offset : array_like, shape (n,), optional
            As in `predict_proba`.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            For a wrong number of columns, outcomes or weights.
        """
        arguments.check_labels(X, {"y": y, "sample_weight": sample_weight})
        y, found = arguments.column(y), self.predict(X, offset=offset)
        y = arguments.outcomes_of_rows(y, found.size)
        return float(np.average(found == y, weights=None if sample_weight is None else arguments.column(sample_weight)))


@parametrised
class HorseshoeClassifier(_Classifier):
    """Classification with the horseshoe prior: of two classes, of more, and of ordered ones.

    Of two classes ``P(y = 1 | x) = F(m)``, ``m = offset + a + x'b``, where F is the logistic or the normal distribution
    function. In contrast to `HorseshoeProbit`, columns are standardised and large coefficients bounded by a slab unless told
    otherwise, so that separable classes need no further settings.

    Parameters
    ----------
    response : {"logit", "ordinal", "probit"}
        Distribution of the classes:

        =======  ============================================================================================================
        logit    F logistic. Of C > 2 classes each but the first has an a and a b of its own, and the log odds m against the
                 first (softmax).
        ordinal  Ordered classes, ``P(class <= k) = F(c_k - offset - x'b)`` with F logistic and cut points c_k (cumulative
                 logit, proportional odds): a positive coefficient is for higher classes. The order is that of the categories
                 of an ordered categorical of pandas (an Enum of polars), or of numbers. Texts without an order are refused.
        probit   F normal, two classes.
        =======  ============================================================================================================
    prior : {"horseshoe", "horseshoe+"}
        lambda_j below is half-Cauchy, or the product of two half-Cauchy variables: more mass near 0 and far out.
    tau_scale : float
        Scale of the half-Cauchy prior of tau, where ``b_j ~ N(0, lambda_j^2 tau^2)``.
    tau : float, optional
        Fixes tau.
    slab : float, optional
        Every b_j also gets a normal factor with mean 0 and this standard deviation; None for none.
    slab_df : float, optional
        As for `BayesProbit`: the slab gets a prior, or with inf none, in the form of Piironen and Vehtari.
    shared : bool
        Of more than two classes without an order: whether the coefficients of a column share a local scale, so that it matters
        for all classes or for none. By default each has its own. Slower, and not with `slab_df`.
    contrast : {"first", "symmetric"}
        Of such classes: whether `coef_` and `intercept_` are against the first class, shape (C - 1, p), or of all classes, shape
        (C, p), with a mean of 0, as in scikit-learn. The prior is that of the former.
    fit_intercept : bool
        Add the intercept a, which is not shrunk. The cut points of "ordinal" take its place in any case.
    intercept_scale : float
        Prior standard deviation of the intercept, of standardised columns if they are; may be inf.
    unpenalized : list of int or str, optional
        As for `BayesProbit`: columns whose coefficients are not shrunk.
    groups : list of lists of int or str, optional
        As for `BayesProbit`: columns that share a local scale.
    sampler : {"auto", "collapsed-gibbs", "predictor", "split-hmc", "surrogate", "gibbs", "px-gibbs"}
        As for `BayesProbit`, "collapsed-gibbs" for "logit" with Polya-Gamma variables; the last two need response="probit". For
        "ordinal" "auto" takes "predictor" for more columns than rows. For more than two classes without an order there are
        "split-hmc" and "surrogate", and "auto" refuses more columns than rows.
    chains, warmup, draws, thin, keep, inner_sweeps
        As for `BayesProbit`.
    standardize : bool
        Sample with columns scaled, and with an intercept also centred; priors are of the coefficients of these columns, results
        on the original scale.
    callback_every, callback, progress
        As for `BayesProbit`.
    dtype : {"float64", "float32"}, optional
        Type of X in memory; by default float64, and float32 from 10^6 entries on.
    nan_policy, device, workers, rng
        As for `BayesProbit`.

    Attributes
    ----------
    coef_, intercept_ : numpy.ndarray, shapes (1, p) and (1,)
        As for `BayesProbit`; of C > 2 classes without an order (C - 1, p) and (C - 1,), or as `contrast` says. The intercept of
        "ordinal" is 0.
    classes_ : numpy.ndarray, shape (C,)
    cutpoints_ : numpy.ndarray, shape (C - 1,)
        Posterior means of the cut points of "ordinal", whose draws are ``draws_["cutpoints"]``.
    draws_ : dict
        As for `BayesProbit`. Of C > 2 classes without an order "beta" and "log_lambda" have the shape (chains, draws, C - 1, p),
        "intercept" (chains, draws, C - 1). "cutpoints", shape (chains, draws, C - 1), for "ordinal".
    moments_ : dict
        As for `BayesProbit`, of such classes one after the other.
    n_features_in_, n_iter_, feature_names_in_, converged_, sample_stats_, stats_, sampler_
        As for `BayesProbit`.

    Notes
    -----
    The prior of the cut points is the one by which the probabilities of the classes at the mean of the columns have a Dirichlet
    distribution, uniform on the simplex (Betancourt). A category that no row has is left out, with a warning. The prior of more
    than two classes without an order is that of the contrasts against the first one, not the same after another class has come
    first: where much is shrunk, let the first one be the class with which the others are to be compared.

    A row of weight w adds w times its log-likelihood. With more columns than rows an iteration costs n^2 p/2 multiplications,
    with a slab some eight times as many; its draws depend neither on the number of threads nor on the executor.

    References
    ----------
    C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals", Biometrika 97 (2010).
    A. Bhadra, J. Datta, N. G. Polson, B. Willard, "The horseshoe+ estimator of ultra-sparse signals", Bayesian Analysis 12
    (2017).
    A. Nishimura, M. A. Suchard, "Shrinkage with shrunken shoulders", Bayesian Analysis 18 (2023), for the slab.
    J. Piironen, A. Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors", Electronic
    Journal of Statistics 11 (2017), eq. 2.8 and 2.10, for `slab_df`.
    N. G. Polson, J. G. Scott, J. Windle, "Bayesian inference for logistic models using Polya-Gamma latent variables", JASA 108
    (2013), and the references of `HorseshoeRegression`, for "collapsed-gibbs".
    M. Betancourt, "Ordinal regression", 2019, https://betanalpha.github.io/assets/case_studies/ordinal_regression.html, for the
    prior of cut points.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((500, 8))
    >>> y = 2 * X[:, 0] - 2 * X[:, 1] + rng.logistic(size=500) > 0
    >>> model = ns.bayes.HorseshoeClassifier(rng=1).fit(X, y)
    >>> model.coef_[0].round().astype(int).tolist()
    [2, -2, 0, 0, 0, 0, 0, 0]
    >>> model.predict_proba([[2.0, 0, 0, 0, 0, 0, 0, 0]]).round(1).tolist()
    [[0.0, 1.0]]

    Ordered classes:

    >>> grade = np.digitize(2 * X[:, 0] + rng.logistic(size=500), [-1.0, 1.0])
    >>> model = ns.bayes.HorseshoeClassifier(response="ordinal", rng=1).fit(X, grade)
    >>> model.coef_[0, 0].round(), abs(model.cutpoints_.round())
    (np.float64(2.0), array([1., 1.]))
    """

    _responses = tuple(word for word, record in RESPONSES.items() if record.classes)

    response: Classification = responses.LOGIT.word
    prior: Horseshoe = "horseshoe"
    slab: float | None = 2.5
    sampler: Sampler = "auto"
    standardize: bool = True
    quantize: bool = fixed(False)
    dtype: Single | DTypeLike | None = None
    fixed: Any = arguments.fixed(None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = record_of(self.response).more is not None
        return tags

    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Sample the posterior.

        Parameters
        ----------
        X : array_like, shape (n, p), or callable
            As for `BayesProbit.fit`.
        y : array_like, shape (n,)
            The classes: two different values, of which the larger one is the event, or for "logit" and "ordinal" up to 100. None
            with a callable X.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows' log-likelihoods, as if a row had come that many times; not for response="probit". Rows of weight
            0 are left out.
        offset : array_like, shape (n,), optional
            Added to the linear predictors, of all classes but the first; not for response="probit".

        Returns
        -------
        HorseshoeClassifier
            The estimator itself.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As `BayesProbit.fit`; also for weights that are negative or all 0, and for a wrong number of weights or offsets; for
            texts without an order with "ordinal", and for more columns than rows with three classes or more that have none.
        """
        return self._fit(X, y, sample_weight, offset)


@parametrised
class HorseshoeRegression(_Regression):
    """Regression of numbers, counts or lifetimes with the horseshoe prior, by a linear predictor ``m = offset + a + x'b``.

    Parameters
    ----------
    response : str, one of these words
        Distribution of an outcome given m, its linear predictor:

        =================  ==================================================================================================
        gaussian           normal with mean m and unknown standard deviation sigma
        student_t          m + sigma times a variable of Student's t distribution with df degrees of freedom, at least 2
        poisson            Poisson with mean exp(m)
        negative_binomial  with mean exp(m) and variance ``mean + mean^2 / size``
        gamma              with mean exp(m) and variance ``mean^2 / shape``
        beta               a share with mean 1/(1 + exp(-m)) and variance ``mean (1 - mean) / (1 + precision)``
        weibull            a lifetime whose logarithm is m + sigma times that of a standard exponential variable
        exponential        the same with sigma = 1, of the mean exp(m)
        lognormal          a lifetime whose logarithm is normal, with mean m and standard deviation sigma
        loglogistic        a lifetime whose logarithm is m + sigma times a logistic variable
        cox                a lifetime of the hazard exp(m) times a baseline that is left open; no intercept
        =================  ==================================================================================================

        "zero_truncated_poisson" and "zero_truncated_negative_binomial" are counts given that they are not 0; exp(m) is then the
        mean with the zeros. Which one fits data: :doc:`/outcomes`.
    fixed : dict, optional
        Values of parameters that the distribution has beside m, by the names in `dispersion_`, which are then not drawn:
        ``{"df": 4.0}``, ``{"size": 2.0}``, ``{"sigma": 1.0}``. Not for "gaussian".
    prior : {"horseshoe", "horseshoe+"}
        lambda_j below is half-Cauchy, or the product of two half-Cauchy variables: more mass near 0 and far out.
    tau_scale : float
        Scale of the half-Cauchy prior of tau, where ``b_j ~ N(0, lambda_j^2 tau^2)``; for "gaussian"
        this is the prior of ``b_j / sigma``, so that results do not depend on the unit of y. For "student_t" and lifetimes other
        than exponential ones it is that of b_j by the spread of y, or of its logarithm: 1.5 times the median distance from the
        median, and the root mean square around the mean.
    tau : float, optional
        Fixes tau.
    slab : float, optional
        Every b_j (b_j / sigma) also gets a normal factor with mean 0 and this standard deviation; None for none.
    slab_df : float, optional
        As for `BayesProbit`: the slab (of b_j / sigma) gets a prior, or with inf none, in the form of Piironen and Vehtari.
    fit_intercept : bool
        Add the intercept a, which is not shrunk; "cox" has none.
    intercept_scale : float
        Prior standard deviation of the intercept, of standardised columns if they are; by default infinite. For "gaussian" it is
        in units of sigma, and the prior's mean is the mean of y.
    unpenalized : list of int or str, optional
        Columns, by number or by name of a labelled X, whose coefficients are not shrunk, such as a treatment or confounders. They
        get the intercept's prior, normal with mean 0 and standard deviation `intercept_scale` (for "gaussian" times sigma) for
        a column of standard deviation 1. By default that is flat for "gaussian", as in least squares, and such columns must not
        depend on each other. For "poisson", where a flat prior may make the posterior improper, it is 10 in place of infinite.
    groups : list of lists of int or str, optional
        As for `BayesProbit`: columns that share a local scale.
    sampler : {"auto", "gibbs", "collapsed-gibbs", "predictor", "split-hmc", "surrogate"}
        How the posterior is sampled. For "gaussian":

        ===============  ==================================================================================================
        auto             "collapsed-gibbs" for more columns than rows, with a slab from three times as many on; else "gibbs"
        gibbs            sigma with the coefficients integrated out, then these, then tau and the local scales
        collapsed-gibbs  the same, and tau once more with coefficients and sigma integrated out; n x n algebra
        ===============  ==================================================================================================

        For the others "split-hmc" and "surrogate", as for `BayesProbit`, and "predictor": the linear predictors first, then the
        coefficients given these, by n x n algebra; "auto" takes it for more columns than rows.
    chains, warmup, draws, thin, keep, inner_sweeps
        As for `BayesProbit`.
    standardize : bool
        Sample with columns scaled, and with an intercept also centred; priors are of the coefficients of these columns, results
        on the original scale.
    callback_every, callback, progress
        As for `BayesProbit`.
    dtype : {"float64", "float32"}, optional
        Type of X in memory; by default float64, and float32 from 10^6 entries on.
    nan_policy, device, workers, rng
        As for `BayesProbit`; the sums of "gaussian" are made on the CPU, once.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (p,)
        Posterior means.
    intercept_ : float
    draws_ : dict
        As for `BayesProbit`, and, of shape (chains, draws), the transformed parameters beside the coefficients, which
        `dispersion_` has as they are: "log_sigma"; "log_df_minus_2" for "student_t"; "log_size" for "negative_binomial";
        "log_shape" for "gamma".
    n_features_in_, n_iter_, feature_names_in_, converged_, sample_stats_, moments_, stats_, sampler_
        As for `BayesProbit`.

    Notes
    -----
    The prior density of sigma is proportional to 1/sigma for "gaussian"; for "student_t" and lifetimes it is half-normal with the
    standard deviation 1 in units of the spread above. ``1 / sqrt(size)`` of "negative_binomial" and the coefficient of variation
    ``1 / sqrt(shape)`` of "gamma" are half-normal with the standard deviation 1. The density of df is proportional to
    ``df * exp(-df / 10)`` from 2 on (Juarez and Steel). A row of weight w adds w times its log-likelihood. For "gaussian" an
    iteration costs p^3/3 multiplications and none that depend on the number of rows; of "collapsed-gibbs" n^2 p/2, with a slab
    some eight times as many. Its draws depend neither on the number of threads nor on the executor.

    With more columns than rows the posterior of "gaussian" may have two modes: few large coefficients, and a small sigma with
    many coefficients that nearly interpolate y. ``tau_scale=q / ((p - q) * sqrt(n))``, where about q coefficients are expected
    to matter (Piironen and Vehtari, eq. 3.12), weakens the second one.

    References
    ----------
    C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals", Biometrika 97 (2010).
    A. Bhadra, J. Datta, N. G. Polson, B. Willard, "The horseshoe+ estimator of ultra-sparse signals", Bayesian Analysis 12
    (2017).
    J. Piironen, A. Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors", Electronic
    Journal of Statistics 11 (2017), eq. 2.8 and 2.10, for `slab_df`.
    A. Bhattacharya, A. Chakraborty, B. K. Mallick, "Fast sampling with Gaussian scale mixture priors in high-dimensional
    regression", Biometrika 103 (2016); J. Johndrow, P. Orenstein, A. Bhattacharya, "Scalable approximate MCMC algorithms for the
    horseshoe prior", Journal of Machine Learning Research 21(73) (2020), the exact algorithm, for "collapsed-gibbs".
    M. A. Juarez, M. F. J. Steel, "Model-based clustering of non-Gaussian panel data based on skew-t distributions", Journal of
    Business and Economic Statistics 28 (2010), for the prior of df.
    D. R. Cox, "Regression models and life-tables", Journal of the Royal Statistical Society B 34 (1972).
    B. Efron, "The efficiency of Cox's likelihood function for censored data", JASA 72 (1977), for ties.
    S. Ferrari, F. Cribari-Neto, "Beta regression for modelling rates and proportions", Journal of Applied Statistics 31 (2004).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((200, 6))
    >>> model = ns.bayes.HorseshoeRegression(rng=1).fit(
    ...     X, 10.0 + 3.0 * X[:, 0] + rng.standard_normal(200)
    ... )
    >>> model.coef_.round().astype(int).tolist(), round(model.intercept_)
    ([3, 0, 0, 0, 0, 0], 10)
    >>> round(float(np.exp(model.draws_["log_sigma"]).mean()), 1)
    1.1

    Where the mean outcome of a row is, and where a new outcome:

    >>> [round(float(v[0]), 1) for v in model.predict([[1.0, 0, 0, 0, 0, 0]], interval=0.9)]
    [13.0, 12.9, 13.2]
    >>> [
    ...     round(float(v[0]), 1)
    ...     for v in model.predict([[1.0, 0, 0, 0, 0, 0]], interval=0.9, kind="outcome")
    ... ]
    [13.0, 11.3, 14.8]

    Counts, of exposures that differ:

    >>> exposure = rng.uniform(1.0, 5.0, 200)
    >>> counts = rng.poisson(exposure * np.exp(1.0 + X[:, 1]))
    >>> model = ns.bayes.HorseshoeRegression(response="poisson", rng=1).fit(
    ...     X, counts, offset=np.log(exposure)
    ... )
    >>> model.coef_.round().astype(int).tolist()
    [0, 1, 0, 0, 0, 0]
    """

    _estimator_type = "regressor"
    _responses = tuple(word for word, record in RESPONSES.items() if not record.classes)

    response: Regression = responses.GAUSSIAN.word
    prior: Horseshoe = "horseshoe"
    intercept_scale: float = math.inf
    sampler: RegressionSampler = "auto"
    standardize: bool = True
    quantize: bool = fixed(False)
    shared: bool = fixed(False)
    contrast: Any = fixed("first")
    dtype: Single | DTypeLike | None = None

    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        event: ArrayLike | None = None,
        censored: tuple[ArrayLike, ArrayLike] | None = None,
        strata: ArrayLike | None = None,
    ) -> Self:
        """Sample the posterior.

        Parameters
        ----------
        X : array_like, shape (n, p), or callable
            As for `BayesProbit.fit`.
        y : array_like, shape (n,)
            Finite numbers; 0, 1, 2 and so on for counts, above 0 for times and "gamma", between 0 and 1 for "beta". None with
            a callable X or `censored`.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows' log-likelihoods, as if a row had come that many times. Rows of weight 0 are left out.
        offset : array_like, shape (n,), optional
            Added to the linear predictors. Predictions then need one, too.
        exposure : array_like, shape (n,), optional
            Multiplies the means of counts and of "gamma", as the time for which a row was counted: its logarithm is added to the
            offset.
        event : array_like of bool, shape (n,), optional
            Of lifetimes whether they are over at y: True or 1, else False or 0, and y is the time so far (right censoring).
        censored : (array_like, array_like), optional
            Lower and upper ends of lifetimes, in the place of y: equal ones of a time that is known, inf above where it is not
            over, 0 below where it was over before the upper end; also an interval. "cox" takes no other than right censoring.
        strata : array_like, shape (n,), optional
            Labels of groups of rows that have a baseline hazard each, for "cox": rows are compared within their group.

        Returns
        -------
        HorseshoeRegression
            The estimator itself.

        Raises
        ------
        ValueError
            As `BayesProbit.fit`; for weights that are negative, all 0 or, with "gaussian", of a sum up to 1; for a wrong number
            of weights or offsets; for "counts" that are not; for outcomes that are all equal, or all censored; but for "gaussian"
            for numbers, or logarithms of times and of "gamma", that a linear predictor fits exactly (X in memory, more rows than
            columns); for "student_t" where more than two thirds of the outcomes are equal.
        TypeError, MemoryError
            As `BayesProbit.fit`.
        """
        return self._fit(X, y, sample_weight, offset, exposure, event, censored, strata)

    def _outcomes(self, y, n, options, sample_weight, offset, exposure, event, censored, strata):
        record = record_of(options.response)
        ends = arguments.lifetimes(y, event, censored, n, options)
        ends, labels = arguments.with_strata(ends, strata, n, record)
        weights, offset = arguments.weights_of_rows(sample_weight, n), arguments.offsets_of_rows(offset, exposure, n, record)
        signs, first = np.ones(n, np.int8), np.atleast_2d(ends)[0]
        y = record.inner(ends)
        if not record.scaled:
            return Outcomes(signs, facts=facts_of_rows(weights, offset, y), outcomes=first, strata=labels)
        rest = y if offset is None else y - offset
        known = np.isfinite(typical := _typical(rest))  # others have the ends 0 and inf
        level, size = arguments.level_and_size(typical[known], None if weights is None else weights[known], options)
        facts = facts_of_rows(weights, None, (rest - level) / size)
        return Outcomes(signs, facts=facts, outcomes=first, level=level, size=size)

    def _likelihood_outcomes(self, y, n, event=None, censored=None):
        """Outcomes as the record takes them; what makes log densities of these those of the outcomes, or None."""
        arguments.check_ends_given(y, event, censored, self._record, type(self).__name__)
        y, upper = (y, None) if censored is None else censored
        if event is None and upper is None:
            y = arguments.outcomes_as_numbers(arguments.column(y), n, dataclasses.replace(self._options, fit_intercept=False))
        else:
            y = arguments.lifetimes(y, event, upper, n, self._options, whole=False)
        ends = self._record.inner(y)
        lower, upper = np.broadcast_to(ends, (2, n))
        shift = self._record.log_slope(upper)
        return ends, None if shift is None else np.where(lower == upper, shift, 0.0)

    # --- prediction ---

    @overload
    def predict(
        self,
        X: ArrayLike,
        interval: None = None,
        *,
        kind: Kind = "mean",
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        frame: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        interval: float,
        *,
        kind: Kind = "mean",
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        frame: Literal[False] = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        interval: float | None = None,
        *,
        kind: Kind = "mean",
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        frame: Literal[True],
    ) -> Table: ...

    def predict(
        self,
        X: ArrayLike,
        interval: float | None = None,
        *,
        kind: Kind = "mean",
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        frame: bool = False,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | Table:
        """Posterior mean of the outcome of every row, with intervals of the mean outcome or of a single one.

        For response="cox" it is the risk score: the logarithm of the hazard, relative to that of a row of zeros.

        Parameters
        ----------
        X : array_like, shape (n, p)
        interval : float, optional
            Also return the central interval with this probability; needs stored draws.
        kind : {"mean", "outcome", "median"}
            What the interval is of: the mean of many outcomes at such a row, which narrows with more rows in the fit, or one new
            outcome, which varies around the mean as well. The prediction itself is the same. "median" predicts the median of the
            outcomes at such a row, by its posterior median, with an interval of it, as for lifetimes, whose mean may be infinite.
        offset : float or array_like, shape (n,), optional
            Added to the linear predictors; needed if `fit` got an offset or exposure, 0.0 for none.
        exposure : float or array_like, shape (n,), optional
            As in `fit`, of the rows here.
        frame : bool
            Whether the result is a table with the columns "mean" or "median", "lower" and "upper".

        Returns
        -------
        numpy.ndarray, shape (n,), or tuple, or Table
            With `interval`: (means, lower, upper).

        Raises
        ------
        ValueError
            For a wrong number of columns or offsets, for none where the fit had some, without draws where they are needed, as for
            response="poisson", for an infinite mean, and of "cox" for any kind but "mean".

        Notes
        -----
        The ends for kind="outcome" are quantiles of one outcome for each draw, by inversion of equidistant probabilities in a
        fixed order; of S draws they leave shares in both tails with a standard error below ``sqrt(q (1 - q) / S)``, q the
        share, apart from that of the draws themselves. They do not change from call to call.
        """
        self._fitted()
        choice("kind", kind, get_args(Kind))
        if interval is not None:
            interval = checked_level(interval, "interval")
        ends: Any = None
        record, name = self._record, "median" if kind == "median" else "mean"
        plain = interval is None and record.mean is None and kind != "median"
        if not plain:
            self._need_draws("an interval" if interval is not None else f"the {name} of {record.noun}")
        X = self._matrix(X, offset=offset, exposure=exposure)
        offset = self._offset(offset, exposure, X.shape[0])
        if plain:
            m = X.astype(np.float64) @ self.coef_ + self.intercept_
            found = m if offset is None else m + offset
        elif kind == "median":
            found, ends = predictions.medians(self.draws_, X, record, interval, offset)
        else:
            found, ends = predictions.means(self.draws_, X, record, None if kind == "outcome" else interval, offset)
        if kind == "outcome" and interval is not None:
            ends = predictions.outcome_intervals(self.draws_, X, record, interval, offset)
        if interval is None:
            return Table({name: found}) if frame else found
        return Table({name: found, "lower": ends[0], "upper": ends[1]}, level=interval) if frame else (found, *ends)

    def predict_survival(
        self,
        X: ArrayLike,
        times: ArrayLike,
        interval: float | None = None,
        *,
        offset: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Probability that the lifetime of every row is longer than each of some times.

        Parameters
        ----------
        X : array_like, shape (n, p)
        times : array_like, shape (k,)
            Above 0; for "cox" not beyond the last time of the fit.
        interval : float, optional
            Also return the central interval with this probability.
        offset : float or array_like, shape (n,), optional
            As in `predict`.
        strata : label, or array_like, shape (n,), optional
            The stratum of every row, where the fit had strata.

        Returns
        -------
        numpy.ndarray, shape (n, k), or tuple
            Posterior means. With `interval`: (means, lower, upper).

        Raises
        ------
        ValueError
            For a response that is not of lifetimes, times that are not above 0 or that "cox" knows nothing of, strata that the
            fit has not seen, and as `predict`.

        Notes
        -----
        For "cox" the baseline of `baseline_summary` is drawn with the coefficients, for up to 1000 of the draws.
        """
        self._need_draws("predict_survival")
        if not self._record.censors:
            others = ", ".join(repr(one.word) for one in RESPONSES.values() if one.censors)
            raise ValueError(f"predict_survival is for lifetimes, response={others}, not for {self._record.word!r}")
        if interval is not None:
            interval = checked_level(interval, "interval")
        times = np.atleast_1d(doubles(times, "times"))
        if times.ndim != 1 or not (times > 0.0).all():
            raise ValueError(
                f"times has the shape {times.shape} and the minimum {times.min(initial=np.inf)}; pass numbers above 0"
            )
        X = self._matrix(X, offset=offset, strata=strata)
        offset = self._offset(offset, None, X.shape[0])
        if self._record.proportional:
            stratum = self._baseline.numbers(strata, X.shape[0])
            mean, ends = survival.survival(self.draws_, X, self._baseline, stratum, times, interval, offset)
        elif strata is not None:
            raise arguments.no_strata(self._record)
        else:
            mean, ends = predictions.survival(self.draws_, X, self._record, times, interval, offset)
        return mean if interval is None else (mean, *ends)

    def baseline_summary(self, level: float = 0.95) -> Table:
        """The baseline of a fit with response="cox": cumulative hazard of a row that has the mean of every column.

        Parameters
        ----------
        level : float
            Probability of the central interval, between 0 and 1.

        Returns
        -------
        Table
            "time", the event times; "hazard", the posterior mean; "lower", "upper", "level"; with strata "stratum" in front.

        Raises
        ------
        ValueError
            Without draws, for a level out of range, and for another response.

        Notes
        -----
        Given the coefficients the steps of the hazard are gamma distributed around Breslow's estimate, with Efron's correction
        where event times are tied: the posterior under a gamma process prior of vanishing weight.

        References
        ----------
        J. D. Kalbfleisch, "Non-parametric Bayesian analysis of survival time data", Journal of the Royal Statistical Society B 40
        (1978).
        """
        self._need_draws("baseline_summary")
        if not self._record.proportional:
            raise ValueError(f"response={self._record.word!r} has no baseline hazard; use predict_survival")
        return self._baseline.table(checked_level(level))

    @property
    def dispersion_(self) -> dict[str, NDArray[np.float64]]:
        """Draws of the parameters that the distribution of an outcome has beside its predictor, shape (chains, draws), by name.

        "sigma" for "gaussian", "student_t" and lifetimes, whose logarithm has the scale sigma; "df" for "student_t"; "size" for
        "negative_binomial", "shape" for "gamma", "precision" for "beta". Without those of `fixed`. Empty for other responses, and
        where no draws are kept.
        """
        self._fitted()
        return {one.word: one.value(self.draws_[one.name]) for one in self._record.own if one.name in self.draws_}

    def dispersion_summary(self, level: float = 0.95) -> Table:
        """The table of `dispersion_`, as `summary` has it of the coefficients.

        Parameters
        ----------
        level : float
            Probability of the central interval, between 0 and 1.

        Returns
        -------
        Table
            As `summary`.

        Raises
        ------
        ValueError
            Without draws, for a level out of range, and for a response without such parameters.
        """
        self._need_draws("dispersion_summary")
        found = self.dispersion_
        if not found:
            none = "draws of its parameters beside the coefficients, which are fixed" if self._record.own else None
            raise ValueError(
                f"response={self._record.word!r} has no {none or 'parameters beside the coefficients'}; use summary()"
            )
        return predictions.summary(np.stack(list(found.values()), axis=2), list(found), checked_level(level))

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Coefficient of determination R^2 of the predictions.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        sample_weight : array_like, shape (n,), optional
        offset, exposure : array_like, shape (n,), optional
            As in `predict`.

        Returns
        -------
        float
            1 less the ratio of the squared errors to those of the mean of y; where y is constant, 1 for no error and else 0.

        Raises
        ------
        ValueError
            As `predict`, for a wrong number of outcomes or weights, and for response="cox".
        """
        self._fitted()
        if self._record.proportional:
            raise ValueError(
                f"score compares outcomes with their means, which response={self._record.word!r} does not have; pass predict(X), "
                "the risk scores, to a concordance index"
            )
        arguments.check_labels(X, {"y": y, "sample_weight": sample_weight})
        found = self.predict(X, offset=offset, exposure=exposure)
        y = arguments.outcomes_as_numbers(
            arguments.column(y), found.size, dataclasses.replace(self._options, fit_intercept=False)
        )
        w = arguments.weights_of_rows(sample_weight, found.size)
        w = np.ones(found.size) if w is None else w
        error, whole = w @ (y - found) ** 2, w @ (y - np.average(y, weights=w)) ** 2
        return float(1.0 - error / whole) if whole > 0.0 else float(error == 0.0)


@parametrised
class BayesProbit(_Classifier):
    """Probit regression ``P(y = 1 | x) = Phi(a + x'b)`` with a shrinkage prior on b, sampled by Markov chain Monte Carlo.

    Parameters
    ----------
    prior : {"horseshoe", "ridge", "lasso", "horseshoe+"}
        Prior of every coefficient, ``b_j ~ N(0, lambda_j^2 tau^2)``:

        ===========  ==================================================
        horseshoe    lambda_j half-Cauchy
        ridge        lambda_j = 1
        lasso        lambda_j^2 exponential: b_j is Laplace, scale tau
        horseshoe+   lambda_j product of two half-Cauchy variables
        ===========  ==================================================
    tau_scale : float
        Scale of the half-Cauchy prior of tau.
    tau : float, optional
        Fixes tau.
    slab : float, optional
        Bounds large coefficients, which separable data leave undetermined: every b_j also gets a normal factor with mean 0 and
        this standard deviation.
    slab_df : float, optional
        Makes the slab that of the regularised horseshoe of Piironen and Vehtari: b_j is normal with precision
        ``1/(lambda_j tau)^2 + 1/c^2``, where c^2 is inverse gamma such that the slab is Student's t with these degrees of freedom
        and the scale `slab`. Others take slab_df=4 with slab=2 or 2.5; inf fixes c at `slab`. For horseshoe and horseshoe+.
    fit_intercept : bool
        Add the intercept a, which is not shrunk.
    intercept_scale : float
        Prior standard deviation of the intercept; may be inf.
    unpenalized : list of int or str, optional
        Columns, by number or by name of a labelled X, whose coefficients are not shrunk, such as a treatment or confounders. They
        get the intercept's prior, normal with mean 0 and standard deviation `intercept_scale` for a column of standard
        deviation 1, so that the posterior is proper even where they separate the classes. If that is infinite, they get 10.
    groups : list of lists of int or str, optional
        Groups of columns, by number or by name, that share a local scale lambda (the group horseshoe), such as the dummies of
        a factor or the powers of a variable: they matter together, or not at all. Columns in no group have scales of their own.
        For horseshoe and horseshoe+ without `slab_df`.
    sampler : {"auto", "gibbs", "px-gibbs", "collapsed-gibbs", "predictor", "split-hmc", "surrogate"}
        How the posterior is sampled:

        ===============  ==================================================================================================
        auto             "collapsed-gibbs" for more columns than rows; otherwise chooses between the last two at the end of
                         the warmup
        gibbs            the Gibbs sampler of the reference, corrected
        px-gibbs         the same with parameter expansion
        collapsed-gibbs  the same, and tau once more with the coefficients integrated out; n x n algebra on the CPU
        predictor        the linear predictors first, then the coefficients given them; n x n algebra on the CPU
        split-hmc        Hamiltonian Monte Carlo around a normal approximation of the likelihood
        surrogate        Gibbs sampling under that approximation, corrected by one acceptance step; for many rows
        ===============  ==================================================================================================

        "surrogate" misses tails that are much heavier than those of a normal distribution, as with separable data and no slab;
        `fit` then warns.
    chains, warmup, thin : int
        A chain runs ``warmup + draws * thin`` iterations.
    draws : int, optional
        Draws per chain. By default 1000, doubled until the chains agree (`converged_`), up to 64,000. Large data stop earlier,
        at 10^10 multiplications per chain, about a minute on one core; the limit counts work, not seconds, so results do not
        depend on the machine.
    keep : {"draws", "all", "cov", "moments"}
        What is stored:

        ===========  ==================================================
        draws        b, a and log tau of every draw
        all          also log lambda of every draw
        cov          means, variances and the covariance of b and a
        moments      means and variances only
        ===========  ==================================================
    inner_sweeps : int, optional
        Sweeps of "surrogate" per pass over the data; by default chosen from the numbers of rows and columns.
    standardize : bool
        Sample with columns scaled, and with an intercept also centred; results are on the original scale.
    quantize : bool
        Store X in 8 bits. Columns of integers that are at most 254 apart stay exact; others are rounded to 255 equidistant
        numbers from their smallest to their largest. The posterior is that of the rounded numbers.
    callback : callable, optional
        Called with a dictionary while the chains, which advance side by side, are sampled. Sampling stops when it returns True:
        the draws so far are kept, without a warning, and `continue_` goes on from there. (Ctrl-C and exceptions leave no fit; in
        `continue_` they leave the fit before it.) The dictionary has

        ================  ===============================================================================================
        "iteration"       their number so far
        "chain"           numbers of the chains
        "acceptance"      rate by chain, since the end of the warmup or within it
        "coefficients"    by chain, the intercept first
        "ess"             bulk effective sample size of "intercept", "log_tau" and "norm" (the length of b); NaN before the
                          fourth draw
        ================  ===============================================================================================
    callback_every : int, optional
        Iterations between calls; by default about one second.
    dtype : {"float64", "float32", "bfloat16", "int8"}, optional
        Type of X in memory; by default float64, and float32 from 10^6 entries on. "bfloat16" rounds to 8 significant bits.
        "int8" stores columns of integers that are at most 254 apart (dummies, counts, ages) exactly. Sums over a chunk of rows
        are in float32 for "float32" and "bfloat16", else in float64; sums over chunks and linear algebra are in float64.
    nan_policy : {"raise", "omit"}
        Whether rows in which X, the outcome, weight or offset is missing are refused, or left out and counted in `n_missing_`.
        X in any of the forms of :doc:`/data`.
    device : {"auto", "cpu", "cuda"}, optional
        Where the passes over X run. The p x p linear algebra runs on the CPU.
    workers : int or executor, optional
        Number of threads, -1 for all cores. An executor, `joblib.Parallel` or dask client samples every chain by itself, each
        with a warmup of its own: other draws of the same posterior, which do not depend on the executor. It takes no callback.
    rng : None, int, SeedSequence or Generator
        Seed of the chains.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed. It begins anew where the chains have not agreed and
        the number of draws is doubled.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (1, p)
        Posterior means.
    intercept_ : numpy.ndarray, shape (1,)
    classes_ : numpy.ndarray, shape (2,)
    n_features_in_, n_missing_, n_iter_ : int
    feature_names_in_ : numpy.ndarray of str, shape (p,)
        Names of the columns of a data frame; not set for other X.
    converged_ : bool
        Whether the largest R-hat is below 1.01 and the smallest bulk ESS at least 400; for keep="moments" and "cov" by the R-hat
        of the means. For "surrogate" the ratios of exact to approximate likelihood must also have a Pareto shape below 0.6.
    draws_ : dict
        "beta" (chains, draws, p), "intercept" (chains, draws), "log_tau"; "log_slab", log c, with a finite `slab_df`;
        "log_lambda" with keep="all", NaN for unpenalized columns.
    sample_stats_ : dict
        "acceptance_rate", shape (chains, draws), and "log_likelihood", of counts but for log y!, of numbers in the unit of y; the
        latter not for the samplers "gibbs" and "px-gibbs".
    moments_ : dict
        "mean", "variance" and "positive", P(b_j > 0), shape (p,), with the intercept first if there is one; for keep="cov" also
        "covariance", shape (p, p). Available for every `keep`.
    stats_ : dict
        sampler, acceptance, angle, milliseconds per iteration, non-finite proposals, the Pareto shape of "surrogate".
    sampler_ : str

    Notes
    -----
    A chain's draws depend on `rng`, the data and the number of chains, but not on the number of threads (with a fixed number of
    BLAS threads). For the slowest coefficient, effective draws per second against "gibbs" were 181 times as many with
    "surrogate" on 10^4 x 100 entries, and 3.5 times as many with "split-hmc" on 569 nearly separable rows.

    References
    ----------
    A. Terenin, S. Dong, D. Draper, "GPU-accelerated Gibbs sampling: a case study of the horseshoe probit model", Statistics and
    Computing 29 (2019). Corrected: 1/tau^2 has a gamma distribution, and the last solve is with the transposed factor.
    A. Nishimura, M. A. Suchard, "Shrinkage with shrunken shoulders", Bayesian Analysis 18 (2023), for the slab.
    J. Piironen, A. Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors", Electronic
    Journal of Statistics 11 (2017), eq. 2.8 and 2.10, for `slab_df`.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((500, 8))
    >>> y = X[:, 0] - X[:, 1] + rng.standard_normal(500) > 0
    >>> model = ns.bayes.HorseshoeProbit(chains=2, warmup=200, draws=300, rng=1).fit(X, y)
    >>> model.coef_[0].round().astype(int).tolist()
    [1, -1, 0, 0, 0, 0, 0, 0]

    Rows that are read in blocks, here of 100:

    >>> blocks = lambda: ((X[i : i + 100], y[i : i + 100]) for i in range(0, 500, 100))
    >>> again = ns.bayes.HorseshoeProbit(chains=2, warmup=200, draws=300, rng=1).fit(blocks)
    >>> bool((again.coef_ == model.coef_).all())
    True
    """

    _priors = get_args(Prior)

    response: Any = fixed(PROBIT.word)
    prior: Prior = dataclasses.field(default="horseshoe", kw_only=False)
    sampler: Sampler = "auto"
    shared: bool = fixed(False)
    contrast: Any = fixed("first")
    fixed: Any = arguments.fixed(None)

    def fit(self, X: ArrayLike | Blocks, y: ArrayLike | None = None) -> Self:
        """Sample the posterior.

        Parameters
        ----------
        X : array_like or sparse, shape (n, p), or callable
            Finite numbers; integers become floats unless they are stored in 8 bits. A `numpy.memmap` stays on disk and is read
            in parts, once per iteration. An array of scipy.sparse stays sparse for "collapsed-gibbs" and numbers; the other
            samplers pass over dense rows, which are made once up to 2^27 entries, else in parts at every pass. A callable
            returns, at every call, a new iterator over the same blocks ``(rows, outcomes)`` of any sizes, and is also read once
            per iteration. The draws are those of an array of the same rows. For dtype "int8" or "bfloat16", or more columns
            than rows, such data are read twice and kept in memory.
        y : array_like, shape (n,)
            Two different values; the larger one is the event. None with a callable X.

        Returns
        -------
        BayesProbit
            The estimator itself.

        Raises
        ------
        ValueError
            For invalid shapes, values or options, and for a callable whose rows change between calls: their number, all
            outcomes and the first row of every part are compared.
        TypeError
            For dtypes other than real numbers of single or double precision.
        MemoryError
            When the draws would take more than half of the free memory.
        """
        return self._fit(X, y)


@parametrised
class HorseshoeProbit(BayesProbit):
    """`BayesProbit` with the horseshoe prior.

    Parameters
    ----------
    tau_scale, tau, slab, slab_df, fit_intercept, intercept_scale, unpenalized, groups, sampler, chains, warmup, draws, thin,
    keep, inner_sweeps, standardize, quantize, callback_every, dtype, nan_policy, device, workers, rng, callback, progress
        As for `BayesProbit`, as are attributes and methods.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.HorseshoeProbit(slab=3.0, rng=1)
    HorseshoeProbit(slab=3.0, rng=1)
    """

    prior: Any = fixed("horseshoe")
