"""Doctests of the pages, by `python -m pytest docs`: CUDA in Numba's simulator, pages as far as their packages are installed."""

import importlib.util
import os
import sys

if "numba" not in sys.modules:  # with the tests, their conftest has decided
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

NEEDED = {"accuracy.md": "mpmath", "many_fits.md": "pandas", "scale.md": "dask", "coming_from/scikit_learn.md": "sklearn"}
collect_ignore = ["conf.py", "make_matrix.py", *(page for page, name in NEEDED.items() if importlib.util.find_spec(name) is None)]
collect_ignore_glob = ["_build/*", "auto_examples/*", "api/generated/*"]
