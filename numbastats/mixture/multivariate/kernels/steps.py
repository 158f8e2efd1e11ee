"""From moments to parameters: the M-step of every covariance model, its factors, and whether a point is admissible."""

from __future__ import annotations

import math
from typing import NamedTuple

from numbastats._core.climb import copy, copy_matrix
from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, congruent, extreme_eigenvalues, inverse_lower
from numbastats.mixture.multivariate.kernels.passes import FULL, SPHERICAL

_function = array_function(fastmath=("contract",), host=False)
NARROWEST = 1e-12  # of the pivots of the data: a component below it has collapsed
COLLAPSING = 1e-7  # the same of a climb that ends without an optimum


class Model(NamedTuple):
    """What kernels know of a covariance model, and of constraints."""

    shape: int  # FULL, DIAGONAL or SPHERICAL
    pooled: int  # whether all components have one covariance
    free_weights: int
    free_means: int = 1


class Facts(NamedTuple):
    """What kernels know of a data set."""

    columns: int  # without those that fill up to a multiple of four
    mass: float  # sum of the weights
    least: float  # weight below which a component has collapsed


@_function
def copy_point(source, target):
    """Copy all parameters."""
    copy(source.log_weights, target.log_weights)
    copy(source.heights, target.heights)
    copy_matrix(source.means, target.means)
    for k in range(source.means.shape[0]):
        copy_matrix(source.covariances[k], target.covariances[k])
        copy_matrix(source.factors[k], target.factors[k])


@_function
def factor(point, model, facts, pivots, L):
    """Factors and heights of a point from its covariances; False where a component has collapsed.

    `pivots` are those of Cholesky's method for the scatter of the whole data set.
    """
    d = facts.columns
    for k in range(point.means.shape[0]):
        cov, U = point.covariances[k], point.factors[k]
        if k > 0 and model.pooled > 0:
            copy_matrix(point.factors[0], U)
            point.heights[k] = point.heights[0] - point.log_weights[0] + point.log_weights[k]
            continue
        height = point.log_weights[k]
        if model.shape == FULL:
            if cholesky(cov, d, 0.0, L) < d:
                return False
            inverse_lower(L, d, U)
        else:
            for i in range(d):
                if not cov[i, i] > 0.0:
                    return False
                U[i, i] = 1.0 / math.sqrt(cov[i, i])
        for i in range(d):
            if not (U[i, i] * U[i, i] * pivots[i] * NARROWEST < 1.0):
                return False
            height += math.log(U[i, i])
        point.heights[k] = height
    return True


@_function
def _shaped(cov, model, columns):
    """Restrict a matrix, of which the lower triangle is there, to the model's shape."""
    if model.shape == FULL:
        for i in range(columns):
            for j in range(i):
                cov[j, i] = cov[i, j]
        return
    mean = 0.0
    for i in range(columns):
        mean += cov[i, i] / columns
        for j in range(i):
            cov[i, j] = 0.0
            cov[j, i] = 0.0
    if model.shape == SPHERICAL:
        for i in range(columns):
            cov[i, i] = mean


@_function
def m_step(sums, point, model, facts, pivots, L):
    """The point after a step of EM, in the place of that of the moments; False where a component has collapsed."""
    K, d = point.means.shape[0], facts.columns
    for k in range(K):
        if not sums.total[k] > facts.least:
            return False
    for k in range(K):
        n = sums.total[k]
        if model.free_weights > 0:
            point.log_weights[k] = math.log(n / facts.mass)
        first, second = sums.first[k], sums.second[k]
        into = point.covariances[0 if model.pooled > 0 else k]
        share = facts.mass if model.pooled > 0 else n
        for i in range(d):
            move = first[i] / n if model.free_means > 0 else 0.0
            point.means[k, i] += move
            for j in range(i + 1):
                value = (second[i, j] - move * first[j]) / share
                into[i, j] = value + (into[i, j] if k > 0 and model.pooled > 0 else 0.0)
        if model.pooled == 0:
            _shaped(into, model, d)
    if model.pooled > 0:
        _shaped(point.covariances[0], model, d)
        for k in range(1, K):
            copy_matrix(point.covariances[0], point.covariances[k])
    return factor(point, model, facts, pivots, L)


@_function
def narrow(point, model, facts, pivots):
    """Whether a point that is no optimum has all but collapsed."""
    for k in range(point.means.shape[0]):
        for i in range(facts.columns):
            u = point.factors[k, i, i] if model.pooled == 0 else point.factors[0, i, i]
            if not u * u * pivots[i] * COLLAPSING < 1.0:
                return True
    return False


@_function
def condition(point, facts, work):
    """The largest over the least eigenvalue of all covariances, in the metric of the pooled one.

    Also the largest of these ratios, where that of a component of n observations counts for less by the square of n / (10 d): few
    rows are narrow by chance, many are not.
    """
    K, d = point.means.shape[0], facts.columns
    pooled, L, U, out = work[0], work[1], work[2], work[3]
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(K):
                s += math.exp(point.log_weights[k]) * point.covariances[k, i, j]
            pooled[i, j] = s
    if cholesky(pooled, d, 0.0, L) < d:
        return math.inf, math.inf
    inverse_lower(L, d, U)
    low, high, least = math.inf, 0.0, math.inf
    for k in range(K):
        congruent(U, point.covariances[k], d, L, out)
        a, b = extreme_eigenvalues(out, d)
        many = max(1.0, math.exp(point.log_weights[k]) * facts.mass / (10.0 * d))
        low, least, high = min(low, a), min(least, a * many * many), max(high, b)
    return (high / low, high / least) if low > 0.0 else (math.inf, math.inf)
