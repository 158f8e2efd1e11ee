"""Numba's device arrays, those of its simulator included."""

from __future__ import annotations

import numpy as np

from numbastats._core import device
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import SIMULATED
from numbastats._core.kinds.numpy import ends as _host_ends
from numbastats._core.kinds.numpy import interface_ends

name, on_device = "numba", True


def is_mine(x, libraries):
    return hasattr(x, "copy_to_host")


def dtype(x):
    return x.dtype


def to_host(x, name):
    return x.copy_to_host()


def from_host(result, like):
    return device.upload(np.ascontiguousarray(result))


def copied(x):
    y = cuda.device_array_like(x)
    y.copy_to_device(x)
    return y


def as_float32(x):
    return cuda.to_device(x.copy_to_host().astype(np.float32))


def ends(x):
    return _host_ends(x._ary) if SIMULATED else interface_ends(x)  # the simulator's arrays have no interface


def gpu_of(x):
    device = getattr(getattr(getattr(x, "gpu_data", None), "context", None), "device", None)
    return getattr(device, "id", None)


def takes(x, shape, dtype):
    return x.dtype == dtype and x.shape == shape and x.is_c_contiguous()


def flat_input(x, name, shape, dtype):
    if not takes(x, shape, dtype):
        raise TypeError(
            f"{name} is a Numba device array of shape {x.shape} and dtype {x.dtype}; on the device it must be C-contiguous, "
            f"of shape {shape} and dtype {dtype}. Make it so before the copy, or use CuPy arrays, which broadcast and convert"
        )
    return x.ravel()


def current_stream():
    return 0


def empty(like, shape, dtype):
    return device.empty(shape, dtype)


def flat_output(x):
    return x.ravel()


def is_contiguous(x):
    return x.is_c_contiguous()
