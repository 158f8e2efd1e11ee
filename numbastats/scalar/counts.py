"""Draws of counts: Poisson and binomial distributions by exact rejection, and by inversion where the mean is below 10.

Below them are what `numbastats.random` makes of them in blocks: a first try of all items, which gives the count, -1 where it is
rejected, or -u, where the distribution function is to be inverted at u; then the rest item by item. Their last parameter is the
largest count that the result can hold.

Draws are computed in double precision, and have the float type of the parameters. An item's counter words are those of the other
samplers: item low, item high, draw, stream.

W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 12
(1993), algorithm PTRS; "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46 (1993),
algorithm BTRS. The density is that of `incomplete`, which does not cancel for large counts.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.scalar.bits import by_dtype, real
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.incomplete import poisson_log_mass_in_step
from numbastats.scalar.philox import philox4x32, uniform52, unit
from numbastats.scalar.samplers import gamma_by_log, gamma_by_log_rest

__all__ = ["binomial1", "poisson1"]

_ROUND = 4503599627370496.0  # 2^52
_most = by_dtype(device_function(lambda x: 2.0**52), device_function(lambda x: 2.0**23))  # larger floats cannot hold all integers


@device_function
def floor(x):
    """The largest whole number up to x >= 0, of x < 0 some number below 0; `math.floor` would go by way of an int64."""
    r = (x + _ROUND) - _ROUND
    r = r - 1.0 if r > x else r
    return r if x < _ROUND else x


@device_function
def _two_uniforms(k0, k1, item, draw, stream):
    """Two uniform numbers from the block of a draw."""
    number = np.uint64(item)
    w0, w1, w2, w3 = philox4x32(np.uint32(number), np.uint32(number >> np.uint64(32)), np.uint32(draw), stream, k0, k1)
    return uniform52(w0, w1), uniform52(w2, w3)


@device_function
def _poisson_small(u, m):
    """The smallest count whose distribution function at a mean below 10 reaches u, term by term."""
    term = exp(-m)
    k = 0.0
    while u > term and k < 200.0:  # the mass of larger counts is below 1e-170
        u = u - term
        k = k + 1.0
        term = term * (m / k)
    return k


@device_function
def _poisson_guess(u, v, m):
    """(k, s, chance, hat): a try of PTRS, and what v is compared with; k is drawn where s >= 0.07 and v <= chance."""
    b = 0.931 + 2.53 * math.sqrt(m)
    a = -0.059 + 0.02483 * b
    u = u - 0.5
    s = 0.5 - abs(u)
    k = floor((2.0 * a / s + b) * u + m + 0.43)
    return k, s, 0.9277 - 3.6224 / (b - 2.0), (1.1239 + 1.1328 / (b - 3.4)) / (a / (s * s) + b)


@device_function
def _poisson_accepts(k, s, v, hat, m):
    """Whether a try of PTRS is one of the distribution; the tests that leave it out are part of what is sampled."""
    mass = poisson_log_mass_in_step(k if k > 0.0 else 0.0, m)
    return (k >= 0.0) & ((s >= 0.013) | (v <= s)) & (log(v * hat) <= mass)


@device_function
def _poisson_large(k0, k1, item, stream, m, draw):
    """PTRS for means from 10 on, from try number `draw` on."""
    k, found = 0.0, False
    while not found:
        u, v = _two_uniforms(k0, k1, item, draw, stream)
        draw = np.uint32(draw + np.uint32(1))
        k, s, chance, hat = _poisson_guess(u, v, m)
        found = s >= 0.07 and v <= chance
        found = found or _poisson_accepts(k, s, v, hat, m)
    return k


@device_function
def _poisson(k0, k1, item, stream, m, draw):
    if m < 10.0:
        return _poisson_small(_two_uniforms(k0, k1, item, draw, stream)[0], m)
    return _poisson_large(k0, k1, item, stream, m, draw)


@device_function(inline=False)
def poisson1(k0, k1, item, stream, mean):
    """The Poisson draw of an item; 0 for mean 0, NaN for a negative, infinite or NaN mean, or one above 2^52 (float32: 2^23).

    Exact but for the 52 bits of a uniform number and the 1e-15 of the density. A mean below 10 takes one Philox block, others
    1.1 to 1.3 on average.
    """
    mean = real(mean)
    T = type(mean)
    m = np.float64(mean)
    if not (m >= 0.0 and m <= _most(mean)):
        return T(np.nan)
    return T(_poisson(k0, k1, item, stream, m, np.uint32(0)))


@device_function
def _binomial_small(u, n, p, q):
    """The smallest count whose distribution function reaches u, for n p < 10, p <= 1/2."""
    term = exp(n * log1p(-p))
    odds = p / q
    k = 0.0
    while u > term and k < n and k < 200.0:
        u = u - term
        k = k + 1.0
        term = term * (odds * ((n - k + 1.0) / k))
    return k


@device_function
def _binomial_guess(u, v, n, p, q):
    """(k, s, chance, hat): as `_poisson_guess`, of BTRS."""
    spread = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    u = u - 0.5
    s = 0.5 - abs(u)
    k = floor((2.0 * a / s + b) * u + (n * p + 0.5))
    return k, s, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread / (a / (s * s) + b)


@device_function
def _binomial_level(k, n, p, q):
    """Logarithm of the probability of k, but for a constant."""
    return poisson_log_mass_in_step(k, n * p) + poisson_log_mass_in_step(n - k, n * q)


@device_function
def _binomial_accepts(k, v, hat, n, p, q):
    """Whether a try of BTRS is one of the distribution."""
    top = _binomial_level(floor((n + 1.0) * p), n, p, q)
    inside = (k >= 0.0) & (k <= n)
    return inside & (log(v * hat) <= _binomial_level(k if inside else 0.0, n, p, q) - top)


@device_function
def _binomial_large(k0, k1, item, stream, n, p, q, draw):
    """BTRS for n p >= 10, p <= 1/2, from try number `draw` on."""
    k, found = 0.0, False
    while not found:
        u, v = _two_uniforms(k0, k1, item, draw, stream)
        draw = np.uint32(draw + np.uint32(1))
        k, s, chance, hat = _binomial_guess(u, v, n, p, q)
        found = s >= 0.07 and v <= chance
        found = found or _binomial_accepts(k, v, hat, n, p, q)
    return k


@device_function
def _binomial(k0, k1, item, stream, n, p):
    less = p if p <= 0.5 else 1.0 - p
    if n * less < 10.0:
        k = _binomial_small(_two_uniforms(k0, k1, item, 0, stream)[0], n, less, 1.0 - less)
    else:
        k = _binomial_large(k0, k1, item, stream, n, less, 1.0 - less, np.uint32(0))
    return k if p <= 0.5 else n - k


@device_function(inline=False)
def binomial1(k0, k1, item, stream, n, p):
    """The binomial draw of an item: successes in n trials of chance p.

    NaN unless n is a whole number from 0 to 2^52 (float32: 2^23) and 0 <= p <= 1. Exact as `poisson1` is; 1 - p is what is used
    for p above 1/2.
    """
    n, p = real(n), real(p)
    T = type(n)
    trials, chance = np.float64(n), np.float64(p)
    whole = trials >= 0.0 and trials <= _most(n) and math.floor(trials) == trials
    if not (whole and chance >= 0.0 and chance <= 1.0):
        return T(np.nan)
    return T(_binomial(k0, k1, item, stream, trials, chance))


# --- items for blocked loops: see `samplers` --------------------------------------------------------------------


@device_function
def count_first(b0, b1):
    """The first uniform number."""
    return unit(b0)


@device_function
def count_second(b0, b1):
    """The second."""
    return unit(b1)


@device_function
def _within(k, most):
    return k if k < most else most


@device_function
def poisson_try(u, v, mean, unused, unused_too, most):
    """The count, -1 where PTRS rejects it, or -u for a mean below 10."""
    m = mean if mean > 10.0 else 10.0
    k, s, chance, hat = _poisson_guess(u, v, m)
    k = k if _poisson_accepts(k, s, v, hat, m) else -1.0
    return -u if mean < 10.0 else k


@device_function
def poisson_finish(k0, k1, item, stream, mean, unused, unused_too, most, found):
    """The Poisson draw after the first try."""
    if found < 0.0:
        small = found > -1.0
        found = _poisson_small(-found, mean) if small else _poisson_large(k0, k1, item, stream, mean, np.uint32(1))
    return _within(found, most)


@device_function
def poisson_item(k0, k1, item, stream, mean, unused, unused_too, most):
    """The Poisson draw of an item, of any mean."""
    return _within(_poisson(k0, k1, item, stream, mean, np.uint32(0)), most)


@device_function
def binomial_try(u, v, n, p, unused, most):
    """The count, -1 where BTRS rejects it, or -u for a mean below 10."""
    n = floor(n)
    less = p if p <= 0.5 else 1.0 - p
    small = n * less < 10.0
    trials, less = (20.0 if small else n), (0.5 if small else less)
    k, s, chance, hat = _binomial_guess(u, v, trials, less, 1.0 - less)
    value = k if p <= 0.5 else n - k
    value = value if _binomial_accepts(k, v, hat, trials, less, 1.0 - less) else -1.0
    return -u if small else value


@device_function
def binomial_finish(k0, k1, item, stream, n, p, unused, most, found):
    """The binomial draw after the first try."""
    if found < 0.0:
        n, less = floor(n), p if p <= 0.5 else 1.0 - p
        if found > -1.0:
            found = _binomial_small(-found, n, less, 1.0 - less)
        else:
            found = _binomial_large(k0, k1, item, stream, n, less, 1.0 - less, np.uint32(1))
        found = found if p <= 0.5 else n - found
    return _within(found, most)


@device_function
def binomial_item(k0, k1, item, stream, n, p, unused, most):
    """The binomial draw of an item; n is cut to a whole number."""
    return _within(_binomial(k0, k1, item, stream, floor(n), p), most)


_MIXED = np.uint32(0x80000000)  # number of the first draw behind those of the gamma variable


@device_function
def _of_mixture(k0, k1, item, stream, gamma, p, most):
    return _within(_poisson(k0, k1, item, stream, gamma * ((1.0 - p) / p), _MIXED), most)


@device_function
def negative_binomial_try(x, e, n, p, unused, most):
    """A try of the gamma variable."""
    return gamma_by_log(x, e, n)


@device_function
def negative_binomial_finish(k0, k1, item, stream, n, p, unused, most, found):
    """The Poisson draw whose mean is a multiple of the gamma variable."""
    return _of_mixture(k0, k1, item, stream, gamma_by_log_rest(k0, k1, item, stream, n, found, 1), p, most)


@device_function
def negative_binomial_item(k0, k1, item, stream, n, p, unused, most):
    """The negative binomial draw of an item: failures before the n-th success."""
    return _of_mixture(k0, k1, item, stream, gamma_by_log_rest(k0, k1, item, stream, n, -1.0, 0), p, most)


@device_function
def geometric_first(b0, b1):
    """-log u."""
    return -log(unit(b0))


@device_function
def geometric_try(e, unused, p, unused_too, unused_again, most):
    """The smallest k with (1 - p)^k <= u."""
    x = e / -log1p(-p)
    k = floor(x)
    k = k + 1.0 if k < x else k
    return _within(k if k > 1.0 else 1.0, most)


@device_function
def geometric_item(k0, k1, item, stream, p, unused, unused_too, most):
    """The geometric draw of an item: trials up to the first success."""
    return geometric_try(-log(_two_uniforms(k0, k1, item, 0, stream)[0]), p, p, p, p, most)
