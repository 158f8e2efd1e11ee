"""Kernel packs: used where they fit and only there, with the bits of code compiled on the spot."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import numbastats
from numbastats._core import cache, numba_internals, packs
from tests.contract import slowly

PACKAGE = Path(numbastats.__file__).parent
LEVEL = packs.best_level(numba_internals.processor_features())
pytestmark = pytest.mark.skipif(LEVEL is None, reason="LLVM does not know this processor's features")

CALLS = """
import hashlib, json, logging, sys
log = []
class Handler(logging.Handler):
    def emit(self, record):
        if record.module == "packs":
            log.append(record.getMessage())
logging.getLogger("numbastats").addHandler(Handler())
logging.getLogger("numbastats").setLevel(logging.DEBUG)
import numpy as np
import numbastats as ns
from numbastats._core import cache
from numbastats.scalar import elementary
saved, save = [], cache._Entries.save
cache._Entries.save = lambda entries, key, data: saved.append(entries._stem) or save(entries, key, data)
u = np.linspace(0.01, 0.99, 500)
results = [ns.bayes.log_ndtr(u, workers=1), elementary.exp(0.5)]
if len(sys.argv) > 1:  # a parallel twin
    results.append(ns.random.uniform(size=100_000, rng=1, workers=2))
digest = [hashlib.sha256(np.asarray(r).tobytes()).hexdigest() for r in results]
print(json.dumps([digest, len(saved), log]))
"""

MAKE = """
import os, sys
from numbastats._core import cache, packs
from numbastats._core.sources import TREE
os.makedirs(cache.PACKS, exist_ok=True)
entries = cache.pack_entries(cache.folders()[0])
for level in sys.argv[1:]:
    packs.write(str(cache.PACKS / f"{level}.pack"), cache.made_with(), entries, TREE.all_sources())
print(len(entries))
"""


def python(folder, code, *args, **environment):
    """Run code in a fresh process with the package that is in this folder and an empty cache."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_ENABLE_CUDASIM", "NUMBASTATS_PACK")}
    with_cache = {"NUMBA_CACHE_DIR": str(folder / f"cache{len(list(folder.iterdir()))}")}
    env = {**kept, **with_cache, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([sys.executable, "-P", "-c", code, *args], capture_output=True, text=True, env=env, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the package with a pack of the functions of CALLS for this processor's level."""
    folder = tmp_path_factory.mktemp("packs")
    shutil.copytree(PACKAGE, folder / "numbastats", ignore=shutil.ignore_patterns("__pycache__", "_packs"))
    level = packs.LEVELS[LEVEL]
    target = dict(NUMBA_CPU_NAME=level.cpu, NUMBA_CPU_FEATURES=level.features, NUMBA_CACHE_DIR=str(folder / "made"))
    digest, saved, _ = json.loads(python(folder, CALLS, "parallel", **target))
    assert saved == 3
    assert int(python(folder, MAKE, LEVEL, **target)) == saved
    return folder, digest


def calls(folder, *parallel, **environment):
    return json.loads(python(folder, CALLS, *parallel, **environment))


def test_a_pack_is_used_and_gives_the_bits_of_native_code(made):
    folder, digest = made
    assert calls(folder, "parallel") == [digest, 0, []]
    native, compiled, _ = calls(folder, "parallel", NUMBASTATS_PACK="0")
    assert native == digest and compiled == 3


@pytest.mark.slow
def test_a_pack_serves_without_any_cache(made, tmp_path):
    folder, digest = made
    assert calls(folder, "parallel", NUMBASTATS_CACHE="0") == [digest, 0, []]
    nowhere = tmp_path / "file"
    nowhere.write_text("in the way")
    places = dict(NUMBA_CACHE_DIR=str(nowhere), HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))
    assert calls(folder, **places) == [digest[:2], 0, []]


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"NUMBA_OPT": "2"}, *slowly({"NUMBA_CPU_NAME": "generic"}, {"NUMBA_BOUNDSCHECK": "1"})])
def test_who_asks_numba_for_other_code_gets_it(made, setting):
    assert calls(made[0], **setting)[1] == 2


@pytest.fixture
def copy(made, tmp_path):
    """A copy that a test may damage; returns the package, its pack and the digest of the results."""
    shutil.copytree(made[0] / "numbastats", tmp_path / "numbastats")
    return tmp_path, tmp_path / "numbastats" / "_packs" / f"{LEVEL}.pack", made[1]


@pytest.mark.parametrize("damage", ["entries", "versions", *slowly("nothing", "short", "foreign", "head")])
def test_a_pack_that_does_not_fit_is_not_used(copy, damage):
    """Right results, and a line in the debug log."""
    folder, path, digest = copy
    content = path.read_bytes()
    if damage == "nothing":
        path.write_bytes(b"")
    elif damage == "short":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "foreign":
        path.write_bytes(b"PK" + content[2:])
    elif damage == "head":
        path.write_bytes(content.replace(b'"offset"', b'"offsex"').replace(b'"numba"', b'"nomba"'))
    elif damage == "entries":
        head = content.index(b"\n") + 1 + 2 * packs._DIGEST + 8
        entries = head + int(content[head - 8 : head], 16)
        path.write_bytes(content[:entries] + bytes(b ^ 255 for b in content[entries:]))
    else:
        path.write_bytes(content.replace(b'"made_with"', b'"made_wit_"'))
    found, compiled, log = calls(folder)
    assert found == digest[:2] and compiled >= 1 and log


@pytest.mark.slow
def test_a_pack_survives_an_edit(copy):
    """What the edit does not reach is taken from the pack; a kernel that it reaches is compiled."""
    folder, _, digest = copy
    edited = folder / "numbastats" / "bayes" / "engine.py"
    edited.write_text(edited.read_text() + "\nEDITED = 1\n")
    assert calls(folder, "parallel") == [digest, 0, []]
    edited = folder / "numbastats" / "random" / "kernels.py"
    edited.write_text(edited.read_text() + "\nEDITED = 1\n")
    assert calls(folder, "parallel") == [digest, 1, []]


@pytest.mark.slow
def test_code_that_needs_what_the_process_lacks_is_compiled(copy):
    """LLVM would end the process."""
    folder, path, digest = copy
    lacking = """
from numbastats._core import numba_internals
rebuilt = numba_internals._rebuilt
def with_another(context, name, machine, defined, needed, *rest):
    return rebuilt(context, name, machine, defined, [*needed, "no_such_symbol"], *rest)
numba_internals._rebuilt = with_another
"""
    found, compiled, _ = json.loads(python(folder, lacking + CALLS))
    assert found == digest[:2] and compiled >= 1  # of two; a scalar function carries its bitcode


@pytest.mark.slow
def test_two_processes_at_once(copy):
    folder, _, digest = copy
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env |= {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    running = [
        subprocess.Popen([sys.executable, "-P", "-c", CALLS, "parallel"], stdout=subprocess.PIPE, env=env) for _ in range(2)
    ]
    assert [json.loads(process.communicate()[0])[:2] for process in running] == [[digest, 0]] * 2


def features(level):
    return packs.LEVELS[level].needs


def test_a_level_above_the_processor_is_never_taken():
    best = packs.best_level
    zen4 = features("x86-64-v4-512") | {"avx512bf16", "aes"}
    assert best(zen4) == "x86-64-v4-512"
    assert best(zen4 - {"avx512vbmi2"}) == "x86-64-v4-256"  # Skylake-X: other widths, other last bits
    assert best(zen4 - {"avx512bw"}) is None  # Xeon Phi: Numba compiles for its AVX-512, and no level does
    haswell = features("x86-64-v3")
    assert best(haswell) == "x86-64-v3"
    assert best(haswell - {"fma", "avx2"}) == "x86-64-v2"
    assert best(haswell - {"fma", "avx2", "ssse3"}) is None
    assert best(frozenset()) is None
    assert best(features("arm64")) == "arm64" and best(features("arm64") | {"sve"}) is None
    assert best(haswell, "x86-64-v4-512") is None and best(haswell, "x86-64-v9") is None
    assert best(zen4, "x86-64-v3") == "x86-64-v3"


def test_a_pack_above_the_processor_is_not_opened(tmp_path, monkeypatch):
    packs.write(str(tmp_path / "x86-64-v4-512.pack"), cache.made_with(), {"entry": b"code"}, {})
    monkeypatch.setattr(cache, "PACKS", tmp_path)
    monkeypatch.delenv("NUMBASTATS_PACK", raising=False)
    for has, found in ((features("x86-64-v4-512"), True), (features("x86-64-v3"), False)):
        monkeypatch.setattr(numba_internals, "processor_features", lambda has=has: has)
        cache.pack.cache_clear()
        assert bool(cache.pack()) == found
    cache.pack.cache_clear()


def test_what_is_written_is_read(tmp_path, caplog):
    path, entries = str(tmp_path / "one.pack"), {"a": b"first" * 100, "b": b""}
    size = packs.write(path, {"numba": "1"}, entries, {"content": ["digest", []]})
    assert size == os.path.getsize(path)
    pack = packs.read(path, {"numba": "1"})
    assert pack.sources == {"content": ["digest", []]}
    assert len(pack) == 2 and {name: pack.get(name) for name in "ab"} == entries
    assert "a" in pack and pack.get("c") is None
    with caplog.at_level(logging.DEBUG, "numbastats"):
        assert packs.read(path, {"numba": "2"}) is None
    assert "made with" in caplog.text
    assert packs.read(str(tmp_path / "none.pack"), {}) is None
