"""Many data sets with labels: groups, dicts, frames with a column of keys, arrays of xarray; the labels come back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.data import is_missing
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
    assert got.keys == ("a", "b", "c")  # sorted, as pandas has them
    _same(got, fit_many([VALUES[GENES == g] for g in "abc"]))
    for table in (got.to_frame(), got.summary().to_frame(), pickle.loads(pickle.dumps(got)).to_frame()):
        assert isinstance(table, polars.DataFrame) and table["gene"].to_list() == ["a", "b", "c"]
    assert isinstance(got.to_frame("dict"), dict)
    two = fit_many(polars.DataFrame({"gene": GENES, "run": RUNS, "x": VALUES}), by=["run", "gene"])
    assert two.keys == tuple(sorted(two.keys)) and len(two) == 4 and two.to_frame()["run"].to_list() == [k[0] for k in two.keys]
    ranks = polars.Enum(["c", "a", "b"])  # sorted as their categories are
    assert fit_many(frame.with_columns(polars.col("gene").cast(ranks)), by="gene").keys == ("c", "a", "b")
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
    with pytest.raises(ValueError, match=r"columns \['run', 'x'\], of which one has the values.*frame.groupby\('key'\)\['x'\]"):
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


@pytest.mark.parametrize("gone", [None, float("nan"), "NaT", "NA"])
def test_missing_keys_are_refused(fit_many, gone):
    """Pandas left these rows out without a word, polars made a group of them."""
    pandas = pytest.importorskip("pandas")
    lost = np.arange(120) % 12 == 5
    if gone == "NaT":
        keys = np.where(lost, np.datetime64("NaT", "D"), np.datetime64("2020-01-01", "D"))
    elif gone == "NA":
        keys = pandas.array([None if g else 1 for g in lost], dtype="Int64")
    else:
        keys = np.where(lost, gone, GENES.astype(object))
    frame = pandas.DataFrame({"g": keys, "x": VALUES})
    said = r"10 rows of data have no key in 'g', the first at position 5: .*dropna\(subset="
    for call in (lambda: fit_many(frame, by="g"), lambda: fit_many(frame.groupby("g")["x"])):
        with pytest.raises(ValueError, match=said):
            call()
    kept = frame.groupby("g", dropna=False)["x"]  # asked for
    assert len(fit_many(kept)) == kept.ngroups
    assert len(fit_many(frame.dropna(subset=["g"]), by="g")) == kept.ngroups - 1


def test_missing_keys_of_polars_are_refused(fit_many):
    polars = pytest.importorskip("polars")
    lost = np.arange(120) % 12 == 5
    columns = {
        "word": polars.Series([None if g else "a" for g in lost]),
        "whole": polars.Series([None if g else 7 for g in lost]),
        "number": polars.Series([float("nan") if g else 7.5 for g in lost]),
        "null": polars.Series([None if g else 7.5 for g in lost]),
        "sort": polars.Series([None if g else "a" for g in lost], dtype=polars.Categorical),
    }
    for name, column in columns.items():
        with pytest.raises(ValueError, match=rf"10 rows of data have no key in '{name}', the first at position 5: .*drop_nulls"):
            fit_many(polars.DataFrame({name: column, "x": VALUES}), by=name)


def test_dates_as_keys_stay_dates(fit_many):
    pandas = pytest.importorskip("pandas")
    days = pandas.to_datetime(np.where(RUNS == 0, "2021-05-01", "2020-05-01"))
    table = fit_many(pandas.DataFrame({"day": days, "x": VALUES}), by="day").to_frame()
    assert table["day"].tolist() == [pandas.Timestamp("2020-05-01"), pandas.Timestamp("2021-05-01")]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"day": days.to_numpy(), "x": VALUES}).with_columns(polars.col("day").cast(polars.Date))
    fits = fit_many(frame, by="day")
    assert fits.to_frame()["day"].dtype == polars.Date and fits.one(fits.keys[0]).n_values == 60


def test_missing_labels_of_all_kinds():
    pandas = pytest.importorskip("pandas")
    for labels in (
        [1.0, float("nan")],
        np.array(["a", None], object),
        np.array(["a", float("nan")], object),
        np.array([1, pandas.NA], object),
        np.array(["2020", "NaT"], "M8[D]"),
        np.array([pandas.Timestamp("2020", tz="UTC"), pandas.NaT], object),
        pandas.Series(["a", None], dtype="string"),
        pandas.Series(["a", None], dtype="category"),
        pandas.Series([True, None], dtype="boolean"),
    ):
        assert is_missing(np.asarray(labels)).tolist() == [False, True], labels
    assert is_missing(np.array(["a", "b"])).tolist() == is_missing(np.array([1, 2])).tolist() == [False, False]
    with pytest.raises(ValueError, match="missing labels"):
        ns.kde.KDE().fit_by([1.0, 2.0, 3.0, 4.0], np.array([1, 1, pandas.NA, 1], object))
    with pytest.raises(ValueError, match="missing labels"):
        ns.kde.KDE().fit_by([1.0, 2.0, 3.0, 4.0], np.array(["2020", "2020", "NaT", "2020"], "M8[D]"))


def test_batches_are_alike(fit_many):
    """One item by its key or position, all of them in order, arrays by name: the same in distributions, stable and mixture."""
    sets = {g: VALUES[GENES == g] for g in "bac"}
    fits, plain = fit_many(sets), fit_many(list(sets.values()))
    name = fits._names[-1]
    assert len(fits) == len(list(fits)) == 3 and [key for key, _ in fits.items()] == list(fits.keys) == ["b", "a", "c"]
    for batch, keys in ((fits, "bac"), (plain, range(3))):
        for i, (key, one) in enumerate(batch.items()):
            for same in (batch.at(i), batch.one(i), batch[i], batch[i - 3], batch.at(i - 3), batch.one(key), batch[key], one):
                assert type(same) is type(one) and same.loglik == plain[i].loglik and same.message == batch.messages[i]
            assert key == keys[i]
        assert batch[name].shape[0] == 3 and batch.n_values.tolist() == [40, 40, 40] and batch.n_values.dtype.kind == "i"
    assert type(one.n_values) is int and one.n_values == 40 and type(one.loglik) is float
    again = pickle.loads(pickle.dumps(fits))
    assert again.one("a").loglik == fits["a"].loglik and [k for k, _ in again.items()] == list(sets)


def test_keys_come_before_positions_in_one_alone(fit_many):
    fits = fit_many({2: VALUES[:40], 1: VALUES[40:80], 7: VALUES[80:]})
    assert fits.one(2).loglik == fits.at(0).loglik == fits[0].loglik and fits.one(1).loglik == fits[1].loglik
    assert fits[2].loglik == fits.at(2).loglik == fits.one(7).loglik and fits.one(0).loglik == fits[0].loglik
    with pytest.raises(IndexError, match=r"no data set 7: the batch holds 3; 7 is a key, whose result one\(7\) gives"):
        fits[7]
    pairs = fit_many({("a", 1): VALUES[:40], ("a", 2): VALUES[40:]})
    assert pairs["a", 2].loglik == pairs.one(("a", 2)).loglik == pairs[1].loglik


def test_items_that_are_not_there(fit_many):
    fits = fit_many({"north": VALUES[:40], "south": VALUES[40:]})
    for read in (fits.__getitem__, fits.one, fits.message if callable(fits.message) else fits.one):
        with pytest.raises(
            KeyError, match=r"'nort' is not .* did you mean 'north'\? pass an integer, or one of the keys, 'north',"
        ):
            read("nort")
        with pytest.raises(IndexError, match="no data set 2: the batch holds 2"):
            read(2)
        with pytest.raises(KeyError, match="pass an integer"):
            read(0.5)
    with pytest.raises(KeyError, match=f"did you mean {fits._names[-1]!r}"):
        fits[fits._names[-1][:-1]]
    with pytest.raises(IndexError):
        fits.at(-3)


def test_batches_of_several_dimensions():
    fits = ns.distributions.fit_many(VALUES.reshape(20, 3, 2), "gamma", axis=0)
    assert len(fits) == 6 and [key for key, _ in fits.items()] == [(i, j) for i in range(3) for j in range(2)]
    for i, (key, one) in enumerate(fits.items()):
        assert one.params == fits.at(i).params == fits[key].params == fits.one(key).params
        assert one.params["scale"] == fits["scale"][key]
    with pytest.raises(IndexError, match=r"0 is not the index of one series: the batch has shape \(3, 2\); at\(i\) counts"):
        fits.one(0)
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(VALUES.reshape(20, 3, 2), dims=("time", "lat", "lon"), coords={"lat": [10.0, 20.0, 30.0]})
    labelled = ns.distributions.fit_many(data, "gamma", dim="time")
    assert labelled.keys[3] == (20.0, 1) and labelled.one((20.0, 1)).params == labelled[1, 1].params == fits[1, 1].params
    assert [key for key, _ in labelled.items()] == list(labelled.keys)
