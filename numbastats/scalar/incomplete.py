"""Incomplete gamma and beta functions, regularised, and their inverses.

Both tails come in pairs, the smaller one computed, the other as 1 minus it. The power in front is taken from C. Loader's
deviance ("Fast and accurate computation of binomial probabilities", 2000), so that nothing cancels for large arguments.

Gamma: the series DLMF 8.7.1 and 8.7.3, the continued fraction 8.9.2 in its even form, and from a = 50 on around the mean
Temme's uniform expansion, DLMF 8.12.3-8.12.8 (N. M. Temme, SIAM J. Math. Anal. 10, 1979); which one where is much as in A. R.
DiDonato, A. H. Morris, ACM TOMS 12 (1986). Beta: the continued fraction DLMF 8.17.22 by its recurrence, and where both
parameters are large the integral of the density over the tail, by Gauss and Legendre; of small whole parameters the sum of a
negative binomial distribution, and of a = b = 1/2 the arcsine distribution.

Inverses: the distribution functions of log X (gamma) and log(X/(1 - X)) (beta) are log-concave, as are the upper tails, so that
Newton's method for the logarithm of a tail converges from any start, and never oscillates. The steps are those of Halley's
method, of third order. Starts: E. B. Wilson, M. M. Hilferty (PNAS 17, 1931) for gamma, formula 26.5.22 of M. Abramowitz, I. A.
Stegun (1964) for beta, and the power at the end of the support for small parameters.

What depends on the parameters alone is computed once, by `gamma_constants` and `beta_constants`. Functions of one x and
parameters that may be others next time take less: no logarithms of gamma functions, but where parameters are large.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, fma, horner, muladd, polynomial, real
from numbastats.scalar.elementary import atan, exp, expm1, log, log1p, pow
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.quadrature import legendre
from numbastats.scalar.special import erfcx, gammaln, gammaln1p, stirling_rest

__all__ = [
    "betainc",
    "betaincc",
    "betaincinv",
    "binomial_log_mass",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "poisson_log_mass",
]

_LOG_SQRT_2PI, _1_SQRT_2PI = 0.9189385332046727, 0.3989422804014327
_LN2 = 0.6931471805599453
_ARTANH = horner(*(1.0 / n for n in range(3, 37, 2)))  # (artanh(v)/v - 1)/v^2 in v^2, v <= 0.3
_tiny = by_dtype(device_function(lambda x: 1e-305), device_function(lambda x: np.float32(1e-37)))
_lowest = by_dtype(device_function(lambda x: -708.0), device_function(lambda x: np.float32(-86.0)))
_gone = by_dtype(device_function(lambda x: 1000.0), device_function(lambda x: np.float32(200.0)))  # exp(-x) x^8 is 0
_unit = by_dtype(device_function(lambda x: 1e-17), device_function(lambda x: np.float32(1e-9)))  # where sums end
_settled = by_dtype(device_function(lambda x: 1e-12), device_function(lambda x: np.float32(1e-5)))  # a step that may be the last
_LARGE = 3e4  # parameters of beta from which on tails are integrals
_FEW = 50.0  # whole parameters of beta below which tails are sums

# --- Poisson and binomial probabilities ------------------------------------------------------------------------


@device_function
def _excess(a, x):
    """x - a - a log(x/a) for a, x > 0 without cancellation: a times the deviance of x/a from 1."""
    return excess_by(a, x, x - a)


@device_function
def excess_by(a, x, d):
    """`_excess` where x - a is known as d."""
    T = type(a)
    v = d / (x + a)
    w = v * v
    series = muladd(T(-2.0) * a * v, w * _ARTANH(w if w < T(0.09) else T(0.0)), d * v)
    far = d - a * (log(x) - log(a) if x > T(4.0) * a or a > T(4.0) * x else log(x / a))
    return series if w < T(0.09) else far


@device_function
def poisson_log_mass(k, m):
    """Logarithm of ``m^k exp(-m)/Gamma(k + 1)`` for k >= 0, m > 0, k real; error 3e-16 of the larger of 10 and the result."""
    k, m = real(k), real(m)
    T = type(k)
    if k < T(8.0):
        return (k * log(m) if k > T(0.0) else T(0.0)) - m - gammaln(k + T(1.0))
    return -(_excess(k, m) + stirling_rest(k)) - (T(_LOG_SQRT_2PI) + T(0.5) * log(k))


@device_function
def poisson_log_mass_in_step(k, m):
    """`poisson_log_mass` for m >= 10 and whole k in double precision, without branches, for loops that work on vectors.

    Error 1.1e-15 of the larger of 10 and the result.
    """
    j = k if k > 8.0 else 8.0
    rising = 1.0  # 8!/k!
    for i in range(1, 9):
        rising = rising * (float(i) if k < i else 1.0)
    log_j, log_m, log_rising = log(j), log(m), log(rising)
    small = muladd(k, log_m, log_rising - m) - 10.60460290274525  # log 8!
    d = m - j
    v = d / (m + j)
    w = v * v
    near = muladd(-2.0 * j * v, w * _ARTANH(w if w < 0.09 else 0.0), d * v)
    far = muladd(j, log_j - log_m, d)
    large = -((near if w < 0.09 else far) + stirling_rest(j)) - muladd(0.5, log_j, _LOG_SQRT_2PI)
    return small if k < 8.0 else large


@device_function
def binomial_log_mass(k, n, p, q):
    """Logarithm of the binomial probability of k in n, 0 <= k <= n, with chances p and q = 1 - p, both positive; k, n real."""
    k, n = real(k), real(n)
    return poisson_log_mass(k, n * p) + poisson_log_mass(n - k, n * q) - poisson_log_mass(n, n)


# --- incomplete gamma ------------------------------------------------------------------------------------------


@device_function(inline=False)
def gamma_constants(a):
    """For functions of a >= 0 and x: a; of the power ``x^a exp(-x)/Gamma(a + 1)`` a factor, its logarithm, and that of the peak.

    Below a = 8 the power is a product with the factor 1/Gamma(a + 1); from there on it is taken from the deviance, and the factor
    is its largest value, at x = a.
    """
    a = real(a)
    T = type(a)
    if a < T(8.0):
        log_factor = -(gammaln1p(a) if a <= T(1.0) else gammaln(a + T(1.0)))
        return a, exp(log_factor), log_factor, log_factor - a + (a * log(a) if a > T(0.0) else T(0.0))
    peak = -stirling_rest(a) - (T(_LOG_SQRT_2PI) + T(0.5) * log(a))
    return a, _stirling_factor(a), peak, peak


@device_function
def _stirling_factor(a):
    """``a^a exp(-a)/Gamma(a + 1)`` for a >= 8."""
    T = type(a)
    return exp(-stirling_rest(a)) * (T(_1_SQRT_2PI) / T(math.sqrt(a)))


# 1/Gamma(2 + f) on [-1/2, 1/2]: 1.4e-17 relative, rounded 3.0e-17
_RGAMMA = polynomial(
    1.0,
    -0.4227843350984668,
    -0.23309373642178682,
    0.19109110138763843,
    -0.024552490005389484,
    -0.01764524454785236,
    0.008023273021812273,
    -0.0008043298192427428,
    -0.000360837807584258,
    0.00014559656853087852,
    -1.7545944572155978e-05,
    -2.5912249904955893e-06,
    1.3389460843001934e-06,
    -1.9954320475453158e-07,
    -1.3470895109326859e-09,
)


@device_function
def _rgamma1p(a):
    """1/Gamma(1 + a) for 0 <= a < 16."""
    T = type(a)
    rest, product = a, T(1.0)
    while rest >= T(1.5):
        product = product * rest
        rest = rest - T(1.0)
    low = rest < T(0.5)
    value = _RGAMMA(rest if low else rest - T(1.0))
    return value * (T(1.0) + rest) if low else value / product


@device_function
def _short_constants(a):
    """`gamma_constants` for one x, without the logarithms that `gamma_tails` does not use."""
    T = type(a)
    if a >= T(8.0):
        return a, _stirling_factor(a), T(0.0), T(0.0)
    return a, _rgamma1p(a), -gammaln1p(a) if a <= T(1.0) else T(0.0), T(0.0)


@device_function
def gamma_log_mass(x, c):
    """Logarithm of ``x^a exp(-x)/Gamma(a + 1)`` for x > 0."""
    return c[3] - _excess(c[0], x)


@device_function
def gamma_density(x, c):
    """``x^(a - 1) exp(-x)/Gamma(a)`` for x > 0: the exponential of a logarithm with its rounding errors, large ones far out."""
    a, factor, log_factor, peak = c
    T = type(a)
    d = x - a
    less = (x - (d + a)) + ((d + a) - d - a)  # TwoDiff: d + less = x - a
    v = d / (x + a)
    ratio = log(x) - log(a) if x > T(4.0) * a or a > T(4.0) * x else log(x / a)
    product = a * ratio
    level = product - d
    part = level - product
    rest = (product - (level - part)) - (d + part) + fma(a, ratio, -product) - less
    far = v * v >= T(0.09)
    level, rest = (level, rest) if far else (-excess_by(a, x, d), T(0.0))
    upwards = a / x
    more = peak + (log(upwards) if upwards < T(np.inf) else log(a) - log(x))
    logarithm = level + more
    part = logarithm - level
    rest = rest + (level - (logarithm - part)) + (more - part)
    value = exp(logarithm)
    return muladd(value, rest, value)


@device_function
def _gamma_mass(x, c):
    """Its exponential, for small a without a logarithm of x."""
    a, factor, log_factor, peak = c
    T = type(a)
    if a >= T(8.0):
        return exp(-_excess(a, x)) * factor
    far = x > _gone(x)
    x = T(1.0) if far else x
    return T(0.0) if far else pow(x, a) * (exp(-x) * factor)


# c(k) of DLMF 8.12.8 in powers of eta, |eta| <= 0.46, by the recurrence 8.12.9-11 in 50 digits.
_C0 = horner(
    -0.3333333333333333,
    0.08333333333333333,
    -0.014814814814814815,
    0.0011574074074074073,
    0.0003527336860670194,
    -0.0001787551440329218,
    3.919263178522438e-05,
    -2.185448510679992e-06,
    -1.85406221071516e-06,
    8.296711340953087e-07,
    -1.7665952736826078e-07,
    6.707853543401498e-09,
    1.0261809784240309e-08,
    -4.382036018453353e-09,
    9.14769958223679e-10,
    -2.5514193994946248e-11,
    -5.830772132550426e-11,
    2.4361948020667415e-11,
    -5.0276692801141755e-12,
)
_C1 = horner(
    -0.001851851851851852,
    -0.003472222222222222,
    0.0026455026455026454,
    -0.0009902263374485596,
    0.00020576131687242798,
    -4.018775720164609e-07,
    -1.8098550334489977e-05,
    7.64916091608111e-06,
    -1.6120900894563446e-06,
    4.647127802807434e-09,
    1.378633446915721e-07,
    -5.752545603517705e-08,
    1.1951628599778148e-08,
    -1.7543241719747647e-11,
    -1.0091543710600413e-09,
    4.162792991842583e-10,
    -8.56390702649298e-11,
)
_C2 = horner(
    0.004133597883597883,
    -0.0026813271604938273,
    0.0007716049382716049,
    2.0093878600823047e-06,
    -0.0001073665322636516,
    5.2923448829120125e-05,
    -1.2760635188618728e-05,
    3.423578734096138e-08,
    1.3721957309062934e-06,
    -6.298992138380055e-07,
    1.4280614206064242e-07,
    -2.0477098421990866e-10,
    -1.409252991086752e-08,
    6.228974084922022e-09,
    -1.3670488396617114e-09,
)
_C3 = horner(
    0.0006494341563786008,
    0.00022947209362139917,
    -0.0004691894943952557,
    0.00026772063206283885,
    -7.561801671883977e-05,
    -2.396505113867297e-07,
    1.1082654115347302e-05,
    -5.6749528269915965e-06,
    1.4230900732435883e-06,
    -2.7861080291528143e-11,
    -1.6958404091930278e-07,
    8.099464905388083e-08,
    -1.9111168485973655e-08,
)
_C4 = horner(
    -0.0008618882909167117,
    0.0007840392217200666,
    -0.0002990724803031902,
    -1.4638452578843418e-06,
    6.641498215465122e-05,
    -3.968365047179435e-05,
    1.1375726970678419e-05,
    2.507497226237533e-10,
    -1.6954149536558305e-06,
    8.907507532205309e-07,
    -2.292934834000805e-07,
)
_C5 = horner(
    -0.00033679855336635813,
    -6.972813758365857e-05,
    0.0002772753244959392,
    -0.00019932570516188847,
    6.797780477937208e-05,
    1.419062920643967e-07,
    -1.3594048189768693e-05,
    8.018470256334202e-06,
    -2.291481176508095e-06,
)
_C6 = horner(
    0.0005313079364639922,
    -0.0005921664373536939,
    0.0002708782096718045,
    7.902353232660328e-07,
    -8.153969367561969e-05,
    5.61168275310625e-05,
    -1.8329116582843375e-05,
)
_C7 = horner(
    0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234, 0.0002812695154763237, -0.00010976582244684731
)
_C8 = horner(-0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721)


@device_function
def _uniform(a, x, d):
    """P or Q, the smaller one, times exp(height), and the height a eta^2/2, for a >= 50 and |d| <= 0.4 a, d = x - a."""
    T = type(a)
    right = d >= T(0.0)
    height = excess_by(a, x, d)
    eta = T(math.sqrt(T(2.0) * height / a))
    eta = eta if right else -eta
    r = T(1.0) / a
    tail = muladd(r, muladd(r, muladd(r, _C8(eta), _C7(eta)), _C6(eta)), _C5(eta))
    s = muladd(r, muladd(r, muladd(r, muladd(r, muladd(r, tail, _C4(eta)), _C3(eta)), _C2(eta)), _C1(eta)), _C0(eta))
    s = s * (T(_1_SQRT_2PI) / T(math.sqrt(a)))
    return muladd(T(0.5), erfcx(T(math.sqrt(height))), s if right else -s), height


@device_function
def _next_to_0(x, c):
    """P and Q for a <= 1, x <= 1.5, where Q is of the size of a: DLMF 8.7.1, its first term apart."""
    a, factor, log_factor, peak = c
    T = type(a)
    n, term, total = T(0.0), T(1.0), T(0.0)
    while abs(term) > _unit(x):
        n = n + T(1.0)
        term = term * (-x / n)
        total = total + term / (a + n)
    total = a * total
    first = muladd(a, log(x), log_factor)
    lower = pow(x, a) * factor * (T(1.0) + total)
    return lower, -muladd(exp(first), total, expm1(first))


@device_function
def _series(a, x):
    """P divided by ``x^a exp(-x)/Gamma(a + 1)``: DLMF 8.7.1 in the form 8.11.4, whose terms are positive."""
    T = type(a)
    n, term, total = a, T(1.0), T(1.0)
    while term > _unit(x) * total:
        n = n + T(1.0)
        term = term * (x / n)
        total = total + term
    return total


@device_function
def _fraction(a, x):
    """Q divided by ``x^a exp(-x)/Gamma(a + 1)``, for x > a + 1: the even part of DLMF 8.9.2, by Lentz's method."""
    T = type(a)
    b = x + T(1.0) - a
    c, d = T(1.0) / _tiny(x), T(1.0) / b
    h, i, change = d, T(0.0), T(0.0)
    while abs(change - T(1.0)) > T(10.0) * _unit(x) and i < T(10000.0):
        i = i + T(1.0)
        step = -i * (i - a)
        b = b + T(2.0)
        d = T(1.0) / muladd(step, d, b)
        c = b + step / c
        change = c * d
        h = h * change
    return a * h


@device_function
def _gamma_special(a, x):
    """P and Q at the ends; -1 twice where there is something to compute."""
    T = type(a)
    if not (a >= T(0.0) and x >= T(0.0)) or (a == x and (a == T(0.0) or a == T(np.inf))):
        return T(np.nan), T(np.nan)
    if x == T(0.0) or a == T(np.inf):
        return T(0.0), T(1.0)
    if a == T(0.0) or x == T(np.inf):
        return T(1.0), T(0.0)
    return T(-1.0), T(-1.0)


@device_function(inline=False)
def gamma_tails(x, c):
    """P(a, x), Q(a, x) and ``x^a exp(-x)/Gamma(a + 1)``."""
    return _gamma_tails(x, c)


@device_function
def _gamma_tails(x, c):
    """`gamma_tails`, of which a function of one of the three computes no more than it needs."""
    a, factor, log_factor, peak = c
    T = type(a)
    lower, upper = _gamma_special(a, x)
    if lower != T(-1.0):
        return lower, upper, T(0.0)
    if a >= T(50.0) and abs(x - a) <= T(0.4) * a:
        small, height = _uniform(a, x, x - a)
        fall = exp(-height)
        small = fall * small
        return (T(1.0) - small, small, fall * factor) if x >= a else (small, T(1.0) - small, fall * factor)
    if a <= T(1.0) and x <= T(1.5):
        lower, upper = _next_to_0(x, c)
        return lower, upper, _gamma_mass(x, c)
    mass = _gamma_mass(x, c)
    if x <= a + T(1.0):
        lower = mass * _series(a, x) if mass > T(0.0) else mass
        return lower, T(1.0) - lower, mass
    upper = mass * _fraction(a, x) if mass > T(0.0) else mass
    return T(1.0) - upper, upper, mass


@device_function
def gamma_log_tails(x, c):
    """Logarithms of P(a, x) and Q(a, x), also where they underflow."""
    return gamma_log_tails_by(x - c[0], x, c)


@device_function(inline=False)
def gamma_log_tails_by(d, x, c):
    """`gamma_log_tails` where x - a is known as d."""
    a, factor, log_factor, peak = c
    T = type(a)
    lower, upper = _gamma_special(a, x)
    if lower != T(-1.0):
        return log(lower), log(upper)
    if a <= T(1.0) and x <= T(1.5):
        lower, upper = _next_to_0(x, c)
        return (log(lower), log1p(-lower)) if lower < upper else (log1p(-upper), log(upper))
    if a >= T(50.0) and abs(d) <= T(0.4) * a:
        small, height = _uniform(a, x, d)
        small, right = log(small) - height, d >= T(0.0)
    else:
        right = x > a + T(1.0)
        small = gamma_log_mass(x, c) + log(_fraction(a, x) if right else _series(a, x))
    large = log1p(-exp(small))
    return (large, small) if right else (small, large)


@device_function
def gammainc(a, x):
    """The regularised lower incomplete gamma function P(a, x), a, x >= 0.

    Relative error at most 1e-14 where P is above 1e-13, 5e-16 |log P| below (float32: 1e-5, 3e-7 |log P|), measured for a from
    1e-10 to 2e5; NaN for negative arguments.
    """
    a, x = real(a), real(x)
    return _gamma_tails(type(a)(x), _short_constants(a))[0]


@device_function
def gammaincc(a, x):
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x); small ones accurate, errors as of `gammainc`."""
    a, x = real(a), real(x)
    return _gamma_tails(type(a)(x), _short_constants(a))[1]


@device_function
def _log_ratio(tail, target):
    """log(tail/target)."""
    T = type(tail)
    e = (tail - target) / target
    return log1p(e) if abs(e) < T(0.5) else log(tail) - log(target)


@device_function
def _halley(newton, bend):
    """Halley's step from Newton's, with the ratio `bend` of the second derivative to the first; and whether it may be the last.

    The error after it is of the size of the third derivative: step^3 times bend + bend^2. Without a `bend` the step is Newton's.
    """
    T = type(newton)
    rest = muladd(T(0.5) * newton, bend, T(1.0))
    step = newton / (T(0.5) if rest < T(0.5) else rest)
    turn = abs(bend) + bend * bend
    return step, abs(step) <= _settled(step) or (bend != T(0.0) and abs(step) * step * step * turn < _unit(step))


@device_function
def _gamma_start(p, z, c):
    """Wilson and Hilferty's quantile at p = ndtr(z), or what P = x^a/Gamma(a + 1) gives, which is below the quantile."""
    a, factor, log_factor, peak = c
    T = type(a)
    low = exp((log(p) - log_factor) / a)
    w = T(1.0) / (T(9.0) * a)
    cube = T(1.0) - w + z * T(math.sqrt(w))
    middle = a * (cube * cube * cube) if cube > T(0.0) else T(0.0)
    return middle if middle > low and a > T(0.3) else low


@device_function(inline=False)
def gamma_quantile(p, q, upper, c):
    """x with P(a, x) = p, or with Q(a, x) = q where `upper`, for 0 < p, q < 1 and a > 0: Halley's method over log x."""
    a, factor, log_factor, peak = c
    T = type(a)
    target = q if upper else p
    x = _gamma_start(p, -ndtri1(q) if upper else ndtri1(p), c)
    last, count = False, 0
    while not last and count < 100 and x > T(0.0):
        lower_tail, upper_tail, mass = gamma_tails(x, c)
        tail = upper_tail if upper else lower_tail
        if tail > _tiny(x) and mass > _tiny(x):
            slope = a * mass / tail
            gap = _log_ratio(tail, target)
            bend = a - x + slope if upper else a - x - slope
        else:  # leading terms far out in the tail
            slope = x + T(1.0) - a if upper else a * (T(1.0) - x / (a + T(1.0)))
            slope = slope if slope > T(0.0) else T(1.0)
            gap = gamma_log_mass(x, c) + log(a / slope) - log(target)
            bend = T(0.0)
        step, last = _halley(gap / slope if upper else -gap / slope, bend)
        step = T(3.0) if step > T(3.0) else step
        x = x * exp(step)
        count += 1
    return x


@device_function
def gammaincinv(a, p):
    """x with P(a, x) = p, 0 <= p <= 1: the quantile of the gamma distribution.

    The relative error is that of `gammainc` over the slope of log P in log x: at most 2e-14 for a from 0.1 to 1e4 and p from
    1e-250 to 1 - 1e-15 (float32, from 1e-30: 3e-5); for small a the slope is about a. 0 where x underflows, NaN outside.
    """
    a, p = real(a), real(p)
    T = type(a)
    p = T(p)
    if not (a > T(0.0) and a < T(np.inf) and p > T(0.0) and p < T(1.0)):
        return T(np.inf) if p == T(1.0) and a > T(0.0) else (T(0.0) if a >= T(0.0) and p == T(0.0) else T(np.nan))
    return gamma_quantile(p, T(1.0) - p, p > T(0.5), gamma_constants(a))


@device_function
def gammainccinv(a, q):
    """x with Q(a, x) = q: `gammaincinv` of 1 - q, accurate for small q."""
    a, q = real(a), real(q)
    T = type(a)
    q = T(q)
    if not (a > T(0.0) and a < T(np.inf) and q > T(0.0) and q < T(1.0)):
        return T(np.inf) if q == T(0.0) and a > T(0.0) else (T(0.0) if a >= T(0.0) and q == T(1.0) else T(np.nan))
    return gamma_quantile(T(1.0) - q, q, q <= T(0.5), gamma_constants(a))


# --- incomplete beta -------------------------------------------------------------------------------------------


@device_function(inline=False)
def beta_constants(a, b):
    """For functions of a, b >= 0 and x: a, b, -log B(a, b), and the peak of ``x^a (1 - x)^b/B(a, b)``: a logarithm and a factor.

    The factor is the smaller parameter where it is below 1: the logarithm of that would be large.
    """
    a, b = real(a), real(b)
    T = type(a)
    b = T(b)
    n = a + b
    small, large = (a, b) if a < b else (b, a)
    grown = log1p(small / large)  # log(n/large)
    factor = small if small < T(1.0) else T(1.0)
    if small >= T(10.0):
        peak = stirling_rest(n) - stirling_rest(large) - stirling_rest(small) + T(0.5) * (log(small) - grown) - T(_LOG_SQRT_2PI)
        return a, b, peak - small * log(small / n) + large * grown, peak, factor
    high, steps = large, T(0.0)  # log(Gamma(n)/Gamma(large)) by Stirling's formula from 10 on, with the digits of `small`
    while high < T(10.0):
        steps = steps + log1p(small / high)
        high = high + T(1.0)
    n_high = high + small
    ratio = muladd(high - T(0.5), log1p(small / high), small * log(n_high)) - small
    ratio = ratio + (stirling_rest(n_high) - stirling_rest(high)) - steps
    ratio = log(large) if small == T(1.0) else ratio  # so that the density of the uniform distribution is 1
    norm = ratio - (gammaln1p(small) if small <= T(1.0) else gammaln(small))  # without log(factor)
    return a, b, norm + log(factor), norm + small * log(small / n) - large * grown, factor


@device_function
def _below_peak(x, y, c):
    """Logarithm of ``x^a y^b/B(a, b)`` over the factor of its peak."""
    a, b, norm, peak, factor = c
    n = a + b
    left = x < y
    d = fma(n, x if left else y, -a if left else -b)  # n x - a, of which n y - b is the negative
    d = d if left else -d
    return peak - excess_by(a, n * x, d) - excess_by(b, n * y, -d)


@device_function
def beta_log_density(x, y, c):
    """Logarithm of ``x^a y^b/B(a, b)`` at x = 1 - y, both positive: the density of log(x/y)."""
    return _below_peak(x, y, c) + (log(c[4]) if c[4] < type(x)(1.0) else type(x)(0.0))


@device_function
def _beta_height(x, y, c):
    """The exponential of `beta_log_density`: of small ones as a product of powers, since errors of large logarithms are large."""
    a, b, norm, peak, factor = c
    T = type(a)
    logarithm = _below_peak(x, y, c)
    if logarithm > T(-20.0) or a >= T(10.0) and b >= T(10.0) or -logarithm < (a if a > b else b):  # powers enlarge x's rounding
        return factor * exp(logarithm)
    return pow(x, a) * (pow(y, b) * exp(norm))


@device_function
def _beta_fraction(a, b, x, y):
    """The continued fraction DLMF 8.17.22, fast for x < (a + 1)/(a + b + 2), by the recurrence of its convergents.

    Differences that are small next to x = 1 are taken from y = 1 - x.
    """
    T = type(a)
    n = a + b
    # convergents are over/under; `under` is 1 after every pair of terms
    before = T(1.0) + a
    turn = before / (before - n * x if x < y else T(1.0) - b + n * y)
    under_before, over_before, over = turn / before, turn / before, turn
    m, change = T(0.0), T(1.0)
    while abs(change) > T(10.0) * _unit(x) * abs(over) and m < T(20000.0):
        m = m + T(1.0)
        e = T(1.0) / muladd(T(2.0), m, a)
        even, odd = T(1.0) - e, T(1.0) + e  # denominators of the next two terms, over (a + 2 m)^2
        first = before * (m * ((b - m) * e) * (x * e))
        if x < y:
            rest = odd - ((a + m) * e) * ((n + m) * e) * x
        else:
            rest = e * (e * (a * (T(2.0) * m + T(1.0) - b) + m * (T(3.0) * m + T(2.0) - b) + (a + m) * ((n + m) * y)))
        under_even = muladd(first, under_before, even)
        over_even = muladd(first, over_before, even * over)
        under_odd = muladd(odd * first, under_before, even * rest)
        over_odd = muladd(odd * first, over_before, even * rest * over)
        scale = T(1.0) / under_odd
        change = muladd(over_odd, scale, -over)
        over = over_odd * scale
        under_before, over_before, before = under_even * scale, over_even * scale, odd
    return over


@device_function
def _beta_share(s, data):
    """The density at x - s over the power ``x^a y^b/B(a, b)``."""
    a, b, x, y, d, level = data
    n = a + b
    less, more, moved = x - s, y + s, d - n * s
    fall = excess_by(a, n * less, moved) + excess_by(b, n * more, -moved) - level
    return exp(-fall) / (less * more)


_beta_panel = legendre(_beta_share, 32)


@device_function
def _beta_integral(a, b, x, y):
    """The lower tail over ``x^a y^b/B(a, b)`` for large a, b: the integral of the density from 0 to x, by Gauss and Legendre."""
    T = type(a)
    n = a + b
    d = fma(n, x, -a) if x < y else -fma(n, y, -b)
    slope = -d / (x * y)
    slope = T(0.0) if slope < T(0.0) else slope
    bend = a / (x * x) + b / (y * y)
    width = T(80.0) / (slope + T(math.sqrt(slope * slope + T(80.0) * bend)))  # where the density has fallen by exp(-40)
    width = x if width > x else width
    level = excess_by(a, n * x, d) + excess_by(b, n * y, -d)
    return _beta_panel(width, (a, b, x, y, d, level))


@device_function
def _beta_factor(a, b, x, y):
    """The lower tail over ``x^a y^b/B(a, b)``; the fraction is fast below the mean or so."""
    if a >= type(a)(_LARGE) and b >= type(a)(_LARGE) and x > type(a)(1e-100):  # squares of x are no doubles below
        return _beta_integral(a, b, x, y)
    return _beta_fraction(a, b, x, y) / a


@device_function
def _is_below(a, b, x, y):
    """Whether the lower tail is the smaller one, or near to that."""
    T = type(a)
    n = a + b + T(2.0)
    return x * n < a + T(1.0) if x < y else y * n > b + T(1.0)


@device_function
def _beta_special(a, b, x, y):
    """I and 1 - I at the ends; -1 twice where there is something to compute."""
    T = type(a)
    if not (a >= T(0.0) and b >= T(0.0) and x >= T(0.0) and y >= T(0.0) and a + b > T(0.0) and a + b < T(np.inf)):
        return T(np.nan), T(np.nan)
    if x == T(0.0) or b == T(0.0):
        return T(0.0), T(1.0)
    if y == T(0.0) or a == T(0.0):
        return T(1.0), T(0.0)
    return T(-1.0), T(-1.0)


@device_function(inline=False)
def beta_tails(x, y, c):
    """I, 1 - I and ``x^a y^b/B(a, b)`` at x = 1 - y."""
    T = type(c[0])
    lower, upper = _beta_special(c[0], c[1], x, y)
    if lower != T(-1.0):
        return lower, upper, T(0.0)
    height = _beta_height(x, y, c)
    if height == T(0.0):
        below = x * (c[0] + c[1]) < c[0]
        return (T(0.0), T(1.0), height) if below else (T(1.0), T(0.0), height)
    a, b, below = c[0], c[1], _is_below(c[0], c[1], x, y)
    tail = height * (_beta_factor(a, b, x, y) if below else _beta_factor(b, a, y, x))
    return (tail, T(1.0) - tail, height) if below else (T(1.0) - tail, tail, height)


@device_function(inline=False)
def beta_log_tails(x, y, c):
    """Logarithms of I and 1 - I at x = 1 - y, also where they underflow."""
    T = type(c[0])
    lower, upper = _beta_special(c[0], c[1], x, y)
    if lower != T(-1.0):
        return log(lower), log(upper)
    a, b, below = c[0], c[1], _is_below(c[0], c[1], x, y)
    tail = beta_log_density(x, y, c) + log(_beta_factor(a, b, x, y) if below else _beta_factor(b, a, y, x))
    other = log1p(-exp(tail))
    return (tail, other) if below else (other, tail)


@device_function
def beta_closed(a, b, x, y):
    """I and 1 - I at x = 1 - y where they have a closed form: at the ends, a = b = 1/2, small whole parameters; else -1 twice."""
    T = type(a)
    lower, upper = _beta_special(a, b, x, y)
    if lower != T(-1.0):
        return lower, upper
    below = _is_below(a, b, x, y)
    a, b, x, y = (a, b, x, y) if below else (b, a, y, x)
    small = T(-1.0)
    if a == T(0.5) and b == T(0.5):
        small = T(2.0 / math.pi) * atan(T(math.sqrt(x / y)))
    elif a < T(_FEW) and b < T(_FEW) and b == T(math.floor(b)):
        small = _beta_sum(a, b, x, y)
    other = T(1.0) - small if small >= T(0.0) else small
    return (small, other) if below else (other, small)


@device_function
def _beta_sum(a, b, x, y):
    """The lower tail for whole b, by a sum of b positive terms; -1 where the power underflows."""
    T = type(a)
    k, term = T(1.0), pow(x, a)
    if not term > _tiny(x):
        return T(-1.0)
    total = term
    while k < b and term > _unit(x) * total:
        term = term * (y * ((a + k - T(1.0)) / k))
        total = total + term
        k = k + T(1.0)
    return total


@device_function
def _beta_pair(a, b, x, y):
    """I and 1 - I at x = 1 - y, without constants where both parameters are small."""
    T = type(a)
    lower, upper = beta_closed(a, b, x, y)
    if lower != T(-1.0):
        return lower, upper
    if a >= T(8.0) or b >= T(8.0):
        lower, upper, height = beta_tails(x, y, beta_constants(a, b))
        return lower, upper
    n = a + b
    below = _is_below(a, b, x, y)
    height = pow(x, a) * pow(y, b) * (_rgamma1p(a) * _rgamma1p(b) / _rgamma1p(n) / n)
    small = height * (b * _beta_fraction(a, b, x, y) if below else a * _beta_fraction(b, a, y, x))
    return (small, T(1.0) - small) if below else (T(1.0) - small, small)


@device_function
def betainc(a, b, x):
    """The regularised incomplete beta function I(x; a, b), a, b >= 0, 0 <= x <= 1.

    Relative error at most 1e-13 for a and b up to 1e3, 4e-13 above (float32: 4e-5, 4e-4), where I is above 1e-13; below, in
    units of |log I|, 1e-15 and 4e-15 (float32: 3e-7, 1e-6). Measured from 1e-6 to 1e5; the time goes with the root of the larger
    parameter, but where both are above 3e4.
    """
    a, b, x = real(a), real(b), real(x)
    T = type(a)
    return _beta_pair(a, T(b), T(x), T(1.0) - T(x))[0]


@device_function
def betaincc(a, b, x):
    """1 - I(x; a, b), small ones accurate; errors as of `betainc` for a >= 0.1, below that 1e-15/a."""
    a, b, x = real(a), real(b), real(x)
    T = type(a)
    return _beta_pair(a, T(b), T(x), T(1.0) - T(x))[1]


@device_function
def _beta_start(p, q, upper, c):
    """log(x/(1 - x)) next to the quantile."""
    a, b, norm, peak, factor = c
    T = type(a)
    n = a + b
    if a > T(1.0) and b > T(1.0):
        u, v = T(1.0) / (T(2.0) * a - T(1.0)), T(1.0) / (T(2.0) * b - T(1.0))
        z = ndtri1(q) if upper else -ndtri1(p)
        h, level = T(2.0) / (u + v), (z * z - T(3.0)) / T(6.0)
        inner = h + level
        w = z * T(math.sqrt(inner if inner > T(0.0) else T(0.0))) / h
        return log(a / b) - T(2.0) * (w - (v - u) * (level + T(5.0 / 6.0) - T(2.0) / (T(3.0) * h)))
    left, right = exp(a * log(a / n)) / a, exp(b * log(b / n)) / b  # the integrals of the powers at 0 and at 1 to the mean
    if p * (left + right) < left:
        log_x = (log(a * (left + right)) + log(p)) / a
        return log_x - log1p(-exp(log_x if log_x < T(-1e-3) else T(-1e-3)))
    log_y = (log(b * (left + right)) + log(q)) / b
    return log1p(-exp(log_y if log_y < T(-1e-3) else T(-1e-3))) - log_y


@device_function(inline=False)
def beta_quantile(p, q, upper, c):
    """x and 1 - x with I = p, or with 1 - I = q where `upper`, for 0 < p, q < 1 and a, b > 0.

    By Halley's method over log(x/(1 - x)). x is 0 where it is below 3e-308 (float32: 1e-37), as is 1 - x.
    """
    a, b, norm, peak, factor = c
    T = type(a)
    target = q if upper else p
    t, last, count = _beta_start(p, q, upper, c), False, 0
    x, y = T(0.5), T(0.5)
    while True:
        t = _lowest(t) if t < _lowest(t) else t
        t = -_lowest(t) if t > -_lowest(t) else t
        e = exp(-abs(t))
        small, large = e / (T(1.0) + e), T(1.0) / (T(1.0) + e)
        x, y = (small, large) if t < T(0.0) else (large, small)
        if last or count == 100:
            break
        lower_tail, upper_tail, height = beta_tails(x, y, c)
        tail = upper_tail if upper else lower_tail
        if tail > _tiny(x) and height > _tiny(x):
            slope = height / tail
            gap = _log_ratio(tail, target)
            bend = a * y - b * x + slope if upper else a * y - b * x - slope
        else:
            slope = b * x - a * y if upper else a * y - b * x
            slope = slope if slope > T(0.0) else T(1.0)
            gap = beta_log_density(x, y, c) - log(slope) - log(target)
            bend = T(0.0)
        step, last = _halley(gap / slope if upper else -gap / slope, bend)
        limit = T(0.25) * abs(t) + T(4.0)
        step = limit if step > limit else (-limit if step < -limit else step)
        last = last or (t == _lowest(t) and step < T(0.0)) or (t == -_lowest(t) and step > T(0.0))
        t = t + step
        count += 1
    return (T(0.0), T(1.0)) if t == _lowest(t) else ((T(1.0), T(0.0)) if t == -_lowest(t) else (x, y))


@device_function(inline=False)
def betaincinv(a, b, p):
    """x with I(x; a, b) = p, 0 <= p <= 1: the quantile of the beta distribution.

    The relative error of x/(1 - x) is that of `betainc` over the slope: at most 1e-13 for a and b from 0.1 to 1e5 (float32: 1e-5
    from 10 to 1e5), besides the rounding of x; for small a the slope is about a. 0 where x is below 3e-308 (float32: 1e-37), 1
    where it rounds to 1; NaN for arguments outside.
    """
    a, b, p = real(a), real(b), real(p)
    T = type(a)
    b, p = T(b), T(p)
    if not (a > T(0.0) and b > T(0.0) and a + b < T(np.inf) and p > T(0.0) and p < T(1.0)):
        proper = a > T(0.0) and b > T(0.0) and (p == T(0.0) or p == T(1.0))
        return p if proper else T(np.nan)
    return beta_quantile(p, T(1.0) - p, p > T(0.5), beta_constants(a, b))[0]
