"""Means and variances against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import numbastats.distributions as D
from numbastats import ConvergenceWarning
from numbastats.distributions import (
    GEV,
    GPD,
    NIG,
    Beta,
    BurrXII,
    Frechet,
    Gamma,
    GeneralizedHyperbolic,
    Laplace,
    Logistic,
    LogLogistic,
    Lomax,
    Mixture,
    Normal,
    Pareto,
    StudentT,
    Uniform,
    VarianceGamma,
    generalized_hyperbolic,
    hyperbolic,
    moments,
    nig,
    student_t,
)
from tests.contract import same
from tests.distributions.cases.generalized_hyperbolic import CASE as GENERALIZED_HYPERBOLIC
from tests.distributions.cases.variance_gamma import CASE as VARIANCE_GAMMA
from tests.distributions.naive import CASES, general


def exact_moments(law, p):
    """Mean and variance through the Bessel functions, in twice the digits that they lose."""
    if law is student_t:
        (n,) = p
        return (0, (n / (n - 2) if n > 2 else math.inf)) if n > 1 else (math.nan, math.nan)
    lam, a, b, d, mu = general(law, p)
    gamma = mpmath.sqrt((a - b) * (a + b))
    if d == 0:
        w, spread = 2 * lam / gamma**2, 4 * lam / gamma**4
    else:
        k0, k1, k2 = (mpmath.besselk(lam + i, d * gamma) for i in range(3))
        w, spread = d / gamma * k1 / k0, (d / gamma) ** 2 * (k2 * k0 - k1**2) / k0**2
    return mu + b * w, w + b * b * spread


MOMENTS = [
    *CASES,
    (student_t, (1.0,)),
    (student_t, (1.5,)),
    (student_t, (2.0 + 2e-15,)),
    (student_t, (1e300,)),
    *(
        (generalized_hyperbolic, (lam, alpha, share * alpha, delta / alpha))
        for lam in (-1.5, -1.0, 0.0, 0.3, 2.5, 40.0, -1e4)
        for delta in (1e-25, 1e-3, 1.0, 30.0, 1e12)
        for alpha, share in ((1e-100, 0.999999), (3.0, -0.5), (1e100, 0.999999999999))
    ),
]


@pytest.mark.parametrize(("law", "p"), MOMENTS)
def test_moments(law, p):
    with mpmath.workdps(80):
        want = [float(v) for v in exact_moments(law, p)]
    np.testing.assert_allclose([law.mean(*p), law.var(*p)], want, rtol=1e-14)  # observed 3e-15
    np.testing.assert_allclose(law.std(*p), math.sqrt(want[1]), rtol=1e-14)


def test_moments_of_frozen_laws_and_arrays():
    nu = np.array([[-1.0, 0.5, 1.0], [1.5, 2.0, 3.0]])
    assert same(student_t.mean(nu), [[math.nan] * 3, [0.0] * 3])
    assert same(student_t.var(nu), [[math.nan] * 3, [math.inf, math.inf, 3.0]])
    assert student_t.mean(np.zeros((0, 2))).shape == (0, 2)
    frozen = hyperbolic(1.5, np.array([0.3, -0.3]), 1.0, mu=np.array([[0.0], [2.0]]))
    x = frozen.rvs((200_000, 2, 2), rng=1)
    for got, drawn in ((frozen.mean(), x.mean(0)), (frozen.std(), x.std(0)), (frozen.median(), np.median(x, 0))):
        assert got.shape == (2, 2)
        np.testing.assert_allclose(got, drawn, atol=0.02)  # the means have standard deviations of 0.004; observed 0.008
    np.testing.assert_allclose(frozen.cdf(frozen.median()), 0.5, rtol=1e-13)
    assert type(nig(1.5, 0.3, 1.0).mean()) is np.float64
    assert nig.median(1.5, 0.3, 1.0) == nig.ppf(0.5, 1.5, 0.3, 1.0)
    with pytest.raises(ValueError, match=r"NIG\(.*delta=1e-90.*1e-70"):
        nig.var(1.5, 0.3, 1e-90)


SHAPES = [
    *(
        GeneralizedHyperbolic(lam, alpha, share * alpha, delta / alpha)
        for lam in (-90.0, -0.5, 1.0, 101.0, -1e4)
        for delta in (1e-6, 0.3, 98.0, 103.0, 1e5)
        for alpha, share in ((1e-100, -0.5), (3.0, 0.999999))
    ),
    *(VarianceGamma(lam, 3.0, beta) for lam in (0.01, 0.5, 1.0, 1e4) for beta in (-1.0, 0.1, 2.99999)),
]


EXACT = {case.cls: case.exact for case in (GENERALIZED_HYPERBOLIC, VARIANCE_GAMMA)}


@pytest.mark.parametrize("d", SHAPES, ids=repr)
def test_skewness_and_kurtosis(d):
    with mpmath.workdps(50):
        want = [float(v) for v in EXACT[type(d)].skewness_kurtosis(d)]
    np.testing.assert_allclose([d.skewness(), d.kurtosis()], want, rtol=1e-12)  # observed 1.5e-15


def test_cumulants_of_the_mixing_distribution_by_sums_and_series():
    """Of orders 1 and 2 sums lose nothing; both ways agree where one takes over from the other."""
    for lam, z in ((0.0, 150.0), (120.0, 90.0), (-300.0, 1.0)):
        mode, h, c = moments.mixing_cumulants(lam, 1.0, z)
        other, mean, var = moments.mixing_moments(lam, 1.0, z)
        np.testing.assert_allclose([mode, c[0], c[1] / h], [other, mean, var], rtol=1e-14)


def test_shapes_of_frozen_laws_and_arrays():
    nu = np.array([-1.0, 1.0, 2.0, 2.5, 4.0, 10.0])
    assert same(student_t.skewness(nu), [math.nan] * 4 + [0.0] * 2)
    np.testing.assert_array_equal(student_t.kurtosis(nu), [math.nan] * 3 + [math.inf] * 2 + [1.0])
    frozen = hyperbolic(1.5, np.array([0.3, -0.3]), 1.0)
    assert same(frozen.skewness(), frozen.skewness()[0] * np.array([1.0, -1.0])) and frozen.kurtosis().shape == (2,)
    assert frozen.skewness()[0] == generalized_hyperbolic.skewness(1.0, 1.5, 0.3, 1.0) > 0.0
    assert math.copysign(1.0, nig.skewness(1.5, 0.0, 1.0)) == 1.0
    np.testing.assert_allclose(nig.kurtosis(2.0, 0.0, 1.0), 1.5, rtol=1e-14)  # 3/(alpha delta)
    assert np.isnan(nig.kurtosis(1.5, 1.6, 1.0))
    with pytest.raises(ValueError, match=r"NIG\(.*delta=1e-90.*1e-70"):
        nig.kurtosis(1.5, 0.3, 1e-90)


# --- up to the end of their existence ---------------------------------------------------------------------------

SLOW = {  # an integral that falls slowly, and its value
    "t of 2.1": (lambda: StudentT(2.1).expect(np.square), 21.0),
    "t of 2.05": (lambda: StudentT(2.05).expect(np.square), 41.0),
    "t of 2.02": (lambda: StudentT(2.02).expect(np.square), 101.0),
    "t of 2.001": (lambda: StudentT(2.001).expect(np.square), 2001.0),
    "t of 1.01": (lambda: StudentT(1.01).expect(), 0.0),
    "t of 2.02 elsewhere": (lambda: StudentT(2.02, loc=100.0, scale=3.0).expect(np.square), 10909.0),
    "t of 0.01": (lambda: StudentT(0.01).expect(lambda x: np.abs(x) ** 0.005), 1.97026592153746),
    **{
        f"truncated GPD of {s}": (lambda s=s: D.truncate(GPD(s), lb=0.0).mean(), 1.0 / (1.0 - s))
        for s in (0.97, 0.98, 0.99, 0.999)
    },
    "GPD of -x": (lambda: (GPD(0.99) * -1.0).expect(), -100.0),
    "var of a composed t": (lambda: D.truncate(StudentT(2.02)).var(), 101.0),
    "abs of t": (lambda: D.abs(StudentT(1.01)).mean(), 64.42187779577048),
    "exp of Laplace": (lambda: D.exp(Laplace(scale=0.99)).mean(), 1.0 / 0.0199),
    "exp of logistic": (lambda: D.exp(Logistic(scale=0.99)).mean(), 99.01628672258187),
    "exp of gamma": (lambda: D.exp(Gamma(2.0, scale=0.99)).mean(), 1e4),  # with a logarithm beside the power
    "exp of gamma far away": (lambda: D.exp(Gamma(2.0, loc=300.0, scale=0.97)).mean(), math.exp(300.0) / 0.0009),
    "exp of gamma of shape 0.3": (lambda: D.exp(Gamma(0.3, scale=0.99)).mean(), 0.01**-0.3),
    "exp of NIG": (lambda: D.exp(NIG(1.01, 0.0, 1.0)).mean(), math.exp(1.01 - math.sqrt(0.0201))),
    "exp of NIG at the end": (lambda: D.exp(NIG(1.0, 0.0, 1.0)).mean(), math.e),
    "order statistic": (lambda: D.order_statistic(Pareto(0.505), r=1, n=2).mean(), 101.0),
    "mixture": (lambda: Mixture([Lomax(1.01), Normal()]).expect(np.abs), 50.0 + math.sqrt(0.5 / math.pi)),
    "Burr": (lambda: D.truncate(BurrXII(0.5, 2.02)).mean(), 2.02 * 2.0 / (0.02 * 1.02 * 2.02)),
    "shortfall": (lambda: Lomax(1.01).expected_shortfall(0.01, upper=True), 9648.82402498228),
    "shortfall of few": (lambda: Frechet(1.01).expected_shortfall(0.999999, upper=True), 100.43258931540036),
    "inverse of gamma": (lambda: Gamma(1.005).expect(np.reciprocal), 200.0),
    "inverse of beta": (lambda: Beta(1.01, 3.0).expect(np.reciprocal), 301.0),
    "power at 0": (lambda: Uniform().expect(lambda x: x**-0.99), 100.0),
    "power at 1": (lambda: Uniform(1.0, 1.0).expect(lambda x: (x - 1.0) ** -0.5), 2.0),
}


@pytest.mark.parametrize("name", SLOW)
def test_integrals_that_fall_slowly(name):
    value, want = SLOW[name]
    np.testing.assert_allclose(value(), want, rtol=3e-12, atol=1e-12)  # observed 7e-13


def test_slow_integrals_of_a_batch():
    d = StudentT([2.02, 1.9, 5.0, math.nan], loc=[[0.0], [1.0]])
    np.testing.assert_allclose(
        d.expect(np.square), [[101.0, math.inf, 5.0 / 3.0, math.nan], [102.0, math.inf, 8.0 / 3.0, math.nan]]
    )


def test_integrals_that_are_infinite_or_unknown():
    for d, func in (
        *((StudentT(df), np.square) for df in (1.0, 1.999, 2.0)),
        *((GPD(s), np.positive) for s in (1.0, 1.001, 3.0)),
        (D.exp(Gamma(1.5)), np.positive),
        (D.exp(NIG(0.999, 0.0, 1.0)), np.positive),
        (Gamma(1.0), np.reciprocal),
        (Gamma(0.999), np.reciprocal),
        (Uniform(1.0, 1.0), lambda x: 1.0 / (x - 1.0)),
        (Normal(), lambda x: np.exp(0.51 * x * x)),
        (D.truncate(StudentT(0.9), lb=0.0), lambda x: np.square(x - math.inf)),
    ):
        assert d.expect(func) == math.inf, d
    assert np.isnan(StudentT(1.0).expect()) and np.isnan(StudentT(0.5).expect())
    assert (Lomax(1.0) * -1.0).expect() == -math.inf
    for d, func in (
        (StudentT(2.0 + 1e-12), np.square),
        (Normal(), lambda x: np.exp(0.499 * x * x)),
        (BurrXII(0.01, 101.0), None),
    ):
        with pytest.warns(ConvergenceWarning, match="beyond all doubles: it is NaN"):
            assert np.isnan(d.expect(func))


def gev_shape(a):
    """Skewness and excess kurtosis through the gamma function."""
    one, two, three, four = (mpmath.gamma(1 - n * mpmath.mpf(a)) for n in (1, 2, 3, 4))
    var = two - one**2
    skewness = mpmath.sign(a) * (three - 3 * one * two + 2 * one**3) / var ** mpmath.mpf(1.5)
    return skewness, (four - 4 * one * three + 6 * one**2 * two - 3 * one**4) / var**2 - 3


def test_skewness_and_kurtosis_of_gev():
    shapes = [-100.0, -5.0, -1.0, -0.5, -0.39, -0.25, -0.2, -0.05, -1e-9, 1e-9, 0.01, 0.1, 0.2, 0.2499, 0.3, 0.331, 0.3333]
    with mpmath.workdps(60):
        want = np.array([[float(v) for v in gev_shape(a)] for a in shapes])
    d = GEV(shapes)
    np.testing.assert_allclose(d.skewness(), want[:, 0], rtol=1e-12)  # observed 2e-13
    fourth = d.shape < 0.25
    np.testing.assert_allclose(d.kurtosis()[fourth], want[fourth, 1], rtol=2e-12)  # observed 4e-13
    assert (d.kurtosis()[~fourth] == math.inf).all()
    assert np.isnan(GEV([1.0 / 3.0, 0.4, 0.6]).skewness()).all()
    assert same(GEV([0.25, 0.4, 0.6]).kurtosis(), [math.inf, math.inf, math.nan])
    np.testing.assert_allclose([GEV(0.0).skewness(), GEV(0.0).kurtosis()], [1.1395470994046486, 2.4], rtol=1e-15)
    np.testing.assert_allclose(GEV(0.331).skewness(), Frechet(1.0 / 0.331).skewness(), rtol=1e-10)


def test_variances_beside_squares_that_are_no_doubles():
    np.testing.assert_allclose(LogLogistic(1173.0, scale=1.7e155).var(), 6.910072336142e304, rtol=1e-10)
    assert Normal(scale=1e200).std() == 1e200 and Normal(scale=1e-200).std() == 1e-200
    assert Normal(scale=1e200).var() == math.inf and Normal(scale=[1.0, 1e200]).std().tolist() == [1.0, 1e200]
    assert np.isnan(StudentT(0.9, scale=1e200).std()) and StudentT(1.5).std() == math.inf
