"""Mixtures: optima against references, twins, many data sets, bad input, the paper's program."""

from __future__ import annotations

import inspect
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats
from numba import cuda

from numbastats import mixture
from numbastats._core.errors import ConvergenceWarning, NotFittedError
from numbastats.mixture import distribution, kernels, layout, pipeline
from numbastats.mixture.families import family_of
from numbastats.scalar import families as fam

PUBLIC = Path(os.environ.get("MIXTURE_REFERENCE", Path(__file__).parents[2] / "shared" / "reference" / "mixture"))
TWO = ("inverse_gaussian", "gaussian", "gamma", "lognormal")


def paper_data(D, n, seed=2015):
    """The generator of the paper's examples: 0.3 IG(1, 30) + 0.7 IG(3, 0.2)."""
    rng = np.random.default_rng(seed)
    first = rng.random((D, n)) < 0.3
    return np.where(first, rng.wald(1.0, 30.0, (D, n)), rng.wald(3.0, 0.2, (D, n)))


def small_data(seed=1, n=90):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.4, rng.gamma(4.0, 0.5, n), rng.gamma(12.0, 0.7, n))


def log_density(family, x, m, p):
    """By scipy.stats, in the parameters of `fit_many`."""
    if family == "inverse_gaussian":
        return scipy.stats.invgauss.logpdf(x, m / p, scale=p)
    if family == "gaussian":
        return scipy.stats.norm.logpdf(x, m, np.sqrt(p))
    if family == "gamma":
        return scipy.stats.gamma.logpdf(x, p, scale=m / p)
    if family == "lognormal":
        return scipy.stats.lognorm.logpdf(x, np.sqrt(p), scale=np.exp(m))
    if family == "inverse_gamma":
        return scipy.stats.invgamma.logpdf(x, p, scale=p / m)
    if family == "reciprocal_inverse_gaussian":
        return scipy.stats.invgauss.logpdf(1 / x, m / p, scale=p) - 2 * np.log(x)
    if family == "exponential":
        return scipy.stats.expon.logpdf(x, scale=m)
    if family == "poisson":
        return scipy.stats.poisson.logpmf(x, m)
    if family == "geometric":
        return scipy.stats.geom.logpmf(x + 1, 1 / (1 + m))
    if family == "rayleigh":
        return scipy.stats.rayleigh.logpdf(x, scale=np.sqrt(m))
    if family == "maxwell":
        return scipy.stats.maxwell.logpdf(x, scale=np.sqrt(m / 3))
    if family == "half_normal":
        return scipy.stats.halfnorm.logpdf(x, scale=np.sqrt(m))
    if family[0] == "weibull":
        return scipy.stats.weibull_min.logpdf(x, family[1], scale=m ** (1 / family[1]))
    if family[0] == "pareto":
        return scipy.stats.pareto.logpdf(x, 1 / m, scale=family[1])
    return scipy.stats.gamma.logpdf(x, family[1], scale=m / family[1])


def log_likelihood(family, x, r, w=1.0):
    parts = [np.log(r.weights[k]) + log_density(family, x, r.centres[k], r.params[k]) for k in range(r.n_components)]
    return float(np.sum(w * scipy.special.logsumexp(np.stack(parts), axis=0)))


# --- scalars --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [1e-3, 0.1, 1.0, 7.0, 15.999, 16.001, 1e4, 1e8])
def test_gamma_terms(a):
    import mpmath as mp

    with mp.workdps(40):
        x = mp.mpf(a)
        exact = (mp.log(x) - mp.psi(0, x), 1 / x - mp.psi(1, x), x * mp.log(x) - mp.loggamma(x) - x)
        got = fam.gamma_terms(a)
        for g, e, limit in zip(got, exact, (4e-15, 4e-14, 4e-14), strict=True):
            assert abs(g / e - 1) < limit  # largest seen 2.4e-15, 2.8e-14, 2.6e-14
        assert abs(fam.gamma_dispersion(float(exact[0])) * a - 1) < 2e-14


CODES = [(fam.INVERSE_GAUSSIAN, 3.0, 0.1), (fam.GAUSSIAN, -4.0, 2.0), (fam.GAMMA, 3.0, 0.25), (fam.FIXED_GAMMA, 2.0, 1.0)]
CODES += [(fam.POISSON, 2.0, 1.0), (fam.GEOMETRIC, 2.0, 1.0)]


@pytest.mark.parametrize("code, m, v", CODES)
def test_derivatives_of_the_coefficients(code, m, v):
    c, shape, h = 2.3, 1.5, 1e-5
    first = np.array(fam.first_derivatives(code, shape, m, v, c))
    second = np.array(fam.second_derivatives(code, shape, m, v, c))

    def at(dm, dv):
        return np.array(fam.coefficients(code, shape, fam.moved(code, m, dm), v * np.exp(dv), c))

    dm = (at(h, 0) - at(-h, 0)) / (2 * h)
    np.testing.assert_allclose([first[0], first[2]], dm[:2], rtol=1e-8, atol=1e-8)
    ddm = (at(h, 0) - 2 * at(0, 0) + at(-h, 0)) / h**2
    np.testing.assert_allclose([second[0], second[3]], ddm[:2], rtol=2e-4, atol=2e-4)
    if code <= fam.GAMMA:
        dv = (at(0, h) - at(0, -h)) / (2 * h)
        np.testing.assert_allclose([first[1], first[3], first[4]], dv, rtol=1e-8, atol=1e-8)
        ddv = (at(0, h) - 2 * at(0, 0) + at(0, -h)) / h**2
        np.testing.assert_allclose([second[2], second[5], second[6]], ddv, rtol=2e-4, atol=2e-4)
        mixed = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h)
        np.testing.assert_allclose([second[1], second[4]], mixed[:2], rtol=2e-4, atol=2e-4)


def test_the_papers_m_step_is_the_exact_one_plus_a_deviance():
    x = small_data()
    r = np.random.default_rng(3).random(x.size)
    c, old = x.mean(), 2.7
    m, v = fam.maximise(0, r.sum(), float((r * (x - c)).sum()), float((r * (x - c) ** 2 / (c * c * x)).sum()), float(c), 0.0, 0.0)
    paper = np.sum(r * (x - old) ** 2 / (old**2 * x)) / r.sum()
    assert abs(fam.with_old_mean(0, m, v, old) / paper - 1) < 1e-14  # section 3.1.2; largest seen 4e-16


# --- optima ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(reference):
    return json.loads((reference / "mixture" / "mixture.json").read_text())


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", "lognormal", "exponential", "poisson", "geometric"])
def test_reference(table, family):
    row = table[family]
    x = np.array(row["data"], float)
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu", workers=1)
    assert r.status == 0 and r.converged
    assert abs(r.loglik / float(row["loglik"]) - 1) < 1e-13  # required 1e-9
    for got, name in ((r.weights, "weights"), (r.centres, "means"), (r.params, "params")):
        if row[name]:
            np.testing.assert_allclose(got, np.array(row[name], float), rtol=1e-9)  # required 1e-6
    assert abs(log_likelihood(family, x, r) - r.loglik) < 1e-9


@pytest.mark.parametrize("name", ["bmi", "enzyme", "stamps", "faithful_eruptions"])
@pytest.mark.parametrize("code, family", [("IG", "inverse_gaussian"), ("GA", "gaussian")])
def test_public_data(name, code, family):
    if not (PUBLIC / "reference_public.json").exists():
        pytest.skip("the public data are not here; name their folder by MIXTURE_REFERENCE")
    references = json.loads((PUBLIC / "reference_public.json").read_text())
    x = np.loadtxt(PUBLIC / f"{name}.csv", skiprows=1)
    for K in (1, 2, 3):
        want = references[f"{name}|{code}|{K}"]
        r = mixture.fit(x, K, family=family, rng=7, n_init=None, device="cpu", workers=1)
        assert r.status == 0
        assert abs(r.loglik / float(want["loglik"]) - 1) < 1e-12  # required 1e-9, largest seen 1e-13
        second = np.array(want["lambda" if code == "IG" else "variances"], float)
        for got, exact in ((r.weights, want["weights"]), (r.means, want["means"]), (r.params, second)):
            np.testing.assert_allclose(got, np.array(exact, float), rtol=1e-8)  # required 1e-6, largest seen 1e-11
        assert abs(r.bic - float(want["bic"])) < 1e-6 and abs(r.aic - float(want["aic"])) < 1e-6


OTHERS = ["inverse_gamma", "reciprocal_inverse_gaussian", "rayleigh", "maxwell", "half_normal", ("weibull", 1.5), ("gamma", 2.0)]


@pytest.mark.parametrize("family", [*OTHERS, ("pareto", 0.1)], ids=str)
def test_other_families(family):
    x = small_data() + (0.1 if family == ("pareto", 0.1) else 0.0)
    r = mixture.fit(x, 1, family=family, rng=1, device="cpu", workers=1)
    assert r.status == 0 and abs(log_likelihood(family, x, r) / r.loglik - 1) < 1e-12
    two = mixture.fit(x, 2, family=family, rng=1, device="cpu", workers=1)
    assert two.status in (0, 2, 3)  # a family that does not fit may have no proper second component
    if two.status == 0:
        assert two.loglik > r.loglik and abs(log_likelihood(family, x, two) / two.loglik - 1) < 1e-12


def test_all_methods_find_the_same_optimum():
    x = small_data(n=150)
    fits = {
        m: mixture.fit(x, 2, method=m, rng=1, tol=1e-12, n_init=10, device="cpu", workers=1, family="inverse_gaussian")
        for m in ("newton", "squarem", "em")
    }
    for r in fits.values():
        assert r.status == 0 and abs(r.loglik - fits["newton"].loglik) < 1e-8
        np.testing.assert_allclose(r.means, fits["newton"].means, rtol=1e-4)
    assert fits["newton"].n_iter < fits["squarem"].n_iter < fits["em"].n_iter


@pytest.mark.parametrize("method", ["squarem", "em"])
def test_a_gradient_does_not_certify_a_redundant_component(method):
    """Two of three components become one: the eigenvalue of their shares is 0 at the end, and about the gradient before it."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.exponential(1.0, 300) * rng.choice([1.0, 8.0], 300)
        exact = mixture.fit(x, 3, family="exponential", rng=0, device="cpu", workers=1)
        slow = mixture.fit(x, 3, family="exponential", method=method, n_init=10, rng=0, device="cpu", workers=1)
        if abs(slow.loglik - exact.loglik) < 1e-6:
            assert slow.status == exact.status


def test_fallback_reaches_a_certified_optimum_where_components_overlap():
    rng = np.random.default_rng(11)
    x = np.where(rng.random(2000) < 0.4, rng.wald(1.0, 5.0, 2000), rng.wald(1.6, 4.0, 2000))
    r = mixture.fit(x, 2, rng=1, device="cpu", workers=1, family="inverse_gaussian")
    assert r.status == 0 and r.decrement < 1e-9 and r.min_eig > 1e-8


def test_papers_data_all_certified_at_the_best_known():
    x = paper_data(60, 2000, 77)
    batch = mixture.fit_many(x, 2, rng=1, device="cpu", workers=1, family="inverse_gaussian")
    assert (batch.status == 0).all()
    more = mixture.fit_many(x, 2, rng=2, n_init=120, device="cpu", workers=1, family="inverse_gaussian")
    assert (np.abs(batch.loglik - more.loglik) < 1e-6).all()


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma"])
def test_standard_errors(family):
    x = small_data(n=200)
    r = mixture.fit(x, 2, family=family, rng=1, se=True, cov=True, device="cpu", workers=1)
    theta = np.concatenate([[r.weights[0]], r.means, r.params])

    def f(t):
        w = np.array([t[0], 1 - t[0]])
        parts = np.stack([np.log(w[k]) + log_density(family, x, t[1 + k], t[3 + k]) for k in range(2)])
        return float(np.sum(scipy.special.logsumexp(parts, axis=0)))

    h = 3e-4 * np.maximum(np.abs(theta), 0.1)
    H = np.empty((5, 5))
    for i in range(5):
        for j in range(5):
            a, b = np.eye(5)[i] * h[i], np.eye(5)[j] * h[j]
            H[i, j] = (f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b)) / (4 * h[i] * h[j])
    cov = np.linalg.inv(-H)
    se = np.sqrt(np.diag(cov))
    inner = np.array([0, 2, 3, 4, 5])
    assert (np.abs(r.cov[np.ix_(inner, inner)] - cov) <= 5e-5 * np.outer(se, se)).all()
    np.testing.assert_allclose(r.cov[1], -r.cov[0], rtol=1e-9)  # the weights add up to 1
    got = np.concatenate([r.se["weights"][:1], *(r.se[name] for name in r.parameters)])
    np.testing.assert_allclose(got, se, rtol=2e-5)  # the differences are exact to 1e-5
    assert abs(r.se["weights"][1] / r.se["weights"][0] - 1) < 1e-9


# --- devices, workers, chunks ------------------------------------------------------------------------------------------------


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


def test_layouts_of_the_starts_on_cuda_agree_bit_for_bit(monkeypatch):
    x = [small_data(3, 40), small_data(4, 25)]
    options = dict(family="inverse_gaussian", rng=5, n_init=3, max_iter=3, device="cuda")
    want = mixture.fit_many(x, 2, **options)
    monkeypatch.setattr(pipeline, "LAYOUT", "queue")
    got = mixture.fit_many(x, 2, **options)
    assert got.means.tobytes() == want.means.tobytes() and got.loglik.tobytes() == want.loglik.tobytes()


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


def test_workers_chunks_and_executors_do_not_matter(monkeypatch):
    x = paper_data(24, 300)
    want = mixture.fit_many(x, 2, rng=3, device="cpu", workers=1, family="inverse_gaussian")
    monkeypatch.setattr("numbastats._core.dispatch.PARALLEL_FROM", 0)
    results = [mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian")]
    monkeypatch.setattr("numbastats.mixture.fitting.IN_FLIGHT", 1000)
    results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian"))
    with ThreadPoolExecutor(2) as pool:
        results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=pool, family="inverse_gaussian"))
    monkeypatch.setattr("numbastats.mixture.fitting.CHUNK_COST", 1)
    results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian"))
    monkeypatch.setattr("numbastats.mixture.pipeline.PIECE", 1.0)
    results += [mixture.fit_many(x, 2, rng=3, device="cpu", workers=w, family="inverse_gaussian") for w in (1, 2)]
    for r in results:
        for name in ("loglik", "weights", "means", "params", "hits"):
            assert getattr(r, name).tobytes() == getattr(want, name).tobytes(), name
    part = mixture.fit_many(x[10:], 2, rng=3, device="cpu", dataset_index=10, family="inverse_gaussian")
    assert part.means.tobytes() == want.means[10:].tobytes()


def test_other_data_sets_of_the_call_do_not_matter():
    x = [paper_data(1, 300)[0], paper_data(1, 600)[0], paper_data(1, 20)[0]]
    together = mixture.fit_many(x, 2, rng=3, device="cpu", family="inverse_gaussian")
    for i, v in enumerate(x):
        alone = mixture.fit_many([v], 2, rng=3, device="cpu", dataset_index=i, family="inverse_gaussian")
        assert alone.means.tobytes() == together.means[i : i + 1].tobytes() and alone.n_passes[0] == together.n_passes[i]


def direct_sums(t1, t2, w, P):
    """Sums of a pass by NumPy: (K, 3), log-likelihood, (K, K, 6) moments."""
    logits = P[0][:, None] + P[1][:, None] * t1 + P[2][:, None] * t2
    total = scipy.special.logsumexp(logits, axis=0)
    r = np.exp(logits - total)
    T = np.stack([np.ones_like(t1), t1, t2])
    T6 = np.stack([T[0], t1, t2, t1 * t1, t1 * t2, t2 * t2])
    both = np.eye(P.shape[1])[:, :, None] * r - r[:, None] * r
    return (w * r) @ T.T, np.dot(w, total), np.einsum("kln,mn->klm", w * both, T6)


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
        kernels.SUMS.serial(t1, t2, w, P, level, 1, out)
        scale = w @ np.abs(np.stack([np.ones_like(t1), t1, t2])).T
        assert (np.abs(out[0, : 3 * K].reshape(K, 3) - S) <= 1e-14 * scale).all()  # largest seen 6e-16
        assert abs(out[0, 3 * K] - ll) <= 1e-13 * (abs(ll) + np.abs(P[0]).max())  # largest seen 6e-14
        six = w @ np.abs(np.stack([np.ones_like(t1), t1, t2, t1 * t1, t1 * t2, t2 * t2])).T
        for row, (k, j) in zip(out[0, 3 * K + 1 :].reshape(-1, 6), pairs, strict=True):
            assert (np.abs(row - H[k, j]) <= 1e-14 * six).all()  # largest seen 2e-16


def test_large_data_set_in_chunks(monkeypatch):
    x = paper_data(1, 3000)[0]
    want = mixture.fit(x, 2, rng=1, device="cpu", workers=1, family="inverse_gaussian")
    monkeypatch.setattr(pipeline, "LARGE", 2000)
    monkeypatch.setattr("numbastats._core.dispatch.PARALLEL_FROM", 0)
    results = [mixture.fit(x, 2, rng=1, device="cpu", workers=w, family="inverse_gaussian") for w in (1, 2)]
    assert results[0].means.tobytes() == results[1].means.tobytes()
    assert abs(results[0].loglik / want.loglik - 1) < 1e-13 and results[0].status == 0
    parts = np.arange(21.0).reshape(7, 3)
    np.testing.assert_allclose(kernels.combine(parts), parts.sum(axis=0))


@pytest.mark.parametrize("sets", [1, 3, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_values_are_sorted_in_threads(sets, weighted):
    rng = np.random.default_rng(3)
    off = np.linspace(0, 300_000, sets + 1).astype(np.int64)
    y, w = rng.random(300_000), rng.random(300_000) if weighted else None
    pairs = dict(zip(y.tolist(), w.tolist(), strict=True)) if weighted else None
    want = np.concatenate([np.sort(y[a:b]) for a, b in zip(off[:-1], off[1:], strict=True)])
    layout._sort(y, w, off, 2)
    assert np.array_equal(y, want)
    assert not weighted or w.tolist() == [pairs[v] for v in want.tolist()]


def test_data_are_left_alone():
    x, w = paper_data(2, 60), np.random.default_rng(1).random((2, 60))
    for a in (x, w):
        a.setflags(write=False)
    for family in ("inverse_gaussian", "rayleigh"):
        mixture.fit_many(x, 2, family=family, weights=w, n_init=2, rng=1, device="cpu")
        mixture.fit_many(x.reshape(-1), 2, family=family, offsets=[0, 60, 120], n_init=2, rng=1, device="cpu")
        mixture.fit_many(list(x), 2, family=family, n_init=2, rng=1, device="cpu")


def test_layouts_agree():
    sets = [small_data(i, 30 + 7 * i) for i in range(4)]
    want = mixture.fit_many(sets, 2, rng=1, device="cpu", family="inverse_gaussian")
    flat, offsets = np.concatenate(sets), np.cumsum([0] + [s.size for s in sets])
    padded = np.full((4, 60), np.nan)
    for i, s in enumerate(sets):
        padded[i, : s.size] = s
    for got in (
        mixture.fit_many(flat, 2, offsets=offsets, rng=1, device="cpu", family="inverse_gaussian"),
        mixture.fit_many(padded, 2, rng=1, device="cpu", family="inverse_gaussian"),
        mixture.fit_many(
            np.ma.array(np.nan_to_num(padded), mask=np.isnan(padded)), 2, rng=1, device="cpu", family="inverse_gaussian"
        ),
    ):
        assert got.means.tobytes() == want.means.tobytes() and (got.status == 0).all()
    assert got.n_dropped.tolist() == [30, 23, 16, 9] and got.n_used.tolist() == [30, 37, 44, 51]
    narrow = mixture.fit_many([s.astype(np.float32) for s in sets], 2, rng=1, device="cpu", family="inverse_gaussian")
    assert narrow.means.dtype == np.float32 and narrow.loglik.dtype == np.float64
    np.testing.assert_allclose(narrow.means, want.means, rtol=1e-5)


def test_weights_are_repetitions():
    rng = np.random.default_rng(2)
    x = np.round(small_data(), 1)
    w = rng.integers(0, 4, x.size).astype(float)
    repeated = mixture.fit(np.repeat(x, w.astype(int)), 2, rng=1, device="cpu", family="inverse_gaussian")
    weighted = mixture.fit(x, 2, weights=w, rng=1, device="cpu", family="inverse_gaussian")
    assert abs(weighted.loglik - repeated.loglik) < 1e-9
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-8)
    assert weighted.n_dropped == (w == 0).sum() and abs(weighted.bic - repeated.bic) < 1e-9


@pytest.mark.parametrize(
    ("family", "x", "counts"),
    [
        ("poisson", range(6), [900, 50, 30, 10, 5, 5]),
        ("gaussian", [-1, 0, 1, 5, 6, 7], [50, 100, 50, 1, 2, 1]),
        (("weibull", 1.7), [1.8, 6.5, 0.8], [3, 2, 1]),
    ],
)
def test_tables_of_uneven_counts(family, x, counts):
    """A component may have less than the weight of two average entries: the fit is that of the observations one by one."""
    x, counts = np.array(x, float), np.array(counts)
    want = mixture.fit(np.repeat(x, counts), 2, family=family, rng=1, device="cpu")
    got = mixture.fit(x, 2, family=family, weights=counts, rng=1, device="cpu")
    assert want.status == got.status == 0 and abs(got.loglik / want.loglik - 1) < 1e-12  # observed 2e-14
    np.testing.assert_allclose(got.weights, want.weights, rtol=1e-6)  # observed 2e-8


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**77, 1e-200, 1e150])
@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma"])
def test_scaled_data_give_scaled_results(family, factor):
    x = small_data()
    a = mixture.fit(x, 2, family=family, rng=1, device="cpu", workers=1)
    b = mixture.fit(x * factor, 2, family=family, rng=1, device="cpu", workers=1, errors="status")
    if family == "gaussian" and factor == 1e-200:  # variances of 1e-400
        assert b.status == 8 and np.isnan(b.params).all()
        return
    exact = np.frexp(factor)[0] == 0.5
    assert b.status == 0, b.message
    if exact:
        assert (b.means == a.means * factor).all() and (b.weights == a.weights).all()
    else:
        np.testing.assert_allclose(b.means, a.means * factor, rtol=1e-12)
    assert abs(b.loglik - (a.loglik - x.size * np.log(factor))) < 1e-9 * abs(b.loglik)


# --- choice of K, prior, options -----------------------------------------------------------------------------------------------


def test_number_of_components_by_criterion():
    rng = np.random.default_rng(4)
    sets = [rng.normal(0, 1, 200), np.concatenate([rng.normal(0, 1, 200), rng.normal(9, 1, 100)])]
    for criterion in ("bic", "icl"):
        batch = mixture.fit_many(sets, range(1, 4), family="gaussian", criterion=criterion, rng=1, device="cpu")
        assert batch.n_components.tolist() == [1, 2]
        assert batch.criteria_.shape == (2, 3) and batch.candidates == (1, 2, 3)
        assert np.isnan(batch.weights[0, 1:]).all() and batch[1].weights.shape == (2,)
    bic = mixture.fit_many(sets, (1, 2), family="gaussian", rng=1, device="cpu")
    np.testing.assert_allclose(bic.criteria_[1, 1], bic.bic[1])
    per_set = mixture.fit_many(sets, np.array([2, 1]), family="gaussian", rng=1, device="cpu")
    assert per_set.n_components.tolist() == [2, 1]
    aic = mixture.fit_many(sets, (1, 2), family="gaussian", criterion="aic", rng=1, device="cpu")
    np.testing.assert_allclose(aic.criteria_[1, 1], aic.aic[1])


def test_more_components_are_never_worse_within_one_call(monkeypatch):
    calls, split = [], pipeline.split_starts
    monkeypatch.setattr(pipeline, "split_starts", lambda *a: calls.append(1) or split(*a))
    rng = np.random.default_rng(8)
    x = rng.normal(rng.choice([0.0, 5.0, 10.0, 15.0], size=(100, 300)), 1.0)
    options = dict(n_init=1, starts="subset", family="gaussian", criterion="aic", rng=1, device="cpu", workers=1)
    batch = mixture.fit_many(x, range(1, 6), **options)
    loglik = -0.5 * (batch.criteria_ - 2.0 * (3 * np.arange(1, 6) - 1))
    assert calls and (np.diff(loglik, axis=1) > -1e-6).all()


def test_prior_is_a_penalty_at_a_stationary_point():
    x = small_data()
    for family in ("inverse_gaussian", "gaussian", "gamma"):
        r = mixture.fit(x, 2, family=family, prior={"n0": 5.0, "d0": 0.5, "a0": 2.0}, rng=1, device="cpu")
        plain = mixture.fit(x, 2, family=family, rng=1, device="cpu")
        assert r.status == 0 and r.loglik < plain.loglik and r.objective != r.loglik
        assert abs(log_likelihood(family, x, r) - r.loglik) < 1e-9
        em = mixture.fit(
            x, 2, family=family, prior={"n0": 5.0, "d0": 0.5, "a0": 2.0}, rng=1, method="em", tol=1e-13, device="cpu"
        )
        np.testing.assert_allclose(em.means, r.means, rtol=1e-5)
        assert abs(em.objective - r.objective) < 1e-8


@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_single_precision_agrees_with_double(precision):
    x = paper_data(10, 2000)
    a = mixture.fit_many(x, 2, rng=1, device="cpu", family="inverse_gaussian")
    b = mixture.fit_many(x, 2, rng=1, precision=precision, device="cpu", family="inverse_gaussian")
    assert (b.status == 0).all()
    np.testing.assert_allclose(b.loglik, a.loglik, rtol=1e-8)  # required 1e-5
    np.testing.assert_allclose(b.means, a.means, rtol=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "gamma", "lognormal", "inverse_gamma", "poisson", ("weibull", 1.5)])
def test_an_optimum_as_a_start_stays_where_it_is(family):
    """Starts are in the units of results, whatever the family's own parameters and transforms are."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.gamma(5.0, 1.0, 300), rng.gamma(50.0, 1.0, 300)]) + 1
    x = np.round(x) if family == "poisson" else x
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    start = np.stack([r.weights, r.centres, r.params])[None]
    again = mixture.fit(x, 2, family=family, init_params=start, method="em", max_iter=1, device="cpu")
    assert again.loglik == pytest.approx(r.loglik, rel=1e-12)  # 2e-15


def test_explicit_and_kept_starts():
    x = small_data()
    r = mixture.fit(x, 2, rng=1, device="cpu", family="inverse_gaussian")
    start = np.stack([r.weights, r.means * 1.05, r.params * 0.9])[None]
    again = mixture.fit(x, 2, init_params=start, rng=1, device="cpu", family="inverse_gaussian")
    np.testing.assert_allclose(again.means, r.means, rtol=1e-8)
    assert (
        mixture.fit(x, 2, init_params=start[None], rng=1, device="cpu", family="inverse_gaussian").loglik == again.loglik
    )  # as fit_many takes them
    batch = mixture.fit_many([x], 2, method="em", n_init=4, keep_starts=True, rng=1, device="cpu", family="inverse_gaussian")
    kept = batch.starts[2]
    assert kept["centres"].shape == (1, 4, 2) and abs(np.nanmax(kept["loglik"]) - batch.loglik[0]) < 1e-12
    with pytest.raises(ValueError, match="init_params"):
        mixture.fit(x, 2, init_params=start[:, :2], rng=1, family="inverse_gaussian")
    with pytest.raises(ValueError, match="finite weights"):
        mixture.fit(x, 2, init_params=np.full((1, 3, 2), np.nan), rng=1, family="inverse_gaussian")


def test_log_likelihood_never_falls():
    x = small_data()
    for method in ("em", "bulkem"):
        last = -np.inf
        for cap in range(1, 12):
            ll = mixture.fit(x, 2, method=method, n_init=1, max_iter=cap, rng=6, device="cpu", family="inverse_gaussian").loglik
            assert ll >= last - 1e-12 * abs(ll)
            last = ll


# --- the paper's program -------------------------------------------------------------------------------------------------------


def test_bulkem_against_a_plain_transcription():
    x = paper_data(1, 400)[0]
    (got,) = mixture.bulkem([x], rng=3, device="cpu")
    alpha, mu, lam = (np.array(got[f"init_{name}"]) for name in ("alpha", "mu", "lambda"))
    assert (alpha == 0.5).all()
    old, passes = 1e-6 + 1.0, 0
    while True:
        dens = (
            alpha
            * np.sqrt(lam / (2 * np.pi * x[:, None] ** 3))
            * np.exp(-lam * (x[:, None] - mu) ** 2 / (2 * mu**2 * x[:, None]))
        )
        passes += 1
        ll = np.log(dens.sum(axis=1)).sum()
        if abs(ll - old) < 1e-6:
            break
        old = ll
        r = dens / dens.sum(axis=1, keepdims=True)
        lam = r.sum(axis=0) / (r * (x[:, None] - mu) ** 2 / (mu**2 * x[:, None])).sum(axis=0)
        mu, alpha = (r * x[:, None]).sum(axis=0) / r.sum(axis=0), r.mean(axis=0)
        if passes == 101:
            dens = (
                alpha
                * np.sqrt(lam / (2 * np.pi * x[:, None] ** 3))
                * np.exp(-lam * (x[:, None] - mu) ** 2 / (2 * mu**2 * x[:, None]))
            )
            ll = np.log(dens.sum(axis=1)).sum()
            break
    assert got["num_iterations"] == passes
    order = np.argsort(mu)
    assert abs(got["loglik"] / ll - 1) < 1e-12
    np.testing.assert_allclose(got["mu"], mu[order], rtol=1e-8)
    np.testing.assert_allclose(got["lambda"], lam[order], rtol=1e-8)
    np.testing.assert_allclose(got["alpha"], alpha[order], rtol=1e-8)


def test_bulkem_survives_bad_data():
    good = paper_data(1, 200)[0]
    fits = mixture.bulkem([good, np.append(good, 0.0), np.ones(50), np.array([1.0, np.nan]), good], random_inits=3, rng=1)
    assert [f["status"] for f in fits[1:4]] == [6, 5, 5]
    assert all(np.isfinite(f["loglik"]) and f["mu"].shape == (2,) for f in (fits[0], fits[4]))
    assert not fits[1]["fit_success"] and "index 200" in fits[1]["message"]


# --- bad input -----------------------------------------------------------------------------------------------------------------


GOOD = small_data(9, 80)
BAD = {
    "zero": (np.append(GOOD, 0.0), 6),
    "negative": (np.append(-1.0, GOOD), 6),
    "nan": (np.append(GOOD, np.nan), 0),
    "inf": (np.append(GOOD, np.inf), 8),
    "minus inf": (np.append(GOOD, -np.inf), 8),
    "equal": (np.full(50, 3.0), 5),
    "two values": (np.array([1.0, 2.0]), 5),
    "three values": (np.array([1.0, 2.0, 4.0]), 5),
    "five distinct": (np.repeat([1.0, 2.0, 3.0, 8.0, 9.0], 10), None),
    "ties": (np.round(GOOD), None),
    "outlier": (np.append(GOOD, 1e6), None),
    "empty": (np.empty(0), 7),
    "all missing": (np.full(5, np.nan), 7),
    "tiny": (GOOD * 1e-200, 0),
    "huge": (GOOD * 1e150, 0),
    "subnormal": (GOOD * 1e-310, None),
}


def test_bad_data_get_a_status_and_harm_nobody(device):
    names = list(BAD) if device["device"] == "cpu" else ["zero", "empty", "nan", "equal"]
    sets = [GOOD, *(BAD[n][0] for n in names), GOOD]
    n_init = 2 if device["device"] == "cuda" else None
    batch = mixture.fit_many(sets, 2, family="inverse_gaussian", rng=1, n_init=n_init, **device)
    for i, name in enumerate(names, 1):
        want = BAD[name][1]
        assert want is None or batch.status[i] == want, (name, batch.status[i])
        bad = batch.status[i] in (3, 5, 6, 7, 8)
        assert np.isnan(batch.means[i]).all() == bad and np.isfinite(batch.weights[i]).all() != bad, name
        assert batch.message(i)
    assert batch.status[0] == batch.status[-1] == 0
    np.testing.assert_allclose(batch.means[0], batch.means[-1], rtol=1e-6)
    assert batch.n_dropped[1 + names.index("nan")] == 1
    assert "index 80" in batch.message(1 + names.index("zero"))


FAMILIES = [*TWO, *OTHERS, ("pareto", 1e-3), "exponential", "poisson", "geometric"]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_no_extreme_data_harm_a_batch(family, recwarn):
    """Every result is a fit whose parameters have the log-likelihood that is stated, or says that it is none."""
    good = np.round(GOOD) if family in ("poisson", "geometric") else GOOD
    pairs = [good * 1e-200, good * 1e150, good * 1e300, good * 1e-308, np.append(good, 1.7e308), np.append(good, 5e-324)]
    pairs += [np.logspace(-300, 300, 80), np.logspace(-30, 30, 80), np.concatenate([good, good * 1e12]), np.append(good, 1e15)]
    pairs += [np.append(good, 1e6), np.append(good, [0.0, -1.0]), np.full(40, 3e-200), good[:5], good]
    for options in (dict(se=True), dict(precision="single"), dict(method="em", n_init=3, max_iter=100)):
        for K in (1, 2):
            batch = mixture.fit_many(pairs, K, family=family, rng=1, device="cpu", workers=1, **options)
            assert batch.status[-1] in (0, 2, 3) and (K > 1 or batch.status[-1] == 0)
            for i, x in enumerate(pairs):
                r = batch[i]
                if r.status in (3, 5, 6, 7, 8):
                    assert np.isnan(r.centres).all() and r.message
                    continue
                assert np.isfinite(r.loglik) and np.isfinite(r.weights).all() and np.isfinite(r.centres).all()
                two = np.isfinite(r.params).all()
                if r.status == 0:
                    ll = mixture.logpdf(x, r.weights, r.centres, r.params if two else None, family=family, device="cpu").sum()
                    assert abs(ll - r.loglik) < 1e-6 * max(1.0, abs(ll)), (i, K, options)  # the bound of `pipeline._blur`
                    assert all(np.isfinite(s).all() for name, s in r.se.items() if two or name != "params") or i == 4
    assert not recwarn.list, [str(w.message) for w in recwarn.list]


def test_density_at_extreme_scales():
    x = np.array([0.5, 1.0, 3.0])
    for family, power in (("inverse_gaussian", 1), ("gaussian", 2), ("gamma", 0)):
        want = mixture.logpdf(x, W, [1.0, 3.0], [4.0, 2.0], family=family, device="cpu")
        for exponent in (500, -500):
            s = 2.0**exponent
            got = mixture.logpdf(x * s, W, [s, 3.0 * s], np.array([4.0, 2.0]) * s**power, family=family, device="cpu")
            np.testing.assert_allclose(got + exponent * np.log(2.0), want, rtol=0, atol=1e-12)


def test_one_data_set_raises_unless_asked_not_to():
    for name in ("zero", "empty", "inf", "equal"):
        with pytest.raises(ValueError, match="cannot be fitted"):
            mixture.fit(BAD[name][0], 2, family="inverse_gaussian")
        assert mixture.fit(BAD[name][0], 2, errors="status", family="inverse_gaussian").status == BAD[name][1]
    with pytest.raises(ValueError, match="fit_many"):
        mixture.fit(np.ones((3, 4)), family="inverse_gaussian")
    counts = np.array([0.0, 1.0, 1.5, 7.0, 9.0])
    assert mixture.fit(counts, 1, family="poisson", errors="status").status == 6
    assert mixture.fit([GOOD.tolist()][0], 1, family="inverse_gaussian").status == 0


def test_bad_weights_and_zero_weights():
    w = np.ones((3, GOOD.size))
    w[0] = 0.0
    w[1, 3] = -1.0
    w[2, :40] = 0.0
    batch = mixture.fit_many(np.stack([GOOD] * 3), 2, weights=w, rng=1, device="cpu", family="inverse_gaussian")
    assert batch.status.tolist() == [7, 8, 0] and batch.n_used.tolist() == [0, 0, 40]


def test_more_components_than_the_data_hold():
    x = np.concatenate([np.full(40, 1.0), np.full(40, 2.0), np.linspace(1, 2, 12)])
    batch = mixture.fit_many([x], 8, rng=1, device="cpu", family="inverse_gaussian")
    assert batch.status[0] in (0, 1, 2, 3, 4, 5)
    assert mixture.fit_many([GOOD[:20]], 8, rng=1, device="cpu", family="inverse_gaussian").status[0] == 5


def test_empty_batch():
    for batch in (
        mixture.fit_many([], 2, family="inverse_gaussian"),
        mixture.fit_many(np.empty((0, 5)), 2, family="inverse_gaussian"),
        mixture.fit_many(np.empty(0), 2, offsets=[0], family="inverse_gaussian"),
    ):
        assert len(batch) == 0 and batch.weights.shape == (0, 2) and batch.status.shape == (0,)


@pytest.mark.parametrize(
    "options, word",
    [
        (dict(family="cauchy"), "inverse_gaussian"),
        (dict(method="gradient"), "newton"),
        (dict(starts="best"), "portfolio"),
        (dict(criterion="dic"), "bic"),
        (dict(precision="half"), "mixed"),
        (dict(n_components=0), "at least 1"),
        (dict(n_components="two"), "n_components"),
        (dict(n_components=[2, 1, 2]), "array of length 3"),
        (dict(n_components=np.array([1, 2, 2, 1])), "array of length 3"),
        (dict(n_components=range(0)), "not understood"),
        (dict(n_init=0), "n_init"),
        (dict(tol=0), "tol"),
        (dict(max_iter=0.5), "max_iter"),
        (dict(min_sd_ratio=math.nan), "min_sd_ratio"),
        (dict(prior={"n0": math.inf}), "n0"),
        (dict(n_components=True), "not understood"),
        (dict(n_components=(True, 2)), "not understood"),
        (dict(init_params=np.full((3, 1, 3, 2), -1.0)), "negative weights"),
        (dict(prior={"nu": 1}), "nu"),
        (dict(prior={"a0": 0.5}), "a0"),
        (dict(offsets=[0, 5, 3, 240]), "offsets"),
        (dict(weights=np.ones((3, 5))), "layout"),
        (dict(device="gpu"), "cuda"),
        (dict(workers=0), "workers"),
        (dict(family=("weibull", -1.0)), "weibull"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) and len(str(v)) < 40 else "",
)
def test_bad_options(options, word):
    data = np.stack([GOOD] * 3)
    if "offsets" in options:
        data = data.reshape(-1)
    with pytest.raises(ValueError, match=word):
        mixture.fit_many(data, **{"family": "inverse_gaussian"} | options)


def test_bad_types():
    for bad in (np.float16, np.longdouble, np.complex128):
        with pytest.raises(TypeError, match="astype"):
            mixture.fit_many(np.stack([GOOD] * 2).astype(bad), family="inverse_gaussian")
    with pytest.raises(ValueError, match="2-D array"):
        mixture.fit_many(GOOD, family="inverse_gaussian")
    with pytest.raises(ValueError, match="fit_many"):
        mixture.fit(GOOD, keep_starts=True, family="inverse_gaussian")
    with pytest.raises(ValueError, match=r"n_components=16 is more"):
        mixture.fit_many([GOOD], 16, device="cuda", family="inverse_gaussian")


def test_callback_stops():
    seen = []

    def callback(state):
        seen.append((state.done, state.total))
        return len(seen) == 2

    x = paper_data(6, 100)
    from numbastats.mixture import fitting as module

    before, module.IN_FLIGHT = module.IN_FLIGHT, 200
    try:
        batch = mixture.fit_many(x, 2, rng=1, device="cpu", callback=callback, family="inverse_gaussian")
    finally:
        module.IN_FLIGHT = before
    assert seen == [(2, 6), (4, 6)]
    assert batch.status.tolist()[4:] == [9, 9] and (batch.status[:4] == 0).all() and np.isnan(batch.means[4:]).all()
    assert batch.message(5) == "stopped by the callback"


def test_callback_stops_threads(monkeypatch):
    x = paper_data(40, 100)
    x[:, 3] = np.nan
    x[1, 7] = -1.0
    monkeypatch.setattr("numbastats.mixture.fitting.CHUNK_COST", 1)
    seen = []
    whole = mixture.fit_many(
        x, 2, rng=1, device="cpu", workers=2, callback=lambda state: seen.append(state.done), family="inverse_gaussian"
    )
    assert seen[-1] == 40 and seen == sorted(seen) and len(seen) > 4 and (whole.n_dropped == 1).all()
    assert whole.status[1] == 6 and "index 7" in whole.message(1)
    part = mixture.fit_many(
        x, 2, rng=1, device="cpu", workers=2, callback=lambda state: state.done >= seen[1], family="inverse_gaussian"
    )
    assert (part.status[seen[1] :] == 9).all() and part.means[: seen[1]].tobytes() == whole.means[: seen[1]].tobytes()


# --- distribution and estimator -----------------------------------------------------------------------------------------------

W = np.array([0.3, 0.7])
LAWS = [("inverse_gaussian", [1.0, 3.0], [30.0, 0.2]), ("gaussian", [-1.0, 2.0], [0.5, 2.0]), ("gamma", [1.0, 5.0], [3.0, 40.0])]
LAWS += [("lognormal", [0.1, 1.5], [0.3, 0.1]), ("inverse_gamma", [1.0, 4.0], [3.0, 9.0]), ("rayleigh", [1.0, 9.0], None)]
LAWS += [("exponential", [1.0, 9.0], None), ("poisson", [1.0, 9.0], None), ("geometric", [1.0, 9.0], None)]
LAWS += [(("weibull", 1.5), [1.0, 9.0], None), (("pareto", 1.0), [0.2, 1.0], None), ("half_normal", [1.0, 9.0], None)]


@pytest.mark.parametrize("family, means, params", LAWS, ids=lambda v: str(v) if isinstance(v, (str, tuple)) else "")
def test_distribution(family, means, params, device):
    args = (W, means, params)
    discrete = family in ("poisson", "geometric")
    x = np.arange(12.0) if discrete else np.array([-1.5, 0.3, 1.01, 2.5, 7.0])
    x = x if family == "gaussian" or discrete else np.abs(x) + (1.0 if family == ("pareto", 1.0) else 0.0)
    second = params if params is not None else [1.0, 1.0]
    exact = scipy.special.logsumexp(
        np.stack([np.log(W[j]) + log_density(family, x, means[j], second[j]) for j in range(2)]), axis=0
    )
    np.testing.assert_allclose(mixture.logpdf(x, *args, family=family, **device), exact, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(mixture.responsibilities(x, *args, family=family, **device).sum(axis=1), 1.0, rtol=1e-14)
    if device == {"device": "cuda"}:
        return
    lo, hi = mixture.cdf(x, *args, family=family), mixture.sf(x, *args, family=family)
    np.testing.assert_allclose(lo + hi, 1.0, rtol=1e-12)
    if discrete:
        np.testing.assert_allclose(np.cumsum(np.exp(exact)), lo, rtol=1e-11)
        assert (mixture.ppf(lo * (1 - 1e-9), *args, family=family) == x).all()
    else:
        nodes, share = np.polynomial.legendre.leggauss(120)
        for a, b, la, lb in zip(x[1:-1], x[2:], lo[1:-1], lo[2:], strict=True):
            density = mixture.pdf(a + 0.5 * (b - a) * (nodes + 1), *args, family=family, device="cpu", workers=1)
            assert abs(0.5 * (b - a) * (share @ density) - (lb - la)) < 1e-9
        np.testing.assert_allclose(mixture.ppf(lo, *args, family=family), x, rtol=1e-9, atol=1e-9)
        assert np.isnan(mixture.ppf([-0.1, 1.1, np.nan], *args, family=family)).all()
    draws = mixture.rvs(*args, 20_000, family=family, rng=5)
    if not discrete:
        assert scipy.stats.kstest(draws, lambda t: mixture.cdf(t, *args, family=family)).pvalue > 1e-3
    else:
        counts = np.bincount(draws.astype(int), minlength=4)[:4] / draws.size
        np.testing.assert_allclose(counts, np.exp(mixture.logpdf(np.arange(4.0), *args, family=family)), atol=0.012)


def test_upper_tail_of_the_inverse_gaussian_law():
    """Where lambda is small both terms of the tail are nearly equal: 20 decades either way against 110 digits."""
    rng = np.random.default_rng(3)
    size = 10 ** rng.uniform(-20, 20, 900)
    lam = np.concatenate([size[:300], size[300:600] * 10 ** rng.uniform(-3, 2, 300), 10 ** rng.uniform(-3, 2, 300) / size[600:]])
    x = np.concatenate([10 ** rng.uniform(-20, 20, 300), size[300:]])
    worst = 0.0
    for y, v in zip(np.append(x, [1e12, 1e16]), np.append(lam, [1e-12, 1e-16]), strict=True):
        a, b = math.sqrt(v / y) * (y - 1.0), math.sqrt(v / y) * (y + 1.0)
        if a < 36.0 and b < 1e5:
            with mpmath.workdps(110):
                z, r = mpmath.mpf(y), mpmath.sqrt(mpmath.mpf(v) / y / 2)
                want = (mpmath.erfc(r * (z - 1)) - mpmath.exp(2 * mpmath.mpf(v)) * mpmath.erfc(r * (z + 1))) / 2
                error = abs(float(mixture.sf(y, [1.0], [1.0], [v], family="inverse_gaussian") / want - 1))
            worst = max(worst, error / (4e-15 + 2e-16 * max(0.0, a) ** 2))
    assert worst < 1.0  # observed 0.72
    far = mixture.ppf(1e-14, [1.0], [1.0], [1e-10], family="reciprocal_inverse_gaussian")
    assert mixture.cdf(far, [1.0], [1.0], [1e-10], family="reciprocal_inverse_gaussian") == pytest.approx(1e-14, rel=1e-14)


@pytest.mark.parametrize("family", ["poisson", "geometric"])
@pytest.mark.parametrize(("weights", "means"), [([1.0], [3.0]), ([0.1] * 10, [0.1 * 3.0**i for i in range(10)]), ([1.0], [2e4])])
def test_quantiles_of_counts_invert_the_distribution_function(family, weights, means):
    args = dict(weights=weights, centres=means, family=family)
    k = np.arange(3.0 * max(means) + 60)
    cdf = mixture.cdf(k, **args)
    assert (np.diff(cdf) >= 0).all()
    steps = cdf[:: -(-cdf.size // 2000)]
    q = np.concatenate([steps, np.nextafter(steps, 0.0), np.nextafter(steps, 1.0), [0.5, 0.999]])
    q = q[(q > 0) & (q < 1.0) & (q <= cdf[-1])]
    assert (mixture.ppf(q, **args) == np.searchsorted(cdf, q)).all()
    single = mixture.cdf(k.astype(np.float32), **args)
    single = single[single < 1]
    steps = single[:: -(-single.size // 2000)]
    assert (mixture.ppf(steps, **args) == np.searchsorted(single, steps)).all()
    last = mixture.ppf(1.0 - 2.0**-53, **args)
    assert mixture.cdf(last, **args) >= 1.0 - 2.0**-53 > mixture.cdf(last - 1.0, **args)
    assert mixture.ppf([0.0, 1.0], **args).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("means", [[1.0], [1.0, 1.5]])
@pytest.mark.parametrize("size", [1.0, 17.0, 1e4, 1e10, 1e15])
def test_densities_of_narrow_laws(means, size):
    """Poisson laws of large means, gamma laws of large fixed shapes: large terms must not cancel."""
    rng = np.random.default_rng(6)
    z = rng.uniform(-9, 9, 30)
    worst = [0.0, 0.0]
    for t, m in zip(z, rng.choice(means, z.size), strict=True):
        count, value = max(0.0, round(size * m + math.sqrt(size * m) * t)), max(1e-3, 1 + t / math.sqrt(size)) * m
        with mpmath.workdps(60):
            a, k, x = (mpmath.mpf(v) for v in (size, count, value))
            poisson = mpmath.log(sum(mpmath.exp(k * mpmath.log(a * m) - a * m) for m in means) / len(means)) - mpmath.loggamma(
                k + 1
            )
            gamma = mpmath.log(sum(mpmath.exp(a * mpmath.log(a / m) - a * x / m) for m in means) / len(means))
            gamma += (a - 1) * mpmath.log(x) - mpmath.loggamma(a)
        W = [1.0] * len(means)
        got = (
            mixture.logpdf(count, W, np.multiply(means, size), family="poisson"),
            mixture.logpdf(value, W, means, family=("gamma", size)),
        )
        worst = [max(w, abs(float(g - e)) / max(1, abs(float(e)))) for w, g, e in zip(worst, got, (poisson, gamma), strict=True)]
    assert worst[0] < 4e-15  # observed 2.1e-15
    assert worst[1] < 2e-14 + 6e-16 * math.sqrt(size)  # observed 1.5e-14 and 3.5e-16


def test_poisson_densities_of_extreme_means():
    got = mixture.logpdf([0.0, 1.0, 20.0, 1e308], [1.0], [1e-300], family="poisson")
    log_mean = math.log(1e-300)
    want = [-1e-300, log_mean, 20.0 * log_mean - math.lgamma(21.0), -math.inf]
    np.testing.assert_allclose(got, want, rtol=1e-15)  # observed 2.4e-16
    far = mixture.logpdf([0.0, 1.0], [0.5, 0.5], [2.0, 1e6], family="poisson")
    np.testing.assert_allclose(far, np.log([0.5, 1.0]) - 2.0, rtol=1e-14)


def test_distribution_edges():
    args = (W, [1.0, 3.0], [30.0, 0.2])
    assert mixture.logpdf([0.0, -1.0, np.inf], *args, family="inverse_gaussian").tolist() == [-np.inf] * 3 and np.isnan(
        mixture.pdf(np.nan, *args, family="inverse_gaussian")
    )
    assert mixture.cdf([-1.0, 0.0, np.inf], *args, family="inverse_gaussian").tolist() == [0.0, 0.0, 1.0]
    assert mixture.sf([-1.0, 0.0, np.inf], *args, family="inverse_gaussian").tolist() == [1.0, 1.0, 0.0]
    assert mixture.ppf([0.0, 1.0], *args, family="inverse_gaussian").tolist() == [0.0, np.inf]
    assert mixture.pdf(np.float32(1.0), *args, family="inverse_gaussian").dtype == np.float32 and mixture.pdf(
        np.ones((2, 3)), *args, family="inverse_gaussian"
    ).shape == (2, 3)
    far = mixture.sf(200.0, [1.0], [3.0], [2.0], family="inverse_gaussian")
    assert abs(far / scipy.stats.invgauss.sf(200.0, 1.5, scale=2.0) - 1) < 1e-9
    for bad in (([1.0], [1.0, 2.0], [1.0, 1.0]), ([-1.0, 2.0], [1.0, 2.0], [1.0, 1.0]), (W, [-1.0, 2.0], [1.0, 1.0])):
        with pytest.raises(ValueError, match="must be|out of domain"):
            mixture.pdf(1.0, *bad, family="inverse_gaussian")
    with pytest.raises(ValueError, match="lambda"):
        mixture.pdf(1.0, W, [1.0, 2.0], family="inverse_gaussian")


def test_estimator():
    sklearn = pytest.importorskip("sklearn.base")
    x = small_data(n=150)
    model = sklearn.clone(mixture.Mixture(2, family="gamma", rng=3, device="cpu"))
    assert model.get_params()["family"] == "gamma" and "family='gamma'" in repr(model)
    model.fit(x[:, None])
    r = mixture.fit(x, 2, family="gamma", rng=3, device="cpu")
    assert (model.means_ == r.means).all() and model.converged_ and abs(model.lower_bound_ * 150 - model.loglik_) < 1e-9
    assert abs(model.score(x) * 150 - model.loglik_) < 1e-9
    assert abs(model.bic(x) - r.bic) < 1e-9 and abs(model.aic(x) - r.aic) < 1e-9
    p = model.predict_proba(x)
    assert p.shape == (150, 2) and (model.predict(x) == p.argmax(axis=1)).all()
    assert model.predict([np.nan]).tolist() == [-1]
    assert model.sample(7, rng=1).shape == (7, 1)
    weighted = mixture.Mixture(2, rng=3, device="cpu", family="inverse_gaussian").fit(x, sample_weight=np.full(150, 2.0))
    assert (
        abs(weighted.lower_bound_ - mixture.Mixture(2, rng=3, device="cpu", family="inverse_gaussian").fit(x).lower_bound_) < 1e-9
    )
    with pytest.raises(NotFittedError, match="not fitted"):
        mixture.Mixture(family="inverse_gaussian").predict(x)
    with pytest.raises(ValueError, match="colour"):
        model.set_params(colour=1)
    with pytest.raises(ValueError, match="shape"):
        model.fit(np.ones((3, 2)))
    assert mixture.Mixture(range(1, 4), family="gaussian", rng=1).fit(x).n_components_ in (1, 2, 3)


def test_estimator_with_missing_values():
    x = small_data(n=150)
    model = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x)
    missing = np.append(x, np.nan)
    assert (model.bic(missing), model.aic(missing), model.score(missing)) == (model.bic(x), model.aic(x), model.score(x))
    assert model.n_features_in_ == 1 and (model.fit_predict(x) == model.predict(x)).all()
    masked = np.ma.masked_array(np.ones(150), np.arange(150) < 10)
    model.fit(x, sample_weight=masked)
    rest = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x[10:])
    assert model.result_.n_dropped == 10 and model.lower_bound_ == pytest.approx(rest.lower_bound_, rel=1e-12)


def test_nullable_columns():
    pandas = pytest.importorskip("pandas")
    x = np.append(small_data(n=150), np.nan)
    model = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x)
    frame = pandas.DataFrame({"x": x}).astype("Float64")
    for values in (frame, frame["x"]):
        assert (model.score(values), model.fit(values).loglik_) == (model.score(x), model.fit(x).loglik_)
    with pytest.raises(TypeError, match="object"):
        model.fit(frame.astype(object))


def test_estimator_warns_of_fits_that_are_none():
    with pytest.warns(ConvergenceWarning, match="status 1"):
        mixture.Mixture(2, max_iter=1, rng=1, device="cpu", family="inverse_gaussian").fit(small_data(n=150))
    with pytest.warns(ConvergenceWarning, match="status 3"):
        mixture.Mixture(1, family="poisson", device="cpu").fit([0.0, 0.0])


@pytest.mark.parametrize("family", ["exponential", "poisson", "geometric", "rayleigh", "half_normal"])
def test_one_observation(family):
    r = mixture.fit([3.0], 1, family=family, device="cpu")
    y = {"rayleigh": 4.5, "half_normal": 9.0}.get(family, 3.0)
    assert r.status == 0 and r.centres[0] == pytest.approx(y, rel=1e-15)
    assert r.loglik == pytest.approx(mixture.logpdf(3.0, [1.0], r.centres, family=family), rel=1e-14)


@pytest.mark.parametrize("dtype, scale", [(np.float64, 1e-300), (np.float64, 1e-160), (np.float32, 1e-21), (np.float32, 1e25)])
def test_variances_beyond_the_range_are_no_optimum(dtype, scale):
    x = (small_data(n=80) * scale).astype(dtype)
    r = mixture.fit(x, 2, family="gaussian", rng=0, device="cpu", errors="status")
    assert r.status == 8 and np.isnan(r.params).all() and np.dtype(dtype).name in r.message
    with pytest.raises(ValueError, match="beyond the range"):
        mixture.fit(x, 1, family="gaussian", device="cpu")


@pytest.mark.parametrize("family", ["exponential", "half_normal", ("gamma", 1.0), ("weibull", 1.0)], ids=str)
def test_zeros_where_the_density_is_finite(family):
    x = np.append(small_data(n=80), [0.0, 0.0])
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    law = r.weights, r.centres
    want = mixture.logpdf(x, *law, family=family, device="cpu").sum()
    assert r.status in (0, 2) and r.loglik == pytest.approx(want, rel=1e-12)
    assert mixture.partial_stats(x, *law, family=family, device="cpu")[-1] == pytest.approx(want, rel=1e-12)
    assert mixture.fit([0.0, 3.0], 1, family=family).status == 0
    with pytest.raises(ValueError, match="values >= 0"):
        mixture.fit([-1.0, 1.0], 1, family=family)
    for other in ("rayleigh", ("gamma", 0.5), ("gamma", 2.0)):
        assert mixture.fit(x, 2, family=other, errors="status").status == 6


def test_small_quantiles_of_reciprocal_laws():
    q = np.array([0.0, 1e-100, 1e-20, 1e-17, 1e-15, 0.3, 0.7, 1.0 - 2.0**-53, 1.0])
    got = mixture.ppf(q, [1.0], [1.0], [2.0], family="inverse_gamma")
    np.testing.assert_allclose(got, scipy.stats.invgamma.ppf(q, 2, scale=2), rtol=1e-12)
    law = dict(weights=[1.0], centres=[1.0], params=[2.0], family="reciprocal_inverse_gaussian")
    np.testing.assert_allclose(mixture.cdf(mixture.ppf(q, **law), **law), q, rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_quantiles_beyond_the_powers_of_doubles():
    """Means further apart than the bits between 1 and the largest double, and probabilities below 1e-308."""
    got = mixture.ppf([0.125, 0.25, 0.75, 0.875], [0.5, 0.5], [1e-250, 1e250], family="exponential")
    want = [-math.log(0.75) * 1e-250, math.log(2.0) * 1e-250, math.log(2.0) * 1e250, math.log(4.0) * 1e250]
    np.testing.assert_allclose(got, want, rtol=1e-14)
    for family in ("gaussian", "exponential", "inverse_gamma"):
        law = dict(weights=[1.0], centres=[1.0], params=[1.0], family=family)
        assert mixture.cdf(mixture.ppf(1e-310, **law), **law) == pytest.approx(1e-310, rel=1e-12)


def test_distribution_functions_beyond_the_powers_of_doubles():
    """lambda over x beyond 1e308 either way, and counts where SciPy's Poisson law has NaN."""
    for m, v in ((1e-180, 1e250), (1e-60, 1e290), (1e180, 1e250)):
        np.testing.assert_allclose(
            mixture.cdf([0.5 * m, m, 2.0 * m], [1.0], [m], [v], family="inverse_gaussian"), [0.0, 0.5, 1.0], rtol=1e-14
        )
        np.testing.assert_allclose(
            mixture.sf([0.5 * m, m, 2.0 * m], [1.0], [m], [v], family="inverse_gaussian"), [1.0, 0.5, 0.0], rtol=1e-14
        )
    for x, m, v in ((1e170, 1e160, 1e-200), (1e308, 1e-50, 1e-177)):  # a Levy law but for the last factor
        want = 2.0 * scipy.special.ndtr(-math.sqrt(v / x)) if x < 1e200 else 1.0
        assert mixture.cdf(x, [1.0], [m], [v], family="inverse_gaussian") == pytest.approx(want, rel=1e-14)
    assert mixture.sf(1e170, [1.0], [1e200], [1e-200], family="inverse_gaussian") == pytest.approx(
        math.sqrt(2.0 / math.pi) * 1e-185, rel=1e-13
    )
    assert mixture.cdf([1e300, 1e308], [0.5, 0.5], [1e-3, 1e5], family="poisson").tolist() == [1.0, 1.0]
    assert mixture.sf([1e300, 1e308], [0.5, 0.5], [1e-3, 1e5], family="poisson").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", "inverse_gamma", "poisson", "geometric"])
def test_quantiles_take_few_steps(family, monkeypatch):
    calls, tail = [], distribution._tail
    monkeypatch.setattr(distribution, "_tail", lambda *a: calls.append(1) or tail(*a))
    args = ([0.3, 0.7], [1.0, 3.0]) if family in ("poisson", "geometric") else ([0.3, 0.7], [1.0, 3.0], [2.0, 0.2])
    got = mixture.ppf([0.0, 1e-300, 1e-17, 0.5, 1.0 - 2.0**-53, 1.0], *args, family=family)
    assert (np.diff(got) >= 0).all()
    assert len(calls) <= (80 if family == "gamma" else 45)  # of both tails; the smallest gamma quantile is subnormal


@pytest.mark.parametrize("a", [1.9e4, 2.1e4, 1e5, 1e6, 2.3e7, 1e10, 1e15])
def test_tails_of_gamma_and_poisson_laws_of_large_shape(a):
    """SciPy's incomplete gamma functions are off by 1e-5 at a = 1e6 and by 10 % at 2e7, from 4.5 deviations on.

    Observed 1.5e-13 for counts, 0.37 of the limit for gamma laws.
    """
    z = np.array([-30.0, -8.0, -4.6, -4.4, -1.0, 1e-3, 2.0, 4.6, 9.0, 28.0])
    x = np.append(a + z * math.sqrt(a), a)
    sums, want = np.floor(x), np.empty((2, x.size))
    with mpmath.workdps(50):
        A = mpmath.mpf(a)

        def mass(shape, limit):
            at, deviation = mpmath.mpf(limit), mpmath.sqrt(shape)
            log_top = (shape - 1) * mpmath.log(at) - at
            density = lambda t: mpmath.exp((shape - 1) * mpmath.log(t) - t - log_top)  # noqa: E731
            side = 1 if at >= shape else -1
            reach = [at + side * deviation * k for k in (0, 0.05, 0.2, 0.5, 1, 2, 4, 8, 16)]
            small = abs(mpmath.quad(density, reach)) * mpmath.exp(log_top - mpmath.loggamma(shape))
            return (1 - small, small) if side > 0 else (small, 1 - small)

        for k in range(x.size):
            want[:, k] = [float(v) for v in mass(A, x[k])]
            lower, upper = mass(mpmath.mpf(sums[k]) + 1, a)  # P(X > k) is the lower tail of the gamma law of shape k + 1
            law = dict(weights=[1.0], centres=[a], family="poisson")
            assert mixture.cdf(sums[k], **law) == pytest.approx(float(upper), rel=3e-13), z[k % z.size]
            assert mixture.sf(sums[k], **law) == pytest.approx(float(lower), rel=3e-13), z[k % z.size]
    for law in (dict(centres=[a], params=[a], family="gamma"), dict(centres=[a], family=("gamma", a))):
        got = np.array([mixture.cdf(x, [1.0], **law), mixture.sf(x, [1.0], **law)])
        rounding = 4e-16 * math.sqrt(a) * np.append(np.abs(z) + 1.0, 1.0)  # of a x/mean, as a share of the tails
        assert (np.abs(got / want - 1.0) < 3e-13 + rounding).all()


def test_quantiles_against_closed_forms():
    small, next_to_1 = 10.0 ** -np.arange(1.0, 200.0, 7.0), 1.0 - 2.0 ** -np.arange(2.0, 54.0, 5.0)
    q = np.concatenate([small, np.linspace(0.01, 0.99, 50), next_to_1])
    upper = 1.0 - q
    for scale in (1e-100, 1e-5, 1.0, 1e9, 1e100):
        want = np.where(q < 0.5, -np.log1p(-q), -np.log(upper)) * scale
        np.testing.assert_allclose(mixture.ppf(q, [1.0], [scale], family="exponential"), want, rtol=5e-14)  # gammainc: 2.8e-14
        want = np.sqrt(want / scale) * 2.0
        np.testing.assert_allclose(mixture.ppf(q, [0.5, 0.5], [2.0, 2.0], family="rayleigh"), want, rtol=3e-14)
        z = scipy.special.ndtri(np.where(q < 0.5, q, upper)) * np.where(q < 0.5, 1.0, -1.0)
        got = mixture.ppf(q, [0.2, 0.8], [scale, scale], [scale * scale] * 2, family="gaussian")
        np.testing.assert_allclose(got, scale * (1.0 + z), rtol=4e-16, atol=2e-14 * scale)
    far = mixture.ppf([0.25, 0.75, 0.4999, 0.5001], [0.5, 0.5], [-1e8, 1e8], [1.0, 1.0], family="gaussian")
    z = scipy.special.ndtri(0.0002)
    np.testing.assert_allclose(far, [-1e8, 1e8, -1e8 - z, 1e8 + z], rtol=1e-15)
    for m in (1e308, 1.7e308):
        far = mixture.ppf([1e-310, 0.1, 0.29, 0.5, 0.99], [0.3, 0.7], [-m, m], [1e300, 1.0], family="gaussian")
        np.testing.assert_allclose(far, [-m, -m, -m, m, m], rtol=1e-15)
    got = mixture.ppf(q, [1.0], [3.0], [2.5], family="gamma")
    np.testing.assert_allclose(got, scipy.special.gammaincinv(2.5, q) * 1.2, rtol=3e-14)
    assert mixture.ppf([], [1.0], [3.0], [2.5], family="inverse_gaussian").shape == (0,) and mixture.ppf(
        [[0.5]], [1.0], [3.0], [2.5], family="inverse_gaussian"
    ).shape == (1, 1)


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", "exponential", "lognormal"])
def test_em_in_pieces(family):
    x = small_data(n=150)
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    now = [np.array([0.45, 0.55]), r.centres * [0.9, 1.1], None if np.isnan(r.params).any() else r.params * 1.2]
    w = np.random.default_rng(1).integers(1, 4, x.size).astype(float)
    last = -np.inf
    for _ in range(5):
        parts = [
            mixture.partial_stats(x[s], *now, family=family, sample_weight=w[s], device="cpu")
            for s in np.split(np.arange(150), 3)
        ]
        *new, ll = mixture.em_update(mixture.combine(parts), *now, family=family)
        assert ll > last
        dens = mixture.logpdf(x, *now, family=family, device="cpu")
        assert abs(ll - w @ dens) < 1e-9
        resp = mixture.responsibilities(x, *now, family=family, device="cpu")
        np.testing.assert_allclose(new[0], w @ resp / w.sum(), rtol=1e-12)
        y = np.log(x) if family == "lognormal" else x
        np.testing.assert_allclose(new[1], (w * y) @ resp / (w @ resp), rtol=1e-12)
        now, last = new, ll
    with pytest.raises(ValueError, match="shape"):
        mixture.em_update(np.ones(3), *now, family=family)
    if family != "gaussian":
        with pytest.raises(ValueError, match="support"):
            mixture.partial_stats([-1.0, 2.0], *now, family=family)


@pytest.mark.parametrize("parts", [[], [np.ones(7), np.ones(4)], [np.ones((2, 7))]])
def test_combine_refuses_what_does_not_belong_together(parts):
    with pytest.raises(ValueError, match="partial_stats"):
        mixture.combine(parts)


def test_gamma_values_far_below_the_mean():
    """Shape 0.05: values of 1e-70 beside a mean of 1. Their logarithms used to be NaN, the log-likelihood infinite."""
    x = np.maximum(scipy.stats.gamma(0.05, scale=20.0).ppf(np.linspace(1e-4, 0.999, 300)), 1e-60)
    k, mean = 0.05, 1.3
    got = mixture.logpdf(x, [1.0], [mean], [k], family="gamma")
    np.testing.assert_allclose(got, scipy.stats.gamma(k, scale=mean / k).logpdf(x), rtol=1e-14, atol=2e-15)  # observed 9e-16
    fit = mixture.fit(x, 1, family="gamma", rng=0)
    want = scipy.stats.gamma(fit.params[0], scale=fit.means[0] / fit.params[0]).logpdf(x).sum()
    assert fit.loglik == pytest.approx(want, rel=1e-12)


def test_densities_at_the_ends_of_their_range():
    """At 0 where the density is finite there, and where squares or reciprocals of values leave the range of doubles."""
    one = ([1.0], [1.0])
    assert mixture.pdf(0.0, *one, family="exponential") == 1.0
    np.testing.assert_allclose(mixture.pdf(0.0, *one, family="half_normal"), scipy.stats.halfnorm.pdf(0.0), rtol=1e-14)
    assert mixture.pdf(0.0, *one, family="rayleigh") == 0.0 and mixture.pdf(-1e-300, *one, family="exponential") == 0.0
    np.testing.assert_allclose(mixture.logpdf(1e160, *one, [1.0], family="inverse_gaussian"), -0.5e160, rtol=1e-14)
    np.testing.assert_allclose(mixture.logpdf(1e-200, *one, [1.0], family="reciprocal_inverse_gaussian"), -0.5e200, rtol=1e-14)
    np.testing.assert_allclose(mixture.logpdf(1e-200, *one, family="rayleigh"), np.log(1e-200), rtol=1e-14)
    a, b = mixture.logpdf([1e-100, 1e-200], *one, family="maxwell")  # x^2 times a constant
    np.testing.assert_allclose(b - a, 2.0 * np.log(1e-100), rtol=1e-13)
    for family in ("gaussian", "rayleigh", "maxwell", "half_normal"):
        params = [[1.0]] if family == "gaussian" else []
        assert mixture.logpdf(1e300, *one, *params, family=family) == -np.inf
        assert mixture.pdf(1e160, *one, *params, family=family) == 0.0


@pytest.mark.parametrize("kind", ["torch", "numba"])
def test_kind_of_array_is_kept(kind):
    """Functions of a fitted mixture give tensors for tensors and device arrays for device arrays, of the dtype given."""
    if kind == "torch":
        torch = pytest.importorskip("torch")
        convert, back = torch.from_numpy, lambda t: t.numpy()
    else:
        from numba import cuda

        convert, back = cuda.to_device, lambda a: a.copy_to_host()
    law = [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-6)):
        x = np.array([[0.5, 1.0], [math.nan, 0.1]], dtype)
        for f in (mixture.pdf, mixture.logpdf, mixture.cdf, mixture.sf, mixture.ppf, mixture.responsibilities):
            got, want = f(convert(x), *law, family="inverse_gaussian"), f(x, *law, family="inverse_gaussian")
            assert type(got) is type(convert(x)) and back(got).dtype == dtype, f.__name__
            np.testing.assert_allclose(back(got), want, rtol=rtol)
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(-2, 1, 60), rng.normal(3, 0.5, 40)])
    model = mixture.Mixture(2, family="gaussian", rng=0).fit(convert(data))
    X = convert(data[:, None].copy())
    for f in (model.score_samples, model.predict, model.predict_proba):
        got = f(X)
        assert type(got) is type(X)
        np.testing.assert_allclose(back(got), f(data), rtol=1e-12, atol=1e-15)
    assert model.score(X) == pytest.approx(model.score(data), rel=1e-14)
    assert model.bic(X) == pytest.approx(model.bic(data), rel=1e-14)
    assert np.array_equal(model.sample(3, 1), model.sample(3, rng=1)) and model.sample(3, 1).shape == (3, 1)
    if kind == "numba":
        with pytest.raises(ValueError, match="device='cpu'"):
            mixture.pdf(convert(data), *law, device="cpu", family="inverse_gaussian")


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize(("family", "size"), [("poisson", 1e4), ("poisson", 1e8), (("gamma", 1e6), 1e6), ("gamma", 1e6)])
def test_loglik_of_large_counts_and_shapes(family, size, K):
    """The reported value against 40 digits at the reported parameters, with weights: observed 9e-16 relative."""
    rng = np.random.default_rng(3)
    base = rng.poisson if family == "poisson" else lambda m, n: rng.gamma(m, 7.3 / m, n)
    x = np.concatenate([base(size, 60), base(size, 40) * (1 + 6 / size**0.5)])
    x = np.round(x) if family == "poisson" else x
    w = rng.random(100)
    r = mixture.fit(x, K, family=family, weights=w, rng=0)
    assert r.status == 0
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for xi, wi in zip(map(mpmath.mpf, x), map(mpmath.mpf, w), strict=True):
            s = mpmath.mpf(0)
            for al, m, v in zip(*(map(mpmath.mpf, p) for p in (r.weights, r.means, r.params)), strict=True):
                a = v if family == "gamma" else mpmath.mpf(size)
                if family == "poisson":
                    s += al * mpmath.exp(xi * mpmath.log(m) - m - mpmath.loggamma(xi + 1))
                else:
                    s += al * mpmath.exp(a * mpmath.log(a / m) - mpmath.loggamma(a) + (a - 1) * mpmath.log(xi) - a * xi / m)
            total += wi * mpmath.log(s)
        assert abs(r.loglik / total - 1) < 5e-15
    np.testing.assert_allclose(w @ mixture.logpdf(x, r.weights, r.centres, r.params, family=family), float(total), rtol=1e-12)


@pytest.mark.parametrize(
    "family, means, params",
    [
        ("gaussian", [0.0, 1e6], [1e-6, 1e-6]),
        ("lognormal", [-10.0, 10.0], [1e-4, 1e-4]),
        ("gamma", [1e-2, 1e6], [1e3, 1e3]),
        ("inverse_gaussian", [1.0, 1e6], [1e6, 1e3]),
        ("poisson", [3.0, 1e9], None),
        (("gamma", 40.0), [1e-3, 1e9], None),
        ("geometric", [1e-3, 1e9], None),
    ],
    ids=str,
)
def test_densities_of_components_far_apart(family, means, params, device):
    """About a common centre the logits would lose (distance/width)^2 ulp: 21 units in the first case."""
    args = (W, means, params)
    x = np.concatenate([mixture.rvs([1.0], [m], None if params is None else [params[k]], 20, family=family, rng=k)
                        for k, m in enumerate(means)])  # fmt: skip
    second = params if params is not None else [1.0, 1.0]
    if family == "poisson":  # SciPy cancels
        with mpmath.workdps(40):
            logs = [[float(v * mpmath.log(m) - m - mpmath.loggamma(v + 1)) for v in map(mpmath.mpf, x)] for m in means]
    else:
        logs = [log_density(family, x, m, p) for m, p in zip(means, second, strict=True)]
    logs = np.array(logs) + np.log(W)[:, None]
    exact = scipy.special.logsumexp(logs, axis=0)
    np.testing.assert_allclose(mixture.logpdf(x, *args, family=family, **device), exact, rtol=2e-12, atol=2e-12)
    resp = mixture.responsibilities(x, *args, family=family, **device)
    np.testing.assert_allclose(resp, np.exp(logs - exact).T, rtol=1e-12)
    some = [x[0], -1.0 if family != "gaussian" else np.inf, np.nan]
    got = mixture.pdf(
        some, [0.3, 0.0, 0.7], np.insert(means, 1, 5.0), params and np.insert(params, 1, 1.0), family=family, **device
    )
    assert got[0] == pytest.approx(math.exp(exact[0]), rel=2e-12) and got[1] == 0.0 and np.isnan(got[2])


@pytest.mark.parametrize(
    "family, means, params",
    [
        ("inverse_gaussian", [1.0, 1e5], [1.0, 1e3]),
        ("exponential", [1.0, 1e7], None),
        ("rayleigh", [1.0, 1e7], None),
        ("gamma", [1.0, 1e7], [1.0, 1.0]),
    ],
)
def test_densities_of_rare_components_far_away(family, means, params):
    """The mean of the mixture is near the first component: about it the second one would lose 1e-7."""
    x = np.array([1.0, 0.1, 1.0, 3.0, 10.0]) * ([1.0] + [means[1] if family != "rayleigh" else 1e4] * 4)
    logs = [log_density(family, x, m, p) for m, p in zip(means, params or [1.0, 1.0], strict=True)]
    logs = np.array(logs) + np.log([1.0 - 1e-6, 1e-6])[:, None]
    got = mixture.logpdf(x, [1.0 - 1e-6, 1e-6], means, params, family=family)
    np.testing.assert_allclose(got, scipy.special.logsumexp(logs, axis=0), rtol=2e-13, atol=2e-13)


def test_float32_densities_are_rounded_once():
    x = np.linspace(-13, 13, 27, dtype=np.float32)
    exact = scipy.stats.norm.pdf(x.astype(np.float64)).astype(np.float32)
    got = mixture.pdf(x, [1.0], [0.0], [1.0], family="gaussian")
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, exact, rtol=1.2e-7)  # was 5e-6


@pytest.mark.parametrize("mean", [2e6, 3e8, 1e12])
def test_draws_of_large_counts(mean):
    x = mixture.rvs([1.0], [mean], size=20_000, family="poisson", rng=3)
    assert (x == np.floor(x)).all()
    z = (x - mean) / math.sqrt(mean)
    assert scipy.stats.kstest(z, "norm").pvalue > 1e-3 and abs(z.std() - 1) < 0.03
    u = np.random.default_rng(1).random(200)
    k = mixture.distribution._poisson_quantile(u, mean)
    if mean < 1e12:  # above, `pdtr` itself is too rough
        assert (scipy.special.pdtr(k, mean) >= u).all() and (scipy.special.pdtr(k - 1, mean) < u).all()


@pytest.mark.parametrize("mean", [1e-9, 0.3, 1.0, 40.0, 3e3, 9.9e5])
def test_draws_of_counts(mean):
    u = np.concatenate([np.random.default_rng(1).random(500), [2.0**-53, 1e-9, 0.5, 1 - 1e-9, 1 - 2.0**-53]])
    k = mixture.distribution._poisson_quantile(u, mean)
    np.testing.assert_array_equal(k[:-1], scipy.stats.poisson(mean).ppf(u[:-1]))
    assert scipy.stats.poisson(mean).sf(k[-1]) < 1e-15 < scipy.stats.poisson(mean).sf(k[-1] * 0.99 - 1)
    x = mixture.rvs([0.2, 0.8], [mean, 2 * mean + 5], size=50_000, family="poisson", rng=3)
    exact = 1.8 * mean + 4, 1.8 * mean + 4 + 0.16 * (mean + 5) ** 2  # mean and variance of the mixture
    assert abs(x.mean() - exact[0]) < 5 * math.sqrt(exact[1] / x.size) and abs(x.var() / exact[1] - 1) < 0.05


def test_draws_of_inverse_gaussian_laws_far_below_their_mean():
    """With lambda far below the mean lambda/x is chi-squared; a product overflowed, and all draws were 0."""
    x = mixture.rvs([1.0], [1.0], [1e-200], size=20_000, rng=1, family="inverse_gaussian")
    assert (x > 0).all() and scipy.stats.kstest(1e-200 / x, "chi2", args=(1,)).pvalue > 1e-3


def test_tensors_as_weights():
    torch = pytest.importorskip("torch")
    x, w = np.random.default_rng(1).normal(size=(2, 50))
    want = mixture.Mixture(1, family="gaussian", rng=0).fit(x, sample_weight=w**2)
    found = mixture.Mixture(1, family="gaussian", rng=0).fit(torch.tensor(x), sample_weight=torch.tensor(w**2))
    assert found.loglik_ == want.loglik_ and found.lower_bound_ == want.lower_bound_


def test_pareto_values_at_the_minimum():
    """The usual minimum is the least value: its density is finite and positive, as that of the exponential law at 0."""
    x = np.sort(mixture.rvs([1.0], [0.4], size=300, family=("pareto", 3.0), rng=1))
    family = ("pareto", float(x[0]))
    found = mixture.fit(x, 1, family=family, se=True)
    mean = np.log(x / x[0]).mean()
    assert found.status == 0 and found.centres[0] == pytest.approx(mean, rel=1e-15)
    assert found.loglik == pytest.approx(scipy.stats.pareto.logpdf(x, 1 / mean, scale=x[0]).sum(), rel=1e-15)
    assert found.se["mean_log_ratio"][0] == pytest.approx(mean / math.sqrt(x.size), rel=1e-15)
    two = mixture.fit(np.concatenate([x, x[0] * np.geomspace(1e3, 1e9, 300)]), 2, family=family, rng=0)
    assert two.status == 0
    near = 3.0 * (1.0 + np.array([1e-13, 1e-10, 1e-3]))
    want = [float(-mpmath.expm1(-mpmath.log(mpmath.mpf(v) / 3) / 0.4)) for v in near]
    np.testing.assert_allclose(mixture.cdf(near, [1.0], [0.4], family=("pareto", 3.0)), want, rtol=5e-15)


@pytest.mark.parametrize("candidates", [(2, 3), (2, 3, 4)])
def test_a_collapsed_candidate_does_not_hide_an_optimum(candidates):
    """Where no candidate is certified and admissible, parameters that exist come before those that do not."""
    x = np.array([-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7])
    alone = [mixture.fit(x, K, family="gaussian", rng=0, errors="status").status for K in (2, 3)]
    assert sorted(alone) == [3, 4]
    found = mixture.fit(x, candidates, family="gaussian", rng=0)
    assert found.status == 4 and np.isfinite(found.means).all()


def spiked(seed):
    """Data whose likeliest starts climb to infinity over a value that lies far out."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.0, 1.0, 150), rng.normal(3.0, 4.0, 50)])


@pytest.mark.parametrize(
    ("x", "K", "status"),
    [
        (np.concatenate([np.zeros(700), np.random.default_rng(0).normal(size=1500)]), 2, 0),
        (spiked(15078), 3, 0),
        (spiked(8002), 3, 4),  # narrower than min_sd_ratio
    ],
    ids=["tied", "spike", "narrow"],
)
def test_collapsed_climbs_do_not_hide_an_optimum(x, K, status):
    """Where the best few starts end in a spike the others are climbed from: there is a maximum, by SciPy as well."""
    r = mixture.fit(x, K, family="gaussian", rng=0)
    assert r.status == status and r.converged

    def loss(theta):
        z = np.append(theta[: K - 1], 0.0)
        w = np.exp(z - scipy.special.logsumexp(z))
        parts = [np.log(w[k]) + log_density("gaussian", x, theta[K - 1 + k], np.exp(theta[2 * K - 1 + k])) for k in range(K)]
        return -float(np.sum(scipy.special.logsumexp(np.stack(parts), axis=0)))

    there = np.concatenate([np.log(r.weights[:-1] / r.weights[-1]), r.means, np.log(r.params)])
    assert abs(loss(there) + r.loglik) < 1e-9 * abs(r.loglik)
    assert -scipy.optimize.minimize(loss, there, method="BFGS").fun - r.loglik < 1e-7


def test_status_3_speaks_of_all_starts():
    x = np.array([-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7])
    r = mixture.fit(x, 2, family="gaussian", rng=0)
    assert (r.status, r.n_singular) == (3, 30)


@pytest.mark.parametrize("n", [5, 12, 20])
def test_places_in_memory_do_not_matter(n, monkeypatch):
    """Loops in vectors take arrays that lie close together for overlapping: sums of the same values were another last bit off."""

    class Placed:
        """NumPy, whose `empty` takes pieces of one block, so far apart."""

        def __init__(self, gap):
            self.block, self.used, self.gap = np.zeros(10_000), 0, gap

        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, shape, dtype=np.float64):
            lo, hi = self.used, self.used + int(np.prod(shape))
            self.used = hi + self.gap
            return self.block[lo:hi].reshape(shape)

    law, rng = family_of("gaussian"), np.random.default_rng(0)
    options = pipeline.Options(
        "newton", "portfolio", None, 1e-9, 5000, 0.0, None, 1.0, 0.015, 2.5, "double", (0, 0), "cpu", 1
    )  # fmt: skip
    for x in rng.gamma(2.0, 1.0, (20, n)):
        bits = []
        for gap in (0, 500):
            data = layout.arrange(layout.flatten([x], None, None), law)
            monkeypatch.setattr(pipeline, "np", Placed(gap))
            y, w = pipeline.np.empty(n), pipeline.np.empty(n)
            y[:], w[:] = data.y, data.w
            data.y, data.w = y, w
            p = pipeline.prepare(data, 0, 1, np.zeros(1, np.int64), law, options, True)
            bits.append((p.info.tobytes(), p.t1.tobytes(), p.t2.tobytes(), p.constant.tobytes()))
        assert bits[0] == bits[1]


def test_what_has_no_weight_takes_no_part():
    """Whatever its value; and a missing value may have a missing weight, as where rows are padded."""
    x = small_data()
    want = mixture.fit(x, 2, family="gamma", rng=1, device="cpu")
    odd = np.concatenate([x, [-1.0, np.inf, 0.0, np.nan]])
    w = np.append(np.ones(x.size), [0.0, 0.0, 0.0, np.nan])
    got = mixture.fit(odd, 2, family="gamma", weights=w, rng=1, device="cpu")
    assert (got.status, got.n_used, got.n_dropped) == (0, x.size, 4) and got.loglik == want.loglik
    law = want.weights, want.means, want.params
    sums = mixture.partial_stats(odd, *law, family="gamma", sample_weight=w, device="cpu")
    assert (sums == mixture.partial_stats(x, *law, family="gamma", device="cpu")).all()
    w[0] = np.nan
    assert mixture.fit(odd, 2, family="gamma", weights=w, errors="status").status == 8


@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e200])
def test_em_in_pieces_at_extreme_scales(scale):
    x, now = small_data(), (np.array([0.4, 0.6]), np.array([2.0, 8.0]), np.array([10.0, 100.0]))
    there = now[0], now[1] * scale, now[2] * scale
    want = mixture.em_update(
        mixture.partial_stats(x, *now, device="cpu", family="inverse_gaussian"), *now, family="inverse_gaussian"
    )
    got = mixture.em_update(
        mixture.partial_stats(x * scale, *there, device="cpu", family="inverse_gaussian"), *there, family="inverse_gaussian"
    )
    for a, b, unit in zip(got[:3], want[:3], (1.0, scale, scale), strict=True):
        np.testing.assert_allclose(a / unit, b, rtol=1e-13)
    assert got[3] == pytest.approx(want[3] - x.size * math.log(scale), rel=1e-14)


def test_em_in_pieces_of_components_far_apart(device):
    """Sums about the common mean would lose (distance/width)^2 ulp, here all digits of the variances."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(1e9, 2, 80)])
    now = np.array([0.5, 0.5]), np.array([0.3, 1e9]), np.array([1.0, 1.0])
    sums = mixture.combine([mixture.partial_stats(v, *now, family="gaussian", **device) for v in (x[:70], x[70:])])
    w, m, v, loglik = mixture.em_update(sums, *now, family="gaussian")
    np.testing.assert_allclose(w, [50 / 130, 80 / 130], rtol=1e-15)
    np.testing.assert_allclose(m, [x[:50].mean(), x[50:].mean()], rtol=1e-14)
    np.testing.assert_allclose(v, [x[:50].var(), x[50:].var()], rtol=1e-6)  # of data rounded to 1e-7; np.var has its own error
    z = np.concatenate([x[:50] - 0.3, x[50:] - 1e9])
    assert loglik == pytest.approx(np.sum(scipy.stats.norm.logpdf(z) + math.log(0.5)), rel=1e-13)


@pytest.mark.parametrize("mean", [1e-300, 1e-160, -1e-100, 1e200])
def test_gaussian_means_far_from_the_deviation(mean):
    x = mean + np.array([-1.0, 0.0, 0.5])
    want = scipy.stats.norm.logpdf(x - mean)
    np.testing.assert_allclose(mixture.logpdf(x, [1.0], [mean], [1.0], family="gaussian"), want, rtol=1e-15)
    got = mixture.logpdf(x, [0.5, 0.5], [mean, mean], [1.0, 4.0], family="gaussian")
    np.testing.assert_allclose(got, np.logaddexp(want, scipy.stats.norm.logpdf(x - mean, 0, 2)) - math.log(2), rtol=1e-14)


def test_numbers_of_components_of_other_data_sets_do_not_matter():
    """A start that splits a component is for candidates; one K of another data set made it here as well."""
    rng = np.random.default_rng(8)
    x = rng.normal(rng.choice([0.0, 5.0, 10.0, 15.0], size=(40, 100)), 1.0)
    options = dict(family="gaussian", n_init=1, starts="subset", rng=1, device="cpu")
    mixed = mixture.fit_many(x, np.tile([3, 4], 20), **options)
    same = mixture.fit_many(x, 4, **options)
    assert (mixed.n_passes[1::2] == same.n_passes[1::2]).all()
    np.testing.assert_array_equal(mixed.loglik[1::2], same.loglik[1::2])
    kept = mixture.fit_many(x, (3, 4), keep_starts=True, **options)
    np.testing.assert_array_equal(kept.loglik, mixture.fit_many(x, (3, 4), **options).loglik)


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma"])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_objective_is_in_the_units_of_the_data(family, scale):
    """Not in those of the scaled data that the fit works with."""
    x = scale * small_data()
    degree = {"gaussian": 2.0, "inverse_gaussian": -1.0, "gamma": 0.0}[family]
    n0, d0, a0 = 5.0, 0.5 * scale**degree, 2.0
    r = mixture.fit(x, 2, family=family, prior={"n0": n0, "d0": d0, "a0": a0}, rng=1, device="cpu")
    p = r.params
    if family == "gamma":
        log_prior = n0 * (p * np.log(p) - scipy.special.gammaln(p) - p - p * d0)
    else:
        v = p if family == "gaussian" else 1 / p
        log_prior = -0.5 * n0 * (np.log(v) + d0 / v)
    want = log_likelihood(family, x, r) + log_prior.sum() + (a0 - 1) * np.log(r.weights).sum()
    assert r.objective == pytest.approx(want, rel=1e-12)


def test_options_set_after_a_fit_do_not_change_the_model():
    x = small_data()
    model = mixture.Mixture(2, family="gamma", rng=1, device="cpu").fit(x)
    before = model.score(x), model.bic(x), model.predict(x), model.sample(5, rng=1)
    model.set_params(family="exponential", n_components=3)
    for got, want in zip((model.score(x), model.bic(x), model.predict(x), model.sample(5, rng=1)), before, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("K", [np.array([2, 3]), range(1, 3), 2.0])
def test_bulkem_takes_one_number_of_components(K):
    with pytest.raises(ValueError, match="fit_many"):
        mixture.bulkem([GOOD, GOOD], K)


WALD = np.random.default_rng(8).wald(1.0, 5.0, 200)


def test_index_of_a_batch():
    fits = mixture.fit_many([WALD[:50], [], WALD[50:120]], 1, family="inverse_gaussian")
    assert fits[-1].n_used == 70 and fits[np.int64(1)].status == 7 and fits.message(-1) == fits[2].message
    assert [f.status for f in fits] == [0, 7, 0]
    for read in (fits.__getitem__, fits.message):
        with pytest.raises(TypeError, match="pass an integer"):
            read(slice(0, 2))
        with pytest.raises(IndexError, match="no data set 3: the batch holds 3"):
            read(3)


def test_data_sets_of_an_iterator():
    sets = {"a": WALD[:50], "b": WALD[50:120]}
    weights = [np.arange(50) % 3.0, np.ones(70)]
    want = mixture.fit_many(list(sets.values()), 1, weights=weights, family="inverse_gaussian")
    for data in (sets.values(), (v for v in sets.values()), map(np.asarray, sets.values())):
        np.testing.assert_array_equal(
            mixture.fit_many(data, 1, weights=iter(weights), family="inverse_gaussian").means, want.means
        )


def test_masked_weights_count_as_none():
    mask = np.arange(200) % 5 == 0
    x, w = WALD[:200], np.ma.array(np.ones(200), mask=mask)
    want = mixture.fit(x[~mask], 1, family="inverse_gaussian")
    estimator = mixture.Mixture(1, family="inverse_gaussian").fit(x, sample_weight=w)
    for got in (
        mixture.fit(x, 1, weights=w, family="inverse_gaussian"),
        mixture.fit_many([x], 1, weights=[w], family="inverse_gaussian")[0],
        estimator.result_,
    ):
        assert got.n_used == want.n_used and math.isclose(got.loglik, want.loglik, rel_tol=1e-14)
    rows = mixture.fit_many(np.stack([x, x]), 1, weights=np.ma.stack([w, w]), family="inverse_gaussian")
    np.testing.assert_allclose(rows.loglik, want.loglik, rtol=1e-14)


# --- the family, the names of its parameters, keys -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: mixture.pdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.logpdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.cdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.sf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.ppf(0.5, [1.0], [1.0], [1.0]),
        lambda: mixture.rvs([1.0], [1.0], [1.0], rng=1),
        lambda: mixture.responsibilities(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.partial_stats([1.0], [1.0], [1.0], [1.0]),
        lambda: mixture.em_update(np.ones(4), [1.0], [1.0], [1.0]),
        lambda: mixture.fit(WALD, 2),
        lambda: mixture.fit_many([WALD], 2),
        lambda: mixture.Mixture(2).fit(WALD),
    ],
)
def test_a_family_is_required(call):
    """An inverse Gaussian mixture was taken for whatever had been fitted."""
    with pytest.raises(TypeError, match=r"family is missing.*family='gaussian'.*'lognormal'.*\('weibull', shape\)"):
        call()


def test_normal_is_gaussian():
    x = np.random.default_rng(1).normal(size=100)
    fit, batch = mixture.fit(x, 1, family="normal"), mixture.fit_many([x], 1, family="normal")
    assert (
        fit.family == batch.family == batch[0].family == mixture.Mixture(1, family="normal").fit(x).result_.family == "gaussian"
    )
    assert mixture.pdf(0.3, [1.0], [0.0], [1.0], family="normal") == pytest.approx(scipy.stats.norm.pdf(0.3), rel=1e-15)
    assert mixture.fit(x**2, 1, family=("weibull", 2)).family == ("weibull", 2.0)


METHODS = ["gaussian", "gamma", "lognormal", "poisson", ("weibull", 1.5)]


@pytest.mark.parametrize("family", METHODS, ids=str)
def test_methods_of_a_fit_use_its_family(family):
    x = np.round(small_data()) if family == "poisson" else small_data()
    fit = mixture.fit_many([x], 2, family=family, rng=1)[0]
    at = np.array([1.0, 4.0, 9.0])
    logs = np.stack(
        [np.log(w) + log_density(family, at, m, p) for w, m, p in zip(fit.weights, fit.centres, fit.params, strict=True)]
    )
    total = scipy.special.logsumexp(logs, axis=0)
    np.testing.assert_allclose(fit.logpdf(at), total, rtol=1e-12)
    np.testing.assert_allclose(fit.pdf(at), np.exp(total), rtol=1e-12)
    np.testing.assert_allclose(fit.predict_proba(at), np.exp(logs - total).T, rtol=1e-9, atol=1e-15)
    assert (fit.predict(at) == logs.argmax(axis=0)).all() and fit.predict([[np.nan, 9.0]]).tolist() == [[-1, 1]]
    lower = fit.cdf(at)
    assert (np.diff(lower) > 0).all() and lower + fit.sf(at) == pytest.approx(np.ones(3), rel=1e-14)
    if family == "poisson":
        assert lower[0] == pytest.approx(fit.pdf([0.0, 1.0]).sum(), rel=1e-12)
    else:
        assert lower[0] == pytest.approx(
            scipy.integrate.quad(fit.pdf, 0.0 if family != "gaussian" else -np.inf, 1.0)[0], rel=1e-7
        )
        assert fit.ppf(lower) == pytest.approx(at, rel=1e-12)
    draws = fit.rvs(20_000, rng=3)
    assert abs(draws.mean() - fit.weights @ fit.component_means()) < 5 * draws.std() / math.sqrt(20_000)
    assert (mixture.pdf(at, fit.weights, fit.centres, fit.params, family=fit.family) == fit.pdf(at)).all()


def test_a_fit_without_parameters_has_no_distribution():
    fit = mixture.fit([1.0, 1.0, 1.0], 2, family="gaussian", errors="status")
    with pytest.raises(ValueError, match="status 5: too few"):
        fit.pdf(0.0)


NAMES = {
    "gaussian": ("mean", "variance"),
    "inverse_gaussian": ("mean", "lambda"),
    "gamma": ("mean", "shape"),
    "lognormal": ("mean_log", "variance_log"),
    "inverse_gamma": ("mean_reciprocal", "shape"),
    "reciprocal_inverse_gaussian": ("mean_reciprocal", "lambda"),
    "exponential": ("mean",),
    "poisson": ("mean",),
    "geometric": ("mean",),
    "rayleigh": ("mean_half_square",),
    "maxwell": ("mean_square",),
    "half_normal": ("mean_square",),
    ("weibull", 1.5): ("mean_power",),
    ("pareto", 0.5): ("mean_log_ratio",),
    ("gamma", 2.0): ("mean",),
}


def scipy_law(family, m, p):
    """The distribution of one component by scipy.stats."""
    st = scipy.stats
    if isinstance(family, tuple):
        name, c = family
        return {
            "weibull": lambda: st.weibull_min(c, scale=m ** (1 / c)),
            "pareto": lambda: st.pareto(1 / m, scale=c),
            "gamma": lambda: st.gamma(c, scale=m / c),
        }[name]()
    return {
        "gaussian": lambda: st.norm(m, math.sqrt(p)),
        "inverse_gaussian": lambda: st.invgauss(m / p, scale=p),
        "gamma": lambda: st.gamma(p, scale=m / p),
        "lognormal": lambda: st.lognorm(math.sqrt(p), scale=math.exp(m)),
        "inverse_gamma": lambda: st.invgamma(p, scale=p / m),
        "reciprocal_inverse_gaussian": lambda: st.recipinvgauss(m / p, scale=1 / p),
        "exponential": lambda: st.expon(scale=m),
        "poisson": lambda: st.poisson(m),
        "geometric": lambda: st.geom(1 / (1 + m), loc=-1),
        "rayleigh": lambda: st.rayleigh(scale=math.sqrt(m)),
        "maxwell": lambda: st.maxwell(scale=math.sqrt(m / 3)),
        "half_normal": lambda: st.halfnorm(scale=math.sqrt(m)),
    }[family]()


@pytest.mark.parametrize("family", NAMES, ids=str)
def test_names_and_means_of_components(family):
    """`means` were those of log x, x^2 and other functions of x. The judge is scipy.stats."""
    rng = np.random.default_rng(2)
    x = (
        np.floor(small_data())
        if family in ("poisson", "geometric")
        else small_data() + (0.5 if family == ("pareto", 0.5) else 0.0)
    )
    fit = mixture.fit(x, 1, family=family, se=True, rng=rng)
    batch = mixture.fit_many([x, x[:60]], 1, family=family)
    assert tuple(fit.parameters) == tuple(batch.parameters) == NAMES[family] and tuple(fit.se) == ("weights", *NAMES[family])
    assert fit.parameters[NAMES[family][0]] is fit.centres
    law = scipy_law(family, fit.centres[0], fit.params[0])
    assert fit.logpdf(3.0) == pytest.approx(law.logpmf(3) if hasattr(law.dist, "pmf") else law.logpdf(3.0), rel=1e-12)
    rel = 1e-7 if family == "reciprocal_inverse_gaussian" else 1e-12  # there SciPy integrates
    assert fit.component_means() == pytest.approx(law.mean(), rel=rel)
    assert batch.component_means()[0] == pytest.approx(law.mean(), rel=rel) and batch.component_means().shape == (2, 1)
    model = mixture.Mixture(1, family=family).fit(x)
    if NAMES[family][0] == "mean":
        assert (fit.means == fit.component_means()).all() and (model.means_ == fit.means).all() and batch.means is batch.centres
    else:
        for result, name in ((fit, "means"), (batch, "means"), (model, "means_")):
            with pytest.raises(AttributeError, match=rf"{NAMES[family][0]}.*component_means\(\)"):
                getattr(result, name)


def test_infinite_means_of_components():
    x = scipy.stats.pareto(0.8).ppf((np.arange(200) + 0.5) / 200)
    fit = mixture.fit(x, 1, family=("pareto", 1.0))
    assert fit.centres[0] > 1.0 and fit.component_means().tolist() == [math.inf]
    fit = mixture.fit(scipy.stats.invgamma(0.7).ppf((np.arange(200) + 0.5) / 200), 1, family="inverse_gamma")
    assert fit.params[0] < 1.0 and fit.component_means().tolist() == [math.inf]
    batch = mixture.fit_many([x, [-1.0, 2.0]], (1, 2), family=("pareto", 1.0))
    assert np.isnan(batch.component_means()[1]).all()


def test_results_can_be_compared():
    fits = [mixture.fit_many([WALD], 2, family="gamma", rng=1) for _ in range(2)]
    assert fits[0] == fits[0] and fits[0] != fits[1] and fits[0][0] != fits[1][0] and len({fits[0], fits[1][0]}) == 2


def test_data_frames_are_refused():
    """500 rows of two columns were 500 data sets of two values."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": WALD, "b": WALD[::-1], "g": np.arange(200) % 2})
    for data in (frame, frame.groupby("g"), [(1, frame)]):
        with pytest.raises(ValueError, match="groupby"):
            mixture.fit_many(data, 1, family="gamma")
    with pytest.raises(ValueError, match=r"columns are the data sets, frame.to_numpy\(\) if its rows are"):
        mixture.fit_many(frame, 1, family="gamma")
    with pytest.raises(ValueError, match="weights is a DataFrame"):
        mixture.fit_many([WALD, WALD], 1, family="gamma", weights=frame)
    with pytest.raises(ValueError, match="fit_many"):
        mixture.fit(frame.groupby("g")["a"], 1, family="gamma")
    columns = mixture.fit_many([frame[c] for c in "ab"], 1, family="gamma")
    assert columns.n_used.tolist() == [200, 200] and columns.keys is None


def test_polars_frames_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": WALD, "g": np.arange(200) % 2})
    with pytest.raises(ValueError, match="data is a DataFrame"):
        mixture.fit_many(frame, 1, family="gamma")
    with pytest.raises(ValueError, match="select one column"):
        mixture.fit_many(frame.group_by("g"), 1, family="gamma")
    parts = {key: part["a"] for (key,), part in frame.group_by("g", maintain_order=True)}
    assert mixture.fit_many(parts, 1, family="gamma").keys == (0, 1)


def test_keys_of_data_sets_are_kept():
    pandas = pytest.importorskip("pandas")
    sets = {"z": WALD[:50], "a": WALD[50:120], 7: WALD[120:]}
    weights = {key: np.random.default_rng(3).random(v.size) for key, v in sets.items()}
    want = mixture.fit_many(list(sets.values()), 1, family="gamma", weights=list(weights.values()))
    pairs = list(sets.items())
    reverse = dict(reversed(list(weights.items())))
    for data, w in (
        (sets, weights),
        (sets, reverse),
        (sets, list(weights.values())),
        (pairs, reverse),
        (iter(pairs), weights.items()),
    ):
        got = mixture.fit_many(data, 1, family="gamma", weights=w)
        assert got.keys == ("z", "a", 7) and (got.centres == want.centres).all()
    assert got[got.keys.index("a")].n_used == 70
    frame = pandas.DataFrame({"g": np.repeat(["v", "u"], 100), "h": np.arange(200) % 2, "x": WALD})
    by = mixture.fit_many(frame.groupby("g", sort=False)["x"], 1, family="gamma")
    assert by.keys == ("v", "u") and by.centres[1, 0] == pytest.approx(WALD[100:].mean(), rel=1e-14)
    by = mixture.fit_many(frame.groupby(["g", "h"])["x"], 1, family="gamma")
    assert by.keys == (("u", 0), ("u", 1), ("v", 0), ("v", 1)) and by.n_used.tolist() == [50] * 4
    assert mixture.fit_many({}, 1, family="gamma").keys == ()
    for w in ({"z": weights["z"]}, {**weights, "b": weights["z"]}):
        with pytest.raises(ValueError, match="weights have keys that differ"):
            mixture.fit_many(sets, 1, family="gamma", weights=w)


class CupyArray:
    """What CuPy's arrays have of NumPy's, and no more: NumPy may not read them, `get` copies them to the host."""

    def __init__(self, host):
        self.host = np.asarray(host)
        self.shape, self.dtype, self.ndim, self.size = self.host.shape, self.host.dtype, self.host.ndim, self.host.size
        self.__cuda_array_interface__ = {"shape": self.shape, "typestr": self.dtype.str, "data": (0, False), "version": 3}

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array.")

    def __len__(self):
        return self.shape[0]

    def get(self):
        return self.host


@pytest.mark.parametrize("kind", ["cupy", "numba"])
def test_fits_of_arrays_on_a_gpu(kind):
    convert = CupyArray if kind == "cupy" else cuda.to_device
    x, w = WALD, np.random.default_rng(3).random(200)
    law = [0.5, 0.5], [0.8, 1.4], [5.0, 5.0]
    calls = [
        lambda x, w: mixture.fit(x, 2, family="gamma", weights=w, rng=1).centres,
        lambda x, w: mixture.fit_many([x, x], 1, family="gamma", weights=[w, w], rng=1).centres,
        lambda x, w: mixture.fit_many(x, 1, family="gamma", weights=w, offsets=[0, 90, 200]).centres,
        lambda x, w: mixture.partial_stats(x, *law, family="gamma", sample_weight=w, device="cpu"),
        lambda x, w: mixture.Mixture(2, family="gamma", rng=1).fit(x, sample_weight=w).centres_,
    ]
    for call in calls:
        assert (call(convert(x), convert(w)) == call(x, w)).all()
    rows = mixture.fit_many(convert(x.reshape(2, 100)), 1, family="gamma")
    assert (rows.centres == mixture.fit_many(x.reshape(2, 100), 1, family="gamma").centres).all()
    parameters = [convert(v) for v in law]
    assert mixture.pdf(1.0, *parameters, family="gamma") == mixture.pdf(1.0, *law, family="gamma")


@pytest.mark.parametrize("workers", [1.5, "2", 0, True])
def test_bad_workers_are_refused_where_there_is_nothing_to_do(workers):
    for x in ([], [1.0]):
        for f in (mixture.pdf, mixture.logpdf, mixture.responsibilities):
            with pytest.raises(ValueError, match="workers"):
                f(x, [1.0], [1.0], family="exponential", workers=workers)
        with pytest.raises(ValueError, match="workers"):
            mixture.partial_stats(x, [1.0], [1.0], family="exponential", workers=workers)


@pytest.mark.parametrize("n", [[], [3], 2.0, -1, "2", None])
def test_sample_takes_a_number_of_draws(n):
    model = mixture.Mixture(1, family="gamma").fit(WALD)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(n)
    assert model.sample(0).shape == (0, 1)


def test_no_features():
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(20, 0\)\) while a minimum of 1 is required"):
        mixture.Mixture(1, family="gamma").fit(np.empty((20, 0)))


def test_import_without_docstrings():
    """`python -OO` has none to complete."""
    code = "import numbastats.mixture as m; assert m.pdf.__doc__ is None; print(m.Mixture(1, family='gamma'))"
    done = subprocess.run(
        [sys.executable, "-OO", "-B", "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 0 and done.stdout == "Mixture(n_components=1, family='gamma')\n", done.stderr


@pytest.mark.parametrize("criterion", ["icl", "bic", "aic"])
def test_criteria_of_weighted_data_are_those_of_repeated_data(criterion):
    """ICL's entropy, too, has the weights: components that overlap, so that it counts."""
    rng = np.random.default_rng(2)
    x = np.round(np.concatenate([rng.normal(0, 1, 120), rng.normal(2.5, 0.7, 60)]), 1)
    w = rng.integers(0, 4, x.size)
    options = dict(family="gaussian", criterion=criterion, rng=1, device="cpu")
    weighted = mixture.fit_many([x], range(1, 4), weights=[w], **options)
    repeated = mixture.fit_many([np.repeat(x, w)], range(1, 4), **options)
    np.testing.assert_allclose(weighted.criteria_[0, :2], repeated.criteria_[0, :2], rtol=1e-9)
    if criterion == "icl":
        fit = mixture.fit(x, 2, family="gaussian", weights=w, rng=1, device="cpu")
        parts = np.stack([np.log(fit.weights[k]) + log_density("gaussian", x, fit.means[k], fit.params[k]) for k in range(2)])
        r = np.exp(parts - scipy.special.logsumexp(parts, axis=0))
        entropy = -np.sum(w * scipy.special.xlogy(r, r))
        assert entropy > 10.0 and weighted.criteria_[0, 1] == pytest.approx(fit.bic + 2.0 * entropy, rel=1e-9)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("K", "method"), [(5, "newton"), (2, "em")])
def test_ctrl_c_is_answered_soon(K, method, workers):
    """Whole chunks, of 8 to 36 s, came to their end first."""
    x = paper_data(2000, 2000)
    options = dict(family="inverse_gaussian", method=method, rng=1, device="cpu", workers=workers)
    mixture.fit_many(x[:2], K, **options)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            mixture.fit_many(x, K, **options)
    finally:
        timer.cancel()
    assert time.perf_counter() - pressed[0] < 4.0  # 0.1 to 0.5 on idle cores


SKLEARN_FAILURES = dict.fromkeys(
    [
        "check_dont_overwrite_parameters", "check_n_features_in_after_fitting", "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_fit2d_1sample", "check_fit2d_1feature",
        "check_dict_unchanged", "check_n_features_in", "check_fit2d_predict1d", "check_estimator_sparse_array",
    ],
    "the check indexes columns of the 1-d array that it makes for estimators of one feature",
)  # fmt: skip
SKLEARN_FAILURES |= dict.fromkeys(
    [
        "check_sample_weights_shape", "check_sample_weights_not_overwritten", "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "two features whatever the tags say",
)  # fmt: skip
SKLEARN_FAILURES |= {
    "check_fit1d": "1-d data are the usual ones here",
    "check_complex_data": "a TypeError, in our words",
    "check_dtype_object": "arrays of objects are refused",
    "check_estimators_unfitted": "where the NotFittedError is not also scikit-learn's",
    "check_array_api_input": "not asked for",
}


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn():
    """36 of 48 failed; by its tags the estimator now gets data of one feature."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if "on_fail" not in inspect.signature(checks.check_estimator).parameters:
        pytest.skip("scikit-learn before 1.6")
    results = checks.check_estimator(mixture.Mixture(1, family="gaussian", rng=0), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not {name: failed[name] for name in failed.keys() - SKLEARN_FAILURES.keys()}
    assert sum(r["status"] == "passed" for r in results) >= 28  # of 47 with scikit-learn 1.9
    assert mixture.Mixture(1, family="gamma").__sklearn_tags__().input_tags.positive_only
    assert mixture.Mixture(1).__sklearn_tags__().input_tags.allow_nan


def test_sparse_data_are_refused():
    with pytest.raises(TypeError, match=r"sparse data \(csr_array\).*X.toarray\(\)"):
        mixture.Mixture(1, family="gaussian").fit(scipy.sparse.csr_array(np.eye(4)[:, :1]))


# --- against changes of single lines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", ("gamma", 2.0), "poisson", "geometric"], ids=str)
def test_what_is_narrow_is_so_beside_the_spread_of_the_data(family):
    """A component is admissible down to exactly min_sd_ratio: its deviation over the data's, or IQR/1.349 if that is less."""
    x = np.append(small_data(), [60.0, 90.0])  # a tail that makes the deviation the larger of the two
    x = np.round(x) if family in ("poisson", "geometric") else x
    fit = mixture.fit(x, 2, family=family, rng=1, device="cpu", min_sd_ratio=0.0, min_count=0.0)
    sd = [scipy_law(family, m, p).std() for m, p in zip(fit.centres, fit.params, strict=True)]
    low, high = np.quantile(x, [0.25, 0.75], method="inverted_cdf")
    assert (high - low) / 1.349 < x.std() and fit.status == 0
    ratio = min(sd) / ((high - low) / 1.349)
    start = np.stack([fit.weights, fit.centres, np.nan_to_num(fit.params, nan=1.0)])[None]
    for share, status in ((0.999, 0), (1.001, 4)):
        again = mixture.fit(x, 2, family=family, init_params=start, min_sd_ratio=share * ratio, min_count=0.0, device="cpu")
        assert again.status == status
    count = fit.weights.min() * x.size
    for share, status in ((0.999, 0), (1.001, 4)):
        again = mixture.fit(x, 2, family=family, init_params=start, min_sd_ratio=0.0, min_count=share * count, device="cpu")
        assert again.status == status


def test_runner_up_is_the_next_optimum():
    """Three groups and two components: either two of them may be taken together."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(-6, 1, 80), rng.normal(0, 1, 60), rng.normal(6.3, 1, 80)])
    start = np.array([[[0.6, 0.4], [-3.0, 6.0], [9.0, 1.0]], [[0.4, 0.6], [-6.0, 3.0], [1.0, 9.0]]])
    each = [mixture.fit(x, 2, family="gaussian", init_params=s[None], device="cpu") for s in start]
    assert all(r.status == 0 and r.hits == 1 and np.isnan(r.runner_up) for r in each)
    low, high = sorted(r.loglik for r in each)
    assert high - low > 0.1
    both = mixture.fit(x, 2, family="gaussian", init_params=start, device="cpu")
    assert both.loglik == pytest.approx(high, rel=1e-12) and both.runner_up == pytest.approx(low, rel=1e-12) and both.hits == 1
    many = mixture.fit(x, 2, family="gaussian", rng=1, device="cpu")
    assert many.loglik == pytest.approx(high, rel=1e-12) and many.runner_up == pytest.approx(low, rel=1e-12)


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


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_criteria_of_the_estimator(family):
    x = np.round(small_data())
    model = mixture.Mixture(2, family=family, rng=1, device="cpu").fit(x)
    assert model.bic(x) == pytest.approx(model.result_.bic, rel=1e-12) and model.aic(x) == pytest.approx(
        model.result_.aic, rel=1e-12
    )
    free = 5 if family == "gaussian" else 3
    assert model.bic(x) == pytest.approx(free * math.log(x.size) - 2.0 * model.loglik_, rel=1e-12)
    assert model.aic(x) == pytest.approx(2.0 * free - 2.0 * model.loglik_, rel=1e-12)


@pytest.mark.parametrize(
    ("family", "K", "least"), [("gaussian", 2, 5), ("gamma", 1, 2), ("exponential", 2, 3), ("poisson", 3, 5)]
)
def test_as_many_distinct_values_as_parameters_are_enough(family, K, least):
    x = np.repeat(np.array([1.0, 2.0, 4.0, 9.0, 30.0])[:least], 8)
    fits = mixture.fit_many([x, x[8:]], K, family=family, rng=1, device="cpu")
    assert fits.status[0] != 5 and fits.status[1] == 5


def test_decrement_is_twice_the_gain_that_is_left():
    x = small_data(n=400)
    best = mixture.fit(x, 2, family="gamma", rng=1, device="cpu")
    start = np.stack([best.weights, best.means * [0.98, 1.01], best.params * 1.02])[None]
    for tol in (1e-3, 1e-4):
        near = mixture.fit(x, 2, family="gamma", method="em", tol=tol, init_params=start, device="cpu")
        assert near.decrement > 1e-5 and near.decrement == pytest.approx(2.0 * (best.loglik - near.loglik), rel=0.05)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_covariances_do_not_depend_on_the_order_of_the_start(order):
    """The last component is the base of the log-odds; sorting by the centres may make it another one."""
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.normal(-5, 1, 90), rng.normal(0, 0.7, 60), rng.normal(4, 1.3, 50)])
    start = np.array([[0.45, 0.3, 0.25], [-5.0, 0.0, 4.0], [1.0, 0.5, 1.7]])
    fit = mixture.fit(x, 3, family="gaussian", init_params=start[:, list(order)][None], cov=True, se=True, device="cpu")
    theta = np.concatenate([fit.weights[:2], fit.means, np.log(fit.params)])

    def loglik(t):
        w = np.append(t[:2], 1.0 - t[:2].sum())
        parts = [np.log(w[k]) + log_density("gaussian", x, t[2 + k], np.exp(t[5 + k])) for k in range(3)]
        return float(np.sum(scipy.special.logsumexp(np.stack(parts), axis=0)))

    h, e = 1e-3, np.eye(8)
    H = np.array([[loglik(theta + h * (a + b)) - loglik(theta + h * (a - b)) for b in e] for a in e])
    H -= np.array([[loglik(theta - h * (a - b)) - loglik(theta - h * (a + b)) for b in e] for a in e])
    se = np.sqrt(np.diag(np.linalg.inv(-H / (4 * h * h))))
    got = np.concatenate([fit.se["weights"][:2], fit.se["mean"], fit.se["variance"] / fit.params])
    np.testing.assert_allclose(got, se, rtol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov)), np.concatenate([*fit.se.values()]), rtol=1e-12)
