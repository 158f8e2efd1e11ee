"""Uniform."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mpf

from numbastats.distributions import Uniform
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact

CASE = Case(
    cls=Uniform,
    objects=(Uniform(0.5, 2.0),),
    exact=Exact(density=lambda z: mpf(0), tails=lambda z: (z, 1 - z)),
    peers=((Uniform(1.0, 2.0), st.uniform(1.0, 2.0)),),
    likelihood=Likelihood(peer=st.uniform, truth=(1.0, 2.0), located=True, censored=False, settled=True),
)
