"""Draw the pictures at the heads of pages, each by the code of its page, into docs/images.

    python docs/make_pictures.py [--output FOLDER] [PAGE ...]

A page with a picture has ``![what it shows](images/NAME.svg)`` at its head, and further down one block of Python without prompts,
which draws it. The block runs after the page's other code above it. The file keeps a digest of that code, by which
tests/test_pictures.py knows when a picture is older than its page.
"""

import argparse
import doctest
import hashlib
import re
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = re.compile(r"^!\[[^\]]+\]\((?:\.\./)*images/(\w+\.svg)\)$", re.M)
BLOCK = re.compile(r"^```(pycon|python)\n(.*?)^```$", re.M | re.S)


def pictures():
    """Pages that have a picture: path, name of the picture, code that draws it."""
    for page in sorted([*HERE.glob("*.md"), *HERE.glob("subpackages/*.md")]):
        text = page.read_text(encoding="utf-8")
        if named := PICTURE.search(text):
            yield page, named[1], _code(page, text)


def _code(page, text):
    """The code above the picture's block, and that block."""
    code = []
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            return "".join([*code, body])
        code += [example.source for example in doctest.DocTestParser().get_examples(body)]
    raise ValueError(f"{page.name} names a picture and has no block of Python that draws it")


def digest(code):
    """What the file of a picture says of the code."""
    return f"code sha256:{hashlib.sha256(code.encode()).hexdigest()[:32]}"


def main():
    """Draw those that are asked for."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams |= {
        "svg.hashsalt": "numbastats",
        "figure.figsize": (6.4, 4.0),
        "figure.constrained_layout.use": True,
        "path.simplify_threshold": 0.5,
    }
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="names of pages without .md; all by default")
    parser.add_argument("--output", type=Path, default=HERE / "images", help="folder for the pictures")
    parser.add_argument("--png", action="store_true", help="PNG instead, to look at")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for page, name, code in pictures():
        if given.pages and page.stem not in given.pages:
            continue
        exec(compile(code, str(page), "exec"), {"__name__": page.stem})
        metadata = {} if given.png else {"Description": digest(code), "Date": None, "Creator": None}
        path = given.output / (name.replace(".svg", ".png") if given.png else name)
        pyplot.gcf().savefig(path, metadata=metadata)
        pyplot.close("all")
        print(path)


if __name__ == "__main__":
    main()
