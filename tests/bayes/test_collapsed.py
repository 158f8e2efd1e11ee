"""More columns than rows: steps with the coefficients integrated out against plain formulas and a plain sampler."""

from __future__ import annotations

import math
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes.engine import goals
from numbastats.bayes.samplers import collapsed
from tests.bayes import naive
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def wide(n=15, p=40, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 5.0 + 2.0 * X[:, 0] - X[:, 1] + rng.standard_normal(n)


def model(**options):
    two = options.get("response", "gaussian") in ("logit", "probit")
    kind = ns.bayes.HorseshoeClassifier if two else ns.bayes.HorseshoeRegression
    return kind(**(dict(chains=2, warmup=50, draws=40, rng=4) | options))


def plain_density(X, y, weights, v, precision, sigma):
    """Log density of y with b, a and, if it is None, sigma integrated out, by the weighted rows' covariance; up to a constant."""
    root = np.sqrt(weights)[:, None]
    Q = np.eye(len(y)) if precision else scipy.linalg.null_space(root.T)  # flat: of contrasts that are free of a
    A, r = Q.T @ (root * X), Q.T @ (root[:, 0] * y)
    S = np.eye(len(r)) + (A * v) @ A.T + ((Q.T @ root) @ (root.T @ Q) / precision if precision else 0.0)
    shape = 0.5 * (weights.sum() - (precision == 0.0))
    squares = r @ np.linalg.solve(S, r)
    return -0.5 * np.linalg.slogdet(S)[1] - (shape * math.log(squares) if sigma is None else 0.5 * squares / sigma**2)


@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("precision", [0.0, 0.3])
@pytest.mark.parametrize("slab", [0.0, 2.0])
def test_density_of_tau(precision, slab, sigma):
    """Differences between values of tau."""
    X, y = wide()
    rng = np.random.default_rng(1)
    weights, d = rng.uniform(0.5, 2.0, 15), rng.uniform(0.5, 20.0, 40)
    data = collapsed.problem(np.column_stack([np.ones(15), X]), y, weights, precisions=np.array([precision]))
    data = data if sigma is None else data._replace(shape=math.inf)
    prior = collapsed.Prior(np.full(40, slab), True, 1.5, False)
    found, want = [], []
    for by in (-1.0, 0.0, 0.7):
        known = collapsed._products(data, prior, d)
        found.append(collapsed._marginal(data, prior, d, by, by, known).value)
        now = d * math.exp(-2.0 * by)
        half_cauchy = scipy.stats.halfcauchy.logpdf(math.exp(by), scale=1.5) + by
        factor = 0.5 * np.log(now / (now + slab)).sum()
        want.append(plain_density(X, y, weights, 1.0 / (now + slab), precision, sigma) + half_cauchy + factor)
    np.testing.assert_allclose(np.diff(found), np.diff(want), rtol=1e-10)


@pytest.mark.parametrize(("skip", "precision"), [(0, 0.0), (1, 0.0), (1, 0.3)])
def test_draws_given_the_scales(skip, precision):
    """Mean and covariance of (a, b)/sigma, and the mean of 1/sigma^2, against the normal equations."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((6, 9)), rng.standard_normal(6)
    X = np.column_stack([np.ones(6), X]) if skip else X
    weights, d = rng.uniform(0.5, 2.0, 6), rng.uniform(0.5, 5.0, 9)
    data = collapsed.problem(X, y, weights, precisions=np.full(skip, precision))
    prior, m = collapsed.Prior(np.zeros(9), False, 1.0, True), len(data.y)
    draws, precisions = [], []
    for _ in range(6000):
        numbers = collapsed.Numbers(rng.standard_normal(skip + 9 + m), rng.standard_gamma(data.shape), None, None, None)
        state = collapsed.init(data, prior, collapsed.State(None, d, 0.0, 0.0, 0.0), numbers)
        draws.append(state.b)
        precisions.append(math.exp(-2.0 * state.log_sigma))
    residuals = y - X @ draws[-1]
    want = scipy.stats.norm.logpdf(residuals, scale=math.exp(state.log_sigma)) @ weights
    assert state.loglik == pytest.approx(want, rel=1e-10)
    H = (X.T * weights) @ X + np.diag(np.concatenate([[precision] * skip, d]))
    mean, covariance = np.linalg.solve(H, X.T @ (weights * y)), np.linalg.inv(H)
    rest = y @ (weights * y) - mean @ (X.T @ (weights * y))
    assert np.mean(precisions) == pytest.approx(2.0 * data.shape / rest, rel=4.0 / math.sqrt(6000 * data.shape))
    z = (np.array(draws) - mean) * np.sqrt(precisions)[:, None]
    scale = np.sqrt(covariance.diagonal())
    np.testing.assert_allclose(z.mean(axis=0) / scale, 0.0, atol=4.0 / math.sqrt(6000))
    np.testing.assert_allclose(z.T @ z / 6000 / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=0.075)


def log_likelihoods(model, X, y):
    """Of the draws, shape (chains, draws), by SciPy."""
    m = model.decision_draws(X).reshape(*model.draws_["log_tau"].shape, -1)
    sign = np.where(y, 1.0, -1.0)
    return {
        "gaussian": lambda: scipy.stats.norm.logpdf(y, m, np.exp(model.draws_["log_sigma"])[:, :, None]),
        "logit": lambda: scipy.special.log_expit(sign * m),
        "probit": lambda: scipy.special.log_ndtr(sign * m),
    }[model.response]().sum(axis=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"slab": 2.0},
        {"slab": 2.0, "slab_df": 4.0, "prior": "horseshoe+"},
        {"tau": 0.3},
        {"response": "logit", "slab": None},
        {"response": "probit"},
    ],
    ids=str,
)
def test_chains_depend_on_nothing_else(options, monkeypatch):
    """Threads, executors, a file of rows, continued fits."""
    monkeypatch.setattr("numbastats.bayes.samplers.wide._LARGE_PRODUCT", 0)
    X, y = wide(10, 31)
    y = y > 5.0 if "response" in options else y
    whole = model(workers=1, **options).fit(X, y)
    assert whole.sampler_ == "collapsed-gibbs" and np.isfinite(whole.coef_).all()
    others = [model(workers=2, **options).fit(X, y), model(draws=15, **options).fit(X, y).continue_(25)]
    others.append(model(**options).fit(lambda: ((X[i : i + 3], y[i : i + 3]) for i in range(0, 10, 3))))
    with ThreadPoolExecutor(2) as pool:
        others.append(model(workers=pool, **options).fit(X, y))
    for other in others:
        assert all(same(whole.draws_[name], other.draws_[name]) for name in whole.draws_)
        assert same(whole.sample_stats_["log_likelihood"], other.sample_stats_["log_likelihood"])
    np.testing.assert_allclose(whole.sample_stats_["log_likelihood"], log_likelihoods(whole, X, y), rtol=1e-8)


def test_rows_without_weight_are_no_data():
    """The log-likelihood, which the chains compute of their own rows, is that of the others; and a weight counts a row."""
    X, y = wide(12, 31)
    y, weights = y > 5.0, np.repeat([1.0, 2.0, 0.0], 4)
    fit = model(response="logit", fit_intercept=False, standardize=False).fit(X, y, weights)
    want = log_likelihoods(fit, X[:8], y[:8]) + log_likelihoods(fit, X[4:8], y[4:8])
    np.testing.assert_allclose(fit.sample_stats_["log_likelihood"], want, rtol=1e-10)


def test_which_sampler():
    X, y = wide(10, 25)
    kind = lambda columns, **options: model(draws=4, warmup=2, **options).fit(X[:, :columns], y).sampler_  # noqa: E731
    assert kind(9) == kind(25, slab=2.0) == kind(25, sampler="gibbs") == "gibbs"
    assert kind(10) == kind(5, sampler="collapsed-gibbs") == "collapsed-gibbs"
    for response in ("logit", "probit"):
        fit = lambda p: model(response=response, warmup=60, draws=4).fit(X[:, :p], y > 5.0)  # noqa: B023, E731
        assert fit(10).sampler_ == "collapsed-gibbs" and fit(5).sampler_ in ("split-hmc", "surrogate")
    with pytest.raises(ValueError, match="collapsed-gibbs' is not one of response='poisson'"):
        model(response="poisson", sampler="collapsed-gibbs").fit(X, abs(y).round())


@pytest.mark.parametrize(
    ("n", "p", "options", "most"),
    [(100, 500, {}, 64_000), (200, 2000, {}, 8000), (200, 500, {"slab": 2.0}, 1000), (100, 500, {"sampler": "gibbs"}, 1000)],
    ids=str,
)
def test_most_draws_by_default(n, p, options, most):
    """A draw of the new sampler costs n^2 p multiplications; of the p x p one the old limit stands."""
    settings = dict(response="gaussian", sampler="auto", slab=None, draws=None, thin=1, warmup=1000) | options
    assert goals(types.SimpleNamespace(**settings), n, p)[-1] == 1000 + most


def test_hard_rows():
    """No noise at all, equal and zero columns, equal rows."""
    X, y = wide()
    X[:, 3], X[:, 4], X[:, 5] = X[:, 2], 0.0, 1.0
    with pytest.warns(UserWarning, match="column 4 of X is constant"):
        assert np.isfinite(model().fit(X, 3.0 * X[:, 0]).coef_).all()
    rows = np.repeat(wide()[0][:5], 3, axis=0)
    assert np.isfinite(model(fit_intercept=False).fit(rows, y).coef_).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(30, 5), (20, 24), (12, 30)])
def test_posterior_against_a_plain_sampler(n, p):
    """An effective draw of the plain sampler costs many where p > n: hence a short list of quantities."""
    X, y = wide(n, p)
    X = X - X.mean(axis=0)
    X /= X.std(axis=0)
    plain = naive.plain_gaussian(X, y, 150_000, 1)
    plain = plain[:, [0, 1, 2, 3, -2, -1]][:, None].swapaxes(0, 1)
    fit = model(chains=4, warmup=1000, draws=10_000, sampler="collapsed-gibbs").fit(X, y)
    d = fit.draws_
    x = np.stack([d["intercept"], *np.moveaxis(d["beta"][:, :, :3], 2, 0), d["log_tau"], d["log_sigma"]], axis=2)
    assert ns.bayes.rhat(x).max() < 1.01
    functions = [lambda v: v, *(lambda v, q=q: (v <= q) * 1.0 for q in np.quantile(x, [0.1, 0.5, 0.9], axis=(0, 1)))]
    for f in functions:
        u, v = f(x), f(plain)
        error = np.hypot(ns.bayes.mcse(u), ns.bayes.mcse(v))
        z = (u.mean(axis=(0, 1)) - v.mean(axis=(0, 1))) / error
        assert abs(z).max() < 4.0, z
