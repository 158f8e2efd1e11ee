"""Kernel density estimation with bounded kernels: exact on grids at the speed of approximate codes, and at points."""

from numbastats.kde import bandwidth
from numbastats.kde.classes import KDEClassifier
from numbastats.kde.conditional import ConditionalDensity, conditional
from numbastats.kde.distributed import combine, finalize, partial, plan
from numbastats.kde.estimator import KDE
from numbastats.kde.functions import at_samples, grid, grid_slabs, hdr_levels, perkins, points, regular_axes
from numbastats.kde.kernels.defined import define

__all__ = [
    "KDE",
    "ConditionalDensity",
    "KDEClassifier",
    "at_samples",
    "bandwidth",
    "combine",
    "conditional",
    "define",
    "finalize",
    "grid",
    "grid_slabs",
    "hdr_levels",
    "partial",
    "perkins",
    "plan",
    "points",
    "regular_axes",
]


def __dir__():
    return sorted(__all__)
