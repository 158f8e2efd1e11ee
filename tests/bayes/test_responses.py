"""Other responses: kernels against their definition, posteriors against plain samplers, weights and offsets, scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import numbastats as ns
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import facts_of_rows
from numbastats.scalar import shrinkage
from tests.bayes import naive
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def definition(response, m, y):
    """Log-likelihood of the rows, its first derivative, and minus the second one."""
    if response == "logit":  # y is not used: rows have the signs of their outcomes
        return scipy.special.log_expit(m), scipy.special.expit(-m), scipy.special.expit(m) * scipy.special.expit(-m)
    return y * m - np.exp(m), y - np.exp(m), np.exp(m)


@pytest.mark.parametrize("response", ["logit", "poisson"])
@pytest.mark.parametrize("n", [1, 63, 65, 200])
def test_passes_match_their_definition(response, n, device):
    rng = np.random.default_rng(n)
    X, B = rng.standard_normal((n, 5)), 0.4 * rng.standard_normal((2, 5))
    weights, offset, y = rng.uniform(0.0, 2.0, n), rng.standard_normal(n), rng.poisson(2.0, n).astype(float)
    facts = facts_of_rows(weights, offset, y)
    rows = Rows(X, device["device"], device.get("workers", 1), response=response, facts=facts)
    total, gradient = rows.loglik(B)
    value, slope, curvature = definition(response, B @ X.T + offset, y)
    np.testing.assert_allclose(total, value @ weights, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(gradient, (weights * slope) @ X, rtol=1e-12, atol=1e-12)
    H, h = rows.curvature(B[0])
    np.testing.assert_allclose(H, (X.T * (weights * curvature[0])) @ X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(h, H @ B[0] + gradient[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("response", ["logit", "poisson"])
def test_passes_do_not_depend_on_workers_and_take_float32(response, monkeypatch):
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    rng = np.random.default_rng(1)
    X, B = rng.standard_normal((5003, 7)), 0.3 * rng.standard_normal((2, 7)).astype(np.float32).astype(float)
    facts = facts_of_rows(None, None, rng.poisson(2.0, 5003).astype(float))
    results = {}
    for dtype in (np.float64, np.float32):
        one, two = (Rows(X.astype(dtype), "cpu", workers, response=response, facts=facts) for workers in (1, 2))
        results[dtype] = one.loglik(B)
        assert all(same(a, b) for a, b in zip(results[dtype], two.loglik(B), strict=True))
    for a, b in zip(*results.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=0.02)


def test_log_expit_ratio():
    x = np.concatenate([np.linspace(-745.0, 745.0, 2001), np.linspace(-3.0, 3.0, 2001), [-1e300, 1e300, 0.0]])
    value, slope = np.array([shrinkage.log_expit_ratio(v) for v in x]).T
    np.testing.assert_allclose(value, scipy.special.log_expit(x), rtol=1e-15, atol=1e-305)
    np.testing.assert_allclose(slope, scipy.special.expit(-x), rtol=1e-15, atol=1e-305)
    assert np.isnan(shrinkage.log_expit_ratio(np.nan)).all()
    narrow = shrinkage.log_expit_ratio(np.float32(0.3))
    assert all(type(v) is np.float32 for v in narrow) or all(abs(np.float32(v) - v) == 0.0 for v in narrow)


# --- classes -------------------------------------------------------------------------------------------------------------


def classes(n=60, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, 1.5 * X[:, 0] + 0.5 + rng.logistic(size=n) > 0


def classifier(**options):
    settings = dict(slab=None, standardize=False, chains=4, warmup=500, draws=5000, rng=3)
    return ns.bayes.HorseshoeClassifier(**(settings | options))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["split-hmc", "surrogate"])
def test_logit_posterior(sampler):
    """Against Polya-Gamma Gibbs sampling, with weights and an offset."""
    X, y = classes()
    rng = np.random.default_rng(2)
    weights, offset = rng.integers(0, 3, len(y)), 0.5 * rng.standard_normal(len(y))
    plain = naive.plain_logit(X, y, 30_000, 1, weights, offset)
    model = classifier(sampler=sampler).fit(X, y, weights, offset=offset)
    naive.check_against_plain(model, plain)


def test_logit_against_quadrature():
    """A fixed tau: the posterior of one coefficient on a grid, with the local scale integrated out."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 1))
    y = X[:, 0] + rng.logistic(size=40) > 0
    w, offset = rng.uniform(0.0, 2.0, 40), rng.standard_normal(40)
    model = classifier(tau=0.7, fit_intercept=False, draws=3000).fit(X, y, w, offset=offset)
    b = np.linspace(-4.0, 8.0, 6000)
    m = np.where(y, 1.0, -1.0)[:, None] * (X * b + offset[:, None])
    prior = np.array([float(naive.exact_log_exe1(0.5 * (v / 0.7) ** 2)) for v in b[::20]])
    log = w @ scipy.special.log_expit(m) + np.interp(b, b[::20], prior)
    p = np.exp(log - log.max())
    p /= p.sum()
    draws = model.draws_["beta"][:, :, 0]
    assert abs(draws.mean() - p @ b) < 4.0 * ns.bayes.mcse(draws)
    assert abs(draws.std() / np.sqrt(p @ b**2 - (p @ b) ** 2) - 1.0) < 0.05
    new = np.array([[-1.0], [2.0]])
    found, low, high = model.predict_proba(new, interval=0.9, offset=[0.5, -0.5])
    curve = scipy.special.expit(new * b + [[0.5], [-0.5]])
    np.testing.assert_allclose(found[:, 1], curve @ p, atol=0.01)
    ends = np.interp([0.05, 0.95], np.cumsum(p), b)
    np.testing.assert_allclose([low[1], high[1]], scipy.special.expit(2.0 * ends - 0.5), atol=0.015)
    logs = model.predict_log_proba(new, offset=[0.5, -0.5])
    np.testing.assert_allclose(np.exp(logs), found, rtol=1e-12)
    flat = draws.reshape(-1)
    pointwise = scipy.special.log_expit(np.where(y, 1.0, -1.0)[:, None] * (X * flat + offset[:, None]))
    want = np.logaddexp.reduce(pointwise, axis=1) - np.log(flat.size) - pointwise.var(axis=1, ddof=1)
    np.testing.assert_allclose(model.waic(X, y, offset=offset)["pointwise"], want, rtol=1e-10)


def test_weights_and_offsets_of_classes():
    X, y = classes()
    quick = dict(draws=50, warmup=60, chains=2, sampler="split-hmc")
    ones = classifier(**quick).fit(X, y, np.ones(60), offset=np.zeros(60))
    none = classifier(**quick).fit(X, y)
    assert same(ones.coef_, none.coef_) and same(ones.predict_proba(X), none.predict_proba(X))
    assert none.predict_proba(X).shape == (60, 2) and none.predict(X).dtype == bool
    blocks = lambda: ((X[i : i + 25], y[i : i + 25]) for i in range(0, 60, 25))  # noqa: E731
    weights = np.arange(60.0)
    a = classifier(**quick).fit(blocks, None, weights)
    assert same(a.coef_, classifier(**quick).fit(X, y, weights).coef_) and not same(a.coef_, none.coef_)
    again = classifier(workers=2, **quick).fit(X, y)
    assert same(again.coef_, none.coef_)


def test_probit_classifier_is_the_probit_model():
    X, y = classes()
    options = dict(chains=2, warmup=60, draws=40, rng=4)
    a = ns.bayes.HorseshoeClassifier(response="probit", slab=2.0, standardize=False, **options).fit(X, y)
    b = ns.bayes.HorseshoeProbit(slab=2.0, **options).fit(X, y)
    assert same(a.draws_["beta"], b.draws_["beta"]) and same(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ValueError, match="use response='logit'"):
        a.fit(X, y, np.ones(60))


def test_more_columns_than_rows():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 60))
    y = 4.0 * X[:, 0] + rng.logistic(size=30) > 0
    model = ns.bayes.HorseshoeClassifier(chains=2, warmup=300, draws=500, rng=1).fit(X, y)
    assert model.sampler_ == "split-hmc" and model.coef_[0].argmax() == 0 and model.draws_["log_tau"].min() > -8.0


def test_separable_classes_with_the_default_slab():
    x = np.linspace(-1, 1, 40)[:, None]
    model = ns.bayes.HorseshoeClassifier(rng=1).fit(x, x[:, 0] > 0)
    assert model.converged_ and 1.0 < model.coef_[0, 0] < 30.0 and model.score(x, x[:, 0] > 0) == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("error::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("response", ["logit", "probit"])
def test_breast_cancer_by_default(response):
    """569 x 30, nearly separable and nearly collinear: R-hat was 1.07 and the ESS 55 under HorseshoeProbit's defaults."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_breast_cancer(return_X_y=True)
    model = ns.bayes.HorseshoeClassifier(response=response, rng=1).fit(X, y)
    table = model.summary()
    assert model.converged_ and table["rhat"].max() < 1.01 and table["ess_bulk"].min() >= 400  # observed 1.0042, 983; 1.0071, 763
    assert model.score(X, y) > 0.97


BAD = [
    (dict(response="cloglog"), {}, "'logit', 'probit'"),
    (dict(sampler="gibbs"), {}, "'split-hmc', 'surrogate'"),
    (dict(dtype="int8"), {}, "response='probit'"),
    ({}, dict(sample_weight=-np.ones(60)), "0 or more"),
    ({}, dict(sample_weight=np.zeros(60)), "0 or more"),
    ({}, dict(sample_weight=np.ones(59)), "sample_weight has shape"),
    ({}, dict(sample_weight=np.full(60, np.nan)), r"sample_weight\[0\] is NaN"),
    ({}, dict(offset=np.ones(3)), "offset has shape"),
    ({}, dict(offset=np.full(60, np.inf)), r"offset\[0\] is infinite"),
]


@pytest.mark.parametrize(("options", "data", "message"), BAD)
def test_bad_input(options, data, message):
    with pytest.raises(ValueError, match=message):
        classifier(draws=10, warmup=50, **options).fit(*classes(), **data)


def test_predictions_need_draws():
    X, y = classes()
    model = classifier(keep="cov", draws=50, warmup=60).fit(X, y)
    with pytest.raises(ValueError, match="keep='draws'"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="offset has shape"):
        classifier(draws=50, warmup=60).fit(X, y).predict(X, offset=[1.0])


def test_files(tmp_path):
    X, y = classes()
    model = classifier(draws=50, warmup=60).fit(X, y)
    model.save(tmp_path / "model")
    loaded = ns.bayes.HorseshoeClassifier.load(tmp_path / "model")
    assert loaded.response == "logit" and same(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="response='logit'"):
        ns.bayes.HorseshoeProbit.load(tmp_path / "model")


EXPECTED_FAILURES = {
    "check_complex_data": "complex numbers are a TypeError, as for every function of the library",
    "check_dtype_object": "arrays of objects are refused: astype('float64') is the user's to choose",
    "check_sample_weight_equivalence_on_dense_data": "the posterior is the same, its draws are others",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scikit_learn_estimator_checks():
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils import estimator_checks as checks

    model = ns.bayes.HorseshoeClassifier(chains=2, warmup=100, draws=100, rng=1)
    found = checks.check_estimator(model, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in found if r["status"] == "failed"}
    assert not failed
    assert {r["check_name"] for r in found if r["status"] == "xfail"} == set(EXPECTED_FAILURES)
