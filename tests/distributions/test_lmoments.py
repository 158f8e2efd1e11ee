"""L-moments: the definition over all subsets, published values, SciPy, and the inputs of every kind."""

from __future__ import annotations

import fractions
import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.stats

from numbastats import ConvergenceWarning
from numbastats.distributions import Gamma, Lognormal, PearsonIII, fit, fit_many, lmoments


def by_definition(x, r):
    """Hosking (1990), equation 2.1 over all subsets of r values: E sum_k (-1)^k C(r-1, k) X_{r-k:r} / r."""
    total, subsets = 0.0, 0
    for chosen in itertools.combinations(np.sort(x).tolist(), r):
        total += sum((-1) ** k * math.comb(r - 1, k) * chosen[r - 1 - k] for k in range(r)) / r
        subsets += 1
    return total / subsets


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_the_definition_over_all_subsets(n):
    x = np.random.default_rng(n).gamma(0.7, 3.0, n)
    found = lmoments(x, count=6).moments
    for r in range(1, 7):
        if r <= n:
            assert found[r - 1] == pytest.approx(by_definition(x, r), rel=1e-12, abs=1e-14)
        else:
            assert np.isnan(found[r - 1])


def test_published_values():
    """L-moment ratios of distributions (Hosking 1990, table 1), of samples that are 200001 quantiles of equal mass."""
    u = (np.arange(200_001) + 0.5) / 200_001
    for peer, t3, t4 in (
        (scipy.stats.uniform, 0.0, 0.0),
        (scipy.stats.norm, 0.0, 0.1226),
        (scipy.stats.expon, 1.0 / 3.0, 1.0 / 6.0),
        (scipy.stats.gumbel_r, 0.1699, 0.1504),
        (scipy.stats.logistic, 0.0, 1.0 / 6.0),
    ):
        found = lmoments(peer.ppf(u))
        assert found.skewness == pytest.approx(t3, abs=1e-4) and found.kurtosis == pytest.approx(t4, abs=1e-4)
    assert lmoments(scipy.stats.norm.ppf(u)).scale == pytest.approx(1.0 / math.sqrt(math.pi), rel=1e-4)


def test_scipy_and_batches():
    x = np.random.default_rng(1).normal(3.0, 2.0, (4, 25, 3))
    found = lmoments(x, axis=1, count=6)
    want = np.stack([scipy.stats.lmoment(x, axis=1, order=r, standardize=False) for r in range(1, 7)])
    np.testing.assert_allclose(found.moments, want, rtol=0.0, atol=1e-12)
    assert found.ratios.shape == (4, 4, 3) and found.n_values.shape == (4, 3)
    np.testing.assert_allclose(found.skewness, want[2] / want[1], atol=1e-12)
    np.testing.assert_allclose(found.cv, want[1] / want[0], rtol=1e-12)


def test_exact_sums():
    """Probability-weighted moments (Hosking 1990, equation 2.3) in rational arithmetic; errors observed: 5e-16 of l_2."""
    x = np.random.default_rng(4).gamma(0.5, 3.0, 25)
    n, ordered = x.size, [fractions.Fraction(v) for v in np.sort(x).tolist()]
    b = [sum(fractions.Fraction(math.comb(j, k), math.comb(n - 1, k)) * ordered[j] for j in range(n)) / n for k in range(10)]
    want = [sum((-1) ** (r - k) * math.comb(r, k) * math.comb(r + k, k) * b[k] for k in range(r + 1)) for r in range(10)]
    np.testing.assert_allclose(lmoments(x, count=10).moments, np.array(want, float), rtol=0.0, atol=1e-14)


def test_high_orders_keep_their_digits():
    """Equally spaced values have no L-moments from the third on; a shift moves the first alone."""
    assert np.abs(lmoments(np.arange(50.0), count=20).moments[2:]).max() < 1e-13
    far = 1e9 + np.random.default_rng(2).gamma(2.0, 1.0, 30)
    np.testing.assert_allclose(lmoments(far).moments[1:], lmoments(far - 1e9).moments[1:], rtol=1e-13)


def test_missing_infinite_constant_and_empty():
    x = np.array([[1.0, np.nan, 4.0, 2.0, np.nan], [1.0, 2.0, np.inf, 3.0, 4.0], [np.nan] * 5, [7.0] * 5, [7.0, *[np.nan] * 4]])
    found = lmoments(x)
    np.testing.assert_array_equal(found.n_values, [3, 5, 0, 5, 1])
    np.testing.assert_array_equal(found.moments[:, 0], lmoments([1.0, 2.0, 4.0]).moments)
    assert np.isnan(found.moments[1:, 1]).all() and np.isnan(found.moments[:, 2]).all()
    np.testing.assert_array_equal(found.moments[:, 3], [7.0, 0.0, 0.0, 0.0])
    assert np.isnan(found.skewness[3]) and found.mean[4] == 7.0 and np.isnan(found.scale[4])
    assert lmoments(np.empty((0, 5))).moments.shape == (4, 0)
    assert np.isnan(lmoments([]).moments).all()


def test_labels_lists_and_tables():
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    values = np.random.default_rng(3).gamma(2.0, 1.0, (3, 30))
    field = xarray.DataArray(values, dims=("place", "year"), coords={"place": list("abc")})
    found = lmoments(field, dim="year")
    assert found.kurtosis.dims == ("place",) and list(found.kurtosis["place"]) == list("abc")
    np.testing.assert_array_equal(found.kurtosis, lmoments(values).kurtosis)
    lists = lmoments({"a": values[0], "b": values[1, :7]})
    assert lists.keys == ("a", "b")
    np.testing.assert_allclose(lists.moments[:, 1], lmoments(values[1, :7]).moments, rtol=1e-15)
    assert list(lists.to_frame().columns) == ["key", "n_values", "l_1", "l_2", "t_3", "t_4"]
    assert "l_1" in repr(lists)
    np.testing.assert_array_equal(lmoments(pandas.DataFrame(values.T), axis=0).moments, lmoments(values).moments)
    with pytest.raises(TypeError, match="x is a frame of shape"):
        lmoments(pandas.DataFrame(values.T))
    with pytest.raises(ValueError, match="pass dim="):
        lmoments(field)


def test_bad_input():
    for count in (1, 2.5, "four"):
        with pytest.raises(ValueError, match=r"count=.* must be an integer, at least 2"):
            lmoments([1.0, 2.0], count=count)
    with pytest.raises(TypeError, match="real numbers"):
        lmoments(np.array([1.0 + 1j, 2.0]))
    with pytest.raises(ValueError, match="axis=3 is not an axis of x"):
        lmoments([1.0, 2.0], axis=3)


@pytest.mark.parametrize("shape", [1e-3, 0.02, 0.3, 1.0, 2.7, 40.0, 300.0])
def test_gamma_and_pearson_iii_from_their_l_moments(shape):
    """Hosking and Wallis (1997), appendices A.2 and A.9; errors observed: 1e-12."""
    with mpmath.workdps(40):
        second = float(3 * mpmath.gammaprod([shape + mpmath.mpf("0.5")], [shape]) / mpmath.sqrt(mpmath.pi))
        ratio = float(6 * mpmath.betainc(shape, 2 * shape, 0, mpmath.mpf(1) / 3, regularized=True) - 3)
    rel = 1e-11
    assert Gamma._by_lmoments(np.array([3.0 * shape]), np.array([second]), None)[::2] == (
        pytest.approx(shape, rel=rel),
        pytest.approx(3.0, rel=rel),
    )
    for sign in (1.0, -1.0):
        with np.errstate(all="ignore"):  # as fits call it
            skew, loc, scale = PearsonIII._by_lmoments(np.array([5.0]), np.array([second]), np.array([sign * ratio]))
        assert skew == pytest.approx(sign * 2.0 / math.sqrt(shape), rel=1e-9)
        assert loc == 5.0 and scale == pytest.approx(3.0 * math.sqrt(shape), rel=1e-9)


def test_lognormal_from_its_l_moments():
    for sigma in (1e-3, 0.5, 3.0):
        mean = 2.0 * math.exp(0.5 * sigma * sigma)
        found = Lognormal._by_lmoments(np.array([mean]), np.array([mean * math.erf(0.5 * sigma)]), None)
        assert found == (pytest.approx(sigma, rel=1e-10), 0.0, pytest.approx(2.0, rel=1e-10))


def test_fits_by_l_moments_keep_them():
    x = np.random.default_rng(6).normal(20.0, 3.0, (5, 400))
    for family in ("gamma", "lognormal", "pearson_iii"):
        fits = fit_many(x, family, method="lmoments")
        assert fits.converged.all() and fits.at(3).params == pytest.approx(fit(x[3], family, method="lmoments").params, rel=1e-12)
        u = (np.arange(200_001) + 0.5) / 200_001
        again = lmoments(fits.at(0).distribution.ppf(u))
        assert again.mean == pytest.approx(lmoments(x[0]).mean, rel=1e-4)
        assert again.scale == pytest.approx(lmoments(x[0]).scale, rel=1e-4)
        if family == "pearson_iii":
            assert again.skewness == pytest.approx(lmoments(x[0]).skewness, rel=1e-3)
    normal = fit(np.r_[-2.0, -1.0, 0.0, 1.0, 2.0], "pearson_iii", method="lmoments")
    assert normal.params["skew"] == 0.0 and normal.params["scale"] == pytest.approx(math.sqrt(math.pi), rel=1e-12)


def test_l_moments_outside_of_a_family_have_no_fit():
    """Of a mean below the L-scale there is no gamma distribution."""
    with pytest.warns(ConvergenceWarning, match="support of gamma"):
        found = fit([-4.0, -1.0, 0.5, 3.0, 7.0], "gamma", method="lmoments")
    assert math.isnan(found.params["shape"])
