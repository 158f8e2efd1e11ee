"""Uniform noise beside components of several columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import numbastats as ns
from tests.mixture.multivariate import naive
from tests.mixture.multivariate.test_student import gradient, hessian, log_terms


def spoilt(seed=3, n=300, d=2, K=2, odd=30):
    """Clusters, and rows anywhere about them."""
    r = np.random.default_rng(seed)
    x = naive.blobs(seed, n, d, K, apart=5.0)
    return np.concatenate([x, r.uniform(x.min(axis=0) - 6.0, x.max(axis=0) + 6.0, (odd, d))])


X = spoilt()


def fit(x=X, K=2, noise=True, **options):
    return ns.mixture.fit(x, K, noise=noise, rng=0, **options)


def loglik(x, weights, means, covariances, df, noise):
    return float(np.logaddexp.reduce(log_terms(x, weights, means, covariances, df, noise), axis=1).sum())


@pytest.mark.parametrize("family", ["normal", "student_t"])
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_fits_are_maxima_whose_errors_are_those_of_the_information(family, covariance):
    found = fit(family=family, covariance=covariance, se=True)
    K, d = found.means.shape
    assert found.status == 0 and found.decrement < 1e-12 and found.min_eig > 0.0
    df = np.full(K, np.inf) if found.df is None else found.df
    assert np.isfinite(df).sum() == (0 if family == "normal" else np.isfinite(df).sum())
    free = np.isfinite(df) if family == "student_t" else np.zeros(K, bool)
    assert found.n_free == naive.free_parameters(K, d, covariance) + 1 + (K if family == "student_t" else 0)
    assert found.weights.sum() + found.noise_weight == pytest.approx(1.0, abs=1e-14)
    packed = naive.packed(found.weights, found.means, found.covariances, covariance)
    theta = np.concatenate([found.weights, packed[K - 1 :], df[free]])

    def value(t):
        _, means, covariances = naive.unpacked(np.delete(t[: t.size - free.sum()], K - 1), K, d, covariance)
        own = df.copy()
        own[free] = t[t.size - free.sum() :]
        return loglik(X, t[:K], means, covariances, own, (1.0 - t[:K].sum(), found.noise_volume))

    assert value(theta) == pytest.approx(found.loglik, rel=1e-12)
    cov = np.linalg.inv(-hessian(value, theta))
    want = np.sqrt(np.diag(cov))
    assert np.abs(gradient(value, theta) * want).max() < 1e-5
    np.testing.assert_allclose(found.se["weights"], want[:K], rtol=3e-4)
    np.testing.assert_allclose(found.se["means"].ravel(), want[K : K + K * d], rtol=3e-4)
    assert found.se["noise_weight"] == pytest.approx(np.sqrt(cov[:K, :K].sum()), rel=3e-4)
    if free.any():
        np.testing.assert_allclose(found.se["df"][free], want[want.size - free.sum() :], rtol=3e-4)


def test_labels_and_probabilities_have_the_noise():
    found = fit()
    terms = log_terms(X, found.weights, found.means, found.covariances, [np.inf] * 2, (found.noise_weight, found.noise_volume))
    r = np.exp(terms - np.logaddexp.reduce(terms, axis=1)[:, None])
    np.testing.assert_allclose(found.logpdf(X), np.logaddexp.reduce(terms, axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.predict_proba(X), r, atol=1e-12)
    want = np.where(r.argmax(axis=1) == 2, -1, r.argmax(axis=1))
    assert (found.predict(X) == want).all() and 20 < (want == -1).sum() < 40
    assert found.icl - found.bic == pytest.approx(-2.0 * np.sum(r * np.log(np.maximum(r, 1e-300))), rel=1e-9)
    assert found.bic == pytest.approx(found.n_free * np.log(len(X)) - 2.0 * found.loglik)
    far = np.array([[1e200, -1e160], [np.nan, 0.0]])
    assert found.predict(far).tolist() == [-1, -1] and found.predict_proba(far)[0].tolist() == [0.0, 0.0, 1.0]
    assert found.logpdf(far)[0] == pytest.approx(np.log(found.noise_weight / found.noise_volume))


def test_rows_that_spoil_a_fit_are_noise():
    """The clusters are those of the rows without what is strewn among them."""
    clean, found = ns.mixture.fit(X[:300], 2, rng=0), fit()
    np.testing.assert_allclose(found.means, clean.means, atol=0.25)
    np.testing.assert_allclose(found.covariances, clean.covariances, atol=0.5)
    assert (found.predict(X[:300]) == clean.predict(X[:300])).mean() > 0.97
    assert found.noise_weight == pytest.approx(30 / 330, abs=0.03)
    few = np.concatenate([X[:300], [[300.0, 400.0], [-200.0, 350.0], [250.0, -300.0]]])
    assert (fit(few).predict(few)[-3:] == -1).all()


def test_the_volume_is_that_of_the_smaller_box():
    from numbastats.mixture.multivariate.student import hypervolumes

    x = np.random.default_rng(1).normal(size=(50, 2)) @ np.array([[1.0, 0.95], [0.0, 0.1]])
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    axes = np.linalg.svd(z, full_matrices=False)[2].T
    boxes = np.ptp(x, axis=0).prod(), np.ptp(z @ axes, axis=0).prod() * x.std(axis=0).prod()
    assert np.exp(hypervolumes(x, np.empty(0), np.array([0, 50]))[0]) == pytest.approx(min(boxes), rel=1e-10)
    assert boxes[1] < boxes[0]
    w = np.random.default_rng(2).integers(0, 3, 50).astype(float)
    several = np.concatenate([x, x, np.repeat(x, w.astype(int), axis=0)])
    off = np.array([0, 50, 50, 100, len(several)])
    found = hypervolumes(several, np.empty(0), off)
    assert found[0] == found[2] and found[1] == 0.0
    assert hypervolumes(x, w, np.array([0, 50]))[0] == pytest.approx(found[3], rel=1e-12)


def test_units_change_nothing_and_copies_are_weights():
    units = np.array([1e-3, 250.0])
    one, other = fit(covariance="diag"), fit(X * units, covariance="diag")
    assert other.loglik == pytest.approx(one.loglik - len(X) * np.log(units).sum(), abs=1e-6)
    assert other.noise_weight == pytest.approx(one.noise_weight, rel=1e-6)
    w = np.random.default_rng(2).integers(1, 3, len(X)).astype(float)
    weighted, copies = fit(weights=w), fit(np.repeat(X, w.astype(int), axis=0))
    assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-12)
    assert weighted.noise_weight == pytest.approx(copies.noise_weight, rel=1e-9)


def test_noise_that_is_not_there_vanishes():
    found = fit(X[:300], se=True)
    if found.noise_weight < 1e-9:
        assert "no row is noise" in found.message
    clean = ns.mixture.fit(X[:300], 2, rng=0)
    assert found.loglik >= clean.loglik - 1e-6
    tight = np.tile(np.array(list(itertools.product(np.linspace(-1, 1, 9), repeat=2))), (2, 1))
    lone = fit(tight, 1, noise=1e9)
    assert lone.status == 0 and lone.noise_weight < 1e-9 and "no row is noise" in lone.message
    np.testing.assert_allclose(lone.covariances[0], np.cov(tight.T, bias=True), atol=1e-9)


def test_batches_choose_and_have_noise():
    many = np.stack([spoilt(seed) for seed in (3, 4)])
    batch = ns.mixture.fit_many(many, [1, 2], noise=True, rng=0)
    assert batch.noise_weight.shape == (2,) and batch.n_components.tolist() == [2, 2] and batch[0].df is None
    one = ns.mixture.fit(many[1], [1, 2], noise=True, rng=0, dataset_index=1)
    assert one.loglik == batch.loglik[1] and one.noise_weight == batch.noise_weight[1]
    model = ns.mixture.Mixture(2, noise=True, rng=0).fit(many[0])
    assert model.predict(many[0]).min() == -1 and model.predict_proba(many[0]).shape == (330, 3)
    assert fit(noise=1e4).noise_volume == pytest.approx(1e4)


def test_large_data_sets_are_searched_by_some_of_their_rows():
    x = spoilt(5, 9500, 2, 2, 500)
    found = fit(x)
    assert found.status == 0 and found.noise_weight == pytest.approx(0.05, abs=0.01)
    terms = log_terms(x, found.weights, found.means, found.covariances, [np.inf] * 2, (found.noise_weight, found.noise_volume))
    assert found.loglik == pytest.approx(np.logaddexp.reduce(terms, axis=1).sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (dict(noise=-1.0), "noise=-1.0 must be True"),
        (dict(noise="yes"), "noise='yes' must be True"),
        (dict(equal="weights"), "the weight of noise is estimated"),
        (dict(fixed_weights=[0.5, 0.5]), "the weight of noise is estimated"),
        (dict(device="cuda"), "noise= of several columns is fitted on the CPU alone"),
        (dict(nan_policy="marginal"), "nan_policy='omit'"),
    ],
)
def test_refusals(options, said):
    with pytest.raises(ValueError, match=said):
        fit(**options)


def test_what_noise_has_not():
    found = fit()
    for call in (lambda: found.rvs(3), lambda: found.mean(), lambda: found.marginal([0]), lambda: found.conditional({0: 1.0})):
        with pytest.raises(ValueError, match="component_distributions"):
            call()
    assert len(found.component_distributions) == 2
    with pytest.raises(ValueError, match=r"\['normal', 'uniform'\]"):
        ns.mixture.fit(X[:, 0], 2, noise=True)


@pytest.mark.parametrize("options", [dict(noise=True), dict(family="student_t"), dict(family="student_t", noise=True)])
@pytest.mark.parametrize("size", [1e5, 1e11])
def test_rows_beyond_all_measure_leave_the_clusters(options, size):
    far = np.concatenate([X[:300], size * np.array([[1.0, -1.0], [2.0, 0.1], [-1.0, 1.0]])])
    clean, found = ns.mixture.fit(X[:300], 2, rng=0), ns.mixture.fit(far, 2, rng=0, **options)
    assert found.status == 0
    np.testing.assert_allclose(found.means, clean.means, atol=0.5)
    if "noise" in options:
        assert (found.predict(far)[-3:] == -1).all()


@pytest.mark.parametrize("family", ["normal", "student_t"])
def test_noise_is_never_less_likely_than_none(family):
    for seed in range(3):
        x = spoilt(seed, 150, 3, 2, 10 * seed)
        assert fit(x, family=family).loglik >= ns.mixture.fit(x, 2, family=family, rng=0).loglik - 1e-6
