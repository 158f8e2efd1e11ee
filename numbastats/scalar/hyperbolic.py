"""Bessel functions K of real order, and the densities of the generalised hyperbolic family and of Student's t."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bessel import k0e, k1e
from numbastats.scalar.bits import by_dtype, horner, real
from numbastats.scalar.elementary import exp, exp_neg, expm1, log, log1p
from numbastats.scalar.special import gamma_half_ratio, gammaln

__all__ = [
    "gh_log_norm",
    "gh_logpdf",
    "gh_logpdf_of_sum",
    "gh_nodes",
    "gh_pdf",
    "gh_pdf_of_sum",
    "log_k_half_terms",
    "log_k_one_terms",
    "log_k_terms",
    "log_kve",
    "on_the_left",
    "on_the_right",
    "student_logpdf",
    "student_pdf",
]

_LOG_SQRT_HALF_PI = 0.22579135264472744
_LOG_2 = 0.6931471805599453
_LOG_SQRT_2PI = 0.9189385332046727
_GAMMA_RATIO = horner(  # log(Gamma(1 - v)/Gamma(1 + v))/(2 v) in v^2, v <= 1/2: absolute error 1.2e-16
    0.57721566490153295,
    0.40068563438641296,
    0.20738555105511874,
    0.14404989445673963,
    0.1113343705307012,
    0.09095120955569887,
    0.076980601485939563,
    0.066120793000001293,
    0.063054188508063887,
    0.030552885081373107,
    0.12342319639316405,
    -0.11607286096444089,
    0.21134667460348935,
)


@device_function
def _log_k_small(v, log_z):
    """log K(z) of order 0 <= v < 1/2 from log z, relative error of K about z^2.

    The leading terms of K = (Gamma(v) (2/z)^v + Gamma(-v) (z/2)^v)/2 together: K = Gamma(1 + v) (2/z)^v (1 - e^(-2 v m))/(2 v),
    m = log(2/z) - log(Gamma(1 - v)/Gamma(1 + v))/(2 v).
    """
    T = type(log_z)
    start = T(_LOG_2) - log_z
    m = start - _GAMMA_RATIO(v * v)
    if not (v * m > T(1e-8)):  # so small an order counts as 0
        return log(m)
    return gammaln(T(1.0) + v) + v * start + log(-expm1(T(-2.0) * (v * m)) / (v + v))


@device_function
def _arcosh1p(x):
    """Inverse hyperbolic cosine of 1 + x."""
    T = type(x)
    return log1p(x + T(math.sqrt(x * (x + T(2.0)))))


# Order 1. Up to z = 1, z K = 1 + 2 t (log(z/2) P(t) - Q(t)), t = z^2/4, by its power series; beyond, sqrt(2 z/pi) e^z K is a
# rational function of 1/z, fitted here by weighted least squares in 60 digits, relative error 2.6e-17.
_K1_P = horner(
    1.0,
    0.5,
    0.083333333333333333,
    0.0069444444444444444,
    0.00034722222222222222,
    1.1574074074074074e-05,
    2.7557319223985891e-07,
    4.9209498614260519e-09,
    6.834652585313961e-11,
    7.5940584281266233e-13,
)
_K1_Q = horner(
    -0.077215664901532861,
    0.33639216754923357,
    0.090787583480427817,
    0.0095910949196652811,
    0.00055767974598326405,
    2.0711238446355715e-05,
    5.3577295704559043e-07,
    1.022643001796939e-08,
    1.5010243732945939e-10,
    1.747964364846441e-12,
)
_K1_OVER = horner(
    1.0,
    14.707957903021901,
    80.502760169217214,
    210.69870121977798,
    282.84796176619111,
    194.37996957441763,
    64.165845492491459,
    8.6258659875558415,
    0.30445510318241059,
)
_K1_UNDER = horner(
    1.0,
    14.332957903021939,
    75.245088455574916,
    184.05889749156403,
    221.31816645679511,
    127.02867215913637,
    31.140667159257072,
    2.4992932402979088,
    0.027906950568670267,
)


@device_function
def _log_k1e(z):
    """log(e^z K(z)) of order 1; error 4.9e-16, relative where the logarithm is above 1."""
    T = type(z)
    if z > T(1.0):
        y = T(1.0) / z
        ratio = _K1_OVER(y) / _K1_UNDER(y)
        return T(_LOG_SQRT_HALF_PI) + T(0.5) * log(ratio * ratio * y)
    t = T(0.25) * z * z
    log_z = log(z)
    return log1p((t + t) * ((log_z - T(_LOG_2)) * _K1_P(t) - _K1_Q(t)) if t > T(0.0) else t) - log_z + z


# K = 1/2 int exp(-z cosh t + v t) dt by the trapezoidal rule, which converges geometrically: from the peak sinh t* = v/z,
# w = sqrt(z^2 + v^2), the exponent falls by w (cosh s - 1) + v (sinh s - s) on the right and by
# (w - v)(cosh s - 1) + v (s - 1 + e^-s) on the left; the step is 0.19, shorter where the peak is narrow.


@device_function
def _nodes(v, z):
    """Parameters of the sum for order v: w, w - v, step h, e^h - 1, numbers of nodes on the right and on the left."""
    T = type(z)
    w = T(math.sqrt(z * z + v * v)) if z < T(1e18) else z  # its square overflows
    rest = z * (z / (w + v)) if w > T(0.0) else T(0.0)  # w - v
    h = T(0.6) / T(math.sqrt(w))
    h = h if h < T(0.19) else T(0.19)
    drop = T(39.0)  # where the integrand is cut: e^-39
    slow = _arcosh1p(drop / (rest if rest > T(1e-35) else T(1e-35)))
    part = drop / v if v > T(0.4) else T(999.0)  # s - 1 + e^-s is above s - 1 and above s^2/(2 + s)
    fast = T(1.0) + part if part > T(1.0) else T(0.5) * part + T(math.sqrt(part * (T(0.25) * part + T(2.0))))
    right = T(np.int32(_arcosh1p(drop / w) / h)) + T(1.0)
    return w, rest, h, expm1(h), right, T(np.int32((slow if slow < fast else fast) / h)) + T(1.0)


@device_function
def on_the_right(n, v, w, h, grow, grown, right, total):
    """e^s - 1 at node n >= 1 from that of the node before, to a rounding also where s is small, and the sum up to this node."""
    T = type(v)
    s = T(n) * h
    grown = grown + (grow + grow * grown)
    fallen = grown / (T(1.0) + grown)  # 1 - e^-s
    term = exp_neg(-(w * (T(0.5) * grown * fallen) + v * (T(0.5) * (grown + fallen) - s)))
    return grown, total + (term if T(n) <= right else T(0.0))


@device_function
def on_the_left(n, v, rest, h, grow, grown, left, total):
    """`on_the_right` for a node on the left of the peak."""
    T = type(v)
    s = T(n) * h
    grown = grown + (grow + grow * grown)
    fallen = grown / (T(1.0) + grown)
    term = exp_neg(-(rest * (T(0.5) * grown * fallen) + v * (s - fallen)))
    return grown, total + (term if T(n) <= left else T(0.0))


@device_function
def _log_of_sum(v, z, w, h, total):
    """log(e^z K(z)) from the sum of the trapezoidal rule."""
    T = type(z)
    arsinh = log(v + w) - log(z) if z < T(1e-8) else log((v + w) / z)  # of v/z, without overflow
    peak = v * arsinh - v * (v / (w + z)) if v > T(0.0) else T(0.0)
    return peak + log(T(0.5) * h * total)


@device_function
def _small(v, z):
    """Whether the left side is long and the leading terms of the series are enough."""
    T = type(z)
    return v < T(0.5) and T(1.0) + z * z == T(1.0)


@device_function
def log_kve(order, z):
    """log(e^z K(z)) of real order, z >= 0; relative error of K about 1e-15 (order, z) up to some hundreds.

    Orders 1/2 and 1, and those below 1/2 for z next to 0, have their own formulas, others are a sum.
    """
    order, z = real(order), real(z)
    T = type(z)
    v = abs(order)
    if v == T(0.5):
        return T(_LOG_SQRT_HALF_PI) - T(0.5) * log(z)
    if v == T(1.0):
        return _log_k1e(z)
    if _small(v, z):
        return _log_k_small(v, log(z)) + z
    w, rest, h, grow, right, left = _nodes(v, z)
    grown, total = T(0.0), T(1.0)
    for n in range(np.int32(right)):
        grown, total = on_the_right(n + 1, v, w, h, grow, grown, right, total)
    grown = T(0.0)
    for n in range(np.int32(left)):
        grown, total = on_the_left(n + 1, v, rest, h, grow, grown, left, total)
    return _log_of_sum(v, z, w, h, total)


# log K(z) with derivatives, for likelihoods: by z, twice by z, by the order, twice by the order, and by both. The second
# derivative by z is that of Bessel's equation, K'' = (1 + v^2/z^2) K - K'/z. Double precision.


@device_function
def log_k_half_terms(order, z):
    """log K(z) of order 1/2 or -1/2 and its derivatives by z; those by the order are given as 0."""
    back = 0.5 / z
    return _LOG_SQRT_HALF_PI - 0.5 * log(z) - z, -1.0 - back, back / z, 0.0, 0.0, 0.0


@device_function
def log_k_one_terms(order, z):
    """log K(z) of order 1 or -1 and its derivatives by z; those by the order are given as 0."""
    k, back = k1e(z), 1.0 / z
    first = -k0e(z) / k - back
    return log(k) - z, first, 1.0 + back * back - first * (back + first), 0.0, 0.0, 0.0


@device_function(inline=False)
def log_k_terms(order, z):
    """log K(z) of any order and its derivatives by z and the order, relative errors of K and the first ones about 1e-15.

    K = 1/2 int exp(v t - z cosh t) dt: the derivatives are moments of t and z cosh t under the integrand, by the sum of
    `log_kve`. With s from the peak on, z cosh t = w + y and y = v s + the fall of the exponent.
    """
    v = abs(order)
    w, rest, h, grow, right, left = _nodes(v, z)
    s0, s1, s2, sy, sty = 1.0, 0.0, 0.0, 0.0, 0.0
    grown = 0.0
    for n in range(np.int32(right)):
        s = (n + 1) * h
        grown = grown + (grow + grow * grown)
        fallen = grown / (1.0 + grown)
        fall = w * (0.5 * grown * fallen) + v * (0.5 * (grown + fallen) - s)
        e, y = exp_neg(-fall), fall + v * s
        s0, s1, s2, sy, sty = s0 + e, s1 + e * s, s2 + e * (s * s), sy + e * y, sty + e * (s * y)
    grown = 0.0
    for n in range(np.int32(left)):
        s = (n + 1) * h
        grown = grown + (grow + grow * grown)
        fallen = grown / (1.0 + grown)
        fall = rest * (0.5 * grown * fallen) + v * (s - fallen)
        e, y = exp_neg(-fall), fall - v * s
        s0, s1, s2, sy, sty = s0 + e, s1 - e * s, s2 + e * (s * s), sy + e * y, sty - e * (s * y)
    s1, s2, sy, sty = s1 / s0, s2 / s0, sy / s0, sty / s0
    back = 1.0 / z
    first = -(w + sy) * back
    second = 1.0 + v * back * (v * back) - first * (back + first)
    by_order, mixed = log((v + w) * back) + s1, -(sty - s1 * sy) * back
    if order < 0.0:
        by_order, mixed = -by_order, -mixed
    return _log_of_sum(v, z, w, h, s0) - z, first, second, by_order, s2 - s1 * s1, mixed


_tiny = by_dtype(device_function(lambda x: 1e-290), device_function(lambda x: np.float32(1e-35)))


@device_function
def _log_k_limit(v, log_z):
    """log K(z) of order v >= 1/2 from log z, as z goes to 0."""
    T = type(v)
    return gammaln(v) + (v - T(1.0)) * T(_LOG_2) - v * log_z


@device_function
def _log_kve_of_product(order, a, b):
    """`log_kve` at z = a b, also where the product underflows: there the leading terms of the series, from log z."""
    T = type(a)
    z = a * b
    if z > _tiny(z):
        return log_kve(order, z)
    v, log_z = abs(order), log(a) + log(b)
    return _log_k_small(v, log_z) if v < T(0.5) else _log_k_limit(v, log_z)


@device_function
def gh_log_norm(lam, alpha, beta, delta):
    """Log of the constant of `gh_logpdf`; NaN out of the domain.

    delta > 0 with alpha > |beta|, or delta = 0 with lam > 0 (variance gamma).
    """
    lam = real(lam)
    T = type(lam)
    good = alpha > abs(beta) and alpha < T(np.inf) and delta >= T(0.0) and delta < T(np.inf) and abs(lam) < T(np.inf)
    if not good or (delta == T(0.0) and not lam > T(0.0)):
        return T(np.nan)
    gamma = T(math.sqrt(alpha - beta)) * T(math.sqrt(alpha + beta))
    if delta == T(0.0):
        return T(2.0) * lam * log(gamma) - (lam - T(0.5)) * log(alpha + alpha) - T(0.5723649429247001) - gammaln(lam)
    ratio = gamma / delta
    log_ratio = log(ratio) if T(1e-290) < ratio < T(1e290) else log(gamma) - log(delta)
    norm = lam * log_ratio - (lam - T(0.5)) * log(alpha) - T(_LOG_SQRT_2PI)
    return norm - _log_kve_of_product(lam, delta, gamma)


@device_function
def _gh_fall(s, alpha, beta, delta, g):
    """``alpha g - beta s - delta gamma``, which is >= 0, without cancellation; g = sqrt(delta^2 + s^2)."""
    T = type(s)
    gamma = T(math.sqrt(alpha - beta)) * T(math.sqrt(alpha + beta))
    a, b = abs(s), abs(beta)
    q = gamma * a - b * delta  # 0 at the largest value
    whole = gamma * g + alpha * delta  # it may underflow next to a pole
    same = q * (q / whole) * ((gamma * a + b * delta) / (alpha * a + b * g)) if whole > T(0.0) else T(0.0)
    other = alpha * (a * (a / (g + delta))) + b * a + delta * (b * (b / (alpha + gamma)))
    return same if (s > T(0.0)) == (beta > T(0.0)) and a > T(0.0) else other


@device_function
def _gh_length(s, delta):
    """sqrt(delta^2 + s^2) without overflow."""
    T = type(s)
    a = abs(s)
    big = a if a > delta else delta
    small = delta if a > delta else a
    ratio = small / big if big > T(0.0) else T(0.0)
    return big * T(math.sqrt(T(1.0) + ratio * ratio)) if a < T(np.inf) else a


@device_function
def gh_nodes(x, lam, alpha, delta, mu):
    """|lam - 1/2| and `_nodes` of the Bessel function in `gh_logpdf`; no nodes where it is no sum."""
    x = real(x)
    T = type(x)
    v, z = abs(lam - T(0.5)), alpha * _gh_length(x - mu, delta)
    if v == T(0.5) or v == T(1.0) or not (z > _tiny(z) and T(4.0) * z < T(np.inf) and v < T(np.inf)) or _small(v, z):
        return v, T(1.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)
    w, rest, h, grow, right, left = _nodes(v, z)
    return v, w, rest, h, grow, right, left


@device_function
def gh_logpdf_of_sum(x, lam, alpha, beta, delta, mu, log_norm, w, h, total):
    """`gh_logpdf` from the sum of its Bessel function; it is evaluated here for h = 0."""
    x = real(x)
    T = type(x)
    s = x - mu
    a = abs(s)
    v = lam - T(0.5)
    g = _gh_length(s, delta)
    if not (T(4.0) * (alpha * g) < T(np.inf)):  # so far out that the exponent would overflow
        return T(-np.inf) if a == a and log_norm == log_norm and mu == mu and abs(mu) < T(np.inf) else T(np.nan)
    if g == T(0.0) and not v > T(0.0):
        return T(np.inf) if log_norm == log_norm else T(np.nan)
    if v >= T(0.5) and alpha * g <= _tiny(g) or g == T(0.0):  # the limit of g^v K_v(alpha g)
        return log_norm + _log_k_limit(v, log(alpha))
    bessel = _log_of_sum(abs(v), alpha * g, w, h, total) if h > T(0.0) else _log_kve_of_product(v, alpha, g)
    return log_norm + v * log(g) + bessel - _gh_fall(s, alpha, beta, delta, g)


@device_function
def gh_pdf_of_sum(x, lam, alpha, beta, delta, mu, log_norm, w, h, total):
    """Density from the sum of its Bessel function, see `gh_logpdf_of_sum`."""
    return exp(gh_logpdf_of_sum(x, lam, alpha, beta, delta, mu, log_norm, w, h, total))


@device_function
def gh_logpdf(x, lam, alpha, beta, delta, mu, log_norm):
    """Log density of the generalised hyperbolic distribution at x, given `gh_log_norm`.

    log f = log_norm + v log g + log(K_v(alpha g) e^(alpha g)) - (alpha g - beta s - delta gamma), with s = x - mu,
    g = sqrt(delta^2 + s^2), v = lam - 1/2, gamma^2 = alpha^2 - beta^2. -inf where 4 alpha g overflows.
    """
    x = real(x)
    none = type(x)(0.0)
    return gh_logpdf_of_sum(x, lam, alpha, beta, delta, mu, log_norm, none, none, none)


@device_function
def gh_pdf(x, lam, alpha, beta, delta, mu, log_norm):
    """Density of the generalised hyperbolic distribution at x, given `gh_log_norm`."""
    return exp(gh_logpdf(x, lam, alpha, beta, delta, mu, log_norm))


@device_function
def student_logpdf(x, nu):
    """Log density of Student's t with nu > 0 degrees of freedom; NaN out of the domain."""
    x = real(x)
    T = type(x)
    q = x / T(math.sqrt(nu))
    a = abs(q)
    far, beyond = a > T(1e9), a == T(np.inf)  # where x is finite: nu < 1
    growth = T(2.0) * log(abs(x) if beyond else a) if far else log1p(q * q)
    growth = growth - log(nu) if beyond else growth
    norm = -log(T(math.sqrt(nu)) * T(1.7724538509055161) * gamma_half_ratio(T(0.5) * nu))
    value = norm - (T(0.5) * nu + T(0.5)) * growth
    return value if nu > T(0.0) and nu < T(np.inf) else T(np.nan)


@device_function
def student_pdf(x, nu):
    """Density of Student's t with nu > 0 degrees of freedom; NaN out of the domain."""
    return exp(student_logpdf(x, nu))
