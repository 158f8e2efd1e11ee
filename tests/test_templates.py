"""Every loop skeleton against NumPy, on all three twins, with float32 and float64 data."""

from __future__ import annotations

import numpy as np
import pytest

import tests.demo_kernels as demo
from numbastats._core import templates
from numbastats._core.compile import SIMULATED, build, device_function
from numbastats._core.dispatch import launch

rng = np.random.default_rng(0)


def run(kernel, args, n, device, outputs=(-1,)):
    launch(kernel, args, n, outputs=outputs, **device)


@device_function
def between(x, a, b):
    return x * a - b


@pytest.mark.filterwarnings("ignore:Grid size", "ignore:Host array used")  # of numba-cuda on a GPU
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("target", ["serial", "parallel", "cuda"])
def test_map_of_three(dtype, target):
    n = 70 if target == "cuda" else 5000
    x, a, b, out = rng.integers(-9, 9, n).astype(dtype), dtype(3.0), rng.integers(-9, 9, n).astype(dtype), np.empty(n, dtype)
    kernel = build(templates.map3_cuda if target == "cuda" else templates.map3_cpu, target, _f=between)
    (kernel[2, 32] if target == "cuda" else kernel)(x, a, b, out)
    assert np.array_equal(out, 3 * x - b)  # small integers: exact


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4096, 4097, 9000])
def test_reduce_is_bitwise_the_same_everywhere(dtype, n, device):
    x = rng.standard_normal(n).astype(dtype)
    chunks = -(-n // templates.CHUNK)
    partial = np.full(chunks, np.nan)
    run(demo.SUM, (x, partial), chunks, device)
    serial = np.full(chunks, np.nan)
    demo.SUM.serial(x, serial)
    if SIMULATED or device["device"] == "cpu":  # a GPU fuses the squares into the sums
        assert partial.tobytes() == serial.tobytes()
    squares = (x * x).astype(float)
    np.testing.assert_allclose(templates.combine(partial), squares.sum(), rtol=1e-13)


def test_combine_is_pairwise():
    terms = np.array([1e16, 1.0, -1e16, 1.0, 3.0])
    assert templates.combine(terms) == ((1e16 + 1.0) + (-1e16 + 1.0)) + 3.0
    assert templates.combine([]) == 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_table(dtype, device):
    knots = np.array([0.0, 1.0, -2.0, 5.0, 4.0])
    table = np.stack([knots[:-1], np.diff(knots)], axis=1).astype(dtype)
    x = rng.uniform(0, 4, 200).astype(dtype)
    out = np.empty_like(x)
    run(demo.TABLE, (x, table, out), x.size, device)
    np.testing.assert_allclose(out, np.interp(x, np.arange(5), knots), rtol=0, atol=4 * np.finfo(dtype).eps * 5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batch_body_takes_slices(dtype, device):
    sizes = [1, 5, 64, 65, 200, 3]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = rng.uniform(1, 2, offsets[-1]).astype(dtype)
    out = np.full((len(sizes), 2), np.nan)
    run(demo.BATCH, (values, offsets, out), len(sizes), device)
    for row, lo, hi in zip(out, offsets, offsets[1:], strict=False):
        x = values[lo:hi].astype(float)
        np.testing.assert_allclose(row, [x.mean(), x.var()], rtol=1e-12, atol=1e-13)


def test_batch_survives_a_failing_problem(device):
    values = np.array([1.0, np.nan, 3.0, 5.0])
    out = np.empty((3, 2))
    run(demo.BATCH, (values, np.array([0, 1, 2, 4]), out), 3, device)
    np.testing.assert_allclose(out, [[1, 0], [np.nan, np.nan], [4, 1]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_row_scatter(dtype, device):
    rows = np.sort(rng.integers(0, 5, 300))
    items = rng.uniform(0, 7, 300).astype(dtype)
    starts = np.searchsorted(rows, np.arange(6))
    out = np.zeros((5, 9))
    if device["device"] == "cuda":  # outputs arrive uninitialised on the device: start from a staged copy
        from numba import cuda

        on_device = cuda.to_device(out)
        run(demo.SCATTER, (items, starts, on_device), 5, device, outputs=())
        out = on_device.copy_to_host()
    else:
        run(demo.SCATTER, (items, starts, out), 5, device)
    want = np.zeros((5, 9))
    cells = np.floor(items).astype(int)
    part = (items - np.floor(items)).astype(float)
    np.add.at(want, (rows, cells), 1 - part)
    np.add.at(want, (rows, cells + 1), part)
    np.testing.assert_allclose(out, want, rtol=1e-12)
