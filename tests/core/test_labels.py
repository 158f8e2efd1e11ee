"""Series, frames and labelled arrays keep their labels; dask's arrays are never pulled into memory unasked."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.elementwise import elementwise

U = np.linspace(0.02, 0.98, 24)


@pytest.fixture(scope="module")
def Z():
    return ns.quantile.ndtri(U)


def test_series_of_pandas(Z):
    pandas = pytest.importorskip("pandas")
    u = pandas.Series(U, index=pandas.date_range("2026-01-01", periods=U.size), name="u")
    z = ns.quantile.ndtri(u)
    pandas.testing.assert_series_equal(z, pandas.Series(Z, index=u.index, name="u"))
    p = ns.distributions.Normal(0.0, 1.0).cdf(z)
    pandas.testing.assert_series_equal(p, u, rtol=1e-14)


def test_frames_of_pandas(Z):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(U.reshape(8, 3), columns=list("abc"), index=range(10, 18))
    pandas.testing.assert_frame_equal(
        ns.quantile.ndtri(frame), pandas.DataFrame(Z.reshape(8, 3), columns=list("abc"), index=range(10, 18))
    )


D = ns.distributions
FUNCTIONS = {  # of a value, a location and a scale, in several sub-packages and forms
    "ndtri": lambda x, loc, scale: ns.quantile.ndtri(0.5 + 0.001 * x, loc, scale),
    "stable.pdf": lambda x, loc, scale: ns.stable.pdf(x, 1.7, 0.2, loc, scale),
    "stable.cdf": lambda x, loc, scale: ns.stable.cdf(x, 1.7, 0.2, loc, scale),
    "Normal": lambda x, loc, scale: D.Normal(loc, scale).cdf(x),
    "Gamma": lambda x, loc, scale: D.Gamma(2.0, loc=loc, scale=scale).logsf(x),
    "StudentT": lambda x, loc, scale: D.StudentT(4.0, loc, scale).pdf(x),
    "NIG": lambda x, loc, scale: D.NIG(2.0, 0.5, scale, loc).logpdf(x),
    "nig": lambda x, loc, scale: D.nig.cdf(x, 2.0, 0.5, scale, loc),
    "Stable": lambda x, loc, scale: D.Stable(1.7, 0.2, loc, scale).pdf(x),
    "shortfall": lambda x, loc, scale: D.Normal(loc, scale).expected_shortfall(0.1 + 0.001 * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_of_pandas_need_the_same_labels(name):
    """An index in another order was combined by position: P(X <= 1) for another location."""
    pandas, function = pytest.importorskip("pandas"), FUNCTIONS[name]
    x, loc = pandas.Series([1.0, 2.0, 3.0], index=list("abc")), pandas.Series([0.0, 10.0, 20.0], index=list("abc"))
    want = [float(function(v, m, 2.0)) for v, m in zip(x, loc, strict=True)]
    got = function(x, loc, 2.0)
    pandas.testing.assert_series_equal(got, pandas.Series(want, index=x.index), rtol=1e-13)
    other = loc[::-1]
    for values in ((x, other, 2.0), (x, other, other + 1.0), (x, 1.0, other + 1.0)):
        with pytest.raises(ValueError, match=r"have different indexes, .*reindex_like\(.*to_numpy\(\)"):
            function(*values)
    pandas.testing.assert_series_equal(function(x, other.reindex_like(x), 2.0), got)
    frame = pandas.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=list("abc"))
    found = function(frame, loc, 2.0)
    assert list(found.columns) == list("abc")
    np.testing.assert_allclose(found.iloc[0], want, rtol=1e-13)
    for wrong in (other, pandas.DataFrame(frame, columns=list("cba"))):
        with pytest.raises(ValueError, match="index.* columns"):
            function(frame, wrong, 2.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_of_xarray_broadcast_by_dimensions(name):
    """Every row was [0, 10, 20] where every column is to be."""
    xarray, function = pytest.importorskip("xarray"), FUNCTIONS[name]
    x = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("y", "x"), coords={"x": list("abc")})
    by_x = xarray.DataArray([0.0, 10.0, 20.0], dims="x", coords={"x": list("abc")})
    by_y, by_k = xarray.DataArray([0.0, 10.0], dims="y"), xarray.DataArray([1.0, 2.0, 3.0, 4.0], dims="k")
    whole = by_y + by_x
    for loc, scale, dims in (
        (by_y, 2.0, ("y", "x")),
        (by_x, 2.0, ("y", "x")),
        (by_x, by_y + 1.0, ("y", "x")),
        (whole.T, 2.0, ("y", "x")),
        (by_y, by_k, ("y", "x", "k")),
    ):
        got = function(x, loc, scale)
        assert got.dims == dims and got.coords["x"].equals(x.coords["x"])
        for one in ({"y": 1, "x": 2, "k": 3}, {"y": 0, "x": 1, "k": 0}):
            at = [v.isel({d: i for d, i in one.items() if d in v.dims}).item() for v in (x, loc, xarray.DataArray(scale), got)]
            assert at[3] == pytest.approx(float(function(*at[:3])), rel=1e-13)
    with pytest.raises(ValueError, match=r"different labels along the dimension 'x'.*reindex_like\("):
        function(x, by_x[::-1], 2.0)
    with pytest.raises(ValueError, match="no dimensions with names"):
        ns.quantile.ndtri(x, by_y, np.ones(3))


def test_a_number_at_many_parameters_has_their_labels():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    loc = pandas.Series([0.0, 1.0], index=["a", "b"], name="m")
    d = D.Normal(loc, 2.0)
    for got, want in ((d.cdf(1.0), [0.6914624612740131, 0.5]), (d.mean(), [0.0, 1.0]), (d.std(), [2.0, 2.0])):
        pandas.testing.assert_series_equal(got, pandas.Series(want, index=loc.index, name="m"))
    for end in (*d.interval(0.5), d.median(), d.expected_shortfall(0.1), d.expect(np.square), d.entropy()):
        assert end.index.equals(loc.index)
    for same in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        with pytest.raises(ValueError, match="different indexes"):
            same.cdf(loc[::-1])
    rain = xarray.DataArray(
        np.random.default_rng(1).gamma(2.0, 3.0, (40, 4, 4)),
        dims=("time", "lat", "lon"),
        coords={"lat": range(4), "lon": range(4)},
    )
    fits = D.fit_many(rain, "gamma", dim="time")
    one = rain.isel(time=0)
    for fitted in (D.Gamma(fits["shape"], scale=fits["scale"]), D.Gamma.fit(rain, dim="time")):
        xarray.testing.assert_allclose(fitted.cdf(one.T).T, fitted.cdf(one), rtol=1e-15)
        assert fitted.cdf(one.T).dims == ("lon", "lat") and fitted.cdf(rain).dims == rain.dims
        by_shape, _by_loc, by_scale = fitted.score(one)
        assert by_shape.dims == one.dims and by_scale.lat.equals(one.lat)
        bare = D.Gamma(fits["shape"].to_numpy(), scale=fits["scale"].to_numpy())
        np.testing.assert_array_equal(by_scale, bare.score(one.to_numpy())[2])


def test_pandas_beside_xarray_is_refused():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    with pytest.raises(ValueError, match=r"scale is of pandas and loc of xarray.*to_xarray\(\)"):
        ns.random.normal(xarray.DataArray([0.0, 1.0]), pandas.Series([1.0, 2.0]), rng=1)


def test_series_of_polars_go_by_position():
    polars = pytest.importorskip("polars")
    got = D.Normal(polars.Series("m", [0.0, 1.0]), 1.0).cdf(polars.Series("x", [0.0, 1.0]))
    assert isinstance(got, polars.Series) and got.to_list() == [0.5, 0.5]


WEIGHTED = {
    "distributions.fit": lambda x, w: D.fit(x, "normal", weights=w).loglik,
    "fit_many": lambda x, w: D.fit_many(x, "normal", weights=w).loglik,
    "mixture.fit": lambda x, w: ns.mixture.fit(x, 1, family="normal", weights=w, rng=1).loglik,
    "Mixture": lambda x, w: ns.mixture.Mixture(1, family="normal", rng=1).fit(x, sample_weight=w).loglik_,
    "stable.fit": lambda x, w: ns.stable.fit(x, weights=w).loglik,
    "kde.points": lambda x, w: ns.kde.points(x, np.array([0.3]), weights=w)[0],
    "kde.grid": lambda x, w: ns.kde.grid(x, [(-3.0, 3.0, 7)], weights=w)[3],
    "KDE": lambda x, w: ns.kde.KDE().fit(x, sample_weight=w).pdf(np.array([0.3]))[0],
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_need_the_labels_of_the_data(name):
    pandas, xarray, call = pytest.importorskip("pandas"), pytest.importorskip("xarray"), WEIGHTED[name]
    x, w = np.random.default_rng(1).normal(size=60), np.linspace(1.0, 2.0, 60)
    want = call(x, w)
    series, weights = pandas.Series(x), pandas.Series(w)
    assert call(series, weights) == want == call(series, w)
    with pytest.raises(ValueError, match=r"eight.* have different indexes, .*reindex"):
        call(series, weights[::-1])
    if name != "fit_many":  # which takes no weights with arrays of xarray
        t = {"t": range(60)}
        a, b = xarray.DataArray(x, dims="t", coords=t), xarray.DataArray(w, dims="t", coords=t)
        assert call(a, b) == want
        with pytest.raises(ValueError, match=r"eight.* have different labels along the dimension 't'"):
            call(a, b[::-1])


def test_results_of_another_shape_have_no_labels():
    pandas = pytest.importorskip("pandas")
    a = pandas.Series([0.0, 1.0])
    assert type(ns.random.normal(a, size=(3, 2), rng=1)) is np.ndarray
    assert type(ns.random.normal(a, rng=1)) is pandas.Series


def test_series_of_polars(Z):
    polars = pytest.importorskip("polars")
    z = ns.quantile.ndtri(polars.Series("u", U))
    assert isinstance(z, polars.Series) and z.name == "u"
    np.testing.assert_array_equal(z.to_numpy(), Z)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_are_not_pooled_in_silence(library, Z):
    """A fit of both columns, which lie 100 apart, as of one series."""
    frame = pytest.importorskip(library).DataFrame({"a": Z, "b": 100.0 + Z})
    with pytest.raises(TypeError, match=r"frame with the columns 'a', 'b': pick a column, as frame\['a'\]"):
        ns.stable.fit(frame)
    assert ns.stable.fit(frame["a"], "quantile").params.shape == (4,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_points_are_those_of_the_samples(library, Z):
    """The density at columns in another order was 7e-240 instead of 0.16."""
    frame = pytest.importorskip(library).DataFrame({"a": Z, "b": 10.0 + Z**2})
    model = ns.kde.KDE().fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    want = model.pdf(frame.to_numpy())
    for method in (model.pdf, model.score_samples, model.cdf):
        np.testing.assert_array_equal(method(frame), method(frame.to_numpy()))
        with pytest.raises(ValueError, match=r"points has the columns \['b', 'a'\], the model was fitted with \['a', 'b'\]"):
            method(frame[["b", "a"]])
    assert not hasattr(model.fit(frame.to_numpy()), "feature_names_in_") and (model.pdf(frame) == want).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("x", [np.array([np.nan, 1.0, 3.0]), np.linspace(0.1, 5.0, 60), np.linspace(0.1, 5.0, 500)], ids=len)
def test_stable_densities_of_series(library, x):
    """What the series and tables leave is computed again; in the memory of a series it could not be written."""
    series = pytest.importorskip(library).Series
    for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf"):
        got = getattr(ns.stable, name)(series(x), 1.5, 0.2)
        assert isinstance(got, series)
        np.testing.assert_array_equal(got.to_numpy(), getattr(ns.stable, name)(x, 1.5, 0.2))


def test_arrays_of_xarray(Z):
    xarray = pytest.importorskip("xarray")
    u = xarray.DataArray(U.reshape(8, 3), dims=("time", "k"), coords={"time": np.arange(8)}, name="u")
    z = ns.quantile.ndtri(u)
    xarray.testing.assert_identical(z, u.copy(data=Z.reshape(8, 3)))
    xarray.testing.assert_allclose(ns.stable.pdf(u, 1.5, u.T), ns.stable.pdf(u, 1.5, u), rtol=1e-14)


def test_blocks_of_dask_are_computed_when_asked_for(Z):
    dask = pytest.importorskip("dask.array")
    u = dask.from_array(U.reshape(8, 3), chunks=(3, 3))
    z = ns.quantile.ndtri(u)
    assert isinstance(z, dask.Array) and z.chunks == u.chunks and z.dtype == np.float64
    np.testing.assert_array_equal(z.compute(scheduler="threads"), Z.reshape(8, 3))
    assert ns.quantile.ndtri(u.astype("float32")).dtype == np.float32
    sums = ns.bayes.log_ndtr(u).sum()
    assert float(sums.compute()) == pytest.approx(ns.bayes.log_ndtr(U).sum(), rel=1e-14)
    with pytest.raises(TypeError, match="compute"):
        ns.quantile.ndtri(u, out=np.empty((8, 3)))


def test_xarray_over_dask(Z):
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    u = xarray.DataArray(U, dims=("t",), coords={"t": np.arange(U.size)})
    z = ns.quantile.ndtri(u.chunk({"t": 5}))
    assert z.chunks == ((5, 5, 5, 5, 4),)
    xarray.testing.assert_identical(z.compute(), u.copy(data=Z))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ns.mixture.fit(x, 1, family="normal"),
        lambda x: ns.kde.KDE().fit(x),
        lambda x: ns.stable.fit(x),
        lambda x: ns.distributions.fit(x, "gamma"),
        lambda x: ns.bayes.HorseshoeProbit().fit(x[:, None], U > 0.5),
    ],
    ids="mixture.fit KDE stable.fit fit probit".split(),
)
def test_other_functions_refuse_dask(call):
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"is a dask array.*x\.compute\(\).*map_blocks"):
        call(dask.from_array(U, chunks=5))


@pytest.mark.slow
def test_two_worker_processes_give_the_bits_of_one(Z):
    dask = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            u = dask.from_array(U, chunks=5)
            np.testing.assert_array_equal(client.compute(ns.quantile.ndtri(u)).result(), Z)
            normal = ns.distributions.Normal(1.0, 2.0)
            np.testing.assert_array_equal(client.compute(u.map_blocks(normal.ppf, dtype=float)).result(), normal.ppf(U))


def test_labels_over_dask_are_not_aligned_in_silence():
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    a = xarray.DataArray([0.1, 0.2], dims=("t",), coords={"t": [0, 1]}).chunk({"t": 1})
    with pytest.raises(ValueError, match="y and x have different labels along the dimension 't'"):
        elementwise(None, ("x", "y"), (a, a.assign_coords(t=[1, 2])))


BLOCKS = {
    "stable.pdf": lambda x, **o: ns.stable.pdf(x, 1.7, 0.2, **o),
    "stable.logpdf, S1": lambda x, **o: ns.stable.logpdf(x, 1.7, 1.0, 0.5, 2.0, param="S1", **o),
    "stable.cdf": lambda x, **o: ns.stable.cdf(x, 0.7, 0.2, **o),
    "stable.sf": lambda x, **o: ns.stable.sf(x, 1.0, 0.0, **o),
    "stable.ppf": lambda x, **o: ns.stable.ppf(x, 1.7, 0.2, **o),
    "Stable.pdf": lambda x, **o: ns.distributions.Stable(1.7, 0.2).pdf(x, **o),
    "Normal.cdf": lambda x, **o: ns.distributions.Normal(0.5, 2.0).cdf(x, **o),
    "Gamma.ppf": lambda x, **o: ns.distributions.Gamma(2.5, 2.0).ppf(x, **o),
    "StudentT.logpdf": lambda x, **o: ns.distributions.StudentT(4.0).logpdf(x, **o),
    "NIG.sf": lambda x, **o: ns.distributions.NIG(2.0, 0.5, 1.0, 0.0).sf(x, **o),
    "student_t.pdf": lambda x, **o: ns.distributions.student_t.pdf(x, 4.0, **o),
    "student_t.cdf": lambda x, **o: ns.distributions.student_t.cdf(x, 4.0, **o),
    "student_t(4).ppf": lambda x, **o: ns.distributions.student_t(4.0).ppf(x, **o),
    "student_t(4).isf": lambda x, **o: ns.distributions.student_t(4.0).isf(x, **o),
    "student_t(4).logpdf": lambda x, **o: ns.distributions.student_t(4.0).logpdf(x, **o),
    "mixture.pdf": lambda x, **o: ns.mixture.pdf(x, [0.4, 0.6], [0.3, 0.7], [2.0, 5.0], family="gamma", **o),
    "mixture.ppf": lambda x, **o: ns.mixture.ppf(x, [0.4, 0.6], [0.3, 0.7], [2.0, 5.0], family="gamma", **o),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_functions_by_blocks(name):
    """The bits do not depend on the chunks: the size of the whole, not of a block, says how densities are computed."""
    dask = pytest.importorskip("dask.array")
    call, u = BLOCKS[name], np.linspace(0.01, 0.99, 600)
    for x, chunks in ((u, 100), (u, 600), (u.reshape(100, 6), (30, 4)), (u[:50], 7)):
        got, want = call(dask.from_array(x, chunks=chunks)), call(x)
        assert isinstance(got, dask.Array) and got.dtype == np.float64 and got.shape == x.shape
        np.testing.assert_array_equal(got.compute(scheduler="threads"), want)
    single = call(dask.from_array(u.astype("float32"), chunks=100))
    assert single.dtype == np.float32 == single.compute().dtype
    with pytest.raises(TypeError, match="compute"):
        call(dask.from_array(u, chunks=100), **({"workers": _Pool()} if name == "mixture.pdf" else {"out": np.empty(600)}))


class _Pool:
    map = staticmethod(map)


def test_several_arrays_of_dask():
    dask = pytest.importorskip("dask.array")
    alpha = np.linspace(1.2, 1.9, 24)
    got = ns.stable.pdf(dask.from_array(U, chunks=5), dask.from_array(alpha, chunks=5), 0.1, scale=dask.from_array(U, chunks=5))
    np.testing.assert_array_equal(got.compute(), ns.stable.pdf(U, alpha, 0.1, scale=U))
    parts = ns.stable.pdf_cdf(dask.from_array(U, chunks=5), 1.5, 0.0)
    for got, want in zip(parts, ns.stable.pdf_cdf(U, 1.5, 0.0), strict=True):
        np.testing.assert_allclose(got.compute(), want, rtol=1e-12)
    with pytest.raises(TypeError, match="error=True"):
        ns.stable.pdf(dask.from_array(U, chunks=5), 1.5, 0.0, error=True)
    with pytest.raises(TypeError, match="parameters of shape"):
        ns.distributions.Normal(np.zeros(3), 1.0).pdf(dask.from_array(U, chunks=5))
    unknown = dask.from_array(U, chunks=5)
    unknown = unknown[unknown > 0.5]  # of a length that is not known before it is computed
    np.testing.assert_allclose(ns.stable.pdf(unknown, 1.5, 0.0).compute(), ns.stable.pdf(U[U > 0.5], 1.5, 0.0), rtol=1e-12)


def test_sums_over_blocks():
    """Of the same bits as the functions that the blocks are summed by."""
    dask = pytest.importorskip("dask.array")
    x, axes = ns.random.normal(size=(500, 2), rng=1), [(-4.0, 4.0, 17), (-4.0, 4.0, 19)]
    w = ns.random.uniform(0.5, 1.5, size=500, rng=2)
    cuts = [slice(0, 120), slice(120, 240), slice(240, 360), slice(360, 480), slice(480, 500)]
    for weights, kernel in ((None, "epanechnikov"), (w, "biweight")):
        of = lambda s, weights=weights: None if weights is None else weights[s]  # noqa: E731
        plan = ns.kde.plan(ns.kde.combine([ns.kde.partial(x[s], weights=of(s)) for s in cuts]), axes, kernel=kernel)
        want = ns.kde.finalize(ns.kde.combine([ns.kde.partial(x[s], plan, weights=of(s)) for s in cuts]), plan)
        lazy = ns.kde.grid(dask.from_array(x, chunks=(120, 1)), axes, kernel=kernel, weights=weights)
        assert isinstance(lazy, dask.Array) and lazy.shape == (17, 19) and lazy.dtype == np.float64
        got = lazy.compute()
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(
        ns.kde.grid(dask.from_array(x, chunks=(120, 2)), axes, kernel="biweight", weights=dask.from_array(w, chunks=77)), got
    )
    model = dict(weights=[0.4, 0.6], centres=[-0.3, 0.7], params=[2.0, 5.0], family="normal")
    sums = ns.mixture.partial_stats(dask.from_array(x[:, 0], chunks=120), **model, sample_weight=w)
    want = ns.mixture.combine([ns.mixture.partial_stats(x[s, 0], **model, sample_weight=w[s]) for s in cuts])
    np.testing.assert_array_equal(sums, want)
    with pytest.raises(ValueError, match="boundary=.*is not for a dask array.*compute"):
        ns.kde.grid(dask.from_array(x), axes, boundary={0: ("reflect", -4.0, None)})
    with pytest.raises(ValueError, match="their weights .*one weight per sample"):
        ns.kde.grid(dask.from_array(x), axes, weights=w[:20])
    with pytest.raises(ValueError, match="one axis per column"):
        ns.kde.grid(dask.from_array(x), axes[:1])
    with pytest.raises(ValueError, match="'gaussian'.*'biweight'"):
        ns.kde.grid(dask.from_array(x), axes, kernel="gaussian")
    with pytest.raises(ValueError, match="samples must be finite"):
        ns.kde.grid(dask.from_array(np.where(x > 1.0, np.nan, x)), axes).compute()


# --- what a review found


def test_labels_of_like_are_those_of_the_parameters():
    xarray = pytest.importorskip("xarray")
    loc = xarray.DataArray([1.0, 2.0, 3.0], dims="p", coords={"p": [1, 2, 3]})
    with pytest.raises(ValueError, match="like and loc have different labels"):
        ns.random.normal(loc, 1.0, like=loc[::-1], rng=1)
    assert ns.random.normal(loc, 1.0, like=loc, rng=1).dims == ("p",)


def test_a_parameter_without_labels_does_not_widen_others():
    pandas = pytest.importorskip("pandas")
    loc = pandas.Series([1.0, 2.0, 3.0], index=list("abc"))
    with pytest.raises(ValueError, match=r"labels of shape \(3,\) and together the shape \(2, 3\)"):
        D.Normal(loc, np.ones((2, 1)))


def test_other_coordinates_are_no_labels_of_a_dimension():
    """A scalar coordinate that `isel` leaves, or an altitude beside the latitude, made equal labels unequal."""
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(0).gamma(2.0, 1.0, (20, 2, 3))
    coords = {"time": range(20), "lat": [1, 2], "lon": [1, 2, 3], "altitude": ("lat", [100.0, 200.0])}
    rain = xarray.DataArray(values, dims=("time", "lat", "lon"), coords=coords)
    fitted = D.fit_many(rain, "gamma", dim="time").distribution
    np.testing.assert_array_equal(fitted.sf(rain.isel(time=0)), D.Gamma.fit(values, axis=0).sf(values[0]))
    assert D.Normal(rain.quantile(0.5, "time"), rain.std("time")).pdf(0.0).dims == ("lat", "lon")
    bare = xarray.DataArray([1.0, 2.0], dims="lat")
    for result in (D.Normal(bare).pdf(rain.lat * 1.0), D.Normal(rain.lat * 1.0).pdf(bare)):
        assert result.coords["lat"].values.tolist() == [1, 2]


def test_draws_and_blocks_of_labelled_distributions():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    s = pandas.Series([1.0, 2.0, 3.0], index=list("abc"))
    for made in (D.Normal(s), D.Weibull(s), D.StudentT(s), D.NIG(s + 1.0, 0.0, s), D.Stable(1.5, 0.0, s)):
        assert made.rvs(rng=1).index.equals(s.index) and type(made.rvs((2, 3), rng=1)) is np.ndarray
    dask = pytest.importorskip("dask.array")
    p = xarray.DataArray([1.0, 2.0, 3.0], dims="p", coords={"p": [1, 2, 3]})
    x = xarray.DataArray(np.ones((4, 3)), dims=("t", "p"), coords={"p": [1, 2, 3]})
    got = D.Stable(1.5, 0.0, p).pdf(x.chunk({"t": 2}))
    assert isinstance(got.data, dask.Array)
    np.testing.assert_allclose(got.compute(), D.Stable(1.5, 0.0, p).pdf(x), rtol=1e-12)


def test_mixtures_keep_labels():
    pandas = pytest.importorskip("pandas")
    x = pandas.Series(U, index=np.arange(U.size) + 3)
    known = dict(weights=[0.4, 0.6], centres=[0.3, 0.7], params=[2.0, 5.0], family="gamma")
    for name in ("pdf", "logpdf", "cdf", "sf", "ppf", "isf"):
        got = getattr(ns.mixture, name)(x, **known)
        assert got.index.equals(x.index)
        np.testing.assert_array_equal(got, getattr(ns.mixture, name)(U, **known))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: ns.kde.bandwidth.isj(x, weights=w),
        lambda x, w: ns.kde.bandwidth.lscv(x, weights=w),
        lambda x, w: ns.bayes.HorseshoeClassifier(**FEW).fit(x.to_frame(), x.to_numpy() > 0.5, sample_weight=w),
        lambda x, w: ns.bayes.HorseshoeRegression(**FEW).fit(x.to_frame(), w),
        lambda x, w: D.fit_many(x.to_frame("a").assign(b=1.0 + x), "normal", axis=0, weights=w.to_frame("b").assign(a=w)),
    ],
    ids=["isj", "lscv", "classifier", "outcomes", "frames"],
)
def test_further_weights_need_the_labels_of_the_data(call):
    pandas = pytest.importorskip("pandas")
    x = pandas.Series(U)
    with pytest.raises(ValueError, match="have different indexes"):
        call(x, pandas.Series(np.linspace(1.0, 2.0, U.size))[::-1])


FEW = dict(chains=1, warmup=60, draws=10, rng=1)
