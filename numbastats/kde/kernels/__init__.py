"""Twins of the kernel density, a module for every job; `geometry` has what all of them use."""

from numbastats.kde.kernels import geometry
from numbastats.kde.kernels.cells import CELLS_FINISH, CELLS_SCATTER
from numbastats.kde.kernels.defined import Loops, loops_of
from numbastats.kde.kernels.direct import DIRECT
from numbastats.kde.kernels.paper import DIRECT_ATOMIC
from numbastats.kde.kernels.points import EXHAUSTIVE, POINTS
from numbastats.kde.kernels.rows import ACCUMULATE, FINISH, ROWS
from numbastats.kde.kernels.variants import STRIDE

__all__ = [
    "ACCUMULATE",
    "CELLS_FINISH",
    "CELLS_SCATTER",
    "DIRECT",
    "DIRECT_ATOMIC",
    "EXHAUSTIVE",
    "FINISH",
    "POINTS",
    "ROWS",
    "STRIDE",
    "Loops",
    "geometry",
    "loops_of",
]
