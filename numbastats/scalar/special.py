"""Error functions, the normal distribution function and its logarithm, the Mills ratio, log-gamma, digamma.

Everything about the normal tail comes from one polynomial, that of the Mills ratio M(t) = Phi(-t)/phi(t): with
r = 1/(t + c) and u = (t - c)/(t + c),

    M(t) = r (1 + r R(u)),    0 <= t < inf,

so there is no region to choose, and a vectorised loop pays one exponential, one division and one polynomial. The
exponential takes the rounding error of x^2 along, which keeps the relative accuracy down to the underflow.

All functions are selects only, work in the float type of their argument, and give NaN for NaN. The polynomials are
made by tests/reference/make_special.py.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, fma, horner, muladd, real
from numbastats.scalar.elementary import exp, log, log1p, sincospi

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfcx",
    "gamma_half_ratio",
    "gammaln",
    "gammaln1p",
    "hazard",
    "log_ndtr",
    "log_ndtr_ratio",
    "mills",
    "mills_right",
    "ndtr",
    "ndtr_pair",
    "stirling_rest",
]

_LOG_SQRT_2PI = 0.9189385332046727
_1_SQRT_2PI, _SQRT_2PI = 0.3989422804014327, 2.5066282746310002
_SQRT_2, _SQRT_2_PI = 1.4142135623730951, 0.7978845608028654

# --- the normal tail -------------------------------------------------------------------------------------------

# R(u) on [-1, 1] with c = 5: 4.9e-17 relative in M, 7.1e-17 with these rounded coefficients.
_R64_EVEN = horner(
    9.280810471531577,
    5.017615135380637,
    1.2949515372422011,
    0.08365922048987882,
    -0.011373227428621128,
    0.0007970334200342663,
    -3.217637289756267e-05,
    -1.8812781505197128e-06,
    6.986850865808172e-07,
    -1.0302145376204388e-07,
    7.795462584831969e-09,
)
_R64_ODD = horner(
    -7.397855480358024,
    -2.8414956200844936,
    -0.43759580364361156,
    0.008626392514683529,
    0.0022853622959848937,
    -0.00045031428620863746,
    6.754547758028214e-05,
    -1.0193336694322054e-05,
    1.6070944497776153e-06,
    -2.334288705891555e-07,
    2.1311453339919675e-08,
)
# R(u) for float32, with c = 4: 4.8e-9 relative in M, rounded 9.4e-9.
_R32 = horner(
    7.145752429962158,
    -5.044414043426514,
    2.718862295150757,
    -1.021480917930603,
    0.18965373933315277,
    0.03854939714074135,
    -0.03123174048960209,
    0.0011880198396124099,
    0.003865303937345743,
    -0.00035558000672608614,
    -0.0003891350352205336,
)


@device_function
def _mills_polynomial64(u):
    # Even and odd powers apart: two chains of half the length keep more of a vector loop in flight.
    z = u * u
    return muladd(u, _R64_ODD(z), _R64_EVEN(z))


_mills_polynomial = by_dtype(_mills_polynomial64, device_function(lambda u: _R32(u)))
_mills_center = by_dtype(device_function(lambda t: 5.0), device_function(lambda t: np.float32(4.0)))


@device_function
def _mills_parts(t):
    """t + c, its reciprocal as a sum r + rl, and 1 + r R, so that M(t) = (r + rl)(1 + r R), for t >= 0.

    M depends on u as u itself near t = 0: carrying the low part halves the error there.
    """
    T = type(t)
    c = _mills_center(t)
    finite = t < T(1e30)
    d = t + c
    b = d - t
    dl = (t - (d - b)) + (c - b)  # TwoSum: d + dl = t + c
    r = T(1.0) / d
    rl = r * fma(-r, dl, fma(-r, d, T(1.0)))
    rl = rl if finite else T(0.0)  # inf - inf otherwise
    u = muladd(T(-2.0) * c, rl, fma(T(-2.0) * c, r, T(1.0)))
    return d, r, rl, muladd(r, _mills_polynomial(u), T(1.0))


@device_function
def mills_right(t):
    """The Mills ratio M(t) for t >= 0."""
    t = real(t)
    d, r, rl, p = _mills_parts(t)
    return fma(r, p, rl * p)


@device_function
def _exp_square(x, s):
    """``exp(s x^2)`` for |x| <= 1000 and s a power of two: the rounding error of x^2 is put back."""
    h = x * x
    e = exp(s * h)
    return fma(e, s * fma(x, x, -h), e)


@device_function
def _decay(x, s):
    """``exp(-s x^2)`` for any x."""
    T = type(x)
    t = abs(x)
    return _exp_square(T(1000.0) if t > T(1000.0) else t, -s)


@device_function
def _tail(t):
    """phi(t) and Phi(-t) for t >= 0."""
    T = type(t)
    f = T(_1_SQRT_2PI) * _decay(t, T(0.5))
    return f, f * mills_right(t)


@device_function
def ndtr_pair(x):
    """Phi(x) and Phi(-x), the smaller one with full relative accuracy."""
    x = real(x)
    T = type(x)
    f, y = _tail(abs(x))
    z = T(1.0) - y
    return (y, z) if x < T(0.0) else (z, y)


@device_function
def ndtr(x):
    """The standard normal distribution function Phi(x)."""
    x = real(x)
    T = type(x)
    f, y = _tail(abs(x))
    return y if x < T(0.0) else T(1.0) - y


@device_function
def mills(t):
    """The Mills ratio Phi(-t)/phi(t), any t; it overflows below -37.5 (float32: -13)."""
    t = real(t)
    T = type(t)
    m = mills_right(abs(t))
    left = T(_SQRT_2PI) * _growth(t, T(0.5)) - m
    return left if t < T(0.0) else m


@device_function
def _growth(x, s):
    """``exp(s x^2)``, inf where it overflows."""
    T = type(x)
    t = abs(x)
    t = T(1000.0) if t > T(1000.0) else t
    return T(np.inf) if s * t * t > T(_exp_limit(x)) else _exp_square(t, s)


_exp_limit = by_dtype(device_function(lambda x: 709.78), device_function(lambda x: np.float32(88.72)))


@device_function
def hazard(t):
    """The hazard rate of the normal distribution, phi(t)/Phi(-t), any t."""
    t = real(t)
    return log_ndtr_ratio(-t)[1]


# M(t) may be replaced by this floor where -t^2/2 is all that counts (the floor only keeps log1p away from -1).
_mills_floor = by_dtype(device_function(lambda x: 1e-8), device_function(lambda x: np.float32(1e-4)))


@device_function
def _log_ndtr(x, m, y):
    """Log Phi(x) from M(|x|) and y = Phi(-|x|), with one logarithm for both signs.

    x < 0: log M - x^2/2 - log sqrt(2 pi), where log M = log1p(M - 1) is exact enough: below M = 1/2 the error of the
    subtraction is small beside x^2/2. x >= 0: log1p(-y).
    """
    T = type(x)
    floor = _mills_floor(x)
    m = floor if m < floor else m
    left = x < T(0.0)
    v = log1p(m - T(1.0) if left else -y)
    return muladd(T(-0.5) * x, x, v - T(_LOG_SQRT_2PI)) if left else v


@device_function
def log_ndtr(x):
    """Log Phi(x), the logarithm of the standard normal distribution function."""
    x = real(x)
    T = type(x)
    t = abs(x)
    m = mills_right(t)
    return _log_ndtr(x, m, T(_1_SQRT_2PI) * _decay(t, T(0.5)) * m)


@device_function
def log_ndtr_ratio(x):
    """Log Phi(x) and its derivative phi(x)/Phi(x)."""
    x = real(x)
    T = type(x)
    t = abs(x)
    d, r, rl, p = _mills_parts(t)
    m = fma(r, p, rl * p)
    f = T(_1_SQRT_2PI) * _decay(t, T(0.5))
    y = f * m
    left = x < T(0.0)
    ratio = (d if left else f) / (p if left else T(1.0) - y)
    return _log_ndtr(x, m, y), ratio


# --- error functions -------------------------------------------------------------------------------------------

# erf(x)/x - 1 in x^2 on [0, 0.5625]: 8.3e-19 relative in erf, rounded 2.7e-17; float32 1.5e-9, rounded 4.0e-9.
_ERF64 = horner(
    0.1283791670955126,
    -0.37612638903183715,
    0.11283791670952596,
    -0.026866170644428485,
    0.005223977615420539,
    -0.0008548326188759752,
    0.00012055289567541706,
    -1.4924196305569617e-05,
    1.643068417974155e-06,
    -1.5940066854661717e-07,
    1.1472499701094691e-08,
)
_ERF32 = horner(
    0.12837916612625122,
    -0.3761261999607086,
    0.11283386498689651,
    -0.026835113763809204,
    0.005115332081913948,
    -0.0006756479851901531,
)
_erf_polynomial = by_dtype(device_function(lambda z: _ERF64(z)), device_function(lambda z: _ERF32(z)))


@device_function
def _erfcx_right(t):
    """``exp(t^2) erfc(t)`` for t >= 0."""
    T = type(t)
    return T(_SQRT_2_PI) * mills_right(T(_SQRT_2) * t)


@device_function
def _erfc_right(t):
    T = type(t)
    return _decay(t, T(1.0)) * _erfcx_right(t)


@device_function
def erfc(x):
    """The complementary error function."""
    x = real(x)
    T = type(x)
    y = _erfc_right(abs(x))
    return T(2.0) - y if x < T(0.0) else y


@device_function
def erfcx(x):
    """``exp(x^2) erfc(x)``; it overflows below -26.6 (float32: -9.4)."""
    x = real(x)
    T = type(x)
    y = _erfcx_right(abs(x))
    left = T(2.0) * _growth(x, T(1.0)) - y
    return left if x < T(0.0) else y


@device_function
def erf(x):
    """The error function."""
    x = real(x)
    T = type(x)
    t = abs(x)
    near = muladd(x, _erf_polynomial(x * x), x)
    return near if t < T(0.75) else T(math.copysign(T(1.0) - _erfc_right(t), x))


# --- gamma functions -------------------------------------------------------------------------------------------

# log Gamma(2 + f)/f on [-1/2, 1/2]: 2.5e-18 relative, rounded 6.8e-17; float32 4.6e-9, rounded 5.2e-8.
_LGAMMA64 = horner(
    0.42278433509846713,
    0.32246703342411326,
    -0.0673523010531981,
    0.02058080842778038,
    -0.0073855510286719986,
    0.002890510331034267,
    -0.0011927539118428156,
    0.0005096695154115458,
    -0.00022315475400520507,
    9.945767355819498e-05,
    -4.49263133791557e-05,
    2.0505590755833454e-05,
    -9.438715099211532e-06,
    4.38470440459836e-06,
    -2.0439048107029907e-06,
    9.200527894968101e-07,
    -4.3252393445604814e-07,
    2.78740805211359e-07,
    -1.3219945666117874e-07,
)
_LGAMMA32 = horner(
    0.42278432846069336,
    0.32246702909469604,
    -0.067352294921875,
    0.020581625401973724,
    -0.007385920733213425,
    0.002878868719562888,
    -0.001187484827823937,
    0.0005702512571588159,
    -0.0002505620359443128,
)
# x (log Gamma(x) - (x - 1/2)(log x - 1) - log(2 pi)/2 + 1/2) in 1/x^2, x >= 8: 7.2e-18 relative, rounded 5.6e-17;
# float32 8.2e-10, rounded 3.1e-8.
_STIRLING64 = horner(
    0.08333333333333333,
    -0.002777777777773988,
    0.0007936507897524059,
    -0.0005952365845057049,
    0.0008414700852503147,
    -0.001890382993887715,
    0.005065905360156132,
)
_STIRLING32 = horner(0.0833333358168602, -0.0027776984497904778, 0.0007800346938893199)
_lgamma_polynomial = by_dtype(device_function(lambda f: _LGAMMA64(f)), device_function(lambda f: _LGAMMA32(f)))
_stirling_polynomial = by_dtype(device_function(lambda w: _STIRLING64(w)), device_function(lambda w: _STIRLING32(w)))


@device_function
def gammaln(x):
    """Log Gamma(x) for x >= 0, with relative accuracy also at the zeros 1 and 2; NaN for x < 0."""
    x = real(x)
    T = type(x)
    # x < 8: recurrence to 2 + f, |f| <= 1/2, where the polynomial carries the zero; log of the factors, once.
    y, p = x, T(1.0)
    for _ in range(6):
        step = y >= T(2.5)
        y = y - T(1.0) if step else y
        p = p * y if step else p
    low, mid = x < T(0.5), x < T(1.5)
    f = y if low else (y - T(1.0) if mid else y - T(2.0))
    divisor = x * (x + T(1.0)) if low else x
    far = x >= T(8.0)
    q = log(x if far else (divisor if mid else p))
    near = muladd(f, _lgamma_polynomial(f), -q if mid else q)
    # x >= 8: Stirling's series
    r = T(1.0) / x
    stirling = muladd(x - T(0.5), q - T(1.0), muladd(r, _stirling_polynomial(r * r), T(0.4189385332046727)))
    return T(np.nan) if x < T(0.0) else (stirling if far else near)


# (sqrt(y) Gamma(y + 1/4)/Gamma(y + 3/4) - 1) y^2 in w = 1/y^2, y >= 3.75: 1.5e-17 relative in the ratio;
# float32 8.2e-10.
_HALF64 = horner(
    -0.01562499999999969,
    0.0025634765617914045,
    -0.001279830662518909,
    0.0013434708041579362,
    -0.0024298311793179775,
    0.006618810823536101,
    -0.02291939687016196,
    0.07497168659912107,
    -0.14338766904746994,
)
_HALF32 = horner(-0.015624986961483955, 0.002560243010520935, -0.0011539629194885492)
_half_polynomial = by_dtype(device_function(lambda w: _HALF64(w)), device_function(lambda w: _HALF32(w)))


@device_function
def gamma_half_ratio(x):
    """Gamma(x)/Gamma(x + 1/2) for x >= 0; NaN for x < 0."""
    x = real(x)
    T = type(x)
    small = x < T(4.0)
    a, b = T(1.0), T(1.0)
    for i in range(4):  # four steps of Gamma(x + 1) = x Gamma(x) above and below
        a = a * (x + T(i + 0.5))
        b = b * (x + T(i))
    y = (x + T(4.0) if small else x) - T(0.25)
    w = T(1.0) / (y * y)
    large = muladd(w, _half_polynomial(w), T(1.0)) / T(math.sqrt(y))
    return T(np.nan) if x < T(0.0) else (large * a / b if small else large)


@device_function
def stirling_rest(x):
    """Log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2 for x >= 8, the logarithm of Gamma* in DLMF 5.11.3; 3e-17 absolute."""
    x = real(x)
    r = type(x)(1.0) / x
    return r * _stirling_polynomial(r * r)


# log Gamma(1 + x)/x in x - 1/4 on [0, 1/2]: 4.7e-17 relative, rounded 6.9e-17.
_LGAMMA1 = horner(
    -0.3930873456872526,
    0.6625352492439489,
    -0.2554826879616018,
    0.1367707934883712,
    -0.0833925057461147,
    0.05439040174990732,
    -0.03692956553070066,
    0.025743858550162976,
    -0.018282002489257113,
    0.013163038093112174,
    -0.009581623724678582,
    0.007032775647613247,
    -0.005150475842701773,
    0.0038290740100617986,
    -0.0033334654764390617,
    0.002504762399546448,
)


@device_function
def gammaln1p(x):
    """Log Gamma(1 + x) for 0 <= x <= 1; relative error at most 4e-16 (float32 2e-7) up to x = 1/2, absolute beyond."""
    x = real(x)
    T = type(x)
    near = x * _LGAMMA1(x - T(0.25))
    return near if x <= T(0.5) else gammaln(T(1.0) + x)


# psi(x)/(x - x0) in x - 3/2 on [1, 2], x0 its zero: 2.7e-18 relative, rounded 4.9e-17.
_DIGAMMA = horner(
    0.9510558760318328,
    -0.4236274212814606,
    0.24054248424078697,
    -0.14840492305388092,
    0.09498872445289039,
    -0.06192213327548831,
    0.040760833940846085,
    -0.026975796659787055,
    0.017907248317313294,
    -0.011908220105959716,
    0.007927021796868154,
    -0.005279937255532708,
    0.003518106563802472,
    -0.0023454947397380833,
    0.0015633696313653504,
    -0.0010364584817312839,
    0.0006909255761282986,
    -0.00048595039220036254,
    0.00032395945401345196,
    -0.00014480643368061614,
    9.653646261410062e-05,
    -0.0001782188548855923,
    0.00011881232908510335,
)
_PSI_ZERO, _PSI_ZERO_LO = 1.4616321449683622, 9.549995429965697e-17
_psi_zero_rest = by_dtype(
    device_function(lambda x: _PSI_ZERO_LO), device_function(lambda x: np.float32(_PSI_ZERO - float(np.float32(_PSI_ZERO))))
)
# -(psi(x) - log x + 1/(2 x)) x^2 in 1/x^2: B(2 k)/(2 k), DLMF 5.11.2; for x >= 8 the first term left out is below 1e-17.
_PSI_FAR = horner(
    1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160, 43867 / 14364, -174611 / 6600, 77683 / 276
)


@device_function
def digamma(x):
    """The digamma function, the derivative of `gammaln`; NaN at the negative integers, -inf at 0.

    Relative error at most 5e-16 for x > 0, the zero at 1.46 included (float32 3e-7); for x < 0 5e-16 of the larger of psi(1 - x)
    and pi cot(pi x). Recurrence to [1, 2), the series of DLMF 5.11.2 from 8 on, reflection (DLMF 5.5.4) below 0.
    """
    x = real(x)
    T = type(x)
    left = x < T(0.0)
    z = T(1.0) - x if left else x
    # z < 8: steps down to y in [1, 2), or one up from below 1
    y, total = z, T(0.0)
    for _ in range(6):
        step = (y >= T(2.0)) & (z < T(8.0))
        y = y - T(1.0) if step else y
        total = total + T(1.0) / y if step else total
    low = z < T(1.0)
    y = z + T(1.0) if low else (y if z < T(8.0) else T(1.5))
    total = -T(1.0) / z if low else total
    near = muladd((y - T(_PSI_ZERO)) - _psi_zero_rest(x), _DIGAMMA(y - T(1.5)), total)
    r = T(1.0) / z
    w = r * r
    far = log(z) - muladd(T(0.5), r, w * _PSI_FAR(w))
    value = far if z >= T(8.0) else near
    s, c = sincospi(x)
    other = value - T(math.pi) * (c / s)
    other = other if s != T(0.0) else T(np.nan)
    return other if left else (value if z < T(np.inf) else z)
