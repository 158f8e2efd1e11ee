"""GumbelMin."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import GumbelMin
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact

CASE = Case(
    cls=GumbelMin,
    objects=(GumbelMin(0.5, 2.0),),
    exact=Exact(density=lambda z: z - mp.exp(z), tails=lambda z: (-mp.expm1(-mp.exp(z)), mp.exp(-mp.exp(z)))),
    tails=(
        (GumbelMin(0.0, 2.0), 1e-14, 4e-14, 1e-14),  # observed 0, 1.3e-14, 0
    ),
    scores=(GumbelMin(0.1, 2.0),),
    peers=((GumbelMin(1.0, 2.0), st.gumbel_l(1.0, 2.0)),),
    fits=Fits(truth=(1.0, 2.0)),
)
