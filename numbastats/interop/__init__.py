"""Bridges to other libraries; each loads when it is first used."""

from __future__ import annotations

import importlib

import numbastats

_LAZY = {"levy_stable": "numbastats.interop.scipy_stable", "to_scipy": "numbastats.interop.scipy_tables"}

__all__ = ["levy_stable", "to_scipy"]


def __getattr__(name):
    if name in _LAZY:
        with numbastats._importing():
            return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'numbastats.interop' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
