"""Student's t, generalised hyperbolic and stable distributions as objects: tables of mpmath, quadrature, and their families."""

from __future__ import annotations

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import numbastats as ns
from numbastats.distributions import NIG, GeneralizedHyperbolic, Hyperbolic, Stable, StudentT, VarianceGamma
from tests.contract import same
from tests.distributions.objects import exact_of

NAMES = {cls.__name__: cls for cls in (NIG, GeneralizedHyperbolic, Hyperbolic, VarianceGamma)}
ROWS = json.loads((Path(__file__).parents[1] / "reference" / "distributions.json").read_text())


@pytest.mark.parametrize("name", sorted({row["distribution"] for row in ROWS}))
def test_hyperbolic_tails(name):
    """`make_distributions.py`: tails to 1e-1300, quantiles of those above 1e-290, expected shortfalls."""
    d = eval(name, NAMES)
    for row in (r for r in ROWS if r["distribution"] == name):
        x, upper = row["x"], row["upper"]
        log_density, log_tail, shortfall = (mpmath.mpf(row[key]) for key in ("logpdf", "log_tail", "shortfall"))
        slack = 1e-13 + 1e-15 * abs(float(log_tail))  # observed 2e-14 and 4e-16
        assert abs(float(d.logpdf(x) - log_density)) < slack
        assert abs(float((d.logsf if upper else d.logcdf)(x) - log_tail)) < slack, row
        if log_tail < -660.0:
            continue
        p = float(row["tail"])
        tail, quantile = (d.sf, d.isf) if upper else (d.cdf, d.ppf)
        np.testing.assert_allclose(tail(x), p, rtol=slack)
        moves = float(mpmath.exp(log_density - log_tail))  # relative change of p by x
        assert abs(float(quantile(p)) - x) * moves < slack + 4e-16 * abs(x) * moves, row
        np.testing.assert_allclose(d.expected_shortfall(p, upper=upper), float(shortfall), rtol=1e-12)  # observed 2e-14


@pytest.mark.parametrize("df", [0.3, 4.0, 200.0, 1e5])
def test_student_tails(df):
    d = StudentT(df, 1.0, 2.0)
    p = np.array([1e-290, 1e-100, 1e-25, 1e-18, 1e-5, 0.4])
    for upper in (False, True):
        for q, x in zip(p, (d.isf if upper else d.ppf)(p), strict=True):
            if not np.isfinite(x):
                assert df < 1 and q < 1e-90
                continue
            with mpmath.workdps(40):
                z, n = (mpmath.mpf(float(x)) - 1) / 2, mpmath.mpf(df)
                want = mpmath.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + z * z), regularized=True) / 2
                rounding = float(mpmath.exp(exact_of(d).log_density(d, x)) * abs(x) / want) * 4e-16
            assert abs(float(want / mpmath.mpf(float(q)) - 1)) < 3e-13 + rounding, (q, x)  # observed 8e-14
            got = float((d.sf if upper else d.cdf)(x))
            assert abs(float(got / want - 1)) < 2e-13 + rounding, (q, x)  # observed 5e-14


def test_student_scores_of_few_and_many_degrees_of_freedom():
    x = np.array([-40.0, 0.3, 1.0, 3.0])
    for df in (0.5, 4.0, 150.0, 1e3, 1e5):
        d = StudentT(df, 1.0, 2.0)
        for k, name in enumerate(d.names):
            for j, at in enumerate(x):
                with mpmath.workdps(40):
                    value, h = mpmath.mpf(float(getattr(d.params, name))), mpmath.mpf(10) ** -12
                    up, down = (exact_of(d).log_density(d, at, **{name: value + s}) for s in (h, -h))
                    want = float((up - down) / (2 * h))
                scale = abs(want) + (1.0 if name != "df" else 1.0 / df**2)
                assert abs(d.score(x)[k][j] - want) < 1e-10 * scale, (df, name, at)  # observed 3e-12


@pytest.mark.parametrize(
    "d",
    [
        NIG(2.0, 1.0, 0.5, 0.1),
        NIG(50.0, -40.0, 0.01, 0.002),
        Hyperbolic(1.5, 0.3, 1.0),
        GeneralizedHyperbolic(-1.2, 1.0, -0.4, 0.3, -1.0),
        VarianceGamma(0.7, 1.5, 0.3),
        VarianceGamma(3.0, 1.5, -0.9, 0.5),
    ],
    ids=repr,
)
def test_hyperbolic_scores(d):
    x = np.array([-3.0, 0.6, 20.0])
    for k, name in enumerate(d.names):
        for j, at in enumerate(x):
            with mpmath.workdps(30):
                value, h = mpmath.mpf(float(getattr(d.params, name))), mpmath.mpf(10) ** -10
                up, down = (exact_of(d).log_density(d, at, **{name: value + s}) for s in (h, -h))
                want = float((up - down) / (2 * h))
            assert abs(d.score(x)[k][j] - want) < 3e-12 * (1 + abs(want)), (name, at)  # observed 9e-13 by lam, else 3e-15


def test_scipy_has_the_same_parameters():
    x = np.array([-2.0, 0.1, 3.0])
    d = GeneralizedHyperbolic(1.5, 2.0, 0.5, 1.3, 0.2)
    peer = scipy.stats.genhyperbolic(1.5, 2.6, 0.65, 0.2, 1.3)
    np.testing.assert_allclose(d.pdf(x), peer.pdf(x), rtol=1e-12)
    np.testing.assert_allclose((d.mean(), d.var()), peer.stats(), rtol=1e-9)
    assert (d.loc, d.scale) == (0.2, 1.3)
    d = NIG(2.0, 0.5, 1.3, 0.2)
    np.testing.assert_allclose(d.pdf(x), scipy.stats.norminvgauss(2.6, 0.65, 0.2, 1.3).pdf(x), rtol=1e-12)
    assert VarianceGamma(1.0, 4.0, 0.0).scale == 0.25 and StudentT(3.0).to_scipy().kwds == {"loc": 0.0, "scale": 1.0}
    t = scipy.stats.t(3.0, 1.0, 2.0)
    np.testing.assert_allclose(StudentT(3.0, 1.0, 2.0).pdf(x), t.pdf(x), rtol=1e-14)


def test_expected_shortfall_of_student():
    """The closed form against the integral of SciPy's density, and its limit where squares leave the doubles."""
    for df in (1.5, 2.5, 30.0):
        d, peer = StudentT(df, 1.0, 2.0), scipy.stats.t(df, 1.0, 2.0)
        for p in (1e-4, 0.05, 0.7):
            q = peer.ppf(p)
            # with s = log distance: the tail is a power
            value = scipy.integrate.quad(
                lambda s, q=q, peer=peer: np.expm1(s) * peer.pdf(q - np.expm1(s)) * np.exp(s), 0, 300, epsabs=0, limit=500
            )[0]
            np.testing.assert_allclose(d.expected_shortfall(p), q - value / p, rtol=1e-7)
        np.testing.assert_allclose(d.expected_shortfall(0.05, upper=True) - 1.0, 1.0 - d.expected_shortfall(0.05), rtol=1e-13)
    tiny = StudentT(1.5).expected_shortfall([1e-200, 1e-280])
    np.testing.assert_allclose(tiny, 3.0 * StudentT(1.5).ppf([1e-200, 1e-280]), rtol=1e-12)


def test_stable_is_numbastats_stable():
    x = np.array([-3.0, 0.2, 5.0])
    batch = Stable([[1.5], [0.8]], 0.5, [0.0, 1.0, 2.0], 2.0, param="S1")
    for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        want = getattr(ns.stable, name)(x, [[1.5], [0.8]], 0.5, [0.0, 1.0, 2.0], 2.0, param="S1")
        assert same(getattr(batch, name)(x), want)
    for alpha, beta, param in ((1.5, 0.3, "S0"), (2.0, 0.0, "S0"), (0.7, 1.0, "S1"), (0.7, -1.0, "S0"), (1.0, 0.5, "S1")):
        ours = Stable(alpha, beta, 1.0, 2.0, param)
        theirs = ns.stable.Stable(alpha, beta, 1.0, 2.0, param)  # type: ignore[arg-type]
        np.testing.assert_array_equal(ours.mean(), theirs.mean())
        np.testing.assert_array_equal(ours.var(), theirs.var())
        np.testing.assert_array_equal(ours.std(), theirs.std())
        assert ours.support() == theirs.support()
        assert same(ours.rvs(5, rng=1), theirs.rvs(5, rng=1))
        np.testing.assert_allclose(np.stack(ours.score(x), -1), theirs.score(x), rtol=1e-12)
    assert repr(Stable(1.5, 0.0, param="S1")) == "Stable(alpha=1.5, beta=0.0, loc=0.0, scale=1.0, param='S1')"
    assert Stable(1.5, 0.0, param="S1") != Stable(1.5, 0.0)


def test_expected_shortfall_of_stable():
    """alpha = 2 is normal; else the integral of the distribution function over the logarithm of the distance."""
    np.testing.assert_allclose(
        Stable(2.0, 0.0, 1.0, 2.0).expected_shortfall(0.025),
        ns.distributions.Normal(1.0, 8.0**0.5).expected_shortfall(0.025),
        rtol=1e-11,
    )
    d, p = Stable(1.6, 0.4), 0.02
    q = float(d.ppf(p))
    value = scipy.integrate.quad(lambda s: float(d.cdf(q - np.expm1(s))) * np.exp(s), 0, 60, epsabs=0, epsrel=1e-10, limit=300)[0]
    np.testing.assert_allclose(d.expected_shortfall(p), q - value / p, rtol=1e-8)


@pytest.mark.parametrize("df", [4.0, 30.0, 99.0, 101.0, 1e6])
@pytest.mark.parametrize("p", [1e-25, 1e-300])
def test_deep_quantiles_of_students_t(df, p):
    """Against the incomplete beta function by mpmath; numbers and arrays."""
    d = StudentT(df)
    x = d.ppf(p)
    with mpmath.workdps(40):
        tail = mpmath.betainc(mpmath.mpf(df) / 2, 0.5, 0, df / (df + mpmath.mpf(float(x)) ** 2), regularized=True) / 2
    assert abs(float(tail / mpmath.mpf(p) - 1)) < 5e-13  # observed 1.5e-13
    assert x == d.ppf([p])[0] == -d.isf(p)


def test_infinite_degrees_of_freedom_are_the_normal_distribution():
    x, p = np.array([-30.0, -1.0, 0.0, 2.5]), np.array([1e-310, 1e-30, 0.2, 0.999])
    both = StudentT([math.inf, 3.0]).pdf(x[:, None])
    np.testing.assert_allclose(
        both, np.stack([scipy.stats.norm.pdf(x), scipy.stats.t.pdf(x, 3.0)], 1), rtol=2e-13
    )  # as documented; observed 1.4e-13
    d = StudentT(math.inf, 1.0, 2.0)
    np.testing.assert_allclose(d.logsf(x), scipy.stats.norm.logsf(x, 1.0, 2.0), rtol=1e-12)
    np.testing.assert_allclose(d.ppf(p), scipy.stats.norm.ppf(p, 1.0, 2.0), rtol=1e-13)
    assert d.var() == 4.0
    assert ns.interop.t.cdf(1.3, math.inf) == pytest.approx(scipy.stats.norm.cdf(1.3), rel=1e-14)


ENTROPIES = [
    *map(StudentT, (1e-50, 0.3, 2.0, 19.9, 20.1, 1e3, 1e8)),
    NIG(1.5, 0.3, 1.0, 0.5),
    NIG(50.0, 49.0, 1.0),
    NIG(1.5, 0.3, 1e-3, 5.0),
    GeneralizedHyperbolic(-2.0, 1.0, 0.9, 1.0, 3.0),
    Hyperbolic(2.0, -1.0, 0.5),
    VarianceGamma(3.0, 1.5, -0.9),
    VarianceGamma(0.3, 1.5, 0.3, 100.0),
    VarianceGamma(0.1, 1.5, 0.3),
]


@pytest.mark.parametrize("d", ENTROPIES, ids=repr)
def test_entropy(d):
    with mpmath.workdps(80 if isinstance(d, StudentT) else 20):
        want = float(exact_of(d).differential_entropy(d))
    assert abs(d.entropy() - want) <= (1e-13 if isinstance(d, StudentT) else 1e-11) * max(abs(want), 1.0)  # observed 6e-16, 2e-13


def test_shapes_of_student_and_stable_distributions():
    d = StudentT([1.0, 2.0, 3.0, 3.5, 4.0, 10.0, np.inf, np.nan])
    np.testing.assert_array_equal(d.skewness(), [np.nan] * 3 + [0.0] * 4 + [np.nan])
    np.testing.assert_array_equal(d.kurtosis(), [np.nan] * 2 + [np.inf] * 3 + [1.0, 0.0, np.nan])
    d = Stable([2.0, 1.9, 0.5, np.nan], 0.3, scale=2.0)
    np.testing.assert_array_equal(d.skewness(), [0.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(d.kurtosis(), [0.0, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(
        Stable(2.0, 0.0, scale=3.0).entropy(), ns.distributions.Normal(scale=3.0 * 2**0.5).entropy(), rtol=1e-12
    )
    np.testing.assert_allclose(
        Stable(1.0, 0.0, 5.0, [1.0, 2.0]).entropy(), np.log(4.0 * np.pi * np.array([1.0, 2.0])), rtol=1e-12
    )
    one = ns.stable.Stable(2.0, 0.0)
    assert one.skewness() == one.kurtosis() == 0.0 and np.isnan(ns.stable.Stable(1.5, 0.0).skewness())
    np.testing.assert_allclose(VarianceGamma(1.0, np.sqrt(2.0), 0.0).entropy(), 1.0 + np.log(np.sqrt(2.0)), rtol=1e-12)  # Laplace
