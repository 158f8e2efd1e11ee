"""Parallel twins in hostile surroundings: fork, spawn, several Python threads, each threading layer, executors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numbastats._core import slabs
from numbastats._core.parallel import in_threads

PRELUDE = """
import numpy as np, threading, os, sys
import numbastats as ns
from numbastats._core import launch
launch.PARALLEL_FROM = 0
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
from numbastats._core import slabs
if __name__ == "__main__":
    slabs.SLAB = 65536
    u = np.linspace(0, 1, 300_001)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        a = ns.quantile.ndtri(u, workers=pool)
        b = ns.random.normal(size=300_001, rng=5, workers=pool)
    print(np.array_equal(a, ns.quantile.ndtri(u)), np.array_equal(b, ns.random.normal(size=300_001, rng=5)))
"""
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=1800, env=env)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_executors_whose_map_gives_futures(monkeypatch):
    """As that of a dask client; elementwise functions, draws, tables and fits raised TypeError or AttributeError."""
    from concurrent.futures import ThreadPoolExecutor

    import numbastats as ns

    monkeypatch.setattr(slabs, "SLAB", 4096)
    u = np.linspace(0.0, 1.0, 10_001)
    data = [ns.stable.rvs(1.5, 0.0, size=200, rng=i) for i in range(2)]

    def sample(workers):
        table = ns.quantile.QuantileTable(logpdf=lambda x, p: -(abs(x) ** p), params=(np.array([1.5, 1.8]),), workers=workers)
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


def test_where_no_thread_can_be_started_any_more(tmp_path):
    """At the interpreter's end, and in threads that outlive the main one: quantiles raised RuntimeError there."""
    script = tmp_path / "late.py"
    script.write_text(
        """
import atexit, threading
from numbastats._core.parallel import in_threads

def late():
    done = []
    in_threads(done.append, [(part,) for part in range(9)], 2)
    print(done == list(range(9)))

def after_main():
    threading.main_thread().join()
    late()

atexit.register(late)
threading.Thread(target=after_main).start()
"""
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600, env=env)
    assert done.stdout.split() == ["True", "True"], done.stderr
