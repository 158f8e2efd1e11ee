"""The density over cells of (alpha, beta), made as climbs come to them and kept: what fits climb by.

A cell holds the density f at 6 x 6 Chebyshev-Lobatto places of (alpha, beta), each by the table of its distribution, at
places of u = log(1 + |x - centre|/delta): as polynomials in alpha and beta of f delta (delta e^u)^alpha, in which heavy tails
hardly change, over that of a distribution in the middle of the cell. The score of a data set then costs one sum over the cell
and one look-up per value, where it took six tables.

It is f that is a polynomial, not log f: a heavy tail is proportional to 2 - alpha towards alpha = 2 and to 1 - beta towards
beta = 1, where its logarithm has no bound, and as it comes to 0 it keeps its relative accuracy. The centre is 0, for alpha up to
0.77 zeta, about which the density is as narrow as delta; cells are narrow in alpha on both sides of 0.77, where the cusp at zeta
is still wide, and zeta moves fast.
"""

from __future__ import annotations

import functools
import math
import threading

import numpy as np

from numbastats.scalar.stable import zeta
from numbastats.stable.functions import logpdf, pdf
from numbastats.stable.information import expected_information
from numbastats.stable.kernels.climbing import (
    DONE,
    EDGES_A,
    EDGES_B,
    MISSING,
    ORDER,
    PLACES,
    RULE_STEPS,
    RULE_U,
    SPLIT,
    climb,
    totals,
)
from numbastats.stable.likelihood import Likelihood
from numbastats.stable.parameterisations import Form, cusp_scale

_NONE = np.empty(0)
_REGULAR = 0.99  # of |beta|: beyond, the information about it tends to infinity
_LOBATTO = -np.cos(np.pi * np.arange(ORDER) / (ORDER - 1))
_TO_PLANE = np.linalg.inv(np.vander(_LOBATTO, increasing=True))


def _unit(a, centred):
    """delta."""
    return float(cusp_scale(a, 0.0)) if centred else 1.0


def _distances(a, u, centred):
    """Of places of both sides, right and left, from the centre."""
    return _unit(a, centred) * np.expm1(u) * np.repeat([1.0, -1.0], u.size // 2)


@functools.lru_cache(maxsize=1024)
def _logs(a, b, centred):
    """log f + alpha u + (1 + alpha) log delta at one (alpha, beta); neighbouring cells share those on their edges."""
    x, param = _distances(a, PLACES, centred), "S1" if centred else "S0"
    lift = a * PLACES + (1.0 + a) * math.log(_unit(a, centred))
    if b < 1.0:
        return logpdf(x, a, b, param=param, workers=1) + lift
    with np.errstate(divide="ignore"):  # 0 where the logarithm of a light tail would take long
        return np.log(pdf(x, a, b, param=param, workers=1)) + lift


class SharedTables:
    """The cells made so far."""

    def __init__(self):
        self._lock, count = threading.Lock(), (EDGES_A.size - 1) * (EDGES_B.size - 1)
        self.pool = np.empty((count, 1 + ORDER**2, PLACES.size))  # memory is taken when cells are written
        self.pool[:, 0, 0] = np.nan  # those that are not
        self._copy = None

    def make(self, i, j):
        """Make a cell."""
        cell = self.pool[i * (EDGES_B.size - 1) + j]
        with self._lock:
            if not np.isnan(cell[0, 0]):
                return
            alphas, betas = (e[k] + (e[k + 1] - e[k]) * (0.5 + 0.5 * _LOBATTO) for e, k in ((EDGES_A, i), (EDGES_B, j)))
            centred = bool(EDGES_A[i] < SPLIT)
            logs = np.array([[_logs(float(a), float(b), centred) for b in betas] for a in alphas])
            middle = logs[ORDER // 2, ORDER // 2]
            values = np.tensordot(_TO_PLANE, np.exp(logs - middle), (1, 0))
            values = np.tensordot(_TO_PLANE, values, (1, 1)).swapaxes(0, 1)
            cell[1:] = values.reshape(ORDER**2, -1)
            cell[0, 1:] = middle[1:]
            cell[0, 0] = middle[0]  # last: by it other threads know that all is there
            self._copy = None

    def copied(self):
        """The cells as they are now, in an array that does not change, of which a GPU keeps a copy."""
        with self._lock:
            if self._copy is None:
                self._copy = self.pool.copy()
            return self._copy


@functools.cache
def shared_tables():
    """Those of this process."""
    return SharedTables()


class SharedLikelihood(Likelihood):
    """The likelihood of values without weights, by shared tables where they reach, else, and once `exact`, as that of `fit`."""

    def __init__(self, x, options):
        super().__init__(x, None, 1.0, options)
        self.tables, self.exact = shared_tables(), False

    def _climbed(self, p, x, steps=_NONE, free=(), bounds=((0.0, 2.0), (-1.0, 1.0)), most=0):
        """Where a climb from p ends, its state and the products of scores; cells that it lacks are made."""
        choices, ends = np.array([self.form, most, *free], np.int64), np.array(bounds, np.float64)
        while True:
            self.heed()
            q, state, outer = np.array(p, np.float64), np.zeros(8), np.empty((4, 4))
            climb(x, steps, choices, ends, q, self.tables.pool, state, outer)
            if state[0] != MISSING:
                self.count += int(state[2])
                return q, state, outer
            self.tables.make(int(state[4]), int(state[5]))

    def __call__(self, p):
        """The log-likelihood, -inf where it is no number."""
        return self.totals([p])[0]

    def totals(self, dists):
        """The log-likelihoods of distributions, -inf where they are no numbers."""
        dists = np.array(dists, np.float64).reshape(-1, 4)
        found, state = np.full(len(dists), np.nan), np.zeros(8)
        while not self.exact and state[3] < len(dists):
            totals(self.x, np.array([self.form]), dists, self.tables.pool, state, found)
            if state[0] == MISSING:
                self.tables.make(int(state[4]), int(state[5]))
        known = np.isfinite(found)
        self.count += int(known.sum())
        found[~known] = super().totals(dists[~known])
        return found.tolist()

    def ascent(self, p, free, bounds):
        """Where a climb by the tables ends or leaves them, and in the first case what `climb` returns."""
        if self.exact or not free:
            return p, None
        p, state, _ = self._climbed(p, self.x, free=free, bounds=bounds, most=100)
        return p, (p, float(state[1]), int(state[3]), float(state[6])) if state[0] == DONE else None

    def information(self, a, b, scale):
        """The expected information of one observation."""
        if abs(b) < _REGULAR:
            centred = a <= SPLIT
            shift = (float(centred) - float(self.form is Form.S1)) * zeta(a, b)[0]
            x, steps = _distances(a, RULE_U, centred), _unit(a, centred) * np.exp(RULE_U) * RULE_STEPS
            count = self.count
            _, state, J = self._climbed((a, b, 0.0, 1.0), x + shift, steps)
            self.count = count
            if state[0] == DONE:
                units = np.array([1.0, 1.0, 1.0 / scale, 1.0 / scale])
                return J * units[:, None] * units
        return expected_information(a, b, scale, self.form)
