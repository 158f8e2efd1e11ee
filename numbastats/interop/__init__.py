"""Bridges to other libraries; each is imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numbastats

if TYPE_CHECKING:
    from numbastats.interop.scipy_kde import gaussian_kde
    from numbastats.interop.scipy_stable import levy_stable
    from numbastats.interop.scipy_tables import to_scipy

_LAZY = {
    "gaussian_kde": "numbastats.interop.scipy_kde",
    "levy_stable": "numbastats.interop.scipy_stable",
    "to_scipy": "numbastats.interop.scipy_tables",
}

__all__ = ["gaussian_kde", "levy_stable", "to_scipy"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        with numbastats._importing():
            return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'numbastats.interop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
