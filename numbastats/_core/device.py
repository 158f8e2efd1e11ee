"""The GPU that a call runs on: its stream, its memory, and tables that stay in it.

Kernels run on the stream on which the caller's library works (CuPy's current stream, that of torch, Numba's default stream), or
on the one that the call names. The host does not wait: streams of the libraries of other arrays of the call are joined with it by
events, before the kernel and after it.
"""

from __future__ import annotations

import functools
import math
import weakref

import numba
import numpy as np
from numba import prange

from numbastats._core.checks import is_integer
from numbastats._core.cuda_backend import cuda
from numbastats._core.errors import OutOfDeviceMemory
from numbastats._core.kernel import SIMULATED, Kernel

__all__ = [
    "Device",
    "clear",
    "constant",
    "current_index",
    "download",
    "empty",
    "multiprocessors",
    "refuse_capture",
    "total",
    "upload",
    "view",
    "zeros",
]

OUT_OF_MEMORY = 2  # the driver's error code
_DEFAULT = (0, 1)  # pointers of the legacy default stream
_constants: dict[tuple, object] = {}


class Device:
    """Streams of a call.

    Parameters
    ----------
    kinds : sequence
        Kinds of the arrays that it takes and gives.
    given : optional
        The caller's `stream`.

    Attributes
    ----------
    stream
        Numba's stream object, on which kernels and copies of the call are; 0 for the default stream.
    others : list
        Streams of the libraries whose arrays the call takes.
    """

    def __init__(self, kinds=(), given=None):
        if given is not None and hasattr(given, "is_capturing"):
            refuse_capture(given.is_capturing())
        theirs = [] if SIMULATED else list(dict.fromkeys(k.current_stream() for k in kinds if k.on_device))
        own = _pointer(given) if given is not None else theirs[0] if theirs else 0
        self.stream = _numba_stream(own)
        self.others = [_numba_stream(p) for p in theirs if p != own and not (p in _DEFAULT and own in _DEFAULT)]

    def begin(self):
        """Let the kernels wait for the work on the other streams."""
        for other in self.others:
            _join(other, self.stream)

    def end(self):
        """Let the other streams wait for the kernels before they use or free memory."""
        for other in self.others:
            _join(self.stream, other)

    def wait(self):
        """Let the host wait for the stream."""
        cuda.synchronize() if not self.stream else self.stream.synchronize()


def refuse_capture(capturing):
    """Raise where work on a stream is not done but recorded: calls allocate memory, which would end the recording."""
    if capturing:
        raise RuntimeError(
            "a CUDA graph is captured from this stream, and numbastats allocates memory, which a capture does not allow; call it "
            "before the capture begins or after it has ended"
        )


def _pointer(stream):
    """The driver's pointer of a stream of any library; in the simulator, which has no pointers, the argument itself."""
    if is_integer(stream):
        return int(stream)
    if SIMULATED:
        return stream
    if hasattr(stream, "__cuda_stream__"):  # of cuda.core, Numba, CuPy and torch, in their newer versions
        return int(stream.__cuda_stream__()[1])
    for name in ("ptr", "cuda_stream", "handle"):  # of CuPy, torch and Numba
        if hasattr(stream, name):
            pointer = getattr(stream, name)
            return int(getattr(pointer, "value", pointer) or 0)
    raise TypeError(
        f"stream is a {type(stream).__name__}; pass a stream of Numba, CuPy, torch or cuda.core, or its pointer as an integer"
    )


def _numba_stream(pointer):
    return pointer if SIMULATED else cuda.external_stream(pointer) if pointer not in _DEFAULT else 0


def _join(first, then):
    """Let later work on one stream wait for the work submitted to another."""
    event = cuda.event(timing=False)
    event.record(first)
    event.wait(then)


@functools.cache
def _count():
    """Number of GPUs."""
    return 1 if SIMULATED else len(cuda.gpus)


@functools.cache
def _multiprocessors(index):
    return cuda.gpus[index].MULTIPROCESSOR_COUNT


def current_index():
    """The number of the GPU that kernels run on; Numba, which asks the driver, is asked where there are several."""
    return 0 if _count() == 1 else cuda.get_current_device().id


def multiprocessors():
    """Number of multiprocessors of the GPU that kernels run on."""
    return _multiprocessors(current_index())


def _allocated(make, size):
    """The array that `make` allocates; an error with the size wanted where memory does not suffice."""
    try:
        return make()
    except Exception as error:
        if getattr(error, "code", None) != OUT_OF_MEMORY:
            raise
        free, total = cuda.current_context().get_memory_info()
        raise OutOfDeviceMemory(
            f"GPU {current_index()} has {free / 2**20:.4g} of its {total / 2**20:.4g} MiB free, and {size / 2**20:.4g} MiB were "
            "asked for. Free memory that other libraries keep (CuPy: get_default_memory_pool().free_all_blocks(); torch: "
            "torch.cuda.empty_cache()), pass the data in parts, or use device='cpu'"
        ) from error


def empty(shape, dtype, stream=0):
    """An array on the GPU whose values are not set."""
    shape, dtype = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape)), np.dtype(dtype)
    return _allocated(lambda: cuda.device_array(shape, dtype, stream=stream), math.prod(shape) * dtype.itemsize)


def zeros(shape, dtype, stream=0):
    """An array of zero bytes on the GPU; nothing is copied."""
    if SIMULATED:
        return cuda.to_device(np.zeros(shape, dtype))
    array = empty(shape, dtype, stream)
    clear(array, stream)
    return array


def clear(array, stream=0):
    """Make all bytes of an array on the GPU zero."""
    if SIMULATED:
        array[:] = np.zeros(array.shape, array.dtype)
    elif array.size:
        array.gpu_data.memset(0, stream=stream)


def upload(array, stream=0):
    """A copy of a host array on the GPU, made in the order of the stream."""
    return _allocated(lambda: cuda.to_device(array, stream=stream), array.nbytes)


def download(array, stream=0):
    """A copy of an array on the GPU as one of NumPy, for which the host waits."""
    host = array.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    return host


def constant(table):
    """A copy on the current GPU of a host array that never changes: made once and kept as long as the host array."""
    key = id(table), current_index()
    copy = _constants.get(key)
    if copy is None:
        copy = upload(table)
        cuda.synchronize()  # once: other streams may read it
        _constants[key] = copy
        weakref.finalize(table, _constants.pop, key, None).atexit = False
    return copy


def sums_cpu(x, out):
    for i in prange(out.size):
        total = 0.0
        for j in range(i, x.size, out.size):
            total += np.float64(x[j])
        out[i] = total


def sums_cuda(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        total = 0.0
        for j in range(i, x.size, out.size):
            total += np.float64(x[j])
        out[i] = total


SUMS = Kernel(
    "_core.sums", sums_cpu, sums_cuda, lambda T: [(T[::1], numba.types.float64[::1])], f64_ok="sums are double", on_host=False
)
MANY, FEW = 16_384, 64  # an array is reduced to MANY sums, these to FEW


def total(x, stream=0):
    """The sum of a flat array on the GPU, in double precision, in an order that depends on the array's size alone."""
    for most in (MANY, FEW):
        if x.size > most:
            sums = empty(most, np.float64, stream)
            SUMS.cuda[256, 64, stream](x, sums)  # of fewer blocks Numba warns
            x = sums
    return float(download(x, stream).sum(dtype=np.float64))


def view(array):
    """An array of another library as a Numba array on the same memory, without synchronisation."""
    return cuda.as_cuda_array(array, sync=False)
