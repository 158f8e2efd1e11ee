"""What the user passes, checked: options, parameters of a mixture, data sets in one flat array with a status for each."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.broadcast import real64, result_dtype, unmasked
from numbastats._core.checks import choice, is_masked
from numbastats._core.costs import Work
from numbastats._core.data import NanPolicy, check_weights, doubles, floats, is_frame, refuse_missing, series
from numbastats._core.groups import labelled_sets, same_order
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.launch import choose_device
from numbastats._core.options import Device
from numbastats._core.parallel import in_threads, is_executor, worker_count
from numbastats._core.refusals import refusals
from numbastats._core.status import Status
from numbastats.mixture.families import family_of, names_distributions
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.passes import MAX_CUDA_K
from numbastats.mixture.kernels.starts import KMEANS_CUTS, QUANTILE_CUTS, SUBSET
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam

Starts = Literal["portfolio", "subset", "quantile", "kmeans++", "hierarchical", "random"]
Method = Literal["newton", "squarem", "em", "bulkem"]
Criterion = Literal["bic", "aic", "icl"]
Precision = Literal["double", "mixed", "single"]
Missing: TypeAlias = NanPolicy | Literal["marginal"] | None
Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
Family: TypeAlias = str | tuple[str, float] | None  # with passes of its own


class DensityOptions(TypedDict, total=False):
    """Options of densities of given mixtures."""

    family: Family
    device: Device
    workers: int | None


class ClimbOptions(TypedDict, total=False):
    """Options of `fit_many` that all fits have."""

    n_init: int | None
    starts: Starts
    method: Method
    tol: float
    max_iter: int
    prior: Mapping[str, float] | None
    min_sd_ratio: float | None
    min_count: float | None
    precision: Precision
    nan_policy: Missing
    device: Device
    workers: Any
    progress: bool
    equal: str | Sequence[str] | None
    fixed_weights: ArrayLike | None


class RatioOptions(ClimbOptions, total=False):
    """Options of `fit_many` that `likelihood_ratio` has."""

    covariance: str | Sequence[str] | None
    max_condition: float | None


class SearchOptions(ClimbOptions, total=False):
    """Options of `fit_many` that `fit` has in one dimension and in several."""

    init_params: ArrayLike | None
    criterion: Criterion
    se: bool | Literal["sandwich"]
    cov: bool
    rng: Seed
    callback: Callable | None
    dataset_index: int


class FitOptions(SearchOptions, total=False):
    """Options of `fit_many` that `fit` has."""

    covariance: str | Sequence[str] | None
    max_condition: float | None
    noise: bool | float


class OneOptions(SearchOptions, total=False):
    """Options of `fit` beside data and family."""

    errors: Literal["raise", "status"]
    weights: ArrayLike | None


class ManyOptions(FitOptions, total=False):
    """Options of `fit_many` beside data and family."""

    by: str | Sequence[str] | None
    dim: str | None
    offsets: ArrayLike | None
    weights: Iterable | Mapping | ArrayLike | None
    keep_starts: bool


PASS = 15.0  # nanoseconds that an observation takes with a component in a pass of a climb
PASSES, LAUNCHES = 40, 70.0  # of a climb, and 10 passes of each start; kernels on a GPU, two for each round
KINDS = {
    "portfolio": (SUBSET, QUANTILE_CUTS, KMEANS_CUTS),
    "subset": (SUBSET,),
    "quantile": (QUANTILE_CUTS,),
    "kmeans++": (KMEANS_CUTS,),
}
METHODS = {"newton": c.NEWTON, "squarem": c.SQUAREM, "em": c.EM, "bulkem": c.BULKEM}


ADMISSIBLE = (Status.OK, Status.NO_CONVERGENCE, Status.NOT_CERTIFIED)  # what a choice among numbers of components takes
CHAIN = 20  # components up to which fits with fewer than are asked for are made, to start from and to be no less likely than
SHORT = "fewer components are likelier than all certified maxima with admissible components that were found"
_IN_WORDS = {  # where mixtures know more than the status says
    Status.OK: "local maximum, certified",
    Status.NO_CONVERGENCE: "the decrement test was not met within max_iter passes, or within three rounds of Newton's method, "
    "where method='squarem' may go further; the best point is returned",
}


def in_words(status) -> str:
    """The meaning of a status, as mixtures say it."""
    return _IN_WORDS.get(status, Status(status).meaning)


# --- options of a fit ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Options:
    """What a fit is asked for; `n_init` None means 30 starts, 60 and 100 for 3 and more components where it is not "newton"."""

    method: str
    starts: str
    n_init: int | None
    tol: float
    max_iter: int
    prior_n: float
    prior_d: float | None
    prior_a: float
    min_sd_ratio: float | None
    min_count: float
    precision: str
    key: tuple = (0, 0)
    device: str = "cpu"
    workers: object = 1
    hessians: bool = False  # whether second derivatives are wanted after the fit
    criterion: str = "bic"
    # no longer empty once the call was interrupted: its other threads, to which no signal comes, look at it between slabs
    halt: list = dataclasses.field(default_factory=list, compare=False)

    def n_starts(self, K):
        """Starts per data set."""
        if K == 1:
            return 1
        if self.n_init is not None:
            return self.n_init
        return 30 if K == 2 or self.method == "newton" else 60 if K == 3 else 100

    def settings(self, family):
        """Settings of the climb kernels, double precision."""
        return c.Settings(
            family=family.code,
            shape=float(family.shape),
            method=METHODS[self.method],
            tol=self.tol,
            decrement_tol=self.tol if self.method == "newton" else 1e-3,
            noise=1e-12,
            max_passes=self.max_iter,
            warm_passes=5,
            prior_n=self.prior_n,
            prior_a=self.prior_a,
        )


def fit_options(method, starts, n_init, tol, max_iter, prior, min_sd_ratio, min_count, criterion, precision) -> Options:
    """Options of `fit_many`, without the random key, device and threads."""
    choice("method", method, tuple(METHODS))
    choice("starts", starts, tuple(KINDS))
    choice("criterion", criterion, ("bic", "aic", "icl"))
    choice("precision", precision, ("double", "mixed", "single"))
    if precision == "single" and method != "newton":
        raise ValueError(f"precision='single' needs method='newton', not {method!r}; use precision='double'")
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive")
    if not max_iter >= 1 or max_iter % 1:
        raise ValueError(f"max_iter={max_iter!r} is not a number of passes; use an integer >= 1")
    for name, value in (("min_sd_ratio", min_sd_ratio), ("min_count", min_count)):
        if value is not None and not 0 <= value < math.inf:
            raise ValueError(f"{name}={value!r} is out of range; use a finite number >= 0")
    if n_init is not None and (n_init != int(n_init) or n_init < 1):
        raise ValueError(f"n_init={n_init!r} is not a number of starts; use an integer >= 1, or None")
    n_init, ratio = None if n_init is None else int(n_init), None if min_sd_ratio is None else float(min_sd_ratio)
    n0, d0, a0 = _prior(prior)
    given = method, starts, n_init, float(tol), int(max_iter), n0, d0, a0, ratio, float(min_count), precision
    return Options(*given, criterion=criterion)


def _prior(prior):
    prior = dict(prior or {})
    n0, d0, a0 = prior.pop("n0", 0.0), prior.pop("d0", None), prior.pop("a0", 1.0)
    if prior:
        raise ValueError(f"prior has the unknown entries {sorted(prior)}; use n0, d0, a0")
    if not (0 <= n0 < math.inf and (d0 is None or 0 < d0 < math.inf) and 1 <= a0 < math.inf):
        raise ValueError(f"prior n0={n0!r}, d0={d0!r}, a0={a0!r} is out of range; use finite n0 >= 0, d0 > 0, a0 >= 1")
    return float(n0), None if d0 is None else float(d0), float(a0)


def numbers_of_components(n_components, D):
    """Sorted numbers of components to fit, and the wanted one for each data set if that is prescribed."""
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


def one_number(num_components):
    """Refuses what is not one number of components."""
    if np.ndim(num_components) or not hasattr(num_components, "__index__"):
        raise ValueError(f"num_components={num_components!r} is not one integer; for several use fit_many(method='bulkem')")


def threads_or_pool(workers):
    """An executor, or None, and the number of threads of each task."""
    return (workers, 1) if is_executor(workers) else (None, worker_count(workers))


def work_of(sizes, candidates, options):
    """What fits have to do; on a GPU a data set has the threads of a warp for each number of components."""
    n, D = float(sizes.sum()), sizes.size
    nanoseconds = n * PASS * sum(K * (PASSES + (10 * options.n_starts(K) if K > 1 else 0)) for K in candidates)
    return Work(nanoseconds, 24.0 * n, 1e3 * D * sum(candidates), 32.0 * D * len(candidates), LAUNCHES)


def given_device(device, sizes, candidates, options, workers, most=MAX_CUDA_K):
    """The device for data sets of these sizes; CUDA holds a limited number of components."""
    fits = max(candidates) <= most
    where = choose_device(device, work=(lambda: work_of(sizes, candidates, options)) if fits else None, workers=workers)
    if where == "cuda" and not fits:
        raise ValueError(f"n_components={max(candidates)} is more than the {most} that device='cuda' takes; use device='cpu'")
    return where


def for_latent(family, options):
    """Refuses options that families with a latent variable do not have."""
    if not family.latent:
        return
    for name, value, allowed in (
        ("method", options.method, ("newton", "em")),
        ("precision", options.precision, ("double",)),
        ("prior", (options.prior_n, options.prior_a), ((0.0, 1.0),)),
    ):
        if value not in allowed:
            kept = "no prior" if name == "prior" else f"{name}=" + " or ".join(map(repr, allowed))
            raise ValueError(f"family={family.name!r} takes {kept}; {name} was set otherwise")


def explicit_starts(init_params, D, candidates, rows=3):
    """Starts (D, R, rows, K) of `fit_many`, or None; `rows` is 4 for families of three parameters."""
    if init_params is None:
        return None
    given = np.asarray(init_params, np.float64)
    if len(candidates) > 1 or given.ndim != 4 or given.shape[0] != D or given.shape[2:] != (rows, candidates[0]):
        raise ValueError(
            f"init_params has shape {given.shape}; it must be (D, R, {rows}, K) = ({D}, R, {rows}, {candidates[0]}) with one K: "
            "weights, centres and params of R starts"
        )
    if (given[:, :, 0] < 0).any():
        raise ValueError("init_params has negative weights; use weights >= 0")
    return given


def starts_of_one(init_params, family):
    """Starts (1, R, 3, K) of `fit` from (R, 3, K)."""
    given = np.asarray(init_params, np.float64)
    used = given if family_of(family).two or given.ndim < 3 else given[..., :2, :]
    if not np.isfinite(used).all():
        raise ValueError("init_params has NaN or infinite entries; use finite weights, centres and params")
    return given[None] if given.ndim == 3 else given


# --- mixtures with given parameters ----------------------------------------------------------------------------------------


def mixture_of(weights, centres, params, family):
    """The family and the parameters as kernels have them: (3, K) with dispersions, of families with three (4, K)."""
    known = family_of(family)
    w, m = (np.atleast_1d(real64(to_host(a, name))) for a, name in ((weights, "weights"), (centres, "centres")))
    v = np.ones(m.shape) if not known.two or params is None else np.atleast_1d(real64(to_host(params, "params")))
    if known.two and params is None:
        names = " and ".join(known.parameters[1:])
        raise ValueError(f"family={family!r} needs params, its {names} per component")
    shape = (2, *m.shape) if known.third else m.shape
    if known.third and v.shape == (2,) and m.shape == (1,):
        v = v[:, None]
    if not (w.ndim == 1 and w.shape == m.shape and v.shape == shape and w.size):
        raise ValueError(
            f"weights, centres, params have shapes {w.shape}, {m.shape}, {v.shape}; all must be (K,) with K >= 1"
            + (f", params (2, K): {known.param} and {known.third}" if known.third else "")
        )
    total = w.sum()
    if not ((w >= 0).all() and 0 < total < math.inf):
        raise ValueError(f"weights={w!r} must be >= 0 with a positive finite sum")
    positive = v[0] if known.code == lat.SKEW_NORMAL else v
    anywhere = known.base == fam.GAUSSIAN
    if not (np.isfinite(m).all() and (anywhere or (m > 0).all())):
        raise ValueError(
            f"centres={m!r} are out of domain: the {known.parameters[0]} of {known.name} must be "
            + ("finite" if anywhere else "positive and finite")
        )
    if not ((positive > 0).all() and np.isfinite(v).all()):
        names = f"{known.param} and {known.third}" if known.code == lat.STUDENT_T else known.param
        raise ValueError(f"params={v!r} are out of domain: the {names} of {known.name} must be positive, and all params finite")
    return known, np.stack([w / total, m, *(known.rows_of(v) if known.two else [v])])


def values_of(x):
    """Values in double precision, NaN where masked, and the float type of results."""
    x = unmasked(x)
    dtype = result_dtype(["x"], [x.dtype])
    return x.astype(np.float64), dtype


def weights_of(w, name):
    """Weights as floats; masked ones count as 0."""
    return floats(np.ma.filled(w, 0) if is_masked(w) else w, name)


def weighted_values(x, sample_weight):
    """Values and weights of a piece of the data, without missing values and weights of 0."""
    rows_alike(x, sample_weight, ("x", "sample_weight"))
    x = one_data_set(x).astype(np.float64, copy=False)
    w = np.ones(x.shape) if sample_weight is None else doubles(sample_weight, "sample_weight")
    if w.shape != x.shape:
        raise ValueError(f"x has shape {x.shape} and sample_weight {w.shape}; both must be (n,)")
    check_weights(w, np.isnan(x), "sample_weight")
    keep = ~np.isnan(x) & (w != 0.0)
    return x[keep], w[keep]


def parts_of(parts):
    """Results of `partial_stats` that may be added."""
    parts = [real64(part) for part in parts]
    if {part.ndim for part in parts} == {2} and len({part.shape[1] for part in parts}) == 1 and parts[0].shape[1] >= 8:
        return np.concatenate(parts)  # of two columns or more, a row for each chunk
    shapes = {part.shape for part in parts}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError(f"the parts have shapes {sorted(shapes)}; pass results of partial_stats with the same parameters")
    return parts


def sums_of(total, K, sums=3):
    """Sums of K components as rows, and the log-likelihood."""
    total = np.asarray(total, np.float64)
    if total.shape != (sums * K + 1,):
        raise ValueError(f"total has shape {total.shape}; partial_stats of {K} components gives ({sums * K + 1},)")
    return total[:-1].reshape(K, sums), float(total[-1])


# --- data ------------------------------------------------------------------------------------------------------------------


def one_data_set(x, family=None, nan_policy="omit", name="x"):
    """Values of `fit`, shape (n,)."""
    where = (
        "many data sets go to fit_many, and rows of several columns are an array (n, d) or a frame; pass "
        f"{name}.ravel() for one data set of all values"
    )
    x = series(x, name, where, word_of(family))
    _refuse_marginal(nan_policy)
    refuse_missing(x, nan_policy, name)
    return x


def _refuse_marginal(nan_policy):
    if nan_policy == "marginal":
        raise ValueError("nan_policy='marginal' is for rows of several columns; of one column nan_policy='omit' does the same")


def word_of(family):
    """The word for a family of continuous values that has passes of its own; None for others."""
    known = None if family is None or names_distributions(family) else family_of(family)
    return None if known is None or known.discrete else str(known.label)


def column(X):
    """Values of the estimator, shape (n,), from (n,) or (n, 1)."""
    x = X if is_frame(X) else floats(X, "X")
    if getattr(x, "shape", ())[1:] == (0,):
        raise ValueError(f"0 feature(s) (shape={x.shape}) while a minimum of 1 is required: X has no column; pass (n,) or (n, 1)")
    return one_data_set(x, name="X")


def draw_count(n_samples):
    """A number of draws."""
    if np.ndim(n_samples) or not hasattr(n_samples, "__index__") or n_samples < 0:
        raise ValueError(f"n_samples={n_samples!r} is not a number of draws; use an integer >= 0")
    return int(n_samples)


@dataclasses.dataclass
class Values:
    """Values x and weights w (None: all 1) of data sets in a row, as they were passed; set d is off[d] to off[d + 1]."""

    x: np.ndarray
    w: np.ndarray | None
    off: np.ndarray
    unit: bool  # whether all weights above 0 are 1, in the whole call
    dtype: np.dtype  # of the results
    spare: bool = False  # whether x may be overwritten, by the one chunk that it is

    @functools.cached_property
    def count(self):
        """Number of data sets."""
        return self.off.size - 1

    def cut(self, lo, hi):
        """Data sets lo to hi; shares memory."""
        a, b = self.off[lo], self.off[hi]
        w = None if self.w is None else self.w[a:b]
        return dataclasses.replace(self, x=self.x[a:b], w=w, off=self.off[lo : hi + 1] - a)


@dataclasses.dataclass
class Data:
    """Data sets ready for the kernels.

    Attributes
    ----------
    y, w : numpy.ndarray
        Transformed values and weights of all data sets in a row, ascending within each; NaN and zero weights are gone, equal
        values are one with the sum of their weights: fits of weighted and of repeated values are the same. Weights None: all 1.
    off : numpy.ndarray of int64, shape (D + 1,)
    unit : numpy.ndarray of bool, shape (D,), optional
        Whether every weight of a data set is 1; None: of all.
    dropped, missing : numpy.ndarray of int64, shape (D,)
        Numbers of the values that are missing or of weight 0, and of those that are missing.
    status : numpy.ndarray of int8, shape (D,)
        0, or why the data set cannot be fitted.
    notes : dict
        Data set -> message.
    power : numpy.ndarray, shape (D,)
        Powers of two that bring the largest |y| near 1.
    factor : numpy.ndarray, shape (D,)
        What turns true values of g(x) into ``power * y``.
    counts : numpy.ndarray of int64, shape (D,), optional
        Numbers of observations, where equal ones stand as one value with the sum of their weights.
    """

    y: np.ndarray
    w: np.ndarray | None
    off: np.ndarray
    unit: np.ndarray | None
    dropped: np.ndarray
    missing: np.ndarray
    status: np.ndarray
    notes: dict
    power: np.ndarray
    factor: np.ndarray
    counts: np.ndarray | None = None
    spare: bool = False  # whether y may be overwritten when the statistics are made

    @functools.cached_property
    def count(self):
        """Number of data sets."""
        return self.off.size - 1


def keyed(data, weights, by=None, dim=None):
    """Data sets and weights, in the same order, and the keys; data without keys remain what they are."""
    if weights is not None and not (by is None and dim is None):
        raise ValueError("weights= with by= or dim= has no labels to go by; pass data and weights as dicts with the same keys")
    data, keys = labelled_sets(data, by, dim)
    if weights is None:
        return data, None, keys
    weights = _weights_of(weights, keys)
    if isinstance(data, list | tuple) and isinstance(weights, list | tuple):
        for i, (x, w) in enumerate(zip(data, weights, strict=False)):
            rows_alike(x, w, (f"data[{i}]", f"weights[{i}]"))
    return data, weights, keys


def _weights_of(weights, keys):
    sets, others = labelled_sets(weights, name="weights")
    return same_order(sets, keys, others, "weights")


def _flatten(data, offsets, name, family=None):
    """Flat float64 values, which may be the caller's, offsets and dtype; a mask makes data NaN, weights 0."""
    read = weights_of if name == "weights" else functools.partial(floats, family=family)
    if offsets is not None:
        x = read(data, name)
        off = np.asarray(to_host(offsets, "offsets"))
        if x.ndim != 1:
            raise ValueError(f"{name} has shape {x.shape}; with offsets it must be 1-D")
        if off.ndim != 1 or off.size < 1 or off.dtype.kind not in "iu":
            raise ValueError(f"offsets has shape {off.shape} and dtype {off.dtype}; it must be a 1-D array of D + 1 integers")
        off = off.astype(np.int64)
        if off[0] != 0 or off[-1] != x.size or (np.diff(off) < 0).any():
            raise ValueError(
                f"offsets must start at 0, not fall, and end at the number of values, {x.size}; got {off[0]} ... {off[-1]}"
            )
    elif isinstance(data, (list, tuple)) and not (len(data) and all(np.ndim(p) == 0 for p in data)):
        parts = [read(p, f"{name}[{i}]") for i, p in enumerate(data)]
        parts = [series(p, f"{name}[{i}]", "pass .ravel() of it, or one column") for i, p in enumerate(parts)]
        off = np.concatenate([[0], np.cumsum([p.size for p in parts], dtype=np.int64)]).astype(np.int64)
        dtype = result_dtype([f"{name}[{i}]" for i in range(len(parts))], [p.dtype for p in parts])
        flat = np.concatenate(parts, dtype=np.float64, casting="unsafe") if parts else np.empty(0)
        return flat, off, dtype
    else:
        x = read(data, name)
        if x.ndim != 2:
            raise ValueError(
                f"{name} has shape {x.shape}; pass a list of 1-D arrays, a 2-D array whose rows are data sets (NaN = missing), "
                "or a 1-D array with offsets. For one data set use fit()"
            )
        off = np.arange(x.shape[0] + 1, dtype=np.int64) * x.shape[1]
        x = x.reshape(-1)
    dtype = result_dtype([name], [x.dtype])
    return x.astype(np.float64, copy=False), off, dtype


def _per_set(mask, off):
    """How many are True in each data set."""
    return np.diff(np.concatenate([[0], np.cumsum(mask)])[off])


def flatten(data, offsets, weights, family=None, nan_policy="omit") -> Values:
    """The data sets in a row, float64."""
    _refuse_marginal(nan_policy)
    x, off, dtype = _flatten(data, offsets, "data", word_of(family))
    refuse_missing(x, nan_policy, "data", off)
    if weights is None:
        return Values(x, None, off, True, dtype)
    w, woff, _ = _flatten(weights, offsets, "weights")
    if woff.size != off.size or (woff != off).any():
        raise ValueError("weights must have the layout of data: the same number of data sets, each of the same length")
    return Values(x, w, off, bool(((w == 1.0) | ~(w > 0.0)).all()), dtype)


def arrange(values, family, threads=1) -> Data:
    """Check, drop, transform and sort copies."""
    x, w, off = values.x if values.spare else values.x.copy(), None if values.w is None else values.w.copy(), values.off
    D = values.count
    status, notes = np.zeros(D, np.int8), {}
    bad_weight = missing = None
    if w is not None:
        missing = np.isnan(x)
        wrong = ~(w >= 0) | np.isinf(w)
        bad_weight = wrong & ~missing
        w[wrong] = 0.0
        x[w == 0.0] = np.nan  # takes no part, whatever it is

    if bad_weight is not None and bad_weight.any():
        counts = _per_set(bad_weight, off)
        for d in np.flatnonzero(counts).tolist():
            first, status[d] = int(bad_weight[off[d] : off[d + 1]].argmax()), Status.NOT_FINITE
            notes[d] = f"{counts[d]} weights are negative, NaN or infinite, the first at index {first}; weights must be >= 0"
    clean = not family.discrete and _all_within(x, family.minimum, threads)
    drop = None
    if not clean:
        drop, infinite = np.isnan(x), np.isinf(x)
        outside = family.outside(np.where(drop | infinite, max(1.0, family.minimum), x))
        found = refusals(family.admitted, np.flatnonzero((_per_set(outside | infinite, off) > 0) & (status == 0)), x, off)
        status[found.which] = np.where(found.infinite, Status.NOT_FINITE, Status.OUTSIDE)
        notes |= {d: found.words(d) for d in found.which.tolist()}
    dropped = lost = np.zeros(D, np.int64)
    if drop is not None and drop.any():
        dropped = _per_set(drop, off)
        lost = dropped if missing is None else _per_set(missing, off)
        keep = ~drop
        x = x[keep]
        w = w[keep] if w is not None else None
        off = np.concatenate([[0], np.cumsum(np.diff(off) - dropped)]).astype(np.int64)
    for d in np.nonzero(np.diff(off) == 0)[0]:
        if status[d] == 0:
            status[d] = Status.NONE_LEFT
            left_out = f"no observation is left after dropping {int(dropped[d])} missing or zero-weight values"
            notes[int(d)] = left_out if dropped[d] else "no values"
    if status.any():  # only usable data sets go on
        lengths = np.where(status == 0, np.diff(off), 0)
        keep = np.repeat(status == 0, np.diff(off))
        x = x[keep]
        w = w[keep] if w is not None else None
        off = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lengths = np.diff(off)
    if values.unit:
        w = None
    degree = family.degree
    if degree != 1.0:  # powers of extreme values would overflow
        before = _powers(x, off, limit=int(1022 / max(1.0, degree)))
        y = family.forward(x * np.repeat(before, lengths))
        power, factor = np.ones(D), before**degree
        _sort(y, w, off, threads)
    else:
        y = family.forward(x)
        _sort(y, w, off, threads)
        power = factor = np.ones(D) if family.discrete else _powers(y, off, ascending=True)
    y, w, off, counts = _tied(y, w, off)
    unit = None if w is None else _per_set(w != 1.0, off) == 0
    spare = D == 1 and not family.discrete and family.base != fam.FIXED_GAMMA
    return Data(y, w, off, unit, dropped, lost, status, notes, power, factor, counts, spare)


def _tied(y, w, off):
    """Equal values as one with the sum of their weights, and how many values there were, None where no two are equal."""
    lengths = np.diff(off)
    first = np.ones(y.size, bool)
    np.not_equal(y[1:], y[:-1], out=first[1:])
    first[off[:-1][lengths > 0]] = True
    if first.all():
        return y, w, off, None
    at = np.flatnonzero(first)
    w = np.diff(at, append=y.size).astype(np.float64) if w is None else np.add.reduceat(w, at)
    return y[at], w, np.searchsorted(at, off).astype(np.int64), lengths


def _powers(y, off, *, ascending=False, limit=1022):
    """2^-e with 2^e above the largest |y| of each data set, |e| <= limit."""
    D = off.size - 1
    top = np.ones(D)
    full = np.diff(off) > 0
    if ascending:
        top[full] = np.maximum(np.abs(y[off[:-1][full]]), np.abs(y[off[1:][full] - 1]))
    elif full.any():
        top[full] = np.maximum.reduceat(np.abs(y), off[:-1][full])
    _, e = np.frexp(top)
    return np.ldexp(1.0, np.clip(-e, -limit, limit))


def _sort(y, w, off, threads):
    """Ascending within each data set; weights follow."""
    lengths = np.diff(off)
    even = w is None and y.size > 0 and bool((lengths == lengths[0]).all())

    def part(lo, hi):
        if even:
            y[off[lo] : off[hi]].reshape(hi - lo, -1).sort(axis=1)
            return
        for a, b in zip(off[lo:hi].tolist(), off[lo + 1 : hi + 1].tolist(), strict=True):
            if w is None:
                y[a:b].sort()
            else:
                order = np.lexsort((w[a:b], y[a:b]))
                y[a:b], w[a:b] = y[a:b][order], w[a:b][order]

    in_threads(part, _parts(lengths.size, y.size, threads), threads)  # NumPy sorts without holding the interpreter


def _parts(n, cost, threads):
    """Ranges (lo, hi) of n items for threads to share, one where the values, `cost`, are few."""
    cuts = np.unique(np.linspace(0, n, (1 if threads == 1 or cost < 1 << 18 else 8 * threads) + 1).astype(int)).tolist()
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def _all_within(x, minimum, threads):
    """Whether every value is finite and above `minimum`."""
    found = []

    def part(lo, hi):
        v = x[lo:hi]
        found.append(v.size == 0 or bool(v.min() > minimum and v.max() < np.inf))  # False where there is a NaN

    in_threads(part, _parts(x.size, x.size, threads), threads)
    return all(found)
