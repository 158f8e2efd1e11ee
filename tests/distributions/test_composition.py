"""Composed distributions against SciPy's own, mpmath in the tails, and each other."""

from __future__ import annotations

import functools
import pickle

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st

import numbastats as ns
from numbastats._core.cuda_backend import cuda
from numbastats.distributions import (
    NIG,
    Gamma,
    Laplace,
    Lognormal,
    Mixture,
    Normal,
    Stable,
    StudentT,
    TruncatedNormal,
    Uniform,
    order_statistic,
    truncate,
)
from tests.contract import same

D = ns.distributions
NAMES = {name: getattr(D, name) for name in D.__all__}
FUNCTIONS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")
TWO = Mixture([Normal(), Gamma(2.0, scale=3.0)], weights=[0.25, 0.75])

COMPOSED = [  # made when a test asks for them
    "truncate(Normal(1.0, 2.0), lb=-1.0, ub=4.0)",
    "exp(Normal(0.5, 0.7))",
    "log(Gamma(2.5))",
    "abs(Normal(0.3))",
    "order_statistic(Normal(), r=3, n=5)",
    "TWO",
    "-Gamma(2.0, 1.0, 3.0)",
    "order_statistic(log(truncate(StudentT(4.0), lb=0.0)), r=1, n=4)",  # a composition of compositions
]
NESTED = ["2.0 * truncate(abs(TWO), lb=0.5) + 1.0", "exp(-order_statistic(TWO, r=2, n=3))"]


@functools.cache
def made(text):
    return eval(text, {**NAMES, "TWO": TWO})


@pytest.fixture
def d(request):
    return made(request.param)


composed = pytest.mark.parametrize("d", [*COMPOSED, *(pytest.param(d, marks=pytest.mark.slow) for d in NESTED)], indirect=True)

PEERS = [
    ("truncate(Normal(1.0, 2.0), -1.0, 4.0)", st.truncnorm(-1.0, 1.5, 1.0, 2.0)),
    ("truncate(Normal(), lb=8.0)", st.truncnorm(8.0, np.inf)),
    ("exp(Normal(0.5, 0.7))", st.lognorm(0.7, scale=np.exp(0.5))),
    ("log(Gamma(2.5))", st.loggamma(2.5)),
    ("log(Gamma(2.5, scale=3.0))", st.loggamma(2.5, np.log(3.0))),
    ("abs(Normal())", st.halfnorm()),
    ("abs(Normal(1.5, 2.0))", st.foldnorm(0.75, 0.0, 2.0)),
    ("order_statistic(Uniform(), r=2, n=5)", st.beta(2, 4)),
    ("order_statistic(Uniform(), r=5, n=5)", st.beta(5, 1)),
    ("-Gumbel(1.0, 2.0)", st.gumbel_l(-1.0, 2.0)),
    ("3.0 - Weibull(1.7)", st.weibull_max(1.7, 3.0)),
]


@pytest.mark.parametrize(("d", "peer"), PEERS, indirect=["d"], ids=[text for text, _ in PEERS])
def test_the_known_ones(d, peer):
    """Against SciPy's distribution of the same law, which limits the tolerance."""
    x = peer.ppf([1e-4, 0.02, 0.3, 0.5, 0.9, 0.9999])
    for name in FUNCTIONS:
        # of truncnorm next to 8 SciPy is off by 9e-11, and these are not (mpmath)
        np.testing.assert_allclose(getattr(d, name)(x), getattr(peer, name)(x), rtol=1e-10, atol=1e-300, err_msg=name)
    u = np.array([0.0, 1e-9, 0.02, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(d.ppf(u), peer.ppf(u), rtol=1e-7)
    np.testing.assert_allclose(d.isf(u), peer.isf(u), rtol=1e-7)
    np.testing.assert_allclose((d.mean(), d.var()), (peer.mean(), peer.var()), rtol=1e-9)
    np.testing.assert_allclose((d.skewness(), d.kurtosis()), peer.stats("sk"), rtol=1e-6)  # of truncnorm at 8 SciPy has 1e-7
    with np.errstate(invalid="ignore"):
        entropy = peer.entropy()
    if np.isfinite(entropy):  # which SciPy's is not where the mass next to 8 rounds to 0
        np.testing.assert_allclose(d.entropy(), entropy, rtol=1e-9, atol=1e-10)


@pytest.mark.skipif(not hasattr(st, "make_distribution"), reason="SciPy 1.15 and later compose distributions")
def test_beside_scipys_compositions():
    x, normal = np.array([-0.7, 0.2, 0.9]), st.Normal(mu=0.3, sigma=1.5)
    ours = Normal(0.3, 1.5)
    pairs = [
        (truncate(ours, -1.0, 2.0), st.truncate(normal, lb=-1.0, ub=2.0)),
        (D.abs(ours), st.abs(normal)),
        (D.exp(ours), st.exp(normal)),
        (D.log(D.exp(ours)), normal),
        (2.0 * ours + 1.0, 2.0 * normal + 1.0),
        (1.0 - ours, 1.0 - normal),
        (D.log(truncate(ours, lb=0.0)), st.log(st.truncate(normal, lb=0.0))),
        (order_statistic(ours, r=2, n=4), st.order_statistic(normal, r=2, n=4)),
        (Mixture([ours, Normal(2.0)], [0.3, 0.7]), st.Mixture([normal, st.Normal(mu=2.0)], weights=[0.3, 0.7])),
    ]
    for d, peer in pairs:
        for name, theirs in (("pdf", "pdf"), ("logpdf", "logpdf"), ("cdf", "cdf"), ("sf", "ccdf"), ("logsf", "logccdf")):
            with np.errstate(all="ignore"):
                want = getattr(peer, theirs)(x)
            np.testing.assert_allclose(getattr(d, name)(x), want, rtol=1e-10, atol=1e-300, err_msg=repr(d))
        with np.errstate(all="ignore"):
            quantiles, mean = peer.icdf([0.01, 0.6]), peer.mean()
        np.testing.assert_allclose(d.ppf([0.01, 0.6]), quantiles, rtol=1e-6)
        np.testing.assert_allclose(d.mean(), mean, rtol=1e-7)


@composed
def test_functions_agree(d):
    x = np.linspace(*map(float, d.interval(0.98)), 7)
    np.testing.assert_allclose(np.log(d.pdf(x)), d.logpdf(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(d.cdf(x) + d.sf(x), 1.0, rtol=1e-13)
    np.testing.assert_allclose(np.log(d.cdf(x)), d.logcdf(x), rtol=1e-12)
    np.testing.assert_allclose(np.log(d.sf(x)), d.logsf(x), rtol=1e-12)
    np.testing.assert_allclose(d.ppf(d.cdf(x)), x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(d.isf(d.sf(x)), x, rtol=1e-12, atol=1e-13)
    masses = [scipy.integrate.quad(d.pdf, *ends, epsabs=0, epsrel=1e-11)[0] for ends in zip(x, x[1:], strict=False)]
    np.testing.assert_allclose(masses, np.diff(d.cdf(x)), rtol=1e-9)
    low, high = d.support()
    for u in (1e-200, 1e-30):  # both tails, but where the doubles end: next to an end other than 0
        for tail, quantile, end in ((d.logcdf, d.ppf, low), (d.logsf, d.isf, high)):
            if end == 0.0 or np.isinf(end):
                np.testing.assert_allclose(tail(quantile(u)), np.log(u), rtol=1e-12)
            else:
                assert abs(quantile(u) - end) < 1e-13 * abs(end)
    assert d.ppf(0.0) == low and d.isf(1.0) == low and d.ppf(1.0) == high and d.isf(0.0) == high
    assert d.cdf(-np.inf) == d.sf(np.inf) == d.pdf(np.inf) == 0.0 and d.logcdf(np.inf) == d.logsf(-np.inf) == 0.0
    if np.isfinite(low):
        assert d.pdf(low - 1.0) == d.cdf(low - 1.0) == 0.0 and d.logpdf(low - 1.0) == -np.inf and d.sf(low - 1.0) == 1.0
    for name in (*FUNCTIONS, "ppf", "isf"):
        assert np.isnan(getattr(d, name)(np.nan)) and getattr(d, name)([]).shape == (0,)
    assert np.isnan(d.ppf([-0.1, 1.1])).all()


@composed
def test_code_equality_types(d):
    assert eval(repr(d), {**NAMES}) == d and pickle.loads(pickle.dumps(d)) == d and hash(d) == hash(pickle.loads(pickle.dumps(d)))
    x = np.asarray(d.ppf([0.2, 0.7]))
    for name in ("pdf", "logsf"):
        want, out = getattr(d, name)(x), np.empty(2)
        assert getattr(d, name)(x, out=out) is out and same(out, want)
        single = getattr(d, name)(x.astype(np.float32))
        assert single.dtype == np.float32 and getattr(d, name)(x.astype(np.float32), dtype="float64").dtype == np.float64
        np.testing.assert_allclose(single, want, rtol=1e-5)
        with pytest.raises(TypeError, match="masked"):
            getattr(d, name)(np.ma.masked_array(x, x > 0))
        with pytest.raises(ValueError, match="shape"):
            getattr(d, name)(x, out=np.empty(5))
    for call in (lambda: d.score(1.0), lambda: type(d).fit([1.0, 2.0]), Mixture([Normal([0.0, 1.0])]).to_scipy):
        with pytest.raises(TypeError, match="composed|score|SciPy"):
            call()


@composed
def test_the_same_functions_in_scipy(d):
    if d.batch_shape:
        return
    frozen, q = pickle.loads(pickle.dumps(d.to_scipy())), np.array([0.01, 0.4, 0.99])
    x = d.ppf(q)
    assert same(frozen.ppf(q), x) and same(frozen.logsf(x), d.logsf(x)) and frozen.support() == tuple(map(float, d.support()))
    assert frozen.mean() == d.mean() and frozen.std() == pytest.approx(d.std(), rel=1e-14)
    assert frozen.rvs((2, 3), random_state=1).shape == (2, 3)


@composed
def test_draws_and_table(d):
    x = d.rvs(4000, rng=3)
    assert same(x, d.rvs(4000, rng=3)) and st.kstest(x, d.cdf).pvalue > 1e-3 and type(d.rvs(rng=1)) is np.float64
    assert d.rvs((2, 3), rng=1, dtype="float32").dtype == np.float32
    u = np.array([1e-9, 0.2, 0.5, 0.999])
    np.testing.assert_allclose(d.table().ppf(u), d.ppf(u), rtol=1e-12, atol=1e-12)
    integral = scipy.integrate.quad(lambda x: np.tanh(x) * d.pdf(x), *map(float, d.ppf([1e-13, 1 - 1e-13])), limit=200)[0]
    np.testing.assert_allclose(d.expect(np.tanh), integral, rtol=1e-7, atol=1e-9)


PART = (0.4, 1.7)
PIECES = {  # with the places where the density is not smooth
    "order_statistic(TWO, r=2, n=3)": [0.0],
    "exp(-order_statistic(TWO, r=2, n=3))": [1.0],
    "exp(0.5 * Mixture([Normal(), Uniform(1.0, 1.0)]))": np.exp([0.5, 1.0]),
    "order_statistic(-2.0 * Mixture([Laplace(-1.0), Uniform(1.0, 1.0)]) + 1.0, r=3, n=4)": [3.0, -1.0, -3.0],
    "log(order_statistic(truncate(Mixture([Normal(), Uniform(1.0, 1.0)]), lb=0.0), r=1, n=3))": np.log([1.0, 2.0]),
    "abs(Uniform(-1.0, 3.0))": [1.0],
}


@pytest.mark.parametrize(("d", "places"), PIECES.items(), indirect=["d"], ids=PIECES)
def test_integrals_between_kinks(d, places):
    """By Gauss and Legendre between quantiles and kinks: relative errors of 1e-13; without the kinks 1e-6, with warnings."""
    levels = np.logspace(-17, -0.5, 40)
    cuts = np.unique([*d.ppf(levels), *d.isf(levels), *places, d.ppf(0.3), *PART])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = np.diff(cuts)[:, None] / 2.0
    x = cuts[:-1, None] + half * (nodes + 1.0)
    mass = d.pdf(x) * half * weights

    def over(f, low=-np.inf, high=np.inf):
        return np.sum(np.where((x > low) & (x < high), f(x) * mass, 0.0))

    mean = over(lambda x: x)
    assert d.mean() == pytest.approx(mean, rel=1e-11) and d.var() == pytest.approx(over(lambda x: (x - mean) ** 2), rel=1e-9)
    part = dict(lb=PART[0], ub=PART[1])
    assert d.expect(np.tanh, **part) == pytest.approx(over(np.tanh, *PART), rel=1e-11)
    share = over(np.ones_like, *PART)
    assert d.expect(np.tanh, **part, conditional=True) == pytest.approx(over(np.tanh, *PART) / share, rel=1e-11)
    assert d.expected_shortfall(0.3) == pytest.approx(over(lambda x: x, high=d.ppf(0.3)) / 0.3, rel=1e-11)


def test_integrals_between_the_kinks_of_a_batch():
    """Each has places of its own, also out of the support of others."""
    lb, ends = np.array([-1.0, 1.5]), np.array([1.0, 2.0])
    batch = order_statistic(truncate(Mixture([Normal(), Uniform(ends[:, None], 1.0)]), lb=lb), r=2, n=3)
    assert batch.batch_shape == (2, 2)
    mean, short = batch.mean(), batch.expected_shortfall(np.array([0.1, 0.4]))
    for i, j in np.ndindex(2, 2):
        one = order_statistic(truncate(Mixture([Normal(), Uniform(ends[i], 1.0)]), lb=lb[j]), r=2, n=3)
        assert mean[i, j] == pytest.approx(one.mean(), rel=1e-13)
        assert short[i, j] == pytest.approx(one.expected_shortfall([0.1, 0.4][j]), rel=1e-13)


@pytest.mark.parametrize("d", ["exp(5.0 * Laplace())", "truncate(VarianceGamma(0.3, 1.0, 0.0), lb=-1.0, ub=2.0)"], indirect=True)
def test_tables_of_kinks_and_poles(d):
    """At the end of the support, which has digits to spare, or at the pole."""
    u = np.array([1e-9, 0.2, 0.5, 0.7, 0.999999])
    np.testing.assert_allclose(d.table().ppf(u), d.ppf(u), rtol=1e-12)


def test_tails_at_forty_digits():
    """mpmath; the deepest are beyond the doubles."""
    with mpmath.workdps(40):
        phi, gauss = mpmath.ncdf, mpmath.npdf

        def ratio(got, want):
            return abs(float(got) / float(want) - 1.0)

        cut = truncate(Normal(), 0.0, 3.0)
        mass = phi(3) - mpmath.mpf(0.5)
        for x in (1e-300, 1e-20, 1e-9, 1e-5, 3e-4, 0.5):
            assert ratio(cut.cdf(x), mpmath.erf(mpmath.mpf(x) / mpmath.sqrt(2)) / 2 / mass) < 1e-12, x  # observed 9e-14
            if x > 1e-15:
                assert ratio(cut.sf(3.0 - x), (phi(3) - phi(mpmath.mpf(3.0 - x))) / mass) < 1e-12, x
        for u in (1e-300, 1e-20, 1e-9, 3e-5, 0.2):
            assert ratio(cut.ppf(u), mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(u) * mass)) < 1e-11, (
                u
            )  # observed 3e-15 next to 0
        deep = truncate(Normal(), 40.0, np.inf)
        for x in (40.001, 41.0, 60.0):
            want = mpmath.log(mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2))) - mpmath.log(mpmath.erfc(40 / mpmath.sqrt(2)))
            assert ratio(deep.logsf(x), want) < 1e-11  # logsf(40) is 800 and exact to 1e-16 of that
            assert x == 60.0 or ratio(deep.sf(x), mpmath.exp(want)) < 1e-11
        assert ratio(deep.isf(1e-10), mpmath.mpf("40.5712136622416511202450243680963")) < 1e-15
        folded = D.abs(Normal(0.3))
        for x in (1e-300, 1e-20, 1e-9, 1e-3):
            want = phi(mpmath.mpf(x) - 0.3) - phi(-mpmath.mpf(x) - 0.3) if x > 1e-30 else 2 * gauss(0.3) * mpmath.mpf(x)
            assert ratio(folded.cdf(x), want) < 1e-11 and ratio(folded.ppf(folded.cdf(x)), x) < 1e-11
        middle = order_statistic(Normal(), r=3, n=5)
        for x in (-50.0, -40.0, -8.0, 0.1, 6.0):
            p = phi(x)
            want = mpmath.log(mpmath.betainc(3, 3, 0, p, regularized=True))
            assert ratio(middle.logcdf(x), want) < 5e-14  # observed 1.1e-14
            assert ratio(middle.logpdf(x), mpmath.log(30 * p**2 * mpmath.ncdf(-x) ** 2 * gauss(x))) < 5e-14
        largest = order_statistic(Uniform(), r=10**6, n=10**6)  # x^n
        assert ratio(largest.cdf(1.0 - 2.0**-23), (1 - mpmath.mpf(2) ** -23) ** 10**6) < 1e-12
        two = Mixture([Normal(), StudentT(3.0)], [0.9, 0.1])
        assert ratio(two.sf(50.0), 0.1 * StudentT(3.0).sf(50.0)) < 1e-15
        assert ratio(two.isf(two.sf(1e5)), 1e5) < 1e-13
        x = 1e13
        assert ratio(D.exp(Normal()).logsf(x), mpmath.log(phi(-mpmath.log(x)))) < 1e-13


def test_short_intervals_with_jumps_and_kinks():
    np.testing.assert_allclose(truncate(Uniform(), 0.9999999, 2.0).cdf([0.99999992, 1.0, 1.5]), [0.2, 1.0, 1.0], rtol=1e-8)
    x = 1e-12
    np.testing.assert_allclose(D.abs(Laplace()).cdf(x), -np.expm1(-x), rtol=1e-13)
    kinked = truncate(Laplace(), -1e-9, 3.0)
    np.testing.assert_allclose(kinked.cdf([-1e-10, 1e-10]), 0.5 * np.array([9e-10, 1.1e-9]) / (0.5 * -np.expm1(-3.0)), rtol=1e-8)


def test_operators_keep_the_class():
    assert 2.0 * Gamma(2.0, 1.0) + 1.0 == Gamma(2.0, 3.0, 2.0) == 1 + Gamma(2.0, 1.0) * 2
    assert np.float64(2.0) * Normal() == Normal(0.0, 2.0) == Normal() * np.float64(2.0)
    assert np.array([1.0, 2.0]) * Normal(1.0) == Normal([1.0, 2.0], [1.0, 2.0])
    assert -Normal(1.0, 2.0) == Normal(-1.0, 2.0) and 1.0 - Normal(3.0) == Normal(-2.0) and Normal() / 4.0 == Normal(0.0, 0.25)
    assert Normal(1.0) - 3 == Normal(-2.0) and -Stable(1.5, 0.3, 1.0) == Stable(1.5, -0.3, -1.0)
    assert 0.0 - (-Gamma(2.0)) == Gamma(2.0) and 3.0 - (2.0 - Gamma(2.0)) == Gamma(2.0, 1.0)
    minus = -2.0 * Gamma(2.0) + 1.0
    x = np.array([0.9, -3.0, -80.0])
    np.testing.assert_array_equal(minus.sf(x), Gamma(2.0).cdf((x - 1.0) / -2.0))  # tails are exchanged
    np.testing.assert_array_equal(minus.logcdf(x), Gamma(2.0).logsf((x - 1.0) / -2.0))
    np.testing.assert_allclose(minus.pdf(x), Gamma(2.0).pdf((x - 1.0) / -2.0) / 2.0, rtol=1e-15)
    assert minus.ppf(1e-30) == 1.0 - 2.0 * Gamma(2.0).isf(1e-30) and minus.support() == (-np.inf, 1.0)
    assert (minus.mean(), minus.var(), minus.skewness()) == (-3.0, 8.0, -Gamma(2.0).skewness())
    part = 2.0 * TruncatedNormal(-1.0, 2.0) + 1.0  # of another class than it was
    np.testing.assert_allclose(part.cdf(2.0), TruncatedNormal(-1.0, 5.0, 1.0, 2.0).cdf(2.0), rtol=1e-14)
    hyperbolic = 2.0 * NIG(1.5, 0.3, 1.0)
    np.testing.assert_allclose(hyperbolic.sf(5.0), NIG(0.75, 0.15, 2.0).sf(5.0), rtol=1e-13)


def test_batches_and_labels():
    pandas, dask = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    batch = truncate(Mixture([Normal([[0.0], [1.0]]), Laplace()], [0.3, 0.7]), lb=0.0, ub=[1.0, 4.0])
    assert batch.batch_shape == (2, 2) == batch.rvs(rng=1).shape
    for i, loc in enumerate((0.0, 1.0)):
        one = truncate(Mixture([Normal(loc), Laplace()], [0.3, 0.7]), lb=0.0, ub=4.0)
        for name, at in (("pdf", 0.5), ("cdf", 1e-9), ("logsf", 0.5), ("ppf", 1e-7), ("ppf", 0.4)):
            np.testing.assert_allclose(getattr(batch, name)(at)[i, 1], getattr(one, name)(at), rtol=1e-12)
    assert batch.ppf(np.full((4, 1, 1), 0.3)).shape == (4, 2, 2)
    several = truncate(Normal([[0.0], [1.0]]), lb=0.0, ub=[1.0, 2.0, 4.0])
    for name in ("mean", "var", "entropy"):
        want = [[getattr(truncate(Normal(loc), 0.0, ub), name)() for ub in (1.0, 2.0, 4.0)] for loc in (0.0, 1.0)]
        np.testing.assert_allclose(getattr(several, name)(), want, rtol=1e-10)
    ranks = order_statistic(Normal(), r=[1, 2, 3], n=3)
    np.testing.assert_allclose(ranks.cdf(0.0), [0.875, 0.5, 0.125], rtol=1e-14)
    index = list("ab")
    for d in (
        truncate(Gamma(pandas.Series([1.0, 2.0], index=index)), ub=3.0),
        truncate(Gamma([1.0, 2.0]), ub=pandas.Series([3.0, 3.0], index=index)),
    ):
        for value in (d.cdf(1.0), d.mean(), d.var(), d.entropy(), d.rvs(rng=1), d.ppf(0.3), (1.0 - d).sf(0.2), (2.0 * d).mean()):
            assert list(value.index) == index
        np.testing.assert_array_equal(d.cdf(1.0), truncate(Gamma([1.0, 2.0]), ub=3.0).cdf(1.0))
    series = pandas.Series([0.5, 2.0], index=index)
    assert list(TWO.cdf(series).index) == index and list((2.0 * Gamma(series) + 1.0).mean().index) == index
    lazy = dask.from_array(np.array([0.5, 2.0, 3.0]), chunks=2)
    for name in ("pdf", "cdf"):
        np.testing.assert_array_equal(getattr(TWO, name)(lazy).compute(), getattr(TWO, name)(np.array([0.5, 2.0, 3.0])))
    assert np.isnan(truncate(Normal([0.0, np.nan]), -1.0, 1.0).cdf(0.3)).tolist() == [False, True]


def test_moments_of_mixtures():
    """From those of the components, beside integrals."""
    raw = [scipy.integrate.quad(lambda x, k=k: x**k * TWO.pdf(x), *ends)[0] for k in (1, 2, 3, 4) for ends in ((-40, 0),)]
    raw = np.add(
        raw, [scipy.integrate.quad(lambda x, k=k: x**k * TWO.pdf(x), 0, 300, limit=400, epsabs=0)[0] for k in (1, 2, 3, 4)]
    )
    mean, var = raw[0], raw[1] - raw[0] ** 2
    third = raw[2] - 3 * mean * raw[1] + 2 * mean**3
    fourth = raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4
    found = TWO.mean(), TWO.var(), TWO.skewness(), TWO.kurtosis()
    np.testing.assert_allclose(found, (mean, var, third / var**1.5, fourth / var**2 - 3), rtol=1e-8)
    np.testing.assert_allclose(TWO.expect(lb=0.0, ub=1.0, conditional=True), truncate(TWO, 0.0, 1.0).mean(), rtol=1e-11)
    assert Mixture([Normal(), Lognormal(1.0)], [1.0, 0.0]).ppf(0.3) == Normal().ppf(0.3)  # components without weight take no part


def test_quantiles_of_positive_mixtures_far_below_the_bulk():
    mixed = Mixture([Gamma(0.02), Gamma(200.0)])
    q = np.array([1e-5, 0.01, 0.3, 0.6])
    np.testing.assert_allclose(mixed.cdf(mixed.ppf(q)), q, rtol=1e-12)
    assert abs(Mixture([Gamma(0.7), Gamma(2.0)], [0.3, 0.7]).ppf(1e-100) / 6.766836783e-143 - 1) < 1e-9  # mpmath


def test_many_quantiles_come_from_a_table():
    u = np.linspace(1e-6, 1 - 1e-6, 60_000)
    np.testing.assert_allclose(TWO.ppf(u), TWO.ppf(u, method="points"), rtol=1e-12, atol=1e-13)
    assert same(TWO.ppf(u[:5], method="table"), TWO.ppf(u, method="table")[:5])
    with pytest.raises(ValueError, match="method"):
        TWO.ppf(0.3, method="series")


@pytest.mark.parametrize("d", [COMPOSED[0], *COMPOSED[3:7], "exp(Normal())"], indirect=True)
def test_devices(d, device):
    x = np.asarray(d.ppf(np.array([1e-7, 0.2, 0.7])))
    for name in (*FUNCTIONS, "ppf"):
        at = np.array([0.1, 0.4, 0.7]) if name == "ppf" else x
        np.testing.assert_allclose(getattr(d, name)(at, **device), getattr(d, name)(at), rtol=1e-11, err_msg=name)
    np.testing.assert_allclose(d.rvs(16, rng=1, **device), d.rvs(16, rng=1), rtol=1e-11)
    got = d.cdf(cuda.to_device(x))
    assert hasattr(got, "copy_to_host")
    np.testing.assert_allclose(got.copy_to_host(), d.cdf(x), rtol=1e-11)


def test_bad_input():
    for make, message in (
        (lambda: truncate(Gamma(2.0), -3.0, -1.0), r"no mass between lb=-3.0 and ub=-1.0"),
        (lambda: truncate(Normal(), 2.0, 1.0), "no mass between"),
        (lambda: truncate(Normal(), [0.0, 2.0], 1.0), "no mass between lb=2.0"),
        (lambda: Mixture([Normal()], [0.3]), "sum 1, not 0.3"),
        (lambda: Mixture([Normal(), Normal()], [1.5, -0.5]), "must be >= 0"),
        (lambda: Mixture([Normal(), Normal()], [1.0]), "one number for each of the 2 components"),
        (lambda: Mixture([]), "components is empty"),
        (lambda: D.log(Normal()), "values below 0"),
        (lambda: order_statistic(Normal(), r=0, n=3), "1 <= r <= n"),
        (lambda: order_statistic(Normal(), r=1.5, n=3), "whole numbers"),
        (lambda: 0 * Normal(), "not 0"),
        (lambda: Gamma(2.0) / 0.0, "factor=inf"),
        (lambda: Gamma(2.0) * [1.0, -1.0], "both signs"),
        (lambda: truncate(Normal([1.0, 2.0]), [0.0, 0.0, 0.0]), "broadcast"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    for make, message in (
        (lambda: D.exp(3.0), "which is no distribution"),
        (lambda: truncate(st.norm(), 0.0, 1.0), "which is no distribution"),
        (lambda: Normal() + Normal(), "unsupported operand"),
        (lambda: Normal() * "a", "not numbers"),
    ):
        with pytest.raises(TypeError, match=message):
            make()


def test_quantiles_that_underflow():
    d = D.abs(D.exp(StudentT(1.96)))
    assert d.ppf([0.0, 1e-300, 1e-6]).tolist() == [0.0, 0.0, 0.0] and d.isf(1.0 - 1e-6) == 0.0
    np.testing.assert_allclose(d.ppf([1e-3, 0.5, 0.9]), np.exp(StudentT(1.96).ppf([1e-3, 0.5, 0.9])), rtol=1e-12)


MAGNITUDES = {  # made when a test asks for them
    "of either sign and positive": lambda: Mixture([Normal(5.0, 1e-3), Gamma(2.0, scale=1e5)]),
    "mirrored": lambda: Mixture([Normal(scale=1e-200) * -1.0, Gamma(2.0, scale=1e5)]),
    "truncated": lambda: truncate(Normal() * -1e-200, lb=0.0),
    "absolute": lambda: D.abs(Mixture([Normal(), Gamma(2.0, scale=1e5)])),
}


@pytest.mark.parametrize("name", MAGNITUDES)
def test_quantiles_of_all_magnitudes_are_found(name):
    d = MAGNITUDES[name]()
    p = np.array([1e-300, 1e-100, 1e-17, 1e-6, 0.1, 0.3, 0.5, 0.7, 0.9])
    for quantile, logs in ((d.ppf, d.logcdf), (d.isf, d.logsf)):
        z = quantile(p)
        assert not np.isnan(z).any()
        inside = (z > 1e-300) & (z < 1e300) | (z < -1e-300)
        np.testing.assert_allclose(logs(z[inside]), np.log(p[inside]), rtol=1e-11, atol=1e-11)


def test_truncated_functions_where_those_of_the_whole_underflow():
    """Beyond 11.5 is a mass of 7e-31."""
    p = np.array([1e-300, 1e-290, 1e-100, 0.5])
    for d, quantile, tail in ((truncate(Normal(), lb=11.5), "isf", "sf"), (truncate(Normal(), ub=-11.5), "ppf", "cdf")):
        z = getattr(d, quantile)(p)
        np.testing.assert_allclose(np.abs(z[:2]), [38.876451721427586, 38.279990568], rtol=1e-10)
        np.testing.assert_allclose(getattr(d, f"log{tail}")(z), np.log(p), rtol=1e-13)
        np.testing.assert_allclose(getattr(d, tail)(z), p, rtol=1e-11)
        np.testing.assert_allclose(d.pdf(z), np.exp(d.logpdf(z)), rtol=1e-11)
        assert getattr(d, quantile)(1e-300) == z[0] and getattr(d, tail)(z[0]) > 0.0 and d.pdf(z[0]) > 0.0
    mixed = Mixture([truncate(Normal(), lb=11.5), Gamma(2.0, scale=1e-3)])
    np.testing.assert_allclose(mixed.logsf(mixed.isf(p)), np.log(p), rtol=1e-12)
