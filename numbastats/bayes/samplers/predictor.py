"""More columns than rows, any response: the linear predictors first, then the coefficients given them.

Given the scales, the n predictors e = offset + X b + jitter have the prior N(offset, K), K = X V X' + jitter, and the likelihood
enters through them alone, which is log-concave in e for the responses that take this sampler, or nearly. A step draws

1. local scales and log tau given the coefficients, as all samplers do;
2. log tau and e together, by a slice: with a noisy copy g = e + N(0, S) of e held fixed, S near 1/information, the density of
   log tau has e integrated out but for n numbers, by which e lies within its distribution given g (I. Murray, R. Adams,
   NIPS 23, 2010);
3. own parameters of the response and e together, in the same way, as S depends on them, too;
4. e, by Hamiltonian steps in the metric of the posterior's curvature at its mode, which depends on the scales alone;
5. own parameters given e, by slices;
6. the coefficients given e exactly, in O(n p) (A. Bhattacharya, A. Chakraborty, B. Mallick, Biometrika 103, 2016).

All chains go together: what is of n x n is a kernel (kernels/predictor.py), what is of the response a function of arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from numbastats._core.parallel import in_threads
from numbastats._core.place import Place
from numbastats.bayes import kernels as k
from numbastats.bayes.responses.record import Joint
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.algebra import Sparse, parted, solve
from numbastats.bayes.samplers.record import Sampler
from numbastats.scalar.shrinkage import log_prior_tau

_JITTER = 1e-8  # variance of the predictors beside that by their columns, in units of the noise at the start; part of the model
_LEAST_NOISE = 1e-2  # one over the least noise of a copy, times the jitter
_LEAPFROGS, _TRAJECTORIES = 4, 2
_SIZES = 0.35, 0.75  # of a leapfrog, in standard deviations of the posterior
_WIDTH, _SHRINKS = 2.0, 20  # of the slice of a logarithm: its only interval, and how often that is cut at most
_NEWTON, _DECREMENT = 60, 1e-8
_TAU = -25.0, 8.0
_FLAT = 1e-4  # least prior precision of a predictor's part from one column: a flat prior has a standard deviation of 100 there
_LARGE = 3e6  # n^2 p from which threads for the products pay


class Problem(NamedTuple):
    """Rows of a fit.

    Parameters
    ----------
    response : Response, or Joint of one predictor
    free, A : numpy.ndarray or Sparse, shapes (n, k) and (n, p)
        The columns that are not shrunk, an intercept's among them, and the others.
    y : numpy.ndarray, shape (n,), or (2, n) of outcomes between two ends; of a `Joint` response what it has made of them
    weights, offsets : numpy.ndarray, shape (n,)
    variances : numpy.ndarray, shape (k,)
        Of the prior of the coefficients that are not shrunk.
    jitter : numpy.ndarray, shape (n,)
        Variances of the predictors that no column explains.
    F : numpy.ndarray, shape (n, n)
        Their covariance by both.
    around : numpy.ndarray, shape (n,)
        Predictors at the mode for scales of 1, whose curvatures are 1/S. The posterior is the same whatever S is.
    """

    response: Any
    free: np.ndarray
    A: Any
    y: Any
    weights: np.ndarray
    offsets: np.ndarray
    variances: np.ndarray
    jitter: np.ndarray
    F: np.ndarray
    around: np.ndarray

    @property
    def outcomes(self):
        """By columns, as functions of a response take predictors of chains."""
        return self.y[..., None]

    def loglik(self, e, own):
        """The log-likelihood of predictors, shape (chains, n); own parameters have the shape (chains,).

        Functions of a response get both by columns, a column for each chain.
        """
        if isinstance(self.response, Joint):
            return np.array([self.response.value(v[:, None], self.y, self.weights)[0] for v in e])
        found = np.multiply(self.response.log_density(self.outcomes, e.T, own).T, self.weights, order="C").sum(axis=1)
        return np.where(np.isnan(found), -np.inf, found)

    def slopes(self, e, own):
        """Its derivative by each of them, and the negative second one, both of shape (chains, n)."""
        if isinstance(self.response, Joint):
            at = [(v[:, None], self.y, self.weights) for v in e]
            found = ([self.response.value(*v)[1] for v in at], [self.response.curvature(*v) for v in at])
            return tuple(np.array(v)[:, :, 0] for v in found)
        slope, curvature = self.response.derivatives(e.T, self.outcomes, own)
        return np.multiply(slope.T, self.weights, order="C"), np.multiply(curvature.T, self.weights, order="C")

    def noise(self, own, chains):
        """S, shape (chains, n)."""
        curvature = np.minimum(self.slopes(np.tile(self.around, (chains, 1)), own)[1], _LEAST_NOISE / self.jitter)
        most = curvature.max(axis=1, keepdims=True, initial=1e-300)
        return 1.0 / np.clip(curvature, 1e-4 * most, None)


class State(NamedTuple):
    """Coefficients and scales, predictors and their mode given the scales, log-likelihood, own parameters by name."""

    b: np.ndarray
    scales: scales.Scales
    e: np.ndarray
    mode: np.ndarray
    loglik: np.ndarray
    extras: dict[str, np.ndarray]


def problem(rows, prior):
    """The rows of a fit, the predictors' covariance that does not change, and where the noise of the copies is found."""
    free, A = parted(rows.columns(), prior.skip)
    known = rows.facts[[k.WEIGHT, k.OFFSET]] if rows.response.weighted else np.array([[1.0], [0.0]])
    weights, offsets = np.broadcast_to(known, (2, len(free)))
    first, y = np.broadcast_to(rows.facts[k.OUTCOME], len(free)), rows.outcomes
    if not isinstance(rows.response, Joint):
        y = np.broadcast_to(y, (*y.shape[:-1], len(free)))
    d = np.clip(prior.free, 1e-12, 1e300)
    variances = 1.0 / np.maximum(d, _FLAT * (free**2).mean(axis=0))
    F, size = (free * variances) @ free.T, np.ones(len(offsets))
    level = offsets + rows.response.level(weights, offsets, first)
    data = Problem(rows.response, free, A, y, weights, offsets, variances, 1e-300 * size, F + np.diag(_JITTER * size), level)
    numbers = scales.Numbers((np.uint32(0),) * 2, 0, 1, 1, 1, 0, Place("cpu", 1))
    there = _Metric(data, numbers, math.exp(-4.0) * _product(A, np.ones(A.shape[1]))[None], np.ones(1), np.zeros((1, len(size))))
    data = data._replace(around=there.mode(_start(data, 1), level[None])[0])
    jitter = _JITTER * data.noise(_start(data, 1), 1)[0]
    return data._replace(jitter=jitter, F=F + np.diag(jitter))


def _start(data, chains):
    """Own parameters at the start of chains."""
    return {one.name: np.full(chains, one.start) for one in data.response.own}


def init(data, prior, numbers, chains):
    """Predictors at their mode given local scales of 1, moved by noise; the coefficients given these."""
    found = scales.start(prior, (chains, data.free.shape[1] + data.A.shape[1]), -2.0)
    if prior.tau is None:
        found.d[:, prior.skip :] *= np.exp(-2.0 * found.log_tau)[:, None]
    n, own = len(data.offsets), _start(data, chains)
    mode = np.tile(data.around, (chains, 1))
    state = State(np.zeros(found.d.shape), found, mode.copy(), mode, np.empty(chains), own)
    z = _Normals(numbers, n + found.d.shape[1] + n)
    metric = _Metric(data, numbers, *_Covariance(data, prior, state, numbers)(np.zeros(chains)), np.zeros((chains, n)))
    state.mode[:] = metric.mode(own, mode)
    state.e[:] = state.mode + metric.outwards(z.take(n))[1]
    _coefficients(data, state, metric, 1.0 / scales.precisions(prior, found, numbers), z)
    return state


def step(data, prior, state, numbers):
    """Scales given the coefficients, the predictors with tau and own parameters, the predictors, then what is given them."""
    scales.draw(prior, state.scales, state.b, numbers)
    n, chains, own = len(data.offsets), len(state.b), state.extras
    z = _Normals(numbers, (3 + 2 * _TRAJECTORIES) * n + state.b.shape[1] + 2 + (2 + _SHRINKS) * (1 + 2 * len(own)) + 8)
    covariance = _Covariance(data, prior, state, numbers)
    noise = data.noise(own, chains)
    metric = _Metric(data, numbers, *covariance(np.zeros(chains)), 1.0 / noise)
    copied = _Copied(data, state.e, own, noise, metric, z)
    if prior.tau is None:
        by = copied.tau(state.scales.log_tau, prior, covariance, z)
        state.scales.log_tau[:] += by
        shrunk = state.scales.d[:, prior.skip :]
        shrunk[...] = np.clip(shrunk * np.exp(-2.0 * by)[:, None], 1e-12, 1e300)
    for one in data.response.own:
        copied.parameter(one, own, z)
    state.e[:] = copied.e
    around = np.tile(data.around, (chains, 1))
    state.mode[:] = metric.mode(own, *((state.mode, state.e) if data.response.concave else (around,)))
    state.e[:], chance = _hamiltonian(data, metric, state.mode, state.e, own, z)
    for one in data.response.own:

        def density(t, needed, one=one):
            return data.loglik(state.e, own | {one.name: t}) + one.log_prior(t)

        own[one.name][:] = _sliced(density, own[one.name], z)
    _coefficients(data, state, metric, 1.0 / scales.precisions(prior, state.scales, numbers), z)
    return state, scales.Info(chance)


class _Normals:
    """Normal numbers of a step, shape (chains, size), in the order in which they are taken."""

    def __init__(self, numbers, size):
        self.rest = numbers.normals(8, 0, size)

    def take(self, n):
        """The next n of every chain."""
        found, self.rest = self.rest[:, :n], self.rest[:, n:]
        return np.ascontiguousarray(found)


def _sliced(density, t, numbers):
    """A draw of every chain from ``density(t, needed)`` by a slice sampler of one interval, which is at random around t.

    What the density keeps is that of t before, and afterwards that of the draw: `needed` are the chains for which it is another.
    """
    u = ndtr(numbers.take(2 + _SHRINKS))
    level = density(t, np.zeros(len(t), bool)) + np.log(u[:, 0])
    lo = t - _WIDTH * u[:, 1]
    hi, new, looking = lo + _WIDTH, t.copy(), level < np.inf
    for v in u[:, 2:].T:
        if not looking.any():
            return new
        new = np.where(looking, lo + (hi - lo) * v, new)
        looking = looking & ~(density(new, looking) > level)
        lo, hi = np.where(looking & (new < t), new, lo), np.where(looking & ~(new < t), new, hi)
    new = np.where(looking, t, new)
    density(new, looking)
    return new


# --- algebra of all chains -------------------------------------------------------------------------------------------------


class _Covariance:
    """Covariance of the predictors by the columns that are shrunk, for tau times e^by."""

    def __init__(self, data, prior, state, numbers):
        self.data, self.d, self.workers = data, state.scales.d[:, prior.skip :].copy(), numbers.place.workers
        self.extra = scales.slab_precisions(prior, state.scales, numbers)
        self.slab, self.factor = bool(np.any(self.extra)), prior.slab_df is None
        self.K = np.empty((len(self.d), *data.F.shape))
        if not self.slab:
            self._make(np.zeros(len(self.d)), np.ones(len(self.d), bool))

    def _make(self, by, needed):
        n, p = self.data.A.shape

        def one(c):
            self.K[c] = _product(self.data.A, 1.0 / (self.d[c] * math.exp(-2.0 * by[c]) + self.extra[c]))

        in_threads(one, [(c,) for c in np.flatnonzero(needed)], self.workers if n * n * p > _LARGE else 1)

    def __call__(self, by, needed=None):
        """K, and by what it is multiplied in every chain; K is new in those where it is `needed`."""
        if not self.slab:
            return self.K, np.exp(2.0 * by)
        self._make(by, np.ones(len(by), bool) if needed is None else needed)
        return self.K, np.ones(len(by))

    def of_slab(self, by):
        """Log of the factor by which a slab that is a factor of the prior changes its integral over the coefficients."""
        if not (self.slab and self.factor):
            return 0.0
        return -0.5 * np.log1p(self.extra[:, None] / (self.d * np.exp(-2.0 * by)[:, None])).sum(axis=1)


def _product(A, v):
    """A V A' for the diagonal v of V."""
    if isinstance(A, Sparse):
        return A.gram(v)
    root = A * np.sqrt(v)
    return root @ root.T  # of a matrix and its own transpose BLAS makes one half


class _Metric:
    """The factors of `kernels.predictor` for a covariance scale K + F and curvatures W."""

    def __init__(self, data, numbers, K, scale, W):
        self.data, self.place, (chains, n, _) = data, numbers.place, K.shape
        self.L, self.G, self.room = (numbers.spare(name, (chains, n, n)) for name in ("L", "G", "weighted"))
        self.failed, self.none = np.zeros(chains, np.int64), np.zeros((chains, n))
        self.factor(W, K=K, scale=scale)
        self.check()

    def factor(self, W, needed=None, K=None, scale=None):
        """G for curvatures W of chains, with L anew if there is a K."""
        chains, n = W.shape
        needed = np.ones(chains, bool) if needed is None else needed
        self.failed[needed] = 0
        K, scale, anew = (self.L, np.ones(chains), False) if K is None else (K, scale, True)
        given = K, self.data.F, scale, np.ascontiguousarray(W), anew, needed
        self._run(k.FACTORS, 0.15 * n**3, given, (self.L, self.G, self.room, self.failed))

    def check(self):
        """Raise where a factorisation has failed."""
        if self.failed.any():
            raise RuntimeError("a Cholesky factorisation failed; are there huge numbers in X? Pass standardize=True")

    def _run(self, kernel, cost, given, out):
        self.place.run(kernel, len(self.L), np.int64(0), np.int64(len(self.L)), given, out, cost=cost)

    def pull(self, slopes, z):
        """G^-1 (L's - z)."""
        out = np.empty(z.shape)
        self._run(k.PULL, z.shape[1] ** 2, (self.L, self.G, slopes, z), (out,))
        return out

    def outwards(self, u):
        """G'^-1 u, and L times it."""
        out = np.empty(u.shape), np.empty(u.shape)
        self._run(k.OUTWARDS, u.shape[1] ** 2, (self.L, self.G, u), out)
        return out

    def inwards(self, e):
        """L^-1 e, and G' times it."""
        out = np.empty(e.shape), np.empty(e.shape)
        self._run(k.INWARDS, e.shape[1] ** 2, (self.L, self.G, e), out)
        return out

    def mode(self, own, *starts):
        """Predictors at the mode given their covariance, by Newton's method; G becomes that of the curvatures there.

        It begins at the likeliest of the starts: of a density that is not log-concave there must be one that never changes.
        """
        data = self.data

        def height(z, e):
            value = data.loglik(e, own) - 0.5 * (z * z).sum(axis=1)
            return np.where(np.isnan(value), -np.inf, value)

        z, e, base = 0.0, starts[0], np.full(len(starts[0]), -np.inf)
        for start in starts:
            there = self.inwards(start - data.offsets)[0]
            found = height(there, start)
            better = ~(found < base)
            z, e = np.where(better[:, None], there, z), np.where(better[:, None], start, e)
            base = np.where(better, found, base)
        active = np.ones(len(e), bool)
        for _ in range(_NEWTON):
            slope, curvature = data.slopes(e, own)
            self.factor(np.maximum(curvature, 0.0), active)
            gradient = self.pull(slope, z)
            active = active & ((gradient * gradient).sum(axis=1) >= _DECREMENT)
            if not active.any():
                break
            step_z, step_e = self.outwards(gradient)
            share, todo = np.minimum(1.0, 2.0 / np.maximum(abs(step_e).max(axis=1), 1e-300)), active
            while todo.any():
                new_z, new_e = z + share[:, None] * step_z, e + share[:, None] * step_e
                found = height(new_z, new_e)
                todo = todo & ~(found >= base) & (share > 1e-6)
                share = np.where(todo, 0.5 * share, share)
            z, e = np.where(active[:, None], new_z, z), np.where(active[:, None], new_e, e)
            base = np.where(active, found, base)
        self.check()
        return e


# --- moves -----------------------------------------------------------------------------------------------------------------


class _Copied:
    """Noisy copies of the predictors, and slices in which these follow: e = offsets + L z where z lies as before given the copy.

    Given the copy, z ~ N(M^-1 L'S^-1 r, M^-1) with r = copy - offsets, M = I + L'S^-1 L = GG'; G'z - G^-1 L'S^-1 r is kept.
    """

    def __init__(self, data, e, own, noise, metric, numbers):
        self.data, self.metric, self.e, self.own, self.noise = data, metric, e, own, noise
        self.rest = e + np.sqrt(noise) * numbers.take(e.shape[1]) - data.offsets
        self.inner = metric.inwards(e - data.offsets)[1] - self._centre(noise)

    def _centre(self, noise):
        return self.metric.pull(self.rest / noise, self.metric.none)

    def _value(self, own, needed, K=None, scale=None):
        """The log density of the copy and the outcomes; the predictors go along."""
        data, metric, noise = self.data, self.metric, self.noise if own is self.own else self.data.noise(own, len(self.e))
        metric.factor(1.0 / noise, needed, K, scale)
        centre = self._centre(noise)
        self.e = data.offsets + metric.outwards(self.inner + centre)[1]
        value = 0.5 * (centre * centre).sum(axis=1) - np.log(np.diagonal(metric.G, axis1=1, axis2=2)).sum(axis=1)
        value = value - 0.5 * (self.rest**2 / noise + np.log(noise)).sum(axis=1) + data.loglik(self.e, own)
        return np.where(metric.failed > 0, -np.inf, value)

    def tau(self, log_tau, prior, covariance, numbers):
        """By what log tau moves."""

        def density(by, needed):
            t = log_tau + by
            value = self._value(self.own, needed, *covariance(by, needed)) + covariance.of_slab(by)
            value += np.array([log_prior_tau(v, 0.0, prior.tau_scale) for v in t])
            return np.where((t > _TAU[0]) & (t < _TAU[1]), value, -np.inf)

        return _sliced(density, np.zeros(len(log_tau)), numbers)

    def parameter(self, one, own, numbers):
        """Move a parameter of the response, in place."""

        def density(t, needed):
            return self._value(own | {one.name: t}, needed) + one.log_prior(t)

        own[one.name][:] = _sliced(density, own[one.name], numbers)


def _hamiltonian(data, metric, mode, e, own, numbers):
    """Predictors after trajectories in u = G'(z - z of the mode), where the posterior is about standard normal."""
    chains, n = e.shape
    centre, at_centre = metric.inwards(mode - data.offsets)
    z, u = metric.inwards(e - data.offsets)
    u, chances = u - at_centre, 0.0

    def energy(z, e, v):
        return 0.5 * (z * z).sum(axis=1) + 0.5 * (v * v).sum(axis=1) - data.loglik(e, own)

    for _ in range(_TRAJECTORIES):
        v, chance = numbers.take(n), ndtr(numbers.take(2))
        size = _SIZES[0] + (_SIZES[1] - _SIZES[0]) * chance[:, :1]
        before, new = energy(z, e, v), (z, u, e)
        pull = metric.pull(data.slopes(e, own)[0], z)
        for _ in range(_LEAPFROGS):
            v = v + 0.5 * size * pull
            there = new[1] + size * v
            step_z, step_e = metric.outwards(there)
            new = centre + step_z, there, mode + step_e
            pull = metric.pull(data.slopes(new[2], own)[0], new[0])
            v = v + 0.5 * size * pull
        gain = before - energy(new[0], new[2], v)
        taken = (np.log(chance[:, 1]) < gain)[:, None]
        z, u, e = (np.where(taken, x, y) for x, y in zip(new, (z, u, e), strict=True))
        chances = chances + np.exp(np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0))
    return e, chances / _TRAJECTORIES


def _coefficients(data, state, metric, v, numbers):
    """Coefficients given the predictors, in place, from a draw of their prior that is moved by what it misses."""
    (n, p), free = data.A.shape, data.free.shape[1]
    v[:, :free] = data.variances
    prior, jitters = numbers.take(free + p) * np.sqrt(v), np.sqrt(data.jitter) * numbers.take(n)
    for c, b in enumerate(prior):
        missed = state.e[c] - _predictors(data, b) - jitters[c]
        L = metric.L[c].T
        missed = solve(L, solve(L, missed), True)
        state.b[c] = b + v[c] * np.concatenate([missed @ data.free, missed @ data.A])
    state.loglik[:] = data.loglik(np.array([_predictors(data, b) for b in state.b]), state.extras)


def _predictors(data, b):
    """Offsets and the rows times coefficients; of one chain, as rounding in products of matrices depends on their shape."""
    free = data.free.shape[1]
    return data.offsets + data.free @ b[:free] + data.A @ b[free:]


PREDICTOR = Sampler("predictor", "predictor", init, step, problem, by_rows=lambda n, p: True, products=True, passes=False)
