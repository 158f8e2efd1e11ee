"""Many data sets with labels: groups of frames, dicts, frames with a column of keys, arrays of xarray along a dimension."""

from __future__ import annotations

import datetime
import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from numbastats._core.checks import refuse_lazy
from numbastats._core.data import is_missing

__all__ = ["Keys", "keys_of", "labelled_sets", "same_order"]


class Keys(tuple):
    """Keys of data sets, a tuple; `names`, or None, are the columns or dimensions that the keys come from.

    `library` is that of the frame that they come from, "polars" or None.
    """

    names: tuple[str, ...] | None = None
    library: Any = None

    @classmethod
    def of(cls, keys, names=None, library=None):
        """The keys with their names."""
        made = cls(keys)
        made.names = None if names is None else tuple(map(str, names))
        made.library = library
        return made

    def __getstate__(self):
        return {"names": self.names, "library": self.library}

    @functools.cached_property
    def _places(self):
        return {key: i for i, key in reversed(list(enumerate(self)))}

    def place(self, key):
        """The position of a key, the first one of equal keys; None where there is none."""
        try:
            return self._places.get(key)
        except TypeError:  # of what has no hash
            return next((i for i, one in enumerate(self) if one is key), None)

    def columns(self, default: str) -> dict[str, Any]:
        """Columns of a table: one for each name, or a single column named `default`."""
        if self.names is None:
            return {default: _column(map(str, self))}
        if len(self.names) == 1:
            return {self.names[0]: _column(self)}
        return {name: _column(key[i] for key in self) for i, name in enumerate(self.names)}


def _refuse_missing(gone, names, name, fix):
    """Raise where rows of a frame have no key."""
    if gone.any():
        count, of = int(gone.sum()), names[0] if len(names) == 1 else names
        rows = f"{count} rows of {name} have" if count > 1 else f"a row of {name} has"
        raise ValueError(
            f"{rows} no key in {of!r}, the first at position {int(np.argmax(gone))}: {fix}, or give such rows a key of their own"
        )


def _column(values):
    values = list(values)
    made = np.array(values) if values else np.empty(0, str)
    if made.dtype.kind == "O" and all(isinstance(v, datetime.date) and getattr(v, "tzinfo", None) is None for v in values):
        return np.array(values, "M8[us]" if any(isinstance(v, datetime.datetime) for v in values) else "M8[D]")
    return made if made.ndim == 1 and made.dtype.kind != "O" else np.array([str(v) for v in values])


def labelled_sets(data, by=None, dim=None, name="data"):
    """Data sets and their `Keys`; data without labels as they are, and None.

    Parameters
    ----------
    data
        The argument of a function of many data sets.
    by : str or list of str, optional
        Columns of a frame whose values are the keys; one other column has the values.
    dim : str, optional
        Dimension of an array of xarray along which the values of a data set run.

    Returns
    -------
    data : list, or numpy.ndarray of shape (D, n)
    keys : Keys or None
    """
    if dim is not None:
        return _along(data, dim, name)
    if by is not None:
        return _by_columns(data, by, name)
    if hasattr(data, "dims") and hasattr(data, "coords") and getattr(data, "ndim", 0) > 1:
        raise ValueError(
            f"{name} is a {type(data).__name__} with the dimensions {tuple(data.dims)}: pass dim=, the one along which values "
            "of a data set run"
        )
    if hasattr(data, "columns") and not hasattr(data, "ngroups"):
        raise ValueError(
            f"{name} is a {type(data).__name__}: pass by='key' if one of its columns has the keys of the data sets, "
            "[frame[c] for c in frame.columns] if its columns are the data sets, frame.to_numpy() if its rows are, or "
            "frame.groupby('key')['x'] for groups of one column"
        )
    if hasattr(data, "ngroups"):
        return _groups(data, name)
    if isinstance(data, Iterable) and not hasattr(data, "__getitem__"):  # iterators, views of a dict, groups of polars
        data = list(data)
    if isinstance(data, Mapping):
        pairs = list(data.items())
    elif isinstance(data, (list, tuple)) and len(data) and all(map(_is_pair, data)):
        pairs = list(data)
    else:
        return data, None
    return [_values(part, (), name) for _key, part in pairs], Keys.of(key for key, _part in pairs)


def _is_pair(part):
    """Whether an item of a list is a pair (key, data set): a number or a string beside an array is a key."""
    if not (isinstance(part, tuple) and len(part) == 2 and np.ndim(part[1]) > 0):
        return False
    return np.ndim(part[0]) == 0 or hasattr(part[1], "columns")


def _values(part, keys, name):
    """The data set of a group; for a frame the one column without keys."""
    if not hasattr(part, "columns"):
        return part
    rest = [c for c in part.columns if c not in keys]
    if len(rest) != 1:
        raise ValueError(
            f"groups of {name} have the columns {rest}, of which one has the values: pass frame[['key', 'x']] with by='key', "
            "or with pandas frame.groupby('key')['x']"
        )
    return part[rest[0]]


def _groups(data, name):
    """Data sets of a pandas groupby."""
    given = getattr(data, "keys", None)
    names = [given] if isinstance(given, str) else given
    names = names if isinstance(names, list) and all(isinstance(n, str) for n in names) else None
    if hasattr(data, "ngroup"):  # pandas leaves out rows without a key, unless dropna=False
        number = np.asarray(data.ngroup(), dtype=np.float64)
        fix = "leave them out before, as frame.dropna(subset=...), or keep them as a group by groupby(..., dropna=False)"
        _refuse_missing(~(number >= 0.0), names or ["the groups"], name, fix)
    left_out = getattr(data, "exclusions", ())
    pairs = [(key, _values(part, left_out, name)) for key, part in data]
    if isinstance(given, list) and len(given) == 1:  # pandas makes tuples of one element
        pairs = [(key[0], part) for key, part in pairs]
    return [part for _key, part in pairs], Keys.of((key for key, _part in pairs), names)


def _by_columns(data, by, name):
    """Data sets of a frame with columns of keys."""
    if hasattr(by, "__array__"):
        raise TypeError(f"by is a {type(by).__name__}; pass a frame with the keys in a column, and its name, as by='key'")
    if not hasattr(data, "columns"):
        raise TypeError(f"by={by!r} is for a data frame, but {name} is a {type(data).__name__}; leave it out")
    refuse_lazy(data, name)
    names = [by] if isinstance(by, str) else list(by)
    if absent := [n for n in names if n not in data.columns]:
        raise ValueError(f"by={by!r} names {absent[0]!r}, but the columns of {name} are {list(data.columns)}")
    _values(data, names, name)
    polars = hasattr(data, "partition_by")
    fix = f"leave them out, as {name}." + (f"fill_nan(None).drop_nulls({names})" if polars else f"dropna(subset={names})")
    _refuse_missing(np.logical_or.reduce([is_missing(np.asarray(data[n])) for n in names]), names, name, fix)
    if polars:  # in the order of sorted keys, as pandas has them
        groups = data.sort(names, maintain_order=True).partition_by(names, as_dict=True, maintain_order=True).items()
    else:
        groups = data.groupby(names, observed=True)
    pairs = [(key if len(names) > 1 else key[0], _values(part, names, name)) for key, part in groups]
    return [part for _key, part in pairs], Keys.of((key for key, _part in pairs), names, "polars" if polars else None)


def _along(data, dim, name):
    """Rows along a dimension of an array of xarray, in the order of the other dimensions."""
    if not (hasattr(data, "dims") and hasattr(data, "transpose")):
        raise TypeError(f"dim={dim!r} is for an xarray.DataArray, but {name} is a {type(data).__name__}; leave it out")
    refuse_lazy(data, name)
    if dim not in data.dims:
        raise ValueError(f"dim={dim!r} is not a dimension of {name}, which has {tuple(data.dims)}")
    moved = data.transpose(*(d for d in data.dims if d != dim), dim)
    return moved.values.reshape(-1, moved.sizes[dim]), keys_of(moved.isel({dim: 0}, drop=True))


def keys_of(labels):
    """Coordinates of the elements of an array of xarray, in their order."""
    values = [labels[d].values.tolist() if d in labels.coords else list(range(labels.sizes[d])) for d in labels.dims]
    keys = [key if len(values) > 1 else key[0] for key in itertools.product(*values)] if values else [()]
    return Keys.of(keys, labels.dims)


def same_order(sets, keys, others, name):
    """Data sets with the keys `others`, in the order of `keys`; unchanged where `others` is None."""
    if others is None or others == keys:
        return sets
    if keys is None or len(others) != len(keys) or set(others) != set(keys):
        raise ValueError(f"{name} have keys that differ from those of the data; pass both with the same keys, or both without")
    by_key = dict(zip(others, sets, strict=True))
    return [by_key[key] for key in keys]
