"""More columns than rows: global scale and noise with the coefficients integrated out, then these.

Given the scales, rows y = A b + e with e ~ N(0, sigma^2) and b_j ~ N(0, sigma^2 v_j) have the covariance sigma^2 M, where
M = I + A V A' is n x n. A step draws log tau from its density with b and sigma integrated out (J. Johndrow, P. Orenstein,
A. Bhattacharya, JMLR 21(73), 2020, the exact algorithm; by a slice in place of their Metropolis step), sigma with b integrated
out, and b exactly in O(n^2 p) (A. Bhattacharya, A. Chakraborty, B. Mallick, Biometrika 103, 2016). The local scales are drawn
outside, given b: together with log tau once more, which the likelihood does not enter there. Both steps of log tau
are needed: one moves where the data say much of the coefficients' common scale, the other where the local scales do.

Columns Z that are not shrunk, the intercept's among them, go by reflections, Z = Q R. A normal prior of their coefficients a
adds rows 0 = sqrt(precision) a_j + e to the data. The first rows of Q'y = R a + Q'A b + e say where a is, given b; the others
are free of it, and their density is that of y with a integrated out.

Two classes: given omega ~ PG(w, m), m the linear predictor, a row of a logit model is a normal outcome w/(2 omega) of variance
1/omega (N. Polson, J. Scott, J. Windle, JASA 108, 2013), and sigma is 1. Given z ~ N(m, 1) on (0, inf), one of a probit model is
the normal outcome z of variance 1. There z may be multiplied by any g > 0 that is drawn from the density of g z times g^(n - 1),
with b and tau drawn given g z (J. Liu, C. Sabatti, Biometrika 87, 2000): g is 1/sigma of a normal model of z whose 1/sigma^2 has
the shape n/2, and b that of this model over sigma.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from numbastats.bayes.samplers.algebra import Sparse, parted
from numbastats.bayes.samplers.scales import sliced
from numbastats.scalar.shrinkage import log_prior_tau

_PRECISIONS = 1e-12, 1e300  # as of `shrinkage.bounded`
_STRETCH = 3.0  # the slice is of log tau divided by this: its first width is 1.5, near the usual spread given the local scales


class Problem(NamedTuple):
    """Rows of A and y with unit variance in units of sigma, free of the coefficients that are not shrunk.

    Parameters
    ----------
    A : numpy.ndarray or a class with its products, shape (m, p)
    y : numpy.ndarray, shape (m,)
    shape : float
        1/sigma^2 is gamma with this shape; half of the sum of the weights, less the number of flat priors. Infinite where
        sigma is 1.
    weight : float
        Sum of the weights of the rows.
    rows, first, R : numpy.ndarray, shapes (k, p), (k,), (k, k)
        The rows first = R a + rows b + e of the k coefficients a that are not shrunk; R is an upper triangle.
    precisions : numpy.ndarray, shape (k,)
        Prior precisions of a in units of 1/sigma^2; 0 for a flat prior.
    """

    A: np.ndarray
    y: np.ndarray
    shape: float
    weight: float
    rows: np.ndarray
    first: np.ndarray
    R: np.ndarray
    precisions: np.ndarray


class Classes(NamedTuple):
    """Rows of two classes, multiplied by the sign of their outcome.

    Parameters
    ----------
    response : Response
    X : numpy.ndarray or Sparse, shape (n, k + p)
    weights, offsets : numpy.ndarray, shape (n,)
        Weights above 0.
    precisions
        As of `problem`.
    """

    response: Any
    X: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    precisions: np.ndarray


class Prior(NamedTuple):
    """What a step knows of the prior.

    Parameters
    ----------
    extra : numpy.ndarray, shape (p,)
        Precision that a slab adds to `State.d`.
    factor : bool
        The slab is a factor of the prior, whose integral over b depends on tau.
    tau_scale : float
    fixed : bool
        Leave tau as it is.
    """

    extra: np.ndarray
    factor: bool
    tau_scale: float
    fixed: bool


class State(NamedTuple):
    """Coefficients with the intercept, prior precisions of the shrunk ones without a slab, and the rest of a chain."""

    b: np.ndarray
    d: np.ndarray
    log_tau: float
    log_sigma: float
    loglik: float


class Numbers(NamedTuple):
    """Random numbers of a step: normals (k + p + m or more), a gamma draw of `Problem.shape`, words for the slice."""

    normals: np.ndarray
    gamma: float
    key: tuple
    item: np.int64
    stream: np.uint32


class _Marginal(NamedTuple):
    """Log density of log tau with b and sigma integrated out, variances v, the factor L of M (None if it fails), and L^-1 y."""

    value: float
    v: np.ndarray
    L: np.ndarray
    u: np.ndarray


def problem(X, y, weights, *, precisions):
    """The rows of a fit in the sampler's form.

    Parameters
    ----------
    X : numpy.ndarray or Sparse, shape (n, k + p)
        The columns that are not shrunk, an intercept's among them, are first.
    y, weights : numpy.ndarray, shape (n,)
    precisions : numpy.ndarray, shape (k,)
        Prior precisions of their coefficients in units of 1/sigma^2; 0 for a flat prior.
    """
    k, root, weight = precisions.size, np.sqrt(weights), float(weights.sum())
    Z, A = parted(X.times(root) if isinstance(X, Sparse) else X * root[:, None], k)
    proper = np.diag(np.sqrt(precisions))[precisions > 0.0]
    turned = _Reflections.of(np.concatenate([Z, proper]))
    y = turned.there(np.concatenate([y * root, np.zeros(len(proper))]))
    if isinstance(A, Sparse):
        first, A = (
            np.array([turned.back(e)[: len(Z)] @ A for e in np.eye(len(y), k).T]).reshape(k, A.shape[1]),
            _Turned(A, turned),
        )
    else:
        rows = turned.there(np.concatenate([A, np.zeros((len(proper), A.shape[1]))]))
        first, A = rows[:k], np.ascontiguousarray(rows[k:])
    shape = 0.5 * (weight - (k - len(proper)))
    return Problem(A, y[k:].copy(), shape, weight, first, y[:k], turned.R, precisions)


class _Reflections(NamedTuple):
    """Q of a QR factorisation, as LAPACK has it, and the square R."""

    vectors: np.ndarray
    scales: np.ndarray
    R: np.ndarray

    @classmethod
    def of(cls, Z):
        """Those of columns Z."""
        if not Z.shape[1]:
            return cls(Z, np.empty(0), np.empty((0, 0)))
        vectors, scales, _, info = lapack.dgeqrf(Z)
        assert info == 0
        return cls(vectors, scales, np.triu(vectors[: Z.shape[1]]))

    def there(self, rows, way="N"):
        """Q'rows."""
        if not len(self.scales):
            return rows
        columns = np.ascontiguousarray(rows.reshape(len(rows), -1)).T  # in the order that LAPACK takes: Q comes from the right
        found, _, _ = lapack.dormqr("R", way, self.vectors, self.scales, columns, 64 * max(len(columns), 1))
        return found.T.reshape(rows.shape)

    def back(self, rows):
        """Q rows."""
        return self.there(rows, "T")


@dataclasses.dataclass(frozen=True)
class _Turned:
    """The rows of Q'A, but for the first ones, of sparse rows A; Q may have rows beyond those of A, where these are 0."""

    A: Sparse
    turned: _Reflections

    __array_ufunc__ = None

    @property
    def shape(self):
        """Numbers of rows and columns."""
        return len(self.turned.vectors) - len(self.turned.scales), self.A.shape[1]

    def __matmul__(self, b):
        """The rows times coefficients."""
        return self.turned.there(self._longer(self.A @ b))[len(self.turned.scales) :]

    def __rmatmul__(self, r):
        """Sums over the rows, times the numbers r of the rows."""
        return self.turned.back(np.concatenate([np.zeros(len(self.turned.scales)), r]))[: self.A.shape[0]] @ self.A

    def gram(self, v):
        """The rows' X V X' for the diagonal v of V."""
        once = self.turned.there(self._longer(self.A.gram(v)))
        k = len(self.turned.scales)
        return np.ascontiguousarray(self.turned.there(self._longer(once.T))[k:, k:])

    def _longer(self, rows):
        return np.concatenate([rows, np.zeros((len(self.turned.vectors) - len(rows), *rows.shape[1:]))])


def given_latent(data, b, key, item, stream):
    """The normal rows of two classes, given latent variables that are drawn given the coefficients b."""
    outcomes, weights = data.response.latent(key, stream, item, data.weights, data.X @ b + data.offsets)
    shape = 0.5 * len(outcomes) if data.response.expands else math.inf
    return problem(data.X, outcomes - data.offsets, weights, precisions=data.precisions)._replace(shape=shape)


def init(data, prior, state, numbers):
    """A draw of sigma and the coefficients given the scales of a state."""
    known = _products(data, prior, state.d)
    return _draw(data, state.d, state.log_tau, _marginal(data, prior, state.d, state.log_tau, 0.0, known), numbers)


def step(data, prior, state, numbers):
    """The state after a step, for local scales that were drawn given the coefficients."""
    t, d = state.log_tau, state.d
    known = _products(data, prior, d)
    seen = {}  # of the last evaluation, which is that of the draw unless the slice sampler stays

    def density(x):
        seen.clear()
        seen[x] = _marginal(data, prior, d, t + _STRETCH * x, _STRETCH * x, known)
        return seen[x].value

    x = sliced(density, 0.0, numbers.key, numbers.item, numbers.stream, stays=prior.fixed)
    if x not in seen:
        density(x)
    found, by = seen[x], _STRETCH * x
    return _draw(data, np.clip(d * math.exp(-2.0 * by), *_PRECISIONS), t + by, found, numbers)


def _products(data, prior, d):
    """A V A' without a slab, where tau is a factor of it; None with one."""
    return None if prior.extra.any() else _product(data.A, 1.0 / d)


def _product(A, v):
    if not isinstance(A, np.ndarray):
        return A.gram(v)
    root = A * np.sqrt(v)
    return root @ root.T  # of a matrix and its own transpose BLAS makes one half


def _marginal(data, prior, d, log_tau, by, known):
    """The density at log tau, which is that of the precisions d and `by`."""
    d = d * math.exp(-2.0 * by)
    v = 1.0 / (d + prior.extra)
    M = _product(data.A, v) if known is None else math.exp(2.0 * by) * known
    M.reshape(-1)[:: len(M) + 1] += 1.0
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return _Marginal(-math.inf, v, None, None)
    u = _solve(L, data.y)
    value = log_prior_tau(log_tau, 0.0, prior.tau_scale) - np.log(L.diagonal()).sum()
    value -= 0.5 * (u @ u) if math.isinf(data.shape) else data.shape * math.log(u @ u)
    if prior.factor:
        value -= 0.5 * np.log1p(prior.extra / d).sum()
    return _Marginal(value, v, L, u)


def _solve(L, v, transposed=False):
    return blas.dtrsv(L.T, v, lower=0, trans=int(not transposed))


def _draw(data, d, log_tau, found, numbers):
    """Sigma given the scales, the coefficients given both, and those that are not shrunk given all of them."""
    if found.L is None:
        raise RuntimeError("the Cholesky factorisation of I + X V X' failed; are there huge numbers in X? Pass standardize=True")
    A, y, (m, p), k = data.A, data.y, data.A.shape, len(data.R)
    free, z, e = numbers.normals[:k], numbers.normals[-(p + m) : -m], numbers.normals[-m:]
    sigma = 1.0 if math.isinf(data.shape) else math.sqrt(max(found.u @ found.u, 1e-300) / (2.0 * numbers.gamma))
    w = np.sqrt(found.v) * z
    rest = _solve(found.L, _solve(found.L, y / sigma - A @ w - e), True)
    b = sigma * (w + found.v * (rest @ A))
    residuals, squares = y - A @ b, sigma**2 * (free @ free)
    a = solve_triangular(data.R, data.first - data.rows @ b + sigma * free) if k else free
    squares += residuals @ residuals - data.precisions @ a**2  # the rows of the prior are no data
    loglik = -data.weight * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi)) - 0.5 * squares / sigma**2
    return State(np.concatenate([a, b]), d, log_tau, math.log(sigma), loglik)
