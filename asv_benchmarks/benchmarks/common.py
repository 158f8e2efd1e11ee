"""How speed and error are measured, in one place: for asv, for the README table and for the GPU script."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import importlib.util
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

SMALL = 16_384  # values that stay in the cache
LARGE = 10_000_000  # values that do not, and that two threads can share
FLOATS = {"float64": np.float64, "float32": np.float32}
SMOKE = os.environ.get("NUMBASTATS_SMOKE") == "1"  # only to see that everything runs


def few(values):
    """Parameters of a benchmark that change its figures but not what runs: all, or the first alone in a smoke run."""
    return list(values)[:1] if SMOKE else list(values)


@dataclasses.dataclass(frozen=True)
class Timing:
    """Nanoseconds per value of several callables, one number per round each."""

    rounds: dict[str, np.ndarray]

    def ns(self, name):
        """Median over the rounds."""
        return float(np.median(self.rounds[name]))

    def speedup(self, ours, peer):
        """How many times faster `ours` is than `peer`: the median of the ratios within each round."""
        return float(np.median(self.rounds[peer] / self.rounds[ours]))


def interleave(callables, values, seconds=0.3, batch=1e-3, least=5):
    """Time callables in turn, round by round, so that a slow moment of the machine hits all of them.

    Parameters
    ----------
    callables : dict of str to callable
    values : int
        Number of values that one call processes.
    seconds : float
        Time to spend, after one call each that may compile and one that calibrates.
    batch : float
        Seconds that one measurement lasts at least: fast calls are repeated within it.
    least : int
        Rounds to run even if that takes longer; three where a call takes more than `seconds`.

    With NUMBASTATS_SMOKE=1 in the environment there is one round of one call each: to see that it runs.
    """

    def measure(function, repeats):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        return (time.perf_counter() - start) / repeats

    repeats = {}
    for name, function in callables.items():
        function()
        if SMOKE:
            repeats[name] = 1
            continue
        once = measure(function, 1)
        if once < batch:
            once = min(once, measure(function, 1), measure(function, 1))
        elif once > seconds:
            least = min(least, 3)
        repeats[name] = math.ceil(batch / max(once, 1e-9))
    if SMOKE:
        seconds, least = 0.0, 1
    rounds = {name: [] for name in callables}
    order = list(callables)
    stop = time.perf_counter() + seconds
    while len(rounds[order[0]]) < least or time.perf_counter() < stop:
        for name in order:
            rounds[name].append(measure(callables[name], repeats[name]) / values * 1e9)
        order.append(order.pop(0))  # nobody is always first
    return Timing({name: np.array(r) for name, r in rounds.items()})


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to time against its peers: `make` returns the callables by name, "ours" among them."""

    values: int
    make: Callable[[], dict]
    goals: dict  # peer -> smallest ratio that meets the goal, None where none was set
    needs: str | None = dataclasses.field(default=None, kw_only=True)  # the module of a peer that may not be installed

    def measure(self, peers=None, seconds=0.3):
        """The `Timing` of ours and the named peers (all by default)."""
        callables = self.make()
        return interleave(
            {name: f for name, f in callables.items() if peers is None or name in ("ours", *peers)}, self.values, seconds
        )


def in_fresh_process(code):
    """Run code in a new interpreter, which prints one number; returns that number."""
    drop = ("NUMBA_ENABLE_CUDASIM", "PYTHONDONTWRITEBYTECODE")  # users have byte code on disk
    environment = {k: v for k, v in os.environ.items() if k not in drop}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{code!r} failed:\n{done.stderr}")
    return float(done.stdout)


_TIMED = "{before}; t = time.perf_counter(); {timed}; print(time.perf_counter() - t)"


def import_seconds():
    """Seconds that ``import numbastats`` takes in a new process."""
    return in_fresh_process(_TIMED.format(before="import time", timed="import numbastats"))


def first_call_seconds():
    """Seconds that the first call takes in a new process, after the import; the compiled code comes from the disk cache."""
    return in_fresh_process(_TIMED.format(before="import time, numbastats", timed="numbastats.quantile.ndtri(0.3)"))


def installed(module):
    """Whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


def require(*modules):
    """In the setup of a benchmark: skip it where one of these modules is not installed."""
    missing = [module for module in modules if not installed(module)]
    if missing:
        raise NotImplementedError(f"not installed: {', '.join(missing)}")


def version(package):
    """Version of an installed package, None when it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions():
    """One line: Python and the packages that matter here."""
    packages = ("numbastats", "numba", "llvmlite", "numpy", "scipy", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")
    return ", ".join([f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages if version(p))])


def replace_between(path, begin, end, text):
    """Put a text in the place of what stands between two lines of a page."""
    before, first, rest = path.read_text().partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise SystemExit(f"{path.name} has no lines {begin} and {end}; put them where the table belongs")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def processor():
    """One line: the processor by name, what LLVM compiles for, and the number of cores."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        name = names[0] if names else name
    _, llvm, features = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[:3]
    vectors = next((v for v in ("avx512f", "avx2", "avx") if f"+{v}" in features.split(",")), "no AVX")
    return f"{name} ({llvm}, {vectors}), {os.cpu_count()} cores"


def today():
    """The date, ISO 8601, UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
