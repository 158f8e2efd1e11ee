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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("param", ["S0", "S1"])
def test_every_draw_has_the_same_bits_wherever_it_stands(param, dtype):
    """As parts, as one call, with arrays as parameters: a product that one loop formed before it was contracted in another.

    One draw of twenty was other at alpha = 0.3, beta = 1, by up to 4464 ulp; and with alpha = 1 and a scale.
    """
    rng = np.random.default_rng(3)
    cases = [(0.3, 1.0), (0.35, 0.5), (0.343, -0.396), (0.45, -1.0), (0.5, 0.5), (1.0, 1.0), (1.0, -0.7), (1.4, 0.3), (2.0, 0.0)]
    for a, b in cases + list(zip(rng.uniform(0.1, 2.0, 12), rng.uniform(-1.0, 1.0, 12), strict=True)):
        p, options = (a, b, 0.5, 2.3), dict(rng=int(rng.integers(2**60)), param=param, dtype=dtype, **SERIAL)
        whole = stable.rvs(*p, size=277, **options)
        for length in (1, 2, 11, 64, 100):
            cuts = range(0, 277, length)
            parts = [stable.rvs(*p, size=min(length, 277 - lo), offset=lo, **options) for lo in cuts]
            np.testing.assert_array_equal(np.concatenate(parts), whole)
        np.testing.assert_array_equal(stable.rvs(*(np.full(277, v) for v in p), **options), whole)


def test_blocks_of_dask_have_the_draws_of_one_call():
    da = pytest.importorskip("dask.array")
    whole = stable.rvs(0.3, 1.0, size=1001, rng=5, **SERIAL)
    lazy = stable.rvs(0.3, 1.0, size=1001, rng=5, like=da.empty(1001, chunks=11))
    np.testing.assert_array_equal(lazy.compute(), whole)  # 54 of 1001 were other
