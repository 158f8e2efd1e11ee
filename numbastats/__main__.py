"""``python -m numbastats``: versions, devices, threading layer, cache folder, and a self-check of a few seconds."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import sys
import time

import numba
import numpy as np

import numbastats
from numbastats._core import cache, numba_internals, parallel
from numbastats._core.kernel import SIMULATED, real_gpu


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cuda():
    if SIMULATED:
        return "simulator (NUMBA_ENABLE_CUDASIM=1)"
    if not real_gpu():
        return "no usable GPU; everything runs on the CPU"
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name


def _check():
    """Compare three functions with values known in closed form or published; returns the list of failures."""
    from numbastats import quantile, random
    from numbastats.scalar.philox import philox4x32

    failures = []
    words = [f"{int(w):08x}" for w in philox4x32(*[np.uint32(0)] * 6)]
    if words != ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]:
        failures.append(f"Philox known answer: got {words}")
    if abs(quantile.ndtri(0.975) - 1.959963984540054) > 1e-15:
        failures.append("ndtri(0.975)")
    x = random.normal(size=100_000, rng=1, workers=1)
    if abs(x.mean()) > 5 / math.sqrt(x.size) or not np.array_equal(x, random.normal(size=100_000, rng=1, workers=-1)):
        failures.append("normal draws: mean, or serial against parallel")
    return failures


def main():
    """Print the report; the exit status is 1 when the self-check fails."""
    print(
        f"numbastats {numbastats.__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )
    packages = ("numba", "llvmlite", "numpy", "scipy", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")
    print(", ".join(f"{p} {_version(p)}" for p in packages))
    print(f"processor seen by LLVM: {numba_internals.processor()}")
    print(f"CUDA: {_cuda()}")
    print(f"configured device {numbastats.config.get('device')}, workers {numbastats.config.get('workers')}")
    print(f"{numba.config.NUMBA_NUM_THREADS} threads, threading layer {parallel.threading_layer()}")
    lost = sorted(set(numba_internals.LOST) - numba_internals.ACTIVE)
    print(f"tested with Numba {' to '.join(numba_internals.TESTED)}; without: {', '.join(lost) or 'nothing'}")
    places = "off (NUMBASTATS_CACHE=0)" if os.environ.get("NUMBASTATS_CACHE") == "0" else ", else ".join(cache.folders())
    print(f"compile cache: {places}")
    start = time.perf_counter()
    failures = _check()
    print("\n".join(f"FAILED: {f}" for f in failures) or f"self-check passed in {time.perf_counter() - start:.1f} s")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
