"""`python -m pytest --changed`: the tests that a change reaches, by the imports of the package and of the tests.

What changed is the difference of the working tree from the merge base with the main branch, and files that git does not know yet.
A test file depends on what it imports, anywhere in it, on the sub-packages that it names (`ns.kde`, as a user writes it), and on
what these depend on. Where the code of a changed module is as it was, but for docstrings and comments, its doctests and the rules
of the house are all there is to run. Changes of other kinds of files (data, pyproject.toml, conftest.py) run everything.

`python -m tests.changed COMMIT FILE ...` ends with status 0 where what changed since a commit reaches one of the files, or where
git does not know the commit; with 1 where it reaches none.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

from numbastats._core.sources import NAME, TREE, WITHOUT_CODE, named_imports, parsed

ROOT = Path(__file__).parent.parent
# tests that read the sources, or run other programs with them
ALWAYS = {f"tests/test_{name}.py" for name in "rules readme ptx emulator first_calls".split()}
FOLDERS = ("examples", "asv_benchmarks")  # whose files tests run by the name of their folder
USES = re.compile(rf"\b(?:ns|{NAME})\.(\w+)")
EXAMPLE = re.compile(r"^ *(?:>>>|\.\.\.) .*", re.MULTILINE)
EVERYTHING = None
# the package loads its parts on demand, and every test has these; an edit of one of them runs everything
APART = {f"{NAME}/__init__.py", f"{NAME}/testing.py", "tests/conftest.py", "tests/simulator.py"}


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def merge_base():
    """Where this branch left the main one; the last commit where it is the main one."""
    for main in ("origin/HEAD", "origin/main", "main"):
        base = git("merge-base", "HEAD", main)
        if base:
            return base.strip()
    raise SystemExit("--changed compares with the main branch, and git knows no origin/HEAD, origin/main or main here")


def changed_files(base):
    """Paths from the root: of files edited, removed or added since `base`."""
    return set(
        (git("diff", "--name-only", "--no-renames", base) + git("ls-files", "--others", "--exclude-standard")).split("\n")
    ) - {""}


def _module(path):
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name in TREE.stamps else None


def _path(module):
    return str(Path(TREE.stamps[module][0]).relative_to(ROOT))


def same_code(path, base):
    """Whether a module of the package compiles to what it did."""
    before = git("show", f"{base}:{path}")
    return bool(before and (ROOT / path).exists() and parsed(before.encode())[0] == parsed((ROOT / path).read_bytes())[0])


@functools.cache
def depends_on(path):
    """Files that a file names: by imports, by attributes of the package, by the folder."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found, names = set(), set() if path.startswith(f"{NAME}/") else {f"{NAME}.{name}" for name in USES.findall(text)}
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            names |= set(named_imports(node))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
            elif isinstance(node, ast.Import):
                names |= {a.name for a in node.names if a.name.startswith("tests.")}
    for name in names:
        if name.startswith("tests"):
            found |= {p for p in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py") if (ROOT / p).exists()}
        elif TREE.module_of(name) in TREE.stamps:
            found.add(_path(TREE.module_of(name)))
    if "/test_" in path:
        found |= {str(p.relative_to(ROOT)) for folder in FOLDERS if folder in text for p in (ROOT / folder).rglob("*.py")}
    return found - APART


def used_in_examples(path):
    """Files of the sub-packages that the examples in a module's docstrings use; who imports the module does not run these."""
    names = USES.findall("\n".join(EXAMPLE.findall((ROOT / path).read_text(encoding="utf-8")))) if _module(path) else ()
    return {_path(f"{NAME}.{name}") for name in names if f"{NAME}.{name}" in TREE.stamps}


def reached_by(changed, base):
    """A function that says whether the tests in a file depend on what changed; `EVERYTHING` where all do."""
    for path in changed:
        known = _module(path) or (path.endswith(".py") and path.split("/")[0] in ("tests", *FOLDERS)) or path.endswith(".md")
        if not known or path in APART or path.endswith("conftest.py") or path.startswith("tests/reference/"):
            return EVERYTHING
    code = {path for path in changed if not (_module(path) and same_code(path, base))}
    wide = {_module(path) for path in code} & (WITHOUT_CODE | {f"{NAME}._core.kernel"})
    if wide:  # what every call goes through
        return EVERYTHING

    def closure(path):
        ahead, found = [path, *used_in_examples(path)], set()
        while ahead:
            one = ahead.pop()
            if one not in found:
                found.add(one)
                ahead += depends_on(one)
        return found

    def reached(path):
        return path in changed or (path in ALWAYS and bool(changed)) or not closure(path).isdisjoint(code)

    return reached


def select(config, items):
    """Keep the tests that the change reaches, and say how many files that are."""
    base = merge_base()
    changed = changed_files(base)
    reached = reached_by(changed, base)
    if reached is EVERYTHING:
        return
    files = {str(Path(item.path).relative_to(ROOT)) for item in items}
    kept = {path for path in files if reached(path)}
    chosen = [item for item in items if str(Path(item.path).relative_to(ROOT)) in kept]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def main():
    """Whether a step of the check has to run."""
    base, *files = sys.argv[1:]
    if git("rev-parse", "--verify", f"{base}^{{commit}}") is None:
        return
    reached = reached_by(changed_files(base), base)
    sys.exit(reached is not EVERYTHING and not any(map(reached, files)))


if __name__ == "__main__":
    main()
