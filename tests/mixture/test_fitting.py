"""Fits: optima against references, priors, explicit starts, extreme data."""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats import mixture
from numbastats._core.random import normalise_rng
from numbastats.mixture.families import FAMILIES as BY_NAME
from tests.conftest import REFERENCE
from tests.mixture.naive import GOOD, log_likelihood, paper_data, small_data

PUBLIC = Path(os.environ.get("MIXTURE_REFERENCE", REFERENCE.parents[2] / "shared" / "reference" / "mixture"))


TWO = ("inverse_gaussian", "gaussian", "gamma", "lognormal")


@pytest.fixture(scope="module")
def table(reference):
    return json.loads((reference / "mixture" / "mixture.json").read_text())


OTHERS = ["inverse_gamma", "reciprocal_inverse_gaussian", "rayleigh", "maxwell", "half_normal", ("weibull", 1.5), ("gamma", 2.0)]


FAMILIES = [*TWO, *OTHERS, ("pareto", 1e-3), "exponential", "poisson", "geometric"]


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


@pytest.mark.parametrize("family", [*OTHERS, ("pareto", 0.1)], ids=str)
def test_other_families(family):
    x = small_data() + (0.1 if family == ("pareto", 0.1) else 0.0)
    r = mixture.fit(x, 1, family=family, rng=1, device="cpu", workers=1)
    assert r.status == 0 and abs(log_likelihood(family, x, r) / r.loglik - 1) < 1e-12
    two = mixture.fit(x, 2, family=family, rng=1, device="cpu", workers=1)
    assert two.status in (0, 11, 12)  # a family that does not fit may have no proper second component
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
            assert batch.status[-1] in (0, 11, 12) and (K > 1 or batch.status[-1] == 0)
            for i, x in enumerate(pairs):
                r = batch[i]
                if r.status in (12, 4, 6, 7, 8):
                    assert np.isnan(r.centres).all() and r.message
                    continue
                assert np.isfinite(r.loglik) and np.isfinite(r.weights).all() and np.isfinite(r.centres).all()
                two = np.isfinite(r.params).all()
                if r.status == 0:
                    ll = mixture.logpdf(x, r.weights, r.centres, r.params if two else None, family=family, device="cpu").sum()
                    assert abs(ll - r.loglik) < 1e-6 * max(1.0, abs(ll)), (i, K, options)  # the bound of `selection.blur`
                    assert all(np.isfinite(s).all() for name, s in r.se.items() if two or name != "params") or i == 4
    others = [str(w.message) for w in recwarn.list if w.category is not ns.ConvergenceWarning]  # it says that most have failed
    assert not others, others


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


@pytest.mark.parametrize("family", [*BY_NAME, ("weibull", 1.5), ("pareto", 0.05), ("gamma", 2.0)], ids=str)
def test_weights_are_repetitions_of_all_families(family):
    """The same bits, and so the same maximum, whatever the family; a weight of 0 is an absent value."""
    discrete = family in ("poisson", "geometric", "negative_binomial")
    for seed, n in ((0, 12), (1, 40), (2, 600)):
        rng = np.random.default_rng(seed)
        x = np.round(rng.gamma(2.0, 2.0, n) + 0.1, 0 if discrete else 1)
        k = rng.integers(0, 4, n)
        for K in (1, 2):
            options = dict(family=family, rng=0, errors="status", device="cpu")
            want = mixture.fit(np.repeat(x, k), K, **options)
            got = mixture.fit(x, K, weights=k.astype(float), **options)
            assert got.status == want.status and got.hits == want.hits
            for name in ("loglik", "bic", "weights", "centres", "params"):
                np.testing.assert_array_equal(getattr(got, name), getattr(want, name))


def test_starts_do_not_depend_on_how_ties_are_written():
    """The maximum of ten values with weights was found, that of the repeated values, 1.6 lower, was a local one."""
    x, k = [5.3, 7.7, 2.5, 6.8, 0.9, 0.8, 7.9, 3.1, 1.7, 3.2], [2, 2, 1, 2, 2, 1, 1, 2, 2, 3]
    fit = mixture.fit(np.repeat(x, k), 2, family="gamma", rng=0, device="cpu")
    assert fit.loglik == pytest.approx(-33.25339041368, rel=1e-11) and fit.n_used == 18
    logs = [
        scipy.stats.gamma.logpdf(x, p, scale=m / p) + np.log(w)
        for w, m, p in zip(fit.weights, fit.centres, fit.params, strict=True)
    ]
    assert np.dot(k, scipy.special.logsumexp(logs, axis=0)) == pytest.approx(fit.loglik, rel=1e-11)  # observed 5e-13


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize(("family", "size"), [("poisson", 1e4), ("poisson", 1e8), (("gamma", 1e6), 1e6), ("gamma", 1e6)])
def test_loglik_of_large_counts_and_shapes(family, size, K):
    """The reported value against 40 digits at the reported parameters, with weights: observed 9e-16 relative."""
    rng = np.random.default_rng(3)
    base = rng.poisson if family == "poisson" else lambda m, n: rng.gamma(m, 7.3 / m, n)
    x = np.concatenate([base(size, 60), base(size, 40) * (1 + 6 / size**0.5)])
    x = np.round(x) if family == "poisson" else x
    w = rng.random(100) + 0.6
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


@pytest.mark.parametrize("mean", [1e-300, 1e-160, -1e-100, 1e200])
def test_gaussian_means_far_from_the_deviation(mean):
    x = mean + np.array([-1.0, 0.0, 0.5])
    want = scipy.stats.norm.logpdf(x - mean)
    np.testing.assert_allclose(mixture.logpdf(x, [1.0], [mean], [1.0], family="gaussian"), want, rtol=1e-15)
    got = mixture.logpdf(x, [0.5, 0.5], [mean, mean], [1.0, 4.0], family="gaussian")
    np.testing.assert_allclose(got, np.logaddexp(want, scipy.stats.norm.logpdf(x - mean, 0, 2)) - math.log(2), rtol=1e-14)


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


# --- what follows from a fit ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [
        "normal",
        "inverse_gaussian",
        "gamma",
        "lognormal",
        "inverse_gamma",
        "exponential",
        "rayleigh",
        "maxwell",
        "half_normal",
        "student_t",
        "skew_normal",
        ("weibull", 1.7),
        ("pareto", 0.05),
        ("gamma", 2.5),
    ],
)
def test_distribution_of_a_fit(family):
    """Its density and tails against the functions of `mixture`, which have formulas of their own."""
    rng = np.random.default_rng(4)
    x = np.append(rng.gamma(2.0, 0.4, 150), 0.5 + rng.gamma(20.0, 0.2, 100)) + 0.06
    fit = mixture.fit(x, 2, family=family, rng=0, device="cpu", workers=1)
    d, at = fit.distribution, np.array([0.06, 0.2, 1.0, 3.3, 9.0])
    np.testing.assert_allclose(d.logpdf(at), fit.logpdf(at), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(d.cdf(at), fit.cdf(at), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(d.sf(at), fit.sf(at), rtol=1e-9, atol=1e-13)
    parts = [weight * part.to_scipy().cdf(at) for part, weight in zip(d.params.components, d.params.weights, strict=True)]
    np.testing.assert_allclose(sum(parts), fit.cdf(at), rtol=1e-9, atol=1e-13)


def test_what_has_no_distribution():
    counts = mixture.fit([1.0, 2.0, 5.0, 9.0], 1, family="poisson")
    with pytest.raises(TypeError, match="a distribution of counts"):
        _ = counts.distribution
    assert counts.components == (ns.distributions.Poisson(4.25),)
    with pytest.raises(TypeError, match="'reciprocal_inverse_gaussian' has no class in numbastats.distributions"):
        _ = mixture.fit([1.0, 2.0, 5.0, 9.0], 1, family="reciprocal_inverse_gaussian").components
    collapsed = mixture.fit([-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7], 2, family="normal", rng=0)
    with pytest.raises(ValueError, match="no parameters"):
        _ = collapsed.distribution


def test_likelihood_ratio_is_the_plain_bootstrap():
    """One draw and fit after the other; of data with two groups, and with one."""
    rng = np.random.default_rng(4)
    options = dict(family="normal", rng=5, device="cpu", workers=1)
    for x, least, most in (
        (rng.normal(size=90), 0.05, 1.0),
        (np.append(rng.normal(size=60), rng.normal(8.0, 1.0, 30)), 0.0, 0.05),
    ):
        test = mixture.likelihood_ratio(x, 1, n_boot=39, **options)
        assert least < test.pvalue <= most and test.n_failed + test.simulated.size == 39
        assert test.statistic == 2.0 * (test.alternative.loglik - test.null.loglik)
        assert test.pvalue == (1 + np.sum(test.simulated >= test.statistic)) / (1 + test.simulated.size)
        assert (test.simulated >= -1e-6).all()
        draws = test.null.rvs((39, x.size), rng=np.random.SeedSequence([int(normalise_rng(5)), 1]))
        one = scipy.stats.norm.logpdf(draws, draws.mean(axis=1)[:, None], draws.std(axis=1)[:, None]).sum(axis=1)
        two = [mixture.fit_many([row], 2, dataset_index=i, **options)[0] for i, row in enumerate(draws)]
        plain = [2.0 * (fit.loglik - ll) for fit, ll in zip(two, one, strict=True) if fit.status in (0, 11)]
        np.testing.assert_allclose(test.simulated, plain, rtol=1e-9, atol=1e-9)
        assert repr(test).startswith("LikelihoodRatio: 1 components against 2 of family 'normal': statistic")
        assert test.summary()["simulated_median"][0] == np.median(test.simulated)


def test_likelihood_ratio_refuses():
    x = np.random.default_rng(3).normal(size=30)
    for options, error, match in (
        (dict(n_components=(1, 2)), ValueError, "not one number of components"),
        (dict(n_components=1, n_boot=0), ValueError, "n_boot=0 is not a number of draws"),
        (dict(n_components=1, weights=np.ones(30)), TypeError, "no argument 'weights'.*repeated values"),
    ):
        with pytest.raises(error, match=match):
            mixture.likelihood_ratio(x, family="normal", **options)
    with pytest.raises(ValueError, match="2 components has status 12"):
        mixture.likelihood_ratio([-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7], 1, family="normal", rng=0)


@pytest.mark.slow
def test_p_values_of_the_likelihood_ratio_are_uniform():
    """120 samples of one normal distribution: the mean of p-values has the standard error 0.026, the share below 0.1 0.027."""
    rng, p = np.random.default_rng(8), []
    for i in range(120):
        with contextlib.suppress(ValueError):  # an inadmissible fit
            p.append(mixture.likelihood_ratio(rng.normal(size=120), 1, family="normal", n_boot=49, rng=i).pvalue)
    assert len(p) > 90 and abs(np.mean(p) - 0.51) < 0.09 and abs(np.mean(np.array(p) <= 0.1) - 0.1) < 0.09


def test_estimates_of_many_mixtures():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(-2.0, 1.0, (3, 300)), rng.normal(3.0, 0.5, (3, 200))], axis=1)
    fits = mixture.fit_many([*x, np.ones(1)], 2, family="normal", rng=0, cov=True)
    found = fits.estimate(lambda d: d.mean())
    want = x.std(axis=1) / np.sqrt(500.0)  # the mean of a normal mixture is that of the data, and so is its error
    np.testing.assert_allclose(found.value[:3], x.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.se[:3], want, rtol=1e-5)
    assert np.isnan(found.value[3]) and found.messages[3] == fits.message(3) and found.status[3] == fits.status[3]
    bare = mixture.fit_many(x, 2, family="normal", rng=0).estimate(lambda d: d.ppf(0.9))
    assert np.isfinite(bare.value).all() and np.isnan(bare.se).all() and "cov=True" in bare.messages[0]
    with pytest.raises(TypeError, match="function='mean' is no parameter that the fits have errors of: pass a function"):
        fits.estimate("mean")
    counts = mixture.fit_many(rng.poisson(3.0, (2, 200)), 1, family="poisson", rng=0, cov=True)
    np.testing.assert_allclose(counts.estimate(lambda d: d.mean()).se, np.sqrt(counts["mean"][:, 0] / 200.0), rtol=1e-6)
    both = mixture.fit_many(rng.logistic(size=(2, 100)), 1, family="logistic", rng=0).estimate(lambda d: d.ppf(0.5))
    assert np.isfinite(both.value).all() and "keep no covariance" in both.messages[0]


def test_a_batch_that_mostly_fails_warns_once():
    z = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.warns(ns.ConvergenceWarning, match=r"200 of 200 fits ended without.*index 0: too few.*pass data\.T") as said:
        fits = ns.mixture.fit_many(z, 2, rng=0)
    assert len(said) == 1 and len(fits) == 200
    with pytest.warns(UserWarning, match=r"rows of data, of shape \(200, 2\), are the data sets, of 2 values each") as said:
        ns.mixture.fit_many(z, 1, rng=0)
    assert len(said) == 1
    with pytest.warns(ns.ConvergenceWarning, match="3 of 4 fits ended without a maximum, the first, at index 1") as said:
        ns.mixture.fit_many([z[:, 0], [1.0], [], [2.0]], 1, rng=0)
    assert len(said) == 1
    ns.mixture.fit_many([z[:, 0], [1.0]], 1, rng=0)
    with pytest.warns(ns.ConvergenceWarning, match="3 of 3 fits ended"):
        ns.mixture.fit_many(z[:3], 2, family="logistic", rng=0)
