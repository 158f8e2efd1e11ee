"""Lognormal lifetimes of the median e^m."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.accelerated import accelerated
from numbastats.scalar import special


@device_function
def density(z):
    """Of log lifetimes."""
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi), -z, -1.0


@device_function
def log_sf(z):
    """log P(Z > z)."""
    return special.log_ndtr(-z)


LOGNORMAL = accelerated(
    density,
    log_sf,
    lambda z: ndtr(-z),
    ndtri,
    lambda sigma: np.exp(0.5 * sigma * sigma),
    word="lognormal",
    aliases=("log_normal",),
)
