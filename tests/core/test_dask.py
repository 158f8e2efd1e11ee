"""Draws, scores and recycled samples of dask's arrays: computed by blocks, with the bits of one call."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns

dask = pytest.importorskip("dask.array")

N = 600
SHAPES = [((N,), 70), ((N,), N), ((100, 6), (30, 6)), ((100, 6), (30, 4)), ((4, 15, 10), (3, 15, 3)), ((4, 15, 10), (2, 6, 10))]
LOC, SCALE = np.linspace(-1.0, 1.0, N), np.linspace(0.5, 2.0, N)
DRAWS = {
    "uniform": lambda a, b, **o: ns.random.uniform(a, a + b, **o),
    "normal": lambda a, b, **o: ns.random.normal(a, b, **o),
    "exponential": lambda a, b, **o: ns.random.exponential(b, **o),
    "gamma": lambda a, b, **o: ns.random.gamma(b, 2.0, **o),
    "truncnorm": lambda a, b, **o: ns.random.truncnorm(a, b, 0.5, np.inf, **o),
    "stable": lambda a, b, **o: ns.stable.rvs(1.5, 0.3, a, b, **o),
    "stable, all arrays": lambda a, b, **o: ns.stable.rvs(b, 0.4 * a, a, b, **o),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_with_parameters_in_blocks(name):
    """However the array is cut, in whole rows or across them."""
    for shape, chunks in SHAPES:
        a, b = LOC.reshape(shape), SCALE.reshape(shape)
        got = DRAWS[name](dask.from_array(a, chunks=chunks), dask.from_array(b, chunks=chunks), rng=7)
        assert isinstance(got, dask.Array) and got.dtype == np.float64 and got.chunks == dask.from_array(a, chunks=chunks).chunks
        np.testing.assert_array_equal(got.compute(scheduler="threads"), DRAWS[name](a, b, rng=7))
    single = DRAWS[name](LOC, dask.from_array(SCALE, chunks=70), rng=7, dtype="float32", offset=5)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single.compute(), DRAWS[name](LOC, SCALE, rng=7, dtype="float32", offset=5))


@pytest.mark.parametrize(("shape", "chunks"), SHAPES)
def test_draws_like_an_array_of_dask(shape, chunks):
    like = dask.zeros(shape, chunks=chunks)
    got = ns.random.normal(size=shape, rng=1, like=like)
    assert got.chunks == like.chunks
    np.testing.assert_array_equal(got.compute(), ns.random.normal(size=shape, rng=1))
    np.testing.assert_array_equal(got.compute(), got.compute())  # the key is fixed when the array is made
    other = ns.stable.rvs(1.7, 0.2, size=shape, rng=1, like=dask.zeros(0))  # chunks of dask's choice
    np.testing.assert_array_equal(other.compute(), ns.stable.rvs(1.7, 0.2, size=shape, rng=1))


def test_parameters_that_broadcast():
    rows, columns = np.linspace(0.0, 9.0, 20)[:, None], np.linspace(0.5, 2.0, 6)
    want = ns.random.normal(rows, columns, size=(3, 20, 6), rng=2)
    for a, b in (
        (dask.from_array(rows, chunks=(8, 1)), columns),
        (rows, dask.from_array(columns, chunks=4)),
        (dask.from_array(rows, chunks=(8, 1)), dask.from_array(columns, chunks=4)),
    ):
        np.testing.assert_array_equal(ns.random.normal(a, b, size=(3, 20, 6), rng=2).compute(), want)
    scale = dask.from_array(np.array(2.0))
    np.testing.assert_array_equal(
        ns.random.normal(0.0, scale, size=5, rng=2).compute(), ns.random.normal(0.0, 2.0, size=5, rng=2)
    )
    assert ns.random.normal(dask.zeros((0, 3)), 1.0, rng=2).compute().shape == (0, 3)


def test_streams_of_draws_in_blocks():
    loc = dask.from_array(LOC, chunks=70)
    rng = np.random.default_rng(3)
    first, second = ns.random.normal(loc, rng=rng), ns.random.normal(loc, rng=rng)
    want = np.random.default_rng(3)
    np.testing.assert_array_equal(first.compute(), ns.random.normal(LOC, rng=want))
    np.testing.assert_array_equal(second.compute(), ns.random.normal(LOC, rng=want))
    fresh = ns.random.normal(loc, rng=None)
    np.testing.assert_array_equal(fresh.compute(), fresh.compute())
    assert not np.array_equal(fresh.compute(), ns.random.normal(loc).compute())


def test_draws_keep_the_labels_of_xarray():
    xarray = pytest.importorskip("xarray")
    loc = xarray.DataArray(LOC.reshape(100, 6), dims=("time", "cell"), coords={"cell": list("abcdef")})
    got = ns.random.normal(loc.chunk({"cell": 2}), rng=1)
    assert got.dims == ("time", "cell") and got.chunks is not None
    xarray.testing.assert_identical(got.compute(), ns.random.normal(loc, rng=1))
    like = xarray.zeros_like(loc).chunk({"time": 30})
    xarray.testing.assert_identical(
        ns.random.normal(size=(100, 6), rng=1, like=like).compute(), ns.random.normal(0.0 * loc, rng=1)
    )


def test_draws_that_blocks_cannot_make():
    loc = dask.from_array(LOC, chunks=70)
    with pytest.raises(TypeError, match="neither out, stream nor an executor"):
        ns.random.normal(loc, out=np.empty(N))
    with pytest.raises(TypeError, match=r"like is a ndarray .*x\.compute\(\)"):
        ns.random.normal(loc, like=np.empty(0))
    with pytest.raises(ValueError, match=r"unknown length.*loc\.compute_chunk_sizes\(\)"):
        ns.random.normal(loc[loc > 0.0], rng=1)
    with pytest.raises(ValueError, match="cannot hold parameters"):
        ns.random.normal(loc, size=5)
    with pytest.raises(ValueError, match="offset=5 continues a stream"):
        ns.random.normal(loc, offset=5)
    with pytest.raises(ValueError, match="scale has the negative value -1"):  # of a block, when it is drawn
        ns.random.normal(loc, -1.0, rng=1).compute()


@pytest.mark.parametrize("alpha", [0.7, 1.5, 2.0])
@pytest.mark.parametrize("param", ["S0", "S1"])
def test_scores(alpha, param):
    x = np.linspace(-4.0, 6.0, N)
    for some, shape, chunks in ((x, (N,), 70), (x, (100, 6), (30, 4)), (x[:60], (60,), 7)):
        some = some.reshape(shape)
        got = ns.stable.score(dask.from_array(some, chunks=chunks), alpha, 0.2, 0.1, 1.5, param=param)
        assert got.shape == (*shape, 4) and got.chunks[-1] == (4,)
        np.testing.assert_array_equal(got.compute(), ns.stable.score(some, alpha, 0.2, 0.1, 1.5, param=param))
    single = ns.stable.score(dask.from_array(x.astype("float32"), chunks=200), alpha, 0.2, param=param)
    assert single.dtype == np.float32 == single.compute().dtype


def test_scores_of_several_arrays():
    x, alpha = np.linspace(-4.0, 6.0, 24).reshape(12, 2), np.linspace(0.6, 1.9, 12)[:, None]
    want = ns.stable.score(x, alpha, 0.1, scale=SCALE[:2])
    for a in (alpha, dask.from_array(alpha, chunks=(1, 1))):
        got = ns.stable.score(dask.from_array(x, chunks=(5, 1)), a, 0.1, scale=SCALE[:2])
        np.testing.assert_array_equal(got.compute(), want)
    xarray = pytest.importorskip("xarray")
    labelled = xarray.DataArray(x, dims=("t", "c")).chunk({"t": 5})
    np.testing.assert_array_equal(ns.stable.score(labelled, 1.5, 0.1).compute(), ns.stable.score(x, 1.5, 0.1))


T4, SKEW = ns.distributions.student_t(4.0), ns.distributions.hyperbolic(1.5, 0.3, 1.0)
KINKED = ns.quantile.QuantileTable(lambda x: np.exp(-np.abs(x)), support=(-np.inf, np.inf))
RECYCLED = {
    "normal to t": ("normal", T4),
    "uniform to normal": ("uniform", "normal"),
    "exponential to normal": ("exponential", "normal"),
    "t to hyperbolic": (T4, SKEW),
    "to kinked": ("normal", KINKED),
}


@pytest.mark.parametrize("name", RECYCLED)
def test_recycled_samples(name):
    base, target = RECYCLED[name]
    x = np.linspace(0.01, 0.99, N)
    for shape, chunks in SHAPES[:4]:
        want = ns.quantile.recycle(x.reshape(shape), base, target)
        got = ns.quantile.recycle(dask.from_array(x.reshape(shape), chunks=chunks), base, target)
        assert isinstance(got, dask.Array)
        np.testing.assert_array_equal(got.compute(scheduler="threads"), want)
    single = ns.quantile.recycle(dask.from_array(x.astype("float32"), chunks=100), base, target)
    assert single.dtype == np.float32 == single.compute().dtype
    with pytest.raises(TypeError, match="compute"):
        ns.quantile.recycle(dask.from_array(x, chunks=100), base, target, out=np.empty(N))


@pytest.mark.parametrize("targets", [[T4, SKEW], [T4, KINKED]], ids=["stacked", "column by column"])
def test_a_distribution_for_each_column(targets):
    z = ns.random.normal(size=(300, 2), rng=1)
    got = ns.quantile.recycle(dask.from_array(z, chunks=(70, 1)), "normal", targets)
    np.testing.assert_array_equal(got.compute(), ns.quantile.recycle(z, "normal", targets))
    xarray = pytest.importorskip("xarray")
    labelled = xarray.DataArray(z, dims=("draw", "asset"), coords={"asset": ["a", "b"]})
    got = ns.quantile.recycle(labelled.chunk({"asset": 1}), "normal", targets)
    assert got.dims == ("draw", "asset") and got.chunks is not None
    np.testing.assert_array_equal(got.to_numpy(), ns.quantile.recycle(z, "normal", targets))
    with pytest.raises(ValueError, match="2 distributions for samples of shape"):
        ns.quantile.recycle(dask.from_array(z[:, :1]), "normal", targets)


def test_a_table_of_many_distributions_is_not_broadcast_in_blocks():
    several = ns.distributions.student_t(np.array([3.0, 4.0]))
    with pytest.raises(TypeError, match=r"parameters of shape \(2,\); pass x\.compute\(\)"):
        ns.quantile.recycle(dask.zeros((6, 2)), "normal", several)


@pytest.mark.slow
def test_worker_processes_give_the_same_bits():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            x = dask.from_array(LOC.reshape(100, 6), chunks=(30, 4))
            for lazy, want in (
                (ns.random.gamma(abs(x), rng=1), ns.random.gamma(abs(LOC.reshape(100, 6)), rng=1)),
                (ns.stable.rvs(1.5, 0.3, x, rng=1), ns.stable.rvs(1.5, 0.3, LOC.reshape(100, 6), rng=1)),
                (ns.stable.score(x, 1.5, 0.2), ns.stable.score(LOC.reshape(100, 6), 1.5, 0.2)),
                (ns.quantile.recycle(x, "normal", T4), ns.quantile.recycle(LOC.reshape(100, 6), "normal", T4)),
                (
                    ns.quantile.recycle(x, "normal", [T4, SKEW] * 3),
                    ns.quantile.recycle(LOC.reshape(100, 6), "normal", [T4, SKEW] * 3),
                ),
            ):
                np.testing.assert_array_equal(client.compute(lazy).result(), want)
