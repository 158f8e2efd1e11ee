"""Search in ascending arrays."""

from __future__ import annotations

from numbastats._core.kernel import array_function

__all__ = ["lower_bound"]


@array_function(host=False)
def lower_bound(values, low, high, value):
    """First index of the ascending values[low:high] whose element is not below the value; `high` where there is none."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
