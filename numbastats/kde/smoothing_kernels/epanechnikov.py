"""Epanechnikov's kernel, 1 - u^2."""

from __future__ import annotations

from numbastats.kde.smoothing import polynomial

__all__ = ["RECORD"]

RECORD = polynomial(1)
