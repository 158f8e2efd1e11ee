"""Newton's method with damping, on functions whose maximum is known."""

import math

import numpy as np
import pytest

from numbastats._core.climb import HELD, HESSIAN, HIGH, LOW, PAR, climber, rows
from numbastats._core.endings import OK
from numbastats._core.kernel import array_function, build

_function = array_function(fastmath=(), host=False)
COLUMNS = 5  # more than there are parameters


@_function
def _derivatives(data, p, g, H):
    """-sum_i w_i (p_i/c_i - log p_i) - coupling (sum_i log(p_i/c_i))^2: the maximum is at p = c; outside of p > 0 -inf."""
    c, w, coupling = data
    n, value, total = c.size, 0.0, 0.0
    for i in range(n):
        if not p[i] > 0.0:
            return -math.inf, 0.0
        value -= w[i] * (p[i] / c[i] - math.log(p[i]))
        total += math.log(p[i] / c[i])
    for i in range(n):
        g[i] = -w[i] * (1.0 / c[i] - 1.0 / p[i]) - 2.0 * coupling * total / p[i]
        for j in range(i + 1):
            H[i, j] = -2.0 * coupling / p[i] / p[j]
        H[i, i] -= w[i] / p[i] ** 2 - 2.0 * coupling * total / p[i] ** 2
    return value - coupling * total * total, 1e-14 * abs(value)


@_function
def _limit(data, p):
    return 7 if p[0] > 1e6 else 0


def _run(c, w, coupling, most, work, out):
    status, value, passes = _climb((c, w, coupling), c.size, w.sum(), 1e-3, most, work)
    out[0], out[1], out[2] = status, value, passes


_climb = None
RUNS = [build(_run, "serial", _climb=climber(_derivatives, (True,) * n, _limit)) for n in range(1, 6)]


def climbed(c, start, held=None, most=300, coupling=3.0, low=-np.inf):
    n, out = len(c), np.empty(3)
    work = np.full((rows(n), COLUMNS), np.nan)
    work[PAR, :n] = start
    work[LOW], work[HIGH] = low, np.inf
    if held is not None:
        work[HELD, held] = 0.0
    w = np.arange(2.0, 2.0 + n)
    RUNS[n - 1](np.array(c), w, coupling, most, work, out)
    return int(out[0]), out[1], int(out[2]), work[PAR, :n], work[HESSIAN : HESSIAN + n, :n]


CENTRES = [0.3, 20.0, 1e-4, 7.0, 1e5]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_maximum_from_far_away(n):
    c = np.array(CENTRES[:n])
    status, value, passes, p, H = climbed(c, np.geomspace(50.0, 0.02, n))
    assert status == OK and passes < 60
    np.testing.assert_allclose(p, c, rtol=1e-6)
    assert value == pytest.approx(-np.sum(np.arange(2.0, 2.0 + n) * (1.0 - np.log(c))), rel=1e-13)
    want = -2.0 * 3.0 / np.outer(p, p) - np.diag(np.arange(2.0, 2.0 + n) / p**2)
    np.testing.assert_allclose(np.tril(H), np.tril(want), rtol=1e-4)


@pytest.mark.parametrize("held", [0, 1, 2])
def test_a_parameter_that_is_held_stays(held):
    start = np.array([1.0, 30.0, 2e-4])
    status, value, _passes, p, _H = climbed(CENTRES[:3], start, held)
    assert status == OK and p[held] == start[held]
    for other in set(range(3)) - {held}:
        for factor in (0.99, 1.01):
            q = p.copy()
            q[other] *= factor
            assert climbed(CENTRES[:3], q, [0, 1, 2])[1] < value


def test_ends():
    assert climbed([1e9], [1.0])[0] == 7
    assert climbed([1.0, 2.0], [1.0, -2.0])[1] == -math.inf
    status, _value, passes, p, _H = climbed([1.0, 2.0], [3.0, 5.0], most=1)
    assert status != OK and passes == 1 and list(p) == [3.0, 5.0]


def test_parameters_stay_above_their_least():
    status, _value, _passes, p, _H = climbed([1.0, 2.0], [9.0, 5.0], low=1.5, coupling=0.0)
    assert status == OK and p[0] == 1.5 and p[1] == pytest.approx(2.0, rel=1e-6)
