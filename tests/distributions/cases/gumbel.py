"""Gumbel."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Gumbel
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact

CASE = Case(
    cls=Gumbel,
    objects=(Gumbel(0.5, 2.0),),
    exact=Exact(density=lambda z: -z - mp.exp(-z), tails=lambda z: (mp.exp(-mp.exp(-z)), -mp.expm1(-mp.exp(-z)))),
    tails=(
        (Gumbel(0.0, 2.0), 1e-14, 4e-14, 1e-14),  # observed 0, 1.3e-14, 0
    ),
    scores=(Gumbel(0.1, 2.0),),
    peers=((Gumbel(1.0, 2.0), st.gumbel_r(1.0, 2.0)),),
    likelihood=Likelihood(peer=st.gumbel_r, truth=(1.0, 2.0), located=True, symmetric=False),
)
