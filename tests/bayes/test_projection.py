"""Projections against least squares and maximal expected log densities of every candidate."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes.projection import _problem, search

pytestmark = [
    pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning"),  # of short runs
    pytest.mark.filterwarnings("ignore:.*have a Pareto k"),
]
FEW = dict(rng=1, chains=2, warmup=80, draws=40)


def data(n=40, p=8, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1] += 0.7 * X[:, 0]
    return rng, X, 0.3 + X[:, 0] - 0.8 * X[:, 2] + 0.4 * X[:, -1]


def missed(X, m, chosen, weights, intercept=True):
    """Squares that least squares on some columns leave of all predictors, and those of their means."""
    A = np.column_stack([np.ones(len(X)), *X[:, chosen].T]) if intercept else X[:, chosen]
    root = np.sqrt(weights)[:, None]
    return ((root * m - root * (A @ np.linalg.lstsq(A * root, m * root, rcond=None)[0])) ** 2).sum() if A.size else (m * m).sum()


@pytest.mark.parametrize("options", [{}, {"unpenalized": [5]}, {"fit_intercept": False}], ids=str)
def test_least_squares_of_every_candidate(options):
    """Numbers: each column is the best one beside those before, and R2 is what least squares leave; weights of rows count."""
    rng, X, m = data()
    y, weights = m + rng.standard_normal(40), rng.uniform(0.5, 3.0, 40)
    model = ns.bayes.HorseshoeRegression(**FEW, **options).fit(X, y, sample_weight=weights)
    table = model.projection(X, y, 5, draws=80, sample_weight=weights)
    drawn, intercept = model.decision_draws(X).T, "fit_intercept" not in options
    chosen = list(options.get("unpenalized", []))
    whole = np.average((drawn - np.average(drawn, axis=0, weights=weights)) ** 2, axis=0, weights=weights).sum() * weights.sum()
    assert table["size"].tolist() == [len(chosen) + i for i in range(6)] and table["column"][0] == ""
    for name, r2 in zip(table["column"][1:], table["r2"][1:], strict=True):
        left = [missed(X, drawn, [*chosen, j], weights, intercept) if j not in chosen else math.inf for j in range(8)]
        assert name == f"x{np.argmin(left)}"
        chosen.append(int(np.argmin(left)))
        assert r2 == pytest.approx(1.0 - min(left) / whole, rel=1e-10)


def test_more_columns_than_rows():
    rng, X, m = data(20, 60)
    model = ns.bayes.HorseshoeRegression(tau_scale=0.01, **FEW).fit(X, m + 0.3 * rng.standard_normal(20))
    path, _ = search(_problem(model, X, None, None, 80), 18)
    drawn, ones = model.decision_draws(X).T, np.ones(20)
    for i, j in enumerate(path[:8]):
        left = [missed(X, drawn, [*path[:i], c], ones) if c not in path[:i] else math.inf for c in range(60)]
        assert left[j] <= min(left) * (1.0 + 1e-9)
    assert len(set(path)) == 18 and missed(X, drawn, path, ones) < 0.05 * missed(X, drawn, [], ones)
    with pytest.raises(ValueError, match="k=19 is more than the 18 columns"):
        model.projection(X, m, 19)


def expected(kind, target, e):
    """Expected log density of outcomes with means, or probabilities, `target`, but for what does not depend on e."""
    if kind == "poisson":
        return (target * e - np.exp(e)).sum()
    link = scipy.special.log_expit if kind == "logit" else scipy.special.log_ndtr
    return (target * link(e) + (1.0 - target) * link(-e)).sum()


@pytest.mark.parametrize("kind", ["poisson", "logit", "probit"])
def test_expected_log_densities(kind):
    """Coefficients of sub-models maximise them by SciPy's BFGS; columns are the best of all candidates, each refitted."""
    rng, X, m = data(50, 5)
    offset = 0.2 * rng.standard_normal(50)
    if kind == "poisson":
        model = ns.bayes.HorseshoeRegression(response="poisson", **(FEW | dict(draws=4, chains=1)))
        y = rng.poisson(np.exp(m + offset))
    else:
        model = ns.bayes.HorseshoeClassifier(response=kind, **(FEW | dict(draws=4, chains=1)))
        y = m + offset + rng.logistic(size=50) > 0
    model.fit(X, y, **({} if kind == "probit" else {"offset": offset}))
    offset = np.zeros(50) if kind == "probit" else offset
    path, coefficients = search(_problem(model, X, offset, None, 4), 3)
    m = model.decision_draws(X).T + offset[:, None]
    target = {"poisson": np.exp, "logit": scipy.special.expit, "probit": scipy.special.ndtr}[kind](m)

    def best(chosen, s):
        A = np.column_stack([np.ones(50), X[:, chosen]])
        at = lambda b: -expected(kind, target[:, s], A @ b + offset)  # noqa: E731
        return scipy.optimize.minimize(at, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-7})

    for size in range(4):
        for s in range(4):
            np.testing.assert_allclose(coefficients[size][:, s], best(path[:size], s).x, atol=2e-5)
    for size in range(3):
        values = {j: sum(best([*path[:size], j], s).fun for s in range(4)) for j in range(5) if j not in path[:size]}
        assert path[size] == min(values, key=values.__getitem__)


@pytest.mark.parametrize("response", ["gaussian", "poisson", "negative_binomial", "gamma", "student_t", "weibull", "logit"])
def test_all_columns_are_the_fit(response):
    """Nothing is lost with them, and much without: the fit's densities are those of the sub-model."""
    rng, X, m = data(60, 3)
    y = rng.poisson(np.exp(m)) + (response in ("gamma", "weibull"))
    if response == "logit":
        model, y = ns.bayes.HorseshoeClassifier(**FEW), y > 1
    else:
        model = ns.bayes.HorseshoeRegression(response=response, **FEW)
    table = model.fit(X, y).projection(X, y, draws=60)
    assert table["loss"][-1] == pytest.approx(0.0, abs=1e-6) and table["r2"][-1] == pytest.approx(1.0, abs=1e-9)
    assert table["loss"][0] > table["se"][0] > 0.0 and table["size"].tolist() == [0, 1, 2, 3]


def test_losses_of_rows_left_out():
    """By SciPy's densities, for weights that are 1 over the likelihoods (of few draws these are not smoothed)."""
    rng, X, m = data(15, 3)
    y = m + rng.standard_normal(15)
    model = ns.bayes.HorseshoeRegression(**(FEW | dict(draws=4))).fit(X, y)
    table = model.projection(X, y, 1)
    drawn, sigma = model.decision_draws(X).T, np.exp(model.draws_["log_sigma"]).ravel()
    A = np.column_stack([np.ones(15), X[:, int(table["column"][1][1:])]])
    e = A @ np.linalg.lstsq(A, drawn, rcond=None)[0]
    full = scipy.stats.norm.pdf(y[:, None], drawn, sigma)
    part = scipy.stats.norm.pdf(y[:, None], e, np.sqrt(sigma**2 + ((drawn - e) ** 2).mean(axis=0)))
    losses = np.log(8.0 / (1.0 / full).sum(axis=1)) - np.log((part / full).sum(axis=1) / (1.0 / full).sum(axis=1))
    np.testing.assert_allclose([table["loss"][1], table["se"][1]], [losses.sum(), math.sqrt(15) * losses.std(ddof=1)], rtol=1e-9)
    with pytest.warns(UserWarning, match="15 of 15 rows have a Pareto k"):
        model.projection(X, y, 1)


def test_search_and_fit_repeated_by_folds():
    """A column of noise that the search finds is found out; what goes with the rows is divided, too, and names are kept."""
    rng, X, m = data(60, 4)
    t = np.exp(0.5 * m + 0.4 * np.log(rng.standard_exponential(60)))
    ends = np.minimum(t, 3.0), np.where(t > 3.0, np.inf, t)
    model = ns.bayes.HorseshoeRegression(response="weibull", unpenalized=[1], groups=[[2, 3]], **FEW)
    model.fit(X, censored=ends, offset=np.zeros(60))
    table = model.projection(X, k=2, validate=2, censored=ends, offset=np.zeros(60))
    assert table["size"].tolist() == [1, 2, 3] and np.isfinite(table["se"]).all()
    assert table["loss"][0] > 5.0 and table["column"][1] == "x2"
    wide = np.concatenate([X[:30, :1], rng.standard_normal((30, 40))], axis=1)
    y = wide[:, 0] + rng.standard_normal(30)
    fit = ns.bayes.HorseshoeRegression(tau_scale=0.01, **FEW).fit(wide, y)
    seen, honest = (fit.projection(wide, y, 6, validate=v)["loss"] for v in (False, True))
    assert seen[6] < honest[6] and honest[0] > 0.0


def test_what_is_not_projected():
    rng, X, m = data(30, 3)
    model = ns.bayes.HorseshoeRegression(keep="moments", **FEW).fit(X, m + rng.standard_normal(30))
    with pytest.raises(ValueError, match="keep='moments'"):
        model.projection(X, m)
    model = ns.bayes.HorseshoeRegression(**FEW).fit(X, m + rng.standard_normal(30))
    for wrong in (dict(k=0), dict(k=4), dict(draws=0), dict(validate=1.5)):
        with pytest.raises(ValueError, match=rf"{next(iter(wrong))}="):
            model.projection(X, m, **wrong)
    ordered = ns.bayes.HorseshoeClassifier(response="ordinal", **FEW).fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="one linear predictor each, not response='ordinal'"):
        ordered.projection(X, np.arange(30) % 3)
    X[:, 2] = 2.0 * X[:, 0] - X[:, 1]  # of columns that depend on each other one is left out
    model.fit(X, m + rng.standard_normal(30))
    assert model.projection(X, m).to_frame("dict")["size"].tolist() == [0, 1, 2]
