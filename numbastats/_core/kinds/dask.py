"""Arrays of dask: elementwise functions work on them block by block when they are computed; nothing pulls one into memory."""

from __future__ import annotations

from numbastats._core.checks import is_lazy, refuse_lazy

name, on_device = "dask", False


def is_mine(x, libraries):
    return is_lazy(x)


def dtype(x):
    return x.dtype


def to_host(x, name):
    refuse_lazy(x, name)


from_host = copied = as_float32 = ends = to_host  # for nothing is computed before it is asked for


def blocks(x, name):
    """The array itself, or that which an xarray object holds; series and frames of dask are refused."""
    x = x.data if hasattr(x, "dims") else x
    if not hasattr(x, "chunks"):
        refuse_lazy(x, name)
    return x


def shares(x, weights=None):
    """Blocks of rows and their weights, or None, as delayed values."""
    x = blocks(x, "the samples")
    if x.ndim == 2:
        x = x.rechunk({1: -1})
    parts = x.to_delayed().ravel()
    if weights is None:
        return [(part, None) for part in parts]
    from dask.array import asarray

    weights = blocks(weights, "the weights") if is_lazy(weights) else asarray(weights)
    if weights.shape != x.shape[:1]:
        raise ValueError(f"the samples have shape {x.shape} and their weights {weights.shape}; pass one weight per sample")
    return list(zip(parts, weights.rechunk((x.chunks[0],)).to_delayed().ravel(), strict=True))


def blockwise(function, values, dtype):
    """The dask array of an elementwise function of arrays, of which some are dask's; blocks are shared out by its scheduler."""
    from dask.array.core import elemwise

    return elemwise(function, *values, dtype=dtype)
