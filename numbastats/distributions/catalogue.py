"""Classes of distributions that have fits, by their words, and distributions from parameters."""

from __future__ import annotations

import difflib
import math

import numpy as np

import numbastats.distributions.families  # noqa: F401  all classes are to be there
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


def distribution_of(cls, params):
    """The object of a class with parameters by name; NaN for fits that ended outside of the parameters."""
    inside = cls.in_domain({name: np.asarray(value) for name, value in params.items()})
    return cls(**{name: in_kind_of(np.where(inside, value, math.nan), value) for name, value in params.items()})


def class_of(family):
    """The class of a family, from that, its name or another library's."""
    if isinstance(family, type) and issubclass(family, Distribution) and (family._likelihood or family._equations):
        return family
    if not isinstance(family, str):
        raise TypeError(f"family={family!r} is neither the name of a family nor its class; the names are {', '.join(CLASSES)}")
    name = _ALIASES.get(family, family)
    if name not in CLASSES:
        near = difflib.get_close_matches(family.lower().replace(" ", "_"), [*CLASSES, *_ALIASES], 3, 0.6)
        meant = f"did you mean {' or '.join(map(repr, near))}? If not, " if near else ""
        raise ValueError(f"family={family!r} is not known; {meant}the names are {', '.join(sorted(CLASSES))}")
    return CLASSES[name]
