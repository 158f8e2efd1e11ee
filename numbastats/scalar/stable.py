"""Alpha-stable distributions: the formulas, one point at a time, in double precision.

The standard distribution in Nolan's S0 form has the characteristic function
exp(-|t|^a [1 + i b T sgn t (|t|^(1-a) - 1)]) with T = tan(pi a/2);
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
from typing import NamedTuple

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import clip, fma, horner, muladd
from numbastats.scalar.elementary import exp, expm1, log, log1p, sin, sincos, sincospi
from numbastats.scalar.philox import uniform52
from numbastats.scalar.special import erf, erfcx, gammaln

_PI, _PI_LO = 3.141592653589793, 1.2246467991473532e-16
_INF, _NAN = math.inf, math.nan
_LOG_DEPTH = math.log(-math.log(1e-16))


# --- the tangent and zeta to twice the working precision -----------------------------------------------------------
# x - zeta loses digits next to zeta, where distributions of small alpha have their spike.


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
def tangent(a):
    """`tan_half_pi`, or zeros where no zeta is needed."""
    return (0.0, 0.0) if a == 1.0 or not (a > 0.0 and a < 2.0) else tan_half_pi(a)


@device_function
def centre(z, b, th, tl, s1):
    """(x0, x1, b T): both variables of a standardised z, given in the S1 form if s1, else S0; T = th + tl."""
    m = b * th
    ml = fma(b, th, -m) + b * tl
    if s1:
        return z - m, z, m
    s, e = _two_sum(z, m)
    return z, s + (e + ml), m


# --- geometry of Zolotarev's integral ---------------------------------------------------------------------------------


class Geometry(NamedTuple):
    """A point on the side x1 > 0; m = b T."""

    b: float
    x0: float
    x1: float
    m: float
    h0: float
    k1: float
    L: float
    eta: float


class Integrand(NamedTuple):
    """Zolotarev's integral of a point: its length L, the log of the minimum of g, and what log g is computed from."""

    L: float
    lowest: float
    a: float
    p: float  # a - 1
    h0: float
    k1: float
    log_c: float
    x1c: float
    ratio: float  # a/(a - 1)
    b: float
    x0: float
    end: float  # angle at the upper end
    excess: float
    mode: float  # 2 at a = 1, 1 next to it, else 0


@device_function
def angles(a, b, m):
    """(h0, k1, L, eta) for the side x1 > 0; m = b T."""
    if a == 1.0:
        return 0.0, 0.0, _PI, 0.0
    p = a - 1.0
    t = -1.0 / math.tan(0.5 * _PI * p) if abs(p) < 0.5 else math.tan(0.5 * _PI * (a if a < 1.0 else a - 2.0))
    eta = abs(p) * (0.5 * _PI) if abs(b) == 1.0 else (math.atan(1.0 / m) if m > 0.0 else 0.0)
    if a < 1.0:
        h0 = math.atan2(t * (1.0 - b), 1.0 + b * t * t) / a
        k1 = muladd(a, h0, -(p * _PI))
        L = _PI - h0 if b >= 0.0 else math.atan2(t * (1.0 + b), 1.0 - b * t * t) / a  # atan t - atan |b| t
    else:
        k1 = math.atan2(-t * (1.0 + b), 1.0 - b * t * t)
        L = math.atan2(-t * (1.0 + b), b * t * t - 1.0) / a if b > 0.0 else (_PI - k1) / a
        h0 = muladd(p, _PI, k1) / a  # rounded once, wherever the compiler moves p pi
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
def _three_angles(d0, d1, a, p, h0, k1):
    """h0 + d0, h0 - p d0 and a d0, then what each lacks to pi: the smaller one has all its digits."""
    return h0 + d0, k1 + p * d1 if a > 1.0 else h0 - p * d0, a * d0, d1, a * d0 + d1, k1 + a * d1


@device_function
def _three_sines(d0, d1, a, p, h0, k1):
    """Their sines."""
    y1, y2, y3, z1, z2, z3 = _three_angles(d0, d1, a, p, h0, k1)
    return sin(min(y1, z1)), sin(min(y2, z2)), sin(min(y3, z3))


@device_function
def log_g(d0, d1, w, q):
    """log g at a point of the range of integration, from its distances to both ends. a != 1, away from a = 1."""
    a, p, h0, k1, log_c, x1c, ratio = q.a, q.p, q.h0, q.k1, q.log_c, q.x1c, q.ratio
    sd, cc, sa = _three_sines(d0, d1, a, p, h0, k1)
    return ratio * log(x1c * sd / sa) + (log(cc / sd) - log_c)


@device_function
def log_g_near_one(d0, d1, w, q):
    """log g for a next to 1 and b T > 0: the logarithm that 1/(a - 1) multiplies is formed term by term."""
    a, p, h0, k1, log_c, x1c, ratio = q.a, q.p, q.h0, q.k1, q.log_c, q.x1c, q.ratio
    sd, cc, sa = _three_sines(d0, d1, a, p, h0, k1)
    e = p * d1 + q.end if w >= 0.0 else h0 - p * d0
    half, whole = sincos(0.5 * e), sincos(d1 + 0.5 * e)
    n = sd * q.excess - 2.0 * whole[1] * half[0]
    r = x1c * sd / sa
    return ratio * log1p(n / sa if r > 0.5 and r < 2.0 else r - 1.0) + (log(cc / sd) - log_c)


@device_function
def log_g_one(d0, d1, w, q):
    """log g at a = 1, b > 0."""
    b, x0 = q.b, q.x0
    right = w >= 0.0
    s, c = sincos(d1 if right else d0)
    c = c if right else -c
    k = (0.5 * _PI) * (1.0 + b) - b * d1 if right else (0.5 * _PI) * (1.0 - b) + b * d0
    return log((2.0 / _PI) * k / s) + (k * c / s - (0.5 * _PI) * x0) / b


@device_function
def log_g_any(w, q):
    """(d0, d theta/d w, log g) at w, whatever alpha."""
    d0, d1, jac = lengths(w, q.L)
    if q.mode == 2.0:
        return d0, jac, log_g_one(d0, d1, w, q)
    if q.mode == 1.0:
        return d0, jac, log_g_near_one(d0, d1, w, q)
    return d0, jac, log_g(d0, d1, w, q)


_COT_REST = horner(
    1 / 3,
    1 / 45,
    2 / 945,
    1 / 4725,
    2 / 93555,
    2.1644042808063985e-06,
    2.192594785187379e-07,
    2.221460878997969e-08,
    2.250784651680901e-09,
)


@device_function
def _cot_rest(x):
    """1/x - cot x for |x| < 0.45."""
    return x * _COT_REST(x * x)


NEAR_ONE, LIGHT_NEAR_ONE = 0.05, 0.08


@device_function
def next_to_one(a, b):
    """Whether log g at x1 = 1 is ill-conditioned."""
    return abs(a - 1.0) < (LIGHT_NEAR_ONE if abs(b) == 1.0 else NEAR_ONE)


@device_function
def _bend(t, sharp):
    """(max(-t, 0), whether t < 0), both smooth over a width of some 1/sharp."""
    e = exp(-sharp * abs(t))
    return max(-t, 0.0) + log1p(e) / sharp, (e if t > 0.0 else 1.0) / (1.0 + e)


@device_function
def sweep_node(t, step, sharp, first, coarse, second, wide, a, h0, k1, L, constant):
    """(g at one x1, weights of g e^-g in the integrals of g e^-g, e^-g, 1 - e^-g) for a != 1.

    `constant` is log c + a log x1, over a - 1.

    By parts, the integrals of e^-g and 1 - e^-g are those of g e^-g |d log g| times the distance to one end or the other: all
    three integrands vanish at both ends, so equal steps in w converge geometrically; here they are equal in t, and in w `coarse`
    times as wide between t = `first` and the lower `second`, `wide` times below; they change over a width of some 1/`sharp`,
    many steps. Not for light distributions: see `light_node`.
    """
    p = a - 1.0
    u, du = _bend(t - first, sharp)
    v, dv = _bend(t - second, sharp)
    w = t - (coarse - 1.0) * u - (wide - coarse) * v
    step *= 1.0 + (coarse - 1.0) * du + (wide - coarse) * dv
    w = w if a < 1.0 else -w
    d0, d1, jac = lengths(w, L)
    y1, y2, y3, z1, z2, z3 = _three_angles(d0, d1, a, p, h0, k1)
    turned1, turned2, turned3 = z1 < y1, z2 < y2, z3 < y3
    y1, y2, y3 = min(y1, z1), min(y2, z2), min(y3, z3)
    s1, c1 = sincos(y1)
    s2, c2 = sincos(y2)
    s3, c3 = sincos(y3)
    lg = a / p * log(s1 / s3) + (log(s2 / s1) + constant)
    # p (log g)' is a sum of cotangents of y1, y2, y3, whose poles cancel where all three are small
    r1, r2, r3 = 1.0 if turned1 else -1.0, -p * p if turned2 else p * p, -a * a if turned3 else a * a
    small = max(y1, y3) < 0.45 and not turned2 and turned1 == (a > 1.0) and turned3 == (a > 1.0)
    poles = k1 * k1 / (d1 * y2 * y3) if a > 1.0 else a * h0 * h0 / (d0 * y1 * y2)
    smooth = poles - (r1 * _cot_rest(y1) + r2 * _cot_rest(y2) + r3 * _cot_rest(y3))
    jac *= step
    slope = abs(jac / p * (smooth if small else r1 * (c1 / s1) + r2 * (c2 / s2) + r3 * (c3 / s3)))
    return exp(min(max(lg, -700.0), 700.0)), jac, d0 * slope, d1 * slope


@device_function
def log_scale(x0, a, b, m):
    """log g at x0, less that at 0, for b T = m > 0 or, at a = 1, b > 0."""
    return a / (a - 1.0) * log1p(x0 / m) if a != 1.0 else -(0.5 * _PI) * x0 / b


@device_function
def _slope_near_one(d0, d1, q):
    """|d log g/d theta| next to a = 1: sin(y2)/(|p| s1 s3) +- (a + 1) cot y3 + |p| cot y2, where the poles are 1/p times less."""
    a, p, h0, k1 = q.a, q.p, q.h0, q.k1
    y1, y2, y3, z1, z2, z3 = _three_angles(d0, d1, a, p, h0, k1)
    s1, s3, c3 = sin(min(y1, z1)), sin(min(y3, z3)), math.cos(min(y3, z3))
    c3 = -c3 if (z3 < y3) != (p > 0.0) else c3
    s2, c2 = sincos(min(y2, z2))
    r = q.end / q.b + d0 if p == 0.0 else s2 / abs(p)
    return r / (s1 * s3) + (c2 if z2 > y2 else -c2) / r - (a + 1.0) * c3 / s3


@device_function
def _near_one_slope(up, down, p):
    """First and second derivative of what `near_one_place` gives."""
    over_up, over_down = 1.0 / (1.0 + abs(p) * up), 1.0 / (1.0 + abs(p) * down)
    rise, fall = up * over_up, down * over_down
    return rise + fall + 2.0, rise * over_up - fall * over_down


@device_function
def near_one_place(w, right, left, p):
    """(t, d t/d w, its derivative, two terms): t is about log g + 2 w next to a = 1, whose slopes end at 1/|p|."""
    up = right * exp(w)
    down = right * left / up
    slope, bend = _near_one_slope(up, down, p)
    t = up - down if p == 0.0 else (log1p(abs(p) * up) - log1p(abs(p) * down)) / abs(p)
    return t + 2.0 * w, slope, bend, up, down


@device_function
def near_one_step(t, w, right, left, p):
    """The w where `near_one_place` gives t, from a guess that is within 0.01, and d w/d t."""
    up, down, d = 0.0, 0.0, 0.0
    for _ in range(2):  # Halley's method
        at, slope, bend, up, down = near_one_place(w, right, left, p)
        d = 2.0 * (t - at) * slope / (2.0 * slope * slope - (at - t) * bend)
        w += d
    up, down = up * (1.0 + d * (1.0 + 0.5 * d)), down * (1.0 - d * (1.0 - 0.5 * d))  # the last step is tiny
    return w, 1.0 / _near_one_slope(up, down, p)[0]


@device_function
def near_one_node(w, q):
    """(log g, d theta/d w, the same times |d log g/d theta| and the distance to either end); log g rises with w."""
    w = w if q.a <= 1.0 else -w
    d0, d1, jac = lengths(w, q.L)
    slope = jac * _slope_near_one(d0, d1, q)
    return log_g_any(w, q)[2], jac, d0 * slope, d1 * slope


@device_function
def light_node(t, step, a, h0, k1, L, log_c, lowest):
    """(g/low - 1, weight) for a light distribution, g >= low; `lowest` is log low at x1 = 1.

    Where log g is at its minimum only d theta/d w is left, which equal steps in t make fall twice exponentially.
    """
    p = a - 1.0
    bent = exp(-(t + 4.0))
    w = t - bent if a < 1.0 else bent - t
    d0, d1, jac = lengths(w, L)
    sd, cc, sa = _three_sines(d0, d1, a, p, h0, k1)
    lg = a / p * log(sd / sa) + (log(cc / sd) + log_c / p)
    return expm1(min(max(lg - lowest, 0.0), 700.0)), jac * (step * (1.0 + bent))


@device_function
def crossing(height, x0, f0, x1, f1, x2, f2):
    """Where a rising function reaches `height`, f0 <= height <= f2: by a parabola, or by a line where that fails or x1 = x0."""
    left = f1 < height
    lo, f_lo = (x1, f1) if left else (x0, f0)
    hi, f_hi = (x2, f2) if left else (x1, f1)
    t = (height - f_lo) / (f_hi - f_lo)
    line = lo + (t if t >= 0.0 and t <= 1.0 else 0.5) * (hi - lo)
    a = (height - f1) * (height - f2) / ((f0 - f1) * (f0 - f2))
    b = (height - f0) * (height - f2) / ((f1 - f0) * (f1 - f2))
    c = (height - f0) * (height - f1) / ((f2 - f0) * (f2 - f1))
    parabola = a * x0 + b * x1 + c * x2
    return parabola if (parabola - lo) * (parabola - hi) <= 0.0 else line


@device_function
def integrands(lg, u, low):
    """(g e^-g, e^-g, 1 - e^-g) times u, the first two also times e^low; 0 where log g is NaN."""
    u = u if lg == lg else 0.0
    g = exp(lg if lg < 700.0 else 700.0)
    e = u * exp(min(low - g, 0.0))
    return g * e, e, -u * expm1(-g)


@device_function
def kronrod_node(d, q, low, turned):
    """The three integrands in theta, at the distance d from its lower end, or its upper end if turned > 0."""
    d0, d1 = q.L - d if turned > 0.0 else d, d if turned > 0.0 else q.L - d
    if q.mode == 2.0:
        lg = log_g_one(d0, d1, d0 - d1, q)
    else:
        lg = log_g_near_one(d0, d1, d0 - d1, q) if q.mode == 1.0 else log_g(d0, d1, d0 - d1, q)
    return integrands(lg, 1.0, low)


# --- series ---------------------------------------------------------------------------------------------------------------
# Kernels keep the terms of a distribution: see `series_term`.


@device_function
def series_term(k, log_factorial, a, angle, at_zeta):
    """Term number k >= 1 of a series without the power of x1: its size, and times the sine.

    The size is Gamma(k/a)/(k - 1)! at zeta, else Gamma(a k + 1)/k!, with the logarithm of the factorial given.
    """
    size = exp(gammaln(k / a if at_zeta else a * k + 1.0) - log_factorial)
    return size, size * sin(k * angle)


@device_function
def series_ends(a, log_c):
    """log x1 from which on the series at infinity can be accurate, and up to which that at zeta; log_c = -log(1 + m^2)/2.

    Where a series diverges (at infinity for a > 1, at zeta for a < 1) its smallest term, number n, has size e^-30 at the end.
    """
    # at infinity: n = (a^a e^y)^(-1/(a - 1)), size e^(-(a - 1) n), y the logarithm of the power of x1
    infinity = -_INF if a <= 1.0 else log(a) + ((a - 1.0) * log(30.0 / (a - 1.0)) - log_c) / a
    r = 1.0 / a - 1.0  # at zeta: size e^(-r n)
    return infinity, _INF if a >= 1.0 else (log(a) - log_c) / a - r * log(30.0 / r)


@device_function
def power_at_infinity(x1, a, m):
    """(log of the power of x1 in the series at infinity, exponent taken out of its sums, whether it can be accurate)."""
    lx, log_c = log(x1), -0.5 * log1p(m * m)
    return -log_c - a * lx, a * lx if lx > 80.0 else 0.0, lx > series_ends(a, log_c)[0]


@device_function
def power_at_zeta(x1, a, m):
    """(power of x1 in the series at zeta, factor, whether it can be accurate)."""
    log_c = -0.5 * log1p(m * m)
    power = exp(log_c / a)
    return x1 * power, power / (a * _PI), log(x1) < series_ends(a, log_c)[1]


# --- Fourier rule -----------------------------------------------------------------------------------------------------------
# f = Re int e^(-t^a + i phi) dt/pi, F = 1/2 + Im int e^(-t^a + i phi) dt/(pi t), phi = x1 t + zeta t^a = x0 t + zeta (t^a - t).
# One list of nodes u (stable_nodes.py) for each of three bands of alpha, whatever beta and x: t = R u, R = (-log 1e-16)^(1/a).
# Accurate absolutely, mostly to 1e-15.

REACH = 8.0  # of |x0| in the middle band


@device_function
def fourier_band(a):
    """Number of the list of nodes, -1 for none."""
    if a >= 1.1:
        return 2
    return 1 if a > 0.9 else (0 if a >= 0.5 else -1)


@device_function
def fourier_reach(a, m):
    """How large |x1|, in the middle band |x0|, may be. Outside the middle band the series at infinity begins there."""
    n = 80.0 if a > 1.0 else 90.0
    logs = 0.5 * n * log1p(m * m) + log(a / (_PI * 1e-16)) + gammaln(a * n) - gammaln(n)
    return REACH if a > 0.9 and a < 1.1 else exp(logs / (a * n - 1.0))


@device_function
def fourier_node(u, log_u, w, a):
    """(t, phase for skewness 1, weights in the density and in the distribution function) of a node."""
    p = a - 1.0
    log_t = log_u + _LOG_DEPTH / a
    t, power = exp(log_t), exp(a * log_t)
    middle = p > -0.1 and p < 0.1
    fall = exp(-power) * w / _PI
    bent = t * (expm1(p * log_t) / p if p != 0.0 else log_t)
    return t, bent if middle else power, fall * (t / u), fall / u


@device_function
def fourier_phase(a, geometry):
    """(factor of t, factor of a node's second number) in the phase."""
    b, x0, x1, m = geometry.b, geometry.x0, geometry.x1, geometry.m
    p = a - 1.0
    if p > -0.1 and p < 0.1:
        return x0, b * (2.0 / _PI if p == 0.0 else p / math.tan(0.5 * _PI * p))
    return x1, -m


@device_function
def beyond_fourier(a, geometry):
    """Six numbers, absolutely accurate, by the series at infinity where the rule does not reach; NaN outside the outer bands."""
    b, x0, x1, m, h0, k1, L, eta = geometry
    y, g, fine = power_at_infinity(x1, a, m)
    known = 0.0 if (a >= 0.5 and a <= 0.9) or a >= 1.1 else _NAN
    p, s, before = 0.0, 0.0, _INF
    for k in range(1, 91):
        size, value = series_term(float(k), gammaln(k + 1.0), a, k1, False)
        power = exp(k * y)
        bound = size * power
        if (a > 1.0 and bound > before) or bound < 1e-18:
            break
        p += value * power
        s += value * power / (a * k)
        before = bound
    s = s / _PI + known
    return max(p / (_PI * x1), 0.0) + known, 1.0 - s, s, 0.0, 0.0, 0.0


@device_function
def fourier_accurate(a, density, half):
    """Whether all three values are large enough to be accurate relatively."""
    return density > 0.05 and abs(half) < 0.46 and a > 0.55


@device_function
def from_fourier(density, half):
    """The six numbers from the two sums."""
    return max(density, 0.0), min(max(0.5 + half, 0.0), 1.0), min(max(0.5 - half, 0.0), 1.0), 0.0, 0.0, 0.0


_INVERSE = tuple(1.0 / max(k, 1) for k in range(16))

# --- next to the Cauchy distribution ------------------------------------------------------------------------------------
# With z = 1 + i x and E(t) = (1 - i b T)(t^a - t), f = Re[(1 + I)/z]/pi with I = int e^-s (e^-E(s/z) - 1) ds: a correction of
# the Cauchy density on the ray where e^(-z t) decays fastest. Zolotarev's integrand is a spike of width max(|a - 1|, |b|) there.


FAR = 6.0


@device_function
def _minus_b_p_t(p, b):
    """-b (a - 1) T, T = tan(pi a/2), from p = a - 1."""
    return b * (2.0 / _PI if p == 0.0 else p / math.tan(0.5 * _PI * p))


@device_function
def ray_constants(x, a, b):
    """What the nodes of a point share: p, p and -b p T (E = s/z times them times the logarithm), log |z| and arg z, 1/z."""
    p = a - 1.0
    n2 = 1.0 + x * x
    return p, _minus_b_p_t(p, b), 0.5 * log1p(x * x), math.atan(x), 1.0 / n2, -x / n2


@device_function
def ray_node(v, s, step, constants):
    """Terms of the node s = e^v: of s times (real part, imaginary part) and of the imaginary part of e^-s (e^-E - 1)."""
    p, skew, lam, phi, zr, zi = constants
    ur, ui = p * (v - lam), -p * phi
    # (e^u - 1)/u by its series: what that lacks, u^15/16!, times s is below 1e-16 for |p| < 0.1
    er, ei = 1.0, 0.0
    for k in range(15, 1, -1):
        er, ei = 1.0 + (er * ur - ei * ui) * _INVERSE[k], (er * ui + ei * ur) * _INVERSE[k]
    lr, li = v - lam, -phi
    er, ei = er * lr - ei * li, er * li + ei * lr
    er, ei = er * p - ei * skew, er * skew + ei * p
    tr, ti = s * zr, s * zi
    er, ei = er * tr - ei * ti, er * ti + ei * tr
    # e^-E - 1
    half, whole = sin(0.5 * ei), sin(ei)
    grow = expm1(-er)
    dr, di = grow - 2.0 * half * half * (grow + 1.0), -(grow + 1.0) * whole
    weight = step * exp(-s)
    return weight * s * dr, weight * s * di, weight * di


# Far out on the imaginary axis t = -i s the real part of the exponent is all but -x s, and the sine holds the weight 1 + b of the
# tail as a factor: f = int e^(-x s - c s^a + b T (S s^a - s)) sin(S (1 + b) s^a) ds/pi with S, c, T = sin, cos, tan of pi a/2.
# For b < 0 the integrand grows again from s = e^(pi x/(2 |b|)) on, where it has long underflowed: that part is left out.


@device_function
def far_constants(x, a, b):
    """What the nodes of a point x > 0 share, next to alpha = 1."""
    p = a - 1.0
    angle = 0.5 * _PI * p
    sine = math.cos(angle)
    level = 0.0 if p == 0.0 else 2.0 * b * math.sin(0.5 * angle) ** 2 / math.tan(angle)
    return p, sine * _minus_b_p_t(p, b), math.sin(angle), level, sine * (1.0 + b), log(x)


@device_function
def far_node(v, xs, step, constants):
    """Terms of the node x s = e^v of pi x f and pi times the tail."""
    p, skew, minus_c, level, weight, lx = constants
    log_s = v - lx
    s = exp(log_s)
    grown = expm1(p * log_s)
    bent = grown / p if p != 0.0 else log_s
    power = s * (1.0 + grown)
    term = step * exp(-xs + minus_c * power + s * (level - skew * bent)) * sin(weight * power)
    return xs * term, term


@device_function
def far_cauchy(x, b):
    """The distribution of alpha = 1 for huge |x|, where the correction has become a factor 1 +- beta."""
    up = (1.0 + (b if x > 0.0 else -b)) / _PI
    lx = log(abs(x))
    return (up, 1.0, up, 2.0 * lx, 0.0, lx) if x > 0.0 else (up, up, 1.0, 2.0 * lx, lx, 0.0)


@device_function
def from_ray(x, fr, fi, si):
    """The six numbers from the sums over the nodes."""
    n2 = 1.0 + x * x
    density = (1.0 + fr + fi * x) / (n2 * _PI)
    return density, (math.atan2(1.0, -x) - si) / _PI, (math.atan2(1.0, x) + si) / _PI, 0.0, 0.0, 0.0


@device_function
def rays_from(b):
    """|x| beyond which a ray holds: where the correction leaves digits of the Cauchy distribution, or the tail has a weight.

    Both rays are within 2e-14 of Zolotarev's integral there, and within 1e-14 of 60-digit values where that is farther off.
    """
    return 10.0 * abs(b) - 1.0 if abs(b) < 0.5 else FAR


@device_function
def by_the_ray(x, p, b):
    """Whether a ray holds."""
    return (abs(x) > rays_from(b)) & (1.0 + (b if x > 0.0 else -b) > 0.0) & (abs(p) < 0.1)


# --- closed forms -----------------------------------------------------------------------------------------------------------


@device_function
def _half_erfc(t):
    """(mantissa, exponent) of erfc(t)/2."""
    if t >= 0.0:
        return 0.5 * erfcx(t), t * t
    return 0.5 + 0.5 * erf(-t), 0.0


@device_function
def gauss(x):
    """The distribution of alpha = 2: normal with variance 2."""
    c, gc = _half_erfc(-0.5 * x)
    s, gs = _half_erfc(0.5 * x)
    return 0.28209479177387814, c, s, 0.25 * x * x, gc, gs


@device_function
def cauchy(x):
    """The distribution of alpha = 1, beta = 0."""
    big = abs(x) > 1e100
    p = 1.0 / (_PI * (1.0 + x * x)) if not big else 1.0 / _PI
    return p, math.atan2(1.0, -x) / _PI, math.atan2(1.0, x) / _PI, 2.0 * log(abs(x)) if big else 0.0, 0.0, 0.0


@device_function
def levy(x1):
    """The distribution of alpha = 1/2, beta = 1 in the S1 variable, x1 > 0."""
    r = 1.0 / x1
    t = math.sqrt(0.5 * r)
    g = 0.5 * r
    lx = log(x1)
    extreme = abs(lx) > 150.0
    p = 0.3989422804014327 if extreme else 0.3989422804014327 * r * math.sqrt(r)
    return p, erfcx(t), erf(t), g + (1.5 * lx if extreme else 0.0), g, 0.0


# --- one point ---------------------------------------------------------------------------------------------------------------


@device_function
def standard(x, loc, scale):
    """(x - loc)/scale, also where the difference of two finite numbers overflows, as it can for a huge loc only."""
    if abs(loc) < 1e291:
        return (x - loc) / scale
    return (0.25 * x - 0.25 * loc) / scale * 4.0


@device_function
def placed(z, loc, scale):
    """Loc + scale z, also where the product has overflowed."""
    y = scale * z + loc
    return y if abs(y) < _INF else 4.0 * (0.25 * scale * z + 0.25 * loc)


@device_function
def standardise(x, a, b, loc, scale, s1):
    """The standardised variable, in the form of the parameters; at a = 1 always S0. NaN out of the domain."""
    inside = (a > 0.0) & (a <= 2.0) & (abs(b) <= 1.0) & (scale > 0.0)
    z = standard(x, loc, scale)
    if s1 and a == 1.0:
        z -= b * (2.0 / _PI) * log(scale)
    return z if inside else _NAN


@device_function
def reflect(flip, v):
    """The six numbers of -x under (a, -b), for x under (a, b)."""
    p, c, s, gp, gc, gs = v
    return (p, s, c, gp, gs, gc) if flip else v


@device_function
def has_closed_form(a, b):
    """Whether `closed_form` holds."""
    return (a == 2.0) | ((a == 1.0) & (b == 0.0)) | ((a == 0.5) & (abs(b) == 1.0))


@device_function
def closed_form(a, x0, x1):
    """The six numbers of a Gaussian, Cauchy or Lévy variable on the side x1 > 0."""
    if a == 2.0:
        return gauss(x0)
    return cauchy(x0) if a == 1.0 else levy(x1)


_NOTHING = (0.0, 0.0, 0.0, 0.0)


@device_function
def start(z, a, b, s1, th, tl):
    """(whether the point is at an end, six numbers, flip, (b, x0, x1, b T)); (th, tl) is `tangent(a)`.

    Ends are infinity, the end of the support and what is outside, and zeta. `flip` says that b, x0 and x1 > 0 are those of the
    reflected distribution; at a = 1, where there is no zeta, x1 = 1 and b >= 0.
    """
    none = (_NAN, _NAN, _NAN, 0.0, 0.0, 0.0)
    if not (z > -_INF and z < _INF):
        if z == _INF:
            return True, (0.0, 1.0, 0.0, _INF, 0.0, _INF), False, _NOTHING
        if z == -_INF:
            return True, (0.0, 0.0, 1.0, _INF, _INF, 0.0), False, _NOTHING
        return True, none, False, _NOTHING
    if a == 2.0:
        return False, none, False, (b, z, z, 0.0)
    if a == 1.0:
        flip = b < 0.0
        return False, none, flip, (abs(b), -z if flip else z, 1.0, 0.0)
    x0, x1, m = centre(z, b, th, tl, s1)
    flip = x1 < 0.0
    if flip:
        b, x0, x1, m = -b, -x0, -x1, -m
    if a < 1.0 and (b == -1.0 or (b == 1.0 and x1 == 0.0)):  # outside the support, and its end
        v = (0.0, 1.0, 0.0, _INF, 0.0, _INF) if b == -1.0 else (0.0, 0.0, 1.0, _INF, _INF, 0.0)
        return True, reflect(flip, v), flip, _NOTHING
    if x1 == 0.0:
        h0, k1, L, eta = angles(a, b, m)
        density = exp(gammaln(1.0 / a) - 0.5 * log1p(m * m) / a) * sin(min(h0, L)) / (a * _PI)
        return True, reflect(flip, (density, h0 / _PI, L / _PI, 0.0, 0.0, 0.0)), flip, _NOTHING
    return False, none, flip, (b, x0, x1, m)


@device_function
def geometry(a, side):
    """(b, x0, x1, b T, h0, k1, L, eta) of a point."""
    b, x0, x1, m = side
    h0, k1, L, eta = angles(a, b, m)
    return Geometry(b, x0, x1, m, h0, k1, L, eta)


@device_function
def zolotarev(a, geometry):
    """The `Integrand` of a point."""
    b, x0, x1, m, h0, k1, L, eta = geometry
    p = a - 1.0
    if a == 1.0:
        lowest = log(2.0 / _PI) - 1.0 - (0.5 * _PI) * x0 if b == 1.0 else -_INF
        return Integrand(L, lowest, a, p, 0.0, 0.0, 0.0, 0.0, 0.0, b, x0, (0.5 * _PI) * (1.0 - b), 0.0, 2.0)
    log_c = -0.5 * log1p(m * m)
    x1c = x1 * exp(log_c)
    n, mode = 0.0, 0.0
    if abs(p) < 0.1 and m > 0.0:
        sine = sin(0.5 * eta)
        n, mode = x0 * sin(eta) - 2.0 * sine * sine, 1.0
    light = (a < 1.0 and b == 1.0) or (a > 1.0 and b == -1.0)
    r = log1p((n - p) / a) if mode > 0.0 else log(x1c / a)
    lowest = a / p * r + log(abs(p)) - log_c if light else -_INF
    end = k1 if a > 1.0 else eta - p * (0.5 * _PI)
    return Integrand(L, lowest, a, p, h0, k1, log_c, x1c, a / p, b, x0, end, n, mode)


@device_function
def rounding_errors(v, by_fourier):
    """Errors of pdf, cdf and sf that rounding leaves in a point without an integral."""
    p, c, s, gp, gc, gs = v
    if by_fourier:
        return 2e-14, 7e-15, 7e-15
    return 5e-14 * p * exp(-gp), 5e-14 * c * exp(-gc), 5e-14 * s * exp(-gs)


@device_function
def _estimate(value, difference, noise):
    """Error of a positive integral from the difference of two rules, and rounding.

    The integrands are analytic, so twice the nodes square the error; the factor 20 is from the reference points.
    """
    r = 20.0 * difference / value if value > 0.0 else 0.0
    return value * min(1.0, r * r) + noise * value


@device_function
def from_sums(sums, q, flip):
    """A point and its errors, from the integrals of g e^-g and e^-g, both times e^low, and of 1 - e^-g, and their errors."""
    total, tail, rest, total_error, tail_error, rest_error = sums
    a, p, h0, k1 = q.a, q.p, q.h0, q.k1
    low = exp(q.lowest)
    lost = 1.0 / abs(p) if p != 0.0 else _INF  # roundings of log g, fewer where it is formed term by term
    noise = 1e-14 + 1e-16 * (min(lost, abs(q.x0 / q.b)) if q.mode > 0.0 else lost)
    steep = noise + 2e-15 * min(low, 1e4)  # of what goes with e^-g; e^-low is 0 long before the bound
    factor = 0.5 / q.b if a == 1.0 else min(a * exp(q.log_c) / (_PI * q.x1c * abs(p)), 1e300)  # next to zeta low is infinite
    density, density_error = factor * total, factor * _estimate(total, total_error, steep)
    tail, tail_error = tail / _PI, _estimate(tail, tail_error, steep) / _PI
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
    if y * exp(-g) > 0.5:
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
    z = standard(x, loc, scale)
    z = z - turn * log(scale) if turn != 0.0 else z
    s, e = _two_sum(z, -high)
    e = e - low
    s = s + (e if e == e else 0.0)  # e is NaN for infinite x
    return s if scale > 0.0 else _NAN


class Half(NamedTuple):
    """One side of a table: first u, end of u (inf for a heavy tail), cells per unit, then its cells and its panels."""

    begin: float
    end: float
    per_unit: float
    first_cell: float
    cells: float
    first_panel: float
    panels: float


@device_function
def cell(d, u, right, left):
    """Cell of u = log(|d|/delta + shift), d > 0 on the right; -1 beyond the end, -2 before the start, -3 for NaN."""
    on_right = d >= 0.0
    v = u - (right.begin if on_right else left.begin)
    c = v / (v + 8.0) * (right.per_unit if on_right else left.per_unit)
    c = min(c, (right.cells if on_right else left.cells) - 1.0) + (right.first_cell if on_right else left.first_cell)
    c = c if v >= 0.0 else -2.0
    c = c if u < (right.end if on_right else left.end) else -1.0
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
    return placed(z, loc, scale) if scale > 0.0 else _NAN


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
    first = tangent * ce - e * se
    x1 = (first + bte * (ce * recip + tangent * se)) * exp(power * lr)
    if s1 and recip != 0.0:
        return x1
    grow = expm1(power * lr) if recip != 0.0 else 0.0  # E
    over = grow * recip if recip != 0.0 else power * lr  # E/e
    half = sin(0.5 * e * (_PI * (u - 0.5)))
    x0 = first * (1.0 + grow) + bte * ((tangent * se - 2.0 * half * half * recip) * (1.0 + grow) + over)
    # far from 1 nothing cancels but x1 and b T, and R^(e/a) overflows; `muladd` rounds once, whatever a loop takes out of itself
    return muladd(-bte, recip, x1) if e > 0.5 else x0


@device_function
def scaled(z, e, bte, loc, scale, s1):
    """Loc + scale z; at a = 1 a standard variate is S0, and S1 adds its shift."""
    z = muladd(bte, log(scale), z) if s1 and e == 0.0 else z
    return muladd(scale, z, loc) if scale > 0.0 else _NAN


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
            t = clip(t, 0.0 if b == 1.0 else -math.inf, 0.0 if b == -1.0 else math.inf)
            z = t if s1 else t + low + high
        else:
            z = t - low - high if s1 else t
    return placed(z, loc, scale) if inside else _NAN


@device_function
def from_sweep(total, near, far, factor, share):
    """Logarithms of pdf, cdf and sf for x1 > 0 from the integrals of g e^-g times d theta/d w, d0 |..| and d1 |..|.

    `share` is the probability below zeta; for a < 1 log g rises with theta, and e^-g goes with d0.
    """
    near, far = near / _PI, far / _PI
    c = share + near
    return log(factor * total), log(c) if c < 0.5 else log1p(-far), log(far) if far < 0.5 else log1p(-c)


@device_function
def from_light_sweep(excess, tail, rest, low, length, beyond, factor, share, rising):
    """Logarithms of pdf, cdf and sf for x1 > 0 in a light distribution, where g >= low.

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
