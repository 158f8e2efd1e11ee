"""A case for each response, a file each with its `CASE`: exact formulas, SciPy's distribution, numbers to try, tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpmath import mp

__all__ = ["Case", "lifetimes", "zero_truncated"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the tests know of a response.

    Parameters
    ----------
    record : Record
    log_density : callable
        ``log_density(y, m, own)`` in mpmath; `own` has the transformed own parameters by name.
    peer : callable
        SciPy's frozen distribution of an outcome, ``peer(m, own)``; of the classes -1 and 1 that of 0 and 1.
    outcomes, predictors : sequence of float
    own : dict
        Values of the transformed own parameters.
    others : sequence of dict
        Further values, for log densities and derivatives.
    log_priors : dict
        Their log prior densities in mpmath, up to a constant.
    refused : sequence of float
        Numbers that are no outcomes.
    rtol : float
        Relative error of log densities and their derivatives.
    ends : sequence of pairs
        Ends of outcomes that are known to lie between two ends.
    log_mass : callable, optional
        The logarithm of the probability of such an interval in mpmath, ``log_mass(lower, upper, m, own)``.
    mean : callable, optional
        The mean outcome, ``mean(m, own)``, where it is not that of `peer`.
    """

    record: Any
    log_density: Callable
    peer: Callable
    outcomes: tuple[float, ...]
    predictors: tuple[float, ...]
    own: dict[str, float] = field(default_factory=dict)
    others: tuple[dict[str, float], ...] = ()
    log_priors: dict[str, Callable] = field(default_factory=dict)
    refused: tuple[float, ...] = ()
    rtol: float
    ends: tuple[tuple[float, float], ...] = ()
    log_mass: Callable | None = None
    mean: Callable | None = None


def lifetimes(record, *, log_density, sf, peer, mean, sigma=True):
    """The case of lifetimes: log density and P(Z > z) of the error in mpmath, SciPy's distribution, E exp(sigma Z)."""
    of = lambda own: mp.exp(own["log_sigma"]) if sigma else mp.mpf(1)  # noqa: E731
    number = lambda own: np.exp(own["log_sigma"]) if sigma else 1.0  # noqa: E731

    def log_mass(lower, upper, m, own):
        above = [1 if e == -mp.inf else 0 if e == mp.inf else sf((e - m) / of(own)) for e in (lower, upper)]
        return mp.log(above[0] - above[1])

    return Case(
        record=record,
        log_density=lambda y, m, own: log_density((y - m) / of(own)) - mp.log(of(own)),
        log_mass=log_mass,
        peer=lambda m, own: peer(m, number(own)),
        mean=lambda m, own: math.exp(m) * mean(number(own)),
        outcomes=(-2.5, 0.0, 0.7, 1.9),
        ends=((-2.0, math.inf), (1.5, math.inf), (-math.inf, -1.0), (-math.inf, 2.0), (0.5, 0.6), (-3.0, 1.0)),
        predictors=(-1.0, 0.0, 0.4, 2.0),
        own={"log_sigma": -0.5} if sigma else {},
        others=({"log_sigma": 1.0}, {"log_sigma": -1.0}) if sigma else (),
        log_priors={"log_sigma": lambda v: -mp.exp(2 * v) / 2 + v} if sigma else {},
        refused=(0.0, -1.0),
        rtol=1e-11,
    )


class ZeroTruncated:
    """A discrete distribution of SciPy given that the variable is not 0."""

    def __init__(self, whole):
        self.whole, self.dist, self.share = whole, whole.dist, whole.sf(0)

    def logpmf(self, y):
        return self.whole.logpmf(y) - np.log(self.share)

    def pmf(self, y):
        return self.whole.pmf(y) / self.share

    def sf(self, y):
        return np.where(np.asarray(y) < 1.0, 1.0, self.whole.sf(y) / self.share)

    def logsf(self, y):
        return np.log(self.sf(y))

    def ppf(self, u):
        return np.maximum(self.whole.isf((1.0 - np.asarray(u)) * self.share), 1.0)

    def median(self):
        return self.ppf(0.5)


def zero_truncated(whole, record):
    """The case of counts that are not 0, by that of all counts."""
    return Case(
        record=record,
        log_density=lambda y, m, own: whole.log_density(y, m, own) - mp.log(1 - mp.exp(whole.log_density(mp.mpf(0), m, own))),
        peer=lambda m, own: ZeroTruncated(whole.peer(m, own)),
        mean=lambda m, own: math.exp(m) / whole.peer(m, own).sf(0),
        outcomes=(1.0, 2.0, 50.0),
        predictors=(-6.0, -1.0, 0.0, 1.2, 5.0),  # further below SciPy has no digits
        own=whole.own,
        others=whole.others,
        log_priors=whole.log_priors,
        refused=(0.0, -1.0, 1.5),
        rtol=1e-11,
    )
