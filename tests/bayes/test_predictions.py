"""Predictions, reports and criteria against plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes.responses import GAUSSIAN, LOGIT, POISSON, PROBIT
from tests.bayes.naive import data, quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def test_probabilities_where_the_covariance_cancels():
    """The linear predictor's variance is below the rounding errors of its terms, whose sum may be negative."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        X = 1e5 + rng.standard_normal((2, 3))
        options = dict(prior="ridge", tau=1e5, sampler="px-gibbs", keep="cov", standardize=True, rng=1)
        with pytest.warns(UserWarning, match="normal approximation"):
            p = quick(**options).fit(X, [0, 1]).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_predictions_and_reports(tmp_path):
    X, y = data()
    words = np.where(y, "yes", "no")
    model = quick().fit(X, words)
    assert model.classes_.tolist() == ["no", "yes"] and model.n_features_in_ == 4
    m = model.decision_draws(X)
    want = X @ model.draws_["beta"].reshape(-1, 4).T + model.draws_["intercept"].reshape(-1)
    np.testing.assert_allclose(m, want.T, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], scipy.special.ndtr(want).mean(axis=1), rtol=1e-12)
    assert set(model.predict(X)) <= {"no", "yes"} and model.score(X, words) > 0.6
    assert model.predict_proba(X, draws=7).shape == (120, 2)
    table = model.summary()
    assert table["name"].tolist() == ["intercept", "x0", "x1", "x2", "x3", "log_tau"]
    flat = np.column_stack([model.draws_[n].reshape(80, -1) for n in ("intercept", "beta", "log_tau")])
    ends = np.quantile(flat, [0.025, 0.975], axis=0)
    want = dict(
        mean=flat.mean(axis=0), sd=flat.std(axis=0, ddof=1), lower=ends[0], upper=ends[1], positive=(flat > 0).mean(axis=0)
    )
    for name, values in want.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-12)
    assert "lower 95 %" in repr(table) and "<th>upper 95 %</th>" in table._repr_html_() and set(table["level"]) == {0.95}
    narrow, by_position = model.summary(level=0.8), model.summary(0.8)
    np.testing.assert_allclose(narrow["lower"], np.quantile(flat, 0.1, axis=0), rtol=1e-12)
    assert "upper 80 %" in repr(narrow) and repr(by_position) == repr(narrow) and narrow.to_frame("dict")["level"][0] == 0.8
    with pytest.warns(DeprecationWarning, match=r"prob= of .*summary\(\) is level= now") as told:
        assert repr(model.summary(prob=0.8)) == repr(narrow)
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match="pass level= alone"):
        model.summary(level=0.8, prob=0.8)
    for bad, error, text in ((90, ValueError, "level=90 .* use 0.9 for 90 %"), ("0.9", TypeError, "level='0.9' is no number")):
        with pytest.raises(error, match=text):
            model.summary(bad)
    with pytest.raises(ValueError, match="interval=90 is not between 0 and 1; use 0.9 for 90 %"):
        model.predict_proba(X, interval=90)
    path = tmp_path / "model.npz"
    model.save(path)
    loaded = ns.bayes.BayesProbit.load(path)
    assert same(loaded.predict_proba(X), model.predict_proba(X)) and loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.stats_ == model.stats_ and loaded.converged_ == model.converged_
    with pytest.raises(AttributeError, match="no data"):
        loaded.continue_(5)
    path = tmp_path / "no_suffix"
    infinite = quick(intercept_scale=np.inf, tau_scale=np.float64(0.5), dtype=np.float64).fit(X, words.astype(object))
    infinite.save(path)
    loaded = ns.bayes.BayesProbit.load(path)
    assert loaded.intercept_scale == np.inf and loaded.tau_scale == 0.5 and loaded.dtype == "float64"
    whole = path.read_bytes()
    ns.distributions.student_t(4.0).save(tmp_path / "table")
    for other in (b"", b"some text", whole[: len(whole) // 2], (tmp_path / "table").read_bytes()):
        (tmp_path / "other").write_bytes(other)
        with pytest.raises(ValueError, match="is no model, or damaged"):
            ns.bayes.BayesProbit.load(tmp_path / "other")
    assert loaded.predict(X).tolist() == infinite.predict(X).tolist()
    assert model.score(X, words[:, None]) == model.score(X, words)
    assert model.loo(X, words[:, None])["elpd"] == model.loo(X, words)["elpd"]
    with pytest.raises(ValueError, match="120 rows"):
        model.score(X, words[:7])


@pytest.mark.parametrize("keep", ["draws", "cov"])
@pytest.mark.filterwarnings("ignore:no draws were kept")
def test_logarithms_of_probabilities(keep):
    """Both tails keep their digits: probabilities of 1e-600 and their complements."""
    X, y = data()
    model = quick(keep=keep).fit(X, y)
    far = np.concatenate([X[:20], 30.0 * X[:20]])
    if keep == "draws":
        m = model.decision_draws(far).T
    else:
        a = np.column_stack([np.ones(len(far)), far])
        m = a @ model.moments_["mean"] / np.sqrt(1.0 + ((a @ model.moments_["covariance"]) * a).sum(axis=1))
        m = m[:, None]
    below, above = (scipy.special.log_ndtr(s * m) for s in (-1.0, 1.0))
    tails = np.column_stack([scipy.special.logsumexp(v, axis=1) for v in (below, above)]) - math.log(m.shape[1])
    want = np.where(tails > math.log(0.5), np.log1p(-np.exp(np.minimum(tails[:, ::-1], -0.5))), tails)
    got = model.predict_log_proba(far)
    assert keep == "cov" or got.min() < -745.0
    np.testing.assert_allclose(got, want, rtol=3e-13)  # observed 7e-14
    p = model.predict_proba(far)
    np.testing.assert_allclose(p, np.exp(want), rtol=3e-13)
    np.testing.assert_array_equal(np.where(p[:, 1] > 0.5, 1, 0), model.predict(far))


# --- new outcomes ---------------------------------------------------------------------------------------------------------


def test_outcomes_by_inversion():
    rng = np.random.default_rng(3)
    u, m = rng.uniform(size=5000), rng.uniform(-12.0, 12.0, 5000)
    np.testing.assert_array_equal(POISSON.quantile(u, m, {}), scipy.stats.poisson.ppf(u, np.exp(m)))
    np.testing.assert_allclose(
        GAUSSIAN.quantile(u, m, {"log_sigma": math.log(0.3)}), scipy.stats.norm.ppf(u, m, 0.3), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_array_equal(PROBIT.quantile(u, m, {}) > 0.0, u >= scipy.stats.norm.cdf(-m))
    np.testing.assert_array_equal(LOGIT.quantile(u, m, {}) > 0.0, u >= scipy.special.expit(-m))
    count = scipy.stats.poisson.cdf(np.arange(20), 3.0)  # probabilities at which a count ends
    np.testing.assert_array_equal(POISSON.quantile(count * (1.0 - 1e-12), np.full(20, math.log(3.0)), {}), np.arange(20))
    with pytest.raises(ValueError, match="mean count is inf"):
        POISSON.quantile(np.array([0.5, 0.5]), np.array([0.0, 800.0]), {})


@pytest.mark.parametrize("response", ["gaussian", "poisson"])
def test_intervals_and_draws_of_outcomes(response, tmp_path):
    """Against the mixture of the distributions of an outcome given every draw."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3))
    y = 2.0 * X[:, 0] + 3.0 * rng.standard_normal(60) if response == "gaussian" else rng.poisson(np.exp(1.0 + 0.5 * X[:, 0]))
    model = ns.bayes.HorseshoeRegression(response=response, chains=2, warmup=200, draws=2000, rng=1).fit(X, y)
    new, offset = X[:6], np.linspace(-0.2, 1.0, 6)
    m = model.decision_draws(new) + offset
    s = np.exp(model.draws_["log_sigma"].reshape(-1, 1)) if response == "gaussian" else None

    def below(v):
        return scipy.special.ndtr((v - m) / s) if response == "gaussian" else scipy.stats.poisson.cdf(v, np.exp(m))

    mean, low, high = model.predict(new, interval=0.8, kind="outcome", offset=offset)
    np.testing.assert_allclose(mean, model.predict(new, offset=offset), rtol=1e-12)
    if response == "gaussian":
        np.testing.assert_allclose([below(low).mean(axis=0), below(high).mean(axis=0)], [[0.1] * 6, [0.9] * 6], atol=0.02)
    else:
        assert (below(low).mean(axis=0) > 0.09).all() and (below(low - 1.0).mean(axis=0) < 0.11).all()
        assert (below(high).mean(axis=0) > 0.89).all() and (below(high - 1.0).mean(axis=0) < 0.91).all()
    _, *alone = model.predict(new[2:3], interval=0.8, kind="outcome", offset=offset[2:3])
    np.testing.assert_allclose(np.ravel(alone), [low[2], high[2]], rtol=1e-12)  # a row's interval depends on no other row
    drawn = model.sample_outcomes(new, offset=offset, rng=7)
    assert drawn.shape == (4000, 6) and same(drawn, model.sample_outcomes(new, offset=offset, rng=7))
    centre = np.exp(m) if response == "poisson" else m
    z = (drawn - centre).mean(axis=0) / ((centre if s is None else s**2 * np.ones_like(m)).mean(axis=0) / 4000) ** 0.5
    assert abs(z).max() < 4.0
    for v in (low, high):
        np.testing.assert_allclose((drawn <= v).mean(axis=0), below(v).mean(axis=0), atol=4.0 * 0.008)
    model.save(tmp_path / "model")
    loaded = ns.bayes.HorseshoeRegression.load(tmp_path / "model")
    assert same(loaded.sample_outcomes(new, rng=7), model.sample_outcomes(new, rng=7))
    assert same(model.sample_outcomes(new[:0]), np.empty((4000, 0)))
    with pytest.raises(ValueError, match="kind='mode'"):
        model.predict(new, interval=0.8, kind="mode")
    middle = scipy.stats.poisson.median(np.exp(m)) if response == "poisson" else m
    found = model.predict(new, interval=0.8, kind="median", offset=offset)
    np.testing.assert_allclose(found, np.quantile(middle, [0.5, 0.1, 0.9], axis=0), rtol=1e-12)
    with pytest.raises(ValueError, match="needs the draws"):
        ns.bayes.HorseshoeRegression(response=response, draws=5, keep="moments").fit(X, y).sample_outcomes(X)


def test_drawn_classes():
    X, y = data()
    for model in (quick(), ns.bayes.HorseshoeClassifier(chains=2, warmup=60, draws=2000, rng=1)):
        drawn = model.fit(X, np.where(y, "yes", "no")).sample_outcomes(X[:8], rng=1)
        assert set(np.unique(drawn)) == {"no", "yes"} and drawn.shape == (model.draws_["log_tau"].size, 8)
        p = model.predict_proba(X[:8])[:, 1]
        assert (abs((drawn == "yes").mean(axis=0) - p) < 4.0 * np.sqrt(p * (1.0 - p) / len(drawn))).all()


@pytest.mark.slow
@pytest.mark.parametrize("response", ["gaussian", "poisson"])
def test_intervals_of_outcomes_hold_new_outcomes(response):
    """90 % of new outcomes, over 40 data sets; of counts at least as many, for their steps."""
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, new = rng.standard_normal((60, 6)), rng.standard_normal((1000, 6))
        m, fresh = 2.0 + X[:, 0], 2.0 + new[:, 0]
        y, outcomes = (
            (rng.normal(m, 2.0), rng.normal(fresh, 2.0))
            if response == "gaussian"
            else (rng.poisson(np.exp(m)), rng.poisson(np.exp(fresh)))
        )
        model = ns.bayes.HorseshoeRegression(response=response, chains=2, warmup=300, draws=500, rng=seed).fit(X, y)
        _, low, high = model.predict(new, interval=0.9, kind="outcome")
        held.append(((outcomes >= low) & (outcomes <= high)).mean())
    assert 0.88 < np.mean(held) < (0.92 if response == "gaussian" else 0.97), np.mean(held)
