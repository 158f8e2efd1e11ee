"""The triweight kernel, (1 - u^2)^3."""

from __future__ import annotations

from numbastats.kde.smoothing import polynomial

__all__ = ["RECORD"]

RECORD = polynomial(3)
