"""Thresholds and return levels: published values, SciPy's distributions, and profiles by root finding over its optimisers."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import numbastats as ns
from numbastats.distributions.composition import Tail

D = ns.distributions

# Annual maxima of the sea level at Port Pirie, 1923 to 1987, in metres: S. Coles (2001), example 1.1
SEA = """
4.03 3.83 3.65 3.88 4.01 4.08 4.18 3.80 4.36 3.96 3.98 4.69 3.85 3.96 3.85 3.93 3.75 3.63 3.57 4.25 3.97 4.05 4.24 4.22 3.73 4.37
4.06 3.71 3.96 4.06 4.55 3.79 3.89 4.11 3.85 3.86 3.86 4.21 4.01 4.11 4.24 3.96 4.21 3.74 3.85 3.88 3.66 4.11 3.71 4.18 3.90 3.78
3.91 3.72 4.00 3.66 3.62 4.33 4.55 3.75 4.08 3.90 3.88 3.94 4.33"""
SEA = np.array(SEA.split(), float)
# Danish fire losses above ten million kroner, 109 of 2167: A. McNeil, ASTIN Bulletin 27 (1997)
FIRES = """
11.37 26.21 14.12 11.71 12.47 17.57 13.62 21.96 263.25 19.07 19.47 34.14 20.97 12.90 56.23 10.22 14.68 50.07 10.18 10.82
24.97 11.89 20.05 65.71 27.26 15.93 22.26 10.01 10.07 12.63 13.35 11.43 11.12 11.62 14.29 13.62 18.65 15.81 19.16 18.85
22.14 16.30 46.50 10.50 12.22 14.24 57.41 14.30 13.50 10.70 19.40 12.05 16.44 29.03 12.54 18.32 10.27 17.07 17.74 23.28
11.13 12.52 32.47 29.04 18.55 16.88 27.83 12.06 11.60 16.42 18.42 38.15 27.34 11.80 25.29 10.20 20.45 47.02 24.58 15.88
25.95 10.83 31.06 24.56 42.09 14.39 20.86 14.39 10.14 12.80 16.09 152.41 14.01 12.70 11.69 32.39 10.58 18.63 11.00 12.38
15.28 10.18 13.20 20.83 14.85 144.66 28.63 19.27 17.74"""
FIRES = np.concatenate([np.array(FIRES.split(), float), np.full(2167 - 109, 1.0)])
RAIN = scipy.stats.genpareto.rvs(0.15, scale=6.0, size=4000, random_state=np.random.default_rng(5))
RAIN[::10] = 0.0


# --- thresholds ----------------------------------------------------------------------------------------------------------


def test_a_threshold_fits_the_values_above_it():
    u, above = 12.0, RAIN[RAIN > 12.0]
    found = D.fit(RAIN, "gpd", threshold=u)
    plain = D.fit(above - u, "gpd")
    for name in ("shape", "scale"):
        assert found.params[name] == plain.params[name] and found.se[name] == plain.se[name]
    assert found.params["loc"] == u and found.se["loc"] == 0.0 and found.loglik == plain.loglik and found.bic == plain.bic
    assert found.tail == (u, above.size / RAIN.size) and found.n_below == RAIN.size - above.size
    assert found.n_values == found.n_obs == above.size and found.n_missing == 0
    assert f"{above.size} values above the threshold 12, {RAIN.size - above.size} below" in repr(found)
    table = found.summary()
    share = above.size / RAIN.size
    assert table["parameter"][-1] == "share" and table["estimate"][-1] == share
    assert table["se"][-1] == pytest.approx(math.sqrt(share * (1.0 - share) / RAIN.size), rel=1e-14)
    np.testing.assert_array_equal(found.distribution.support()[0], u)
    assert plain.tail is None and plain.n_below == 0 and plain.whole == plain.distribution


def test_missing_values_and_weights():
    x = np.r_[RAIN[:400], [np.nan] * 3]
    found = D.fit(x, "gpd", threshold=8.0)
    assert found.n_missing == 3 and found.n_below + found.n_values == 400
    assert found.tail == D.fit(RAIN[:400], "gpd", threshold=8.0).tail
    twice = D.fit(RAIN[:400], "gpd", threshold=8.0, weights=np.full(400, 2.0))
    assert twice.tail == found.tail and twice.params["scale"] == pytest.approx(found.params["scale"], rel=1e-10)
    assert twice.estimate("share").se == pytest.approx(found.estimate("share").se / math.sqrt(2.0), rel=1e-12)


def test_values_of_weight_0_are_not_missing():
    w = np.ones(400)
    w[:100] = 0.0
    x = np.r_[RAIN[:400], np.nan]
    found = D.fit(x, "gpd", threshold=8.0, weights=np.r_[w, 1.0])
    assert found.n_missing == 1 and found.n_below + found.n_values == 300 and "1 missing" in repr(found)


def test_profiles_of_levels_take_weights_and_events():
    """As `estimate` has them, whose likelihood is that of the data."""
    w = np.random.default_rng(2).integers(1, 4, 400).astype(float)
    for x, family, more, given in (
        (RAIN[:400], "gpd", {"threshold": 8.0}, {"weights": w}),
        (np.minimum(RAIN[:400] + 0.1, 12.0), "weibull", {}, {"event": RAIN[:400] + 0.1 < 12.0}),
    ):
        found = D.fit(x, family, **more, **given)
        level = found.return_level(100.0, 1.0, "profile", x=x, **given)
        want = found.estimate(lambda d: d.isf(0.01), "profile", x=x, whole=True, **given)
        assert (level.lower, level.upper) == pytest.approx((want.lower, want.upper), rel=1e-9)
        with pytest.raises(ValueError, match="not the data of this fit"):
            found.return_level(100.0, 1.0, "profile", x=x)
        assert found.return_level([100.0], 1.0, "profile", x=x, **given).upper[0] == pytest.approx(want.upper, rel=1e-6)
    with pytest.raises(TypeError, match="go with the data of the fit"):
        found.return_level(100.0, weights=w)
    drawn = found.return_level([100.0], 1.0, "bootstrap", x=x, **given, count=19, rng=1)
    assert drawn.lower[0] <= drawn.value[0] <= drawn.upper[0]
    share = D.fit(RAIN[:400], "gpd", threshold=8.0).estimate("share", "profile", x=RAIN[:400])
    assert share.lower < share.value < share.upper


def test_danish_fires():
    """Shape 0.50 (0.14), scale 7.0 (1.1), VaR 27.3, ES 58.2: McNeil, Frey, Embrechts (2005), example 7.23."""
    found = D.fit(FIRES, "gpd", threshold=10.0)
    assert round(found.params["shape"], 2) == 0.50 and round(found.se["shape"], 2) == 0.14
    assert round(found.params["scale"], 1) == 7.0 and round(found.se["scale"], 1) == 1.1
    functions = {lambda d, p: d.isf(p): (27.3, 23.3, 33.1), lambda d, p: d.expected_shortfall(p, upper=True): (58.2, 41.6, 154.7)}
    for function, published in functions.items():
        given = found.estimate(lambda d, f=function: f(d.distribution, 0.01 / found.tail.share), "profile", x=FIRES)
        np.testing.assert_allclose((given.value, given.lower, given.upper), published, rtol=0.015)  # read from a curve
        whole = found.estimate(lambda d, f=function: f(d, 0.01), "profile", x=FIRES)
        assert whole.value == pytest.approx(given.value, rel=1e-10)
        assert whole.lower < given.lower and given.upper < whole.upper  # with the error of the share, which they took for known


def test_the_whole_is_that_of_scipy_above_the_threshold():
    share, peer = 0.07, scipy.stats.genpareto(0.2, loc=30.0, scale=7.0)
    d, x = Tail(D.GPD(0.2, 30.0, 7.0), share), np.array([30.0, 31.5, 50.0, 400.0])
    np.testing.assert_allclose(d.sf(x), share * peer.sf(x), rtol=1e-13)
    np.testing.assert_allclose(d.logsf(x), math.log(share) + peer.logsf(x), rtol=1e-13)
    np.testing.assert_allclose(d.cdf(x), 1.0 - share * peer.sf(x), rtol=1e-14)
    np.testing.assert_allclose(d.logcdf(x), np.log1p(-share * peer.sf(x)), rtol=1e-13)
    np.testing.assert_allclose(d.pdf(x), share * peer.pdf(x), rtol=1e-13)
    np.testing.assert_allclose(d.logpdf(x), math.log(share) + peer.logpdf(x), rtol=1e-13)
    p = np.array([1e-9, 0.01, 0.0699])
    np.testing.assert_allclose(d.isf(p), peer.isf(p / share), rtol=1e-13)
    np.testing.assert_allclose(d.ppf(1.0 - p[1:]), peer.isf(p[1:] / share), rtol=1e-12)
    for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf"):
        assert np.isnan(getattr(d, name)([29.9, np.nan])).all(), name
    assert np.isnan(d.isf([0.0701, 1.0, -0.1, np.nan])).all() and np.isnan(d.ppf(0.9))
    assert d.support() == (30.0, math.inf) and d.ppf(1.0) == math.inf
    beyond = scipy.integrate.quad(lambda q: float(peer.isf(q / share)), 0.0, 0.01, epsabs=0.0, epsrel=1e-10)[0] / 0.01
    assert d.expected_shortfall(0.01, upper=True) == pytest.approx(beyond, rel=1e-8)
    assert np.isnan(d.expected_shortfall(0.08, upper=True))
    many = Tail(D.GPD([0.1, 0.2], 30.0, 7.0), [0.05, 0.07])
    assert many.sf(40.0)[1] == d.sf(40.0) and many.isf([[0.01], [0.02]]).shape == (2, 2)
    assert many.expected_shortfall(0.01, upper=True)[1] == d.expected_shortfall(0.01, upper=True)
    assert repr(d) == "Tail(GPD(shape=0.2, loc=30.0, scale=7.0), share=0.07)"


@pytest.mark.parametrize("call", ["mean", "var", "std", "entropy", "skewness", "rvs", "expect"])
def test_what_needs_the_values_below_is_refused(call):
    d = Tail(D.GPD(0.2, 30.0, 7.0), 0.1)
    with pytest.raises(TypeError, match=r"needs all values.*d\.distribution\."):
        getattr(d, call)()
    with pytest.raises(TypeError, match="pass upper=True"):
        d.expected_shortfall(0.1)


def test_delta_has_the_error_of_the_share():
    found = D.fit(RAIN, "gpd", threshold=12.0)
    shape, scale, share, p = found.params["shape"], found.params["scale"], found.tail.share, 0.001

    def level(v):
        return 12.0 + v[1] / v[0] * ((p / v[2]) ** -v[0] - 1.0)

    slope = scipy.optimize.approx_fprime([shape, scale, share], level, 1e-7 * np.array([shape, scale, share]))
    covariance = np.zeros((3, 3))
    covariance[:2, :2] = found.covariance[np.ix_([0, 2], [0, 2])]
    covariance[2, 2] = share * (1.0 - share) / RAIN.size
    e = found.estimate(lambda d: d.isf(p))
    assert e.value == pytest.approx(level([shape, scale, share]), rel=1e-12)
    assert e.se == pytest.approx(math.sqrt(slope @ covariance @ slope), rel=1e-4)
    probability = found.estimate(lambda d: d.sf(12.0))
    assert probability.value == share and probability.se == pytest.approx(math.sqrt(covariance[2, 2]), rel=1e-6)


def test_all_values_above_have_no_error_of_the_share():
    found, plain = D.fit(RAIN + 1.0, "gpd", threshold=0.5), D.fit(RAIN + 0.5, "gpd")
    assert found.tail.share == 1.0 and found.n_below == 0
    for method in ("delta", "profile"):
        a = found.estimate(lambda d: d.isf(0.01), method, x=RAIN + 1.0)
        b = plain.estimate(lambda d: d.isf(0.01) + 0.5, method, x=RAIN + 0.5)
        assert (a.value, a.lower, a.upper) == pytest.approx((b.value, b.lower, b.upper), rel=1e-6)


def test_bootstrap_draws_the_number_of_values_above():
    x = RAIN[:1000]
    found = D.fit(x, "gpd", threshold=12.0)
    e = found.estimate(lambda d: d.sf(12.0), "bootstrap", count=400, rng=1)
    assert np.unique(np.rint(e.samples * 1000.0)).size > 20
    assert e.se == pytest.approx(found.estimate("share").se, rel=0.15)
    level = found.estimate(lambda d: d.isf(0.005), "bootstrap", count=400, rng=1)
    assert level.se == pytest.approx(found.estimate(lambda d: d.isf(0.005)).se, rel=0.2)


def test_thresholds_of_many_series():
    x = np.stack([RAIN[:1500], 2.0 * RAIN[1500:3000]])
    fits = D.fit_many(x, "gpd", threshold=[10.0, 24.0])
    for i, u in enumerate((10.0, 24.0)):
        one, got = D.fit(x[i], "gpd", threshold=u), fits.at(i)
        assert got.params == one.params and got.tail == one.tail and got.n_below == one.n_below and repr(got) == repr(one)
    np.testing.assert_array_equal(fits["loc"], [10.0, 24.0])
    frame = fits.summary()
    for name, want in (("threshold", [10.0, 24.0]), ("share", fits.tail.share), ("n_below", fits.n_below)):
        np.testing.assert_array_equal(frame[name], want)
    assert "values above the thresholds" in repr(fits)
    np.testing.assert_array_equal(fits.whole.sf(30.0), [fits.at(i).whole.sf(30.0) for i in range(2)])
    risk = fits.estimate(lambda d: d.isf(0.001))
    for i in range(2):
        one = fits.at(i).estimate(lambda d: d.isf(0.001))
        assert (risk.value[i], risk.se[i]) == pytest.approx((one.value, one.se), rel=1e-9)
    by_key = D.fit_many({"a": x[0], "b": x[1]}, "gpd", threshold={"b": 24.0, "a": 10.0})
    np.testing.assert_array_equal(by_key.params, fits.params)
    np.testing.assert_array_equal(D.fit_many(x.T, "gpd", axis=0, threshold=[10.0, 24.0]).params, fits.params)
    with pytest.raises(ValueError, match=r"threshold has shape \(3,\), and the batch of series \(2,\)"):
        D.fit_many(x, "gpd", threshold=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="threshold have keys that differ"):
        D.fit_many({"a": x[0], "b": x[1]}, "gpd", threshold={"b": 24.0, "c": 10.0})
    with pytest.raises(TypeError, match="threshold is a dict, but the series have no keys"):
        D.fit_many(x, "gpd", threshold={"b": 24.0, "a": 10.0})


def test_thresholds_with_labels():
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    x = np.stack([RAIN[:1000], 2.0 * RAIN[1000:2000]])
    field = xarray.DataArray(x, dims=("place", "day"), coords={"place": ["a", "b"]})
    fits = D.fit_many(field, "gpd", dim="day", threshold=field.quantile(0.9, "day"))
    np.testing.assert_array_equal(fits.params, D.fit_many(x, "gpd", threshold=np.quantile(x, 0.9, axis=1)).params)
    assert fits["scale"].dims == ("place",) and fits.whole.sf(60.0).dims == ("place",)
    assert fits.return_level(10.0, 365.25).keys == ("a", "b")
    with pytest.raises(ValueError, match="different labels along the dimension"):
        D.fit_many(field, "gpd", dim="day", threshold=xarray.DataArray([1.0, 2.0], dims="place", coords={"place": ["b", "a"]}))
    frame = pandas.DataFrame({"g": ["b"] * 1000 + ["a"] * 1000, "x": x.ravel()})
    own = D.fit_many(frame, "gpd", by="g", threshold=frame.groupby("g")["x"].quantile(0.9).sort_index(ascending=False))
    np.testing.assert_array_equal(own.params, fits.params[::-1])
    assert list(own.return_level([1.0, 10.0], 365.25).to_frame().columns)[:2] == ["g", "period"]


def test_thresholds_of_fits_at_a_limit():
    """A Lomax distribution whose shape is infinite is an exponential one, located at the threshold."""
    x = np.r_[np.zeros(50), 5.0 + D.Exponential(scale=2.0).ppf((np.arange(40) + 0.5) / 40)]
    found = D.fit(x, "lomax", threshold=5.0)
    assert found.status == ns.Status.LIMIT and found.limit == "exponential"
    assert found.limit_params["loc"] == 5.0 and found.distribution == D.Exponential(5.0, found.limit_params["scale"])
    plain = D.fit(x, "exponential", threshold=5.0)
    a, b = (f.return_level([10.0, 100.0]) for f in (found, plain))
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    np.testing.assert_allclose(a.se, b.se, rtol=1e-6)


def test_moments_of_values_above():
    excess = RAIN[RAIN > 12.0] - 12.0
    found, plain = D.fit(RAIN, "gpd", threshold=12.0, method="lmoments"), D.fit(excess, "gpd", method="lmoments")
    assert found.params == plain.params | {"loc": 12.0} and found.tail.share == excess.size / RAIN.size


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (1e3, "none of 4000 values is above the threshold 1000; the largest is 154.78"),
        (
            float(np.sort(RAIN)[-2]),
            "1 of 4000 values is above the threshold 81.*, fewer than the 3 that are needed: pass a lower",
        ),
        (float(np.sort(RAIN)[-3]), "2 of 4000 values are above the threshold"),
    ],
)
def test_few_values_above(threshold, message):
    with pytest.warns(ns.ConvergenceWarning, match=message):
        found = D.fit(RAIN, "gpd", threshold=threshold)
    assert not found.converged and math.isnan(found.params["scale"]) and "share" in repr(found)
    with pytest.raises(ValueError, match=message):
        found.return_level(10.0)
    with pytest.warns(ns.ConvergenceWarning, match="1 of 2 fits"):  # and the other series is fitted
        fits = D.fit_many(np.stack([RAIN, 1e4 * RAIN]), "gpd", threshold=threshold)
    assert fits.converged.tolist() == [False, True] and message[:4] in fits.messages[0]
    levels = fits.return_level([10.0, 1000.0], 100.0)
    assert np.isnan(levels.value[0]).all() and np.isfinite(levels.se[1]).all() and message[:4] in levels.messages[0, 0]


def test_infinite_values_are_told_by_their_place():
    x = RAIN.copy()
    x[7] = math.inf
    with pytest.warns(ns.ConvergenceWarning, match="1 value is infinite, at index 7"):
        D.fit(x, "gpd", threshold=12.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: D.fit(RAIN, "gpd", threshold=math.nan), ValueError, "threshold is nan; it must be a finite number"),
        (lambda: D.fit(RAIN, "gpd", threshold=-math.inf), ValueError, "threshold is -inf"),
        (lambda: D.fit_many([RAIN, RAIN], "gpd", threshold=[1.0, math.nan]), ValueError, "threshold is nan of series 1"),
        (lambda: D.fit(RAIN, "gpd", threshold=[1.0, 2.0]), TypeError, r"threshold has shape \(2,\); it is one number here"),
        (lambda: D.fit(RAIN, "gpd", threshold="a"), TypeError, "text"),
        (lambda: D.fit(RAIN, "normal", threshold=1.0), ValueError, r"to fit normal .* pass truncated=\(u, None\)"),
        (lambda: D.fit(RAIN, "gev", threshold=1.0), ValueError, "threshold= is for families that begin at loc"),
        (lambda: D.fit(RAIN, "poisson", threshold=1.0), ValueError, "threshold= is for families that begin at loc"),
        (lambda: D.fit(RAIN, "gpd", threshold=1.0, fixed={"loc": 0.0}), ValueError, "leave loc out of fixed="),
        (lambda: D.fit(RAIN, "gpd", threshold=1.0, zeros="share"), ValueError, "threshold= takes exact values in memory"),
        (lambda: D.fit(RAIN, "gpd", threshold=1.0, truncated=(0, 9)), ValueError, "leave out censored=, event=, entry="),
        (lambda: D.fit(RAIN, "gpd", threshold=1.0, event=RAIN > 1.0), ValueError, "leave out censored=, event=, entry="),
    ],
)
def test_thresholds_that_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_fixed_parameters_beside_a_threshold():
    found = D.fit(RAIN, "gpd", threshold=12.0, fixed={"shape": 0.0})
    assert found.params["shape"] == 0.0 and found.params["scale"] == pytest.approx(np.mean(RAIN[RAIN > 12.0]) - 12.0, rel=1e-8)
    assert found.return_level(10.0, 100.0).se > 0.0


def test_data_of_another_threshold_have_no_profile():
    found = D.fit(RAIN, "gpd", threshold=12.0)
    with pytest.raises(ValueError, match="x are not the data of this fit"):
        found.estimate(lambda d: d.isf(0.001), "profile", x=RAIN[RAIN > 12.0])


# --- return levels -------------------------------------------------------------------------------------------------------


def test_levels_of_port_pirie():
    """4.30 (4.19 to 4.41) and 4.69 (4.38 to 5.00), by the profile 4.50 to 5.27: Coles (2001), section 3.4.1."""
    found = D.fit(SEA, "gev")
    levels = found.return_level([10.0, 100.0])
    np.testing.assert_allclose(levels.value, [4.30, 4.69], atol=0.005)
    np.testing.assert_allclose(levels.lower, [4.19, 4.38], atol=0.006)
    np.testing.assert_allclose(levels.upper, [4.41, 5.00], atol=0.006)
    profile = found.return_level(100.0, method="profile", x=SEA)
    assert profile.lower == pytest.approx(4.50, abs=0.01) and profile.upper == pytest.approx(5.27, abs=0.01)
    assert profile.value == levels.value[1] == found.distribution.isf(0.01)


def test_level_of_daily_rainfall():
    """106.3 with the variance 431.3, from the published estimates and covariances: Coles (2001), section 4.4.1."""
    found = D.fit(RAIN, "gpd", threshold=12.0)
    covariance = np.array([[0.0102, 0.0, -0.0655], [0.0, 0.0, 0.0], [-0.0655, 0.0, 0.9188]])
    coles = dataclasses.replace(
        found,
        params={"shape": 0.184, "loc": 30.0, "scale": 7.44},
        se={"shape": 0.101, "loc": 0.0, "scale": 0.959},
        covariance=covariance,
        tail=type(found.tail)(30.0, 152 / 17531),
        n_obs=152.0,
    )
    level = coles.return_level(100.0, per=365.0)
    assert level.value == pytest.approx(106.3, abs=0.11) and level.se**2 == pytest.approx(431.3, rel=0.01)  # of rounded numbers


def crossing(nll, best, start, far):
    """Where a profile of the log-likelihood is half the quantile of chi-square below its maximum, by root finding."""
    half = 0.5 * scipy.stats.chi2.ppf(0.95, 1)
    return scipy.optimize.brentq(lambda z: nll(z) - best - half, start, far, xtol=1e-10, rtol=1e-12)


@pytest.mark.parametrize("years", [10.0, 100.0])
def test_profile_of_block_maxima_by_scipy(years):
    found, y = D.fit(SEA, "gev"), -math.log1p(-1.0 / years)

    def nll(z):
        def of(v):
            loc = z - math.exp(v[1]) * (y ** -v[0] - 1.0) / v[0]
            value = -scipy.stats.genextreme.logpdf(SEA, -v[0], loc, math.exp(v[1])).sum()
            return value if np.isfinite(value) else 1e10

        start = [found.params["shape"], math.log(found.params["scale"])]
        return scipy.optimize.minimize(of, start, method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-12, maxiter=4000)).fun

    got = found.return_level(years, method="profile", x=SEA)
    assert got.lower == pytest.approx(crossing(nll, -found.loglik, got.value, 0.95 * got.value), rel=1e-5)
    assert got.upper == pytest.approx(crossing(nll, -found.loglik, got.value, 1.5 * got.value), rel=1e-5)


@pytest.mark.parametrize("seed", [9, 12])
def test_profile_where_the_support_ends_next_to_the_values(seed):
    """Parameters of likelihood 0 are next to the maximum."""
    x = scipy.stats.genextreme(0.15, 30.0, 5.0).rvs(50, random_state=seed)
    found, y = D.fit(x, "gev"), -math.log1p(-0.01)

    def nll(z):
        def of(v):
            loc = z - math.exp(v[1]) * (y ** -v[0] - 1.0) / v[0]
            value = -scipy.stats.genextreme.logpdf(x, -v[0], loc, math.exp(v[1])).sum()
            return value if np.isfinite(value) else 1e10

        start = [found.params["shape"], math.log(found.params["scale"])]
        return scipy.optimize.minimize(of, start, method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-12, maxiter=4000)).fun

    got = found.return_level(100.0, method="profile", x=x)
    assert got.message == "ok"
    assert got.lower == pytest.approx(crossing(nll, -found.loglik, got.value, 0.9 * got.value), rel=1e-5)
    values = scipy.stats.genpareto(0.2, scale=3.0).rvs(800, random_state=4)[:300]
    above = D.fit(values, "gpd", threshold=6.0)
    assert above.return_level(10.0, 100.0, "profile", x=values).lower == pytest.approx(20.692, abs=1e-3)
    alone = D.fit(values[values > 6.0] - 6.0, "gpd", fixed={"loc": 0.0})
    level = alone.estimate(lambda d: d.isf(0.005), "profile", x=values[values > 6.0] - 6.0)
    assert level.message == "ok" and level.lower < level.value < level.upper


def test_profile_that_needs_another_start():
    """The first climb stands still next to the end of a support, short of the likelihood that is looked for."""
    x = scipy.stats.genextreme(0.3, 30.0, 5.0).rvs(40, random_state=1)
    found, y = D.fit(x, "gev"), -math.log1p(-0.001)
    got = found.return_level(1000.0, method="profile", x=x)

    def of(v):
        loc = got.lower - math.exp(v[1]) * (y ** -v[0] - 1.0) / v[0]
        value = -scipy.stats.genextreme.logpdf(x, -v[0], loc, math.exp(v[1])).sum()
        return value if np.isfinite(value) else 1e10

    start = [found.params["shape"], math.log(found.params["scale"])]
    fall = scipy.optimize.minimize(of, start, method="Nelder-Mead", options=dict(maxiter=4000)).fun + found.loglik
    assert got.message == "ok" and fall == pytest.approx(0.5 * scipy.stats.chi2.ppf(0.95, 1), rel=5e-3)


def test_bootstrap_of_levels_by_l_moments():
    found = D.fit(RAIN, "gpd", threshold=12.0, method="lmoments")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)  # supports that leave out values of a sample
        drawn = found.return_level(10.0, 365.0, "bootstrap", rng=1)
    peer = D.fit(RAIN, "gpd", threshold=12.0).return_level(10.0, 365.0)
    assert drawn.lower < drawn.value < drawn.upper and 0.3 * peer.se < drawn.se < 3.0 * peer.se


def test_profile_of_values_above_a_threshold_by_scipy():
    """Over shape and share; the scale follows from the level."""
    found, p = D.fit(RAIN, "gpd", threshold=12.0), 1.0 / (50.0 * 365.0)
    excess, below = RAIN[RAIN > 12.0] - 12.0, int((RAIN <= 12.0).sum())

    def nll(z):
        def of(v):
            share = 1.0 / (1.0 + math.exp(-v[1]))
            scale = (z - 12.0) * v[0] / ((p / share) ** -v[0] - 1.0)
            value = -scipy.stats.genpareto.logpdf(excess, v[0], 0.0, scale).sum()
            return value - excess.size * math.log(share) - below * math.log1p(-share) if np.isfinite(value) else 1e10

        start = [found.params["shape"], math.log(excess.size / below)]
        return scipy.optimize.minimize(of, start, method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-12, maxiter=4000)).fun

    got = found.return_level(50.0, 365.0, "profile", x=RAIN)
    best = nll(got.value)
    assert got.lower == pytest.approx(crossing(nll, best, got.value, 0.6 * got.value), rel=1e-5)
    assert got.upper == pytest.approx(crossing(nll, best, got.value, 2.5 * got.value), rel=1e-5)


@pytest.mark.parametrize("method", ["delta", "profile", "bootstrap"])
def test_levels_of_several_periods_are_those_of_each(method):
    found = D.fit(RAIN, "gpd", threshold=12.0)
    options = dict(x=RAIN) if method == "profile" else dict(count=99, rng=3)
    levels = found.return_level([1.0, 20.0], 365.0, method, **options)
    for i, years in enumerate((1.0, 20.0)):
        one = found.return_level(years, 365.0, method, **options)
        direct = found.estimate(lambda d, p=1.0 / (365.0 * years): d.isf(p), method, **options)
        for name in ("value", "se", "lower", "upper"):
            assert getattr(one, name) == pytest.approx(getattr(levels, name)[i], rel=1e-12, nan_ok=True)
            assert getattr(one, name) == pytest.approx(getattr(direct, name), rel=1e-12, nan_ok=True)
    assert levels.keys == (1.0, 20.0) and levels.one(20.0).value == levels.value[1]
    assert list(levels.to_frame("dict"))[:2] == ["period", "value"] and "period" in repr(levels)


def test_levels_of_a_batch():
    maxima = D.GEV(0.1, loc=40.0, scale=8.0).rvs((60, 2, 2), rng=1)
    fits = D.fit_many(maxima, "gev", axis=0)
    levels = fits.return_level([10.0, 100.0])
    assert levels.value.shape == levels.messages.shape == (2, 2, 2)
    for i in range(4):
        one = fits.at(i).return_level([10.0, 100.0])
        np.testing.assert_allclose(levels.value.reshape(4, 2)[i], one.value, rtol=1e-12)
        np.testing.assert_allclose(levels.se.reshape(4, 2)[i], one.se, rtol=1e-7)
    assert list(levels.to_frame("dict"))[:3] == ["series_0", "series_1", "period"]
    assert fits.return_level(10.0).value.shape == (2, 2) and fits.return_level([]).value.shape == (2, 2, 0)
    keyed = D.fit_many({"a": maxima[:, 0, 0], "b": maxima[:, 1, 1]}, "gev")
    found = keyed.return_level([10.0, 100.0], method="bootstrap", count=49, rng=2)
    assert found.one(("b", 100.0)).value == pytest.approx(levels.value[1, 1, 1], rel=1e-6)
    assert list(found.to_frame("dict"))[:2] == ["key", "period"] and (found.se > 0.0).all()
    np.testing.assert_array_equal(keyed.return_level(100.0, method="bootstrap", count=49, rng=2).se, found.se[:, 1])
    with pytest.raises(ValueError, match=r'fits.one\(key\).return_level\(..., "profile", x=data\)'):
        keyed.return_level(10.0, method="profile")


def test_levels_that_do_not_exist():
    found = D.fit(RAIN, "gpd", threshold=12.0)
    seldom = 1.0 / (365.0 * found.tail.share)
    with pytest.raises(ValueError, match="the level is below the threshold 12, which is exceeded every 0.0.* ask for longer"):
        found.return_level(0.5 * seldom, 365.0)
    for method, options in (("delta", {}), ("profile", dict(x=RAIN)), ("bootstrap", dict(count=49, rng=1))):
        levels = found.return_level([0.5 * seldom, 10.0], 365.0, method, **options)
        assert np.isnan(levels.value[0]) and np.isnan(levels.upper[0]) and levels.lower[1] < levels.value[1] < levels.upper[1]
        assert "below the threshold" in levels.messages[0] and levels.messages[1] == "ok"
    with pytest.warns(ns.ConvergenceWarning, match="the function does not exist at the lower end"):
        edge = found.return_level(1.01 * seldom, 365.0, "profile", x=RAIN)
    assert np.isnan(edge.lower) and "does not exist" in edge.message
    many = D.fit_many(np.stack([RAIN, RAIN]), "gpd", threshold=[12.0, 30.0])
    levels = many.return_level([2.0 * seldom], 365.0)
    assert np.isfinite(levels.value[0, 0]) and np.isnan(levels.value[1, 0]) and "below the threshold" in levels.messages[1, 0]


@pytest.mark.parametrize("period", [1.0, 0.5, 0.0, -3.0, math.nan, math.inf, [10.0, 1.0]])
def test_periods_not_longer_than_a_block(period):
    found = D.fit(SEA, "gev")
    with pytest.raises(
        ValueError, match=r"must be finite and longer than the time between two values, 1/per=1, as more than a year"
    ):
        found.return_level(period)
    with pytest.raises(ValueError, match="must be finite and longer"):
        D.fit_many([SEA, SEA], "gev").return_level(period)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.return_level([[2.0]]), ValueError, r"period has shape \(1, 1\)"),
        (lambda f: f.return_level(10.0, per=0.0), ValueError, "per=0.0 must be a number > 0"),
        (lambda f: f.return_level(10.0, per=math.nan), ValueError, "per=nan must be a number > 0"),
        (lambda f: f.return_level(10.0, per="day"), ValueError, "per='day' must be a number > 0"),
        (lambda f: f.return_level("ten"), TypeError, "period"),
        (lambda f: f.return_level(10.0, method="profile"), ValueError, "pass x="),
        (lambda f: f.return_level([10.0], method="profile"), ValueError, "pass x="),
        (lambda f: f.return_level([10.0], method="profile", x=SEA[1:]), ValueError, "x are not the data of this fit"),
        (lambda f: f.return_level(10.0, method="wald"), ValueError, "method='wald'"),
        (lambda f: f.return_level([10.0], level=95), ValueError, "use 0.95 for 95 %"),
        (lambda f: f.return_level(return_period=10.0), TypeError, "use period="),
    ],
)
def test_arguments_of_levels(call, error, message):
    with pytest.raises(error, match=message):
        call(D.fit(SEA, "gev"))


@pytest.mark.parametrize("method", ["delta", "profile"])
def test_zeros_set_apart_are_below_a_threshold_of_0(method):
    found, whole = D.fit(RAIN, "gpd", zeros="share"), D.fit(RAIN, "gpd", threshold=0.0)
    assert whole.params["scale"] == pytest.approx(found.params["scale"], rel=1e-10)
    assert whole.tail.share == pytest.approx(1.0 - found.zeros, rel=1e-12)
    a, b = (f.return_level([1.0, 10.0], 365.25, method, x=RAIN) for f in (found, whole))
    for name in ("value", "se", "lower", "upper"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-5)


def test_levels_of_censored_maxima_by_the_profile_are_an_estimate():
    found = D.fit(SEA, "gumbel", event=SEA < 4.4)
    assert found.return_level(50.0).se > 0.0
    level = found.return_level(50.0, method="profile", x=SEA, event=SEA < 4.4)
    want = found.estimate(lambda d: d.isf(1.0 / 50.0), "profile", x=SEA, event=SEA < 4.4)
    assert (level.lower, level.upper) == (want.lower, want.upper)
    for method, message in (("profile", "x are not the data of this fit"), ("bootstrap", "x are not the data of this fit")):
        with pytest.raises(ValueError, match=message):
            found.return_level(50.0, method=method, x=SEA)
    with pytest.raises(ValueError, match=r"fits.one\(key\).return_level\(period, per, 'bootstrap', x=, event="):
        D.fit_many([SEA], "gumbel", event=[SEA < 4.4]).return_level(50.0, method="bootstrap")


def test_a_gumbel_fit_has_its_closed_form():
    found = D.fit(SEA, "gumbel")
    y = -math.log(-math.log1p(-1.0 / 50.0))
    want = math.sqrt(np.array([1.0, y]) @ found.covariance @ np.array([1.0, y]))
    level = found.return_level(50.0)
    assert level.value == pytest.approx(found.params["loc"] + found.params["scale"] * y, rel=1e-12)
    assert level.se == pytest.approx(want, rel=1e-8)
