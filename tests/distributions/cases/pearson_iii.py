"""PearsonIII."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import PearsonIII
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact, gamma_tails, tails_by_quadrature


def density(z, s):
    a = 4 / s**2
    y = a + 2 * z / s
    return mp.log(2 / abs(s)) + (a - 1) * mp.log(y) - y - mp.loggamma(a)


def tails(z, s):
    if abs(s) < 0.1:
        return tails_by_quadrature(density, z, s)
    return gamma_tails(4 / s**2, 4 / s**2 + 2 * z / s)[:: 1 if s > 0 else -1]


CASE = Case(
    cls=PearsonIII,
    objects=(PearsonIII(0.7, 0.5, 2.0), PearsonIII(-1.2, 0.5, 2.0)),
    often=True,
    exact=Exact(
        density=density,
        tails=tails,
        moments=lambda s: [0, 1, s, 3 + 3 * s * s / 2],
        entropy=lambda s: 4 / s**2 + mp.loggamma(4 / s**2) + (1 - 4 / s**2) * mp.psi(0, 4 / s**2) - mp.log(2 / abs(s)),
    ),
    tails=(
        (PearsonIII(6.0), 1e-14, 2e-12, 1e-14),  # observed 0, 4.5e-13, 0
        (PearsonIII(1e-3), 1e-14, 4e-13, 1e-14),  # 0, 1.0e-13, 0
        (PearsonIII(-1e-6), 1e-14, 6e-13, 1e-14),  # 0, 1.8e-13, 0
    ),
    scores=(PearsonIII(0.5, 0.1, 3.0), PearsonIII(-0.4, 0.1, 3.0), PearsonIII(1e-4, 0.1, 3.0)),
    shapes=tuple(map(PearsonIII, (-3.0, 0.4, 1e-3))),
    peers=((PearsonIII(0.7, 1.0, 2.0), st.pearson3(0.7, 1.0, 2.0)), (PearsonIII(-1.2, 1.0, 2.0), st.pearson3(-1.2, 1.0, 2.0))),
    peer_has_support=False,  # it says that it is everywhere
    fits=Fits(truth=(0.8, 1.0, 2.0)),
)
