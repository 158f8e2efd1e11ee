"""What is used of Numba beyond its documentation: libraries, loops, vectors; and that all works without it."""

from __future__ import annotations

import json
import math
import platform
import re
import sys

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir
from numba import prange

from numbastats._core import kernel as kernels
from numbastats._core import numba_internals
from numbastats.scalar import elementary, loops, special
from numbastats.scalar.bits import at, in_step

WIDTHS = """
import numba
from numbastats._core.kernel import build
from numbastats.scalar import loops
from numbastats.scalar import elementary
for target in ("serial", "parallel"):
    k = build(loops.map1_cpu, target, _f=elementary.log)
    k.compile((numba.float64[::1], numba.float64[::1]))
    (asm,) = k.inspect_asm().values()
    print(target, "zmm" in asm)
"""


AVX512 = "avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx2,avx,fma,sse2,64bit,cmov,cx8"


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="machine code for x86")
@pytest.mark.parametrize("cpu, more, wide", [("icelake-server", ",avx512vbmi2", True), ("cascadelake", "", False)])
def test_vectors_of_512_bits_from_ice_lake_on(run_python, cpu, more, wide):
    """In both twins; LLVM itself would take 256 on all of Intel's processors."""
    features = "+" + (AVX512 + more).replace(",", ",+")
    done = run_python(WIDTHS, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features, NUMBASTATS_CACHE="0")
    assert done.split() == ["serial", str(wide), "parallel", str(wide)]


_f = None


def _one_vector(x, out):
    for c in prange((out.size + loops.CHUNK - 1) // loops.CHUNK):
        lo = np.int64(c) * loops.CHUNK
        o = out[lo : lo + loops.CHUNK]
        for i in range(o.size):
            o[i] = _f(at(x, lo + i))


def _vector_operations(kernel):
    x = np.linspace(-5.0, 5.0, 1003)
    out = np.empty(x.size)
    kernel(x, out)
    np.testing.assert_allclose(out, np.expm1(x), rtol=4e-16)
    (text,) = kernel.inspect_llvm().values()
    return len(re.findall(r" = .*<\d+ x double>", text))


@pytest.mark.parametrize("target", ["serial", "parallel"])
def test_marked_loops_work_on_several_vectors(target, monkeypatch):
    """The formula stands once for every vector: as many times as many operations on vectors."""
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")
    marked, plain = (
        _vector_operations(kernels.build(template, target, _f=elementary.expm1)) for template in (loops.map1_cpu, _one_vector)
    )
    assert plain > 20
    assert marked >= (numba_internals.VECTORS - 1) * plain


def test_marks_in_the_users_own_loops():
    @numba.njit
    def marked(x, out):
        for i in range(out.size):
            in_step()
            out[i] = elementary.expm1(x[i])

    @numba.njit
    def plain(x, out):
        for i in range(out.size):
            out[i] = elementary.expm1(x[i])

    assert _vector_operations(marked) >= (numba_internals.VECTORS - 1) * _vector_operations(plain) > 60


def test_marks_reach_the_innermost_loop_alone():
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(1)]), "nested")
    names = ("entry", "outer", "inner", "body", "branch", "inner_latch", "outer_latch", "exit")
    at_name = {name: function.append_basic_block(name) for name in names}
    jumps = {
        "entry": ["outer"],
        "outer": ["inner", "exit"],
        "inner": ["body", "outer_latch"],
        "body": ["branch", "inner_latch"],
        "branch": ["inner_latch"],
        "inner_latch": ["inner"],
        "outer_latch": ["outer"],
    }
    for name, targets in jumps.items():
        builder, blocks = ir.IRBuilder(at_name[name]), [at_name[t] for t in targets]
        builder.branch(*blocks) if len(blocks) == 1 else builder.cbranch(function.args[0], *blocks)
    ir.IRBuilder(at_name["exit"]).ret_void()
    at_name["branch"].in_step = True
    numba_internals._hint(function)
    assert [name for name in names if "llvm.loop" in str(at_name[name].terminator)] == ["inner_latch"]
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    assert f'!"llvm.loop.interleave.count", i32 {numba_internals.VECTORS}' in str(parsed)


def test_mark_outside_of_loops(monkeypatch):
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")

    def no_loop(x):
        in_step()
        x[0] = 1.0

    with pytest.raises(ValueError, match="outside of any loop"):
        kernels.build(no_loop, "serial")(np.zeros(3))


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_scalar_functions_are_values_of_function_types():
    """There was no machine code at their address: ValueError, and from a list a crash."""
    kind = numba.types.FunctionType(numba.float64(numba.float64))
    call = numba.njit(numba.float64(kind, numba.float64))(lambda f, x: f(x))
    assert call(elementary.exp, 0.5) == pytest.approx(math.exp(0.5), rel=1e-15)
    functions = numba.typed.List.empty_list(kind)
    for f in (elementary.exp, special.erf):
        functions.append(f)
    call = numba.njit(lambda functions, i, x: functions[i](x))
    assert [call(functions, i, 0.5) for i in range(2)] == pytest.approx([math.exp(0.5), math.erf(0.5)], rel=1e-15)


def test_scalar_functions_from_the_disk_are_values_of_function_types(run_python, tmp_path):
    """Of those that came from the cache there was machine code alone: "library unfit for linking"."""
    code = """
import numba
from numbastats.scalar import elementary
kind = numba.types.FunctionType(numba.float64(numba.float64))
elementary.exp(0.5)
call = numba.njit(numba.float64(kind, numba.float64))(lambda f, x: f(x))
print(call(elementary.exp, 0.5) == elementary.exp(0.5))
"""
    for _ in range(2):
        assert run_python(code, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "True"


def test_kernels_call_their_own_copies_of_functions(monkeypatch):
    """Else a process that compiles a kernel would run other code than one that loads it, and round differently."""
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")

    @kernels.array_function(host=False)
    def inner(x):
        total = 0.0
        while total * total < x[0]:
            total += 1.0
        return total

    def outer(x):
        x[1] = inner(x) + inner(x[1:])

    kernel = kernels.build(outer, "serial", inner=inner)
    x = np.array([90.0, 80.0])
    kernel(x)
    assert x[1] == 19.0
    (compiled,) = kernel.overloads.values()
    (part,) = inner.overloads.values()
    found = {f.name: f.linkage.name for f in compiled.library.get_defined_functions()}
    assert "linkonce_odr" not in found.values(), found
    name = part.fndesc.llvm_func_name
    assert found.get(name, "private") == "private"
    engine = compiled.library.codegen._engine
    assert engine.is_symbol_defined(compiled.fndesc.llvm_func_name) and not part.library.get_pointer_to_function(name)


def test_functions_without_reference_counts_hold_no_arrays():
    """A caller would give back a reference that was never taken, and free memory in use; or one would never be given back."""

    def views(x):
        return 1.0, x[1:]

    owner = kernels.array_function(host=False, allocates=True)(views)

    def first(x):
        return owner(x)[1][0]

    bad = kernels.array_function(host=False)(views)
    x = np.array([1.0, 2.0, 3.0])
    keeper = kernels.array_function(host=False, allocates=True)(first)
    whole = numba.njit(lambda x: keeper(x))
    before = sys.getrefcount(x)
    for _ in range(100):
        assert whole(x) == 2.0
    assert sys.getrefcount(x) == before
    for function in (bad, kernels.array_function(host=False)(first)):
        with pytest.raises(numba.TypingError, match="returns an array or calls what does; say array_function"):
            numba.njit(lambda x, function=function: function(x))(x)


def test_missing_parts_are_done_without(run_python):
    """Each with a word of what is lost, in one warning; a part of Numba that only saves time may be missing without one."""
    code = """
import warnings
import numba.np.arraymath, numba.np.linalg as linalg
del linalg.ensure_blas
from numba.core import dispatcher
del dispatcher.Dispatcher.get_compile_result
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from numbastats._core import numba_internals
print(sorted(numba_internals.ACTIVE))
print(len(seen), seen[0].message)
"""
    active, warned = run_python(code).splitlines()
    assert active == "['addresses', 'cache', 'loops', 'objects', 'registries', 'width']"
    assert warned.startswith("1 numbastats: Numba") and "get_compile_result" in warned and "pip install" in warned
    assert numba_internals.LOST["compiler"] in warned


def test_a_newer_numba_warns_once(run_python):
    code = """
import warnings
import numba
numba.__version__ = "9.1.0"
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numbastats as ns
    print(ns.quantile.ndtri(0.975))
print(len(seen), seen[0].message)
"""
    value, warned = run_python(code).splitlines()
    assert abs(float(value) - 1.959963984540054) < 1e-15
    assert warned.startswith("1 numbastats: Numba 9.1.0 is newer than 0.68")
    assert all(lost in warned for lost in numba_internals.LOST.values())


CALLS = """
import json, warnings
import numpy as np
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numbastats as ns
    from numbastats.scalar import elementary
    u = np.linspace(0.01, 0.99, 500)
    x = ns.random.normal(size=(200, 2), rng=1)
    results = [
        ns.quantile.ndtri(u, workers=1), ns.quantile.ndtri(u, workers=2), ns.random.gamma(0.7, size=300, rng=1),
        ns.stable.pdf(x[:, 0], 1.6, 0.2), ns.distributions.student_t(4.5).cdf(x[:, 0]), elementary.exp(0.5),
        ns.kde.grid(x, [(-3, 3, 12), (-3, 3, 12)], H=np.eye(2)),
        ns.mixture.pdf(u, [0.5, 0.5], [1.0, 2.0], [1.0, 3.0], family="gamma"),
    ]
print(json.dumps([np.concatenate([np.ravel(r) for r in results]).tolist(), [str(w.message) for w in seen]]))
"""


@pytest.mark.slow
def test_plain_numba_gives_the_same_results(run_python):
    """All that is undocumented left out; twice, the second time from Numba's own cache."""
    want, warned = json.loads(run_python(CALLS))
    assert warned == []
    for _ in range(2):
        got, warned = json.loads(run_python(CALLS, NUMBASTATS_PLAIN_NUMBA="1"))
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert len(warned) == 1 and "NUMBASTATS_PLAIN_NUMBA=1 is set" in warned[0]


def test_functions_of_the_user_are_compiled_by_numba_alone():
    """No class of Numba is changed, and a function of the user's goes to Numba's own library."""
    from numba.core import codegen

    for name in ("add_ir_module", "finalize", "_optimize_final_module"):
        assert getattr(codegen.CPUCodeLibrary, name).__module__ == "numba.core.codegen"

    @numba.njit
    def f(x):
        return x + 1.0

    f(1.0)
    (compiled,) = f.overloads.values()
    assert type(compiled.library) is codegen.JITCodeLibrary and "add_ir_module" not in vars(compiled.library)
