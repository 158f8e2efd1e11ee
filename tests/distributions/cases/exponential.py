"""Exponential."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Exponential
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact

CASE = Case(
    cls=Exponential,
    objects=(Exponential(0.5, 2.0),),
    exact=Exact(density=lambda z: -z, tails=lambda z: (-mp.expm1(-z), mp.exp(-z))),
    tails=(
        (Exponential(0.0, 2.0), 1e-15, 1e-15, 1e-15),  # observed 0, 9e-17, 0
    ),
    scores=(Exponential(0.1, 2.0),),
    peers=((Exponential(1.0, 2.0), st.expon(1.0, 2.0)),),
    likelihood=Likelihood(peer=st.expon, truth=(0.0, 2.0), known={"floc": 0.0}),
)
