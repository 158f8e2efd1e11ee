"""Draws of counts: Poisson and binomial distributions by exact rejection, and by inversion where the mean is below 10.

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
from numbastats.scalar.incomplete import binomial_log_mass, poisson_log_mass
from numbastats.scalar.philox import philox4x32, uniform52

__all__ = ["binomial1", "poisson1"]

_most = by_dtype(device_function(lambda x: 2.0**52), device_function(lambda x: 2.0**23))  # larger floats cannot hold all integers


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
def _poisson_large(k0, k1, item, stream, m):
    """PTRS for means from 10 on."""
    b = 0.931 + 2.53 * math.sqrt(m)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    k, draw, found = 0.0, 0, False
    while not found:
        u, v = _two_uniforms(k0, k1, item, draw, stream)
        draw += 1
        u = u - 0.5
        s = 0.5 - abs(u)
        k = math.floor((2.0 * a / s + b) * u + m + 0.43)
        found = s >= 0.07 and v <= v_r
        if not found and k >= 0.0 and (s >= 0.013 or v <= s):
            found = log(v * inverse_alpha / (a / (s * s) + b)) <= poisson_log_mass(k, m)
    return k


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
    if m < 10.0:
        return T(_poisson_small(_two_uniforms(k0, k1, item, 0, stream)[0], m))
    return T(_poisson_large(k0, k1, item, stream, m))


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
def _binomial_large(k0, k1, item, stream, n, p, q):
    """BTRS for n p >= 10, p <= 1/2."""
    spread = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    top = binomial_log_mass(math.floor((n + 1.0) * p), n, p, q)
    k, draw, found = 0.0, 0, False
    while not found:
        u, v = _two_uniforms(k0, k1, item, draw, stream)
        draw += 1
        u = u - 0.5
        s = 0.5 - abs(u)
        k = math.floor((2.0 * a / s + b) * u + c)
        found = s >= 0.07 and v <= v_r
        if not found and k >= 0.0 and k <= n:
            found = log(v * alpha / (a / (s * s) + b)) <= binomial_log_mass(k, n, p, q) - top
    return k


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
    rest = 1.0 - chance
    less, more = (chance, rest) if chance <= 0.5 else (rest, chance)
    if less == 0.0 or trials == 0.0:
        k = 0.0
    elif trials * less < 10.0:
        k = _binomial_small(_two_uniforms(k0, k1, item, 0, stream)[0], trials, less, more)
    else:
        k = _binomial_large(k0, k1, item, stream, trials, less, more)
    return T(k if chance <= 0.5 else trials - k)
