"""Kernels: twins, sums of a pass, Newton's method, EM and SQUAREM."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from numbastats import mixture
from numbastats._core.kernel import HOST_LOOPS
from numbastats._core.status import Status
from numbastats.mixture import arguments, engine, kernels
from numbastats.mixture.families import family_of
from numbastats.mixture.kernels import records
from tests.mixture.naive import best_climb, best_starts, direct_sums, paper_data, small_data


@pytest.mark.parametrize("family, K", [("inverse_gaussian", 2), ("gaussian", 3), ("gamma", 2), ("poisson", 2)])
def test_twins_agree(family, K):
    x = [small_data(3, 60), small_data(4, 37)]
    if family == "poisson":
        x = [np.floor(v) for v in x]
    if family == "gaussian":
        x = x[:1]
    options = dict(family=family, rng=5, n_init=2, method="newton")
    want = mixture.fit_many(x, K, device="cpu", workers=1, **options)
    got = mixture.fit_many(x, K, device="cuda", **options)
    assert (want.status == got.status).all() and (want.status == 0).all()
    np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-10)  # largest seen 1e-15
    np.testing.assert_allclose(got.means, want.means, rtol=1e-10)
    np.testing.assert_allclose(got.params, want.params, rtol=1e-9)


def test_ten_components_on_cuda():
    x = np.concatenate([np.linspace(k, k + 0.4, 4) for k in range(10)])
    par = np.stack([np.full(10, 0.1), np.arange(10) + 0.2, np.full(10, 0.02)])[None, None]
    options = dict(family="gaussian", init_params=par, method="em", max_iter=2)
    want, got = (mixture.fit_many([x], 10, device=d, **options) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-12)
    np.testing.assert_allclose(got.means, want.means, rtol=1e-10, atol=1e-12)


def test_em_and_squarem_twins_agree():
    x = [small_data(3, 40)]
    for method in ("bulkem", "squarem"):
        options = dict(family="inverse_gaussian", method=method, rng=5, n_init=1, max_iter=12)
        want, got = (mixture.fit_many(x, 2, device=d, **options) for d in ("cpu", "cuda"))
        np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-10)
        assert got.n_iter[0] == want.n_iter[0]


@pytest.mark.parametrize("apart", [0.5, 6.0, 3000.0])  # the last beyond 900 bits, where a block is done with the maximum
@pytest.mark.parametrize("K", [1, 2, 3, 6])
def test_sums_of_a_pass(K, apart):
    rng = np.random.default_rng(K)
    t1 = np.sort(np.concatenate([rng.normal(apart * k, 1.0, 250) for k in range(K)]))
    t2, m, v = t1 * t1, apart * np.arange(K), rng.uniform(0.5, 2.0, K)
    P = np.stack([np.log(rng.dirichlet(np.ones(K))) - 0.5 * np.log(v) - 0.5 * m * m / v, m / v, -0.5 / v])
    pairs = [(k, j) for k in range(K) for j in range(k + 1)]
    for level, w in ((1, np.ones(t1.size)), (2, rng.uniform(0.1, 3.0, t1.size))):
        S, ll, H = direct_sums(t1, t2, w, P)
        out = np.empty((1, 3 * K + 1 + 6 * len(pairs)))
        kernels.SUMS[0].serial(t1, t2, w, P, 1 << 16, level, 1, out)
        scale = w @ np.abs(np.stack([np.ones_like(t1), t1, t2])).T
        assert (np.abs(out[0, : 3 * K].reshape(K, 3) - S) <= 1e-14 * scale).all()  # largest seen 6e-16
        assert abs(out[0, 3 * K] - ll) <= 1e-13 * (abs(ll) + np.abs(P[0]).max())  # largest seen 6e-14
        six = w @ np.abs(np.stack([np.ones_like(t1), t1, t2, t1 * t1, t1 * t2, t2 * t2])).T
        for row, (k, j) in zip(out[0, 3 * K + 1 :].reshape(-1, 6), pairs, strict=True):
            assert (np.abs(row - H[k, j]) <= 1e-14 * six).all()  # largest seen 2e-16


@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_single_precision_agrees_with_double(precision):
    x = paper_data(10, 2000)
    a = mixture.fit_many(x, 2, rng=1, device="cpu", family="inverse_gaussian")
    b = mixture.fit_many(x, 2, rng=1, precision=precision, device="cpu", family="inverse_gaussian")
    assert (b.status == 0).all()
    np.testing.assert_allclose(b.loglik, a.loglik, rtol=1e-8)  # required 1e-5
    np.testing.assert_allclose(b.means, a.means, rtol=1e-8)


def test_log_likelihood_never_falls():
    x = small_data()
    for method in ("em", "bulkem"):
        last = -np.inf
        for cap in range(1, 12):
            ll = mixture.fit(x, 2, method=method, n_init=1, max_iter=cap, rng=6, device="cpu", family="inverse_gaussian").loglik
            assert ll >= last - 1e-12 * abs(ll)
            last = ll


@pytest.mark.parametrize("family", ["gaussian", "gamma", "exponential"])
def test_smallest_eigenvalue_is_one_minus_the_rate_of_em(family):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.gamma(3.0, 0.3, 150), rng.gamma(9.0, 0.6, 150)])
    x = rng.exponential(1.0, 300) * rng.choice([1.0, 30.0], 300) if family == "exponential" else x
    fit = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    assert fit.status == 0
    now, steps = [fit.weights + [0.01, -0.01], fit.centres * 1.01, None if family == "exponential" else fit.params], []
    while not steps or steps[-1] > 1e-8:
        *new, _ll = mixture.em_update(mixture.partial_stats(x, *now, family=family, device="cpu"), *now, family=family)
        steps.append(abs(new[0][0] - now[0][0]))
        now = new
    assert fit.min_eig == pytest.approx(1.0 - steps[-1] / steps[-2], rel=1e-3)


def test_starts_of_the_papers_program_are_three_observations():
    x = np.random.default_rng(5).wald(1.0, 3.0, 9)
    (found,) = mixture.bulkem([x], random_inits=1, max_iters=2, rng=4, device="cpu")
    assert found["num_iterations"] == 3
    triples = np.array([t for t in np.array(np.meshgrid(x, x, x)).reshape(3, -1).T if t[0] < t[1] < t[2]])
    means, lambdas = triples.mean(axis=1), 1.0 / ((1.0 / triples).mean(axis=1) - 1.0 / triples.mean(axis=1))
    for mu, lam in zip(found["init_mu"], found["init_lambda"], strict=True):
        at = np.argmin(np.abs(means - mu))
        assert mu == pytest.approx(means[at], rel=1e-12) and lam == pytest.approx(lambdas[at], rel=1e-9)


def test_the_papers_update_of_gamma_components():
    """The shape has the old mean: log a - psi(a) is the mean deviance x/m - 1 - log(x/m) about it."""
    x, start = small_data(), np.array([[0.4, 0.6], [3.0, 7.0], [4.0, 9.0]])
    r = mixture.responsibilities(x, *start, family="gamma", device="cpu")
    fit = mixture.fit(x, 2, family="gamma", method="bulkem", init_params=start[None], max_iter=1, device="cpu")
    np.testing.assert_allclose(fit.weights, r.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fit.means, x @ r / r.sum(axis=0), rtol=1e-12)
    z = x[:, None] / start[1]
    deviance = (r * (z - 1.0 - np.log(z))).sum(axis=0) / r.sum(axis=0)
    np.testing.assert_allclose(np.log(fit.params) - scipy.special.psi(fit.params), deviance, rtol=1e-11)


def test_decrement_is_twice_the_gain_that_is_left():
    x = small_data(n=400)
    best = mixture.fit(x, 2, family="gamma", rng=1, device="cpu")
    start = np.stack([best.weights, best.means * [0.98, 1.01], best.params * 1.02])[None]
    for tol in (1e-3, 1e-4):
        near = mixture.fit(x, 2, family="gamma", method="em", tol=tol, init_params=start, device="cpu")
        assert near.decrement > 1e-5 and near.decrement == pytest.approx(2.0 * (best.loglik - near.loglik), rel=0.05)


def test_what_the_host_calls_is_compiled_by_warmup():
    for name in kernels.on_host.__all__:
        assert HOST_LOOPS[f"mixture.{name}"] is getattr(kernels.on_host, name)


OPTIONS = arguments.Options("newton", "portfolio", None, 1e-9, 5000, 0.0, None, 1.0, None, 2.5, "double")


def slots_of(D, T, K, rng):
    """Empty slots of climbs, and the facts and rules of normal data sets of 400 distinct values."""
    hess = np.zeros((D * T, 3 * K - 1, 3 * K - 1))
    slots = records.Slots(*np.full((2, D, T), -1), np.ones((D * T, 4, 3, K)), np.zeros(D * T, records.STATE), hess)
    info = np.zeros(D, records.STATISTICS)
    info["mass"], info["count"], info["distinct"], info["spread"], info["scale"] = 400.0, 400, 400, 1.0, 1.0
    law = family_of("normal")
    rules = kernels.Rules(law.code, law.base, 1.0, 3 * K - 1, 30, 1, T, T, 0.015, 1, 2.5, 0)
    return slots, info, rules, OPTIONS.settings(law)


def test_the_best_starts_that_differ_are_climbed_from():
    """By the plain version; a second call goes on with what is left."""
    rng, (D, S, T, K) = np.random.default_rng(3), (40, 30, 4, 2)
    slots, info, rules, settings = slots_of(D, T, K, rng)
    par = np.abs(rng.normal(size=(D, S, 3, K)))
    par[:, :, 1] = rng.integers(1, 4, (D, S, K)) + 0.01 * rng.random((D, S, K))
    state, choice = np.zeros(D * S, records.STATE), np.zeros(D, records.CHOICE)
    state["objective"] = np.round(rng.normal(size=D * S), 2)
    state["objective"][rng.random(D * S) < 0.05] = -np.inf
    state["status"] = np.where(rng.random(D * S) < 0.2, Status.COLLAPSED, Status.OK)
    usable, means = np.empty((D, S), np.int64), np.empty((D, S, K))
    good = (state["status"] == Status.OK).reshape(D, S)
    objective = np.where(np.isfinite(state["objective"]), state["objective"], -1e300).reshape(D, S)
    kernels.PICK.serial(info, rules, settings, 0, par, state, usable, means, slots, choice)
    assert (choice["lost"] == (~good).sum(axis=1)).all() and (choice["n_starts"] == S).all()
    for again in (0, 1):
        for d in range(D):
            want = best_starts(objective[d], par[d, :, 1], good[d], 2 * T)[again * T : again * T + T]
            assert list(zip(slots.start[d].tolist(), slots.cover[d].tolist(), strict=True))[: len(want)] == want
            assert (slots.start[d, len(want) :] == -1).all()
            for t, (r, _) in enumerate(want):
                assert (slots.pars[d * T + t] == par[d, r]).all() and slots.climbs["phase"][d * T + t] == records.WARM
        choice["left"] = 1
        kernels.PICK.serial(info, rules, settings, 1, par, state, usable, means, slots, choice)


def test_the_best_climb_is_the_fit():
    """By the plain version: grades before objectives, hits, runner-up; components in order; what is left to climb from."""
    rng, (D, T, K) = np.random.default_rng(4), (60, 5, 2)
    slots, info, rules, _ = slots_of(D, T, K, rng)
    climbs, M = slots.climbs, D * T
    slots.start[:], slots.cover[:] = np.arange(T), rng.integers(1, 4, (D, T))
    climbs["objective"], climbs["status"] = np.round(rng.normal(size=M), 1) - 100.0, rng.choice([0, 0, 0, 1, 11, 12], M)
    climbs["loglik"], climbs["passes"] = climbs["objective"] - 1.0, rng.integers(1, 9, M)
    slots.pars[:, :, 0], slots.pars[:, :, 1] = 0.5, rng.normal(size=(M, 1, K))
    keeps = rng.random(M) < 0.7
    slots.pars[~keeps, :, 0] = [1.0 - 1e-3, 1e-3]  # 0.4 observations
    terms = np.tile([0.5, 2.0, -1.0, -np.inf], (D, 1))
    choice, usable = np.zeros(D, records.CHOICE), np.ones((D, 3), np.int64)
    choice["lost"] = 1
    fit, hess, order = np.empty((D, 3, K)), np.empty((D, 0, 0)), np.empty((D, K), np.int64)
    kernels.CHOOSE[0].serial(info, rules, terms, usable, slots, np.empty((D, T, 2)), choice, fit, hess, order)
    for d in range(D):
        own = slice(d * T, d * T + T)
        objective, status, cover = climbs["objective"][own], climbs["status"][own], slots.cover[d]
        which, hits, second = best_climb(objective, status, keeps[own], cover)
        now, point = choice[d], slots.pars[d * T + which, records.CURRENT]
        if status[which] == Status.COLLAPSED:
            assert now.status == Status.COLLAPSED and np.isnan(fit[d]).all()
            continue
        certified = status[which] == 0
        assert now.status == (Status.INADMISSIBLE if certified and not keeps[own][which] else status[which])
        assert (now.hits, now.n_passes) == (hits, climbs["passes"][own].sum()) and now.objective == objective[which] + 2.0
        np.testing.assert_equal(now.runner_up, second + 2.0)
        assert now.n_singular == 1 + cover[status == Status.COLLAPSED].sum()
        assert (fit[d] == point[:, np.argsort(-point[1])]).all()  # the sign of the units is -1
        assert now.left == (0 if (keeps[own] & (status != Status.COLLAPSED)).any() else 3)


@pytest.mark.parametrize("n", [3, 4, 61, 500])
def test_of_a_data_set_and_its_mirror_image_one_is_turned(n):
    law = family_of("normal")
    x = np.random.default_rng(n).normal(size=(50, n))
    turned = []
    for sign in (1.0, -1.0):
        data = arguments.arrange(arguments.flatten(sign * x, None, None), law)
        p = engine.prepare(data, 0, 50, np.arange(50), law, OPTIONS, True)
        turned.append(p.info["turned"] > 0)
    skew = ((x - x.mean(axis=1, keepdims=True)) ** 3).sum(axis=1)
    assert (turned[0] == (skew < 0.0)).all() and (turned[1] == (skew > 0.0)).all()


@pytest.mark.parametrize("family", ["gamma", "student_t", "negative_binomial"])
def test_entropy_of_the_responsibilities(family):
    """ICL by the responsibilities of the fit."""
    x = small_data(3, 60)
    x = np.floor(x) if family == "negative_binomial" else x
    options = dict(family=family, rng=1, n_init=2, criterion="icl")
    fit = mixture.fit(x, (1, 2), **options)
    r = mixture.responsibilities(x, fit.weights, fit.centres, fit.params, family=family)
    entropy = -np.sum(r * np.log(np.maximum(r, 1e-300)))
    free = (2 + (family == "student_t") + 1) * fit.n_components - 1
    chosen = fit.selection["criterion"][fit.selection["chosen"]]
    assert chosen == pytest.approx(free * np.log(60) - 2.0 * fit.loglik + 2.0 * entropy, rel=1e-12)
