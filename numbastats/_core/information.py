"""Standard errors from information: the inverse of a symmetric matrix, and what the delta method makes of it.

Information is minus the Hessian of a log-likelihood, or its expectation. Its inverse is the covariance of the estimates, and NaN
where it is not positive definite: where a pivot of Cholesky's method is at most `LEAST` of its element of the diagonal, whatever
the units are. `inverse` takes arrays of matrices; `invert` is the same for jitted loops. A variance that rounding made
negative has no root: its standard error is NaN. Covariances are symmetric to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.climb import cholesky_step
from numbastats._core.kernel import array_function

__all__ = ["LEAST", "carried", "in_units", "inverse", "invert", "placed", "standard_errors", "unit_moves"]

LEAST = 1e-12


def _diagonal(matrix):
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def _mirrored(matrix):
    """The lower triangle, and the same above: symmetric to the last bit."""
    return np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), -1, -2)


def inverse(info, units=1.0):
    """Inverses (..., p, p); NaN throughout a matrix that is not positive definite.

    units: of the parameters (p,), in which the matrix is inverted.
    """
    units = np.broadcast_to(units, info.shape[-1:])
    scaled = info / units / units[:, None]
    try:
        root = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:  # of one matrix, for which none has a result
        return np.full(info.shape, math.nan) if info.ndim == 2 else np.stack([inverse(one, units) for one in info])
    definite = (np.square(_diagonal(root)) > LEAST * _diagonal(scaled)).all(axis=-1)
    return np.where(definite[..., None, None], _mirrored(np.linalg.inv(scaled) / units / units[:, None]), math.nan)


def placed(cov, at, size):
    """The covariance of all parameters from that of some, NaN for the others."""
    full = np.full((size, size), math.nan)
    full[np.ix_(at, at)] = cov
    return full


def carried(cov, slopes):
    """The covariance of functions of the estimates, by their derivatives (..., functions, p)."""
    return _mirrored(slopes @ cov @ np.swapaxes(slopes, -1, -2))


def in_units(cov, units):
    """The covariance of parameters that are multiplied by units (..., p)."""
    return _mirrored(cov * units[..., :, None] * units[..., None, :])


def standard_errors(cov, units=None):
    """Those (..., p) of parameters that are multiplied by units."""
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(_diagonal(cov))
    return errors if units is None else errors * np.abs(units)


def unit_moves(cov):
    """Uncorrelated moves of the parameters by one standard error, in columns: M with M M' = cov."""
    return np.linalg.cholesky(cov)


@array_function(fastmath=("contract", "reassoc"), host=False)
def invert(info, free, cov, work):
    """Write the inverse of the rows and columns that are `free`, NaN unless these are positive definite; 0 in the others.

    A parameter without a finite diagonal, where others have one, is taken as known: its own covariances are NaN.
    """
    p, some, count = free.size, False, np.int64(0)  # a plain 0 has a type of its own: what is called with it is compiled twice
    A, L, g, step, kept = work[:p], work[p : 2 * p], work[2 * p], work[2 * p + 1], work[2 * p + 2]
    for i in range(p):
        for j in range(p):
            cov[i, j] = math.nan if free[i] and free[j] else 0.0
            some = some or (free[i] and free[j] and abs(info[i, j]) < math.inf)
    for i in range(p):
        if free[i] and (abs(info[i, i]) < math.inf or not some):
            kept[count] = i
            count += 1
    for i in range(count):  # in units in which the diagonal is 1
        for j in range(i + 1):
            a, b = int(kept[i]), int(kept[j])
            A[i, j] = info[a, b] / math.sqrt(abs(info[a, a])) / math.sqrt(abs(info[b, b]))
    for j in range(count):
        for i in range(count):
            g[i] = 1.0 if i == j else 0.0
        if not cholesky_step(A, g, count, 0.0, LEAST, step, L):
            break
        for i in range(j, count):
            a, b = int(kept[i]), int(kept[j])
            cov[a, b] = cov[b, a] = step[i] / math.sqrt(abs(info[a, a])) / math.sqrt(abs(info[b, b]))
