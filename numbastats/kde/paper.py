"""Direct sums: S-KDE of Lopez-Novoa et al. (2015) with its boxes and crops, exact row intervals, and brute force ("ep").

Kept for comparison and reached through ``method=``; "skde-row" is also what "auto" takes where integers do not suit.
"""

from __future__ import annotations

import numpy as np

from numbastats._core import device as gpu
from numbastats._core.launch import launch
from numbastats._core.slabs import cuts, in_slabs

__all__ = ["exhaustive", "plan_direct", "run_atomic", "run_boxes", "run_direct"]

BOUNDS = {"skde-row": 0, "skde": 1, "skde-atomic": 1, "skde-crop": 2}  # exact interval, box, crop: see `kernels.direct`


def plan_direct(model, grid, lists, derivative):
    """Set the final factor, the kernel's mode and bounds, and the bound on the error."""
    grid.geometry["scale"] = model.constant
    grid.geometry["mode"] = 0 if derivative is None else model.power + 3
    grid.geometry["bounds"] = 1 if model.product else BOUNDS[grid.method]
    grid.bound = model.constant * lists.count**0.5 * 1e-14 * max(1.0, lists.weight)


def run_direct(task, power):
    """Rows owned by tasks; on a GPU a thread per position."""
    grid, out = task.grid, task.out
    out[...] = 0.0
    most = 30.0 + 3.0 * min(2 * grid.half[-1], out.shape[1])  # nanoseconds of a sample on a row
    if len(grid.order) > 1 or task.device == "cuda":
        items = out.size if task.device == "cuda" else len(out)
        task.by_rows(task.loops.direct, (out.shape[1], most), items=items, cost=task.cost * 20)
        return

    def share(a, b):  # one row: slabs of the samples, so the sums keep their order
        launch(task.loops.direct, (*task.samples[:3], np.array([a, b]), task.geometry(), out), 1, device="cpu", workers=1)

    in_slabs(share, task.kept, most, 1)


def run_boxes(task, power):
    """The boxes of the samples: rows owned by tasks, on a GPU a thread per sample with atomic additions."""
    (run_atomic if task.device == "cuda" else run_direct)(task, power)


def run_atomic(task, power):
    """Thread per sample, with atomic additions."""
    grid, out, kept, geometry = task.grid, task.out, task.kept, task.geometry()
    *samples, starts = task.samples
    on_gpu = task.device == "cuda"
    out[...] = 0.0
    target = gpu.zeros(out.shape, out.dtype) if on_gpu else out

    def slab(a, b):
        some = [v if b - a == kept or v.size == 1 else np.ascontiguousarray(v[..., a:b]) for v in samples]
        args = (*some, starts, geometry, target)
        launch(task.loops.atomic, args, kept, device=task.device, workers=task.workers, cost=100.0, outputs=(), threads=64)

    boxes = np.minimum(2 * grid.half + 1, grid.length[grid.order])
    in_slabs(slab, samples[0].shape[1], 0 if on_gpu else 10.0 * boxes.prod(), task.workers)
    if on_gpu:
        target.copy_to_host(out)


def exhaustive(estimate, ask):
    """Yield (first, last, block) along axis 0 by brute force over all samples."""
    positions, count, rest = estimate.positions(ask.axes), ask.shape[0], ask.shape[1:]
    step = count if ask.rows is None else ask.rows
    for first, last in cuts(count, step):
        block = np.empty((last - first, *rest))
        for i in range(first, last):
            mesh = np.meshgrid(positions[0][i : i + 1], *positions[1:], indexing="ij")
            points = np.stack([m.reshape(-1) for m in mesh], -1)
            block[i - first] = estimate.points(points, method="ep", device=ask.device).reshape(rest)
        yield first, last, block
