"""Checks of arguments that all sub-packages share; every message says what was got, what is allowed, and the fix."""

from __future__ import annotations

import sys

import numpy as np

from numbastats._core.errors import warn

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "check_dtype",
    "check_out",
    "checked_level",
    "choice",
    "doubt_per_cent",
    "is_integer",
    "is_lazy",
    "is_masked",
    "letters",
    "refuse_complex",
    "refuse_lazy",
    "refuse_mask",
    "warn_of_shares",
]

_NUMBERS = (float, int, np.float64, np.int64, np.float32)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def is_integer(value) -> bool:
    """Whether a value is a single integer of Python, NumPy or another library; True and False do not count."""
    return not isinstance(value, bool | np.bool_) and hasattr(value, "__index__") and not getattr(value, "ndim", 0)


def letters(word):
    """A word without capitals, spaces and signs."""
    return "".join(c for c in word.lower() if c.isalnum())


def choice(name, value, allowed):
    """Return `value` if it is one of `allowed`, else raise a ValueError that lists them."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not known; use one of {', '.join(map(repr, allowed))}")
    return value


def checked_level(level, name="level") -> float:
    """The level of intervals as a float, or an error that says how to write it."""
    if isinstance(level, str | bool | np.bool_) or not hasattr(level, "__float__") or getattr(level, "ndim", False):
        raise TypeError(f"{name}={level!r} is no number; use 0.95 for 95 %")
    value = float(level)
    if not 0.0 < value < 1.0:
        meant = value if 1.0 < value < 100.0 else 95.0
        raise ValueError(f"{name}={level} is not between 0 and 1; use {meant / 100.0:g} for {meant:g} %")
    return value


def check_dtype(dtype) -> np.dtype:
    """Return the float dtype asked for, or raise a TypeError that lists the allowed ones."""
    try:
        d = np.dtype(dtype)
    except TypeError:
        d = None
    if d is None or (d != FLOAT32 and d != FLOAT64):
        raise TypeError(f"dtype={dtype!r} is not supported; use 'float64' or 'float32'")
    return d


def is_masked(value) -> bool:
    """Whether a value is a masked array; where numpy.ma is not loaded, there are no masked arrays."""
    masked = sys.modules.get("numpy.ma")
    kind = getattr(masked, "MaskedArray", None)  # also None while another thread is importing numpy.ma
    return kind is not None and isinstance(value, kind)


def refuse_mask(value):
    """Raise for a masked array, whose mask `numpy.asarray` would drop."""
    if is_masked(value):
        raise TypeError("masked arrays are not understood: pass x.filled(numpy.nan) to get NaN there, or x.compressed()")


class ComplexData(TypeError, ValueError):
    """Complex numbers where real ones are needed: a TypeError as for other dtypes, and the ValueError that scikit-learn wants."""


def refuse_complex(dtype, name):
    """Raise for a complex dtype."""
    if dtype.kind == "c":
        raise ComplexData(
            f"Complex data not supported: {name} has dtype {dtype}; allowed are real numbers: float64, float32 and integers. "
            f"Convert it first, {name}.real.astype('float64') if the imaginary part is zero"
        )


def is_lazy(value) -> bool:
    """Whether a value is one of dask's arrays, series or frames, or an xarray object that holds one."""
    library = type(value).__module__.partition(".")[0]
    return library in ("dask", "dask_expr") or (library == "xarray" and bool(getattr(value, "chunks", None)))


def refuse_lazy(value, name="the input"):
    """Raise for dask's arrays, which `numpy.asarray` would compute and pull into memory whole."""
    if is_lazy(value):
        raise TypeError(
            f"{name} is a dask array, which this function would pull into memory whole; pass x.compute() if it fits, or call the "
            "function on its blocks, as x.map_blocks(function) (docs/scale.md has sums over blocks)"
        )


def check_out(out, shape, dtype):
    """Raise unless `out` is a writable contiguous array of this shape and dtype."""
    if not isinstance(out, np.ndarray) or is_masked(out):
        raise TypeError(
            f"out is a {type(out).__name__}; it must be a numpy.ndarray like the inputs, of shape {shape} and dtype {dtype}"
        )
    if out.shape != shape:
        raise ValueError(
            f"out has shape {out.shape}; the result has shape {shape}. Pass out=numpy.empty({shape}, {dtype.name!r})"
        )
    if not out.dtype.isnative:
        raise TypeError(
            f"out has dtype {out.dtype.str!r}, which is not the processor's byte order; pass out of dtype {dtype.name!r}"
        )
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result is {dtype}. Pass out of that dtype, or dtype={out.dtype.name!r}")
    if not out.flags.c_contiguous:
        raise ValueError("out is not C-contiguous; pass a contiguous array and copy the result into the strided view")
    if not out.flags.writeable:
        raise ValueError("out is read-only; pass a writable array (out.copy(), or out.flags.writeable = True)")


def doubt_per_cent(p):
    """Warn of one number that would be a probability if it were meant in per cent."""
    if type(p) in _NUMBERS and 1.0 < p <= 100.0:
        warn(f"{p:g} is no probability: use {p / 100:g} for {p:g} %")


def warn_of_shares(total, n, which=""):
    """Warn where the weights of n values add up to less than n: weights count observations."""
    if total < 0.999 * n:
        warn(
            f"the weights{which} add up to {total:.6g} for {n} values: they count observations, so that log-likelihood, standard "
            f"errors, AIC and BIC are those of {total:.6g} observations. For shares pass weights * {n} / sum(weights)"
        )
