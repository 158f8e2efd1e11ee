"""Parallel twins in hostile surroundings: fork, spawn, several Python threads, each threading layer, executors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

from numbastats._core import dispatch
from numbastats._core.parallel import in_threads

PRELUDE = """
import numpy as np, threading, os, sys
import numbastats as ns
from numbastats._core import dispatch
dispatch.PARALLEL_FROM = 0
u = np.linspace(0.0, 1.0, 200_001)
want = ns.quantile.ndtri(u, device="cpu", workers=1)
def check(workers=2):
    return np.array_equal(ns.quantile.ndtri(u, device="cpu", workers=workers), want)
"""

THREADS = (
    PRELUDE
    + """
assert check()
results = []
def work():
    for _ in range(20):
        results.append(check())
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
work()
[t.join() for t in threads]
print(len(results), all(results))
"""
)


@pytest.mark.parametrize("layer", ["omp", "workqueue", "default"])
def test_four_threads(run_python, layer):
    """Two Python threads inside the workqueue layer would abort the process; the serial twin takes over there."""
    done = run_python(THREADS, check=False, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"this platform has no {layer} layer")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["100", "True"]


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("layer", ["omp", "workqueue", "default"])
def test_fork_after_a_parallel_call(run_python, layer):
    """The child's copy of the OpenMP pool is dead: a parallel call there hangs or aborts."""
    code = (
        PRELUDE
        + """
import warnings
warnings.simplefilter("ignore")
assert check()
pid = os.fork()
if pid == 0:
    ok = check() and check(-1)
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), check())
"""
    )
    done = run_python(code, check=False, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"this platform has no {layer} layer")
    assert done.stdout.split() == ["0", "True"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_fork_without_a_private_name_of_numba(run_python):
    """The child of a process with OpenMP threads hung where Numba had no `_is_initialized`."""
    code = (
        PRELUDE
        + """
import signal, types, warnings
warnings.simplefilter("ignore")
assert check()
sys.modules["numba.np.ufunc.parallel"] = types.ModuleType("renamed")
pid = os.fork()
if pid == 0:
    signal.alarm(100)
    os._exit(0 if check() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    done = run_python(code, check=False, NUMBA_THREADING_LAYER="omp", NUMBA_NUM_THREADS="2")
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip("this platform has no omp layer")
    assert done.stdout.split() == ["0"], done.stderr


def test_spawned_processes(tmp_path):
    """A process pool as ``workers=``: kernels travel by name, results come back in order."""
    script = tmp_path / "job.py"
    script.write_text(
        """
import numpy as np, multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numbastats as ns
from numbastats._core import dispatch
if __name__ == "__main__":
    dispatch.SLAB = 65536
    u = np.linspace(0, 1, 300_001)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        a = ns.quantile.ndtri(u, workers=pool)
        b = ns.random.normal(size=300_001, rng=5, workers=pool)
    print(np.array_equal(a, ns.quantile.ndtri(u)), np.array_equal(b, ns.random.normal(size=300_001, rng=5)))
"""
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=1800, env=env)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_executors_whose_map_gives_futures(monkeypatch):
    """As that of a dask client; elementwise functions, draws, tables and fits raised TypeError or AttributeError."""
    from concurrent.futures import ThreadPoolExecutor

    import numbastats as ns
    from numbastats._core import dispatch

    monkeypatch.setattr(dispatch, "SLAB", 4096)
    u = np.linspace(0.0, 1.0, 10_001)
    data = [ns.stable.rvs(1.5, 0.0, size=200, rng=i) for i in range(2)]

    def sample(workers):
        table = ns.quantile.Recycler(logpdf=lambda x, p: -(abs(x) ** p), params=(np.array([1.5, 1.8]),), workers=workers)
        fits = ns.stable.fit_many(data, method="quantile", workers=workers)
        draws = ns.random.gamma(0.5, size=10_001, rng=1, workers=workers)
        return ns.quantile.ndtri(u, workers=workers), draws, table.table, fits.params

    with ThreadPoolExecutor(2) as pool:

        class Client:
            def map(self, function, items):
                return [pool.submit(function, item) for item in items]

        results = sample(Client())
    for got, want in zip(results, sample(1), strict=True):
        np.testing.assert_array_equal(got, want)


INTERRUPT = """
import signal, sys, time
import numpy as np
import numbastats as ns
calls = {
    "truncnorm": lambda out, workers: ns.random.truncnorm(0.0, 1.0, -1.0, 2.0, out=out, rng=1, workers=workers),
    "ppf": lambda out, workers: ns.quantile.student_t(4.5).pdf(out, out=out, workers=workers),
}
call, workers = calls[sys.argv[1]], int(sys.argv[2])
call(np.ones(100_000), workers)
out = np.full(120_000_000, 0.5)
before = out[-1]
start = time.perf_counter()
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    call(out, workers)
    print("ended")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - start < 10, out[-1] == before)
"""


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timers on this platform")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("name", ["truncnorm", "ppf"])
def test_elementwise_calls_and_draws_can_be_interrupted(run_python, name, workers):
    """Ctrl-C waited for the end of the call, three quarters of a minute for 4e8 draws; now the last value is not yet written."""
    assert run_python(INTERRUPT, name, workers).split() == ["interrupted", "True", "True"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parts_do_not_change_results(monkeypatch, dtype):
    import numbastats as ns

    x = np.linspace(0.001, 0.999, 30_011, dtype=dtype)

    def sample():
        draws = ns.random.gamma(0.5, x.astype(float), rng=1, dtype=dtype, device="cpu")
        words = ns.random.normal(size=x.size, rng=1, dtype=dtype, device="cpu")
        several = ns.stable.pdf_cdf(x[:100], 1.5, 0.3, device="cpu")
        return ns.quantile.ndtri(x, device="cpu"), ns.quantile.student_t(4.5).pdf(x, device="cpu"), draws, words, *several

    want, calls, launch = sample(), [], dispatch.launch
    monkeypatch.setattr(dispatch, "SLAB_WORK", 1.0)
    monkeypatch.setattr(dispatch, "launch", lambda *args, **options: calls.append(args[2]) or launch(*args, **options))
    got = sample()
    assert calls.count(dispatch.CHUNK) >= 28  # four functions in eight parts
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_number_of_threads_is_restored():
    import numba

    import numbastats as ns

    before = numba.get_num_threads()
    u = np.linspace(0, 1, 100_001)
    ns.quantile.ndtri(u, device="cpu", workers=1)
    ns.quantile.ndtri(u, device="cpu", workers=2)
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("threads", [1, 2])
def test_no_part_begins_after_one_has_failed(threads, error):
    """Ctrl-C waited until the other threads had done all the work."""
    done = []

    def call(part):
        time.sleep(0.01)
        if part == 4:
            raise error
        done.append(part)

    with pytest.raises(error):
        in_threads(call, [(part,) for part in range(100)], threads)
    assert set(range(3)) <= set(done) <= set(range(8))


def test_config_workers_and_device(monkeypatch):
    import numbastats as ns
    from numbastats._core import dispatch
    from numbastats._core.parallel import worker_count

    with ns.config.using(workers=1):
        assert worker_count(None) == 1
        with ns.config.using(device="cpu"):
            assert ns.config.get("workers") == 1 and ns.config.get("device") == "cpu"
        assert ns.config.get("device") == "auto"
    assert worker_count(-1) >= 2
    with pytest.raises(ValueError, match="'cuda'"):
        ns.config.set(device="gpu")
    with pytest.raises(ValueError, match="positive"):
        ns.config.set(workers=0)
    with pytest.raises(ValueError, match="options are"):
        ns.config.set(threads=2)
    with pytest.raises(ValueError, match="options are"):
        ns.config.get("threads")
    with ns.config.using(device="cuda"):
        assert dispatch.choose_device(None) == "cuda"
    if dispatch.SIMULATED:
        assert dispatch.choose_device(None, pays=True) == "cpu"  # auto never picks the simulator


def test_auto_leaves_host_arrays_on_the_host(monkeypatch):
    """Of elementwise calls and draws only stable densities and quantiles point by point gain from the way to a GPU."""
    import numbastats as ns

    chosen = []
    monkeypatch.setattr(dispatch, "real_gpu", lambda: True)

    def choose(*args, **options):
        chosen.append(original(*args, **options))
        return "cpu"

    original = dispatch.choose_device
    monkeypatch.setattr(dispatch, "choose_device", choose)
    monkeypatch.setattr(dispatch, "launch", lambda *args, **options: None)
    x = np.full(5_000_000, 0.5)
    ns.quantile.ndtri(x)
    ns.random.truncnorm(0.0, 1.0, -1.0, 1.0, x.size)
    ns.quantile.student_t(4.5).pdf(x)
    ns.quantile.ndtri(0.5)
    assert set(chosen) == {"cpu"} and len(chosen) == 4
    chosen.clear()
    ns.stable.pdf(x[:10_000], np.linspace(1.1, 1.9, 10_000), 0.0)
    ns.stable.pdf(x[:100], np.linspace(1.1, 1.9, 100), 0.0)
    assert chosen == ["cuda", "cpu"]
    assert dispatch.choose_device("auto", work=1e12) == "cpu"


def test_environment_variables(run_python):
    code = "import numbastats as ns; print(ns.config.get('device'), ns.config.get('workers'))"
    assert run_python(code, NUMBASTATS_DEVICE="cpu", NUMBASTATS_WORKERS="3").split() == ["cpu", "3"]
    assert run_python(code, NUMBASTATS_DEVICE="", NUMBASTATS_WORKERS="").split() == ["auto", "-1"]
    for name, value in (("NUMBASTATS_DEVICE", "gpu"), ("NUMBASTATS_WORKERS", "many"), ("NUMBASTATS_WORKERS", "0")):
        done = run_python(code, check=False, **{name: value})
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode != 0 and last.startswith("ValueError") and name in last
    done = run_python(code, check=False, NUMBA_DISABLE_JIT="1")
    assert "does not run uncompiled" in done.stderr


def test_cuda_without_a_gpu_is_an_error_with_the_fix(run_python):
    code = """
import numbastats as ns
from numbastats._core.compile import real_gpu
if real_gpu():
    print("gpu")
else:
    try:
        ns.quantile.ndtri(0.5, device="cuda")
    except ns.DeviceNotAvailable as error:
        print("numba-cuda[cu13]" in str(error), "device='cpu'" in str(error))
    print(float(ns.quantile.ndtri(0.5)))
"""
    assert run_python(code).split() in (["True", "True", "0.0"], ["gpu"])


def test_simulator_is_not_a_gpu(run_python):
    code = "from numbastats._core.compile import SIMULATED, real_gpu; print(SIMULATED, real_gpu())"
    assert run_python(code, simulator=True).split() == ["True", "False"]


def test_launches_are_too_large_for_warnings_and_cover_all_items(monkeypatch):
    """Numba warns of grids of less than 128 blocks; an empty grid is an error on a GPU."""
    device = types.SimpleNamespace(MULTIPROCESSOR_COUNT=132)
    monkeypatch.setattr(dispatch, "SIMULATED", False)
    monkeypatch.setattr(dispatch.cuda, "get_current_device", lambda: device, raising=False)
    for n in (0, 1, 5000, 10**6, 2**33):
        blocks, threads = dispatch._geometry(n, 64)
        assert 128 <= blocks <= 32 * 132 and threads == 64
        assert blocks * threads >= n or blocks == 32 * 132  # the rest goes to the same threads


def test_two_threads_load_sub_packages_at_once(run_python):
    """One waited for numbastats.scalar.bits, held by the other, which waited for numbastats.scalar: Python raised an error."""
    code = """
import sys, threading, time
from importlib.machinery import PathFinder, SourceFileLoader
import numbastats as ns

begun = threading.Event()

class Slow(SourceFileLoader):
    def create_module(self, spec):
        begun.set()
        time.sleep(0.5)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "numbastats.scalar":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec

sys.meta_path.insert(0, Finder)
found = []
threads = [threading.Thread(target=lambda name=name: found.append(getattr(ns, name).__name__)) for name in ("scalar", "random")]
threads[0].start()
begun.wait()
threads[1].start()
[t.join() for t in threads]
print(*sorted(found))
"""
    assert run_python(code).split() == ["numbastats.random", "numbastats.scalar"]
