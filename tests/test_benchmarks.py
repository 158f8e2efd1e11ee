"""The benchmark programs work: no assertion is about seconds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "asv_benchmarks"
REPORT = FOLDER / "GPU.md"

SHAPE = """
import importlib, inspect, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import benchmarks

BENCHMARK = ("time_", "track_", "peakmem_", "timeraw_")
for info in pkgutil.iter_modules(benchmarks.__path__):
    module = importlib.import_module(f"benchmarks.{info.name}")
    # asv takes such names at module level for benchmarks or for the set-up of all of them
    taken = [n for n in vars(module) if n.lower() in ("setup", "setup_cache", "teardown")]
    functions = [n for n, _ in inspect.getmembers(module, inspect.isfunction)]
    taken += [n for n in functions if n.startswith((*BENCHMARK, "mem_"))]
    assert not taken, (info.name, taken)
    for _, cls in inspect.getmembers(module, inspect.isclass):
        methods = [m for m in dir(cls) if m.startswith(BENCHMARK)]
        if cls.__module__ != module.__name__ or not methods:
            continue
        params = getattr(cls, "params", [])
        columns = len(params) if params and isinstance(params[0], (list, tuple)) else bool(params)
        for method in methods:
            assert len(inspect.signature(getattr(cls, method)).parameters) == 1 + columns, (cls, method, "takes its parameters")
            assert not method.startswith("track_") or getattr(cls, method).unit, (cls, method, "has a unit")
            print(info.name, cls.__name__, method)
"""


@pytest.fixture(scope="module")
def environment():
    """For a process that sees this checkout, and no simulator unless it asks for one."""
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env["PYTHONPATH"] = os.pathsep.join([str(FOLDER.parent), *filter(None, [env.get("PYTHONPATH")])])
    return env


def run(environment, *arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=1800)


def test_every_benchmark_is_what_asv_expects(environment):
    """That all of them run is shown by `asv run --quick` in .ci/run, which ends with status 2 otherwise."""
    done = run(environment, "-c", SHAPE, FOLDER)
    assert done.returncode == 0, done.stderr
    modules = {line.split()[0] for line in done.stdout.splitlines()}
    assert modules == {path.stem for path in (FOLDER / "benchmarks").glob("bench_*.py")} | {"vs_peers", "beside_peers"}


def test_every_scalar_function_is_measured(environment):
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from benchmarks import datasets
from numbastats.scalar import elementary, special
names = {name.partition(".")[2] for name in datasets.FUNCTIONS} | datasets.BUILDING_BLOCKS
missing = {*elementary.__all__, *special.__all__} - names
assert not missing, f"add {missing} to asv_benchmarks/benchmarks/datasets.py"
"""
    done = run(environment, "-c", code, FOLDER)
    assert done.returncode == 0, done.stderr


def test_peers_that_are_not_installed_are_skipped(environment):
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from benchmarks import vs_peers
vs_peers.require.__globals__["installed"] = lambda module: module != "KDEpy"
for pair in vs_peers.Speedup.params:
    try:
        vs_peers.Speedup().setup(pair)
    except NotImplementedError as error:
        print(pair.rpartition(" / ")[2], error)
"""
    done = run(environment, "-c", code, FOLDER)
    assert (done.returncode, done.stdout) == (0, 2 * "KDEpy FFTKDE not installed: KDEpy\n"), done.stderr


WARM = """
import importlib, inspect, itertools, pkgutil, sys
from numba.core.dispatcher import Dispatcher
sys.path.insert(0, sys.argv[1])
import benchmarks

new, add = [], Dispatcher.add_overload
Dispatcher.add_overload = lambda self, found: (new.append(self), add(self, found))[1]  # compiled, or loaded from the disk
calls = 0
for info in pkgutil.iter_modules(benchmarks.__path__):
    module = importlib.import_module(f"benchmarks.{info.name}")
    for _, cls in inspect.getmembers(module, inspect.isclass):
        params = getattr(cls, "params", [])
        params = params if params and isinstance(params[0], (list, tuple)) else [params] if params else []
        for method in [m for m in dir(cls) if m.startswith("time_") and cls.__module__ == module.__name__]:
            for case in itertools.product(*params):
                if case in getattr(cls, "skip_params", []):
                    continue
                benchmark = cls()
                try:
                    getattr(benchmark, "setup", lambda *case: None)(*case)
                except NotImplementedError:
                    continue
                new.clear()
                getattr(benchmark, method)(*case)
                getattr(benchmark, "teardown", lambda *case: None)(*case)
                calls += 1
                if new:
                    print(info.name, cls.__name__, method, case, "compiles", new[0])
assert calls > 200
"""


@pytest.mark.slow
def test_setups_compile_what_is_timed(environment):
    done = run(environment | {"NUMBASTATS_SMOKE": "1"}, "-c", WARM, FOLDER)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stdout + done.stderr


@pytest.mark.slow
def test_readme_table(environment, tmp_path):
    code = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
import readme_table
from benchmarks import vs_peers
readme_table.common.import_seconds = readme_table.common.first_call_seconds = lambda: 0.04
vs_peers.CASES = {name: vs_peers.CASES[name] for name in ("elementary.exp float64", "ndtri fast float64")}
vs_peers.SCALAR_CASES = ("elementary.exp float64",)
readme_table.TARGET = pathlib.Path(sys.argv[2]) / "TABLE.md"
readme_table.TARGET.write_text("a\\n<!-- table: begin -->\\nold\\n<!-- table: end -->\\nz\\n")
sys.argv[1:] = ["--write", "--seconds", "0.01"]
readme_table.main()
"""
    done = run(environment, "-c", code, FOLDER, tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "TABLE.md").read_text()
    assert (
        text.startswith("a\n<!-- table: begin -->\nMeasured 20")
        and text.endswith("\n<!-- table: end -->\nz\n")
        and "\nold\n" not in text
    )
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    # two headers; exp against two peers and ndtri; goals in seconds and ulp, two controls; a scalar function
    assert len(rows) == 2 + 3 + 8 + 1
    judged = [row for row in rows[1:12] if not row.startswith("| control")]
    assert len(judged) == 9 and all(re.search(r"\| (met|\*\*missed\*\*) \|$", row) for row in judged)


def test_gpu_script_has_inputs_for_every_kernel(environment):
    code = """
import sys
import numpy as np
sys.argv[1:], folder = ["--simulate"], sys.argv[1]
sys.path.insert(0, folder)
import gpu
from numbastats._core.kernel import REGISTRY
gpu.register_everything()
for kernel in REGISTRY.values():
    assert gpu.maker(kernel.name) is not None, kernel.name
print(len(REGISTRY))
"""
    done = run(environment, "-c", code, FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) >= 100


@pytest.mark.simulator
def test_gpu_script_in_the_simulator(environment):
    before = REPORT.exists() and REPORT.read_bytes()
    done = run(environment, FOLDER / "gpu.py", "--simulate")
    assert done.returncode == 0, done.stdout + done.stderr
    registered, ran = (int(re.search(rf"^(\d+) kernels{end}", done.stdout, re.M)[1]) for end in ("$", " run, 0 failures"))
    assert registered >= 100 and ran >= 40
    assert "nothing was timed or written" in done.stdout
    assert (REPORT.exists() and REPORT.read_bytes()) == before


def test_gpu_script_finds_a_wrong_kernel(environment):
    code = """
import sys, types
import numpy as np
sys.argv[1:], folder = ["--simulate"], sys.argv[1]
sys.path.insert(0, folder)
import gpu
from numbastats._core.kernel import Kernel, device_function
from numbastats.scalar.loops import map1_cpu, map1_cuda
right, wrong = device_function(lambda x: x + 1.0), device_function(lambda x: x + 1.0000000000000009)
bad = Kernel("demo.wrong", map1_cpu, map1_cuda, lambda T: [(T[::1], T[::1])], cpu_only={"_f": right}, cuda_only={"_f": wrong})
unknown = Kernel("demo.unknown", map1_cpu, map1_cuda, lambda T: [(T[::1], T[::1])], _f=right)
gpu.MAKERS["demo.wrong"] = lambda rng, dtype, n, edges: ([rng.random(n)], None)
report = gpu.Report()
gpu.check_kernel(report, bad)
gpu.check_kernel(report, unknown)
assert len(report.failures) == 2 and "ulp" in report.failures[0] and "MAKERS" in report.failures[1], report.failures
row = report.row("demo.wrong", "float64")
row.ms, row.values, row.moved, row.peer_ms = 2.0, 10**9, 16 * 10**9, 4.0
report.peers.append(("another", "float64", 3.0, 10**9))
text = gpu.markdown(report, "a device", 10000.0, 10**9)
assert "| demo.wrong | float64 | 2.000 | 500.0 | 8000 | 80% | 4.000 |" in text, text
assert "| another | float64 | 3.000 | 333.3 |" in text, text
assert all(f"- {failure}" in text for failure in report.failures)

# a share of outliers that is allowed in one output is not in another
gpu.BOUNDS["demo.flips"] = gpu.Bound(flips=(0.0, 0.6))
for output, failures in ((0, 1), (1, 0)):
    want = [np.ones(4), np.ones(4)]
    got = [a.copy() for a in want]
    got[output][:2] = 2.0
    other = gpu.Report()
    gpu.compare(other, "flips", "demo.flips", "float64", got, want)
    assert len(other.failures) == failures, (output, other.failures)

# long calls are timed a few times, short ones as often as stated; here a call only advances the clock
gpu.SIMULATED, clock, calls = False, [0.0], []
gpu.time = types.SimpleNamespace(perf_counter=lambda: clock[0])
def lasting(seconds):
    def call():
        calls.append(seconds)
        clock[0] += seconds
    return call
for seconds, most in ((1e-4, 72), (0.05, 37), (1.0, 4), (5.0, 3)):
    calls.clear()
    assert abs(gpu.timed(lasting(seconds)) / seconds / 1e3 - 1) < 1e-9 and len(calls) == most, (seconds, len(calls))

# float64 sums of what was computed in float32 have a bound of their own
gpu.BOUNDS["demo.single"] = gpu.Bound(single=1e8)
for dtype_name, failures in (("float64", 1), ("float32", 0)):
    other = gpu.Report()
    gpu.compare(other, "single", "demo.single", dtype_name, [np.ones(2) + 1e-8], [np.ones(2)])
    assert len(other.failures) == failures, (dtype_name, other.failures)

# what is left when the time is over is named
gpu.copy_bandwidth, gpu.STOP_TIMING, late = (lambda n: 1.0), -1.0, gpu.Report()
gpu.measure(late, 10)
assert not late.jobs and not late.failures and f"{bad.name} float64" in late.not_timed
assert "whole jobs of benchmarks.bench_kde" in late.not_timed
"""
    done = run(environment, "-c", code, FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gpu_script_without_a_gpu(environment):
    before = REPORT.exists() and REPORT.read_bytes()
    done = run(environment | {"CUDA_VISIBLE_DEVICES": "-1"}, FOLDER / "gpu.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No GPU: ")
    assert (REPORT.exists() and REPORT.read_bytes()) == before
