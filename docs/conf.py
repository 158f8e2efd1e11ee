"""Sphinx builds the documentation from this folder, the docstrings and the examples.

    pip install ".[docs]" && sphinx-build -W docs docs/_build/html

The examples of the gallery run, for some seconds each; with ``-D plot_gallery=0`` their pages have the pictures of
docs/images/gallery, which docs/run_gallery.py makes.
"""

import importlib
import os
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.environ.setdefault("NUMBASTATS_MESSAGES", "0")

import reference  # noqa: E402

import numbastats  # noqa: E402

with (HERE.parent / "pyproject.toml").open("rb") as file:
    URLS = tomllib.load(file)["project"]["urls"]  # of the code and of issues, also those of the package's metadata; may be empty

project = "numbastats"
author = "The numbastats developers"
copyright = author
version = release = numbastats.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "README*"]
templates_path = ["_templates"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # sphinx_gallery_conf holds what cannot be pickled

smartquotes = False  # they turn the hyphens of options into dashes
default_role = "autolink"  # `name` in a docstring becomes a link where there is such a name
autosummary_generate = True
autodoc_typehints = "none"  # the sections Parameters and Returns have them
numpydoc_show_class_members = False  # the template of classes lists methods

ICONS = {"Source": "fa-code", "Issues": "fa-circle-exclamation"}
html_theme = "pydata_sphinx_theme"
html_title = "numbastats"
html_static_path = ["images"]
html_css_files = ["pages.css"]
html_sidebars = dict.fromkeys(("changelog", "citation", "licence"), [])  # they have no section
html_favicon = html_logo = "images/logo.svg"
html_theme_options = {
    "logo": {"text": f"numbastats {release}"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "icon_links": [{"name": name, "url": url, "icon": f"fa-solid {ICONS.get(name, 'fa-link')}"} for name, url in URLS.items()],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True  # what is copied has neither prompts nor output

GALLERY = (
    "families compare_families kde_groups conditional_density kde_grid kde_bandwidth mixture_bmi mixture_clusters sparse_regression"
).split()


class ByTask:
    """Order of the gallery."""

    def __init__(self, src_dir):
        pass

    def __call__(self, filename):
        """The key of an example: those of the list in its order, then the others by name."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (GALLERY.index(name) if name in GALLERY else len(GALLERY), filename)


sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"(tour\w*|scale_dask)\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "within_subsection_order": ByTask,
}


def written(path, lines):
    """Write a page; unchanged ones are not built anew."""
    path.parent.mkdir(exist_ok=True)
    text = "\n".join([*lines, ""])
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def summaries(names, *options):
    """A table with a line for each name."""
    return [".. autosummary::", *(f"   {option}" for option in options), "", *(f"   {name}" for name in names), ""]


def heading(text, underline):
    """A heading."""
    return [text, underline * len(text), ""]


def write_api():
    """A page for each module, with a page for each of its public names, and an index by what people do."""
    scalars = [f"scalar.{name}" for name in reference.SCALARS]
    below = {"scalar": scalars, "kde": ["kde.bandwidth"]}  # in the sidebar
    for name in ("", *reference.PACKAGES, "scalar", *scalars):
        full = f"numbastats.{name}".rstrip(".")
        importlib.import_module(full)
        lines = [*heading(full, "="), f".. automodule:: {full}", "   :no-members:", "", f".. currentmodule:: {full}", ""]
        if name.startswith("scalar"):
            lines += summaries(reference.names_of(name), ":toctree: generated")
        else:
            parts = reference.grouped([name])
            for title, (_, names) in parts.items():
                lines += heading(title, "-") if len(parts) > 1 else []
                lines += summaries([n.removeprefix(f"{name}.") for n in names], ":toctree: generated")
        if name in below:
            lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   numbastats.{module}" for module in below[name])]
        written(HERE / "api" / f"{full}.rst", lines)
    lines = [*heading("API", "="), "Every public name by what it is for, with its page. Modules are on the left.", ""]
    lines += [".. currentmodule:: numbastats", ""]
    for title, (about, names) in reference.grouped().items():
        lines += [*heading(title, "-"), about, "", *summaries(names, ":nosignatures:")]
    lines += [*heading("Formulas for your own compiled code", "-"), "Functions of numbers: :doc:`/own_kernels`.", ""]
    lines += [*summaries(["scalar", *scalars], ":nosignatures:")]
    modules = ["", *(name for name in reference.PACKAGES if "." not in name), "scalar"]
    lines += [".. toctree::", "   :hidden:", "", *(f"   numbastats.{name}".rstrip(".") for name in modules)]
    written(HERE / "api" / "index.rst", lines)


def title_examples(app, docname, source):
    """Make the first line of an example's docstring the title of its page."""
    if docname.startswith("auto_examples/") and ".py:\n\n" in source[0]:
        head, body = source[0].split(".py:\n\n", 1)
        text, code = body.split(".. GENERATED FROM", 1)
        first, rest = text.lstrip().replace("|", r"\|").split("\n", 1)
        first = first.rstrip(".")
        source[0] = f"{head}.py:\n\n{first}\n{'=' * len(first)}\n{rest}.. GENERATED FROM{code}"


def complete_pages(app, docname, source):
    """Drop the empty line that a doctest needs before the end of a block of Markdown; write the version, and words to be found."""
    if os.fspath(app.env.doc2path(docname)).endswith(".md"):
        title, text = source[0].replace("\n\n```\n", "\n```\n").replace("{{ release }}", release).split("\n", 1)
        words = "".join(f"\n```{{index}} ! {word}\n```\n" for word in reference.WORDS.get(docname, ()))
        source[0] = f"{title}\n{words}{text}"


def complete_docstrings(app, what, name, obj, options, lines):
    """Bars in docstrings are absolute values, not substitutions; `distributions.fit` is a name of the package."""
    for i, line in enumerate(lines):
        if not line.startswith(">>>"):
            line = re.sub(rf"(?<!`)`((?:{'|'.join(reference.PACKAGES)})\.\w+)`(?!`)", r"`numbastats.\1`", line)
            parts = re.split(r"(``.*?``)", line)  # literals are left alone
            lines[i] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def illustrate(app, what, name, obj, options, lines):
    """Plots have their picture below the first sentence of their page."""
    picture = f"plot_{name.removeprefix('numbastats.plot.')}.svg"
    if name.startswith("numbastats.plot.") and (HERE / "images" / picture).exists():
        first = next(i for i, line in enumerate(lines) if line)
        end = lines.index("", first) if "" in lines[first:] else len(lines)
        lines[end:end] = ["", f".. image:: /images/{picture}", f"   :alt: what {name} draws", ""]


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", illustrate, priority=600)  # after numpydoc's
    app.connect("autodoc-process-docstring", complete_docstrings, priority=400)  # before numpydoc's, of 500
    app.connect("source-read", title_examples)
    app.connect("source-read", complete_pages)


write_api()
