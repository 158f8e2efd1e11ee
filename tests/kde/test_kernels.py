"""Twins of the kernels, kernels of every shape."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats import kde
from numbastats.kde import kernels as K
from tests.kde.naive import CPU, WRAPS, mesh, naive, small

pytestmark = WRAPS


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


@pytest.mark.more_in_simulator
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


def test_kernels_registered():
    from numbastats._core.kernel import REGISTRY, Kernel
    from numbastats.kde.kernels import resident

    names = {n for n in REGISTRY if n.startswith("kde.")}
    tables = (K.ROWS, K.ACCUMULATE, K.FINISH, K.POINTS, K.EXHAUSTIVE)
    kernels = [k for table in tables for k in table.values()] + [K.DIRECT, K.DIRECT_ATOMIC, K.CELLS_SCATTER, K.CELLS_FINISH]
    kernels += [k for k in vars(resident).values() if isinstance(k, Kernel)]
    assert names == {k.name for k in kernels}
