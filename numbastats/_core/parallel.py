"""Threads: how many, and whether a parallel kernel may run here at all.

A parallel Numba kernel is unsafe in two situations. After ``fork`` the OpenMP pool of the parent is gone but
still believed alive (the call hangs or aborts), and the workqueue layer aborts the process when two Python
threads enter it. In both, `parallel_allowed` says no and the serial twin runs instead: same result, one core.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba

from numbastats import config
from numbastats._core.checks import is_integer

__all__ = [
    "Threads",
    "check_workers",
    "in_threads",
    "is_executor",
    "mapped",
    "parallel_region",
    "shares",
    "threads_beside",
    "threading_layer",
    "worker_count",
    "workers_of",
]

_forked = False  # this process is the child of one that had already started its thread pool
_workqueue_lock = threading.Lock()


def _pool_started() -> bool:
    try:
        numba.threading_layer()
    except ValueError:  # its public way to say "not yet", also of a pool that the user's own kernels start
        return False
    return True


def _after_fork():
    global _forked, _workqueue_lock
    _forked = _pool_started()
    _workqueue_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _is_joblib(workers) -> bool:
    return type(workers).__module__.partition(".")[0] == "joblib" and callable(workers)


def is_executor(workers) -> bool:
    """Whether `workers` calls functions elsewhere (Executor, pool, dask client, joblib.Parallel) instead of counting threads."""
    if workers is None or isinstance(workers, int):
        return False
    return any(callable(getattr(workers, name, None)) for name in ("submit", "map")) or _is_joblib(workers)


def mapped(executor, function, items):
    """The results of `function` in the order of the items, each as soon as those before it are there.

    Calls that have not begun are cancelled where the results are not taken to the end.
    """
    if callable(getattr(executor, "submit", None)):
        yield from _submitted(executor, function, items)
    elif _is_joblib(executor):
        from joblib import delayed

        yield from executor(delayed(function)(item) for item in items)
    else:
        for result in executor.map(function, list(items)):  # of some pools the results are futures
            yield result.result() if callable(getattr(result, "result", None)) else result


def _submitted(executor, function, items):
    """`mapped` by submitting one call after another.

    It asks instead of waiting, with pauses that grow to 20 ms: where another library (polars) has set a handler of SIGINT that
    lets the waiting go on, Ctrl-C would be noticed at the end only, and the timeout of a dask future may fail on a
    busy machine.
    """
    waiting = collections.deque(executor.submit(function, item) for item in items)
    try:
        while waiting:
            pause = 0.0005
            while not waiting[0].done():
                time.sleep(pause)
                pause = min(2.0 * pause, 0.02)
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def shares(items, most=64, size=50):
    """Lists of consecutive items, at most `size` in each and about `most` of them: what executors are handed at a time."""
    step = max(1, min(size, -(-len(items) // most)))
    return [items[lo : lo + step] for lo in range(0, len(items), step)]


class Threads(int):
    """A number of threads as `worker_count` gives it, which is not checked again at each pass of a fit."""


def workers_of(workers):
    """An executor as it is, anything else by `worker_count`."""
    return workers if is_executor(workers) else worker_count(workers)


def worker_count(workers) -> Threads:
    """Resolve ``workers=`` (None, a positive int, -1) to a number of threads this process can use."""
    if type(workers) is Threads:
        return workers
    if workers is None:
        workers = config.get("workers")
    if type(workers) is not int and is_executor(workers):
        raise ValueError(
            f"workers={workers!r} is an executor, but this call runs in threads: use None, a positive integer or -1. Executors "
            "are taken by elementwise functions, draws, fit_many, kde.grid, KDE, goodness and the chains of bayes (docs/scale.md)"
        )
    if not (type(workers) is int or is_integer(workers)) or (workers < 1 and workers != -1):
        raise ValueError(
            f"workers={workers!r} is not understood; use None, a positive integer, -1 for all cores, "
            "or what calls functions elsewhere: an Executor, a dask Client, joblib.Parallel, a pool"
        )
    available = numba.config.NUMBA_NUM_THREADS
    return Threads(available if workers == -1 else min(int(workers), available))


def threads_beside(workers):
    """The number of threads for work that stays in this process where an executor is given: that of `config`."""
    return None if is_executor(workers) else workers


def check_workers(workers):
    """Raise unless `workers` is understood; also where nothing is left to compute."""
    if workers is not None and not is_executor(workers):
        worker_count(workers)


@functools.cache
def threading_layer() -> str:
    """Name of the threading layer; starts it if need be."""
    if not _pool_started():
        numba.get_num_threads()  # starts it
    return numba.threading_layer()


@contextlib.contextmanager
def parallel_region(threads: int):
    """Yield True with `threads` threads set when a parallel kernel may run here, else False."""
    if threads <= 1 or _forked:
        yield False
        return
    guarded = threading_layer() == "workqueue"
    if guarded and (threading.current_thread() is not threading.main_thread() or not _workqueue_lock.acquire(blocking=False)):
        yield False
        return
    before = numba.get_num_threads()
    try:
        if before != threads:
            numba.set_num_threads(threads)
        yield True
    finally:
        if before != threads:
            numba.set_num_threads(before)
        if guarded:
            _workqueue_lock.release()


def in_threads(call, parts, threads):
    """``call(*part)`` for every part, in their order, by whichever of `threads` Python threads is free, the caller's among them.

    For calls that let go of the interpreter: serial kernels, NumPy's sort.
    """
    waiting = collections.deque(parts)

    def work():
        try:
            while True:
                try:
                    part = waiting.popleft()
                except IndexError:
                    return
                call(*part)
        finally:
            waiting.clear()  # after an exception, Ctrl-C among them, no thread begins another part

    helpers = min(threads, len(waiting)) - 1
    if helpers < 1:
        work()
        return
    with ThreadPoolExecutor(helpers) as pool:
        others = []
        with contextlib.suppress(RuntimeError):  # an interpreter that is about to end starts no thread: the caller works alone
            for _ in range(helpers):
                others.append(pool.submit(work))
        work()
        for other in others:
            other.result()  # an exception of a thread is raised here
