"""Poisson."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import Poisson
from tests.distributions.cases import Case, Counts
from tests.distributions.exact import gamma_tails


def exact(k, mean):
    m = mpf(mean)
    return k * mp.log(m) - m - mp.loggamma(k + 1), *gamma_tails(k + 1, m)[::-1]


CASE = Case(
    cls=Poisson,
    objects=(Poisson(3.5),),
    often=True,
    counts=Counts(
        peer=st.poisson(3.5),
        exact=exact,
        values=tuple(map(Poisson, (1e-3, 7.3, 1234.5))),
        quantiles=tuple(map(Poisson, (1e-3, 7.3, 1e6))),
        none=(Poisson(0.0),),
    ),
)
