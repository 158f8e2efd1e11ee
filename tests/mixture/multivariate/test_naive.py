"""The plain versions agree with each other, with closed forms, and with figures that scikit-learn found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from tests.mixture.multivariate import naive


def fitted(covariance, seed=3, n=200, d=2, K=2):
    x = naive.blobs(seed, n, d, K)
    labels = (x[:, 0] > np.median(x[:, 0])).astype(int)
    return x, naive.em(x, *naive.of_labels(x, labels, K, covariance), covariance)


def test_log_densities_are_those_of_scipy():
    x, (w, m, c, _) = fitted("full")
    for k in range(2):
        want = scipy.stats.multivariate_normal(m[k], c[k]).logpdf(x)
        np.testing.assert_allclose(naive.log_densities(x, m, c)[:, k], want, rtol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_em_never_loses(covariance):
    x = naive.blobs(5, 120, 3, 2)
    now = naive.of_labels(x, np.arange(120) % 2, 2, covariance)
    old = -np.inf
    for _ in range(30):
        new = naive.loglik(x, *now)
        assert new >= old - 1e-9
        old, now = new, naive.em_step(x, *now, covariance)


def test_information_by_formulas_is_that_by_differences():
    x, (w, m, c, _) = fitted("full")
    found, want = naive.louis_information(x, w, m, c), naive.numerical_information(x, w, m, c, "full")
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    assert np.abs((found - want) / scale).max() < 1e-6  # 2e-8


def test_parameters_are_counted_as_packed():
    x, (w, m, c, _) = fitted("full")
    for covariance in naive.TRIANGLE:
        theta = naive.packed(w, m, naive.restricted(c, w, covariance), covariance)
        assert theta.size == naive.free_parameters(2, 2, covariance)
        again = naive.unpacked(theta, 2, 2, covariance)
        np.testing.assert_allclose(naive.packed(*again, covariance), theta)


def test_one_component_has_a_closed_form():
    x = naive.blobs(1, 80, 3, 2)
    w, m, c, ll = naive.em(x, *naive.of_labels(x, np.zeros(80, int), 1))
    np.testing.assert_allclose(m[0], x.mean(axis=0))
    np.testing.assert_allclose(c[0], np.cov(x.T, bias=True))
    want = -0.5 * 80 * (3 * np.log(2 * np.pi) + np.linalg.slogdet(c[0])[1] + 3)
    assert abs(ll - want) < 1e-9
