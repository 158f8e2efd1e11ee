"""Censored, truncated and zero-inflated data after the fit: comparisons, tests, estimates, and distributions with zeros."""

import math
import pickle

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats as st

import numbastats as ns
from numbastats import distributions as D
from numbastats._core.edf import distance, distance_of_count_steps, distance_of_counts, distance_of_steps
from tests.reference.make_coverage import censored_coverage
from tests.reference.make_uniform import pvalues

inf, nan = math.inf, math.nan
RELAPSE = [6, 6, 6, 7, 10, 13, 16, 22, 23]  # E. J. Freireich and others, Blood 21 (1963)
FOLLOWED = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
WEEKS, EVENT = np.array(RELAPSE + FOLLOWED, float), np.arange(21) < 9
STATISTICS = ("ad", "cvm", "ks")


# --- distributions with a probability at 0


@pytest.mark.parametrize("base", [D.Poisson(2.0), D.NegativeBinomial(3.0, 1.5), D.Binomial(6, 0.3)])
def test_counts_with_zeros(base):
    d, k = D.with_zeros(base, 0.3), np.arange(-1.0, 400.0)
    mass = 0.7 * base.pmf(k) + 0.3 * (k == 0.0)
    np.testing.assert_allclose(d.pmf(k), mass, rtol=1e-15)
    np.testing.assert_allclose(d.cdf(k), mass.cumsum(), rtol=1e-12)
    np.testing.assert_allclose(d.sf(k), 1.0 - mass.cumsum(), atol=1e-14)
    with np.errstate(divide="ignore"):
        for name in ("pmf", "cdf", "sf"):
            np.testing.assert_allclose(getattr(d, f"log{name}")(k[:40]), np.log(getattr(d, name)(k[:40])), rtol=1e-12, atol=1e-15)
    inside = k[(k >= 0.0) & (d.pmf(k) > 1e-14)]
    np.testing.assert_array_equal(d.ppf(d.cdf(inside)), inside)
    np.testing.assert_array_equal(d.isf(d.sf(inside)), inside)
    np.testing.assert_array_equal(d.ppf([0.0, 0.3, 1.0, 1.5, nan]), [0.0, 0.0, base.ppf(1.0), nan, nan])
    mean = (k * mass).sum()
    central = [((k - mean) ** p * mass).sum() for p in (2, 3, 4)]
    assert (d.mean(), d.var()) == pytest.approx((mean, central[0]), rel=1e-9)
    shape = central[1] / central[0] ** 1.5, central[2] / central[0] ** 2 - 3.0
    assert (d.skewness(), d.kurtosis()) == pytest.approx(shape, rel=1e-6)
    some = mass[mass > 0.0]
    assert d.entropy() == pytest.approx(-(some * np.log(some)).sum(), rel=1e-9)
    assert d.expect(lambda k: k * k) == pytest.approx(central[0] + mean**2, rel=1e-9)
    draws = d.rvs(40000, rng=1)
    assert draws.dtype == np.int64 and draws.mean() == pytest.approx(mean, abs=5.0 * d.std() / 200.0)
    for share in (0.1, 0.5, 0.9):  # quantiles over a share of a fine grid of probabilities
        u = (np.arange(200000) + 0.5) / 200000 * share
        assert d.expected_shortfall(share) == pytest.approx(d.ppf(u).mean(), abs=1e-4)
        assert d.expected_shortfall(share, upper=True) == pytest.approx(d.isf(u).mean(), rel=1e-3)


@pytest.mark.parametrize("base", [D.Gamma(0.8, scale=5.0), D.Normal(0.5, 2.0)])
def test_continuous_values_with_zeros(base):
    d, x = D.with_zeros(base, 0.6), np.array([-1.0, 0.0, 0.5, 5.0])
    np.testing.assert_allclose(d.cdf(x), 0.4 * base.cdf(x) + 0.6 * (x >= 0.0), rtol=1e-15)
    np.testing.assert_allclose(d.sf(x), 0.4 * base.sf(x) + 0.6 * (x < 0.0), rtol=1e-15)
    np.testing.assert_allclose(d.pdf(x), np.where(x == 0.0, inf, 0.4 * base.pdf(x)))
    below, u = 0.4 * base.cdf(0.0), np.linspace(0.005, 0.995, 67)
    found = d.ppf(u)
    flat = (u > below) & (u < below + 0.6)
    np.testing.assert_array_equal(found == 0.0, flat)
    np.testing.assert_allclose(d.cdf(found[~flat]), u[~flat], rtol=1e-12)
    np.testing.assert_allclose(d.isf(1.0 - u[~flat]), found[~flat], rtol=1e-10)
    assert d.mean() == pytest.approx(d.expect(), rel=1e-10)
    assert d.var() == pytest.approx(d.expect(lambda x: (x - d.mean()) ** 2), rel=1e-9)
    draws = np.sort(d.rvs(100000, rng=2))
    assert (draws == 0.0).mean() == pytest.approx(0.6, abs=0.01)
    assert d.expected_shortfall(0.9, upper=True) == pytest.approx(draws[10000:].mean(), abs=0.08)
    assert d.support() == ((min(float(base.support()[0]), 0.0)), inf)


def test_zeros_of_batches_and_what_they_refuse():
    d = D.with_zeros(D.NegativeBinomial([2.0, 3.0], [1.0, 2.0]), [0.1, nan])
    np.testing.assert_array_equal(np.isnan(d.mean()), [False, True])
    assert d.pmf(0.0)[0] == D.with_zeros(D.NegativeBinomial(2.0, 1.0), 0.1).pmf(0.0)
    assert pickle.loads(pickle.dumps(d)).mean()[0] == d.mean()[0] and repr(d).startswith("with_zeros(NegativeBinomial(")
    wet = D.with_zeros(D.Gamma(2.0), 0.2)
    for call, match in (
        (lambda: D.with_zeros(D.Gamma(2.0), 1.0), "probability below 1"),
        (lambda: D.with_zeros(D.Gamma(2.0), -0.1), "probability below 1"),
        (lambda: D.with_zeros(3.0, 0.1), "is no distribution"),
        (lambda: D.truncate(wet, 0.0, 1.0), "has a probability at 0"),
        (lambda: 2.0 * wet, "has a probability at 0"),
        (lambda: wet.table(), "has no table|its quantiles stand"),
        (lambda: wet.entropy(), "no entropy"),
        (lambda: wet.to_scipy(), "distributions of SciPy have not"),
    ):
        with pytest.raises((TypeError, ValueError), match=match):
            call()


def test_the_whole_of_fits():
    k = D.with_zeros(D.NegativeBinomial(3.0, 1.7), 0.25).rvs((2, 400), rng=1)
    fits = D.fit_many(k, "negative_binomial", zeros="inflated")
    one = fits.at(0)
    assert one.whole == D.with_zeros(one.distribution, one.zeros)
    np.testing.assert_allclose(fits.whole.pmf(0.0)[0], (k[0] == 0).mean(), rtol=1e-9)  # as fitted
    np.testing.assert_allclose(fits.whole.mean()[0], k[0].mean(), rtol=1e-3)
    assert one.loglik == pytest.approx(one.whole.logpmf(k[0]).sum(), rel=1e-12)
    plain = D.fit(k[0], "negative_binomial")
    assert plain.whole == plain.distribution


# --- estimates


def test_estimates_of_zero_inflated_counts():
    """The delta method by the covariance of (zeros, mean, size), which the error of `zeros` has, too."""
    k = D.with_zeros(D.NegativeBinomial(3.0, 1.7), 0.25).rvs(600, rng=1)
    found = D.fit(k, "negative_binomial", zeros="inflated")
    share = found.estimate(lambda d: d.zeros, whole=True)
    assert share.se == pytest.approx(found.zeros_se, rel=1e-5) and share.message == "ok"
    mean = found.estimate(lambda d: d.mean(), whole=True)
    assert mean.value == pytest.approx(found.whole.mean(), rel=1e-12) and mean.se == pytest.approx(k.std() / 600**0.5, rel=0.1)
    profile = found.estimate(lambda d: d.zeros, "profile", x=k, whole=True)
    at, best = np.array([profile.lower, profile.upper]), found.loglik
    for zeros in at:  # the likelihood with the probability of zeros fixed there is 1.92 below
        loss = lambda q, zeros=zeros: -D.with_zeros(D.NegativeBinomial(*np.exp(q)), zeros).logpmf(k).sum()  # noqa: E731
        fall = best + scipy.optimize.minimize(loss, np.log([3.0, 1.7]), method="Nelder-Mead", options={"xatol": 1e-7}).fun
        assert fall == pytest.approx(0.5 * st.chi2(1).ppf(0.95), rel=1e-3)
    drawn = found.estimate(lambda d: d.mean(), "bootstrap", whole=True, count=400, rng=1)
    assert drawn.se == pytest.approx(mean.se, rel=0.15)
    batch = D.fit_many(np.stack([k, np.maximum(k, 1)]), "negative_binomial", zeros="inflated")
    many = batch.estimate(lambda d: d.mean(), whole=True)
    assert many.se[0] == pytest.approx(mean.se, rel=1e-9) and many.messages.tolist() == ["ok", "ok"]
    own = batch.at(1).estimate(lambda d: d.mean())  # without zeros
    assert many.se[1] == pytest.approx(own.se, rel=1e-9)
    with pytest.raises(TypeError, match="whole=True takes a function"):
        found.estimate("mean", whole=True)


@pytest.mark.parametrize("counts", [[8, 11, 21, 9, 5, 2, 2, 1, 0, 1], [6, 14, 16, 13, 7, 4]])
def test_profiles_of_zero_inflated_counts_at_their_end(counts):
    """The end without zeros belongs to the range, and an estimate that is there lets their probability be positive."""
    k = np.repeat(np.arange(len(counts)), counts)
    found = D.fit(k, "poisson", zeros="inflated")
    zeros = np.append(0.0, np.geomspace(1e-4, 0.6, 400))[:, None]
    mean = np.linspace(1.2, 4.0, 1401)
    loglik = np.log(zeros + (1.0 - zeros) * np.exp(-mean)) * counts[0] + np.log1p(-zeros) * (k.size - counts[0])
    loglik += sum(n * st.poisson.logpmf(i, mean) for i, n in enumerate(counts) if i)
    likely = loglik >= found.loglik - 0.5 * st.chi2(1).ppf(0.95)
    for function, values, whole in (
        (lambda d: d.sf(0), (1.0 - zeros) * -np.expm1(-mean), True),
        (lambda d: d.mean(), (1.0 - zeros) * mean, True),
        (lambda d: d.mean(), mean + 0.0 * zeros, False),
    ):
        profile = found.estimate(function, "profile", x=k, whole=whole)
        expected = values[likely].min(), values[likely].max()
        np.testing.assert_allclose([profile.lower, profile.upper], expected, atol=3e-3)
        assert profile.message.startswith("ok")
    by_name = found.estimate("mean", "profile", x=k)
    np.testing.assert_allclose([by_name.lower, by_name.upper], [profile.lower, profile.upper], rtol=1e-6)
    drawn = found.estimate(lambda d: d.sf(0), "bootstrap", whole=True, count=400, rng=1)
    sides = found.estimate(lambda d: d.sf(0), "profile", x=k, whole=True)
    np.testing.assert_allclose([drawn.lower, drawn.upper], [sides.lower, sides.upper], atol=0.025)
    if found.zeros > 0.0:
        own = found.estimate(lambda d: d.zeros, "profile", x=k, whole=True)
        assert own.lower == 0.0 and own.upper == pytest.approx(zeros[likely.any(axis=1)].max(), rel=0.03)


def test_estimates_with_a_share_of_zeros():
    rng = np.random.default_rng(1)
    x = np.where(rng.random(400) < 0.4, 0.0, rng.gamma(2.0, 3.0, 400))
    found = D.fit(x, "gamma", zeros="share")
    mean = found.estimate(lambda d: d.mean(), whole=True)
    inner = found.estimate(lambda d: d.mean())
    expected = math.hypot((1.0 - found.zeros) * inner.se, inner.value * found.zeros_se)
    assert (mean.value, mean.se) == pytest.approx((x.mean(), expected), rel=1e-5)
    for method in ("profile", "bootstrap"):
        answer = found.estimate(lambda d: d.mean(), method, x=x, whole=True, rng=1)
        assert (answer.lower, answer.upper) == pytest.approx((mean.lower, mean.upper), abs=0.25 * mean.se)


def test_the_share_of_zeros_has_intervals_by_its_name():
    rng = np.random.default_rng(1)
    x = np.where(rng.random(100) < 0.4, 0.0, rng.gamma(2.0, 3.0, 100))
    found = D.fit(x, "gamma", zeros="share")
    ends = found.estimate("zeros", "profile", x=x)
    z = found.zeros
    loglik = lambda p: 100.0 * (z * math.log(p) + (1.0 - z) * math.log1p(-p))  # noqa: E731
    for end in (ends.lower, ends.upper):
        assert loglik(z) - loglik(end) == pytest.approx(0.5 * st.chi2(1).ppf(0.95), rel=1e-3)
    by_function = found.estimate(lambda d: d.zeros, "bootstrap", x=x, whole=True, count=99, rng=2)
    assert found.estimate("zeros", "bootstrap", count=99, rng=2).upper == by_function.upper
    assert ends.message == "ok"


def test_zeros_alone_are_told_of():
    with pytest.warns(ns.ConvergenceWarning, match="too few values"):
        found = D.fit(np.zeros(20), "gamma", zeros="share")
    assert found.zeros == 1.0 and math.isnan(found.zeros_se) and "zeros" in repr(found)
    assert math.isnan(found.whole.mean())


def test_intervals_with_entries_have_no_test():
    x = np.arange(1.0, 31.0)
    with pytest.raises(ValueError, match="Do not leave them out, which biases the fit"):
        D.goodness(None, "weibull", censored=(x, x + 1.0), entry=0.5 * x, count=19, rng=1)


@pytest.mark.parametrize("form", ["event", "censored", "entry", "weights", "truncated"])
def test_profiles_of_what_is_known_in_part(form):
    """Ends of a profile by a likelihood that is written here: with the scale there, and the best shape, it is 1.92 below."""
    rng = np.random.default_rng(3)
    life, data, options = rng.weibull(1.5, 120) * 10.0, {}, {}
    x, lo, hi, late, w, cut = life, life, life, np.zeros(120), np.ones(120), (0.0, inf)
    if form in ("event", "weights"):
        x, event = np.minimum(life, 9.0), life <= 9.0
        lo, hi, data = x, np.where(event, x, inf), {"event": event}
    if form == "weights":
        w = rng.integers(1, 4, 120).astype(float)
        data["weights"] = w
    elif form == "censored":
        lo, hi, x = np.floor(life / 3.0) * 3.0, np.floor(life / 3.0) * 3.0 + 3.0, None
        data = {"censored": (lo, hi)}
    elif form == "entry":
        late = rng.uniform(0.0, 8.0, 120)
        keep = life > late
        x = lo = hi = life[keep]
        late, w, data = late[keep], w[keep], {"entry": late[keep]}
    elif form == "truncated":
        x = lo = hi = life[(life > 2.0) & (life < 30.0)]
        cut, options = (2.0, 30.0), {"truncated": (2.0, 30.0)}
        late, w = np.zeros(x.size), w[: x.size]
    found = D.fit(x, "weibull", **data, **options)
    answer = found.estimate("scale", "profile", x=x, **data)

    def loglik(shape, scale):
        d, exact = st.weibull_min(shape, scale=scale), lo == hi
        with np.errstate(all="ignore"):
            own = np.where(exact, d.logpdf(lo), np.log(d.cdf(hi) - d.cdf(lo)))
            return np.nan_to_num(
                (w * (own - np.log(d.cdf(cut[1]) - d.cdf(np.maximum(late, cut[0]))))).sum(), nan=-1e9, neginf=-1e9
            )

    assert found.loglik == pytest.approx(loglik(*found.params.values()), rel=1e-9)
    for scale in (answer.lower, answer.upper):
        best = scipy.optimize.minimize_scalar(lambda a, s=scale: -loglik(a, s), bounds=(0.3, 6.0), method="bounded").fun
        assert found.loglik + best == pytest.approx(0.5 * st.chi2(1).ppf(0.95), rel=2e-3)


def test_bootstrap_of_rows():
    """Errors as those by derivatives; the rows of all series are drawn alike, whatever the number of workers."""
    rng = np.random.default_rng(4)
    life, entry = rng.weibull(1.5, 900) * 10.0, rng.uniform(0.0, 6.0, 900)
    keep = life > entry
    x, event, entry = np.minimum(life, 14.0)[keep], (life <= 14.0)[keep], entry[keep]
    found = D.fit(x, "weibull", event=event, entry=entry)
    data = dict(x=x, event=event, entry=entry, count=300, rng=1)
    answer, delta = found.estimate("scale", "bootstrap", **data), found.estimate("scale")
    assert answer.se == pytest.approx(delta.se, rel=0.12) and answer.value == delta.value
    assert (answer.lower, answer.upper) == pytest.approx((delta.lower, delta.upper), abs=0.4 * delta.se)
    again = found.estimate("scale", "bootstrap", **data, workers=1)
    np.testing.assert_array_equal(answer.samples, again.samples)
    for call, match in (
        (lambda: found.estimate("scale", "bootstrap"), "draws rows of the data: pass x="),
        (lambda: found.estimate("scale", "bootstrap", x=x, event=event), "not the data of this fit"),
        (lambda: found.estimate("scale", "profile"), "needs the data of the fit"),
        (lambda: found.estimate("scale", "profile", event=event), "go with the data of the fit"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            call()
    with pytest.raises(ValueError, match="event= both say"):
        found.estimate("scale", "profile", x=x, event=event, censored=(x, x))


def test_bootstrap_of_truncated_values():
    """Data sets are drawn within the truncation: as many as there are values, and the errors are those of the fit."""
    x = D.Weibull(1.5, scale=10.0).rvs(4000, rng=1)
    x = x[(x > 3.0) & (x < 25.0)]
    found = D.fit(x, "weibull", truncated=(3.0, 25.0))
    answer = found.estimate("scale", "bootstrap", count=300, rng=2)
    assert answer.se == pytest.approx(found.se["scale"], rel=0.12)
    counts = D.Poisson(2.0).rvs(2000, rng=1)
    above = D.fit(counts[counts > 0], "poisson", truncated=(1, None))
    assert above.estimate("mean", "bootstrap", count=300, rng=2).se == pytest.approx(above.se["mean"], rel=0.12)


@pytest.mark.parametrize("method", ["profile", "bootstrap"])
def test_coverage_of_censored_fits(method):
    """Of 60 intervals of 95 % fewer than 51 hold the truth in one case of 1000; `make_coverage` has more."""
    assert censored_coverage("weibull", "median", method, 60, count=99) >= 0.85


# --- distances


def regions():
    since, time = np.array([[0.0, 1.0, 3.0, 9.0]]), np.array([[0.5, 1.0, 3.4, inf]])
    return since, time, np.array([[0.9, 0.6, 0.3, 0.0]])


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("d", [D.Gamma(2.2, scale=2.5), D.Gamma(40.0, scale=0.1)])
def test_distances_of_steps_are_those_of_values(statistic, d):
    x = np.sort(np.random.default_rng(1).gamma(2.0, 3.0, (3, 50)), axis=1)
    ends = np.c_[x, np.full(3, inf)], np.c_[np.broadcast_to(1.0 - np.arange(1, 51) / 50.0, x.shape), np.zeros(3)]
    found = distance_of_steps(statistic, np.full(3, 50.0), np.c_[x, x[:, -1]], *ends, d.cdf, d.sf, d.logcdf, d.logsf)
    np.testing.assert_allclose(found, distance(statistic, x, d.cdf, d.logcdf, d.logsf), rtol=1e-9)


@pytest.mark.parametrize("statistic", ["ad", "cvm"])
def test_distances_of_regions(statistic):
    """Against quadrature, with the mass of a region spread as that of the distribution."""
    (since, time, above), d = regions(), D.Gamma(2.2, scale=2.5)

    def estimate(y):
        before = 1.0
        for a, b, after in zip(since[0], time[0], above[0], strict=True):
            if y < a:
                return 1.0 - before
            if y < b:
                return 1.0 - before + (before - after) * (d.cdf(y) - d.cdf(a)) / (d.cdf(b) - d.cdf(a))
            before = after
        return 1.0

    def part(y):
        return (estimate(y) - d.cdf(y)) ** 2 * d.pdf(y) * (1.0 / (d.cdf(y) * d.sf(y)) if statistic == "ad" else 1.0)

    edges = [1e-9, 0.5, 1.0, 3.0, 3.4, 9.0, 80.0]
    total = sum(scipy.integrate.quad(part, *pair)[0] for pair in zip(edges[:-1], edges[1:], strict=True))
    found = distance_of_steps(statistic, np.array([10.0]), since, time, above, d.cdf, d.sf, d.logcdf, d.logsf)
    assert found[0] == pytest.approx(10.0 * total, rel=1e-6)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_distances_of_counts_by_steps(statistic):
    k, d = np.sort(D.Poisson(3.0).rvs((2, 40), rng=1), axis=1).astype(float), D.Poisson(3.3)
    at = np.arange(k.max() + 1.0)
    above = np.c_[1.0 - np.stack([np.searchsorted(row, at, "right") for row in k]) / 40.0, [0.0, 0.0]]
    time = np.broadcast_to(np.r_[at, inf], above.shape)
    expected = distance_of_counts(statistic, k, d.pmf, d.cdf, d.sf)
    for since in (np.r_[at, at[-1]], np.r_[at - 1.0, at[-1]]):
        found = distance_of_count_steps(statistic, 40.0, np.broadcast_to(since, time.shape), time, above, d.pmf, d.cdf, d.sf)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


# --- tests of goodness of fit


def test_exact_values_in_the_form_of_censored_ones():
    """The same statistic; rows of equal values and their weights are the same, too."""
    x = D.Gamma(2.0, scale=3.0).rvs(80, rng=1)
    for statistic in STATISTICS:
        plain = D.goodness(x, "gamma", statistic, count=19, rng=1)
        entered = D.goodness(x, "gamma", statistic, entry=np.full(80, 1e-12), count=19, rng=1)
        assert entered.statistic == pytest.approx(plain.statistic, rel=1e-6)
    low = np.floor(x)
    edges, times = np.unique(low, return_counts=True)
    rows = D.goodness(None, "gamma", censored=(low, low + 1.0), count=19, rng=1)
    binned = D.goodness(None, "gamma", censored=(edges, edges + 1.0), weights=times, count=19, rng=1)
    assert binned.statistic == pytest.approx(rows.statistic, rel=1e-6)
    with pytest.raises(ValueError, match="whole numbers"):
        D.goodness(None, "gamma", censored=(edges, edges + 1.0), weights=times + 0.5, count=19)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_censored_values_of_another_family_are_found(statistic):
    """Lives of two kinds in equal parts against a Weibull distribution; a Weibull sample keeps its p-value."""
    rng = np.random.default_rng(2)
    right = 10.0 * rng.weibull(1.5, 200)
    wrong = np.where(rng.random(200) < 0.5, rng.normal(2.0, 0.2, 200), rng.normal(9.0, 0.5, 200))
    for x, low, high in ((wrong, 0.0, 0.02), (right, 0.02, 1.0)):
        end = rng.uniform(3.0, 20.0, 200)
        test = D.goodness(np.minimum(x, end), "weibull", statistic, event=x <= end, count=99, rng=1)
        assert low < test.pvalue <= high and test.failed == 0


@pytest.mark.parametrize(
    ("family", "case"),
    [
        ("weibull", "right-censored"),
        ("lognormal", "below limits"),
        ("gamma", "inspected"),
        ("normal", "entered"),
        ("poisson", "right-censored"),
        ("negative_binomial", "inflated"),
    ],
)
def test_pvalues_are_uniform(family, case):
    """Of 60 p-values of 1/20 to 1 in steps; the study of more of them is `make_uniform`."""
    p = pvalues(family, case, 60, count=19)
    assert not np.isnan(p).any()
    assert st.kstest(p - np.random.default_rng(1).random(60) / 20.0, "uniform").pvalue > 1e-3


def test_tests_of_many_censored_series():
    rng = np.random.default_rng(5)
    x = 10.0 * rng.weibull(1.5, (3, 60))
    event = x < 12.0
    x = np.minimum(x, 12.0)
    tests = D.goodness_many(x, "weibull", event=event, count=49, rng=1)
    one = D.goodness(x[1], "weibull", event=event[1], count=49, rng=np.random.default_rng([1, 1]))
    assert tests.statistic[1] == pytest.approx(one.statistic, rel=1e-12) and tests.pvalue[1] == one.pvalue
    tests = D.goodness_many({"a": x[0], "b": x[1]}, "weibull", event={"b": event[1], "a": event[0]}, count=19, rng=1)
    assert tests["b"].statistic == pytest.approx(one.statistic, rel=1e-12)


def test_tests_of_bad_input():
    x = np.arange(1.0, 21.0)
    with pytest.raises(ValueError, match="intervals"):
        D.goodness(None, "gamma", censored=(x, x + 1.0), entry=x - 0.5, count=19)
    with pytest.warns(ns.ConvergenceWarning), pytest.raises(ValueError, match="did not converge"):
        D.goodness(x, "weibull", event=np.zeros(20, bool), count=19)


# --- comparisons


def test_comparisons_of_censored_values():
    names = ["exponential", "weibull", "lognormal", "log_logistic"]
    found = D.compare(WEEKS, names, event=EVENT)
    for name in names:
        assert found.fits[name].bic == D.fit(WEEKS, name, event=EVENT).bic
    data = st.CensoredData(uncensored=RELAPSE, right=FOLLOWED)
    for other in (D.compare(data, names), D.compare(None, names, censored=(WEEKS, np.where(EVENT, WEEKS, inf)))):
        assert {f.family: f.bic for f in other.fits.values()} == {f.family: f.bic for f in found.fits.values()}
    steps = st.ecdf(data).sf
    at, d = steps.quantiles, found.fits["weibull"].distribution
    jumps = np.abs(np.r_[steps.probabilities, 1.0, steps.probabilities[:-1]] - np.r_[d.sf(at), d.sf(at)])
    assert found.ks["weibull"] == pytest.approx(jumps.max(), rel=1e-6)  # the largest distance from Kaplan and Meier's estimate
    many = D.compare_many(np.stack([WEEKS, WEEKS[::-1]]), names, event=np.stack([EVENT, EVENT[::-1]]))
    assert many.best.tolist() == [found.best.family] * 2


def test_comparisons_leave_out_what_is_not_fitted_to_such_data():
    found = D.compare(WEEKS.astype(int)[:12], "counts", event=EVENT[:12])
    assert "poisson" in found.fits
    assert D.inference._families("continuous", True, None)[1].endswith("which are not fitted to such data")
    assert "skew_t" not in D.inference._families("continuous", True, None)[0]


def test_comparisons_of_zero_inflated_counts():
    k = D.with_zeros(D.NegativeBinomial(5.0, 6.0), 0.3).rvs(800, rng=1)
    found = D.compare(k, zeros="inflated")
    fit = D.fit(k, "negative_binomial", zeros="inflated")
    assert found.best.family == "negative_binomial" and found.best.bic == fit.bic
    assert fit.bic < D.compare(k).best.bic
    assert found.ad["negative_binomial"] == pytest.approx(
        D.goodness(k, "negative_binomial", zeros="inflated", count=19).statistic
    )
    many = D.compare_many(np.stack([k, k]), "counts", zeros="inflated")
    assert many.best.tolist() == ["negative_binomial"] * 2
    cut = D.compare(k[k > 0], "counts", truncated=(1, None))
    assert cut.ks["negative_binomial"] < 0.05 < cut.ks["poisson"]


# --- scores


def test_scores_of_values_below_limits():
    """The middle of the probabilities at the ends; SciPy's functions at our parameters."""
    x = D.Gamma(2.0, scale=3.0).rvs((60, 2), rng=1)
    low, high = np.where(x < 2.0, 0.0, x), np.where(x < 2.0, 2.0, x)
    z = D.standardise(None, axis=0, censored=(low, high))
    d = D.fit_many(None, "gamma", axis=0, censored=(low, high)).distribution
    middle = 0.5 * (d.cdf(low) + d.cdf(high))
    np.testing.assert_allclose(z, st.norm.ppf(middle), rtol=1e-9)
    event = x < 8.0
    z = D.standardise(np.minimum(x, 8.0), axis=0, event=event)
    d = D.fit_many(np.minimum(x, 8.0), "gamma", axis=0, event=event).distribution
    np.testing.assert_allclose(z, st.norm.ppf(np.where(event, d.cdf(x), 0.5 + 0.5 * d.cdf(8.0))), rtol=1e-9)
    np.testing.assert_array_equal(D.standardise(x, axis=0, event=np.ones(x.shape)), D.standardise(x, axis=0))
    with pytest.raises(ValueError, match="pass one of the two"):
        D.standardise(x, axis=0, event=event, censored=(x, x))
