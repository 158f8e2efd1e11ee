"""A case for each record: what the tests know of a distribution or a smoothing kernel stands in one file of a folder `cases`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

__all__ = ["discover"]


@functools.cache
def discover(package: str) -> dict[str, Any]:
    """The `CASE` of each module of a package, by the name of the module.

    Callers write the package as a string: `tests/changed.py` takes from it that they depend on all files of the folder.
    """
    folder = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(folder))
    return {name: importlib.import_module(f"{package}.{name}").CASE for name in names}
