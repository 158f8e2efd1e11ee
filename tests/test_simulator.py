"""Blocks of threads of the simulated GPU, as `tests.simulator` runs them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numba import cuda

from numbastats._core.kernel import SIMULATED


def _turns(out, order, fails):
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared = cuda.shared.array(4, np.int64)
    shared[t] = t
    for s in range(t):  # threads 1 to 3 pass 1 to 3 barriers, and end
        order.append((i, s))
        cuda.syncthreads()
        out[i] += shared[(t + s) % 4]
        cuda.syncthreads()
        shared[t] += 10
        if t == fails:
            raise KeyError("wrong")


@pytest.mark.skipif(not SIMULATED, reason="the simulator")
def test_threads_of_a_simulated_block_take_turns():
    """One at a time, in order, each to its next barrier; those that have ended are not waited for."""
    out, order = np.zeros(8, np.int64), []
    cuda.jit(_turns)[2, 4](out, order, -1)
    assert out.tolist() == [0, 1, 2 + 13, 3 + 0 + 11] * 2
    assert order == [(4 * b + t, s) for b in range(2) for s in range(3) for t in range(s + 1, 4)]
    before = threading.active_count()
    with pytest.raises(KeyError, match="wrong") as caught:
        cuda.jit(_turns)[2, 4](out, order, 2)
    assert caught.value.__notes__ == ["in thread (2, 0, 0) of block (0, 0, 0)"]
    cuda.jit(_turns)[2, 4](out, order, -1)
    assert threading.active_count() == before  # the workers of the failed block are at work again


def _counts(out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    out[y, x, 0] = cuda.syncthreads_count(x)
    out[y, x, 1] = cuda.syncthreads_or(x == 2)
    out[y, x, 2] = cuda.syncthreads_and(x < 2)


@pytest.mark.skipif(not SIMULATED, reason="the simulator")
def test_votes_of_a_simulated_block():
    out = np.zeros((2, 3, 3), np.int64)
    cuda.jit(_counts)[1, (3, 2)](out)
    assert (out == [4, 1, 0]).all()
