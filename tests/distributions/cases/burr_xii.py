"""BurrXII."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import BurrXII
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=BurrXII,
    objects=(BurrXII(3.0, 2.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, c, d: mp.log(c * d) + (c - 1) * mp.log(z) - (d + 1) * mp.log1p(z**c),
        tails=lambda z, c, d: (-mp.expm1(-d * mp.log1p(z**c)), (1 + z**c) ** -d),
        moments=lambda c, d: [d * mp.beta(d - k / c, 1 + k / c) for k in ORDERS],
        entropy=lambda c, d: 1 - mp.log(c * d) + mp.psi(0, d + 1) - mp.psi(0, 1) - (mp.psi(0, d) - mp.psi(0, 1)) / c,
    ),
    tails=(
        (BurrXII(3.0, 2.0), 1e-13, 1e-13, 3e-13),  # observed 2.6e-14, 2.8e-14, 8.0e-14
        (BurrXII(300.0, 1e-3), 1e-14, 1e-13, 1e-14),  # 3.4e-15, 2.4e-14, 7e-16
        (BurrXII(2.0, 1e5), 1e-14, 2e-13, 3e-14),  # 0, 5.5e-14, 7.5e-15
    ),
    scores=(BurrXII(3.0, 2.5, 0.1, 2.0),),
    shapes=tuple(BurrXII(c, d) for c, d in ((3.0, 2.0), (20.0, 0.5), (0.5, 30.0), (50.0, 3.0))),
    peers=((BurrXII(3.0, 2.5, 1.0, 2.0), st.burr12(3.0, 2.5, 1.0, 2.0)),),
    fits=Fits(truth=(2.0, 1.5, 0.0, 2.0), known={"floc": 0.0}),
)
