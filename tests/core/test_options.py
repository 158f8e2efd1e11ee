"""Options that functions hand on: their types are those of the functions that take them."""

from __future__ import annotations

import inspect
import typing

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.options import NumberOptions, hands_on

PACKAGES = ("bayes", "distributions", "kde", "mixture", "quantile", "random", "stable")


def public():
    """Every public function, and every method of a public class, by its name."""
    for package in PACKAGES:
        module = getattr(ns, package)
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{package}.{name}", thing
            for method, value in vars(thing).items() if isinstance(thing, type) else ():
                yield f"{package}.{name}.{method}", getattr(value, "__func__", value)


HANDED_ON = {name: f for name, f in public() if hasattr(f, "__hands_on__")}
OVERLOADED = {
    name: f
    for name, f in public()
    if inspect.isfunction(f)
    and any(
        str(p.annotation).startswith("Unpack[") for c in typing.get_overloads(f) for p in inspect.signature(c).parameters.values()
    )
}


def words(annotation):
    """A type in the words of the source."""
    return getattr(annotation, "__forward_arg__", annotation)


@pytest.mark.parametrize("name", HANDED_ON)
def test_types_are_those_of_the_takers(name):
    options, takers = HANDED_ON[name].__hands_on__
    for option, annotation in options.__annotations__.items():
        theirs = next(p for p in (inspect.signature(t).parameters for t in takers) if option in p)[option]
        if option not in inspect.signature(HANDED_ON[name].__wrapped__).parameters:
            assert words(annotation) == words(theirs.annotation), option
            assert inspect.signature(HANDED_ON[name]).parameters[option].default == theirs.default


@pytest.mark.parametrize("name", OVERLOADED)
def test_overloads_have_the_parameters_of_the_function(name):
    own, taken = inspect.signature(OVERLOADED[name]).parameters, set()
    for case in typing.get_overloads(OVERLOADED[name]):
        *named, rest = inspect.signature(case).parameters.values()
        positional = [p.name for p in named if p.kind is not p.KEYWORD_ONLY]
        assert positional == list(own)[: len(positional)]
        taken |= {p.name for p in named}
        options = case.__globals__[rest.annotation.removeprefix("Unpack[").removesuffix("]")]
        assert {o: words(a) for o, a in options.__annotations__.items()} == {
            o: own[o].annotation for o in options.__annotations__
        }
        taken |= options.__annotations__.keys()
    assert taken == own.keys()  # some options choose an overload


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ndtri", (0.3,)),
        ("norm_from_exponential", (0.3,)),
        ("log_ndtr", (0.3,)),
        ("pdf", (0.3, 1.5, 0.0)),
        ("isf", (0.3, 1.5, 0.0)),
    ],
)
def test_results_have_the_types_of_the_overloads(name, args):
    function = next(f for key, f in OVERLOADED.items() if key.rpartition(".")[2] == name)
    assert isinstance(function(*args), float)
    assert isinstance(function(np.array(args[0]), *args[1:]), float | np.ndarray)
    assert isinstance(function(np.array([args[0]]), *args[1:]), np.ndarray)


def test_others_are_refused_by_name():
    with pytest.raises(TypeError, match=r"regular_axes\(\) has no argument 'boundary': it takes samples, shape"):
        ns.kde.regular_axes([1.0, 2.0], boundary=3)
    with pytest.raises(TypeError, match=r"regular_axes\(\) has no argument 'shap': use shape="):
        ns.kde.regular_axes([1.0, 2.0], shap=3)
    with pytest.raises(TypeError, match=r"Stable.pdf\(\) has no argument 'n_jobs': use workers="):
        ns.stable.Stable(1.5, 0.0).pdf(0.0, n_jobs=2)
    assert inspect.signature(ns.stable.Stable.pdf).parameters["method"].default == "auto"


def test_an_option_that_nobody_takes_is_an_error_at_once():
    def function(x, **options: Unpack[NumberOptions]):  # noqa: F821  only its words are read
        return x

    with pytest.raises(TypeError, match="none of"):
        hands_on(ns.kde.hdr_levels)(function)
