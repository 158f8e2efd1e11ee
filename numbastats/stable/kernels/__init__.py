"""Kernels of the stable distributions, by subject."""

from numbastats.stable.kernels.paper import FOURIER, GAUSS_KRONROD, LOWER
from numbastats.stable.kernels.points import CLOSED, INTEGRAL, LANES, POINTS, S1, SERIES, THREE, THREE_LOGS
from numbastats.stable.kernels.quantiles import NEWTON
from numbastats.stable.kernels.sampling import RVS
from numbastats.stable.kernels.tables import QUANTILE, TABLE, TABLE_OF_LOGS

__all__ = [
    "CLOSED",
    "FOURIER",
    "GAUSS_KRONROD",
    "INTEGRAL",
    "LANES",
    "LOWER",
    "NEWTON",
    "POINTS",
    "QUANTILE",
    "RVS",
    "S1",
    "SERIES",
    "TABLE",
    "TABLE_OF_LOGS",
    "THREE",
    "THREE_LOGS",
]
