"""Kernels of densities and distribution functions."""

from numbastats.distributions.kernels.densities import GH, GH_NORM, LOG_KVE, STUDENT
from numbastats.distributions.kernels.probabilities import DISTRIBUTION

__all__ = ["DISTRIBUTION", "GH", "GH_NORM", "LOG_KVE", "STUDENT"]
