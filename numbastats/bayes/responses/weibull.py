"""Weibull lifetimes of the shape 1/sigma and the scale e^m."""

from __future__ import annotations

import numpy as np
from scipy.special import gamma

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.accelerated import accelerated
from numbastats.scalar.elementary import exp


@device_function
def density(z):
    """Of log lifetimes, the smallest extreme value distribution."""
    e = exp(z)
    return z - e, 1.0 - e, -e


@device_function
def log_sf(z):
    """log P(Z > z)."""
    return -exp(z)


SHAPES = (density, log_sf, lambda z: np.exp(-np.exp(z)), lambda u: np.log(-np.log1p(-u)), lambda sigma: gamma(1.0 + sigma))
WEIBULL = accelerated(*SHAPES, word="weibull")
