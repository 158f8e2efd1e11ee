"""The density over cells of (alpha, beta), made as climbs come to them and kept: what `fit_many` climbs by.

A cell holds log f at 6 x 6 Chebyshev-Lobatto places of (alpha, beta), each by the table of its distribution, as one polynomial in
alpha, beta and u = log(1 + |x - centre|/delta) per panel of u: the score of a data set then costs one sum over the cell and one
look-up per value, where it took six tables. The centre is 0, for alpha < 0.75 zeta. Cells narrow towards the ends of the plane,
where log f has its singularities in alpha and beta.
"""

from __future__ import annotations

import functools
import threading

import numpy as np

from numbastats.scalar.stable import zeta
from numbastats.stable.engine import log_density
from numbastats.stable.information import expected_information
from numbastats.stable.kernels.climbing import DONE, MISSING, ORDER, PEAK, S0, S1, SPLIT, TERMS, climb
from numbastats.stable.likelihood import Likelihood

EDGES_A = np.array([0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.82, 0.9, 1.0, 1.15, 1.3, 1.45, 1.6, 1.72, 1.81, 1.87, 1.91, 1.94, 1.96, 1.975])
EDGES_B = np.array([0.0, 0.15, 0.3, 0.43, 0.55, 0.66, 0.75, 0.82, 0.88, 0.92, 0.95, 0.97, 0.982, 0.99])
_FORMS = {"S0": S0, "S1": S1, "peak": PEAK}


def _lobatto(n):
    return -np.cos(np.pi * np.arange(n) / (n - 1))


def _places():
    """All places of u, the matrix from the values of a panel to its coefficients, and the ends of the panels."""
    at = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)[::-1]
    ends = np.concatenate([np.arange(0.0, 3.0, 0.125), np.arange(3.0, 7.0, 0.25), np.arange(7.0, 11.0, 0.5), np.arange(11.0, 40.0, 2.0)])
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    return middle[:, None] + half[:, None] * at, np.linalg.inv(np.vander(at, increasing=True)), ends


_U, _TO_POWERS, _ENDS = _places()
_NONE = np.empty(0)
_TO_PLANE = np.linalg.inv(np.vander(_lobatto(ORDER), increasing=True))


@functools.lru_cache(maxsize=4096)
def _coefficients(a, b, centred):
    """The polynomials in u of log f at one (alpha, beta); neighbouring cells share those on their edges."""
    far = (0.15 if centred else 1.0) * np.expm1(_U)
    values = log_density(np.concatenate([far, -far]), a, b, param="S1" if centred else "S0", workers=1)
    return (values @ _TO_POWERS.T).ravel()


@functools.cache
def _nodes(centred):
    """Distances to the centre and steps for integrals over both sides, by Gauss-Legendre on the panels."""
    at, weights = np.polynomial.legendre.leggauss(TERMS)
    half = 0.5 * np.diff(_ENDS)[:, None]
    u = (_ENDS[:-1, None] + half * (1.0 + at)).ravel()
    unit = 0.15 if centred else 1.0
    far, steps = unit * np.expm1(u), unit * np.exp(u) * (half * weights).ravel()
    return np.concatenate([far, -far]), np.concatenate([steps, steps])


class SharedTables:
    """The cells made so far."""

    def __init__(self):
        cells = EDGES_A.size - 1, EDGES_B.size - 1
        self.made, self._lock = np.zeros(cells, np.int64), threading.Lock()
        self.pool = np.empty((self.made.size, ORDER**2, 2 * _U.size))  # memory is taken when cells are written

    def make(self, i, j):
        """Make a cell."""
        with self._lock:
            if self.made[i, j]:
                return
            t = 0.5 + 0.5 * _lobatto(ORDER)
            alphas, betas = (e[k] + (e[k + 1] - e[k]) * t for e, k in ((EDGES_A, i), (EDGES_B, j)))
            centred = bool(EDGES_A[i] < SPLIT)
            values = np.array([[_coefficients(float(a), float(b), centred) for b in betas] for a in alphas])
            values = np.tensordot(_TO_PLANE, values, (1, 0))
            values = np.tensordot(_TO_PLANE, values, (1, 1)).swapaxes(0, 1)
            self.pool[i * self.made.shape[1] + j] = values.reshape(ORDER**2, -1)
            self.made[i, j] = 1


@functools.cache
def shared_tables():
    """Those of this process."""
    return SharedTables()


class SharedLikelihood(Likelihood):
    """The likelihood by shared tables where they reach, else by the table of each distribution; `exact` says that they do not."""

    def __init__(self, x, w, share, options):
        super().__init__(x, w, share, options)
        self.tables, self.exact = shared_tables(), w is not None

    def _climbed(self, p, x, steps=_NONE, free=(), bounds=((0.0, 2.0), (-1.0, 1.0)), most=0):
        """Where a climb from p ends, its state and the products of scores; cells that it lacks are made."""
        free, ends = np.array(free, np.int64), np.array(bounds, np.float64)
        while True:
            q, state, outer = np.array(p, np.float64), np.zeros(7), np.empty((4, 4))
            climb(x, steps, _FORMS[self.form], free, ends, most, q, EDGES_A, EDGES_B, self.tables.made, self.tables.pool, state, outer)
            if state[0] != MISSING:
                self.count += int(state[2])
                return q, state, outer
            self.tables.make(int(state[4]), int(state[5]))

    def __call__(self, p):
        """The log-likelihood."""
        if not self.exact:
            _, state, _ = self._climbed(p, self.x)
            if state[0] == DONE:
                return float(state[1])
        return super().__call__(p)

    def ascent(self, p, free, bounds):
        """Where a climb by the tables ends or leaves them, and in the first case what `climb` returns."""
        if self.exact or not free:
            return p, None
        p, state, _ = self._climbed(p, self.x, free=free, bounds=bounds, most=100)
        return p, (p, float(state[1]), int(state[3]), float(state[6])) if state[0] == DONE else None

    def information(self, a, b, scale):
        """The expected information of one observation."""
        if self.form == "S0":
            centred = a <= SPLIT
            shift = zeta(a, b)[0] if centred else 0.0
            x, steps = _nodes(centred)
            count = self.count
            _, state, J = self._climbed((a, b, 0.0, 1.0), x + shift, steps)
            self.count = count
            if state[0] == DONE:
                units = np.array([1.0, 1.0, 1.0 / scale, 1.0 / scale])
                return J * units[:, None] * units
        return expected_information(a, b, scale, self.form)
