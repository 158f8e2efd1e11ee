"""The PTX gate, in its own process and, if need be, its own interpreter: numba-cuda cannot share one with the simulator.

What it compiles is found without a compiler, and tested here on the registry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from numbastats._core import kernel as kernels
from numbastats._core.kernel import REGISTRY, device_function
from numbastats.distributions.kernels import points
from numbastats.distributions.kernels.fits import mean_square
from numbastats.scalar import elementary
from tests import ptx_gate

# An interpreter that has numba-cuda[cu13] and nvidia-cuda-nvcc; by default this one.
PYTHON = os.environ.get("NUMBASTATS_PTX_PYTHON", sys.executable)


@pytest.fixture(scope="module")
def everything():
    ptx_gate.load_all()
    return ptx_gate.units()


@pytest.fixture(scope="module")
def plan(everything):
    return ptx_gate.chosen(everything, ptx_gate.in_table(everything))


def in_double(kernel):
    """Whether the float32 instance is computed in double precision, as that for float64."""
    return kernel.f64_ok and "float64" in kernel.dtypes


def test_every_class_and_every_function_of_every_kernel_is_compiled(everything, plan):
    assert {unit.name for unit in everything} >= set(REGISTRY)
    classes, functions = ptx_gate.counts(plan)
    assert (classes, functions) == ptx_gate.counts(everything)
    assert classes >= 70 and functions >= 1000
    for of in (lambda unit: unit.kind, lambda unit: unit.kernel._cuda):
        assert set(map(of, plan)) == set(map(of, everything))
    for unit in everything:
        left_out = {"float32"} if in_double(unit.kernel) else set()
        assert {dtype for dtype, _ in unit.signatures} == set(unit.kernel.dtypes) - left_out


def test_most_kernels_are_not_compiled(everything, plan):
    """They have the loops and the formulas of others; of the fits that are bound to a family one is enough."""
    assert len(plan) < 0.5 * len(everything)
    compiled = {unit.name for unit in plan}
    fits = {unit.kernel.name for unit in everything if unit.python}
    by_equations = {name for name in fits if name.startswith("distributions.fit_")}
    for bound in (by_equations, fits - by_equations):
        assert len(bound) >= 6 and len(compiled & bound) == 1


def test_the_table_has_the_kernels_that_it_should(everything):
    rows = ptx_gate.in_table(everything)
    assert rows <= {unit.name for unit in everything}
    assert rows == {name for name, _ in ptx_gate.read_table()[0]}
    assert not any(".families." in unit.kernel._module for unit in everything if unit.name in rows)


def test_functions_are_found_however_they_are_known():
    loop = REGISTRY["distributions.weibull_fit"]
    found = ptx_gate.reached(types.FunctionType(loop._cuda.__code__, loop._cuda.__globals__ | loop._cuda_scalars))
    family = sys.modules["numbastats.distributions.families.weibull"]
    bound, as_attribute = [family.guess, family.score, family.logpdf], elementary.log
    for f in (*bound, as_attribute, points.log_mass):
        assert ptx_gate.place(f.py_func) in found
    assert ptx_gate.place(points.isf_by_newton.py_func) not in found
    fit = REGISTRY["distributions.fit_normal"]
    found = ptx_gate.reached(types.FunctionType(fit._cuda.__code__, fit._cuda.__globals__ | fit._cuda_scalars))
    assert ptx_gate.place(mean_square.py_func) in found


def test_a_new_family_needs_no_entry(everything, plan, monkeypatch):
    @device_function
    def logpdf(z, c):
        return -abs(z)

    @device_function
    def logcdf(z, c):
        return -z

    @device_function
    def logsf(z, c):
        return z

    formulas = dict(logpdf=logpdf, logcdf=logcdf, logsf=logsf)
    module = types.ModuleType("numbastats.distributions.families.fresh")
    vars(module).update(formulas, constants=points.no_constants, support=points.half_line, start=points.no_constants)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(kernels, "REGISTRY", dict(REGISTRY))
    points.Points("fresh", module.__name__, 0, scored=False)
    after = ptx_gate.units()
    assert len(after) == len(everything) + 16
    rows = ptx_gate.in_table(everything)
    assert ptx_gate.in_table(after) == rows
    known, found = ({place for unit in p for place in unit.functions} for p in (plan, ptx_gate.chosen(after, rows)))
    assert found - known == {ptx_gate.place(f.py_func) for f in formulas.values()}


def test_what_has_passed_is_forgotten_where_the_file_is_missing_or_damaged(tmp_path):
    path = tmp_path / "ptx_gate.json"
    assert ptx_gate.passed_before(None) == ptx_gate.passed_before(path) == {}
    for damaged in (b"", b'{"a": "b"', b"[1]", b"\xff"):
        path.write_bytes(damaged)
        assert ptx_gate.passed_before(path) == {}
    path.write_text('{"a": "b"}')
    assert ptx_gate.passed_before(path) == {"a": "b"}


def test_every_kernel_compiles_for_the_gpu(everything):
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
    known = ptx_gate.counts(everything)
    assert (summary["classes"], summary["functions"]) == known
    assert summary["variants"] >= summary["compiled"]
    print("double precision in float32 kernels:", summary["double_in_float32"])
