"""NumPy's arrays, Python's numbers and sequences, and whatever else `numpy.asarray` reads."""

from __future__ import annotations

import copy

import numpy as np

from numbastats._core.broadcast import as_host, dtype_of

name, on_device = "numpy", False
TYPES = (np.ndarray, np.generic, float, int, bool, list, tuple)

dtype = dtype_of


def to_host(x, name):
    return x


def from_host(result, like):
    return result


def copied(x):
    return copy.copy(as_host(x))


def as_float32(x):
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(np.float32)


def ends(x):
    return np.lib.array_utils.byte_bounds(x) if isinstance(x, np.ndarray) else interface_ends(x)


def interface_ends(x):
    """First and last address of an array with the CUDA array interface; None for others."""
    interface = getattr(x, "__cuda_array_interface__", None)
    return None if interface is None else (interface["data"][0], interface["data"][0] + x.nbytes)
