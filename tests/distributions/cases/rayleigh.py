"""Rayleigh."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Rayleigh
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact

CASE = Case(
    cls=Rayleigh,
    objects=(Rayleigh(0.5, 2.0),),
    exact=Exact(density=lambda z: mp.log(z) - z * z / 2, tails=lambda z: (-mp.expm1(-z * z / 2), mp.exp(-z * z / 2))),
    tails=(
        (Rayleigh(0.0, 2.0), 1e-14, 2e-13, 1e-14),  # observed 0, 4.5e-14, 0
    ),
    scores=(Rayleigh(0.1, 2.0),),
    peers=((Rayleigh(1.0, 2.0), st.rayleigh(1.0, 2.0)),),
    fits=Fits(truth=(0.0, 2.0), known={"floc": 0.0}),
)
