"""With a kernel pack no call of the README, of the tour or of the table of first calls compiles a kernel.

The pack is made beforehand, by ``python -m numbastats pack``; it takes minutes. Without one that fits the sources there is
nothing to test, and NUMBASTATS_REQUIRE_PACK=1 makes that a failure.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
from pathlib import Path

import pytest

from numbastats._core import cache

ROOT = Path(__file__).parents[1]
REQUIRED = os.environ.get("NUMBASTATS_REQUIRE_PACK") == "1"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REQUIRED and cache.pack() is None, reason="no kernel pack fits: python -m numbastats pack"),
]

REFUSE = """
import sys
from numbastats._core import cache
assert cache.pack() is not None, "no kernel pack fits"
def refuse(entries, key, data):
    print("compiled:", entries._stem, key[0])
cache._Entries.save = refuse
"""


def _calls():
    spec = importlib.util.spec_from_file_location("cold", ROOT / "asv_benchmarks" / "cold.py")
    cold = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cold)
    return cold


@pytest.fixture
def compiled(run_python, tmp_path):
    """Kernels that code compiles in a process with nothing but the pack."""

    def run(code, **environment):
        environment |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        lines = run_python(REFUSE + code, **environment).splitlines()
        return [line for line in lines if line.startswith("compiled:")]

    return run


def test_table_of_first_calls(compiled):
    """All calls in one process: none may compile whatever came before."""
    cold = _calls()
    start = cold.PROCESS[: cold.PROCESS.index("with event")]
    assert compiled(start + "\n".join(cold.CALLS.values())) == []


def test_readme(compiled):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    code = "".join(example.source for example in doctest.DocTestParser().get_examples("\n".join(blocks)))
    assert code.count("ns.") > 10 and compiled(code) == []


@pytest.mark.parametrize("example", ["tour.py"])
def test_examples(compiled, example, tmp_path):
    for package in ("matplotlib", "sklearn", "arch"):
        pytest.importorskip(package)
    code = f"""
import runpy
sys.path.insert(0, {str(ROOT / "examples")!r})
sys.argv = [{example!r}, "--output", {str(tmp_path)!r}]
runpy.run_path({str(ROOT / "examples" / example)!r}, run_name="__main__")
"""
    assert compiled(code, NUMBASTATS_SMOKE="1") == []
