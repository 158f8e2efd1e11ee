"""Stirling's series for entropies on the host."""

from __future__ import annotations

import numpy as np

__all__ = ["stirling", "stirling_fall"]


def stirling(a):
    """log Gamma(a) - ((a - 1/2) log a - a + log(2 pi)/2), to 1e-16 from 10 on."""
    i = 1.0 / np.maximum(a, 10.0)
    j = i * i
    return i * (1 / 12 - j * (1 / 360 - j * (1 / 1260 - j * (1 / 1680 - j * (1 / 1188 - j * 691 / 360360)))))


def stirling_fall(a):
    """log a - 1/(2 a) - psi(a), minus the derivative of `stirling`, to 1e-16 from 10 on."""
    i = 1.0 / np.maximum(a, 10.0)
    j = i * i
    return j * (1 / 12 - j * (1 / 120 - j * (1 / 252 - j * (1 / 240 - j * (1 / 132 - j * (691 / 32760 - j / 12))))))
