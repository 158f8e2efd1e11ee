"""Logistic."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Logistic
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact

CASE = Case(
    cls=Logistic,
    objects=(Logistic(0.5, 2.0),),
    exact=Exact(density=lambda z: -z - 2 * mp.log(1 + mp.exp(-z)), tails=lambda z: (1 / (1 + mp.exp(-z)), 1 / (1 + mp.exp(z)))),
    tails=(
        (Logistic(0.0, 2.0), 1e-15, 2e-15, 1e-15),  # observed 0, 4.3e-16, 0
    ),
    scores=(Logistic(0.1, 2.0),),
    peers=((Logistic(1.0, 2.0), st.logistic(1.0, 2.0)),),
    likelihood=Likelihood(peer=st.logistic, truth=(1.0, 2.0), located=True),
)
