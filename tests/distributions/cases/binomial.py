"""Binomial."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import Binomial
from tests.distributions.cases import Case, Counts


def exact(k, n, p):
    n, p = mpf(n), mpf(p)
    log_mass = mp.log(mp.binomial(n, k)) + k * mp.log(p) + (n - k) * mp.log(1 - p)
    return log_mass, mp.betainc(n - k, k + 1, 0, 1 - p, regularized=True), mp.betainc(k + 1, n - k, 0, p, regularized=True)


CASE = Case(
    cls=Binomial,
    objects=(Binomial(12, 0.3),),
    counts=Counts(
        peer=st.binom(12, 0.3),
        exact=exact,
        values=tuple(Binomial(*p) for p in ((100, 0.01), (1000, 0.37), (50, 1e-6), (50, 1.0 - 1e-6))),
        quantiles=tuple(Binomial(*p) for p in ((10, 0.3), (10**5, 0.37))),
        none=(Binomial(5, 0.0), Binomial(0, 0.3)),
        error_of_logpmf=3e-12,  # n p of the chance rounded to 1 - p
    ),
)
