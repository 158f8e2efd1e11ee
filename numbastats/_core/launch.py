"""Where a kernel runs, and how it is started there: choice of the device, staging, launch geometry, parts of long calls."""

from __future__ import annotations

import logging

import numpy as np

from numbastats import config
from numbastats._core import device as gpu
from numbastats._core import slabs
from numbastats._core.broadcast import lent
from numbastats._core.checks import choice
from numbastats._core.costs import pays
from numbastats._core.errors import DeviceNotAvailable, OutOfDeviceMemory, warn
from numbastats._core.kernel import SIMULATED, InThreads, real_gpu
from numbastats._core.options import DEVICES
from numbastats._core.parallel import Threads, is_executor, mapped, parallel_region, worker_count
from numbastats._core.progress import LOG

__all__ = ["GROUP", "LOOP_FROM", "choose_device", "launch", "launch_all", "or_on_the_host", "pairwise_sum", "run_loop"]

PARALLEL_FROM = 32_768  # elements of unit cost (about 1 ns) that outweigh starting the threads (2-6 us, up to 20 us cold)
LOOP_FROM = 50_000  # items of a `run_loop` from which on threads pay
GROUP = 128  # a multiple of the groups and blocks of items that kernels of random numbers draw together
LEAST_BLOCKS = 128  # on a GPU: of fewer Numba warns (NumbaPerformanceWarning), and idle ones end at once


def choose_device(device, *, on_device=False, work=None, workers=None) -> str:
    """Return 'cpu' or 'cuda' for a call.

    Parameters
    ----------
    device : {None, "auto", "cpu", "cuda"}
        The caller's wish; None means `config`.
    on_device : bool
        Whether an input lives on the GPU: then "auto" stays there.
    work : callable, optional
        Gives the `Work` of the call, for "auto", which leaves what has none on the host.
    workers : optional
        Of the call.
    """
    wish = config.get("device") if device is None else choice("device", device, DEVICES)
    if on_device:
        if device == "cpu":
            raise ValueError("device='cpu', but an input or out lives on the GPU; copy it to the host, or leave device=None")
        return "cuda"
    if wish == "cuda" and not (SIMULATED or real_gpu()):
        raise DeviceNotAvailable(
            "device='cuda' was asked for, but no CUDA GPU can be used here. Use device='cpu' or 'auto', or install the NVIDIA "
            "driver and numba-cuda: pip install 'numba-cuda[cu13]' (or cu12). `python -m numbastats` shows what is found."
        )
    if wish == "auto":
        if not real_gpu() or is_executor(workers):
            return "cpu"
        gains, (why, *figures) = (False, ("host arrays stay here",)) if work is None else pays(work(), worker_count(workers))
        LOG.debug(f"device='auto' takes the %s: {why}", "GPU" if gains else "CPU", *figures)
        return "cuda" if gains else "cpu"
    return wish


def _geometry(n, threads):
    """Blocks and threads for n items; kernels are grid-stride, so any size is right."""
    if SIMULATED:  # 30-60 us per simulated thread
        return min(4, -(-n // 32)) or 1, 32
    blocks = 32 * gpu.multiprocessors()
    return max(LEAST_BLOCKS, min(-(-n // threads), blocks)), threads


def launch(kernel, args, n, *, device, workers=None, cost=1.0, outputs=(-1,), updated=(), threads=256, stream=None):
    """Run a kernel over n items on the chosen device.

    Parameters
    ----------
    kernel : Kernel
    args : tuple
        Contiguous arrays (host or device) and numbers, in the order of the loop skeleton.
    n : int
        Number of parallel items.
    cost : float
        Nanoseconds per item on one core, for the choice between the serial and the parallel twin.
    outputs : tuple of int
        Positions in `args` that the kernel writes: host arrays there are copied back from the device.
    updated : tuple of int
        Those of them that it also reads: their values are copied to the device.
    threads : int
        Threads per CUDA block.
    stream : optional
        Numba's stream, as `Device` has it.
    """
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s: %d items on %s, workers=%r", kernel, n, device, workers)
    if device == "cpu":
        count = workers if type(workers) is Threads else worker_count(workers)
        if count == 1 or n * cost < PARALLEL_FROM:
            kernel.serial(*args)
        else:
            with parallel_region(count) as allowed:
                twin = kernel.parallel if allowed else kernel.serial
                options = {"nanoseconds": n * cost} if isinstance(twin, InThreads) else {}
                twin(*args, **options)
        return
    written, read = ({i % len(args) for i in places} for places in (outputs, updated))
    stream = stream or 0
    staged, back = [], []
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray):
            on_device = gpu.empty(a.shape, a.dtype, stream) if i in written - read else gpu.upload(a, stream)
            if i in written:
                back.append((on_device, a))
            staged.append(on_device)
        else:
            staged.append(a)
    blocks, threads = _geometry(n, threads)
    kernel.cuda[blocks, threads, stream](*staged)
    for on_device, host in back:
        on_device.copy_to_host(host, stream=stream)
    if back and stream:
        stream.synchronize()


def or_on_the_host(run, where, wish):
    """``run(where)``; on the host, with one warning, where "auto" has chosen a GPU whose memory does not suffice."""
    if where != "cuda" or (config.get("device") if wish is None else wish) != "auto":
        return run(where)
    try:
        return run(where)
    except OutOfDeviceMemory as error:
        warn(f"device='auto' goes on on the CPU: {error}", RuntimeWarning)
    return run("cpu")


def _run_slab(job):
    """One executor task: the serial twin on a slab, returning what it wrote. Module-level, so that it pickles."""
    kernel, args, shape, dtype = job
    out = np.empty(shape, dtype)
    kernel.serial(*args, out)
    return out


def launch_all(kernel, cut, outs, n, *, device, workers, cost, **options):
    """`launch` for flat outputs; on the host in slabs, where an executor is given or Ctrl-C would wait long.

    Parameters
    ----------
    kernel, n, device, workers, cost, **options
        As in `launch`; `workers` may be an executor.
    cut : callable
        ``cut(lo, hi)`` gives the arguments before the outputs, for the items from `lo` to `hi`.
    outs : sequence of array
        Flat outputs, of n elements each; for an executor one.
    """
    if device != "cpu" or (n * cost <= slabs.SLAB_WORK and not is_executor(workers)):
        launch(kernel, (*cut(0, n), *outs), n, device=device, workers=workers, cost=cost, **options)
    elif is_executor(workers):
        out, bounds = outs[0], slabs.cuts(n, slabs.SLAB)
        jobs = [(kernel, cut(lo, hi), hi - lo, out.dtype) for lo, hi in bounds]
        for (lo, hi), part in zip(bounds, mapped(workers, _run_slab, jobs), strict=True):
            out[lo:hi] = part
    else:

        def slab(lo, hi):
            part = (*cut(lo, hi), *(o[lo:hi] for o in outs))
            launch(kernel, part, hi - lo, device="cpu", workers=workers, cost=cost, **options)

        slabs.in_slabs(slab, n, cost, workers, slabs.CHUNK)


def run_loop(loop, n, workers, *args):
    """Call a `host_loop` over chunks of n items, on several threads where that pays."""
    count = worker_count(workers)
    args = [lent(a) if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in args]
    if count == 1 or n < LOOP_FROM:
        loop.serial(*args)
    else:
        with parallel_region(count) as allowed:
            (loop.parallel if allowed else loop.serial)(*args)


def pairwise_sum(partial):
    """Sum of partial results, pairwise in a fixed order."""
    partial = np.array(partial, dtype=np.float64)
    if partial.size == 0:
        return np.float64(0.0)
    while partial.size > 1:
        even = partial.size // 2 * 2
        pairs = partial[:even:2] + partial[1:even:2]
        partial = np.append(pairs, partial[even:])
    return partial[0]
