"""Methods, slabs, derivatives and adaptive scales of grids, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import kde
from numbastats.kde import engine
from tests.kde.naive import CPU, WRAPS, constant, mesh, naive, product, slopes, small

pytestmark = WRAPS


def test_gpu_design_with_global_atomics(monkeypatch):
    x, axes, H = small(2)
    monkeypatch.setattr(engine, "CUDA_DESIGN", "atomics")
    for kernel in ("epanechnikov", "triweight"):
        got = kde.grid(x, axes, H=H, kernel=kernel, device="cuda")
        assert np.array_equal(got, kde.grid(x, axes, H=H, kernel=kernel, **CPU))


def test_threads_order_and_slabs_do_not_matter(monkeypatch):
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
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


@pytest.mark.parametrize("method", ["cells"])
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


@pytest.mark.more_in_simulator
def test_nothing_reaches_the_grid(device):
    for d in (1, 2, 3):
        x, axes, H = small(d, n=10)
        assert (kde.grid(x + 1e6, axes, H=H, **device) == 0).all()
        assert (kde.grid(x + 1e6, axes, H=H, kernel="triangular", **device) == 0).all()
        w = np.repeat([0.0, 1e-300], 10)
        assert (kde.grid(np.concatenate([x, x + 1e6]), axes, H=H, weights=w, **device) == 0).all()


def test_row_axis_need_not_be_the_last():
    x, axes, _ = small(3)
    for axis in range(3):
        H = np.diag(np.where(np.arange(3) == axis, 30.0, 0.5))
        got = kde.grid(x, axes, H=H, **CPU)
        want = naive(x, mesh(axes), H).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()
        slabs = [f for _, f in kde.grid_slabs(x, axes, H=H, slab_rows=2, **CPU)]
        assert np.abs(np.concatenate(slabs) - want).max() <= 1e-13 * want.max()


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


@pytest.mark.more_in_simulator
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


@pytest.mark.slow_in_simulator
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


@pytest.mark.parametrize("method", ["auto", "skde", "skde-row", "cells"])
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


@pytest.mark.slow_in_simulator
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


@pytest.mark.slow_in_simulator
@pytest.mark.parametrize("d", [2, 3, 4])
def test_product_form(d, device):
    x, axes, _ = small(d)
    rng = np.random.default_rng(d)
    H, w, scale = np.diag(rng.uniform(0.5, 1.5, d)), rng.uniform(0.1, 1, len(x)), rng.uniform(0.6, 1.5, len(x))
    for kernel in ("epanechnikov", "uniform", "cosine", "gaussian") if d == 2 else ("biweight", "triangular"):
        for weights, adaptive in ((None, None), (w, scale)):
            options = dict(H=H, kernel=kernel, weights=weights, adaptive=adaptive, form="product", tail=1e-3, **device)
            want = product(x, mesh(axes), H, kernel, weights, adaptive, 1e-3)
            rows = kernel in ("epanechnikov", "uniform", "biweight")
            for method in ("skde-row", "skde", "rows-b") if rows else ("auto", "skde"):
                f = kde.grid(x, axes, method=method, **options).reshape(-1)
                assert np.abs(f - want).max() <= (1e-13 if method == "rows-b" else 1e-14) * want.max()
                assert (f[want == 0] == 0).all()
            if rows:
                options |= CPU
                assert np.array_equal(f, kde.grid(x, axes, method="rows-b", **options).reshape(-1))
            p = mesh(axes)[:: 7 * d]
            for method in ("cells", "ep"):
                f = kde.points(x, p, method=method, **options)
                assert np.abs(f - want[:: 7 * d]).max() <= 1e-14 * want.max()


def test_the_pilot_of_adaptive_scales_knows_the_boundary():
    x = np.random.default_rng(4).uniform(size=80)
    fitted = kde.KDE(h=0.2, sigma="identity", adaptive="abramson", boundary={0: ("reflect", 0, 1)}, **CPU).fit(x)
    images = np.concatenate([x, -x, 2 - x])[:, None]
    pilot = 3 * naive(images, x[:, None], fitted.H_)
    want = np.sqrt(np.exp(np.log(pilot).mean()) / pilot)
    np.testing.assert_allclose(fitted._estimate.model.scale, want, rtol=2e-15)
