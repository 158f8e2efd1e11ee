"""SkewNormal."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import SkewNormal
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, entropy_by_quadrature, normal_moment, tails_by_quadrature


def density(z, a):
    return -z * z / 2 + mp.log(mp.erfc(-a * z / mp.sqrt(2)) / mp.sqrt(2 * mp.pi))


def moment(k, delta):
    """Of delta |U| + sqrt(1 - delta^2) V for independent normal U, V."""
    even = mp.sqrt(2 / mp.pi)
    absolute = (1, even, 1, 2 * even, 3)
    return mp.fsum(
        mp.binomial(k, j) * delta**j * absolute[j] * mp.sqrt(1 - delta**2) ** (k - j) * normal_moment(k - j) for j in range(k + 1)
    )


CASE = Case(
    cls=SkewNormal,
    objects=(SkewNormal(2.5, 0.5, 2.0),),
    exact=Exact(
        density=density,
        tails=lambda z, a: tails_by_quadrature(density, z, a),
        moments=lambda a: [moment(k, a / mp.sqrt(1 + a * a)) for k in ORDERS],
        entropy=lambda a: entropy_by_quadrature(density, a),
    ),
    tails=(
        (SkewNormal(0.01), 1e-14, 2e-13, 1e-14),  # observed 0, 6.0e-14, 0
        (SkewNormal(1.0), 1e-14, 2e-13, 1e-14),  # 1.3e-15, 7.7e-14, 0
        (SkewNormal(-3.0), 1e-14, 2e-13, 2e-14),  # 2.9e-15, 7.7e-14, 5.0e-15
        (SkewNormal(1e9), 1e-14, 5e-13, 1e-14),  # 0, 1.5e-13, 0
    ),
    scores=(SkewNormal(2.5, 0.1, 2.0),),
    shapes=tuple(map(SkewNormal, (0.1, -2.0, 20.0))),
    peers=((SkewNormal(2.5, 1.0, 2.0), st.skewnorm(2.5, 1.0, 2.0)),),
    fits=Fits(truth=(3.0, 1.0, 2.0)),
)
