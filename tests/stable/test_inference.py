"""Profile intervals and goodness of fit."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import numbastats as ns


@pytest.fixture(scope="module")
def x():
    return ns.stable.rvs(1.6, 0.4, loc=3.0, scale=2.0, size=200, rng=1)


def constrained(x, name, value, start):
    """The largest log-likelihood with one parameter held, by a search that knows nothing of `fit`."""
    i = ("alpha", "beta", "loc", "scale").index(name)
    rest = [j for j in range(4) if j != i]

    def loss(q):
        p = np.array(start)
        p[rest], p[i] = q, value
        if not (0.1 < p[0] <= 2 and abs(p[1]) <= 1 and p[3] > 0):
            return np.inf
        return -ns.stable.loglik(x, *p)

    options = {"xatol": 1e-3, "fatol": 1e-5}
    return -scipy.optimize.minimize(loss, np.array(start)[rest], method="Nelder-Mead", options=options).fun


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scale"])
def test_ends_lose_half_the_quantile_of_chi_square_by_reference(name, x):
    best = ns.stable.fit(x)
    found = ns.stable.profile(x, name, level=0.9, found=best)
    limit = scipy.stats.chi2(1).ppf(0.9) / 2
    for end in (found.lower, found.upper):
        assert best.loglik - constrained(x, name, end, best.params) == pytest.approx(limit, abs=2e-3)
    assert found.lower < found.estimate < found.upper and found.message == "ok" and found.level == 0.9
    assert (np.diff(found.values) > 0).all() and found.loglik.max() == best.loglik


@pytest.mark.slow
def test_intervals_are_near_those_of_standard_errors_in_large_samples():
    y = ns.stable.rvs(1.5, 0.2, size=5000, rng=5)
    best = ns.stable.fit(y)
    for i, name in enumerate(("alpha", "beta", "loc", "scale")):
        found = ns.stable.profile(y, name, found=best)
        half = 1.959964 * best.se[i]
        assert [found.lower, found.upper] == pytest.approx([best.params[i] - half, best.params[i] + half], abs=0.1 * half)


@pytest.mark.slow
def test_an_end_may_be_a_bound(x):
    z = np.random.default_rng(1).normal(size=200)
    found = ns.stable.profile(z, "alpha")
    assert found.upper == 2.0 and 1.5 < found.lower < 2.0 and found.message == "upper end is the bound 2"
    found = ns.stable.profile(ns.stable.rvs(1.3, 1.0, size=200, rng=3), "beta")
    assert found.upper == 1.0 > found.lower and "bound" in found.message
    found = ns.stable.profile(x, "alpha", bounds={"alpha": (1.59, 2.0)})
    assert found.lower == 1.59 and "lower end is the bound 1.59" in found.message


def test_other_parameters_may_be_fixed(x):
    found = ns.stable.profile(x, "alpha", fixed={"beta": 0.4}, param="S1")
    assert found.lower < 1.6 < found.upper


def test_profiles_print_as_tables():
    found = ns.stable.ProfileInterval("alpha", 1.6, 1.5, 1.75, 0.9, np.array([1.6]), np.array([-3.0]), "ok")
    assert [line.split() for line in repr(found).splitlines()] == [
        ["ProfileInterval:", "ok"],
        ["parameter", "estimate", "lower", "90", "%", "upper", "90", "%"],
        ["alpha", "1.6", "1.5", "1.75"],
    ]
    assert "<th>upper 90 %</th>" in found._repr_html_()
    assert [column.item() for column in found.to_frame("dict").values()] == ["alpha", 1.6, 1.5, 1.75, 0.9]


@pytest.mark.slow
def test_coverage():
    """Of 95 % intervals for alpha, 50 data sets of 150 values."""
    inside = 0
    for seed in range(50):
        found = ns.stable.profile(ns.stable.rvs(1.7, 0.3, size=150, rng=seed), "alpha")
        inside += found.lower <= 1.7 <= found.upper
    assert 44 <= inside <= 50


def test_a_likelier_point_is_told(x):
    best = dataclasses.replace(ns.stable.fit(x), loglik=ns.stable.fit(x).loglik - 5.0)
    with pytest.warns(ns.ConvergenceWarning, match="not the maximum") as told:
        assert "log-likelihood" in ns.stable.profile(x, "beta", found=best).message
    assert told[0].filename == __file__


@pytest.mark.parametrize("statistic", ["anderson-darling", "cramer-von-mises", "kolmogorov-smirnov"])
def test_statistics_by_reference(statistic, x):
    """SciPy's statistics of the uniform distribution, of the probabilities under the fit."""
    found = ns.stable.goodness(x, statistic, method="quantile", draws=19, rng=1)
    u = np.sort(ns.stable.cdf(x, *found.fit.params))
    i, n = np.arange(1, u.size + 1), u.size
    want = {
        "anderson-darling": -n - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))),
        "cramer-von-mises": scipy.stats.cramervonmises(u, "uniform").statistic,
        "kolmogorov-smirnov": scipy.stats.kstest(u, "uniform").statistic * np.sqrt(n),
    }
    assert found.statistic == pytest.approx(want[statistic], rel=1e-9)
    assert found.simulated.shape == (19,) and found.pvalue == (1 + (found.simulated >= found.statistic).sum()) / 20


def test_goodness_tells_what_fits():
    rng = np.random.default_rng(1)
    fits = ns.stable.goodness(ns.stable.rvs(1.6, 0.4, size=300, rng=9), method="quantile", draws=99, rng=2)
    assert fits.pvalue > 0.05 and fits.failed == 0
    two = np.concatenate([rng.normal(-4, 1, 150), rng.normal(4, 1, 150)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        assert ns.stable.goodness(two, method="quantile", draws=99, rng=2).pvalue == 0.01
    again = ns.stable.goodness(two, method="quantile", draws=99, rng=2, workers=2)
    assert (again.simulated == ns.stable.goodness(two, method="quantile", draws=99, rng=2).simulated).all()


@pytest.mark.slow
def test_p_values_are_uniform_under_the_hypothesis():
    p = [
        ns.stable.goodness(ns.stable.rvs(1.5, 0.0, size=100, rng=i), method="quantile", draws=19, rng=1000 + i).pvalue
        for i in range(60)
    ]
    assert scipy.stats.chisquare(np.histogram(p, bins=4, range=(0, 1.0001))[0]).pvalue > 0.01


def test_bad_input(x):
    for call, error, said in [
        (lambda: ns.stable.profile(x, "mu"), ValueError, "use one of 'alpha'"),
        (lambda: ns.stable.profile(x, "alpha", level=95), ValueError, "use 0.95 for 95 %"),
        (lambda: ns.stable.profile(x, "alpha", fixed={"alpha": 1.5}), ValueError, "leave it out of fixed="),
        (lambda: ns.stable.profile(x, "alpha", start=[1.5, 0, 0, 1]), TypeError, "no argument 'start': it takes"),
        (lambda: ns.stable.profile(x, "beta", found=ns.stable.fit_quantile(x)), ValueError, "by maximum likelihood"),
        (lambda: ns.stable.goodness(x, "chi-square"), ValueError, "use one of 'anderson-darling'"),
        (lambda: ns.stable.goodness(x, draws=5), ValueError, "at least 19"),
        (lambda: ns.stable.goodness(x, weights=np.ones(x.size)), TypeError, "no argument 'weights': .* repeat observations"),
        (lambda: ns.stable.goodness([1.0, 2.0]), ValueError, "at least 5"),
    ]:
        with pytest.raises(error, match=said):
            call()
