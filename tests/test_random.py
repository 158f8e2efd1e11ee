"""The random functions against their distributions, and the contract they all keep."""

from __future__ import annotations

import inspect
import math
import pickle

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numba import cuda  # a module global: the simulator swaps it there

import numbastats as ns
from numbastats._core.random import Purpose, key_words, normalise_rng, stream_word
from numbastats.scalar import samplers
from tests.contract import CountsContract, RandomContract, built, same

NAN, INF = np.nan, np.inf


class TestUniform(RandomContract):
    function = staticmethod(ns.random.uniform)
    parameters = (-1.0, 3.0)
    law = scipy.stats.uniform(-1, 4)
    refused = [((3.0, 1.0), "low is above high")]

    @pytest.mark.parametrize("dtype, bits", [(np.float64, 52), (np.float32, 23)])
    def test_grid(self, dtype, bits, device):
        u = ns.random.uniform(size=2000, rng=1, dtype=dtype, **device)
        assert (u > 0).all() and (u < 1).all()
        k = u.astype(float) * 2.0**bits - 0.5
        assert np.array_equal(k, np.round(k))


class TestNormal(RandomContract):
    function = staticmethod(ns.random.normal)
    parameters = (2.0, 0.5)
    law = scipy.stats.norm(2, 0.5)
    refused = [((0.0, -1.0), "scale has the negative value -1.0")]

    def test_moments_and_tails(self):
        x = ns.random.normal(size=4_000_000, rng=11)
        n = x.size
        assert abs(x.mean()) < 4.5 / math.sqrt(n)
        assert abs((x**2).mean() - 1) < 4.5 * math.sqrt(2 / n)
        assert abs((x**3).mean()) < 4.5 * math.sqrt(15 / n)
        assert abs((x**4).mean() - 3) < 4.5 * math.sqrt(96 / n)
        for z in (2, 3, 4):
            for tail in ((x > z).mean(), (x < -z).mean()):
                p = scipy.stats.norm.sf(z)
                assert abs(tail - p) < 4.5 * math.sqrt(p / n)

    def test_zero_scale(self):
        assert (ns.random.normal(3.0, 0.0, 5) == 3.0).all()


class TestExponential(RandomContract):
    function = staticmethod(ns.random.exponential)
    parameters = (2.5,)
    law = scipy.stats.expon(scale=2.5)
    refused = [((-1.0,), "scale has the negative value -1.0")]


class TestGamma(RandomContract):
    function = staticmethod(ns.random.gamma)
    parameters = (2.5, 2.0)
    law = scipy.stats.gamma(2.5, scale=2.0)
    refused = [((-1.0, 1.0), "shape has the negative value"), ((1.0, -1.0), "scale has the negative value")]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 20.0, 1e6])
    def test_shapes(self, shape, dtype):
        x = ns.random.gamma(shape, 1.0, 50_000, rng=13, dtype=dtype).astype(float)
        assert scipy.stats.kstest(x[x > 0], scipy.stats.gamma(shape).cdf).pvalue > 1e-3
        assert np.mean(x == 0) <= (0 if dtype == np.float64 else 0.02)  # float32 underflows at 1e-45: for shape 0.05 rarely

    def test_largest_shapes(self, device):
        """A shape whose product with 3 overflows used to be rejected for ever."""
        assert (ns.random.gamma(1.7e308, 1.0, 3, rng=1, **device) == 1.7e308).all()
        np.testing.assert_allclose(ns.random.gamma(3e38, 1.0, 3, rng=1, dtype=np.float32, **device), 3e38, rtol=1e-6)

    def test_limits(self, device):
        assert (ns.random.gamma(0.0, 1.0, 3, rng=1, **device) == 0).all()
        assert (ns.random.gamma(2.0, 0.0, 3, rng=1, **device) == 0).all()


class TestTruncnorm(RandomContract):
    function = staticmethod(ns.random.truncnorm)
    parameters = (1.0, 2.0, 0.5, 4.0)
    law = scipy.stats.truncnorm(-0.25, 1.5, 1.0, 2.0)
    bad = [(INF, 1.0, 0.0, 1.0), (0.0, INF, 0.0, 1.0), (0.0, 1.0, INF, INF)]
    refused = [((0.0, 1.0, 2.0, 1.0), "lo is above hi"), ((0.0, -1.0, 0.0, 1.0), "sigma"), ((0.0, 0.0, -1.0, 1.0), "sigma")]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(
        "lo, hi", [(-INF, INF), (0.0, INF), (-INF, -8.0), (30.0, 30.0001), (-1e-3, 1e-3), (5.9, 6.1), (100.0, INF)]
    )
    def test_intervals(self, lo, hi, dtype):
        x = ns.random.truncnorm(0.0, 1.0, lo, hi, 20_000, rng=3, dtype=dtype)
        assert (x >= dtype(lo)).all() and (x <= dtype(hi)).all()
        if dtype == np.float64:
            shift = lo if np.isfinite(lo) else (hi if np.isfinite(hi) else 0.0)
            law = scipy.stats.truncnorm(lo, hi)
            assert scipy.stats.kstest(x, law.cdf).pvalue > 1e-3 or shift > 20  # SciPy's cdf has lost its digits out there
        if lo == 100.0:
            assert abs((x.astype(float) - 100).mean() * 100 - 0.9998) < 0.04

    def test_degenerate_interval(self, device):
        assert (ns.random.truncnorm(0.0, 1.0, 2.0, 2.0, 5, rng=1, **device) == 2.0).all()


class TestBeta(RandomContract):
    function = staticmethod(ns.random.beta)
    parameters = (2.0, 3.5)
    law = scipy.stats.beta(2.0, 3.5)
    bad = [(INF, 1.0), (1.0, INF)]
    refused = [((0.0, 1.0), "a has the value 0"), ((1.0, -1.0), "b has the value -1")]


class TestWald(RandomContract):
    function = staticmethod(ns.random.wald)
    parameters = (1.5, 2.0)
    law = scipy.stats.invgauss(0.75, scale=2.0)
    refused = [((0.0, 1.0), "mean has the value 0"), ((1.0, -1.0), "scale has the value -1")]


class PolyaGamma:
    """The law PG(b, c), from its Laplace transform: P(X <= x) by Euler's algorithm (J. Abate, W. Whitt, 2006, section 5)."""

    M = 14
    BETA = M * math.log(10) / 3 + 1j * math.pi * np.arange(2 * M + 1)
    ENDS = np.cumsum(scipy.special.comb(M, np.arange(M)))[::-1] / 2.0**M
    ETA = (-1.0) ** np.arange(2 * M + 1) * np.r_[0.5, np.ones(M), ENDS]

    def __init__(self, b, c):
        self.b, self.c = b, c

    def log_laplace(self, t):
        """log E exp(-t X); log cosh is continuous where the real part of its argument is positive."""
        z, z0 = np.sqrt(self.c**2 / 4 + t / 2), self.c / 2
        return self.b * (z0 + np.log1p(np.exp(-2 * z0)) - z - np.log1p(np.exp(-2 * z)))

    def cdf(self, x):
        s = self.BETA / np.asarray(x)[..., None]
        return 10 ** (self.M / 3) * (np.exp(self.log_laplace(s)) / self.BETA).real @ self.ETA

    def mean(self):
        return self.b / (2 * self.c) * math.tanh(self.c / 2) if self.c else self.b / 4

    def std(self):
        b, c = self.b, self.c
        return math.sqrt(b / (4 * c**3) * (math.sinh(c) - c) / math.cosh(c / 2) ** 2 if c else b / 24)


class TestPolyaGamma(RandomContract):
    function = staticmethod(ns.random.polya_gamma)
    parameters = (1.5, 2.0)
    law = PolyaGamma(1.5, 2.0)
    bad = [(1.0, NAN), (NAN, 1.0)]
    refused = [((0.0, 1.0), "b has the value 0"), ((-1.0, 1.0), "b has the value -1"), ((INF, 1.0), "b has the value inf")]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(
        "b, c", [(1e-3, 0.0), (0.1, 0.0), (0.1, 3.0), (1.0, 0.0), (2.0, 40.0), (7.3, 0.5), (500.0, 0.3), (500.0, 9.0)]
    )
    def test_moments_laplace_transform_and_law(self, b, c, dtype):
        n, law = 200_000, PolyaGamma(b, c)
        x = ns.random.polya_gamma(b, -c, n, rng=13, dtype=dtype).astype(float)
        assert abs(x.mean() - law.mean()) < 4.5 * law.std() / math.sqrt(n)
        squares = (x - law.mean()) ** 2
        assert abs(squares.mean() - law.std() ** 2) < 4.5 * squares.std() / math.sqrt(n)
        for t in np.array([0.1, 1.0, 3.0]) / law.std():
            y = np.exp(-t * x)
            assert abs(y.mean() - np.exp(law.log_laplace(t))) < 4.5 * y.std() / math.sqrt(n)
        if b < 100:  # narrower laws take more terms
            assert scipy.stats.kstest(x[:50_000], law.cdf).pvalue > 1e-3

    def test_the_law_of_the_tests(self):
        """Against the series of PG(1, 0) for the right tail: 1 - sum of (-1)^k 2/(pi h) exp(-2 (pi h)^2 x), h = k + 1/2."""
        x, h = np.linspace(0.03, 2.0, 50), np.arange(40) + 0.5
        want = 1 - (np.exp(-2 * (np.pi * h) ** 2 * x[:, None]) * 2 / (np.pi * h)) @ (-1.0) ** np.arange(40)
        np.testing.assert_allclose(PolyaGamma(1.0, 0.0).cdf(x), want, atol=1e-7)

    @pytest.mark.parametrize("b, parts", [(2.0, [1.0, 1.0]), (1.0, [0.5, 0.5]), (1.3, [0.3, 1.0])])
    def test_sums(self, b, parts):
        n = 200_000
        total = sum(ns.random.polya_gamma(p, 1.0, n, rng=20 + i) for i, p in enumerate(parts))
        assert scipy.stats.ks_2samp(total, ns.random.polya_gamma(b, 1.0, n, rng=3)).pvalue > 1e-3

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_limits(self, dtype, device):
        options = dict(size=20, rng=1, dtype=dtype, **device)
        tiny, huge = (1e-300, 1e300) if dtype == np.float64 else (1e-36, 1e36)
        draws = ns.random.polya_gamma
        assert (draws(3.0, INF, **options) == 0).all() and (draws(300.0, -INF, **options) == 0).all()
        for c in (0.0, tiny, 1e-3, 1e3, huge):
            assert np.isfinite(draws(tiny, c, **options)).all() and (draws(tiny, c, **options) >= 0).all()
            mean = huge / 4 if c < 0.1 else huge / (2 * c)
            np.testing.assert_allclose(draws(dtype(huge), dtype(c), **options), mean, rtol=1e-5)
        np.testing.assert_allclose(draws(3.0, 1e12, **options), 1.5e-12, rtol=2e-5)  # deviations: sqrt(2/(b c)) of the mean
        np.testing.assert_allclose(draws(300.0, 1e12, **options), 1.5e-10, rtol=1e-6)

    @pytest.mark.parametrize("c", [1e-3, 0.39, 0.41, 2.0, 8.0, 30.0])
    def test_error_of_the_gamma_draws(self, c):
        """The promise 5e-5 at b = 170, their least: both laws from the characteristic functions (Gil-Pelaez)."""
        law = PolyaGamma(170.0, c)
        out = np.empty(2)
        built(_shape_and_scale, "serial")(c, out)
        shape, scale = 170.0 * out[0], out[1]
        s = (np.arange(3000) + 0.5) * 0.005  # of (X - mean)/std
        t = s / law.std()
        exact = np.exp(law.log_laplace(-1j * t) - 1j * t * law.mean())
        gamma = np.exp(-shape * np.log(1 - 1j * t * scale) - 1j * t * scale * shape)
        x = np.linspace(-5.0, 7.0, 400)[:, None]
        wrong = abs(((np.exp(-1j * s * x) * (exact - gamma)).imag / s).sum(axis=1) * 0.005 / np.pi).max()
        assert wrong < 5e-5
        x = scale * (scipy.stats.gamma(shape).ppf([0.01, 0.5, 0.99]) - shape) / law.std()
        ours = 0.5 - ((np.exp(-1j * s * x[:, None]) * gamma).imag / s).sum(axis=1) * 0.005 / np.pi
        np.testing.assert_allclose(ours, [0.01, 0.5, 0.99], atol=1e-7)  # the inversion itself


def _shape_and_scale(c, out):
    out[0], out[1] = samplers._polya_gamma_shape(c)


class TestWeibull(RandomContract):
    function = staticmethod(ns.random.weibull)
    parameters = (1.5,)
    law = scipy.stats.weibull_min(1.5)
    refused = [((-1.0,), "a has the negative value -1")]


class TestPareto(RandomContract):
    function = staticmethod(ns.random.pareto)
    parameters = (3.0,)
    law = scipy.stats.lomax(3.0)
    refused = [((0.0,), "a has the value 0")]


class TestStandardT(RandomContract):
    function = staticmethod(ns.random.standard_t)
    parameters = (4.5,)
    law = scipy.stats.t(4.5)
    refused = [((0.0,), "df has the value 0")]


class TestChisquare(RandomContract):
    function = staticmethod(ns.random.chisquare)
    parameters = (3.0,)
    law = scipy.stats.chi2(3.0)
    refused = [((0.0,), "df has the value 0")]


class TestLaplace(RandomContract):
    function = staticmethod(ns.random.laplace)
    parameters = (1.0, 2.0)
    law = scipy.stats.laplace(1.0, 2.0)
    refused = [((0.0, -1.0), "scale has the negative value -1")]


class TestLogistic(RandomContract):
    function = staticmethod(ns.random.logistic)
    parameters = (1.0, 2.0)
    law = scipy.stats.logistic(1.0, 2.0)
    refused = [((0.0, -1.0), "scale has the negative value -1")]


class TestGumbel(RandomContract):
    function = staticmethod(ns.random.gumbel)
    parameters = (1.0, 2.0)
    law = scipy.stats.gumbel_r(1.0, 2.0)
    refused = [((0.0, -1.0), "scale has the negative value -1")]


class TestPoisson(CountsContract):
    function = staticmethod(ns.random.poisson)
    parameters = (14.5,)
    law = scipy.stats.poisson(14.5)
    refused = [((-1.0,), "lam has the value"), ((9.3e18,), "lam has the value"), ((INF,), "lam has the value")]


class TestBinomial(CountsContract):
    function = staticmethod(ns.random.binomial)
    parameters = (60, 0.4)
    law = scipy.stats.binom(60, 0.4)
    refused = [((-1, 0.4), "n has the value"), ((3, -0.1), "p has the value"), ((3, 1.1), "p has the value")]


class TestNegativeBinomial(CountsContract):
    function = staticmethod(ns.random.negative_binomial)
    parameters = (2.5, 0.2)
    law = scipy.stats.nbinom(2.5, 0.2)
    refused = [
        ((0.0, 0.2), "n has the value"),
        ((-1.0, 0.2), "n has the value"),
        ((2.0, 0.0), "p has the value"),
        ((2.0, 1.1), "p has the value"),
        ((1e10, 1e-9), "n is too large or p too small"),
    ]


class TestGeometric(CountsContract):
    function = staticmethod(ns.random.geometric)
    parameters = (0.2,)
    law = scipy.stats.geom(0.2)
    refused = [((0.0,), "p has the value"), ((1.1,), "p has the value")]


SHAPES = [  # of continuous distributions: function, parameters, SciPy's distribution
    *(
        ("beta", (a, b), scipy.stats.beta(a, b))
        for a, b in ((0.5, 0.5), (0.1, 3.0), (1.0, 1.0), (300.0, 0.7), (1e4, 2e4), (3.0, 1e8))
    ),
    *(("wald", (m, s), scipy.stats.invgauss(m / s, scale=s)) for m, s in ((1e4, 1.0), (1.0, 1e6), (1e-3, 1.0))),
    *(("weibull", (a,), scipy.stats.weibull_min(a)) for a in (0.1, 1.0, 50.0)),
    *(("pareto", (a,), scipy.stats.lomax(a)) for a in (0.2, 1.0, 1e6)),
    *(("standard_t", (df,), scipy.stats.t(df)) for df in (0.2, 1.0, 30.0, 1e9)),
    *(("chisquare", (df,), scipy.stats.chi2(df)) for df in (0.1, 1.0, 2.0, 100.0, 1e6)),
    ("standard_t", (INF,), scipy.stats.norm()),
    ("wald", (INF, 2.0), scipy.stats.levy(scale=2.0)),
    ("laplace", (0.0, 1.0), scipy.stats.laplace()),
    ("logistic", (0.0, 1.0), scipy.stats.logistic()),
    ("gumbel", (0.0, 1.0), scipy.stats.gumbel_r()),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name, parameters, law", SHAPES, ids=lambda v: str(v) if isinstance(v, tuple) else None)
def test_shapes_of_continuous_distributions(name, parameters, law, dtype):
    """Numbers and arrays; the smallest and largest of 200,000 draws are where they should be."""
    n = 200_000
    lowest, highest = law.support()
    lowest = lowest if lowest < 0 else np.finfo(dtype).smallest_subnormal  # what rounds to the ends of the support
    highest = highest if highest > 1 else 1 - np.finfo(dtype).epsneg
    with np.errstate(invalid="ignore"):
        low, high = np.nan_to_num(law.cdf([lowest, highest]))  # SciPy's inverse Gaussian is NaN next to 0
    for given in (parameters, [np.full(n, p) for p in parameters]):
        x = getattr(ns.random, name)(*given, size=n, rng=17, dtype=dtype).astype(float)
        share = np.mean(x < lowest), np.mean(x > highest)
        np.testing.assert_array_less(abs(share - np.array([low, 1 - high])), 4.5 * np.sqrt([low / n, (1 - high) / n]) + 1e-12)
        x = x[(x >= lowest) & (x <= highest)]
        if law.ppf(0.75) - law.ppf(0.25) > 1e4 * np.spacing(dtype(law.median())):  # else the floats are too far apart
            assert scipy.stats.kstest((law.cdf(x) - low) / (high - low), "uniform").pvalue > 1e-3
            if share == (0, 0):
                assert 1e-4 < n * law.cdf(x.min()) < 12 and 1e-4 < n * law.sf(x.max()) < 12


MASSES = [  # of counts
    *(("poisson", (m,), scipy.stats.poisson(m)) for m in (0.1, 1.0, 9.99, 10.0, 30.0, 1e3, 1e9)),
    *(
        ("binomial", (n, p), scipy.stats.binom(n, p))
        for n, p in (
            (1, 0.3),
            (10, 0.5),
            (10, 0.95),
            (40, 0.5),
            (1000, 0.7),
            (10**6, 1e-6),
            (2**31, 0.2),
            (2**40, 0.999),
            (2**50, 1e-14),
        )
    ),
    *(("negative_binomial", (n, p), scipy.stats.nbinom(n, p)) for n, p in ((0.5, 0.3), (1.0, 0.9), (100.0, 0.1), (1e6, 0.5))),
    *(("geometric", (p,), scipy.stats.geom(p)) for p in (0.9, 0.5, 0.01, 1e-6)),
]


@pytest.mark.parametrize("name, parameters, law", MASSES, ids=lambda v: str(v) if isinstance(v, tuple) else None)
def test_shapes_of_counts(name, parameters, law):
    n = 200_000
    check = CountsContract()
    check.law = law
    numbers = getattr(ns.random, name)(*parameters, n, rng=19)
    check.check_law(numbers)
    assert abs(numbers.mean() - law.mean()) < 4.5 * law.std() / math.sqrt(n)
    assert n * law.sf(numbers.max() - 1) > 1e-3 and n * law.cdf(numbers.min()) > 1e-3
    of_arrays = getattr(ns.random, name)(*(np.full(n, p) for p in parameters), rng=19)
    assert np.mean(numbers != of_arrays) < 1e-4  # another rounding where a draw is rejected or not


@pytest.mark.parametrize("a, b", [(1e-3, 2e-3), (1e-4, 1.0), (1e-8, 1e-8), (1e-310, 3e-310), (1e-310, 1.0), (2.0, 1e-3)])
def test_beta_of_small_shapes(a, b, device):
    """Quantiles of what is above 1e-300 and below 1; the shares of the ends."""
    n = 2_000 if device["device"] == "cuda" else 200_000
    x = ns.random.beta(a, b, n, rng=3, **device)
    law = scipy.stats.beta(max(a, 1e-300), max(b, 1e-300))
    low = law.cdf(0.5) if a > 1e-300 else b / (a + b)
    assert abs(np.mean(x < 0.5) - low) < 4.5 * math.sqrt(low * (1 - low) / n) + 1e-9
    for t in (1e-300, 1e-100, 1e-10, 1.0 - 1e-10):
        p = law.cdf(t) if min(a, b) > 1e-300 else low
        assert abs(np.mean(x <= t) - p) < 4.5 * math.sqrt(p * (1 - p) / n) + 1e-9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parameters_at_the_ends_of_floats(dtype, device):
    """Whatever is in the domain gives a number; degenerate distributions give their one value."""
    tiny, huge = (1e-310, 1e308) if dtype == np.float64 else (1e-40, 3e38)
    options = dict(rng=1, dtype=dtype, **device)
    pairs = np.array([(a, b) for a in (tiny, 1e-30, 1.0, 1e30, huge) for b in (tiny, 1e-30, 1.0, 1e30, huge)]).T
    x = ns.random.beta(*pairs, (50, 25), **options)
    assert ((x >= 0) & (x <= 1)).all()
    np.testing.assert_allclose(ns.random.beta(huge, huge, 5, **options), 0.5, rtol=1e-6)
    assert (ns.random.wald(*pairs, (50, 25), **options) >= 0).all()
    np.testing.assert_allclose(ns.random.wald(1.0, huge, 5, **options), 1.0, rtol=1e-6)
    assert (ns.random.chisquare(tiny, 5, **options) == 0).all() and (ns.random.chisquare(INF, 5, **options) == INF).all()
    np.testing.assert_allclose(ns.random.chisquare(huge, 5, **options), huge, rtol=1e-6)
    assert not np.isnan(ns.random.standard_t(tiny, 50, **options)).any()
    assert (ns.random.weibull(0.0, 5, **options) == 0).all() and (ns.random.weibull(INF, 5, **options) == 1).all()
    assert (ns.random.pareto(INF, 5, **options) == 0).all() and not np.isnan(ns.random.pareto(tiny, 5, **options)).any()
    for f in (ns.random.laplace, ns.random.logistic, ns.random.gumbel):
        assert (f(3.0, 0.0, 5, **options) == 3).all()


def test_counts_at_the_ends_of_integers(device):
    options = dict(size=50, rng=1, **device)
    for x, want in (
        (ns.random.poisson(0.0, **options), 0),
        (ns.random.binomial(0, 0.5, **options), 0),
        (ns.random.binomial(7, 0.0, **options), 0),
        (ns.random.binomial(7, 1.0, **options), 7),
        (ns.random.binomial(10**15, 1.0, **options), 10**15),
        (ns.random.negative_binomial(3.0, 1.0, **options), 0),
        (ns.random.geometric(1.0, **options), 1),
        (ns.random.geometric(1e-300, **options), 2**63 - 1024),
        (ns.random.geometric(1e-300, dtype="int32", **options), 2**31 - 1),
        (ns.random.poisson(1e15, dtype=np.int32, **options), 2**31 - 1),
    ):
        assert (x == want).all()
    for mean in (1e15, 9.2e18):
        z = (ns.random.poisson(mean, **options) - mean) / mean**0.5
        assert scipy.stats.kstest(z, "norm").pvalue > 1e-3
    x = ns.random.binomial(2**62, 0.5, **options)
    assert (abs(x - 2.0**61) < 6 * 2.0**30).all() and np.unique(x).size == 50
    with pytest.raises(ValueError, match="2.9, which is no number of trials"):
        ns.random.binomial(2.9, 1.0, **options)
    narrow, wide = (ns.random.poisson([3.0, 300.0], (50, 2), rng=1, dtype=d, **device) for d in ("int32", "int64"))
    assert narrow.dtype == np.int32 and (narrow == wide).all()


BOUNDARIES = {  # by function, parameters on both sides of what NumPy allows
    "beta": [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (NAN, 1.0), (5e-324, 1.0)],
    "wald": [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (NAN, 1.0), (1.0, -1.0)],
    "poisson": [(0.0,), (-1e-300,), (NAN,), (INF,), (9.2233720064e18,), (9.2233720066e18,)],
    "binomial": [(3, 0.0), (3, 1.0), (0, 0.5), (-1, 0.5), (3, NAN), (3, -1e-300), (3, 1.0000000000000002)],
    "negative_binomial": [(3.0, 0.5), (0.0, 0.5), (3.0, 0.0), (3.0, 1.0), (NAN, 0.5), (3.0, NAN), (1e18, 0.1), (1.1e18, 0.1)],
    "geometric": [(1.0,), (0.0,), (NAN,), (1.5,), (5e-324,)],
    "weibull": [(0.0,), (-1.0,), (NAN,)],
    "pareto": [(1.0,), (0.0,), (NAN,), (-1.0,)],
    "standard_t": [(1.0,), (0.0,), (NAN,)],
    "chisquare": [(1.0,), (0.0,), (NAN,)],
    "laplace": [(0.0, 1.0), (0.0, 0.0), (0.0, -1.0), (NAN, 1.0), (0.0, NAN)],
    "logistic": [(0.0, 1.0), (0.0, 0.0), (0.0, -1.0), (NAN, 1.0), (0.0, NAN)],
    "gumbel": [(0.0, 1.0), (0.0, 0.0), (0.0, -1.0), (NAN, 1.0), (0.0, NAN)],
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_what_is_refused_and_the_parameters_are_those_of_numpy(name):
    theirs, ours = getattr(np.random.default_rng(1), name), getattr(ns.random, name)

    def refuses(function, given):
        try:
            function(*given)
        except ValueError:
            return True
        return False

    for given in BOUNDARIES[name]:
        as_arrays = [np.array([p, p]) for p in given]
        assert refuses(ours, given) == refuses(ours, as_arrays) == refuses(theirs, given) == refuses(theirs, as_arrays), given
    given = BOUNDARIES[name][0]
    assert ours(*given, rng=1).dtype == np.asarray(theirs(*given)).dtype
    expected = list(inspect.signature(theirs).parameters.values())
    found = list(inspect.signature(ours).parameters.values())[: len(expected)]
    assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in expected]


def test_aliases():
    assert ns.random.student_t is ns.random.standard_t and ns.random.inverse_gaussian is ns.random.wald


def test_arguments_of_other_libraries_are_translated():
    """And nothing else changes: the signature, pickling, other errors."""
    for wrong, right in (("seed", "rng"), ("random_state", "rng"), ("n_jobs", "workers"), ("n_samples", "size")):
        with pytest.raises(TypeError, match=rf"normal\(\) has no argument '{wrong}': use {right}="):
            ns.random.normal(**{wrong: 1})
    with pytest.raises(TypeError, match="use sigma="):
        ns.random.truncnorm(mu=0.0, scale=1.0, lo=0.0, hi=1.0)
    with pytest.raises(TypeError, match=r"normal\(\) has no argument 'sead': it takes loc, scale, size, rng, offset, dtype"):
        ns.random.normal(sead=1)
    with pytest.raises(TypeError, match="rng is a str"):
        ns.random.normal(rng="seed")
    assert list(inspect.signature(ns.random.normal).parameters)[:3] == ["loc", "scale", "size"]
    assert pickle.loads(pickle.dumps(ns.random.gamma)) is ns.random.gamma


def test_words_of_counters_are_never_renumbered():
    """Documented: stream | purpose << 24, in a registry whose values stay."""
    assert stream_word(Purpose.NORMAL, 5) == 5 + 2 * 2**24
    assert {p.name: p.value for p in Purpose} == {
        "UNIFORM": 1,
        "NORMAL": 2,
        "EXPONENTIAL": 3,
        "GAMMA": 4,
        "TRUNCNORM": 5,
        "BETA": 6,
        "WALD": 7,
        "POISSON": 8,
        "BINOMIAL": 9,
        "NEGATIVE_BINOMIAL": 10,
        "GEOMETRIC": 11,
        "WEIBULL": 12,
        "PARETO": 13,
        "STANDARD_T": 14,
        "CHISQUARE": 15,
        "LAPLACE": 16,
        "LOGISTIC": 17,
        "GUMBEL": 18,
        "POLYA_GAMMA": 19,
        "MIXTURE_START": 48,
        "MIXTURE_SAMPLE": 49,
        "STABLE": 50,
        "BAYES": 51,
    }


def test_laws_do_not_share_their_words():
    """Normal and exponential draws under one key are uncorrelated, and float32 has a stream of its own."""
    n = 100_000
    draws = [
        ns.random.uniform(size=n, rng=5),
        ns.random.normal(size=n, rng=5),
        ns.random.exponential(size=n, rng=5),
        ns.random.gamma(2.0, size=n, rng=5),
        ns.random.truncnorm(0.0, 1.0, -1.0, 1.0, n, rng=5),
        ns.random.normal(size=n, rng=5, dtype=np.float32),
        *(getattr(ns.random, law)(size=n, rng=5) for law in ("laplace", "logistic", "gumbel", "poisson")),
        *(getattr(ns.random, law)(5.0, size=n, rng=5) for law in ("weibull", "pareto", "standard_t", "chisquare")),
        *(getattr(ns.random, law)(2.0, 3.0, size=n, rng=5) for law in ("beta", "wald", "polya_gamma")),
        *(getattr(ns.random, law)(50, 0.3, size=n, rng=5) for law in ("binomial", "negative_binomial")),
        ns.random.geometric(0.3, size=n, rng=5),
    ]
    r = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(r).max() < 4.5 / math.sqrt(n)


def test_key_for_kernels_of_ones_own():
    seed = np.random.SeedSequence(5).generate_state(1, np.uint64)[0]
    for rng in (5, np.random.SeedSequence(5)):
        low, high = ns.random.key(rng)
        assert low.dtype == high.dtype == np.uint32 and int(low) + (int(high) << 32) == int(seed)
    generator = np.random.default_rng(2)
    assert ns.random.key(generator) != ns.random.key(generator) and ns.random.key() != ns.random.key()
    with pytest.raises(TypeError, match="RandomState"):
        ns.random.key(np.random.RandomState(1))


def test_words_are_philox_of_the_documented_counters():
    """The uniform draws recomputed from plain Python integers."""
    k0, k1 = (int(w) for w in key_words(normalise_rng(99)))

    def philox(c0, c1, c2, c3, k0=k0, k1=k1):
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
            k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
        return c0, c1, c2, c3

    u = ns.random.uniform(size=200, rng=99)
    for i in (0, 1, 31, 32, 63, 64, 130, 199):
        group, j = divmod(i, 64)
        words = philox(group * 32 + j % 32, 0, 0, int(stream_word(Purpose.UNIFORM)))
        hi, lo = words[2 * (j // 32)], words[2 * (j // 32) + 1]
        assert u[i] == (((hi << 32 | lo) >> 12) + 0.5) * 2.0**-52


def test_purposes_are_registered_once():
    assert len({int(p) for p in Purpose}) == len(Purpose)
    with pytest.raises(ValueError, match="2\\*\\*24"):
        stream_word(Purpose.NORMAL, 1 << 24)


def test_bit_generators_give_64_bits():
    """Those that make 32 bits at a time as well; the same key as the generator around them."""
    for kind in (np.random.PCG64, np.random.MT19937):
        assert normalise_rng(kind(1)) == normalise_rng(np.random.Generator(kind(1))) > 2**33


@pytest.mark.parametrize(
    "dtype, sigma, lo, hi", [(np.float64, 1e308, -1e-16, 0.0), (np.float64, 1e200, 3e-200, 5e-200), (np.float32, 1e38, 0.0, 1e-7)]
)
def test_truncated_normal_in_an_interval_that_is_nothing_beside_sigma(dtype, sigma, lo, hi):
    """Uniform between the ends; the interval in units of sigma underflows, and all draws were the same end."""
    x = ns.random.truncnorm(0.0, sigma, lo, hi, 20_000, rng=3, dtype=dtype).astype(float)
    lo, hi = float(dtype(lo)), float(dtype(hi))
    assert scipy.stats.kstest((x - lo) / (hi - lo), "uniform").pvalue > 1e-3


def test_size_may_be_an_array():
    assert ns.random.uniform(size=np.array([2, 3])).shape == ns.random.uniform(0.0, np.ones(3), (2, 3)).shape == (2, 3)
    assert ns.random.uniform(np.zeros((1, 1)), size=(0, 2)).shape == (0, 2)
    for bad in ("3", [2, "a"], (None,), np.array([1.5])):
        with pytest.raises(TypeError, match="integers"):
            ns.random.uniform(size=bad)
    with pytest.raises(ValueError, match="cannot hold"):
        ns.random.uniform(np.zeros(3), size=(3, 1))


def test_shape_of_out_is_named_where_parameters_do_not_fit():
    """The message spoke of a `size` that the call did not have."""
    with pytest.raises(ValueError, match=r"^out of shape \(3,\) cannot hold parameters of shape \(2, 3\)"):
        ns.random.normal(np.zeros((2, 3)), out=np.empty(3))


@pytest.mark.parametrize("dtype, shape", [("float64", 1e-310), ("float64", 1e-308), ("float32", 1e-40)])
def test_gamma_of_the_smallest_shapes(dtype, shape):
    """E/shape overflows. With an infinite scale a positive number became NaN."""
    tiny, ones = np.full(1000, shape), np.ones(1000)
    assert (ns.random.gamma(tiny, ones, rng=1, dtype=dtype) == 0).all()
    assert (ns.random.gamma(tiny, np.inf, rng=1, dtype=dtype) == np.inf).all()
    assert (ns.random.gamma(tiny, 0.0, rng=1, dtype=dtype) == 0).all()
    assert np.isnan(ns.random.gamma([0.0, np.inf], [np.inf, 0.0], rng=1, dtype=dtype)).all()


def test_parameters_are_checked():
    with pytest.raises(TypeError, match="scale has dtype complex128"):
        ns.random.normal(0.0, np.array([1j]))
    with pytest.raises(ValueError, match="broadcast"):
        ns.random.normal(np.zeros(2), np.ones(3))
    with pytest.raises(TypeError, match="rng is a ndarray"):
        ns.random.uniform(rng=np.array([1, 2]))
    assert np.isnan(ns.random.gamma(0.0, math.inf)) and ns.random.gamma(0.0, 2.0) == 0.0


def test_float32_and_float64_parameters():
    a = ns.random.normal(np.float32(1.0), np.array([1, 2], np.int32), (3, 2), rng=1)
    assert a.dtype == np.float64
    assert same(a, ns.random.normal(1.0, [1.0, 2.0], (3, 2), rng=1))


def test_parameters_decide_the_kind():
    torch = pytest.importorskip("torch")
    want = ns.random.normal(np.zeros(3), np.ones((2, 1)), rng=1)
    x = ns.random.normal(torch.zeros(3), torch.ones(2, 1), rng=1)
    assert isinstance(x, torch.Tensor) and same(x.numpy(), want)
    assert isinstance(ns.stable.rvs(torch.tensor(2.0), 0.0, size=2, rng=1), torch.Tensor)
    x = ns.random.gamma(cuda.to_device(np.ones(3)), size=(2, 3), rng=1)
    assert same(x.copy_to_host(), ns.random.gamma(1.0, size=(2, 3), rng=1, device="cuda"))
    with pytest.raises(TypeError, match="loc requires gradients"):
        ns.random.normal(torch.zeros(3, requires_grad=True))
    with pytest.raises(TypeError, match="bfloat16"):
        ns.random.normal(torch.zeros(3, dtype=torch.bfloat16))


def test_out_may_overlap_a_parameter():
    for function in (ns.random.gamma, ns.random.normal):
        want = function(np.arange(1.0, 8.0), 1.0, rng=1)
        base = np.arange(1.0, 9.0)
        function(base[:7], 1.0, out=base[1:], rng=1)
        assert (base[1:] == want).all()
        base = np.arange(1.0, 8.0)
        assert (function(base, 1.0, out=base, rng=1) == want).all()
