"""One dimension: both tails, quantiles, moments."""

from __future__ import annotations

import math
import pickle

import mpmath
import numpy as np
import pytest
from scipy import integrate

from numbastats import distributions, kde
from tests.kde.naive import CPU, KERNELS, PROFILE, WRAPS

pytestmark = WRAPS


def below(x, at, b, w, kernel):
    """Distribution function with 30 digits; t is the way through the support."""
    with mpmath.workdps(30):
        total = mpmath.mpf(0)
        for a, r, v in zip(at, b, w, strict=True):
            if kernel == "gaussian":
                total += v * mpmath.ncdf((mpmath.mpf(x) - a) / r)
            else:
                t = min(max((1 + (mpmath.mpf(x) - a) / r) / 2, mpmath.mpf(0)), mpmath.mpf(1))
                total += v * KERNELS[kernel].below(t)
        return total / mpmath.fsum(w)


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
def test_both_tails_and_quantiles(kernel):
    rng = np.random.default_rng(5)
    at, w, scale = rng.normal(size=25), rng.uniform(0.2, 1, 25), rng.uniform(0.5, 2, 25)
    fitted = kde.KDE(kernel, h=0.8, sigma="identity", tail=0.0, adaptive=scale, **CPU).fit(at, sample_weight=w)
    mirror = kde.KDE(kernel, h=0.8, sigma="identity", tail=0.0, adaptive=scale, **CPU).fit(-at, sample_weight=w)
    p = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.99])
    x = fitted.ppf(p)
    want = np.array([float(below(v, at, 0.8 * scale, w, kernel)) for v in x])
    slope = fitted.pdf(x) * np.spacing(np.abs(x))  # what the last digit of x means for p
    assert (np.abs(want - p) <= 1e-13 * p + 4 * slope).all()  # 2.9 slopes
    assert (np.abs(fitted.cdf(x) - want) <= 1e-13 * want + 4 * slope).all()
    np.testing.assert_allclose(mirror.isf(p), -x, rtol=1e-14)
    np.testing.assert_allclose(mirror.sf(-x), fitted.cdf(x), rtol=1e-14)
    np.testing.assert_allclose(fitted.sf(x) + fitted.cdf(x), 1, rtol=1e-14)
    np.testing.assert_allclose(fitted.interval(0.98), (fitted.ppf(0.01), fitted.isf(0.01)), rtol=1e-13)
    assert fitted.median() == fitted.ppf(0.5)


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
@pytest.mark.parametrize("boundary", [None, ("reflect", 0.0, None), ("reflect", 0.0, 2.5), ("periodic", 0.0, 4.0)])
def test_moments(kernel, boundary):
    """Against quadrature of the density."""
    rng = np.random.default_rng(7)
    at, w = rng.uniform(0.1, 2.4, 12), rng.uniform(0.2, 1, 12)
    options = {} if boundary is None else {"boundary": {0: boundary}}
    fitted = kde.KDE(kernel, h=0.15 if kernel == "gaussian" else 0.7, sigma="identity", **options, **CPU).fit(at, sample_weight=w)
    lo, hi = fitted.ppf([0.0, 1.0])
    edges = np.unique(np.clip(np.r_[lo, hi, at, at - 0.7, at + 0.7, 0.7 - at, 4.3 - at, 5 - at, at - 3.3, at + 3.3], lo, hi))

    def expected(g):
        return sum(
            integrate.fixed_quad(lambda x: g(x) * fitted.pdf(x), a, b, n=30)[0] for a, b in zip(edges, edges[1:], strict=False)
        )

    mean = expected(lambda x: x)
    rtol = 1e-10 if kernel == "gaussian" else 1e-12  # the rule does not see where the tails are cut
    assert expected(np.ones_like) == pytest.approx(1, rel=rtol)
    assert fitted.mean() == pytest.approx(mean, rel=rtol)
    assert fitted.var() == pytest.approx(expected(lambda x: (x - mean) ** 2), rel=10 * rtol)
    assert fitted.std() == math.sqrt(fitted.var())


def test_walls_and_gaps():
    at = np.array([0.1, 0.2, 0.9])
    fitted = kde.KDE(h=0.3, sigma="identity", boundary={0: ("reflect", 0.0, 1.0)}, **CPU).fit(at)
    assert (
        fitted.ppf([0.0, 1.0]).tolist() == [0.0, 1.0] and fitted.sf(-3.0) == pytest.approx(1, rel=1e-15) and fitted.sf(5.0) == 0
    )
    p = np.linspace(0.01, 0.99, 23)
    np.testing.assert_allclose(fitted.cdf(fitted.ppf(p)), p, rtol=1e-13)
    gap = kde.KDE(h=1.0, sigma="identity", **CPU).fit([0.0, 100.0])
    assert 1.0 <= gap.median() <= 99.0 and gap.ppf(0.75) == pytest.approx(100.0, rel=1e-14)
    assert gap.ppf(0.5 - 1e-12) < 1 and gap.isf(0.5 - 1e-12) > 99


def test_edges_of_quantiles_and_draws():
    x = np.random.default_rng(2).normal(size=300)
    fitted = kde.KDE(**CPU).fit(x.astype(np.float32))
    bad = fitted.ppf([[math.nan, -0.1], [1.1, 0.5]])
    assert np.isnan(bad.ravel()[:3]).all() and bad[1, 1] == fitted.median() and bad.dtype == np.float64
    assert fitted.ppf([]).shape == (0,) and np.ndim(fitted.isf(0.2)) == 0 and np.isnan(fitted.sf(math.nan))
    assert fitted.sf([-math.inf, math.inf]).tolist() == [1.0, 0.0]
    draws = fitted.rvs((3, 4), rng=1)
    np.testing.assert_array_equal(draws, fitted.sample(12, rng=1).reshape(3, 4))
    assert np.ndim(fitted.rvs(rng=1)) == 0 and kde.KDE(**CPU).fit(x.reshape(-1, 2)).rvs(5, rng=1).shape == (5, 2)
    with pytest.raises(ValueError, match="confidence"):
        fitted.interval(1.5)
    with pytest.raises(ValueError, match="one dimension"):
        kde.KDE(**CPU).fit(x.reshape(-1, 2)).ppf(0.5)
    with pytest.raises(ValueError, match="reflect"):
        kde.KDE(boundary={0: ("renorm", -9.0, None)}, **CPU).fit(x).var()


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "triweight", "gaussian", "logistic"])
@pytest.mark.parametrize("boundary", [None, ("reflect", -1.0, None)])
def test_many_values(kernel, boundary):
    """The table of the distribution function against sums, which a thousand values alone would get; its inverse against it."""
    rng = np.random.default_rng(8)
    x, w = np.abs(rng.standard_t(3, 400)) - 1.0, rng.uniform(0.2, 1, 400)
    fitted = kde.KDE(kernel, boundary=None if boundary is None else {0: boundary}, **CPU).fit(x, sample_weight=w)
    at, p = np.sort(rng.normal(0.0, 3.0, 50_000)), rng.uniform(size=20_000)
    p[:3] = 1e-9, 1e-5, 1 - 1e-7
    some = np.linspace(0, len(at) - 1, 700).astype(int)
    for function in (fitted.cdf, fitted.sf):
        table, sums = function(at)[some], np.array([function(v) for v in np.array_split(at[some], 7)]).reshape(-1)
        assert np.abs(table - sums).max() <= (1e-12 if kernel in ("gaussian", "logistic") else 2e-15)  # observed 2e-13, 8e-16
        low = (sums < 1e-7) & (sums > 0)
        np.testing.assert_allclose(table[low], sums[low], rtol=1e-12)
    assert set(fitted._line()._made) == {1, -1} and all(v.good for v in fitted._line()._made.values())
    for quantile, tail in ((fitted.ppf, fitted.cdf), (fitted.isf, fitted.sf)):
        back = np.concatenate([tail(v) for v in np.array_split(quantile(p)[:2000], 4)])
        exact = kernel not in ("gaussian", "logistic")
        assert (np.abs(back - p[:2000]) <= 1e-13 * p[:2000] + (2e-15 if exact else 1e-12)).all()
        assert back[0] == pytest.approx(1e-9, rel=1e-12 if boundary is None else 1e-6)  # at a wall the absolute error counts
    np.testing.assert_array_equal(fitted.ppf(np.r_[p[5:], 0.0, 1.0, np.nan, 2.0])[-4:], [*fitted.ppf([0.0, 1.0]), np.nan, np.nan])
    assert np.isnan(fitted.cdf(np.r_[at, np.nan])[-1])


def test_adaptive_scales_have_no_table():
    x = np.random.default_rng(9).normal(size=50)
    fitted = kde.KDE(adaptive="abramson", **CPU).fit(x)
    at = np.linspace(-3, 3, 5000)
    np.testing.assert_array_equal(fitted.cdf(at)[::500], np.concatenate([fitted.cdf(at[i : i + 1]) for i in range(0, 5000, 500)]))
    assert not fitted._line()._made


@pytest.mark.parametrize("kernel", ["epanechnikov", "tricube", "gaussian"])
@pytest.mark.parametrize("boundary", [None, ("reflect", 0.0, None)])
def test_distribution(kernel, boundary):
    """The object of `distributions` against sums over a fine grid."""
    rng = np.random.default_rng(10)
    x = rng.gamma(2.0, size=300)
    fitted = kde.KDE(kernel, boundary=None if boundary is None else {0: boundary}, **CPU).fit(x)
    d = fitted.distribution()
    g = np.linspace(*d.support(), 200_001)
    density = d.pdf(g)
    p = density * (g[1] - g[0])
    p[[0, -1]] *= 0.5
    mean, var = g @ p, (g - g @ p) ** 2 @ p
    assert (d.mean(), d.var()) == (fitted.mean(), fitted.var()) == pytest.approx((mean, var), rel=1e-8)
    assert d.skewness() == pytest.approx((g - mean) ** 3 @ p / var**1.5, rel=1e-7)
    assert d.kurtosis() == pytest.approx((g - mean) ** 4 @ p / var**2 - 3, rel=1e-7)
    assert d.entropy() == pytest.approx(-p @ np.log(np.where(density > 0, density, 1.0)), rel=1e-6)
    low = g <= d.ppf(0.05)
    assert d.expected_shortfall(0.05) == pytest.approx(g[low] @ p[low] / 0.05, rel=1e-3)
    assert d.expect(lambda v: v**2, lb=1.0, ub=2.0) == pytest.approx((g**2 * p)[(g >= 1) & (g <= 2)].sum(), rel=1e-3)
    at = np.array([[0.5, 1.0], [2.0, 3.0]])
    for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf"):
        got = getattr(d, name)(at)
        plain = getattr(fitted, name.removeprefix("log") if name != "logpdf" else name)(at.reshape(-1)).reshape(2, 2)
        np.testing.assert_array_equal(got, np.log(plain) if name in ("logcdf", "logsf") else plain)
        assert getattr(d, name)(at.astype(np.float32)).dtype == np.float32
    assert np.array_equal(d.rvs((3, 4), rng=1).reshape(-1), fitted.sample(12, rng=1)[:, 0]) and isinstance(d.rvs(rng=1), float)
    cut, moved = distributions.truncate(d, 1.0, 2.0), 1.0 - 2.0 * d
    assert cut.cdf(1.5) == pytest.approx((d.cdf(1.5) - d.cdf(1.0)) / (d.cdf(2.0) - d.cdf(1.0)), rel=1e-12)
    assert moved.ppf(0.2) == pytest.approx(1.0 - 2.0 * d.isf(0.2), rel=1e-12)
    assert d == fitted.distribution() and pickle.loads(pickle.dumps(d)).cdf(1.0) == d.cdf(1.0) and "300 samples" in repr(d)
    for refused in (lambda: d.score(1.0), lambda: type(d).fit(x), d.to_scipy):
        with pytest.raises(TypeError, match="kernel density"):
            refused()
    with pytest.raises(ValueError, match="one dimension"):
        kde.KDE(**CPU).fit(rng.normal(size=(30, 2))).distribution()
