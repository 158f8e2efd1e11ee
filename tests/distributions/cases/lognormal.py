"""Lognormal."""

from __future__ import annotations

import math

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Lognormal
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import ORDERS, Exact, normal_tails

CASE = Case(
    cls=Lognormal,
    objects=(Lognormal(0.5, 1.0, 2.0),),
    exact=Exact(
        density=lambda z, s: -((mp.log(z) / s) ** 2) / 2 - mp.log(z * s) - mp.log(2 * mp.pi) / 2,
        tails=lambda z, s: normal_tails(mp.log(z) / s),
        moments=lambda s: [mp.exp(k * k * s**2 / 2) for k in ORDERS],
        entropy=lambda s: mp.log(2 * mp.pi * mp.e) / 2 + mp.log(s),
    ),
    tails=(
        (Lognormal(0.5, 0.0, 2.0), 3e-13, 3e-13, 2e-14),  # observed 1.1e-13, 9.2e-14, 5.2e-15
        (Lognormal(3.0), 3e-13, 1e-13, 1e-13),  # 1.0e-13, 3.9e-14, 3.1e-14
    ),
    scores=(Lognormal(0.5, 0.1, 2.0),),
    shapes=tuple(map(Lognormal, (1e-8, 0.02, 0.5, 1.5, 4.0))),
    peers=((Lognormal(0.7, 1.0, 2.0), st.lognorm(0.7, 1.0, 2.0)),),
    likelihood=Likelihood(peer=st.lognorm, truth=(0.6, 0.0, 2.0), known={"floc": 0.0}, equations=True),
    estimates=Estimates(
        draws=lambda rng, n: rng.lognormal(1.0, 0.6, n),
        log_density=lambda x, a, b: st.lognorm.logpdf(x, a, scale=b),
        truth=(0.6, math.e),
        cdf=lambda x, a, b: st.lognorm.cdf(x, a, scale=b),
        positive=True,
    ),
)
