"""Parameters of the estimators, declared once; checks of them, of the rows and outcomes of a fit, of the rows of a prediction."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, dataclass_transform, get_args

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from numbastats._core.checks import choice, is_masked, refuse_complex
from numbastats._core.data import NanPolicy, check_policy, doubles, floats, is_frame, is_missing, labels_of, names_in
from numbastats._core.errors import names_ours, warn
from numbastats._core.estimator import check_names
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.parallel import check_workers, is_executor
from numbastats.bayes import engine
from numbastats.bayes.chains import AUTO, samplers_of
from numbastats.bayes.kernels.classes import MOST
from numbastats.bayes.responses import PROBIT, RESPONSES
from numbastats.bayes.responses.record import record_of, word_of
from numbastats.bayes.samplers import HAMILTONIAN
from numbastats.random import RNG, Device

Prior: TypeAlias = Literal["horseshoe", "ridge", "lasso", "horseshoe+"]
Horseshoe: TypeAlias = Literal["horseshoe", "horseshoe+"]
Sampler: TypeAlias = Literal["auto", "gibbs", "px-gibbs", "collapsed-gibbs", "predictor", "split-hmc", "surrogate"]
RegressionSampler: TypeAlias = Literal["auto", "gibbs", "collapsed-gibbs", "predictor", "split-hmc", "surrogate"]
Keep: TypeAlias = Literal["draws", "all", "cov", "moments"]
Storage: TypeAlias = Literal["float64", "float32", "bfloat16", "int8"]
Single: TypeAlias = Literal["float64", "float32"]
Columns: TypeAlias = Sequence[int | str]
Contrast: TypeAlias = Literal["first", "symmetric"]
C = TypeVar("C", bound=type)

_MOST_CLASSES = 100
_PRIORS, _FLOATS, _STORAGE_TYPES = get_args(Prior), get_args(Single), get_args(Storage)


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
def parametrised(cls: C) -> C:
    """Give a class the constructor that stores the parameters of `Options`, with the defaults that the class changes."""
    dataclasses.dataclass(eq=False, repr=False, kw_only=True)(cls)
    cls.__init__ = names_ours(cls.__init__)  # type: ignore[misc]
    return cls


def fixed(value: Any) -> Any:
    """A parameter of `Options` that is no parameter of the class."""
    return dataclasses.field(default=value, init=False)


@parametrised
class Options:
    """Parameters of an estimator; by themselves those when `fit` was called, as later changes take effect at the next fit."""

    response: Any = PROBIT.word
    fixed: Mapping[str, float] | None = None
    prior: Any = "horseshoe"
    tau_scale: float = 1.0
    tau: float | None = None
    slab: float | None = None
    slab_df: float | None = None
    fit_intercept: bool = True
    intercept_scale: float = 10.0
    unpenalized: Columns | None = None
    groups: Sequence[Columns] | None = None
    sampler: Any = "auto"
    chains: int = 4
    warmup: int = 1000
    draws: int | None = None
    thin: int = 1
    keep: Keep = "draws"
    inner_sweeps: int | None = None
    standardize: bool = False
    quantize: bool = False
    callback_every: int | None = None
    dtype: Storage | DTypeLike | None = None
    nan_policy: NanPolicy = "raise"
    device: Device | None = None
    workers: Any = None
    rng: RNG = None
    callback: Callable[[dict[str, Any]], Any] | None = None
    progress: bool = False
    shared: bool = False
    contrast: Contrast = "first"

    def record(self, size=1.0):
        """The record of the response, with the parameters that are fixed; those that are scales are divided by `size`."""
        return record_of(self.response).holding(self.fixed or {}, size)


def count(name, value, least=1):
    """Return an integer; raise if it is below `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ValueError(f"{name}={value!r} is not understood; use an integer >= {least}")
    return value


def check_sampler(word, record, of=None):
    """The samplers of a record by their words; raises for a word that is none of them."""
    known = samplers_of(record)
    if word not in (AUTO, *known):
        what = f"response={record.word!r}" if of is None else of
        raise ValueError(f"sampler={word!r} is not one of {what}; use 'auto' or one of {', '.join(map(repr, known))}")
    return known


def checked_options(params, responses=tuple(RESPONSES), priors=_PRIORS):
    """Options of a fit from the estimator's parameters by name; raises for invalid values and unknown names."""
    options = Options(**params)
    options = dataclasses.replace(options, response=word_of(options.response))
    choice("response", options.response, responses)
    choice("prior", options.prior, priors)
    record = record_of(options.response)
    known = check_sampler(options.sampler, record)
    if not record.intercept:
        options = dataclasses.replace(options, fit_intercept=False)
    _check_fixed(options.fixed, record)
    choice("keep", options.keep, get_args(Keep))
    choice("contrast", options.contrast, get_args(Contrast))
    if options.shared and options.slab_df is not None:
        raise ValueError("shared=True shares local scales, which slab_df has for each coefficient; use slab alone")
    check_policy(options.nan_policy)
    for name, least in (("chains", 1), ("draws", 1), ("thin", 1), ("warmup", 0), ("inner_sweeps", 1)):
        value = getattr(options, name)
        if value is not None or name not in ("draws", "inner_sweeps"):
            count(name, value, least)
    check_workers(options.workers)
    if is_executor(options.workers):
        for name, used in (("callback", options.callback is not None), ("device", options.device == "cuda")):
            if used:
                raise ValueError(
                    f"an executor samples every chain in a process of its own, where {name}={getattr(options, name)!r} does not "
                    f"reach; pass workers= as a number of threads, or leave {name} out"
                )
    adapts = record.usual is None if options.sampler == AUTO else known[options.sampler].adapts
    if adapts and options.warmup < 50:
        raise ValueError(f"warmup={options.warmup} is too short for sampler={options.sampler!r}, which adapts; use at least 50")
    for name in ("tau_scale", "tau", "slab", "slab_df", "intercept_scale"):
        value = getattr(options, name)
        if value is None and name in ("tau", "slab", "slab_df"):
            continue
        if not value > 0 or (math.isinf(value) and name in ("tau_scale", "tau")):
            raise ValueError(f"{name}={value!r} is out of range; use a positive number")
    if options.slab_df is not None and (options.slab is None or math.isinf(options.slab)):
        raise ValueError(f"slab_df={options.slab_df!r} is of a slab, but slab={options.slab!r}; pass its scale, such as slab=2.5")
    if options.slab_df is not None and not options.prior.startswith("horseshoe"):
        raise ValueError(f"slab_df is for a horseshoe, not prior={options.prior!r}; use slab alone")
    if options.groups is not None and (not options.prior.startswith("horseshoe") or options.slab_df is not None):
        raise ValueError(
            f"groups= share the local scales of a horseshoe without slab_df, but prior={options.prior!r} and "
            f"slab_df={options.slab_df!r}; use prior='horseshoe' and, to bound large coefficients, slab= alone"
        )
    return options


def _check_fixed(fixed, record):
    """Raise unless these are numbers for parameters that the response draws."""
    if fixed is None:
        return
    if not isinstance(fixed, Mapping):
        raise TypeError(f"fixed={fixed!r} is a {type(fixed).__name__}; pass a dict, as fixed={{'size': 2.0}}")
    known = {one.word: one for one in record.own if record.general}
    for name, value in fixed.items():
        if name not in known:
            names = f"use {', '.join(map(repr, known))}" if known else "there are none; leave fixed= out"
            raise ValueError(f"fixed has {name!r}, which is no parameter that response={record.word!r} can hold fixed: {names}")
        if isinstance(value, (str, bool)) or not math.isfinite(value) or not value > known[name].above:
            raise ValueError(f"fixed[{name!r}]={value!r} is out of range; use a finite number above {known[name].above:g}")


def storage_type(dtype, quantize, response):
    """Name of the storage type of X; None where its size decides."""
    try:
        name = dtype if dtype is None or str(dtype) == "bfloat16" else np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in (None, *_STORAGE_TYPES):
        raise TypeError(f"dtype={dtype!r} is not supported; use one of {', '.join(map(repr, _STORAGE_TYPES))}")
    if name not in (None, *_FLOATS, *record_of(response).stored):
        takers = " or ".join(repr(word) for word, record in RESPONSES.items() if name in record.stored)
        raise ValueError(f"dtype={dtype!r} is for response={takers}; use 'float64' or 'float32'")
    if quantize and name not in (None, "int8"):
        raise ValueError(f"quantize=True stores 8-bit integers, but dtype={dtype!r}; leave dtype=None")
    return "int8" if quantize else name


def check_memory(draws, columns, keep, chains):
    """Raise if this many draws per chain would take more than half of the free memory."""
    need = engine.bytes_of_draws(draws, columns, keep, chains)
    if need > 0.5 * engine.free_memory():
        raise MemoryError(
            f"{chains} chains of {draws} draws of {columns} coefficients take {need / 2**30:.1f} GiB, more "
            "than half of the free memory; use keep='moments', fewer draws or a larger thin"
        )


# --- rows ---------------------------------------------------------------------------------------------------------------


def names_of(X):
    """Names of the columns of a frame, None for other X."""
    return names_in(X, "X") if is_frame(X) else None


def matrix(X):
    """X as a two-dimensional array, sparse if it is sparse; raises for invalid input. A memory map is not copied."""
    if sparse.issparse(X):
        return sparse.csr_array(_real(X))
    X = to_host(X, "X")
    kept = isinstance(X, np.ndarray) and not is_masked(X) and (X.dtype.kind in "iub" or X.dtype.str[1:] in ("f4", "f8"))
    return _real(X if kept else floats(X, "X"))


def _real(X):
    """X if it is two-dimensional and of real numbers; raises otherwise."""
    refuse_complex(X.dtype, "X")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {X.dtype}; it must be real numbers, X.astype('float64')")
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}; it must have two axes, rows and columns. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        )
    return X


def complete(X, others):
    """X and what goes with its rows, arrays or None, without the rows in which one of them is missing; the number of these."""
    if callable(X):
        raise ValueError("nan_policy='omit' takes an array: leave rows with missing values out of the blocks of a callable X")
    X = matrix(X)
    bad = np.zeros(X.shape[0], bool)
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        bad[rows[np.isnan(X.data)]] = True
    elif X.dtype.kind == "f":
        bad |= np.isnan(X).any(axis=1)
    others = [None if v is None else outcomes_of_rows(v, X.shape[0]) for v in others]
    for v in others:
        bad |= False if v is None else is_missing(v)
    if not bad.any():
        return X, others, 0
    return X[~bad], [None if v is None else v[~bad] for v in others], int(bad.sum())


def finite(x, first):
    """Raise if a block of rows has a NaN or infinity; `first` is the number of its first row."""
    values = x.data if sparse.issparse(x) else x
    bad = ~np.isfinite(values)
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        i, j = at if values is x else (places[at] for places in x.tocoo().coords)
        found = "NaN" if np.isnan(values[at]) else f"infinite ({values[at]})"
        raise ValueError(f"X[{first + i}, {j}] is {found}; drop or fill such rows first{_omit(values[at])}")


def _omit(value):
    return ", or give the estimator nan_policy='omit'" if np.isnan(value) else ""


def block(pair, columns):
    """Rows and outcomes of a block from a callable X; `columns` is the number of columns so far, None for the first block."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"X() must give pairs (rows, outcomes), got a {type(pair).__name__}")
    x, y = matrix(pair[0]), column(pair[1])
    x = x.toarray() if sparse.issparse(x) else x
    if y.shape != x.shape[:1]:
        raise ValueError(f"X() gave rows of shape {x.shape} with outcomes of shape {y.shape}; give one outcome per row")
    if columns is not None and x.shape[1] != columns:
        raise ValueError(f"X() gave rows of {columns} and of {x.shape[1]} columns; give the same ones in every block")
    return x, y


def check_features(X, names, model):
    """Raise unless X has the columns of the fit; names are compared where X and the fit have names."""
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features as input: "
            f"X has shape {X.shape}; pass the columns of the fit"
        )
    check_names(names, model)


def columns_of(name, chosen, labels, p):
    """Numbers of the columns that a parameter lists by number or by name; raises for what is no list of different columns.

    Parameters
    ----------
    name : str
        Of the parameter.
    chosen : sequence of int or str, or None
    labels : iterable or None
        Names of the columns, if they have any.
    p : int
        Number of columns.
    """
    labels = [] if labels is None else [str(label) for label in labels]
    if isinstance(chosen, str) or not hasattr(chosen, "__iter__"):
        if chosen is None:
            return []
        raise TypeError(f"{name}={chosen!r} is no list; use a list of columns, [{chosen!r}]")
    found = []
    for one in chosen:
        if isinstance(one, str):
            if labels.count(one) != 1:
                known = (
                    f"the columns are {', '.join(labels[:12])}{', ...' * (len(labels) > 12)}"
                    if labels
                    else "X has no names; in a pipeline frames keep theirs by set_output(transform='pandas')"
                )
                hint = "pass numbers" if not labels or one in labels else "pass one of these"
                raise ValueError(f"{name} has {one!r}, which names {labels.count(one)} columns of X: {known}; {hint}")
            found.append(labels.index(one))
        elif isinstance(one, (bool, np.bool_)) or not hasattr(one, "__index__") or not 0 <= one < p:
            raise ValueError(f"{name} has {one!r}; use names, or numbers of columns from 0 to {p - 1}")
        else:
            found.append(int(one))
    if len(set(found)) < len(found):
        twice = next(j for j in found if found.count(j) > 1)
        raise ValueError(f"{name} has column {twice} twice; leave it out once")
    return found


def scales_of(groups, labels, p, free):
    """For every column the number of its local scale, or None where no columns share one; raises for columns in two places."""
    if groups is None:
        return None
    if isinstance(groups, str) or not hasattr(groups, "__iter__"):
        raise TypeError(f"groups={groups!r} is no list; use a list of groups, each a list of columns")
    found, taken = np.arange(p), {j: "unpenalized" for j in free}
    for i, group in enumerate(groups):
        for j in (members := columns_of(f"groups[{i}]", group, labels, p)):
            if j in taken:
                raise ValueError(f"column {j} is in groups[{i}] and in {taken[j]}; leave it in one of them")
            taken[j] = f"groups[{i}]"
        found[members] = min(members, default=0)
    return None if (found == np.arange(p)).all() else found


def check_free(free, facts, n, p, options):
    """Raise unless rows of some weight determine the coefficients that are not shrunk, with numbers also sigma and tau.

    With a finite intercept_scale the prior mean of the intercept is that of y, one number more that is taken from y: where the
    columns then fit y exactly, the marginal likelihood of tau grows like tau, and the posterior is improper.
    """
    bounded, scaled = options.tau is not None or options.slab is not None, record_of(options.response).flat
    if scaled and options.fit_intercept and p >= n - 1 and not bounded:
        if math.isfinite(options.intercept_scale):
            raise ValueError(
                f"intercept_scale={options.intercept_scale!r} with {p} columns of {n} rows, which fit y exactly: the posterior "
                "of tau is improper; leave intercept_scale out, which makes it infinite, or pass slab="
            )
    k = len(free) + int(options.fit_intercept)
    weights = np.ones(n) if facts is None or not free else np.broadcast_to(facts[0], n)
    if free and (weights > 0.0).sum() <= k:
        raise ValueError(
            f"unpenalized has {len(free)} columns, but X has {(weights > 0.0).sum()} rows that count; leave fewer columns "
            "without shrinkage than there are rows"
        )
    if free and scaled and math.isinf(options.intercept_scale) and weights.sum() <= k:
        raise ValueError(
            f"sample_weight has the sum {weights.sum():.3g}, and {k} coefficients have flat priors: sigma is not determined; "
            f"weights count rows, and have to exceed {k}"
        )


def check_shape(n, p, record, options):
    """Raise for several predictors with more columns than rows, unless a sampler is named, and for more than a GPU takes."""
    check_sampler(options.sampler, record, f"{record.width + 1} classes without an order" if record.width > 1 else None)
    if record.width > MOST and options.device == "cuda":
        raise ValueError(f"{record.width + 1} classes are too many for a GPU, which takes {MOST + 1}; leave device= out")
    if record.width > 1 and p > n and options.sampler == AUTO:
        raise ValueError(
            f"{record.width + 1} classes with more columns ({p}) than rows ({n}) have no fast sampler. Fit each class against "
            "the others, as scikit-learn's OneVsRestClassifier does; or keep the columns that two classes need; or pass "
            f"sampler={HAMILTONIAN.word!r}, whose iteration takes ({record.width} x {p})^3/3 multiplications"
        )


def check_labels(X, beside):
    """Raise where what goes with the rows of X, by name, has labels of other rows; one column of outcomes may be a frame."""
    for called, values in beside.items():
        for one in values if called == "censored" and isinstance(values, tuple) else [values]:
            single = called == "y" and hasattr(one, "iloc") and one.shape[1:] == (1,)
            rows_alike(X, one.iloc[:, 0] if single else one, ("X", called))


# --- outcomes -----------------------------------------------------------------------------------------------------------


def column(y):
    """Outcomes as an array; a single column becomes one-dimensional."""
    y = labels_of(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def outcomes_of_rows(y, n, *, as_vector=False):
    """Outcomes as a one-dimensional array; raises unless its length is n, and warns of a column in place of a vector."""
    shape = labels_of(y).shape  # np.shape asks objects that are no arrays, which may refuse
    if as_vector and shape[1:] == (1,):
        category = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
        warn(f"A column-vector y was passed when a 1d array was expected: y has shape {shape}; pass y.ravel()", category)
    y = column(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}, but X has {n} rows; pass one outcome per row")
    return y


def check_outcomes_given(y, in_blocks, estimator):
    """Raise unless outcomes come either with the blocks of a callable X or as y."""
    if y is None and not in_blocks:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None; only a callable X gives the outcomes itself"
        )
    if y is not None and in_blocks:
        raise ValueError("a callable X gives the outcomes itself; pass y=None with it")


def _distinct(y):
    """The distinct outcomes in ascending order, at least two."""
    try:
        classes = np.unique(y)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in y})
        raise TypeError(f"y holds values of types that have no order, {', '.join(kinds)}; use one type") from None
    if classes.size == 1:
        raise ValueError(
            f"y contains one class only, {classes.tolist()[0]!r}, and the coefficients would be those of the prior; pass rows of "
            "several classes, for example by stratified folds"
        )
    return classes


def _two_classes(y):
    """The two distinct outcomes."""
    classes = _distinct(y)
    if classes.size > 2:
        shown = ", ".join(map(repr, classes[:6].tolist())) + (", ..." if classes.size > 6 else "")
        kind = "continuous numbers" if y.dtype.kind == "f" and (y != np.rint(y)).any() else "classes"
        raise ValueError(
            f"Only binary classification is supported. y has {classes.size} different values, {kind} ({shown}); a model "
            "of classes needs two: pass, for example, y > threshold or y == value; HorseshoeClassifier takes more with "
            f"response={' or '.join(repr(one.word) for one in RESPONSES.values() if one.more is not None)}"
        )
    return classes


def _present(y, n):
    """Classes of n rows; raises for missing ones."""
    y = outcomes_of_rows(y, n, as_vector=True)
    missing = is_missing(y)
    if missing.any():
        i = int(np.argmax(missing))
        masked = ", or masked" if y[i] is None else ""
        raise ValueError(f"y[{i}] is {y[i]}{masked}; drop such rows first, or pass nan_policy='omit'")
    return y


def order_of(y):
    """The categories of outcomes that come with an order, from the lowest to the highest, or None."""
    kind = getattr(y, "dtype", None)
    if kind is None and is_frame(y) and getattr(y, "shape", ())[1:] == (1,) and hasattr(y, "iloc"):
        kind = y.iloc[:, 0].dtype
    ordered = getattr(kind, "ordered", type(kind).__name__ == "Enum")  # of pandas, and of polars
    return list(kind.categories) if ordered else None


def several_classes(y, n, record, order):
    """The classes of a response, at least two, and the number of its class for each of n rows.

    Parameters
    ----------
    y : array_like
    n : int
    record : Record
        Whose classes may be more than two; of ordered ones the order is that of `order`, or of numbers.
    order : list or None
        Of `order_of`.
    """
    y = _present(y, n)
    classes = _distinct(y)
    size, shown = classes.size, ", ".join(map(repr, classes[:6].tolist())) + (", ..." if classes.size > 6 else "")
    if record.ordered and order is None and not all(isinstance(v, (bool, int, float)) for v in classes.tolist()):
        raise ValueError(
            f"response={record.word!r} needs the order of the classes ({shown}), which texts do not have; pass numbers, or "
            "pandas.Categorical(y, categories=[...], ordered=True) with the categories from the lowest to the highest"
        )
    numbers = not record.ordered and size > 2 and y.dtype.kind == "f" and (y != np.rint(y)).any()
    if numbers or size > _MOST_CLASSES:
        raise ValueError(
            f"Unknown label type: continuous. y has {size} different values ({shown}), more like numbers than classes; use "
            f"HorseshoeRegression, or group them into at most {_MOST_CLASSES}"
        )
    if record.ordered and order is not None:
        found = set(classes.tolist())
        if empty := [one for one in order if one not in found]:
            warn(
                f"no row has {', '.join(map(repr, empty))} of the categories of y: left out, and predictions have no column for "
                "it; merge it with a neighbour if it may occur"
            )
        classes = np.array([one for one in order if one in found])
    codes = np.empty(n, np.int64)
    for number, one in enumerate(classes):
        codes[y == one] = number
    return classes, codes


def classes_and_signs(y, n):
    """The two classes, the event last, and +1 or -1 for each of n rows."""
    y = _present(y, n)
    classes = _two_classes(y)
    return classes, np.where(y == classes[1], 1, -1).astype(np.int8)


def numbers(name, v, n):
    """A finite number for each of n rows, or None."""
    if v is None:
        return None
    v = doubles(v, name)
    v = v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v
    if v.shape != (n,):
        raise ValueError(f"{name} has shape {v.shape}, but X has {n} rows; pass one number per row")
    bad = ~np.isfinite(v)
    if bad.any():
        i = int(np.argmax(bad))
        found = "NaN, or missing" if np.isnan(v[i]) else "infinite"
        raise ValueError(f"{name}[{i}] is {found}; drop or fill such rows first{_omit(v[i])}")
    return v


def offsets_of_rows(offset, exposure, n, record, *, everywhere=False):
    """Offsets of n rows, the logarithm of the exposure among them, or None; `everywhere` one number may stand for all rows."""
    if everywhere:
        offset, exposure = (np.full(n, v) if np.ndim(v) == 0 and v is not None else v for v in (offset, exposure))
    offset = numbers("offset", offset, n)
    if exposure is None:
        return offset
    if record.link != "log":
        others = ", ".join(repr(one.word) for one in RESPONSES.values() if one.link == "log")
        raise ValueError(f"exposure= multiplies the mean of response={others}, not of {record.word!r}; pass offset=")
    exposure = numbers("exposure", exposure, n)
    if not (exposure > 0.0).all():
        i = int(np.argmin(exposure > 0.0))
        raise ValueError(f"exposure[{i}] is {float(exposure[i])!r}; it has to be above 0: leave rows without exposure out")
    return np.log(exposure) if offset is None else offset + np.log(exposure)


def weights_of_rows(v, n):
    """Weights of n rows, or None; raises for negative ones, and where all are 0."""
    v = numbers("sample_weight", v, n)
    if v is not None and ((v < 0.0).any() or not (v > 0.0).any()):
        raise ValueError("sample_weight must be 0 or more, and not zero for every row: rows of weight 0 are no data")
    return v


def counted_rows(weights, X):
    """Which rows have a weight above 0; None where all of them do. The length is checked here unless X is a callable."""
    if weights is None:
        return None
    n = labels_of(weights).size if callable(X) else matrix(X).shape[0]
    counted = weights_of_rows(weights, n) > 0.0
    return None if counted.all() else counted


def rows_of(v, counted):
    """Numbers of the rows that count, or None."""
    return None if v is None else outcomes_of_rows(v, counted.size)[counted]


def check_spread(X, found, options):
    """Raise where a coefficient for each column fits all outcomes exactly, so that their spread may be 0: it has no posterior.

    Parameters
    ----------
    X : numpy.ndarray or sparse, shape (n, p)
    found : Outcomes
    options : Options
    """
    record, p = options.record(), X.shape[1]
    if not (record.own and record.general and (record.log or record.logit or record.scaled)):
        return
    lead = int(options.fit_intercept)
    weights, offset, *ends = found.facts
    lower, upper = (ends[0] - offset, ends[-1] - offset)
    known = np.flatnonzero(lower == upper)
    columns = p if known.size > p + lead else 0  # fewer rows are always fitted; the intercept may fit them, too
    if known.size <= columns + lead:
        return
    if record.robust:
        values, place = np.unique(lower, return_inverse=True)
        shares = np.bincount(place, weights)
        k = int(np.argmax(shares))
        if shares[k] > 2.0 / 3.0 * weights.sum():
            same = float(values[k] * found.size + found.level)
            raise ValueError(
                f"{shares[k] / weights.sum():.0%} of y, less an offset, are {same:.6g}: from two thirds on sigma is not "
                f"determined with response={record.word!r}; model first whether an outcome has this value"
            )
    size = abs(lower[known]).max()
    near = 1e-12 * np.ptp(lower[known]) + 64.0 * np.finfo(float).eps * (size + abs(found.level) / found.size)
    some = known[np.linspace(0, known.size - 1, min(known.size, 2 * (columns + lead) + 50)).astype(int)]
    for rows in (some, known):  # few rows tell in general
        A = _design(X, rows, columns, lead)
        b = np.linalg.lstsq(A, lower[rows], rcond=None)[0]
        if not (abs(A @ b - lower[rows]) <= near).all():
            return
        m = _design(X, slice(None), columns, lead) @ b
        if ((lower - near <= m) & (m <= upper + near)).all():
            of = "the logarithm of " * record.log + "the log odds of " * record.logit
            raise ValueError(
                f"linear predictors of X fit {of}y exactly, so that "
                f"{record.own[0].word} of response={record.word!r} is not determined; leave out columns that y is made of, or "
                "pass outcomes that vary"
            )


def _design(X, rows, columns, lead):
    """Rows of the first columns of X, an intercept's in front."""
    x = X[rows, :columns]
    x = x.toarray() if sparse.issparse(x) else x
    return np.column_stack([np.ones((x.shape[0], lead)), x]).astype(np.float64)


def outcomes_as_numbers(y, n, options):
    """Outcomes of a regression: finite, and in the domain of the response."""
    y = numbers("y", outcomes_of_rows(y, n, as_vector=True), n)
    record = record_of(options.response)
    if record.holds is not None and not (fine := record.holds(y)).all():
        i = int(np.argmin(fine))
        raise ValueError(f"y[{i}] is {float(y[i])!r}, but response={record.word!r} takes {record.noun}, {record.fix}")
    if record.improper is not None and options.fit_intercept and math.isinf(options.intercept_scale):
        if reason := record.improper(y):
            raise ValueError(f"{reason}: with intercept_scale=inf the posterior is improper; use a finite scale, such as 10")
    return y


def check_ends_given(y, event, censored, record, estimator):
    """Raise unless outcomes come in one way, and censored ones with a response that takes them."""
    if event is None and censored is None:
        return
    name = "event" if censored is None else "censored"
    if not record.censors:
        others = ", ".join(repr(one.word) for one in RESPONSES.values() if one.censors)
        raise ValueError(f"{name}= is for lifetimes, response={others}, not for {record.word!r}; leave it out")
    if censored is not None and (event is not None or y is not None):
        raise ValueError("censored=(lower, upper) has the outcomes; pass y=None and no event= with it")
    if censored is not None and (not isinstance(censored, (tuple, list)) or len(censored) != 2):
        raise TypeError(f"censored= is a {type(censored).__name__}; pass a pair of arrays, the lower and the upper ends")
    if y is None and censored is None:
        raise ValueError(f"event= goes with y, the times, but {estimator} got none; pass y= as an array")


def lifetimes(y, event, upper, n, options, *, whole=True):
    """Outcomes of n rows, or both of their ends, shape (2, n), where some are censored; raises where they say too little.

    Parameters
    ----------
    y : array_like
        Times, or lower ends.
    event : array_like or None
        Whether they are over.
    upper : array_like or None
        Upper ends, which may be infinite.
    n : int
    options : Options
    whole : bool
        Whether a fit is made of them.
    """
    if event is None and upper is None:
        return outcomes_as_numbers(y, n, options)
    if upper is None:
        y, over = outcomes_as_numbers(y, n, options), numbers("event", event, n)
        if not np.isin(over, (0.0, 1.0)).all():
            i = int(np.argmin(np.isin(over, (0.0, 1.0))))
            raise ValueError(f"event[{i}] is {float(over[i])!r}; it is True (1) of a time that is over, False (0) of others")
        upper = np.where(over == 1.0, y, np.inf)
    else:
        y, upper = (v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v for v in (doubles(v, "censored") for v in (y, upper)))
        for j, v in enumerate((y, upper)):
            if v.shape != (n,):
                raise ValueError(f"censored[{j}] has shape {v.shape}, but X has {n} rows; pass one number per row")
        bad = ~((y >= 0.0) | (y == -np.inf)) | ~(upper > 0.0) | ~(y <= upper) | (y == np.inf)
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(
                f"censored=({float(y[i])!r}, {float(upper[i])!r}) at row {i}: a time is between 0 and inf, the lower end not "
                "above the upper one; pass (t, t) for a time t, (t, np.inf) for one above t, (0, t) for one below"
            )
        y = np.maximum(y, 0.0)
    if not whole or record_of(options.response).proportional:
        return np.array([y, upper])
    exact, right, left = y == upper, upper == np.inf, (y == 0.0) & (upper < np.inf)
    if (right | left).all() and not (left.any() and (right & (y > 0.0)).any()):
        side, others = ("left", "shorter") if left.any() else ("right", "longer")
        raise ValueError(
            f"all times are censored at the {side}: any {others} ones fit them better; pass rows with known times, too"
        )
    same = np.unique(y[exact])
    if same.size == 1 and ((y <= same[0]) & (same[0] <= upper)).all():
        raise ValueError(f"all times may be {float(same[0])!r}, so that sigma is not determined; pass times that differ")
    return np.array([y, upper])


def no_strata(record):
    """The error for strata of a response that has no use for them."""
    others = ", ".join(repr(one.word) for one in RESPONSES.values() if one.proportional)
    return ValueError(f"strata= is for response={others}, not for {record.word!r}; leave it out, or pass dummies in X")


def with_strata(ends, strata, n, record):
    """Outcomes, of proportional hazards with upper ends and numbers of strata, shape (3, n), and labels of the strata."""
    if not record.proportional:
        if strata is not None:
            raise no_strata(record)
        return ends, None
    labels, numbers = None, np.zeros(n, np.int64)
    if strata is not None:
        strata = outcomes_of_rows(strata, n)
        if (missing := is_missing(strata)).any():
            raise ValueError(f"strata[{int(np.argmax(missing))}] is missing; drop such rows, or pass nan_policy='omit'")
        labels, numbers = np.unique(strata, return_inverse=True)
    lower, upper = np.broadcast_to(ends, (2, n))
    event = lower == upper
    if not (event | (upper == np.inf)).all():
        i = int(np.argmin(event | (upper == np.inf)))
        raise ValueError(
            f"censored=({float(lower[i])!r}, {float(upper[i])!r}) at row {i}, but response={record.word!r} compares the rows at "
            "risk at known times: pass event= or upper ends of inf, or use a response that is a distribution of lifetimes"
        )
    if not event.any():
        raise ValueError(f"all times are censored: with response={record.word!r} the coefficients would be those of the prior")
    last = np.full(numbers.max() + 1, -np.inf)
    np.maximum.at(last, numbers, lower)
    if not (event & (lower < last[numbers])).any():
        where = " of its stratum" * (strata is not None)
        raise ValueError(
            f"no row{where} has a time above that of an event, so that no hazards are compared; pass times that differ, or fewer "
            "strata"
        )
    return np.array([lower, upper, numbers]), labels


def _median(v, weights):
    """The median of numbers that come as often as their weights say."""
    order = np.argsort(v)
    share = np.cumsum(weights[order])
    ends = [min(np.searchsorted(share, 0.5 * share[-1], side), v.size - 1) for side in ("left", "right")]
    return float(v[order][ends].mean())


def level_and_size(y, weights, options):
    """Mean, 0 without an intercept, and root mean square around it, of outcomes; raises where they leave sigma undetermined.

    Where tails are heavy medians take the place of means.
    """
    w = np.ones(y.size) if weights is None else weights
    if record_of(options.response).robust:
        level = _median(y, w) if options.fit_intercept else 0.0
        size = 1.5 * _median(abs(y - level), w)
        if size > 1e-8 * abs(y[w > 0.0]).max():
            return level, size
    top = max(abs(y).max(), np.finfo(float).tiny)
    level = float(np.average(y / top, weights=w) * top) if options.fit_intercept else 0.0
    size = float(np.sqrt(np.average(((y - level) / top) ** 2, weights=w)) * top)
    if not size > 4.0 * np.finfo(float).eps * abs(level):
        raise ValueError(
            f"y, less an offset, has one value only, {float(y[0])!r} (n_samples={y.size}): sigma is not determined; pass "
            "outcomes that differ"
        )
    flat = options.fit_intercept and math.isinf(options.intercept_scale)
    if w.sum() <= flat:
        raise ValueError(
            f"sample_weight has the sum {w.sum():.3g}: sigma is not determined; weights count rows, and have to exceed 1"
        )
    return level, size
