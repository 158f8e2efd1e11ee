"""AsymmetricLaplace."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import AsymmetricLaplace
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import ORDERS, Exact


def tails(z, k):
    if z > 0:
        above = mp.exp(-k * z) / (1 + k * k)
        return 1 - above, above
    below = mp.exp(z / k) * k * k / (1 + k * k)
    return below, 1 - below


CASE = Case(
    cls=AsymmetricLaplace,
    objects=(AsymmetricLaplace(0.6, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, k: (-z * k if z > 0 else z / k) - mp.log(k + 1 / k),
        tails=tails,
        moments=lambda a: [mp.factorial(k) * (a**-k / (1 + a * a) + (-a) ** k * a * a / (1 + a * a)) for k in ORDERS],
        entropy=lambda k: 1 + mp.log(k + 1 / k),
    ),
    tails=(
        (AsymmetricLaplace(0.1), 1e-14, 2e-13, 1e-14),  # observed 0, 5.5e-14, 0
        (AsymmetricLaplace(30.0), 1e-14, 2e-13, 1e-14),  # 0, 4.5e-14, 0
    ),
    scores=(AsymmetricLaplace(0.6, 1.5, 2.0),),
    shapes=tuple(map(AsymmetricLaplace, (1e-3, 1.0, 2.0))),
    peers=((AsymmetricLaplace(0.6, 1.0, 2.0), st.laplace_asymmetric(0.6, 1.0, 2.0)),),
    fits=Fits(truth=(1.5, 1.0, 2.0)),
)
