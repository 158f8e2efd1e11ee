"""Write the lists of records: `python tools/discover.py`, after a file came to a folder of records or left it.

Of each folder in `FOLDERS` the code of its `__init__` is written, of which the docstring alone is by hand. `WRITES` are the other
files: words for type checkers, lists of public names and tables, which know the records by the package. tests/test_discovery.py
fails where a file is not as this script would write it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "numbastats"
BY = "written by tools/discover.py"
WIDTH = 130


class Folder(NamedTuple):
    """A folder of records, a file each.

    Attributes
    ----------
    record : str
        Name of the record in every file, of which `RECORDS` is made; empty where `__init__` hands on the files themselves.
    beside : tuple of str
        Files that are no records.
    table : str
        Name of a dict of the records by the names of their files, in the place of `RECORDS`; a record is then named as its file,
        in capitals, and is a `kind` of record.py.
    kind : str
    words : dict
        Names of types, of words for type checkers, by the functions that make such records.
    """

    record: str = ""
    beside: tuple[str, ...] = ()
    table: str = ""
    kind: str = ""
    words: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - of a named tuple, which nobody changes


FAMILIES = "distributions/families"
RESPONSES = "bayes/responses"
FOLDERS = {
    FAMILIES: Folder(),
    "kde/smoothing_kernels": Folder("RECORD"),
    RESPONSES: Folder(
        *("", ("accelerated", "classes", "record", "softmax", "truncated"), "RESPONSES", "Record"),
        {"Classification": ("two_classes", "ordinal"), "Regression": ("Response", "Joint", "accelerated", "zero_truncated")},
    ),
    "bayes/samplers": Folder("", ("adaptation", "algebra", "collapsed", "record", "scales"), "SAMPLERS", "Sampler"),
}

HEAD = """# All distributions

Every class has the protocol of [distributions](subpackages/distributions.md). "Support" is that of the standard form, before
location and scale; the words for functions that take a family, such as `fit`, are ours or SciPy's. A fit estimates the parameters
that are named; the others stay at their defaults unless `fixed=` says otherwise. "By points" are tails and quantiles computed for
each value, in threads and on the GPU; "tables" are masses and quantiles of the density that are kept for a set of parameters, and
"series" those of [stable distributions](subpackages/stable.md). This page is written by `python tools/discover.py`.

"""


# --- code ---------------------------------------------------------------------------------------------------------


def files(folder):
    """The names of the records' files, in their order."""
    beside = FOLDERS[folder].beside
    found = sorted(path.stem for path in (PACKAGE / folder).glob("*.py"))
    for name in found:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise SystemExit(f"{folder}/{name}.py: a file of a record has a name that can be imported, such as log_laplace.py")
    return [name for name in found if name != "__init__" and name not in beside]


def listed(nodes):
    """The names in a file's `__all__`."""
    lists = [n.value for n in nodes if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
    return {one.value for node in lists for one in ast.walk(node) if isinstance(one, ast.Constant)}


def public(folder, name):
    """What a record's file hands on: names in its `__all__` of classes, and of functions that make objects like a class."""
    path, record = PACKAGE / folder / f"{name}.py", FOLDERS[folder].record
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    made = {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0].isupper()}
    found = listed(nodes) & ({record} if record else made)
    if not found:
        what = record or "class of the file"
        raise SystemExit(f"{path.relative_to(ROOT)}: __all__ names no {what}; `beside` in FOLDERS is for other files")
    return sorted(found, key=lambda name: (not name.isupper(), name))  # as ruff sorts imports


def brackets(head, names, ends):
    """Names between brackets as ruff has them: in the line, or a line each; of types and dicts in one line while they fit."""
    inner = ", ".join(names)
    if len(f"{head}{ends[0]}{inner}{ends[1]}") <= WIDTH:
        return f"{head}{ends[0]}{inner}{ends[1]}\n"
    if head.endswith(("Literal", "dict")) and len(inner) <= WIDTH - 4:
        return f"{head}{ends[0]}\n    {inner}\n{ends[1]}\n"
    return f"{head}{ends[0]}\n{''.join(f'    {name},{chr(10)}' for name in names)}{ends[1]}\n"


def all_of(names):
    """The statement of `__all__`."""
    return brackets("__all__ = ", [f'"{name}"' for name in sorted(names)], "[]")


def docstring(path):
    """The text of a file to the end of its docstring."""
    head, text, _ = path.read_text(encoding="utf-8").split('"""', 2)  # what follows may be broken, as by a merge
    return f'{head}"""{text}"""\n\n'


def init(folder):
    """The text of a folder's `__init__`."""
    package, names, record = f"numbastats.{folder.replace('/', '.')}", files(folder), FOLDERS[folder].record
    if FOLDERS[folder].table:
        return table_of(folder, package, names)
    text = docstring(PACKAGE / folder / "__init__.py") + f"# The code is {BY}.\n\n"
    if not record:
        return text + brackets(f"from {package} import ", names, "()") + "\n" + all_of(names)
    imports = "".join(f"from {package}.{name} import {found} as {name}\n" for name in names for found in public(folder, name))
    words = brackets("Name = Literal", [f'"{name}"' for name in names], "[]")
    head = f"{text}from typing import Literal\n\n{imports}\n{all_of(['Name', 'RECORDS'])}\n"
    return f"{head}{words}{brackets('RECORDS = ', names, '()')}"


def makers(folder):
    """The function that makes the record of each file, which is named as the file, in capitals."""
    found = {}
    for name in files(folder):
        path = PACKAGE / folder / f"{name}.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if getattr(target, "id", "") == name.upper() and isinstance(node.value, ast.Call):
                found[name] = ast.unparse(node.value.func)
        if name not in found:
            raise SystemExit(f"{path.relative_to(ROOT)} has no {name.upper()} = ...(...); `beside` in FOLDERS is for other files")
    return found


def words_of(folder):
    """The words of the records of each type."""
    found, kinds = makers(folder), FOLDERS[folder].words
    for name, maker in found.items():
        if kinds and not any(maker in made for made in kinds.values()):
            raise SystemExit(f"{folder}/{name}.py: {maker} makes no record of the types in FOLDERS")
    return {kind: [name for name, maker in found.items() if maker in made] for kind, made in kinds.items()}


def table_of(folder, package, names):
    """The text of an `__init__` with a dict of records."""
    _, _, table, kind, _ = FOLDERS[folder]
    words = words_of(folder)
    modules = {name: name.upper() for name in makers(folder)} | {"record": kind}
    text = docstring(PACKAGE / folder / "__init__.py") + f"# The code is {BY}.\n\n"
    text += "from typing import Literal\n\n" if words else ""
    text += "".join(f"from {package}.{module} import {modules[module]}\n" for module in sorted(modules))
    text += "\n" + all_of([*(name.upper() for name in names), table, *words]) + "\n"
    text += "".join(brackets(f"{kind} = Literal", [f'"{word}"' for word in found], "[]") for kind, found in words.items())
    return text + brackets(f"{table}: dict[str, {kind}] = dict", [f"{name}={name.upper()}" for name in names], "()")


def distributions(table=None):
    """The text of numbastats/distributions/__init__.py: of what it imports the classes are written; all of it is public."""
    path, package = PACKAGE / "distributions" / "__init__.py", "numbastats.distributions.families"
    text = path.read_text(encoding="utf-8")
    nodes, lines = ast.parse(text).body, text.split("\n")
    by_hand = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.module.startswith(package)]
    statements = {node.module: "\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n" for node in by_hand}
    classes = {f"{package}.{name}": public(FAMILIES, name) for name in files(FAMILIES)}
    statements |= {module: f"from {module} import {', '.join(names)}\n" for module, names in classes.items()}
    names = [alias.name for node in by_hand for alias in node.names] + [name for found in classes.values() for name in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"two files of numbastats/distributions have a public {', '.join(sorted(twice))}; rename one")
    (whole,) = (node for node in nodes if isinstance(node, ast.Assign))
    about = docstring(path)
    if table:
        first, *_, last = re.finditer("^=+ =+\n", about, re.MULTILINE)
        about = about[: first.start()] + table() + about[last.end() :]
    note = f"# The imports of families, `__all__` and the table are {BY}.\n\n"
    imports = "".join(statements[module] for module in sorted(statements))
    return about + note + imports + "\n" + all_of(names) + "\n".join(lines[whole.end_lineno :])


# --- what the records say of themselves ---------------------------------------------------------------------------


def classes():
    """The classes of distributions, and what makes some of them, by name."""
    import numbastats.distributions as D

    return {name: getattr(D, name) for name in sorted(name for file in files(FAMILIES) for name in public(FAMILIES, file))}


def by_parameters():
    """The table of the docstring: the classes with the same parameters, those of counts last."""
    rows = {}
    for name, cls in classes().items():
        found = cls.names if inspect.isclass(cls) else tuple(inspect.signature(cls).parameters)
        rows.setdefault((getattr(cls, "is_discrete", False), len(found), ", ".join(found)), []).append(f"`{name}`")
    width = max(len(names) for *_, names in rows)
    rule = f"{'=' * width} {'=' * (WIDTH - 1 - width)}\n"

    def row(names, found):
        lines = textwrap.wrap(", ".join(found), WIDTH - 1 - width)
        return f"{names:{width}} " + f"\n{'':{width + 1}}".join(lines) + "\n"

    return rule + row("parameters", ["classes"]) + rule + "".join(row(key[-1], rows[key]) for key in sorted(rows)) + rule


def ends(support):
    """The support in words."""
    low, high = (f"{float(e):g}".replace("inf", "∞") for e in support)
    return {("-∞", "∞"): "all numbers"}.get((low, high), f"{low} to {high}")


def support_of(cls):
    """What the class says of its support, for shapes that differ where it depends on them."""
    if cls._support_in_words:
        return cls._support_in_words
    if cls.is_discrete:
        return "0, 1, 2, ..."
    values = {name: 1.5 if name == "alpha" else 0.5 for name in cls.names}
    values |= {name: float(name == "scale") for name in ("loc", "scale", "mu") if name in cls.names}
    values |= {"beta": 0.0} if "alpha" in cls.names else {}
    return ends(cls(**values).support())


def fitted(cls):
    """The parameters that a fit estimates."""
    if cls.family == "stable":
        return "`stable.fit`: alpha, beta, loc, scale"
    if cls._likelihood is None and cls._equations is None:
        return "no"
    if cls._known:
        return ", ".join(n for n in cls.names if n not in cls._known) + f"; {', '.join(cls._known)} in `fixed=`"
    return ", ".join(cls._likelihood.free if cls._equations is None else cls._equations.names)


def rows():
    """A row of the page for each class."""
    for name, cls in classes().items():
        if inspect.isclass(cls):
            words = ", ".join(f'"{w}"' for w in (cls.family, *cls.aliases))
            how = "by points" if cls._kernels is not None else "series" if cls.family == "stable" else "tables"
            title = inspect.getdoc(cls).splitlines()[0].split(":")[0].rstrip(".")
            yield f"`{name}`", title, ", ".join(cls.names), support_of(cls), words, fitted(cls), how


def page():
    """The text of docs/families.md."""
    head = ("class", "distribution", "parameters", "support", "family", "a fit estimates", "tails and quantiles")
    lines = [head, ("---",) * len(head), *rows()]
    return HEAD + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def names():
    """The text of numbastats/distributions/names.py: the words of families that have fits."""
    from numbastats.distributions.fitting import CLASSES

    words = sorted(word for family, cls in CLASSES.items() for word in {family, *cls.aliases})
    if twice := {word for word in words if words.count(word) > 1}:
        raise SystemExit(f"two distributions have the family or alias {', '.join(sorted(twice))}; a word means one of them")
    head = f'"""Words of families for type checkers, ours and SciPy\'s; {BY}."""\n\nfrom typing import Literal\n\n'
    return head + all_of(["Name"]) + "\n" + brackets("Name = Literal", [f'"{word}"' for word in words], "[]")


def kernels():
    """The text of numbastats/kde/functions.py: the sentence with the names of the smoothing kernels is written."""
    from numbastats.kde.records import RECORDS

    named = ", ".join(f'"{record.name}"' for record in RECORDS)
    on_line = " and ".join(f'"{record.name}"' for record in RECORDS if record.on_line)
    sentence = f"One of {named}: functions of the distance in H, of which {on_line} are for d = 1 or a product form."
    lines = textwrap.indent("\n".join(textwrap.wrap(sentence, WIDTH - 8)), " " * 8)
    path = PACKAGE / "kde" / "functions.py"
    parts = re.split(r' {8}One of "epanechnikov",.*?product form\.(?=\n)', path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if len(parts) != 2:
        raise SystemExit(f"{path.relative_to(ROOT)} lacks the sentence with the names of kernels, or has it twice")
    return lines.join(parts)


def outcomes():
    """The text of numbastats/bayes/estimator.py: the words of responses in its docstrings are written."""
    path = PACKAGE / "bayes" / "estimator.py"
    parts = re.split(r"(?<= {4}response : )(?:\{.*\}|str, one of these words)(?=\n)", path.read_text(encoding="utf-8"))
    found = ["{" + ", ".join(f'"{word}"' for word in words) + "}" for words in words_of(RESPONSES).values()]
    found = [words if len(f"    response : {words}") <= WIDTH else "str, one of these words" for words in found]  # of the table
    if len(parts) != len(found) + 1:
        raise SystemExit(f"{path.relative_to(ROOT)} has not one line of responses for each of {', '.join(words_of(RESPONSES))}")
    return parts[0] + "".join(words + part for words, part in zip(found, parts[1:], strict=True))


WRITES = {
    **{PACKAGE / folder / "__init__.py": functools.partial(init, folder) for folder in FOLDERS},
    PACKAGE / "distributions" / "__init__.py": functools.partial(distributions, by_parameters),
    PACKAGE / "distributions" / "names.py": names,
    PACKAGE / "bayes" / "estimator.py": outcomes,
    PACKAGE / "kde" / "functions.py": kernels,
    ROOT / "docs" / "families.md": page,
}


def written(path, text):
    """Write a file where it is not so already."""
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def main():
    """Write all files: first imports, without which the package does not know its records."""
    sys.path.insert(0, str(ROOT))
    written(PACKAGE / "distributions" / "__init__.py", distributions())
    for path, text in WRITES.items():
        written(path, text())


if __name__ == "__main__":
    main()
