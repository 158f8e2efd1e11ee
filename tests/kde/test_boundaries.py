"""Reflecting, periodic, renormalised and local-linear boundaries, against images and moments made here."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from numbastats import kde
from tests.kde.naive import CPU, PROFILE, WRAPS, constant, mesh, naive

pytestmark = WRAPS


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


def test_renormalisation_knows_adaptive_scales():
    x = np.random.default_rng(1).random(50)
    options = dict(boundary={0: ("renorm", 0.0, 1.0)}, sigma="identity", **CPU)
    want = kde.grid(x, (0.0, 1.0, 101), h=0.2, **options)
    got = kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive=np.full(50, 0.5), **options)
    assert np.abs(got - want).max() <= 1e-15 * want.max()  # observed 1.9e-16
    with pytest.raises(ValueError, match="use 'reflect'"):
        kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive="abramson", **options)


# --- local-linear kernels

UNIT = {"sigma": "identity", **CPU}


def bump(u, kernel, exponent=None):
    """A kernel in one dimension; or (1 - u^2)^exponent, not normalised: the other coordinates of a radial one integrated out."""
    if exponent is not None:
        return np.maximum(1 - u * u, 0) ** exponent
    if kernel == "gaussian":
        return stats.norm.pdf(u)
    return np.where(np.abs(u) < 1, PROFILE[kernel](np.minimum(u * u, 1)), 0) * constant(kernel, 1)


def jones(p, q, kernel, exponent=None):
    """Slope and intercept of the factor of K at distances p and q (in h) above and below two walls, moments by quadrature."""
    most = 9 if kernel == "gaussian" else 1

    def moment(power, lo, hi):
        ends = [max(lo, -most), *([0.0] if lo < 0 < hi else []), min(hi, most)]
        f = lambda u: u**power * bump(np.float64(u), kernel, exponent)  # noqa: E731
        return sum(quad(f, a, b, epsabs=1e-14, epsrel=1e-13)[0] for a, b in itertools.pairwise(ends))

    whole = moment(0, -most, most)
    a0, a1, a2 = (moment(k, -q, p) / whole for k in range(3))
    return a2 / (a0 * a2 - a1 * a1), -a1 / (a0 * a2 - a1 * a1), a0


def by_quadrature(x, at, h, lo, hi, kernel, weights=None):
    """Jones's estimate on a line, one position at a time, and the renormalised one."""
    w = np.ones(len(x)) if weights is None else weights
    result = np.zeros((2, len(at)))
    for i, position in enumerate(at):
        if lo <= position <= hi:
            c, slope, mass = jones((position - lo) / h, (hi - position) / h, kernel)
            u = (position - x) / h
            result[:, i] = ((c + slope * u) * bump(u, kernel)) @ w, bump(u, kernel) @ w / mass
    return result / (h * w.sum())


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
@pytest.mark.parametrize("walls", [(0.0, None), (None, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("h", [0.3, 0.9])
def test_local_linear_kernels(kernel, walls, h):
    """For the Gaussian a bandwidth of a third, since its support is nine times as long; h = 0.9 reaches from wall to wall."""
    rng = np.random.default_rng(5)
    x, w = rng.beta(1, 2, 60) if walls[0] == 0 else rng.beta(2, 1, 60), rng.uniform(0.1, 2, 60)
    h = h / 3 if kernel == "gaussian" else h
    axis = 0.05 * np.arange(-4, 25)
    lo, hi = -np.inf if walls[0] is None else walls[0], np.inf if walls[1] is None else walls[1]
    want, plain = by_quadrature(x, axis, h, lo, hi, kernel, w)
    bound = (2e-9 if kernel == "gaussian" else 1e-12) * want.max()  # observed 1.9e-14; the Gaussian 1.4e-9, its tail
    options = dict(kernel=kernel, weights=w, h=h, **UNIT)
    for kind in ("linear", "jones-foster"):
        if kind == "jones-foster":
            want = np.where(plain > 0, plain * np.exp(want / np.where(plain > 0, plain, 1) - 1), 0)
        boundary = {0: (kind, *walls)}
        at = kde.points(x, axis, boundary=boundary, **options)
        assert np.abs(at - want).max() <= bound
        assert np.abs(kde.grid(x, axis, boundary=boundary, **options) - want).max() <= bound
        parts = [f for _, f in kde.grid_slabs(x, axis, boundary=boundary, slab_rows=7, **options)]
        assert np.array_equal(np.concatenate(parts), kde.grid(x, axis, boundary=boundary, **options))
    assert (at >= 0).all() and (at[(axis < lo) | (axis > hi)] == 0).all()
    assert np.isnan(kde.points(x, np.array([np.nan, 0.5]), boundary=boundary, **options)).tolist() == [True, False]


def nodes_on(length, panels=200):
    """Gauss-Legendre nodes and weights on 200 pieces of [0, length]: samples without noise."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    width = length / panels
    return (width * (np.arange(panels)[:, None] + 0.5 * (1 + nodes))).ravel(), np.tile(0.5 * width * weights, panels)


def test_linear_densities_are_reproduced():
    """The kernels have mass 1 and mean 0 inside, so a density that is linear has no bias at all; mirror images have."""
    t, w = nodes_on(1.0)
    at = np.linspace(0, 1, 41)
    for h in (0.2, 1.5):
        options = dict(weights=w * (0.4 + 1.2 * t), h=h, kernel="triweight", **UNIT)
        got = kde.points(t, at, boundary={0: ("linear", 0.0, 1.0)}, **options)
        np.testing.assert_allclose(got, 0.4 + 1.2 * at, rtol=0, atol=1e-9)  # the quadrature in t
    assert abs(kde.points(t, 0.0, boundary={0: ("reflect", 0.0, 1.0)}, **{**options, "h": 0.2}) - 0.4) > 0.05


@pytest.mark.parametrize(("kind", "order"), [("linear", 2), ("jones-foster", 2), ("renorm", 1), ("reflect", 1)])
def test_order_of_the_bias_at_a_wall(kind, order):
    """For the exponential density, whose slope at 0 is -1: expected values by quadrature for falling bandwidths."""
    t, w = nodes_on(20.0)
    w = w * np.exp(-t)
    h = np.array([0.4, 0.2, 0.1])
    bias = [
        kde.points(t, 0.0, weights=w, h=v, kernel="biweight", boundary={0: (kind, 0.0, None)}, **UNIT) / (1 - np.exp(-20)) - 1
        for v in h
    ]
    rates = np.diff(np.log(np.abs(bias))) / np.diff(np.log(h))
    assert np.abs(rates - order).max() < 0.15, rates


@pytest.mark.parametrize("kind", ["linear", "jones-foster"])
def test_mass_at_walls(kind):
    x = np.random.default_rng(3).exponential(size=5000)
    fitted = kde.KDE(h=0.2, boundary={0: (kind, 0.0, None)}, **UNIT).fit(x)
    f = fitted.grid((0.0, 12.0, 4801))
    assert np.trapezoid(f, dx=0.0025) == pytest.approx(1, abs=0.01)
    assert fitted.box_probability(0.0, 1.0) == pytest.approx(1 - np.exp(-1), abs=0.02)
    for call in (lambda: fitted.cdf([1.0]), lambda: fitted.ppf(0.5), lambda: fitted.sample(3), lambda: fitted.mean()):
        with pytest.raises(ValueError, match=f"{kind}.*use 'reflect'"):
            call()


def test_linear_may_be_negative_and_its_logarithm_then_is_not_a_number():
    x, walls = np.array([0.6]), (0.0, None)
    at = np.array([0.0, 0.5])
    f = kde.points(x, at, h=1.0, boundary={0: ("linear", *walls)}, **UNIT)
    assert f[0] < 0 < f[1]
    logs = kde.points(x, at, h=1.0, boundary={0: ("linear", *walls)}, log=True, **UNIT)
    assert np.isnan(logs[0]) and logs[1] == np.log(f[1])
    assert (kde.points(x, at, h=1.0, boundary={0: ("jones-foster", *walls)}, **UNIT) > 0).all()


def test_local_linear_kernels_in_the_plane():
    rng = np.random.default_rng(6)
    x = np.stack([rng.exponential(size=70), rng.random(70)], 1)
    axes = [np.linspace(-0.25, 2, 10), np.linspace(0, 1, 9)]
    points, widths = mesh(axes), np.array([0.8, 0.4])
    u = (points[:, None] - x) / widths
    # product form, both axes
    factor = np.ones(u.shape)
    for i, position in enumerate(points):
        for a, (lo, hi) in enumerate(((0.0, np.inf), (0.0, 1.0))):
            if lo <= position[a] <= hi:
                c, slope, _ = jones((position[a] - lo) / widths[a], (hi - position[a]) / widths[a], "biweight")
                factor[i, :, a] = c + slope * u[i, :, a]
            else:
                factor[i, :, a] = 0
    want = np.mean(np.prod(bump(u, "biweight") * factor, -1), 1) / widths.prod()
    walls = {0: ("linear", 0.0, None), 1: ("linear", 0.0, 1.0)}
    options = dict(kernel="biweight", H=np.diag(widths**2), **CPU)
    for method in ("auto", "rows-b", "skde-row", "ep"):
        got = kde.grid(x, axes, form="product", boundary=walls, method=method, **options).reshape(-1)
        assert np.abs(got - want).max() <= 1e-13 * want.max(), method
    assert np.abs(kde.points(x, points, form="product", boundary=walls, **options) - want).max() <= 1e-13 * want.max()
    # a radial kernel with one wall, and mirror images along the other axis
    want = np.zeros(len(points))
    for image in (x, x * [1, -1], x * [1, -1] + [0, 2]):
        want += naive(image, points, options["H"])
        for i, position in enumerate(points):
            if position[0] < 0:
                want[i] = 0
            elif position[0] < widths[0]:
                c, slope, _ = jones(position[0] / widths[0], np.inf, "epanechnikov", 1.5)
                v = (position - image) / widths
                q = (v * v).sum(1)
                kernel = np.where(q < 1, 1 - q, 0) * constant("epanechnikov", 2) / widths.prod() / len(x)
                want[i] += ((c + slope * v[:, 0] - 1) * kernel).sum()
    options["kernel"] = "epanechnikov"
    walls = {0: ("linear", 0.0, None), 1: ("reflect", 0.0, 1.0)}
    for method in ("auto", "rows-c", "cells", "ep"):
        got = kde.grid(x, axes, boundary=walls, method=method, **options).reshape(-1)
        assert np.abs(got - want).max() <= 1e-13 * want.max(), method
    by_slabs = np.concatenate([f for _, f in kde.grid_slabs(x, axes, boundary=walls, slab_rows=3, **options)])
    assert np.abs(by_slabs.reshape(-1) - want).max() <= 1e-13 * want.max()


@pytest.mark.parametrize("kind", ["linear", "jones-foster"])
@pytest.mark.parametrize("twin", [dict(device="cpu", workers=2), dict(device="cuda")], ids=str)
def test_local_linear_kernels_on_every_device(kind, twin):
    x, axis = np.random.default_rng(1).exponential(size=30), np.linspace(0, 3, 13)
    options = dict(h=0.8, sigma="identity", boundary={0: (kind, 0.0, None)})
    want = kde.grid(x, axis, **options, **CPU)
    np.testing.assert_allclose(kde.grid(x, axis, **options, **twin), want, rtol=0, atol=1e-13)
    np.testing.assert_allclose(kde.points(x, axis, **options, **twin), want, rtol=0, atol=1e-13)
    single = kde.grid(x.astype(np.float32), axis, **options, **twin)
    assert single.dtype == np.float32 and np.abs(single - want).max() <= 3e-6  # samples of 24 bits


def test_what_local_linear_kernels_cannot():
    rng = np.random.default_rng(8)
    x = rng.exponential(size=(50, 2))
    x[:, 1] += x[:, 0]
    with pytest.raises(ValueError, match="sigma='diag'"):
        kde.grid(x, [(0, 1, 3)] * 2, boundary={0: ("linear", 0, None)})
    two = {0: ("linear", 0, None), 1: ("linear", 0, None)}
    with pytest.raises(ValueError, match="form='product'"):
        kde.grid(x, [(0, 1, 3)] * 2, sigma="diag", boundary=two)
    with pytest.raises(ValueError, match="derivative.*linear"):
        kde.grid(x[:, 0], (0, 1, 3), boundary={0: ("linear", 0, None)}, derivative=0)
    with pytest.raises(ValueError, match="adaptive scales that differ"):
        kde.grid(x[:, 0], (0, 1, 3), boundary={0: ("linear", 0, None)}, adaptive="abramson")
    with pytest.raises(ValueError, match="no boundary correction"):
        kde.at_samples(x[:, 0], boundary={0: ("linear", 0, None)}, leave_one_out=True)
    same = kde.grid(x[:, 0], (0, 1, 9), h=1.0, boundary={0: ("linear", 0, None)}, adaptive=np.full(50, 0.5), **UNIT)
    np.testing.assert_allclose(same, kde.grid(x[:, 0], (0, 1, 9), h=0.5, boundary={0: ("linear", 0, None)}, **UNIT), rtol=1e-13)
