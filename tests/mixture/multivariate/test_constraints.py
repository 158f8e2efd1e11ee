"""Fits with equal or fixed weights, equal covariances, and fixed means: beside maxima by SciPy under the same constraints."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import numbastats as ns
from tests.mixture.multivariate import naive

MEANS = [[-1.0, 0.5], [2.0, 0.0]]
CONSTRAINTS = {
    "equal weights": dict(equal="weights"),
    "equal covariances": dict(equal="covariance"),
    "both": dict(equal=("weights", "covariance")),
    "fixed weights": dict(fixed_weights=[0.7, 0.3]),
    "fixed means": dict(family=("normal", {"means": MEANS})),
    "fixed weights and means": dict(fixed_weights=[3.0, 7.0], family=("normal", {"means": MEANS})),
}
SHARED = {"full": "tied", "tied": "tied", "diag": "tied-diag", "spherical": "tied-spherical"}


def data(n=160):
    """Rows of two clusters that overlap."""
    r = np.random.default_rng(8)
    second = r.random(n) < 0.4
    x = r.normal(size=(n, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]])
    return np.where(second[:, None], 0.6 * x + [2.4, 0.3], x)


def fit(x, K, covariance, **options):
    return ns.mixture.fit(x, K, covariance=covariance, rng=0, se=True, errors="status", **options)


def known(options):
    """Fixed weights and means, None for free ones, and whether covariances are equal."""
    weights = options.get("fixed_weights")
    weights = [0.5, 0.5] if "weights" in str(options.get("equal")) else weights
    means = options["family"][1]["means"] if "family" in options else None
    weights = None if weights is None else np.array(weights) / np.sum(weights)
    return weights, None if means is None else np.array(means), "covariance" in str(options.get("equal"))


def point(theta, covariance, weights, means):
    """Weights, means and covariances (2, 2, 2) of unconstrained numbers."""
    theta = list(theta)
    if weights is None:
        u = np.exp(theta.pop(0))
        weights = np.array([u, 1.0]) / (1.0 + u)
    if means is None:
        means, theta = np.array(theta[:4]).reshape(2, 2), theta[4:]
    covs = []
    for _ in range(1 if covariance.startswith("tied") else 2):
        if covariance in ("full", "tied"):
            root, theta = np.array([[np.exp(theta[0]), 0.0], [theta[1], np.exp(theta[2])]]), theta[3:]
        elif covariance.endswith("diag"):
            root, theta = np.diag(np.exp(theta[:2])), theta[2:]
        else:
            root, theta = np.exp(theta[0]) * np.eye(2), theta[1:]
        covs.append(root @ root.T)
    return weights, means, np.array(covs * 2)[:2]


def best_of_scipy(x, covariance, weights, means, size):
    """The highest log-likelihood of an admissible maximum, from drawn starts."""
    r, best = np.random.default_rng(3), -np.inf
    for _ in range(12):
        start = 0.3 * r.normal(size=size)
        if means is None:
            start[weights is None :][:4] = x[r.integers(len(x), size=2)].ravel()
        found = scipy.optimize.minimize(lambda t: -naive.loglik(x, *point(t, covariance, weights, means)), start, method="BFGS")
        w, m, c = point(found.x, covariance, weights, means)
        counts = naive.responsibilities(x, w, m, c).sum(axis=0)
        if counts.min() >= 4.0 and np.linalg.eigvalsh(c).min() > 1e-3:
            best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("covariance", SHARED)
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_fits_are_constrained_maxima(name, covariance):
    options, x = CONSTRAINTS[name], data()
    weights, means, shared = known(options)
    found = fit(x, 2, covariance, **options)
    covariance = SHARED[covariance] if shared else covariance
    size = naive.free_parameters(2, 2, covariance) - (weights is not None) - 4 * (means is not None)
    assert found.status == 0 and found.covariance == covariance and found.n_free == size
    assert found.loglik == pytest.approx(naive.loglik(x, found.weights, found.means, found.covariances), abs=1e-9)
    assert found.loglik > best_of_scipy(x, covariance, weights, means, size) - 1e-5
    assert found.decrement < 1e-9 and found.min_eig > 0.0
    if weights is not None:
        np.testing.assert_allclose(found.weights, weights, rtol=1e-15)
    if means is not None:
        assert np.array_equal(found.means, means)
    info = naive.numerical_information(x, found.weights, found.means, found.covariances, covariance)
    free = np.r_[np.full(1, weights is None), np.full(4, means is None), np.full(len(info) - 5, True)]
    want = np.zeros(len(info))
    want[free] = np.sqrt(np.diag(np.linalg.inv(info[np.ix_(free, free)])))
    se = found.se
    own = naive.packed(se["weights"], se["means"], se["covariances"], covariance)
    np.testing.assert_allclose(own, want, rtol=1e-5, atol=1e-12)


def test_fixed_weights_go_to_the_clusters_that_they_fit_best():
    """In all orders of three weights the same maximum, each component in the place of its weight."""
    x = np.r_[data(100), data(100) + [7.0, 0.0], data(100)[:40] + [0.0, 7.0]]
    logs = []
    for weights in ([0.2, 0.3, 0.5], [0.5, 0.2, 0.3], [0.3, 0.5, 0.2]):
        found = fit(x, 3, "full", fixed_weights=weights)
        np.testing.assert_allclose(found.weights, weights)
        assert found.status == 0 and found.means[np.argmin(weights)] @ [0.0, 1.0] > 4.0  # the small cluster
        logs.append(found.loglik)
    assert max(logs) - min(logs) < 1e-6


def test_constraints_lower_likelihoods_and_hold_for_batches_and_names():
    x = data()
    free = fit(x, 2, "full")
    logs = [fit(x, 2, "full", **options).loglik for options in CONSTRAINTS.values()]
    assert max(logs) < free.loglik
    batch = ns.mixture.fit_many([x, 2.0 * x + 1.0], 2, covariance="full", equal="weights", rng=0)
    assert batch.loglik[0] - batch.loglik[1] == pytest.approx(2 * len(x) * np.log(2.0), abs=1e-6)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=["a", "b"])
    means = pandas.DataFrame(MEANS, columns=["a", "b"])[["b", "a"]]
    found = ns.mixture.fit(frame, 2, family=("normal", {"means": means}), rng=0)
    assert np.array_equal(found.means, MEANS)


def test_equal_covariances_are_the_pooled_models():
    x = data()
    both = ns.mixture.fit(x, [1, 2], covariance="all", equal="covariance", rng=0)
    assert set(both.selection["covariance"]) == {"tied", "tied-diag", "tied-spherical"}
    assert fit(x, 2, "EEI").loglik == fit(x, 2, "diag", equal="covariance").loglik
    assert fit(x, 2, "EII").covariance == "tied-spherical"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(equal="scale"), "equal='scale' is not known in several dimensions"),
        (dict(equal="weights", fixed_weights=[0.5, 0.5]), "use one of them"),
        (dict(fixed_weights=[0.5, 0.3, 0.2]), "must be 2 numbers"),
        (dict(family=("normal", {"means": [[0.0, 1.0]]})), r"must be 2 rows of 2 finite numbers"),
        (dict(family=("normal", {"loc": [0.0, 1.0]})), "of several columns 'means' can be fixed"),
        (dict(n_components=[2, 3], fixed_weights=[0.5, 0.5]), "of one number of components"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        ns.mixture.fit(data(), **{"n_components": 2} | options)


def test_means_of_other_columns_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    means = pd.DataFrame([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], columns=list("cbx"))
    with pytest.raises(ValueError, match="means has the columns"):
        ns.mixture.fit(frame, 2, family=("normal", {"means": means}), rng=0)
