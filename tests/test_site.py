"""The site: examples of the gallery, what a search finds, the index of public names, the start page."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE = runpy.run_path(str(DOCS / "reference.py"))
SCRIPTS = sorted((DOCS.parent / "examples").rglob("plot_*.py"))
BRING_DATA = {"matplotlib", "mpmath", "numba", "numbastats", "numpy", "scipy", "sklearn", "statsmodels"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_examples_are_notebooks(script):
    """Text, code and pictures in turns, a short title, a stored thumbnail."""
    source = script.read_text(encoding="utf-8")
    title = source.partition("\n")[0].strip('"')
    assert title.endswith(".") and len(title.split()) <= 6
    assert f'# sphinx_gallery_thumbnail_path = "images/gallery/{script.stem}.png"\n' in source
    assert (DOCS / "images" / "gallery" / f"{script.stem}.png").exists()
    assert source.count("\n# %%\n") >= 2 and "plt.show()" in source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_examples_need_nothing_beside_them(script):
    """They import packages, no file beside them, read no file and no option: each runs alone in a folder of its own."""
    source = script.read_text(encoding="utf-8")
    used = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in used if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in used if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) <= BRING_DATA
    assert not re.search(r"argparse|sys\.argv|environ|SMOKE|__file__|\bopen\(|read_csv|loadtxt|fetch_|import os\b", source)


def test_sizes_of_the_gallery_are_set_by_name():
    """A name that an example does not set is an error; others keep their values."""
    run = runpy.run_path(str(DOCS / "run_gallery.py"))
    changed = run["with_sizes"]("A, B = 1, (2, 3)\nC = [4]\nprint(A, C)\n", {"B": (5,), "C": 6})
    assert changed == "A, B = (1, (5,))\nC = 6\nprint(A, C)"
    with pytest.raises(ValueError, match="does not set D"):
        run["with_sizes"]("A = 1", {"D": 2})
    for name, values in run["SMOKE"].items():
        run["with_sizes"](run["script"](name).read_text(encoding="utf-8"), values)


SEARCHED = {
    "confidence interval": "fit_and_compare",
    "weibull": "lifetimes",
    "return period": "return_levels",
    "kaplan meier": "lifetimes",
    "gaussian mixture": "clusters",
    "missing values": "data",
}


def test_searches_find_the_page_of_the_task():
    """docs/conf.py makes main entries of the index of these words, and docs/check_site.py looks at the search index for them."""
    words = [word for each in REFERENCE["WORDS"].values() for word in each]
    assert len(set(words)) == len(words) and all(word == word.lower().strip() for word in words)
    page_of = {word: page for page, each in REFERENCE["WORDS"].items() for word in each}
    assert SEARCHED.items() <= page_of.items()
    for page, each in REFERENCE["WORDS"].items():
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert each and text.startswith("# ")


def test_every_public_name_is_in_the_index_once():
    """Under one heading, results and distributions by rule."""
    found = REFERENCE["grouped"]()
    names = [name for _, (_, several) in found.items() for name in several]
    modules = ("", *REFERENCE["PACKAGES"])
    assert sorted(names) == sorted(f"{m}.{n}".lstrip(".") for m in modules for n in REFERENCE["names_of"](m))
    where = {name: heading for heading, (_, several) in found.items() for name in several}
    assert where["distributions.Weibull"] == "Distributions" and where["stable.StableFit"] == "What fits return"
    assert where["mixture.Mixture"] == "Find clusters: mixtures" and where["plot.tail"] == "Plot"
    written = {name for _, listed in REFERENCE["GROUPS"].values() for name in listed.split() if "*" not in name}
    assert written <= set(names)


def links(page):
    """Pages that a page in Markdown leads to, those of its tree of contents among them."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    folder = Path(page).parent
    named = re.findall(r"\]\(([\w/.]+)\.(?:md|rst)(?:#[\w-]+)?\)", text)
    for listed in re.findall(r"^```{toctree}\n(.*?)^```", text, re.M | re.S):
        named += re.findall(r"^[\w/]+$", listed, re.M)
    return {Path(*folder.parts, name).as_posix() for name in named}


def test_every_page_is_two_clicks_away():
    near = links("index")
    found = near | {other for page in near if (DOCS / f"{page}.md").exists() for other in links(page)}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md") if "_build" not in path.parts}
    assert pages - {"index"} - found == set()


def test_the_start_page_has_the_tasks():
    """A card, or a line of the table, for each page of a task and each sub-package."""
    guide = (DOCS / "guide.md").read_text(encoding="utf-8")
    tasks = re.search(r":caption: Tasks\n:maxdepth: 1\n\n(.*?)\n```", guide, re.S)[1].split()
    assert set(tasks) <= links("index")


def test_addresses_are_set_in_one_place():
    """pyproject.toml has those of code and issues, for the package and for the header of the site; no page has another."""
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert "icon_links" in conf and '["project"]["urls"]' in conf and "http" not in conf
