"""Draws follow their distribution, and the contract of random functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from numbastats import stable
from tests.contract import RandomContract
from tests.stable.naive import SERIAL


class TestRvs(RandomContract):
    function = staticmethod(stable.rvs)
    parameters = (1.75, 0.0, 0.5, 2.0)
    bad = [(0.0, 0.0, 0.0, 1.0), (2.1, 0.0, 0.0, 1.0), (1.5, 1.2, 0.0, 1.0), (1.5, 0.0, 0.0, -1.0)]

    class law:  # noqa: N801
        """Just what `test_law` needs; the mean is tested elsewhere, the variance is infinite."""

        cdf = staticmethod(lambda x: stable.cdf(x, 1.75, 0.0, 0.5, 2.0))
        mean = staticmethod(lambda: 0.5)
        std = staticmethod(lambda: 2e2)


@pytest.mark.parametrize("param", ["S0", "S1"])
@pytest.mark.parametrize("a, b", [(0.3, 0.6), (0.5, 1.0), (1.0, 0.5), (1 - 1e-9, -1.0), (1.2, -0.4), (2.0, 0.0)])
def test_draws_follow_the_law(a, b, param):
    x = stable.rvs(a, b, 0.2, 1.5, 20_000, rng=11, param=param)
    assert scipy.stats.kstest(x, lambda v: stable.cdf(v, a, b, 0.2, 1.5, param=param)).pvalue > 1e-3


def test_draws_are_continuous_at_one():
    for b in (0.0, 0.7, -1.0):
        middle = stable.rvs(1.0, b, size=2000, rng=2)
        for d in (1e-15, -1e-15, 1e-9, -1e-9):
            np.testing.assert_allclose(
                stable.rvs(1.0 + d, b, size=2000, rng=2), middle, rtol=1e-5 if abs(d) > 1e-12 else 1e-9, atol=1e-7
            )


@pytest.mark.parametrize("param", ["S0", "S1"])
def test_draws_of_tiny_alpha(param):
    """E log|X| = (1/alpha - 1) times Euler's constant for symmetric laws; draws beyond all doubles are infinite, not NaN."""
    a, n = 0.02, 20_000
    x = np.log(np.abs(stable.rvs(a, 0.0, size=n, rng=1, param=param, **SERIAL)))
    sd = math.pi * math.sqrt((1 / a**2 + 0.5) / 6)
    assert abs(x.mean() - np.euler_gamma * (1 / a - 1)) < 4 * sd / math.sqrt(n)
    assert abs(x.std() / sd - 1) < 0.05
    assert not np.isnan(stable.rvs(0.001, [[0.0], [1e-10], [0.5], [-1.0]], size=(4, n), rng=2, param=param, **SERIAL)).any()
