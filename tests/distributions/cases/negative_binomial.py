"""NegativeBinomial."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import NegativeBinomial
from tests.distributions.cases import Case, Counts


def exact(k, mean, size):
    m, size = mpf(mean), mpf(size)
    p, q = size / (size + m), m / (size + m)
    log_mass = mp.loggamma(size + k) - mp.loggamma(size) - mp.loggamma(k + 1) + size * mp.log(p) + k * mp.log(q)
    return log_mass, mp.betainc(size, k + 1, 0, p, regularized=True), mp.betainc(k + 1, size, 0, q, regularized=True)


CASE = Case(
    cls=NegativeBinomial,
    objects=(NegativeBinomial(3.0, 2.5),),
    often=True,
    counts=Counts(
        peer=st.nbinom(2.5, 2.5 / 5.5),
        exact=exact,
        values=tuple(NegativeBinomial(*p) for p in ((0.01, 0.02), (50.0, 0.3), (200.0, 1e4), (5.0, 1e7))),
        quantiles=tuple(NegativeBinomial(*p) for p in ((0.01, 0.02), (1e5, 0.05), (200.0, 1e4))),
        none=(NegativeBinomial(0.0, 2.0),),
    ),
)
