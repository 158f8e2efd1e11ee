"""Component families of mixtures in one canonical form, as scalar formulas.

With y the value, c a centre, t1 = y - c and t2 = dev(y, c) the unit deviance of y about c, every family has

    log f(y) = A + B t1 + C t2 + h(y),

so one loop serves all of them. A component has a mean m and a dispersion v: 1/lambda (inverse Gaussian), the variance
(Gaussian), 1/shape (gamma); families of one parameter have v = 1. Sums of a component's responsibilities times (1, t1, t2)
are called s0, s1, s2. Newton's method works in log m (Gaussian: m) and log v.

``family`` is one of the codes below; ``shape`` counts only for FIXED_GAMMA, whose shape 1 is the exponential distribution.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, fma, from_bits, horner, to_bits

__all__ = [
    "FIXED_GAMMA",
    "GAMMA",
    "GAUSSIAN",
    "GEOMETRIC",
    "INVERSE_GAUSSIAN",
    "POISSON",
    "coefficients",
    "deviance",
    "dispersion",
    "first_derivatives",
    "gamma_dispersion",
    "gamma_terms",
    "highest_power",
    "least_dispersion",
    "maximise",
    "moved",
    "penalty",
    "power_of_two",
    "second_derivatives",
    "with_old_mean",
]

INVERSE_GAUSSIAN, GAUSSIAN, GAMMA, FIXED_GAMMA, POISSON, GEOMETRIC = 0, 1, 2, 3, 4, 5

_LOG_2PI = 1.8378770664093453
_ARTANH = horner(*(1.0 / n for n in range(3, 17, 2)))  # (artanh(v)/v - 1)/v^2 in v^2


@device_function(inline=False)
def gamma_terms(a):
    """``log a - psi(a)``, ``1/a - psi'(a)`` and ``a log a - log Gamma(a) - a`` without cancellation at large a.

    Below 16 the argument is raised by recurrence; the asymptotic series has 1e-16 there.
    """
    x, harmonic, squares = a, 0.0, 0.0
    while x < 16.0:
        harmonic += 1.0 / x
        squares += 1.0 / (x * x)
        x += 1.0
    i = 1.0 / x
    j = i * i
    d = i * (0.5 + i * (1 / 12 - j * (1 / 120 - j * (1 / 252 - j * (1 / 240 - j / 132)))))
    e = -j * (0.5 + i * (1 / 6 - j * (1 / 30 - j * (1 / 42 - j * (1 / 30 - j * 5 / 66)))))
    if a < 16.0:
        d += (math.log(a) - math.log(x)) + harmonic
        return d, e + (1.0 / a - i) - squares, a * math.log(a) - math.lgamma(a) - a
    return d, e, 0.5 * (math.log(a) - _LOG_2PI) - i * (1 / 12 - j * (1 / 360 - j * (1 / 1260 - j / 1680)))


@device_function(inline=False)
def gamma_dispersion(d):
    """1/a with ``log a - psi(a) = d`` > 0: Minka's start, then Newton on 1/a to rounding, five steps or so."""
    v = 12.0 * d / (3.0 - d + math.sqrt((d - 3.0) * (d - 3.0) + 24.0 * d))
    steps = 0
    while steps < 20:  # a count of five would be unrolled, at five times the time to compile
        f, slope, _g = gamma_terms(1.0 / v)
        step = (f - d) * (v * v) / slope
        v += step
        steps = steps + 1 if abs(step) > 1e-9 * v else 20  # the error is squared in each step
    return v


@device_function
def deviance(family, y, m):
    """Unit deviance of y about m; 0 for families of one parameter."""
    e = y - m
    if family == INVERSE_GAUSSIAN:
        r = e / m
        return r * (r / y)  # no intermediate overflows unless the result does
    if family == GAUSSIAN:
        return e * e
    if family == GAMMA:
        r = e / m
        if abs(r) < 0.1:  # without cancellation: log(1 + r) = 2 artanh v
            v = r / (2.0 + r)
            return v * (r - 2.0 * (v * v) * _ARTANH(v * v))
        return r - (math.log1p(r) if r > -0.5 else math.log(y / m))  # 1 + r would lose the digits of a small y
    return 0.0


@device_function
def coefficients(family, shape, m, v, c):
    """(A, B, C), without the weight of the component."""
    if family == INVERSE_GAUSSIAN:
        h = 0.5 / v
        e = (c - m) / m
        return -0.5 * math.log(v) - h * e * e / c, -h * e * (c + m) / (m * c * c), -h
    if family == GAUSSIAN:
        h = 0.5 / v
        e = c - m
        return -0.5 * math.log(v) - h * e * e, -2.0 * h * e, -h
    if family == GAMMA:
        a = 1.0 / v
        _d, _e, g = gamma_terms(a)
        return g - a * deviance(GAMMA, c, m), -a * ((c - m) / m) / c, -a
    if family == FIXED_GAMMA:  # relative to the mean c
        return -shape * deviance(GAMMA, c, m), -shape * ((c - m) / m) / c, 0.0
    if family == POISSON:
        e = (m - c) / c
        return -c * deviance(GAMMA, m, c), math.log1p(e) if e > -0.5 else math.log(m / c), 0.0
    b = -math.log1p(1.0 / m)
    return c * b - math.log1p(m), b, 0.0


@device_function
def maximise(family, s0, s1, s2, c, prior_n, prior_d):
    """M-step: (m, v) that maximise s0 A + s1 B + s2 C, with the dispersion prior of `penalty`."""
    m = c + s1 / s0
    if family > GAMMA:
        return m, 1.0
    d = s2 / s0 - deviance(family, m, c)
    d = (s0 * d + prior_n * prior_d) / (s0 + prior_n)
    return m, gamma_dispersion(d) if family == GAMMA and d > 0.0 else d


@device_function
def least_dispersion(family, m, c, floor):
    """Lower bound on a dispersion from sums about c: `floor`, or the rounding of the difference in `maximise`."""
    return max(floor, 1e-13 * deviance(family, m, c))


@device_function
def dispersion(family, m, variance):
    """The dispersion of a component of mean m and this variance of y; 1 for families of one parameter."""
    if family == INVERSE_GAUSSIAN:
        return variance / (m * m * m)
    if family == GAMMA:
        return variance / (m * m)
    return variance if family == GAUSSIAN else 1.0


@device_function
def with_old_mean(family, m, v, old):
    """The dispersion of an M-step that keeps the old mean in it (Howson 2015, section 3.1.2): mean deviance about `old`."""
    if family == GAMMA:
        return gamma_dispersion(gamma_terms(1.0 / v)[0] + deviance(family, m, old))
    return v + deviance(family, m, old)


@device_function
def first_derivatives(family, shape, m, v, c):
    """(A_m, A_v, B_m, B_v, C_v): derivatives in log m (Gaussian: m) and log v.

    A_v is written with `fma`, since it cancels near an optimum: LLVM fuses products into sums or not by what stands around them.
    """
    if family == INVERSE_GAUSSIAN:
        h = 0.5 / v
        f = (c - m) * (c - m) / (m * m * c)
        b = (c - m) * (c + m) / (m * m * c * c)
        return -h * 2.0 * (m - c) / (m * m), fma(h, f, -0.5), h * 2.0 / (m * m), h * b, h
    if family == GAUSSIAN:
        h = 0.5 / v
        e = c - m
        return 2.0 * h * e, fma(h * e, e, -0.5), 2.0 * h, 2.0 * h * e, h
    if family == GAMMA:
        a = 1.0 / v
        d, _e, _g = gamma_terms(a)
        z = (c - m) / m
        return a * z, -a * (d - (z - math.log1p(z))), a / m, a * z / c, a
    if family == FIXED_GAMMA:
        return shape * (c / m - 1.0), 0.0, shape / m, 0.0, 0.0
    if family == POISSON:
        return c - m, 0.0, 1.0, 0.0, 0.0
    return (c - m) / (1.0 + m), 0.0, 1.0 / (1.0 + m), 0.0, 0.0


@device_function
def second_derivatives(family, shape, m, v, c):
    """(A_mm, A_mv, A_vv, B_mm, B_mv, B_vv, C_vv)."""
    if family == INVERSE_GAUSSIAN:
        h = 0.5 / v
        f = (c - m) * (c - m) / (m * m * c)
        b = (c - m) * (c + m) / (m * m * c * c)
        r = 2.0 / (m * m)
        return -h * (4.0 * c / (m * m) - 2.0 / m), h * (m - c) * r, -h * f, -2.0 * h * r, -h * r, -h * b, -h
    if family == GAUSSIAN:
        h = 0.5 / v
        e = c - m
        return -2.0 * h, -2.0 * h * e, -h * e * e, 0.0, -2.0 * h, -2.0 * h * e, -h
    if family == GAMMA:
        a = 1.0 / v
        d, e, _g = gamma_terms(a)
        z = (c - m) / m
        vv = a * (d - (z - math.log1p(z))) + a * a * e
        return -a * c / m, -a * z, vv, -a / m, -a / m, -a * z / c, -a
    if family == FIXED_GAMMA:
        return -shape * c / m, 0.0, 0.0, -shape / m, 0.0, 0.0, 0.0
    if family == POISSON:
        return -m, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    q = m / ((1.0 + m) * (1.0 + m))
    return -q * (1.0 + c), 0.0, 0.0, -q, 0.0, 0.0, 0.0


@device_function
def penalty(family, v, prior_n, prior_d):
    """Log prior density of a dispersion (constants dropped), and its two derivatives in log v.

    `prior_n` pseudo-observations of mean deviance `prior_d`: -(n0/2)(log v + d0/v); gamma: n0 (G(a) - a d0).
    """
    if family > GAMMA:
        return 0.0, 0.0, 0.0
    if family == GAMMA:
        a = 1.0 / v
        d, e, g = gamma_terms(a)
        return prior_n * (g - a * prior_d), -prior_n * a * (d - prior_d), prior_n * (a * (d - prior_d) + a * a * e)
    q = prior_d / v
    half = 0.5 * prior_n
    return -half * (math.log(v) + q), -half * (1.0 - q), -half * q


@device_function
def moved(family, m, step):
    """The mean after a Newton step."""
    return m + step if family == GAUSSIAN else m * math.exp(step)


# --- responsibilities: powers of two whose exponents are differences of logits in bits -------------------------------------

_POWER64 = horner(  # 2^f for |f| <= 1/2, relative error 2.2e-16
    1.0,
    0.6931471805599497,
    0.24022650695908768,
    0.05550410866445883,
    0.009618129108034596,
    0.0013333558228561767,
    0.00015403529961127076,
    1.5252658116409854e-05,
    1.3215662835959238e-06,
    1.0208537929657404e-07,
    7.037278846726901e-09,
)
_POWER32 = horner(1.0000000716546416, 0.6931469670652649, 0.24022119723969, 0.05550713272875, 0.00967554133102, 0.00132764721678)
_ROUND64, _ROUND32 = 6755399441056767.0, np.float32(12583039.0)  # 1.5 * 2^52 + 1023, 1.5 * 2^23 + 127


@device_function
def _power64(x):
    x = x if not (x < -300.0) else -300.0  # written so that NaN stays
    t = x + _ROUND64
    return _POWER64(x - (t - _ROUND64)) * from_bits(to_bits(t) << 52)


@device_function
def _power32(x):
    x = x if not (x < np.float32(-60.0)) else np.float32(-60.0)
    t = x + _ROUND32
    return _POWER32(x - (t - _ROUND32)) * from_bits(np.int32(to_bits(t) << np.int32(23)))


@device_function
def _highest64(x):
    return 900.0


@device_function
def _highest32(x):
    return np.float32(80.0)


power_of_two = by_dtype(_power64, _power32)
"""2^x for x up to `highest_power`, below -300 (float32 -60) the value there: error 1.5 ulp, in 17 operations.

As a responsibility 2^-300 is 0, and no product of two of them is a subnormal number, which would be slow.
"""
highest_power = by_dtype(_highest64, _highest32)
"""900 or, for float32, 80."""
