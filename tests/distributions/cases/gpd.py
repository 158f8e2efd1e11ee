"""GPD."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import GPD
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact


def tails(z, k):
    log_power = -mp.log1p(k * z) / k
    return -mp.expm1(log_power), mp.exp(log_power)


CASE = Case(
    cls=GPD,
    objects=(GPD(0.15, 0.5, 2.0), GPD(-0.3, 0.5, 2.0)),
    exact=Exact(density=lambda z, k: -(1 + 1 / k) * mp.log(1 + k * z), tails=tails),
    tails=(
        (GPD(0.2), 2e-13, 4e-14, 1e-13),  # observed 4.8e-14, 1.3e-14, 2.5e-14
        (GPD(1e-9), 1e-14, 1e-13, 1e-14),  # 0, 2.8e-14, 0
    ),
    scores=(GPD(0.2, 0.1, 2.0), GPD(1e-6, 0.1, 2.0)),
    peers=((GPD(-0.2, 1.0, 2.0), st.genpareto(-0.2, 1.0, 2.0)),),
    likelihood=Likelihood(
        peer=st.genpareto, truth=(0.2, 0.0, 2.0), known={"floc": 0.0}, signed=("shape", "loc"), least={"shape": -0.5}
    ),
)
