"""Newton's method for many parameters: conjugate gradients and Lanczos' method, by products of the information with vectors.

A product takes a pass over the rows. With t_k = s_k'v for the score s_k of component k at a row, and their mean t over the
responsibilities r, Louis' formula gives C v - sum w r_k (t_k - t) s_k: the moments of a step of EM, with weights of either sign.
In units of the complete data's information C the eigenvalues lie between 0 and 1 at a maximum, many of them next to 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats._core.climb import copy
from numbastats._core.endings import COLLAPSED, NO_CONVERGENCE, NOT_CERTIFIED, OK
from numbastats._core.kernel import array_function
from numbastats.mixture.multivariate.kernels.algebra import cholesky
from numbastats.mixture.multivariate.kernels.memory import lanes_of, sums_of
from numbastats.mixture.multivariate.kernels.newton import Newton, counts, in_units, least_eigenvalue, moved, places, slopes
from numbastats.mixture.multivariate.kernels.passes import (
    DIAGONAL,
    FAST,
    FULL,
    LANES,
    centred,
    em_sums,
    log_terms,
    moments,
    responsible,
)
from numbastats.mixture.multivariate.kernels.records import DONE, FLAT, MOST_TRIES
from numbastats.mixture.multivariate.kernels.steps import condition, copy_point, narrow

OUTER, INNER = 50, 250  # steps of Newton's method, products of each
KRYLOV = 120  # vectors of Lanczos' method
SURE_OF = 0.1  # part of the least eigenvalue by which it may be too large
_function = array_function(fastmath=("contract",), host=False)
_passing = array_function(fastmath=FAST, host=False)
_making = array_function(fastmath=FAST, host=False, allocates=True)


class Case(NamedTuple):
    """A data set with its model."""

    x: object
    w: object
    model: object
    facts: object
    pivots: object
    features: object  # the places of the parameters alone


class Tools(NamedTuple):
    """Buffers; the first places of `newton` have gradient and scales at the point of a product."""

    lanes: object
    newton: object
    sums: object
    into: object
    work: object


class Vectors(NamedTuple):
    """Buffers of P parameters, of a tile, and of a component."""

    residual: object  # (P,)
    direction: object  # (P,)
    product: object  # (P,)
    basis: object  # (KRYLOV + 1, P)
    band: object  # (2, KRYLOV + 1): diagonal and off-diagonal
    small: object  # (2, KRYLOV, KRYLOV)
    terms: object  # (K, LANES)
    mean: object  # (LANES,)
    part: object  # (LANES,)
    form: object  # (K, d, d), (K, d), (K,): a product of each component's score as a quadratic form
    line: object
    constant: object


@_making
def new_vectors(p, K, d):
    """Buffers without values; of no parameters without any."""
    many = KRYLOV if p > 0 else 0
    return Vectors(
        np.zeros(p),
        np.zeros(p),
        np.zeros(p),
        np.zeros((many + 1, p)),
        np.zeros((2, many + 1)),
        np.zeros((2, many, many)),
        np.zeros((K, LANES)),
        np.zeros(LANES),
        np.zeros(LANES),
        np.zeros((K, d, d)),
        np.zeros((K, d)),
        np.zeros(K),
    )


class Places(NamedTuple):
    """Of the features the places of the parameters alone."""

    place: object  # (K, q)


@_making
def new_places(K, model, d):
    """The places of the parameters."""
    place = np.zeros((K, counts(K, model, d)[1]), np.int64)
    places(K, model, d, place)
    return Places(place)


@_making
def new_tools(memory, p, K, d):
    """Buffers for p parameters."""
    newton = Newton(np.zeros((2, p)), np.zeros((2, 0, 0)), np.zeros((2, p)), np.zeros((0, 0)), np.zeros(p))
    return Tools(lanes_of(memory, 0), newton, sums_of(memory, 0), new_vectors(p, K, d), memory.work[0])


@_passing
def _dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@_passing
def _add(c, a, b):
    """b += c a."""
    for i in range(a.size):
        b[i] += c * a[i]


@_function
def _quadratic(point, k, v, scale, model, d, place, into, work):
    """A score's product with v, a quadratic form of y = x - mean: writes its lower triangle and line, returns its constant."""
    U, T, b, shape = point.factors[k], into.form[k], into.line[k], model.shape
    omega, half = work[0], work[1]
    constant = v[place[k, 0]] / scale[place[k, 0]] if model.free_weights > 0 else 0.0
    for i in range(b.size):
        b[i] = 0.0
        for m in range(i + 1):
            T[i, m] = 0.0
    for i in range(d if model.free_means > 0 else 0):
        move = v[place[k, 1 + i]] / scale[place[k, 1 + i]]
        for m in range(i + 1 if shape == FULL else 0):
            b[m] += U[i, m] * move
        if shape != FULL:
            b[i] = U[i, i] * move
    at = 1 + d
    if shape != FULL:
        for i in range(d):
            value = v[place[k, at]] / scale[place[k, at]]
            constant -= 0.5 * value
            T[i, i] = 0.5 * value * U[i, i] * U[i, i]
            at += 1 if shape == DIAGONAL else 0
        return constant
    for i in range(d):
        for m in range(i + 1):
            omega[i, m] = v[place[k, at]] / scale[place[k, at]]
            omega[m, i] = omega[i, m]
            at += 1
        constant -= 0.5 * omega[i, i]
    for i in range(d):  # U' omega U
        for m in range(d):
            s = 0.0
            for q in range(m, d):
                s += omega[i, q] * U[q, m]
            half[i, m] = s
    for i in range(d):
        for m in range(i + 1):
            s = 0.0
            for q in range(i, d):
                s += U[q, i] * half[q, m]
            T[i, m] = 0.5 * s if m == i else s
    return constant


@_passing
def _evaluated(c, y, T, b, constant, diagonal, part, out):
    """The quadratic form at a tile's rows."""
    for j in range(c):
        out[j] = constant
    for i in range(b.size):
        a, v = y[i], b[i]
        if diagonal:
            t = T[i, i]
            for j in range(c):
                out[j] += a[j] * (v + t * a[j])
        else:
            for j in range(c):
                part[j] = v
            for m in range(i + 1):
                t, q = T[i, m], y[m]
                for j in range(c):
                    part[j] += t * q[j]
            for j in range(c):
                out[j] += a[j] * part[j]


@_passing
def _differences(c, w, terms, lanes, mean):
    """w r_k (t_k - t) in the place of the t_k."""
    K = terms.shape[0]
    for j in range(c):
        mean[j] = 0.0
    for k in range(K):
        r, t = lanes.logs[k], terms[k]
        for j in range(c):
            mean[j] += r[j] * t[j]
    for k in range(K):
        r, t = lanes.logs[k], terms[k]
        for j in range(c):
            t[j] = w[j] * r[j] * (t[j] - mean[j])


@_passing
def _sum(c, a):
    s = 0.0
    for j in range(c):
        s += a[j]
    return s


@_function
def times(case, tools, point, v, out):
    """out = the information times v, in units of the complete data's, whose roots are the scales."""
    x, w, model, sums, lanes, into = case.x, case.w, case.model, tools.sums, tools.lanes, tools.into
    K, filled, scale, d = point.means.shape[0], point.means.shape[1], tools.newton.scale[0], case.facts.columns
    sums.total[:] = 0.0
    sums.first[:] = 0.0
    sums.second[:] = 0.0
    for k in range(K):
        into.constant[k] = _quadratic(point, k, v, scale, model, d, case.features.place, into, tools.work[0])
    for lo in range(0, w.size, LANES):
        c = min(LANES, w.size - lo)
        part, weights = x[lo * filled : (lo + c) * filled], w[lo : lo + c]
        log_terms(c, part, point, model.shape, lanes)
        responsible(c, weights, lanes)
        for k in range(K):
            centred(c, part, point.means[k], lanes.y)
            _evaluated(c, lanes.y, into.form[k], into.line[k], into.constant[k], model.shape != FULL, into.part, into.terms[k])
        _differences(c, weights, into.terms, lanes, into.mean)
        for k in range(K):
            r = into.terms[k]
            sums.total[k] += _sum(c, r)
            centred(c, part, point.means[k], lanes.y)
            moments(c, r, lanes.y, model.shape, lanes.four, sums.first[k], sums.second[k])
    out[:] = 0.0
    slopes(point, model, case.facts, sums, case.features, out, tools.work)
    for a in range(v.size):
        out[a] = v[a] - out[a] / scale[a]


@_function
def gradient(case, tools, point):
    """The log-likelihood; the gradient in units of the complete data's information goes into the first place of `newton`."""
    newton, sums = tools.newton, tools.sums
    loglik = em_sums(case.x, case.w, 0, case.w.size, point, case.model.shape, tools.lanes, sums)
    newton.slope[0, :] = 0.0
    newton.scale[0, :] = 0.0
    slopes(point, case.model, case.facts, sums, case.features, newton.slope[0], tools.work)
    in_units(point, case.model, case.facts, sums, case.features, newton)
    return loglik


@_function
def solved(case, tools, point, damping, enough):
    """Conjugate gradients for (information + damping) step = slope, until the residual is a part `enough` of the slope.

    Returns the decrement slope'step, infinite where a direction of negative curvature is met: the step is then that before it,
    or the gradient. Also the square of the residual, and how many products were made.
    """
    into, step, slope = tools.into, tools.newton.step, tools.newton.slope[0]
    r, q, h = into.residual, into.direction, into.product
    copy(slope, r)
    copy(slope, q)
    step[:] = 0.0
    size = _dot(r, r)
    goal, left, turns = enough * enough * size, size, 0
    for turn in range(INNER):
        if not left > goal:
            break
        turns += 1
        times(case, tools, point, q, h)
        curvature = _dot(q, h) + damping * _dot(q, q)
        if not curvature > FLAT * _dot(q, q):
            if turn == 0:
                copy(slope, step)
            return math.inf, left, turn + 1
        along = left / curvature
        _add(along, q, step)
        _add(-along, h, r)
        _add(-along * damping, q, r)
        new = _dot(r, r)
        for a in range(q.size):
            q[a] = r[a] + new / left * q[a]
        left = new
    return _dot(slope, step), left, turns


@_function
def lanczos(case, tools, point):
    """A lower bound of the information's least eigenvalue, from Lanczos' method with all vectors kept orthogonal.

    The least eigenvalue of the projection, less its residual; 0 where that is not positive.
    """
    into, newton = tools.into, tools.newton
    p, Q, h, band, small = newton.step.size, into.basis, into.product, into.band, into.small
    for a in range(p):
        Q[0, a] = 1.0 + 0.37 * ((a * 7919) % 101) / 101.0 - 0.81 * ((a * 104729) % 211) / 211.0
    norm = math.sqrt(_dot(Q[0], Q[0]))
    for a in range(p):
        Q[0, a] /= norm
    bound, most = 0.0, min(KRYLOV, p)
    for m in range(most):
        times(case, tools, point, Q[m], h)
        band[0, m] = _dot(Q[m], h)
        for _again in range(2):
            for t in range(m, -1, -1):
                _add(-_dot(Q[t], h), Q[t], h)
        band[1, m] = math.sqrt(_dot(h, h))
        last = m + 1 == most or not band[1, m] > 1e-10
        if last or m % 10 == 9:
            least, residual = _least_of_band(band, m + 1, small, newton.slope)
            bound = least - residual if m + 1 < p else least
            if last or residual < SURE_OF * abs(least):
                break
        for a in range(p):
            Q[m + 1, a] = h[a] / band[1, m]
    return max(bound, 0.0)


@_function
def _least_of_band(band, m, small, vectors):
    """The least eigenvalue of a symmetric tridiagonal matrix, and its vector's residual; `vectors` (2, m or more) is work."""
    low, high = math.inf, math.inf
    for i in range(m):
        beside = (band[1, i - 1] if i > 0 else 0.0) + (band[1, i] if i + 1 < m else 0.0)
        low, high = min(low, band[0, i] - beside), min(high, band[0, i])
    for _ in range(60):  # Sturm's sequence: whether an eigenvalue is below
        middle = 0.5 * (low + high)
        pivot, below = 1.0, False
        for i in range(m):
            off = band[1, i - 1] if i > 0 else 0.0
            pivot = band[0, i] - middle - off * off / pivot
            below = below or pivot <= 0.0
            pivot = 1e-300 if pivot == 0.0 else pivot
            if below:
                break
        low, high = (low, middle) if below else (middle, high)
    shift = low - 1e-9 * (1.0 + abs(low))
    A, L = small[0], small[1]
    for i in range(m):
        for j in range(i + 1):
            A[i, j] = 0.0
        A[i, i] = band[0, i] - shift
        if i > 0:
            A[i, i - 1] = band[1, i - 1]
    if cholesky(A, m, 0.0, L) < m:
        return low, math.inf
    least_eigenvalue(L, m, vectors[0], vectors[1])
    v = vectors[0]
    norm = 0.0
    for i in range(m):
        norm += v[i] * v[i]
    return low, band[1, m - 1] * abs(v[m - 1]) / math.sqrt(norm)


@_function
def climb_by_products(case, tools, trial, best, settings, state):
    """From the point `trial` to a certified optimum, `best`, or so far as passes of one call go."""
    model, facts, pivots, newton, work = case.model, case.facts, case.pivots, tools.newton, tools.work
    copy_point(trial, best)
    last = state.passes + settings.most
    state.loglik = gradient(case, tools, best)
    damping, decrement, left, enough = 0.0, math.inf, 0.0, 1e-3 if state.closing > 0 else 0.1
    while state.steps < OUTER:
        if state.passes >= last:
            return
        state.steps += 1
        decrement, left, turns = solved(case, tools, best, damping, enough)
        state.passes += turns + 1
        if decrement < settings.tol:
            state.closing += 1
            if state.closing > 1 or decrement < 1e-20 * facts.mass:
                break
        copy(newton.slope[0], newton.slope[1])
        copy(newton.scale[0], newton.scale[1])
        damping, higher, loglik = 0.1 * damping, False, -math.inf
        damping = damping if damping > 1e-3 and decrement < math.inf else 0.0
        for _try in range(MOST_TRIES):
            there, _share = moved(best, newton.step, newton.scale[1], model, facts, case.features, pivots, work, trial)
            if there:
                loglik = gradient(case, tools, trial)
                slack = settings.noise * (abs(loglik) + facts.mass)
                higher = loglik >= state.loglik - slack and loglik < math.inf
            if higher or state.closing > 0:
                break
            for a in range(newton.step.size):
                newton.step[a] *= 0.25
            damping = max(4.0 * damping, 1e-2)
        if not higher:  # the point before stands, with its derivatives
            copy(newton.slope[1], newton.slope[0])
            copy(newton.scale[1], newton.scale[0])
            break
        copy_point(trial, best)
        enough = 0.1 if loglik - state.loglik > 1e-3 else 1e-3
        state.loglik = loglik
    state.phase, state.decrement = DONE, decrement
    state.condition, state.excess = condition(best, facts, work)
    state.min_eig = 0.0
    if decrement < math.inf:
        state.min_eig = lanczos(case, tools, best)
        if state.min_eig > FLAT:
            state.decrement = decrement + left / state.min_eig  # what conjugate gradients have left out, at most
    certain = state.decrement <= settings.tol
    state.status = (
        OK if certain and state.min_eig > FLAT else NOT_CERTIFIED if certain or decrement == math.inf else NO_CONVERGENCE
    )
    if state.status != OK and narrow(best, model, facts, pivots):
        state.status = COLLAPSED
