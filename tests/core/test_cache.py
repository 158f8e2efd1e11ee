"""The disk cache: what hits, what misses, and what survives damage, read-only folders and races."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import numbastats
from numbastats._core import cache, sources
from tests.contract import slowly

PACKAGE = Path(numbastats.__file__).parent


PROBE = """
import json, os, sys, warnings
import numpy as np
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from numbastats._core.kernel import build
    from numbastats.scalar import formulas, loops
    x = np.linspace(0.5, 2.0, 100)
    result = {}
    variants = [("serial", ()), ("serial", ("reassoc", "contract")), ("parallel", ()), ("parallel", ("reassoc", "contract"))]
    for again in ("", "again ")[: int(os.environ["ROUNDS"])]:
        for target, flags in variants[: int(os.environ["VARIANTS"])]:
            k = build(loops.map1_cpu, target, fastmath=flags, _f=formulas.f)
            out = np.empty_like(x)
            k(x, out)
            hits, misses = sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())
            result[f"{again}{target} {' '.join(flags)}"] = [float(out.sum()), hits, misses]
print(json.dumps([result, [str(w.message) for w in seen if "numbastats" in str(w.message)]]))
"""


FORMULAS = """
from numbastats._core.kernel import device_function
from numbastats.scalar.constants import FACTOR
TUPLE = (1.0, 2.0)
@device_function
def g(x):
    return x * TUPLE[1] * FACTOR
@device_function
def f(x):
    return g(x) + {constant}
"""


def _project(folder):
    """A private copy of the package with a module of formulas; returns a function that runs the probe.

    It compiles two variants, of different flags; with VARIANTS="4" for each of two targets; with ROUNDS="2" another time.
    """
    shutil.copytree(PACKAGE, folder / "numbastats", ignore=shutil.ignore_patterns("numbastats-*", "_packs"))
    (folder / "numbastats/scalar/constants.py").write_text("FACTOR = 1.0\n")
    (folder / "numbastats/scalar/formulas.py").write_text(FORMULAS.format(constant=1.0))
    (folder / "probe.py").write_text(PROBE)
    return _runner(folder)


def _runner(folder):
    def run(*command, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_ENABLE") and k != "NUMBA_CACHE_DIR"}
        env.update({"PYTHONPATH": str(run.folder), "PYTHONDONTWRITEBYTECODE": "1", "VARIANTS": "2", "ROUNDS": "1", **environment})
        command = command or (str(run.folder / "probe.py"),)
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, timeout=1800)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = folder
    return run


@pytest.fixture
def project(tmp_path):
    """Whose cache is empty."""
    return _project(tmp_path)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A project after its first run, and what that run found."""
    project = _project(tmp_path_factory.mktemp("before"))
    first, warned = project()
    assert misses(first) == [1, 1] and warned == []
    return project.folder, first


@pytest.fixture
def filled(tmp_path, before):
    """A project that was run once: a copy, with its cache beside the package; `place` moves that to NUMBA_CACHE_DIR."""
    shutil.copytree(before[0], tmp_path, dirs_exist_ok=True)
    project = _runner(tmp_path)
    project.first = before[1]

    def place():
        (in_tree,) = (tmp_path / "numbastats/__pycache__").glob("numbastats-*")
        (tmp_path / "cache").mkdir()
        in_tree.rename(tmp_path / "cache" / in_tree.name)
        return {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    project.place = place
    return project


def hits(result):
    return [v[1] for v in result.values()]


def misses(result):
    return [v[2] for v in result.values()]


def test_second_process_hits_and_every_edit_misses(project):
    first, warned = project(VARIANTS="4")
    assert misses(first) == [1, 1, 1, 1] and hits(first) == [0, 0, 0, 0]  # flags and targets have entries of their own
    assert warned == []
    assert hits(project(VARIANTS="4")[0]) == [1, 1, 1, 1]

    source = project.folder / "numbastats/scalar/formulas.py"
    text = source.read_text()
    total = first["serial "][0]

    source.write_text(text.replace("+ 1.0", "+ 2.0"))  # the formula
    edited, _ = project()
    assert misses(edited) == [1, 1] and edited["serial "][0] == pytest.approx(total + 100)

    source.write_text(text.replace("TUPLE = (1.0, 2.0)", "TUPLE = (1.0, 3.0)"))  # a tuple constant of a callee
    edited, _ = project()
    assert misses(edited) == [1, 1] and edited["serial "][0] == pytest.approx((total - 100) * 1.5 + 100)

    source.write_text(text + "\n# edited\n")
    for path, edit, reached in (
        (project.folder / "numbastats/kde/kernels/geometry.py", "\nEDITED = 1\n", False),  # old entries are still there
        (source.with_name("constants.py"), "FACTOR = 2.0\n", True),  # of a callee, by an import
        (source.with_name("loops.py"), "\nEDITED = 1\n", True),  # where the template is
    ):
        path.write_text(path.read_text() + edit)
        edited, _ = project()
        assert misses(edited) == [reached, reached], path
    assert edited["serial "][0] == pytest.approx((total - 100) * 2 + 100)


OUTSIDE = """
import json
import numpy as np
from numbastats._core.kernel import bind, build, device_function
from numbastats.scalar import elementary, formulas, loops
from ours.formulas import f
def closed(g):
    @device_function
    def closure(x):
        return g(x)
    return closure
result = {}
bound = bind(formulas.f, g=f)
for name, function in (("own", f), ("bound", bound), ("closure", closed(f)), ("library", elementary.exp)):
    k = build(loops.map1_cpu, "serial", _f=function)
    out = np.empty(1)
    k(np.ones(1), out)
    result[name] = [float(out[0]), sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())]
result["scalar"] = [f(1.0), *(sum(c.values()) for c in (f.host.stats.cache_hits, f.host.stats.cache_misses))]
print(json.dumps(result))
"""


def test_functions_from_outside_the_package_are_not_kept(project):
    """What they import is not known: after an edit of `C` the code of before was taken from the disk."""
    (project.folder / "probe.py").write_text(OUTSIDE)
    (project.folder / "ours").mkdir()
    constants = project.folder / "ours" / "consts.py"
    imports = "from numbastats._core.kernel import device_function\nfrom ours.consts import C\n"
    (project.folder / "ours" / "formulas.py").write_text(imports + "@device_function\ndef f(x):\n    return C * x")
    for c, kept in ((2.0, 0), (2.0, 1), (3.0, 1)):
        constants.write_text(f"C = {c}\n")
        found = project()
        assert found == {
            **{name: [c, 0, 1] for name in ("own", "closure", "scalar")},
            "bound": [c + 1.0, 0, 1],
            "library": [pytest.approx(math.e), kept, 1 - kept],
        }
    assert len(list(project.folder.rglob("*.nbc"))) == 1


WAYS = """
from numba import types
from numbastats._core import numba_internals
from numbastats._core.kernel import HostLoop, Kernel, WithFunctions, array_function, bind, build, device_function
from numbastats.scalar import loops
from numbastats.scalar.formulas import f
_f = _call = None
@device_function
def called(x):
    return _f(x)
@array_function(host=False)
def of_array(x, i):
    return f(x[i])
def over_arrays(x, out):
    for i in range(x.size):
        out[i] = of_array(x, i)
def closure(g, factor):
    @device_function
    def closed(x):
        return factor * g(x)
    return closed
_SIGNATURE = types.float64(types.float64)
def by_address(code, x, out):
    for i in range(x.size):
        out[i] = _call(code[2], (x[i],))
def addressed():
    own = WAYS["serial"].with_cache(called.py_func, "serial", _f=f)
    shared = WAYS["serial"].with_cache(by_address, "serial", _call=numba_internals.caller(_SIGNATURE))
    code, line = types.UniTuple(types.int64, 3), types.float64[::1]
    return WithFunctions(shared, (code, line, line), 0, {own: _SIGNATURE.args})
def loop(name, cpu=loops.map1_cpu, **options):
    return Kernel(f"ways.{name}", cpu, loops.map1_cuda, lambda T: [(T[::1], T[::1])], **options)
WAYS = dict(
    serial=loop("serial", _f=f), bound=loop("bound", _f=bind(called, _f=f)), closure=loop("closure", _f=closure(f, 1.0)),
    again=loop("again", _f=closure(f, 3.0)), late=loop("late", late=lambda: {"_f": f}),
    split=loop("split", split=lambda args, parts: [args], _f=f), host=HostLoop("ways.host", over_arrays, []),
)
"""

WAYS_PROBE = """
import json
import numpy as np
from numbastats.scalar import ways
def counted(value, *dispatchers):
    stats = [d.stats for d in dispatchers]
    return [value, *(sum(sum(getattr(s, name).values()) for s in stats) for name in ("cache_hits", "cache_misses"))]
x, out, found = np.ones(1), np.empty(1), {}
for name, loop in ways.WAYS.items():
    loop.serial(x, out)
    found[name] = counted(out[0], loop.serial)
ways.WAYS["serial"].parallel(x, out)
found["parallel"] = counted(out[0], ways.WAYS["serial"].parallel)
found["scalar"] = counted(ways.f(1.0), ways.f.host)
addressed = ways.addressed()
addressed(0, x, out)
found["addressed"] = counted(out[0], *[d for d, _ in addressed.parts])
found["cuda"] = [ways.WAYS["serial"].cuda._cache._cache_file._stem, 0, 0]
print(json.dumps(found))
"""


def test_an_edit_reaches_every_way_of_making_a_kernel(project):
    """What a kernel does not reach leaves all of them as they are. The CUDA twin is seen by the name under which it is kept."""
    (project.folder / "probe.py").write_text(WAYS_PROBE)
    (project.folder / "numbastats/scalar/ways.py").write_text(WAYS)
    names = "serial bound closure again late split host parallel scalar".split()

    def found():
        made = project()
        return made.pop("cuda")[0], made.pop("addressed"), made

    def expected(value, hit):
        of_again = {"again": 3 * value}
        return {name: [of_again.get(name, value), int(hit), int(not hit)] for name in names}

    stem, addressed, made = found()
    assert (addressed, made) == ([3.0, 0, 2], expected(3.0, False) | {"split": [3.0, 1, 0], "late": [3.0, 1, 0]})
    for edits, value in (
        ({"formulas.py": "\n# edited\n", "tables.py": "\nEDITED = 1\n"}, None),
        ({"constants.py": "FACTOR = 2.0\n"}, 5.0),
        ({"constants.py": "\nUNUSED = 1.0\n"}, 5.0),
    ):
        for name, text in edits.items():
            path = project.folder / "numbastats/scalar" / name
            path.write_text(path.read_text() + text)
        before = stem
        stem, addressed, made = found()
        if value is None:
            assert (stem, addressed, made) == (before, [3.0, 2, 0], expected(3.0, True)), edits
        else:
            assert stem != before and addressed == [value, 0, 2], edits
            assert made == expected(value, False) | {"split": [value, 1, 0], "late": [value, 1, 0]}, edits


def test_values_that_differ_between_processes_are_not_bound(project):
    """A kernel of such a value would have another name in each process."""
    code = "from numbastats._core.kernel import build\nfrom numbastats.scalar.loops import map1_cpu\n"
    code += "build(map1_cpu, 'serial', _f=object())"
    with pytest.raises(AssertionError, match="is bound to a kernel; bind functions, numbers, tuples, arrays or Numba types"):
        project("-c", code)


def test_edit_reached_through_a_module_misses(project):
    """A callee used as module.function is covered by the digest of its file."""
    extra = project.folder / "numbastats" / "scalar" / "zzz.py"
    extra.write_text(
        textwrap.dedent("""
        import numpy as np
        from numbastats._core.kernel import device_function
        ARRAY_CONSTANT = np.float64(5.0)
        @device_function
        def h(x):
            return x + ARRAY_CONSTANT
        """)
    )
    (project.folder / "numbastats/scalar/formulas.py").write_text(
        textwrap.dedent("""
        from numbastats._core.kernel import device_function
        from numbastats.scalar import zzz
        @device_function
        def f(x):
            return zzz.h(x)
        """)
    )
    total = project()[0]["serial "][0]
    assert hits(project()[0]) == [1, 1]
    extra.write_text(extra.read_text().replace("5.0", "6.0"))
    edited, _ = project()
    assert misses(edited) == [1, 1] and edited["serial "][0] == pytest.approx(total + 100)


ROOMS_PROBE = """
import importlib, json
from numbastats._core.kernel import REGISTRY
found = {}
for name in ("bayes.draws", "kde.exhaustive_power", "mixture.prepare", "quantile.antithetic", "stable.quantile"):
    importlib.import_module("numbastats." + name.split(".")[0])
    kernel = REGISTRY[name]
    kernel.serial.compile(kernel.numba_signatures()[0][1])
    found[name] = [0.0, sum(kernel.serial.stats.cache_hits.values()), sum(kernel.serial.stats.cache_misses.values())]
print(json.dumps(found))
"""


def test_an_edit_compiles_what_it_reaches(project):
    """One kernel of every room, by constants of other files and by what is not theirs."""
    (project.folder / "probe.py").write_text(ROOMS_PROBE)
    assert misses(project()) == [1] * 5
    names = ("bayes.draws", "kde.exhaustive_power", "mixture.prepare", "quantile.antithetic", "stable.quantile")

    def missed():
        return {name for name, miss in zip(names, misses(project()), strict=True) if miss}

    nothing = [
        ("bayes/kernels/likelihood.py", "GROUP = 64", "GROUP = 128"),  # of other kernels of the room
        ("kde/kernels/pairs.py", "NEWTON = 6", "NEWTON = 7"),
        ("scalar/elementary.py", '"""', '"""Edited. '),  # a docstring
        ("_core/slabs.py", "CHUNK = 4096", "CHUNK = 8192"),  # host code
    ]
    for edits, reached in (
        (nothing, set()),
        ([("mixture/kernels/records.py", "centre mass sum1", "mass centre sum1")], {"mixture.prepare"}),
        ([("scalar/loops.py", "CHUNK = 4096", "CHUNK = 8192")], {"quantile.antithetic"}),
        ([("stable/kernels/points.py", "TASK = 64", "TASK = 128")], {"stable.quantile"}),
        ([("scalar/kde.py", "__all__ = [", "__all__ = ['no_kernel', ")], {"kde.exhaustive_power"}),
        ([("_core/numba_internals.py", "VECTORS = 4", "VECTORS = 2")], set(names)),
        ([], set()),  # each run also shows that what the edits before it reached is kept
    ):
        for name, old, new in edits:
            path = project.folder / "numbastats" / name
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new, 1))
        assert missed() == reached, edits


SCALAR_PROBE = """
import json
from numbastats.scalar import elementary
value, stats = elementary.exp(1.5), elementary.exp.host.stats
hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(json.dumps([value, hits, misses]))
"""


def test_scalar_functions_called_from_python_are_cached(project):
    (project.folder / "probe.py").write_text(SCALAR_PROBE)
    assert project() == [math.exp(1.5), 0, 1]
    path = project.folder / "numbastats" / "scalar" / "bits.py"  # of a callee
    text = path.read_text()
    path.write_text(text + "\n# edited\n")
    assert project() == [math.exp(1.5), 1, 0]
    written = path.stat()
    path.write_text(text + "\nEDITED = 1\n")
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # as by a clock that was put back
    assert project()[1:] == [0, 1]


def test_cache_can_be_turned_off(filled):
    """What is there is not read, and nothing is written; a written file is another one."""
    files = {path: path.stat().st_ino for path in filled.folder.rglob("numbastats-*/*")}
    result, warned = filled(NUMBASTATS_CACHE="0")
    assert hits(result) == [0, 0] and warned == []
    assert {path: path.stat().st_ino for path in filled.folder.rglob("numbastats-*/*")} == files and len(files) == 3


def test_unwritable_cache_folder_warns_once_and_works(project):
    """A file where the folder should be stops root as well as a user."""
    in_tree = project.folder / "numbastats" / "__pycache__"
    shutil.rmtree(in_tree, ignore_errors=True)
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
    assert len(warned) == 1 and f"compiled code goes to {in_tree}" in warned[0] and misses(result) == [1, 1]
    result, warned = project(**placed)
    assert warned == [] and hits(result) == [1, 1]


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
def test_warm_cache_that_can_only_be_read_is_used(filled, placed):
    """As in a container. Every process compiled everything, with a warning."""
    placed = filled.place() if placed else {}
    (filled.folder / "probe.py").write_text(FROZEN + PROBE)
    result, warned = filled(**placed)
    assert hits(result) == [1, 1] and warned == []
    assert [v[0] for v in result.values()] == [v[0] for v in filled.first.values()]
    source = filled.folder / "numbastats/scalar/formulas.py"
    source.write_text(source.read_text().replace("+ 1.0", "+ 2.0"))
    result, warned = filled(**placed)
    assert misses(result) == [1, 1] and len(warned) == 1 and "be written" in warned[0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files")
@pytest.mark.parametrize("theirs", ["folder anyone writes", "entries", "entries anyone writes", *slowly("folder", "link")])
def test_what_others_may_have_written_is_not_run(filled, tmp_path, theirs):
    """Entries are pickles; a forged one in a folder of another user was executed without a word."""
    if os.geteuid() != 0 and "anyone" not in theirs:
        pytest.skip("only root gives files away")
    placed = filled.place() | dict(XDG_CACHE_HOME=str(tmp_path / "home"))
    assert hits(filled(**placed)[0]) == [1, 1]
    (folder,) = (tmp_path / "cache").iterdir()
    if theirs == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        assert hits(filled(**placed)[0]) == [1, 1]  # a link of one's own
        os.lchown(folder, 65534, 65534)
    for path in [folder] if "folder" in theirs else folder.iterdir() if "entries" in theirs else []:
        path.chmod(path.stat().st_mode | 0o002) if "anyone" in theirs else os.chown(path, 65534, 65534)
    result, warned = filled(**placed)
    assert misses(result) == [1, 1]
    assert len(warned) == ("entries" not in theirs) and all(f"folder {folder} is not used" in w for w in warned)


@pytest.mark.parametrize("trouble", ["half edited", *slowly("removed", "edited behind a link")])
def test_files_that_change_while_a_process_runs(filled, trouble):
    """The code that is loaded goes on; nothing of it is kept. The first two raised FileNotFoundError and SyntaxError."""
    path = filled.folder / "numbastats" / "scalar" / "bits.py"
    if trouble == "edited behind a link":  # of a callee
        (filled.folder / "elsewhere").mkdir()
        path.parent.rename(filled.folder / "elsewhere" / "scalar")
        path.parent.symlink_to(filled.folder / "elsewhere" / "scalar")
        filled()
        assert hits(filled()[0]) == [1, 1]
        path.write_text(path.read_text() + "\nEDITED = 1\n")
        assert misses(filled()[0]) == [1, 1]
        return
    change = "path.unlink()" if trouble == "removed" else "path.write_text(path.read_text() + 'def f(:')"
    loaded = f"from pathlib import Path\nfrom numbastats.scalar import elementary\npath = Path({str(path)!r})\n{change}\n"
    (filled.folder / "probe.py").write_text(loaded + SCALAR_PROBE)
    assert filled() == [math.exp(1.5), 0, 1]
    assert len(list(filled.folder.rglob("*.nbc"))) == 2  # those of before


@pytest.mark.parametrize("umask", [0o002, 0o000])
def test_folders_that_were_made_here_are_used(project, umask):
    """With a umask of 0 everybody could have written them, and they were refused."""
    before = os.umask(umask)
    try:
        first, warned = project()
        assert misses(first) == [1, 1] and warned == []
        again, warned = project()
        assert hits(again) == [1, 1] and warned == []
    finally:
        os.umask(before)


@pytest.mark.parametrize("isolated", [(), ("-I",)])
def test_a_file_of_the_current_folder_names_no_cache(tmp_path, isolated):
    """Numba reads .numba_config.yaml where PyYAML is installed; whoever wrote it chose the folder whose pickles were executed."""
    code = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); import numba; numba.config.CACHE_DIR = 'evil'\n"
    code += "from numbastats._core import cache; print(any('evil' in folder for folder in cache.folders()))"
    done = subprocess.run([sys.executable, *isolated, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "False\n", done.stderr


def test_folders_of_old_versions_go(tmp_path, monkeypatch):
    """Each set of versions has a folder; those not used for long are removed, and nothing else is."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for k in range(12):
        (tmp_path / f"numbastats-{k}").mkdir()
        os.utime(tmp_path / f"numbastats-{k}", (k, k))
    (tmp_path / "of_another_program").mkdir()
    cache._make(cache.folders()[0])
    left = {p.name for p in tmp_path.iterdir()}
    own = Path(cache.folders()[0]).name
    assert left == {"of_another_program", own, *(f"numbastats-{k}" for k in range(13 - cache.KEPT, 12))}


def test_files_of_old_digests_go(tmp_path, monkeypatch):
    """Those of a kernel's digests that were used last stay, with all their signatures, and the files of other kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_folders", cache._folders.__wrapped__)
    monkeypatch.delenv("NUMBASTATS_CACHE", raising=False)

    def entries(k, name="kernel"):
        return cache._Entries(name, cache.Variant("name", "room", f"{k:016x}", frozenset()), pickle.dumps)

    for k in range(10):
        for key in ("double", "single"):
            entries(k).save(key, f"{k} {key}")
        if k == 7:
            assert entries(1).load("single") == "1 single"  # used again, so it stays
    entries(0, "another").save("double", 0)
    left = {k for k in range(10) if entries(k).load("double")}
    assert left == {1, *range(3, 10)} and all(entries(k).load("single") == f"{k} single" for k in left - {1, 3})
    assert entries(0, "another").load("double") == 0


def test_an_entry_of_another_key_is_a_miss(tmp_path, monkeypatch):
    """As where a file was renamed."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBASTATS_CACHE", raising=False)
    entries = cache._Entries("kernel", cache.Variant("name", "room", "digest", frozenset()), pickle.dumps)
    entries.save("double", "code")
    folder = Path(cache.folders()[0])
    (folder / entries._file("double")).rename(folder / entries._file("single"))
    assert entries.load("single") is None


def test_what_tells_sources_and_bound_values_apart():
    """Imports in functions may happen at any time; of long arrays `repr` has the ends alone; -0.0 equals 0.0."""
    assert sources.parsed(b"def f():\n    from numbastats.kde import kernels\n")[1] == [sources.EVERYTHING]
    texts = (b"C = %s\n" % text for text in (b"1", b"True", b"1.0", b"0.0", b"-0.0", b"(1, 2)", b"(2, 1)", b"'a'", b"{1} in {2}"))
    assert len({sources.parsed(text)[0] for text in texts}) == 9
    x = np.arange(2000.0)
    values = x, np.where(x == 1000.0, 0.5, x), x.astype(np.float32), x.reshape(2, -1), (x,), [x], 1.0, np.float32(1.0), True, None
    assert len(set(map(sources.described, values))) == len(values)


def test_a_file_rewritten_in_the_same_size_counts_as_edited(tmp_path):
    """By its time, or as another file of the same time; the digest is then one that no process shares."""
    path = tmp_path / "numbastats" / "formulas.py"
    path.parent.mkdir()
    path.write_text("C = 1.0\n")
    tree, written = sources.Tree(path.parent), path.stat()
    closure = tree.closure(["numbastats.formulas"])
    assert closure == {"numbastats.formulas"} and tree.unchanged(closure) and tree.digest(closure) == tree.digest(closure)
    path.write_text("C = 2.0\n")
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns + 1000))
    assert not tree.unchanged(closure) and tree.digest(closure) != tree.digest(closure)
    path.rename(path.with_name("other.py"))
    path.write_text("C = 3.0\n")
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert not tree.unchanged(closure)


def test_installations_share_a_placed_cache(filled):
    """With NUMBA_CACHE_DIR entries go by the sources, not by the installation: a copy hits, any edit misses."""
    cache = filled.place()
    moved = filled.folder / "elsewhere"
    moved.mkdir()
    for name in ("numbastats", "probe.py"):
        (filled.folder / name).rename(moved / name)
    filled.folder = moved
    assert hits(filled(**cache)[0]) == [1, 1]
    path = moved / "numbastats" / "scalar" / "constants.py"
    path.write_text("FACTOR = 3.0\n")
    assert misses(filled(**cache)[0]) == [1, 1]


TAKEN_AWAY = """
import json, os, shutil, warnings
import numpy as np
from pathlib import Path
from numbastats._core.kernel import build
from numbastats.scalar import formulas, loops
k = build(loops.map1_cpu, "serial", _f=formulas.f)
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
def test_damaged_cache_files_are_written_anew(filled, damage):
    """As a crash of the machine leaves them. A zeroed page crashed every later process, a bit could change results."""
    damaged = [*filled.folder.rglob("*.nbc"), *filled.folder.rglob(cache.SOURCES)]
    assert len(damaged) == 3
    for path in damaged:
        content = path.read_bytes()
        assert len(content) > 8192 or path.name == cache.SOURCES
        path.write_bytes(DAMAGE[damage](content))
    second, warned = filled(ROUNDS="2")
    assert misses(second) == [1, 1, 0, 0] and hits(second) == [0, 0, 1, 1] and warned == []
    assert [v[0] for v in second.values()] == 2 * [v[0] for v in filled.first.values()]


def test_entries_that_cannot_be_rebuilt_are_compiled(filled):
    """Whatever the code generator raises; it passed through to the caller."""
    fail = """
from numba.core import codegen
def fail(*args):
    raise RuntimeError("LLVM")
codegen.JITCodeLibrary._set_compiled_object = fail
"""
    (filled.folder / "probe.py").write_text(fail + PROBE)
    result, warned = filled()
    assert misses(result) == [1, 1] and warned == []


RACE = """
import json
import numpy as np
from numbastats._core import cache
from numbastats._core.kernel import build
from numbastats.scalar import formulas, loops
x = {np.dtype(t): np.linspace(0.5, 2.0, 100, dtype=t) for t in ("f4", "f8")}
def kernel():
    return build(loops.map1_cpu, "serial", _f=formulas.f)
def total(k, t):
    out = np.zeros(100, t)
    k(x[out.dtype], out)
    return float(out.sum()), sum(k.stats.cache_hits.values())
first, second, third = kernel(), kernel(), kernel()
write = cache.write
def overtaken(path, content):
    cache.write = write
    total(second, "f4")
    write(path, content)
cache.write = overtaken
total(first, "f8")
print(json.dumps([total(third, "f4"), total(third, "f8")]))
"""


def test_processes_that_compile_at_once_do_not_mix_their_files(project):
    """Numba numbers the files of a kernel by an index without a lock; here one process overtakes the other."""
    (project.folder / "probe.py").write_text(RACE)
    (single, hit), (double, hits_then) = project()
    assert hit == 1 and hits_then == 2  # both entries are there
    assert single == pytest.approx(350, rel=1e-6) and double == pytest.approx(350, rel=1e-12)


EDITED_LATER = """
import json, os, sys
import numpy as np
from numbastats._core import cache
from numbastats._core.kernel import build
path = os.path.join(cache.PACKAGE, "scalar", "mixture.py")
if "edit" in sys.argv:
    text = open(path).read()
    open(path, "w").write(text + "\\nEDITED = 1\\n")
from numbastats.scalar import loops, mixture
bound = build(loops.map1_cpu, "serial", _f=mixture.gamma_dispersion)
bound(np.ones(3), np.ones(3))
mixture.gamma_dispersion(0.5)
if "edit" in sys.argv:
    open(path, "w").write(text)
stats = [k.stats for k in (bound, mixture.gamma_dispersion.host)]
print(json.dumps({k: [0.0, sum(s.cache_hits.values()), sum(s.cache_misses.values())] for k, s in enumerate(stats)}))
"""


def test_code_of_edited_modules_is_not_kept_as_that_of_before(project):
    """What a process compiles from modules that it imported after an edit is not what its hash says."""
    (project.folder / "probe.py").write_text(EDITED_LATER)
    probe = str(project.folder / "probe.py")
    assert misses(project(probe, "edit")) == [1, 1]
    assert misses(project(probe)) == [1, 1]
    assert hits(project(probe)) == [1, 1]
