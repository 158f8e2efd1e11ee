"""Which parameters of mixtures of distributions are free: not those that are fixed, and equal ones count once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbastats._core.broadcast import real64
from numbastats.distributions import Distribution
from numbastats.mixture.families import FAMILIES


class Coordinate(NamedTuple):
    """A free parameter: the components that have it, its name, and whether the climb has its logarithm."""

    members: tuple[int, ...]
    name: str
    log: bool


class Design(NamedTuple):
    """The fits of K components' distributions, the free parameters, the names of equal ones, and weights that are fixed."""

    parts: list
    coordinates: list
    equal: list
    weights: NDArray | None
    places: NDArray  # where the components stand in what was given: fixed weights of one distribution are in falling order here

    @property
    def of_weights(self):
        """Number of free weights."""
        return 0 if self.weights is not None else len(self.parts) - 1

    @property
    def free(self):
        """Number of free parameters."""
        return self.of_weights + len(self.coordinates)

    @property
    def alike(self):
        """Lists of the components that may change places."""
        groups: dict[Any, list[int]] = {}
        for k, part in enumerate(self.parts):
            weight = None if self.weights is None else self.weights[k]
            groups.setdefault((part.cls, weight, *sorted(part.fixed.items())), []).append(k)
        return list(groups.values())

    @property
    def bound(self):
        """Components that share a parameter with others."""
        return sorted({k for at in self.coordinates if len(at.members) > 1 for k in at.members})


def design_of(family, K, x, equal=None, fixed_weights=None):
    """The design of K components; every message about what is free."""
    parts = [_part(one, x) for one in _each(family, K)]
    names = names_of(equal)
    weights = fixed_weights_of(fixed_weights, K)
    if "weights" in names:
        if weights is not None:
            raise ValueError("equal='weights' and fixed_weights= were both given; use one of them")
        weights, names = np.full(K, 1.0 / K), [name for name in names if name != "weights"]
    weights = np.ones(1) if K == 1 else weights
    members = {name: tuple(k for k, part in enumerate(parts) if name in part.free) for name in names}
    for name, those in members.items():
        if len(those) < min(K, 2):
            free = dict.fromkeys(n for part in parts for n in part.free)
            raise ValueError(
                f"equal={name!r} is a free parameter of {len(those)} of {K} components; it takes 'weights' and free parameters "
                f"of at least two, here of {', '.join(map(repr, free)) or 'none'}"
                + ("; equal scales of normal components are equal variances" if "scale" in free else "")
            )
    coordinates = []
    for k, part in enumerate(parts):
        for name, log in zip(part.free, part.positive, strict=True):
            those = members.get(name, (k,))
            if those[0] == k:
                coordinates.append(Coordinate(those, name, log))
    places = np.arange(K)
    if fixed_weights is not None:
        for members in Design(parts, coordinates, names, None, places).alike:
            places[members] = np.array(members)[np.argsort(-weights[members], kind="stable")]
        weights = weights[places]
    return Design(parts, coordinates, names, weights, places)


def names_of(equal):
    """The names of `equal` as a list."""
    names = [equal] if isinstance(equal, str) else [] if equal is None else equal
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"equal={equal!r} must be names of parameters, such as 'scale' or ('scale', 'weights')")
    return list(dict.fromkeys(names))


def names_weights(equal):
    """Whether the weights are among the names of `equal`."""
    return "weights" in names_of(equal)


def fixed_weights_of(fixed_weights, K):
    """Fixed weights, of sum 1, or None."""
    if fixed_weights is None:
        return None
    w = real64(fixed_weights)
    if w.shape != (K,) or not ((w > 0.0) & np.isfinite(w)).all():
        raise ValueError(f"fixed_weights={fixed_weights!r} must be {K} numbers above 0, one for each of n_components={K}")
    return w / w.sum()


def _each(family, K):
    """The distribution of each component, as `_part` takes them; of fixed parameters one number or one for each."""
    if isinstance(family, list):
        if len(family) != K:
            raise ValueError(f"family names {len(family)} distributions, n_components is {K}; pass n_components={len(family)}")
        return family
    if not (isinstance(family, tuple) and len(family) == 2 and isinstance(family[1], Mapping)):
        return [family] * K
    name, fixed = family
    for key, value in fixed.items():
        if np.ndim(value) > 1 or (np.ndim(value) == 1 and len(value) != K):
            raise ValueError(f"family fixes {key}={value!r} of shape {np.shape(value)}; pass a number, or {K}, one a component")
    given = [{key: value[k] if np.ndim(value) else value for key, value in fixed.items()} for k in range(K)]
    several = {key for key, value in fixed.items() if np.ndim(value)}  # None among them leaves one free
    return [(name, {key: v for key, v in one.items() if not (key in several and v is None)}) for one in given]


def _part(given, x):
    """The fits of one component's distribution, from its class, name, or a pair of that and fixed parameters."""
    name, fixed = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(fixed, Mapping):
        raise TypeError(f"family={given!r} has {fixed!r} beside the name; use a dict of fixed parameters, as {{'df': 4}}")
    if name in FAMILIES and FAMILIES[name].discrete:
        raise ValueError(
            f"family={given!r} is one of counts, which do not mix with other families and have no fixed or equal parameters"
        )
    part = Distribution._weighted_fits("normal" if name == "gaussian" else name, fixed)
    if part.cls.family == "uniform":  # noise between the ends of the data, where nothing else is said
        low = fixed.get("loc", x.min() if x.size else 0.0)
        fixed = {"loc": low, "scale": x.max() - low if x.size else 1.0} | dict(fixed)
        part = Distribution._weighted_fits(name, fixed)
    if part.settled:
        raise ValueError(
            f"{part.settled[0]} of {part.cls.family} is an end of its support: mixtures have no regular maximum then; fix it, "
            f"as family=({part.cls.family!r}, {{{part.settled[0]!r}: {float(x.min(initial=math.inf))!r}}})"
        )
    return part
