"""What decisions about fitted components ask of one: how wide it is, what its terms lose, whether chance makes it.

Written once for kernels and, by `transforms.on_arrays`, for arrays of the host. ``code`` is that of a family: of `mixture`, or of
`latent` above `mixture.GEOMETRIC`; ``base`` and ``shape`` are as in `mixture`.
"""

from __future__ import annotations

import math

from numbastats._core.kernel import device_function
from numbastats.scalar import latent, mixture
from numbastats.scalar.elementary import log

__all__ = ["beyond_chance", "deviation", "logit_size"]

sqrt, log1p = math.sqrt, math.log1p


@device_function
def deviation(code, base, shape, m, v):
    """Standard deviation of a component of mean m and dispersion v; of a latent family that of its location is v."""
    if code == latent.NEGATIVE_BINOMIAL:
        return sqrt(m + m * m / v)
    if base == mixture.INVERSE_GAUSSIAN:
        return sqrt(m * m * m * v)
    if base == mixture.GAUSSIAN:
        return sqrt(v)
    if base == mixture.GAMMA:
        return m * sqrt(v)
    if base == mixture.FIXED_GAMMA:
        return m / sqrt(shape)
    return sqrt(m) if base == mixture.POISSON else sqrt(m * (1.0 + m))


@device_function
def logit_size(code, base, shape, m, v, c):
    """Size of the terms A and B t1 + C t2 about the centre c, whose difference is a component's logit, or of its rounding."""
    e = abs(c - m)
    if code > mixture.GEOMETRIC:  # each about its own centre; counts are found again from their distance to c
        return 1.0 + c if base >= mixture.POISSON else 1.0
    if base == mixture.INVERSE_GAUSSIAN:
        return 0.5 * e * e / (v * m * m * c)
    if base == mixture.GAUSSIAN:
        return 0.5 * e * e / v
    if base == mixture.POISSON:
        return e
    if base == mixture.FIXED_GAMMA:
        return shape * e / m
    if base == mixture.GEOMETRIC:
        return c * log1p(1.0 / m)
    return e / m / v + 1.0 / sqrt(v)


@device_function
def beyond_chance(r, count, sd, spread):
    """Whether a component holds more observations than chance brings together, by the probability r of it at its centre.

    A component of n observations is where the others have n (1 - r)/r. By Chernoff's bound for a Poisson number and the number of
    intervals of its width in the data, chance has a probability below exp(-10).
    """
    if not (r > 0.5 and sd > 0.0):
        return False
    others = max((1.0 - r) / r, 1e-300)
    return count * (others - 1.0 - log(others)) > log(spread / sd) + 10.0
