"""Kernels of the paper's normal quantiles, kept for comparison."""

from __future__ import annotations

from numbastats.quantile.kernels.ndtri import map_kernel
from numbastats.scalar import normal

__all__ = ["NDTRI"]

NDTRI = {
    ("exp56", "float32"): map_kernel("ndtri_exp56", normal.exp56_fused, "float32"),
    ("exp56", "float64"): map_kernel("ndtri_exp56_double", normal.exp56_fused, "float64"),
    ("exp1313", "float64"): map_kernel("ndtri_exp1313", normal.exp1313_fused, "float64"),
    ("exp1313_printed", "float64"): map_kernel("ndtri_exp1313_printed", normal.exp1313_printed_fused, "float64"),
    ("t2", "float64"): map_kernel("ndtri_t2", normal.t2_fused, "float64"),
}
