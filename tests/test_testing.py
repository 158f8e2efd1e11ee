"""The helpers that judge all other tests."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from numbastats.testing import assert_matches, ulp_error

QUARTER = "1.000000000000000055511151231257827021181583404541015625"  # 1 + 2^-54: a quarter of the spacing of doubles there


def kind(exact):
    return type(exact).__name__


@pytest.mark.parametrize(
    "exact",
    [
        QUARTER,
        Fraction(QUARTER),
        Decimal(QUARTER),
        mpmath.mp.make_mpf((0, mpmath.libmp.MPZ(2**54 + 1), -54, 55)),  # whatever the working precision is
        pytest.param(
            np.longdouble(1) + np.longdouble(2) ** -54,
            marks=pytest.mark.skipif(np.finfo(np.longdouble).nmant < 54, reason="long double is double here"),
        ),
    ],
    ids=kind,
)
def test_no_digit_of_the_exact_value_is_lost(exact):
    """Long doubles and decimals were rounded to double first: the error came out as 0."""
    assert ulp_error([1.0], [exact])[0] == 0.25
    with pytest.raises(AssertionError, match=r"error 0\.25 ulp"):
        assert_matches([1.0], [exact], ulp=0.24)
    assert_matches([1.0], [exact], ulp=0.25)


def test_large_integers():
    assert ulp_error([2.0**60], [2**60 + 64])[0] == 0.25  # doubles are 256 apart
    assert ulp_error([2.0**60], np.array([2**60 + 64]))[0] == 0.25


@pytest.mark.parametrize("exact", ["1e400", Fraction(10**400), 10**400, mpmath.mpf("1e400"), np.inf], ids=kind)
def test_exact_values_beyond_the_range(exact):
    """Infinity is right for them; strings, fractions and integers raised OverflowError."""
    assert ulp_error([np.inf, 1e308], [exact, exact]).tolist() == [0.0, np.inf]
    negative = "-1e400" if isinstance(exact, str) else -exact
    assert ulp_error([-np.inf, np.inf], [negative, negative]).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("exact", [0, 0.0, "1e-400", mpmath.mpf("1e-400")], ids=str)
def test_errors_beyond_the_range(exact):
    """A float far from an exact value at 0: as many spacings as there is no float for raised OverflowError."""
    assert ulp_error([1.0, -1e-14, 5e-324], [exact] * 3).tolist()[:2] == [np.inf, np.inf]
    assert ulp_error([5e-324], [exact])[0] == 1.0
    with pytest.raises(AssertionError, match="error inf ulp > 4"):
        assert_matches([1.0], [exact], ulp=4)


def test_float32_and_what_is_not_finite():
    assert ulp_error(np.float32([1.0, np.inf, np.nan, np.nan]), [1 + 2.0**-23, 1e39, np.nan, 1.0]).tolist() == [1, 0, 0, np.inf]
    assert ulp_error([1.0], [1 + 2.0**-23], np.float32)[0] == 1.0
    with pytest.raises(ValueError, match="one to one"):
        ulp_error([1.0], [1.0, 2.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_largest_floats_have_the_spacing_of_their_binade(dtype):
    """NumPy's spacing of the largest float overflows: OverflowError."""
    largest = np.finfo(dtype).max
    below = np.nextafter(largest, dtype(0))
    exact = Fraction(float(largest))
    assert ulp_error(np.array([largest, below, -below]), [exact, exact, -exact]).tolist() == [0.0, 1.0, 1.0]
