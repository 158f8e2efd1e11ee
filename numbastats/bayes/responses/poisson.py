"""Counts with a Poisson distribution, whose mean is e^m."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, pdtrc

from numbastats.bayes.responses.record import Response, count_quantile
from numbastats.scalar.shrinkage import poisson_ratio


def _derivatives(m, y, own):
    with np.errstate(over="ignore"):
        mean = np.exp(m)
    return y - mean, mean


def _quantile(u, m, own, upper=False):
    with np.errstate(over="ignore"):  # refused there
        return count_quantile("Poisson", u, np.exp(m), upper=upper)


def _level(weights, offsets, outcomes):
    top = offsets.max()
    return float(np.log((weights @ outcomes + 0.5) / (weights @ np.exp(offsets - top))) - top)


POISSON = Response(
    word="poisson",
    noun="counts",
    holds=lambda y: (y >= 0.0) & (y == np.rint(y)),
    fix="0, 1, 2 and so on; for rates pass the counts, and offset=np.log(exposure)",
    improper=lambda y: None if y.any() else "all counts are 0",
    link="log",
    mean=np.exp,
    row=poisson_ratio,
    derivatives=_derivatives,
    log_density=lambda y, m, own: y * m - np.exp(m) - gammaln(y + 1.0),
    tail=lambda y, m, own: pdtrc(y, np.exp(m)),
    quantile=_quantile,
    level=_level,
    screen="np.sqrt(y)",
    samplers=("hamiltonian", "surrogate", "predictor"),
)
