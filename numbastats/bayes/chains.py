"""The chains of a fit, which advance together: a pass over X serves them all.

Which samplers (samplers/) take a response says its record. States are arrays by name, changed in place, so that they can be
saved and resumed exactly: what an iteration draws depends on the key, the chain and the iteration alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import itertools
import math
import threading

import numpy as np

from numbastats._core.place import Place
from numbastats.bayes.responses.record import record_of
from numbastats.bayes.samplers import HAMILTONIAN, PREDICTOR, SAMPLERS, SURROGATE, WIDE, scales, surrogate
from numbastats.bayes.samplers.adaptation import ANGLE, adapt

AUTO = "auto"
_TRIES = 50  # surrogate proposals by which "auto" decides
_SLAB_COLUMNS = 3  # columns for each row from which n x n algebra pays where a slab has it made anew at every proposal of tau
_LIGHT = 0.5  # "auto" takes no surrogate above this Pareto shape of its tries; they are few, so it is below a fit's limit


@functools.cache
def _openblas():
    """Functions that get and set the number of threads of NumPy's and SciPy's OpenBLAS; none for another BLAS."""
    found = []
    for user, prefix, suffix in itertools.product(
        ("numpy.linalg._umath_linalg", "scipy.linalg._flapack"), ("scipy_openblas", "openblas"), ("", "64_")
    ):
        with contextlib.suppress(ImportError, OSError, AttributeError):
            library = ctypes.CDLL(importlib.import_module(user).__file__)
            found.append([getattr(library, f"{prefix}_{verb}_num_threads{suffix}") for verb in ("get", "set")])
    return found


_blas_lock = threading.Lock()
_blas_held: list[list] = []  # functions that restore the number of threads, a list for each fit in progress


@contextlib.contextmanager
def one_blas_thread(n, p):
    """Keep BLAS to one thread while chains run on n x p rows, unless the algebra is large: waking threads takes longer."""
    if min(n, p) >= scales.MANY_COLUMNS:
        yield
        return
    with _blas_lock:
        _blas_held.append(_blas_held[0] if _blas_held else [functools.partial(put, get()) for get, put in _openblas()])
        for _, put in _openblas():
            put(1)
    try:
        yield
    finally:
        with _blas_lock:
            restore = _blas_held.pop()
            for put in [] if _blas_held else restore:
                put()


def samplers_of(response):
    """The samplers that take a response, by their words."""
    return {SAMPLERS[name].word: SAMPLERS[name] for name in record_of(response).samplers}


def sampler_of(response, word, n, p, slab):
    """The sampler of a word; for "auto" Hamiltonian steps where the shape does not decide, and tries in the warmup do.

    The usual sampler of a response keeps up where a slab has A V A' made anew at every proposal of tau.
    """
    found, usual = samplers_of(response), record_of(response).usual
    if word != AUTO:
        return found[word]
    least = _SLAB_COLUMNS if usual and slab is not None and not math.isinf(slab) else 1
    if WIDE.word in found and p > least * n:
        return WIDE
    if PREDICTOR.word in found and p > n:
        return PREDICTOR
    return SAMPLERS[usual] if usual else HAMILTONIAN


def _each(state, move):
    """A state with its arrays moved to or from a place, but for the mean of a metric, which only the host knows."""
    if isinstance(state, dict):
        return {name: move(v) for name, v in state.items()}
    moved = {
        name: _each(v, move) if isinstance(v, tuple | dict) else move(v)
        for name, v in state._asdict().items()
        if isinstance(v, tuple | dict) or (name != "mean" and not isinstance(v, int | float | None))
    }
    return state._replace(**moved)


class Chains:
    """A number of chains of one sampler on one data set.

    Parameters
    ----------
    rows : Rows
    number : tuple of two ints or None
        Number of the only chain here, and the fit's number of chains; None where all chains are here.
    prior : scales.Prior
    kind : str
        The word of a sampler, or "auto".
    chains, warmup : int
    key : tuple of two uint32
    sweeps : int or None
        Sweeps of the surrogate.

    Attributes
    ----------
    state : NamedTuple
        Of the sampler.
    iteration, offered, nonfinite : int
        Iterations so far; those that `accepted` counts, and proposals of infinite energy.
    accepted : numpy.ndarray, shape (chains,)
    angle : float
        Of the Hamiltonian rotation.
    """

    def __init__(self, rows, number=None, *, prior, kind, chains, warmup, key, sweeps=None):
        self.warmup = warmup
        self.n, self.p = rows.shape
        self.sweeps = surrogate.sweeps(self.n, self.p) if sweeps is None else sweeps
        self.sampler = sampler_of(rows.response, kind, self.n, self.p, prior.slab)
        self.choosing = kind == AUTO and self.sampler is HAMILTONIAN
        self.own = tuple(one.name for one in rows.own) if self.sampler.adapts else ()  # in front of the coefficients
        self.prior = prior._replace(free=(*[0.0] * len(self.own), *prior.free))
        self.weight, self.response = rows.known, rows.response
        first, of = (0, chains) if number is None else number
        size = self.p + len(self.own) + self.n * self.sampler.by_rows(self.n, self.p)
        place = self._place(rows)
        self.numbers = scales.Numbers(
            key, first, chains, of, size, self.sweeps, place, prior.slab if prior.slab_df is None else None
        )
        self.iteration = self.offered = self.nonfinite = 0
        self.angle = ANGLE
        self.accepted = np.zeros(chains)
        self.ratios = []  # of the surrogate since the warmup: log of exact over approximate likelihood, per proposal and chain
        self._take(rows)
        self.state = _each(self.sampler.init(self.problem, self.prior, self.numbers, chains), place.asarray)

    def _place(self, rows):
        """Where the states are: on a GPU with rows of floats, if one kernel draws all scales of the prior."""
        there = rows.device == "cuda" and rows.resident and self.prior.plain and not self.sampler.by_rows(self.n, self.p)
        return Place("cuda" if there else "cpu", rows.workers)

    def _take(self, rows):
        self.rows, self.problem = rows, self.sampler.problem(rows, self.prior)
        if self.numbers.place.on_gpu and isinstance(self.problem, tuple):
            self.problem = self.problem._replace(H=self.numbers.place.asarray(self.problem.H))

    def attach(self, rows):
        """Take up the data, which are not pickled with the chains."""
        self.numbers.attach(self._place(rows))
        self._take(rows)
        self.state = _each(self.state, self.numbers.place.asarray)

    def __getstate__(self):
        """The state that is pickled: without the data."""
        state = self.state if self.rows is None else _each(self.state, self.numbers.place.host)
        return self.__dict__ | {"rows": None, "problem": None, "sampler": self.sampler.name, "state": state}

    def __setstate__(self, state):
        self.__dict__ |= state | {"sampler": SAMPLERS[state["sampler"]]}

    def quantities(self, *names):
        """Arrays of all chains by name, all that the sampler has or some; what they hold is that of the moment."""
        s = self.state
        found = {"b": s.b, **s.scales._asdict(), "loglik": getattr(s, "loglik", None)} | getattr(s, "extras", {})
        found |= {name: s.b[:, j] for j, name in enumerate(self.own)}
        wanted = {name: found.get(name) for name in names or found}
        host = {name: self.numbers.place.host(v) for name, v in wanted.items() if v is not None}
        if self.own:
            host |= {name: host[name][:, len(self.own) :] for name in ("b", "d", "second") if name in host}
            if "loglik" in host:  # that of the steps has the prior of the own parameters in it
                records = zip(self.own, self.response.own, strict=True)
                host["loglik"] = host["loglik"] - sum(one.log_prior(found[name]) for name, one in records)
        return host | {"accepted": self.accepted}

    def advance(self):
        """One iteration of all chains; during warmup also adaptation. Acceptance is counted anew after the warmup."""
        i, info = self.iteration, self._step()
        if i == self.warmup:
            self.accepted, self.offered = np.zeros_like(info.acceptance), 0
        self.accepted = self.accepted + info.acceptance
        self.offered += 1
        if info.ratios is not None and i >= self.warmup:
            self.ratios.append(info.ratios)
        if i < self.warmup and self.sampler.adapts:
            s = self.state
            B, rotates = self.numbers.place.host(s.b), not self.sampler.sweeps
            metric = adapt(self.rows, s.metric, B, i, self.warmup, info.acceptance.mean(), rotates=rotates)
            metric = metric if metric.H is s.metric.H else _each(metric, self.numbers.place.asarray)
            self.state, self.angle = s._replace(metric=metric), metric.angle
            if self.choosing and i == int(0.8 * self.warmup):
                self._choose()
        if i < self.warmup and self.sampler.learn is not None:
            self.sampler.learn(self.problem, self.state, i)
        self.iteration, self.numbers.clock = i + 1, self.numbers.clock + 1

    def _step(self):
        with np.errstate(over="ignore", invalid="ignore"):  # proposals of infinite energy are rejected and counted
            self.state, info = self.sampler.step(self.problem, self.prior, self.state, self.numbers)
        self.nonfinite += info.nonfinite
        return info

    def _choose(self):
        """Try surrogate proposals, from a state of the posterior to another; go on with them where they do."""
        self.choosing, self.sampler = False, SURROGATE
        total, best, tried = 0.0, -math.inf, []
        for _ in range(_TRIES):
            info = self._step()
            total += info.acceptance.mean()
            tried.append(info.ratios)
            best = max(best, self.numbers.place.host(self.state.loglik).max())
            self.numbers.clock += 1
        # a plane separates the classes, so that the posterior has the prior's tails
        separable = self.rows.response.separable and best > -math.log(2.0)
        light = self.rows.response.light and (surrogate.tail_shape(tried) or 0.0) > _LIGHT
        self.sampler = SURROGATE if total / _TRIES > 0.6 and not separable and not light else HAMILTONIAN
