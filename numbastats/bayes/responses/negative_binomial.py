"""Counts with more variance than a Poisson distribution: mean e^m, variance mean + mean^2/size."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.poisson import POISSON
from numbastats.bayes.responses.record import Own, Response, count_quantile
from numbastats.scalar import special
from numbastats.scalar.elementary import exp, log1p
from numbastats.scalar.special import digamma, stirling_rest

_LARGE = 30.0  # size from which differences of log Gamma and digamma are Stirling's, which keep their digits


@device_function
def constants(log_size, unused):
    """Log size, size, and log Gamma and digamma of it for small ones."""
    size = exp(log_size)
    small = size < _LARGE
    at = size if small else 1.0
    return log_size, size, special.gammaln(at), digamma(at)


@device_function
def digamma_rest(x):
    """digamma(x) - log(x) for x >= 30, by DLMF 5.11.2."""
    a = 1.0 / x
    w = a * a
    return -0.5 * a - w * (1.0 / 12.0 - w * (1.0 / 120.0 - w * (1.0 / 252.0 - w / 240.0)))


@device_function
def rising(y, c):
    """log Gamma(size + y) - log Gamma(size) - y log(size), and its derivative in log size."""
    log_size, size = c[0], c[1]
    share = y / size
    if size < _LARGE:
        return special.gammaln(size + y) - c[2] - y * log_size, size * (digamma(size + y) - c[3]) - y
    far, step = size + y, log1p(share)
    value = (far - 0.5) * step - y + stirling_rest(far) - stirling_rest(size)
    return value, size * (step + digamma_rest(far) - digamma_rest(size)) - y


@device_function
def row(y, upper, t, c):
    """The log density of a count but for -log y!, and its derivatives."""
    log_size, size = c[0], c[1]
    x = t - log_size  # mean/size = e^x, by the smaller one of it and its inverse
    e = exp(-abs(x))
    near = 1.0 / (1.0 + e)
    low = x < 0.0
    share, rest = (e * near, near) if low else (near, e * near)  # mean/(size + mean), size/(size + mean)
    growth = log1p(e) + (0.0 if low else x)
    value, by_size = rising(y, c)
    slope = y * rest - size * share
    by_size += y * share - size * (growth - share)
    return value + y * t - (y + size) * growth, slope, (y + size) * share * rest, by_size, 0.0


def _mean(m, own=None):
    with np.errstate(over="ignore"):  # refused, or told as infinite
        return np.exp(m)


def _quantile(u, m, own, upper=False):
    return count_quantile("NegativeBinomial", u, _mean(m), np.exp(own["log_size"]), upper=upper)


NEGATIVE_BINOMIAL = Response(
    word="negative_binomial",
    aliases=("nb", "nbinom"),
    noun="counts",
    samplers=(*POISSON.samplers,),
    holds=POISSON.holds,
    fix=POISSON.fix,
    improper=POISSON.improper,
    link="log",
    mean=_mean,
    row=row,
    constants=constants,
    rest=lambda y: -gammaln(y + 1.0),
    tail=lambda y, m, own: betainc(y + 1.0, np.exp(own["log_size"]), _mean(m) / (_mean(m) + np.exp(own["log_size"]))),
    quantile=_quantile,
    own=(Own("log_size", np.exp, lambda v: -0.5 * (np.exp(-v) + v)),),  # 1/sqrt(size) is half-normal
    level=POISSON.level,
)
