"""Helpers to test numerical functions, ours and the user's own: errors in units in the last place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

__all__ = ["DEVICES", "assert_matches", "ulp_error"]

DEVICES = {
    "cpu-serial": {"device": "cpu", "workers": 1},
    "cpu-parallel": {"device": "cpu", "workers": 2},
    "cuda": {"device": "cuda"},
}
"""Options that send a public function to each twin, by the id that tests show."""


def _fraction(value) -> Fraction:
    if isinstance(value, str | Fraction):
        return Fraction(value)
    mantissa = getattr(value, "man_exp", None)  # mpmath.mpf
    if mantissa is not None:
        man, exp = mantissa
        sign = -1 if value < 0 else 1
        return sign * abs(Fraction(int(man))) * Fraction(2) ** int(exp)
    if hasattr(value, "as_integer_ratio"):  # floats of any size, Decimal
        return Fraction(*value.as_integer_ratio())
    return Fraction(int(value))


def _rounded(value, dtype):
    """The value in the float type, infinite beyond its range."""
    number = Fraction(value) if isinstance(value, str) else value
    try:
        with np.errstate(over="ignore"):
            return dtype(float(number))
    except OverflowError:  # of a fraction or an integer
        return dtype(np.inf if number > 0 else -np.inf)


def ulp_error(got, exact, dtype=None):
    """Error of floating-point results in units in the last place of the exact result.

    Parameters
    ----------
    got : array_like of float
        Computed values, any shape.
    exact : sequence
        As many exact values: decimal strings, `fractions.Fraction`, `mpmath.mpf`, `decimal.Decimal`, integers or floats,
        ``numpy.longdouble`` included; infinities and NaN as floats.
    dtype : dtype, optional
        The float type whose spacing counts; the dtype of `got` by default.

    Returns
    -------
    numpy.ndarray of float64
        ``|got - exact| / spacing(exact)``, 0 where both are the same infinity or both are NaN, inf where only one is finite or
        the number of spacings is beyond the floats.

    Raises
    ------
    ValueError
        For different numbers of values.

    Examples
    --------
    >>> from fractions import Fraction
    >>> float(ulp_error([1.0 + 2.0**-52], [Fraction(1)])[0])
    1.0
    """
    got = np.asarray(got)
    dtype = np.dtype(dtype or got.dtype).type
    flat = got.reshape(-1)
    exact = list(np.asarray(exact, dtype=object).reshape(-1))
    if flat.size != len(exact):
        raise ValueError(f"got has {flat.size} values, exact has {len(exact)}; they must match one to one")
    result = np.empty(flat.size)
    below_max = np.nextafter(np.finfo(dtype).max, dtype(0))  # NumPy's spacing of the largest float itself is infinite
    for i, (g, e) in enumerate(zip(flat, exact, strict=True)):
        rounded = _rounded(e, dtype)
        if not np.isfinite(rounded) or not np.isfinite(g):
            same = (np.isnan(rounded) and np.isnan(g)) or rounded == g
            result[i] = 0.0 if same else np.inf
        else:
            spacing = np.spacing(min(abs(rounded), below_max))
            result[i] = _rounded(abs(_fraction(g) - _fraction(e)) / Fraction(float(spacing)), np.float64)
    return result.reshape(got.shape)


def assert_matches(got, exact, *, ulp, dtype=None, what="result"):
    """Assert, naming the worst element, that every error is at most `ulp`.

    Parameters
    ----------
    got, exact, dtype
        As in `ulp_error`.
    ulp : float
        Largest error allowed.
    what : str
        Name for the message.

    Raises
    ------
    AssertionError
        For an error above `ulp`.
    ValueError
        As `ulp_error`.
    """
    error = ulp_error(got, exact, dtype)
    if error.size and not error.max() <= ulp:
        i = int(np.argmax(error))
        g, e = np.asarray(got).reshape(-1)[i], list(np.asarray(exact, dtype=object).reshape(-1))[i]
        raise AssertionError(f"{what}: element {i} is {g!r}, exact {e}, error {error.reshape(-1)[i]:.3g} ulp > {ulp}")
