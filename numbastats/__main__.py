"""``python -m numbastats``: what is installed and found, a self-check, and compiling ahead of use.

``info``    versions, devices, threading layer, where compiled code is kept
``check``   a self-check of a few seconds
``warmup``  compile kernels into the disk cache
``pack``    compile all kernels for levels of processors, into files that travel with the package
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import math
import os
import platform
import sys
import time

import numba
import numpy as np

import numbastats
from numbastats._core import cache, costs, numba_internals, packs, parallel
from numbastats._core.errors import DeviceNotAvailable
from numbastats._core.kernel import SIMULATED, real_gpu
from numbastats._core.progress import bar, time_left
from numbastats._core.warmup import TOPICS, build_packs, warmup


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
    from numbastats._core.cuda_backend import cuda

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


def _info():
    print(
        f"numbastats {numbastats.__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )
    packages = ("numba", "llvmlite", "numpy", "scipy", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")
    print(", ".join(f"{p} {_version(p)}" for p in packages))
    level = packs.best_level(numba_internals.processor_features())
    print(f"processor seen by LLVM: {numba_internals.processor()}, of level {level or 'unknown'}")
    print(f"CUDA: {_cuda()}")
    print(f"configured device {numbastats.config.get('device')}, workers {numbastats.config.get('workers')}")
    print(f"{numba.config.NUMBA_NUM_THREADS} threads, threading layer {parallel.threading_layer()}")
    lost = sorted(set(numba_internals.LOST) - numba_internals.ACTIVE)
    print(f"tested with Numba {' to '.join(numba_internals.TESTED)}; without: {', '.join(lost) or 'nothing'}")
    pack = cache.pack()
    print(
        f"kernel pack: {f'{pack.path}, {len(pack)} functions' if pack else 'none that fits; kernels compile when first called'}"
    )
    print(f"compile cache: {', '.join(cache.folders()) or 'off (NUMBASTATS_CACHE=0)'}")


def _self_check():
    start = time.perf_counter()
    failures = _check()
    print("\n".join(f"FAILED: {f}" for f in failures) or f"self-check passed in {time.perf_counter() - start:.1f} s")
    return bool(failures)


@contextlib.contextmanager
def _progress(desc):
    """What `warmup` and `build_packs` call after each kernel: a bar in a terminal, elsewhere a line for every 50 kernels."""
    start, in_terminal = time.perf_counter(), sys.stderr.isatty()
    with bar(in_terminal, None, desc) as shown:

        def tell(done, total, name):
            shown.total = total
            shown.update()
            if not in_terminal and (done % 50 == 0 or done == total):
                left = time_left(time.perf_counter() - start, done, total)
                print(f"{done}/{total} kernels{left}", file=sys.stderr, flush=True)

        yield tell


def _parser():
    parser = argparse.ArgumentParser(prog="python -m numbastats", description="Without a command: info, then check.")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("info", help="versions, devices, threads, where compiled code is kept")
    commands.add_parser("check", help="compare some results with known values; the exit status is 1 when one is wrong")
    ahead = commands.add_parser("warmup", help="compile kernels now, into the disk cache")
    ahead.add_argument("what", nargs="*", help=f"sub-packages ({', '.join(TOPICS)}), or kernels by name; by default everything")
    ahead.add_argument("--workers", type=int, default=-1, help="processes that compile side by side; -1, the default: all cores")
    ahead.add_argument("--serial", action="store_true", help="leave out the twins that run on several threads")
    ahead.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    pack = commands.add_parser("pack", help="compile all kernels into kernel packs, read instead of compiling")
    pack.add_argument("--level", action="append", default=[], choices=tuple(packs.LEVELS), help="by default this processor's")
    pack.add_argument("--folder", help="by default the package's own, from which packs are read")
    pack.add_argument("--workers", type=int, default=-1)
    return parser


def main(arguments=None):
    """Run a command; the exit status is 1 when the self-check fails, 2 where a command cannot be done."""
    given = _parser().parse_args(arguments)
    start = time.perf_counter()
    try:
        if given.command == "warmup":
            options = {"parallel": not given.serial, "workers": given.workers, "device": given.device}
            with _progress("warmup") as progress:
                count = warmup(given.what or None, **options, progress=progress)
            if given.device == "cuda":
                print(f"measured for device='auto': {costs.measured_rates()}")
            print(f"{count} variants of kernels are ready after {time.perf_counter() - start:.0f} s")
        elif given.command == "pack":
            with _progress("pack") as progress:
                sizes = build_packs(given.level, given.folder, workers=given.workers, progress=progress)
            for level, size in sizes.items():
                print(f"{level}: {size / 1e6:.1f} MB")
        else:
            if given.command != "check":
                _info()
            if given.command != "info":
                return int(_self_check())
    except (DeviceNotAvailable, ValueError, RuntimeError) as error:
        print(f"numbastats: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
