"""Densities at listed points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from numbastats import kde
from numbastats._core.launch import LOOP_FROM
from numbastats.kde.cell_list import order_by_cell
from tests.kde.naive import CPU, PROFILE, WRAPS, mesh, naive, small

pytestmark = WRAPS


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_points(d, device):
    rng = np.random.default_rng(d)
    x = rng.standard_normal((70, d))
    H = np.eye(d) * 2.0 + 0.3
    p = np.concatenate([rng.standard_normal((6, d)), x[:3], np.full((1, d), 50.0)])
    w = rng.uniform(0.1, 1, 70)
    for kernel, weights in (("epanechnikov", None), ("epanechnikov", w), ("triweight", w)):
        want = naive(x, p, H, kernel, weights)
        for method in ("cells", "ep"):
            got = kde.points(x, p, H=H, kernel=kernel, weights=weights, method=method, **device)
            assert np.abs(got - want).max() <= 5e-15 * want.max()
            assert got[-1] == 0


@pytest.mark.parametrize("kernel", list(PROFILE))
def test_cells_of_many_samples(kernel):
    """Enough samples that cells lie inside the support and moments are used; several passes over the points' order."""
    rng = np.random.default_rng(1)
    for d in (1,) if kernel == "cosine" else (1, 2, 3):
        x = rng.standard_normal((20_000, d)) * 3.0 ** np.arange(d)
        H = np.cov(x.T).reshape(d, d) * 0.2
        p = rng.standard_normal((400, d)) * 3.0 ** np.arange(d)
        want = naive(x, p[:60], H, kernel)
        for workers in (1, 2):
            got = kde.points(x, p, H=H, kernel=kernel, device="cpu", workers=workers)
            assert np.abs(got[:60] - want).max() <= 5e-15 * got.max() * (1 if kernel in ("uniform", "epanechnikov") else 4)


def test_moments_of_cells_in_space():
    """Supports that hold many cells, which takes more samples or wider kernels than above."""
    r = np.random.default_rng(2)
    x, w, at = r.standard_normal((20_000, 3)), r.uniform(0.1, 1, 20_000), r.standard_normal((50, 3))
    for kernel, weights in (("uniform", None), ("epanechnikov", None), ("epanechnikov", w)):
        want = naive(x, at, 4 * np.eye(3), kernel, weights)
        got = kde.points(x, at, H=4 * np.eye(3), kernel=kernel, weights=weights, **CPU)
        assert np.abs(got - want).max() <= 2e-14 * want.max()


def test_points_special_values(device):
    x, _, H = small(2)
    p = np.array([[np.nan, 0], [0, np.nan], [np.inf, 0], [-np.inf, np.inf], [0.1, 0.2]])
    got = kde.points(x, p, H=H, **device)
    assert np.isnan(got[:2]).all() and (got[2:4] == 0).all() and got[4] > 0
    log = kde.points(x, p[2:], H=H, log=True, **device)
    assert log[0] == -np.inf and log[2] == math.log(got[4])
    assert kde.points(x, np.empty((0, 2)), H=H, **device).shape == (0,)
    assert kde.points(x.astype(np.float32), p, H=H, **device).dtype == np.float32
    out = np.empty(5)
    assert kde.points(x, p, H=H, out=out, **device) is out
    for bad in (np.zeros((3, 3)), np.zeros((3, 1)), np.zeros(2)):
        with pytest.raises(ValueError, match="points have"):
            kde.points(x, bad, H=H, **device)


def test_gaussian_points():
    x, _, H = small(2)
    p = x[:20] + 0.1
    delta = p[:, None] - x
    q = np.einsum("pia,ab,pib->pi", delta, np.linalg.inv(H), delta)
    want = np.exp(-q / 2).mean(1) / (2 * math.pi * math.sqrt(np.linalg.det(H)))
    np.testing.assert_allclose(kde.points(x, p, H=H, kernel="gaussian", tail=0, **CPU), want, rtol=1e-13)
    cut = kde.points(x, p, H=H, kernel="gaussian", tail=1e-12, **CPU)
    np.testing.assert_allclose(cut, want, rtol=0, atol=3e-12 * want.max())
    with pytest.raises(ValueError, match="ep"):
        kde.points(x, p, H=H, kernel="gaussian", tail=0, method="cells")


def test_one_dimensional_grid_of_points_agrees():
    """The two engines against each other's definition on a mesh, every kernel."""
    x, axes, H = small(3)
    for kernel in ("epanechnikov", "triangular", "gaussian"):
        f = kde.grid(x, axes, H=H, kernel=kernel, **CPU)
        p = kde.points(x, mesh(axes), H=H, kernel=kernel, **CPU)
        assert np.abs(f.reshape(-1) - p).max() <= 1e-13 * p.max()


@pytest.mark.parametrize("adaptive", [False, True])
def test_logarithms_of_gaussians_where_the_density_underflows(adaptive):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(40, 2)) + 5.0, rng.uniform(0.5, 2.0, 40)
    scale = rng.uniform(0.5, 2.0, 40) if adaptive else np.ones(40)
    H = np.array([[0.3, 0.1], [0.1, 0.2]])
    points = np.array([[5.0, 5.0], [40.0, -30.0], [1e5, 3.0], [np.nan, 0.0], [np.inf, 0.0]])
    laws = [multivariate_normal(c, H * s**2) for c, s in zip(x, scale, strict=True)]
    want = logsumexp([np.log(v / w.sum()) + law.logpdf(points[:3]) for v, law in zip(w, laws, strict=True)], axis=0)
    options = dict(weights=w, kernel="gaussian", H=H, tail=0, adaptive=scale if adaptive else None)
    got = kde.points(x, points, log=True, **options, **CPU)
    np.testing.assert_allclose(got[:3], want, rtol=1e-13)  # observed 7e-16
    assert np.isnan(got[3]) and got[4] == -np.inf
    with np.errstate(divide="ignore"):
        assert np.isneginf(np.log(kde.points(x, points[1:3], **options, **CPU))).all()


@pytest.mark.parametrize(("d", "h"), [(3, 1e-10), (5, 1e-30), (1, 1e30)])
def test_logarithms_of_gaussians_in_any_unit(d, h):
    """Narrow kernels are high: their sum underflows where the density is far above the least float."""
    radius, scale = np.array([1.0, 30.0, 37.5, 38.0, 38.3, 38.5, 38.6, 39.0, 60.0]), np.array([0.5, 0.25])
    points = np.zeros((len(radius), d))
    points[:, 0] = radius * h
    options = dict(kernel="gaussian", tail=0, h=h, sigma="identity", log=True, **CPU)
    want = -0.5 * radius**2 - d * math.log(h * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(kde.points(np.zeros((1, d)), points, **options), want, rtol=2e-15)  # observed 4.4e-16
    np.testing.assert_allclose(kde.points(np.zeros((2, d)), points, weights=[1, 1e-18], **options), want, rtol=2e-15)
    parts = [-0.5 * (radius / s) ** 2 - d * math.log(h * s * math.sqrt(2 * math.pi)) for s in scale]
    want = logsumexp(parts, axis=0) - math.log(2)
    np.testing.assert_allclose(kde.points(np.zeros((2, d)), points, adaptive=scale, **options), want, rtol=2e-15)


def test_density_at_a_number():
    x = np.random.default_rng(3).normal(size=300)
    model = kde.KDE().fit(x)
    for f in (model.pdf, model.logpdf, lambda v: kde.points(x, v)):
        assert np.ndim(f(0.5)) == 0 and f(0.5) == f(np.float64(0.5)) == f([0.5])[0]
    assert kde.points(x.astype(np.float32), 0.5).dtype == np.float32 and np.isnan(model.pdf(math.nan))
    out = np.empty(())
    assert model.pdf(0.5, out=out) is out and out == model.pdf(0.5)
    with pytest.raises(ValueError, match="shape"):
        kde.points(np.zeros((5, 2)), 0.5, H=np.eye(2))


def test_order_by_cell():
    """A stable order, counted in parts where there are many keys; empty cells have a place, too."""
    r = np.random.default_rng(3)
    for n, cells in ((0, 3), (7, 5), (LOOP_FROM, 40), (LOOP_FROM + 1, 3 * LOOP_FROM)):
        key = r.integers(0, cells, n)
        for workers in (1, 2):
            order, starts = order_by_cell(key, cells, workers)
            np.testing.assert_array_equal(order, np.argsort(key, kind="stable"))
            np.testing.assert_array_equal(starts, np.searchsorted(key[order], np.arange(cells + 1)))
