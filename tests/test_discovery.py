"""Lists of records are as `python tools/discover.py` writes them, and know each file of their folders."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

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
            assert list(records) == sorted(stems)
            assert all(getattr(one, "word" if folder == discover.RESPONSES else "name") == stem for stem, one in records.items())
        elif record:
            assert [one.name for one in package.RECORDS] == sorted(stems)
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
    with pytest.raises(SystemExit, match="asymmetric_laplace.py makes no ASYMMETRIC_LAPLACE"):
        discover.init(discover.FAMILIES)
    discover.FOLDERS[discover.FAMILIES] = discover.Folder("RECORD")
    with pytest.raises(SystemExit, match="asymmetric_laplace.py: __all__ names no RECORD"):
        discover.init(discover.FAMILIES)


def test_names_in_a_docstring_are_written(discover, monkeypatch):
    """From a sentence that is wrapped in the middle of its words."""
    from numbastats.kde import records

    current = (discover.PACKAGE / "kde" / "functions.py").read_text(encoding="utf-8")
    assert '"tricube", "logistic":\n        functions of the distance' in current
    monkeypatch.setattr(records, "RECORDS", records.RECORDS[:7])
    shorter = discover.kernels()
    assert '"cosine", "gaussian": functions of the distance' in shorter and '"tricube"' not in shorter
    monkeypatch.setattr(discover.re, "split", lambda pattern, text, **options: [text])
    with pytest.raises(SystemExit, match="functions.py lacks the sentence"):
        discover.kernels()


def test_words_of_responses_are_written(discover, monkeypatch):
    """By the functions that make the records; one that is not known is refused."""
    assert discover.words_of(discover.RESPONSES)["Classification"] == ["logit", "probit"]
    found = discover.makers(discover.RESPONSES)
    monkeypatch.setattr(discover, "makers", lambda folder: found | {"skellam": "Response"})
    assert '    response : {"gaussian", "poisson", "skellam"}\n' in discover.outcomes()
    monkeypatch.setattr(discover, "makers", lambda folder: found | {"skellam": "difference"})
    with pytest.raises(SystemExit, match="skellam.py: difference makes no record"):
        discover.outcomes()
    monkeypatch.setattr(discover, "words_of", lambda folder: {"Classification": []})
    with pytest.raises(SystemExit, match="has not one line of responses"):
        discover.outcomes()
