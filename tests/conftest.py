"""Device fixture: every numerical test runs on the serial CPU twin, the parallel CPU twin and CUDA.

CUDA is Numba's simulator unless NUMBASTATS_TEST_CUDA=real asks for the GPU. The parallel twin is compiled for one kernel of each
loop template, whose `prange` all its kernels share; the others run their serial twin in a thread (NUMBASTATS_TEST_PARALLEL=all
compiles every one). With xdist each file has one worker; those that took longest in the run before come first.
"""

from __future__ import annotations

import collections
import functools
import inspect
import math
import os
import re
import signal
import sys
from pathlib import Path

REAL = os.environ.get("NUMBASTATS_TEST_CUDA", "").lower() == "real"
if not REAL:
    if "numba" in sys.modules:
        raise RuntimeError("numba was imported before conftest could turn its CUDA simulator on; run plain `python -m pytest`")
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a job in a shell's background; the tests interrupt themselves
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, os.cpu_count() or 1)))  # the parallel twin must really be split
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each worker of xdist has a core of its own

import numba  # noqa: E402
import pytest  # noqa: E402
from numba.core.dispatcher import Dispatcher  # noqa: E402

from numbastats._core.kernel import REGISTRY, InThreads, Kernel  # noqa: E402
from numbastats.testing import DEVICES  # noqa: E402

assert bool(numba.config.ENABLE_CUDASIM) != REAL, "the CUDA simulator is not in the state the tests need"

if not REAL:
    import tests.simulator  # noqa: E402, F401  takes the place of a part of Numba's

REFERENCE = Path(__file__).parent / "reference"

collect_ignore = [
    "emulator",
    "mutants",
    "mutate.py",
    "ptx_gate.py",
    "reference",
]  # programs, not tests: --doctest-modules would import them


def pytest_addoption(parser):
    parser.addoption("--extras", action="store_true", help="run the tests that need packages beyond those of the test command")
    parser.addoption("--changed", action="store_true", help="run the tests that the difference from the main branch reaches")


def pytest_configure(config):
    """What --changed leaves out; each worker of xdist finds it for itself."""
    if config.getoption("--changed"):
        from tests.changed import Reached

        config.pluginmanager.register(Reached())


_loaded, _add_overload = [], Dispatcher.add_overload


@functools.wraps(_add_overload)
def _counted(dispatcher, compiled):
    _loaded.append(dispatcher.__name__)
    return _add_overload(dispatcher, compiled)


Dispatcher.add_overload = _counted
LOADED_AT_COLLECTION = []  # functions that were compiled, or loaded from the disk, before the first test: there are to be none


def pytest_collection_finish():
    """Every worker collects, also for a run of one test. A test of the rules looks at the list."""
    LOADED_AT_COLLECTION.extend(_loaded)


def _file(nodeid):
    return nodeid.partition("::")[0]


SECONDS = "numbastats/seconds"  # of each file, in the cache of pytest
_seconds = collections.Counter()


def pytest_runtest_logreport(report):
    """Add up what a file takes; the process that xdist begins with sees the reports of all."""
    _seconds[_file(report.nodeid)] += report.duration


def pytest_sessionfinish(session):
    """Keep what files took for the next run."""
    kept = getattr(session.config, "cache", None)
    if kept and not hasattr(session.config, "workerinput"):
        kept.set(SECONDS, kept.get(SECONDS, {}) | {name: round(seconds, 2) for name, seconds in _seconds.items()})


def _known(config):
    """Seconds of files in the run before."""
    kept = getattr(config, "cache", None)
    return kept.get(SECONDS, {}) if kept else {}


def _longest_first(config, items):
    """Files by their seconds in the run before; what is not known comes first, by the number of its tests."""
    known, count = _known(config), collections.Counter(_file(item.nodeid) for item in items)
    items.sort(key=lambda item: (known.get(name := _file(item.nodeid), math.inf), count[name], name), reverse=True)


def _room(file):
    """The sub-package whose kernels the tests of a file call; pages of the documentation are one."""
    folder, _, inside = file.partition("/")
    return inside.partition("/")[0].removeprefix("test_").removesuffix(".py") if folder in ("tests", "numbastats") else "docs"


def next_room(mine, taken, left):
    """Where a worker goes on: where it is, else where nobody has been, else where most is left."""
    fresh = [room for room in left if room not in taken]
    return mine if mine in left else max(fresh or left, key=left.__getitem__)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A worker goes on with the sub-package that it has begun, whose kernels it has: another would compile them again."""
    from xdist.scheduler import LoadFileScheduling

    known = _known(config)

    class ByRoom(LoadFileScheduling):
        rooms = None  # of each worker, the one that it is at

        def _assign_work_unit(self, node):
            self.rooms = self.rooms or {}
            left = collections.Counter()
            for file, tests in self.workqueue.items():
                left[_room(file)] += known.get(file, len(tests))
            self.rooms[node] = room = next_room(self.rooms.get(node), self.rooms.values(), left)
            self.workqueue.move_to_end(next(file for file in self.workqueue if _room(file) == room), last=False)
            super()._assign_work_unit(node)

    return ByRoom(config, log) if config.getoption("dist") == "loadfile" else None


def _needs_extras(item):
    """Whether a test, its module or a fixture of it asks for such a package; pages of the documentation count as such."""
    if not hasattr(item, "function"):
        return True
    fixtures = [d.func for name in item.fixturenames for d in item._fixtureinfo.name2fixturedefs.get(name, ())]
    inside = any("importorskip" in inspect.getsource(f) for f in (item.function, *fixtures))
    return inside or re.search(r"^\w.*importorskip", inspect.getsource(item.module), re.MULTILINE) is not None


@pytest.hookimpl(tryfirst=True)  # before the choice of tests by their marks
def pytest_collection_modifyitems(config, items):
    """In the simulator a thread of the GPU is a thread of Python: what takes long there is slow, or for CI, there only."""
    if config.getoption("--extras"):
        others = [item for item in items if not _needs_extras(item)]
        items[:] = [item for item in items if _needs_extras(item)]
        config.hook.pytest_deselected(items=others)
    _longest_first(config, items)
    for item in items:
        simulated = not REAL and getattr(item, "callspec", None) and item.callspec.params.get("device") == "cuda"
        for mark, then in (("slow_in_simulator", "slow"), ("more_in_simulator", "simulator")):
            if simulated and item.get_closest_marker(mark):
                item.add_marker(getattr(pytest.mark, then))


def _parallel(kernel):
    """The parallel twin of a kernel: compiled for the first one of its template, else the serial twin in its place."""
    first = next((k for k in REGISTRY.values() if k._cpu is kernel._cpu and k.threaded), kernel)
    if kernel is first or not kernel.threaded:
        return compiled_parallel(kernel)
    return InThreads(kernel.serial, lambda args, parts: [args])


compiled_parallel = Kernel.parallel.func
if os.environ.get("NUMBASTATS_TEST_PARALLEL") != "all":
    Kernel.parallel = functools.cached_property(_parallel)
    Kernel.parallel.__set_name__(Kernel, "parallel")


@pytest.fixture(params=list(DEVICES))
def device(request, monkeypatch):
    """Keyword arguments that send a public function to one twin, whatever the size of its input."""
    if request.param == "cpu-parallel":
        monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    return DEVICES[request.param]


@pytest.fixture(scope="session")
def reference():
    """Folder of the reference tables."""
    return REFERENCE


@pytest.fixture
def run_python():
    """Run code in a fresh interpreter without the simulator; returns its standard output."""
    import subprocess

    def run(code, *args, simulator=False, check=True, python=sys.executable, **environment):
        env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
        if simulator:
            env["NUMBA_ENABLE_CUDASIM"] = "1"
        env.update(environment)
        done = subprocess.run([python, "-c", code, *args], capture_output=True, text=True, env=env, timeout=1800)
        if check and done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout if check else done

    return run
