"""Kernel densities on grids: against tables and brute-force sums written here."""

from __future__ import annotations

import csv
import itertools
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.errors import ConvergenceWarning
from numbastats.kde import engine
from numbastats.kde import kernels as K
from numbastats.kde.kernels import geometry as G

# integers wrap modulo 2^64 on purpose; the simulator's are NumPy scalars, which say so
WRAPS = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")
pytestmark = WRAPS
FOLDER = Path(__file__).parent / "reference" / "kde"
CASES = list(csv.DictReader((FOLDER / "cases.csv").read_text().splitlines()))
CPU = {"device": "cpu", "workers": 1}
PROFILE = {
    "uniform": lambda q: np.ones_like(q),
    "epanechnikov": lambda q: 1 - q,
    "biweight": lambda q: (1 - q) ** 2,
    "triweight": lambda q: (1 - q) ** 3,
    "triangular": lambda q: 1 - np.sqrt(q),
    "cosine": lambda q: np.cos(0.5 * math.pi * np.sqrt(q)),
}
VOLUME = {1: 2.0, 2: math.pi, 3: 4 * math.pi / 3, 4: math.pi**2 / 2, 5: 8 * math.pi**2 / 15}


def constant(kernel, d):
    """Closed-form normalisers, written independently of the library."""
    return {
        "uniform": 1 / VOLUME[d],
        "epanechnikov": (d + 2) / (2 * VOLUME[d]),
        "biweight": (d + 2) * (d + 4) / (8 * VOLUME[d]),
        "triweight": (d + 2) * (d + 4) * (d + 6) / (48 * VOLUME[d]),
        "triangular": (d + 1) / VOLUME[d],
        "cosine": math.pi / 4,
    }[kernel]


def naive(samples, points, H, kernel="epanechnikov", weights=None, scale=None):
    """Brute force: the definition."""
    x = samples.reshape(len(samples), -1)
    p = np.asarray(points, float).reshape(-1, x.shape[1])
    w = np.ones(len(x)) if weights is None else weights
    s = np.ones(len(x)) if scale is None else scale
    d = x.shape[1]
    delta = p[:, None] - x
    q = np.einsum("pia,ab,pib->pi", delta, np.linalg.inv(H), delta) / s**2
    values = np.where(q < 1, PROFILE[kernel](np.minimum(q, 1)), 0) * s ** -float(d)
    return values @ w * constant(kernel, d) / (w.sum() * math.sqrt(np.linalg.det(H)))


def mesh(axes):
    return np.stack([m.reshape(-1) for m in np.meshgrid(*axes, indexing="ij")], -1)


def small(d, n=60, seed=1):
    """A few correlated samples, a grid that cuts some off, H."""
    rng = np.random.default_rng(seed)
    mix = np.tril(rng.uniform(0.3, 0.9, (d, d)), -1) + np.eye(d)
    x = rng.standard_normal((n, d)) @ mix.T * 2.0 ** np.arange(d)
    H = np.atleast_2d(np.cov(x.T)) * 0.35
    lengths = {1: (40,), 2: (9, 13), 3: (5, 4, 9), 4: (3, 4, 3, 6)}[d]
    axes = [np.linspace(np.quantile(c, 0.03), np.quantile(c, 0.98), m) for c, m in zip(x.T, lengths, strict=True)]
    return x, axes, H


# --- the reference tables ---


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


@pytest.mark.parametrize("method", ["rows-a", "rows-b", "rows-c", "cells", "skde", "skde-crop", "skde-row", "ep"])
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


# --- every twin ---


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_twins(d, device):
    """Plain and weighted, against brute force, and bit for bit between the devices."""
    x, axes, H = small(d)
    w = np.random.default_rng(2).uniform(0.1, 1, len(x))
    for weights, method in ((None, "rows-c"), (w, "rows-b")):
        got = kde.grid(x, axes, weights=weights, H=H, method=method, **device)
        want = naive(x, mesh(axes), H, weights=weights).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()
        assert np.array_equal(got, kde.grid(x, axes, weights=weights, H=H, method=method, **CPU))


@pytest.mark.parametrize("kernel", ["uniform", "biweight", "triweight", "triangular"])
def test_kernels_on_every_device(kernel, device):
    x, axes, H = small(2, n=40)
    got = kde.grid(x, axes, kernel=kernel, H=H, **device)
    want = naive(x, mesh(axes), H, kernel).reshape(got.shape)
    assert np.abs(got - want).max() <= 1e-13 * want.max()


@pytest.mark.parametrize("method", ["rows-a", "cells", "skde", "skde-atomic", "skde-row"])
def test_baselines_on_every_device(method, device):
    x, axes, H = small(2, n=40)
    got = kde.grid(x, axes, H=H, method=method, **device)
    want = naive(x, mesh(axes), H).reshape(got.shape)
    assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_triangular_at_a_sample(device):
    """The root of q must not see the rounding of 1 - q."""
    for d in (1, 2, 3):
        x = np.vstack([np.full(d, 1.0), np.random.default_rng(d).integers(0, 5, (3, d)) / 2.0])
        axes, H = [(0.0, 2.0, 5)] * d, np.eye(d) * 0.49 + (d > 1) * 0.11
        points = mesh([np.linspace(0, 2, 5)] * d)
        for scale in (None, np.array([1.0, 0.3, 2.0, 0.7])):
            want = naive(x, points, H, "triangular", scale=scale)
            for method in ("skde-row", "skde", "skde-atomic") if d < 3 else ("skde-row", "skde-crop"):
                got = kde.grid(x, axes, H=H, kernel="triangular", method=method, adaptive=scale, **device)
                assert np.abs(got.reshape(-1) - want).max() <= 2e-15 * want.max()  # observed 4e-16


def test_chop_and_crop_on_every_device(device):
    for d in (3, 4):
        x, axes, H = small(d, n=20)
        got = kde.grid(x, axes, H=H, method="skde-crop", **device)
        want = naive(x, mesh(axes), H).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_gpu_design_with_global_atomics(monkeypatch):
    x, axes, H = small(2)
    monkeypatch.setattr(engine, "CUDA_DESIGN", "atomics")
    for kernel in ("epanechnikov", "triweight"):
        got = kde.grid(x, axes, H=H, kernel=kernel, device="cuda")
        assert np.array_equal(got, kde.grid(x, axes, H=H, kernel=kernel, **CPU))


def test_threads_order_and_slabs_do_not_matter(monkeypatch):
    monkeypatch.setattr("numbastats._core.dispatch.PARALLEL_FROM", 0)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4000, 2)) * [1, 3]
    w = rng.uniform(0.5, 1, 4000)
    H = np.array([[0.3, 0.2], [0.2, 1.5]])
    axes = [(-3, 3, 61), (-9, 9, 83)]
    shuffled = rng.permutation(4000)
    for options, kernel in ((dict(), "epanechnikov"), (dict(weights=w), "epanechnikov"), (dict(weights=w), "triweight")):
        one = kde.grid(x, axes, H=H, kernel=kernel, **options, **CPU)
        for workers in (2, -1):
            assert np.array_equal(one, kde.grid(x, axes, H=H, kernel=kernel, **options, device="cpu", workers=workers))
        moved = {k: v[shuffled] for k, v in options.items()}
        assert np.array_equal(one, kde.grid(x[shuffled], axes, H=H, kernel=kernel, **moved, **CPU))
        slabs = list(kde.grid_slabs(x, axes, H=H, kernel=kernel, slab_rows=17, **options, **CPU))
        assert [s.start for s, _ in slabs] == [0, 17, 34, 51]
        assert np.array_equal(one, np.concatenate([f for _, f in slabs]))


def test_cells(device):
    """More samples than positions: order, threads, slabs and devices give the same bits; the bound holds; zeros are exact."""
    rng = np.random.default_rng(15)
    x = rng.standard_normal((300, 2)) @ [[1, 0.7], [0, 0.6]]
    x[:40] = np.round(x[:40], 1)  # on the borders of cells, and several at one place
    H = np.array([[0.5, -0.3], [-0.3, 0.6]])
    for axes in ([np.linspace(-1, 1.2, 8), np.linspace(-0.5, 2, 9)], [np.linspace(2, 3, 5), np.linspace(-9, -1, 11)]):
        fitted = kde.KDE(H=H, **device).fit(x)
        got, want = fitted.grid(axes, method="cells"), naive(x, mesh(axes), H).reshape(len(axes[0]), -1)
        error = np.abs(got - want).max()
        assert error <= (fitted.error_bound_ or 0.0) * got.max() and error <= 1e-13 * want.max()  # seen 1.5e-14
        assert (got[want == 0] == 0).all()
        slabs = kde.grid_slabs(x[::-1], axes, H=H, method="cells", slab_rows=3, device="cpu", workers=2)
        assert np.array_equal(got, np.concatenate([f for _, f in slabs]))
    with pytest.raises(ValueError, match="1000 positions"):
        kde.grid(x, [(-0.1, 0.1, 5000)] * 2, H=H, method="cells", **CPU)
    many = rng.standard_normal((50_000, 2))
    fitted = kde.KDE(**CPU).fit(many)
    axes = [np.linspace(-2, 2, 101)] * 2
    got = fitted.grid(axes)
    assert fitted.method_used_ == "cells"
    want = fitted.grid(axes, method="rows-c")
    assert np.abs(got - want).max() <= 1e-13 * want.max() and np.array_equal(got == 0, want == 0)
    assert np.array_equal(got, kde.grid(many[::-1], axes, H=fitted.H_, device="cpu", workers=2))


def test_threads_share_a_line():
    rng = np.random.default_rng(4)
    x = rng.standard_normal(120_000)
    one = kde.grid(x, (-4, 4, 501), h=0.3, device="cpu", workers=1)
    assert np.array_equal(one, kde.grid(x, (-4, 4, 501), h=0.3, device="cpu", workers=2))
    sub = one[::50]
    H = np.array([[0.09 * x.var(ddof=1)]])
    want = np.concatenate([naive(x, p, H) for p in np.linspace(-4, 4, 501)[::50]])
    assert np.abs(sub - want).max() <= 1e-12 * want.max()


def test_long_rows_choose_variant_b():
    x = np.random.default_rng(5).standard_normal(2000)
    fitted = kde.KDE(h=0.5, **CPU).fit(x)
    fitted.grid((-4, 4, 20_001))
    assert fitted.method_used_ == "rows-b" and fitted.error_bound_ < 1e-12
    fitted.grid((-4, 4, 501))
    assert fitted.method_used_ == "rows-c"


@pytest.mark.parametrize("kernel", ["epanechnikov", "biweight", "triweight"])
def test_far_along_a_long_row(kernel):
    """Coefficients about cell 0 wrap modulo 2^64 a hundred thousand cells away; what is left of them there is exact."""
    rng = np.random.default_rng(16)
    x, w = rng.uniform(0, 1, 300), rng.uniform(0.1, 1, 300)
    at = np.linspace(0, 1, 300_001)
    got = kde.grid(x, at, weights=w, kernel=kernel, H=[[0.0004]], method="rows-b", **CPU)
    some = np.r_[0:2000:40, 280_000:300_001:40]
    want = naive(x, at[some], np.array([[0.0004]]), kernel, weights=w)
    assert np.abs(got[some] - want).max() <= 1e-12 * want.max()  # seen 2.4e-13
    assert (got[some][want == 0] == 0).all()


@pytest.mark.parametrize("correlation", [0.9, 0.999])
def test_strong_correlation(correlation):
    """The quantum goes by the longest interval of a row, not by the box; "auto" leaves method "cells", which loses 5.6e-12."""
    x = np.random.default_rng(17).standard_normal((2000, 2))
    axes = [np.linspace(-3, 3, 17), np.linspace(-3, 3, 19)]
    H = 4 * np.array([[1, correlation], [correlation, 1]])
    fitted = kde.KDE(H=H, **CPU).fit(x)
    want = naive(x, mesh(axes), H).reshape(17, 19)
    for method, most in (("auto", 1e-13), ("rows-b", 1e-13), ("rows-c", 1e-13), ("cells", 1e-11)):  # seen 2e-14, 5e-12
        error = np.abs(fitted.grid(axes, method=method) - want).max()
        assert error <= most * want.max() and error <= fitted.error_bound_ * want.max()


@pytest.mark.parametrize("method", ["auto", "rows-a", "rows-b", "rows-c", "cells", "skde-row", "skde", "ep"])
def test_odd_calls(method):
    """One sample, equal samples, supports that just touch the grid or hold no position, axes of one position."""
    rng = np.random.default_rng(18)
    x, H = rng.standard_normal((20, 2)), np.array([[0.5, 0.2], [0.2, 0.7]])
    axes = [np.linspace(-3, 3, 13), np.linspace(-3, 3, 16)]
    touching = np.array([[-3 - math.sqrt(0.5), 0.0], [3 + math.sqrt(0.5), 0], [0, -3 - math.sqrt(0.7)], [0, 3 + math.sqrt(0.7)]])
    lattice = [np.linspace(-4, 4, 9)] * 2
    for samples, where, matrix in (
        (x[:1], axes, H), (np.repeat(x[:1], 20, 0), axes, H), (touching, axes, H), (x, axes, 1e-6 * H), (x, axes, 300 * H),
        (np.array([[0.0, 0], [2, 1], [-2, 1]]), lattice, 4 * np.eye(2)),  # positions exactly on the edge of a support
        (x, [np.zeros(1), axes[1]], H), (x, [axes[0], np.zeros(1)], H), (x, [np.zeros(1), np.zeros(1)], H),
    ):  # fmt: skip
        got = kde.grid(samples, where, H=matrix, method=method, **CPU)
        want = naive(samples, mesh(where), matrix).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()  # seen 2.8e-14
        assert (got[want == 0] == 0).all()


def test_kinds_of_samples():
    x, axes, H = small(2)
    want = kde.grid(x, axes, H=H, **CPU)
    for same in (np.asfortranarray(x), np.repeat(x, 3, 0)[::3], x[:, ::-1].copy()[:, ::-1], x.tolist()):
        assert np.array_equal(kde.grid(same, axes, H=H, **CPU), want)
    whole = np.round(x).astype(int)
    assert np.array_equal(kde.grid(whole, axes, H=H, **CPU), kde.grid(whole.astype(float), axes, H=H, **CPU))
    w = np.where(np.arange(len(x)) % 3 == 0, 0.0, 1.0)
    want = naive(x, mesh(axes), H, weights=w).reshape(want.shape)
    for size in (1.0, 1e300, 1e-300):
        got = kde.grid(x, axes, H=H, weights=size * w, **CPU)
        assert np.abs(got - want).max() <= 1e-14 * want.max()


# --- bandwidth matrices, weights, borders ---


def test_matrices():
    x, axes, _ = small(2)
    covariance = np.cov(x.T)
    h = kde.bandwidth.eq9(x)

    def same(a, b):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * b.max())

    same(kde.grid(x, axes, **CPU), kde.grid(x, axes, H=h * h * covariance, **CPU))
    same(kde.grid(x, axes, h=0.7, sigma="diag", **CPU), kde.grid(x, axes, H=0.49 * np.diag(np.diag(covariance)), **CPU))
    same(kde.grid(x, axes, h=0.7, sigma=[2.0, 3.0], **CPU), kde.grid(x, axes, H=0.49 * np.diag([4.0, 9.0]), **CPU))
    same(kde.grid(x, axes, h=0.7, sigma=covariance, **CPU), kde.grid(x, axes, h=0.7, **CPU))
    same(kde.grid(x, axes, h=1.5, bw_convention="sklearn", **CPU), kde.grid(x, axes, H=2.25 * np.eye(2), **CPU))
    same(kde.grid(x, axes, h=0.4, bw_convention="std", **CPU), kde.grid(x, axes, h=0.4 * math.sqrt(6), **CPU))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_matrices_of_any_allowed_size(d):
    """The determinant of H may over- or underflow though H does not."""
    x, _, H = small(d, n=20)
    points = x[:5] + 0.1
    want = naive(x, points, H, "triweight")
    axes = [(-2.0, 3.0, 4)] * d
    grid = kde.grid(x, axes, H=H, kernel="triweight", **CPU)
    for k in (0, 60, -60) if d == 4 else (0, 75, -75) if d == 3 else (0, 76, 78, 80, 82, 90, -78, -80, -82, -90):
        c = 10.0**k
        got = kde.points(x * c, points * c, H=H * c * c, kernel="triweight", **CPU) * c**d
        assert np.abs(got - want).max() <= 1e-14 * want.max()  # observed 4e-15
        got = kde.grid(x * c, [(lo * c, hi * c, m) for lo, hi, m in axes], H=H * c * c, kernel="triweight", **CPU) * c**d
        assert np.abs(got - grid).max() <= 1e-13 * grid.max()  # observed 4e-14
        if d == 2:
            fitted = kde.KDE(H=H * c * c, kernel="triweight", **CPU).fit(x * c)
            part = fitted.marginal(0, points[:, 0] * c) * c
            assert np.allclose(part, kde.KDE(H=H, kernel="triweight", **CPU).fit(x).marginal(0, points[:, 0]), rtol=1e-12)


def test_densities_that_are_no_numbers():
    for size in (1e-180, 1e180):
        with pytest.raises(ValueError, match="rescale"):
            kde.points(np.zeros((3, 4)), np.zeros((1, 4)), H=np.eye(4) * size, **CPU)
    with pytest.raises(ValueError, match="rescale"):  # weights do not make it smaller
        kde.points(np.zeros((1, 4)), np.zeros((1, 4)), H=np.eye(4) * 1e-160, weights=[1e30], **CPU)


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


def test_axes_of_one_position_and_tiny_supports():
    x, _, H = small(2)
    line = np.linspace(-3, 3, 31)
    got = kde.grid(x, [np.array([0.5]), line], H=H, **CPU)
    want = naive(x, mesh([[0.5], line]), H).reshape(1, 31)
    assert np.abs(got - want).max() <= 1e-13 * want.max()
    assert kde.grid(x, [(0.5, 0.5, 1), (-3, 3, 31)], H=H, **CPU).shape == (1, 31)
    tiny = kde.grid(x, [(-30.5, 30, 7), (-30.5, 30, 8)], H=1e-8 * np.eye(2), **CPU)
    assert (tiny == 0).all()
    on_a_sample = kde.grid(np.zeros((1, 2)), [(-2, 2, 5), (-2, 2, 5)], H=0.01 * np.eye(2), kernel="triweight", **CPU)
    assert on_a_sample[2, 2] == pytest.approx(4 / math.pi / 0.01, rel=1e-12) and np.count_nonzero(on_a_sample) == 1


@pytest.mark.parametrize("method", ["rows-a", "cells"])
def test_tiny_supports_by_the_name_of_a_method(method):
    """The error stays below its bound, or the method is refused: at h = 1e-6 it was 11 % of the peak (cells: 0.7 %)."""
    axes = [np.arange(33.0)] * 2
    cells = np.random.default_rng(0).integers(0, 33, (40, 2))
    for h in (0.4, 0.05, 0.03):
        x = cells + 0.3 * h * np.random.default_rng(1).standard_normal((40, 2))
        e = kde.KDE(H=h * h * np.eye(2)).fit(x)
        got, want = e.grid(axes, method=method), naive(x, mesh(axes), h * h * np.eye(2)).reshape(33, 33)
        assert np.abs(got - want).max() <= e.error_bound_ * want.max() <= 1e-8 * want.max()
    for h in (1e-4, 1e-6):
        with pytest.raises(ValueError, match="skde-row"):
            kde.grid(cells + 0.3 * h, axes, H=h * h * np.eye(2), method=method)


def test_samples_far_away_are_counted():
    x, axes, H = small(2)
    far = np.concatenate([x, x[:7] + 1e6])
    fitted = kde.KDE(H=H, **CPU).fit(far)
    got = fitted.grid(axes)
    assert fitted.n_outside_ >= 7
    np.testing.assert_allclose(got, kde.grid(x, axes, H=H, **CPU) * len(x) / len(far), rtol=1e-12)


def test_nothing_reaches_the_grid(device):
    for d in (1, 2, 3):
        x, axes, H = small(d, n=10)
        assert (kde.grid(x + 1e6, axes, H=H, **device) == 0).all()
        assert (kde.grid(x + 1e6, axes, H=H, kernel="triangular", **device) == 0).all()
        w = np.repeat([0.0, 1e-300], 10)
        assert (kde.grid(np.concatenate([x, x + 1e6]), axes, H=H, weights=w, **device) == 0).all()


def test_crop_equals_the_corrected_appendix():
    """Equations (11)-(19) with their slips corrected against the closed form, random matrices."""
    from numbastats.kde.problem import make_grid, make_model, parse_axes

    rng = np.random.default_rng(14)
    for _ in range(20):
        g = rng.standard_normal((3, 3))
        H = g @ g.T + 0.1 * np.eye(3)
        model = make_model(rng.standard_normal((9, 3)), H=H)
        geo = make_grid(model, parse_axes([(0, 9, 10)] * 3, 3), row_axis=2).geo
        m = np.linalg.inv(H)[::-1, ::-1]  # x, y, z: the row axis first
        z = rng.uniform(-1, 1) * math.sqrt(H[0, 0])
        a, b, c = m[0, 0], 2 * m[0, 1], m[1, 1]
        d, e, f = 2 * m[0, 2] * z, 2 * m[1, 2] * z, m[2, 2] * z * z - 1
        theta = math.atan2(b, a - c) / 2
        co, si = math.cos(theta), math.sin(theta)
        a1, c1 = a * co * co + b * co * si + c * si * si, a * si * si - b * co * si + c * co * co
        d1, e1 = d * co + e * si, -d * si + e * co
        n = -4 * f * a1 * c1 + c1 * d1 * d1 + a1 * e1 * e1
        size = geo[G.LAMBDA2] - geo[G.REST + 2] * z * z
        assert (n > 0) == (size > 0)
        long, short = math.sqrt(n / (4 * a1 * a1 * c1)), math.sqrt(n / (4 * a1 * c1 * c1))
        x, y = -d1 / (2 * a1), -e1 / (2 * c1)
        centre = x * co - y * si, x * si + y * co
        bounds = math.hypot(long * co, short * si), math.hypot(long * si, short * co)
        np.testing.assert_allclose(bounds, [math.sqrt(size * geo[G.CROP]), math.sqrt(size * geo[G.CROP + 1])], rtol=1e-9)
        np.testing.assert_allclose(centre, [geo[G.CROP + 3] * z, geo[G.CROP + 5] * z], rtol=1e-9, atol=1e-12)


def test_row_axis_need_not_be_the_last():
    x, axes, _ = small(3)
    for axis in range(3):
        H = np.diag(np.where(np.arange(3) == axis, 30.0, 0.5))
        got = kde.grid(x, axes, H=H, **CPU)
        want = naive(x, mesh(axes), H).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()
        slabs = [f for _, f in kde.grid_slabs(x, axes, H=H, slab_rows=2, **CPU)]
        assert np.abs(np.concatenate(slabs) - want).max() <= 1e-13 * want.max()


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
@pytest.mark.parametrize("method", engine.GRID_METHODS)
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


def test_slabs_over_the_samples():
    r = np.random.default_rng(4)
    x, w = r.normal(size=(400, 2)), r.random(400) + 0.1
    axes = [(-3, 3, 12), (-3, 3, 15)]
    want = kde.grid(x, axes, weights=w, **CPU)
    for memory in (x, w):
        own = {"samples": x.copy(), "weights": w.copy()}
        out = own["samples" if memory is x else "weights"].reshape(-1)[:180].reshape(12, 15)
        kde.grid_slabs(axes=axes, slab_rows=2, out=out, **own, **CPU)
        np.testing.assert_allclose(out, want, rtol=0, atol=1e-13)


# --- long runs come in slabs ---


def test_slabs_change_no_bit(monkeypatch):
    r = np.random.default_rng(6)
    x, w = {d: r.normal(size=(3000, d)) for d in (1, 2, 3)}, r.random(3000) + 0.1
    axes = {1: [(-3, 3, 301)], 2: [(-3, 3, 60), (-3, 3, 50)], 3: [(-3, 3, 9), (-3, 3, 11), (-3, 3, 12)]}

    def everything(workers):
        options, results = {"device": "cpu", "workers": workers}, []
        for d in (1, 2, 3):
            for method, kernel in itertools.product(engine.GRID_METHODS, ("epanechnikov", "triweight", "gaussian")):
                if method in ("auto", "rows", "skde-atomic") or (method == "rows-a" and workers > 1):
                    continue  # the same as others; not the same bits twice
                try:
                    results.append(
                        kde.grid(x[d], axes[d], kernel=kernel, method=method, weights=w if d != 2 else None, **options)
                    )
                except ValueError:
                    continue
            plan = kde.plan(x[d], axes[d])
            results.append(kde.finalize(kde.partial(x[d], plan, **options), plan, **options))
            for method, kernel in itertools.product(("cells", "ep"), ("epanechnikov", "gaussian")):
                results.append(kde.points(x[d], x[d][:700], kernel=kernel, method=method, **options))
            results.append(
                np.array([kde.bandwidth.lscv(x[d][:800], workers=workers), kde.bandwidth.plugin(x[d], workers=workers)])
            )
        return results

    for workers in (1, 2):
        monkeypatch.undo()
        whole = everything(workers)
        monkeypatch.setattr("numbastats.kde.slabs.SLAB", 3e4)
        for a, b in zip(whole, everything(workers), strict=True):
            np.testing.assert_array_equal(a, b)


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from numbastats import kde
from numbastats._core import dispatch
from numbastats.kde import sorting

workers = int(sys.argv[1])
options = dict(device="cpu", workers=workers)
dispatch.PARALLEL_FROM = sorting._PARALLEL_FROM = 0
r = np.random.default_rng(0)
x3 = r.normal(size=(1_000_000, 3))
x2, x1 = np.ascontiguousarray(x3[:, :2]), x3[:, 0].copy()
square, cube = lambda m: [(-4, 4, m)] * 2, lambda m: [(-4, 4, m)] * 3
calls = {
    "direct sums": lambda n, m: kde.grid(x2[:n], square(m), kernel="gaussian", H=0.1 * np.eye(2), **options),
    "a line": lambda n, m: kde.grid(x1[:n], (-4, 4, m * m // 5), kernel="gaussian", h=0.3, **options),
    "rows": lambda n, m: kde.grid(x3[:n], cube(m // 3), H=0.5 * np.eye(3), **options),
    "brute force": lambda n, m: kde.points(x2[: n // 5], x2[:n], method="ep", **options),
    "cells of points": lambda n, m: kde.KDE(kernel="gaussian", h=0.3, **options).fit(x2[:n]).score_samples(x2[:n]),
    "cross-validation": lambda n, m: kde.bandwidth.lscv(x2[: n // 10], workers=workers),
    "partial sums": lambda n, m: kde.partial(x3[:n], kde.plan(x3[:n], cube(m // 4), H=0.5 * np.eye(3)), **options),
}
for name, call in calls.items():
    call(2000, 60)  # an interrupt in the midst of a compilation is Numba's affair
    sent = []
    threading.Timer(1.5, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        call(1_000_000, 1000)
        time.sleep(3)
    except KeyboardInterrupt:
        print(name, time.perf_counter() - sent[0], sep=": ", flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupts_return_soon(workers):
    """Within half a second on a machine that does nothing else; without slabs 10 to 200."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(workers)], capture_output=True, text=True, timeout=1800)
    lines = [line.split(": ") for line in done.stdout.splitlines()]
    assert len(lines) == 7, done.stdout + done.stderr
    assert all(float(seconds) < 6 for _, seconds in lines), done.stdout


# --- adaptive, derivatives, boundaries ---


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "triweight", "triangular"])
def test_adaptive_array(kernel):
    x, axes, H = small(2)
    rng = np.random.default_rng(7)
    scale, w = rng.uniform(0.4, 2, len(x)), rng.uniform(0.1, 1, len(x))
    got = kde.grid(x, axes, H=H, adaptive=scale, weights=w, kernel=kernel, **CPU)
    want = naive(x, mesh(axes), H, kernel, w, scale).reshape(got.shape)
    assert np.abs(got - want).max() <= 1e-13 * want.max()
    at = kde.points(x, mesh(axes), H=H, adaptive=scale, weights=w, kernel=kernel, **CPU)
    assert np.abs(at - want.reshape(-1)).max() <= 1e-13 * want.max()


def test_abramson():
    x, axes, H = small(2)
    pilot = naive(x, x, H)
    scale = np.clip((pilot / np.exp(np.log(pilot).mean())) ** -0.5, 0.1, 10)
    got = kde.grid(x, axes, H=H, adaptive=("abramson", 0.5), **CPU)
    want = naive(x, mesh(axes), H, scale=scale).reshape(got.shape)
    assert np.abs(got - want).max() <= 1e-12 * want.max()


@pytest.mark.parametrize("kernel", ["epanechnikov", "biweight", "triweight"])
def test_gradient(kernel):
    """Against the analytic derivative of the definition; seen at most 2e-14 of the largest value."""
    p = {"epanechnikov": 1, "biweight": 2, "triweight": 3}[kernel]
    for d in (1, 2, 3):
        x, axes, H = small(d)
        inverse, points = np.linalg.inv(H), mesh(axes)
        delta = points[:, None] - x
        q = np.einsum("pia,ab,pib->pi", delta, inverse, delta)
        slope = np.where(q < 1, -2 * p * np.maximum(1 - q, 0) ** (p - 1), 0)
        want = np.einsum("pi,pia->ap", slope, delta @ inverse) * constant(kernel, d) / (len(x) * math.sqrt(np.linalg.det(H)))
        got = kde.KDE(kernel=kernel, H=H, **CPU).fit(x).gradient(axes)
        assert np.abs(got.reshape(d, -1) - want).max() <= 1e-12 * np.abs(want).max()


def slopes(x, points, H, kernel, axis, scale=None):
    """Brute force: the derivative of the definition."""
    p = {"epanechnikov": 1, "biweight": 2, "triweight": 3}[kernel]
    x = x.reshape(len(x), -1)
    points = np.asarray(points, float).reshape(-1, x.shape[1])
    s = np.ones(len(x)) if scale is None else scale
    total = np.zeros(len(points))
    for at in range(len(points)):
        delta = points[at] - x
        q = np.einsum("ia,ab,ib->i", delta, np.linalg.inv(H), delta) / s**2
        slope = np.where(q < 1, -2 * p * np.maximum(1 - q, 0) ** (p - 1), 0) * s ** -float(x.shape[1] + 2)
        total[at] = slope @ (delta @ np.linalg.inv(H)[axis])
    return total * constant(kernel, x.shape[1]) / (len(x) * math.sqrt(np.linalg.det(H)))


def test_gradient_of_tiny_supports(device):
    axis = np.arange(-3, 4.0)
    for h in (1e-3, 1e-4):
        x = (axis[:, None] + np.array([-0.3, 0.2, 0.55]) * h).ravel()
        for kernel in ("epanechnikov", "biweight", "triweight"):
            options = dict(h=h, sigma="identity", kernel=kernel, derivative=0, **device)
            got, want = kde.grid(x, [axis], **options), slopes(x, axis, np.eye(1) * h * h, kernel, 0)
            assert np.abs(got - want).max() <= 4e-15 / h * np.abs(want).max()  # observed 2e-15 / h: the rounding of coordinates
            assert np.array_equal(got, kde.grid(x, [axis], method="skde-row", **options))
            for method in ("rows", "rows-b") if kernel != "epanechnikov" else ():
                with pytest.raises(ValueError, match="skde-row"):
                    kde.grid(x, [axis], method=method, **options)


@pytest.mark.parametrize("kernel", ["epanechnikov", "triweight"])
def test_gradient_of_adaptive_scales(kernel, device):
    r = np.random.default_rng(4)
    x = r.standard_t(1.5, 3000 if device == CPU else 60)
    fitted = kde.KDE(kernel=kernel, h=0.6, sigma="identity", adaptive="abramson", **device).fit(x)
    axis = np.linspace(-6, 6, 101)
    want = slopes(x, axis, np.eye(1) * 0.36, kernel, 0, fitted._estimate.model.scale)
    assert np.abs(fitted.grid([axis], derivative=0) - want).max() <= 2e-13 * np.abs(want).max()  # observed 6.5e-14
    for d in (2, 3):
        x, axes, H = small(d)
        scale = 100.0 ** -r.random(len(x))
        fitted = kde.KDE(kernel=kernel, H=H, adaptive=scale, **device).fit(x)
        for axis in range(d):
            want = slopes(x, mesh(axes), H, kernel, axis, scale)
            got = fitted.grid(axes, derivative=axis)
            assert np.abs(got.reshape(-1) - want).max() <= 2e-13 * np.abs(want).max()  # observed 6.5e-14


@pytest.mark.parametrize("d", [1, 2, 3])
def test_adaptive_scales_of_very_different_size(d):
    r = np.random.default_rng(5)
    x = r.normal(size=(800, d))
    scale, axes = 1000.0 ** -r.random(800), [(-3.0, 3.0, 13)] * d
    fitted = kde.KDE(h=4, sigma="identity", adaptive=scale, **CPU).fit(x)
    want = naive(x, mesh([np.linspace(-3, 3, 13)] * d), np.eye(d) * 16, scale=scale)
    error = np.abs(fitted.grid(axes).reshape(-1) - want).max() / want.max()
    assert error <= 3e-14  # observed 1.1e-14
    assert error <= fitted.error_bound_
    slabs = [f for _, f in kde.grid_slabs(x, axes, slab_rows=4, h=4, sigma="identity", adaptive=scale, **CPU)]
    assert np.abs(np.concatenate(slabs).reshape(-1) - want).max() <= 3e-14 * want.max()  # observed 1.1e-14
    fitted.grid(axes, method="skde-row")
    if d > 1:
        with pytest.raises(ValueError, match="skde-row"):
            fitted.grid(axes, method="rows")
    mild = kde.KDE(h=4, sigma="identity", adaptive=2.0 ** -r.random(800), **CPU).fit(x)
    mild.grid(axes)
    assert mild.method_used_ == "rows-b" and mild.error_bound_ < 1e-12


@pytest.mark.parametrize("kernel", ["epanechnikov", "biweight", "triweight", "triangular"])
def test_adaptive_scales_in_groups(kernel):
    """Scales over a factor of 60: the samples are added up in groups of one half octave each, which no result shows."""
    r = np.random.default_rng(9)
    x = r.standard_t(2, size=(4000, 2))
    w, scale = r.uniform(0.1, 1, len(x)), 0.5 * 60.0 ** r.random(len(x))
    axes = [np.linspace(-4, 4, 90), np.linspace(-5, 4, 80)]
    options = dict(H=np.array([[0.06, 0.03], [0.03, 0.09]]), kernel=kernel)
    fitted = kde.KDE(adaptive=scale, **options, **CPU).fit(x, sample_weight=w)
    got = fitted.grid(axes)
    assert fitted.method_used_ == ("skde-row" if kernel == "triangular" else "rows-b")
    want = naive(x, mesh(axes), options["H"], kernel, w, scale).reshape(got.shape)
    error = np.abs(got - want).max() / want.max()
    assert error <= 3e-14 and error <= fitted.error_bound_  # observed 6.4e-15
    assert (got[want == 0] == 0).all()
    order = r.permutation(len(x))
    again = kde.KDE(adaptive=scale[order], device="cpu", workers=2, **options).fit(x[order], sample_weight=w[order]).grid(axes)
    slabs = [f for _, f in kde.grid_slabs(x, axes, weights=w, slab_rows=7, adaptive=scale, **options, **CPU)]
    if kernel != "triangular":  # integers: any order
        assert np.array_equal(got, again)
    assert np.array_equal(np.concatenate(slabs), got)


def test_outliers_move_no_origin():
    """A sample far from all others, such as a file's fill value, must not cost the others their digits."""
    one = dict(h=1.0, sigma="identity", **CPU)
    x = np.random.default_rng(0).normal(size=300)
    where, want = np.linspace(-3, 3, 50), kde.points(x, np.linspace(-3, 3, 50), **one) * 300 / 301
    for far in (1e3, 1e8, 1e17, -9.96921e36):
        data = np.r_[far, x]
        assert np.abs(kde.points(data, where, **one) - want).max() <= 4e-15 * want.max()  # observed 9.6e-16
        assert np.abs(kde.points(data, where, method="ep", **one) - want).max() <= 4e-15 * want.max()
        assert kde.points(data, [far], **one) == pytest.approx(0.75 / 301, rel=1e-12)
        fitted = kde.KDE(H=np.eye(2), **CPU).fit(np.stack([data, np.r_[0.0, x]], 1))
        plain = kde.KDE(H=np.eye(2), **CPU).fit(np.stack([x, x], 1)).marginal(0, where) * 300 / 301
        assert np.abs(fitted.marginal(0, where) - plain).max() <= 2e-15 * plain.max()  # observed 3.1e-16
    assert kde.points(np.r_[x, 1e12], [np.inf, -np.inf, 1e18], **one).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="more supports apart"):
        kde.points([-1.7e308, 1.7e308], [0.0], **one)


@pytest.mark.parametrize("method", ["auto", "skde", "skde-row", "rows-a", "cells"])
def test_samples_far_outside_in_the_majority(method):
    x = np.random.default_rng(0).normal(size=(200, 2))
    axes, options = [(-2, 2, 31)] * 2, dict(h=0.5, sigma="identity", method=method, **CPU)
    want = kde.grid(x, axes, **options) * 200 / 500
    got = kde.grid(np.r_[x, np.full((300, 2), 1e20)], axes, **options)
    assert np.abs(got - want).max() <= 2e-15 * want.max()  # observed 5e-16


@pytest.mark.parametrize("kernel", ["epanechnikov", "biweight", "triweight"])
@pytest.mark.parametrize("low", [0.999, 0.9999])
def test_grid_that_meets_edges_of_supports_only(device, kernel, low):
    """The error counts relative to what the grid sees, 1e-11 of a kernel's peak here."""
    want = naive(np.zeros((1, 1)), np.linspace(low, 1.3, 9)[:, None], np.eye(1), kernel)
    got = kde.grid([0.0], (low, 1.3, 9), h=1, sigma="identity", kernel=kernel, **device)
    assert np.abs(got - want).max() <= 2e-12 * want.max()  # observed 6.8e-13


@pytest.mark.parametrize("derivative", [None, 1])
@pytest.mark.parametrize("kernel", ["biweight", "triweight"])
@pytest.mark.parametrize("low", [0.999, 0.9999, 0.99999])
def test_slabs_and_slopes_of_edges_of_supports_only(kernel, low, derivative):
    """As above for slabs, which come out before all of the grid is known, and for derivatives."""
    x, H, p = np.zeros((20, 2)), np.diag([9.0, 100.0]), {"biweight": 2, "triweight": 3}[kernel]
    axes = [np.linspace(-0.1, 0.1, 21), np.linspace(10 * low, 10.5, 30)]
    y, t = np.meshgrid(*axes, indexing="ij")
    v = np.maximum(1 - (y / 3) ** 2 - (t / 10) ** 2, 0)
    want = constant(kernel, 2) / 30 * (v**p if derivative is None else -2 * p * t / 100 * v ** (p - 1))
    options = dict(H=H, kernel=kernel, derivative=derivative, **CPU)
    whole = kde.grid(x, axes, **options)
    assert np.abs(whole - want).max() <= 1e-15 / (1 - low) * np.abs(want).max()  # observed 1.8e-16: the rounding of coordinates
    for rows in (1, 7, 21):
        assert np.array_equal(np.concatenate([f for _, f in kde.grid_slabs(x, axes, slab_rows=rows, **options)]), whole)


@pytest.mark.parametrize("n", [1, 500])
def test_product_form_far_below_its_peak(n, device):
    """1e-33 of a kernel's peak is less than a quantum, so the rows are 0; where nothing reaches they may be."""
    axes, options = [np.linspace(0.9999, 1.0001, 5)] * 3, dict(H=np.eye(3), kernel="triweight", form="product", **device)
    want = (35 / 32 * np.maximum(1 - axes[0] ** 2, 0) ** 3)[:, None, None]
    want = want * want.reshape(1, -1, 1) * want.reshape(1, 1, -1)
    whole = kde.grid(np.zeros((n, 3)), axes, **options)
    assert np.abs(whole - want).max() <= 4e-11 * want.max()  # observed 1.4e-11: the rounding of coordinates, 1e-4 from the edge
    assert np.array_equal(np.concatenate([f for _, f in kde.grid_slabs(np.zeros((n, 3)), axes, slab_rows=2, **options)]), whole)
    assert not kde.grid(np.zeros((n, 3)), [np.linspace(1, 2, 5)] * 3, **options).any()


def test_positions_on_a_wall():
    """0.7 is the last of these positions but for rounding; and the least sample may be the wall itself."""
    x, axis = np.array([0.1, 0.35, 0.69]), np.linspace(0, 0.7, 36)
    options = dict(h=0.3, sigma="identity", boundary={0: ("reflect", 0, 0.7)}, **CPU)
    want = kde.points(x, axis, **options)
    for method in ("auto", "ep"):
        assert np.abs(kde.grid(x, axis, method=method, **options) - want).max() <= 2e-15 * want.max()  # observed 5e-16
    for seed in range(20):
        x = np.random.default_rng(seed).exponential(size=20)
        kde.grid(x, (x.min(), 3, 5), h=1, sigma="identity", boundary={0: ("reflect", x.min(), None)}, **CPU)


@pytest.mark.parametrize("method", ["auto", "ep"])
@pytest.mark.parametrize("axis", [(0.75, 0.75, 1), (0.75, 1e12, 2)])
def test_positions_outside_a_wall_in_small_units(method, axis):
    """The step of an axis of one position, or a long one, says nothing about what is next to a wall."""
    scaled = tuple(np.array(axis[:2]) * 1e-9) + axis[2:]
    options = dict(h=1e-9, sigma="identity", boundary={0: ("reflect", 0, 0.7e-9)}, method=method, **CPU)
    assert np.array_equal(kde.grid([0.1e-9, 0.35e-9], scaled, **options), np.zeros(axis[2]))


def test_one_axis_in_any_form():
    want = kde.grid([0.0, 1.0], [np.arange(3.0)], h=1, sigma="identity", **CPU)
    for axis in (range(3), [0.0, 1, 2], (0, 2, 3), [(0, 2, 3)], np.arange(3)):
        assert np.array_equal(kde.grid([0.0, 1.0], axis, h=1, sigma="identity", **CPU), want)


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


def test_dropped_samples_have_scales_of_their_own():
    x, scale = np.random.default_rng(0).normal(size=201), np.linspace(0.5, 2, 201)
    x[7] = np.nan
    keep = np.isfinite(x)
    options = dict(h=1, sigma="identity", **CPU)
    want = kde.grid(x[keep], (-3, 3, 9), adaptive=scale[keep], **options)
    assert np.array_equal(kde.grid(x, (-3, 3, 9), adaptive=scale, nan_policy="omit", **options), want)


@pytest.mark.parametrize("weight", [1e150, 1e250, 1e-250])
def test_dropped_samples_do_not_scale_the_weights(weight):
    """A dropped row of weight 1e250 made the squares of the others' weights vanish, and the samples constant."""
    x, w = np.random.default_rng(0).normal(size=(41, 2)), np.random.default_rng(1).uniform(size=41)
    x[7], w[7] = np.nan, weight
    keep = np.isfinite(x).all(axis=1)
    H = kde.KDE(**CPU).fit(x[keep], sample_weight=w[keep]).H_
    axes = [(-2, 2, 9), (-3, 3, 7)]
    got = kde.grid(x, axes, weights=w, nan_policy="omit", **CPU)
    want = naive(x[keep], mesh([np.linspace(*a) for a in axes]), H, weights=w[keep]).reshape(9, 7)
    assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_missing_weights_are_omitted():
    x, w, scale = np.random.default_rng(0).normal(size=(41, 2)), np.linspace(1, 2, 41), np.linspace(0.5, 1.5, 41)
    x[7], w[[7, 30]] = np.nan, np.nan
    keep = np.isfinite(w)
    axes = [(-2, 2, 9), (-3, 3, 7)]
    want = kde.grid(x[keep], axes, weights=w[keep], adaptive=scale[keep], **CPU)
    assert np.array_equal(kde.grid(x, axes, weights=w, adaptive=scale, nan_policy="omit", **CPU), want)
    assert kde.KDE(nan_policy="omit", **CPU).fit(x, sample_weight=w).n_dropped_ == 2
    with pytest.raises(ValueError, match="1 weights are negative"):
        kde.grid(x, axes, weights=np.where(np.arange(41) == 3, -1, w), nan_policy="omit", **CPU)


def test_boxes_of_many_cells():
    """An axis of one position has no step of its own; a box must fit the integers that count its cells."""
    for c in (1e20, 1e-20, 1.0, 1e90):
        x = np.array([0.1, 0.2, 0.4]) * c
        for kernel in ("epanechnikov", "triweight", "triangular"):
            want = naive(x / c, np.array([0.15]), np.eye(1), kernel)
            got = kde.grid(x, [(0.15 * c, 0.15 * c, 1)], h=c, sigma="identity", kernel=kernel, **CPU) * c
            assert abs(got - want) <= 2e-15 * want  # observed 5e-16
        slope = kde.grid(x, [(0.15 * c, 0.15 * c, 1)], h=c, sigma="identity", derivative=0, **CPU) * c * c
        want = slopes(x / c, [0.15], np.eye(1), "epanechnikov", 0)
        assert abs(slope - want) <= 2e-15 * abs(want)  # observed 5e-16
    x, axes, H = small(2)
    for flat in (0, 1):
        grid = [a[3:4] if i == flat else a for i, a in enumerate(axes)]
        got = kde.grid(x * 1e25, [a * 1e25 for a in grid], H=H * 1e50, **CPU) * 1e50
        want = naive(x, mesh(grid), H)
        assert np.abs(got.reshape(-1) - want).max() <= 4e-15 * want.max()  # observed 1.4e-15
    for kernel in ("epanechnikov", "triangular"):
        with pytest.raises(ValueError, match=r"kde\.points"):
            kde.grid(np.zeros(3), (0.0, 1.0, 5), h=1e20, sigma="identity", kernel=kernel, **CPU)


def images(x, axis, walls):
    parts = [x]
    for wall in walls:
        mirrored = x.copy()
        mirrored[:, axis] = 2 * wall - mirrored[:, axis]
        parts.append(mirrored)
    return parts


def test_reflection():
    rng = np.random.default_rng(8)
    x = np.stack([rng.exponential(1, 80), rng.normal(size=80)], -1)
    x[:, 1] += 0.6 * x[:, 0]
    H = np.cov(x.T) * 0.4
    flipped = H * [[1, -1], [-1, 1]]
    axes = [np.linspace(-0.5, 3, 15), np.linspace(-2, 3, 12)]
    got = kde.grid(x, axes, H=H, boundary={0: ("reflect", 0, None)}, **CPU)
    points = mesh(axes)
    mirrored = x * [-1, 1]
    want = naive(x, points, H) + naive(mirrored, points, flipped)
    want = np.where(points[:, 0] >= 0, want, 0)
    assert np.abs(got.reshape(-1) - want).max() <= 1e-13 * want.max()
    at = kde.points(x, points, H=H, boundary={0: ("reflect", 0, None)}, **CPU)
    assert np.abs(at - want).max() <= 1e-13 * want.max()
    # a corner: mirrored along both axes, H is as before
    box = {0: ("reflect", 0, None), 1: ("reflect", x[:, 1].min() - 0.1, None)}
    wall = x[:, 1].min() - 0.1
    other = x * [1, -1] + [0, 2 * wall]
    want = (
        naive(x, points, H) + naive(mirrored, points, flipped) + naive(other, points, flipped) + naive(other * [-1, 1], points, H)
    )
    want = np.where((points[:, 0] >= 0) & (points[:, 1] >= wall), want, 0)
    got = kde.grid(x, axes, H=H, boundary=box, **CPU)
    assert np.abs(got.reshape(-1) - want).max() <= 1e-13 * want.max()


def test_periodic():
    rng = np.random.default_rng(9)
    angle = rng.vonmises(3.0, 2.0, 200) % (2 * math.pi)
    boundary = {0: ("periodic", 0, 2 * math.pi)}
    m = 90
    axis = np.arange(m) * 2 * math.pi / m
    got = kde.grid(angle, axis, h=0.8, sigma="identity", boundary=boundary, **CPU)
    want = sum(naive(angle + k * 2 * math.pi, axis, np.array([[0.64]])) for k in (-1, 0, 1))
    assert np.abs(got - want).max() <= 1e-13 * want.max()
    assert got.sum() * 2 * math.pi / m == pytest.approx(1, abs=1e-3)
    shifted = kde.grid(angle + 20 * math.pi, axis, h=0.8, sigma="identity", boundary=boundary, **CPU)
    assert np.abs(shifted - got).max() <= 1e-12 * got.max()
    with pytest.raises(ValueError, match="period"):
        kde.grid(angle, axis, h=4.0, sigma="identity", boundary=boundary, **CPU)


def test_periodic_outside_the_period():
    x, walls = np.array([0.2, 0.5, 0.9]), {0: ("periodic", 0.0, 1.0)}
    at = np.array([0.4, 1.4, -0.6, 0.25, 1.25, -7.6, 0.0, 1.0])
    H = np.array([[0.09]])
    want = sum(naive(x + k, at - np.floor(at), H) for k in (-1, 0, 1))
    got = kde.points(x, at, H=H, boundary=walls, **CPU)
    assert np.abs(got - want).max() <= 2e-15 * want.max()  # observed 6e-16
    special = kde.points(x, np.array([np.nan, np.inf]), H=H, boundary=walls, **CPU)
    assert np.isnan(special[0]) and special[1] == 0
    for kernel in ("epanechnikov", "cosine"):
        for axis in (np.linspace(-2.3, 1.7, 41), np.linspace(5.1, 6.4, 14), np.linspace(0.0, 1.0, 11)):
            want = sum(naive(x + k, axis - np.floor(axis), H, kernel) for k in (-1, 0, 1))
            got = kde.grid(x, axis, H=H, kernel=kernel, boundary=walls, **CPU)
            assert np.abs(got - want).max() <= 1e-14 * want.max()  # observed 2.5e-15
    with pytest.raises(ValueError, match=r"kde\.points"):
        kde.grid(x, (0.0, 1e4, 11), H=H, boundary=walls, **CPU)


def test_reflection_between_near_walls():
    """A support wider than the walls are apart is folded several times."""
    x, box = np.array([0.2, 0.5, 0.9]), {0: ("reflect", 0.0, 1.0)}
    for kernel, h in (("epanechnikov", 2.0), ("triweight", 3.7)):
        fitted = kde.KDE(kernel=kernel, h=h, sigma="identity", boundary=box, **CPU).fit(x)
        assert abs(fitted.cdf([1.0])[0] - 1) <= 3e-15  # observed 8.9e-16
        axis, H = np.linspace(0, 1, 21), np.array([[h * h]])
        want = sum(naive(s * x + 2 * k, axis, H, kernel) for k in range(-4, 5) for s in (1, -1))
        assert np.abs(fitted.grid(axis) - want).max() <= 4e-15 * want.max()  # observed 8e-16
        assert np.abs(fitted.points(axis) - want).max() <= 2e-15 * want.max()  # observed 4e-16
        draws = fitted.sample(1000, rng=1)
        assert draws.min() >= 0 and draws.max() <= 1
    with pytest.raises(ValueError, match="smaller bandwidth"):
        kde.grid(x, (0.0, 1.0, 3), h=1e4, sigma="identity", boundary=box, **CPU)
    # the plane: every reflection turns the kernel's tilt
    y, H = np.random.default_rng(3).random((20, 2)), np.array([[1.9, 0.5], [0.5, 0.3]])
    axes = [np.linspace(0, 1, 6), np.linspace(-0.5, 1.5, 7)]
    want = 0
    for k in range(-3, 4):
        want = want + naive(y + [2 * k, 0], mesh(axes), H) + naive(y * [-1, 1] + [2 * k, 0], mesh(axes), H * [[1, -1], [-1, 1]])
    got = kde.grid(y, axes, H=H, boundary=box, **CPU)
    assert np.abs(got.reshape(-1) - want).max() <= 2e-15 * want.max()  # observed 3e-16


def test_renormalisation():
    from scipy.integrate import quad

    x = np.random.default_rng(10).exponential(1, 100)
    axis = np.linspace(0, 4, 21)
    got = kde.grid(x, axis, h=0.5, sigma="identity", boundary={0: ("renorm", 0, None)}, **CPU)
    plain = naive(x, axis, np.array([[0.25]]))
    mass = np.array([quad(lambda u: 0.75 * (1 - u * u), -1, min(1, a / 0.5))[0] for a in axis])
    assert np.abs(got - plain / mass).max() <= 1e-12 * got.max()
    two = {0: ("renorm", 0, None), 1: ("renorm", 0, None)}
    with pytest.raises(ValueError, match="reflect"):
        kde.grid(np.stack([x, x**2], -1), [(0, 1, 3)] * 2, boundary=two, **CPU)
    with pytest.raises(ValueError, match="outside the boundary"):
        kde.grid(x - 1, axis, boundary={0: ("reflect", 0, None)}, **CPU)


# --- sums that can be distributed ---


def test_distributed_weights_are_all_or_none():
    r = np.random.default_rng(0)
    x, w, axes = r.normal(size=(200, 2)), r.uniform(0, 10, 200), [(-4, 4, 9)] * 2
    summary = kde.combine(kde.partial(x[:0], weights=w[:0]), *[kde.partial(x[i::2], weights=w[i::2]) for i in (0, 1)])
    plan = kde.plan(summary, axes, kernel="biweight")
    assert np.allclose(plan.H, kde.KDE(kernel="biweight", **CPU).fit(x, sample_weight=w).H_, rtol=1e-12)
    with pytest.raises(ValueError, match="with weights"):
        kde.partial(x, plan)
    with pytest.raises(ValueError, match="without weights"):
        kde.partial(x, kde.plan(x, axes, kernel="biweight"), weights=w)
    with pytest.raises(ValueError, match="with weights"):
        kde.plan(summary, axes, weighted=False)
    with pytest.raises(ValueError, match="pass weights to all"):
        kde.combine(kde.partial(x), kde.partial(x, weights=w))
    with pytest.raises(ValueError, match="no samples of positive weight"):
        kde.plan(kde.partial(x[:0]), axes)
    nothing = kde.partial(x, weights=np.zeros(200))
    assert kde.combine(nothing, summary).W == summary.W


def test_renormalisation_knows_adaptive_scales():
    x = np.random.default_rng(1).random(50)
    options = dict(boundary={0: ("renorm", 0.0, 1.0)}, sigma="identity", **CPU)
    want = kde.grid(x, (0.0, 1.0, 101), h=0.2, **options)
    got = kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive=np.full(50, 0.5), **options)
    assert np.abs(got - want).max() <= 1e-15 * want.max()  # observed 1.9e-16
    with pytest.raises(ValueError, match="use 'reflect'"):
        kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive="abramson", **options)


@pytest.mark.parametrize(("weighted", "form"), [(False, "radial"), (True, "radial"), (False, "product")])
def test_partial_combine_finalize(weighted, form, device):
    x, axes, _ = small(2, n=90)
    w = np.random.default_rng(11).uniform(0.1, 1, 90) if weighted else None
    cuts = [slice(0, 20), slice(20, 21), slice(21, 90)]

    def take(a, s):
        return None if a is None else a[s]

    summary = kde.combine(*[kde.partial(x[s], weights=take(w, s)) for s in cuts])
    options = {"form": form, "sigma": "diag" if form == "product" else "cov"}
    plan = kde.plan(summary, axes, weighted=weighted, **options)
    states = [kde.partial(x[s], plan, weights=take(w, s), **device) for s in cuts]
    whole = kde.partial(x, plan, weights=w, device="cpu")
    left = kde.combine(kde.combine(states[0], states[1]), states[2])
    right = kde.combine(states[2], kde.combine(states[0], states[1]))
    assert np.array_equal(left, whole) and np.array_equal(right, whole)
    got = kde.finalize(left, plan, **device)
    want = kde.grid(x, axes, weights=w, **options, **CPU)
    assert np.abs(got - want).max() <= 1e-12 * want.max()
    assert np.abs(got - want).max() <= 2 * plan.error_bound
    with pytest.raises(ValueError, match="state"):
        kde.finalize(left[:2], plan)
    with pytest.raises(ValueError, match="total_weight"):
        kde.finalize(left, plan, total_weight=0)
    first = cuts[0]  # one share as a density of its own
    total = len(x[first]) if w is None else w[first].sum()
    own = {k: v for k, v in options.items() if k not in ("h", "sigma")} | {"H": plan.H}
    want = kde.grid(x[first], axes, weights=take(w, first), **own, **CPU)
    assert np.abs(kde.finalize(states[0], plan, total_weight=total) - want).max() <= 1e-12 * want.max()
    assert np.array_equal(kde.combine(s for s in states), whole)


def test_states_of_different_plans_are_not_added():
    """A line's state was added to every row of a plane's, and the means of one column to those of two."""
    x = np.random.default_rng(0).normal(size=(20, 2))
    line = kde.partial(x[:, 0], kde.plan(x[:, 0], (-2, 2, 5), h=1.0))
    plane = kde.partial(x, kde.plan(x, [(-2, 2, 5)] * 2, h=1.0))
    for others in ((line, plane), (plane, line), (line, line.tolist()), (line, 1.0 * line)):
        with pytest.raises(ValueError, match="one plan"):
            kde.combine(*others)
    with pytest.raises(ValueError, match="1 and 2 columns"):
        kde.combine(kde.partial(x[:, 0]), kde.partial(x))


# --- bad input ---

GOOD = np.random.default_rng(12).standard_normal((50, 2))
AXES = [(-3, 3, 7), (-3, 3, 8)]


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (np.empty((0, 2)), {}, "no samples"),
        (GOOD, {"weights": np.zeros(50)}, "all weights are zero"),
        (GOOD, {"weights": -np.ones(50)}, "negative"),
        (GOOD, {"weights": np.full(50, np.nan)}, "NaN"),
        (GOOD, {"weights": np.r_[1, np.full(49, 1e-30)]}, "one sample has all the weight"),
        (GOOD, {"weights": np.ones(49)}, "one weight per sample"),
        (GOOD[:2], {}, "sigma='diag'"),
        (np.stack([GOOD[:, 0], 2 * GOOD[:, 0]], -1), {}, "H="),
        (np.stack([GOOD[:, 0], np.ones(50)], -1), {}, "axis 1 is constant"),
        (np.where(np.arange(50)[:, None] == 3, np.nan, GOOD), {}, "omit"),
        (np.where(np.arange(50)[:, None] == 3, np.inf, GOOD), {}, "1 of 50"),
        (GOOD, {"H": [[1, 2], [0, 1]]}, "symmetric"),
        (GOOD, {"H": [[1, 2], [2, 1]]}, "positive definite"),
        (GOOD, {"H": np.eye(3)}, "shape"),
        (GOOD, {"H": np.eye(2), "h": 1.0}, "both given"),
        (GOOD, {"H": np.eye(2), "sigma": "diag"}, "both given"),
        (GOOD, {"H": np.eye(2), "bandwidth": "scott"}, "both given"),
        (GOOD, {"h": [1.0, 2.0]}, "sigma="),
        (GOOD, {"h": 0.0}, "> 0"),
        (GOOD, {"h": np.nan}, "> 0"),
        (GOOD, {"kernel": "tophat"}, "'uniform'"),
        (GOOD, {"kernel": "cosine"}, "d = 1"),
        (GOOD, {"bandwidth": "magic"}, "'eq9'"),
        (GOOD, {"bandwidth": "isj"}, "d = 1"),
        (GOOD, {"sigma": "full"}, "'cov'"),
        (GOOD, {"h": 1e-200}, "1e-200 to 1e200"),
        (GOOD, {"h": 1e200}, "1e-200 to 1e200"),
        (GOOD, {"H": 1e250 * np.eye(2)}, "1e-200 to 1e200"),
        (1e200 * GOOD, {}, "larger than 1e100"),
        (1e-200 * GOOD, {}, "too small"),
        (GOOD, {"boundary": [1]}, "dict"),
        (GOOD, {"sigma": [1.0, -1.0]}, "> 0"),
        (GOOD, {"method": "fft"}, "'rows-b'"),
        (GOOD, {"method": "skde-crop"}, "d >= 3"),
        (GOOD, {"method": "rows-c", "weights": np.ones(50)}, "rows-b"),
        (GOOD, {"method": "cells", "weights": np.ones(50)}, "d = 2"),
        (GOOD, {"method": "rows", "kernel": "gaussian"}, "auto"),
        (GOOD, {"kernel": "gaussian", "tail": 0}, "method='ep'"),
        (GOOD, {"kernel": "gaussian", "tail": 2}, "tail"),
        (GOOD, {"derivative": 2}, "axis"),
        (GOOD, {"derivative": 0, "kernel": "uniform"}, "biweight"),
        (GOOD, {"boundary": {2: ("reflect", 0, 1)}}, "axes 0 to 1"),
        (GOOD, {"boundary": {0: ("mirror", 0, 1)}}, "'reflect'"),
        (GOOD, {"derivative": True}, "not an axis"),
        (GOOD, {"h": "scott"}, "named by bandwidth"),
        (GOOD, {"H": "scott"}, "named by bandwidth"),
        (GOOD, {"sigma": "diag", "bw_convention": "sklearn"}, "sklearn"),
        (GOOD, {"adaptive": np.ones(3)}, "one scale per sample"),
        (GOOD, {"adaptive": -np.ones(50)}, "> 0"),
        (GOOD, {"bw_convention": "scipy", "h": 1.0}, "Gaussian"),
        (GOOD, {"workers": 0}, "workers"),
        (GOOD, {"device": "gpu"}, "'cuda'"),
    ],
)  # fmt: skip
def test_bad_input(samples, options, message):
    with pytest.raises(ValueError, match=message):
        kde.grid(samples, AXES, **({"device": "cpu"} | options))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ([np.array([0, 1, 3.0]), AXES[1]], "irregular"),
        ([np.array([0, -1, -2.0]), AXES[1]], "not increasing"),
        ([np.array([0, np.nan, 2]), AXES[1]], "NaN"),
        ([np.empty(0), AXES[1]], "shape"),
        ([(0, 0, 3), AXES[1]], "lo < hi"),
        ([(0, 1, 1), AXES[1]], "lo = hi"),
        ([AXES[0]], "1 axes for samples of 2"),
        (None, "per column"),
    ],
)
def test_bad_axes(axes, message):
    with pytest.raises(ValueError, match=message):
        kde.grid(GOOD, axes)


def test_transposed_samples():
    """SciPy's gaussian_kde takes (d, n)."""
    hint, wide = r"shape \(2, 50\).*\(n, d\); transpose\?", GOOD.T
    for call in (
        lambda: kde.grid(wide, AXES),
        lambda: kde.grid(wide, AXES, h=1.0, sigma="identity"),
        lambda: kde.grid(wide, AXES, weights=np.ones(50)),
        lambda: kde.points(wide, GOOD, h=1.0, sigma="identity"),
        lambda: kde.KDE().fit(wide),
        lambda: kde.grid_slabs(wide, AXES, h=1.0, sigma="identity"),
    ):
        with pytest.raises(ValueError, match=hint):
            call()
    assert kde.points(wide, wide, h=50.0, sigma="identity", **CPU).shape == (2,)  # two samples in 50 dimensions
    with pytest.raises(ValueError, match="singular") as error:
        kde.KDE().fit(np.ones((50, 1)) * [[1.0, 2.0]] * np.arange(50.0)[:, None])
    assert "transpose" not in str(error.value)


def test_names_of_other_libraries():
    for bandwidth in (0.5, np.float32(0.5), None):
        with pytest.raises(ValueError, match=r"Pass a number as h=.*bw_convention='sklearn'"):
            kde.grid(GOOD, AXES, bandwidth=bandwidth)
    with pytest.raises(ValueError, match="bandwidth='bot' is not known"):
        kde.grid(GOOD, AXES, h=1.0, bandwidth="bot")
    np.testing.assert_array_equal(kde.grid(GOOD, AXES, kernel="normal", **CPU), kde.grid(GOOD, AXES, kernel="gaussian", **CPU))
    assert kde.KDE(kernel="normal").fit(GOOD).marginal([0, 1], GOOD[0]) == kde.points(GOOD, GOOD[:1], kernel="gaussian")[0]
    assert kde.bandwidth.lscv(GOOD, kernel="normal") == kde.bandwidth.lscv(GOOD, kernel="gaussian")
    with pytest.raises(ValueError, match="kernel='normal law' is not known"):
        kde.grid(GOOD, AXES, kernel="normal law")


def test_plans_of_another_kind():
    state = kde.partial(GOOD, kde.plan(GOOD, AXES))
    for call in (lambda: kde.partial(GOOD, plan="a"), lambda: kde.finalize(state, "b"), lambda: kde.partial(GOOD, state)):
        with pytest.raises(TypeError, match=r"pass the Plan that kde\.plan"):
            call()
    for d in (-1e308, 0, 2.0, "a", 10**400):
        with pytest.raises(ValueError, match="d ?= ?"):
            kde.bandwidth.canonical_ratio("uniform", d)


def test_equality_of_plans_and_summaries():
    plan, summary = kde.plan(GOOD, AXES), kde.partial(GOOD)
    assert plan == plan and plan != kde.plan(GOOD, AXES) and summary == summary and summary != kde.partial(GOOD)
    assert len({plan, summary, kde.partial(GOOD)}) == 3 and plan.model != kde.plan(GOOD, AXES).model


def test_sparse_samples():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        kde.grid(sparse.csr_matrix(GOOD), AXES)


def test_other_bad_input():
    with pytest.raises(ValueError, match=r"kde\.points"):
        kde.grid(np.random.default_rng(1).standard_normal((50, 5)), [(-1, 1, 2)] * 5)
    with pytest.raises(MemoryError, match="grid_slabs"):
        kde.grid(GOOD, [(-3, 3, 1 << 30), (-3, 3, 1 << 30)])
    with pytest.raises(TypeError, match="complex128"):
        kde.grid(GOOD.astype(complex), AXES)
    with pytest.raises(TypeError, match="unknown"):
        kde.grid_slabs(GOOD, AXES, colour=1)
    with_nan = np.concatenate([GOOD, [[np.nan, 1]]])
    kept = kde.KDE(nan_policy="omit", **CPU).fit(with_nan)
    assert kept.n_dropped_ == 1
    np.testing.assert_allclose(kept.grid(AXES), kde.grid(GOOD, AXES, **CPU), rtol=1e-12)
    masked = np.ma.array(np.nan_to_num(with_nan), mask=np.isnan(with_nan))  # a hidden value is a missing one
    with pytest.raises(ValueError, match="omit"):
        kde.grid(masked, AXES)
    np.testing.assert_array_equal(kde.grid(masked, AXES, nan_policy="omit", **CPU), kept.grid(AXES))


# --- scores ---


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


def test_kernels_registered():
    from numbastats._core.compile import REGISTRY

    names = {n for n in REGISTRY if n.startswith("kde.")}
    assert names == {k.name for k in (*K.ROWS.values(), *K.ACCUMULATE.values(), *K.FINISH.values())} | {
        k.name for k in (K.ROWS_A, K.DIRECT, K.DIRECT_ATOMIC, K.CELLS, K.EXHAUSTIVE, K.cells.SCATTER, K.cells.FINISH)
    }


def test_isj_needs_samples():
    with pytest.warns(ConvergenceWarning, match="Silverman"):
        kde.bandwidth.isj(np.array([0.0, 0.0, 0.0, 1.0]))
