"""Mixture components that have a latent variable besides their membership: Student's t, skew-normal, negative binomial.

Their log densities are not linear in a few statistics, as those of `numbastats.scalar.mixture` are. Each has the same five
functions of numbers, with x the value less a centre c of the data and p what `*_coefficients` makes of a component's parameters:

``coefficients(m, v, s, c)``
    Seven numbers p, once for a component and a pass.
``density(x, p)``
    The log density; for continuous families without -log(2 pi)/2, for counts y without y log y - y - log y!.
``expected(x, p)``
    Statistics whose sums, times responsibilities, `maximise` needs: conditional expectations of the complete data.
``maximise(m, v, s, t0, ..., t5, most)``
    The next m, v, s from the old ones and the sums t0 of responsibilities and t1 to t5 of `expected`: the M-step.
``derivatives(x, p)``
    First and second derivatives of the log density in coordinates that have no bounds: s1, s2, s3, h11, h12, h13, h22, h23, h33.

============================= ======== ========================= ==================== ==============================
family                        m        v                         s                    coordinates
============================= ======== ========================= ==================== ==============================
Student's t                   location square of the scale       degrees of freedom   m, log v, log s
skew-normal                   location square of the scale       shape                m, log v, arsinh s
negative binomial             mean     size                      (the size)           log m, log v
============================= ======== ========================= ==================== ==============================

References
----------
G. McLachlan, D. Peel, "Finite Mixture Models" (2000), chapter 7. T. I. Lin, J. C. Lee, S. Y. Yen, "Finite mixture modelling
using the skew normal distribution", Statistica Sinica 17 (2007). A. Azzalini, "A class of distributions which includes the
normal ones", Scandinavian Journal of Statistics 12 (1985).
"""

from __future__ import annotations

import math

from numbastats._core.kernel import device_function
from numbastats.scalar.elementary import log, log1p
from numbastats.scalar.mixture import gamma_dispersion, gamma_terms
from numbastats.scalar.special import gamma_half_ratio, log_ndtr_ratio

__all__ = [
    "LEAST_DF",
    "NEGATIVE_BINOMIAL",
    "SKEW_NORMAL",
    "STUDENT_T",
    "limit",
    "negative_binomial_coefficients",
    "negative_binomial_density",
    "negative_binomial_derivatives",
    "negative_binomial_expected",
    "negative_binomial_maximise",
    "skew_normal_coefficients",
    "skew_normal_density",
    "skew_normal_derivatives",
    "skew_normal_expected",
    "skew_normal_maximise",
    "student_t_coefficients",
    "student_t_density",
    "student_t_derivatives",
    "student_t_expected",
    "student_t_maximise",
]

STUDENT_T, SKEW_NORMAL, NEGATIVE_BINOMIAL = 6, 7, 8  # after the codes of `numbastats.scalar.mixture`
LEAST_DF = 0.05  # degrees of freedom below which the likelihood has poles at every value

_LOG_2 = 0.6931471805599453
_HALF_LOG_2 = 0.34657359027997264  # log(2 pi)/2 - log(sqrt(pi))


@device_function
def limit(family, c):
    """Upper limit of the last coordinate, where a component is normal, half-normal or Poisson up to rounding."""
    if family == NEGATIVE_BINOMIAL:
        return 1e8 * (1.0 + c)
    return 1e8 if family == STUDENT_T else 1e6


# --- Student's t: normal with the variance v/u, u a gamma variable of shape s/2 and mean 1 ------------------------------------


@device_function(inline=False)
def student_t_coefficients(m, v, s, c):
    """Location, 1/v, s, the constant of the log density, its first two derivatives in s, and 1/s."""
    a = s + 1.0
    d1, e1, _g1 = gamma_terms(0.5 * a)
    d0, e0, _g0 = gamma_terms(0.5 * s)
    constant = _HALF_LOG_2 - math.log(math.sqrt(s) * gamma_half_ratio(0.5 * s)) - 0.5 * math.log(v)
    first = 0.5 * (math.log1p(1.0 / s) - d1 + d0) - 0.5 / s
    second = 0.25 * ((2.0 / a - e1) - (2.0 / s - e0)) + 0.5 / (s * s)
    return m - c, 1.0 / v, s, constant, first, second, 1.0 / s


@device_function
def student_t_density(x, p):
    """log Gamma((s + 1)/2)/Gamma(s/2) - log(s v/2)/2 - (s + 1)/2 log(1 + (x - m)^2/(s v))."""
    e = x - p[0]
    return p[3] - 0.5 * (p[2] + 1.0) * log1p(e * e * p[1] * p[6])


@device_function
def student_t_expected(x, p):
    """u, u e, u e^2 and log u - u with e = x - m and u = (s + 1)/(s + e^2/v), the expectation of the latent variable."""
    e = x - p[0]
    u = (p[2] + 1.0) / (p[2] + e * e * p[1])
    ue = u * e
    return u, ue, ue * e, log(u) - u, 0.0


@device_function(inline=False)
def student_t_maximise(m, v, s, t0, t1, t2, t3, t4, t5, most):
    """Weighted mean and variance; for s/2 = a the equation log a - psi(a) = d."""
    d = gamma_terms(0.5 * (s + 1.0))[0] - 1.0 - t4 / t0
    df = 2.0 / gamma_dispersion(d) if d > 1.0 / most else most
    return m + t2 / t1, (t3 - t2 * (t2 / t1)) / t0, max(min(df, most), LEAST_DF)


@device_function
def student_t_derivatives(x, p):
    """With q = e^2/v and u as above; their derivatives in s are 0 and (q - 1)/(s + q)^2."""
    e = x - p[0]
    s, ev, a = p[2], e * p[1], p[2] + 1.0
    q = e * ev
    i = 1.0 / (s + q)
    u, far, slope = a * i, q * i, s * (q - 1.0) * i * i
    growth = log1p(q * p[6])
    sn = s * (p[4] - 0.5 * growth) + 0.5 * a * far
    near, uq = s * i, u * q
    h33 = sn + s * s * p[5] + far * s - 0.5 * a * far * (1.0 + near)
    h11 = u * p[1] * (2.0 * far - 1.0)
    return u * ev, 0.5 * (uq - 1.0), sn, h11, -u * ev * near, ev * slope, -0.5 * uq * near, 0.5 * q * slope, h33


# --- skew-normal: m + sqrt(v) (delta |z1| + sqrt(1 - delta^2) z2), delta = s/sqrt(1 + s^2) ------------------------------------


@device_function(inline=False)
def skew_normal_coefficients(m, v, s, c):
    """Location, 1/scale, s, sqrt(1 + s^2), and the constant of the log density."""
    return m - c, 1.0 / math.sqrt(v), s, math.sqrt(1.0 + s * s), _LOG_2 - 0.5 * math.log(v), 0.0, 0.0


@device_function
def skew_normal_density(x, p):
    """log 2 - log(v)/2 - z^2/2 + log Phi(s z) with z the standardised value."""
    z = (x - p[0]) * p[1]
    return p[4] - 0.5 * z * z + log_ndtr_ratio(p[2] * z)[0]


@device_function
def skew_normal_expected(x, p):
    """e, e^2, t, t e and t^2 with e = x - m and t = |z1|, a normal variable of mean delta z cut off at 0."""
    e = x - p[0]
    z = e * p[1]
    deviation = 1.0 / p[3]
    mean = p[2] * deviation * z
    hazard = deviation * log_ndtr_ratio(p[2] * z)[1]
    t = mean + hazard
    return e, e * e, t, t * e, mean * t + deviation * deviation


@device_function(inline=False)
def skew_normal_maximise(m, v, s, t0, t1, t2, t3, t4, t5, most):
    """Regression of e on t: slope sqrt(v) delta, residual variance v (1 - delta^2)."""
    det = t0 * t5 - t3 * t3
    slope = (t0 * t4 - t1 * t3) / det
    shift = (t1 * t5 - t3 * t4) / det
    rest = (t2 - shift * t1 - slope * t4) / t0
    v = rest + slope * slope
    s = slope / math.sqrt(rest) if rest * most * most > slope * slope else math.copysign(most, slope)
    return m + shift, v, s


@device_function
def skew_normal_derivatives(x, p):
    """From the derivatives in z and s, with b = phi/Phi(s z), whose derivative is -b (s z + b)."""
    z = (x - p[0]) * p[1]
    s, c = p[2], p[3]
    b = log_ndtr_ratio(s * z)[1]
    b2 = -b * (s * z + b)
    fz, fzz = s * b - z, s * s * b2 - 1.0
    fs, fzs = z * b, b + s * z * b2
    h22, h33 = 0.25 * z * (fz + z * fzz), c * c * z * z * b2 + s * fs
    first = -p[1] * fz, -0.5 - 0.5 * z * fz, c * fs
    h11, h12, h13 = p[1] * p[1] * fzz, 0.5 * p[1] * (fz + z * fzz), -p[1] * c * fzs
    return first[0], first[1], first[2], h11, h12, h13, h22, -0.5 * z * c * fzs, h33


# --- negative binomial: Poisson with a mean that is a gamma variable of shape v and mean m ------------------------------------


@device_function(inline=False)
def negative_binomial_coefficients(m, v, s, c):
    """Mean, size r, 1/(m + r), `gamma_terms` of r, and c."""
    d, e, g = gamma_terms(v)
    return m, v, 1.0 / (m + v), d, e, g, c


@device_function
def negative_binomial_density(x, p):
    """With y = x + c, a = y + r, b = m + r: y log(m a/(y b)) + r log(a/b) - (g(a) - g(r)), g the third of `gamma_terms`."""
    y = x + p[6]
    e, r = (y - p[0]) * p[2], p[1]
    a, back = y + r, -e * r
    growth = log1p(e) if e > -0.5 else log(a * p[2])
    if y > 0.0:
        share = log1p(back / y) if back > -0.5 * y else log(p[0] * p[2] * (a / y))
        return y * share + r * growth - (gamma_terms(a)[2] - p[5])
    return r * growth


@device_function
def negative_binomial_expected(x, p):
    """Expectations of the gamma variable over its mean, and of its logarithm."""
    y = x + p[6]
    a = y + p[1]
    return a * p[2], log(a * p[2]) - gamma_terms(a)[0], 0.0, 0.0, 0.0


@device_function(inline=False)
def negative_binomial_maximise(m, v, s, t0, t1, t2, t3, t4, t5, most):
    """The M-step of a gamma distribution."""
    d = math.log(t1 / t0) - t2 / t0
    size = 1.0 / gamma_dispersion(d) if d > 0.5 / most else most
    return m * (t1 / t0), min(size, most), 1.0


@device_function
def negative_binomial_derivatives(x, p):
    """With a, b, r as above, d = log a - psi(a) and its derivative e."""
    y = x + p[6]
    m, r = p[0], p[1]
    f, a, i = y - m, y + r, p[2]
    d, e, _g = gamma_terms(a)
    ratio = f * i
    growth = log1p(ratio) if ratio > -0.5 else log(a * i)
    s2 = r * (growth - (d - p[3]) - ratio)
    h22 = s2 + r * r * (ratio * ratio / a - (e - p[4]))
    return r * ratio, s2, 0.0, -r * m * a * i * i, r * m * ratio * i, 0.0, h22, 0.0, 0.0
