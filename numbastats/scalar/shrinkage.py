"""Scalar steps of Gibbs samplers for probit regression with shrinkage priors.

A coefficient b has the prior N(0, tau^2 / eta): eta = 1 for ridge, eta^(-1/2) half-Cauchy for the horseshoe, 1/eta exponential
with mean 2 for the lasso. tau is half-Cauchy. With the local scale integrated out, log tau has a one-dimensional density that
a slice sampler draws from; then eta is drawn exactly.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, clip, from_bits, horner, muladd
from numbastats.scalar.elementary import exp, expm1, log, log1p
from numbastats.scalar.normal import LN2, r_form
from numbastats.scalar.philox import philox4x32, uniform52
from numbastats.scalar.samplers import exponential1, gamma1, normal_from_words, truncnorm_from_words
from numbastats.scalar.special import log_ndtr_ratio, ndtr_pair

__all__ = [
    "DONE",
    "START",
    "auxiliary",
    "bounded",
    "global_precision",
    "horseshoe_density",
    "horseshoe_local1",
    "inv_mills",
    "item_of",
    "lasso_density",
    "lasso_local1",
    "local_precision",
    "log_exe1",
    "log_expit_ratio",
    "log_prior_tau",
    "of_bfloat16",
    "of_float",
    "of_int8",
    "poisson_ratio",
    "regularised_density",
    "regularised_local1",
    "ridge_density",
    "ridge_local1",
    "slice_step",
    "truncnorm_right",
    "truncnorm_right_far",
    "uniform_pair",
]

# --- log(e^x E1(x)) --------------------------------------------------------------------------------------------
# x >= 1: (x + c) e^x E1(x) in u = (x - c)/(x + c), c = 2 (float32 1.5). x < 1: (E1(x) + log x + gamma)/x in x.

_FAR64 = horner(  # 2.2e-16
    1.4453144675528904,
    -0.7734276622355493,
    0.5703459483991006,
    -0.440010379978479,
    0.3622119937646337,
    -0.306240512300477,
    0.265888724248025,
    -0.23463551196585244,
    0.2100880235143437,
    -0.1901187306451589,
    0.17364803049368002,
    -0.15978109439513494,
    0.14797257099163216,
    -0.13780542973436424,
    0.12899515103700165,
    -0.1211300835483955,
    0.11367449718885486,
    -0.10690689342308715,
    0.10292164068792378,
    -0.10311691489497382,
    0.1027849446681213,
    -0.09204695901209686,
    0.06694530301192865,
    -0.03649554206682034,
    0.013773554431831739,
    -0.0031900796696547828,
    0.00034094388007683684,
)
_NEAR64 = horner(  # 2.3e-16
    1.0,
    -0.24999999999998654,
    0.05555555555501503,
    -0.01041666665819209,
    0.0016666665984418395,
    -0.000231481160502473,
    2.8343727239590016e-05,
    -3.0984078187288134e-06,
    3.039937350067096e-07,
    -2.5854992649820522e-08,
    1.5041142551136533e-09,
)
_FAR32 = horner(  # 9.5e-8
    1.344770079320883,
    -0.6209180507138002,
    0.4648342358847434,
    -0.3465530329728851,
    0.28643179063470486,
    -0.23912956477508077,
    0.19193303678774531,
    -0.12267431610333676,
    0.05048279546588862,
    -0.009177069342994356,
)
_NEAR32 = horner(  # 1.2e-8
    0.999999990226111,
    -0.24999928924163642,
    0.055547146518087384,
    -0.010380023702657644,
    0.0015934647397384753,
    -0.00016169850280053794,
)
_EULER = 0.5772156649015329

_polynomials = by_dtype(
    device_function(lambda x, u: (_NEAR64(x), _FAR64(u))), device_function(lambda x, u: (_NEAR32(x), _FAR32(u))), 2
)
_center = by_dtype(device_function(lambda x: 2.0), device_function(lambda x: np.float32(1.5)))


@device_function
def log_exe1(x):
    """log(e^x E1(x)) for x > 0, E1 the exponential integral; NaN for x < 0, inf at 0."""
    T = type(x)
    c = _center(x)
    near = x < T(1.0)
    r = T(1.0) / (x + c)
    u = muladd(T(-2.0) * c, r, T(1.0))
    p, q = _polynomials(x if near else T(1.0), u)
    e1 = muladd(x, p, -log(x)) - T(_EULER)
    v = log(e1 if near else q * r)
    v = v + x if near else v
    v = v if x < T(np.inf) else -x
    return v if x > T(0.0) else (T(np.inf) if x == T(0.0) else T(np.nan))


# --- the latent variable of a probit row -----------------------------------------------------------------------


@device_function
def inv_mills(m):
    """phi(m)/Phi(m), the mean of a standard normal truncated to values above -m; any m."""
    return log_ndtr_ratio(m)[1]


@device_function
def truncnorm_right(m, u):
    """The quantile of u of N(m, 1) on (0, inf), for m >= -6 and 2^-53 <= u <= 1 - 2^-53: no branch, at least 2.3e-308."""
    T = type(m)
    below, above = ndtr_pair(-m)
    w = T(1.0) - u
    low = muladd(u, above, below)  # mass of N(m, 1) below the result, and above it: the smaller one without cancellation
    up = w * above
    left = low < up
    v = -log(T(2.0) * (low if left else up))
    v = v if v > T(0.0) else T(0.0)
    z = r_form(v, T(math.sqrt(v + T(LN2))))
    z = m + (-z if left else z)
    return z if z > T(2.2250738585072014e-308) else T(2.2250738585072014e-308)


@device_function
def truncnorm_right_far(m, w0, w1):
    """`truncnorm_right` for any m, from two random words; for single values far in the tail."""
    T = type(m)
    z = truncnorm_from_words(w0, w1, m, T(1.0), T(0.0), T(np.inf))
    return z if z > T(2.2250738585072014e-308) else T(2.2250738585072014e-308)


# --- log-likelihoods of a row and their derivatives --------------------------------------------------------------


@device_function
def log_expit_ratio(x):
    """log(1/(1 + e^-x)) and its derivative 1/(1 + e^x); any x. Errors below 3 ulp."""
    T = type(x)
    e = exp(-abs(x))
    s = T(1.0) / (T(1.0) + e)
    left = x < T(0.0)
    return (x if left else T(0.0)) - log1p(e), s if left else e * s


@device_function
def poisson_ratio(y, x):
    """y x - e^x, the log-likelihood of a count y with mean e^x but for -log y!, and its derivative."""
    mean = exp(x)
    return y * x - mean, y - mean


# --- log tau given the coefficients ----------------------------------------------------------------------------
# The density of t = log tau is the product of g(b_j, t) over j, e^(-p t) and `log_prior_tau`.


@device_function
def _ratio(b, t):
    """x = b^2 / (2 tau^2), at least 1e-300."""
    T = type(b)
    r = b * exp(-t)
    x = T(0.5) * (r * r)
    return x if x > T(1e-300) else T(1e-300)


@device_function
def horseshoe_density(b, t):
    """Log density of b given log tau = t, up to constants and -t: log(e^x E1(x)), x = b^2/(2 tau^2)."""
    return log_exe1(_ratio(b, t))


@device_function
def ridge_density(b, t):
    """-b^2 / (2 tau^2)."""
    return -_ratio(b, t)


@device_function
def lasso_density(b, t):
    """-|b| / tau."""
    return -abs(b) * exp(-t)


@device_function
def regularised_density(b, t, c):
    """Log density log(e^x E1(x) + c tau pi e^x erfc(sqrt x)) of b under a prior near the regularised horseshoe.

    With w = lambda tau and a slab of width 1/c, that has the factor sqrt(1/w^2 + c^2) e^(-b^2/(2 w^2)) in w; here it is
    (1/w + c) e^(-b^2/(2 w^2)), at most sqrt(2) times as much, over which lambda is integrated out.
    """
    x = _ratio(b, t)
    return log(exp(log_exe1(x)) + c * exp(t) * 2.5066282746310002 / inv_mills(-math.sqrt(2.0 * x)))  # sqrt(2 pi)


@device_function
def log_prior_tau(t, p, scale):
    """Log prior of t: the term -p t of p coefficients, and the half-Cauchy prior of tau with this scale."""
    s = t - log(scale)  # log(scale^2 + e^2t) = 2 log scale + log(1 + e^2s)
    return t - p * t - ((2.0 * s if s > 0.0 else 0.0) + log1p(exp(-abs(2.0 * s))))


# Phases of `slice_step`, by the purpose of the next evaluation.
START, _LEFT, _RIGHT, _SHRINK, DONE = 0, 1, 2, 3, 4
WIDTH = 0.5
_MOST = 200  # evaluations: a density that is NaN must not loop for ever


@device_function
def slice_step(phase, count, value, level, t, lo, hi, at, k0, k1, item, stream):
    """One step of a slice sampler: takes the log density at `at`, returns where to evaluate it next.

    Parameters
    ----------
    phase, count : int
        0 at first; phase 4 is the end, with the draw in `at` (the old value where the density is NaN).
    value : float
        The log density at `at`; at first `at` is the current value t.

    Returns
    -------
    tuple
        (phase, count, level, lo, hi, at).
    """
    w0, w1, w2, w3 = philox4x32(np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(count), stream, k0, k1)
    u = uniform52(w0, w1)
    inside = value > level
    if phase == START:
        level = value + log(uniform52(w2, w3))
        lo = t - WIDTH * u
        hi = lo + WIDTH
        phase, at = _LEFT, lo
    elif phase == _LEFT:
        if inside:
            lo -= WIDTH
            at = lo
        else:
            phase, at = _RIGHT, hi
    elif phase == _RIGHT:
        if inside:
            hi += WIDTH
            at = hi
        else:
            phase, at = _SHRINK, muladd(hi - lo, u, lo)
    elif inside:
        phase = DONE
    else:
        if at < t:
            lo = at
        else:
            hi = at
        at = muladd(hi - lo, u, lo)
    count += 1
    if count > _MOST or not (level < np.inf):
        phase, at = DONE, t
    return phase, count, level, lo, hi, at


# --- eta given tau and b ---------------------------------------------------------------------------------------


@device_function
def horseshoe_local1(b, t, k0, k1, item, stream):
    """eta = 1/lambda^2 from the density exp(-x eta)/(1 + eta), x = b^2/(2 tau^2); by rejection, at least 0.57 accepted."""
    x = _ratio(b, t)
    low, high, draw = np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(0)
    body = log1p(1.0 / x)
    tail = 0.36787944117144233 / (1.0 + x)
    while True:
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        u, accept = uniform52(w0, w1), uniform52(w2, w3)
        draw = np.uint32(draw + np.uint32(1))
        if x >= 1.0:
            eta = -log(u) / x
            if accept * (1.0 + eta) < 1.0:
                return eta
        else:
            v = u * (body + tail)
            if v < body:
                eta = expm1(v)
                if accept < exp(-x * eta):
                    return eta
            else:
                eta = (1.0 - log((v - body) / tail)) / x
                if accept * (1.0 + eta) < 1.0 + 1.0 / x:
                    return eta


@device_function
def regularised_local1(b, t, c, k0, k1, item, stream):
    """eta from the density (1 + c tau/sqrt(eta)) exp(-x eta)/(1 + eta), a mixture of two components, one of which is drawn.

    The second component, eta^(-1/2) exp(-x eta)/(1 + eta), is drawn by rejection from eta half-Cauchy squared or gamma, at least
    0.5 accepted.
    """
    x = _ratio(b, t)
    low, high = np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32))
    first = exp(log_exe1(x) - regularised_density(b, t, c))
    draw = np.uint32(1 << 31)  # a draw number that the other component does not use
    w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
    if not uniform52(w0, w1) > first:
        return horseshoe_local1(b, t, k0, k1, item, stream)
    while True:
        draw = np.uint32(draw + np.uint32(1))
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        accept = uniform52(w2, w3)
        if x < 0.35:
            tangent = math.tan(1.5707963267948966 * uniform52(w0, w1))
            eta = tangent * tangent
            if accept < exp(-x * eta):
                return eta
        else:
            z = normal_from_words(w0, w1, 0.0, 1.0)
            eta = 0.5 * z * z / x
            if accept * (1.0 + eta) < 1.0:
                return eta


@device_function
def lasso_local1(b, t, k0, k1, item, stream):
    """eta, inverse Gaussian with mean tau/|b| and shape 1 (Michael, Schucany and Haas 1976, without cancellation)."""
    w0, w1, w2, w3 = philox4x32(np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(0), stream, k0, k1)
    z = normal_from_words(w0, w1, 0.0, 1.0)
    r = abs(b) * exp(-t)  # 1/mean
    r = r if r > 1e-150 else 1e-150
    y = z * z
    # the smaller root of r^2 x^2 - (2 r + y) x + 1 = 0
    x = 2.0 / ((2.0 * r + y) + math.sqrt(y * (4.0 * r + y)))
    return x if uniform52(w2, w3) * (1.0 + r * x) <= 1.0 else 1.0 / (r * r * x)


@device_function
def ridge_local1(b, t, k0, k1, item, stream):
    """1: there is no local scale."""
    return 1.0


# --- the horseshoe's conditionals with auxiliary variables (Makalic and Schmidt 2016; Terenin, Dong and Draper) -------


@device_function
def item_of(j, step):
    """Item j of iteration `step`."""
    return np.int64(j) | (np.int64(step) << np.int64(32))


@device_function
def uniform_pair(k0, k1, item, stream):
    """Two uniform numbers of an item."""
    w = philox4x32(np.uint32(item), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(0), stream, k0, k1)
    return uniform52(w[0], w[1]), uniform52(w[2], w[3])


@device_function
def bounded(d):
    """A prior precision in the range that a Cholesky factorisation can take."""
    return clip(d, 1e-12, 1e300)


@device_function
def auxiliary(rate, k0, k1, item, stream):
    """An exponential draw with this rate: 1/nu given 1/lambda^2, 1/xi given 1/tau^2."""
    return exponential1(k0, k1, item, stream, 1.0) / rate


@device_function
def local_precision(b, precision, inverse_nu, k0, k1, item, stream):
    """1/lambda^2, exponential with rate 1/nu + b^2/(2 tau^2)."""
    eta = exponential1(k0, k1, item, stream, 1.0) / (inverse_nu + 0.5 * b * b * precision)
    return clip(eta, 1e-290, 1e290)


@device_function
def global_precision(total, p, inverse_xi, k0, k1, item, stream):
    """1/tau^2, gamma with shape (p + 1)/2 and rate 1/xi + total, total the sum of b^2/(2 lambda^2)."""
    tau = gamma1(k0, k1, item, stream, 0.5 * (p + 1.0), 1.0) / (inverse_xi + total)
    return clip(tau, 1e-290, 1e290)


# --- stored numbers of a matrix ----------------------------------------------------------------------------------


@device_function
def of_float(x):
    """A stored float, in its own type."""
    return x


@device_function
def of_int8(k):
    """An 8-bit integer as a float64."""
    return np.float64(k)


@device_function
def of_bfloat16(k):
    """The float32 whose upper 16 bits are the integer, and whose lower bits are 0."""
    return from_bits(np.uint32(np.uint32(k) << np.uint32(16)))
