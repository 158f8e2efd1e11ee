"""Numbers with errors of Student's t distribution: sigma times t with df degrees of freedom, at least 2."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr, stdtrit

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.record import Own, Response, half_normal
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.special import digamma, gamma_half_ratio

_LEAST = 2.0  # degrees of freedom, below which the errors have no variance, and the posterior may have many modes


@device_function
def constants(log_sigma, log_excess):
    """df, 1/sigma, the log density at 0, and the derivative of the latter in `log_excess` but for that of the factor of z."""
    excess = exp(log_excess)
    df, half = _LEAST + excess, 0.5 * (_LEAST + excess)
    at_zero = -log(gamma_half_ratio(half)) - 0.5 * log(math.pi * df) - log_sigma
    return df, exp(-log_sigma), at_zero, 0.5 * (digamma(half + 0.5) - digamma(half) - 1.0 / df), excess


@device_function
def row(y, upper, t, c):
    """The log density of a number, and its derivatives."""
    df, inverse, at_zero, by_df, excess = c
    z = (y - t) * inverse
    ratio = z * z / df
    near, spread = 1.0 / (1.0 + ratio), log1p(ratio)
    factor = (df + 1.0) / df * near * inverse
    far = (df + 1.0) * (1.0 - near)
    return (
        at_zero - 0.5 * (df + 1.0) * spread,
        factor * z,
        factor * inverse * (2.0 * near - 1.0),
        far - 1.0,
        excess * (by_df - 0.5 * spread + 0.5 * far / df),
    )


def _df(v):
    return _LEAST + np.exp(v)


def _excess(df):
    return np.log(df - _LEAST)


STUDENT_T = Response(
    word="student_t",
    aliases=("t",),
    noun="numbers",
    samplers=("hamiltonian", "surrogate", "predictor"),
    row=row,
    constants=constants,
    tail=lambda y, m, own: stdtr(_df(own["log_df_minus_2"]), (m - y) * np.exp(-own["log_sigma"])),
    quantile=lambda u, m, own: m + np.exp(own["log_sigma"]) * stdtrit(_df(own["log_df_minus_2"]), u),
    mean=lambda m, own: m,
    own=(
        Own("log_sigma", np.exp, half_normal, scale=True, start=-0.5),
        # df has the gamma density df e^(-df/10) of Juarez and Steel (2010) above 2
        Own(
            "log_df_minus_2",
            _df,
            lambda v: np.log(_LEAST + np.exp(v)) - 0.1 * np.exp(v) + v,
            start=1.5,
            label="df",
            transform=_excess,
            above=_LEAST,
        ),
    ),
    robust=True,
    concave=False,
)
