"""Formulas of a family from a user's functions of single numbers."""

from __future__ import annotations

import math
import types
from typing import Any

import numba

from numbastats._core.kernel import bind, device_function, users_function
from numbastats.distributions.kernels.points import half_line, no_constants, unit_interval, whole_line

__all__ = ["differences", "formulas", "guess"]

_SUPPORTS = {(-math.inf, math.inf): whole_line, (0.0, math.inf): half_line, (0.0, 1.0): unit_interval}

_f = _by_first = _by_second = _located = None  # bound to formulas
_ANYWHERE = False
_LOW = _HIGH = 0.0
_FIRST = _SECOND = (0.0, 0.0)
_FOUND: tuple[Any, ...] = ()


# --- scalars: a function of a point and a tuple of shapes, from one of single numbers ----------------------------


@device_function
def _of_none(z, c):
    return _f(z)


@device_function
def _of_one(z, c):
    return _f(z, c[0])


@device_function
def _of_two(z, c):
    return _f(z, c[0], c[1])


@device_function
def _one_shape(a):
    return (a,)


@device_function
def _two_shapes(a, b):
    return a, b


@device_function
def _interval(c):
    return _LOW, _HIGH


# --- derivatives that are not given: central differences of fourth order -----------------------------------------


@device_function
def _step(x, low, high):
    """A thousandth of x, at least of 1, at most of the distance to an end of the domain."""
    return 1e-3 * min(max(abs(x), 1.0), x - low, high - x)


@device_function
def _by_z(z, c):
    h = _step(z, _LOW, _HIGH)
    return (8.0 * (_f(z + h, c) - _f(z - h, c)) - (_f(z + 2.0 * h, c) - _f(z - 2.0 * h, c))) / (12.0 * h)


@device_function
def _by_only(z, c):
    a, h = c[0], _step(c[0], _FIRST[0], _FIRST[1])
    near, far = _f(z, (a + h,)) - _f(z, (a - h,)), _f(z, (a + 2.0 * h,)) - _f(z, (a - 2.0 * h,))
    return (8.0 * near - far) / (12.0 * h)


@device_function
def _by_first_of_two(z, c):
    a, b, h = c[0], c[1], _step(c[0], _FIRST[0], _FIRST[1])
    near, far = _f(z, (a + h, b)) - _f(z, (a - h, b)), _f(z, (a + 2.0 * h, b)) - _f(z, (a - 2.0 * h, b))
    return (8.0 * near - far) / (12.0 * h)


@device_function
def _by_second_of_two(z, c):
    a, b, h = c[0], c[1], _step(c[1], _SECOND[0], _SECOND[1])
    near, far = _f(z, (a, b + h)) - _f(z, (a, b - h)), _f(z, (a, b + 2.0 * h)) - _f(z, (a, b - 2.0 * h))
    return (8.0 * near - far) / (12.0 * h)


@device_function
def _score_of_none(z, c):
    return (_f(z, c),)


@device_function
def _score_of_one(z, c):
    return _f(z, c), _by_first(z, c)


@device_function
def _score_of_two(z, c):
    return _f(z, c), _by_first(z, c), _by_second(z, c)


# --- where a fit begins: shapes at which the quartiles of the standard form are known ----------------------------


@device_function
def _by_quartiles(k, low, middle, high):
    """Location and scale by the quartiles; of a family that begins or ends at 0 by the median alone."""
    first, second, third = _FOUND[k][0], _FOUND[k][1], _FOUND[k][2]
    if not _ANYWHERE:
        return 0.0, middle / second
    scale = (high - low) / (third - first)
    return middle - scale * second, scale


@device_function
def _guess_of_none(attempt, mean, sd, low, middle, high):
    return _located(attempt, low, middle, high)


@device_function
def _guess_of_one(attempt, mean, sd, low, middle, high):
    loc, scale = _located(attempt, low, middle, high)
    return _FOUND[attempt][3], loc, scale


@device_function
def _guess_of_two(attempt, mean, sd, low, middle, high):
    loc, scale = _located(attempt, low, middle, high)
    return _FOUND[attempt][3], _FOUND[attempt][4], loc, scale


_WITH = (_of_none, _of_one, _of_two)
_CONSTANTS = (no_constants, _one_shape, _two_shapes)
_GUESSES = (_guess_of_none, _guess_of_one, _guess_of_two)


def _placed(f):
    """A user's function with a module, which one from `exec` may lack: the disk cache asks which code is the package's."""
    plain = getattr(f, "py_func", f)
    if not isinstance(plain, types.FunctionType) or plain.__module__ is not None:
        return f
    made = types.FunctionType(plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)
    made.__qualname__, made.__module__ = plain.__qualname__, "__main__"
    return made


def differences(logpdf, support, domains):
    """The score of a density by differences."""
    by_z = bind(_by_z, _f=logpdf, _LOW=support[0], _HIGH=support[1])
    if not domains:
        return bind(_score_of_none, _f=by_z)
    if len(domains) == 1:
        return bind(_score_of_one, _f=by_z, _by_first=bind(_by_only, _f=logpdf, _FIRST=domains[0]))
    first = bind(_by_first_of_two, _f=logpdf, _FIRST=domains[0])
    return bind(_score_of_two, _f=by_z, _by_first=first, _by_second=bind(_by_second_of_two, _f=logpdf, _SECOND=domains[1]))


def formulas(given, domains, support):
    """What `Points` and `Likelihood` take, by the functions that a user has given; every message about these."""
    for one, other in (("cdf", "sf"), ("sf", "cdf"), ("ppf", "isf"), ("isf", "ppf"), ("ppf", "cdf")):
        if given[one] is not None and given[other] is None:
            raise ValueError(f"{one}= needs {other}=: each tail has its digits in its own function")
    number, count, known = numba.float64, len(domains), {}
    given = {name: _placed(f) for name, f in given.items()}
    for name, f in given.items():
        if f is not None or name == "logpdf":
            result = numba.types.UniTuple(number, count + 1) if name == "score" else number
            known[name] = bind(_WITH[count], _f=users_function(name, f, (number,) * (count + 1), result))
    known["support"] = _SUPPORTS.get(support) or bind(_interval, _LOW=support[0], _HIGH=support[1])
    known["constants"] = _CONSTANTS[count]
    known.setdefault("score", differences(known["logpdf"], support, domains))
    return types.SimpleNamespace(__name__=given["logpdf"].__module__, **known)


def guess(found, anywhere):
    """Where climbs begin: at each of the shapes, which follow the quartiles of the standard form with them.

    The location is that of the quartiles where it may be `anywhere`, else 0.
    """
    located = bind(_by_quartiles, _FOUND=found, _ANYWHERE=anywhere)
    return bind(_GUESSES[len(found[0]) - 3], _located=located, _FOUND=found)
