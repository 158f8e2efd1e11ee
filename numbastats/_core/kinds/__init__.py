"""Kinds of array: one small file for each library, which registers itself. Kind in, kind out.

A kind is a module with these names; for arrays on a GPU all of them, for arrays on the host those above the line:

==================================  ==========================================================================================
``name``                            what messages call it
``on_device``                       whether its arrays live on a GPU
``is_mine(x, libraries)``           whether x is of this kind, by the packages that its type and the bases of it are from
``dtype(x)``                        NumPy's dtype
``to_host(x, name)``                a NumPy array
``from_host(result, like)``         a NumPy result as this kind, on the device of `like`
``copied(x)``                       a copy
``as_float32(x)``                   rounded
``ends(x)``                         addresses at which a contiguous array begins and ends; None if unknown
----------------------------------  ------------------------------------------------------------------------------------------
``gpu_of(x)``                       number of the GPU it lives on
``current_stream()``                pointer of the stream on which its library works now; 0 for the default stream
``takes(x, shape, d)``              whether `flat_input` can make it of that shape and dtype
``flat_input(x, name, shape, d)``   broadcast, converted, contiguous and with one axis, as kernels take it
``empty(like, shape, dtype)``       a new array on the device of `like`
``flat_output(x)``                  its memory with one axis, as kernels write it
``is_contiguous(x)``                in C order
==================================  ==========================================================================================
"""

from __future__ import annotations

import numpy as np

from numbastats._core.device import current_index
from numbastats._core.kernel import SIMULATED
from numbastats._core.kinds import cupy, dask, labelled, numba_device, numpy, torch

__all__ = [
    "LABELLED",
    "LAZY",
    "NUMPY",
    "aligned",
    "check_current",
    "comparable",
    "copied",
    "device_kind",
    "ends_of",
    "first_array",
    "has_labels",
    "in_kind_of",
    "is_torch",
    "kind_of",
    "numpy_dtype",
    "rows_alike",
    "share_memory",
    "to_host",
    "torch_to_numpy",
]

NUMPY = numpy
LAZY, LABELLED, rows_alike = dask, labelled, labelled.rows_alike
KINDS = (  # in the order in which they are asked; other values are NumPy's
    numba_device,
    torch.on_gpu,
    torch.on_host,
    cupy,
    dask,
    labelled.pandas,
    labelled.polars,
    labelled.xarray,
)


DLPACK_GPUS = (2, 10, 13)  # memory of CUDA, of ROCm, and managed by CUDA


def kind_of(x):
    """The kind of an array; anything else on the host counts as NumPy's."""
    if isinstance(x, numpy.TYPES):
        return numpy
    libraries = labelled.libraries_of(x)
    for kind in KINDS:
        if kind.is_mine(x, libraries):
            return kind
    if hasattr(x, "__cuda_array_interface__") or _by_dlpack(x):
        how = "cupy.asarray(x)" if hasattr(x, "__cuda_array_interface__") else "cupy.from_dlpack(x)"
        raise TypeError(
            f"a {type(x).__module__}.{type(x).__qualname__} lives on the GPU; of arrays there those of CuPy, torch and Numba are "
            f"understood. {how} makes one of the same memory"
        )
    return numpy


def _by_dlpack(x):
    """Whether an array of an unknown library says by DLPack that it is in memory of a GPU."""
    return hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in DLPACK_GPUS


def device_kind(x):
    """None for host data, else the library that owns the device array: 'numba', 'cupy' or 'torch'."""
    kind = kind_of(x)
    return kind.name if kind.on_device else None


def is_torch(x) -> bool:
    """Whether x is a tensor, on the host or on a GPU."""
    return kind_of(x).name == "torch"


def numpy_dtype(x):
    """The dtype that decides the result, None for Python numbers."""
    return kind_of(x).dtype(x)


def first_array(values):
    """The first value that determines the kind of the results: an array on a device, else a tensor, else None."""
    kinds = [kind_of(v) for v in values]
    chosen = next((k for k in kinds if k.on_device), None) or next((k for k in kinds if k is not numpy), None)
    return None if chosen is None else values[kinds.index(chosen)]


def aligned(values, names, last=None):
    """The values aligned by their labels (`labelled.aligned`), and `first_array` with the labels of the result."""
    like = first_array(values)
    if like is None or not has_labels(like):
        return values, like
    values, labels = labelled.aligned(values, names, last)
    return values, like if labels is None else labels


def has_labels(x):
    """Whether x is an array of pandas, polars or xarray."""
    return hasattr(kind_of(x), "has_labels")


def check_current(x, kind, name):
    """Raise unless a device array lives on the GPU that kernels run on."""
    if SIMULATED:
        return
    there, here = kind.gpu_of(x), current_index()
    if there is not None and there != here:
        raise ValueError(
            f"{name} lives on GPU {there}, and kernels run on GPU {here}, Numba's current one; copy it there, or call within "
            f"`with numba.cuda.gpus[{there}]:`"
        )


def to_host(x, name):
    """A tensor or device array as a NumPy array; anything else as it is."""
    return kind_of(x).to_host(x, name)


def torch_to_numpy(x, name):
    """The memory of a tensor on the host as a NumPy array; anything else as it is."""
    return torch.on_host.to_host(x, name) if is_torch(x) else x


def in_kind_of(result, like):
    """A NumPy result as the kind of array that `like` is, on its device."""
    return kind_of(like).from_host(result, like)


def comparable(*values):
    """The values as they are where one library compares them, else on the host: Numba has no arithmetic of arrays."""
    kinds = [kind_of(v) for v in values]
    if all(k is numpy for k in kinds):
        return values
    mixed = len({k.name for k, v in zip(kinds, values, strict=True) if k is not numpy or np.ndim(v)}) > 1
    if mixed or numba_device in kinds:
        return [k.to_host(v, "a parameter") for k, v in zip(kinds, values, strict=True)]
    return values


def copied(x):
    """A copy of an input of any kind: for a function that reads it again after it has written a result."""
    return kind_of(x).copied(x)


def share_memory(a, b) -> bool:
    """Whether two contiguous arrays of any kind have an element in common."""
    ends = [ends_of(a), ends_of(b)]
    return (a is b is not None) or all(ends) and max(lo for lo, _ in ends) < min(hi for _, hi in ends)


def ends_of(a):
    """Addresses at which a contiguous array begins and ends; None for anything else."""
    if isinstance(a, np.ndarray):
        return numpy.ends(a)
    return kind_of(a).ends(a)
