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


ABOVE = {  # launches, allocations, bytes up and down, waits, as they are today, of calls that do more than `_goal` says
    # whether a parameter is out of its range is one byte, and for it the host waits; counts look for the largest, too
    "random.poisson, there": (1, 7, 0, 1, 1),
    "random.binomial, there": (1, 7, 0, 1, 1),
    "random.geometric, there": (1, 7, 0, 1, 1),
    "random.negative_binomial, there": (1, 12, 0, 2, 2),
    "random.polya_gamma, there": (1, 4, 0, 1, 1),
    "random.*, there": (1, 3, 0, 1, 1),
    # several functions of the same values, each of which gets a copy of them
    "quantile.antithetic, there": (2, 2, 0, 0, 0),
    "quantile.antithetic, host": (2, 4, 16000, 16000, 2),
    "stable.pdf_cdf, there": (3, 3, 0, 0, 0),
    "stable.pdf_cdf, host": (3, 6, 24000, 24000, 3),
    "stable.pdf, parameters differ, host": (1, 3, 80, 40, 1),  # two arrays
    "quantile.recycle, there": (1, 2, 905728, 0, 1),  # the table between the two distributions
    "quantile.recycle, host": (1, 3, 913728, 8000, 2),
    # distributions made of others: a kernel for each, and maps between them
    "truncate.pdf, there": (3, 3, 0, 0, 0),
    "truncate.cdf, there": (65, 75, 80000, 0, 0),
    "truncate.ppf, there": (7, 7, 0, 0, 0),
    "truncate.pdf, host": (2, 5, 24000, 16000, 2),
    "truncate.cdf, host": (4, 9, 40000, 32000, 4),
    "truncate.ppf, host": (7, 18, 88000, 56000, 7),
    "exp.pdf, there": (3, 3, 0, 0, 0),
    "exp.pdf, host": (3, 7, 32000, 24000, 3),
    "exp.[cp]*f, there": (2, 2, 0, 0, 0),
    "exp.[cp]*f, host": (2, 4, 16000, 16000, 2),
    "Mixture.[pc]df, there": (4, 4, 0, 0, 0),
    "Mixture.[pc]df, host": (4, 9, 40000, 32000, 4),
    "Mixture.ppf, there": (222, 267, 0, 7680, 15),
    "Mixture.ppf, host": (77, 229, 867840, 577280, 92),
    # of mixtures that are fitted
    "mixture.*pdf, host": (1, 4, 16048, 8000, 1),
    "mixture.responsibilities, there": (1, 6, 32048, 32000, 3),
    "mixture.responsibilities, host": (1, 5, 16048, 24000, 2),
    "mixture.[ci][ds]f, there": (0, 1, 8000, 8000, 1),  # on the host
    "mixture.ppf, there": (0, 1, 8000, 8000, 1),
    "mixture.sf, there": (0, 1, 8000, 8000, 1),
    "mixture.partial_stats, there": (0, 0, 0, 8000, 1),
    # one component before two, the gradient function after each; two launches a round
    "mixture.fit, there": (87, 58, 932, 832, 13),
    "mixture.fit, host": (87, 58, 932, 512, 12),
    "mixture.fit_many, there": (87, 58, 932, 832, 13),
    "mixture.fit_many, host": (87, 58, 932, 512, 12),
    "mixture.fit gamma, there": (77, 61, 8588, 8512, 13),
    "mixture.fit gamma, host": (77, 61, 8588, 512, 12),
    "mixture.fit_many gamma, there": (93, 61, 42152, 42336, 14),
    "mixture.fit_many gamma, host": (93, 61, 42152, 3936, 13),
    # starts, EM, Newton's method, candidates and entropies; points come to the host between the kernels
    "mixture.fit of rows, there": (8, 136, 23400, 15976, 39),
    "mixture.fit of rows, host": (8, 136, 23400, 15016, 38),
    "mixture.fit_many of rows, there": (8, 136, 44864, 31312, 39),
    "mixture.fit_many of rows, host": (8, 136, 44864, 30032, 38),
    "NormalMixture.*, there": (1, 21, 640, 0, 0),  # the parameters, and work space
    # fits of what is contained follow that of the family
    "distributions.fit_many gamma, there": (2, 14, 474, 24, 1),
    "distributions.fit_many gamma, host": (1, 11, 1432, 336, 4),
    "distributions.fit_many gev, there": (2, 30, 1528, 816, 8),
    "distributions.fit_many gev, host": (2, 22, 2920, 816, 8),
    "distributions.fit_many student_t, there": (3, 40, 1952, 1152, 12),
    "distributions.fit_many student_t, host": (3, 33, 4304, 1152, 12),
    "distributions.fit_many negative_binomial, there": (3, 40, 1872, 816, 12),
    "distributions.fit_many negative_binomial, host": (3, 33, 4392, 816, 12),
    "distributions.fit_many nig, there": (9, 100, 5248, 3392, 36),
    "distributions.fit_many nig, host": (9, 99, 13144, 3392, 36),
    "Gamma(2.5).score, there": (1, 4, 0, 0, 0),  # x, and the score of each parameter
    "Gamma(2.5).score, host": (1, 5, 528, 2112, 4),
    "kde.grid, 2-D, there": (12, 22, 1144, 1248, 6),  # the result, 744 bytes of moments and bounds down, 640 of units up
    "kde.grid, 2-D, host": (1, 7, 944, 504, 5),
    "kde.grid of 600, there": (14, 24, 14088, 14192, 6),  # two rounds of the sort; no more bytes beside the result
    "kde.grid of 600, host": (1, 7, 10416, 13448, 5),
    "kde.points, 2-D, there": (1, 9, 1352, 800, 8),
    "kde.points, 2-D, host": (1, 8, 1192, 160, 6),
    "kde.points of 600, there": (1, 9, 14376, 10800, 8),
    "kde.points of 600, host": (1, 8, 13976, 400, 6),
    # the warmup makes X'WX 30 times, whose weights come from the host, and finds the mode there
    "bayes.HorseshoeProbit.fit, there": (505, 133, 85764, 72792, 364),
    "bayes.HorseshoeProbit.fit, host": (505, 133, 85764, 50392, 361),
    "bayes.HorseshoeClassifier, there": (513, 100, 6336, 9904, 361),
    "bayes.HorseshoeClassifier, host": (513, 100, 6336, 9544, 360),
    # ten iterations of two chains on 400 rows: what the host keeps of each draw, whatever the number of rows
    "bayes, ten iterations, surrogate, *": (40, 0, 0, 2304, 54),
    "bayes, ten iterations, split-hmc, *": (60, 0, 0, 2304, 54),
    "bayes, ten iterations, px-gibbs, *": (60, 0, 0, 1488, 33),
    "stable.loglik, there": (2, 2, 0, 512, 1),  # sums of a few hundred values
    "stable.score, there": (0, 1, 1600, 400, 1),  # on the host
    "stable.fit, there": (0, 0, 0, 1600, 1),
    "stable.fit_many, there": (2, 9, 8520, 8720, 3),  # the values by way of the host, and the arrays of the fits
    "stable.fit_many, host": (2, 9, 8520, 720, 2),
}


def _goal(given, back):
    """One kernel; up what is on the host, down what comes back to it, for which alone the host waits."""
    return 1, 1 + (given > 0), given, back, int(back > 0)


def test_budget_of_calls():
    """Of every call of GPU_CALLS.md and every elementwise function, when its tables are there."""
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
