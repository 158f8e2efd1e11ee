"""Cauchy."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Cauchy
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact

CASE = Case(
    cls=Cauchy,
    objects=(Cauchy(0.5, 2.0),),
    exact=Exact(
        density=lambda z: -mp.log(mp.pi * (1 + z * z)), tails=lambda z: (mp.atan2(1, -z) / mp.pi, mp.atan2(1, z) / mp.pi)
    ),
    tails=(
        (Cauchy(0.0, 2.0), 1e-15, 1e-15, 1e-15),  # observed 0, 1.4e-16, 0
    ),
    scores=(Cauchy(0.1, 2.0),),
    likelihood=Likelihood(peer=st.cauchy, truth=(1.0, 2.0), located=True, width=1.0),
    orders=0,
)
