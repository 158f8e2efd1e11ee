"""Other responses: kernels against their definition, posteriors against plain samplers, weights and offsets, scikit-learn."""

from __future__ import annotations

import sys
import types
import warnings

import numpy as np
import pytest
import scipy.special

import numbastats as ns
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses.record import facts_of_rows
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
    x = np.linspace(-80.0, 80.0, 801, dtype=np.float32)
    value, slope = np.array([shrinkage.log_expit_ratio(v) for v in x]).T
    np.testing.assert_allclose(value, scipy.special.log_expit(x.astype(float)), rtol=4e-7)
    np.testing.assert_allclose(slope, scipy.special.expit(-x.astype(float)), rtol=4e-7)


def test_poisson_ratio():
    for y, x in ((0.0, -800.0), (3.0, 1.2), (1e5, 11.0), (2.0, np.inf), (1.0, np.nan)):
        value, slope = shrinkage.poisson_ratio(y, x)
        np.testing.assert_allclose([value, slope], [y * x - np.exp(x) if x < np.inf else np.nan, y - np.exp(x)], rtol=1e-14)


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


def prior_density(prior, b, tau):
    """Log density of a coefficient: an exponential integral, or a normal one mixed over a product of half-Cauchy scales."""
    if prior == "horseshoe":
        x = 0.5 * (b / tau) ** 2
        return x + np.log(scipy.special.exp1(x))
    t = np.linspace(-12.0, 12.0, 4000)  # log of the product s, whose density is 4 log(s)/(pi^2 (s^2 - 1))
    weight = t / np.sinh(t)
    sd = tau * np.exp(t)
    return np.log((weight / sd * np.exp(-0.5 * (b[:, None] / sd) ** 2)).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "sampler"), [("horseshoe", "auto"), ("horseshoe+", "split-hmc"), ("horseshoe+", "surrogate")])
def test_logit_against_quadrature(prior, sampler):
    """A fixed tau: the posterior of one coefficient on a grid, with the local scale integrated out."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 1))
    y = X[:, 0] + rng.logistic(size=40) > 0
    w, offset = rng.uniform(0.0, 2.0, 40), rng.standard_normal(40)
    model = classifier(prior=prior, sampler=sampler, tau=0.7, fit_intercept=False, draws=3000).fit(X, y, w, offset=offset)
    u = np.linspace(-2.0, 2.0, 4000)  # not at 0, where the prior's density is infinite
    b = u**3
    m = np.where(y, 1.0, -1.0)[:, None] * (X * b + offset[:, None])
    log = w @ scipy.special.log_expit(m) + prior_density(prior, b, 0.7)
    p = np.exp(log - log.max()) * u**2
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
    assert same(ones.coef_, none.coef_) and same(ones.predict_proba(X, offset=0.0), none.predict_proba(X))
    for refused in (ones.predict, ones.predict_proba, ones.predict_log_proba, ones.sample_outcomes, lambda X: ones.score(X, y)):
        with pytest.raises(ValueError, match=r"fitted with offset= or exposure=.*offset=0.0 for none"):
            refused(X)
    assert ones.score(X, y, offset=0.0) == none.score(X, y)
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
    assert model.sampler_ == "collapsed-gibbs" and model.coef_[0].argmax() == 0
    assert np.quantile(model.draws_["log_tau"], 0.01) > -6.5  # -5.1 in 36,000 draws, of which 1 in 10,000 is below -8


@pytest.mark.parametrize("sampler", ["gibbs", pytest.param("px-gibbs", marks=pytest.mark.slow)])
def test_horseshoe_plus_of_a_probit_model(sampler):
    """The samplers with latent variables give the posterior that split-hmc gives."""
    X, y = classes(40)
    options = dict(fit_intercept=False, tau=0.7, chains=4, warmup=300, draws=3000, rng=2)
    a, b = (
        ns.bayes.BayesProbit("horseshoe+", sampler=kind, **options).fit(X, y).draws_["beta"] for kind in (sampler, "split-hmc")
    )
    error = np.sqrt(ns.bayes.mcse(a) ** 2 + ns.bayes.mcse(b) ** 2)
    assert (abs(a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) < 4.0 * error).all()
    np.testing.assert_allclose(a.std(axis=(0, 1)), b.std(axis=(0, 1)), rtol=0.08)


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


@pytest.mark.slow
@pytest.mark.filterwarnings("error::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("slab", [{}, {"slab": 2.0, "slab_df": 4}])
def test_breast_cancer_of_a_probit_model(slab):
    """Standardised columns, everything else by default: draws are doubled until the chains agree."""
    X, y = pytest.importorskip("sklearn.datasets").load_breast_cancer(return_X_y=True)
    model = ns.bayes.HorseshoeProbit(rng=1, **slab).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert model.converged_ and model.score((X - X.mean(axis=0)) / X.std(axis=0), y) > 0.97  # observed R-hat 1.0070, ESS 533


BAD = [
    (dict(response="cloglog"), {}, "'logit', 'ordinal', 'probit'"),
    (dict(sampler="gibbs"), {}, "'split-hmc', 'surrogate'"),
    (dict(dtype="int8"), {}, "response='probit'"),
    (dict(slab_df=4), {}, "pass its scale, such as slab=2.5"),
    (dict(slab=2.0, slab_df=0), {}, "slab_df=0 is out of range"),
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


# --- numbers and counts --------------------------------------------------------------------------------------------------


def numbers(n=30, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, 1.5 * X[:, 0] + 5.0 + 2.0 * rng.standard_normal(n)


def counts(n=30, seed=3):
    rng = np.random.default_rng(seed)
    X, offset = rng.standard_normal((n, 3)), rng.uniform(-1.0, 1.0, n)
    return X, rng.poisson(np.exp(0.8 * X[:, 0] + 0.5 + offset)), offset


def regression(response="gaussian", **options):
    settings = dict(response=response, standardize=False, chains=4, warmup=300, draws=4000, rng=3)
    return ns.bayes.HorseshoeRegression(**(settings | options))


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["horseshoe", "horseshoe+"])
def test_gaussian_posterior(prior):
    """Against a Gibbs sampler that draws sigma given the coefficients, with weights; an offset is taken from y."""
    X, y = numbers()
    rng = np.random.default_rng(2)
    weights, offset = rng.integers(0, 3, len(y)), 10.0 * rng.standard_normal(len(y))
    plain = naive.plain_gaussian(X, y, 40_000, 1, weights, prior == "horseshoe+")
    model = regression(prior=prior, draws=8000).fit(X, y + offset, weights, offset=offset)
    naive.check_against_plain(model, plain, ("log_tau", "log_sigma"))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["split-hmc", "surrogate"])
def test_poisson_posterior(sampler):
    """Against random-walk Metropolis steps, with weights and an offset."""
    X, y, offset = counts()
    weights = np.random.default_rng(2).uniform(0.2, 2.0, len(y))
    plain = naive.plain_poisson(X, y, 40_000, 1, weights, offset)
    model = regression("poisson", sampler=sampler, warmup=500).fit(X, y, weights, offset=offset)
    naive.check_against_plain(model, plain)


@pytest.mark.parametrize("seed", [1, 3])
def test_poisson_chains_of_more_columns_than_rows(seed):
    """They start near the mode. Draws of its normal approximation had rates of e^100 and more, from which chains did not come."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 100))
    y = rng.poisson(np.exp(0.5 + 0.8 * X[:, 0] - 0.6 * X[:, 1])).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = ns.bayes.HorseshoeRegression(response="poisson", rng=1, draws=200, warmup=300).fit(X, y)
    means = model.draws_["beta"].mean(axis=1)
    assert (
        abs(means[:, 0] - 0.8).max() < 0.25 and abs(means[:, 2:]).max() < 0.4
    )  # of each chain; observed 0.06, 0.21; was 0.8, 1.7
    assert np.ptp(model.sample_stats_["log_likelihood"].mean(axis=1)) < 5.0  # observed 1.5; was 9.2, of 500 columns 10^5


def test_gaussian_against_its_closed_form():
    """A tau so large that the prior of b/sigma is all but flat: Student's t around least squares."""
    X, y = numbers(40)
    model = regression(tau=1e4, draws=3000).fit(X, y)
    Z = np.column_stack([np.ones(40), X])
    b, rest = np.linalg.lstsq(Z, y)[:2]
    draws = np.exp(2.0 * model.draws_["log_sigma"])
    assert model.coef_[0] == pytest.approx(b[1], rel=0.1)
    assert draws.mean() == pytest.approx(rest[0] / (40 - 3), rel=0.12)
    assert model.intercept_ == pytest.approx(b[0], rel=0.1)


def test_gaussian_results_do_not_depend_on_units():
    X, y = numbers()
    a = regression(draws=200).fit(X, y)
    b = regression(draws=200).fit(X, 1e30 * y)
    c = regression(draws=200, standardize=True).fit(X * [1e-6, 1.0, 1e6] + [0.0, 1e3, 0.0], y)
    d = regression(draws=200, standardize=True).fit(X, y)
    np.testing.assert_allclose(b.coef_, 1e30 * a.coef_, rtol=1e-9)
    np.testing.assert_allclose(b.draws_["log_sigma"] - 30 * np.log(10.0), a.draws_["log_sigma"], atol=1e-9)
    np.testing.assert_allclose(c.coef_ * [1e-6, 1.0, 1e6], d.coef_, rtol=1e-6)
    np.testing.assert_allclose(c.predict(X * [1e-6, 1.0, 1e6] + [0.0, 1e3, 0.0]), d.predict(X), rtol=1e-6)


def test_gaussian_without_noise():
    """Residuals of rounding errors only: sigma is tiny, coefficients are exact."""
    X, y = numbers()
    model = regression(draws=300).fit(X, 2.0 * X[:, 0] - X[:, 2] + 7.0)
    np.testing.assert_allclose([*model.coef_, model.intercept_], [2.0, 0.0, -1.0, 7.0], atol=1e-5)
    assert model.draws_["log_sigma"].max() < -10.0 and model.score(X, 2.0 * X[:, 0] - X[:, 2] + 7.0) > 1.0 - 1e-9


def test_gaussian_with_more_columns_than_rows():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 120))
    y = 3.0 * X[:, 0] - 3.0 * X[:, 1] + 0.5 * rng.standard_normal(50)
    model = ns.bayes.HorseshoeRegression(chains=2, warmup=300, draws=500, rng=1).fit(X, y)
    np.testing.assert_allclose(model.coef_[:2], [3.0, -3.0], atol=0.5)
    assert abs(model.coef_[2:]).max() < 0.3
    assert 0.2 < np.exp(model.draws_["log_sigma"]).mean() < 1.0


def test_large_counts_and_offsets():
    """Newton's method from far away; means of 10^5 and exposures of e^50."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 2))
    y = rng.poisson(np.exp(10.0 + 1.5 * X[:, 0]))
    for offset in (0.0, 50.0, -50.0):
        model = regression("poisson", draws=300, chains=2).fit(X, y, offset=np.full(100, offset))
        np.testing.assert_allclose(model.coef_, [1.5, 0.0], atol=0.005)
        assert model.intercept_ == pytest.approx(10.0 - offset, abs=0.01)


def test_predictions_of_numbers_and_counts():
    X, y = numbers()
    model = regression(draws=500).fit(X, y)
    m = model.draws_["beta"].reshape(-1, 3) @ X[:4].T + model.draws_["intercept"].reshape(-1, 1)
    mean, low, high = model.predict(X[:4], interval=0.8, offset=np.arange(4.0))
    np.testing.assert_allclose(mean, m.mean(axis=0) + np.arange(4.0), rtol=1e-12)
    np.testing.assert_allclose([low, high], np.quantile(m, [0.1, 0.9], axis=0) + np.arange(4.0), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X[:4]), m.mean(axis=0), rtol=1e-12)
    s = np.exp(model.draws_["log_sigma"].reshape(-1, 1))
    pointwise = -0.5 * ((y[:4] - m) / s) ** 2 - np.log(s * np.sqrt(2 * np.pi))
    want = np.logaddexp.reduce(pointwise, axis=0) - np.log(len(m)) - pointwise.var(axis=0, ddof=1)
    np.testing.assert_allclose(model.waic(X[:4], y[:4])["pointwise"], want, rtol=1e-10)
    assert model.loo(X, y)["bad"] == 0 and "log_sigma" in model.summary()["name"]
    w, found = np.arange(30.0), model.predict(X)
    r2 = 1.0 - w @ (y - found) ** 2 / (w @ (y - w @ y / w.sum()) ** 2)
    assert model.score(X, y, w) == pytest.approx(r2, rel=1e-12)
    moments = regression(draws=500, keep="moments").fit(X, y)
    np.testing.assert_allclose(moments.predict(X), found, rtol=1e-12)

    X, y, offset = counts()
    model = regression("poisson", draws=500).fit(X, y, offset=offset)
    m = model.draws_["beta"].reshape(-1, 3) @ X.T + model.draws_["intercept"].reshape(-1, 1) + offset
    np.testing.assert_allclose(model.predict(X, offset=offset), np.exp(m).mean(axis=0), rtol=1e-12)
    pointwise = y * m - np.exp(m) - scipy.special.gammaln(y + 1.0)
    want = np.logaddexp.reduce(pointwise, axis=0) - np.log(len(m)) - pointwise.var(axis=0, ddof=1)
    np.testing.assert_allclose(model.waic(X, y, offset=offset)["pointwise"], want, rtol=1e-10)
    assert -1.0 < model.score(X, y, offset=offset) < 1.0
    with pytest.raises(ValueError, match="mean of counts"):
        regression("poisson", draws=50, keep="moments").fit(X, y).predict(X)


def test_regressions_of_blocks_threads_and_float32():
    for response in ("gaussian", "poisson"):
        X, y = counts(200)[:2]
        quick = dict(draws=60, warmup=60, sampler="auto" if response == "gaussian" else "split-hmc")
        want = regression(response, **quick).fit(X, y).draws_["beta"]
        blocks = lambda: ((X[i : i + 50], y[i : i + 50]) for i in range(0, 200, 50))  # noqa: B023, E731
        assert same(regression(response, **quick).fit(blocks).draws_["beta"], want)
        assert same(regression(response, workers=2, **quick).fit(X, y).draws_["beta"], want)
        narrow = regression(response, dtype="float32", **quick).fit(X, y).draws_["beta"]
        assert abs(narrow.mean(axis=(0, 1)) - want.mean(axis=(0, 1))).max() < 0.05
        more = regression(response, **(quick | dict(draws=40))).fit(X, y).continue_(20)
        assert same(more.draws_["beta"], want)
        turns = iter([y, y + 1])
        with pytest.raises(ValueError, match="another outcome for row 0"):
            regression(response, **quick).fit(lambda: iter([(X, next(turns))]))  # noqa: B023


BAD_NUMBERS = [
    (dict(response="poisson"), dict(y=np.full(30, 0.5)), "takes counts"),
    (dict(response="poisson"), dict(y=-np.ones(30)), "takes counts"),
    (dict(response="poisson"), dict(y=np.zeros(30)), "improper"),
    (dict(response="poisson", sampler="gibbs"), {}, "'split-hmc', 'surrogate'"),
    (dict(sampler="split-hmc"), {}, "'gibbs'"),
    (dict(prior="lasso"), {}, "'horseshoe', 'horseshoe\\+'"),
    (dict(response="logit"), {}, "'gaussian', 'loglogistic'"),
    ({}, dict(y=np.ones(30)), "one value only"),
    ({}, dict(y=np.full(30, np.nan)), r"y\[0\] is NaN"),
    ({}, dict(sample_weight=np.full(30, 0.01)), "sum 0.3"),
    ({}, dict(y=None), "the target y is None"),
]


@pytest.mark.parametrize(("options", "data", "message"), BAD_NUMBERS)
def test_bad_numbers(options, data, message):
    X, y, _ = counts()
    with pytest.raises(ValueError, match=message):
        regression(**(dict(draws=10) | options)).fit(X, **(dict(y=y) | data))


def test_files_of_regressions(tmp_path):
    X, y, offset = counts()
    for response in ("gaussian", "poisson"):
        model = regression(response, draws=50).fit(X, y, offset=offset)
        model.save(tmp_path / "model")
        loaded = ns.bayes.HorseshoeRegression.load(tmp_path / "model")
        assert loaded.response == response and same(loaded.predict(X, offset=offset), model.predict(X, offset=offset))
        with pytest.raises(ValueError, match="fitted with offset= or exposure="):
            loaded.predict(X)
        assert loaded.intercept_ == model.intercept_
        assert repr(loaded).startswith(f"HorseshoeRegression({'' if response == 'gaussian' else 'response='}")
    with pytest.raises(ValueError, match="response='poisson'"):
        ns.bayes.HorseshoeClassifier.load(tmp_path / "model")


@pytest.mark.slow
@pytest.mark.filterwarnings("error::numbastats.ConvergenceWarning")
def test_diabetes_by_default():
    """442 x 10, strongly correlated columns."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_diabetes(return_X_y=True)
    model = ns.bayes.HorseshoeRegression(rng=1).fit(X, y)
    assert model.converged_ and 0.49 < model.score(X, y) < 0.52  # least squares: 0.518


def _before_1(*, posterior=None, coords=None, dims=None, **others):
    groups = dict(posterior=posterior, **others)
    return {name: group for name, group in groups.items() if group is not None}, coords, dims


def _from_1(data, *, coords=None, dims=None):
    return data, coords, dims


@pytest.mark.parametrize("from_dict", [_before_1, _from_1])
def test_inference_data(from_dict, monkeypatch, tmp_path):
    """What ArviZ's `from_dict` gets, in both of its signatures."""
    monkeypatch.setitem(sys.modules, "arviz", types.SimpleNamespace(from_dict=from_dict))
    X, y, offset = counts()
    model = regression("poisson", sampler="split-hmc", draws=50, thin=2).fit(X, y, offset=offset)
    model.save(tmp_path / "model")
    for m in (model, ns.bayes.HorseshoeRegression.load(tmp_path / "model")):
        groups, coords, dims = m.to_inference_data(X, y, offset, rng=3)
        assert same(groups["posterior"]["beta"], model.draws_["beta"]) and coords["feature"] == ["x0", "x1", "x2"]
        assert dims["beta"] == ["feature"] and dims["y"] == ["row"] and len(coords["row"]) == 30
        eta = model.draws_["beta"][2, 7] @ X.T + model.draws_["intercept"][2, 7] + offset
        want = y * eta - np.exp(eta) - scipy.special.gammaln(y + 1.0)
        np.testing.assert_allclose(groups["log_likelihood"]["y"][2, 7], want, rtol=1e-10)
        stats = groups["sample_stats"]
        np.testing.assert_allclose(stats["total_log_likelihood"][2, 7], y @ eta - np.exp(eta).sum(), rtol=1e-10)
        assert stats["acceptance_rate"].mean() == pytest.approx(model.stats_["acceptance"], rel=1e-12)
        assert (stats["acceptance_rate"] >= 0.0).all() and (stats["acceptance_rate"] <= 1.0 + 1e-9).all()
        assert same(groups["observed_data"]["y"], y)
        drawn = groups["posterior_predictive"]["y"]
        assert (
            same(drawn.reshape(-1, 30), m.sample_outcomes(X, offset=offset, rng=3))
            and drawn.shape[:2] == m.draws_["log_tau"].shape
        )
    times, over = np.exp(X[:, 0]), X[:, 1] > -1.0
    model = regression("weibull", sampler="split-hmc", draws=20).fit(X, times, event=over, offset=offset)
    ends = times, np.where(over, times, np.inf)
    want, _, _ = model.to_inference_data(X, times, offset, event=over, sample_weight=np.full(30, 2.0), rng=3)
    groups, _, dims = model.to_inference_data(X, None, offset, censored=ends, rng=3)
    np.testing.assert_allclose(want["log_likelihood"]["y"], 2.0 * groups["log_likelihood"]["y"], rtol=1e-12)
    assert same(want["observed_data"]["event"], over) and same(groups["observed_data"]["upper"], ends[1])
    assert dims["y"] == dims["upper"] == ["row"]
    parts = np.concatenate(list(model._log_likelihoods(X, times, offset, event=over)))
    assert same(groups["log_likelihood"]["y"].reshape(-1, 30), parts.T)
    groups, _, _ = regression(draws=20).fit(X, y).to_inference_data()
    assert set(groups) == {"posterior", "sample_stats"} and set(groups["sample_stats"]) == {"acceptance_rate"}
    with pytest.raises(ValueError, match="come together"):
        model.to_inference_data(X)


def _elpd(loo):
    return float(loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo)  # ArviZ 1, and before


def test_inference_data_in_arviz():
    """ArviZ's own leave-one-out and plots take it, offsets included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version
        az = pytest.importorskip("arviz", exc_type=ImportError)
    pytest.importorskip("matplotlib").use("Agg")
    X, y, offset = counts()
    model = regression("poisson", draws=500, slab=2.0, slab_df=4).fit(X, y, offset=offset)
    data = model.to_inference_data(X, y, offset)
    loo = az.loo(data, pointwise=True)
    az.plot_forest(data, var_names=["beta"])
    assert list(data.posterior["feature"].values) == ["x0", "x1", "x2"] and "log_slab" in data.posterior
    ours = model.loo(X, y, offset)
    assert _elpd(loo) == pytest.approx(ours["elpd"], abs=0.05)


def test_classifier_in_arviz():
    """What a user calls next: summary, leave-one-out, comparison and a forest plot, with the names of the columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        az = pytest.importorskip("arviz", exc_type=ImportError)
        pytest.importorskip("matplotlib").use("Agg")
        X, y = classes()
        model = classifier(draws=400).fit(X, y)
        data = model.to_inference_data(X, y)
        table = az.summary(data, var_names=["beta", "intercept"])
        assert list(table.index) == ["beta[x0]", "beta[x1]", "beta[x2]", "intercept"]
        np.testing.assert_allclose(table["mean"].astype(float)[:3], model.coef_.ravel(), rtol=0.02, atol=0.006)  # as printed
        assert len(az.compare({"one": data, "two": data})) == 2
        az.plot_forest(data, var_names=["beta"])
        loo = az.loo(data)
    assert _elpd(loo) == pytest.approx(model.loo(X, y)["elpd"], abs=0.05)


def test_inference_data_without_arviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        regression(draws=20).fit(*numbers()).to_inference_data()
