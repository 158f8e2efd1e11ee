"""Standard errors: the observed information of local coordinates, carried to weights, means and covariances."""

from __future__ import annotations

import numpy as np

from numbastats._core.information import carried, inverse
from numbastats.mixture.multivariate.kernels.information import INFORMATION
from numbastats.mixture.multivariate.kernels.newton import counts
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL
from numbastats.mixture.multivariate.kernels.spread import SPREAD
from numbastats.mixture.multivariate.launching import Space, launched

__all__ = ["coordinates", "covariance_of", "entropies", "exact", "information_of", "spread_of"]

EXACT = 400  # free parameters up to which the information is a matrix


def coordinates(K, d, model):
    """How many local coordinates there are, weights that add up to 1 counted as K."""
    return counts.py_func(K, model, d)[2]


def entropies(r):
    """Entropies of the responsibilities of rows (n, K)."""
    return -(r * np.log(np.maximum(r, 1e-300))).sum(axis=1)


def exact(free):
    """Whether fits of so many free parameters are certified by the matrix of second derivatives."""
    return free <= EXACT


def information_of(p, wanted, points, model, options):
    """Information (M, P, P) of fits to data sets `wanted`, in units of the complete data's (M, P)."""
    M, K = wanted.size, points.means.shape[1]
    size = coordinates(K, p.rows.columns, model)
    matrix, scale = np.zeros((M, size, size)), np.zeros((M, size))
    if p.source is None:
        launched(p, INFORMATION, [wanted, model, points, matrix, scale], M, options, Space.of(p, K, model), (3, 4), cost=1e6)
    else:
        p.source.information(p, wanted, model, points, matrix, scale, options)
    return np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), 1, 2), scale


def spread_of(p, wanted, points, model, options):
    """Sums (M, P, P) of squares of the scores of rows, of fits to data sets `wanted`."""
    M, K = wanted.size, points.means.shape[1]
    size = coordinates(K, p.rows.columns, model)
    matrix = np.zeros((M, size, size))
    launched(p, SPREAD, [wanted, model, points, matrix], M, options, Space.of(p, K, model), (3,), cost=1e6)
    return matrix + np.swapaxes(np.tril(matrix, -1), 1, 2)


def covariance_of(information, scale, weights, covariances, model, spread=None):
    """Covariance of (weights, means, lower triangles of covariances) of one fit; NaN where the information is not definite.

    With the `spread` of the scores the sandwich, which holds whatever the rows are distributed like.
    """
    K, d = len(weights), covariances.shape[1]
    low = np.tril_indices(d)
    size = low[0].size
    slopes = np.zeros((K + K * d + K * size, scale.size))
    at = K if model.free_weights else 0
    if model.free_weights:
        slopes[:K, :K] = np.diag(weights) - np.outer(weights, weights)
    for k in range(K if model.free_means else 0):
        root = np.linalg.cholesky(covariances[k])
        slopes[K + k * d + np.arange(d)[:, None], at + k * d + np.arange(d)] = root
    at += K * d if model.free_means else 0
    own = (scale.size - at) if model.pooled else (scale.size - at) // K
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
    found = inverse(information)
    if spread is not None:
        found = carried(spread / scale / scale[:, None], found)
    return carried(found, slopes / scale)
