"""The benchmark programs work: no assertion is about seconds."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numbastats import distributions

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


@pytest.fixture(scope="module")
def fit_optima():
    spec = importlib.util.spec_from_file_location("fit_optima", FOLDER / "fit_optima.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_floors_in_closed_form_are_log_likelihoods(fit_optima):
    x = np.random.default_rng(0).gamma(2.0, 1.0, (3, 20))
    low, high = x.min(axis=1), x.max(axis=1)
    k = -1.0 / np.log(x / high[:, None]).mean(axis=1)
    pairs = [
        (fit_optima._exponential_from_least, distributions.Exponential(low, x.mean(axis=1) - low)),
        (fit_optima._half_normal_from_least, distributions.HalfNormal(low, np.sqrt(np.square(x - low[:, None]).mean(axis=1)))),
        (fit_optima._power_to_largest, distributions.GeneralizedGamma(1e-9 * k, 1e9, 0.0, high * (1.0 + 1e-8))),
    ]
    for floor, d in pairs:
        d = type(d)(*(np.reshape(p, (-1, 1)) for p in np.broadcast_arrays(*d.params)))
        assert np.allclose(floor(x), d.logpdf(x).sum(axis=1), rtol=1e-4)


def test_coordinates_of_the_search_are_those_of_its_parameters(fit_optima):
    assert set(fit_optima.CONTAINED) <= set(fit_optima.WAYS)
    rng, place = np.random.default_rng(1), (np.full(50, 2.0), np.full(50, 3.0), np.full(50, 1.0))
    for name, way in fit_optima.WAYS.items():
        u = fit_optima._random_start(way, rng, 50)
        params = fit_optima._params(way, u, *place)
        assert {*params} - {"zeros"} <= {*way.cls.names} and np.isfinite(list(params.values())).all(), name
        assert np.allclose(fit_optima._coordinates(way, params, *place), u, atol=1e-6), name


@pytest.mark.parametrize("name", ["gamma", "johnson_su", "negative_binomial, inflated"])
def test_the_search_finds_a_maximum_by_itself(fit_optima, name):
    rng = np.random.default_rng(2)
    x = {
        "gamma": lambda: rng.gamma(3.0, 2.0, (2, 40)),
        "johnson_su": lambda: np.sinh(0.7 * rng.normal(0.5, 1.0, (2, 200))),
        "negative_binomial, inflated": lambda: np.where(rng.random((2, 300)) < 0.3, 0, rng.negative_binomial(3, 0.3, (2, 300))),
    }[name]().astype(float)
    status, loglik, params = fit_optima.fitted(x, fit_optima.WAYS[name])
    inside, _, where = fit_optima.searched(name, x, [], rng)
    assert (status == 0).all() and np.allclose(inside, loglik, rtol=0.0, atol=1e-6)
    for parameter, values in where.items():
        assert np.allclose(values, params[parameter], rtol=2e-3, atol=1e-3)


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
import pickle, sys, types
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
cells = {"there": 3.0, "host": None, "cores": "RuntimeError: no", "another": 333.3}
report.calls.append({"call": "a call", "size": "7 x 2", "cells": cells, "agree": "there: same bits", "failures": []})
report.machine.append((gpu.COPY, 10000.0, "GB/s"))
for _ in range(2):  # it is written many times
    text = gpu.markdown(report, gpu.planned("demo.*"), "a state")
assert "| demo.wrong | float64 | 2.000 | 500.0 | 8000 | 80% | 4.000 |" in text, text
assert "| a call | 7 x 2 | 3.000 |  | RuntimeError: no | there: same bits | another 333.300 |" in text, text
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
for seconds, most in ((1e-4, 72), (0.05, 37), (1.0, 4), (5.0, 2)):
    calls.clear()
    assert abs(gpu.timed(lasting(seconds)) / seconds / 1e3 - 1) < 1e-9 and len(calls) == most, (seconds, len(calls))

# float64 sums of what was computed in float32 have a bound of their own
gpu.BOUNDS["demo.fit"] = gpu.Bound(fits=True)  # of 64 fits one may end elsewhere; parameters count where there is curvature
for wrong, at, good in ((0, 1e-5, True), (1, 1e-5, True), (2, 1e-5, False), (0, 1.0, False)):
    other, fit = gpu.Report(), lambda: [np.ones((64, 2)), np.ones((64, 2, 2)), np.ones((64, 5)), np.zeros(64, int)]
    got, want = fit(), fit()
    got[0] += at
    got[3][:wrong] = 1
    gpu.compare(other, "fits", "demo.fit", "float64", got, want)
    assert good == (not other.failures), (wrong, at, other.failures)
gpu.BOUNDS["demo.sums"] = gpu.Bound(scaled=True)  # by the largest of each column
for column, good in ((0, True), (1, False)):
    other, want = gpu.Report(), np.array([[1e3, 1.0], [1e-3, 1e-3]])
    got = want.copy()
    got[1, column] += 1e-13
    gpu.compare(other, "sums", "demo.sums", "float64", [got], [want])
    assert good == (not other.failures)
gpu.BOUNDS["demo.single"] = gpu.Bound(single=1e8)
for dtype_name, failures in (("float64", 1), ("float32", 0)):
    other = gpu.Report()
    gpu.compare(other, "single", "demo.single", dtype_name, [np.ones(2) + 1e-8], [np.ones(2)])
    assert len(other.failures) == failures, (dtype_name, other.failures)

# what is left when the time is over is named
gpu.TINY, late = False, gpu.Report()
jobs = gpu.planned()
gpu.run(jobs, gpu.register_everything, lambda job, part: late.add(part), helpers=1, seconds=-1.0)
pickle.dumps([(job.function, job.arguments) for job in jobs])  # as other processes get them
not_reached = {job.what for job in jobs if job.state == "not reached"}
assert len(jobs) > len(gpu.REGISTRY) + len(gpu.gpu_calls.CALLS) and all(job.state == "not reached" for job in jobs)
assert not late.jobs and not late.failures and f"{bad.name} float64" in not_reached
assert "whole jobs of benchmarks.bench_kde" in not_reached
late.failures.clear()
text = gpu.markdown(late, [job for job in jobs if job.what.startswith(("demo.", "whole"))], "a state")
lines = [line for line in text.splitlines() if ", not reached: " in line]
assert any("whole jobs of benchmarks.bench_kde" in line for line in lines) and any("demo.wrong float64" in line for line in lines)
# one signature of each kernel comes before the others, hot ones first, and what is timed after what compiles it
kinds = [job.kind for job in jobs]
assert kinds.index("Kernels, other signatures") > len(kinds) - 1 - kinds[::-1].index("Kernels, one signature")
hot = [job.what for job in jobs if job.kind == "Kernels, one signature"][: len(gpu.HOT)]
assert hot == list(gpu.HOT)
assert all(job.after is not None and not job.after.timed for job in jobs if job.timed and job.kind == "Whole calls")
"""
    done = run(environment, "-c", code, FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


KILLED = """
import os, pathlib, signal, sys, time, types

def begin():
    pass

def quick():
    return types.SimpleNamespace(rows={}, failures=[], jobs=[], device=[], machine=[("found", 7.0, "GB/s")], calls=[])

def dies():
    os.kill(os.getpid(), signal.SIGSEGV)

def hangs(seconds, mark=None):
    if mark is not None:
        pathlib.Path(mark).write_text(str(os.getpid()))
    time.sleep(seconds)

def stands_still(mark):
    import gpu_run
    with gpu_run.alone():
        before = pathlib.Path(mark).read_text()
        time.sleep(0.3)
        assert pathlib.Path(mark).read_text() == before
    return quick()

def counts(mark):
    for i in range(10**9):
        pathlib.Path(mark).write_text(str(i))

if __name__ == "__main__":
    folder, report, marks = sys.argv[1:]
    sys.argv[1:] = ["--simulate"]
    sys.path.insert(0, folder)
    import gpu
    gpu.register_everything = begin
    signal.signal(signal.SIGTERM, gpu.stop)
    jobs = [
        gpu.Job("Calls", "the first", quick, timed=True),
        gpu.Job("Kernels", "one that dies", dies),
        gpu.Job("Kernels", "one that hangs", hangs, (600.0,), seconds=0.5),
        gpu.Job("Kernels", "a good one", quick),
        gpu.Job("Kernels", "one that counts", counts, (marks + "/count",)),
        gpu.Job("Kernels", "one more", quick),
    ]
    jobs += [
        gpu.Job("Calls", "the second", stands_still, (marks + "/count",), timed=True, after=jobs[3]),
        gpu.Job("Calls", "the third", hangs, (600.0, marks + "/pid"), timed=True, after=jobs[3]),
        gpu.Job("Calls", "the fourth", quick, timed=True, after=jobs[3]),
    ]
    pathlib.Path(marks + "/count").write_text("")
    gpu.carry_out(jobs, gpu.Report(), pathlib.Path(report), 120.0, 1)
"""


def _killed(command, environment, ready, number):
    """Start a program, and send it a signal when it is as far as that; its exit status."""
    with subprocess.Popen([sys.executable, *map(str, command)], env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 900
            while not ready() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            process.send_signal(number)
            return process.wait(60)
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="processes that end with their parent")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_gpu_report_of_a_run_that_was_killed(environment, tmp_path, number):
    script, report, pid = tmp_path / "killed.py", tmp_path / "GPU.md", tmp_path / "pid"
    script.write_text(KILLED)
    status = _killed([script, FOLDER, report, tmp_path], environment, pid.exists, number)
    text = report.read_text(encoding="utf-8")
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 1)
    assert "**Not finished" in text and ("stopped by Stopped SIGTERM" in text) == (number == signal.SIGTERM)
    assert "| found | 7 | GB/s |" in text and "| Calls | 2 | 4 |" in text and "| Kernels | 1 | 5 |" in text, text
    assert "Calls, not reached: " in text and "the fourth" in text
    for line in (
        "Kernels, its process ended, exit code -11: one that dies.",
        "Kernels, ended after 0.5 s without a result: one that hangs.",
        "Kernels, under way: one that counts.",
        "Kernels, not reached: one more.",
    ):
        assert line in text.splitlines(), text
    assert "- Kernels, one that dies: its process ended, exit code -11" in text
    worker, end = Path("/proc") / pid.read_text(), time.monotonic() + 60
    while worker.exists() and "zombie" not in (worker / "status").read_text() and time.monotonic() < end:
        time.sleep(0.05)
    assert not worker.exists() or "zombie" in (worker / "status").read_text()
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.simulator
def test_gpu_script_killed_in_the_simulator(environment, tmp_path):
    report = tmp_path / "GPU.md"

    def ready():
        return report.exists() and "| quantile.ndtri | " in report.read_text(encoding="utf-8")

    assert _killed([FOLDER / "gpu.py", "--simulate", "--report", report], environment, ready, signal.SIGKILL) == -signal.SIGKILL
    text = report.read_text(encoding="utf-8")
    assert "**Not finished.** This was written after" in text and ready()
    (calls,) = (line for line in text.splitlines() if line.startswith("Whole calls, not reached: "))
    assert "bayes.HorseshoeClassifier" in calls and "quantile.ndtri" not in calls
    assert "Kernels, one signature, not reached: " in text


def test_gpu_script_where_it_failed_on_hardware(environment, tmp_path):
    """Nothing to compile; kernels of several arrays; no time."""
    code = """
import multiprocessing, pathlib, sys
import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
folder, sys.argv = sys.argv[1], [sys.argv[2], "--simulate"]
sys.path.insert(0, folder)
import gpu
gpu.run((), gpu.register_everything, None, helpers=4, seconds=60.0)
assert not multiprocessing.active_children()

path, late = pathlib.Path(sys.argv[0]), gpu.Job("Calls", "one", print, seconds=1.0)
gpu.carry_out([late], gpu.Report(), path, -1.0, 4)  # no time at all
text = path.read_text()
assert "**Not finished**: the time was over" in text and "Calls, not reached: one." in text.splitlines()
assert not multiprocessing.active_children()

def number(function):  # which the compiler compares with that of the types
    return FunctionIdentity.from_function(function).arg_count

assert number(lambda *arrays: None) == 1
for count in (1, 2, 3, 12):
    types = count * (numba.typeof(np.ones(4)),)
    compiled = numba.njit(gpu.touch(count))
    compiled.compile(types)
    assert compiled.nopython_signatures[0].args == types and number(compiled.py_func) == count
"""
    done = run(environment, "-c", code, FOLDER, tmp_path / "GPU.md")
    assert done.returncode == 0, done.stdout + done.stderr


def test_gpu_script_on_the_emulated_device(environment, tmp_path):
    """All of it but the times: compiled by numba-cuda, in processes, with a driver and a CuPy that are not real."""
    python = os.environ.get("NUMBASTATS_PTX_PYTHON", sys.executable)  # as for the PTX gate
    if platform.machine() != "x86_64" or not shutil.which("gcc"):
        pytest.skip("the emulator wants gcc on x86-64")
    if subprocess.run([python, "-c", "import numba_cuda"], capture_output=True).returncode:
        pytest.skip("no numba-cuda; point NUMBASTATS_PTX_PYTHON at an interpreter that has numba-cuda[cu13]")
    (tmp_path / "sitecustomize.py").write_text(EMULATED)
    path = os.pathsep.join([str(tmp_path), str(FOLDER.parent), str(FOLDER.parent / "tests" / "emulator")])
    command = [python, FOLDER / "gpu.py", "--tiny", "--only", "quantile.ndtri", "--report", tmp_path / "GPU.md"]
    env = environment | {"PYTHONPATH": path, "NUMBASTATS_MESSAGES": "0"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "GPU.md").read_text(encoding="utf-8")
    assert "\nFinished in " in text and "emulated GPU" in text
    for count in ("1 array", "2 arrays", "3 arrays", "12 arrays"):
        assert re.search(rf"^\| launch with {count} \| [\d.e+]+ \| microseconds \|$", text, re.M), text
    assert re.search(r"^\| quantile.ndtri \| 66 \|( [\d.]+ \|){3} there: same bits; host: same bits \|", text, re.M), text


EMULATED = """
import ctypes
import emulator
emulator.install()
import cupy_stand_in
cupy_stand_in.install(ctypes.CDLL("libcuda.so.1"))
"""


def test_gpu_script_without_a_gpu(environment):
    before = REPORT.exists() and REPORT.read_bytes()
    done = run(environment | {"CUDA_VISIBLE_DEVICES": "-1"}, FOLDER / "gpu.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No GPU: ")
    assert (REPORT.exists() and REPORT.read_bytes()) == before
