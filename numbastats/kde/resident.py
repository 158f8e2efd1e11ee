"""Samples that stay on a GPU: what the host has to know of them for a grid comes down in a few hundred bytes."""

from __future__ import annotations

import numpy as np

from numbastats._core.device import current_index
from numbastats._core.kinds import kind_of
from numbastats._core.ordering import order_of
from numbastats._core.place import Place
from numbastats.kde.cell_list import Sorted
from numbastats.kde.kernels import resident as K
from numbastats.kde.kernels.sorting import BLOCK, CHUNKS
from numbastats.kde.moments import described

__all__ = ["moments_there", "resident", "sorted_there"]

MOST_AXES = 4  # of grids


def resident(samples):
    """Place and float64 array (n, d) of samples on a GPU, dtype that decides the result, library; None for all others."""
    kind = kind_of(samples)
    if not kind.on_device or len(samples.shape) not in (1, 2) or not all(samples.shape):
        return None
    own, shape = np.dtype(kind.dtype(samples)), tuple(samples.shape)
    if own.kind not in "fiub" or not kind.takes(samples, shape, np.dtype(float)) or shape[1:] > (MOST_AXES,):
        return None
    if kind.gpu_of(samples) not in (None, current_index()):
        return None
    place = Place("cuda", kinds=(kind,))
    place.begin()
    x = place.asarray(samples, "samples", np.float64).reshape(shape[0], *(shape[1:] or (1,)))
    return place, x, np.dtype(np.float32 if own.kind == "f" and own.itemsize == 4 else np.float64), kind.name


def moments_there(place, x):
    """`moments` of samples without weights."""
    n, d = x.shape
    pairs, step = d * (d + 1) // 2, max(1, n // 1000)
    record, lanes = place.zeros((CHUNKS + 1, 3 + d, d)), place.empty((pairs, 4, CHUNKS * BLOCK))
    some = -(-n // step) * d
    place.run(K.MIDDLE, some, some, x, record)
    place.run(K.LANES, pairs * CHUNKS * BLOCK, pairs * CHUNKS * BLOCK, (x, record), lanes)
    place.run(K.REDUCED, pairs * CHUNKS, pairs * CHUNKS, lanes, record)
    *chunks, (first, second, *_) = place.host(record)
    chunks, shift = np.array(chunks), 0.5 * first + 0.5 * second
    shift = np.where(np.isfinite(shift), shift, 0.0)
    bad = 0 if np.isfinite(chunks[:, 0]).all() else 1
    return described(n, n, shift, chunks[:, 0], chunks[:, 3:], chunks[:, 1], chunks[:, 2], bad=bad)


def sorted_there(place, x, axes):
    """`cell_list` of samples without weights; what the kernels write is there before the host goes on."""
    (n, d), total = x.shape, int(np.prod(axes["cells"]))
    sizes, units = (place.asarray(np.array(v)) for v in (axes["coarse_cells"], [axes[k] for k in ("axis", "origin", "step")]))
    key, coarse = place.empty(n, np.int64), place.zeros(int(np.prod(axes["coarse_cells"])), np.int64)
    place.run(K.COUNT, n, x, axes, key, coarse)
    order, starts = order_of(place, key, total)
    parts, facts = place.empty((K.PARTS, 2), np.int64), place.empty(3, np.int64)
    place.run(K.LARGEST, K.PARTS, K.PARTS, (coarse, sizes, starts), parts)
    place.run(K.FACTS, 3, 3, (parts, starts), facts)
    count, crowd, kept = place.host(facts).tolist()
    u = place.empty((d, kept))
    place.run(K.GATHER, kept, kept, (x, units, order), u)
    place.wait()  # the kernels of the grid are on another stream
    one = np.ones(1)
    return Sorted(u, one, one, starts, float(count), float(count), kept, crowd=crowd)
