"""Standardised series: calibration, zeros, blocks of dask, labels; the scores themselves are in test_fitting."""

from __future__ import annotations

import concurrent.futures
import warnings

import numpy as np
import pytest
import scipy.stats as st

import numbastats as ns
from numbastats.distributions import fit_many, standardise


def rain(seed=1, shape=(60, 4), dry=0.0):
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 3.0, shape)
    x[rng.random(shape) < dry] = 0.0
    return x


def peer(x, part, centre):
    """SPI of one series by SciPy's fit; Stagge et al. (2015), equations 2 and 3, for zeros in the centre."""
    sample = x[part]
    n, n0 = sample.size, (sample == 0.0).sum()
    shape, _, scale = st.gamma.fit(sample[sample > 0.0], floc=0.0)
    p0 = n0 / (n + 1) if centre else n0 / n
    h = p0 + (1.0 - p0) * st.gamma.cdf(x, shape, scale=scale)
    h[x == 0.0] = (n0 + 1) / (2 * (n + 1)) if centre else p0
    return st.norm.ppf(h)


@pytest.mark.parametrize("zeros", ["share", "centre"])
@pytest.mark.parametrize("calibration", [slice(10, 40), np.arange(10, 40), (np.arange(60) >= 10) & (np.arange(60) < 40)])
def test_calibration(zeros, calibration):
    x = rain(dry=0.2)
    z = standardise(x, axis=0, zeros=zeros, calibration=calibration)
    for i in range(4):
        np.testing.assert_allclose(z[:, i], peer(x[:, i], slice(10, 40), zeros == "centre"), atol=2e-6)  # of SciPy's fit
    np.testing.assert_array_equal(standardise(x.T, zeros=zeros, calibration=calibration), z.T)
    whole = standardise(x, axis=0, zeros=zeros, calibration=slice(None))
    np.testing.assert_array_equal(whole, standardise(x, axis=0, zeros=zeros))


def test_probabilities_have_mean_one_half():
    """What the middle of the ranks is for: with half of the values 0 the mean of "share" is 5/8."""
    x = rain(2, (3000,), dry=0.5)
    share, centre = (st.norm.cdf(standardise(x, zeros=zeros)).mean() for zeros in ("share", "centre"))
    assert share == pytest.approx(0.625, abs=0.02) and centre == pytest.approx(0.5, abs=1e-3)


def test_zeros_outside_of_the_calibration():
    x = rain(3, (40,))
    x[35] = 0.0
    assert standardise(x, calibration=slice(0, 30))[35] == -np.inf
    z = standardise(x, calibration=slice(0, 30), zeros="centre")
    assert z[35] == pytest.approx(st.norm.ppf(1.0 / 62.0)) and z[35] == pytest.approx(-2.14, abs=0.01)


def test_failed_calibrations_lose_their_series_alone():
    x = rain(4)
    x[:30, 1] = 0.0
    x[:30, 2] = np.nan
    x[3, 3] = np.nan
    with pytest.warns(ns.ConvergenceWarning):
        z = standardise(x, axis=0, calibration=slice(0, 30), zeros="centre")
    assert np.isnan(z[:, 1:3]).all() and np.isfinite(z[:, 0]).all()
    np.testing.assert_array_equal(np.isnan(z[:, 3]), np.isnan(x[:, 3]))


def test_labels_of_the_calibration():
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    x, years = rain(5), np.arange(1961, 2021)
    want = standardise(x, axis=0, calibration=slice(10, 40))  # 1971 to 2000
    frame = pandas.DataFrame(x, index=years, columns=list("abcd"))
    for found in (
        standardise(frame, axis=0, calibration=slice(1971, 2000)),
        standardise(frame.T, axis=1, calibration=slice(1971, 2000)).T,
        standardise(frame, axis=0, calibration=list(range(1971, 2001))),
    ):
        np.testing.assert_array_equal(found.to_numpy(), want)
        assert list(found.index) == list(years)
    np.testing.assert_array_equal(standardise(frame["b"], calibration=slice(1971, 2000)), want[:, 1])
    field = xarray.DataArray(x, dims=("time", "place"), coords={"time": pandas.date_range("1961", periods=60, freq="YS")})
    found = standardise(field, dim="time", calibration=slice("1971", "2000"))
    np.testing.assert_array_equal(found, want)
    assert found.dims == field.dims and found.time.equals(field.time)
    bare = field.drop_vars("time")  # no labels: positions
    np.testing.assert_array_equal(standardise(bare, dim="time", calibration=slice(10, 40)), want)


def test_spi_by_calendar_months():
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    time = pandas.date_range("1981-01", periods=480, freq="MS")
    months = xarray.DataArray(rain(6, (480, 2)), dims=("time", "cell"), coords={"time": time})
    spi = months.groupby("time.month").map(standardise, dim="time", calibration=slice("1991", "2010"))
    march = months.to_numpy()[2::12, 1]
    np.testing.assert_allclose(spi.to_numpy()[2::12, 1], peer(march, slice(10, 30), False), atol=2e-6)


def test_fits_by_blocks_of_dask():
    """The fits of the array in memory, with its labels, whatever the blocks."""
    da, xarray = pytest.importorskip("dask.array"), pytest.importorskip("xarray")
    x = np.random.default_rng(8).gamma(2.0, 3.0, (40, 5, 7))
    x[3, 2, 1] = np.nan
    whole = fit_many(x, "gamma", axis=0)
    for chunks in ((40, 5, 7), (11, 2, 3), (40, 1, 7)):
        found = fit_many(da.from_array(x, chunks=chunks), "gamma", axis=0)
        for name in ("params", "covariance", "loglik", "n_values", "status"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    labelled = xarray.DataArray(x, dims=("year", "lat", "lon"), coords={"lat": np.arange(5) * 10.0}).chunk({"lat": 2})
    found = fit_many(labelled, "gamma", dim="year")
    np.testing.assert_array_equal(found["scale"].to_numpy(), whole["scale"])
    assert found["scale"].dims == ("lat", "lon") and float(found["scale"].lat[3]) == 30.0
    lazy = da.from_array(x, chunks=(40, 2, 7))
    for options, message in (
        ({"weights": np.ones(40)}, "without weights"),
        ({"workers": concurrent.futures.ThreadPoolExecutor(1)}, "takes no executor"),
        ({"method": "lmoments"}, "takes arrays in memory"),
    ):
        with pytest.raises(TypeError, match=message):
            fit_many(lazy, "gamma", axis=0, **options)
    with pytest.raises(ValueError, match="fewer values than parameters"):
        fit_many(lazy[:1], "gamma", axis=0)


def test_blocks_of_dask():
    da, xarray = pytest.importorskip("dask.array"), pytest.importorskip("xarray")
    x = rain(7, (60, 4, 5), dry=0.1)
    want = standardise(x, axis=0, calibration=slice(0, 30), zeros="centre")
    lazy = da.from_array(x, chunks=(25, 2, 3))
    found = standardise(lazy, axis=0, calibration=slice(0, 30), zeros="centre")
    assert isinstance(found, da.Array) and found.shape == x.shape and found.dtype == np.float64
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), want)
    attrs = {"units": "mm", "source": "gauge"}
    field = xarray.DataArray(lazy, dims=("year", "lat", "lon"), coords={"year": np.arange(1961, 2021)}, attrs=attrs)
    found = standardise(field, dim="year", calibration=slice(1961, 1990), zeros="centre")
    assert found.chunks is not None and found.attrs == {"source": "gauge"} and found.dims == field.dims
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), want)
    assert field.attrs == attrs
    with concurrent.futures.ThreadPoolExecutor(1) as pool, pytest.raises(TypeError, match="a dask array takes no executor"):
        standardise(lazy, axis=0, workers=pool)


def test_bad_calibrations():
    pandas = pytest.importorskip("pandas")
    x = rain(8)
    with pytest.raises(ValueError, match=r"selects none of the 60 values of x along axis 0"):
        standardise(x, axis=0, calibration=slice(70, 90))
    for bad in ([60], ["1961"], np.ones(59, bool), 0.5):
        with pytest.raises(ValueError, match="selects nothing of x along axis 0"):
            standardise(x, axis=0, calibration=bad)
    frame = pandas.DataFrame(x, index=np.arange(1961, 2021))
    with pytest.raises(ValueError, match="selects none of the 60"):
        standardise(frame, axis=0, calibration=slice(2030, 2040))
    with pytest.raises(ValueError, match="selects nothing of x"):
        standardise(frame, axis=0, calibration=[1950])
    with pytest.raises(ValueError, match="zeros='middle'"):
        standardise(x, axis=0, zeros="middle")
    with pytest.raises(TypeError, match="standardise takes an array"):
        standardise({"a": x[:, 0]})


def test_integers_and_empty_batches():
    counts = np.random.default_rng(9).poisson(20.0, (50, 2))
    np.testing.assert_array_equal(standardise(counts, axis=0), standardise(counts.astype(float), axis=0))
    assert standardise(np.empty((0, 30))).shape == (0, 30)


# --- results of fit_many with labels


def test_fits_to_xarray():
    xarray = pytest.importorskip("xarray")
    x = rain(10, (40, 3, 4))
    field = xarray.DataArray(x, dims=("year", "lat", "lon"), coords={"lat": [40.0, 45.0, 50.0]})
    x[:, 1, 2] = np.nan
    fits = fit_many(field, "gamma", dim="year")
    found = fits.to_xarray()
    assert found["shape"].dims == ("lat", "lon") and list(found["lat"]) == [40.0, 45.0, 50.0]
    np.testing.assert_array_equal(found["shape"], fits["shape"])
    np.testing.assert_array_equal(found["se_scale"], fits.se[..., 1])
    assert set(found) == {
        *("shape", "scale", "se_shape", "se_scale", "loglik", "aic", "bic", "n_obs", "zeros", "converged", "status", "remark"),
        *("limit", "n_values"),
    }
    assert found["status"].dtype.kind == "i" and found["status"][1, 2] == 7 and found.attrs["family"] == "gamma"
    best = found.sel(lat=45.0).isel(lon=0)
    assert float(best["loglik"]) == fits.loglik[1, 0]


def test_fits_to_xarray_without_labels():
    pytest.importorskip("xarray")
    plain = fit_many(rain(11), "gamma", axis=0).to_xarray()
    assert plain["shape"].dims == ("series",) and plain.sizes["series"] == 4
    keyed = fit_many({"a": rain(12)[:, 0], "b": rain(13)[:9, 0]}, "gamma").to_xarray()
    assert list(keyed["series"].to_numpy()) == ["a", "b"]
    two = fit_many(rain(14, (40, 2, 3)), "gamma", axis=0).to_xarray()
    assert two["shape"].dims == ("series_0", "series_1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(keyed["shape"].sel(series="b")) == fit_many(rain(13)[:9, 0], "gamma")["shape"]


def test_what_is_no_series():
    with pytest.raises(TypeError, match="x is a float; pass an array of series"):
        standardise(3.0)
    with pytest.raises(ValueError, match="x has no values"):
        standardise([])
