"""Long loops in slabs, because Python notices Ctrl-C only between two calls of compiled code, and loops on several threads."""

from __future__ import annotations

import numpy as np

from numbastats._core.broadcast import lent
from numbastats._core.parallel import parallel_region, worker_count

__all__ = ["in_slabs", "run_loop"]

SLAB = 3e8  # nanoseconds that a slab takes at most, by estimate: an interrupt waits for its end
PARALLEL_FROM = 50_000  # items from which on threads pay


def in_slabs(run, n, cost, workers=None):
    """``run(first, last)`` over slabs of n items that do not depend on each other, so that the slabs change no result.

    Parameters
    ----------
    run : callable
        Chooses between the serial and the parallel twin of a kernel by all n items: the last bits of sums may differ.
    n : int
    cost : float
        Nanoseconds of one item on one core, at most; 0 for a single slab.
    workers : int, optional
        Every slab has at least an item per thread.
    """
    step = max(1, int(SLAB / cost)) * worker_count(workers) if cost else n
    for first in range(0, n, step):
        run(first, min(first + step, n))


def run_loop(loop, n, workers, *args):
    """Call a `host_loop` over chunks of n items, on several threads where that pays."""
    count = worker_count(workers)
    args = [lent(a) if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in args]
    if count == 1 or n < PARALLEL_FROM:
        loop.serial(*args)
    else:
        with parallel_region(count) as allowed:
            (loop.parallel if allowed else loop.serial)(*args)
