"""Incomplete gamma and beta functions, regularised, and their inverses.

Both tails come in pairs, the smaller one computed, the other as 1 minus it. The power in front is taken from C. Loader's
deviance ("Fast and accurate computation of binomial probabilities", 2000), so that nothing cancels for large arguments.

Gamma: the series DLMF 8.7.1 and 8.7.3, the continued fraction 8.9.2 in its even form, and from a = 50 on around the mean
Temme's uniform expansion, DLMF 8.12.3-8.12.8 (N. M. Temme, SIAM J. Math. Anal. 10, 1979); which one where is much as in A. R.
DiDonato, A. H. Morris, ACM TOMS 12 (1986). Beta: the continued fraction DLMF 8.17.22, by W. J. Lentz's method.

Inverses: the distribution functions of log X (gamma) and log(X/(1 - X)) (beta) are log-concave, as are the upper tails, so that
Newton's method for the logarithm of a tail converges from any start, and never oscillates.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, horner, muladd, real
from numbastats.scalar.elementary import exp, expm1, log, log1p, pow
from numbastats.scalar.normal import ndtri1
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
    "poisson_log_mass_in_step",
]

_LOG_SQRT_2PI, _1_SQRT_2PI = 0.9189385332046727, 0.3989422804014327
_LN2 = 0.6931471805599453
_ARTANH = horner(*(1.0 / n for n in range(3, 37, 2)))  # (artanh(v)/v - 1)/v^2 in v^2, v <= 0.3
_tiny = by_dtype(device_function(lambda x: 1e-305), device_function(lambda x: np.float32(1e-37)))
_lowest = by_dtype(device_function(lambda x: -690.0), device_function(lambda x: np.float32(-86.0)))
_gone = by_dtype(device_function(lambda x: 1000.0), device_function(lambda x: np.float32(200.0)))  # exp(-x) x^8 is 0
_unit = by_dtype(device_function(lambda x: 1e-17), device_function(lambda x: np.float32(1e-9)))  # where sums end
_settled = by_dtype(device_function(lambda x: 1e-9), device_function(lambda x: np.float32(2e-4)))  # its square is a rounding

# --- Poisson and binomial probabilities ------------------------------------------------------------------------


@device_function
def _excess(a, x):
    """x - a - a log(x/a) for a, x > 0 without cancellation: a times the deviance of x/a from 1."""
    T = type(a)
    d = x - a
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
def _mass(k, m):
    """The exponential of `poisson_log_mass`, for small k without a logarithm of m."""
    T = type(k)
    if k < T(8.0):
        far = m > _gone(m)
        m = T(1.0) if far else m
        scale = exp(-gammaln1p(k) if k <= T(1.0) else -gammaln(k + T(1.0)))
        return T(0.0) if far else pow(m, k) * (exp(-m) * scale)
    return exp(-(_excess(k, m) + stirling_rest(k))) * (T(_1_SQRT_2PI) / T(math.sqrt(k)))


@device_function
def binomial_log_mass(k, n, p, q):
    """Logarithm of the binomial probability of k in n, 0 <= k <= n, with chances p and q = 1 - p, both positive; k, n real."""
    k, n = real(k), real(n)
    return poisson_log_mass(k, n * p) + poisson_log_mass(n - k, n * q) - poisson_log_mass(n, n)


# --- incomplete gamma ------------------------------------------------------------------------------------------

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
def _uniform(a, x):
    """P and Q around x = a for a >= 50, |x - a| <= 0.4 a."""
    T = type(a)
    right = x >= a
    height = _excess(a, x)
    eta = T(math.sqrt(T(2.0) * height / a))
    eta = eta if right else -eta
    r = T(1.0) / a
    tail = muladd(r, muladd(r, muladd(r, _C8(eta), _C7(eta)), _C6(eta)), _C5(eta))
    s = muladd(r, muladd(r, muladd(r, muladd(r, muladd(r, tail, _C4(eta)), _C3(eta)), _C2(eta)), _C1(eta)), _C0(eta))
    s = s * (T(_1_SQRT_2PI) / T(math.sqrt(a)))
    small = exp(-height) * muladd(T(0.5), erfcx(T(math.sqrt(height))), s if right else -s)
    return (T(1.0) - small, small) if right else (small, T(1.0) - small)


@device_function
def _next_to_0(a, x):
    """P and Q for a <= 1, x <= 1.5, where Q is of the size of a: DLMF 8.7.1, its first term apart."""
    T = type(a)
    n, term, total = T(0.0), T(1.0), T(0.0)
    while abs(term) > _unit(x):
        n = n + T(1.0)
        term = term * (-x / n)
        total = total + term / (a + n)
    total = a * total
    g = gammaln1p(a)
    first = muladd(a, log(x), -g)
    lower = pow(x, a) * exp(-g) * (T(1.0) + total)
    return lower, -muladd(exp(first), total, expm1(first))


@device_function
def _series(a, x):
    """P over ``x^a exp(-x)/Gamma(a + 1)``: DLMF 8.7.1 as 8.11.4, all terms positive."""
    T = type(a)
    n, term, total = a, T(1.0), T(1.0)
    while term > _unit(x) * total:
        n = n + T(1.0)
        term = term * (x / n)
        total = total + term
    return total


@device_function
def _fraction(a, x):
    """Q over the same, for x > a + 1: DLMF 8.9.2, its even part, by Lentz's method."""
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


@device_function(inline=False)
def _gamma_tails(a, x):
    """P(a, x) and Q(a, x)."""
    T = type(a)
    if not (a >= T(0.0) and x >= T(0.0)) or (a == x and (a == T(0.0) or a == T(np.inf))):
        return T(np.nan), T(np.nan)
    if x == T(0.0) or a == T(np.inf):
        return T(0.0), T(1.0)
    if a == T(0.0) or x == T(np.inf):
        return T(1.0), T(0.0)
    if a >= T(50.0) and abs(x - a) <= T(0.4) * a:
        return _uniform(a, x)
    if a <= T(1.0) and x <= T(1.5):
        return _next_to_0(a, x)
    mass = _mass(a, x)
    if x <= a + T(1.0):
        lower = mass * _series(a, x) if mass > T(0.0) else mass
        return lower, T(1.0) - lower
    upper = mass * _fraction(a, x) if mass > T(0.0) else mass
    return T(1.0) - upper, upper


@device_function
def gammainc(a, x):
    """The regularised lower incomplete gamma function P(a, x), a, x >= 0.

    Relative error at most 1e-14 where P is above 1e-13, 5e-16 |log P| below (float32: 1e-5, 3e-7 |log P|), measured for a from
    1e-10 to 2e5; NaN for negative arguments.
    """
    a, x = real(a), real(x)
    return _gamma_tails(a, x)[0]


@device_function
def gammaincc(a, x):
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x); small ones accurate, errors as of `gammainc`."""
    a, x = real(a), real(x)
    return _gamma_tails(a, x)[1]


@device_function
def _log_ratio(tail, target):
    """log(tail/target)."""
    T = type(tail)
    e = (tail - target) / target
    return log1p(e) if abs(e) < T(0.5) else log(tail) - log(target)


@device_function
def _gamma_start(a, p, z):
    """Wilson and Hilferty's quantile at p = ndtr(z), or what P = x^a/Gamma(a + 1) gives, which is below the quantile."""
    T = type(a)
    g = gammaln1p(a) if a <= T(1.0) else gammaln(a + T(1.0))
    low = exp((log(p) + g) / a)
    w = T(1.0) / (T(9.0) * a)
    cube = T(1.0) - w + z * T(math.sqrt(w))
    middle = a * (cube * cube * cube) if cube > T(0.0) else T(0.0)
    return middle if middle > low and a > T(0.3) else low


@device_function(inline=False)
def _gamma_quantile(a, p, q, upper):
    """x with P(a, x) = p, or with Q(a, x) = q where `upper`, by Newton's method for the logarithm of that tail over log x."""
    T = type(a)
    target = q if upper else p
    x = _gamma_start(a, p, -ndtri1(q) if upper else ndtri1(p))
    step, count = T(1.0), 0
    while abs(step) > _settled(a) and count < 100 and x > T(0.0):
        lower_tail, upper_tail = _gamma_tails(a, x)
        tail = upper_tail if upper else lower_tail
        mass = _mass(a, x)
        if tail > _tiny(x) and mass > _tiny(x):
            slope = a * mass / tail
            gap = _log_ratio(tail, target)
        else:  # leading terms far out in the tail
            slope = x + T(1.0) - a if upper else a * (T(1.0) - x / (a + T(1.0)))
            slope = slope if slope > T(0.0) else T(1.0)
            gap = poisson_log_mass(a, x) + log(a / slope) - log(target)
        step = gap / slope if upper else -gap / slope
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
    return _gamma_quantile(a, p, T(1.0) - p, p > T(0.5))


@device_function
def gammainccinv(a, q):
    """x with Q(a, x) = q: `gammaincinv` of 1 - q, accurate for small q."""
    a, q = real(a), real(q)
    T = type(a)
    q = T(q)
    if not (a > T(0.0) and a < T(np.inf) and q > T(0.0) and q < T(1.0)):
        return T(np.inf) if q == T(0.0) and a > T(0.0) else (T(0.0) if a >= T(0.0) and q == T(1.0) else T(np.nan))
    return _gamma_quantile(a, T(1.0) - q, q, q <= T(0.5))


# --- incomplete beta -------------------------------------------------------------------------------------------


@device_function
def _beta_mass(a, b, x, y):
    """``x^a y^b Gamma(a + b + 1)/(Gamma(a + 1) Gamma(b + 1))``, y = 1 - x: three Poisson probabilities."""
    n = a + b
    return _mass(a, n * x) * (_mass(b, n * y) / _mass(n, n))


@device_function
def _beta_fraction(a, b, x):
    """The continued fraction DLMF 8.17.22, fast for x < (a + 1)/(a + b + 2)."""
    T = type(a)
    c, n = T(1.0), a + b
    d = T(1.0) / (T(1.0) - n * x / (a + T(1.0)))
    h, m, change = d, T(0.0), T(0.0)
    while abs(change - T(1.0)) > T(10.0) * _unit(x) and m < T(20000.0):
        m = m + T(1.0)
        even = a + T(2.0) * m
        step = (m / (even - T(1.0))) * ((b - m) / even) * x
        d = T(1.0) / muladd(step, d, T(1.0))
        c = T(1.0) + step / c
        h = h * (c * d)
        step = -((a + m) / even) * ((n + m) / (even + T(1.0))) * x
        d = T(1.0) / muladd(step, d, T(1.0))
        c = T(1.0) + step / c
        change = c * d
        h = h * change
    return h


@device_function(inline=False)
def _beta_tails(a, b, x, y):
    """I and 1 - I at x = 1 - y."""
    T = type(a)
    if not (a >= T(0.0) and b >= T(0.0) and x >= T(0.0) and y >= T(0.0) and a + b > T(0.0) and a + b < T(np.inf)):
        return T(np.nan), T(np.nan)
    if x == T(0.0) or b == T(0.0):
        return T(0.0), T(1.0)
    if y == T(0.0) or a == T(0.0):
        return T(1.0), T(0.0)
    mass = _beta_mass(a, b, x, y)
    if x * (a + b + T(2.0)) < a + T(1.0):
        lower = mass * (b / (a + b)) * _beta_fraction(a, b, x) if mass > T(0.0) else T(0.0)
        return lower, T(1.0) - lower
    upper = mass * (a / (a + b)) * _beta_fraction(b, a, y) if mass > T(0.0) else T(0.0)
    return T(1.0) - upper, upper


@device_function
def betainc(a, b, x):
    """The regularised incomplete beta function I(x; a, b), a, b >= 0, 0 <= x <= 1.

    Relative error at most 1e-13 for a and b up to 1e3, 4e-13 up to 1e5 (float32: 4e-5, 4e-4), where I is above 1e-13; below, in
    units of |log I|, 1e-15 and 4e-15 (float32: 3e-7, 1e-6). Measured from 1e-6 to 1e5; the time goes with the root
    of the larger parameter.
    """
    a, b, x = real(a), real(b), real(x)
    return _beta_tails(a, b, x, type(a)(1.0) - x)[0]


@device_function
def betaincc(a, b, x):
    """1 - I(x; a, b), small ones accurate; errors as of `betainc` for a >= 0.1, below that 1e-15/a."""
    a, b, x = real(a), real(b), real(x)
    return _beta_tails(a, b, x, type(a)(1.0) - x)[1]


@device_function(inline=False)
def betaincinv(a, b, p):
    """x with I(x; a, b) = p, 0 <= p <= 1: the quantile of the beta distribution, by Newton's method over log(x/(1 - x)).

    The relative error of x/(1 - x) is that of `betainc` over the slope: at most 1e-13 for a and b from 0.1 to 1e5 (float32: 1e-5
    from 10 to 1e5), besides the rounding of x; for small a the slope is about a. 0 where x is below 1e-299 (float32: 1e-37), 1
    where it rounds to 1; NaN for arguments outside.
    """
    a, b, p = real(a), real(b), real(p)
    T = type(a)
    if not (a > T(0.0) and b > T(0.0) and a + b < T(np.inf) and p > T(0.0) and p < T(1.0)):
        proper = a > T(0.0) and b > T(0.0) and (p == T(0.0) or p == T(1.0))
        return T(p) if proper else T(np.nan)
    upper = p > T(0.5)
    target = T(1.0) - p if upper else T(p)
    t, step, count = log(a) - log(b), T(1.0), 0
    x, y = a / (a + b), b / (a + b)
    while abs(step) > _settled(a) and count < 100:
        lower_tail, upper_tail = _beta_tails(a, b, x, y)
        tail = upper_tail if upper else lower_tail
        mass = _beta_mass(a, b, x, y)
        if tail > _tiny(x) and mass > _tiny(x):
            slope = mass * (a / (a + b)) * b / tail
            gap = _log_ratio(tail, target)
        else:
            slope = b * x - a * y if upper else a * y - b * x
            slope = slope if slope > T(0.0) else T(1.0)
            gap = binomial_log_mass(a, a + b, x, y) + log((a / (a + b)) * b / slope) - log(target)
        step = gap / slope if upper else -gap / slope
        before, t = t, t + step
        t = _lowest(t) if t < _lowest(t) else t
        t = -_lowest(t) if t > -_lowest(t) else t
        step = T(0.0) if t == before else step  # also at an end twice
        e = exp(-abs(t))
        small, large = e / (T(1.0) + e), T(1.0) / (T(1.0) + e)
        x, y = (small, large) if t < T(0.0) else (large, small)
        count += 1
    return T(0.0) if t == _lowest(t) else x
