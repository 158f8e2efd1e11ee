"""Shapes and dtypes: inputs become contiguous floats of one dtype, results get the caller's shape."""

from __future__ import annotations

import math
import operator
from datetime import date

import numpy as np

from numbastats._core.checks import FLOAT32, FLOAT64, is_masked, refuse_complex, refuse_lazy, refuse_mask

__all__ = [
    "NAME",
    "as_host",
    "common_shape",
    "dtype_of",
    "flat_view",
    "flatten",
    "lent",
    "real64",
    "result_dtype",
    "size_to_shape",
    "total",
    "unmasked",
]

NAME = {FLOAT32: "float32", FLOAT64: "float64"}  # the same as `dtype.name`, in 0.1 us instead of 3
_WEAK = (float, int, bool)  # Python numbers do not decide the dtype (NEP 50)


def result_dtype(names, dtypes) -> np.dtype:
    """Float32 if every float array is float32, else float64; integers count as float64.

    Parameters
    ----------
    names : sequence of str
        Argument names, for the message.
    dtypes : sequence of numpy.dtype or None
        None for Python numbers, which do not decide.
    """
    result: np.dtype | None = None
    for name, d in zip(names, dtypes, strict=True):
        if d is None:
            continue
        if d.kind in "iub" or (d.kind == "f" and d.itemsize == 8):  # `d` may have either byte order
            result = FLOAT64
        elif d.kind == "f" and d.itemsize == 4:
            result = result or FLOAT32
        else:
            refuse_complex(d, name)
            raise TypeError(
                f"{name} has dtype {d}; allowed are float64, float32 and integers. "
                f"Convert it first, for example {name}.astype('float64')"
            )
    return result or FLOAT64


def as_host(value):
    """A NumPy array or a Python number; array-likes go through `numpy.asarray`."""
    if type(value) in _WEAK or type(value) is np.ndarray:
        return value
    refuse_mask(value)
    refuse_lazy(value)
    return np.asarray(value)


def real64(value):
    """A float64 array; a TypeError for a mask or imaginary parts, which `numpy.asarray` would drop."""
    value = as_host(value)
    if type(value) in _WEAK:
        return np.asarray(value, np.float64)
    if value.dtype.kind in "SUMm" or value.dtype.kind == "O" and any(isinstance(v, str | date) for v in value.flat):
        raise TypeError(
            f"text and dates ({value.dtype}) are not numbers: pass real numbers, of text by x.astype('float64'), of dates by "
            "(x - x[0])/numpy.timedelta64(1, 's')"
        )
    if value.dtype.kind == "c":
        raise TypeError(f"complex numbers ({value.dtype}) are not understood: pass x.real if the imaginary part is zero")
    return np.asarray(value, np.float64)


def unmasked(value):
    """`numpy.asarray`, with NaN in place of masked elements."""
    if is_masked(value):
        return (value if value.dtype.kind == "f" else value.astype(np.float64)).filled(np.nan)
    refuse_lazy(value)
    return np.asarray(value)


def dtype_of(value):
    """The dtype that decides the result, None for Python numbers."""
    return None if type(value) in _WEAK else value.dtype


def flatten(value, shape, dtype):
    """A number when `value` has one element, else a contiguous 1-d array of the broadcast shape."""
    if type(value) in _WEAK:
        return dtype.type(value)
    if value.size == 1:
        return dtype.type(value.reshape(-1)[0])
    if value.shape != shape:
        value = np.broadcast_to(value, shape)
    value = np.ascontiguousarray(value, dtype=dtype).reshape(-1)
    return value if value.flags.writeable else lent(value)


def flat_view(out):
    """The memory of a C-contiguous array as a 1-d array; `reshape` leaves a `numpy.matrix` with two axes."""
    return np.asarray(out).reshape(-1)


class _Lent:
    """The memory of an array, without the flag that it is read-only."""

    def __init__(self, value):
        self.value = value  # keeps the memory
        data = (value.__array_interface__["data"][0], False)
        self.__array_interface__ = {**value.__array_interface__, "data": data}


def lent(value):
    """A view of a read-only array for a kernel, which does not write to inputs.

    Read-only arrays are another type for Numba: a memory map or a column of a data frame would have the kernel compiled
    anew, which takes up to half a minute.
    """
    return np.asarray(_Lent(value))


def common_shape(shapes) -> tuple:
    """Shape of the broadcast; `numpy.broadcast_shapes` makes an array per shape, which slows calls on single numbers."""
    different = {s for s in shapes if s}
    return np.broadcast_shapes(*different) if len(different) > 1 else different.pop() if different else ()


def size_to_shape(size, shapes, out=None) -> tuple:
    """Shape of random output: `size` as in numpy.random, else that of `out`, against the parameters' broadcast shape."""
    try:
        shape = common_shape(shapes)
    except ValueError:
        raise ValueError(f"parameters of shapes {', '.join(map(str, shapes))} do not broadcast against each other") from None
    given = f"size={size!r}"
    if size is None:
        size = getattr(out, "shape", None)
        if size is None:
            return shape
        given = f"out of shape {tuple(size)}"
    try:
        asked = (operator.index(size),) if np.ndim(size) == 0 else tuple(operator.index(n) for n in size)
    except (TypeError, ValueError):
        raise TypeError(f"size={size!r} is not a shape; use None, an integer or a tuple of integers") from None
    if min(asked, default=0) < 0:
        raise ValueError(f"size={size!r} has a negative entry; use lengths >= 0")
    ends = zip(reversed(shape), reversed(asked), strict=False)
    if len(shape) > len(asked) or not all(have in (1, wanted) for have, wanted in ends):
        raise ValueError(f"{given} cannot hold parameters of shape {shape}; leave it None or use a shape they broadcast to")
    return asked


def total(shape) -> int:
    """Number of elements of a shape."""
    return math.prod(shape)
