"""GeneralizedNormal."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import GeneralizedNormal
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, even_tails, gamma_tails

CASE = Case(
    cls=GeneralizedNormal,
    objects=(GeneralizedNormal(1.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, b: mp.log(b / 2) - mp.loggamma(1 / b) - abs(z) ** b,
        tails=lambda z, b: even_tails(z, gamma_tails(1 / b, abs(z) ** b)[1] / 2),
        moments=lambda b: [0 if k % 2 else mp.gamma((k + 1) / b) / mp.gamma(1 / b) for k in ORDERS],
        entropy=lambda b: 1 / b - mp.log(b / 2 / mp.gamma(1 / b)),
    ),
    tails=(
        (GeneralizedNormal(0.3), 1e-14, 5e-14, 2e-12),  # observed 5e-16, 1.3e-14, 4.8e-13
        (GeneralizedNormal(1e4), 1e-14, 1e-13, 1e-14),  # 0, 3.1e-14, 0
    ),
    scores=(GeneralizedNormal(0.7, 0.1, 2.0), GeneralizedNormal(3.0, 0.1, 2.0)),
    shapes=tuple(map(GeneralizedNormal, (0.3, 1.5, 100.0))),
    peers=((GeneralizedNormal(1.5, 1.0, 2.0), st.gennorm(1.5, 1.0, 2.0)),),
    fits=Fits(truth=(1.5, 1.0, 2.0)),
)
