"""Quantiles, characteristic function and moments of logarithms as estimators."""

from __future__ import annotations

import math

import numpy as np

import numbastats as ns
from tests.stable.naive import draw


def test_simple_estimators_are_consistent():
    for alpha, beta in ((1.7, 0.3), (1.3, -0.6), (0.8, 0.4)):
        x = draw(alpha, beta, 40_000)
        quantile, ecf = ns.stable.fit_quantile(x), ns.stable.fit_ecf(x)
        np.testing.assert_allclose(quantile.params, [alpha, beta, 7.0, 3.0], atol=0.12)
        np.testing.assert_allclose(ecf.params, [alpha, beta, 7.0, 3.0], atol=0.15)
        assert quantile.method == "quantile" and np.isnan(quantile.se).all()
    for alpha, beta in ((0.2, 0.5), (0.4, -0.3)):
        small = ns.stable.fit_small_alpha(draw(alpha, beta, 40_000))
        assert abs(small.params[0] - alpha) < 0.02 and abs(small.params[1] - beta) < 0.1
        assert abs(math.log(small.params[3] / 3.0)) < 0.2  # a standard error of 0.03 at alpha = 0.2


def test_exact_quantiles_give_the_law():
    """McCulloch's inversion is the inverse of the quantile function, off its grid as well."""
    from numbastats.stable.simple_estimators import by_quantiles

    p = (np.arange(20_001) + 0.5) / 20_001
    for alpha, beta in ((1.63, 0.37), (0.87, -0.83), (1.0, 0.5), (1.47, 0.0)):
        x = 2.0 * ns.stable.ppf(p, alpha, beta) - 1.0
        a, b, m, s = by_quantiles(x)
        np.testing.assert_allclose([a, b, m, s], [alpha, beta, -1.0, 2.0], atol=6e-3)  # observed 2.0e-3


def test_stored_quantiles_are_those_of_ppf():
    """Of every other alpha and every fifth beta; observed 1e-15."""
    from numbastats.stable import mcculloch as grid

    q = np.reshape(grid.QUANTILES, (len(grid.ALPHAS), len(grid.BETAS), -1))
    for i in range(0, len(grid.ALPHAS), 2):
        for j in range(0, len(grid.BETAS), 5):
            expected = ns.stable.ppf(grid.PROBABILITIES, grid.ALPHAS[i], grid.BETAS[j], workers=1)
            np.testing.assert_allclose(q[i, j], expected, rtol=1e-12, atol=1e-12)
