"""The loops that bind scalars, each twin against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange
from numba.core.errors import TypingError

from numbastats._core.kernel import build, device_function
from numbastats.scalar import loops
from numbastats.scalar.bits import at2, buffer, reread

rng = np.random.default_rng(0)


@device_function
def between(x, a, b, c):
    return x * a - b + c


@pytest.mark.filterwarnings("ignore:Grid size", "ignore:Host array used")  # of numba-cuda on a GPU
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("target", ["serial", "parallel", "cuda"])
def test_map_of_four(dtype, target):
    n = 70 if target == "cuda" else 5000
    x, b = rng.integers(-9, 9, (2, n)).astype(dtype)
    a, c, out = dtype(3.0), dtype(2.0), np.empty(n, dtype)
    kernel = build(loops.map4_cuda if target == "cuda" else loops.map4_cpu, target, _f=between)
    (kernel[2, 32] if target == "cuda" else kernel)(x, a, b, c, out)
    assert np.array_equal(out, 3 * x - b + 2)  # small integers: exact


def _bits_cpu(x, out):
    for i in prange(out.shape[0]):
        words = buffer(4, np.uint64)
        for k in range(4):
            words[k] = x[i, k]
        numbers = reread(words, out.dtype)
        out[i, : numbers.size] = numbers


@pytest.mark.parametrize("target", ["serial", "parallel"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_buffers_hold_bits(dtype, target):
    x = rng.random((50, 4)).view(np.uint64)
    out = np.zeros((50, 32 // dtype().itemsize), dtype)
    build(_bits_cpu, target)(x, out)
    assert np.array_equal(out.view(np.uint64), x)


def _turned_cpu(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = at2(x, np.int32(j), i)


def _turned_cuda(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = at2(x, j, i)


@pytest.mark.filterwarnings("ignore:Grid size", "ignore:Host array used")
@pytest.mark.parametrize("target", ["serial", "cuda"])
def test_elements_of_matrices(target):
    x, out = rng.random((5, 8))[:, ::2], np.empty((4, 5))
    x = x.copy() if target == "cuda" else x  # not contiguous
    kernel = build(_turned_cuda if target == "cuda" else _turned_cpu, target)
    (kernel[1, 1] if target == "cuda" else kernel)(x, out)
    assert np.array_equal(out, x.T)


def _sized_cpu(x, out):
    out[:] = buffer(x.size, out.dtype)


SIZE = 1  # bound anew by `build`


def _room_cpu(out):
    room = buffer(SIZE, out.dtype)
    out[0] = room.size


def test_buffers_of_several_sizes_in_one_process():
    """Numba finds the code of an intrinsic by the types of its arguments: all buffers had the size of the first compiled."""
    for size in (64, 8, 2048):
        out = np.zeros(1)
        build(_room_cpu, "serial", SIZE=size)(out)
        assert out[0] == size


def test_buffers_have_a_constant_size():
    with pytest.raises(TypingError, match="size of a buffer must be a constant"):
        build(_sized_cpu, "serial")(np.ones(3), np.ones(3))
