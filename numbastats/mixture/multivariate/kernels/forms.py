"""Covariances lambda D A D' of which components have some parts in common: M-steps, tangents, and steps along these.

Volume lambda, shape A and axes D are common or a component's own, by the bits of `Model.form`. Of the models with axes apart from
shapes, EEV, VEV, EVE and VVE, local coordinates move D exp(S) diag(a exp(v)) exp(-S) D', S antisymmetric, v one number for the
volume and a rest that adds up to 0 for the shape. EVI, VEI, EVV and VEE are linear in Omega (see `newton`): traces are common,
or all that is left without them. The information of covariances without parts in common is carried over by the first derivatives
of these moves, and the second ones come with the gradient: what is certified is the Hessian along the manifold.

M-steps: G. Celeux, G. Govaert (Pattern Recognition 28, 1995), with inner rounds that begin where the last step ended. Common axes
are turned plane by plane to where the likelihood is largest for given variances along them, as by B. Flury and
W. Gautschi (SIAM J. Sci. Stat. Comput. 7, 1986).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.climb import copy, copy_matrix
from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import HostLoop, array_function, bind
from numbastats.mixture.multivariate.kernels.algebra import cholesky, congruent, inverse_lower
from numbastats.mixture.multivariate.kernels.climb import advance_em, advance_newton, split_climb
from numbastats.mixture.multivariate.kernels.memory import features_of, lanes_of, new_memory, newton_of, spare_point, sums_of
from numbastats.mixture.multivariate.kernels.newton import (
    LONGEST,
    Newton,
    counts,
    information_sums,
    move_weights,
    places,
    share_of_means,
)
from numbastats.mixture.multivariate.kernels.passes import FAST, FULL, em_sums, point_of, rows_of
from numbastats.mixture.multivariate.kernels.records import (
    DONE,
    EM,
    NEWTON,
    STATE_TYPE,
    batch_type,
    facts_of,
    model_type,
    point_type,
    ranges,
    settings_type,
)
from numbastats.mixture.multivariate.kernels.steps import condition, copy_point, estimates, factor

VOLUME, SHAPE, AXES, APART = 1, 2, 4, 8  # what is common; whether axes are turned apart from shapes
ROUNDS = 2  # of inner loops in a step of EM
SWEEPS = 30  # of rotations at most
ANGLE = 0.5  # largest turn of a step

_function = array_function(fastmath=("contract",), host=False)
_making = array_function(fastmath=("contract",), host=False, allocates=True)


# --- coordinates -----------------------------------------------------------------------------------------------------------


@_function
def free_of(K, model, d):
    """Parameters of weights (K where they are free), means and covariances, and where those of covariances begin."""
    first = (K if model.free_weights > 0 else 0) + (K * d if model.free_means > 0 else 0)
    planes = d * (d - 1) // 2 if model.shape == FULL else 0
    of_shapes = (d - 1) * (1 if model.form & SHAPE else K)
    return first + (1 if model.form & VOLUME else K) + of_shapes + planes * (1 if model.form & AXES else K), first


@_function
def parameter(k, c, first, K, model, d):
    """Which parameter coordinate c of a covariance is: volume, then d - 1 of the shape, then a plane each."""
    if c == 0:
        return first + (0 if model.form & VOLUME else k)
    at = first + (1 if model.form & VOLUME else K)
    if c < d:
        return at + c - 1 + (0 if model.form & SHAPE else k * (d - 1))
    at += (d - 1) * (1 if model.form & SHAPE else K)
    return at + c - d + (0 if model.form & AXES else k * (d * (d - 1) // 2))


@_function
def _spread(c, i):
    """Element i of a direction of logarithms of variances: c = 0 moves all, others add up to 0 (Helmert's)."""
    if c == 0:
        return 1.0
    size = math.sqrt(c * (c + 1.0))
    return 1.0 / size if i < c else -c / size if i == c else 0.0


@_function
def _plane(c):
    """The axes i > j of a plane."""
    i = int((math.sqrt(8.0 * c + 1.0) + 1.0) * 0.5)
    return i, c - i * (i - 1) // 2


# --- axes ------------------------------------------------------------------------------------------------------------------


@_function
def _turned(A, d, p, q, c, s):
    """Turn rows and columns p and q of a symmetric matrix: column p becomes c p - s q."""
    for m in range(d):
        a, b = A[m, p], A[m, q]
        A[m, p], A[m, q] = c * a - s * b, s * a + c * b
    for m in range(d):
        a, b = A[p, m], A[q, m]
        A[p, m], A[q, m] = c * a - s * b, s * a + c * b


@_function
def _turned_axes(D, d, p, q, c, s):
    for m in range(d):
        a, b = D[m, p], D[m, q]
        D[m, p], D[m, q] = c * a - s * b, s * a + c * b


@_function
def _unit(D, d):
    for i in range(d):
        for j in range(d):
            D[i, j] = 1.0 if i == j else 0.0


@_function
def axes(A, d, D):
    """Axes D of a positive definite matrix, which becomes diagonal, the largest first; small eigenvalues have digits, too."""
    _unit(D, d)
    for _sweep in range(SWEEPS):
        left = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                if abs(A[p, q]) > 1e-15 * math.sqrt(A[p, p] * A[q, q]):
                    left = True
                    tau = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                    t = (1.0 if tau >= 0.0 else -1.0) / (abs(tau) + math.sqrt(1.0 + tau * tau))
                    c = 1.0 / math.sqrt(1.0 + t * t)
                    _turned(A, d, p, q, c, t * c)
                    _turned_axes(D, d, p, q, c, t * c)
                    A[p, q], A[q, p] = 0.0, 0.0
        if not left:
            break
    for i in range(d):
        top = i
        for j in range(i + 1, d):
            top = j if A[j, j] > A[top, top] else top
        A[i, i], A[top, top] = A[top, top], A[i, i]
        for m in range(d):
            D[m, i], D[m, top] = D[m, top], D[m, i]


@_function
def _seen(S, D, d, scratch, out):
    """D' S D."""
    for i in range(d):
        for j in range(d):
            s = 0.0
            for m in range(d):
                s += S[i, m] * D[m, j]
            scratch[i, j] = s
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for m in range(d):
                s += D[m, i] * scratch[m, j]
            out[i, j] = s
            out[j, i] = s


@_function
def _sweep(mass, d, work):
    """Turn the common axes (work[0, 1]) plane by plane to where the variances along them (work[k, 2, 0]) are likeliest.

    Of matrices as these axes see them, work[k, 3]; returns the largest sine.
    """
    K, largest, D = work.shape[0], 0.0, work[0, 1]
    for p in range(d - 1):
        for q in range(p + 1, d):
            a, b = 0.0, 0.0
            for k in range(K):
                M, apart = work[k, 3], mass[k] * (1.0 / work[k, 2, 0, p] - 1.0 / work[k, 2, 0, q])
                a += apart * (M[p, p] - M[q, q])
                b += 2.0 * apart * M[p, q]
            if a == 0.0 and b == 0.0:
                continue
            turn = 0.5 * math.atan2(b, -a)
            c, s = math.cos(turn), math.sin(turn)
            largest = max(largest, abs(s))
            for k in range(K):
                _turned(work[k, 3], d, p, q, c, s)
            _turned_axes(D, d, p, q, c, s)
    return largest


@_function
def frames(point, model, d, work):
    """What a point on the manifold, or near it, is made of: axes work[k, 1], variances along them work[k, 2, 0].

    And the logarithms of the mean variances, work[k, 2, 1, 0].
    """
    K = point.means.shape[0]
    for k in range(K):
        s = 0.0
        for i in range(d):
            s -= 2.0 * math.log(point.factors[k, i, i]) / d
        work[k, 2, 1, 0] = s
    if model.shape != FULL or not model.form & APART:
        for k in range(K):
            for i in range(d):
                work[k, 2, 0, i] = point.covariances[k, i, i]
        return
    if not model.form & AXES:
        for k in range(K):
            copy_matrix(point.covariances[k], work[k, 3])
            axes(work[k, 3], d, work[k, 1])
            for i in range(d):
                work[k, 2, 0, i] = work[k, 3, i, i]
        return
    whole, D = work[0, 0], work[0, 1]
    for i in range(d):
        for j in range(d):
            s = 0.0
            for k in range(K):  # by unlike shares, so that different axes do not cancel
                s += point.covariances[k, i, j] * math.exp(-work[k, 2, 1, 0]) / (1.0 + 0.37 * k)
            whole[i, j] = s
    axes(whole, d, D)
    for k in range(K):
        _seen(point.covariances[k], D, d, work[k, 0], work[k, 3])
    for _ in range(SWEEPS):
        for k in range(K):
            for i in range(d):
                work[k, 2, 0, i] = work[k, 3, i, i]
            work[k, 4, 0, 0] = 1.0
        if _sweep(work[:, 4, 0, 0], d, work) < 1e-9:
            break
    for k in range(K):
        for i in range(d):
            work[k, 2, 0, i] = work[k, 3, i, i]
        if k > 0:
            copy_matrix(D, work[k, 1])


# --- the M-step --------------------------------------------------------------------------------------------------------------


@_function
def _variances(mass, model, d, work):
    """Variances along given axes, work[k, 2, 0], of the matrices seen from these, whose diagonals are in work[k, 2, 2].

    Volumes that shapes are estimated with, and the other way round, begin as they were.
    """
    K, total = work.shape[0], 0.0
    for k in range(K):
        total += mass[k]
    if not model.form & SHAPE:
        common = 0.0
        for k in range(K):
            s = 0.0
            for i in range(d):
                s += math.log(work[k, 2, 2, i]) / d
            work[k, 2, 1, 0] = s
            common += mass[k] * math.exp(s) / total
        for k in range(K):
            share = common * math.exp(-work[k, 2, 1, 0]) if model.form & VOLUME else 1.0
            for i in range(d):
                work[k, 2, 0, i] = share * work[k, 2, 2, i]
        return
    for _ in range(1 if model.form & VOLUME else ROUNDS):
        volume = 0.0
        for i in range(d):
            s = 0.0
            for k in range(K):
                s += mass[k] / total * work[k, 2, 2, i] * (1.0 if model.form & VOLUME else math.exp(-work[k, 2, 1, 0]))
            work[0, 2, 3, i] = s
            volume += math.log(s) / d
        for k in range(K):
            s = 0.0
            for i in range(d):
                s += work[k, 2, 2, i] / (work[0, 2, 3, i] * math.exp(-volume)) / d
            work[k, 2, 1, 0] = volume if model.form & VOLUME else math.log(s)
    for k in range(K):
        for i in range(d):
            work[k, 2, 0, i] = work[0, 2, 3, i] * math.exp(work[k, 2, 1, 0] - volume)


@_function
def _log_volume(A, d, L):
    """Logarithm of the geometric mean of the eigenvalues; NaN of a matrix that is not positive definite."""
    if cholesky(A, d, 0.0, L) < d:
        return math.nan
    s = 0.0
    for i in range(d):
        s += 2.0 * math.log(L[i, i]) / d
    return s


@_function
def _scaled(A, d, share):
    for i in range(d):
        for j in range(d):
            A[i, j] *= share


@_function
def _of_one_piece(point, mass, model, d, work):
    """EVV and VEE: shapes and axes in one, C of determinant 1."""
    K, total, covs = point.means.shape[0], 0.0, point.covariances
    for k in range(K):
        total += mass[k]
    if model.form & VOLUME:
        common = 0.0
        for k in range(K):
            work[k, 2, 1, 0] = _log_volume(covs[k], d, work[k, 0])
            common += mass[k] * math.exp(work[k, 2, 1, 0]) / total
        for k in range(K):
            _scaled(covs[k], d, common * math.exp(-work[k, 2, 1, 0]))
        return common > 0.0
    whole, L, U = work[0, 1], work[0, 3], work[0, 4]
    for _ in range(ROUNDS):
        for i in range(d):
            for j in range(d):
                s = 0.0
                for k in range(K):
                    s += mass[k] / total * covs[k, i, j] * math.exp(-work[k, 2, 1, 0])
                whole[i, j] = s
        volume = _log_volume(whole, d, L)
        if not volume < math.inf:
            return False
        _scaled(whole, d, math.exp(-volume))
        _scaled(L, d, math.exp(-0.5 * volume))
        inverse_lower(L, d, U)
        for k in range(K):
            congruent(U, covs[k], d, work[k, 0], point.factors[k])
            s = 0.0
            for i in range(d):
                s += point.factors[k, i, i] / d
            work[k, 2, 1, 0] = math.log(s)
    for k in range(K):
        copy_matrix(whole, covs[k])
        _scaled(covs[k], d, math.exp(work[k, 2, 1, 0]))
        for i in range(d):
            for j in range(d):
                point.factors[k, i, j] = 0.0
    return True


@_function
def _assembled(D, a, d, out):
    """D diag(a) D'."""
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for m in range(d):
                s += D[i, m] * a[m] * D[j, m]
            out[i, j] = s
            out[j, i] = s


@_function
def form_step(sums, point, model, facts, pivots, work):
    """As `m_step`, of a form."""
    K, d, mass, good = point.means.shape[0], facts.columns, sums.total, True
    frames(point, model, d, work)
    if not estimates(sums, point, model, facts):
        return False
    covs = point.covariances
    for k in range(K):
        for i in range(d):
            good = good and covs[k, i, i] > 0.0
    if not good:
        return False
    if model.shape != FULL:
        for k in range(K):
            for i in range(d):
                work[k, 2, 2, i] = covs[k, i, i]
        _variances(mass, model, d, work)
        for k in range(K):
            for i in range(d):
                covs[k, i, i] = work[k, 2, 0, i]
    elif not model.form & APART:
        good = _of_one_piece(point, mass, model, d, work)
    else:
        for k in range(K):
            if model.form & AXES:
                _seen(covs[k], work[0, 1], d, work[k, 0], work[k, 3])
            else:
                copy_matrix(covs[k], work[k, 3])
                axes(work[k, 3], d, work[k, 1])
        for _ in range(ROUNDS if model.form & AXES else 1):
            if model.form & AXES:
                _sweep(mass, d, work)
            for k in range(K):
                for i in range(d):
                    work[k, 2, 2, i] = work[k, 3, i, i]
                    good = good and work[k, 3, i, i] > 0.0
            if not good:
                return False
            _variances(mass, model, d, work)
        for k in range(K):
            _assembled(work[0 if model.form & AXES else k, 1], work[k, 2, 0], d, covs[k])
    return good and factor(point, model, facts, pivots, work)


# --- Newton's method ---------------------------------------------------------------------------------------------------------


class Tangent(NamedTuple):
    """Moves of covariances by the parameters of a form, and sums beside them."""

    moves: object  # (K, own, own): coordinates of Omega, by those of the form
    product: object  # (p, P)
    scratch: object  # (4, d, d)
    bends: object  # (own,)
    newton: object  # Newton, of p parameters


@_making
def new_tangent(K, model, d):
    """Room for a tangent."""
    own, _q, P = counts(K, model, d)
    p = free_of(K, model, d)[0]
    newton = Newton(np.zeros((2, p)), np.zeros((2, p, p)), np.zeros((2, p)), np.zeros((p, p)), np.zeros(p))
    return Tangent(np.zeros((K, own, own)), np.zeros((p, P)), np.zeros((4, d, d)), np.zeros(own), newton)


@_function
def _move(c, a, model, d, M):
    """Omega of a coordinate, seen from the axes of the component where axes are apart."""
    for i in range(d):
        for j in range(d):
            M[i, j] = 0.0
    if c < d:
        for i in range(d):
            M[i, i] = _spread(c, i)
        return
    i, j = _plane(c - d)
    M[i, j] = (a[j] - a[i]) / math.sqrt(a[i] * a[j]) if model.form & APART else 1.0
    M[j, i] = M[i, j]


@_function
def tangent_of(point, model, d, tangent, work):
    """Write the moves of all coordinates; work[k, 3] is what turns those of a component's axes into those of its factor."""
    own, M, scratch = tangent.moves.shape[1], tangent.scratch[0], tangent.scratch[1]
    frames(point, model, d, work)
    for k in range(point.means.shape[0]):
        D, U, a, Q = work[k, 1], point.factors[k], work[k, 2, 0], work[k, 3]
        _unit(Q, d)
        if model.form & APART:
            for i in range(d):
                for j in range(d):
                    s = 0.0
                    for m in range(i + 1):
                        s += U[i, m] * D[m, j]
                    Q[i, j] = s * math.sqrt(a[j])
        for c in range(own):
            _move(c, a, model, d, M)
            if model.shape != FULL:
                for i in range(d):
                    tangent.moves[k, i, c] = M[i, i]
                continue
            for i in range(d):
                for j in range(d):
                    s = 0.0
                    for m in range(d):
                        s += M[i, m] * Q[j, m]
                    scratch[i, j] = s
            f = 0
            for i in range(d):
                for j in range(i + 1):
                    s = 0.0
                    for m in range(d):
                        s += Q[i, m] * scratch[m, j]
                    tangent.moves[k, f, c] = s
                    f += 1


@_function
def _gradient_at(k, full, features, model, d, Q, scratch, G):
    """The gradient by Omega as a symmetric matrix, from the axes of the component."""
    f = 0
    for i in range(d):
        for j in range(i + 1 if model.shape == FULL else 0):
            a = features.place[k, 1 + d + f]
            G[i, j] = full.slope[0, a] * full.scale[0, a] * (1.0 if i == j else 0.5)
            G[j, i] = G[i, j]
            f += 1
        if model.shape != FULL:
            for j in range(d):
                G[i, j] = 0.0
            a = features.place[k, 1 + d + i]
            G[i, i] = full.slope[0, a] * full.scale[0, a]
    if model.form & APART:
        _seen(G, Q, d, scratch, G)


@_function
def _bend(b, a, G, model, d, M, N, Z, own, out):
    """What second derivatives of the moves, and of exp(Omega), add to the information of coordinate b and each other, out[:own].

    Minus the gradient times the second derivatives of Omega, and tr G (Omega_a Omega_b + Omega_b Omega_a)/2, which expected
    information of the complete data leaves out.
    """
    _move(b, a, model, d, M)
    for i in range(d):
        for j in range(d):
            s = 0.0
            for m in range(d):
                s += M[i, m] * G[m, j] + G[i, m] * M[m, j]
            N[i, j] = s
    apart = model.form & APART > 0
    half = 1.0 if apart else 0.5
    for c in range(own):
        s = 0.0
        if c < d:
            for i in range(d):
                s += half * N[i, i] * _spread(c, i)
        else:
            i, j = _plane(c - d)
            s = 2.0 * half * N[i, j] * ((a[j] - a[i]) / math.sqrt(a[i] * a[j]) if apart else 1.0)
        out[c] = s
    if not apart:
        return
    # exp(S) X exp(-S), X = a exp(v), to second order: a v^2/2 + [S, a v] + [S, [S, a]]/2; Gamma = G / sqrt(a_i a_j)
    for c in range(own):
        s = 0.0
        if b < d and c < d:
            for i in range(d):
                s += G[i, i] * _spread(b, i) * _spread(c, i)
        elif b < d or c < d:
            (i, j), v = _plane(max(b, c) - d), min(b, c)
            s = 2.0 * (a[j] * _spread(v, j) - a[i] * _spread(v, i)) * G[i, j] / math.sqrt(a[i] * a[j])
        out[c] -= s
    if b < d:
        return
    p, q = _plane(b - d)
    for i in range(d):  # Y = [S, a] has (a_q - a_p) in the plane; Z = Gamma S - S Gamma; C = Y Gamma - Gamma Y
        for j in range(d):
            left = -G[j, q] / math.sqrt(a[j] * a[q]) if i == p else G[j, p] / math.sqrt(a[j] * a[p]) if i == q else 0.0
            right = -G[i, q] / math.sqrt(a[i] * a[q]) if j == p else G[i, p] / math.sqrt(a[i] * a[p]) if j == q else 0.0
            Z[i, j] = right + left
            y = a[q] - a[p]
            one = y * G[j, q] / math.sqrt(a[j] * a[q]) if i == p else y * G[j, p] / math.sqrt(a[j] * a[p]) if i == q else 0.0
            two = y * G[i, q] / math.sqrt(a[i] * a[q]) if j == p else y * G[i, p] / math.sqrt(a[i] * a[p]) if j == q else 0.0
            N[i, j] = one - two
    for c in range(d, own):
        i, j = _plane(c - d)
        out[c] -= -N[i, j] + Z[i, j] * (a[j] - a[i])


@_function
def projected(full, point, total, model, d, features, tangent, work):
    """Gradient and information along the manifold, in units of the complete data's, from those of covariances without a form."""
    K, own, P, new = point.means.shape[0], tangent.moves.shape[1], full.step.size, tangent.newton
    p, first = free_of(K, model, d)
    tangent_of(point, model, d, tangent, work)
    slope, matrix, scale, whole, T = new.slope[0], new.matrix[0], new.scale[0], full.matrix[0], tangent.product
    M, N, Z, G = tangent.scratch[0], tangent.scratch[1], tangent.scratch[2], tangent.scratch[3]
    for a in range(P):
        for b in range(a):
            whole[b, a] = whole[a, b]
    for a in range(p):
        slope[a], scale[a] = 0.0, 0.0
        if a < first:
            slope[a], scale[a] = full.slope[0, a], full.scale[0, a]
        for b in range(p):
            matrix[a, b] = whole[a, b] if max(a, b) < first else 0.0
        for b in range(P):
            T[a, b] = 0.0
    for q in range(K * own * own):  # T = J' B
        k, c, f = q // (own * own), q // own % own, q % own
        u, a = features.place[k, 1 + d + f], parameter(k, c, first, K, model, d)
        s = tangent.moves[k, f, c] * full.scale[0, u]
        if s != 0.0:
            row, into = whole[u], T[a]
            slope[a] += s * full.slope[0, u]
            for b in range(P):
                into[b] += s * row[b]
    for a in range(first, p):
        for b in range(first):
            matrix[a, b] = T[a, b]
    for k in range(K):
        _gradient_at(k, full, features, model, d, work[k, 3], work[k, 0], G)
        for c in range(own):
            b, square = parameter(k, c, first, K, model, d), 0.0
            for f in range(own):
                u = features.place[k, 1 + d + f]
                s = tangent.moves[k, f, c] * full.scale[0, u]
                for a in range(b, p if s != 0.0 else b):
                    matrix[a, b] += s * T[a, u]
            _bend(c, work[k, 2, 0], G, model, d, M, N, Z, own, tangent.bends)
            for i in range(d):
                for j in range(d):
                    square += M[i, j] * M[i, j]
            scale[b] += 0.5 * square * total[k]
            for e in range(own):
                a = parameter(k, e, first, K, model, d)
                if a >= b:
                    matrix[a, b] += tangent.bends[e]
    for a in range(first, p):  # a move that changes nothing to first order, of axes with equal variances, has no unit
        scale[a] = math.sqrt(max(scale[a], 1e-20 * total[0]))
        slope[a] = slope[a] / scale[a]
    for a in range(first, p):
        for b in range(a + 1):
            matrix[a, b] = matrix[a, b] / scale[a] / (scale[b] if b >= first else 1.0)


@_function
def _log_bases(k, model, d, work, out):
    """Logarithms of the variances of a component along its axes, from the parts that are common where they are."""
    like, as_large = 0 if model.form & SHAPE else k, 0 if model.form & VOLUME else k
    for i in range(d):
        out[i] = math.log(work[like, 2, 0, i]) - work[like, 2, 1, 0] + work[as_large, 2, 1, 0]


@_function
def _coordinate(k, c, first, step, scale, K, model, d):
    a = parameter(k, c, first, K, model, d)
    return step[a] / scale[a]


@_function
def moved_on(source, step, scale, model, facts, features, pivots, work, target):
    """As `moved`, along the manifold."""
    K, d = source.means.shape[0], facts.columns
    own, first = counts(K, model, d)[0], free_of(K, model, d)[1]
    frames(source, model, d, work)
    share = share_of_means(step, scale, model, d, features.place)
    for k in range(K):
        a, size, angle = work[k, 2, 0], 0.0, 0.0
        for i in range(d):
            v = 0.0
            for c in range(d):
                v += _spread(c, i) * _coordinate(k, c, first, step, scale, K, model, d)
            work[k, 2, 2, i] = v
            size += v * v
        for c in range(d, own):
            (i, j), v = _plane(c - d), _coordinate(k, c, first, step, scale, K, model, d)
            unit = (a[j] - a[i]) / math.sqrt(a[i] * a[j]) if model.form & APART else 1.0
            size += 2.0 * v * v * unit * unit
            angle += v * v if model.form & APART else 0.0
        size, angle = math.sqrt(size), math.sqrt(angle)
        share = min(share, LONGEST / size) if size > LONGEST else share
        share = min(share, ANGLE / angle) if angle > ANGLE else share
    copy_point(source, target)
    move_weights(source, step, scale, model, features.place, share, target)
    for k in range(K if model.free_means > 0 else 0):
        L = work[k, 0]
        cholesky(source.covariances[k], d, 0.0, L)
        for i in range(d):
            for j in range(i + 1):
                a = features.place[k, 1 + j]
                target.means[k, i] += share * L[i, j] * step[a] / scale[a]
    if model.shape == FULL and not model.form & APART:
        good = _moved_in_one_piece(source, step, scale, share, model, d, work, target)
        return good and factor(target, model, facts, pivots, work), share
    for k in range(K):
        bases = work[k, 2, 3]
        _log_bases(k, model, d, work, bases)
        for i in range(d):
            bases[i] = math.exp(bases[i] + share * work[k, 2, 2, i])
        if model.shape != FULL:
            for i in range(d):
                target.covariances[k, i, i] = bases[i]
            continue
        D = work[k, 1]
        for c in range(d, own):
            (i, j), turn = _plane(c - d), share * _coordinate(k, c, first, step, scale, K, model, d)
            _turned_axes(D, d, i, j, math.cos(turn), math.sin(turn))
        _assembled(D, bases, d, target.covariances[k])
    return factor(target, model, facts, pivots, work), share


@_function
def _moved_in_one_piece(source, step, scale, share, model, d, work, target):
    """L (I + Omega + Omega^2 / 2) L', made of the size that the step gives."""
    K = source.means.shape[0]
    own, first = counts(K, model, d)[0], free_of(K, model, d)[1]
    for k in range(1 if model.form & SHAPE else K):
        L, omega, half, out = work[k, 0], work[k, 1], work[k, 3], work[k, 4]
        cholesky(source.covariances[k], d, 0.0, L)
        for i in range(d):
            omega[i, i] = share * work[k, 2, 2, i]
        for c in range(d, own):
            (i, j), v = _plane(c - d), share * _coordinate(k, c, first, step, scale, K, model, d)
            omega[i, j], omega[j, i] = v, v
        for i in range(d):
            for j in range(d):
                s = 0.0
                for m in range(d):
                    s += omega[i, m] * omega[m, j]
                half[i, j] = omega[i, j] + 0.5 * s + (1.0 if i == j else 0.0)
        for i in range(d):
            for j in range(d):
                s = 0.0
                for m in range(i + 1):
                    s += L[i, m] * half[m, j]
                out[i, j] = s
        for i in range(d):
            for j in range(i + 1):
                s = 0.0
                for m in range(j + 1):
                    s += out[i, m] * L[j, m]
                target.covariances[k, i, j], target.covariances[k, j, i] = s, s
    for k in range(K):
        like, as_large = 0 if model.form & SHAPE else k, 0 if model.form & VOLUME else k
        wanted = work[as_large, 2, 1, 0] + share * _coordinate(k, 0, first, step, scale, K, model, d)
        if k == 0 or not model.form & SHAPE:
            work[like, 2, 1, 1] = _log_volume(target.covariances[like], d, work[like, 0])
        else:
            copy_matrix(target.covariances[0], target.covariances[k])
            work[k, 2, 1, 1] = work[0, 2, 1, 2]
        if not work[k, 2, 1, 1] < math.inf:
            return False
        _scaled(target.covariances[k], d, math.exp(wanted - work[k, 2, 1, 1]))
        work[k, 2, 1, 2] = wanted
    return True


# --- loops over problems -----------------------------------------------------------------------------------------------------

_advance_em, _advance_newton = bind(advance_em, m_step=form_step), bind(advance_newton, moved=moved_on)


def form_cpu(rows, owner, model, settings, points, state):
    """EM from points (M, ...), which are written, on data sets `owner` (M,), then Newton's method along the manifold."""
    K, filled, d = points.means.shape[1], points.means.shape[2], rows.columns
    _own, q, P = counts(K, model, d)
    if settings.newton == 0:
        q, P = 0, 0
    memory, tangent = new_memory(1, K, filled, q, P, 0), new_tangent(K, model, d if settings.newton > 0 else 1)
    lanes, sums, work = lanes_of(memory, 0), sums_of(memory, 0), memory.work[0]
    trial, best = spare_point(memory, 0, 0), spare_point(memory, 0, 1)
    for item in range(owner.size):
        now, s, here = state[item], owner[item], point_of(points, item)
        if now.phase == DONE:
            continue
        x, w = rows_of(rows, s)
        facts, pivots = facts_of(rows, s), rows.pivots[s]
        copy_point(here, trial)
        if not factor(trial, model, facts, pivots, work):
            now.status, now.phase = COLLAPSED, DONE
        last = now.passes + settings.most
        while now.phase == EM and now.passes < last:
            loglik = em_sums(x, w, 0, w.size, trial, model.shape, lanes, sums)
            _advance_em(now, loglik, sums, trial, model, facts, pivots, work)
        if now.phase != NEWTON:
            if now.phase == DONE and now.status == OK:
                now.condition, now.excess = condition(trial, facts, work)
            copy_point(trial, here)
            continue
        features, full, new = features_of(memory, 0), newton_of(memory, 0, P), tangent.newton
        places(K, model, d, features.place)
        while now.phase == NEWTON:
            loglik = information_sums(x, w, trial, model, facts, lanes, features, full, sums, work)
            projected(full, trial, sums.total, model, d, features, tangent, work)
            _advance_newton(now, loglik, trial, best, model, facts, pivots, features, new, work, settings)
            waits = now.phase == NEWTON and now.passes >= last
            if (waits or now.phase == DONE) and now.loglik > -math.inf:
                copy_point(best, here)
            if waits:  # the derivatives are made again
                now.loglik = -math.inf
                break


def form_errors_cpu(rows, owner, model, points, matrix, scale, moves):
    """As `information_cpu`, and what the parameters do to the Omega of each component (M, K, own, own)."""
    K, filled, d = points.means.shape[1], points.means.shape[2], rows.columns
    _own, q, P = counts(K, model, d)
    memory, tangent = new_memory(1, K, filled, q, P, 0), new_tangent(K, model, d)
    lanes, sums, features, full = lanes_of(memory, 0), sums_of(memory, 0), features_of(memory, 0), newton_of(memory, 0, P)
    work, new = memory.work[0], tangent.newton
    places(K, model, d, features.place)
    for item in range(owner.size):
        x, w = rows_of(rows, owner[item])
        facts, here = facts_of(rows, owner[item]), point_of(points, item)
        information_sums(x, w, here, model, facts, lanes, features, full, sums, work)
        projected(full, here, sums.total, model, d, features, tangent, work)
        copy(new.scale[0], scale[item])
        copy_matrix(new.matrix[0], matrix[item])
        for k in range(K):
            copy_matrix(tangent.moves[k], moves[item, k])


def _split_errors(args, parts):
    rows, owner, model, points, *outs = args
    return [
        (rows, owner[a:b], model, type(points)(*(v[a:b] for v in points)), *(out[a:b] for out in outs))
        for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_given = batch_type(_f), _i[::1], model_type
FORM_CLIMB = HostLoop(
    "mixture.multivariate.form_climb",
    form_cpu,
    [(*_given, settings_type, point_type, STATE_TYPE[::1])],
    fastmath=FAST,
    split=split_climb,
)
FORM_ERRORS = HostLoop(
    "mixture.multivariate.form_errors",
    form_errors_cpu,
    [(*_given, point_type, _f[:, :, ::1], _f[:, ::1], _f[:, :, :, ::1])],
    fastmath=FAST,
    split=_split_errors,
)
