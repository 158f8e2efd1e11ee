"""Tables and the results that print as tables."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.results import SHOWN, Table, estimates


def test_a_table_prints_columns_in_line():
    table = Table({"name": np.array(["a", "long"]), "value": np.array([1.25, np.nan])})
    assert repr(table).splitlines() == ["name  value", "a      1.25", "long"]
    assert table["value"][0] == 1.25 and list(table) == ["name", "value"]


def test_html_is_escaped():
    assert "<td>&lt;x&gt;</td>" in Table({"name": np.array(["<x>"])})._repr_html_()


def test_a_long_table_leaves_out_its_middle():
    lines = repr(Table({"i": np.arange(10 * SHOWN)})).splitlines()
    assert len(lines) == SHOWN + 2 and lines[1 + SHOWN // 2].strip() == "..." and lines[-1].strip() == str(10 * SHOWN - 1)


def test_an_empty_table():
    assert repr(Table()) == "" and repr(Table({"a": np.empty(0)})) == "a"


def test_frames():
    table = Table({"a": np.arange(3)})
    copy = table.to_frame("dict")
    copy["a"][0] = 7
    assert table["a"][0] == 0
    with pytest.raises(ValueError, match="'pandas', 'polars' or 'dict'"):
        table.to_frame("excel")
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(table.to_frame(), pandas.DataFrame({"a": np.arange(3)}))


def test_intervals_only_where_there_are_standard_errors():
    table = estimates(("a", "b", "c"), [1.0, 2.0, 3.0], [0.5, np.nan, np.inf])
    np.testing.assert_allclose(table["lower"], [1.0 - 0.5 * 1.959963984540054, np.nan, np.nan], rtol=1e-15)


def test_fits_print_what_they_estimate():
    x = np.random.default_rng(1).gamma(3.0, 2.0, 500)
    fit = ns.distributions.fit(x, "gamma")
    head, titles, shape, scale = repr(fit).splitlines()
    assert head.startswith('DistributionFit: family "gamma", 500 values, log-likelihood') and head.endswith("converged")
    assert titles.split() == ["parameter", "estimate", "se", "lower", "upper"]
    assert shape.split()[:2] == ["shape", f"{fit.params['shape']:.6g}"] and scale.startswith("scale")
    assert "<table>" in fit._repr_html_()


def test_batches_have_a_row_for_each_series():
    rng = np.random.default_rng(2)
    fits = ns.distributions.fit_many({"a": rng.gamma(3.0, size=90), "b": rng.gamma(2.0, size=80)}, "gamma")
    table = fits.summary()
    assert table["key"].tolist() == ["a", "b"] and table["n_obs"].tolist() == [90.0, 80.0]
    np.testing.assert_array_equal(table["shape"], fits["shape"])
    grid = ns.distributions.fit_many(rng.gamma(3.0, size=(2, 3, 50)), "gamma", axis=-1).summary()
    assert grid["scale"].shape == (6,)


@pytest.mark.slow
def test_stable_fits_print_what_they_estimate():
    x = ns.stable.rvs(1.6, 0.2, size=(3, 400), rng=1)
    fit = ns.stable.fit(x[0])
    lines = repr(fit).splitlines()
    assert lines[0].startswith('StableFit: method "ml", S0, log-likelihood') and len(lines) == 6
    assert [line.split()[0] for line in lines[2:]] == ["alpha", "beta", "loc", "scale"]
    fits = ns.stable.fit_many(x)
    assert repr(fits).startswith('StableFits: 3 data sets, method "ml", S0, 3 converged')
    np.testing.assert_array_equal(fits.summary()["se_loc"], fits.se[:, 2])


def test_what_notebooks_show():
    d = ns.distributions.Gamma(2.0, scale=3.0)
    assert all(word in d._repr_html_() for word in ("<p>Gamma</p>", "<td>shape</td><td>2</td>", "mean of X</td><td>6</td>"))
    assert ns.distributions.Gamma([1.0, 2.0])._repr_html_() == "<code>Gamma(shape=[1.0, 2.0], loc=0.0, scale=1.0)</code>"
    assert ns.distributions.Mixture([d, d])._repr_html_().startswith("<code>Mixture([Gamma")
    model = ns.kde.KDE(bandwidth="scott")
    assert "KDE, not fitted" in model._repr_html_() and "<td>&#x27;scott&#x27;</td>" in model._repr_html_()
    assert "KDE, fitted" in model.fit(np.arange(5.0))._repr_html_()


def test_batches_as_datasets():
    pytest.importorskip("xarray")
    pandas = pytest.importorskip("pandas")
    x = ns.stable.rvs(1.6, 0.0, size=(4, 100), rng=1)
    fits = ns.stable.fit_many(x, "quantile")
    plain = fits.to_xarray()
    assert plain["alpha"].dims == ("data_set",) and plain["alpha"].to_numpy().tolist() == fits.params[:, 0].tolist()
    assert plain.attrs == {"method": "quantile", "param": "S0"} and plain["message"].to_numpy().tolist() == fits.message
    frame = pandas.DataFrame({"a": np.repeat([1, 1, 2, 2], 100), "b": np.repeat(list("vuvu"), 100), "x": x.ravel()})
    two = ns.stable.fit_many(frame, "quantile", by=["a", "b"]).to_xarray().unstack()
    assert two["scale"].dims == ("a", "b") and float(two["scale"].sel(a=2, b="u")) == fits.params[3, 3]
    one = ns.stable.fit_many(frame[["a", "x"]], "quantile", by="a").to_xarray()
    assert one["beta"].dims == ("a",) and one["a"].to_numpy().tolist() == [1, 2]


@pytest.mark.parametrize("family", ["gamma", "logistic"])
def test_mixtures_as_datasets(family):
    pytest.importorskip("xarray")
    x = np.random.default_rng(1).gamma([[2.0], [9.0]], size=(2, 200))
    fits = ns.mixture.fit_many({"a": x[0], "b": x[1]}, [1, 2], family=family, rng=0)
    made = fits.to_xarray()
    assert made["weight"].dims == ("data_set", "component") and made["loglik"].sel(data_set="b") == fits.loglik[1]
    name, values = next(iter(fits.parameters.items()))
    assert np.array_equal(made[name], values, equal_nan=True) and made.attrs["family"] == family
