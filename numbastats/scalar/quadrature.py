"""Integrals of smooth functions of one number, by Gauss and Legendre, as scalar functions."""

from __future__ import annotations

import numpy as np

from numbastats._core.kernel import bind, device_function
from numbastats.scalar.bits import muladd

__all__ = ["legendre"]

_f = _points = _weights = _count = None  # bound by `legendre`


@device_function(inline=False)
def _integral(width, data):
    """The integral of ``_f(s, data)`` over s from 0 to `width`."""
    T = type(width)
    total = T(0.0)
    for k in range(_count):
        total = muladd(T(_weights[k]), _f(width * T(_points[k]), data), total)
    return width * total


def legendre(f, n):
    """A scalar function of (width, data): the integral of ``f(s, data)`` over s from 0 to `width`, by a rule of n points.

    It is exact for polynomials of degree 2 n - 1.

    Parameters
    ----------
    f : dispatcher
        Of `device_function`; `data` is a tuple of numbers.
    n : int

    Returns
    -------
    dispatcher
    """
    points, weights = np.polynomial.legendre.leggauss(n)
    return bind(_integral, _f=f, _points=0.5 * (1.0 + points), _weights=0.5 * weights, _count=n)
