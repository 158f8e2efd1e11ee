"""Write from the classes docs/families.md, the table of all distributions, and the words of families for type checkers.

python docs/make_families.py
"""

import inspect
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import numbastats as ns  # noqa: E402
from numbastats.distributions.fitting import CLASSES  # noqa: E402

D = ns.distributions
WRITTEN = {  # supports that depend on parameters
    "GEV": "from -1/shape, or to it; all numbers at 0",
    "GPD": "0 to ∞, or to -1/shape",
    "TruncatedNormal": "lower to upper",
    "Binomial": "0, 1, ..., n",
}
HEAD = """# All distributions

Every class has the protocol of [distributions](subpackages/distributions.md). "Support" is that of the standard form, before location
and scale; the words for functions that take a family, such as `fit`, are ours or SciPy's. A fit estimates the parameters that
are named; the others stay at their defaults unless `fixed=` says otherwise. "By points" are tails and quantiles computed for
each value, in threads and on the GPU; "tables" are masses and quantiles of the density that are kept for a set of parameters,
and "series" those of [stable distributions](subpackages/stable.md). This page is written by `python docs/make_families.py`.

"""


def ends(support):
    """The support in words."""
    low, high = (f"{float(e):g}".replace("inf", "∞") for e in support)
    return {("-∞", "∞"): "all numbers"}.get((low, high), f"{low} to {high}")


def support_of(cls):
    """What the class says of its support, for shapes that differ where it depends on them."""
    if cls.__name__ in WRITTEN:
        return WRITTEN[cls.__name__]
    if cls.is_discrete:
        return "0, 1, 2, ..."
    values = {name: 1.5 if name == "alpha" else 0.5 for name in cls.names}
    values |= {name: float(name == "scale") for name in ("loc", "scale", "mu") if name in cls.names}
    values |= {"beta": 0.0} if "alpha" in cls.names else {}
    return ends(cls(**values).support())


def fitted(cls):
    """The parameters that a fit estimates."""
    if cls is D.Stable:
        return "`stable.fit`: alpha, beta, loc, scale"
    if cls.family not in CLASSES:
        return "no"
    if cls._known:
        return ", ".join(n for n in cls.names if n not in cls._known) + f"; {', '.join(cls._known)} in `fixed=`"
    return ", ".join(cls._likelihood.free if cls._equations is None else cls._equations.names)


def rows():
    """A row for each class, in the order of their names."""
    for name in sorted(D.__all__):
        cls = getattr(D, name)
        if inspect.isclass(cls) and issubclass(cls, D.Distribution) and cls not in (D.Distribution, D.Mixture):
            words = ", ".join(f'"{w}"' for w in (cls.family, *getattr(cls, "aliases", ())))
            how = "by points" if cls._kernels is not None else "series" if cls is D.Stable else "tables"
            title = inspect.getdoc(cls).splitlines()[0].split(":")[0].rstrip(".")
            yield f"`{name}`", title, ", ".join(cls.names), support_of(cls), words, fitted(cls), how


def page():
    """The text of the page."""
    head = ("class", "distribution", "parameters", "support", "family", "a fit estimates", "tails and quantiles")
    lines = [head, ("---",) * len(head), *rows()]
    return HEAD + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def names():
    """The text of numbastats/distributions/names.py."""
    words = sorted({word for family, cls in CLASSES.items() for word in (family, *cls.aliases)})
    lines = "".join(f'    "{word}",\n' for word in words)
    head = '"""Words of families for type checkers, ours and SciPy\'s; written by docs/make_families.py."""'
    return f'{head}\n\nfrom typing import Literal\n\n__all__ = ["Name"]\n\nName = Literal[\n{lines}]\n'


WRITES = {HERE / "families.md": page, HERE.parent / "numbastats" / "distributions" / "names.py": names}

if __name__ == "__main__":
    for path, text in WRITES.items():
        path.write_text(text(), encoding="utf-8")
