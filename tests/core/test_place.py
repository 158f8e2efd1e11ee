"""Places: arrays of every kind there and back, kernels on them, and the operations that engines have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda

from numbastats._core import algebra, ordering
from numbastats._core.device import SUMS
from numbastats._core.place import Place


@pytest.fixture
def place(device):
    return Place(**device)


class Pair(NamedTuple):
    x: object
    off: object


def test_arrays_go_there_and_come_back(place):
    x = np.arange(12.0).reshape(3, 4)
    for given in (x, x[:, ::2], x.T, x.tolist(), np.arange(5, dtype=np.int32), np.empty((0, 3))):
        there = place.asarray(given)
        assert isinstance(there, np.ndarray) is not place.on_gpu
        np.testing.assert_array_equal(place.host(there), given)
    assert place.host(place.asarray(x, dtype=np.float32)).dtype == np.float32
    assert place.asarray(2.5) == 2.5 and place.asarray(x[0, 0]) == 0.0  # numbers stay numbers
    pair = place.asarray(Pair(x, (np.arange(3), 7)))
    assert isinstance(pair, Pair) and pair.off[1] == 7
    np.testing.assert_array_equal(place.host(pair.off[0]), range(3))
    again = place.zeros_like(Pair(pair.x, pair.off[:1]))
    assert isinstance(again, Pair) and not place.host(again.x).any() and again.off[0].shape == (3,)
    assert place.empty((2, 3), np.int8).shape == (2, 3) and not place.host(place.zeros(7)).any()


def test_what_is_there_is_not_copied(place):
    there = place.asarray(np.arange(4.0))
    place.zeros(4)
    assert place.asarray(there).shape == (4,)
    if not place.on_gpu:
        assert place.asarray(there) is there and place.host(there) is there
    table = np.arange(3.0)
    assert place.constant(table) is place.constant(table)


def test_results_are_of_the_kind_that_came(place):
    there = place.asarray(np.arange(6.0).reshape(2, 3))
    assert isinstance(place.give(there, np.ones(1)), np.ndarray)
    numba = cuda.to_device(np.ones(2))
    got = place.give(there, numba)
    assert hasattr(got, "copy_to_host")
    np.testing.assert_array_equal(got.copy_to_host(), place.host(there))


def test_kernels_run_on_arrays_that_are_there(place):
    x = np.arange(100.0)
    with place:
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
def test_running_sums_and_compaction(place, n):
    rng = np.random.default_rng(n)
    x = rng.integers(-5, 9, n)
    np.testing.assert_array_equal(place.host(ordering.running_sums(place, place.asarray(x))), np.cumsum(x))
    mask = (x > 2).astype(np.int64)
    np.testing.assert_array_equal(place.host(ordering.where(place, place.asarray(mask))), np.flatnonzero(mask))


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
def test_order_of_keys_is_stable(place, size):
    rng = np.random.default_rng(size)
    for n in (0, 1, 600):
        key = rng.integers(-1, min(size, 40), n) * (size // min(size, 40))
        key = np.where(key < 0, -1, key)
        order, starts = map(place.host, ordering.order_of(place, place.asarray(key), size))
        want = np.argsort(np.where(key < 0, size, key), kind="stable")
        np.testing.assert_array_equal(order, want)
        np.testing.assert_array_equal(starts, [np.count_nonzero((key >= 0) & (key < c)) for c in range(size + 1)])


class Here(Place):
    """The path of the kernels, by their CPU twins."""

    def __init__(self):
        super().__init__("cpu")
        self.on_gpu = True

    empty, zeros = staticmethod(np.empty), staticmethod(np.zeros)
    host = constant = staticmethod(np.asarray)


def test_cpu_twins_give_the_same_order():
    """They stand for the kernels where there is no simulator."""
    key = np.random.default_rng(3).integers(-1, 1000, 3000)
    for got, want in zip(ordering.order_of(Here(), key, 1000), ordering.order_of(Place("cpu"), key, 1000), strict=True):
        np.testing.assert_array_equal(got, want)
    mask = (key % 7 == 0).astype(np.int64)
    np.testing.assert_array_equal(ordering.where(Here(), mask), np.flatnonzero(mask))


# --- algebra ------------------------------------------------------------------------------------------------------------


def matrices(m, p, seed=5):
    X = np.random.default_rng(seed).normal(size=(m, p + 3, p))
    return X.transpose(0, 2, 1) @ X


@pytest.mark.parametrize(("m", "p"), [(0, 3), (1, 1), (3, 5), (2, 20)])
def test_cholesky_factors_and_solves(place, m, p):
    """As LAPACK's, largest differences 2e-15 of the largest entry and 3e-13 of the solutions."""
    A, rng = matrices(m, p), np.random.default_rng(1)
    b = rng.normal(size=(m, p))
    L, x = place.asarray(A.copy()), place.asarray(b.copy())
    assert not place.host(algebra.cholesky(place, L)).any()
    if m:
        want = np.linalg.cholesky(A)
        np.testing.assert_allclose(np.tril(place.host(L)), want, atol=1e-14 * abs(want).max())
        algebra.solve(place, L, x)
        np.testing.assert_allclose(place.host(x), np.linalg.solve(want, b[..., None])[..., 0], rtol=1e-11)
        algebra.solve(place, L, x, transposed=True)
        np.testing.assert_allclose(place.host(x), np.linalg.solve(A, b[..., None])[..., 0], rtol=1e-11)


@pytest.mark.parametrize("p", [4, 20])
def test_matrices_without_a_factor_have_a_status_and_spoil_no_other(place, p):
    A = matrices(4, p)
    A[1, 2, 2], A[2, 0, 0], A[3, 3, 3] = -1.0, np.nan, 0.0
    L = place.asarray(A.copy())
    assert place.host(algebra.cholesky(place, L)).tolist() == [0, 3, 1, 4]
    np.testing.assert_allclose(np.tril(place.host(L)[0]), np.linalg.cholesky(A[0]), atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_of_rows_and_weights(place, dtype, monkeypatch):
    monkeypatch.setattr(algebra, "PART", 30)
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(29, 3)).astype(dtype), rng.uniform(size=29)
    there, wide = place.asarray(X), X.astype(float)
    np.testing.assert_allclose(place.host(algebra.normal_matrix(place, there)), wide.T @ wide, rtol=1e-14)
    got = place.host(algebra.normal_matrix(place, there, place.asarray(w)))
    np.testing.assert_allclose(got, wide.T @ (w[:, None] * wide), rtol=1e-14)
    np.testing.assert_array_equal(got, got.T)


def test_cpu_twins_give_the_same_algebra():
    """Both sides of the host's choice, by the order of the matrix."""
    A, b = matrices(3, 30), np.ones((3, 30))
    for place in (Here(), Place("cpu")):
        L, x = A.copy(), b.copy()
        assert not algebra.cholesky(place, L).any()
        algebra.solve(place, L, x)
        algebra.solve(place, L, x, transposed=True)
        np.testing.assert_allclose((A @ x[..., None])[..., 0], b, rtol=1e-10)
    X = A[0]
    np.testing.assert_allclose(algebra.normal_matrix(Here(), X), algebra.normal_matrix(Place("cpu"), X), rtol=1e-13, atol=1e-12)
