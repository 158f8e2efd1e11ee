"""What the kernels of mixtures pass to each other: records, structures of arrays, and the codes that stand in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

NEWTON, SQUAREM, EM, BULKEM = range(4)  # methods
DONE, START, WARM, AT_NEWTON, FINAL, SQ_A, SQ_B, SQ_C, AT_EM = range(9)  # phases; from SQ_A on those of `accelerate`
TRIAL, CURRENT, ANCHOR, SECOND = range(4)  # rows of the parameter store; the EM passes of starts need the first alone
GRADIENT, STEP, EIG, COMPLETE, TH0, TH1, TH2 = range(7)  # rows of the vector store
VECTOR_ROWS = 7

FLAT = 1e-8  # the smallest eigenvalue of the scaled -H that counts as positive: one minus the rate of EM


def _record(*fields):
    """Type of the elements of an array, whose attributes are `fields`; NumPy's own structures have no attributes."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


STATISTICS = _record(
    *((name, np.float64) for name in "centre mass sum1 sum2 whole floor scale shift logs spread prior_d".split()),
    ("distinct", np.int64),
    ("count", np.int64),
    ("unit", np.int64),  # whether all weights are 1
)
"""Statistics of a data set; `whole` is its dispersion, `floor` the least that two distinct values have.

The prior's d0 stands among them, since by default it depends on the data.
"""

STATE = _record(
    *((name, np.float64) for name in "objective loglik old radius step_max decrement min_eig".split()),
    *((name, np.int64) for name in "phase status passes left tries closing rounds steps at_limit".split()),
)
"""State of a climb. When it is done, `objective` to `status` and `passes` are its outcome."""

STATISTICS_TYPE, STATE_TYPE = numba.from_dtype(STATISTICS), numba.from_dtype(STATE)


class Series(NamedTuple):
    """Statistics t1, t2 and weights w of data sets in a row; set d is off[d] to off[d + 1].

    Or of their cells: runs of neighbouring observations, by their means, which starts use instead of the observations.
    """

    t1: Any
    t2: Any
    w: Any
    off: Any


class Work(NamedTuple):
    """Work space of steps on a GPU, by thread: vectors (threads, VECTOR_ROWS, n) and two matrices (threads, 2, n, n)."""

    vec: Any
    mat: Any


class Settings(NamedTuple):
    """What is fixed during a climb: family, method, prior, stopping rules."""

    family: int
    shape: float
    method: int
    tol: float
    decrement_tol: float
    noise: float  # relative rounding error of the objective
    max_passes: int
    warm_passes: int
    prior_n: float
    prior_a: float


_f, _i = numba.types.float64, numba.types.int64


def series_type(T):
    """Numba's type of a `Series` of floats T."""
    return numba.types.NamedTuple([T[::1], T[::1], T[::1], _i[::1]], Series)


settings_type = numba.types.NamedTuple([_i, _f, _i, _f, _f, _f, _i, _i, _f, _f], Settings)


work_type = numba.types.NamedTuple([_f[:, :, ::1], _f[:, :, :, ::1]], Work)


def ranges(n, parts):
    """About `parts` pairs (lo, hi) that cover n problems, for threads to share."""
    step = max(1, -(-n // parts))
    return [(lo, min(lo + step, n)) for lo in range(0, n, step)]
