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
    ("turned", np.int64),  # whether its values are mirrored
)
"""Statistics of a data set; `whole` is its dispersion, `floor` the least that two distinct values have.

The prior's d0 stands among them, since by default it depends on the data.
"""

STATE = _record(
    *((name, np.float64) for name in "objective loglik old radius step_max decrement min_eig".split()),
    *((name, np.int64) for name in "phase status passes left tries closing rounds steps at_limit".split()),
)
"""State of a climb. When it is done, `objective` to `status` and `passes` are its outcome."""

CHOICE = _record(
    *((name, np.float64) for name in "loglik objective decrement min_eig runner_up".split()),
    *((name, np.int64) for name in "status n_iter n_passes hits n_singular n_climbed n_starts keeps lost going left".split()),
)
"""The fit of a data set; `lost` starts collapsed, `going` climbs are not at their ends, `left` starts may be climbed from yet."""

STATISTICS_TYPE, STATE_TYPE, CHOICE_TYPE = map(numba.from_dtype, (STATISTICS, STATE, CHOICE))


class Series(NamedTuple):
    """Statistics t1, t2 and weights w of data sets in a row; set d is off[d] to off[d + 1].

    Or of their cells: runs of neighbouring observations, by their means, which starts use instead of the observations.
    """

    t1: Any
    t2: Any
    w: Any
    off: Any


class Slots(NamedTuple):
    """Climbs of data sets, T of each at most, and those that are none.

    By data set and slot: the number of the start, -1 where there is none, and how many starts it stands for. Then for all slots
    in a row points (D T, 4, rows, K), states and Hessians.
    """

    start: Any
    cover: Any
    pars: Any
    climbs: Any
    hess: Any

    def part(self, a, b):
        """Those of data sets a to b."""
        T = self.start.shape[1]
        return Slots(self.start[a:b], self.cover[a:b], *(one[a * T : b * T] for one in self[2:]))

    def used(self):
        """Data set, start, point and outcome of each climb; of arrays on the host."""
        owner, t = np.nonzero(self.start >= 0)
        at = owner * self.start.shape[1] + t
        return owner, self.start[owner, t], self.pars[at, CURRENT], self.climbs[at]

    def beside(self, others):
        """These slots and others of the same data sets; of arrays on the host."""
        D = len(self.start)
        own, new = ([*s[:2], *(a.reshape(D, -1, *a.shape[1:]) for a in s[2:])] for s in (self, others))
        joined = [np.concatenate(pair, axis=1) for pair in zip(own, new, strict=True)]
        return Slots(*joined[:2], *(a.reshape(-1, *a.shape[2:]) for a in joined[2:]))


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


slots_type = numba.types.NamedTuple([*[_i[:, ::1]] * 2, _f[:, :, :, ::1], STATE_TYPE[::1], _f[:, :, ::1]], Slots)


work_type = numba.types.NamedTuple([_f[:, :, ::1], _f[:, :, :, ::1]], Work)


def ranges(n, parts):
    """About `parts` pairs (lo, hi) that cover n problems, for threads to share."""
    step = max(1, -(-n // parts))
    return [(lo, min(lo + step, n)) for lo in range(0, n, step)]
