"""Density, distribution function, quantiles, draws and score of stable distributions, for arrays of points and parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from numbastats._core.broadcast import as_host, dtype_of, real64, result_dtype
from numbastats._core.checks import choice, doubt_per_cent
from numbastats._core.elementwise import Draws, draw
from numbastats._core.errors import names_ours
from numbastats._core.inputs import any_lazy, apply, total_of
from numbastats._core.kinds import first_array, has_labels, in_kind_of, to_host
from numbastats._core.options import DEFAULTS, Device, hands_on
from numbastats._core.random import Purpose
from numbastats.random import Options, Size, uniform
from numbastats.stable import kernels
from numbastats.stable.arguments import (
    ARGUMENTS,
    METHODS,
    AnyPoints,
    AnyQuantiles,
    ArrayPoints,
    ArrayQuantiles,
    Method,
    NumberPoints,
    NumberQuantiles,
    Param,
    PassOptions,
    Plain,
    ScoreOptions,
)
from numbastats.stable.derivatives import scores
from numbastats.stable.engine import on_device, one_number, point_values, quantiles, table_pays_for_all, three_values
from numbastats.stable.parameterisations import form_of, relocated

__all__ = ["Param", "cdf", "convert", "isf", "logcdf", "loglik", "logpdf", "logsf", "pdf", "pdf_cdf", "ppf", "rvs", "score", "sf"]

F = TypeVar("F", bound=Callable[..., Any])


def _at_points(name, x, alpha, beta, loc, scale, param="S0", method="auto", error=False, **options):
    """The common body of the functions of x; one name stands for each, but None for three of them."""
    form = form_of(param)
    choice("method", method, METHODS)
    evaluate = three_values if name is None else functools.partial(point_values, name)
    return evaluate(x, alpha, beta, loc, scale, form, method, error, DEFAULTS | options)


def _inverse(upper, p, alpha, beta, loc, scale, param="S0", error=False, **options):
    """The common body of ppf and isf."""
    doubt_per_cent(p)
    return quantiles(p, alpha, beta, loc, scale, upper, form_of(param), error, DEFAULTS | options)


def _like(taker: F) -> Callable[[Callable[..., Any]], F]:
    """Show and check options by `hands_on`; for type checkers the function has all signatures of the other one."""
    return hands_on(taker)  # type: ignore[return-value]


@overload
def pdf(x: float, alpha: float, beta: float, loc: float = 0.0, scale: float = 1.0, **options: Unpack[NumberPoints]) -> float: ...
@overload
def pdf(
    x: NDArray[Any], alpha: Plain, beta: Plain, loc: Plain = 0.0, scale: Plain = 1.0, **options: Unpack[ArrayPoints]
) -> NDArray[Any]: ...
@overload
def pdf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyPoints]
) -> Any: ...
@names_ours
def pdf(  # noqa: PLR0913
    x: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    param: Param = "S0",
    method: Method = "auto",
    error: bool = False,
    out: Any = None,
    dtype: DTypeLike | None = None,
    device: Device = None,
    workers: Any = None,
    stream: Any = None,
) -> Any:
    """Density of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha : array_like
        Index of stability, 0 < alpha <= 2 (tested from 0.1).
    beta : array_like
        Skewness, -1 <= beta <= 1.
    loc, scale : array_like, optional
        Location and scale (> 0). All five broadcast against each other.
    param : {"S0", "S1"}
        Nolan's parameterisation: S0 is continuous in all parameters; S1 is the classical one, which jumps at alpha = 1.
    method : {"auto", "table", "quadrature", "fourier", "gauss-kronrod"}
        How the points are computed, see the notes.
    error : bool
        Also return an estimate of the absolute error, with the method "auto" or "quadrature", which are then the same, or
        "gauss-kronrod": there the reference's, the distance of the Gauss rule's value, which knows nothing of rounding.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the inputs' kind and broadcast shape, or a pair (value, error estimate) with ``error=True``. NaN, element by element,
        where a parameter is outside its domain, as alpha = 2.5 or scale = -1; the object `Stable` raises ValueError instead.

    Raises
    ------
    ValueError
        For an unknown option, "table" without one alpha and beta for all points, or ``error=True`` with a method that has no
        estimate.
    TypeError
        For inputs that are not real numbers of single or double precision.

    Notes
    -----
    Standard S0 distribution: characteristic function exp(-|t|^a [1 + i b tan(pi a/2) sgn t (|t|^(1-a) - 1)]); loc + scale Z.

    ================= ==============================================================================================
    method            what it does
    ================= ==============================================================================================
    "table"           piecewise polynomials for one (alpha, beta), kept for later calls
    "quadrature"      every point by itself: closed forms, series, the Fourier rule where the values are large,
                      Zolotarev's integral
    "fourier"         the Fourier rule and, beyond its radius, the series at infinity: absolute accuracy of 4e-14 (pdf) and 6e-15
                      (cdf, sf) for alpha >= 0.5; NaN for alpha < 0.5, or |x| > 8 and alpha within 0.1 of 1
    "gauss-kronrod"   the second reference's quadrature, for comparison: a rule on 16 subintervals, and again on those where
                      its two values differ by more than 1e-14 of the whole; errors below 2e-14, in light
                      tails below 2e-13; densities next to alpha = 1, where 1/(alpha - 1) amplifies
                      roundings, up to 3e-8 (seen at 1 + 1e-9, x = 3744)
    "auto"            a table for 400 points or more that share alpha and beta else "quadrature"
    ================= ==============================================================================================

    On the 856 reference points with log density above -230 the relative errors are below 6e-14 (pdf, sf) and 3e-14 (cdf) point
    by point, and below 1e-13 by tables, in S0; in S1 near alpha = 1, where x - beta tan(pi alpha/2) loses digits, up to 1.4e-13
    (seen at alpha = 0.9, |x| near 4). Tables agree with the points to 1e-12 where the density is above 1e-290, mostly to 2e-14.

    References
    ----------
    J. P. Nolan, "Numerical calculation of stable densities and distribution functions", Stochastic Models 13 (1997).
    G. Julian-Moreno et al., "Fast parallel alpha-stable distribution function evaluation and parameter estimation using OpenCL
    in GPGPUs", Statistics and Computing (2016), sections 2-3.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.pdf(1.0, 1.0, 0.0).round(6))
    0.159155
    """
    choice("method", method, METHODS)
    options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
    return point_values("pdf", x, alpha, beta, loc, scale, form_of(param), method, error, options)


@overload
def logpdf(
    x: float, alpha: float, beta: float, loc: float = 0.0, scale: float = 1.0, **options: Unpack[NumberPoints]
) -> float: ...
@overload
def logpdf(
    x: NDArray[Any], alpha: Plain, beta: Plain, loc: Plain = 0.0, scale: Plain = 1.0, **options: Unpack[ArrayPoints]
) -> NDArray[Any]: ...
@overload
def logpdf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[ArrayPoints]
) -> Any: ...
@hands_on(pdf)
def logpdf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[ArrayPoints]
) -> Any:
    """Logarithm of the density of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, method
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the inputs' kind and broadcast shape; NaN where a parameter is outside its domain.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Finite far below the underflow of the density. The errors of `pdf` hold for the density relative to itself, so for its
    logarithm absolutely.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.logpdf(1.0, 1.0, 0.0).round(6))
    -1.837877
    """
    return _at_points("logpdf", x, alpha, beta, loc, scale, **options)


@_like(pdf)
def cdf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyPoints]
) -> Any:
    """Distribution function P(X <= x) of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, method, error
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        As from `pdf`.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    The smaller tail keeps its relative accuracy: errors below 3e-14 on the reference points, see `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.cdf(1.0, 1.0, 0.0).round(6))
    0.75
    """
    return _at_points("cdf", x, alpha, beta, loc, scale, **options)


@_like(logpdf)
def logcdf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[ArrayPoints]
) -> Any:
    """Logarithm of the distribution function of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, method
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the inputs' kind and broadcast shape; NaN where a parameter is outside its domain.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Finite far below the underflow of the left tail; next to 0 it is formed from the right tail.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.logcdf(1.0, 1.0, 0.0).round(6))
    -0.287682
    """
    return _at_points("logcdf", x, alpha, beta, loc, scale, **options)


@_like(pdf)
def sf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyPoints]
) -> Any:
    """Survival function P(X > x) of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, method, error
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        As from `pdf`.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Never formed as 1 - cdf: relative errors below 6e-14 on the reference points, see `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.sf(1.0, 1.0, 0.0).round(6))
    0.25
    """
    return _at_points("sf", x, alpha, beta, loc, scale, **options)


@_like(logpdf)
def logsf(
    x: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[ArrayPoints]
) -> Any:
    """Logarithm of the survival function of stable distributions.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, method
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the inputs' kind and broadcast shape; NaN where a parameter is outside its domain.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Finite far below the underflow of the right tail; next to 0 it is formed from the left tail.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.logsf(1.0, 1.0, 0.0).round(6))
    -1.386294
    """
    return _at_points("logsf", x, alpha, beta, loc, scale, **options)


@hands_on(pdf)
def pdf_cdf(
    x: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    param: Param = "S0",
    **options: Unpack[PassOptions],
) -> tuple[Any, ...]:
    """Density, distribution function and survival function in one pass.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    error : bool
        Also return estimates of the absolute errors.
    param, method
        As in `pdf`.
    dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    tuple of three arrays or scalars
        (pdf, cdf, sf); six with ``error=True``, the last three being the error estimates.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> [round(float(v), 6) for v in ns.stable.pdf_cdf(0.0, 2.0, 0.0)]
    [0.282095, 0.5, 0.5]
    """
    return _at_points(None, x, alpha, beta, loc, scale, param, **options)


@overload
def ppf(
    p: float, alpha: float, beta: float, loc: float = 0.0, scale: float = 1.0, **options: Unpack[NumberQuantiles]
) -> float: ...
@overload
def ppf(
    p: NDArray[Any], alpha: Plain, beta: Plain, loc: Plain = 0.0, scale: Plain = 1.0, **options: Unpack[ArrayQuantiles]
) -> NDArray[Any]: ...
@overload
def ppf(
    p: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyQuantiles]
) -> Any: ...
@names_ours
def ppf(
    p: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    param: Param = "S0",
    error: bool = False,
    out: Any = None,
    dtype: DTypeLike | None = None,
    device: Device = None,
    workers: Any = None,
    stream: Any = None,
) -> Any:
    """Quantiles of stable distributions.

    Parameters
    ----------
    p : array_like
        Probabilities in [0, 1], any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, error
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        The ends of the support at p = 0 and 1; NaN outside [0, 1]. A pair (value, error estimate) with ``error=True``, the
        estimate a NumPy array.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    One alpha and beta for all p: the table's polynomial of the smaller tail's logarithm is inverted. Else Newton's method on that
    logarithm, within a bracket. The error of the probability is below 1e-12 times the smaller tail on the reference points.

    References
    ----------
    Julian-Moreno et al. (2016), section 3.4, which stops on x instead and fails for quantiles near 0.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.ppf(0.75, 1.0, 0.0).round(6))
    1.0
    """
    options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
    return _inverse(False, p, alpha, beta, loc, scale, param, error, **options)


@overload
def isf(
    q: float, alpha: float, beta: float, loc: float = 0.0, scale: float = 1.0, **options: Unpack[NumberQuantiles]
) -> float: ...
@overload
def isf(
    q: NDArray[Any], alpha: Plain, beta: Plain, loc: Plain = 0.0, scale: Plain = 1.0, **options: Unpack[ArrayQuantiles]
) -> NDArray[Any]: ...
@overload
def isf(
    q: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyQuantiles]
) -> Any: ...
@hands_on(ppf)
def isf(
    q: ArrayLike, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, **options: Unpack[AnyQuantiles]
) -> Any:
    """Inverse of the survival function of stable distributions, accurate for q down to 1e-300.

    Parameters
    ----------
    q : array_like
        Upper tail probabilities in [0, 1], any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param, error
        As in `pdf`.
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        The ends of the support at q = 0 and 1; NaN outside [0, 1]. A pair (value, error estimate) with ``error=True``, the
        estimate a NumPy array.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> f"{ns.stable.isf(1e-200, 1.0, 0.0):.6e}"
    '3.183099e+199'
    """
    return _inverse(True, q, alpha, beta, loc, scale, **options)


@hands_on(uniform)
def rvs(
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    param: Param = "S0",
    **options: Unpack[Options],
) -> Any:
    """Draws from stable distributions.

    Parameters
    ----------
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    size : int or tuple of int, optional
        Shape of the result; by default that of the parameters.
    rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
        Source of the key; see `numbastats.random`.
    offset : int, optional
        Index of the first value in the stream of the key, for blocks of one array; see `numbastats.random`.
    param
        As in `pdf`.
    dtype, out, device, workers, stream : optional
        The options of every function: :doc:`/options`.
    like : array, optional
        An array, of whose kind the draws are and on whose device.

    Returns
    -------
    numpy.ndarray or scalar
        NaN where a parameter is outside its domain. Float32 draws are computed in double precision from a stream of their own,
        and rounded.

    Raises
    ------
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    Chambers, Mallows and Stuck's transformation of a uniform (52 bits) and an exponential number, written so that it is
    continuous across alpha = 1. The same draws for any number of workers; within rounding on any device.

    References
    ----------
    J. M. Chambers, C. L. Mallows, B. W. Stuck, "A method for simulating stable random variables", JASA 71 (1976).
    R. Weron, "On the Chambers-Mallows-Stuck method for simulating skewed stable random variables" (1996).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.5, size=100_000, rng=1)
    >>> bool(abs((x < 0).mean() - ns.stable.cdf(0.0, 1.5, 0.5)) < 0.005)
    True
    """
    form_of(param)
    arrays = any(math.prod(np.shape(v)) != 1 for v in (alpha, beta, loc, scale))
    job = Draws(kernels.RVS[param, arrays], Purpose.STABLE, ARGUMENTS[1:], 4, 15.0)
    return draw(job, (alpha, beta, loc, scale), size, **options)


@names_ours
def convert(
    alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, *, to: Param = "S1"
) -> tuple[Any, Any, Any, Any]:
    """Parameters of the same distribution in the other parameterisation.

    Parameters
    ----------
    alpha, beta, loc, scale : array_like
        Parameters in the form that is not `to`; they broadcast against each other.
    to : {"S0", "S1"}

    Returns
    -------
    tuple of four arrays or scalars
        (alpha, beta, loc, scale): only loc differs.

    Raises
    ------
    TypeError, ValueError
        For an unknown parametrisation, and for parameters that are no numbers or do not broadcast.

    Notes
    -----
    loc_S1 = loc_S0 - beta tan(pi alpha/2) scale; at alpha = 1 loc_S1 = loc_S0 - beta (2/pi) scale log(scale).

    Examples
    --------
    >>> import numbastats as ns
    >>> [round(float(v), 6) for v in ns.stable.convert(1.5, 0.5, 0.0, 2.0, to="S1")]
    [1.5, 0.5, 1.0, 2.0]
    """
    form = form_of(to, "to")
    a, b, m, s = np.broadcast_arrays(*map(real64, (alpha, beta, loc, scale)))
    return np.array(a)[()], np.array(b)[()], np.array(relocated(a, b, m, s, form))[()], np.array(s)[()]


@names_ours
def score(
    x: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    param: Param = "S0",
    device: Device = None,
    workers: Any = None,
) -> Any:
    """Derivatives of the log density with respect to alpha, beta, loc and scale.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param
        As in `pdf`.
    device, workers : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    numpy.ndarray
        Of the broadcast shape with a last axis of length 4, in the order of the signature, rounded to float32 where all arrays
        are; of the kind of the arrays where some are on a device or dask's. NaN where the density is 0; for alpha = 2 and
        beta = +-1 the derivatives from inside the domain.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Differences of sixth order of `logpdf` (one-sided at the ends of the domain) in alpha, beta and x; with z = (x - loc)/scale
    the derivatives by loc and scale follow from that by x. For alpha < 0.9 the differences are taken in S1, where the cusp or
    peak at zeta does not move, with steps that go with its width. Absolute errors against 40-digit integrals at alpha = 0.7, 1.2,
    1.5, 1.6, 1.9 and 1.98, |x| <= 6: up to 1e-10 (alpha), 5e-10 (beta, at beta = 0.97), 5e-11 (loc) and 3e-10 (scale); at alpha
    from 0.12 to 0.85 relative errors up to 3e-11, for loc plus 2e-9 over the width of the peak, which is 1e-14 at alpha = 0.1.
    In light tails at alpha = 2 and beta = +-1, and next to them, differences of the density: relative errors up to 1e-11.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.stable.score(1.0, 2.0, 0.0)[2:].round(6)
    array([ 0.5, -0.5])
    """
    form = form_of(param)
    if any_lazy((x, alpha, beta, loc, scale)):
        one = not any_lazy((alpha, beta)) and all(one_number(v) is not None for v in (alpha, beta))
        many = one and table_pays_for_all(x, loc, scale)
        work = functools.partial(_score_block, form, one, many)
        return apply(work, ARGUMENTS, (x, alpha, beta, loc, scale), dict(dtype=None, device=device, workers=workers), last=4)
    if any(map(has_labels, values := (x, alpha, beta, loc, scale))):
        return apply(functools.partial(score, param=param), ARGUMENTS, values, dict(device=device, workers=workers))
    if on_device((x, alpha, beta, loc, scale)):
        like = first_array((x, alpha, beta, loc, scale))
        x, alpha, beta, loc, scale = map(to_host, (x, alpha, beta, loc, scale), ARGUMENTS)
        return in_kind_of(score(x, alpha, beta, loc, scale, param=param, device=device, workers=workers), like)
    given = [as_host(v) for v in (x, alpha, beta, loc, scale)]
    dtype = result_dtype(ARGUMENTS, [dtype_of(v) for v in given])
    one = all(one_number(v) is not None for v in (alpha, beta))
    return _score_block(form, one, None, *given, dtype=dtype, device=device, workers=workers)


def _score_block(form, one, many, *values, dtype, device, workers):
    """Scores of arrays on the host, or of a block of dask's; a module's function, so that processes can be sent it."""
    everything = np.broadcast_arrays(*map(real64, values))
    x, a, b, m, s = (np.array(v) for v in everything)  # copies: NumPy 2.0 warns when kernels take the views
    return scores(x, a, b, m, s, form, one, dict(device=device, workers=workers, many=many), dtype)


@hands_on(score)
def loglik(
    x: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    param: Param = "S0",
    **options: Unpack[ScoreOptions],
) -> float:
    """Log-likelihood: the sum of `logpdf` over all points.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale : array_like
        0 < alpha <= 2, -1 <= beta <= 1, scale > 0; all broadcast against each other.
    param
        As in `pdf`.
    device, workers : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(ns.stable.loglik([0.0, 1.0], 1.0, 0.0), 6)
    -2.982607
    """
    return total_of(logpdf(x, alpha, beta, loc, scale, param=param, **options))
