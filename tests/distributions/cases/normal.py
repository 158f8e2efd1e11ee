"""Normal."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Normal
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import Exact, normal_tails

CASE = Case(
    cls=Normal,
    objects=(Normal(1.0, 2.0),),
    often=True,
    exact=Exact(
        density=lambda z: -z * z / 2 - mp.log(2 * mp.pi) / 2, tails=normal_tails, entropy=lambda: mp.log(2 * mp.pi * mp.e) / 2
    ),
    tails=(
        (Normal(), 3e-13, 1e-13, 5e-15),  # observed 1.0e-13, 2.7e-14, 8e-16
        (Normal(3.0, 0.5), 3e-13, 1e-13, 1e-14),  # 1.0e-13, 2.7e-14, 2.3e-15
    ),
    scores=(Normal(3.0, 0.5),),
    peers=((Normal(1.0, 2.0), st.norm(1.0, 2.0)),),
    likelihood=Likelihood(peer=st.norm, truth=(1.0, 2.0), located=True, equations=True, squares=True),
    estimates=Estimates(
        draws=lambda rng, n: rng.normal(1.0, 2.0, n), log_density=st.norm.logpdf, truth=(1.0, 2.0), cdf=st.norm.cdf
    ),
)
