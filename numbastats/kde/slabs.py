"""Long loops in slabs, because Python notices Ctrl-C only between two calls of compiled code, and loops on several threads."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from numbastats._core.broadcast import lent
from numbastats._core.device import constant
from numbastats._core.launch import launch
from numbastats._core.parallel import parallel_region, worker_count

if TYPE_CHECKING:
    from numbastats.kde.cell_list import Sorted
    from numbastats.kde.gridding import Grid

__all__ = ["Task", "in_slabs", "run_loop"]

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


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Rows of a grid from `first` on, to be filled with the sums over the samples of one pass."""

    grid: Grid
    lists: Sorted
    first: int
    out: np.ndarray  # (rows, positions)
    device: str
    workers: int | None

    @property
    def samples(self):
        """Coordinates, weights, squared scales, first samples of the lines or cells; on a GPU copied there once."""
        lists = self.lists.u, self.lists.w, self.lists.lam2, self.lists.starts
        return lists if self.device == "cpu" else tuple(map(constant, lists))

    @property
    def kept(self):
        """Number of samples, at least 1."""
        return max(self.lists.kept, 1)

    @property
    def cost(self):
        """Nanoseconds of a row, about."""
        return self.out.shape[1] + 3.0 * self.kept * self.grid.share

    def options(self):
        """Keywords of `launch`."""
        return dict(device=self.device, workers=self.workers, cost=self.cost)

    def geometry(self, further=0):
        """The grid for a kernel whose first row is `further` rows behind that of the task."""
        geometry = self.grid.geometry.copy()
        geometry["first_row"] = self.first + further
        return geometry

    def by_rows(self, kernel, most, scratch=(), items=None, cost=None):
        """Launch a kernel on slabs of rows; a row takes `most` nanoseconds at most."""
        lines, host = len(self.out), self.device == "cpu"
        options = dict(device=self.device, workers=self.workers, cost=self.cost if cost is None else cost, threads=64)
        samples = self.samples

        def slab(a, b):
            own = [v[: b - a] if host else v for v in scratch]
            args = (*samples, self.geometry(a), *own, self.out[a:b])
            launch(kernel, args, lines if items is None else items, **options)

        in_slabs(slab, lines, most if host else 0, self.workers)
