"""Estimation of the four parameters of a stable distribution: `fit`, `fit_many` and their short cuts.

A call becomes a `Problem`, whose data are standardised by median and half interquartile range (arguments.py); a search finds
where the likelihood is largest (starts.py, maximisation.py, likelihood.py); standard errors follow (information.py).
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core import device as gpu
from numbastats._core import slabs
from numbastats._core.errors import ConvergenceWarning, names_ours
from numbastats._core.groups import labelled_sets
from numbastats._core.information import in_units, standard_errors
from numbastats._core.launch import choose_device, launch
from numbastats._core.options import Device, hands_on
from numbastats._core.parallel import in_threads, is_executor, mapped, shares, worker_count
from numbastats._core.progress import bar
from numbastats._core.results import warn_of_batch
from numbastats.stable.arguments import (
    NAMES,
    FitMethod,
    Information,
    ManyOptions,
    NanPolicy,
    Param,
    SimpleOptions,
    Wanted,
    check_many,
    check_regular,
    data_sets,
    problem_of,
)
from numbastats.stable.estimator import StableFit, StableFits
from numbastats.stable.information import covariance, expected_information
from numbastats.stable.kernels import fits as kernels
from numbastats.stable.likelihood import BATCH, Likelihood, inward, warned
from numbastats.stable.maximisation import Found, by_the_likelihood, gaussian_end, maximise
from numbastats.stable.paper import contracting_grid
from numbastats.stable.parameterisations import CUSP_TELLS, HIGHEST, NEAR_1, Form, conversion_slopes, converted, covariance_in_s1
from numbastats.stable.shared_tables import SharedLikelihood, shared_tables
from numbastats.stable.simple_estimators import REACH, SIMPLE, simple_estimate
from numbastats.stable.starts import within_reach

_FEW, _INDEFINITE = "few points", "no standard errors: the information matrix is not positive definite"

__all__ = ["fisher_information", "fit", "fit_ecf", "fit_many", "fit_quantile", "fit_small_alpha"]


@names_ours
def fit(  # noqa: PLR0913
    x: ArrayLike,
    method: FitMethod = "ml",
    *,
    start: ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | None = None,
    weights: ArrayLike | None = None,
    param: Param = "S0",
    se: Information = "expected",
    profile: bool = False,
    nan_policy: NanPolicy = "omit",
    callback: Callable[[int, NDArray[np.float64], float], Any] | None = None,
    device: Device = None,
    workers: Any = None,
) -> StableFit:
    """Estimate the parameters of a stable distribution.

    Parameters
    ----------
    x : array_like, shape (n,)
        Observations, at least 5, in any of the forms of :doc:`/data`.
    method : {"ml", "quantile", "ecf", "small", "grid"}
        Maximum likelihood; McCulloch's quantiles (alpha from 0.5 on); regression on the empirical characteristic function;
        moments of logarithms (alpha below about 0.5); the reference's contracting grid.
    start : sequence of 4 floats, optional
        alpha, beta, loc, scale to begin with, in `param`; by default the simple estimators are tried.
    fixed : dict, optional
        Values of parameters that are known, by name. A known loc in S1, such as the end 0 of a positive support, holds
        the mode for small alpha; not with "grid", nor with alpha = 1, where that location is infinite. A known loc in S0 does not
        hold it: with alpha below 0.6 the search may end at a lesser maximum.
    bounds : dict, optional
        Ranges of "alpha" and "beta", by default (0.1, 2) and (-1, 1).
    weights : array_like, optional
        Weights of the observations, >= 0, as counts: their sum is the number of observations in the log-likelihood and the
        standard errors.
    param : {"S0", "S1"}
        Parameterisation of the result, of `start` and of `fixed`.
    se : {"expected", "observed"}
        Which information gives the standard errors of "ml".
    profile : bool
        With "grid": location and scale follow from the quartiles for every (alpha, beta).
    nan_policy : {"omit", "raise"}
        Whether missing values are left out, and counted in `n_missing`, or refused. Infinite ones are refused.
    callback : callable, optional
        For "ml" and "grid": called with (iteration, parameters in S0 of the standardised data, log-likelihood); the search ends
        when it returns True.
    device, workers
        As in `pdf`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        For fewer than 5 observations, no spread, infinite values, several axes, missing weights, or options out of range.
    TypeError
        For values that are not real numbers of single or double precision.

    Warns
    -----
    ConvergenceWarning
        When the search did not converge, or the likelihood of the result is 0; the best point is returned.

    Notes
    -----
    Maximum likelihood climbs by Fisher scoring from each start and keeps the best. Without weights, a callback, a location
    known in S1, or ``device="cuda"``, and for alpha from 0.3 on, it climbs by tables of the density over cells of (alpha,
    beta): a cell is made when the first climb comes to it, in about 12 ms, and kept; all of them take 47 MB. The
    log-likelihood of the result is that of `logpdf`; for more than 4000 values, or where the tables are not close enough, the
    last steps are by it, too. Observed differences from a search without tables, for 1000 values, alpha 0.31 to 2 and all
    beta, in 420 fits: log-likelihoods 2.4e-6 higher to 3.5e-8 lower; standard errors 3e-4 relative, 1e-3 for abs(beta) above
    0.99.

    Below alpha = 1 the likelihood has a local maximum with the mode next to every observation: observations in clusters,
    around the half-sample mode and at both ends are compared, half a width of the peak apart, by distributions that have the
    moments of log|x - mode|. The likeliest climbs, or, where the peak holds fewer than 15 values, the likeliest three. Next to
    an end of beta a climb from its other side follows. The result is the best one found, not proved to be the largest: in 2
    of 1398 fits, both with abs(beta) above 0.98, it was less likely than what a wider search found, by 0.03 and 0.1. As alpha
    tends to 0 the likelihood has no bound: alpha ends at 0.1, and where few points would end there the mode is held midway
    between two observations, which the message says. The likelihood of such a result can be passed by distributions with the
    mode nearer to an observation, such as a `start` may lead to: they lie on the way to alpha = 0.1. Standard errors come
    from the inverse information, below alpha = 0.5 by way of S1; see `StableFit`.

    References
    ----------
    J. H. McCulloch, Commun. Statist. Simula. 15 (1986); I. A. Koutrouvelis, JASA 75 (1980); J. Julian-Moreno and others,
    "Fast parallel alpha-stable distribution function evaluation and parameter estimation using OpenCL in GPGPUs" (2016).

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.6, 0.4, loc=3.0, scale=2.0, size=2000, rng=1)
    >>> found = ns.stable.fit(x)
    >>> (
    ...     found.converged,
    ...     bool((abs(found.params - [1.6, 0.4, 3.0, 2.0]) < 4 * found.se).all()),
    ... )
    (True, True)
    """
    problem = problem_of(x, method, start, fixed, bounds, weights, param, se, nan_policy, callback)
    return _fitted(problem, profile, callback, device=device, workers=workers)


def _fitted(problem, profile=False, callback=None, searched=False, **options):
    """The fit of a problem, by shared tables where they can be used; kernels have `searched` it already, and left it."""
    plain = problem.w is None and callback is None and options.get("device") != "cuda"
    if plain and problem.method == "ml" and problem.form is Form.S0:
        if problem.wanted.regular and problem.se == "expected" and not searched:
            columns = _by_kernels([problem.x], problem.wanted, "cpu", 1)
            if columns["converged"][0]:
                one = {name: v[0] if name in ("message",) or v.ndim > 1 else v[0].item() for name, v in columns.items()}
                return StableFit(**one | {"n_missing": problem.missing}, method="ml", param=problem.param)
        likelihood: Likelihood = SharedLikelihood(problem.y, options)
    else:
        likelihood = Likelihood(problem.y, problem.w, problem.share, options)
    likelihood.form, likelihood.known = problem.form, problem.form is Form.S1
    return _estimated(problem, _searched(problem, likelihood, profile, callback), likelihood)


@hands_on(fit)
def fit_quantile(x: ArrayLike, **options: Unpack[SimpleOptions]) -> StableFit:
    """McCulloch's estimate from five quantiles; for alpha >= 0.5.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.0, size=20_000, rng=1)
    >>> float(ns.stable.fit_quantile(x).params[0].round(1))
    1.5
    """
    return fit(x, "quantile", **options)


@hands_on(fit)
def fit_ecf(x: ArrayLike, **options: Unpack[SimpleOptions]) -> StableFit:
    """Estimate from the empirical characteristic function, by regression.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.0, size=20_000, rng=1)
    >>> float(ns.stable.fit_ecf(x).params[0].round(1))
    1.5
    """
    return fit(x, "ecf", **options)


@hands_on(fit)
def fit_small_alpha(x: ArrayLike, **options: Unpack[SimpleOptions]) -> StableFit:
    """Estimate from moments of log|x - mode|, for alpha below about 0.5, where the other simple estimators fail.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(0.3, 0.5, size=20_000, rng=1)
    >>> float(ns.stable.fit_small_alpha(x).params[0].round(1))
    0.3
    """
    return fit(x, "small", **options)


@hands_on(fit)
def fit_many(
    data: Any,
    method: FitMethod = "ml",
    *,
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    workers: Any = None,
    progress: bool = False,
    param: Param = "S0",
    **options: Unpack[ManyOptions],
) -> StableFits:
    """Fit many data sets.

    Parameters
    ----------
    data : sequence or dict of arrays, 2-D array (one data set per row), or tuple (values, offsets)
        Offsets are D + 1 integers; data set d is ``values[offsets[d]:offsets[d + 1]]``. Keys of a dict, of a pandas groupby of
        one column (``frame.groupby("g")["x"]``) or of an iterable of pairs (key, array) are kept as `keys`.
    method : str
        As in `fit`.
    by : str or sequence of str, optional
        Columns of a pandas or polars frame that say to which data set a row belongs; one other column has the values.
    dim : str, optional
        Dimension of an xarray.DataArray along which the values of a data set run; coordinates of the others are the keys.
    workers : int or executor, optional
        Number of threads, each with data sets of its own, -1 for all cores. Kernels fit data sets with a regular likelihood
        (see the notes). Other fits spend about half of their time in Python, which only one thread runs at a time: for many of
        them pass an executor of processes, `joblib.Parallel` or a dask client. The results are the same.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed.
    param : {"S0", "S1"}
    **options
        Of `fit`, the same for all: start, fixed, bounds, se, profile, nan_policy, callback, device; weights for data sets of one
        length.

    Returns
    -------
    StableFits
        Never fails as a whole: a data set that cannot be fitted carries its reason in ``message``.

    Raises
    ------
    ValueError
        For values of options, data of one dimension, or offsets, that are not understood.
    TypeError
        For options that `fit` does not have.

    Warns
    -----
    ConvergenceWarning
        When more than half of several data sets have no fit.
    UserWarning
        When an array has many rows of three values at most: columns may be meant.

    Notes
    -----
    Fits are those of `fit`, and a data set's result does not depend on the others. Kernels on the CPU or the GPU fit data sets
    with at most 4000 values, alpha above 0.9 and off its upper limit of 2, and abs(beta) below 0.99, by maximum likelihood with
    the expected information, without weights, a callback or a location known in S1; others, and those that a climb by shared
    tables does not settle, go one by one on the host.

    Fits of 1000 values in a second of one thread's processor time, on two cores with AVX-512, 24 data sets in each region, the
    cells of the tables made before:

    =============== ================ ============ ==========
    alpha           abs(beta) < 0.5  0.5 to 0.9   0.9 to 1
    =============== ================ ============ ==========
    0.3 to 0.5      328              267          154
    0.5 to 0.7      421              377          269
    0.7 to 0.9      478              494          368
    0.9 to 1.1      1017             752          427
    1.1 to 1.5      1032             1033         558
    1.5 to 1.9      1218             954          596
    1.9 to 1.97     768              633          530
    1.97 to 2       362              325          372
    =============== ================ ============ ==========

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.7, 0.0, size=(3, 500), rng=1)
    >>> ns.stable.fit_many(x, "ecf").params.shape
    (3, 4)
    """
    check_many(method, param, options)
    data, keys = labelled_sets(data, by, dim)
    sets = data_sets(data, options.get("nan_policy", "omit"))
    options = dict(options, param=param)
    with bar(progress, len(sets), "stable.fit_many") as shown:
        if is_executor(workers):
            parts = []
            for part in mapped(workers, _fit_group, [(group, method, options) for group in shares(sets) or [[]]]):
                parts.append(part)
                shown.update(len(part["message"]))
            columns = {name: _joined([part[name] for part in parts]) for name in parts[0]}
        else:
            columns = _fit_sets(sets, method, options, worker_count(workers), shown.update)
    warn_of_batch(~columns["converged"], lambda i: columns["message"][i], data)
    return StableFits(**columns, method=method, param=param, keys=keys)


@names_ours
def fisher_information(alpha: float, beta: float, scale: float = 1.0) -> NDArray[np.float64]:
    """Expected information of one observation about (alpha, beta, loc, scale) in S0.

    Parameters
    ----------
    alpha : float
        In [0.1, 2).
    beta : float
        In (-1, 1).
    scale : float

    Returns
    -------
    numpy.ndarray, shape (4, 4)
        Symmetric; its inverse over n is the asymptotic covariance of maximum likelihood. Observed errors: 1e-10 relative (loc,
        alpha up to 0.6), 1e-6 (alpha = 1), 2e-5 next to alpha = 0.9.

    Raises
    ------
    ValueError
        Outside these ranges: at alpha = 2 and beta = +-1 there is no regular information.

    Examples
    --------
    >>> import numbastats as ns
    >>> cauchy = ns.stable.fisher_information(1.0, 0.0).diagonal()[2:]  # 1/2
    >>> cauchy.round(6).tolist()
    [0.5, 0.5]
    """
    check_regular(alpha, beta, scale)
    return expected_information(alpha, beta, scale, Form.S0)


def _searched(problem, likelihood, profile, callback):
    """Where the method's search ended."""
    y, w, limits, held = problem.y, problem.w, problem.limits, problem.held
    if problem.method in SIMPLE:
        begin = simple_estimate(problem.method, y, w, held, problem.form)
        p = inward(begin, limits)
        return Found(p, likelihood(p), 0, 0.0, begin)
    if problem.method == "grid":
        begin = problem.start if problem.start is not None else simple_estimate("quantile", y, w, held, problem.form)
        begin = within_reach(likelihood, inward(begin, limits), problem.free, limits)
        p, total, iterations = contracting_grid(likelihood, begin, problem.free, limits, profile, held, callback)
        found = Found(p, total, iterations, 0.0, begin)
    else:
        found = Found(*maximise(likelihood, y, w, held, problem.start, problem.free, limits, callback))
        if not likelihood.exact:
            found = by_the_likelihood(likelihood, found, problem)
    if 0 in problem.free and limits[0][1] == 2.0 and found.p[0] > 1.95:
        p, total = gaussian_end(likelihood, found.p, found.total, y, w, held)
        found = found._replace(p=p, total=total)
    return found


def _estimated(problem, found, likelihood):
    """The `StableFit` of what a search found."""
    converged, notes, inside = judged(problem, found, likelihood)
    p, method, centre, unit = found.p, problem.method, problem.centre, problem.unit
    mass = float(problem.x.size)
    cov, definite = np.full((4, 4), np.nan), False
    if method == "ml" and math.isfinite(found.total):
        cov, definite = covariance(p, inside, mass, problem.se, likelihood)
    if p[0] == 2.0 and 1 in problem.free and method == "ml":
        cov[1, 1] = np.inf
    cov /= problem.share
    units = np.array([1.0, 1.0, unit, unit])
    params = p * units + [0.0, 0.0, centre, 0.0]
    origin = np.asarray(found.begin) * units + [0.0, 0.0, centre, 0.0]
    if problem.param == "S1" and problem.form is Form.S0:
        cov = covariance_in_s1(cov, conversion_slopes(params, Form.S1) * units / units[:, None])
        if p[0] < CUSP_TELLS:  # the place of the cusp
            cov[2] = cov[:, 2] = np.nan
        params, origin = converted(params, Form.S1), converted(origin, Form.S1)
    for i, name in enumerate(NAMES):  # as given, without the roundings of the standardised data
        if name in problem.known:
            params[i] = origin[i] = problem.known[name]
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):  # the square of a scale may not be a number
        errors, cov = standard_errors(cov, units), in_units(cov, units)
    lost = [NAMES[i] for i in inside if method == "ml" and p[0] < HIGHEST and np.isnan(errors[i])]
    if lost and not definite:
        notes.append(_INDEFINITE)
    elif lost:
        notes.append(
            f"no standard error of {', '.join(lost)}: below alpha = {CUSP_TELLS} the cusp of the density tells it, whose place "
            "is not normally distributed"
        )
    loglik = float((found.total - mass * math.log(unit)) * problem.share)
    return StableFit(
        params,
        errors,
        cov,
        loglik,
        found.iterations,
        likelihood.count,
        converged,
        "; ".join(notes) or "ok",
        method,
        problem.param,
        origin,
        mass * problem.share,
        len(problem.free),
        problem.x.size,
        problem.missing,
    )


def judged(problem, found, likelihood):
    """Whether the search converged, notes on its result, and which estimates are off their limits; others are put on them.

    It is for ``found.begin``, the estimate of a simple method before it was moved inside the limits, to be within the method's
    reach.
    """
    p, method, free = found.p, problem.method, problem.free
    tied = p[0] < 0.5 and np.count_nonzero(np.diff(problem.x)) < 0.99 * problem.x.size - 1.0
    converged, notes = _search_judged(found, likelihood, tied)
    if problem.x.size <= kernels.FEW:
        notes.append(_FEW)
    if likelihood.between and p[0] < 1.0:
        notes.append("few points for so small an alpha: the mode is held between observations")
    least, most = REACH.get(method, (0.0, 3.0))
    alpha = found.begin[0]
    if alpha < least or alpha > most or (0 in free and alpha in (least, most)):
        small = alpha <= least
        notes.append(f"alpha is {'too' if small else 'not'} small: this method ends at {least if small else most}")
        warned(f"{notes[-1]}; use method='ml'", ConvergenceWarning)
        converged = False
    inside = _limits_judged(problem, p, notes)
    if likelihood.form is Form.S1 and 0 in inside and abs(p[0] - 1.0) < 1.1 * NEAR_1:
        notes.append(f"alpha = {p[0]:.6g}: next to 1, where the location in S1 is infinite")
        inside.remove(0)
    if tied:
        notes.append("ties")
        warned("more than 1 % of the values are tied and alpha is small: rounded data make the likelihood infinite")
    return converged, notes, inside


def _search_judged(found, likelihood, tied):
    """Whether the search converged, and in a list why not."""
    converged = math.isfinite(found.total) and 0.0 <= found.gain < 1e-3 and not likelihood.stopped
    if likelihood.stopped:
        return converged, [f"stopped by the callback after {found.iterations} iterations"]
    if found.total == math.inf:
        note = "the likelihood is infinite: some values coincide with a peak narrower than doubles can tell"
        warned(f"{note}; raise the lower bound of alpha", ConvergenceWarning)
    elif not math.isfinite(found.total):
        note = "the likelihood is 0: some values are impossible under the distribution found"
        warned(f"{note}; fix fewer parameters", ConvergenceWarning)
    elif not converged:
        note = f"not converged after {found.iterations} iterations: a step would still gain about {found.gain:.1e}"
        if not tied:
            warned(f"{note}; pass another start, or more data", ConvergenceWarning)
    else:
        return True, []
    return converged, [note]


def _limits_judged(problem, p, notes):
    """The free parameters that are off their limits; those at one are put on it in p, with a note."""
    free, limits, inside = problem.free, problem.limits, list(problem.free)
    if p[0] == 2.0 and (0 in free or 1 in free):
        p[1] = p[1] if 1 not in free else 0.0
        notes.append("alpha = 2: a Gaussian, beta has no meaning")
        return inside
    for i in [i for i in free if i < 2]:
        low, high = limits[i] if i == 1 else (limits[0][0], min(limits[0][1], HIGHEST))
        if not low + 1e-9 < p[i] < high - 1e-9:
            p[i] = low if p[i] < 0.5 * (low + high) else high
            notes.append(_at_a_limit(i, p[i], problem.method))
            inside.remove(i)
    return inside


def _at_a_limit(i, value, method):
    """The note on a parameter at its limit."""
    note = f"boundary: {NAMES[i]} = {value:.6g}"
    if method != "ml":
        return note
    return (
        f"{note}, without a standard error: its interval is one-sided; fits with fixed={{{NAMES[i]!r}: value}} within 1.92 of "
        "this loglik make one of 95 %"
    )


def _fit_one(job, stop=None):
    """One data set of many, with its reason if it cannot be fitted."""
    x, method, options, searched = job
    token = BATCH.set(stop or threading.Event())
    try:
        with np.errstate(all="ignore"):
            how = {"device": options.get("device"), "workers": 1, "searched": searched}
            steps = options.get("profile", False), options.get("callback")
            what = {name: value for name, value in options.items() if name not in ("device", "profile")}
            return _fitted(problem_of(x, method, **what), *steps, **how)
    except ValueError as error:
        none = np.full(4, np.nan)
        unknown = none, none, np.full((4, 4), np.nan), math.nan, 0, 0, False
        free, missing = 4 - len(options.get("fixed") or ()), int(np.isnan(x).sum())
        return StableFit(*unknown, str(error), method, options["param"], none, 0.0, free, missing)
    finally:
        BATCH.reset(token)


def _fit_group(job):
    """The fits of a share of the data sets, for an executor."""
    return _fit_sets(*job, 1, lambda count: None)


def _joined(parts):
    """A column of parts."""
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else sum(parts, [])


def _fit_sets(sets, method, options, count, update):
    """The columns of `StableFits`: by kernels, and one by one where they leave a data set."""
    columns, wanted = None, _wanted_by_kernels(method, options)
    if wanted is not None and sets:
        where = choose_device(options.get("device"))
        columns = _by_kernels(sets, wanted, where, count, update)
        options = dict(options, device="cpu")
    left = range(len(sets)) if columns is None else np.flatnonzero(~columns["converged"]).tolist()
    found = _in_threads([(sets[i], method, options, columns is not None) for i in left], count, update)
    if columns is None:
        return _stacked(found)
    for i, fit_of in zip(left, found, strict=True):
        for name, column in columns.items():
            column[i] = getattr(fit_of, name)
    return columns


_SHAPES = {"params": (4,), "se": (4,), "cov": (4, 4), "start": (4,)}
_TYPES = dict.fromkeys(("n_iter", "n_eval", "n_free", "n_values", "n_missing"), np.int64) | {"converged": np.bool_}


def _stacked(found):
    """The columns of fits."""
    columns = {}
    for name in (f.name for f in dataclasses.fields(StableFit) if f.name not in ("message", "method", "param")):
        values = np.array([getattr(f, name) for f in found], _TYPES.get(name, np.float64))
        columns[name] = values.reshape(len(found), *_SHAPES.get(name, ()))
    return columns | {"message": [f.message for f in found]}


def _wanted_by_kernels(method, options):
    """What the kernels of regular fits are to find, None where they do not take such a fit."""
    if method != "ml" or options.get("se", "expected") != "expected":
        return None
    if options.get("weights") is not None or options.get("callback") is not None:
        return None
    try:
        wanted = Wanted.of(method, *map(options.get, ("start", "fixed", "bounds", "param")))
    except ValueError:  # each data set has it as its message
        return None
    return wanted if wanted.regular else None


def _by_kernels(sets, wanted, where, count, update=lambda count: None):
    """The columns of fits of data sets; not converged where another search has to follow."""
    (low, high), skew = wanted.limits
    ends = np.array([(low, max(low, min(high, HIGHEST)) if 0 in wanted.free else high), skew])
    start = np.full(4, np.nan) if wanted.start is None else wanted.start
    what = np.array([start, [wanted.known.get(name, np.nan) for name in NAMES]])
    what = what, ends, np.array(wanted.free), float(wanted.param == "S1")
    offsets = np.concatenate([[0], np.cumsum([x.size for x in sets])])
    found = np.full((len(sets), kernels.WIDTH), np.nan)
    cost = 3e5 + 600.0 * offsets[-1] / len(sets)  # nanoseconds, by about as much as a GPU is faster less

    def slab(first, last):
        some = sets[first:last]
        x = np.concatenate(some) if len(some) > 1 else some[0]
        _search(x, offsets[first : last + 1] - offsets[first], what, found[first:last], where, count, cost)
        update(int((found[first:last, 0] == kernels.DONE).sum()))

    slabs.in_slabs(slab, len(sets), cost if where == "cpu" else 1e-3 * cost, count)
    done = found[:, 0] == kernels.DONE
    numbers = np.where(done[:, None], found, 0.0)
    texts = {code: _text(int(code), ends) for code in np.unique(numbers[:, kernels.NOTES])}
    part = lambda first, *shape: found[:, first : first + math.prod(shape)].copy().reshape(-1, *shape)  # noqa: E731
    return {
        "params": part(kernels.PARAMS, 4),
        "se": part(kernels.SE, 4),
        "cov": part(kernels.COV, 4, 4),
        "loglik": found[:, kernels.LOGLIK].copy(),
        "n_iter": numbers[:, 3].astype(np.int64),
        "n_eval": numbers[:, 2].astype(np.int64) + 1,
        "converged": done,
        "message": [texts[code] for code in numbers[:, kernels.NOTES].tolist()],
        "start": part(kernels.BEGIN, 4),
        "n_obs": numbers[:, kernels.COUNT].copy(),
        "n_free": np.full(len(sets), len(wanted.free)),
        "n_values": numbers[:, kernels.COUNT].astype(np.int64),
        "n_missing": np.diff(offsets) - numbers[:, kernels.COUNT].astype(np.int64),
    }


def _search(x, offsets, what, found, where, count, cost):
    """Run the kernels over data sets one after another in x, with the cells of the shared tables that they come to."""
    tables, todo = shared_tables(), np.arange(len(found))
    how = dict(device=where, workers=count, cost=cost, outputs=(), threads=kernels.LANES)
    put = gpu.upload if where == "cuda" else np.ascontiguousarray
    x, offsets, y = put(x), put(offsets), gpu.empty(x.shape, x.dtype) if where == "cuda" else np.empty_like(x)
    what, result = [put(v) if isinstance(v, np.ndarray) else v for v in what], put(found)

    def run(kernel, *args):
        launch(kernel, args, len(todo) * (kernels.LANES if where == "cuda" else 1), **how)
        if where == "cuda":
            result.copy_to_host(found)

    while todo.size:
        pool = gpu.constant(tables.copied()) if where == "cuda" else tables.pool
        run(kernels.SEARCH, x, offsets, put(todo), *what, pool, y, result)
        todo = todo[found[todo, 0] == kernels.MISSING]
        for i, j in np.unique(found[todo, 4:6].astype(np.int64), axis=0).tolist():
            tables.make(i, j)
    todo = np.flatnonzero(found[:, 0] == kernels.DONE)
    if todo.size:
        run(kernels.LIKELIHOOD, y, offsets, put(todo), result)
    without = np.flatnonzero((found[:, 0] == kernels.DONE) & np.isnan(found[:, kernels.LOGLIK]))  # no table for a kernel
    y, offsets = (v if isinstance(v, np.ndarray) or not without.size else v.copy_to_host() for v in (y, offsets))
    for k in without:
        own = found[k]
        some = y[offsets[k] : offsets[k] + int(own[kernels.COUNT])]
        total = Likelihood(some, None, 1.0, {"device": "cpu", "workers": 1})(own[kernels.P : kernels.P + 4])
        own[kernels.LOGLIK] = total - some.size * math.log(own[kernels.UNIT])
        own[0] = kernels.DONE if abs(total - own[1]) < kernels.CLOSE else kernels.LEFT


def _text(notes, ends):
    """The message of a fit by its notes."""
    said = [_FEW] if notes & kernels.NOTE_FEW else []
    for i, note in enumerate((kernels.NOTE_ALPHA, kernels.NOTE_BETA)):
        said += [_at_a_limit(i, ends[i, k], "ml") for k in (0, 1) if notes & note << k]
    return "; ".join([*said, *([_INDEFINITE] if notes & kernels.NOTE_INFORMATION else [])]) or "ok"


def _in_threads(jobs, count, update):
    """The fits of all jobs by so many threads; after an exception, Ctrl-C among them, those under way end too."""
    found, stop = [None] * len(jobs), threading.Event()

    def one(i):
        try:
            found[i] = _fit_one(jobs[i], stop)
            update(1)
        except BaseException:
            stop.set()
            raise

    in_threads(one, [(i,) for i in range(len(jobs))], count)
    return found
