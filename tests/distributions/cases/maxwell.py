"""Maxwell."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import Maxwell
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact, gamma_tails

CASE = Case(
    cls=Maxwell,
    objects=(Maxwell(0.5, 2.0),),
    exact=Exact(
        density=lambda z: mp.log(2 / mp.pi) / 2 + 2 * mp.log(z) - z * z / 2, tails=lambda z: gamma_tails(mpf(3) / 2, z * z / 2)
    ),
    tails=(
        (Maxwell(), 1e-14, 1e-13, 1e-14),  # observed 0, 2.7e-14, 0
    ),
    scores=(Maxwell(0.1, 2.0),),
    peers=((Maxwell(1.0, 2.0), st.maxwell(1.0, 2.0)),),
    fits=Fits(truth=(0.0, 2.0), known={"floc": 0.0}),
)
