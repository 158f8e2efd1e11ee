"""Errors with heavy tails."""

from __future__ import annotations

import numpy as np
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import STUDENT_T
from tests.bayes.cases import Case


def log_density(y, m, own):
    df, sigma = 2 + mp.exp(own["log_df_minus_2"]), mp.exp(own["log_sigma"])
    at_zero = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2 - mp.log(sigma)
    return at_zero - (df + 1) / 2 * mp.log(1 + ((y - m) / sigma) ** 2 / df)


CASE = Case(
    record=STUDENT_T,
    log_density=log_density,
    peer=lambda m, own: scipy.stats.t(2.0 + np.exp(own["log_df_minus_2"]), m, np.exp(own["log_sigma"])),
    outcomes=(-30.0, -0.5, 0.0, 2.0, 1e3),
    predictors=(-2.0, 0.0, 1.5, 40.0),
    own={"log_sigma": -0.7, "log_df_minus_2": 0.4},
    others=({"log_sigma": 2.0, "log_df_minus_2": -3.0}, {"log_sigma": 0.0, "log_df_minus_2": 5.0}),
    log_priors={
        "log_sigma": lambda v: -mp.exp(2 * v) / 2 + v,
        "log_df_minus_2": lambda v: mp.log(2 + mp.exp(v)) - (2 + mp.exp(v)) / 10 + v,
    },
    rtol=1e-12,
)
