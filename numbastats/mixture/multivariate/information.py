"""Standard errors: the observed information of local coordinates, carried to weights, means and covariances."""

from __future__ import annotations

import numpy as np

from numbastats._core.information import carried, inverse
from numbastats.mixture.engine import run
from numbastats.mixture.multivariate.kernels.forms import FORM_ERRORS, free_of, parameter
from numbastats.mixture.multivariate.kernels.information import INFORMATION
from numbastats.mixture.multivariate.kernels.newton import counts
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL
from numbastats.mixture.multivariate.kernels.spread import SPREAD
from numbastats.mixture.multivariate.launching import Space, launched, on_the_host

__all__ = ["certain", "coordinates", "covariance_of", "entropies", "exact", "information_of", "slopes_of", "spread_of"]

EXACT = 400  # free parameters up to which the information is a matrix
WHOLE = 1200  # of models with parts in common: parameters that they have without, of whose matrix theirs is made


def coordinates(K, d, model):
    """How many local coordinates there are, weights that add up to 1 counted as K."""
    return free_of.py_func(K, model, d)[0] if model.form else counts.py_func(K, model, d)[2]


def certain(K, d, model):
    """Whether fits can be certified."""
    return not model.form or counts.py_func(K, model, d)[2] <= WHOLE


def entropies(r):
    """Entropies of the responsibilities of rows (n, K)."""
    return -(r * np.log(np.maximum(r, 1e-300))).sum(axis=1)


def exact(free):
    """Whether fits of so many free parameters are certified by the matrix of second derivatives."""
    return free <= EXACT


def information_of(p, wanted, points, model, options):
    """Information (M, P, P) of fits to data sets `wanted`, in units of the complete data's (M, P).

    And of models with parts in common the derivatives (Q, P) of the coordinates that they have without, else None.
    """
    M, K, d = wanted.size, points.means.shape[1], p.rows.columns
    parameters = getattr(p.source, "parameters", None)
    size, moves = coordinates(K, d, model) if parameters is None else parameters(K, p, model), [None] * M
    matrix, scale = np.zeros((M, size, size)), np.zeros((M, size))
    if model.form:
        own = np.zeros((M, K, *[counts.py_func(K, model, d)[0]] * 2))
        run(FORM_ERRORS, [p.rows, wanted, model, points, matrix, scale, own], M, on_the_host(options), (), cost=1e6)
        moves = [_carried_over(one, model, d) for one in own]
    elif p.source is None:
        launched(p, INFORMATION, [wanted, model, points, matrix, scale], M, options, Space.of(p, K, model), (3, 4), cost=1e6)
    else:
        p.source.information(p, wanted, model, points, matrix, scale, options)
    return np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), 1, 2), scale, moves


def _carried_over(own, model, d):
    """Derivatives of all coordinates, from those of each covariance by its own parameters (K, own, own)."""
    K, size = own.shape[:2]
    p, first = free_of.py_func(K, model, d)
    out = np.zeros((first + K * size, p))
    out[:first, :first] = np.eye(first)
    for k in range(K):
        at = [parameter.py_func(k, c, first, K, model, d) for c in range(size)]
        out[first + k * size : first + (k + 1) * size, at] = own[k]
    return out


def spread_of(p, wanted, points, model, options):
    """Sums (M, P, P) of squares of the scores of rows, of fits to data sets `wanted`; of covariances without parts in common."""
    M, K = wanted.size, points.means.shape[1]
    size = counts.py_func(K, model, p.rows.columns)[2]
    matrix = np.zeros((M, size, size))
    launched(p, SPREAD, [wanted, model, points, matrix], M, options, Space.of(p, K, model), (3,), cost=1e6)
    return matrix + np.swapaxes(np.tril(matrix, -1), 1, 2)


def covariance_of(information, scale, weights, covariances, model, carry=None, spread=None):
    """Covariance of (weights, means, lower triangles of covariances) of one fit; NaN where the information is not definite.

    `carry` are the derivatives of the coordinates by those of a model with parts in common. With the `spread` of the scores the
    sandwich, which holds whatever the rows are distributed like.
    """
    slopes = slopes_of(weights, covariances, model, scale.size if carry is None else len(carry))
    if carry is not None:
        slopes, spread = slopes @ carry, None if spread is None else carry.T @ spread @ carry
    found = inverse(information)
    if spread is not None:
        found = carried(spread / scale / scale[:, None], found)
    return carried(found, slopes / scale)


def slopes_of(weights, covariances, model, count):
    """Derivatives of (weights, means, lower triangles of covariances) by so many local coordinates."""
    K, d = len(weights), covariances.shape[1]
    low = np.tril_indices(d)
    size = low[0].size
    slopes = np.zeros((K + K * d + K * size, count))
    at = K if model.free_weights else 0
    if model.free_weights:
        slopes[:K, :K] = np.diag(weights) - np.outer(weights, weights)
    for k in range(K if model.free_means else 0):
        root = np.linalg.cholesky(covariances[k])
        slopes[K + k * d + np.arange(d)[:, None], at + k * d + np.arange(d)] = root
    at += K * d if model.free_means else 0
    own = (count - at) // (1 if model.pooled else K)
    for k in range(K):
        root = np.linalg.cholesky(covariances[k])
        rows = K + K * d + k * size + np.arange(size)
        first = at if model.pooled else at + k * own
        if model.shape == FULL:
            pairs = zip(*low, strict=True)
            moves = [np.outer(root[:, i], root[:, j]) for i, j in pairs]
            moves = [m + m.T if i != j else m for m, i, j in zip(moves, *low, strict=True)]
        elif model.shape == DIAGONAL:
            moves = [np.outer(root[:, i], root[:, i]) for i in range(d)]
        else:
            moves = [root @ root.T]
        for a, move in enumerate(moves):
            slopes[rows, first + a] = move[low]
    return slopes
