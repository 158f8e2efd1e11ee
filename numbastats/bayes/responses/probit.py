"""Two classes, the probability of which is the normal distribution function of the linear predictor."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtr

from numbastats._core.kernel import device_function
from numbastats.bayes.kernels.functions import ELEMENTWISE
from numbastats.bayes.responses.record import two_classes
from numbastats.random.kernels import TRUNCNORM
from numbastats.scalar.special import log_ndtr_ratio


@device_function
def row(y, t):
    """The row has the sign of its outcome."""
    return log_ndtr_ratio(t)


def _derivatives(m, y, own):
    flat = m.ravel()  # the kernel takes contiguous rows alone
    r = np.empty_like(flat)
    ELEMENTWISE["inv_mills"].serial(flat, r)
    r = r.reshape(m.shape)
    return r, np.maximum(r * (r + m), 0.0)


def _normal_rows(key, stream, item, weights, margins):
    """Given z ~ N(m, 1) on (0, inf), a row is the normal outcome z of variance 1."""
    z = np.empty(len(margins))
    TRUNCNORM.serial(*key, stream, item, margins, 1.0, 0.0, math.inf, z)
    return z, weights


PROBIT = two_classes(
    ndtr,
    log_ndtr,
    word="probit",
    samplers=("latent", "expanded", "wide", "hamiltonian", "surrogate", "predictor"),
    row=row,
    derivatives=_derivatives,
    probability=ELEMENTWISE["ndtr"],
    log_probability=ELEMENTWISE["log_ndtr"],
    averaged=lambda mean, variance: mean / np.sqrt(1.0 + variance),
    latent=_normal_rows,
    expands=True,
    stored=("int8", "bfloat16"),
    weighted=False,
    newton=6,
    light=False,
)
