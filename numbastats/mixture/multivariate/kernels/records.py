"""What the kernels pass to each other: records, structures of arrays, and the codes that stand in them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.kernel import array_function
from numbastats.mixture.kernels.records import ranges
from numbastats.mixture.multivariate.kernels.passes import Point
from numbastats.mixture.multivariate.kernels.steps import Facts, Model

__all__ = [
    "BY_PRODUCTS",
    "DONE",
    "EM",
    "FLAT",
    "MOST_STEPS",
    "MOST_TRIES",
    "NEWTON",
    "STATE",
    "STATE_TYPE",
    "Batch",
    "Settings",
    "batch_type",
    "facts_of",
    "model_type",
    "point_type",
    "ranges",
    "settings_type",
]

DONE, EM, NEWTON = range(3)  # phases of a climb
BY_PRODUCTS = 2  # of Settings.newton: without the matrix of second derivatives
FLAT = 1e-8  # the least eigenvalue of the information, in units of the complete data's, that counts as positive
MOST_STEPS, MOST_TRIES = 100, 12  # of Newton's method

STATE = np.dtype(
    (
        np.record,
        np.dtype(
            [(name, np.float64) for name in "loglik decrement min_eig condition excess damping share enough".split()]
            + [(name, np.int64) for name in "phase status passes left tries closing steps newton".split()],
            align=True,
        ),
    )
)
"""State of a climb. When it is done, `loglik` to `excess`, `status` and `passes` are its outcome; of one without Newton's method
`decrement` is the last gain."""
STATE_TYPE = numba.from_dtype(STATE)

_function = array_function(fastmath=(), host=False)


class Batch(NamedTuple):
    """Data sets in tiles, one after another: set s has the rows from off[s] to off[s + 1], some of them of weight 0."""

    x: object  # (rows * d,), d filled up to a multiple of four
    w: object  # (rows,)
    off: object  # (D + 1,)
    mass: object  # (D,): sums of the weights
    least: object  # (D,): weight below which a component has collapsed
    pivots: object  # (D, d): those of Cholesky's method for the scatter
    columns: int


class Settings(NamedTuple):
    """What is fixed during a climb."""

    newton: int  # 0: steps of EM alone; 1: Newton's method; BY_PRODUCTS
    tol: float
    noise: float
    most: int = 1 << 40  # passes of a call: a climb that is not at its end then waits where it is for the next call


@_function
def facts_of(rows, s):
    """Facts of a data set."""
    return Facts(rows.columns, rows.mass[s], rows.least[s])


_f, _i = numba.types.float64, numba.types.int64


def batch_type(T):
    """Numba's type of a `Batch` whose rows are floats T."""
    return numba.types.NamedTuple([T[::1], _f[::1], _i[::1], _f[::1], _f[::1], _f[:, ::1], _i], Batch)


point_type = numba.types.NamedTuple([_f[:, ::1], _f[:, :, ::1], _f[:, :, :, ::1], _f[:, :, :, ::1], _f[:, ::1]], Point)
model_type = numba.types.NamedTuple([_i] * len(Model._fields), Model)
settings_type = numba.types.NamedTuple([_i, _f, _f, _i], Settings)
