"""Read the built documentation: top bar, sidebars, links between its pages, pictures at the heads, width of code, searches.

    python docs/check_site.py FOLDER [SCREENSHOTS]

Ends with the number of pages and links that were looked at, or with all that is wrong. With a folder for them, screenshots of six
pages are put there, where a browser is found.
"""

import json
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

TOP = ["Get started", "User guide", "Gallery", "API", "Benchmarks", "Changelog", "Citation", "Licence"]
WITHOUT_SIDEBAR = {f"{name}.html" for name in "index search genindex py-modindex changelog citation licence".split()}
TIMES = "sg_execution_times.html"  # of the gallery, in no section
BROWSERS = "chromium", "chromium-browser", "google-chrome"
SHOWN = "index", "start", "value_at_risk", "subpackages/kde", "api/numbastats.distributions", "measured"
WIDTH = 88  # of code, in characters: what the column of text shows


class Page(HTMLParser):
    """Its anchors, its links, those of the sidebar, the words of the top bar, pictures at the head, code."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.sidebar, self.top = set(), [], [], []
        self.headings, self.pictures, self.code = 0, 0, []
        self._open, self._word, self._pre = [], None, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """An anchor, a list or a link begins."""
        given = dict(attributes)
        self.anchors.update(given[key] for key in ("id", "name") if given.get(key))
        if tag in ("nav", "ul"):
            self._open.append((tag, given.get("class") or ""))
        self.headings += tag == "h2"
        self.pictures += (
            tag == "img" and not self.headings and "images/" in (given.get("src") or "") and "logo" not in given["src"]
        )
        if tag == "pre":
            self._pre = True
            self.code.append("")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
            if any("bd-links" in name for _, name in self._open):
                self.sidebar.append(given["href"])
            if any("bd-navbar-elements" in name for _, name in self._open) and "nav-link" in (given.get("class") or ""):
                self._word = ""

    def handle_endtag(self, tag):
        """A list or a link ends."""
        if tag in ("nav", "ul") and self._open:
            self._open.pop()
        if tag == "pre":
            self._pre = False
        if tag == "a" and self._word is not None:
            self.top.append(self._word.strip())
            self._word = None

    def handle_data(self, data):
        """Text of a link in the top bar, or of code."""
        if self._pre:
            self.code[-1] += data
        if self._word is not None:
            self._word += data


def searches(root):
    """What is wrong with searches: words whose page is not the first that is found.

    Main entries of the index that are equal to what is searched for have 100 points, all else has 41 at most: titles and names 26, a term 15.
    """
    text = (root / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.search(r"setIndex\((.*)\)", text, re.S)[1])
    if not index["indexentries"].get("weibull"):
        yield "the search index lacks pages: Sphinx leaves out those that it did not build anew; build all, by -E"
        return
    for page, words in runpy.run_path(str(Path(__file__).parent / "reference.py"))["WORDS"].items():
        for word in words:
            first = [index["docnames"][one[0]] for one in index["indexentries"].get(word, []) if one[2]]
            if first != [page]:
                yield f"a search for {word!r} begins with {first}, not with {page}"


def screenshots(root, folder):
    """Pictures of six pages as a window of 1400 x 1000 shows them."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"no screenshots: none of {', '.join(BROWSERS)} is on this machine")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHOWN:
        picture = folder / f"{name.replace('/', '_')}.png"
        picture.unlink(missing_ok=True)
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,1000"]
        url = (root / f"{name}.html").as_uri()
        subprocess.run([*command, f"--screenshot={picture}", url], capture_output=True, timeout=120)
        if not picture.exists() or picture.stat().st_size < 20_000:
            sys.exit(f"{browser} made no picture of {name}.html, or one of nothing")
    print(f"{len(SHOWN)} screenshots in {folder}")


def main():
    """Every page."""
    root = Path(sys.argv[1]).resolve()
    files = [f for f in root.rglob("*.html") if not {"_modules", "_static"} & set(f.relative_to(root).parts)]
    pages, wrong, links = ({f: Page(f.read_text(encoding="utf-8")) for f in files}, [], 0)
    for file, page in pages.items():
        name = file.relative_to(root).as_posix()
        if list(dict.fromkeys(page.top)) != TOP:
            wrong.append(f"{name}: the top bar is {page.top}")
        if name not in WITHOUT_SIDEBAR and file.name != TIMES and not page.sidebar:
            wrong.append(f"{name}: an empty sidebar")
        if file.parent.name == "subpackages" and not page.pictures:
            wrong.append(f"{name}: no picture at its head")
        if "auto_examples" not in file.parts:  # scripts, as wide as in the repository
            wide = {line for code in page.code for line in code.splitlines() if len(line) > WIDTH}
            wrong += [f"{name}: code of {len(line)} characters: {line}" for line in sorted(wide)]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                wrong.append(f"{name}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{name}: {link} is no place of that page")
    wrong += searches(root)
    if not pages or wrong:
        sys.exit("\n".join(dict.fromkeys(wrong)) or f"no pages in {root}")
    print(f"{len(pages)} pages, {links} links")
    if len(sys.argv) > 2:
        screenshots(root, Path(sys.argv[2]).resolve())


if __name__ == "__main__":
    main()
