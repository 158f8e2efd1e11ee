"""Numba's CUDA, or its simulator: the only file that imports it, so that another compiler can take its place here."""

from numba import cuda

__all__ = ["cuda"]
