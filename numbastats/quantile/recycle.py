"""Recycling: existing samples of one law become samples of another, in one pass and in the same order."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from numbastats._core.broadcast import as_host, dtype_of, result_dtype
from numbastats._core.dispatch import _device_kind, _is_torch
from numbastats._core.errors import choice
from numbastats.quantile.construction import normal_density
from numbastats.quantile.estimator import Recycler, check_base
from numbastats.quantile.functions import ndtri

__all__ = ["recycle"]


@functools.cache
def _normal(degree):
    return Recycler(normal_density, degree=degree)


def _signed(samples):
    """Samples that can be negated: no integers, which wrap around, and no lists."""
    if _is_torch(samples):
        return samples if samples.is_floating_point() or samples.is_complex() else samples.double()
    if _device_kind(samples):
        return samples.astype(np.float64) if samples.dtype.kind in "iub" else samples
    samples = as_host(samples)
    dtype = dtype_of(samples)
    result_dtype(("samples",), (dtype,))
    return samples if dtype is None or dtype.kind == "f" else samples.astype(np.float64)


def recycle(samples, base, target, *, out=None, dtype=None, device=None, workers=None, stream=None):
    """Map samples of one law to another by ``F^-1(G(x))``, increasing: ranks, copulas and low discrepancy are kept.

    Parameters
    ----------
    samples : array_like
        Values of the base law: draws, antithetic pairs, quasi-random points, columns of a copula.
    base : {"uniform", "normal", "gaussian", "exponential"}, ("two-sided exponential", (right, left)) or Recycler
        Their distribution, as for `Recycler`; a Recycler is any distribution with a table, such as ``student_t(5.0)``.
    target : {"normal", "gaussian"}, Recycler, or sequence of Recycler
        The distribution to map to; a sequence has one for each column, that is along the last axis. A Recycler with parameters
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
        For an unknown base or target, or a number of laws that is not the number of columns.

    Notes
    -----
    The map from a normal or another law is a table of its own, in the base variable, built on first use (10-60 ms; laws with an
    end up to 0.5 s) and kept: one pass, no probability in between, so that small values and both tails keep their relative
    accuracy. A target built with ``base="normal"`` reaches |z| = 37, others about 9.

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
    >>> laws = [ns.quantile.student_t(4.0), ns.quantile.hyperbolic(1.5, 0.3, 1.0)]
    >>> x = ns.quantile.recycle(z, "normal", laws)
    >>> bool((np.argsort(x, axis=0) == np.argsort(z, axis=0)).all())
    True
    """
    options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
    base = check_base(base)
    if isinstance(target, str):
        choice("target", target, ("normal", "gaussian"))
        if base == "uniform":
            return ndtri(samples, **options)
        if base == "exponential":
            return ndtri(-_signed(samples), log=True, tail="upper", **options)
        target = _normal(base.degree if isinstance(base, Recycler) else 7)
    elif not isinstance(target, Recycler):
        laws = list(target) if isinstance(target, Iterable) else []
        if not laws or not all(isinstance(t, Recycler) for t in laws):
            raise ValueError("target must be 'normal', a Recycler (such as student_t(4.0)), or a sequence of them")
        columns = np.shape(samples)[-1:]
        if columns != (len(laws),):
            raise ValueError(
                f"{len(laws)} laws for samples of shape {np.shape(samples)}; pass one law for each column (last axis)"
            )
        return laws[0]._columns(laws, base).transform(samples, **options)
    return target._rebased(base).transform(samples, **options)
