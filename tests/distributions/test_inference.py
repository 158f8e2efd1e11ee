"""What follows from fits: closed forms, SciPy, statsmodels and published critical values."""

from __future__ import annotations

import functools
import math
import operator
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.stats as st

import numbastats as ns
from numbastats._core.edf import distance_of_counts
from numbastats._core.errors import ConvergenceWarning
from numbastats._core.random import normalise_rng
from numbastats.distributions import (
    Gamma,
    Normal,
    StudentT,
    Weibull,
    compare,
    compare_many,
    fit,
    fit_many,
    goodness,
    goodness_many,
)
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
    monkeypatch.setattr(ns.distributions.resampling, "_VALUES", 400 * 7)
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
    with pytest.raises(
        ValueError, match="nothing follows from a fit that did not converge: .* of .* values (is|are) not above 0"
    ):
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
def test_methods_need_what_the_fit_knew(method):
    """Of censored values the data in their form; of truncated ones the truncation is the fit's own."""
    x = ns.distributions.Exponential(scale=2.0).rvs(200, rng=1)
    ends = np.minimum(x, 2.0), np.where(x < 2.0, x, np.inf)
    options = {"count": 99, "rng": 1}
    for found, data in (
        (fit(None, "exponential", censored=ends), {"x": None, "censored": ends}),
        (fit(x[x < 8.0], "exponential", truncated=(0.0, 8.0)), {"x": x[x < 8.0]}),
        (ns.distributions.fit_many([x[x < 8.0]], "exponential", truncated=(0.0, 8.0)).one(0), {"x": x[x < 8.0]}),
    ):
        assert found.partial and found.estimate(lambda d: d.mean()).se > 0.0
        answer = found.estimate(lambda d: d.mean(), method, **data, **options)
        assert answer.lower < answer.value < answer.upper
        if method == "profile" or "censored" in data:
            with pytest.raises(ValueError, match="not the data of this fit"):
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


def test_bootstrap_of_few_events_has_no_ends():
    """A third of the samples are without the event: their estimates are infinite, and the others say nothing of the upper end."""
    x, event = np.r_[1.0, 2.0, 3.0, np.full(20, 5.0)], np.arange(23) < 1
    found = fit(x, "exponential", event=event)
    with pytest.warns(ns.ConvergenceWarning, match="samples are left out"):
        answer = found.estimate("scale", "bootstrap", x=x, event=event, rng=1)
    assert np.isnan(answer.samples).mean() == pytest.approx((22 / 23) ** 23, abs=0.05)
    assert math.isnan(answer.lower) and math.isnan(answer.upper) and "'profile'" in answer.message
    profile = found.estimate("scale", "profile", x=x, event=event)
    assert profile.lower < found.params["scale"] < profile.upper < math.inf


@pytest.mark.parametrize("family", ["gev", "gamma", "lognormal", "exponential"])
def test_bootstrap_of_fits_by_moments_is_by_moments(family):
    x = ns.distributions.Gamma(2.0, scale=4.0).rvs(60, rng=3)
    found = fit(x, family, method="lmoments")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # supports that leave out values of a sample
        answer = found.estimate(lambda d: d.isf(0.01), "bootstrap", count=199, rng=1)
        draws = found.distribution.rvs((199, 60), rng=np.random.default_rng(normalise_rng(1)))
        own = fit_many(draws, family, method="lmoments").distribution.isf(0.01)
    np.testing.assert_allclose(answer.samples, own, rtol=1e-12)
    assert answer.se == pytest.approx(own.std(ddof=1), rel=1e-12)
    np.testing.assert_allclose([answer.lower, answer.upper], np.quantile(own, [0.025, 0.975]), rtol=1e-12)


def test_estimates_of_a_batch_are_those_of_its_fits():
    """All fits at once, at limits and inside; what one refuses, the batch says of that series alone."""
    rng = np.random.default_rng(5)
    x = np.where(np.arange(12)[:, None] % 2 == 0, rng.standard_normal((12, 100)), rng.standard_t(3.0, (12, 100)))
    x[3], x[4] = math.nan, 2.0
    with pytest.warns(ConvergenceWarning):
        fits = fit_many(x, "student_t")
    assert set(fits.limit) == {"", "normal"}
    for function in (lambda d: d.ppf(0.01), lambda d: float(d.ppf(0.01))):  # in one call, and one after another
        found = fits.estimate(function, level=0.9)
        for i, (one, fit_one) in enumerate(zip(found, fits, strict=True)):
            if i in (3, 4):
                assert math.isnan(one.value) and math.isnan(one.se) and one.message == fits.messages[i] != "ok"
            else:
                want = fit_one.estimate(function, level=0.9)
                for name in ("value", "se", "lower", "upper"):
                    assert getattr(one, name) == pytest.approx(getattr(want, name), rel=1e-11)
                assert one.message == want.message == "ok" and one.level == 0.9
    assert found.status.tolist() == fits.status.tolist() and found["se"] is found.se and len(found) == 12
    table = found.summary()
    assert list(table) == ["value", "se", "lower", "upper", "status", "message", "level"] and "10 of 12 with" in repr(found)


def test_estimates_keep_keys_and_shape():
    rng = np.random.default_rng(6)
    sets = {"b": rng.gamma(2.0, size=60), "a": rng.gamma(3.0, size=80)}
    found = fit_many(sets, "gamma").estimate(lambda d: d.mean())
    assert found.keys == ("b", "a") and found["a"].value == pytest.approx(sets["a"].mean())
    assert found.to_frame("dict")["key"].tolist() == ["b", "a"]
    grid = fit_many(rng.gamma(2.0, size=(40, 2, 3)), "gamma", axis=0).estimate(lambda d: d.sf(1.0))
    assert grid.value.shape == grid.se.shape == grid.messages.shape == (2, 3) and grid.one((1, 2)).se == grid.se[1, 2]
    assert fit_many(np.empty((0, 5)), "gamma").estimate(lambda d: d.mean()).value.shape == (0,)
    alone = fit_many([sets["a"]], "gamma")
    assert alone.estimate(lambda d: d.mean())[0].se == pytest.approx(alone.one(0).estimate(lambda d: d.mean()).se, rel=1e-11)


def test_estimates_say_what_each_lacks():
    rng = np.random.default_rng(7)
    x = rng.gamma(2.0, size=(3, 60))
    every = fit_many(x, "gamma", fixed={"shape": 2.0, "scale": 1.0}).estimate(lambda d: d.mean())
    assert every.value.tolist() == [2.0] * 3 and np.isnan(every.se).all() and "every parameter was fixed" in every.messages[0]
    counts = fit_many(rng.poisson(3.0, (2, 50)), "poisson").estimate(lambda d: d.ppf(0.9))
    assert np.isfinite(counts.value).all() and np.isnan(counts.se).all() and "constant around the estimate" in counts.messages[0]
    zeros = fit_many(np.where(rng.random((2, 60)) < 0.2, 0.0, x[:2]), "gamma", zeros="share").estimate(lambda d: d.mean())
    assert (zeros.messages == "ok, of the distribution without the share of zeros").all()

    def of_wide(d):
        if d.shape < np.median(fits["shape"]):
            raise ValueError("too narrow")
        return float(d.mean())

    fits = fit_many(x, "gamma")
    found = fits.estimate(of_wide)
    assert np.isnan(found.value).sum() == 1 and "refuses the distribution" in found.messages[np.isnan(found.value)][0]
    uniform = fit_many(rng.random((2, 30)), "uniform").estimate(lambda d: d.mean())
    assert np.isfinite(uniform.value).all() and np.isnan(uniform.se).all() and "no standard errors" in uniform.messages[0]
    with pytest.raises(ValueError, match=r"fits\.one\(key\)\.estimate"):
        fits.estimate(lambda d: d.mean(), "profile")
    with pytest.raises(TypeError, match="pass a function"):
        fits.estimate(3)
    with pytest.raises(TypeError, match="'shap' is no parameter that the fits have errors of: pass 'shape' or 'scale'"):
        fits.estimate("shap")
    named = fits.estimate("shape", level=0.9)
    assert named.value.tolist() == fits["shape"].tolist() and named.se.tolist() == fits.se[:, 0].tolist()
    assert named[1].upper == pytest.approx(fits.one(1).estimate("shape", level=0.9).upper, rel=1e-13)
    fixed = fit_many(x, "gamma", fixed={"shape": 2.0}).estimate("shape")
    assert "the parameter was fixed" in fixed.messages[0] and np.isnan(fixed.se).all() and fixed.value.tolist() == [2.0] * 3
    with pytest.raises(TypeError, match="one number"):
        fits.estimate(lambda d: d.ppf([0.1, 0.9]))


def test_estimates_of_a_batch_by_the_bootstrap():
    x = np.random.default_rng(8).gamma(2.0, size=(3, 60))
    x[1] = math.nan
    fits = fit_many(x, "gamma")
    found = fits.estimate(lambda d: d.mean(), "bootstrap", count=199, rng=1)
    assert np.isnan(found.se).tolist() == [False, True, False] and found.messages[1] == fits.messages[1]
    delta = fits.estimate(lambda d: d.mean())
    np.testing.assert_allclose(found.se[[0, 2]], delta.se[[0, 2]], rtol=0.25)
    again = fit_many(x[:1], "gamma").estimate(lambda d: d.mean(), "bootstrap", count=199, rng=1)
    assert again.se[0] == found.se[0]  # whatever the others are


def test_estimates_of_stable_fits():
    x = ns.stable.rvs(1.7, 0.0, loc=2.0, size=(3, 400), rng=1)
    fits = ns.stable.fit_many([*x, np.ones(9)])
    found = fits.estimate(lambda d: d.loc)
    np.testing.assert_allclose(found.se[:3], fits.se[:3, 2], rtol=1e-9)
    assert math.isnan(found.value[3]) and found.messages[3] == fits.message[3] and found.status.tolist() == [0, 0, 0, 1]
    known = ns.stable.fit_many(x, fixed={"alpha": 1.7, "beta": 0.0}).estimate(lambda d: d.scale)
    assert (known.messages == "ok").all() and (known.se > 0.0).all()
    with pytest.raises(ValueError, match="bootstrap"):
        fits.estimate(lambda d: d.loc, "bootstrap")


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


def test_parameters_of_batches_by_name():
    x = np.random.default_rng(1).gamma(2.0, 3.0, (3, 200))
    fits = ns.distributions.fit_many(x, "gamma")
    for name in ("shape", "scale"):
        found, by_function = (fits.estimate(one, level=0.9) for one in (name, operator.attrgetter(name)))
        np.testing.assert_allclose(found.lower, fits.summary(0.9)[f"lower_{name}"], rtol=1e-13)
        np.testing.assert_allclose(found.upper, by_function.upper, rtol=1e-6)
        assert found.messages.tolist() == ["ok"] * 3 and "lower 90 %" in repr(found)
        one = fits.at(1).estimate(name, level=0.9)
        assert found.at(1).upper == pytest.approx(one.upper, rel=1e-13)
    with pytest.raises(TypeError, match="pass 'shape' or 'scale'"):
        fits.estimate("loc")
    held = ns.distributions.fit_many(x, "weibull", fixed={"shape": 2.0}).estimate("shape")
    assert np.isnan(held.lower).all() and "was fixed" in held.messages[0]


def test_profile_by_name_against_fits_with_the_parameter_fixed():
    x = ns.distributions.GEV(0.1, loc=5.0, scale=2.0).rvs(150, rng=2)
    found = fit(x, "gev")
    answer = found.estimate("shape", "profile", x=x)
    for end in (answer.lower, answer.upper):
        held = fit(x, "gev", fixed={"shape": end})
        assert 2.0 * (found.loglik - held.loglik) == pytest.approx(Z * Z, rel=1e-3)


def test_bootstrap_of_a_parameter_without_an_upper_end():
    """Samples that end at the exponential limit have an infinite shape there, which is an end."""
    x = ns.distributions.Exponential(scale=2.0).rvs(300, rng=1)
    found = fit(x, "lomax")
    assert found.limit == ""
    answer = found.estimate("shape", "bootstrap", count=99, rng=1)
    assert np.isinf(answer.samples).mean() > 0.1 and answer.upper == math.inf and 1.0 < answer.lower < answer.value


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
    profile = wet.estimate("zeros", "profile", x=np.r_[values, np.zeros(50)])
    assert profile.value == wet.zeros
    assert profile.lower == pytest.approx(share.lower, abs=0.01) and profile.upper == pytest.approx(share.upper, abs=0.01)


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
        pytest.raises(
            ValueError, match="no test of a fit that did not converge: .* values are not above 0, the support of gamma"
        ),
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
    assert "gamma: 1 of 51 values is not above 0, the support of gamma: 0 at index 50" in repr(table) and math.isnan(
        table.ad["gamma"]
    )
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


def test_comparisons_by_series():
    rng = np.random.default_rng(9)
    x = {"n": rng.normal(50.0, 12.0, 300), "l": rng.lognormal(1.0, 0.8, 200), "one": np.ones(9), "few": rng.normal(0.0, 1.0, 80)}
    names = ["normal", "gamma", "lognormal"]
    found = compare_many(x, names, criterion="aic")
    table = found.by_series()
    assert list(table) == ["key", "best", "aic", "bic", "next", "difference", "status", "n_values", "converged"]
    assert found.keys == tuple(x) and table["key"].tolist() == list(x) and table["best"].tolist() == found.best.tolist()
    for i, (key, values) in enumerate(x.items()):
        if key == "one":
            assert table["best"][i] == table["next"][i] == "" and table["status"][i] == 5 and table["converged"][i] == 0
            assert np.isnan([table[name][i] for name in ("aic", "bic", "difference")]).all()
            continue
        one = [f for f in compare(values, names, criterion="aic").fits.values() if f.converged]
        assert table["best"][i] == one[0].family and table["converged"][i] == len(one) and table["n_values"][i] == values.size
        assert table["aic"][i] == pytest.approx(one[0].aic) and table["bic"][i] == pytest.approx(one[0].bic)
        if len(one) > 1:
            assert table["next"][i] == one[1].family and table["difference"][i] == pytest.approx(one[1].aic - one[0].aic)
    assert table["next"][3] == "" and math.isnan(table["difference"][3])  # negative values are normal alone
    alone = compare_many(np.stack([x["n"], x["n"]]), ["normal"]).by_series()
    assert "key" not in alone and alone["next"].tolist() == ["", ""] and np.isnan(alone["difference"]).all()
    light = compare_many(rng.standard_normal((4, 60)), ["student_t", "normal"])  # at its limit, which is compared, too
    at_limit = light.fits["student_t"].limit == "normal"
    assert at_limit.any() and (light.by_series()["best"][at_limit] == "normal").all()
    assert (light.by_series()["next"][at_limit] == "").all()


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
    with pytest.raises(ValueError, match=r"one series is one-dimensional: compare_many"):
        compare(np.ones((3, 40)))


def test_labels_are_read():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    x, found = gamma()
    for kind in (pandas.Series, lambda v: xarray.DataArray(v, dims="time")):
        assert compare(kind(x), ["gamma"]).best.params == found.params
        assert goodness(kind(x), "gamma", count=19, rng=1).statistic == goodness(x, "gamma", count=19, rng=1).statistic
        assert found.estimate(lambda d: d.mean(), "profile", x=kind(x)).message == "ok"
    assert isinstance(found.distribution, Gamma) and isinstance(normal()[1].distribution, Normal)


def test_goodness_of_many_series():
    rng = np.random.default_rng(10)
    sets = {"b": rng.gamma(2.0, size=100), "a": rng.lognormal(0.0, 1.5, 150), "none": np.full(5, np.nan)}
    tests = goodness_many(sets, "gamma", count=199, rng=1)
    assert tests.keys == tuple(sets) and len(tests) == 3 and tests.statistic.shape == tests.pvalue.shape == (3,)
    for key in ("b", "a"):
        one = goodness(sets[key], "gamma", count=199, rng=2)
        assert tests[key].statistic == one.statistic and tests[key].pvalue == pytest.approx(one.pvalue, abs=0.12)
        assert tests[key].fit.params == one.fit.params and tests[key].simulated.shape == (199,)
    assert tests["a"].pvalue == 0.005 < 0.05 < tests["b"].pvalue
    assert math.isnan(tests["none"].pvalue) and tests.messages.tolist() == ["ok", "ok", tests.fits.messages[2]]
    table = tests.summary()
    assert list(table) == ["key", "statistic", "pvalue", "failed", "n_values", "status", "message"]
    assert table["n_values"].tolist() == [100, 150, 0] and "3 series, 199 simulated" in repr(tests)
    again = goodness_many([sets["b"], sets["b"]], "gamma", count=199, rng=1)
    assert again.pvalue[0] == tests.pvalue[0]  # whatever the others are
    grid = goodness_many(rng.poisson(3.0, (40, 2, 2)), "poisson", "ks", axis=0, count=19, rng=1)
    assert grid.pvalue.shape == (2, 2) and grid.simulated.shape == (2, 2, 19) and grid[1, 0].statistic == grid.statistic[1, 0]


def test_goodness_says_where_many_series_go():
    x = np.random.default_rng(11).gamma(2.0, size=(3, 50))
    for many in (x, list(x), {"a": x[0]}, [x[0], x[1][:9]]):
        with pytest.raises(ValueError, match="goodness takes one series, goodness_many is for many"):
            goodness(many, "gamma")
    with pytest.raises(TypeError, match=r"fits, which do not keep the values: .*goodness_many\(data, family\)"):
        goodness(fit_many(x, "gamma"), "gamma")


def test_estimates_next_to_the_end_of_a_moment():
    """The usual steps of derivatives cross shape 1, where the mean ends; the likelihood of such parameters is not small."""
    found = fit(ns.distributions.GPD(0.8).rvs(60, rng=428), "gpd")
    assert 0.979 < found.params["shape"] < 0.98
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_delta = found.estimate(lambda d: d.mean())
        by_profile = found.estimate(lambda d: d.mean(), "profile", x=ns.distributions.GPD(0.8).rvs(60, rng=428))
        by_draws = found.estimate(lambda d: d.mean(), "bootstrap", count=199, rng=1)
    shape, scale = found.params["shape"], found.params["scale"]
    slope = np.array([scale / (1.0 - shape) ** 2, 1.0 / (1.0 - shape)])
    covariance = found.covariance[np.ix_((0, 2), (0, 2))]
    assert by_delta.se == pytest.approx(math.sqrt(slope @ covariance @ slope), rel=1e-3)
    assert by_profile.upper == by_draws.upper == math.inf and 0.0 < by_draws.lower < found.distribution.mean()
    x = ns.distributions.GPD(0.8).rvs(60, rng=428)

    def lowest(shape):  # profile of the mean: scale = mean (1 - shape)
        return max(st.genpareto.logpdf(x, s, 0.0, shape * (1.0 - s)).sum() for s in np.linspace(0.01, 0.95, 400))

    assert found.loglik - lowest(by_profile.lower) == pytest.approx(0.5 * 1.959964**2, rel=1e-3)
    assert "is infinite in 75 of 199 samples" in by_draws.message


def test_large_counts_are_compared_without_all_smaller_ones():
    rng = np.random.default_rng(5)
    incomes = rng.integers(10**9, 10**12, 50)
    found = compare(incomes)
    assert found.best.family in ("geometric", "negative_binomial") and np.isnan([*found.ad.values()]).all()
    model, x = found.best.distribution, np.sort(incomes)
    steps = np.arange(1, 51) / 50
    away = max(np.abs(steps - model.cdf(x)).max(), np.abs(steps - 0.02 - model.cdf(x - 1)).max())
    assert found.ks[found.best.family] == pytest.approx(away, rel=1e-12)
    with pytest.raises(ValueError, match="statistic='ks'"):
        goodness(incomes, "geometric")
    assert goodness(incomes, "geometric", "ks", count=19, rng=1).pvalue <= 1.0
    small = np.sort(rng.poisson(5.0, (3, 40)), axis=1).astype(float)
    few = small + np.where(np.arange(40) == 39, 2e6, 0.0)  # beyond the limit
    d = ns.distributions.Poisson(5.0)
    want = [distance_of_counts("ks", row, d.pmf, d.cdf, d.sf) for row in small]
    np.testing.assert_allclose(distance_of_counts("ks", few, d.pmf, d.cdf, d.sf), want, atol=0.026)


def test_tests_and_comparisons_count_missing_values():
    x = np.random.default_rng(3).gamma(2.0, 3.0, 60)
    x[[4, 9]] = np.nan
    one, many = goodness(x, "gamma", count=19, rng=1), goodness_many({"a": x, "b": x[10:]}, "gamma", count=19, rng=1)
    assert one.n_missing == 2 and ", 2 missing, 19 simulated" in repr(one)
    assert many.n_missing.tolist() == [2, 0] and ", 2 missing\n" in repr(many) and many["a"].n_missing == 2
    assert compare(x, ["gamma", "normal"]).n_missing == 2
    found = compare_many({"a": x, "b": x[10:]}, ["gamma", "normal"])
    assert found.n_missing.tolist() == [2, 0] and "2 missing" in repr(found)


def test_comparisons_are_batches_of_comparisons():
    rng = np.random.default_rng(9)
    x = {"n": rng.normal(50.0, 12.0, 300), "l": rng.lognormal(1.0, 0.8, 200), "few": rng.normal(0.0, 1.0, 80)}
    names = ["normal", "gamma", "lognormal"]
    found = compare_many(x, names)
    assert len(found) == 3 and [key for key, _one in found.items()] == list(x) and len(list(found)) == 3
    for i, (key, values) in enumerate(x.items()):
        one, alone = found[key], compare(values, names)
        assert list(one.fits) == list(alone.fits) and found.at(i).best.family == alone.best.family == found.best[i]
        assert one.best.loglik == pytest.approx(alone.best.loglik, rel=1e-12) and math.isnan(one.ks["normal"])
    with pytest.raises(KeyError, match="did you mean 'few'"):
        found["fewer"]
    grid = compare_many(rng.normal(size=(2, 3, 40)), ["normal", "laplace"])
    assert len(grid) == 6 and grid[1, 2].best.family == grid.best[1, 2]


def test_comparisons_of_a_polars_frame_are_one():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"g": ["a"] * 40 + ["b"] * 40, "x": np.random.default_rng(1).normal(5.0, 1.0, 80)})
    found = compare_many(frame, ["normal", "gamma"], by="g")
    assert isinstance(found.to_frame(), polars.DataFrame) and isinstance(found.by_series().to_frame(), polars.DataFrame)
