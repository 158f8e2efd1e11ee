"""InverseGamma."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import InverseGamma
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, gamma_tails

CASE = Case(
    cls=InverseGamma,
    objects=(InverseGamma(5.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: -(a + 1) * mp.log(z) - 1 / z - mp.loggamma(a),
        tails=lambda z, a: gamma_tails(a, 1 / z)[::-1],
        moments=lambda a: [1 / mp.fprod(a - i for i in range(1, k + 1)) for k in ORDERS],
        entropy=lambda a: a + mp.loggamma(a) - (1 + a) * mp.psi(0, a),
    ),
    tails=(
        (InverseGamma(0.2), 1e-14, 3e-13, 1e-14),  # observed 8e-17, 1.0e-13, 2e-16
        (InverseGamma(500.0), 5e-14, 1e-12, 1e-12),  # 1.3e-14, 2.8e-13, 2.0e-13
    ),
    scores=(InverseGamma(0.5, 0.1, 2.0), InverseGamma(40.0, 0.1, 50.0)),
    shapes=tuple(map(InverseGamma, (4.1, 40.0, 1e4))),
    peers=((InverseGamma(3.5, 1.0, 2.0), st.invgamma(3.5, 1.0, 2.0)),),
    fits=Fits(truth=(3.0, 0.0, 2.0), known={"floc": 0.0}),
)
