"""Work space of kernels: of one task on the host, of every block on a GPU.

The arrays have an axis for the teams; `lanes_of` and others are what one team has of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.newton import Features, Newton
from numbastats.mixture.multivariate.kernels.passes import LANES, Lanes, Moments, Point
from numbastats.mixture.multivariate.kernels.steps import WORK

__all__ = ["NONE", "Memory", "features_of", "lanes_of", "memory_type", "new_memory", "newton_of", "spare_point", "sums_of"]

_making = array_function(fastmath=(), host=False, allocates=True)


class Memory(NamedTuple):
    """Of so many teams; for K components, d columns filled up to a multiple of four, P parameters, q features."""

    tile: object  # (teams, lines, LANES)
    at: object  # (teams, 5, LANES)
    flat: object  # (teams, d LANES)
    total: object  # (teams, K)
    first: object  # (teams, K, d)
    second: object  # (teams, K, d, d)
    place: object  # (teams, K, q)
    own: object  # (teams, q, q)
    vectors: object  # (teams, 7, P, q or d)
    squares: object  # (teams, 4, P, P)
    log_weights: object  # (2 teams, K): two points of each team, as a `Point` has them
    means: object
    covariances: object
    factors: object
    heights: object
    work: object  # (teams, K, WORK, d, d)
    rows: object  # (teams, 3, rows)
    share: object  # (teams, 2, LANES)


@_making
def new_memory(teams, K, d, q, p, rows):
    """Work space of zeros; without features and parameters (q = p = 0) it is that of passes for EM."""
    filled, more = (p + 3) // 4 * 4, d + q + (p + 3) // 4 * 4 + K + 1
    square = K, d, d
    return Memory(
        np.zeros((teams, d + 6 + max(K, d) + (more if q > 0 else 0), LANES)),
        np.zeros((teams, 5, LANES), np.int64),
        np.zeros((teams, d * LANES)),
        np.zeros((teams, K)),
        np.zeros((teams, K, d)),
        np.zeros((teams, *square)),
        np.zeros((teams, K, q), np.int64),
        np.zeros((teams, q, q)),
        np.zeros((teams, 7, max(filled, q, d))),
        np.zeros((teams, 4, filled, filled)),
        np.zeros((2 * teams, K)),
        np.zeros((2 * teams, K, d)),
        np.zeros((2 * teams, *square)),
        np.zeros((2 * teams, *square)),
        np.zeros((2 * teams, K)),
        np.zeros((teams, K, WORK, d, d)),
        np.zeros((teams, 3, rows)),
        np.zeros((teams, 2, LANES)),
    )


@_making
def lanes_of(memory, t):
    """Buffers for a tile."""
    K, d = memory.first.shape[1:]
    tile, at, share, logs = memory.tile[t], memory.at[t, 0], memory.share[t], d + 4
    return Lanes(tile[:d], tile[d:logs], tile[logs : logs + K], tile[logs + K], tile[logs + K + 1], at, share)


@_making
def sums_of(memory, t):
    """Sums over rows."""
    return Moments(memory.total[t], memory.first[t], memory.second[t])


@_making
def features_of(memory, t):
    """Buffers and sums of the information."""
    K, d = memory.first.shape[1:]
    q, filled, tile, vectors = memory.own.shape[1], memory.squares.shape[2], memory.tile[t], memory.vectors[t]
    z = d + 6 + max(K, d)
    r = z + d + q + filled
    return Features(
        tile[z : z + d],
        tile[z + d : z + d + q],
        tile[z + d + q : r],
        memory.own[t],
        vectors[0, :q],
        memory.squares[t, 3],
        vectors[1, :filled],
        memory.place[t],
        memory.flat[t],
        tile[r : r + K],
        tile[min(r + K, tile.shape[0] - 1)],
    )


@_making
def newton_of(memory, t, p):
    """Gradient and information of p parameters."""
    vectors, squares = memory.vectors[t], memory.squares[t]
    return Newton(vectors[2:4], squares[:2], vectors[4:6], squares[2], vectors[6, :p])


@_making
def spare_point(memory, t, which):
    """One of the two points."""
    m = 2 * t + which
    return Point(memory.log_weights[m], memory.means[m], memory.covariances[m], memory.factors[m], memory.heights[m])


_f, _i = numba.types.float64, numba.types.int64
_f2, _f3, _f4 = _f[:, ::1], _f[:, :, ::1], _f[:, :, :, ::1]
_point = _f2, _f3, _f4, _f4, _f2
memory_type = numba.types.NamedTuple(
    [_f3, _i[:, :, ::1], _f2, _f2, _f3, _f4, _i[:, :, ::1], _f3, _f3, _f4, *_point, _f[:, :, :, :, ::1], _f3, _f3], Memory
)
NONE: Memory = new_memory.py_func(0, 0, 0, 0, 0, 0)
"""What the host's twins get, which make their own."""
