"""The pictures at the heads of the documentation's pages are those that the code of the pages draws; titles of the gallery."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)
DRAWN = {page.relative_to(DOCS).with_suffix("").as_posix(): (name, code) for page, name, code in MAKE.pictures()}


def listed(caption):
    """The pages of a part of the user guide."""
    text = (DOCS / "guide.md").read_text(encoding="utf-8")
    return re.search(rf":caption: {caption}\n:maxdepth: 1\n\n(.*?)\n```", text, re.S)[1].split()


@pytest.mark.parametrize("page", DRAWN)
def test_is_of_this_code(page):
    """Else `python docs/make_pictures.py` draws it anew."""
    name, code = DRAWN[page]
    assert MAKE.digest(code) in (DOCS / "images" / name).read_text(encoding="utf-8")


def test_every_one_is_shown():
    names = [name for name, _ in DRAWN.values()]
    assert len(set(names)) == len(names)
    assert {path.name for path in (DOCS / "images").glob("*.svg")} == {"logo.svg", *names}


def test_draws(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", ["make_pictures.py", "--output", str(tmp_path), "lifetimes"])
    MAKE.main()
    made = (tmp_path / "lifetimes.svg").read_text(encoding="utf-8")
    assert made.count("<path") > 10 and MAKE.digest(DRAWN["lifetimes"][1]) in made


@pytest.mark.parametrize("script", [*(DOCS.parent / "examples").glob("plot_*.py"), DOCS.parent / "examples" / "tour.py"])
def test_titles_of_the_gallery_are_short(script):
    title = script.read_text(encoding="utf-8").partition("\n")[0].strip('"')
    assert title.endswith(".") and len(title.split()) <= 6


@pytest.mark.parametrize("page", listed("Sub-packages"))
def test_sub_packages_have_one(page):
    assert page in DRAWN
