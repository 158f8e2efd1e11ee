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
    assert "1025 threads" in found["too many threads"]


def test_kernels_agree_with_their_cpu_twins():
    """Some of every kind of loop; all of them take half an hour."""
    names = ["bayes.draws", "bayes.scales_*", "elementary.recip", "kde.rows*", "random.normal_*", "search.*"]
    names.append("quantile.antithetic")
    done = _run("emulator.py", *names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-4]) >= 12
