"""CUDA kernels as numba-cuda compiles them, run on the CPU: see tests/emulator/emulator.py."""

from __future__ import annotations

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


BUDGET = {  # of calls with device arrays: launches, allocations, bytes up, bytes down of the second call, at most
    "quantile.ndtri": (1, 1, 0, 0),
    "quantile.ndtri numba": (1, 1, 0, 0),
    "distributions.student_t.ppf": (1, 1, 0, 0),
    "quantile.QuantileTable": (1, 1, 0, 0),
    "stable.pdf": (1, 1, 0, 0),
    "stable.cdf": (1, 1, 0, 0),
    "stable.ppf": (1, 1, 0, 0),
    "stable.rvs": (1, 1, 0, 0),
    "stable.score": (0, 1, 1600, 400),  # on the host
    "stable.loglik": (2, 2, 0, 512),
    "stable.fit": (0, 0, 0, 1600),  # on the host
    "random.normal mu": (1, 1, 0, 0),
    "random.normal mu numba": (1, 1, 0, 0),
    "random.normal like": (1, 1, 0, 0),
    "random.gamma shape": (1, 3, 0, 1),  # whether a shape is negative
    "mixture.logpdf": (1, 1, 0, 0),
    "mixture.pdf": (1, 1, 0, 0),
    "mixture.partial_stats": (0, 0, 0, 8000),
    # 8000 bytes of values; two launches a round; one component before two, the gradient function after each
    "mixture.fit": (85, 66, 23100, 14400),
    "mixture.fit_many": (85, 66, 130000, 84100),  # 38400 bytes of values
    "kde.grid": (1, 8, 24000, 23048),  # 9600 bytes of samples, sorted on the host
    "kde.points": (1, 9, 14000, 10800),
    # 54 iterations; X'WX of 400 rows 30 times, p x p algebra on the host; the posterior at the mode and at the starts about it
    "bayes.HorseshoeProbit.fit": (215, 102, 95000, 80000),
}


def test_budget_of_calls_with_device_arrays():
    """What is copied where the data are on the device; a first call copies tables, too."""
    done = _run("budget.py", *BUDGET)
    assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads(done.stdout.splitlines()[-1])
    assert set(table) == set(BUDGET) and all(table.values()), done.stdout  # which says what has failed
    second = {name: counted[-1] for name, counted in table.items()}
    over = {name: got for name, got in second.items() if any(a > b for a, b in zip(got, BUDGET[name], strict=False))}
    assert not over


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
