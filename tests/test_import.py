"""What an import loads, environment variables, the configuration, and the self-check."""

from __future__ import annotations

import subprocess
import sys

import pytest

import numbastats as ns
from numbastats._core import launch


def test_import_budget_of_modules(run_python):
    """No heavy or optional package is loaded by the import, and nothing is compiled."""
    code = """
import sys
import numbastats as ns
heavy = ("scipy.stats", "scipy.special", "cupy", "torch", "dask", "matplotlib", "pandas", "sklearn", "mpmath")
print([m for m in heavy if m in sys.modules])  # scipy.linalg is there: Numba itself imports it for BLAS
ns.quantile, ns.random, ns.scalar, ns.testing
print([m for m in heavy if m in sys.modules])
from numba.core.dispatcher import Dispatcher
import gc
ours = [d for d in gc.get_objects() if isinstance(d, Dispatcher) and d.py_func.__module__.startswith("numbastats")]
print(sum(bool(d.overloads) for d in ours))
"""
    assert run_python(code).split("\n")[:3] == ["[]", "[]", "0"]


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


def test_config_workers_and_device(monkeypatch):
    import numbastats as ns
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
    with pytest.raises(TypeError, match="use workers="):
        ns.config.set(threads=2)
    with pytest.raises(ValueError, match="options are"):
        ns.config.get("threads")
    with ns.config.using(device="cuda"):
        assert launch.choose_device(None) == "cuda"
    if launch.SIMULATED:
        assert launch.choose_device(None, work=lambda: pytest.fail("asked")) == "cpu"  # auto never picks the simulator


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


def test_self_check_runs(run_python):
    done = subprocess.run([sys.executable, "-m", "numbastats"], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("numbastats", "numba", "threading layer", "cache", "CUDA", "self-check passed"):
        assert word in done.stdout


PACKAGES = ("bayes", "config", "interop", "kde", "mixture", "plot", "quantile", "random", "scalar", "stable")


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_has_the_public_names_alone(name):
    """Tab completion showed the internals."""
    module = getattr(ns, name)
    assert [n for n in dir(module) if not n.startswith("__")] == sorted(module.__all__)
    for n in dir(module):
        getattr(module, n)
