"""Philox4x32-10, a counter-based generator, and the exact ways from its words to floats.

The generator is a function: 128 bits of counter and 64 bits of key in, four random 32-bit words out, no state.
Every draw computes its own counter where it is used, so results depend neither on the device nor on the number of
workers nor on the chunking. Counter words: item low, item high (or step), draw, stream | purpose << 24.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.
"""

from __future__ import annotations

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, from_bits, muladd, to_bits

__all__ = ["philox4x32", "philox4x32_words", "uniform52", "unit", "unit_and_rest31", "unit_and_rest32", "word_bits"]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)  # the multipliers of the paper
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)  # the key increments: golden ratio and sqrt(3) - 1
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@device_function
def _state(c0, c1, c2, c3):
    # The state lives in 64-bit lanes, where the vector multiplication reads the low halves in place; with 32-bit lanes half
    # of the time goes into moving words. The upper halves hold rubbish that nothing reads.
    return np.uint64(np.uint32(c0)), np.uint64(np.uint32(c1)), np.uint64(np.uint32(c2)), np.uint64(np.uint32(c3))


@device_function
def _round(x0, x1, x2, x3, k0, k1):
    p0, p1 = _M0 * (x0 & _LOW), _M1 * (x2 & _LOW)
    return (p1 >> _32) ^ x1 ^ np.uint64(k0), p1, (p0 >> _32) ^ x3 ^ np.uint64(k1), p0


@device_function
def philox4x32(c0, c1, c2, c3, k0, k1):
    """Four random words from the counter words c0..c3 and the key words k0, k1: ten rounds of Philox4x32."""
    x0, x1, x2, x3 = _state(c0, c1, c2, c3)
    k0, k1 = np.uint32(k0), np.uint32(k1)
    for _ in range(10):
        x0, x1, x2, x3 = _round(x0, x1, x2, x3, k0, k1)
        k0, k1 = np.uint32(k0 + _W0), np.uint32(k1 + _W1)
    return np.uint32(x0), np.uint32(x1), np.uint32(x2), np.uint32(x3)


@device_function
def philox4x32_words(c0, c1, c2, c3, k0, k1):
    """The words w0:w1 and w2:w3 of `philox4x32` as two 64-bit words."""
    x0, x1, x2, x3 = _state(c0, c1, c2, c3)
    k0, k1 = np.uint32(k0), np.uint32(k1)
    for _ in range(9):
        x0, x1, x2, x3 = _round(x0, x1, x2, x3, k0, k1)
        k0, k1 = np.uint32(k0 + _W0), np.uint32(k1 + _W1)
    # In the last round the words with a key go to the upper halves, where the products have them: no shift down and up.
    p0, p1 = _M0 * (x0 & _LOW), _M1 * (x2 & _LOW)
    return p1 ^ ((x1 ^ np.uint64(k0)) << _32), p0 ^ ((x3 ^ np.uint64(k1)) << _32)


# --- from words to floats --------------------------------------------------------------------------------------

_width = by_dtype(device_function(lambda x: 64), device_function(lambda x: 32))


@device_function
def word_bits(w0, w1, like):
    """The words as a bit pattern of the float type of `like`: all of w0:w1 for float64, w0 alone for float32.

    The result is a carrier to be read with `to_bits`, not a number. It lets one formula with words among its
    arguments serve both float types.
    """
    whole = (np.uint64(np.uint32(w0)) << _32) | np.uint64(np.uint32(w1))
    integer = type(to_bits(like))
    return from_bits(integer(whole >> np.uint64(64 - _width(like))))


@device_function
def _unit64(bits):
    # 1 + k 2^-52 by its bit pattern, then one exact subtraction of 1 - 2^-53.
    k = np.uint64(to_bits(bits)) >> np.uint64(12)
    return from_bits(k | np.uint64(0x3FF0000000000000)) - 0.9999999999999999


@device_function
def _unit32(bits):
    k = np.uint32(np.uint32(to_bits(bits)) >> np.uint32(9))
    return np.float32(from_bits(np.uint32(k | np.uint32(0x3F800000))) - np.float32(0.99999994))


unit = by_dtype(_unit64, _unit32)
"""A carrier of random bits to (k + 1/2) 2^-52, or (k + 1/2) 2^-23 in float32, k its upper bits."""


@device_function
def unit_and_rest32(word):
    """``(word + 1/2) 2^-32`` in float32 as a rounded number and its rounding error."""
    word = np.uint32(word)
    # 24 bits and the remaining 8 are each exact.
    high = np.float32(np.int32(word >> np.uint32(8))) * np.float32(2.0**-24)
    low = muladd(np.float32(np.int32(word & np.uint32(0xFF))), np.float32(2.0**-32), np.float32(2.0**-33))
    total = high + low
    return total, low - (total - high)


@device_function
def unit_and_rest31(word):
    """``(k + 1/2) 2^-31`` in the same form, k the lower 31 bits of the word."""
    word = np.uint32(word)
    high = np.float32(np.int32(np.uint32(word >> np.uint32(7)) & np.uint32(0xFFFFFF))) * np.float32(2.0**-24)
    low = muladd(np.float32(np.int32(word & np.uint32(0x7F))), np.float32(2.0**-31), np.float32(2.0**-32))
    total = high + low
    return total, low - (total - high)


@device_function
def uniform52(hi, lo):
    """``(k + 1/2) 2^-52`` with the upper 52 of the 64 bits hi:lo as k; exact, strictly between 0 and 1.

    53 bits would not do: ``(2^53 - 1/2) 2^-53`` rounds to 1.
    """
    return _unit64(word_bits(hi, lo, 1.0))
