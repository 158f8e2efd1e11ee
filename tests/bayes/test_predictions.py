"""Predictions, reports and criteria against plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
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
    ends = np.quantile(flat, [0.05, 0.95], axis=0)
    want = dict(
        mean=flat.mean(axis=0), sd=flat.std(axis=0, ddof=1), lower=ends[0], upper=ends[1], positive=(flat > 0).mean(axis=0)
    )
    for name, values in want.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-12)
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
