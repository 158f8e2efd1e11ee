"""Kernels of densities and distribution functions."""

from numbastats.distributions.kernels.densities import GH, GH_NORM, LOG_KVE
from numbastats.distributions.kernels.fits import FIT
from numbastats.distributions.kernels.probabilities import DISTRIBUTION

__all__ = ["DISTRIBUTION", "FIT", "GH", "GH_NORM", "LOG_KVE"]
