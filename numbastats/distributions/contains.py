"""What a family contains: its special cases, and the distributions that it tends to as parameters leave their domain.

The file of a family names each with a map of parameters. From that follow starts of its fits, a floor under them, and how a fit
at a limit is told (`limits.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Contains"]

_FAR = 1e6  # a size of parameters on the way to a limit
_PROBES = (0.8125, 0.34375)  # two sets of values that tell which parameters are carried over


class Contains(NamedTuple):
    """A family within another one.

    Parameters
    ----------
    family : str
        The word of the contained family.
    own : callable
        ``own(t, **params)``, parameters of the containing family from those of the contained one, by name. At t = inf they are
        those of the limit, 0 or inf among them; at a finite t the density is near the limit, the nearer the larger t is. A
        special case does not depend on t.
    mirrored : bool
        Whether the contained distribution is that of -X; its parameters are then those of the mirrored values.
    fixed : mapping or callable
        Parameters that the fit of the contained family fixes, or frees by None, beyond those that are carried over; a function
        has them from those that the containing family's fit does not estimate, by name.
    ends : tuple of str
        Parameters of the containing family between which the contained distribution is truncated.
    """

    family: str
    own: Callable[..., dict[str, Any]]
    mirrored: bool = False
    fixed: Mapping[str, float | None] | Callable[[Mapping[str, float]], Mapping[str, float | None]] = {}
    ends: tuple[str, ...] = ()

    def at(self, t: float, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the containing family, at the size t."""
        with np.errstate(all="ignore"):
            return {name: np.asarray(value, np.float64) for name, value in self.own(t, **params).items()}

    def is_limit(self, names: tuple[str, ...]) -> bool:
        """Whether no parameters inside of the domain give the distribution; `names` are those of the contained family."""
        return _traits(self, names)[1]

    def carried(self, names: tuple[str, ...]) -> dict[str, tuple[str, float]]:
        """Parameters that both families have, by the name in the containing one: the name in the contained one, and the sign."""
        return _traits(self, names)[0]

    def constant(self, names: tuple[str, ...]) -> dict[str, float]:
        """Parameters of the containing family that have one value whatever those of the contained one are."""
        return _traits(self, names)[2]


@functools.cache
def _traits_of(own, names):
    """Parameters that a map carries over, whether it goes to a limit, parameters that are constant; seen from its values."""
    rng = np.random.default_rng(7)
    given = [dict(zip(names, first + 0.25 * rng.random(len(names)), strict=True)) for first in _PROBES]
    with np.errstate(all="ignore"):
        near, far = ([{k: float(v) for k, v in own(t, **g).items()} for g in given] for t in (_FAR, math.inf))
    carried, constant = {}, {}
    for name in far[0]:
        for other in names:
            for sign in (1.0, -1.0):
                if all(at[name] == sign * g[other] for at, g in zip((*near, *far), given * 2, strict=True)):
                    carried[name] = other, sign
        if near[0][name] == near[1][name] and far[0][name] == far[1][name] and name not in carried:
            constant[name] = far[0][name]
    return carried, near != far, constant


def _traits(special, names):
    return _traits_of(special.own, names)
