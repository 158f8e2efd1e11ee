"""Weibull."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Weibull
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=Weibull,
    objects=(Weibull(1.7, -1.0, 2.0),),
    exact=Exact(
        density=lambda z, k: mp.log(k) + (k - 1) * mp.log(z) - z**k,
        tails=lambda z, k: (-mp.expm1(-(z**k)), mp.exp(-(z**k))),
        moments=lambda k: [mp.gamma(1 + n / k) for n in ORDERS],
        entropy=lambda k: mp.euler * (1 - 1 / k) - mp.log(k) + 1,
    ),
    tails=(
        (Weibull(0.3), 1e-13, 1e-13, 1e-14),  # observed 2.6e-14, 2.7e-14, 3.6e-15
        (Weibull(50.0), 3e-14, 2e-13, 1e-14),  # 7.3e-15, 5.8e-14, 2.5e-15
    ),
    scores=(Weibull(0.8, 0.1, 3.0),),
    shapes=tuple(map(Weibull, (0.02, 0.1, 0.5, 1.0, 1.5, 2.0, 3.3, 3.4, 3.602349, 5.0, 20.0, 1e3, 1e7))),
    peers=((Weibull(0.7, 1.0, 2.0), st.weibull_min(0.7, 1.0, 2.0)),),
    likelihood=Likelihood(peer=st.weibull_min, truth=(1.6, 0.0, 2.0), known={"floc": 0.0}),
    estimates=Estimates(
        draws=lambda rng, n: 3.0 * rng.weibull(1.6, n),
        log_density=lambda x, a, b: st.weibull_min.logpdf(x, a, scale=b),
        truth=(1.6, 3.0),
        cdf=lambda x, a, b: st.weibull_min.cdf(x, a, scale=b),
        positive=True,
    ),
)
