"""Draws that use a fixed number of words, in two steps for the blocked loop: words -> three numbers -> the value.

Heads come in pairs, for float64 (both words) and float32 (the first alone).
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.compile import device_function
from numbastats.scalar.bits import fma, from_bits, muladd, to_bits
from numbastats.scalar.normal import LN2, r_form
from numbastats.scalar.philox import unit, word_bits
from numbastats.scalar.samplers import _neg_log


@device_function
def uniform_head64(w0, w1):
    u = unit(word_bits(w0, w1, 0.0))
    return u, u, u


@device_function
def uniform_head32(w0, w1):
    u = unit(word_bits(w0, w1, np.float32(0.0)))
    return u, u, u


@device_function
def uniform_tail(u, v, w, low, high):
    """Low + u (high - low)."""
    return fma(high - low, u, low)


@device_function
def exponential_head64(w0, w1):
    e = _neg_log(word_bits(w0, w1, 0.0))
    return e, e, e


@device_function
def exponential_head32(w0, w1):
    e = _neg_log(word_bits(w0, w1, np.float32(0.0)))
    return e, e, e


@device_function
def exponential_tail(e, v, w, scale, unused):
    """Scale * e; NaN unless scale >= 0."""
    T = type(e)
    return e * (scale if scale >= T(0.0) else T(np.nan))


@device_function
def normal_head64(w0, w1):
    bits = word_bits(w0, w1, 0.0)
    v = _neg_log(bits)
    sign = np.uint64(to_bits(bits)) << np.uint64(63)
    return v, from_bits(np.uint64(to_bits(math.sqrt(v + LN2))) | sign), v


@device_function
def normal_head32(w0, w1):
    T = np.float32
    v = _neg_log(word_bits(np.uint32(w0 << np.uint32(1)), w1, T(0.0)))
    sign = np.uint32(w0 & np.uint32(0x80000000))
    return v, from_bits(np.uint32(np.uint32(to_bits(T(math.sqrt(v + T(LN2))))) | sign)), v


@device_function
def normal_tail(v, r, w, loc, scale):
    """Loc + scale z, with r carrying the sign; NaN unless scale >= 0."""
    T = type(v)
    return muladd(scale if scale >= T(0.0) else T(np.nan), r_form(v, r), loc)
