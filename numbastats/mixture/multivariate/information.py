"""Standard errors: the observed information of local coordinates, carried to weights, means and covariances."""

from __future__ import annotations

import numpy as np

from numbastats._core.information import carried, inverse
from numbastats.mixture.engine import run
from numbastats.mixture.multivariate.kernels.forms import FORM_ERRORS, free_of, parameter
from numbastats.mixture.multivariate.kernels.information import INFORMATION
from numbastats.mixture.multivariate.kernels.newton import counts
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL
from numbastats.mixture.multivariate.launching import Space, launched, on_the_host

__all__ = ["certain", "coordinates", "covariance_of", "entropies", "exact", "information_of"]

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

    And of models with parts in common how their parameters move the covariances (M, K, own, own), else None.
    """
    M, K, d = wanted.size, points.means.shape[1], p.rows.columns
    size, moves = coordinates(K, d, model), None
    matrix, scale = np.zeros((M, size, size)), np.zeros((M, size))
    if model.form:
        own = counts.py_func(K, model, d)[0]
        moves = np.zeros((M, K, own, own))
        run(FORM_ERRORS, [p.rows, wanted, model, points, matrix, scale, moves], M, on_the_host(options), (), cost=1e6)
    elif p.source is None:
        launched(p, INFORMATION, [wanted, model, points, matrix, scale], M, options, Space.of(p, K, model), (3, 4), cost=1e6)
    else:
        p.source.information(p, wanted, model, points, matrix, scale, options)
    return np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), 1, 2), scale, [None] * M if moves is None else moves


def covariance_of(information, scale, weights, covariances, model, moves=None):
    """Covariance of (weights, means, lower triangles of covariances) of one fit; NaN where the information is not definite."""
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
    for k in range(K):
        own = _moves(np.linalg.cholesky(covariances[k]), model)[:, low[0], low[1]].T
        rows = K + K * d + k * size + np.arange(size)
        places = at + (0 if model.pooled else k * own.shape[1]) + np.arange(own.shape[1])
        if moves is not None:
            own, places = own @ moves[k], [parameter.py_func(k, c, at, K, model, d) for c in range(own.shape[1])]
        slopes[rows[:, None], places] = own
    return carried(inverse(information), slopes / scale)


def _moves(root, model):
    """What the coordinates of Omega do to a covariance root root'."""
    d = len(root)
    if model.shape == FULL:
        moves = [np.outer(root[:, i], root[:, j]) for i, j in zip(*np.tril_indices(d), strict=True)]
        return np.array([m + m.T if i != j else m for m, i, j in zip(moves, *np.tril_indices(d), strict=True)])
    if model.shape == DIAGONAL:
        return np.array([np.outer(root[:, i], root[:, i]) for i in range(d)])
    return (root @ root.T)[None]
