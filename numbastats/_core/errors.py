"""Exceptions and warnings; every message says what was got, what is allowed, and the fix."""

from __future__ import annotations

import operator

__all__ = ["ConvergenceWarning", "DeviceNotAvailable", "NotFittedError", "choice", "index_of"]


class DeviceNotAvailable(RuntimeError):
    """The device asked for does not exist on this machine."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for a result before `fit`; of the same bases as scikit-learn's error of that name."""


class ConvergenceWarning(UserWarning):
    """A result was returned that missed its accuracy target; the result says by how much."""


def choice(name, value, allowed):
    """Return `value` if it is one of `allowed`, else raise a ValueError that lists them."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not known; use one of {', '.join(map(repr, allowed))}")
    return value


def index_of(i, size):
    """The index from 0 on of one data set among `size`; negative ones count from the end."""
    try:
        return range(size)[operator.index(i)]
    except TypeError:
        raise TypeError(f"{i!r} is not the index of one data set; pass an integer") from None
    except IndexError:
        raise IndexError(f"there is no data set {i}: the batch holds {size}") from None
