"""Rows of several columns, options of their fits, and every refusal."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from numbastats._core.checks import choice, is_lazy
from numbastats._core.data import doubles, floats, is_frame, names_in
from numbastats._core.groups import Keys, same_order
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.status import Status
from numbastats.mixture.arguments import weights_of
from numbastats.mixture.constraints import fixed_weights_of, names_of
from numbastats.mixture.families import of_several_columns
from numbastats.mixture.multivariate.engine import KINDS, Options

__all__ = [
    "LARGEST",
    "POLICIES",
    "Refused",
    "Rows",
    "check_columns",
    "check_width",
    "column_called",
    "columns_of",
    "constraints_of",
    "counted",
    "fit_options",
    "given_means",
    "is_many_tables",
    "is_table",
    "missing_rows",
    "one_table",
    "points_of",
    "tables_of",
]

LARGEST = 64  # columns
POLICIES = "raise", "omit", "marginal"  # of missing values
SINGLE = 1 << 22  # numbers in float32 from which on they are kept so, by kernels of their own: half the memory


class Refused(NamedTuple):
    """Why a data set is not read."""

    status: Status
    said: str
    missing: int = 0


@dataclasses.dataclass(frozen=True)
class Rows:
    """Data sets in a row: x (N, d), weights (N,) or (0,), offsets, names of the columns, keys."""

    x: np.ndarray
    w: np.ndarray
    off: np.ndarray
    columns: tuple
    keys: Keys | None = None
    refused: dict = dataclasses.field(default_factory=dict)  # those that are not read, by number; they have no rows in x
    source: Any = None  # what is fitted where x is searched alone: `distributed.Blocks`, `missing.Observed`
    marginal: bool = False  # whether rows with missing values take part

    @property
    def count(self):
        """Number of data sets."""
        return self.off.size - 1

    def cut(self, lo, hi):
        """The data sets from lo to hi."""
        a, b = self.off[lo], self.off[hi]
        refused = {i - lo: why for i, why in self.refused.items() if lo <= i < hi}
        w = self.w[a:b] if self.w.size else self.w
        return Rows(
            self.x[a:b], w, self.off[lo : hi + 1] - a, self.columns, refused=refused, source=self.source, marginal=self.marginal
        )

    def holed(self):
        """Whether data sets (D,) have rows of which some values are missing, and these take part."""
        if not self.marginal or self.source is not None:
            return np.zeros(self.count, bool)
        missing = np.isnan(self.x)
        some = missing.any(axis=1) & ~missing.all(axis=1)
        return np.diff(np.concatenate([[0], np.cumsum(some)])[self.off]) > 0


def is_table(x):
    """Whether x is one data set of two columns or more, without reading what is no array."""
    if is_lazy(x):
        return getattr(x, "ndim", 0) == 2 and x.shape[1] > 1
    if is_frame(x) and not hasattr(x, "ngroups"):
        return not hasattr(x, "data_vars") and _columns_of_numbers(x) > 1
    shape = getattr(x, "shape", None)
    if shape is None and isinstance(x, list | tuple) and len(x):
        first = x[0]
        if isinstance(first, list | tuple):
            equal = all(isinstance(row, list | tuple) and len(row) == len(first) for row in x)
            shape = (len(x), len(first)) if equal else ()
        elif np.ndim(first) == 1:
            shape = np.shape(x) if len({np.shape(row) for row in x}) == 1 else ()
    return shape is not None and len(shape) == 2 and shape[1] > 1


def _columns_of_numbers(x):
    """How many columns of a frame hold numbers, as far as two."""
    found = 0
    for i, name in enumerate(names_in(x, "x")):
        part = x.iloc[:, i] if hasattr(x, "iloc") else x[name]
        with contextlib.suppress(TypeError, ValueError):
            found += getattr(getattr(part, "dtype", None), "kind", "O") in "fiub" or doubles(part, "x").ndim == 1
        if found > 1:
            break
    return found


def is_many_tables(data, by=None, offsets=None, family="normal"):
    """Whether these are many data sets of several columns each.

    Groups of several columns are not, of families that have one dimension: which column is meant is said there.
    """
    family = family[0] if isinstance(family, tuple) and family else family
    grouped = by is not None or hasattr(data, "ngroups") or (isinstance(data, list | tuple) and len(data) and _pairs(data))
    if grouped and of_several_columns(family) is None:
        return False
    if hasattr(data, "ngroups"):
        return getattr(getattr(data, "obj", None), "ndim", 1) == 2 and len(_columns_of(data)) > 1
    if by is not None:
        keys = [by] if isinstance(by, str) else list(by)
        return hasattr(data, "columns") and len([name for name in data.columns if name not in keys]) > 1
    if isinstance(data, Mapping) and not is_frame(data):
        return bool(data) and is_table(next(iter(data.values())))
    if offsets is not None:
        return is_table(data)
    if isinstance(data, list | tuple) and len(data):
        return is_table(data[0][1] if _pairs(data) else data[0])
    shape = getattr(data, "shape", ())
    return len(shape) == 3 and shape[2] > 1


def _pairs(data):
    """Whether these are pairs of a key and a data set."""
    return all(isinstance(part, tuple) and len(part) == 2 and np.ndim(part[0]) == 0 for part in data)


def _columns_of(groups):
    keys = set(getattr(groups, "exclusions", ()))
    selected = getattr(groups, "_selection", None)
    named = [selected] if isinstance(selected, str) else selected
    return [name for name in (groups.obj.columns if named is None else named) if name not in keys]


def columns_of(x, name):
    """Names of the columns of a frame, or of the coordinates of an array of xarray; None of other arrays."""
    names = None
    if is_frame(x):
        names = tuple(x.columns if is_lazy(x) else names_in(x, name))
    elif hasattr(x, "dims") and getattr(x, "ndim", 0) == 2 and x.dims[1] in getattr(x, "coords", ()):
        names = tuple(x.coords[x.dims[1]].values.tolist())
    if names is not None and (twice := [n for n, count in collections.Counter(names).items() if count > 1]):
        raise ValueError(f"{name} has several columns of the name {twice[0]!r}: give each another, or drop one")
    return names


def _table(x, name):
    """The floats (n, d) of a data set, and the names of its columns."""
    columns = columns_of(x, name)
    a = _kept(floats(x, name))
    if a.ndim != 2 or a.shape[1] < 1:
        raise ValueError(f"{name} has shape {a.shape}; pass an array (n, d), a row for each observation")
    check_width(a.shape[1], name)
    return np.ascontiguousarray(a), columns


def _kept(a):
    """Rows in double precision, in single where they are and are many."""
    return a if a.size >= SINGLE else a.astype(np.float64, copy=False)


def check_width(d, name):
    """Raise for more columns than kernels take."""
    if d > LARGEST:
        raise ValueError(
            f"{name} has {d} columns, more than {LARGEST}: reduce them first, as by principal components, or choose some"
        )


def one_table(x, weights, nan_policy, name="x"):
    """The data set of `fit`."""
    rows_alike(x, weights, (name, "weights"))
    a, columns = _table(x, name)
    w = None if weights is None else [weights]
    return _checked(a, w, np.array([0, len(a)]), columns, None, nan_policy, lambda i: (name, "weights"))


def tables_of(data, by, offsets, weights, nan_policy, name="data"):
    """The data sets of `fit_many`."""
    keys, others, unlike = None, None, {}
    if isinstance(data, list | tuple) and len(data) and _pairs(data):
        data, keys = [part for _, part in data], Keys.of(key for key, _ in data)
    if isinstance(weights, Mapping):
        weights, others = list(weights.values()), Keys.of(weights)
    if by is not None or hasattr(data, "ngroups"):
        parts, keys = _grouped(data, by, name)
    elif isinstance(data, Mapping) and not is_frame(data):
        parts, keys = list(data.values()), Keys.of(data)
    else:
        parts = data
    if offsets is not None:
        flat, columns = _table(data, name)
        off = np.asarray(to_host(offsets, "offsets"))
        if (
            off.ndim != 1
            or off.size < 1
            or off.dtype.kind not in "iu"
            or off[0] != 0
            or off[-1] != len(flat)
            or (np.diff(off) < 0).any()
        ):
            raise ValueError(f"offsets must be integers that start at 0, do not fall, and end at the number of rows, {len(flat)}")
        off = off.astype(np.int64)
        if weights is not None:
            weights = np.split(_one_for_each(weights, len(flat), "weights"), off[1:-1])[: off.size - 1]
    elif getattr(parts, "ndim", 0) == 3:
        a = _kept(floats(parts, name))
        flat, sizes, columns = a.reshape(-1, a.shape[2]), np.full(a.shape[0], a.shape[1]), None
        _table(flat, name)
    else:
        flat, sizes, columns, unlike = _joined(parts, lambda i: _called(name, i, keys))
    if offsets is None:
        off = np.concatenate([[0], np.cumsum(sizes)])
        if weights is not None:
            weights = same_order(list(weights), keys, others, "weights") if others is not None else list(weights)
            if len(weights) != len(sizes):
                raise ValueError(f"there are {len(weights)} sets of weights for {len(sizes)} data sets; pass one for each")
            weights = [np.empty(0) if i in unlike else w for i, w in enumerate(weights)]

    def called(i):
        return _called(name, i, keys), "weights" if offsets is not None else _called("weights", i, keys)

    return _checked(np.ascontiguousarray(flat), weights, off.astype(np.int64), columns, keys, nan_policy, called, unlike)


def _called(name, i, keys):
    """A data set as messages call it."""
    return f"{name}[{i if keys is None else keys[i]!r}]"


def _joined(parts, called):
    """Data sets in a row, their sizes, the names of their columns, and the refusals of those of other columns than most."""
    tables = [_table(part, called(i)) for i, part in enumerate(parts)]
    if not tables:
        return np.empty((0, 1)), np.zeros(0, np.int64), None, {}
    kinds = [(a.shape[1], None if columns is None else tuple(sorted(map(str, columns)))) for a, columns in tables]
    named = [kind for kind in kinds if kind[1] is not None] or kinds
    width, names = max(named, key=collections.Counter(named).get)
    columns = next(own for kind, (_, own) in zip(kinds, tables, strict=True) if kind == (width, names))
    unlike, read = {}, []
    for i, (kind, (a, own)) in enumerate(zip(kinds, tables, strict=True)):
        if kind[0] != width or kind[1] not in (None, names):
            has = f"{kind[0]} columns" if own is None or columns is None else f"the columns {list(own)}"
            most = f"{width} columns" if own is None or columns is None else list(columns)
            unlike[i] = Refused(
                Status.NONE_LEFT, f"{called(i)} has {has}, and most data sets have {most}: all must have the same"
            )
            a = np.empty((0, width))
        elif own is not None and own != columns:
            a = a[:, [own.index(column) for column in columns]]
        read.append(a)
    return np.concatenate(read), np.array([len(a) for a in read], np.int64), columns, unlike


def _grouped(data, by, name):
    """Data sets of a frame with columns of keys, or of a groupby of pandas."""
    if by is None:
        columns = _columns_of(data)
        given = getattr(data, "keys", None)
        names = [given] if isinstance(given, str) else given if isinstance(given, list) else None
        pairs = [(key[0] if isinstance(key, tuple) and len(key) == 1 else key, part[columns]) for key, part in data]
        return [part for _, part in pairs], Keys.of((key for key, _ in pairs), names)
    names = [by] if isinstance(by, str) else list(by)
    if absent := [n for n in names if n not in data.columns]:
        raise ValueError(f"by={by!r} names {absent[0]!r}, but the columns of {name} are {list(data.columns)}")
    columns = [n for n in data.columns if n not in names]
    if hasattr(data, "partition_by"):
        parts = data.sort(names, maintain_order=True).partition_by(names, as_dict=True, maintain_order=True).items()
        library = "polars"
    else:
        parts, library = data.groupby(names, observed=True), None
    pairs = [(key if len(names) > 1 else key[0], part[columns]) for key, part in parts]
    return [part for _, part in pairs], Keys.of((key for key, _ in pairs), names, library)


def column_called(columns, i):
    """A column as messages call it."""
    return f"column {i} (counted from 0)" if columns[i] == i else f"column {columns[i]!r}"


def counted(n, one, several=None):
    """A number of things in words."""
    return f"{n} {one if n == 1 else several or one + 's'}"


def missing_rows(missing, name, cure="drop them, or pass nan_policy='omit'"):
    """What is said of rows with missing values."""
    count = int(missing.sum())
    return (
        f"{name} has {counted(count, 'row')} with missing values (NaN, NA, None or masked), the first at index "
        f"{int(np.argmax(missing))}; {cure}"
    )


def _checked(a, weights, off, columns, keys, nan_policy, called, refused=None):  # noqa: PLR0913
    """Rows with their weights; data sets that are refused keep none. `called` are the names of data and weights of a data set."""
    marginal = nan_policy is not None and choice("nan_policy", nan_policy, POLICIES) == "marginal"
    missing = np.isnan(a).all(axis=1) if marginal else np.isnan(a).any(axis=1)
    refused, D = dict(refused or {}), off.size - 1
    owner = np.repeat(np.arange(D), np.diff(off))
    w = np.empty(0)
    if weights is not None:
        read = [_one_for_each(one, int(off[i + 1] - off[i]), called(i)[1]) for i, one in enumerate(weights)]
        w = np.concatenate(read or [w]).astype(np.float64)
        bad = (~(w >= 0.0) | np.isinf(w)) & ~missing
        for i in np.unique(owner[bad]).tolist():
            at = int(np.argmax(bad[off[i] : off[i + 1]]))
            said = f"{called(i)[1]} must be finite and >= 0: the one at index {at} is {w[off[i] + at]:g}"
            refused[i] = Refused(Status.NOT_FINITE, said, int(missing[off[i] : off[i + 1]].sum()))
        w = np.where(missing, 0.0, w)
    if nan_policy in ("omit", "marginal"):
        missing = missing & False
    for i in np.unique(owner[missing]).tolist():
        own = missing[off[i] : off[i + 1]]
        if nan_policy == "raise":
            raise ValueError(missing_rows(own, called(i)[0]))
        refused.setdefault(i, Refused(Status.NOT_FINITE, missing_rows(own, called(i)[0]), int(own.sum())))
    if refused:
        kept = ~np.isin(owner, list(refused))
        a, w = np.ascontiguousarray(a[kept]), w[kept] if w.size else w
        off = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=D))])
    names = tuple(columns) if columns is not None else tuple(range(a.shape[1]))
    return Rows(a, w, off.astype(np.int64), names, keys, refused, marginal=marginal)


def _one_for_each(weights, n, name):
    """Weights of n rows."""
    w = weights_of(weights, name)
    if w.shape != (n,):
        raise ValueError(f"{name} has shape {w.shape} for {counted(n, 'row')}; pass one number for each")
    return w


def given_means(family):
    """The name of a family of several columns, and the means, or df of t components, that are fixed with it."""
    if isinstance(family, tuple) and len(family) == 2 and isinstance(family[1], Mapping):
        student = of_several_columns(family[0]) == "student_t"
        if unknown := [name for name in family[1] if name != "means" and not (student and name == "df")]:
            more = ", and of 'student_t' 'df'" if unknown[0] == "df" or student else ""
            raise ValueError(
                f"family={family!r} fixes {unknown[0]!r}; of several columns 'means' can be fixed, an array (K, d){more}"
            )
        return family[0], dict(family[1])
    return family, {}


def constraints_of(equal, fixed_weights, means, candidates, columns, more=()):
    """Whether weights are free, those that are fixed, the means that are, and what is equal; `more` can be, too."""
    names, known = names_of(equal), ("weights", "covariance", *more)
    if unknown := [name for name in names if name not in known]:
        said = "of family='student_t' alone" if unknown[0] == "df" else "not known in several dimensions"
        raise ValueError(f"equal={unknown[0]!r} is {said}; use {', '.join(map(repr, known))}, or {'several' if more else 'both'}")
    if "weights" in names and fixed_weights is not None:
        raise ValueError("equal='weights' and fixed_weights= were both given; use one of them")
    if len(candidates) > 1 and not (fixed_weights is None and means is None):
        raise ValueError(f"fixed weights and means are of one number of components, not of {candidates}; pass that one")
    K, d = candidates[0], len(columns)
    if means is not None:
        found = columns_of(means, "means")
        means = doubles(means, "means")
        if found is not None and columns != tuple(range(d)):
            if set(found) != set(columns):
                raise ValueError(f"means has the columns {list(found)}, and the data {list(columns)}: give the means their names")
            means = means[:, [found.index(column) for column in columns]]
        if means.shape == (K, d) and (free := np.isnan(means).all(axis=1)).any() and not free.all():
            raise ValueError(
                f"means of {counted(int(free.sum()), 'component')} of {K} are missing: all are fixed, or none. Give each "
                "component its mean, or begin from these means by interop.GaussianMixture(means_init=), which leaves them free"
            )
        if means.shape != (K, d) or not np.isfinite(means).all():
            raise ValueError(f"means of shape {means.shape} must be {K} rows of {d} finite numbers, one for each component")
    weights = fixed_weights_of(fixed_weights, K)
    return "weights" not in names and weights is None, weights, means, names


def fit_options(starts, n_init, tol, min_count, max_condition, key, workers):
    """Options of fits in several dimensions."""
    choice("starts", starts, tuple(KINDS))
    if not tol > 0.0:
        raise ValueError(f"tol={tol!r} must be positive")
    if n_init is not None and (n_init != int(n_init) or n_init < 1):
        raise ValueError(f"n_init={n_init!r} is not a number of starts; use an integer >= 1, or None")
    if min_count is not None and not 0 <= min_count < math.inf:
        raise ValueError(f"min_count={min_count!r} is out of range; use a finite number >= 0")
    if max_condition is not None and not max_condition > 1.0:
        raise ValueError(f"max_condition={max_condition!r} is out of range; use a number > 1, such as 1e4")
    n_init = None if n_init is None else int(n_init)
    return Options(
        starts, n_init, float(tol), min_count, None if max_condition is None else float(max_condition), key=key, workers=workers
    )


def check_columns(shape, d, name):
    """Refuse values whose last axis is not that of the fit."""
    if len(shape) < 1 or shape[-1] != d:
        raise ValueError(f"{name} has shape {shape}; the last axis must have the {counted(d, 'column')} of the fit")


def points_of(x, columns, name="x"):
    """Values (..., d) at which a density is asked for as rows, the order of their columns or None, and the shape of the result.

    Columns with names are taken by these.
    """
    found, order = columns_of(x, name), None
    a = floats(x, name)
    if found is not None and columns != tuple(range(len(columns))):
        if absent := [column for column in columns if column not in found]:
            raise ValueError(
                f"{name} has no column {absent[0]!r}: the fit has {list(columns)}, and {name} has {list(found)}; pass frames "
                "with these names, or an array with the columns in this order"
            )
        order = [found.index(column) for column in columns]
    check_columns((len(order),) if order is not None else a.shape, len(columns), name)
    return a.reshape(-1, a.shape[-1]), order, a.shape[:-1]
