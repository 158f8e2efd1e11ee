"""From moments to parameters: the M-step of every covariance model, its factors, and whether a point is admissible."""

from __future__ import annotations

import math
from typing import NamedTuple

from numbastats._core.climb import copy, copy_matrix
from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, congruent, extreme_eigenvalues, inverse_lower
from numbastats.mixture.multivariate.kernels.blocks import each, every, meet
from numbastats.mixture.multivariate.kernels.passes import FULL, SPHERICAL

_function = array_function(fastmath=("contract",), host=False)
NARROWEST = 1e-12  # of the pivots of the data: a component below it has collapsed
WORK = 5  # matrices of work space for each component
COLLAPSING = 1e-7  # the same of a climb that ends without an optimum


class Model(NamedTuple):
    """What kernels know of a covariance model, and of constraints."""

    shape: int  # FULL, DIAGONAL or SPHERICAL
    pooled: int  # whether all components have one covariance
    free_weights: int
    free_means: int = 1
    form: int = 0  # which parts of lambda D A D' all components have in common: bits of `forms`, 0 for none


class Facts(NamedTuple):
    """What kernels know of a data set."""

    columns: int  # without those that fill up to a multiple of four
    mass: float  # sum of the weights
    least: float  # weight below which a component has collapsed


@_function
def copy_point(source, target):
    """Copy all parameters."""
    K, d = source.means.shape
    meet()
    for k in each(K):
        target.log_weights[k], target.heights[k] = source.log_weights[k], source.heights[k]
        copy(source.means[k], target.means[k])
    for q in each(K * d):
        k, i = q // d, q % d
        copy(source.covariances[k, i], target.covariances[k, i])
        copy(source.factors[k, i], target.factors[k, i])
    meet()


@_function
def _factored(point, k, model, d, pivots, L):
    """The factor and the height of one component; False where it has collapsed."""
    cov, U, height = point.covariances[k], point.factors[k], point.log_weights[k]
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
def factor(point, model, facts, pivots, work):
    """Factors and heights of a point from its covariances; False where a component has collapsed.

    `pivots` are those of Cholesky's method for the scatter of the whole data set; `work` (K, WORK, d, d).
    """
    K, d, good = point.means.shape[0], facts.columns, True
    meet()
    for k in each(1 if model.pooled > 0 else K):
        good = good and _factored(point, k, model, d, pivots, work[k, 0])
    if not every(good):
        return False
    for k in each(1, K if model.pooled > 0 else 1):
        copy_matrix(point.factors[0], point.factors[k])
        point.heights[k] = point.heights[0] - point.log_weights[0] + point.log_weights[k]
    meet()
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
def estimates(sums, point, model, facts):
    """Weights, means and covariances by the moments about the old means; False where a component has too few observations."""
    K, d = point.means.shape[0], facts.columns
    own = 1 if model.pooled > 0 else K
    good = True
    for k in each(K):
        good = good and sums.total[k] > facts.least
    if not every(good):
        return False
    for k in each(K):
        if model.free_weights > 0:
            point.log_weights[k] = math.log(sums.total[k] / facts.mass)
        for i in range(d):
            point.means[k, i] += sums.first[k, i] / sums.total[k] if model.free_means > 0 else 0.0
    for q in each(own * d):
        k, i = q // d, q % d
        share = facts.mass if model.pooled > 0 else sums.total[k]
        for j in range(i + 1):
            value = 0.0
            for m in range(k, K if model.pooled > 0 else k + 1):
                move = sums.first[m, i] / sums.total[m] if model.free_means > 0 else 0.0
                value += (sums.second[m, i, j] - move * sums.first[m, j]) / share
            point.covariances[k, i, j] = value
    meet()
    for k in each(own):
        _shaped(point.covariances[k], model, d)
    meet()
    for k in each(1, K if model.pooled > 0 else 1):
        copy_matrix(point.covariances[0], point.covariances[k])
    return True


@_function
def m_step(sums, point, model, facts, pivots, work):
    """The point after a step of EM, in the place of that of the moments; False where a component has collapsed."""
    return estimates(sums, point, model, facts) and factor(point, model, facts, pivots, work)


@_function
def narrow(point, model, facts, pivots):
    """Whether a point that is no optimum has all but collapsed."""
    wide = True
    for k in each(point.means.shape[0]):
        for i in range(facts.columns):
            u = point.factors[k, i, i] if model.pooled == 0 else point.factors[0, i, i]
            wide = wide and u * u * pivots[i] * COLLAPSING < 1.0
    return not every(wide)


@_function
def condition(point, facts, work):
    """The largest over the least eigenvalue of all covariances, in the metric of the pooled one.

    Also the largest of these ratios, where that of a component of n observations is divided by the square of n / (10 d): few rows
    are narrow by chance, many are not. `work` is (K, WORK, d, d).
    """
    K, d = point.means.shape[0], facts.columns
    pooled, L, U = work[0, 0], work[0, 1], work[0, 2]
    meet()
    for i in each(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(K):
                s += math.exp(point.log_weights[k]) * point.covariances[k, i, j]
            pooled[i, j] = s
    meet()
    good = True
    for _ in each(1):
        good = cholesky(pooled, d, 0.0, L) == d
        if good:
            inverse_lower(L, d, U)
    if not every(good):
        return math.inf, math.inf
    for k in each(K):
        found, out = work[k, 3], work[k, 4]
        congruent(U, point.covariances[k], d, found, out)
        found[0, 0], found[0, 1] = extreme_eigenvalues(out, d)
    meet()
    low, high, least = math.inf, 0.0, math.inf
    for k in range(K):
        a, b = work[k, 3, 0, 0], work[k, 3, 0, 1]
        many = math.exp(point.log_weights[k]) * facts.mass / (10.0 * d)
        low, least, high = min(low, a), min(least, a * many * many), max(high, b)
    meet()
    return (high / low, high / least) if low > 0.0 else (math.inf, math.inf)
