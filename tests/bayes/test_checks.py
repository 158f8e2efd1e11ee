"""Posterior predictive checks and calibration, against distributions with known parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import numbastats as ns
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of short runs


def known(response, X, y, coef=(0.5,), draws=4000, given=None, **own):
    """A fit whose draws are all the same: its predictions are those of one distribution."""
    model = ns.bayes.HorseshoeRegression(response=response, rng=1, chains=2, warmup=60, draws=10).fit(X, y, **(given or {}))
    shape = 2, draws // 2
    beta = np.broadcast_to(np.array(coef), (*shape, len(coef)))
    model.draws_ = {"beta": beta, "intercept": np.full(shape, 1.0), "log_tau": np.zeros(shape)}
    model.draws_ |= {name: np.full(shape, v) for name, v in own.items()}
    return model


def rows(n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1))
    return rng, X, 1.0 + 0.5 * X[:, 0]


def test_mean_and_deviation_of_normal_outcomes():
    rng, X, m = rows(50)
    y = m + rng.standard_normal(50)
    table = known("gaussian", X, y, log_sigma=math.log(1.2)).check(X, y, "mean", level=0.8, draws=4000)
    want = scipy.stats.norm(m.mean(), 1.2 / math.sqrt(50))
    assert table["observed"][0] == pytest.approx(y.mean(), rel=1e-14)
    assert abs(table["mean"][0] - want.mean()) < 4.0 * want.std() / math.sqrt(4000)
    np.testing.assert_allclose(table["lower"], want.ppf(0.1), atol=0.02)
    np.testing.assert_allclose(table["upper"], want.ppf(0.9), atol=0.02)
    np.testing.assert_allclose(table["p"], want.sf(y.mean()), atol=4.0 * math.sqrt(0.25 / 4000))


def test_statistics_of_counts():
    """Words, functions and several of them; ties count by halves."""
    rng, X, m = rows(40)
    y = rng.poisson(np.exp(m))
    model = known("poisson", X, y, draws=2000)
    several = model.check(X, y, ["mean", "sd", "zeros", "max", "quantiles", lambda y: (y > 4).sum()], draws=2000)
    names = ["mean", "sd", "zeros", "max", "5% quantile", "25% quantile", "50% quantile", "75% quantile", "95% quantile"]
    assert several["statistic"].tolist() == [*names, "<lambda>"]
    quantiles = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95])
    want = [y.mean(), y.std(ddof=1), (y == 0).mean(), y.max(), *quantiles, (y > 4).sum()]
    np.testing.assert_allclose(several["observed"], want)
    beyond = scipy.stats.poisson.sf(4, np.exp(m))
    assert abs(several["mean"][-1] - beyond.sum()) < 4.0 * math.sqrt((beyond * (1 - beyond)).sum() / 2000)
    none = scipy.stats.poisson.pmf(0, np.exp(m)).mean()
    assert abs(several["mean"][2] - none) < 4.0 * math.sqrt(0.25 / 40 / 2000)
    named = model.check(X, y, {"many": lambda y: float((y > 4).sum())}, draws=2000)
    assert named["statistic"].tolist() == ["many"] and same(named["p"], several["p"][-1:])
    assert model.check(X, y, lambda y: 1.0)["p"].tolist() == [0.5]
    few = model.check(X, y, draws=7)
    assert set(few["p"] * 14 % 1.0) == {0.0} and few["statistic"].tolist() == ["mean"]


def test_a_wrong_model_is_found():
    rng, X, m = rows(200)
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + np.exp(m)))
    p = {}
    for response in ("poisson", "negative_binomial"):
        model = ns.bayes.HorseshoeRegression(response=response, rng=1, chains=2, warmup=150, draws=200).fit(X, y)
        p[response] = model.check(X, y, ["sd", "zeros"])["p"]
    assert (abs(p["poisson"] - 0.5) > 0.49).all() and (abs(p["negative_binomial"] - 0.5) < 0.45).all()


def test_censored_outcomes_are_completed():
    """The mean beyond a known time, by quadrature; outcomes that are known stay."""
    rng, X, m = rows(30)
    y, sigma = np.exp(m + 0.5 * np.log(rng.standard_exponential(30))), 0.5
    event = np.arange(30) % 3 > 0
    model = known("weibull", X, y, given={"event": event}, log_sigma=math.log(sigma))
    table = model.check(X, y, "mean", event=event, draws=4000)
    want = y.copy()
    for i in np.flatnonzero(~event):
        time = scipy.stats.weibull_min(1.0 / sigma, scale=math.exp(m[i]))
        want[i] += scipy.integrate.quad(time.sf, y[i], np.inf)[0] / time.sf(y[i])
    assert table["observed"][0] == pytest.approx(want.mean(), rel=0.005)
    between = model.check(X, None, "max", censored=(y, 1.5 * y), draws=200)
    assert y.max() <= between["observed"][0] <= 1.5 * y.max()
    assert same(model.check(X, None, censored=(y, y))["observed"], model.check(X, y)["observed"])


def test_share_of_classes():
    rng, X, m = rows(60)
    y = np.where(rng.uniform(size=60) < 1.0 / (1.0 + np.exp(-m)), "yes", "no")
    model = ns.bayes.HorseshoeClassifier(rng=1, chains=2, warmup=100, draws=400).fit(X, y)
    table = model.check(X, y, draws=800)
    assert table["statistic"].tolist() == ["share of no", "share of yes"]
    np.testing.assert_allclose(table["observed"], [(y == "no").mean(), (y == "yes").mean()])
    drawn = model.check(X, y, lambda labels: (labels == "yes").mean(), draws=800)
    assert drawn["mean"] == pytest.approx(table["mean"][1:])
    np.testing.assert_allclose(table["mean"][1], model.predict_proba(X)[:, 1].mean(), atol=4.0 * 0.5 / math.sqrt(60 * 800))
    with pytest.raises(ValueError, match="of classes use 'shares'"):
        model.check(X, y, "sd")


def test_wrong_statistics():
    _, X, m = rows(20)
    model = known("gaussian", X, m, log_sigma=0.0, draws=100)
    with pytest.raises(ValueError, match="'quantiles'"):
        model.check(X, m, "median")
    with pytest.raises(TypeError, match="one number"):
        model.check(X, m, lambda y: y)
    with pytest.raises(ValueError, match="at least one row"):
        model.check(X[:0], m[:0])
    with pytest.raises(ValueError, match="event= is for lifetimes"):
        model.check(X, m, event=m > 0)
    with pytest.raises(ValueError, match="draws=0"):
        model.check(X, m, draws=0)


# --- calibration -----------------------------------------------------------------------------------------------------------


def test_places_of_numbers_are_in_bins():
    rng, X, m = rows(80)
    y = m + 1.3 * rng.standard_normal(80)
    table = known("gaussian", X, y, log_sigma=math.log(1.3), draws=20).calibration(X, y, 5, new=True, level=0.9)
    count = np.histogram(scipy.stats.norm.cdf(y, m, 1.3), 5, (0.0, 1.0))[0]
    np.testing.assert_allclose(table["rows"], count)
    for i, k in enumerate(count):
        ends = scipy.stats.binomtest(int(k), 80).proportion_ci(0.9, "exact")
        np.testing.assert_allclose([table["lower"][i], table["upper"][i]], ends, rtol=1e-9)
    np.testing.assert_allclose(table["predicted"], 0.2)


def test_counts_and_censored_outcomes_are_spread():
    rng, X, m = rows(30)
    y = rng.poisson(np.exp(m))
    table = known("poisson", X, y, draws=20).calibration(X, y, 4, new=True, sample_weight=np.arange(1.0, 31.0))
    want = np.zeros(4)
    for w, (count, mean) in enumerate(zip(y, np.exp(m), strict=True), 1):
        a, b = scipy.stats.poisson.cdf([count - 1, count], mean)
        for j in range(4):
            want[j] += w * max(0.0, min(b, 0.25 * (j + 1)) - max(a, 0.25 * j)) / (b - a)
    np.testing.assert_allclose(table["rows"], want)
    event, t = y % 2 == 0, np.exp(m) * rng.standard_exponential(30)
    found = known("exponential", X, t, given={"event": event}, draws=20).calibration(X, t, 4, new=True, event=event)
    want = np.zeros(4)
    for place, over in zip(scipy.stats.expon.cdf(t / np.exp(m)), event, strict=True):
        for j in range(4):
            if over:
                want[j] += 0.25 * j < place <= 0.25 * (j + 1)
            else:
                want[j] += max(0.0, 0.25 * (j + 1) - max(place, 0.25 * j)) / (1.0 - place)
    np.testing.assert_allclose(found["rows"], want)


def test_rows_of_the_fit_are_left_out_by_weights():
    """Of few draws, which are not smoothed, weights are 1 over the likelihoods."""
    rng, X, m = rows(12)
    y = rng.uniform(size=12) < 0.5
    model = ns.bayes.HorseshoeClassifier(rng=1, chains=2, warmup=60, draws=8).fit(X, y)
    p = 1.0 / (1.0 + np.exp(-model.decision_draws(X)))
    weight = 1.0 / np.where(y, p, 1.0 - p)
    with pytest.warns(UserWarning, match="12 of 12 rows have a Pareto k"):
        table = model.calibration(X, y, 1)
    want = (weight * p).sum(axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(table["predicted"], want.mean())
    np.testing.assert_allclose([table["from"][0], table["to"][0]], [want.min(), want.max()])
    fitted = model.calibration(X, y, 3, new=True)
    order = np.argsort(p.mean(axis=0))
    np.testing.assert_allclose(fitted["predicted"], p.mean(axis=0)[order].reshape(3, 4).mean(axis=1))
    np.testing.assert_allclose(fitted["observed"], y[order].reshape(3, 4).mean(axis=1))
    assert (fitted["rows"] == 4.0).all() and table["observed"][0] == y.mean()


def test_equal_probabilities_share_a_bin():
    X = np.repeat([[0.0], [1.0], [2.0]], 7, axis=0)
    y = np.arange(21) % 3 > 0
    model = ns.bayes.HorseshoeClassifier(rng=1, chains=2, warmup=60, draws=8).fit(X, y)
    table = model.calibration(X, y, 10, new=True)
    assert table["rows"].tolist() == [7.0, 7.0, 7.0] and table["from"].tolist() == table["to"].tolist()
    with pytest.raises(ValueError, match="bins=0"):
        model.calibration(X, y, 0)


# --- leaving out rows by a mixture -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["poisson", "weibull"])
def test_rows_left_out_by_the_mixture_of_their_posteriors(response):
    """Exactly, by quadrature over the coefficient of one column, with a row far off and, of lifetimes, a censored one."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 1))
    X[0] = 3.0
    options = dict(tau=0.7, fit_intercept=False, standardize=False, sampler="predictor", rng=1, chains=2, warmup=200, draws=1000)
    if response == "poisson":
        y = rng.poisson(np.exp(0.6 * X[:, 0]))
        y[0], given = 1, {}
    else:
        y = np.exp(0.6 * X[:, 0]) * rng.standard_exponential(12) ** 0.8
        given, options["fixed"] = {"event": np.arange(12) != 5}, {"sigma": 0.8}
        y[0] = 0.3
    model = ns.bayes.HorseshoeRegression(response=response, **options).fit(X, y, **given)
    b = np.linspace(-3.0, 4.0, 7001)
    prior = ns.bayes.log_exe1(np.maximum((b / model._run.scaling.size) ** 2 / (2.0 * 0.7**2), 1e-12))
    m = X * b
    if response == "poisson":
        rows = scipy.stats.poisson.logpmf(y[:, None], np.exp(m))
    else:
        times = scipy.stats.weibull_min(1.0 / 0.8, scale=np.exp(m))
        rows = np.where(given["event"][:, None], times.logpdf(y[:, None]), times.logsf(y[:, None]))
    whole = scipy.special.logsumexp(prior + rows.sum(axis=0))
    want = whole - np.array([scipy.special.logsumexp(prior + rows.sum(axis=0) - one) for one in rows])
    found = model.loo(X, y, method="mixture", **given)
    off = abs(found["pointwise"] - want)
    assert off.max() < 4.0 * found["error"] and np.median(off) < 0.02
    assert abs(found["elpd"] - want.sum()) < 4.0 * found["error"] < 1.2
    with pytest.raises(ValueError, match="'psis', 'mixture'"):
        model.loo(X, y, method="exact", **given)


def test_no_mixture_without_its_sampler():
    _, X, m = rows(20)
    with pytest.raises(ValueError, match="sampler 'predictor', not for 'gaussian'"):
        known("gaussian", X, m, log_sigma=0.0, draws=100).loo(X, m, method="mixture")
