"""A stand-in for CuPy on the emulated device: the few functions that numbastats calls, and the refusals of the real one.

Its memory is the emulated driver's, so that its copies are counted; what it computes is computed by NumPy, for which device
memory is memory. Work on a stream is finished when it is asked for; which stream it was asked for on is kept in `STREAMS`.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import types

import numpy as np

STREAMS, PRODUCTS = [], []
_current, CAPTURING = [0], [False]


class _Memory:
    """An allocation of the driver; freed with the last array that holds it."""

    def __init__(self, driver, size):
        self.driver, address = driver, ctypes.c_uint64()
        if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, size))):
            raise MemoryError(f"the stand-in for CuPy cannot allocate {size} bytes")
        self.address, self.stream = address.value, _current[-1]

    def __del__(self):
        self.driver.emulator_free(ctypes.c_uint64(self.address), ctypes.c_void_p(self.stream))


class _Device(contextlib.nullcontext):
    id = 0


class Stream:
    """A stream; `ptr` is its handle."""

    def __init__(self, null=False, non_blocking=False, ptr=0):
        self.ptr = ptr if null or ptr else 0x5000 + 16 * len(STREAMS)

    def __enter__(self):
        _current.append(self.ptr)
        return self

    def __exit__(self, *error):
        _current.pop()


def _values(x):
    """What NumPy computes with in the place of an array here."""
    return getattr(x, "values", x)


def _of_numba(x):
    """An array of Numba as NumPy's, of the same memory."""
    raw = (ctypes.c_uint8 * max(1, x.nbytes)).from_address(x.__cuda_array_interface__["data"][0])
    return np.frombuffer(raw, np.uint8)[: x.nbytes].view(x.dtype).reshape(x.shape)


def install(driver):
    """Put the stand-in in the place of the module cupy."""
    module = types.ModuleType("cupy")

    def made(values, memory):
        array = ndarray.__new__(ndarray)
        array.values, array.memory = values, memory
        return array

    def empty(shape, dtype=np.float64):
        dtype = np.dtype(dtype)
        shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
        size = math.prod(shape) * dtype.itemsize
        memory = _Memory(driver, size)
        raw = (ctypes.c_uint8 * max(1, size)).from_address(memory.address)
        STREAMS.append(_current[-1])
        return made(np.frombuffer(raw, np.uint8)[:size].view(dtype).reshape(shape), memory)

    def result(values):
        """What a computation on the device gives, in memory of its own."""
        new = empty(np.shape(values), np.asarray(values).dtype)
        new.values[...] = values
        return new

    class ndarray:  # noqa: N801
        __module__ = "cupy"
        device = _Device()
        shape = property(lambda self: self.values.shape)
        dtype = property(lambda self: self.values.dtype)
        ndim = property(lambda self: self.values.ndim)
        size = property(lambda self: self.values.size)
        nbytes = property(lambda self: self.values.nbytes)
        flags = property(lambda self: self.values.flags)

        @property
        def __cuda_array_interface__(self):
            interface = dict(self.values.__array_interface__, version=3, stream=_current[-1] or 1)
            interface["strides"] = None if self.flags.c_contiguous else self.values.strides
            return interface

        def __array__(self, *args, **options):
            raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

        def get(self):
            host = np.empty(self.shape, self.dtype)
            values = np.ascontiguousarray(self.values)
            to, at = ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(values.ctypes.data)
            driver.cuMemcpyDtoH_v2(to, at, ctypes.c_size_t(host.nbytes))
            return host

        def reshape(self, *shape):
            values = self.values.reshape(*shape)
            return made(values, self.memory) if np.shares_memory(values, self.values) or not values.size else result(values)

        def astype(self, dtype, copy=True):
            return self if not copy and self.dtype == dtype else result(self.values.astype(dtype))

        def ravel(self):
            return self.reshape(-1)

        def __copy__(self):
            return result(self.values)

        def __len__(self):
            return len(self.values)

        def __getitem__(self, index):
            part = self.values[_values(index)]
            return made(part, self.memory) if np.shares_memory(part, self.values) else result(part)

        def __matmul__(self, other):
            PRODUCTS.append(self.shape)
            return result(self.values @ other.values)

        def __iadd__(self, other):
            self.values += other.values
            return self

        @property
        def T(self):  # noqa: N802
            return made(self.values.T, self.memory)

        def any(self):
            return result(self.values.any())

        def min(self):
            return result(self.values.min())

        def item(self):
            return self.get().item()

        def __bool__(self):
            return bool(self.get())

    for name in "mul rmul add radd rsub truediv or lt le gt ne".split():
        setattr(ndarray, f"__{name}__", lambda self, other, f=f"__{name}__": result(getattr(self.values, f)(_values(other))))

    def zeros(shape, dtype=np.float64, order="C"):
        new = empty(tuple(map(int, np.atleast_1d(shape)))[::-1], dtype)
        new.values[...] = 0
        return new.T  # in Fortran's order, whatever was asked for

    def asarray(x, dtype=None):
        if isinstance(x, ndarray):
            return x
        if hasattr(x, "__cuda_array_interface__"):
            return made(_of_numba(x), x)
        host = np.ascontiguousarray(x, dtype)
        new = empty(host.shape, host.dtype)
        at, data = ctypes.c_uint64(new.memory.address), ctypes.c_void_p(host.ctypes.data)
        driver.cuMemcpyHtoD_v2(at, data, ctypes.c_size_t(host.nbytes))
        return new

    def ascontiguousarray(x, dtype=None):
        dtype = x.dtype if dtype is None else np.dtype(dtype)
        return x if x.dtype == dtype and x.flags.c_contiguous else result(np.ascontiguousarray(x.values, dtype))

    module.ndarray, module.empty, module.zeros, module.asarray, module.array = ndarray, empty, zeros, asarray, asarray
    module.ascontiguousarray = ascontiguousarray
    module.broadcast_to = lambda x, shape: made(np.broadcast_to(x.values, shape), x.memory)
    module.cuda = types.SimpleNamespace(
        Stream=Stream,
        ExternalStream=lambda ptr: Stream(null=True, ptr=ptr),
        get_current_stream=lambda: types.SimpleNamespace(ptr=_current[-1], is_capturing=lambda: CAPTURING[0]),
    )
    sys.modules["cupy"] = module
    return module
