"""LogLogistic."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import LogLogistic
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=LogLogistic,
    objects=(LogLogistic(5.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: mp.log(a) + (a - 1) * mp.log(z) - 2 * mp.log(1 + z**a),
        tails=lambda z, a: (z**a / (1 + z**a), 1 / (1 + z**a)),
        moments=lambda a: [k * mp.pi / a / mp.sin(k * mp.pi / a) for k in ORDERS],
        entropy=lambda a: 2 - mp.log(a),
    ),
    tails=(
        (LogLogistic(0.1), 1e-14, 2e-13, 2e-14),  # observed 7e-16, 4.6e-14, 2.9e-15
        (LogLogistic(3.0), 1e-13, 1e-14, 3e-13),  # 2.8e-14, 2.5e-15, 8.1e-14
    ),
    scores=(LogLogistic(3.0, 0.1, 2.0),),
    shapes=tuple(map(LogLogistic, (4.1, 12.0, 18.0, 100.0))),
    peers=((LogLogistic(3.5, 1.0, 2.0), st.fisk(3.5, 1.0, 2.0)),),
    fits=Fits(truth=(3.0, 0.0, 2.0), known={"floc": 0.0}),
)
