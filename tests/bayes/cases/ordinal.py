"""Three ordered classes."""

from __future__ import annotations

import numpy as np
import scipy.stats
from mpmath import mp

from numbastats.bayes.responses import ORDINAL
from tests.bayes.cases import Case


def shares(own):
    """Probabilities of the classes at m = 0: log odds are those of each class against the ones above."""
    first, second = (1 / (1 + mp.exp(-own[f"log_odds_{number}"])) for number in range(2))
    return first, (1 - first) * second, (1 - first) * (1 - second)


def probabilities(m, own):
    first, second, third = shares(own)
    below = [1 / (1 + mp.exp(m - mp.log(share / (1 - share)))) for share in (first, 1 - third)]
    return below[0], below[1] - below[0], 1 - below[1]


def peer(m, own):
    exact = {name: mp.mpf(value) for name, value in own.items()}
    return scipy.stats.rv_discrete(values=(np.arange(3), [float(p) for p in probabilities(mp.mpf(m), exact)]))()


def log_prior(above):
    """Of the log odds of a class, a beta variable of parameters 1 and the number of classes above."""
    return lambda v: mp.log((1 - 1 / (1 + mp.exp(-v))) ** (above - 1)) + mp.log(mp.exp(-v) / (1 + mp.exp(-v)) ** 2)


CASE = Case(
    record=ORDINAL,
    log_density=lambda y, m, own: mp.log(probabilities(m, own)[int(y)]),
    peer=peer,
    outcomes=(0.0, 1.0, 2.0),
    predictors=(-4.0, -0.3, 0.0, 1.1, 5.0),
    own={"log_odds_0": -0.4, "log_odds_1": 0.7},
    others=({"log_odds_0": 2.0, "log_odds_1": -3.0}, {"log_odds_0": -3.0, "log_odds_1": 1.0}),
    log_priors={"log_odds_0": log_prior(2), "log_odds_1": log_prior(1)},
    rtol=1e-12,
)
