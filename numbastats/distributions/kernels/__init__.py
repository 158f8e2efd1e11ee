"""Kernels of densities and distribution functions."""

from numbastats.distributions.kernels.densities import GH, GH_NORM, LOG_KVE
from numbastats.distributions.kernels.probabilities import DISTRIBUTION

__all__ = ["DISTRIBUTION", "GH", "GH_NORM", "LOG_KVE"]
