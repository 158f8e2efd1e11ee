"""Mixture distributions with given parameters: density, distribution function, quantile, draws, responsibilities."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.broadcast import lent, result_dtype, unmasked
from numbastats._core.checks import doubt_per_cent
from numbastats._core.errors import names_ours
from numbastats._core.inputs import any_kind
from numbastats._core.kinds import device_kind, kind_of, numpy_dtype
from numbastats._core.options import Device, hands_on
from numbastats._core.slabs import SLAB, cuts
from numbastats.mixture import density
from numbastats.mixture.arguments import DensityOptions, Family, Seed, mixture_of, values_of
from numbastats.mixture.density import resident, scores
from numbastats.mixture.sampling import draws
from numbastats.mixture.tails import probability, quantile

_MANY = 20_000  # quantiles that are worth a table
_CHECKED = 200  # of which so many have to have their probabilities


def _by_slabs(function, x, *width, dtype=None, step=SLAB):
    """A function of (n,) doubles applied to slabs of x, whose temporary arrays take little beside x and the result.

    It may write its result to the array that it is given, if it is given one.
    """
    x = unmasked(x)
    real = result_dtype(["x"], [x.dtype])
    flat = lent(np.ascontiguousarray(x.reshape(-1)))
    out = np.empty((flat.size, *width), real if dtype is None else dtype)
    with np.errstate(over="ignore"):
        for a, b in cuts(max(1, flat.size), step):  # also of no values, for the checks
            place = out[a:b] if out.dtype == np.float64 else None
            found = function(flat[a:b].astype(np.float64, copy=False), place)
            if found is not place:
                out[a:b] = found
    return out.reshape((*x.shape, *width))[()]


def _density(x, weights, centres, params, logs, family=None, device=None, workers=None):
    """The density or its logarithm, computed where the values are."""
    if device_kind(x) and numpy_dtype(x).kind == "f" and (device_kind(x) != "numba" or kind_of(x).is_contiguous(x)):
        options = dict(device=device, workers=workers)
        there = resident(x, *mixture_of(weights, centres, params, family), logs, options)
        if there is not None:
            return there
    return _density_of_host(x, weights, centres, params, family, logs, device, workers)


@any_kind(host=True)
def _density_of_host(x, weights, centres, params, family, logs, device, workers):
    family, par = mixture_of(weights, centres, params, family)

    def of_part(part, out):
        values = scores(part, family, par, False, device, workers, out=out)[0]
        return values if logs else np.exp(values, out=values)

    return _by_slabs(of_part, x, step=16 * SLAB if density.makes_none(family, par) else SLAB)


@names_ours
@any_kind(blocks=True)
def logpdf(
    x: ArrayLike,
    weights: ArrayLike,
    centres: ArrayLike,
    params: ArrayLike | None = None,
    *,
    family: Family = None,
    device: Device = None,
    workers: int | None = None,
) -> NDArray:
    """Logarithm of the mixture density.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    weights, centres : array_like, shape (K,)
        Weights >= 0, divided by their sum, so that counts will do. The centre of a component is its mean, or the mean of log x,
        1/x, x^2 ...: the table in `fit_many` has its name for each family.
    params : array_like, shape (K,), optional
        lambda, variance or shape; unused by one-parameter families. Of shape (2, K) for "student_t" (scale and df) and
        "skew_normal" (scale and shape).
    family : str or tuple
        Required: one of the families of `fit_many`, whose results have all four as attributes.
    device, workers : optional
        The options of every function: :doc:`/options`; executors are not accepted here.

    Returns
    -------
    array or scalar
        Of the shape and kind of x; -inf outside the support, NaN for NaN. For counts the logarithm of the probability.

    Raises
    ------
    ValueError
        For parameters out of their domain or of different shapes.
    TypeError
        For values that are not real numbers.

    Notes
    -----
    Computed as the logarithm of a sum of exponentials with the largest factored out. Against 40 digits on 150 points each of
    inverse Gaussian, Gaussian and gamma mixtures, over ten standard deviations, the error is below 4e-13 of max(1, |logpdf|)
    (gamma; the others 4e-15).

    Poisson and fixed-shape gamma distributions within nine standard deviations, against 60 digits: Poisson components 3e-15 for
    means up to 1e15 (Loader's saddle point); gamma components 2e-13 at shape 1e6, 3e-11 at 1e10, 1e-8 at 1e15. Components more
    than about 50 standard deviations apart are evaluated separately, each about its own mean.

    Examples
    --------
    >>> import numbastats as ns
    >>> at = 0.5, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    >>> round(float(ns.mixture.logpdf(*at, family="inverse_gaussian")), 6)
    -1.17617
    """
    return _density(x, weights, centres, params, True, family, device, workers)


@any_kind(blocks=True)
@hands_on(logpdf)
def pdf(
    x: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, **options: Unpack[DensityOptions]
) -> NDArray:
    """Mixture density: the exponential of `logpdf`.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    weights, centres, params, family, device, workers
        As in `logpdf`.

    Returns
    -------
    array or scalar
        Of the shape and kind of x; 0 outside the support, NaN for NaN. For counts the probability.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Relative error below 4e-13 on the points named in `logpdf` (gamma; inverse Gaussian and Gaussian 2.5e-14).

    References
    ----------
    G. McLachlan, D. Peel, "Finite Mixture Models" (2000), section 1.4.

    Examples
    --------
    >>> import numbastats as ns
    >>> at = 0.5, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    >>> round(float(ns.mixture.pdf(*at, family="inverse_gaussian")), 6)
    0.308458
    """
    return _density(x, weights, centres, params, False, **options)


@any_kind(host=True)
@hands_on(logpdf)
def responsibilities(
    x: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, **options: Unpack[DensityOptions]
) -> NDArray:
    """Posterior probabilities of the components.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    weights, centres, params, family, device, workers
        As in `logpdf`.

    Returns
    -------
    array, shape ``(*x.shape, K)``
        Of the kind of x. Rows sum to 1; NaN outside the support.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Absolute error below 2e-15 on the points named in `logpdf`.

    References
    ----------
    A. P. Dempster, N. M. Laird, D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm", Journal of the
    Royal Statistical Society B 39 (1977): the E-step.

    Examples
    --------
    >>> import numbastats as ns
    >>> at = [0.2, 1.0], [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    >>> ns.mixture.responsibilities(*at, family="inverse_gaussian").round(3).tolist()
    [[0.0, 1.0], [0.846, 0.154]]
    """
    family, par = mixture_of(weights, centres, params, options.get("family"))
    place = options.get("device"), options.get("workers")
    return _by_slabs(lambda part, _: scores(part, family, par, True, *place)[1].T, x, par.shape[1])


@any_kind(host=True)
def labels(x, weights, centres, params=None, *, family=None, device=None, workers=None):
    """Numbers of the most probable components, -1 for NaN and outside the support: `predict` of fits."""
    family, par = mixture_of(weights, centres, params, family)
    return _by_slabs(lambda part, _: density.labels(part, family, par, device, workers), x, dtype=np.int64)


@names_ours
@any_kind(host=True, blocks=True)
def cdf(
    x: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, *, family: Family = None
) -> NDArray:
    """Mixture distribution function.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    weights, centres, params, family
        As in `logpdf`.

    Returns
    -------
    array or scalar
        Of the shape and kind of x.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Gamma distributions of shape 2e4 or more, and Poisson distributions of such a mean, use Temme's uniform expansion, because
    SciPy's functions lose digits there (10 % at 2e7): relative error of either tail below 3e-13, tested up to 1e15, apart from
    the rounding of x itself.

    Examples
    --------
    >>> import numbastats as ns
    >>> at = 1.0, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    >>> round(float(ns.mixture.cdf(*at, family="inverse_gaussian")), 6)
    0.649145
    """
    family, par = mixture_of(weights, centres, params, family)
    return _by_slabs(lambda part, _: probability(part, family, par, False), x)


@names_ours
@any_kind(host=True, blocks=True)
def sf(
    x: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, *, family: Family = None
) -> NDArray:
    """Survival function (upper tail probability) of a mixture, accurate where it is small.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    weights, centres, params, family
        As in `logpdf`.

    Returns
    -------
    array or scalar
        Of the shape and kind of x.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Inverse Gaussian distributions, x and lambda from 1e-20 to 1e20 means, against 110 digits: relative error below 4e-15 where
    a = sqrt(lambda/x) (x/m - 1) is below 1, and below 4e-15 + 2e-16 a^2 further out (2e-13 at 1e-260), as for the normal
    distribution.
    """
    family, par = mixture_of(weights, centres, params, family)
    return _by_slabs(lambda part, _: probability(part, family, par, True), x)


def _quantiles(name, q, weights, centres, params, family):
    """Quantiles: each by itself, or of many by the table of the distribution that the mixture is."""
    family, par = mixture_of(weights, centres, params, family)
    upper = name == "isf"
    doubt_per_cent(q)
    q, dtype = values_of(q)
    if q.size >= _MANY and family.tabled:
        found = getattr(family.mixture(par), name)(q)
        some = slice(None, None, q.size // _CHECKED)
        back, want = probability(found.reshape(-1)[some], family, par, upper), q.reshape(-1)[some]
        if (~(np.abs(back - want) > 1e-9 * want) | ~((want > 0.0) & (want < 1.0))).all():
            return found.astype(dtype)[()]
    return quantile(q, family, par, dtype, of_upper=upper).astype(dtype)[()]


@names_ours
@any_kind(host=True, blocks=True)
def ppf(
    q: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, *, family: Family = None
) -> NDArray:
    """Mixture quantile function: inverts the distribution function to its last bits, of many values to 1e-12.

    Parameters
    ----------
    q : array_like
        Probabilities; NaN outside [0, 1].
    weights, centres, params, family
        As in `logpdf`.

    Returns
    -------
    array or scalar
        Of the shape and kind of q. For counts the smallest k with ``cdf(k) >= q``, inf for q = 1.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    From 20,000 values on they come from a table of the distribution that the mixture is, of families that
    `numbastats.distributions` has (but Pareto ones): it takes 0.05 s to make, is kept, and gives a value in some 20 ns
    instead of 5 us. Values that it does not reach, below 1e-16 or so, come from Newton's method. Errors of 1e-12 relative to the
    quantile, or to the scale next to 0. Where one of 200 quantiles among them has not its probability to 1e-9, as of components
    1e8 of their standard deviations apart, each is found by itself.

    Examples
    --------
    >>> import numbastats as ns
    >>> at = 0.649145, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    >>> round(float(ns.mixture.ppf(*at, family="inverse_gaussian")), 4)
    1.0
    """
    return _quantiles("ppf", q, weights, centres, params, family)


@names_ours
@any_kind(host=True, blocks=True)
def isf(
    q: ArrayLike, weights: ArrayLike, centres: ArrayLike, params: ArrayLike | None = None, *, family: Family = None
) -> NDArray:
    """Quantile of a mixture from an upper tail probability: inverts `sf` to its last bits, however small q is.

    Parameters
    ----------
    q : array_like
        Probabilities; NaN outside [0, 1].
    weights, centres, params, family
        As in `logpdf`.

    Returns
    -------
    array or scalar
        Of the shape and kind of q. For counts the smallest k with ``sf(k) <= q``, inf for q = 0.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Against closed forms with q down to 1e-300: relative error below 5e-14 (exponential distributions, tested over 1e-100 to
    1e100 in scale), that of `sf` in general.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(float(ns.mixture.isf(1e-30, [0.3, 0.7], [1.0, 3.0], family="exponential")), 4)
    206.1626
    """
    return _quantiles("isf", q, weights, centres, params, family)


@names_ours
def rvs(
    weights: ArrayLike,
    centres: ArrayLike,
    params: ArrayLike | None = None,
    size: int | tuple[int, ...] | None = None,
    *,
    family: Family = None,
    rng: Seed = None,
) -> NDArray:
    """Draw from a mixture.

    Parameters
    ----------
    weights, centres, params, family
        As in `logpdf`.
    size : int or tuple of int, optional
        A single number by default.
    rng : None, int, SeedSequence or Generator

    Returns
    -------
    array or scalar
        Of shape `size`.

    Raises
    ------
    ValueError
        For parameters out of their domain or of different shapes, and for an invalid `size` or `rng`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.mixture.rvs(
    ...     [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], 100_000, family="inverse_gaussian", rng=1
    ... )
    >>> bool(abs(x.mean() - 2.4) < 0.2)
    True
    """
    family, par = mixture_of(weights, centres, params, family)
    return draws(family, par, size, rng)
