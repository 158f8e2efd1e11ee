"""Quotients and roots without a branch: the sequences that CUDA kernels have, from starts of 20 bits, round as IEEE 754 asks.

But for divisors whose digits are all 1: for these the start of the hardware must be above, as it is with the bit that is set.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from numbastats.scalar.bits import fma, quotient, root

COUNT = 2_000_000


@numba.njit(error_model="numpy")
def quotients(a, b, error, out, plain):
    """`quotient` as it is on a GPU, and here."""
    for i in range(a.size):
        T = type(a[i])
        x, y = a[i], b[i]
        inverse = T((T(1.0) / y) * error[i])
        rest = fma(-y, inverse, T(1.0))
        if out.itemsize == 8:
            inverse = fma(inverse, fma(rest, rest, rest), inverse)
            rest = fma(-y, inverse, T(1.0))
        inverse = fma(inverse, rest, inverse)
        value = x * inverse
        for _ in range(1 if out.itemsize == 8 else 2):
            value = fma(inverse, fma(-y, value, x), value)
        out[i], plain[i] = value, quotient(x, y)


@numba.njit(error_model="numpy")
def roots(a, error, out, plain):
    for i in range(a.size):
        T = type(a[i])
        x = a[i]
        inverse = T(T(1.0) / T(math.sqrt(x)) * error[i])
        if out.itemsize == 8:
            rest = fma(x, -(inverse * inverse), T(1.0))
            inverse = fma(fma(rest, T(0.375), T(0.5)), inverse * rest, inverse)
        value = x * inverse
        out[i], plain[i] = fma(fma(-value, value, x), inverse * T(0.5), value), root(x)


@pytest.mark.parametrize(("dtype", "off"), [(np.float64, 2.0**-20), (np.float32, 2.0**-23)])
def test_quotients_and_roots(dtype, off):
    """PTX: the start is right to 2^-20 in float64, and in float32 to an ulp (quotients; roots 2^-22.9)."""
    rng = np.random.default_rng(1)
    a = np.exp(rng.uniform(-30.0, 30.0, COUNT)).astype(dtype)
    b = np.exp(rng.uniform(-3.0, 7.0, COUNT)).astype(dtype)
    a[::11] = b[::11] * np.nextafter(dtype(1.0), dtype(2.0))
    a[::13] = 0.0
    error = (1.0 + off * rng.uniform(-1.0, 1.0, COUNT)).astype(dtype)
    out, plain = np.empty((2, COUNT), dtype)
    quotients(a, b, error, out, plain)
    np.testing.assert_array_equal(plain, a / b)
    np.testing.assert_array_equal(out, a / b)
    roots(b, error, out, plain)
    np.testing.assert_array_equal(plain, np.sqrt(b))
    np.testing.assert_array_equal(out, np.sqrt(b))
