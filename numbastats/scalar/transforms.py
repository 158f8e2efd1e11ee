"""Monotone functions y = g(x) of data, with a constant c: one table of formulas, for arrays on the host and for kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.elementary import exp, log, log1p

__all__ = ["TRANSFORMS", "Transform"]

sqrt = math.sqrt
_LOG_2 = math.log(2.0)
_OF_ARRAYS = {"exp": np.exp, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "_LOG_2": _LOG_2}


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
        return self._made(lambda f: FunctionType(f.__code__, _OF_ARRAYS))

    def in_kernels(self):
        """The same with formulas that loops and kernels can be bound to."""
        return self._made(device_function)

    def _made(self, make):
        return self._replace(forward=make(self.forward), backward=make(self.backward), log_forward=make(self.log_forward))


def itself(x, c):
    return x


def logarithm(x, c):
    return log(x)


def exponential(y, c):
    return exp(y)


def log_logarithm(x, c):
    return log(log(x))


def reciprocal(x, c):
    return 1.0 / x


def log_reciprocal(x, c):
    return -log(x)


def half_square(x, c):
    return 0.5 * x * x


def root_of_double(y, c):
    return sqrt(2.0 * y)


def log_half_square(x, c):
    return 2.0 * log(x) - _LOG_2


def square(x, c):
    return x * x


def root(y, c):
    return sqrt(y)


def log_square(x, c):
    return 2.0 * log(x)


def power(x, c):
    return x**c


def root_of_power(y, c):
    return y ** (1.0 / c)


def log_power(x, c):
    return c * log(x)


def log_ratio(x, c):
    return log1p((x - c) / c)


def from_log_ratio(y, c):
    return c * exp(y)


def log_log_ratio(x, c):
    return log(log1p((x - c) / c))


TRANSFORMS = {
    "identity": Transform("mean", itself, itself, logarithm),
    "log": Transform("mean_log", logarithm, exponential, log_logarithm, lambda c: (0.0, 0.0, -1.0)),
    "reciprocal": Transform("mean_reciprocal", reciprocal, reciprocal, log_reciprocal, lambda c: (0.0, 2.0, 0.0)),
    "half_square": Transform(
        "mean_half_square", half_square, root_of_double, log_half_square, lambda c: (0.5 * _LOG_2, 0.5, 0.0), lambda c: 2.0
    ),
    "square": Transform("mean_square", square, root, log_square, lambda c: (_LOG_2, 0.5, 0.0), lambda c: 2.0),
    "power": Transform("mean_power", power, root_of_power, log_power, lambda c: (math.log(c), 1.0 - 1.0 / c, 0.0), lambda c: c),
    "log_ratio": Transform("mean_log_ratio", log_ratio, from_log_ratio, log_log_ratio, lambda c: (-math.log(c), 0.0, -1.0)),
}
