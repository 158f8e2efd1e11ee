"""Sphinx builds the documentation from this folder, the docstrings and the examples.

    pip install ".[docs]" && sphinx-build -W docs docs/_build/html

The examples of the gallery run, for some seconds each; with ``-D plot_gallery=0`` their pages have the pictures of
docs/images/gallery, which docs/run_gallery.py makes.
"""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
os.environ.setdefault("NUMBASTATS_MESSAGES", "0")

import numbastats  # noqa: E402

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

html_theme = "pydata_sphinx_theme"
html_title = "numbastats"
html_static_path = ["images"]
html_css_files = ["pages.css"]
html_favicon = html_logo = "images/logo.svg"
html_theme_options = {
    "logo": {"text": f"numbastats {release}"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True  # what is copied has neither prompts nor output

PAPERS = {
    f"plot_{name}.py"
    for name in "bayes_probit kde_speed mixture_tables quantile_kernels quantile_recycle stable_density stable_fit".split()
}


class PapersLast:
    """Order of the gallery."""

    def __init__(self, src_dir):
        pass

    def __call__(self, filename):
        """The key of a script: tasks by name, the papers last."""
        return (filename in PAPERS, filename)


sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"(tour\w*|scale_dask)\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "within_subsection_order": PapersLast,
}

PACKAGES = "stable kde kde.bandwidth bayes mixture quantile distributions random plot interop config testing".split()
SCALARS = "elementary special normal incomplete bessel samplers counts philox hyperbolic tables".split()


def write_api():
    """One page for each module: its docstring and a table of its public names, each with a page of its own."""
    for name in ("", *PACKAGES, "scalar", *(f"scalar.{module}" for module in SCALARS)):
        full = f"numbastats.{name}".rstrip(".")
        module = importlib.import_module(full)
        names = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n))]
        lines = [full, "=" * len(full), "", f".. automodule:: {full}", "   :no-members:", "", f".. currentmodule:: {full}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "", *(f"   {n}" for n in names), ""]
        page = HERE / "api" / f"{full}.rst"
        text = "\n".join(lines)
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # unchanged pages are not built anew
            page.write_text(text, encoding="utf-8")


def title_examples(app, docname, source):
    """Make the first line of an example's docstring the title of its page."""
    if docname.startswith("auto_examples/") and ".py:\n\n" in source[0]:
        head, body = source[0].split(".py:\n\n", 1)
        text, code = body.split(".. GENERATED FROM", 1)
        first, rest = text.lstrip().replace("|", r"\|").split("\n", 1)
        first = first.rstrip(".")
        source[0] = f"{head}.py:\n\n{first}\n{'=' * len(first)}\n{rest}.. GENERATED FROM{code}"


def close_blocks(app, docname, source):
    """Drop the empty line that a doctest needs before the end of a block of Markdown."""
    if os.fspath(app.env.doc2path(docname)).endswith(".md"):
        source[0] = source[0].replace("\n\n```\n", "\n```\n")


def escape_bars(app, what, name, obj, options, lines):
    """Bars in docstrings are absolute values, not substitutions."""
    for i, line in enumerate(lines):
        if not line.startswith(">>>"):
            parts = re.split(r"(``.*?``)", line)  # literals are left alone
            lines[i] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before numpydoc's, of 500
    app.connect("source-read", title_examples)
    app.connect("source-read", close_blocks)


write_api()
