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
from numbastats._core import cache
from tests.contract import slowly

PACKAGE = Path(numbastats.__file__).parent


PROBE = """
import json, os, sys, warnings
import numpy as np
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from numbastats._core.kernel import build
    from numbastats.scalar import loops
    import formulas
    x = np.linspace(0.5, 2.0, 100)
    result = {}
    variants = [("serial", ()), ("serial", ("reassoc", "contract")), ("parallel", ()), ("parallel", ("reassoc", "contract"))]
    for target, flags in variants[: int(os.environ["VARIANTS"])]:
        k = build(loops.map1_cpu, target, fastmath=flags, _f=formulas.f)
        out = np.empty_like(x)
        k(x, out)
        hits, misses = sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())
        result[f"{target} {' '.join(flags)}"] = [float(out.sum()), hits, misses]
print(json.dumps([result, [str(w.message) for w in seen if "numbastats" in str(w.message)]]))
"""


FORMULAS = """
from numbastats._core.kernel import device_function
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
    """A private copy of the package and a module of formulas beside it; returns a function that runs the probe.

    It compiles two variants, of different flags; with VARIANTS="4" for each of two targets.
    """
    shutil.copytree(PACKAGE, tmp_path / "numbastats", ignore=shutil.ignore_patterns("__pycache__", "_packs"))
    (tmp_path / "constants.py").write_text("")
    (tmp_path / "formulas.py").write_text(FORMULAS.format(constant=1.0))
    (tmp_path / "probe.py").write_text(PROBE)

    def run(*command, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_ENABLE") and k != "NUMBA_CACHE_DIR"}
        env.update({"PYTHONPATH": str(run.folder), "PYTHONDONTWRITEBYTECODE": "1", "VARIANTS": "2", **environment})
        command = command or (str(run.folder / "probe.py"),)
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, timeout=1800)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = tmp_path
    return run


def hits(result):
    return [v[1] for v in result.values()]


def misses(result):
    return [v[2] for v in result.values()]


def test_second_process_hits_and_every_edit_misses(project):
    first, warned = project(VARIANTS="4")
    assert misses(first) == [1, 1, 1, 1] and hits(first) == [0, 0, 0, 0]  # flags and targets have entries of their own
    assert warned == []
    assert hits(project(VARIANTS="4")[0]) == [1, 1, 1, 1]

    source = project.folder / "formulas.py"
    text = source.read_text()
    total = first["serial "][0]

    source.write_text(text.replace("+ 1.0", "+ 2.0"))  # the formula
    edited, _ = project()
    assert misses(edited) == [1, 1] and edited["serial "][0] == pytest.approx(total + 100)

    source.write_text(text.replace("TUPLE = (1.0, 2.0)", "TUPLE = (1.0, 3.0)"))  # a tuple constant of a callee
    edited, _ = project()
    assert misses(edited) == [1, 1] and edited["serial "][0] == pytest.approx((total - 100) * 1.5 + 100)

    source.write_text(text)
    assert hits(project()[0]) == [1, 1]  # the old entries are still there

    for name in ("scalar/bits.py", "kde/kernels/geometry.py"):  # the library itself, of which formulas.py may import any file
        path = project.folder / "numbastats" / name
        path.write_text(path.read_text() + "\n# edited\n")
        assert misses(project()[0]) == [1, 1], name


def test_edit_reached_through_a_module_misses(project):
    """A callee used as module.function, in a library file, is covered by the hash of all scalars."""
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
    (project.folder / "formulas.py").write_text(
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


@pytest.mark.slow
def test_an_edit_compiles_what_it_reaches(project):
    """One kernel of every room, by constants of other files and by what is not theirs."""
    (project.folder / "probe.py").write_text(ROOMS_PROBE)
    assert misses(project()) == [1] * 5
    names = ("bayes.draws", "kde.exhaustive_power", "mixture.prepare", "quantile.antithetic", "stable.quantile")

    def missed():
        return {name for name, miss in zip(names, misses(project()), strict=True) if miss}

    assert missed() == set()
    for name, old, new, reached in (
        ("bayes/kernels/likelihood.py", "GROUP = 64", "GROUP = 128", set()),  # of other kernels of the room
        ("kde/kernels/pairs.py", "NEWTON = 6", "NEWTON = 7", set()),
        ("mixture/kernels/records.py", "centre mass sum1", "mass centre sum1", {"mixture.prepare"}),
        ("scalar/loops.py", "CHUNK = 4096", "CHUNK = 8192", {"quantile.antithetic"}),
        ("stable/kernels/points.py", "TASK = 64", "TASK = 128", {"stable.quantile"}),
        ("scalar/kde.py", "__all__ = [", "__all__ = ['no_kernel', ", {"kde.exhaustive_power"}),
        ("scalar/elementary.py", '"""', '"""Edited. ', set()),  # a docstring
        ("_core/slabs.py", "CHUNK = 4096", "CHUNK = 8192", set()),  # host code
        ("_core/numba_internals.py", "VECTORS = 4", "VECTORS = 2", set(names)),
    ):
        path = project.folder / "numbastats" / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
        assert missed() == reached, name
        assert missed() == set()


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
    assert project() == [math.exp(1.5), 1, 0]
    path = project.folder / "numbastats" / "scalar" / "bits.py"  # of a callee
    text = path.read_text()
    path.write_text(text + "\n# edited\n")
    assert project()[1:] == [1, 0]
    written = path.stat()
    path.write_text(text + "\nEDITED = 1\n")
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # as by a clock that was put back
    assert project()[1:] == [0, 1]


@pytest.mark.slow
def test_cache_can_be_turned_off(project):
    project(NUMBASTATS_CACHE="0")
    assert not list(project.folder.rglob("*.nbc"))
    result, warned = project(NUMBASTATS_CACHE="0")
    assert hits(result) == [0, 0] and warned == []


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("placed", [False, True])
def test_warm_cache_that_can_only_be_read_is_used(project, tmp_path, placed):
    """As in a container. Every process compiled everything, with a warning."""
    placed = dict(NUMBA_CACHE_DIR=str(tmp_path / "cache")) if placed else {}
    first, _ = project(**placed)
    (project.folder / "probe.py").write_text(FROZEN + PROBE)
    result, warned = project(**placed)
    assert hits(result) == [1, 1] and warned == []
    assert [v[0] for v in result.values()] == [v[0] for v in first.values()]
    source = project.folder / "formulas.py"
    source.write_text(source.read_text().replace("+ 1.0", "+ 2.0"))
    result, warned = project(**placed)
    assert misses(result) == [1, 1] and len(warned) == 1 and "be written" in warned[0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files")
@pytest.mark.parametrize("theirs", ["folder anyone writes", "entries", *slowly("entries anyone writes", "folder", "link")])
def test_what_others_may_have_written_is_not_run(project, tmp_path, theirs):
    """Entries are pickles; a forged one in a folder of another user was executed without a word."""
    if os.geteuid() != 0 and "anyone" not in theirs:
        pytest.skip("only root gives files away")
    placed = dict(NUMBA_CACHE_DIR=str(tmp_path / "cache"), XDG_CACHE_HOME=str(tmp_path / "home"))
    assert misses(project(**placed)[0]) == [1, 1] and hits(project(**placed)[0]) == [1, 1]
    (folder,) = (tmp_path / "cache").iterdir()
    if theirs == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        assert hits(project(**placed)[0]) == [1, 1]  # a link of one's own
        os.lchown(folder, 65534, 65534)
    for path in [folder] if "folder" in theirs else folder.iterdir() if "entries" in theirs else []:
        path.chmod(path.stat().st_mode | 0o002) if "anyone" in theirs else os.chown(path, 65534, 65534)
    result, warned = project(**placed)
    assert misses(result) == [1, 1]
    assert len(warned) == ("entries" not in theirs) and all(f"folder {folder} is not used" in w for w in warned)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["half edited", *slowly("removed", "edited behind a link")])
def test_files_that_change_while_a_process_runs(project, trouble):
    """The code that is loaded goes on; nothing of it is kept. The first two raised FileNotFoundError and SyntaxError."""
    assert misses(project()[0]) == [1, 1]
    path = project.folder / "numbastats" / "scalar" / "bits.py"
    if trouble == "edited behind a link":  # of a callee
        (project.folder / "elsewhere").mkdir()
        path.parent.rename(project.folder / "elsewhere" / "scalar")
        path.parent.symlink_to(project.folder / "elsewhere" / "scalar")
        project()
        assert hits(project()[0]) == [1, 1]
        path.write_text(path.read_text() + "\nEDITED = 1\n")
        assert misses(project()[0]) == [1, 1]
        return
    change = "path.unlink()" if trouble == "removed" else "path.write_text(path.read_text() + 'def f(:')"
    loaded = f"from pathlib import Path\nfrom numbastats.scalar import elementary\npath = Path({str(path)!r})\n{change}\n"
    (project.folder / "probe.py").write_text(loaded + SCALAR_PROBE)
    assert project() == [math.exp(1.5), 0, 1]
    assert len(list(project.folder.rglob("*.nbc"))) == 2  # those of before


@pytest.mark.slow
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
        return cache._Entries(name, cache.Variant("name", f"{k:016x}", frozenset()), pickle.dumps)

    for k in range(10):
        for key in ("double", "single"):
            entries(k).save(key, f"{k} {key}")
        if k == 7:
            assert entries(1).load("single") == "1 single"  # used again, so it stays
    entries(0, "another").save("double", 0)
    left = {k for k in range(10) if entries(k).load("double")}
    assert left == {1, *range(3, 10)} and all(entries(k).load("single") == f"{k} single" for k in left - {1, 3})
    assert entries(0, "another").load("double") == 0


@pytest.mark.slow
def test_installations_share_a_placed_cache(project, tmp_path):
    """With NUMBA_CACHE_DIR entries go by the sources, not by the installation: a copy hits, any edit misses."""
    cache = dict(NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert misses(project(**cache)[0]) == [1, 1]
    moved = project.folder / "elsewhere"
    moved.mkdir()
    for name in ("numbastats", "formulas.py", "constants.py", "probe.py"):
        (project.folder / name).rename(moved / name)
    project.folder = moved
    assert hits(project(**cache)[0]) == [1, 1]
    path = moved / "numbastats" / "kde" / "kernels" / "geometry.py"  # whose constants other files import
    path.write_text(path.read_text() + "\n# edited\n")
    assert misses(project(**cache)[0]) == [1, 1]


TAKEN_AWAY = """
import json, os, shutil, warnings
import numpy as np
from pathlib import Path
from numbastats._core.kernel import build
from numbastats.scalar import loops
import formulas
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cache_files_are_written_anew(project, damage):
    """As a crash of the machine leaves them. A zeroed page crashed every later process, a bit could change results."""
    first, _ = project()
    damaged = [*project.folder.rglob("*.nbc"), *project.folder.rglob(cache.SOURCES)]
    assert len(damaged) == 3
    for path in damaged:
        content = path.read_bytes()
        assert len(content) > 8192 or path.name == cache.SOURCES
        path.write_bytes(DAMAGE[damage](content))
    second, warned = project()
    assert misses(second) == [1, 1] and warned == []
    assert [v[0] for v in second.values()] == [v[0] for v in first.values()]
    assert hits(project()[0]) == [1, 1]


@pytest.mark.slow
def test_entries_that_cannot_be_rebuilt_are_compiled(project):
    """Whatever the code generator raises; it passed through to the caller."""
    project()
    fail = """
from numba.core import codegen
def fail(*args):
    raise RuntimeError("LLVM")
codegen.JITCodeLibrary._set_compiled_object = fail
"""
    (project.folder / "probe.py").write_text(fail + PROBE)
    result, warned = project()
    assert misses(result) == [1, 1] and warned == []


RACE = """
import json
import numpy as np
from numbastats._core import cache
from numbastats._core.kernel import build
from numbastats.scalar import loops
import formulas
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
import formulas
outside = build(loops.map1_cpu, "serial", _f=formulas.f)
outside(np.ones(3), np.ones(3))
mixture.gamma_dispersion(0.5)
if "edit" in sys.argv:
    open(path, "w").write(text)
stats = [k.stats for k in (outside, mixture.gamma_dispersion.host)]
print(json.dumps({k: [0.0, sum(s.cache_hits.values()), sum(s.cache_misses.values())] for k, s in enumerate(stats)}))
"""


@pytest.mark.slow
def test_code_of_edited_modules_is_not_kept_as_that_of_before(project):
    """What a process compiles from modules that it imported after an edit is not what its hash says."""
    (project.folder / "probe.py").write_text(EDITED_LATER)
    probe = str(project.folder / "probe.py")
    assert misses(project(probe, "edit")) == [1, 1]
    assert misses(project(probe)) == [1, 1]
    assert hits(project(probe)) == [1, 1]
