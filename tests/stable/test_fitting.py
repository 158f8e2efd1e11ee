"""Fits of stable distributions: recovery, equivariance, many data sets, callbacks."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from tests.stable.naive import draw

fit = ns.stable.fit


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.5, 0.5), (1.2, 0.0), (1.8, -0.5), (1.0, 0.3), (0.9, -0.6), (0.6, 0.5), (1.05, 0.9), (1.95, 0.0)]
)
def test_maximum_likelihood_recovers_the_law(alpha, beta):
    truth = np.array([alpha, beta, 7.0, 3.0])
    for seed in (1, 2):
        x = draw(alpha, beta, seed=seed)
        found = fit(x)
        assert found.converged and found.message == "ok" and found.method == "ml"
        assert (abs(found.params - truth) < 4.0 * found.se).all()
        assert found.loglik >= ns.stable.loglik(x, *truth)
        np.testing.assert_allclose(found.loglik, ns.stable.loglik(x, *found.params), rtol=1e-12)
        # the score vanishes, judged by the information
        D = ns.stable.score(x, *found.params)
        g = D.sum(axis=0)
        assert g @ np.linalg.solve(D.T @ D, g) < 1e-5


def test_equivariance_and_parameterisations():
    x = draw(1.3, 0.6, 500)
    a, b = fit(x), fit(5.0 - 1e-6 * x)
    np.testing.assert_allclose(b.params, [a.params[0], -a.params[1], 5.0 - 1e-6 * a.params[2], 1e-6 * a.params[3]], rtol=2e-4)
    np.testing.assert_allclose(b.se * [1, 1, 1e6, 1e6], a.se, rtol=1e-3)
    s1 = fit(x, param="S1")
    for scale in (1e-200, 1e-9, 1e200):  # squares that are no numbers, and steps of the delta method
        for found, param in ((a, "S0"), (s1, "S1")):
            scaled = fit(x * scale, param=param)
            np.testing.assert_allclose(scaled.se, found.se * [1, 1, scale, scale], rtol=1e-8)
    np.testing.assert_allclose(s1.params, [float(v) for v in ns.stable.convert(*a.params, to="S1")], rtol=1e-9)
    assert s1.distribution.pdf(1.0) == pytest.approx(a.distribution.pdf(1.0), rel=1e-9)
    assert s1.se[2] > a.se[2] and s1.se[0] == pytest.approx(a.se[0])
    restarted = fit(x, param="S1", start=s1.params)
    np.testing.assert_allclose(restarted.params, s1.params, rtol=1e-4)


def test_fixed_parameters():
    x = draw(1.0, 0.0, 500, loc=-2.0, scale=0.5)
    cauchy = fit(x, fixed={"alpha": 1.0, "beta": 0.0})
    loc, scale = scipy.stats.cauchy.fit(x)
    np.testing.assert_allclose(cauchy.params, [1.0, 0.0, loc, scale], rtol=1e-4)
    np.testing.assert_allclose(cauchy.se[2:], scale * math.sqrt(2 / 500), rtol=0.02)
    assert np.isnan(cauchy.se[:2]).all()
    whole = fit(x)
    assert cauchy.loglik <= whole.loglik
    for name, value in (("beta", 0.3), ("loc", -2.1), ("scale", 0.6)):
        held = fit(x, fixed={name: value})
        assert (
            held.params[ns.stable.arguments.NAMES.index(name)] == pytest.approx(value, rel=1e-12) and held.loglik <= whole.loglik
        )
    for method in ("quantile", "ecf", "small", "grid"):
        assert fit(x, method, fixed={"beta": 0.25}).params[1] == 0.25
    symmetric = {param: fit(x, fixed={"beta": 0.0, "loc": -2.1}, param=param) for param in ("S0", "S1")}  # the same law in both
    np.testing.assert_array_equal(symmetric["S1"].params, symmetric["S0"].params)
    for wrong in (dict(method="grid"), dict(fixed={"loc": 0.0, "alpha": 1.0}), dict(bounds={"alpha": (0.9995, 1.0004)})):
        with pytest.raises(ValueError, match="a fixed loc in S1 needs another method than 'grid', and alpha other than 1"):
            fit(x, **dict(dict(fixed={"loc": 0.0}, param="S1"), **wrong))
    everything = fit(x, fixed=dict(alpha=1.2, beta=0.1, loc=0.0, scale=2.0))
    assert everything.params.tolist() == [1.2, 0.1, 0.0, 2.0]


def test_criteria():
    x = ns.stable.rvs(1.6, 0.2, size=300, rng=1)
    w = np.linspace(0.5, 1.5, 300)
    for options, free in (({}, 4), ({"fixed": {"beta": 0.0, "loc": 0.0}}, 2), ({"weights": w}, 4)):
        found = fit(x, **options)
        assert found.n_free == free and found.n_obs == pytest.approx(300.0, rel=1e-14)
        assert found.aic == 2 * free - 2 * found.loglik
        assert found.bic == pytest.approx(free * np.log(300.0) - 2 * found.loglik, rel=1e-14)
    many = ns.stable.fit_many([x, [1.0]], "quantile")
    assert many.n_obs.tolist() == [300.0, 0.0] and many.n_free.tolist() == [4, 4]
    assert np.isnan(many[1].aic) and np.isnan(many[1].bic)


def test_gaussian_data():
    x = np.random.default_rng(6).normal(4.0, 2.0, 800)  # about half of all Gaussian samples have their maximum at alpha = 2
    found = fit(x)
    assert found.params[0] == 2.0 and found.params[1] == 0.0 and found.se[1] == np.inf and "Gaussian" in found.message
    np.testing.assert_allclose(found.params[2:], [x.mean(), x.std() / math.sqrt(2)], rtol=1e-9)
    np.testing.assert_allclose(found.se[2], x.std() / math.sqrt(800), rtol=1e-6)
    sure = fit(ns.quantile.ndtri((np.arange(500) + 0.5) / 500))  # lighter tails than any sample of a stable law
    assert sure.params[0] == 2.0 and sure.params[1] == 0.0


def test_no_convergence_where_beta_has_no_meaning():
    """A step in beta next to alpha = 2 changes nothing but the score of alpha."""
    x = ns.stable.rvs(2.0, 0.0, -0.535, 1.0, size=100, rng=809449979)
    found = fit(x, fixed={"loc": 0.4435, "scale": 1.0767})
    assert found.loglik > ns.stable.loglik(x, 1.8, -1.0, 0.4435, 1.0767)


def test_beta_on_its_boundary():
    x = draw(1.5, 1.0)
    found = fit(x)
    assert (
        found.params[1] == 1.0
        and "boundary" in found.message
        and np.isnan(found.se[1])
        and np.isfinite(found.se[[0, 2, 3]]).all()
    )
    mirrored = fit(-x)
    assert mirrored.params[1] == -1.0 and mirrored.loglik == pytest.approx(found.loglik, rel=1e-9)
    positive = draw(0.5, 1.0, loc=3.0)  # Levy: S0 loc 3 is the end point 0
    assert abs(fit(positive, fixed={"alpha": 0.5, "beta": 1.0}, param="S1").params[2]) < 0.1


def test_many_data_sets():
    sets = [draw(1.5, 0.0, 200, 1), draw(0.7, 0.3, 150, 2), np.array([1.0, 2.0]), draw(1.9, 0.0, 60, 3), np.full(30, 2.0)]
    fits = ns.stable.fit_many(sets)
    assert fits.params.shape == (5, 4) and fits.cov.shape == (5, 4, 4)
    for i in (0, 1, 3):
        one = fit(sets[i], workers=1)
        assert abs(fits.loglik[i] - one.loglik) < 1e-7 and fits[i].message == one.message  # observed 3e-10
        assert (abs(fits.params[i] - one.params) <= 1e-4 * np.nan_to_num(one.se)).all()
    assert np.isnan(fits.params[[2, 4]]).all() and not fits.converged[[2, 4]].any()
    assert (fits[-2].params == fits.params[3]).all() and [f.loglik for f in fits][:2] == fits.loglik[:2].tolist()
    with pytest.raises(TypeError, match="pass an integer"):
        fits[1:3]
    with pytest.raises(IndexError):
        fits[5]
    assert "at least 5" in fits.message[2] and "no spread" in fits.message[4]
    offsets = np.cumsum([0] + [len(s) for s in sets])
    again = ns.stable.fit_many((np.concatenate(sets), offsets))
    np.testing.assert_array_equal(again.params, fits.params)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(ns.stable.fit_many(sets, workers=pool).params, fits.params)
    ragged = np.full((2, 200), np.nan)
    ragged[0], ragged[1, :150] = sets[0], sets[1]
    np.testing.assert_array_equal(ns.stable.fit_many(ragged).params, fits.params[:2])
    assert len(ns.stable.fit_many([])) == 0
    with pytest.raises(ValueError, match="sequence of arrays"):
        ns.stable.fit_many(sets[0])
    with pytest.raises(ValueError, match="workers=0"):
        ns.stable.fit_many(sets, workers=0)
    for wrong in (dict(se="robust"), dict(nan_policy="drop"), dict(fixed={"beta": 2.0})):
        with pytest.raises(ValueError, match="use"):
            ns.stable.fit_many(sets, **wrong)
    with pytest.raises(ValueError, match="offsets"):
        ns.stable.fit_many((sets[0], np.array([0, 5])))


def test_callback_stops():
    seen = []
    found = fit(draw(1.5, 0.3, 300), callback=lambda i, p, total: seen.append((i, total)) or i == 2)
    assert not found.converged and "callback" in found.message
    assert [i for i, _ in seen][:2] == [1, 2] and seen[1][1] >= seen[0][1] and found.params.shape == (4,)


@pytest.mark.parametrize("alpha", [1.5, 0.3])
def test_callback_sees_laws(alpha):
    x = draw(alpha, 0.3, 200)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75], method="hazen")
    z, seen = (x - middle) / (0.5 * (high - low)), []
    fit(x, callback=lambda i, p, total: seen.append((p, total)))
    assert len(seen) > 3
    for p, total in seen:
        assert total == pytest.approx(ns.stable.loglik(z, *p), abs=1e-9)  # observed 2e-12


def test_callback_of_other_methods():
    seen = []
    found = fit(draw(1.5, 0.3, 100), "grid", callback=lambda i, p, total: seen.append(i) or i == 2)
    assert seen == [1, 2] and not found.converged and "callback" in found.message
    with pytest.raises(ValueError, match="callback"):
        fit(draw(1.5, 0.3, 100), "ecf", callback=print)


@pytest.mark.parametrize("method", ["ml", "grid", "ecf", "quantile", "small"])
def test_impossible_data_are_said(method):
    x = draw(1.6, 0.4, 300, loc=3.0, scale=2.0)
    everything = dict(alpha=0.5, beta=1.0, loc=0.0, scale=1.0)
    with pytest.warns(ns.ConvergenceWarning, match="the likelihood is 0"):
        found = fit(x, method, fixed=everything)
    assert not found.converged and found.loglik == -np.inf
    assert not ns.stable.fit_many([x], method, fixed=everything).converged[0]


def test_the_ends_of_simple_estimators_are_said():
    x = ns.stable.rvs(0.1, 0.3, size=20_000, rng=1)
    for estimate, end in ((ns.stable.fit_quantile, 0.5), (ns.stable.fit_ecf, 0.2)):
        for options in ({}, {"fixed": {"beta": 0.3}}):
            with pytest.warns(ns.ConvergenceWarning, match=f"this method ends at {end}"):
                found = estimate(x, **options)
            assert not found.converged and found.params[0] == end
    with pytest.warns(ns.ConvergenceWarning, match="this method ends at 0.5"):
        assert not ns.stable.fit_quantile(x, fixed={"alpha": 0.3}).converged  # its scale is that of 0.5
    assert ns.stable.fit_quantile(draw(1.5, 0.0)).converged and ns.stable.fit_ecf(draw(1.99, 0.0)).converged


def test_an_estimate_on_its_bound_says_what_to_do():
    found = fit(draw(1.2, 1.0))
    assert np.isnan(found.se[1]) and "boundary: beta = 1, without a standard error: its interval is one-sided" in found.message


def test_threads_fit_a_data_set_each():
    """Numbers of threads did nothing; filters of warnings are left alone."""
    x = [draw(1.5, 0.3, 200, 1), draw(0.3, 0.2, 60, 2), np.full(9, 1.0), draw(1.9, 0.0, 100, 3), draw(1.2, 1.0, 300, 4)]
    filters = warnings.filters[:]
    one = ns.stable.fit_many(x, workers=1)
    seen = set()
    real = ns.stable.fitting._fit_one

    def noted(*args, **options):
        seen.add(threading.get_ident())
        time.sleep(0.05)  # the other thread gets its turn
        return real(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numbastats.stable.fitting._fit_one", noted)
        two = ns.stable.fit_many(x, workers=2)
    assert len(seen) == min(2, numba.config.NUMBA_NUM_THREADS)
    for name in ("params", "se", "cov", "loglik", "n_eval", "start"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.message == two.message and warnings.filters == filters


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_fits(workers):
    """Also those of other threads, which look at every evaluation of the likelihood."""
    large = np.random.default_rng(1).standard_t(1.7, 1_000_000)
    sent = []

    def send():
        time.sleep(1.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        while True:  # until the signal comes
            ns.stable.fit_many([large] * 4, workers=workers)
    assert time.perf_counter() - sent[0] < 10.0


def test_a_batch_that_mostly_fails_warns_once():
    z = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.warns(ns.ConvergenceWarning, match=r"200 of 200 fits ended without.*index 0: .*at least 5.*pass data\.T") as said:
        fits = ns.stable.fit_many(z)
    assert len(said) == 1 and len(fits) == 200 and not fits.converged.any()
    sets = {"a": z[:, 0], "b": [1.0], "c": [2.0], "d": [3.0]}
    with pytest.warns(ns.ConvergenceWarning, match="3 of 4 fits ended without a maximum, the first, at index 1") as said:
        ns.stable.fit_many(sets, "quantile")
    assert len(said) == 1 and "data.T" not in str(said[0].message)
    with pytest.warns(ns.ConvergenceWarning) as said:
        ns.distributions.Stable.fit(z[:8], axis=1)
    assert len(said) == 1
    tied = np.where(np.arange(3)[:, None] < 2, 0.0, z[:30, 0])
    with pytest.warns(ns.ConvergenceWarning, match="2 of 3 fits") as said:  # more than half, and no more than three quarters
        ns.distributions.Stable.fit(tied, method="quantile")
    assert len(said) == 1
