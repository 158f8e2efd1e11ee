"""Cholesky factors of a chain, sums that are checked, and rows that stay sparse."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

NO_FACTOR = "the Cholesky factorisation of X'X + diag(d) failed three times; are there non-finite or huge columns in X?"


def factor(H, d):
    """Lower Cholesky factor of H + diag(d), Fortran order, and d, clipped as far as the factorisation needs."""
    size = np.maximum(H.diagonal(), 1.0)
    for low, high in ((0.0, math.inf), (1e-13, 1e200), (1e-9, 1e100)):
        A, near = H.copy(order="F"), np.clip(d, low * size, high)
        A.reshape(-1, order="F")[:: len(A) + 1] += near  # a view of the diagonal; NumPy's indices of it take half of the time
        L, info = lapack.dpotrf(A, lower=1, overwrite_a=1)
        if info == 0:
            return L, near
    raise RuntimeError(NO_FACTOR)


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


# --- rows that stay sparse -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Sparse:
    """Rows factor (S - 1 shift') that are not written out: products correct those of S by matrices of rank one or two.

    Parameters
    ----------
    S : scipy.sparse.csr_array, shape (n, p)
    shift : numpy.ndarray, shape (p,)
    factor : numpy.ndarray, shape (n,)
    """

    S: Any
    shift: np.ndarray
    factor: np.ndarray

    __array_ufunc__ = None  # so that NumPy leaves products with arrays to this class

    @property
    def shape(self):
        """Numbers of rows and columns."""
        return self.S.shape

    def __matmul__(self, b):
        """The rows times coefficients."""
        return self.factor * (self.S @ b - self.shift @ b)

    def __rmatmul__(self, r):
        """Sums over the rows, times the numbers r of the rows."""
        r = r * self.factor
        return self.S.T @ r - self.shift * r.sum()

    def times(self, factor):
        """The rows times numbers of the rows."""
        return dataclasses.replace(self, factor=self.factor * factor)

    def where(self, some):
        """Some of the rows."""
        return dataclasses.replace(self, S=self.S[some], factor=self.factor[some])

    def columns(self, part):
        """Columns of a slice."""
        return dataclasses.replace(self, S=self.S[:, part], shift=self.shift[part])

    def toarray(self):
        """The rows, written out."""
        return self.factor[:, None] * (self.S.toarray() - self.shift)

    def gram(self, v):
        """X V X' for the diagonal v of V."""
        weighted = self.S.copy()
        weighted.data *= v[weighted.indices]
        cross = weighted @ self.shift
        found = (weighted @ self.S.T).toarray() - cross[:, None] - cross + self.shift**2 @ v
        return self.factor[:, None] * found * self.factor

    def normal_matrix(self, w):
        """X'WX for the diagonal w of W."""
        w = w * self.factor**2
        cross, weighted = np.outer(self.S.T @ w, self.shift), self.S.copy()
        weighted.data *= np.repeat(w, np.diff(weighted.indptr))
        return (self.S.T @ weighted).toarray() - cross - cross.T + w.sum() * np.outer(self.shift, self.shift)


def parted(X, k):
    """The first k columns, written out, and the others."""
    if isinstance(X, Sparse):
        return X.columns(slice(k)).toarray(), X.columns(slice(k, None))
    return X[:, :k], X[:, k:]


def normal_matrix(X, w):
    """X'WX for the diagonal w of W."""
    if isinstance(X, Sparse):
        return X.normal_matrix(w)
    X = X * np.sqrt(w)[:, None]
    return X.T @ X  # of a matrix and its own transpose BLAS makes one half
