"""Log-logistic lifetimes of the shape 1/sigma and the median e^m."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.accelerated import accelerated
from numbastats.scalar.elementary import exp, log1p


@device_function
def density(z):
    """Of log lifetimes."""
    e = exp(-abs(z))
    near = 1.0 / (1.0 + e)
    score = (1.0 - e) * near
    return -abs(z) - 2.0 * log1p(e), -score if z > 0.0 else score, -2.0 * e * near * near


@device_function
def log_sf(z):
    """log P(Z > z)."""
    return -log1p(exp(-abs(z))) - (z if z > 0.0 else 0.0)


def _mean(sigma):
    """Infinite from sigma = 1 on."""
    at = np.pi * np.minimum(sigma, 0.5)
    far = np.pi * np.clip(1.0 - sigma, 1e-300, 0.5)  # of the sine's other side
    return np.where(sigma < 1.0, np.pi * sigma / np.sin(np.where(sigma < 0.5, at, far)), np.inf)


LOGLOGISTIC = accelerated(density, log_sf, lambda z: expit(-z), logit, _mean, word="loglogistic", aliases=("log_logistic",))
