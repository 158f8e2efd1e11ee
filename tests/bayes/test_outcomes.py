"""Responses with parameters of their own and outcomes known in part: posteriors, published fits, predictions, bad input."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes.arguments import Options, level_and_size
from numbastats.bayes.diagnostics import ess_bulk
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import RESPONSES
from numbastats.bayes.responses.record import facts_of_rows
from tests.cases import discover
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of short runs
CASES = discover("tests.bayes.cases")
GENERAL = sorted(word for word, record in RESPONSES.items() if record.general)
LIFETIMES = sorted(word for word, record in RESPONSES.items() if record.censors)
OWN = {"log_sigma": math.log(0.6), "log_size": math.log(2.0), "log_shape": math.log(3.0), "log_df_minus_2": math.log(2.0)}
OWN |= {"log_precision": math.log(6.0)}


def regression(response, **options):
    return ns.bayes.HorseshoeRegression(response=response, **(dict(rng=1) | options))


def own_of(response):
    return {one.name: OWN[one.name] for one in RESPONSES[response].own}


def data(response, n=60, p=3, seed=1, truth=(0.8, -0.5), censor=True, level=0.4):
    """X, the arguments of a fit beside X, and what they stand for: outcomes and whether they are known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    m = level + X[:, : len(truth)] @ np.array(truth)
    record = RESPONSES[response]
    y = record.outcome_of(record.quantile(rng.uniform(size=n), m, own_of(response)))
    if not (record.censors and censor):
        return X, dict(y=y), y, np.ones(n, bool)
    ends = np.exp(rng.normal(1.0, 1.0, n))
    return X, dict(y=np.minimum(y, ends), event=y <= ends), np.minimum(y, ends), y <= ends


def log_likelihood(case, y, known, m, own):
    """By SciPy, of predictors m, shape (n, ...)."""
    peer = case.peer(m, own)
    at = np.log(y) if case.record.log else scipy.special.logit(y) if case.record.logit else y
    at = at.reshape(-1, *[1] * (m.ndim - 1))
    exact = peer.logpmf(at) if hasattr(peer.dist, "pmf") else peer.logpdf(at)
    return np.where(known.reshape(at.shape), exact, peer.logsf(at)).sum(axis=0)


# by one sampler for time's sake: the joint distribution test has them, too
ONE_SAMPLER = {"beta": "split-hmc", "zero_truncated_poisson": "surrogate", "zero_truncated_negative_binomial": "split-hmc"}


TRIED = [(r, s) for r in GENERAL for s in ("split-hmc", "surrogate", "predictor") if ONE_SAMPLER.get(r, s) == s]


@pytest.mark.parametrize(("response", "sampler"), TRIED)
def test_posterior_by_quadrature(response, sampler):
    """One column and the own parameters on a grid, with SciPy's distributions; the three samplers have one posterior."""
    check_by_quadrature(response, sampler, draws=700 if sampler == "predictor" else 1500)  # whose draws are worth two each


@pytest.mark.parametrize(
    ("response", "fixed", "held", "sampler"),
    [
        ("student_t", {"df": 4.0}, {"log_df_minus_2": math.log(2.0)}, "split-hmc"),
        ("student_t", {"sigma": 0.6}, {"log_sigma": math.log(0.6)}, "predictor"),
        ("negative_binomial", {"size": 2.0}, {"log_size": math.log(2.0)}, "predictor"),
        ("weibull", {"sigma": 0.8}, {"log_sigma": math.log(0.8)}, "split-hmc"),
    ],
)
def test_posterior_with_own_parameters_fixed(response, fixed, held, sampler):
    check_by_quadrature(response, sampler, fixed, held, draws=700)


def check_by_quadrature(response, sampler, fixed=None, held=None, draws=1500):
    """Draws against a grid; `held` are the transformed values of the parameters that are fixed."""
    X, given, y, known = data(response, 30, 1, truth=(0.8,), level=0.0)
    model = regression(response, tau=0.7, fit_intercept=False, standardize=False, sampler=sampler, draws=draws, warmup=300)
    model.set_params(fixed=fixed).fit(X, **given)
    size, held = model._run.scaling.size, held or {}
    record = [one for one in RESPONSES[response].own if one.name not in held]
    assert set(model.dispersion_) == {one.word for one in record}
    axes = [np.linspace(-0.6, 2.2, 120)]
    for one in record:
        draws = model.draws_[one.name]
        spread = 2.0 * np.ptp(draws) / 3.0  # tails that the draws do not have count, too
        axes.append(np.linspace(np.median(draws) - spread, np.median(draws) + spread, 50))
    b, *others = np.meshgrid(*axes, indexing="ij")
    value = ns.bayes.log_exe1(np.maximum((b / size) ** 2 / (2.0 * 0.7**2), 1e-12))
    for one, v in zip(record, others, strict=True):
        value = value + one.log_prior(v - (math.log(size) if one.scale else 0.0))
    for index in itertools.product(*(range(v.size) for v in axes[1:])):
        own = {one.name: axes[1 + j][index[j]] for j, one in enumerate(record)} | held
        value[(slice(None), *index)] += log_likelihood(CASES[response], y, known, X * axes[0], own)
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    draws = {"beta": model.draws_["beta"][:, :, 0]} | {one.name: model.draws_[one.name] for one in record}
    for (name, found), at in zip(draws.items(), (b, *others), strict=True):
        mean = (weight * at).sum()
        sd = math.sqrt((weight * (at - mean) ** 2).sum())
        error = sd / math.sqrt(ess_bulk(found[:, :, None])[0])
        assert abs(found.mean() - mean) < 4.0 * error, (name, found.mean(), mean, error)
        assert abs(found.std() / sd - 1.0) < 6.0 * error / sd, (name, found.std(), sd)


# --- published fits: the likelihood has its maximum there -----------------------------------------------------------------

LEUKEMIA = np.array([9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161, 5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45.0])
RELAPSED = np.array([1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1.0])


def maximum(rows):
    """Own parameters and coefficients of the largest likelihood, and the log-likelihood."""
    count = len(rows.own)

    def negative(v):
        value, gradient = rows.loglik(v[None])
        value, gradient = value[0], gradient[0].copy()
        for j, one in enumerate(rows.own):
            value -= one.log_prior(v[j])
            gradient[j] -= one.log_prior_slope(v[j])
        return -value, -gradient

    start = np.zeros(count + rows.shape[1])
    start[count] = rows.response.level(*rows.facts[:3])
    found = scipy.optimize.minimize(negative, start, jac=True, method="BFGS", options={"gtol": 1e-8})
    return found.x, -found.fun


@pytest.mark.parametrize(
    ("response", "want", "loglik"),
    [  # survreg of R's package survival for aml: intercept, maintenance, scale
        ("weibull", (4.109, -0.929, 0.791), -80.5),
        ("lognormal", (3.579, -0.724, 0.865), -78.9),
        ("loglogistic", (3.503, -0.604, 0.513), -79.4),
        ("exponential", (4.101, -0.958, 1.0), -81.3),
    ],
)
def test_acute_leukemia(response, want, loglik):
    X = np.column_stack([np.ones(23), np.arange(23) >= 11]).astype(float)
    ends = np.log([LEUKEMIA, np.where(RELAPSED == 1.0, LEUKEMIA, np.inf)])
    rows = Rows(X, "cpu", 1, response=response, facts=facts_of_rows(None, None, ends))
    found, value = maximum(rows)
    sigma = math.exp(found[0]) if rows.own else 1.0
    np.testing.assert_allclose([*found[-2:], sigma], want, atol=6e-4)
    assert value - (RELAPSED * np.log(LEUKEMIA)).sum() == pytest.approx(loglik, abs=0.05)


def test_beta_against_statsmodels():
    """The maximum of the likelihood, and its logarithm."""
    peer = pytest.importorskip("statsmodels.othermod.betareg").BetaModel
    X, given, y, _ = data("beta", 200, 2)
    X = np.column_stack([np.ones(200), X])
    found, value = maximum(Rows(X, "cpu", 1, response="beta", facts=facts_of_rows(None, None, scipy.special.logit(y))))
    theirs = peer(y, X).fit(disp=False)
    np.testing.assert_allclose([*found[1:], found[0]], theirs.params, rtol=1e-4, atol=1e-5)
    assert value - np.log(y * (1.0 - y)).sum() == pytest.approx(theirs.llf, rel=1e-8)


def test_wide_priors_give_the_maximum_of_the_likelihood():
    """Nothing is shrunk and rows are many: posterior means are the maximum of SciPy's log-likelihood up to their errors."""
    for response in ("negative_binomial", "student_t", "gamma", "weibull"):
        X, given, y, known = data(response, 2000, 2)
        model = regression(response, unpenalized=[0, 1], draws=500, warmup=300).fit(X, **given)
        names = [one.name for one in RESPONSES[response].own]

        def negative(v, response=response, X=X, y=y, known=known, names=names):
            own = dict(zip(names, v[3:], strict=True))
            return -float(log_likelihood(CASES[response], y, known, v[0] + X @ v[1:3], own))

        found = scipy.optimize.minimize(negative, [0.4, 0.8, -0.5, *own_of(response).values()], method="Nelder-Mead")
        draws = [model.draws_["intercept"], *np.moveaxis(model.draws_["beta"], 2, 0), *(model.draws_[n] for n in names)]
        for best, one in zip(found.x, draws, strict=True):
            assert abs(one.mean() - best) < 0.35 * one.std(), (response, one.mean(), best, one.std())


# --- more columns than rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["negative_binomial", "student_t", "weibull", "gamma"])
def test_more_columns_than_rows(response):
    """The true columns are found among many; "auto" takes the sampler of the predictors."""
    X, given, *_ = data(response, 60, 90, truth=(1.5, -1.2))
    model = regression(response, tau_scale=2 / 88 / 60**0.5, chains=2, draws=400, warmup=400).fit(X, **given)
    assert model.sampler_ == "predictor" and model.coef_[0] > 0.8 and model.coef_[1] < -0.5 and abs(model.coef_[2:]).max() < 0.3
    assert set(model.dispersion_) == {one.word for one in RESPONSES[response].own}


# --- predictions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", GENERAL)
def test_predictions(response, tmp_path):
    """Means, medians, intervals and draws against SciPy's distributions given every draw; files."""
    X, given, *_ = data(response)
    model = regression(response, chains=2, warmup=200, draws=300).fit(X, **given)
    case, record, new = CASES[response], RESPONSES[response], X[:4]
    m, shape = model.decision_draws(new), (600, 1)
    own = {one.name: model.draws_[one.name].reshape(shape) for one in record.own}
    peer = case.peer(m, own) if response not in LIFETIMES else None
    for one, (name, values) in zip(record.own, model.dispersion_.items(), strict=True):
        assert name == one.word and values.shape == (2, 300) and (values > 0.0).all()
    middle = model.predict(new, kind="median")
    drawn = model.sample_outcomes(new, rng=3)
    table = model.predict(new, interval=0.8, kind="outcome", frame=True) if response != "loglogistic" else None
    if table is not None:
        assert list(table) == ["mean", "lower", "upper", "level"]
        mean, low, high = model.predict(new, 0.8)
        assert (low < mean).all() and (mean < high).all() and (table["lower"] < low).all() and (high < table["upper"]).all()
        np.testing.assert_allclose(table["mean"], model.predict(new), rtol=1e-12)
        np.testing.assert_allclose(mean, drawn.mean(axis=0), rtol=0.35)
    assert abs((drawn <= middle).mean(axis=0) - 0.5).max() < (0.35 if record.discrete else 0.08)
    if peer is not None:
        want = record.outcome_of(np.broadcast_to(peer.median(), m.shape))
        np.testing.assert_allclose(middle, np.median(want, axis=0), rtol=1e-9)
    if response in LIFETIMES:
        survived, low, high = model.predict_survival(new, [0.5, 1.0, 4.0], 0.9)
        assert survived.shape == (4, 3) and (np.diff(survived, axis=1) < 0.0).all()
        assert (low <= high).all() and (low[:, 0] <= survived[:, 0]).all() and (survived[:, 0] <= high[:, 0]).all()
        np.testing.assert_allclose(survived, (drawn[:, :, None] > [0.5, 1.0, 4.0]).mean(axis=0), atol=4.0 * 0.5 / 600**0.5)
    else:
        with pytest.raises(ValueError, match="predict_survival is for lifetimes"):
            model.predict_survival(new, [1.0])
    model.save(tmp_path / "model")
    loaded = ns.bayes.HorseshoeRegression.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample_outcomes(new, rng=3), drawn)
    if record.own:
        assert model.dispersion_summary()["name"].tolist() == [one.word for one in record.own]
    else:
        with pytest.raises(ValueError, match="no parameters beside"):
            model.dispersion_summary()


@pytest.mark.parametrize("response", ["student_t", "weibull", "gamma", "negative_binomial", "beta"])
def test_criteria_of_rows(response):
    """Pointwise log densities of the outcomes themselves; weights multiply them; ends count by their probability."""
    X, given, y, known = data(response)
    weights = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    model = regression(response, chains=2, warmup=200, draws=200).fit(X, sample_weight=weights, **given)
    m = model.decision_draws(X)
    own = {one.name: model.draws_[one.name].reshape(-1, 1) for one in RESPONSES[response].own}
    case = CASES[response]
    values = [
        log_likelihood(case, y[i : i + 1], known[i : i + 1], m[None, :, i], {n: v[:, 0] for n, v in own.items()})
        for i in range(60)
    ]
    inner = np.log(y) * known if case.record.log else np.log(y * (1.0 - y)) if case.record.logit else np.zeros(60)
    values = np.array(values) - inner[:, None]
    want = np.logaddexp.reduce(values, axis=1) - math.log(400.0) - values.var(axis=1, ddof=1)
    np.testing.assert_allclose(model.waic(X, **given)["pointwise"], want, rtol=1e-9)
    weighted = weights[:, None] * values
    want = np.logaddexp.reduce(weighted, axis=1) - math.log(400.0) - weighted.var(axis=1, ddof=1)
    np.testing.assert_allclose(model.waic(X, sample_weight=weights, **given)["pointwise"], want, rtol=1e-9)
    assert model.loo(X, **given)["elpd"] == pytest.approx(model.waic(X, **given)["elpd"], abs=1.0)


def test_exposure_and_units():
    """An exposure is the logarithm in an offset; times in another unit shift the intercept alone."""
    X, given, y, _ = data("negative_binomial")
    exposure, quick = np.linspace(1.0, 3.0, 60), dict(chains=2, warmup=100, draws=100)
    a = regression("negative_binomial", **quick).fit(X, y, exposure=exposure)
    b = regression("negative_binomial", **quick).fit(X, y, offset=np.log(exposure))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_allclose(a.predict(X, exposure=2.0), b.predict(X, offset=math.log(2.0)), rtol=1e-12)
    np.testing.assert_allclose(a.predict(X, exposure=2.0), 2.0 * a.predict(X, exposure=1.0), rtol=1e-12)
    with pytest.raises(ValueError, match="fitted with offset= or exposure="):
        a.predict(X)
    X, given, *_ = data("weibull")
    a = regression("weibull", **quick).fit(X, **given)
    b = regression("weibull", **quick).fit(X, given["y"] * 1e-9, event=given["event"])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.predict(X, kind="median"), 1e9 * b.predict(X, kind="median"), rtol=1e-6)
    lower, upper = given["y"], np.where(given["event"], given["y"], np.inf)
    again = regression("weibull", **quick).fit(X, censored=(lower, upper))
    np.testing.assert_array_equal(again.coef_, a.coef_)
    assert again.loo(X, censored=(lower, upper))["elpd"] == a.loo(X, **given)["elpd"]


def test_missing_rows_go_with_their_ends():
    X, given, *_ = data("lognormal")
    X[3, 0], quick = np.nan, dict(chains=2, warmup=60, draws=20, nan_policy="omit")
    event = given["event"].astype(float)
    event[7] = np.nan
    model = regression("lognormal", **quick).fit(X, given["y"], event=event)
    kept = np.delete(np.arange(60), [3, 7])
    other = regression("lognormal", **quick).fit(X[kept], given["y"][kept], event=event[kept])
    assert model.n_missing_ == 2
    np.testing.assert_array_equal(model.coef_, other.coef_)


def test_large_counts_and_no_counts():
    """Counts of a million, and none at all; Poisson counts say that the size is large."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 2))
    y = rng.negative_binomial(5.0, 5.0 / (5.0 + np.exp(14.0 + 0.3 * X[:, 0])))
    model = regression("negative_binomial", chains=2, draws=300, warmup=300).fit(X, y)
    assert model.coef_[0] == pytest.approx(0.3, abs=0.1) and model.intercept_ == pytest.approx(14.0, abs=0.1)
    assert 3.5 < model.dispersion_["size"].mean() < 7.0
    with pytest.raises(ValueError, match="all counts are 0: with intercept_scale=inf"):
        regression("negative_binomial").fit(X, np.zeros(200))
    none = regression("negative_binomial", intercept_scale=3.0, chains=2, draws=200, warmup=200).fit(X, np.zeros(200))
    assert none.intercept_ < -2.0 and none.predict(X).max() < 0.2
    poisson = regression("negative_binomial", chains=2, draws=300, warmup=300).fit(X, rng.poisson(np.exp(2.0 + 0.3 * X[:, 0])))
    assert np.median(poisson.dispersion_["size"]) > 20.0


def test_an_outlier_moves_a_normal_fit_only():
    X, given, y, _ = data("student_t", 100)
    y = y.copy()
    y[5] += 1e4
    model = regression("student_t", chains=2, draws=300, warmup=300).fit(X, y)
    np.testing.assert_allclose(model.coef_, [0.8, -0.5, 0.0], atol=0.3)
    assert abs(ns.bayes.HorseshoeRegression(chains=2, draws=100, warmup=100, rng=1).fit(X, y).intercept_) > 10.0


@pytest.mark.parametrize(
    ("response", "given", "message"),
    [
        ("weibull", dict(y=[1.0, 2.0, 0.0]), r"y\[2\] is 0.0, but response='weibull' takes times, above 0"),
        ("weibull", dict(y=[1.0, np.nan, 3.0]), r"y\[1\] is NaN"),
        ("weibull", dict(y=[1.0, 2.0, 3.0], event=[0, 0, 0]), "all times are censored at the right: any longer ones"),
        ("weibull", dict(y=[1.0, 2.0, 3.0], event=[0, 2, 1]), r"event\[1\] is 2.0; it is True"),
        ("weibull", dict(y=[2.0, 2.0, 1.0], event=[1, 1, 0]), "all times may be 2.0, so that sigma is not determined"),
        ("weibull", dict(y=[1.0, 2.0, 3.0], event=[1, 1]), "event has shape"),
        ("weibull", dict(y=[1.0, 2.0, 3.0], exposure=[1.0, 1.0, 1.0]), "exposure= multiplies the mean of"),
        ("weibull", dict(censored=([0, 0, 0], [1, 2, 3])), "all times are censored at the left: any shorter ones"),
        ("weibull", dict(censored=([1, 4, 3], [1, 2, 3])), r"censored=\(4.0, 2.0\) at row 1: a time is between"),
        ("weibull", dict(censored=([1, 2, 3], [1, np.nan, 3])), r"censored=\(2.0, nan\) at row 1"),
        ("weibull", dict(censored=([1, 2], [1, 2])), r"censored\[0\] has shape|y has shape"),
        ("weibull", dict(y=[1.0, 2.0, 3.0], censored=([1, 2, 3], [1, 2, 3])), "pass y=None"),
        ("weibull", dict(event=[1, 1, 0]), "event= goes with y"),
        ("gaussian", dict(y=[1.0, 2.0, 3.0], event=[1, 1, 0]), "event= is for lifetimes, response='cox', 'exponential'"),
        ("gamma", dict(y=[1.0, 2.0, -3.0]), r"y\[2\] is -3.0, but response='gamma' takes positive numbers"),
        (
            "beta",
            dict(y=[0.2, 0.5, 1.0]),
            r"y\[2\] is 1.0, but response='beta' takes shares, above 0 and below 1; where 0 or 1 occur",
        ),
        ("gamma", dict(y=[1.0, 2.0, 3.0], exposure=[1.0, 0.0, 2.0]), r"exposure\[1\] is 0.0; it has to be above 0"),
        ("negative_binomial", dict(y=[1.0, 2.5, 3.0]), r"y\[1\] is 2.5, but response='negative_binomial' takes counts"),
        ("student_t", dict(y=[2.0, 2.0, 2.0]), "y, less an offset, has one value only"),
        ("student_t", dict(y=[2.0, 2.0, 1.0], offset=[np.nan, 0.0, 0.0]), r"offset\[0\] is NaN"),
    ],
)
def test_bad_outcomes(response, given, message):
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        regression(response).fit(X, **given)


def test_infinite_means():
    """Log-logistic lifetimes of sigma above 1 have no mean."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 1))
    model = regression("loglogistic", chains=2, draws=60, warmup=100).fit(X, np.exp(3.0 * rng.logistic(size=60)))
    with pytest.raises(ValueError, match="mean of times is infinite under 100.0% of the draws for some row; use kind='median'"):
        model.predict(X)
    assert (model.predict(X, kind="median") > 0.0).all()


QUICK = dict(chains=2, warmup=60, draws=20)


def columns_and_times(n=40):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 3))
    return X, np.exp(1.0 + 0.8 * X[:, 0] + 0.5 * np.log(rng.exponential(size=n)))


@pytest.mark.parametrize("place", [np.asarray, scipy.sparse.csr_array, "blocks", "map"])
def test_rows_of_weight_0_are_left_out(place, tmp_path):
    """The draws are those of the other rows, however far out these are."""
    X, y = columns_and_times()
    y, weights = np.rint(y), np.arange(40) % 7 != 3
    far = np.where(weights[:, None], X, [1e4, 1e4, -1e4])
    want = regression("poisson", **QUICK).fit(X[weights], y[weights])
    model = regression("poisson", **QUICK)
    if place == "blocks":
        model.fit(lambda: ((far[i : i + 9], y[i : i + 9]) for i in range(0, 40, 9)), sample_weight=weights)
        with pytest.raises(ValueError, match=r"sample_weight has 39 numbers, but X\(\) gave 40 rows"):
            model.fit(lambda: iter([(far, y)]), sample_weight=weights[:-1])
    elif place == "map":
        np.save(tmp_path / "X.npy", far)
        model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y, weights)
    else:
        model.fit(place(far), y, weights)
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-12)


def test_rows_of_weight_0_are_checked():
    """What is wrong with them is told by their numbers; they determine nothing."""
    X, y = columns_and_times()
    weights = (np.arange(40) != 3) * 1.0
    with pytest.raises(ValueError, match=r"y\[3\] is -1.0"):
        regression("gamma").fit(X, np.where(weights > 0.0, y, -1.0), weights)
    with pytest.raises(ValueError, match=r"X\[3, 0\] is NaN"):
        regression("gamma").fit(np.where(weights[:, None] > 0.0, X, np.nan), y, weights)
    with pytest.raises(ValueError, match="all times are censored at the right"):
        regression("weibull").fit(X, y, weights, event=weights == 0.0)
    with pytest.raises(ValueError, match="one class only"):
        ns.bayes.HorseshoeClassifier(rng=1).fit(X, weights == 0.0, weights)


def test_weights_are_repetitions_in_the_spread():
    """Median and median distance, from which units of Student's t come."""
    y, weights = np.array([5.0, -1.0, 0.0, 2.0, 9.0]), np.array([1, 3, 2, 1, 0])
    for intercept in (True, False):
        options = Options(response="student_t", fit_intercept=intercept)
        assert level_and_size(y, weights, options) == level_and_size(np.repeat(y, weights), None, options)


@pytest.mark.parametrize("response", ["zero_truncated_poisson", "zero_truncated_negative_binomial"])
def test_counts_above_0_of_tiny_means(response):
    """A count is 1 nearly surely: the log density of y is (y - 1) m up to a constant."""
    record, own = RESPONSES[response], own_of(response)
    m, y = np.array([-30.0, -300.0, -650.0, -1e4]), np.array([1.0, 3.0])[:, None] * np.ones(4)
    for at in y:
        value = record.log_density(at, m, own)
        slope, bend = record.derivatives(m, at, own)
        assert np.isfinite([value, slope, bend]).all()
        np.testing.assert_allclose(slope[:3], at[:3] - 1.0, atol=1e-12)
        np.testing.assert_allclose(np.diff(value[:3]), (at[0] - 1.0) * np.diff(m[:3]), rtol=1e-12, atol=1e-10)
    assert record.quantile(np.array([0.0, 0.5, 1.0 - 1e-9]), np.full(3, -800.0), own).tolist() == [1.0, 1.0, 1.0]
    assert (record.mean_of(m, own) == 1.0)[1:].all()


def test_counts_with_zeros_apart():
    """Whether there is a count, then how many: means and criteria are those of one model of all rows."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 2))
    counts = 1.0 + rng.poisson(np.exp(0.5 + 0.6 * X[:, 0]), 300)
    y = np.where(rng.logistic(size=300) < 0.5 - X[:, 1], counts, 0.0)
    some, quick = y > 0.0, dict(chains=2, warmup=200, draws=300, rng=1)
    whether = ns.bayes.HorseshoeClassifier(**quick).fit(X, some)
    many = regression("zero_truncated_poisson", **quick).fit(X[some], y[some])
    p, mean = whether.predict_proba(X)[:, 1], many.predict(X)
    assert (mean > 1.0).all() and abs((p * mean).mean() - y.mean()) < 0.25
    drawn = np.where(whether.sample_outcomes(X, rng=1), many.sample_outcomes(X, rng=2), 0.0)
    np.testing.assert_allclose(drawn.mean(axis=0), p * mean, atol=5.0 * drawn.std(axis=0).max() / 600**0.5)
    with pytest.raises(ValueError, match=r"takes counts above 0, 1, 2, 3 and so on; model first whether a count is 0"):
        regression("zero_truncated_poisson").fit(X, y)
    with pytest.raises(ValueError, match="all counts are 1: with intercept_scale=inf"):
        regression("zero_truncated_negative_binomial").fit(X, np.ones(300))


def test_wide_intervals_have_finite_derivatives():
    """Far above an interval's lower end the score of the upper one is infinite, its share 0."""
    record, own = RESPONSES["weibull"], {"log_sigma": np.array([-7.0])}
    slope, bend = record.derivatives(np.zeros((1, 1)), np.array([[-0.001], [5.0]])[..., None], own)
    assert np.isfinite(slope).all() and np.isfinite(bend).all() and (bend >= 0.0).all()


def test_rows_known_in_nothing():
    """A lifetime between 0 and inf leaves the unit as it is, and its log-likelihood is 0."""
    X, y = columns_and_times()
    lower, upper = (np.where(np.arange(40) == 3, end, y) for end in (0.0, np.inf))
    model = regression("lognormal", **QUICK).fit(X, censored=(lower, upper))
    want = regression("lognormal", **QUICK).fit(np.delete(X, 3, 0), np.delete(y, 3))
    assert model._run.scaling[-2:] == want._run.scaling[-2:]
    assert model.waic(X, censored=(lower, upper))["pointwise"][3] == pytest.approx(0.0, abs=1e-12)


def test_rows_far_from_the_fit():
    """Infinite medians and probabilities of 0 come without warnings; criteria of such rows are -inf, and bad."""
    X, y = columns_and_times()
    model, far = regression("gamma", **QUICK).fit(X, y), [[-1e4, 0.0, 0.0], [0.0, 0.0, 0.0]]
    for found in (model.loo(far, [3.0, 3.0]), model.waic(far, [3.0, 3.0])):
        assert found["pointwise"][0] == -np.inf and np.isfinite(found["pointwise"][1])
        assert found["elpd"] == -np.inf and math.isnan(found["se"]) and found["p"] == np.inf
    assert model.loo(far, [3.0, 3.0])["bad"] >= 1
    weighted, alone = model.loo(far, [3.0, 3.0], sample_weight=[0.0, 1.0])["pointwise"], model.loo(far[1:], [3.0])["pointwise"]
    np.testing.assert_allclose(weighted, [0.0, *alone], rtol=1e-12, atol=1e-15)
    assert model.predict([[1e5, 0.0, 0.0]], kind="median") == np.inf
    with pytest.raises(ValueError, match="use kind='median', and quantiles of sample_outcomes"):
        model.predict([[1e5, 0.0, 0.0]], 0.9, kind="outcome")
    assert model.sample_outcomes([[1e5, 0.0, 0.0]], rng=1).max() == np.inf
    counts = regression("negative_binomial", **QUICK).fit(X, np.rint(y))
    with pytest.raises(ValueError, match="from where on floats do not tell counts apart, so that neither medians nor"):
        counts.predict([[1e5, 0.0, 0.0]], kind="median")


@pytest.mark.parametrize("response", ["student_t", "lognormal", "loglogistic", "weibull", "gamma", "beta"])
def test_outcomes_that_are_fitted_exactly(response):
    """Their spread has no posterior; with the least error it has one."""
    X, y = columns_and_times()
    exact = 2.0 * X[:, 0] + 1.0
    of = np.exp if RESPONSES[response].log else scipy.special.expit if RESPONSES[response].logit else np.asarray
    for place in (np.asarray, scipy.sparse.csr_array):
        with pytest.raises(ValueError, match="fit (the log.* of )?y exactly, so that (sigma|shape|precision) of"):
            regression(response).fit(place(X), of(exact))
    found = regression(response, **QUICK).fit(X, of(exact + 0.01 * np.sin(np.arange(40.0))))
    assert found.coef_[0] == pytest.approx(2.0, abs=0.05)
    if RESPONSES[response].censors:
        with pytest.raises(ValueError, match="y exactly"):  # ends below the fit are no errors of it
            regression(response).fit(X, of(exact - (np.arange(40) % 4 == 0)), event=np.arange(40) % 4 > 0)
        regression(response, **QUICK).fit(X, of(exact + (np.arange(40) % 4 == 0)), event=np.arange(40) % 4 > 0)
    if response == "gamma":
        with pytest.raises(ValueError, match="y exactly, so that shape"):
            regression(response).fit(np.random.default_rng(1).standard_normal((40, 60)), np.full(40, 3.0))


def test_outcomes_that_are_mostly_equal():
    X, y = columns_and_times()
    with pytest.raises(ValueError, match="72% of y, less an offset, are 2: from two thirds on sigma"):
        regression("student_t").fit(X, np.where(np.arange(40) < 29, 2.0, y))
    assert np.isfinite(regression("student_t", **QUICK).fit(X, np.where(np.arange(40) < 24, 2.0, y)).coef_).all()


def test_more_columns_than_rows_by_another_sampler():
    rng = np.random.default_rng(1)
    with pytest.warns(ns.ConvergenceWarning, match=r"sampler='predictor', for more columns \(31\) than rows \(20\)"):
        regression("weibull", sampler="split-hmc", **QUICK).fit(rng.standard_normal((20, 30)), rng.exponential(size=20))


@pytest.mark.slow
@pytest.mark.parametrize("response", ["negative_binomial", "student_t", "weibull", "gamma"])
def test_intervals_hold(response):
    """90 % intervals of coefficients and of new outcomes over 40 data sets."""
    held, inside = [], []
    for seed in range(40):
        X, given, *_ = data(response, 80, 5, seed=seed)
        model = regression(response, chains=2, warmup=300, draws=500, rng=seed).fit(X, **given)
        low, high = np.quantile(model.draws_["beta"].reshape(-1, 5), [0.05, 0.95], axis=0)
        inside += [((low[:2] <= [0.8, -0.5]) & ([0.8, -0.5] <= high[:2])).mean()]
        new, fresh, *_ = data(response, 500, 5, seed=1000 + seed, censor=False)
        _, low, high = model.predict(new, 0.9, kind="outcome")
        held.append(((low <= fresh["y"]) & (fresh["y"] <= high)).mean())
    assert 0.88 < np.mean(held) < (0.97 if response == "negative_binomial" else 0.925), np.mean(held)
    assert np.mean(inside) > 0.80, np.mean(inside)  # 80 intervals: a standard error of 0.034


def test_fixed_parameters_after_a_fit(tmp_path):
    """Log-likelihoods, quantiles and files know them; wrong ones are named."""
    X, given, y, _ = data("student_t", 40, 2)
    model = regression("student_t", fixed={"df": 4}, draws=60, warmup=60, chains=2).fit(X, **given)
    m, sigma = model.decision_draws(X), np.exp(model.draws_["log_sigma"]).reshape(-1, 1)
    want = scipy.stats.t.logpdf(y, 4.0, m, sigma)
    np.testing.assert_allclose(np.concatenate(list(model._log_likelihoods(X, y))), want.T, rtol=1e-10)
    assert [one.word for one in RESPONSES["student_t"].own] == ["sigma", "df"]  # that of others is as it was
    model.save(tmp_path / "model")
    for again in (ns.bayes.HorseshoeRegression.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert same(again.sample_outcomes(X, rng=2), model.sample_outcomes(X, rng=2)) and again.fixed == {"df": 4}
    assert same(pickle.loads(pickle.dumps(model)).draws_["log_sigma"], model.draws_["log_sigma"])
    for fixed, words in (
        ({"df": 2.0}, "above 2"),
        ({"df": math.inf}, "finite"),
        ({"size": 1.0}, "'sigma', 'df'"),
        ({"df": "4"}, "out of range"),
    ):
        with pytest.raises(ValueError, match=words):
            regression("student_t", fixed=fixed).fit(X, **given)
    with pytest.raises(ValueError, match="leave fixed= out"):
        regression("poisson", fixed={"size": 1.0}).fit(X, np.arange(40))
    with pytest.raises(TypeError, match="pass a dict"):
        regression("student_t", fixed=4.0).fit(X, **given)
