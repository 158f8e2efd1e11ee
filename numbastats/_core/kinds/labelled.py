"""Arrays with labels: series and frames of pandas, series of polars, xarray's. Where the shape stays, so do the labels."""

from __future__ import annotations

import copy
import types

import numpy as np

from numbastats._core.broadcast import as_host, dtype_of


def _kind(name, belongs, labels, relabelled):
    """A kind of arrays on the host, read by `numpy.asarray`; what `labels` gives must be equal among the inputs of a call."""

    def from_host(result, like):
        return relabelled(result, like) if np.shape(result) == tuple(like.shape) else result

    def check(values, names):
        first = None
        for value, called in zip(values, names, strict=True):
            if not belongs(value, libraries_of(value)) or not value.shape:
                continue
            if first is None:
                first, first_name = value, called
            elif value.shape != first.shape or not labels(value, first):
                raise ValueError(
                    f"{called} and {first_name} have other labels or shapes, and numbastats does not align them; align them "
                    f"first, or pass {called}.to_numpy() to go by position"
                )

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
        check=check,
    )


def libraries_of(x):
    """Packages that the type of x and its bases are from."""
    return {c.__module__.partition(".")[0] for c in type(x).__mro__}


def _like_pandas(result, like):
    if like.ndim == 2:
        return type(like)(result, index=like.index, columns=like.columns)
    return type(like)(result, index=like.index, name=like.name)


pandas = _kind(
    "pandas",
    lambda x, libraries: "pandas" in libraries and hasattr(x, "iloc"),
    lambda a, b: a.index.equals(b.index) and (a.ndim == 1 or a.columns.equals(b.columns)),
    _like_pandas,
)
polars = _kind(
    "polars",
    lambda x, libraries: "polars" in libraries and type(x).__name__ == "Series",
    lambda a, b: True,  # it has no labels but its name
    lambda result, like: type(like)(like.name, result),
)
xarray = _kind(
    "xarray",
    lambda x, libraries: "xarray" in libraries and hasattr(x, "dims") and hasattr(x, "data"),
    lambda a, b: a.dims == b.dims and all(a.coords[d].equals(b.coords[d]) for d in a.dims if d in a.coords and d in b.coords),
    lambda result, like: like.copy(data=result),
)
