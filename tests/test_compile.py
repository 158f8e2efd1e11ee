"""The disk cache, the flags, the simulator's plain functions, warm-up, and what an import may load."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir
from numba import cuda, prange

import numbastats
from numbastats._core import cache, loops, templates
from numbastats._core import compile as compiling
from numbastats.scalar import elementary, special
from numbastats.scalar.bits import at, in_step

PACKAGE = Path(numbastats.__file__).parent

PROBE = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from numbastats._core import templates
    from numbastats._core.compile import build
    import formulas
    x = np.linspace(0.5, 2.0, 100)
    result = {}
    for target in ("serial", "parallel"):
        for flags in ((), ("reassoc", "contract")):
            k = build(templates.map1_cpu, target, fastmath=flags, _f=formulas.f)
            out = np.empty_like(x)
            k(x, out)
            hits, misses = sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())
            result[f"{target} {' '.join(flags)}"] = [float(out.sum()), hits, misses]
print(json.dumps([result, [str(w.message) for w in seen if "numbastats" in str(w.message)]]))
"""

FORMULAS = """
from numbastats._core.compile import device_function
import constants
TUPLE = (1.0, 2.0)
@device_function
def g(x):
    return x * TUPLE[1]
@device_function
def f(x):
    return g(x) + {constant}
"""


@pytest.fixture
def project(tmp_path):
    """A private copy of the package and a module of formulas beside it; returns a function that runs the probe."""
    shutil.copytree(PACKAGE, tmp_path / "numbastats", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "constants.py").write_text("")
    (tmp_path / "formulas.py").write_text(FORMULAS.format(constant=1.0))
    (tmp_path / "probe.py").write_text(PROBE)

    def run(*command, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_ENABLE") and k != "NUMBA_CACHE_DIR"}
        env.update(PYTHONPATH=str(run.folder), PYTHONDONTWRITEBYTECODE="1", **environment)
        command = command or (str(run.folder / "probe.py"),)
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, timeout=1800)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = tmp_path
    return run


WIDTHS = """
import numba
from numbastats._core import templates
from numbastats._core.compile import build
from numbastats.scalar import elementary
for target in ("serial", "parallel"):
    k = build(templates.map1_cpu, target, _f=elementary.log)
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
    for c in prange((out.size + templates.CHUNK - 1) // templates.CHUNK):
        lo = np.int64(c) * templates.CHUNK
        o = out[lo : lo + templates.CHUNK]
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
        _vector_operations(compiling.build(template, target, _f=elementary.expm1))
        for template in (templates.map1_cpu, _one_vector)
    )
    assert plain > 20
    assert marked >= (loops.VECTORS - 1) * plain


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

    assert _vector_operations(marked) >= (loops.VECTORS - 1) * _vector_operations(plain) > 60


def test_marks_reach_the_innermost_loop_alone():
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(1)]), "nested")
    names = ("entry", "outer", "inner", "body", "branch", "inner_latch", "outer_latch", "exit")
    at_name = {name: function.append_basic_block(name) for name in names}
    jumps = {
        "entry": ["outer"], "outer": ["inner", "exit"], "inner": ["body", "outer_latch"], "body": ["branch", "inner_latch"],
        "branch": ["inner_latch"], "inner_latch": ["inner"], "outer_latch": ["outer"],
    }  # fmt: skip
    for name, targets in jumps.items():
        builder, blocks = ir.IRBuilder(at_name[name]), [at_name[t] for t in targets]
        builder.branch(*blocks) if len(blocks) == 1 else builder.cbranch(function.args[0], *blocks)
    ir.IRBuilder(at_name["exit"]).ret_void()
    at_name["branch"].in_step = True
    loops._hint(function)
    assert [name for name in names if "llvm.loop" in str(at_name[name].terminator)] == ["inner_latch"]
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    assert f'!"llvm.loop.interleave.count", i32 {loops.VECTORS}' in str(parsed)


def test_mark_outside_of_loops(monkeypatch):
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")

    def no_loop(x):
        in_step()
        x[0] = 1.0

    with pytest.raises(ValueError, match="outside of any loop"):
        compiling.build(no_loop, "serial")(np.zeros(3))


def hits(result):
    return [v[1] for v in result.values()]


def misses(result):
    return [v[2] for v in result.values()]


def test_second_process_hits_and_every_edit_misses(project):
    first, warned = project()
    assert misses(first) == [1, 1, 1, 1] and hits(first) == [0, 0, 0, 0]  # flags and targets have entries of their own
    assert warned == []
    assert hits(project()[0]) == [1, 1, 1, 1]

    source = project.folder / "formulas.py"
    text = source.read_text()
    total = first["serial "][0]

    source.write_text(text.replace("+ 1.0", "+ 2.0"))  # the formula
    edited, _ = project()
    assert misses(edited) == [1, 1, 1, 1] and edited["serial "][0] == pytest.approx(total + 100)

    source.write_text(text.replace("TUPLE = (1.0, 2.0)", "TUPLE = (1.0, 3.0)"))  # a tuple constant of a callee
    edited, _ = project()
    assert misses(edited) == [1, 1, 1, 1] and edited["serial "][0] == pytest.approx((total - 100) * 1.5 + 100)

    source.write_text(text)
    assert hits(project()[0]) == [1, 1, 1, 1]  # the old entries are still there

    for name in ("scalar/bits.py", "_core/compile.py", "_core/templates.py", "kde/kernels/geometry.py"):  # the library itself
        path = project.folder / "numbastats" / name
        path.write_text(path.read_text() + "\n# edited\n")
        assert misses(project()[0]) == [1, 1, 1, 1], name


def test_edit_reached_through_a_module_misses(project):
    """A callee used as module.function, in a library file, is covered by the hash of all scalars."""
    extra = project.folder / "numbastats" / "scalar" / "zzz.py"
    extra.write_text(
        textwrap.dedent("""
        import numpy as np
        from numbastats._core.compile import device_function
        ARRAY_CONSTANT = np.float64(5.0)
        @device_function
        def h(x):
            return x + ARRAY_CONSTANT
        """)
    )
    (project.folder / "formulas.py").write_text(
        textwrap.dedent("""
        from numbastats._core.compile import device_function
        from numbastats.scalar import zzz
        @device_function
        def f(x):
            return zzz.h(x)
        """)
    )
    total = project()[0]["serial "][0]
    assert hits(project()[0]) == [1, 1, 1, 1]
    extra.write_text(extra.read_text().replace("5.0", "6.0"))
    edited, _ = project()
    assert misses(edited) == [1, 1, 1, 1] and edited["serial "][0] == pytest.approx(total + 100)


ROOMS_PROBE = """
import importlib, json
from numbastats._core.compile import REGISTRY
found = {}
for name in ("bayes.draws", "kde.exhaustive", "mixture.prepare", "quantile.antithetic", "stable.quantile"):
    importlib.import_module("numbastats." + name.split(".")[0])
    kernel = REGISTRY[name]
    kernel.serial.compile(kernel.numba_signatures()[0][1])
    found[name] = [0.0, sum(kernel.serial.stats.cache_hits.values()), sum(kernel.serial.stats.cache_misses.values())]
print(json.dumps(found))
"""


def test_edited_constants_of_other_files_are_noticed(project):
    """One kernel of every room. All but the first were served with the constant of before, in mixtures without a sign of it."""
    (project.folder / "probe.py").write_text(ROOMS_PROBE)
    assert misses(project()) == [1] * 5
    assert hits(project()) == [1] * 5
    key = "import json; from numbastats._core import cache; print(json.dumps(cache.source_digest()))"
    keys = [project("-P", "-c", key)]
    for name, old, new in (
        ("bayes/kernels/likelihood.py", "GROUP = 64", "GROUP = 128"),
        ("kde/kernels/geometry.py", "PRODUCT = 8", "PRODUCT = 9"),
        ("mixture/climbing.py", "CENTRE, MASS, SUM1", "MASS, CENTRE, SUM1"),
        ("_core/templates.py", "CHUNK = 4096", "CHUNK = 8192"),
        ("stable/kernels/points.py", "TASK = 64", "TASK = 128"),
    ):
        path = project.folder / "numbastats" / name
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
        keys.append(project("-P", "-c", key))
    assert len(set(keys)) == 6
    assert misses(project()) == [1] * 5


SCALAR_PROBE = """
import json
from numbastats.scalar import elementary
value, stats = elementary.exp(1.5), elementary.exp._host.stats
hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(json.dumps([value, hits, misses]))
"""


def test_scalar_functions_called_from_python_are_cached(project):
    (project.folder / "probe.py").write_text(SCALAR_PROBE)
    assert project() == [math.exp(1.5), 0, 1]
    assert project() == [math.exp(1.5), 1, 0]
    path = project.folder / "numbastats" / "scalar" / "bits.py"  # of a callee
    path.write_text(path.read_text() + "\n# edited\n")
    assert project()[1:] == [0, 1]


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


def test_cache_can_be_turned_off(project):
    project(NUMBASTATS_CACHE="0")
    assert not list(project.folder.rglob("*.nbc"))
    result, warned = project(NUMBASTATS_CACHE="0")
    assert hits(result) == [0, 0, 0, 0] and warned == []


def test_unwritable_cache_folder_warns_once_and_works(project):
    """A file where the folder should be stops root as well as a user."""
    in_tree = project.folder / "numbastats" / "__pycache__"
    in_tree.write_text("in the way")
    home = project.folder / "home"
    home.write_text("in the way")
    result, warned = project(HOME=str(home), XDG_CACHE_HOME=str(home))
    assert len(warned) == 1 and "no cache folder can be written" in warned[0] and "NUMBA_CACHE_DIR" in warned[0]
    assert result["serial "][0] == pytest.approx(2 * np.linspace(0.5, 2, 100).sum() + 100)
    placed = dict(HOME=str(home), XDG_CACHE_HOME=str(home), NUMBA_CACHE_DIR=str(home / "cache"))
    result, warned = project(**placed)
    assert len(warned) == 1 and f"NUMBA_CACHE_DIR={home / 'cache'} cannot be written" in warned[0]
    in_tree.unlink()  # it used to take the place of NUMBA_CACHE_DIR without a word
    result, warned = project(**placed)
    assert len(warned) == 1 and f"compiled code goes to {in_tree}" in warned[0] and misses(result) == [1, 1, 1, 1]
    result, warned = project(**placed)
    assert warned == [] and hits(result) == [1, 1, 1, 1]


FROZEN = """
import builtins, os, tempfile
def refuse(name, mode="r", *rest, **options):
    if set(mode) & set("wxa+"):
        raise OSError(30, "Read-only file system", str(name))
    return opened(name, mode, *rest, **options)
opened, builtins.open = builtins.open, refuse
def fail(*args, **options):
    raise OSError(30, "Read-only file system")
os.mkdir = os.makedirs = os.replace = os.unlink = os.utime = tempfile.TemporaryFile = fail
"""


@pytest.mark.parametrize("placed", [False, True])
def test_warm_cache_that_can_only_be_read_is_used(project, tmp_path, placed):
    """As in a container. Every process compiled everything, with a warning."""
    placed = dict(NUMBA_CACHE_DIR=str(tmp_path / "cache")) if placed else {}
    first, _ = project(**placed)
    (project.folder / "probe.py").write_text(FROZEN + PROBE)
    result, warned = project(**placed)
    assert hits(result) == [1, 1, 1, 1] and warned == []
    assert [v[0] for v in result.values()] == [v[0] for v in first.values()]
    source = project.folder / "formulas.py"
    source.write_text(source.read_text().replace("+ 1.0", "+ 2.0"))
    result, warned = project(**placed)
    assert misses(result) == [1, 1, 1, 1] and len(warned) == 1 and "be written" in warned[0]


def test_folders_of_old_versions_go(tmp_path, monkeypatch):
    """Each edit of the package makes a folder; those not used for long are removed, and nothing else is."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for k in range(12):
        (tmp_path / f"numbastats-{k}").mkdir()
        os.utime(tmp_path / f"numbastats-{k}", (k, k))
    (tmp_path / "of_another_program").mkdir()
    cache._make(cache.folders()[0])
    left = {p.name for p in tmp_path.iterdir()}
    own = Path(cache.folders()[0]).name
    assert left == {"of_another_program", own, *(f"numbastats-{k}" for k in range(13 - cache.KEPT, 12))}


def test_installations_share_a_placed_cache(project, tmp_path):
    """With NUMBA_CACHE_DIR the folder goes by the sources, not by the installation: a copy hits, any edit misses."""
    cache = dict(NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert misses(project(**cache)[0]) == [1, 1, 1, 1]
    moved = project.folder / "elsewhere"
    moved.mkdir()
    for name in ("numbastats", "formulas.py", "constants.py", "probe.py"):
        (project.folder / name).rename(moved / name)
    project.folder = moved
    assert hits(project(**cache)[0]) == [1, 1, 1, 1]
    path = moved / "numbastats" / "kde" / "kernels" / "geometry.py"  # whose constants other files import
    path.write_text(path.read_text() + "\n# edited\n")
    assert misses(project(**cache)[0]) == [1, 1, 1, 1]


TAKEN_AWAY = """
import json, os, shutil, warnings
import numpy as np
from pathlib import Path
from numbastats._core import templates
from numbastats._core.compile import build
import formulas
k = build(templates.map1_cpu, "serial", _f=formulas.f)
def total(t):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = np.zeros(100, t)
        k(np.linspace(0.5, 2.0, 100, dtype=t), out)
    return float(out.sum()), [str(w.message) for w in seen]
first = total("f8")
root = Path(os.environ["NUMBA_CACHE_DIR"])
shutil.rmtree(root)
os.mkdir("elsewhere")
os.chdir("elsewhere")
second = total("f4")
kept = len(list((root if root.is_absolute() else ".." / root).rglob("*.nbc")))
for folder in (root if root.is_absolute() else ".." / root, Path(root)):
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("in the way")
third = total("i8")
print(json.dumps([first, second, kept, third]))
"""


@pytest.mark.parametrize("folder", ["absolute", "relative"])
def test_cache_folder_that_is_taken_away(project, folder):
    """It is made again; where it cannot be, results come with one warning. Both used to raise FileNotFoundError."""
    (project.folder / "probe.py").write_text(f"import os\nos.chdir({str(project.folder)!r})\n" + TAKEN_AWAY)
    root = str(project.folder / "cache") if folder == "absolute" else "cache"
    first, second, kept, third = project(NUMBA_CACHE_DIR=root)
    assert first[0] == pytest.approx(350) and second[0] == pytest.approx(350) and third[0] > 0
    assert first[1] == second[1] == [] and kept == 1
    assert len(third[1]) == 1 and "NUMBA_CACHE_DIR" in third[1][0]


def _flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "text": lambda content: b"of another program",
    "truncated": lambda content: content[:-100],
    "a bit": _flip,
    "a page": lambda content: content[:4096] + bytes(4096) + content[8192:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cache_files_are_written_anew(project, damage):
    """As a crash of the machine leaves them. A zeroed page crashed every later process, a bit could change results."""
    first, _ = project()
    for path in project.folder.rglob("*.nbc"):
        content = path.read_bytes()
        assert len(content) > 8192
        path.write_bytes(DAMAGE[damage](content))
    second, warned = project()
    assert misses(second) == [1, 1, 1, 1] and warned == []
    assert [v[0] for v in second.values()] == [v[0] for v in first.values()]
    assert hits(project()[0]) == [1, 1, 1, 1]


def test_entries_that_cannot_be_rebuilt_are_compiled(project):
    """Whatever the code generator raises; it passed through to the caller."""
    project()
    fail = """
from numba.core import codegen
def fail(*args):
    raise RuntimeError("LLVM")
codegen.JITCPUCodegen.unserialize_library = fail
"""
    (project.folder / "probe.py").write_text(fail + PROBE)
    result, warned = project()
    assert misses(result) == [1, 1, 1, 1] and warned == []


RACE = """
import json
import numpy as np
from numbastats._core import cache, templates
from numbastats._core.compile import build
import formulas
x = {np.dtype(t): np.linspace(0.5, 2.0, 100, dtype=t) for t in ("f4", "f8")}
def kernel():
    return build(templates.map1_cpu, "serial", _f=formulas.f)
def total(k, t):
    out = np.zeros(100, t)
    k(x[out.dtype], out)
    return float(out.sum()), sum(k.stats.cache_hits.values())
first, second, third = kernel(), kernel(), kernel()
write = cache._write
def overtaken(path, content):
    cache._write = write
    total(second, "f4")
    write(path, content)
cache._write = overtaken
total(first, "f8")
print(json.dumps([total(third, "f4"), total(third, "f8")]))
"""


def test_processes_that_compile_at_once_do_not_mix_their_files(project):
    """Numba numbers the files of a kernel by an index without a lock; here one process overtakes the other."""
    (project.folder / "probe.py").write_text(RACE)
    (single, hit), (double, hits_then) = project()
    assert hit == 1 and hits_then == 2  # both entries are there
    assert single == pytest.approx(350, rel=1e-6) and double == pytest.approx(350, rel=1e-12)


def test_build_checks_its_arguments():
    with pytest.raises(ValueError, match="nnan"):
        compiling.build(templates.map1_cpu, "serial", fastmath=("nnan",), _f=abs)
    with pytest.raises(ValueError, match="serial"):
        compiling.build(templates.map1_cpu, "gpu", _f=abs)
    with pytest.raises(ValueError, match="already registered"):
        from tests import demo_kernels

        compiling.Kernel(demo_kernels.SUM.name, None, None, None)


def test_kernels_pickle_by_name():
    import pickle

    import numbastats.quantile.kernels as kernels

    for kernel in (*kernels.NDTRI.values(), kernels.ANTITHETIC):
        assert pickle.loads(pickle.dumps(kernel)) is kernel


def _add_one(x, out):
    for i in range(x.size):
        out[i] = x[i] + 1.0


def test_split_kernel_calls_its_serial_twin_on_parts(monkeypatch):
    seen = []

    def split(args, parts):
        cuts = [slice(a, a + 7) for a in range(0, args[0].size, 7)]
        seen.extend([parts, len(cuts)])
        return [tuple(a[cut] for a in args) for cut in cuts]

    monkeypatch.setattr(compiling, "REGISTRY", {})
    kernel = compiling.Kernel("demo.split", _add_one, None, lambda T: [(T[::1], T[::1])], split=split)
    x = np.arange(30.0)
    out = np.zeros(30)
    kernel.parallel(x, out)
    assert (out == x + 1).all() and seen == [compiling.PARTS * numba.get_num_threads(), 5]
    assert kernel.parallel.compile == kernel.serial.compile  # warmup compiles nothing twice
    with pytest.raises(numba.TypingError):  # of a thread
        kernel.parallel(x.astype(complex), out)


def _turns(out, order, fails):
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared = cuda.shared.array(4, np.int64)
    shared[t] = t
    for s in range(t):  # threads 1 to 3 pass 1 to 3 barriers, and end
        order.append((i, s))
        cuda.syncthreads()
        out[i] += shared[(t + s) % 4]
        cuda.syncthreads()
        shared[t] += 10
        if t == fails:
            raise KeyError("wrong")


@pytest.mark.skipif(not compiling.SIMULATED, reason="the simulator")
def test_threads_of_a_simulated_block_take_turns():
    """One at a time, in order, each to its next barrier; those that have ended are not waited for."""
    out, order = np.zeros(8, np.int64), []
    cuda.jit(_turns)[2, 4](out, order, -1)
    assert out.tolist() == [0, 1, 2 + 13, 3 + 0 + 11] * 2
    assert order == [(4 * b + t, s) for b in range(2) for s in range(3) for t in range(s + 1, 4)]
    before = threading.active_count()
    with pytest.raises(KeyError, match="wrong") as caught:
        cuda.jit(_turns)[2, 4](out, order, 2)
    assert caught.value.__notes__ == ["in thread (2, 0, 0) of block (0, 0, 0)"]
    cuda.jit(_turns)[2, 4](out, order, -1)
    assert threading.active_count() == before  # the workers of the failed block are at work again


def _counts(out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    out[y, x, 0] = cuda.syncthreads_count(x)
    out[y, x, 1] = cuda.syncthreads_or(x == 2)
    out[y, x, 2] = cuda.syncthreads_and(x < 2)


@pytest.mark.skipif(not compiling.SIMULATED, reason="the simulator")
def test_votes_of_a_simulated_block():
    out = np.zeros((2, 3, 3), np.int64)
    cuda.jit(_counts)[1, (3, 2)](out)
    assert (out == [4, 1, 0]).all()


def test_collector_is_on_again_after_compiling():
    import gc

    kernel = compiling.build(_add_one, "serial")
    kernel(np.arange(3.0, dtype=np.float32), np.zeros(3))
    assert gc.isenabled()


def test_kernels_call_their_own_copies_of_functions(monkeypatch):
    """Else a process that compiles a kernel would run other code than one that loads it, and round differently."""
    monkeypatch.setenv("NUMBASTATS_CACHE", "0")

    @compiling.array_function(host=False)
    def inner(x):
        total = 0.0
        while total * total < x[0]:
            total += 1.0
        return total

    def outer(x):
        x[1] = inner(x) + inner(x[1:])

    kernel = compiling.build(outer, "serial", inner=inner)
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


EDITED_LATER = """
import json, os, sys
import numpy as np
from numbastats._core import cache, templates
from numbastats._core.compile import build
cache.folders()
if len(sys.argv) > 1:
    path = os.path.join(cache.PACKAGE, "scalar", "families.py")
    text = open(path).read()
    open(path, "w").write(text + "\\n# edited\\n")
import formulas
k = build(templates.map1_cpu, "serial", _f=formulas.f)
k(np.ones(3), np.ones(3))
if len(sys.argv) > 1:
    open(path, "w").write(text)
print(json.dumps({"": [0.0, sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())]}))
"""


def test_code_of_edited_modules_is_not_kept_as_that_of_before(project):
    """What a process compiles from modules that it imported after an edit is not what its hash says."""
    (project.folder / "probe.py").write_text(EDITED_LATER)
    probe = str(project.folder / "probe.py")
    assert misses(project(probe, "edit")) == [1]
    assert misses(project(probe)) == [1]
    assert hits(project(probe)) == [1]


def test_import_with_another_numba(run_python):
    """A part that saves time may be missing; without a part that is overridden, results could depend on the cache."""
    code = """
import numba.np.arraymath, numba.np.linalg as linalg
del linalg.ensure_blas
import numbastats
from numba.core import codegen
del codegen.CPUCodeLibrary._optimize_final_module
import sys
for name in [name for name in sys.modules if name.startswith("numbastats")]:
    del sys.modules[name]
try:
    import numbastats
except ImportError as error:
    print(error)
"""
    done = run_python(code)
    assert f"Numba {numba.__version__}" in done and "_optimize_final_module" in done and "pip install" in done


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


def test_warmup_compiles_every_signature(run_python):
    code = """
import numbastats as ns
n = ns.warmup("quantile", parallel=False)
from numbastats._core.compile import REGISTRY
print(n == sum(len(k.numba_signatures()) for k in REGISTRY.values() if k.name.startswith(("quantile.", "random."))), n > 20)
"""
    assert run_python(code).split() == ["True", "True"]


def test_warmup_knows_all_topics(run_python):
    code = """
import numbastats as ns
from numbastats._core import compile
compile.Kernel.numba_signatures = lambda kernel: []  # nothing to compile
compile.HostLoop.signatures = property(lambda loop: [], lambda loop, given: None)
print(ns.warmup(), {name.split(".")[0] for name in compile.REGISTRY} == set(compile.TOPICS))
"""
    assert run_python(code).split() == ["0", "True"]
    with pytest.raises(ValueError, match="'stable'"):
        compiling.warmup("scalars")


AFTER_WARMUP = {
    "bayes": """
X, y = r.normal(size=(60, 3)), r.integers(0, 2, 60)
for prior in ("horseshoe", "lasso"):
    for standardize in (False, True):
        ns.bayes.BayesProbit(prior, warmup=50, draws=20, chains=2, rng=1, standardize=standardize).fit(X, y).predict_proba(X)
ns.bayes.log_ndtr(x), ns.bayes.inv_mills(x), ns.bayes.log_exe1(abs(x)), ns.bayes.truncnorm_rvs(x)
""",
    "kde": """
for d in (1, 2, 3):
    z, w = r.normal(size=(300, d)), r.random(300)
    z.flags.writeable = False
    for weights in (None, w):
        for kernel in ("epanechnikov", "gaussian", "triangular"):
            f = ns.kde.grid(z, ns.kde.regular_axes(z, shape=12), weights=weights, kernel=kernel)
            ns.kde.points(z, z[:7], weights=weights, kernel=kernel)
    ns.kde.grid(z, ns.kde.regular_axes(z, shape=12), adaptive=("abramson", 0.5))
    for rule in ("scott", "plugin", "lscv"):
        getattr(ns.kde.bandwidth, rule)(z)
ns.kde.bandwidth.isj(x)
ns.kde.KDE(h=0.5).fit(x).score_samples(x)
""",
    "mixture": """
z = r.wald(1.0, 3.0, 400)
for family in ("inverse_gaussian", "gamma", "gaussian"):
    ns.mixture.fit_many([z, z[:200]], 2, family=family, rng=0)
    ns.mixture.fit(r.wald(1.0, 3.0, 200_000), 2, family=family, rng=0, n_init=1)
    for f in (ns.mixture.pdf, ns.mixture.cdf, ns.mixture.responsibilities):
        f(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.ppf(0.3, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family=family)
    ns.mixture.rvs([0.5, 0.5], [1.0, 2.0], [1.0, 1.0], 10, family=family)
ns.mixture.partial_stats(z, [0.5, 0.5], [1.0, 2.0], [1.0, 1.0], family="inverse_gaussian")
""",
    "quantile": """
u = r.random(5000)
for f in (ns.quantile.ndtri, ns.quantile.standard_normal, ns.quantile.norm_from_exponential, ns.quantile.antithetic):
    f(u) if f is not ns.quantile.standard_normal else f(10)
for law in (ns.quantile.student_t(4.5), ns.quantile.nig(2.0, 0.3, 1.0), ns.quantile.variance_gamma(2.0, 1.5, 0.3)):
    law.ppf(u), law.pdf(x), law.cdf(x), law.rvs(10)
table = ns.quantile.Recycler(lambda t: np.exp(-t * t / 2))
table.ppf(u), table.pdf(x), table.rvs(10)
""",
    "stable": """
for alpha, beta in ((1.7, -0.2), (1.0, 0.5), (0.6, 0.9)):
    for f in (ns.stable.pdf, ns.stable.logpdf, ns.stable.cdf, ns.stable.sf, ns.stable.score):
        f(x, alpha, beta)
    ns.stable.ppf(r.random(50), alpha, beta), ns.stable.pdf_cdf(x, alpha, beta)
    ns.stable.pdf(x, np.full(50, alpha), beta), ns.stable.rvs(alpha, beta, size=10)
y = ns.stable.rvs(1.6, 0.2, size=300, rng=1)
for method in ("ml", "ecf", "quantile"):
    ns.stable.fit(y, method)
ns.stable.fit_many([y, y[:100]])
""",
    "random": """
for T in ("f8", "f4"):
    for a in (1.0, np.ones(3)):
        ns.random.uniform(-a, a, 3, dtype=T), ns.random.normal(a, a, 3, dtype=T), ns.random.exponential(a, 3, dtype=T)
        ns.random.gamma(a, a, 3, dtype=T), ns.random.truncnorm(a, a, a, a, 3, dtype=T)
""",
}


@pytest.mark.parametrize("room", AFTER_WARMUP)
def test_nothing_is_compiled_after_warmup(run_python, room):
    """Loops that run on the host alone were left out."""
    code = f"""
import numpy as np, warnings
import numbastats as ns
from numba.core import event
from numbastats._core import cache
warnings.simplefilter("ignore")
ns.warmup({room!r}, parallel=False)
ns.config.set(workers=1, device="cpu")
r = np.random.default_rng(1)
x = r.normal(size=50)
found, load = set(), cache._Entries.load
cache._Entries.load = lambda entries, key: found.add(entries._stem) or load(entries, key)
with event.install_recorder("numba:compile") as recorder:
{textwrap.indent(AFTER_WARMUP[room], "    ")}
print(sorted(found | {{e.data["dispatcher"].py_func.__name__ for _, e in recorder.buffer}}))
"""
    assert run_python(code).strip() == "[]"


def test_self_check_runs(run_python):
    done = subprocess.run([sys.executable, "-m", "numbastats"], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("numbastats", "numba", "threading layer", "cache", "CUDA", "self-check passed"):
        assert word in done.stdout


def test_functions_without_reference_counts_hold_no_arrays():
    """A caller would give back a reference that was never taken, and free memory in use; or one would never be given back."""

    def views(x):
        return 1.0, x[1:]

    owner = compiling.array_function(host=False, allocates=True)(views)

    def first(x):
        return owner(x)[1][0]

    bad = compiling.array_function(host=False)(views)
    x = np.array([1.0, 2.0, 3.0])
    keeper = compiling.array_function(host=False, allocates=True)(first)
    whole = numba.njit(lambda x: keeper(x))
    before = sys.getrefcount(x)
    for _ in range(100):
        assert whole(x) == 2.0
    assert sys.getrefcount(x) == before
    for function in (bad, compiling.array_function(host=False)(first)):
        with pytest.raises(numba.TypingError, match="returns an array or calls what does; say array_function"):
            numba.njit(lambda x, function=function: function(x))(x)
