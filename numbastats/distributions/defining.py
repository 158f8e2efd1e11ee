"""A user's own density as a class of distributions."""

from __future__ import annotations

import copyreg
import inspect
import math
import pickle
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from numbastats._core.errors import names_ours
from numbastats.distributions.by_density import ByFormulas
from numbastats.distributions.kernels.defined import formulas, guess
from numbastats.distributions.kernels.likelihood import ALWAYS, Likelihood
from numbastats.distributions.kernels.points import Points
from numbastats.distributions.protocol import Distribution
from numbastats.distributions.tables import FrozenDistribution, named_error
from numbastats.quantile import panels

__all__ = ["define"]

Domain = Literal["positive", "real"] | tuple[float, float]

_MASS = 1e-6  # largest error of a density's mass, and of the functions that are given beside it
_QUARTERS = np.array([0.25, 0.5, 0.75])
_WORDS = {"positive": (0.0, math.inf), "real": (-math.inf, math.inf)}
_LARGEST, _INSIDE = 1e8, 1e-8  # a fit looks at no larger shapes, and at none nearer to an end of their domain
_ORDERS = ((0, 1, 2), (0, 2, 1))  # of three values of each shape, with which fits begin


class _Kept(type):
    """Of classes that `define` has made: pickle takes them by name, or makes them again of functions that it takes by name."""

    _definition: tuple[Any, ...]


_MADE: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()  # the classes of this process by their definitions


def _found(module, name):
    """What a module has under a name; None without it."""
    return getattr(sys.modules.get(module), name, None)


def _by_name(cls):
    """How pickle stores a class."""
    if _found(cls.__module__, cls.__qualname__) is cls:
        return cls.__qualname__
    for f in cls._definition:
        if isinstance(f, types.FunctionType) and _found(f.__module__, f.__qualname__) is not f:
            raise pickle.PicklingError(
                f"{cls.__name__} cannot be pickled, nor sent to another process: assign the class to the variable {cls.__name__} "
                f"of the module {cls.__module__}, or define {f.__qualname__} at the top of a module, where others find it"
            )
    return _made_again, cls._definition


copyreg.pickle(_Kept, _by_name)  # type: ignore[arg-type]


def _made_again(*definition):
    """The class of this definition: that of this process if it has one."""
    found = _MADE.get(definition)
    return _make(*definition) if found is None else found


class _Own(ByFormulas, metaclass=_Kept):
    """What a class has whose formulas are a user's."""

    _breaks: ClassVar[tuple[float, ...]]
    _domains: ClassVar[tuple[tuple[float, float], ...]]
    __signature__: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any):
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        self._set(**given.arguments)

    @classmethod
    def _refusals(cls, values):
        yield from super()._refusals(values)
        for name, (low, high) in zip(cls._scipy_shapes, cls._domains, strict=True):
            if (low, high) not in _WORDS.values():
                yield name, (values[name] > low) & (values[name] < high), f"between {low:g} and {high:g}"

    @classmethod
    def _described(cls, *params):
        density, options = super()._described(*params)
        return density, options | {"breaks": [options["scale"] * place for place in cls._breaks]} if cls._breaks else options

    @classmethod
    def _of_standard(cls, *shapes):
        return (*shapes, 0.0, 1.0)[: len(cls.names)]

    def _scores_by_kernel(self, x, device, workers, stream):
        return super()._scores_by_kernel(x, device, workers, stream)[: len(self.names)]


@names_ours
def define(
    name: str,
    logpdf: Callable[..., float],
    shapes: Mapping[str, Domain] | None = None,
    *,
    support: Domain = "real",
    cdf: Callable[..., float] | None = None,
    sf: Callable[..., float] | None = None,
    ppf: Callable[..., float] | None = None,
    isf: Callable[..., float] | None = None,
    score: Callable[..., tuple[float, ...]] | None = None,
    location_scale: bool = True,
    breaks: Sequence[float] = (),
) -> type[Distribution]:
    """Make a class of distributions of a density of your own.

    Parameters
    ----------
    name : str
        Of the class, an identifier. Assign the class to a variable of that name in a module, or define the functions at the top
        of one, and it can be pickled.
    logpdf : callable
        ``logpdf(z, *shapes)``, the logarithm of the density of the standard form (loc 0, scale 1) at a number z inside the
        support. A plain Python function that Numba can compile, or one of `numba.njit`.
    shapes : dict, optional
        Shape parameters, at most two, by name: "positive", "real" or an interval (low, high) in which they lie.
    support : "positive", "real" or (float, float)
        Where the standard form has its density; its ends.
    cdf, sf : callable, optional
        Distribution function and survival function ``cdf(z, *shapes)``, both or neither: the one has no digits in the tail of
        the other. Without them tails are masses of the density, and fits take neither censored nor truncated data.
    ppf, isf : callable, optional
        Quantiles at lower and upper tail probabilities, both or neither, of a family with `cdf`; else they come from tables.
    score : callable, optional
        ``score(z, *shapes)``: a tuple of the derivatives of `logpdf` by z and by each shape. Without it they are central
        differences of fourth order, with errors near 1e-10, and `logpdf` is evaluated 4 times for each.
    location_scale : bool
        Whether the class has the parameters loc and scale after the shapes.
    breaks : sequence of float, optional
        Places of narrow parts, kinks and jumps of the standard form's density, which integrals may miss otherwise.

    Returns
    -------
    type
        A subclass of `Distribution`, with densities, tails, quantiles, draws and moments on CPU and GPU as those of the library.
        `fit`, `fit_many`, `compare`, `goodness` and `standardise` take the class; nothing is registered.

    Raises
    ------
    ValueError
        For a density that has another mass than 1, is negative or not finite, and for a `score` that is not its derivative, at
        three sets of shapes; for names that are taken, and more than two shapes.
    TypeError
        For a function that Numba does not compile, with its reason.

    Notes
    -----
    Fits climb the likelihood as those of `fit`, from three starts by the quartiles of the data. Free are the shapes, the scale
    of a density on the whole or a half line, and the location of one on the whole line; `fixed` says otherwise.

    Without `cdf` tails and quantiles are those of tables with a measured error, which take 20 to 100 ms a set of parameters,
    and are kept; relative errors of 1e-12 where `logpdf` has them, of 1e-9 in tails below 1e-200. The logarithms of tails are
    computed on the host. Moments are integrals by `Distribution.expect`. What is compiled stays in the process: the disk cache
    knows the library's own functions alone.

    Examples
    --------
    >>> import math
    >>> import numbastats as ns
    >>> # of log incomes, D. G. Champernowne, Econometrica 20 (1952): 1/(cosh z + cos a)
    >>> def logpdf(z, a):
    ...     e = math.exp(-abs(z))
    ...     d = 1.0 + 2.0 * math.cos(a) * e + e * e
    ...     return math.log(math.sin(a) / a) - abs(z) - math.log(d)
    >>> Champernowne = ns.distributions.define(
    ...     "Champernowne", logpdf, {"a": (0.0, math.pi)}
    ... )
    >>> d = Champernowne(2.0, scale=0.5)
    >>> float(d.cdf(0.0).round(12)), float(d.ppf(0.99).round(6))
    (0.5, 1.91296)
    >>> found = ns.distributions.fit(d.rvs(2000, rng=1), Champernowne)
    >>> found.converged, abs(found.params["a"] - 2.0) < 3 * found.se["a"]
    (True, True)
    """
    domains, places = _domains_of(name, shapes), tuple(float(place) for place in breaks)
    if not all(map(math.isfinite, places)):
        raise ValueError(f"breaks={breaks!r} must be a sequence of finite places, such as (0.0, 2.5)")
    module = sys._getframe(1).f_globals.get("__name__", "__main__")
    whole = name, module, tuple(domains.items()), _checked_support(support), location_scale, places
    return _make(*whole, logpdf, cdf, sf, ppf, isf, score)


def _make(*definition):
    """`define` of checked values, by which classes are compared and pickled."""
    name, module, domains, support, location_scale, breaks, logpdf, cdf, sf, ppf, isf, score = definition
    domains, ends, count = dict(domains), tuple(e for _, e in domains), len(domains)
    _check_arguments(logpdf, count)
    if not (location_scale or domains):
        raise ValueError(f"{name} has no parameters: give it shapes, or location_scale=True")
    anywhere = support == _WORDS["real"]
    by_scale = location_scale and (anywhere or support in (_WORDS["positive"], (-math.inf, 0.0)))
    located = {"loc": 0.0, "scale": 1.0} if location_scale else {}
    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in domains]
    parameters += [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v) for n, v in located.items()]
    known = formulas(dict(logpdf=logpdf, cdf=cdf, sf=sf, ppf=ppf, isf=isf, score=score), ends, support)
    made = {
        "__doc__": inspect.getdoc(logpdf) or f"{name} distribution, defined by its density.",
        "__module__": module,
        "_definition": definition,
        "_breaks": breaks,
        "__signature__": inspect.Signature(parameters),
        "names": (*domains, *located),
        "family": name,
        "_scipy_shapes": tuple(domains),
        "_positive": tuple(n for n, e in domains.items() if e == _WORDS["positive"]) + ("scale",) * location_scale,
        "_domains": ends,
        "_support": support,
        "_kernels": Points(name, known, count),
        "_layout": (*domains, "loc", "scale"),
    }
    cls: Any = type(name, (_Own,), made if location_scale else made | {"loc": 0.0, "scale": 1.0})
    columns = [[_values_in(e)[k] for k in order] for e, order in zip(ends, _ORDERS, strict=False)]
    starts = list(zip(*columns, strict=True)) or [()]
    found = tuple(_quartiles(cls, shapes) + shapes for shapes in starts)
    if score is not None:
        for quartiles, values in zip(found, starts, strict=True):
            _check_score(cls, known, quartiles[:3], values)
    known.guess = guess(found, anywhere)
    cls._likelihood = Likelihood(
        name,
        cls._kernels,
        (*domains, *("loc",) * (by_scale and anywhere), *("scale",) * by_scale),
        shapes=count,
        real=tuple(e != _WORDS["positive"] for e in ends),
        below=tuple(max(low + _INSIDE * max(abs(low), 1.0), -_LARGEST) for low, _ in ends),
        above=tuple(min(high - _INSIDE * max(abs(high), 1.0), _LARGEST) for _, high in ends),
        starts=len(starts),
        every=ALWAYS,
    )
    _MADE[definition] = cls
    return cls


def _domains_of(name, shapes):
    """The domain of each shape; every message about names."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"name={name!r} must be an identifier, as of a class")
    found = {}
    if shapes is not None and not isinstance(shapes, Mapping):
        raise TypeError(f"shapes={shapes!r} must be a dict of names and domains, as {{'a': 'positive'}}")
    for shape, domain in (shapes or {}).items():
        if not shape.isidentifier() or hasattr(Distribution, shape) or shape in ("loc", "scale", "params", "batch_shape"):
            raise ValueError(f"the shape {shape!r} must have a name of its own, which no method has")
        ends = _WORDS.get(domain) if isinstance(domain, str) else tuple(map(float, domain))
        if ends is None or len(ends) != 2 or not ends[0] < ends[1]:
            raise ValueError(f"shapes has {shape!r}: {domain!r}; the domain is 'positive', 'real' or a pair (low, high)")
        found[shape] = ends
    if len(found) > len(_ORDERS):
        raise ValueError(f"{name} has {len(found)} shapes; at most {len(_ORDERS)} are understood beside loc and scale")
    return found


def _check_arguments(logpdf, count):
    """ValueError for a density of other arguments than a number and the shapes."""
    taken = inspect.signature(getattr(logpdf, "py_func", logpdf)).parameters if callable(logpdf) else {}
    if taken and len(taken) != 1 + count and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in taken.values()):
        raise ValueError(
            f"logpdf takes {', '.join(taken)}: the number of shapes is {len(taken) - 1}, but shapes= names {count}. Give each "
            "a name and a domain, as shapes={'a': 'positive'}"
        )


def _checked_support(support):
    """The ends of a support."""
    ends = _WORDS.get(support, ()) if isinstance(support, str) else tuple(map(float, support))
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ValueError(f"support={support!r} must be 'positive', 'real' or a pair (low, high)")
    return ends


def _values_in(domain):
    """Three values of a domain."""
    low, high = domain
    if math.isinf(low) and math.isinf(high):
        return 0.0, -2.0, 2.0
    if math.isinf(high):
        return low + 1.0, low + 0.4, low + 4.0
    if math.isinf(low):
        return high - 1.0, high - 0.4, high - 4.0
    return tuple(low + share * (high - low) for share in (0.5, 0.2, 0.8))


def _quartiles(cls, shapes):
    """Quartiles of the standard form; ValueError for a density of another mass than 1."""
    try:
        density, options = cls._described(*cls._of_standard(*shapes))
        mass = density.integral(panels.Masses(density, **options).norm)
        if not abs(mass - 1.0) <= _MASS:
            words = "name the places of narrow parts, kinks and jumps in breaks=, for one may be missing; with none of these "
            words = f"{words if mass < 1.0 else ''}subtract {math.log(mass):.9g} from its logarithm"
            raise ValueError(f"the density has the mass {mass:.9g}; {words}")
        found = cls(*shapes)
        quartiles = FrozenDistribution(found, quiet=True).ppf(_QUARTERS)
        for name in ("cdf", "sf", "ppf", "isf"):
            if hasattr(cls._kernels.formulas, name):
                at, want = (_QUARTERS, quartiles) if name in ("ppf", "isf") else (quartiles, _QUARTERS)
                want = want[::-1] if name in ("sf", "isf") else want
                got = getattr(found, name)(at)
                if not np.allclose(got, want, rtol=_MASS, atol=_MASS * abs(quartiles).max() * (name in ("ppf", "isf"))):
                    raise ValueError(f"{name} is {got.tolist()} at {at.tolist()}, by the density {want.tolist()}")
    except ValueError as error:
        raise named_error(cls, cls._of_standard(*shapes), error) from None
    return tuple(map(float, quartiles))


def _check_score(cls, known, quartiles, shapes):
    """ValueError for a score that differs from differences of the density wherever these can be trusted: not next to kinks."""
    low, middle, high = quartiles
    points = [low + share * (high - low) for share in (-0.21, 0.07, 0.29, 0.61, 0.83, 1.13)]
    for z in (z for z in points if cls._support[0] < z < cls._support[1]):
        given, ends = np.array(known.score(z, shapes)), (cls._support, *cls._domains)
        for i, (x, (first, last)) in enumerate(zip((z, *shapes), ends, strict=True)):
            room = min(max(abs(x), 1.0), x - first, last - x)

            def at(step, i=i, x=x, z=z):
                moved = [z, *shapes]
                moved[i] = x + step
                return known.logpdf(moved[0], tuple(moved[1:]))

            slopes = [(8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h) for h in (1e-3 * room, 2e-4 * room)]
            size = abs(slopes[0]) + 1.0 / room
            if abs(slopes[0] - slopes[1]) < 1e-6 * size and not abs(given[i] - slopes[1]) <= 1e-4 * size:
                name = ("z", *cls._scipy_shapes)[i]
                words = f"score has {given[i]:.9g} for the derivative by {name} at z = {z:.6g}, differences give {slopes[1]:.9g}"
                raise named_error(cls, cls._of_standard(*shapes), ValueError(words))
