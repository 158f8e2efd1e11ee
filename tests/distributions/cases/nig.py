"""NIG."""

from __future__ import annotations

import dataclasses

import scipy.stats as st
from mpmath import mpf

from numbastats.distributions import NIG
from tests.distributions.cases import Case, Estimates, generalized_hyperbolic

CASE = Case(
    cls=NIG,
    objects=(NIG(1.5, 0.3, 1.0, 0.1),),
    often=True,
    exact=dataclasses.replace(
        generalized_hyperbolic.EXACT, shapes=lambda p: (mpf(-0.5), p["alpha"], p["beta"], p["delta"], p["mu"])
    ),
    estimates=Estimates(
        draws=lambda rng, n: st.norminvgauss.rvs(1.2, 0.4, 0.3, 1.5, size=n, random_state=rng),
        log_density=lambda x, a, b, d, m: st.norminvgauss.logpdf(x, a * d, b * d, m, d),
    ),
)
