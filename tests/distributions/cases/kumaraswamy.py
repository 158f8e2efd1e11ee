"""Kumaraswamy."""

from __future__ import annotations

from mpmath import mp

from numbastats.distributions import Kumaraswamy
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact

CASE = Case(
    cls=Kumaraswamy,
    objects=(Kumaraswamy(2.5, 3.5, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a, b: mp.log(a * b) + (a - 1) * mp.log(z) + (b - 1) * mp.log(1 - z**a),
        tails=lambda z, a, b: (-mp.expm1(b * mp.log1p(-(z**a))), (1 - z**a) ** b),
        moments=lambda a, b: [b * mp.beta(1 + k / a, b) for k in ORDERS],
        entropy=lambda a, b: 1 - 1 / b + (1 - 1 / a) * (mp.psi(0, b + 1) + mp.euler) - mp.log(a * b),
    ),
    tails=(
        (Kumaraswamy(0.1, 0.5), 1e-14, 3e-14, 1e-14),  # observed 7e-16, 9.3e-15, 7e-16
        (Kumaraswamy(2.0, 3.0), 1e-14, 1e-14, 3e-14),  # 0, 2.0e-15, 7.8e-15
        (Kumaraswamy(300.0, 50.0), 1e-14, 2e-13, 1e-14),  # 0, 6.4e-14, 0
    ),
    scores=(Kumaraswamy(2.0, 3.0, -0.5, 10.0),),
    shapes=tuple(Kumaraswamy(a, b) for a, b in ((2.0, 3.0), (0.5, 0.1), (40.0, 5.0), (300.0, 0.7))),
    fits=Fits(
        truth=(1.5, 2.5, 0.0, 1.0),
        known=None,  # SciPy has no such distribution
    ),
)
