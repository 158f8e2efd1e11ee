"""What all samplers share: random numbers of an iteration, and the scales of the prior drawn given the coefficients."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats._core.random import Purpose, stream_word
from numbastats.bayes import kernels as k
from numbastats.bayes.samplers.algebra import NO_FACTOR
from numbastats.scalar.shrinkage import DONE, START, item_of, log_prior_tau, slice_step

_SLAB_STEPS = 3
MANY_COLUMNS = 2000  # order of a factorisation above which threads of BLAS pay


class Info(NamedTuple):
    """What a step reports: acceptance by chain, proposals of infinite energy, the surrogate's log importance ratios."""

    acceptance: np.ndarray
    nonfinite: int = 0
    ratios: np.ndarray | None = None


class Prior(NamedTuple):
    """The prior of a fit.

    Parameters
    ----------
    name : {"horseshoe", "horseshoe+", "ridge", "lasso"}
    intercept : int
        1 with an intercept, whose column is the first one, else 0.
    free : tuple of float
        Prior precisions of the leading columns that are not shrunk, the intercept's first; 0 for a flat prior.
    tau_scale : float
        Scale of the half-Cauchy prior of tau.
    tau : float or None
        A fixed tau.
    slab : float or None
        Standard deviation of the slab, at least 1e-150.
    slab_df : float or None
        Degrees of freedom of the slab's prior under the regularised horseshoe, inf for a fixed slab; None for a slab that is
        a factor of the prior.
    groups : numpy.ndarray of int, or None
        For every column that is shrunk the number of its local scale, from 0 on; None where each has its own.
    """

    name: str
    intercept: int
    free: tuple[float, ...]
    tau_scale: float
    tau: float | None
    slab: float | None = None
    slab_df: float | None = None
    groups: np.ndarray | None = None

    @property
    def skip(self):
        """Number of leading columns that are not shrunk."""
        return len(self.free)

    @property
    def plain(self):
        """Whether one kernel draws all scales; then they may be on a GPU, and the kernel of a step may draw them."""
        return self.groups is None and self.slab_df is None and self.name != "horseshoe+"

    @property
    def flat(self):
        """How many of these have a flat prior."""
        return self.free.count(0.0)


class Scales(NamedTuple):
    """Scales of all chains; None for those that the prior does not have.

    Parameters
    ----------
    log_tau : numpy.ndarray, shape (chains,)
    d : numpy.ndarray, shape (chains, p)
        Precisions of the coefficients without a slab.
    second : numpy.ndarray, shape (chains, p), or None
        eta^-2 of the second half-Cauchy factor of the horseshoe+.
    log_slab : numpy.ndarray, shape (chains,), or None
        Log of the width of a slab with a prior.
    """

    log_tau: np.ndarray
    d: np.ndarray
    second: np.ndarray | None
    log_slab: np.ndarray | None


def start(prior, shape, log_tau):
    """Scales of 1 for the coefficients of chains, and the precisions of those that are not shrunk."""
    d = np.ones(shape)
    d[:, : prior.skip] = np.clip(prior.free, 1e-12, 1e300)
    second = np.ones(shape) if prior.name == "horseshoe+" else None
    log_slab = None if prior.slab_df is None else np.full(shape[0], math.log(prior.slab))
    return Scales(np.full(shape[0], log_tau if prior.tau is None else math.log(prior.tau)), d, second, log_slab)


def slab_precisions(prior, scales, numbers):
    """Of every chain, shape (chains,), what a slab adds to the precisions of the coefficients that are shrunk."""
    return numbers.slab if scales.log_slab is None else np.exp(-2.0 * scales.log_slab)


def precisions(prior, scales, numbers):
    """Prior precisions of the coefficients."""
    found = scales.d.copy()
    found[:, prior.skip :] += slab_precisions(prior, scales, numbers)[:, None]
    return found


# --- random numbers -----------------------------------------------------------------------------------------------------


class Numbers:
    """Random numbers of consecutive chains: those of an iteration depend on the key, the chain and `clock` alone.

    Parameters
    ----------
    key : tuple of two uint32
    first, chains, of : int
        Number of the first chain here, how many are here, and the fit's number of chains.
    size : int
        Normals of a chain and step.
    sweeps : int
        Steps within an iteration, less 1.
    place : Place
        Of the chains' states.
    slab : float or None
        Standard deviation of a slab without a prior.

    Attributes
    ----------
    slab : array, shape (chains,)
        Precision of that slab.
    failed : array, shape (chains,)
        Not 0 where a factorisation has failed.
    """

    def __init__(self, key, first, chains, of, size, sweeps, place, slab=None):
        self.key, self.clock, self.sweeps, self.chains = key, 0, sweeps, chains
        self.streams = _streams(first, chains)
        self.more = [_streams(i * of + first, chains) for i in range(9)]  # the last ones of chain numbers beyond the fit's
        self._size, self._slab = size, slab
        self.attach(place)

    def attach(self, place):
        """Take up the place, which is not pickled."""
        self.place, chains = place, self.chains
        self.there = tuple(map(place.asarray, (self.streams, self.more[0], self.streams[k.LATENT_STAGE])))
        self._normals, self._uniforms = place.empty((chains, self._size)), place.empty((chains, 2))
        self._gammas, self.failed = place.empty(chains), place.zeros(chains, np.int64)
        self.slab = place.asarray(np.full(chains, 0.0 if self._slab is None else 1.0 / self._slab**2))
        self._spare = {}
        self.report, self.factors, self.room = place.empty((chains, 4)), None, None

    def __getstate__(self):
        """The state that is pickled: without arrays that each iteration fills."""
        kept = "key clock sweeps chains streams more _size _slab".split()
        return {name: self.__dict__[name] for name in kept}

    def run(self, kernel, *args, work):
        """Start a kernel over the chains, each of which takes `work` nanoseconds on the host."""
        threads = k.LANES if self.place.on_gpu else 1
        self.place.run(kernel, self.chains * threads, *args, cost=work / threads, threads=k.LANES)

    def algebra(self, kernel, given, out, factorisations=1):
        """Start one of the kernels of coefficients; where the matrices are large, BLAS has threads of its own."""
        p = self.room.shape[2]
        work = 0.0 if p >= MANY_COLUMNS else factorisations * (0.06 * p**3 + 1000.0)
        self.run(kernel, 0, self.chains, given, out, work=work)

    def spare(self, name, shape):
        """Memory of a proposal, kept for the next one."""
        if name not in self._spare:
            self._spare[name] = self.place.empty(shape)
        return self._spare[name]

    def copied(self, name, x):
        """A copy, in such memory, of an array of the place; None of None."""
        if x is None:
            return None
        found = self.spare(name, x.shape)
        if self.place.on_gpu:
            found.copy_to_device(x, stream=self.place.stream)
        else:
            found[...] = x
        return found

    def memory(self, p):
        """Memory of the kernels of coefficients: a matrix and some rows for each chain, and where they tell of failures."""
        if self.room is None:
            self.factors, self.room = self.place.empty((self.chains, p, p)), self.place.empty((self.chains, k.WORK, p))
        return self.factors, self.room, self.failed

    def check(self):
        """Raise where a factorisation has failed."""
        if self.place.host(self.failed).any():
            raise RuntimeError(NO_FACTOR)

    def info(self):
        """What the kernel of a decision has reported."""
        self.check()
        report = self.place.host(self.report)
        return Info(report[:, 0].copy(), int((report[:, 2] == 0.0).sum()), report[:, 3].copy())

    def step(self, part=0):
        """Counter word of a step: `part` numbers the sweeps within an iteration."""
        return np.uint32((self.clock * (self.sweeps + 1) + part) & 0xFFFFFFFF)

    def draws(self, part=0):
        """Normals, shape (chains, size), and two uniforms per chain; valid until the next call."""
        found = self._normals, self._uniforms
        self.place.run(k.DRAWS, self._normals.size, *self.key, self.there[0], self.step(part), *found, cost=10.0)
        return found

    def gammas(self, shape):
        """A gamma draw for every chain; valid until the next call."""
        self.place.run(k.GAMMA, self.chains, *self.key, self.there[0], self.step(), shape, self._gammas)
        return self._gammas

    def normals(self, number, part, size):
        """Normals of other streams, shape (chains, size)."""
        Z = np.empty((self.chains, size))
        k.DRAWS.serial(*self.key, self.more[number], self.step(part), Z, np.empty((self.chains, 2)))
        return Z


def _streams(first, chains):
    """Stream words, shape (stages, chains), of consecutive chains; `first` is the number of the first one."""
    numbers = np.arange(k.STAGES)[:, None] + k.STAGES * np.arange(first, first + chains)
    return np.array([[stream_word(Purpose.BAYES, int(c)) for c in row] for row in numbers], np.uint32)


def _exponentials(Z):
    """Exponential draws, each made of two normals: one from either half of a row."""
    first, second = np.split(Z, 2, axis=1)
    return 0.5 * (first**2 + second**2)


# --- scales given the coefficients --------------------------------------------------------------------------------------


def draw(prior, scales, B, numbers, part=0, *, reversible=False):
    """Draw the scales given coefficients B, shape (chains, p), in place."""
    log_tau, d, second, log_slab = scales
    if prior.plain:
        options = np.int64(prior.skip), prior.tau_scale, prior.tau is not None, *numbers.key, numbers.there[1], numbers.step(part)
        numbers.run(k.SCALES[prior.name], B, B, *options, log_tau, d, work=_scales_work(prior, B))
        return
    if log_slab is not None and reversible:
        _draw_slab(prior, B, d, log_slab, numbers, 6, part)
    # b ~ N(0, lambda^2 eta^2 tau^2), of the horseshoe eta = 1: lambda and tau from b/eta, then eta from b/(lambda tau)
    fixed = prior.tau is not None
    if second is None:
        _draw_factor(prior, B, 1.0, fixed, numbers, 0, part, log_tau, d, log_slab)
    else:
        shrunk = slice(prior.skip, None)
        d[:, shrunk] /= second[:, shrunk]
        _draw_factor(prior, B, second, fixed, numbers, 0, part, log_tau, d, log_slab)
        others = np.ones_like(d)
        others[:, shrunk] = d[:, shrunk]
        _draw_factor(prior, B, others, True, numbers, 1, part, np.zeros_like(log_tau), second, log_slab)
        if reversible:  # the steps in both orders, so that the chain is reversible
            _draw_factor(prior, B, second, fixed, numbers, 2, part, log_tau, d, log_slab)
        d[:, shrunk] = np.clip(d[:, shrunk] * second[:, shrunk], 1e-12, 1e300)
    if log_slab is not None:
        _draw_slab(prior, B, d, log_slab, numbers, 7, part)


def _draw_factor(prior, B, others, fixed, numbers, number, part, log_tau, d, log_slab):
    """Draw log tau and the precisions d of one factor of the scales, given the precisions of the `others`; in place."""
    if prior.groups is not None:
        _draw_shared(prior, B * np.sqrt(others), fixed, numbers, number, part, log_tau, d)
        return
    options = (np.int64(prior.skip), prior.tau_scale, fixed, *numbers.key, numbers.more[number], numbers.step(part))
    where = {"work": _scales_work(prior, B)}
    name, root = "horseshoe" if prior.name == "horseshoe+" else prior.name, np.sqrt(others)
    if log_slab is None:
        numbers.run(k.SCALES[name], B * root, B, *options, log_tau, d, **where)
        return
    # proposals whose density has 1/w + 1/c where it should have sqrt(1/w^2 + 1/c^2); scales that share a new tau go together
    inverse, shrunk = np.exp(-log_slab)[:, None] / (root * np.ones_like(B)), slice(prior.skip, None)
    new_tau, new = log_tau.copy(), d.copy()
    numbers.run(k.SCALES["regularised"], B * root, inverse, *options, new_tau, new, **where)
    gain = _regularised_ratio(new, inverse)[:, shrunk] - _regularised_ratio(d, inverse)[:, shrunk]
    gain = gain if fixed else gain.sum(axis=1, keepdims=True)
    taken = gain > -_exponentials(numbers.normals(number + 3, part, 2 * gain.shape[1]))
    np.copyto(d[:, shrunk], new[:, shrunk], where=taken)
    if not fixed:
        np.copyto(log_tau, new_tau, where=taken[:, 0])


def _scales_work(prior, B):
    """Nanoseconds that the scales of a chain take."""
    return 40.0 * max(B.shape[1] - prior.skip, 1) + 1000.0


def _draw_shared(prior, B, fixed, numbers, number, part, log_tau, d):
    """The same where columns share local scales.

    Given m coefficients with the sum 2 tau^2 x of squares, eta = 1/lambda^2 has the density eta^((m - 1)/2) e^(-x eta)/(1 + eta),
    as under the joint one eta^((m - 1)/2) e^(-x eta - (1 + eta) u) with u > 0 (Makalic and Schmidt 2016). Given u, which is
    drawn anew, eta is gamma, and integrated out for log tau.
    """
    groups, shrunk = prior.groups, slice(prior.skip, None)
    sizes, first = np.bincount(groups), np.unique(groups, return_index=True)[1]
    summed = lambda v, groups=groups: np.array([np.bincount(groups, row) for row in v])  # noqa: E731
    squares, eta = 0.5 * summed(B[:, shrunk] ** 2), d[:, shrunk][:, first] * np.exp(2.0 * log_tau)[:, None]
    Z = numbers.normals(number + 3, part, 3 * sizes.size + groups.size)
    u = _exponentials(Z[:, : 2 * sizes.size]) / (1.0 + eta)
    for c in range(0 if fixed else len(B)):

        def density(t, c=c):
            value = log_prior_tau(t, float(groups.size), prior.tau_scale)
            return value - 0.5 * (sizes + 1.0) @ np.log(u[c] + squares[c] * math.exp(-2.0 * t))

        item = item_of(np.int64(0), numbers.step(part))
        log_tau[c] = sliced(density, log_tau[c], numbers.key, item, numbers.more[number][0, c])
    gammas = 0.5 * summed(Z[:, 2 * sizes.size :] ** 2, np.concatenate([np.arange(sizes.size), groups]))  # of shape (m + 1)/2
    precision = np.exp(-2.0 * log_tau)[:, None]
    d[:, shrunk] = np.clip(gammas / (u + squares * precision) * precision, 1e-12, 1e300)[:, groups]


def sliced(density, t, key, item, stream, *, stays=False):
    """A draw from a log density of one variable by a slice sampler at t, which is left as it is where it `stays`."""
    phase, count, level, lo, hi, at = (DONE if stays else START), 0, 0.0, t, t, t
    while phase != DONE:
        phase, count, level, lo, hi, at = slice_step(phase, count, density(at), level, t, lo, hi, at, *key, item, stream)
    return at


def _regularised_ratio(d, inverse):
    """Log of sqrt(d + 1/c^2) over sqrt(d) + 1/c, from -log(2)/2 to 0."""
    return 0.5 * np.log(d + inverse**2) - np.log(np.sqrt(d) + inverse)


def _draw_slab(prior, B, d, log_slab, numbers, number, part):
    """Log widths of the slab given coefficients and their scales, in place: Metropolis steps of all sizes."""
    if math.isinf(prior.slab_df):
        return
    d, squares = d[:, prior.skip :], (B[:, prior.skip :] ** 2).sum(axis=1)

    def density(s):  # c^2 is inverse gamma
        precision = np.exp(-2.0 * s)
        value = -prior.slab_df * (s + 0.5 * prior.slab**2 * precision)
        return value + 0.5 * (np.log(d + precision[:, None]).sum(axis=1) - squares * precision)

    value = density(log_slab)
    for z in np.split(numbers.normals(number, part, 4 * _SLAB_STEPS), _SLAB_STEPS, axis=1):
        new = log_slab + 0.5 * np.exp(z[:, 0]) * z[:, 1]
        found = density(new)
        taken = found - value > -_exponentials(z[:, 2:])[:, 0]
        np.copyto(log_slab, new, where=taken)
        value = np.where(taken, found, value)
