"""Statistical computing with JIT-compiled kernels, the same call on CPU and CUDA GPU.

Sub-packages load when they are first used; importing compiles nothing.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numbastats import bayes, distributions, interop, kde, mixture, plot, quantile, random, scalar, stable, testing
    from numbastats._core.status import Status

_import_lock = threading.RLock()


@contextlib.contextmanager
def _importing():
    """Import in one thread at a time, without garbage collections.

    Two threads that load different sub-packages at once may wait for each other's modules, where Python raises an error. Modules
    of the library must not ask for this lock while they load: hence ``import numbastats.random as random`` in them. Collections
    find nothing, for what Numba creates stays, and take 0.06 s.
    """
    with _import_lock:
        enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if enabled:
                gc.enable()


with _importing():
    from numbastats import config
    from numbastats._core.errors import ConvergenceWarning, DeviceNotAvailable, NotFittedError
    from numbastats._core.kernel import real_gpu as has_gpu
    from numbastats._core.warmup import warmup

__version__ = "0.2.0"

_LAZY = ("bayes", "distributions", "interop", "kde", "mixture", "plot", "quantile", "random", "scalar", "stable", "testing")

__all__ = [
    "ConvergenceWarning",
    "DeviceNotAvailable",
    "NotFittedError",
    "Status",
    "bayes",
    "config",
    "distributions",
    "has_gpu",
    "interop",
    "kde",
    "mixture",
    "plot",
    "quantile",
    "random",
    "scalar",
    "stable",
    "testing",
    "warmup",
]


if not TYPE_CHECKING:  # a type checker would believe that there is everything

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            with _importing():
                return importlib.import_module(f"numbastats.{name}")
        if name == "Status":
            return importlib.import_module("numbastats._core.status").Status
        raise AttributeError(f"module 'numbastats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
