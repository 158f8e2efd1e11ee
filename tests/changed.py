"""`python -m pytest --changed`: the tests that a change reaches, by the imports of the package and of the tests.

What changed is the difference of the working tree from the merge base with the main branch, and files that git does not know yet.
A test file depends on what it imports, anywhere in it, on what it names as a user does (`ns.kde.grid`), and on what these depend
on. Of a name that a package hands on only the file counts that has it. A file that calls `discover` (`tests/cases.py`) depends on
all files of the folder. Where the code of a changed module is as it was, but for docstrings and comments, its doctests and the
rules of the house are all there is to run. Changes of other kinds of files (data, pyproject.toml, conftest.py) run everything.

`python -m tests.changed COMMIT FILE ...` ends with status 0 where what changed since a commit reaches one of the files, or where
git does not know the commit; with 3 where it reaches none.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import numbastats
from numbastats._core.sources import NAME, TREE, WITHOUT_CODE, named_imports, parsed

ROOT = Path(__file__).parent.parent
# tests that read the sources, or run other programs with them
ALWAYS = {f"tests/test_{name}.py" for name in "rules discovery readme ptx emulator first_calls".split()}
FOLDERS = ("examples", "asv_benchmarks", "tools")  # whose files tests run by the name of their folder
USES = re.compile(rf"\b(?:ns|{NAME})((?:\.\w+)+)")
ALONE = "#"  # behind a path: its own code, without what it imports
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
def _handed_on(module):
    """What the `__init__` of a package takes from its files, by the names under which it hands it on."""
    if not TREE.stamps[module][0].endswith("__init__.py"):
        return {}
    nodes = [node for node in ast.walk(ast.parse(Path(TREE.stamps[module][0]).read_text())) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


def _files_of(name):
    """The file of a dotted name; of one that a package hands on the file that has it, and the code of the package itself."""
    module = NAME
    for part in name.split(".")[1:]:
        if f"{module}.{part}" in TREE.stamps:
            module = f"{module}.{part}"
        elif part in _handed_on(module) and _handed_on(module)[part].startswith(NAME):
            return {_path(module) + ALONE} | _files_of(_handed_on(module)[part])
        else:
            break
    return {_path(module)}


def _names(nodes):
    """Dotted names of the package that the code of a file uses, by whatever names it knows the package and its parts.

    `nodes` are those of `ast.walk`, where each comes before its parts.
    """
    known, found, skipped = {}, set(), set()

    def chain(node):
        """The nodes of `ns.kde.grid`, and the name that it stands for."""
        nodes, parts = [node], []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
            nodes.append(node)
        return nodes, ".".join([known[node.id], *reversed(parts)]) if isinstance(node, ast.Name) and node.id in known else ""

    for node in nodes:
        if isinstance(node, ast.Import):
            known |= {a.asname or NAME: a.name if a.asname else NAME for a in node.names if a.name.split(".")[0] == NAME}
        elif isinstance(node, ast.ImportFrom) and named_imports(node):
            for alias, name in zip(node.names, named_imports(node), strict=False):
                if name in TREE.stamps:
                    known[alias.asname or alias.name] = name
                else:
                    found.add(name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            inside, module = chain(node.value)
            if module in TREE.stamps:  # `D = ns.distributions` uses nothing of it yet
                known[node.targets[0].id] = module
                skipped.update(inside)
    for node in nodes:
        if isinstance(node, ast.Attribute) and node not in skipped:
            inside, name = chain(node)
            if name:
                found.add(name)
                skipped.update(inside)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in known and node not in skipped:
            module = known[node.id]  # that is handed to something, such as `getattr`
            found |= {f"{NAME}.{room}" for room in numbastats._LAZY} if module == NAME else {module}
    return found


@functools.cache
def depends_on(path):
    """Files that a file names: by imports, by attributes of the package, by the folder; some `ALONE`."""
    text = (ROOT / path).read_text(encoding="utf-8")
    of_package, found, names = path.startswith(f"{NAME}/"), set(), set()
    if path.endswith(".py"):
        nodes = list(ast.walk(ast.parse(text)))
        names = _names(nodes)
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
            elif isinstance(node, ast.Import):
                names |= {a.name for a in node.names if a.name.startswith("tests.")}
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "discover":  # of tests.cases
                package = ast.literal_eval(node.args[0])
                names |= {f"{package}.{p.stem}" for p in (ROOT / package.replace(".", "/")).glob("*.py")}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not of_package:  # code for other processes
                names |= {f"{NAME}{chain}" for chain in USES.findall(node.value)}
        if of_package and "__subclasses__" in text:  # whoever loads the package has them all
            names.add(_module(path).rpartition(".")[0])
    else:
        names = {f"{NAME}{chain}" for chain in USES.findall(text)}
    for name in names:
        if name.startswith("tests"):
            found |= {p for p in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py") if (ROOT / p).exists()}
        else:
            found |= _files_of(name)
    if "/test_" in path:
        found |= {
            str(p.relative_to(ROOT))
            for folder in FOLDERS
            if re.search(rf"\b{folder}\b", text)
            for p in (ROOT / folder).rglob("*.py")
        }
    return {name for name in found if name.removesuffix(ALONE) not in APART}


def used_in_examples(path):
    """Files of the sub-packages that the examples in a module's docstrings use; who imports the module does not run these."""
    names = USES.findall("\n".join(EXAMPLE.findall((ROOT / path).read_text(encoding="utf-8")))) if _module(path) else ()
    return set().union(*(_files_of(f"{NAME}{chain}") for chain in names)) - APART


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
                ahead += [] if one.endswith(ALONE) else depends_on(one)
        return {one.removesuffix(ALONE) for one in found}

    def reached(path):
        return path in changed or (path in ALWAYS and bool(changed)) or not closure(path).isdisjoint(code)

    return reached


class Reached:
    """The plugin of --changed: the files that no change reaches are not even imported."""

    def __init__(self):
        base = merge_base()
        reached = reached_by(changed_files(base), base)
        self.reached = functools.cache((lambda path: True) if reached is EVERYTHING else reached)

    def _reached(self, path):
        return not path.is_relative_to(ROOT) or self.reached(str(path.relative_to(ROOT)))

    def pytest_ignore_collect(self, collection_path):
        return collection_path.suffix in (".py", ".md") and not self._reached(collection_path) or None

    def pytest_collection_modifyitems(self, config, items):
        """Files that the command line names are collected all the same."""
        config.hook.pytest_deselected(items=[item for item in items if not self._reached(item.path)])
        items[:] = [item for item in items if self._reached(item.path)]


def main():
    """Whether a step of the check has to run."""
    base, *files = sys.argv[1:]
    files = [file for file in files if file.endswith((".py", ".md"))]  # an edit of others reaches everything
    if git("rev-parse", "--verify", f"{base}^{{commit}}") is None:
        return
    reached = reached_by(changed_files(base), base)
    sys.exit(0 if reached is EVERYTHING or any(map(reached, files)) else 3)


if __name__ == "__main__":
    main()
