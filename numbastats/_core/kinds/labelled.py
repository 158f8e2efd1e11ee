"""Arrays with labels: series and frames of pandas, series of polars, xarray's. Where the shape stays, so do the labels.

Inputs of one call go together by their labels, never by position against them (`aligned`): arrays of xarray broadcast by the
names of dimensions, and their coordinates must be equal; an index of pandas must be equal; series of polars have no labels.
"""

from __future__ import annotations

import copy
import types

import numpy as np

from numbastats._core.broadcast import as_host, dtype_of


def _kind(name, belongs, relabelled):
    """A kind of arrays on the host, read by `numpy.asarray`."""

    def from_host(result, like):
        return relabelled(result, like) if np.shape(result) == tuple(like.shape) else result

    return types.SimpleNamespace(
        name=name,
        on_device=False,
        is_mine=belongs,
        dtype=lambda x: dtype_of(as_host(x)),
        to_host=lambda x, name: x,
        from_host=from_host,
        copied=lambda x: copy.copy(as_host(x)),
        as_float32=lambda x: from_host(np.asarray(x).astype(np.float32), x),
        ends=lambda x: None,
        has_labels=True,
    )


def libraries_of(x):
    """Packages that the type of x and its bases are from."""
    return {c.__module__.partition(".")[0] for c in type(x).__mro__}


def _like_pandas(result, like):
    if like.ndim == 2:
        return type(like)(result, index=like.index, columns=like.columns)
    return type(like)(result, index=like.index, name=like.name)


pandas = _kind("pandas", lambda x, libraries: "pandas" in libraries and hasattr(x, "iloc"), _like_pandas)
polars = _kind(
    "polars",
    lambda x, libraries: "polars" in libraries and type(x).__name__ == "Series",
    lambda result, like: type(like)(like.name, result),
)
xarray = _kind(
    "xarray",
    lambda x, libraries: "xarray" in libraries and hasattr(x, "dims") and hasattr(x, "data"),
    lambda result, like: like.copy(data=result),
)


def aligned(values, names, last=None):
    """The values so that they broadcast by position as their labels say, and an array with the labels of the result, or None.

    Parameters
    ----------
    values, names : sequence
        The inputs, and what to call them in messages.
    last : xarray.DataArray, optional
        One of the inputs, whose dimensions come last in the result and in their order; by default dimensions are in the order of
        their first appearance.

    Raises
    ------
    ValueError
        For labels that differ; the message names what aligns them.
    """
    framed = [(v, n) for v, n in zip(values, names, strict=True) if _is_of(pandas, v)]
    named = [(v, n) for v, n in zip(values, names, strict=True) if _is_of(xarray, v)]
    if framed and named:
        raise ValueError(
            f"{framed[0][1]} is of pandas and {named[0][1]} of xarray, whose labels are not compared; convert one of them, as "
            f"{framed[0][1]}.to_xarray(), or pass {framed[0][1]}.to_numpy() to go by position"
        )
    framed.sort(key=lambda pair: -pair[0].ndim)  # frames first
    for value, called in framed[1:]:
        _same_index(*framed[0], value, called)
    if not named:
        return values, framed[0][0] if framed else None
    first = named[0][0]
    for i, (value, called) in enumerate(named):
        for other, other_name in named[:i]:
            _same_coordinates(other, other_name, value, called)
    if all(v.dims == first.dims for v, _ in named):
        more = {d: v.coords[d].variable for v, _ in named for d in first.dims if d in v.coords and d not in first.coords}
        return [v.data if _is_of(xarray, v) else v for v in values], first.assign_coords(more) if more else first
    if bare := [n for v, n in zip(values, names, strict=True) if not hasattr(v, "dims") and np.ndim(v)]:
        raise ValueError(
            f"{bare[0]} has no dimensions with names, and those of {' and '.join(n for _, n in named)} differ, so that its axes "
            f"could go with either; pass {bare[0]} as an xarray.DataArray"
        )
    dims = list(dict.fromkeys(d for v, _ in named for d in v.dims))
    if last is not None:
        dims = [d for d in dims if d not in last.dims] + list(last.dims)
    import xarray as library

    like = library.broadcast(*(v for v, _ in named))[0].transpose(*dims)
    return [_in_order(v, dims) if _is_of(xarray, v) else v for v in values], like


def relabelled(result, like):
    """A result of dask with the labels of an array of xarray, where it has its shape."""
    return xarray.from_host(result, like) if _is_of(xarray, like) else result


def rows_alike(data, values, names):
    """Raise ValueError where `values`, one for each row (or element) of the data, have other labels than those."""
    x, w = names
    if _is_of(pandas, data) and _is_of(pandas, values):
        if not data.index.equals(values.index):
            _refuse(f"{w} and {x} have different indexes", w, f"{w}.reindex({x}.index)")
        if values.ndim == data.ndim == 2:
            _same_index(data, x, values, w)
    elif _is_of(xarray, data) and _is_of(xarray, values):
        if values.dims != data.dims[: values.ndim]:
            _refuse(f"{w} and {x} have different dimensions, {values.dims} and {data.dims}", w, f"{w}.transpose(*{x}.dims)")
        _same_coordinates(data, x, values, w)
    elif any(_is_of(a, data) and _is_of(b, values) for a, b in ((pandas, xarray), (xarray, pandas))):
        aligned((data, values), names)  # raises


def _is_of(kind, value):
    """Whether a value is an array of a kind, with at least one axis."""
    return hasattr(value, "shape") and kind.is_mine(value, libraries_of(value)) and value.shape != ()


def _in_order(value, dims):
    """The data of an xarray array with an axis for each of `dims`; missing dimensions have length 1."""
    moved = value.transpose(*(d for d in dims if d in value.dims)).data
    return moved[tuple(slice(None) if d in value.dims else None for d in dims)]


def _same_index(a, a_name, b, b_name):
    """Raise unless two inputs of pandas have the same index, and columns; a series goes with the columns of a frame."""
    if a.ndim > b.ndim:
        if not b.index.equals(a.columns):
            fault = f"the index of {b_name} is not that of the columns of {a_name}"
            _refuse(fault, b_name, f"{b_name}.reindex({a_name}.columns)")
    elif not (a.index.equals(b.index) and (a.ndim == 1 or a.columns.equals(b.columns))):
        what = "indexes" if a.ndim == 1 else "indexes or columns"
        _refuse(f"{b_name} and {a_name} have different {what}", b_name, f"{b_name}.reindex_like({a_name})")


def _same_coordinates(a, a_name, b, b_name):
    """Raise unless two arrays of xarray have the same labels along the dimensions that they share."""
    for d in set(a.dims) & set(b.dims):
        labels = d in a.coords and d in b.coords  # without other coordinates along the same dimension
        if a.sizes[d] != b.sizes[d] or labels and not a.coords[d].variable.equals(b.coords[d].variable):
            fault = f"{b_name} and {a_name} have different labels along the dimension {d!r}"
            _refuse(fault, b_name, f"{b_name}.reindex_like({a_name})")


def _refuse(fault, name, remedy):
    raise ValueError(
        f"{fault}, and numbastats does not align them; pass {remedy} for the same labels in the same order (NaN where there are "
        f"none), or {name}.to_numpy() to go by position"
    )
