"""Sandwich errors beside scores by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import numbastats as ns
from tests.mixture.multivariate import naive


def sandwich(x, fit, covariance, w):
    """J^-1 V J^-1 in the parameters of `naive.packed`, by differences of log densities of rows."""
    point = fit.weights, fit.means, fit.covariances
    theta, (K, d) = naive.packed(*point, covariance), fit.means.shape

    def rows(t):
        weights, means, covariances = naive.unpacked(t, K, d, covariance)
        return scipy.special.logsumexp(naive.log_densities(x, means, covariances) + np.log(weights), axis=1)

    steps = 1e-5 * np.maximum(np.abs(theta), 0.1) * np.eye(theta.size)
    scores = np.stack([(rows(theta + h) - rows(theta - h)) / (2.0 * h.sum()) for h in steps], axis=1)
    inverse = np.linalg.inv(naive.numerical_information(x, *point, covariance, w))
    return inverse @ (scores.T * w @ scores) @ inverse


@pytest.mark.parametrize("covariance", naive.TRIANGLE)
def test_the_sandwich_is_that_of_numerical_scores(covariance):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.standard_t(5, (150, 2)) @ [[1.0, 0.4], [0.0, 1.0]], 0.7 * rng.standard_t(5, (100, 2)) + 3.0])
    w = rng.integers(1, 4, 250).astype(float)
    options = dict(covariance=covariance, se="sandwich", cov=True, rng=0, workers=1)
    found = ns.mixture.fit(x, 2, weights=w, **options)
    se = naive.packed(*(found.se[name] for name in ("weights", "means", "covariances")), covariance)
    np.testing.assert_allclose(se, np.sqrt(np.diag(sandwich(x, found, covariance, w))), rtol=1e-5)  # 3e-7
    copies = ns.mixture.fit(np.repeat(x, w.astype(int), axis=0), 2, **options)
    np.testing.assert_array_equal(copies.covariance_of_estimates, found.covariance_of_estimates)
    units = ns.mixture.fit(x * 1000.0, 2, weights=w, **options)
    np.testing.assert_allclose(units.se["means"], 1000.0 * found.se["means"], rtol=1e-6)


def test_one_component_has_the_fourth_moments():
    x = np.random.default_rng(1).standard_t(6, (400, 1))
    x = np.concatenate([x, np.random.default_rng(2).normal(size=(400, 1))], axis=1)
    se = ns.mixture.fit(x, 1, se="sandwich").se
    apart = x - x.mean(axis=0)
    np.testing.assert_allclose(se["means"][0], x.std(axis=0) / 20.0, rtol=1e-12)
    square = np.square(apart)
    np.testing.assert_allclose(np.diag(se["covariances"][0]), square.std(axis=0) / 20.0, rtol=1e-10)
    assert se["covariances"][0, 0, 1] == pytest.approx(np.prod(apart, axis=1).std() / 20.0, rel=1e-10)


def test_constraints_and_refusals():
    x = naive.blobs(3, 200, 2, 2, apart=1.5)
    fixed = ns.mixture.fit(x, 2, se="sandwich", fixed_weights=[0.4, 0.6], rng=0)
    assert (fixed.se["weights"] == 0.0).all() and (fixed.se["means"] > 0.0).all()
    with pytest.raises(ValueError, match="complete rows"):
        ns.mixture.fit(x, 2, se="sandwich", nan_policy="marginal", rng=0)
    with pytest.raises(ValueError, match="se='robust'"):
        ns.mixture.fit(x, 2, se="robust", rng=0)
    with pytest.raises(ValueError, match="several columns"):
        ns.mixture.fit(x[:, 0], 2, family="normal", se="sandwich", rng=0)
