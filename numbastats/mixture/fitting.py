"""`fit_many` and `fit`: mixtures for many data sets, or one, every fit at a certified optimum or with an honest status."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import types
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from numbastats._core.broadcast import unmasked
from numbastats._core.dispatch import choose_device, in_kind_of, to_host
from numbastats._core.errors import choice, index_of, names_ours
from numbastats._core.parallel import is_executor, worker_count
from numbastats._core.random import key_words, normalise_rng
from numbastats.mixture import climbing, distribution, kernels, pipeline
from numbastats.mixture.climbing import COUNT, MASS
from numbastats.mixture.families import Family, family_of
from numbastats.mixture.layout import arrange, flatten, keyed
from numbastats.scalar import families as fam

__all__ = ["MixtureBatch", "MixtureFit", "fit", "fit_many"]

IN_FLIGHT = 1 << 20  # observations that a thread prepares at a time, 64 bytes each; with more, fresh memory costs a third again
CUDA_SETS = 2000  # data sets from which "auto" takes a real GPU: a thread or a warp works on each
CHUNK_COST = 60_000  # least cost of a thread's chunk: some 5 ms, of which the Python around the kernels is 1 ms

STATUS = {
    0: "certified optimum",
    1: (
        "the decrement test was not met within max_iter passes, or within three rounds of Newton's method, where "
        "method='squarem' may go further; the best point is returned"
    ),
    2: (
        "stationary, but not a certified maximum: a redundant component or a saddle, for which fewer components will do, or "
        "components so far apart in scale that double precision does not resolve them"
    ),
    3: "every start collapsed onto too few values; try fewer components, more starts or a prior",
    4: "a certified optimum exists, but it has a component narrower than min_sd_ratio or smaller than min_count",
    5: "too few distinct values for this number of components",
    6: "values outside the support of the family",
    7: "no observation left",
    8: "infinite values or invalid weights, or results beyond the range of double precision",
    9: "stopped by the callback",
}


class _Components:
    """What fits and batches of fits tell of their components besides their fields."""

    @property
    def parameters(self):
        """Parameters of the components by the names that the family has for them, as {"mean": ..., "variance": ...}."""
        return dict(zip(family_of(self.family).parameters, (self.centres, self.params), strict=False))

    def component_means(self):
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
    def means(self):
        """The centres, of families where these are the means of x."""
        law = family_of(self.family)
        if not law.of_x:
            raise AttributeError(
                f"the parameter {law.parameters[0]!r} of the family {self.family!r} is not the mean of x; component_means() has "
                f"the means of x, centres or parameters[{law.parameters[0]!r}] the parameter"
            )
        return self.centres


@dataclasses.dataclass(frozen=True, eq=False)
class MixtureFit(_Components):
    """Mixture fitted to one data set.

    Attributes
    ----------
    family : str or tuple
        The family as `fit_many` spells it.
    weights, centres, params : numpy.ndarray, shape (K,)
        In order of increasing centre. The centre is the component's mean where the family has one that is called so, else the
        mean of log x, 1/x, x^2 ...; `params` is lambda, the variance or the shape, NaN for families of one parameter. The table
        of families in `fit_many` has the names, under which `parameters` holds both. Functions take them in this order:
        ``mixture.pdf(x, fit.weights, fit.centres, fit.params, family=fit.family)`` is ``fit.pdf(x)``.
    loglik, objective : float
        Log-likelihood, and with the log prior added.
    n_iter, n_passes : int
        Passes of the best climb, and of all climbs.
    converged : bool
        Whether `status` is 0 or 4.
    status : int
    message : str
    bic, aic : float
    n_used, n_dropped, n_components : int
        Observations that the fit rests on; those left out, being NaN, masked or of weight 0; components.
    hits : int
        Starts known to have ended within 1e-6 of the best; "newton" climbs from 3 starts (5 from K = 3 on; more where all
        collapse) and counts those that agreed with one of them after the short run, the other methods climb from all.
    runner_up : float
        The next certified log-likelihood (with a prior: objective), NaN if none was seen.
    n_singular : int
        Starts that collapsed.
    se : dict
        Standard errors of "weights" and of the entries of `parameters`, by their names; empty unless asked for.
    cov : numpy.ndarray, shape (3 K, 3 K)
        Covariance of (weights, centres, params), whose diagonal is the square of `se`; (2 K, 2 K) for families of one parameter,
        (0, 0) unless asked for.
    decrement, min_eig : float
        g'(-H)^-1 g at the optimum, and the smallest eigenvalue of -H in units of the complete data's information: one minus
        the rate at which EM would converge. Status 0 needs more than 1e-8 and what the gradient, in these units, adds to that.
    """

    family: object
    weights: np.ndarray
    centres: np.ndarray
    params: np.ndarray
    loglik: float
    objective: float
    n_iter: int
    n_passes: int
    converged: bool
    status: int
    message: str
    bic: float
    aic: float
    n_used: int
    n_dropped: int
    n_components: int
    hits: int
    runner_up: float
    n_singular: int
    se: dict
    cov: np.ndarray
    decrement: float
    min_eig: float

    def _distribution(self):
        """The arguments of the functions of `mixture`."""
        if np.isnan(self.weights).any():
            raise ValueError(f"this fit has no parameters (status {self.status}: {self.message})")
        two = family_of(self.family).two
        return dict(weights=self.weights, centres=self.centres, params=self.params if two else None, family=self.family)

    def pdf(self, x, *, device=None, workers=None):
        """Density of the fitted mixture, as `mixture.pdf`.

        Parameters
        ----------
        x : array_like
        device, workers
            As in `mixture.pdf`.

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
        >>> round(float(fit.pdf(3.0)), 6), round(float(fit.cdf(3.0)), 6), round(float(fit.ppf(0.5)), 6)
        (0.122626, 0.632121, 2.079442)
        """
        return distribution.pdf(x, **self._distribution(), device=device, workers=workers)

    def logpdf(self, x, *, device=None, workers=None):
        """Logarithm of the density, as `mixture.logpdf`.

        Parameters
        ----------
        x : array_like
        device, workers
            As in `mixture.logpdf`.

        Returns
        -------
        array or scalar
        """
        return distribution.logpdf(x, **self._distribution(), device=device, workers=workers)

    def cdf(self, x):
        """Distribution function of the fitted mixture, as `mixture.cdf`.

        Parameters
        ----------
        x : array_like

        Returns
        -------
        array or scalar
        """
        return distribution.cdf(x, **self._distribution())

    def sf(self, x):
        """Upper tail probability of the fitted mixture, as `mixture.sf`.

        Parameters
        ----------
        x : array_like

        Returns
        -------
        array or scalar
        """
        return distribution.sf(x, **self._distribution())

    def ppf(self, q):
        """Quantile function of the fitted mixture, as `mixture.ppf`.

        Parameters
        ----------
        q : array_like
            Probabilities.

        Returns
        -------
        array or scalar
        """
        return distribution.ppf(q, **self._distribution())

    def rvs(self, size=None, *, rng=None):
        """Draws from the fitted mixture, as `mixture.rvs`.

        Parameters
        ----------
        size : int or tuple of int, optional
        rng : None, int, SeedSequence or Generator

        Returns
        -------
        array or scalar
        """
        return distribution.rvs(**self._distribution(), size=size, rng=rng)

    def predict_proba(self, x, *, device=None, workers=None):
        """Posterior probabilities of the components, as `mixture.responsibilities`.

        Parameters
        ----------
        x : array_like
        device, workers
            As in `mixture.responsibilities`.

        Returns
        -------
        array, shape (*x.shape, K)
            NaN for NaN and outside the support.
        """
        return distribution.responsibilities(x, **self._distribution(), device=device, workers=workers)

    def predict(self, x, *, device=None, workers=None):
        """Most probable component of every value.

        Parameters
        ----------
        x : array_like
        device, workers
            As in `mixture.responsibilities`.

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
        p = to_host(self.predict_proba(x, device=device, workers=workers), "x")
        return in_kind_of(np.where(np.isnan(p[..., 0]), -1, np.argmax(p, axis=-1)), x)


@dataclasses.dataclass(frozen=True, eq=False)
class MixtureBatch(_Components):
    """Mixtures fitted to D data sets; arrays (D,) or (D, K), the attributes of `MixtureFit`.

    Attributes
    ----------
    family : str or tuple
    weights, centres, params : numpy.ndarray, shape (D, K)
        NaN where a data set has fewer components than the widest. `parameters`, `component_means()` and `means` as in
        `MixtureFit`.
    status : numpy.ndarray of int8, shape (D,)
        0 certified; 1 out of budget; 2 not certified; 3 degenerate; 4 inadmissible; 5 too few values; 6 out of support;
        7 empty; 8 not finite; 9 stopped. `message(i)` says it in words.
    cov : numpy.ndarray, shape (D, 3 * width, 3 * width)
        Component k of quantity q (weights, centres, params) is row ``q * width + k``, width the largest number of components.
    criteria_ : numpy.ndarray, shape (D, number of candidates)
        The criterion for every number of components that was tried.
    candidates : tuple of int
        The numbers of components that were tried.
    starts : dict
        With ``keep_starts``, by number of components K: the start parameters "weights", "centres", "params" (D, R, K), and the
        "loglik", "status" and "n_iter" (D, R) that each climb ended with.

    keys : tuple or None
        Keys of the data sets, in their order, where the data had any (a dict, a groupby, pairs).

    Notes
    -----
    ``batch[i]`` is the `MixtureFit` of data set i, whose arrays have as many entries as it has components. i is always a number
    from 0 on (or negative, from the end); the fit of a key is ``batch[batch.keys.index(key)]``, and all of them are
    ``zip(batch.keys, batch)``.
    """

    family: object
    weights: np.ndarray
    centres: np.ndarray
    params: np.ndarray
    loglik: np.ndarray
    objective: np.ndarray
    n_iter: np.ndarray
    n_passes: np.ndarray
    converged: np.ndarray
    status: np.ndarray
    bic: np.ndarray
    aic: np.ndarray
    n_used: np.ndarray
    n_dropped: np.ndarray
    n_components: np.ndarray
    hits: np.ndarray
    runner_up: np.ndarray
    n_singular: np.ndarray
    se: dict
    cov: np.ndarray
    decrement: np.ndarray
    min_eig: np.ndarray
    criteria_: np.ndarray
    candidates: tuple
    notes: dict = dataclasses.field(repr=False)
    starts: dict = dataclasses.field(repr=False)
    keys: tuple | None = dataclasses.field(default=None, repr=False)

    def __len__(self):
        return self.status.size

    def message(self, i) -> str:
        """What the status of data set i means."""
        i = index_of(i, len(self))
        return self.notes[i] if i in self.notes else STATUS[int(self.status[i])]

    def __getitem__(self, i) -> MixtureFit:
        i = index_of(i, len(self))
        values = {}
        K = int(self.n_components[i])
        for field in dataclasses.fields(MixtureFit):
            if field.name == "family":
                values["family"] = self.family
            elif field.name == "message":
                values["message"] = self.message(i)
            elif field.name == "se":
                values["se"] = {name: s[i, :K] for name, s in self.se.items()}
            elif field.name == "cov":
                width = self.weights.shape[1]
                rows = np.concatenate([q * width + np.arange(K) for q in range(self.cov.shape[1] // width)] or [np.arange(0)])
                values["cov"] = self.cov[i][np.ix_(rows, rows)]
            else:
                v = getattr(self, field.name)[i]
                values[field.name] = v[:K] if np.ndim(v) else v.item()
        return MixtureFit(**values)


@names_ours
def fit_many(
    data,
    n_components=2,
    *,
    family=None,
    offsets=None,
    weights=None,
    n_init=None,
    starts="portfolio",
    init_params=None,
    method="newton",
    tol=1e-9,
    max_iter=5000,
    prior=None,
    min_sd_ratio=0.015,
    min_count=2.5,
    criterion="bic",
    se=False,
    cov=False,
    keep_starts=False,
    precision="double",
    rng=None,
    device=None,
    workers=None,
    callback=None,
    dataset_index=0,
) -> MixtureBatch:
    """Fit a mixture to each of many data sets.

    Parameters
    ----------
    data : list, tuple or iterator of 1-d arrays, dict of them, 2-d array, or 1-d array with `offsets`
        Data sets of any lengths. In a 2-d array rows are data sets. NaN and masked values are missing: dropped, and counted in
        `n_dropped`. Keys of a dict, of a pandas groupby of one column (``frame.groupby("g")["x"]``) or of an iterable of pairs
        (key, 1-d array) are kept as `keys`. A data frame is refused: its rows or its columns might be meant. Arrays on a GPU are
        copied to the host.
    n_components : int, (D,) int array, or range or tuple of candidates
        With candidates every one is fitted and `criterion` chooses per data set, among certified fits. Where K components do
        worse than K - 1, starts that split a component are added.
    family : str or tuple
        Required: a name in the table of families below, or a tuple of a name and a fixed constant; "normal" is "gaussian".
        Poisson and geometric laws are those of counts 0, 1, 2, ...: numbers of trials less 1 for the geometric ones of NumPy.
        Laws on (0, inf) take no zeros, but for those whose density at 0 is finite and positive, as the exponential and the
        half-normal law's.
    offsets : array of int, shape (D + 1,), optional
        Data set d is ``data[offsets[d]:offsets[d + 1]]``.
    weights : like data, optional
        Weights >= 0 of the observations, as counts: tied or binned data as weighted values. Their sum is the number of
        observations for `min_count`, the criteria and standard errors. Masked ones count as 0. With the keys of the data, in any
        order, or without keys, in the order of the data.
    n_init : int, optional
        Starts per data set; by default 30, 60, 100 for up to 2, 3, more components.
    starts : {"portfolio", "subset", "quantile", "kmeans++"}
        Three observations per component, random quantile cuts, k-means++ cuts, or a third of each.
    init_params : array, shape (D, R, 3, K), optional
        Explicit starts instead: weights, centres, params. One with a NaN is no start.
    method : {"newton", "squarem", "em", "bulkem"}
        Short EM on compressed cells, then Newton on the best few (SQUAREM where that fails), and on more where these collapse;
        or one algorithm for every start.
    tol : float
        "newton": decrement at the optimum (twice the gain still to be had); the others: gain per pass.
    max_iter : int
        Passes per climb at most.
    prior : dict, optional
        Any of n0, d0, a0: pseudo-observations and mean deviance of the dispersion prior (n0 = 1 is a good value; without d0 it is
        the deviance of the data, over K^2 but for gamma laws), and a Dirichlet exponent of the weights. The objective gains
        -(n0/2) (log v + d0/v) per component, v = 1/lambda or the variance (gamma laws: n0 (log(a^a / Gamma(a)) - a - a d0), a the
        shape), and (a0 - 1) log of its weight.
    min_sd_ratio, min_count : float
        An admissible component is not narrower than this share of the data's spread (the standard deviation, or the
        interquartile range / 1.349 if that is less), and has this many observations.
    criterion : {"bic", "aic", "icl"}
    se : bool
        Standard errors from the observed information, for status 0.
    cov : bool
        The whole covariance matrix too.
    keep_starts : bool
        Keep what every climb started from and ended with.
    precision : {"double", "mixed", "single"}
        "mixed": starts in single precision, ranked and climbed in double. "single": the climbs too, up to the last few passes of
        Newton's method, which are made in double precision for the certificate. Sets of more than 262144 values climb in double.
    rng : None, int, SeedSequence or Generator
        Start values depend on it, on the index of the data set and on the start, and on nothing else.
    device, workers
        As elsewhere in the library; `workers` may be an executor.
    callback : callable, optional
        ``callback(state)`` with `state.done`, `state.total`, `state.status` after each chunk of data sets; True stops.
    dataset_index : int
        Index of the first data set, for a job that is split.

    Returns
    -------
    MixtureBatch

    Raises
    ------
    TypeError, ValueError
        For bad arguments, a missing family among them. Bad data never raise: their data set gets a status, NaN parameters and a
        message.

    Notes
    -----
    A fit with status 0 is a maximum: Newton's decrement is below `tol`, minus the Hessian is positive definite. The global
    maximum cannot be proved; `hits` and `runner_up` tell how the starts agreed. On 24 public cases with references of 25 digits
    the log-likelihood is within 1e-13 relative and the parameters within 2e-11.

    Families, with the names of `centres` and `params`, which are keys of `parameters` in results:

    ============================= ================ ============ ==============================================
    family                        centres          params       in other words
    ============================= ================ ============ ==============================================
    "gaussian"                    mean             variance
    "inverse_gaussian"            mean             lambda
    "gamma"                       mean             shape        scale = mean/shape
    "lognormal"                   mean_log         variance_log mean and variance of log x
    "inverse_gamma"               mean_reciprocal  shape        of 1/x, a gamma variable; scale = shape/centre
    "reciprocal_inverse_gaussian" mean_reciprocal  lambda       of 1/x, an inverse Gaussian variable
    "exponential"                 mean
    "poisson", "geometric"        mean                          of counts from 0 on
    "rayleigh"                    mean_half_square              mean of x^2/2: sigma^2
    "maxwell"                     mean_square                   mean of x^2: 3 scale^2
    "half_normal"                 mean_square                   mean of x^2: sigma^2
    ("weibull", k)                mean_power                    mean of x^k: scale^k
    ("pareto", minimum)           mean_log_ratio                mean of log(x/minimum): 1/exponent
    ("gamma", shape)              mean                          scale = mean/shape
    ============================= ================ ============ ==============================================

    References
    ----------
    I. Howson, "bulkem" (2015). R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm", Scandinavian Journal of Statistics 35 (2008).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.where(rng.random((3, 500)) < 0.3, rng.wald(1.0, 30.0, (3, 500)), rng.wald(3.0, 0.2, (3, 500)))
    >>> fits = ns.mixture.fit_many(x, 2, family="inverse_gaussian", rng=0)
    >>> fits.status.tolist(), fits.weights[:, 0].round(1).tolist()
    ([0, 0, 0], [0.3, 0.3, 0.3])
    """
    law = family_of(family)
    choice("method", method, tuple(pipeline.METHODS))
    choice("starts", starts, tuple(pipeline.KINDS))
    choice("criterion", criterion, ("bic", "aic", "icl"))
    choice("precision", precision, ("double", "mixed", "single"))
    if precision == "single" and method != "newton":
        raise ValueError(f"precision='single' needs method='newton', not {method!r}; use precision='double'")
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive")
    if not max_iter >= 1 or max_iter % 1:
        raise ValueError(f"max_iter={max_iter!r} is not a number of passes; use an integer >= 1")
    for name, value in (("min_sd_ratio", min_sd_ratio), ("min_count", min_count)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}={value!r} is out of range; use a finite number >= 0")
    if n_init is not None and (n_init != int(n_init) or n_init < 1):
        raise ValueError(f"n_init={n_init!r} is not a number of starts; use an integer >= 1, or None")
    prior_n, prior_d, prior_a = _prior(prior)
    if is_executor(workers):
        pool, workers = workers, 1
    else:
        pool, workers = None, worker_count(workers)
    given_pool = pool is not None
    data, weights, keys = keyed(data, weights)
    values = flatten(data, offsets, weights)
    D = values.count
    candidates, per_set = _candidates(n_components, D)
    where = choose_device(device, pays=D >= CUDA_SETS)
    if where == "cuda" and max(candidates) > kernels.MAX_CUDA_K:
        raise ValueError(
            f"n_components={max(candidates)} is more than the {kernels.MAX_CUDA_K} that device='cuda' takes; use device='cpu'"
        )
    given = None
    if init_params is not None:
        given = np.asarray(init_params, np.float64)
        if len(candidates) > 1 or given.ndim != 4 or given.shape[0] != D or given.shape[2:] != (3, candidates[0]):
            raise ValueError(
                f"init_params has shape {given.shape}; it must be (D, R, 3, K) = ({D}, R, 3, {candidates[0]}) with one K: "
                "weights, centres and params of R starts"
            )
        if (given[:, :, 0] < 0).any():
            raise ValueError("init_params has negative weights; use weights >= 0")
    options = pipeline.Options(
        method, starts, None if n_init is None else int(n_init), float(tol), int(max_iter), prior_n, prior_d, prior_a,
        float(min_sd_ratio), float(min_count), precision, key_words(normalise_rng(rng)), where, workers,
    )  # fmt: skip
    job = _Job(
        law, candidates, per_set, options, criterion, bool(se), bool(cov), keep_starts or method == "bulkem", dataset_index
    )
    parts, done, stopped = [], 0, False
    with contextlib.ExitStack() as stack:
        if pool is not None:
            chunks = _chunks(values, min(IN_FLIGHT, max(65_536, values.x.size // 16)))
        elif where == "cpu" and _many(values, workers):  # whole chunks by threads, which never wait for each other
            chunks = _chunks(values, IN_FLIGHT, workers)
            pool = stack.enter_context(ThreadPoolExecutor(workers))
            job = dataclasses.replace(job, options=dataclasses.replace(options, workers=1))
        else:
            chunks = _chunks(values, IN_FLIGHT if where == "cpu" else 4 * IN_FLIGHT)
        cuts = ((values.cut(lo, hi), lo, None if given is None else given[lo:hi]) for lo, hi in chunks)
        results = map(job, cuts) if pool is None else pool.map(job, cuts) if given_pool else _in_turn(pool, job, cuts)
        try:
            for (_lo, done), part in zip(chunks, results, strict=False):
                parts.append(part)
                if callback is not None and callback(types.SimpleNamespace(done=done, total=D, status=part["status"])) is True:
                    stopped = done < D
                    break
        except BaseException:  # Ctrl-C among them: threads end after the piece that they are at
            options.halt.append(True)
            raise
        if stopped and pool is not None and hasattr(results, "close"):
            results.close()  # chunks that no thread has begun are not fitted
    return dataclasses.replace(_assemble(parts, values, law, candidates, done if stopped else D), keys=keys)


def _in_turn(pool, function, items):
    """Results in the order of the items.

    It does not wait for long at a time: where another library (polars) has set a handler of SIGINT that lets the waiting go on,
    Ctrl-C would be noticed at the end only.
    """
    futures = [pool.submit(function, item) for item in items]
    try:
        for future in futures:
            while wait([future], timeout=0.2).not_done:
                pass
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def fit(x, n_components=2, *, family=None, errors="raise", weights=None, **options) -> MixtureFit:
    """Fit a mixture to one data set.

    Parameters
    ----------
    x : array_like, shape (n,)
        NaN and masked values are missing: dropped, and counted in `n_dropped`.
    n_components : int, or range or tuple of candidates
    family : str or tuple
        Required: one of the families of `fit_many`.
    errors : {"raise", "status"}
        Whether data that cannot be fitted (statuses 5 to 8) raise ValueError or come back with the status.
    weights : array_like, shape (n,), optional
    **options
        Those of `fit_many`, but for `keep_starts`; `init_params` may have shape (R, 3, K).

    Returns
    -------
    MixtureFit

    Raises
    ------
    TypeError, ValueError
        For bad options, a missing family among them; with ``errors="raise"`` also for data that cannot be fitted.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])
    >>> result = ns.mixture.fit(x, range(1, 4), family="gaussian", rng=0)
    >>> result.n_components, result.means.round().tolist()
    (2, [-2.0, 3.0])
    """
    choice("errors", errors, ("raise", "status"))
    if hasattr(x, "ngroups"):
        raise ValueError("x is a groupby, of many data sets; use fit_many()")
    x = unmasked(to_host(x, "x"))
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim != 1:
        raise ValueError(f"x has shape {x.shape}; one data set is 1-D. For many data sets use fit_many()")
    if options.get("keep_starts"):
        raise ValueError("the fit of one data set holds no starts; use fit_many([x], keep_starts=True).starts")
    if "init_params" in options and options["init_params"] is not None:
        given = np.asarray(options["init_params"], np.float64)
        used = given if family_of(family).two or given.ndim < 3 else given[..., :2, :]
        if not np.isfinite(used).all():
            raise ValueError("init_params has NaN or infinite entries; use finite weights, centres and params")
        options["init_params"] = given[None] if given.ndim == 3 else given
    batch = fit_many([x], n_components, family=family, weights=None if weights is None else [weights], **options)
    if errors == "raise" and 5 <= batch.status[0] <= 8:
        raise ValueError(f"the data cannot be fitted: {batch.message(0)}")
    return batch[0]


def _prior(prior):
    prior = dict(prior or {})
    n0, d0, a0 = prior.pop("n0", 0.0), prior.pop("d0", None), prior.pop("a0", 1.0)
    if prior:
        raise ValueError(f"prior has the unknown entries {sorted(prior)}; use n0, d0, a0")
    if not (0 <= n0 < math.inf and (d0 is None or 0 < d0 < math.inf) and 1 <= a0 < math.inf):
        raise ValueError(f"prior n0={n0!r}, d0={d0!r}, a0={a0!r} is out of range; use finite n0 >= 0, d0 > 0, a0 >= 1")
    return float(n0), None if d0 is None else float(d0), float(a0)


def _candidates(n_components, D):
    """Sorted numbers of components to fit, and the wanted one per data set if that is prescribed."""
    if hasattr(n_components, "__index__") and np.ndim(n_components) == 0 and not isinstance(n_components, bool):
        ks, per_set = [int(n_components)], None
    elif isinstance(n_components, np.ndarray) and n_components.shape == (D,) and n_components.dtype.kind in "iu":
        per_set = n_components.astype(np.int64)
        ks = sorted(set(per_set.tolist())) or [1]
    else:
        try:
            wanted, per_set = list(n_components), None
            ks = [] if any(isinstance(v, bool) for v in wanted) else sorted(int(v.__index__()) for v in wanted)
        except (TypeError, AttributeError):
            ks = []
        if len(set(ks)) < max(len(ks), 1):
            raise ValueError(
                f"n_components={n_components!r} is not understood; use an integer >= 1, a range or tuple of different "
                f"candidates, or an integer array of length {D}, one per data set"
            )
    if ks[0] < 1:
        raise ValueError(f"n_components={n_components!r} must be at least 1")
    if ks[-1] > 200:
        raise ValueError(f"n_components={ks[-1]} is more than 200")
    return tuple(ks), per_set


def _costs(data):
    """Cost of all data sets before each one, in that of an observation; a set costs as much as 1000 of them besides."""
    return data.off + 1000 * np.arange(data.count + 1)


def _many(data, workers):
    """Whether the data sets are so many, and none so long, that threads should take whole chunks of them."""
    cost = _costs(data)
    return workers > 1 and cost[-1] >= 2 * CHUNK_COST and np.diff(cost).max() * 4 * workers <= cost[-1]


def _chunks(data, limit, workers=1):
    """Ranges of data sets with at most `limit` observations, one data set at least.

    For more than one worker they become shorter towards the end, so that all end at about the same time.
    """
    cost = _costs(data)
    least = max(CHUNK_COST, cost[-1] // (16 * workers))
    chunks, lo = [], 0
    while lo < data.count:
        hi = int(np.searchsorted(data.off, data.off[lo] + limit, side="right")) - 1
        if workers > 1:
            share = max(least, (cost[-1] - cost[lo]) * 2 // (3 * workers))
            hi = min(hi, int(np.searchsorted(cost, cost[lo] + share, side="right")) - 1)
        hi = min(max(hi, lo + 1), data.count)
        chunks.append((lo, hi))
        lo = hi
    return chunks


_LAST_RESORT = np.array([0, 1, 2, 4, 3, 5])  # by status: which fit of several candidates is taken where none is certified


@dataclasses.dataclass(frozen=True)
class _Job:
    """The fit of a chunk of data sets."""

    family: Family
    candidates: tuple
    per_set: np.ndarray | None
    options: pipeline.Options
    criterion: str
    se: bool
    cov: bool
    keep_starts: bool
    first: int

    @np.errstate(all="ignore")  # extreme data get a status, not a warning
    def __call__(self, chunk):
        values, lo, starts = chunk
        family, options = self.family, self.options
        data = arrange(values, family, worker_count(options.workers))
        D, nk, width = data.count, len(self.candidates), max(self.candidates)
        ids = np.arange(self.first + lo, self.first + lo + D)
        p = pipeline.prepare(data, 0, D, ids, family, options, options.method == "newton")
        results = []
        for K in self.candidates:
            given = None if starts is None else _scaled_starts(starts, p)
            results.append(pipeline.fit_k(p, K, options, given, self.keep_starts))
        for j in range(1, nk if self.per_set is None and options.method != "bulkem" else 0):
            if self.candidates[j] == self.candidates[j - 1] + 1:
                self._split(data, ids, results[j - 1], results[j])
        bad = data.status
        size = (2 if family.two else 1) + 1
        criteria = np.full((D, nk), np.nan)
        mass = np.maximum(p.info[:, MASS], 1.0)
        for j, (K, r) in enumerate(zip(self.candidates, results, strict=True)):
            free = size * K - 1
            criteria[:, j] = 2.0 * free - 2.0 * r.loglik if self.criterion == "aic" else free * np.log(mass) - 2.0 * r.loglik
            if self.criterion == "icl":
                criteria[:, j] += 2.0 * _entropy(p, r)
        if self.per_set is not None:
            pick = np.searchsorted(self.candidates, self.per_set[lo : lo + D])
        else:
            certified = np.stack([r.status == 0 for r in results], axis=1)
            pick = np.argmin(np.where(certified, criteria, math.inf), axis=1)
            none = ~certified.any(axis=1)
            grade = _LAST_RESORT[np.stack([r.status for r in results], axis=1)]
            pick[none] = np.argmin(grade, axis=1)[none]
        out = {name: np.full((D, width), np.nan) for name in ("weights", "centres", "params")}
        fields = (
            "loglik", "objective", "decrement", "min_eig", "status", "n_iter", "n_passes", "hits", "runner_up", "n_singular",
        )  # fmt: skip
        for name in fields:
            out[name] = np.stack([getattr(r, name) for r in results])[pick, np.arange(D)]
        side = size * width if self.se or self.cov else 0
        cov, se = np.full((D, side, side), np.nan), np.full((D, side), np.nan)
        for j, (K, r) in enumerate(zip(self.candidates, results, strict=True)):
            rows = np.nonzero(pick == j)[0]
            w, m, v = _in_units(r.par[rows], p, rows)
            out["weights"][rows, :K], out["centres"][rows, :K], out["params"][rows, :K] = w, m, v
            if side:
                _covariances(cov, se, r, rows, p, m, v)
        out["status"] = np.where(bad != 0, bad, out["status"]).astype(np.int8)
        notes = dict(data.notes)
        for d in np.nonzero(_unusable(out, family, values.dtype))[0]:
            out["status"][d], notes[int(d)] = 8, _BEYOND.format(values.dtype)
        lost = (bad != 0) | np.isin(out["status"], (3, 5, 8))
        for name in ("weights", "centres", "params"):
            out[name][lost] = np.nan
        out["dropped"], out["notes"] = data.dropped, {lo + d: note for d, note in notes.items()}
        out["n_components"] = np.asarray(self.candidates, np.int64)[pick]
        out["n_used"] = np.where(bad != 0, 0, p.info[:, COUNT]).astype(np.int64)
        out["mass"], out["criteria_"], out["cov"] = p.info[:, MASS], criteria, cov if self.cov else cov[:, :0, :0]
        out["se"] = {}
        if self.se:
            se = se.reshape(D, size, width)
            out["se"] = {name: se[:, q] for q, name in enumerate(("weights", *family.parameters))}
        out["starts"] = [_kept(r, p) for r in results] if self.keep_starts else []
        return out

    def _split(self, data, ids, fewer, more):
        """Where K components are no better than K - 1: starts that split each component of the K - 1 in two."""
        with np.errstate(invalid="ignore"):
            worse = ~(more.loglik >= fewer.loglik - 1e-6) & np.isfinite(fewer.loglik) & (more.status != 5)
        for d in np.nonzero(worse)[0]:
            p = pipeline.prepare(data, d, d + 1, ids, self.family, self.options, self.options.method == "newton")
            starts = pipeline.split_starts(fewer.par[d], self.family)
            again = pipeline.fit_k(p, starts.shape[3], self.options, starts)
            more.n_passes[d] += again.n_passes[0]
            if again.status[0] in (0, 1, 2, 4) and not again.loglik[0] <= more.loglik[d]:
                again.n_passes[0] = more.n_passes[d]
                for field in dataclasses.fields(more):
                    if field.name != "starts":
                        getattr(more, field.name)[d] = getattr(again, field.name)[0]


def _in_units(par, p, rows):
    """Weights, centres and second parameters in the units of y."""
    family, info, factor = p.family, p.info[rows], p.factor[rows][:, None]
    scale, shift = info[:, [climbing.SCALE]], info[:, [climbing.SHIFT]]
    w, m, v = par[:, 0], par[:, 1], par[:, 2]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        mean = (m * scale + shift) / factor
        if family.base == fam.INVERSE_GAUSSIAN:
            second = (1.0 / v) * scale / factor
        elif family.base == fam.GAUSSIAN:
            second = v * (scale / factor) ** 2
        elif family.base == fam.GAMMA:
            second = 1.0 / v
        else:
            second = np.full_like(v, np.nan)
    return w, mean, second


def _scaled_starts(given, p):
    """Explicit starts (D, R, 3, K) in scaled units and dispersions."""
    factor = p.factor[:, None, None]
    scale, shift = (p.info[:, c][:, None, None] for c in (climbing.SCALE, climbing.SHIFT))
    out = np.ones(given.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        out[:, :, 0] = given[:, :, 0] / given[:, :, 0].sum(axis=-1, keepdims=True)
        out[:, :, 1] = (given[:, :, 1] * factor - shift) / scale
        if p.family.base == fam.INVERSE_GAUSSIAN:
            out[:, :, 2] = scale / (given[:, :, 2] * factor)
        elif p.family.base == fam.GAUSSIAN:
            out[:, :, 2] = given[:, :, 2] * (factor / scale) ** 2
        elif p.family.base == fam.GAMMA:
            out[:, :, 2] = 1.0 / given[:, :, 2]
    return out


def _covariances(cov, se, r, rows, p, mean, second):
    """Fill in certified fits: the observed information in theta, carried to (weights, centres, params)."""
    K, width = r.par.shape[2], cov.shape[1] // (3 if p.family.two else 2)
    good = np.nonzero(r.status[rows] == 0)[0]
    if not good.size:
        return
    at, n = rows[good], r.hess.shape[1]
    al = r.par[at, 0]
    J, unit = np.zeros((good.size, n + 1, n)), np.ones((good.size, n + 1))
    for j in range(K - 1):  # log-odds against the last component: d al_i / d z_j = al_i (delta_ij - al_j)
        J[:, :K, j] = -al * al[:, [j]]
        J[:, j, j] += al[:, j]
    k = np.arange(K)
    J[:, K + k, K - 1 + k] = 1.0
    scale = p.info[at, climbing.SCALE][:, None] / p.factor[at][:, None]
    unit[:, K : 2 * K] = scale if p.family.base == fam.GAUSSIAN else mean[good]
    if p.family.two:  # the dispersion is v or 1 / v in some unit: |d param / d log v| = param
        J[:, 2 * K + k, 2 * K - 1 + k] = 1.0 if p.family.base == fam.GAUSSIAN else -1.0
        unit[:, 2 * K :] = second[good]
    whole = J @ np.linalg.inv(-r.hess[at]) @ np.swapaxes(J, 1, 2)
    places = (np.arange((n + 1) // K)[:, None] * width + k).reshape(-1)
    cov[at[:, None, None], places[:, None], places] = whole * unit[:, :, None] * unit[:, None, :]
    se[at[:, None], places] = np.sqrt(np.maximum(np.diagonal(whole, axis1=1, axis2=2), 0.0)) * unit


_BEYOND = (
    "the log-likelihood or the parameters are beyond the range of {} numbers; bring the data to a scale near 1, or drop extreme "
    "values"
)


def _unusable(out, family, dtype):
    """Which fits have a log-likelihood that overflowed, or parameters that over- or underflow as numbers of the results' type."""
    limits = np.finfo(dtype)
    lost, used = ~np.isfinite(out["loglik"]), ~np.isnan(out["weights"])
    for name in ("weights", "centres", "params") if family.two else ("weights", "centres"):
        lost |= (used & ~(np.abs(out[name]) <= limits.max)).any(axis=1)
    if not family.discrete:
        lost |= (out["params" if family.two else "centres"] < limits.tiny).any(axis=1)
        if family.base != fam.GAUSSIAN:
            lost |= (out["centres"] == 0.0).any(axis=1)
    return lost & np.isin(out["status"], (0, 1, 2, 4))


def _entropy(p, r):
    """Sum over the observations of the entropy of the responsibilities."""
    D, K = r.par.shape[0], r.par.shape[2]
    total = np.full(D, np.nan)
    host = [a if isinstance(a, np.ndarray) else a.copy_to_host() for a in (p.t1, p.w)]
    for d in range(D):
        if np.isfinite(r.loglik[d]):
            c = p.info[d, climbing.CENTRE]
            x, w = (a[p.off[d] : p.off[d + 1]] for a in host)
            P = np.empty((3, K))
            kernels.on_host.set_coefficients(P, r.par[d], p.family.base, float(p.family.shape), c)
            out, resp = np.empty(x.size), np.empty((K, x.size))
            kernels.SCORES.serial(x + c, c, p.family.base, P, out, resp, np.empty((0, x.size)))
            total[d] = -np.dot(np.sum(resp * np.log(np.maximum(resp, 1e-300)), axis=0), w)
    return total


def _kept(r, p):
    """Start parameters and outcomes in the units of y."""
    first, owner, start, points, outcome = r.starts
    D, R, _, K = first.shape
    loglik, status = np.full((D, R), np.nan), np.full((D, R), 3, np.int8)
    passes = np.zeros((D, R), np.int64)
    loglik[owner, start] = outcome[:, 1] + p.constant[owner]
    status[owner, start], passes[owner, start] = outcome[:, 4], outcome[:, 5]
    flat = first.reshape(D * R, 3, K)
    w, m, v = _in_units(flat, p, np.repeat(np.arange(D), R))
    return {
        "weights": w.reshape(D, R, K), "centres": m.reshape(D, R, K), "params": v.reshape(D, R, K), "loglik": loglik,
        "status": status, "n_iter": passes,
    }  # fmt: skip


def _assemble(parts, data, family, candidates, done):
    """One batch from the chunks; data sets that were not reached are STOPPED."""
    D, width = data.count, max(candidates)

    def joined(name, empty):
        arrays = [part[name] for part in parts]
        if done < D or not parts:
            arrays.append(np.full((D - done, *np.shape(empty)), empty))
        return np.concatenate(arrays)

    row = np.full(width, np.nan)
    values = {name: joined(name, row) for name in ("weights", "centres", "params")}
    for name in ("loglik", "objective", "runner_up", "decrement", "min_eig"):
        values[name] = joined(name, np.nan)
    for name in ("n_iter", "n_passes", "hits", "n_singular", "n_used"):
        values[name] = joined(name, np.int64(0))
    values["status"] = joined("status", np.int8(9))
    values["n_components"] = joined("n_components", np.int64(candidates[0]))
    values["criteria_"] = joined("criteria_", np.full(len(candidates), np.nan))
    mass = joined("mass", 1.0)
    free = ((3 if family.two else 2) * values["n_components"] - 1).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        values["bic"] = free * np.log(np.maximum(mass, 1.0)) - 2.0 * values["loglik"]
    values["aic"] = 2.0 * free - 2.0 * values["loglik"]
    values["se"] = {
        name: np.concatenate([part["se"][name] for part in parts] + [np.full((D - done, width), np.nan)])
        for name in (parts[0]["se"] if parts else ())
    }
    values["cov"] = joined("cov", np.full((0, 0) if not parts else parts[0]["cov"].shape[1:], np.nan))
    if data.dtype == np.float32:
        for name in ("weights", "centres", "params", "cov"):
            values[name] = values[name].astype(np.float32)
        values["se"] = {name: s.astype(np.float32) for name, s in values["se"].items()}
    starts = {}
    if parts and parts[0]["starts"]:
        for j, K in enumerate(candidates):
            starts[K] = {name: np.concatenate([part["starts"][j][name] for part in parts]) for name in parts[0]["starts"][j]}
    values["converged"] = np.isin(values["status"], (0, 4))
    values["n_dropped"] = joined("dropped", np.int64(0))
    notes = {d: note for part in parts for d, note in part["notes"].items()}
    return MixtureBatch(family=family.label, candidates=candidates, notes=notes, starts=starts, **values)
