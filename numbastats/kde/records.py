"""The smoothing kernels there are, and the one that a caller names."""

from __future__ import annotations

from typing import Literal, TypeAlias

from numbastats._core.checks import choice
from numbastats.kde import smoothing_kernels
from numbastats.kde.smoothing import Smoothing, polynomial
from numbastats.kde.smoothing_kernels import Name

__all__ = ["OTHERS", "RECORDS", "ROWS", "TAIL", "KernelName", "kernel_of", "names_of"]

TAIL = 1e-10  # what cross-validation cuts from a kernel without an end that is not the normal one

# Epanechnikov's, which is the default, the other powers, and all others by their numbers
RECORDS: tuple[Smoothing, ...] = tuple(
    sorted(smoothing_kernels.RECORDS, key=lambda record: (record.power is None, record.power != 1, abs(record.number)))
)
OTHERS = tuple(record for record in RECORDS if record.power is None)
ROWS = tuple(record for record in RECORDS if record.rows)
MOST_POWER = 12
_NAMED = {record.name: record for record in RECORDS}

KernelName: TypeAlias = Literal[Name, "normal"] | tuple[Literal["polynomial"], int] | Smoothing


def names_of(records=RECORDS):
    """Names of kernels, for error messages."""
    return ", ".join(record.name for record in records)


def kernel_of(kernel, allowed=None):
    """The record of a kernel that a caller names or made by `define`; raises unless it is in `allowed`."""
    found = None
    if isinstance(kernel, Smoothing):
        found = kernel
    elif isinstance(kernel, str):
        kernel = "gaussian" if kernel == "normal" else kernel
        found = _NAMED.get(kernel)
    elif isinstance(kernel, tuple) and len(kernel) == 2 and kernel[0] == "polynomial":
        p = kernel[1]
        if not hasattr(p, "__index__") or isinstance(p, bool) or not 0 <= p <= MOST_POWER:
            raise ValueError(f"kernel={kernel!r}: the exponent of (1 - u^2)^p must be an integer from 0 to {MOST_POWER}")
        found = polynomial(int(p))
    if found is None or (allowed is not None and found not in allowed):
        choice("kernel", found.name if found else kernel, [record.name for record in allowed or RECORDS])
    return found
