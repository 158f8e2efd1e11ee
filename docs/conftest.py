"""Doctests of the pages, by `python -m pytest docs`: CUDA in Numba's simulator, pages as far as their packages are installed."""

import importlib.util
import os
import sys

if "numba" not in sys.modules:  # with the tests, their conftest has decided
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

NEEDED = {
    "accuracy.md": ["mpmath"],
    "clusters.md": ["pandas", "sklearn"],
    "groups.md": ["sklearn"],
    "many_fits.md": ["pandas", "xarray"],
    "scale.md": ["dask", "xarray"],
    "sparse_regression.md": ["sklearn"],
    "standardised_indices.md": ["pandas", "xarray"],
    "coming_from/scikit_learn.md": ["sklearn"],
}
lacking = [page for page, names in NEEDED.items() if any(importlib.util.find_spec(name) is None for name in names)]
collect_ignore = ["conf.py", "make_beside.py", "make_matrix.py", "make_papers.py", "make_pictures.py", *lacking]
collect_ignore_glob = ["_build/*", "auto_examples/*", "api/generated/*"]
