"""Which quantiles a table has not given, in the pass that follows it while both arrays are in a cache."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.kernel import host_loop
from numbastats.scalar.loops import CHUNK

__all__ = ["BEYOND", "COUNTS"]

_F = types.float64[::1]


@host_loop("distributions.beyond", (_F, _F, types.float64, types.int64[::1], types.int64[::1]))
def BEYOND(u, value, least, count, index):
    """Of each chunk the places at which u is not within (least, 1) or the value is NaN: first in its part of `index`."""
    for k in prange(count.size):
        lo = np.int64(k) * CHUNK
        p, v, found = u[lo : lo + CHUNK], value[lo : lo + CHUNK], 0
        for i in range(p.size):
            found += not ((p[i] > least) & (p[i] < 1.0) & (v[i] == v[i]))
        count[k] = found
        if found:
            j = lo
            for i in range(p.size):
                if not ((p[i] > least) & (p[i] < 1.0) & (v[i] == v[i])):
                    index[j] = lo + i
                    j += 1


@host_loop("distributions.counts_of_steps", (_F, types.float64, _F, _F))
def COUNTS(u, sign, steps, out):
    """The number of steps below sign u, NaN where all are: a quantile of counts by their tails."""
    for k in prange((u.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        p, o = u[lo : lo + CHUNK], out[lo : lo + CHUNK]
        for i in range(p.size):
            at = np.searchsorted(steps, sign * p[i])
            o[i] = at if at < steps.size else np.nan
