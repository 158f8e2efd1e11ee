"""More columns than rows, any response: the linear predictors first, then the coefficients given them.

Given the scales, the n predictors e = offset + X b + jitter have the prior N(offset, K + F), K = X V X' of the columns that are
shrunk, F of the others and the jitter, and the likelihood enters through them alone, which is log-concave in e for the responses
that take this sampler, or nearly. A normal likelihood near it, N(outcome; e, S), of slopes and curvatures at the mean of e in the
warmup, has integrals in closed form, so that coefficients and predictors are integrated out; the exact one differs by a weight of
e, which follows scales while standard normals stay (I. Murray, R. Adams, NIPS 23, 2010). A step draws

1. local scales and log tau given the coefficients, as all samplers do;
2. local scales one after the other in random order given the normal outcomes, each by a slice that reaches both of its modes, a
   column in or out of the model; after each tenth of the columns the weight decides. The inverse of C = K + F + S follows by
   updates of rank one, in O(n^2) a column;
3. log tau and own parameters of the response along lines, by slices; columns of large lambda keep their variance meanwhile, as
   otherwise tau could move only as far as each of them lets it;
4. e, by Hamiltonian steps in the metric of the normal posterior;
5. own parameters given e, by slices;
6. the coefficients given e exactly, in O(n p) (A. Bhattacharya, A. Chakraborty, B. Mallick, Biometrika 103, 2016).

All chains go together: what is of n x n is a kernel (kernels/predictor.py), what is of the response a function of arrays.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
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
_LEAST_INFORMATION = 1e-3  # of a normal outcome: far from a heavy tail all curvatures are negative
_FARTHEST = 10.0  # of a normal outcome from where it is made: rounding would leave nothing of predictors near it
_BLOCKS = 10  # of columns, each with an acceptance of its own
_SLICES = 3  # of tau, all but the last one with own parameters
_LEAPFROGS, _TRAJECTORIES = 4, 2
_SIZES = 0.35, 0.75  # of a leapfrog, in standard deviations of the normal posterior
_HELD = 0.03, 0.6  # columns keep their scale where tau moves and lambda is above some number between these, times p
_WIDTH, _WIDE, _SHRINKS = 2.5, 8.0, 20  # of slices: their only interval, also where it costs little, and how often it is cut
_START = 0.1  # variance of predictors by the columns: of more, chains may begin where columns fit the errors, too
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
        most = curvature.max(axis=1, keepdims=True)
        noise = 1.0 / np.maximum(curvature, np.maximum(1e-4 * most, _LEAST_INFORMATION))
        return around + np.clip(noise * slope, -_FARTHEST, _FARTHEST), noise


class State(NamedTuple):
    """Coefficients, scales, predictors and those around which the likelihood is normal, log-likelihood, own parameters."""

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
    turned = np.ascontiguousarray((A.toarray() if isinstance(A, Sparse) else A).T)
    known = y, weights, offsets, variances, 1e-300 * size
    data = Problem(rows.response, free, A, *known, F + np.diag(_JITTER * size), level, turned)
    numbers = scales.Numbers((np.uint32(0),) * 2, 0, 1, 1, 1, 0, Place("cpu", 1))
    there = _Metric(data, numbers, _product(A, np.full(A.shape[1], _START / A.shape[1]))[None])
    data = data._replace(around=there.mode(_start(data, 1), level[None])[0])
    jitter = _JITTER * data.normal(data.around[None], _start(data, 1))[1][0]
    return data._replace(jitter=jitter, F=F + np.diag(jitter))


def _start(data, chains):
    """Own parameters at the start of chains."""
    return {one.name: np.full(chains, one.start) for one in data.response.own}


def init(data, prior, numbers, chains):
    """Predictors at their mode given local scales of 1, moved by noise; the coefficients given these."""
    p = data.A.shape[1]
    found = scales.start(prior, (chains, data.free.shape[1] + p), 0.5 * math.log(_START / p))
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
    """The draws that the head of the file lists."""
    scales.draw(prior, state.scales, state.b, numbers)
    n, p, own = len(data.offsets), state.b.shape[1], state.extras
    sliced = _SHRINKS + 2
    size = n + p + _BLOCKS + _SLICES * (sliced + 2 + len(own)) + _TRAJECTORIES * (n + 2) + len(own) * sliced + p + n
    z, single = _Normals(numbers, size), _single(prior)
    near = _Near(data, prior, state, numbers, z)
    chance = near.columns(z) if single else np.ones(len(state.b))
    for number in range(_SLICES if own or prior.tau is None else 0):
        direction = z.take(1 + len(own)) * ([prior.tau is None] + [number < _SLICES - 1 or prior.tau is not None] * len(own))
        direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
        near.slice(z, direction, holds=single)
    near.hamiltonian(z)
    state.e[:] = near.e
    for one in data.response.own:

        def density(t, needed, one=one):
            return data.loglik(state.e, own | {one.name: t}) + one.log_prior(t)

        own[one.name][:] = _sliced(density, own[one.name], z, _WIDE)
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


def _sliced(density, t, numbers, width=_WIDTH):
    """A draw of every chain from ``density(t, needed)`` by a slice sampler of one interval, which is at random around t.

    What the density keeps is afterwards that of the draw: `needed` are the chains for which it is not that of the call before.
    """
    u = ndtr(numbers.take(2 + _SHRINKS))
    level = density(t, np.ones(len(t), bool)) + np.log(u[:, 0])
    lo = t - width * u[:, 1]
    hi, new, looking = lo + width, t.copy(), level < np.inf
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
        self.last = np.zeros((len(self.d), *data.F.shape))
        self.renew()

    def renew(self):
        """For other precisions."""
        self._make(self.d, np.ones(len(self.d), bool))

    def _make(self, d, needed):
        n, p = self.data.A.shape

        def one(c):
            self.last[c] = _product(self.data.A, 1.0 / (d[c] + self.extra[c]))

        in_threads(one, [(c,) for c in np.flatnonzero(needed)], self.workers if n * n * p > _LARGE else 1)

    def sizes(self, c):
        """Standard deviations of the coefficients of a chain."""
        return np.sqrt(1.0 / (self.d[c] + self.extra[c]))

    def hold(self, held, z):
        """The columns, by chain, that go on as they are; z are draws of coefficients in units of their standard deviations."""
        self.held, self.K, self.rest = held, self.last.copy(), np.zeros_like(self.last)
        self.sums = np.zeros((2, *self.last.shape[:2]))  # of all columns and of those, times such draws
        for c in range(0 if self.slab else len(held)):
            self.sums[0, c] = self.data.A @ (self.sizes(c) * z[c])
            if held[c].any():
                some = _columns_of(self.data.A, held[c])
                self.rest[c], self.sums[1, c] = _product(some, 1.0 / self.d[c, held[c]]), some @ (self.sizes(c) * z[c])[held[c]]

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

    def drawn(self, by, z):
        """Predictors by such draws, shape (chains, n)."""
        if self.slab:
            return np.array([self.data.A @ v for v in z / np.sqrt(self._moved(by) + self.extra)])
        return self.sums[1] + np.exp(by)[:, None] * (self.sums[0] - self.sums[1])

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


class _Near:
    """The state with a normal likelihood near the one it has, from which the other differs by a weight.

    Under it r = outcomes - offsets ~ N(0, C), C = K + F + S. Predictors are offsets + e0 + (C - S) C^-1 (r - e0 - s0) for a draw
    of the prior, s0 = sqrt(S) w of the errors and e0 = f + A sqrt(V) z. It is drawn given predictors and coefficients; then w, f
    and z stay, and predictors go along with scales and own parameters.
    """

    def __init__(self, data, prior, state, numbers, normals):
        self.data, self.prior, self.state, self.numbers, self.own = data, prior, state, numbers, state.extras
        self.covariance, self.e = _Covariance(data, prior, state, numbers), state.e
        self.outcome, self.noise = data.normal(state.around, self.own)
        chains, n = self.e.shape
        z, R = normals.take(n), self.outcome - data.offsets
        self.errors, self.free, self.z = np.empty((chains, n)), np.empty((chains, n)), np.empty(self.covariance.d.shape)
        self.out = numbers.spare("C", (chains, n, n)), np.empty((chains, n)), np.empty(chains)
        self.factors = self.covariance.last + data.F
        for c, C in enumerate(self.factors):
            C.reshape(-1)[:: n + 1] += self.noise[c]
            C[:] = np.linalg.cholesky(C)
            L, size = C.T, self.covariance.sizes(c)
            total = C @ z[c]
            rest = blas.dtrsv(L, blas.dtrsv(L, R[c] - total, lower=0, trans=1), lower=0)
            errors = self.outcome[c] - self.e[c] - self.noise[c] * rest
            self.errors[c] = errors / np.sqrt(self.noise[c])
            self.z[c] = state.b[c, prior.skip :] / size - size * (rest @ data.A)
            self.free[c] = total - errors - data.A @ (size * self.z[c])

    def _weight(self, own):
        """Log of the likelihood over the normal one."""
        value = self.data.loglik(self.e, own) + 0.5 * ((self.outcome - self.e) ** 2 / self.noise + np.log(self.noise)).sum(axis=1)
        return np.where(np.isnan(value), -np.inf, value)

    def _given(self, rest):
        """Predictors, for C^-1 (r - e0 - s0)."""
        self.e = self.outcome - np.sqrt(self.noise) * self.errors - self.noise * rest

    def columns(self, normals):
        """Move local scales one by one, given the normal likelihood; after some of them their predictors decide by the weight."""
        data, numbers, (chains, p), n = self.data, self.numbers, self.z.shape, self.e.shape[1]
        order, chance = np.argsort(normals.take(p), axis=1), np.log(ndtr(normals.take(_BLOCKS)))
        base, extra = _base(self.prior, self.state.scales) * np.ones(self.z.shape), self.covariance.extra[:, 0]
        R, d = self.outcome - self.data.offsets, self.covariance.d
        M, H = np.empty((chains, n, n)), np.sqrt(self.noise) * self.errors + self.free
        for c in range(chains):
            inverse = lapack.dpotri(self.factors[c].T, lower=0)[0]
            M[c] = np.triu(inverse) + np.triu(inverse, 1).T
            H[c] += data.A @ (self.covariance.sizes(c) * self.z[c])
        now = M, np.array([A @ r for A, r in zip(M, R, strict=True)]), d.copy(), H
        before, e, total = self._weight(self.own), self.e, 0.0
        rest, room = np.empty((2, chains, n))
        for number, some in enumerate(np.array_split(order, _BLOCKS, axis=1)):
            new = tuple(x.copy() for x in now)
            given = data.turned, R, self.z, np.ascontiguousarray(some), base, extra, self.prior.slab_df is None
            given = *given, *numbers.key, numbers.more[8], numbers.step()
            work = 0.5 * some.shape[1] * n * n
            numbers.place.run(k.COLUMNS, chains, np.int64(0), np.int64(chains), given, (*new, rest, room), cost=work)
            self._given(rest)
            gain = self._weight(self.own) - before
            taken, total = chance[:, number] < gain, total + np.exp(np.minimum(gain, 0.0))
            now = tuple(np.where(taken.reshape(-1, *[1] * (x.ndim - 1)), x, y) for x, y in zip(new, now, strict=True))
            before, e = np.where(taken, before + gain, before), np.where(taken[:, None], self.e, e)
        self.e, d[...] = e, now[2]
        self.covariance.renew()
        return total / _BLOCKS

    def _value(self, by, own, needed):
        """The log density of outcomes, for tau times e^by; predictors go along."""
        data, chains = self.data, len(self.e)
        if own:
            self.outcome, self.noise = data.normal(self.state.around, own)
        K, H = self.covariance.at(by, needed), self.covariance.drawn(by, self.z) + self.free + np.sqrt(self.noise) * self.errors
        given = K, data.F, self.noise, self.outcome - data.offsets, H, needed
        self.numbers.place.run(k.NORMAL, chains, np.int64(0), np.int64(chains), given, self.out, cost=0.1 * H.shape[1] ** 3)
        self._given(self.out[1])
        return self.out[2] + self._weight(own)

    def slice(self, numbers, direction, holds):
        """Move log tau and own parameters along lines, shape (chains, 1 + own).

        Columns whose lambda is above a number keep their scale where this `holds`, so that tau and the other columns may move.
        """
        scales, records, prior, chains = self.state.scales, self.data.response.own, self.prior, len(self.e)
        first = np.array(scales.log_tau), {one.name: np.array(self.own[one.name]) for one in records}
        least, most = np.log(_HELD)
        bound = np.log(self.z.shape[1]) + least + (most - least) * ndtr(numbers.take(1))
        log_lambda = -0.5 * np.log(self.covariance.d) - _base(prior, scales)
        held = (log_lambda > bound) & holds
        self.covariance.hold(held, self.z)
        room = np.where(held, log_lambda - bound, np.inf).min(axis=1)

        def moved(s):
            by = s[:, None] * direction
            return by[:, 0], {one.name: first[1][one.name] + by[:, i + 1] for i, one in enumerate(records)}

        def density(s, needed):
            by, own = moved(s)
            t = first[0] + by
            value = self._value(by, own, needed) + sum(one.log_prior(own[one.name]) for one in records)
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
        """Move the predictors by trajectories in u = G'z, e = offsets + L z, where the normal posterior has a covariance of I."""
        n, data, own, e = self.e.shape[1], self.data, self.own, self.e
        self.metric = metric = _Metric(data, self.numbers, self.covariance.last)
        metric.factor(1.0 / self.noise)
        z, u = metric.inwards(e - data.offsets)

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
            taken = (np.log(chance[:, 1]) < before - energy(new[0], new[2], v))[:, None]
            z, u, e = (np.where(taken, x, y) for x, y in zip(new, (z, u, e), strict=True))
        self.e = e


def _base(prior, scales):
    """Log of the scale of a coefficient for a local scale of 1, shape (chains, 1) or (chains, p)."""
    second = 1.0 if scales.second is None else scales.second[:, prior.skip :]
    return scales.log_tau[:, None] - 0.5 * np.log(second)


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


PREDICTOR = Sampler(
    "predictor", "predictor", init, step, problem, by_rows=lambda n, p: True, products=True, passes=False, learn=learn
)
