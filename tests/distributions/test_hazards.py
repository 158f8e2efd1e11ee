"""Hazards of distributions and counts, against definitions, closed forms and Mills' ratio far out in the tail."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats as st

import numbastats.distributions as D
from numbastats.distributions import Exponential, Gamma, Geometric, Normal, Poisson, Uniform, Weibull
from tests.distributions.objects import COUNTS, OBJECTS

X = np.array([-1.0, 0.0, 0.5, 3.0, 11.0, 60.0])


@pytest.mark.parametrize(
    "d", [d for d in OBJECTS if d.family in ("normal", "gamma", "stable", "nig", "beta", "gpd", "skew_t")], ids=repr
)
def test_density_over_survival(d):
    x = np.r_[d.ppf(np.linspace(0.05, 0.95, 7)), d.isf(1e-8)]
    np.testing.assert_allclose(d.hazard(x), d.pdf(x) / d.sf(x), rtol=1e-14)
    np.testing.assert_array_equal(d.cumulative_hazard(x), -d.logsf(x))


@pytest.mark.parametrize("d", COUNTS, ids=repr)
def test_counts(d):
    k = np.arange(12.0)
    at_least = 1.0 - d.cdf(k - 1.0)
    use = at_least > 1e-3
    np.testing.assert_allclose(d.hazard(k)[use], (d.pmf(k) / at_least)[use], rtol=1e-11)
    assert d.hazard(2.5) == 0.0 and d.hazard(-1.0) == 0.0
    np.testing.assert_array_equal(d.cumulative_hazard(k), -d.logsf(k))


def test_closed_forms_far_out():
    """Where survival is no double any more; errors grow with its logarithm."""
    x = np.array([10.0, 37.0, 39.0, 100.0])
    mills = 1.0 / (np.sqrt(np.pi / 2) * scipy.special.erfcx(x / np.sqrt(2.0)))
    np.testing.assert_allclose(Normal().hazard(x)[:2], mills[:2], rtol=1e-14)
    np.testing.assert_allclose(Normal().hazard(x), mills, rtol=3e-12)  # 1e-12 observed
    np.testing.assert_allclose(Exponential(scale=4.0).hazard([1.0, 1e3]), 0.25, rtol=1e-14)
    np.testing.assert_allclose(Exponential(scale=4.0).hazard(1e8), 0.25, rtol=3e-9)
    np.testing.assert_allclose(Weibull(2.0, scale=10.0).hazard([1.0, 1e4]), [0.02, 200.0], rtol=1e-10)
    np.testing.assert_allclose(Geometric(3.0).hazard([0, 5, 50, 5000]), 0.25, rtol=1e-12)
    np.testing.assert_allclose(
        Poisson(3.0).hazard(500), 1.0 / (1.0 + sum(3.0**j / math.prod(range(501, 501 + j)) for j in range(1, 9))), rtol=1e-12
    )


def test_ends_of_the_support():
    np.testing.assert_array_equal(Uniform().hazard([-1.0, 0.5, 2.0]), [0.0, 2.0, np.nan])
    np.testing.assert_array_equal(Uniform().cumulative_hazard([-1.0, 2.0]), [0.0, np.inf])
    np.testing.assert_allclose(D.Binomial(5, 0.3).hazard([5, 6]), [1.0, np.nan])
    assert math.isnan(Gamma(2.0).hazard(np.nan)) and Gamma(2.0).hazard(-1.0) == 0.0


@pytest.mark.parametrize("d", [Gamma(2.0, scale=3.0), Poisson(3.0)], ids=repr)
def test_kernels(d, device):
    for name in ("hazard", "cumulative_hazard"):
        want = np.array([getattr(d, name)(float(v)) for v in X])
        np.testing.assert_allclose(getattr(d, name)(X, **device), want, rtol=2e-13)
        single = getattr(d, name)(X.astype(np.float32), **device)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, want, rtol=1e-6)
        many = type(d)(*([p, p] for p in d.params))
        np.testing.assert_allclose(getattr(many, name)(X[:, None], **device), np.stack([want, want], axis=1), rtol=2e-13)


def test_options_and_kinds():
    d, out = Gamma([2.0, 5.0]), np.empty((3, 2))
    assert d.hazard(np.ones((3, 1)), out=out) is out and Gamma(2.0).hazard(np.ones(3), dtype="float32").dtype == np.float32
    assert Gamma(2.0).hazard([1, 2]).dtype == np.float64 and isinstance(Gamma(2.0).cumulative_hazard(1.0), float)
    with pytest.raises(TypeError, match="level"):
        d.hazard(1.0, level=0.9)
    mixed = D.Mixture([Gamma(2.0), Normal()], weights=[0.5, 0.5])
    np.testing.assert_allclose(mixed.hazard(X), mixed.pdf(X) / mixed.sf(X), rtol=1e-12)


def test_labels_and_blocks():
    pandas, xarray, dask = map(pytest.importorskip, ("pandas", "xarray", "dask.array"))
    d, x = Gamma(2.0), np.linspace(0.1, 900.0, 9)
    for made in (pandas.Series(x, index=list("abcdefghi")), xarray.DataArray(x, dims="t", coords={"t": np.arange(9)})):
        found = d.hazard(made)
        assert type(found) is type(made)
        np.testing.assert_array_equal(np.asarray(found), d.hazard(x))
    lazy = d.hazard(dask.from_array(x, chunks=4))
    assert "dask" in type(lazy).__module__
    np.testing.assert_array_equal(lazy.compute(), d.hazard(x))
    rows = Gamma(xarray.DataArray([2.0, 3.0], dims="site", coords={"site": ["a", "b"]}))
    assert rows.hazard(1.0).dims == ("site",) and rows.restricted_mean(2.0).dims == ("site",)


def test_hazards_are_infinite_where_densities_are():
    apart = D.with_zeros(Gamma(0.5), 0.3)
    for d in (Gamma(0.5), Weibull(0.5), apart, D.with_zeros(Gamma(2.0), 0.3)):
        assert d.pdf(0.0) == d.logpdf(0.0) == d.hazard(0.0) == math.inf
    assert apart.logpdf(2.0) == pytest.approx(math.log(0.7 * Gamma(0.5).pdf(2.0)), rel=1e-14)


def test_restricted_means_within_all_time():
    assert Weibull(1.5, scale=10.0).restricted_mean(math.inf) == Weibull(1.5, scale=10.0).mean()
    d = Weibull(1.5, scale=10.0)
    assert d.restricted_mean([5.0, math.inf]).tolist() == [d.restricted_mean(5.0), d.mean()]
    assert D.Pareto(0.5).restricted_mean(math.inf) == math.inf


def test_restricted_means():
    np.testing.assert_allclose(Exponential(scale=4.0).restricted_mean([2.0, 8.0]), 4.0 * -np.expm1([-0.5, -2.0]), rtol=1e-12)
    d = st.norm(1.0, 2.0)
    want = d.expect(lambda x: np.minimum(x, 0.5), epsabs=1e-12)
    np.testing.assert_allclose(Normal(1.0, 2.0).restricted_mean(0.5), want, rtol=1e-7)
    k = np.arange(40)
    np.testing.assert_allclose(Poisson(3.0).restricted_mean(2), (np.minimum(k, 2) * st.poisson(3.0).pmf(k)).sum(), rtol=1e-12)
    assert Gamma([2.0, 3.0]).restricted_mean(1.0).shape == (2,)
