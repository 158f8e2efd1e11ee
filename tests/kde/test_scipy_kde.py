"""The stand-in for `scipy.stats.gaussian_kde` against the original."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from numbastats.interop import gaussian_kde
from tests.kde.naive import WRAPS

pytestmark = WRAPS


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("bw_method", [None, "silverman", 0.4, lambda k: k.n ** (-1 / 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_like_scipy(d, bw_method, weighted):
    rng = np.random.default_rng(d)
    x, at = rng.normal(size=(d, 40)) * 3, rng.normal(size=(d, 9)) * 4
    x, w = (x[0] if d == 1 else x), rng.uniform(0.1, 2, 40) if weighted else None
    ours, theirs = gaussian_kde(x, bw_method, w), stats.gaussian_kde(x, bw_method, w)
    for name in ("dataset", "d", "n", "neff", "weights", "factor", "covariance", "inv_cov"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    for call in (lambda k: k(at), lambda k: k.evaluate(at), lambda k: k.pdf(at[:, 0])):
        np.testing.assert_allclose(call(ours), call(theirs), rtol=1e-12)
    np.testing.assert_allclose(ours.logpdf(at * 30), theirs.logpdf(at * 30), rtol=1e-12)
    args = (np.full(d, 0.3), np.eye(d) * 1.5)
    assert ours.integrate_gaussian(*args) == pytest.approx(theirs.integrate_gaussian(*args), rel=1e-12)
    other = rng.normal(size=(d, 30))
    assert ours.integrate_kde(gaussian_kde(other)) == pytest.approx(theirs.integrate_kde(stats.gaussian_kde(other)), rel=1e-12)
    np.testing.assert_allclose(ours.marginal(-1)(at[0]), theirs.marginal(-1)(at[0]), rtol=1e-12)
    if d == 1:
        for box in ((-1.0, 2.0), (-np.inf, -20.0), (-np.inf, np.inf), (3.0, 1.0)):
            assert ours.integrate_box_1d(*box) == pytest.approx(theirs.integrate_box_1d(*box), rel=1e-12)
            assert ours.integrate_box(*box) == ours.integrate_box_1d(*box)
    ours.set_bandwidth(0.7)
    theirs.set_bandwidth(0.7)
    np.testing.assert_allclose(ours(at), theirs(at), rtol=1e-12)


def test_draws_and_refusals():
    x = np.random.default_rng(0).normal(size=(2, 50))
    ours = gaussian_kde(x)
    draws = ours.resample(40_000, seed=1)
    np.testing.assert_array_equal(draws, ours.resample(40_000, seed=1))
    np.testing.assert_allclose(np.cov(draws), np.cov(x, bias=True) + ours.covariance, atol=0.04)  # four standard errors
    assert ours.resample().shape == (2, 50)
    for bad, message in (
        (lambda: gaussian_kde([1.0]), "several"),
        (lambda: gaussian_kde(x.T), "transpose"),
        (lambda: gaussian_kde(x, weights=[1.0]), "one weight"),
        (lambda: gaussian_kde(x, "isj"), "bw_method"),
        (lambda: ours(np.zeros((3, 2))), "dimension 3"),
        (lambda: ours.integrate_box_1d(0, 1), "integrate_box"),
        (lambda: ours.integrate_gaussian([0.0], [[1.0]]), "shapes"),
        (lambda: ours.marginal([0, -2]), "different"),
        (lambda: ours.integrate_kde(gaussian_kde(x[0])), "dimension 1"),
    ):
        with pytest.raises(ValueError, match=message):
            bad()


def test_boxes_in_two_dimensions():
    rng = np.random.default_rng(5)
    x, w = rng.multivariate_normal([1.0, 3.0], [[1.0, 2.0], [2.0, 6.0]], size=30).T, rng.uniform(0.1, 2.0, 30)
    box = [-1.0, -2.0], [1.0, 4.0]
    ours, theirs = gaussian_kde(x, weights=w), stats.gaussian_kde(x, weights=w)
    assert ours.integrate_box(*box) == pytest.approx(theirs.integrate_box(*box), abs=3e-5)
    assert ours.integrate_box([-50.0, -50.0], [50.0, 50.0], maxpts=2000) == pytest.approx(1.0, abs=3e-5)


def test_what_users_of_scipy_rely_on():
    """Singular data are a LinAlgError, RandomState is a seed, and subclasses need not call the constructor."""
    with pytest.raises(np.linalg.LinAlgError, match="subspace"):
        gaussian_kde([[1.0, 2.0, 4.0, 3.0], [2.0, 4.0, 8.0, 6.0]])
    with pytest.raises(np.linalg.LinAlgError):
        gaussian_kde([1.0, 1.0, 1.0])

    class Scott(gaussian_kde):
        def __init__(self, dataset):
            self.dataset = np.atleast_2d(dataset)
            self.d, self.n = self.dataset.shape
            self.covariance_factor = self.scotts_factor
            self._compute_covariance()

    x = np.array([-7.0, -5.0, 1.0, 4.0, 5.0])
    np.testing.assert_array_equal(Scott(x)(x), gaussian_kde(x)(x))
    draws = [gaussian_kde(x).resample(4, seed=np.random.RandomState(3)) for _ in range(2)]  # noqa: NPY002
    np.testing.assert_array_equal(*draws)


def test_what_the_drop_in_refuses():
    x = np.array([0.0, 1.0, 3.0, 4.0])
    for weights, text in (
        ([1, 0, 0, 0], "1 are positive and 0 negative"),
        ([1, -1, 2, 0], "2 are positive and 1 negative or NaN"),
    ):
        with pytest.raises(ValueError, match=text):
            gaussian_kde(x, weights=weights)
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(x, chunks=2)
    for call in (gaussian_kde(x), gaussian_kde(x).logpdf, gaussian_kde):
        with pytest.raises(TypeError, match="dask array.*x.compute"):
            call(lazy)
