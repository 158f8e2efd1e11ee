"""Change formulas one at a time and see whether the tests notice: python tests/mutate.py [--most N] [part of a path ...].

A change that no test notices is a formula that nobody checks. Every entry of `tests/mutants/*.py` is

    (file, text, other text, test file, -k expression)

where the text occurs once in the file and the other text gives other results. The tests of the expression run first, those of
the whole file if all of them pass. The result is written to tests/MUTANTS.md when no path is given. All take about an hour of
two cores, since every change compiles its kernels again; ``--most 100`` takes every second or so. Not part of CI.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 1500  # seconds for the tests of one change


def listed():
    """All changes."""
    for path in sorted((ROOT / "tests" / "mutants").glob("*.py")):
        yield from runpy.run_path(str(path))["MUTANTS"]


def verdict(copy, tests, expression):
    """'caught', or 'survived', or what went wrong instead."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", tests]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(copy / "cache"), "OMP_WAIT_POLICY": "passive"}
    try:
        for selected in dict.fromkeys((expression, "")):
            done = subprocess.run(
                command + (["-k", selected] if selected else []),
                cwd=copy,
                env=environment,
                timeout=LIMIT,
                capture_output=True,
                text=True,
            )
            if done.returncode == 1:
                failed = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
                return f"caught by `{failed[0].split('::', 1)[-1]}`" if failed else f"no test failed: {done.stdout[-300:]!r}"
            if done.returncode != 0:
                return f"pytest ended with {done.returncode}: {done.stdout[-300:]!r}"
    except subprocess.TimeoutExpired:
        return "caught: the tests no longer end"
    return "**survived**"


def tried(mutant):
    """The verdict on one change, made in a copy of the tree."""
    file, old, new, tests, expression = mutant
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        leave = shutil.ignore_patterns("__pycache__", "*.nb[ic]")
        for name in ("numbastats", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=leave)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy)
        text = (copy / file).read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"stale: the text occurs {text.count(old)} times"
        (copy / file).write_text(text.replace(old, new), encoding="utf-8")
        return verdict(copy, tests, expression)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=10**6, help="how many changes, evenly spaced in the list")
    parser.add_argument("part", nargs="*", help="of the path of a changed file")
    options = parser.parse_args()
    chosen = every = [m for m in listed() if not options.part or any(part in m[0] for part in options.part)]
    if len(every) > options.most:
        chosen = [every[i * len(every) // options.most] for i in range(options.most)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, result in zip(chosen, pool.map(tried, chosen), strict=True):
            print(f"{mutant[0]}: {mutant[1]!r} -> {mutant[2]!r}: {result}", flush=True)
            rows.append((mutant, result))
    caught = sum(result.startswith("caught") for _, result in rows)
    print(f"{caught} of {len(rows)} caught")
    if options.part:
        return

    def cell(text):
        return " ".join(text.replace("|", "\\|").split())

    lines = [
        "# Changed formulas, and the tests that noticed",
        "",
        f"{caught} of {len(rows)} changes were noticed, of {len(every)} that are listed.",
        "",
        f"Made by `python tests/mutate.py` on {datetime.date.today()}.",
        "",
        "| file | text | changed to | result |",
        "|---|---|---|---|",
        *(f"| {m[0]} | `{cell(m[1])}` | `{cell(m[2])}` | {cell(result)} |" for m, result in rows),
        "",
    ]
    (ROOT / "tests" / "MUTANTS.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
