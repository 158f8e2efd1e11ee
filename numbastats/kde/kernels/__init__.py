"""Twins of the kernel density, a module for every job; `geometry` names what they share."""

from numbastats.kde.kernels import cells, geometry
from numbastats.kde.kernels.direct import DIRECT, DIRECT_ATOMIC
from numbastats.kde.kernels.points import CELLS, EXHAUSTIVE
from numbastats.kde.kernels.rows import ACCUMULATE, FINISH, ROWS, ROWS_A
from numbastats.kde.kernels.variants import STRIDE

__all__ = [
    "ACCUMULATE", "CELLS", "DIRECT", "DIRECT_ATOMIC", "EXHAUSTIVE", "FINISH", "ROWS", "ROWS_A", "STRIDE", "cells",
    "geometry",
]  # fmt: skip
