"""The density over cells of (alpha, beta), made as climbs come to them and kept: what `fit_many` climbs by.

A cell holds log f at 6 x 6 Chebyshev-Lobatto places of (alpha, beta), each by the table of its distribution, as one polynomial in
alpha, beta and u = log(1 + |x - centre|/delta) per panel of u: the score of a data set then costs one sum over the cell and one
look-up per value, where it took six tables. The centre is 0, for alpha up to 0.785 zeta. Cells narrow where log f changes fast
with alpha and beta: towards alpha = 2 and beta = 1, where a heavy tail begins beyond a light one, and where zeta moves fast.
"""

from __future__ import annotations

import functools
import math
import threading

import numpy as np

from numbastats.scalar.stable import zeta
from numbastats.stable.functions import logpdf, pdf
from numbastats.stable.information import expected_information
from numbastats.stable.kernels.climbing import DONE, MISSING, ORDER, PEAK, S0, S1, SPLIT, TERMS, climb
from numbastats.stable.likelihood import Likelihood

EDGES_A = np.array(
    [0.45, 0.475, 0.5, 0.525, 0.55, 0.575, 0.6, 0.62, 0.64, 0.655, 0.67, 0.685, 0.7, 0.7175, 0.735, 0.75]
    + [0.7625, 0.774, 0.785, 0.796, 0.8075, 0.83, 0.87, 0.92, 0.98, 1.06, 1.2, 1.36, 1.52, 1.66, 1.77, 1.85, 1.905, 1.945, 1.975]
)
EDGES_B = np.array([0.0, 0.17, 0.34, 0.5, 0.63, 0.74, 0.82, 0.88, 0.92, 0.95, 0.968, 0.98, 0.99, 1.0])
_HEAVY = 0.4  # in the last cells log f is smooth in beta where beta = 1 has more than this share of the density at the other end
_FORMS = {"S0": S0, "S1": S1, "peak": PEAK}


def _lobatto(n):
    return -np.cos(np.pi * np.arange(n) / (n - 1))


def _places():
    """All places of u, the matrix from the values of a panel to its coefficients, and the ends of the panels."""
    at = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)[::-1]
    ends = np.concatenate(
        [np.arange(0.0, 3.0, 0.125), np.arange(3.0, 7.0, 0.25), np.arange(7.0, 11.0, 0.5), np.arange(11.0, 40.0, 2.0)]
    )
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    return middle[:, None] + half[:, None] * at, np.linalg.inv(np.vander(at, increasing=True)), ends


_U, _TO_POWERS, _ENDS = _places()
_NONE = np.empty(0)
_TO_PLANE = np.linalg.inv(np.vander(_lobatto(ORDER), increasing=True))


@functools.lru_cache(maxsize=4096)
def _logs(a, b, centred):
    """log f at one (alpha, beta), at the places of the panels of both sides; neighbouring cells share those on their edges."""
    far = (0.15 if centred else 1.0) * np.expm1(_U)
    x, param = np.concatenate([far, -far]), "S1" if centred else "S0"
    if b < 1.0:
        return logpdf(x, a, b, param=param, workers=1)
    with np.errstate(divide="ignore"):
        return np.log(pdf(x, a, b, param=param, workers=1))  # 0 where the logarithm of a light tail would take long


@functools.cache
def _nodes(centred):
    """Distances to the centre and steps for integrals over both sides, by Gauss-Legendre on the panels."""
    at, weights = np.polynomial.legendre.leggauss(TERMS)
    half = 0.5 * np.diff(_ENDS)[:, None]
    u = (_ENDS[:-1, None] + half * (1.0 + at)).ravel()
    unit = 0.15 if centred else 1.0
    far, steps = unit * np.expm1(u), unit * np.exp(u) * (half * weights).ravel()
    return np.concatenate([far, -far]), np.concatenate([steps, steps])


def _range(fine):
    """Between which u the longest run of panels from the far or the near end is fine, or none."""
    if not fine.any():
        return 0.0, 0.0
    first = int(np.argmax(fine))
    last = first + int(np.argmin(np.append(fine[first:], False)))
    return _ENDS[first], _ENDS[last]


class SharedTables:
    """The cells made so far."""

    def __init__(self):
        self._lock, count = threading.Lock(), (EDGES_A.size - 1) * (EDGES_B.size - 1)
        self.ranges = np.full((count, 4), np.nan)
        self.pool = np.empty((count, ORDER**2, 2 * _U.size))  # memory is taken when cells are written

    def make(self, i, j):
        """Make a cell."""
        row = i * (EDGES_B.size - 1) + j
        with self._lock:
            if self.ranges[row, 0] >= 0.0:
                return
            t = 0.5 + 0.5 * _lobatto(ORDER)
            alphas, betas = (e[k] + (e[k + 1] - e[k]) * t for e, k in ((EDGES_A, i), (EDGES_B, j)))
            centred = bool(EDGES_A[i] < SPLIT)
            logs = np.array([[_logs(float(a), float(b), centred) for b in betas] for a in alphas])
            right = left = 0.0, _ENDS[-1]
            if betas[-1] == 1.0:
                heavy = (logs[:, -1] > logs[:, 0] + math.log(_HEAVY)).all(axis=(0, 2))
                right, left = _range(heavy[: _U.shape[0]]), _range(heavy[_U.shape[0] :])
                logs[:, :, ~heavy] = 0.0
            values = np.tensordot(_TO_PLANE, logs @ _TO_POWERS.T, (1, 0))
            values = np.tensordot(_TO_PLANE, values, (1, 1)).swapaxes(0, 1)
            self.pool[row] = values.reshape(ORDER**2, -1)
            self.ranges[row] = *right, *left


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
        choices, ends = np.array([_FORMS[self.form], most, *free], np.int64), np.array(bounds, np.float64)
        while True:
            self.heed()
            q, state, outer = np.array(p, np.float64), np.zeros(7), np.empty((4, 4))
            climb(x, steps, choices, ends, q, EDGES_A, EDGES_B, self.tables.ranges, self.tables.pool, state, outer)
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

    def close_at(self, p):
        """Whether the tables are as good as the likelihood there; not where a small alpha has all but one tail."""
        return p[0] > 1.05 or abs(p[1]) <= EDGES_B[-2]

    def information(self, a, b, scale):
        """The expected information of one observation."""
        if self.form == "S0" and self.close_at((a, b)):
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
