"""Kernels: twins, sums of a pass, Newton's method, EM and SQUAREM."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from numbastats import mixture
from numbastats._core.kernel import HOST_LOOPS
from numbastats.mixture import kernels
from tests.mixture.naive import direct_sums, paper_data, small_data


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
