"""Regression on clusters beside quadrature of the joint density."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import numbastats as ns
from tests.mixture.multivariate import naive


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    turn = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
    x = np.concatenate([rng.normal(size=(200, 3)), rng.normal(1.5, 1.0, (300, 3)) @ turn])
    return ns.mixture.fit(x, 2, covariance="full", rng=0), x


def integral(function):
    edges = np.linspace(-30.0, 30.0, 41)
    return sum(scipy.integrate.quad(function, a, b, epsabs=1e-15)[0] for a, b in zip(edges[:-1], edges[1:], strict=True))


def test_moments_and_quantiles_are_those_of_quadrature(fit):
    found, x = fit
    X = np.array([[0.3, -0.5], [2.0, 3.0], [-4.0, 6.0]])
    at = found.regression(X, 1)
    median, high = at.ppf([0.5, 0.99])[:, 0].T
    for i, (a, c) in enumerate(X):

        def density(y, a=a, c=c):
            return float(found.pdf([a, y, c]))

        total = integral(density)
        mean = integral(lambda y: y * density(y)) / total
        assert at.mean()[i, 0] == pytest.approx(mean, rel=1e-9)
        square = integral(lambda y: y * y * density(y)) / total
        assert at.cov()[i, 0, 0] == pytest.approx(square - mean * mean, rel=1e-8)
        assert at.std()[i, 0] == pytest.approx(np.sqrt(at.cov()[i, 0, 0]), rel=1e-12)
        assert at.logpdf([0.3, 0.3, 0.3])[i] == pytest.approx(np.log(density(0.3) / total), rel=1e-9)
        for end, q in ((median[i], 0.5), (high[i], 0.99)):
            below = integral(lambda y, end=end: density(y) if y <= end else 0.0) / total
            assert below == pytest.approx(q, abs=1e-6)  # by a rule that knows nothing of the end


def test_several_targets_are_conditional_distributions(fit):
    found, x = fit
    at = found.regression(x[:20, [1]], [2, 0])
    for i in range(20):
        one = found.conditional({1: x[i, 1]}).marginal([2, 0])
        np.testing.assert_allclose(at.mean()[i], one.mean(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(at.cov()[i], one.cov(), rtol=1e-11, atol=1e-12)
        assert at.logpdf(np.tile([[1.0, 2.0]], (20, 1)))[i] == pytest.approx(float(one.logpdf([1.0, 2.0])), rel=1e-11)
    assert at.cov().shape == (20, 2, 2) and len(at) == 20 and at.ppf(0.5).shape == (20, 2)
    np.testing.assert_allclose(at.std() ** 2, np.diagonal(at.cov(), axis1=1, axis2=2), rtol=1e-12)
    assert set(at.summary()) == {"mean_2", "mean_0", "sd_2", "sd_0"}
    direct = naive.responsibilities(x[:20, [1]], found.weights, found.means[:, [1]], found.covariances[:, 1:2, 1:2])
    np.testing.assert_allclose(at.weights, direct, rtol=1e-9, atol=1e-12)


def test_quantiles_far_out_and_of_nothing(fit):
    found, _ = fit
    at = found.regression([[0.3, -0.5], [np.nan, 0.0]], 1)
    q = np.array([0.0, 1e-300, 1e-9, 0.5, 1.0 - 1e-9, 1.0, np.nan, -0.1])
    got = at.ppf(q)[0, 0]
    assert got[0] == -np.inf and got[5] == np.inf and np.isnan(got[6:]).all() and np.isnan(at.ppf(0.5)[1]).all()
    sd = np.sqrt(at.covariances[:, 0, 0])
    for i in (1, 2, 3, 4):  # the smaller tail of each
        tail = at.weights[0] @ (scipy.special.ndtr if q[i] <= 0.5 else lambda z: scipy.special.ndtr(-z))(
            (got[i] - at.means[0, :, 0]) / sd
        )
        assert tail == pytest.approx(min(q[i], 1.0 - q[i]), rel=1e-9)
    assert (np.diff(got[:6]) > 0.0).all()


def test_columns_go_by_name(fit):
    pandas = pytest.importorskip("pandas")
    found, x = fit
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    named = ns.mixture.fit(frame, 2, covariance="full", rng=0)
    want = named.regression(x[:5, [0, 2]], "b").mean()
    for given in (frame[:5], frame[["c", "a"]][:5]):
        np.testing.assert_array_equal(named.regression(given, ["b"]).mean(), want)
    with pytest.raises(ValueError, match="no column 'c'"):
        named.regression(frame[["a"]], "b")
    with pytest.raises(ValueError, match="no column of the fit"):
        named.regression(frame, "d")
    at = named.regression(frame[["b"]], ["c", "a"])
    want = at.logpdf(x[:, [2, 0]])
    for given in (frame, frame[["a", "c"]], frame[["c", "a"]]):
        np.testing.assert_array_equal(at.logpdf(given), want)
    with pytest.raises(ValueError, match="no column 'c'"):
        at.logpdf(frame[["a", "b"]])


def test_the_refusal_of_other_components_names_what_there_is(fit):
    x = fit[1]
    with pytest.raises(ValueError, match="conditional"):
        ns.mixture.fit(x, 2, family="student_t", rng=0).regression(x[:, :2], 2)
    with pytest.raises(ValueError, match="fit without noise="):
        ns.mixture.fit(x, 2, noise=True, rng=0).regression(x[:, :2], 2)


@pytest.mark.parametrize("X", [np.zeros(2), np.zeros((4, 3)), np.zeros((2, 2, 2))])
def test_other_shapes_are_refused(fit, X):
    with pytest.raises(ValueError, match="pass rows"):
        fit[0].regression(X, 1)


def test_all_columns_as_targets_are_refused(fit):
    with pytest.raises(ValueError, match="use marginal"):
        fit[0].regression(np.zeros((1, 0)), [0, 1, 2])
    with pytest.raises(ValueError, match="pass the values"):
        fit[0].regression(np.zeros((2, 2)), 1).logpdf([1.0])
