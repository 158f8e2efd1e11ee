"""Arrays of dask: elementwise functions work on them block by block when they are computed; nothing pulls one into memory."""

from __future__ import annotations

import numpy as np

from numbastats._core.checks import is_lazy, refuse_lazy

name, on_device = "dask", False


def is_mine(x, libraries):
    return is_lazy(x)


def dtype(x):
    return x.dtype


def to_host(x, name):
    refuse_lazy(x, name)


from_host = copied = as_float32 = ends = to_host  # all of them raise: nothing is computed before it is asked for


def blocks(x, name):
    """The dask array itself, or the one in an xarray object; raises for series and frames of dask."""
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


def blockwise(function, values, dtype, last=None):
    """The dask array of an elementwise function of arrays, of which some are dask's; blocks are shared out by its scheduler.

    `last` is the length of an axis that the function adds at the end.
    """
    from dask.array.core import blockwise, elemwise

    if last is None:
        return elemwise(function, *values, dtype=dtype)
    n = max(map(np.ndim, values))
    pairs = [item for v in values for item in (v, tuple(range(n - np.ndim(v), n)) if np.ndim(v) else None)]
    return blockwise(function, tuple(range(n + 1)), *pairs, new_axes={n: last}, dtype=dtype, meta=np.empty((0,) * (n + 1), dtype))


def drawn(function, values, like, shape, dtype):
    """The dask array of that shape whose blocks are drawn by a function of blocks of the values, told where by `block_info`.

    Chunks are those of the arrays of dask among the values and of `like`, where it has the shape, else dask's choice.
    """
    from dask.array import asarray, broadcast_arrays, broadcast_to, map_blocks
    from dask.array.core import normalize_chunks

    given = [v for v in values if is_lazy(v)]
    if like is not None and like.shape == shape:
        given.append(like)
    chunks = ["auto"] * len(shape)
    if given:
        for axis, sizes in enumerate(reversed(broadcast_arrays(*given)[0].chunks), 1):
            if sum(sizes) == shape[-axis]:
                chunks[-axis] = sizes
    chunks = normalize_chunks(tuple(chunks), shape, dtype=dtype)
    parts = [broadcast_to(asarray(v), shape).rechunk(chunks) if np.ndim(v) or is_lazy(v) else v for v in values]
    return map_blocks(function, *parts, dtype=dtype, chunks=chunks, meta=np.empty((0,) * len(shape), dtype))
