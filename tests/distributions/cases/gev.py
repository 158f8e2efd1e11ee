"""GEV."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import GEV
from tests.distributions.cases import Case, Likelihood
from tests.distributions.exact import Exact


def density(z, k):
    power = mp.log(1 + k * z)
    return -(1 + 1 / k) * power - mp.exp(-power / k)


def tails(z, k):
    log_power = -mp.log1p(k * z) / k
    return mp.exp(-mp.exp(log_power)), -mp.expm1(-mp.exp(log_power))


CASE = Case(
    cls=GEV,
    objects=(GEV(0.15, 0.5, 2.0), GEV(-0.3, 0.5, 2.0)),
    often=True,
    exact=Exact(density=density, tails=tails),
    tails=(
        (GEV(0.2), 2e-13, 2e-13, 1e-13),  # observed 4.8e-14, 4.6e-14, 2.5e-14
        (GEV(1e-9), 1e-13, 1e-12, 1e-14),  # 5e-20, 2.8e-13, 5e-20
    ),
    scores=(GEV(0.2, 0.1, 2.0), GEV(-1e-6, 0.1, 2.0)),
    peers=((GEV(0.2, 1.0, 2.0), st.genextreme(-0.2, 1.0, 2.0)),),
    likelihood=Likelihood(
        peer=st.genextreme,
        truth=(0.15, 1.0, 2.0),
        of_ours=lambda a, loc, scale: (-a, loc, scale),
        located=True,
        symmetric=False,
        signed=("shape", "loc"),
        least={"shape": -0.5},
    ),
)
