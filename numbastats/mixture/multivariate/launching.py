"""How kernels start: with rows and work space, on the host or on a GPU, where points come back to the host."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from numbastats._core import device as gpu
from numbastats._core.kernel import SIMULATED
from numbastats._core.launch import launch
from numbastats.mixture.engine import run, staged_there
from numbastats.mixture.multivariate.kernels.memory import NONE, Memory, new_memory
from numbastats.mixture.multivariate.kernels.newton import counts
from numbastats.mixture.multivariate.kernels.passes import LANES

__all__ = ["Space", "launched", "on_the_host", "space_there", "start_there"]

TEAMS, ROOM = 8, 1 << 30  # blocks of a multiprocessor, and bytes of the work space of all blocks, at most


@dataclasses.dataclass(frozen=True)
class Space:
    """Sizes of work space: components, columns in fours, features and parameters of Newton's method, rows."""

    K: int
    d: int
    q: int = 0
    p: int = 0
    rows: int = 0

    @classmethod
    def of(cls, p, K, model=None):
        """For data sets: with a model for Newton's method, without for all else."""
        if model is None:
            return cls(K, p.rows.pivots.shape[1], rows=int(np.diff(p.rows.off).max(initial=0)))
        _own, q, size = counts.py_func(K, model, p.rows.columns)
        return cls(K, p.rows.pivots.shape[1], q, size)


def space_there(space, n, stream=0, before=None) -> Any:
    """Work space on a GPU for at most n blocks; that of a launch `before` where it suffices."""
    one = new_memory.py_func(1, *dataclasses.astuple(space))
    most = 4 if SIMULATED else TEAMS * gpu.multiprocessors()
    teams = max(1, min(n, most, ROOM // sum(v.nbytes for v in one)))
    if before is not None and before.work.shape[0] >= teams:
        return before
    return Memory(*(gpu.zeros((teams * len(v), *v.shape[1:]), v.dtype, stream) for v in one))


def start_there(kernel, args, memory, stream=0):
    """Start a kernel on a GPU, with a block for each part of the work space."""
    teams = memory.work.shape[0]
    launch(kernel, (*args, memory), teams * LANES, device="cuda", outputs=(), threads=LANES, stream=stream)


def on_the_host(options):
    """The options, for what runs on the host on every device."""
    return dataclasses.replace(options, device="cpu")


def launched(p, kernel, args, n, options, space, written, *, cost, most=None):
    """Run a kernel over n problems of the data sets; the arguments at the places `written` are written."""
    args = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) and i not in written else a for i, a in enumerate(args)]
    if options.device == "cpu":
        run(kernel, [p.rows, *args, NONE], n, options, (), cost=cost, most=most)
        return
    if n == 0:
        return
    staged = [staged_there(a) for a in args]
    start_there(kernel, [p.there(), *staged], p.space(space, n))
    for i in written:
        mine, theirs = (a if isinstance(a, tuple) else (a,) for a in (args[i], staged[i]))
        for host, there in zip(mine, theirs, strict=True):
            if host.size:
                np.copyto(host, gpu.download(there))
