"""For the rooms until they import from the new place: what was here is in `numba_internals`."""

from numbastats._core.numba_internals import VECTORS, _hint  # noqa: F401
