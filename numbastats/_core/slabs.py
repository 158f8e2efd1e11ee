"""Long work in slabs: Python answers Ctrl-C only between two calls of compiled code, and one slab at a time is in memory."""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading

import numpy as np

from numbastats._core.parallel import worker_count

__all__ = ["CHUNK", "SLAB", "SLAB_WORK", "cuts", "in_slabs", "interrupts_held"]

SLAB_WORK = 1e8  # nanoseconds of a slab on each thread, by estimate: Ctrl-C waits for the end of the slab
CHUNK = 4096  # a multiple of every elementwise kernel's tasks and random groups: cuts at its multiples change no bit
SLAB = 64 * CHUNK  # elements of a slab that is copied: for an executor's task, or in another dtype


def cuts(n, step):
    """The pairs (first, last) that cut n items into slabs of `step` items."""
    return [(first, min(first + step, n)) for first in range(0, n, step)]


def in_slabs(run, n, cost, workers=None, unit=1):
    """``run(first, last)`` over slabs of n items that do not depend on each other, so that the slabs change no result.

    Parameters
    ----------
    run : callable
        Where the serial and the parallel twin of a kernel differ in the last bits, it chooses between them by all n items.
    n : int
    cost : float or (n,) array
        Nanoseconds of one item on one core, at most; 0 for a single slab. An array of them cuts by their sums.
    workers : int, optional
    unit : int
        Slabs are multiples of it, and of the number of threads if that is larger.
    """
    threads = worker_count(workers)
    if isinstance(cost, np.ndarray):
        filled = (np.cumsum(cost) - cost) // (SLAB_WORK * threads)
        ends = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), n]
        for first, last in itertools.pairwise(ends):
            run(first, last)
        return
    unit = max(unit, threads)
    step = max(unit, int(SLAB_WORK * threads / cost) // unit * unit) if cost else max(1, n)
    for first, last in cuts(n, step):
        run(first, last)


@contextlib.contextmanager
def interrupts_held(once=False):
    """Yield the list of the SIGINTs that arrive in the block; their handler is called with the first at the end of it.

    Only the main thread receives signals: in others the list stays empty. With `once` a second SIGINT is not held back, and
    signals are held back from Python's own handler alone: another one may go on after Ctrl-C.
    """
    handler, pressed = signal.getsignal(signal.SIGINT), []
    known = handler is signal.default_int_handler if once else callable(handler)
    if not known or threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def hold(*where):
        pressed.append(where)
        if once:
            signal.signal(signal.SIGINT, handler)

    signal.signal(signal.SIGINT, hold)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[0])
