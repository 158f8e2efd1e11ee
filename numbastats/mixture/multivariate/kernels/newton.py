"""Observed information in local coordinates, and the step of Newton's method.

About a point with covariances A A' the coordinates of a component are a move A delta of its mean, and a covariance
A exp(Omega) A'. Scores are then z = A^-1 (x - m) and (z z' - I)/2; the complete data have the information n_k for each element of
delta and for each pair of Omega, n_k/2 on its diagonal, and mass times weight for the logarithm of a weight. Diagonal, spherical
and common covariances are linear subspaces: the Omega of all components are diagonal, multiples of I, or equal. So the
information of every model comes from the same sums, and neither it nor Newton's decrement depends on units or, of full
covariances, on rotations. A row that belongs to one component alone adds as much to one of Louis' sums as to the other: these are
made of the other rows.

By T. Louis' formula (J. R. Statist. Soc. B 44, 1982) information is C - sum_k sum r s s' + sum v v', v = sum_k r_k s_k; C is the
complete data's. In units of C it is I - M, with M the rates at which EM converges. With weights that are free the direction in
which all their logarithms move together has the eigenvalue 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numbastats._core.climb import copy
from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky, congruent
from numbastats.mixture.multivariate.kernels.blocks import each, meet, solved, total
from numbastats.mixture.multivariate.kernels.passes import (
    DIAGONAL,
    FAST,
    FULL,
    LANES,
    add_moments,
    centred,
    cleared,
    log_terms,
    moments,
    no_moments,
    responsible,
)
from numbastats.mixture.multivariate.kernels.steps import copy_point, factor

_function = array_function(fastmath=("contract",), host=False)
_passing = array_function(fastmath=FAST, host=False)
SURE = 1e-13  # what a row that belongs to one component may give to all others
LONGEST = 1.0  # step of a logarithm of a weight, of Omega; of delta thrice as long


class Features(NamedTuple):
    """Buffers and sums of the information; P parameters and q features, filled up to multiples of four."""

    z: object  # (d, LANES)
    of_component: object  # (q, LANES)
    of_row: object  # (P, LANES)
    own: object  # (q, q): sums of r s s'
    own_first: object  # (q,)
    cross: object  # (P, P): sums of v v'
    cross_first: object  # (P,)
    place: object  # (K, q): which parameter a feature's coefficient is, -1 for none
    x: object  # (d * LANES,): doubtful rows, their responsibilities (K, LANES), their weights (LANES,)
    r: object
    w: object


class Newton(NamedTuple):
    """Gradient and information in units of the complete data's, at a trial and at the best point."""

    slope: object  # (2, P)
    matrix: object  # (2, P, P)
    scale: object  # (2, P): roots of the complete data's information
    root: object  # (P, P)
    step: object  # (P,)


@_function
def counts(K, model, d):
    """Coordinates of a covariance, features of a component in fours, and parameters, weights that add up to 1 counted as K."""
    own = d * (d + 1) // 2 if model.shape == FULL else d if model.shape == DIAGONAL else 1
    means = K * d if model.free_means > 0 else 0
    p = (K if model.free_weights > 0 else 0) + means + (own if model.pooled > 0 else K * own)
    return own, (1 + d + own + 3) // 4 * 4, p


@_function
def places(K, model, d, place):
    """Write which parameter each feature of a component belongs to, -1 for those that fill up."""
    own, free, means = counts(K, model, d)[0], model.free_weights > 0, d if model.free_means > 0 else 0
    first = K if free else 0
    for k in each(K):
        place[k, :] = -1
        if free:
            place[k, 0] = k
        for i in range(means):
            place[k, 1 + i] = first + k * d + i
        for i in range(own):
            place[k, 1 + d + i] = first + K * means + (0 if model.pooled > 0 else k * own) + i
    meet()


@_passing
def standardised(c, y, U, shape, d, z):
    """z = U y."""
    for i in range(d):
        out = z[i]
        for j in each(c):
            out[j] = U[i, i] * y[i, j]
        if shape == FULL:
            for m in range(i):
                u, a = U[i, m], y[m]
                for j in each(c):
                    out[j] += u * a[j]


@_passing
def _featured(c, z, shape, d, F):
    """The scores of a component by weight, mean and covariance."""
    one = F[0]
    for j in each(c):
        one[j] = 1.0
    for i in range(d):
        a, b = z[i], F[1 + i]
        for j in each(c):
            b[j] = a[j]
    if shape == FULL:
        at = 1 + d
        for i in range(d):
            a = z[i]
            for m in range(i):
                b, out = z[m], F[at]
                for j in each(c):
                    out[j] = a[j] * b[j]
                at += 1
            out = F[at]
            for j in each(c):
                out[j] = 0.5 * a[j] * a[j] - 0.5
            at += 1
    elif shape == DIAGONAL:
        for i in range(d):
            a, out = z[i], F[1 + d + i]
            for j in each(c):
                out[j] = 0.5 * a[j] * a[j] - 0.5
    else:
        out = F[1 + d]
        for j in each(c):
            out[j] = -0.5 * d
        for i in range(d):
            a = z[i]
            for j in each(c):
                out[j] += 0.5 * a[j] * a[j]


@_passing
def _into_rows(c, r, F, place, V):
    """Add r times a component's features to the rows' scores, and weight r."""
    for a in range(place.size):
        if place[a] >= 0:
            f, v = F[a], V[place[a]]
            for j in each(c):
                v[j] += r[j] * f[j]


@_passing
def _doubtful(c, x, w, lanes, f):
    """Gather the rows of a tile that do not belong to one component alone; returns how many, filled up to a multiple of eight."""
    at, sure, count = lanes.at, lanes.sum, 0
    meet()
    for j in range(c):  # by all threads alike
        at[count] = j
        count += 1 if sure[j] < 1.0 - SURE and w[j] > 0.0 else 0
    several = (count + 7) // 8 * 8 if count > 0 else 0
    meet()
    for j in each(count, several):
        at[j] = 0
    meet()
    for i in range(lanes.y.shape[0]):
        a, b = x[i * c : (i + 1) * c], f.x[i * several : (i + 1) * several]
        for j in each(several):
            b[j] = a[at[j]]
    for k in range(lanes.logs.shape[0]):
        a, b = lanes.logs[k], f.r[k]
        for j in each(several):
            b[j] = a[at[j]]
    for j in each(several):
        f.w[j] = w[at[j]] if j < count else 0.0
    meet()
    return several


@_passing
def information_sums(x, w, point, model, facts, lanes, features, newton, sums, work):
    """Log-likelihood without powers of 2 pi; gradient and information go into the first place of `newton`, counts into `sums`."""
    K, d = point.means.shape[0], facts.columns
    f, filled = features, point.means.shape[1]
    slope, matrix, scale = newton.slope[0], newton.matrix[0], newton.scale[0]
    p = newton.step.size
    meet()
    for a in each(p):
        slope[a], scale[a] = 0.0, 0.0
    for a in each(f.cross_first.size):
        f.cross_first[a] = 0.0
    cleared(matrix)
    cleared(f.cross)
    no_moments(sums)
    loglik = 0.0
    for lo in range(0, w.size, LANES):
        c = min(LANES, w.size - lo)
        part, weights = x[lo * filled : (lo + c) * filled], w[lo : lo + c]
        log_terms(c, part, point, model.shape, lanes)
        loglik += responsible(c, weights, lanes)
        many = c
        c = _doubtful(many, part, weights, lanes, f)
        add_moments(many, part, weights, point, model.shape, lanes, sums)
        if c == 0:
            continue
        V, F = f.of_row, f.of_component
        for a in range(V.shape[0]):
            v = V[a]
            for j in each(c):
                v[j] = 0.0
        for k in range(K):
            r, place = f.r[k], f.place[k]
            centred(c, f.x, point.means[k], lanes.y)
            standardised(c, lanes.y, point.factors[k], model.shape, d, f.z)
            _featured(c, f.z, model.shape, d, F)
            _into_rows(c, r, F, place, V)
            for j in each(c):
                r[j] *= f.w[j]
            cleared(f.own)
            for a in each(f.own_first.size):
                f.own_first[a] = 0.0
            moments(c, r, F, FULL, lanes.four, f.own_first, f.own)
            for a in each(place.size):
                if place[a] >= 0:
                    row = matrix[place[a]]
                    for b in range(a + 1):
                        if place[b] >= 0:
                            row[place[b]] -= f.own[a, b]
        moments(c, f.w, V, FULL, lanes.four, f.cross_first, f.cross)
    meet()
    for a in each(p):  # places rise with features, so that all is in the lower triangle
        for b in range(a + 1):
            matrix[a, b] += f.cross[a, b]
    slopes(point, model, facts, sums, features, slope, work)
    in_units(point, model, facts, sums, features, newton)
    for a in each(p):
        for b in range(a + 1):
            matrix[a, b] = matrix[a, b] / scale[a] / scale[b]
        matrix[a, a] += 1.0
    meet()
    return total(loglik, lanes.share)


@_passing
def score_squares(x, w, point, model, facts, lanes, features):
    """Sums of w v v' over all rows go into `features.cross`, v the derivatives of a row's log density.

    v has not the expectation of a logarithm of a weight in it: the sum of v is 0 at a maximum.
    """
    f, filled, V, F = features, point.means.shape[1], features.of_row, features.of_component
    meet()
    for a in each(f.cross_first.size):
        f.cross_first[a] = 0.0
    cleared(f.cross)
    meet()
    for lo in range(0, w.size, LANES):
        c = min(LANES, w.size - lo)
        part, weights = x[lo * filled : (lo + c) * filled], w[lo : lo + c]
        log_terms(c, part, point, model.shape, lanes)
        responsible(c, weights, lanes)
        for a in range(V.shape[0]):
            v = V[a]
            for j in each(c):
                v[j] = 0.0
        for k in range(point.means.shape[0]):
            place = f.place[k]
            centred(c, part, point.means[k], lanes.y)
            standardised(c, lanes.y, point.factors[k], model.shape, facts.columns, f.z)
            _featured(c, f.z, model.shape, facts.columns, F)
            _into_rows(c, lanes.logs[k], F, place, V)
            if model.free_weights > 0:
                v, share = V[place[0]], math.exp(point.log_weights[k])
                for j in each(c):
                    v[j] -= share
        moments(c, weights, V, FULL, lanes.four, f.cross_first, f.cross)
    meet()


@_function
def _pair_of(f):
    """Row and column of an element of a lower triangle, counted row by row."""
    i = int((math.sqrt(8.0 * f + 1.0) - 1.0) * 0.5)
    return i, f - i * (i + 1) // 2


@_function
def _slope_of(f, k, shape, d, second, U, own, n):
    """What the moments of a component give to the derivative by one of its covariance's coordinates."""
    if shape == FULL:
        i, m = _pair_of(f)
        return 0.5 * (second[i, i] - n) if i == m else second[i, m]
    if shape == DIAGONAL:
        return 0.5 * (U[f, f] * U[f, f] * own[f, f] - n)
    s = 0.0
    for i in range(d):
        s += 0.5 * (U[i, i] * U[i, i] * own[i, i] - n)
    return s


@_function
def slopes(point, model, facts, sums, features, slope, work):
    """The gradient before the complete data's share of it, from the moments of all rows."""
    K, d, place, shape = point.means.shape[0], facts.columns, features.place, model.shape
    for k in each(K):
        U = point.factors[k]
        if model.free_weights > 0:
            slope[place[k, 0]] = sums.total[k]
        for i in range(d if model.free_means > 0 else 0):
            s = 0.0
            for m in range(i + 1 if shape == FULL else 0):
                s += U[i, m] * sums.first[k, m]
            slope[place[k, 1 + i]] = s if shape == FULL else U[i, i] * sums.first[k, i]
        if shape == FULL:
            congruent(U, sums.second[k], d, work[k, 1], work[k, 0])
    meet()
    own = counts(K, model, d)[0]
    for q in each(own if model.pooled > 0 else K * own):
        k, f, s = q // own, q % own, 0.0
        for m in range(k, K if model.pooled > 0 else k + 1):
            s += _slope_of(f, m, shape, d, work[m, 0], point.factors[m], sums.second[m], sums.total[m])
        slope[place[k, 1 + d + f]] = s
    meet()


@_function
def _unit_of(f, shape, d):
    """The complete data's information about a coordinate of a covariance, for each observation."""
    if shape == FULL:
        i, m = _pair_of(f)
        return 0.5 if i == m else 1.0
    return 0.5 if shape == DIAGONAL else 0.5 * d


@_function
def in_units(point, model, facts, sums, features, newton):
    """The gradient in units of the complete data's information, and these."""
    K, d, shape = point.means.shape[0], facts.columns, model.shape
    slope, scale, place = newton.slope[0], newton.scale[0], features.place
    for k in each(K):
        if model.free_weights > 0:
            expected = facts.mass * math.exp(point.log_weights[k])
            slope[place[k, 0]] -= expected
            scale[place[k, 0]] = expected
        for i in range(d if model.free_means > 0 else 0):
            scale[place[k, 1 + i]] = sums.total[k]
    own = counts(K, model, d)[0]
    for q in each(own if model.pooled > 0 else K * own):
        k, f, s = q // own, q % own, 0.0
        for m in range(k, K if model.pooled > 0 else k + 1):
            s += _unit_of(f, shape, d) * sums.total[m]
        scale[place[k, 1 + d + f]] = s
    meet()
    for a in each(newton.step.size):
        scale[a] = math.sqrt(scale[a])
        slope[a] = slope[a] / scale[a]
    meet()


@_function
def _moved_weight(source, step, scale, model, place, share, k):
    """The logarithm of a weight after a step, before all are made to add up to 1."""
    if model.free_weights == 0:
        return source.log_weights[k]
    a = place[k, 0]
    return source.log_weights[k] + share * step[a] / scale[a]


@_function
def share_of_means(step, scale, model, d, place):
    """The share of a step that weights and means can take at once."""
    share = 1.0
    for k in range(place.shape[0]):
        if model.free_weights > 0:
            size = abs(step[place[k, 0]] / scale[place[k, 0]])
            share = min(share, 3.0 * LONGEST / size) if size > 3.0 * LONGEST else share
        size = 0.0
        for i in range(d if model.free_means > 0 else 0):  # as long in all directions
            size += (step[place[k, 1 + i]] / scale[place[k, 1 + i]]) ** 2
        size = math.sqrt(size)
        share = min(share, 3.0 * LONGEST / size) if size > 3.0 * LONGEST else share
    return share


@_function
def move_weights(source, step, scale, model, place, share, target):
    """Weights after a share of a step."""
    K, top, whole = place.shape[0], -math.inf, 0.0
    for k in range(K):
        top = max(top, _moved_weight(source, step, scale, model, place, share, k))
    for k in range(K):
        whole += math.exp(_moved_weight(source, step, scale, model, place, share, k) - top)
    for k in each(K):
        target.log_weights[k] = _moved_weight(source, step, scale, model, place, share, k) - (top + math.log(whole))


@_function
def moved(source, step, scale, model, facts, features, pivots, work, target):
    """The point after a step in local coordinates; False where a component has collapsed.

    Returns also the share of the step that was taken: exp(Omega) is I + Omega + Omega^2/2, which is positive definite.
    """
    K, d, place = source.means.shape[0], facts.columns, features.place
    share = share_of_means(step, scale, model, d, place)
    for k in range(K):
        size = 0.0
        for a in range(1 + d, place.shape[1]):
            if place[k, a] >= 0:
                v = step[place[k, a]] / scale[place[k, a]]
                size += v * v
        if model.shape == FULL:
            size *= 2.0
        size = math.sqrt(size)
        share = min(share, LONGEST / size) if size > LONGEST else share
    copy_point(source, target)
    move_weights(source, step, scale, model, place, share, target)
    for k in each(K):
        _move_component(k, source, step, scale, model, d, place[k], share, work[k], target)
    return factor(target, model, facts, pivots, work), share


@_function
def _move_component(k, source, step, scale, model, d, place, share, work, target):
    """Mean and covariance of a component after a step."""
    L, omega, second, out = work[0], work[1], work[2], work[3]
    if model.shape == FULL:
        cholesky(source.covariances[k], d, 0.0, L)
    else:
        for i in range(d):
            for j in range(i):
                L[i, j] = 0.0
            L[i, i] = math.sqrt(source.covariances[k, i, i])
    at = 1 + d
    for i in range(d):
        s = 0.0
        for j in range(i + 1 if model.free_means > 0 else 0):
            s += L[i, j] * step[place[1 + j]] / scale[place[1 + j]]
        target.means[k, i] += share * s
        for j in range(i):
            omega[i, j] = 0.0
            if model.shape == FULL:
                omega[i, j] = share * step[place[at]] / scale[place[at]]
                at += 1
            omega[j, i] = omega[i, j]
        omega[i, i] = share * step[place[at]] / scale[place[at]]
        at += 1 if model.shape <= DIAGONAL else 0
    if model.shape != FULL:
        for i in range(d):
            v = omega[i, i]
            target.covariances[k, i, i] = L[i, i] * L[i, i] * (1.0 + v + 0.5 * v * v)
        return
    _exponential(omega, second, d)
    for i in range(d):  # L exp(Omega) L'
        for j in range(d):
            s = 0.0
            for m in range(i + 1):
                s += L[i, m] * second[m, j]
            out[i, j] = s
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for m in range(j + 1):
                s += out[i, m] * L[j, m]
            target.covariances[k, i, j] = s
            target.covariances[k, j, i] = s


@_function
def _exponential(omega, out, d):
    """I + omega + omega^2/2."""
    for i in range(d):
        for j in range(d):
            s = 0.0
            for m in range(d):
                s += omega[i, m] * omega[m, j]
            out[i, j] = omega[i, j] + 0.5 * s + (1.0 if i == j else 0.0)


@_function
def keep(newton):
    """The gradient and information of the trial point become those of the best point."""
    meet()
    for a in each(newton.step.size):
        newton.slope[1, a], newton.scale[1, a] = newton.slope[0, a], newton.scale[0, a]
        copy(newton.matrix[0, a], newton.matrix[1, a])
    meet()


@_function
def least_eigenvalue(L, n, v, w):
    """The least eigenvalue of L L', by inverse iteration; v and w are work space."""
    meet()
    for i in each(n):
        v[i] = 1.0 + 0.37 * ((i * 7919) % 101) / 101.0
    value = 0.0
    for _ in range(60):
        meet()
        squares = 0.0
        for i in range(n):
            squares += v[i] * v[i]
        meet()
        for i in each(n):
            v[i] /= math.sqrt(squares)
        solved(L, n, v, w)
        product = 0.0
        for i in range(n):
            product += v[i] * w[i]
        new = 1.0 / product
        meet()
        for i in each(n):
            v[i] = w[i]
        if abs(new - value) <= 1e-9 * new:
            return new
        value = new
    return value
