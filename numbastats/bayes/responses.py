"""The responses of a regression: log-likelihood of a row given its linear predictor, its derivatives, the mean of the response.

The probit model is not here: its rows have no weights and offsets, and its functions are kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from numbastats.bayes import kernels as k

__all__ = ["BINARY", "RESPONSES", "Response", "expit", "facts_of_rows", "log_expit", "mean_of", "outcome_of"]

BINARY = ("logit", "probit")


class Response(NamedTuple):
    """A response whose log-likelihood has kernels.

    Parameters
    ----------
    kernels : dict
        The pass over the rows, by storage type of X.
    derivatives : callable
        First derivative of the log-likelihood in the linear predictor, and the second one's negative: functions of linear
        predictor and outcome.
    """

    kernels: dict
    derivatives: Callable


def expit(x):
    """1/(1 + e^-x), accurate also for tiny results."""
    e = np.exp(-abs(x))
    return np.where(x < 0.0, e, 1.0) / (1.0 + e)


def log_expit(x):
    """log(1/(1 + e^-x))."""
    return -np.logaddexp(0.0, -x)


def _logit_derivatives(m, y):
    return expit(-m), expit(m) * expit(-m)


def _poisson_derivatives(m, y):
    with np.errstate(over="ignore"):
        mean = np.exp(m)
    return y - mean, mean


RESPONSES = {"logit": Response(k.LOGIT, _logit_derivatives), "poisson": Response(k.POISSON, _poisson_derivatives)}


def facts_of_rows(weights, offsets, outcomes):
    """The kernels' facts of the rows of X beside its columns: an array with rows `WEIGHT`, `OFFSET` and `OUTCOME`."""
    facts = np.empty((3, outcomes.size))
    facts[k.WEIGHT] = 1.0 if weights is None else weights
    facts[k.OFFSET] = 0.0 if offsets is None else offsets
    facts[k.OUTCOME] = outcomes
    return facts


def mean_of(response, m):
    """Mean of the response given linear predictors."""
    return np.exp(m) if response == "poisson" else m


def outcome_of(response, m, u, sigma):
    """Outcomes by inversion: the quantiles of u of their distributions given linear predictors m; of two classes -1 and 1.

    `sigma` is that of response="gaussian", and ignored for the others.
    """
    if response == "gaussian":
        return m + sigma * ndtri(u)
    if response == "poisson":
        with np.errstate(over="ignore"):  # refused below
            mean = mean_of(response, m)
        return _poisson_quantile(u, mean)
    probability = {"logit": expit, "probit": ndtr}[response]
    return np.where(u < probability(-m), -1.0, 1.0)


def _poisson_quantile(u, mean):
    """The least count k with P(y <= k) >= u; raises for means above 10^15, whose counts floats do not tell apart."""
    if not (mean <= 1e15).all():
        raise ValueError(
            f"the mean count is {np.max(mean):.3g} for some row and draw, beyond 1e15; predict for rows and offsets like those "
            "of the fit, and look at converged_ and summary()"
        )
    from numbastats.distributions import Poisson

    return Poisson(mean).ppf(u)
