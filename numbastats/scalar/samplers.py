"""Random draws as functions of Philox words or counters.

Two steps stay visible. ``<name>_from_words(w0, w1, parameters)`` turns random words into a draw and nothing else,
so a loop may first fill a buffer with words and then transform it. ``<name>1(k0, k1, item, stream, parameters)``
computes the words itself from the key (k0, k1), the item number (64 bits) and the stream word (stream | purpose << 24).

The float type is that of the parameters. float64 uses both words; float32 uses w0 alone. With u the random number,
u and 1 - u are both known to full relative precision, and neither the far tail nor the neighbourhood of zero of a draw
is cut by the spacing of floats near 1.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, fma, from_bits, muladd, real, root, to_bits
from numbastats.scalar.elementary import cospi, exp, expm1, log, log1p, log_scaled, pow, tanh
from numbastats.scalar.normal import LN2, r_form
from numbastats.scalar.philox import philox4x32, unit, unit_and_rest31, unit_and_rest32, word_bits
from numbastats.scalar.special import mills_right, ndtr_pair

__all__ = [
    "beta1",
    "exponential1",
    "exponential_from_words",
    "gamma1",
    "gamma_from_normal",
    "gamma_from_words",
    "gamma_resume1",
    "gumbel_from_words",
    "laplace_from_words",
    "log_gamma1",
    "logistic_from_words",
    "neg_log31",
    "normal1",
    "normal_from_words",
    "pareto_from_words",
    "polya_gamma1",
    "truncnorm1",
    "truncnorm_from_words",
    "uniform1",
    "uniform_from_words",
    "weibull_from_words",
]

# --- from a carrier of random bits (see word_bits) --------------------------------------------------------------


@device_function
def _pair64(bits):
    u = unit(bits)
    return u, 1.0 - u  # exact: u is an odd multiple of 2^-53


@device_function
def _pair32(bits):
    word = np.uint32(to_bits(bits))
    return unit_and_rest32(word)[0], unit_and_rest32(np.uint32(~word))[0]


_pair = by_dtype(_pair64, _pair32)


@device_function
def _neg_log64(bits):
    """-log(u) with u = (k + 1/2) 2^-52."""
    return -log_scaled(unit(bits), 0.0)  # u is positive and normal


@device_function
def _neg_log32(bits):
    """-log(u) with u = (k + 1/2) 2^-32. The rounding error of u is put back: -log(u) is right also as u -> 1."""
    u, e = unit_and_rest32(np.uint32(to_bits(bits)))
    return -(log_scaled(u, np.float32(0.0)) + e)


_neg_log = by_dtype(_neg_log64, _neg_log32)


@device_function
def neg_log31(word):
    """-log(u) in float32 with u = (k + 1/2) 2^-31, k the lower 31 bits of the word: leaves the top bit for a sign."""
    u, e = unit_and_rest31(word)
    return -(log_scaled(u, np.float32(0.0)) + e)


@device_function
def _root(v):
    """The r of the normal quantile's r-form for v < 700: no far tail, which no word reaches."""
    T = type(v)
    return root(v + T(LN2))


@device_function
def _signed64(x, bits):
    # The sign is the lowest bit, which the uniform number does not use.
    return from_bits(np.uint64(to_bits(x)) | (np.uint64(to_bits(bits)) << np.uint64(63)))


@device_function
def _signed32(x, bits):
    # The sign is the top bit; the other 31 give 2t = (k + 1/2) 2^-31.
    return from_bits(np.uint32(np.uint32(to_bits(x)) | np.uint32(np.uint32(to_bits(bits)) & np.uint32(0x80000000))))


_signed = by_dtype(_signed64, _signed32, 2)  # x >= 0 with a random sign
_neg_log_half = by_dtype(_neg_log64, device_function(lambda bits: neg_log31(np.uint32(to_bits(bits)))))  # -log 2t


@device_function
def _halves32(bits):
    word = np.uint32(to_bits(bits))
    return unit_and_rest31(word)[0], unit_and_rest31(np.uint32(~word))[0]


_halves = by_dtype(_pair64, _halves32)  # 2t and 1 - 2t


@device_function
def _normal_parts(bits):
    v = _neg_log_half(bits)
    return v, _signed(_root(v), bits)


@device_function
def _signed_normal(bits):
    v, r = _normal_parts(bits)
    return r_form(v, r)


# --- two steps for blocked loops: a carrier of bits -> two numbers -> the draw ----------------------------------


@device_function
def uniform_head(bits):
    """(u, u)."""
    u = unit(bits)
    return u, u


@device_function
def uniform_tail(u, unused, low, high):
    """``low + (high - low) u``."""
    return fma(high - low, u, low)


@device_function
def exponential_head(bits):
    """(-log u, the same)."""
    e = _neg_log(bits)
    return e, e


@device_function
def exponential_tail(e, unused, scale, unused_too):
    """Scale e; NaN unless scale >= 0."""
    T = type(e)
    return e * scale if scale >= T(0.0) else T(np.nan)


@device_function
def normal_head(bits):
    """(v, r) of the r-form, r with the sign of the draw."""
    return _normal_parts(bits)


@device_function
def normal_tail(v, r, loc, scale):
    """Loc + scale z; NaN unless scale >= 0."""
    T = type(v)
    x = muladd(scale, r_form(v, r), loc)
    return x if scale >= T(0.0) else T(np.nan)


@device_function
def laplace_head(bits):
    """(z, z), z = -log(2t) with a random sign."""
    z = _signed(_neg_log_half(bits), bits)
    return z, z


@device_function
def logistic_head(bits):
    """(z, z), z = log((1 - t)/t) = log1p(2 (1 - 2t)/2t) with a random sign."""
    T = type(bits)
    u, w = _halves(bits)
    z = _signed(log1p(T(2.0) * w / u), bits)
    return z, z


@device_function
def gumbel_head(bits):
    """(z, z), z = -log(-log u)."""
    z = -log(_neg_log(bits))
    return z, z


@device_function
def located_tail(z, unused, loc, scale):
    """Loc + scale z; NaN unless scale >= 0."""
    T = type(z)
    x = muladd(scale, z, loc)
    return x if scale >= T(0.0) else T(np.nan)


@device_function
def weibull_tail(e, unused, a, unused_too):
    """e^(1/a); 0 for a = 0, NaN unless a >= 0."""
    T = type(e)
    x = pow(e, T(1.0) / a) if a > T(0.0) else T(0.0)
    return x if a >= T(0.0) else T(np.nan)


@device_function
def pareto_tail(e, unused, a, unused_too):
    """e^(e/a) - 1; NaN unless a > 0."""
    T = type(e)
    return expm1(e / a) if a > T(0.0) else T(np.nan)


# --- fixed consumption: two words (float32: one) ---------------------------------------------------------------


@device_function
def uniform_from_words(w0, w1, low, high):
    """Uniform on (low, high): ``low + (high - low) u``, u = (k + 1/2) 2^-52 (float32: 2^-23); ends only by rounding."""
    low, high = real(low), real(high)
    u, unused = uniform_head(word_bits(w0, w1, low))
    return uniform_tail(u, unused, low, high)


@device_function
def exponential_from_words(w0, w1, scale):
    """Exponential with mean `scale`, ``-scale log(u)``; NaN unless scale >= 0."""
    scale = real(scale)
    e, unused = exponential_head(word_bits(w0, w1, scale))
    return exponential_tail(e, unused, scale, unused)


@device_function
def exponential_pair(w0, w1, scale, unused):
    """`exponential_from_words` with the two parameters that bulk kernels pass."""
    return exponential_from_words(w0, w1, scale)


@device_function
def normal_from_words(w0, w1, loc, scale):
    """Normal by inversion of a tail probability t = u/2 and a random sign; NaN unless scale >= 0."""
    loc, scale = real(loc), real(scale)
    v, r = normal_head(word_bits(w0, w1, loc))
    return normal_tail(v, r, loc, scale)


@device_function
def laplace_from_words(w0, w1, loc, scale):
    """Laplace by inversion of a tail probability and a random sign; NaN unless scale >= 0."""
    loc, scale = real(loc), real(scale)
    z, unused = laplace_head(word_bits(w0, w1, loc))
    return located_tail(z, unused, loc, scale)


@device_function
def logistic_from_words(w0, w1, loc, scale):
    """Logistic by inversion of a tail probability and a random sign; NaN unless scale >= 0."""
    loc, scale = real(loc), real(scale)
    z, unused = logistic_head(word_bits(w0, w1, loc))
    return located_tail(z, unused, loc, scale)


@device_function
def gumbel_from_words(w0, w1, loc, scale):
    """Gumbel (of largest values), ``loc - scale log(-log(u))``; NaN unless scale >= 0."""
    loc, scale = real(loc), real(scale)
    z, unused = gumbel_head(word_bits(w0, w1, loc))
    return located_tail(z, unused, loc, scale)


@device_function
def weibull_from_words(w0, w1, a, unused):
    """Weibull with scale 1, ``(-log(u))^(1/a)``; NaN unless a >= 0."""
    a = real(a)
    e, same = exponential_head(word_bits(w0, w1, a))
    return weibull_tail(e, same, a, unused)


@device_function
def pareto_from_words(w0, w1, a, unused):
    """Pareto of the second kind (Lomax), ``u^(-1/a) - 1``; NaN unless a > 0."""
    a = real(a)
    e, same = exponential_head(word_bits(w0, w1, a))
    return pareto_tail(e, same, a, unused)


# --- truncated normal ------------------------------------------------------------------------------------------

_TAIL_FROM = 6.0  # distance of the nearer end from the mean, in sigmas, where the tail form takes over
# Below this width, in sigmas, the density is an exponential up to width^2/8 relative (3e-11; float32 8e-6).
_narrow = by_dtype(device_function(lambda x: 2.0**-16), device_function(lambda x: np.float32(2.0**-7)))
_huge = by_dtype(device_function(lambda x: 1e308), device_function(lambda x: np.float32(1e38)))


@device_function
def _drop(t, m, d):
    """Log Phi(-t) - log Phi(-(t + d)) without cancellation, for t >= 6 and d >= 0; m is M(t).

    Near d = 0 the integral of the hazard rate h = 1/M from its derivatives, h' = h (h - t) and so on: 7e-16 at h d = 0.1.
    """
    T = type(t)
    big = d > _huge(t)
    d = T(0.0) if big else d
    e = d / m  # r1 to r4: derivatives of h over h^2 to h^5
    r1, w = T(1.0) - t * m, m * m
    r2 = muladd(r1, r1, r1 - w)
    r3 = muladd(r2, r1, r2) + T(2.0) * r1 * (r1 - w)
    r4 = muladd(r3, r1, r3) + r2 * (T(6.0) * r1 - T(3.0) * w)
    series = muladd(e, muladd(e, muladd(e, T(1.0 / 120.0) * r4, T(1.0 / 24.0) * r3), T(1.0 / 6.0) * r2), T(0.5) * r1)
    near = e * muladd(e, series, T(1.0))
    g = muladd(t, d, T(0.5) * d * d) - log(mills_right(t + d) / m)
    g = near if e < T(0.1) else g
    return T(np.inf) if big else g


@device_function
def _exponential_quantile(v, w, g):
    """``-log(1 - v (1 - exp(-g)))`` from v, w = 1 - v and g >= 0, accurate for small and for large results."""
    T = type(v)
    y = muladd(v, exp(-g), w)
    return -(log(y) if y < T(0.5) else log1p(v * expm1(-g)))


@device_function
def _tail_offset(t, width, v, w):
    """How far from the end at distance t >= 6 the draw lies, when a share v of the mass lies between.

    Solves log Phi(-t) - log Phi(-t - d) = s. The start has the right value, slope and nearly the curvature at d = 0; two
    steps of third order (the derivative of 1/M is (1/M - t)/M) leave less than the rounding error.
    """
    T = type(t)
    m = mills_right(t)
    s = _exponential_quantile(v, w, _drop(t, m, width))
    h = T(1.0) / m
    d = T(2.0) * s / (h + T(math.sqrt(muladd(h, h, s + s))))
    for _ in range(2):
        slope = mills_right(t + d)
        step = (_drop(t, m, d) - s) * slope
        d = d - muladd(T(0.5) * step * step, T(1.0) / slope - (t + d), step)
    return d


@device_function
def _narrow_share(z, v, w):
    """The same as a share of the interval's width, in a narrow interval over which the density falls by exp(-z)."""
    T = type(z)
    flat = z < T(1e-12)
    s = _exponential_quantile(v, w, T(1.0) if flat else z)
    return v if flat else s / z


@device_function
def _central(a, b, u, w):
    """The quantile of u in [a, b] from both tails; a + b <= 0 and b > -6."""
    T = type(a)
    a_low, a_up = ndtr_pair(a)
    b_low, b_up = ndtr_pair(b)
    low = muladd(u, b_low, w * a_low)  # two positive terms each: no cancellation
    up = muladd(u, b_up, w * a_up)
    left = low < up
    v = -log(T(2.0) * (low if left else up))
    v = v if v > T(0.0) else T(0.0)
    z = r_form(v, _root(v))
    return -z if left else z


@device_function
def _mirrored(mu, sigma, low, high):
    """(a, b, flip): the standardised ends, mirrored so that the nearer one is b; then all tails are lower tails."""
    T = type(mu)
    a, b = (low - mu) / sigma, (high - mu) / sigma
    flip = a + b > T(0.0)
    return (-b if flip else a), (-a if flip else b), flip


@device_function
def _is_central(width, b):
    """Whether the two-tail form is accurate: the interval is not narrow and reaches within 6 sigma of the mean."""
    T = type(b)
    return (width >= _narrow(b)) & (b >= T(-_TAIL_FROM))


@device_function
def _truncnorm_value(x, mu, sigma, low, high):
    """x clipped to [low, high], NaN for parameters out of domain."""
    T = type(mu)
    x = low if x < low else x
    x = high if x > high else x
    proper = (sigma > T(0.0)) & (sigma < T(np.inf)) & (low <= high) & (abs(mu) < T(np.inf))
    proper = proper & (low < T(np.inf)) & (high > T(-np.inf))
    return x if proper else T(np.nan)


@device_function
def truncnorm_central(u, w, mu, sigma, low, high):
    """The quantile of u = 1 - w where the two-tail form holds, else NaN: what a vectorised first pass can do."""
    T = type(mu)
    a, b, flip = _mirrored(mu, sigma, low, high)
    z = _central(a, b, w if flip else u, u if flip else w)
    x = _truncnorm_value(fma(sigma, -z if flip else z, mu), mu, sigma, low, high)
    return x if _is_central((high - low) / sigma, b) else T(np.nan)


@device_function
def _truncnorm(mu, sigma, low, high, u, w):
    """The quantile of u = 1 - w of a normal distribution on [low, high]."""
    T = type(mu)
    a, b, flip = _mirrored(mu, sigma, low, high)
    width = (high - low) / sigma
    if _is_central(width, b):
        return truncnorm_central(u, w, mu, sigma, low, high)
    v, rest = (u, w) if flip else (w, u)
    t = -b
    t = _huge(mu) if t > _huge(mu) else t
    if width < _narrow(mu):  # in units of the width, which may be nothing beside sigma
        unit, d = high - low, _narrow_share(muladd(T(0.5), width, t) * width, v, rest)
    else:
        unit, d = sigma, _tail_offset(t, width, v, rest)
    return _truncnorm_value(fma(unit, d if flip else -d, low if flip else high), mu, sigma, low, high)


@device_function
def truncnorm_from_words(w0, w1, mu, sigma, low, high):
    """Normal(mu, sigma) conditioned on [low, high], by inversion of one uniform number; increasing in it.

    The nearer end of the interval is the origin where it lies beyond 6 sigma: the distance from it keeps full relative
    precision however far out the interval is. Infinite ends are allowed. low == high gives that number. NaN where
    low > high, where sigma is not positive and finite (0 included), where mu is not finite, where both ends are the
    same infinity, and for NaN.
    """
    mu, sigma = real(mu), real(sigma)
    u, w = _pair(word_bits(w0, w1, mu))
    return _truncnorm(mu, sigma, low, high, u, w)


# --- gamma: rejection, one Philox block a try ------------------------------------------------------------------


@device_function
def _boosted(shape):
    """The shape that is sampled by rejection: Gamma(shape) = Gamma(shape + 1) U^(1/shape) for shape < 1."""
    T = type(shape)
    return shape + T(1.0) if shape < T(1.0) else shape


@device_function
def gamma_from_normal(z, e, shape):
    """One try of a Gamma(a) draw from a normal z and an exponential e; -1 where it is rejected (5 % at most).

    a = shape, or shape + 1 for shape < 1. Marsaglia and Tsang (2000): d (1 + c z)^3, d = a - 1/3, c = 1/sqrt(9 d), is
    accepted when -e < z^2/2 + d - d v + d log v. With y = c z the right side is 3 d (log1p(y) - y + y^2/2 - y^3/3),
    about -3 d y^4/4, which does not cancel for large shapes.
    """
    shape = real(shape)
    T = type(shape)
    d = _boosted(shape) - T(1.0 / 3.0)
    y = z / T(math.sqrt(T(9.0) * d))
    y2 = y * y
    inside = y > T(-1.0)
    series = y2 * y2 * muladd(y, muladd(y, T(-1.0 / 6.0), T(0.2)), T(-0.25))
    rest = log1p(y if inside else T(0.0)) - y * muladd(y, muladd(y, T(1.0 / 3.0), T(-0.5)), T(1.0))
    rest = series if y2 < T(1e-5) else rest
    v = T(1.0) + y
    accept = inside and (e > d * (T(-3.0) * rest))  # in this order no shape overflows
    return d * (v * v * v) if accept else T(-1.0)


@device_function
def gamma_from_words(w0, w1, w2, w3, shape):
    """`gamma_from_normal` with the normal of the words w0, w1 and the exponential of w2, w3."""
    shape = real(shape)
    z = _signed_normal(word_bits(w0, w1, shape))
    return gamma_from_normal(z, _neg_log(word_bits(w2, w3, shape)), shape)


_BOOST = np.uint32(0xFFFFFFFF)  # the draw number of the uniform number that a shape below 1 needs besides its tries


@device_function
def _gamma_parts(k0, k1, item, stream, shape, first, draw):
    """g, e with g exp(-e) a Gamma(shape) draw: for shape < 1, g is Gamma(shape + 1) and e an exponential over shape.

    `first` is the result of the tries before number `draw`, -1 if there is none.
    """
    T = type(shape)
    low, high = np.uint32(np.uint64(item)), np.uint32(np.uint64(item) >> np.uint64(32))
    if not (shape > T(0.0) and shape < T(np.inf)):  # the limits at 0 and inf
        return (shape if shape >= T(0.0) else T(np.nan)), T(0.0)
    g, draw = first, np.uint32(draw)
    while g < T(0.0):
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        g = gamma_from_words(w0, w1, w2, w3, shape)
        draw = np.uint32(draw + np.uint32(1))
    e = T(0.0)
    if shape < T(1.0):
        w0, w1, w2, w3 = philox4x32(low, high, _BOOST, stream, k0, k1)
        e = _neg_log(word_bits(w0, w1, shape)) / shape
        e = _huge(shape) if e > _huge(shape) else e
    return g, e


@device_function
def _gamma_value(g, e, scale):
    T = type(g)
    x = exp((log(g) + log(scale)) - e) if e > T(0.0) else g * scale  # in logs: no underflow but the draw's own
    return x if scale >= T(0.0) else T(np.nan)


@device_function
def gamma1(k0, k1, item, stream, shape, scale):
    """The Gamma(shape, scale) draw of an item; 0 for shape 0, inf for shape inf, NaN for a negative shape or scale."""
    shape = real(shape)
    T = type(shape)
    g, e = _gamma_parts(k0, k1, item, stream, shape, T(-1.0), 0)
    return _gamma_value(g, e, scale)


@device_function
def gamma_resume1(k0, k1, item, stream, shape, scale, first):
    """`gamma1` after `first`, what `gamma_from_words` made of the block of draw 0, -1 included: the same number."""
    shape = real(shape)
    g, e = _gamma_parts(k0, k1, item, stream, shape, first, 1)
    return _gamma_value(g, e, scale)


@device_function
def log_gamma1(k0, k1, item, stream, shape):
    """The logarithm of `gamma1` at scale 1: finite also where the draw itself underflows (small shapes)."""
    shape = real(shape)
    T = type(shape)
    g, e = _gamma_parts(k0, k1, item, stream, shape, T(-1.0), 0)
    return log(g) - e


# --- log-concave densities: rejection from a hat that is flat around the mode, one Philox block a try ----------
# The hat's two tails are exponential, and touch the density where its logarithm has fallen by about 1 (L. Devroye, "Non-Uniform
# Random Variate Generation", 1986, section VII.2). At least 0.88 of the tries are accepted, for all shapes:
# Y = log(X/(1 - X)) of a beta variable has a density like e^(aY) (1 + e^Y)^-(a + b), with its mode at log(a/b),
# Y = log X of a gamma variable one like e^(aY - e^Y), with its mode at log(a).


@device_function
def _centred(bits):
    """A uniform number u as u, or from 1/2 on as u - 1: full relative precision next to both ends."""
    T = type(bits)
    u, w = _pair(bits)
    return u if u < T(0.5) else -w


@device_function
def _from_hat(x, below, fall_below, above, fall_above):
    """(t, height): a draw from the hat as distance from the mode, and the hat's logarithm there; x is of `_centred`.

    The hat is flat from -below to above, and falls with these slopes from there on.
    """
    T = type(x)
    tail_below, tail_above = T(1.0) / fall_below, T(1.0) / fall_above
    total = (below + above) + (tail_below + tail_above)
    from_below = total * (x if x > T(0.0) else T(1.0) + x)
    from_above = total * (-x if x < T(0.0) else T(1.0) - x)
    left, right = from_below < tail_below, from_above < tail_above
    height = log(from_below * fall_below if left else from_above * fall_above if right else T(1.0))
    beyond = height / (fall_below if left else fall_above)
    t = above - beyond if right else (from_below - tail_below) - below
    return (beyond - below if left else t), height


_least_shape = by_dtype(device_function(lambda x: 1e-300), device_function(lambda x: np.float32(1e-36)))  # all draws are 0


@device_function
def _gamma_fall(t, m, a):
    """``a (t - m)``, m = e^t - 1, without cancellation."""
    T = type(t)
    series = muladd(t, muladd(t, T(1.0 / 5040.0), T(1.0 / 720.0)), T(1.0 / 120.0))
    series = muladd(t, muladd(t, muladd(t, series, T(1.0 / 24.0)), T(1.0 / 6.0)), T(0.5))
    return -(a * t) * (t * series) if abs(t) < T(2.0**-7) else a * (t - m)


@device_function
def gamma_by_log(x, e, shape):
    """One try of a Gamma(shape) draw from x (`_centred`) and an exponential e; -1 where it is rejected, inf for shape inf."""
    T = type(shape)
    a = shape if shape > _least_shape(shape) else _least_shape(shape)
    s = T(math.sqrt(T(2.0) / a)) + T(1.0) / a
    m = expm1(-s)
    fall_below = -a * m
    below = s + _gamma_fall(-s, m, a) / fall_below
    fall_above, s = a * s, log1p(s)  # e^log1p(s) - 1 is s
    above = s + _gamma_fall(s, fall_above / a, a) / fall_above
    t, height = _from_hat(x, below, fall_below, above, fall_above)
    value = a * exp(t)
    value = value if e >= height - _gamma_fall(t, expm1(t), a) else T(-1.0)
    value = value if shape < T(np.inf) else shape
    return value if shape > T(0.0) else T(np.nan)


@device_function
def gamma_by_log_rest(k0, k1, item, stream, shape, found, draw):
    """The Gamma(shape) draw of an item from try number `draw` on, if what was `found` is none."""
    T = type(shape)
    low, high = np.uint32(np.uint64(item)), np.uint32(np.uint64(item) >> np.uint64(32))
    draw = np.uint32(draw)
    while found < T(0.0):
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        found = gamma_by_log(_centred(word_bits(w0, w1, shape)), _neg_log(word_bits(w2, w3, shape)), shape)
        draw = np.uint32(draw + np.uint32(1))
    return found


# --- beta ------------------------------------------------------------------------------------------------------

# the largest shape below which only a/b matters, by what both are multiplied then; the same for large ones; the least share of
# the smaller shape in the larger, and the least shape
_beta_limits = by_dtype(
    device_function(lambda x: (1e-200, 1e150, 1e200, 1e-20, 1e-250, 1e-300)),
    device_function(
        lambda x: (np.float32(1e-28), np.float32(1e16), np.float32(1e30), np.float32(1e-8), np.float32(1e-30), np.float32(1e-36))
    ),
)


@device_function
def _beta_shapes(a, b):
    """Shapes of what rounds to the same distribution, with which nothing overflows."""
    T = type(a)
    tiny, up, huge, down, share, least = _beta_limits(a)
    most = a if a > b else b
    factor = up if most < tiny else down if most > huge else T(1.0)
    a, b, most = factor * a, factor * b, factor * most
    least = share * most if share * most > least else least
    return (a if a > least else least), (b if b > least else least)


_growing = by_dtype(device_function(lambda s: 600.0), device_function(lambda s: np.float32(80.0)))  # e^s does not overflow


@device_function
def _beta_side(s, rate, other, share, rest, n, h):
    """(d, g): by how much the logarithm of the density falls on the way s to a side, as d <= 0, and its slope there, g > 0.

    On the side of the smaller shape d = -rate s - n log1p(-share (1 - e^-s)), on that of the larger d = other s - n log1p(rest
    (e^s - 1)), and next to the mode its Taylor series, the cumulants of a Bernoulli variable: none cancels.
    """
    T = type(s)
    m, e = expm1(-s), exp(-s)
    y = muladd(share, e, rest)
    grow = (share > T(0.5)) & (s < _growing(s))
    scale = T(1.0) / (e if grow else T(1.0))
    x, z = scale * y, scale * (-rest * m if grow else share * m)  # 1 + z, and z
    ratio, log_x = z / (x - T(1.0)), log(x)
    far = muladd(other if grow else -rate, s, -n * (z if x == T(1.0) else log_x * ratio))
    skew, v = share - rest, share * rest
    series = muladd(s, skew * muladd(T(-0.1), v, T(1.0 / 120.0)), muladd(T(-0.25), v, T(1.0 / 24.0)))
    near = -(h * s) * (s * muladd(s, muladd(s, series, skew * T(1.0 / 6.0)), T(0.5)))
    return (near if s < T(2.0**-10) else far), -h * m / y


@device_function
def _beta_edge(rate, other, share, rest, n, h):
    """(c, g): the hat is flat as far as c from the mode, and falls at the rate g from there on."""
    T = type(rate)
    s = T(math.sqrt(T(2.0) / h)) + T(1.0) / rate
    d, g = _beta_side(s, rate, other, share, rest, n, h)
    return s + d / g, g


@device_function
def beta_try(x, e, a, b, unused, unused_too):
    """One try of a Beta(a, b) draw from x, u or u - 1 (`_centred`), and an exponential e; -1 where it is rejected."""
    T = type(a)
    proper = (a > T(0.0)) & (b > T(0.0)) & (a < T(np.inf)) & (b < T(np.inf))
    a, b = _beta_shapes(a, b)
    n = a + b
    p, q = a / n, b / n
    h = a * q if a < b else b * p
    below, fall_below = _beta_edge(a, b, p, q, n, h)
    above, fall_above = _beta_edge(b, a, q, p, n, h)
    t, height = _from_hat(x, below, fall_below, above, fall_above)
    up, s = t > T(0.0), abs(t)
    d, unused_slope = _beta_side(s, b if up else a, a if up else b, q if up else p, p if up else q, n, h)
    decay, odds = exp(-s), b / a
    times, top = (decay if up else T(1.0)), (T(1.0) if up else decay)
    value = top / muladd(odds, times, top)
    value = value if e >= height - d else T(-1.0)
    return value if proper else T(np.nan)


@device_function
def _beta_rest(k0, k1, item, stream, a, b, found, draw):
    """The beta draw of an item from try number `draw` on, if what was found is none."""
    T = type(a)
    low, high = np.uint32(np.uint64(item)), np.uint32(np.uint64(item) >> np.uint64(32))
    draw = np.uint32(draw)
    while found < T(0.0):
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        found = beta_try(_centred(word_bits(w0, w1, a)), _neg_log(word_bits(w2, w3, a)), a, b, a, b)
        draw = np.uint32(draw + np.uint32(1))
    return found


@device_function
def beta1(k0, k1, item, stream, a, b):
    """The Beta(a, b) draw of an item; NaN unless a and b are positive and finite.

    Formed from the logarithm of the odds, so that small draws keep their relative precision; for small a and b it may be 0 or 1.
    """
    a, b = real(a), real(b)
    T = type(a)
    return _beta_rest(k0, k1, item, stream, a, b, T(-1.0), 0)


# --- inverse Gaussian and Student's t: no rejection, one Philox block ------------------------------------------


# Where the roots are r and 1/r to the last bit, and no uniform number chooses the first.
_far_root = by_dtype(device_function(lambda x: 1e17), device_function(lambda x: np.float32(1e12)))


@device_function
def _wald(z, v, mean, scale):
    """(x, u): an inverse Gaussian draw from a normal z and a uniform v, and a uniform number, v anew, independent of x.

    x is NaN unless both parameters are positive. The roots of r = (X/mean - 1)^2/(X/mean) = mean z^2/scale are X = mean/w and
    mean w, the second with probability 1/(1 + w) (Michael, Schucany and Haas, 1976); w >= 1 is a sum of positive terms.
    """
    T = type(z)
    square = z * z
    r = mean / scale * square
    far = r > _far_root(r)
    half = T(0.5) * (T(1.0) if far else r)
    w = T(1.0) + (half + T(math.sqrt(half * (half + T(2.0)))))
    place = v * (T(1.0) + w)
    second = place < T(1.0)
    x = mean * w if second else mean / w
    x = scale / square if far else x
    u = v if far else place if second else (place - T(1.0)) / w
    return (x if (mean > T(0.0)) & (scale > T(0.0)) else T(np.nan)), u


@device_function
def wald_try(z, v, mean, scale, unused, unused_too):
    """An inverse Gaussian draw from a normal z and a uniform v; NaN unless both parameters are positive."""
    return _wald(z, v, mean, scale)[0]


@device_function
def standard_t_try(e, c, df, unused, unused_too, unused_again):
    """A draw of Student's t from an exponential e and the cosine c of a uniform angle; NaN unless df > 0.

    ``sqrt(df (e^(2e/df) - 1)) c`` (R. W. Bailey, "Polar generation of random variates with the t-distribution", 1994), the root
    divided by e^(e/df), which it overflows with. Infinite df gives a normal draw.
    """
    T = type(e)
    h = e / df
    h = h if h < T(1e4) else T(1e4)  # where e^h is infinite
    ratio = T(-0.5) * expm1(T(-2.0) * h) / h
    ratio = ratio if h > T(1e-30) else T(1.0)
    x = (T(math.sqrt(T(2.0) * e * ratio)) * c) * exp(h)
    return x if df > T(0.0) else T(np.nan)


# --- Polya-Gamma: a sum of parts of b <= 1, each by rejection from an inverse Gaussian, one Philox block a try -----

_MOST_PARTS = 170.0  # the b from which on a shifted gamma draw takes the place of the sum
# Beyond this number of a part p is taken as 0: it is below 1e-15 (float32: 4e-5, the chance of such a part below 5e-7).
_longest = by_dtype(device_function(lambda x: 8.0), device_function(lambda x: np.float32(3.0)))


@device_function
def _polya_chance(x, b):
    """p, the density of PG(b, 0) at x over 2^b times that of its first term, a Levy density of scale b^2/4; b <= 1.

    ``sum_n (-1)^n Gamma(n + b)/(n! Gamma(b)) (2n + b)/b exp(-n(n + b)/(2x))``, falling from 1 to 0 in x, to a few ulp of 1.
    """
    T = type(x)
    half = T(-0.5) / x
    total, coefficient, power, ratio, square = T(1.0), T(1.0), T(1.0), exp((T(1.0) + b) * half), exp(T(2.0) * half)
    n, sign, term = T(1.0), T(-1.0), T(1.0)
    while term > T(1e-17) and n < T(32.0):
        power, ratio = power * ratio, ratio * square
        term = coefficient * (T(2.0) * n + b) * power
        total = total + sign * term
        coefficient, sign, n = coefficient * (n + b) / (n + T(1.0)), -sign, n + T(1.0)
    return total if x < _longest(x) else T(0.0)


@device_function
def _polya_parts(b):
    """The number of parts, b rounded up."""
    T = type(b)
    whole = T(np.int32(b))
    return whole + T(1.0) if whole < b else whole


@device_function
def polya_gamma_try(z, v, b, c, unused, unused_too):
    """One try of a part of a PG(b, c) draw, PG(b/n, c) with n the next whole number to b, from a normal z and a uniform v.

    -1 where it is rejected, at most half of the tries, where there is no sum of parts, and for parameters out of domain. The
    first term of the density, times exp(-c^2 x/2), is that of an inverse Gaussian of mean b/(2c) and shape b^2/4.
    """
    T = type(z)
    proper = (b > T(0.0)) & (b < T(_MOST_PARTS)) & (abs(c) < T(np.inf))
    b = b if proper else T(1.0)
    b = b / _polya_parts(b)
    product = abs(c) * b
    y, u = _wald(z, v, T(0.5) / product if product > T(0.0) else T(np.inf), T(0.25))  # x/b^2, which does not underflow
    x = b * y * b
    accept = proper and u < (_polya_chance(x, b) if x > T(0.0) else T(1.0))
    return x if accept else T(-1.0)


@device_function
def _polya_gamma_shape(c):
    """(shape/b, scale) of the shifted gamma distribution with the variance and the third cumulant of PG(b, c), c finite.

    With z = c/2 and w = z^2 from derivatives of log cosh(sqrt(w)), by their Taylor series next to 0.
    """
    T = type(c)
    z = T(0.5) * c
    w = z * z
    if w < T(0.04):
        second = muladd(w, muladd(w, muladd(w, T(-691.0 * 30 / 935550), T(31.0 * 20 / 14175)), T(-17.0 * 12 / 2520)), T(6.0 / 45))
        second = muladd(w, second, T(-1.0 / 6.0))
        third = muladd(w, muladd(w, muladd(w, T(-691.0 * 120 / 935550), T(31.0 * 60 / 14175)), T(-17.0 * 24 / 2520)), T(6.0 / 45))
        scale = T(-0.25) * third / second
        return T(-0.25) * second / (scale * scale), scale
    t, e = tanh(z), exp(T(-2.0) * z)
    slope = T(4.0) * e / ((T(1.0) + e) * (T(1.0) + e))  # of tanh
    gap = t - z * slope
    s = T(3.0) - T(2.0) * t * z * (z * slope) / gap
    return T(4.0) * z * gap / (s * s), T(0.125) * s / z / z


@device_function
def _polya_gamma_mean(b, c):
    """``b tanh(c/2)/(2c)``."""
    T = type(b)
    return T(0.5) * b * (tanh(T(0.5) * c) / c if c > T(1e-8) else T(0.5))


@device_function
def polya_gamma_rest(k0, k1, item, stream, b, c, first, draw):
    """The PG(b, c) draw of an item, given the result of its first try if `draw` is 1, and -1 if it is 0."""
    T = type(b)
    c = abs(c)
    if not (b > T(0.0) and b < T(np.inf) and c >= T(0.0)):
        return T(np.nan)
    if c == T(np.inf):
        return T(0.0)
    low, high, draw = np.uint32(np.uint64(item)), np.uint32(np.uint64(item) >> np.uint64(32)), np.uint32(draw)
    if b >= T(_MOST_PARTS):
        shape, scale = _polya_gamma_shape(c)
        shape, mean = b * shape, _polya_gamma_mean(b, c)
        if shape > T(1e32):  # whose deviations are below an ulp
            return mean
        return mean + scale * (gamma1(k0, k1, item, stream, shape, T(1.0)) - shape)
    parts, total = _polya_parts(b), T(0.0)
    if first >= T(0.0):
        parts, total = parts - T(1.0), first
    while parts > T(0.0):
        w0, w1, w2, w3 = philox4x32(low, high, draw, stream, k0, k1)
        x = polya_gamma_try(_signed_normal(word_bits(w0, w1, b)), _pair(word_bits(w2, w3, b))[0], b, c, b, b)
        draw = np.uint32(draw + np.uint32(1))
        if x >= T(0.0):
            parts, total = parts - T(1.0), total + x
    return total


@device_function
def polya_gamma1(k0, k1, item, stream, b, c):
    """The Polya-Gamma draw PG(b, c) of an item; 0 for infinite c, NaN unless b is positive and finite.

    Exact below b = 170, of some 2b tries; a gamma draw with the exact mean, variance and third cumulant from there on.
    """
    b, c = real(b), real(c)
    T = type(b)
    return polya_gamma_rest(k0, k1, item, stream, b, c, T(-1.0), 0)


# --- items for blocked loops: two numbers from the block of draw 0, one vectorised try, and the rest in scalar code --
# All take four parameters; `found` is the try's result.


@device_function
def gamma_first(b0, b1):
    """The normal of a gamma try."""
    return _signed_normal(b0)


@device_function
def gamma_second(b0, b1):
    """The exponential of a gamma try."""
    return _neg_log(b1)


@device_function
def gamma_try(z, e, shape, scale, unused, unused_too):
    """The result of draw 0, -1 where it is rejected."""
    return gamma_from_normal(z, e, shape)


@device_function
def gamma_finish(k0, k1, item, stream, shape, scale, unused, unused_too, found):
    """`gamma1` after draw 0."""
    return gamma_resume1(k0, k1, item, stream, shape, scale, found)


@device_function
def gamma_item(k0, k1, item, stream, shape, scale, unused, unused_too):
    """`gamma1`."""
    return gamma1(k0, k1, item, stream, shape, scale)


@device_function
def log_concave_first(b0, b1):
    """What `gamma_by_log` and `beta_try` take as x."""
    return _centred(b0)


@device_function
def chisquare_try(x, e, df, unused, unused_too, unused_again):
    """Half of the draw, of draw 0, -1 where it is rejected."""
    return gamma_by_log(x, e, type(df)(0.5) * df)


@device_function
def chisquare_finish(k0, k1, item, stream, df, unused, unused_too, unused_again, found):
    """The chi-squared draw after draw 0."""
    T = type(df)
    return T(2.0) * gamma_by_log_rest(k0, k1, item, stream, T(0.5) * df, found, 1)


@device_function
def chisquare_item(k0, k1, item, stream, df, unused, unused_too, unused_again):
    """The chi-squared draw of an item: Gamma(df/2) twice as large."""
    T = type(df)
    return T(2.0) * gamma_by_log_rest(k0, k1, item, stream, T(0.5) * df, T(-1.0), 0)


@device_function
def beta_finish(k0, k1, item, stream, a, b, unused, unused_too, found):
    """`beta1` after draw 0."""
    return _beta_rest(k0, k1, item, stream, a, b, found, 1)


@device_function
def beta_item(k0, k1, item, stream, a, b, unused, unused_too):
    """`beta1`."""
    return beta1(k0, k1, item, stream, a, b)


@device_function
def wald_second(b0, b1):
    """The uniform number that chooses a root."""
    return _pair(b1)[0]


@device_function
def wald_item(k0, k1, item, stream, mean, scale, unused, unused_too):
    """The inverse Gaussian draw of an item."""
    w0, w1, w2, w3 = _block(k0, k1, item, stream)
    return wald_try(_signed_normal(word_bits(w0, w1, mean)), _pair(word_bits(w2, w3, mean))[0], mean, scale, mean, mean)


@device_function
def polya_gamma_finish(k0, k1, item, stream, b, c, unused, unused_too, found):
    """`polya_gamma1` after draw 0."""
    return polya_gamma_rest(k0, k1, item, stream, b, c, found, 1)


@device_function
def polya_gamma_item(k0, k1, item, stream, b, c, unused, unused_too):
    """`polya_gamma1`."""
    return polya_gamma1(k0, k1, item, stream, b, c)


@device_function
def standard_t_first(b0, b1):
    """The exponential."""
    return _neg_log(b0)


@device_function
def standard_t_second(b0, b1):
    """The cosine of a uniform angle, never 0."""
    return cospi(type(b1)(2.0) * unit(b1))


@device_function
def standard_t_item(k0, k1, item, stream, df, unused, unused_too, unused_again):
    """The draw of Student's t of an item."""
    w0, w1, w2, w3 = _block(k0, k1, item, stream)
    e, b1 = _neg_log(word_bits(w0, w1, df)), word_bits(w2, w3, df)
    return standard_t_try(e, standard_t_second(b1, b1), df, df, df, df)


@device_function
def no_finish(k0, k1, item, stream, a, b, c, d, found):
    """Of draws that the first try gives."""
    return found


@device_function
def truncnorm_first(b0, b1):
    """u."""
    return _pair(b0)[0]


@device_function
def truncnorm_second(b0, b1):
    """1 - u."""
    return _pair(b0)[1]


@device_function
def truncnorm_finish(k0, k1, item, stream, mu, sigma, low, high, found):
    """`truncnorm1` where the central form does not hold."""
    return found if found == found else truncnorm1(k0, k1, item, stream, mu, sigma, low, high)


# --- one item, one block ---------------------------------------------------------------------------------------


@device_function
def _block(k0, k1, item, stream):
    number = np.uint64(item)
    return philox4x32(np.uint32(number), np.uint32(number >> np.uint64(32)), np.uint32(0), stream, k0, k1)


@device_function
def uniform1(k0, k1, item, stream, low, high):
    """The uniform draw of an item; see `uniform_from_words`."""
    w = _block(k0, k1, item, stream)
    return uniform_from_words(w[0], w[1], low, high)


@device_function
def exponential1(k0, k1, item, stream, scale):
    """The exponential draw of an item; see `exponential_from_words`."""
    w = _block(k0, k1, item, stream)
    return exponential_from_words(w[0], w[1], scale)


@device_function
def normal1(k0, k1, item, stream, loc, scale):
    """The normal draw of an item; see `normal_from_words`."""
    w = _block(k0, k1, item, stream)
    return normal_from_words(w[0], w[1], loc, scale)


@device_function
def truncnorm1(k0, k1, item, stream, mu, sigma, low, high):
    """The truncated normal draw of an item; see `truncnorm_from_words`."""
    w = _block(k0, k1, item, stream)
    return truncnorm_from_words(w[0], w[1], mu, sigma, low, high)
