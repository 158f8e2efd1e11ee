"""Expected and observed information, and the covariance of the estimates."""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats._core.information import carried, inverse, placed, unit_moves
from numbastats.stable.functions import isf, pdf, ppf, score
from numbastats.stable.parameterisations import CUSP, CUSP_TELLS, HIGHEST, Form, conversion_slopes, converted, cusp_scale


@functools.lru_cache(maxsize=64)
def _unit_information(alpha, beta, form):
    """Expected information of one observation at loc 0, scale 1, by Gauss-Legendre.

    In the probability, panels towards its ends; for small alpha in log|x1|, x1 = x - zeta: most of what is known about loc lies
    in the peak or cusp at zeta.
    """
    nodes, weights = np.polynomial.legendre.leggauss(8)
    if alpha < CUSP:
        with np.errstate(divide="ignore"):
            peak = max(float(np.log(cusp_scale(alpha, beta))), -690.0)
        edges = np.arange(peak - 12.0, min(32.0 / alpha + 4.0, 708.0), 0.125)
        v = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1.0) / 2.0).ravel()
        x1 = np.concatenate([np.exp(v), -np.exp(v)])
        w = np.tile((np.diff(edges)[:, None] * weights / 2.0).ravel() * np.exp(v), 2)
        w = w * pdf(x1, alpha, beta, param="S1", workers=1)
        D = score(x1, alpha, beta, param="S1", workers=1)
    else:
        edges = np.concatenate([[0.0], 0.5 ** np.arange(40, 0, -1.0)])
        u = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1.0) / 2.0).ravel()
        w = np.tile((np.diff(edges)[:, None] * weights / 2.0).ravel(), 2)
        x = np.concatenate([f(u, alpha, beta, param=form.name, workers=1) for f in (ppf, isf)])
        D = score(x, alpha, beta, param=form.name, workers=1)
    keep = np.isfinite(D).all(axis=1) & (w > 0.0)
    D, w = D[keep], w[keep]
    J = (D * w[:, None]).T @ D
    if alpha < CUSP and form is Form.S0:  # loc in S1 is that in S0 - beta t scale
        slopes = conversion_slopes((alpha, beta, 0.0, 1.0), Form.S1)
        J = slopes.T @ J @ slopes
    return 0.5 * (J + J.T)


def expected_information(alpha, beta, scale, form):
    """Expected information of one observation, in the parameterisation `form`."""
    units = np.array([1.0, 1.0, 1.0 / scale, 1.0 / scale])
    return _unit_information(float(alpha), float(beta), form) * units[:, None] * units


def covariance(p, free, mass, kind, likelihood):
    """Covariance of the estimates in S0, NaN where there is none, and whether the information is positive definite."""
    if not free:
        return np.full((4, 4), np.nan), True
    if p[0] >= HIGHEST:  # a Gaussian: variance 2 scale^2; alpha and beta have no standard error
        both = [i for i in (2, 3) if i in free]
        return placed(np.diag([(2.0 if i == 2 else 0.5) * p[3] ** 2 / mass for i in both]), both, 4), True
    b = min(max(p[1], -1.0 + 1e-6), 1.0 - 1e-6)
    if p[0] < CUSP_TELLS and likelihood.form is Form.S0:
        return _around_a_cusp(p, b, free, mass, kind, likelihood)
    J = mass * likelihood.information(p[0], b, p[3])[np.ix_(free, free)]
    cov = placed(inverse(_observed(J, p, free, likelihood) if kind == "observed" else J), free, 4)
    return cov, not np.isnan(cov[free[0], free[0]])


def _observed(J, p, free, likelihood):
    """Observed information about the free parameters, of which J is the expected one; zeros where J has no inverse."""
    expected = inverse(J)
    if np.isnan(expected).any():
        return np.zeros_like(J)
    root = unit_moves(expected)
    moves = np.zeros((len(free), 4))
    moves[:, free] = root.T
    back = np.linalg.inv(root)
    return back.T @ _hessian(likelihood, p, moves) @ back


def _around_a_cusp(p, b, free, mass, kind, likelihood):
    """For small alpha, by way of S1, where the location is that of the cusp and may be known far better than all else.

    There the information stays well-conditioned; that about loc is always the expected one. What the cusp determines has no
    standard error: its place is not normally distributed, with errors 1.5 to 2 times what the information says.
    """
    q = converted(p, Form.S1)
    rest, rows = [i for i in free if i != 2], sorted({*free, 2})
    likelihood.form = Form.S1
    with np.errstate(over="ignore", invalid="ignore"):
        J = mass * likelihood.information(q[0], b, q[3])
    if not np.isfinite(J[2]).all():  # a peak so narrow that squares of its width are no numbers
        J[2] = J[:, 2] = 0.0
        J[2, 2] = 1e300
    if kind == "observed" and rest:
        J[np.ix_(rest, rest)] = _observed(J[np.ix_(rest, rest)], q, rest, likelihood)
    likelihood.form = Form.S0
    slopes = conversion_slopes(q, Form.S0)
    found = []
    for at in (rows, rest):  # without and with the place of the cusp known
        both = np.zeros((4, 4))
        both[np.ix_(at, at)] = inverse(J[np.ix_(at, at)])
        if np.isnan(both).any():
            return np.full((4, 4), np.nan), False
        both = carried(both, slopes)
        if 2 not in free and both[2, 2] > 0.0:  # loc in S0 is known
            both = both - np.outer(both[2], both[2]) / both[2, 2]
        found.append(both)
    every, held = found
    fine = [i for i in free if held[i, i] > 0.25 * every[i, i]]
    return placed(every[np.ix_(fine, fine)], fine, 4), True


def _hessian(likelihood, p, moves):
    """Minus the matrix of second differences of the log-likelihood by moves that the expected information makes unit ones."""
    shape = min(p[0], 2.0 - p[0], math.inf if likelihood.form is Form.S0 else 5e-3 * abs(1.0 - p[0]))  # S1 ends at alpha = 1
    room, reach = np.array([shape, 1.0 - abs(p[1]), math.inf, p[3]]), np.abs(moves).max(axis=0)
    step = max(min([0.02, *(0.4 * room[reach > 0] / reach[reach > 0])]), 1e-5)
    k = len(moves)
    J, middle = np.empty((k, k)), likelihood(p)
    at = lambda *parts: likelihood(p + step * sum(sign * moves[i] for i, sign in parts))  # noqa: E731
    for i in range(k):
        J[i, i] = -(at((i, 1)) - 2.0 * middle + at((i, -1))) / step**2
        for j in range(i):
            mixed = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            J[i, j] = J[j, i] = -mixed / (4.0 * step**2)
    return J
