"""Kernels of the normal quantile and of quantile tables."""

from numbastats.quantile.kernels import ndtri, paper
from numbastats.quantile.kernels.lookup import TABLE
from numbastats.quantile.kernels.ndtri import ANTITHETIC, FROM_EXPONENTIAL, LOG

__all__ = ["ANTITHETIC", "FROM_EXPONENTIAL", "LOG", "NDTRI", "TABLE"]

NDTRI = ndtri.NDTRI | paper.NDTRI
