"""Alpha-stable laws: the formulas, one point at a time, in double precision.

Standard law in Nolan's S0 form, characteristic function exp(-|t|^a [1 + i b T sgn t (|t|^(1-a) - 1)]) with T = tan(pi a/2);
at a = 1: exp(-|t| [1 + i b (2/pi) sgn t log|t|]). With zeta = -b T, x1 = x - zeta is the S1 variable. Everything is computed for
x1 >= 0; the other half line is that of -x under (a, -b).

A point is six numbers (p, c, s, gp, gc, gs): density p e^-gp, distribution function c e^-gc, survival function s e^-gs. The
exponents stay apart so that logarithms survive where the values underflow.

Angles: L = pi/2 + theta0 and h0 = pi/2 - theta0 of Zolotarev's integral, k1 = pi - a L; each is computed without
cancellation, and exactly 0 where beta = +-1 makes it so.

References: J. P. Nolan, "Numerical calculation of stable densities and distribution functions" (1997); V. M. Zolotarev,
"One-dimensional stable distributions" (1986); J. M. Chambers, C. L. Mallows, B. W. Stuck (1976); R. Weron (1996).
"""

from __future__ import annotations

import math
from fractions import Fraction

from numbastats._core.compile import device_function
from numbastats.scalar.bits import fma, muladd
from numbastats.scalar.elementary import exp, expm1, log, log1p, sin, sincos, sincospi
from numbastats.scalar.philox import uniform52
from numbastats.scalar.special import erf, erfcx, gammaln

__all__ = []

_PI, _PI_LO = 3.141592653589793, 1.2246467991473532e-16
_INF, _NAN = math.inf, math.nan


# --- the tangent and zeta to twice the working precision -----------------------------------------------------------
# x - zeta loses digits next to zeta, where laws of small alpha have their spike.


def _double_double(n):
    exact = Fraction(1, math.factorial(n))
    high = float(exact)
    return high, float(exact - Fraction(high))


_INV_FACTORIAL = tuple(_double_double(n)[0] for n in range(28))
_INV_FACTORIAL_LO = tuple(_double_double(n)[1] for n in range(28))


@device_function
def mul_add(a, b, c):
    """A b + c; see `bits.muladd`."""
    return muladd(a, b, c)


@device_function
def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@device_function
def _dd_mul(a, al, b, bl):
    p = a * b
    e = fma(a, b, -p) + (a * bl + al * b)
    h = p + e
    return h, (p - h) + e


@device_function
def _dd_div(a, al, b, bl):
    q = a / b
    r = (fma(-q, b, a) + al - q * bl) / b
    h = q + r
    return h, (q - h) + r


@device_function
def _dd_taylor(z, zl, first):
    """Sum (-z)^k / (2k + first)!, |z| < 0.62, as a double-double: cos for first = 0, sin y / y for first = 1."""
    h, t = 0.0, 0.0
    for k in range(13, -1, -1):
        h, t = _dd_mul(h, t, -z, -zl)
        h, e = _two_sum(h, _INV_FACTORIAL[2 * k + first])
        t = t + (e + _INV_FACTORIAL_LO[2 * k + first])
    return h, t


@device_function
def tan_half_pi(a):
    """tan(pi a/2) as an unevaluated sum of two doubles, 0 < a <= 2, a != 1."""
    r = a if a <= 0.5 else (a - 1.0 if a < 1.5 else a - 2.0)  # exact
    y = r * (0.5 * _PI)
    yl = fma(r, 0.5 * _PI, -y) + r * (0.5 * _PI_LO)
    z, zl = _dd_mul(y, yl, y, yl)
    s, sl = _dd_taylor(z, zl, 1)
    s, sl = _dd_mul(s, sl, y, yl)
    c, cl = _dd_taylor(z, zl, 0)
    if a > 0.5 and a < 1.5:
        return _dd_div(-c, -cl, s, sl)
    return _dd_div(s, sl, c, cl)


@device_function
def centre(z, a, b, scale, s1):
    """(x0, x1, b T): both variables of a standardised z, given in the S1 form if s1 (a != 1), else S0."""
    th, tl = tan_half_pi(a)
    m = b * th
    ml = fma(b, th, -m) + b * tl
    if s1:
        return z - m, z, m
    s, e = _two_sum(z, m)
    return z, s + (e + ml), m


# --- geometry of Zolotarev's integral ---------------------------------------------------------------------------------


@device_function
def angles(a, b, m):
    """(h0, k1, L, eta) for the side x1 > 0; m = b T. a != 1."""
    p = a - 1.0
    t = -1.0 / math.tan(0.5 * _PI * p) if abs(p) < 0.5 else math.tan(0.5 * _PI * (a if a < 1.0 else a - 2.0))
    eta = abs(p) * (0.5 * _PI) if abs(b) == 1.0 else (math.atan(1.0 / m) if m > 0.0 else 0.0)
    if a < 1.0:
        h0 = math.atan2(t * (1.0 - b), 1.0 + b * t * t) / a
        k1 = a * h0 - p * _PI
        L = _PI - h0 if b != -1.0 else 0.0
    else:
        k1 = math.atan2(-t * (1.0 + b), 1.0 - b * t * t)
        L = math.atan2(-t * (1.0 + b), b * t * t - 1.0) / a if b > 0.0 else (_PI - k1) / a
        h0 = (p * _PI + k1) / a
    return h0, k1, L, eta


@device_function
def lengths(w, L):
    """Distances d0, d1 to the two ends and d theta/d w at w = log(d0/d1)."""
    e = exp(-abs(w))
    near = L / (1.0 + e)
    far = near * e
    d0, d1 = near if w >= 0.0 else far, far if w >= 0.0 else near
    return d0, d1, near * far / L


@device_function
def log_g(d0, d1, w, q):
    """log g at a point of the range of integration, from its distances to both ends. a != 1, away from a = 1."""
    a, p, h0, k1, log_c, x1c, ratio = q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    right = w >= 0.0
    sd = sin(d1 if right else h0 + d0)
    cc = sin(k1 + p * d1 if a > 1.0 else h0 - p * d0)
    sa = sin(k1 + a * d1 if right and a > 1.0 else a * d0)
    return ratio * log(x1c * sd / sa) + (log(cc / sd) - log_c)


@device_function
def log_g_near_one(d0, d1, w, q):
    """log g for a next to 1 and b T > 0: the logarithm that 1/(a - 1) multiplies is formed term by term."""
    a, p, h0, k1, log_c, x1c, ratio = q[0], q[1], q[2], q[3], q[4], q[5], q[6]
    right = w >= 0.0
    sd = sin(d1 if right else h0 + d0)
    cc = sin(k1 + p * d1 if a > 1.0 else h0 - p * d0)
    sa = sin(k1 + a * d1 if right and a > 1.0 else a * d0)
    e = p * d1 + q[9] if right else h0 - p * d0
    half, whole = sincos(0.5 * e), sincos(d1 + 0.5 * e)
    n = sd * q[10] - 2.0 * whole[1] * half[0]
    r = x1c * sd / sa
    return ratio * log1p(n / sa if r > 0.5 and r < 2.0 else r - 1.0) + (log(cc / sd) - log_c)


@device_function
def log_g_one(d0, d1, w, q):
    """log g at a = 1, b > 0."""
    b, x0 = q[7], q[8]
    right = w >= 0.0
    s, c = sincos(d1 if right else d0)
    c = c if right else -c
    k = (0.5 * _PI) * (1.0 + b) - b * d1 if right else (0.5 * _PI) * (1.0 - b) + b * d0
    return log((2.0 / _PI) * k / s) + (k * c / s - (0.5 * _PI) * x0) / b


@device_function
def log_g_any(w, L, q):
    """(d0, d theta/d w, log g) at w, whatever alpha."""
    d0, d1, jac = lengths(w, L)
    if q[11] == 2.0:
        return d0, jac, log_g_one(d0, d1, w, q)
    if q[11] == 1.0:
        return d0, jac, log_g_near_one(d0, d1, w, q)
    return d0, jac, log_g(d0, d1, w, q)


@device_function
def sweep_node(w, a, h0, k1, L, log_c):
    """(log g at x1 = 1, d theta/d w, d0 |d log g/d w|, d1 |d log g/d w|) for a != 1.

    By parts, the integrals of e^-g and 1 - e^-g are those of g e^-g |d log g| times the distance to one end or the other: all
    three integrands vanish at both ends, so equal steps in w converge geometrically. Not for light laws: see `light_cpu`.
    """
    p = a - 1.0
    d0, d1, jac = lengths(w, L)
    right = w >= 0.0
    s1, c1 = sincos(d1 if right else h0 + d0)
    s2, c2 = sincos(k1 + p * d1 if a > 1.0 else h0 - p * d0)
    s3, c3 = sincos(k1 + a * d1 if right and a > 1.0 else a * d0)
    c1 = c1 if right else -c1  # c1/s1 is the tangent of theta, c3/s3 the cotangent of a(theta0 + theta)
    c3 = -c3 if right and a > 1.0 else c3
    lg = a / p * log(s1 / s3) + (log(s2 / s1) + log_c / p)
    slope = abs(jac / p * (c1 / s1 + a * a * (c3 / s3) + p * p * (c2 / s2)))
    return lg, jac, d0 * slope, d1 * slope


@device_function
def integrands(lg, u, low):
    """(g e^-g, e^-g, 1 - e^-g) times u, the first two also times e^low; 0 where log g is NaN."""
    u = u if lg == lg else 0.0
    g = exp(lg if lg < 700.0 else 700.0)
    e = u * exp(min(low - g, 0.0))
    return g * e, e, -u * expm1(-g)


@device_function
def kronrod_node(d, L, q, low, turned):
    """The three integrands in theta, at the distance d from its lower end, or its upper end if turned > 0."""
    d0, d1 = L - d if turned > 0.0 else d, d if turned > 0.0 else L - d
    if q[11] == 2.0:
        lg = log_g_one(d0, d1, d0 - d1, q)
    else:
        lg = log_g_near_one(d0, d1, d0 - d1, q) if q[11] == 1.0 else log_g(d0, d1, d0 - d1, q)
    return integrands(lg, 1.0, low)


# --- series ---------------------------------------------------------------------------------------------------------------


@device_function
def series_at_infinity(x1, a, k1, L, m):
    """Expansion in x1^-a. Returns (p, s, g, ok): density p e^-g/x1, survival function s e^-g; ok is 1 if they are accurate."""
    lx = log(x1)
    g = a * lx if lx > 80.0 else 0.0
    y = 0.5 * log1p(m * m) - a * lx
    small = k1 > 0.5 * _PI
    phi = a * L if small else k1
    p, s, top, ok = 0.0, 0.0, 0.0, 0.0
    before = _INF
    # For a > 1 the smallest term has number n = (a^a e^y)^(-1/(a - 1)) and size e^(-(a - 1) n).
    last = 80 if a <= 1.0 or y + a * log(a) < -(a - 1.0) * log(30.0 / (a - 1.0)) else 1
    for k in range(1, last):
        bound = exp(gammaln(a * k + 1.0) - gammaln(k + 1.0) + (k * y + g))
        t = bound * sin(k * phi)
        t = -t if small and k % 2 == 0 else t
        p += t
        s += t / (a * k)
        top = max(top, bound * min(1.0, k * phi))
        if (a > 1.0 and bound > before) or (k == 5 and bound > 0.55 * before):
            break  # diverges, or would take too many terms
        before = bound
        if bound * k < 2e-17 * min(p, s * a):
            ok = 1.0 if top < 12.0 * min(p, s * a) else 0.0
            break
    return p / _PI, s / _PI, g, ok


@device_function
def series_at_zeta(x1, a, h0, log_c):
    """(density, integral of the density from zeta, 1 if accurate) by the expansion in x1; log_c = log cos(a theta0)."""
    p, d, top, ok, power = 0.0, 0.0, 0.0, 0.0, 1.0
    before = _INF
    r = 1.0 / a - 1.0  # for a < 1 the smallest term is e^(-r n)
    last = 80 if a >= 1.0 or x1 == 0.0 or log(x1) + (log_c - log(a)) / a < -r * log(30.0 / r) else 0
    for k in range(last):
        bound = exp(gammaln((k + 1.0) / a) - gammaln(k + 1.0) + (k + 1.0) / a * log_c) * power
        power *= x1
        t = bound * sin((k + 1.0) * h0)
        p += t
        d += t * x1 / (k + 1.0)
        top = max(top, bound * min(1.0, (k + 1.0) * h0))
        if (a < 1.0 and bound > before) or not bound < 1e300 or (k == 4 and bound > 0.55 * before):
            break
        before = bound
        if bound < 2e-17 * p:
            ok = 1.0 if top < 12.0 * p else 0.0
            break
    return p / (a * _PI), d / (a * _PI), ok


# --- next to the Cauchy law -------------------------------------------------------------------------------------------------
# With z = 1 + i x and E(t) = (1 - i b T)(t^a - t), f = Re[(1 + I)/z]/pi with I = int e^-s (e^-E(s/z) - 1) ds: a correction of
# the Cauchy density on the ray where e^(-z t) decays fastest. Zolotarev's integrand is a spike of width max(|a - 1|, |b|) there.


@device_function
def near_cauchy(x, a, b):
    """The six numbers where `by_the_ray` says so."""
    p = a - 1.0
    if abs(x) > 1e100:  # a = 1: the correction is what is left of the law of large numbers, a factor 1 +- beta
        up = (1.0 + (b if x > 0.0 else -b)) / _PI
        lx = log(abs(x))
        return (up, 1.0, up, 2.0 * lx, 0.0, lx) if x > 0.0 else (up, up, 1.0, 2.0 * lx, lx, 0.0)
    tp = -2.0 / _PI if p == 0.0 else -p / math.tan(0.5 * _PI * p)
    cr, ci = p, -b * tp
    n2 = 1.0 + x * x
    zr, zi = 1.0 / n2, -x / n2  # 1/z
    lam, phi = 0.5 * log1p(x * x), math.atan(x)
    step = 0.25
    fr, fi, si = 0.0, 0.0, 0.0
    for j in range(-164, 16):
        v = j * step
        s = exp(v)
        ur, ui = p * (v - lam), -p * phi
        # (e^u - 1)/u by its series, |u| < 1
        er, ei = 1.0, 0.0
        for k in range(15, 1, -1):
            er, ei = 1.0 + (er * ur - ei * ui) / k, (er * ui + ei * ur) / k
        lr, li = v - lam, -phi
        er, ei = er * lr - ei * li, er * li + ei * lr
        er, ei = er * cr - ei * ci, er * ci + ei * cr
        tr, ti = s * zr, s * zi
        er, ei = er * tr - ei * ti, er * ti + ei * tr
        # e^-E - 1
        h = math.sin(0.5 * ei)
        grow = expm1(-er)
        dr, di = grow - 2.0 * h * h * (grow + 1.0), -(grow + 1.0) * math.sin(ei)
        weight = step * exp(-s)
        fr += weight * s * dr
        fi += weight * s * di
        si += weight * di
    density = (zr + (fr * zr - fi * zi)) / _PI
    return density, (math.atan2(1.0, -x) - si) / _PI, (math.atan2(1.0, x) + si) / _PI, 0.0, 0.0, 0.0


@device_function
def by_the_ray(x, p, b):
    """Whether `near_cauchy` holds: the correction is small next to the Cauchy law or, near alpha = 1, far out in a heavy tail."""
    near = (abs(p) < 0.01) & (abs(b) < 0.01)
    far = (abs(x) > 50.0) & (1.0 + (b if x > 0.0 else -b) > 0.01)
    return (near | far) & (abs(p) * (41.0 + log(1.0 + abs(x))) < 0.8)


# --- closed forms -----------------------------------------------------------------------------------------------------------


@device_function
def _half_erfc(t):
    """(mantissa, exponent) of erfc(t)/2."""
    if t >= 0.0:
        return 0.5 * erfcx(t), t * t
    return 0.5 + 0.5 * erf(-t), 0.0


@device_function
def gauss(x):
    """The law of alpha = 2: normal with variance 2."""
    c, gc = _half_erfc(-0.5 * x)
    s, gs = _half_erfc(0.5 * x)
    return 0.28209479177387814, c, s, 0.25 * x * x, gc, gs


@device_function
def cauchy(x):
    """The law of alpha = 1, beta = 0."""
    big = abs(x) > 1e100
    p = 1.0 / (_PI * (1.0 + x * x)) if not big else 1.0 / _PI
    return p, math.atan2(1.0, -x) / _PI, math.atan2(1.0, x) / _PI, 2.0 * log(abs(x)) if big else 0.0, 0.0, 0.0


@device_function
def levy(x1):
    """The law of alpha = 1/2, beta = 1 in the S1 variable, x1 > 0."""
    r = 1.0 / x1
    t = math.sqrt(0.5 * r)
    g = 0.5 * r
    lx = log(x1)
    big = lx > 150.0
    p = 0.3989422804014327 if big else 0.3989422804014327 * r * math.sqrt(r)
    return p, erfcx(t), erf(t), g + (1.5 * lx if big else 0.0), g, 0.0


# --- one point ---------------------------------------------------------------------------------------------------------------


@device_function
def standardise(x, a, b, loc, scale, s1):
    """The standardised variable, in the form of the parameters; at a = 1 always S0. NaN out of the domain."""
    inside = (a > 0.0) & (a <= 2.0) & (abs(b) <= 1.0) & (scale > 0.0)
    z = (x - loc) / scale
    if s1 and a == 1.0:
        z -= b * (2.0 / _PI) * log(scale)
    return z if inside else _NAN


@device_function
def reflect(flip, v):
    """The six numbers of -x under (a, -b), for x under (a, b)."""
    p, c, s, gp, gc, gs = v
    return (p, s, c, gp, gs, gc) if flip else v


_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@device_function
def without_quadrature(z, a, b, s1, plain):
    """Closed forms and series. Returns (done, six numbers, flip, L, log of the minimum of g, q); done is 2 for `near_cauchy`.

    With `plain` only closed forms and x1 = 0 go without quadrature. If done is 0, the point needs Zolotarev's integral with the
    parameters q; flip says that it is for the reflected law.
    """
    none = (_NAN, _NAN, _NAN, 0.0, 0.0, 0.0)
    if not (z > -_INF and z < _INF):
        if z == _INF:
            return 1, (0.0, 1.0, 0.0, _INF, 0.0, _INF), False, 0.0, -_INF, _NOTHING
        if z == -_INF:
            return 1, (0.0, 0.0, 1.0, _INF, _INF, 0.0), False, 0.0, -_INF, _NOTHING
        return 1, none, False, 0.0, -_INF, _NOTHING
    if a == 2.0:
        return 1, gauss(z), False, 0.0, -_INF, _NOTHING
    p = a - 1.0
    if a == 1.0:
        if b == 0.0:
            return 1, cauchy(z), False, 0.0, -_INF, _NOTHING
        if not plain and by_the_ray(z, p, b):
            return 2, near_cauchy(z, a, b), False, 0.0, -_INF, _NOTHING
        flip = b < 0.0
        b = abs(b)
        x0 = -z if flip else z
        lowest = log(2.0 / _PI) - 1.0 - (0.5 * _PI) * x0 if b == 1.0 else -_INF
        return 0, none, flip, _PI, lowest, (a, p, 0.0, 0.0, 0.0, 0.0, 0.0, b, x0, 0.0, 0.0, 2.0)
    x0, x1, m = centre(z, a, b, 1.0, s1)
    flip = x1 < 0.0
    if flip:
        b, x0, x1, m = -b, -x0, -x1, -m
    h0, k1, L, eta = angles(a, b, m)
    if a < 1.0 and (b == -1.0 or (b == 1.0 and x1 == 0.0)):  # outside the support, and its end
        v = (0.0, 1.0, 0.0, _INF, 0.0, _INF) if b == -1.0 else (0.0, 0.0, 1.0, _INF, _INF, 0.0)
        return 1, reflect(flip, v), flip, L, -_INF, _NOTHING
    if a == 0.5 and b == 1.0:
        return 1, reflect(flip, levy(x1)), flip, L, -_INF, _NOTHING
    if x1 > 0.0 and not plain:
        d, s, g, ok = series_at_infinity(x1, a, k1, L, m)
        if ok > 0.0:
            lx = log(x1)
            v = (d, 1.0 - s * exp(-g), s, g + lx, 0.0, g) if g > 0.0 else (d / x1, 1.0 - s, s, 0.0, 0.0, 0.0)
            return 1, reflect(flip, v), flip, L, -_INF, _NOTHING
    log_c = -0.5 * log1p(m * m)
    d, s, ok = series_at_zeta(x1, a, h0, log_c) if x1 == 0.0 or not plain else (0.0, 0.0, 0.0)
    if ok > 0.0 and s < 0.3 * L / _PI:
        return 1, reflect(flip, (d, h0 / _PI + s, L / _PI - s, 0.0, 0.0, 0.0)), flip, L, -_INF, _NOTHING
    if not plain and by_the_ray(x0, p, b):
        return 2, reflect(flip, near_cauchy(x0, a, b)), flip, L, -_INF, _NOTHING
    x1c = x1 * exp(log_c)
    n, mode = 0.0, 0.0
    if abs(p) < 0.05 and m > 0.0:
        sine = sin(0.5 * eta)
        n, mode = x0 * sin(eta) - 2.0 * sine * sine, 1.0
    light = (a < 1.0 and b == 1.0) or (a > 1.0 and b == -1.0)
    r = log1p((n - p) / a) if mode > 0.0 else log(x1c / a)
    lowest = a / p * r + log(abs(p)) - log_c if light else -_INF
    return 0, none, flip, L, lowest, (a, p, h0, k1, log_c, x1c, a / p, b, x0, k1 if a > 1.0 else eta - p * (0.5 * _PI), n, mode)


@device_function
def exactly(v, done):
    """A point that took no quadrature, with the errors that rounding leaves."""
    e = 2e-13 if done == 2 else 1e-14
    return v, (e * v[0] * exp(-v[3]), e * v[1] * exp(-v[4]), e * v[2] * exp(-v[5]))


@device_function
def _estimate(value, difference, noise):
    """Error of a positive integral from the difference of two rules, and rounding.

    The integrands are analytic, so twice the nodes square the error; the factor 20 is from the reference points.
    """
    r = 20.0 * difference / value if value > 0.0 else 0.0
    return value * min(1.0, r * r) + noise * value


@device_function
def from_sums(total, tail, rest, total_error, tail_error, rest_error, lowest, q, L, flip):
    """A point from the integrals of g e^-g and e^-g, both times e^low, and of 1 - e^-g, with low = e^lowest; and its errors."""
    a, p, h0, k1 = q[0], q[1], q[2], q[3]
    low = exp(lowest)
    noise = 1e-14 * (1.0 + 0.2 * low) + 1e-16 * (abs(q[8]) / q[7] if a == 1.0 else 1.0 / abs(p))
    factor = 0.5 / q[7] if a == 1.0 else a * exp(q[4]) / (_PI * q[5] * abs(p))
    density, density_error = factor * total, factor * _estimate(total, total_error, noise)
    tail, tail_error = tail / _PI, _estimate(tail, tail_error, noise) / _PI
    rest, rest_error = rest / _PI, _estimate(rest, rest_error, noise) / _PI
    scale = exp(-low)
    share = h0 / _PI
    if a <= 1.0:
        bare = a == 1.0 or h0 == 0.0
        c, gc = tail, low
        if not bare:
            c, gc = share + tail * scale, 0.0
        s, gs, c_error, s_error = rest, 0.0, tail_error * scale + 1e-16 * share, rest_error
    else:
        bare = k1 == 0.0
        s, gs = tail, low
        if not bare:
            s, gs = tail * scale, 0.0
        c, gc, c_error, s_error = share + rest, 0.0, rest_error + 1e-16 * share, tail_error * scale
    v = reflect(flip, (density, c, s, low, gc, gs))
    return v, (density_error * scale, s_error if flip else c_error, c_error if flip else s_error)


@device_function
def pick(code, v, scale):
    """Value number code of a point: 0 pdf, 1 logpdf, 2 cdf, 3 logcdf, 4 sf, 5 logsf."""
    p, c, s, gp, gc, gs = v
    if code == 0:
        return p * exp(-gp) / scale
    if code == 1:
        return log(p) - gp - log(scale) if p > 0.0 else (-_INF if p == 0.0 else _NAN)
    y, g, other, go = (c, gc, s, gs) if code < 4 else (s, gs, c, gc)
    if code == 2 or code == 4:
        return min(y * exp(-g), 1.0) if y == y else y
    if g == 0.0 and y > 0.5:
        return log1p(-other * exp(-go))
    return log(y) - g


@device_function
def from_log(code, v, scale):
    """Value number code (see `pick`) from its logarithm for scale 1."""
    if code == 0:
        return exp(v) / scale
    if code == 1:
        return v - log(scale)
    v = min(v, 0.0) if v == v else v
    return v if code == 3 or code == 5 else exp(v)


@device_function
def from_centre(x, loc, scale, high, low, turn):
    """The variable of a table, before the logarithm: (x - loc)/scale - (high + low) - turn log scale. NaN for scale <= 0."""
    z = (x - loc) / scale
    z = z - turn * log(scale) if turn != 0.0 else z
    s, e = _two_sum(z, -high)
    e = e - low
    s = s + (e if e == e else 0.0)  # e is NaN for infinite x
    return s if scale > 0.0 else _NAN


@device_function
def cell(d, u, first1, end1, per1, start1, count1, first2, end2, per2, start2, count2):
    """Cell of u = log(|d|/delta + shift), d > 0 on side 1; -1 beyond the end, -2 before the start, -3 for NaN."""
    right = d >= 0.0
    v = u - (first1 if right else first2)
    c = v / (v + 8.0) * (per1 if right else per2)
    c = min(c, (count1 if right else count2) - 1.0) + (start1 if right else start2)
    c = c if v >= 0.0 else -2.0
    c = c if u < (end1 if right else end2) else -1.0
    return c if d == d else -3.0


@device_function
def place(u, side, per_delta, shift, high, low, turn, loc, scale):
    """The quantile from its place u in a table."""
    near = expm1(u) if shift > 0.0 else exp(u)
    t = near / per_delta if u < 700.0 else exp(u - log(per_delta))
    t = 0.0 if u == -_INF else t
    z = (t if side == 1 else -t) + low + high
    if turn != 0.0:
        z += turn * log(scale)
    return scale * z + loc if scale > 0.0 else _NAN


@device_function
def zeta(a, b):
    """-beta tan(pi alpha/2) as an unevaluated sum of two doubles; alpha != 1."""
    th, tl = tan_half_pi(a)
    m = b * th
    return -m, -(fma(b, th, -m) + b * tl)


# --- random variates ------------------------------------------------------------------------------------------------------
# Chambers, Mallows and Stuck's formula with Weron's corrections, V uniform on (-pi/2, pi/2), W exponential, e = 1 - a and
# R = (cos eV + bT sin eV)/(W cos V):
#     X1 = (sin aV + bT cos aV)/cos V R^(e/a),
#     X0 = X1 - bT = (tan V cos eV - sin eV)(1 + E) + b (T e) [((cos eV - 1) + tan V sin eV)(1 + E) + E]/e,  E = R^(e/a) - 1.
# Everything over e is formed without cancellation, so X0 is continuous across a = 1.


@device_function
def uniform_and_exponential(r0, r1, r2, r3):
    """A uniform and an exponential number from four words."""
    return uniform52(r0, r1), -log(uniform52(r2, r3))


@device_function
def variate_constants(a, b):
    """(e, 1/e or 0, e/a or 1/a at e = 0, b T e); NaN outside the domain."""
    e = 1.0 - a
    te = 2.0 / _PI if e == 0.0 else (0.0 if a == 2.0 else e / math.tan(0.5 * _PI * e))
    inside = (a > 0.0) & (a <= 2.0) & (abs(b) <= 1.0)
    return e, 0.0 if e == 0.0 else 1.0 / e, (1.0 / a if e == 0.0 else e / a) if inside else _NAN, b * te


@device_function
def variate_parts(u, w, e, recip, bte):
    """(tan V, cos eV, sin eV/e, log R) from V = pi (u - 1/2) and the exponential w."""
    sn, cs = sincospi(u)
    tangent = -cs / sn
    v = _PI * (u - 0.5)
    se, ce = sincos(e * v)
    se = v if recip == 0.0 else se * recip
    return tangent, ce, se, log((ce + bte * se) / (w * sn))


@device_function
def variate(u, w, e, recip, power, bte, s1):
    """A standard variate from a uniform and an exponential number."""
    tangent, ce, se, lr = variate_parts(u, w, e, recip, bte)
    grow = expm1(power * lr) if recip != 0.0 else 0.0  # E
    over = grow * recip if recip != 0.0 else power * lr  # E/e
    first = tangent * ce - e * se
    half = sin(0.5 * e * (_PI * (u - 0.5)))
    if s1 and recip != 0.0:
        return (first + bte * (ce * recip + tangent * se)) * (1.0 + grow)
    return first * (1.0 + grow) + bte * ((tangent * se - 2.0 * half * half * recip) * (1.0 + grow) + over)


@device_function
def scaled(z, e, bte, loc, scale, s1):
    """Loc + scale z; at a = 1 a standard variate is S0, and S1 adds its shift."""
    z = z + bte * log(scale) if s1 and e == 0.0 else z
    return scale * z + loc if scale > 0.0 else _NAN


@device_function
def newton_place(v, a, b, loc, scale, s1):
    """The quantile from v, with x - centre = sign(v) expm1(|v|)."""
    inside = (a > 0.0) & (a <= 2.0) & (abs(b) <= 1.0) & (scale > 0.0)
    t = math.copysign(expm1(abs(v)), v)
    if a == 1.0:
        z = t + b * (2.0 / _PI) * log(scale) if s1 else t
    else:
        high, low = zeta(a, b)
        if a < 0.9:
            t = max(t, 0.0) if b == 1.0 else (min(t, 0.0) if b == -1.0 else t)
            z = t if s1 else t + low + high
        else:
            z = t - low - high if s1 else t
    return scale * z + loc if inside else _NAN


@device_function
def from_sweep(total, near, far, factor, share, rising):
    """Logarithms of pdf, cdf and sf for x1 > 0 from the integrals of g e^-g times d theta/d w, d0 |..| and d1 |..|.

    `share` is the probability below zeta; for a < 1 log g rises with theta, and e^-g goes with d0.
    """
    near, far = near / _PI, far / _PI
    c = share + near
    return log(factor * total), log(c) if c < 0.5 else log1p(-far), log(far) if far < 0.5 else log1p(-c)


@device_function
def from_light_sweep(excess, tail, rest, low, length, beyond, factor, share, rising):
    """Logarithms of pdf, cdf and sf for x1 > 0 in a light law, where g >= low.

    From the integrals of (g/low - 1) e^(low - g), e^(low - g) and, if low < 1, 1 - e^(low - g) up to where e^(low - g) is gone;
    `length` is that of the whole range and `beyond` that of the rest. The tail is that of the light side: the cdf for
    alpha < 1 (rising), else the sf.
    """
    lost = -expm1(-low)
    inside = (length - beyond) * lost + (1.0 - lost) * rest if low < 1.0 else (length - beyond) - exp(-low) * tail
    small, large = log(tail / _PI) - low, share + (inside + beyond) / _PI
    most = log1p(-exp(small)) if large > 0.5 else log(large)
    small = small if small < -0.7 else log1p(-large)
    return log(factor * low * (tail + excess)) - low, small if rising else most, most if rising else small
