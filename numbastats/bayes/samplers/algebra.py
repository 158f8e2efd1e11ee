"""Cholesky factors of a chain, and sums that are checked."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import blas, lapack

__all__ = ["check_determined", "factor", "solve", "summed"]


def factor(H, d):
    """Lower Cholesky factor of H + diag(d), Fortran order, and d, clipped as far as the factorisation needs."""
    size = np.maximum(H.diagonal(), 1.0)
    for low, high in ((0.0, math.inf), (1e-13, 1e200), (1e-9, 1e100)):
        A, near = H.copy(order="F"), np.clip(d, low * size, high)
        A.reshape(-1, order="F")[:: len(A) + 1] += near  # a view of the diagonal; NumPy's indices of it take half of the time
        L, info = lapack.dpotrf(A, lower=1, overwrite_a=1)
        if info == 0:
            return L, near
    raise RuntimeError(
        "the Cholesky factorisation of X'X + diag(d) failed three times; are there non-finite or huge columns in X?"
    )


def solve(L, v, transposed=False):
    """L^-1 v, or L'^-1 v, of a lower triangle in Fortran order."""
    return blas.dtrsv(L, v, lower=1, trans=int(transposed))


def summed(sums, *args):
    """Sums over the rows; raises where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = sums(*args)
    if not all(np.isfinite(a).all() for a in (found if isinstance(found, tuple) else [found])):
        raise ValueError(
            "sums over products of X's columns overflow in its storage type; bring the columns to a scale near 1, for example by "
            "standardize=True, or use dtype='float64'"
        )
    return found


def check_determined(H, prior):
    """Raise where columns with flat priors, H = X'WX of at least the leading ones, leave a coefficient undetermined."""
    flat = [j for j, precision in enumerate(prior.free) if precision == 0.0]
    H = H[np.ix_(flat, flat)]
    size = np.sqrt(H.diagonal())
    if not (size > 0.0).all() or np.linalg.eigvalsh(H / np.outer(size, size)).min(initial=1.0) < 1e-10:
        raise ValueError(
            "the columns of unpenalized= have flat priors, but depend on each other (or on the intercept), or have zeros in all "
            "rows that count: their posterior is improper. Leave one out, or give them a normal prior by intercept_scale=10.0"
        )
