"""The methods of the reference: boxes, crops, atomic additions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import kde
from tests.kde.naive import WRAPS, mesh, naive, small

pytestmark = WRAPS


@pytest.mark.parametrize("method", ["cells", "skde", "skde-atomic", "skde-row"])
def test_baselines_on_every_device(method, device):
    x, axes, H = small(2, n=40)
    got = kde.grid(x, axes, H=H, method=method, **device)
    want = naive(x, mesh(axes), H).reshape(got.shape)
    assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_chop_and_crop_on_every_device(device):
    for d in (3, 4):
        x, axes, H = small(d, n=20)
        got = kde.grid(x, axes, H=H, method="skde-crop", **device)
        want = naive(x, mesh(axes), H).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_crop_equals_the_corrected_appendix():
    """Equations (11)-(19) with their slips corrected against the closed form, random matrices."""
    from numbastats.kde.arguments import make_model, parse_axes
    from numbastats.kde.gridding import make_grid

    rng = np.random.default_rng(14)
    for _ in range(20):
        g = rng.standard_normal((3, 3))
        H = g @ g.T + 0.1 * np.eye(3)
        model = make_model(rng.standard_normal((9, 3)), H=H)
        g = make_grid(model, parse_axes([(0, 9, 10)] * 3, 3), row_axis=2).geometry[0]
        m = np.linalg.inv(H)[::-1, ::-1]  # x, y, z: the row axis first
        z = rng.uniform(-1, 1) * math.sqrt(H[0, 0])
        a, b, c = m[0, 0], 2 * m[0, 1], m[1, 1]
        d, e, f = 2 * m[0, 2] * z, 2 * m[1, 2] * z, m[2, 2] * z * z - 1
        theta = math.atan2(b, a - c) / 2
        co, si = math.cos(theta), math.sin(theta)
        a1, c1 = a * co * co + b * co * si + c * si * si, a * si * si - b * co * si + c * co * co
        d1, e1 = d * co + e * si, -d * si + e * co
        n = -4 * f * a1 * c1 + c1 * d1 * d1 + a1 * e1 * e1
        size = g["lambda2"] - g["r11"] * z * z
        assert (n > 0) == (size > 0)
        long, short = math.sqrt(n / (4 * a1 * a1 * c1)), math.sqrt(n / (4 * a1 * c1 * c1))
        x, y = -d1 / (2 * a1), -e1 / (2 * c1)
        centre = x * co - y * si, x * si + y * co
        bounds = math.hypot(long * co, short * si), math.hypot(long * si, short * co)
        np.testing.assert_allclose(bounds, [math.sqrt(size * g["crop_x"]), math.sqrt(size * g["crop_y"])], rtol=1e-9)
        np.testing.assert_allclose(centre, [g["x1"] * z, g["y1"] * z], rtol=1e-9, atol=1e-12)
