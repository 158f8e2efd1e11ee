"""Search in ascending arrays, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats._core.kernel import build
from numbastats.scalar.search import lower_bound


def _search(values, low, high, wanted, out):
    for i in range(wanted.size):
        out[i] = lower_bound(values, low, high, wanted[i])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lower_bound(dtype):
    values = np.array([-np.inf, -2.0, -2.0, -2.0, 0.0, 1.0, 1.5, 1.5, np.inf], dtype)
    wanted = np.array([-np.inf, -3.0, -2.0, -1.0, 0.0, 1.5, 2.0, np.inf])
    search = build(_search, "serial")
    for low, high in ((0, 9), (2, 7), (3, 4), (5, 5), (0, 0)):
        out = np.zeros(wanted.size, np.int64)
        search(values, low, high, wanted, out)
        assert (out == low + np.searchsorted(values[low:high], wanted)).all()
