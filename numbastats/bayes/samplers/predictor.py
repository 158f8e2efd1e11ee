"""More columns than rows, any response with independent rows: the linear predictors first, then the coefficients given them.

Given the scales, the n predictors e = offset + X b + jitter have the prior N(offset, K), K = X V X' + jitter, and the likelihood
enters through them alone, which is log-concave in e for the responses that take this sampler, or nearly. A step draws

1. local scales and log tau given the coefficients, as all samplers do;
2. log tau and e together, by a slice: with a noisy copy g = e + N(0, S) of e held fixed, S near 1/information, the density of
   log tau has e integrated out but for the numbers v0 by which e = m + R^(1/2) v0 lies within its conditional distribution
   given g (I. Murray, R. Adams, NIPS 23, 2010);
3. e, by Hamiltonian steps in the metric of the posterior's curvature at its mode, which depends on the scales alone;
4. own parameters of the response given e, by slices;
5. the coefficients given e exactly, in O(n p) (A. Bhattacharya, A. Chakraborty, B. Mallick, Biometrika 103, 2016).

Each chain runs on one thread, so that results depend neither on workers nor on executors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import ndtr

from numbastats._core.parallel import in_threads
from numbastats.bayes import kernels as k
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.algebra import Sparse, parted
from numbastats.bayes.samplers.record import Sampler
from numbastats.scalar.shrinkage import item_of, log_prior_tau

_JITTER = 1e-8  # variance of the predictors beside that by their columns, in units of `Problem.noise`; part of the model
_LEAPFROGS, _TRAJECTORIES = 4, 2
_SIZES = 0.35, 0.75  # of a leapfrog, in standard deviations of the posterior
_STRETCH = 3.0  # the slice is of log tau divided by this, as in `collapsed`
_NEWTON, _DECREMENT = 60, 1e-8
_TAU = -25.0, 8.0
_FLAT = 1e-4  # least prior precision of a predictor's part from one column: a flat prior has a standard deviation of 100 there
_LARGE = 3e6  # n^2 p from which threads for the chains pay


class Problem(NamedTuple):
    """Rows of a fit.

    Parameters
    ----------
    response : Response
    free, A : numpy.ndarray or Sparse, shapes (n, k) and (n, p)
        The columns that are not shrunk, an intercept's among them, and the others.
    y, weights, offsets : numpy.ndarray, shape (n,)
    noise : numpy.ndarray, shape (n,)
        S, from the curvature of the likelihood at the mode for scales of 1; whatever it is, the posterior is the same.
    """

    response: Any
    free: np.ndarray
    A: Any
    y: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    noise: np.ndarray

    def variances(self, d):
        """Prior variances for the precisions of the columns that are not shrunk."""
        return 1.0 / np.maximum(d[: self.free.shape[1]], _FLAT * (self.free**2).mean(axis=0))

    def loglik(self, e, own):
        """The log-likelihood of predictors."""
        value = self.weights @ self.response.log_density(self.y, e, own)
        return value if value == value else -math.inf

    def slopes(self, e, own):
        """Its derivative by each of them, and the negative second one."""
        slope, curvature = self.response.derivatives(e, self.y, own)
        return self.weights * slope, self.weights * curvature


class State(NamedTuple):
    """Coefficients and scales, predictors and their mode given the scales, log-likelihood, own parameters by name."""

    b: np.ndarray
    scales: scales.Scales
    e: np.ndarray
    mode: np.ndarray
    loglik: np.ndarray
    extras: dict[str, np.ndarray]


def problem(rows, prior):
    """The rows of a fit, and the noise of the copies."""
    X = rows.columns()
    free, A = parted(X, prior.skip)
    weights, offsets = rows.facts[[k.WEIGHT, k.OFFSET]]
    found = Problem(rows.response, free, A, rows.outcomes, weights, offsets, np.ones(weights.size))
    own = {one.name: np.float64(one.start) for one in rows.response.own}
    d = scales.start(prior, (1, X.shape[1]), -2.0).d[0]
    d[prior.skip :] *= math.exp(4.0)
    e = _mode(found, _factor(found, *_covariances(found, d, d[prior.skip :])), _at_level(found), own)[0]
    curvature = found.slopes(e, own)[1]
    return found._replace(noise=1.0 / np.clip(curvature, 1e-4 * max(curvature.max(), 1e-300), None))


def _at_level(data):
    """Predictors of an intercept alone."""
    return data.offsets + data.response.level(data.weights, data.offsets, np.atleast_2d(data.y)[0])


def init(data, prior, numbers, chains):
    """Predictors at their mode given scales of 1, moved by their noise; the coefficients given these."""
    p = data.free.shape[1] + data.A.shape[1]
    found = scales.start(prior, (chains, p), -2.0)
    if prior.tau is None:
        found.d[:, prior.skip :] *= np.exp(-2.0 * found.log_tau)[:, None]
    own = {one.name: np.full(chains, one.start) for one in data.response.own}
    mode = np.tile(_at_level(data), (chains, 1))
    state = State(np.zeros((chains, p)), found, mode.copy(), mode, np.empty(chains), own)
    return _run(data, prior, state, numbers, _begin)[0]


def step(data, prior, state, numbers):
    """Scales given the coefficients, the predictors with tau, these given both, own parameters, the coefficients."""
    scales.draw(prior, state.scales, state.b, numbers)
    return _run(data, prior, state, numbers, _advance)


def _run(data, prior, state, numbers, move):
    """A move of every chain, and its coefficients, in place."""
    (n, p), free = data.A.shape, data.free.shape[1]
    Z, item = numbers.normals(8, 0, (3 + _TRAJECTORIES) * n + free + p + 2 * _TRAJECTORIES), numbers.step()
    log_tau, d, _, _ = state.scales
    extra = scales.precisions(prior, state.scales, numbers) - d
    chance = np.ones(len(Z))

    def chain(c):
        own = {name: values[c] for name, values in state.extras.items()}
        z = _Numbers(Z[c], numbers.key, item, numbers.more[8][0, c])
        e, mode, by, chance[c] = move(
            data, prior, _Chain(state.b[c, :free], state.e[c], state.mode[c], d[c], extra[c], log_tau[c], own), z
        )
        if by:
            log_tau[c] += by
            d[c, prior.skip :] = np.clip(d[c, prior.skip :] * math.exp(-2.0 * by), 1e-12, 1e300)
        for i, one in enumerate(data.response.own):

            def density(t, one=one):
                return data.loglik(e, own | {one.name: t}) + float(one.log_prior(t))

            own[one.name] = scales.sliced(density, own[one.name], z.key, item_of(np.int64(1 + i), z.item), z.stream)
            state.extras[one.name][c] = own[one.name]
        state.e[c], state.mode[c] = e, mode
        v = np.concatenate([data.variances(d[c]), 1.0 / (d[c] + extra[c])[free:]])
        state.b[c] = _coefficients(data, v, e, z.take(free + p), z.take(n))
        predictors = data.offsets + data.free @ state.b[c, :free] + data.A @ state.b[c, free:]
        state.loglik[c] = data.loglik(predictors, own)

    in_threads(chain, [(c,) for c in range(len(Z))], numbers.place.workers if n * n * p > _LARGE else 1)
    return state, scales.Info(chance)


class _Numbers:
    """Random numbers of a step: normals in the order in which they are taken, words for slices."""

    def __init__(self, normals, key, item, stream):
        self.normals, self.key, self.item, self.stream = normals, key, item, stream

    def take(self, n):
        """The next n normals."""
        found, self.normals = self.normals[:n], self.normals[n:]
        return found


class _Chain(NamedTuple):
    """One chain before a move: coefficients that are not shrunk, predictors, mode, precisions without a slab, ...

    what a slab adds to these, log tau, own parameters.
    """

    free: np.ndarray
    e: np.ndarray
    mode: np.ndarray
    d: np.ndarray
    extra: np.ndarray
    log_tau: float
    own: dict[str, float]


# --- moves of one chain ------------------------------------------------------------------------------------------------


def _begin(data, prior, now, numbers):
    """The mode, moved by noise."""
    shared, free = _covariances(data, now.d, now.d[prior.skip :] + now.extra[prior.skip :])
    L = _factor(data, shared, free)
    e, C = _mode(data, L, now.mode, now.own)
    z = _solve(C, numbers.take(len(e)), True)
    return e + L @ z, e, 0.0, 1.0


def _advance(data, prior, now, numbers):
    """Log tau with the predictors, then these."""
    n, by = len(now.e), 0.0
    products = _Products(data, prior, now.d, now.extra)
    e, copy = now.e, now.e + np.sqrt(data.noise) * numbers.take(n)
    if prior.tau is None:
        given = (_Together if products.known is None else _Apart)(data, products, copy, now)
        inner, seen = given.inner(e), {}

        def density(x):
            t = now.log_tau + _STRETCH * x
            if not _TAU[0] < t < _TAU[1]:
                return -math.inf
            seen.clear()
            seen[x], value = given.at(_STRETCH * x, inner)
            return value + data.loglik(seen[x], now.own) + log_prior_tau(t, 0.0, prior.tau_scale)

        x = scales.sliced(density, 0.0, numbers.key, item_of(np.int64(0), numbers.item), numbers.stream)
        if x not in seen:
            density(x)
        e, by = seen[x], _STRETCH * x
    L = _factor(data, *products.parts(by))
    mode, C = _mode(data, L, now.mode, now.own)
    e, chance = _hamiltonian(data, L, C, mode, e, now.own, numbers)
    return e, mode, by, chance


class _Products:
    """Covariances of the predictors for tau times e^by: of the columns that are shrunk, and of the others."""

    def __init__(self, data, prior, d, extra):
        skip = prior.skip
        self.data, self.d, self.extra, self.factor = data, d[skip:], extra[skip:], prior.slab_df is None
        self.free = (data.free * data.variances(d)) @ data.free.T
        self.known = None if self.extra.any() else _product(data.A, 1.0 / self.d)

    def parts(self, by):
        """Both."""
        if self.known is not None:
            return math.exp(2.0 * by) * self.known, self.free
        return _product(self.data.A, 1.0 / (self.d * math.exp(-2.0 * by) + self.extra)), self.free

    def slab(self, by):
        """Log of the factor by which a slab that is a factor of the prior changes its integral over the coefficients."""
        return (
            0.0
            if self.known is not None or not self.factor
            else -0.5 * np.log1p(self.extra / (self.d * math.exp(-2.0 * by))).sum()
        )

    def __call__(self, by):
        """Their sum, with the jitter."""
        return _summed(self.data, *self.parts(by))


class _Together:
    """The predictors given their noisy copy g, where a slab has their covariance made anew for every tau."""

    def __init__(self, data, products, copy, now):
        self.data, self.products, self.copy = data, products, copy

    def _given(self, by):
        """Mean and factor of the covariance of the predictors given g, and the log density of g."""
        K, noise = self.products(by), self.data.noise
        C = _cholesky(K + np.diag(noise))
        v = _solve(C, self.copy - self.data.offsets)
        H = blas.dtrsm(1.0, C, np.diag(noise).T, lower=1)
        R = np.diag(noise) - H.T @ H
        R.reshape(-1)[:: len(R) + 1] += 1e-12 * noise.max()
        mean, value = self.data.offsets + K @ _solve(C, v, True), -0.5 * (v @ v) - np.log(C.diagonal()).sum()
        return mean, _cholesky(R), value + self.products.slab(by)

    def inner(self, e):
        """The numbers by which e lies within its distribution."""
        mean, root, _ = self._given(0.0)
        return _solve(root, e - mean)

    def at(self, by, inner):
        """The predictors that lie so for tau times e^by, and the log density."""
        mean, root, value = self._given(by)
        return mean + root @ inner, value


class _Apart:
    """The same without a slab, given the coefficients that are not shrunk: tau is a factor of what is left of the covariance.

    With the noise S, the jitter j S and C = (1 + j) S, the eigenvalues of C^(-1/2) K C^(-1/2) serve every tau.
    """

    def __init__(self, data, products, copy, now):
        self.origin = data.offsets + data.free @ now.free
        self.root, self.half = np.sqrt(data.noise / (1.0 + _JITTER)), np.sqrt(data.noise * (1.0 + _JITTER))
        values, self.Q = np.linalg.eigh(products.known / self.half / self.half[:, None])
        self.values, self.noise, self.copy = np.maximum(values, 0.0), data.noise, copy
        self.z = self.Q.T @ ((copy - self.origin) / self.half)

    def _given(self, by):
        """Mean of the predictors, and shares of the noise's variance that g leaves, by eigenvectors; the log density of g."""
        size = 1.0 + math.exp(2.0 * by) * self.values
        mean = self.copy - self.noise * (self.Q @ (self.z / size)) / self.half
        return mean, np.sqrt(1.0 + _JITTER - 1.0 / size), -0.5 * (self.z / size @ self.z + np.log(size).sum())

    def inner(self, e):
        """As of `_Together`."""
        mean, shares, _ = self._given(0.0)
        return self.Q.T @ ((e - mean) / self.root) / shares

    def at(self, by, inner):
        """As of `_Together`."""
        mean, shares, value = self._given(by)
        return mean + self.root * (self.Q @ (shares * inner)), value


def _hamiltonian(data, L, C, mode, e, own, numbers):
    """Predictors after trajectories in u = C'(z - z of the mode), where the posterior is about standard normal."""
    origin, z, chances = _solve(L, mode - data.offsets), _solve(L, e - data.offsets), 0.0

    def there(u):
        z = origin + _solve(C, u, True)
        e = data.offsets + L @ z
        return z, e, _solve(C, L.T @ data.slopes(e, own)[0] - z)

    def energy(z, e, v):
        return 0.5 * (z @ z) + 0.5 * (v @ v) - data.loglik(e, own)

    for _ in range(_TRAJECTORIES):
        v, (size, chance) = numbers.take(len(z)).copy(), ndtr(numbers.take(2))
        size = _SIZES[0] + (_SIZES[1] - _SIZES[0]) * size
        u = C.T @ (z - origin)
        before = energy(z, e, v)
        new, found, pull = there(u)
        for _ in range(_LEAPFROGS):
            v = v + 0.5 * size * pull
            u = u + size * v
            new, found, pull = there(u)
            v = v + 0.5 * size * pull
        gain = before - energy(new, found, v)
        if math.log(chance) < gain:
            z, e = new, found
        chances += math.exp(min(gain, 0.0)) if gain == gain else 0.0
    return e, chances / _TRAJECTORIES


def _mode(data, L, start, own):
    """Predictors at the mode given their covariance LL', by Newton's method in z = L^-1 (e - offset), and the metric's factor."""
    z = _solve(L, start - data.offsets)

    def height(z):
        value = data.loglik(data.offsets + L @ z, own) - 0.5 * (z @ z)
        return value if value == value else -math.inf

    base = height(z)
    for _ in range(_NEWTON):
        slope, curvature = data.slopes(data.offsets + L @ z, own)
        C = _metric(L, curvature)
        gradient = L.T @ slope - z
        move = _solve(C, _solve(C, gradient), True)
        decrement, share = gradient @ move, min(1.0, 2.0 / max(abs(L @ move).max(), 1e-300))
        if decrement < _DECREMENT:
            break
        while (found := height(z + share * move)) < base and share > 1e-6:
            share *= 0.5
        z, base = z + share * move, found
    return data.offsets + L @ z, C


def _metric(L, curvature):
    """The factor of I + L'WL for the curvatures W; where these are negative, 0 stands for them."""
    weighted = L * np.sqrt(np.maximum(curvature, 0.0))[:, None]
    M = weighted.T @ weighted
    M.reshape(-1)[:: len(M) + 1] += 1.0
    return _cholesky(M)


def _coefficients(data, v, e, normals, jitters):
    """Coefficients given the predictors, from a draw of their prior that is moved by what it misses."""
    free = data.free.shape[1]
    b = normals * np.sqrt(v)
    shared, others = _product(data.A, v[free:]), (data.free * v[:free]) @ data.free.T
    L = _factor(data, shared, others)
    rest = e - data.offsets - data.free @ b[:free] - data.A @ b[free:] - np.sqrt(_JITTER * data.noise) * jitters
    rest = _solve(L, _solve(L, rest), True)
    return b + v * np.concatenate([rest @ data.free, rest @ data.A])


# --- algebra -------------------------------------------------------------------------------------------------------------


def _covariances(data, d, precisions):
    """Covariances of the predictors by the columns that are shrunk, of given precisions, and by the others."""
    return _product(data.A, 1.0 / precisions), (data.free * data.variances(d)) @ data.free.T


def _product(A, v):
    """A V A' for the diagonal v of V."""
    if isinstance(A, Sparse):
        return A.gram(v)
    root = A * np.sqrt(v)
    return root @ root.T  # of a matrix and its own transpose BLAS makes one half


def _summed(data, shared, free):
    """The covariance of the predictors with the jitter."""
    K = shared + free
    K.reshape(-1)[:: len(K) + 1] += _JITTER * data.noise
    return K


def _factor(data, shared, free):
    return _cholesky(_summed(data, shared, free))


def _cholesky(M):
    L, info = lapack.dpotrf(M, lower=1, clean=1)
    if info:
        raise RuntimeError("a Cholesky factorisation failed; are there huge numbers in X? Pass standardize=True")
    return L


def _solve(L, v, transposed=False):
    """L^-1 v, or L'^-1 v, of a lower triangle in Fortran order."""
    return blas.dtrsv(L, v, lower=1, trans=int(transposed))


PREDICTOR = Sampler("predictor", "predictor", init, step, problem, by_rows=lambda n, p: True, passes=False)
