"""Probit regression with shrinkage priors: scalars, kernels, the law of every sampler, the estimator."""

from __future__ import annotations

import errno
import itertools
import json
import math
import pickle
import re
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from numba import cuda

import numbastats as ns
from numbastats._core import templates
from numbastats._core.compile import SIMULATED, build, device_function
from numbastats._core.random import key_words
from numbastats.bayes.chains import Chains, surrogate_sweeps
from numbastats.bayes.diagnostics import _ranks, psis
from numbastats.bayes.kernels import likelihood as k
from numbastats.bayes.likelihood import Rows
from numbastats.scalar import shrinkage
from numbastats.testing import assert_matches
from tests.contract import ElementwiseContract, same

mp.mp.dps = 40
REFERENCE = Path(__file__).parents[1] / "reference" / "bayes"
SAMPLERS = ("gibbs", "px-gibbs", "split-hmc", "surrogate")


def exact_log_exe1(x):
    x = mp.mpf(float(x))
    if x > 200:  # the asymptotic series has 40 digits here
        return mp.log(mp.fsum((-1) ** j * mp.fac(j) / x ** (j + 1) for j in range(100 if x > 1000 else 150)))
    return mp.log(mp.exp(x) * mp.e1(x))


class TestLogExe1(ElementwiseContract):
    function = staticmethod(ns.bayes.log_exe1)
    limit = {np.float64: 3.0, np.float32: 4.0}  # away from the zero at 0.435; observed 1.6, 3.9
    edges = [(0.0, np.inf), (np.inf, -np.inf), (-1.0, np.nan), (np.nan, np.nan), (-np.inf, np.nan)]

    def sample(self, dtype):
        rng = np.random.default_rng(1)
        return np.concatenate(
            [10.0 ** rng.uniform(-30, -1, 60), rng.uniform(1.0, 30.0, 60), 10.0 ** rng.uniform(1, 6, 30)]
        ).astype(dtype)

    def exact(self, x):
        return [exact_log_exe1(v) for v in x]


def test_log_exe1_absolute_error():
    x = np.concatenate(
        [10.0 ** np.random.default_rng(2).uniform(-300, 6, 300), np.linspace(0.3, 1.2, 100), [0.9999999, 1.0, 1.0000001]]
    )
    error = max(
        abs(float(mp.mpf(float(g)) - exact_log_exe1(v)) / max(1.0, abs(float(g))))
        for v, g in zip(x, ns.bayes.log_exe1(x), strict=True)
    )
    assert error < 1e-15  # observed 7.0e-16


class TestLogNdtr(ElementwiseContract):
    function = staticmethod(ns.bayes.log_ndtr)
    limit = {np.float64: 4.0, np.float32: 4.0}  # observed 2.6, 1.6
    edges = [(np.inf, -0.0), (-np.inf, -np.inf), (np.nan, np.nan)]

    def sample(self, dtype):
        return np.random.default_rng(3).uniform(-30, 9, 120).astype(dtype)

    def exact(self, x):
        return [mp.log1p(-mp.ncdf(-mp.mpf(float(v)))) if v > 0 else mp.log(mp.ncdf(mp.mpf(float(v)))) for v in x]


class TestInvMills(ElementwiseContract):
    function = staticmethod(ns.bayes.inv_mills)
    limit = {np.float64: 6.0, np.float32: 4.0}  # observed 2.0, 2.0
    edges = [(np.inf, 0.0), (np.nan, np.nan)]

    def sample(self, dtype):
        return np.random.default_rng(4).uniform(-30, 9, 120).astype(dtype)

    def exact(self, x):
        return [mp.npdf(mp.mpf(float(v))) / mp.ncdf(mp.mpf(float(v))) for v in x]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ulp_of_normal_logarithms(dtype):
    """Next to 0 and just below powers of two, where an ulp is small: observed 4.7 and 4.3, 4.3 and 3.7 in more values."""
    at = [1.3001044600259246, 3.0991398072564964, -0.04434796969382271, -0.23229220008393492, 2.2138503, 0.008748718]
    x = np.append(np.random.default_rng(6).uniform(-5, 6, 1000), at).astype(dtype)
    for kind, limit in ((TestLogNdtr(), (5.0, 4.5)), (TestInvMills(), (4.5, 4.0))):
        assert_matches(kind.function(x), kind.exact(x), ulp=limit[dtype is np.float32], what=dtype.__name__)


def test_truncnorm_rvs():
    z = ns.bayes.truncnorm_rvs([-50.0, 0.0, 3.0], size=(1000, 3), rng=1)
    assert same(z, ns.random.truncnorm([-50.0, 0.0, 3.0], 1.0, 0.0, np.inf, (1000, 3), rng=1))
    assert (z > 0).all()


# --- scalars -----------------------------------------------------------------------------------------------------------


def test_truncated_normal_quantile():
    u = np.array([2.0**-53, 1e-12, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-53])
    worst = 0.0
    for m in (-6.0, -5.0, -1.0, 0.0, 0.47, 1.0, 6.0, 20.0):
        z = np.array([shrinkage.truncnorm_right(m, v) for v in u])
        below = mp.ncdf(-m)
        for v, got in zip(u, z, strict=True):
            upper = (1 - mp.mpf(float(v))) * (1 - below)  # mass above
            start = float(scipy.stats.norm.isf(float(upper)))
            want = m + mp.findroot(lambda x, upper=upper: mp.log(mp.ncdf(-x)) - mp.log(upper), start)
            worst = max(worst, abs(float(got - want)) / max(1.0, abs(m)))
    assert worst < 2e-15  # observed 5.9e-16


STREAM = np.uint32(5)


@pytest.mark.parametrize("x", [1e-12, 1e-3, 0.3, 0.999, 1.5, 40.0])
def test_horseshoe_local_law(x):
    """Eta has the density e^(-x eta)/(1 + eta) e^-x / E1(x)."""
    b = math.sqrt(2.0 * x)
    eta = np.array([shrinkage.horseshoe_local1(b, 0.0, np.uint32(3), np.uint32(4), i, STREAM) for i in range(20_000)])
    cdf = lambda e: 1.0 - scipy.special.exp1(x * (1.0 + e)) / scipy.special.exp1(x)  # noqa: E731
    assert scipy.stats.kstest(eta, cdf).pvalue > 1e-3


@pytest.mark.parametrize("b", [1e-3, 0.5, 3.0])
def test_lasso_local_law(b):
    t = 0.3
    eta = np.array([shrinkage.lasso_local1(b, t, np.uint32(3), np.uint32(4), i, STREAM) for i in range(20_000)])
    mean = math.exp(t) / b
    assert scipy.stats.kstest(eta, scipy.stats.invgauss(mean, scale=1.0).cdf).pvalue > 1e-3


def test_slice_sampler_draws_from_its_density():
    """A normal density; successive draws of one chain, thinned."""

    t, draws = 0.0, []
    for step in range(20_000):
        phase, count, level, lo, hi, at = 0, 0, 0.0, t, t, t
        while phase != shrinkage.DONE:
            value = -0.5 * (at - 1.0) ** 2
            phase, count, level, lo, hi, at = shrinkage.slice_step(
                phase, count, value, level, t, lo, hi, at, np.uint32(1), np.uint32(2), shrinkage.item_of(0, step), STREAM
            )
        t = at
        draws.append(t)
    x = np.array(draws[::10])
    assert scipy.stats.kstest(x, scipy.stats.norm(1.0).cdf).pvalue > 1e-3
    phase, count, level, lo, hi, at = shrinkage.slice_step(
        0, 0, np.nan, 0.0, 2.0, 2.0, 2.0, 2.0, np.uint32(1), np.uint32(2), 0, STREAM
    )
    assert phase == shrinkage.DONE and at == 2.0  # a density that is NaN ends the search


# --- kernels -----------------------------------------------------------------------------------------------------------


def _rows(n, p, dtype=np.float64, seed=0, device="cpu", workers=1):
    rng = np.random.default_rng(seed)
    return Rows(np.ascontiguousarray(rng.standard_normal((n, p)), dtype), device, workers), rng.standard_normal((2, p)) * 0.4


STREAMS = np.array([6, 13], np.uint32)


def _check_passes(rows, X, B):
    """Against SciPy on the rows X, and the scalar draws."""
    n = len(X)
    m = B @ X.T
    loglik, g = rows.loglik(B)
    np.testing.assert_allclose(loglik, scipy.special.log_ndtr(m).sum(axis=1), rtol=1e-13)
    r = np.exp(scipy.stats.norm.logpdf(m) - scipy.special.log_ndtr(m))
    np.testing.assert_allclose(g, r @ X, rtol=1e-12, atol=1e-12)
    key = np.uint32(1), np.uint32(2)
    g, squares = rows.latent(B, key, STREAMS, 9)
    e = np.array([[k.latent_row(*key, STREAMS[c], np.uint32(9), i, m[c, i])[0] for i in range(n)] for c in range(2)])
    assert (e > -m).all()
    np.testing.assert_allclose(squares, (e * e).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(g, e @ X, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_passes_match_their_definition(n, device):
    rows, B = _rows(n, 5, device=device["device"], workers=device.get("workers", 1))
    _check_passes(rows, rows.X, B)


def test_words_of_rows_far_out():
    """Margins below -6, in both halves of a group of 64 rows: the draws are those of the scalar function."""
    rows, B = _rows(130, 5)
    B = 20.0 * B
    m = B @ rows.X.T
    assert (m[:, :128].reshape(2, 2, 2, 32) < -6.0).any(axis=(0, 1, 3)).all()
    key = np.uint32(1), np.uint32(2)
    g, squares = rows.latent(B, key, STREAMS, 9)
    e = np.array([[k.latent_row(*key, STREAMS[c], np.uint32(9), i, m[c, i])[0] for i in range(130)] for c in range(2)])
    np.testing.assert_allclose(squares, (e * e).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(g, e @ rows.X, rtol=1e-9, atol=1e-10)


def test_latent_law_far_out():
    """Margins from -200 to 20: moments of the draws against the reference table."""
    table = np.loadtxt(REFERENCE / "truncnorm_reference.csv", delimiter=",", comments="#")
    key, n, steps = (np.uint32(7), np.uint32(8)), 4096, 10
    assert table.shape == (25, 9) and table[0, 0] == -200.0 and table[-1, 0] == 20.0
    for mu, mean, variance, skewness, kurtosis, *_ in table:
        rows = Rows(np.column_stack([np.full(n, mu), np.ones(n)]), "cpu", 1)
        draws = [rows.latent(np.array([[1.0, 0.0]]), key, STREAMS[:1], s) for s in range(steps)]
        first = sum(g[0, 1] for g, _ in draws) / (n * steps)  # of z - mu
        z, square = mu + first, sum(squares[0] for _, squares in draws) / (n * steps) + 2 * mu * first + mu**2
        sd = math.sqrt(variance)
        assert abs(z - mean) < 4.5 * sd / math.sqrt(n * steps), mu
        # variance of z^2 = (mean + sd e)^2
        spread = variance * (4 * mean**2 + 4 * mean * sd * skewness + variance * (kurtosis + 2))
        assert abs(square - (variance + mean**2)) < 4.5 * math.sqrt(spread / (n * steps)), mu


def test_pass_does_not_depend_on_workers(monkeypatch):
    monkeypatch.setattr("numbastats._core.dispatch.PARALLEL_FROM", 0)
    key = np.uint32(1), np.uint32(2)
    for dtype in (np.float64, np.float32):
        one, B = _rows(5003, 37, dtype)
        two = Rows(one.X, "cpu", 2)
        for a, b in zip(
            one.latent(B, key, STREAMS, 3) + one.loglik(B), two.latent(B, key, STREAMS, 3) + two.loglik(B), strict=True
        ):
            assert same(a, b)
        alone = one.loglik(B[1:])  # a chain's sums do not depend on its neighbours
        assert same(alone[0], one.loglik(B)[0][1:]) and same(alone[1], one.loglik(B)[1][1:])


def test_float32_rows():
    narrow, B = _rows(100_000, 20, np.float32)
    wide = Rows(narrow.X.astype(np.float64), "cpu", 1)
    B = B.astype(np.float32).astype(np.float64)
    (l32, g32), (l64, g64) = narrow.loglik(B), wide.loglik(B)
    np.testing.assert_allclose(l32, l64, rtol=1e-8)
    assert abs((l32[0] - l32[1]) - (l64[0] - l64[1])) < 5e-2 + 1e-7 * abs(l64[0])
    np.testing.assert_allclose(g32, g64, rtol=1e-4, atol=1.0)


@pytest.mark.parametrize("mean", [2e3, 2e5])
def test_float32_columns_far_from_0(mean):
    """X'X and X'WX by sums in double; their inverses are what the samplers see. Slopes were 6 standard deviations off."""
    rng = np.random.default_rng(3)
    z, signs = rng.standard_normal((3000, 2)), rng.choice([-1.0, 1.0], 3000)
    X = (np.column_stack([np.ones(3000), mean + mean / 600 * z[:, 0], z[:, 1]]) * signs[:, None]).astype(np.float32)
    rows, double = Rows(X, "cpu", 1), X.astype(np.float64)
    prior, b = np.diag([1e-3, 1.0, 1.0]), np.array([0.1, 0.0, 0.4])
    m = double @ b
    r = np.exp(-0.5 * m * m - scipy.special.log_ndtr(m)) / math.sqrt(2 * math.pi)
    for got, want in (
        (rows.gram(), double.T @ double), (rows.curvature(b)[0], double.T @ (double * (r * (r + m))[:, None])),
    ):  # fmt: skip
        want = np.linalg.inv(want + prior)
        assert abs(np.linalg.inv(got + prior) / want - 1).max() < 1e-3  # observed 1.2e-4


def test_tiles():
    assert k.tile_rows(10, 8) == 64 and k.tile_rows(100_000, 8) == 8
    rows, B = _rows(300, 7000)  # several tiles per group of rows
    assert rows.tile < 64
    m = B @ rows.X.T
    np.testing.assert_allclose(rows.loglik(B)[0], scipy.special.log_ndtr(m).sum(axis=1), rtol=1e-12)
    key = np.uint32(1), np.uint32(2)
    e = [k.latent_row(*key, STREAMS[1], np.uint32(9), i, m[1, i])[0] for i in range(300)]
    np.testing.assert_allclose(rows.latent(B, key, STREAMS, 9)[0][1], np.array(e) @ rows.X, rtol=1e-9, atol=1e-9)


def _twin(kernel, arguments, outputs):
    """Run the CPU twins and the CUDA twin on copies; returns the outputs of each."""
    results = []
    for run in (kernel.serial, kernel.parallel, None):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        if run is None:
            staged = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
            kernel.cuda[2 if SIMULATED else 128, 32](*staged)
            results.append([staged[i].copy_to_host() for i in outputs])
        else:
            run(*args)
            results.append([args[i] for i in outputs])
    return results


def _chain_arguments(chains=3, p=6):
    rng = np.random.default_rng(1)
    streams = np.arange(k.STAGES * chains, dtype=np.uint32).reshape(k.STAGES, chains)
    return rng.standard_normal((chains, p)), (np.uint32(1), np.uint32(2), streams, np.uint32(3)), np.full((chains, p), 0.01)


@pytest.mark.parametrize("prior", ["horseshoe", "ridge", "lasso"])
@pytest.mark.parametrize("fixed", [False, True])
def test_scales_twins_agree(prior, fixed):
    B, random, D = _chain_arguments()
    T = np.array([-1.0, 0.0, 0.5])
    serial, parallel, simulated = _twin(k.SCALES[prior], [B, 1, 1.0, fixed, *random, T, D], (-2, -1))
    for a, b, c in zip(serial, parallel, simulated, strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)
    assert fixed == same(serial[0], T)
    assert (serial[1][:, 0] == 0.01).all() and (serial[1][:, 1:] > 1e-12).all()


def test_conditionals_and_draws_twins_agree():
    B, random, D = _chain_arguments()
    V, W, T = np.ones((3, 2, 6)), np.ones((3, 2)), np.zeros(3)
    serial, parallel, simulated = _twin(k.CONDITIONALS, [B, 1, 1.0, False, *random, V, W, T, D], (-4, -3, -2, -1))
    for a, b, c in zip(serial, parallel, simulated, strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)
    Z, U = np.empty((3, 700)), np.empty((3, 3))
    serial, parallel, simulated = _twin(k.DRAWS, [*random, 7.5, Z, U], (-2, -1))
    for a, b, c in zip(serial, parallel, simulated, strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-13)
    assert scipy.stats.kstest(serial[0].ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(serial[0])[0, 1]) < 0.15


# --- the law of the samplers -------------------------------------------------------------------------------------------


def _prior_invariance(kind, prior, replicates):
    """Theta from the prior, y given theta, six sweeps with y fixed: theta must still have the law of the prior.

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
        chains = Chains(
            Rows(X * signs[:, None], "cpu", 1), skip=0, prior=prior, kind=kind, chains=1, warmup=0, key=key_words(1000 + r),
            tau_scale=scale, tau=None, slab=None, intercept_precision=1.0, sweeps=2,
        )  # fmt: skip
        s = chains.state
        s["B"][0], s["T"][0] = b, t
        s["D"][0] = np.clip(eta * math.exp(-2 * t), 1e-12, 1e300)
        if "V" in s:
            s["V"][0, 0], s["V"][0, 1] = eta, rng.standard_exponential(p) / (1 + eta)
            s["W"][0] = math.exp(-2 * t), rng.standard_exponential() / (1 / scale**2 + math.exp(-2 * t))
        if "loglik" in s:
            chains._restart()
        for _ in range(6):
            chains.advance()
        functionals = lambda b, t, d: (b[0], math.log(abs(b[1]) + 1e-300), t, math.log(d[2]), math.log(b @ b + 1e-300))  # noqa: E731
        before.append(functionals(b, t, np.clip(eta * math.exp(-2 * t), 1e-12, 1e300)))
        after.append(functionals(s["B"][0], s["T"][0], s["D"][0]))
    before, after = np.array(before), np.array(after)
    values = [scipy.stats.ks_2samp(a, b).pvalue for a, b in zip(before.T, after.T, strict=True) if np.ptp(a) > 1e-9]
    return min(values)


@pytest.mark.parametrize(
    ("kind", "prior"),
    [("gibbs", "horseshoe"), ("px-gibbs", "horseshoe"), ("split-hmc", "horseshoe"), ("surrogate", "horseshoe"),
     ("gibbs", "lasso"), ("split-hmc", "ridge")],
)  # fmt: skip
def test_prior_invariance(kind, prior):
    assert _prior_invariance(kind, prior, 4000) > 1e-4


def test_prior_invariance_sees_a_wrong_sampler(monkeypatch):
    """The paper's printed law of tau, the wrong triangular solve, a missing acceptance step."""
    import numbastats.bayes.chains as samplers

    right = samplers._solve
    with monkeypatch.context() as patch:
        patch.setattr(samplers, "_solve", lambda L, v, transposed=False: right(L, v, False))
        assert _prior_invariance("gibbs", "horseshoe", 1000) < 1e-6
    with monkeypatch.context() as patch:
        patch.setattr(
            Chains,
            "_decide",
            lambda self, gain, u, updates: [self.state[n].__setitem__(c, v) for n, (c, v) in updates.items()] and 1.0,
        )
        assert _prior_invariance("surrogate", "horseshoe", 1000) < 1e-6


@pytest.fixture(scope="module")
def public():
    data = np.loadtxt(REFERENCE / "public_data.csv", delimiter=",", skiprows=1)
    with open(REFERENCE / "public_gibbs.json") as file:
        return data[:, 1:], data[:, 0].astype(int), json.load(file)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("kind", SAMPLERS)
def test_reference_posterior(kind, public):
    """8 x 100,000 draws of the plain sampler; runs of 24,000 to 48,000 draws gave |z| <= 2.2."""
    X, y, truth = public
    draws = 5000 if kind in ("gibbs", "px-gibbs") else 3000
    model = ns.bayes.BayesProbit(fit_intercept=False, sampler=kind, chains=4, warmup=600, draws=draws, keep="all", rng=5).fit(
        X, y
    )
    x = np.concatenate([model.draws_["beta"], model.draws_["log_tau"][:, :, None], model.draws_["log_lambda"]], axis=2)
    flat = x.reshape(-1, x.shape[2])
    z = (flat.mean(axis=0) - truth["mean"]) / np.sqrt(flat.var(axis=0) / ns.bayes.ess_bulk(x) + np.array(truth["mcse_mean"]) ** 2)
    assert abs(z).max() < 4.0
    assert abs(flat.std(axis=0) / truth["sd"] - 1.0)[:9].max() < 0.05
    for level, name in ((0.05, "q05"), (0.5, "q50"), (0.95, "q95")):
        assert abs((flat <= truth[name]).mean(axis=0) - level).max() < 0.02


def _posterior(kind, X, y, monkeypatch=None, **options):
    settings = dict(fit_intercept=False, sampler=kind, chains=4, warmup=300, draws=3000, rng=3) | options
    return ns.bayes.BayesProbit(**settings).fit(X, y)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("kind", ["gibbs", "px-gibbs"])
def test_more_columns_than_rows(kind):
    """The n x n draw has the law of the p x p one."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 9))
    y = X[:, 0] + rng.standard_normal(6) > 0
    wide = _posterior(kind, X, y, prior="ridge", tau=0.7)
    assert wide._chains.wide
    narrow = _posterior("split-hmc", X, y, prior="ridge", tau=0.7)  # p x p
    a, b = wide.draws_["beta"], narrow.draws_["beta"]
    error = np.sqrt(a.var(axis=(0, 1)) / ns.bayes.ess_bulk(a) + b.var(axis=(0, 1)) / ns.bayes.ess_bulk(b))
    assert (abs(a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) < 4.0 * error).all()
    np.testing.assert_allclose(a.std(axis=(0, 1)), b.std(axis=(0, 1)), rtol=0.06)
    assert _posterior("auto", X, y, draws=50, warmup=50).sampler_ == "px-gibbs"


def test_chains_leave_the_coefficients_of_0_at_the_start():
    """More columns than rows, by "auto": log tau of split-hmc chains is between -2.4 and 0.1 here, and was -14 to -9."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 90))
    y = 3 * X[:, 0] + rng.standard_normal(30) > 0
    model = ns.bayes.BayesProbit(chains=4, warmup=50, draws=70, rng=1).fit(X, y)
    assert model.sampler_ == "px-gibbs" and model.draws_["log_tau"].min() > -5


def _grid_posterior(X, y, sd, slab=np.inf):
    """Posterior of one coefficient with a normal prior, on a grid: points and weights."""
    s = np.where(y, 1.0, -1.0)
    b = np.linspace(-6 * sd, 6 * sd, 4001)
    l = scipy.special.log_ndtr(s[:, None] * X * b).sum(axis=0) - 0.5 * b * b * (1 / sd**2 + 1 / slab**2)  # noqa: E741
    w = np.exp(l - l.max())
    return b, w / w.sum()


@pytest.mark.parametrize("kind", SAMPLERS)
def test_one_coefficient_against_quadrature(kind):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 1))
    y = 0.8 * X[:, 0] + rng.standard_normal(30) > 0
    model = _posterior(kind, X, y, prior="ridge", tau=1.5, slab=2.0, draws=4000)
    b, w = _grid_posterior(X, y, 1.5, 2.0)
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
            b, w = _grid_posterior(X[rest], y[rest], 1.5)
            exact += math.log(w @ scipy.special.ndtr(s[i] * X[i] * b))
        loo, waic = model.loo(X, y), model.waic(X, y)
        assert abs(loo["elpd"] - exact) < 0.05 and loo["bad"] == 0  # observed 2.0e-4
        assert abs(waic["elpd"] - exact) < 0.1  # observed 0.010
        assert 0.3 < loo["p"] < 2.0 and loo["pointwise"].shape == (30,)
        b, w = _grid_posterior(X, y, 1.5)
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
        model = _quick(prior="ridge", tau=1e5, draws=5, dtype="float32").fit(X, [0, 1, seed % 2])
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


def test_surrogate_with_lighter_tails_than_the_posterior():
    """Separable data: the likelihood stays at 1 where its approximation falls; the 99 % quantile is 27, the surrogate's 13."""
    X = np.random.default_rng(1).normal(size=(10, 1))
    y = X[:, 0] > 0
    b, w = _grid_posterior(X, y, 10.0)
    options = dict(prior="ridge", tau=10.0, fit_intercept=False, chains=4, warmup=300, draws=1000, rng=1)
    with pytest.warns(ns.ConvergenceWarning, match="miss the tails"):
        model = ns.bayes.BayesProbit(sampler="surrogate", **options).fit(X, y)
    assert not model.converged_ and model.stats_["pareto_k"] > 0.6  # observed 0.67 to 0.91
    model = ns.bayes.BayesProbit(**options).fit(X, y)
    assert model.sampler_ == "split-hmc"
    above = model.draws_["beta"][:, :, 0] > np.interp(0.9, np.cumsum(w), b)
    assert abs(above.mean() - 0.1) < 4.0 * 0.3 / math.sqrt(ns.bayes.ess_bulk(above))


# --- the estimator -----------------------------------------------------------------------------------------------------


def _data(n=120, p=4, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - 0.5 + rng.standard_normal(n) > 0


def _quick(**options):
    return ns.bayes.BayesProbit(**(dict(chains=2, warmup=60, draws=40, rng=4, sampler="split-hmc") | options))


pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


@pytest.mark.parametrize("kind", SAMPLERS)
def test_continued_and_parallel_runs_are_the_same(kind, monkeypatch):
    monkeypatch.setattr("numbastats._core.dispatch.PARALLEL_FROM", 0)
    X, y = _data()
    whole = _quick(sampler=kind, workers=1).fit(X, y)
    parts = _quick(sampler=kind, draws=15, workers=2).fit(X, y).continue_(25)
    for name in whole.draws_:
        assert same(whole.draws_[name], parts.draws_[name])
    assert same(whole.coef_, parts.coef_) and whole.n_iter_ == parts.n_iter_ == 100
    thin = _quick(sampler=kind, draws=20, thin=2).fit(X, y)
    assert same(thin.draws_["beta"], np.ascontiguousarray(whole.draws_["beta"][:, 1::2]))
    assert not same(_quick(sampler=kind, rng=5).fit(X, y).coef_, whole.coef_)


@pytest.mark.parametrize(("kind", "warmup"), [("gibbs", 5), ("split-hmc", 50)])  # the latter adapts
def test_simulated_device_gives_the_same_chain(kind, warmup):
    X, y = _data(70, 3)
    options = dict(sampler=kind, chains=2, warmup=warmup, draws=3)
    host, device = _quick(**options, device="cpu").fit(X, y), _quick(**options, device="cuda").fit(X, y)
    np.testing.assert_allclose(device.draws_["beta"], host.draws_["beta"], rtol=1e-6, atol=1e-9)


def test_what_is_kept():
    X, y = _data()
    full = _quick(keep="all").fit(X, y)
    flat = full.draws_["beta"].reshape(-1, 4)
    assert full.draws_["beta"].shape == (2, 40, 4) and full.draws_["log_lambda"].shape == (2, 40, 4)
    assert full.draws_["log_tau"].shape == full.draws_["intercept"].shape == (2, 40)
    np.testing.assert_allclose(full.coef_[0], flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(full.moments_["variance"][1:], flat.var(axis=0, ddof=1), rtol=1e-10)
    np.testing.assert_allclose(full.moments_["positive"][1:], (flat > 0).mean(axis=0), rtol=1e-12)
    small = _quick(keep="moments").fit(X, y)
    np.testing.assert_allclose(small.moments_["variance"], full.moments_["variance"], rtol=1e-10)
    assert small.draws_ == {} and isinstance(small.converged_, bool)
    with pytest.raises(ValueError, match="keep='draws'"):
        small.predict_proba(X)
    with pytest.raises(ValueError, match="keep='draws'"):
        small.summary()
    middle = _quick(keep="cov").fit(X, y)
    a = np.column_stack([full.draws_["intercept"].ravel(), flat])
    np.testing.assert_allclose(middle.moments_["covariance"], np.cov(a.T), rtol=1e-9, atol=1e-12)
    assert same(middle.moments_["variance"], np.diag(middle.moments_["covariance"]).copy())
    with pytest.warns(UserWarning, match="normal approximation"):
        p = middle.predict_proba(X)
    assert abs(p - full.predict_proba(X)).max() < 0.05


def test_moments_of_equal_draws():
    """Of chains that stand still: they have not converged, and nobody divides by 0."""
    model = _quick(keep="moments", draws=5).fit(*_data())
    model._moments.squares[:] = 0.0
    assert not model._agree()


def test_probabilities_where_the_covariance_cancels():
    """The linear predictor's variance is below the rounding errors of its terms, whose sum may be negative."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        X = 1e5 + rng.standard_normal((2, 3))
        options = dict(prior="ridge", tau=1e5, sampler="px-gibbs", keep="cov", standardize=True, rng=1)
        with pytest.warns(UserWarning, match="normal approximation"):
            p = _quick(**options).fit(X, [0, 1]).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_moments_of_standardised_columns(intercept):
    """They are those of the draws on the original scale, where the intercept mixes with all coefficients."""
    X, y = _data()
    X = 3.0 * X + 5.0
    options = dict(standardize=True, fit_intercept=intercept)
    draws = _quick(**options).fit(X, y).draws_
    flat = np.concatenate([draws["intercept"][:, :, None]] * intercept + [draws["beta"]], axis=2).reshape(80, -1)
    names = {"mean", "variance", "positive"}
    for keep, more in (("moments", set()), ("cov", {"covariance"}), ("draws", set()), ("all", set())):
        moments = _quick(keep=keep, **options).fit(X, y).moments_
        assert set(moments) == names | more
        np.testing.assert_allclose(moments["mean"], flat.mean(axis=0), rtol=1e-11)
        np.testing.assert_allclose(moments["variance"], flat.var(axis=0, ddof=1), rtol=1e-9)
        np.testing.assert_allclose(moments["positive"], (flat > 0).mean(axis=0), rtol=1e-12)
    covariance = _quick(keep="cov", **options).fit(X, y).moments_["covariance"]
    np.testing.assert_allclose(covariance, np.cov(flat.T), rtol=1e-9, atol=1e-12)


def test_standardised_columns_give_the_original_scale():
    """Scaling and shifting the columns changes nothing but the units."""
    X, y = _data(300)
    units, shift = np.array([1.0, 1e3, 1e-3, 50.0]), np.array([0.0, 5e3, 2e-3, -100.0])
    a = _quick(standardize=True, draws=400).fit(X, y)
    b = _quick(standardize=True, draws=400).fit(X * units + shift, y)
    np.testing.assert_allclose(b.coef_[0] * units, a.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(b.predict_proba(X * units + shift), a.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(b.intercept_ + b.coef_[0] @ shift, a.intercept_, rtol=1e-6)


@pytest.mark.parametrize("sizes", [1e-170, 1e155, [1e-170, 1.0, 1e155, 1e-3]], ids=str)
def test_columns_of_extreme_scale(sizes):
    """Squares of their numbers, and of the coefficients, are beyond the range of double precision."""
    X, y = _data()
    units = np.broadcast_to(sizes, 4)
    a, b = (_quick(standardize=True).fit(Z, y) for Z in (X, X * units))
    np.testing.assert_allclose(b.coef_[0] * units, a.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(b.predict_proba(X * units), a.predict_proba(X), rtol=1e-6)
    for name in ("sd", "mcse"):
        np.testing.assert_allclose(b.summary()[name][1:5] * units, a.summary()[name][1:5], rtol=1e-6)
    with pytest.warns(UserWarning, match="normal approximation"), pytest.raises(ValueError, match="beyond the range"):
        _quick(standardize=True, keep="cov").fit(X * units, y).predict_proba(X)


@pytest.mark.parametrize("options", [dict(), dict(sampler="gibbs"), dict(prior="lasso", slab=2.0), dict(prior="ridge", tau=0.5)])
def test_units_of_small_columns(options):
    """Columns in small units under a prior in large ones: the same posterior. A power of two changes no digit."""
    X, y = _data()
    a = _quick(keep="all", **options).fit(X, y)
    for unit in (2.0**27, 2.0**90):
        scales = {name: options.get(name, 1.0) * unit for name in ("tau_scale", "tau", "slab") if name in (*options, "tau_scale")}
        b = _quick(keep="all", **(options | scales)).fit(X / unit, y)
        np.testing.assert_array_equal(b.draws_["beta"], a.draws_["beta"] * unit)
        np.testing.assert_array_equal(b.draws_["log_lambda"], a.draws_["log_lambda"])
        np.testing.assert_allclose(b.draws_["log_tau"], a.draws_["log_tau"] + np.log(unit), atol=1e-13)  # seen: 1e-14
        np.testing.assert_array_equal(b.predict_proba(X / unit), a.predict_proba(X))


@pytest.mark.parametrize("options", [dict(), dict(sampler="gibbs"), dict(sampler="px-gibbs", warmup=0)], ids=str)
@pytest.mark.parametrize("dtype, scale", [("float32", 1e19), ("float64", 1e160), ("float32", 1e39), ("bfloat16", 1e39)])
def test_rows_or_sums_that_overflow(dtype, scale, options):
    X, y = _data()
    with pytest.raises(ValueError, match="scale near 1"):
        _quick(dtype=dtype, **options).fit(X * scale, y)
    with pytest.raises(ValueError, match="scale near 1"):
        _quick(dtype=dtype, **options).fit(np.tile(X[:3] * scale, 2), y[:3])


@pytest.mark.filterwarnings("ignore:the columns' standard deviations")
@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_huge_column_is_named(kind):
    """More columns than rows: the Cholesky factorisation failed in the middle of the sampling."""
    X = np.random.default_rng(0).standard_normal((5, 9))
    X[:, 7] *= 1e150
    y = np.arange(5) % 2
    with pytest.raises(ValueError, match="column 7 of X has numbers that are too large.*standardize=True"):
        _quick(sampler=kind).fit(X, y)
    assert np.isfinite(_quick(sampler=kind, standardize=True).fit(X, y).coef_).all()


def test_a_refit_that_fails_leaves_nothing_or_all():
    X, y = _data()
    model = _quick().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="scale near 1"):
        model.fit(X[:, :2] * 1e160, np.where(y, "b", "a"))
    assert same(model.predict_proba(X), before) and set(model.predict(X)) <= set(y) and model.n_features_in_ == 4
    model.set_params(callback=lambda state: True, callback_every=1)
    with pytest.raises(RuntimeError, match="before the first draw"):
        model.fit(X[:, :2], y)
    assert set(vars(model)) == set(model.get_params())
    with pytest.raises(ns.NotFittedError, match="not fitted"):
        model.predict(X)


def test_parameters_set_after_a_fit_are_for_the_next_one(tmp_path):
    X, y = _data()
    whole = _quick(standardize=True, draws=60).fit(3.0 * X + 5.0, y)
    model = _quick(standardize=True, draws=40).fit(3.0 * X + 5.0, y)
    model.set_params(standardize=False, fit_intercept=False, tau=1.0, thin=3, keep="all", warmup=70).continue_(20)
    assert all(same(model.draws_[name], whole.draws_[name]) for name in whole.draws_)
    table, want = model.summary(), whole.summary()
    assert all(table[name].tolist() == want[name].tolist() for name in want)
    model.save(tmp_path / "model")
    assert ns.bayes.BayesProbit.load(tmp_path / "model").intercept_ == whole.intercept_


def test_outcomes_and_rows_with_faults():
    X, y = _data()
    for bad in (None, math.nan):
        mixed = y.astype(object)
        mixed[3] = bad
        with pytest.raises(ValueError, match=rf"y\[3\] is {bad}"):
            _quick().fit(X, mixed)
    mixed[3] = "one"
    with pytest.raises(TypeError, match="no order"):
        _quick().fit(X, mixed)
    model = _quick().fit(lambda: iter([(X, y)]))
    for method in (model.predict_proba, model.predict, model.decision_draws):
        with pytest.raises(TypeError, match="is a function"):
            method(lambda: iter([(X, y)]))
    for method in (model.loo, model.waic):
        with pytest.raises(ValueError, match="at least one row"):
            method(X[:0], y[:0])
    with pytest.raises(ValueError, match="one draw only"):
        _quick(chains=1, draws=1).fit(X, y).waic(X, y)
    with pytest.raises(ValueError, match="keep='draws'"):
        _quick(keep="cov").fit(X, y).predict_proba(X, draws=5)


def test_nullable_columns():
    pandas = pytest.importorskip("pandas")
    X, y = _data()
    frame = pandas.DataFrame(X, columns=list("abcd")).astype("Float64")
    assert same(_quick().fit(frame, y).coef_, _quick().fit(X, y).coef_)
    frame.iloc[2, 1] = pandas.NA
    with pytest.raises(ValueError, match=r"X\[2, 1\] is NaN"):
        _quick().fit(frame, y)
    with pytest.raises(TypeError, match="real numbers"):
        _quick().fit(frame.astype(object), y)


def test_names_of_columns_and_models_without_intercept(tmp_path):
    """Saved models keep the names; the normal approximation without an intercept."""
    pandas = pytest.importorskip("pandas")
    X, y = _data()
    frame = pandas.DataFrame(X, columns=["a", "b", "length in m", "d"])
    model = _quick(keep="cov", fit_intercept=False).fit(frame, y)
    model.save(tmp_path / "model.npz")
    loaded = ns.bayes.BayesProbit.load(tmp_path / "model.npz")
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    mean, covariance = model.moments_["mean"], model.moments_["covariance"]
    want = scipy.special.ndtr(X @ mean / np.sqrt(1 + np.sum(X @ covariance * X, axis=1)))
    with pytest.warns(UserWarning, match="normal approximation"):
        np.testing.assert_allclose(loaded.predict_proba(frame)[:, 1], want, rtol=1e-13)
        with pytest.raises(ValueError, match="in that order"):
            loaded.predict(frame[["b", "a", "length in m", "d"]])


def test_predictions_and_reports(tmp_path):
    X, y = _data()
    words = np.where(y, "yes", "no")
    model = _quick().fit(X, words)
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
    infinite = _quick(intercept_scale=np.inf, tau_scale=np.float64(0.5), dtype=np.float64).fit(X, words.astype(object))
    infinite.save(path)
    loaded = ns.bayes.BayesProbit.load(path)
    assert loaded.intercept_scale == np.inf and loaded.tau_scale == 0.5 and loaded.dtype == "float64"
    whole = path.read_bytes()
    ns.quantile.student_t(4.0).save(tmp_path / "table")
    for other in (b"", b"some text", whole[: len(whole) // 2], (tmp_path / "table").read_bytes()):
        (tmp_path / "other").write_bytes(other)
        with pytest.raises(ValueError, match="is no model, or damaged"):
            ns.bayes.BayesProbit.load(tmp_path / "other")
    assert loaded.predict(X).tolist() == infinite.predict(X).tolist()
    assert model.score(X, words[:, None]) == model.score(X, words)
    assert model.loo(X, words[:, None])["elpd"] == model.loo(X, words)["elpd"]
    with pytest.raises(ValueError, match="120 rows"):
        model.score(X, words[:7])
    with pytest.raises(ValueError, match="is an executor"), ThreadPoolExecutor(1) as pool:
        _quick(workers=pool).fit(X, y)


def test_a_full_disk_leaves_the_saved_model_as_it_was(tmp_path, monkeypatch):
    X, y = _data()
    model, path = _quick().fit(X, y), tmp_path / "model.npz"
    model.save(path)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"some of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            model.save(path)
        with pytest.raises(OSError, match="No space"):
            model.save(tmp_path / "other")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["model.npz"]
    link = tmp_path / "link"
    link.symlink_to(path)
    path.chmod(0o640)
    _quick(rng=5).fit(X, y).save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640 and path.read_bytes() != before


def test_priors_of_loaded_models(tmp_path):
    X, y = _data()
    _quick(prior="ridge").fit(X, y).save(tmp_path / "ridge")
    model = ns.bayes.HorseshoeProbit(warmup=60, draws=40, rng=4).fit(X, y)
    model.save(tmp_path / "horseshoe")
    assert ns.bayes.BayesProbit.load(tmp_path / "ridge").prior == "ridge"
    for kind in (ns.bayes.BayesProbit, ns.bayes.HorseshoeProbit):
        loaded = kind.load(tmp_path / "horseshoe")
        assert type(loaded) is kind and loaded.prior == "horseshoe" and loaded.draws == 40
        loaded.save(tmp_path / "again")
        assert kind.load(tmp_path / "again").warmup == 60
    with pytest.raises(ValueError, match="prior='ridge'; use BayesProbit.load"):
        ns.bayes.HorseshoeProbit.load(tmp_path / "ridge")


@pytest.mark.parametrize("keep", ["draws", "cov"])
@pytest.mark.filterwarnings("ignore:no draws were kept")
def test_logarithms_of_probabilities(keep):
    """Both tails keep their digits: probabilities of 1e-600 and their complements."""
    X, y = _data()
    model = _quick(keep=keep).fit(X, y)
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


def test_intercept_prior():
    """Normal with this standard deviation: the posterior of the intercept on a grid, with coefficients that are held near 0."""
    y = np.arange(24) % 6 == 0
    X = np.random.default_rng(1).standard_normal((24, 1))
    options = dict(prior="ridge", tau=1e-6, fit_intercept=True, intercept_scale=0.3, draws=4000)
    model = _posterior("split-hmc", X, y, **options)
    a, w = _grid_posterior(np.ones((24, 1)), y, 0.3)
    draws = model.draws_["intercept"]
    assert abs(draws.mean() - w @ a) < 4.0 * ns.bayes.mcse(draws)
    assert abs(draws.std() / math.sqrt(w @ a**2 - (w @ a) ** 2) - 1.0) < 0.05
    proba, low, high = model.predict_proba(X[:2], interval=0.9)
    np.testing.assert_allclose(proba[:, 1], w @ scipy.special.ndtr(a), atol=0.002)
    ends = scipy.special.ndtr(np.interp([0.05, 0.95], np.cumsum(w), a))
    np.testing.assert_allclose([low[0], high[0]], ends, atol=0.005)


def test_column_names():
    pandas = pytest.importorskip("pandas")
    X, y = _data()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = _quick().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd") and model.summary()["name"][1] == "a"
    assert same(model.predict_proba(frame), model.predict_proba(X))
    with pytest.raises(ValueError, match="in that order"):
        model.predict(frame[list("dcba")])
    assert not hasattr(model.fit(X, y), "feature_names_in_") and model.summary()["name"][1] == "x0"


def test_callback_stops():
    X, y = _data()
    seen = []
    model = _quick(callback=lambda state: seen.append(state["iteration"]) or state["iteration"] >= 80, callback_every=10).fit(
        X, y
    )
    assert seen == [10, 20, 30, 40, 50, 60, 70, 80] and model.draws_["beta"].shape[1] == 20 and not model.converged_
    with pytest.raises(RuntimeError, match="before the first draw"):
        _quick(callback=lambda state: True, callback_every=1).fit(X, y)


def test_callback_state():
    X, y = _data()
    seen = []
    model = _quick(callback=seen.append, callback_every=20, standardize=True).fit(X, y)
    assert [s["iteration"] for s in seen] == [20, 40, 60, 80, 100]
    assert all(s["chain"].tolist() == [0, 1] for s in seen)
    assert all(np.isnan(list(s["ess"].values())).all() for s in seen[:3])  # of the warmup
    draws = model.draws_
    for s in seen[3:]:
        n = s["iteration"] - 60
        norm = np.sqrt((draws["beta"][:, :n] ** 2).sum(axis=2))
        want = {"intercept": draws["intercept"][:, :n], "log_tau": draws["log_tau"][:, :n], "norm": norm}
        assert s["ess"] == pytest.approx({name: ns.bayes.ess_bulk(x) for name, x in want.items()}, rel=1e-12)
        assert same(s["coefficients"][:, 1:], draws["beta"][:, n - 1].copy())
    for s in seen:
        assert s["acceptance"].shape == (2,) and ((s["acceptance"] > 0) & (s["acceptance"] <= 1)).all()
    # one divides before the mean, one after it: roundings
    assert seen[-1]["acceptance"].mean() == pytest.approx(model.stats_["acceptance"], rel=5e-16, abs=0.0)
    bare = []
    _quick(callback=bare.append, callback_every=50, fit_intercept=False, tau=1.0, sampler="gibbs").fit(X, y)
    assert list(bare[-1]["ess"]) == ["norm"] and bare[0]["acceptance"].tolist() == [1.0, 1.0]


@pytest.fixture
def usual_interrupts():
    """Ctrl-C as in a terminal: processes in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_keyboard_interrupt(monkeypatch, usual_interrupts):
    """Ctrl-C within an iteration, or an exception from the callback: the iteration is finished, the draws are kept."""
    X, y = _data()
    whole = _quick().fit(X, y)
    rotate = Chains._rotate

    def pressed(at):
        def step(self):
            if self.state["iteration"] == at:
                signal.raise_signal(signal.SIGINT)
            return rotate(self)

        return step

    def callback(state):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Chains, "_rotate", pressed(84))
        by_key = _quick().fit(X, y)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        patch.setattr(Chains, "_rotate", pressed(30))
        with pytest.raises(KeyboardInterrupt):
            _quick().fit(X, y)
    by_callback = _quick(callback=callback, callback_every=85).fit(X, y)
    for model in (by_key, by_callback):
        assert model.n_iter_ == 85 and not model.converged_
        model.callback = None
        model.continue_(15)
        for name in whole.draws_:
            assert same(model.draws_[name], whole.draws_[name])


def test_parameters_and_clones():
    for model, written in (
        (ns.bayes.HorseshoeProbit(draws=7, rng=1), "HorseshoeProbit(draws=7, rng=1)"),
        (ns.bayes.BayesProbit("ridge", draws=7), "BayesProbit(prior='ridge', draws=7)"),
        (ns.bayes.BayesProbit("horseshoe", draws=7), "BayesProbit(draws=7)"),
    ):
        assert repr(model) == written
        assert eval(written, vars(ns.bayes)).get_params() == model.get_params()
    options = ns.bayes.BayesProbit(draws=7, rng=1).get_params()
    assert options.pop("prior") == "horseshoe"  # with the same defaults
    model = ns.bayes.HorseshoeProbit(draws=7, rng=1)
    assert model.get_params() == options and model.prior == "horseshoe"
    assert type(model)(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(draws=9).draws == 9
    with pytest.raises(ValueError, match="not a parameter"):
        model.set_params(nonsense=1)
    with pytest.raises(ns.NotFittedError, match="not fitted"):
        model.predict_proba(np.zeros((1, 1)))
    assert dir(ns.bayes) == sorted(ns.bayes.__all__)


@pytest.mark.parametrize("wrong", [dict(workers=2.0), dict(workers="2")], ids=str)
def test_workers_of_predictions(wrong):
    """Of a fit on a GPU, which needs no threads, and of predictions."""
    X, y = _data()
    with pytest.raises(ValueError, match="workers="):
        _quick(device="cuda", **wrong).fit(X, y)
    for keep in ("draws", "cov"):
        model = _quick(keep=keep).fit(X, y).set_params(**wrong)
        for method in (model.predict, model.predict_proba, model.predict_log_proba):
            with pytest.raises(ValueError, match="workers="), warnings.catch_warnings(action="ignore"):
                method(X)


def test_not_fitted_for_scikit_learn():
    exceptions = pytest.importorskip("sklearn.exceptions")
    for method in ("predict", "predict_proba", "decision_draws", "loo"):
        with pytest.raises(exceptions.NotFittedError, match="not fitted") as caught:
            getattr(ns.bayes.BayesProbit(), method)(*[np.zeros((1, 1))] * (2 if method == "loo" else 1))
        assert isinstance(caught.value, ns.NotFittedError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and again.args == caught.value.args


def test_not_fitted_without_scikit_learn(run_python):
    """It is not imported for the error's sake."""
    code = """if True:
        import sys, numbastats as ns
        try:
            ns.bayes.BayesProbit().predict([[1.0]])
        except ns.NotFittedError as error:
            print(type(error) is ns.NotFittedError, "sklearn" in sys.modules)"""
    assert run_python(code).split() == ["True", "False"]


EXPECTED_FAILURES = {
    "check_complex_data": "complex numbers are a TypeError, as for every function of the library",
    "check_dtype_object": "arrays of objects are refused: astype('float64') is the user's to choose",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scikit_learn_estimator_checks():
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils import estimator_checks as checks

    model = ns.bayes.BayesProbit(chains=2, warmup=100, draws=100, rng=1)
    found = checks.check_estimator(model, expected_failed_checks=EXPECTED_FAILURES, on_fail=None, on_skip=None)
    status = {result["check_name"]: result["status"] for result in found}
    assert {name for name, s in status.items() if s == "failed"} == set()
    assert {name for name, s in status.items() if s == "xfail"} == set(EXPECTED_FAILURES)


class _DeviceArray:
    """What a CuPy array lets others do with it."""

    __cuda_array_interface__ = {}

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def get(self):
        return self.values

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")


@pytest.mark.parametrize("place", [_DeviceArray, cuda.to_device], ids=["cupy", "numba"])
def test_arrays_on_a_device(place):
    """Fits and predictions take them; results are NumPy arrays."""
    X, y = _data()
    there, outcomes, weights = place(X), place(y.astype(float)), np.arange(120.0)
    want, got = _quick().fit(X, y), _quick().fit(there, outcomes)
    assert same(got.draws_["beta"], want.draws_["beta"])
    for name in ("predict_proba", "predict_log_proba", "decision_draws"):
        assert same(getattr(got, name)(there), getattr(want, name)(X))
    assert got.predict(there).tolist() == want.predict(X).tolist()
    assert got.score(there, outcomes, place(weights)) == want.score(X, y, weights)
    assert same(got.loo(there, outcomes)["pointwise"], want.loo(X, y)["pointwise"])
    blocks = lambda: ((place(X[i : i + 50]), place(y[i : i + 50].astype(float))) for i in range(0, 120, 50))  # noqa: E731
    assert same(_quick().fit(blocks).draws_["beta"], want.draws_["beta"])


# --- how long a fit goes on ----------------------------------------------------------------------------------------------


def _slow(slope=2.0):
    """Nearly separable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 10))
    return X, slope * (X[:, 0] - X[:, 1]) + rng.standard_normal(80) > 0


def test_draws_until_the_chains_agree():
    """By default; the first ones are those of a shorter fit. With a given number there are so many."""
    X, y = _slow()
    first = ns.bayes.HorseshoeProbit(draws=1000, rng=1).fit(X, y)
    assert not first.converged_ and first.draws_["beta"].shape[1] == 1000
    model = ns.bayes.HorseshoeProbit(rng=1).fit(X, y)
    n = model.draws_["beta"].shape[1]
    assert model.converged_ and n in (2000, 4000, 8000)  # observed: 4000
    assert model.draws is None and model.n_iter_ == 1000 + n
    assert same(np.ascontiguousarray(model.draws_["beta"][:, :1000]), first.draws_["beta"])
    half = ns.bayes.HorseshoeProbit(draws=n // 2, rng=1).fit(X, y)
    assert not half.converged_
    assert same(half.continue_(n // 2).draws_["beta"], model.draws_["beta"])
    assert ns.bayes.HorseshoeProbit(rng=1, slab=3.0).fit(*_data(300)).draws_["beta"].shape == (4, 1000, 4)


def test_breast_cancer_by_default():
    """R-hat was 1.07 and the ESS 59 after the 1000 draws of the former default."""
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    model = ns.bayes.HorseshoeProbit(standardize=True, rng=1).fit(data.data, data.target == 0)
    assert model.converged_ and model.summary()["rhat"].max() < 1.01 and model.summary()["ess_bulk"].min() >= 400


def test_limits_of_the_number_of_draws(monkeypatch):
    goals = lambda n, p, **options: ns.bayes.BayesProbit(**options)._goals(n, p)  # noqa: E731
    assert goals(569, 31) == [1000 + 1000 * 2**i for i in range(7)]
    assert goals(10_000, 100) == [2000, 3000, 5000] and goals(10**6, 1000) == goals(100, 2000) == [2000]
    assert goals(569, 31, draws=300, thin=2, warmup=50) == [650] and goals(569, 31, thin=30)[-1] == 1000 + 4000 * 30
    X, y = _slow()
    monkeypatch.setattr("numbastats.bayes.estimator._MOST_DRAWS", 2000)
    with pytest.warns(ns.ConvergenceWarning, match="4 x 2000 draws"):
        model = ns.bayes.HorseshoeProbit(rng=1).fit(X, y)
    assert model.draws_["beta"].shape[1] == 2000
    monkeypatch.setattr("numbastats.bayes.estimator._free_memory", lambda: 2.0 * 8 * 4 * 1000 * (11 + 2))
    assert ns.bayes.HorseshoeProbit(rng=1).fit(X, y).draws_["beta"].shape[1] == 1000
    assert ns.bayes.HorseshoeProbit(rng=1, keep="moments").fit(X, y).n_iter_ == 3000
    stop = lambda state: state["iteration"] == 1500  # noqa: E731
    model = ns.bayes.HorseshoeProbit(rng=1, callback=stop, callback_every=100).fit(X, y)
    assert model.n_iter_ == 1500 and not model.converged_


def test_interrupted_between_doublings(monkeypatch, usual_interrupts):
    """While the chains are compared: what was sampled is kept."""
    X, y = _slow()
    agree = ns.bayes.BayesProbit._agree

    def pressed(self):
        signal.raise_signal(signal.SIGINT)
        return agree(self)

    monkeypatch.setattr(ns.bayes.BayesProbit, "_agree", pressed)
    model = ns.bayes.HorseshoeProbit(rng=1).fit(X, y)
    assert model.draws_["beta"].shape[1] == 1000 and not model.converged_


def test_remedies_of_disagreement():
    """The warning says what disagrees, and which options with which values help."""
    X, y = _slow()
    with pytest.warns(ns.ConvergenceWarning) as caught:
        model = ns.bayes.HorseshoeProbit(draws=1000, rng=1).fit(X, y)
    table, text = model.summary(), str(caught[0].message)
    worst, slowest = table["name"][table["rhat"].argmax()], table["name"][table["ess_bulk"].argmin()]
    assert f"R-hat is {table['rhat'].max():.3f} ({worst};" in text
    assert f"bulk ESS {table['ess_bulk'].min():.0f} ({slowest};" in text
    assert "4 x 1000 draws" in text and "slab=3.0" in text and "standardize=True" in text and caught[0].filename == __file__
    draws, more = map(int, re.search(r"draws=(\d+) \(or continue_\((\d+)\)\)", text).groups())
    assert draws == 1000 + more and more * table["ess_bulk"].min() / 1000 > 400
    assert ns.bayes.HorseshoeProbit(draws=draws, rng=1).fit(X, y).converged_
    with pytest.warns(ns.ConvergenceWarning) as caught:
        ns.bayes.HorseshoeProbit(draws=50, rng=1, slab=3.0, standardize=True).fit(X, y)
    assert "slab=" not in str(caught[0].message) and "standardize=" not in str(caught[0].message)
    for options, text in ((dict(draws=3), "4 draws and 2 chains"), (dict(draws=300, keep="moments"), "their means differ")):
        with pytest.warns(ns.ConvergenceWarning, match=text):
            ns.bayes.HorseshoeProbit(rng=1, **options).fit(X, y)


def test_inside_scikit_learn():  # Mixture and KDE share the mechanism
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = _data()
    model = _quick(warmup=50, draws=20)
    assert clone(model).get_params() == model.get_params() and is_classifier(model)
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {"bayesprobit__prior": ["ridge", "horseshoe"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.6
    w = np.arange(len(y))
    fitted = search.best_estimator_
    assert fitted.score(X, y, sample_weight=w) == pytest.approx(w @ (fitted.predict(X) == y) / w.sum(), rel=1e-14)
    logs = cross_val_predict(model, X, y, cv=2, method="predict_log_proba")
    assert logs.shape == (len(y), 2) and (logs < 0).all()
    assert not model.__sklearn_tags__().classifier_tags.multi_class


def test_accepted_inputs():
    X, y = _data()
    base = _quick().fit(X, y)
    for labels in (y.astype(int), np.where(y, 1, -1), np.where(y, "b", "a"), y.astype(float)):
        assert same(_quick().fit(X, labels).coef_, base.coef_)
    with pytest.warns(UserWarning, match="y has shape \\(120, 1\\)"):
        assert same(_quick().fit(X, y[:, None]).coef_, base.coef_)
    assert same(_quick().fit(np.asfortranarray(X), y).coef_, base.coef_)
    assert same(_quick().fit(X.tolist(), y.tolist()).coef_, base.coef_)
    assert _quick(dtype="float32").fit(X, y)._chains.rows.X.dtype == np.float32
    assert np.isfinite(_quick().fit(np.round(X).astype(int), y).coef_).all()
    with pytest.warns(UserWarning, match="constant"):
        _quick().fit(np.column_stack([X, np.ones(120)]), y)
    with pytest.warns(UserWarning, match="standardize"):
        _quick().fit(X * [1, 1, 1, 1e5], y)
    with pytest.warns(UserWarning, match="one class"):
        model = _quick().fit(X, np.ones(120))
    assert model.predict_proba(X)[:, 1].mean() > 0.9
    duplicate = _quick().fit(np.column_stack([X, X]), y)
    assert np.isfinite(duplicate.coef_).all()


BAD = [
    (dict(), lambda X, y: (X, np.arange(120)), "120 different values"),
    (dict(), lambda X, y: (X, y[:-1]), "one outcome per row"),
    (dict(), lambda X, y: (X[0], y), "two axes"),
    (dict(), lambda X, y: (X[:0], y[:0]), "at least one row"),
    (dict(), lambda X, y: (np.where(X == X[3, 2], np.nan, X), y), r"X\[3, 2\] is NaN"),
    (dict(intercept_scale=np.inf), lambda X, y: (X, np.ones(120)), "improper"),
    (dict(), lambda X, y: (X, None), "the target y is None"),
    (dict(), lambda X, y: (X, X[:, 1]), "continuous numbers"),
    (dict(), lambda X, y: (X[:, :0], y), r"0 feature\(s\) \(shape=\(120, 0\)\)"),
    (dict(), lambda X, y: (lambda: iter([(X[:, :0], y)]), None), r"0 feature\(s\)"),
    (dict(), lambda X, y: (lambda: iter([(X, y)]), y), "y=None"),
    (dict(workers=1.5), None, "workers=1.5"),
    (dict(workers="2"), None, "workers='2'"),
    (dict(prior="spike"), None, "'horseshoe', 'ridge', 'lasso'"),
    (dict(sampler="nuts"), None, "'split-hmc'"),
    (dict(keep="some"), None, "'moments'"),
    (dict(draws=0), None, "draws=0"),
    (dict(chains=True), None, "chains=True"),
    (dict(thin=1.5), None, "thin=1.5"),
    (dict(warmup=20), None, "at least 50"),
    (dict(tau_scale=0.0), None, "tau_scale"),
    (dict(slab=-1.0), None, "slab"),
    (dict(tau=np.inf), None, "tau"),
    (dict(device="gpu"), None, "'cuda'"),
]


@pytest.mark.parametrize(("options", "change", "message"), BAD)
@pytest.mark.filterwarnings("ignore:y has one class")
def test_bad_input(options, change, message):
    X, y = _data()
    if change is not None:
        X, y = change(X, y)
    with pytest.raises(ValueError, match=message):
        _quick(**options).fit(X, y)


def test_bad_types_and_memory(monkeypatch):
    X, y = _data()
    for bad in (X.astype(np.float16), X.astype(np.longdouble), X.astype(complex)):
        with pytest.raises(TypeError, match="astype"):
            _quick().fit(bad, y)
    model = _quick().fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.predict_proba(X[:, :3])
    with pytest.raises(ValueError, match="interval"):
        model.predict_proba(X, interval=1.5)
    with pytest.raises(ValueError, match="must hold one of"):
        model.loo(X, np.full(120, 7))
    monkeypatch.setattr("numbastats.bayes.estimator._free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="keep='moments'"):
        _quick().fit(X, y)


# --- diagnostics -------------------------------------------------------------------------------------------------------


def _autoregressive(rho, chains, n, seed=0):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal((chains, n))
    x = np.empty((chains, n))
    x[:, 0] = e[:, 0]
    for i in range(1, n):
        x[:, i] = rho * x[:, i - 1] + math.sqrt(1 - rho * rho) * e[:, i]
    return x


# Made with ArviZ 0.23.4 and NumPy 2.4, by chains, draws, rho and seed:
#     x = _autoregressive(rho, chains, n, seed)
#     [az.ess(x, method="bulk"), az.ess(x, method="tail"), az.rhat(x), x.std(ddof=1) / np.sqrt(az.ess(x, method="mean"))]
ARVIZ = {
    (4, 1000, 0.5, 1): (1364.6528041662784, 2239.7923146169765, 1.00415163127208, 0.027186121286700757),
    (4, 250, 0.9, 2): (100.18659112154762, 176.2421235902706, 1.0499908641854698, 0.08570403537790114),
    (3, 101, 0.9, 3): (7.637031475696444, 51.54329734325281, 1.383737374362012, 0.3721277615211725),
    (2, 250, 0.99, 4): (2.4956777502566387, 21.061476683994144, 2.474553370435045, 0.793113042634299),
    (4, 100, -0.5, 5): (1040.823996531185, 393.76330281428403, 0.9953858457972649, 0.02807801600669291),
    (2, 9, 0.0, 6): (19.265919722494797, 19.265919722494797, 1.0548685624159302, 0.25999440374401456),
    (2, 400, 0.3, 7): (398.79509308687665, 575.0720627774635, 1.003071090071955, 0.04722536810760026),
    (3, 101, 0.0, 8): (289.9069967696114, 281.29866993983546, 1.0044635850467145, 0.060800772352949284),
}


@pytest.mark.parametrize("case", ARVIZ, ids=str)
def test_diagnostics_against_figures_of_arviz(case):
    chains, n, rho, seed = case
    x = _autoregressive(rho, chains, n, seed)
    got = [f(x) for f in (ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.rhat, ns.bayes.mcse)]
    np.testing.assert_allclose(got, ARVIZ[case], rtol=1e-11)  # observed 3e-13


def test_diagnostics_against_arviz():
    with warnings.catch_warnings(action="ignore"):  # ArviZ announces its next version
        az = pytest.importorskip("arviz", exc_type=ImportError)
    for chains, n, rho, seed in itertools.product((2, 3, 4), (4, 5, 7, 10, 101, 250), (-0.9, 0.0, 0.5, 0.99), range(3)):
        x = _autoregressive(rho, chains, n, seed)
        for ours, name in ((ns.bayes.ess_bulk, "bulk"), (ns.bayes.ess_tail, "tail")):
            assert ours(x) == pytest.approx(float(az.ess(x, method=name)), rel=1e-10)
        assert ns.bayes.rhat(x) == pytest.approx(float(az.rhat(x)), rel=1e-12)


def test_ranks_have_the_offsets_of_blom():
    """(r - 3/8)/(n + 1/4); ties have the mean of their ranks."""
    x = np.array([[0.3, -1.0, 2.0, 2.0, 7.0], [-3.0, 0.5, 2.0, 1e9, 0.6]])[:, :, None]
    r = np.array([[3.0, 2.0, 7.0, 7.0, 9.0], [1.0, 4.0, 7.0, 10.0, 5.0]])
    np.testing.assert_allclose(_ranks(x)[:, :, 0], scipy.stats.norm.ppf((r - 0.375) / 10.25), rtol=1e-13)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.4])
def test_effective_sample_size_of_autoregressions(rho):
    x = np.stack([_autoregressive(rho, 4, 5000, seed) for seed in range(20)], axis=2)
    want = 20_000 * (1 - rho) / (1 + rho)
    assert abs(ns.bayes.ess_bulk(x).mean() / want - 1.0) < 0.06
    assert ns.bayes.rhat(x).max() < 1.02
    assert abs(ns.bayes.mcse(x).mean() * math.sqrt(want) - 1.0) < 0.06
    assert isinstance(ns.bayes.ess_bulk(x[:, :, 0]), float)


def test_tail_effective_sample_size():
    """Of independent draws it is their number; of signs that never change in one chain it is small."""
    x = np.stack([_autoregressive(0.0, 4, 5000, seed) for seed in range(10)], axis=2)
    assert abs(ns.bayes.ess_tail(x).mean() / 20_000 - 1.0) < 0.06
    x[0] = abs(x[0])
    assert ns.bayes.ess_tail(x).max() < 2000  # of 20,000; observed 1160


def test_rhat_sees_shifts_and_spreads():
    x = _autoregressive(0.0, 4, 500)
    assert ns.bayes.rhat(x) < 1.01
    assert ns.bayes.rhat(x + np.array([0, 0, 0, 1.0])[:, None]) > 1.05
    assert ns.bayes.rhat(x * np.array([1, 1, 1, 5.0])[:, None]) > 1.05  # the folded part
    drift = x + np.linspace(0, 3, 500)
    assert ns.bayes.rhat(drift[:1]) > 1.05  # halves of one chain
    both = ns.bayes.rhat(np.stack([x, drift], axis=2))
    assert both.shape == (2,) and both[0] < 1.01 < both[1]
    assert ns.bayes.rhat(np.ones((2, 10))) == 1.0
    assert ns.bayes.rhat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf
    assert ns.bayes.rhat(np.repeat(np.arange(4.0)[:, None] * 0.1, 100, axis=1)) == np.inf  # means of equal ranks are rounded
    for bad in (np.zeros((2, 3)), np.zeros((1, 1, 1, 9)), np.zeros((0, 9)), np.zeros((2, 9, 0))):
        for f in (ns.bayes.rhat, ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.mcse):
            with pytest.raises(ValueError, match="draws"):
                f(bad)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_draws_that_are_not_finite(bad):
    x = _autoregressive(0.0, 4, 501)
    x = np.stack([x, x, np.full_like(x, bad), x], axis=2)
    x[2, 250, 1] = bad  # left out when an odd chain is split
    for f in (ns.bayes.rhat, ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.mcse):
        assert np.isnan(f(x)).tolist() == [False, True, True, False]
        assert np.isnan(f(x[:, :, 1])) and f(x)[0] == pytest.approx(f(x[:, :, 0]), rel=1e-12)
    model = _quick(draws=20).fit(*_data())
    model.draws_ = {"intercept": x[:, :, 0], "beta": x[:, :, 2:], "log_tau": x[:, :, 0]}
    assert not model._agree()
    model.draws_["beta"] = x[:, :, 3:]
    assert model._agree()


@pytest.mark.parametrize("k", [0.1, 0.5, 0.9])
def test_pareto_shape(k):
    """Weights u^-k have a generalised Pareto tail of shape k; the estimate is drawn towards 1/2 by a prior."""
    u = np.random.default_rng(3).random((20, 4000))
    smoothed, shape = psis(-k * np.log(u))
    n = 190
    assert abs(shape.mean() - (n * k + 5) / (n + 10)) < 0.06
    np.testing.assert_allclose(np.exp(smoothed).sum(axis=1), 1.0, rtol=1e-12)


# By ArviZ 0.23.4: smoothed, k = az.psislw(-shape * np.log(np.random.default_rng(seed).random(n))), for (shape, n, seed): k and
# np.sort(smoothed)[[-1, -2, -10, 0]].
PSISLW = {
    (0.3, 1000, 1): (0.1902733429693892, [-5.394556979619544, -5.460700754466332, -5.914656732974162, -7.250291568253628]),
    (0.7, 400, 2): (0.5443557349419547, [-2.993664775363348, -3.4239136651647764, -4.505022051078113, -7.017758489542754]),
    (0.9, 2000, 3): (1.023328171274219, [-2.2364913106297672, -2.671000518062952, -4.539096450632281, -9.478003852988895]),
}


@pytest.mark.parametrize("case", PSISLW, ids=str)
def test_smoothed_weights_against_figures_of_arviz(case):
    k, n, seed = case
    smoothed, shape = psis(-k * np.log(np.random.default_rng(seed).random((1, n))))
    assert shape[0] == pytest.approx(PSISLW[case][0], rel=1e-12)
    np.testing.assert_allclose(np.sort(smoothed[0])[[-1, -2, -10, 0]], PSISLW[case][1], rtol=1e-12)


def test_weights_that_cannot_be_smoothed():
    equal, one, few = np.zeros(1000), np.full(1000, -1e4), np.full(1000, -1e4)
    one[7], few[:20] = 0.0, np.linspace(-1.0, 0.0, 20)
    smoothed, shape = psis(np.array([equal, one, few]))
    assert np.isfinite(np.exp(smoothed)).all() and shape[0] == -np.inf and shape[1] == shape[2] == np.inf
    np.testing.assert_allclose(np.exp(smoothed).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(smoothed[0], -np.log(1000), rtol=1e-12)


def test_importance_weights_of_all_sizes():
    """Without floating-point warnings: of many draws, and where the tail begins below the numbers that have a reciprocal."""
    rng = np.random.default_rng(3)
    smoothed, shape = psis(-0.5 * np.log(rng.random((1, 1_000_000))))
    assert abs(shape[0] - 0.5) < 0.06
    np.testing.assert_allclose(np.exp(smoothed).sum(), 1.0, rtol=1e-12)
    tiny = np.concatenate([np.full(900, -744.0), np.linspace(-743.0, -709.0, 99), [0.0]])
    smoothed, shape = psis(tiny[None])
    assert shape[0] == np.inf and smoothed[0, -1] == 0.0


def test_surrogate_rule():
    assert [surrogate_sweeps(*s) for s in ((1000, 100), (10_000, 100), (10_000, 10), (100, 0))] == [1, 5, 10, 10]


@device_function
def _log_exe1(x):
    return shrinkage.log_exe1(x)


def test_log_exe1_in_float32():
    x = np.logspace(-30, 6, 400).astype(np.float32)
    out = np.empty_like(x)
    build(templates.map1_cpu, "serial", _f=_log_exe1)(x, out)
    error = max(abs(float(mp.mpf(float(g)) - exact_log_exe1(v))) / max(1.0, abs(float(g))) for v, g in zip(x, out, strict=True))
    assert error < 4e-7  # observed 2.1e-7
