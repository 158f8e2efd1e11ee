"""Laplace."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Laplace
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact, even_tails

CASE = Case(
    cls=Laplace,
    objects=(Laplace(0.5, 2.0),),
    exact=Exact(density=lambda z: -abs(z) - mp.log(2), tails=lambda z: even_tails(z, mp.exp(-abs(z)) / 2)),
    tails=(
        (Laplace(0.0, 2.0), 1e-15, 2e-13, 1e-15),  # observed 0, 5.5e-14, 0
    ),
    scores=(Laplace(0.1, 2.0),),
    peers=((Laplace(1.0, 2.0), st.laplace(1.0, 2.0)),),
    kink=0.01,
    likelihood=Likelihood(peer=st.laplace, truth=(1.0, 2.0), located=True, censored=False),
)
