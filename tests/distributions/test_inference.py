"""What follows from fits: closed forms, SciPy, statsmodels and published critical values."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats as st

import numbastats as ns
from numbastats.distributions import Gamma, Normal, StudentT, Weibull, compare, compare_many, fit, goodness
from tests.reference.make_coverage import coverage

Z = 1.959963984540054


@functools.cache
def normal():
    x = np.random.default_rng(1).normal(3.0, 2.0, 400)
    return x, fit(x, "normal")


@functools.cache
def gamma():
    x = np.random.default_rng(2).gamma(2.0, 3.0, 300)
    return x, fit(x, "gamma")


# --- estimates


@pytest.mark.parametrize("p", [0.001, 0.2, 0.5])
def test_errors_of_normal_quantiles(p):
    """Var(loc + z scale) = scale^2/n (1 + z^2/2) at the estimates; errors observed: 1e-10."""
    _, found = normal()
    loc, scale = found.params.values()
    se = scale * math.sqrt((1.0 + st.norm.ppf(p) ** 2 / 2.0) / 400)
    answer = found.estimate(lambda d: d.ppf(p))
    assert answer.value == pytest.approx(st.norm.ppf(p, loc, scale), rel=1e-13)
    assert answer.se == pytest.approx(se, rel=1e-8)
    assert (answer.lower, answer.upper) == pytest.approx((answer.value - Z * se, answer.value + Z * se), rel=1e-8)
    assert answer.method == "delta" and answer.message == "ok"
    narrow = found.estimate(lambda d: d.ppf(p), level=0.5)
    assert narrow.upper - narrow.lower == pytest.approx(2.0 * st.norm.ppf(0.75) * se, rel=1e-8)


def test_error_of_a_gamma_mean():
    """The likeliest mean is that of the values, of variance shape scale^2/n; the shape has the error of the fit."""
    x, found = gamma()
    shape, scale = found.params.values()
    answer = found.estimate(lambda d: d.mean())
    assert answer.value == pytest.approx(x.mean(), rel=1e-9)
    assert answer.se == pytest.approx(scale * math.sqrt(shape / 300), rel=1e-6)
    assert found.estimate(lambda d: d.shape).se == pytest.approx(found.se["shape"], rel=1e-5)  # by exp and differences


@pytest.mark.parametrize(
    "function",
    [lambda d: float(d.ppf(0.01)), lambda d: d.ppf(0.01) if d.scale > 0 else 0.0, lambda d: d.ppf([0.01, 0.01]).mean()],
)
def test_functions_of_single_distributions(function):
    """Functions that a batch makes an error, or a wrong number, are called for each distribution."""
    _, found = gamma()
    for method in ("delta", "bootstrap"):
        options = {"count": 25, "rng": 1} if method == "bootstrap" else {}
        want = found.estimate(lambda d: d.ppf(0.01), method, **options)
        answer = found.estimate(function, method, **options)
        assert (answer.value, answer.se) == pytest.approx((want.value, want.se), rel=1e-12)


def test_functions_that_mix_the_distributions_of_a_batch():
    _, found = gamma()
    answer = found.estimate(lambda d: d.ppf(0.01) / np.max(d.std()))
    want = found.estimate(lambda d: d.ppf(0.01) / d.std())
    assert answer.se == pytest.approx(want.se, rel=1e-12)


def test_bootstrap_of_a_normal_distribution():
    """The scale of a sample is chi-distributed: scale sqrt(chi2(n - 1)/n); Monte Carlo errors of 4000 samples are 1 to 3 %."""
    _, found = normal()
    scale, n = found.params["scale"], 400
    answer = found.estimate(lambda d: d.scale, "bootstrap", count=4000, rng=3)
    peer = st.chi(n - 1, scale=scale / math.sqrt(n))
    assert answer.value == scale and answer.se == pytest.approx(peer.std(), rel=0.04)
    assert (answer.lower, answer.upper) == pytest.approx(peer.ppf([0.025, 0.975]), abs=0.1 * answer.se)
    assert answer.samples.shape == (4000,) and answer.samples.std(ddof=1) == answer.se
    again = found.estimate(lambda d: d.scale, "bootstrap", count=4000, rng=3, workers=1)
    np.testing.assert_array_equal(answer.samples, again.samples)
    assert found.estimate(lambda d: d.scale, "bootstrap", count=99, rng=4).se != answer.se


def test_bootstrap_keeps_what_was_fixed():
    x, _ = gamma()
    found = fit(x, "gamma", fixed={"shape": 2.0})
    assert found.estimate(lambda d: d.shape, "bootstrap", count=30, rng=1).se == 0.0
    answer = found.estimate(lambda d: d.scale, "bootstrap", count=2000, rng=1)
    assert answer.se == pytest.approx(found.params["scale"] / math.sqrt(2.0 * 300), rel=0.06)
    assert found.estimate(lambda d: d.scale).se == pytest.approx(answer.se, rel=0.06)
    with pytest.raises(ValueError, match="every parameter of the fit was fixed"):
        fit(x, "gamma", fixed={"shape": 2.0, "scale": 3.0}).estimate(lambda d: d.mean())


def test_bootstrap_counts_weights_as_observations():
    x = np.random.default_rng(5).normal(size=100)
    found = fit(x, "normal", weights=np.full(100, 4.0))
    answer = found.estimate(lambda d: d.loc, "bootstrap", count=2000, rng=1)
    assert answer.se == pytest.approx(x.std() / math.sqrt(400), rel=0.06)
    with pytest.warns(UserWarning, match="add up to 1 for 100 values"):
        shares = fit(x, "normal", weights=np.full(100, 0.01))
    with pytest.raises(ValueError, match="add up to 1 observations, too few to draw"):
        shares.estimate(lambda d: d.loc, "bootstrap")


def test_bootstrap_in_parts(monkeypatch):
    """Data sets of many values are simulated in parts; another stream, the same answer within its error."""
    _, found = normal()
    monkeypatch.setattr(ns.distributions.inference, "_VALUES", 400 * 7)
    answer = found.estimate(lambda d: d.scale, "bootstrap", count=500, rng=3)
    assert answer.samples.shape == (500,) and np.unique(answer.samples).size == 500
    assert answer.se == pytest.approx(found.se["scale"], rel=0.15)


def test_profiles_of_a_normal_distribution():
    """-2 log of the ratio is n log(1 + (m - loc)^2/s^2) for the location, n (r - 1 - log r), r = s^2/scale^2, for the scale."""
    x, found = normal()
    loc, s = found.params.values()
    answer = found.estimate(lambda d: d.loc, "profile", x=x)
    width = s * math.sqrt(math.expm1(Z * Z / 400))
    assert (answer.lower, answer.upper) == pytest.approx((loc - width, loc + width), abs=1e-6)
    ends = [
        s / math.sqrt(scipy.optimize.brentq(lambda r: 400 * (r - 1 - math.log(r)) - Z * Z, *bracket))
        for bracket in ((1.0, 2.0), (0.5, 1.0))
    ]
    answer = found.estimate(lambda d: d.scale, "profile", x=x)
    assert (answer.lower, answer.upper) == pytest.approx(ends, abs=1e-6)
    assert answer.message == "ok" and math.isnan(answer.se)


@pytest.mark.parametrize("side", [0, 1])
def test_profile_of_a_gamma_quantile(side):
    """Against a search along the shape by SciPy: for each, the scale that the quantile asks for."""
    x, found = gamma()
    quantile = lambda d: d.isf(0.01)  # noqa: E731
    answer = found.estimate(quantile, "profile", x=[*x, math.nan])

    def drop(value):
        """Twice the loss of log-likelihood of the likeliest gamma distribution with this quantile."""
        loss = lambda a: -st.gamma.logpdf(x, a, scale=value / st.gamma.isf(0.01, a)).sum()  # noqa: E731
        best = scipy.optimize.minimize_scalar(loss, bounds=(1.0, 4.0), method="bounded", options={"xatol": 1e-9})
        return 2.0 * (best.fun + found.loglik) - Z * Z

    bracket = (answer.value, answer.value * (0.7, 1.5)[side])
    assert (answer.lower, answer.upper)[side] == pytest.approx(scipy.optimize.brentq(drop, *bracket), rel=1e-5)


def test_profile_of_returns_is_skew():
    x = StudentT(5.0, scale=0.01).rvs(1000, rng=1)
    found = fit(x, "student_t")
    answer = found.estimate(lambda d: d.df, "profile", x=x)

    def drop(df):
        best = fit(x, "student_t", fixed={"df": df})
        return 2.0 * (found.loglik - best.loglik) - Z * Z

    assert answer.lower == pytest.approx(scipy.optimize.brentq(drop, 2.0, answer.value), rel=1e-4)
    assert answer.upper == pytest.approx(scipy.optimize.brentq(drop, answer.value, 20.0), rel=1e-4)
    assert answer.upper - answer.value > 1.5 * (answer.value - answer.lower)


def test_profile_without_an_end():
    x = np.random.default_rng(4).standard_t(12.0, 60)
    found = fit(x, "student_t")
    assert found.status == 0
    with pytest.warns(ns.ConvergenceWarning, match="too flat for the upper end"):
        answer = found.estimate(lambda d: d.df, "profile", x=x)
    assert math.isnan(answer.upper) and answer.lower < answer.value
    var = found.estimate(lambda d: d.ppf(0.05), "profile", x=x)
    assert var.lower < var.value < var.upper


def test_profile_sets_zeros_apart():
    x, found = gamma()
    wet = fit(np.r_[x, np.zeros(50)], "gamma", zeros="share")
    answer = wet.estimate(lambda d: d.mean(), "profile", x=np.r_[np.zeros(50), x])
    assert answer.upper == pytest.approx(found.estimate(lambda d: d.mean(), "profile", x=x).upper, rel=1e-9)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_fits_that_say_nothing():
    _, found = gamma()
    for bad, match in ((dict(level=1.0), "level=1.0"), (dict(method="jackknife"), "method='jackknife'")):
        with pytest.raises(ValueError, match=match):
            found.estimate(lambda d: d.mean(), **bad)
    with pytest.raises(ValueError, match="nothing follows from a fit that did not converge: values outside"):
        fit([-1.0, 2.0, 3.0], "gamma").estimate(lambda d: d.mean())
    with pytest.raises(ValueError, match=r"pass x="):
        found.estimate(lambda d: d.mean(), "profile")
    with pytest.raises(ValueError, match="x are not the data of this fit"):
        found.estimate(lambda d: d.mean(), "profile", x=np.arange(1.0, 301.0))
    with pytest.raises(TypeError, match="it must give one number"):
        found.estimate(lambda d: d.ppf([0.1, 0.2]))
    with pytest.raises(TypeError, match="pass a function"):
        found.estimate("mean")
    with pytest.raises(ValueError, match="count=5"):
        found.estimate(lambda d: d.mean(), "bootstrap", count=5)
    with pytest.raises(ValueError, match="no finite derivatives"):
        found.estimate(lambda d: math.nan)
    with pytest.raises(TypeError, match="has no argument 'seed': use rng="):
        found.estimate(lambda d: d.mean(), "bootstrap", seed=1)
    light = fit(np.linspace(-1.0, 1.0, 50), "student_t")
    assert light.status == 2 and light.converged
    end = fit(np.linspace(0.1, 1.0, 50), "uniform")
    with pytest.raises(ValueError, match="needs standard errors"):
        end.estimate(lambda d: d.ppf(0.01))
    assert 0.0 < light.estimate(lambda d: d.ppf(0.01), "bootstrap", count=99, rng=1).se < 0.3


@pytest.mark.parametrize("method", ["bootstrap", "profile"])
def test_methods_of_complete_values_refuse_others(method):
    x = ns.distributions.Exponential(scale=2.0).rvs(200, rng=1)
    ends = np.minimum(x, 2.0), np.where(x < 2.0, x, np.inf)
    for found in (
        fit(None, "exponential", censored=ends),
        fit(x[x < 2.0], "exponential", truncated=(0.0, 2.0)),
        ns.distributions.fit_many([x[x < 2.0]], "exponential", truncated=(0.0, 2.0)).one(0),
    ):
        assert found.partial and found.estimate(lambda d: d.mean()).se > 0.0
        with pytest.raises(ValueError, match='use "delta"'):
            found.estimate(lambda d: d.mean(), method, x=x)
    assert not fit(x, "exponential").partial


def test_failures_of_the_bootstrap_are_told():
    x = ns.distributions.GPD(-0.4).rvs(60, rng=2)
    found = fit(x, "gpd")  # of its samples some have their best shape below -1/2
    with pytest.warns(ns.ConvergenceWarning, match="of 99 samples are left out"):
        answer = found.estimate(lambda d: d.mean(), "bootstrap", count=99, rng=1)
    left_out = np.isnan(answer.samples).sum()
    assert left_out > 0 and answer.message.startswith(f"{left_out} of 99 samples are left out")
    assert answer.se == pytest.approx(np.nanstd(answer.samples, ddof=1))


def test_an_estimate_prints_as_a_table():
    _, found = normal()
    answer = found.estimate(lambda d: d.loc)
    assert repr(answer).startswith("Estimate: method 'delta', level 0.95, ok\n")
    assert list(answer.summary()) == ["value", "se", "lower", "upper", "level"] and "<table>" in answer._repr_html_()
    narrow = found.estimate(lambda d: d.loc, level=0.5)
    assert "lower 50 %" in repr(narrow) and "<th>upper 50 %</th>" in narrow._repr_html_()
    assert narrow.to_frame("dict")["level"].tolist() == [0.5]


@pytest.mark.parametrize("method", ["delta", "profile", "bootstrap"])
@pytest.mark.parametrize("name", ["shape", "scale"])
def test_parameters_by_name(name, method):
    """As by their functions; the ends by the delta method are those of the table."""
    x, found = gamma()
    options = dict(x=x, count=99, rng=1, level=0.9)
    by_name, by_function = (found.estimate(one, method, **options) for one in (name, lambda d: getattr(d, name)))
    for field in ("value", "se", "lower", "upper"):
        assert getattr(by_name, field) == pytest.approx(getattr(by_function, field), rel=1e-6, nan_ok=True)
    assert (by_name.method, by_name.level, by_name.message) == (method, 0.9, "ok")
    if method == "delta":
        table = found.summary(0.9)
        row = table["parameter"].tolist().index(name)
        assert (by_name.lower, by_name.upper) == (table["lower"][row], table["upper"][row])


def test_profile_by_name_against_fits_with_the_parameter_fixed():
    x = ns.distributions.GEV(0.1, loc=5.0, scale=2.0).rvs(150, rng=2)
    found = fit(x, "gev")
    answer = found.estimate("shape", "profile", x=x)
    for end in (answer.lower, answer.upper):
        held = fit(x, "gev", fixed={"shape": end})
        assert 2.0 * (found.loglik - held.loglik) == pytest.approx(Z * Z, rel=1e-3)


def test_rows_of_the_table_by_name():
    x = np.linspace(-1.0, 1.0, 50)
    light = fit(x, "student_t")
    assert light.limit == "normal"
    answer = light.estimate("normal scale", "profile", x=x)
    assert answer.upper == pytest.approx(fit(x, "normal").estimate("scale", "profile", x=x).upper, rel=1e-6)
    assert light.estimate("normal scale").se == light.limit_se["scale"]
    for call, match in (
        (lambda: light.estimate("df"), "df has no standard error"),
        (lambda: light.estimate("loc", "profile", x=x), "by its name: pass a function"),
        (lambda: light.estimate("normal loc", "bootstrap"), "by its name: pass a function"),
        (lambda: fit(x, "student_t", fixed={"df": 4.0}).estimate("df"), "df was fixed"),
        (lambda: fit(x, "student_t", fixed={"df": 4.0}).estimate("df", "profile", x=x), "df was fixed"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(TypeError, match="no parameter of the fit: pass one of 'loc', 'scale'"):
        fit(x, "normal").estimate("sigma", "profile", x=x)
    values, found = gamma()
    wet = fit(np.r_[values, np.zeros(50)], "gamma", zeros="share")
    share = wet.estimate("zeros")
    assert share.se == wet.zeros_se and share.message == "ok" and "without the share" in wet.estimate("shape").message
    assert wet.estimate("shape").lower == pytest.approx(found.estimate("shape").lower, rel=1e-9)
    with pytest.raises(ValueError, match="by its name"):
        wet.estimate("zeros", "profile", x=values)


@pytest.mark.parametrize("method", ["delta", pytest.param("profile", marks=pytest.mark.slow), "bootstrap"])
def test_coverage(method):
    """Of 200 intervals of 95 % fewer than 180 hold the truth in one case of 500; `make_coverage` has 2000."""
    assert coverage("gamma", "isf(0.01)", method, 200, count=99) >= 0.9


# --- distances and tests


@pytest.mark.parametrize(
    ("family", "peer"),
    [("normal", st.norm), ("gamma", st.gamma), ("weibull", st.weibull_min), ("lognormal", st.lognorm), ("student_t", st.t)],
)
def test_statistics(family, peer):
    x, _ = gamma()
    found = fit(x, family)
    names = {"gamma": ("shape",), "weibull": ("shape",), "lognormal": ("sigma",), "student_t": ("df", "loc"), "normal": ("loc",)}
    cdf = peer(*(found.params[n] for n in names[family]), scale=found.params["scale"])
    value = lambda statistic: goodness(x, family, statistic, count=19, rng=1).statistic  # noqa: E731
    assert value("ks") == pytest.approx(st.kstest(x, cdf.cdf).statistic, rel=1e-10)
    assert value("cvm") == pytest.approx(st.cramervonmises(x, cdf.cdf).statistic, rel=1e-10)
    i, ordered = np.arange(1, 301), np.sort(x)
    a2 = -300 - np.mean((2 * i - 1) * (cdf.logcdf(ordered) + cdf.logsf(ordered[::-1])))
    assert value("ad") == pytest.approx(a2, rel=1e-10)


@pytest.mark.parametrize(
    ("statistic", "critical"),
    [
        ("ad", lambda n: 0.787 / (1.0 + 4.0 / n - 25.0 / n**2)),
        ("cvm", lambda n: 0.126 / (1.0 + 0.5 / n)),
        ("ks", lambda n: 0.895 / (math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n))),
    ],
)
def test_critical_values_of_stephens(statistic, critical):
    """M. A. Stephens, JASA 69 (1974), table 1A, case 3: the normal distribution, 5 %; Monte Carlo error of the quantile 1.5 %."""
    x = np.random.default_rng(6).normal(size=100)
    found = goodness(x, "normal", statistic, count=9999, rng=1)
    assert np.quantile(found.simulated, 0.95) == pytest.approx(critical(100), rel=0.04)


def test_lilliefors():
    """p-values of statsmodels' tables, which go from 0.001 to 0.99, and the test of SciPy by the same bootstrap."""
    diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
    for seed in range(3):
        x = np.random.default_rng(seed).gamma(12.0, 1.0, 150)
        found = goodness(x, "normal", "ks", count=4999, rng=1)
        statistic, pvalue = diagnostic.lilliefors(x, "norm")
        assert found.statistic == pytest.approx(statistic, rel=0.02)  # there of the deviation by n - 1
        assert found.pvalue == pytest.approx(pvalue, abs=0.05)
    peer = st.goodness_of_fit(st.norm, x, statistic="ad", n_mc_samples=999, rng=np.random.default_rng(1))
    assert goodness(x, "normal", count=999, rng=1).pvalue == pytest.approx(peer.pvalue, abs=0.05)


def test_levels_of_the_test():
    """Of 300 samples of the family the test at 10 % rejects 30 +- 3 standard deviations."""
    rejected = 0
    for i in range(300):
        rejected += goodness(Weibull(1.5, scale=2.0).rvs(50, rng=i), "weibull", count=99, rng=i).pvalue <= 0.1
    assert abs(rejected - 30) < 16


def test_far_values_have_a_distance():
    x = np.r_[np.random.default_rng(1).normal(size=2000), 60.0]
    found = goodness(x, "normal", count=19, rng=1)
    assert math.isfinite(found.statistic) and found.pvalue == 1.0 / 20.0
    far = np.r_[x, 1e3]  # the logarithm of the tail is -5e5 there
    known = goodness(far, "normal", fixed={"loc": 0.0, "scale": 1.0}, count=19, rng=1)
    i, ordered = np.arange(1, 2003), np.sort(far)
    a2 = -2002 - np.mean((2 * i - 1) * (st.norm.logcdf(ordered) + st.norm.logsf(ordered[::-1])))
    assert known.statistic == pytest.approx(a2, rel=1e-10)


def test_goodness_prints_and_refuses():
    x, _ = gamma()
    found = goodness(x, "gamma", count=99, rng=1)
    assert found.fit.params == fit(x, "gamma").params and found.failed == 0 and found.simulated.shape == (99,)
    assert repr(found).splitlines()[1].split() == ["statistic", "pvalue", "shape", "scale"]
    np.testing.assert_array_equal(goodness(x, "gamma", count=99, rng=1, workers=1).simulated, found.simulated)
    with pytest.raises(ValueError, match="statistic='chi2'"):
        goodness(x, "gamma", "chi2")
    with pytest.raises(ValueError, match="count=3 must be"):
        goodness(x, "gamma", count=3)
    with (
        pytest.warns(ns.ConvergenceWarning),
        pytest.raises(ValueError, match="no test of a fit that did not converge: values outside the support"),
    ):
        goodness(-x, "gamma")


# --- comparison


@pytest.mark.slow  # all fits are compiled
def test_comparison_of_all_families():
    x, _ = gamma()
    table = compare([*x, math.nan])
    continuous = {name for name, cls in ns.distributions.fitting.CLASSES.items() if not cls.is_discrete}
    assert set(table.fits) | set(table.left_out) | {"truncated_normal"} == continuous
    assert set(table.left_out) == {"beta", "kumaraswamy"}
    assert "left out, as their support does not hold the values: beta" in repr(table)
    bic = [f.bic for f in table.fits.values()]
    assert bic == sorted(bic)


def test_comparison():
    x, found = gamma()
    table = compare([*x, math.nan], ["normal", "weibull", "gamma", "lognormal", "student_t"])
    assert table.left_out == () and table.criterion == "bic"
    assert table.best.family == "gamma" and table.best.params == found.params
    bic = [f.bic for f in table.fits.values()]
    assert bic == sorted(bic)
    done = [f.converged for f in table.fits.values()]
    assert done == sorted(done, reverse=True)
    assert table.ad["gamma"] == goodness(x, "gamma", count=19, rng=1).statistic
    assert table.ks["gamma"] == goodness(x, "gamma", "ks", count=19, rng=1).statistic
    summary = table.summary()
    assert list(summary) == ["family", "parameters", "loglik", "aic", "bic", "ks", "ad", "status", "limit"]
    assert summary["parameters"][0] == ", ".join(f"{n}={v:.4g}" for n, v in found.params.items())


def test_criteria():
    x = np.random.default_rng(0).standard_t(14.0, 1000)
    by = {c: compare(x, ["student_t", "normal"], criterion=c).best.family for c in ("aic", "bic")}
    fits = {f: fit(x, f) for f in ("student_t", "normal")}
    gain = 2.0 * (fits["student_t"].loglik - fits["normal"].loglik)
    assert 2.0 < gain < math.log(1000) and by == {"aic": "student_t", "bic": "normal"}


def test_failed_fits_come_last_with_their_reason():
    x = np.r_[np.random.default_rng(1).gamma(2.0, 1.0, 50), 0.0]
    table = compare(x, ["gamma", "normal", "lognormal"])
    assert list(table.fits) == ["normal", "gamma", "lognormal"] and table.best.family == "normal"
    assert "gamma: values outside the support" in repr(table) and math.isnan(table.ad["gamma"])
    nothing = compare([1.0, 1.0, 1.0], ["normal", "gamma"])
    with pytest.raises(ValueError, match="no fit ended in a maximum"):
        nothing.best  # noqa: B018


def test_comparison_of_many_series():
    """Each series as by itself; a family that fails for one does not win there, nor a series without any fit."""
    rng = np.random.default_rng(5)
    x = np.stack([rng.normal(50.0, 12.0, 300), rng.lognormal(1.0, 0.8, 300), rng.normal(0.0, 1.0, 300), np.ones(300)])
    names = ["normal", "gamma", "lognormal", "beta"]
    found = compare_many(x, names)
    assert found.best.tolist() == ["normal", "lognormal", "normal", ""] and found.left_out == ()
    assert found.fits["gamma"].status[2] == 6 and "1 series: no fit ended in a maximum" in repr(found)
    for i in range(3):
        one = compare(x[i], names)
        assert found.best[i] == one.best.family
        for name, fits in found.fits.items():
            assert fits.bic[i] == pytest.approx(one.fits[name].bic, rel=1e-13)
    table = found.summary()
    assert list(table["family"]) == ["normal", "lognormal", "gamma", "beta"] and list(table["best"]) == [2, 1, 0, 0]
    both = [found.fits[n].bic[:2] for n in ("normal", "lognormal")]  # both are fitted to the first two series alone
    least = np.minimum(*both)
    assert table["mean_difference"][0] == pytest.approx(np.mean(both[0] - least), rel=1e-12)
    assert math.isinf(table["mean_difference"][3])
    by_key = compare_many({"a": x[0], "b": x[1]}, ["normal", "lognormal"], criterion="aic")
    assert by_key.fits["normal"].keys == ("a", "b") and by_key.best.tolist() == ["normal", "lognormal"]


@pytest.mark.slow
def test_comparison_of_many_series_of_all_families():
    x = np.random.default_rng(6).gamma(3.0, 2.0, (5, 80))
    found = compare_many(x)
    assert found.left_out == ("beta", "kumaraswamy")
    least = np.min([f.bic for f in found.fits.values()], axis=0)
    assert all(found.fits[name].bic[i] == least[i] for i, name in enumerate(found.best))
    with pytest.raises(TypeError, match="is one name"):
        compare_many(x, "gamma")


def test_comparison_refuses():
    x, _ = gamma()
    with pytest.raises(TypeError, match=r"is one name; pass"):
        compare(x, "gamma")
    with pytest.raises(ValueError, match="families is empty"):
        compare(x, [])
    with pytest.raises(ValueError, match="criterion='dic'"):
        compare(x, criterion="dic")
    with pytest.raises(ValueError, match="family='gama' is not known"):
        compare(x, ["gama"])
    with pytest.raises(ValueError, match="compare takes one series"):
        compare(np.ones((3, 40)))


def test_labels_are_read():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    x, found = gamma()
    for kind in (pandas.Series, lambda v: xarray.DataArray(v, dims="time")):
        assert compare(kind(x), ["gamma"]).best.params == found.params
        assert goodness(kind(x), "gamma", count=19, rng=1).statistic == goodness(x, "gamma", count=19, rng=1).statistic
        assert found.estimate(lambda d: d.mean(), "profile", x=kind(x)).message == "ok"
    assert isinstance(found.distribution, Gamma) and isinstance(normal()[1].distribution, Normal)
