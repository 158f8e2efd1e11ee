"""Standardised series: normal scores by the distribution fitted to each, as of indices of drought."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import choice, is_lazy
from numbastats._core.data import NanPolicy, check_policy, doubles, refuse_missing
from numbastats._core.errors import names_ours
from numbastats._core.kinds import LABELLED, LAZY, has_labels, in_kind_of, rows_alike
from numbastats._core.options import Device
from numbastats._core.slabs import cuts
from numbastats.distributions.censoring import are_exact, bounded, of_events, pair_of, seen
from numbastats.distributions.fitting import axis_of, class_of, fit_many, is_ragged, refuse_executor, refuse_frame
from numbastats.distributions.names import Name
from numbastats.distributions.protocol import Distribution

__all__ = ["standardise"]

_SLAB = 1 << 20  # scores at a time


@names_ours
def standardise(
    x: ArrayLike | None,
    family: Name | type[Distribution] = "gamma",
    *,
    axis: int | None = None,
    dim: str | None = None,
    calibration: Any = None,
    zeros: Literal["auto", "share", "centre"] | None = "auto",
    censored: tuple[ArrayLike, ArrayLike] | None = None,
    event: ArrayLike | None = None,
    nan_policy: NanPolicy = "omit",
    device: Device = None,
    workers: Any = None,
) -> NDArray[np.float64]:
    """Normal scores of values within their own series, as of the standardised precipitation index (SPI).

    Fits the family to each series and returns the normal quantile of its distribution function.

    Parameters
    ----------
    x : array_like of shape (..., n, ...), or None
        Series along `axis`, in any of the forms of :doc:`/data`; missing values stay NaN. An array of dask, or of xarray with
        one, gives one that is computed later, by blocks of whole series. None where `censored` has the values.
    family : str
        "gamma" as for the SPI, or another one of :doc:`/families` but the hyperbolic ones.
    axis : int, optional
        Along which the values of a series run; the last one by default.
    dim : str, optional
        Instead of `axis` the name of a dimension of an xarray.DataArray. An array of several dimensions needs one of the two.
    calibration : slice, or array of positions, booleans or labels, optional
        The part of each series that the family is fitted to, all by default; scores are those of all values. Labels where x has
        them along `axis`, as `loc` of pandas and `sel` of xarray take them: ``slice("1991", "2020")``; else positions.
    zeros : {"auto", "share", "centre", None}
        Zeros of families of positive values, where a zero is impossible, have a probability of their own: with "share" their
        score is that of the share of zeros, p0; with "centre" of the middle of their ranks, near p0/2, so that the
        probabilities have mean 1/2 however many zeros there are. With None zeros are values like others. "auto" is "share" for
        families of positive values, and None for "normal" and "student_t".
    censored, event
        As in `fit`, arrays of the shape of x: what is known of values that are not exact, such as those below a limit of
        detection. Their score is that of the middle of the probabilities at their ends. Not with arrays of dask.
    nan_policy : {"omit", "raise"}
        Whether missing values stay NaN, or are refused.
    device, workers
        As in `fit_many`.

    Returns
    -------
    array of the shape of x
        NaN where nothing is known, and in series that cannot be fitted. Labels of pandas and xarray are kept, attributes too but
        ``units``.

    Raises
    ------
    TypeError, ValueError
        As `fit_many`; for families without kernels of a distribution function; for a calibration that is not understood, or
        selects nothing; for "share" and "centre" with a family that takes zeros.

    Warns
    -----
    ConvergenceWarning
        When fits end in no maximum, with their number and the first reason; series in which all values are missing do not count.

    Notes
    -----
    Of the n values of the calibration n0 are zeros. With G the distribution function fitted to the others, H(x) =
    p0 + (1 - p0) G(x); "share" has p0 = n0/n, and a zero H(0) = p0 [1]; "centre" has p0 = n0/(n + 1), and a zero
    H(0) = (n0 + 1)/(2 (n + 1)) [2]. Outside of the calibration values may be further out than any within: a zero where that has
    none has the score -inf with "share", and -2.14 with "centre" and n = 30.

    G is at its maximum likelihood; the formula of Thom [3], a = (1 + sqrt(1 + 4 A/3))/(4 A) with A = log(mean) -
    mean log, is an approximation whose shape is 0.9 % too large at a = 1, 4 % at a = 0.5 and 37 % at a = 0.1; it is not used.

    References
    ----------
    [1] T. B. McKee, N. J. Doesken, J. Kleist, "The relationship of drought frequency and duration to time scales", 8th Conference
    on Applied Climatology (1993), 179-184.
    [2] J. H. Stagge, L. M. Tallaksen, L. Gudmundsson, A. F. Van Loon, K. Stahl, "Candidate distributions for climatological
    drought indices (SPI and SPEI)", International Journal of Climatology 35 (2015), 4027-4040.
    [3] H. C. S. Thom, "A note on the gamma distribution", Monthly Weather Review 86 (1958), 117-122.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> rain = np.random.default_rng(1).gamma(2.0, 3.0, (40, 3))
    >>> z = ns.distributions.standardise(rain, axis=0)
    >>> z.shape, bool(abs(z.mean()) < 0.05)
    ((40, 3), True)
    >>> thirty = slice(0, 30)  # years, the first
    >>> z = ns.distributions.standardise(rain, axis=0, calibration=thirty)
    >>> abs(z[:30].mean(axis=0)).max() < 0.05 < abs(z[30:].mean(axis=0)).max()
    np.True_
    """
    choice("zeros", zeros, ("auto", "share", "centre", None))
    cls = class_of(family)
    kernels = cls._kernels
    if kernels is None:
        raise ValueError(f"family={cls.family!r} has no kernel of its cdf: use fit_many, and the cdf of its distribution")
    if cls.is_discrete:
        raise ValueError(f"family={cls.family!r} is of counts, which have no normal scores; take a continuous one")
    if zeros == "auto":
        zeros = "share" if kernels.begins_at_0 else None
    elif zeros is not None and not kernels.begins_at_0:
        raise ValueError(
            f"zeros={zeros!r} is for families of positive values; of {cls.family} zeros are values like others: zeros=None"
        )
    check_policy(nan_policy)
    known = x is not None
    if x is None:
        if censored is None:
            raise TypeError("x is None; pass values, or censored=(lo, hi)")
        x = pair_of(censored)[0]
    axis = axis_of(x, refuse_frame(x, axis, "x"), dim, "x")
    if isinstance(x, Mapping) or is_ragged(x):
        raise TypeError("standardise takes an array; call it for each series of a list or dict")
    if not np.ndim(x):
        raise TypeError(f"x is a {type(x).__name__}; pass an array of series, as numpy.asarray(x)")
    if np.shape(x) == (0,):
        raise ValueError("x has no values")
    if not -np.ndim(x) <= axis < np.ndim(x):
        raise ValueError(f"axis={axis} is not an axis of x of shape {np.shape(x)}")
    axis %= np.ndim(x)
    part = None if calibration is None else _positions(x, axis, calibration)
    scored = functools.partial(_scored, cls=cls, axis=axis, part=part, zeros=zeros, device=device)
    if is_lazy(x):
        if censored is not None or event is not None:
            raise TypeError("an array of dask is standardised without censored= and event=: pass x.compute()")
        refuse_executor(workers, "x")
        whole = LAZY.blocks(x, "x").rechunk({axis: -1})
        z = whole.map_blocks(functools.partial(scored, workers=workers or 1), dtype=np.float64, meta=np.empty((0,) * np.ndim(x)))
        scores: Any = LABELLED.relabelled(z, x)
    else:
        values = doubles(x, "x", cls.family)
        lower, upper = _ends(x, values, known, censored, event)
        refuse_missing(lower.reshape(-1), nan_policy, "x")
        z = scored(lower, workers=workers, upper=upper)
        scores = in_kind_of(z, x) if has_labels(x) else z
    if "units" in getattr(x, "attrs", ()):  # which scores do not have
        del scores.attrs["units"]
    return scores


def _ends(x, values, known, censored, event):
    """The ends of values, None for the upper ones where all are exact."""
    if censored is None and event is None:
        return values, None
    if censored is not None and event is not None:
        raise ValueError("censored= and event= both say what is known of a value; pass one of the two")
    given = {"event": event} if censored is None else dict(zip(("censored lo", "censored hi"), pair_of(censored), strict=True))
    flat = []
    for name, value in given.items():
        rows_alike(x, value, ("x", name))
        made = seen(value, name) if name == "event" else doubles(value, name)
        flat.append(np.broadcast_to(made, values.shape).reshape(-1))
    place = lambda i: str(tuple(map(int, np.unravel_index(i, values.shape))))  # noqa: E731
    lo, hi = (
        of_events(values.reshape(-1), *flat)
        if censored is None
        else bounded(values.reshape(-1) if known else None, *flat, place, "x")
    )
    return lo.reshape(values.shape), None if are_exact(lo, hi) else hi.reshape(values.shape)


def _positions(x, axis, calibration):
    """Positions along the axis that a slice, labels, positions or booleans select."""
    places = np.arange(np.shape(x)[axis])
    try:
        if hasattr(x, "dims"):
            dim = x.dims[axis]
            along = type(x)(places, dims=(dim,), coords={dim: x.coords[dim]} if dim in x.coords else None)
            chosen = along.sel({dim: calibration}).to_numpy()
        elif hasattr(x, "iloc"):
            import pandas

            along = pandas.Series(places, index=x.index if axis == 0 else x.columns)
            chosen = along.loc[calibration]
        else:
            chosen = places[calibration if isinstance(calibration, slice) else np.asarray(calibration)]
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError(f"calibration={calibration!r} selects nothing of x along axis {axis}: {error}") from None
    chosen = np.atleast_1d(np.asarray(chosen))
    if chosen.size == 0:
        raise ValueError(f"calibration={calibration!r} selects none of the {places.size} values of x along axis {axis}")
    return chosen


def _scored(x, *, cls, axis, part, zeros, device, workers, upper=None):
    """Scores of an array of NumPy; of lower ends where there are upper ones."""
    sample, ends = (a if part is None or a is None else np.take(a, part, axis=axis) for a in (x, upper))
    censored = None if ends is None else (sample, ends)
    options = dict(axis=axis, zeros=zeros and "share", device=device, workers=workers)
    fits = fit_many(None if censored else sample, cls, censored=censored, **options)  # type: ignore[arg-type]
    rows, tops = (None if a is None else np.moveaxis(a, axis, -1) for a in (x, upper))
    shape, length = rows.shape, rows.shape[-1]
    zero = np.equal(sample, 0.0) if ends is None else np.equal(sample, 0.0) & np.equal(ends, 0.0)
    n0, n = (np.count_nonzero(which, axis=axis).reshape(-1, 1) for which in (zero, ~np.isnan(sample)))
    with np.errstate(invalid="ignore"):  # of series without values
        share, at_zero = {
            None: (np.zeros(n.shape), None),
            "share": (n0 / n, None),
            "centre": (n0 / (n + 1), (n0 + 1) / (2 * (n + 1))),
        }[zeros]
    rows, tops = (None if a is None else a.reshape(-1, length) for a in (rows, tops))
    z, unknown = np.empty((len(n), length)), np.isnan(fits.loglik).reshape(-1)
    for lo, hi in cuts(len(n), max(1, _SLAB // max(1, length))):
        found = fits._rows(lo, hi)
        with np.errstate(all="ignore"):
            some = (None if a is None else a[lo:hi] for a in (tops, share, at_zero))
            z[lo:hi] = _scores(found, rows[lo:hi], *some)
    z[unknown] = math.nan  # series without a fit
    return np.ascontiguousarray(np.moveaxis(z.reshape(shape), -1, axis))


def _scores(distribution, x, upper, share, at_zero):
    """Normal quantiles of share + (1 - share) G(x), or of `at_zero` for zeros, through the smaller tail and its logarithm."""
    from scipy.special import ndtri, ndtri_exp

    rest, exact = 1.0 - share, True if upper is None else x == upper
    below, above = distribution.cdf(x), distribution.sf(x)
    if upper is not None:
        below, above = 0.5 * (below + distribution.cdf(upper)), 0.5 * (above + distribution.sf(upper))
    low, high = share + rest * below, rest * above
    if at_zero is not None:
        zero = (x == 0.0) & exact
        low, high = np.where(zero, at_zero, low), np.where(zero, 1.0 - at_zero, high)
    z = np.where(low < 0.5, ndtri(low), -ndtri(high))
    for tail, sign in (("logcdf", 1.0), ("logsf", -1.0)):
        far = np.isfinite(x) & exact & (z == -sign * math.inf)  # where the tail underflows
        if far.any():
            z[far] = sign * ndtri_exp(np.log(rest) + getattr(distribution, tail)(x))[far]
    return z
