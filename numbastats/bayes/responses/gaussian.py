"""Numbers with normal errors of an unknown standard deviation sigma, whose prior density is proportional to 1/sigma."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from numbastats.bayes.responses.record import Own, Response


def _log_density(y, m, own):
    log_sigma = own["log_sigma"]
    return -0.5 * ((y - m) * np.exp(-log_sigma)) ** 2 - log_sigma - 0.5 * math.log(2.0 * math.pi)


GAUSSIAN = Response(
    word="gaussian",
    aliases=("normal",),
    noun="numbers",
    samplers=("normal", "wide"),
    usual="normal",
    log_density=_log_density,
    tail=lambda y, m, own: ndtr((m - y) * np.exp(-own["log_sigma"])),
    quantile=lambda u, m, own: m + np.exp(own["log_sigma"]) * ndtri(u),
    own=(Own("log_sigma", np.exp, lambda v: 0.0 * v, scale=True),),
    flat=True,
)
