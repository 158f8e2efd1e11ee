"""Kernels with faults that Numba's simulator lets pass, run by the emulator; prints what it said of each, as JSON."""

from __future__ import annotations

import json

import emulator

violations = emulator.install()

import numpy as np  # noqa: E402
from numba import cuda, float64  # noqa: E402


@cuda.jit
def reverses(x):
    """Without a fault."""
    s, t = cuda.shared.array(64, float64), cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    x[t] = s[63 - t]


@cuda.jit
def needs_a_barrier(x):
    s, t = cuda.shared.array(64, float64), cuda.threadIdx.x
    s[t] = x[t]
    x[t] = s[63 - t]


@cuda.jit
def has_two_barriers(x):
    s, t = cuda.shared.array(64, float64), cuda.threadIdx.x
    s[t] = x[t]
    if t < 40:
        cuda.syncthreads()
        x[t] = s[63 - t]
    else:
        x[t] = s[63 - t]
        cuda.syncthreads()


@cuda.jit
def writes_beyond(x):
    x[cuda.grid(1) + 1] = 63.0 - cuda.grid(1)


@cuda.jit
def adds(x):
    x[cuda.grid(1)] += 63.0


def outcome(kernel, threads=64, fresh=False):
    """Whether the result is 63, 62 ... 0, and how many violations were counted; or the error."""
    before = violations()
    x = cuda.device_array(64) if fresh else cuda.to_device(np.arange(64.0))
    try:
        kernel[1, threads](x)
    except ValueError as error:
        return str(error)
    return bool((x.copy_to_host() == 63.0 - np.arange(64.0)).all()), violations() - before


print(
    json.dumps(
        {
            "sound": outcome(reverses),
            "no barrier": outcome(needs_a_barrier),
            "two barriers": outcome(has_two_barriers),
            "beyond": outcome(writes_beyond),
            "never written": outcome(adds, fresh=True),
            "too many threads": outcome(reverses, threads=1025),
        }
    )
)
