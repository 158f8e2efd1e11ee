"""Proportional hazards: the partial likelihood by definition, published fits, posteriors by quadrature, baselines, bad input."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse

import numbastats as ns
from numbastats.bayes.diagnostics import ess_bulk
from numbastats.bayes.kernels.partial import PARTIAL
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import COX
from numbastats.bayes.responses.record import facts_of_rows
from tests.bayes import naive
from tests.bayes.test_kernels import _check
from tests.bayes.test_outcomes import LEUKEMIA, RELAPSED

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of short runs
QUICK = dict(chains=2, warmup=60, draws=40)


def cox(**options):
    return ns.bayes.HorseshoeRegression(response="cox", **(dict(rng=1) | options))


def data(n=40, p=3, seed=1, strata=1, ties=True):
    """X, times with ties, whether they are over, strata, weights and offsets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    truth = np.array([1.0, -0.7, 0.0])[:p]
    life, end = rng.exponential(np.exp(-X[:, : truth.size] @ truth)), rng.exponential(2.0, n)
    time = np.minimum(life, end)
    time = np.ceil(8.0 * time) if ties else time
    return X, time, life <= end, rng.integers(0, strata, n), rng.uniform(0.2, 3.0, n), 0.5 * rng.standard_normal(n)


def rows_of(X, time, event, strata=0.0, weights=None, offset=None):
    y = np.array(np.broadcast_arrays(time, np.where(event, time, np.inf), strata), np.float64)
    return Rows(X, "cpu", 1, response=COX, facts=facts_of_rows(weights, offset, y))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("strata", [1, 3])
def test_partial_likelihood(ties, strata):
    """Value by the definition, derivatives by differences of it; the information is the negative second derivative."""
    X, time, event, stratum, weights, offset = data(strata=strata, ties=ties)
    rows, b = rows_of(X, time, event, stratum, weights, offset), np.array([0.4, -0.3, 0.9])

    def value(m):
        return naive.partial_likelihood(m, time, event, stratum, weights)

    total, gradient = rows.loglik(b[None])
    m, h = X @ b + offset, 1e-5 * np.eye(40)
    np.testing.assert_allclose(total[0], value(m), rtol=1e-12)
    slopes = np.array([(value(m + e) - value(m - e)) / 2e-5 for e in h])
    np.testing.assert_allclose(gradient[0], slopes @ X, rtol=1e-7, atol=1e-7)
    curvature = COX.curvature(m[:, None], rows.outcomes, weights)[:, 0]
    found, slope = COX.value(m[:, None], rows.outcomes, weights)
    np.testing.assert_allclose(slope[:, 0], slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(curvature, event * weights - slopes, rtol=1e-6, atol=1e-7)
    H, pull = rows.curvature(b)
    second = [(rows.loglik((b - e)[None])[1][0] - rows.loglik((b + e)[None])[1][0]) / 2e-5 for e in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(H, second, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(pull, H @ b + gradient[0], rtol=1e-12)
    by_row = [COX.value(m[:, None] + e[:, None], rows.outcomes, weights)[1][:, 0] for e in (*h, *-h)]
    by_row = (np.array(by_row[40:]) - by_row[:40]) / 2e-5
    assert np.linalg.eigvalsh(np.diag(curvature) - 0.5 * (by_row + by_row.T)).min() > -1e-6  # the diagonal is above


def test_information_of_strata_where_risks_differ_much():
    """That of all strata is the sum over those by themselves, also where the last ones at risk have 1e-80 of the hazard."""
    X, time, event, stratum, weights, offset = data(strata=3)
    time = np.exp(-X[:, 0])
    for b in (np.array([4.0, 0.0, 0.0]), np.array([60.0, 1.0, -1.0])):
        H = rows_of(X, time, event, stratum, weights, offset).curvature(b)[0]
        each = [stratum == s for s in range(3)]
        apart = [rows_of(X[s], time[s], event[s], 0.0, weights[s], offset[s]).curvature(b)[0] for s in each]
        np.testing.assert_allclose(H, np.sum(apart, axis=0), rtol=1e-9, atol=1e-11)
        assert np.linalg.eigvalsh(H).min() > -1e-11


def test_twins_agree_and_extreme_predictors_are_finite():
    """Predictors that differ by thousands have the limits of the formula; both twins add in the same order."""
    X, time, event, stratum, weights, _ = data(12, strata=2)
    rows = rows_of(X, time, event, stratum, weights).outcomes
    M = np.array([X[:, 0], 1000.0 * X[:, 0], -3000.0 * X[:, 1] + 1e5])
    out = np.empty(3), np.empty((3, 12)), np.empty((3, 12)), np.empty((3, rows.start.size - 1, 3))
    assert all(np.isfinite(v).all() for v in _check(PARTIAL, (M, *rows[:5]), out))
    for m in M:
        want = naive.partial_likelihood(m, time, event, stratum, weights)
        np.testing.assert_allclose(COX.value(m[:, None], rows, weights)[0], want, rtol=1e-12)


# --- published fits -------------------------------------------------------------------------------------------------------

# J. H. Edmonson and others, "Different chemotherapeutic sensitivities and host factors affecting prognosis in advanced ovarian
# carcinoma versus minimal residual disease", Cancer Treatment Reports 63 (1979): days, deaths, ages, treatment
TIMES = np.array([59, 115, 156, 421, 431, 448, 464, 475, 477, 563, 638, 744, 769, 770, 803, 855, 1040, 1106, 1129, 1206, 1227.0])
TIMES = np.append(TIMES, [268, 329, 353, 365, 377])
DIED = np.array([1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, *[0] * 10, 1, 1, 1, 1, 0]) == 1
AGES = np.array(
    [72.3315, 74.4932, 66.4658, 53.3644, 50.3397, 56.4301, 56.9370, 59.8548, 64.1753, 55.1781, 56.7562, 50.1096, 59.6301]
    + [57.0521, 39.2712, 43.1233, 38.8932, 44.6000, 53.9068, 44.2055, 59.5890, 74.5041, 43.1370, 63.2192, 64.4247, 58.3096]
)
TREATMENT = np.array([1, 1, 1, 2, 1, 1, 2, 2, 1, 2, 1, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 1, 1, 2, 2, 2])


def maximum(rows):
    """The coefficients of the largest partial likelihood, their standard errors, and its logarithm."""
    b = np.zeros(rows.shape[1])
    for _ in range(30):
        H, _ = rows.curvature(b)
        value, gradient = rows.loglik(b[None])
        b = b + np.linalg.solve(H, gradient[0])
    return b, np.sqrt(np.diag(np.linalg.inv(H))), value[0]


@pytest.mark.parametrize(
    ("X", "time", "event", "strata", "coef", "error", "ratio"),
    [  # coxph of R's package survival: coefficients, their errors, likelihood ratio against none
        (np.arange(23) >= 11, LEUKEMIA, RELAPSED == 1.0, 0, [0.9155], [0.5119], 3.38),
        (AGES, TIMES, DIED, 0, [0.16162], [0.04974], 14.29),
        (np.column_stack([AGES, TREATMENT]), TIMES, DIED, 0, [0.14733, -0.80397], [0.04615, 0.63205], 15.89),
        (AGES, TIMES, DIED, TREATMENT, [0.13735], [0.04741], 12.69),
    ],
)
def test_published_fits(X, time, event, strata, coef, error, ratio):
    X = X.reshape(len(time), -1).astype(float)
    rows = rows_of(X - X.mean(axis=0), time, event, strata)
    b, sd, value = maximum(rows)
    np.testing.assert_allclose(b, coef, atol=6e-5)
    np.testing.assert_allclose(sd, error, atol=6e-5)
    assert 2.0 * (value - rows.loglik(np.zeros((1, len(b))))[0][0]) == pytest.approx(ratio, abs=6e-3)


def test_ties_and_strata_against_statsmodels():
    """Coefficients and their errors at the maximum."""
    peer = pytest.importorskip("statsmodels.duration.hazard_regression").PHReg
    for ties in (False, True):
        X, time, event, stratum, _, offset = data(120, strata=3, ties=ties)
        b, sd, _ = maximum(rows_of(X, time, event, stratum, None, offset))
        found = peer(time, X, status=event.astype(int), strata=stratum, offset=offset, ties="efron").fit()
        np.testing.assert_allclose(b, found.params, rtol=1e-5)
        np.testing.assert_allclose(sd, found.bse, rtol=1e-5)


# --- posteriors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "sampler"), [(1, "split-hmc"), (1, "surrogate"), (2, "split-hmc"), (2, "predictor")])
def test_posterior_by_quadrature(p, sampler):
    """The horseshoe's density times the partial likelihood by its definition, on a grid: three samplers have one posterior."""
    X, time, event, stratum, weights, offset = data(24, p, strata=2)
    X = X + 3.0  # predictors count by their differences
    model = cox(tau=0.7, standardize=False, sampler=sampler, draws=1500, warmup=300)
    model.fit(X, time, weights, event=event, offset=offset, strata=stratum)
    axis = np.linspace(-3.0, 3.5, 400 if p == 1 else 60)
    grid = np.meshgrid(*[axis] * p, indexing="ij")
    points = np.array([v.ravel() for v in grid]).T
    value = sum(ns.bayes.log_exe1(np.maximum(b**2 / (2.0 * 0.7**2), 1e-12)) for b in points.T)
    value = value + naive.partial_likelihood((points @ X.T + offset).T, time, event, stratum, weights)
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    for j in range(p):
        draws = model.draws_["beta"][:, :, j]
        mean = weight @ points[:, j]
        sd = np.sqrt(weight @ (points[:, j] - mean) ** 2)
        error = sd / np.sqrt(ess_bulk(draws[:, :, None])[0])
        assert abs(draws.mean() - mean) < 4.0 * error, (draws.mean(), mean, error)
        assert abs(draws.std() / sd - 1.0) < 6.0 * error / sd, (draws.std(), sd)


def test_wide_prior_gives_the_published_fit():
    model = cox(unpenalized=[0], intercept_scale=100.0, draws=1000).fit((np.arange(23) >= 11)[:, None], LEUKEMIA, event=RELAPSED)
    assert model.intercept_ == 0.0 and model.coef_[0] == pytest.approx(0.9155, abs=0.2 * 0.5119)
    assert model.draws_["beta"].std() == pytest.approx(0.5119, rel=0.08)
    table = model.summary()
    np.testing.assert_allclose(table["hazard_ratio"][0], np.exp(np.median(model.draws_["beta"])), rtol=1e-12)
    np.testing.assert_allclose(table["ratio_upper"][0], np.exp(table["upper"][0]), rtol=1e-12)
    assert table["name"].tolist() == ["x0", "log_tau"] and np.isnan(table["ratio_lower"][1])


def test_more_columns_than_rows():
    X, time, event, *_ = data(60, 90, seed=4, ties=False)
    X = np.column_stack([X[:, :2] + 100.0, X[:, 2:]])
    options = dict(tau_scale=2 / 88 / 60**0.5, chains=2, draws=150, warmup=150)
    model = cox(**options).fit(X, time, event=event)
    assert model.sampler_ == "predictor" and model.coef_[0] > 0.6 and model.coef_[1] < -0.3
    assert abs(model.coef_[2:]).max() < 0.3
    few = options | dict(draws=2, warmup=0, sampler="predictor")
    want = cox(**few).fit(X, time, event=event).draws_["beta"]
    sparse = cox(**few, standardize=True).fit(scipy.sparse.csr_array(X), time, event=event).draws_["beta"]
    np.testing.assert_allclose(sparse, want, rtol=1e-4, atol=1e-6)
    with ThreadPoolExecutor(1) as pool:
        apart = cox(**few, workers=pool).fit(X, time, event=event)
    np.testing.assert_array_equal(apart.draws_["beta"], want)
    assert apart.predict_survival(X[:2], [1e-3]).shape == (2, 1)


# --- what does not matter --------------------------------------------------------------------------------------------------


def test_units_levels_and_missing_rows():
    """Only the order of the times counts, and differences of columns and offsets."""
    X, time, event, stratum, weights, offset = data(strata=2)
    given = dict(event=event, strata=stratum, offset=offset)
    want = cox(**QUICK).fit(X, time, weights, **given)
    changed = cox(**QUICK).fit(X, 1e-9 * time**3, weights, **given | dict(offset=offset + 5.0))
    np.testing.assert_allclose(changed.coef_, want.coef_, rtol=1e-6)
    moved = cox(**QUICK).fit(X + 1000.0, time, weights, **given | dict(strata=np.where(stratum == 1, "left", "right")))
    np.testing.assert_allclose(moved.coef_, want.coef_, rtol=1e-6)
    ends = cox(**QUICK).fit(X, None, weights, censored=(time, np.where(event, time, np.inf)), strata=stratum, offset=offset)
    np.testing.assert_array_equal(ends.coef_, want.coef_)
    X[3, 0], labels = np.nan, stratum.astype(object)
    labels[5] = None
    kept = np.delete(np.arange(40), [3, 5])
    some = cox(**QUICK, nan_policy="omit").fit(X, time, weights, **given | dict(strata=labels))
    left = {name: v[kept] for name, v in given.items()}
    np.testing.assert_allclose(some.coef_, cox(**QUICK).fit(X[kept], time[kept], weights[kept], **left).coef_, rtol=1e-9)
    assert some.n_missing_ == 2


# --- after a fit ----------------------------------------------------------------------------------------------------------


def test_baseline_and_survival(tmp_path):
    """Breslow's steps by the definition; probabilities given the draws; files, pickles and continued fits."""
    X, time, event, stratum, weights, offset = data(strata=2)
    rows, m = rows_of(X, time, event, stratum, weights), np.array([X[:, 0], -0.5 * X[:, 1]])
    found = COX.baseline(m, rows.outcomes)
    for q in range(2):
        steps = list(naive.baseline_steps(m[q], time, event, stratum, weights))
        np.testing.assert_array_equal([found.stratum, found.time], np.array(steps).T[:2])
        np.testing.assert_allclose(np.exp(found.logs[q]), np.array(steps).T[2], rtol=1e-12)
    model = cox(chains=2, warmup=200, draws=600).fit(X, time, weights, event=event, strata=stratum, offset=offset)
    base, b = model._baseline, model.draws_["beta"].reshape(-1, 3)[survival_draws(1200)]
    hazard = np.exp(base.logs)
    m = b @ (X - X.mean(axis=0)).T + offset
    drawn = np.array([[s[2] for s in naive.baseline_steps(v, time, event, stratum, weights)] for v in m])
    for s in (0, 1):
        own, want = base.stratum == s, np.cumsum(drawn[:, base.stratum == s], axis=1)
        rest = hazard[:, own] - want
        assert (abs(rest.mean(axis=0)) < 4.0 * rest.std(axis=0) / np.sqrt(len(b))).all()
    table = model.baseline_summary(0.9)
    assert list(table) == ["stratum", "time", "hazard", "lower", "upper", "level"]
    np.testing.assert_allclose(table["hazard"], hazard.mean(axis=0), rtol=1e-12)
    at, new = [1.5, 4.0], X[:3]
    alive, low, high = model.predict_survival(new, at, 0.9, offset=0.3, strata=[0, 1, 1])
    for i, s in enumerate((0, 1, 1)):
        for j, t in enumerate(at):
            step = np.flatnonzero((base.stratum == s) & (base.time <= t))
            total = hazard[:, step[-1]] if step.size else 0.0
            p = np.exp(-total * np.exp(0.3 + b @ (new[i] - X.mean(axis=0))))
            np.testing.assert_allclose([alive[i, j], low[i, j], high[i, j]], [p.mean(), *np.quantile(p, [0.05, 0.95])], rtol=1e-9)
    assert (model.predict_survival(new, [1e-3], offset=0.0, strata=0) == 1.0).all()
    np.testing.assert_allclose(model.predict(new, offset=0.3), new @ model.coef_ + 0.3, rtol=1e-12)
    score, low, high = model.predict(new, 0.9, offset=0.0)
    assert (low < score).all() and (score < high).all()
    model.save(tmp_path / "model")
    for other in (ns.bayes.HorseshoeRegression.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_survival(new, at, offset=0.3, strata=[0, 1, 1]), alive)
    whole = cox(chains=2, warmup=200, draws=700).fit(X, time, weights, event=event, strata=stratum, offset=offset)
    np.testing.assert_array_equal(model.continue_(100)._baseline.logs, whole._baseline.logs)


def survival_draws(draws):
    return np.linspace(0, draws - 1, 1000).round().astype(int)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(y=[1.0, 2.0, 3.0], event=[0, 0, 0]), "all times are censored: with response='cox'"),
        (dict(y=[1.0, 2.0, -3.0]), r"y\[2\] is -3.0, but response='cox' takes times, 0 or above"),
        (dict(y=[1.0, 2.0, 3.0], event=[0, 0, 1]), "no row has a time above that of an event"),
        (dict(y=[1.0, 2.0, 3.0], strata=["a", "b", "c"]), "no row of its stratum has a time above"),
        (dict(y=[1.0, 2.0, 3.0], strata=["a", "b"]), "strata|rows"),
        (dict(y=[1.0, 2.0, 3.0], strata=[1.0, np.nan, 2.0]), r"strata\[1\] is missing"),
        (dict(censored=([1, 2, 3], [1, 4, 3])), r"censored=\(2.0, 4.0\) at row 1, but response='cox' compares"),
        (dict(y=[1.0, 2.0, 3.0], exposure=[1.0, 1.0, 1.0]), "exposure= multiplies the mean of"),
        (dict(y=[1.0, 2.0, 3.0], entry=[0.0, 0.0, 1.0]), "no argument 'entry'"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cox().fit(np.arange(6.0).reshape(3, 2), **given)


def test_what_a_partial_likelihood_does_not_have():
    X, time, event, *_ = data()
    with pytest.warns(UserWarning, match="column 2 of X is constant, 7 in every row: no difference of rows depends on it"):
        model = cox(**QUICK).fit(np.column_stack([X[:, :2], np.full(40, 7.0)]), time, event=event)
    X = np.column_stack([X[:, :2], np.full(40, 7.0)])
    for call in (
        lambda: model.loo(X, time, event=event),
        lambda: model.waic(X, time),
        lambda: model.sample_outcomes(X),
        lambda: model.predict(X, kind="median"),
        lambda: model.predict(X, 0.9, kind="outcome"),
    ):
        with pytest.raises(ValueError, match="response='cox' has a partial likelihood"):
            call()
    with pytest.raises(ValueError, match="which response='cox' does not have; pass predict"):
        model.score(X, time)
    with pytest.raises(ValueError, match=r"times\[1\] is 1000.0, but the rows of the fit were seen up to"):
        model.predict_survival(X, [1.0, 1000.0])
    with pytest.raises(ValueError, match="the fit had no strata="):
        model.predict_survival(X, [1.0], strata=0)
    with pytest.raises(ValueError, match="strata= is for response='cox', not for 'weibull'"):
        ns.bayes.HorseshoeRegression(response="weibull").fit(X, time, event=event, strata=time)
    with pytest.raises(ValueError, match="'gaussian' has no baseline hazard"):
        ns.bayes.HorseshoeRegression(chains=2, warmup=10, draws=10).fit(X[:, :2], time).baseline_summary()
    strata = np.arange(40) % 2
    stratified = cox(**QUICK).fit(X[:, :2], time, event=event, strata=strata)
    for label, message in ((None, "the fit had strata="), (2, r"strata\[0\] is 2, of which the fit has no rows; it had 0, 1")):
        with pytest.raises(ValueError, match=message):
            stratified.predict_survival(X[:, :2], [1.0], strata=label)
