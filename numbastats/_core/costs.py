"""Whether a call on host arrays is faster on a GPU, copies included: the choice of `device="auto"`."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import time
from typing import NamedTuple

import numpy as np
from numba import prange

from numbastats._core import cache, numba_internals
from numbastats._core import device as gpu
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel

__all__ = ["RATE", "Rates", "Work", "measured_rates", "pays"]

GAIN = 0.7  # "auto" takes the GPU if the call takes at most this share of the time on the host
FILLED = 131_072  # threads that keep a GPU busy; FILLED and SHARE are estimates, not measured
SHARE = 0.05  # of the measured rate of multiplications that kernels reach
MEMORY = 0.6  # share of the GPU's free memory that a call may take
SHORT, LONG = 1e-3, 1.0  # seconds on the host: up to SHORT no call asks, from LONG on it may wait for compiler and measurement
_AHEAD = "`python -m numbastats warmup --device cuda` compiles for it and measures it"
_known: dict[str, Rates] = {}  # by GPU and processor
_failed: dict[str, Exception] = {}


class Work(NamedTuple):
    """Work and data of a call.

    Attributes
    ----------
    nanoseconds : float
        Time on one core of the host.
    up, down : float
        Bytes to the GPU and back.
    items : float
        Number of GPU threads with work.
    launches : float
        Number of kernels, one after the other.
    """

    nanoseconds: float
    up: float
    down: float
    items: float
    launches: float = 1.0


class Rates(NamedTuple):
    """Measured speed of a GPU: bytes per second up and down, seconds per launch, cores of the host that it replaces."""

    up: float
    down: float
    launch: float
    cores: float


def seconds(work, rates):
    """Seconds that the work takes on the GPU, copies included."""
    busy = min(1.0, work.items / FILLED)
    way = work.up / rates.up + work.down / rates.down + work.launches * rates.launch
    return way + work.nanoseconds * 1e-9 / (rates.cores * SHARE * max(busy, 1e-9))


def pays(work, cores):
    """Whether the GPU is faster than so many cores of the host, and why: a message's template and its arguments."""
    host = work.nanoseconds * 1e-9 / cores
    if host < SHORT:
        return False, ("%.2g s on %d cores", host, cores)
    rates = kept_rates()
    if rates is None and host < LONG:
        return False, (f"%.2g s on %d cores, too short to measure the GPU for; {_AHEAD}", host, cores)
    try:
        rates = measured_rates() if rates is None else rates
    except Exception as error:  # the GPU may be full
        return False, ("it could not be measured: %s", error)
    there = seconds(work, rates)
    why = "%.2g s on %d cores, about %.2g s on the GPU with copies", host, cores, there
    if there >= GAIN * host:
        return False, why
    if work.up + work.down > MEMORY * free_bytes():
        return False, ("%.4g MiB are more than %d %% of its free memory", (work.up + work.down) / 2**20, 100 * MEMORY)
    return True, why


def free_bytes():
    """Free memory of the GPU."""
    return cuda.current_context().get_memory_info()[0]


# --- measurement --------------------------------------------------------------------------------------------------------


def _files():
    return [os.path.join(folder, "gpu.json") for folder in cache.folders()]


def _name():
    """The GPU and the processor, between which the rates compare."""
    name = cuda.get_current_device().name
    return f"{name.decode() if isinstance(name, bytes) else name}, {numba_internals.processor()}"


def _read():
    """The rates in the first readable file."""
    for file in _files():
        with contextlib.suppress(OSError, ValueError, TypeError):
            with open(file, encoding="utf-8") as text:
                return {name: Rates(*map(float, values)) for name, values in json.load(text).items()}
    return {}


def kept_rates():
    """The rates of this GPU, if they were measured; the GPU is not initialised where no file of rates exists."""
    if not _known:
        _known.update(_read())
    return _known.get(_name()) if _known else None


def measured_rates():
    """Measure the rates, in some tenths of a second; keep them in memory and, if possible, beside the compiled code."""
    name = _name()
    if name in _failed:
        raise _failed[name]
    try:
        _known[name] = measure()
    except Exception as error:
        _failed[name] = error
        raise
    for file in _files():
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            cache.write(file, json.dumps(_read() | _known).encode())
            break
    return _known[name]


STEPS = 64  # multiplications and additions for each number


def rate_cpu(x, out):
    for i in prange(out.size):
        v = x[i]
        for _ in range(STEPS):
            v = v * x[i] + 0.5
        out[i] = v


def rate_cuda(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        v = x[i]
        for _ in range(STEPS):
            v = v * x[i] + 0.5
        out[i] = v


RATE = Kernel(
    "_core.rate", rate_cpu, rate_cuda, lambda T: [(T[::1], T[::1])], fastmath=("contract",), dtypes=("float64",), on_host=False
)


def _timed(call, repeat=3):
    """Median time of some calls in seconds, after a first call that is not timed."""
    took = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        call()
        cuda.synchronize()
        took.append(time.perf_counter() - start)
    return statistics.median(took[1:])


def measure(n=1 << 22):
    """Measure the rates with arrays of n doubles: by copies, an almost empty kernel, and a kernel that multiplies."""
    host = np.linspace(0.0, 0.5, n)
    there, out = gpu.upload(host), gpu.empty(n, np.float64)
    blocks = 32 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    launch = _timed(lambda: RATE.cuda[128, 32](there[:32], out[:32]))
    up, down = _timed(lambda: there.copy_to_device(host)), _timed(lambda: there.copy_to_host(host))
    work = max(_timed(lambda: RATE.cuda[blocks, 256](there, out)) - launch, 1e-7)
    return Rates(host.nbytes / up, host.nbytes / down, launch, _timed(lambda: RATE.serial(host, host.copy())) / work)
