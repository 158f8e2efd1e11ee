"""ChiSquared."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import ChiSquared
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import ORDERS, Exact, gamma_tails

CASE = Case(
    cls=ChiSquared,
    objects=(ChiSquared(3.0, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, n: (n / 2 - 1) * mp.log(z / 2) - z / 2 - mp.loggamma(n / 2) - mp.log(2),
        tails=lambda z, n: gamma_tails(n / 2, z / 2),
        moments=lambda n: [2**k * mp.rf(n / 2, k) for k in ORDERS],
        entropy=lambda n: n / 2 + mp.loggamma(n / 2) + (1 - n / 2) * mp.psi(0, n / 2) + mp.log(2),
    ),
    tails=(
        (ChiSquared(3.0), 2e-13, 6e-14, 2e-13),  # observed 5.5e-14, 2.2e-14, 6.9e-14
    ),
    scores=(ChiSquared(3.0, 0.1, 2.0),),
    shapes=tuple(map(ChiSquared, (0.3, 5.0, 1e4))),
    peers=((ChiSquared(3.3, 1.0, 2.0), st.chi2(3.3, 1.0, 2.0)),),
    likelihood=Likelihood(peer=st.chi2, truth=(3.0, 0.0, 1.0), known={"floc": 0.0, "fscale": 1.0}, known_scale=True),
)
