"""What the machine code of a kernel depends on: the files of the package that its functions reach by imports.

A kernel takes constants and callees from the module of its loop, from those of the functions bound to it and from the file that
registers it, and these get theirs by imports at the top of their files (tests/test_rules.py refuses other imports there). The
digest of this closure is a part of the key of compiled code. It is made of what Python compiles of each file, without docstrings
and comments, so an edit of host code, of a text or of another kernel leaves a kernel as it is.

Files count as they were when this module was imported, before any module with a kernel: what was edited since is in no cache,
for nobody can tell whether the process has the old code or the new.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import threading
import types
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = [
    "EVERYTHING",
    "FOR_CLASSES",
    "NAME",
    "TREE",
    "WITHOUT_CODE",
    "Tree",
    "described",
    "modules_of",
    "named_imports",
    "parsed",
    "scheme",
]

NAME = __name__.partition(".")[0]
EVERYTHING = "*"  # stands among the imports of a file that may import any other file
WITHOUT_CODE = frozenset(  # modules that kernel.py imports and that change no machine code
    f"{NAME}.{module}"
    for module in "config _core.cache _core.checks _core.errors _core.packs _core.parallel _core.progress".split()
    + "_core.slabs _core.sources".split()
)
FOR_CLASSES = frozenset(  # modules that files of families of distributions import for their classes, beside the formulas
    f"{NAME}.{module}" for module in "distributions.moments distributions.protocol distributions.tables random".split()
)


def named_imports(node) -> list[str]:
    """Dotted names of the package in an import statement; none of other statements, `EVERYTHING` for a relative import."""
    if isinstance(node, ast.Import):
        return [EVERYTHING if a.name == NAME else a.name for a in node.names if a.name.partition(".")[0] == NAME]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.level:
        return [EVERYTHING]
    return [f"{node.module}.{a.name}" for a in node.names] if str(node.module).partition(".")[0] == NAME else []


def _code(value) -> str:
    """Text that identifies a code object, or a constant in it, without line numbers."""
    if isinstance(value, types.CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        counts = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags
        caught = value.co_exceptiontable.hex()
        return f"{value.co_name} {value.co_code.hex()} {caught} {counts} {names} {_code(value.co_consts)}"
    if isinstance(value, tuple):
        return f"({' '.join(map(_code, value))})"
    if isinstance(value, frozenset):  # its order differs between processes
        return f"{{{' '.join(sorted(map(_code, value)))}}}"
    return repr(value)


def parsed(content: bytes) -> list:
    """Digest of the code of a file with this content, and the dotted names that the file imports from the package."""
    tree = ast.parse(content)
    first, imports = set(tree.body), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = named_imports(node)  # an import in a function may happen at any time
            imports |= set(names) if node in first or not names else {EVERYTHING}
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, False) is not None:
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
    code = _code(compile(tree, "", "exec", dont_inherit=True))
    return [hashlib.sha256(code.encode()).hexdigest()[:32], sorted(imports)]


def _stamp(path):
    """A file's path with its time of change, size and inode, which show whether it was rewritten."""
    try:
        s = os.stat(path)
    except OSError:  # the file was removed
        return path, 0, 0, 0
    return path, s.st_mtime_ns, s.st_size, s.st_ino


def _parts(f) -> dict:
    """What a function has beside the code of its file, by name: what `bind` put into it, and the cells of a closure."""
    cells = (cell.cell_contents for cell in f.__closure__ or ())
    return dict(zip(f.__code__.co_freevars, cells, strict=True)) | getattr(f, "bound", {})


@functools.cache
def _modules_of(f) -> frozenset[str]:
    return frozenset({f.__module__}.union(*map(modules_of, _parts(f).values())))


def modules_of(value) -> frozenset[str]:
    """The module of a function or dispatcher, with those of the functions in its parts; none of what is no function."""
    f = getattr(value, "py_func", value)
    return _modules_of(f) if isinstance(f, types.FunctionType) else frozenset()


@functools.cache
def _described(f) -> str:
    parts = " ".join(f"{name}={described(value)}" for name, value in sorted(_parts(f).items()))
    return hashlib.sha256(f"{f.__module__} {f.__qualname__} {parts}".encode()).hexdigest()[:16]


def described(value) -> str:
    """A text that tells a bound value from others in every process: a function by its name and its parts.

    Raises
    ------
    TypeError
        Where the value has no such text.
    """
    f = getattr(value, "py_func", value)
    if isinstance(f, types.FunctionType):
        return _described(f)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    text = f"{value!r} {getattr(value, '__name__', '')}"  # an intrinsic has its name there
    if " at 0x" in text:
        raise TypeError(f"{text.strip()} is bound to a kernel; bind functions, numbers, tuples, arrays or Numba types")
    return text


class Tree:
    """The files of the package as they are now.

    Digests and imports of files, by the hash of their content, come from `teachers`, functions that are called once, one after
    another; those of other files are computed here.
    """

    def __init__(self, package):
        self._root = Path(package).parent
        self._lock = threading.Lock()
        self.stamps = self._stamps()
        self.known: dict[str, list] = {}
        self.teachers: list[Callable[[], dict]] = []
        self.learned = False  # whether a file was parsed here that no teacher knew
        self._sources: dict[str, list] = {}

    def _stamps(self):
        """The stamp of each module's file."""
        found, cut = {}, len(str(self._root)) + 1
        for folder, inner, names in os.walk(self._root / NAME, followlinks=True):
            inner[:] = [name for name in inner if name != "__pycache__"]
            module = folder[cut:].replace(os.sep, ".")
            for name in names:
                if name.endswith(".py") and name[:-3].isidentifier():  # no lock file of an editor
                    found[module if name == "__init__.py" else f"{module}.{name[:-3]}"] = _stamp(os.path.join(folder, name))
        return found

    def _content(self, module):
        with open(self.stamps[module][0], "rb", buffering=0) as file:
            content = file.read()
        return content, hashlib.sha256(content).hexdigest()[:32]

    def source(self, module) -> list:
        """What `parsed` finds in the file of a module."""
        if module not in self._sources:
            content, key = self._content(module)
            with self._lock:
                while key not in self.known and self.teachers:
                    self.known |= self.teachers.pop(0)()
                if key not in self.known:
                    self.known[key], self.learned = parsed(content), True
                self._sources[module] = self.known[key]
        return self._sources[module]

    def all_sources(self) -> dict[str, list]:
        """What `parsed` finds in every file, by the hash of its content."""
        return {self._content(module)[1]: self.source(module) for module in self.stamps}

    def module_of(self, name: str) -> str:
        """The module that a dotted name is, or to which it belongs."""
        return name if name in self.stamps or "." not in name else name.rpartition(".")[0]

    def closure(self, modules) -> frozenset[str]:
        """These modules and what they import, except `WITHOUT_CODE` and `FOR_CLASSES`; all modules where one may import any.

        Modules from outside of the package may reach any file of it, and files of their own, of which nothing is known here: no
        machine code of theirs is kept. What belongs to the package and was not there when the process began
        is in the closure, too, which then counts as edited.
        """
        ahead, found = list(modules), set[str]()
        try:
            while ahead:
                module = ahead.pop()
                if module not in found and module not in WITHOUT_CODE | FOR_CLASSES:
                    if module == EVERYTHING or module.partition(".")[0] != NAME:
                        return frozenset({*self.stamps, *found})
                    found.add(module)
                    if module in self.stamps:
                        ahead += map(self.module_of, self.source(module)[1])
        except (OSError, SyntaxError, ValueError):  # of a file that was removed, or is being edited
            return frozenset(self.stamps)
        return frozenset(found)

    def digest(self, closure) -> str:
        """Hash of the code of these modules; a random one, which no process shares, where one of them was edited."""
        if not self.unchanged(closure):
            return uuid.uuid4().hex
        whole, h = len(closure) == len(self.stamps), hashlib.sha256()
        try:
            for module in sorted(closure):
                code = self._content(module)[1] if whole else self.source(module)[0]
                h.update(f"{module} {code} ".encode())
        except OSError:
            return uuid.uuid4().hex
        return h.hexdigest()

    def unchanged(self, closure) -> bool:
        """Whether these files are unchanged since the process began."""
        return all(module in self.stamps and _stamp(self.stamps[module][0]) == self.stamps[module] for module in closure)


def scheme(*others) -> str:
    """Hash of the functions that make closures and digests, and of others: files written by older versions are not used."""
    by_parts = _parts, _modules_of.__wrapped__, modules_of, _described.__wrapped__, described
    functions = named_imports, parsed, _code, *by_parts, Tree._stamps, Tree.module_of, Tree.closure, Tree.digest, *others
    return hashlib.sha256(" ".join(_code(f.__code__) for f in functions).encode()).hexdigest()[:16]


TREE = Tree(Path(os.path.abspath(__file__)).parent.parent)  # links are not resolved: the imported file is hashed
