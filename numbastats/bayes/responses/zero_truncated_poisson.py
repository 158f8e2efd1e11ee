"""Counts above 0 of a Poisson distribution, whose mean with the zeros is e^m."""

from __future__ import annotations

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.poisson import POISSON
from numbastats.bayes.responses.truncated import zero_truncated
from numbastats.scalar.shrinkage import poisson_ratio


@device_function
def constants(first, second):
    """None."""
    return (0.0,)


@device_function
def counts(y, upper, t, c):
    """The log density of all counts but for -log y!, and its derivatives."""
    value, slope = poisson_ratio(y, t)
    return value, slope, y - slope, 0.0, 0.0


ZERO_TRUNCATED_POISSON = zero_truncated(POISSON, counts, constants, word="zero_truncated_poisson", aliases=("ztp",))
