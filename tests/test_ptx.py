"""The PTX gate, in its own process and, if need be, its own interpreter: numba-cuda cannot share one with the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# An interpreter that has numba-cuda[cu13] and nvidia-cuda-nvcc; by default this one.
PYTHON = os.environ.get("NUMBASTATS_PTX_PYTHON", sys.executable)


def test_every_kernel_compiles_for_the_gpu():
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env["PYTHONPATH"] = str(Path(__file__).parents[1])
    probe = subprocess.run([PYTHON, "-c", "import numba_cuda"], capture_output=True, env=env)
    if probe.returncode and not os.environ.get("NUMBASTATS_REQUIRE_PTX"):
        pytest.skip("no numba-cuda; point NUMBASTATS_PTX_PYTHON at an interpreter that has numba-cuda[cu13] and nvidia-cuda-nvcc")
    assert probe.returncode == 0, probe.stderr.decode()
    done = subprocess.run(
        [PYTHON, str(Path(__file__).with_name("ptx_gate.py"))], capture_output=True, text=True, env=env, timeout=2700
    )
    assert done.stdout.strip(), done.stderr
    summary = json.loads(done.stdout.strip().splitlines()[-1])
    assert summary["failures"] == []
    assert done.returncode == 0
    assert summary["ptxas"], "nvidia-cuda-nvcc is missing in that interpreter: spills were not checked"
    assert summary["kernels"] + summary["unchanged"] >= 100 and summary["variants"] >= summary["kernels"]
    print("double precision in float32 kernels:", summary["double_in_float32"])
