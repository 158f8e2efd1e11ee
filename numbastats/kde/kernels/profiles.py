"""Values of kernels by their numbers, made from their records."""

from __future__ import annotations

import math

from numba import types

from numbastats._core.kernel import HostLoop, bind, device_function
from numbastats.kde.kernels.geometry import outer_factor
from numbastats.kde.records import OTHERS
from numbastats.scalar.kde import any_power

__all__ = ["FACTOR", "VALUE", "values_of"]


@device_function
def _power_or_none(kind, q, decay):
    """A power of 1 - q, NaN for a number that no record has."""
    return any_power(kind, q, decay) if kind >= 0 else math.nan


@device_function
def _one_of(kind, q, decay):
    return _profile(q, decay) if kind == _number else _others(kind, q, decay)


@device_function
def kernel_value(kind, q, decay):
    """Kernel number `kind` at q, not normalised; 0 for q >= 1."""
    v = _values(kind, q, decay)
    return v if q < 1.0 else 0.0


_number = _profile = _others = _values = None


def values_of(records):
    """A function for the values of powers and of the kernels of some records."""
    values = _power_or_none
    for record in reversed(records):
        values = bind(_one_of, _number=record.number, _profile=record.profile, _others=values)
    return bind(kernel_value, _values=values)


VALUE = values_of(OTHERS)
FACTOR = outer_factor(VALUE)
HostLoop("kde.any_power", any_power, [(types.int64, types.float64, types.float64)], parallel=False)
