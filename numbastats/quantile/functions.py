"""The normal quantile as array functions, and recycling: samples of one distribution become samples of another."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import numbastats.random as random
from numbastats._core.broadcast import NAME, as_host, dtype_of, result_dtype
from numbastats._core.checks import choice, doubt_per_cent
from numbastats._core.elementwise import elementwise
from numbastats._core.errors import names_ours
from numbastats._core.inputs import any_lazy, apply
from numbastats._core.kinds import copied, device_kind, is_torch, share_memory
from numbastats._core.options import DEFAULTS, ArrayOptions, Device, NumberOptions, hands_on
from numbastats.quantile import kernels, paper
from numbastats.quantile.arguments import ArrayQuantiles, Edges, Method, NumberQuantiles, Tail, check_base
from numbastats.quantile.construction import normal_density
from numbastats.quantile.estimator import QuantileTable

__all__ = ["antithetic", "ndtri", "norm_from_exponential", "recycle", "standard_normal"]

_COST = {"fast": 1.2, "accurate": 2.0, "correct": 2.5, **paper.COST}  # of the methods, ns per value

# |Phi^-1| half a grid step inside the ends of the uniform grid: at 2^-54 for float64, at 2^-25 for float32.
_OPEN_EDGE = {"float64": 8.292361075813595, "float32": 5.419983174916868}


def _kernel(method, dtype):
    try:
        return kernels.NDTRI[method, NAME[dtype]]
    except KeyError:
        if method == "correct":
            raise ValueError(
                "method='correct' rounds correctly to float32; use dtype='float32', or method='accurate' for float64 (1.5 ulp)"
            ) from None
        raise ValueError(
            f"method={method!r} is a double-precision kernel and loses its accuracy in float32; use method='exp56' (the paper's "
            "single-precision kernel), method='fast', or dtype='float64'"
        ) from None


@overload
def ndtri(u: float, loc: float = 0.0, scale: float = 1.0, **options: Unpack[NumberQuantiles]) -> float: ...
@overload
def ndtri(
    u: NDArray[Any], loc: float | NDArray[Any] = 0.0, scale: float | NDArray[Any] = 1.0, **options: Unpack[ArrayQuantiles]
) -> NDArray[Any]: ...
@overload
def ndtri(u: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[ArrayQuantiles]) -> Any: ...
@names_ours
def ndtri(
    u: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    method: Method = "fast",
    tail: Tail = "lower",
    log: bool = False,
    edges: Edges = "inf",
    out: Any = None,
    dtype: DTypeLike | None = None,
    device: Device = None,
    workers: Any = None,
    stream: Any = None,
):
    """Quantile of the normal distribution.

    Parameters
    ----------
    u : array_like
        Probabilities in [0, 1], or their natural logarithms with ``log=True``. Any shape.
    loc, scale : array_like, optional
        Mean and standard deviation (> 0), broadcast against `u`.
    method : {"fast", "accurate", "correct", "exp56", "exp1313", "exp1313_printed", "t2"}
        "fast" and "accurate" hold on every float; "correct", for float32 alone, gives the float32 next to the quantile; the
        others are the kernels of the reference, kept for comparison: the single-precision (5,6), the double-precision (13,13)
        with its corrected coefficient and as printed, and the T2 hybrid.
    tail : {"lower", "upper"}
        "upper": `u` is the probability above the result. Exactly the negative of the lower quantile (about `loc`).
    log : bool
        `u` is a logarithm of a probability, at most 0; any finite value works. Has one method.
    edges : {"inf", "open"}
        "open" moves u = 0 and u = 1 inside by half a step of the uniform grid (2^-54; float32 2^-25), for sampling.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        ``loc + scale * Phi^-1(u)``, of the inputs' kind and broadcast shape. -inf and inf at 0 and 1; NaN for u outside
        [0, 1], as a percentage like 95, and for scale <= 0.

    Raises
    ------
    ValueError
        For an unknown option, a double-precision method with float32, or "correct" with float64.
    TypeError
        For inputs that are not real numbers of single or double precision.

    Notes
    -----
    With t = min(u, 1-u), v = -log(2t), r = sqrt(v + log 2): ``(v/r)(c + N(r)/D(r))``, own minimax coefficients. Largest errors
    observed for loc = 0, scale = 1: "fast" 2.8 ulp (float32 3.31), "accurate" 1.5 ulp (float32: computed in double and
    rounded, 0.51 ulp), on every float of (0, 1) including subnormals; ``log=True`` 1e-15 relative; "exp1313" and "t2" 4.7 ulp
    for t >= 2.9e-19; "exp56" 2.9e-8 relative plus rounding for t >= 7e-12; "exp1313_printed" 62 ulp near v = 0.24.

    "correct" (float32, loc = 0, scale = 1; else as "accurate") is rounded correctly for every float32 u. All 1,056,964,608 t in
    (0, 1/2] were tried: a double within 4 ulp of the quantile rounds to the right float32 except for 14 t, which are in a
    table, and the double-precision formula is within 2.8 ulp. For u > 1/2, t = 1 - u is exact, and so is the change of sign.

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II: Changes of Variables in Monte Carlo methods and GPU-Optimized
    Normal Quantiles" (2011), section 6 and appendices A-C.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> ns.quantile.ndtri([0.025, 0.5, 0.975]).round(6)
    array([-1.959964,  0.      ,  1.959964])
    >>> float(ns.quantile.ndtri(-1000.0, log=True).round(10))
    -44.615747732
    """
    choice("method", method, tuple(_COST))
    sign = 1.0 if choice("tail", tail, ("lower", "upper")) == "lower" else -1.0
    choice("edges", edges, ("inf", "open"))
    if log:
        if method != "fast" or edges != "inf":
            raise ValueError(
                f"log=True has one method and no grid; leave method='fast' and edges='inf' (got {method!r}, {edges!r})"
            )
        pick, cost = lambda d: kernels.LOG[NAME[d]], 5.0
    else:
        doubt_per_cent(u)
        pick, cost = lambda d: _kernel(method, d), _COST[method]

    def constants(d):
        return sign, math.inf if edges == "inf" else _OPEN_EDGE[NAME[d]]

    return elementwise(
        pick,
        ("u", "loc", "scale"),
        (u, loc, scale),
        constants,
        out=out,
        dtype=dtype,
        device=device,
        workers=workers,
        stream=stream,
        cost=cost,
    )


@overload
def norm_from_exponential(v: float, **options: Unpack[NumberOptions]) -> float: ...
@overload
def norm_from_exponential(v: NDArray[Any], **options: Unpack[ArrayOptions]) -> NDArray[Any]: ...
@overload
def norm_from_exponential(v: ArrayLike, **options: Unpack[ArrayOptions]) -> Any: ...
@hands_on(ndtri)
def norm_from_exponential(v: ArrayLike, **options: Unpack[ArrayOptions]):
    """Magnitude of a normal variate from an exponential variate.

    Parameters
    ----------
    v : array_like
        Standard exponential values, >= 0, any shape.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        z >= 0 with upper tail probability exp(-v)/2. inf at inf; NaN for v < 0.

    Raises
    ------
    TypeError, ValueError
        As `ndtri`, for inputs, `out`, `dtype`, `device` and `workers`.

    Notes
    -----
    The r-form of `ndtri` without its logarithm; relative error at most 1e-15 (float32 4e-7).

    References
    ----------
    Shaw, Luu and Brickman (2011), equations (67)-(70).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> float(ns.quantile.norm_from_exponential(-np.log(2 * 0.025)).round(6))
    1.959964
    """
    return elementwise(kernels.FROM_EXPONENTIAL, ("v",), (v,), cost=1.0, **options)


@names_ours
def antithetic(
    u: ArrayLike,
    *,
    out: tuple[Any, Any] | None = None,
    dtype: DTypeLike | None = None,
    device: Device = None,
    workers: Any = None,
    stream: Any = None,
):
    """Antithetic pair of normal variates from one uniform.

    Parameters
    ----------
    u : array_like
        Uniforms in (0, 1], any shape; ``1 - rng.random()`` is such.
    out : tuple of two arrays, optional
        For z and -z; they must not share memory.
    dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    tuple of two arrays or scalars
        z >= 0 with upper tail probability u/2, and -z. (inf, -inf) at u = 0; NaN outside [0, 1].

    Raises
    ------
    TypeError, ValueError
        As `ndtri`, and for an `out` that is no pair or shares memory.

    Notes
    -----
    At most 2.8 ulp seen (float32 3.31), as `ndtri`, on all u, subnormals included.

    References
    ----------
    Shaw, Luu and Brickman (2011), section 5.1.

    Examples
    --------
    >>> import numbastats as ns
    >>> z, minus_z = ns.quantile.antithetic(0.05)
    >>> float(z.round(6)), float(minus_z.round(6))
    (1.959964, -1.959964)
    """
    if out is None:
        out = (None, None)
    elif not isinstance(out, tuple) or len(out) != 2:
        raise TypeError("out must be a tuple of two arrays, for z and for -z")
    elif share_memory(*out):
        raise ValueError("the two arrays of out share memory; the second result would overwrite the first")
    if out[0] is not None:
        u = copied(u)  # it may share memory with the first result, and is read again for the second
    options = dict(dtype=dtype, device=device, workers=workers, stream=stream, cost=1.2)
    return tuple(
        elementwise(kernels.ANTITHETIC, ("u",), (u,), lambda d, s=sign: (s,), out=o, **options)
        for sign, o in zip((1.0, -1.0), out, strict=True)
    )


@hands_on(random.normal)
def standard_normal(
    size: int | tuple[int, ...] | None = None,
    *,
    rng: Any = None,
    method: Literal["fast"] = "fast",
    **options: Unpack[ArrayOptions],
):
    """Standard normal draws; the same as `numbastats.random.normal` with loc 0 and scale 1.

    Parameters
    ----------
    size : int or tuple of int, optional
        Shape of the result; a scalar when None.
    rng : None, int, SeedSequence or Generator
        Source of the key; the same key gives the same draws on every device and for every number of workers.
    method : {"fast"}
        The quantile method behind the draws.
    dtype, out, device, workers, stream
        As in `numbastats.random.normal`.

    Returns
    -------
    array or scalar

    Raises
    ------
    TypeError, ValueError
        As `numbastats.random.normal`, and for another method.

    Examples
    --------
    >>> import numbastats as ns
    >>> z = ns.quantile.standard_normal(100_000, rng=1)
    >>> bool(abs(z.mean()) < 0.02)
    True
    """
    choice("method", method, ("fast",))
    return random.normal(0.0, 1.0, size, rng=rng, **options)


@functools.cache
def _normal(degree):
    return QuantileTable(normal_density, degree=degree)


def _signed(samples):
    """Samples that can be negated: no integers, which wrap around, and no lists."""
    if any_lazy((samples,)):
        return samples.astype(np.float64) if samples.dtype.kind in "iub" else samples
    if is_torch(samples):
        return samples if samples.is_floating_point() or samples.is_complex() else samples.double()
    if device_kind(samples):
        return samples.astype(np.float64) if samples.dtype.kind in "iub" else samples
    samples = as_host(samples)
    dtype = dtype_of(samples)
    result_dtype(("samples",), (dtype,))
    return samples if dtype is None or dtype.kind == "f" else samples.astype(np.float64)


@hands_on(ndtri)
def recycle(samples: ArrayLike, base: Any, target: Any, **options: Unpack[ArrayOptions]):
    """Map samples of one distribution to another by ``F^-1(G(x))``, increasing: ranks, copulas and low discrepancy are kept.

    Parameters
    ----------
    samples : array_like
        Values of the base distribution: draws, antithetic pairs, quasi-random points, columns of a copula.
    base : {"uniform", "normal", "gaussian", "exponential"}, ("two-sided exponential", (right, left)) or QuantileTable
        Their distribution, as for `QuantileTable`; a QuantileTable is any distribution with a table, such as ``student_t(5.0)``.
    target : {"normal", "gaussian"}, QuantileTable, or sequence of QuantileTable
        The distribution to map to; a sequence has one for each column, that is along the last axis. A table with parameters
        of some shape broadcasts against the samples.
    out, dtype, device, workers, stream
        As in `ndtri`. ``out=samples`` works in place.

    Returns
    -------
    array or scalar
        NaN where a value cannot come from the base distribution, or lies beyond the target's table.

    Raises
    ------
    ValueError
        For an unknown base or target, or a number of distributions that is not the number of columns.

    Notes
    -----
    The map from a normal or another distribution is a table of its own, in the base variable, built on first use (10-60 ms;
    distributions with an end up to 0.5 s) and kept: one pass, no probability in between, so that small values and both tails
    keep their relative accuracy. A target built with ``base="normal"`` reaches |z| = 37, others about 9.

    Where no such table follows the map (kinks away from the anchor, poles, light tails to heavy ones), values go through
    probabilities: the base's smaller tail, then `ppf` or `isf` of the target, on the host. Then errors are about 1e-13 of the
    probability, tails end at the target's `tail`, and values next to the anchor have no relative accuracy of their own. To see
    which way is taken, build the target with ``base=`` and read ``certificate.direct``.

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011), equation (11).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> z = ns.random.normal(size=(5, 2), rng=1)
    >>> targets = [
    ...     ns.distributions.student_t(4.0),
    ...     ns.distributions.hyperbolic(1.5, 0.3, 1.0),
    ... ]
    >>> x = ns.quantile.recycle(z, "normal", targets)
    >>> bool((np.argsort(x, axis=0) == np.argsort(z, axis=0)).all())
    True
    """
    base = check_base(base)
    if isinstance(target, str):
        choice("target", target, ("normal", "gaussian"))
        if base == "uniform":
            return ndtri(samples, **options)
        if base == "exponential":
            return ndtri(-_signed(samples), log=True, tail="upper", **options)
        target = _normal(base.degree if isinstance(base, QuantileTable) else 7)
    elif not isinstance(target, QuantileTable):
        targets = list(target) if isinstance(target, Iterable) else []
        if not targets or not all(isinstance(t, QuantileTable) for t in targets):
            raise ValueError(
                "target must be 'normal', a QuantileTable (such as student_t(4.0)), or a sequence of them; "
                "QuantileTable(logpdf=d.logpdf) makes one of a distribution d, such as fit.distribution"
            )
        columns = np.shape(samples)[-1:]
        if columns != (len(targets),):
            raise ValueError(
                f"{len(targets)} distributions for samples of shape {np.shape(samples)}; pass one for each column (last axis)"
            )
        table = targets[0]._columns(targets, base)
        if any_lazy((samples,)):
            return apply(table.transform, ("samples",), (_with_whole_rows(samples),), DEFAULTS | options)
        return table.transform(samples, **options)
    return target._rebased(base).transform(samples, **options)


def _with_whole_rows(samples):
    """A dask array, or xarray's that holds one, whose last axis is not cut."""
    return samples.chunk({samples.dims[-1]: -1}) if hasattr(samples, "dims") else samples.rechunk({samples.ndim - 1: -1})
