"""Places: arrays of every kind there and back, kernels on them, and the operations that engines have in common."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from numbastats._core import ordering
from numbastats._core.device import SUMS
from numbastats._core.place import Place


@pytest.fixture
def place(device):
    return Place(**device)


def test_arrays_go_there_and_come_back(place):
    x = np.arange(12.0).reshape(3, 4)
    for given in (x, x[:, ::2], x.T, x.tolist(), np.arange(5, dtype=np.int32), np.empty((0, 3))):
        there = place.asarray(given)
        assert isinstance(there, np.ndarray) is not place.on_gpu
        np.testing.assert_array_equal(place.host(there), given)
    assert place.host(place.asarray(x, dtype=np.float32)).dtype == np.float32
    assert place.asarray(2.5) == 2.5 and place.asarray(x[0, 0]) == 0.0  # numbers stay numbers
    assert place.empty((2, 3), np.int8).shape == (2, 3) and not place.host(place.zeros(7)).any()


def test_what_is_there_is_not_copied(place):
    there = place.asarray(np.arange(4.0))
    place.zeros(4)
    assert place.asarray(there).shape == (4,)
    if not place.on_gpu:
        assert place.asarray(there) is there and place.host(there) is there


def test_kernels_run_on_arrays_that_are_there(place):
    x = np.arange(100.0)
    out = place.zeros(7)
    place.run(SUMS, 7, place.asarray(x), out)
    place.run(SUMS, 0, place.asarray(x), out)  # nothing to do
    want = [x[i::7].sum() for i in range(7)]
    np.testing.assert_array_equal(place.host(out), want)
    out = place.zeros(3)
    place.run(SUMS, 3, x, out)  # a small array of the host's
    np.testing.assert_array_equal(place.host(out), [x[i::3].sum() for i in range(3)])


def test_device_arrays_of_another_form_are_refused_before_a_launch():
    there = cuda.to_device(np.arange(12.0).reshape(3, 4))
    with pytest.raises(TypeError, match="must be C-contiguous"):
        Place("cuda").asarray(there[:, ::2], "x")
    with pytest.raises(TypeError, match="x is a Numba device array of shape .* dtype float64"):
        Place("cuda").asarray(there, "x", np.float32)


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5, 256, 700])
def test_running_sums(place, n):
    """On the host the CPU twins stand for the kernels."""
    rng = np.random.default_rng(n)
    x = rng.integers(-5, 9, n)
    np.testing.assert_array_equal(place.host(ordering.running_sums(place, place.asarray(x))), np.cumsum(x))


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
def test_order_of_keys_is_stable(place, size):
    rng = np.random.default_rng(size)
    for n in (0, 1, 600, 3000 if not place.on_gpu else 700):
        key = rng.integers(-1, min(size, 40), n) * (size // min(size, 40))
        key = np.where(key < 0, -1, key)
        order, starts = map(place.host, ordering.order_of(place, place.asarray(key), size))
        want = np.argsort(np.where(key < 0, size, key), kind="stable")
        np.testing.assert_array_equal(order, want)
        np.testing.assert_array_equal(starts, [np.count_nonzero((key >= 0) & (key < c)) for c in range(size + 1)])
