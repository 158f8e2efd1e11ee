"""Which quantiles a table has not given, in the pass that follows it while both arrays are in a cache."""

from __future__ import annotations

import numpy as np
from numba import types

from numbastats._core.kernel import HostLoop

__all__ = ["BEYOND", "COUNTS"]

_F = types.float64[::1]


def beyond(u, value, least):
    """Whether a u is not within (least, 1), or its value is NaN."""
    found = 0
    for i in range(u.size):
        found += not ((u[i] > least) & (u[i] < 1.0) & (value[i] == value[i]))
    return found > 0


def counts_of_steps(u, sign, steps, out):
    """The number of steps below sign u, NaN where all are: a quantile of counts by their tails."""
    for i in range(u.size):
        at = np.searchsorted(steps, sign * u[i])
        out[i] = at if at < steps.size else np.nan


BEYOND = HostLoop("distributions.beyond", beyond, [(_F, _F, types.float64)], parallel=False)
COUNTS = HostLoop("distributions.counts_of_steps", counts_of_steps, [(_F, types.float64, _F, _F)], parallel=False)
