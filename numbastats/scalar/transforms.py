"""Monotone functions y = g(x) of data, with a constant c: one table of formulas, for arrays on the host and for kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.elementary import exp, log, log1p

__all__ = ["TRANSFORMS", "Transform", "on_arrays"]

sqrt = math.sqrt
_LOG_2 = math.log(2.0)
_OF_ARRAYS = dict(exp=np.exp, log=np.log, log1p=np.log1p, sqrt=np.sqrt, _LOG_2=_LOG_2)


class Transform(NamedTuple):
    """y = g(x): functions of (x, c) or (y, c), and of c alone."""

    centre: str  # what the mean of y is called
    forward: Callable
    backward: Callable
    log_forward: Callable  # also where g(x) over- or underflows
    jacobian: Callable = lambda c: (0.0, 0.0, 0.0)  # (j0, j1, j2) with log|dy/dx| = j0 + j1 log y + j2 y
    degree: Callable = lambda c: 1.0  # the power of x that g is, 1 for what is none

    def on_arrays(self):
        """The same with formulas of NumPy's arrays."""
        return self._replace(**{name: self._formula(name, _OF_ARRAYS) for name in _FORMULAS})

    def in_kernels(self):
        """The same with formulas that loops and kernels can be bound to."""
        return self._replace(**{name: device_function(self._formula(name, globals())) for name in _FORMULAS})

    def _formula(self, name, known):
        f = FunctionType(getattr(self, name).__code__, known)
        f.__name__ = f.__qualname__ = f"{self.centre}_{name}"
        return f


def on_arrays(formula):
    """A scalar formula with functions of NumPy, on the host: for arrays if it branches by codes alone, else for numbers."""
    plain = formula.py_func
    return FunctionType(plain.__code__, plain.__globals__ | _OF_ARRAYS)


_FORMULAS = ("forward", "backward", "log_forward")
TRANSFORMS = dict(
    identity=Transform("mean", lambda x, c: x, lambda y, c: y, lambda x, c: log(x)),
    log=Transform("mean_log", lambda x, c: log(x), lambda y, c: exp(y), lambda x, c: log(log(x)), lambda c: (0.0, 0.0, -1.0)),
    reciprocal=Transform(
        "mean_reciprocal", lambda x, c: 1.0 / x, lambda y, c: 1.0 / y, lambda x, c: -log(x), lambda c: (0.0, 2.0, 0.0)
    ),
    half_square=Transform(
        "mean_half_square",
        lambda x, c: 0.5 * x * x,
        lambda y, c: sqrt(2.0 * y),
        lambda x, c: 2.0 * log(x) - _LOG_2,
        lambda c: (0.5 * _LOG_2, 0.5, 0.0),
        lambda c: 2.0,
    ),
    square=Transform(
        "mean_square",
        lambda x, c: x * x,
        lambda y, c: sqrt(y),
        lambda x, c: 2.0 * log(x),
        lambda c: (_LOG_2, 0.5, 0.0),
        lambda c: 2.0,
    ),
    power=Transform(
        "mean_power",
        lambda x, c: x**c,
        lambda y, c: y ** (1.0 / c),
        lambda x, c: c * log(x),
        lambda c: (math.log(c), 1.0 - 1.0 / c, 0.0),
        lambda c: c,
    ),
    log_ratio=Transform(
        "mean_log_ratio",
        lambda x, c: log1p((x - c) / c),
        lambda y, c: c * exp(y),
        lambda x, c: log(log1p((x - c) / c)),
        lambda c: (-math.log(c), 0.0, -1.0),
    ),
)
