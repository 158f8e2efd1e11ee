"""Positive numbers with a gamma distribution of the mean e^m; outcomes are their logarithms."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincc, gammaincinv

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.negative_binomial import NEGATIVE_BINOMIAL, digamma_rest
from numbastats.bayes.responses.record import Own, Response, log_mean
from numbastats.scalar import special
from numbastats.scalar.elementary import exp, expm1

_LARGE = 30.0  # shape from which Stirling's series serves


@device_function
def constants(log_shape, unused):
    """The shape k, k log(k) - k - log Gamma(k), and the derivative of that in log(k)."""
    k = exp(log_shape)
    if k < _LARGE:
        return k, k * log_shape - k - special.gammaln(k), k * (log_shape - special.digamma(k))
    return k, 0.5 * (log_shape - math.log(2.0 * math.pi)) - special.stirling_rest(k), -k * digamma_rest(k)


@device_function
def row(y, upper, t, c):
    """The log density of a logarithm, and its derivatives."""
    k, at_mean, by_shape = c
    x = y - t
    excess = expm1(x)
    fall = k * (excess - x)
    return at_mean - fall, k * excess, k * (excess + 1.0), by_shape - fall, 0.0


def _quantile(u, m, own):
    k = np.exp(own["log_shape"])
    with np.errstate(divide="ignore"):  # of tiny shapes quantiles are below the smallest float
        return m + np.log(gammaincinv(k, u)) - np.log(k)


def _tail(y, m, own):
    k = np.exp(own["log_shape"])
    return gammaincc(k, k * np.exp(y - m))


GAMMA = Response(
    word="gamma",
    noun="positive numbers",
    samplers=NEGATIVE_BINOMIAL.samplers,
    holds=lambda y: y > 0.0,
    fix="above 0; where zeros occur, model first whether an outcome is 0",
    log=True,
    link="log",
    mean=NEGATIVE_BINOMIAL.mean,
    row=row,
    constants=constants,
    tail=_tail,
    quantile=_quantile,
    own=(
        Own("log_shape", np.exp, NEGATIVE_BINOMIAL.own[0].log_prior),
    ),  # 1/sqrt(shape), the coefficient of variation, is half-normal
    level=log_mean,
)
