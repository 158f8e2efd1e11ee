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

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
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
_LEAST_NOISE = 1e-2  # one over the least variance of a normal outcome, times the jitter
_BLOCKS = 10  # of columns, each with an acceptance of its own
_SLICES = 3  # of tau with own parameters
HCH=[]
_LEAPFROGS, _TRAJECTORIES = 4, 2
_SIZES = 0.35, 0.75  # of a leapfrog, in standard deviations of the normal posterior
_HELD = 0.03, 0.6  # columns keep their scale where tau moves and lambda is above some number between these, times p
_WIDTH, _SHRINKS = 2.0, 20  # of the slice of a logarithm: its only interval, and how often that is cut at most
_CORRECTION = 200  # iterations of which the mean of predictors is, at the end of a long warmup
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
    turned : numpy.ndarray, shape (p, n)
        The columns that are shrunk, written out one after the other.
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
    turned: np.ndarray

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
        rows = np.multiply(self.response.log_density(self.outcomes, e.T, own).T, self.weights, order="C")
        found = rows.sum(axis=1)
        if self.response.mixed:
            found = found + np.logaddexp.reduce(-rows, axis=1)
        return np.where(np.isnan(found), -np.inf, found)

    def slopes(self, e, own):
        """Its derivative by each of them, and the negative second one, both of shape (chains, n)."""
        if isinstance(self.response, Joint):
            at = [(v[:, None], self.y, self.weights) for v in e]
            found = ([self.response.value(*v)[1] for v in at], [self.response.curvature(*v) for v in at])
            return tuple(np.array(v)[:, :, 0] for v in found)
        slope, curvature = self.response.derivatives(e.T, self.outcomes, own)
        weights = self.weights
        if self.response.mixed:  # a row counts by the probability that it is not the one that is left out; curvatures nearly so
            rows = -weights * self.response.log_density(self.outcomes, e.T, own).T
            weights = weights * -np.expm1(rows - np.logaddexp.reduce(rows, axis=1, keepdims=True))
        return np.multiply(slope.T, weights, order="C"), np.multiply(curvature.T, weights, order="C")

    def normal(self, around, own):
        """The normal likelihood of predictors e near `around`, N(outcome; e, S): outcome and S, shape (chains, n)."""
        slope, curvature = self.slopes(around, own)
        curvature = np.minimum(curvature, _LEAST_NOISE / self.jitter)
        most = curvature.max(axis=1, keepdims=True, initial=1e-300)
        noise = 1.0 / np.clip(curvature, 1e-4 * most, None)
        return around + noise * slope, noise


class State(NamedTuple):
    """Coefficients, scales and predictors, predictors around which the likelihood is nearly normal, log-likelihood, own parameters."""

    b: np.ndarray
    scales: scales.Scales
    e: np.ndarray
    around: np.ndarray
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
    data = Problem(rows.response, free, A, y, weights, offsets, variances, 1e-300 * size, F + np.diag(_JITTER * size), level, A.T)
    numbers = scales.Numbers((np.uint32(0),) * 2, 0, 1, 1, 1, 0, Place("cpu", 1))
    there = _Metric(data, numbers, math.exp(-4.0) * _product(A, np.ones(A.shape[1]))[None])
    data = data._replace(around=there.mode(_start(data, 1), level[None])[0])
    jitter = _JITTER * data.normal(data.around[None], _start(data, 1))[1][0]
    turned = np.ascontiguousarray((A.toarray() if isinstance(A, Sparse) else A).T)
    return data._replace(jitter=jitter, F=F + np.diag(jitter), turned=turned)


def _start(data, chains):
    """Own parameters at the start of chains."""
    return {one.name: np.full(chains, one.start) for one in data.response.own}


def init(data, prior, numbers, chains):
    """Predictors at their mode given local scales of 1, moved by noise; the coefficients given these."""
    found = scales.start(prior, (chains, data.free.shape[1] + data.A.shape[1]), -2.0)
    if prior.tau is None:
        found.d[:, prior.skip :] *= np.exp(-2.0 * found.log_tau)[:, None]
    n, own = len(data.offsets), _start(data, chains)
    state = State(np.zeros(found.d.shape), found, *(np.tile(data.around, (chains, 1)) for _ in range(2)), np.empty(chains), own)
    z = _Normals(numbers, n + found.d.shape[1] + n)
    metric = _Metric(data, numbers, _Covariance(data, prior, state, numbers).last)
    state.around[:] = metric.mode(own, state.around)
    state.e[:] = state.around + metric.outwards(z.take(n))[1]
    _coefficients(data, state, metric, 1.0 / scales.precisions(prior, found, numbers), z)
    return state


def step(data, prior, state, numbers):
    """Scales given the coefficients, the predictors with tau and own parameters, the predictors, then what is given them."""
    scales.draw(prior, state.scales, state.b, numbers)
    n, p, own = len(data.offsets), state.b.shape[1], state.extras
    sliced = _SHRINKS + 2
    size = n + p + _BLOCKS + _SLICES * (sliced + 2 + len(own)) + _TRAJECTORIES * (n + 2) + len(own) * sliced + p + n
    z = _Normals(numbers, size)
    chance = _columns(data, prior, state, numbers, z) if _single(prior) else np.ones(len(state.b))
    near = _Near(data, prior, state, numbers)
    for number in range(_SLICES if own or prior.tau is None else 0):
        near.slice(z, holds=number > 0 and _single(prior))
    HCH.append(near.hamiltonian(z).mean())
    state.e[:] = near.e
    for one in data.response.own:

        def density(t, needed, one=one):
            return data.loglik(state.e, own | {one.name: t}) + one.log_prior(t)

        own[one.name][:] = _sliced(density, own[one.name], z)
    _coefficients(data, state, near.metric, 1.0 / scales.precisions(prior, state.scales, numbers), z)
    return state, scales.Info(chance)


def learn(data, state, seen):
    """After an iteration of the warmup: the mean of the predictors of a chain, around which its likelihood is nearly normal."""
    state.around[:] += (state.e - state.around) / min(0.5 * seen + 1.0, _CORRECTION)


def _single(prior):
    """Whether every column has a local scale of its own, half-Cauchy given the rest."""
    return prior.name in ("horseshoe", "horseshoe+") and prior.groups is None


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
    """Covariance of the predictors by the columns that are shrunk, for tau times e^by but for columns that are held."""

    def __init__(self, data, prior, state, numbers):
        self.data, self.d, self.workers = data, state.scales.d[:, prior.skip :], numbers.place.workers
        self.extra = scales.slab_precisions(prior, state.scales, numbers)[:, None]
        self.slab, self.factor = bool(np.any(self.extra)), prior.slab_df is None
        self.last, self.rest, self.held = np.zeros((len(self.d), *data.F.shape)), 0.0, np.zeros(self.d.shape, bool)
        self._make(self.d, np.ones(len(self.d), bool))

    def _make(self, d, needed):
        n, p = self.data.A.shape

        def one(c):
            self.last[c] = _product(self.data.A, 1.0 / (d[c] + self.extra[c]))

        in_threads(one, [(c,) for c in np.flatnonzero(needed)], self.workers if n * n * p > _LARGE else 1)

    def hold(self, held):
        """The columns, by chain, that go on as they are."""
        self.held, self.K, self.rest = held, self.last.copy(), np.zeros_like(self.last)
        for c in np.flatnonzero(held.any(axis=1)) if not self.slab else ():
            self.rest[c] = _product(_columns_of(self.data.A, held[c]), 1.0 / self.d[c, held[c]])

    def _moved(self, by):
        return self.d * np.where(self.held, 1.0, np.exp(-2.0 * by)[:, None])

    def at(self, by, needed):
        """The covariance of chains, that is new in those where it is `needed`."""
        if self.slab:
            self._make(self._moved(by), needed)
        else:
            times = np.exp(2.0 * by)[:, None, None]
            self.last = times * self.K + (1.0 - times) * self.rest
        return self.last

    def move(self, by):
        """Precisions of the columns from here on."""
        self.d[...] = np.clip(self._moved(by), 1e-12, 1e300)

    def of_slab(self, by):
        """Log of the factor by which a slab that is a factor of the prior changes its integral over the coefficients."""
        if not (self.slab and self.factor):
            return 0.0
        return -0.5 * np.log1p(self.extra / self._moved(by)).sum(axis=1)


def _product(A, v):
    """A V A' for the diagonal v of V."""
    if isinstance(A, Sparse):
        return A.gram(v)
    root = A * np.sqrt(v)
    return root @ root.T  # of a matrix and its own transpose BLAS makes one half


def _columns_of(A, some):
    """Some columns, written out."""
    return dataclasses.replace(A, S=A.S[:, some], shift=A.shift[some]) if isinstance(A, Sparse) else A[:, some]


class _Metric:
    """The factors of `kernels.predictor` for a covariance K + F and curvatures W, which are 0 at first."""

    def __init__(self, data, numbers, K):
        self.data, self.place, (chains, n, _) = data, numbers.place, K.shape
        self.L, self.G, self.room = (numbers.spare(name, (chains, n, n)) for name in ("L", "G", "weighted"))
        self.failed, self.none = np.zeros(chains, np.int64), np.zeros((chains, n))
        self.factor(self.none, K=K)
        self.check()

    def factor(self, W, needed=None, K=None):
        """G for curvatures W of chains, with L anew if there is a K."""
        n = W.shape[1]
        needed = np.ones(len(W), bool) if needed is None else needed
        self.failed[needed] = 0
        given = self.L if K is None else K, self.data.F, np.ascontiguousarray(W), K is not None, needed
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


def _columns(data, prior, state, numbers, z):
    """Local scales with the coefficients integrated out of the normal likelihood, and the predictors along with them."""
    (chains, n), p, skip = state.e.shape, data.A.shape[1], prior.skip
    outcome, S = data.normal(state.around, state.extras)
    extra = scales.slab_precisions(prior, state.scales, numbers)
    d = state.scales.d[:, skip:].copy()
    v, R, s = 1.0 / (d + extra[:, None]), outcome - data.offsets, outcome - state.e
    P, free = np.empty((chains, n, n)), z.take(n)
    Z, S0 = np.empty((chains, p)), np.empty((chains, n))
    E0, G = np.empty((chains, n)), np.empty((chains, n))
    for c in range(chains):
        C = _product(data.A, v[c]) + data.F
        C.reshape(-1)[:: n + 1] += S[c]
        L = np.linalg.cholesky(C)
        inverse = lapack.dpotri(L.T, lower=0)[0]
        P[c] = np.triu(inverse) + np.triu(inverse, 1).T
        u = P[c] @ (R[c] - L @ free[c])
        S0[c] = s[c] - S[c] * u
        E0[c] = L @ free[c] - S0[c]
        Z[c] = (state.b[c, skip:] - v[c] * (u @ data.A)) / np.sqrt(v[c])
        G[c] = P[c] @ R[c]
    order = np.argsort(z.take(p), axis=1)
    base = _base(prior, state.scales) * np.ones(d.shape)
    chance = np.log(ndtr(z.take(_BLOCKS)))
    now = P, G, d, E0, state.e.copy()
    before = _log_weight(data, state.e, state.extras, outcome, S)
    total = 0.0
    for k_, block in enumerate(np.array_split(order, _BLOCKS, axis=1)):
        new = tuple(x.copy() for x in now)
        given = data.turned, S, R, S0, Z, np.ascontiguousarray(block), base, extra, prior.slab_df is None
        given += (*numbers.key, numbers.more[8], numbers.step())
        numbers.place.run(k.COLUMNS, chains, np.int64(0), np.int64(chains), given, (*new, np.empty((chains, 2, n))), cost=p * n * n)
        new[4][:] += data.offsets
        after = _log_weight(data, new[4], state.extras, outcome, S)
        total = total + np.exp(np.minimum(after - before, 0.0))
        taken = chance[:, k_] < after - before
        for x, y in zip(now, new):
            x[taken] = y[taken]
        before = np.where(taken, after, before)
    state.scales.d[:, skip:] = d
    state.e[:] = now[4]
    return total / _BLOCKS


class _Near:
    """The state with a normal likelihood near the one it has, from which the other differs by a weight.

    Under it z ~ N(M^-1 L'S^-1 r, M^-1), r = outcomes - offsets, M = I + L'S^-1 L = GG', e = offsets + L z: u = G'z - G^-1 L'S^-1 r
    is standard normal, and is kept where scales and own parameters move.
    """

    def __init__(self, data, prior, state, numbers):
        self.data, self.prior, self.state, self.e, self.own = data, prior, state, state.e, state.extras
        self.covariance = _Covariance(data, prior, state, numbers)
        self.metric = _Metric(data, numbers, self.covariance.last)
        self._normal(self.own)
        self.metric.factor(1.0 / self.noise)
        self.u = self.metric.inwards(self.e - data.offsets)[1] - self._centre()

    def _normal(self, own):
        self.outcome, self.noise = self.data.normal(self.state.around, own)

    def _centre(self):
        return self.metric.pull((self.outcome - self.data.offsets) / self.noise, self.metric.none)

    def _weight(self, own):
        """Log of the likelihood over the normal one without its factor, whose integral has the determinants of G alone, too."""
        return _log_weight(self.data, self.e, own, self.outcome, self.noise)

    def _value(self, own, K, needed):
        """The log density of outcomes, u given; predictors go along."""
        data, metric = self.data, self.metric
        if own:
            self._normal(own)
        metric.factor(1.0 / self.noise, needed, K)
        centre = self._centre()
        self.e = data.offsets + metric.outwards(self.u + centre)[1]
        value = 0.5 * (centre * centre).sum(axis=1) - np.log(np.diagonal(metric.G, axis1=1, axis2=2)).sum(axis=1)
        value = value - 0.5 * ((self.outcome - data.offsets) ** 2 / self.noise).sum(axis=1) + self._weight(own)
        return np.where(metric.failed > 0, -np.inf, value)

    def slice(self, numbers, holds):
        """Move log tau and own parameters along a line of any direction.

        Columns whose lambda is above a number keep their scale where this `holds`, so that tau and the other columns may move.
        """
        scales, records, prior, chains = self.state.scales, self.data.response.own, self.prior, len(self.e)
        first = np.array(scales.log_tau), {one.name: np.array(self.own[one.name]) for one in records}
        direction = numbers.take(1 + len(records)) * ([prior.tau is None] + [True] * len(records))
        direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
        least, most = np.log(_HELD)
        bound = np.log(self.covariance.d.shape[1]) + least + (most - least) * ndtr(numbers.take(1))
        log_lambda = -0.5 * np.log(self.covariance.d) - _base(prior, scales)
        held = (log_lambda > bound) & holds
        self.covariance.hold(held)
        room = np.where(held, log_lambda - bound, np.inf).min(axis=1)

        def moved(s):
            by = s[:, None] * direction
            return by[:, 0], {one.name: first[1][one.name] + by[:, i + 1] for i, one in enumerate(records)}

        def density(s, needed):
            by, own = moved(s)
            t = first[0] + by
            value = self._value(own, self.covariance.at(by, needed) if prior.tau is None else None, needed)
            value += sum(one.log_prior(own[one.name]) for one in records)
            if prior.tau is not None:
                return value
            value += self.covariance.of_slab(by) + np.array([log_prior_tau(v, 0.0, prior.tau_scale) for v in t])
            x = np.where(held, log_lambda - by[:, None], -np.inf)
            value += np.where(held, x - np.logaddexp(0.0, 2.0 * x), 0.0).sum(axis=1)
            return np.where((t > _TAU[0]) & (t < _TAU[1]) & (by < room), value, -np.inf)

        by, own = moved(_sliced(density, np.zeros(chains), numbers))
        for name, value in own.items():
            self.own[name][:] = value
        if prior.tau is None:
            scales.log_tau[:] += by
            self.covariance.move(by)

    def hamiltonian(self, numbers):
        """Move the predictors by trajectories in G'z, where the normal posterior has a covariance of I."""
        (chains, n), data, metric, own = self.e.shape, self.data, self.metric, self.own
        e, (z, u), chances = self.e, metric.inwards(self.e - data.offsets), 0.0

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
                new = step_z, there, data.offsets + step_e
                pull = metric.pull(data.slopes(new[2], own)[0], new[0])
                v = v + 0.5 * size * pull
            gain = before - energy(new[0], new[2], v)
            taken = (np.log(chance[:, 1]) < gain)[:, None]
            z, u, e = (np.where(taken, x, y) for x, y in zip(new, (z, u, e), strict=True))
            chances = chances + np.exp(np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0))
        self.e = e
        return chances / _TRAJECTORIES


def _base(prior, scales):
    """Log of the scale of a coefficient for a local scale of 1, shape (chains, 1) or (chains, p)."""
    second = 1.0 if scales.second is None else scales.second[:, prior.skip :]
    return scales.log_tau[:, None] - 0.5 * np.log(second)


def _log_weight(data, e, own, outcome, noise):
    value = data.loglik(e, own) + 0.5 * ((outcome - e) ** 2 / noise).sum(axis=1)
    return np.where(np.isnan(value), -np.inf, value)


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


def learn(data, state, seen):
    """Iteration `seen` of the warmup: the mean of predictors goes on."""
    share = 1.0 / min(0.5 * seen + 1.0, 200.0)
    state.around[:] += share * (state.e - state.around)


PREDICTOR = Sampler("predictor", "predictor", init, step, problem, by_rows=lambda n, p: True, products=True, passes=False, learn=learn)
