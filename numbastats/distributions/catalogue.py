"""Classes of distributions that have fits, by their words, and distributions from parameters."""

from __future__ import annotations

import difflib
import math

import numpy as np

import numbastats.distributions.families  # noqa: F401  all classes are to be there
from numbastats._core.checks import letters
from numbastats._core.kinds import in_kind_of
from numbastats.distributions.protocol import Distribution

__all__ = ["CLASSES", "class_of", "distribution_of"]


def _classes(base):
    """All classes of distributions that have fits."""
    for cls in base.__subclasses__():
        if cls._likelihood is not None or cls._equations is not None:
            yield cls
        yield from _classes(cls)


CLASSES: dict[str, type[Distribution]] = {c.family: c for c in _classes(Distribution)}


_ALIASES = {alias: family for family, c in CLASSES.items() for alias in c.aliases}
_WORDS = {letters(word): f for f, c in CLASSES.items() for word in (c.__name__, *c.aliases, f)}


def distribution_of(cls, params):
    """The object of a class with parameters by name; NaN for fits that ended outside of the parameters."""
    inside = cls.in_domain({name: np.asarray(value) for name, value in params.items()})
    return cls(**{name: in_kind_of(np.where(inside, value, math.nan), value) for name, value in params.items()})


def class_of(family):
    """The class of a family, from that, its word or name, however written, or another library's."""
    if isinstance(family, type) and issubclass(family, Distribution) and (family._likelihood or family._equations):
        return family
    if not isinstance(family, str):
        raise TypeError(_no_name(family))
    name = _WORDS.get(letters(family))
    if name is None:
        near = _near(family)
        meant = f"did you mean {' or '.join(map(repr, near))}? If not, " if near else ""
        meant = "stable distributions are fitted by numbastats.stable.fit; " if "stable" in letters(family) else meant
        raise ValueError(f"family={family!r} is not known; {meant}the names are {', '.join(sorted(CLASSES))}")
    return CLASSES[name]


def _near(word):
    """Known words that are nearly alike, or begin alike."""
    plain, known = word.lower().replace(" ", "_"), [*CLASSES, *_ALIASES]
    alike = [k for k in sorted(CLASSES) if len(plain) > 2 and k.startswith(plain[:4])]
    return difflib.get_close_matches(plain, known, 3, 0.6) or alike[:3]


def _no_name(family):
    """What to pass in the place of an object that is no name."""
    cls = family if isinstance(family, type) else type(family)
    if isinstance(family, list | tuple | set | dict):
        return f"family is a {cls.__name__}; pass one name. `compare` fits several families to one series"
    if cls.__module__.startswith("scipy.stats"):
        words = [getattr(getattr(family, "dist", family), "name", ""), *(base.__name__ for base in cls.__mro__)]
        theirs = next((word for word in words if word and letters(word) in _WORDS), None)
        if theirs is not None:
            frozen = "; a fit estimates the parameters, but for those in fixed=" if hasattr(family, "dist") else ""
            name = theirs if theirs in _ALIASES else _WORDS[letters(theirs)]
            return f"family is an object of SciPy: pass the name {name!r}{frozen}"
        return (
            f"family is SciPy's {words[0] or words[1]}, of which there is no fit here; the names are {', '.join(sorted(CLASSES))}"
        )
    word = getattr(family, "family", None) or getattr(family, "name", None)
    if isinstance(word, str) and letters(word) in _WORDS:
        what = f"an instance of {cls.__name__}" if isinstance(family, Distribution) else f"{family!r}"
        return f"family is {what}: pass its class or name, {_WORDS[letters(word)]!r}"
    return f"family={family!r} is neither the name of a family nor its class; the names are {', '.join(sorted(CLASSES))}"
