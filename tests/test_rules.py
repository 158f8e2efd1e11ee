"""Rules of the house, checked on the syntax trees: who may jit, who may import whom, what scalars may contain."""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import runpy
import types
from pathlib import Path

import pytest

import numbastats
from numbastats._core.kernel import HOST_LOOPS, REGISTRY
from numbastats._core.sources import EVERYTHING, FOR_CLASSES, TREE, WITHOUT_CODE, named_imports
from numbastats._core.warmup import TOPICS as WARMED
from tests.cases import discover

ROOT = Path(numbastats.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
JIT_NAMES = {"njit", "jit", "vectorize", "guvectorize", "generated_jit", "stencil", "cfunc"}
JITTING = ("_core/kernel.py", "_core/numba_internals.py")
TOPICS = {"stable", "kde", "bayes", "mixture", "quantile", "distributions"}

OF_SCALAR = (
    "numbastats.scalar",
    "numbastats._core.kernel",
    "numbastats._core.cuda_backend",
    "numbastats._core.numba_internals.in_step_here",
)
# The one vocabulary of files; a room has those it needs
ROOM_FILES = {
    "__init__.py",
    "functions.py",
    "estimator.py",
    "results.py",
    "fitting.py",
    "arguments.py",
    "engine.py",
    "distributed.py",
    "paper.py",
}
SHARED = {"inference.py", "information.py", "likelihood.py", "moments.py"}  # mean the same in two sub-packages
FIELD_WORDS = {  # host mathematics, each by a word of the field that no other room uses
    "stable": "derivatives maximisation parameterisations mcculloch shared_tables simple_estimators starts table_cache",
    "kde": "bandwidth boundaries cell_list classes conditional distribution footprint gridding groups masses matrices model "
    "neighbours records resident smoothing univariate",
    "mixture": "components constraints criteria density discriminant families sampling selection tails units",
    "quantile": "archive construction panels quantile_table zones",
    "distributions": "by_density catalogue censoring composition contains counts defining extremes functions integrals intervals "
    "limits lmoments names nonparametric protocol resampling standardise tables",
    "bayes": "categories chains checks design diagnostics formulas predictions projection survival",
}
FIELD_WORDS = {room: {f"{word}.py" for word in words.split()} for room, words in FIELD_WORDS.items()}
FURNISHED = tuple(FIELD_WORDS)
CORE_FILES = {
    "__init__.py",
    "archive.py",
    "blas.py",
    "broadcast.py",
    "cache.py",
    "checks.py",
    "climb.py",
    "costs.py",
    "cuda_backend.py",
    "data.py",
    "device.py",
    "edf.py",
    "elementwise.py",
    "endings.py",
    "options.py",
    "errors.py",
    "estimator.py",
    "groups.py",
    "information.py",
    "inputs.py",
    "items.py",
    "kernel.py",
    "launch.py",
    "numba_internals.py",
    "ordering.py",
    "packs.py",
    "refusals.py",
    "parallel.py",
    "place.py",
    "progress.py",
    "random.py",
    "results.py",
    "slabs.py",
    "sources.py",
    "status.py",
    "warmup.py",
}


@functools.cache
def tree(path):
    return ast.parse(path.read_text(), str(path))


def imports(path):
    """Modules named by the import statements outside functions, as dotted names."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def relative(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_jit_only_in_the_files_of_kernels(path):
    if relative(path) in JITTING:
        return
    for node in ast.walk(tree(path)):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        assert name not in JIT_NAMES, f"{relative(path)}:{node.lineno} uses {name}; go through _core/kernel.py"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_who_imports_whom(path):
    here = relative(path)
    room = here.split("/")[0]
    for name in imports(path):
        if name.startswith("numbastats._core") or name.startswith("numbastats.scalar"):
            allowed = room != "scalar" or name.startswith(OF_SCALAR)
        else:
            allowed = True
        assert allowed, f"{here} imports {name}: scalar imports only scalar, _core.kernel and what marks loops"
        if name.startswith("numbastats."):
            other = name.split(".")[1]
            if room == "_core":
                assert other not in TOPICS | {"random", "interop", "scalar"}, f"{here} imports {name}: _core knows no topic"
            if room in TOPICS and other in TOPICS and other != room:
                assert len(name.split(".")) <= 3, f"{here} imports {name}: a topic uses another only through its public functions"
            assert other != "interop" or room in ("interop", "__init__.py"), f"{here} imports {name}: nothing imports interop"
        assert name != "numba.cuda" or here == "_core/cuda_backend.py", (
            f"{here} imports numba.cuda: take it from _core.cuda_backend"
        )
        if name.startswith(("numba.extending", "llvmlite", "numba.core", "numba.np", "numba.misc", "numba.cuda.")):
            assert here in ("scalar/bits.py", "_core/numba_internals.py", "_core/blas.py") or name in ("llvmlite",), (
                f"{here} imports {name}: the compiler's internals are theirs"
            )


FLOORS = {  # imports go down, within functions and for types, too
    **dict.fromkeys(("plot", "interop", "__main__", "__init__"), 8),
    **dict.fromkeys(("mixture", "kde", "bayes"), 7),
    "distributions": 6,
    **dict.fromkeys(("quantile", "stable"), 5),
    "random": 4,
    "scalar": 3,
    **dict.fromkeys(("_core", "config"), 2),  # one floor: each uses the other
    "testing": 1,
}
UPWARDS = {"quantile/__init__.py"}  # names that stay there for a release


def _module(name):
    """The file of the package that an import names, and its sub-package; None for others."""
    parts = name.split(".")[1:]
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return None


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_go_down(path):
    here = relative(path)
    floor = FLOORS[here.split("/")[0].removesuffix(".py")]
    for name in imports(path):
        other = name.split(".")[1] if name.startswith("numbastats.") else None
        if other in FLOORS and here not in UPWARDS and other != here.split("/")[0].removesuffix(".py"):
            assert FLOORS[other] < floor or floor in (2, 8), f"{here}, on floor {floor}, imports {name}, on floor {FLOORS[other]}"


def test_no_circles_within_a_sub_package():
    """Of the files of a sub-package some import none of the others; without these it is so again, until none is left."""
    needs = {}
    for path in FILES:
        if path.name != "__init__.py":
            found = {_module(name) for name in imports(path) if name.startswith("numbastats.")}
            needs[path] = {f for f in found if f and f != path and f.name != "__init__.py" and _near(f, path)}
    while free := [path for path, others in needs.items() if not others & needs.keys()]:
        for path in free:
            del needs[path]
    assert not needs, f"circles among {sorted(map(relative, needs))}"


def _near(a, b):
    """Whether two files are of one sub-package."""
    return relative(a).split("/")[0] == relative(b).split("/")[0]


def test_kernels_reach_by_imports_at_the_top_alone():
    """The disk cache knows of no other imports; a kernel whose files had one would be compiled anew after every edit."""
    for name in WARMED:
        package = getattr(numbastats, name)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    loops = [*REGISTRY.values(), *HOST_LOOPS.values()]
    assert len(loops) > 150
    for loop in loops:
        assert len(loop.closure()) < len(TREE.stamps) / 3, (
            f"{loop} depends on everything: some file has an import that is not at its top"
        )
    for path in {Path(TREE.stamps[module][0]) for loop in loops for module in loop.closure()}:
        top = set(tree(path).body)
        for node in ast.walk(tree(path)):
            names = named_imports(node)
            assert not names or node in top, (
                f"{relative(path)}:{node.lineno} imports {names} inside of something; write it at the top"
            )
            assert EVERYTHING not in names, f"{relative(path)}:{node.lineno}: name the module that is imported"
    for module in WITHOUT_CODE | FOR_CLASSES:
        taken = [name for node in ast.walk(tree(Path(TREE.stamps[module][0]))) for name in named_imports(node)]
        assert not [name for name in taken if name.endswith(("device_function", "array_function", "kernel.bind"))], module
    rooms = {module.split(".")[1] for module in REGISTRY["kde.exhaustive_power"].closure()}
    assert rooms == {"_core", "scalar", "kde"}


def _jitted():
    """The functions of all kernels and loops, and those that they call, as plain Python."""
    ahead, found = [f for loop in [*REGISTRY.values(), *HOST_LOOPS.values()] for f in loop._functions()], set()
    while ahead:
        value = ahead.pop()
        f = getattr(value, "py_func", value)
        if isinstance(f, types.FunctionType) and f not in found:
            found.add(f)
            ahead += [f.__globals__[name] for name in _used(f.__code__) if name in f.__globals__]
            ahead += [cell.cell_contents for cell in f.__closure__ or ()]
    return found


def _used(code):
    """The global names and attributes in a function and in those inside of it."""
    return {*code.co_names}.union(*(_used(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def test_jitted_functions_use_nothing_of_files_that_no_digest_has():
    """An edit of such a file compiles nothing anew, so a constant of it in machine code would stay as it was."""
    for name in WARMED:
        importlib.import_module(f"numbastats.{name}")
    functions, outside, rooms = [f for f in _jitted() if f.__module__ in TREE.stamps], WITHOUT_CODE | FOR_CLASSES, set()
    for f in functions:
        room, path = f.__module__.split(".")[1], Path(TREE.stamps[f.__module__][0])
        rooms.add(room)
        taken = _names_from(path, outside) & _used(f.__code__)
        assert not taken, (
            f"{relative(path)}: {f.__qualname__} uses {sorted(taken)}, and no digest has the file that they are from"
        )
    assert len(functions) > 3000 and {"scalar", *FURNISHED} <= rooms


@functools.cache
def _names_from(path, modules):
    """The names that a file takes from some modules, and under which it knows these."""
    found = set()
    for node in ast.walk(tree(path)):
        for full, alias in zip(named_imports(node), getattr(node, "names", ()), strict=False):
            if full in modules or TREE.module_of(full) in modules:
                found.add((alias.asname or alias.name).partition(".")[0])
    return found


def test_a_constant_of_host_code_in_a_formula_is_found(tmp_path):
    """By either kind of import."""
    path = tmp_path / "formulas.py"
    path.write_text("from numbastats._core.slabs import CHUNK as C\nfrom numbastats._core import slabs\nimport math\n")
    assert _names_from(path, WITHOUT_CODE) == {"C", "slabs"}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_modules_do_not_ask_for_lazy_names_while_they_load(path):
    """They would wait for the lock of `numbastats.__getattr__` with their own module locked: two threads could wait for ever."""
    for node in tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.module == "numbastats":
            lazy = {alias.name for alias in node.names} & set(numbastats._LAZY)
            assert not lazy, f"{relative(path)}:{node.lineno}: write import numbastats.{min(lazy)} as {min(lazy)}"


@pytest.mark.parametrize("path", sorted((ROOT / "scalar").glob("*.py")), ids=relative)
def test_scalars_are_pure(path):
    if path.name == "bits.py":
        return
    for node in ast.walk(tree(path)):
        assert not isinstance(node, (ast.Raise, ast.Try, ast.List, ast.Dict, ast.Global, ast.Nonlocal, ast.ListComp)) or _is_all(
            node, path
        ), f"{relative(path)}:{node.lineno}: {type(node).__name__} has no place in a scalar function"


def _is_all(node, path):
    for top in tree(path).body:
        if isinstance(top, ast.Assign) and getattr(top.targets[0], "id", "") == "__all__":
            return top.lineno <= node.lineno <= top.end_lineno
    return False


@pytest.mark.parametrize("room", FURNISHED)
def test_sub_packages_have_one_vocabulary_of_files(room):
    """Beside the names that all sub-packages share there are words of the field, of which no two use one for different things."""
    files = {p.name for p in (ROOT / room).glob("*.py")}
    others = set().union(*(words for other, words in FIELD_WORDS.items() if other != room))
    assert files <= ROOM_FILES | SHARED | FIELD_WORDS[room], (
        f"{room}: {sorted(files - ROOM_FILES - SHARED - FIELD_WORDS[room])} are not in the table"
    )
    assert not FIELD_WORDS[room] & others, f"{sorted(FIELD_WORDS[room] & others)} would be in two sub-packages"


@pytest.mark.parametrize("room", FURNISHED)
def test_all_that_is_jitted_is_in_kernels(room):
    jitting = {"Kernel", "HostLoop", "array_function", "build", "device_function", "host_loop"}
    for path in (ROOT / room).glob("*.py"):
        used = {name.rpartition(".")[2] for name in imports(path) if name.startswith("numbastats._core.kernel")} & jitting
        assert not used, f"{relative(path)} uses {sorted(used)}: jitted functions are in {room}/kernels"


def test_core_has_one_vocabulary_of_files():
    assert {p.name for p in (ROOT / "_core").glob("*.py")} == CORE_FILES


@pytest.mark.parametrize("path", [p for p in FILES if relative(p).split("/")[0] in {"_core", "scalar", *FURNISHED}], ids=relative)
def test_private_names_stay_in_their_file(path):
    for name in imports(path):
        if name.startswith("numbastats."):
            last = name.rpartition(".")[2]
            assert not last.startswith("_") or last == "_core", f"{relative(path)} imports {name}"


PAGES = Path(__file__).parents[1] / "docs" / "reference.py"
REFERENCE = re.search(r'SCALARS = "([^"]*)"', PAGES.read_text(encoding="utf-8"))[1].split()
PUBLIC = {  # `__all__` is what users see; more is imported from them
    *("config.py", "random/__init__.py", "kde/bandwidth.py"),
    *(f"scalar/{name}.py" for name in REFERENCE),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_modules_of_the_reference_say_what_is_public(name):
    """The reference has a page of each."""
    assert importlib.import_module(f"numbastats.scalar.{name}").__all__


def _taken():
    """Names that other files of the package import from a file, or ask a module for as an attribute."""
    found = {path: set() for path in FILES}
    for path in FILES:
        modules = {}
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    file = _module(f"{node.module}.{alias.name}") if node.module.startswith("numbastats") else None
                    if file and file != _module(node.module):
                        modules[alias.asname or alias.name] = file
                    elif file:
                        found[file].add(alias.name)
            elif isinstance(node, ast.Import):
                modules |= {a.asname: _module(a.name) for a in node.names if a.asname and a.name.startswith("numbastats.")}
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                found[modules[node.value.id]].add(node.attr)
    return found


def test_private_modules_list_all_that_others_take():
    for path, names in _taken().items():
        lists = [n.value for n in tree(path).body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
        whole = lists and all(isinstance(e, ast.Constant) for e in lists[0].elts)
        if whole and relative(path) not in PUBLIC:
            missing = names - set(ast.literal_eval(lists[0]))
            assert not missing, f"{relative(path)}: __all__ lacks {sorted(missing)}; list them, or have no __all__"


WORDS = re.compile(
    r"(?<!power )(?<!power-)\b_?[Ll]aws?\b|[a-z]Law\b|of each value|cannot be meant|had better|manners? of\b|\b_lent\b|\b_one\b"
)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_words_are_those_of_the_field(path):
    """A distribution is not called a law, and what was once written in place of English does not come back."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = WORDS.search(line)
        assert not found, f"{relative(path)}:{number}: {found.group()!r}"


def test_twins_stand_side_by_side():
    """Every loop of `scalar.loops` exists for both devices."""
    names = [n.name for n in tree(ROOT / "scalar" / "loops.py").body if isinstance(n, ast.FunctionDef)]
    cpu = {n[:-4] for n in names if n.endswith("_cpu")}
    cuda = {n[:-5] for n in names if n.endswith("_cuda")}
    assert cpu == cuda


def test_public_names_exist_and_are_documented():
    """Docstrings name every parameter and, apart from scalars, what is raised."""
    import inspect

    modules = [
        numbastats,
        numbastats.kde.bandwidth,
        *(getattr(numbastats, name) for name in ("config", "interop", "plot", "random", "scalar", "testing", *sorted(TOPICS))),
    ]
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            text = inspect.getdoc(thing)
            assert text, f"{module.__name__}.{name} has no docstring"
            if module is numbastats.scalar or not inspect.isfunction(thing):
                continue
            missing = [p for p in inspect.signature(thing).parameters if not re.search(rf"\b{p}\b", text)]
            assert not missing, f"the docstring of {module.__name__}.{name} says nothing of {missing}"
            assert "Raises" in text, f"the docstring of {module.__name__}.{name} has no section Raises"


def test_mutants_name_one_place_each():
    """The changes that `mutate.py` makes are still possible."""
    for path in sorted((Path(__file__).parent / "mutants").glob("*.py")):
        for file, old, *_ in runpy.run_path(str(path))["MUTANTS"]:
            found = (ROOT.parent / file).read_text(encoding="utf-8").count(old)
            assert found == 1, f"{path.name}: {old!r} occurs {found} times in {file}"


def _families():
    """Words of the families of distributions that users see."""
    found = (getattr(numbastats.distributions, name) for name in numbastats.distributions.__all__)
    return {c.family for c in found if isinstance(c, type) and c.__module__.startswith("numbastats.distributions.families.")}


CASES = {  # of a sub-package: the names of its records, and the cases of its tests
    "distributions": lambda: (_families(), discover("tests.distributions.cases")),
    "kde": lambda: ({record.name for record in numbastats.kde.records.RECORDS}, discover("tests.kde.cases")),
    "bayes": lambda: (set(numbastats.bayes.responses.RESPONSES), discover("tests.bayes.cases")),
}


@pytest.mark.parametrize("room", CASES)
def test_each_record_has_a_case(room):
    """What the tests know of it."""
    records, cases = CASES[room]()
    missing = [f"tests/{room}/cases/{name}.py" for name in sorted(records - cases.keys())]
    assert not missing, f"write {', '.join(missing)}: the folder's __init__.py says what is in a CASE"
    unknown = [f"tests/{room}/cases/{name}.py" for name in sorted(cases.keys() - records)]
    assert not unknown, f"no record of {room} has the name of {', '.join(unknown)}"


def test_nothing_is_compiled_while_tests_are_collected():
    """Each worker, and each run of one test, would wait for it: make such values in fixtures, or in functions."""
    from tests.conftest import LOADED_AT_COLLECTION

    assert not LOADED_AT_COLLECTION, f"modules of tests, or doctests, call {LOADED_AT_COLLECTION} while they are imported"
