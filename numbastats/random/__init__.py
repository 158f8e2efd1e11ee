"""Random draws from counters: the same on every device, for any number of workers and any chunking.

Every function takes its parameters first, broadcasting as in `numpy.random`, then ``size``, then keywords:

rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
    Source of the 64-bit Philox key of the call. None takes fresh entropy, an integer always gives the same draws, a
    Generator gives others at each call.
offset : int, optional
    Index of the first value in the stream of the key, 0 by default; see "Blocks" below. It needs an `rng` that is not None.
dtype : {"float64", "float32"}
    Float type of the draws, float64 by default. The two have streams of their own. Counts are int64, or int32 with
    ``dtype="int32"``: the same draws, those beyond the largest integer as that integer.
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

Parameters outside of their range, such as a negative scale, raise ValueError, as in `numpy.random`; NaN gives NaN, and for counts
raises ValueError, too.

Draw i of a call depends on the key and on i alone: a longer call begins with the draws of a shorter one. Integers agree on
every device; floats agree bit for bit between numbers of workers, and to 2 ulp between CPU and GPU. Where draws are accepted or
rejected, two devices whose floats differ by an ulp may decide differently: then that draw differs, and its distribution does not.
The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

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
>>> blocks = [
...     ns.random.normal(size=(hi - lo, 3), rng=1, offset=3 * lo)
...     for lo, hi in ((0, 4), (4, 5), (5, 10))
... ]
>>> bool((np.concatenate(blocks) == whole).all())
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from numbastats._core.elementwise import Draws, draw
from numbastats._core.errors import names_ours
from numbastats._core.kinds import comparable
from numbastats._core.options import Device, DrawOptions, hands_on
from numbastats._core.random import Purpose, key_words, normalise_rng
from numbastats.random import kernels

__all__ = [
    "beta",
    "binomial",
    "chisquare",
    "exponential",
    "gamma",
    "geometric",
    "gumbel",
    "inverse_gaussian",
    "key",
    "laplace",
    "logistic",
    "negative_binomial",
    "normal",
    "pareto",
    "poisson",
    "polya_gamma",
    "standard_t",
    "student_t",
    "truncnorm",
    "uniform",
    "wald",
    "weibull",
]

Size: TypeAlias = int | Sequence[int] | None
RNG: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


class Options(DrawOptions, total=False):
    """Options of draws."""

    rng: RNG


def __dir__():
    return sorted(__all__)


def _any(condition):
    return condition if isinstance(condition, bool) else condition.any()


_MOST = 2.0**63 - 10.0 * 2.0**31.5  # the largest mean whose draws are below 2^63, ten standard deviations away
_RANGES = {  # what a parameter must be: where it is not, and what to say
    ">= 0": (lambda v: v < 0, "has the negative value", "values >= 0 (NaN gives NaN)"),
    "> 0": (lambda v: v <= 0, "has the value", "values > 0 (NaN gives NaN)"),
    "> 0, finite": (lambda v: (v <= 0) | (v == np.inf), "has the value", "finite values > 0 (NaN gives NaN)"),
    "mean": (lambda v: (v < 0) | (v > _MOST) | (v != v), "has the value", f"values from 0 to {_MOST:.4g}"),
    "number": (lambda v: (v < 0) | (v >= 2.0**63) | (v != v), "has the value", "values from 0 to 2**63 - 1"),
    "positive": (lambda v: (v <= 0) | (v != v), "has the value", "values > 0"),
    "chance": (lambda v: (v < 0) | (v > 1) | (v != v), "has the value", "values from 0 to 1"),
    "positive chance": (lambda v: (v <= 0) | (v > 1) | (v != v), "has the value", "values above 0, up to 1"),
}


def _refuse(name, value, kind):
    (value,) = comparable(value)
    outside, what, use = _RANGES[kind]
    if _any(outside(value)):
        least = value if isinstance(value, (int, float)) else value[outside(value)].min().item()
        raise ValueError(f"{name} {what} {least}; use {use}")


def _refuse_order(names, low, high):
    low, high = comparable(low, high)
    if _any(low > high):
        raise ValueError(f"{names[0]} is above {names[1]}; exchange them, or use {names[0]} <= {names[1]} everywhere")


def _refuse_truncnorm(mu, sigma, lo, hi):
    (sigma,) = comparable(sigma)
    if _any(sigma <= 0):
        raise ValueError("sigma has a value that is not positive; use values > 0 (NaN gives NaN)")
    _refuse_order(("lo", "hi"), lo, hi)


def _refuse_negative_binomial(n, p):
    n, p = comparable(n, p)
    if _any((1 - p) / p * (n + 10 * n**0.5) > _MOST):
        raise ValueError("n is too large or p too small: draws would not fit an int64; use n (1 - p)/p below 9.2e18")


def _refuse_fractions(n, p):
    (n,) = comparable(n)
    parts = n % 1 != 0
    if _any(parts):
        first = n if isinstance(n, (int, float)) else n[parts].min().item()
        raise ValueError(f"n has the value {first}, which is no number of trials; use whole numbers")


def _draws(kernel, purpose, cost, also=None, **ranges):
    """The `Draws` of a kernel whose parameters have these ranges, None for any number; `also` refuses what is left."""

    def refuse(*values):
        for (name, kind), value in zip(ranges.items(), values, strict=True):
            if kind is not None:
                _refuse(name, value, kind)
        if also is not None:
            also(*values)

    return Draws(kernel, purpose, tuple(ranges), 2 if isinstance(kernel, dict) else 4, cost, refuse, kernel in kernels.COUNTS)


_UNIFORM = _draws(
    kernels.UNIFORM, Purpose.UNIFORM, 0.7, lambda low, high: _refuse_order(("low", "high"), low, high), low=None, high=None
)
_NORMAL = _draws(kernels.NORMAL, Purpose.NORMAL, 2.0, loc=None, scale=">= 0")
_EXPONENTIAL = _draws(kernels.EXPONENTIAL, Purpose.EXPONENTIAL, 1.2, scale=">= 0")
_GAMMA = _draws(kernels.GAMMA, Purpose.GAMMA, 15.0, shape=">= 0", scale=">= 0")
_TRUNCNORM = _draws(kernels.TRUNCNORM, Purpose.TRUNCNORM, 20.0, _refuse_truncnorm, mu=None, sigma=None, lo=None, hi=None)
_BETA = _draws(kernels.BETA, Purpose.BETA, 25.0, a="> 0", b="> 0")
_WALD = _draws(kernels.WALD, Purpose.WALD, 8.0, mean="> 0", scale="> 0")
_POLYA_GAMMA = _draws(kernels.POLYA_GAMMA, Purpose.POLYA_GAMMA, 60.0, b="> 0, finite", c=None)
_POISSON = _draws(kernels.POISSON, Purpose.POISSON, 25.0, lam="mean")
_BINOMIAL = _draws(kernels.BINOMIAL, Purpose.BINOMIAL, 35.0, _refuse_fractions, n="number", p="chance")
_NEGATIVE_BINOMIAL = _draws(
    kernels.NEGATIVE_BINOMIAL, Purpose.NEGATIVE_BINOMIAL, 60.0, _refuse_negative_binomial, n="positive", p="positive chance"
)
_GEOMETRIC = _draws(kernels.GEOMETRIC, Purpose.GEOMETRIC, 5.0, p="positive chance")
_WEIBULL = _draws(kernels.WEIBULL, Purpose.WEIBULL, 5.0, a=">= 0")
_PARETO = _draws(kernels.PARETO, Purpose.PARETO, 4.0, a="> 0")
_STANDARD_T = _draws(kernels.STANDARD_T, Purpose.STANDARD_T, 9.0, df="> 0")
_CHISQUARE = _draws(kernels.CHISQUARE, Purpose.CHISQUARE, 18.0, df="> 0")
_LAPLACE = _draws(kernels.LAPLACE, Purpose.LAPLACE, 3.0, loc=None, scale=">= 0")
_LOGISTIC = _draws(kernels.LOGISTIC, Purpose.LOGISTIC, 4.0, loc=None, scale=">= 0")
_GUMBEL = _draws(kernels.GUMBEL, Purpose.GUMBEL, 5.0, loc=None, scale=">= 0")


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
    device: Device = None,
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


@hands_on(uniform)
def normal(loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
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
    return draw(_NORMAL, (loc, scale), size, **options)


@hands_on(uniform)
def exponential(scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
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
    return draw(_EXPONENTIAL, (scale,), size, **options)


@hands_on(uniform)
def gamma(shape: ArrayLike, scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
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

    References
    ----------
    G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.gamma(3.0, 2.0, 100_000, rng=5).mean().round(1))
    6.0
    """
    return draw(_GAMMA, (shape, scale), size, **options)


@hands_on(uniform)
def truncnorm(
    mu: ArrayLike, sigma: ArrayLike, lo: ArrayLike, hi: ArrayLike, size: Size = None, **options: Unpack[Options]
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
    return draw(_TRUNCNORM, (mu, sigma, lo, hi), size, **options)


@hands_on(uniform)
def beta(a: ArrayLike, b: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Beta draws by rejection in the logarithm of the odds.

    Parameters
    ----------
    a, b : array_like of float
        Shapes, > 0, broadcast against each other.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        Between 0 and 1; for small shapes rounded to 0 or 1, as often as the distribution lies there. NaN where a shape is NaN or
        infinite.

    Raises
    ------
    ValueError
        For a <= 0 or b <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    The logarithm of the odds X/(1 - X) has a log-concave density. At least 0.88 of the tries are accepted, for all shapes. Small
    draws have the relative precision of their logarithm.

    References
    ----------
    L. Devroye, "Non-Uniform Random Variate Generation" (1986), section VII.2.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.beta(2.0, 3.0, 100_000, rng=5).mean().round(1))
    0.4
    """
    return draw(_BETA, (a, b), size, **options)


@hands_on(uniform)
def wald(mean: ArrayLike, scale: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Inverse Gaussian draws by a transformation with two roots.

    Parameters
    ----------
    mean, scale : array_like of float
        Mean and scale (the shape lambda), > 0, broadcast against each other: the variance is mean^3/scale.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        NaN where a parameter is NaN. An infinite mean gives the Levy distribution, an infinite scale the mean.

    Raises
    ------
    ValueError
        For mean <= 0 or scale <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    A normal number gives two roots, a uniform one chooses. The roots are a product and a quotient of a sum of positive terms:
    nothing cancels for a large mean/scale.

    References
    ----------
    J. R. Michael, W. R. Schucany, R. W. Haas, "Generating random variates using transformations with multiple roots", The
    American Statistician 30 (1976).

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.wald(3.0, 2.0, 100_000, rng=5).mean().round(1))
    3.0
    """
    return draw(_WALD, (mean, scale), size, **options)


@hands_on(uniform)
def polya_gamma(b: ArrayLike, c: ArrayLike = 0.0, size: Size = None, **options: Unpack[Options]) -> Any:
    """Polya-Gamma draws PG(b, c), exactly below b = 170.

    Parameters
    ----------
    b : array_like of float
        Shape, > 0 and finite, whole or not.
    c : array_like of float
        Tilt, any number; its sign does not matter. Broadcast against `b`.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        Of mean ``b tanh(c/2)/(2c)``, b/4 for c = 0; positive, but where they underflow, as most do for b below 1e-162 (float32:
        1e-23). 0 where c is infinite. NaN where a parameter is NaN.

    Raises
    ------
    ValueError
        For b <= 0 and infinite b.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    The Laplace transform is ``E exp(-t X) = (cosh(c/2)/cosh(sqrt(c^2/4 + t/2)))^b``. In logistic regression, given weights
    omega ~ PG(n, x'beta) (n: trials), the posterior of beta under a normal prior is normal.

    Below b = 170 a draw is the sum of n = ceil(b) draws PG(b/n, c), each by rejection from the inverse Gaussian distribution
    that the first term of the density's alternating series is; at least half of the tries are accepted, for every b and c. It
    is exact for every b (float32: a part of the sum ends at 3, which one in 2 million would exceed). The time grows with b.

    From b = 170 on, a shifted gamma draw with the exact mean, variance and third cumulant. The excess kurtosis is too small by at
    most 0.33/b and the distribution function wrong by at most 5e-5, which a million draws do not show.

    References
    ----------
    N. G. Polson, J. G. Scott, J. Windle, "Bayesian inference for logistic models using Polya-Gamma latent variables", JASA 108
    (2013), sections 2 and 4. J. Windle, N. G. Polson, J. G. Scott, "Sampling Polya-Gamma random variates: alternate and
    approximate techniques", arXiv:1405.0506 (2014), for the density at any b.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.random.polya_gamma(2.0, [0.0, 3.0], (100_000, 2), rng=5)
    >>> x.mean(axis=0).round(1)  # 1/2 and tanh(3/2)/3
    array([0.5, 0.3])
    """
    return draw(_POLYA_GAMMA, (b, c), size, **options)


@hands_on(uniform)
def poisson(lam: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
    """Poisson draws, exactly: by inversion below a mean of 10, by rejection from there on.

    Parameters
    ----------
    lam : array_like of float
        Mean, from 0 to 9.2e18.
    size, rng, offset, out, device, workers, stream, like
        As in `uniform`.
    dtype : {"int64", "int32"}, optional
        Integer type of the draws, int64 by default.

    Returns
    -------
    numpy.ndarray or scalar
        Counts. Above 2^53 they are rounded to floats.

    Raises
    ------
    ValueError
        For lam < 0, lam above 9.2e18 and NaN.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    References
    ----------
    W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics
    12 (1993), algorithm PTRS.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.poisson(3.0, 100_000, rng=5).mean().round(1))
    3.0
    """
    return draw(_POISSON, (lam,), size, **options)


@hands_on(uniform)
def binomial(n: ArrayLike, p: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Binomial draws, exactly: by inversion below a mean of 10, by rejection from there on.

    Parameters
    ----------
    n : array_like of int
        Number of trials, a whole number >= 0; above 2^53, integers are rounded to floats.
    p : array_like of float
        Chance of success, from 0 to 1. The two broadcast against each other.
    size, rng, offset, out, device, workers, stream, like
        As in `uniform`.
    dtype : {"int64", "int32"}, optional
        Integer type of the draws, int64 by default.

    Returns
    -------
    numpy.ndarray or scalar
        Numbers of successes.

    Raises
    ------
    ValueError
        For n < 0 or no whole number, p outside [0, 1] and NaN.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    For p above 1/2 the failures are drawn.

    References
    ----------
    W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46 (1993),
    algorithm BTRS.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.binomial(100, 0.3, 100_000, rng=5).mean().round(1))
    30.0
    """
    return draw(_BINOMIAL, (n, p), size, **options)


@hands_on(uniform)
def negative_binomial(n: ArrayLike, p: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Negative binomial draws: Poisson with a gamma distributed mean.

    Parameters
    ----------
    n : array_like of float
        Number of successes, > 0, whole or not.
    p : array_like of float
        Chance of success, above 0, up to 1. The two broadcast against each other.
    size, rng, offset, out, device, workers, stream, like
        As in `uniform`.
    dtype : {"int64", "int32"}, optional
        Integer type of the draws, int64 by default.

    Returns
    -------
    numpy.ndarray or scalar
        Numbers of failures before the n-th success.

    Raises
    ------
    ValueError
        For n <= 0, p outside (0, 1], NaN, and where draws would not fit an int64.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    References
    ----------
    L. Devroye, "Non-Uniform Random Variate Generation" (1986), sections VII.2 and X.4.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.negative_binomial(3.0, 0.6, 100_000, rng=5).mean().round(1))
    2.0
    """
    return draw(_NEGATIVE_BINOMIAL, (n, p), size, **options)


@hands_on(uniform)
def geometric(p: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Geometric draws by inversion.

    Parameters
    ----------
    p : array_like of float
        Chance of success, above 0, up to 1.
    size, rng, offset, out, device, workers, stream, like
        As in `uniform`.
    dtype : {"int64", "int32"}, optional
        Integer type of the draws, int64 by default.

    Returns
    -------
    numpy.ndarray or scalar
        Numbers of trials up to the first success, from 1 on.

    Raises
    ------
    ValueError
        For p outside (0, 1] and NaN.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    The smallest k with ``(1 - p)^k <= u``, u of 52 bits.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.geometric(0.4, 100_000, rng=5).mean().round(1))
    2.5
    """
    return draw(_GEOMETRIC, (p,), size, **options)


@hands_on(uniform)
def weibull(a: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Weibull draws by inversion.

    Parameters
    ----------
    a : array_like of float
        Shape, >= 0.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        ``(-log u)^(1/a)``, u of 52 bits as in `exponential`; 0 where a = 0. NaN where a is NaN.

    Raises
    ------
    ValueError
        For a < 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.weibull(2.0, 100_000, rng=5).mean().round(1))
    0.9
    """
    return draw(_WEIBULL, (a,), size, **options)


@hands_on(uniform)
def pareto(a: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Pareto draws of the second kind (Lomax), from 0 on, by inversion.

    Parameters
    ----------
    a : array_like of float
        Shape, > 0: P(X > x) = (1 + x)^-a. Add 1 for the classical distribution, which begins at 1.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        ``u^(-1/a) - 1``, u of 52 bits as in `exponential`, with full relative accuracy near 0. NaN where a is NaN.

    Raises
    ------
    ValueError
        For a <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.pareto(3.0, 100_000, rng=5).mean().round(1))
    0.5
    """
    return draw(_PARETO, (a,), size, **options)


@hands_on(uniform)
def standard_t(df: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Draws of Student's t distribution by a polar transformation.

    Parameters
    ----------
    df : array_like of float
        Degrees of freedom, > 0; infinity gives normal draws.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        NaN where df is NaN.

    Raises
    ------
    ValueError
        For df <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    ``sqrt(df (u^(-2/df) - 1)) cos(2 pi v)`` with two uniform numbers: no rejection.

    References
    ----------
    R. W. Bailey, "Polar generation of random variates with the t-distribution", Mathematics of Computation 62 (1994).

    Examples
    --------
    >>> import numbastats as ns
    >>> float(abs(ns.random.standard_t(5.0, 100_000, rng=5)).mean().round(1))
    0.9
    """
    return draw(_STANDARD_T, (df,), size, **options)


@hands_on(uniform)
def chisquare(df: ArrayLike, size: Size = None, **options: Unpack[Options]) -> Any:
    """Chi-squared draws by rejection in the logarithm.

    Parameters
    ----------
    df : array_like of float
        Degrees of freedom, > 0.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        Twice Gamma(df/2). NaN where df is NaN.

    Raises
    ------
    ValueError
        For df <= 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Notes
    -----
    The logarithm has a log-concave density. At least 0.88 of the tries are accepted, for all degrees of freedom.

    References
    ----------
    L. Devroye, "Non-Uniform Random Variate Generation" (1986), section VII.2.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.chisquare(3.0, 100_000, rng=5).mean().round(1))
    3.0
    """
    return draw(_CHISQUARE, (df,), size, **options)


@hands_on(uniform)
def laplace(loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
    """Laplace draws by inversion.

    Parameters
    ----------
    loc, scale : array_like of float
        Location and scale, broadcast against each other.
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
    A sign bit and a tail probability ``t = (k + 1/2) 2^-53`` with 52 bits k: symmetric, and z reaches 36.7 (float32: 22.2).

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.laplace(3.0, 2.0, 100_000, rng=5).mean().round(1))
    3.0
    """
    return draw(_LAPLACE, (loc, scale), size, **options)


@hands_on(uniform)
def logistic(loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
    """Logistic draws by inversion.

    Parameters
    ----------
    loc, scale : array_like of float
        Location and scale, broadcast against each other.
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
    A sign bit and a tail probability ``t = (k + 1/2) 2^-53`` with 52 bits k: symmetric, z = log((1 - t)/t) reaches 37.4 (float32:
    22.9) and has full relative accuracy near 0.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.logistic(3.0, 2.0, 100_000, rng=5).mean().round(1))
    3.0
    """
    return draw(_LOGISTIC, (loc, scale), size, **options)


@hands_on(uniform)
def gumbel(loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, **options: Unpack[Options]) -> Any:
    """Gumbel draws (of largest values) by inversion.

    Parameters
    ----------
    loc, scale : array_like of float
        Location and scale, broadcast against each other.
    size, rng, offset, dtype, out, device, workers, stream, like
        As in `uniform`.

    Returns
    -------
    numpy.ndarray or scalar
        ``loc - scale log(-log u)``, u of 52 bits as in `exponential`. NaN where a parameter is NaN.

    Raises
    ------
    ValueError
        For scale < 0.
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `offset`, `dtype`, `out` or `device`.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.random.gumbel(3.0, 3.0, 100_000, rng=5).mean().round(1))
    4.7
    """
    return draw(_GUMBEL, (loc, scale), size, **options)


student_t, inverse_gaussian = standard_t, wald
