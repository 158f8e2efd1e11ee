"""Conversions between S0 and S1."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats import stable
from tests.stable.naive import SERIAL


def test_parameterisations():
    x = np.linspace(-5, 5, 11)
    for a, b in ((0.4, 0.5), (1.0, -0.7), (1.6, 0.9), (2.0, 0.3)):
        there = stable.convert(a, b, 0.3, 2.5, to="S1")
        back = stable.convert(*there, to="S0")
        np.testing.assert_allclose(back, (a, b, 0.3, 2.5), rtol=1e-14)
        np.testing.assert_allclose(
            stable.cdf(x, a, b, 0.3, 2.5, **SERIAL), stable.cdf(x, *there, param="S1", **SERIAL), rtol=1e-12
        )
    assert stable.convert(np.array([0.5, 1.5]), 0.0, [[1.0], [2.0]])[2].shape == (2, 2)
    for f in (stable.pdf, stable.ppf):
        with pytest.raises(ValueError, match="'S0', 'S1'"):
            f(0.5, 1.5, 0.0, param="M")
    with pytest.raises(ValueError, match="'S0', 'S1'"):
        stable.rvs(1.5, 0.0, param="A")
    with pytest.raises(ValueError, match="use one of"):
        stable.pdf(0.5, 1.5, 0.0, method="fft")
    with pytest.raises(ValueError, match="method='auto'"):
        stable.pdf([0.5, 1.0], [1.5, 1.4], 0.0, method="table")
