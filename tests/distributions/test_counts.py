"""Distributions of counts: exact values from mpmath, SciPy and sums; fits beside searches by SciPy."""

from __future__ import annotations

import pickle

import mpmath as mp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import numbastats as ns
from numbastats._core.cuda_backend import cuda
from numbastats._core.errors import ConvergenceWarning
from numbastats.distributions import (
    Binomial,
    Gamma,
    Geometric,
    Mixture,
    NegativeBinomial,
    Poisson,
    compare,
    compare_many,
    fit,
    fit_many,
    goodness,
    truncate,
)
from tests.distributions.objects import CASES, COUNTS, case_of

FUNCTIONS = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
counts = pytest.mark.parametrize("d", COUNTS, ids=repr)
briefly = pytest.mark.parametrize(  # of those with two parameters one compiles all loops, the other the same ones
    "d", [d if case_of(d).often else pytest.param(d, marks=pytest.mark.slow) for d in COUNTS], ids=repr
)
PEERS = [(d, case_of(d).counts.peer) for d in COUNTS]
beside = pytest.mark.parametrize(("d", "peer"), PEERS, ids=map(repr, COUNTS))


def of_cases(field):
    """Objects that the cases of counts name."""
    return [d for case in CASES.values() if case.counts for d in getattr(case.counts, field)]


@pytest.mark.parametrize("d", of_cases("values"), ids=repr)
def test_exact_values(d):
    """In both tails, from eight standard deviations below the mean to twelve above."""
    at = float(d.mean()) + float(d.std()) * np.array([-8.0, -5.0, -2.0, 0.0, 1.0, 4.0, 12.0])
    last, rows = float(d.support()[1]) - 1.0, case_of(d).counts
    with mp.workdps(50):
        for k in {0, 1, *map(int, np.clip(np.round(at), 0, last))}:
            log_mass, lower, upper = rows.exact(k, *d.params)
            logs = [mp.log(t) if t < 0.9 else mp.log1p(-other) for t, other in ((lower, upper), (upper, lower))]
            for name, value, error in (
                ("pmf", mp.exp(log_mass), 1e-13),
                ("logpmf", log_mass, rows.error_of_logpmf),
                ("cdf", lower, 1e-13),
                ("sf", upper, 2e-13),
                ("logcdf", logs[0], 1e-13),
                ("logsf", logs[1], 2e-13),
            ):
                if abs(value) > 1e-290:
                    assert float(getattr(d, name)(k)) == pytest.approx(float(value), rel=error), (name, k)


@pytest.mark.parametrize("d", of_cases("quantiles"), ids=repr)
@pytest.mark.parametrize("method", ["points", "table"])
def test_quantiles_are_the_least_counts(d, method):
    rng = np.random.default_rng(1)
    if method == "table" and d.std() > 1e4:
        pytest.skip("of the largest the other method is what is used")
    k = np.clip(np.floor(float(d.mean()) + float(d.std()) * rng.uniform(-9.0, 14.0, 400)), 0.0, d.support()[1])
    for tail, quantile in ((d.cdf, d.ppf), (d.sf, d.isf)):
        p = tail(k)
        clear = (p > 1e-290) & (p < 1.0 - 1e-12)
        np.testing.assert_array_equal(quantile(p[clear], method=method), k[clear])
    u = rng.random(400) ** 3
    low, high = d.ppf(u, method=method), d.isf(u, method=method)
    assert (d.cdf(low) >= u * (1.0 - 1e-13)).all() and (d.sf(high) <= u * (1.0 + 1e-13)).all()
    assert ((low == 0.0) | (d.cdf(low - 1.0) < u * (1.0 + 1e-13))).all()
    assert ((high == 0.0) | (d.sf(high - 1.0) > u * (1.0 - 1e-13))).all()


@beside
def test_functions_of_all_numbers(d, peer):
    """Beside SciPy's, which is NaN for the probability of infinity, and has -1 as the quantile at 0."""
    x = np.array([-np.inf, -1.0, -0.5, 0.0, 1.0, 1.5, 3.0, 12.0, 40.0])
    for name in FUNCTIONS[:6]:
        np.testing.assert_allclose(getattr(d, name)(x), getattr(peer, name)(x), rtol=1e-9, atol=1e-14, err_msg=name)
        assert np.isnan(getattr(d, name)(np.nan))
    assert d.pmf(np.inf) == 0.0 and d.cdf(np.inf) == 1.0 and d.sf(np.inf) == 0.0 and d.logsf(np.inf) == -np.inf
    u = np.array([1e-12, 0.01, 0.5, 0.99, 1.0 - 1e-12])
    np.testing.assert_array_equal(d.ppf(u), peer.ppf(u))
    np.testing.assert_array_equal(d.isf(u), peer.isf(u))
    assert (d.ppf(0.0), d.ppf(1.0)) == d.support() == (d.isf(1.0), d.isf(0.0)) and d.support()[0] == 0.0
    assert np.isnan(d.ppf([-0.1, 1.1, np.nan])).all()


@beside
def test_moments_and_draws(d, peer):
    mean, var, skewness, kurtosis = peer.stats("mvsk")
    got = (d.mean(), d.var(), d.skewness(), d.kurtosis(), d.std(), d.entropy(), d.median())
    np.testing.assert_allclose(got, (mean, var, skewness, kurtosis, var**0.5, peer.entropy(), peer.median()), rtol=1e-12)
    assert d.expect(np.square) == pytest.approx(var + mean**2, rel=1e-12)
    assert d.expect(lambda k: k, lb=2, ub=4) == pytest.approx(sum(k * peer.pmf(k) for k in (2, 3, 4)), rel=1e-9)
    assert d.expect(lambda k: k, lb=2, ub=4, conditional=True) * (d.sf(1) - d.sf(4)) == pytest.approx(d.expect(lb=2, ub=4))
    assert d.interval(0.9) == (d.ppf(0.05), d.isf(0.05))
    draws = d.rvs(20_000, rng=3)
    assert draws.dtype == np.int64 and scipy.stats.chisquare(*_tallies(draws, d)).pvalue > 1e-3
    assert pickle.loads(pickle.dumps(d)) == d and eval(repr(d), vars(ns.distributions)) == d


def _tallies(draws, d):
    """Observed and expected numbers of counts, those above the 99 % quantile in one cell."""
    top = int(d.ppf(0.99))
    seen = np.bincount(np.minimum(draws, top + 1), minlength=top + 2)
    return seen, draws.size * np.append(d.pmf(np.arange(top + 1)), d.sf(top))


@counts
def test_expected_shortfall(d):
    """The mean of the highest share by its quantiles, of which each count holds a part."""
    for p in (0.003, 0.2, 0.9):
        for upper, quantile in ((False, d.ppf), (True, d.isf)):
            u = (np.arange(40_000) + 0.5) / 40_000 * p
            assert d.expected_shortfall(p, upper=upper) == pytest.approx(quantile(u).mean(), abs=2e-3), (p, upper)
    assert d.expected_shortfall(1.0) == d.mean() and d.expected_shortfall(0.0) == 0.0


@briefly
def test_kernels(d, device):
    """The three twins, for one distribution and for arrays of them, also where a chunk has few different counts."""
    x, u = np.array([0.0, 2.0, 2.5, -1.0, 7.0, np.inf, np.nan]), np.array([0.0, 1e-9, 0.4, 0.999, 1.0, np.nan])
    many = type(d)(*([p, p] for p in d.params))
    for name in FUNCTIONS if device["device"] == "cpu" else ("logpmf", "logsf", "ppf"):
        at = u if name in ("ppf", "isf") else x
        want = np.array([getattr(d, name)(float(v)) for v in at])
        np.testing.assert_allclose(getattr(d, name)(at, **device), want, rtol=2e-13, atol=1e-300, err_msg=name)
        if name in ("logpmf", "sf", "ppf"):
            got = getattr(many, name)(at[:, None], **device)
            np.testing.assert_allclose(got, np.stack([want, want], axis=1), rtol=2e-13, atol=1e-300)
    long = np.tile([0.0, 3.0, 2.0, 2.5, np.nan, 5.0], 40)
    np.testing.assert_allclose(d.cdf(long, **device), [d.cdf(float(v)) for v in long[:6]] * 40, rtol=2e-13)
    single = d.sf(x.astype(np.float32), **device)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, d.sf(x), rtol=1e-6)
    np.testing.assert_array_equal(d.rvs(64, rng=3, **device), d.rvs(64, rng=3))


@briefly
def test_kinds_of_arguments(d):
    assert d.pmf(np.arange(3)).dtype == np.float64 and isinstance(d.pmf(2), float) and d.pmf([]).shape == (0,)
    out = np.zeros(2)
    assert d.pmf([0, 1], out=out) is out and (out == d.pmf([0, 1])).all()
    there = cuda.to_device(np.array([0.0, 2.0]))
    np.testing.assert_allclose(d.sf(there).copy_to_host(), d.sf([0.0, 2.0]), rtol=1e-13)
    batch = type(d)(*(np.array([p, np.nan]) for p in d.params))
    for name in ("logpmf", "sf", "ppf"):
        value = getattr(batch, name)(0.5 if name in ("ppf", "isf") else 2)
        assert value[0] == pytest.approx(getattr(d, name)(0.5 if name in ("ppf", "isf") else 2), rel=1e-13), name
        assert np.isnan(value[1]), name
    assert np.isnan(batch.mean()[1]) and np.isnan(batch.entropy()[1]) and np.isnan(batch.expect()[1])
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([0, 1, 2], index=["a", "b", "c"])
    assert d.pmf(series).index.tolist() == ["a", "b", "c"]


@counts
def test_scores(d):
    """Beside central differences of the logarithm; NaN by the number of trials, and for what is no count."""
    k = np.array([0.0, 1.0, 5.0])
    for i, name in enumerate(d.names):
        if name != "n":
            value = d.params[i]
            at = [d.params._replace(**{name: value * (1.0 + h)}) for h in (1e-5, -1e-5)]
            slope = (type(d)(*at[0]).logpmf(k) - type(d)(*at[1]).logpmf(k)) / (2e-5 * value)
            np.testing.assert_allclose(d.score(k)[i], slope, rtol=1e-7, atol=1e-8)
        assert np.isnan(d.score(0.5)[i])


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])  # of one parameter and two
def test_handed_to_scipy(family):
    d, peer = CASES[family].objects[0], CASES[family].counts.peer
    theirs, k = d.to_scipy(), np.arange(4)
    for name in ("sf", "logpmf"):
        np.testing.assert_allclose(getattr(theirs, name)(k), getattr(peer, name)(k), rtol=1e-12)
    assert theirs.ppf(0.3) == peer.ppf(0.3) and theirs.stats("mv") == pytest.approx(peer.stats("mv"))
    assert theirs.rvs(5, random_state=1).shape == (5,) and pickle.loads(pickle.dumps(theirs)).pmf(1) == theirs.pmf(1)


def test_edges_of_the_parameters():
    for d in of_cases("none"):
        assert (d.pmf([0, 1]) == [1.0, 0.0]).all() and d.cdf(0) == 1.0 and d.sf(0) == 0.0 and d.ppf(0.7) == 0.0, d
        assert d.logcdf(0) == 0.0 and d.logsf(0) == -np.inf and d.rvs(3, rng=1).tolist() == [0, 0, 0]
    sure = Binomial(5, 1.0)
    assert sure.pmf(5) == 1.0 and sure.cdf(4) == 0.0 and sure.sf(4) == 1.0 and sure.ppf(0.01) == 5.0 and sure.logsf(4) == 0.0
    for made, words in (
        (lambda: Poisson(-1.0), "mean=-1.0 must be >= 0"),
        (lambda: NegativeBinomial(1.0, 0.0), "size=0.0 must be > 0"),
        (lambda: Binomial(2.5, 0.1), "n=2.5 must be a whole number"),
        (lambda: Binomial(2, 1.1), "p=1.1 must be between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=words):
            made()


def test_what_counts_do_not_have():
    d = Poisson(2.0)
    for name in ("pdf", "logpdf"):
        assert not hasattr(d, name)
        with pytest.raises(AttributeError, match=f"call {name.replace('pdf', 'pmf')}"):
            getattr(d, name)
    for call in (lambda: d + 1, lambda: 2 * d, lambda: -d, lambda: truncate(d, lb=1), lambda: Mixture([d, Gamma(2.0)]), d.table):
        with pytest.raises(TypeError, match="distribution of counts"):
            call()
    with pytest.raises(ValueError, match="no normal scores"):
        ns.distributions.standardise([1, 2, 3], "poisson")
    with pytest.raises(ValueError, match="no table"):
        Poisson(1e15).ppf(0.5, method="table")
    with pytest.raises(ValueError, match="terms, more than"):
        Poisson(1e15).expect()
    with pytest.raises(ValueError, match="terms, more than"):
        NegativeBinomial(1e8, 0.5).entropy()  # far from normal
    assert Geometric(1e9).entropy() == pytest.approx(1.0 + np.log(1e9), rel=1e-9)
    assert Poisson(1e15).entropy() == pytest.approx(0.5 * np.log(2.0 * np.pi * np.e * 1e15))


# --- fits --------------------------------------------------------------------------------------------------------

X = np.array([3.0, 1.0, 4.0, 2.0, 0.0, 2.0, 9.0, 6.0])


def search(loss, start):
    found = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-10, maxiter=4000))
    return found.x, -found.fun


def test_closed_forms():
    """The mean is the estimate, with its standard error from the information; weights are repetitions."""
    mean, n = X.mean(), X.size
    for family, var in (("poisson", mean), ("geometric", mean * (1.0 + mean))):
        found = fit(X, family)
        assert found.converged and found.params["mean"] == pytest.approx(mean, rel=1e-10)
        assert found.se["mean"] == pytest.approx(np.sqrt(var / n), rel=1e-6)
        assert found.loglik == pytest.approx(found.distribution.logpmf(X).sum(), rel=1e-13)
    found = fit(X, "binom", fixed={"n": 10})
    assert found.params == {"n": 10.0, "p": pytest.approx(mean / 10.0, rel=1e-9)}
    assert found.se == {"n": 0.0, "p": pytest.approx(np.sqrt(mean / 10.0 * (1.0 - mean / 10.0) / (10.0 * n)), rel=1e-6)}
    values, weights = np.unique(X, return_counts=True)
    again, once = fit(values, "poisson", weights=weights), fit(X, "poisson")
    assert again.params == pytest.approx(once.params) and again.n_obs == 8.0 and again.n_values == 7 and again.bic == once.bic
    assert fit(np.r_[X, np.nan], Poisson).params == pytest.approx(once.params, rel=1e-12)
    assert fit(np.full(5, 2.0), "poisson").params["mean"] == pytest.approx(2.0)  # equal values are data as others
    assert Poisson.fit(X).params.mean == pytest.approx(mean)


def test_negative_binomial_fits():
    x = NegativeBinomial(4.0, 1.5).rvs(1000, rng=1)
    found = fit(x, "negative_binomial")

    def loss(t, above=0):
        mean, size = np.exp(t)
        peer = scipy.stats.nbinom(size, size / (size + mean))
        return -(peer.logpmf(x[x >= above]).sum() - (x >= above).sum() * peer.logsf(above - 1))

    best, value = search(loss, [1.0, 0.0])
    assert found.converged and list(found.params.values()) == pytest.approx(np.exp(best), rel=1e-6)
    assert found.loglik == pytest.approx(value, abs=1e-8)
    step, d = 1e-3, found.distribution
    sizes = [NegativeBinomial(d.params.mean, d.size + h).logpmf(x).sum() for h in (-step, 0.0, step)]
    assert found.se["size"] == pytest.approx((-(sizes[0] - 2.0 * sizes[1] + sizes[2]) / step**2) ** -0.5, rel=1e-3)
    cut = fit(x[x >= 2], "negative_binomial", truncated=(2, None))
    best, value = search(lambda t: loss(t, 2), [1.0, 0.0])
    assert cut.loglik == pytest.approx(value, abs=1e-7) and list(cut.params.values()) == pytest.approx(np.exp(best), rel=1e-5)
    even, want = (fit([2, 1, 2, 3, 2, 2], family) for family in ("negative_binomial", "poisson"))  # less than Poisson's variance
    assert even.status == 2 and even.limit == "poisson" and even.distribution == want.distribution
    assert even.loglik == want.loglik and even.bic == want.bic and even.params == {"mean": 2.0, "size": np.inf}


def test_censored_and_truncated():
    x = Poisson(2.5).rvs(500, rng=3).astype(float)
    found = fit(x[x > 0], "poisson", truncated=(1, None))
    m = found.params["mean"]
    assert m / -np.expm1(-m) == pytest.approx(x[x > 0].mean(), rel=1e-9)  # the equation of the truncated likelihood
    lo, hi = np.where(x > 4, 5.0, np.where(x < 2, -np.inf, x)), np.where(x > 4, np.inf, np.where(x < 2, 1.0, x))
    found = fit(x, "poisson", censored=(lo, hi))
    inner, peer = (x >= 2) & (x <= 4), scipy.stats.poisson

    def loss(t):
        return -(peer.logpmf(x[inner], t[0]).sum() + (x > 4).sum() * peer.logsf(4, t[0]) + (x < 2).sum() * peer.logcdf(1, t[0]))

    best, value = search(loss, [2.0])
    assert found.params["mean"] == pytest.approx(best[0], rel=1e-6) and found.loglik == pytest.approx(value, abs=1e-8)
    both = fit(None, "poisson", censored=(np.array([0.0, 2.0, 0.0]), np.array([0.0, 3.0, 1.0])))  # both ends belong
    best, value = search(lambda t: -(peer.logpmf(0, t) + np.log(peer.pmf(2, t) + peer.pmf(3, t)) + peer.logcdf(1, t))[0], [1.0])
    assert both.params["mean"] == pytest.approx(best[0], rel=1e-6) and both.loglik == pytest.approx(value, abs=1e-9)
    exact = fit(x, "poisson")
    for before, after in ((0.5, 0.5), (0.0, 0.9), (0.9, 0.0), (np.where(x == 0, np.inf, 0), 0)):  # which hold one count each
        found = fit(None, "poisson", censored=(x - before, x + after))
        assert found.params == pytest.approx(exact.params, rel=1e-9) and found.loglik == pytest.approx(exact.loglik, rel=1e-12)
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 values is not a whole number.*: \(2.2, 2.8\) at index 1"):
        assert fit(None, "poisson", censored=([1.0, 2.2], [3.0, 2.8])).status == 6  # between two counts


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
def test_zeros_beside_those_of_the_distribution(family):
    x = NegativeBinomial(3.0, 2.0).rvs(1500, rng=5) if family == "negative_binomial" else Poisson(3.0).rvs(1500, rng=5)
    x[np.random.default_rng(1).random(x.size) < 0.3] = 0
    found = fit(x, family, zeros="inflated")

    def loss(t):
        more, values = 1.0 / (1.0 + np.exp(-t[0])), np.exp(t[1:])
        mass = type(found.distribution)(*values).pmf(x)
        return -np.log(np.where(x == 0, more + (1.0 - more) * mass, (1.0 - more) * mass)).sum()

    best, value = search(loss, [-1.0, 1.0, 0.5][: 1 + len(found.params)])
    assert found.converged and found.loglik == pytest.approx(value, abs=1e-6)
    assert found.zeros == pytest.approx(1.0 / (1.0 + np.exp(-best[0])), rel=1e-4)
    assert list(found.params.values()) == pytest.approx(np.exp(best[1:]), rel=1e-4)
    assert found.aic == pytest.approx(2.0 * (1 + len(found.params)) - 2.0 * found.loglik)
    drawn, known = (found.estimate(lambda d: d.sf(5), method, rng=0) for method in ("bootstrap", "delta"))
    assert drawn.se == pytest.approx(known.se, rel=0.2)  # of samples with their zeros, of counts beside these
    table, steps = found.summary(), 1e-3 * np.eye(best.size)
    second = [[sum(a * b * loss(best + a * u + b * v) for a in (1, -1) for b in (1, -1)) / 4e-6 for v in steps] for u in steps]
    errors = np.sqrt(np.diag(np.linalg.inv(second))) * np.r_[found.zeros * (1.0 - found.zeros), np.exp(best[1:])]
    assert table["parameter"].tolist() == [*found.params, "zeros"] and table["estimate"][-1] == found.zeros
    assert np.r_[table["se"][-1], table["se"][:-1]] == pytest.approx(errors, rel=1e-3)
    assert "zeros beside" in repr(found) and "without the share" in found.estimate(lambda d: d.sf(5)).message


def test_without_zeros_of_their_own():
    """The probability of these is 0, and the fit that of all values."""
    x = Poisson(3.0).rvs(300, rng=1)
    x = x[(x > 0) | (np.arange(x.size) % 3 == 0)]  # fewer zeros than a Poisson variable has
    found, plain = fit(x, "poisson", zeros="inflated"), fit(x, "poisson")
    assert found.zeros == 0.0 and found.params == plain.params and found.loglik == plain.loglik and found.bic > plain.bic
    with pytest.raises(ValueError, match="zeros='inflated' is not known"):
        fit(x, "gamma", zeros="inflated")
    with pytest.raises(ValueError, match="counts that are all seen.* leave out truncated="):
        fit(x, "poisson", zeros="inflated", truncated=(1, None))


def test_batches_and_statuses(device):
    x = np.stack([X, np.zeros(8), X + 0.5, -X, np.full(8, np.nan), np.r_[X[:7], np.inf]])
    with pytest.warns(ConvergenceWarning):
        found = fit_many(x, "poisson", **device)
    assert found.status.tolist() == [0, 3, 6, 6, 7, 8] and np.isnan(found.params[2:]).all()
    assert found.params[0, 0] == pytest.approx(X.mean()) and "whole number" in found.message(2)
    with pytest.warns(ConvergenceWarning):
        inflated = fit_many(x[:2], "poisson", zeros="inflated")
    assert inflated.status.tolist() == [0, 3]
    with pytest.raises(ValueError, match=r"n of binomial is known, not estimated: pass fixed=\{'n'"):
        fit(X, "binomial")
    with pytest.warns(ConvergenceWarning, match=r"values (is|are) above 5, the support of binomial, from 0 to 5"):
        assert fit(X, "binomial", fixed={"n": 5}).status == 6
    for fixed, words in (({"n": 10.5}, "n=10.5 must be a whole number"), ({"n": 10, "p": 1.5}, "p=1.5 must be between 0 and 1")):
        with pytest.raises(ValueError, match=words):
            fit(X, "binomial", fixed=fixed)


def test_compare_and_goodness():
    x = NegativeBinomial(3.0, 1.5).rvs(400, rng=2)
    table = compare(x, "counts")
    assert table.best.family == "negative_binomial" and set(table.fits) == {"poisson", "negative_binomial", "geometric"}
    f = table.fits["poisson"].distribution
    k = np.arange(x.max() + 1)
    away = np.array([(x <= v).mean() for v in k]) - f.cdf(k)
    assert table.ks["poisson"] == pytest.approx(np.abs(away).max(), rel=1e-9)
    assert table.ad["poisson"] == pytest.approx((400 * away**2 * f.pmf(k) / (f.cdf(k) * f.sf(k))).sum(), rel=1e-6)
    assert compare_many(np.stack([x, Poisson(3.0).rvs(400, rng=1)]), "counts").best.tolist() == ["negative_binomial", "poisson"]
    with pytest.raises(ValueError, match="distributions of counts and continuous ones"):
        compare(x, ["poisson", "gamma"])
    assert goodness(x, "poisson", count=99, rng=1).pvalue == 0.01
    p = [goodness(Poisson(3.0).rvs(60, rng=s), "poisson", s_, count=99, rng=s).pvalue for s in range(6) for s_ in ("ks", "cvm")]
    assert 0.05 < np.mean(p) < 0.95


def test_estimates():
    x = Poisson(3.0).rvs(400, rng=1)
    found = fit(x, "poisson")
    m, chance = found.params["mean"], found.estimate(lambda d: d.sf(5))
    assert chance.se == pytest.approx(found.se["mean"] * scipy.stats.poisson.pmf(5, m), rel=1e-4)
    assert found.estimate(lambda d: d.sf(5), "bootstrap", count=199, rng=1).se == pytest.approx(chance.se, rel=0.2)
    with pytest.raises(ValueError, match="constant around it, as quantiles of counts; use 'bootstrap'"):
        found.estimate(lambda d: d.ppf(0.99))
    assert found.estimate(lambda d: d.ppf(0.99), "bootstrap", count=99, rng=1).value == found.distribution.ppf(0.99)
    profile = found.estimate(lambda d: d.sf(5), "profile", x=x)
    assert profile.lower == pytest.approx(chance.lower, rel=0.03) and profile.upper == pytest.approx(chance.upper, rel=0.03)
