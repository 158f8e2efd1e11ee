"""`fit_many` and `fit`: mixtures for many data sets, or one; a fit ends at a certified local maximum, or says why not."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import choice, warn_of_shares
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.kinds import rows_alike
from numbastats._core.launch import or_on_the_host
from numbastats._core.options import Device, hands_on
from numbastats._core.progress import bar
from numbastats._core.random import key_words, normalise_rng
from numbastats._core.results import warn_of_batch
from numbastats._core.status import FITTED, REFUSED, Status
from numbastats.mixture import engine
from numbastats.mixture.arguments import (
    Criterion,
    FitOptions,
    ManyOptions,
    Method,
    Missing,
    OneOptions,
    Precision,
    RatioOptions,
    Seed,
    Starts,
    explicit_starts,
    fit_options,
    flatten,
    for_latent,
    given_device,
    keyed,
    numbers_of_components,
    one_data_set,
    starts_of_one,
    threads_or_pool,
    weights_of,
)
from numbastats.mixture.families import Name, family_of, names_distributions, names_each
from numbastats.mixture.kernels.latent import MAX_LATENT_CUDA_K
from numbastats.mixture.kernels.passes import MAX_CUDA_K
from numbastats.mixture.multivariate.arguments import is_many_tables, is_table
from numbastats.mixture.multivariate.fitting import fit_table, fit_tables
from numbastats.mixture.multivariate.resampling import USABLE, number_of_draws, with_one_more_of_rows
from numbastats.mixture.multivariate.results import MultivariateBatch, MultivariateFit
from numbastats.mixture.results import ComponentsBatch, ComponentsFit, LikelihoodRatio, MixtureBatch, MixtureFit

if TYPE_CHECKING:
    import numbastats.distributions as distributions

Family: TypeAlias = "Name | distributions.names.Name | type | tuple[Any, Any] | list[Any] | None"
Number: TypeAlias = int | Sequence[int]


def _general(family, options):
    """Whether mixtures go the general way: of distributions that have no passes of their own here, or with constraints."""
    constrained = options.get("equal") is not None or options.get("fixed_weights") is not None
    return constrained or names_distributions(family)


@overload
def fit_many(
    data: Any, n_components: Any = 2, *, family: Name | tuple[str, float] = "normal", **options: Unpack[ManyOptions]
) -> MixtureBatch: ...
@overload
def fit_many(
    data: Any, n_components: Any = 2, *, family: Family = "normal", **options: Unpack[ManyOptions]
) -> MixtureBatch | ComponentsBatch: ...
@names_ours  # type: ignore[misc]  # the options by name, not as **options
def fit_many(  # noqa: PLR0913
    data: Iterable | Mapping | ArrayLike,
    n_components: int | Sequence[int] | NDArray = 2,
    *,
    family: Family = "normal",
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    offsets: ArrayLike | None = None,
    weights: Iterable | Mapping | ArrayLike | None = None,
    n_init: int | None = None,
    starts: Starts = "portfolio",
    init_params: ArrayLike | None = None,
    method: Method = "newton",
    tol: float = 1e-9,
    max_iter: int = 5000,
    prior: Mapping[str, float] | None = None,
    min_sd_ratio: float | None = None,
    min_count: float | None = None,
    criterion: Criterion = "bic",
    se: bool | Literal["sandwich"] = False,
    cov: bool = False,
    keep_starts: bool = False,
    precision: Precision = "double",
    nan_policy: Missing = None,
    rng: Seed = None,
    device: Device = None,
    workers: Any = None,
    callback: Callable | None = None,
    progress: bool = False,
    dataset_index: int = 0,
    equal: str | Sequence[str] | None = None,
    fixed_weights: ArrayLike | None = None,
    covariance: str | Sequence[str] | None = None,
    max_condition: float | None = None,
    noise: bool | float = False,
) -> MixtureBatch | ComponentsBatch | MultivariateBatch:
    """Fit a mixture to each of many data sets.

    Parameters
    ----------
    data : list, tuple or iterator of 1-d arrays, dict of them, 2-d array, or 1-d array with `offsets`; or data sets of d columns
        Data sets of any lengths, in any of the forms of :doc:`/data`. In a 2-d array rows are data sets. Keys of a dict, of a
        pandas groupby of one column (``frame.groupby("g")["x"]``) or of an iterable of pairs (key, 1-d array) are kept as `keys`.
        A data frame takes `by`, an array of xarray `dim`: rows or columns might be meant. Arrays on a GPU are copied to the host.
        Data sets of d > 1 columns are an array (D, n, d), a list, iterator or dict of arrays (n, d) or frames, a groupby of
        several columns, or an array (N, d) with `offsets`. Frames have the same names of columns, in any order. A data set of
        other columns than most of them has status 7.
    n_components : int, (D,) int array, or range or tuple of candidates
        With candidates every one is fitted and `criterion` chooses per data set, among admissible fits (statuses 0, 1 and 11). A
        `ConvergenceWarning` names what it chose without a certificate, and what it passed over: an inadmissible fit of a better
        criterion, a number with which every start collapsed. `selection` and the message have all that was passed over.
    family : str, type, tuple or list
        A name in the table of families below, or a tuple of a name and a fixed constant; "gaussian" is "normal". Or what else
        `fit` takes: other distributions, pairs with fixed parameters, lists of these.
        Poisson and geometric counts start at 0; NumPy's geometric draws start at 1. Distributions on (0, inf) refuse zeros,
        except those whose density at 0 is finite and positive, such as the exponential and the half-normal.
    by : str or sequence of str, optional
        Columns of a pandas or polars frame that say to which data set a row belongs; one other column has the values.
    dim : str, optional
        Dimension of an xarray.DataArray along which the values of a data set run; coordinates of the others are the keys.
    offsets : array of int, shape (D + 1,), optional
        Data set d is ``data[offsets[d]:offsets[d + 1]]``.
    weights : like data, optional
        Weights >= 0 of the observations, as counts: tied or binned data as weighted values. Their sum is the number of
        observations for `min_count`, the criteria and standard errors; where it is less than the number of values, as of shares
        1/n, a UserWarning says so. Masked ones count as 0. With the keys of the data, in any
        order, or without keys, in the order of the data.
    n_init : int, optional
        Drawn starts per data set; by default 30, and 60, 100 for 3, more components where `method` is not "newton". With "newton"
        and no `init_params`, starts at the maxima of the gradient function join them (see Notes).
    starts : {"portfolio", "subset", "quantile", "kmeans++", "hierarchical", "random"}
        Three observations per component, random quantile cuts, k-means++ cuts, or a third of each. In several dimensions
        "portfolio" (Ward's hierarchies, k-means++, random partitions, exchanges of components), or one of "hierarchical",
        "kmeans++" and "random" without exchanges.
    init_params : array, shape (D, R, 3, K), optional
        Explicit starts instead: weights, centres, params. One with a NaN is no start. (D, R, 4, K) for families of three
        parameters.
    method : {"newton", "squarem", "em", "bulkem"}
        Like `max_iter`, `init_params`, `prior`, `min_sd_ratio`, `keep_starts`, `precision`, `dim` and `fixed_weights` an option
        of one dimension, refused for data sets of several columns.

        Short EM on compressed cells, then Newton on the best few (SQUAREM where that fails), and on more where these collapse;
        or one algorithm for every start. Student t, skew-normal and negative binomial mixtures have "newton" and "em" alone, in
        double precision and without a prior.
    tol : float
        "newton": decrement at the optimum (twice the gain still to be had); the others: gain per pass.
    max_iter : int
        Passes per climb at most.
    prior : dict, optional
        Any of n0, d0, a0: pseudo-observations and mean deviance of the dispersion prior (n0 = 1 is a good value; without d0 it is
        the deviance of the data, divided by K^2 except for gamma), and a Dirichlet exponent of the weights. The objective gains
        -(n0/2) (log v + d0/v) for each component, v = 1/lambda or the variance (gamma: n0 (log(a^a / Gamma(a)) - a - a d0), a the
        shape), and (a0 - 1) log of its weight.
    min_sd_ratio, min_count : float
        An admissible component is not narrower than this share of the data's spread (the standard deviation, or the
        interquartile range / 1.349 if that is less), and has this many observations. By default the share is 0.015, and a
        narrower component is admissible where it has more observations than chance brings together (see Notes). `min_count` is
        2.5 by default, in d > 1 dimensions d + 2.
    criterion : {"bic", "aic", "icl"}
    se : bool or "sandwich"
        Standard errors from the observed information, for status 0. Of several columns "sandwich" are those that hold, too, where
        the rows are not distributed like the mixture (see Notes of `fit`).
    cov : bool
        The whole covariance matrix too.
    keep_starts : bool
        Keep what every climb started from and ended with.
    precision : {"double", "mixed", "single"}
        "mixed": starts in single precision, ranked and climbed in double. "single": the climbs too, up to the last few passes of
        Newton's method, which are made in double precision for the certificate. Sets of more than 262144 values climb in double.
    nan_policy : {"omit", "raise", "marginal"}, optional
        Whether missing values are left out, and counted in `n_missing`, or refused; by default left out in one dimension. In
        several a row with a missing value counts as missing, and by default its data set alone is refused, by status 8.
        "marginal", in several dimensions, fits by the likelihood of what is observed (see Notes of `fit`).
    rng : None, int, SeedSequence or Generator
        Start values depend on it, on the index of the data set and on the start, and on nothing else.
    device, workers
        As elsewhere in the library; `workers` may be an executor, `joblib.Parallel` or a dask client.
    callback : callable, optional
        ``callback(state)`` with `state.done`, `state.total`, `state.status` after each chunk of data sets; True stops.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed.
    dataset_index : int
        Index of the first data set, for a job that is split.
    equal, fixed_weights : optional
        Constraints, as in `fit`.
    covariance : str or sequence of str, optional
        For data sets of several columns: "full" (the default), "tied", "diag" or "spherical", as scikit-learn has them (VVV, EEE,
        VVI and VII of mclust), several of them, or "all" fourteen models. "tied-diag" and "tied-spherical" (EEI, EII) are
        diagonal and spherical covariances that all components share. Of "EVI", "VEI", "VEE", "EVE", "VVE", "EEV", "VEV" and
        "EVV" components share the parts of the letter E, of volume, shape and axes (I: those of the columns, or none); they are
        fitted to complete rows in memory, on the CPU, and where these cannot be fitted "all" is the six others. `criterion`
        chooses among models and numbers of components.
    max_condition : float, optional
        In several dimensions, largest ratio of eigenvalues of all covariances of an admissible fit, in the metric of the pooled
        one. By default 10,000 times the square of n / (10 d) for a component of n rows in d columns: few rows are narrow by
        chance, many are not.
    noise : bool or float
        In several dimensions, whether there is uniform noise beside the components, of the density 1/volume everywhere, whose
        weight is estimated. True takes the volume of a box that holds the rows, a number is the volume in the units of the
        columns (see Notes of `fit`).

    Returns
    -------
    MixtureBatch, ComponentsBatch or MultivariateBatch
        A `MultivariateBatch` of data sets of several columns. A `ComponentsBatch` of distributions that are no families of the
        table below, and of constraints: one fit after the other as `fit` has them, with its options, in threads or by the
        executor of `workers`.

    Raises
    ------
    TypeError, ValueError
        For invalid arguments or a missing family. Invalid data never raise: their data set gets a status, NaN parameters and a
        message.

    Warns
    -----
    ConvergenceWarning
        When more than half of several data sets have no fit, and of doubtful choices among candidates.
    UserWarning
        When an array has many rows of three values at most: columns may be meant.

    Notes
    -----
    A fit with status 0 is a maximum: Newton's decrement is below `tol`, minus the Hessian is positive definite. The global
    maximum cannot be proved; `hits` and `runner_up` tell how the starts agreed. With "newton" a fit of K components begins also
    from the best fit of K - 1 (for K up to 20, or where K - 1 is a candidate, too), with components at the maxima of the gradient
    function, the derivative of the log-likelihood as a component is given weight; from K = 3 on the components of the fit are
    then taken out and put in again so, at most twice. Without a prior a fit of status 0 is therefore not less likely than one of
    status 0 with fewer components: where these are likelier than all certified maxima with admissible components, the status is
    that of the likelier point: 13, or 11 for a redundant component. The fit of -x is the fit of x mirrored. `gap` is the largest
    gain of the log-likelihood by one more admissible component, the others as they are. On 24 public cases with references of 25
    digits the log-likelihood is within 1e-13 relative and the parameters within 2e-11.

    A component of n observations, with the probability r of membership at its centre, may be narrow by default where
    n ((1 - r)/r - 1 - log((1 - r)/r)) > log(spread/sd) + 10: the others would have n (1 - r)/r observations there, and the
    probability that as many as n fall into any interval of its width is then below exp(-10), by Chernoff's bound. So clusters
    may be far apart beside their widths, and three close values among hundreds are no cluster. A component has collapsed where
    its variance is below that of two values at the smallest distance in the data, or is lost in rounding, which happens where
    components are more than 1e6 of their standard deviations apart.

    Families, with the names of `centres` and `params`, which are keys of `parameters` in results:

    ============================= ================ ============ ==============================================
    family                        centres          params       in other words
    ============================= ================ ============ ==============================================
    "normal"                      mean             variance
    "inverse_gaussian"            mean             lambda
    "gamma"                       mean             shape        scale = mean/shape
    "lognormal"                   mean_log         variance_log mean and variance of log x
    "inverse_gamma"               mean_reciprocal  shape        of 1/x, a gamma variable; scale = shape/centre
    "reciprocal_inverse_gaussian" mean_reciprocal  lambda       of 1/x, an inverse Gaussian variable
    "exponential"                 mean
    "poisson", "geometric"        mean                          of counts from 0 on
    "negative_binomial"           mean             size         of counts from 0 on; variance = mean + mean^2/size
    "student_t"                   location         scale, df    params (2, K); mean = location where df > 1
    "skew_normal"                 location         scale, shape params (2, K); xi, omega, alpha of Azzalini
    "rayleigh"                    mean_half_square              mean of x^2/2: sigma^2
    "maxwell"                     mean_square                   mean of x^2: 3 scale^2
    "half_normal"                 mean_square                   mean of x^2: sigma^2
    ("weibull", k)                mean_power                    mean of x^k: scale^k
    ("pareto", minimum)           mean_log_ratio                mean of log(x/minimum): 1/exponent
    ("gamma", shape)              mean                          scale = mean/shape
    ============================= ================ ============ ==============================================

    Negative binomial, Student t and skew-normal components whose size or degrees of freedom have come to 1e8, or whose shape to
    1e6, are Poisson, normal and half-normal ones to rounding: the likelihood rises as long as these parameters grow. The fit is
    then certified in the other parameters, and the standard error of this one is NaN. The skew-normal likelihood is flat about
    shape 0, where a fit of symmetric data may end with status 11. On CUDA these three families take up to 8 components.

    References
    ----------
    B. Lindsay, "The geometry of mixture likelihoods: a general theory", Annals of Statistics 11 (1983). N. Vlassis, A. Likas,
    "A greedy EM algorithm for Gaussian mixture learning", Neural Processing Letters 15 (2002). I. Howson, "bulkem" (2015). R.
    Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the convergence of any EM algorithm",
    Scandinavian Journal of Statistics 35 (2008). G. McLachlan, D. Peel, "Finite Mixture Models" (2000), chapter 7 (Student's
    t). T. I. Lin, J. C. Lee, S. Y. Yen, "Finite mixture modelling using the skew normal distribution", Statistica Sinica 17
    (2007).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.where(
    ...     rng.random((3, 500)) < 0.3,
    ...     rng.wald(1.0, 30.0, (3, 500)),
    ...     rng.wald(3.0, 0.2, (3, 500)),
    ... )
    >>> fits = ns.mixture.fit_many(x, 2, family="inverse_gaussian", rng=0)
    >>> fits.status.tolist(), fits.weights[:, 0].round(1).tolist()
    ([0, 0, 0], [0.3, 0.3, 0.3])
    """
    if isinstance(data, Iterable) and not hasattr(data, "__getitem__"):  # iterators, views of a dict
        data = list(data)
    if getattr(data, "shape", ())[2:] == (1,):  # of one column each
        data = data[..., 0]  # type: ignore[call-overload,index]
    if dim is None and is_many_tables(data, by, offsets, family):
        options: dict[str, Any] = {name: value for name, value in locals().items() if name not in ("data", "n_components")}
        return fit_tables(data, n_components, **options)
    if noise is not False:
        raise ValueError(
            f"noise={noise!r} is for data sets of several columns; of one column name noise among the components, as in "
            "family=['normal', 'uniform']"
        )
    if covariance is not None:
        raise ValueError(f"covariance={covariance!r} is for data sets of several columns, arrays (n, d) with d > 1; leave it out")
    if isinstance(se, str):
        raise ValueError(f"se={se!r} is for data sets of several columns, arrays (n, d) with d > 1; use True or False")
    min_count, nan_policy = 2.5 if min_count is None else min_count, "omit" if nan_policy is None else nan_policy
    own: dict[str, Any] = dict(
        n_init=n_init, starts=starts, init_params=init_params, method=method, tol=tol, max_iter=max_iter, prior=prior
    )
    own |= dict(min_sd_ratio=min_sd_ratio, min_count=min_count, criterion=criterion, se=se, cov=cov, keep_starts=keep_starts)
    own |= dict(precision=precision, rng=rng, device=device, workers=workers, equal=equal, fixed_weights=fixed_weights)
    if _general(family, own):
        course = callback, progress, dataset_index
        given = data, offsets, weights, by, dim, nan_policy
        batches, doubtful = _of_distributions(given, n_components, family, own, course)
        _warn_of_choices(batches[-1], doubtful)
        _warn_of_failed(batches[-1], data)
        return batches[-1]
    settings = fit_options(method, starts, n_init, tol, max_iter, prior, min_sd_ratio, min_count, criterion, precision)
    pool, threads = threads_or_pool(workers)
    data, weights, keys = keyed(data, weights, by, dim)
    family = family_of(family)
    values = flatten(data, offsets, weights, family, nan_policy)
    candidates, per_set = numbers_of_components(n_components, values.count)
    for_latent(family, settings)
    most = MAX_LATENT_CUDA_K if family.latent else MAX_CUDA_K
    where = given_device(device, np.diff(values.off), candidates, settings, workers, most)
    given = explicit_starts(init_params, values.count, candidates, family.rows)
    settings = dataclasses.replace(settings, key=key_words(normalise_rng(rng)), workers=threads, hessians=bool(se or cov))
    kept = keep_starts or method == "bulkem"

    def run(where):
        placed = dataclasses.replace(settings, device=where)
        alone = where == "cpu" and pool is None and values.count == 1 and isinstance(data, list)  # x is a copy by `flatten`
        job = engine.Job(family, candidates, per_set, placed, bool(se), bool(cov), kept, dataset_index)
        with bar(progress, values.count, "mixture.fit_many") as shown:
            return engine.run_chunks(job, dataclasses.replace(values, spare=alone), given, pool, callback, shown)

    parts, done = or_on_the_host(run, where, device)
    batch = MixtureBatch(**engine.assemble(parts, values, family, candidates, done), keys=keys)
    if values.w is not None and parts:
        mass = np.concatenate([part["mass"] for part in parts])
        i = int(np.argmin(mass / np.maximum(batch.n_used[: mass.size], 1)))
        warn_of_shares(mass[i], batch.n_used[i], f" of data set {i}" if len(batch) > 1 else "")
    marked = np.concatenate([part["doubtful"] for part in parts]) if parts else np.zeros(0, bool)
    doubtful = [i for i in np.flatnonzero(marked).tolist() if batch.status[i] in (*FITTED, Status.COLLAPSED)]
    _warn_of_choices(batch, doubtful)
    _warn_of_failed(batch, data)
    return batch


def _warn_of_failed(batch, data):
    """Warn where most data sets have no fit."""
    warn_of_batch(np.isin(batch.status, (*REFUSED, Status.COLLAPSED)), batch.message, data)


def _warn_of_choices(batch, doubtful):
    """Warn of choices among numbers of components, those of data sets `doubtful`."""
    if doubtful:
        which = f"for {len(doubtful)} of {len(batch)} data sets, the first of index {doubtful[0]}" if len(batch) > 1 else "of x"
        more = ", or use prior={'n0': 1}, under which no component collapses" if isinstance(batch, MixtureBatch) else ""
        warn(
            f"the choice of n_components {which}: {batch.n_components[doubtful[0]]}, {batch.message(doubtful[0])}. Compare "
            f"with fits of one n_components{more}",
            ConvergenceWarning,
        )


def _of_distributions(given, n_components, family, options, course=(None, False, 0)):
    """Batches of mixtures of distributions, and the indices of doubtful choices.

    One batch for each number of components, then that of the chosen ones.
    """
    from numbastats.mixture.components import chosen, fit_sets

    data, offsets, weights, by, dim, nan_policy = given
    callback, progress, dataset_index = course
    data, weights, keys = keyed(data, weights, by, dim)
    values = flatten(data, offsets, weights, family, nan_policy)
    with bar(progress, values.count, "mixture.fit_many") as shown:

        def stops(done, fits):
            shown.update(1)
            state = types.SimpleNamespace(done=done, total=values.count, status=np.array([fits[-1].status], np.int8))
            return callback is not None and callback(state) is True

        found = fit_sets(values, n_components, family, options, dataset_index, stops)
    if values.w is not None:
        for i, (a, b) in enumerate(zip(values.off[:-1], values.off[1:], strict=True)):
            used = found[i][0].n_used
            if used and 0.0 < (total := float(np.sum(values.w[a:b][~np.isnan(values.x[a:b])]))) < 0.999 * used:
                warn_of_shares(total, used, f" of data set {i}" if values.count > 1 else "")
                break
    each = zip(*found, strict=True) if len({len(fits) for fits in found}) == 1 else ()
    best, doubtful = zip(*(chosen(fits, options["criterion"]) for fits in found), strict=True) if found else ((), ())
    return [ComponentsBatch(family, tuple(fits), keys) for fits in (*each, best)], np.flatnonzero(doubtful).tolist()


@overload
def fit(
    x: ArrayLike,
    n_components: Number = 2,
    *,
    covariance: str | Sequence[str],
    max_condition: float | None = None,
    noise: bool | float = False,
    family: Literal["normal", "student_t"] | tuple[Literal["normal", "student_t"], Mapping[str, Any]] = "normal",
    **options: Unpack[OneOptions],
) -> MultivariateFit: ...
@overload
def fit(
    x: ArrayLike, n_components: Number = 2, *, family: Name | tuple[str, float] = "normal", **options: Unpack[OneOptions]
) -> MixtureFit: ...
@overload
def fit(
    x: ArrayLike, n_components: Number = 2, *, family: Family = "normal", **options: Unpack[OneOptions]
) -> MixtureFit | ComponentsFit: ...
@hands_on(fit_many, instead={"keep_starts": "use fit_many([x], keep_starts=True).starts"})  # type: ignore[misc]
def fit(
    x: ArrayLike,
    n_components: Number = 2,
    *,
    family: Family = "normal",
    errors: Literal["raise", "status"] = "raise",
    weights: ArrayLike | None = None,
    **options: Unpack[FitOptions],
) -> MixtureFit | ComponentsFit | MultivariateFit:
    """Fit a mixture to one data set.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, d)
        In any of the forms of :doc:`/data`. Rows of several columns, of an array or a frame, are fitted by mixtures of normal or
        Student t distributions in d dimensions (see Notes). These may be an array or a frame of dask, for normal components, of
        which blocks are read in turn.
    n_components : int, or range or tuple of candidates
    family : str, type, tuple or list
        One of the families of `fit_many`; the name or class of any distribution of `numbastats.distributions` that has
        fits (:doc:`/families`), also of one by `numbastats.distributions.define`; a pair of these and a dict of fixed parameters,
        as ``("student_t", {"df": 4})`` or, a value for each component, ``("normal", {"loc": [-2, 3]})``, None for a free one; or
        a list of K of them, one for each component, as ``["normal", "uniform"]``.
    errors : {"raise", "status"}
        Whether data that cannot be fitted (statuses 4 to 8) raise ValueError or come back with the status.
    weights : array_like, shape (n,), optional
    **options
        As in `fit_many`: n_init, starts, init_params, which may have shape (R, 3, K), method, tol, max_iter, prior, min_sd_ratio,
        min_count, criterion, se, cov, precision, nan_policy, rng, device, workers, callback, progress, dataset_index. Rows
        of several columns have covariance and max_condition, and not init_params, method, max_iter, prior, min_sd_ratio and
        precision. For distributions that are no families of `fit_many`, and with constraints: n_init (16, 64 with fixed or
        equal weights), tol, max_iter, min_sd_ratio, min_count, criterion, se, nan_policy, rng, workers, and the constraints:
        `equal`, the names of parameters that all components share, as ``"scale"`` for equal variances of normal ones,
        ``"weights"`` among them; and `fixed_weights`, (K,) numbers above 0, divided by their sum. Rows of several columns can
        have equal ``"weights"`` and ``"covariance"``, fixed weights, and fixed means, as ``("normal", {"means": M})`` with an
        array or frame M of (K, d) numbers; t components equal ``"df"``, or fixed ones, as ``("student_t", {"df": 4})``. They
        also have `noise`.

    Returns
    -------
    MixtureFit, ComponentsFit or MultivariateFit
        A `MultivariateFit` of rows of several columns. A `ComponentsFit` where `family` names distributions that are no families
        of `fit_many`, or there are constraints.

    Raises
    ------
    TypeError, ValueError
        For bad options; a distribution whose free parameter is an end of its support, such as the
        scale of a Pareto distribution; with ``errors="raise"`` also for data that cannot be fitted.

    Notes
    -----
    Distributions that are no families of `fit_many` are fitted by EM: the M-step is the weighted maximum likelihood of
    `numbastats.distributions`, a component keeps its parameters where that is less likely, and so the log-likelihood never
    falls. Short runs from random starts, on at most 1024 middle values of runs of the data, end in at most three climbs by EM and
    by Newton's method with the distributions' own scores, whose differences give second derivatives, or by Lange's gradient
    steps where these are not those of a maximum; a fit with status 0 is a local maximum as of the other families. Where the
    components are of one distribution, fits of K begin from those of K - 1, too, and are not less likely, as in `fit_many`. It
    takes a second, not a millisecond.

    Uniform components have no regular maximum: their ends are those of the data, or those that are fixed, as in
    ``("uniform", {"loc": 0, "scale": 10})``, and count for no parameters: noise. The Laplace density has a cusp, so that its fits
    end with status 11 at best.

    Rows of d > 1 columns are fitted by normal mixtures; a fit of status 0 is a certified maximum there, too. Starts are Ward's
    hierarchies, k-means++ and rows next to random ones, of at most 256 rows, by distances that no linear map that the
    covariance allows changes; the best end in Newton's method with the observed information. Components are then taken out and
    put in where that gains most, while that helps; data sets of at most 2500 observations, of 300 for two components unless
    these overlap and are diagonal or spherical, are searched again by other draws until two have ended at the best of those
    before, at most six times; where several numbers of components or models are tried, of 900 until one has. Many rows, from
    9000 on, are searched by a third of them or fewer, and climbed with all. Small data sets have many maxima: a larger
    `n_init` makes more starts and climbs from more of them, and `hits` of several `n_climbed` make the best of them likely,
    never sure. Each model starts also from the fits of those among `covariance` that it contains: "spherical" and "diag" and
    "tied" within "full". A component with fewer than d + 2 rows, or covariances whose eigenvalues differ by more than
    `max_condition` in the metric of the pooled one, are not admissible: the likelihood has no upper bound there. A cluster
    has d + 2 rows with tied covariances, too, whose likelihood is bounded: a component of one row is an outlier, which
    ``min_count=1`` admits. A constant column leaves spherical covariances alone. Neither the order of the rows nor copies in
    place of weights change a bit, and units nothing but rounding, as do linear maps with full and tied covariances. Up to 400
    free parameters the certificate is made of the whole information; of more, Newton's method goes by conjugate gradients,
    and a lower bound of the least eigenvalue comes from Lanczos' method, each product a pass over the rows: the `certificate`
    of the fit says "exact" or "lanczos". ``equal="covariance"`` makes "full" the model "tied", "diag" "tied-diag" and
    "spherical" "tied-spherical". With fixed weights or means, or degrees of freedom of each, components come in their order; of
    fixed weights without means exchanges of two are tried until none is likelier. These fits have no `gap`.

    Rows of several columns by ``family="student_t"`` have a location (`means`), a scale matrix (`covariances`, of the six models
    with a name in words) and degrees of freedom `df` for each component, which are free, equal or fixed. EM is that of parameters
    expanded by a scale, Newton's method and the certificate have log df as a coordinate, and so do the standard errors. Starts
    have 4 and 1000 degrees of freedom, as both have optima of their own. `df` is at least 0.05; above 1e5 a component is normal,
    with an infinite df, and the message says so. `n_free` counts each free df.

    Noise has the density 1/volume wherever a row may lie. By default the volume is that of the smaller of two boxes that hold
    the rows: one along the columns, one along the principal axes of the columns divided by their standard deviations. So units
    do not matter. `weights` are those of the components, `noise_weight` is the rest, and one more free parameter. Labels of
    noise are -1, and its probability is the last column of `predict_proba`. It begins with the rows that are less likely by t
    components of 4 degrees of freedom, fitted without noise, than by noise alone: at least half a row, at most half of all.
    These components also are starts, with that noise and with hardly any. Of t components and beside noise, starts are also drawn
    without rows that are more than ten times the median distance from the centre of one Cauchy distribution, in its metric: these
    would have a component to themselves. There are no exchanges of components and no `gap`.

    ``se=True`` presumes that the rows are distributed like the mixture. ``se="sandwich"`` are the errors of H. White, J^-1 V J^-1
    with J the observed information and V the sum of squares of the rows' scores: they tell how the fit varies about the mixture
    that is nearest to the truth, and weights count as copies of rows. `bootstrap` has errors from data sets that are drawn again.

    With ``nan_policy="marginal"`` the likelihood is that of the observed values, which is right where values are missing at
    random: what is missing may depend on what is observed, not on itself. EM has the expected sums of the complete data; starts
    are those of rows completed by near ones; certificates and standard errors come from the observed information, by differences
    of exact gradients, so that `min_eig` below 1e-6 counts as 0. Rows without any value are left out. Where two columns are never
    observed together, full and tied covariances have status 5. Densities, labels and probabilities of the fit take rows
    with missing values, too.

    Constraints are those of the distributions' own parameters: `equal` binds the components that have a parameter which is not
    fixed. In `n_free` and the criteria equal parameters count once, fixed ones not at all; standard errors are those under the
    constraints. With `fixed_weights` the components come in their order, and which of the weights a cluster gets is searched for:
    starts are the components of the best free fits in all orders, from K = 6 on in the order of their weights and with two of
    them exchanged; at the end two weights are exchanged as long as the log-likelihood rises. In the M-step equal parameters are
    pooled where that is likelier, and move by the score and information of the complete data otherwise.

    References
    ----------
    K. Lange, "A gradient algorithm locally equivalent to the EM algorithm", Journal of the Royal Statistical Society B 57
    (1995). C. Fraley, A. Raftery, "Model-based clustering, discriminant analysis, and density estimation", Journal of the
    American Statistical Association 97 (2002): uniform noise. G. Celeux, G. Govaert, "Gaussian parsimonious clustering models",
    Pattern Recognition 28 (1995): covariance models. D. Peel, G. McLachlan, "Robust mixture modelling using the t distribution",
    Statistics and Computing 10 (2000). J. Kent, D. Tyler, Y. Vardi, "A curious likelihood identity for the multivariate
    t-distribution", Communications in Statistics - Simulation 23 (1994). C. Liu, D. Rubin, Y. Wu, "Parameter expansion to
    accelerate EM: the PX-EM algorithm", Biometrika 85 (1998). L. Garcia-Escudero, A. Gordaliza, C. Matran, A. Mayo-Iscar, "A
    general trimming approach to robust cluster analysis", Annals of Statistics 36 (2008): bounded ratios of eigenvalues. Z.
    Ghahramani, M. Jordan, "Supervised learning from incomplete data via an EM approach", NIPS 6 (1994): missing values. H.
    White, "Maximum likelihood estimation of misspecified models", Econometrica 50 (1982): the sandwich.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
    >>> result = ns.mixture.fit(x, range(1, 4), family="normal", rng=0)
    >>> result.n_components, result.means.round().tolist()
    (2, [-2.0, 3.0])
    >>> x = np.concatenate([rng.normal(0, 1, 400), rng.uniform(-10, 10, 100)])
    >>> result = ns.mixture.fit(x, 2, family=["normal", "uniform"], rng=0)
    >>> (
    ...     result.weights.round(1).tolist(),
    ...     result.parameters["scale"].round().tolist(),
    ...     result.status,
    ... )
    ([0.8, 0.2], [1.0, 20.0], 0)
    >>> x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(2, 1, 300)])
    >>> result = ns.mixture.fit(x, 2, family="normal", equal="scale", rng=0)
    >>> result.n_free, result.parameters["scale"].round(1).tolist()
    (4, [1.1, 1.1])
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(5, 1, (300, 2))])
    >>> result = ns.mixture.fit(X, range(1, 4), covariance="all", rng=0)
    >>> result.n_components, result.covariance, result.weights.round(1).tolist()
    (2, 'tied-spherical', [0.4, 0.6])
    >>> X = np.concatenate([X, rng.uniform(-20, 20, (50, 2))])
    >>> result = ns.mixture.fit(X, 2, noise=True, rng=0)
    >>> round(result.noise_weight, 2), result.predict([[15.0, -15.0], [5.0, 5.0]]).tolist()
    (0.08, [-1, 1])
    >>> result = ns.mixture.fit(X, 2, family="student_t", equal="df", rng=0)
    >>> (result.means.round() + 0.0).tolist(), bool((result.df < 3.0).all())
    ([[0.0, 0.0], [5.0, 5.0]], True)
    """
    choice("errors", errors, ("raise", "status"))
    if is_table(x):
        return fit_table(x, n_components, family=family, weights=weights, errors=errors, **options)
    if weights is not None:
        rows_alike(x, weights, ("x", "weights"))
    known: Any = family if family is None or _general(family, options) else family_of(family)
    x = one_data_set(x, known, options.pop("nan_policy", None) or "omit")
    if options.get("init_params") is not None and known is not family:
        options["init_params"] = starts_of_one(options["init_params"], known)
    w = None if weights is None else [weights_of(weights, "weights")]
    batch = fit_many([x], n_components, family=known, weights=w, **options)
    if errors == "raise" and batch.status[0] in REFUSED:
        raise ValueError(f"the data cannot be fitted: {batch.message(0)}")
    return batch[0]


def _with_one_more(data, K, options):
    """Batches of fits with K components and with K + 1."""
    if not _general(options["family"], options):
        return [fit_many(data, k, **options) for k in (K, K + 1)]
    options = {"criterion": "bic"} | options
    return _of_distributions((data, None, None, None, None, "omit"), (K, K + 1), options.pop("family"), options)[0][:2]


def _with_one_more_of_values(x, K, given):
    """Fits of values with K components and with K + 1, and a function that makes both of data sets drawn from the first."""
    if given.pop("covariance", None) is not None or given.pop("max_condition", None) is not None:
        raise ValueError(
            "covariance= and max_condition= are for rows of several columns, arrays (n, d) with d > 1; leave them out"
        )
    x = one_data_set(x, given["family"], given.pop("nan_policy", "omit"))

    def again(null, count, seed):
        return _with_one_more(null.rvs((count, null.n_used), rng=seed), K, given)

    return [batch[0] for batch in _with_one_more([x], K, given)], again


@hands_on(fit_many, instead={"weights": "with them a draw has no size; pass repeated values"})
def likelihood_ratio(
    x: ArrayLike,
    n_components: int,
    *,
    family: Family = "normal",
    n_boot: int = 199,
    rng: Seed = None,
    **options: Unpack[RatioOptions],
) -> LikelihoodRatio:
    """Test K components against K + 1 by the parametric bootstrap of the likelihood ratio.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, d)
        In any of the forms of :doc:`/data`; rows of several columns for mixtures of normal or t distributions in d dimensions,
        without noise.
    n_components : int
        K, of the null hypothesis.
    family : str, type or tuple
        What `fit` takes, but lists of distributions and parameters fixed for each component, beside which there is none
        to add.
    n_boot : int
        Data sets of the size of x that are drawn from the fit of K components, and fitted with K and K + 1.
    rng : None, int, SeedSequence or Generator
    **options
        As in `fit_many`: n_init, starts, method, tol, max_iter, prior, min_sd_ratio, min_count, precision, nan_policy, device,
        workers, progress, and `equal`, a constraint of both. `fixed_weights` are refused. Rows of several columns have
        `covariance`, one model, and `max_condition`, as in `fit`.

    Returns
    -------
    LikelihoodRatio

    Raises
    ------
    TypeError, ValueError
        For bad options; for data of which the fit with K or K + 1 components has another status than 0 or 11 (a redundant
        component, whose gain is 0), with what that means; where fewer than half of the draws have such fits.

    Notes
    -----
    Regularity fails at K components, where the weight of another is 0, so that the statistic is not chi-squared. Under the null
    hypothesis the p-value is uniform on the multiples of 1/(B + 1), but for the estimate of the null's parameters. Draws are not
    rounded as the data may be. Fits to draws are searched for as those to the data are, in several columns all in one batch: a
    test whose draws had worse maxima than the data would reject too often.

    References
    ----------
    G. McLachlan, "On bootstrapping the likelihood ratio test statistic for the number of components in a normal mixture", Applied
    Statistics 36 (1987).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
    >>> test = ns.mixture.likelihood_ratio(x, 1, family="normal", n_boot=99, rng=0)
    >>> test.statistic > 200, test.pvalue
    (True, 0.01)
    """
    if np.ndim(n_components) or not hasattr(n_components, "__index__"):
        raise ValueError(f"n_components={n_components!r} is not one number of components; pass the K of the null hypothesis")
    n_boot = number_of_draws(n_boot)
    K, key = int(n_components), int(normalise_rng(rng))
    if isinstance(family, list) or options.get("fixed_weights") is not None or names_each(family):
        raise ValueError(
            "likelihood_ratio adds a component like the others: a list of distributions, fixed_weights, and parameters fixed for "
            "each component say nothing of it. Name one distribution; equal= and one fixed value for all will do"
        )
    given: dict[str, Any] = {**options, "family": family, "rng": key}
    (null, more), again = (with_one_more_of_rows if is_table(x) else _with_one_more_of_values)(x, K, given)
    for found in (null, more):
        if found.status not in USABLE:
            raise ValueError(
                f"the fit with {found.n_components} components has status {found.status}: {found.message}. The test needs "
                "certified or redundant components; use fewer components or a prior"
            )
    small, large = again(null, n_boot, np.random.SeedSequence([key, 1]))
    statuses = np.stack([small.status, large.status], axis=1)
    good = np.isin(statuses, USABLE).all(axis=1)
    if good.sum() < 0.5 * n_boot:
        fix = "another covariance" if isinstance(null, MultivariateFit) else "prior={'n0': 1}, under which no component collapses"
        raise ValueError(
            f"of {n_boot} draws from the null only {good.sum()} have fits of statuses 0 or 11 with {K} and {K + 1} components; "
            f"use {fix}"
        )
    statistic = 2.0 * max(more.loglik - null.loglik, 0.0)  # a redundant component gains 0, and may have been passed over
    simulated = 2.0 * np.maximum(large.loglik - small.loglik, 0.0)[good]
    exceeding = int(np.sum(simulated >= statistic))
    p = (1.0 + exceeding) / (1.0 + simulated.size)
    return LikelihoodRatio(statistic, p, simulated, int(n_boot - good.sum()), null, more, statuses)
