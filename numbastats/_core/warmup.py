"""Compiling ahead of use: into the disk cache, or into kernel packs; in this process, or in several at a time."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from numbastats._core import cache, numba_internals, packs
from numbastats._core.checks import choice, is_integer
from numbastats._core.errors import DeviceNotAvailable
from numbastats._core.kernel import HOST_LOOPS, REGISTRY, real_gpu
from numbastats._core.progress import bar
from numbastats._core.sources import TREE

__all__ = ["TOPICS", "build_packs", "in_use", "warmup"]

TOPICS = ("stable", "mixture", "kde", "bayes", "quantile", "distributions", "random")  # the longest to compile first
_OF_MIXTURES = (  # distributions whose tails and quantiles are those of a family of mixtures
    "inverse_gaussian normal gamma lognormal inverse_gamma exponential rayleigh maxwell half_normal student_t skew_normal "
    "poisson geometric negative_binomial"
)
USES = {  # kernels of other topics that a topic's functions call
    "bayes": ("random.",),
    "kde": ("random.",),
    "mixture": ("random.", *(f"distributions.{d}_{f}_of" for d in _OF_MIXTURES.split() for f in ("cdf", "sf", "ppf", "isf"))),
    "quantile": ("random.", "distributions."),
    "distributions": ("random.", "quantile."),
}


class Job(NamedTuple):
    """One signature of one twin, with its label in `warmup`."""

    name: str
    twin: str
    signature: tuple
    label: str

    @property
    def dispatcher(self):
        """The dispatcher that compiles this signature."""
        loop = REGISTRY[self.name] if self.name in REGISTRY else HOST_LOOPS[self.name]
        return getattr(loop, self.twin)

    def __call__(self):
        self.dispatcher.compile(self.signature)

    def ready(self):
        """Whether the disk cache or the kernel pack has the compiled code."""
        return numba_internals.kept(self.dispatcher, self.signature)


def _variants(device, parallel) -> list[Job]:
    """All jobs of the imported kernels, by name."""
    wanted = [kernel for kernel in REGISTRY.values() if device == "cuda" or kernel.on_host]
    loops: list[tuple[Any, list]] = [(kernel, [s for _, s in kernel.numba_signatures()]) for kernel in wanted]
    if device == "cpu":
        loops += [(loop, loop.signatures) for loop in HOST_LOOPS.values()]
    jobs = []
    for loop, signatures in sorted(loops, key=lambda one: one[0].name):
        twins = ["cuda"] if device == "cuda" else ["serial"]
        if device == "cpu" and parallel and loop.threaded:
            twins.append("parallel")
        jobs += [Job(loop.name, t, s, f"{loop.name} {t} {i}") for i, s in enumerate(signatures) for t in twins]
    return jobs


def _jobs(topic, device, parallel) -> list[Job]:
    """The jobs to do, in the same order in every process."""
    wanted = TOPICS if topic is None else (topic,) if isinstance(topic, str) else tuple(topic)
    prefixes = {name: (f"{name}.", *USES.get(name, ()), "_core.") for name in wanted if "." not in name}
    for room in {name.partition(".")[0] for name in (*wanted, *(p for many in prefixes.values() for p in many))}:
        package = importlib.import_module(f"numbastats.{choice('topic', room, (*TOPICS, '_core'))}")
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            importlib.import_module(module.name)  # some are imported by the first call that needs them
    variants, jobs = _variants(device, parallel), []
    for name in wanted:
        if name in prefixes:
            found = [job for prefix in prefixes[name] for job in variants if job.name.startswith(prefix)]
        else:
            words = name.split()
            found = [job for job in variants if job.label.split()[: len(words)] == words]
            if not found:
                raise ValueError(
                    f"warmup: there is no kernel {name!r} to compile for {device}; kernels have names such as 'stable.rvs_S0'"
                )
        jobs += found
    return list(dict.fromkeys(jobs))


def in_use() -> list[str]:
    """Labels, for `warmup`, of the CPU code that this process has compiled or loaded from the disk."""
    return [job.label for job in _variants("cpu", True) if job.signature in job.dispatcher.signatures]


def warmup(
    topic: str | Sequence[str] | None = None,
    *,
    parallel: bool = True,
    workers: int = 1,
    device: Literal["cpu", "cuda"] = "cpu",
    progress: bool | Callable[[int, int, str], object] | None = None,
) -> int:
    """Compile kernels ahead of use, into the disk cache.

    Parameters
    ----------
    topic : str or sequence of str, optional
        Sub-packages, each with what its functions use of others, out of "stable", "mixture", "kde", "bayes", "quantile",
        "distributions" and "random"; all of them by default, which takes minutes. Also kernels by name, as "stable.rvs_S0", all
        variants or one of them: "stable.rvs_S0 parallel 0" has the twin and the number of the signature.
    parallel : bool
        Also compile the parallel twins.
    workers : int
        Processes that compile side by side; -1 for one on each core. Numba compiles one function at a time in a process. Where
        all is on the disk already, none is started.
    device : {"cpu", "cuda"}
        What to compile for.
    progress : bool or callable, optional
        True shows a bar of tqdm, or a line on stderr where that is not installed, with the time left; in a log file one line at
        the end. A callable is called as ``progress(done, total, name)`` after each kernel.

    Returns
    -------
    int
        Number of machine-code variants that are ready.

    Raises
    ------
    ValueError
        For another topic, kernel, device or number of workers, and for several workers where the disk cache is off.
    DeviceNotAvailable
        For ``device="cuda"`` without a GPU.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.warmup("random", parallel=False) > 0
    True
    >>> ns.warmup(["random.normal_float64 serial 0", "quantile.ndtri_fast serial 0"])
    2
    """
    if not is_integer(workers) or (workers < 1 and workers != -1):
        raise ValueError(f"workers={workers!r} is not a number of processes; use a positive integer, or -1 for one on each core")
    if choice("device", device, ("cpu", "cuda")) == "cuda" and not real_gpu():
        raise DeviceNotAvailable(
            "device='cuda' was asked for, but no CUDA GPU can be used here, and kernels are compiled for one"
        )
    count = (os.cpu_count() or 1) if workers == -1 else int(workers)
    jobs = _jobs(topic, device, parallel)
    lock, done = threading.Lock(), [0]
    with bar(progress is True, len(jobs), "warmup") as shown:

        def tell(job):
            with lock:
                done[0] += 1
                shown.update()
                if callable(progress):
                    progress(done[0], len(jobs), job.name)

        _compile(jobs, (topic, device, parallel), count, tell)
    return len(jobs)


def _compile(jobs, what, count, tell):
    """Do the jobs in this process, or in `count` other processes; those start only if some code is not on the disk."""
    if count > 1 and len(jobs) > 1:
        if not cache.folders():
            raise ValueError("with NUMBASTATS_CACHE=0 other processes cannot hand over what they compile; use workers=1")
        if not all(job.ready() for job in jobs):
            _side_by_side(jobs, what, count, tell)
        else:
            for job in jobs:
                tell(job)
        return
    for job in jobs:
        job()
        tell(job)


class _Ahead:
    """Hands out the numbers of jobs, to each process those of one sub-package after another: their kernels share functions.

    These are compiled once in a process. Where no sub-package is untouched, that with the most jobs left is shared.
    """

    def __init__(self, jobs):
        self._lock, self._taken, self._left = threading.Lock(), set(), {}
        for i, job in enumerate(jobs):
            self._left.setdefault(job.name.partition(".")[0], []).append(i)

    def __iter__(self):
        room = None
        while True:
            with self._lock:
                if not self._left.get(room):
                    rooms = [r for r, left in self._left.items() if left]
                    if not rooms:
                        return
                    room = next((r for r in rooms if r not in self._taken), max(rooms, key=lambda r: len(self._left[r])))
                    self._taken.add(room)
                i = self._left[room].pop(0)
            yield i


def _side_by_side(jobs, what, count, tell, env=None):
    """Compile in several processes; each gets the number of the next job when it has finished one."""
    ahead, failed = _Ahead(jobs), []

    def serve():
        command = [sys.executable, "-c", f"from numbastats._core.warmup import serve; serve{what!r}"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes, env={**os.environ, "NUMBASTATS_MESSAGES": "0", **(env or {})}) as worker:
            for i in ahead:
                worker.stdin.write(f"{i}\n")
                worker.stdin.flush()
                answer = worker.stdout.readline().strip()
                if answer != "done":
                    failed.append(f"{jobs[i].name}: {answer or 'the process ended'}")
                    return
                tell(jobs[i])
            worker.stdin.close()

    threads = [threading.Thread(target=serve) for _ in range(min(count, len(jobs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(threads)} compiling processes failed: {failed[0]}")


def serve(topic, device, parallel):
    """Compile the jobs whose numbers come by standard input; the other side of `_side_by_side`."""
    jobs = _jobs(topic, device, parallel)
    for line in sys.stdin:
        try:
            jobs[int(line)]()
            answer = "done"
        except Exception as error:  # any exception is raised again by the parent process
            answer = repr(error).replace("\n", " ")
        print(answer, flush=True)


def build_packs(
    levels: Sequence[str] = (), folder: str | os.PathLike | None = None, *, topic=None, workers: int = -1, progress=None
) -> dict[str, int]:
    """Compile kernels for levels of processors and write a kernel pack for each.

    Parameters
    ----------
    levels : sequence of str
        Names in `packs.LEVELS`; that of this processor by default.
    folder : path, optional
        Where packs are written; the package's own folder by default, the only one from which they are read.
    topic, workers, progress
        As in `warmup`.

    Returns
    -------
    dict
        Size in bytes by level.

    Raises
    ------
    ValueError
        For an unknown level.
    """
    folder = Path(folder or cache.PACKS)
    folder.mkdir(parents=True, exist_ok=True)
    jobs, sizes = _jobs(topic, "cpu", True), {}
    done = [0]

    def tell(job):
        done[0] += 1
        if progress is not None:
            progress(done[0], len(jobs) * len(names), job.name)

    names = [choice("level", name, tuple(packs.LEVELS)) for name in levels]
    names = names or [packs.best_level(numba_internals.processor_features())]
    for name in names:
        level = packs.LEVELS[name]
        with tempfile.TemporaryDirectory() as temporary:
            env = {"NUMBA_CACHE_DIR": temporary, "NUMBA_CPU_NAME": level.cpu, "NUMBA_CPU_FEATURES": level.features}
            count = (os.cpu_count() or 1) if workers == -1 else workers
            _side_by_side(jobs, (topic, "cpu", True), count, tell, {**env, "NUMBASTATS_CACHE": "1", "NUMBASTATS_PACK": "0"})
            entries = cache.pack_entries(temporary)
        sizes[name] = packs.write(str(folder / f"{name}.pack"), cache.made_with(), entries, TREE.all_sources())
    return sizes
