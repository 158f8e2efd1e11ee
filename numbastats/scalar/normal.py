"""The normal quantile: the r-form for every positive float, its compensated version, and the kernels of the paper.

With t = min(u, 1 - u), v = -log(2 t) and r = sqrt(v + log 2) = sqrt(-log t),

    |Phi^-1(u)| = (v / r) (c + N(r) / D(r)),    c = 1.1875.

v carries the zero at u = 1/2 and r the growth of the tail, so the correction N/D is small, and low degrees reach every
positive double, subnormals included.

References: W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011), equations (67)-(68) for v, (76)-(77) for T2,
appendices A-C for the three kernels.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, fma, from_bits, horner, muladd, polynomial, quotient, real, root, to_bits
from numbastats.scalar.elementary import expm1, log, log1p, log_scaled, log_scaled_sum64

__all__ = ["erfcinv", "erfinv", "ndtri1", "ndtri_accurate1", "ndtri_log1", "neg_log_2t", "norm_from_exp1", "r_form"]

_C = 1.1875  # three significant bits: sums with it lose nothing that matters
LN2, LN2_LO = 0.6931471805599453, 2.3190468138462996e-17
_SQRT_HALF = 0.7071067811865476

# log 2 minus its rounding to the type of x
_ln2_rest = by_dtype(device_function(lambda x: 2.3190468138462996e-17), device_function(lambda x: np.float32(-1.9046543e-09)))

# Minimax for r in [0.8326, 27.3], all positive doubles: relative error 3.3e-17 before rounding, 1.0e-16 after.
_N64 = polynomial(
    -1.1727177687401606,
    -17.455264649448015,
    -50.096460105069575,
    -22.174995250131445,
    11.928100167625043,
    15.418706827542204,
    6.277797710547485,
    1.1448344136292143,
    0.09405556277051366,
    0.003262489551753376,
    4.0881018916223646e-05,
    1.236847958103052e-07,
)
_D64 = polynomial(
    1.0,
    18.87303828948937,
    96.1037801977428,
    194.88379747325783,
    189.8144366987062,
    101.19751170416002,
    31.34938930071457,
    5.216565393735133,
    0.41760034410443425,
    0.014401765606131768,
    0.00018032175628904194,
    5.455563916979572e-07,
)
# Minimax for r in [0.8326, 10.2], all positive float32: relative error 1.7e-8.
_N32 = horner(-1.0191552705625653, 10.069346594290687, -1.8890466401302746, -3.035245340638564, -0.32486110752316694)
_D32 = horner(1.0, -6.702576416943058, -22.64731915648918, -13.557636678047176, -1.4309860019607263)


# --- v = -log(2 t) with relative accuracy near t = 1/2 ----------------------------------------------------------


# t is lifted by 2^60 (float32: 2^30), so that subnormals need no branch, and log_scaled takes the power back.


@device_function
def _v64(t):
    return -log_scaled(t * 1152921504606846976.0, -59.0)


@device_function
def _v32(t):
    return -log_scaled(t * np.float32(1073741824.0), np.float32(-29.0))


neg_log_2t = by_dtype(_v64, _v32)
"""V = -log(2 t) for 0 < t <= 1/2, subnormals included; full relative accuracy as v -> 0."""


# --- the r-form ------------------------------------------------------------------------------------------------


@device_function
def _correction64(r):
    return quotient(_N64(r), _D64(r))


@device_function
def _correction32(r):
    return quotient(_N32(r), _D32(r))


@device_function
def _r_form64(v, r):
    q = quotient(v, r)
    # 1/r to 12 %: subtracting bits negates the exponent. It scales the rounding errors of the quotient and of the root, both
    # exact by fma.
    inverse = from_bits(0x7FDE623822FC16E6 - to_bits(r))
    rest_root = fma(-r, r, v + LN2)
    rest = muladd(-0.5 * q * rest_root, inverse, fma(-q, r, v)) * inverse
    return q + muladd(q, _correction64(abs(r)) + (_C - 1.0), rest)


@device_function
def _r_form32(v, r):
    q = quotient(v, r)
    return muladd(q, _correction32(abs(r)) + np.float32(_C - 1.0), q)


r_form = by_dtype(_r_form64, _r_form32, 2)
"""|Phi^-1| from v = -log(2 t) and r = sqrt(v + log 2). A negative r gives the negative quantile.

q + q (c - 1 + N/D) with q = v/r rounds once less than q (c + N/D).
"""


# --- the far tail ----------------------------------------------------------------------------------------------

LOG_4PI = 2.5310242469692907


@device_function
def _far(neg_log_t, log_neg_log_t):
    """X with 1 - Phi(x) = t from L = -log t and log L, for L > 700 (float32: L > 100).

    With y = x^2/2 and z = 1/x^2 the tail series gives L = y + log(4 pi y)/2 - log(1 - z + 3 z^2 - 15 z^3 + 105 z^4).
    Newton's method on a = L - y, with log y = log L + log(1 - a/L); two steps reach full precision.
    """
    T = type(neg_log_t)
    a0 = T(0.5) * (T(LOG_4PI) + log_neg_log_t)
    a = a0
    for _ in range(2):
        d = a / neg_log_t
        y = neg_log_t - a
        z = T(0.5) / y
        q = z * _TAIL(z)
        g = a0 - T(0.5) * d * _LOG1M(d) + q * _LOG1M(q) - a
        a = muladd(g, T(1.0) - z, a)
    root = T(math.sqrt(neg_log_t - a))
    return muladd(root, T(1.4142135623730951), root * T(-9.667293313452913e-17))


_TAIL = horner(1.0, -3.0, 15.0, -105.0)
_LOG1M = horner(1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7)  # -log(1 - d)/d, for d < 0.04


# --- quantile of u ---------------------------------------------------------------------------------------------
# Heads return the two numbers that the first pass stores, tails finish; `*_fused` is both in one, for CUDA and for scalar use.
# All take the same trailing parameters: loc, scale, sign (-1 for the upper tail), edge (|quantile| at u = 0 and 1).


@device_function
def tail_of(u):
    """min(u, 1 - u); 1 - u is exact for u >= 1/2. NaN stays NaN."""
    T = type(u)
    y = T(1.0) - u
    return u if u < y else y


@device_function
def finish(u, q, loc, scale, sign, edge):
    """Loc + scale * sign * z, where z is q = |quantile| with its sign, its ends, and NaN outside [0, 1] or for scale <= 0."""
    T = type(u)
    t = tail_of(u)
    q = q if t > T(0.0) else (edge if t == T(0.0) else T(np.nan))
    return place(T(math.copysign(q, u - T(0.5))), loc, scale, sign)


@device_function
def place(z, loc, scale, sign):
    """Loc + scale * sign * z; NaN unless scale > 0. With the defaults (0, 1) z itself."""
    T = type(z)
    return muladd(sign * (scale if scale > T(0.0) else T(np.nan)), z, loc)


@device_function
def fast_head(u):
    """First pass: (v, r)."""
    T = type(u)
    v = neg_log_2t(tail_of(u))
    return v, root(v + T(LN2))


@device_function
def fast_tail(u, v, r, loc, scale, sign, edge):
    """Second pass of the fast method."""
    return finish(u, r_form(v, r), loc, scale, sign, edge)


@device_function
def fast_fused(u, loc, scale, sign, edge):
    """Location-scale normal quantile, fast method."""
    v, r = fast_head(u)
    return fast_tail(u, v, r, loc, scale, sign, edge)


@device_function
def accurate_head(u):
    """First pass: log(2 t) as an unevaluated sum. Float64 only."""
    return log_scaled_sum64(tail_of(u) * 1152921504606846976.0, -59.0)


@device_function
def accurate_tail(u, hi, lo, loc, scale, sign, edge):
    """Second pass: (q + ql)(c + N/D), every term as hi + lo."""
    v = -(hi + lo)
    vl = -(hi + v) - lo
    # L = v + log 2 as hi + lo (2Sum), then q + ql = v / sqrt(L) by the exact residuals of quotient and root.
    big = v + LN2
    part = big - v
    big_lo = (v - (big - part)) + (LN2 - part) + vl + LN2_LO
    r = math.sqrt(big)
    inverse = 1.0 / r
    q = v * inverse
    rest = fma(-q, r, v)
    rest_root = fma(-r, r, big) + big_lo
    ql = muladd(-0.5 * q * rest_root, inverse, rest + vl) * inverse
    d = _correction64(r)
    s = _C + d
    sl = (_C - s) + d  # Fast2Sum: |d| < c
    return finish(u, fma(q, s, muladd(q, sl, ql * s)), loc, scale, sign, edge)


@device_function
def accurate_fused(u, loc, scale, sign, edge):
    """Location-scale normal quantile, accurate method, float64."""
    hi, lo = accurate_head(u)
    return accurate_tail(u, hi, lo, loc, scale, sign, edge)


@device_function
def accurate32_fused(u, loc, scale, sign, edge):
    """The accurate method for float32: in double precision, rounded once."""
    x = fast_fused(np.float64(u), np.float64(loc), np.float64(scale), np.float64(sign), np.float64(edge))
    return np.float32(x)


# Correct rounding to float32. Of all float32 t in (0, 1/2], these 14 have a quantile within 4 ulp of double precision of the
# middle between two float32; found by trying all of them, judged in 50 digits. For all others a double within 4 ulp of the
# quantile rounds to the right float32.


@device_function
def _rounded_right(t, q):
    """The right float32 |quantile| at these t, else q."""
    q = np.float32(12.973003387451172) if t == np.float32(8.703726804734268e-39) else q
    q = np.float32(12.909832954406738) if t == np.float32(1.980809928401431e-38) else q
    q = np.float32(10.996400833129883) if t == np.float32(1.9884594730035208e-28) else q
    q = np.float32(10.901533126831055) if t == np.float32(5.666540415854123e-28) else q
    q = np.float32(10.426857948303223) if t == np.float32(9.348398622511929e-26) else q
    q = np.float32(9.155525207519531) if t == np.float32(2.7047133897800426e-20) else q
    q = np.float32(8.99023723602295) if t == np.float32(1.233481389681418e-19) else q
    q = np.float32(8.246694564819336) if t == np.float32(8.141828258029614e-17) else q
    q = np.float32(7.632514476776123) if t == np.float32(1.1510908396708715e-14) else q
    q = np.float32(7.539302825927734) if t == np.float32(2.3624487511652442e-14) else q
    q = np.float32(7.471955299377441) if t == np.float32(3.95058538291658e-14) else q
    q = np.float32(5.098809242248535) if t == np.float32(1.7089817561100062e-07) else q
    q = np.float32(5.050321578979492) if t == np.float32(2.2053318105008657e-07) else q
    q = np.float32(2.874859094619751) if t == np.float32(0.0020210384391248226) else q
    return q


@device_function
def correct32_fused(u, loc, scale, sign, edge):
    """The quantile rounded correctly to float32 for loc = 0 and scale = 1; for others as `accurate32_fused`."""
    x = accurate32_fused(u, loc, scale, sign, edge)
    q = _rounded_right(tail_of(u), abs(x))
    standard = (loc == np.float32(0.0)) & (scale == np.float32(1.0))
    return np.float32(math.copysign(q, x)) if standard else x


# --- quantile of exp(lp) ---------------------------------------------------------------------------------------

_far_from = by_dtype(device_function(lambda x: 700.0), device_function(lambda x: np.float32(100.0)))


@device_function
def log_fused(lp, loc, scale, sign, unused):
    """Normal quantile of p = exp(lp), lp <= 0, without a branch; every region's v = -log(2 min(p, 1 - p)) by selects.

    L = -lp. L >= log 2: v = L - log 2. 0.35 <= L < log 2: v = -log1p(-expm1(lp + log 2)), relative accuracy at p = 1/2.
    L < 0.35: v = -log(-2 expm1(lp)).
    """
    T = type(lp)
    neg = -lp
    left = neg >= T(LN2)
    top = neg < T(0.35)
    far = neg > _far_from(lp)
    e = expm1(lp if top else (T(0.0) if left else (lp + T(LN2)) + _ln2_rest(lp)))
    g = log(neg if far else (T(-2.0) * e if top else T(1.0)))
    v_left = (neg - T(LN2)) - _ln2_rest(lp)
    v = v_left if left else (-g if top else -log1p(-e))
    r = T(math.sqrt(neg if left else v + T(LN2)))
    q = r_form(v, r)
    q = _far(neg, g) if far else q
    q = -q if left else q
    q = T(np.inf) if lp == T(0.0) else q
    q = T(-np.inf) if neg == T(np.inf) else q
    q = q if lp <= T(0.0) else T(np.nan)
    return place(q, loc, scale, sign)


# --- from an exponential, and antithetic pairs -----------------------------------------------------------------


@device_function
def norm_from_exp1(v):
    """|z| from an exponential variate v >= 0: the normal quantile at upper tail probability exp(-v)/2, equation (68)."""
    v = real(v)
    T = type(v)
    big = v + T(LN2)
    far = big > _far_from(v)
    z = r_form(v, T(math.sqrt(T(1.0) if far else big)))
    z = _far(big, log(big)) if far else z
    z = T(np.inf) if v == T(np.inf) else z
    return z if v >= T(0.0) else T(np.nan)


@device_function
def antithetic_fused(u, sign):
    """Sign * z with upper tail probability u/2, u in (0, 1], without forming u/2."""
    T = type(u)
    v = T(0.0) - log(u)  # of u = 1, where -log(u) would be -0
    z = r_form(v, T(math.sqrt(v + T(LN2))))
    z = z if u > T(0.0) else (T(np.inf) if u == T(0.0) else T(np.nan))
    return sign * (z if u <= T(1.0) else T(np.nan))


# --- the paper's kernels ---------------------------------------------------------------------------------------
# |Q| = v P(v)/D(v), v = -log(2 min(u, 1-u)); appendices A, B (its coefficient of v corrected: the printed one, kept as
# "exp1313_printed", has a wrong digit and costs 62 ulp), and C (T2: v = |u - 1/2|/sqrt(u - u^2) < 15.5).

_P56 = polynomial(
    1.25331410125583, 2.410160128573339, 1.3348090307272045, 0.23753954196273241, 0.011900603295838261, 0.00011051591117060896
)
_D56 = polynomial(
    1.0,
    2.4230267574304833,
    1.8481138350821456,
    0.5095020227035152,
    0.0462927074126229,
    0.0010579909915338771,
    2.5996479253181457e-06,
)
_P1313_REST = (
    11.918772604121516,
    12.33536303026405,
    7.332853098287016,
    2.577146101756757,
    0.5356904167372207,
    0.06467535757788459,
    0.004383433207458667,
    0.00015814346746060513,
    2.794863162483126e-06,
    2.10154247206828e-08,
    5.066874272829618e-11,
    1.647832424531589e-14,
)
_P1313 = polynomial(1.2533141373155001, 6.066348283337948, *_P1313_REST)
_P1313_PRINTED = polynomial(1.2533141373155001, 6.066348283337849, *_P1313_REST)
_D1313 = polynomial(
    1.0,
    5.340245635728293,
    11.751461407948646,
    13.86417818862424,
    9.587862558092214,
    4.011142575920291,
    1.0181500127904397,
    0.15442495196812348,
    0.013581089497310891,
    0.000661473223069109,
    1.6660168965847434e-05,
    1.9465409869330335e-07,
    8.677594429584109e-10,
    9.37745285848904e-13,
)
_PT2 = polynomial(
    1.2533141373155001,
    3.8044192476072864,
    8.255845342301248,
    12.415719092155882,
    14.6387214037581,
    13.515648997150233,
    9.907612807645135,
    5.655603740868838,
    2.430915571221009,
    0.7321232169482363,
    0.13390798481944638,
    0.01232844599180035,
    0.00048213673237583476,
    6.440474519924356e-06,
    1.7821040859884258e-08,
)
_DT2 = polynomial(
    1.0,
    3.035487380487071,
    6.825412147203415,
    10.629365527071025,
    13.179594505121926,
    12.932671365189917,
    10.266721343087545,
    6.505661571707998,
    3.2314366462112143,
    1.2038847150562522,
    0.31113708320265276,
    0.04841372227036886,
    0.003818767998899197,
    0.0001291872317875684,
    1.4888724985457154e-06,
    3.4100783884438056e-09,
)


@device_function
def exp56_fused(u, loc, scale, sign, edge):
    """The paper's (5,6) kernel: relative error 2.9e-8 for 7e-12 <= min(u, 1-u)."""
    v = neg_log_2t(tail_of(u))
    return finish(u, v * (_P56(v) / _D56(v)), loc, scale, sign, edge)


@device_function
def exp1313_fused(u, loc, scale, sign, edge):
    """The paper's (13,13) kernel with the corrected coefficient: 5.4e-17 for v <= 42, that is min(u, 1-u) >= 2.9e-19."""
    v = neg_log_2t(tail_of(u))
    return finish(u, v * (_P1313(v) / _D1313(v)), loc, scale, sign, edge)


@device_function
def exp1313_printed_fused(u, loc, scale, sign, edge):
    """The (13,13) kernel as printed: 6.7e-15 near v = 0.24."""
    v = neg_log_2t(tail_of(u))
    return finish(u, v * (_P1313_PRINTED(v) / _D1313(v)), loc, scale, sign, edge)


@device_function
def t2_fused(u, loc, scale, sign, edge):
    """The paper's hybrid: the T2 kernel where its variable is below 15.5, the (13,13) kernel beyond."""
    T = type(u)
    t = tail_of(u)
    w = T(abs(u - T(0.5))) / T(math.sqrt(muladd(-t, t, t)))  # from t, so that nothing cancels without fma
    v = neg_log_2t(t)
    q = w * (_PT2(w) / _DT2(w)) if w < T(15.5) else v * (_P1313(v) / _D1313(v))
    return finish(u, q, loc, scale, sign, edge)


# --- for the user's own kernels --------------------------------------------------------------------------------


@device_function
def ndtri1(u):
    """Standard normal quantile of u in [0, 1]; at most 2.8 ulp seen (float32 3.31, all floats tried), subnormals included."""
    u = real(u)
    T = type(u)
    return fast_fused(u, T(0.0), T(1.0), T(1.0), T(np.inf))


@device_function
def ndtri_accurate1(u):
    """Standard normal quantile of a float64 u in [0, 1]; at most 1.5 ulp."""
    return accurate_fused(np.float64(u), 0.0, 1.0, 1.0, np.inf)


@device_function
def ndtri_log1(lp):
    """Standard normal quantile of exp(lp), lp <= 0; relative error at most 1e-15."""
    lp = real(lp)
    T = type(lp)
    return log_fused(lp, T(0.0), T(1.0), T(1.0), T(0.0))


@device_function
def erfinv(x):
    """The inverse error function, -1 <= x <= 1; relative error at most 6e-16 (float32 3e-7), next to 0 and to 1 as well."""
    x = real(x)
    T = type(x)
    t = abs(x)
    v = -log1p(-t)
    v = v if t < T(1.0) else T(1.0)
    z = r_form(v, T(math.sqrt(v + T(LN2))))
    z = T(_SQRT_HALF) * z if t < T(1.0) else (T(np.inf) if t == T(1.0) else T(np.nan))
    return T(math.copysign(z, x))


@device_function
def erfcinv(y):
    """The inverse of erfc, 0 <= y <= 2; relative error at most 6e-16 (float32 3e-7), subnormal y and the zero at 1 included."""
    y = real(y)
    T = type(y)
    rest = T(2.0) - y
    t = y if y < rest else rest
    v = -log(t)
    proper = (t > T(0.0)) & (t <= T(1.0))
    v = v if proper else T(1.0)
    z = T(_SQRT_HALF) * r_form(v, T(math.sqrt(v + T(LN2))))
    z = z if proper else (T(np.inf) if t == T(0.0) else T(np.nan))
    return z if y < rest else -z
