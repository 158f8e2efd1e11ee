"""ExGaussian."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import ExGaussian
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact, entropy_by_quadrature, normal_moment


def density(z, k):
    return 1 / (2 * k * k) - z / k + mp.log(mp.erfc((1 / k - z) / mp.sqrt(2)) / (2 * k))


def tails(z, k):
    part = mp.exp(1 / (2 * k * k) - z / k) * mp.erfc((1 / k - z) / mp.sqrt(2)) / 2
    return mp.erfc(-z / mp.sqrt(2)) / 2 - part, mp.erfc(z / mp.sqrt(2)) / 2 + part


def moment(k, a):
    return mp.fsum(mp.binomial(k, j) * normal_moment(j) * mp.factorial(k - j) * a ** (k - j) for j in range(k + 1))


CASE = Case(
    cls=ExGaussian,
    objects=(ExGaussian(1.5, 0.5, 2.0),),
    exact=Exact(
        density=density,
        tails=tails,
        moments=lambda a: [moment(k, a) for k in ORDERS],
        entropy=lambda k: entropy_by_quadrature(density, k),
    ),
    tails=(
        (ExGaussian(1e-3), 1e-14, 2e-13, 1e-14),  # observed 0, 6.3e-14, 0
        (ExGaussian(0.3), 1e-13, 1e-13, 1e-14),  # 0, 3.4e-14, 0
        (ExGaussian(0.51), 1e-14, 2e-13, 6e-14),  # 0, 6.2e-14, 1.8e-14
        (ExGaussian(1e4), 1e-14, 1e-13, 1e-14),  # 1e-15, 3.0e-14, 2e-15
    ),
    scores=(ExGaussian(1.5, 0.1, 2.0), ExGaussian(1e-3, 0.1, 2.0)),
    shapes=tuple(map(ExGaussian, (0.05, 1.0, 30.0))),
    peers=((ExGaussian(1.5, 1.0, 2.0), st.exponnorm(1.5, 1.0, 2.0)),),
    fits=Fits(truth=(1.5, 1.0, 2.0)),
)
