"""Samples that stay on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import SIMULATED, real_gpu
from numbastats._core.parallel import worker_count
from numbastats._core.place import Place
from numbastats.kde import gridding
from numbastats.kde.arguments import make_model, parse_axes
from numbastats.kde.cell_list import cell_list
from numbastats.kde.engine import Request, plan_pass
from numbastats.kde.moments import moments
from numbastats.kde.resident import moments_there, sorted_there
from tests.kde.naive import WRAPS

pytestmark = WRAPS
on_device = pytest.mark.skipif(not (SIMULATED or real_gpu()), reason="needs a GPU or the simulator")


class Here(Place):
    """The path of the kernels, by their CPU twins."""

    def __init__(self):
        super().__init__("cpu")
        self.on_gpu = True

    empty, zeros = staticmethod(np.empty), staticmethod(np.zeros)
    host = constant = asarray = staticmethod(np.asarray)

    def wait(self):
        pass


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_moments_are_those_of_the_host(d):
    """The same bits: lanes and chunks are the same, and so is the median that is subtracted."""
    for n in (1, 2, 999, 5001):
        x = np.random.default_rng(n).normal(size=(n, d)).round(1)
        want, got = moments(x, None, 1), moments_there(Here(), x)
        assert set(got) == set(want)
        for name, value in want.items():
            np.testing.assert_array_equal(got[name], value, name)
    x[7, d - 1] = np.nan
    assert moments_there(Here(), x)["bad"]


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_order_and_bounds_are_those_of_the_host(d, monkeypatch):
    x, seen = np.random.default_rng(d).normal(size=(3000, d)), []
    monkeypatch.setattr(gridding, "cell_list", lambda *args: seen.append((args[3], cell_list(*args))) or seen[-1][1])
    axes = parse_axes([(-2.0, 2.5, 40 - 5 * d + a) for a in range(d)], d)
    for method in ("rows", "cells") if d == 2 else ("rows",):
        plan_pass(make_model(x), (), method, Request(axes, tuple(axes[2]), None, None, "cpu", worker_count(1)))
        by, want = seen[-1]
        got = sorted_there(Here(), x, by)
        assert (got.weight, got.count, got.inside) == (want.weight, want.count, want.inside)
        if d > 1:  # a line is not sorted on the host
            assert (got.kept, got.crowd) == (want.kept, want.crowd)
            np.testing.assert_array_equal(got.u, want.u)
            np.testing.assert_array_equal(got.starts, want.starts)


@on_device
@pytest.mark.parametrize("d", [1, 2, 3])
def test_device_arrays_give_the_same_bits(d):
    x = np.random.default_rng(d).normal(size=(60, d))
    axes = [(-2.0, 2.5, 9 - d + a) for a in range(d)]
    for options in ({"method": "cells"}, {"kernel": "triweight", "derivative": 0}) if d == 2 else ({},):
        got = kde.grid(cuda.to_device(x), axes, **options)
        assert hasattr(got, "copy_to_host")
        np.testing.assert_array_equal(got.copy_to_host(), kde.grid(x, axes, device="cuda", **options))


@on_device
def test_samples_come_to_the_host_where_it_looks_at_them():
    """Other arguments than those of plain grids, and what a message says of samples."""
    x = np.random.default_rng(5).normal(size=(30, 2))
    axes, walls = [(-2.0, 2.5, 6), (-2.0, 2.5, 5)], {0: ("reflect", -9.0, None)}
    missing, constant = x.copy(), x.copy()
    missing[4, 1], constant[:, 0] = np.nan, 2.0
    for options in ({"boundary": walls}, {"weights": np.arange(30.0)}, {"bandwidth": "scv"}):
        got = kde.grid(cuda.to_device(x), axes, **options).copy_to_host()
        np.testing.assert_array_equal(got, kde.grid(x, axes, device="cuda", **options))
    got = kde.grid(cuda.to_device(missing), axes, nan_policy="omit").copy_to_host()
    np.testing.assert_array_equal(got, kde.grid(missing, axes, nan_policy="omit", device="cuda"))
    for bad, message in ((missing, "1 of 30 samples contain NaN or inf, the first at index 4"), (constant, "axis 0 is constant")):
        with pytest.raises(ValueError, match=message):
            kde.grid(cuda.to_device(bad), axes)
