"""Arrays of CuPy."""

from __future__ import annotations

import copy

import numpy as np

from numbastats._core.device import refuse_capture, view
from numbastats._core.kinds.numpy import interface_ends as ends  # noqa: F401

name, on_device = "cupy", True


def is_mine(x, libraries):
    return "cupy" in libraries and hasattr(x, "__cuda_array_interface__")


def dtype(x):
    return x.dtype


def to_host(x, name):
    return x.get()


def from_host(result, like):
    import cupy

    return cupy.asarray(result)


def copied(x):
    return copy.copy(x)


def as_float32(x):
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(np.float32)


def gpu_of(x):
    return x.device.id


def current_stream():
    import cupy

    stream = cupy.cuda.get_current_stream()
    refuse_capture(stream.is_capturing())
    return stream.ptr


def takes(x, shape, dtype):
    return True


def flat_input(x, name, shape, dtype):
    import cupy

    with x.device:
        x = cupy.ascontiguousarray(cupy.broadcast_to(x, shape), dtype=dtype).reshape(-1)
    return view(x)


def empty(like, shape, dtype):
    import cupy

    with like.device:
        return cupy.empty(shape, dtype)


def flat_output(x):
    return view(x.reshape(-1))


def is_contiguous(x):
    return x.flags.c_contiguous
