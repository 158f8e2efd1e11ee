"""Diagnostics of chains against ArviZ, PSIS against its authors' figures."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes.diagnostics import _mean_ranks, _ranks, psis
from numbastats.bayes.engine import agree
from tests.bayes.naive import autoregressive, data, quick

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


# Made with ArviZ 0.23.4 and NumPy 2.4, by chains, draws, rho and seed:
#     x = autoregressive(rho, chains, n, seed)
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
    x = autoregressive(rho, chains, n, seed)
    got = [f(x) for f in (ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.rhat, ns.bayes.mcse)]
    np.testing.assert_allclose(got, ARVIZ[case], rtol=1e-11)  # observed 3e-13


def test_diagnostics_against_arviz():
    with warnings.catch_warnings(action="ignore"):  # ArviZ announces its next version
        az = pytest.importorskip("arviz", exc_type=ImportError)
    for chains, n, rho, seed in itertools.product((2, 3, 4), (4, 5, 7, 10, 101, 250), (-0.9, 0.0, 0.5, 0.99), range(3)):
        x = autoregressive(rho, chains, n, seed)
        for ours, name in ((ns.bayes.ess_bulk, "bulk"), (ns.bayes.ess_tail, "tail")):
            assert ours(x) == pytest.approx(float(az.ess(x, method=name)), rel=1e-10)
        assert ns.bayes.rhat(x) == pytest.approx(float(az.rhat(x)), rel=1e-12)


def test_ranks_against_scipy():
    x = np.random.default_rng(1).integers(0, 30, (200, 4)).astype(float)
    x[:, 1] += np.random.default_rng(2).random(200)  # no ties
    x[:, 2] = 1.0
    x[7, 3] = math.nan
    np.testing.assert_array_equal(_mean_ranks(x), scipy.stats.rankdata(x, axis=0))


def test_ranks_have_the_offsets_of_blom():
    """(r - 3/8)/(n + 1/4); ties have the mean of their ranks."""
    x = np.array([[0.3, -1.0, 2.0, 2.0, 7.0], [-3.0, 0.5, 2.0, 1e9, 0.6]])[:, :, None]
    r = np.array([[3.0, 2.0, 7.0, 7.0, 9.0], [1.0, 4.0, 7.0, 10.0, 5.0]])
    np.testing.assert_allclose(_ranks(x)[:, :, 0], scipy.stats.norm.ppf((r - 0.375) / 10.25), rtol=1e-13)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.4])
def test_effective_sample_size_of_autoregressions(rho):
    x = np.stack([autoregressive(rho, 4, 5000, seed) for seed in range(20)], axis=2)
    want = 20_000 * (1 - rho) / (1 + rho)
    assert abs(ns.bayes.ess_bulk(x).mean() / want - 1.0) < 0.06
    assert ns.bayes.rhat(x).max() < 1.02
    assert abs(ns.bayes.mcse(x).mean() * math.sqrt(want) - 1.0) < 0.06
    assert isinstance(ns.bayes.ess_bulk(x[:, :, 0]), float)


def test_tail_effective_sample_size():
    """Of independent draws it is their number; of signs that never change in one chain it is small."""
    x = np.stack([autoregressive(0.0, 4, 5000, seed) for seed in range(10)], axis=2)
    assert abs(ns.bayes.ess_tail(x).mean() / 20_000 - 1.0) < 0.06
    x[0] = abs(x[0])
    assert ns.bayes.ess_tail(x).max() < 2000  # of 20,000; observed 1160


def test_rhat_sees_shifts_and_spreads():
    x = autoregressive(0.0, 4, 500)
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
    x = autoregressive(0.0, 4, 501)
    x = np.stack([x, x, np.full_like(x, bad), x], axis=2)
    x[2, 250, 1] = bad  # left out when an odd chain is split
    for f in (ns.bayes.rhat, ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.mcse):
        assert np.isnan(f(x)).tolist() == [False, True, True, False]
        assert np.isnan(f(x[:, :, 1])) and f(x)[0] == pytest.approx(f(x[:, :, 0]), rel=1e-12)
    model = quick(draws=20).fit(*data())
    model.draws_ = {"intercept": x[:, :, 0], "beta": x[:, :, 2:], "log_tau": x[:, :, 0]}
    assert not agree(model._side_by_side()[0], None)
    model.draws_["beta"] = x[:, :, 3:]
    assert agree(model._side_by_side()[0], None)


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


def test_order_in_memory_does_not_matter():
    x = np.random.default_rng(2).standard_normal((4, 50, 5)).cumsum(axis=1)
    for other in (np.asfortranarray(x), x[:, :, [0, 1, 2, 3, 4]], x[::-1][::-1]):
        for f in (ns.bayes.rhat, ns.bayes.ess_bulk, ns.bayes.ess_tail, ns.bayes.mcse):
            np.testing.assert_allclose(f(other), [f(x[:, :, j]) for j in range(5)], rtol=1e-10)
