"""Elementwise functions and draws around the probit model."""

from __future__ import annotations

from typing import Any, Unpack, overload

from numpy.typing import ArrayLike, DTypeLike, NDArray

import numbastats.random as random
from numbastats._core.elementwise import elementwise
from numbastats._core.errors import names_ours
from numbastats._core.options import ArrayOptions, Device, NumberOptions, hands_on
from numbastats.bayes import kernels as k
from numbastats.random import RNG, Size

__all__ = ["inv_mills", "log_exe1", "log_ndtr", "truncnorm_rvs"]


def _evaluate(name, x, cost, options):
    return elementwise(k.ELEMENTWISE[name], ("x",), (x,), cost=cost, **options)


@overload
def log_ndtr(x: float, **options: Unpack[NumberOptions]) -> float: ...
@overload
def log_ndtr(x: NDArray[Any], **options: Unpack[ArrayOptions]) -> NDArray[Any]: ...
@overload
def log_ndtr(x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any: ...
@names_ours
def log_ndtr(
    x: ArrayLike,
    *,
    out: Any = None,
    dtype: DTypeLike | None = None,
    device: Device = None,
    workers: Any = None,
    stream: Any = None,
) -> Any:
    """Logarithm of the standard normal distribution function.

    Parameters
    ----------
    x : array_like
    out : array, optional
    dtype : {"float64", "float32"}, optional
    device : {"auto", "cpu", "cuda"}, optional
    workers : int or executor, optional
    stream : CUDA stream, optional

    Returns
    -------
    array or scalar
        Of the shape of `x`, within 5 ulp (float32: 4.5). -inf at -inf, 0 at inf, NaN for NaN.

    Raises
    ------
    TypeError
        For inputs that are not real numbers of single or double precision.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.log_ndtr([-40.0, 0.0]).round(6).tolist()
    [-804.608442, -0.693147]
    """
    return _evaluate("log_ndtr", x, 3.5, dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream))


@overload
def inv_mills(x: float, **options: Unpack[NumberOptions]) -> float: ...
@overload
def inv_mills(x: NDArray[Any], **options: Unpack[ArrayOptions]) -> NDArray[Any]: ...
@overload
def inv_mills(x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any: ...
@hands_on(log_ndtr)
def inv_mills(x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
    """phi(x)/Phi(x), the derivative of `log_ndtr`.

    Parameters
    ----------
    x : array_like
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the shape of `x`, within 4.5 ulp (float32: 4); about -x far to the left.

    Raises
    ------
    TypeError
        As in `log_ndtr`.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.inv_mills([-10.0, 0.0, 10.0]).round(6)
    array([10.098093,  0.797885,  0.      ])
    """
    return _evaluate("inv_mills", x, 3.5, options)


@overload
def log_exe1(x: float, **options: Unpack[NumberOptions]) -> float: ...
@overload
def log_exe1(x: NDArray[Any], **options: Unpack[ArrayOptions]) -> NDArray[Any]: ...
@overload
def log_exe1(x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any: ...
@hands_on(log_ndtr)
def log_exe1(x: ArrayLike, **options: Unpack[ArrayOptions]) -> Any:
    """log(e^x E1(x)), E1 the exponential integral: the log density of a horseshoe coefficient up to constants.

    Parameters
    ----------
    x : array_like
    out, dtype, device, workers, stream : optional
        The options of every function: :doc:`/options`.

    Returns
    -------
    array or scalar
        Of the shape of `x`, within 7e-16 of max(1, |result|) (float32: 2.1e-7). inf at 0, -inf at inf, NaN for x < 0.

    Raises
    ------
    TypeError
        As in `log_ndtr`.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.log_exe1([1e-300, 1.0, 1e6]).round(4).tolist()
    [6.537, -0.5169, -13.8155]
    """
    return _evaluate("log_exe1", x, 4.0, options)


class _Draws(ArrayOptions, total=False):
    rng: RNG
    size: Size


@hands_on(random.truncnorm)
def truncnorm_rvs(mu: ArrayLike, **options: Unpack[_Draws]) -> Any:
    """Draws of N(mu, 1) restricted to (0, inf): the latent variable of a probit model.

    Parameters
    ----------
    mu : array_like
    rng : None, int, SeedSequence or Generator
    size, dtype, out, device, workers, stream
        As in `numbastats.random.truncnorm`, which this calls.

    Returns
    -------
    numpy.ndarray or scalar

    Raises
    ------
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> z = ns.bayes.truncnorm_rvs([-50.0, 0.0], size=(1000, 2), rng=1)
    >>> bool((z > 0).all()), z.mean(axis=0).round(2).tolist()
    (True, [0.02, 0.77])
    """
    return random.truncnorm(mu, 1.0, 0.0, float("inf"), **options)
