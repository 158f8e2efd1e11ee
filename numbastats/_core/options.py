"""Options that a function hands on: their names, types and defaults, of one declaration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, get_args

from numpy.typing import DTypeLike

from numbastats._core.errors import bare, no_argument

__all__ = ["DEFAULTS", "DEVICES", "ArrayOptions", "Device", "DrawOptions", "NumberOptions", "hands_on"]

F = TypeVar("F", bound=Callable[..., Any])
Device = Literal["auto", "cpu", "cuda"] | None  # where a call runs; None: as `numbastats.config` says
DEVICES = get_args(get_args(Device)[0])
DEFAULTS: dict[str, Any] = dict(out=None, dtype=None, device=None, workers=None, stream=None)  # of elementwise functions


class NumberOptions(TypedDict, total=False):
    """Options of elementwise functions with which the result of a number is a float."""

    device: Device
    workers: Any
    stream: Any


class ArrayOptions(NumberOptions, total=False):
    """Options of elementwise functions with which the result of an array is one array."""

    out: Any
    dtype: DTypeLike | None


class DrawOptions(ArrayOptions, total=False):
    """Options of draws but for their source."""

    offset: int
    like: Any


def hands_on(*takers: Callable[..., Any], instead: Mapping[str, str] = MappingProxyType({})) -> Callable[[F], F]:
    """Show the options of ``**options: Unpack[SomeOptions]`` in a signature, and refuse others.

    Parameters
    ----------
    *takers : functions
        Which have these options as parameters: of the first that has one are its type and its default. A TypedDict says which of
        theirs there are; type checkers read it.
    instead : mapping
        What to do instead of passing some of those that are refused.
    """

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        *named, rest = own.parameters.values()
        options = function.__globals__[rest.annotation.removeprefix("Unpack[").removesuffix("]")]
        theirs = [inspect.signature(taker).parameters for taker in takers]
        wanted = options.__annotations__.keys() - own.parameters.keys()
        held = {name: p for parameters in reversed(theirs) for name, p in parameters.items() if name in wanted}
        if missing := wanted - held.keys():
            raise TypeError(f"{function.__qualname__} hands on {sorted(missing)}, which none of {takers} takes")
        whole = own.replace(parameters=[*named, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in held.values())])
        known = frozenset(whole.parameters)

        @functools.wraps(function)
        def checked(*args, **given):
            if not known.issuperset(given):
                unknown = next(name for name in given if name not in known)
                raise no_argument(function.__qualname__, unknown, whole.parameters, instead.get(unknown, ""))
            try:
                return function(*args, **given)
            except (TypeError, ValueError) as error:
                error.args = tuple(map(bare, error.args))
                raise

        checked.__signature__ = whole  # type: ignore[attr-defined]
        checked.__hands_on__ = options, takers  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorate
