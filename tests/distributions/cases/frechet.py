"""Frechet."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Frechet
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=Frechet,
    objects=(Frechet(5.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: mp.log(a) - (a + 1) * mp.log(z) - z**-a,
        tails=lambda z, a: (mp.exp(-(z**-a)), -mp.expm1(-(z**-a))),
        moments=lambda a: [mp.gamma(1 - k / a) for k in ORDERS],
        entropy=lambda a: 1 + mp.euler / a + mp.euler - mp.log(a),
    ),
    tails=(
        (Frechet(0.2), 5e-13, 1e-12, 2e-13),  # observed 1.8e-13, 2.8e-13, 4.1e-14
        (Frechet(4.0), 1e-14, 5e-13, 2e-13),  # 0, 1.3e-13, 5.2e-14
    ),
    scores=(Frechet(3.0, 0.1, 2.0),),
    shapes=tuple(map(Frechet, (4.1, 8.0, 13.0, 100.0))),
    peers=((Frechet(3.5, 1.0, 2.0), st.invweibull(3.5, 1.0, 2.0)),),
    fits=Fits(truth=(2.5, 0.0, 2.0), known={"floc": 0.0}),
)
