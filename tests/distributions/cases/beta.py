"""Beta."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import Beta
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.cases.gamma import SIZES
from tests.distributions.exact import ORDERS, Exact


def entropy(a, b):
    norm = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return norm - (a - 1) * mp.psi(0, a) - (b - 1) * mp.psi(0, b) + (a + b - 2) * mp.psi(0, a + b)


CASE = Case(
    cls=Beta,
    objects=(Beta(2.0, 3.5, 1.0, 4.0),),
    often=True,
    exact=Exact(
        density=lambda z, a, b: (a - 1) * mp.log(z) + (b - 1) * mp.log(1 - z) - mp.log(mp.beta(a, b)),
        tails=lambda z, a, b: (mp.betainc(a, b, 0, z, regularized=True), mp.betainc(b, a, 0, 1 - z, regularized=True)),
        moments=lambda a, b: [mp.rf(a, k) / mp.rf(a + b, k) for k in ORDERS],
        entropy=entropy,
    ),
    tails=(
        (Beta(0.1, 0.5), 5e-14, 1e-13, 1e-13),  # observed 3.5e-16, 3.0e-14
        (Beta(2.0, 3.0), 5e-14, 1e-13, 1e-13),  # 2.5e-16, 2.5e-14, 4.3e-16
        (Beta(2000.0, 3000.0), 1e-12, 1e-12, 1e-14),  # 3.5e-13, 4.2e-13, 2.5e-15
    ),
    scores=(Beta(2.0, 3.0, -0.5, 10.0),),
    shapes=tuple(Beta(a, b) for a in SIZES for b in (1e-3, 0.3, 5.0, 33.0, 1e9)),
    peers=((Beta(2.5, 0.7, 1.0, 2.0), st.beta(2.5, 0.7, 1.0, 2.0)),),
    likelihood=Likelihood(
        peer=st.beta, truth=(1.8, 2.5, 0.0, 1.0), known={"floc": 0.0, "fscale": 1.0}, equations=True, known_scale=True, top=1.0
    ),
    estimates=Estimates(
        draws=lambda rng, n: rng.beta(0.8, 2.5, n), log_density=st.beta.logpdf, truth=(0.8, 2.5), cdf=st.beta.cdf, positive=True
    ),
)
