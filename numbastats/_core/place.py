"""A place: where the arrays of a call live, on the host or on a GPU, and how kernels start there.

A room's engine makes a `Place` from what the call says, brings its inputs there and runs kernels on them one after the other. The
same lines serve both devices; only what is small and known on the host, such as a record of settings, may be handed to `run` as
an array of NumPy. `begin` and `end` order the work among the streams of the caller's libraries.
"""

from __future__ import annotations

import numpy as np

from numbastats._core import device as gpu
from numbastats._core.broadcast import as_host
from numbastats._core.kinds import NUMPY, check_current, kind_of
from numbastats._core.launch import launch

__all__ = ["Place"]


class Place(gpu.Device):
    """The host or a GPU during one call.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        As `choose_device` has chosen.
    workers : int, optional
        Threads on the host.
    kinds : sequence
        Kinds of the arrays that the call takes and gives.
    stream : optional
        The caller's `stream`.
    """

    def __init__(self, device, workers=None, kinds=(), stream=None):
        super().__init__(kinds if device == "cuda" else (), stream if device == "cuda" else None)
        self.device, self.workers, self.on_gpu = device, workers, device == "cuda"

    def empty(self, shape, dtype=np.float64):
        """An array whose values are not set."""
        return gpu.empty(shape, dtype, self.stream) if self.on_gpu else np.empty(shape, dtype)

    def zeros(self, shape, dtype=np.float64):
        """An array of zero bytes."""
        return gpu.zeros(shape, dtype, self.stream) if self.on_gpu else np.zeros(shape, dtype)

    def asarray(self, x, name="the values", dtype=None):
        """An array of any kind, contiguous here: itself where it is, else a copy. Numbers stay."""
        kind = kind_of(x)
        if kind is NUMPY and np.ndim(x) == 0:
            return x
        if not (self.on_gpu and kind.on_device):
            x = np.ascontiguousarray(as_host(kind.to_host(x, name)), dtype)
            return gpu.upload(x, self.stream) if self.on_gpu else x
        check_current(x, kind, name)
        shape, dtype = tuple(x.shape), kind.dtype(x) if dtype is None else np.dtype(dtype)
        x = kind.flat_input(x, name, shape, dtype).reshape(shape)
        self.begin()  # its library may have converted it just now
        return x

    def host(self, x):
        """An array from here as one of NumPy; from a GPU a copy, for which the host waits."""
        return gpu.download(x, self.stream) if self.on_gpu else x

    def run(self, kernel, n, *args, cost=1.0, threads=256):
        """Start a kernel over n items on arrays that are here; of NumPy's arrays a GPU gets copies, which are not read back.

        Parameters
        ----------
        kernel : Kernel
        n : int
            Number of parallel items.
        *args
            In the order of the loop skeleton.
        cost : float
            Nanoseconds of an item on one core of the host.
        threads : int
            Threads of a CUDA block.
        """
        if n:
            options = dict(device=self.device, workers=self.workers, cost=cost, threads=threads, stream=self.stream)
            launch(kernel, args, n, outputs=(), **options)
