"""JohnsonSU."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import JohnsonSU
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, entropy_by_quadrature


def density(z, a, b):
    return -((a + b * mp.asinh(z)) ** 2) / 2 - mp.log(mp.sqrt(2 * mp.pi) * mp.sqrt(1 + z * z) / b)


def moment(k, a, b):
    terms = ((-1) ** j * mp.binomial(k, j) * mp.exp(((k - 2 * j) / b) ** 2 / 2 - (k - 2 * j) * a / b) for j in range(k + 1))
    return mp.fsum(terms) / 2**k


CASE = Case(
    cls=JohnsonSU,
    objects=(JohnsonSU(-0.5, 1.8, 0.5, 2.0),),
    exact=Exact(
        density=density,
        tails=lambda z, a, b: tuple(mp.erfc(s * (a + b * mp.asinh(z)) / mp.sqrt(2)) / 2 for s in (-1, 1)),
        moments=lambda a, b: [moment(k, a, b) for k in ORDERS],
        entropy=lambda a, b: entropy_by_quadrature(density, a, b),
    ),
    tails=(
        (JohnsonSU(-30.0, 1.0), 1e-14, 1e-13, 1e-13),  # observed 3.6e-15, 3.9e-14, 3.6e-14
        (JohnsonSU(3.0, 1e4), 1e-14, 2e-13, 1e-14),  # 0, 5.5e-14, 0
        (JohnsonSU(0.0, 0.05), 3e-14, 6e-14, 1e-13),  # 9.7e-15, 1.8e-14, 3.9e-14
    ),
    scores=(JohnsonSU(-0.5, 1.8, 0.1, 2.0),),
    shapes=tuple(JohnsonSU(a, b) for a, b in ((0.0, 1.0), (-2.0, 0.7), (3.0, 5.0))),
    peers=((JohnsonSU(-0.5, 1.8, 1.0, 2.0), st.johnsonsu(-0.5, 1.8, 1.0, 2.0)),),
    fits=Fits(truth=(-0.5, 1.5, 1.0, 2.0)),
)
