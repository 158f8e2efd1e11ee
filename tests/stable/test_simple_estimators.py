"""Quantiles, characteristic function and moments of logarithms as estimators."""

from __future__ import annotations

import math

import numpy as np
import pytest

import numbastats as ns
from numbastats.stable import simple_estimators as simple
from tests.stable import naive
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


@pytest.mark.parametrize("n", [5, 6, 7, 40, 300])
def test_half_sample_mode(n):
    for seed in range(4):
        x = np.sort(ns.stable.rvs(0.4 + 0.4 * seed, 0.5, size=n, rng=seed))
        w = np.random.default_rng(seed).integers(1, 5, n).astype(np.float64)
        for values in (x, np.round(x, 1)):  # with ties, too
            np.testing.assert_allclose(
                simple.half_sample_mode(values, None), naive.half_sample_mode(values, np.ones(n)), rtol=1e-13
            )
            np.testing.assert_allclose(simple.half_sample_mode(values, w), naive.half_sample_mode(values, w), rtol=1e-13)
    assert (
        simple.half_sample_mode(np.array([-1.7e308, -1.0e308, 1.5e308, 1.65e308, 1.7e308]), None) == 1.675e308
    )  # no width overflows


@pytest.mark.parametrize(("alpha", "beta"), [(None, None), (1.0, None), (None, 0.3), (1.5, -0.2)])
def test_regressions_on_the_characteristic_function(alpha, beta):
    """Against least squares of NumPy; observed 3e-12."""
    for seed, law in enumerate([(0.7, 0.5), (1.2, -0.9), (1.7, 0.2), (1.0, 0.0)]):
        x = np.sort(ns.stable.rvs(*law, size=400, rng=seed))
        w = np.random.default_rng(seed).integers(1, 5, 400).astype(np.float64)
        for weights in (None, w):
            found = simple.by_characteristic_function(x, weights, alpha, beta)
            want = naive.by_characteristic_function(x, np.ones(400) if weights is None else w, alpha, beta)
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)


def test_values_too_far_for_an_angle_add_nothing():
    x = draw(1.5, 0.3, 400, loc=0.0)
    far = simple.by_characteristic_function(np.append(x, 1e300), None)
    np.testing.assert_allclose(far, simple.by_characteristic_function(np.append(x, 1e200), None), rtol=0)
    assert abs(far[0] - simple.by_characteristic_function(x, None)[0]) < 0.05


def test_moments_of_logarithms_about_modes():
    """Against the formulas of the moments, with NumPy; observed 1e-13."""
    x, w = np.sort(ns.stable.rvs(0.4, 0.5, size=300, rng=3)), np.random.default_rng(3).integers(1, 5, 300).astype(np.float64)
    modes = np.array([x[10], 0.0, 0.3])
    for (a, b, loc, scale), mode in zip(simple.by_moments_about(modes, x, w, ((0.1, 0.99), (-1.0, 1.0))), modes, strict=True):
        keep = x != mode
        logs, weights = np.log(abs(x[keep] - mode)), w[keep]
        mean, above = np.average(logs, weights=weights), np.average(x[keep] > mode, weights=weights)
        theta = math.pi * (above - 0.5)
        want = math.pi / math.sqrt(6.0 * (np.average((logs - mean) ** 2, weights=weights) - math.pi**2 / 12.0 + theta**2))
        assert loc == mode and a == pytest.approx(want, rel=1e-12)
        assert b == pytest.approx(math.tan(a * theta) / math.tan(0.5 * math.pi * a), rel=1e-10)
        unit = mean - np.euler_gamma * (1.0 / a - 1.0) + math.log(math.cos(a * theta)) / a
        assert scale == pytest.approx(math.exp(unit), rel=1e-12)
