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


def reused(wait):
    """Violations where memory is freed while a kernel on one stream uses it, and a kernel on another stream gets it."""
    cuda.synchronize()
    before, streams = violations(), (cuda.external_stream(0x7000), cuda.external_stream(0x8000))
    for stream in streams:
        x = cuda.device_array(777, stream=stream)
        adds[1, 64, stream](x)
        del x
        cuda.current_context().memory_manager.deallocations.clear()
        wait(stream)
    return violations() - before


def joined(stream):
    event = cuda.event(timing=False)
    event.record(stream)
    event.wait(cuda.external_stream(0x8000))


print(
    json.dumps(
        {
            "sound": outcome(reverses),
            "no barrier": outcome(needs_a_barrier),
            "two barriers": outcome(has_two_barriers),
            "beyond": outcome(writes_beyond),
            "never written": outcome(adds, fresh=True),
            "reused": [reused(wait) for wait in (lambda stream: None, lambda stream: stream.synchronize(), joined)],
            "too many threads": outcome(reverses, threads=1025),
        }
    )
)
