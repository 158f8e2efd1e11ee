"""HalfNormal."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import HalfNormal
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact

CASE = Case(
    cls=HalfNormal,
    objects=(HalfNormal(0.5, 2.0),),
    exact=Exact(
        density=lambda z: mp.log(2 / mp.pi) / 2 - z * z / 2, tails=lambda z: (mp.erf(z / mp.sqrt(2)), mp.erfc(z / mp.sqrt(2)))
    ),
    tails=(
        (HalfNormal(), 1e-14, 2e-13, 1e-14),  # observed 0, 5.0e-14, 0
    ),
    scores=(HalfNormal(0.1, 2.0),),
    peers=((HalfNormal(1.0, 2.0), st.halfnorm(1.0, 2.0)),),
    fits=Fits(truth=(0.0, 2.0), known={"floc": 0.0}),
)
