"""What the tests know of each smoothing kernel: a file for each, named by its word, with a `CASE`; `tests/cases.py` finds them.

Formulas are written independently of the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["VOLUME", "Case"]

VOLUME = {1: 2.0, 2: math.pi, 3: 4 * math.pi / 3, 4: math.pi**2 / 2, 5: 8 * math.pi**2 / 15}  # of the unit ball


@dataclass(frozen=True, kw_only=True)
class Case:
    """A smoothing kernel by its definition."""

    profile: Callable  # of q, the squared distance in units of the bandwidth, below 1 where the kernel has an end
    constant: Callable  # of the dimension: what makes its integral 1
    tailed: bool = False  # without an end
    power: int | None = None  # of 1 - q
    below: Callable | None = None  # distribution function on the line, in mpmath, of the way through the support: 0 to 1
