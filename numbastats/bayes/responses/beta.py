"""Shares with a beta distribution of the mean 1/(1 + e^-m) and a precision; outcomes are their logits."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, expit

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.negative_binomial import NEGATIVE_BINOMIAL
from numbastats.bayes.responses.record import Own, Response
from numbastats.scalar import special
from numbastats.scalar.elementary import exp, log1p
from numbastats.scalar.special import digamma

_LEAST = 1e-300  # of a and b
_TINY = 1e-280  # below it quantiles are by the first term of their series


@device_function
def constants(log_precision, unused):
    """The precision, its log Gamma, and the derivative of that in its logarithm."""
    precision = exp(log_precision)
    return precision, special.gammaln(precision), precision * digamma(precision)


@device_function
def scaled_trigamma(x):
    """x^2 times the trigamma function for x > 0, by steps up to 12 and DLMF 5.15.8."""
    y, total = x, 0.0
    for _ in range(12):
        low = y < 12.0
        total += (x / y) * (x / y) if low else 0.0
        y += 1.0 if low else 0.0
    r = 1.0 / y
    w = r * r
    far = 1.0 + 0.5 * r + w * (1.0 / 6.0 - w * (1.0 / 30.0 - w * (1.0 / 42.0 - w * (1.0 / 30.0 - w * (5.0 / 66.0)))))
    return total + x * (x * r) * far


@device_function
def row(y, upper, t, c):
    """The log density of a logit, and its derivatives."""
    precision, at_precision, by_log = c
    e = exp(-abs(t))
    near = 1.0 / (1.0 + e)
    share, rest = (e * near, near) if t < 0.0 else (near, e * near)  # the mean, and one less it
    a, b = max(share * precision, _LEAST), max(rest * precision, _LEAST)
    fall = log1p(exp(-abs(y)))
    below, above = fall + max(-y, 0.0), fall + max(y, 0.0)  # -log of the outcome, and of one less it
    psi_a, psi_b = digamma(a), digamma(b)
    slope = rest * a * (y - psi_a) + share * b * psi_b
    return (
        at_precision - special.gammaln(a) - special.gammaln(b) - a * below - b * above,
        slope,
        rest * rest * scaled_trigamma(a) + share * share * scaled_trigamma(b) - (rest - share) * slope,
        by_log - a * (psi_a + below) - b * (psi_b + above),
        0.0,
    )


def _shapes(m, own):
    precision = np.exp(own["log_precision"])
    return np.maximum(expit(m) * precision, _LEAST), np.maximum(expit(-m) * precision, _LEAST)


def _tail(y, m, own):
    a, b = _shapes(m, own)
    return np.where(y < 0.0, betaincc(a, b, expit(y)), betainc(b, a, expit(-y)))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # of what is not chosen
def _quantile(u, m, own):
    a, b = _shapes(m, own)
    x, rest = betaincinv(a, b, u), betainccinv(b, a, u)
    low = np.where(x > _TINY, np.log(x), (np.log(u) + np.log(a) + betaln(a, b)) / a)
    return low - np.where(rest > _TINY, np.log(rest), (np.log1p(-u) + np.log(b) + betaln(a, b)) / b)


def _level(weights, offsets, outcomes):
    mean = np.average(expit(outcomes), weights=weights)
    return float(np.log(mean / (1.0 - mean)) - np.average(offsets, weights=weights))


BETA = Response(
    word="beta",
    noun="shares",
    samplers=NEGATIVE_BINOMIAL.samplers,
    holds=lambda y: (y > 0.0) & (y < 1.0),
    fix="above 0 and below 1; where 0 or 1 occur, model first whether an outcome is one of them, then the others alone",
    logit=True,
    mean=lambda m, own: expit(m),
    row=row,
    constants=constants,
    tail=_tail,
    quantile=_quantile,
    own=(Own("log_precision", np.exp, NEGATIVE_BINOMIAL.own[0].log_prior, start=1.0),),  # 1/sqrt(precision) is half-normal
    level=_level,
    concave=False,
)
