"""Pareto."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Pareto
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=Pareto,
    objects=(Pareto(4.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: mp.log(a) - (a + 1) * mp.log(z),
        tails=lambda z, a: (-mp.expm1(-a * mp.log(z)), z**-a),
        moments=lambda a: [a / (a - k) for k in ORDERS],
        entropy=lambda a: 1 + 1 / a - mp.log(a),
    ),
    tails=(
        (Pareto(2.5), 1e-13, 1e-13, 1e-13),  # observed 2.7e-14, 2.2e-14, 2.4e-14
    ),
    scores=(Pareto(2.5, -1.1, 0.3),),
    shapes=tuple(map(Pareto, (4.1, 1e4))),
    peers=((Pareto(4.5, 1.0, 2.0), st.pareto(4.5, 1.0, 2.0)),),
    fits=Fits(truth=(2.5, 0.0, 3.0), known={"floc": 0.0}, often=True),
)
