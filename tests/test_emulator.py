"""CUDA kernels as numba-cuda compiles them, run on the CPU: see tests/emulator/emulator.py."""

from __future__ import annotations

import fnmatch
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = os.environ.get("NUMBASTATS_PTX_PYTHON", sys.executable)  # as for the PTX gate
FOLDER = Path(__file__).with_name("emulator")


def _run(script, *arguments):
    if platform.machine() != "x86_64" or not shutil.which("gcc"):
        pytest.skip("the emulator wants gcc on x86-64")
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env["PYTHONPATH"] = str(Path(__file__).parents[1])
    if subprocess.run([PYTHON, "-c", "import numba_cuda"], capture_output=True, env=env).returncode:
        pytest.skip("no numba-cuda; point NUMBASTATS_PTX_PYTHON at an interpreter that has numba-cuda[cu13]")
    return subprocess.run([PYTHON, str(FOLDER / script), *arguments], capture_output=True, text=True, env=env, timeout=1800)


def test_faults_are_seen():
    done = _run("faults.py")
    found = json.loads(done.stdout)
    assert found["sound"] == [True, 0]
    assert found["no barrier"][0] is False
    assert found["two barriers"][1] == 1
    assert found["beyond"][1] == 1 and "beyond an allocation" in done.stderr
    assert found["never written"][0] is False
    assert found["reused"] == [1, 0, 0] and "another stream uses them now" in done.stderr
    assert "1025 threads" in found["too many threads"]


ABOVE = {  # launches, allocations, bytes up and down, waits of calls that do more than what `_goal` says, as they are today
    "random.gamma, there": (1, 3, 0, 1, 1),
}


def _goal(given, back):
    """One kernel; up what is on the host, down what comes back to it, for which alone the host waits."""
    return 1, 1 + (given > 0), given, back, int(back > 0)


def test_budget_of_calls():
    """Copies, launches, allocations and waits of every call of GPU_CALLS.md and every elementwise function, when tables are there."""
    done = _run("budget.py")
    assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads(done.stdout.splitlines()[-1])
    assert len(table) > 200 and "Error" not in done.stdout, done.stdout  # which says what has failed
    over, most = {}, {}
    for name, (_, counted, bytes_on_host) in table.items():
        row = next((pattern for pattern in ABOVE if fnmatch.fnmatchcase(name, pattern)), None)
        if any(a > b for a, b in zip(counted, ABOVE.get(row) or _goal(*bytes_on_host), strict=True)):
            over[name] = counted
        most[row] = list(map(max, counted, most.get(row, counted)))
    assert not over
    assert most.keys() - {None} == ABOVE.keys()
    better = {row: most[row] for row in ABOVE if any(a < 0.9 * b for a, b in zip(most[row], ABOVE[row], strict=True))}
    assert not better, "fewer than the table has; write them there"


REFUSED = {  # before the first kernel
    "capture": "RuntimeError: a CUDA graph is captured from this stream",
    "capture of the caller's stream": "RuntimeError: a CUDA graph is captured from this stream",
    "out of another kind": "TypeError: out is a DeviceNDArray, but the inputs live on the device as cupy arrays",
    "out on the host": "TypeError: out is a ndarray, but the inputs live on the device as cupy arrays",
    "out in strides": "ValueError: out is not C-contiguous",
    "strides of Numba": "TypeError: u is a Numba device array of shape (2, 500)",
    "another device": "ValueError: device='cpu', but an input or out lives on the GPU",
}


def test_streams_memory_and_arrays_of_cupy():
    done = _run("device_checks.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    here = [found["pointer"]]
    for name in ("current", "draws", "out"):
        assert found[name] == [here, 0, 0], name  # on CuPy's current stream, without waiting
    for name, ran in found["given"].items():  # on the caller's stream, which CuPy's waits for, and it for CuPy's
        assert ran == [[found["numba pointer"] if name == "numba" else 0x7000], 0, 2], name
    assert found["host array"] == [0x7000]
    assert found["reused too early"] == found["reused too early at the end"] == 0 and found["without joining"] == 1
    assert found["bad stream"][0] == "TypeError" and "stream is a str; pass a stream of Numba, CuPy" in found["bad stream"][1]
    assert found["values"][0] == "cupy" and max(found["values"][1:]) < 1e-15
    assert found["negative scale"][0] == "ValueError" and "scale has the negative value -0.8" in found["negative scale"][1]
    assert found["out of memory"][0] == "OutOfDeviceMemory" and "0.007629 MiB were asked for" in found["out of memory"][1]
    launches, same, warned = found["auto"]
    assert launches == 1 and same and len(warned) == 1 and "goes on on the CPU" in warned[0]
    same, warned = found["auto batch"]
    assert same and len(warned) == 1 and "goes on on the CPU" in warned[0]
    for name, words in REFUSED.items():
        kind, message, before_a_launch = found["refused"][name]
        assert before_a_launch and f"{kind}: {message}".startswith(words), name
    assert found["refused"].keys() == REFUSED.keys()
    assert found["mixed"] == found["strides of CuPy"] == ["cupy", 0.0]
    assert found["batch without memory"][0] == "OutOfDeviceMemory"
    *apart, made = found["products"]
    assert made == 4 and max(apart) < 1e-10
    for name, (equal, copied) in found["fits"].items():
        assert equal and copied <= 1.25, name  # y of the probit model is looked at twice


def test_kernels_agree_with_their_cpu_twins():
    """Some of every kind of loop; all of them take half an hour."""
    names = ["bayes.draws", "bayes.scales_*", "elementary.recip", "kde.rows*", "random.normal_*", "search.*"]
    names.append("quantile.antithetic")
    done = _run("emulator.py", *names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-4]) >= 12
