"""Hyperbolic."""

from __future__ import annotations

import dataclasses

import scipy.stats as st
from mpmath import mpf

from numbastats.distributions import Hyperbolic
from tests.distributions.cases import Case, Estimates, generalized_hyperbolic

CASE = Case(
    cls=Hyperbolic,
    objects=(Hyperbolic(1.5, 0.3, 1.0, -0.2),),
    exact=dataclasses.replace(
        generalized_hyperbolic.EXACT, shapes=lambda p: (mpf(1), p["alpha"], p["beta"], p["delta"], p["mu"])
    ),
    estimates=Estimates(
        draws=lambda rng, n: st.genhyperbolic.rvs(1.0, 1.2, 0.4, 0.3, 1.5, size=n, random_state=rng),
        log_density=lambda x, a, b, d, m: st.genhyperbolic.logpdf(x, 1.0, a * d, b * d, m, d),
    ),
)
