"""Bootstrap errors and the likelihood-ratio test beside plain loops over data sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats._core.random import normalise_rng
from tests.mixture.multivariate import naive


@pytest.fixture(scope="module")
def case():
    x = naive.blobs(3, 200, 2, 2, apart=3.0)
    return x, ns.mixture.fit(x, 2, covariance="full", se=True, rng=0)


@pytest.mark.parametrize("of_rows", [False, True])
def test_the_bootstrap_is_em_on_data_sets_drawn_again(case, of_rows):
    x, fit = case
    found = ns.mixture.bootstrap(fit, *([x] if of_rows else []), n_boot=6, rng=4)
    generator = np.random.default_rng(int(normalise_rng(4)))
    sets = x[generator.choice(200, (6, 200))] if of_rows else fit.rvs((6, 200), rng=generator)
    assert (found.status == 0).all() and found.n_failed == 0 and found.method == ("rows" if of_rows else "parametric")
    for i, one in enumerate(sets):
        weights, means, covariances, loglik = naive.em(one, fit.weights, fit.means, fit.covariances)
        np.testing.assert_allclose(found.weights[i], weights, atol=1e-5)
        np.testing.assert_allclose(found.means[i], means, atol=1e-4)
        np.testing.assert_allclose(found.covariances[i], covariances, atol=1e-3)
        assert found.loglik[i] == pytest.approx(loglik, abs=1e-6)
    np.testing.assert_allclose(found.se["means"], found.means.std(axis=0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(found.se["covariances"], found.covariances.std(axis=0, ddof=1), rtol=1e-10)
    table = found.summary(0.8)
    np.testing.assert_allclose(table["lower_mean_1"], np.quantile(found.means[:, :, 1], 0.1, axis=0))
    assert repr(found).startswith(f"Bootstrap: method '{found.method}', 6 data sets\n")


def test_errors_are_those_of_the_information_in_large_samples(case):
    x, fit = case
    for given in ((), (x,)):
        se = ns.mixture.bootstrap(fit, *given, n_boot=400, rng=1).se
        for name in ("weights", "means"):  # the standard error of these is 4 %, and rows are not exactly normal
            np.testing.assert_allclose(se[name], fit.se[name], rtol=0.25)


def test_the_order_of_components_and_constraints_are_those_of_the_fit():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=(100, 2)) * [3.0, 0.3], rng.normal(size=(100, 2)) * [3.0, 0.3] + [0.05, 3.0]])
    fit = ns.mixture.fit(x, 2, covariance="diag", rng=0)  # in the first column the order is by chance
    found = ns.mixture.bootstrap(fit, n_boot=60, rng=0)
    assert (np.diff(found.means[:, :, 0]) < 0.0).any() and (np.diff(found.means[:, :, 1]) * np.diff(fit.means[:, 1]) > 0.0).all()
    equal = ns.mixture.fit(x, 2, covariance="diag", equal="weights", rng=0)
    assert (ns.mixture.bootstrap(equal, n_boot=5, rng=0).weights == 0.5).all()
    fixed = ns.mixture.fit(x, 2, family=("normal", {"means": [[0.0, 0.0], [0.0, 3.0]]}), rng=0)
    assert (ns.mixture.bootstrap(fixed, n_boot=5, rng=0).means == fixed.means).all()


def test_weights_missing_values_and_names():
    pandas = pytest.importorskip("pandas")
    x = naive.blobs(5, 120, 2, 2, apart=4.0)
    w = np.repeat([1.0, 2.0, 0.0], 40)
    fit = ns.mixture.fit(x, 2, weights=w, rng=0)
    assert fit.n_obs == 120.0 and fit.n_used == 80
    found = ns.mixture.bootstrap(fit, x, weights=w, n_boot=9, rng=0)
    assert found.n_failed == 0
    with pytest.raises(ValueError, match="with their weights"):
        ns.mixture.bootstrap(fit, x[:100], n_boot=9)
    with pytest.raises(TypeError, match="pass x="):
        ns.mixture.bootstrap(fit, weights=w, n_boot=9)
    frame = pandas.DataFrame(x, columns=["a", "b"])
    named = ns.mixture.fit(frame, 2, rng=0)
    same = ns.mixture.bootstrap(named, frame[["b", "a"]], n_boot=5, rng=0)
    np.testing.assert_array_equal(same.means, ns.mixture.bootstrap(named, x, n_boot=5, rng=0).means)
    x[::9, 1] = np.nan
    holed = ns.mixture.fit(x, 2, nan_policy="marginal", rng=0)
    assert ns.mixture.bootstrap(holed, x, n_boot=4, rng=0).n_failed == 0
    with pytest.raises(ValueError, match="complete rows"):
        ns.mixture.bootstrap(holed, n_boot=4)


def test_failures_are_counted():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(9, 2)) + 8.0])
    fit = ns.mixture.fit(x, 2, rng=0)
    found = ns.mixture.bootstrap(fit, n_boot=60, rng=0)  # of the second component come often fewer rows than are admissible
    assert 0 < found.n_failed < 30 and found.n_failed == np.sum(~np.isin(found.status, (0, 11)))
    assert f"{found.n_failed} of them have no fit that counts" in repr(found) and np.isfinite(found.se["means"]).all()
    few = ns.mixture.fit(x[:45], 2, rng=0)
    with pytest.raises(ValueError, match=r"of 60 data sets only \d+ have fits"):
        ns.mixture.bootstrap(few, n_boot=60, rng=0)
    with pytest.raises(TypeError, match="MultivariateFit"):
        ns.mixture.bootstrap(ns.mixture.fit(x[:, 0], 2, family="normal", rng=0))


def test_the_likelihood_ratio_is_the_plain_bootstrap():
    x = naive.blobs(3, 80, 2, 2, apart=2.0)
    options = dict(family="normal", rng=5, covariance="tied")
    test = ns.mixture.likelihood_ratio(x, 1, n_boot=19, **options)
    draws = test.null.rvs((19, 80), rng=np.random.default_rng(np.random.SeedSequence([int(normalise_rng(5)), 1])))
    one = [scipy.stats.multivariate_normal(v.mean(axis=0), np.cov(v.T, bias=True)).logpdf(v).sum() for v in draws]
    two = [ns.mixture.fit(v, (1, 2), dataset_index=1 + i, **options).selection for i, v in enumerate(draws)]
    best = np.array([table["loglik"][1] for table in two])
    np.testing.assert_allclose(test.simulated, 2.0 * (best - one), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(test.statuses, [table["status"] for table in two])
    assert test.statistic == 2.0 * (test.alternative.loglik - test.null.loglik) > 0.0
    assert test.pvalue == (1 + np.sum(test.simulated >= test.statistic)) / 20
    assert test.pvalue_error == pytest.approx(np.sqrt(test.pvalue * (1.0 - test.pvalue) / 20.0))
    assert (test.null.n_components, test.alternative.n_components) == (1, 2) and test.null.covariance == "tied"
    assert "simulation error" in repr(test) and test.summary()["n_failed"][0] == test.n_failed


def test_p_values_under_the_null_are_uniform():
    p, options = (
        [],
        dict(covariance="tied", min_count=1.0, starts="hierarchical"),
    )  # a bounded likelihood: all fits are admissible
    for i in range(40):
        test = ns.mixture.likelihood_ratio(np.random.default_rng(i).normal(size=(100, 2)), 1, n_boot=19, rng=i, **options)
        p.append(test.pvalue)
        assert test.n_failed < 3
    assert scipy.stats.kstest(np.array(p) - np.random.default_rng(0).random(40) / 20.0, "uniform").pvalue > 0.01


def test_what_the_test_refuses():
    x = naive.blobs(3, 80, 2, 2, apart=2.0)
    for options, said in (
        (dict(covariance="all"), "several models"),
        (dict(equal="weights"), "no case of"),
        (dict(nan_policy="marginal"), "complete rows"),
        (dict(fixed_weights=[0.5, 0.5]), "like the others"),
        (dict(family="gamma"), "fitted by family='normal'"),
        (dict(prior={"n0": 1}), "one dimension"),
    ):
        with pytest.raises(ValueError, match=said):
            ns.mixture.likelihood_ratio(x, 1, n_boot=3, **({"family": "normal"} | options))
    with pytest.raises(ValueError, match="status"):
        ns.mixture.likelihood_ratio(x[:6], 3, n_boot=3)
    with pytest.raises(ValueError, match="covariance= and max_condition="):
        ns.mixture.likelihood_ratio(x[:, 0], 1, family="normal", covariance="full")
