"""Lomax."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Lomax
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact

CASE = Case(
    cls=Lomax,
    objects=(Lomax(4.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: mp.log(a) - (a + 1) * mp.log(1 + z), tails=lambda z, a: (-mp.expm1(-a * mp.log1p(z)), (1 + z) ** -a)
    ),
    tails=(
        (Lomax(0.3), 5e-14, 3e-14, 5e-14),  # observed 1.3e-15, 8.4e-15, 1.9e-15
        (Lomax(1e6), 1e-14, 1e-13, 1e-14),  # 0, 1.9e-14, 0
    ),
    scores=(Lomax(2.5, 0.1, 2.0),),
    peers=((Lomax(4.5, 1.0, 2.0), st.lomax(4.5, 1.0, 2.0)),),
    fits=Fits(truth=(2.5, 0.0, 3.0), known={"floc": 0.0}),
)
