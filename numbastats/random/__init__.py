"""Random draws from counters: the same on every device, for any number of workers and any chunking.

Every function takes its parameters first, broadcasting as in `numpy.random`, then ``size``, then keywords:

rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
    Source of the 64-bit Philox key of the call. None takes fresh entropy, an integer always gives the same draws, a
    Generator gives others at each call.
offset : int, optional
    Index of the first value in the stream of the key, 0 by default; see "Blocks" below. It needs an `rng` that is not None.
dtype : {"float64", "float32"}
    Float type of the draws, float64 by default. The two have streams of their own.
out : array, optional
    Array for the result: C-contiguous, of the result's dtype; it gives the shape where ``size`` does not. A CuPy, torch or
    Numba array on the GPU is filled there.
device : {"auto", "cpu", "cuda"}, optional
    Where to draw.
like : array, optional
    An array, of whose kind the draws are and on whose device: ``normal(size=n, like=cupy.empty(0))`` gives a CuPy array that
    never was on the host. A dask array of the shape of the draws lends them its chunks, too.
workers : int or executor, optional
    Number of threads, -1 for all cores, or an object with a ``map`` method.

Tensors and arrays on the GPU as parameters give draws of their kind, on their device. On the GPU nothing is copied but the answer
to whether parameters are in their range; for that alone Numba's arrays, which have no arithmetic, are copied to the host.

Parameters outside of their range, such as a negative scale, raise ValueError, as in `numpy.random`; NaN gives NaN.

Draw i of a call depends on the key and on i alone: a longer call begins with the draws of a shorter one. Integers agree on
every device; floats agree bit for bit between numbers of workers, and to 2 ulp between CPU and GPU. The generator is
Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

**Blocks.** Parts of an array that lie in different processes draw their own values of one stream with ``offset``, the number
of values before them (in C order: blocks of rows, not of columns). However the array is cut, the parts together are bit for
bit what one call gives on that device, in every distribution here and in `stable.rvs`, in both float types. Parameters that are
arrays are those of the block. All blocks need the same integer or SeedSequence as ``rng``, since a Generator gives a new stream
at each call.

With arrays of dask as parameters, or as ``like``, blocks do so by themselves: the result is a dask array whose blocks are
drawn when it is computed, of the key that was fixed at the call, and whose bits do not depend on the chunks. Blocks of whole
rows are drawn in one go, others row by row.

>>> import numpy as np, numbastats as ns
>>> whole = ns.random.normal(size=(10, 3), rng=1)
>>> blocks = [ns.random.normal(size=(hi - lo, 3), rng=1, offset=3 * lo) for lo, hi in ((0, 4), (4, 5), (5, 10))]
>>> bool((np.concatenate(blocks) == whole).all())
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from numbastats._core.elementwise import Draws, draw
from numbastats._core.errors import names_ours
from numbastats._core.kinds import comparable
from numbastats._core.random import Purpose, key_words, normalise_rng
from numbastats.random import kernels

__all__ = ["exponential", "gamma", "key", "normal", "truncnorm", "uniform"]

Device: TypeAlias = Literal["auto", "cpu", "cuda"]
Size: TypeAlias = int | Sequence[int] | None
RNG: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


def __dir__():
    return sorted(__all__)


def _any(condition):
    return condition if isinstance(condition, bool) else condition.any()


def _refuse_negative(name, value):
    (value,) = comparable(value)
    if _any(value < 0):
        least = value if isinstance(value, (int, float)) else value[value < 0].min().item()
        raise ValueError(f"{name} has the negative value {least}; use values >= 0 (NaN gives NaN)")


def _refuse_order(names, low, high):
    low, high = comparable(low, high)
    if _any(low > high):
        raise ValueError(f"{names[0]} is above {names[1]}; exchange them, or use {names[0]} <= {names[1]} everywhere")


def _refuse_truncnorm(mu, sigma, lo, hi):
    (sigma,) = comparable(sigma)
    if _any(sigma <= 0):
        raise ValueError("sigma has a value that is not positive; use values > 0 (NaN gives NaN)")
    _refuse_order(("lo", "hi"), lo, hi)


_UNIFORM = Draws(
    kernels.UNIFORM,
    Purpose.UNIFORM,
    ("low", "high"),
    arity=2,
    cost=0.7,
    refuse=lambda low, high: _refuse_order(("low", "high"), low, high),
)
_NORMAL = Draws(
    kernels.NORMAL,
    Purpose.NORMAL,
    ("loc", "scale"),
    arity=2,
    cost=2.0,
    refuse=lambda loc, scale: _refuse_negative("scale", scale),
)
_EXPONENTIAL = Draws(
    kernels.EXPONENTIAL, Purpose.EXPONENTIAL, ("scale",), arity=2, cost=1.2, refuse=lambda scale: _refuse_negative("scale", scale)
)
_GAMMA = Draws(
    kernels.GAMMA,
    Purpose.GAMMA,
    ("shape", "scale"),
    arity=4,
    cost=15.0,
    refuse=lambda shape, scale: (_refuse_negative("shape", shape), _refuse_negative("scale", scale)),
)
_TRUNCNORM = Draws(
    kernels.TRUNCNORM, Purpose.TRUNCNORM, ("mu", "sigma", "lo", "hi"), arity=4, cost=20.0, refuse=_refuse_truncnorm
)


def key(rng: RNG = None) -> tuple[np.uint32, np.uint32]:
    """The Philox key of one call, for functions of `numbastats.scalar.samplers` and `philox` in your own kernels.

    Parameters
    ----------
    rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
        See `numbastats.random`.

    Returns
    -------
    tuple of two numpy.uint32
        Lower and upper word.

    Raises
    ------
    TypeError, ValueError
        For a bad `rng`.

    Notes
    -----
    Draws with one key are independent where their items or stream words differ. The library's own stream words are below
    ``128 << 24``; those from there on are yours.

    Examples
    --------
    >>> import numba, numpy as np, numbastats as ns
    >>> from numbastats.scalar.samplers import normal1
    >>> @numba.njit
    ... def mean(k0, k1, n):
    ...     total = 0.0
    ...     for i in range(n):
    ...         total += normal1(k0, k1, i, np.uint32(128 << 24), 0.0, 1.0)
    ...     return total / n
    >>> abs(mean(*ns.random.key(rng=1), 100_000)) < 0.01
    True
    """
    return key_words(normalise_rng(rng))


@names_ours
def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Size = None,
    *,
    rng: RNG = None,
    offset: int = 0,
    dtype: DTypeLike | None = None,
    out: Any = None,
    device: Device | None = None,
    workers: Any = None,
    stream: Any = None,
    like: Any = None,
) -> Any:
    """Uniform draws between `low` and `high`.

    Parameters
    ----------
    low, high : array_like of float
        Ends of the interval, broadcast against each other.
    size : int or tuple of int, optional
        Shape of the result; by default that of the parameters.
    rng, offset, dtype, out, device, workers, like
        See `numbastats.random`.
    stream : CUDA stream, optional
        Of Numba, CuPy, torch or cuda.core, or its pointer; by default the current stream of the library that the arrays are from.

    Returns
    -------
    numpy.ndarray or scalar
        ``low + (high - low) (k + 1/2) 2^-52`` with 52 random bits k (float32: 23 bits), rounded: never outside the interval,
        with low = 0 and `high` above 2^-1022 (float32: 2^-126) never an end of it (the default: never 0 and never 1), else an
        end where the floats next to it are too far apart. NaN where an end is NaN; inf or NaN where ``high - low`` overflows.

    Raises
    ------
    ValueError
        For low > high.
    TypeError, ValueError
        For a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> u = ns.random.uniform(size=(2, 3), rng=1)
    >>> u.shape, bool((u > 0).all() and (u < 1).all())
    ((2, 3), True)
    """
    return draw(_UNIFORM, (low, high), size, rng, dtype, out, device, workers, stream, offset, like)


@names_ours
def normal(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    rng: RNG = None,
    offset: int = 0,
    dtype: DTypeLike | None = None,
    out: Any = None,
    device: Device | None = None,
    workers: Any = None,
    stream: Any = None,
    like: Any = None,
) -> Any:
    """Normal draws by inversion.

    Parameters
    ----------
    loc, scale : array_like of float
        Mean and standard deviation, broadcast against each other.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        ``loc + scale z``. NaN where a parameter is NaN.

    Raises
    ------
    ValueError
        For scale < 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    A sign bit and a tail probability ``t = (k + 1/2) 2^-53`` with 52 bits k, then the quantile at t: symmetric, and the
    tails reach 8.29 (float32: 31 bits, 6.34).

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011), sections 4-5.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.random.normal([0.0, 100.0], 1.0, (50_000, 2), rng=3)
    >>> abs(x.mean(axis=0)).round(1)
    array([  0., 100.])
    """
    return draw(_NORMAL, (loc, scale), size, rng, dtype, out, device, workers, stream, offset, like)


@names_ours
def exponential(
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    rng: RNG = None,
    offset: int = 0,
    dtype: DTypeLike | None = None,
    out: Any = None,
    device: Device | None = None,
    workers: Any = None,
    stream: Any = None,
    like: Any = None,
) -> Any:
    """Exponential draws by inversion.

    Parameters
    ----------
    scale : array_like of float
        Mean.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        ``-scale log u``, u of 52 bits: between 2^-53 and 36.7 times the scale (float32: 32 bits, 2^-33 and 22.9). NaN
        where scale is NaN.

    Raises
    ------
    ValueError
        For scale < 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.exponential(2.0, 100_000, rng=5).mean().round(1))
    2.0
    """
    return draw(_EXPONENTIAL, (scale,), size, rng, dtype, out, device, workers, stream, offset, like)


@names_ours
def gamma(
    shape: ArrayLike,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    rng: RNG = None,
    offset: int = 0,
    dtype: DTypeLike | None = None,
    out: Any = None,
    device: Device | None = None,
    workers: Any = None,
    stream: Any = None,
    like: Any = None,
) -> Any:
    """Gamma draws by rejection from a squeezed normal.

    Parameters
    ----------
    shape, scale : array_like of float
        Shape and scale parameters, >= 0, broadcast against each other.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        0 where shape = 0. NaN where a parameter is NaN, or one is 0 and the other infinite.

    Raises
    ------
    ValueError
        For a negative shape or scale.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    A rejection may decide differently on two devices when their floats differ by an ulp: then that draw
    differs, and its distribution does not.

    References
    ----------
    G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.gamma(3.0, 2.0, 100_000, rng=5).mean().round(1))
    6.0
    """
    return draw(_GAMMA, (shape, scale), size, rng, dtype, out, device, workers, stream, offset, like)


@names_ours
def truncnorm(  # noqa: PLR0913
    mu: ArrayLike,
    sigma: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    size: Size = None,
    *,
    rng: RNG = None,
    offset: int = 0,
    dtype: DTypeLike | None = None,
    out: Any = None,
    device: Device | None = None,
    workers: Any = None,
    stream: Any = None,
    like: Any = None,
) -> Any:
    """Draws from a normal distribution restricted to an interval, by inversion.

    Parameters
    ----------
    mu, sigma : array_like of float
        Mean and standard deviation of the untruncated distribution.
    lo, hi : array_like of float
        Ends of the interval, in the units of `mu`; may be infinite. All four broadcast against each other.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        Values in [lo, hi]. NaN where mu or sigma is infinite, both ends are the same infinity, or a parameter is NaN.

    Raises
    ------
    ValueError
        For lo > hi or sigma <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    One uniform per draw; the interval may lie any number of standard deviations from the mean. The inversion works in the
    logarithm of the tail probability.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.random.truncnorm(0.0, 1.0, 8.0, float("inf"), 1000, rng=5)
    >>> bool((x >= 8).all()), float(x.mean().round(1))
    (True, 8.1)
    """
    return draw(_TRUNCNORM, (mu, sigma, lo, hi), size, rng, dtype, out, device, workers, stream, offset, like)
