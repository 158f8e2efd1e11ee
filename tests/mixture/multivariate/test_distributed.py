"""Rows in blocks: sums that add up, steps of EM from them, fits of dask's arrays and frames."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats.mixture.multivariate.kernels.pieces import CHUNK
from tests.mixture.multivariate import naive

N = 3 * CHUNK + 700
X = naive.blobs(4, N, 3, 3)
START = naive.em_step(X, *naive.of_labels(X, np.arange(N) % 3, 3))


def sums(x, now=START, **options):
    return ns.mixture.partial_stats(x, *now, **options)


def test_bits_do_not_depend_on_pieces_of_whole_chunks():
    whole = ns.mixture.combine([sums(X)])
    for edges in ([0, CHUNK, N], [0, 2 * CHUNK, 3 * CHUNK, N], [0, CHUNK, 2 * CHUNK, 3 * CHUNK, N]):
        pieces = [sums(X[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]
        np.testing.assert_array_equal(ns.mixture.combine(pieces), whole)
    others = ns.mixture.combine([sums(part) for part in np.split(X, [5, 1000, 20_000])])
    np.testing.assert_allclose(others, whole, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(ns.mixture.combine([sums(X, workers=2)]), whole)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_steps_of_em_are_the_plain_ones(covariance):
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    now, last = naive.em_step(X, *START, covariance), -np.inf
    for _ in range(3):
        total = ns.mixture.combine([sums(X[s], now, sample_weight=w[s]) for s in np.split(np.arange(N), [9000])])
        *new, loglik = ns.mixture.em_update(total, *now, covariance=covariance)
        assert loglik == pytest.approx(naive.loglik(X, *now, w), rel=1e-13) and loglik > last
        for a, b in zip(new, naive.em_step(X, *now, covariance, w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
        now, last = new, loglik


@pytest.mark.parametrize("covariance", ["spherical", "diag", "tied-spherical", "tied-diag"])
def test_steps_from_covariances_that_the_model_has_not(covariance):
    """Columns have scales of their own in the sums, and spherical covariances one for all."""
    units = np.array([1.0, 30.0, 0.02])
    x, now = X * units, (START[0], START[1] * units, START[2] * units * units[:, None])
    total = ns.mixture.combine([sums(x, now)])
    w, m, c, _ = ns.mixture.em_update(total, *now, covariance=covariance)
    own_w, own_m, own = naive.em_step(x, *now, "full")
    pooled = np.einsum("k,kij->ij", own_w, own)
    parts = [pooled if covariance.startswith("tied") else one for one in own]
    want = [np.eye(3) * np.trace(p) / 3 if covariance.endswith("spherical") else np.diag(np.diag(p)) for p in parts]
    np.testing.assert_allclose(w, own_w, rtol=1e-11)
    np.testing.assert_allclose(m, own_m, rtol=1e-10)
    np.testing.assert_allclose(c, want, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_units_change_nothing_but_rounding(unit):
    x, units = X[:3000], np.array([unit, 1.0, 4.0])
    far = START[0], START[1] * units, START[2] * units * units[:, None]
    w, m, c, loglik = ns.mixture.em_update(ns.mixture.combine([sums(x * units, far)]), *far)
    want = naive.em_step(x, *START)
    np.testing.assert_allclose(m / units, want[1], rtol=1e-11)
    np.testing.assert_allclose(c / units / units[:, None], want[2], rtol=1e-10, atol=1e-11)
    assert loglik + 3000 * np.log(units).sum() == pytest.approx(naive.loglik(x, *START), rel=1e-13)


def test_missing_rows_and_single_precision():
    x = X[:2000].copy()
    x[[3, 1500], [0, 2]] = np.nan
    good = ~np.isnan(x).any(axis=1)
    w = np.where(good, 2.0, np.nan)
    np.testing.assert_allclose(
        ns.mixture.combine([sums(x, sample_weight=w)]), 2.0 * ns.mixture.combine([sums(x[good])]), rtol=1e-10, atol=1e-9
    )
    single = x[good].astype(np.float32)
    np.testing.assert_array_equal(sums(single), sums(single.astype(np.float64)))


def test_what_is_refused():
    for options, words in (
        (dict(family="gamma"), "normal components"),
        (dict(device="cuda"), "made on the CPU"),
        (dict(sample_weight=np.ones(3)), r"sample_weight has shape \(3,\) for 50 rows"),
        (dict(sample_weight=-np.ones(50)), "finite and >= 0"),
    ):
        with pytest.raises(ValueError, match=words):
            sums(X[:50], **options)
    with pytest.raises(ValueError, match=r"of as many columns as the means have"):
        sums(X[:50, :2])
    with pytest.raises(ValueError, match="infinite"):
        sums(np.r_[X[:5], [[np.inf, 0.0, 0.0]]])
    with pytest.raises(ValueError, match="need params"):
        ns.mixture.partial_stats(X, START[0], START[1])
    with pytest.raises(ValueError, match="positive-definite"):
        sums(X, (START[0], START[1], -START[2]))
    with pytest.raises(ValueError, match=r"must be \(K,\), \(K, d\)"):
        sums(X, (START[0][:2], *START[1:]))
    total = ns.mixture.combine([sums(X)])
    with pytest.raises(ValueError, match="total has shape"):
        ns.mixture.em_update(total[1:], *START)
    with pytest.raises(ValueError, match="covariance='round' is not known"):
        ns.mixture.em_update(total, *START, covariance="round")
    with pytest.raises(ValueError, match="no rows or no spread"):
        ns.mixture.em_update(ns.mixture.combine([sums(X[:1])]), *START)
    with pytest.raises(ValueError, match="rows of several columns"):
        ns.mixture.em_update(np.ones(4), [1.0], [1.0], [1.0], family="normal", covariance="tied")
    with pytest.raises(ValueError, match="partial_stats"):
        ns.mixture.combine([np.ones((2, 7)), np.ones((2, 6))])


# --- dask ------------------------------------------------------------------------------------------------------------------


def blocks(x, rows):
    return pytest.importorskip("dask.array").from_array(x, chunks=(rows, x.shape[1]))


def same(found, want, digits=1e-12):
    assert found.status == want.status == 0 and found.columns == want.columns
    for name in ("loglik", "bic", "icl", "weights", "means", "covariances", "min_eig"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e3 * digits, atol=1e3 * digits)
    assert found.loglik == pytest.approx(want.loglik, rel=digits)
    assert (found.n_used, found.n_missing, found.n_dropped) == (want.n_used, want.n_missing, want.n_dropped)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_fits_of_blocks_are_those_in_memory(covariance):
    want = ns.mixture.fit(X, 3, covariance=covariance, rng=0, se=True)
    for rows in (CHUNK, 7000):
        found = ns.mixture.fit(blocks(X, rows), 3, covariance=covariance, rng=0, se=True)
        same(found, want)
        np.testing.assert_allclose(found.se["covariances"], want.se["covariances"], rtol=1e-6, atol=1e-12)


def test_choices_weights_and_missing_rows_of_blocks():
    x, w = X.copy(), np.random.default_rng(1).integers(0, 3, N).astype(float)
    x[[5, 20_000], [1, 2]] = np.nan
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="2 rows with missing values"):
        ns.mixture.fit(blocks(x, 9000), 2)
    options = dict(covariance=["tied", "full"], rng=0, nan_policy="omit")
    found = ns.mixture.fit(blocks(x, 9000), range(1, 4), weights=dask.from_array(w, chunks=5000), **options)
    want = ns.mixture.fit(x, range(1, 4), weights=w, **options)
    same(found, want)
    np.testing.assert_allclose(found.selection["bic"], want.selection["bic"], rtol=1e-9)
    x[7] = np.inf
    assert ns.mixture.fit(blocks(x, 9000), 2, errors="status").status == 8


def test_frames_of_dask_and_few_rows():
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(X, columns=list("abc"))
    lazy = frames.from_pandas(frame, npartitions=3)
    want = ns.mixture.fit(frame, 2, rng=0)
    same(ns.mixture.fit(lazy, 2, rng=0), want)
    same(ns.mixture.fit(lazy, 2, rng=0, weights=lazy["a"] * 0.0 + 1.0), want)
    with pytest.raises(ValueError, match="same partitions"):
        ns.mixture.fit(lazy, 2, weights=np.ones(N))
    few = ns.mixture.fit(blocks(X[:500], 90), 2, rng=0)  # these fit into memory
    assert few.loglik == ns.mixture.fit(X[:500], 2, rng=0).loglik
    with pytest.raises(ValueError, match="too few values"):
        ns.mixture.fit(blocks(X[:4], 2), 2)


def test_collapse_and_a_singular_scatter_in_blocks():
    rng = np.random.default_rng(2)
    x = np.r_[rng.normal(size=(12_000, 2)), np.tile(rng.normal(size=(1, 2)), (4000, 1))]
    found = ns.mixture.fit(blocks(x, 5000), 2, rng=0, errors="status")
    want = ns.mixture.fit(x, 2, rng=0, errors="status")
    assert found.status in (0, 12, 13) and (found.status == 12) == (want.status == 12)
    with pytest.raises(ValueError, match="linear combination"):
        ns.mixture.fit(blocks(np.c_[X, X[:, 0]], 9000), 2)


def test_sums_of_dask():
    total = sums(blocks(X, CHUNK))
    np.testing.assert_array_equal(total, ns.mixture.combine([sums(X)]))


def test_densities_of_dask():
    dask = pytest.importorskip("dask.array")
    fit = ns.mixture.fit(X, 3, rng=0)
    lazy = blocks(X, 9000)
    for name in ("pdf", "logpdf", "predict", "predict_proba"):
        found, want = getattr(fit, name)(lazy), getattr(fit, name)(X)
        assert isinstance(found, dask.Array) and found.dtype == want.dtype and found.shape == want.shape
        assert found.chunks[0] == lazy.chunks[0]
        np.testing.assert_array_equal(found.compute(), want)
    assert fit.pdf(lazy.astype("f4")).compute().dtype == np.float32
    assert fit.predict(lazy.rechunk((5000, 2))).sum().compute() == fit.predict(X).sum()
    with pytest.raises(ValueError, match="must have rows of 3 columns"):
        fit.pdf(lazy[:, :2])
