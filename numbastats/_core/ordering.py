"""Running sums and the order of keys on a GPU: the integers that NumPy gives on the host.

The CPU twins of the kernels stand for them in tests alone.
"""

from __future__ import annotations

import numpy as np
from numba import types

from numbastats._core.items import items_cpu, items_cuda
from numbastats._core.kernel import Kernel, array_function

__all__ = ["order_of", "running_sums"]

PIECE = 256  # values that an item adds up
BITS = 8  # of a key, by which one round sorts
CHUNKS = 8192  # parts of the keys at most, each counted and moved by one item

_function = array_function(fastmath=(), host=False)


@_function
def _piece(x, sums, item):
    """The sum of a piece."""
    total = np.int64(0)
    for i in range(item * PIECE, min((item + 1) * PIECE, x.size)):
        total += x[i]
    sums[item] = total


@_function
def _running(given, out, item):
    """Running sums in a piece, given those at the ends of pieces."""
    x, ends = given
    total = ends[item - 1] if item > 0 else np.int64(0)
    for i in range(item * PIECE, min((item + 1) * PIECE, x.size)):
        total += x[i]
        out[i] = total


@_function
def _digit(key, most, shift):
    """A digit of a key; one that is negative counts as the largest."""
    return ((key if key >= 0 else most) >> shift) & ((1 << BITS) - 1)


@_function
def _counted(given, counts, item):
    """How often each digit occurs in a chunk, a column of the counts."""
    key, most, shift = given
    chunks = counts.shape[1]
    for i in range(item * key.size // chunks, (item + 1) * key.size // chunks):
        counts[_digit(key[i], most, shift), item] += 1


@_function
def _moved(given, out, item):
    """Keys and their indices of a chunk to where they belong by this digit; `ends` has running sums of the counts."""
    (key, index, most, shift, ends), (counts, to, index_to) = given, out
    chunks = counts.shape[1]
    for d in range(counts.shape[0]):
        counts[d, item] = ends[d * chunks + item] - counts[d, item]
    for i in range(item * key.size // chunks, (item + 1) * key.size // chunks):
        d = _digit(key[i], most, shift)
        at = counts[d, item]
        counts[d, item] = at + 1
        to[at] = key[i]
        index_to[at] = index[i] if shift > 0 else i


@_function
def _first(key, starts, item):
    """The place of the first key that is not below the item's number."""
    lo, hi = np.int64(0), key.size
    while lo < hi:
        middle = (lo + hi) >> 1
        if 0 <= key[middle] < item:
            lo = middle + 1
        else:
            hi = middle
    starts[item] = lo


_i, _line, _table = types.int64, types.int64[::1], types.int64[:, ::1]


def _kernel(name, body, given, out):
    signature = [(_i, *(types.Tuple(t) if isinstance(t, tuple) else t for t in (given, out)))]
    return Kernel(f"_core.{name}", items_cpu, items_cuda, lambda T: signature, dtypes=("float64",), on_host=False, _body=body)


PIECES = _kernel("pieces", _piece, _line, _line)
RUNNING = _kernel("running_sums", _running, (_line, _line), _line)
COUNTED = _kernel("count_digits", _counted, (_line, _i, _i), _table)
MOVED = _kernel("move_by_digits", _moved, (_line, _line, _i, _i, _line), (_table, _line, _line))
FIRST = _kernel("first_of_keys", _first, _line, _line)


def running_sums(place, x):
    """Cumulative sums of a flat array of int64."""
    out, pieces = place.empty(x.size, np.int64), -(-x.size // PIECE)
    ends = out[:0]
    if pieces > 1:
        sums = place.empty(pieces, np.int64)
        place.run(PIECES, pieces, pieces, x, sums)
        ends = running_sums(place, sums)
    place.run(RUNNING, pieces, pieces, (x, ends), out)
    return out


def order_of(place, key, size):
    """Stable order of integer keys.

    Parameters
    ----------
    place : Place
    key : (n,) int64
        Below `size`; negative ones come last.
    size : int

    Returns
    -------
    order : (n,) int64
        Indices by which the keys ascend.
    starts : (size + 1,) int64
        First place of each key in the order; the last is that of the negative ones.
    """
    n, most = key.size, np.int64(size)
    chunks, order = max(1, min(CHUNKS, -(-n // PIECE))), place.empty(n, np.int64)
    for shift in range(0, max(1, int(size).bit_length()), BITS):
        counts, to, index = place.zeros((1 << BITS, chunks), np.int64), place.empty(n, np.int64), place.empty(n, np.int64)
        place.run(COUNTED, chunks, chunks, (key, most, np.int64(shift)), counts)
        ends = running_sums(place, counts.ravel())
        place.run(MOVED, chunks, chunks, (key, order, most, np.int64(shift), ends), (counts, to, index))
        key, order = to, index
    starts = place.empty(size + 1, np.int64)
    place.run(FIRST, starts.size, starts.size, key, starts)
    return order, starts
