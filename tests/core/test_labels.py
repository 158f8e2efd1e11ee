"""Series, frames and labelled arrays keep their labels; dask's arrays are never pulled into memory unasked."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.elementwise import elementwise

U = np.linspace(0.02, 0.98, 24)
Z = ns.quantile.ndtri(U)


def test_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    u = pandas.Series(U, index=pandas.date_range("2026-01-01", periods=U.size), name="u")
    z = ns.quantile.ndtri(u)
    pandas.testing.assert_series_equal(z, pandas.Series(Z, index=u.index, name="u"))
    p = ns.distributions.Normal(0.0, 1.0).cdf(z)
    pandas.testing.assert_series_equal(p, u, rtol=1e-14)


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(U.reshape(8, 3), columns=list("abc"), index=range(10, 18))
    pandas.testing.assert_frame_equal(
        ns.quantile.ndtri(frame), pandas.DataFrame(Z.reshape(8, 3), columns=list("abc"), index=range(10, 18))
    )


def test_labels_are_not_aligned_in_silence():
    pandas = pytest.importorskip("pandas")
    a = pandas.Series(U[:3], index=[0, 1, 2])
    with pytest.raises(ValueError, match="scale and loc have other labels or shapes.*to_numpy"):
        ns.random.normal(a, a[::-1], rng=1)
    with pytest.raises(ValueError, match="beta and x have other labels or shapes"):
        ns.stable.pdf(a, 1.5, a[::-1])


def test_results_of_another_shape_have_no_labels():
    pandas = pytest.importorskip("pandas")
    a = pandas.Series([0.0, 1.0])
    assert type(ns.random.normal(a, size=(3, 2), rng=1)) is np.ndarray
    assert type(ns.random.normal(a, rng=1)) is pandas.Series


def test_series_of_polars():
    polars = pytest.importorskip("polars")
    z = ns.quantile.ndtri(polars.Series("u", U))
    assert isinstance(z, polars.Series) and z.name == "u"
    np.testing.assert_array_equal(z.to_numpy(), Z)


def test_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    u = xarray.DataArray(U.reshape(8, 3), dims=("time", "k"), coords={"time": np.arange(8)}, name="u")
    z = ns.quantile.ndtri(u)
    xarray.testing.assert_identical(z, u.copy(data=Z.reshape(8, 3)))
    with pytest.raises(ValueError, match="other labels or shapes"):
        ns.stable.pdf(u, 1.5, u.T)


def test_blocks_of_dask_are_computed_when_asked_for():
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


def test_xarray_over_dask():
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
        lambda x: ns.mixture.pdf(x, [1.0], [0.0], [1.0], family="normal"),
        lambda x: ns.kde.KDE().fit(x),
        lambda x: ns.kde.grid(x, (0, 1, 5)),
        lambda x: ns.stable.fit(x),
        lambda x: ns.stable.pdf(x, 1.5, 0.1),
        lambda x: ns.distributions.fit(x, "gamma"),
        lambda x: ns.distributions.Normal(0.0, 1.0).pdf(x),
        lambda x: ns.random.normal(x),
        lambda x: ns.bayes.HorseshoeProbit().fit(x[:, None], U > 0.5),
        lambda x: ns.quantile.Recycler(logpdf=lambda v: -(v**2)).ppf(x),
    ],
    ids="mixture.fit mixture.pdf KDE grid stable.fit stable.pdf fit Normal.pdf draws probit recycler".split(),
)
def test_other_functions_refuse_dask(call):
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"is a dask array.*x\.compute\(\).*map_blocks"):
        call(dask.from_array(U, chunks=5))


@pytest.mark.slow
def test_two_worker_processes_give_the_bits_of_one():
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
    with pytest.raises(ValueError, match="y and x have other labels or shapes"):
        elementwise(None, ("x", "y"), (a, a.assign_coords(t=[1, 2])))
