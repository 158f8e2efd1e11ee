"""GeneralizedGamma."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import GeneralizedGamma
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, gamma_tails

CASE = Case(
    cls=GeneralizedGamma,
    objects=(GeneralizedGamma(2.5, 0.8, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a, c: mp.log(c) + (a * c - 1) * mp.log(z) - z**c - mp.loggamma(a),
        tails=lambda z, a, c: gamma_tails(a, z**c),
        moments=lambda a, c: [mp.gamma(a + k / c) / mp.gamma(a) for k in ORDERS],
        entropy=lambda a, c: mp.log(mp.gamma(a) / c) + a + (1 / c - a) * mp.psi(0, a),
    ),
    tails=(
        (GeneralizedGamma(0.01, 100.0), 2e-13, 2e-13, 4e-13),  # observed 5.9e-14, 5.9e-14, 1.1e-13
        (GeneralizedGamma(0.5, 300.0), 1e-14, 5e-13, 2e-13),  # 0, 1.3e-13, 5.7e-14
        (GeneralizedGamma(30.0, 0.1), 2e-13, 2e-13, 1e-12),  # 5.7e-14, 5.4e-14, 2.7e-13
    ),
    scores=(GeneralizedGamma(0.5, 2.5, 0.1, 2.0),),
    shapes=tuple(GeneralizedGamma(a, c) for a in (0.2, 5.0, 300.0) for c in (0.5, 3.0)),
    peers=((GeneralizedGamma(2.5, 0.8, 1.0, 2.0), st.gengamma(2.5, 0.8, 1.0, 2.0)),),
    fits=Fits(truth=(2.0, 1.3, 0.0, 2.0), known={"floc": 0.0}),
)
