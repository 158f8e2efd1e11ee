"""The jobs of gpu.py, in processes of their own; this one keeps the report and loses nothing but the job of a process that ends.

It knows nothing of kernels and GPUs. The first process does what is timed, in order; helpers do the rest beside it (they compile
and check), and stand still while something is timed. When nothing that is timed is left, the first helps, too. On systems other
than Linux helpers may not stand still, and outlive a parent that is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import wait

SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit the driver's state
NOT_REACHED, UNDER_WAY, DONE = "not reached", "under way", "done"
NAMES = 250  # that the report lists of what was not reached; of more it has counts


@dataclasses.dataclass(eq=False)
class Job:
    """Something to do in another process.

    Attributes
    ----------
    kind, what : str
        As the report has them.
    function : callable
        At the top of a module; its result has to pickle.
    arguments : tuple
    timed : bool
        Whether it is for the first process.
    after : Job, optional
        An untimed one that has to end before, well or not.
    seconds : float
        After which it counts as hung; while helpers stand still, theirs do not run.
    """

    kind: str
    what: str
    function: Callable
    arguments: tuple = ()
    timed: bool = False
    after: Job | None = None
    seconds: float = math.inf
    state: str = NOT_REACHED

    @property
    def open(self):
        return self.state in (NOT_REACHED, UNDER_WAY)

    @property
    def ready(self):
        return self.state == NOT_REACHED and (self.after is None or not self.after.open)


# --- in the other process ---------------------------------------------------------------------------------------------

_parent = None  # the pipe to it


def serve(pipe, begin):
    """Do the jobs that come."""
    global _parent
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent, also while it stands still
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers it
    _parent = pipe
    begin()
    with contextlib.suppress(EOFError, OSError):  # the parent has ended
        while True:
            function, arguments = pipe.recv()
            pipe.send(("result", function(*arguments)))


@contextlib.contextmanager
def alone():
    """Within a timed job: helpers stand still. Where no process has been started this does nothing."""
    if _parent is None:
        yield
        return
    _parent.send(("alone", None))
    _parent.recv()
    try:
        yield
    finally:
        _parent.send(("together", None))


# --- in this process ----------------------------------------------------------------------------------------------------


class _Worker:
    def __init__(self, begin):
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(theirs, begin), daemon=True)
        self.process.start()
        theirs.close()
        self.job, self.due = None, 0.0

    def give(self, job):
        self.job, self.due, job.state = job, time.monotonic() + job.seconds, UNDER_WAY
        with contextlib.suppress(OSError):  # it has ended, which is noticed by listening to it
            self.pipe.send((job.function, job.arguments))

    def signal(self, name):
        if hasattr(signal, name) and self.process.is_alive():
            os.kill(self.process.pid, getattr(signal, name))

    def end(self):
        self.process.kill()  # SIGKILL, which one that stands still obeys, too
        self.process.join()
        self.pipe.close()


def run(jobs, begin, tell, *, helpers, seconds):
    """Do the jobs, as far as the time goes.

    Parameters
    ----------
    jobs : sequence of Job
        In the order of their importance; their states say what has become of them.
    begin : callable
        Called first in each process; at the top of a module.
    tell : callable
        ``tell(job, result)`` after each job; ``tell(job, None)`` where its process has ended or was ended.
    helpers : int
        Processes beside the first.
    seconds : float
        After which all is ended, whatever is under way.
    """
    workers, end = [None] * (1 + helpers), time.monotonic() + seconds

    def choose(first):
        timed = first and any(job.timed and job.open for job in jobs)
        return next((job for job in jobs if job.timed == timed and job.ready), None)

    def lose(i, why):
        worker, job = workers[i], workers[i].job
        worker.end()
        workers[i] = None
        if job is not None:
            job.state = why.format(code=worker.process.exitcode, seconds=job.seconds)
            tell(job, None)

    def listen_alone(first):
        """Until the first has timed something the others stand still; a time limit of theirs does not run."""
        began = time.monotonic()
        others = [w for w in workers[1:] if w is not None]
        for worker in others:
            worker.signal("SIGSTOP")
        try:
            first.pipe.send("go")
            if first.pipe.poll(max(0.0, min(first.due, end) - time.monotonic())):
                first.pipe.recv()
        finally:
            for worker in others:
                worker.signal("SIGCONT")
                worker.due += time.monotonic() - began

    try:
        while any(job.open for job in jobs) and time.monotonic() < end:
            for i, worker in enumerate(workers):
                job = choose(i == 0) if worker is None or worker.job is None else None
                if job is not None:
                    workers[i] = worker or _Worker(begin)
                    workers[i].give(job)
            busy = {worker.pipe: i for i, worker in enumerate(workers) if worker is not None and worker.job is not None}
            soonest = min([end, *(workers[i].due for i in busy.values())])
            for pipe in wait(list(busy), max(0.0, soonest - time.monotonic())):
                worker = workers[busy[pipe]]
                try:
                    word, result = pipe.recv()
                    if word == "alone":
                        listen_alone(worker)
                        continue
                except (EOFError, OSError):
                    worker.process.join()
                    lose(busy[pipe], "its process ended, exit code {code}")
                    continue
                if word == "result":
                    job, worker.job = worker.job, None
                    job.state = DONE
                    tell(job, result)
            for i, worker in enumerate(workers):
                if worker is not None and worker.job is not None and worker.due <= min(time.monotonic(), end):
                    lose(i, "ended after {seconds:g} s without a result")
    finally:
        for worker in workers:
            if worker is not None:
                worker.end()


# --- the report -----------------------------------------------------------------------------------------------------------


def write(path, text):
    """Write a file so that whoever reads it finds the whole of it, or the one before."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def progress(jobs):
    """Lines of Markdown: how much was done of each kind, and what was not, by name."""
    kinds = {kind: [job for job in jobs if job.kind == kind] for kind in dict.fromkeys(job.kind for job in jobs)}
    lines = ["| what | done | of |", "|---|---|---|"]
    lines += [f"| {kind} | {sum(job.state == DONE for job in of)} | {len(of)} |" for kind, of in kinds.items()]
    for kind, of in kinds.items():
        for state in dict.fromkeys(job.state for job in of if job.state != DONE):
            names = Counter(job.what for job in of if job.state == state)
            if len(names) > NAMES:
                names = Counter(name.partition(".")[0] for name in names.elements())
            names = [name if count == 1 else f"{name} ({count})" for name, count in names.items()]
            lines += ["", f"{kind}, {state}: {'; '.join(names)}."]
    return lines
