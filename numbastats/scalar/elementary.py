"""Elementary functions without branches, tables or calls: loops over them vectorise, and the same code runs on CUDA.

Every function takes float64 or float32 and returns the same type (integers become float64). Errors in ulp are the
largest seen on 1e5 points per function and type, see tests/reference/elementary_scan.md, which also has those of
processors without fused multiply-add. tests/reference/make_elementary.py makes the constants; each polynomial states
its interval and the relative error that it alone causes in the result.

An argument is reduced by n = round(c x). Adding 1.5*2^52 (float32: 1.5*2^23) rounds to an integer and leaves it in the
low bits of the sum; a bias added to that constant turns these bits into an exponent. The multiple of the period is
subtracted in pieces so short that n times a piece is exact, with and without fused multiply-add. Wherever the rounding
of a product in a sum matters, `muladd` or `fma` is written, so that no compiler has a choice and all devices agree.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, clip, fma, from_bits, horner, muladd, polynomial, quotient, to_bits

__all__ = [
    "atan",
    "cos",
    "cos_abs",
    "cosh",
    "cospi",
    "exp",
    "exp_neg",
    "expm1",
    "log",
    "log1p",
    "log1p_product",
    "log_dd",
    "log_scaled",
    "log_scaled_sum64",
    "pow",
    "recip",
    "rsqrt",
    "sin",
    "sincos",
    "sincospi",
    "sinh",
    "sinpi",
    "tan",
    "tanh",
]

_INF, _NAN = math.inf, math.nan
_INF32, _NAN32 = np.float32(math.inf), np.float32(math.nan)


# --- exp ---------------------------------------------------------------------------------------------------------
# x = n log 2 + r, |r| <= log(2)/2, and e^r = 1 + r + r^2 EXP(r).

_LOG2E, _LN2_HI, _LN2_LO = 1.4426950408889634, 0.6931471805598903, 5.497923018708371e-14
_LOG2E32 = np.float32(1.442695)
_LN2_HI32, _LN2_LO32 = np.float32(0.693145751953125), np.float32(1.4286068e-06)

_EXP64 = polynomial(  # |r| <= 0.3466, error 3.7e-18
    0.5000000000000011,
    0.16666666666666438,
    0.041666666666525756,
    0.008333333333473698,
    0.0013888888944874672,
    0.00019841269560627286,
    2.4801491732886596e-05,
    2.7557530297048556e-06,
    2.7630758656119024e-07,
    2.5020171251646547e-08,
)
_EXP32 = polynomial(  # |r| <= 0.3466, error 3.2e-9
    0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.008369196206331253, 0.0013838838785886765
)

# The rounding constants with bias 2046 (two exponents of bias 1023), 1023 and 1021.
_ROUND_TWICE, _ROUND_ONCE, _ROUND_QUARTER = 6755399441057790.0, 6755399441056767.0, 6755399441056765.0
_ROUND_TWICE32, _ROUND_ONCE32, _ROUND_QUARTER32 = np.float32(12583166.0), np.float32(12583039.0), np.float32(12583037.0)


@device_function
def _reduced64(x, n):
    return muladd(-n, _LN2_LO, muladd(-n, _LN2_HI, x))


@device_function
def _reduced32(x, n):
    return muladd(-n, _LN2_LO32, muladd(-n, _LN2_HI32, x))


@device_function
def _exp_reduced64(r):
    """e^r. The rounding error of 1 + r is added back: two additions for 0.2 ulp."""
    head = 1.0 + r
    return head + muladd(r * r, _EXP64(r), r - (head - 1.0))


@device_function
def _exp_reduced32(r):
    head = np.float32(1.0) + r
    return head + muladd(r * r, _EXP32(r), r - (head - np.float32(1.0)))


@device_function
def _scaled64(v, t):
    """2^n v from the low bits n + 2046 of t. Two factors reach overflow and subnormal results without a branch."""
    both = to_bits(t)
    half = both >> 1
    return v * from_bits(half << 52) * from_bits((both - half) << 52)


@device_function
def _scaled32(v, t):
    both = to_bits(t)
    half = np.int32(both >> np.int32(1))
    return v * from_bits(np.int32(half << np.int32(23))) * from_bits(np.int32(np.int32(both - half) << np.int32(23)))


@device_function
def _exp64(x):
    x = clip(x, -746.0, 710.0)
    t = muladd(x, _LOG2E, _ROUND_TWICE)
    return _scaled64(_exp_reduced64(_reduced64(x, t - _ROUND_TWICE)), t)


@device_function
def _exp32(x):
    x = clip(x, np.float32(-105.0), np.float32(89.0))
    t = muladd(x, _LOG2E32, _ROUND_TWICE32)
    return _scaled32(_exp_reduced32(_reduced32(x, t - _ROUND_TWICE32)), t)


_exp = by_dtype(_exp64, _exp32)


@device_function
def exp(x):
    """e^x for every x; overflow gives inf, underflow subnormals and then 0. Error 0.8 ulp."""
    return _exp(x)


@device_function
def _exp_neg64(x):
    t = muladd(x, _LOG2E, _ROUND_ONCE)
    r = _reduced64(x, t - _ROUND_ONCE)
    v = _exp_reduced64(r) * from_bits(to_bits(t) << 52)
    return v if not (x < -708.0) else 0.0


@device_function
def _exp_neg32(x):
    t = muladd(x, _LOG2E32, _ROUND_ONCE32)
    r = _reduced32(x, t - _ROUND_ONCE32)
    v = _exp_reduced32(r) * from_bits(np.int32(to_bits(t) << np.int32(23)))
    return v if not (x < np.float32(-87.0)) else np.float32(0.0)


_exp_neg = by_dtype(_exp_neg64, _exp_neg32)


@device_function
def exp_neg(x):
    """e^x for x <= 0 (and up to 709, float32 88), 0 below -708 (float32 -87). Error 0.8 ulp."""
    return _exp_neg(x)


# --- expm1 and the hyperbolic functions -----------------------------------------------------------------------------
# (e^x - 1)/4 = s (1 + r + r^2 EXP(r)) - 1/4 with s = 2^(n-2): the quarter does not overflow where e^x/2 is finite.


@device_function
def _quarter_expm1_64(x):
    x = clip(x, -50.0, 710.6)
    t = muladd(x, _LOG2E, _ROUND_QUARTER)
    r = _reduced64(x, t - _ROUND_QUARTER)
    s = from_bits(to_bits(t) << 52)
    return muladd(s * (r * r), _EXP64(r), muladd(s, r, s - 0.25))


@device_function
def _quarter_expm1_32(x):
    x = clip(x, np.float32(-20.0), np.float32(89.5))
    t = muladd(x, _LOG2E32, _ROUND_QUARTER32)
    r = _reduced32(x, t - _ROUND_QUARTER32)
    s = from_bits(np.int32(to_bits(t) << np.int32(23)))
    return muladd(s * (r * r), _EXP32(r), muladd(s, r, s - np.float32(0.25)))


_quarter_expm1 = by_dtype(_quarter_expm1_64, _quarter_expm1_32)


@device_function
def _expm1_any(x):
    T = type(x)
    v = T(4.0) * _quarter_expm1(x)
    return x if abs(x) < T(1e-17) else v  # keeps -0.0 and subnormals


@device_function
def _sinh_any(x):
    T = type(x)
    a = abs(x)
    w = _quarter_expm1(a)
    v = w + w + w / (w + w + T(0.5))
    return math.copysign(a if a < T(1e-17) else v, x)


@device_function
def _tanh_any(x):
    T = type(x)
    a = abs(x)
    w = _quarter_expm1(a + a if not (a > T(40.0)) else T(80.0))
    v = w / (w + T(0.5))
    return math.copysign(a if a < T(1e-17) else v, x)


_expm1, _sinh, _tanh = by_dtype(_expm1_any, _expm1_any), by_dtype(_sinh_any, _sinh_any), by_dtype(_tanh_any, _tanh_any)


@device_function
def expm1(x):
    """e^x - 1 for every x, accurate near 0; keeps -0.0. Error 1.5 ulp."""
    return _expm1(x)


@device_function
def sinh(x):
    """Hyperbolic sine 2w + w/(2w + 1/2), w = (e^|x| - 1)/4, for every x. Error 2.4 ulp."""
    return _sinh(x)


@device_function
def tanh(x):
    """Hyperbolic tangent m/(m + 2), m = e^(2|x|) - 1, for every x. Error 2.6 ulp."""
    return _tanh(x)


@device_function
def _cosh64(x):
    a = abs(x)
    a = a if not (a > 710.6) else 710.6
    t = muladd(a, _LOG2E, _ROUND_QUARTER)
    r = _reduced64(a, t - _ROUND_QUARTER)
    half = 2.0 * (_exp_reduced64(r) * from_bits(to_bits(t) << 52))
    return half + 0.25 / half


@device_function
def _cosh32(x):
    a = abs(x)
    a = a if not (a > np.float32(89.5)) else np.float32(89.5)
    t = muladd(a, _LOG2E32, _ROUND_QUARTER32)
    r = _reduced32(a, t - _ROUND_QUARTER32)
    quarter = _exp_reduced32(r) * from_bits(np.int32(to_bits(t) << np.int32(23)))
    half = np.float32(2.0) * quarter
    return half + np.float32(0.25) / half


_cosh = by_dtype(_cosh64, _cosh32)


@device_function
def cosh(x):
    """Hyperbolic cosine e^|x|/2 + e^-|x|/2 for every x. Error 1.3 ulp."""
    return _cosh(x)


# --- log ---------------------------------------------------------------------------------------------------------
# y = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). float64: s = f/(2 + f) and
# log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 LOG(s^2)); float32, without a division: log(1 + f) = f - f^2/2 + f^3 LOG(f).

_LOG64 = polynomial(  # s^2 <= 0.02944, error 1.2e-18
    0.6666666666666734,
    0.39999999999416574,
    0.28571428742051835,
    0.2222219860196552,
    0.1818356304085633,
    0.15314079308165238,
    0.1479569528728612,
)
_LOG32 = polynomial(  # -0.2929 <= f <= 0.4142, error 5.9e-9
    0.3333333134651184,
    -0.250008225440979,
    0.20001259446144104,
    -0.16623327136039734,
    0.1420097053050995,
    -0.13159669935703278,
    0.12767215073108673,
    -0.07643256336450577,
)

_SQRT_HALF = 0x3FE6A09E00000000  # bits of sqrt(1/2), shortened
_SQRT_HALF32 = np.int32(0x3F3504F3)
_TINY, _TINY32 = 2.2250738585072014e-308, np.float32(1.1754944e-38)


@device_function
def _exponent64(y):
    """(k + 1023) 2^52 + mantissa bits: the bits of y moved so that the exponent steps at sqrt(2) instead of 2."""
    return to_bits(y) + (0x3FF0000000000000 - _SQRT_HALF)


@device_function
def _exponent32(y):
    return np.int32(to_bits(y) + (np.int32(0x3F800000) - _SQRT_HALF32))


@device_function
def _float_exponent64(j):
    # 2^52 + (k + 1023) as bits, less 2^52 + 1023: AVX2 has no conversion from 64-bit integers.
    return from_bits((j >> 52) | 0x4330000000000000) - 4503599627371519.0


@device_function
def _float_exponent32(j):
    return np.float32(np.int32(np.int32(j >> np.int32(23)) - np.int32(127)))


@device_function
def _mantissa64(y):
    """M in [sqrt(1/2), sqrt(2)) and k of a normal y = 2^k m > 0."""
    j = _exponent64(y)
    return from_bits((j & 0x000FFFFFFFFFFFFF) + _SQRT_HALF), _float_exponent64(j)


@device_function
def _mantissa32(y):
    j = _exponent32(y)
    mantissa = np.int32(j & np.int32(0x007FFFFF))
    return from_bits(np.int32(mantissa + _SQRT_HALF32)), _float_exponent32(j)


@device_function
def _mantissa_any64(x):
    """M and k of any x > 0; subnormals are lifted by 2^54."""
    tiny = x < _TINY
    m, k = _mantissa64(x * 18014398509481984.0 if tiny else x)
    return m, k - (54.0 if tiny else 0.0)


@device_function
def _mantissa_any32(x):
    tiny = x < _TINY32
    m, k = _mantissa32(x * np.float32(33554432.0) if tiny else x)
    return m, k - (np.float32(25.0) if tiny else np.float32(0.0))


@device_function
def _log_rest64(f, k):
    """log(1 + f) - f + k log 2 without the head of k log 2; f^2/2 is apart, three operations for 0.2 ulp."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f
    return muladd(-half, f, muladd(s, muladd(half, f, z * _LOG64(z)), k * _LN2_LO))


@device_function
def _log_core64(f, k):
    """log(1 + f) + k log 2: log(1 + f) = f - s (f - z LOG(z))."""
    return _log_core_by64(f, k, f / (2.0 + f))


@device_function
def _log_core_by64(f, k, s):
    z = s * s
    return muladd(k, _LN2_HI, f + muladd(-s, muladd(-z, _LOG64(z), f), k * _LN2_LO))


@device_function
def _log_core32(f, k):
    tail = muladd(f * (f * f), _LOG32(f), k * _LN2_LO32)
    return muladd(k, _LN2_HI32, f + muladd(np.float32(-0.5) * f, f, tail))


@device_function
def _log64(x):
    m, k = _mantissa_any64(x)
    v = _log_core64(m - 1.0, k)
    v = v if x < _INF else x
    return v if not (x <= 0.0) else (-_INF if x == 0.0 else _NAN)


@device_function
def _log32(x):
    m, k = _mantissa_any32(x)
    v = _log_core32(m - np.float32(1.0), k)
    v = v if x < _INF32 else x
    return v if not (x <= np.float32(0.0)) else (-_INF32 if x == np.float32(0.0) else _NAN32)


@device_function
def _log_scaled64(y, shift):
    m, k = _mantissa64(y)
    f = m - 1.0
    return _log_core_by64(f, k + shift, quotient(f, 2.0 + f))


@device_function
def _log_scaled32(y, shift):
    m, k = _mantissa32(y)
    return _log_core32(m - np.float32(1.0), k + shift)


_log, _log_scaled = by_dtype(_log64, _log32), by_dtype(_log_scaled64, _log_scaled32, 2)


@device_function
def log_scaled_sum64(y, shift):
    """`log_scaled` in float64 as hi + lo: the rounding of the last addition is kept, 2^-56 absolute remains.

    Cheaper than `log_dd`; the relative error near 2^shift y = 1 is 2^-54.6.
    """
    m, k = _mantissa64(y)
    f, k = m - 1.0, k + shift
    head = k * _LN2_HI  # exact
    hi = head + f  # |head| > |f| or head = 0: the rest is exact
    return hi, ((head - hi) + f) + _log_rest64(f, k)


@device_function
def log(x):
    """Natural logarithm for every x, subnormals included; 0 gives -inf, x < 0 NaN. Error 0.93 ulp (without FMA 0.99)."""
    return _log(x)


@device_function
def log_scaled(y, shift):
    """log(2^shift y) for a normal finite y > 0 and an integer-valued float shift, |shift| < 1000 (float32 100).

    Nothing is checked: a building block for callers that scale subnormals away by themselves. Relative accuracy near
    2^shift y = 1 is full.
    """
    return _log_scaled(y, shift)


@device_function
def log1p_product(a, b):
    """log(1 + a b) in double precision without rounding a b, of which all digits count next to -1."""
    x, u = a * b, muladd(a, b, 1.0)
    j = _exponent64(u)
    scale = from_bits((2048 - (j >> 52)) << 52)  # 4 2^-k, which is normal for every k
    f = muladd(0.25 * a * scale, b, muladd(0.25, scale, -1.0))  # one rounding: 2^-k (1 + x) - 1 from the true x
    v = _log_core64(f, _float_exponent64(j))
    v = v if x < _INF else x
    v = v if not (u <= 0.0) else (-_INF if u == 0.0 else _NAN)
    return x if u == 1.0 else v


@device_function
def _log1p64(x):
    return log1p_product(x, 1.0)


@device_function
def _log1p32(x):
    u = np.float32(1.0) + x
    j = _exponent32(u)
    scale = from_bits(np.int32(np.int32(np.int32(256) - np.int32(j >> np.int32(23))) << np.int32(23)))
    f = muladd(np.float32(0.25) * x, scale, muladd(np.float32(0.25), scale, np.float32(-1.0)))
    v = _log_core32(f, _float_exponent32(j))
    v = v if x < _INF32 else x
    v = v if not (x <= np.float32(-1.0)) else (-_INF32 if x == np.float32(-1.0) else _NAN32)
    return x if u == np.float32(1.0) else v


_log1p = by_dtype(_log1p64, _log1p32)


@device_function
def log1p(x):
    """log(1 + x) for every x, accurate near 0; -1 gives -inf, x < -1 NaN; keeps -0.0. Error 1.42 ulp."""
    return _log1p(x)


# --- log as an unevaluated sum, and pow ---------------------------------------------------------------------------
# With s = 2 f/(2 + f), log(1 + f) = s + s^3 (1/12 + s^2 LOG_DD(s^2)), where LOG_DD makes up for the rounding of 1/12. What
# s, s^2 and s^2/12 lose in rounding is carried along; s^4 LOG_DD is below 2^-12, so it belongs to the second part of the sum.

_LOG_DD64 = polynomial(  # s^2 <= 0.1178, error 9.0e-21
    0.01250000000000154,
    0.0022321428569851433,
    0.0004340277852972546,
    8.877821451307291e-05,
    1.8782946712247534e-05,
    4.044226747242902e-06,
    1.0097517965262341e-06,
)
_LOG_DD32 = polynomial(0.012499922886490822, 0.0022320346906781197, 0.0004496045003179461)  # error 2.1e-11
_LN2, _LN232 = 0.6931471805599453, np.float32(0.6931472)


@device_function
def _log_dd_poly64(z):
    return _LOG_DD64(z), _LN2, _LN2_HI, _LN2_LO


@device_function
def _log_dd_poly32(z):
    return _LOG_DD32(z), _LN232, _LN2_HI32, _LN2_LO32


_log_dd_poly = by_dtype(_log_dd_poly64, _log_dd_poly32)
_mantissa_any = by_dtype(_mantissa_any64, _mantissa_any32)


@device_function
def _log_sum(x):
    """Log x = hi + lo for x > 0, lo up to 2^-12 of hi."""
    T = type(x)
    m, k = _mantissa_any(x)
    d = m + T(1.0)
    f = muladd(T(2.0), m, T(-2.0))
    inverse = T(1.0) / d
    s = f * inverse
    s_lo = inverse * muladd(-s, m - (d - T(1.0)), fma(-s, d, f))
    z = s * s
    q, ln2, ln2_hi, ln2_lo = _log_dd_poly(z)
    twelfth = T(1.0 / 12.0)
    p = z * twelfth
    p_lo = muladd(z * z, q, muladd(fma(s, s, -z), twelfth, fma(z, twelfth, -p)))
    rest = muladd(s, p_lo, muladd(s_lo, T(0.2575) * z, s_lo))  # d log/ds = 1/(1 - z/4) = 1 + 0.2575 z to 2^-12
    hi = muladd(k, ln2, muladd(s, p, s))
    lo = fma(s, p, muladd(k, ln2_hi, -hi) + s) + muladd(k, ln2_lo, rest)
    return hi, lo


@device_function
def _log_dd_any(x):
    hi, lo = _log_sum(x)
    v = hi + lo
    return v, (hi - v) + lo


_log_dd = by_dtype(_log_dd_any, _log_dd_any)


@device_function
def log_dd(x):
    """(hi, lo) with hi + lo = log x to 2^-63.5 (float32 2^-33.9) relative, for finite x > 0, subnormals included.

    hi is log x rounded to nearest, but for near ties. 0, negative, infinite and NaN x are not treated.
    """
    return _log_dd(x)


@device_function
def _exp_sum64(p, e):
    """e^(p + e) for any p, |e| <= 2^-12 |p|; infinite p with any e."""
    t = muladd(p + e, _LOG2E, _ROUND_TWICE)
    n = t - _ROUND_TWICE
    r = muladd(-n, _LN2_HI, p) + muladd(-n, _LN2_LO, e)
    v = _scaled64(1.0 + muladd(r * r, _EXP64(r), r), t)
    v = _INF if p > 710.0 else v
    return 0.0 if p < -746.0 else v


@device_function
def _exp_sum32(p, e):
    t = muladd(p + e, _LOG2E32, _ROUND_TWICE32)
    n = t - _ROUND_TWICE32
    r = muladd(-n, _LN2_HI32, p) + muladd(-n, _LN2_LO32, e)
    v = _scaled32(np.float32(1.0) + muladd(r * r, _EXP32(r), r), t)
    v = _INF32 if p > np.float32(89.0) else v
    return np.float32(0.0) if p < np.float32(-105.0) else v


@device_function
def _parity64(a):
    """Distance of a >= 0 from an even integer: 0 or 1 for integers. From 2^53 on all are even."""
    a = a if a < 9007199254740992.0 else 9007199254740992.0
    return abs(a - ((a + 9007199254740992.0) - 9007199254740992.0))


@device_function
def _parity32(a):
    a = a if a < np.float32(16777216.0) else np.float32(16777216.0)
    return abs(a - ((a + np.float32(16777216.0)) - np.float32(16777216.0)))


_exp_sum, _parity = by_dtype(_exp_sum64, _exp_sum32, 2), by_dtype(_parity64, _parity32)


@device_function
def _pow_any(x, y):
    T = type(x)
    a = abs(x)
    hi, lo = _log_sum(a)
    c = clip(y, T(-1e30), T(1e30))  # 1e30 acts like infinity, but 1e30 times 0 is 0
    parity = _parity(abs(c))
    hi = T(_NAN) if (x < T(0.0)) & (parity != T(0.0)) & (parity != T(1.0)) else hi
    hi = hi if a < T(_INF) else a  # inf and NaN
    hi = T(-_INF) if a == T(0.0) else hi
    p = c * hi
    v = _exp_sum(p, muladd(c, lo, fma(c, hi, -p)))
    v = -v if (to_bits(x) < 0) & (parity == T(1.0)) else v
    return T(1.0) if (x == T(1.0)) | (y == T(0.0)) else v


_pow = by_dtype(_pow_any, _pow_any, 2)


@device_function
def pow(x, y):
    """x^y = exp(y log x) with the logarithm carried as hi + lo; edge values as IEEE 754.

    x^0 = 1^y = 1; a negative x needs an integer y, else NaN. The type of x decides that of the computation. Error
    1.1 ulp, subnormal x included.
    """
    return _pow(x, y)


# --- sin, cos, tan -----------------------------------------------------------------------------------------------
# x = n pi/2 + r, |r| <= pi/4; sin r = r + r^3 SIN(r^2), cos r = 1 - r^2/2 + r^4 COS(r^2). pi/2 has four pieces, because
# next to a zero of sin or cos most bits cancel: r is as small as 2^-56 for |x| < 1e6.

_ROUND, _ROUND32 = 6755399441055744.0, np.float32(12582912.0)

_SIN64 = horner(  # r^2 <= 0.617, error 3.4e-18; the other form makes a CUDA kernel with 255 registers spill
    -0.16666666666666632,
    0.008333333333322486,
    -0.00019841269829853247,
    2.755731370500471e-06,
    -2.505075988085388e-08,
    1.589688617356153e-10,
)
_COS64 = polynomial(  # r^2 <= 0.617, error 4.8e-20
    0.0416666666666666,
    -0.0013888888888874472,
    2.480158728966902e-05,
    -2.755731440001159e-07,
    2.0875729107830613e-09,
    -1.1359923658315057e-11,
)
_SIN32 = horner(-0.16666655242443085, 0.008332191035151482, -0.00019518610497470945)  # error 3.7e-9
_COS32 = horner(0.04166664555668831, -0.00138873013202101, 2.4430675694020465e-05)  # error 1.1e-10


_half_pi = by_dtype(  # the last bit of the second is 2^-53 (float32: 2^-23): subtracting n times the first two is exact
    device_function(lambda x: (1.5707963267341256, 6.077094383272197e-11, 6.12323399538461e-17, 3.5215598651832e-27)),
    device_function(
        lambda x: (np.float32(1.5703125), np.float32(0.0004837513), np.float32(7.5495336e-08), np.float32(2.563344e-12))
    ),
)


@device_function
def _quadrant64(x):
    """N, the multiple of pi/2 nearest to x, and a number whose last two bits are n mod 4."""
    t = muladd(x, 0.6366197723675814, _ROUND)
    return t - _ROUND if abs(x) < 1.4e14 else _NAN, t


@device_function
def _quadrant32(x):
    t = muladd(x, np.float32(0.63661975), _ROUND32)
    return t - _ROUND32 if abs(x) < np.float32(1e6) else _NAN32, t


@device_function
def _minus_quadrants(x, n):
    """X - n pi/2 as r + r_lo, where |r_lo| is at most the last bit of r; n times each of the first three is exact.

    For x = -0.0 both are -0.0, since all pieces are positive and r_lo is the negative of 0.0.
    """
    c1, c2, c3, c4 = _half_pi(x)
    upper = muladd(-n, c2, muladd(-n, c1, x))
    r = muladd(-n, c3, upper)
    return r, -muladd(n, c4, muladd(n, c3, r - upper))


@device_function
def _sin_cos_poly64(z):
    return _SIN64(z), _COS64(z)


@device_function
def _sin_cos_poly32(z):
    return _SIN32(z), _COS32(z)


@device_function
def _turned64(v, t):
    """-v where t ends in the quadrants 2 and 3, else v."""
    return from_bits(to_bits(v) ^ ((to_bits(t) << 62) & -0x8000000000000000))


@device_function
def _turned32(v, t):
    return from_bits(np.int32(to_bits(v) ^ np.int32(np.int32(to_bits(t) << np.int32(30)) & np.int32(-0x80000000))))


_quadrant, _sin_cos_poly = by_dtype(_quadrant64, _quadrant32), by_dtype(_sin_cos_poly64, _sin_cos_poly32)
_turned = by_dtype(_turned64, _turned32, 2)


@device_function
def _by_quadrant(s, c, t):
    """Sine and cosine of n pi/2 + r from those of r; the last two bits of t are n mod 4."""
    odd = (to_bits(t) & 1) != 0
    return _turned(c if odd else s, t), _turned(s if odd else c, t + type(s)(1.0))


@device_function
def _sincos_any(x):
    T = type(x)
    n, t = _quadrant(x)
    r, r_lo = _minus_quadrants(x, n)
    z = r * r
    sin_z, cos_z = _sin_cos_poly(z)
    s = muladd(r, muladd(z, sin_z, T(1.0)), r_lo)
    c = muladd(z, muladd(z, cos_z, T(-0.5)), T(1.0))
    return _by_quadrant(s, c, t)


_sincos = by_dtype(_sincos_any, _sincos_any)


@device_function
def sincos(x):
    """(sin x, cos x); error 1.3 ulp (without FMA 1.7) for |x| < 1.6e6 (float32: |x| < 4000).

    Beyond, the absolute error is at most that of rounding x, up to |x| = 1.4e14 (float32: 1e6); from there on NaN.
    """
    return _sincos(x)


@device_function
def sin(x):
    """Sine; range and error of `sincos`."""
    return _sincos(x)[0]


@device_function
def cos(x):
    """Cosine; range and error of `sincos`."""
    return _sincos(x)[1]


@device_function
def _tan_any(x):
    """Quotient of sin r and cos r, both as sums, corrected by the remainder of the division."""
    T = type(x)
    n, t = _quadrant(x)
    r, r_lo = _minus_quadrants(x, n)
    z = r * r
    sin_z, cos_z = _sin_cos_poly(z)
    tail = muladd(r * z, sin_z, muladd(T(-0.5) * z, r_lo, r_lo))
    s = r + tail
    s_lo = (r - s) + tail
    head = muladd(T(-0.5), z, T(1.0))
    tail = muladd(z * z, cos_z, muladd(-r, r_lo, muladd(T(-0.5), z, T(1.0) - head)))
    c = head + tail
    c_lo = (head - c) + tail
    odd = (to_bits(t) & 1) != 0
    num, num_lo = c if odd else s, c_lo if odd else s_lo
    den, den_lo = -s if odd else c, -s_lo if odd else c_lo
    inverse = T(1.0) / den
    q = num * inverse
    v = muladd(inverse, muladd(-q, den, num) + muladd(-q, den_lo, num_lo), q)
    return v if not (x == T(0.0)) else x


_tan = by_dtype(_tan_any, _tan_any)


@device_function
def tan(x):
    """Tangent; range of `sincos`, error 1.1 ulp."""
    return _tan(x)


# --- sin(pi x), cos(pi x) ------------------------------------------------------------------------------------------


@device_function
def _half_turns64(a):
    """Reduce a modulo 1/2 to [-1/4, 1/4], exactly, times pi; a number whose last two bits are the quadrant."""
    a = a if a < 9007199254740992.0 else a - a  # from 2^53 on a is even; inf becomes NaN
    b = muladd(-2.0, muladd(a, 0.5, 4503599627370496.0) - 4503599627370496.0, a)
    t = muladd(b, 2.0, _ROUND)
    r = muladd(t - _ROUND, -0.5, b)
    v = r * 3.141592653589793
    return v, muladd(r, 1.2246467991473532e-16, muladd(r, 3.141592653589793, -v)), t


@device_function
def _half_turns32(a):
    a = a if a < np.float32(16777216.0) else a - a
    b = muladd(np.float32(-2.0), muladd(a, np.float32(0.5), np.float32(8388608.0)) - np.float32(8388608.0), a)
    t = muladd(b, np.float32(2.0), _ROUND32)
    r = muladd(t - _ROUND32, np.float32(-0.5), b)
    v = r * np.float32(3.1415927410125732)
    v_lo = muladd(r, np.float32(-8.742277657347586e-08), muladd(r, np.float32(3.1415927410125732), -v))
    return v, v_lo, t


_half_turns = by_dtype(_half_turns64, _half_turns32)


@device_function
def _sincospi_any(x):
    T = type(x)
    r, r_lo, t = _half_turns(abs(x))
    z = r * r
    sin_z, cos_z = _sin_cos_poly(z)
    # longer than in `_sincos_any`: without fused multiply-add r_lo is lost, and the short forms reach 2.2 ulp here
    s = r + muladd(r * z, sin_z, r_lo)
    head = muladd(T(-0.5), z, T(1.0))
    c = head + muladd(z * z, cos_z, muladd(T(-0.5), z, T(1.0) - head))
    s, c = _by_quadrant(s, c, t)
    return (s + T(0.0)) * math.copysign(T(1.0), x), c + T(0.0)  # adding 0 turns -0.0 into 0.0


_sincospi = by_dtype(_sincospi_any, _sincospi_any)


@device_function
def sincospi(x):
    """(sin(pi x), cos(pi x)) for every finite x, with an exact reduction; NaN for infinite x. Error 1.5 ulp.

    The zero sin(pi n) has the sign of n.
    """
    return _sincospi(x)


@device_function
def sinpi(x):
    """sin(pi x), see `sincospi`."""
    return _sincospi(x)[0]


@device_function
def cospi(x):
    """cos(pi x), see `sincospi`."""
    return _sincospi(x)[1]


# --- cos with a small absolute error -----------------------------------------------------------------------------
# x = n pi + r, |r| <= pi/2; cos r = 1 - r^2/2 + r^4 COS_ABS(r^2).

_COS_ABS64 = polynomial(  # r^2 <= 2.468, absolute error 5.7e-18
    0.04166666666666583,
    -0.0013888888888829972,
    2.480158728576611e-05,
    -2.755731706653452e-07,
    2.087659247805964e-09,
    -1.1463632110476706e-11,
    4.616096699661224e-14,
)
_COS_ABS32 = horner(  # r^2 <= 2.468, absolute error 4.3e-10
    0.041666656732559204, -0.001388858538120985, 2.4770179152255878e-05, -2.620901966565725e-07
)


@device_function
def _cos_abs64(x):
    t = muladd(x, 0.3183098861837907, _ROUND)
    n = t - _ROUND
    r = muladd(-n, 4.044532497591901e-21, muladd(-n, 1.2154201012607932e-10, muladd(-n, 3.1415926534682512, x)))
    z = r * r
    v = muladd(z, muladd(z, _COS_ABS64(z), -0.5), 1.0)
    return from_bits(to_bits(v) ^ (to_bits(t) << 63))


@device_function
def _cos_abs32(x):
    t = muladd(x, np.float32(0.31830987), _ROUND32)
    n = t - _ROUND32
    r = muladd(-n, np.float32(0.0009675025939941406), muladd(-n, np.float32(3.140625), x))
    r = muladd(-n, np.float32(1.5099580252808664e-07), r)
    z = r * r
    v = muladd(z, muladd(z, _COS_ABS32(z), np.float32(-0.5)), np.float32(1.0))
    return from_bits(np.int32(to_bits(v) ^ np.int32(to_bits(t) << np.int32(31))))


_cos_abs = by_dtype(_cos_abs64, _cos_abs32)


@device_function
def cos_abs(x):
    """Cosine with an absolute error of 3.8e-16 (float32: 1.5e-7), at half the cost: for Fourier sums.

    |x| < 3.2e6 (float32: 12000); nothing is checked.
    """
    return _cos_abs(x)


# --- atan --------------------------------------------------------------------------------------------------------
# With tan(pi/8) and tan(3 pi/8) as limits: atan a = atan a, pi/4 + atan((a - 1)/(a + 1)) or pi/2 - atan(1/a), and
# atan r = r + r^3 ATAN(r^2).

_ATAN64 = polynomial(  # r^2 <= 0.1716, error 1.2e-18
    -0.333333333333332,
    0.19999999999953827,
    -0.14285714280221676,
    0.11111110784739334,
    -0.09090897794709439,
    0.0769206086988041,
    -0.06663111406138805,
    0.058479418841745574,
    -0.050395363910853544,
    0.03807030025288644,
    -0.017913325172762718,
)
_ATAN32 = horner(  # r^2 <= 0.1716, error 6.7e-10
    -0.33333316445350647, 0.1999853253364563, -0.14244511723518372, 0.10600188374519348, -0.060927946120500565
)


@device_function
def _atan_parts64(z):
    return _ATAN64(z), 1.5707963267948966, 6.123233995736766e-17


@device_function
def _atan_parts32(z):
    return _ATAN32(z), np.float32(1.5707963705062866), np.float32(-4.371138828673793e-08)


_atan_parts = by_dtype(_atan_parts64, _atan_parts32)


@device_function
def _atan_any(x):
    T = type(x)
    a = abs(x)
    large = a > T(2.414213562373095)
    middle = a > T(0.41421356237309503)
    num = T(-1.0) if large else (a - T(1.0) if middle else a)
    den = a if large else (a + T(1.0) if middle else T(1.0))
    share = T(1.0) if large else (T(0.5) if middle else T(0.0))  # here, because processors have few registers for conditions
    r = num / den
    q, half_pi, half_pi_lo = _atan_parts(r * r)
    return math.copysign(muladd(share, half_pi, r + muladd(r * (r * r), q, share * half_pi_lo)), x)


_atan = by_dtype(_atan_any, _atan_any)


@device_function
def atan(x):
    """Inverse tangent for every x. Error 1.9 ulp."""
    return _atan(x)


# --- reciprocals -------------------------------------------------------------------------------------------------


@device_function
def _recip_any(x):
    return type(x)(1.0) / x


@device_function
def _rsqrt_any(x):
    return type(x)(1.0) / math.sqrt(x)


_recip, _rsqrt = by_dtype(_recip_any, _recip_any), by_dtype(_rsqrt_any, _rsqrt_any)


@device_function
def recip(x):
    """1/x, rounded to nearest; 0 gives inf with its sign."""
    return _recip(x)


@device_function
def rsqrt(x):
    """1/sqrt(x) for every x, subnormals included; 0 gives inf with its sign, x < 0 NaN. Error 1.5 ulp."""
    return _rsqrt(x)
