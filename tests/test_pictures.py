"""The pictures of the documentation's pages are those that the code of the pages draws."""

import importlib.util
import re
from pathlib import Path

import pytest

import numbastats as ns

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)
DRAWN = {name: (page.relative_to(DOCS).with_suffix("").as_posix(), code) for page, name, code in MAKE.pictures()}


def listed(caption):
    """The pages of a part of the user guide."""
    text = (DOCS / "guide.md").read_text(encoding="utf-8")
    return re.search(rf":caption: {caption}\n:maxdepth: 1\n\n(.*?)\n```", text, re.S)[1].split()


@pytest.mark.parametrize("name", DRAWN)
def test_is_of_this_code(name):
    """Else `python docs/make_pictures.py` draws it anew."""
    assert MAKE.digest(DRAWN[name][1]) in (DOCS / "images" / name).read_text(encoding="utf-8")


def test_every_one_is_shown():
    assert len(DRAWN) == len([*MAKE.pictures()])
    assert {path.name for path in (DOCS / "images").glob("*.svg")} == {"logo.svg", *DRAWN}


@pytest.mark.parametrize("name", ns.plot.__all__)
def test_plots_have_one(name):
    """Their page of the guide draws it, and docs/conf.py shows it on the page of the function, too."""
    page, code = DRAWN[f"plot_{name}.svg"]
    assert page == "plotting" and f"ns.plot.{name}(" in code


def test_draws(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", ["make_pictures.py", "--output", str(tmp_path), "lifetimes"])
    MAKE.main()
    made = (tmp_path / "lifetimes.svg").read_text(encoding="utf-8")
    assert made.count("<path") > 10 and MAKE.digest(DRAWN["lifetimes.svg"][1]) in made


@pytest.mark.parametrize("page", listed("Sub-packages"))
def test_sub_packages_have_one(page):
    assert page in [of for of, _ in DRAWN.values()]
