"""Every sampler leaves the posterior as it is, and finds it."""

from __future__ import annotations

import json
import math
import types

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats._core.random import key_words
from numbastats.bayes import kernels
from numbastats.bayes.chains import Chains
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.samplers import algebra, latent, surrogate
from numbastats.bayes.samplers.scales import Prior
from tests.bayes.naive import SAMPLERS, grid_posterior, quick
from tests.conftest import REFERENCE

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def _prior_invariance(kind, prior, replicates):
    """Theta from the prior, y given theta, six sweeps with y fixed: theta must still have the distribution of the prior.

    Every replicate has a data set of its own; p-values of functionals before against after.
    """
    rng = np.random.default_rng(11)
    n, p, scale = 15, 3, 1.0
    X = rng.standard_normal((n, p))
    before, after = [], []
    for r in range(replicates):
        t = math.log(abs(math.tan(math.pi * (rng.random() - 0.5))) * scale)
        if prior == "horseshoe":
            eta = np.tan(math.pi * (rng.random(p) - 0.5)) ** -2.0
        elif prior == "lasso":
            eta = 1.0 / (2.0 * rng.standard_exponential(p))
        else:
            eta = np.ones(p)
        b = rng.standard_normal(p) * np.exp(t) / np.sqrt(eta)
        signs = np.where(X @ b + rng.standard_normal(n) > 0, 1.0, -1.0)
        sampler = Chains(
            Rows(X * signs[:, None], "cpu", 1),
            prior=Prior(prior, 0, (), scale, None),
            kind=kind,
            chains=1,
            warmup=0,
            key=key_words(1000 + r),
            sweeps=2,
        )
        s = sampler.state
        s.b[0], s.scales.log_tau[0] = b, t
        s.scales.d[0] = np.clip(eta * math.exp(-2 * t), 1e-12, 1e300)
        if isinstance(s, latent.State):
            s.v[0, 0], s.v[0, 1] = eta, rng.standard_exponential(p) / (1 + eta)
            s.w[0] = math.exp(-2 * t), rng.standard_exponential() / (1 / scale**2 + math.exp(-2 * t))
        else:
            s.loglik[:], s.gradient[:] = sampler.rows.loglik(s.b)
        for _ in range(6):
            sampler.advance()
        functionals = lambda b, t, d: (b[0], math.log(abs(b[1]) + 1e-300), t, math.log(d[2]), math.log(b @ b + 1e-300))  # noqa: E731
        before.append(functionals(b, t, np.clip(eta * math.exp(-2 * t), 1e-12, 1e300)))
        after.append(functionals(s.b[0], s.scales.log_tau[0], s.scales.d[0]))
    before, after = np.array(before), np.array(after)
    values = [scipy.stats.ks_2samp(a, b).pvalue for a, b in zip(before.T, after.T, strict=True) if np.ptp(a) > 1e-9]
    return min(values)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        ("gibbs", "horseshoe"),
        ("px-gibbs", "horseshoe"),
        ("split-hmc", "horseshoe"),
        ("surrogate", "horseshoe"),
        ("gibbs", "lasso"),
        ("split-hmc", "ridge"),
    ],
)
def test_prior_invariance(kind, prior):
    assert _prior_invariance(kind, prior, 4000) > 1e-4


@pytest.mark.slow
def test_prior_invariance_sees_a_wrong_sampler(monkeypatch):
    """The paper's printed distribution of tau, the wrong triangular solve, a missing acceptance step."""

    def not_transposed(first, end, given, out):
        H, E, _, D, _, _, Z, *_ = given
        for c, b in enumerate(out[0]):
            L, d = algebra.factor(H.T, D[c])
            b[:] = algebra.solve(L, b @ L + algebra.solve(L, E[c] - d * b) + Z[c])

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "LATENT_DRAW", types.SimpleNamespace(serial=not_transposed))
        assert _prior_invariance("gibbs", "horseshoe", 1000) < 1e-6
    with monkeypatch.context() as patch:
        right = kernels.WEIGHING.serial
        always = lambda first, end, given, out: right(first, end, (*given[:-1], np.full_like(given[-1], 1e-300)), out)  # noqa: E731
        patch.setattr(kernels, "WEIGHING", types.SimpleNamespace(serial=always))
        assert _prior_invariance("surrogate", "horseshoe", 1000) < 1e-6


@pytest.fixture(scope="module")
def public():
    table = np.loadtxt(REFERENCE / "bayes" / "public_data.csv", delimiter=",", skiprows=1)
    with open(REFERENCE / "bayes" / "public_gibbs.json") as file:
        return table[:, 1:], table[:, 0].astype(int), json.load(file)


def _distances(x, truth):
    """Means, and shares of draws below reference quantiles, against a reference: differences in standard errors.

    A standard error has the Monte Carlo error of the draws, by the effective sample size of what is averaged, and that of the
    reference, by its effective sample size for the mean.
    """
    flat = x.reshape(-1, x.shape[2])
    mcse, sd = np.array(truth["mcse_mean"]), np.array(truth["sd"])
    means = (flat.mean(axis=0) - truth["mean"]) / np.sqrt(flat.var(axis=0) / ns.bayes.ess_bulk(x) + mcse**2)
    shares = []
    for level, name in ((0.05, "q05"), (0.5, "q50"), (0.95, "q95")):
        below = (x <= truth[name]).astype(float)
        error = np.sqrt(level * (1.0 - level) * (1.0 / ns.bayes.ess_bulk(below) + (mcse / sd) ** 2))
        shares.append((below.mean(axis=(0, 1)) - level) / error)
    return means, np.array(shares)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("kind", SAMPLERS)
def test_reference_posterior(kind, public):
    """8 x 100,000 draws of the plain sampler against 12,000 to 20,000; draws that are off by a tenth of their sd are noticed."""
    X, y, truth = public
    draws = 5000 if kind in ("gibbs", "px-gibbs") else 3000
    model = ns.bayes.BayesProbit(fit_intercept=False, sampler=kind, chains=4, warmup=600, draws=draws, keep="all", rng=5).fit(
        X, y
    )
    x = np.concatenate([model.draws_["beta"], model.draws_["log_tau"][:, :, None], model.draws_["log_lambda"]], axis=2)
    assert ns.bayes.ess_bulk(x).min() > 800  # observed 1093 and more; it bounds the errors below
    for values in _distances(x, truth):
        assert abs(values).max() < 4.0  # observed 3.2 in 16 runs of 68 values
    assert abs(x.std(axis=(0, 1)) / truth["sd"] - 1.0)[:9].max() < 0.05
    for shift in (-0.1, 0.1):
        for values in _distances(x + shift * x.std(axis=(0, 1)), truth):
            assert abs(values).max() > 4.0


def _posterior(kind, X, y, monkeypatch=None, **options):
    settings = dict(fit_intercept=False, sampler=kind, chains=4, warmup=300, draws=3000, rng=3) | options
    return ns.bayes.BayesProbit(**settings).fit(X, y)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("kind", ["gibbs", "px-gibbs"])
def test_more_columns_than_rows(kind):
    """The n x n draw has the distribution of the p x p one."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 9))
    y = X[:, 0] + rng.standard_normal(6) > 0
    wide = _posterior(kind, X, y, prior="ridge", tau=0.7)
    assert wide._run.chains.problem.H is None
    narrow = _posterior("split-hmc", X, y, prior="ridge", tau=0.7)  # p x p
    a, b = wide.draws_["beta"], narrow.draws_["beta"]
    error = np.sqrt(a.var(axis=(0, 1)) / ns.bayes.ess_bulk(a) + b.var(axis=(0, 1)) / ns.bayes.ess_bulk(b))
    assert (abs(a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) < 4.0 * error).all()
    np.testing.assert_allclose(a.std(axis=(0, 1)), b.std(axis=(0, 1)), rtol=0.06)


def test_chains_leave_the_coefficients_of_0_at_the_start():
    """More columns than rows: log tau of split-hmc chains is between -2.4 and 0.1 here, and was -14 to -9."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 90))
    y = 3 * X[:, 0] + rng.standard_normal(30) > 0
    model = ns.bayes.BayesProbit(sampler="px-gibbs", chains=4, warmup=50, draws=70, rng=1).fit(X, y)
    assert model.draws_["log_tau"].min() > -5


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAMPLERS)
def test_one_coefficient_against_quadrature(kind):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 1))
    y = 0.8 * X[:, 0] + rng.standard_normal(30) > 0
    model = _posterior(kind, X, y, prior="ridge", tau=1.5, slab=2.0, draws=4000)
    b, w = grid_posterior(X, y, 1.5, 2.0)
    draws = model.draws_["beta"][:, :, 0]
    mean, sd = b @ w, math.sqrt(b**2 @ w - (b @ w) ** 2)
    assert abs(draws.mean() - mean) < 4.0 * sd / math.sqrt(ns.bayes.ess_bulk(draws))
    assert abs(draws.std() / sd - 1.0) < 0.05
    assert model.converged_
    # the same posterior without its slab and with every row left out in turn
    if kind == "split-hmc":
        model = _posterior(kind, X, y, prior="ridge", tau=1.5, draws=4000)
        s = np.where(y, 1.0, -1.0)
        exact = 0.0
        for i in range(30):
            rest = np.arange(30) != i
            b, w = grid_posterior(X[rest], y[rest], 1.5)
            exact += math.log(w @ scipy.special.ndtr(s[i] * X[i] * b))
        loo, waic = model.loo(X, y), model.waic(X, y)
        assert abs(loo["elpd"] - exact) < 0.05 and loo["bad"] == 0  # observed 2.0e-4
        assert abs(waic["elpd"] - exact) < 0.1  # observed 0.010
        assert 0.3 < loo["p"] < 2.0 and loo["pointwise"].shape == (30,)
        b, w = grid_posterior(X, y, 1.5)
        new = np.array([[-2.0], [0.3], [1.0]])
        p, low, high = model.predict_proba(new, interval=0.9)
        want = [w @ scipy.special.ndtr(v * b) for v in new[:, 0]]
        np.testing.assert_allclose(p[:, 1], want, atol=0.01)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        edges = np.interp([0.05, 0.95], np.cumsum(w), b)
        np.testing.assert_allclose([low[2], high[2]], scipy.special.ndtr(edges), atol=0.01)
        np.testing.assert_allclose([low[0], high[0]], scipy.special.ndtr(-2.0 * edges[::-1]), atol=0.01)


@pytest.mark.parametrize("kind", SAMPLERS)
def test_nearly_collinear_columns_in_float32(kind):
    """Years without an intercept: of X'X in float32 only rounding errors were left, and draws were NaN or there were none."""
    rng = np.random.default_rng(6)
    X = (2000.0 + rng.standard_normal((300, 2))).astype(np.float32)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(300) > 0
    signed = X.astype(np.float64) * np.where(y, 1.0, -1.0)[:, None]
    b, H = np.zeros(2), np.eye(2)
    for _ in range(8):  # Newton's method to the mode; then sums over a grid around it
        m = signed @ b
        r = np.exp(-0.5 * m * m - scipy.special.log_ndtr(m)) / math.sqrt(2 * math.pi)
        H = (signed * (r * (r + m))[:, None]).T @ signed + np.eye(2)
        b = b + np.linalg.solve(H, signed.T @ r - b)
    v = np.linspace(-7.0, 7.0, 57)
    at = b + np.stack(np.meshgrid(v, v), axis=-1).reshape(-1, 2) @ np.linalg.inv(np.linalg.cholesky(H))
    w = scipy.special.log_ndtr(at @ signed.T).sum(axis=1) - 0.5 * (at**2).sum(axis=1)
    w = np.exp(w - w.max()) / np.exp(w - w.max()).sum()
    draws = _posterior(kind, X, y, prior="ridge", tau=1.0, dtype="float32").draws_["beta"]
    for f in (lambda b: b, lambda b: (b - w @ at) ** 2):
        assert (abs(f(draws).mean(axis=(0, 1)) - w @ f(at)) < 4.0 * ns.bayes.mcse(f(draws))).all()


def test_more_columns_than_rows_in_float32():
    """Counts under a weak prior: curvatures with rounding errors of float32 had no Cholesky factor."""
    for seed in range(20):
        X = np.rint(30.0 * np.random.default_rng(seed).standard_normal((3, 30)))
        model = quick(prior="ridge", tau=1e5, draws=5, dtype="float32").fit(X, [0, 1, seed % 2])
        assert np.isfinite(model.draws_["beta"]).all()


@pytest.mark.filterwarnings("ignore:the chains have not converged")
def test_large_coefficients_in_float32():
    """Of a separable column, thousands of them: latent variables are so long that float32 does not show what is left of them."""
    X = abs(np.random.default_rng(3).standard_normal((40, 1))).astype(np.float32) + np.float32(0.01)
    y = np.arange(40) % 2
    X[y == 0] *= -1
    b = np.linspace(0.0, 8000.0, 100_001)
    weights = np.exp(sum(scipy.special.log_ndtr(b * float(abs(x))) for x in X[:, 0]) - 0.5 * (b / 1000) ** 2)
    settings = dict(prior="ridge", tau=1000.0, draws=2000, warmup=200)
    double = _posterior("px-gibbs", X, y, dtype="float64", **settings).draws_["beta"]
    assert abs(double.mean() - weights @ b / weights.sum()) < 4.0 * ns.bayes.mcse(double[:, :, 0])
    single = _posterior("px-gibbs", X, y, dtype="float32", **settings).draws_["beta"]
    np.testing.assert_allclose(single, double, rtol=1e-5)  # observed 1.7e-7


def test_precision_of_the_slab():
    """Precisions of the prior and the slab add up: of ten rows the likelihood has hardly any."""
    X = np.random.default_rng(4).standard_normal((10, 1))
    draws = _posterior("split-hmc", X, X[:, 0] > 0.1, prior="ridge", tau=0.1, slab=0.05).draws_["beta"]
    assert draws.std() == pytest.approx((0.1**-2 + 0.05**-2 + 0.64 * (X**2).sum()) ** -0.5, rel=0.03)  # W = 2/pi at 0


def test_separable_data_with_a_slab():
    x = np.linspace(-1, 1, 40)[:, None]
    model = _posterior("split-hmc", x, x[:, 0] > 0, slab=3.0, draws=500)
    assert np.isfinite(model.coef_).all() and 0 < model.coef_[0, 0] < 12.0


@pytest.mark.parametrize("kind", ["gibbs", "px-gibbs", "split-hmc"])
def test_local_scales_under_a_tight_slab(kind):
    """Coefficients of 1e-9 leave the likelihood flat: lambda has density proportional to 1/((1 + l^2) sqrt(l^2 + slab^2))."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 2)), rng.random(30) < 0.5
    draws = _posterior(kind, X, y, tau=1.0, slab=1e-9, draws=2000, keep="all").draws_["log_lambda"]
    v = np.linspace(-60.0, 30.0, 100_001)
    w = np.exp(v - np.log1p(np.exp(2 * v)) - 0.5 * np.log(np.exp(2 * v) + 1e-18))
    mean = v @ w / w.sum()
    for j in range(2):
        x = draws[:, :, j]
        assert abs(x.mean() - mean) < 4.0 * x.std() / math.sqrt(ns.bayes.ess_bulk(x))
        assert abs(x.std() / math.sqrt((v - mean) ** 2 @ w / w.sum()) - 1.0) < 0.1


@pytest.mark.slow
def test_surrogate_with_lighter_tails_than_the_posterior():
    """Separable data: the likelihood stays at 1 where its approximation falls; the 99 % quantile is 27, the surrogate's 13."""
    X = np.random.default_rng(1).normal(size=(10, 1))
    y = X[:, 0] > 0
    b, w = grid_posterior(X, y, 10.0)
    options = dict(prior="ridge", tau=10.0, fit_intercept=False, chains=4, warmup=300, draws=1000, rng=1)
    with pytest.warns(ns.ConvergenceWarning, match="miss the tails"):
        model = ns.bayes.BayesProbit(sampler="surrogate", **options).fit(X, y)
    assert not model.converged_ and model.stats_["pareto_k"] > 0.6  # observed 0.67 to 0.91
    model = ns.bayes.BayesProbit(**options).fit(X, y)
    assert model.sampler_ == "split-hmc"
    above = model.draws_["beta"][:, :, 0] > np.interp(0.9, np.cumsum(w), b)
    assert abs(above.mean() - 0.1) < 4.0 * 0.3 / math.sqrt(ns.bayes.ess_bulk(above))


def test_intercept_prior():
    """Normal with this standard deviation: the posterior of the intercept on a grid, with coefficients that are held near 0."""
    y = np.arange(24) % 6 == 0
    X = np.random.default_rng(1).standard_normal((24, 1))
    options = dict(prior="ridge", tau=1e-6, fit_intercept=True, intercept_scale=0.3, draws=4000)
    model = _posterior("split-hmc", X, y, **options)
    a, w = grid_posterior(np.ones((24, 1)), y, 0.3)
    draws = model.draws_["intercept"]
    assert abs(draws.mean() - w @ a) < 4.0 * ns.bayes.mcse(draws)
    assert abs(draws.std() / math.sqrt(w @ a**2 - (w @ a) ** 2) - 1.0) < 0.05
    proba, low, high = model.predict_proba(X[:2], interval=0.9)
    np.testing.assert_allclose(proba[:, 1], w @ scipy.special.ndtr(a), atol=0.002)
    ends = scipy.special.ndtr(np.interp([0.05, 0.95], np.cumsum(w), a))
    np.testing.assert_allclose([low[0], high[0]], ends, atol=0.005)


def test_surrogate_rule():
    assert [surrogate.sweeps(*s) for s in ((1000, 100), (10_000, 100), (10_000, 10), (100, 0))] == [1, 5, 10, 10]
