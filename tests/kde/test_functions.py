"""Densities on grids, against tables and brute-force sums."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from numbastats import kde
from numbastats.kde import arguments
from tests.kde.naive import CASES, CPU, FOLDER, WRAPS, mesh, naive, small

pytestmark = WRAPS


@pytest.fixture(scope="module")
def tables():
    opened = {name: np.load(FOLDER / name) for name in {c["file"] for c in CASES}}
    yield opened
    for archive in opened.values():
        archive.close()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["case"])
def test_reference(case, tables):
    """Seen at most: grid 3.1e-14 of the peak, points 4.2e-15; the Gaussian 1.1e-10 with its tail of 1e-10 cut and rescaled."""

    def key(k):
        return tables[case["file"]][f"{case['case']}/{k}"]

    weights = key("weights") if key("weights").size else None
    fitted = kde.KDE(kernel=case["kernel"], H=key("H"), device="cpu", workers=1).fit(key("samples"), sample_weight=weights)
    axes = [key(f"axis{i}") for i in range(int(case["d"]))]
    got, exact = fitted.grid(axes), key("density")
    peak, bound = exact.max(), fitted.error_bound_
    at, exact_at = fitted.points(key("points")), key("density_points")
    if case["kernel"] == "gaussian":
        assert np.abs(got - exact).max() <= 3e-10 * peak and np.abs(at - exact_at).max() <= 3e-10 * peak
        return
    error = np.abs(got - exact).max()
    assert error <= 1e-12 * peak
    assert (got[exact == 0] == 0).all()
    assert np.abs(at - exact_at).max() <= 5e-15 * max(peak, exact_at.max())
    assert (at[exact_at == 0] == 0).all()
    assert error <= bound * got.max() + 1e-15 * peak  # the table itself is good to 1e-15


@pytest.mark.parametrize("method", ["rows-b", "rows-c", "cells", "skde", "skde-crop", "skde-row", "ep"])
def test_every_method_agrees_with_the_table(method, tables):
    """Seen at most 1.3e-14 of the peak for b, c and direct sums, 1.2e-13 for a."""
    for case in CASES:
        if case["kernel"] != "epanechnikov" or case["weighted"] == "1" or (method == "skde-crop" and int(case["d"]) < 3):
            continue
        if (method == "ep" and int(case["n"]) > 500) or (method == "cells" and case["d"] != "2"):
            continue

        def key(k, c=case):
            return tables[c["file"]][f"{c['case']}/{k}"]

        got = kde.grid(key("samples"), [key(f"axis{i}") for i in range(int(case["d"]))], H=key("H"), method=method, **CPU)
        exact = key("density")
        assert np.abs(got - exact).max() <= 1e-12 * exact.max(), case["case"]
        assert (got[exact == 0] == 0).all()


def test_against_scikit_learn_and_scipy():
    """Whole numbers of the peers, with their own meaning of the bandwidth."""
    stats = pytest.importorskip("scipy.stats")
    neighbors = pytest.importorskip("sklearn.neighbors")
    x, axes, _ = small(2)
    points = mesh(axes)
    shape = tuple(len(a) for a in axes)
    theirs = np.exp(neighbors.KernelDensity(kernel="epanechnikov", bandwidth=2.0).fit(x).score_samples(points))
    ours = kde.grid(x, axes, h=2.0, bw_convention="sklearn", **CPU)
    np.testing.assert_allclose(ours, theirs.reshape(shape), rtol=0, atol=1e-12 * ours.max())
    theirs = stats.gaussian_kde(x.T, bw_method=0.4)(points.T).reshape(shape)
    ours = kde.grid(x, axes, h=0.4, kernel="gaussian", bw_convention="scipy", method="ep", tail=0, **CPU)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * ours.max())


def test_weights():
    x, axes, H = small(2)
    w = np.random.default_rng(6).integers(0, 4, len(x)).astype(float)
    repeated = np.repeat(x, w.astype(int), axis=0)
    np.testing.assert_allclose(kde.grid(x, axes, H=H, weights=w, **CPU), kde.grid(repeated, axes, H=H, **CPU), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        kde.grid(x, axes, weights=w, **CPU), kde.grid(x, axes, weights=1e7 * w, **CPU), rtol=1e-12, atol=1e-18
    )
    with pytest.warns(RuntimeWarning, match="vanish"):
        kde.grid(x, axes, H=H, weights=np.where(np.arange(len(x)) == 0, 1e-30, 1.0), **CPU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what lies out of reach does not vanish
        line = dict(h=1, sigma="identity", **CPU)
        assert not kde.grid([0.0, 1.0], (50, 60, 5), weights=[1e-30, 2e-30], **line).any()
        want = kde.grid([0.0, 1.0], (-1, 2, 5), weights=[1, 1], **line)
        assert np.array_equal(kde.grid([0.0, 1.0, 100.0], (-1, 2, 5), weights=[1, 1, 1e-30], **line), want)


@pytest.mark.more_in_simulator
def test_dtypes_out_and_kinds(tmp_path, device):
    x, axes, H = small(2)
    f = kde.grid(x, axes, H=H, **device)
    single = kde.grid(x.astype(np.float32), axes, H=H, **device)
    assert single.dtype == np.float32 and np.allclose(single, f, rtol=0, atol=1e-5 * f.max())
    assert kde.grid(x, axes, H=H, dtype="float32", **device).dtype == np.float32
    assert kde.grid(np.arange(10), (-5, 15, 50), **device).dtype == np.float64
    out = np.memmap(tmp_path / "grid", np.float64, "w+", shape=f.shape)
    assert kde.grid(x, axes, H=H, out=out, **device) is out and np.array_equal(out, f)
    assert kde.grid_slabs(x, axes, H=H, out=out, slab_rows=4, **device) is out and np.array_equal(out, f)
    seen = []
    kde.grid_slabs(x, axes, H=H, callback=lambda where, block: seen.append(where.stop) or len(seen) == 2, slab_rows=4, **device)
    assert seen == [4, 8]
    with pytest.raises(ValueError, match="shape"):
        kde.grid(x, axes, H=H, out=np.empty(3), **device)
    with pytest.raises(TypeError, match="dtype"):
        kde.grid(x, axes, H=H, out=np.empty(f.shape, np.float32), **device)


def test_device_arrays():
    from numba import cuda

    x, axes, H = small(2, n=20)
    got = kde.grid(cuda.to_device(x), axes, H=H)
    assert hasattr(got, "copy_to_host") and np.array_equal(got.copy_to_host(), kde.grid(x, axes, H=H, **CPU))
    at = kde.points(cuda.to_device(x), x[:5], H=H)
    assert hasattr(at, "copy_to_host")
    with pytest.raises(ValueError, match="copy it to the host"):
        kde.grid(cuda.to_device(x), axes, H=H, device="cpu")


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("method", arguments.GRID_METHODS)
def test_overlapping_out(d, method):
    """The result is written over the samples, their weights, their scales or an axis: the same as in other memory."""
    r = np.random.default_rng(d)
    n, shape = 400, {1: (61,), 2: (5, 9), 3: (4, 5, 9)}[d]
    fields = {"samples": r.normal(size=(n, d)), "weights": r.random(n) + 0.1, "adaptive": r.uniform(0.7, 1.4, n)}
    axes = [np.linspace(-3, 3, m) for m in shape]
    tried = 0
    for kernel in ("epanechnikov", "triweight", "triangular", "gaussian"):
        for used in (("samples",), ("samples", "weights"), ("samples", "weights", "adaptive")):
            for over in (*used, *(("axis",) if d == 1 else ())):
                own = {k: fields[k].copy() for k in used}
                grid = [a.copy() for a in axes]
                memory = grid[0] if over == "axis" else own[over].reshape(-1)
                out = memory[: math.prod(shape)].reshape(shape)
                try:
                    want = kde.grid(axes=axes, kernel=kernel, method=method, **{k: fields[k] for k in used}, **CPU)
                except ValueError:
                    continue
                got = kde.grid(axes=grid, kernel=kernel, method=method, out=out, **own, **CPU)
                assert got is out
                np.testing.assert_array_equal(got, want)
                tried += 1
    assert tried > 0 or (method, d) in {("cells", 1), ("cells", 3), ("skde-crop", 1), ("skde-crop", 2)}


def test_tensors_for_out_and_axis():
    torch = pytest.importorskip("torch")
    x = torch.tensor(np.random.default_rng(0).normal(size=(50, 2)))
    axes, out, at = [(-1, 1, 3), (-1, 1, 4)], torch.empty(3, 4, dtype=torch.float64), torch.empty(1, dtype=torch.float64)
    assert kde.grid(x, axes, out=out, **CPU) is out
    assert np.array_equal(out.numpy(), kde.grid(x.numpy(), axes, **CPU))
    slabs = torch.empty(3, 4, dtype=torch.float64)
    assert kde.grid_slabs(x, axes, out=slabs, **CPU) is slabs
    assert kde.points(x, [[0.0, 0.0]], out=at, **CPU) is at and at[0] > 0
    model, slopes = kde.KDE(**CPU).fit(x), torch.empty(2, 3, 4, dtype=torch.float64)
    want = kde.KDE(**CPU).fit(x.numpy()).gradient(axes)
    assert isinstance(model.gradient(axes), torch.Tensor) and np.array_equal(model.gradient(axes).numpy(), want)
    assert model.gradient(axes, out=slopes) is slopes and np.array_equal(slopes.numpy(), want)
    with pytest.raises(TypeError, match="float32"):
        model.gradient(axes, out=torch.empty(2, 3, 4))
    line = kde.grid([0.0, 1.0], torch.arange(3.0), h=1, sigma="identity", **CPU)
    assert np.allclose(line, [0.375, 0.375, 0.0], rtol=1e-14, atol=0)


def test_perkins():
    f = np.array([[1.0, 2], [3, 4]])
    assert kde.perkins(f, 5 * f) == pytest.approx(1)
    assert kde.perkins([1.0, 0], [0, 1.0]) == 0
    assert math.isnan(kde.perkins([0.0, 0], [0, 1.0]))
    assert kde.perkins([1e308, 1e308], [1.0, 3.0]) == 0.75  # whose sum overflows
    with pytest.raises(ValueError, match="same grid"):
        kde.perkins(f, f[0])
    x = np.random.default_rng(13).standard_normal((20_000, 2))
    axes = kde.regular_axes(x, shape=80)
    h = kde.bandwidth.eq9(x)
    gauss = kde.grid(x, axes, kernel="gaussian", h=h / math.sqrt(6), tail=1e-6, **CPU)
    assert kde.perkins(kde.grid(x, axes, **CPU), gauss) > 0.99  # the specification measured 0.9946 on other data


def test_regular_axes():
    x, _, _ = small(2)
    axes = kde.regular_axes(x, shape=(20, 30))
    f = kde.grid(x, axes, **CPU)
    assert f.shape == (20, 30)
    assert (f[[0, -1]] == 0).all() and (f[:, [0, -1]] == 0).all()
    axes = kde.regular_axes(x, step=0.5)
    assert axes[0][1] - axes[0][0] == 0.5
    for bad in (dict(shape=1), dict(step=-1.0), dict(shape=3, step=1.0), dict(pad=math.inf), dict(pad=-1.0), dict(step=1e-300)):
        with pytest.raises(ValueError, match="s"):
            kde.regular_axes(x, **bad)


def test_keywords_of_axes():
    with pytest.raises(TypeError, match="no argument 'boundary': it takes samples, shape"):
        kde.regular_axes(np.arange(9.0), boundary={0: ("reflect", 0, 9)})


@pytest.mark.parametrize("d", [1, 2, 3])
def test_densities_at_the_samples(d, device):
    rng = np.random.default_rng(8)
    x, w, H = rng.normal(size=(40, d)), rng.uniform(0.2, 1, 40), np.eye(d) + 0.2
    want = naive(x, x, H, weights=w)
    np.testing.assert_allclose(kde.at_samples(x, H=H, weights=w, **device), want, rtol=1e-13)
    other = kde.at_samples(x, x[:3] + 0.1, H=H, weights=w, log=True, **device)
    np.testing.assert_allclose(other, np.log(naive(x, x[:3] + 0.1, H, weights=w)), rtol=1e-12)
    out = np.empty(40)
    assert kde.at_samples(x, H=H, weights=w, leave_one_out=True, out=out, **device) is out
    for i in range(40):
        keep = np.arange(40) != i
        assert abs(out[i] - naive(x[keep], x[i : i + 1], H, weights=w[keep])[0]) <= 1e-14 * want.max()
    single = kde.at_samples(x.astype(np.float32), H=H, leave_one_out=True, log=True, **device)
    assert single.dtype == np.float32 and single.shape == (40,)


def test_densities_at_the_samples_refused():
    x = np.random.default_rng(8).normal(size=30)
    with pytest.raises(ValueError, match="leave points= out"):
        kde.at_samples(x, [0.0], leave_one_out=True)
    with pytest.raises(ValueError, match="boundary"):
        kde.at_samples(x, leave_one_out=True, boundary={0: ("reflect", -9, None)})
    with pytest.raises(TypeError, match="bw"):
        kde.at_samples(x, bw=1.0)
    with pytest.raises(ValueError, match="NaN or inf"):
        kde.at_samples(np.r_[x, np.nan])


def test_levels_of_highest_density_regions():
    """The normal distribution: a region of mass p ends at quantile (1 + p) / 2; in the plane the level is (1 - p) / 2 pi."""
    from scipy.stats import norm

    axis, p = np.linspace(-8, 8, 4001), np.array([[0.05, 0.5], [0.9, 0.99]])
    f = norm.pdf(axis)
    np.testing.assert_allclose(kde.hdr_levels(f, p, cell=0.004), norm.pdf(norm.ppf((1 + p) / 2)), rtol=2e-3)  # 1.0e-3
    f = f[::10]
    plane = kde.hdr_levels(np.outer(f, f), p)
    np.testing.assert_allclose(plane, (1 - p) / (2 * np.pi), rtol=1e-2)  # 6.8e-3: ties by symmetry
    part = kde.hdr_levels(f[:201], [0.4, 0.6, np.nan], cell=0.04)
    assert part[0] > 0 and np.isnan(part[1:]).all() and np.ndim(kde.hdr_levels(f, 0.5)) == 0
    x = np.random.default_rng(1).normal(size=100_000)
    near = kde.hdr_levels(norm.pdf(x), p, weights=1.0)
    np.testing.assert_allclose(near, norm.pdf(norm.ppf((1 + p) / 2)), rtol=0.03)  # five standard errors
    doubled = kde.hdr_levels(np.r_[1.0, 2.0, 2.0, 3.0], [0.2, 0.5, 0.8], weights=np.ones(4))
    assert kde.hdr_levels([1.0, 2.0, 3.0], 0.5, weights=[1.0, 2.0, 1.0]) == 2.0 == doubled[1]
    for bad in (dict(density=[1.0, np.nan]), dict(density=[-1.0, 2.0]), dict(density=[0.0]), dict(density=[1.0], cell=0.0)):
        with pytest.raises(ValueError, match="density|cell"):
            kde.hdr_levels(probs=0.5, **bad)
    with pytest.raises(ValueError, match="one of the two"):
        kde.hdr_levels([1.0], 0.5, cell=1.0, weights=[1.0])
    with pytest.raises(ValueError, match="one weight per sample"):
        kde.hdr_levels([1.0], 0.5, weights=[1.0, 2.0])


def test_levels_of_an_estimate():
    x = np.random.default_rng(3).normal(size=(20_000, 2))
    fitted = kde.KDE(**CPU).fit(x)
    by_grid, by_samples = fitted.hdr_levels([0.5, 0.9], axes=[(-6, 6, 241)] * 2), fitted.hdr_levels([0.5, 0.9])
    np.testing.assert_allclose((fitted.points(x)[:, None] >= by_samples).mean(0), [0.5, 0.9], atol=1e-4)
    np.testing.assert_allclose(by_samples, by_grid, rtol=0.12)  # 0.09: the estimate is wider than the samples
    draws = fitted.points(fitted.sample(20_000, rng=2))
    np.testing.assert_allclose((draws[:, None] >= by_grid).mean(0), [0.5, 0.9], atol=0.014)  # four standard errors
