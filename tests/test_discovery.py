"""Lists of records are as `python tools/discover.py` writes them, and know each file of their folders."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from numbastats.kde.records import kernel_of

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tools" / "discover.py"


@pytest.fixture
def discover():
    """The script, as a module of its own."""
    spec = importlib.util.spec_from_file_location("discover", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_written_from_records_is_current(discover):
    for path, text in discover.WRITES.items():
        assert path.read_text(encoding="utf-8") == text(), f"run python tools/discover.py for {path.relative_to(ROOT)}"


def test_each_file_of_a_folder_is_listed(discover):
    """By the package as it is imported, not by the script's own reading."""
    for folder, (record, beside, table, *_) in discover.FOLDERS.items():
        package = importlib.import_module(f"numbastats.{folder.replace('/', '.')}")
        stems = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - {"__init__", *beside}
        if table:
            records = getattr(package, table)
            names = {stem: getattr(one, "word" if folder == discover.RESPONSES else "name") for stem, one in records.items()}
            assert names == {stem: stem for stem in stems}, "a record has the name of its file"
        elif record:
            assert [one.name for one in package.RECORDS] == sorted(stems), "a record has the name of its file"
            assert all(kernel_of(one.name) is one for one in package.RECORDS), "another word for a kernel hides one of this name"
            numbers = [one.number for one in package.RECORDS]
            assert len(set(numbers)) == len(numbers), f"two kernels have one number: {numbers}"
        else:
            assert package.__all__ == sorted(stems) and all(hasattr(package, stem) for stem in stems)


def test_a_file_that_is_not_listed_is_noticed(discover, tmp_path):
    """`families/__init__` had forgotten the skew t distribution."""
    for path in discover.PACKAGE.glob("distributions/**/*.py"):
        copy = tmp_path / path.relative_to(discover.PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    discover.PACKAGE = tmp_path
    families, listed = tmp_path / discover.FAMILIES, (tmp_path / discover.FAMILIES / "__init__.py").read_text(encoding="utf-8")
    whole = (tmp_path / "distributions" / "__init__.py").read_text(encoding="utf-8")
    assert discover.init(discover.FAMILIES) == listed and discover.distributions() == whole
    text = '__all__ = ["Zipf", "ZETA", "constants"]\n\nZETA = 2\n\n\nclass Zipf:\n    """Zipf."""\n'
    (families / "zipf.py").write_text(text, encoding="utf-8")
    assert discover.init(discover.FAMILIES) == listed.replace("    weibull,", "    weibull,\n    zipf,").replace(
        '    "weibull",', '    "weibull",\n    "zipf",'
    )
    found = discover.distributions()
    assert "from numbastats.distributions.families.zipf import Zipf\n" in found and '    "Zipf",\n' in found
    (families / "skew_t.py").unlink()
    assert "skew_t" not in discover.init(discover.FAMILIES) and "SkewT" not in discover.distributions().partition("# The")[2]
    (families / "zipf.py").write_text("__all__ = []\n", encoding="utf-8")
    discover.ROOT = tmp_path
    with pytest.raises(SystemExit, match="zipf.py: __all__ names no class"):
        discover.distributions()
    discover.FOLDERS[discover.FAMILIES] = discover.Folder(table="FAMILIES")
    with pytest.raises(SystemExit, match="asymmetric_laplace.py has no ASYMMETRIC_LAPLACE"):
        discover.init(discover.FAMILIES)
    discover.FOLDERS[discover.FAMILIES] = discover.Folder("RECORD")
    with pytest.raises(SystemExit, match="asymmetric_laplace.py: __all__ names no RECORD"):
        discover.init(discover.FAMILIES)


def test_names_in_a_docstring_are_written(discover, monkeypatch):
    """From a sentence that is wrapped anywhere."""
    from numbastats.kde import records

    for count in range(2, len(records.RECORDS)):
        monkeypatch.setattr(records, "RECORDS", records.RECORDS[:count])
        text = " ".join(discover.kernels().split())
        named = ", ".join(f'"{record.name}"' for record in records.RECORDS)
        assert f"One of {named}: functions of the distance" in text
    monkeypatch.setattr(discover.re, "split", lambda pattern, text, **options: [text])
    with pytest.raises(SystemExit, match="functions.py lacks the sentence"):
        discover.kernels()


def test_words_of_responses_are_written(discover, monkeypatch):
    """By the functions that make the records; one that is not known is refused."""
    known, found = discover.words_of(discover.RESPONSES), discover.makers(discover.RESPONSES)
    assert {"logit", "probit"} <= set(known["Classification"]) and {"gaussian", "poisson"} <= set(known["Regression"])
    monkeypatch.setattr(discover, "makers", lambda folder: found | {"cloglog": "two_classes", "skellam": "Response"})
    words = ", ".join(f'"{word}"' for word in [*known["Classification"], "cloglog"])
    text = discover.outcomes()
    assert f"    response : {{{words}}}\n" in text
    assert "    response : str, one of these words\n" in text  # where they would not fit the line
    monkeypatch.setattr(discover, "makers", lambda folder: found | {"skellam": "difference"})
    with pytest.raises(SystemExit, match="skellam.py: difference makes no record"):
        discover.outcomes()
    monkeypatch.setattr(discover, "words_of", lambda folder: {"Classification": []})
    with pytest.raises(SystemExit, match="has not one line of responses"):
        discover.outcomes()


def test_a_word_or_a_class_of_two_files_is_refused(discover, monkeypatch, tmp_path):
    """`fit(x, "norm")` would be another distribution, and of two classes of one name the later import would be left."""
    from numbastats.distributions.fitting import CLASSES

    monkeypatch.setitem(CLASSES, "half_normal", type("Half", (), {"aliases": ("halfnorm", "norm")}))
    with pytest.raises(SystemExit, match="alias norm; a word means one"):
        discover.names()
    monkeypatch.setattr(discover, "public", lambda folder, name: ["Normal"] if name in ("normal", "lomax") else [name.upper()])
    with pytest.raises(SystemExit, match="have a public Normal"):
        discover.distributions()
    monkeypatch.setattr(discover, "PACKAGE", tmp_path)
    for name in ("log-laplace", "lambda"):
        (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
        discover.FOLDERS["."] = discover.Folder()
        with pytest.raises(SystemExit, match=f"{name}.py: a file of a record has a name that can be imported"):
            discover.files(".")
        (tmp_path / f"{name}.py").unlink()


def test_a_file_that_a_merge_has_broken_is_written_anew(discover, tmp_path):
    broken = tmp_path / "__init__.py"
    broken.write_text('"""Records."""\n\n<<<<<<< ours\nRECORDS = (\n=======\n>>>>>>> theirs\n', encoding="utf-8")
    assert discover.docstring(broken) == '"""Records."""\n\n'
