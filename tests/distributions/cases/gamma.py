"""Gamma."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Gamma
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import ORDERS, Exact, gamma_tails

SIZES = (1e-100, 1e-3, 0.4, 1.4616, 3.7, 9.99, 10.01, 40.0, 1e3, 1e6, 1e12)


CASE = Case(
    cls=Gamma,
    objects=(Gamma(2.5, 0.5, 2.0),),
    often=True,
    exact=Exact(
        density=lambda z, a: (a - 1) * mp.log(z) - z - mp.loggamma(a),
        tails=lambda z, a: gamma_tails(a, z),
        moments=lambda a: [mp.rf(a, k) for k in ORDERS],
        entropy=lambda a: a + mp.loggamma(a) + (1 - a) * mp.psi(0, a),
    ),
    tails=(
        (Gamma(0.01), 1e-13, 3e-13, 1e-14),  # observed 3.9e-14, 1.1e-13, 1.8e-15
        (Gamma(0.5, 1.0, 2.0), 3e-13, 1e-14, 3e-14),  # 1.0e-13, 3.3e-15, 8.6e-15
        (Gamma(2.0), 1e-13, 6e-14, 3e-13),  # 3.8e-14, 1.9e-14, 8.9e-14
        (Gamma(9.9), 2e-13, 2e-13, 1e-13),  # 7.0e-14, 4.8e-14, 2.6e-14
        (Gamma(300.0), 1e-12, 2e-13, 1e-12),  # 2.5e-13, 5.5e-14, 2.5e-13
        (Gamma(2e4), 5e-13, 1e-12, 5e-15),  # 1.6e-13, 1.5e-13, 8.5e-16
    ),
    scores=(Gamma(0.5, 0.1, 2.0), Gamma(300.0, 0.1)),
    shapes=tuple(map(Gamma, SIZES)),
    peers=((Gamma(3.3, 1.0, 2.0), st.gamma(3.3, 1.0, 2.0)),),
    likelihood=Likelihood(peer=st.gamma, truth=(2.5, 0.0, 2.0), known={"floc": 0.0}),
    estimates=Estimates(
        draws=lambda rng, n: rng.gamma(0.7, 3.0, n),
        log_density=lambda x, a, b: st.gamma.logpdf(x, a, scale=b),
        truth=(0.7, 3.0),
        cdf=lambda x, a, b: st.gamma.cdf(x, a, scale=b),
        positive=True,
    ),
)
