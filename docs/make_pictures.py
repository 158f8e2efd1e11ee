"""Draw the pictures of pages, each by the code of its page, into docs/images.

    python docs/make_pictures.py [--output FOLDER] [PAGE ...]

A picture is ``![what it shows](images/NAME.svg)``, mostly at the head of a page, and the next block of Python without prompts below it
draws it. The block runs after all of the page's code above it. The file keeps a digest of that code, by which
tests/test_pictures.py knows when a picture is older than its page.
"""

import argparse
import doctest
import hashlib
import re
from pathlib import Path

HERE = Path(__file__).parent
PICTURE = r"^!\[[^\]]+\]\((?:\.\./)*images/(\w+\.svg)\)$"
PARTS = re.compile(rf"{PICTURE}|^```(pycon|python)\n(.*?)^```$", re.M | re.S)


def pictures():
    """Pictures in the order of the pages: the page, the name, the code that draws it with all above."""
    for page in sorted([*HERE.glob("*.md"), *HERE.glob("subpackages/*.md")]):
        code, asked = [], None
        for name, kind, body in PARTS.findall(page.read_text(encoding="utf-8")):
            if name and asked:
                break
            if name:
                asked = name
            elif kind == "pycon":
                code += [
                    example.source
                    for example in doctest.DocTestParser().get_examples(body)
                ]
            elif asked:
                code.append(body)
                yield page, asked, "".join(code)
                asked = None
        if asked:
            raise ValueError(
                f"{page.name} names the picture {asked} and has no block of Python below that draws it"
            )


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
    parser.add_argument(
        "pages", nargs="*", help="names of pages without .md; all by default"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=HERE / "images",
        help="folder for the pictures",
    )
    parser.add_argument(
        "--png", action="store_true", help="PNG instead, to look at"
    )
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    done, names = (None, ""), {}
    for page, name, code in pictures():
        if given.pages and page.stem not in given.pages:
            continue
        if done[0] != page or not code.startswith(done[1]):
            done, names = (page, ""), {"__name__": page.stem}
        exec(
            compile(code[len(done[1]) :], str(page), "exec"), names
        )  # after the code of the pictures above
        done = page, code
        metadata = (
            {}
            if given.png
            else {"Description": digest(code), "Date": None, "Creator": None}
        )
        path = given.output / (name.replace(".svg", ".png") if given.png else name)
        pyplot.gcf().savefig(path, metadata=metadata)
        pyplot.close("all")
        print(path)


if __name__ == "__main__":
    main()
