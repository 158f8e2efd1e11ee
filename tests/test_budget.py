"""How much code and how many kernels each room has, beside the table of BUDGET.md.

A room that grows past its line changes the table in the same commit, with what went in exchange; one that shrinks lowers it.
"""

from __future__ import annotations

import ast
import collections
import importlib
import io
import re
import tokenize
from pathlib import Path

import numbastats
from numbastats._core.kernel import REGISTRY
from numbastats._core.warmup import TOPICS

ROOT = Path(numbastats.__file__).parent
TABLE = Path(__file__).with_name("BUDGET.md")
NOT_CODE = {  # files that nobody reads line by line
    "bayes/responses/__init__.py": "written by tools/discover.py",
    "bayes/samplers/__init__.py": "written by tools/discover.py",
    "distributions/families/__init__.py": "written by tools/discover.py",
    "distributions/names.py": "written by tools/discover.py",
    "kde/smoothing_kernels/__init__.py": "written by tools/discover.py",
    "scalar/stable_nodes.py": "nodes and weights, by tests/reference/make_stable.py",
    "stable/mcculloch.py": "quantiles, by tests/reference/make_mcculloch.py",
}
SLACK = 150  # lines by which a room may be below its line
QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text):
    """Lines with code: no blank ones, comments or docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in QUIET:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def rooms():
    """(code lines, kernels) by the folder of the package; the files beside the folders are one room."""
    for name in TOPICS:
        importlib.import_module(f"numbastats.{name}")
    kernels = collections.Counter(
        kernel._module.split(".")[1] for kernel in REGISTRY.values() if kernel._module.startswith("numbastats.")
    )
    lines = collections.Counter()
    for path in ROOT.rglob("*.py"):
        inside = path.relative_to(ROOT)
        if inside.as_posix() not in NOT_CODE:
            lines[inside.parts[0] if len(inside.parts) > 1 else "top level"] += code_lines(path.read_text(encoding="utf-8"))
    return {room: (lines[room], kernels[room]) for room in lines}


def test_every_room_keeps_to_its_line():
    allowed = {
        room: (int(lines), int(kernels))
        for room, lines, kernels in re.findall(r"^\| ([\w ]+) \| (\d+) \| (\d+) \|", TABLE.read_text(encoding="utf-8"), re.M)
    }
    found = rooms()
    assert found.keys() == allowed.keys()
    for room, (lines, kernels) in found.items():
        most, of_kernels = allowed[room]
        row = f"its row in tests/BUDGET.md would be | {room} | {lines} | {kernels} |"
        assert lines <= most and kernels <= of_kernels, f"{room} grew past its line, {most} and {of_kernels}; {row} and what went"
        assert most - lines <= SLACK and kernels == of_kernels, f"{room} shrank: {row}"


def test_lines_without_texts():
    text = '"""Module.\n\nMore."""\nimport os  # why\n\n\ndef f(\n    x,\n):\n    """Doc."""\n'
    text += '    # a comment\n    return """two\nlines"""\n'
    assert code_lines(text) == 6
