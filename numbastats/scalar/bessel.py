"""Modified Bessel functions of orders 0 and 1, and the exponential integrals.

Power series near 0 (DLMF 10.25.2, 10.31.1 and 10.31.2; 6.6.2 and 6.6.4), further out polynomials in a variable in which the
function without its leading term is smooth, made by tests/reference/make_special.py.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, horner, muladd, real
from numbastats.scalar.elementary import exp, log, log1p

__all__ = ["exp1", "expi", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e"]

_EULER = 0.5772156649015329
_1_SQRT_2PI, _SQRT_HALF_PI = 0.3989422804014327, 1.2533141373155003
_LN2 = 0.6931471805599453

# --- I ---------------------------------------------------------------------------------------------------------

# I0 and 2 I1/x in t = x^2/4, x <= 8: the truncated terms are below 2e-19 of the sum.
_I0_NEAR = horner(*(1 / math.factorial(k) ** 2 for k in range(26)))
_I1_NEAR = horner(*(1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(26)))
# sqrt(2 pi x) exp(-x) I(x) in u = 16/x - 1, x >= 8: 2.8e-17 relative, rounded 4.0e-17.
_I0_FAR = horner(
    1.0081070099672589,
    0.008423654620629233,
    0.0003414430635239971,
    2.7931443559301777e-05,
    3.7194545451516294e-06,
    7.453707853363177e-07,
    2.2238842613357895e-07,
    9.857346574498856e-08,
    5.406247424929312e-08,
    1.8948515787945273e-08,
    -1.7186658027479956e-08,
    -3.365777993846522e-08,
    -1.2577243077509246e-08,
    1.9051012790085347e-08,
    1.634889351780235e-08,
    -8.989479399249335e-09,
    -1.1356457561488009e-08,
    4.0318830432303324e-09,
    5.423544669761971e-09,
    -1.5861717929795797e-09,
    -1.6279525719525102e-09,
    4.436252162003979e-10,
    2.2847315527305339e-10,
    -6.121680726233731e-11,
)
_I1_FAR = horner(
    0.9760771874919927,
    -0.024438565858262318,
    -0.000549542564430056,
    -3.769604761643547e-05,
    -4.5994379125537985e-06,
    -8.732732822702345e-07,
    -2.5068977487621657e-07,
    -1.081071126068889e-07,
    -5.8640370067625813e-08,
    -2.1136313164018638e-08,
    1.7164333377698186e-08,
    3.5222506159527835e-08,
    1.3966978863424138e-08,
    -1.9269081484746998e-08,
    -1.7407076098827175e-08,
    8.777623644619846e-09,
    1.1941025837689443e-08,
    -3.814640565388938e-09,
    -5.6710963516924836e-09,
    1.4715573923536442e-09,
    1.6976761246341635e-09,
    -4.0816090754372614e-10,
    -2.3792640838772227e-10,
    5.620303913209126e-11,
)


@device_function
def _far_root(t):
    """u of the far polynomials and 1/sqrt(2 pi t) for t >= 8."""
    T = type(t)
    return T(16.0) / t - T(1.0), T(_1_SQRT_2PI) / T(math.sqrt(t))


@device_function
def i0e(x):
    """``exp(-|x|) I0(x)``; relative error at most 1e-15 (float32 5e-7)."""
    x = real(x)
    T = type(x)
    t = abs(x)
    if t < T(8.0):
        return exp(-t) * _I0_NEAR(T(0.25) * t * t)
    u, root = _far_root(t)
    return root * _I0_FAR(u)


@device_function
def i1e(x):
    """``exp(-|x|) I1(x)``; relative error at most 1e-15 (float32 5e-7)."""
    x = real(x)
    T = type(x)
    t = abs(x)
    if t < T(8.0):
        return exp(-t) * (T(0.5) * x * _I1_NEAR(T(0.25) * t * t))
    u, root = _far_root(t)
    return T(math.copysign(root * _I1_FAR(u), x))


@device_function
def _unscaled(value, t):
    """``exp(t) value``, with exp(t) in two factors, so that only a too large product overflows."""
    T = type(t)
    half = exp(T(0.5) * t)
    return half * (half * value) if t < T(np.inf) else t


@device_function
def i0(x):
    """The modified Bessel function I0; relative error at most 1e-15 (float32 5e-7) up to 8, then 3e-16 |x|, as of exp."""
    x = real(x)
    T = type(x)
    t = abs(x)
    return _I0_NEAR(T(0.25) * t * t) if t < T(8.0) else _unscaled(i0e(t), t)


@device_function
def i1(x):
    """The modified Bessel function I1, an odd function; error as of `i0`."""
    x = real(x)
    T = type(x)
    t = abs(x)
    if t < T(8.0):
        return T(0.5) * x * _I1_NEAR(T(0.25) * t * t)
    return T(math.copysign(_unscaled(i1e(t), t), x))


# --- K ---------------------------------------------------------------------------------------------------------

# K0 = S - (log(x/2) + Euler) I0 and x K1 = 1 + t (2 log(x/2) R - Q), t = x^2/4 <= 1/4, I1 = x R/2.
_K_I0 = horner(*(1 / math.factorial(k) ** 2 for k in range(11)))
_K_I1 = horner(*(1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(11)))
_K0_NEAR = horner(*(float(sum(Fraction(1, j) for j in range(1, k + 1)) / math.factorial(k) ** 2) for k in range(11)))
_K1_NEAR = horner(
    *(
        (float(2 * sum(Fraction(1, j) for j in range(1, k + 1)) + Fraction(1, k + 1)) - 2 * _EULER)
        / (math.factorial(k) * math.factorial(k + 1))
        for k in range(11)
    )
)
# sqrt(2 x/pi) exp(x) K(x) in u = (x - 3)/(x + 1), x >= 1: 4.1e-18 relative, rounded 6.9e-17.
_K0_FAR = horner(
    0.9642901993996817,
    0.041413513544078066,
    -0.007219143257316861,
    0.0018705238922622448,
    -0.00045848045878008737,
    0.00012988190195917576,
    -3.472841171791358e-05,
    1.0380941588351626e-05,
    -2.8653259594593398e-06,
    8.975873256099597e-07,
    -2.473935420530547e-07,
    8.224611800351668e-08,
    -2.169871631746617e-08,
    8.061596705771314e-09,
    -1.8092895509765588e-09,
    7.537294086434976e-10,
    -1.8391694980385e-10,
    1.994954409174782e-10,
    5.145041019088915e-11,
    -4.158986545577833e-11,
    -2.8754746313279616e-11,
    2.0027318532056536e-11,
    1.027133811165768e-11,
)
_K1_FAR = horner(
    1.1146518542469426,
    -0.14165461677558527,
    0.03482815228670222,
    -0.01008159702581704,
    0.0029464655499138563,
    -0.0008991639479221847,
    0.0002745735008681038,
    -8.594632146709579e-05,
    2.6774065141490067e-05,
    -8.515982894067384e-06,
    2.679592278240151e-06,
    -8.63313710551573e-07,
    2.7251682179370954e-07,
    -8.912684687320636e-08,
    2.7930126633502082e-08,
    -9.197378979892531e-09,
    2.914286281787751e-09,
    -1.1402313466375535e-09,
    2.451544393858199e-10,
    -2.418630528683471e-11,
    5.3249563124612107e-11,
    -4.05786843831294e-11,
    -4.86672324596214e-12,
)


@device_function
def _k_ends(x, value):
    """The value of a function K for x > 0; inf at 0, NaN below."""
    T = type(x)
    return value if x > T(0.0) else (T(np.inf) if x == T(0.0) else T(np.nan))


@device_function
def _k0_near(x):
    t = type(x)(0.25) * x * x
    return muladd(-(log(x) - type(x)(_LN2) + type(x)(_EULER)), _K_I0(t), _K0_NEAR(t))


@device_function
def _k1_near(x):
    T = type(x)
    t = T(0.25) * x * x
    bracket = muladd(T(2.0) * (log(x) - T(_LN2)), _K_I1(t), -_K1_NEAR(t)) if t > T(0.0) else t
    return muladd(t, bracket, T(1.0)) / x


@device_function
def _k_far(x):
    """u of the far polynomials and sqrt(pi/(2 x)) for x >= 1."""
    T = type(x)
    return muladd(T(-4.0), T(1.0) / (x + T(1.0)), T(1.0)), T(_SQRT_HALF_PI) / T(math.sqrt(x))


@device_function
def k0e(x):
    """``exp(x) K0(x)`` for x >= 0; relative error at most 1e-15 (float32 5e-7)."""
    x = real(x)
    if x <= type(x)(1.0):
        return _k_ends(x, exp(x) * _k0_near(x))
    u, root = _k_far(x)
    return _k_ends(x, root * _K0_FAR(u))


@device_function
def k1e(x):
    """``exp(x) K1(x)`` for x >= 0; relative error at most 1e-15 (float32 5e-7)."""
    x = real(x)
    if x <= type(x)(1.0):
        return _k_ends(x, exp(x) * _k1_near(x))
    u, root = _k_far(x)
    return _k_ends(x, root * _K1_FAR(u))


@device_function
def k0(x):
    """The modified Bessel function K0 for x >= 0; relative error at most 1e-15 (float32 5e-7), beyond 1 that of exp besides."""
    x = real(x)
    T = type(x)
    return _k_ends(x, _k0_near(x)) if x <= T(1.0) else exp(-x) * k0e(x)


@device_function
def k1(x):
    """The modified Bessel function K1 for x >= 0; error as of `k0`."""
    x = real(x)
    T = type(x)
    return _k_ends(x, _k1_near(x)) if x <= T(1.0) else exp(-x) * k1e(x)


# --- exponential integrals -------------------------------------------------------------------------------------

_EIN = horner(*((-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(18)))  # (E1 + log x + Euler)/x, x <= 1
# x exp(x) E1(x) in u = (x - 4)/(x + 2), x >= 1: 1.1e-17 relative, rounded 1.3e-17.
_E1_FAR = horner(
    0.8253825996042233,
    0.19036949703167488,
    -0.0243003136542951,
    0.010133650725819695,
    -0.002507852571895628,
    0.0011289560038446323,
    -0.0003379858136890557,
    0.00016176761619542975,
    -5.219397363732407e-05,
    2.65361188366733e-05,
    -8.721726182061759e-06,
    4.7593393284206804e-06,
    -1.5237682336570375e-06,
    9.096796580102571e-07,
    -2.7347394536822215e-07,
    1.9798819196183624e-07,
    -3.962018765497969e-08,
    1.5141673340608428e-08,
    -2.404994471313753e-08,
    4.722336195310866e-08,
    2.383344081297018e-08,
    -3.6860607269546456e-08,
    -2.545841428877462e-08,
    2.7493755488737437e-08,
    1.75195154268916e-08,
    -1.0894893510378763e-08,
    -7.09307701954862e-09,
    2.2315632435045145e-09,
    1.4079193334203316e-09,
)
_EI_ZERO, _EI_ZERO_LO = 0.3725074107813666, 1.3140183414386028e-17
_ei_zero_rest = by_dtype(
    device_function(lambda x: _EI_ZERO_LO), device_function(lambda x: np.float32(_EI_ZERO - float(np.float32(_EI_ZERO))))
)


@device_function
def exp1(x):
    """The exponential integral E1(x), the integral of exp(-t)/t from x on, for x >= 0; relative error at most 1.5e-15.

    In float32 6e-7. Inf at 0, NaN below.
    """
    x = real(x)
    T = type(x)
    near = muladd(x, _EIN(x if x < T(1.0) else T(1.0)), -(log(x) + T(_EULER)))
    u = muladd(T(-6.0), T(1.0) / (x + T(2.0)), T(1.0))
    far = exp(-x) * (_E1_FAR(u if x > T(1.0) else T(-1.0)) / x)
    return _k_ends(x, near if x < T(1.0) else far)


@device_function
def _ei_near(x):
    """Ei for 0 < x < 6 from its zero z: log(x/z) + sum of (x^k - z^k)/(k k!), the factor x - z taken out."""
    T = type(x)
    z = T(_EI_ZERO)
    d = (x - z) - _ei_zero_rest(x)
    q, power, factor, total, k = T(1.0), z, T(1.0), T(1.0), T(1.0)  # q = (x^k - z^k)/(x - z)
    while abs(factor * q) > T(1e-18) * total * k:
        k = k + T(1.0)
        q = muladd(x, q, power)
        power = power * z
        factor = factor / k
        total = total + factor * q / k
    ratio = d / z
    return muladd(d, total, log1p(ratio) if ratio > T(-0.5) else log(x) - log(z))


@device_function(inline=False)
def expi(x):
    """The exponential integral Ei(x), the principal value of the integral of exp(t)/t up to x; ``-exp1(-x)`` for x < 0.

    Relative error at most 2e-15 (float32 8e-7), the zero at 0.37 included, and 3e-16 x from 40 on, as of exp; -inf at 0.
    """
    x = real(x)
    T = type(x)
    if x < T(0.0):
        return -exp1(-x)
    if not (x > T(0.0) and x < T(np.inf)):
        return T(-np.inf) if x == T(0.0) else x
    if x < T(6.0):
        return _ei_near(x)
    term, total, k = T(1.0), T(0.0), T(1.0)
    if x < T(40.0):
        while term > T(1e-18) * total:
            term = term * (x / k)
            total = total + term / k
            k = k + T(1.0)
        return total + (log(x) + T(_EULER))
    total = T(1.0)
    while term > T(1e-18) and k < x:
        term = term * (k / x)
        total = total + term
        k = k + T(1.0)
    return _unscaled(total / x, x)
