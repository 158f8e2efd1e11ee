"""Lifetimes whose logarithm is the linear predictor plus an error times sigma: the record of each distribution of the error.

Outcomes are logarithms. Ends of a lifetime that is over are equal; else it is known to lie between them: the upper one is
infinite where it was not over (right censoring), the lower one -inf where it was over before (left censoring).
"""

from __future__ import annotations

import numpy as np

from numbastats._core.kernel import bind, device_function
from numbastats.bayes.responses.record import Own, Response, half_normal, log_mean
from numbastats.scalar.elementary import exp, expm1, log

_density = _log_sf = None  # of the error z: log density with its first two derivatives; log P(Z > z), with relative accuracy


@device_function
def constants(log_sigma, unused):
    """1/sigma and log(sigma)."""
    return exp(-log_sigma), log_sigma


@device_function
def no_constants(first, second):
    """Of sigma = 1."""
    return 1.0, 0.0


@device_function
def row(lower, upper, t, c):
    """The log density of a logarithm, or log probability of an interval, and its derivatives in t and log(sigma)."""
    inverse, log_sigma = c
    begun, ended = lower > -np.inf, upper < np.inf
    a = (lower - t) * inverse if begun else 0.0
    b = (upper - t) * inverse if ended else 0.0
    (f, score, bend), (g, other, _) = _density(a), _density(b)
    left, right = _log_sf(a) if begun else 0.0, _log_sf(b) if ended else -np.inf
    mass = left + log(-expm1(right - left))
    f_share = exp(f - mass) if begun else 0.0  # densities at the ends by the probability between them
    g_share = exp(g - mass) if ended else 0.0
    slope = (f_share - g_share) * inverse
    bent = g_share * other if g_share > 0.0 else 0.0  # far out the score may be infinite
    exact = lower == upper
    return (
        f - log_sigma if exact else mass,
        -score * inverse if exact else slope,
        -bend * inverse * inverse if exact else (f_share * score - bent) * inverse * inverse + slope * slope,
        -a * score - 1.0 if exact else f_share * a - g_share * b,
        0.0,
    )


def accelerated(density, log_sf, sf, quantile, mean, *, sigma=True, **fields):
    """The record of a distribution of the error.

    Parameters
    ----------
    density, log_sf : device functions
        Log density of z with its first two derivatives; log P(Z > z).
    sf, quantile : callable
        Of arrays.
    mean : callable
        E exp(sigma Z), given sigma.
    sigma : bool
        Whether sigma is a parameter, or 1.
    """

    def of(own):
        return np.exp(own["log_sigma"]) if sigma else 1.0

    bound = bind(row, _density=density, _log_sf=log_sf)
    return Response(
        **fields,
        noun="times",
        samplers=("hamiltonian", "surrogate", "predictor"),
        holds=lambda y: y > 0.0,
        fix="above 0; of one that is not over at the end of the study pass its time so far, with event=False",
        log=True,
        censors=True,
        row=bound,
        constants=constants if sigma else no_constants,
        tail=lambda y, m, own: sf((y - m) / of(own)),
        quantile=lambda u, m, own: m + of(own) * quantile(u),
        mean=lambda m, own: np.exp(m) * mean(of(own)),
        own=(Own("log_sigma", np.exp, half_normal, scale=True, start=-0.5),) if sigma else (),
        level=log_mean,
    )
