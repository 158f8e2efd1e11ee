"""Missing values: fits by the likelihood of what is observed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import numbastats as ns
from tests.mixture.multivariate import naive

COVARIANCES = ["full", "tied", "diag", "spherical"]


def holed(seed=4, n=200, d=3, K=2, share=0.2):
    """Rows of K clusters, a share of the values missing at random."""
    x = naive.blobs(seed, n, d, K)
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


X = holed()


def fit(x=X, K=2, covariance="full", **options):
    return ns.mixture.fit(x, K, covariance=covariance, nan_policy="marginal", rng=0, **options)


def parameters(found):
    return found.weights, found.means, found.covariances


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_fit_is_a_fixed_point_of_em_by_patterns(covariance):
    found = fit(covariance=covariance)
    assert found.status == 0 and found.decrement < 1e-12 and found.min_eig > 0.0
    assert found.loglik == pytest.approx(naive.observed_loglik(X, *parameters(found)), rel=1e-12)
    for a, b in zip(parameters(found), naive.observed_em_step(X, *parameters(found), covariance), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    missing, empty = np.isnan(X).any(axis=1).sum(), np.isnan(X).all(axis=1).sum()
    assert (found.n_missing, found.n_dropped, found.n_used) == (missing, empty, 200 - empty) and missing > 80
    assert found.bic == pytest.approx(found.n_free * np.log(200 - empty) - 2 * found.loglik)
    r = found.predict_proba(X[~np.isnan(X).all(axis=1)])
    assert found.icl - found.bic == pytest.approx(-2 * np.sum(r * np.log(np.maximum(r, 1e-300))), rel=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_no_optimiser_finds_a_likelier_point(covariance):
    x = holed(seed=2, n=80, d=2)
    found = fit(x, covariance=covariance)
    theta = naive.packed(*parameters(found), covariance)

    def value(t):
        w, m, c = naive.unpacked(t, 2, 2, covariance)
        if not ((w > 0).all() and (np.linalg.eigvalsh(c) > 0).all()):
            return 1e10
        return -naive.observed_loglik(x, w, m, c)

    best = scipy.optimize.minimize(value, theta * 1.02, method="Nelder-Mead", options=dict(maxfev=600, xatol=1e-6, fatol=1e-9))
    assert -best.fun <= found.loglik + 1e-6
    assert value(theta) == pytest.approx(-found.loglik, rel=1e-12)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_standard_errors_are_those_of_the_observed_information(covariance):
    x = holed(seed=2, n=150, d=2)
    found = fit(x, covariance=covariance, se=True)
    theta = naive.packed(*parameters(found), covariance)
    p, step = theta.size, 1e-3 * np.maximum(np.abs(theta), 0.1)
    H, E = np.zeros((p, p)), np.diag(step)

    def value(t):
        return naive.observed_loglik(x, *naive.unpacked(t, 2, 2, covariance))

    for i in range(p):
        for j in range(i + 1):
            a, b = E[i], E[j]
            H[i, j] = H[j, i] = (value(theta + a + b) - value(theta + a - b) - value(theta - a + b) + value(theta - a - b)) / (
                4 * step[i] * step[j]
            )
    want = np.sqrt(np.diag(np.linalg.inv(-H)))
    assert found.se["weights"][0] == pytest.approx(want[0], rel=1e-3)
    np.testing.assert_allclose(found.se["means"].ravel(), want[1:5], rtol=1e-3)
    if covariance == "full":
        low = np.tril_indices(2)
        np.testing.assert_allclose(np.concatenate([s[low] for s in found.se["covariances"]]), want[5:], rtol=1e-3)


def test_monotone_patterns_have_a_closed_form():
    """Of one component, the second column missing in some rows: its regression on the first."""
    x = np.random.default_rng(3).normal(size=(120, 2)) @ np.array([[1.0, 0.7], [0.0, 0.5]]) + [5.0, -2.0]
    x[80:, 1] = np.nan
    found = fit(x, 1)
    a, b = x[:, 0], x[:80, 1]
    slope = np.cov(x[:80].T, bias=True)[0, 1] / x[:80, 0].var()
    rest = np.mean((b - b.mean() - slope * (x[:80, 0] - x[:80, 0].mean())) ** 2)
    np.testing.assert_allclose(found.means[0], [a.mean(), b.mean() + slope * (a.mean() - x[:80, 0].mean())], rtol=1e-10)
    cov = np.array([[a.var(), slope * a.var()], [slope * a.var(), rest + slope**2 * a.var()]])
    np.testing.assert_allclose(found.covariances[0], cov, rtol=1e-8)
    assert found.status == 0 and found.hits >= 1


def test_complete_data_are_fitted_as_ever():
    x = naive.blobs(4, 200, 3, 2)
    one, other = fit(x, se=True), ns.mixture.fit(x, 2, rng=0, se=True)
    assert one.loglik == other.loglik and (one.means == other.means).all() and (one.se["means"] == other.se["means"]).all()
    batch = ns.mixture.fit_many([x, X, x], 2, rng=0, nan_policy="marginal")
    assert batch.loglik[0] == other.loglik and batch.n_missing.tolist()[::2] == [0, 0]
    alone = ns.mixture.fit(X, 2, rng=0, nan_policy="marginal", dataset_index=1)
    assert batch.loglik[1] == alone.loglik and (batch.covariances[1] == alone.covariances).all()
    assert batch[1].nan_policy == "marginal" and np.isfinite(batch[1].logpdf(X)).all()


def test_the_information_by_differences_is_that_by_formulas():
    """Next to no missing value the certificate is that of complete data."""
    x = naive.blobs(4, 400, 2, 2)
    want = ns.mixture.fit(x, 2, rng=0, se=True)
    x[0, 1] = np.nan
    found = fit(x, se=True)
    assert found.min_eig == pytest.approx(want.min_eig, rel=0.03)
    np.testing.assert_allclose(found.se["means"], want.se["means"], rtol=0.03)


@pytest.mark.parametrize("covariance", ["full", "spherical"])
def test_weights_are_copies_and_order_is_nothing(covariance):
    x = holed(n=120)
    w = np.random.default_rng(1).integers(0, 4, 120)
    one = fit(x, covariance=covariance, weights=w.astype(float))
    other = fit(np.repeat(x, w, axis=0), covariance=covariance)
    for name in ("loglik", "bic", "weights", "means", "covariances", "min_eig"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    mixed = fit(x[np.random.default_rng(2).permutation(120)], covariance=covariance)
    assert mixed.loglik == fit(x, covariance=covariance).loglik


def test_units_and_maps():
    units = np.array([1e-3, 5.0, 1e6])
    one, other = fit(), fit(X * units + 3.0)
    volume = (np.log(units) * (~np.isnan(X)).sum(axis=0)).sum()
    assert one.loglik - volume == pytest.approx(other.loglik, abs=1e-6)
    np.testing.assert_allclose(np.sort(one.weights), np.sort(other.weights), rtol=1e-6)
    models = [fit(covariance=c).loglik for c in ("spherical", "diag", "full")]
    every = fit(K=(1, 2), covariance="all")
    table = every.selection
    last = {c: v for c, k, v in zip(table["covariance"], table["n_components"], table["loglik"], strict=True) if k == 2}
    assert last["spherical"] <= last["diag"] + 1e-6 <= last["full"] + 2e-6 and last["tied"] <= last["full"] + 1e-6
    assert max(models) <= last["full"] + 1e-6


def test_scores_of_rows_with_missing_values_are_marginal():
    found = fit()
    part = found.marginal([0, 2])
    rows = np.array([[0.3, np.nan, -1.0], [np.nan, np.nan, 0.5], [1.0, 2.0, 3.0], [np.nan] * 3])
    logs = found.logpdf(rows)
    assert logs[0] == pytest.approx(part.logpdf([0.3, -1.0]), rel=1e-12)
    assert logs[1] == pytest.approx(found.marginal([2]).logpdf([0.5]), rel=1e-12)
    assert logs[2] == pytest.approx(found.marginal([0, 1, 2]).logpdf(rows[2]), rel=1e-12)
    assert logs[3] == 0.0
    r = found.predict_proba(rows)
    np.testing.assert_allclose(r[0], part.predict_proba([[0.3, -1.0]])[0], rtol=1e-12)
    np.testing.assert_allclose(r[3], found.weights, rtol=1e-12)
    assert found.predict(rows).tolist() == r.argmax(axis=1).tolist()
    np.testing.assert_allclose(found.pdf(rows), np.exp(logs))
    assert np.isnan(ns.mixture.fit(X, 2, nan_policy="omit").logpdf(rows)[[0, 1, 3]]).all()
    many = np.tile(rows, (30_000, 1))
    np.testing.assert_array_equal(found.logpdf(many), np.tile(logs, 30_000))


def test_bad_data_lose_only_themselves():
    apart = naive.blobs(1, 60, 3, 1)
    apart[:30, 0] = apart[30:, 2] = np.nan  # columns 0 and 2 are never observed together
    nothing = naive.blobs(1, 60, 3, 1)
    nothing[:, 1] = np.nan
    sets = [X, apart, nothing, np.full((5, 3), np.nan), X]
    with pytest.warns(ns.ConvergenceWarning, match="3 of 5 fits ended without a maximum"):
        batch = ns.mixture.fit_many(sets, 1, rng=0, nan_policy="marginal", covariance="full")
    assert batch.status.tolist() == [0, 5, 5, 7, 0]
    assert "column 0 (counted from 0) and column 2 (counted from 0) are never observed together" in batch.message(1)
    assert batch.message(2) == "column 1 (counted from 0) has no value: drop it" and batch.n_missing[3] == 5
    assert fit(apart, 1, "diag").status == 0 and fit(apart, 1, "tied", errors="status").status == 5
    assert fit(apart, 1, ["diag", "full"]).covariance == "diag"
    with pytest.raises(ValueError, match="never observed together"):
        fit(apart, 1)
    with pytest.raises(ValueError, match="is infinite"):
        fit(np.r_[X, [[np.inf, np.nan, 0.0]]])
    with pytest.raises(ValueError, match="too few values"):
        fit(X[:6], 2)
    with pytest.raises(ValueError, match="'omit' does the same"):
        ns.mixture.fit(X[:, 0], 2, nan_policy="marginal")


def test_rows_of_dask_with_missing_values_are_refused():
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"need the rows in memory; pass x\.compute\(\)"):
        ns.mixture.fit(dask.from_array(X, chunks=(50, 3)), 2, nan_policy="marginal")


def test_large_data_are_searched_by_some_rows():
    x = holed(seed=3, n=12_000, d=2, K=2, share=0.1)
    found = fit(x)
    assert found.status == 0
    good = ~np.isnan(x).all(axis=1)
    assert found.loglik == pytest.approx(found.logpdf(x[good]).sum(), rel=1e-12)


def test_estimators_and_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = ns.mixture.Mixture(2, nan_policy="marginal", rng=0).fit(frame)
    assert model.loglik_ == fit().loglik and (model.predict(frame) == fit().predict(X)).all()
    by = ns.mixture.fit_many(frame.assign(g=np.arange(200) % 2), 1, by="g", rng=0, nan_policy="marginal")
    assert by.status.tolist() == [0, 0] and (by.n_missing > 0).all()
