"""Geometric."""

from __future__ import annotations

import scipy.stats as st

from numbastats.distributions import Geometric
from tests.distributions.cases import Case, Counts, negative_binomial

CASE = Case(
    cls=Geometric,
    objects=(Geometric(2.0),),
    often=True,
    counts=Counts(
        peer=st.geom(1.0 / 3.0, loc=-1),
        exact=lambda k, mean: negative_binomial.exact(k, mean, 1),
        values=tuple(map(Geometric, (0.02, 300.0))),
        quantiles=tuple(map(Geometric, (0.02, 1e5))),
        none=(Geometric(0.0),),
    ),
)
