"""Reflecting, periodic and renormalised boundaries, against images made here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import kde
from tests.kde.naive import CPU, WRAPS, mesh, naive

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


def test_renormalisation_knows_adaptive_scales():
    x = np.random.default_rng(1).random(50)
    options = dict(boundary={0: ("renorm", 0.0, 1.0)}, sigma="identity", **CPU)
    want = kde.grid(x, (0.0, 1.0, 101), h=0.2, **options)
    got = kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive=np.full(50, 0.5), **options)
    assert np.abs(got - want).max() <= 1e-15 * want.max()  # observed 1.9e-16
    with pytest.raises(ValueError, match="use 'reflect'"):
        kde.grid(x, (0.0, 1.0, 101), h=0.4, adaptive="abramson", **options)
