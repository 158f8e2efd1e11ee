"""Many data sets with labels: groups, dicts, frames with a column of keys, arrays of xarray; the labels come back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.groups import labelled_sets

GENES = np.array(["b", "a", "c", "a", "b", "c"] * 20)
RUNS = np.arange(120) % 2
VALUES = np.random.default_rng(1).gamma(2.0, size=120)

FITS = {
    "distributions": lambda data, **o: ns.distributions.fit_many(data, "gamma", **o),
    "stable": lambda data, **o: ns.stable.fit_many(data, "quantile", **o),
    "mixture": lambda data, **o: ns.mixture.fit_many(data, 1, family="gamma", rng=0, **o),
}


@pytest.fixture(params=list(FITS))
def fit_many(request):
    return FITS[request.param]


def _same(got, want):
    values = "centres" if hasattr(got, "centres") else "params"
    np.testing.assert_array_equal(getattr(got, values), getattr(want, values))


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"gene": GENES, "run": RUNS, "x": VALUES})


def test_groups_of_a_frame(fit_many, frame):
    want = fit_many([VALUES[GENES == g] for g in "abc"])
    two = frame[["gene", "x"]]
    for got in (
        fit_many(frame.groupby("gene")["x"]),
        fit_many(frame.groupby("gene")[["x"]]),
        fit_many(two.groupby("gene")),
        fit_many(two.groupby(["gene"])),
        fit_many(two, by="gene"),
        fit_many({g: VALUES[GENES == g] for g in "abc"}),
        fit_many([(g, VALUES[GENES == g]) for g in "abc"]),
        fit_many((g, VALUES[GENES == g]) for g in "abc"),
    ):
        assert got.keys == ("a", "b", "c") and len(got.summary()["loglik"]) == 3
        _same(got, want)
    assert fit_many(two, by="gene").summary()["gene"].tolist() == ["a", "b", "c"]
    assert fit_many(frame.groupby("gene")["x"]).to_frame()["gene"].tolist() == ["a", "b", "c"]
    assert want.keys is None


def test_several_keys(fit_many, frame):
    keys = (("a", 1), ("b", 0), ("c", 0), ("c", 1))
    sets = {k: VALUES[(GENES == k[0]) & (RUNS == k[1])] for k in keys if ((GENES == k[0]) & (RUNS == k[1])).any()}
    for got in (fit_many(frame.groupby(["gene", "run"])["x"]), fit_many(frame, by=["gene", "run"])):
        assert got.keys == tuple(sets)
        assert got.summary()["gene"].tolist() == [k[0] for k in sets] and got.summary()["run"].tolist() == [k[1] for k in sets]
        _same(got, fit_many(list(sets.values())))
    assert pickle.loads(pickle.dumps(got)).summary()["run"].tolist() == got.summary()["run"].tolist()


def test_frames_of_polars(fit_many):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"gene": GENES, "x": VALUES})
    got = fit_many(frame, by="gene")
    assert got.keys == ("b", "a", "c")
    _same(got, fit_many([VALUES[GENES == g] for g in "bac"]))
    with pytest.raises((TypeError, ValueError), match="by='key'"):
        fit_many(frame)


def test_arrays_of_xarray(fit_many):
    xarray = pytest.importorskip("xarray")
    values = VALUES.reshape(20, 3, 2)
    data = xarray.DataArray(values, dims=("time", "lat", "lon"), coords={"lat": [10.0, 20.0, 30.0]}, name="rain")
    got = fit_many(data, dim="time")
    table = got.summary()
    assert table["lat"].tolist() == [10.0, 10.0, 20.0, 20.0, 30.0, 30.0] and table["lon"].tolist() == [0, 1] * 3
    want = fit_many(values.reshape(20, 6).T)
    np.testing.assert_array_equal(table["loglik"], want.summary()["loglik"])
    with pytest.raises(ValueError, match="dim='year' is not a dimension of data, which has"):
        fit_many(data, dim="year")
    with pytest.raises(TypeError, match="dim='time' is for an xarray.DataArray"):
        fit_many(values, dim="time")


def test_one_key_of_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(VALUES.reshape(3, 40), dims=("site", "t"), coords={"site": ["x", "y", "z"]})
    got = ns.mixture.fit_many(data, 1, family="gamma", dim="t", rng=0)
    assert got.keys == ("x", "y", "z") and got.summary()["site"].tolist() == ["x", "y", "z"]
    with pytest.raises(ValueError, match="pass dim="):
        ns.mixture.fit_many(data, 1, family="gamma")


def test_parameters_come_back_as_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(VALUES.reshape(20, 3, 2), dims=("time", "lat", "lon"), coords={"lat": [10.0, 20.0, 30.0]})
    for options in ({"dim": "time"}, {"axis": 0}):
        fits = ns.distributions.fit_many(data, "gamma", **options)
        want = ns.distributions.fit_many(data.values, "gamma", axis=0)
        scale = fits["scale"]
        assert scale.dims == ("lat", "lon") and scale.lat.values.tolist() == [10.0, 20.0, 30.0] and scale.name == "scale"
        np.testing.assert_array_equal(scale.values, want["scale"])
        assert fits.one((1, 0)).loglik == want.one((1, 0)).loglik
    with pytest.raises(ValueError, match="weights= goes with an array that is not of xarray"):
        ns.distributions.fit_many(data, "gamma", axis=0, weights=np.ones(20))
    with pytest.raises(ValueError, match="axis=3 is not an axis"):
        ns.distributions.fit_many(data, "gamma", axis=3)


def test_what_is_asked_about(fit_many, frame):
    with pytest.raises((TypeError, ValueError), match="[fF]rame.*by='key'"):
        fit_many(frame[["x", "run"]])
    with pytest.raises(ValueError, match=r"columns \['run', 'x'\].*frame\[\['key', 'x'\]\] with by='key'"):
        fit_many(frame, by="gene")
    with pytest.raises(ValueError, match="columns.*select one column"):
        fit_many(frame.groupby("gene"))
    with pytest.raises(ValueError, match="by='genes' names 'genes', but the columns of data are"):
        fit_many(frame, by="genes")
    with pytest.raises(TypeError, match="by='gene' is for a data frame, but data is a ndarray"):
        fit_many(VALUES.reshape(3, 40), by="gene")
    with pytest.raises(ValueError, match="weights= with by= or dim="):
        ns.mixture.fit_many(frame[["gene", "x"]], 1, family="gamma", by="gene", weights=VALUES)


@pytest.mark.parametrize("fit_many", [FITS[room] for room in ("stable", "mixture")], ids=["stable", "mixture"])
def test_arrays_of_dask_are_refused(fit_many):
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(VALUES.reshape(20, 6), dims=("time", "cell")).chunk({"cell": 2})
    with pytest.raises(TypeError, match="dask"):
        fit_many(data, dim="time")


def test_keys_of_all_kinds():
    sets, keys = labelled_sets({(1, 2): [1.0], None: [2.0]})
    assert keys == ((1, 2), None) and keys.columns("key")["key"].tolist() == ["(1, 2)", "None"] and sets == [[1.0], [2.0]]
    assert labelled_sets([np.ones(2), np.ones(3)])[1] is None and labelled_sets({})[1] == ()
