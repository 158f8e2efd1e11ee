"""Long loops in slabs: Python notices Ctrl-C only between two calls of compiled code."""

from __future__ import annotations

from numbastats._core.parallel import worker_count

__all__ = ["in_slabs"]

SLAB = 3e8  # nanoseconds that a slab takes at most, by estimate: an interrupt waits for its end


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
